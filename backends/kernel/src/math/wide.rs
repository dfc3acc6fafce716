//! The functions of f32 before their result is rounded: what they take must be an f32, what they give becomes one by rounding once.
//!
//! For code that converts on its own. A processor may wait for an old value of a register when it converts into it, so a function that begins by
//! converting can cost as much as a chain of all the calls before it.

pub use libm::{acos, acosh, asin, asinh, atan, atan2, atanh};

pub use super::exponential::{cosh, exp, exp2, log, log2, pow, sinh, tanh};
pub use super::trigonometric::{cos, sin, tan};
