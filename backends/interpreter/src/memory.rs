//! Memory as bytes, typed loads and stores through pointers, and where each part of a type lies.
//!
//! Function, private and workgroup variables are kept as bytes too, in the layout that their types have in buffers.

use naga::{ArraySize, Handle, Module, Scalar as ScalarType, Type, TypeInner, VectorSize};

use crate::scalar::Scalar;
use crate::value::{Value, zero_inner};
use crate::{Result, invalid, unsupported};

/// A piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    /// What it holds.
    pub data: Vec<u8>,
    /// Bytes that were stored to.
    pub written: Vec<bool>,
    /// Bytes that were loaded. Atomics load.
    pub read: Vec<bool>,
}

/// Where a pointer's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// A storage or uniform binding, or the immediate block, by the index of the variable.
    Buffer(usize),
    Workgroup(usize),
    Private(usize),
    /// A place on the invocation's stack of function variables.
    Function(usize),
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Type(Handle<Type>),
    Vector(VectorSize, ScalarType),
    Scalar(ScalarType),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) root: Root,
    pub(crate) offset: u64,
    pub(crate) target: Target,
    /// False once any index on the way was out of range: reads give zero, writes are dropped.
    pub(crate) inside: bool,
}

impl Bytes {
    pub(crate) fn new(data: Vec<u8>) -> Self {
        Self { written: vec![false; data.len()], read: vec![false; data.len()], data }
    }

    pub(crate) fn zeroed(size: u64) -> Self {
        Self::new(vec![0; size as usize])
    }

    fn load(&mut self, offset: u64, scalar: ScalarType) -> Result<Scalar> {
        let range = offset as usize..offset as usize + usize::from(scalar.width);
        let (Some(bytes), Some(read)) = (self.data.get(range.clone()), self.read.get_mut(range)) else {
            return invalid(("a load outside of its memory", offset, self.data.len()));
        };
        read.fill(true);
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Ok(Scalar { kind: scalar.kind, width: scalar.width, bits })
    }

    fn store(&mut self, offset: u64, scalar: Scalar) -> Result<()> {
        let range = offset as usize..offset as usize + usize::from(scalar.width);
        let (Some(bytes), Some(written)) = (self.data.get_mut(range.clone()), self.written.get_mut(range)) else {
            return invalid(("a store outside of its memory", offset, scalar));
        };
        written.fill(true);
        bytes.copy_from_slice(&scalar.bits.to_le_bytes()[..usize::from(scalar.width)]);
        Ok(())
    }
}

impl Target {
    fn with<T>(self, module: &Module, f: impl FnOnce(&TypeInner) -> T) -> T {
        match self {
            Self::Type(handle) => f(&module.types[handle].inner),
            Self::Vector(size, scalar) => f(&TypeInner::Vector { size, scalar }),
            Self::Scalar(scalar) => f(&TypeInner::Scalar(scalar)),
        }
    }

    /// The part with this index: what it is, where, and how many parts there are. `room` is how many bytes there are from here on.
    fn part(self, module: &Module, index: u64, room: u64) -> Result<(Target, u64, u64)> {
        self.with(module, |inner| {
            Ok(match inner {
                TypeInner::Vector { size, scalar } => {
                    (Self::Scalar(*scalar), index.wrapping_mul(scalar.width.into()), *size as u64)
                }
                TypeInner::Matrix { columns, rows, scalar } => {
                    (Self::Vector(*rows, *scalar), index.wrapping_mul(column_stride(*rows, *scalar)), *columns as u64)
                }
                TypeInner::Array { base, size, stride } => {
                    let stride = u64::from(*stride);
                    let count = fixed(module, *size)?.unwrap_or(room / stride);
                    (Self::Type(*base), index.wrapping_mul(stride), count)
                }
                TypeInner::Struct { members, .. } => match members.get(index as usize) {
                    Some(member) => (Self::Type(member.ty), member.offset.into(), members.len() as u64),
                    None => return invalid(("no such member", inner, index)),
                },
                other => return invalid(("no parts", other)),
            })
        })
    }
}

/// The number of elements, when it is not the binding that tells it.
pub(crate) fn fixed(module: &Module, size: ArraySize) -> Result<Option<u64>> {
    let constant = match size {
        ArraySize::Constant(count) => return Ok(Some(count.get().into())),
        ArraySize::Dynamic => return Ok(None),
        ArraySize::Pending(constant) => module.overrides[constant].init,
    };
    match constant {
        Some(init) => Ok(Some(constant_value(module, init)?)),
        None => invalid("an override constant without a value"),
    }
}

fn constant_value(module: &Module, init: Handle<naga::Expression>) -> Result<u64> {
    Ok(crate::expression::constant(module, init)?.scalar()?.int() as u64)
}

fn column_stride(rows: VectorSize, scalar: ScalarType) -> u64 {
    let rows = if rows == VectorSize::Tri { 4 } else { rows as u64 };
    rows * u64::from(scalar.width)
}

/// Bytes of a type of fixed size.
pub(crate) fn size(module: &Module, ty: Handle<Type>) -> Result<u64> {
    Ok(match &module.types[ty].inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => scalar.width.into(),
        TypeInner::Vector { size, scalar } => *size as u64 * u64::from(scalar.width),
        TypeInner::Matrix { columns, rows, scalar } => *columns as u64 * column_stride(*rows, *scalar),
        TypeInner::Array { size, stride, .. } => match fixed(module, *size)? {
            Some(count) => count * u64::from(*stride),
            None => return invalid("the size of a runtime-sized array"),
        },
        TypeInner::Struct { span, .. } => (*span).into(),
        other => return unsupported(("the size of", other)),
    })
}

/// Follows an index. `memory` is what the pointer is into.
pub(crate) fn index(module: &Module, pointer: Pointer, index: i128, memory: &Bytes) -> Result<Pointer> {
    let room = (memory.data.len() as u64).saturating_sub(pointer.offset);
    // A structure is only indexed by constants; for the rest a part that is not there still has a type.
    let wanted = u64::try_from(index).unwrap_or(u64::MAX);
    let (target, offset, count) = pointer.target.part(module, wanted, room)?;
    let inside = pointer.inside && wanted < count;
    let offset = if inside { pointer.offset + offset } else { pointer.offset };
    Ok(Pointer { target, offset, inside, ..pointer })
}

/// How many elements a runtime-sized array has.
pub(crate) fn length(module: &Module, pointer: Pointer, memory: &Bytes) -> Result<u32> {
    let room = (memory.data.len() as u64).saturating_sub(pointer.offset);
    let (_, _, count) = pointer.target.part(module, 0, room)?;
    Ok(count as u32)
}

/// Loads what a pointer points to.
pub(crate) fn load(module: &Module, pointer: Pointer, memory: &mut Bytes) -> Result<Value> {
    if !pointer.inside {
        return pointer.target.with(module, |inner| zero_inner(module, inner));
    }
    if let Some(scalar) = pointer.target.with(module, scalar_of) {
        return memory.load(pointer.offset, scalar).map(Value::Scalar);
    }
    let mut values = Vec::new();
    for part in parts(module, pointer)? {
        values.push(load(module, part, memory)?);
    }
    Ok(values.into_iter().collect())
}

/// Stores a value. Padding stays as it is.
pub(crate) fn store(module: &Module, pointer: Pointer, value: &Value, memory: &mut Bytes) -> Result<()> {
    if !pointer.inside {
        return Ok(());
    }
    if pointer.target.with(module, scalar_of).is_some() {
        return memory.store(pointer.offset, value.scalar()?);
    }
    let (parts, values) = (parts(module, pointer)?, value.list()?);
    if parts.len() != values.len() {
        return invalid(("a store of another size", pointer, value));
    }
    parts.into_iter().zip(values).try_for_each(|(part, value)| store(module, part, value, memory))
}

fn scalar_of(inner: &TypeInner) -> Option<ScalarType> {
    match inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => Some(*scalar),
        _ => None,
    }
}

fn parts(module: &Module, pointer: Pointer) -> Result<Vec<Pointer>> {
    let (_, _, count) = pointer.target.part(module, 0, 0)?;
    let part = |i| {
        let (target, offset, _) = pointer.target.part(module, i, 0)?;
        Ok(Pointer { target, offset: pointer.offset + offset, ..pointer })
    };
    (0..count).map(part).collect()
}
