//! The queue as the runtime sees it: ids become addresses here, and waits are made of looking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use compute_hal::{
    DeviceError, GraphId, HostRows, HostSource, HostTarget, LateFailure, Launch, PeerId, Pitched, Position, Printed, Queue,
    QueueId, Region, Waited,
};

use crate::lane::{Lane, wake_all};
use crate::op::{self, Ready};

/// How long a wait asks without pause, and how long it lets only others run in between: the system's shortest sleep is some 70 us, much of a short wait.
const SPIN: Duration = Duration::from_micros(100);
const YIELD: Duration = Duration::from_millis(2);
/// The longest pause between two looks: each is a part of what the wait has taken so far, so that a long one is not much longer for it.
const LONGEST: Duration = Duration::from_millis(10);
const PART: u32 = 64;
/// The shortest, when nothing has been waited for yet.
const SHORTEST: Duration = Duration::from_micros(20);
/// How many threads of a device wait without sleeping at most: those after them would take processors from threads that have work.
const AWAKE: u32 = 2;

pub(crate) struct GpuQueue {
    lane: Arc<Lane>,
}

impl GpuQueue {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        Self { lane }
    }

    fn run(&self, at: Position, work: Result<Ready<'_>, DeviceError>) -> Result<(), DeviceError> {
        self.lane.run(at, &mut work?)
    }
}

impl GpuQueue {
    /// A launch that is no plain one.
    #[cold]
    fn launch_any(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shared = &self.lane.shared;
        shared.with_kernel(launch.kernel, |kernel| self.run(at, op::launch(shared, kernel, launch)))
    }
}

impl Drop for GpuQueue {
    fn drop(&mut self) {
        self.lane.close();
    }
}

/// Everything counts as completed after a fault, though it may not have run: then a wait answers the fault.
fn done(lane: &Arc<Lane>) -> Result<Waited, DeviceError> {
    match lane.shared.fault() {
        Some(cause) if lane.progress.completed() == Position::MAX => Err(DeviceError::Lost(cause)),
        _ => Ok(Waited::Done),
    }
}

/// The right to wait without sleeping, for as long as this is there.
struct Awake<'a>(&'a AtomicU32);

impl<'a> Awake<'a> {
    fn try_new(count: &'a AtomicU32) -> Option<Self> {
        let more = |count| (count < AWAKE).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok().then(|| Self(count))
    }
}

impl Drop for Awake<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Asks until it is there.
fn look_for(lane: &Arc<Lane>, at: Position, deadline: Option<Instant>) -> Result<Waited, DeviceError> {
    let start = Instant::now();
    let mut awake = None;
    loop {
        if let Some(cause) = lane.shared.fault() {
            wake_all(&lane.shared, lane.abandon());
            return Err(DeviceError::Lost(cause));
        }
        lane.cover(at)?;
        wake_all(&lane.shared, lane.look());
        if lane.progress.completed() >= at {
            return done(lane);
        }
        let now = Instant::now();
        let left = deadline.map_or(LONGEST, |deadline| deadline.saturating_duration_since(now));
        if left.is_zero() {
            return Ok(Waited::TimedOut);
        }
        let taken = now.saturating_duration_since(start);
        // Who comes back every moment to ask again has other work, for which the processor is.
        let patient = deadline.is_none_or(|deadline| deadline.saturating_duration_since(start) >= YIELD);
        if taken >= YIELD || taken >= SPIN && !patient {
            awake = None;
        } else if awake.is_none() {
            awake = Awake::try_new(&lane.shared.awake);
        }
        match awake {
            Some(_) if taken < SPIN => std::hint::spin_loop(),
            Some(_) => std::thread::yield_now(),
            None => lane.progress.listen(at, (taken / PART).clamp(SHORTEST, LONGEST).min(left)),
        }
    }
}

impl Queue for GpuQueue {
    fn id(&self) -> QueueId {
        self.lane.id
    }

    fn launch(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let plain = self.lane.shared.look_at_kernel(launch.kernel, |kernel| self.lane.launch_plain(at, kernel, launch));
        match plain.flatten() {
            Some(Ok(())) => Ok(()),
            Some(Err(refused)) => Err(*refused),
            None => self.launch_any(at, launch),
        }
    }

    fn copy(&self, at: Position, from: Region, to: Region) -> Result<(), DeviceError> {
        self.run(at, op::copy(&self.lane.shared, from, to))
    }

    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        self.run(at, op::copy_2d(&self.lane.shared, copy))
    }

    fn copy_peer(&self, at: Position, from: (PeerId, Region), to: Region) -> Result<(), DeviceError> {
        self.run(at, self.lane.shared.fetch(from, to))
    }

    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError> {
        self.run(at, op::fill(&self.lane.shared, to, pattern))
    }

    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        self.run(at, op::write(&self.lane.shared, to, bytes))
    }

    fn write_borrowed(&self, at: Position, to: Region, bytes: HostSource) -> Result<(), DeviceError> {
        if bytes.size() > 0 && self.lane.shared.is_pinned(bytes.pointer().addr(), bytes.size() as u64) {
            return self.run(at, op::send(&self.lane.shared, to, bytes));
        }
        // SAFETY: `at` has not completed when this returns.
        let bytes = unsafe { bytes.bytes() };
        self.run(at, op::write(&self.lane.shared, to, bytes))
    }

    fn write_2d(&self, at: Position, rows: &HostRows, bytes: &[u8]) -> Result<(), DeviceError> {
        self.run(at, op::write_2d(&self.lane.shared, rows, bytes))
    }

    fn read(&self, at: Position, from: Region, into: HostTarget) -> Result<(), DeviceError> {
        self.run(at, op::read(&self.lane.shared, from, into))
    }

    fn read_2d(&self, at: Position, rows: &HostRows, into: HostTarget) -> Result<(), DeviceError> {
        self.run(at, op::read_2d(&self.lane.shared, rows, into))
    }

    fn replay(&self, at: Position, graph: GraphId) -> Result<(), DeviceError> {
        let lane = &self.lane;
        lane.run(at, &mut lane.shared.graph(graph)?.replay(lane, at))
    }

    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        match self.lane.shared.lane(queue)? {
            // Its queue is gone, and with it whatever it was to do.
            None => Ok(()),
            Some(other) => self.lane.wait_for(&other, position),
        }
    }

    fn wait_native(&self, event: u64) -> Result<(), DeviceError> {
        self.lane.wait_native(event)
    }

    fn record_native(&self, event: u64) -> Result<bool, DeviceError> {
        self.lane.record_native(event)
    }

    fn wait_for_peer(&self, other: PeerId, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        self.lane.wait_for_peer(other, queue, position)
    }

    fn mark(&self, at: Position) {
        self.lane.mark(at);
    }

    fn submit(&self) -> Result<(), DeviceError> {
        self.lane.shared.well()
    }

    fn completed(&self) -> Position {
        let lane = &self.lane;
        if lane.shared.fault().is_some() && lane.progress.completed() != Position::MAX {
            let due = lane.abandon();
            lane.progress.owe(due);
            lane.shared.attendant.ring();
        } else if lane.is_behind() {
            lane.glance();
        }
        lane.progress.completed()
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        let lane = &self.lane;
        if lane.progress.completed() >= at {
            return done(lane);
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        lane.progress.expect(at);
        let waited = look_for(lane, at, deadline);
        lane.progress.leave(at);
        waited
    }

    fn take_late(&self) -> Vec<LateFailure> {
        self.lane.progress.take_late()
    }

    fn take_printed(&self) -> Vec<Printed> {
        self.lane.progress.take_printed()
    }

    fn notify(&self, at: Position, wake: Box<dyn FnOnce() + Send>) {
        if !self.lane.progress.watch(at, wake) {
            self.lane.shared.attendant.ring();
        }
    }

    fn timestamp(&self, at: Position) -> Option<u64> {
        self.lane.progress.timestamp(at)
    }

    fn stamp(&self, at: Position) -> Result<(), DeviceError> {
        self.lane.shared.well()?;
        self.lane.stamp(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::{AWAKE, Awake};

    #[test]
    fn no_more_than_two_threads_of_a_device_wait_without_sleeping() {
        let count = AtomicU32::new(0);
        let mut awake: Vec<_> = (0..AWAKE).map(|_| Awake::try_new(&count)).collect();
        assert!(awake.iter().all(Option::is_some) && Awake::try_new(&count).is_none());
        // Whoever is told, or has waited long enough, makes room.
        awake.pop();
        assert!(Awake::try_new(&count).is_some());
        drop(awake);
        assert_eq!(count.into_inner(), 0);
    }
}
