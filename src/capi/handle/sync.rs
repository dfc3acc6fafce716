//! The atomics of the handle table, in one place so that the thread models can put loom's in their stead.

pub(super) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
