//! Batches that were submitted, until they are over: what the host does then, what has completed, and who wants to know.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use compute_hal::movers::copy;
use compute_hal::{DeviceError, FaultCause, LateCause, LateFailure, Position, Printed};
use parking_lot::{Condvar, Mutex};

use crate::batch::{Batch, Landing, Told, own_id};
use crate::commands::Around;
use crate::device::Shared;
use crate::errors::{kind, scoped, survive};
use crate::proof::Proof;
use crate::sending::{AGE, PARTS};
use crate::staging::{Download, MAPPED, WAITING, map};

/// How long the queue's thread sleeps at most: a fault may be told to nobody.
const SLEEP: Duration = Duration::from_millis(500);

/// Why the work of a position did not run.
struct Refused {
    position: Position,
    name: &'static str,
    message: String,
}

impl Refused {
    fn new(position: Position, error: &wgpu::Error) -> Self {
        Self { position, name: kind(error), message: crate::errors::chain(error) }
    }
}

/// A batch that is under way.
struct Entry {
    /// The highest position that completes with it.
    last: Position,
    /// What came of sending it; none while it is being sent.
    sent: Option<Sent>,
}

/// A batch that was sent.
pub(crate) struct Sent {
    index: wgpu::SubmissionIndex,
    over: Arc<AtomicBool>,
    load: Option<Load>,
}

impl Sent {
    /// The error of a batch that is not the work of its positions, which then count as run.
    pub(crate) fn take_refused(&mut self) -> Option<DeviceError> {
        let refused = std::mem::take(&mut self.load.as_mut()?.refused).into_iter().next()?;
        Some(DeviceError::Driver { call: "submit", code: 0, name: refused.name.into(), message: refused.message })
    }

    /// Whether the device is done with it and all that is told of its end was told. Of a batch that is over before all of this was asked for, one thread may tell of the
    /// whole while another one is yet to tell of its memory.
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) && self.load.as_ref().is_none_or(Load::is_answered)
    }
}

/// What the host does when a batch is over.
struct Load {
    batch: Box<Batch>,
    uploads: Vec<Arc<AtomicU64>>,
    uniforms: Vec<Arc<AtomicU64>>,
    downloads: Vec<Arc<AtomicU64>>,
    /// That it has run to its end, where the driver does not tell; an error: nobody will know.
    proof: Option<Result<(Arc<AtomicU64>, Proof), DeviceError>>,
    refused: Vec<Refused>,
}

impl Load {
    /// Whether it is known of all memory if it could be mapped.
    fn is_answered(&self) -> bool {
        let proof = self.proof.iter().flatten().map(|(state, _)| state);
        let mut all = self.uploads.iter().chain(&self.uniforms).chain(&self.downloads).chain(proof);
        all.all(|state| state.load(Ordering::Acquire) != WAITING)
    }
}

pub(crate) type Wake = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Flight {
    entries: VecDeque<Entry>,
    watchers: Vec<(Position, Wake)>,
    /// Whether a batch is open.
    open: bool,
    /// The open batch is to go now, and the queue's thread is to send it.
    due: bool,
    /// Threads that wait inside wgpu: while there is one, the queue's own thread leaves it to them.
    inside: u32,
    /// The queue's thread has to be woken before it looks at a new batch.
    asleep: bool,
    /// No more work will come.
    closing: bool,
}

/// How far a queue is.
#[derive(Default)]
pub(crate) struct Progress {
    completed: AtomicU64,
    flight: Mutex<Flight>,
    /// How many batches are in it: each launch asks.
    count: AtomicUsize,
    /// Completion, to those who wait for it.
    told: Condvar,
    /// Something to do, to the queue's thread.
    pub(crate) work: Condvar,
    /// Held by the one who ends batches, so that they end in order.
    ending: Mutex<()>,
    late: Mutex<Vec<LateFailure>>,
    printed: Mutex<Vec<Printed>>,
    /// The newest position of which something was refused: the rest of it may come with a later batch.
    refused: AtomicU64,
    /// The newest position of which a violation was told.
    violated: AtomicU64,
}

#[cfg(test)]
thread_local! {
    /// Batches that this thread has sent.
    pub(crate) static SENT_HERE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Hands everything to wgpu and asks to be told.
pub(crate) fn submit(shared: &Shared, batch: Box<Batch>) -> Result<Sent, DeviceError> {
    #[cfg(test)]
    {
        shared.submitted.fetch_add(1, Ordering::Relaxed);
        SENT_HERE.set(SENT_HERE.get() + 1);
    }
    let over = Arc::new(AtomicBool::new(false));
    let made = survive(|| {
        // Without memory for it nobody will know, and the batch counts as failed, for that reason.
        let proof = shared.proofs.as_ref().map(|proofs| proofs.take(shared.gpu.device()));
        let proven = proof.as_ref().and_then(|proof| proof.as_ref().ok());
        let sent = encode_whole(shared, &batch, proven).and_then(|commands| send(shared, commands));
        // What was the end of the device has refused all positions alike, and wgpu does not say so of what is sent after it.
        shared.well()?;
        shared.holds_nothing_back();
        let (index, refused) = sent.map_or_else(|error| send_apart(shared, &batch, proven, &error), |index| (index, Vec::new()));
        let load = Load {
            uploads: batch.uploads.iter().map(|chunk| map(&chunk.buffer, wgpu::MapMode::Write)).collect(),
            uniforms: batch.uniforms.iter().map(|chunk| map(&chunk.staging, wgpu::MapMode::Write)).collect(),
            downloads: batch.downloads.iter().map(|chunk| map(&chunk.buffer, wgpu::MapMode::Read)).collect(),
            proof: proof.map(|proof| proof.map(|proof| (map(&proof.place, wgpu::MapMode::Read), proof))),
            batch,
            refused,
        };
        #[cfg(test)]
        if shared.loses_reads.load(Ordering::Relaxed) {
            load.batch.downloads.iter().for_each(|chunk| chunk.buffer.destroy());
        }
        #[cfg(test)]
        crate::staging::be_tardy();
        let tell = Arc::clone(&over);
        shared.gpu.when_done(move || tell.store(true, Ordering::Release));
        Ok((index, load))
    });
    match made {
        Ok(Ok((index, load))) => Ok(Sent { index, over, load: Some(load) }),
        Ok(Err(lost)) => Err(lost),
        Err(panic) => Err(shared.lose("PANIC", format!("wgpu panicked in a submission: {panic}"))),
    }
}

fn send(shared: &Shared, commands: wgpu::CommandBuffer) -> Result<wgpu::SubmissionIndex, wgpu::Error> {
    scoped(|| shared.gpu.queue().submit([commands]))
}

/// Closes the memory that a batch reads from, and makes all of its commands. One scope does for what is tried again in parts.
fn encode_whole(shared: &Shared, batch: &Batch, proof: Option<&Proof>) -> Result<wgpu::CommandBuffer, wgpu::Error> {
    let device = shared.gpu.device();
    scoped(|| {
        batch.uniforms.iter().for_each(|chunk| chunk.staging.unmap());
        batch.uploads.iter().for_each(|chunk| chunk.buffer.unmap());
        #[cfg(test)]
        if shared.aborts.load(Ordering::Relaxed) {
            return batch.commands.encode(device, 0..0, Around::default());
        }
        let around = Around { uniforms: &batch.uniforms, shown: &batch.shown, proof };
        batch.commands.encode(device, 0..batch.commands.len(), around)
    })
}

/// Each position of a batch by itself, so that one that is refused does not take its neighbours along. Nothing of it has run.
fn send_apart(
    shared: &Shared,
    batch: &Batch,
    proof: Option<&Proof>,
    error: &wgpu::Error,
) -> (wgpu::SubmissionIndex, Vec<Refused>) {
    let device = shared.gpu.device();
    let try_send =
        |which, around| scoped(|| batch.commands.encode(device, which, around)).and_then(|commands| send(shared, commands));
    let mut refused = Vec::new();
    match try_send(0..0, Around { uniforms: &batch.uniforms, ..Around::default() }) {
        Err(_) => refused.extend(batch.positions.iter().map(|position| Refused::new(*position, error))),
        Ok(_) => {
            for (position, which) in batch.commands.positions() {
                refused.extend(try_send(which, Around::default()).err().map(|error| Refused::new(position, &error)));
            }
        }
    }
    // The host is shown by a submission of its own, so that no position is refused for another's buffer.
    if let Err(error) = try_send(0..0, Around { shown: &batch.shown, proof, ..Around::default() }) {
        refused = batch.positions.iter().map(|position| Refused::new(*position, &error)).collect();
    }
    // An empty submission tells when all before it is over.
    (shared.gpu.queue().submit(None), refused)
}

impl Flight {
    fn is_due(&self) -> bool {
        self.due && self.entries.len() < PARTS
    }

    /// Whether the oldest batch only waits for somebody to end it.
    fn front_is_over(&self) -> bool {
        self.entries.front().and_then(|entry| entry.sent.as_ref()).is_some_and(Sent::is_over)
    }

    fn oldest(&self) -> Option<wgpu::SubmissionIndex> {
        self.entries.front()?.sent.as_ref().map(|sent| sent.index.clone())
    }
}

/// While there is one, somebody waits inside wgpu.
pub(crate) struct Inside<'a>(&'a Progress);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut flight = self.0.flight.lock();
        flight.inside -= 1;
        let left = flight.inside == 0 && !flight.entries.is_empty();
        drop(flight);
        if left {
            self.0.work.notify_one();
        }
    }
}

impl Progress {
    pub(crate) fn completed(&self) -> Position {
        self.completed.load(Ordering::Acquire)
    }

    pub(crate) fn take_late(&self) -> Vec<LateFailure> {
        std::mem::take(&mut self.late.lock())
    }

    pub(crate) fn take_printed(&self) -> Vec<Printed> {
        std::mem::take(&mut self.printed.lock())
    }

    /// A batch was opened.
    pub(crate) fn begin(&self) {
        let mut flight = self.flight.lock();
        flight.open = true;
        if flight.asleep {
            self.work.notify_one();
        }
    }

    /// Has the queue's thread send the open batch, as the device has nothing to do.
    pub(crate) fn hand_over(&self) {
        let mut flight = self.flight.lock();
        if flight.open && !flight.due {
            flight.due = true;
            self.work.notify_one();
        }
    }

    /// Whether the open batch was handed over, and may go.
    pub(crate) fn is_due(&self) -> bool {
        self.flight.lock().is_due()
    }

    /// The open batch is about to be sent, up to this position.
    pub(crate) fn expect(&self, last: Position) {
        let mut flight = self.flight.lock();
        flight.open = false;
        flight.due = false;
        flight.entries.push_back(Entry { last, sent: None });
        self.count.store(flight.entries.len(), Ordering::Release);
    }

    /// The batch that was expected last was sent.
    pub(crate) fn sent(&self, sent: Sent) {
        let mut flight = self.flight.lock();
        if let Some(entry) = flight.entries.back_mut() {
            entry.sent = Some(sent);
        }
        let alone = flight.inside == 0;
        drop(flight);
        self.told.notify_all();
        if alone {
            self.work.notify_one();
        }
    }

    /// No more work will come.
    pub(crate) fn close(&self) {
        self.flight.lock().closing = true;
        self.work.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.flight.lock().closing
    }

    /// To be held by whoever waits inside wgpu.
    pub(crate) fn inside(&self) -> Inside<'_> {
        self.flight.lock().inside += 1;
        Inside(self)
    }

    /// The oldest batch, if it was sent and nobody waits inside wgpu.
    pub(crate) fn left_alone(&self) -> Option<wgpu::SubmissionIndex> {
        let flight = self.flight.lock();
        if flight.inside == 0 { flight.oldest() } else { None }
    }

    /// For the queue's thread: waits for something to do, `briefly` while there was some a moment ago, and also with a batch to send where it is `kept` from that. Whether a batch
    /// is open; `None`: there will be no more work.
    pub(crate) fn rest(&self, briefly: bool, kept: bool) -> Option<bool> {
        let mut flight = self.flight.lock();
        if flight.closing && flight.entries.is_empty() && !flight.open {
            return None;
        }
        if (kept || !flight.is_due()) && (flight.inside > 0 || flight.oldest().is_none()) {
            flight.asleep = !briefly && !kept && !flight.open;
            let time = if flight.asleep { SLEEP } else { AGE };
            self.work.wait_for(&mut flight, time);
            flight.asleep = false;
        }
        Some(flight.open)
    }

    /// Waits until somebody ends or sends a batch, for that long at most.
    pub(crate) fn listen(&self, most: Duration, at: Position) {
        let mut flight = self.flight.lock();
        if self.completed() < at && !flight.front_is_over() {
            self.told.wait_for(&mut flight, most);
        }
    }

    /// Completes a position that has no work, once everything before it has. Only with no batch open. Who wants to know is in the answer.
    pub(crate) fn mark(&self, at: Position) -> Vec<Wake> {
        let mut flight = self.flight.lock();
        if let Some(newest) = flight.entries.back_mut() {
            newest.last = newest.last.max(at);
            return Vec::new();
        }
        self.reach(&mut flight, at)
    }

    fn reach(&self, flight: &mut Flight, at: Position) -> Vec<Wake> {
        self.completed.fetch_max(at, Ordering::AcqRel);
        let due = flight.watchers.extract_if(.., |(position, _)| *position <= at).map(|(_, wake)| wake).collect();
        self.told.notify_all();
        due
    }

    /// Nothing will run again: everything counts as completed.
    pub(crate) fn abandon(&self) -> Vec<Wake> {
        let _one = self.ending.lock();
        let mut flight = self.flight.lock();
        let entries = std::mem::take(&mut flight.entries);
        self.count.store(0, Ordering::Release);
        let due = self.reach(&mut flight, Position::MAX);
        drop(flight);
        // wgpu's objects are dropped with no lock held.
        drop(entries);
        due
    }

    /// Calls `wake` at once or when `at` completes.
    pub(crate) fn notify(&self, at: Position, wake: Wake) {
        let mut flight = self.flight.lock();
        if self.completed() >= at {
            drop(flight);
            return wake();
        }
        flight.watchers.push((at, wake));
    }

    /// Whether the batch that completes `at` is on its way.
    pub(crate) fn is_under_way(&self, at: Position) -> bool {
        self.flight.lock().entries.back().is_some_and(|entry| entry.last >= at)
    }

    /// Leaves wakes to whoever ends the next batch.
    pub(crate) fn owe(&self, due: Vec<Wake>) {
        self.flight.lock().watchers.extend(due.into_iter().map(|wake| (0, wake)));
    }

    pub(crate) fn oldest(&self) -> Option<wgpu::SubmissionIndex> {
        self.flight.lock().oldest()
    }

    /// Batches that were sent, or are just being sent, and not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Does the host's part of every batch that is over, in order. Who wants to know is in the answer: to be called with no lock held.
    #[must_use]
    pub(crate) fn end_batches(&self, shared: &Shared) -> Vec<Wake> {
        let _one = self.ending.lock();
        let mut due = Vec::new();
        loop {
            let load = {
                let mut flight = self.flight.lock();
                match flight.entries.front_mut().and_then(|entry| entry.sent.as_mut()) {
                    Some(sent) if sent.is_over() => sent.load.take(),
                    _ => return due,
                }
            };
            // Somebody else has taken it and panicked: it may not have landed, so its position does not complete before the end of the device does that.
            let Some(load) = load else { return due };
            if let Err(panic) = survive(|| self.land(shared, load)) {
                let _ = shared.lose("PANIC", format!("the device panicked while it brought read bytes to their places: {panic}"));
                return due;
            }
            let mut flight = self.flight.lock();
            let Some(entry) = flight.entries.pop_front() else { return due };
            self.count.store(flight.entries.len(), Ordering::Release);
            due.append(&mut self.reach(&mut flight, entry.last));
        }
    }

    fn land(&self, shared: &Shared, load: Load) {
        let Load { batch, uploads, uniforms, downloads, proof, refused } = load;
        let mapped = |state: &Arc<AtomicU64>| state.load(Ordering::Acquire) == MAPPED;
        let failed = |position: Position, name: &str, message: &str| {
            let cause = LateCause::Driver { code: 0, name: name.into(), message: message.into() };
            LateFailure { position, cause }
        };
        let mut late: Vec<_> = refused.iter().map(|refused| failed(refused.position, refused.name, &refused.message)).collect();
        let holds = |(state, proof)| shared.proofs.as_ref().is_none_or(|proofs| proofs.holds(proof, mapped(&state)));
        let unproven = match proof.map(|proof| proof.map(holds)) {
            None | Some(Ok(true)) => None,
            Some(Ok(false)) => Some(("ABORTED", "the driver has ended the batch before it was over".to_owned())),
            Some(Err(error)) => {
                Some(("UNPROVEN", format!("the batch may have run, or been ended by the driver before it was over: {error}")))
            }
        };
        // Bytes that did not arrive must not be taken for those that were asked for.
        let mut arrived = || downloads.iter().all(mapped) && self.deliver(shared, &batch, &refused, &mut late).is_some();
        let unmapped = || (!arrived()).then(|| ("MAP", "memory for reads cannot be mapped".to_owned()));
        if let Some((name, message)) = unproven.or_else(unmapped) {
            // Those that were refused have their reason.
            let ran = batch.positions.iter().filter(|at| refused.iter().all(|refused| refused.position != **at));
            late.extend(ran.map(|at| failed(*at, name, &message)));
        }
        if !late.is_empty() {
            // What failed first is the cause of what derives from it.
            late.sort_by_key(|failure| failure.position);
            self.late.lock().append(&mut late);
        }
        if let Some(newest) = refused.iter().map(|refused| refused.position).max() {
            self.refused.store(newest, Ordering::Release);
        }
        shared.staging.give_list(batch.commands);
        batch.seen.into_iter().for_each(|seen| shared.stamps.give(seen.clock));
        for (chunk, state) in batch.uploads.into_iter().zip(&uploads) {
            shared.staging.give_upload(chunk, mapped(state));
        }
        for (chunk, state) in batch.uniforms.into_iter().zip(&uniforms) {
            let id = chunk.id;
            if !shared.staging.give_uniform(chunk, mapped(state)) {
                shared.forget(own_id(id));
            }
        }
        for (chunk, state) in batch.downloads.into_iter().zip(&downloads) {
            let mapped = mapped(state);
            if mapped {
                chunk.buffer.unmap();
            }
            shared.staging.give_download(chunk, mapped);
        }
    }

    /// Brings what was read, and what launches reported, to its place. `None`: some of it is not there.
    fn deliver(&self, shared: &Shared, batch: &Batch, refused: &[Refused], late: &mut Vec<LateFailure>) -> Option<()> {
        let ran = |position| refused.iter().all(|refused| refused.position != position);
        let mut landings = batch.landings.iter().filter(|landing| ran(landing.position));
        landings.try_for_each(|landing| land_bytes(landing, &batch.downloads))?;
        for seen in batch.seen.iter().filter(|seen| ran(seen.position)) {
            let end = seen.start + seen.clock.bytes();
            let view = batch.downloads.get(seen.chunk)?.buffer.get_mapped_range(seen.start..end).ok()?;
            shared.stamps.note(&seen.clock.looks, &view, shared.gpu.tick());
        }
        // Where the beginning of a launch was refused, nothing zeroed the record for it: it still has what another launch reported.
        let before = self.refused.load(Ordering::Acquire);
        let mut told = batch.told.iter().filter(|told| ran(told.position) && told.position != before);
        told.try_for_each(|told| self.hear(told, &batch.downloads, late))
    }

    /// What a launch reported.
    fn hear(&self, told: &Told, chunks: &[Download], late: &mut Vec<LateFailure>) -> Option<()> {
        let end = told.start + told.size.next_multiple_of(4);
        let view = chunks.get(told.chunk)?.buffer.get_mapped_range(told.start..end).ok()?;
        // Of a replay the first node is told, in whatever batch the others come.
        if let Some(violation) = told.reports.violation(&view)
            && self.violated.swap(told.position, Ordering::AcqRel) != told.position
        {
            let cause = out_of_bounds(violation);
            let cause = if let Some(node) = told.node { cause.of_node(node) } else { cause };
            late.push(LateFailure { position: told.position, cause });
        }
        let output = told.reports.printed(&view);
        if !output.lines.is_empty() || output.lost > 0 {
            self.printed.lock().push(Printed { position: told.position, node: told.node, output });
        }
        Some(())
    }
}

fn out_of_bounds(found: compute_hal::kernel::lower::Violation) -> LateCause {
    let compute_hal::kernel::lower::Violation { location, index, length, invocation, what } = found;
    LateCause::OutOfBounds { location, index, length, invocation, what }
}

/// Moves read bytes to their place.
fn land_bytes(landing: &Landing, chunks: &[Download]) -> Option<()> {
    let size = (landing.skip + landing.size).next_multiple_of(4) as u64;
    let view = chunks.get(landing.chunk)?.buffer.get_mapped_range(landing.start..landing.start + size).ok()?;
    let bytes = view.get(landing.skip..landing.skip + landing.size)?;
    landing.at.checked_add(landing.size).filter(|end| *end <= landing.into.size())?;
    // SAFETY: the target is writable for its size until the position of the read completes, which happens after this; the bytes end within it.
    unsafe { copy(bytes.as_ptr(), landing.into.pointer().add(landing.at), bytes.len()) }
    Some(())
}

/// Waits for a submission, or has a look. An error is the end of the device.
///
/// Never with a time-out: a wait that ends without its submission being over panics in wgpu 30 when another thread has meanwhile put the submission away.
pub(crate) fn poll(shared: &Shared, index: Option<wgpu::SubmissionIndex>) -> Result<(), FaultCause> {
    let waits = index.is_some();
    match survive(|| shared.gpu.device().poll(how(index, shared.waits))) {
        Err(panic) => _ = shared.lose("PANIC", format!("wgpu panicked while it was polled: {panic}")),
        // Work that will never be over.
        Ok(Err(error)) => _ = shared.lose("WAIT", format!("a wait for work that was submitted ended before that: {error}")),
        Ok(Ok(status)) if waits && !shared.waits && !status.is_queue_empty() => std::thread::sleep(PAUSE),
        Ok(Ok(_)) => {}
    }
    shared.fault().map_or(Ok(()), Err)
}

/// How long a thread sleeps between two looks whose wait is not left to wgpu. Whoever waits comes again.
const PAUSE: Duration = Duration::from_millis(1);

/// How wgpu is polled by who waits for a submission, or for none.
pub(crate) fn how(index: Option<wgpu::SubmissionIndex>, waits: bool) -> wgpu::PollType {
    match index.filter(|_| waits) {
        Some(index) => wgpu::PollType::Wait { submission_index: Some(index), timeout: None },
        None => wgpu::PollType::Poll,
    }
}
