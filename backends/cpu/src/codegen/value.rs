//! What expressions become: scalars in registers, immutable copies in scratch memory, and pointers that are known but for an offset.

use std::rc::Rc;

use cranelift_codegen::ir::Value;
use smallvec::SmallVec;

use super::layout::Shape;
use super::program::LocalId;
use super::stop::{Result, Stop};

/// The scalars of a small value, in order.
pub(super) type Parts = SmallVec<[Value; 4]>;

/// Bytes in the worker's scratch, one copy per invocation when `stride` is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u32,
    pub(super) stride: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Val {
    Parts(Parts),
    /// A value too large for registers. Never written again once made.
    Memory(Place),
    Pointer(Rc<Pointer>),
}

impl Val {
    pub(super) fn one(value: Value) -> Self {
        Self::Parts(SmallVec::from_slice(&[value]))
    }

    pub(super) fn parts(self) -> Result<Parts> {
        match self {
            Self::Parts(parts) => Ok(parts),
            Self::Memory(_) => Err(Stop::bug("a large value where a small one was expected")),
            Self::Pointer(_) => Err(Stop::bug("a pointer where a value was expected")),
        }
    }

    pub(super) fn scalar(self) -> Result<Value> {
        self.parts()?.first().copied().ok_or_else(|| Stop::bug("an empty value where a scalar was expected"))
    }

    pub(super) fn pointer(self) -> Result<Rc<Pointer>> {
        match self {
            Self::Pointer(pointer) => Ok(pointer),
            _ => Err(Stop::bug("a value where a pointer was expected")),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Root {
    /// By index of the global variable.
    Binding(usize),
    /// At this offset of the scratch, shared by the workgroup.
    Workgroup(u32),
    Immediates,
    Local(LocalId),
    Copy(Place),
    /// The constant table with this number.
    Table(u32),
}

/// A pointer. Everything about it but the parts named otherwise is known when the code is made.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) root: Root,
    /// What it points to.
    pub(super) shape: Shape,
    /// Fixed byte offset from the root.
    pub(super) offset: u32,
    /// The first scalar in the root, for variables in registers.
    pub(super) leaf: u32,
    pub(super) read_only: bool,
    /// Further byte offset as i64, computed by the code.
    pub(super) dynamic: Option<Value>,
    /// Whether all checked indices are in range, as a byte.
    pub(super) ok: Option<Value>,
    /// Whether an index is in range because of where the pointer is formed: it must not be followed any earlier.
    pub(super) placed: bool,
}

impl Pointer {
    pub(super) fn new(root: Root, shape: Shape, read_only: bool) -> Self {
        Self { root, shape, offset: 0, leaf: 0, read_only, dynamic: None, ok: None, placed: false }
    }
}

/// The registers that a value consists of, for keeping it across runs.
pub(super) fn registers(val: &Val) -> Vec<Value> {
    match val {
        Val::Parts(parts) => parts.to_vec(),
        Val::Memory(_) => Vec::new(),
        Val::Pointer(p) => p.dynamic.into_iter().chain(p.ok).collect(),
    }
}

/// The same value in other registers.
pub(super) fn with_registers(val: &Val, registers: &[Value]) -> Val {
    let mut next = registers.iter().copied();
    match val {
        Val::Parts(_) => Val::Parts(next.collect()),
        Val::Memory(place) => Val::Memory(*place),
        Val::Pointer(p) => {
            let mut pointer = Pointer::clone(p);
            let all = pointer.dynamic.iter_mut().chain(pointer.ok.iter_mut());
            all.zip(&mut next).for_each(|(register, value)| *register = value);
            Val::Pointer(Rc::new(pointer))
        }
    }
}
