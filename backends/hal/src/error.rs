//! The few ways in which a device can fail.

use std::sync::Arc;

use compute_kernel::reflection::Location;
use thiserror::Error;

use crate::{ImportRefusal, Position};

/// An immediate failure of a device call.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is not enough memory now; less, or later, may work.
    #[error("out of memory: {asked} bytes asked for, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that the driver calls free, where it tells.
        free: u64,
    },
    /// There is no memory now for something of the driver's own, whose size it does not tell.
    #[error("out of memory: the driver has none for {what} ({call})")]
    NoMemoryFor {
        /// What was being made.
        what: &'static str,
        /// By which call.
        call: &'static str,
    },
    /// This size can never work here.
    #[error("{asked} bytes asked for, at most {limit} possible")]
    TooLarge {
        /// Bytes asked for.
        asked: u64,
        /// The limit.
        limit: u64,
    },
    /// The kernel does not compile for this device.
    #[error("{log}")]
    Compile {
        /// The compiler's words.
        log: String,
        /// Where, when known.
        location: Option<Location>,
        /// Whether this source can never compile here (a crash of the compiler is not such a case).
        refusal: bool,
    },
    /// The device is beyond use; [`crate::Device::fault`] says the same from now on.
    #[error("device lost: {}", .0.message)]
    Lost(FaultCause),
    /// The device cannot do this at all; its capabilities said so.
    #[error("not supported by the device: {0}")]
    Unsupported(&'static str),
    /// Memory of somebody else's that cannot be used here (T14).
    #[error("the memory cannot be imported: {message}")]
    NotImportable {
        /// Why.
        reason: ImportRefusal,
        /// For people.
        message: String,
    },
    /// A call of the driver failed and left the device usable.
    #[error("{call} failed: {name} ({code}): {message}")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's number.
        code: i64,
        /// The driver's name of it.
        name: String,
        /// More, for people.
        message: String,
    },
    /// A bug of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

/// Why a device is beyond use (T12). Cheap to clone, the same for every caller.
#[derive(Clone, Debug)]
pub struct FaultCause {
    /// The driver's number.
    pub code: i64,
    /// The driver's name of it.
    pub name: Arc<str>,
    /// For people: what happened, to what.
    pub message: Arc<str>,
    /// Whether a new device can be opened in this process.
    pub reopen: bool,
}

/// Work that was accepted and failed later, without poisoning the device (T13).
#[derive(Clone, Debug)]
pub struct LateFailure {
    /// The work.
    pub position: Position,
    /// Why.
    pub cause: LateCause,
}

/// Why accepted work failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LateCause {
    /// An access out of range in validate mode (L5): the first one seen.
    OutOfBounds {
        /// Where in the source.
        location: Location,
        /// The index used.
        index: i64,
        /// The length that it must stay below.
        length: u64,
        /// Global invocation id.
        invocation: [u32; 3],
        /// What was indexed, by its name in the source.
        what: String,
    },
    /// The kernel ran past its time limit and was stopped.
    TimeLimit {
        /// The limit in nanoseconds.
        limit: u64,
    },
    /// An indirect grid asked for more than the limits (L2): nothing ran.
    GridLimit {
        /// What was asked for.
        asked: [u32; 3],
        /// What is allowed.
        allowed: [u32; 3],
    },
    /// The driver says so, late.
    Driver {
        /// The driver's number.
        code: i64,
        /// The driver's name of it.
        name: String,
        /// More, for people.
        message: String,
    },
    /// Of a replay: a node of the graph failed.
    Node {
        /// Its index.
        node: u32,
        /// Why; not another node.
        cause: Box<LateCause>,
    },
}

impl LateCause {
    /// The same, known to be of a node of a graph.
    #[must_use]
    pub fn of_node(self, node: u32) -> Self {
        Self::Node { node, cause: Box::new(self) }
    }
}
