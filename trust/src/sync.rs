//! The atomics and locks of this crate: the real ones, or loom's under the `loom` feature.

#[cfg(feature = "loom")]
mod real {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    /// loom's mutex behind parking_lot's interface.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }
        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// loom's condition variable behind parking_lot's interface.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }
        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A deadline of a model has passed when somebody would sleep until it.
    pub(crate) fn wait<'a, T>(
        condvar: &Condvar,
        guard: loom::sync::MutexGuard<'a, T>,
        deadline: Option<std::time::Instant>,
    ) -> (loom::sync::MutexGuard<'a, T>, bool) {
        if deadline.is_some() {
            return (guard, false);
        }
        (condvar.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner), true)
    }
}

#[cfg(not(feature = "loom"))]
mod real {
    pub(crate) use parking_lot::{Condvar, Mutex};
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

    /// Sleeps until somebody notifies (true), or until a deadline (false).
    pub(crate) fn wait<'a, T>(
        condvar: &Condvar,
        mut guard: parking_lot::MutexGuard<'a, T>,
        deadline: Option<std::time::Instant>,
    ) -> (parking_lot::MutexGuard<'a, T>, bool) {
        let in_time = match deadline {
            Some(deadline) => !condvar.wait_until(&mut guard, deadline).timed_out(),
            None => {
                condvar.wait(&mut guard);
                true
            }
        };
        (guard, in_time)
    }
}

pub(crate) use real::*;
