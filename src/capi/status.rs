//! Status codes. Never renumbered; a retired number stays here as a comment. Callers tolerate new ones by their block.

#![allow(non_camel_case_types)]

/// Result of every fallible call: 0 is success; positive is an answer that is no error and makes no error object; negative is an error. The
/// hundreds tell the class, so that an unknown code can still be classed: -1xx a mistake of the caller, -2xx resources, -3xx the device,
/// -4xx the kernel, -5xx bytes that cannot be trusted, -6xx a bug of the library.
pub type compute_status = i32;

/// Success.
pub const COMPUTE_OK: compute_status = 0;
/// What was polled has not finished yet.
pub const COMPUTE_NOT_READY: compute_status = 1;
/// The time ran out before what was waited for finished. Nothing is wrong with it.
pub const COMPUTE_TIMEOUT: compute_status = 2;
/// The caller's array or text buffer was too small; it was filled as far as it goes and the needed count was told.
pub const COMPUTE_INCOMPLETE: compute_status = 3;
/// The work did not run, because bytes that it reads are claimed by a failure. Its outputs carry the same failure.
pub const COMPUTE_SKIPPED: compute_status = 4;

/// An argument has a value that it may not have; the message names it.
pub const COMPUTE_ERROR_INVALID_ARGUMENT: compute_status = -100;
/// A handle is stale, destroyed, of another type, of another copy of the library, or garbage.
pub const COMPUTE_ERROR_INVALID_HANDLE: compute_status = -101;
/// A good handle that belongs to another device than the call.
pub const COMPUTE_ERROR_FOREIGN_HANDLE: compute_status = -102;
/// A descriptor's `struct_size` is too small, or its unknown tail is not zero.
pub const COMPUTE_ERROR_INVALID_STRUCT: compute_status = -103;
/// An enumerated value or a flag is unknown.
pub const COMPUTE_ERROR_INVALID_ENUM: compute_status = -104;
/// A string is not UTF-8.
pub const COMPUTE_ERROR_INVALID_UTF8: compute_status = -105;
/// A view, an offset or a size lies outside of what it is taken from.
pub const COMPUTE_ERROR_OUT_OF_RANGE: compute_status = -106;
/// Two ranges overlap where one of them is written.
pub const COMPUTE_ERROR_OVERLAP: compute_status = -107;
/// Not possible in the present state; the message says what has to happen first.
pub const COMPUTE_ERROR_BUSY: compute_status = -108;
/// The process was forked after a device had been opened; the child must not use the library.
pub const COMPUTE_ERROR_FORKED: compute_status = -109;
/// More than the device or the kernel allows; the message has both numbers.
pub const COMPUTE_ERROR_LIMIT: compute_status = -110;
/// An offset or size is not aligned as required.
pub const COMPUTE_ERROR_MISALIGNED: compute_status = -111;
/// The device cannot do this; its capabilities say so.
pub const COMPUTE_ERROR_UNSUPPORTED: compute_status = -112;
/// A launch's bindings do not match the kernel: missing, unknown, given twice, too small, or of the wrong kind.
pub const COMPUTE_ERROR_BINDING: compute_status = -113;
/// The header and the library do not fit together.
pub const COMPUTE_ERROR_ABI: compute_status = -114;
/// A name that was asked for does not exist.
pub const COMPUTE_ERROR_NOT_FOUND: compute_status = -115;
/// A layout of pools that cannot be; the message says why.
pub const COMPUTE_ERROR_INVALID_LAYOUT: compute_status = -116;
/// Strides that no transfer here can have: negative, or so scattered that it would take too many calls of the device.
pub const COMPUTE_ERROR_UNSUPPORTED_STRIDES: compute_status = -117;
/// Not possible while the stream records a graph. The call did nothing, and the window is doomed.
pub const COMPUTE_ERROR_RECORDING: compute_status = -118;
/// The window gives no graph; the message names the operation that doomed it, and why. What it would have written is claimed by this failure.
pub const COMPUTE_ERROR_CAPTURE: compute_status = -119;
/// Memory that was to be imported is the library's already: of a buffer or pool of its own, or imported and not let go of yet.
pub const COMPUTE_ERROR_ALREADY_OWNED: compute_status = -120;
/// The call would write to a buffer that was imported to be read.
pub const COMPUTE_ERROR_READ_ONLY: compute_status = -121;

/// Not enough memory now; the message says how much was asked for and how much is free.
pub const COMPUTE_ERROR_OUT_OF_MEMORY: compute_status = -200;
/// This size can never be allocated here.
pub const COMPUTE_ERROR_TOO_LARGE: compute_status = -201;
/// Pools cannot be replaced while allocations live in them.
pub const COMPUTE_ERROR_POOLS_IN_USE: compute_status = -202;
/// The stream's budget does not allow it; the message has the numbers. Reclaimable unless the whole budget would not be enough.
pub const COMPUTE_ERROR_BUDGET: compute_status = -203;
/// A deferred allocation could not be made when its buffer was first used; the message has the cause. The buffer is claimed by this failure.
pub const COMPUTE_ERROR_NOT_BACKED: compute_status = -204;
/// The pools are frozen and have no room: no page may be taken from the device now. The message says how much is missing.
pub const COMPUTE_ERROR_POOLS_FROZEN: compute_status = -205;
/// The pool is at its cap and may have no page of the size that it would take; the message says how much is free, and in what runs.
pub const COMPUTE_ERROR_POOL_FULL: compute_status = -206;

/// No such device; the message lists what was tried.
pub const COMPUTE_ERROR_NO_DEVICE: compute_status = -300;
/// The device is beyond use since the failure that the error names.
pub const COMPUTE_ERROR_DEVICE_POISONED: compute_status = -301;
/// A call of the driver failed; the error has its code and name.
pub const COMPUTE_ERROR_DRIVER: compute_status = -302;
/// The device is not the exact target that was asked for.
pub const COMPUTE_ERROR_TARGET: compute_status = -303;
/// The device is beyond use, and may still reach the host memory that this event borrowed. Ask again until the answer is another.
pub const COMPUTE_ERROR_STILL_BORROWED: compute_status = -304;

/// The kernel does not compile; the error has the place and the compiler's words.
pub const COMPUTE_ERROR_COMPILE: compute_status = -400;
/// A kernel in validate mode went out of bounds.
pub const COMPUTE_ERROR_KERNEL_FAULT: compute_status = -401;
/// A kernel ran past its time limit and was stopped.
pub const COMPUTE_ERROR_TIME_LIMIT: compute_status = -402;
/// An indirect grid was larger than allowed; nothing ran.
pub const COMPUTE_ERROR_GRID_LIMIT: compute_status = -403;

/// The bytes asked for are claimed by a failure, which the error leads back to.
pub const COMPUTE_ERROR_UNWRITTEN: compute_status = -500;
/// The bytes asked for are claimed by several failures: the members of the error.
pub const COMPUTE_ERROR_SEVERAL: compute_status = -501;
/// Bytes that nothing has written (with strict_unwritten).
pub const COMPUTE_ERROR_NEVER_WRITTEN: compute_status = -502;
/// A call was abandoned before it could tell its outcome.
pub const COMPUTE_ERROR_ABANDONED: compute_status = -503;

/// A bug of the library. What the call was writing stays claimed.
pub const COMPUTE_ERROR_INTERNAL: compute_status = -600;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::library::NAMES;

    /// Every `pub const NAME: TYPE = VALUE;` of a source whose type is `ty`.
    fn constants(source: &str, ty: &str) -> BTreeMap<String, i32> {
        let lines = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split_once(&format!(": {ty} = ")));
        lines.map(|(name, value)| (name.to_owned(), value.trim_end_matches(';').parse().unwrap())).collect()
    }

    #[test]
    fn every_status_has_its_name() {
        let named = NAMES.iter().map(|(code, name)| (name.to_str().unwrap().to_owned(), *code)).collect();
        assert_eq!(constants(include_str!("status.rs"), "compute_status"), named);
    }

    #[test]
    fn the_codes_of_the_runtime_are_those_of_the_interface() {
        let all = constants(include_str!("status.rs"), "compute_status");
        let inside = constants(include_str!("../runtime/code.rs"), "i32");
        assert!(inside.len() > 20);
        for (name, code) in inside {
            assert_eq!(all.get(&format!("COMPUTE_ERROR_{name}")), Some(&code), "{name}");
        }
    }
}
