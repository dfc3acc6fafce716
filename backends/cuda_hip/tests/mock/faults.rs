//! What goes wrong with the stand-in's calls, and who is told of them.

use std::sync::Arc;

use compute_cuda_hip::driver::Status;
use parking_lot::Mutex;

use super::{CAPTURING, GONE, Mock, STICKY, State, with};

/// Told of each call before it is made, on the thread that makes it, with no lock held.
type Hook = Arc<dyn Fn(&'static str) + Send + Sync>;
pub(super) static HOOK: Mutex<Option<Hook>> = Mutex::new(None);
impl Mock {
    /// Fails the `call`-th call from now whose name begins like that.
    pub(crate) fn arm(&self, only: &'static str, call: u64, code: Status) {
        with(|state| {
            state.fail = Some((only, call, code));
            state.failed = None;
        });
    }

    /// What failed so far.
    pub(crate) fn failed(&self) -> Option<&'static str> {
        with(|state| state.failed)
    }

    /// Fails the next call of that name.
    pub(crate) fn arm_named(&self, name: &'static str, code: Status) {
        fail_next(name, code);
    }

    /// The next event that is recorded turns out to have failed once it is reached.
    pub(crate) fn spoil_next_record(&self) {
        with(|state| state.spoil_next = true);
    }

    /// Has `hook` told of every call, until the next test.
    pub(crate) fn hook(&self, hook: impl Fn(&'static str) + Send + Sync + 'static) {
        *HOOK.lock() = Some(Arc::new(hook));
    }

    /// What failed, and disarms.
    pub(crate) fn disarm(&self) -> Option<&'static str> {
        with(|state| {
            (state.fail, state.fail_named) = (None, None);
            state.failed
        })
    }
}

/// As [`Mock::arm_named`], from a hook.
pub(crate) fn fail_next(name: &'static str, code: Status) {
    with(|state| {
        state.fail_named = Some((name, code));
        state.failed = None;
    });
}

/// A call: counted, and failed when its time has come.
pub(super) fn call(name: &'static str, body: impl FnOnce(&mut State) -> Status) -> Status {
    let hook = HOOK.lock().clone();
    if let Some(hook) = hook {
        hook(name);
    }
    with(|state| {
        // Around every call, and nobody looks at its answer: others get their turn to fail.
        if matches!(name, "capture_mode" | "last_error") {
            return body(state);
        }
        state.calls += 1;
        // What a device gives back at its end shows that its threads have ended, whatever the answer.
        if name == "primary_release" {
            let _ = body(state);
            return if state.dead { STICKY } else { 0 };
        }
        if state.dead {
            return STICKY;
        }
        // With a context that is gone as the thread's, all fails but what has no need of one. That it becomes the thread's is no failure.
        let current = state.current.get(&std::thread::current().id()).and_then(|stack| stack.last());
        let needless = ["context_", "device_", "primary_", "driver_version", "can_access_peer"];
        if current.is_some_and(|context| state.gone.contains(context)) && !needless.iter().any(|begin| name.starts_with(begin)) {
            return GONE;
        }
        if let Some((only, left, code)) = &mut state.fail
            && name.starts_with(*only)
        {
            let code = *code;
            *left = left.wrapping_sub(1);
            if *left != 0 {
                return body(state);
            }
            state.failed = Some(name);
            state.dead = code == STICKY;
            return code;
        }
        if let Some((_, code)) = state.fail_named.take_if(|(named, _)| *named == name) {
            state.failed = Some(name);
            return code;
        }
        let relaxed = state.modes.get(&std::thread::current().id()) == Some(&2);
        if state.capture && !relaxed && FORBIDDEN.contains(&name) {
            state.capture = false;
            return CAPTURING;
        }
        body(state)
    })
}

/// Calls that spoil the capture of another thread.
const FORBIDDEN: &[&str] = &["event_query", "stream_query", "allocate", "free", "host_allocate", "host_free", "module_load"];
