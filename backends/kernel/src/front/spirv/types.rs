//! The types of a module: that each is made of types before it, and how large it is. naga takes both for granted.

use std::collections::HashMap;

use super::Wrong;
use super::module::Words;

/// Bytes of a type.
const MAX_BYTES: u64 = (1 << 31) - 1;
/// Elements of an array.
const MAX_ELEMENTS: u32 = 1 << 24;
/// Types inside each other.
const MAX_NESTING: u32 = 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Bool,
    /// Bits, and whether it has a sign.
    Int(u32, bool),
    Float(u32),
    Vector(u32, u32),
    Other,
}

#[derive(Clone, Copy)]
struct Known {
    kind: Kind,
    /// At most.
    size: u64,
    /// At least: what elements of an array may not overlap with.
    least: u64,
    nesting: u32,
    /// Of the matrices that it consists of, if of those alone.
    rows: u32,
}

impl Known {
    fn new(kind: Kind, size: u64, nesting: u32) -> Self {
        Self { kind, size, least: size, nesting, rows: 0 }
    }
}

/// Strides that a module gives, where they have to be what the IR takes for granted.
#[derive(Default)]
struct Strides {
    arrays: HashMap<u32, u32>,
    offsets: HashMap<(u32, u32), u32>,
    matrices: HashMap<(u32, u32), u32>,
}

impl Strides {
    fn of(words: &Words) -> Self {
        let mut found = Self::default();
        for instruction in words.instructions() {
            match (instruction.opcode, instruction.operands()) {
                (71, [id, 6, stride]) => {
                    found.arrays.insert(*id, *stride);
                }
                (72, [id, member, 35, offset]) => {
                    found.offsets.insert((*id, *member), *offset);
                }
                (72, [id, member, 7, stride]) => {
                    found.matrices.insert((*id, *member), *stride);
                }
                _ => {}
            }
        }
        found
    }

    fn array(&self, id: u32, of: Known, at: usize) -> Result<(), Wrong> {
        match self.arrays.get(&id) {
            Some(&stride) if u64::from(stride) < of.least => {
                Err((format!("ArrayStride: elements of {} bytes every {stride} bytes are not supported", of.least), at))
            }
            _ => Ok(()),
        }
    }

    fn member(&self, id: u32, member: u32, of: Known, at: usize) -> Result<(), Wrong> {
        let natural = if of.rows == 2 { 8 } else { 16 };
        match self.matrices.get(&(id, member)) {
            Some(&stride) if of.rows > 0 && stride != natural => Err((
                format!(
                    "MatrixStride: columns of {} floats every {stride} bytes are not supported, only every {natural}",
                    of.rows
                ),
                at,
            )),
            _ => Ok(()),
        }
    }
}

/// What is known about the types of a module.
#[derive(Default)]
pub(super) struct Types {
    known: HashMap<u32, Known>,
    /// Values by their types; only of what stands outside of functions.
    values: HashMap<u32, u32>,
    /// Constants of 32 bits.
    lengths: HashMap<u32, u32>,
}

impl Types {
    pub(super) fn kind(&self, id: u32) -> Option<Kind> {
        self.known.get(&id).map(|k| k.kind)
    }

    fn get(&self, id: u32, at: usize) -> Result<Known, Wrong> {
        self.known.get(&id).copied().ok_or_else(|| (format!("%{id} is used as a type before it is one"), at))
    }
}

/// Checks every type of a module.
pub(super) fn check(words: &Words) -> Result<Types, Wrong> {
    let mut types = Types::default();
    let strides = Strides::of(words);
    for instruction in words.instructions() {
        let at = instruction.at;
        let made = match (instruction.opcode, instruction.operands()) {
            (19, [id]) => (*id, Known::new(Kind::Other, 0, 0)),
            (20, [id]) => (*id, Known::new(Kind::Bool, 4, 0)),
            (21, [id, width @ (8 | 16 | 32 | 64), sign]) => {
                (*id, Known::new(Kind::Int(*width, *sign != 0), u64::from(*width / 8), 0))
            }
            (22, [id, width @ (16 | 32 | 64)]) => (*id, Known::new(Kind::Float(*width), u64::from(*width / 8), 0)),
            (22, [_, _, _]) => return Err(("OpTypeFloat: this floating-point encoding is not supported".to_owned(), at)),
            (23, [id, of, count @ 2..=4]) => {
                let of_type = types.get(*of, at)?;
                if !matches!(of_type.kind, Kind::Bool | Kind::Int(..) | Kind::Float(_)) {
                    return Err(("OpTypeVector: a vector is made of scalars".to_owned(), at));
                }
                (*id, Known::new(Kind::Vector(*of, *count), of_type.size * u64::from(*count), 1))
            }
            (24, [id, of, count @ 2..=4]) => {
                let of = types.get(*of, at)?;
                let Kind::Vector(scalar, rows) = of.kind else {
                    return Err(("OpTypeMatrix: a matrix is made of vectors".to_owned(), at));
                };
                if types.kind(scalar) != Some(Kind::Float(32)) {
                    return Err(("OpTypeMatrix: a matrix is made of 32-bit floats".to_owned(), at));
                }
                (*id, Known { rows, ..Known::new(Kind::Other, of.size * u64::from(*count), 2) })
            }
            (28, [id, of, length]) => {
                let of = types.get(*of, at)?;
                let Some(&count) = types.lengths.get(length).filter(|n| **n > 0) else {
                    return Err((format!("OpTypeArray: the length %{length} is no constant above zero"), at));
                };
                if count > MAX_ELEMENTS {
                    return Err((format!("OpTypeArray: {count} elements; at most {MAX_ELEMENTS} are allowed"), at));
                }
                strides.array(*id, of, at)?;
                let stride = strides.arrays.get(id).copied().map(u64::from);
                let size = stride.unwrap_or(of.size.max(16)).saturating_mul(u64::from(count));
                let least = stride.unwrap_or(of.least).saturating_mul(u64::from(count - 1)).saturating_add(of.least);
                (*id, Known { least, rows: of.rows, ..Known::new(Kind::Other, size, of.nesting + 1) })
            }
            (29, [id, of]) => {
                let of = types.get(*of, at)?;
                strides.array(*id, of, at)?;
                (*id, Known { rows: of.rows, ..Known::new(Kind::Other, of.size, of.nesting + 1) })
            }
            (30, [id, members @ ..]) => {
                let mut all = Known::new(Kind::Other, 0, 0);
                for (index, member) in (0..).zip(members) {
                    let member = types.get(*member, at)?;
                    strides.member(*id, index, member, at)?;
                    let offset = strides.offsets.get(&(*id, index)).copied().map_or(0, u64::from);
                    all.least = all.least.max(offset.saturating_add(member.least));
                    all.size = all.size.saturating_add(member.size.next_multiple_of(16));
                    all.size = all.size.max(all.least.saturating_add(16));
                    all.nesting = all.nesting.max(member.nesting + 1);
                }
                if members.is_empty() {
                    return Err(("OpTypeStruct: a structure needs a member".to_owned(), at));
                }
                (*id, all)
            }
            (32, [id, _, of]) => {
                types.get(*of, at)?;
                (*id, Known::new(Kind::Other, 4, 0))
            }
            (33, [id, operands @ ..]) => {
                operands.iter().try_for_each(|of| types.get(*of, at).map(|_| ()))?;
                (*id, Known::new(Kind::Other, 0, 0))
            }
            (19..=24 | 28..=30 | 32..=33, _) => return Err(("a type with the wrong number of operands".to_owned(), at)),
            (25..=27 | 31 | 34..=39, _) => return Err((format!("{} is not supported", type_name(instruction.opcode)), at)),
            (41 | 42 | 46 | 48 | 49, [ty, id, ..]) => {
                types.get(*ty, at)?;
                types.values.insert(*id, *ty);
                continue;
            }
            (43 | 50, [ty, id, value, ..]) => {
                types.get(*ty, at)?;
                types.values.insert(*id, *ty);
                types.lengths.insert(*id, *value);
                continue;
            }
            // Its value is known after specialization: a length of it is checked on the IR.
            (52, [ty, id, ..]) => {
                types.get(*ty, at)?;
                types.values.insert(*id, *ty);
                types.lengths.insert(*id, 1);
                continue;
            }
            _ => continue,
        };
        if made.1.size > MAX_BYTES || made.1.nesting > MAX_NESTING {
            let message = format!("a type of more than {MAX_BYTES} bytes, or nested deeper than {MAX_NESTING}");
            return Err((message, at));
        }
        if types.known.insert(made.0, made.1).is_some() {
            return Err((format!("%{} is defined twice", made.0), at));
        }
    }
    Ok(types)
}

fn type_name(opcode: u16) -> &'static str {
    match opcode {
        25 => "OpTypeImage: textures",
        26 => "OpTypeSampler: samplers",
        27 => "OpTypeSampledImage: textures",
        31 => "OpTypeOpaque",
        34 => "OpTypeEvent",
        35 => "OpTypeDeviceEvent",
        36 => "OpTypeReserveId",
        37 => "OpTypeQueue",
        38 => "OpTypePipe",
        _ => "OpTypeForwardPointer",
    }
}
