//! libcompute: an embeddable GPU compute runtime with a plain C ABI.

pub mod capi;
#[forbid(unsafe_code)]
pub mod registry;
#[forbid(unsafe_code)]
pub mod runtime;
