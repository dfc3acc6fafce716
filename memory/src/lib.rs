//! Where allocations lie in pages of device memory: offset arithmetic and nothing else.
//!
//! In here: pools that cut pages into slices, when a released slice may be handed out again, layouts and their checks, budgets, reports, the plan
//! of a compaction, tensors in an allocation. Not in here: pointers, devices, locks, waiting. The caller gets pages from a driver and gives them back,
//! holding no lock of its own if it likes: [`Pools::allocate`] answers with a place or with the page that it needs.
//!
//! - **Offsets are exact.** All sizes are bytes in 64 bits, all sums are checked (M9).
//! - **Giving back needs no memory** (F2). What [`Pools::release`] will need is reserved by the allocation.
//! - **Order is the caller's.** The pools know positions of one queue, their own, on which slices are handed out again at once because the queue
//!   runs in order; and uses elsewhere, opaque to them, which they ask about ([`Progress`]).
//! - Every operation on slices takes a bounded number of steps, however many slices are live.
#![forbid(unsafe_code)]

mod bins;
mod budget;
mod compact;
mod layout;
#[cfg(test)]
mod model;
mod pool;
mod pools;
mod refusal;
mod report;
mod strided;
mod tensor;

pub use budget::{Budget, OverBudget};
pub use compact::Move;
pub use layout::{Kind, Layout, LayoutError, PoolSpec};
pub use pools::{Answer, Mode, PageRequest, Placement, Pools, PoolsInUse, Progress, Released, Settings, Unwanted};
pub use refusal::{Reason, Refusal, Room};
pub use report::PoolReport;
pub use strided::{Footprint, Piece, Transfer, packed};
pub use tensor::{Arrangement, MOST_DIMENSIONS, TensorError, TensorPlace, TensorSpec, carve};
