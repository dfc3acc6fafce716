//! Buffers, views, tensors, pools and budgets: structs and constants. See `types.rs` for what holds for all of them.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

use super::{compute_buffer, compute_stream};

/// Never-written bytes of this buffer are claimed by NEVER_WRITTEN rather than read as zeros (T1).
pub const COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN: u64 = 1 << 0;

/// This buffer lives long: it comes from the persistent pools, so that it does not keep pages of short-lived buffers from going back.
pub const COMPUTE_BUFFER_FLAG_PERSISTENT: u64 = 1 << 1;

/// Memory is taken at the first use (M5). A use for which there is none fails with `COMPUTE_ERROR_NOT_BACKED`, and that failure claims the buffer.
pub const COMPUTE_BUFFER_FLAG_DEFERRED: u64 = 1 << 4;

/// `compute_stream_compact` leaves this buffer where it is.
pub const COMPUTE_BUFFER_FLAG_FIXED: u64 = 1 << 5;
/// Never-written bytes of this buffer read as zeros, on a device with `COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN` too. Costs nothing: bytes are zeroed when
/// something would read them.
pub const COMPUTE_BUFFER_FLAG_ZEROED: u64 = 1 << 2;

/// This buffer can be mapped (`compute_buffer_map`). Refused on devices without `COMPUTE_CAPABILITY_HOST_VISIBLE`.
pub const COMPUTE_BUFFER_FLAG_HOST_VISIBLE: u64 = 1 << 3;

/// Scratch: only the buffer's stream may use it, for a moment; it counts towards the stream's limit (`compute_stream_set_scratch_limit`). Released, its memory is
/// there again at once for what the stream does next; under a budget, for a buffer of about its size, and for others when its use is over.
pub const COMPUTE_BUFFER_FLAG_SCRATCH: u64 = 1 << 6;

/// How to make a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_buffer_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Bytes; 0 makes an empty buffer.
    pub size: u64,
    /// `COMPUTE_BUFFER_FLAG_...`
    pub flags: u64,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Zero.
    pub next: *const c_void,
    /// The stream whose pools it comes from (M1), or NULL: the device's own. Any stream may use the buffer. Memory that was released and used on that
    /// stream only is there again at once, without waiting for the work.
    pub stream: compute_stream,
}

/// A byte range of a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_view {
    /// The buffer.
    pub buffer: compute_buffer,
    /// Start in bytes.
    pub offset: u64,
    /// Bytes, or `COMPUTE_WHOLE`.
    pub size: u64,
}

/// Most dimensions of a tensor.
pub const COMPUTE_MOST_DIMENSIONS: u32 = 8;

/// The rows of a tensor follow each other without gaps.
pub const COMPUTE_ARRANGEMENT_CONTIGUOUS: u32 = 0;
/// Each row (of the last dimension) starts at a multiple of what the device likes best; what is between rows is padding.
pub const COMPUTE_ARRANGEMENT_OPTIMIZED: u32 = 1;

/// A tensor to be placed in a buffer, by `compute_device_layout_tensors`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_tensor_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element.
    pub rank: u32,
    /// Elements of each dimension, the slowest first. A 0 makes an empty tensor.
    pub shape: *const u64,
    /// Bytes of an element, more than 0.
    pub element_size: u64,
    /// `COMPUTE_ARRANGEMENT_...`
    pub arrangement: u32,
    /// Zero.
    pub reserved: u32,
}

/// Where a tensor lies in a buffer. All in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_tensor_place {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions.
    pub rank: u32,
    /// Of its first element.
    pub offset: u64,
    /// From its first to behind its last element; 0 for an empty tensor.
    pub size: u64,
    /// From the start of a row to that of the next.
    pub pitch: u64,
    /// Of each dimension, for `compute_strided_desc`; 0 beyond the rank.
    pub strides: [i64; 8],
}

/// The elements that a strided transfer moves, and how they lie at both ends. Strides are in bytes, one for each dimension, not negative, and such that
/// no elements overlap or interleave: sorted by size, each is at least what the dimensions inside it span.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_strided_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element.
    pub rank: u32,
    /// Elements of each dimension, the slowest first. A 0: there is nothing to move.
    pub shape: *const u64,
    /// Bytes of an element, more than 0.
    pub element_size: u64,
    /// Strides at the source (host memory of a write, the view of a read); NULL: without gaps.
    pub from_strides: *const i64,
    /// Strides at the destination; NULL: without gaps.
    pub to_strides: *const i64,
}

/// Memory of a device in use.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_memory_usage {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Live buffers.
    pub buffers: u64,
    /// Their bytes as asked for.
    pub bytes_in_use: u64,
    /// Bytes taken from the driver.
    pub bytes_reserved: u64,
    /// The most that `bytes_in_use` has been.
    pub bytes_in_use_peak: u64,
    /// The most that `bytes_reserved` has been.
    pub bytes_reserved_peak: u64,
    /// Bytes of ended buffers that work still uses on another stream than theirs; not handed out again before it is over.
    pub bytes_pending: u64,
    /// Bytes in pages that hold nothing: what `compute_device_cleanup` gives back, once it is not in use.
    pub bytes_idle: u64,
    /// The largest run of free bytes in any page.
    pub largest_free: u64,
    /// Host memory for bytes on their way from the device, in use or kept for the next; `compute_device_cleanup` lets go of what is kept.
    pub bytes_staging: u64,
    /// Bytes of live buffers that were imported (`compute_buffer_import`), which are in none of the above; `buffers` counts those buffers.
    pub bytes_imported: u64,
}

/// A budget (M6). Bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_budget_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The ceiling.
    pub limit: u64,
    /// Charged now: live buffers, and ended ones that work still uses, as the pools round them; and bytes on their way to or from the device.
    pub charged: u64,
    /// The most that was charged at once.
    pub charged_peak: u64,
}

/// A pool whose pages hold many allocations.
pub const COMPUTE_POOL_SLICED: u32 = 1;
/// A pool whose pages hold one allocation each.
pub const COMPUTE_POOL_EXCLUSIVE: u32 = 2;

/// One pool of a layout. Bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_pool_desc {
    /// `COMPUTE_POOL_...`
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// Larger allocations go to a later pool. `COMPUTE_WHOLE`: takes all.
    pub largest: u64,
    /// Size of the first page, a multiple of 256 and of the device's alignments. 0 in an exclusive pool.
    pub page: u64,
    /// Pages grow with the pool up to this. 0: they do not grow.
    pub page_most: u64,
    /// The most bytes in pages. 0: no cap.
    pub cap: u64,
}

/// What a compaction came to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_compaction_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Buffers moved.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in pages given back to the driver.
    pub bytes_freed: u64,
}

/// One pool of a stream (M4). Bytes, as pages are cut: an allocation counts with what it takes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_pool_report {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_POOL_...`
    pub kind: u32,
    /// 1 for a pool of long-lived buffers.
    pub persistent: u32,
    /// Zero.
    pub reserved: u32,
    /// The largest allocation that goes here.
    pub largest: u64,
    /// The size of its next page, at least; 0 in an exclusive pool.
    pub page_size: u64,
    /// The most bytes that it may have in pages; `COMPUTE_WHOLE`: no cap.
    pub cap: u64,
    /// Pages.
    pub pages: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Bytes in them.
    pub bytes_in_use: u64,
    /// Bytes released that other streams still use.
    pub bytes_pending: u64,
    /// Bytes in pages.
    pub bytes_reserved: u64,
    /// The largest run of free bytes.
    pub largest_free: u64,
    /// The most that `bytes_in_use` and `bytes_pending` have been together.
    pub bytes_in_use_peak: u64,
    /// The most that `bytes_reserved` has been.
    pub bytes_reserved_peak: u64,
    /// The most that `pages` has been.
    pub pages_peak: u64,
}
