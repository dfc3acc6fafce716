//! Maps, failures and the journal together against a simulated device that knows what every byte really holds. No arithmetic on ranges.
//!
//! The device runs each operation when it is enqueued (the order of the sections is the order of the world) and keeps to itself which ones
//! failed; the bookkeeping learns it when the position completes. A second model keeps every operation for ever and walks byte by byte.

use crate::{About, Answers, Buffer, Entry, Error, Failure, Journal, Map, Touch, Watch};
use proptest::prelude::*;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

const BUFFERS: usize = 3;
const SIZE: u64 = 8;
const QUEUES: u64 = 2;

/// A byte in the world: the id of its buffer, its offset.
type Place = (u64, u64);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Byte {
    Never,
    Trusted,
    Claimed { failure: u64, restores: bool },
}

/// What happened, in the one order, never forgotten.
enum Event {
    Work { id: u64, reads: Vec<Place>, writes: Vec<(Place, bool)>, failed: bool, watch: bool },
    Claim { places: Vec<Place>, untouched: bool },
    Uncover { places: Vec<Place> },
}

#[derive(Clone, Debug)]
struct View {
    slot: usize,
    range: Range<u64>,
}

/// What is known of how much of a view a launch writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// Nothing.
    Part,
    /// Whatever it leaves is padding: what is not trusted is filled first, and the view is trusted afterwards.
    Padded,
    /// Every byte.
    Whole,
}

#[derive(Clone, Debug)]
struct Launch {
    queue: u64,
    reads: Vec<View>,
    /// The last: which bytes it does write, where that is not all.
    writes: Vec<(View, Reach, u8)>,
    /// A part of it reads what another has left as padding, and all else that it writes derives from that.
    seen: bool,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// Refused at once, before or after something reached the device.
    Refused { untouched: bool },
    /// Accepted. It may be able to fail late, and may do so.
    Accepted { can_fail: bool, fails: bool },
}

#[derive(Clone, Debug)]
enum Step {
    Launch(Launch),
    Write(View),
    Read(View),
    Complete(u64),
    Free(usize),
    Reinstate(View),
    Compact(usize),
}

struct Pending {
    position: u64,
    event: u64,
    can_fail: bool,
    failed: bool,
}

struct Readback {
    watch: Arc<Watch>,
    event: u64,
    /// The bytes were what they should be.
    good: bool,
    waits: Vec<(u64, u64)>,
}

struct World {
    maps: BTreeMap<u64, Map>,
    live: Vec<u64>,
    journal: Journal,
    /// What the device holds: whether the byte is what successful work on proper bytes put there.
    good: BTreeMap<Place, bool>,
    model: BTreeMap<Place, Byte>,
    log: Vec<Event>,
    failures: BTreeMap<u64, Arc<Failure>>,
    queues: Vec<(u64, u64, Vec<Pending>)>,
    used: BTreeSet<u64>,
    readbacks: Vec<Readback>,
    next: u64,
    /// Below the cap everything is equal; past it the maps may claim more.
    exact: bool,
    limit: usize,
}

fn places(buffer: u64, range: &Range<u64>) -> Vec<Place> {
    range.clone().map(|at| (buffer, at)).collect()
}

impl World {
    fn new(limit: usize) -> World {
        let mut world = World {
            maps: BTreeMap::new(),
            live: Vec::new(),
            journal: Journal::new(),
            good: BTreeMap::new(),
            model: BTreeMap::new(),
            log: Vec::new(),
            failures: BTreeMap::new(),
            queues: (0..QUEUES).map(|_| (0, 0, Vec::new())).collect(),
            used: BTreeSet::new(),
            readbacks: Vec::new(),
            next: 1,
            exact: limit > SIZE as usize,
            limit,
        };
        for _ in 0..BUFFERS {
            let id = world.allocate();
            world.live.push(id);
        }
        world
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn allocate(&mut self) -> u64 {
        let id = self.id();
        let mut map = Map::unwritten(SIZE);
        map.limit_to(self.limit);
        self.maps.insert(id, map);
        for place in places(id, &(0..SIZE)) {
            self.good.insert(place, false);
            self.model.insert(place, Byte::Never);
        }
        id
    }

    fn failure(&mut self, untouched: bool) -> Arc<Failure> {
        let (answers, driver, about, location) = (Answers::default(), None, None, None);
        let failure = Failure::new(
            Arc::new(Error { code: -1, message: "broken".into(), answers, driver, about, location, diagnostics: Vec::new() }),
            untouched,
        );
        self.failures.insert(failure.id(), failure.clone());
        failure
    }

    fn map(&mut self, buffer: u64) -> &mut Map {
        self.maps.get_mut(&buffer).expect("the buffer is live")
    }

    fn touch(&self, view: &View, whole: bool) -> Touch {
        Touch { buffer: Buffer { id: self.live[view.slot], label: "".into() }, range: view.range.clone(), whole }
    }

    /// Where in the order a claim happens: the map, the journal and both models learn of it.
    fn claim_now(&mut self, touches: &[Touch], failure: &Arc<Failure>) {
        for touch in touches {
            let (id, range) = (touch.buffer.id, touch.range.clone());
            self.map(id).claim(range.clone(), failure);
            self.journal.claimed(id, range.clone(), failure);
            let all = places(id, &range);
            for place in &all {
                let byte = self.model[place];
                let same = matches!(byte, Byte::Claimed { failure: f, .. } if f == failure.id());
                if !same {
                    let restores = failure.is_untouched() && byte == Byte::Trusted;
                    self.model.insert(*place, Byte::Claimed { failure: failure.id(), restores });
                }
            }
            self.log.push(Event::Claim { places: all, untouched: failure.is_untouched() });
        }
    }

    /// Enqueues an operation; its bytes are settled by the caller. Tells the event and the position.
    fn enqueue(&mut self, queue: u64, reads: &[Touch], writes: &[Touch], outcome: Outcome, watch: Option<Arc<Watch>>) -> u64 {
        self.enqueue_filled(queue, &[], reads, writes, outcome, watch)
    }

    /// The same of one that begins with zero-fills, which fail with it and derive from nothing.
    fn enqueue_filled(
        &mut self,
        queue: u64,
        filled: &[Touch],
        reads: &[Touch],
        writes: &[Touch],
        outcome: Outcome,
        watch: Option<Arc<Watch>>,
    ) -> u64 {
        let Outcome::Accepted { can_fail, fails } = outcome else { unreachable!("refused work is not enqueued") };
        let event = self.id();
        let position = self.queues[queue as usize].1 + 1;
        self.queues[queue as usize].1 = position;
        if !filled.is_empty() {
            let writes = filled.iter().flat_map(|t| places(t.buffer.id, &t.range)).map(|place| (place, true)).collect();
            self.log.push(Event::Work { id: event, reads: Vec::new(), writes, failed: false, watch: false });
        }
        self.log.push(Event::Work {
            id: event,
            reads: reads.iter().flat_map(|t| places(t.buffer.id, &t.range)).collect(),
            writes: writes.iter().flat_map(|t| places(t.buffer.id, &t.range).into_iter().map(|p| (p, t.whole))).collect(),
            failed: false,
            watch: watch.is_some(),
        });
        if can_fail || !self.journal.is_idle() {
            let about = About { operation: event, label: "".into(), kernel: "k".into(), stream: queue };
            let (reads, writes) = (
                reads.iter().cloned().collect::<SmallVec<[Touch; 4]>>(),
                filled.iter().chain(writes).cloned().collect::<SmallVec<[Touch; 4]>>(),
            );
            self.journal.reserve(reads.len() + writes.len()).expect("memory is there");
            self.journal.record(Entry {
                queue,
                first: position,
                last: position,
                can_fail,
                reads,
                writes,
                fills: filled.len(),
                about,
                parts: None,
                watch,
            });
        }
        self.queues[queue as usize].2.push(Pending { position, event, can_fail, failed: can_fail && fails });
        event
    }

    /// Zero-fills ranges that the maps no longer hold for never written.
    fn fill(&mut self, queue: u64, buffer: u64, ranges: &[Range<u64>]) {
        for range in ranges {
            let touch = Touch { buffer: Buffer { id: buffer, label: "".into() }, range: range.clone(), whole: true };
            self.enqueue(queue, &[], &[touch], Outcome::Accepted { can_fail: false, fails: false }, None);
            for place in places(buffer, range) {
                assert_eq!(self.model[&place], Byte::Never, "a fill never destroys what was written");
                self.model.insert(place, Byte::Trusted);
                self.good.insert(place, true);
            }
        }
    }

    fn fill_unwritten(&mut self, queue: u64, touch: &Touch) {
        let ranges: Vec<_> = self.map(touch.buffer.id).unwritten_in(touch.range.clone()).collect();
        self.fill(queue, touch.buffer.id, &ranges);
        self.map(touch.buffer.id).filled(touch.range.clone());
    }

    /// What an operation fills with zeros as a part of itself, claimed bytes too if only padding is left; `good`: it does so.
    fn fill_with(&mut self, touch: &Touch, padded: bool, good: bool) -> Vec<Touch> {
        let gaps = self.map(touch.buffer.id).gaps_in(touch.range.clone());
        let ranges: Vec<_> = gaps.filter(|(_, claimed)| padded || !claimed).map(|(range, _)| range).collect();
        for place in ranges.iter().flat_map(|range| places(touch.buffer.id, range)) {
            assert!(padded || self.model[&place] == Byte::Never, "a fill never destroys what was written");
            self.model.insert(place, Byte::Trusted);
            self.good.insert(place, good);
        }
        self.map(touch.buffer.id).filled(touch.range.clone());
        ranges.into_iter().map(|range| Touch { buffer: touch.buffer.clone(), range, whole: true }).collect()
    }

    fn first_claim(&mut self, reads: &[Touch]) -> Option<Arc<Failure>> {
        let found = reads.iter().find_map(|t| self.maps[&t.buffer.id].first_claim(t.range.clone()).map(|(_, f)| f.clone()));
        let all = reads.iter().flat_map(|t| places(t.buffer.id, &t.range));
        let expected = all.into_iter().find_map(|place| match self.model[&place] {
            Byte::Claimed { failure, .. } => Some(failure),
            _ => None,
        });
        if self.exact {
            assert_eq!(found.as_ref().map(|f| f.id()), expected, "of several failures, the first by slot and offset");
        }
        assert!(found.is_some() || expected.is_none(), "a launch that reads claimed bytes is skipped");
        found
    }

    /// Before anything is decided, as the runtime does.
    fn reserve(&mut self, touches: &[Touch]) {
        for touch in touches {
            let more = 2 * touches.iter().filter(|other| other.buffer.id == touch.buffer.id).count();
            self.map(touch.buffer.id).reserve(more).expect("memory is there");
        }
    }

    fn launch(&mut self, launch: &Launch) {
        let reads: Vec<Touch> = launch.reads.iter().map(|view| self.touch(view, false)).collect();
        let writes: Vec<Touch> = launch.writes.iter().map(|(view, reach, _)| self.touch(view, *reach == Reach::Whole)).collect();
        let overlaps =
            |a: &Touch, b: &Touch| a.buffer.id == b.buffer.id && a.range.start < b.range.end && b.range.start < a.range.end;
        let twice = writes.iter().enumerate().any(|(i, w)| writes[..i].iter().chain(&reads).any(|other| overlaps(w, other)));
        if twice {
            return;
        }
        self.reserve(&[&reads[..], &writes[..]].concat());
        if let Outcome::Refused { untouched } = launch.outcome {
            let failure = self.failure(untouched);
            if !untouched {
                writes.iter().flat_map(|t| places(t.buffer.id, &t.range)).for_each(|place| _ = self.good.insert(place, false));
            }
            return self.claim_now(&writes, &failure);
        }
        if let Some(failure) = self.first_claim(&reads) {
            return self.claim_now(&writes, &failure);
        }
        let fails = matches!(launch.outcome, Outcome::Accepted { can_fail: true, fails: true });
        let padded = |index: usize| launch.writes.get(index).is_some_and(|(_, reach, _)| *reach == Reach::Padded);
        let left = writes.iter().enumerate().filter(|(_, touch)| !touch.whole).map(|(index, touch)| (touch, padded(index)));
        let needed: Vec<(&Touch, bool)> = reads.iter().map(|touch| (touch, false)).chain(left).collect();
        let can_fail = matches!(launch.outcome, Outcome::Accepted { can_fail: true, .. });
        let seen: Vec<Touch> = writes
            .iter()
            .enumerate()
            .filter(|(index, _)| launch.seen && padded(*index))
            .map(|(_, touch)| touch.clone())
            .collect();
        let trusted = |map: &Map, touch: &Touch| {
            touch
                .range
                .clone()
                .filter(|at| map.is_trusted(*at..at + 1))
                .map(|at| Touch { range: at..at + 1, ..touch.clone() })
                .collect::<Vec<_>>()
        };
        let left: Vec<Touch> = seen.iter().flat_map(|touch| trusted(&self.maps[&touch.buffer.id], touch)).collect();
        let derived: Vec<Touch> = reads.iter().chain(&left).cloned().collect();
        if can_fail || needed.iter().any(|(_, padded)| *padded) {
            let filled: Vec<Touch> = needed.iter().flat_map(|(touch, padded)| self.fill_with(touch, *padded, !fails)).collect();
            self.enqueue_filled(launch.queue, &filled, &derived, &writes, launch.outcome, None);
        } else {
            needed.iter().for_each(|(touch, _)| self.fill_unwritten(launch.queue, touch));
            self.enqueue(launch.queue, &reads, &writes, launch.outcome, None);
        }
        let left_well = left.iter().flat_map(|t| places(t.buffer.id, &t.range)).all(|place| self.good[&place]);
        let proper =
            !fails && left_well && reads.iter().flat_map(|t| places(t.buffer.id, &t.range)).all(|place| self.good[&place]);
        for (touch, (_, reach, mask)) in writes.iter().zip(&launch.writes) {
            for place in places(touch.buffer.id, &touch.range) {
                if (*reach == Reach::Whole && !fails) || mask >> (place.1 % 8) & 1 == 1 {
                    self.good.insert(place, proper);
                }
                if *reach != Reach::Part {
                    self.model.insert(place, Byte::Trusted);
                }
            }
            if *reach != Reach::Part {
                self.map(touch.buffer.id).written(touch.range.clone());
            }
        }
    }

    fn write(&mut self, view: &View) {
        let touch = self.touch(view, true);
        self.enqueue(0, &[], std::slice::from_ref(&touch), Outcome::Accepted { can_fail: false, fails: false }, None);
        self.map(touch.buffer.id).written(touch.range.clone());
        for place in places(touch.buffer.id, &touch.range) {
            self.good.insert(place, true);
            self.model.insert(place, Byte::Trusted);
        }
    }

    fn read(&mut self, view: &View) {
        let touch = self.touch(view, false);
        self.reserve(std::slice::from_ref(&touch));
        if self.first_claim(std::slice::from_ref(&touch)).is_some() {
            return;
        }
        self.fill_unwritten(1, &touch);
        let waits = self.waits(touch.buffer.id, &touch.range);
        let watch = Watch::new();
        let none = Outcome::Accepted { can_fail: false, fails: false };
        let event = self.enqueue(1, std::slice::from_ref(&touch), &[], none, Some(watch.clone()));
        let good = places(touch.buffer.id, &touch.range).iter().all(|place| self.good[place]);
        self.readbacks.push(Readback { watch, event, good, waits });
    }

    /// What a read of these bytes still waits for.
    fn waits(&self, buffer: u64, range: &Range<u64>) -> Vec<(u64, u64)> {
        let waits = self.journal.derives(buffer, range.clone()).into_iter();
        waits.filter(|(queue, position)| self.queues[*queue as usize].0 < *position).collect()
    }

    fn complete(&mut self, queue: u64) {
        if self.queues[queue as usize].2.is_empty() {
            return;
        }
        let Pending { position, event, failed, .. } = self.queues[queue as usize].2.remove(0);
        if failed {
            let failure = self.failure(event % 2 == 0);
            let reach = self.journal.reach(queue, position);
            let claims = self.journal.fail(queue, position, &failure);
            assert!(claims.len() <= 2 * reach, "{} claims of a failure that reaches {reach} ranges", claims.len());
            for claim in claims {
                if let Some(map) = self.maps.get_mut(&claim.buffer) {
                    claim.apply(map);
                }
            }
            self.fail_in_model(event, failure.id());
        }
        self.queues[queue as usize].0 = position;
        let completed: Vec<u64> = self.queues.iter().map(|queue| queue.0).collect();
        for gone in self.journal.retire(|queue| completed[queue as usize]) {
            assert!(!self.journal.is_pending(gone));
        }
        self.settle_readbacks();
        if !self.queues.iter().any(|queue| queue.2.iter().any(|pending| pending.can_fail)) {
            assert!(self.journal.is_idle(), "nothing is kept once nothing can fail");
        }
    }

    /// T13 byte by byte over everything that ever happened.
    fn fail_in_model(&mut self, event: u64, failure: u64) {
        let (mut claimed, mut beneath) = (BTreeSet::<Place>::new(), BTreeSet::<Place>::new());
        let start = self.log.iter().position(|e| matches!(e, Event::Work { id, failed: false, .. } if *id == event));
        let Some(start) = start else { return };
        let of_it = event;
        for (index, event) in self.log.iter_mut().enumerate().skip(start) {
            match event {
                Event::Claim { places, untouched } => places.iter().for_each(|place| {
                    if claimed.remove(place) && *untouched {
                        beneath.insert(*place);
                    } else if !*untouched {
                        beneath.remove(place);
                    }
                }),
                Event::Uncover { places } => {
                    places.iter().filter(|place| beneath.remove(place)).for_each(|place| _ = claimed.insert(*place));
                }
                Event::Work { id, reads, writes, failed, watch } => {
                    if index == start || (!*failed && (*id == of_it || reads.iter().any(|place| claimed.contains(place)))) {
                        *failed = true;
                        if *watch {
                            self.used.insert(*id);
                        }
                        claimed.extend(writes.iter().map(|(place, _)| *place));
                        continue;
                    }
                    for (place, _) in writes.iter().filter(|(_, whole)| *whole || *failed) {
                        claimed.remove(place);
                        beneath.remove(place);
                    }
                }
            }
        }
        for place in claimed {
            self.model.insert(place, Byte::Claimed { failure, restores: false });
        }
        for place in beneath {
            if let Some(Byte::Claimed { restores, .. }) = self.model.get_mut(&place) {
                *restores = false;
            }
        }
    }

    fn settle_readbacks(&mut self) {
        let completed: Vec<u64> = self.queues.iter().map(|queue| queue.0).collect();
        let settled = |r: &Readback| r.waits.iter().all(|(queue, position)| completed[*queue as usize] >= *position);
        for read in self.readbacks.extract_if(.., |r| settled(r)) {
            assert_eq!(
                read.watch.failure().is_some(),
                self.used.contains(&read.event),
                "a read learns that it used claimed bytes"
            );
            assert!(
                read.good || read.watch.failure().is_some(),
                "bytes reach the host only once what they derive from has retired"
            );
        }
    }

    fn free(&mut self, slot: usize) {
        self.maps.remove(&self.live[slot]);
        self.live[slot] = self.allocate();
    }

    fn reinstate(&mut self, view: &View) {
        let touch = self.touch(view, false);
        let (id, range) = (touch.buffer.id, touch.range);
        let Some(failure) = self.map(id).first_claim(range.clone()).map(|(_, f)| f.clone()) else { return };
        let parts: Vec<_> = self.map(id).reinstatable(range.clone(), &failure).collect();
        parts.iter().for_each(|part| self.journal.reinstated(id, part.clone()));
        self.map(id).reinstate(range.clone(), &failure);
        let lifted: Vec<Place> = parts.iter().flat_map(|part| places(id, part)).collect();
        let restored = Byte::Claimed { failure: failure.id(), restores: true };
        let expected: Vec<Place> = places(id, &range).into_iter().filter(|place| self.model[place] == restored).collect();
        if self.exact {
            assert_eq!(lifted, expected, "exactly what was trusted when the failure began");
        }
        for place in &lifted {
            assert_ne!(self.model[place], Byte::Never);
            self.model.insert(*place, Byte::Trusted);
        }
        self.log.push(Event::Uncover { places: lifted });
    }

    fn compact(&mut self, slot: usize) {
        let id = self.live[slot];
        let gaps = self.map(id).compact();
        self.fill(0, id, &gaps);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Launch(launch) => self.launch(launch),
            Step::Write(view) => self.write(view),
            Step::Read(view) => self.read(view),
            Step::Complete(queue) => self.complete(*queue),
            Step::Free(slot) => self.free(*slot),
            Step::Reinstate(view) => self.reinstate(view),
            Step::Compact(slot) => self.compact(*slot),
        }
        self.check();
    }

    fn check(&self) {
        for (&(buffer, at), byte) in &self.model {
            let Some(map) = self.maps.get(&buffer) else { continue };
            let one = at..at + 1;
            let claim = map.first_claim(one.clone()).map(|(_, f)| f.id());
            if map.is_trusted(one.clone()) && self.waits(buffer, &one).is_empty() {
                assert!(self.good[&(buffer, at)], "byte {at} of {buffer} is trusted, and was not written by successful work");
            }
            match byte {
                Byte::Claimed { failure, .. } if self.exact => assert_eq!(claim, Some(*failure), "byte {at} of {buffer}"),
                Byte::Claimed { .. } => assert!(claim.is_some(), "byte {at} of {buffer}"),
                Byte::Never if self.exact => assert_eq!(map.unwritten_in(one.clone()).count(), 1, "byte {at} of {buffer}"),
                Byte::Never => assert!(!map.is_trusted(one.clone()), "byte {at} of {buffer}"),
                Byte::Trusted if self.exact => assert!(map.is_trusted(one.clone()), "byte {at} of {buffer}"),
                Byte::Trusted => assert_eq!(map.unwritten_in(one.clone()).count(), 0, "byte {at} of {buffer}"),
            }
        }
        self.maps.values().for_each(Map::check);
        self.check_failures();
    }

    fn check_failures(&self) {
        if !self.exact {
            return;
        }
        for failure in self.failures.values() {
            let claims = self.maps.values().filter(|map| map.failures(0..SIZE).iter().any(|f| f.id() == failure.id())).count();
            assert_eq!(failure.buffers(), claims as u64);
            let (kept, total) = failure.skips();
            assert_eq!(kept.len() as u64, total.min(crate::KEPT_SKIPS as u64));
        }
    }
}

fn a_view() -> impl Strategy<Value = View> {
    (0..BUFFERS, 0..SIZE, 1..=SIZE).prop_map(|(slot, start, len)| View { slot, range: start..(start + len).min(SIZE) })
}

fn a_launch() -> impl Strategy<Value = Launch> {
    let outcome = prop_oneof![
        1 => any::<bool>().prop_map(|untouched| Outcome::Refused { untouched }),
        8 => (any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(can_fail, fails)| Outcome::Accepted { can_fail, fails }),
    ];
    let reads = prop::collection::vec(a_view(), 0..3);
    let reach = prop_oneof![Just(Reach::Part), Just(Reach::Padded), Just(Reach::Whole)];
    let writes = prop::collection::vec((a_view(), reach, any::<u8>()), 1..3);
    (0..QUEUES, reads, writes, any::<bool>(), outcome).prop_map(|(queue, reads, writes, seen, outcome)| Launch {
        queue,
        reads,
        writes,
        seen,
        outcome,
    })
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => a_launch().prop_map(Step::Launch),
        3 => a_view().prop_map(Step::Write),
        3 => a_view().prop_map(Step::Read),
        8 => (0..QUEUES).prop_map(Step::Complete),
        1 => (0..BUFFERS).prop_map(Step::Free),
        2 => a_view().prop_map(Step::Reinstate),
        1 => (0..BUFFERS).prop_map(Step::Compact),
    ]
}

fn run(limit: usize, steps: &[Step]) {
    let mut world = World::new(limit);
    steps.iter().for_each(|step| world.step(step));
    while let Some(queue) = world.queues.iter().position(|queue| !queue.2.is_empty()) {
        world.step(&Step::Complete(queue as u64));
    }
    assert!(world.journal.is_idle() && world.readbacks.is_empty());
}

proptest! {
    #[test]
    fn t13_no_byte_is_trusted_that_successful_work_did_not_write(steps in prop::collection::vec(a_step(), 1..40)) {
        run(1024, &steps);
    }

    #[test]
    fn t3_past_the_cap_still_no_byte_is_trusted_that_successful_work_did_not_write(
        limit in 1..4usize,
        steps in prop::collection::vec(a_step(), 1..40),
    ) {
        run(limit, &steps);
    }
}
