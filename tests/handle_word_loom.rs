//! Every interleaving of the slot's word, by loom: two look-ups against an end and a reuse. Values and tables are tested elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use loom::cell::UnsafeCell;
use loom::sync::Arc;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[path = "../src/capi/handle/word.rs"]
#[allow(dead_code)]
mod word;

use word::{Held, Word};

/// A slot whose value is 7 in generation 0 and 8 in generation 1; loom reports any access that is not ordered.
struct Slot {
    word: Word,
    value: UnsafeCell<u32>,
    disposals: AtomicUsize,
}

impl Slot {
    fn new() -> Arc<Self> {
        let slot = Self { word: Word::new(), value: UnsafeCell::new(7), disposals: AtomicUsize::new(0) };
        slot.word.publish();
        Arc::new(slot)
    }

    fn read(&self, generation: u32, expected: u32) -> bool {
        match self.word.acquire(generation) {
            Held::Yes => {
                // SAFETY: the word is held; loom checks that nobody writes meanwhile.
                self.value.with(|p| assert_eq!(unsafe { *p }, expected));
                if self.word.release() {
                    self.dispose();
                }
                true
            }
            Held::No => false,
            Held::NoAndLast => {
                self.dispose();
                false
            }
        }
    }

    /// Whether the handle was good, and whether it was this thread that disposed of the value.
    fn end(&self, generation: u32) -> (bool, bool) {
        let last = self.word.end(generation);
        if last == Some(true) {
            self.dispose();
        }
        (last.is_some(), last == Some(true))
    }

    /// The last release: ends, and looks at the value in any case, alone or with others. Whether the handle was good.
    fn release_last(&self, generation: u32) -> bool {
        let Some(alone) = self.word.end_or_hold(generation) else { return false };
        if !alone {
            // SAFETY: the word is held; loom checks that nobody writes meanwhile.
            self.value.with(|p| assert_eq!(unsafe { *p }, 7));
        }
        if alone || self.word.release() {
            self.dispose();
        }
        true
    }

    fn dispose(&self) {
        // SAFETY: the word gave this thread the value; loom checks that nobody reads meanwhile.
        self.value.with_mut(|p| unsafe { *p = 0 });
        self.disposals.fetch_add(1, SeqCst);
        assert!(!self.word.is_retired());
    }
}

/// With at most three forced switches of threads: more finds nothing here and takes minutes.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn f1_two_lookups_and_an_end_drop_the_value_once() {
    model(|| {
        let slot = Slot::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let slot = Arc::clone(&slot);
                loom::thread::spawn(move || {
                    slot.read(0, 7);
                })
            })
            .collect();
        assert!(slot.end(0).0);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(slot.disposals.load(SeqCst), 1);
        assert!(!slot.read(0, 7));
    });
}

#[test]
fn f1_two_ends_and_a_lookup_have_one_winner() {
    model(|| {
        let slot = Slot::new();
        let (one, two) = (Arc::clone(&slot), Arc::clone(&slot));
        let other = loom::thread::spawn(move || one.end(0).0);
        let reader = loom::thread::spawn(move || two.read(0, 7));
        let here = slot.end(0).0;
        assert!(here ^ other.join().unwrap());
        reader.join().unwrap();
        assert_eq!(slot.disposals.load(SeqCst), 1);
    });
}

#[test]
fn f1_a_lookup_with_an_old_handle_never_reaches_the_next_life_of_the_slot() {
    model(|| {
        let slot = Slot::new();
        let old = Arc::clone(&slot);
        let reader = loom::thread::spawn(move || old.read(0, 7));
        let (ended, owned) = slot.end(0);
        assert!(ended);
        if owned {
            // SAFETY: the slot is free and this thread is the only one that reuses it.
            slot.value.with_mut(|p| unsafe { *p = 8 });
            slot.word.publish();
            assert!(slot.read(1, 8));
            assert!(slot.end(1).0);
        }
        reader.join().unwrap();
        assert_eq!(slot.disposals.load(SeqCst), if owned { 2 } else { 1 });
    });
}

#[test]
fn f1_the_last_release_a_lookup_and_an_end_have_one_winner_and_drop_the_value_once() {
    model(|| {
        let slot = Slot::new();
        let (one, two) = (Arc::clone(&slot), Arc::clone(&slot));
        let other = loom::thread::spawn(move || one.end(0).0);
        let reader = loom::thread::spawn(move || two.read(0, 7));
        let here = slot.release_last(0);
        assert!(here ^ other.join().unwrap());
        reader.join().unwrap();
        assert_eq!(slot.disposals.load(SeqCst), 1);
    });
}

#[test]
fn f1_the_last_release_of_an_old_handle_never_ends_the_next_life_of_the_slot() {
    model(|| {
        let slot = Slot::new();
        let old = Arc::clone(&slot);
        let releaser = loom::thread::spawn(move || old.release_last(0));
        let (ended, owned) = slot.end(0);
        if owned {
            // SAFETY: the slot is free and this thread is the only one that reuses it.
            slot.value.with_mut(|p| unsafe { *p = 8 });
            slot.word.publish();
            assert!(slot.read(1, 8));
            assert!(slot.end(1).0);
        }
        assert!(ended ^ releaser.join().unwrap());
        assert_eq!(slot.disposals.load(SeqCst), if owned { 2 } else { 1 });
    });
}
