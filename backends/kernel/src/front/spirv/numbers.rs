//! Instructions on numbers that naga translates to something else, spelled in others: OpSMod, which it computes in floats.

use std::collections::HashMap;

use super::Wrong;
use super::facts::{Facts, Type};
use super::module::{Instruction, Words};
use super::sections::{Made, Section, Sections};

const LOGICAL_AND: u16 = 167;
const SELECT: u16 = 169;

/// Rewrites a module; `None` when nothing is to be done.
pub(super) fn run(words: &Words) -> Result<Option<Made>, Wrong> {
    let mut pass = Pass {
        start: words.instructions().find(|i| i.opcode == 54).map_or(0, |i| i.at),
        facts: Facts::of(words),
        out: Sections::new(words),
        types: HashMap::new(),
        zeros: HashMap::new(),
    };
    let (mut section, mut changed) = (Section::Names, false);
    for instruction in words.instructions() {
        section = Sections::of(section, instruction.opcode);
        if section == Section::Functions && pass.spell(&instruction)?.is_some() {
            changed = true;
        } else {
            pass.out.copy(section, &instruction);
        }
    }
    if !changed {
        return Ok(None);
    }
    pass.out.finish().map(Some).map_err(|message| (message, 0))
}

struct Pass {
    /// The first function: what is declared for this stands before it.
    start: usize,
    facts: Facts,
    out: Sections,
    /// Types that this has asked for, which are few: looking for one takes as long as there are types.
    types: HashMap<Type, u32>,
    /// Zeros that were declared for this, by their type.
    zeros: HashMap<u32, u32>,
}

impl Pass {
    /// Emits what an instruction means; `None`: it stays as it is.
    fn spell(&mut self, instruction: &Instruction<'_>) -> Result<Option<()>, Wrong> {
        let at = instruction.at;
        match (instruction.opcode, instruction.operands()) {
            (139, [ty, id, a, b]) => {
                let made = self.modulo((*ty, *id), (*a, *b), at);
                made.map(Some).ok_or_else(|| ("OpSMod: it is of integers".to_owned(), at))
            }
            _ => Ok(None),
        }
    }

    /// The instruction that gives the result.
    fn last(&mut self, at: usize, opcode: u16, operands: &[u32]) {
        self.out.emit(Section::Functions, at, opcode, operands);
    }

    /// Scalar and number of components, one for a scalar.
    fn shape(&self, ty: u32) -> Option<(&Type, u32)> {
        match self.facts.ty(ty)? {
            Type::Vector(of, count) => Some((self.facts.ty(*of)?, *count)),
            scalar => Some((scalar, 1)),
        }
    }

    /// The remainder with the sign of the divisor: that with the sign of the dividend, and the divisor more where the two signs are not the same.
    fn modulo(&mut self, (ty, id): (u32, u32), (a, b): (u32, u32), at: usize) -> Option<()> {
        let (Type::Int(..), count) = self.shape(ty)? else { return None };
        let truth = self.truths(count);
        let zero = self.zero(ty);
        let b = if self.facts.values.get(&b) == Some(&ty) { b } else { self.out.value(at, 124, ty, &[b]) };
        let rest = self.out.value(at, 138, ty, &[a, b]);
        let signs = self.out.value(at, 198, ty, &[rest, b]);
        let differ = self.out.value(at, 177, truth, &[signs, zero]);
        let some = self.out.value(at, 171, truth, &[rest, zero]);
        let wrong = self.out.value(at, LOGICAL_AND, truth, &[some, differ]);
        let more = self.out.value(at, SELECT, ty, &[wrong, b, zero]);
        self.last(at, 128, &[ty, id, rest, more]);
        Some(())
    }

    fn truths(&mut self, count: u32) -> u32 {
        let truth = self.declared(&Type::Bool, 20, &[]);
        self.vector(truth, count)
    }

    fn vector(&mut self, of: u32, count: u32) -> u32 {
        if count == 1 { of } else { self.declared(&Type::Vector(of, count), 23, &[of, count]) }
    }

    fn declared(&mut self, ty: &Type, opcode: u16, operands: &[u32]) -> u32 {
        if let Some(&known) = self.types.get(ty) {
            return known;
        }
        let id = self.facts.find(ty).unwrap_or_else(|| self.out.declare(self.start, opcode, operands));
        self.types.insert(ty.clone(), id);
        id
    }

    fn zero(&mut self, ty: u32) -> u32 {
        *self.zeros.entry(ty).or_insert_with(|| {
            let id = self.out.fresh();
            self.out.emit(Section::Declarations, self.start, 46, &[ty, id]);
            id
        })
    }
}
