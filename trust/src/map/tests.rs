//! One map against a byte-by-byte model, and the sentences of T1 to T4 that are about one allocation.
#![allow(clippy::single_range_in_vec_init)]

use super::*;
use crate::room::denial;
use crate::{Answers, Error};
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn failure(untouched: bool) -> Arc<Failure> {
    let (answers, driver, about, location) = (Answers::default(), None, None, None);
    Failure::new(
        Arc::new(Error { code: -1, message: "broken".into(), answers, driver, about, location, diagnostics: Vec::new() }),
        untouched,
    )
}

fn ids(map: &Map, range: Range<u64>) -> Vec<u64> {
    map.failures(range).iter().map(|f| f.id()).collect()
}

fn unwritten(map: &Map, range: Range<u64>) -> Vec<Range<u64>> {
    map.unwritten_in(range).collect()
}

impl Map {
    pub(crate) fn limit_to(&mut self, ranges: usize) {
        (self.limit, self.ceiling) = (ranges, ranges * SLACK);
    }

    /// What must hold between any two calls.
    pub(crate) fn check(&self) {
        let mut end = 0;
        let mut before: Option<Span> = None;
        let mut spans = std::collections::BTreeMap::new();
        for span in &self.spans {
            assert!(
                span.start < span.end && span.start >= end && span.end <= self.size,
                "spans are sorted, disjoint and not empty"
            );
            assert!(before.is_none_or(|b| b.end < span.start || b.state != span.state), "spans that touch differ");
            (end, before) = (span.end, Some(*span));
            if let Some(id) = span.state.failure() {
                *spans.entry(id).or_insert(0u32) += 1;
                assert!(self.carried.get(id).is_some(), "a claim carries its failure");
            }
        }
        assert_eq!(
            self.carried.counts_of_spans(),
            spans.into_iter().collect::<Vec<_>>(),
            "no failure is carried without a claim"
        );
        assert!(self.spans.len() <= self.ceiling, "the hard bound");
    }
}

#[test]
fn t1_a_map_that_is_used_again_is_never_written_and_one_with_claims_is_not_used_again() {
    let mut map = Map::unwritten(10);
    for range in [0..10, 3..7, 0..1, 9..10] {
        map.written(range);
        assert!(map.renew());
        map.check();
        assert_eq!(unwritten(&map, 0..10), [0..10]);
    }
    let failure = failure(false);
    map.written(0..10);
    map.claim(4..5, &failure);
    assert!(!map.renew());
    assert_eq!((ids(&map, 0..10), failure.buffers()), (vec![failure.id()], 1));
    let mut empty = Map::unwritten(0);
    assert!(empty.renew() && empty.is_clean());
}

#[test]
fn t1_a_fresh_map_is_never_written_and_an_imported_one_is_trusted() {
    let map = Map::unwritten(10);
    assert!(!map.is_clean() && !map.is_trusted(9..10) && map.first_claim(0..10).is_none());
    assert_eq!(unwritten(&map, 3..20), [3..10]);
    assert!(Map::trusted(10).is_clean() && Map::trusted(10).is_trusted(0..10));
    assert!(Map::unwritten(0).is_clean(), "no byte is untrusted in an empty allocation");
}

#[test]
fn t1_under_strict_unwritten_the_bytes_are_claimed_by_never_written() {
    let mut map = Map::claimed(10, Failure::never_written());
    assert_eq!(map.first_claim(4..10).map(|(at, f)| (at, f.id())), Some((4, Failure::never_written().id())));
    assert_eq!(unwritten(&map, 0..10), []);
    map.filled(0..10);
    assert!(!map.is_trusted(0..1), "a zero-fill releases no claim");
    map.written(0..10);
    assert!(map.is_clean());
}

#[test]
fn t1_only_the_never_written_parts_of_a_range_are_filled() {
    let mut map = Map::unwritten(100);
    map.written(20..30);
    map.claim(40..50, &failure(false));
    assert_eq!(unwritten(&map, 10..60), [10..20, 30..40, 50..60]);
    map.filled(10..60);
    assert_eq!(unwritten(&map, 0..100), [0..10, 60..100]);
    assert!(map.is_trusted(10..40) && !map.is_trusted(49..50) && map.is_trusted(50..60));
}

#[test]
fn t2_reinstate_lifts_an_untouched_claim_only_from_bytes_that_were_trusted() {
    let (mut map, oom, older) = (Map::unwritten(100), failure(true), failure(false));
    map.written(0..60);
    map.claim(10..20, &older);
    map.claim(0..100, &oom);
    assert_eq!(ids(&map, 0..100), [oom.id()]);
    assert_eq!(map.reinstatable(5..80, &oom).collect::<Vec<_>>(), [5..10, 20..60]);
    assert_eq!(map.reinstate(5..80, &oom), 45);
    assert!(map.is_trusted(5..10) && map.is_trusted(20..60));
    assert_eq!(map.first_claim(5..60).map(|(at, _)| at), Some(10), "what another failure claimed stays claimed");
    assert_eq!(map.first_claim(60..100).map(|(at, _)| at), Some(60), "what was never written stays claimed");
    assert_eq!(map.reinstate(0..100, &oom), 5);
}

#[test]
fn t2_reinstate_lifts_nothing_of_work_that_reached_the_device_or_ran() {
    let (mut map, touched, aborted) = (Map::trusted(100), failure(false), failure(true));
    map.claim(0..10, &touched);
    map.claim_late(20..30, &aborted);
    map.claim(30..40, &aborted);
    map.claim_late(35..40, &aborted);
    assert_eq!(map.reinstate(0..100, &touched), 0);
    assert_eq!(map.reinstate(0..100, &aborted), 5);
    assert!(map.is_trusted(30..35) && !map.is_trusted(20..30) && !map.is_trusted(35..40));
}

#[test]
fn t3_a_new_failure_takes_over_its_bytes_and_the_old_one_keeps_the_rest() {
    let (mut map, old, new) = (Map::trusted(100), failure(false), failure(true));
    map.claim(10..50, &old);
    map.claim(20..30, &new);
    assert_eq!(ids(&map, 0..100), [old.id(), new.id()]);
    assert_eq!(map.first_claim(25..40).map(|(at, f)| (at, f.id())), Some((25, new.id())));
    assert_eq!(map.first_claim(30..40).map(|(at, f)| (at, f.id())), Some((30, old.id())));
    map.claim(0..100, &new);
    assert_eq!((ids(&map, 0..100), old.buffers(), new.buffers()), (vec![new.id()], 0, 1));
}

#[test]
fn t3_claiming_again_for_the_same_failure_changes_nothing() {
    let (mut map, oom) = (Map::trusted(100), failure(true));
    map.claim(10..50, &oom);
    map.claim(20..60, &oom);
    assert_eq!(map.spans.len(), 1);
    assert_eq!(map.reinstate(0..100, &oom), 50);
}

#[test]
fn t3_a_million_identical_failures_use_the_memory_of_one() {
    let mut map = Map::unwritten(4096);
    map.written(0..2048);
    let mut first = None;
    for _ in 0..1_000_000 {
        map.claim(1024..3072, &failure(false));
        let held = (map.spans.len(), map.spans.capacity(), map.carried.counts_of_spans().len());
        assert_eq!(*first.get_or_insert(held), held);
    }
    assert_eq!(first.map(|(spans, _, failures)| (spans, failures)), Some((2, 1)));
}

#[test]
fn t3_an_overflowing_map_fills_never_written_gaps_before_it_merges_claims() {
    let mut map = Map::unwritten(100_000);
    let broken = failure(false);
    for i in 0..600 {
        map.claim(i * 10..i * 10 + 5, &broken);
    }
    assert!(map.overflowing());
    let fills = map.compact();
    assert!(!map.overflowing() && !fills.is_empty());
    assert_eq!(fills.first(), Some(&(5..10)));
    assert!(fills.iter().all(|gap| map.is_trusted(gap.clone())));
    assert!((0..600).all(|i| map.first_claim(i * 10..i * 10 + 5).is_some_and(|(at, f)| at == i * 10 && f.id() == broken.id())));
    assert!(map.compact().is_empty());
}

#[test]
fn t3_the_nearest_claims_merge_into_their_hull_under_a_group() {
    let mut map = Map::trusted(1_000_000);
    let all: Vec<_> = (0..MAX_RANGES as u64 + 2).map(|_| failure(false)).collect();
    for (i, one) in (0..).zip(&all) {
        let start = i * 100;
        map.claim(start..start + if i == 7 || i == 500 { 99 } else { 10 }, one);
    }
    assert!(map.compact().is_empty(), "there is nothing to fill");
    assert_eq!(map.spans.len(), MAX_RANGES);
    let group = map.failures(700..701);
    assert_eq!(group[0].members().iter().map(|f| f.id()).collect::<Vec<_>>(), [all[7].id(), all[8].id()]);
    assert_eq!(ids(&map, 700..810), [group[0].id()], "the hull reaches to the end of the second claim");
    assert!(map.is_trusted(810..900) && !map.is_trusted(799..800));
    assert_eq!(
        (all[7].buffers(), all[8].buffers(), group[0].buffers()),
        (1, 1, 1),
        "a member of a group still claims the buffer"
    );
    assert_eq!(ids(&map, 0..10), [all[0].id()], "claims further apart are left alone");
    map.check();
}

#[test]
fn t3_merged_claims_of_one_untouched_failure_can_still_be_reinstated() {
    let (mut map, oom) = (Map::trusted(1_000_000), failure(true));
    for i in 0..=MAX_RANGES as u64 {
        map.claim(i * 100..i * 100 + 10, &oom);
    }
    map.compact();
    assert_eq!(map.reinstate(0..u64::MAX, &oom), 10 * (MAX_RANGES as u64 + 1) + 90);
    assert!(map.is_clean());
}

#[test]
fn t3_the_number_of_ranges_is_bounded_even_if_nobody_compacts() {
    let mut map = Map::unwritten(1 << 20);
    for i in 0..10_000 {
        map.written(i * 20..i * 20 + 10);
        map.claim(500_000 + i * 20..500_000 + i * 20 + 10, &failure(i % 2 == 0));
        assert!(map.spans.len() <= SLACK * MAX_RANGES);
    }
    map.check();
    assert!((0..10_000).all(|i| map.first_claim(500_000 + i * 20..500_001 + i * 20).is_some()), "every claim is still there");
}

#[test]
fn t3_groups_do_not_grow_with_the_number_of_failures() {
    let mut map = Map::trusted(100);
    map.limit_to(2);
    for i in 0..2_000 {
        map.claim(i % 5 * 20..i % 5 * 20 + 10, &failure(false));
        map.compact();
    }
    let held: usize = map.failures(0..100).iter().map(|f| f.members().len()).sum();
    assert!(held <= 2 * crate::KEPT_MEMBERS, "{held} members");
}

#[test]
fn t3_distinct_failures_at_scattered_places_do_not_take_longer_and_longer() {
    let (mut map, mut state) = (Map::trusted(1 << 30), 7_u64);
    let start = Instant::now();
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 36) * 4;
        map.claim(at..at + 4, &failure(false));
        // Looking through the members of all groups for each member takes minutes.
        assert!(start.elapsed() < Duration::from_secs(40), "{} ranges", map.ranges());
    }
    map.check();
}

#[test]
fn t9_members_of_merged_claims_are_counted_once_whatever_memory_there_is() {
    for served in 0..40 {
        let mut map = Map::trusted(10_000);
        map.limit_to(8);
        let all: Vec<Arc<Failure>> = (0..60).map(|_| failure(false)).collect();
        for (i, failure) in all.iter().enumerate() {
            let at = i as u64 * 7 % 60 * 100;
            // Not so seldom that no group is made while there is none, nor so often that the whole map is claimed.
            let mut claim = || map.claim(at..at + 10, failure);
            if i % 3 == 0 {
                denial::after(served, claim)
            } else {
                claim()
            }
            let _ = map.reserve(1);
        }
        let carried = map.failures(0..10_000);
        for failure in &all {
            let carries =
                |other: &Arc<Failure>| other.id() == failure.id() || other.members().iter().any(|m| m.id() == failure.id());
            assert_eq!(failure.buffers(), u64::from(carried.iter().any(carries)), "{served} requests served");
        }
        map.check();
        map.written(0..10_000);
        assert!(all.iter().all(|failure| failure.buffers() == 0));
    }
}

#[test]
fn t3_without_memory_the_whole_buffer_is_claimed_by_the_failure_made_in_advance() {
    let mut map = Map::trusted(100);
    map.claim(20..30, &failure(false));
    denial::after(0, || map.claim(50..60, &failure(false)));
    assert_eq!((ids(&map, 0..100), map.first_claim(0..1).is_some()), (vec![Failure::no_memory().id()], true));
    let mut map = Map::unwritten(100);
    denial::after(0, || map.written(50..60));
    assert_eq!(ids(&map, 0..100), [Failure::no_memory().id()], "what was written is never zero-filled instead");
    map.check();
}

#[test]
fn t3_a_claim_or_write_of_the_whole_buffer_needs_no_memory() {
    let (mut map, one, two) = (Map::unwritten(100), failure(true), failure(false));
    denial::after(0, || {
        map.claim(0..100, &one);
        assert_eq!(ids(&map, 0..100), [one.id()]);
        map.written(0..100);
        map.claim(30..60, &two);
    });
    assert_eq!(ids(&map, 0..100), [two.id()], "nor does the first claim on a clean buffer");
}

#[test]
fn t4_a_whole_write_releases_the_claims_on_its_bytes_and_only_on_those() {
    let (mut map, broken) = (Map::trusted(100), failure(false));
    map.claim(10..90, &broken);
    map.written(20..30);
    assert!(map.is_trusted(0..10) && map.is_trusted(20..30) && map.is_trusted(90..100));
    assert_eq!(map.first_claim(0..100).map(|c| c.0), Some(10));
    assert_eq!(map.first_claim(20..100).map(|c| c.0), Some(30));
    assert_eq!(broken.buffers(), 1);
    map.written(0..100);
    assert_eq!((map.is_clean(), broken.buffers()), (true, 0));
}

#[test]
fn t9_a_failure_lives_while_some_claim_carries_it() {
    let (mut a, mut b, broken) = (Map::trusted(100), Map::trusted(100), failure(false));
    a.claim(0..10, &broken);
    a.claim(20..30, &broken);
    b.claim(0..100, &broken);
    assert_eq!(broken.buffers(), 2, "a buffer counts once, however many ranges are claimed");
    let weak = Arc::downgrade(&broken);
    drop(broken);
    a.written(0..100);
    assert_eq!(weak.upgrade().map(|f| f.buffers()), Some(1));
    drop(b);
    assert!(weak.upgrade().is_none());
}

#[test]
fn f1_ranges_beyond_the_allocation_are_ignored() {
    let mut map = Map::trusted(10);
    map.claim(5..u64::MAX, &failure(false));
    map.claim(u64::MAX - 1..u64::MAX, &failure(false));
    #[allow(clippy::reversed_empty_ranges)]
    map.claim(8..3, &failure(false));
    assert_eq!(map.first_claim(0..u64::MAX).map(|c| c.0), Some(5));
    assert_eq!(ids(&map, 0..u64::MAX).len(), 1);
    map.check();
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Byte {
    Never,
    Trusted,
    Claimed { failure: usize, restores: bool },
}

#[derive(Clone, Debug)]
enum Call {
    Claim(Range<u64>, usize),
    ClaimLate(Range<u64>, usize),
    Written(Range<u64>),
    Filled(Range<u64>),
    Reinstate(Range<u64>, usize),
    Spoil(Range<u64>),
    Compact,
    Reserve(usize),
}

const SIZE: u64 = 40;
const FAILURES: usize = 5;

fn a_range() -> impl Strategy<Value = Range<u64>> {
    (0..SIZE, 0..SIZE / 2).prop_map(|(start, len)| start..start + len)
}

fn a_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (a_range(), 0..FAILURES).prop_map(|(r, f)| Call::Claim(r, f)),
        1 => (a_range(), 0..FAILURES).prop_map(|(r, f)| Call::ClaimLate(r, f)),
        3 => a_range().prop_map(Call::Written),
        1 => a_range().prop_map(Call::Filled),
        2 => (a_range(), 0..FAILURES).prop_map(|(r, f)| Call::Reinstate(r, f)),
        1 => a_range().prop_map(Call::Spoil),
        1 => Just(Call::Compact),
        1 => (0..4usize).prop_map(Call::Reserve),
    ]
}

/// The model: what each byte is, found without any arithmetic on ranges.
struct Model {
    bytes: Vec<Byte>,
    failures: Vec<Arc<Failure>>,
}

impl Model {
    fn each(&mut self, range: &Range<u64>, change: impl Fn(Byte) -> Byte) -> u64 {
        let mut changed = 0;
        for (_, byte) in (0..).zip(self.bytes.iter_mut()).filter(|(at, _)| range.contains(at)) {
            let new = change(*byte);
            changed += u64::from(new != *byte);
            *byte = new;
        }
        changed
    }

    fn claim(&mut self, range: &Range<u64>, failure: usize, late: bool) {
        let untouched = self.failures[failure].is_untouched() && !late;
        self.each(range, |byte| match byte {
            Byte::Claimed { failure: f, .. } if f == failure && !late => byte,
            other => Byte::Claimed { failure, restores: untouched && other == Byte::Trusted },
        });
    }

    /// The same call on both; tells what a reinstatement lifted in each.
    fn call(&mut self, map: &mut Map, call: &Call) -> (u64, u64) {
        match call {
            Call::Claim(range, f) => {
                map.claim(range.clone(), &self.failures[*f]);
                self.claim(range, *f, false);
            }
            Call::ClaimLate(range, f) => {
                map.claim_late(range.clone(), &self.failures[*f]);
                self.claim(range, *f, true);
            }
            Call::Written(range) => {
                map.written(range.clone());
                self.each(range, |_| Byte::Trusted);
            }
            Call::Filled(range) => {
                map.filled(range.clone());
                self.each(range, |byte| if byte == Byte::Never { Byte::Trusted } else { byte });
            }
            Call::Reinstate(range, f) => {
                let told = map.reinstatable(range.clone(), &self.failures[*f]).map(|r| r.end - r.start).sum();
                let lifted = map.reinstate(range.clone(), &self.failures[*f]);
                assert!(lifted == told || lifted == 0);
                let restored = Byte::Claimed { failure: *f, restores: true };
                return (lifted, self.each(range, |byte| if byte == restored { Byte::Trusted } else { byte }));
            }
            Call::Spoil(range) => {
                map.spoil(range.clone());
                self.each(range, |byte| match byte {
                    Byte::Claimed { failure, .. } => Byte::Claimed { failure, restores: false },
                    other => other,
                });
            }
            Call::Compact => {
                for gap in map.compact() {
                    assert!(self.bytes[gap.start as usize..gap.end as usize].iter().all(|byte| *byte == Byte::Never));
                    self.each(&gap, |_| Byte::Trusted);
                }
                assert!(!map.overflowing() || map.limit == 1);
            }
            Call::Reserve(more) => drop(map.reserve(*more)),
        }
        (0, 0)
    }

    fn equals(&self, map: &Map) {
        for (at, byte) in (0..).zip(&self.bytes) {
            let one = at..at + 1;
            let claim = map.first_claim(one.clone()).map(|(_, f)| f.id());
            let found = (map.is_trusted(one.clone()), unwritten(map, one.clone()).len(), claim);
            let expected = match byte {
                Byte::Never => (false, 1, None),
                Byte::Trusted => (true, 0, None),
                Byte::Claimed { failure, .. } => (false, 0, Some(self.failures[*failure].id())),
            };
            assert_eq!(found, expected, "byte {at}");
        }
        assert_eq!(map.is_clean(), self.bytes.iter().all(|byte| *byte == Byte::Trusted));
        for (index, failure) in self.failures.iter().enumerate() {
            let carried = self.bytes.iter().any(|byte| matches!(byte, Byte::Claimed { failure, .. } if *failure == index));
            assert_eq!(failure.buffers(), u64::from(carried));
        }
    }

    /// The map claims at least what the model does, and takes nothing for written that is not.
    fn is_within(&self, map: &Map) {
        for (at, byte) in (0..).zip(&self.bytes) {
            let claim = map.first_claim(at..at + 1).map(|(_, f)| f.clone());
            match byte {
                Byte::Claimed { failure, .. } => {
                    let claim = claim.expect("a claim is never lost");
                    let id = self.failures[*failure].id();
                    let carries = claim.id() == id || claim.members().iter().any(|member| member.id() == id);
                    let no_memory = |f: &Failure| f.id() == Failure::no_memory().id();
                    assert!(carries || no_memory(&claim) || claim.members().iter().any(|m| no_memory(m)), "byte {at}");
                }
                Byte::Never => assert!(!map.is_trusted(at..at + 1), "byte {at} was never written"),
                Byte::Trusted => assert_eq!(unwritten(map, at..at + 1), [], "byte {at} would be zero-filled"),
            }
        }
    }
}

fn model() -> Model {
    Model { bytes: vec![Byte::Never; SIZE as usize], failures: (0..FAILURES).map(|i| failure(i % 2 == 0)).collect() }
}

proptest! {
    #[test]
    fn t1_the_map_equals_a_byte_by_byte_model(calls in prop::collection::vec(a_call(), 1..40)) {
        let (mut map, mut model) = (Map::unwritten(SIZE), model());
        for call in &calls {
            let (lifted, expected) = model.call(&mut map, call);
            prop_assert_eq!(lifted, expected);
            map.check();
            model.equals(&map);
        }
        for range in (0..SIZE).flat_map(|start| (start..=SIZE).map(move |end| start..end)) {
            let claims = model.bytes[range.start as usize..range.end as usize].iter().filter_map(|byte| match byte {
                Byte::Claimed { failure, .. } => Some(model.failures[*failure].id()),
                _ => None,
            });
            let mut distinct = Vec::new();
            claims.for_each(|id| if !distinct.contains(&id) { distinct.push(id) });
            prop_assert_eq!(map.first_claim(range.clone()).map(|c| c.1.id()), distinct.first().copied());
            prop_assert_eq!(ids(&map, range), distinct);
        }
    }

    #[test]
    fn t3_past_the_cap_a_map_only_ever_claims_more(limit in 1..6usize, calls in prop::collection::vec(a_call(), 1..60)) {
        let (mut map, mut model) = (Map::unwritten(SIZE), model());
        map.limit_to(limit);
        for call in &calls {
            let (lifted, expected) = model.call(&mut map, call);
            prop_assert!(lifted <= expected + SIZE);
            map.check();
            model.is_within(&map);
        }
    }

    #[test]
    fn t3_refused_memory_never_loses_a_claim(served in 0..12u32, limit in 1..40usize, calls in prop::collection::vec(a_call(), 1..30)) {
        let (mut map, mut model) = (Map::unwritten(SIZE), model());
        map.limit_to(limit);
        let calls: Vec<Call> = calls.into_iter().filter(|call| !matches!(call, Call::Compact)).collect();
        denial::after(served, || for call in &calls {
            model.call(&mut map, call);
            map.check();
            model.is_within(&map);
        });
    }

    #[test]
    fn t2_reserved_claims_find_their_memory(calls in prop::collection::vec(a_call(), 0..30), next in prop::collection::vec(a_call(), 1..4)) {
        let (mut map, mut model) = (Map::unwritten(SIZE), model());
        calls.iter().for_each(|call| _ = model.call(&mut map, call));
        let next: Vec<Call> = next.into_iter().filter(|call| matches!(call, Call::Claim(..) | Call::ClaimLate(..) | Call::Written(_) | Call::Filled(_))).collect();
        map.reserve(next.len()).expect("memory is there");
        denial::after(0, || next.iter().for_each(|call| _ = model.call(&mut map, call)));
        prop_assert!(map.failures(0..SIZE).iter().all(|f| f.id() != Failure::no_memory().id()));
        model.equals(&map);
        map.check();
    }
}

#[test]
fn t3_a_reserved_call_merges_nothing_between_its_decision_and_its_end() {
    let mut map = Map::unwritten(100);
    map.limit_to(1);
    map.reserve(4).expect("memory is there");
    (1..5).for_each(|i| map.filled(i * 20..i * 20 + 1));
    assert!(map.first_claim(0..100).is_none(), "a launch that was let through must not find its inputs claimed");
    // Nor does the next one claim what was never written, with what was written between: that is filled.
    map.reserve(1).expect("memory is there");
    assert!(map.first_claim(0..100).is_none(), "what is written stays written");
    assert!(!map.compact().is_empty() && map.ranges() <= 1);
    assert!(map.first_claim(0..100).is_none());
}

#[test]
fn t3_of_claims_among_gaps_only_those_merge_that_are_too_many() {
    let mut map = Map::unwritten(10_000);
    map.limit_to(4);
    map.reserve(100).expect("memory is there");
    (1..40).for_each(|i| map.written(i * 20..i * 20 + 1));
    (0..6).for_each(|i| map.claim(1_000 + i * 1_000..1_001 + i * 1_000 + i, &failure(false)));
    map.reserve(1).expect("memory is there");
    assert!((1..40).all(|i| map.first_claim(i * 20..i * 20 + 1).is_none()), "far from the claims nothing is claimed");
    assert!((0..6).all(|i| map.first_claim(1_000 + i * 1_000..1_001 + i * 1_000).is_some()));
    let claims = map.spans.iter().filter(|span| span.state != State::Unwritten).count();
    assert_eq!(claims, 4);
    map.check();
}
