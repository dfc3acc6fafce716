//! What may be handed out (T8), and what may be taken back (T2): the questions that callers ask about bytes.

use std::sync::Arc;

use compute_trust::{Failure, Report};

use super::buffer::View;
use super::error::{Failed, Result, error};
use super::section::alone;
use super::{code, late, prints};

/// Whether bytes can be trusted, as far as it is known now (T8). Several failures answer `SEVERAL`, each once.
pub(crate) fn check(views: &[View]) -> Result<()> {
    let mut found: Vec<(Arc<Failure>, u64)> = Vec::new();
    for view in views {
        view.buffer.device.check()?;
        if !view.buffer.mark.glance().dirty {
            continue;
        }
        let failures = alone(&view.buffer, |map| map.lock().failures(view.range()));
        for failure in failures {
            if !found.iter().any(|(other, _)| other.id() == failure.id()) {
                found.push((failure, view.buffer.id));
            }
        }
    }
    match found.as_slice() {
        [] => Ok(()),
        [(failure, buffer)] => Err(unwritten(failure, *buffer)),
        _ => Err(several(&found)),
    }
}

/// `check`, after what devices have to tell by now was heard.
pub fn check_now(views: &[View]) -> Result<()> {
    prints::deliver();
    if late::active() {
        late::settle()?;
    }
    check(views)
}

/// What bytes answer that a failure claims.
pub(crate) fn unwritten(failure: &Failure, buffer: u64) -> Arc<Failed> {
    let report = Report::of(failure, buffer);
    if !report.members.is_empty() {
        let count = (report.members.len() as u64).saturating_add(report.dropped_members);
        return answer(code::SEVERAL, several_text(count), report, failure);
    }
    let root = Arc::clone(&report.root);
    let skipped = match report.skips_total {
        0 => String::new(),
        1 => "; 1 operation was skipped for it or had used them".to_owned(),
        n => format!("; {n} operations were skipped for it or had used them"),
    };
    answer(
        code::UNWRITTEN,
        format!("the bytes asked for were left unwritten by a failure{skipped}. The failure: {root}"),
        report,
        failure,
    )
}

fn several_text(count: u64) -> String {
    format!("the bytes asked for were left unwritten by {count} failures; each is a member of this error")
}

pub(crate) fn several(found: &[(Arc<Failure>, u64)]) -> Arc<Failed> {
    let group = Failure::group(&found.iter().map(|(failure, _)| Arc::clone(failure)).collect::<Vec<_>>());
    // Each as seen from the buffer where it was found first, alone or in a group.
    let seen = |member: &Arc<Failure>| {
        let is_in = |failure: &Failure| failure.members().iter().any(|other| other.id() == member.id());
        let from = found.iter().find(|(failure, _)| failure.id() == member.id() || is_in(failure));
        Report::of(member, from.map_or(0, |(_, buffer)| *buffer))
    };
    let mut report = Report::of(&group, 0);
    report.members = group.members().iter().map(seen).collect();
    let count = (report.members.len() as u64).saturating_add(report.dropped_members);
    answer(code::SEVERAL, several_text(count), report, &group)
}

fn answer(number: i32, message: String, report: Report, failure: &Failure) -> Arc<Failed> {
    let untouched = report.untouched;
    let about = report.root.about.clone();
    let location = report.root.location;
    let made = compute_trust::Error {
        about,
        location,
        driver: report.root.driver.clone(),
        answers: report.answers(),
        ..error(number, message)
    };
    Arc::new(Failed { error: Arc::new(made), report: Some(Arc::new(report)), failure: failure.id(), untouched })
}

/// Lifts the claim of a failure that reached no device from the bytes that were trusted when it began (T2). Answers how many bytes.
pub fn reinstate(view: &View, failure: u64) -> Result<u64> {
    view.buffer.device.check()?;
    let wanted = alone(&view.buffer, |lock| {
        let map = lock.lock();
        let found = map.failures(view.range()).into_iter().find(|found| found.id() == failure)?;
        if !found.is_untouched() {
            return Some(Err(()));
        }
        let ranges: Vec<_> = map.reinstatable(view.range(), &found).collect();
        drop(map);
        // Told first: should memory run out in between, a late failure claims more than it must, never less.
        let told = ranges.iter().try_for_each(|range| late::reinstating(view.buffer.id, range));
        Some(Ok(told.map(|()| lock.lock().reinstate(view.range(), &found))))
    });
    match wanted {
        None => super::error::fail(code::NOT_FOUND, format!("failure {failure} claims none of these bytes")),
        Some(Err(())) => super::error::fail(
            code::BUSY,
            format!("failure {failure} happened after work had reached the device; write the bytes anew instead"),
        ),
        Some(Ok(Err(none))) => super::error::fail(code::OUT_OF_MEMORY, none.to_string()),
        Some(Ok(Ok(bytes))) => Ok(bytes),
    }
}
