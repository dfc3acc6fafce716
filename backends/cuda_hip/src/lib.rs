//! Devices of NVIDIA and AMD, written once. `backends/cuda` and `backends/hip` are data for this crate: see [`driver`].
//!
//! From the outside in: [`GpuDriver`] opens a vendor's library (`probe`) and a `device` on it (`memory`: blocks; `kernel`: code, native code in `declared`, which suits by `source`, `compiler` has what compiles text, its tensor maps in `tensor_map`). Its queues are streams:
//! Graphs are kept ready by `graph`, the driver's own by `native`. `queue` turns ids into addresses (`op`), `lane` puts operations into the stream or holds them back (`launch`: launches and replays; `moves`, `upload`: copies; `plain`: the short way of most launches), `flight` knows how far the
//! stream is. Events are recorded only when somebody wants to know. Bytes pass through pinned memory (`staging`). Two threads of each device do what
//! has to happen while nobody calls: `attendant` for the queues, `reclaim` for what may wait when it is ended. How a device ends is in `fate`, what may have ended it in `suspects`, how long answers that say nothing are borne in `doubt`. More come and go with long reads (`compute_hal::movers`).
//!
//! Locks, in the order in which they may be taken: a queue's `submit`, its `ending`, its `flight`, any other. No lock is held while foreign code is called.

mod api;
mod artifact;
mod attendant;
mod compiler;
mod context;
mod declared;
mod device;
mod doubt;
pub mod driver;
pub mod elf;
mod events;
mod exit;
mod fat;
mod fate;
mod flight;
mod foreign;
mod forms;
mod graph;
mod held;
mod kernel;
mod lane;
mod launch;
mod library;
mod limit;
mod memory;
mod moves;
mod native;
mod nodes;
mod op;
mod peer;
mod pieces;
mod plain;
mod probe;
mod queue;
mod reclaim;
mod source;
mod staging;
mod suspects;
mod tensor_map;
mod upload;

use compute_hal::table;
pub use probe::GpuDriver;
