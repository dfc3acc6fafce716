//! Where a store goes, when it is to a whole element of a whole binding.

use naga::{AddressSpace, ArraySize, Expression, Function, GlobalVariable, Handle, Type, TypeInner};

use super::eval::Values;
use super::poly::Poly;

/// A binding, the distance of its elements, how many there are, and the index; `None` for the one element at 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) global: Handle<GlobalVariable>,
    pub(super) stride: u64,
    /// Whether the store writes all of the stride.
    pub(super) dense: bool,
    pub(super) elements: Option<u64>,
    pub(super) index: Option<Poly>,
}

impl Place {
    /// The store must be to a whole element of an array that is the whole binding, or to the whole binding.
    pub(super) fn of(function: &Function, values: &Values<'_>, pointer: Handle<Expression>) -> Option<Self> {
        let (array, index, one) = match function.expressions[pointer] {
            Expression::Access { base, index } => (base, Some(values.scalar(index)?.clone()), false),
            Expression::AccessIndex { base, index: 0 } => (base, None, true),
            Expression::GlobalVariable(global) => return Self::whole(values, global),
            _ => return None,
        };
        let (global, ty) = binding(function, values, array)?;
        let TypeInner::Array { base, size, stride } = values.kernel.module.types[ty].inner else { return None };
        let elements = match size {
            _ if one => Some(1),
            ArraySize::Constant(count) => Some(u64::from(count.get())),
            ArraySize::Dynamic => None,
            ArraySize::Pending(_) => return None,
        };
        let stride = u64::from(stride);
        let dense = values.kernel.dense.fills(values.kernel.layout, base, stride);
        Some(Self { global, stride, dense, elements, index }.first())
    }

    /// A constant index reaches one element, and only the first starts where the binding does.
    pub(super) fn first(self) -> Self {
        let index = self.index.filter(|index| index.as_constant() != Some(0));
        Self { elements: if index.is_none() { Some(1) } else { self.elements }, index, ..self }
    }

    fn whole(values: &Values<'_>, global: Handle<GlobalVariable>) -> Option<Self> {
        let ty = storage(values, global)?;
        let (size, _) = values.kernel.layout.get(ty);
        let dense = values.kernel.dense.fills(values.kernel.layout, ty, size);
        Some(Self { global, stride: size, dense, elements: Some(1), index: None })
    }
}

/// The binding behind a pointer to all of it: the variable itself, or the only member of a structure.
fn binding(
    function: &Function,
    values: &Values<'_>,
    pointer: Handle<Expression>,
) -> Option<(Handle<GlobalVariable>, Handle<Type>)> {
    match function.expressions[pointer] {
        Expression::GlobalVariable(global) => Some((global, storage(values, global)?)),
        Expression::AccessIndex { base, index: 0 } => {
            let Expression::GlobalVariable(global) = function.expressions[base] else { return None };
            match &values.kernel.module.types[storage(values, global)?].inner {
                TypeInner::Struct { members, .. } => match members.as_slice() {
                    [only] if only.offset == 0 => Some((global, only.ty)),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn storage(values: &Values<'_>, global: Handle<GlobalVariable>) -> Option<Handle<Type>> {
    let variable = &values.kernel.module.global_variables[global];
    matches!(variable.space, AddressSpace::Storage { .. }).then_some(variable.ty)
}
