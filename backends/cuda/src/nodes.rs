//! Parameters of a graph's nodes in the layouts of CUDA's driver, which the tests compare.

use std::ffi::c_void;

use compute_cuda_hip::driver::{FillNode, Handle, KernelNode, NodeParameters};

/// `CUDA_KERNEL_NODE_PARAMS_v2`. The first version ends with `extra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelParameters {
    /// The kernel.
    pub function: Handle,
    /// Workgroups.
    pub grid: [u32; 3],
    /// Invocations of a workgroup.
    pub block: [u32; 3],
    /// Bytes of workgroup memory that the launch asks for.
    pub shared: u32,
    /// Arguments one by one.
    pub arguments: *mut *mut c_void,
    /// Arguments as one block.
    pub extra: *mut *mut c_void,
    /// Instead of `function`.
    pub kernel: Handle,
    /// Of `kernel`.
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillParameters {
    /// The address.
    pub to: u64,
    /// Bytes from row to row; one row has none.
    pub pitch: usize,
    /// What is stored.
    pub value: u32,
    /// Bytes of it.
    pub element: u32,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

pub(crate) fn kernel(node: &KernelNode) -> NodeParameters {
    let none: Handle = std::ptr::null_mut();
    NodeParameters::of(KernelParameters {
        function: node.function,
        grid: node.groups,
        block: node.size,
        shared: node.shared,
        arguments: node.arguments,
        extra: node.extra,
        kernel: none,
        context: none,
    })
}

pub(crate) fn fill(node: &FillNode) -> NodeParameters {
    let FillNode { to, value, element, count } = *node;
    NodeParameters::of(FillParameters { to, pitch: 0, value, element, width: count, height: 1 })
}
