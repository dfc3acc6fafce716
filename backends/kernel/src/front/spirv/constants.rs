//! Specialization constants and what is computed from them: the values that stand in for them.

use std::collections::HashMap;

use naga::Literal;

use super::Wrong;
use super::module::{Instruction, Words};
use super::types::{Kind, Types};
use crate::front::glsl::Specialization;
use crate::reflection::{Number, OverrideInfo, OverrideType};

/// The values of a module's constants.
#[derive(Default)]
pub(super) struct Constants {
    /// Scalars; a bool is 0 or 1.
    pub(super) scalars: HashMap<u32, Bits>,
    composites: HashMap<u32, Vec<u32>>,
    pub(super) overrides: Vec<OverrideInfo>,
    /// The workgroup size, where a constant says it.
    pub(super) workgroup_size: Option<[u32; 3]>,
}

/// The bits of a scalar, without its sign where they are fewer than 64, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) bits: u64,
    width: u32,
}

impl Bits {
    fn new(bits: u64, width: u32) -> Self {
        Self { bits: if width < 64 { bits & ((1 << width) - 1) } else { bits }, width }
    }

    fn of(kind: Option<Kind>, bits: u64) -> Self {
        let width = match kind {
            Some(Kind::Int(width, _) | Kind::Float(width)) => width,
            Some(Kind::Bool) => 1,
            _ => 32,
        };
        Self::new(bits, width)
    }

    fn truth(truth: bool) -> Self {
        Self::new(truth.into(), 1)
    }

    fn unsigned(self) -> i128 {
        self.bits.into()
    }

    fn signed(self) -> i128 {
        let unused = 64 - self.width.clamp(1, 64);
        ((self.bits << unused).cast_signed() >> unused).into()
    }

    /// As the operands of an OpConstant: those with fewer than 32 bits carry their sign into the word.
    pub(super) fn words(self, kind: Kind) -> Vec<u32> {
        let bits = if matches!(kind, Kind::Int(_, true)) { self.signed() as u64 } else { self.bits };
        if self.width > 32 { vec![bits as u32, (bits >> 32) as u32] } else { vec![bits as u32] }
    }
}

impl Constants {
    /// A scalar of at most 32 bits.
    pub(super) fn word(&self, id: u32) -> Option<u32> {
        self.scalars.get(&id).and_then(|scalar| u32::try_from(scalar.bits).ok())
    }
}

/// Decorations that matter here.
fn decorated(words: &Words, decoration: u32) -> HashMap<u32, u32> {
    let all = words.instructions().filter(|i| i.opcode == 71 && i.operand(1) == Some(decoration));
    all.filter_map(|i| Some((i.operand(0)?, i.operand(2)?))).collect()
}

/// Evaluates all constants.
pub(super) fn evaluate(words: &Words, types: &Types, values: &Specialization) -> Result<Constants, Wrong> {
    let ids = decorated(words, 1);
    let names: HashMap<u32, String> =
        words.instructions().filter(|i| i.opcode == 5).filter_map(|i| Some((i.operand(0)?, i.text(1)?))).collect();
    let mut found = Constants::default();
    for instruction in words.instructions() {
        let (Some(ty), Some(id)) = (instruction.operand(0), instruction.operand(1)) else { continue };
        let kind = types.kind(ty);
        let value = match instruction.opcode {
            41 | 48 => Some(Bits::truth(true)),
            42 | 49 => Some(Bits::truth(false)),
            43 | 50 => {
                let word = |i| u64::from(instruction.operand(i).unwrap_or(0));
                Some(Bits::of(kind, word(2) | word(3) << 32))
            }
            46 => Some(Bits::of(kind, 0)),
            44 | 51 => {
                let parts = instruction.operands().get(2..).unwrap_or_default();
                found.composites.insert(id, parts.to_vec());
                None
            }
            52 => Some(found.computed(&instruction, types)?),
            _ => continue,
        };
        let Some(mut value) = value else { continue };
        if matches!(instruction.opcode, 48..=50) {
            value = found.specialize(&instruction, (kind, id, value), (&ids, &names), values)?;
        }
        found.scalars.insert(id, value);
    }
    // BuiltIn WorkgroupSize.
    for instruction in words.instructions().filter(|i| i.opcode == 71 && i.operand(1) == Some(11) && i.operand(2) == Some(25)) {
        let Some(id) = instruction.operand(0) else { continue };
        if let Some([x, y, z]) = found.composites.get(&id).map(Vec::as_slice) {
            let size = [x, y, z].map(|part| found.word(*part).unwrap_or(0));
            if found.workgroup_size.replace(size).is_some_and(|before| before != size) {
                return Err(("more than one constant is decorated as WorkgroupSize".to_owned(), instruction.at));
            }
        }
    }
    Ok(found)
}

impl Constants {
    fn specialize(
        &mut self,
        instruction: &Instruction<'_>,
        (kind, id, value): (Option<Kind>, u32, Bits),
        (ids, names): (&HashMap<u32, u32>, &HashMap<u32, String>),
        values: &Specialization,
    ) -> Result<Bits, Wrong> {
        // Without an id nobody can set it.
        let Some(&spec) = ids.get(&id) else { return Ok(value) };
        let Ok(small) = u16::try_from(spec) else {
            return Err((format!("the SpecId {spec} is too high; at most 65535 is"), instruction.at));
        };
        let Some((shown, default)) = kind.and_then(|kind| shown(kind, value)) else {
            let message = "OpSpecConstant: only bool, floats, and integers of 32 and 64 bits are supported";
            return Err((message.to_owned(), instruction.at));
        };
        if !self.overrides.iter().any(|o| o.id == Some(small)) {
            self.overrides.push(OverrideInfo {
                name: names.get(&id).cloned().unwrap_or_default(),
                id: Some(small),
                ty: shown,
                default: Number::of(default),
                has_default: true,
            });
        }
        let given = values.get(&spec).and_then(|given| given.literal(shown));
        Ok(given.map_or(value, |literal| Bits::of(kind, bits(literal))))
    }

    /// The value of an OpSpecConstantOp.
    fn computed(&self, instruction: &Instruction<'_>, types: &Types) -> Result<Bits, Wrong> {
        let operation = instruction.operand(2).unwrap_or(0);
        let refuse = || (format!("OpSpecConstantOp: operation {operation} on these operands is not supported"), instruction.at);
        let scalar = |id: u32| self.scalars.get(&id).copied().ok_or_else(refuse);
        let width = match instruction.operand(0).and_then(|ty| types.kind(ty)) {
            Some(Kind::Bool) => 1,
            Some(Kind::Int(width, _)) => width,
            _ => return Err(refuse()),
        };
        let rest = instruction.operands().get(3..).unwrap_or_default();
        if let (81, [composite, index]) = (operation, rest) {
            let part = self.composites.get(composite).and_then(|parts| parts.get(*index as usize));
            return part.ok_or_else(refuse).and_then(|part| scalar(*part));
        }
        let made = match rest {
            [a] => unary(operation, scalar(*a)?),
            [a, b] => binary(operation, scalar(*a)?, scalar(*b)?),
            [a, b, c] if operation == 169 => return scalar(if scalar(*a)?.bits != 0 { *b } else { *c }),
            _ => None,
        };
        made.map(|value| Bits::new(value as u64, width)).ok_or_else(refuse)
    }
}

/// What a reader is told of a specialization constant.
fn shown(kind: Kind, value: Bits) -> Option<(OverrideType, Literal)> {
    let bits = value.bits;
    Some(match kind {
        Kind::Bool => (OverrideType::Bool, Literal::Bool(bits != 0)),
        Kind::Int(32, true) => (OverrideType::I32, Literal::I32(bits as i32)),
        Kind::Int(32, false) => (OverrideType::U32, Literal::U32(bits as u32)),
        Kind::Int(64, true) => (OverrideType::I64, Literal::I64(bits.cast_signed())),
        Kind::Int(64, false) => (OverrideType::U64, Literal::U64(bits)),
        Kind::Float(16) => (OverrideType::F16, Literal::F16(half::f16::from_bits(bits as u16))),
        Kind::Float(32) => (OverrideType::F32, Literal::F32(f32::from_bits(bits as u32))),
        Kind::Float(64) => (OverrideType::F64, Literal::F64(f64::from_bits(bits))),
        _ => return None,
    })
}

fn bits(literal: Literal) -> u64 {
    match literal {
        Literal::Bool(v) => v.into(),
        Literal::I16(v) => v as u64,
        Literal::U16(v) => v.into(),
        Literal::I32(v) => v as u64,
        Literal::U32(v) => v.into(),
        Literal::I64(v) | Literal::AbstractInt(v) => v.cast_unsigned(),
        Literal::U64(v) => v,
        Literal::F16(v) => v.to_bits().into(),
        Literal::F32(v) => v.to_bits().into(),
        Literal::F64(v) | Literal::AbstractFloat(v) => v.to_bits(),
    }
}

/// The number before it is cut to the bits of its type.
fn unary(operation: u32, a: Bits) -> Option<i128> {
    Some(match operation {
        126 => -a.signed(),
        168 => i128::from(a.bits == 0),
        200 => !a.signed(),
        // UConvert, SConvert, and casts of the sign.
        113 | 124 => a.unsigned(),
        114 => a.signed(),
        _ => return None,
    })
}

/// The same of two.
fn binary(operation: u32, a: Bits, b: Bits) -> Option<i128> {
    let (ua, ub, sa, sb) = (a.unsigned(), b.unsigned(), a.signed(), b.signed());
    let by = || u32::try_from(b.bits).ok().filter(|by| *by < a.width);
    Some(match operation {
        128 => ua + ub,
        130 => ua - ub,
        132 => ua.wrapping_mul(ub),
        134 => ua.checked_div(ub)?,
        135 => sa.checked_div(sb).filter(|q| Bits::new(*q as u64, a.width).signed() == *q)?,
        137 => ua.checked_rem(ub)?,
        138 => sa.checked_rem(sb)?,
        139 if sb > 0 => sa.rem_euclid(sb),
        194 => ua >> by()?,
        195 => sa >> by()?,
        196 => ua << by()?,
        166 | 197 => ua | ub,
        198 => ua ^ ub,
        167 | 199 => ua & ub,
        164 | 170 => (ua == ub).into(),
        165 | 171 => (ua != ub).into(),
        172 => (ua > ub).into(),
        173 => (sa > sb).into(),
        174 => (ua >= ub).into(),
        175 => (sa >= sb).into(),
        176 => (ua < ub).into(),
        177 => (sa < sb).into(),
        178 => (ua <= ub).into(),
        179 => (sa <= sb).into(),
        _ => return None,
    })
}
