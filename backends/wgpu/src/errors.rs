//! wgpu's errors as ours. Every call that can fail runs in a scope, so its error is known where it happens.
//!
//! The scopes are our own. wgpu calls its handler of errors on the thread whose call it is, and those of its own scopes cost three look-ups by the thread's name each way and leave
//! a trace of every thread that ever had one.

use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use compute_hal::DeviceError;

/// The value of a future that natively is ready at once.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> Result<T, DeviceError> {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err(DeviceError::Internal("wgpu did not answer at once".into())),
    }
}

thread_local! {
    /// Whether the thread is in a scope.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The first error of the scope. Never dropped here, so that a thread that is ending has it, too.
    static FIRST: Cell<ManuallyDrop<Option<wgpu::Error>>> = const { Cell::new(ManuallyDrop::new(None)) };
}

/// What was there before, until this is dropped.
struct Scope {
    inside: bool,
    first: Option<wgpu::Error>,
}

fn exchange(first: Option<wgpu::Error>) -> Option<wgpu::Error> {
    ManuallyDrop::into_inner(FIRST.replace(ManuallyDrop::new(first)))
}

impl Scope {
    fn open() -> Self {
        Self { inside: INSIDE.replace(true), first: exchange(None) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        INSIDE.set(self.inside);
        drop(exchange(self.first.take()));
    }
}

/// Runs `work`, whose calls are of devices with [`stray`] for a handler, with all of its errors caught; the first one is the answer.
pub(crate) fn scoped<T>(work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    let scope = Scope::open();
    let value = work();
    let found = exchange(None);
    drop(scope);
    found.map_or(Ok(value), Err)
}

/// An error of a call that this thread is in, if it is in no scope.
pub(crate) fn stray(error: wgpu::Error) -> Option<wgpu::Error> {
    if !INSIDE.get() {
        return Some(error);
    }
    let first = exchange(None);
    exchange(Some(first.unwrap_or(error)));
    None
}

/// Runs `work`, in which wgpu may panic because its device is gone. The text of the panic, if there was one.
pub(crate) fn survive<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("no message").to_owned()
    })
}

/// A call's error. `asked`: the bytes that it was to allocate.
pub(crate) fn device_error(call: &'static str, asked: u64, error: &wgpu::Error) -> DeviceError {
    match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::OutOfMemory { asked, free: 0 },
        wgpu::Error::Validation { .. } => DeviceError::Internal(format!("{call}: {}", chain(error))),
        wgpu::Error::Internal { .. } => DeviceError::Driver { call, code: 0, name: kind(error).into(), message: chain(error) },
    }
}

/// wgpu's name of an error's kind.
pub(crate) fn kind(error: &wgpu::Error) -> &'static str {
    match error {
        wgpu::Error::OutOfMemory { .. } => "OUT_OF_MEMORY",
        wgpu::Error::Validation { .. } => "VALIDATION",
        wgpu::Error::Internal { .. } => "INTERNAL",
    }
}

/// An error with what it came from.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = source.source();
    }
    text
}
