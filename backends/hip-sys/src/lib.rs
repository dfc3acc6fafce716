//! HIP as it is called from Rust: types, values and a table of functions that are looked up at run time.
//!
//! Nothing is linked, so a program that has this crate in it builds and loads where no ROCm is. A library that is not there is an [`Unavailable`] that
//! says what was tried, and a function that a library lacks answers an error of its own kind when it is called: nothing here panics.
//! The published crate of this name needs AMD's headers and links `libamdhip64` when it is built, which is why there is this one.
//!
//! One table serves HIP 5.2 to 7: only what has kept its number, its layout and its signature is here, and the tests hold it to AMD's headers. What
//! changed in between is left out (the numbers of `hipGraphNodeType`, those of `hipMemoryType` and with them `hip_Memcpy2D`), or is
//! here in both forms ([`DeviceProperties`]).
//!
//! | file | |
//! |---|---|
//! | `types` | handles and structures |
//! | `values` | results, attributes, flags |
//! | `functions` | the tables |
//! | `library` | finding and opening |

mod functions;
mod library;
mod types;
mod values;

pub use functions::{Compiler, Runtime, Signature};
pub use library::{COMPILERS, Opened, RUNTIMES, Unavailable, open, open_from};
pub use types::*;
pub use values::*;
