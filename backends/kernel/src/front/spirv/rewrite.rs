//! The module as naga is to see it: nothing that only debuggers read, constants in the place of specialization constants, and a few instructions spelled as
//! naga understands them.

use std::collections::{HashMap, HashSet};

use naga::{Scalar, ScalarKind};

use super::Wrong;
use super::constants::Constants;
use super::module::{Instruction, Words};
use super::signs::Signs;
use super::types::{Kind, Types};
use crate::bitcast::{Casts, Shape};

/// Why a module is refused.
const VOLATILE: &str = "volatile memory is not supported: use atomics for memory that other invocations change meanwhile";

/// A rewritten module.
pub(super) struct Rewritten {
    pub(super) words: Vec<u32>,
    /// For each instruction its first word, and that of the one it came from.
    pub(super) origins: Vec<(usize, usize)>,
    /// Words before the functions that naga does not count when it says where something stands.
    pub(super) uncounted: usize,
    /// Casts between types of other components, which naga takes for casts of each component, by their first words as naga counts.
    pub(super) casts: Casts,
}

struct Rewriter<'a> {
    types: &'a Types,
    constants: &'a Constants,
    out: Rewritten,
    /// Sets of instructions that mean nothing.
    debug_sets: HashSet<u32>,
    /// Result types of the values of functions, as far as the module was read.
    values: HashMap<u32, u32>,
    names: HashSet<u32>,
    signs: Signs<'a>,
}

/// Rewrites a module.
pub(super) fn rewrite(words: &Words, types: &Types, constants: &Constants) -> Result<Rewritten, Wrong> {
    let sets =
        words.instructions().filter(|i| i.opcode == 11).filter(|i| i.text(1).is_some_and(|t| t.starts_with("NonSemantic.")));
    let mut rewriter = Rewriter {
        types,
        constants,
        out: Rewritten { words: words.header().to_vec(), origins: Vec::new(), uncounted: 0, casts: Casts::new() },
        debug_sets: sets.filter_map(|i| i.operand(0)).collect(),
        values: HashMap::new(),
        names: HashSet::new(),
        signs: Signs::new(words, types),
    };
    for instruction in words.instructions() {
        rewriter.instruction(&instruction)?;
    }
    if let Some(bound) = rewriter.out.words.get_mut(3) {
        *bound = rewriter.signs.bound();
    }
    Ok(rewriter.out)
}

fn first_word(opcode: u16, length: usize) -> u32 {
    (u32::try_from(length).unwrap_or(0) << 16) | u32::from(opcode)
}

impl Rewriter<'_> {
    fn emit(&mut self, from: usize, opcode: u16, operands: &[u32]) {
        self.out.origins.push((self.out.words.len(), from));
        self.out.words.push(first_word(opcode, operands.len() + 1));
        self.out.words.extend_from_slice(operands);
        self.out.uncounted += match (opcode, operands) {
            // OpEntryPoint: the variables behind its name.
            (15, [_, _, rest @ ..]) => {
                let name = rest.iter().position(|word| word.to_le_bytes().contains(&0));
                rest.len() - name.map_or(rest.len(), |last| last + 1)
            }
            // OpExecutionMode, OpTypeFunction: behind what they are about.
            (16 | 33, [_, _, rest @ ..]) => rest.len(),
            _ => 0,
        };
    }

    fn copy(&mut self, instruction: &Instruction<'_>) {
        self.emit(instruction.at, instruction.opcode, instruction.operands());
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let at = instruction.at;
        let operands = instruction.operands();
        match (instruction.opcode, operands) {
            // OpSourceContinued, OpSource, OpSourceExtension, OpString, OpLine, OpNoLine, OpModuleProcessed.
            (2 | 3 | 4 | 7 | 8 | 317 | 330, _) => {}
            (5, [id, ..]) => self.name(instruction, *id),
            (6, _) if instruction.text(2).is_none_or(|t| t.is_empty()) => {}
            (6, [id, member, ..]) => {
                let words = text_words(&instruction.text(2).unwrap_or_default());
                self.emit(at, 6, &[[*id, *member].as_slice(), &words].concat());
            }
            (10, _) if instruction.text(0).is_some_and(|t| t == "SPV_KHR_non_semantic_info") => {}
            (11, [id, ..]) if self.debug_sets.contains(id) => {}
            (12, [_, _, set, ..]) if self.debug_sets.contains(set) => {}
            (16, [entry, 17, _, _, _]) => {
                let size = self.constants.workgroup_size;
                match size {
                    Some([x, y, z]) => self.emit(at, 16, &[*entry, 17, x, y, z]),
                    None => self.copy(instruction),
                }
            }
            (331, [entry, 38, x, y, z]) => {
                let size = [x, y, z].map(|id| self.constants.word(*id));
                let [Some(x), Some(y), Some(z)] = self.constants.workgroup_size.map_or(size, |s| s.map(Some)) else {
                    return Err(("OpExecutionModeId: LocalSizeId takes constants".to_owned(), at));
                };
                self.emit(at, 16, &[*entry, 17, x, y, z]);
            }
            (71 | 72, _) => self.decoration(instruction)?,
            (48 | 49, [ty, id]) => {
                let value = self.constants.word(*id).unwrap_or(0);
                self.emit(at, if value != 0 { 41 } else { 42 }, &[*ty, *id]);
            }
            (43 | 50 | 52, [ty, ..]) if matches!(self.types.kind(*ty), Some(Kind::Int(8 | 16, _))) => {
                return Err(("OpConstant: constants of 8- and 16-bit integers are not supported in SPIR-V".to_owned(), at));
            }
            (50 | 52, [ty, id, ..]) => match (self.types.kind(*ty), self.constants.scalars.get(id)) {
                (Some(Kind::Bool), value) => self.emit(at, if value.is_some_and(|v| v.bits != 0) { 41 } else { 42 }, &[*ty, *id]),
                (Some(kind), Some(value)) => self.emit(at, 43, &[[*ty, *id].as_slice(), &value.words(kind)].concat()),
                _ => return Err(("OpSpecConstant: a constant of this type is not supported".to_owned(), at)),
            },
            (51, _) => self.emit(at, 44, operands),
            // On vectors of bool naga has no logical operators, but those on bits mean the same.
            (166 | 167, [ty, ..]) if matches!(self.types.kind(*ty), Some(Kind::Vector(..))) => {
                self.emit(at, if instruction.opcode == 166 { 197 } else { 199 }, operands);
            }
            // OpBitcast; PackDouble2x32 and UnpackDouble2x32, which are casts as well.
            (124, [ty, id, value]) | (12, [ty, id, _, 59 | 65, value]) => self.cast((*ty, *id), *value, at)?,
            (61, [_, _, _, mask, ..]) | (62, [_, _, mask, ..]) | (63 | 64, [_, _, mask, ..]) if mask & 1 != 0 => {
                return Err((format!("a load, store or copy: {VOLATILE}"), at));
            }
            // What else is said of an access says nothing here: it is about alignment, caches, and an order that only barriers and atomics give.
            (61, [ty, id, pointer, _, ..]) => self.emit(at, 61, &[*ty, *id, *pointer]),
            (62, [pointer, value, _, ..]) => self.emit(at, 62, &[*pointer, *value]),
            (224, [execution, ..]) if self.constants.word(*execution) != Some(2) => {
                return Err(("OpControlBarrier: only the execution scope Workgroup is supported".to_owned(), at));
            }
            (251, [selector, ..]) if self.values.get(selector).is_none_or(|ty| !self.is_word(*ty)) => {
                return Err(("OpSwitch: only 32-bit selectors are supported".to_owned(), at));
            }
            (opcode, [ty, ..]) if self.signs.contradicts(opcode, *ty) => {
                let message =
                    "an atomic or subgroup operation that takes integers by another sign than their type has is not supported";
                return Err((message.to_owned(), at));
            }
            // The first function: types that casts need stand before it.
            (54, _) => {
                for (opcode, operands) in std::mem::take(&mut self.signs.missing) {
                    self.emit(at, opcode, &operands);
                }
                self.copy(instruction);
            }
            _ => match self.signs.spell(instruction) {
                Some(list) => list.iter().for_each(|(opcode, operands)| self.emit(at, *opcode, operands)),
                None => self.copy(instruction),
            },
        }
        if let (1 | 12 | 41..=52 | 55 | 57 | 61 | 77..=400, [ty, id, ..]) = (instruction.opcode, operands)
            && self.types.kind(*ty).is_some()
        {
            self.values.insert(*id, *ty);
        }
        Ok(())
    }

    /// Components and their type.
    fn shape(&self, ty: u32) -> Option<Shape> {
        Some(match self.types.kind(ty)? {
            Kind::Int(width @ (16 | 32 | 64), sign) => {
                let kind = if sign { ScalarKind::Sint } else { ScalarKind::Uint };
                (1, Scalar { kind, width: u8::try_from(width / 8).ok()? })
            }
            Kind::Float(width) => (1, Scalar { kind: ScalarKind::Float, width: u8::try_from(width / 8).ok()? }),
            Kind::Vector(of, count) => (count, self.shape(of)?.1),
            Kind::Int(..) | Kind::Bool | Kind::Other => return None,
        })
    }

    fn cast(&mut self, (ty, id): (u32, u32), value: u32, at: usize) -> Result<(), Wrong> {
        let from = self.values.get(&value).and_then(|from| self.shape(*from));
        if let (Some(from), Some(to)) = (from, self.shape(ty)) {
            let size = |(count, scalar): Shape| count * u32::from(scalar.width);
            if size(from) != size(to) {
                return Err((format!("OpBitcast: it is of {} bytes to {}", size(from), size(to)), at));
            }
            if from.0 != to.0 {
                self.out.casts.insert(self.out.words.len() - self.out.uncounted, (from, to));
            }
        }
        self.emit(at, 124, &[ty, id, value]);
        Ok(())
    }

    fn is_word(&self, ty: u32) -> bool {
        matches!(self.types.kind(ty), Some(Kind::Int(32, _)))
    }

    /// A name that is there twice, or is no text, is nobody's loss.
    fn name(&mut self, instruction: &Instruction<'_>, id: u32) {
        let text = instruction.text(1).unwrap_or_default();
        if !text.is_empty() && self.names.insert(id) {
            let words = text_words(&text);
            self.emit(instruction.at, 5, &[[id].as_slice(), &words].concat());
        }
    }

    fn decoration(&mut self, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let member = instruction.opcode == 72;
        let decoration = instruction.operand(1 + usize::from(member));
        match decoration {
            // SpecId, and BuiltIn WorkgroupSize: both are dealt with.
            Some(1) if !member => {}
            Some(11) if !member && instruction.operand(2) == Some(25) => {}
            // NoContraction is asked of the module as it came. RelaxedPrecision, Restrict, Aliased, Coherent, and the user's own change nothing here.
            Some(0 | 19 | 20 | 23 | 42 | 5634 | 5635) => {}
            // Those of members are dealt with; what others mean is nothing.
            Some(4) => {
                let name = if member { "OpMemberDecorate" } else { "OpDecorate" };
                return Err((format!("{name}: RowMajor is for members that are matrices of 32-bit floats"), instruction.at));
            }
            Some(21) => {
                return Err((format!("OpDecorate: {VOLATILE}"), instruction.at));
            }
            _ => self.copy(instruction),
        }
        Ok(())
    }
}

/// Text as words, with the zero at its end.
pub(super) fn text_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.as_chunks::<4>().0.iter().map(|&w| u32::from_le_bytes(w)).collect()
}
