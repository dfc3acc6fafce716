//! Which bytes may be read: the bookkeeping behind the rules T1 to T5, T8, T9 and T13, and nothing else.
//!
//! Pure: no device, no driver, no pointer, no `unsafe`, no I/O. Everything is exact to the byte and checked against a model that knows
//! what every byte really holds. It is a crate of its own so that the compiler enforces that, and so that its thread models build in seconds.
#![forbid(unsafe_code)]

mod error;
mod mark;
mod sync;

pub use error::{About, Answers, DriverCode, Error, Location};
pub use mark::{Found, Gate, MAX_POSITION, MAX_QUEUES, Mark, Refused, Use, Uses};
