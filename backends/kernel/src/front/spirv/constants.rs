//! Specialization constants and what is computed from them: the values that stand in for them.

use std::collections::HashMap;

use super::Wrong;
use super::module::{Instruction, Words};
use super::types::{Kind, Types};
use crate::front::glsl::Specialization;
use crate::reflection::{OverrideInfo, OverrideType};

/// The values of a module's constants.
#[derive(Default)]
pub(super) struct Constants {
    /// The bits of scalars of 32 bits; a bool is 0 or 1.
    pub(super) scalars: HashMap<u32, u32>,
    composites: HashMap<u32, Vec<u32>>,
    pub(super) overrides: Vec<OverrideInfo>,
    /// The workgroup size, where a constant says it.
    pub(super) workgroup_size: Option<[u32; 3]>,
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
        let bits = match instruction.opcode {
            41 | 48 => Some(1),
            42 | 49 => Some(0),
            43 | 50 => instruction.operand(2),
            46 => Some(0),
            44 | 51 => {
                let parts = instruction.operands().get(2..).unwrap_or_default();
                found.composites.insert(id, parts.to_vec());
                None
            }
            52 => Some(found.computed(&instruction, types)?),
            _ => continue,
        };
        let Some(mut bits) = bits else { continue };
        if matches!(instruction.opcode, 48..=50) {
            bits = found.specialize(&instruction, (ty, id, bits), types, (&ids, &names), values)?;
        }
        found.scalars.insert(id, bits);
    }
    // BuiltIn WorkgroupSize.
    for (id, builtin) in decorated(words, 11) {
        if let (25, Some([x, y, z])) = (builtin, found.composites.get(&id).map(Vec::as_slice)) {
            let size = [x, y, z].map(|part| found.scalars.get(part).copied().unwrap_or(0));
            found.workgroup_size = Some(size);
        }
    }
    Ok(found)
}

impl Constants {
    fn specialize(
        &mut self,
        instruction: &Instruction<'_>,
        (ty, id, bits): (u32, u32, u32),
        types: &Types,
        (ids, names): (&HashMap<u32, u32>, &HashMap<u32, String>),
        values: &Specialization,
    ) -> Result<u32, Wrong> {
        // Without an id nobody can set it.
        let Some(&spec) = ids.get(&id) else { return Ok(bits) };
        let Ok(small) = u16::try_from(spec) else {
            return Err((format!("the SpecId {spec} is too high; at most 65535 is"), instruction.at));
        };
        let (shown, default) = match types.kind(ty) {
            Some(Kind::Bool) => (OverrideType::Bool, f64::from(bits)),
            Some(Kind::Int(32, true)) => (OverrideType::I32, f64::from(bits.cast_signed())),
            Some(Kind::Int(32, false)) => (OverrideType::U32, f64::from(bits)),
            Some(Kind::Float(32)) => (OverrideType::F32, f64::from(f32::from_bits(bits))),
            _ => return Err(("OpSpecConstant: only bool and 32-bit numbers are supported".to_owned(), instruction.at)),
        };
        if !self.overrides.iter().any(|o| o.id == Some(small)) {
            self.overrides.push(OverrideInfo {
                name: names.get(&id).cloned().unwrap_or_default(),
                id: Some(small),
                ty: shown,
                default: Some(default),
                has_default: true,
            });
        }
        Ok(match (values.get(&spec), shown) {
            (None, _) => bits,
            (Some(value), OverrideType::Bool) => u32::from(*value != 0.0),
            (Some(value), OverrideType::I32) => (*value as i32).cast_unsigned(),
            (Some(value), OverrideType::U32) => *value as u32,
            (Some(value), OverrideType::F32) => (*value as f32).to_bits(),
            // Refused above.
            (Some(_), _) => bits,
        })
    }

    /// The value of an OpSpecConstantOp.
    fn computed(&self, instruction: &Instruction<'_>, types: &Types) -> Result<u32, Wrong> {
        let operation = instruction.operand(2).unwrap_or(0);
        let refuse = || (format!("OpSpecConstantOp: operation {operation} on these operands is not supported"), instruction.at);
        let scalar = |id: u32| self.scalars.get(&id).copied().ok_or_else(refuse);
        let kind = instruction.operand(0).and_then(|ty| types.kind(ty));
        if !matches!(kind, Some(Kind::Bool | Kind::Int(32, _))) {
            return Err(refuse());
        }
        let rest = instruction.operands().get(3..).unwrap_or_default();
        if let (81, [composite, index]) = (operation, rest) {
            let part = self.composites.get(composite).and_then(|parts| parts.get(*index as usize));
            return part.ok_or_else(refuse).and_then(|part| scalar(*part));
        }
        match rest {
            [a] => unary(operation, scalar(*a)?).ok_or_else(refuse),
            [a, b] => binary(operation, scalar(*a)?, scalar(*b)?).ok_or_else(refuse),
            [a, b, c] if operation == 169 => scalar(if scalar(*a)? != 0 { *b } else { *c }),
            _ => Err(refuse()),
        }
    }
}

fn unary(operation: u32, a: u32) -> Option<u32> {
    Some(match operation {
        126 => a.wrapping_neg(),
        168 => u32::from(a == 0),
        200 => !a,
        // From 32 bits to 32 bits.
        113 | 114 => a,
        _ => return None,
    })
}

fn binary(operation: u32, a: u32, b: u32) -> Option<u32> {
    let (sa, sb) = (a.cast_signed(), b.cast_signed());
    Some(match operation {
        128 => a.wrapping_add(b),
        130 => a.wrapping_sub(b),
        132 => a.wrapping_mul(b),
        134 => a.checked_div(b)?,
        135 => sa.checked_div(sb)?.cast_unsigned(),
        137 => a.checked_rem(b)?,
        138 => sa.checked_rem(sb)?.cast_unsigned(),
        139 if sb > 0 => sa.rem_euclid(sb).cast_unsigned(),
        194 => a.checked_shr(b)?,
        195 => sa.checked_shr(b)?.cast_unsigned(),
        196 => a.checked_shl(b)?,
        166 | 197 => a | b,
        198 => a ^ b,
        167 | 199 => a & b,
        164 | 170 => u32::from(a == b),
        165 | 171 => u32::from(a != b),
        172 => u32::from(a > b),
        173 => u32::from(sa > sb),
        174 => u32::from(a >= b),
        175 => u32::from(sa >= sb),
        176 => u32::from(a < b),
        177 => u32::from(sa < sb),
        178 => u32::from(a <= b),
        179 => u32::from(sa <= sb),
        _ => return None,
    })
}
