//! Instructions on numbers that naga translates to something else, spelled in others: OpSMod, which it computes in floats; comparisons, minima and maxima that
//! say what NaN gives, which it takes for those that do not; counts of shifts of other sizes than 32 bits; and Modf and Frexp, of which it knows those that
//! give structures.

use std::collections::{HashMap, HashSet};

use super::Wrong;
use super::facts::{Facts, Type};
use super::module::{Instruction, Words};
use super::sections::{Made, Section, Sections};

const LOGICAL_OR: u16 = 166;
const LOGICAL_AND: u16 = 167;
const LOGICAL_NOT: u16 = 168;
const SELECT: u16 = 169;
const IS_NAN: u16 = 156;
const LESS: u16 = 184;
const GREATER: u16 = 186;

/// Rewrites a module; `None` when nothing is to be done.
pub(super) fn run(words: &Words) -> Result<Option<Made>, Wrong> {
    let imports = words.instructions().filter(|i| i.opcode == 11 && i.text(1).is_some_and(|t| t == "GLSL.std.450"));
    let mut pass = Pass {
        start: words.instructions().find(|i| i.opcode == 54).map_or(0, |i| i.at),
        facts: Facts::of(words),
        glsl: imports.filter_map(|i| i.operand(0)).collect(),
        out: Sections::new(words),
        types: HashMap::new(),
        pairs: HashMap::new(),
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
    /// What GLSL.std.450 is called.
    glsl: HashSet<u32>,
    out: Sections,
    /// Types that this has asked for, which are few: looking for one takes as long as there are types.
    types: HashMap<Type, u32>,
    /// Structures of two that were declared for this.
    pairs: HashMap<(u32, u32), u32>,
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
            // FUnordEqual and FOrdNotEqual: what is neither less nor greater, and what is one of them.
            (opcode @ (181 | 182), [ty, id, a, b]) => {
                let less = self.out.value(at, LESS, *ty, &[*a, *b]);
                let greater = self.out.value(at, GREATER, *ty, &[*a, *b]);
                if opcode == 182 {
                    self.last(at, LOGICAL_OR, &[*ty, *id, less, greater]);
                } else {
                    let differ = self.out.value(at, LOGICAL_OR, *ty, &[less, greater]);
                    self.last(at, LOGICAL_NOT, &[*ty, *id, differ]);
                }
                Ok(Some(()))
            }
            // FUnordLessThan, GreaterThan, LessThanEqual, GreaterThanEqual: not FOrdGreaterThanEqual, and so on.
            (opcode @ (185 | 187 | 189 | 191), [ty, id, a, b]) => {
                let opposite = self.out.value(at, 375 - opcode, *ty, &[*a, *b]);
                self.last(at, LOGICAL_NOT, &[*ty, *id, opposite]);
                Ok(Some(()))
            }
            // NMin, NMax.
            (12, [ty, id, set, number @ (79 | 80), a, b]) if self.glsl.contains(set) => {
                Ok(self.nearest((*ty, Some(*id)), if *number == 79 { LESS } else { GREATER }, (*a, *b), at).map(|_| ()))
            }
            // NClamp.
            (12, [ty, id, set, 81, value, low, high]) if self.glsl.contains(set) => {
                let Some(raised) = self.nearest((*ty, None), GREATER, (*value, *low), at) else { return Ok(None) };
                Ok(self.nearest((*ty, Some(*id)), LESS, (raised, *high), at).map(|_| ()))
            }
            // Modf, Frexp.
            (12, [ty, id, set, number @ (35 | 51), value, pointer]) if self.glsl.contains(set) => {
                Ok(self.parts((*ty, *id), [*set, *number + 1, *value], *pointer, at))
            }
            (opcode @ 194..=196, [ty, id, base, count]) => {
                let Some(count) = self.count(*count, at) else { return Ok(None) };
                self.last(at, opcode, &[*ty, *id, *base, count]);
                Ok(Some(()))
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

    /// `b` where it is less (or greater) or `a` is NaN, else `a`: never NaN where one of them is a number.
    fn nearest(&mut self, (ty, id): (u32, Option<u32>), comparison: u16, (a, b): (u32, u32), at: usize) -> Option<u32> {
        let (Type::Float(_), count) = self.shape(ty)? else { return None };
        let truth = self.truths(count);
        let nearer = self.out.value(at, comparison, truth, &[b, a]);
        let none = self.out.value(at, IS_NAN, truth, &[a]);
        let other = self.out.value(at, LOGICAL_OR, truth, &[nearer, none]);
        let id = id.unwrap_or_else(|| self.out.fresh());
        self.last(at, SELECT, &[ty, id, other, b, a]);
        Some(id)
    }

    /// The instruction that gives both parts in a structure, and a store of the second.
    fn parts(&mut self, (ty, id): (u32, u32), call: [u32; 3], pointer: u32, at: usize) -> Option<()> {
        let (Type::Float(_), count) = self.shape(ty)? else { return None };
        let &Type::Pointer(_, target) = self.facts.of_value(pointer)? else { return None };
        let second = if call[1] == 36 {
            Some(ty).filter(|ty| *ty == target)?
        } else {
            let (Type::Int(32, _), _) = self.shape(target).filter(|(_, of)| *of == count)? else { return None };
            let word = self.declared(&Type::Int(32, true), 21, &[32, 1]);
            self.vector(word, count)
        };
        let pair = match self.pairs.get(&(ty, second)) {
            Some(&known) => known,
            None => self.out.declare(self.start, 30, &[ty, second]),
        };
        self.pairs.insert((ty, second), pair);
        let both = self.out.value(at, 12, pair, &call);
        self.last(at, 81, &[ty, id, both, 0]);
        let mut stored = self.out.value(at, 81, second, &[both, 1]);
        if second != target {
            stored = self.out.value(at, 124, target, &[stored]);
        }
        self.last(at, 62, &[pointer, stored]);
        Some(())
    }

    /// A count of a shift in 32 bits; `None` where it has them.
    fn count(&mut self, count: u32, at: usize) -> Option<u32> {
        let (Type::Int(16 | 64, _), components) = self.shape(*self.facts.values.get(&count)?)? else { return None };
        let word = self.declared(&Type::Int(32, false), 21, &[32, 0]);
        let ty = self.vector(word, components);
        Some(self.out.value(at, 113, ty, &[count]))
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
