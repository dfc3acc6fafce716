//! The values of a function's expressions as polynomials, as far as they are u32 and depend on nothing that changes.

use std::collections::HashMap;

use naga::{
    AddressSpace, BinaryOperator, BuiltIn, Expression, Function, GlobalVariable, Handle, Literal, Module, ScalarKind, Type,
    TypeInner,
};

use super::dense::Dense;
use super::poly::{Atom, Poly};
use crate::reflect::Layout;

/// What an expression is known to be.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A u32.
    Scalar(Poly),
    /// Components of a vector of u32; those that are not known are `None`.
    Vector(Vec<Option<Poly>>),
    /// Bytes of the immediate block or a uniform binding, of some type.
    Memory(Memory),
    /// A structure of builtins.
    Builtins(Vec<Option<BuiltIn>>),
    /// `condition ? then : otherwise`, as the front end spells `&&` and `||`.
    Either { condition: Handle<Expression>, then: Handle<Expression>, otherwise: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// The uniform binding, or the immediate block.
    binding: Option<u32>,
    offset: u32,
    ty: Handle<Type>,
}

/// What is the same for all functions of an entry point.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a> {
    pub(super) module: &'a Module,
    pub(super) layout: &'a Layout<'a>,
    /// Which stores leave no byte alone.
    pub(super) dense: &'a Dense,
    pub(super) workgroup: [u32; 3],
    /// The index of each global in the reflection.
    pub(super) bindings: &'a HashMap<Handle<GlobalVariable>, u32>,
}

/// Values of the expressions of a function, filled in as the walk reaches them.
pub(super) struct Values<'a> {
    pub(super) kernel: Kernel<'a>,
    module: &'a Module,
    function: &'a Function,
    values: Vec<Option<Value>>,
}

/// Integers of 32 bits; of those with a sign the bits count, and the decision for a launch refuses what would be below zero.
fn is_word(scalar: naga::Scalar) -> bool {
    matches!(scalar, naga::Scalar::U32 | naga::Scalar::I32)
}

impl Kernel<'_> {
    pub(super) fn builtin(&self, builtin: BuiltIn) -> Option<Value> {
        let vector = |component: &dyn Fn(u8) -> Option<Poly>| Some(Value::Vector((0..3).map(component).collect()));
        match builtin {
            BuiltIn::GlobalInvocationId => vector(&|axis| self.global_id(axis)),
            BuiltIn::LocalInvocationId => vector(&|axis| Some(self.local_id(axis))),
            BuiltIn::WorkGroupId => vector(&|axis| Some(Poly::atom(Atom::Group(axis)))),
            BuiltIn::NumWorkGroups => vector(&|axis| Some(Poly::atom(Atom::Groups(axis)))),
            BuiltIn::LocalInvocationIndex => {
                let [width, height, _] = self.workgroup;
                let rows = self.local_id(1).multiply(&Poly::constant(width))?;
                let planes = self.local_id(2).multiply(&Poly::constant(width.wrapping_mul(height)))?;
                Some(Value::Scalar(self.local_id(0).add(&rows)?.add(&planes)?))
            }
            _ => None,
        }
    }

    /// On an axis of size one there is only 0.
    fn local_id(&self, axis: u8) -> Poly {
        if self.size(axis) == 1 { Poly::constant(0) } else { Poly::atom(Atom::Local(axis)) }
    }

    pub(super) fn size(&self, axis: u8) -> u32 {
        self.workgroup.get(usize::from(axis)).copied().unwrap_or(1)
    }

    /// A component of `global_invocation_id`.
    pub(super) fn global_id(&self, axis: u8) -> Option<Poly> {
        Poly::atom(Atom::Group(axis)).multiply(&Poly::constant(self.size(axis)))?.add(&self.local_id(axis))
    }

    /// What the arguments of an entry point are.
    pub(super) fn arguments(&self, function: &Function) -> Vec<Option<Value>> {
        let builtin = |binding: &Option<naga::Binding>| match binding {
            Some(naga::Binding::BuiltIn(builtin)) => Some(*builtin),
            _ => None,
        };
        let one = |argument: &naga::FunctionArgument| match &self.module.types[argument.ty].inner {
            TypeInner::Struct { members, .. } => Some(Value::Builtins(members.iter().map(|m| builtin(&m.binding)).collect())),
            _ => self.builtin(builtin(&argument.binding)?),
        };
        function.arguments.iter().map(one).collect()
    }
}

impl<'a> Values<'a> {
    /// What needs no evaluation is known from the start. `arguments` are those of a call.
    pub(super) fn new(kernel: Kernel<'a>, function: &'a Function, arguments: &[Option<Value>]) -> Self {
        let values = vec![None; function.expressions.len()];
        let mut values = Self { kernel, module: kernel.module, function, values };
        for (handle, expression) in function.expressions.iter() {
            let value = match expression {
                Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {
                    values.constant(&function.expressions, handle)
                }
                Expression::FunctionArgument(index) => arguments.get(*index as usize).cloned().flatten(),
                Expression::GlobalVariable(global) => values.memory(*global),
                _ => None,
            };
            values.set(handle, value);
        }
        values
    }

    pub(super) fn set(&mut self, handle: Handle<Expression>, value: Option<Value>) {
        if let Some(slot) = self.values.get_mut(handle.index()) {
            *slot = value;
        }
    }

    pub(super) fn get(&self, handle: Handle<Expression>) -> Option<&Value> {
        self.values.get(handle.index()).and_then(Option::as_ref)
    }

    pub(super) fn scalar(&self, handle: Handle<Expression>) -> Option<&Poly> {
        match self.get(handle) {
            Some(Value::Scalar(poly)) => Some(poly),
            _ => None,
        }
    }

    fn memory(&self, global: Handle<GlobalVariable>) -> Option<Value> {
        let variable = &self.module.global_variables[global];
        let binding = match variable.space {
            AddressSpace::Immediate => None,
            AddressSpace::Uniform => Some(*self.kernel.bindings.get(&global)?),
            _ => return None,
        };
        Some(Value::Memory(Memory { binding, offset: 0, ty: variable.ty }))
    }

    /// Constants, from the function's arena or the module's. Compositions of constants one level deep.
    fn constant(&self, arena: &naga::Arena<Expression>, handle: Handle<Expression>) -> Option<Value> {
        match &arena[handle] {
            Expression::Literal(Literal::U32(value)) => Some(Value::Scalar(Poly::constant(*value))),
            Expression::Literal(Literal::I32(value)) => Some(Value::Scalar(Poly::constant(value.cast_unsigned()))),
            Expression::Constant(constant) => self.global_constant(self.module.constants[*constant].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            _ => None,
        }
    }

    /// A constant of the module.
    pub(super) fn global_constant(&self, handle: Handle<Expression>) -> Option<Value> {
        let arena = &self.module.global_expressions;
        let scalar = |h: Handle<Expression>| match &arena[h] {
            Expression::Literal(Literal::U32(value)) => Some(Poly::constant(*value)),
            Expression::Literal(Literal::I32(value)) => Some(Poly::constant(value.cast_unsigned())),
            _ => None,
        };
        match &arena[handle] {
            Expression::Literal(_) => scalar(handle).map(Value::Scalar),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { ty, components } if self.vector_size(*ty) == Some(components.len()) => {
                Some(Value::Vector(components.iter().map(|&c| scalar(c)).collect()))
            }
            Expression::Splat { size, value } => Some(Value::Vector(vec![scalar(*value); *size as usize])),
            _ => None,
        }
    }

    /// A constant bool.
    pub(super) fn truth(&self, constant: Handle<naga::Constant>) -> Option<bool> {
        match self.module.global_expressions[self.module.constants[constant].init] {
            Expression::Literal(Literal::Bool(value)) => Some(value),
            _ => None,
        }
    }

    fn zero(&self, ty: Handle<Type>) -> Option<Value> {
        match self.module.types[ty].inner {
            TypeInner::Scalar(scalar) if is_word(scalar) => Some(Value::Scalar(Poly::constant(0))),
            TypeInner::Vector { size, scalar } if is_word(scalar) => {
                Some(Value::Vector(vec![Some(Poly::constant(0)); size as usize]))
            }
            _ => None,
        }
    }

    fn vector_size(&self, ty: Handle<Type>) -> Option<usize> {
        match self.module.types[ty].inner {
            TypeInner::Vector { size, scalar } if is_word(scalar) => Some(size as usize),
            _ => None,
        }
    }

    /// Evaluates an expression whose operands have been reached. Loads of variables are not for here.
    pub(super) fn evaluate(&self, expression: &Expression) -> Option<Value> {
        match *expression {
            Expression::Load { pointer } => match self.get(pointer)? {
                Value::Memory(memory) => Some(self.load(*memory)),
                // The component of a vector in memory goes by its value already.
                Value::Scalar(poly) => Some(Value::Scalar(poly.clone())),
                _ => None,
            },
            Expression::AccessIndex { base, index } => self.member(base, index),
            Expression::Splat { size, value } => Some(Value::Vector(vec![self.scalar(value).cloned(); size as usize])),
            Expression::Swizzle { size, vector, pattern } => {
                let Value::Vector(parts) = self.get(vector)? else { return None };
                let part = |component: &naga::SwizzleComponent| parts.get(*component as usize).cloned().flatten();
                Some(Value::Vector(pattern.iter().take(size as usize).map(part).collect()))
            }
            Expression::Compose { ty, ref components } if self.vector_size(ty).is_some() => self.compose(components),
            Expression::Binary { op, left, right } => self.binary(op, left, right),
            // Of 32 bits only: nothing else has a value here, and other widths wrap elsewhere. What is below zero is large here, and the decision
            // for a launch refuses numbers that are.
            Expression::As { expr, kind: ScalarKind::Uint | ScalarKind::Sint, convert: None | Some(4) } => {
                self.get(expr).filter(|v| matches!(v, Value::Scalar(_) | Value::Vector(_))).cloned()
            }
            Expression::ArrayLength(pointer) => self.length(pointer),
            _ => None,
        }
    }

    fn load(&self, memory: Memory) -> Value {
        let atom = |index: u32| {
            let offset = memory.offset.checked_add(index.checked_mul(4)?)?;
            Some(Poly::atom(match memory.binding {
                Some(binding) => Atom::Uniform(binding, offset),
                None => Atom::Immediate(offset),
            }))
        };
        match self.module.types[memory.ty].inner {
            TypeInner::Scalar(scalar) if is_word(scalar) => atom(0).map_or(Value::Memory(memory), Value::Scalar),
            TypeInner::Vector { size, scalar } if is_word(scalar) => Value::Vector((0..size as u32).map(atom).collect()),
            // A structure stays where it is until a member is taken.
            _ => Value::Memory(memory),
        }
    }

    fn member(&self, base: Handle<Expression>, index: u32) -> Option<Value> {
        match self.get(base)? {
            Value::Vector(parts) => parts.get(index as usize).cloned().flatten().map(Value::Scalar),
            Value::Builtins(members) => self.kernel.builtin(members.get(index as usize).copied().flatten()?),
            Value::Memory(memory) => self.inside(*memory, index, self.is_pointer(base)),
            Value::Scalar(_) | Value::Either { .. } => None,
        }
    }

    /// A member of a structure in memory, or a component of a vector there; through a pointer or out of the value.
    fn inside(&self, memory: Memory, index: u32, pointer: bool) -> Option<Value> {
        match &self.module.types[memory.ty].inner {
            TypeInner::Struct { members, .. } => {
                let member = members.get(index as usize)?;
                let inner = Memory { offset: memory.offset.checked_add(member.offset)?, ty: member.ty, ..memory };
                Some(if pointer { Value::Memory(inner) } else { self.load(inner) })
            }
            // Only pointers get here: a loaded vector is a vector.
            TypeInner::Vector { .. } => {
                let Value::Vector(parts) = self.load(memory) else { return None };
                parts.get(index as usize).cloned().flatten().map(Value::Scalar)
            }
            _ => None,
        }
    }

    fn is_pointer(&self, mut expression: Handle<Expression>) -> bool {
        while let Expression::AccessIndex { base, .. } = self.function.expressions[expression] {
            expression = base;
        }
        matches!(self.function.expressions[expression], Expression::GlobalVariable(_))
    }

    fn compose(&self, components: &[Handle<Expression>]) -> Option<Value> {
        let mut parts = Vec::new();
        for &component in components {
            match self.get(component) {
                Some(Value::Scalar(poly)) => parts.push(Some(poly.clone())),
                Some(Value::Vector(inner)) => parts.extend(inner.iter().cloned()),
                // How many components this one has is not known, so neither is where the others are.
                _ => return None,
            }
        }
        Some(Value::Vector(parts))
    }

    fn binary(&self, op: BinaryOperator, left: Handle<Expression>, right: Handle<Expression>) -> Option<Value> {
        let apply = |a: &Poly, b: &Poly| match op {
            BinaryOperator::Add => a.add(b),
            BinaryOperator::Subtract => a.subtract(b),
            BinaryOperator::Multiply => a.multiply(b),
            BinaryOperator::ShiftLeft => a.multiply(&Poly::constant(1u32.checked_shl(b.as_constant()?)?)),
            _ => None,
        };
        let parts = |list: &[Option<Poly>], f: &dyn Fn(&Poly) -> Option<Poly>| {
            Some(Value::Vector(list.iter().map(|p| p.as_ref().and_then(f)).collect()))
        };
        match (self.get(left)?, self.get(right)?) {
            (Value::Scalar(a), Value::Scalar(b)) => apply(a, b).map(Value::Scalar),
            (Value::Vector(a), Value::Scalar(b)) => parts(a, &|p| apply(p, b)),
            (Value::Scalar(a), Value::Vector(b)) => parts(b, &|p| apply(a, p)),
            (Value::Vector(a), Value::Vector(b)) if a.len() == b.len() => {
                let pair = |(a, b): (&Option<Poly>, &Option<Poly>)| apply(a.as_ref()?, b.as_ref()?);
                Some(Value::Vector(a.iter().zip(b).map(pair).collect()))
            }
            _ => None,
        }
    }

    fn length(&self, pointer: Handle<Expression>) -> Option<Value> {
        match self.function.expressions[crate::access::root(self.function, pointer)] {
            Expression::GlobalVariable(global) => {
                Some(Value::Scalar(Poly::atom(Atom::Length(u32::try_from(global.index()).ok()?))))
            }
            _ => None,
        }
    }
}
