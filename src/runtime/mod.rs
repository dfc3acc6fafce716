//! The safe core: devices, streams, buffers, kernels, launches, events, and the trust rules that bind them together.
//!
//! Knows the device interface and the portable kernels, never a driver; has no `unsafe`, no C type, and no panic for any input. Every check of what
//! a caller asks for is here, so that `capi` only translates and devices never refuse. What calls answer:
//!
//! - `Ok(..)`, with [`Outcome::Skipped`] and [`Wait::TimedOut`] as answers that are no error;
//! - `Err(Arc<Failed>)`: the error, and the report of the failure that bytes lead back to.
//!
//! Requests ([`Launch`], [`Place`]) carry what the caller gave, unchecked, since a refused call still claims the outputs it can make out (T2).

mod between;
mod bind;
mod buffer;
pub mod code;
mod compile;
mod device;
mod disk;
mod error;
mod event;
mod exclusive;
mod export;
mod fit;
mod graph;
mod import;
mod kernel;
mod late;
mod launch;
pub mod log;
mod mapping;
mod memory;
mod native;
mod native_event;
mod place;
mod prints;
mod queue;
mod readback;
mod refuse;
mod rows;
mod section;
mod sizing;
mod stream;
mod strided;
mod transfer;
mod trust;

pub use between::{copy_between, reaches};
pub use buffer::{Buffer, BufferOptions, View};
pub use compile::compile_queued;
pub use compute_memory::{Arrangement, MOST_DIMENSIONS, TensorPlace, TensorSpec};
pub use device::{Device, DeviceOptions};
pub use disk::{DEFAULT_LIMIT as DEFAULT_DISK_LIMIT, DiskOptions, DiskReport, Process};
pub use error::{Failed, Result};
pub use event::{Callback, Event, wait_several};
pub use export::{Native, export, written};
pub use graph::{Graph, GraphBuilder, GraphFacts, GraphOptions, NodeFacts, NodeId, NodeKind, Request, replay};
pub use import::ImportOptions;
pub use kernel::{Compile, Kernel, KernelOptions};
pub use launch::{Binding, Grid, Input, Launch, Mode, launch, refuse_launch, refuse_launch_of_each};
pub use mapping::{Access, Mapping};
pub use memory::{
    AllocationMode, Budget, Compacted, LARGEST_KEPT, PoolKind, PoolLayout, PoolReport, PoolSpec, Seat, Usage, take_kept,
};
pub use native::{NativeOptions, ParameterKind, ParameterOptions};
pub use place::Place;
pub use readback::Readback;
pub use section::Outcome;
pub(crate) use section::{put, room_for};
pub use sizing::{Spread, spread, vector_widths, workgroup_size};
pub use stream::{Stream, Wait};
pub use strided::{Tensor, copy_strided, layout, read_strided, refuse_strided, write_strided};
pub use transfer::{Source, copy, fill, read, read_async, refuse_write, write};
pub use trust::{check_now as check, reinstate};
