//! wgpu's errors as ours. Every call that can fail runs in a scope, so its error is known where it happens and nothing reaches wgpu's handler for
//! the rest, which would panic.

use std::future::Future;
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

/// Runs `work` with all of its errors caught; the first one is the answer.
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let value = work();
    let found = [ready(validation.pop()), ready(internal.pop()), ready(memory.pop())];
    match found.into_iter().find_map(|error| error.ok().flatten()) {
        None => Ok(value),
        Some(error) => Err(error),
    }
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
