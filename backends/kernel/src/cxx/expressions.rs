//! Expressions that are values: each gets a variable when it is evaluated. Operators and functions are in `operations`.

use naga::{Expression, Handle, ScalarKind, TypeInner};

use super::functions::Writer;
use super::places::component;
use super::{Refusal, Result, constants};

impl Writer<'_> {
    /// Evaluates an expression at its `Emit`.
    pub(super) fn emit(&mut self, at: Handle<Expression>) -> Result<()> {
        if self.info[at].ref_count == 0 || self.is_pointer(at) {
            return Ok(());
        }
        let value = self.evaluate(at).map_err(|refusal| refusal.at(self.function.expressions.get_span(at)))?;
        self.define(at, &value)
    }

    /// Gives an expression its value.
    pub(super) fn define(&mut self, at: Handle<Expression>, value: &str) -> Result<()> {
        let name = format!("e{}", at.index());
        if self.declared.contains(&at) {
            self.line(format!("{name} = {value};"));
        } else {
            let ty = self.context.types.of(&self.info[at].ty)?;
            self.line(format!("const {ty} {name} = {value};"));
        }
        self.known.insert(at, name);
        Ok(())
    }

    /// An operand: a name, or something that binds as tightly.
    pub(super) fn value(&self, at: Handle<Expression>) -> Result<String> {
        if let Some(name) = self.known.get(&at) {
            return Ok(name.clone());
        }
        let (module, types) = (self.context.module, self.context.types);
        match self.function.expressions[at] {
            Expression::Literal(literal) => constants::literal(literal),
            Expression::Constant(handle) => constants::constant(module, types, handle),
            Expression::ZeroValue(ty) => Ok(format!("{}{{}}", types.name(ty)?)),
            Expression::FunctionArgument(index) => Ok(self.argument(index)?.to_owned()),
            // The rest of a module's constants.
            Expression::Compose { .. } | Expression::Splat { .. } => {
                constants::expression(module, types, &self.function.expressions, at)
            }
            _ if self.dry => Ok(String::new()),
            _ => Err(Refusal::bug("a value that was never evaluated")),
        }
    }

    fn evaluate(&mut self, at: Handle<Expression>) -> Result<String> {
        match self.function.expressions[at] {
            Expression::Compose { ty, ref components } => {
                let parts = components.iter().map(|part| self.value(*part)).collect::<Result<Vec<_>>>()?;
                let widths: Vec<usize> = components.iter().map(|part| self.width(*part)).collect();
                let inner = self.context.types.inner(ty);
                self.context.types.braces(ty, &constants::flattened(inner, parts, &widths))
            }
            Expression::Splat { size, value } => Ok(format!("c_splat{}({})", size as u8, self.value(value)?)),
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(vector)?;
                let ty = self.context.types.of(&self.info[at].ty)?;
                let picked = pattern.iter().take(size as usize).map(|c| Ok(format!("{vector}.{}", component(*c as u32)?)));
                Ok(format!("{ty}{{{}}}", picked.collect::<Result<Vec<_>>>()?.join(", ")))
            }
            Expression::Load { pointer } => {
                if self.atomic_scalar(pointer).is_some() {
                    self.parts.insert(super::dialect::Part::Atomic);
                }
                self.load(pointer)
            }
            Expression::Access { base, index } => self.element_of_value(at, base, index),
            Expression::AccessIndex { base, index } => self.part_of_value(base, index),
            Expression::ArrayLength(pointer) => self.length(pointer),
            Expression::Unary { op, expr } => self.unary(op, expr),
            Expression::Binary { op, left, right } => self.binary(op, left, right),
            Expression::Select { condition, accept, reject } => {
                let [c, a, b] = [self.value(condition)?, self.value(accept)?, self.value(reject)?];
                let one = matches!(self.inner(condition), TypeInner::Scalar(_));
                Ok(if one { format!("{c} ? {a} : {b}") } else { format!("c_select({c}, {a}, {b})") })
            }
            Expression::Relational { fun, argument } => self.relational(fun, argument),
            Expression::As { expr, kind, convert } => self.convert(expr, kind, convert),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(arg), arg1, arg2, arg3].into_iter().flatten().collect();
                self.math(at, fun, &arguments)
            }
            Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
                Err(Refusal::unsupported("a texture"))
            }
            Expression::Derivative { .. } => Err(Refusal::unsupported("a derivative")),
            Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. }
            | Expression::RayQueryVertexPositions { .. } => Err(Refusal::unsupported("a ray query")),
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                Err(Refusal::unsupported("a cooperative matrix"))
            }
            _ => self.value(at),
        }
    }

    /// Components of a vector, 1 for anything else.
    fn width(&self, at: Handle<Expression>) -> usize {
        match *self.inner(at) {
            TypeInner::Vector { size, .. } => size as usize,
            _ => 1,
        }
    }

    /// An element of a value; zero out of range.
    fn element_of_value(
        &mut self,
        access: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<String> {
        let value = self.value(base)?;
        let naga::proc::TypeResolution::Handle(ty) = self.info[base].ty else {
            return self.component_of_value(&value, index);
        };
        if !matches!(self.context.types.inner(ty), TypeInner::Array { .. }) {
            return self.component_of_value(&value, index);
        }
        let elements = self.context.types.elements(ty)?;
        let at = self.unsigned_index(index)?;
        let element = format!("{value}.e[{at}]{}", elements.suffix);
        let count = elements.count.ok_or_else(|| Refusal::bug("a runtime-sized array as a value"))?;
        if !self.needs_check(access) {
            return Ok(element);
        }
        let TypeInner::Array { base, .. } = *self.context.types.inner(ty) else { return Err(Refusal::bug("not an array")) };
        Ok(format!("{at} < {count}u ? {element} : {}{{}}", self.context.types.name(base)?))
    }

    fn component_of_value(&self, value: &str, index: Handle<Expression>) -> Result<String> {
        let signed = matches!(self.inner(index), TypeInner::Scalar(scalar) if scalar.kind == ScalarKind::Sint);
        let index = self.value(index)?;
        let wide = if signed { "(u64)(i64)" } else { "(u64)" };
        Ok(format!("c_at({value}, {wide}{index})"))
    }

    fn part_of_value(&mut self, base: Handle<Expression>, index: u32) -> Result<String> {
        let value = self.value(base)?;
        let types = self.context.types;
        Ok(match *self.inner(base) {
            TypeInner::Vector { .. } => format!("{value}.{}", component(index)?),
            TypeInner::Matrix { .. } => format!("{value}.c[{index}].v"),
            TypeInner::Struct { ref members, .. } => format!("{value}.{}", types.member(members, index as usize)?),
            TypeInner::Array { .. } => {
                let naga::proc::TypeResolution::Handle(ty) = self.info[base].ty else {
                    return Err(Refusal::bug("an array without a type"));
                };
                format!("{value}.e[{index}]{}", types.elements(ty)?.suffix)
            }
            _ => return Err(Refusal::bug("a part of something that has none")),
        })
    }
}
