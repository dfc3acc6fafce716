//! Buffers and views: an allocation, what is known of its bytes, and when it was last used.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::Region;
use compute_trust::{Failure, Map, Mark, Use, Uses};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::code;
use super::device::Device;
use super::error::{Result, error, fail};
use super::memory::{AllocationMode, Block};
use super::stream::Stream;

/// How to make a buffer.
#[derive(Clone, Debug, Default)]
pub struct BufferOptions {
    /// Bytes; 0 makes an empty buffer.
    pub size: u64,
    /// For messages.
    pub label: String,
    /// Never-written bytes are claimed rather than read as zeros (T1).
    pub strict_unwritten: bool,
    /// Never-written bytes read as zeros on a strict device, too.
    pub zeroed: bool,
    /// It can be mapped. Refused where the device's memory is not the host's.
    pub host_visible: bool,
    /// The stream whose pools it comes from; without one, the device's own. Any stream may use the buffer; memory that was released on the stream
    /// itself is there again at once.
    pub stream: Option<Arc<Stream>>,
    /// Which pools: the persistent ones are for what lives long.
    pub mode: AllocationMode,
}

/// A buffer. Dropping the last reference ends it; its memory goes when the work that uses it is over (F7).
pub struct Buffer {
    pub(crate) device: Arc<Device>,
    /// Number of the buffer, unique in the process and never used again.
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    pub(crate) size: u64,
    /// None for an empty buffer.
    block: Option<Block>,
    pub(crate) mark: Mark,
    pub(crate) uses: Uses,
    pub(crate) host_visible: bool,
    /// Looked at only under the exclusive mark, but for `check`, which waits until nobody has it.
    pub(crate) map: Mutex<Map>,
}

/// A byte range of a buffer, inside it.
#[derive(Clone, Debug)]
pub struct View {
    /// The buffer.
    pub buffer: Arc<Buffer>,
    /// Start in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Buffer {
    /// Allocates. No byte counts as written.
    pub fn new(device: &Arc<Device>, options: &BufferOptions) -> Result<Arc<Self>> {
        device.check()?;
        if let Some(stream) = options.stream.as_ref().filter(|stream| !Arc::ptr_eq(&stream.device, device)) {
            let message = format!("stream `{}` belongs to another device than the buffer `{}`", stream.label, options.label);
            return fail(code::FOREIGN_HANDLE, message);
        }
        if options.host_visible && !device.capabilities().host_visible {
            let name = &device.properties().name;
            let message =
                format!("buffer `{}`: the memory of device `{name}` is not host-visible; use writes and reads", options.label);
            return fail(code::UNSUPPORTED, message);
        }
        let size = options.size;
        let block = match size {
            0 => None,
            size => Some(device.allocate(options.stream.as_deref(), size, options.mode)?),
        };
        let uses = Uses::new();
        if let Some(before) = block.as_ref().and_then(Block::inherited) {
            uses.note_write(before);
        }
        let map = if options.strict_unwritten || device.strict && !options.zeroed {
            let message = format!("nothing has been written to these bytes of buffer `{}`", options.label);
            Map::claimed(size, &Failure::new(Arc::new(error(code::NEVER_WRITTEN, message)), false))
        } else {
            Map::unwritten(size)
        };
        let mark = Mark::new(!map.is_clean());
        device.buffer_made(size);
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            label: options.label.as_str().into(),
            size,
            block,
            mark,
            uses,
            host_visible: options.host_visible,
            map: Mutex::new(map),
        }))
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its number, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The device that it is on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Where a range is for the device. `None` for an empty buffer.
    pub(crate) fn region(&self, range: &Range<u64>) -> Option<Region> {
        self.block.as_ref().map(|block| block.region(range.start, range.end - range.start))
    }

    /// Name and number for reports.
    pub(crate) fn name(&self) -> compute_trust::Buffer {
        compute_trust::Buffer { id: self.id, label: Arc::clone(&self.label) }
    }

    /// The size of a part, if it is inside (M9). `size` of `u64::MAX` is to the end.
    pub(crate) fn part(&self, offset: u64, size: u64) -> Option<u64> {
        let rest = self.size.checked_sub(offset)?;
        match size {
            u64::MAX => Some(rest),
            size => (size <= rest).then_some(size),
        }
    }

    /// What to say of a part that is not inside.
    pub(crate) fn no_part(&self, offset: u64, size: u64) -> String {
        format!("view of {size} bytes at offset {offset} of buffer `{}`, which has {} bytes", self.label, self.size)
    }

    /// Part of it, checked (M9). `size` of `u64::MAX` is to the end.
    pub fn view(self: &Arc<Self>, offset: u64, size: u64) -> Result<View> {
        match self.part(offset, size) {
            Some(size) => Ok(View { buffer: Arc::clone(self), offset, size }),
            None => fail(code::OUT_OF_RANGE, self.no_part(offset, size)),
        }
    }

    /// The last uses on every queue.
    fn last_uses(&self) -> SmallVec<[Use; 2]> {
        let mut all: SmallVec<[Use; 2]> = self.uses.last_write().into_iter().collect();
        self.uses.each_read(|read| all.push(read));
        all
    }
}

impl View {
    /// The range in the buffer.
    pub fn range(&self) -> Range<u64> {
        // `Buffer::view` has checked that this cannot wrap.
        self.offset..self.offset + self.size
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let uses = self.last_uses();
        self.device.buffer_gone(self.size, self.block.take(), uses);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, `{}`, {} bytes)", self.id, self.label, self.size)
    }
}
