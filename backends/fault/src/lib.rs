//! Stand-ins for devices: one that fails on demand, and one that does nothing.
//!
//! [`FaultDriver`] wraps any driver, [`wrap`] any device. What fails when is said by a [`FaultPlan`], shared between the test and the device.
//! Nothing in here knows which device it wraps. [`NullDriver`] is for measuring what the host's side of a call costs: its queues complete
//! everything at once and touch nothing. Both are built into the library, to be chosen when a device is opened.

mod device;
mod null;
mod plan;
mod queue;

pub use device::{FaultDriver, wrap};
pub use null::NullDriver;
pub use plan::{Calls, FaultPlan, How, NotLate};
