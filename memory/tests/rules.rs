//! The rules of memory, one by one, on pools without a device.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::cell::Cell;

use compute_memory::{
    Answer, Kind, Layout, LayoutError, Mode, PageRequest, Placement, PoolSpec, Pools, PoolsInUse, Progress, Reason, Settings,
    Unwanted,
};

const MIB: u64 = 1 << 20;
const SETTINGS: Settings = Settings { granule: 256, page_limit: 1 << 40, exclusive_above: MIB, idle_cap: 1 << 30 };

#[derive(Default)]
struct Clocks {
    own: Cell<u64>,
    other: Cell<u64>,
}

impl Progress<u64> for Clocks {
    fn is_over(&self, uses: &u64) -> bool {
        *uses <= self.other.get()
    }

    fn is_past(&self, position: u64) -> bool {
        position <= self.own.get()
    }
}

struct World {
    pools: Pools<u64>,
    clocks: Clocks,
    pages: u64,
}

impl World {
    fn new(pools: &[PoolSpec]) -> Self {
        Self::with(Layout { pools: pools.to_vec() }, SETTINGS)
    }

    fn with(layout: Layout, settings: Settings) -> Self {
        Self { pools: Pools::new(layout, settings).unwrap(), clocks: Clocks::default(), pages: 0 }
    }

    fn ask(&mut self, size: u64) -> Result<Answer, Reason> {
        self.pools.allocate(size, 1, Mode::Auto, &self.clocks).map_err(|refusal| refusal.reason)
    }

    fn needed(&mut self, size: u64) -> PageRequest {
        match self.ask(size).unwrap() {
            Answer::NeedPage(request) => request,
            Answer::Placed(placed) => panic!("{placed:?}"),
        }
    }

    fn get_as(&mut self, size: u64, mode: Mode) -> Placement {
        match self.pools.allocate(size, 1, mode, &self.clocks).unwrap() {
            Answer::Placed(placed) => placed,
            Answer::NeedPage(request) => {
                self.pages += 1;
                self.pools.add_page(&request, self.pages, request.size).unwrap()
            }
        }
    }

    fn get(&mut self, size: u64) -> Placement {
        self.get_as(size, Mode::Auto)
    }

    fn put(&mut self, placed: Placement) {
        self.pools.release(placed, 0, None, &self.clocks);
    }
}

#[test]
fn m1_sizes_are_routed_to_sliced_exclusive_and_persistent_pools() {
    let mut world = World::with(Layout::standard(MIB), SETTINGS);
    let held = [
        world.get(100),
        world.get(20_000),
        world.get(5 * MIB + 1),
        world.get_as(100, Mode::Persistent),
        world.get_as(5 * MIB, Mode::Persistent),
    ];
    let memories: std::collections::HashSet<_> = held.iter().map(|placed| placed.memory).collect();
    assert_eq!(memories.len(), 5, "one page each");
    let report = world.pools.report();
    let shapes: Vec<_> = report.iter().map(|pool| (pool.kind, pool.persistent, pool.allocations, pool.in_use)).collect();
    use Kind::{Exclusive, Sliced};
    let large = 5 * MIB + 256;
    assert_eq!(
        shapes,
        [
            (Sliced, false, 1, 256),
            (Sliced, false, 1, 20_224),
            (Exclusive, false, 1, large),
            (Sliced, true, 1, 256),
            (Exclusive, true, 1, 5 * MIB)
        ]
    );
    assert!(report.iter().all(|pool| pool.largest_free == pool.reserved - pool.in_use));
    held.into_iter().for_each(|placed| world.put(placed));
    assert_eq!(world.pools.in_use(), 0);
    world.pools.cleanup(&world.clocks);
    assert_eq!(std::iter::from_fn(|| world.pools.take_released(&world.clocks)).count(), 5);
    assert_eq!(world.pools.reserved(), 0);
}

#[test]
fn m1_memory_released_on_its_own_queue_is_handed_out_at_once_with_its_position() {
    let mut world = World::new(&[PoolSpec::sliced(4096, 4096)]);
    let first = world.get(4096);
    assert_eq!(first.after, 0);
    world.pools.release(first, 17, None, &world.clocks);
    let again = world.get(1000);
    assert_eq!((again.memory, again.offset, again.after), (1, 0, 17), "another queue has to wait for 17");
    world.put(again);
    // Merged with what was used until 17.
    assert_eq!(world.get(4096).after, 17);
}

#[test]
fn l8_memory_in_use_on_another_queue_is_not_handed_out_before_that_use_is_over() {
    let mut world = World::new(&[PoolSpec::sliced(4096, 4096)]);
    let first = world.get(4096);
    world.pools.release(first, 0, Some(5), &world.clocks);
    assert_eq!((world.pools.pending(), world.pools.in_use()), (4096, 0));
    let second = world.get(4096);
    assert_eq!(second.memory, 2);
    world.clocks.other.set(5);
    assert_eq!(world.get(4096).memory, 1);
    assert_eq!(world.pools.pending(), 0);
}

#[test]
fn f7_a_page_goes_back_only_after_the_last_use_on_its_own_queue() {
    let mut world = World::new(&[PoolSpec::sliced(4096, 4096)]);
    let first = world.get(4096);
    world.pools.release(first, 9, None, &world.clocks);
    world.pools.cleanup(&world.clocks);
    assert_eq!(world.pools.take_released(&world.clocks), None);
    assert_eq!(world.pools.idle_position(), 9);
    let again = world.get(4096);
    assert_eq!((again.memory, again.after), (1, 9), "meanwhile it stays of use");
    world.put(again);
    // Pools that are replaced let their pages go, and still nobody gets them too early.
    world.pools.replace(Layout::standard(MIB), &world.clocks).unwrap();
    assert_eq!(world.pools.take_released(&world.clocks), None);
    assert_eq!(world.pools.reserved(), 4096);
    world.clocks.own.set(9);
    assert_eq!(world.pools.take_released(&world.clocks).map(|page| (page.memory, page.size)), Some((1, 4096)));
    assert_eq!(world.pools.reserved(), 0);
}

#[test]
fn mem05_a_refusal_says_how_much_is_free_and_how_large_the_largest_run_is() {
    let mut world = World::new(&[PoolSpec { cap: 100 * MIB, ..PoolSpec::sliced(20 * MIB, 100 * MIB) }]);
    let mut held: Vec<_> = (0..100).map(|_| Some(world.get(MIB))).collect();
    for every_second in held.iter_mut().step_by(2) {
        let placed = every_second.take().unwrap();
        world.put(placed);
    }
    let refusal = world.pools.allocate(10 * MIB, 1, Mode::Auto, &world.clocks).unwrap_err();
    let room = refusal.room;
    assert_eq!((refusal.reason, room.free, room.largest_free), (Reason::Capped(100 * MIB), 50 * MIB, MIB));
    let text = refusal.to_string();
    assert!(
        text.contains("52428800 free") && text.contains("the largest run of them 1048576") && refusal.is_reclaimable(),
        "{text}"
    );
    // A compaction cannot help within the only page; its neighbours can.
    assert!(world.pools.compact(|_, _| true).unwrap().is_empty());
    for placed in held.into_iter().flatten().take(9) {
        world.put(placed);
    }
    world.get(10 * MIB);
}

#[test]
fn m2_too_large_for_ever_and_no_room_now_are_told_apart() {
    let mut world = World::with(Layout::standard(MIB), Settings { page_limit: 100 * MIB, ..SETTINGS });
    assert_eq!(world.ask(100 * MIB + 1), Err(Reason::TooLarge(100 * MIB)));
    let mut world = World::new(&[PoolSpec { cap: 8192, ..PoolSpec::sliced(4096, 4096) }]);
    assert_eq!(world.ask(4097), Err(Reason::TooLarge(4096)));
    let held = [world.get(4000), world.get(4000)];
    assert_eq!(world.ask(1000), Err(Reason::Capped(8192)));
    held.into_iter().for_each(|placed| world.put(placed));
    world.get(1000);
    world.pools.freeze(true);
    world.get(2000);
    world.get(4096);
    assert_eq!(world.ask(4096), Err(Reason::Frozen(4096)));
    let refusal = world.pools.allocate(4096, 1, Mode::Auto, &world.clocks).unwrap_err();
    assert!(!refusal.is_reclaimable() && refusal.to_string().contains("4096 bytes is missing"), "{refusal}");
}

#[test]
fn m9_bad_sizes_and_alignments_each_have_their_error_and_disturb_nothing() {
    let mut world = World::with(Layout::standard(MIB), SETTINGS);
    let ask = |world: &mut World, size, alignment| {
        let answer = world.pools.allocate(size, alignment, Mode::Auto, &world.clocks);
        answer.map_err(|refusal| refusal.reason)
    };
    assert_eq!(ask(&mut world, 0, 1), Err(Reason::Empty));
    for alignment in [0, 3, 255, 257, u64::MAX] {
        assert_eq!(ask(&mut world, 100, alignment), Err(Reason::Alignment(alignment)));
    }
    for size in [u64::MAX, u64::MAX - 1, u64::MAX - 255, u64::MAX - 256, 1 << 63, (1 << 40) + 1] {
        for alignment in [1, 256, 1 << 20, 1 << 63] {
            assert_eq!(ask(&mut world, size, alignment), Err(Reason::TooLarge(1 << 40)), "{size} at {alignment}");
        }
    }
    assert_eq!((world.pools.reserved(), world.pools.in_use(), world.pools.is_empty()), (0, 0, true));
    assert!(matches!(ask(&mut world, 1000, 1 << 63), Err(Reason::TooLarge(_))), "no page could be so aligned");
}

#[test]
fn dl06_an_allocation_of_exactly_the_limit_is_served_also_when_the_limit_is_no_multiple_of_the_alignment() {
    let mut world = World::with(Layout::standard(MIB), Settings { page_limit: 5 * MIB + 3, ..SETTINGS });
    assert_eq!(world.needed(5 * MIB + 3).size, 5 * MIB + 256);
    assert_eq!(world.ask(5 * MIB + 4), Err(Reason::TooLarge(5 * MIB + 3)));
    let mut world = World::with(Layout::standard(MIB), Settings { page_limit: 1000, ..SETTINGS });
    assert_eq!(world.needed(700).size, 768, "no slice reaches beyond the page");
    assert_eq!(world.ask(1001), Err(Reason::TooLarge(1000)));
}

#[test]
fn m4_pools_in_use_are_not_replaced_and_nothing_is_disturbed() {
    let mut world = World::new(&[PoolSpec::sliced(4096, 4096)]);
    let held = world.get(1000);
    let weights = world.get_as(5000, Mode::Persistent);
    let before = world.pools.report();
    let answer = world.pools.replace(Layout::standard(MIB), &world.clocks);
    assert_eq!(answer, Err(PoolsInUse::Live { allocations: 1, bytes: 1024 }));
    assert_eq!(world.pools.report(), before);
    world.pools.release(held, 0, Some(7), &world.clocks);
    let answer = world.pools.replace(Layout::standard(MIB), &world.clocks);
    assert_eq!(answer, Err(PoolsInUse::Live { allocations: 1, bytes: 1024 }), "its use elsewhere goes on");
    world.clocks.other.set(7);
    let bad = Layout { pools: vec![] };
    assert_eq!(world.pools.replace(bad, &world.clocks), Err(PoolsInUse::Invalid(LayoutError::Empty)));
    world.pools.replace(Layout::standard(MIB), &world.clocks).unwrap();
    let after = world.pools.report();
    assert_eq!(
        after.iter().map(|pool| pool.peak_reserved).collect::<Vec<_>>(),
        [0, 0, 0, before[1].reserved, 0],
        "marks start over"
    );
    world.put(weights);
}

#[test]
fn m4_a_page_that_arrives_after_its_pools_were_replaced_is_not_taken() {
    let mut world = World::new(&[PoolSpec::sliced(4096, 4096)]);
    let request = world.needed(100);
    assert_eq!(world.pools.add_page(&request, 1, 100), Err(Unwanted), "too small");
    world.pools.replace(Layout::standard(MIB), &world.clocks).unwrap();
    assert_eq!(world.pools.add_page(&request, 1, 4096), Err(Unwanted));
    assert_eq!(world.pools.reserved(), 0);
}

#[test]
fn m6_idle_pages_are_capped() {
    let mut world = World::with(Layout::standard(MIB), Settings { idle_cap: 10 * MIB, ..SETTINGS });
    let held: Vec<_> = (0..20).map(|_| world.get(3 * MIB)).collect();
    for placed in held {
        world.put(placed);
        while world.pools.take_released(&world.clocks).is_some() {}
        assert!(world.pools.idle() <= 10 * MIB);
    }
    assert_eq!(world.pools.reserved(), 9 * MIB);
}

#[test]
fn m1_an_idle_page_of_another_size_makes_room_under_a_cap() {
    let mut world = World::new(&[PoolSpec { cap: 64 * MIB, ..PoolSpec::exclusive(u64::MAX) }]);
    let sixty = world.get(60 * MIB);
    world.put(sixty);
    // MEM-03: 60 of 64 taken and released, then 50.
    let fifty = world.get(50 * MIB);
    assert_eq!(fifty.capacity, 50 * MIB);
    assert_eq!(world.pools.take_released(&world.clocks).map(|page| page.size), Some(60 * MIB));
    assert_eq!(world.ask(20 * MIB), Err(Reason::Capped(64 * MIB)));
}

#[test]
fn a_page_whose_contents_find_no_room_keeps_no_fuller_one_from_being_emptied() {
    // Of mebibytes: one with a slice that fits nowhere, one with three small ones, and three with a hole for one of these each.
    const KIB: u64 = 1024;
    let mut world = World::new(&[PoolSpec::sliced(1024 * KIB, 1024 * KIB)]);
    let mut freed = Vec::new();
    world.get(600 * KIB);
    freed.push(world.get(424 * KIB));
    (0..3).for_each(|_| _ = world.get(220 * KIB));
    freed.push(world.get(364 * KIB));
    for _ in 0..3 {
        world.get(780 * KIB);
        freed.push(world.get(244 * KIB));
    }
    freed.into_iter().for_each(|placed| world.put(placed));
    let moves = world.pools.compact(|_, _| true).unwrap();
    assert_eq!(moves.len(), 3);
    assert!(moves.iter().all(|planned| planned.memory == moves[0].memory && planned.to.memory != planned.memory));
}

#[test]
fn a_compaction_empties_pages_into_others_and_leaves_what_may_not_move() {
    let mut world = World::new(&[PoolSpec::sliced(1024, 8192)]);
    let mut held: Vec<_> = (0..32).map(|_| Some(world.get(1024))).collect();
    // Four pages; three slices stay in each of the first three, all in the last.
    for (index, slot) in held.iter_mut().enumerate().take(24) {
        if index % 8 > 2 {
            let placed = slot.take().unwrap();
            world.put(placed);
        }
    }
    let moves = world.pools.compact(|memory, _| memory != 2).unwrap();
    assert!(moves.iter().all(|planned| planned.memory != 2 && planned.to.memory != planned.memory));
    let mut left: Vec<_> = moves.iter().map(|planned| (planned.memory, planned.to.memory)).collect();
    left.dedup();
    assert_eq!(moves.len(), 3, "{left:?}");
    for planned in moves {
        let place = held.iter_mut().flatten().find(|placed| (placed.memory, placed.offset) == (planned.memory, planned.offset));
        let old = std::mem::replace(place.unwrap(), planned.to);
        world.put(old);
    }
    world.pools.cleanup(&world.clocks);
    assert_eq!(world.pools.take_released(&world.clocks).map(|page| page.size), Some(8192));
    assert_eq!(world.pools.in_use(), 17 * 1024);
}
