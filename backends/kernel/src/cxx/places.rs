//! Pointers: what they lead to, whether it is there, loads and stores. A pointer has no variable in the text; it is written out where it is used, from
//! indices that have one, so it is the same wherever it is used.

use naga::proc::TypeResolution;
use naga::{Expression, Handle, Scalar, ScalarKind, Type, TypeInner};

use super::dialect::Part;
use super::functions::Writer;
use super::types;
use super::{Refusal, Result};

/// What a pointer leads to.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// An expression for it; for a runtime-sized array, for a pointer to its first element.
    pub(super) text: String,
    /// Conditions that all have to hold, or it is not there.
    pub(super) checks: Vec<String>,
    /// Whether nobody can write it while the kernel runs.
    constant: bool,
    read_only: bool,
    /// The length of the runtime-sized array that it is, or ends with.
    length: Option<String>,
}

/// The type that a pointer leads to.
enum Target<'a> {
    Type(Handle<Type>),
    Vector(naga::VectorSize, Scalar),
    Scalar(&'a str),
}

impl Place {
    /// The conditions as one expression, if there are any.
    pub(super) fn condition(&self) -> Option<String> {
        (!self.checks.is_empty()).then(|| self.checks.join(" && "))
    }
}

impl Writer<'_> {
    /// The type of an expression.
    pub(super) fn inner(&self, at: Handle<Expression>) -> &TypeInner {
        self.info[at].ty.inner_with(&self.context.module.types)
    }

    pub(super) fn is_pointer(&self, at: Handle<Expression>) -> bool {
        matches!(self.inner(at), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. })
    }

    fn target(&self, pointer: Handle<Expression>) -> Result<Target<'static>> {
        match *self.inner(pointer) {
            TypeInner::Pointer { base, .. } => Ok(Target::Type(base)),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => Ok(Target::Vector(size, scalar)),
            TypeInner::ValuePointer { size: None, scalar, .. } => Ok(Target::Scalar(types::scalar(scalar)?)),
            _ => Err(Refusal::bug("a pointer that is none")),
        }
    }

    /// The scalar of an atomic that a pointer leads to.
    pub(super) fn atomic_scalar(&self, pointer: Handle<Expression>) -> Option<Scalar> {
        match *self.inner(pointer) {
            TypeInner::Pointer { base, .. } => match *self.context.types.inner(base) {
                TypeInner::Atomic(scalar) => Some(scalar),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a pointer leads to. Recurses no deeper than types nest.
    pub(super) fn place(&self, at: Handle<Expression>) -> Result<Place> {
        let plain = |text: String| Place { text, checks: Vec::new(), constant: false, read_only: false, length: None };
        match self.function.expressions[at] {
            Expression::GlobalVariable(handle) => {
                let variable = self.context.globals.variable(handle)?;
                let (constant, read_only) = (variable.constant, variable.read_only);
                Ok(Place { constant, read_only, length: variable.length.clone(), ..plain(variable.text.clone()) })
            }
            Expression::LocalVariable(handle) => Ok(plain(self.local(handle))),
            Expression::FunctionArgument(index) => {
                let name = self.argument(index)?;
                let mut place = plain(format!("(*{name})"));
                if self.nullable.get(index as usize).copied().unwrap_or(false) {
                    place.checks.push(format!("{name} != 0"));
                }
                Ok(place)
            }
            Expression::AccessIndex { base, index } => self.part(at, base, index),
            Expression::Access { base, index } => self.element(at, base, index),
            _ => Err(Refusal::unsupported("a pointer that is computed")),
        }
    }

    /// A part at a fixed place.
    fn part(&self, at: Handle<Expression>, base: Handle<Expression>, index: u32) -> Result<Place> {
        let place = self.place(base)?;
        let Target::Type(ty) = self.target(base)? else {
            return Ok(Place { text: format!("{}.{}", place.text, component(index)?), ..place });
        };
        let types = self.context.types;
        match *types.inner(ty) {
            TypeInner::Struct { ref members, .. } => {
                let member = members.get(index as usize).ok_or_else(|| Refusal::bug("a member that is not there"))?;
                if types.is_endless(member.ty)? {
                    let cell = types.elements(member.ty)?.cell;
                    let qualifier = if place.read_only { "const " } else { "" };
                    let text = format!("c_tail<{qualifier}{cell}>(&{}, {}u)", place.text, member.offset);
                    return Ok(Place { text, ..place });
                }
                Ok(Place { text: format!("{}.{}", place.text, types.member(members, index as usize)?), ..place })
            }
            TypeInner::Array { .. } => {
                let elements = types.elements(ty)?;
                // One element is sure to be there; more only the binding knows.
                let check = (elements.count.is_none() && index > 0 && self.needs_check(at)).then(|| format!("{index}u"));
                self.indexed(place, ty, &format!("{index}u"), check)
            }
            TypeInner::Matrix { .. } => Ok(Place { text: format!("{}.c[{index}].v", place.text), ..place }),
            _ => Ok(Place { text: format!("{}.{}", place.text, component(index)?), ..place }),
        }
    }

    /// A part whose index is known only when the kernel runs.
    fn element(&self, at: Handle<Expression>, base: Handle<Expression>, index: Handle<Expression>) -> Result<Place> {
        let place = self.place(base)?;
        let unsigned = self.unsigned_index(index)?;
        let count = match self.target(base)? {
            Target::Vector(size, _) => Some(size as u32),
            Target::Scalar(_) => return Err(Refusal::bug("an index into a number")),
            Target::Type(ty) => match *self.context.types.inner(ty) {
                TypeInner::Vector { size, .. } => Some(size as u32),
                TypeInner::Matrix { columns, .. } => Some(columns as u32),
                _ => self.context.types.elements(ty)?.count,
            },
        };
        let check = self.needs_check(at).then(|| unsigned.clone());
        match self.target(base)? {
            Target::Type(ty) if matches!(self.context.types.inner(ty), TypeInner::Array { .. }) => {
                self.indexed(place, ty, &unsigned, check)
            }
            target => {
                let matrix =
                    matches!(target, Target::Type(ty) if matches!(self.context.types.inner(ty), TypeInner::Matrix { .. }));
                let text =
                    if matrix { format!("{}.c[{unsigned}].v", place.text) } else { format!("{}[(u32){unsigned}]", place.text) };
                let mut place = Place { text, ..place };
                place.checks.extend(check.zip(count).map(|(index, count)| format!("{index} < {count}u")));
                Ok(place)
            }
        }
    }

    fn indexed(&self, place: Place, array: Handle<Type>, index: &str, check: Option<String>) -> Result<Place> {
        let elements = self.context.types.elements(array)?;
        let limit = match elements.count {
            Some(count) => format!("{count}u"),
            None => place.length.clone().ok_or_else(|| Refusal::bug("a runtime-sized array without a length"))?,
        };
        let text = match elements.count {
            Some(_) => format!("{}.e[{index}]{}", place.text, elements.suffix),
            None => format!("{}[{index}]{}", place.text, elements.suffix),
        };
        let mut place = Place { text, ..place };
        place.checks.extend(check.map(|index| format!("{index} < {limit}")));
        Ok(place)
    }

    /// Whether the index of an access may be out of range, and anybody cares.
    pub(super) fn needs_check(&self, access: Handle<Expression>) -> bool {
        self.context.options.checked && !self.ranges.is_some_and(|ranges| ranges.in_range(access))
    }

    /// An index without a sign: a negative one is larger than any length.
    pub(super) fn unsigned_index(&self, index: Handle<Expression>) -> Result<String> {
        let value = self.value(index)?;
        let TypeInner::Scalar(Scalar { kind, width }) = *self.inner(index) else {
            return Err(Refusal::bug("an index that is not an integer"));
        };
        Ok(match (kind, width) {
            (ScalarKind::Uint, 4 | 8) => value,
            (_, 8) => format!("(u64){value}"),
            (ScalarKind::Sint | ScalarKind::Uint, _) => format!("(u32){value}"),
            _ => return Err(Refusal::bug("an index that is not an integer")),
        })
    }

    /// The length of a runtime-sized array.
    pub(super) fn length(&self, pointer: Handle<Expression>) -> Result<String> {
        self.place(pointer)?.length.ok_or_else(|| Refusal::bug("a runtime-sized array without a length"))
    }

    /// The value that a pointer leads to; zero where nothing is.
    pub(super) fn load(&mut self, pointer: Handle<Expression>) -> Result<String> {
        let place = self.place(pointer)?;
        let (ty, atomic) = match self.target(pointer)? {
            Target::Type(ty) => {
                (self.context.types.name(ty)?.to_owned(), matches!(self.context.types.inner(ty), TypeInner::Atomic(_)))
            }
            Target::Vector(size, scalar) => (format!("vec<{}, {}>", types::scalar(scalar)?, size as u8), false),
            Target::Scalar(name) => (name.to_owned(), false),
        };
        let value = if atomic {
            format!("c_atomic_load(&{})", place.text)
        } else if place.constant {
            format!("c_constant(&{})", place.text)
        } else {
            place.text.clone()
        };
        Ok(match place.condition() {
            Some(condition) => format!("{condition} ? {value} : {ty}{{}}"),
            None => value,
        })
    }

    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<()> {
        let place = self.place(pointer)?;
        let value = self.value(value)?;
        let padded = match self.target(pointer)? {
            Target::Type(ty) => self.context.types.is_padded(ty)?,
            Target::Vector(..) | Target::Scalar(_) => false,
        };
        let store = if self.atomic_scalar(pointer).is_some() {
            format!("c_atomic_store(&{}, {value});", place.text)
        } else if padded {
            format!("c_store(&{}, {value});", place.text)
        } else {
            format!("{} = {value};", place.text)
        };
        match place.condition() {
            Some(condition) => self.line(format!("if ({condition}) {store}")),
            None => self.line(store),
        }
        Ok(())
    }

    /// A pointer as an argument: null where it leads to nothing.
    pub(super) fn address(&self, pointer: Handle<Expression>) -> Result<String> {
        let place = self.place(pointer)?;
        Ok(match place.condition() {
            Some(condition) => format!("{condition} ? &{} : 0", place.text),
            None => format!("&{}", place.text),
        })
    }

    /// An atomic operation. What it gives is nothing where there is nothing to change.
    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: naga::AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        self.parts.insert(Part::Atomic);
        let scalar = self.atomic_scalar(pointer).ok_or_else(|| Refusal::bug("an atomic operation on something else"))?;
        let ty = types::scalar(scalar)?;
        let place = self.place(pointer)?;
        let value = self.value(value)?;
        if let naga::AtomicFunction::Exchange { compare: Some(compare) } = fun {
            return self.compare_exchange(&place, ty, compare, &value, result);
        }
        let name = atomic_name(fun, scalar)?;
        let call = format!("{name}(&{}, {value})", place.text);
        match (result.filter(|result| self.info[*result].ref_count > 0), place.condition()) {
            (Some(result), Some(condition)) => self.define(result, &format!("{condition} ? {call} : {ty}{{}}")),
            (Some(result), None) => self.define(result, &call),
            (None, Some(condition)) => {
                self.line(format!("if ({condition}) {call};"));
                Ok(())
            }
            (None, None) => {
                self.line(format!("{call};"));
                Ok(())
            }
        }
    }

    fn compare_exchange(
        &mut self,
        place: &Place,
        ty: &str,
        compare: Handle<Expression>,
        value: &str,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        if ty == "f32" {
            return Err(Refusal::unsupported("a comparison and exchange of `f32`"));
        }
        let result = result.ok_or_else(|| Refusal::bug("an exchange without a result"))?;
        let compare = self.value(compare)?;
        let old = format!("old{}", result.index());
        let call = format!("c_atomic_compare(&{}, {compare}, {value})", place.text);
        let (first, same) = match place.condition() {
            Some(condition) => (format!("{condition} ? {call} : {ty}{{}}"), format!("{condition} && {old} == {compare}")),
            None => (call, format!("{old} == {compare}")),
        };
        self.line(format!("const {ty} {old} = {first};"));
        let TypeResolution::Handle(handle) = self.info[result].ty else {
            return Err(Refusal::bug("an exchange whose result is no structure"));
        };
        let value = self.context.types.braces(handle, &[old, same])?;
        self.define(result, &value)
    }
}

fn atomic_name(fun: naga::AtomicFunction, scalar: Scalar) -> Result<&'static str> {
    use naga::AtomicFunction as F;
    let float = scalar.kind == ScalarKind::Float;
    Ok(match fun {
        F::Add if float => "c_atomic_add_float",
        F::Subtract if float => "c_atomic_sub_float",
        F::Exchange { compare: None } => "c_atomic_exchange",
        _ if float => return Err(Refusal::unsupported("this atomic operation on `f32`")),
        F::Add => "c_atomic_add",
        F::Subtract => "c_atomic_sub",
        F::And => "c_atomic_and",
        F::ExclusiveOr => "c_atomic_xor",
        F::InclusiveOr => "c_atomic_or",
        F::Min => "c_atomic_min",
        F::Max => "c_atomic_max",
        F::Exchange { compare: Some(_) } => return Err(Refusal::bug("a comparison that was handled before")),
    })
}

/// The name of a component.
pub(super) fn component(index: u32) -> Result<&'static str> {
    ["x", "y", "z", "w"].get(index as usize).copied().ok_or_else(|| Refusal::bug("a component that is not there"))
}
