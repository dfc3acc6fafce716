//! The table by itself: what a handle is good for, races, garbage.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;

/// Counts itself, and notices being dropped twice.
struct Witness {
    alive: Arc<AtomicI64>,
    id: u64,
    dropped: bool,
}

impl Witness {
    fn new(alive: &Arc<AtomicI64>, id: u64) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self { alive: Arc::clone(alive), id, dropped: false }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        assert!(!self.dropped, "dropped twice");
        self.dropped = true;
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn table<T>() -> Table<T> {
    Table::new(Tag::Buffer)
}

#[test]
fn f1_a_handle_finds_its_object_until_it_is_destroyed() {
    let table = table();
    let a = table.insert(1).unwrap();
    let b = table.insert(2).unwrap();
    assert_eq!(*table.get(a).unwrap(), 1);
    assert_eq!(*table.get(b).unwrap(), 2);
    assert!(table.destroy(a));
    assert!(table.get(a).is_none());
    assert!(!table.destroy(a));
    assert_eq!(table.retain(a), Counted::Invalid);
    assert_eq!(table.release(a), Counted::Invalid);
    assert_eq!(*table.get(b).unwrap(), 2);
}

#[test]
fn f1_a_handle_is_no_address_of_user_space_and_not_null() {
    let table = table();
    for n in 0..200 {
        let handle = table.insert(n).unwrap();
        assert_eq!(handle >> 63, 1);
    }
}

#[test]
fn f7_a_destroyed_object_lives_until_the_last_guard_and_is_dropped_once() {
    let alive = Arc::new(AtomicI64::new(0));
    let table = table();
    let handle = table.insert(Witness::new(&alive, 7)).unwrap();
    let one = table.get(handle).unwrap();
    let two = table.get(handle).unwrap();
    assert!(table.destroy(handle));
    assert!(table.get(handle).is_none());
    drop(one);
    assert_eq!((alive.load(Ordering::SeqCst), two.id), (1, 7));
    drop(two);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn f1_the_last_release_ends_the_handle_and_one_more_is_refused() {
    let table = table();
    let handle = table.insert(()).unwrap();
    assert_eq!(table.retain(handle), Counted::Kept);
    assert_eq!(table.release(handle), Counted::Kept);
    assert_eq!(table.release(handle), Counted::Ended);
    assert_eq!(table.release(handle), Counted::Invalid);
    assert!(table.get(handle).is_none());
}

#[test]
fn f1_an_old_handle_does_not_reach_the_next_object_in_its_slot() {
    let table = table();
    let old = table.insert(1).unwrap();
    table.destroy(old);
    let new = table.insert(2).unwrap();
    assert_eq!(old & 0xff_ffff, new & 0xff_ffff, "the test wants the same slot");
    assert!(table.get(old).is_none());
    assert_eq!(*table.get(new).unwrap(), 2);
}

#[test]
fn f1_a_handle_of_another_type_is_refused() {
    let buffers: Table<u32> = Table::new(Tag::Buffer);
    let streams: Table<u32> = Table::new(Tag::Stream);
    streams.insert(0).unwrap();
    streams.set_secret(buffers.secret());
    let handle = buffers.insert(0).unwrap();
    assert!(streams.get(handle).is_none());
    assert!(buffers.get(handle).is_some());
}

#[test]
fn f1_handles_of_another_copy_of_the_library_are_refused() {
    let (ours, theirs) = (table(), table());
    let mut ours_made = Vec::new();
    for n in 0..2000 {
        ours_made.push(ours.insert(n).unwrap());
        let foreign = theirs.insert(n).unwrap();
        assert!(ours.get(foreign).is_none());
        assert!(!ours.destroy(foreign));
        assert_eq!(ours.release(foreign), Counted::Invalid);
    }
    assert!(ours_made.iter().all(|h| ours.get(*h).is_some()));
}

#[test]
fn f1_a_foreign_handle_whose_salt_happens_to_match_still_fails_by_its_generation() {
    let (ours, theirs) = (table(), table());
    let secret = ours.secret();
    // The same salt, everything below it different.
    theirs.set_secret(secret ^ 0x0000_5a5a_a5a5_1234);
    for n in 0..2000 {
        ours.insert(n).unwrap();
        let foreign = theirs.insert(n).unwrap();
        assert_eq!(foreign >> SALT_SHIFT, ours.reserved() >> SALT_SHIFT);
        assert!(ours.get(foreign).is_none());
    }
}

#[test]
fn f1_garbage_is_refused_and_disturbs_nothing() {
    let alive = Arc::new(AtomicI64::new(0));
    let table = table();
    let handles: Vec<u64> = (0..100).map(|n| table.insert(Witness::new(&alive, n)).unwrap()).collect();
    let mut random = Random(1);
    let fixed = [0, 1, u64::MAX, u64::MAX - 1, MARK, i64::MAX as u64, 0xdead_beef, table.reserved()];
    for garbage in fixed.into_iter().chain((0..200_000).map(|_| random.next())) {
        assert!(table.get(garbage).is_none() && !table.destroy(garbage));
        assert_eq!((table.retain(garbage), table.release(garbage)), (Counted::Invalid, Counted::Invalid));
    }
    // Every handle with one bit turned is another handle, or none.
    for handle in &handles {
        for bit in 0..64 {
            assert!(
                table
                    .get(handle ^ (1 << bit))
                    .is_none_or(|other| Some(other.id) != handles.iter().position(|h| h == handle).map(|n| n as u64))
            );
        }
    }
    for (n, handle) in handles.iter().enumerate() {
        assert_eq!(table.get(*handle).unwrap().id, n as u64);
    }
    assert_eq!(alive.load(Ordering::SeqCst), 100);
}

#[test]
fn m1_an_object_that_nobody_looks_at_comes_with_its_slot_and_a_handle_of_its_next_life_is_a_new_one() {
    let alive = Arc::new(AtomicI64::new(0));
    let table = table();
    let handle = table.insert(Witness::new(&alive, 1)).unwrap();
    assert_eq!(table.retain(handle), Counted::Kept);
    assert!(matches!(table.give_up(handle), GivenUp::Kept));
    let looking = table.get(handle).unwrap();
    let ended = table.give_up(handle);
    assert!(matches!(&ended, GivenUp::Ended(guard) if guard.id == 1), "its object is looked at");
    assert!(matches!(table.give_up(handle), GivenUp::Invalid));
    drop(looking);
    assert_eq!(alive.load(Ordering::SeqCst), 1, "who ended it looks at it, too");
    drop(ended);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let mut handle = table.insert(Witness::new(&alive, 2)).unwrap();
    for id in 3..100 {
        let GivenUp::Taken(witness, Some(number)) = table.give_up(handle) else { panic!("it is the only reference") };
        assert!(witness.id == id - 1 && table.get(handle).is_none() && !table.is_live(handle));
        assert!(matches!(table.give_up(handle), GivenUp::Invalid));
        drop(witness);
        // SAFETY: the slot was just left to this test.
        let next = unsafe { table.insert_at(number, Witness::new(&alive, id)) }.unwrap();
        assert!(next != handle && table.get(handle).is_none() && table.is_live(next));
        assert_eq!((table.get(next).unwrap().id, table.release(handle)), (id, Counted::Invalid));
        handle = next;
    }
    assert_eq!((table.release(handle), alive.load(Ordering::SeqCst), table.free.lock().used), (Counted::Ended, 0, 1));
}

#[test]
fn f1_a_slot_whose_generations_are_used_up_is_retired() {
    let table = table();
    let first = table.insert(1).unwrap();
    table.destroy(first);
    table.slot(0).unwrap().word.age(LAST_GENERATION);
    let last = table.insert(2).unwrap();
    assert_eq!(last & 0xff_ffff, 0);
    assert!(table.destroy(last));
    let next = table.insert(3).unwrap();
    assert_eq!(next & 0xff_ffff, 1, "slot 0 must not be used again");
    assert!(table.get(first).is_none() && table.get(last).is_none());
    table.destroy(next);
    table.slot(1).unwrap().word.age(LAST_GENERATION);
    let last = table.insert(4).unwrap();
    assert_eq!(last & 0xff_ffff, 1);
    assert!(matches!(table.give_up(last), GivenUp::Taken(4, None)), "slot 1 must not be used again");
}

#[test]
fn m7_a_million_objects_live_at_once_and_their_slots_are_used_again() {
    let table = table();
    let handles: Vec<u64> = (0..1_000_000_u64).map(|n| table.insert(n).unwrap()).collect();
    assert!(handles.iter().enumerate().all(|(n, h)| *table.get(*h).unwrap() == n as u64));
    assert!(handles.iter().all(|h| table.destroy(*h)));
    for n in 0..1_000_000_u64 {
        table.insert(n).unwrap();
    }
    assert_eq!(table.free.lock().used, 1_000_000);
}

#[test]
fn f1_the_last_slots_answer_no_memory_rather_than_wrap() {
    let table = table();
    table.free.lock().used = MAX_SLOTS - 1;
    assert_eq!(place(MAX_SLOTS - 1).0, CHUNKS - 1);
    assert_eq!(place(MAX_SLOTS).0, CHUNKS);
    table.free.lock().used = MAX_SLOTS;
    assert_eq!(table.insert(0), Err(NoMemory));
}

#[test]
fn f1_references_do_not_wrap() {
    let table = table();
    let handle = table.insert(()).unwrap();
    table.slot(0).unwrap().references.store(u32::MAX, Ordering::Relaxed);
    assert_eq!(table.retain(handle), Counted::Full);
    assert_eq!(table.release(handle), Counted::Kept);
}

/// Eight threads share a handful of handles and get, retain, release, destroy and replace them as they like.
#[test]
fn f1_racing_lookups_and_destroys_see_whole_objects_and_drop_each_once() {
    race(table());
}

#[test]
fn f1_racing_lookups_of_busy_objects_see_whole_objects_and_drop_each_once() {
    race(Table::busy(Tag::Kernel));
}

#[test]
fn f7_a_thread_with_more_guards_of_busy_objects_than_places_holds_them_all() {
    let alive = Arc::new(AtomicI64::new(0));
    let table = Table::busy(Tag::Kernel);
    let handle = table.insert(Witness::new(&alive, 1)).unwrap();
    let guards: Vec<_> = (0..20).map(|_| table.get(handle).unwrap()).collect();
    assert!(table.destroy(handle));
    assert!(table.get(handle).is_none());
    // Those in the count first, so that it is the places that keep the object in the end.
    for guard in guards.into_iter().rev() {
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        drop(guard);
    }
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

fn race(table: Table<Witness>) {
    const CELLS: usize = 6;
    let alive = Arc::new(AtomicI64::new(0));
    let made = AtomicUsize::new(0);
    let cells: Vec<Mutex<u64>> = (0..CELLS).map(|_| Mutex::new(0)).collect();
    let seen = AtomicUsize::new(0);
    thread::scope(|scope| {
        for id in 0..8 {
            let (table, cells, made, seen, alive) = (&table, &cells, &made, &seen, &alive);
            scope.spawn(move || {
                let mut random = Random(id);
                for _ in 0..40_000 {
                    let r = random.next();
                    let cell = &cells[(r >> 8) as usize % CELLS];
                    let handle = *cell.lock().unwrap();
                    match r & 7 {
                        0 => {
                            let number = made.fetch_add(1, Ordering::Relaxed) as u64;
                            let new = table.insert(Witness::new(alive, number)).unwrap();
                            let old = std::mem::replace(&mut *cell.lock().unwrap(), new);
                            table.destroy(old);
                        }
                        1 => {
                            table.destroy(handle);
                        }
                        2 => {
                            if table.retain(handle) == Counted::Kept {
                                table.release(handle);
                            }
                        }
                        3 => {
                            table.release(handle);
                        }
                        _ => {
                            if let Some(guard) = table.get(handle) {
                                assert!(!guard.dropped && (guard.id as usize) < made.load(Ordering::Relaxed));
                                seen.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                }
            });
        }
    });
    for cell in &cells {
        table.destroy(*cell.lock().unwrap());
    }
    assert_eq!(alive.load(Ordering::SeqCst), 0, "every object is dropped exactly once");
    assert!(seen.load(Ordering::Relaxed) > 1000);
    assert!(table.free.lock().used < 64, "slots are used again");
}

/// One thread makes and ends; seven look up handles that are current, just ended, or old.
#[test]
fn f1_stale_handles_stay_stale_while_their_slots_are_busy() {
    let table = table();
    let stop = AtomicBool::new(false);
    let stale: Vec<u64> = (0..8)
        .map(|n| {
            let handle = table.insert(n).unwrap();
            table.destroy(handle);
            handle
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..7 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(stale.iter().all(|h| table.get(*h).is_none()));
                }
            });
        }
        for n in 0..100_000 {
            let handle = table.insert(n).unwrap();
            assert_eq!(*table.get(handle).unwrap(), n);
            assert!(table.destroy(handle));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
