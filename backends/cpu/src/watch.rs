//! Who waits for a queue to reach which position: sleeping threads, callbacks, and queues that stand at an edge.
//!
//! A completion that nobody waits for costs one load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use compute_hal::Position;
use parking_lot::{Condvar, Mutex};

use crate::fifo::Fifo;

pub(crate) enum Watcher {
    /// Foreign code; called with no lock held.
    Wake(Box<dyn FnOnce() + Send>),
    /// A queue parked at an edge; going on takes its lock and the pool's for a moment.
    Resume(Arc<Fifo>),
}

pub(crate) struct Watch {
    completed: AtomicU64,
    /// The lowest position in `inner`, `Position::MAX` with `any` unset when there is none.
    earliest: AtomicU64,
    inner: Mutex<Inner>,
    signal: Condvar,
}

#[derive(Default)]
struct Inner {
    next: u64,
    watchers: BTreeMap<(Position, u64), Watcher>,
    sleepers: BTreeMap<(Position, u64), ()>,
}

/// No position: nobody waits.
const NOBODY: u64 = u64::MAX;

impl Inner {
    fn earliest(&self) -> u64 {
        let first = |key: Option<&(Position, u64)>| key.map_or(NOBODY, |&(at, _)| at);
        // `Position::MAX` and nobody look alike; completing `Position::MAX` always looks.
        first(self.watchers.keys().next()).min(first(self.sleepers.keys().next()))
    }
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { completed: AtomicU64::new(0), earliest: AtomicU64::new(NOBODY), inner: Mutex::default(), signal: Condvar::new() }
    }

    pub(crate) fn completed(&self) -> Position {
        self.completed.load(Ordering::Acquire)
    }

    /// Publishes that everything up to `at` is done, wakes sleepers and gives those to tell.
    pub(crate) fn reach(&self, at: Position) -> Vec<Watcher> {
        // Whoever was the owner until a moment ago may come after the next one. What it completes is complete all the same.
        // (Not `fetch_max`: the thread sanitizer does not see it, and takes everything that is ordered by it for a race.)
        let _ = self.completed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < at).then_some(at));
        // Pairs with the fence in `raise`: either we see the watcher, or it sees the position.
        fence(Ordering::SeqCst);
        if self.earliest.load(Ordering::Relaxed) > at {
            return Vec::new();
        }
        let mut inner = self.inner.lock();
        let mut reached = Vec::new();
        while let Some(entry) = inner.watchers.first_entry()
            && entry.key().0 <= at
        {
            reached.push(entry.remove());
        }
        if inner.sleepers.first_key_value().is_some_and(|(&(first, _), ())| first <= at) {
            self.signal.notify_all();
        }
        self.earliest.store(inner.earliest(), Ordering::Relaxed);
        reached
    }

    /// Registers; gives the watcher back when the position is there already.
    pub(crate) fn add(&self, at: Position, watcher: Watcher) -> Option<Watcher> {
        let mut inner = self.inner.lock();
        let key = (at, inner.next);
        inner.next += 1;
        inner.watchers.insert(key, watcher);
        if self.raise(&inner, at) {
            let watcher = inner.watchers.remove(&key);
            self.earliest.store(inner.earliest(), Ordering::Relaxed);
            return watcher;
        }
        None
    }

    /// Sleeps until the position is there or the time is over; says which.
    pub(crate) fn sleep(&self, at: Position, deadline: Option<Instant>) -> bool {
        let mut inner = self.inner.lock();
        let key = (at, inner.next);
        inner.next += 1;
        inner.sleepers.insert(key, ());
        let mut done = self.raise(&inner, at);
        while !done {
            match deadline {
                None => self.signal.wait(&mut inner),
                Some(deadline) => {
                    if self.signal.wait_until(&mut inner, deadline).timed_out() {
                        done = self.completed() >= at;
                        break;
                    }
                }
            }
            done = self.completed() >= at;
        }
        inner.sleepers.remove(&key);
        self.earliest.store(inner.earliest(), Ordering::Relaxed);
        done
    }

    /// Makes a new entry visible to `reach`; true when its position is there already.
    fn raise(&self, inner: &Inner, at: Position) -> bool {
        self.earliest.store(inner.earliest(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.completed() >= at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    fn counter(count: &Arc<AtomicUsize>) -> Watcher {
        let count = Arc::clone(count);
        Watcher::Wake(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }))
    }

    fn fire(watchers: Vec<Watcher>) {
        for watcher in watchers {
            if let Watcher::Wake(wake) = watcher {
                wake();
            }
        }
    }

    #[test]
    fn a_watcher_is_told_once_when_its_position_is_reached_and_not_before() {
        let (watch, count) = (Watch::new(), Arc::new(AtomicUsize::new(0)));
        assert!(watch.add(5, counter(&count)).is_none());
        assert!(watch.add(Position::MAX, counter(&count)).is_none());
        fire(watch.reach(4));
        assert_eq!(count.load(Ordering::Relaxed), 0);
        fire(watch.reach(6));
        fire(watch.reach(7));
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert!(watch.add(7, counter(&count)).is_some());
        fire(watch.reach(Position::MAX));
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn err05_sleep_says_whether_the_position_came_or_the_time_ran_out() {
        let watch = Arc::new(Watch::new());
        let start = Instant::now();
        assert!(!watch.sleep(1, Some(start + Duration::from_millis(30))));
        assert!(start.elapsed() >= Duration::from_millis(30));
        let other = Arc::clone(&watch);
        let sleeper = std::thread::spawn(move || other.sleep(2, None));
        std::thread::sleep(Duration::from_millis(10));
        watch.reach(1);
        watch.reach(2);
        assert!(sleeper.join().unwrap());
    }
}
