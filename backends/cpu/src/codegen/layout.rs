//! Types as generated code sees them: shapes, byte layout, and the scalars ("leaves") that a value is flattened to.
//!
//! Byte layout is WGSL's; the front end has put it into the IR's offsets and strides. No code is emitted here.

use cranelift_codegen::ir;
use naga::proc::IndexableLength;
use naga::{Handle, ScalarKind, TypeInner};

use super::stop::{Result, Stop};

/// A scalar type of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    F32,
    I32,
    U32,
    Bool,
}

impl Scalar {
    pub(super) fn from_ir(scalar: naga::Scalar) -> Result<Self> {
        match (scalar.kind, scalar.width) {
            (ScalarKind::Float, 4) => Ok(Self::F32),
            (ScalarKind::Sint, 4) => Ok(Self::I32),
            (ScalarKind::Uint, 4) => Ok(Self::U32),
            (ScalarKind::Bool, _) => Ok(Self::Bool),
            (kind, width) => Err(Stop::unsupported(format_args!("values of {} bits ({kind:?})", u32::from(width) * 8))),
        }
    }

    /// The type of the register that holds it; booleans are 0 or 1 in a byte.
    pub(super) fn register(self) -> ir::Type {
        match self {
            Self::F32 => ir::types::F32,
            Self::I32 | Self::U32 => ir::types::I32,
            Self::Bool => ir::types::I8,
        }
    }

    pub(super) fn size(self) -> u32 {
        self.register().bytes()
    }
}

/// A type that a value or a place in memory can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Scalar(Scalar),
    Atomic(Scalar),
    Vector(u32, Scalar),
    /// Of f32.
    Matrix {
        columns: u32,
        rows: u32,
    },
    Array(Handle<naga::Type>),
    Struct(Handle<naga::Type>),
}

impl Shape {
    /// The scalar type of a scalar, vector, matrix or atomic.
    pub(super) fn scalar(self) -> Result<Scalar> {
        match self {
            Self::Scalar(s) | Self::Atomic(s) | Self::Vector(_, s) => Ok(s),
            Self::Matrix { .. } => Ok(Scalar::F32),
            Self::Array(_) | Self::Struct(_) => Err(Stop::bug("a composite where a number was expected")),
        }
    }

    /// Components of a scalar or vector, elements of a matrix.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Vector(n, _) => n as usize,
            Self::Matrix { columns, rows } => (columns * rows) as usize,
            _ => 1,
        }
    }
}

/// One scalar of a flattened type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) offset: u32,
    pub(super) scalar: Scalar,
}

/// A part of a type at a fixed index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) shape: Shape,
    /// Byte offset from the start of the whole.
    pub(super) offset: u32,
    /// Index of its first leaf in the whole.
    pub(super) first_leaf: u32,
}

/// What a type that can be indexed with a number consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub(super) shape: Shape,
    pub(super) stride: u32,
    /// `None` for a runtime-sized array.
    pub(super) count: Option<u32>,
}

/// Beyond this many scalars a value is kept in memory rather than in registers.
pub(super) const MAX_LEAVES: u64 = 32;

pub(super) struct Layout<'a> {
    module: &'a naga::Module,
    layouter: naga::proc::Layouter,
    /// Leaves of each type by handle; runtime-sized arrays count as one element.
    leaf_counts: Vec<u64>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(module: &'a naga::Module) -> Result<Self> {
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).map_err(|e| Stop::bug(format!("layout: {e}")))?;
        let mut leaf_counts = Vec::with_capacity(module.types.len());
        for (_, ty) in module.types.iter() {
            let count = leaf_count_of(module, &ty.inner, &leaf_counts);
            leaf_counts.push(count);
        }
        Ok(Self { module, layouter, leaf_counts })
    }

    pub(super) fn inner(&self, handle: Handle<naga::Type>) -> &'a TypeInner {
        &self.module.types[handle].inner
    }

    pub(super) fn shape(&self, handle: Handle<naga::Type>) -> Result<Shape> {
        match *self.inner(handle) {
            TypeInner::Array { .. } => Ok(Shape::Array(handle)),
            TypeInner::Struct { .. } => Ok(Shape::Struct(handle)),
            ref inner => shape_of_inner(inner),
        }
    }

    /// The shape of an expression that is a value.
    pub(super) fn resolve(&self, resolution: &naga::proc::TypeResolution) -> Result<Shape> {
        match *resolution {
            naga::proc::TypeResolution::Handle(handle) => self.shape(handle),
            naga::proc::TypeResolution::Value(ref inner) => shape_of_inner(inner),
        }
    }

    /// Size in bytes; one element of a runtime-sized array.
    pub(super) fn size(&self, shape: Shape) -> u32 {
        match shape {
            Shape::Scalar(s) | Shape::Atomic(s) => s.size(),
            Shape::Vector(n, s) => n * s.size(),
            Shape::Matrix { columns, rows } => columns * column_stride(rows),
            Shape::Array(handle) | Shape::Struct(handle) => self.layouter[handle].size,
        }
    }

    pub(super) fn leaf_count(&self, shape: Shape) -> u64 {
        match shape {
            Shape::Array(handle) | Shape::Struct(handle) => self.leaf_counts.get(handle.index()).copied().unwrap_or(u64::MAX),
            _ => shape.width() as u64,
        }
    }

    /// Whether a value of this shape lives in registers.
    pub(super) fn is_small(&self, shape: Shape) -> bool {
        self.leaf_count(shape) <= MAX_LEAVES
    }

    /// Whether a type consists of 4-byte scalars without any padding, so that its bytes can be copied as they are.
    pub(super) fn is_dense(&self, shape: Shape) -> Result<bool> {
        let whole = self.leaf_count(shape).checked_mul(4) == Some(u64::from(self.size(shape)));
        Ok(whole && !self.has_bool(shape)?)
    }

    fn has_bool(&self, shape: Shape) -> Result<bool> {
        match shape {
            Shape::Array(_) => self.has_bool(self.elements(shape)?.shape),
            Shape::Struct(_) => {
                for index in 0..self.member_count(shape) {
                    if self.has_bool(self.member(shape, index)?.shape)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(shape.scalar()? == Scalar::Bool),
        }
    }

    /// The scalars of a small type, in order.
    pub(super) fn leaves(&self, shape: Shape) -> Result<Vec<Leaf>> {
        let mut out = Vec::new();
        self.push_leaves(shape, 0, &mut out)?;
        Ok(out)
    }

    fn push_leaves(&self, shape: Shape, base: u32, out: &mut Vec<Leaf>) -> Result<()> {
        if let Shape::Scalar(scalar) | Shape::Atomic(scalar) = shape {
            out.push(Leaf { offset: base, scalar });
            return Ok(());
        }
        if !self.is_small(shape) {
            return Err(Stop::bug("a large type was flattened"));
        }
        for index in 0..self.member_count(shape) {
            let member = self.member(shape, index)?;
            self.push_leaves(member.shape, base + member.offset, out)?;
        }
        Ok(())
    }

    /// How many parts [`Layout::member`] can give.
    pub(super) fn member_count(&self, shape: Shape) -> u32 {
        match shape {
            Shape::Struct(handle) => match *self.inner(handle) {
                TypeInner::Struct { ref members, .. } => members.len() as u32,
                _ => 0,
            },
            _ => self.elements(shape).ok().and_then(|e| e.count).unwrap_or(0),
        }
    }

    /// The part at a fixed index: of a vector a component, of a matrix a column, of an array an element, of a struct a member.
    pub(super) fn member(&self, shape: Shape, index: u32) -> Result<Member> {
        if let Shape::Struct(handle) = shape {
            return self.struct_member(handle, index);
        }
        let elements = self.elements(shape)?;
        let first_leaf = u64::from(index) * self.leaf_count(elements.shape);
        let offset = index.checked_mul(elements.stride).ok_or_else(|| Stop::refuse("an index past the end of any buffer"))?;
        Ok(Member { shape: elements.shape, offset, first_leaf: u32::try_from(first_leaf).unwrap_or(u32::MAX) })
    }

    fn struct_member(&self, handle: Handle<naga::Type>, index: u32) -> Result<Member> {
        let TypeInner::Struct { ref members, .. } = *self.inner(handle) else {
            return Err(Stop::bug("a member of something other than a struct"));
        };
        let mut first_leaf = 0;
        for (i, member) in members.iter().enumerate() {
            let shape = self.shape(member.ty)?;
            if i == index as usize {
                return Ok(Member { shape, offset: member.offset, first_leaf: u32::try_from(first_leaf).unwrap_or(u32::MAX) });
            }
            first_leaf += self.leaf_count(shape);
        }
        Err(Stop::bug("a struct member out of range"))
    }

    /// What an index with a number selects.
    pub(super) fn elements(&self, shape: Shape) -> Result<Elements> {
        match shape {
            Shape::Vector(n, s) => Ok(Elements { shape: Shape::Scalar(s), stride: s.size(), count: Some(n) }),
            Shape::Matrix { columns, rows } => {
                Ok(Elements { shape: Shape::Vector(rows, Scalar::F32), stride: column_stride(rows), count: Some(columns) })
            }
            Shape::Array(handle) => self.array_elements(handle),
            Shape::Scalar(_) | Shape::Atomic(_) | Shape::Struct(_) => Err(Stop::bug("an index into something without elements")),
        }
    }

    fn array_elements(&self, handle: Handle<naga::Type>) -> Result<Elements> {
        let TypeInner::Array { base, size, stride } = *self.inner(handle) else {
            return Err(Stop::bug("an element of something other than an array"));
        };
        // A size that is an override constant has its value by now; it stays a reference in the type.
        let count = match size.resolve(self.module.to_ctx()).map_err(|e| Stop::bug(format!("an array size: {e}")))? {
            IndexableLength::Known(n) => Some(n),
            IndexableLength::Dynamic => None,
        };
        Ok(Elements { shape: self.shape(base)?, stride, count })
    }
}

fn column_stride(rows: u32) -> u32 {
    if rows == 2 { 8 } else { 16 }
}

fn shape_of_inner(inner: &TypeInner) -> Result<Shape> {
    match *inner {
        TypeInner::Scalar(s) => Ok(Shape::Scalar(Scalar::from_ir(s)?)),
        TypeInner::Atomic(s) => Ok(Shape::Atomic(Scalar::from_ir(s)?)),
        TypeInner::Vector { size, scalar } => Ok(Shape::Vector(size as u32, Scalar::from_ir(scalar)?)),
        TypeInner::Matrix { columns, rows, scalar } => match Scalar::from_ir(scalar)? {
            Scalar::F32 => Ok(Shape::Matrix { columns: columns as u32, rows: rows as u32 }),
            _ => Err(Stop::unsupported("matrices of other types than f32")),
        },
        TypeInner::Image { .. } | TypeInner::Sampler { .. } => Err(Stop::unsupported("textures and samplers")),
        TypeInner::BindingArray { .. } => Err(Stop::unsupported("arrays of bindings")),
        TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => Err(Stop::unsupported("ray queries")),
        TypeInner::CooperativeMatrix { .. } => Err(Stop::unsupported("cooperative matrices")),
        TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => Err(Stop::unsupported("pointers as values")),
        TypeInner::Array { .. } | TypeInner::Struct { .. } => Err(Stop::bug("a composite type without a handle")),
    }
}

fn leaf_count_of(module: &naga::Module, inner: &TypeInner, before: &[u64]) -> u64 {
    let of = |handle: Handle<naga::Type>| before.get(handle.index()).copied().unwrap_or(u64::MAX);
    match *inner {
        TypeInner::Vector { size, .. } => size as u64,
        TypeInner::Matrix { columns, rows, .. } => columns as u64 * rows as u64,
        TypeInner::Array { base, size, .. } => match size.resolve(module.to_ctx()) {
            Ok(IndexableLength::Known(n)) => of(base).saturating_mul(u64::from(n)),
            Ok(IndexableLength::Dynamic) | Err(_) => u64::MAX,
        },
        TypeInner::Struct { ref members, .. } => members.iter().fold(0u64, |sum, m| sum.saturating_add(of(m.ty))),
        _ => 1,
    }
}
