//! Buffers and views: an allocation, what is known of its bytes, and when it was last used.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{NativeKind, Region};
use compute_trust::{Failure, LastUses, Map, Mark, Uses};
use parking_lot::Mutex;

use super::code;
use super::device::Device;
use super::error::{Result, error, fail, kept};
use super::graph::watched;
use super::memory::{AllocationMode, Home, Left, ScratchLease, Seat, keep, of_no_stream};
#[cfg(doc)]
use super::place;
use super::place::Span;
use super::section::alone;
use super::stream::Stream;

/// How to make a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferOptions<'a> {
    /// Bytes; 0 makes an empty buffer.
    pub size: u64,
    /// For messages.
    pub label: &'a str,
    /// Never-written bytes are claimed rather than read as zeros (T1).
    pub strict_unwritten: bool,
    /// Never-written bytes read as zeros on a strict device, too.
    pub zeroed: bool,
    /// It can be mapped. Refused where the device's memory is not the host's.
    pub host_visible: bool,
    /// The stream whose pools it comes from; without one, the device's own. Any stream may use the buffer; memory that was released on the stream
    /// itself is there again at once.
    pub stream: Option<&'a Arc<Stream>>,
    /// Which pools: the persistent ones are for what lives long.
    pub mode: AllocationMode,
    /// Memory is taken at the first use (M5).
    pub deferred: bool,
    /// A compaction leaves it where it is.
    pub fixed: bool,
    /// Only `stream` uses it, for a moment (M7).
    pub scratch: bool,
}

/// A buffer. Dropping the last reference ends it; its memory goes when the work that uses it is over (F7).
///
/// What every launch looks at lies together, from the end of `home` to the begin of `uses`: two or three cache lines rather than six.
#[repr(C)]
pub struct Buffer {
    /// Looked at only under the exclusive mark, but for `check`, which waits until nobody has it.
    pub(crate) map: Mutex<Map>,
    /// None for an empty one: most buffers of a frame have none, and it would be an allocation each.
    label: Option<Arc<str>>,
    scratch: Option<ScratchLease>,
    pub(crate) home: Home,
    pub(crate) device: Arc<Device>,
    /// Number of the buffer, unique in the process and never used again.
    pub(crate) id: u64,
    pub(crate) size: u64,
    /// By how much its first byte is beyond a multiple of [`place::ALIGNED`]: 0, but for imported memory.
    pub(crate) beyond: u64,
    /// Not everybody may do everything with it: it is somebody's scratch, or read-only.
    restricted: bool,
    /// It was imported to be read: nothing writes there, and so nothing claims it either.
    pub(crate) read_only: bool,
    pub(crate) host_visible: bool,
    pub(crate) mark: Mark,
    pub(crate) uses: Uses,
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

/// Numbers for buffers, taken from the process's a few at a time.
pub(crate) struct Numbers(Range<u64>);

impl Numbers {
    const TAKEN: u64 = 64;

    pub(crate) const fn none() -> Self {
        Self(0..0)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next().unwrap_or_else(|| {
            let first = NEXT.fetch_add(Self::TAKEN, Ordering::Relaxed);
            self.0 = first + 1..first + Self::TAKEN;
            first
        })
    }
}

impl Buffer {
    /// Allocates. No byte counts as written.
    pub fn new(device: &Arc<Device>, options: &BufferOptions<'_>) -> Result<Arc<Self>> {
        let Some(stream) = options.stream.filter(|stream| stream.window.is_open()) else { return Self::made(device, options) };
        let options = BufferOptions { mode: stream.window.mode(options.mode), ..*options };
        let what = || format!("the allocation of buffer `{}`", options.label);
        let buffer = watched(Some(stream), what, || Self::made(device, &options))?;
        stream.window.hold(&buffer);
        Ok(buffer)
    }

    fn made(device: &Arc<Device>, options: &BufferOptions<'_>) -> Result<Arc<Self>> {
        device.check()?;
        if let Some(stream) = options.stream.filter(|stream| !Arc::ptr_eq(&stream.device, device)) {
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
        let scratch = match options.stream {
            Some(stream) if options.scratch => Some(stream.take_scratch(size)?),
            None if options.scratch => return of_no_stream(options.label),
            _ => None,
        };
        let mut home = device.find_home(options.stream, size, options.mode, options.deferred)?;
        // What the host has the address of stays where it is.
        if options.fixed || options.host_visible {
            home.fix();
        }
        let uses = Uses::new();
        if let Some(before) = home.inherited() {
            uses.note_write(before);
        }
        let map = if options.strict_unwritten || device.strict && !options.zeroed {
            let message = format!("nothing has been written to these bytes of buffer `{}`", options.label);
            Map::claimed(size, &Failure::new(Arc::new(error(code::NEVER_WRITTEN, message)), false))
        } else {
            Map::unwritten(size)
        };
        let mark = Mark::new(!map.is_clean());
        device.buffer_made();
        if home.has_block() {
            device.buffer_backed(size);
        }
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            label: (!options.label.is_empty()).then(|| options.label.into()),
            size,
            home,
            restricted: scratch.is_some(),
            scratch,
            mark,
            uses,
            host_visible: options.host_visible,
            read_only: false,
            beyond: 0,
            map: Mutex::new(map),
        }))
    }

    /// Memory of somebody else's, all of which counts as written (T14).
    pub(super) fn imported(device: &Arc<Device>, label: &str, size: u64, home: Home, writable: bool, beyond: u64) -> Arc<Self> {
        device.buffer_made();
        Arc::new(Self {
            device: Arc::clone(device),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            label: (!label.is_empty()).then(|| label.into()),
            size,
            home,
            scratch: None,
            restricted: !writable,
            mark: Mark::new(false),
            uses: Uses::new(),
            // Through an address, a host that must not write could.
            host_visible: writable && device.capabilities().host_visible && device.native.native_kind() == NativeKind::Address,
            read_only: !writable,
            beyond,
            map: Mutex::new(Map::trusted(size)),
        })
    }

    /// Ends a buffer whose handle has ended. It is kept whole for the next of its size, with the handle's `seat`, where nobody else has it and its memory
    /// can serve again at once.
    pub fn end(self: Arc<Self>, seat: Seat) {
        self.handle_ended();
        keep(self, seat);
    }

    /// From now on it takes nothing of what its stream may have for buffers of its kind.
    pub fn handle_ended(&self) {
        if let Some(scratch) = &self.scratch {
            scratch.give_back();
        }
    }

    /// Readies it for its next life, if it has nothing that the next one must not have. False: it can only be dropped.
    pub(crate) fn renew(&mut self, queue: u16) -> bool {
        let plain = self.label.is_none() && self.scratch.is_none() && !self.host_visible && !self.home.is_fixed();
        let renewed = plain && self.map.get_mut().renew() && self.uses.join(queue);
        self.mark = Mark::new(true);
        renewed
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its number, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What the caller called it.
    pub(crate) fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }

    /// The device that it is on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Where a range is for the device. `None` for an empty buffer.
    pub(crate) fn region(&self, range: &Range<u64>) -> Option<Region> {
        self.home.region(range.start, range.end - range.start)
    }

    /// Whether it is the scratch of another stream.
    pub(crate) fn is_scratch_of_another(&self, stream: u64) -> bool {
        self.scratch.as_ref().is_some_and(|scratch| scratch.stream() != stream)
    }

    /// Whether not everybody may do everything with it.
    pub(crate) fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// Whether its memory is still to be allocated (M5). Yes may be outdated where the caller does not hold its mark.
    pub(crate) fn is_deferred(&self) -> bool {
        self.size > 0 && !self.home.has_block()
    }

    /// Allocates what was deferred. The caller holds no lock and no mark: this may wait for the device.
    pub(crate) fn back(&self) -> Result<()> {
        // Most have their memory, and keep it: that is known without the lock.
        if !self.is_deferred() {
            return Ok(());
        }
        let Some((stream, mode)) = self.home.deferral() else { return Ok(()) };
        let block = self.device.allocate(stream.as_deref(), self.size, mode)?;
        let before = block.inherited();
        let left = alone(self, |_| {
            let left = self.home.back(block);
            if matches!(left, Left::Deferral(_)) {
                if let Some(before) = before {
                    self.uses.note_write(before);
                }
                self.device.buffer_backed(self.size);
            }
            left
        });
        if let Left::Block(unwanted) = left {
            self.device.block_gone(unwanted, before.map(LastUses::from).unwrap_or_default());
        }
        Ok(())
    }

    /// Name and number for reports.
    pub(crate) fn name(&self) -> compute_trust::Buffer {
        compute_trust::Buffer { id: self.id, label: self.label.clone().unwrap_or_else(|| kept("")) }
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
        format!("view of {size} bytes at offset {offset} of buffer `{}`, which has {} bytes", self.label(), self.size)
    }

    /// Part of it, checked (M9). `size` of `u64::MAX` is to the end.
    pub fn view(self: &Arc<Self>, offset: u64, size: u64) -> Result<View> {
        match self.part(offset, size) {
            Some(size) => Ok(View { buffer: Arc::clone(self), offset, size }),
            None => fail(code::OUT_OF_RANGE, self.no_part(offset, size)),
        }
    }

    /// Whether all that was enqueued with it is over.
    pub(crate) fn is_idle(&self) -> bool {
        let mut idle = self.device.over(self.uses.last_write());
        self.uses.each_read(|read| idle &= self.device.over([read]));
        idle
    }
}

impl View {
    /// The same, borrowed.
    pub(crate) fn span(&self) -> Span<'_> {
        Span { buffer: &self.buffer, offset: self.offset, size: self.size }
    }

    /// The range in the buffer.
    pub fn range(&self) -> Range<u64> {
        // `Buffer::view` has checked that this cannot wrap.
        self.offset..self.offset + self.size
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let uses = self.uses.take();
        self.device.buffer_gone(self.size, self.home.end(), uses);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, `{}`, {} bytes)", self.id, self.label(), self.size)
    }
}
