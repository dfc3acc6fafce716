//! The one place where a piece of work is decided: which bytes may be read, what has to be filled or waited for, and what is claimed
//! if it does not come about. Launches, copies, fills, writes and reads all come through here.
//!
//! The order of things: submission lock of the queue, marks of all buffers (all or none, by id), decision, driver calls,
//! settlement, marks released. A section that is dropped without having been settled (an early return, a panic) claims what it was about to
//! write. Nothing in settling or dropping may fail: [`Map::claim`](compute_trust::Map::claim) does without memory if it must.
//!
//! The marks are in `section/marks.rs`, what goes to the device ahead of the work in `section/ahead.rs`.
//!
//! Lock order: submission lock → marks → journal → maps. Waiting for a mark happens with no mark held; waiting for the device never happens here.

mod ahead;
mod marks;

use std::hint::cold_path;
use std::ops::Range;
use std::sync::Arc;

use compute_hal::{self as hal, DeviceError, Region};
use compute_memory::Footprint;
use compute_trust::{About, Error, Failure, NoMemory, Part, Skip, Use, Watch};
use once_cell::sync::Lazy;
use parking_lot::MutexGuard;
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::error::{Failed, Result, fail, from_device, kept};
use super::place::Span;
use super::queue::{Queue, Submit};
use super::refuse::{admit, dry, outputs, refuse_all, told_skipped};
pub(crate) use super::refuse::{claim, no_memory, refuse, refused_operation};
use super::stream::Stream;
use super::{code, late, log, prints, rows};
use marks::{Held, release};
pub(crate) use marks::{alone, alone_until, last_write};

/// What a piece of work does to a range that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// It does not write there.
    No,
    /// It writes some of it, or nobody knows how much.
    Part,
    /// It writes every element of it, but not the padding in them, or not a tail that is too short for one. What is not trusted there is filled with zeros first,
    /// claimed bytes too, so that the claims can go (T4, T6a). `seen`: a part of the work reads it afterwards, so that the work derives from whoever wrote what was left.
    Padded { seen: bool },
    /// It writes every byte (T4, T6a).
    Whole,
}

impl Write {
    /// Whether bytes of the range may be left as they were.
    fn leaves_bytes(self) -> bool {
        matches!(self, Self::Part | Self::Padded { .. })
    }

    /// Whether every byte of the range is trusted afterwards.
    fn settles(self) -> bool {
        matches!(self, Self::Padded { .. } | Self::Whole)
    }
}

/// A range of a buffer that a piece of work uses.
#[derive(Clone, Copy)]
pub(crate) struct Touch<'a> {
    pub(crate) span: Span<'a>,
    pub(crate) reads: bool,
    pub(crate) write: Write,
    /// Of the range, only these rows, which begin where it does; there are too many of them for a range each.
    pub(crate) rows: Option<&'a Footprint>,
}

/// What the work is, for whoever asks later.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Entry point, or the name of the operation.
    pub(crate) name: &'a Arc<str>,
    pub(crate) label: &'a str,
    /// Accepted work can fail later (T13).
    pub(crate) fails_late: bool,
    /// How many calls of the device it takes, each with a position of its own.
    pub(crate) calls: u64,
    /// Its parts that can fail late by themselves.
    pub(crate) parts: Option<&'a Arc<Vec<Part>>>,
}

impl Subject<'_> {
    pub(crate) fn about(&self, operation: u64, stream: u64) -> About {
        About { operation, label: kept(self.label), kernel: Arc::clone(self.name), stream }
    }
}

/// The outcome of a piece of work that was no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was enqueued.
    Enqueued,
    /// It reads claimed bytes, so it did not run (T5); its outputs carry the same failure.
    Skipped,
}

/// A piece of work between its marks and its settlement.
pub(crate) struct Section<'a> {
    stream: &'a Stream,
    queue: &'a Arc<Queue>,
    /// Held, but while deferred allocations are made.
    submit: Option<MutexGuard<'a, Submit>>,
    subject: &'a Subject<'a>,
    touches: &'a [Touch<'a>],
    held: SmallVec<[Held<'a>; 8]>,
    waits: SmallVec<[Use; 4]>,
    fills: SmallVec<[(usize, Range<u64>); 2]>,
    /// How many of the fills, the first ones, the maps count as written already.
    compacted: usize,
    filled: usize,
    first: u64,
    last: u64,
    /// Some buffer was not clean when it was marked: only then are there maps to look at, fills, and ranges to release.
    dirty: bool,
    journaled: bool,
    /// Its waits are enqueued, and calls of the device that touch its buffers may follow.
    reached: bool,
    settled: bool,
}

/// What came of a piece of work.
pub(crate) enum Performed {
    /// It is enqueued, and over at this position.
    Enqueued(u64),
    /// It reads bytes claimed by this failure, so it did not run.
    Skipped(Arc<Failure>),
}

impl From<Performed> for Outcome {
    fn from(performed: Performed) -> Self {
        match performed {
            Performed::Enqueued(_) => Self::Enqueued,
            Performed::Skipped(_) => {
                cold_path();
                Self::Skipped
            }
        }
    }
}

/// Where a piece of work makes its driver call.
pub(crate) struct Step<'a> {
    /// The queue.
    pub(crate) queue: &'a dyn hal::Queue,
    /// Its position there; of several calls, the first.
    pub(crate) at: hal::Position,
    /// Whether what it produces may still fail when its position has completed (T13).
    pub(crate) journaled: bool,
}

/// Claims what a section leaves behind that never said how it ended. Made in advance (T2).
static ABANDONED: Lazy<Arc<Failure>> =
    Lazy::new(|| Failure::prepared(code::ABANDONED, "a call ended before it could tell whether it had written these bytes"));

/// Makes everything that a failing call must not have to make.
pub(crate) fn prepare() {
    Lazy::force(&ABANDONED);
}

/// Performs a piece of work: takes the marks of all that `touches` names, decides, and makes the driver's calls: waits, fills, then `work`.
/// What it would have written is claimed if it fails.
pub(crate) fn perform<'a>(
    stream: &'a Stream,
    subject: &'a Subject<'a>,
    touches: &'a [Touch<'a>],
    watch: Option<&Arc<Watch>>,
    work: impl FnOnce(&Step<'_>) -> std::result::Result<(), DeviceError>,
) -> Result<Performed> {
    let performed = perform_beside(stream, subject, touches, watch, || Some(()), |step, ()| work(step))?;
    performed.map_or_else(|| fail(code::INTERNAL, "work that needs nothing else was not performed"), Ok)
}

/// As [`perform`], with something that is no buffer of the stream's device: `borrow` tries to take it, once the marks are held and before anything has
/// happened, and waits for nobody. If it cannot, nothing happens: `None`. Such work only writes, the whole of views that have memory, so that nothing but the
/// device's calls lies between that and the end of `work`.
pub(crate) fn perform_beside<'a, B>(
    stream: &'a Stream,
    subject: &'a Subject<'a>,
    touches: &'a [Touch<'a>],
    watch: Option<&Arc<Watch>>,
    borrow: impl FnOnce() -> Option<B>,
    work: impl FnOnce(&Step<'_>, B) -> std::result::Result<(), DeviceError>,
) -> Result<Option<Performed>> {
    prints::deliver();
    if late::active() {
        cold_path();
        late::settle().map_err(|failed| refuse_all(&failed, stream, subject, touches))?;
    }
    if touches.iter().any(|touch| touch.span.buffer.is_restricted()) {
        admit(stream, subject, touches)?;
    }
    if stream.is_dry() {
        return dry(stream, touches).map(Some);
    }
    if let Err(made) = stream.not_recording(subject.name) {
        cold_path();
        return Err(refuse(*made, outputs(touches)));
    }
    let submit = match stream.queue.lock(&stream.device) {
        Ok(submit) => submit,
        Err(failed) => return Err(refuse_all(&failed, stream, subject, touches)),
    };
    // Stays where it is until it has settled: moving it about costs as much as all of its bookkeeping.
    let mut section = Section {
        stream,
        queue: &stream.queue,
        submit: Some(submit),
        subject,
        touches,
        held: SmallVec::new(),
        waits: SmallVec::new(),
        fills: SmallVec::new(),
        compacted: 0,
        filled: 0,
        first: 0,
        last: 0,
        dirty: false,
        journaled: false,
        reached: false,
        // Until it has its marks there is nothing to settle.
        settled: true,
    };
    if let Err(none) = section.merge() {
        cold_path();
        drop(section);
        return Err(refuse(no_memory(none), outputs(touches)));
    }
    let found = section.take_marks();
    let Some(borrowed) = borrow() else {
        cold_path();
        release(&stream.device, &mut section.held);
        return Ok(None);
    };
    section.settled = false;
    section.dirty = found.dirty;
    let mut pending = found.pending;
    if found.dirty {
        if let Some((failure, needed)) = section.look_at_bytes()? {
            cold_path();
            section.skip(&failure, &needed);
            // Its locks are given back before anybody else's code runs (F4).
            drop(section);
            told_skipped(stream, subject, touches, &failure, &needed);
            return Ok(Some(Performed::Skipped(failure)));
        }
        // Deferred allocations may have had the marks taken anew.
        pending = section.held.iter().any(|held| held.found.pending);
    }
    if let Err(none) = section.take_positions() {
        cold_path();
        drop(borrowed);
        return Err(section.refuse(no_memory(none)));
    }
    let journaled = subject.fails_late || pending;
    if journaled && let Err(none) = section.record(watch) {
        cold_path();
        drop(borrowed);
        return Err(section.refuse(no_memory(none)));
    }
    let done = section.prepare_device().and_then(|()| {
        let step = Step { queue: &*section.queue.native, at: section.last - (subject.calls - 1), journaled };
        work(&step, borrowed)
    });
    match done {
        Ok(()) => {
            section.succeed();
            Ok(Some(Performed::Enqueued(section.last)))
        }
        Err(failed) => Err(section.broken(failed)),
    }
}

impl<'a> Section<'a> {
    /// What the maps of unclean buffers say: the failure that keeps the work from running, or else which fills it needs. Deferred allocations are
    /// made here: none of their bytes is written, so they are never clean.
    #[cold]
    fn look_at_bytes(&mut self) -> Result<Option<(Arc<Failure>, Arc<Buffer>)>> {
        self.reserve();
        let mut claim = self.first_claim();
        while claim.is_none() && self.held.iter().any(|held| held.buffer.is_deferred()) {
            self.back()?;
            self.reserve();
            claim = self.first_claim();
        }
        if claim.is_none() && self.compact() {
            claim = self.first_claim();
        }
        if claim.is_none()
            && let Err(none) = self.plan_fills()
        {
            return Err(self.refuse_here(no_memory(none)));
        }
        Ok(claim)
    }

    /// Allocates what was deferred, with no lock and no mark held, and begins anew.
    fn back(&mut self) -> Result<()> {
        self.end();
        self.submit = None;
        for held in &self.held {
            held.buffer.back().map_err(|cause| self.not_backed(held.buffer, &cause))?;
        }
        let lost = |failed: Arc<Failed>| refuse_all(&failed, self.stream, self.subject, self.touches);
        let submit = self.queue.lock(&self.stream.device).map_err(lost)?;
        self.submit = Some(submit);
        self.take_marks();
        self.settled = false;
        Ok(())
    }

    /// A deferred allocation could not be made (M5): its buffer is claimed by that, and so is what the work would have written.
    fn not_backed(&self, buffer: &Arc<Buffer>, cause: &Failed) -> Arc<Failed> {
        let outputs = outputs(self.touches).chain([(buffer, 0..buffer.size)]);
        let made = Error { about: Some(self.subject.about(refused_operation(), self.stream.id)), ..(*cause.error).clone() };
        if cause.error.answers.poisoned {
            return refuse(made, outputs);
        }
        let (label, size, name, id) = (buffer.label(), buffer.size, self.subject.name, buffer.id);
        let text = format!(
            "the allocation of {size} bytes for buffer `{label}` ({id}) was deferred to its first use, and could not be made when `{name}` needed it: {cause}"
        );
        refuse(Error { code: code::NOT_BACKED, message: text, ..made }, outputs)
    }

    fn operation(&self) -> u64 {
        (self.queue.id << 40) | self.last
    }

    fn about(&self) -> About {
        self.subject.about(self.operation(), self.stream.id)
    }

    /// The first failure, by slot and offset, that claims bytes which this work would read (T5).
    fn first_claim(&self) -> Option<(Arc<Failure>, Arc<Buffer>)> {
        self.touches.iter().filter(|touch| touch.reads).find_map(|touch| {
            let map = touch.span.buffer.map.lock();
            rows::first_claim(touch, &map).map(|failure| (failure, Arc::clone(touch.span.buffer)))
        })
    }

    /// The work does not run: its outputs carry the failure that its input carries (T5).
    fn skip(&mut self, failure: &Arc<Failure>, needed: &Buffer) {
        self.last = self.advance(1);
        self.first = self.last;
        self.queue.native.mark(self.last);
        let mut outputs = SmallVec::new();
        for touch in self.touches.iter().filter(|touch| touch.write != Write::No) {
            // Of those for which there is no memory it is not told that they were skipped.
            if room(&mut outputs).is_ok() {
                outputs.push(touch.span.buffer.id);
            }
        }
        // A host read is told itself; only work that leaves something unwritten becomes part of the chain.
        if self.touches.iter().any(|touch| touch.write != Write::No) {
            failure.note(Skip { about: self.about(), needed: needed.name(), outputs, used: false });
        }
        self.claim_outputs(failure);
        self.end();
    }

    /// So that nothing from here on needs memory or merges claims. Without memory a map claims more than it must, but never less.
    fn reserve(&self) {
        for held in self.held.iter().filter(|held| held.found.dirty) {
            let _ = held.buffer.map.lock().reserve(held.ranges.saturating_mul(2));
        }
    }

    /// T3: brings maps with too many ranges back within the bound, whatever the work does with their bytes: a buffer that is written in
    /// small pieces gets its turn here. Says whether anything was compacted, which may have claimed more.
    fn compact(&mut self) -> bool {
        let mut any = false;
        for (index, held) in self.held.iter_mut().enumerate().filter(|(_, held)| held.found.dirty) {
            let mut map = held.buffer.map.lock();
            // Without memory for the fills it stays as it is, within its hard bound.
            if map.overflowing() && self.fills.try_reserve(map.ranges()).is_ok() {
                (any, held.changed) = (true, true);
                self.fills.extend(map.compact().into_iter().map(|gap| (index, gap)));
            }
        }
        self.compacted = self.fills.len();
        any
    }

    /// Never-written bytes that the work would read, or may leave unwritten in its outputs, are filled with zeros first (T1, T6a), and claimed ones of outputs whose
    /// padding only it leaves.
    fn plan_fills(&mut self) -> std::result::Result<(), NoMemory> {
        for touch in self.touches.iter().filter(|touch| touch.reads || touch.write.leaves_bytes() || touch.rows.is_some()) {
            let Some(index) = self.place(touch.span.buffer) else { continue };
            if !self.held[index].found.dirty {
                continue;
            }
            let map = touch.span.buffer.map.lock();
            for (gap, claimed) in map.gaps_in(touch.span.range()) {
                let wanted = if claimed { matches!(touch.write, Write::Padded { .. }) } else { rows::wants_filled(touch, &gap) };
                if wanted {
                    room(&mut self.fills)?;
                    self.fills.push((index, gap));
                }
            }
        }
        self.drop_repeated_fills();
        for (index, _) in &self.fills {
            self.held[*index].writes = true;
        }
        Ok(())
    }

    /// A gap that several touches want filled is filled once. Compaction's fills come first and are of other bytes: its gaps count as written.
    fn drop_repeated_fills(&mut self) {
        let wanted = self.fills.get_mut(self.compacted..).unwrap_or_default();
        if wanted.len() < 2 {
            return;
        }
        wanted.sort_unstable_by_key(|(index, gap)| (*index, gap.start, gap.end));
        let (mut before, mut seen) = (None, 0);
        self.fills.retain(|fill| {
            let repeated = seen > self.compacted && before.as_ref() == Some(&*fill);
            seen += 1;
            before = Some(fill.clone());
            !repeated
        });
    }

    /// Writes the work down for failures that come later (T13).
    #[inline(never)]
    fn record(&mut self, watch: Option<&Arc<Watch>>) -> std::result::Result<(), NoMemory> {
        let fills = self.fills.iter().map(|(index, range)| (self.held[*index].buffer, range));
        let (can_fail, parts) = (self.subject.fails_late, self.subject.parts.map(Arc::clone));
        let who = late::Who { about: self.about(), parts, can_fail };
        late::record(self.queue, self.first..=self.last, who, self.touches, fills, watch)?;
        self.journaled = true;
        for held in self.held.iter_mut().filter(|held| held.exclusive) {
            held.found.pending = late::is_pending(held.buffer.id);
        }
        Ok(())
    }

    /// A call of the device failed.
    #[cold]
    fn broken(self, failed: DeviceError) -> Arc<Failed> {
        if let DeviceError::Lost(cause) = &failed {
            self.stream.device.condemn(cause.clone());
        }
        self.refuse(from_device(failed))
    }

    /// It fails: what it would have written is claimed.
    #[cold]
    fn refuse(mut self, made: Error) -> Arc<Failed> {
        self.refuse_here(made)
    }

    #[cold]
    fn refuse_here(&mut self, made: Error) -> Arc<Failed> {
        if self.last == 0 {
            self.last = self.advance(1);
            self.first = self.last;
        }
        let failure = self.fail(made);
        // Its locks are given back before anybody else's code runs (F4).
        self.submit = None;
        log::failure(&failure);
        Failed::claiming(&failure)
    }

    /// The fills that were enqueued have written their ranges.
    fn settle_fills(&mut self) {
        for (index, range) in &self.fills[..self.filled] {
            let held = &mut self.held[*index];
            held.changed = true;
            held.buffer.map.lock().filled(range.clone());
        }
    }

    fn succeed(&mut self) {
        if self.dirty {
            self.written();
        }
        self.end();
    }

    /// What the maps are told of work that was enqueued.
    #[cold]
    fn written(&mut self) {
        self.settle_fills();
        for touch in self.touches.iter().filter(|touch| touch.write.settles()) {
            let Some(index) = self.place(touch.span.buffer) else { continue };
            if self.held[index].found.dirty {
                self.held[index].changed = true;
                rows::written(touch, &mut touch.span.buffer.map.lock());
            }
        }
    }

    fn fail(&mut self, made: Error) -> Arc<Failure> {
        // The journal takes what it has been told of for work that ran.
        let untouched = !self.reached && !self.journaled;
        let failure = Failure::new(Arc::new(Error { about: Some(self.about()), ..made }), untouched);
        self.settle_fills();
        self.queue.native.mark(self.last);
        self.claim_outputs(&failure);
        self.end();
        failure
    }

    fn claim_outputs(&mut self, failure: &Arc<Failure>) {
        for touch in self.touches.iter().filter(|touch| touch.write != Write::No) {
            if let Some(index) = self.place(touch.span.buffer) {
                self.held[index].changed = true;
            }
            for range in rows::ranges(touch) {
                touch.span.buffer.map.lock().claim(range.clone(), failure);
                late::claimed(touch.span.buffer.id, &range, failure);
            }
        }
        // Gaps that count as written, but that no fill has reached.
        for (index, range) in self.fills.get(self.filled..self.compacted).unwrap_or_default() {
            let buffer = self.held[*index].buffer;
            buffer.map.lock().claim_late(range.clone(), failure);
            late::claimed(buffer.id, range, failure);
        }
    }

    fn end(&mut self) {
        self.settled = true;
        release(&self.stream.device, &mut self.held);
    }
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.settled {
            self.abandon();
        }
    }
}

impl Section<'_> {
    #[cold]
    #[inline(never)]
    fn abandon(&mut self) {
        if std::thread::panicking() {
            self.stream.device.condemn_after_panic();
        }
        if self.last != 0 {
            self.queue.native.mark(self.last);
        }
        self.claim_outputs(&ABANDONED.clone());
        self.end();
    }
}

/// Room for one more, or none: what a call collects depends on how many buffers, ranges and streams its caller has.
#[inline]
pub(crate) fn room<A: smallvec::Array>(list: &mut SmallVec<A>) -> std::result::Result<(), NoMemory> {
    room_for(list, 1)
}

/// The same for `count` more.
#[inline]
pub(crate) fn room_for<A: smallvec::Array>(list: &mut SmallVec<A>, count: usize) -> std::result::Result<(), NoMemory> {
    #[cold]
    #[inline(never)]
    fn more<A: smallvec::Array>(list: &mut SmallVec<A>, count: usize) -> std::result::Result<(), NoMemory> {
        list.try_reserve(count).map_err(|_| NoMemory)
    }
    if count <= list.capacity() - list.len() { Ok(()) } else { more(list, count) }
}

/// Adds one to a list that has room for it. Few lists have so many that they are elsewhere.
#[inline]
pub(crate) fn put<A: smallvec::Array>(list: &mut SmallVec<A>, item: A::Item) {
    if list.spilled() {
        cold_path();
    }
    list.push(item);
}

/// The region of a span that is known not to be empty.
pub(crate) fn region(span: &Span<'_>) -> std::result::Result<Region, DeviceError> {
    span.buffer.region(&span.range()).ok_or_else(|| DeviceError::Internal("work on an empty buffer".into()))
}
