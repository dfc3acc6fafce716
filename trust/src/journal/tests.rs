//! The sentences of T13. That the walks are right byte by byte is checked in `model.rs`.
#![allow(clippy::single_range_in_vec_init)]

use super::*;
use crate::{Answers, Error, Report};

fn failure() -> Arc<Failure> {
    failed(false)
}

fn refusal() -> Arc<Failure> {
    failed(true)
}

fn failed(untouched: bool) -> Arc<Failure> {
    let (answers, driver, about, location) = (Answers::default(), None, None, None);
    Failure::new(
        Arc::new(Error { code: -1, message: "broken".into(), answers, driver, about, location, diagnostics: Vec::new() }),
        untouched,
    )
}

fn touch(buffer: u64, range: Range<u64>, whole: bool) -> Touch {
    Touch { buffer: Buffer { id: buffer, label: format!("buffer {buffer}").into() }, range, whole }
}

fn entry(queue: u64, position: u64, can_fail: bool, reads: &[Touch], writes: &[Touch]) -> Entry {
    Entry {
        queue,
        first: position,
        last: position,
        can_fail,
        reads: reads.iter().cloned().collect(),
        writes: writes.iter().cloned().collect(),
        fills: 0,
        about: About { operation: queue * 1000 + position, label: "".into(), kernel: "k".into(), stream: queue },
        parts: None,
        watch: None,
    }
}

fn claims(claims: &[LateClaim]) -> Vec<(u64, Range<u64>)> {
    claims.iter().map(|claim| (claim.buffer, claim.range.clone())).collect()
}

#[test]
fn t13_a_late_failure_claims_what_derives_from_it_across_queues_and_says_used() {
    let (mut journal, broken) = (Journal::new(), failure());
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..100, true)]));
    journal.record(entry(2, 1, false, &[touch(1, 50..60, false)], &[touch(2, 0..10, true)]));
    journal.record(entry(3, 1, false, &[touch(2, 0..1, false)], &[touch(3, 0..10, false)]));
    journal.record(entry(3, 2, false, &[touch(9, 0..1, false)], &[touch(8, 0..10, true)]));
    assert_eq!(claims(&journal.fail(1, 1, &broken)), [(1, 0..100), (2, 0..10), (3, 0..10)]);
    let report = Report::of(&broken, 3);
    assert_eq!(
        report.chain.iter().map(|s| (s.about.operation, s.needed.id, s.used)).collect::<Vec<_>>(),
        [(3001, 2, true), (2001, 1, true)]
    );
}

#[test]
fn t13_only_whole_writes_and_claims_that_came_later_replace() {
    let mut journal = Journal::new();
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..100, false)]));
    journal.record(entry(1, 2, false, &[], &[touch(1, 0..10, true)]));
    journal.record(entry(1, 3, false, &[], &[touch(1, 20..30, false)]));
    journal.claimed(1, 40..50, &failure());
    assert_eq!(claims(&journal.fail(1, 1, &failure())), [(1, 10..40), (1, 50..100)]);
}

#[test]
fn t13_operations_that_failed_or_used_before_keep_theirs() {
    let (mut journal, first, second) = (Journal::new(), failure(), failure());
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    journal.record(entry(2, 1, true, &[], &[touch(2, 0..10, true)]));
    journal.record(entry(3, 1, true, &[touch(1, 0..10, false), touch(2, 0..10, false)], &[touch(3, 0..10, true)]));
    assert_eq!(claims(&journal.fail(2, 1, &first)), [(2, 0..10), (3, 0..10)]);
    assert_eq!(claims(&journal.fail(1, 1, &second)), [(1, 0..10)]);
    assert_eq!(claims(&journal.fail(3, 1, &failure())), [], "it used claimed bytes, and that is what its outputs say");
    assert_eq!(second.skips().1, 0);
}

#[test]
fn t13_a_read_waits_for_all_that_its_bytes_derive_from_and_for_nothing_else() {
    let mut journal = Journal::new();
    journal.record(entry(1, 7, true, &[], &[touch(1, 0..10, true)]));
    journal.record(entry(2, 5, true, &[touch(1, 0..10, false)], &[touch(2, 0..10, true)]));
    journal.record(entry(3, 9, true, &[], &[touch(3, 0..10, true)]));
    assert_eq!(journal.derives(2, 0..1)[..], [(2, 5), (1, 7)]);
    assert_eq!(journal.derives(1, 0..1)[..], [(1, 7)]);
    assert_eq!(journal.derives(4, 0..1)[..], []);
    journal.record(entry(3, 10, false, &[], &[touch(2, 0..10, true)]));
    assert_eq!(journal.derives(2, 0..10)[..], [], "the host wrote it since");
}

#[test]
fn t13_a_readback_in_flight_learns_that_it_used_claimed_bytes() {
    let (mut journal, broken) = (Journal::new(), failure());
    let (caught, lucky) = (Watch::new(), Watch::new());
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    journal.record(Entry { watch: Some(caught.clone()), ..entry(1, 2, false, &[touch(1, 9..10, false)], &[]) });
    journal.record(Entry { watch: Some(lucky.clone()), ..entry(1, 3, false, &[touch(1, 10..20, false)], &[]) });
    journal.fail(1, 1, &broken);
    assert_eq!((caught.failure().map(|f| f.id()), lucky.failure().map(|f| f.id())), (Some(broken.id()), None));
    assert_eq!(broken.skips().1, 0, "a read leaves no bytes behind that could be reached through it");
}

#[test]
fn t13_zeros_that_work_was_given_do_not_derive_from_what_it_read() {
    let mut journal = Journal::new();
    let filled_first = [touch(3, 5..10, true), touch(2, 0..10, false)];
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    journal.record(Entry { fills: 1, ..entry(1, 2, true, &[touch(1, 0..1, false), touch(3, 0..10, false)], &filled_first) });
    assert_eq!(journal.derives(3, 5..10)[..], [(1, 2)], "of the two only the work itself can spoil them");
    let broken = failure();
    assert_eq!(claims(&journal.fail(1, 1, &broken)), [(1, 0..10), (2, 0..10)]);
    assert_eq!(broken.skips().0[0].outputs[..], [2]);
    // It may still fail itself, and then the fill may be what failed.
    assert_eq!(journal.derives(3, 5..10)[..], [(1, 2)]);
    assert_eq!(
        (&journal.derives(2, 0..10)[..], &journal.derives(3, 0..5)[..]),
        (&[][..], &[][..]),
        "these are claimed, or were there before"
    );
    assert_eq!(journal.retire(|_| 1), [0; 0]);
    let fill = failure();
    assert_eq!(claims(&journal.fail(1, 2, &fill)), [(3, 5..10)]);
    assert_eq!((claims(&journal.fail(1, 2, &failure())), journal.derives(3, 5..10).len()), (vec![], 0), "all of it is over now");
    // Its own failure may have been that of the fill.
    journal.record(Entry { fills: 1, ..entry(1, 3, true, &[], &filled_first) });
    assert_eq!(claims(&journal.fail(1, 3, &failure())), [(2, 0..10), (3, 5..10)]);
}

#[test]
fn t13_what_work_wrote_over_its_zeros_stays_with_the_failure_that_it_used() {
    let mut journal = Journal::new();
    let writes = [touch(2, 4..8, true), touch(2, 0..6, false)];
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    journal.record(Entry { fills: 1, ..entry(1, 2, true, &[touch(1, 0..1, false)], &writes) });
    assert_eq!(claims(&journal.fail(1, 1, &failure())), [(1, 0..10), (2, 0..6)]);
    assert_eq!((journal.derives(2, 4..6).len(), &journal.derives(2, 5..7)[..]), (0, &[(1, 2)][..]));
    assert_eq!(claims(&journal.fail(1, 2, &failure())), [(2, 6..8)]);
}

#[test]
fn t3_refusals_of_many_rows_keep_no_more_marks_with_each_round() {
    let (mut journal, untouched, broken) = (Journal::new(), refusal(), failure());
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..4000, true)]));
    for round in 0..100 {
        for row in 0..256 {
            journal.claimed(1, row * 10..row * 10 + 4, if row % 8 == 7 { &untouched } else { &broken });
        }
        assert!(journal.slots.len() < 1500, "{round}: {}", journal.slots.len());
    }
    let late = journal.fail(1, 1, &failure());
    let beneath = late.iter().filter(|claim| claim.beneath).count();
    assert_eq!((late.len() - beneath, beneath), (256, 32), "what lies between the rows; the rows that may be reinstated");
}

#[test]
fn t2_bytes_that_were_covered_twice_are_uncovered_by_one_reinstatement() {
    let (mut journal, untouched) = (Journal::new(), refusal());
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    for round in 0..1000 {
        journal.claimed(1, 0..6, &untouched);
        journal.claimed(1, 4..8, &untouched);
        journal.reinstated(1, 4..8);
        journal.reinstated(1, 0..4);
        assert!(journal.slots.len() <= 140, "{round}: a loop of refusals keeps no more with each round");
    }
    assert_eq!(journal.derives(1, 0..10)[..], [(1, 1)]);
    let late = journal.fail(1, 1, &failure());
    assert!(late.iter().all(|claim| !claim.beneath) && claims(&late) == [(1, 0..10)], "{:?}", claims(&late));
}

#[test]
fn t13_a_replay_is_one_operation_whichever_of_its_positions_fails() {
    let mut journal = Journal::new();
    journal.record(Entry { first: 4, last: 9, ..entry(1, 0, true, &[], &[touch(1, 0..10, true), touch(2, 0..4, false)]) });
    assert_eq!(journal.retire(|_| 8), [0; 0]);
    assert_eq!(claims(&journal.fail(1, 3, &failure())), []);
    assert_eq!(claims(&journal.fail(1, 6, &failure())), [(1, 0..10), (2, 0..4)]);
}

#[test]
fn t13_a_failure_reaches_what_was_written_from_its_operation_on() {
    let mut journal = Journal::new();
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true), touch(2, 0..10, true)]));
    journal.record(entry(1, 2, true, &[touch(1, 0..4, false)], &[touch(3, 0..4, true)]));
    journal.claimed(3, 0..2, &failure());
    assert_eq!([1, 2, 3].map(|position| journal.reach(1, position)), [4, 2, 0]);
    assert_eq!(journal.reach(2, 1), 0);
}

#[test]
fn t13_what_cannot_fail_and_derives_from_nothing_that_can_is_not_kept() {
    let mut journal = Journal::new();
    journal.record(entry(1, 1, false, &[touch(1, 0..10, false)], &[touch(2, 0..10, true)]));
    assert!(journal.is_idle());
    journal.claimed(1, 0..10, &failure());
    assert!(journal.is_idle());
    journal.record(entry(1, 2, true, &[], &[touch(1, 0..10, true)]));
    journal.record(entry(1, 3, false, &[touch(3, 0..10, false)], &[touch(4, 0..10, true)]));
    assert!(journal.is_pending(1) && !journal.is_pending(3) && !journal.is_pending(4));
    assert_eq!(journal.retire(|_| 2), [1]);
    assert!(journal.is_idle() && !journal.is_pending(1));
}

#[test]
fn t13_a_slow_operation_does_not_keep_what_retired_around_it() {
    let mut journal = Journal::new();
    journal.record(entry(1, 1, true, &[], &[touch(1, 0..10, true)]));
    journal.record(entry(3, 1, false, &[touch(1, 0..10, false)], &[touch(9, 0..10, true)]));
    for position in 1..=20_000 {
        journal.record(entry(2, position, true, &[touch(2, 0..10, false)], &[touch(3, 0..10, true)]));
        journal.claimed(3, 0..10, &failure());
        journal.retire(|queue| if queue == 2 { position } else { 0 });
        assert!(journal.slots.len() < 200);
    }
    assert_eq!(claims(&journal.fail(1, 1, &failure())), [(1, 0..10), (9, 0..10)], "what matters to it is still there");
    journal.retire(|_| u64::MAX);
    assert!(journal.is_idle() && journal.mentions.is_empty());
}

#[test]
fn t9_buffers_that_are_gone_leave_nothing_while_some_work_is_always_under_way() {
    let mut journal = Journal::new();
    for position in 1..20_000 {
        journal.reserve(2).unwrap();
        journal.record(entry(1, position, true, &[], &[touch(position, 0..4, true)]));
        // Each is over before the one after the next begins, so that it is never idle and never long.
        journal.retire(|_| position - 1);
        assert!(journal.entries() <= 2);
        assert!(journal.possible.buffers() <= 200, "{} buffers after {position}", journal.possible.buffers());
    }
    // What nothing can claim any more makes no difference to later work.
    journal.record(entry(1, 20_000, false, &[touch(19_000, 0..4, true)], &[touch(20_000, 0..4, true)]));
    assert!(!journal.is_pending(20_000));
    assert!(journal.has_work_of(1) && !journal.has_work_of(2));
}
