//! Blocks of device memory: buffers of wgpu under ids. Who may free what when is the runtime's to know; wgpu keeps a buffer until the submissions that use
//! it are over.

use std::collections::HashMap;
use std::sync::Arc;

use compute_hal::{DeviceError, MemoryId, Region};
use parking_lot::RwLock;

use crate::errors::{device_error, scoped};

/// Sizes and offsets of wgpu's copies are multiples of this.
pub(crate) const WORD: u64 = 4;

pub(crate) struct Block {
    pub(crate) id: u64,
    pub(crate) buffer: wgpu::Buffer,
    /// What was asked for; the buffer is that rounded up to words.
    size: u64,
}

#[derive(Default)]
pub(crate) struct Memory {
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
}

/// A range of bytes of a block.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Memory {
    /// `id` names nothing else.
    pub(crate) fn allocate(&self, device: &wgpu::Device, id: u64, size: u64, limit: u64) -> Result<MemoryId, DeviceError> {
        if size > limit {
            return Err(DeviceError::TooLarge { asked: size, limit });
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let buffer = create(device, "block", size, usage, false)?;
        self.blocks.write().insert(id, Arc::new(Block { id, buffer, size }));
        Ok(MemoryId(id))
    }

    /// Whether there was one.
    pub(crate) fn free(&self, memory: MemoryId) -> bool {
        // Dropped with the lock given back.
        let block = self.blocks.write().remove(&memory.0);
        block.is_some()
    }

    /// Looks a region up; one that is not inside a living block is a bug of the runtime.
    pub(crate) fn span(&self, region: Region) -> Result<Span, DeviceError> {
        let Some(block) = self.blocks.read().get(&region.memory.0).cloned() else {
            return Err(DeviceError::Internal(format!("no such memory: {:?}", region.memory)));
        };
        if region.offset.checked_add(region.size).is_none_or(|end| end > block.size) {
            return Err(DeviceError::Internal(format!("{region:?} of a block of {} bytes", block.size)));
        }
        Ok(Span { block, offset: region.offset, size: region.size })
    }
}

/// A buffer of at least `size` bytes.
pub(crate) fn create(
    device: &wgpu::Device,
    label: &'static str,
    size: u64,
    usage: wgpu::BufferUsages,
    mapped: bool,
) -> Result<wgpu::Buffer, DeviceError> {
    let rounded = size.max(1).checked_next_multiple_of(WORD).ok_or(DeviceError::TooLarge { asked: size, limit: u64::MAX })?;
    let descriptor = wgpu::BufferDescriptor { label: Some(label), size: rounded, usage, mapped_at_creation: mapped };
    scoped(device, || device.create_buffer(&descriptor)).map_err(|error| device_error("create_buffer", size, &error))
}
