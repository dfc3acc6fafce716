//! The result of a translation: machine code that is not at its place yet, and what has to be known to put it there. Also as bytes, for a later process.
//!
//! Whoever keeps the bytes vouches that they are those that were made: what is code in them will run. Reading checks that they are whole and that nothing refers to what is not
//! there, and takes bounded time and memory.

use std::fmt::Write as _;

use compute_kernel::lower::Lowered;
use compute_kernel::reflection::Bounds;
use cranelift_module::ModuleReloc;

use super::data::Table;
use super::symbols::{Functions, Symbol};

/// A place in the code where an address of eight bytes goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Relocation {
    pub(super) offset: u32,
    pub(super) symbol: Symbol,
    pub(super) addend: i64,
}

/// What a translation gives.
pub(super) struct Artifact {
    pub(super) code: Vec<u8>,
    pub(super) alignment: u32,
    pub(super) relocations: Vec<Relocation>,
    /// Read by the code.
    pub(super) tables: Vec<Table>,
    pub(super) scratch_size: u64,
    pub(super) cost: Option<u64>,
    /// Bytes of stack that the code takes.
    pub(super) frame: u32,
    /// Relocations of Cranelift's own kinds, on machines that lack instructions.
    pub(super) others: Vec<ModuleReloc>,
    /// The code has addresses of this process.
    pub(super) unnamed: bool,
}

/// What the bytes begin with; another number for another layout.
const MAGIC: &[u8; 8] = b"lc-cpu 2";
/// Code is aligned to lines or pages at most.
const MOST_ALIGNMENT: u32 = 4096;
/// What the space of a function's own is at most; see `emitter::MAX_SCRATCH`.
const MOST_SCRATCH: u64 = 64 << 20;
const WORD: usize = size_of::<u128>();

/// What code is known to be of: a digest of the IR and of what a launch is told, which goes before its bytes. That a request is the same says less: a library that nobody has
/// told apart from this one may read a source otherwise, and then the arguments of a launch need not be what the code expects.
pub(super) fn of(lowered: &Lowered, bounds: Bounds, cancellable: bool) -> [u8; 32] {
    struct Text(blake3::Hasher);
    impl std::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut text = Text(blake3::Hasher::new());
    let (module, index, told) = (lowered.module(), lowered.index(), (lowered.reflection(), lowered.reports()));
    // Debug texts have all fields of everything, whatever is added to them. A hasher takes any text.
    let _ = write!(text, "{module:?} {index} {told:?} {bounds:?} {cancellable}");
    *text.0.finalize().as_bytes()
}

impl Artifact {
    /// `None` when it would mean nothing in another process.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.unnamed || !self.others.is_empty() {
            return None;
        }
        let mut to = MAGIC.to_vec();
        to.extend(self.alignment.to_le_bytes());
        to.extend(self.scratch_size.to_le_bytes());
        to.push(self.cost.is_some().into());
        to.extend(self.cost.unwrap_or(0).to_le_bytes());
        to.extend(self.frame.to_le_bytes());
        to.extend(count(self.code.len())?);
        to.extend(&self.code);
        to.extend(count(self.relocations.len())?);
        for relocation in &self.relocations {
            let (kind, index) = relocation.symbol.name();
            to.extend([relocation.offset, kind, index].iter().flat_map(|number| number.to_le_bytes()));
            to.extend(relocation.addend.to_le_bytes());
        }
        to.extend(count(self.tables.len())?);
        for table in &self.tables {
            to.extend(count(table.len())?);
            to.extend(table.iter().flat_map(|word| word.to_ne_bytes()));
        }
        Some(to)
    }

    /// `None` when this is not the whole of an artifact, or one that refers to something that is not there.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        if from.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let alignment = from.number()?;
        let scratch_size = from.long()?;
        let has_cost = from.take(1)?;
        let cost = from.long()?;
        let frame = from.number()?;
        let length = from.number()?;
        let code = from.take(length as usize)?.to_vec();
        let mut artifact = Self {
            code,
            alignment,
            relocations: Vec::new(),
            tables: Vec::new(),
            scratch_size,
            cost: match has_cost {
                [0] => None,
                [1] => Some(cost),
                _ => return None,
            },
            frame,
            others: Vec::new(),
            unnamed: false,
        };
        // Nothing is reserved for numbers that are only said: each element takes its bytes first.
        for _ in 0..from.number()? {
            let (offset, name) = (from.number()?, (from.number()?, from.number()?));
            let addend = from.long()?.cast_signed();
            artifact.relocations.push(Relocation { offset, symbol: Symbol::of_name(name)?, addend });
        }
        for _ in 0..from.number()? {
            let size = (from.number()? as usize).checked_mul(WORD)?;
            let bytes = from.take(size)?;
            artifact.tables.push(bytes.as_chunks::<WORD>().0.iter().map(|word| u128::from_ne_bytes(*word)).collect());
        }
        (from.0.is_empty() && artifact.is_sound()).then_some(artifact)
    }

    fn is_sound(&self) -> bool {
        let inside = |relocation: &Relocation| {
            let end = (relocation.offset as usize).checked_add(size_of::<u64>());
            end.is_some_and(|end| end <= self.code.len()) && self.address(relocation).is_some()
        };
        !self.code.is_empty()
            && self.alignment.is_power_of_two()
            && self.alignment <= MOST_ALIGNMENT
            && self.scratch_size <= MOST_SCRATCH
            && self.frame <= super::MOST_FRAME
            && self.relocations.iter().all(inside)
    }

    /// What goes where a relocation is. `None`: it refers to nothing.
    fn address(&self, relocation: &Relocation) -> Option<u64> {
        let (start, size) = match relocation.symbol {
            Symbol::Function(number) => (Functions::all().address(number)?, 0),
            Symbol::Zeros => (super::shims::ZEROS.address(), super::shims::FALLBACK_SIZE as usize),
            Symbol::Table(number) => {
                let table = self.tables.get(number as usize)?;
                (table.as_ptr() as usize, size_of_val(&**table))
            }
        };
        let addend = usize::try_from(relocation.addend).ok().filter(|addend| *addend <= size)?;
        start.checked_add(addend).map(|address| address as u64)
    }

    /// The code with all addresses in it; good for as long as `self.tables` stay where they are. `None`: it is not sound.
    pub(super) fn linked(&self) -> Option<Vec<u8>> {
        let mut code = self.code.clone();
        for relocation in &self.relocations {
            let at = code.get_mut(relocation.offset as usize..)?.first_chunk_mut()?;
            *at = self.address(relocation)?.to_ne_bytes();
        }
        Some(code)
    }
}

fn count(length: usize) -> Option<[u8; 4]> {
    u32::try_from(length).ok().map(u32::to_le_bytes)
}

/// Bytes that are still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn long(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}
