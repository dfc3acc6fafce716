//! What may be handed out (T8), and what may be taken back (T2): the questions that callers ask about bytes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use compute_trust::{Failure, KEPT_MEMBERS, NoMemory, Report};

use super::buffer::{Buffer, View};
use super::error::{Failed, Result, error};
use super::refuse::no_memory;
use super::section::alone;
use super::{code, late, prints};

/// Whether bytes can be trusted, as far as it is known now (T8). Several failures answer `SEVERAL`, each once.
pub(crate) fn check(views: &[View]) -> Result<()> {
    let mut found = Found::default();
    for view in views {
        view.buffer.device.check()?;
        if view.size > 0 && view.buffer.mark.glance().dirty {
            found.look(view).map_err(|none| Failed::of(no_memory(none)))?;
        }
    }
    match found.failures.as_slice() {
        [] => Ok(()),
        [(failure, buffer)] => Err(unwritten(failure, *buffer)),
        several_failures => Err(several(several_failures)),
    }
}

/// The failures that claim bytes of views, each once, in the order found, with the buffer where it was. Each claim of a buffer is looked at once, however many
/// views have bytes of it, so that the time is bounded by the number of views and that of claims.
#[derive(Default)]
struct Found {
    failures: Vec<(Arc<Failure>, u64)>,
    known: HashSet<u64>,
    buffers: HashMap<u64, Claims>,
}

impl Found {
    fn look(&mut self, view: &View) -> std::result::Result<(), NoMemory> {
        let Self { failures, known, buffers } = self;
        buffers.try_reserve(1).map_err(|_| NoMemory)?;
        let claims = match buffers.entry(view.buffer.id) {
            Entry::Occupied(claims) => claims.into_mut(),
            Entry::Vacant(place) => place.insert(Claims::of(&view.buffer)?),
        };
        claims.take(&view.range(), |failure| {
            known.try_reserve(1).map_err(|_| NoMemory)?;
            failures.try_reserve(1).map_err(|_| NoMemory)?;
            if known.insert(failure.id()) {
                failures.push((Arc::clone(failure), view.buffer.id));
            }
            Ok(())
        })
    }
}

/// What a buffer's map claims.
struct Claims {
    /// Rising.
    all: Vec<(Range<u64>, Arc<Failure>)>,
    /// Of each, and of the end, itself or a later one before which none is left to be told.
    next: Vec<usize>,
}

impl Claims {
    fn of(buffer: &Buffer) -> std::result::Result<Self, NoMemory> {
        let (mut all, mut next) = (Vec::new(), Vec::new());
        alone(buffer, |map| {
            let map = map.lock();
            all.try_reserve_exact(map.ranges()).map_err(|_| NoMemory)?;
            all.extend(map.claims(0..buffer.size).map(|(range, failure)| (range, Arc::clone(failure))));
            Ok(())
        })?;
        next.try_reserve_exact(all.len() + 1).map_err(|_| NoMemory)?;
        next.extend(0..=all.len());
        Ok(Self { all, next })
    }

    /// The first that is left, from `index` on.
    fn left(&mut self, mut index: usize) -> usize {
        while self.next[index] != index {
            self.next[index] = self.next[self.next[index]];
            index = self.next[index];
        }
        index
    }

    /// Tells those that are left of a range, which is not empty.
    fn take(
        &mut self,
        range: &Range<u64>,
        mut tell: impl FnMut(&Arc<Failure>) -> std::result::Result<(), NoMemory>,
    ) -> std::result::Result<(), NoMemory> {
        let first = self.all.partition_point(|(claim, _)| claim.end <= range.start);
        let mut index = self.left(first);
        while let Some((_, failure)) = self.all.get(index).filter(|(claim, _)| claim.start < range.end) {
            tell(failure)?;
            self.next[index] = index + 1;
            index = self.left(index + 1);
        }
        Ok(())
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

/// Whether there is host memory for a report of several failures. Its parts are many and small; so it is asked for in one piece, which is more than enough, and given back.
fn room_to_tell(failures: usize) -> std::result::Result<(), NoMemory> {
    const EACH: usize = 1024;
    let mut asked = Vec::<u8>::new();
    asked.try_reserve_exact(failures.min(KEPT_MEMBERS).saturating_mul(EACH)).map_err(|_| NoMemory)?;
    // Else the compiler may leave both the asking and the giving back out.
    std::hint::black_box(&asked);
    Ok(())
}

fn several(found: &[(Arc<Failure>, u64)]) -> Arc<Failed> {
    let mut failures = Vec::new();
    if room_to_tell(found.len()).is_err() || failures.try_reserve_exact(found.len()).is_err() {
        return Failed::of(no_memory(NoMemory));
    }
    failures.extend(found.iter().map(|(failure, _)| Arc::clone(failure)));
    let group = Failure::group(&failures);
    // Each as seen from the buffer where it was found first, alone or in a group.
    let seen = |member: &Arc<Failure>| {
        let is_in = |failure: &Failure| failure.members().iter().any(|other| other.id() == member.id());
        let from = found.iter().find(|(failure, _)| failure.id() == member.id() || is_in(failure));
        let group = from.map(|(failure, _)| &**failure).filter(|failure| failure.id() != member.id());
        Report::inside(member, group, from.map_or(0, |(_, buffer)| *buffer))
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
        let found = map.claims(view.range()).map(|(_, found)| found).find(|found| found.id() == failure).cloned()?;
        if !found.is_untouched() {
            return Some(Err(()));
        }
        let mut ranges = Vec::new();
        for range in map.reinstatable(view.range(), &found) {
            if ranges.try_reserve(1).is_err() {
                return Some(Ok(Err(NoMemory)));
            }
            ranges.push(range);
        }
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
