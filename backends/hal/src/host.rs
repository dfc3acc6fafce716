//! Host memory on its way to or from a device: a pointer and a length whose validity somebody vouched for.
//!
//! Made by `capi` (for the caller's memory) and by devices; the safe runtime only carries it.

/// Host bytes to read from.
#[derive(Clone, Copy, Debug)]
pub struct HostSource {
    pointer: *const u8,
    size: usize,
}

/// Host bytes to write to.
#[derive(Clone, Copy, Debug)]
pub struct HostTarget {
    pointer: *mut u8,
    size: usize,
}

// SAFETY: these are an address and a length; whoever made one promised that access from any thread is fine until the stated moment.
unsafe impl Send for HostSource {}
// SAFETY: as above.
unsafe impl Sync for HostSource {}
// SAFETY: as above.
unsafe impl Send for HostTarget {}
// SAFETY: as above.
unsafe impl Sync for HostTarget {}

impl HostSource {
    /// Wraps caller memory.
    ///
    /// # Safety
    /// `pointer` is readable for `size` bytes, and nobody writes there, from any thread, until the position that the source is used
    /// for has completed.
    pub const unsafe fn new(pointer: *const u8, size: usize) -> Self {
        Self { pointer, size }
    }
    /// The address.
    pub const fn pointer(self) -> *const u8 {
        self.pointer
    }
    /// The length in bytes.
    pub const fn size(self) -> usize {
        self.size
    }
}

impl HostTarget {
    /// Wraps caller memory.
    ///
    /// # Safety
    /// `pointer` is writable for `size` bytes, and nobody else reads or writes there, from any thread, until the position that the
    /// target is used for has completed.
    pub const unsafe fn new(pointer: *mut u8, size: usize) -> Self {
        Self { pointer, size }
    }
    /// The address.
    pub const fn pointer(self) -> *mut u8 {
        self.pointer
    }
    /// The length in bytes.
    pub const fn size(self) -> usize {
        self.size
    }
}
