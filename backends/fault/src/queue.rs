//! A queue that passes every call on, unless the plan says otherwise.
//!
//! A lost device must still be honest: it says that nothing is in flight only once nothing of the wrapped queue is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use compute_hal::{
    DeviceError, GraphId, HostRows, HostSource, HostTarget, LateCause, LateFailure, Launch, PeerId, Pitched, Position, Printed,
    Queue, QueueId, Region, Waited,
};
use parking_lot::Mutex;

use crate::device::{Common, Verdict};
use crate::plan::Calls;

type Wake = Box<dyn FnOnce() + Send>;

/// The wrapped queue and what is known about it.
pub(crate) struct Lane {
    inner: Arc<dyn Queue>,
    /// Held while a call enqueues, so that a loss finds no call half done.
    enqueuing: Mutex<()>,
    /// The last position that the wrapped queue took.
    last: AtomicU64,
    /// Set after a loss: `last` is final.
    sealed: AtomicBool,
    late: Mutex<Vec<LateFailure>>,
    /// Callbacks that a loss has to call, as their position may never come.
    wakes: Arc<Mutex<Wakes>>,
}

#[derive(Default)]
struct Wakes {
    next: u64,
    pending: BTreeMap<u64, Wake>,
}

impl Lane {
    pub(crate) fn new(inner: Arc<dyn Queue>) -> Self {
        let (last, sealed) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { inner, enqueuing: Mutex::new(()), last, sealed, late: Mutex::default(), wakes: Arc::default() }
    }

    /// The device is lost: nothing more is enqueued. Whoever waits for a callback gets it when what is in flight is done.
    pub(crate) fn seal(&self) {
        let guard = self.enqueuing.lock();
        self.sealed.store(true, Ordering::SeqCst);
        drop(guard);
        let wakes = Arc::clone(&self.wakes);
        let all = move || {
            let pending = std::mem::take(&mut wakes.lock().pending);
            pending.into_values().for_each(|wake| wake());
        };
        self.inner.notify(self.last.load(Ordering::SeqCst), Box::new(all));
    }

    fn sealed(&self) -> bool {
        self.sealed.load(Ordering::SeqCst)
    }
}

pub(crate) struct FaultQueue {
    lane: Arc<Lane>,
    common: Arc<Common>,
}

impl FaultQueue {
    pub(crate) fn new(lane: Arc<Lane>, common: Arc<Common>) -> Self {
        Self { lane, common }
    }

    fn pitched(&self) -> Result<(), DeviceError> {
        if self.common.plan.pitched() { Ok(()) } else { Err(DeviceError::Unsupported("rows at a pitch")) }
    }

    /// Counts a call that enqueues, and does it, or what the plan wants instead.
    fn work(
        &self,
        at: Position,
        call: Calls,
        name: &'static str,
        run: impl FnOnce(&dyn Queue) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let verdict = self.common.meet(call, name, true)?;
        let _guard = self.lane.enqueuing.lock();
        if let Some(cause) = self.common.lost() {
            return Err(DeviceError::Lost(cause.clone()));
        }
        if !matches!(verdict, Verdict::Pass) {
            // Before the work: a failure must be there before its position completes.
            let message = format!("a late failure of {name}, asked for by the fault plan");
            let cause = LateCause::Driver { code: -3, name: "INJECTED_LATE".into(), message };
            self.lane.late.lock().push(LateFailure { position: at, cause });
        }
        match verdict {
            Verdict::Late => self.lane.inner.mark(at),
            Verdict::Pass | Verdict::LateDone => {
                if let Err(error) = run(&*self.lane.inner) {
                    // It has failed already.
                    self.lane.late.lock().retain(|failure| failure.position != at);
                    return Err(error);
                }
            }
        }
        self.lane.last.fetch_max(at, Ordering::SeqCst);
        Ok(())
    }
}

impl Queue for FaultQueue {
    fn id(&self) -> QueueId {
        self.lane.inner.id()
    }

    fn launch(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.work(at, Calls::LAUNCH, "launch", |inner| inner.launch(at, launch))
    }

    fn copy(&self, at: Position, from: Region, to: Region) -> Result<(), DeviceError> {
        self.work(at, Calls::COPY, "copy", |inner| inner.copy(at, from, to))
    }

    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        self.pitched()?;
        self.work(at, Calls::COPY, "copy_2d", |inner| inner.copy_2d(at, copy))
    }

    fn copy_peer(&self, at: Position, from: (PeerId, Region), to: Region) -> Result<(), DeviceError> {
        self.work(at, Calls::COPY, "copy_peer", |inner| inner.copy_peer(at, from, to))
    }

    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError> {
        self.work(at, Calls::FILL, "fill", |inner| inner.fill(at, to, pattern))
    }

    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        self.work(at, Calls::WRITE, "write", |inner| inner.write(at, to, bytes))
    }

    fn write_borrowed(&self, at: Position, to: Region, bytes: HostSource) -> Result<(), DeviceError> {
        self.work(at, Calls::WRITE, "write_borrowed", |inner| inner.write_borrowed(at, to, bytes))
    }

    fn write_2d(&self, at: Position, rows: &HostRows, bytes: &[u8]) -> Result<(), DeviceError> {
        self.pitched()?;
        self.work(at, Calls::WRITE, "write_2d", |inner| inner.write_2d(at, rows, bytes))
    }

    fn write_borrowed_2d(&self, at: Position, rows: &HostRows, bytes: HostSource) -> Result<(), DeviceError> {
        self.pitched()?;
        self.work(at, Calls::WRITE, "write_borrowed_2d", |inner| inner.write_borrowed_2d(at, rows, bytes))
    }

    fn read_2d(&self, at: Position, rows: &HostRows, into: HostTarget) -> Result<(), DeviceError> {
        self.pitched()?;
        self.work(at, Calls::READ, "read_2d", |inner| inner.read_2d(at, rows, into))
    }

    fn read(&self, at: Position, from: Region, into: HostTarget) -> Result<(), DeviceError> {
        self.work(at, Calls::READ, "read", |inner| inner.read(at, from, into))
    }

    fn replay(&self, at: Position, graph: GraphId) -> Result<(), DeviceError> {
        self.work(at, Calls::REPLAY, "replay", |inner| inner.replay(at, graph))
    }

    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        self.common.meet(Calls::WAIT_FOR, "wait_for", false)?;
        self.lane.inner.wait_for(queue, position)
    }

    fn wait_native(&self, event: u64) -> Result<(), DeviceError> {
        self.common.meet(Calls::WAIT_FOR, "wait_native", false)?;
        self.lane.inner.wait_native(event)
    }

    fn record_native(&self, event: u64) -> Result<bool, DeviceError> {
        self.common.meet(Calls::WAIT_FOR, "record_native", false)?;
        self.lane.inner.record_native(event)
    }

    fn wait_for_peer(&self, other: PeerId, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        self.common.meet(Calls::WAIT_FOR, "wait_for_peer", false)?;
        self.lane.inner.wait_for_peer(other, queue, position)
    }

    fn mark(&self, at: Position) {
        let _guard = self.lane.enqueuing.lock();
        if !self.lane.sealed() {
            self.lane.inner.mark(at);
            self.lane.last.fetch_max(at, Ordering::SeqCst);
        }
    }

    fn submit(&self) -> Result<(), DeviceError> {
        self.common.meet(Calls::SUBMIT, "submit", false)?;
        self.lane.inner.submit()
    }

    fn completed(&self) -> Position {
        let completed = self.lane.inner.completed();
        if self.lane.sealed() && completed >= self.lane.last.load(Ordering::SeqCst) { Position::MAX } else { completed }
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        if self.common.lost().is_none() {
            self.common.meet(Calls::WAIT, "wait", false)?;
            let waited = self.lane.inner.wait(at, timeout)?;
            if self.common.lost().is_none() {
                return Ok(waited);
            }
        }
        // Only what is in flight is worth waiting for.
        if self.lane.inner.wait(self.lane.last.load(Ordering::SeqCst), timeout)? == Waited::TimedOut {
            return Ok(Waited::TimedOut);
        }
        match self.common.lost() {
            Some(cause) => Err(DeviceError::Lost(cause.clone())),
            None => Ok(Waited::Done),
        }
    }

    fn take_late(&self) -> Vec<LateFailure> {
        let done = self.lane.inner.completed();
        let mut late = self.lane.inner.take_late();
        let mut own = self.lane.late.lock();
        // What has not completed is not known yet.
        let mut kept = Vec::new();
        for failure in own.drain(..) {
            if failure.position <= done { late.push(failure) } else { kept.push(failure) }
        }
        *own = kept;
        late.sort_by_key(|failure| failure.position);
        late
    }

    fn take_printed(&self) -> Vec<Printed> {
        self.lane.inner.take_printed()
    }

    fn notify(&self, at: Position, wake: Wake) {
        let mut wakes = self.lane.wakes.lock();
        let key = wakes.next;
        wakes.next += 1;
        wakes.pending.insert(key, wake);
        drop(wakes);
        let wakes = Arc::clone(&self.lane.wakes);
        let call = move || {
            let wake = wakes.lock().pending.remove(&key);
            if let Some(wake) = wake {
                wake();
            }
        };
        // Sealed in between: the seal's own call has taken it along, or this one takes it.
        let reachable = if self.lane.sealed() { at.min(self.lane.last.load(Ordering::SeqCst)) } else { at };
        self.lane.inner.notify(reachable, Box::new(call));
    }

    fn timestamp(&self, at: Position) -> Option<u64> {
        self.lane.inner.timestamp(at)
    }

    fn stamp(&self, at: Position) -> Result<(), DeviceError> {
        self.common.meet(Calls::STAMP, "stamp", false)?;
        self.lane.inner.stamp(at)
    }
}
