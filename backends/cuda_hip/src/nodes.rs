//! Nodes of a graph as the driver interface has them. See `driver`, which has the calls.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

#[cfg(doc)]
use crate::driver::Flags;
use crate::driver::Handle;

/// A copy of a box, of which a run of bytes is one row. The layout is the driver's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3d {
    /// Where it begins: bytes, rows, layers, level.
    pub from_at: [usize; 4],
    /// [`Flags::memory_host`] or [`Flags::memory_device`].
    pub from_kind: c_int,
    /// When it is host memory.
    pub from_host: *const c_void,
    /// When it is device memory.
    pub from_device: u64,
    /// An array, and a place that is not used.
    pub from_array: [Handle; 2],
    /// Bytes from row to row, rows from layer to layer.
    pub from_pitch: [usize; 2],
    /// As of the source.
    pub to_at: [usize; 4],
    /// As of the source.
    pub to_kind: c_int,
    /// As of the source.
    pub to_host: *mut c_void,
    /// As of the source.
    pub to_device: u64,
    /// As of the source.
    pub to_array: [Handle; 2],
    /// As of the source.
    pub to_pitch: [usize; 2],
    /// Bytes of a row, rows, layers.
    pub size: [usize; 3],
}

/// A launch of a graph.
#[derive(Clone, Copy, Debug)]
pub struct KernelNode {
    /// The kernel.
    pub function: Handle,
    /// Workgroups on each axis.
    pub groups: [u32; 3],
    /// Invocations of a workgroup on each axis.
    pub size: [u32; 3],
    /// Bytes of workgroup memory that it asks for.
    pub shared: u32,
    /// As of `launch`.
    pub arguments: *mut *mut c_void,
    /// As of `launch`.
    pub extra: *mut *mut c_void,
}

/// A fill of a graph.
#[derive(Clone, Copy, Debug)]
pub struct FillNode {
    /// The address, a multiple of `element`.
    pub to: u64,
    /// What is stored, in its low bytes.
    pub value: u32,
    /// Bytes of it: 1, 2 or 4.
    pub element: u32,
    /// How often.
    pub count: usize,
}

/// A vendor's structure of a node's parameters, to be pointed at.
pub struct NodeParameters(MaybeUninit<[u64; 16]>);

impl NodeParameters {
    /// Keeps a structure. It has to be one without a destructor of at most 128 bytes, or this does not compile.
    pub fn of<T: Copy>(structure: T) -> Self {
        const { assert!(size_of::<T>() <= 128 && align_of::<T>() <= 8, "a structure that does not fit") };
        let mut kept = Self(MaybeUninit::uninit());
        // SAFETY: there is room for it, and the place is aligned.
        unsafe { kept.0.as_mut_ptr().cast::<T>().write(structure) };
        kept
    }

    /// Where it is.
    pub fn pointer(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}
