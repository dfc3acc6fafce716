//! A module under construction, in the sections that its passes add to: annotations, declarations, functions.

use super::module::{HEADER, Instruction, Words};

/// What is added where.
pub(super) struct Sections {
    header: Vec<u32>,
    /// Everything up to the names.
    names: Part,
    annotations: Part,
    declarations: Part,
    functions: Part,
    next: u32,
}

/// Words, and for each instruction its first word here and the word of the module that it came from.
#[derive(Default)]
struct Part {
    words: Vec<u32>,
    origins: Vec<(usize, usize)>,
}

/// Where an instruction goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Names,
    Annotations,
    Declarations,
    Functions,
}

/// A module that passes have rewritten.
pub(super) struct Made {
    pub(super) words: Words,
    /// For each instruction its first word, and that of the one it came from.
    pub(super) origins: Vec<(usize, usize)>,
}

impl Made {
    /// The same after another pass: words of the module that came first.
    pub(super) fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.origins.iter_mut().for_each(|(_, from)| *from = before.origin(*from));
        }
        self
    }

    /// The word of the module before that an instruction came from.
    pub(super) fn origin(&self, at: usize) -> usize {
        let before = self.origins.partition_point(|(to, _)| *to <= at);
        before.checked_sub(1).and_then(|i| self.origins.get(i)).map_or(0, |(_, from)| *from)
    }
}

impl Sections {
    pub(super) fn new(words: &Words) -> Self {
        let header = words.header().to_vec();
        let next = header.get(3).copied().unwrap_or(0);
        let [names, annotations, declarations, functions] = [(); 4].map(|()| Part::default());
        Self { header, names, annotations, declarations, functions, next }
    }

    /// The section of an instruction that comes after one of `section`.
    pub(super) fn of(section: Section, opcode: u16) -> Section {
        match opcode {
            54 => Section::Functions,
            71..=75 | 332 | 5632 | 5633 => section.max(Section::Annotations),
            19..=39 | 41..=52 | 59 => section.max(Section::Declarations),
            _ => section,
        }
    }

    pub(super) fn fresh(&mut self) -> u32 {
        self.next = self.next.saturating_add(1);
        self.next - 1
    }

    pub(super) fn emit(&mut self, section: Section, from: usize, opcode: u16, operands: &[u32]) {
        let part = match section {
            Section::Names => &mut self.names,
            Section::Annotations => &mut self.annotations,
            Section::Declarations => &mut self.declarations,
            Section::Functions => &mut self.functions,
        };
        part.origins.push((part.words.len(), from));
        let length = u32::try_from(operands.len() + 1).unwrap_or(0);
        part.words.push(length << 16 | u32::from(opcode));
        part.words.extend_from_slice(operands);
    }

    pub(super) fn copy(&mut self, section: Section, instruction: &Instruction<'_>) {
        self.emit(section, instruction.at, instruction.opcode, instruction.operands());
    }

    /// An instruction of a function with a result.
    pub(super) fn value(&mut self, from: usize, opcode: u16, ty: u32, operands: &[u32]) -> u32 {
        let id = self.fresh();
        self.emit(Section::Functions, from, opcode, &[&[ty, id], operands].concat());
        id
    }

    /// A declaration with a result first, as those of types are.
    pub(super) fn declare(&mut self, from: usize, opcode: u16, operands: &[u32]) -> u32 {
        let id = self.fresh();
        self.emit(Section::Declarations, from, opcode, &[&[id], operands].concat());
        id
    }

    /// A constant.
    pub(super) fn constant(&mut self, from: usize, ty: u32, words: &[u32]) -> u32 {
        let id = self.fresh();
        self.emit(Section::Declarations, from, 43, &[&[ty, id], words].concat());
        id
    }

    pub(super) fn finish(self) -> Result<Made, String> {
        let mut words = self.header;
        if let Some(bound) = words.get_mut(3) {
            *bound = self.next;
        }
        debug_assert_eq!(words.len(), HEADER);
        let mut origins = Vec::new();
        for part in [self.names, self.annotations, self.declarations, self.functions] {
            origins.extend(part.origins.iter().map(|(to, from)| (to + words.len(), *from)));
            words.extend(part.words);
        }
        Ok(Made { words: Words::new(words)?, origins })
    }
}
