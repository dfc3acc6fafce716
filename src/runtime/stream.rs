//! Streams: ordered lanes of work on a device's queues.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use compute_hal::Waited;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::buffer::View;
use super::device::Device;
use super::error::{Failed, Result, from_device};
use super::graph::Window;
use super::memory::{Budget, DryRuns, Keeper, PoolSet, ScratchUse};
use super::queue::Queue;
use super::refuse::no_memory;
use super::section::room;
use super::{event, late, prints, trust};

/// A stream. Dropping it lets its work finish.
#[repr(C)] // What every launch looks at comes first, and lies together.
pub struct Stream {
    pub(crate) device: Arc<Device>,
    pub(crate) queue: Arc<Queue>,
    /// Number of the stream, unique in the process.
    pub(crate) id: u64,
    /// Whether a dry run goes on (M5).
    pub(crate) is_dry: AtomicBool,
    pub(crate) window: Window,
    pub(crate) label: Arc<str>,
    /// Made by its first allocation.
    pub(crate) pools: OnceCell<Arc<PoolSet>>,
    /// What its allocations are charged to.
    pub(crate) budget: Mutex<Option<Arc<Budget>>>,
    /// Whether there is one: most streams have none, and then an allocation need not ask under the lock.
    pub(crate) budgeted: AtomicBool,
    pub(crate) dry_runs: Mutex<DryRuns>,
    pub(crate) scratch: Arc<ScratchUse>,
    pub(crate) keeper: Arc<Keeper>,
}

/// How a wait ended that was no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// What was waited for is over.
    Done,
    /// The time ran out first.
    TimedOut,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Stream {
    /// Makes a stream on one of the device's queues (S1).
    pub fn new(device: &Arc<Device>, label: &str) -> Result<Arc<Self>> {
        super::section::prepare();
        let queue = device.queue_for_stream()?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            keeper: Keeper::new(queue.index),
            queue,
            id,
            label: label.into(),
            pools: OnceCell::new(),
            budget: Mutex::new(None),
            budgeted: AtomicBool::new(false),
            is_dry: AtomicBool::new(false),
            dry_runs: Mutex::default(),
            scratch: Arc::default(),
            window: Window::default(),
        }))
    }

    /// Tells by which number the owner of handles knows it: from then on buffers that end may be kept for the next ([`take_kept`](super::take_kept)).
    pub fn set_handle(&self, handle: u64) {
        self.keeper.set_stream(handle);
    }

    /// The device that it is on.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Number of the stream, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Sends what is collected to the device. Reports only a fault of the device itself (T10).
    pub fn flush(&self) -> Result<()> {
        let _guard = self.device.guard();
        let submit = self.queue.lock(&self.device)?;
        let sent = self.queue.native.submit();
        drop(submit);
        sent.map_err(|failed| self.device.broken(failed))
    }

    /// Waits for all that was enqueued so far, and for the last writes of `views` wherever they were enqueued, then tells whether their bytes
    /// can be trusted (T8). Over no views it reports only a fault of the device (T10).
    pub fn sync(&self, views: &[View], timeout: Option<Duration>) -> Result<Wait> {
        self.refused_recording("a sync")?;
        let answer = self.sync_quietly(views, timeout);
        event::run_due(&self.device);
        answer
    }

    pub(super) fn sync_quietly(&self, views: &[View], timeout: Option<Duration>) -> Result<Wait> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut targets: SmallVec<[(&Device, Arc<Queue>, u64); 4]> = SmallVec::new();
        // Of each queue the last position: as many as there are queues, however many views there are.
        targets.push((&self.device, Arc::clone(&self.queue), self.queue.last()));
        for view in views {
            let device = &view.buffer.device;
            // A write that is being enqueued right now counts.
            let Some(write) = super::section::last_write(&view.buffer, deadline) else { return Ok(Wait::TimedOut) };
            if let Some((write, queue)) = write.and_then(|write| device.queue(write.queue).map(|queue| (write, queue))) {
                match targets.iter_mut().find(|(_, known, _)| Arc::ptr_eq(known, &queue)) {
                    Some((.., last)) => *last = write.position.max(*last),
                    None => {
                        room(&mut targets).map_err(|none| Failed::of(no_memory(none)))?;
                        targets.push((device, queue, write.position));
                    }
                }
            }
        }
        for (device, queue, position) in targets {
            if wait(device, &queue, position, deadline)? == Wait::TimedOut {
                return Ok(Wait::TimedOut);
            }
        }
        prints::deliver();
        late::settle()?;
        self.device.check()?;
        trust::check(views)?;
        Ok(Wait::Done)
    }
}

/// Waits for a position of a queue until a deadline (`None`: for ever).
pub(crate) fn wait(device: &Device, queue: &Queue, position: u64, deadline: Option<Instant>) -> Result<Wait> {
    device.check()?;
    let _guard = device.guard();
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match queue.native.wait(position, left) {
        Ok(Waited::Done) => device.check().map(|()| Wait::Done),
        Ok(Waited::TimedOut) => Ok(Wait::TimedOut),
        Err(failed) => {
            if let compute_hal::DeviceError::Lost(cause) = &failed {
                device.condemn(cause.clone());
            }
            device.check()?;
            Err(Failed::of(from_device(failed)))
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.abandon_capture();
        self.queue.streams.fetch_sub(1, Ordering::Relaxed);
        if let Some(set) = self.pools.get() {
            self.device.set_ended(set);
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({}, `{}`)", self.id, self.label)
    }
}
