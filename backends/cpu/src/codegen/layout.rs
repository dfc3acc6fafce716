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
    F16,
    F32,
    F64,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

impl Scalar {
    pub(super) fn from_ir(scalar: naga::Scalar) -> Result<Self> {
        match (scalar.kind, scalar.width) {
            (ScalarKind::Float, 2) => Ok(Self::F16),
            (ScalarKind::Float, 4) => Ok(Self::F32),
            (ScalarKind::Float, 8) => Ok(Self::F64),
            (ScalarKind::Sint, 2) => Ok(Self::I16),
            (ScalarKind::Uint, 2) => Ok(Self::U16),
            (ScalarKind::Sint, 4) => Ok(Self::I32),
            (ScalarKind::Uint, 4) => Ok(Self::U32),
            (ScalarKind::Sint, 8) => Ok(Self::I64),
            (ScalarKind::Uint, 8) => Ok(Self::U64),
            (ScalarKind::Bool, _) => Ok(Self::Bool),
            (kind, width) => Err(Stop::unsupported(format_args!("values of {} bits ({kind:?})", u32::from(width) * 8))),
        }
    }

    /// The type of the register that holds it. Booleans are 0 or 1 in a byte. Halves are f32 that are halves: processors compute with f32, and
    /// what is computed is rounded at once.
    pub(super) fn register(self) -> ir::Type {
        match self {
            Self::F16 | Self::F32 => ir::types::F32,
            Self::F64 => ir::types::F64,
            Self::I16 | Self::U16 => ir::types::I16,
            Self::I32 | Self::U32 => ir::types::I32,
            Self::I64 | Self::U64 => ir::types::I64,
            Self::Bool => ir::types::I8,
        }
    }

    /// Bytes in memory.
    pub(super) fn size(self) -> u32 {
        match self {
            Self::F16 => 2,
            other => other.register().bytes(),
        }
    }

    pub(super) fn bits(self) -> u32 {
        self.size() * 8
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether it is an integer with a sign.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether it is an integer.
    pub(super) fn is_integer(self) -> bool {
        !self.is_float() && self != Self::Bool
    }
}

/// A type that a value or a place in memory can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Scalar(Scalar),
    Atomic(Scalar),
    Vector(u32, Scalar),
    /// Of floats.
    Matrix {
        columns: u32,
        rows: u32,
        scalar: Scalar,
    },
    Array(Handle<naga::Type>),
    Struct(Handle<naga::Type>),
}

impl Shape {
    /// The scalar type of a scalar, vector, matrix or atomic.
    pub(super) fn scalar(self) -> Result<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Atomic(scalar) | Self::Vector(_, scalar) | Self::Matrix { scalar, .. } => Ok(scalar),
            Self::Array(_) | Self::Struct(_) => Err(Stop::bug("a composite where a number was expected")),
        }
    }

    /// Components of a scalar or vector, elements of a matrix.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Vector(n, _) => n as usize,
            Self::Matrix { columns, rows, .. } => (columns * rows) as usize,
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
    /// By handle.
    leaves: Vec<Leaves>,
}

/// How much of a type is no padding. Runtime-sized arrays count as more than anything.
#[derive(Clone, Copy)]
struct Leaves {
    count: u64,
    bytes: u64,
    /// Whether some of it may hold only certain bytes: a boolean in memory is 0 or 1.
    has_bool: bool,
}

impl<'a> Layout<'a> {
    pub(super) fn new(module: &'a naga::Module) -> Result<Self> {
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).map_err(|e| Stop::bug(format!("layout: {e}")))?;
        let mut leaves = Vec::with_capacity(module.types.len());
        for (_, ty) in module.types.iter() {
            let of = leaves_of(module, &ty.inner, &leaves);
            leaves.push(of);
        }
        Ok(Self { module, layouter, leaves })
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
            Shape::Matrix { columns, rows, scalar } => columns * column_stride(rows, scalar),
            Shape::Array(handle) | Shape::Struct(handle) => self.layouter[handle].size,
        }
    }

    pub(super) fn leaf_count(&self, shape: Shape) -> u64 {
        self.leaves_in(shape).count
    }

    fn leaves_in(&self, shape: Shape) -> Leaves {
        match shape {
            Shape::Array(handle) | Shape::Struct(handle) => self.leaves.get(handle.index()).copied().unwrap_or(ENDLESS),
            Shape::Scalar(s) | Shape::Atomic(s) | Shape::Vector(_, s) | Shape::Matrix { scalar: s, .. } => {
                leaves(s, shape.width() as u64)
            }
        }
    }

    /// Whether a value of this shape lives in registers.
    pub(super) fn is_small(&self, shape: Shape) -> bool {
        self.leaf_count(shape) <= MAX_LEAVES
    }

    /// Whether a type consists of numbers without any padding, so that its bytes can be copied as they are.
    pub(super) fn is_dense(&self, shape: Shape) -> bool {
        let leaves = self.leaves_in(shape);
        leaves.bytes == u64::from(self.size(shape)) && !leaves.has_bool
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
            Shape::Matrix { columns, rows, scalar } => {
                Ok(Elements { shape: Shape::Vector(rows, scalar), stride: column_stride(rows, scalar), count: Some(columns) })
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

/// A column is aligned like a vector of its length, three like four.
fn column_stride(rows: u32, scalar: Scalar) -> u32 {
    rows.next_power_of_two() * scalar.size()
}

fn shape_of_inner(inner: &TypeInner) -> Result<Shape> {
    match *inner {
        TypeInner::Scalar(s) => Ok(Shape::Scalar(Scalar::from_ir(s)?)),
        TypeInner::Atomic(s) => Ok(Shape::Atomic(Scalar::from_ir(s)?)),
        TypeInner::Vector { size, scalar } => Ok(Shape::Vector(size as u32, Scalar::from_ir(scalar)?)),
        TypeInner::Matrix { columns, rows, scalar } => {
            Ok(Shape::Matrix { columns: columns as u32, rows: rows as u32, scalar: Scalar::from_ir(scalar)? })
        }
        TypeInner::Image { .. } | TypeInner::Sampler { .. } => Err(Stop::unsupported("textures and samplers")),
        TypeInner::BindingArray { .. } => Err(Stop::unsupported("arrays of bindings")),
        TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => Err(Stop::unsupported("ray queries")),
        TypeInner::CooperativeMatrix { .. } => Err(Stop::unsupported("cooperative matrices")),
        TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => Err(Stop::unsupported("pointers as values")),
        TypeInner::Array { .. } | TypeInner::Struct { .. } => Err(Stop::bug("a composite type without a handle")),
    }
}

const ENDLESS: Leaves = Leaves { count: u64::MAX, bytes: u64::MAX, has_bool: true };

fn leaves(scalar: Scalar, count: u64) -> Leaves {
    Leaves { count, bytes: count * u64::from(scalar.size()), has_bool: scalar == Scalar::Bool }
}

fn leaves_of(module: &naga::Module, inner: &TypeInner, before: &[Leaves]) -> Leaves {
    let of = |handle: Handle<naga::Type>| before.get(handle.index()).copied().unwrap_or(ENDLESS);
    match *inner {
        TypeInner::Array { base, size, .. } => match size.resolve(module.to_ctx()) {
            Ok(IndexableLength::Known(n)) => {
                let (n, one) = (u64::from(n), of(base));
                Leaves { count: one.count.saturating_mul(n), bytes: one.bytes.saturating_mul(n), ..one }
            }
            Ok(IndexableLength::Dynamic) | Err(_) => ENDLESS,
        },
        TypeInner::Struct { ref members, .. } => {
            let none = Leaves { count: 0, bytes: 0, has_bool: false };
            members.iter().fold(none, |sum, member| {
                let one = of(member.ty);
                Leaves {
                    count: sum.count.saturating_add(one.count),
                    bytes: sum.bytes.saturating_add(one.bytes),
                    has_bool: sum.has_bool || one.has_bool,
                }
            })
        }
        // Types without a shape have no values either.
        _ => shape_of_inner(inner).map_or(ENDLESS, |shape| leaves(shape.scalar().unwrap_or(Scalar::Bool), shape.width() as u64)),
    }
}
