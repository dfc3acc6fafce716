//! Expressions: each kind is handed to the room that knows it. Operators and functions live in `ops`, `math` and `bits`.

use std::rc::Rc;

use cranelift_codegen::ir::{InstBuilder, types};
use naga::{AddressSpace, BuiltIn, Expression, Handle, Literal, StorageAccess, SwizzleComponent};
use smallvec::SmallVec;

use super::emitter::Emitter;
use super::layout::{Scalar, Shape};
use super::program::{FrameId, Resolved, ValueRef, within_bounds};
use super::stop::{Result, Stop};
use super::subgroups::SUBGROUP_SIZE;
use super::value::{Parts, Pointer, Root, Val};

/// A constant expression, of the module or of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Constant {
    Global(Handle<Expression>),
    Local(ValueRef),
}

impl Constant {
    pub(super) fn sibling(self, expr: Handle<Expression>) -> Self {
        match self {
            Self::Global(_) => Self::Global(expr),
            Self::Local(value) => Self::Local(ValueRef { expr, ..value }),
        }
    }
}

impl Emitter<'_> {
    /// Evaluates an expression at its `Emit`.
    pub(super) fn emit_value(&mut self, at: ValueRef) -> Result<()> {
        if self.leads_to_unused_memory(at) {
            return Ok(());
        }
        let number = self.program.number(at);
        let value = self.evaluate(at, Some(number)).map_err(|stop| stop.at(self.program.span(at)))?;
        within_bounds(self.b.func.dfg.num_insts()).map_err(|stop| stop.at(self.program.span(at)))?;
        self.set_value(number, value)
    }

    /// Whether it is a pointer into workgroup memory that has no place because nothing reads or writes it, so that nobody follows the pointer either.
    fn leads_to_unused_memory(&self, mut at: ValueRef) -> bool {
        loop {
            match *self.program.expression(at) {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => at.expr = base,
                Expression::GlobalVariable(handle) => {
                    let space = self.program.module.global_variables[handle].space;
                    return space == AddressSpace::WorkGroup && self.workgroup_offset(handle).is_err();
                }
                _ => return false,
            }
        }
    }

    /// The value of an operand.
    pub(super) fn value(&mut self, operand: ValueRef) -> Result<Val> {
        match self.program.resolve(operand) {
            Resolved::Value(number) => {
                if self.run.is_none() && self.spills[number as usize].is_some() {
                    // Uniform, so the first invocation's is everybody's.
                    return self.reload(number);
                }
                self.values[number as usize].clone().ok_or_else(|| Stop::bug("a value that was never evaluated"))
            }
            Resolved::Anywhere(origin) => self.evaluate(origin, None),
        }
    }

    fn evaluate(&mut self, at: ValueRef, number: Option<u32>) -> Result<Val> {
        let operand = |expr| ValueRef { expr, ..at };
        match *self.program.expression(at) {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Constant(handle) => self.constant(Constant::Global(self.program.module.constants[handle].init)),
            Expression::ZeroValue(ty) => self.zero(self.layout.shape(ty)?, number),
            Expression::Compose { ref components, ty } => {
                let mut values = Vec::with_capacity(components.len());
                for component in components {
                    values.push(self.value(operand(*component))?);
                }
                self.compose(self.layout.shape(ty)?, values, number)
            }
            Expression::Splat { size, value } => {
                let value = self.value(operand(value))?.scalar()?;
                Ok(Val::Parts(SmallVec::from_elem(value, size as usize)))
            }
            Expression::Swizzle { size, vector, pattern } => self.swizzle(operand(vector), &pattern[..size as usize]),
            Expression::FunctionArgument(index) => self.input(at.frame, index),
            Expression::GlobalVariable(handle) => self.global(handle),
            Expression::LocalVariable(handle) => {
                let local = self.program.local(at.frame, handle);
                Ok(Val::Pointer(Rc::new(self.local_pointer(local)?)))
            }
            Expression::Load { pointer } => {
                let pointer = self.value(operand(pointer))?.pointer()?;
                self.load(&pointer, number)
            }
            Expression::Access { base, index } => self.access(at, operand(base), operand(index), number),
            Expression::AccessIndex { base, index } => self.access_index(at, operand(base), index, number),
            Expression::ArrayLength(pointer) => {
                let pointer = self.value(operand(pointer))?.pointer()?;
                Ok(Val::one(self.array_length(&pointer)?))
            }
            Expression::Unary { op, expr } => self.unary(op, operand(expr)),
            Expression::Binary { op, left, right } => self.binary(op, operand(left), operand(right)),
            Expression::Select { condition, accept, reject } => self.select(operand(condition), operand(accept), operand(reject)),
            Expression::Relational { fun, argument } => self.relational(fun, operand(argument)),
            Expression::As { expr, kind, convert } => self.convert(operand(expr), kind, convert),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let rest = [arg1, arg2, arg3].into_iter().flatten();
                let arguments: SmallVec<[ValueRef; 4]> = std::iter::once(arg).chain(rest).map(operand).collect();
                self.math(fun, &arguments)
            }
            ref other => Err(Stop::unsupported(unsupported_name(other))),
        }
    }

    fn literal(&mut self, literal: Literal) -> Result<Val> {
        Ok(Val::one(match literal {
            Literal::F32(v) => self.float(v),
            Literal::U32(v) => self.int(i64::from(v)),
            Literal::I32(v) => self.int(i64::from(v)),
            Literal::Bool(v) => self.bool(v),
            Literal::F16(v) => self.float(v.to_f32()),
            Literal::F64(v) => self.number(Scalar::F64, v),
            Literal::I16(v) => self.integer(Scalar::I16, i64::from(v)),
            Literal::U16(v) => self.integer(Scalar::U16, i64::from(v)),
            Literal::I64(v) => self.long(v),
            Literal::U64(v) => self.long(v as i64),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return Err(Stop::bug("an abstract number")),
        }))
    }

    pub(super) fn constant_expression(&self, at: Constant) -> &Expression {
        match at {
            Constant::Global(expr) => &self.program.module.global_expressions[expr],
            Constant::Local(value) => self.program.expression(value),
        }
    }

    /// A constant expression, which needs no `Emit` to be evaluated.
    pub(super) fn constant(&mut self, at: Constant) -> Result<Val> {
        let module = self.program.module;
        let expression = match at {
            Constant::Global(expr) => &module.global_expressions[expr],
            Constant::Local(value) => self.program.expression(value),
        };
        match *expression {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Constant(handle) => self.constant(Constant::Global(module.constants[handle].init)),
            Expression::ZeroValue(ty) => self.zero(self.layout.shape(ty)?, None),
            Expression::Compose { ref components, ty } => {
                let mut values = Vec::with_capacity(components.len());
                for component in components {
                    let value = self.constant(at.sibling(*component))?;
                    values.push(value);
                }
                self.compose(self.layout.shape(ty)?, values, None)
            }
            Expression::Splat { size, value } => {
                let value = self.constant(at.sibling(value))?.scalar()?;
                Ok(Val::Parts(SmallVec::from_elem(value, size as usize)))
            }
            ref other => Err(Stop::bug(format!("a constant that is not folded: {other:?}"))),
        }
    }

    fn zero(&mut self, shape: Shape, number: Option<u32>) -> Result<Val> {
        if self.layout.is_small(shape) {
            return Ok(Val::Parts(self.zero_parts(shape)?));
        }
        let place = self.value_place(shape, number)?;
        let start = self.place_address(place);
        let start = self.b.ins().iadd_imm_s(start, i64::from(place.offset));
        self.zero_memory(start, self.layout.size(shape));
        Ok(Val::Memory(place))
    }

    fn compose(&mut self, shape: Shape, values: Vec<Val>, number: Option<u32>) -> Result<Val> {
        if self.layout.is_small(shape) {
            let mut parts = Parts::new();
            for value in values {
                parts.extend(value.parts()?);
            }
            return Ok(Val::Parts(parts));
        }
        let place = self.value_place(shape, number)?;
        let whole = self.copy_pointer(place, shape);
        for (index, value) in values.into_iter().enumerate() {
            let member = self.layout.member(shape, index as u32)?;
            let part = self.part(&whole, member)?;
            self.store(&part, value)?;
        }
        Ok(Val::Memory(place))
    }

    fn swizzle(&mut self, vector: ValueRef, pattern: &[SwizzleComponent]) -> Result<Val> {
        let parts = self.value(vector)?.parts()?;
        let pick = |component: &SwizzleComponent| parts.get(*component as usize).copied();
        let picked: Option<Parts> = pattern.iter().map(pick).collect();
        picked.map(Val::Parts).ok_or_else(|| Stop::bug("a swizzle out of range"))
    }

    fn global(&mut self, handle: Handle<naga::GlobalVariable>) -> Result<Val> {
        let global = &self.program.module.global_variables[handle];
        if let Some(local) = self.program.private(handle) {
            return Ok(Val::Pointer(Rc::new(self.local_pointer(local)?)));
        }
        let (root, read_only) = match global.space {
            AddressSpace::Uniform => (Root::Binding(handle.index()), true),
            AddressSpace::Storage { access } => (Root::Binding(handle.index()), !access.contains(StorageAccess::STORE)),
            AddressSpace::WorkGroup => (Root::Workgroup(self.workgroup_offset(handle)?), false),
            AddressSpace::Immediate => (Root::Immediates, true),
            space => return Err(Stop::unsupported(format_args!("the address space {space:?}"))),
        };
        let shape = self.layout.shape(global.ty)?;
        Ok(Val::Pointer(Rc::new(Pointer::new(root, shape, read_only))))
    }

    fn access(&mut self, at: ValueRef, base: ValueRef, index: ValueRef, number: Option<u32>) -> Result<Val> {
        let signed = self.is_signed(index)?;
        let known = self.plan.ranges.known(self.program, at, index);
        let index = self.value(index)?.scalar()?;
        let origin = self.program.origin(base);
        if let Ok(shape @ Shape::Array(_)) = self.shape_of(origin)
            && let Some(table) = self.constant_table(origin, shape)?
        {
            let element = self.index_pointer(&table, index, signed, known)?;
            return self.load(&element, number);
        }
        let value = self.value(base)?;
        if let Val::Pointer(pointer) = value {
            return Ok(Val::Pointer(Rc::new(self.index_pointer(&pointer, index, signed, known)?)));
        }
        let shape = self.shape_of(base)?;
        if let (Val::Parts(parts), Shape::Vector(..) | Shape::Matrix { .. }) = (&value, shape) {
            return self.index_parts(parts, shape, index);
        }
        let whole = self.materialise(value, shape)?;
        let element = self.index_pointer(&whole, index, signed, known)?;
        self.load(&element, number)
    }

    fn access_index(&mut self, at: ValueRef, base: ValueRef, index: u32, number: Option<u32>) -> Result<Val> {
        let value = self.value(base)?;
        let shape = match value {
            Val::Pointer(ref pointer) => pointer.shape,
            _ => self.shape_of(base)?,
        };
        if let (Val::Pointer(pointer), Shape::Array(_)) = (&value, shape) {
            // One element is sure to be there; more only the binding knows.
            if self.layout.elements(shape)?.count.is_none() && index > 0 {
                let known = self.plan.ranges.known_here(self.program, at);
                let index = self.int(i64::from(index));
                return Ok(Val::Pointer(Rc::new(self.index_pointer(pointer, index, false, known)?)));
            }
        }
        let member = self.layout.member(shape, index)?;
        match value {
            Val::Pointer(pointer) => Ok(Val::Pointer(Rc::new(self.part(&pointer, member)?))),
            Val::Parts(parts) => {
                let first = member.first_leaf as usize;
                let count = self.layout.leaf_count(member.shape) as usize;
                let part = parts.get(first..first + count).ok_or_else(|| Stop::bug("a part out of range"))?;
                Ok(Val::Parts(SmallVec::from_slice(part)))
            }
            Val::Memory(place) => {
                let whole = self.copy_pointer(place, shape);
                let part = self.part(&whole, member)?;
                self.load(&part, number)
            }
        }
    }

    /// A built-in input of the entry point, or a struct of them.
    fn input(&mut self, frame: FrameId, index: u32) -> Result<Val> {
        let argument = self.program.frame(frame).function.arguments.get(index as usize);
        let argument = argument.ok_or_else(|| Stop::bug("an argument that is not there"))?;
        if let Some(binding) = &argument.binding {
            return Ok(Val::Parts(self.built_in(binding)?));
        }
        let naga::TypeInner::Struct { ref members, .. } = *self.layout.inner(argument.ty) else {
            return Err(Stop::bug("an input that is neither built-in nor a struct"));
        };
        let mut parts = Parts::new();
        for member in members {
            let binding = member.binding.as_ref().ok_or_else(|| Stop::bug("an input that is not built-in"))?;
            parts.extend(self.built_in(binding)?);
        }
        Ok(Val::Parts(parts))
    }

    fn built_in(&mut self, binding: &naga::Binding) -> Result<Parts> {
        let naga::Binding::BuiltIn(built_in) = *binding else {
            return Err(Stop::bug("an input by location"));
        };
        Ok(match built_in {
            BuiltIn::LocalInvocationId => Parts::from_slice(&self.invocation.local),
            BuiltIn::LocalInvocationIndex => {
                let index = self.invocation.index;
                Parts::from_slice(&[self.b.ins().ireduce(types::I32, index)])
            }
            BuiltIn::GlobalInvocationId => Parts::from_slice(&self.global_id()),
            BuiltIn::WorkGroupId => Parts::from_slice(&self.entry.group),
            BuiltIn::NumWorkGroups => Parts::from_slice(&self.entry.groups),
            BuiltIn::WorkGroupSize => self.reflection.workgroup_size.iter().map(|n| self.int(i64::from(*n))).collect(),
            BuiltIn::SubgroupInvocationId => Parts::from_slice(&[self.subgroup_lane()]),
            BuiltIn::SubgroupId => Parts::from_slice(&[self.subgroup_id()]),
            BuiltIn::SubgroupSize => Parts::from_slice(&[self.int(i64::from(SUBGROUP_SIZE))]),
            BuiltIn::NumSubgroups => Parts::from_slice(&[self.subgroup_count()]),
            other => return Err(Stop::unsupported(format_args!("the built-in input {other:?}"))),
        })
    }
}

fn unsupported_name(expression: &Expression) -> &'static str {
    match expression {
        Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => "textures",
        Expression::Derivative { .. } => "derivatives",
        Expression::RayQueryProceedResult
        | Expression::RayQueryGetIntersection { .. }
        | Expression::RayQueryVertexPositions { .. } => "ray queries",
        Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => "cooperative matrices",
        Expression::Override(_) => "an override constant that was not resolved",
        _ => "this expression",
    }
}
