//! The C boundary: every export, every pointer that comes from C, and nothing that decides anything about a device.
//!
//! One file per noun. `boundary` has what every export goes through, `handle` the tables behind the handles.

#[allow(dead_code)]
mod handle;
pub mod status;
pub mod types;
