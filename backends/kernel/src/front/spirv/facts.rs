//! What the declarations of a module say, unchecked: for the passes that run before anything is checked. Whatever does not fit is left out.

use std::collections::HashMap;

use super::module::Words;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Bool,
    /// Bits, and whether it has a sign.
    Int(u32, bool),
    Float(u32),
    /// Of a type, how many.
    Vector(u32, u32),
    /// Of a column, how many.
    Matrix(u32, u32),
    /// Of a type; with a length or without.
    Array(u32),
    Struct(Vec<u32>),
    /// Storage class and what it points to.
    Pointer(u32, u32),
    Other,
}

#[derive(Default)]
pub(super) struct Facts {
    pub(super) types: HashMap<u32, Type>,
    /// Values by their types.
    pub(super) values: HashMap<u32, u32>,
    /// Integer constants by their lowest word.
    pub(super) constants: HashMap<u32, u32>,
    /// Texts of OpString.
    pub(super) strings: HashMap<u32, String>,
}

impl Facts {
    pub(super) fn of(words: &Words) -> Self {
        let mut facts = Self::default();
        for instruction in words.instructions() {
            let (id, made) = match (instruction.opcode, instruction.operands()) {
                (7, [id, ..]) => {
                    facts.strings.insert(*id, instruction.text(1).unwrap_or_default());
                    continue;
                }
                (19, [id]) => (*id, Type::Other),
                (20, [id]) => (*id, Type::Bool),
                (21, [id, width, sign]) => (*id, Type::Int(*width, *sign != 0)),
                (22, [id, width]) => (*id, Type::Float(*width)),
                (23, [id, of, count]) => (*id, Type::Vector(*of, *count)),
                (24, [id, column, count]) => (*id, Type::Matrix(*column, *count)),
                (28, [id, of, _]) | (29, [id, of]) => (*id, Type::Array(*of)),
                (30, [id, members @ ..]) => (*id, Type::Struct(members.to_vec())),
                (32, [id, class, of]) => (*id, Type::Pointer(*class, *of)),
                (1 | 12 | 41..=52 | 55 | 57 | 59 | 61 | 65..=400, [ty, id, rest @ ..]) if facts.types.contains_key(ty) => {
                    facts.values.insert(*id, *ty);
                    if let (43, [value, ..]) = (instruction.opcode, rest) {
                        facts.constants.insert(*id, *value);
                    }
                    continue;
                }
                _ => continue,
            };
            // Of what comes before it: so no type is part of itself.
            let known = |of: &u32| facts.types.contains_key(of);
            let sound = match &made {
                Type::Vector(of, _) | Type::Matrix(of, _) | Type::Array(of) => known(of),
                Type::Struct(members) => members.iter().all(known),
                _ => true,
            };
            if sound {
                facts.types.entry(id).or_insert(made);
            }
        }
        facts
    }

    pub(super) fn ty(&self, id: u32) -> Option<&Type> {
        self.types.get(&id)
    }

    /// The type of a value.
    pub(super) fn of_value(&self, id: u32) -> Option<&Type> {
        self.ty(*self.values.get(&id)?)
    }

    /// A type that is declared already, or a new one.
    pub(super) fn find(&self, wanted: &Type) -> Option<u32> {
        // The least id, so that the answer is the same each time.
        self.types.iter().filter(|(_, ty)| *ty == wanted).map(|(id, _)| *id).min()
    }
}
