//! What the text and the JSON of an error say, on failures made by hand.

use std::sync::Arc;

use compute_trust::{About, Answers, Buffer, DriverCode, Error, Failure, Location, Report, Skip};
use serde_json::Value;

use super::{Object, format};
use crate::capi::boundary::Complaint;
use crate::capi::status::*;
use crate::runtime::Failed;

fn about(operation: u64, kernel: &str, label: &str) -> About {
    About { operation, label: label.into(), kernel: kernel.into(), stream: 3 }
}

fn root() -> Error {
    Error {
        code: COMPUTE_ERROR_DRIVER,
        message: "the launch was refused".into(),
        answers: Answers { reclaimable: true, ..Answers::default() },
        driver: Some(DriverCode { code: 719, name: "LAUNCH_FAILED".into() }),
        about: Some(about(7, "blur", "second pass")),
        location: Some(Location { line: 12, column: 5 }),
        diagnostics: Vec::new(),
    }
}

fn failure_with_skips(count: u64) -> Arc<Failure> {
    let failure = Failure::new(Arc::new(root()), true);
    for n in 0..count {
        failure.note(Skip {
            about: about(10 + n, "sobel", "edges"),
            needed: Buffer { id: 100 + n, label: "blurred".into() },
            outputs: [101 + n].into_iter().collect(),
            used: false,
        });
    }
    failure
}

fn unwritten(failure: &Failure, buffer: u64) -> Object {
    let report = Report::of(failure, buffer);
    let error = Error {
        code: COMPUTE_ERROR_UNWRITTEN,
        message: "the bytes were left unwritten".into(),
        answers: report.answers(),
        ..root()
    };
    let failed =
        Failed { error: Arc::new(error), failure: failure.id(), untouched: report.untouched, report: Some(Arc::new(report)) };
    Object::of(Complaint::Failed(Arc::new(failed)))
}

#[test]
fn t8_the_text_leads_from_the_bytes_to_the_root_newest_first() {
    let text = format::text(&unwritten(&failure_with_skips(2), 102));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "COMPUTE_ERROR_UNWRITTEN (-500): the bytes were left unwritten",
            "because `sobel` \"edges\" (operation 11, stream 3) was skipped: it needed buffer \"blurred\" (101)",
            "because `sobel` \"edges\" (operation 10, stream 3) was skipped: it needed buffer \"blurred\" (100)",
            "because of COMPUTE_ERROR_DRIVER (-302): the launch was refused",
            "in `blur` \"second pass\" (operation 7, stream 3)",
            "at line 12, column 5 of the kernel's source",
            "the driver says LAUNCH_FAILED (719)",
            "Could succeed after memory is released.",
        ]
    );
}

#[test]
fn t9_the_text_says_how_many_skips_are_no_longer_kept() {
    let text = format::text(&unwritten(&failure_with_skips(20), 120));
    assert!(text.contains("(4 older of 20 skipped operations were not kept)"), "{text}");
}

#[test]
fn t8_the_json_has_the_same_and_parses() {
    let failure = failure_with_skips(2);
    let json: Value = serde_json::from_str(&format::json(&unwritten(&failure, 102))).unwrap();
    assert_eq!(json["status"], COMPUTE_ERROR_UNWRITTEN);
    assert_eq!(json["name"], "COMPUTE_ERROR_UNWRITTEN");
    assert_eq!(json["failure"], failure.id());
    assert_eq!(json["untouched"], true);
    assert_eq!(json["answers"]["skip"], true);
    assert_eq!(json["answers"]["reclaimable"], true);
    assert_eq!(json["chain"]["total"], 2);
    assert_eq!(json["chain"]["entries"][0]["operation"], 11);
    assert_eq!(json["chain"]["entries"][0]["needed"]["label"], "blurred");
    assert_eq!(json["root"]["status"], COMPUTE_ERROR_DRIVER);
    assert_eq!(json["root"]["driver"]["code"], 719);
    assert_eq!(json["root"]["location"]["line"], 12);
    assert_eq!(json["root"]["about"]["kernel"], "blur");
}

#[test]
fn t8_members_of_a_group_are_told_each_with_its_own_root() {
    let (one, two) = (failure_with_skips(1), Failure::new(Arc::new(Error { message: "another one".into(), ..root() }), false));
    let object = unwritten(&Failure::group(&[one.clone(), two]), 101);
    let text = format::text(&object);
    assert!(text.contains("1. failure") && text.contains("2. failure") && text.contains("another one"), "{text}");
    let json: Value = serde_json::from_str(&format::json(&object)).unwrap();
    assert_eq!(json["members"].as_array().unwrap().len(), 2);
    assert_eq!(json["members"][0]["failure"], one.id());
    assert_eq!(json["members"][1]["root"]["message"], "another one");
    assert!(json.get("root").is_none());
    assert!(object.root().is_none());
}

#[test]
fn f3_a_member_answers_for_itself() {
    let one = failure_with_skips(1);
    let two = Failure::new(Arc::new(Error { answers: Answers { poisoned: true, ..Answers::default() }, ..root() }), false);
    let Object::Failed(whole) = unwritten(&Failure::group(&[one.clone(), two.clone()]), 101) else { panic!() };
    let (first, second) = (Object::Member(whole.clone(), 0), Object::Member(whole, 1));
    assert_eq!((first.failure(), second.failure()), (one.id(), two.id()));
    assert_eq!((first.untouched(), second.untouched()), (true, false));
    assert_eq!((first.answers().skip, second.answers().skip), (true, false));
    assert_eq!((first.answers().poisoned, second.answers().poisoned), (false, true));
    assert_eq!(first.status(), COMPUTE_ERROR_UNWRITTEN);
    assert_eq!(first.root().unwrap().code, COMPUTE_ERROR_DRIVER);
}

#[test]
fn odd_text_from_a_caller_survives_in_json() {
    let failed = Failed {
        error: Arc::new(Error { about: Some(about(1, "a\"b\\c\n\u{1}", "\u{1f600}")), ..root() }),
        report: None,
        failure: 0,
        untouched: false,
    };
    let json: Value = serde_json::from_str(&format::json(&Object::of(Complaint::Failed(Arc::new(failed))))).unwrap();
    assert_eq!(json["about"]["kernel"], "a\"b\\c\n\u{1}");
    assert_eq!(json["about"]["label"], "\u{1f600}");
    assert_eq!(json["location"]["column"], 5);
}
