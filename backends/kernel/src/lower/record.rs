//! The record: the hidden storage buffer that a lowered kernel reports into. Its layout as a type of the IR, and its bytes read back.
//!
//! Pure: bytes in, data out. Whatever the bytes are, reading them gives an answer.

use naga::{ArraySize, Handle, Module, Span, StructMember, Type, TypeInner};

use super::build::Types;
use super::format::{Argument, Format};
use crate::reflection::Location;

/// Members of the record by index, and words by offset: one word each, until the printed lines begin.
pub(crate) mod member {
    /// Not 0 once a violation has been recorded.
    pub(crate) const TAKEN: u32 = 0;
    /// The site's number, counted from 1.
    pub(crate) const SITE: u32 = 1;
    pub(crate) const INDEX_LOW: u32 = 2;
    pub(crate) const INDEX_HIGH: u32 = 3;
    pub(crate) const LENGTH: u32 = 4;
    /// Three words.
    pub(crate) const ID: u32 = 5;
    /// Words of lines asked for so far; more than there is room for once lines are lost.
    pub(crate) const CURSOR: u32 = 8;
    /// Lines that found no room.
    pub(crate) const LOST: u32 = 9;
    /// The lines, one after the other: number of the print from 1, invocation, arguments.
    pub(crate) const LINES: u32 = 10;
}

/// Words of a line before its arguments.
pub(super) const LINE_HEAD: u32 = 4;

const WORD: u32 = 4;

/// Where a lowered kernel expects its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// A group that no binding of the kernel is in.
    pub group: u32,
    /// Its number in that group.
    pub binding: u32,
    /// Its bytes. They must be zero when the launch starts; the buffer's alignment is 4.
    pub size: u32,
}

/// An access that can be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where the source indexes.
    pub location: Location,
    /// What is indexed, as a path from a variable: `particles[..].mass`. Empty for a value without a name.
    pub what: String,
    pub(super) signed: bool,
    pub(super) wide: bool,
}

/// The first access out of range of a launch (L5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where the source indexes.
    pub location: Location,
    /// What is indexed; see [`Site::what`].
    pub what: String,
    /// The index used. One of 64 bits without a sign that is larger is given as the largest.
    pub index: i64,
    /// The length that it must stay below.
    pub length: u64,
    /// Global id of the invocation.
    pub invocation: [u32; 3],
}

/// A line that a kernel printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the source prints.
    pub location: Location,
    /// Global id of the invocation.
    pub invocation: [u32; 3],
    /// The text, without the line feed at its end.
    pub text: String,
}

/// What a launch printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// In the order in which the invocations asked for room.
    pub lines: Vec<Line>,
    /// Lines for which there was no room.
    pub lost: u32,
}

/// A print of the source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Print {
    pub(crate) location: Location,
    pub(crate) format: Format,
}

impl Print {
    /// Words of one line of it.
    pub(super) fn words(&self) -> u32 {
        self.format.arguments.iter().map(Argument::words).fold(LINE_HEAD, u32::saturating_add)
    }
}

/// The type of the record, with room for `lines` words of printed lines.
pub(super) fn ty(module: &mut Module, types: &Types, lines: u32) -> (Handle<Type>, u32) {
    let names = ["taken", "site", "index_low", "index_high", "length", "x", "y", "z", "cursor", "lost"];
    let atomic = |n: u32| matches!(n, member::TAKEN | member::CURSOR | member::LOST);
    let mut members: Vec<_> = (0..)
        .zip(names)
        .map(|(n, name)| {
            let ty = if atomic(n) { types.atomic } else { types.word };
            StructMember { name: Some(name.into()), ty, binding: None, offset: n * WORD }
        })
        .collect();
    let size = (member::LINES + lines) * WORD;
    if let Some(count) = std::num::NonZeroU32::new(lines) {
        let inner = TypeInner::Array { base: types.word, size: ArraySize::Constant(count), stride: WORD };
        let ty = module.types.insert(Type { name: None, inner }, Span::UNDEFINED);
        members.push(StructMember { name: Some("lines".into()), ty, binding: None, offset: member::LINES * WORD });
    }
    let inner = TypeInner::Struct { members, span: size };
    (module.types.insert(Type { name: Some("compute_record".into()), inner }, Span::UNDEFINED), size)
}

/// Reads words of a record; those past its end are zero.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn get(&self, index: u32) -> u32 {
        let start = index as usize * WORD as usize;
        let bytes = self.0.get(start..start + WORD as usize).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn id(&self, first: u32) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.get(first.saturating_add(axis)))
    }

    fn count(&self) -> u32 {
        u32::try_from(self.0.len() / WORD as usize).unwrap_or(u32::MAX)
    }
}

/// The violation in a record, if there is one.
pub(super) fn violation(sites: &[Site], record: &[u8]) -> Option<Violation> {
    let words = Words(record);
    if words.get(member::TAKEN) == 0 {
        return None;
    }
    let unknown = Site { location: Location::default(), what: String::new(), signed: false, wide: false };
    let number = words.get(member::SITE).checked_sub(1).and_then(|n| usize::try_from(n).ok());
    let site = number.and_then(|n| sites.get(n)).unwrap_or(&unknown);
    let (low, high) = (words.get(member::INDEX_LOW), words.get(member::INDEX_HIGH));
    let long = u64::from(high) << 32 | u64::from(low);
    let index = match (site.wide, site.signed) {
        (false, false) => i64::from(low),
        (false, true) => i64::from(low.cast_signed()),
        (true, true) => long.cast_signed(),
        (true, false) => i64::try_from(long).unwrap_or(i64::MAX),
    };
    Some(Violation {
        location: site.location.clone(),
        what: site.what.clone(),
        index,
        length: words.get(member::LENGTH).into(),
        invocation: words.id(member::ID),
    })
}

/// Bytes of a record that hold something.
pub(super) fn used(head: &[u8]) -> u64 {
    (u64::from(member::LINES) + u64::from(Words(head).get(member::CURSOR))) * u64::from(WORD)
}

/// The lines in a record.
pub(super) fn printed(prints: &[Print], record: &[u8]) -> Printed {
    let words = Words(record);
    let mut out = Printed { lines: Vec::new(), lost: words.get(member::LOST) };
    let end = member::LINES.saturating_add(words.get(member::CURSOR)).min(words.count());
    let mut at = member::LINES;
    while at < end {
        let number = words.get(at).checked_sub(1).and_then(|n| usize::try_from(n).ok());
        // Behind the last line that found room there may be a rest that none fitted into.
        let Some(print) = number.and_then(|n| prints.get(n)) else { break };
        let arguments: Vec<u32> = (LINE_HEAD..print.words()).map(|n| words.get(at.saturating_add(n))).collect();
        let mut text = print.format.text(&arguments);
        if text.ends_with('\n') {
            text.pop();
        }
        out.lines.push(Line { location: print.location.clone(), invocation: words.id(at + 1), text });
        at = at.saturating_add(print.words());
    }
    out
}
