//! What a kernel is, as plain data: the answer to L10 and the input of every check at a launch.
//!
//! Nothing here knows naga but for its literals. Whoever fills these in (the portable front ends, or the caller's declaration for a native
//! kernel) fixes the meaning; validation and the devices only read.

use naga::Literal;

use crate::math::{f16_bits, f16_from_f64};

/// How a kernel uses the bytes of one binding (T6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Declared but never touched by this entry point.
    Unused,
    /// Only loaded from. Its length may be asked for.
    Read,
    /// Only stored to; nothing that it held before can reach any result.
    Write,
    /// Loaded from and stored to. Atomics are always of this kind.
    ReadWrite,
}

impl Access {
    /// Whether bytes that were there before the launch can influence it.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the launch may change bytes of the binding.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// What kind of resource a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// A storage buffer: any size from `min_size` up, bound by view.
    Storage,
    /// A uniform block: read-only, of fixed size, bound by view or given inline as bytes (L4).
    Uniform,
    /// A parameter of a native kernel that is passed by value: exactly `min_size` bytes, given inline. Portable kernels have none.
    Value,
    /// A parameter of a native kernel that is a tensor map (L13): bound by view, with how the view looks as a tensor. A portable source has a storage buffer there.
    TensorMap,
}

/// One resource of an entry point. Bindings are sorted by (group, slot); their index in that order is what a launch uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingInfo {
    /// The `@group` of the declaration; group 0 for parameters of native kernels.
    pub group: u32,
    /// The `@binding` of the declaration; the position for parameters of native kernels.
    pub slot: u32,
    /// The name in the source, empty when the source gives none.
    pub name: String,
    /// Storage or uniform.
    pub kind: BindingKind,
    /// How this entry point uses it.
    pub access: Access,
    /// The fewest bytes that may be bound: the fixed part, and one element of a runtime-sized tail.
    pub min_size: u64,
    /// Required alignment in bytes of the view's offset, from the types inside (at most 32 for portable kernels).
    pub alignment: u32,
    /// The stride of a runtime-sized tail array in bytes, 0 when the size is fixed.
    pub tail_stride: u32,
    /// The offset of that tail in bytes.
    pub tail_offset: u32,
}

/// A scalar type that an override constant can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OverrideType {
    /// `bool`
    Bool,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `f32`
    F32,
    /// `f16`
    F16,
    /// `f64`
    F64,
    /// `i16`
    I16,
    /// `u16`
    U16,
    /// `i64`
    I64,
    /// `u64`
    U64,
}

/// A number, exactly: what every scalar type has its values among.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Whole or not; 0 and 1 also stand for truth values.
    Float(f64),
    /// A whole number.
    Int(i64),
    /// A whole number.
    Uint(u64),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Uint(value)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Float(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Uint(value) => value.fmt(f),
        }
    }
}

impl Number {
    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f64,
            Self::Uint(value) => value as f64,
        }
    }

    /// The number, where it is whole and not beyond all types.
    fn whole(self) -> Option<i128> {
        match self {
            Self::Float(value) => (value.fract() == 0.0 && value.abs() < 1e30).then_some(value as i128),
            Self::Int(value) => Some(value.into()),
            Self::Uint(value) => Some(value.into()),
        }
    }

    /// As a value of a type; `None` where it is none. Floats are rounded to the nearest.
    pub(crate) fn literal(self, ty: OverrideType) -> Option<Literal> {
        let value = self.to_f64();
        let whole = self.whole();
        match ty {
            OverrideType::Bool => whole.filter(|n| matches!(n, 0 | 1)).map(|n| Literal::Bool(n == 1)),
            OverrideType::I16 => whole?.try_into().ok().map(Literal::I16),
            OverrideType::U16 => whole?.try_into().ok().map(Literal::U16),
            OverrideType::I32 => whole?.try_into().ok().map(Literal::I32),
            OverrideType::U32 => whole?.try_into().ok().map(Literal::U32),
            OverrideType::I64 => whole?.try_into().ok().map(Literal::I64),
            OverrideType::U64 => whole?.try_into().ok().map(Literal::U64),
            OverrideType::F16 => {
                (value.abs() <= 65_504.0).then(|| Literal::F16(half::f16::from_bits(f16_bits(f16_from_f64(value)))))
            }
            OverrideType::F32 => (value.abs() <= f64::from(f32::MAX)).then_some(Literal::F32(value as f32)),
            OverrideType::F64 => value.is_finite().then_some(Literal::F64(value)),
        }
    }

    /// The number of a literal; whole ones of 64 bits as such, others as floats.
    pub(crate) fn of(literal: Literal) -> Option<Self> {
        Some(match literal {
            Literal::F16(v) => Self::Float(v.to_f64()),
            Literal::F32(v) => Self::Float(v.into()),
            Literal::F64(v) => Self::Float(v),
            Literal::I16(v) => Self::Float(v.into()),
            Literal::U16(v) => Self::Float(v.into()),
            Literal::U32(v) => Self::Float(v.into()),
            Literal::I32(v) => Self::Float(v.into()),
            Literal::Bool(v) => Self::Float(u8::from(v).into()),
            Literal::I64(v) => Self::Int(v),
            Literal::U64(v) => Self::Uint(v),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return None,
        })
    }
}

/// An override constant of the module, as the entry point sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct OverrideInfo {
    /// The name in the source.
    pub name: String,
    /// The `@id`, when one is given.
    pub id: Option<u16>,
    /// Its type.
    pub ty: OverrideType,
    /// The default, when the source gives a literal or constant one.
    pub default: Option<Number>,
    /// Whether the source gives any default, constant or not. Without one a value must be supplied at creation.
    pub has_default: bool,
}

/// What one entry point is (L10), after its override constants have been resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Reflection {
    /// Name of the entry point.
    pub entry: String,
    /// Invocations per workgroup on each axis. Never zero.
    pub workgroup_size: [u32; 3],
    /// The resources, sorted by (group, slot).
    pub bindings: Vec<BindingInfo>,
    /// Size in bytes of the immediate block, 0 when there is none.
    pub immediate_size: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u64,
    /// The override constants of the module, in the order of the source.
    pub overrides: Vec<OverrideInfo>,
}

impl Reflection {
    /// Invocations of one workgroup. Cannot overflow: creation bounds it.
    pub fn invocations(&self) -> u64 {
        self.workgroup_size.iter().map(|&n| u64::from(n)).product()
    }

    /// The index of a binding by its place.
    pub fn find(&self, group: u32, slot: u32) -> Option<usize> {
        self.bindings.binary_search_by_key(&(group, slot), |b| (b.group, b.slot)).ok()
    }
}

/// Where in the kernel's source something is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Location {
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0 when unknown.
    pub column: u32,
}

/// How out-of-range accesses are treated (L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Bounds {
    /// A read gives zero, a write is dropped.
    #[default]
    Checked,
    /// The caller vouches that there are none.
    Unchecked,
    /// As checked, and the first violation makes the launch fail late with `KERNEL_FAULT`.
    Validate,
}

/// The one rule by which a grid is proven to write every byte of a binding (T6a). `None` in [`Coverage`] means "not proven".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearStore {
    /// The distance between elements in bytes; of a store of the whole binding its size.
    pub stride: u64,
    /// Whether the store writes every byte of the `stride`: the stored type has no padding inside, and none follows it up to the next element. Otherwise
    /// the padding keeps what was there before. A tail of the view that is too short for an element is never written, dense or not.
    pub dense: bool,
    /// Where element 0 starts in the binding. Bytes before it are not covered (so a whole write needs 0).
    pub offset: u64,
    /// How many elements the store can reach, when the type says so; `None` for a runtime-sized array. What is past them is not covered.
    pub elements: Option<u64>,
    /// The index of the element is `x + y*row + z*plane` over the global invocation id, or the workgroup id (`groups`).
    pub row: Extent,
    /// Multiplier of the z axis; see `row`.
    pub plane: Extent,
    /// Invocations whose index is at or past this store nothing.
    pub guard: Guard,
    /// Guards of that id, of the form `gid.x < w`, `gid.y < h`, `gid.z < d`, one per axis.
    pub axis_guards: [Guard; 3],
    /// Indices or guards may be numbers with a sign: all numbers of the launch must be below 2^31, so that no index is negative and every comparison is the one of
    /// numbers without a sign.
    pub signed: bool,
    /// What counts is workgroups, not invocations: `x`, `y` and `z` are those of the workgroup id, which stores once at least.
    pub groups: bool,
}

/// A number known from the kernel, the grid, or the inline bytes of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The axis is not used by the index: invocations with another coordinate than zero on it store to the same elements.
    Unused,
    /// A constant.
    Constant(u64),
    /// Invocations of the whole grid along x (`num_workgroups.x * workgroup_size.x`), or workgroups where these count.
    GridWidth,
    /// The same along x times those along y.
    GridPlane,
    /// A u32 in the immediate block at this byte offset.
    Immediate(u32),
    /// A u32 of a uniform binding (index, byte offset), known only when the launch gives that binding inline.
    Uniform(u32, u32),
}

/// What bounds a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: every invocation stores.
    None,
    /// `index < arrayLength(&that very binding)`.
    OwnLength,
    /// `index < n` for a number.
    Below(Extent),
}

/// Per binding: the store that covers it, when the analysis found one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Coverage {
    /// In the order of [`Reflection::bindings`]. `None`: in doubt, so no.
    pub stores: Vec<Option<LinearStore>>,
    /// Of each binding, in the same order, whether its type has no padding: none in its fixed part, none in or between the elements of its tail.
    pub dense: Vec<bool>,
}

impl Coverage {
    /// Whether no kernel can write every byte of a view of that size of a binding: its type has padding, or what is left at the end is too short for an element.
    pub fn leaves_bytes(&self, index: usize, info: &BindingInfo, view_size: u64) -> bool {
        let tail = view_size.saturating_sub(info.tail_offset.into());
        let whole = tail.checked_rem(info.tail_stride.into()).map_or(view_size == info.min_size, |rest| rest == 0);
        !whole || self.dense.get(index) != Some(&true)
    }
}
