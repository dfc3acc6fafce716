//! A large stack for what a device's translation and the compilers behind it take of one.

use super::DeviceError;

/// What checks a kernel and writes it anew recurses as deep as its source nests, and how much stack a driver's compiler takes nobody tells: NVRTC takes more than a MiB for
/// ordinary code. Address space only: pages that are not touched cost nothing.
const STACK: usize = 128 << 20;

/// Runs `work` on a thread of its own, so that the caller's stack does not matter. What is current on the caller's thread is not on this one.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, DeviceError> + Send) -> Result<T, DeviceError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("compute-compile".into()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| DeviceError::Driver {
            call: "spawn",
            code: error.raw_os_error().unwrap_or_default().into(),
            name: "THREAD".into(),
            message: format!("no thread to compile on: {error}"),
        })?;
        let log = "the kernel's translation panicked; this is a bug";
        thread.join().unwrap_or_else(|_| Err(DeviceError::Compile { log: log.into(), location: None, refusal: false }))
    })
}
