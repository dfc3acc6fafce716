//! The words of a module and its instructions, checked as far as their lengths and ids go.

use std::sync::Arc;

use crate::diagnostics::Diagnostics;
use crate::front::refuse;
use crate::reflection::Location;
use crate::scan::MAX_SOURCE;
use crate::text::{Mark, Text};

const MAGIC: u32 = 0x0723_0203;
/// Words before the first instruction.
pub(super) const HEADER: usize = 5;

/// A module in the order of this machine.
pub(crate) struct Words {
    words: Vec<u32>,
    bytes: Vec<u8>,
    /// First word and length of every instruction.
    starts: Vec<(usize, usize)>,
}

/// One instruction.
#[derive(Clone, Copy)]
pub(super) struct Instruction<'a> {
    /// Its first word in the module.
    pub(super) at: usize,
    pub(super) opcode: u16,
    /// All of its words.
    pub(super) words: &'a [u32],
}

impl<'a> Instruction<'a> {
    /// The word after the first, and so on.
    pub(super) fn operand(&self, index: usize) -> Option<u32> {
        self.words.get(index + 1).copied()
    }

    pub(super) fn operands(&self) -> &'a [u32] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Text that begins at an operand, and the number of words that it takes.
    pub(super) fn text(&self, index: usize) -> Option<String> {
        let bytes: Vec<u8> = self.operands().get(index..)?.iter().flat_map(|w| w.to_le_bytes()).collect();
        let end = bytes.iter().position(|&b| b == 0)?;
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    }
}

/// Reads a module. Instructions are whole, and the header's bound is sane.
pub(crate) fn read(bytes: &[u8]) -> Result<Words, Diagnostics> {
    if bytes.len() > MAX_SOURCE {
        return Err(refuse(format!("the module has {} bytes; at most {MAX_SOURCE} are allowed", bytes.len())));
    }
    if !bytes.len().is_multiple_of(4) {
        return Err(refuse(format!("a SPIR-V module is made of words of 4 bytes; this one has {} bytes", bytes.len())));
    }
    let little: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&w| u32::from_le_bytes(w)).collect();
    let words = match little.first() {
        Some(&MAGIC) => little,
        Some(&first) if first.swap_bytes() == MAGIC => little.into_iter().map(u32::swap_bytes).collect(),
        _ => return Err(refuse("this is no SPIR-V module: it does not begin with the magic number 0x07230203")),
    };
    let Some(&bound) = words.get(3).filter(|_| words.len() >= HEADER) else {
        return Err(refuse(format!("the module is cut off: it has {} words, its header alone takes {HEADER}", words.len())));
    };
    if bound as usize > words.len() {
        return Err(refuse(format!("the module says that it has {bound} ids, more than its {} words can define", words.len())));
    }
    Words::new(words).map_err(refuse)
}

impl Words {
    /// Words that begin with a header.
    pub(super) fn new(words: Vec<u32>) -> Result<Self, String> {
        let mut starts = Vec::new();
        let mut at = HEADER;
        while let Some(&first) = words.get(at) {
            let length = (first >> 16) as usize;
            let left = words.len() - at;
            if length == 0 || length > left {
                return Err(format!(
                    "the module is cut off or damaged: the instruction at word {at} has {length} words, {left} are there"
                ));
            }
            starts.push((at, length));
            at += length;
        }
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Ok(Self { words, bytes, starts })
    }

    /// The module with the low byte first.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn header(&self) -> &[u32] {
        self.words.get(..HEADER).unwrap_or_default()
    }

    pub(super) fn instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        self.starts.iter().filter_map(|&(at, length)| {
            let words = self.words.get(at..at + length)?;
            let opcode = u16::try_from(words.first()? & 0xffff).ok()?;
            Some(Instruction { at, opcode, words })
        })
    }

    /// Files and lines that the module itself tells, by its own bytes.
    pub(super) fn debug_text(&self) -> Text {
        self.marks(|at| Some(at * 4))
    }

    /// The same by the bytes of the rewritten module; `origins` holds for each of its instructions its first word and the one it came from.
    pub(super) fn rewritten_text(&self, origins: &[(usize, usize)]) -> Text {
        self.marks(|at| {
            let index = origins.partition_point(|&(_, from)| from < at);
            origins.get(index).map(|&(to, _)| to * 4)
        })
    }

    fn marks(&self, place: impl Fn(usize) -> Option<usize>) -> Text {
        let mut files: Vec<(u32, Arc<str>)> = Vec::new();
        let mut marks = Vec::new();
        for instruction in self.instructions() {
            let mark = match (instruction.opcode, instruction.operands()) {
                (7, [id, ..]) => {
                    files.push((*id, instruction.text(1).unwrap_or_default().into()));
                    continue;
                }
                (8, [file, line, column]) => {
                    let file = files.iter().position(|(id, _)| id == file);
                    let location = Location { line: *line, column: *column };
                    (file, location)
                }
                // The end of a block, and what says so.
                (317 | 249..=255 | 56, _) => (None, Location::default()),
                _ => continue,
            };
            if let Some(start) = place(instruction.at + if instruction.opcode == 8 { 0 } else { instruction.words.len() }) {
                marks.push(Mark { start, file: mark.0, location: mark.1 });
            }
        }
        Text::binary(files.into_iter().map(|(_, name)| name).collect(), marks)
    }
}
