//! The status codes that the runtime gives; `capi/status.rs` says what each means to a caller, and a test keeps the two equal.

#![allow(missing_docs)]

pub const INVALID_ARGUMENT: i32 = -100;
pub const INVALID_HANDLE: i32 = -101;
pub const FOREIGN_HANDLE: i32 = -102;
pub const OUT_OF_RANGE: i32 = -106;
pub const OVERLAP: i32 = -107;
pub const BUSY: i32 = -108;
pub const LIMIT: i32 = -110;
pub const MISALIGNED: i32 = -111;
pub const UNSUPPORTED: i32 = -112;
pub const BINDING: i32 = -113;
pub const NOT_FOUND: i32 = -115;
pub const INVALID_LAYOUT: i32 = -116;
pub const UNSUPPORTED_STRIDES: i32 = -117;
pub const RECORDING: i32 = -118;
pub const CAPTURE: i32 = -119;
pub const ALREADY_OWNED: i32 = -120;
pub const READ_ONLY: i32 = -121;
pub const OUT_OF_MEMORY: i32 = -200;
pub const TOO_LARGE: i32 = -201;
pub const POOLS_IN_USE: i32 = -202;
pub const BUDGET: i32 = -203;
pub const NOT_BACKED: i32 = -204;
pub const POOLS_FROZEN: i32 = -205;
pub const POOL_FULL: i32 = -206;
pub const NO_DEVICE: i32 = -300;
pub const DEVICE_POISONED: i32 = -301;
pub const DRIVER: i32 = -302;
pub const TARGET: i32 = -303;
pub const STILL_BORROWED: i32 = -304;
pub const COMPILE: i32 = -400;
pub const KERNEL_FAULT: i32 = -401;
pub const TIME_LIMIT: i32 = -402;
pub const GRID_LIMIT: i32 = -403;
pub const UNWRITTEN: i32 = -500;
pub const SEVERAL: i32 = -501;
pub const NEVER_WRITTEN: i32 = -502;
pub const ABANDONED: i32 = -503;
pub const INTERNAL: i32 = -600;
