//! The wgpu device: any GPU that Vulkan, Metal, Direct3D 12 or OpenGL reaches.
//!
//! From the outside in: [`WgpuDriver`] finds adapters and opens a `device` (`memory`: blocks; `kernel`: pipelines; `artifact`: what is kept of one). wgpu has one queue, so a device has
//! one `queue`. What is enqueued is collected in a `batch`, as `commands`; `sending` submits it when it is large, old or waited for, and its `flight` ends when
//! wgpu says so, seen by a thread of the queue or by whoever waits. Bytes pass through the chunks of `staging`. `moves` has the kernels of our own
//! that do what wgpu's copies cannot: any byte, and within one buffer.
//!
//! `launches` turns what the runtime asks for into commands, in `slices` where the device was opened for that; `stamps` has the times of events. `host` opens a device on the
//! host program's Vulkan device, `gpu` keeps its queue from being used by two at once, `turns` drivers from being
//! opened by two, `loaded` keeps what they cannot be loaded again without, and `vulkan` asks Vulkan what wgpu does not tell.
//!
//! What wgpu tracks per buffer decides much here; the rule is in `docs/device-interface.md`, "Pages on wgpu".
//!
//! Locks, in the order in which they may be taken: a queue's recorder, the turn to send, its flight list, any other. wgpu's own errors are caught in scopes (`errors`) and never
//! panic.

mod artifact;
mod batch;
mod commands;
mod device;
mod driver;
mod errors;
mod exit;
mod flight;
mod gpu;
mod graph;
mod groups;
mod host;
mod kernel;
mod launches;
mod loaded;
mod memory;
mod moves;
mod passthrough;
mod proof;
mod queue;
mod sending;
mod slices;
mod staging;
mod stamps;
#[cfg(test)]
mod tests;
mod turns;
mod vulkan;

pub use driver::{StagingWgpuDriver, WgpuDriver};
