//! Instructions that say by themselves whether integers have a sign, whatever their types say: naga goes by the types. Where the two differ, the bits are
//! handed over as the other type, and the result back again. The same where the type of a result is its own and naga gives it that of the operand.

use std::collections::HashMap;

use super::module::{Instruction, Words};
use super::types::{Kind, Types};

const BITCAST: u16 = 124;
const UNSIGNED: u16 = 113;

/// What instructions with another sign need.
pub(super) struct Signs<'a> {
    types: &'a Types,
    /// The type of every value.
    values: HashMap<u32, u32>,
    /// Types of integers with the other sign.
    twins: HashMap<u32, u32>,
    /// Those of them that the module lacks: opcode and operands.
    pub(super) missing: Vec<(u16, Vec<u32>)>,
    next: u32,
}

/// An instruction with its casts: opcode and operands of each.
pub(super) type Spelled = Vec<(u16, Vec<u32>)>;

/// The signs that an instruction gives to its operands and to its result. `None` where it leaves that to the types.
fn given(instruction: &Instruction<'_>) -> Option<(Option<bool>, Option<bool>)> {
    match (instruction.opcode, instruction.operand(3)) {
        // OpConvertFToU, OpConvertFToS.
        (109, _) => Some((None, Some(false))),
        (110, _) => Some((None, Some(true))),
        // OpConvertSToF, OpSConvert; OpConvertUToF, OpUConvert.
        (111 | 114, _) => Some((Some(true), None)),
        (112 | 113, _) => Some((Some(false), None)),
        // OpSNegate, OpSDiv, OpSRem, OpShiftRightArithmetic, OpBitFieldSExtract; OpUDiv, OpUMod, OpShiftRightLogical, OpBitFieldUExtract.
        (126 | 135 | 138 | 195 | 202, _) => Some((Some(true), Some(true))),
        (134 | 137 | 194 | 203, _) => Some((Some(false), Some(false))),
        // SAbs, SSign, SMin, SMax, SClamp, FindSMsb; UMin, UMax, UClamp, FindUMsb.
        (12, Some(5 | 7 | 39 | 42 | 45 | 74)) => Some((Some(true), Some(true))),
        (12, Some(38 | 41 | 44 | 75)) => Some((Some(false), Some(false))),
        _ => None,
    }
}

/// The operands that signs are given to: of shifts and of fields of bits, not what counts bits.
fn values(instruction: &Instruction<'_>) -> std::ops::Range<usize> {
    let first = if instruction.opcode == 12 { 4 } else { 2 };
    let end = if matches!(instruction.opcode, 194..=203) { 3 } else { instruction.operands().len() };
    first..end.max(first)
}

impl<'a> Signs<'a> {
    pub(super) fn new(words: &Words, types: &'a Types) -> Self {
        let mut signs = Self {
            types,
            values: HashMap::new(),
            twins: HashMap::new(),
            missing: Vec::new(),
            next: words.header().get(3).copied().unwrap_or(0),
        };
        for instruction in words.instructions() {
            if let (1 | 12 | 41..=52 | 55 | 57 | 61 | 77..=400, [ty, id, ..]) = (instruction.opcode, instruction.operands())
                && types.kind(*ty).is_some()
            {
                signs.values.insert(*id, *ty);
            }
        }
        for instruction in words.instructions() {
            for ty in signs.others(&instruction) {
                signs.twin(words, ty);
            }
        }
        signs
    }

    /// Ids that are used, with those added.
    pub(super) fn bound(&self) -> u32 {
        self.next
    }

    fn fresh(&mut self) -> u32 {
        self.next = self.next.saturating_add(1);
        self.next - 1
    }

    /// The sign of integers, or of the integers of a vector.
    fn sign(&self, ty: u32) -> Option<bool> {
        match self.types.kind(ty)? {
            Kind::Int(_, sign) => Some(sign),
            Kind::Vector(of, _) => self.sign(of),
            _ => None,
        }
    }

    fn differs(&self, ty: Option<u32>, wanted: Option<bool>) -> Option<u32> {
        let ty = ty?;
        (self.sign(ty)? != wanted?).then_some(ty)
    }

    /// Whether an instruction compares integers of a type by the other sign, where no cast helps: atomics and subgroup operations.
    pub(super) fn contradicts(&self, opcode: u16, ty: u32) -> bool {
        let signed = match opcode {
            // Minima and maxima: OpAtomicS..., OpGroupNonUniformS..., and those with U.
            236 | 238 | 353 | 356 => true,
            237 | 239 | 354 | 357 => false,
            _ => return false,
        };
        self.sign(ty) == Some(!signed)
    }

    /// The types of an instruction that have the other sign.
    fn others(&self, instruction: &Instruction<'_>) -> Vec<u32> {
        let Some((operands, result)) = given(instruction) else { return Vec::new() };
        let values = instruction.operands().get(values(instruction)).unwrap_or_default();
        let of_values = values.iter().filter_map(|id| self.differs(self.values.get(id).copied(), operands));
        of_values.chain(self.differs(instruction.operand(0), result)).collect()
    }

    /// The same type with the other sign.
    fn twin(&mut self, words: &Words, ty: u32) -> Option<u32> {
        if let Some(&known) = self.twins.get(&ty) {
            return Some(known);
        }
        let (opcode, operands) = match self.types.kind(ty)? {
            Kind::Int(width, sign) => (21, vec![width, u32::from(!sign)]),
            Kind::Vector(of, count) => (23, vec![self.twin(words, of)?, count]),
            _ => return None,
        };
        let mut declared = words.instructions().filter(|i| i.opcode == opcode);
        let there = declared.find(|i| i.operands().get(1..) == Some(operands.as_slice())).and_then(|i| i.operand(0));
        let twin = match there {
            Some(there) => there,
            None => {
                let id = self.fresh();
                self.missing.push((opcode, [vec![id], operands].concat()));
                id
            }
        };
        self.twins.insert(ty, twin);
        Some(twin)
    }

    /// The bits of integers, or of each integer of a vector.
    fn width(&self, ty: u32) -> Option<u32> {
        match self.types.kind(ty)? {
            Kind::Int(width, _) => Some(width),
            Kind::Vector(of, _) => self.width(of),
            _ => None,
        }
    }

    /// OpShiftLeftLogical, OpBitCount and FindILsb, whose results naga gives the type of their operands; `None` where that is the type of the result.
    fn of_operand(&mut self, instruction: &Instruction<'_>) -> Option<Spelled> {
        let opcode = instruction.opcode;
        if !matches!((opcode, instruction.operand(3)), (196 | 205, _) | (12, Some(73))) {
            return None;
        }
        let mut operands = instruction.operands().to_vec();
        let from = *self.values.get(operands.get(values(instruction).start)?)?;
        let [ty, id, ..] = operands.as_mut_slice() else { return None };
        let (result, to) = (*id, std::mem::replace(ty, from));
        if from == to {
            return None;
        }
        // Counts of bits fit all widths.
        let cast = if self.width(from)? == self.width(to)? { BITCAST } else { UNSIGNED };
        *id = self.fresh();
        let made = *id;
        Some(vec![(opcode, operands), (cast, vec![to, result, made])])
    }

    /// The instruction as naga understands it; `None`: as it is.
    pub(super) fn spell(&mut self, instruction: &Instruction<'_>) -> Option<Spelled> {
        if let Some(list) = self.of_operand(instruction) {
            return Some(list);
        }
        let (wanted, made) = given(instruction)?;
        let others = self.others(instruction);
        if others.is_empty() || !others.iter().all(|ty| self.twins.contains_key(ty)) {
            return None;
        }
        let mut list = Vec::new();
        let mut operands = instruction.operands().to_vec();
        for at in values(instruction) {
            let Some(id) = operands.get(at).copied() else { continue };
            let ty = self.differs(self.values.get(&id).copied(), wanted);
            if let Some(twin) = ty.and_then(|ty| self.twins.get(&ty).copied()) {
                let cast = self.fresh();
                list.push((BITCAST, vec![twin, cast, id]));
                if let Some(slot) = operands.get_mut(at) {
                    *slot = cast;
                }
            }
        }
        let [ty, id, ..] = *operands.as_slice() else { return None };
        let twin = self.differs(Some(ty), made).and_then(|ty| self.twins.get(&ty).copied());
        if let (Some(twin), [first, second, ..]) = (twin, operands.as_mut_slice()) {
            (*first, *second) = (twin, self.fresh());
            let cast = *second;
            list.push((instruction.opcode, operands));
            list.push((BITCAST, vec![ty, id, cast]));
        } else {
            list.push((instruction.opcode, operands));
        }
        Some(list)
    }
}
