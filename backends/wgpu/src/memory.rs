//! Blocks of device memory: buffers of wgpu under ids. Who may free what when is the runtime's to know; wgpu keeps a buffer until the submissions that use
//! it are over.
//!
//! Where the device's memory is the host's, a block has an address for good. While no work that uses it is under way, the host reads and writes it there
//! by itself ([`Block::at_hand`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use compute_hal::{DeviceError, Foreign, HostTarget, MemoryId, Owned, Position, Region, Space};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxBuildHasher;

use crate::errors::{device_error, scoped};
use crate::vulkan::{self, Made, OwnMemory, Parts};

/// Sizes and offsets of wgpu's copies are multiples of this.
pub(crate) const WORD: u64 = 4;

/// Whose memory it is. wgpu destroys its own without asking when it gives the device up, whoever has an address in it or its handle.
enum Keeper {
    Wgpu,
    Block {
        #[expect(dead_code, reason = "held, never looked at")]
        parts: Arc<Parts>,
    },
    Host,
}

pub(crate) struct Block {
    pub(crate) id: u64,
    /// Goes before `buffer`, which keeps the device.
    keeper: Keeper,
    pub(crate) buffer: wgpu::Buffer,
    /// What was asked for; the buffer is that rounded up to words.
    size: u64,
    /// Its bytes in the host's memory, until the buffer goes.
    host: Option<HostTarget>,
    /// The host has to be shown what work did there.
    shows: bool,
    /// The position of the last work that uses it.
    used: AtomicU64,
    /// The batch at whose end the host is shown what it did there.
    shown: AtomicU64,
    /// Others use it, too, and nobody here knows when.
    foreign: AtomicBool,
    /// Nobody imports it while it is the library's, until the runtime has given it back.
    owned: Mutex<[Option<Owned>; 2]>,
}

impl Block {
    pub(crate) fn new(id: u64, buffer: wgpu::Buffer, size: u64, host: Option<HostTarget>, shows: bool) -> Self {
        let (used, shown) = (AtomicU64::new(0), AtomicU64::new(0));
        let (foreign, owned) = (AtomicBool::new(false), Mutex::default());
        Self { id, keeper: Keeper::Wgpu, buffer, size, host, shows, used, shown, foreign, owned }
    }

    fn kept_by(self, keeper: Keeper) -> Self {
        Self { keeper, ..self }
    }

    /// Whether its memory stays as long as the block does, whatever becomes of the device.
    pub(crate) fn stays(&self) -> bool {
        !matches!(self.keeper, Keeper::Wgpu)
    }

    fn owned_by(mut self, owned: [Option<Owned>; 2]) -> Self {
        *self.owned.get_mut() = owned;
        self
    }

    /// Notes work that uses it, in the batch of this number. Whether the host has to be shown what the batch does there, and was not going to be.
    pub(crate) fn note_use(&self, at: Position, batch: u64) -> bool {
        if self.host.is_none() {
            return false;
        }
        self.used.fetch_max(at, Ordering::AcqRel);
        self.shows && self.shown.swap(batch, Ordering::Relaxed) != batch
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

/// By numbers of our own, which need no hashing that withstands an attack.
pub(crate) type Ids<K, V> = HashMap<K, V, FxBuildHasher>;

#[derive(Default)]
pub(crate) struct Memory {
    blocks: RwLock<Ids<u64, Arc<Block>>>,
}

/// A range of bytes of a block.
#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) block: Arc<Block>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Memory {
    /// `id` names nothing else. `own` is where blocks are not wgpu's to destroy.
    pub(crate) fn allocate(
        &self,
        device: &wgpu::Device,
        id: u64,
        size: u64,
        limit: u64,
        own: Option<&OwnMemory>,
    ) -> Result<MemoryId, DeviceError> {
        if size > limit {
            return Err(DeviceError::TooLarge { asked: size, limit });
        }
        let made = match own {
            Some(own) => vulkan::allocate(device, own, &descriptor("block", size, BLOCK_USAGE)?)?,
            None => None,
        };
        let (buffer, keeper, host) = match made {
            Some(Made { buffer, parts, host }) => (buffer, Keeper::Block { parts }, host),
            None => (create(device, "block", size, BLOCK_USAGE, false)?, Keeper::Wgpu, None),
        };
        let place = vulkan::export(&buffer).and_then(|handle| vulkan::space(device, handle));
        let owned = place.map(|space| Owned::allocated(space, 0, buffer.size()));
        // Callers are shown its address, too (`compute_mapping_get_pointer`).
        let seen = host.as_ref().map(|host| Owned::allocated(Space::Host, host.pointer().addr() as u64, buffer.size()));
        let block = Block::new(id, buffer, size, host, own.is_some_and(|own| own.shows));
        let block = block.kept_by(keeper).owned_by([owned, seen]);
        self.blocks.write().insert(id, Arc::new(block));
        Ok(MemoryId(id))
    }

    /// A buffer of the host's on its own Vulkan device, as a block that ends where the bytes do. Its memory is not for the host to look at in place.
    pub(crate) fn import(&self, device: &wgpu::Device, id: u64, foreign: &Foreign, limit: u64) -> Result<Region, DeviceError> {
        let Foreign { handle, offset, size, .. } = *foreign;
        let whole = offset.saturating_add(size);
        if whole > limit {
            return Err(DeviceError::TooLarge { asked: whole, limit });
        }
        let place =
            vulkan::space(device, handle).ok_or(DeviceError::Unsupported("imported memory of an API other than Vulkan"))?;
        let owned = Owned::imported(place, offset, size)?;
        let buffer = vulkan::import(device, handle, &descriptor("imported", whole, BLOCK_USAGE)?)?;
        let block = Block::new(id, buffer, whole, None, false).kept_by(Keeper::Host).owned_by([Some(owned), None]);
        self.blocks.write().insert(id, Arc::new(block));
        Ok(Region { memory: MemoryId(id), offset, size })
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
        block.is_some_and(|block| {
            let owned = std::mem::take(&mut *block.owned.lock());
            drop(owned);
            true
        })
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
    scoped(|| device.create_buffer(&descriptor)).map_err(|error| device_error("create_buffer", size, &error))
}
