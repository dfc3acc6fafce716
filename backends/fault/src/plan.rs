//! What is to fail, and when.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::BitOr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The driver refuses the call and goes on: `DeviceError::Driver`.
    Driver,
    /// `DeviceError::OutOfMemory`.
    OutOfMemory,
    /// The device is lost: this and every later call answers `DeviceError::Lost`.
    Lost,
    /// The call is accepted, the work is not done, and the position's late failure says so when it completes (T13). A call that enqueues nothing
    /// cannot fail late: the next one that does takes its place.
    Late,
    /// As [`How::Late`], but the work has been done: right bytes that nobody may trust.
    LateDone,
    /// The device cannot do this: `DeviceError::Unsupported`.
    Unsupported,
    /// The call panics.
    Panic,
}

/// A set of calls of the device interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls(u32);

impl Calls {
    /// `Device::allocate` and `allocate_staging`.
    pub const ALLOCATE: Self = Self(1);
    /// `Device::map`, `import` and `export`.
    pub const SHARE: Self = Self(1 << 1);
    /// `Device::compile`.
    pub const COMPILE: Self = Self(1 << 2);
    /// `Device::create_queue`.
    pub const CREATE_QUEUE: Self = Self(1 << 3);
    /// `Queue::launch`.
    pub const LAUNCH: Self = Self(1 << 4);
    /// `Queue::copy`, `copy_2d` and `copy_peer`.
    pub const COPY: Self = Self(1 << 5);
    /// `Queue::fill`.
    pub const FILL: Self = Self(1 << 6);
    /// `Queue::write` and `write_borrowed`.
    pub const WRITE: Self = Self(1 << 7);
    /// `Queue::read`.
    pub const READ: Self = Self(1 << 8);
    /// `Queue::wait_for`, `wait_native` and `record_native`.
    pub const WAIT_FOR: Self = Self(1 << 9);
    /// `Queue::submit`.
    pub const SUBMIT: Self = Self(1 << 10);
    /// `Queue::wait`.
    pub const WAIT: Self = Self(1 << 11);
    /// `Queue::stamp`.
    pub const STAMP: Self = Self(1 << 12);
    /// `Device::instantiate` and `update_graph`.
    pub const GRAPH: Self = Self(1 << 13);
    /// `Queue::replay`.
    pub const REPLAY: Self = Self(1 << 14);
    /// Every call that can fail.
    pub const ALL: Self = Self((1 << 15) - 1);
    /// The calls that give work to a queue.
    pub const WORK: Self = Self(Self::LAUNCH.0 | Self::COPY.0 | Self::FILL.0 | Self::WRITE.0 | Self::READ.0 | Self::REPLAY.0);

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Calls {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A late failure was asked of a plan whose devices say that they never fail late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLate;

impl fmt::Display for NotLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan was made for devices that never fail late; make it with `FaultPlan::new`")
    }
}

impl std::error::Error for NotLate {}

/// What is to fail, and when. Shared by any number of devices and threads; its counters run over all of them.
#[derive(Debug)]
pub struct FaultPlan {
    counted: Calls,
    late: bool,
    pitched: bool,
    drivers: Option<&'static RwLock<()>>,
    calls: AtomicU64,
    fired: AtomicU64,
    /// By the number of the call. Never locked while a device is called.
    armed: Mutex<BTreeMap<u64, How>>,
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self::new(Calls::ALL)
    }
}

impl FaultPlan {
    /// A plan that counts the calls of `counted`. Devices under it say that they may fail late, so that the runtime journals.
    pub fn new(counted: Calls) -> Self {
        let (calls, fired) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { counted, late: true, pitched: true, drivers: None, calls, fired, armed: Mutex::default() }
    }

    /// As `new`, but late failures cannot be armed, and devices keep the capability of the device inside.
    pub fn never_late(counted: Calls) -> Self {
        Self { late: false, ..Self::new(counted) }
    }

    /// The same, and devices say that they cannot move rows at a pitch, and do not.
    pub fn without_pitches(self) -> Self {
        Self { pitched: false, ..self }
    }

    /// The same, and threads of the library's that are inside a driver of devices hold this lock shared meanwhile.
    pub fn with_drivers(self, drivers: &'static RwLock<()>) -> Self {
        Self { drivers: Some(drivers), ..self }
    }

    /// Makes the `n`th counted call from now on fail; 1 is the next one. Any number may be armed at once.
    pub fn arm(&self, n: u64, how: How) -> Result<(), NotLate> {
        if !self.late && matches!(how, How::Late | How::LateDone) {
            return Err(NotLate);
        }
        let mut armed = self.armed.lock();
        armed.insert(self.calls.load(Ordering::SeqCst).saturating_add(n.max(1)), how);
        Ok(())
    }

    /// Takes back whatever has not happened yet.
    pub fn disarm(&self) {
        self.armed.lock().clear();
    }

    /// Counted calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Failures that have happened so far: a test whose failure never came has tested nothing.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::SeqCst)
    }

    pub(crate) fn late(&self) -> bool {
        self.late
    }

    pub(crate) fn inside(&self) -> Option<compute_hal::exit::Inside> {
        self.drivers.map(RwLock::read)
    }

    pub(crate) fn pitched(&self) -> bool {
        self.pitched
    }

    /// Counts a call and says how it is to fail. `enqueues`: whether it could fail late.
    pub(crate) fn meet(&self, call: Calls, enqueues: bool) -> Option<How> {
        if !self.counted.contains(call) {
            return None;
        }
        let mut armed = self.armed.lock();
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        // Late ones that found no work at their own call are still there, below.
        let (&due, &how) = armed.range(..=number).find(|(_, how)| enqueues || !matches!(how, How::Late | How::LateDone))?;
        armed.remove(&due);
        self.fired.fetch_add(1, Ordering::SeqCst);
        Some(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_counted_call_fails_and_no_other() {
        let plan = FaultPlan::new(Calls::FILL | Calls::COPY);
        assert_eq!(plan.meet(Calls::FILL, true), None);
        plan.arm(2, How::Driver).unwrap();
        assert_eq!(plan.meet(Calls::READ, true), None);
        assert_eq!(plan.meet(Calls::COPY, true), None);
        assert_eq!((plan.calls(), plan.fired()), (2, 0));
        assert_eq!(plan.meet(Calls::FILL, true), Some(How::Driver));
        assert_eq!(plan.meet(Calls::FILL, true), None);
        assert_eq!((plan.calls(), plan.fired()), (4, 1));
        plan.arm(1, How::Lost).unwrap();
        plan.disarm();
        assert_eq!(plan.meet(Calls::FILL, true), None);
    }

    #[test]
    fn a_late_failure_waits_for_a_call_that_enqueues_something() {
        let plan = FaultPlan::default();
        plan.arm(1, How::Late).unwrap();
        plan.arm(2, How::OutOfMemory).unwrap();
        assert_eq!(plan.meet(Calls::ALLOCATE, false), None);
        assert_eq!(plan.meet(Calls::ALLOCATE, false), Some(How::OutOfMemory));
        assert_eq!(plan.meet(Calls::COPY, true), Some(How::Late));
        assert_eq!(plan.meet(Calls::COPY, true), None);
    }

    #[test]
    fn a_plan_for_devices_that_never_fail_late_refuses_late_failures() {
        let plan = FaultPlan::never_late(Calls::ALL);
        assert_eq!(plan.arm(1, How::LateDone), Err(NotLate));
        plan.arm(1, How::Panic).unwrap();
        assert_eq!(plan.meet(Calls::COPY, true), Some(How::Panic));
    }
}
