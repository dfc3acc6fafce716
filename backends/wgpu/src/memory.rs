//! Blocks of device memory: buffers of wgpu under ids. Who may free what when is the runtime's to know; wgpu keeps a buffer until the submissions that use
//! it are over.
//!
//! Where the device's memory is the host's, a block has an address for good. While no work that uses it is under way, the host reads and writes it there
//! by itself ([`Block::at_hand`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use compute_hal::{DeviceError, HostTarget, MemoryId, Position, Region};
use parking_lot::RwLock;

use crate::errors::{device_error, scoped};
use crate::vulkan::{self, SharedMemory};

/// Sizes and offsets of wgpu's copies are multiples of this.
pub(crate) const WORD: u64 = 4;

pub(crate) struct Block {
    pub(crate) id: u64,
    pub(crate) buffer: wgpu::Buffer,
    /// What was asked for; the buffer is that rounded up to words.
    size: u64,
    /// Its bytes in the host's memory, until the buffer goes.
    host: Option<HostTarget>,
    /// The position of the last work that uses it.
    used: AtomicU64,
    /// The batch at whose end the host is shown what it did there.
    shown: AtomicU64,
    /// Others use it, too, and nobody here knows when.
    foreign: AtomicBool,
}

impl Block {
    pub(crate) fn new(id: u64, buffer: wgpu::Buffer, size: u64, host: Option<HostTarget>) -> Self {
        let (used, shown) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { id, buffer, size, host, used, shown, foreign: AtomicBool::new(false) }
    }

    /// Notes work that uses it, in the batch of this number. Whether the host has to be shown what the batch does there, and was not going to be.
    pub(crate) fn note_use(&self, at: Position, batch: u64) -> bool {
        if self.host.is_none() {
            return false;
        }
        self.used.fetch_max(at, Ordering::AcqRel);
        self.shown.swap(batch, Ordering::Relaxed) != batch
    }

    pub(crate) fn share(&self) {
        self.foreign.store(true, Ordering::Release);
    }

    /// Bytes of it that the host may read and write right now: the work before `completed` is over. `None`: they are out of the host's reach, or in use.
    pub(crate) fn at_hand(&self, offset: u64, size: u64, completed: Position) -> Option<HostTarget> {
        let idle = self.used.load(Ordering::Acquire) <= completed && !self.foreign.load(Ordering::Acquire);
        self.host.as_ref().filter(|_| idle)?.part(offset, size)
    }
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
    /// `id` names nothing else. `shared` is where the device has the host's memory, if it has.
    pub(crate) fn allocate(
        &self,
        device: &wgpu::Device,
        id: u64,
        size: u64,
        limit: u64,
        shared: Option<SharedMemory>,
    ) -> Result<MemoryId, DeviceError> {
        if size > limit {
            return Err(DeviceError::TooLarge { asked: size, limit });
        }
        let (buffer, host) = match shared {
            Some(shared) => vulkan::allocate(device, shared, &descriptor("block", size, BLOCK_USAGE)?)
                .map(|(buffer, host)| (buffer, Some(host)))?,
            None => (create(device, "block", size, BLOCK_USAGE, false)?, None),
        };
        self.blocks.write().insert(id, Arc::new(Block::new(id, buffer, size, host)));
        Ok(MemoryId(id))
    }

    /// The address of a block whose memory is the host's.
    pub(crate) fn map(&self, memory: MemoryId) -> Result<HostTarget, DeviceError> {
        let span = self.span(Region { memory, offset: 0, size: 0 })?;
        span.block.host.clone().ok_or(DeviceError::Unsupported("mapped memory of a device that has its own"))
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

/// What blocks are used for.
const BLOCK_USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

fn descriptor(label: &'static str, size: u64, usage: wgpu::BufferUsages) -> Result<wgpu::BufferDescriptor<'static>, DeviceError> {
    let size = size.max(1).checked_next_multiple_of(WORD).ok_or(DeviceError::TooLarge { asked: size, limit: u64::MAX })?;
    Ok(wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

/// A buffer of at least `size` bytes.
pub(crate) fn create(
    device: &wgpu::Device,
    label: &'static str,
    size: u64,
    usage: wgpu::BufferUsages,
    mapped: bool,
) -> Result<wgpu::Buffer, DeviceError> {
    let descriptor = wgpu::BufferDescriptor { mapped_at_creation: mapped, ..descriptor(label, size, usage)? };
    scoped(device, || device.create_buffer(&descriptor)).map_err(|error| device_error("create_buffer", size, &error))
}
