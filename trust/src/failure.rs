//! A failure: what a claim carries. The root error, the newest skips that it caused, and in how many maps it still claims bytes.
//! Which bytes those are is the business of `map.rs`.

use crate::{About, Answers, Error};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// Status codes of the C ABI that the bookkeeping itself gives out.
pub mod codes {
    /// Memory could not be had.
    pub const NO_MEMORY: i32 = -200;
    /// Bytes that were asked for were left unwritten by a failure, or never written under `strict_unwritten`.
    pub const UNWRITTEN: i32 = -500;
    /// Several distinct failures.
    pub const SEVERAL: i32 = -501;
    /// A bug of the library.
    pub const INTERNAL: i32 = -600;
}

/// How many skips a failure keeps (T9): the newest ones.
pub const KEPT_SKIPS: usize = 16;

/// How many members a group keeps, the first in order; more are only counted and fold into its answers. Without a bound, merged claims
/// (T3) would collect every failure that ever hit a buffer, against T9.
pub const KEPT_MEMBERS: usize = 256;

/// How many outputs of skips that are no longer kept are remembered, so that `skip` is still answered for their buffers.
const KEPT_OUTPUTS: usize = 256;

/// An allocation, as reports name it. Ids are unique in the process and never used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Unique in the process.
    pub id: u64,
    /// The caller's label, may be empty.
    pub label: Arc<str>,
}

/// One operation that was skipped because of a failure (T5), or that used claimed bytes before the failure was known (T13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The operation.
    pub about: About,
    /// The buffer with claimed bytes that it needed.
    pub needed: Buffer,
    /// Ids of the buffers that it would have written.
    pub outputs: SmallVec<[u64; 4]>,
    /// It ran and used the bytes, instead of being skipped.
    pub used: bool,
}

/// Why bytes cannot be trusted. Shared by all claims that carry it, on any device and thread, and gone with the last of them (T9).
pub struct Failure {
    id: u64,
    error: Arc<Error>,
    untouched: bool,
    group: bool,
    members: Box<[Arc<Failure>]>,
    dropped_members: u64,
    maps: AtomicU64,
    skips: Mutex<Skips>,
}

#[derive(Default)]
struct Skips {
    /// Oldest first, at most `KEPT_SKIPS`.
    kept: VecDeque<Skip>,
    total: u64,
    /// Outputs of the skips that were dropped, newest last, distinct, at most `KEPT_OUTPUTS`.
    forgotten: VecDeque<u64>,
}

static NO_MEMORY: LazyLock<Arc<Failure>> = LazyLock::new(|| {
    let error = Error {
        code: codes::NO_MEMORY,
        message: "No host memory to note which bytes a failure claims, so the whole buffer is claimed. Release memory and write the buffer \
                  again."
            .into(),
        answers: Answers { reclaimable: true, ..Answers::default() },
        driver: None,
        about: None,
        location: None,
        diagnostics: Vec::new(),
    };
    Failure::new(Arc::new(error), false)
});

static NEVER_WRITTEN: LazyLock<Arc<Failure>> =
    LazyLock::new(|| Failure::prepared(codes::UNWRITTEN, "These bytes were never written. Write them before they are read."));

impl Failure {
    fn build(error: Arc<Error>, untouched: bool, group: bool, members: Vec<Arc<Failure>>, dropped_members: u64) -> Arc<Failure> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Failure {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            error,
            untouched,
            group,
            members: members.into_boxed_slice(),
            dropped_members,
            maps: AtomicU64::new(0),
            skips: Mutex::default(),
        })
    }

    /// A failure with its root error. `untouched`: nothing of the operation reached the device, so `reinstate` may lift its claims.
    pub fn new(error: Arc<Error>, untouched: bool) -> Arc<Failure> {
        Failure::build(error, untouched, false, Vec::new(), 0)
    }

    /// A failure made in advance, for paths that must not allocate. All its answers are no.
    pub fn prepared(code: i32, message: &str) -> Arc<Failure> {
        let (answers, driver, about, location) = (Answers::default(), None, None, None);
        Failure::new(
            Arc::new(Error { code, message: message.into(), answers, driver, about, location, diagnostics: Vec::new() }),
            false,
        )
    }

    /// The failure that claims a whole map when memory for a claim cannot be had (T3). One in the process; exists as soon as a map does.
    pub fn no_memory() -> &'static Arc<Failure> {
        &NO_MEMORY
    }

    /// NEVER_WRITTEN: claims what was never written under `strict_unwritten` (T1). One in the process; exists as soon as a map does.
    pub fn never_written() -> &'static Arc<Failure> {
        &NEVER_WRITTEN
    }

    /// Several failures as one, of code SEVERAL: flattened, distinct, in order, the first `KEPT_MEMBERS`, with the skips that groups among them have caused. A group of
    /// one is that one.
    pub fn group(failures: &[Arc<Failure>]) -> Arc<Failure> {
        Failure::group_that_is(failures, false)
    }

    /// The same for several failures of one operation of which nothing reached the device: the group claims its outputs itself, so that `reinstate` may lift that.
    pub fn untouched_group(failures: &[Arc<Failure>]) -> Arc<Failure> {
        Failure::group_that_is(failures, failures.iter().all(|failure| failure.untouched))
    }

    fn group_that_is(failures: &[Arc<Failure>], untouched: bool) -> Arc<Failure> {
        if let [only] = failures {
            return Arc::clone(only);
        }
        let mut members: Vec<Arc<Failure>> = Vec::new();
        let (mut seen, mut more) = (HashSet::new(), 0_u64);
        for failure in failures {
            let alone = std::slice::from_ref(failure);
            for member in if failure.is_group() { &failure.members } else { alone } {
                // Without memory to tell them apart one may be counted twice.
                let known = match seen.try_reserve(1) {
                    Ok(()) => !seen.insert(member.id),
                    Err(_) => members.iter().any(|kept| kept.id == member.id),
                };
                match members.len() < KEPT_MEMBERS {
                    _ if known => {}
                    true => members.push(member.clone()),
                    false => more += 1,
                }
            }
        }
        let inherited: u64 = failures.iter().map(|f| f.dropped_members).fold(0, u64::saturating_add);
        if let (0, [only]) = (inherited, &members[..]) {
            return only.clone();
        }
        let dropped = inherited.saturating_add(more);
        let count = dropped.saturating_add(members.len() as u64);
        let first = members.first().map_or("", |m| m.error.message.as_str());
        let error = Error {
            code: codes::SEVERAL,
            message: format!("{count} failures claim these bytes; each is a member of this report. The first: {first}"),
            answers: Answers::of_group(failures.iter().map(|f| f.error.answers)),
            driver: None,
            about: None,
            location: None,
            diagnostics: Vec::new(),
        };
        let group = Failure::build(Arc::new(error), untouched, true, members, dropped);
        // What was skipped for several at once is noted on none of them.
        let mut skips = group.skips.lock();
        failures.iter().filter(|failure| failure.is_group()).for_each(|merged| skips.take_over(&merged.skips.lock()));
        drop(skips);
        group
    }

    /// Unique in the process, from 1.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The root error; of a group, one of code SEVERAL.
    pub fn error(&self) -> Arc<Error> {
        self.error.clone()
    }

    /// The members of a group, distinct, none of them a group; empty for a single failure.
    pub fn members(&self) -> &[Arc<Failure>] {
        &self.members
    }

    /// How many members a group had to drop beyond `KEPT_MEMBERS`.
    pub fn dropped_members(&self) -> u64 {
        self.dropped_members
    }

    pub(crate) fn is_group(&self) -> bool {
        self.group
    }

    /// Nothing of the operation reached the device (T2). Of groups only so for an [`Failure::untouched_group`]: others stand for claims of several operations.
    pub fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// How many maps still carry a claim of it, alone or in a group; a map counts once.
    pub fn buffers(&self) -> u64 {
        self.maps.load(Ordering::Relaxed)
    }

    pub(crate) fn enter_map(&self) {
        self.maps.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave_map(&self) {
        self.maps.fetch_sub(1, Ordering::Relaxed);
    }

    /// Remembers a skip (T5) or use (T13). Keeps the newest `KEPT_SKIPS` and the exact total; if there is no memory to keep it, it is
    /// only counted. Never panics, may be called from any thread; holds a leaf lock.
    pub fn note(&self, skip: Skip) {
        self.skips.lock().note(skip);
    }

    /// The kept skips, oldest first, and how many there were in all.
    pub fn skips(&self) -> (Vec<Skip>, u64) {
        let skips = self.skips.lock();
        (skips.kept.iter().cloned().collect(), skips.total)
    }

    /// Whether a skip that is no longer kept would have written the buffer.
    pub(crate) fn forgot_skip_into(&self, buffer: u64) -> bool {
        self.skips.lock().forgotten.contains(&buffer)
    }
}

impl Skips {
    fn note(&mut self, skip: Skip) {
        self.total = self.total.saturating_add(1);
        while self.kept.len() >= KEPT_SKIPS {
            if let Some(old) = self.kept.pop_front() {
                self.forget(&old.outputs);
            }
        }
        if self.kept.len() < self.kept.capacity() || self.kept.try_reserve(1).is_ok() {
            self.kept.push_back(skip);
        } else {
            self.forget(&skip.outputs);
        }
    }

    /// Those of a group that becomes part of another one.
    fn take_over(&mut self, older: &Skips) {
        older.forgotten.iter().for_each(|output| self.forget(&[*output]));
        older.kept.iter().for_each(|skip| self.note(skip.clone()));
        let dropped = older.total.saturating_sub(older.kept.len() as u64);
        self.total = self.total.saturating_add(dropped);
    }

    fn forget(&mut self, outputs: &[u64]) {
        for output in outputs {
            if self.forgotten.contains(output) {
                continue;
            }
            if self.forgotten.len() >= KEPT_OUTPUTS {
                self.forgotten.pop_front();
            }
            if self.forgotten.len() < self.forgotten.capacity() || self.forgotten.try_reserve(1).is_ok() {
                self.forgotten.push_back(*output);
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("id", &self.id)
            .field("code", &self.error.code)
            .field("untouched", &self.untouched)
            .field("members", &self.members.len())
            .field("maps", &self.buffers())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
