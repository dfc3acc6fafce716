//! Buffers that have ended and are kept whole for the next of their size: the object, its block, and the seat of its handle. So a stream that makes and releases
//! buffers of the same sizes pays for a look into a short list, and for nothing else that a new buffer needs.
//!
//! Nobody can tell from outside. What is kept counts as live in the pools, so whatever looks at these, or wants more of them, has it let go of first
//! ([`Keeper::let_go`]). Kept are small buffers of a stream, whose last uses are on its own queue, which orders the next use behind them.
//!
//! The lists are the process's, a row of them, and what is in them is found by the numbers that the owner of handles has given to streams and devices: so a
//! buffer can be put into a list while nothing of its own is borrowed, and be found without its stream. Locks: leaves.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::super::buffer::{Buffer, Numbers};

/// Buffers of more bytes are not kept: each of them keeps a page from being idle.
pub const LARGEST_KEPT: u64 = 16 << 10;
/// How many lists. Streams that meet in one share its places.
const LISTS: usize = 64;
/// Buffers in a list.
const PLACES: usize = 32;

/// Why a stream's buffers are not kept: they are charged to a budget,
pub(crate) const BUDGETED: u32 = 1;
/// or only counted,
pub(crate) const DRY: u32 = 2;
/// or a capture of the stream hears of every buffer,
pub(crate) const CAPTURING: u32 = 8;
/// or its pools have caps, into which what is kept would have to fit, too,
pub(crate) const CAPPED: u32 = 16;
/// or the stream is gone.
const ENDED: u32 = 4;

/// What the owner of handles keeps with a buffer for its next life. Left when dropped.
pub struct Seat {
    number: u32,
    leave: fn(u32),
}

impl Seat {
    /// `leave` is called with the number when nobody takes it.
    pub fn new(number: u32, leave: fn(u32)) -> Self {
        Self { number, leave }
    }

    /// The number, which is the caller's again.
    pub fn take(self) -> u32 {
        ManuallyDrop::new(self).number
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        (self.leave)(self.number);
    }
}

/// Whether buffers of a stream are kept, and how many are.
pub(crate) struct Keeper {
    /// Index of the stream's queue.
    queue: u16,
    /// The number of the stream's handle; 0: none yet, and nothing is kept.
    stream: AtomicU64,
    closed: AtomicU32,
    /// Changed under the lock of the list.
    kept: AtomicUsize,
}

struct Kept {
    stream: u64,
    size: u64,
    buffer: Arc<Buffer>,
    seat: Seat,
}

impl Kept {
    fn count(&self, more: isize) {
        if let Some(keeper) = self.buffer.home.keeper() {
            keeper.kept.store(keeper.kept.load(Ordering::Relaxed).wrapping_add_signed(more), Ordering::Relaxed);
        }
    }
}

struct List {
    places: [Option<Kept>; PLACES],
    used: usize,
    /// For the buffers' next lives.
    numbers: Numbers,
}

/// With the cache line that processors fetch along with it.
#[repr(align(128))]
struct Lane(Mutex<List>);

static LANES: [Lane; LISTS] =
    [const { Lane(Mutex::new(List { places: [const { None }; PLACES], used: 0, numbers: Numbers::none() })) }; LISTS];

fn list(stream: u64) -> &'static Mutex<List> {
    &LANES[stream as usize % LISTS].0
}

impl List {
    /// Takes the last one that `wanted` likes: it may still be in the caches.
    fn take(&mut self, wanted: impl Fn(&Kept) -> bool) -> Option<Kept> {
        let used = self.places.get(..self.used)?;
        let index = used.iter().rposition(|place| place.as_ref().is_some_and(&wanted))?;
        self.used -= 1;
        self.places.swap(index, self.used);
        let taken = self.places[self.used].take()?;
        taken.count(-1);
        Some(taken)
    }

    /// Puts one in. Of a full list the one that came first has to go, and is given back.
    fn put(&mut self, kept: Kept) -> Option<Kept> {
        let mut gone = None;
        if self.used == PLACES {
            self.places.rotate_left(1);
            gone = self.places[PLACES - 1].take();
            gone.iter().for_each(|gone| gone.count(-1));
        } else {
            self.used += 1;
        }
        kept.count(1);
        self.places[self.used - 1] = Some(kept);
        gone
    }
}

/// Keeps a buffer that has ended, if it can serve again as it is. Otherwise it goes as any other. Needs no memory.
pub(crate) fn keep(mut buffer: Arc<Buffer>, seat: Seat) {
    let Some(keeper) = buffer.home.keeper() else { return };
    let (stream, queue) = (keeper.stream.load(Ordering::Relaxed), keeper.queue);
    if stream == 0 {
        return;
    }
    let mut list = list(stream).lock();
    // Under the lock, so that nothing is kept that [`Keeper::close`] does not see.
    if keeper.closed.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Some(ended) = Arc::get_mut(&mut buffer) else { return };
    if !ended.renew(queue) {
        return;
    }
    ended.id = list.numbers.next();
    let gone = list.put(Kept { stream, size: buffer.size, buffer, seat });
    drop(list);
    // With no lock held.
    drop(gone);
}

/// A buffer of that size that has ended, ready for its next life, with its seat. The numbers are those of the handles of its stream and device.
pub fn take_kept(stream: u64, device: u64, size: u64) -> Option<(Arc<Buffer>, Seat)> {
    let wanted = |kept: &Kept| {
        kept.stream == stream && kept.size == size && kept.buffer.device.handle() == device && kept.buffer.device.check().is_ok()
    };
    let Kept { buffer, seat, .. } = list(stream).lock().take(wanted)?;
    Some((buffer, seat))
}

impl Keeper {
    pub(crate) fn new(queue: u16) -> Arc<Self> {
        Arc::new(Self { queue, stream: AtomicU64::new(0), closed: AtomicU32::new(0), kept: AtomicUsize::new(0) })
    }

    /// Tells by which number the owner of handles knows the stream, for good.
    pub(crate) fn set_stream(&self, handle: u64) {
        self.stream.store(handle, Ordering::Relaxed);
    }

    /// Whether any buffers are kept.
    pub(super) fn keeps_any(&self) -> bool {
        self.kept.load(Ordering::Relaxed) > 0
    }

    /// Lets go of what is kept, and keeps nothing while this reason holds.
    pub(crate) fn close(&self, reason: u32) {
        self.shut(reason);
        self.let_go();
    }

    /// Keeps nothing more while this reason holds. What is kept may still be taken until it is let go.
    pub(crate) fn shut(&self, reason: u32) {
        self.closed.fetch_or(reason, Ordering::Relaxed);
        // Whoever looked before has counted by now.
        drop(list(self.stream.load(Ordering::Relaxed)).lock());
    }

    /// A reason holds no longer.
    pub(crate) fn open(&self, reason: u32) {
        self.closed.fetch_and(!reason, Ordering::Relaxed);
    }

    /// The stream is gone.
    pub(crate) fn end(&self) {
        self.close(ENDED);
    }

    /// Ends what is kept, so that its memory is the pools' again. The caller holds no lock.
    pub(crate) fn let_go(&self) {
        let stream = self.stream.load(Ordering::Relaxed);
        while self.keeps_any() {
            let taken = list(stream).lock().take(|kept| kept.stream == stream);
            if taken.is_none() {
                break;
            }
        }
    }
}
