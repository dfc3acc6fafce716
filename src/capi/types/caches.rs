//! Structs of the cache of compiled kernels on disk.

use std::ffi::{c_char, c_void};

/// In `compute_cache_info.state`: the device was opened without a folder.
pub const COMPUTE_CACHE_NONE: u32 = 0;
/// Kernels are looked for in the folder, and kept there.
pub const COMPUTE_CACHE_ON: u32 = 1;
/// A folder was given and is not used; `reason` says why.
pub const COMPUTE_CACHE_REFUSED: u32 = 2;

/// Chained to `compute_device_desc`: compiled kernels are kept in a folder, where later devices and processes find them (L7). What is there is taken only if it is whole, and of
/// the same kernel, options, device, driver, compiler and version of this library to the letter; otherwise the kernel is compiled and the file replaced. Nothing about the
/// folder is ever an error of a call: what is wrong is logged and counted (`compute_device_cache_info`). Any number of devices and processes may share one.
///
/// Native sources are kept where they are compiled and are all that is read for that: C++ of vendors that includes nothing but its own headers, with options that name no
/// files, and SPIR-V. Code needs no compiler, and what a driver makes of PTX it keeps itself.
///
/// **Whoever can write to the folder can have the process run code of theirs.** It must be this user's own (or root's), with no right to write for others, and so must
/// all folders above it and links to it, but for those where everybody may only rename what is theirs (`/tmp`); a group with its owner's number is that owner. Otherwise it
/// is not used. On Windows none is yet: who may write there is told by lists that nothing here reads, so the answer is `COMPUTE_CACHE_REFUSED`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_cache_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CHAINED_CACHE`
    pub kind: u32,
    /// The next one, or NULL.
    pub next: *const c_void,
    /// Path of the folder; made, for this user alone, if it is not there.
    pub folder: *const c_char,
    /// Its length.
    pub folder_length: usize,
    /// Bytes that kernels may take in the folder, in blocks of 4096, beyond which those used longest ago are removed; 0: 256 MiB. Each process looks when it has written an eighth of it, so several may exceed
    /// it by that for a while.
    pub max_bytes: u64,
}

/// What a device's cache on disk has done. Filled by `compute_device_cache_info`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_cache_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_CACHE_...`
    pub state: u32,
    /// Kernels that came from the folder.
    pub hits: u64,
    /// Kernels that were not there.
    pub misses: u64,
    /// Files that were there and not taken: damaged, of something else, or unreadable.
    pub rejected: u64,
    /// Kernels that were put there.
    pub stored: u64,
    /// Kernels that could not be put there.
    pub failed: u64,
    /// Files that this device removed because there were too many bytes.
    pub evicted: u64,
    /// Bytes that hits have read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Bytes that kernels may take in the folder.
    pub max_bytes: u64,
    /// Why the folder is not used, NUL-terminated, cut to fit; else empty.
    pub reason: [c_char; 256],
}
