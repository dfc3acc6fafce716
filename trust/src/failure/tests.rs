//! Sentences about failures and reports; those about their claims are with the map.

use super::*;
use crate::{MAX_RANGES, Map, Report};

fn failure(answers: Answers) -> Arc<Failure> {
    let (driver, about, location) = (None, None, None);
    Failure::new(
        Arc::new(Error { code: -7, message: "broken".into(), answers, driver, about, location, diagnostics: Vec::new() }),
        false,
    )
}

fn skip(operation: u64, needed: u64, outputs: &[u64]) -> Skip {
    Skip {
        about: About { operation, label: "".into(), kernel: "k".into(), stream: 1 },
        needed: Buffer { id: needed, label: format!("buffer {needed}").into() },
        outputs: outputs.iter().copied().collect(),
        used: false,
    }
}

fn chain(report: &Report) -> Vec<u64> {
    report.chain.iter().map(|skip| skip.about.operation).collect()
}

#[test]
fn t9_a_failure_keeps_its_newest_16_skips_and_the_exact_total() {
    let broken = failure(Answers::default());
    (1..=1000).for_each(|i| broken.note(skip(i, 5, &[5])));
    let (kept, total) = broken.skips();
    assert_eq!(kept.iter().map(|s| s.about.operation).collect::<Vec<_>>(), (985..=1000).collect::<Vec<_>>());
    let report = Report::of(&broken, 5);
    assert_eq!((total, report.skips_total, report.dropped), (1000, 1000, 984));
}

#[test]
fn t8_the_chain_leads_from_the_buffer_back_to_the_root_newest_first() {
    let broken = failure(Answers { refusal: true, ..Answers::default() });
    // 1 is what the failed launch would have written; 1 -> 2 -> 4, and 1 -> 3 aside; 9 is overwritten by a skip that came too late to matter.
    broken.note(skip(10, 1, &[2]));
    broken.note(skip(11, 1, &[3]));
    broken.note(skip(12, 2, &[4, 5]));
    broken.note(skip(13, 4, &[2]));
    assert_eq!(chain(&Report::of(&broken, 4)), [12, 10]);
    assert_eq!(chain(&Report::of(&broken, 3)), [11]);
    assert_eq!(chain(&Report::of(&broken, 1)), []);
    assert_eq!(Report::of(&broken, 4).answers(), Answers { refusal: true, skip: true, ..Answers::default() }, "the root decides");
    assert!(!Report::of(&broken, 1).answers().skip, "the bytes of the failed launch itself were not reached through a skip");
}

#[test]
fn t8_a_buffer_whose_skip_is_no_longer_kept_is_still_reached_through_a_skip() {
    let broken = failure(Answers::default());
    (0..100).for_each(|i| broken.note(skip(i, i, &[i + 1])));
    let report = Report::of(&broken, 50);
    assert_eq!((chain(&report).len(), report.answers().skip), (0, true));
    assert!(!Report::of(&broken, 0).answers().skip);
    assert_eq!(chain(&Report::of(&broken, 100)).len(), KEPT_SKIPS);
}

#[test]
fn t8_several_failures_are_a_group_each_once_in_the_order_found() {
    let [a, b, c] = [(); 3].map(|()| failure(Answers::default()));
    let inner = Failure::group(&[b.clone(), a.clone(), b.clone()]);
    let outer = Failure::group(&[c.clone(), inner.clone(), a.clone()]);
    let ids = |f: &Failure| f.members().iter().map(|m| m.id()).collect::<Vec<_>>();
    assert_eq!((ids(&inner), ids(&outer)), (vec![b.id(), a.id()], vec![c.id(), b.id(), a.id()]));
    assert_eq!((outer.error().code, outer.is_untouched()), (codes::SEVERAL, false));
    assert_eq!(Failure::group(&[a.clone(), a.clone()]).id(), a.id(), "a group of one is that one");
    assert_eq!(Failure::group(std::slice::from_ref(&outer)).id(), outer.id(), "also when that is a group");
    let report = Report::of(&outer, 1);
    assert_eq!(report.members.iter().map(|m| m.failure).collect::<Vec<_>>(), ids(&outer));
}

#[test]
fn t2_a_group_of_one_operation_is_untouched_if_its_members_are_and_keeps_its_claims_when_a_map_merges_them() {
    let untouched = |text: &str| {
        let made = Error { message: text.into(), ..(*failure(Answers::default()).error()).clone() };
        Failure::new(Arc::new(made), true)
    };
    let (one, two, run) = (untouched("one"), untouched("two"), failure(Answers::default()));
    assert!(!Failure::group(&[one.clone(), two.clone()]).is_untouched());
    assert!(!Failure::untouched_group(&[one.clone(), run]).is_untouched());
    let group = Failure::untouched_group(&[one, two]);
    assert!(group.is_untouched() && Report::of(&group, 1).untouched);
    let mut map = Map::trusted(1 << 16);
    (0..3 * MAX_RANGES as u64).for_each(|at| map.claim(16 * at..16 * at + 1, &group));
    map.reserve(1).unwrap();
    assert!(map.ranges() <= MAX_RANGES + 2);
    assert!(map.claims(0..1 << 16).all(|(_, claims)| claims.id() == group.id()));
    assert!(map.reinstate(0..1 << 16, &group) >= 3 * MAX_RANGES as u64);
    assert!(map.is_clean());
}

#[test]
fn t8_a_skip_noted_on_merged_claims_is_told_of_their_members_and_of_what_they_are_merged_into() {
    let [a, b, c] = [(); 3].map(|()| failure(Answers::default()));
    let merged = Failure::group(&[a.clone(), b]);
    // What reads the merged bytes of 1, and would have written 2, is skipped.
    merged.note(skip(10, 1, &[2]));
    let told = |report: &Report| (chain(report), report.skips_total, report.answers().skip);
    assert_eq!(told(&Report::of(&merged, 2)), (vec![10], 1, true));
    let members = Report::of(&merged, 2).members;
    assert_eq!(members.iter().map(told).collect::<Vec<_>>(), [(vec![10], 1, true), (vec![10], 1, true)]);
    assert_eq!(told(&Report::inside(&a, Some(&merged), 2)), (vec![10], 1, true));
    assert_eq!(told(&Report::of(&a, 2)), (vec![], 0, false), "by itself it skipped nothing");
    let larger = Failure::group(&[merged.clone(), c]);
    assert_eq!(told(&Report::of(&larger, 2)), (vec![10], 1, true));
    assert!(!Report::of(&larger, 1).answers().skip);
    (0..100).for_each(|i| larger.note(skip(i, 1, &[100 + i])));
    let largest = Failure::group(&[failure(Answers::default()), larger]);
    let report = Report::of(&largest, 2);
    assert_eq!(told(&report), (vec![], 101, true), "it is no longer kept, but known");
    assert_eq!(report.dropped, 85);
}

#[test]
fn t_the_answers_of_a_group_need_every_root_for_refusal_and_reclaimable_and_any_for_the_rest() {
    let all = Answers { refusal: true, poisoned: true, reclaimable: true, skip: false };
    let (yes, no) = (failure(all), failure(Answers::default()));
    yes.note(skip(1, 8, &[9]));
    let mixed = Failure::group(&[yes.clone(), no.clone()]);
    let expected = Answers { refusal: false, poisoned: true, reclaimable: false, skip: true };
    assert_eq!(Report::of(&mixed, 9).answers(), expected);
    assert_eq!(Report::of(&Failure::group(&[yes.clone(), failure(all)]), 8).answers(), all);
    assert_eq!(Report::of(&Failure::group(&[]), 9).answers(), Answers::default(), "an empty group is none of them");
}

#[test]
fn t9_a_group_is_bounded_and_its_answers_still_count_every_root() {
    let refusal = Answers { refusal: true, ..Answers::default() };
    let mut many: Vec<_> = (0..KEPT_MEMBERS + 9).map(|_| failure(refusal)).collect();
    assert!(Failure::group(&many).error().answers.refusal);
    many.push(failure(Answers { poisoned: true, ..Answers::default() }));
    let group = Failure::group(&many);
    assert_eq!((group.members().len(), group.dropped_members()), (KEPT_MEMBERS, 10));
    let again = Failure::group(&[group, many[0].clone()]);
    assert_eq!((again.members().len(), again.dropped_members()), (KEPT_MEMBERS, 10));
    assert_eq!(again.error().answers, Answers { poisoned: true, ..Answers::default() });
}

#[test]
fn t8_a_failure_is_noted_from_many_threads_at_once() {
    let broken = failure(Answers::default());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let broken = &broken;
            scope.spawn(move || (0..1000).for_each(|i| broken.note(skip(i, thread, &[thread]))));
        }
    });
    assert_eq!(broken.skips().1, 4000);
}
