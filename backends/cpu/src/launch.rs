//! A launch made ready to run: everything looked up, checked and copied, so that running it can neither fail nor touch a stray byte.

use std::mem::size_of;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use compute_hal::kernel::lower::{RECORD_HEAD, Violation};
use compute_hal::kernel::reflection::{Access, BindingInfo};
use compute_hal::{Binding, DeviceError, Grid, LateCause, LateFailure, Launch, Limits, Position, Printed};
use smallvec::SmallVec;

use crate::codegen::{BoundRange, Context};
use crate::device::Shared;
use crate::kernel::Kernel;
use crate::memory::Span;
use crate::scratch::Lease;
use crate::system::DefaultFloats;

/// Inline bytes are kept in pieces of this, for their alignment.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Chunk([u8; 16]);

#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Memory(*mut u8),
    /// Index of the first chunk.
    Inline(usize),
}

/// A launch whose ids are resolved.
pub(crate) struct Prepared {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) time_limit: u64,
    grid: PreparedGrid,
    bindings: SmallVec<[(Place, u64); 8]>,
    immediates: Option<usize>,
    chunks: SmallVec<[Chunk; 8]>,
    /// What the kernel reports into; empty when it reports nothing.
    record: Vec<AtomicU32>,
    /// Keeps what `bindings` points to.
    spans: SmallVec<[Span; 8]>,
}

// SAFETY: its pointers lead into blocks that `spans` keeps alive; who may touch which bytes when is the order of the queues.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

#[derive(Clone)]
enum PreparedGrid {
    Direct([u32; 3]),
    Indirect(Span),
}

/// What a grid comes to when its turn is there.
pub(crate) enum Size {
    Nothing,
    Groups([u32; 3], u64),
    OverLimit([u32; 3]),
}

fn bug<T>(message: String) -> Result<T, DeviceError> {
    Err(DeviceError::Internal(message))
}

impl Prepared {
    /// Resolves a launch. What it refuses is a bug of the runtime.
    pub(crate) fn new(shared: &Shared, launch: &Launch<'_>) -> Result<Self, DeviceError> {
        let Some(kernel) = shared.kernels.get(launch.kernel.0) else {
            return bug(format!("no such kernel: {:?}", launch.kernel));
        };
        let expected = kernel.reflection.bindings.len();
        if launch.bindings.len() != expected {
            return bug(format!("{} bindings for a kernel of {expected}", launch.bindings.len()));
        }
        if launch.time_limit != 0 && !kernel.cancellable {
            return bug("a time limit for a kernel that was not compiled to be cancelled".into());
        }
        let grid = match launch.grid {
            Grid::Direct(groups) => {
                if groups.iter().zip(shared.limits.grid).any(|(&asked, limit)| asked > limit) {
                    return bug(format!("a grid of {groups:?} where {:?} is allowed", shared.limits.grid));
                }
                PreparedGrid::Direct(groups)
            }
            Grid::Indirect(region) if region.size >= 12 => PreparedGrid::Indirect(Span::resolve(&shared.memory, region)?),
            Grid::Indirect(region) => return bug(format!("an indirect grid of {} bytes", region.size)),
        };
        let mut prepared = Self {
            kernel: Arc::clone(&kernel),
            time_limit: launch.time_limit,
            grid,
            bindings: SmallVec::new(),
            immediates: None,
            chunks: SmallVec::new(),
            record: new_record(&kernel)?,
            spans: SmallVec::new(),
        };
        for (info, binding) in kernel.reflection.bindings.iter().zip(launch.bindings) {
            prepared.bind(shared, info, binding)?;
        }
        if launch.immediates.len() as u64 != u64::from(kernel.reflection.immediate_size) {
            return bug(format!(
                "{} immediate bytes for a kernel of {}",
                launch.immediates.len(),
                kernel.reflection.immediate_size
            ));
        }
        if !launch.immediates.is_empty() {
            prepared.immediates = Some(prepared.keep(launch.immediates)?);
        }
        Ok(prepared)
    }

    fn bind(&mut self, shared: &Shared, info: &BindingInfo, binding: &Binding<'_>) -> Result<(), DeviceError> {
        let (place, size) = match *binding {
            Binding::Inline([]) if info.access == Access::Unused => (Place::Nowhere, 0),
            Binding::Inline(bytes) => (Place::Inline(self.keep(bytes)?), bytes.len() as u64),
            Binding::Buffer(region) => {
                let span = Span::resolve(&shared.memory, region)?;
                let pointer = span.pointer();
                self.spans.push(span);
                (Place::Memory(pointer), region.size)
            }
            Binding::Tensor(..) => return bug("a tensor map".to_owned()),
        };
        if info.access != Access::Unused {
            if size < info.min_size {
                return bug(format!("binding {} of {size} bytes where the kernel needs {}", info.slot, info.min_size));
            }
            if let Place::Memory(pointer) = place
                && pointer.addr() % (info.alignment.max(1) as usize) != 0
            {
                return bug(format!("binding {} is not aligned to {}", info.slot, info.alignment));
            }
            if let Place::Inline(_) = place
                && info.access.writes()
            {
                return bug(format!("inline bytes for binding {}, which is written", info.slot));
            }
        }
        self.bindings.push((place, size));
        Ok(())
    }

    /// Copies inline bytes; gives the index of their first chunk.
    fn keep(&mut self, bytes: &[u8]) -> Result<usize, DeviceError> {
        let first = self.chunks.len();
        let count = bytes.len().div_ceil(size_of::<Chunk>());
        if self.chunks.try_reserve(count).is_err() {
            return Err(DeviceError::OutOfMemory { asked: bytes.len() as u64, free: 0 });
        }
        for piece in bytes.chunks(size_of::<Chunk>()) {
            let mut chunk = Chunk([0; 16]);
            // `chunks` gives at most 16 bytes.
            for (to, from) in chunk.0.iter_mut().zip(piece) {
                *to = *from;
            }
            self.chunks.push(chunk);
        }
        Ok(first)
    }

    /// Whether its grid is in memory.
    pub(crate) fn is_indirect(&self) -> bool {
        matches!(self.grid, PreparedGrid::Indirect(_))
    }

    /// Whether running it leaves something in its record.
    pub(crate) fn reports(&self) -> bool {
        !self.record.is_empty()
    }

    /// The same launch once more, with a record of its own.
    pub(crate) fn again(&self) -> Result<Self, DeviceError> {
        Ok(Self {
            kernel: Arc::clone(&self.kernel),
            time_limit: self.time_limit,
            grid: self.grid.clone(),
            bindings: self.bindings.clone(),
            immediates: self.immediates,
            chunks: self.chunks.clone(),
            record: new_record(&self.kernel)?,
            spans: self.spans.clone(),
        })
    }

    /// What to run; reads an indirect grid now.
    pub(crate) fn size(&self, limits: &Limits) -> Size {
        let groups = match &self.grid {
            PreparedGrid::Direct(groups) => *groups,
            // SAFETY: the span is inside a living block and has at least 12 bytes; the work before it is done.
            PreparedGrid::Indirect(span) => unsafe { ptr::read_unaligned(span.pointer().cast::<[u32; 3]>()) },
        };
        if groups.contains(&0) {
            return Size::Nothing;
        }
        if groups.iter().zip(limits.grid).any(|(&asked, limit)| asked > limit) {
            return Size::OverLimit(groups);
        }
        // The limits multiply to less than 2^64.
        Size::Groups(groups, groups.iter().map(|&n| u64::from(n)).product())
    }
}

/// A launch while it runs, possibly on several threads.
pub(crate) struct Run {
    prepared: Arc<Prepared>,
    workgroups: [u32; 3],
    /// Raised by the watchdog.
    pub(crate) cancel: Option<Arc<AtomicU32>>,
}

impl Run {
    pub(crate) fn new(prepared: Arc<Prepared>, workgroups: [u32; 3]) -> Self {
        let cancel = prepared.kernel.cancellable.then(Arc::default);
        Self { prepared, workgroups, cancel }
    }

    pub(crate) fn kernel(&self) -> &Arc<Kernel> {
        &self.prepared.kernel
    }

    pub(crate) fn time_limit(&self) -> u64 {
        self.prepared.time_limit
    }

    fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed) != 0)
    }

    /// Runs workgroups `begin` to `end` of the linear order. `lease` is this thread's scratch for this kernel.
    pub(crate) fn groups(&self, begin: u64, end: u64, lease: Option<&Lease>) {
        let chunk = |index: usize| self.prepared.chunks.as_ptr().wrapping_add(index).cast_mut().cast::<u8>();
        let ranges: SmallVec<[BoundRange; 8]> = self
            .prepared
            .bindings
            .iter()
            .map(|(place, size)| match *place {
                Place::Nowhere => BoundRange { pointer: ptr::null_mut(), size: 0 },
                Place::Memory(pointer) => BoundRange { pointer, size: *size },
                Place::Inline(index) => BoundRange { pointer: chunk(index), size: *size },
            })
            .collect();
        let context = Context {
            // Without scratch, still an aligned address.
            scratch: lease.map_or(ptr::without_provenance_mut(64), Lease::pointer),
            bindings: ranges.as_ptr(),
            immediates: self.prepared.immediates.map_or(ptr::null(), |index| chunk(index).cast_const()),
            record: self.record(),
            cancel: self.cancel.as_ref().map_or(ptr::null(), Arc::as_ptr),
            workgroups: self.workgroups,
        };
        let _floats = DefaultFloats::enter();
        let [width, height, _] = self.workgroups.map(u64::from);
        let (mut x, mut y, mut z) = (begin % width, begin / width % height, begin / width / height);
        for _ in begin..end {
            if self.cancelled() {
                return;
            }
            // SAFETY: `new` checked bindings and immediates against this kernel's reflection; blocks and inline bytes live as long as
            // `self`, the ranges and the lease until this returns; the record is as large as the kernel wants it, and atomics may change behind a shared reference. No group is past the grid.
            unsafe { self.prepared.kernel.run(&context, [x as u32, y as u32, z as u32]) };
            x += 1;
            if x == width {
                (x, y) = (0, y + 1);
                if y == height {
                    (y, z) = (0, z + 1);
                }
            }
        }
    }

    /// What went wrong, once all groups are done.
    pub(crate) fn failure(&self, position: Position) -> Option<LateFailure> {
        if self.cancelled() {
            return Some(LateFailure { position, cause: LateCause::TimeLimit { limit: self.prepared.time_limit } });
        }
        let violation = self.prepared.kernel.reports().violation(&self.head())?;
        let Violation { location, what, index, length, invocation } = violation;
        Some(LateFailure { position, cause: LateCause::OutOfBounds { location, index, length, invocation, what } })
    }

    /// What was printed, once all groups are done.
    pub(crate) fn printed(&self, position: Position) -> Option<Printed> {
        let reports = self.prepared.kernel.reports();
        if !reports.prints() {
            return None;
        }
        let used = usize::try_from(reports.used(&self.head())).unwrap_or(usize::MAX);
        let record: Vec<u8> = self.prepared.record.iter().take(used.div_ceil(4)).flat_map(bytes).collect();
        let output = reports.printed(&record);
        (output.lost > 0 || !output.lines.is_empty()).then_some(Printed { position, node: None, output })
    }

    fn record(&self) -> *mut u8 {
        let record = &self.prepared.record;
        if record.is_empty() { ptr::null_mut() } else { record.as_ptr().cast_mut().cast() }
    }

    /// The beginning of the record, zeros where there is none.
    fn head(&self) -> [u8; RECORD_HEAD as usize] {
        let mut head = [0; RECORD_HEAD as usize];
        for (to, from) in head.iter_mut().zip(self.prepared.record.iter().flat_map(bytes)) {
            *to = from;
        }
        head
    }
}

/// A word of a record as the device wrote it.
fn bytes(word: &AtomicU32) -> [u8; 4] {
    word.load(Ordering::Acquire).to_le_bytes()
}

fn new_record(kernel: &Kernel) -> Result<Vec<AtomicU32>, DeviceError> {
    let Some(record) = kernel.reports().record() else { return Ok(Vec::new()) };
    let words = record.size.div_ceil(4) as usize;
    let mut memory = Vec::new();
    if memory.try_reserve_exact(words).is_err() {
        return Err(DeviceError::OutOfMemory { asked: record.size.into(), free: 0 });
    }
    memory.resize_with(words, AtomicU32::default);
    Ok(memory)
}
