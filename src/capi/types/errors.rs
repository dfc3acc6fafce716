//! What errors say about themselves: structs and constants. See `types.rs` for what holds for all of them.

#![allow(non_camel_case_types)]

use std::ffi::c_char;

use super::super::status::compute_status;

/// As the form of `compute_error_format`: for people.
pub const COMPUTE_FORMAT_TEXT: u32 = 0;
/// As the form of `compute_error_format`: a JSON object.
pub const COMPUTE_FORMAT_JSON: u32 = 1;

/// What an error says about itself, all but its text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_error_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Its status.
    pub status: compute_status,
    /// 1: this kernel or configuration can never run here, drop the candidate.
    pub refusal: u32,
    /// 1: drop the device.
    pub poisoned: u32,
    /// 1: could succeed after memory is reclaimed.
    pub reclaimable: u32,
    /// 1: reached through at least one skip.
    pub skip: u32,
    /// Id of the failure that claims the bytes, unique in the process; 0: none.
    pub failure: u64,
    /// How many buffers that failure still claims.
    pub claimed_buffers: u64,
    /// 1: the failure happened before anything reached the device, so `compute_reinstate` can lift its claims.
    pub untouched: u32,
    /// Line in the kernel's source, from 1; 0: unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0: unknown.
    pub column: u32,
    /// Entries of the chain that can be asked for, newest first.
    pub chain_count: u32,
    /// Skips in all that the failure caused.
    pub chain_total: u64,
    /// Members, when several failures claim the bytes.
    pub member_count: u32,
    /// 1: there is a root error besides this one.
    pub has_root: u32,
    /// The driver's own code; see `compute_error_driver_name`.
    pub driver_code: i64,
    /// Number of the operation that it is about, unique in the process; 0: none.
    pub operation: u64,
    /// Id of the stream that it is about; 0: none.
    pub stream: u64,
}

/// One entry of an error's chain: work that was skipped because it needed bytes that had failed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_chain_entry {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// 1: the work ran and used the bytes before their failure was known; 0: it was skipped.
    pub used: u32,
    /// Number of the operation.
    pub operation: u64,
    /// Id of its stream.
    pub stream: u64,
    /// Id of the buffer that it needed.
    pub buffer: u64,
    /// Entry point, or the name of the operation; NUL-terminated, cut to fit.
    pub kernel: [c_char; 64],
    /// Its label.
    pub label: [c_char; 64],
    /// Label of the buffer.
    pub buffer_label: [c_char; 64],
}
