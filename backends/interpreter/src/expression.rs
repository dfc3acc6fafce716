//! Evaluation of expressions: of constants, and of what is inside functions.

use naga::{Expression, Handle, Module, TypeInner};

use crate::group::Shared;
use crate::invocation::Invocation;
use crate::memory::{self, Pointer, Root, Target};
use crate::scalar::Scalar;
use crate::value::{Value, literal, zero};
use crate::{Result, Stop, builtin, convert, invalid, operator, unsupported};

/// A constant expression of module scope.
pub(crate) fn constant(module: &Module, handle: Handle<Expression>) -> Result<Value> {
    match &module.global_expressions[handle] {
        Expression::Literal(value) => literal(*value),
        Expression::Constant(c) => constant(module, module.constants[*c].init),
        Expression::ZeroValue(ty) => zero(module, *ty),
        Expression::Compose { ty, components } => {
            let parts = components.iter().map(|&c| constant(module, c)).collect::<Result<Vec<_>>>()?;
            compose(module, *ty, parts)
        }
        Expression::Splat { size, value } => splat(*size, constant(module, *value)?),
        other => unsupported(("as a constant", other)),
    }
}

/// A vector takes the components of its parts; everything else the parts themselves.
fn compose(module: &Module, ty: Handle<naga::Type>, parts: Vec<Value>) -> Result<Value> {
    if !matches!(module.types[ty].inner, TypeInner::Vector { .. }) {
        return Ok(parts.into_iter().collect());
    }
    let mut components = Vec::new();
    for part in &parts {
        components.extend(part.components()?);
    }
    Ok(components.into_iter().collect())
}

fn splat(size: naga::VectorSize, value: Value) -> Result<Value> {
    Ok((0..size as usize).map(|_| value.clone()).collect())
}

/// Indexes a value; out of range gives zero.
fn element(list: &Value, index: i128) -> Result<(Value, bool)> {
    let list = list.list()?;
    match (usize::try_from(index).ok().and_then(|i| list.get(i)), list.first()) {
        (Some(found), _) => Ok((found.clone(), true)),
        (None, Some(first)) => Ok((first.zeroed(), false)),
        (None, None) => invalid("an index into nothing"),
    }
}

impl Invocation<'_> {
    /// The value of an expression: as it was when it was emitted, or, for those that never are, computed now.
    pub(crate) fn value(&mut self, shared: &mut Shared, handle: Handle<Expression>) -> Result<Value> {
        let frame = self.frame()?;
        if let Some(Some(value)) = frame.values.get(handle.index()) {
            return Ok(value.clone());
        }
        match &frame.function.expressions[handle] {
            expression @ (Expression::Load { .. }
            | Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }) => invalid(("used before it was evaluated", expression)),
            _ => self.evaluate(shared, handle),
        }
    }

    /// Evaluates an expression now and keeps the value.
    pub(crate) fn evaluate(&mut self, shared: &mut Shared, handle: Handle<Expression>) -> Result<Value> {
        let value = self.compute(shared, handle)?;
        self.set(handle, value.clone())?;
        Ok(value)
    }

    fn compute(&mut self, shared: &mut Shared, handle: Handle<Expression>) -> Result<Value> {
        let (module, frame) = (self.module, self.frame()?);
        let function = frame.function;
        Ok(match &function.expressions[handle] {
            Expression::Literal(value) => literal(*value)?,
            Expression::Constant(c) => constant(module, module.constants[*c].init)?,
            Expression::ZeroValue(ty) => zero(module, *ty)?,
            Expression::FunctionArgument(i) => match frame.arguments.get(*i as usize) {
                Some(value) => value.clone(),
                None => return invalid("an argument that is not there"),
            },
            Expression::GlobalVariable(global) => self.global(*global),
            Expression::LocalVariable(local) => {
                let (root, target) =
                    (Root::Function(frame.first_local + local.index()), Target::Type(function.local_variables[*local].ty));
                Value::Pointer(Pointer { root, offset: 0, target, inside: true })
            }
            Expression::Compose { ty, components } => {
                let parts = components.iter().map(|&c| self.value(shared, c)).collect::<Result<Vec<_>>>()?;
                compose(module, *ty, parts)?
            }
            Expression::Splat { size, value } => splat(*size, self.value(shared, *value)?)?,
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(shared, *vector)?.components()?;
                pattern[..*size as usize].iter().map(|&p| vector[p as usize]).collect()
            }
            Expression::Access { base, index } => {
                let index = self.value(shared, *index)?.scalar()?.int();
                self.access(shared, *base, index)?
            }
            Expression::AccessIndex { base, index } => self.access(shared, *base, (*index).into())?,
            Expression::Load { pointer } => {
                let pointer = self.value(shared, *pointer)?.pointer()?;
                self.load(shared, pointer)?
            }
            Expression::ArrayLength(pointer) => {
                let pointer = self.value(shared, *pointer)?.pointer()?;
                Scalar::u32(memory::length(module, pointer, self.memory(shared, pointer.root)?)?).into()
            }
            other => return self.operation(shared, other),
        })
    }

    fn operation(&mut self, shared: &mut Shared, expression: &Expression) -> Result<Value> {
        match expression {
            Expression::Unary { op, expr } => operator::unary(*op, &self.value(shared, *expr)?),
            Expression::Binary { op, left, right } => {
                operator::binary(*op, &self.value(shared, *left)?, &self.value(shared, *right)?)
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.value(shared, *condition)?;
                select(&condition, self.value(shared, *accept)?, self.value(shared, *reject)?)
            }
            Expression::Relational { fun, argument } => builtin::relational(*fun, &self.value(shared, *argument)?),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let handles = [Some(*arg), *arg1, *arg2, *arg3];
                let arguments = handles.into_iter().flatten().map(|a| self.value(shared, a)).collect::<Result<Vec<_>>>()?;
                builtin::math(*fun, &arguments)
            }
            Expression::As { expr, kind, convert } => convert::cast(&self.value(shared, *expr)?, *kind, *convert),
            other => unsupported(other),
        }
    }

    fn access(&mut self, shared: &mut Shared, base: Handle<Expression>, index: i128) -> Result<Value> {
        match self.value(shared, base)? {
            Value::Pointer(pointer) => {
                let module = self.module;
                let part = memory::index(module, pointer, index, self.memory(shared, pointer.root)?)?;
                Ok(Value::Pointer(part))
            }
            list => {
                let (value, inside) = element(&list, index)?;
                shared.out_of_range |= !inside;
                Ok(value)
            }
        }
    }

    pub(crate) fn load(&mut self, shared: &mut Shared, pointer: Pointer) -> Result<Value> {
        shared.out_of_range |= !pointer.inside;
        let module = self.module;
        memory::load(module, pointer, self.memory(shared, pointer.root)?)
    }

    pub(crate) fn store(&mut self, shared: &mut Shared, pointer: Pointer, value: &Value) -> Result<()> {
        shared.out_of_range |= !pointer.inside;
        let module = self.module;
        memory::store(module, pointer, value, self.memory(shared, pointer.root)?)
    }

    fn global(&self, global: Handle<naga::GlobalVariable>) -> Value {
        let variable = &self.module.global_variables[global];
        let root = match variable.space {
            naga::AddressSpace::WorkGroup => Root::Workgroup(global.index()),
            naga::AddressSpace::Private => Root::Private(global.index()),
            _ => Root::Buffer(global.index()),
        };
        Value::Pointer(Pointer { root, offset: 0, target: Target::Type(variable.ty), inside: true })
    }
}

fn select(condition: &Value, accept: Value, reject: Value) -> Result<Value> {
    if let Value::Scalar(one) = condition {
        return Ok(if one.is_true() { accept } else { reject });
    }
    let conditions = condition.components()?;
    let (accept, reject) = (accept.components()?, reject.components()?);
    if accept.len() != conditions.len() || reject.len() != conditions.len() {
        return Err(Stop::Invalid("select between vectors of other sizes".into()));
    }
    let pick = |i: usize| if conditions[i].is_true() { accept[i] } else { reject[i] };
    Ok((0..conditions.len()).map(pick).collect())
}
