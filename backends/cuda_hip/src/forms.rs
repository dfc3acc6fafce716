//! What differs between the vendors in native sources, as data.

use std::ffi::c_int;

use compute_hal::NativeLanguage;

/// Offset and size of each of a kernel's parameters, in order.
pub type Places = Vec<[u32; 2]>;

/// Native sources that a vendor's devices take, and how their code is read.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    /// What the runtime compiler reads.
    pub text: NativeLanguage,
    /// Code for an abstract machine, which the driver compiles.
    pub assembly: Option<NativeLanguage>,
    /// Machine code.
    pub code: NativeLanguage,
    /// Of an ELF file with it: `e_machine`.
    pub machine: u16,
    /// What such a file is for, from `e_flags` and the version in `e_ident`; `None`: not known here.
    pub architecture: fn(flags: u32, version: u8) -> Option<String>,
    /// Whether machine code for the first runs on the second.
    pub runs: fn(code: &str, device: &str) -> bool,
    /// Which of several that run is best: the greatest.
    pub generation: fn(architecture: &str) -> u32,
    /// The newest version of the assembly that a driver takes, by its own version; `None`: not known here.
    pub newest: fn(driver: c_int) -> Option<[u32; 2]>,
    /// What machine code says of a kernel's parameters, for drivers that do not: offset and size of each. It comes from the caller; `None`: nothing that could be read.
    pub parameters: fn(code: &[u8], kernel: &str) -> Option<Places>,
}
