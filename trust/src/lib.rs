//! Which bytes may be read: the bookkeeping behind the rules T1 to T5, T8, T9 and T13, and nothing else.
//!
//! Pure: no device, no driver, no pointer, no `unsafe`, no I/O. Everything is exact to the byte and checked against a model that knows
//! what every byte really holds. It is a crate of its own so that the compiler enforces that, and so that its thread models build in seconds.
//!
//! - [`Map`]: which bytes of one allocation are never written, trusted or claimed, and by which failure.
//! - [`Failure`]: what a claim carries: the root error and the newest skips that it caused. It lives while some claim carries it.
//! - [`Report`]: what a read over claimed bytes answers, built when somebody asks.
//! - [`Journal`]: accepted work that can still fail, in one order, and what may derive from it.
//! - [`Mark`], [`Gate`], [`Uses`]: who holds an allocation while a call decides, and when it was last used.
#![forbid(unsafe_code)]

mod carried;
mod error;
mod failure;
mod ids;
mod journal;
mod map;
mod mark;
mod ranges;
mod report;
mod room;
mod sync;

pub use error::{About, Answers, Diagnostic, DriverCode, Error, Location};
pub use failure::{Buffer, Failure, KEPT_MEMBERS, KEPT_SKIPS, Skip, codes};
pub use ids::{Ids, Numbers};
pub use journal::{Entry, Journal, LateClaim, Part, Touch, Watch};
pub use map::{MAX_RANGES, Map};
pub use mark::{Found, Gate, LastUses, MAX_POSITION, MAX_QUEUES, Mark, Refused, Use, Uses};
pub use report::Report;
pub use room::NoMemory;

#[cfg(test)]
mod model;
