//! Thread models of the in-flight marks: every interleaving of calls on a few streams that mark what they touch, decide, settle, and free.
//!
//! What a call decides on is kept in relaxed atomics, so that only the marks order it: a missing edge shows as a stale value. A lost
//! wake-up or a deadlock shows as a model that loom finds stuck. Run with
//! `cargo test -p compute-trust --features loom --test loom --release`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_trust::{Found, Gate, Mark, Refused, Use, Uses};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread;

const CLEAN: Found = Found { dirty: false, pending: false };

/// An allocation as calls see it.
struct Allocation {
    mark: Mark,
    uses: Uses,
    /// Odd while a write is in flight; half of it: how many have settled.
    version: AtomicU64,
    /// Stands for the byte map.
    claimed: AtomicU64,
    freed: AtomicU64,
}

impl Allocation {
    fn new() -> Allocation {
        let zero = || AtomicU64::new(0);
        Allocation { mark: Mark::new(false), uses: Uses::new(), version: zero(), claimed: zero(), freed: zero() }
    }

    fn begin_write(&self) {
        let before = self.version.load(Relaxed);
        assert_eq!(before % 2, 0, "two writers in flight");
        self.version.store(before + 1, Relaxed);
    }

    fn end_write(&self) {
        let before = self.version.load(Relaxed);
        assert_eq!(before % 2, 1, "somebody else wrote meanwhile");
        self.version.store(before + 1, Relaxed);
    }

    fn settled_version(&self) -> u64 {
        let version = self.version.load(Relaxed);
        assert_eq!(version % 2, 0, "a call decides on bytes whose writer has not settled");
        version / 2
    }
}

struct World {
    gate: Gate,
    allocations: Vec<Allocation>,
}

/// The marks that one call holds: which allocation, and what the exclusive mark found; none: shared.
struct Held<'a> {
    world: &'a World,
    marks: Vec<(usize, Option<Found>)>,
}

impl World {
    fn new(allocations: usize) -> Arc<World> {
        Arc::new(World { gate: Gate::new(), allocations: (0..allocations).map(|_| Allocation::new()).collect() })
    }

    /// Gives an exclusive mark back that found a clean allocation.
    fn settle_clean(&self, index: usize) {
        if self.allocations[index].mark.release_exclusive(CLEAN) {
            self.gate.wake();
        }
    }

    fn take(&self, index: usize, exclusive: &mut bool) -> Result<Option<Found>, Refused> {
        let mark = &self.allocations[index].mark;
        if !*exclusive {
            match mark.try_shared() {
                Err(Refused::Unclean) => *exclusive = true,
                other => return other.map(|()| None),
            }
        }
        mark.try_exclusive().map(Some)
    }

    /// Marks all or none, in the order of the ids; what is unclean is marked exclusively.
    fn enter(&self, wanted: &[(usize, bool)]) -> Held<'_> {
        let mut wanted = wanted.to_vec();
        loop {
            let mut held = Held { world: self, marks: Vec::new() };
            let mut busy = None;
            // What was unclean once is marked exclusively from then on: it may be reserved.
            for (index, exclusive) in &mut wanted {
                match self.take(*index, exclusive) {
                    Ok(found) => held.marks.push((*index, found)),
                    Err(_) => {
                        busy = Some((*index, *exclusive));
                        break;
                    }
                }
            }
            let Some((index, exclusive)) = busy else { return held };
            held.settle(|found| found);
            self.gate.wait(&self.allocations[index].mark, exclusive);
        }
    }
}

impl Held<'_> {
    fn dirty(&self, index: usize) -> bool {
        self.marks.iter().any(|(at, found)| *at == index && found.is_some_and(|found| found.dirty))
    }

    /// Gives all marks back; `now` says how those allocations are that were marked exclusively.
    fn settle(self, now: impl Fn(Found) -> Found) {
        for (index, found) in self.marks {
            let mark = &self.world.allocations[index].mark;
            let awaited = match found {
                Some(found) => mark.release_exclusive(now(found)),
                None => mark.release_shared(),
            };
            if awaited {
                self.world.gate.wake();
            }
        }
    }
}

fn model(preemptions: Option<usize>, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(body);
}

/// A launch that reads some allocations and writes one; tells the versions that it read.
fn launch(world: &World, reads: &[usize], write: usize) -> Vec<u64> {
    let mut wanted: Vec<(usize, bool)> = reads.iter().map(|index| (*index, false)).chain([(write, true)]).collect();
    wanted.sort_unstable();
    let held = world.enter(&wanted);
    let seen = reads.iter().map(|index| world.allocations[*index].settled_version()).collect();
    world.allocations[write].begin_write();
    world.allocations[write].end_write();
    held.settle(|_| CLEAN);
    seen
}

fn read(world: &World, index: usize) -> u64 {
    let held = world.enter(&[(index, false)]);
    let version = world.allocations[index].settled_version();
    assert_eq!(world.allocations[index].settled_version(), version, "a writer entered beside a reader");
    held.settle(|found| found);
    version
}

#[test]
fn l8_two_launches_that_write_the_same_allocation_exclude_each_other() {
    model(None, || {
        let world = World::new(1);
        let other = world.clone();
        let thread = thread::spawn(move || drop(launch(&other, &[], 0)));
        launch(&world, &[], 0);
        thread.join().unwrap();
        assert_eq!(world.allocations[0].settled_version(), 2);
    });
}

#[test]
fn t5_a_reader_never_decides_on_bytes_whose_writer_has_not_settled() {
    model(None, || {
        let world = World::new(1);
        let other = world.clone();
        let thread = thread::spawn(move || drop(launch(&other, &[], 0)));
        assert!(read(&world, 0) <= 1);
        thread.join().unwrap();
        assert_eq!(read(&world, 0), 1);
    });
}

#[test]
fn l8_the_order_of_the_sections_is_one_order() {
    model(Some(4), || {
        let world = World::new(2);
        let other = world.clone();
        let thread = thread::spawn(move || launch(&other, &[1], 0));
        let here = launch(&world, &[0], 1);
        let there = thread.join().unwrap();
        assert_ne!(here, there, "each ran before the other, or each after");
    });
}

#[test]
fn l8_three_launches_in_a_ring_do_not_deadlock_and_have_one_order() {
    model(Some(2), || {
        let world = World::new(3);
        let spawn = |index: usize| {
            let world = world.clone();
            thread::spawn(move || launch(&world, &[index], (index + 1) % 3))
        };
        let threads = [spawn(1), spawn(2)];
        let mut seen = launch(&world, &[0], 1);
        threads.into_iter().for_each(|thread| seen.extend(thread.join().unwrap()));
        // Whoever is first reads what nobody wrote yet; whoever is last reads what somebody wrote.
        assert!(seen.contains(&0) && seen.contains(&1), "{seen:?} has no order");
    });
}

#[test]
fn l8_a_writer_gets_its_turn_beside_two_readers_and_wakes_whoever_waits_for_it() {
    model(Some(2), || {
        let world = World::new(1);
        let spawn = || {
            let world = world.clone();
            thread::spawn(move || read(&world, 0))
        };
        let threads = [spawn(), spawn()];
        launch(&world, &[], 0);
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() <= 1));
        assert_eq!(read(&world, 0), 1);
    });
}

#[test]
fn l8_a_writer_gets_its_turn_beside_readers_that_overlap_without_end() {
    model(Some(3), || {
        let world = World::new(1);
        let other = world.clone();
        let readers = thread::spawn(move || {
            let allocation = &other.allocations[0];
            let mut held = other.enter(&[(0, false)]);
            // The next comes before the last goes. Ends only because the writer's turn comes: else loom finds a run that is too long.
            while allocation.settled_version() == 0 && allocation.mark.try_shared().is_ok() {
                std::mem::replace(&mut held, Held { world: &other, marks: vec![(0, None)] }).settle(|found| found);
                thread::yield_now();
            }
            held.settle(|found| found);
        });
        launch(&world, &[], 0);
        readers.join().unwrap();
    });
}

#[test]
fn l8_no_reader_comes_in_before_a_writer_who_sleeps() {
    model(Some(2), || {
        let world = World::new(1);
        let (first, second) = (world.enter(&[(0, false)]), world.enter(&[(0, false)]));
        let other = world.clone();
        let writer = thread::spawn(move || launch(&other, &[], 0));
        first.settle(|found| found);
        let reserved = world.allocations[0].mark.try_shared() == Err(Refused::Busy);
        second.settle(|found| found);
        if !reserved && world.allocations[0].mark.release_shared() {
            world.gate.wake();
        }
        let seen = read(&world, 0);
        assert!(!reserved || seen == 1, "a reader came in before a writer who slept");
        writer.join().unwrap();
    });
}

#[test]
fn l8_reservations_in_a_ring_do_not_deadlock() {
    model(Some(2), || {
        let world = World::new(3);
        let spawn = |wanted: [(usize, bool); 2]| {
            let world = world.clone();
            thread::spawn(move || world.enter(&wanted).settle(|_| CLEAN))
        };
        // Each writes what the next reads.
        let threads = [spawn([(0, false), (1, true)]), spawn([(1, false), (2, true)])];
        world.enter(&[(0, true), (2, false)]).settle(|_| CLEAN);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn s2_a_writer_that_gives_up_leaves_nobody_asleep() {
    model(Some(3), || {
        let world = World::new(1);
        let other = world.clone();
        let reader = thread::spawn(move || (read(&other, 0), read(&other, 0)));
        let mark = &world.allocations[0].mark;
        assert_eq!(read(&world, 0), 0);
        if mark.try_exclusive().is_ok() {
            world.settle_clean(0);
        } else if world.gate.wait_until(mark, true, Some(std::time::Instant::now())) {
            // Nobody is at it any more; what may be reserved is this writer's to take.
            launch(&world, &[], 0);
        }
        reader.join().unwrap();
    });
}

#[test]
fn l8_two_writers_and_a_reader_wait_for_each_other_and_all_go_on() {
    model(Some(2), || {
        let world = World::new(1);
        let spawn = || {
            let world = world.clone();
            thread::spawn(move || drop(launch(&world, &[], 0)))
        };
        let threads = [spawn(), spawn()];
        assert!(read(&world, 0) <= 2);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.allocations[0].settled_version(), 2);
    });
}

#[test]
fn t2_whoever_comes_after_a_failed_launch_finds_its_claim() {
    model(None, || {
        let world = World::new(1);
        let other = world.clone();
        let thread = thread::spawn(move || {
            let held = other.enter(&[(0, true)]);
            other.allocations[0].claimed.store(1, Relaxed);
            held.settle(|_| Found { dirty: true, pending: false });
        });
        let held = world.enter(&[(0, false)]);
        let claimed = world.allocations[0].claimed.load(Relaxed) == 1;
        assert_eq!(held.dirty(0), claimed, "a shared mark is only for clean bytes");
        held.settle(|found| found);
        thread.join().unwrap();
        assert!(world.allocations[0].mark.glance().dirty);
    });
}

#[test]
fn t4_a_repair_is_seen_by_whoever_comes_after_it() {
    model(None, || {
        let world = World::new(1);
        let claim = world.enter(&[(0, true)]);
        world.allocations[0].claimed.store(1, Relaxed);
        claim.settle(|_| Found { dirty: true, pending: false });
        let other = world.clone();
        let thread = thread::spawn(move || {
            let held = other.enter(&[(0, true)]);
            other.allocations[0].claimed.store(0, Relaxed);
            held.settle(|_| CLEAN);
        });
        let held = world.enter(&[(0, false)]);
        assert_eq!(held.dirty(0), world.allocations[0].claimed.load(Relaxed) == 1);
        held.settle(|found| found);
        thread.join().unwrap();
    });
}

#[test]
fn f7_a_release_waits_for_the_launch_in_flight_and_sees_its_use() {
    model(None, || {
        let world = World::new(1);
        let other = world.clone();
        let thread = thread::spawn(move || {
            let buffer = &other.allocations[0];
            let held = other.enter(&[(0, true)]);
            let alive = buffer.freed.load(Relaxed) == 0;
            if alive {
                buffer.begin_write();
                buffer.uses.note_write(Use { queue: 1, position: 7 });
                assert_eq!(buffer.freed.load(Relaxed), 0, "freed under a launch");
                buffer.end_write();
            }
            held.settle(|_| CLEAN);
            alive
        });
        let held = world.enter(&[(0, true)]);
        world.allocations[0].freed.store(1, Relaxed);
        let last = world.allocations[0].uses.last_write();
        held.settle(|_| CLEAN);
        let ran = thread.join().unwrap();
        assert_eq!(last, ran.then_some(Use { queue: 1, position: 7 }), "memory goes back only after its last use");
    });
}

#[test]
fn f7_a_release_races_with_launches_on_two_streams() {
    model(Some(2), || {
        let world = World::new(2);
        let spawn = |queue: u16| {
            let world = world.clone();
            thread::spawn(move || {
                let held = world.enter(&[(0, false), (1, true)]);
                let alive = world.allocations[0].freed.load(Relaxed) == 0;
                if alive {
                    world.allocations[0].uses.note_read(Use { queue, position: 1 });
                    world.allocations[1].begin_write();
                    world.allocations[1].end_write();
                }
                held.settle(|_| CLEAN);
                alive
            })
        };
        let threads = [spawn(0), spawn(1)];
        let held = world.enter(&[(0, true)]);
        world.allocations[0].freed.store(1, Relaxed);
        let mut reads = [false; 2];
        world.allocations[0].uses.each_read(|read| reads[usize::from(read.queue)] = true);
        held.settle(|_| CLEAN);
        assert_eq!(threads.map(|thread| thread.join().unwrap()), reads, "the release sees exactly the launches that ran");
    });
}

#[test]
fn l8_reads_of_two_queues_that_share_a_place_are_both_remembered() {
    model(Some(2), || {
        let world = World::new(1);
        let spawn = |queue: u16| {
            let world = world.clone();
            thread::spawn(move || {
                let held = world.enter(&[(0, false)]);
                world.allocations[0].uses.note_read(Use { queue, position: 3 });
                held.settle(|found| found);
            })
        };
        [spawn(0), spawn(4)].into_iter().for_each(|thread| thread.join().unwrap());
        let held = world.enter(&[(0, true)]);
        let mut reads = Vec::new();
        world.allocations[0].uses.each_read(|read| reads.push((read.queue, read.position)));
        reads.sort_unstable();
        assert_eq!(reads, [(0, 3), (4, 3)]);
        held.settle(|_| CLEAN);
    });
}

#[test]
fn l8_a_writer_that_races_with_a_read_either_sees_it_or_is_seen() {
    model(Some(4), || {
        let world = World::new(1);
        let other = world.clone();
        let thread = thread::spawn(move || {
            let held = other.enter(&[(0, false)]);
            let before = other.allocations[0].uses.last_write();
            other.allocations[0].uses.note_read(Use { queue: 1, position: 5 });
            held.settle(|found| found);
            before
        });
        let held = world.enter(&[(0, true)]);
        let mut reads = Vec::new();
        world.allocations[0].uses.each_read(|read| reads.push(read));
        world.allocations[0].uses.note_write(Use { queue: 0, position: 2 });
        held.settle(|_| CLEAN);
        let seen = thread.join().unwrap();
        assert_eq!(reads.is_empty(), seen.is_some(), "one of them is ordered after the other");
    });
}
