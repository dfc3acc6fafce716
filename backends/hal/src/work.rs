//! Work as plain data: what the runtime hands to a queue after every check has passed.

use crate::{KernelId, MemoryId, Position, TensorMap};

/// A byte range of a block of device memory, inside the block. May be empty where an operation allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The block.
    pub memory: MemoryId,
    /// Start in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// How many workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Known on the host. No axis is zero.
    Direct([u32; 3]),
    /// Three u32 in device memory, read after the work before it. Counts above the limits run nothing at all (L2); a zero is no work.
    Indirect(Region),
}

/// What a kernel's binding is given.
#[derive(Clone, Copy, Debug)]
pub enum Binding<'a> {
    /// A view of memory.
    Buffer(Region),
    /// The bytes themselves, for uniform bindings: at least the size that the kernel expects.
    Inline(&'a [u8]),
    /// A view of memory as a tensor, for [`crate::NativeParameter::TensorMap`] alone. Checked against the view, and its offset in the block is a multiple of
    /// [`TensorMap::alignment`]; whether the block's own address is, only the device knows.
    Tensor(Region, &'a TensorMap),
}

/// One launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// A kernel of this device.
    pub kernel: KernelId,
    /// How many workgroups.
    pub grid: Grid,
    /// One per binding of the kernel's reflection, in its order. Those that the kernel does not use may be `Inline(&[])`.
    pub bindings: &'a [Binding<'a>],
    /// The immediate block, of exactly the size that the kernel expects.
    pub immediates: &'a [u8],
    /// Nanoseconds after which the device cancels it (kernels compiled as cancellable only); 0: never.
    pub time_limit: u64,
}

/// What one launch printed.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The launch.
    pub position: Position,
    /// Of a replay: the index of the node.
    pub node: Option<u32>,
    /// Its lines.
    pub output: crate::kernel::lower::Printed,
}

/// A copy of rows: `rows` times `width` bytes, `from_pitch` and `to_pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Pitched {
    /// Source, from its first byte to its last.
    pub from: Region,
    /// Destination, from its first byte to its last.
    pub to: Region,
    /// Bytes per row.
    pub width: u64,
    /// How many rows.
    pub rows: u64,
    /// Distance of rows in the source.
    pub from_pitch: u64,
    /// Distance of rows in the destination.
    pub to_pitch: u64,
}

/// Rows on their way between host memory and a block: `rows` times `width` bytes, `pitch` apart in the block and `host_pitch` in host memory, where the
/// first begins at the given address.
#[derive(Clone, Copy, Debug)]
pub struct HostRows {
    /// The block's side, from its first byte to its last.
    pub region: Region,
    /// Bytes per row.
    pub width: u64,
    /// How many rows.
    pub rows: u64,
    /// Distance of rows in the block.
    pub pitch: u64,
    /// Distance of rows in host memory.
    pub host_pitch: u64,
}

impl HostRows {
    /// Bytes in host memory from the first row to behind the last; `None` when there are more than 64 bits can count.
    pub fn host_size(&self) -> Option<u64> {
        match self.rows.checked_sub(1) {
            None => Some(0),
            Some(last) => last.checked_mul(self.host_pitch)?.checked_add(self.width),
        }
    }
}
