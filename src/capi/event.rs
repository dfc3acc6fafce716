//! Events: poll, wait, be called, or have a file descriptor for one's own loop.

use std::ffi::c_void;
use std::sync::Arc;

use super::boundary::*;
use super::error;
use super::objects::{destroy, find, release, retain};
use super::status::*;
use super::stream::timeout_of;
use super::system;
use super::types::*;
use crate::runtime::{self, Callback, Event, Wait};

/// More events in one wait are a mistake, or garbage for a number.
const MOST_EVENTS: usize = 1 << 16;

/// Counts one more reference to an event.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_retain(event: compute_event, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(event))
}

/// Gives one reference to an event back; with the last one its handle ends as by `compute_event_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_event_release(event: compute_event) {
    guard_void(|| release(event));
}

/// Ends an event's handle at once, whatever its references. Callbacks that wait for it are still called; memory that it lends stays borrowed until its work is
/// over.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_destroy(event: compute_event, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(event))
}

/// Whether an event is over: `COMPUTE_OK`, `COMPUTE_NOT_READY`, or the error that a wait would give. Calls callbacks that are due.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_poll(event: compute_event, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        let event = Arc::clone(&*find(event)?);
        match event.poll()? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_NOT_READY),
        }
    })
}

/// Waits for an event on the host, asleep. `timeout_ns` of 0 polls. `COMPUTE_TIMEOUT` when the time ran out: nothing is wrong with the event. A recorded event
/// reports only a fault of the device (T10); that of a read answers for the bytes (T8).
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_wait(
    event: compute_event,
    timeout_ns: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let event = Arc::clone(&*find(event)?);
        match event.wait(timeout_of(timeout_ns))? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_TIMEOUT),
        }
    })
}

/// # Safety
/// `events` is readable for `count` handles.
unsafe fn read_events(events: *const compute_event, count: usize) -> Result<Vec<Arc<Event>>, Complaint> {
    // SAFETY: as our own caller says.
    let handles = unsafe { Strided::new(events, count, 0, MOST_EVENTS, "events") }?;
    let mut all = Vec::new();
    all.try_reserve_exact(handles.len()).map_err(|_| Complaint::NoMemory)?;
    for handle in handles.iter() {
        all.push(Arc::clone(&*find(handle)?));
    }
    Ok(all)
}

/// Waits for one of several events, of any devices. `*index` (may be NULL) is told which is over; its own answer is the answer. `SIZE_MAX`: none is known to be, as
/// after `COMPUTE_TIMEOUT` or a call that was refused.
///
/// # Safety
/// `events` is readable for `count` handles; `index` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_events_wait_any(
    events: *const compute_event,
    count: usize,
    timeout_ns: u64,
    index: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(index, usize::MAX) };
        // SAFETY: as our own caller says.
        let events = unsafe { read_events(events, count) }?;
        let answer = runtime::wait_several(&events, false, timeout_of(timeout_ns));
        // An event whose answer is an error is over too, and the caller wants to know which.
        let over = match &answer {
            Ok(over) => *over,
            Err(_) => events.iter().position(|event| event.poll().is_err()),
        };
        if let Some(over) = over {
            // SAFETY: as our own caller says.
            unsafe { set_optional(index, over) };
        }
        Ok(if answer?.is_some() { COMPUTE_OK } else { COMPUTE_TIMEOUT })
    })
}

/// Waits for all of several events, of any devices. All are waited for even when one has an error, which is then the answer (the first of several). There must be one at least.
///
/// # Safety
/// `events` is readable for `count` handles; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_events_wait_all(
    events: *const compute_event,
    count: usize,
    timeout_ns: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let events = unsafe { read_events(events, count) }?;
        let done = runtime::wait_several(&events, true, timeout_of(timeout_ns))?;
        Ok(if done.is_some() { COMPUTE_OK } else { COMPUTE_TIMEOUT })
    })
}

/// A callback with its argument, on its way to another thread.
struct Listener {
    callback: unsafe extern "C" fn(user: *mut c_void, status: compute_status, error: compute_error),
    user: *mut c_void,
}

// SAFETY: the caller of `compute_event_on_complete` promises that the callback may be called from any thread.
unsafe impl Send for Listener {}

impl Listener {
    fn tell(&self, answer: runtime::Result<()>) {
        if forked() {
            return;
        }
        let (status, error) = match answer {
            Ok(()) => (COMPUTE_OK, std::ptr::null_mut()),
            Err(failed) => (failed.error.code, error::make(Complaint::Failed(failed))),
        };
        // SAFETY: the caller of `compute_event_on_complete` gave the callback for this.
        unsafe { (self.callback)(self.user, status, error) };
        error::compute_error_release(error);
    }
}

/// Calls `callback` exactly once when an event is over, at once if it already is: with `COMPUTE_OK`, or with the error that its wait would give. No lock is
/// held, any call is allowed inside, and the event may be released right away. A read that there is no host memory to end is told
/// `COMPUTE_ERROR_STILL_BORROWED`: it is to be asked again.
///
/// `thread` is `COMPUTE_CALLBACK_ON_POLL`: on a thread that polls or waits for anything of the event's device; or `COMPUTE_CALLBACK_ON_WORKER`: on a
/// thread of the library. When the device's handle ends first, callbacks of the former kind are told `COMPUTE_ERROR_ABANDONED` then, or
/// `COMPUTE_ERROR_STILL_BORROWED` where the device may still reach host memory: then the event is to be asked again before that is freed.
///
/// # Safety
/// `callback` may be called with `user` once from any thread, and does not unwind; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_on_complete(
    event: compute_event,
    callback: compute_event_callback,
    user: *mut c_void,
    thread: u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let Some(callback) = callback else {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`callback` is NULL");
        };
        let event = Arc::clone(&*find(event)?);
        let listener = Listener { callback, user };
        let tell: Callback = Box::new(move |answer| listener.tell(answer));
        match thread {
            COMPUTE_CALLBACK_ON_POLL => event.on_poll(tell)?,
            COMPUTE_CALLBACK_ON_WORKER => event.on_worker(tell)?,
            other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_CALLBACK_"),
        }
        Ok(COMPUTE_OK)
    })
}

/// Gives a file descriptor that becomes readable when the event is over, for a host's own loop (poll, epoll, kqueue): an eventfd on Linux, the end of a pipe on macOS. Of a
/// read, the bytes come with the answer of `compute_event_poll` or a wait, which it has at once then. The caller closes it, at any time. `COMPUTE_ERROR_UNSUPPORTED` on
/// Windows, which has none: there `compute_event_on_complete` with `COMPUTE_CALLBACK_ON_WORKER` calls a function that may set an event of the host's. `COMPUTE_ERROR_OUT_OF_MEMORY` where the
/// process has no descriptor left.
///
/// # Safety
/// `fd` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_get_fd(
    event: compute_event,
    fd: *mut i32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(fd, "fd", -1) }?;
        let event = Arc::clone(&*find(event)?);
        let (fd, raise) = system::descriptor()?;
        event.notify(Box::new(raise));
        out.set(fd);
        Ok(COMPUTE_OK)
    })
}

/// Device time in nanoseconds at which a recorded event came about; only differences between events of a device mean anything. `COMPUTE_NOT_READY` before that;
/// `COMPUTE_ERROR_UNSUPPORTED` where the device has no timestamps (`COMPUTE_DEVICE_FLAG_TIMESTAMPS`), and for the events of reads and writes; `COMPUTE_ERROR_NOT_FOUND` where
/// it did not keep this one, as thousands came later or memory was out.
///
/// # Safety
/// `device_ns` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_event_get_time(
    event: compute_event,
    device_ns: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(device_ns, "device_ns", 0) }?;
        match find(event)?.time()? {
            Some(time) => out.set(time),
            None => return Ok(COMPUTE_NOT_READY),
        }
        Ok(COMPUTE_OK)
    })
}
