//! What an expression can be: a scalar, a list of values (vector, matrix by columns, array, structure), or a pointer.

use std::rc::Rc;

use naga::{Handle, Literal, Module, ScalarKind, Type, TypeInner};

use crate::memory::{Pointer, fixed};
use crate::scalar::Scalar;
use crate::{Result, invalid, unsupported};

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Rc<[Value]>),
    Pointer(Pointer),
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self::List(values.into_iter().collect())
    }
}

impl FromIterator<Scalar> for Value {
    fn from_iter<I: IntoIterator<Item = Scalar>>(values: I) -> Self {
        Self::List(values.into_iter().map(Value::Scalar).collect())
    }
}

impl Value {
    pub(crate) fn scalar(&self) -> Result<Scalar> {
        match self {
            Self::Scalar(scalar) => Ok(*scalar),
            other => invalid(("not a scalar", other)),
        }
    }

    pub(crate) fn list(&self) -> Result<&[Value]> {
        match self {
            Self::List(list) => Ok(list),
            other => invalid(("not a list", other)),
        }
    }

    pub(crate) fn pointer(&self) -> Result<Pointer> {
        match self {
            Self::Pointer(pointer) => Ok(*pointer),
            other => invalid(("not a pointer", other)),
        }
    }

    /// The components of a vector, or the scalar alone.
    pub(crate) fn components(&self) -> Result<Vec<Scalar>> {
        match self {
            Self::Scalar(scalar) => Ok(vec![*scalar]),
            other => other.list()?.iter().map(Value::scalar).collect(),
        }
    }

    pub(crate) fn is_matrix(&self) -> bool {
        matches!(self, Self::List(list) if matches!(list.first(), Some(Self::List(_))))
    }

    /// All scalars inside made zero.
    pub(crate) fn zeroed(&self) -> Self {
        match self {
            Self::Scalar(scalar) => Self::Scalar(Scalar { bits: 0, ..*scalar }),
            Self::List(list) => list.iter().map(Value::zeroed).collect(),
            Self::Pointer(pointer) => Self::Pointer(*pointer),
        }
    }
}

/// Applies a function of scalars to each component. Scalars among the arguments go with every component; matrices work by columns.
pub(crate) fn each(arguments: &[Value], f: &dyn Fn(&[Scalar]) -> Result<Scalar>) -> Result<Value> {
    let length = arguments.iter().find_map(|a| if let Value::List(list) = a { Some(list.len()) } else { None });
    let Some(length) = length else {
        let scalars = arguments.iter().map(Value::scalar).collect::<Result<Vec<_>>>()?;
        return f(&scalars).map(Value::Scalar);
    };
    let mut results = Vec::with_capacity(length);
    for i in 0..length {
        let mut parts = Vec::with_capacity(arguments.len());
        for argument in arguments {
            parts.push(match argument {
                Value::List(list) => match list.get(i) {
                    Some(value) => value.clone(),
                    None => return invalid(("vectors of different sizes", arguments)),
                },
                other => other.clone(),
            });
        }
        results.push(each(&parts, f)?);
    }
    Ok(results.into_iter().collect())
}

/// The zero value of a type.
pub(crate) fn zero(module: &Module, ty: Handle<Type>) -> Result<Value> {
    zero_inner(module, &module.types[ty].inner)
}

pub(crate) fn zero_inner(module: &Module, inner: &TypeInner) -> Result<Value> {
    let scalar = |scalar: naga::Scalar| Value::Scalar(Scalar { kind: scalar.kind, width: scalar.width, bits: 0 });
    let vector = |size: naga::VectorSize, s: naga::Scalar| -> Value { (0..size as usize).map(|_| scalar(s)).collect() };
    Ok(match inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => scalar(*s),
        TypeInner::Vector { size, scalar } => vector(*size, *scalar),
        TypeInner::Matrix { columns, rows, scalar } => (0..*columns as usize).map(|_| vector(*rows, *scalar)).collect(),
        TypeInner::Array { base, size, .. } => {
            let element = zero(module, *base)?;
            let count = fixed(module, *size)?.unwrap_or_default();
            (0..count).map(|_| element.clone()).collect()
        }
        TypeInner::Struct { members, .. } => {
            members.iter().map(|m| zero(module, m.ty)).collect::<Result<Vec<_>>>()?.into_iter().collect()
        }
        other => return unsupported(("the zero of", other)),
    })
}

pub(crate) fn literal(literal: Literal) -> Result<Value> {
    let make = |kind, width, bits| Ok(Value::Scalar(Scalar { kind, width, bits }));
    match literal {
        Literal::Bool(v) => Ok(Scalar::bool(v).into()),
        Literal::I16(v) => make(ScalarKind::Sint, 2, (v as u16).into()),
        Literal::U16(v) => make(ScalarKind::Uint, 2, v.into()),
        Literal::I32(v) => make(ScalarKind::Sint, 4, (v as u32).into()),
        Literal::U32(v) => make(ScalarKind::Uint, 4, v.into()),
        Literal::I64(v) => make(ScalarKind::Sint, 8, v as u64),
        Literal::U64(v) => make(ScalarKind::Uint, 8, v),
        Literal::F16(v) => make(ScalarKind::Float, 2, v.to_bits().into()),
        Literal::F32(v) => make(ScalarKind::Float, 4, v.to_bits().into()),
        Literal::F64(v) => make(ScalarKind::Float, 8, v.to_bits()),
        Literal::AbstractInt(_) | Literal::AbstractFloat(_) => invalid(literal),
    }
}
