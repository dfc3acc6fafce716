//! The one queue: regions and ids become recorded work, batches are submitted, and a thread sees to it that both happens without anybody waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use compute_hal::{
    DeviceError, HostSource, HostTarget, LateFailure, Launch, Pitched, Position, Printed, Queue, QueueId, Region, Waited, exit,
};
use parking_lot::{Mutex, MutexGuard};

use crate::batch::{Recorder, Resource};
use crate::commands::Groupings;
use crate::device::Shared;
use crate::flight::{Entry, Progress, Wake, poll, submit};
use crate::launches::own;
use crate::memory::{Block, Span, create};
use crate::moves::{self, Own, PIECE};
use crate::staging::{DOWNLOAD_MOST, UPLOAD, Upload};

/// Commands in a batch while the device has nothing to do, and while it has.
const SOON: usize = 64;
const LATER: usize = 1024;
/// Bytes for the host in a batch.
const MOST_FETCHED: u64 = 64 << 20;
/// Batches under way while an operation of many batches goes on.
pub(crate) const PARTS: usize = 8;
/// How long a batch stays open that nobody waits for.
const AGE: Duration = Duration::from_micros(300);
/// How long a thread sleeps before it looks again whether it was told.
const SLICE: Duration = Duration::from_millis(20);

/// A queue as its handles and its thread share it.
pub(crate) struct Lane {
    id: QueueId,
    pub(crate) shared: Arc<Shared>,
    recorder: Mutex<Recorder>,
    progress: Progress,
    /// Threads that wait inside wgpu: while there is one, the queue's own thread leaves it to them.
    waiting: AtomicU32,
    /// Where an indirect grid is put once it is checked.
    pub(crate) grid: wgpu::Buffer,
    pub(crate) grid_id: u64,
}

pub(crate) struct WgpuQueue {
    lane: Arc<Lane>,
}

impl WgpuQueue {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        Self { lane }
    }
}

#[cfg(test)]
impl WgpuQueue {
    /// A launch whose first slice is refused.
    pub(crate) fn break_first_slice(&self, at: Position, launch: &Launch<'_>) {
        let made = self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            recorder.copy((&lane.grid, 0), (&lane.grid, 0), 4);
            lane.launch_kernel(recorder, at, launch)
        });
        assert!(made.is_ok());
    }

    /// What comes of handing a block out whose buffer is gone.
    pub(crate) fn hand_out_what_is_gone(&self, region: Region) -> Result<(), DeviceError> {
        let block = self.lane.shared.memory.span(region)?.block;
        // Makes the bind group, which could not be made later; it is found again with the same chunk of uniform bytes.
        self.lane.hand_out(&block)?;
        while self.lane.end_oldest()? {}
        block.buffer.destroy();
        self.lane.hand_out(&block)
    }

    /// Batches under way.
    pub(crate) fn under_way(&self) -> usize {
        self.lane.progress.under_way()
    }

    /// One batch: a fill of `block` with nines, work that wgpu refuses and a read of `block`, at three positions, and a read that is refused along with its position.
    pub(crate) fn break_batch(&self, [fill, refused, read, lost]: [Position; 4], block: Region, into: [&HostTarget; 2]) {
        let made = self.lane.record(lost, |lane, recorder| {
            let span = lane.shared.memory.span(block)?;
            lane.fill_bytes(recorder, fill, &span, &[9])?;
            lane.touch(recorder, refused);
            recorder.copy((&lane.grid, 0), (&lane.grid, 0), 4);
            lane.read_bytes(recorder, read, &span, into[0])?;
            lane.touch(recorder, lost);
            recorder.copy((&lane.grid, 0), (&lane.grid, 0), 4);
            lane.read_bytes(recorder, lost, &span, into[1])
        });
        assert!(made.is_ok());
    }
}

impl Drop for WgpuQueue {
    fn drop(&mut self) {
        self.lane.flush();
        self.lane.progress.flight.lock().closing = true;
        self.lane.progress.work.notify_one();
    }
}

fn wake_all(due: Vec<Wake>) {
    due.into_iter().for_each(|wake| wake());
}

impl Lane {
    pub(crate) fn start(id: QueueId, shared: Arc<Shared>) -> Result<Arc<Self>, DeviceError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT;
        let grid = create(shared.gpu.device(), "grid", 16, usage, false)?;
        let grid_id = shared.next_id();
        exit::register();
        let lane = Arc::new(Self {
            id,
            shared,
            recorder: Mutex::default(),
            progress: Progress::default(),
            waiting: AtomicU32::new(0),
            grid,
            grid_id,
        });
        let own = Arc::clone(&lane);
        let thread = std::thread::Builder::new().name("compute-wgpu".into()).spawn(move || own.live());
        thread.map(|_| lane).map_err(|error| DeviceError::Driver {
            call: "spawn",
            code: error.raw_os_error().unwrap_or_default().into(),
            name: "THREAD".into(),
            message: error.to_string(),
        })
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.progress.flight.lock().closing
    }

    /// Has the queue's thread look at the device's fault.
    pub(crate) fn look(&self) {
        self.progress.work.notify_one();
    }

    /// Lets go of what holds a block or kernel that is gone.
    pub(crate) fn forget(&self, id: u64) {
        self.recorder.lock().groups.forget(id);
    }

    /// The thread. It may hold the last handle of the device, which goes inside a driver, too.
    fn live(self: Arc<Self>) {
        self.attend();
        let host = self.shared.gpu.host();
        let inside = exit::inside();
        drop(self);
        drop(inside);
        // Told with no lock held.
        drop(host);
    }

    /// The thread's work: submits batches that nobody else does, ends those that are over.
    fn attend(&self) {
        while self.shared.fault().is_none() {
            let inside = exit::inside();
            if let Some(oldest) = self.progress.oldest() {
                if self.waiting.load(Ordering::Relaxed) > 0 {
                    drop(inside);
                    self.listen(SLICE, Position::MAX);
                    continue;
                }
                let _ = poll(&self.shared, Some(oldest));
                let due = self.progress.end_batches(&self.shared);
                if self.progress.oldest().is_none() || self.is_overdue() {
                    self.flush();
                }
                drop(inside);
                wake_all(due);
                continue;
            }
            drop(inside);
            let mut flight = self.progress.flight.lock();
            if !flight.entries.is_empty() {
                continue;
            }
            if !flight.open {
                if flight.closing {
                    drop(flight);
                    break;
                }
                // A fault is seen by somebody who tells this thread, or at the next look.
                self.progress.work.wait_for(&mut flight, Duration::from_millis(500));
                continue;
            }
            drop(flight);
            std::thread::sleep(AGE);
            let _inside = exit::inside();
            self.flush();
        }
        let inside = exit::inside();
        let due = self.progress.abandon();
        drop(inside);
        wake_all(due);
    }

    fn is_overdue(&self) -> bool {
        self.recorder.try_lock().is_some_and(|recorder| recorder.opened.is_some_and(|opened| opened.elapsed() > AGE))
    }

    fn flush(&self) {
        let mut recorder = self.recorder.lock();
        let _ = self.submit_batch(&mut recorder);
    }

    /// Sends what is recorded.
    pub(crate) fn submit_batch(&self, recorder: &mut Recorder) -> Result<(), DeviceError> {
        if let Some(entry) = self.send(recorder)? {
            self.progress.push(entry);
        }
        Ok(())
    }

    /// Sends what is recorded, if there is anything; whoever calls this puts the entry in its place.
    fn send(&self, recorder: &mut Recorder) -> Result<Option<Entry>, DeviceError> {
        if recorder.opened.take().is_none() {
            return self.shared.well().map(|()| None);
        }
        // Without memory for it there are no times to tell.
        let _ = recorder.tell(&self.shared);
        let batch = std::mem::take(&mut recorder.batch);
        // In the midst of an operation the next batch is not behind this one.
        recorder.batch.last = batch.last;
        submit(&self.shared, batch).map(Some).inspect_err(|_| {
            self.progress.work.notify_one();
        })
    }

    /// Records work at `at`.
    fn record(
        &self,
        at: Position,
        work: impl FnOnce(&Self, &mut MutexGuard<'_, Recorder>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.shared.well()?;
        let mut recorder = self.recorder.lock();
        let done = work(self, &mut recorder);
        recorder.close(&self.shared, at);
        let idle = self.progress.oldest().is_none();
        let full = recorder.batch.commands.len() >= if idle { SOON } else { LATER } || recorder.batch.fetched >= MOST_FETCHED;
        if done.is_ok() && full {
            return self.submit_batch(&mut recorder);
        }
        done
    }

    /// To be called before anything is recorded for a position, and after each submission in its midst.
    pub(crate) fn touch(&self, recorder: &mut Recorder, at: Position) {
        if recorder.touch(at) {
            self.progress.flight.lock().open = true;
            self.progress.work.notify_one();
        }
    }

    /// Waits for the oldest batch that is under way; whether there is one. To be called with more to come: who wants to know is told with a later batch.
    fn end_oldest(&self) -> Result<bool, DeviceError> {
        let Some(oldest) = self.progress.oldest() else { return Ok(false) };
        poll(&self.shared, Some(oldest)).map_err(DeviceError::Lost)?;
        let due = self.progress.end_batches(&self.shared);
        // Not from here, where a lock is held: the queue's thread takes them along.
        self.progress.owe(due);
        Ok(true)
    }

    /// Submits in the midst of an operation that is many batches long, once few enough are under way.
    pub(crate) fn submit_part(&self, recorder: &mut Recorder, at: Position) -> Result<(), DeviceError> {
        self.submit_batch(recorder)?;
        self.touch(recorder, at);
        while self.progress.under_way() > PARTS && self.end_oldest()? {}
        Ok(())
    }

    /// Memory for a write with at least one byte left.
    fn upload<'r>(&self, recorder: &'r mut Recorder, at: Position) -> Result<&'r mut Upload, DeviceError> {
        let full = recorder.batch.uploads.last().is_none_or(|chunk| chunk.left() < 16);
        if full {
            let chunk = loop {
                if let Some(chunk) = self.shared.staging.upload(self.shared.gpu.device())? {
                    break chunk;
                }
                // All that there may be is under way: an earlier batch has to end first.
                self.submit_batch(recorder)?;
                self.touch(recorder, at);
                if !self.end_oldest()? {
                    return Err(DeviceError::OutOfMemory { asked: UPLOAD, free: 0 });
                }
            };
            recorder.batch.uploads.push(chunk);
        }
        recorder.batch.uploads.last_mut().ok_or_else(|| DeviceError::Internal("no memory for a write".into()))
    }

    fn write_bytes(&self, recorder: &mut Recorder, at: Position, to: &Span, bytes: &[u8]) -> Result<(), DeviceError> {
        let (head, middle, tail) = cut(to.offset, bytes);
        let mut offset = to.offset;
        for part in [head, middle, tail] {
            let span = Span { block: Arc::clone(&to.block), offset, size: part.len() as u64 };
            offset += part.len() as u64;
            if part.len() >= 4 {
                self.write_words(recorder, at, &span, part)?;
            } else if !part.is_empty() {
                self.fill_bytes(recorder, at, &span, part)?;
            }
        }
        Ok(())
    }

    fn write_words(&self, recorder: &mut Recorder, at: Position, to: &Span, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut rest = bytes;
        let mut offset = to.offset;
        while !rest.is_empty() {
            self.touch(recorder, at);
            let chunk = self.upload(recorder, at)?;
            let size = usize::try_from(chunk.left() & !7).unwrap_or_default().min(rest.len());
            let Some((now, later)) = rest.split_at_checked(size) else { break };
            let Some(start) = chunk.put(0, now)? else {
                return Err(DeviceError::Internal("a write does not fit its chunk".into()));
            };
            let staging = chunk.buffer.clone();
            recorder.copy((&staging, start), (&to.block.buffer, offset), size as u64);
            rest = later;
            offset += size as u64;
        }
        Ok(())
    }

    /// Fills with a pattern whose length divides 16, or with bytes of which none is repeated.
    fn fill_bytes(&self, recorder: &mut Recorder, at: Position, to: &Span, pattern: &[u8]) -> Result<(), DeviceError> {
        let zeros = pattern.iter().all(|byte| *byte == 0);
        if zeros && to.offset.is_multiple_of(4) && to.size.is_multiple_of(4) {
            self.touch(recorder, at);
            recorder.clear(&to.block.buffer, to.offset, to.size);
            return Ok(());
        }
        let repeated: Vec<u8> = pattern.iter().copied().cycle().take(16).collect();
        let kernel = self.shared.own(Own::Fill)?;
        let mut done = 0;
        while done < to.size {
            let size = (to.size - done).min(self.piece());
            let bound = self.bound(&to.block, to.offset + done, size);
            let mut parameters = moves::bytes(&[bound.lead, size as u32, 0, 0]);
            // A piece begins with the pattern: its length is a multiple of 16.
            parameters.extend_from_slice(&repeated);
            self.touch(recorder, at);
            let resources = [bound.resource(), Resource::Bytes(&parameters)];
            let grid = Groupings::Direct(moves::grid(moves::words(size)));
            recorder.launch(&self.shared, at, &own(&kernel, &resources, grid))?;
            done += size;
        }
        Ok(())
    }

    /// Makes wgpu take a block as written everywhere: it clears what it has not seen written at its first use, which may come after others have written there.
    pub(crate) fn hand_out(&self, block: &Arc<Block>) -> Result<(), DeviceError> {
        self.shared.well()?;
        let mut recorder = self.recorder.lock();
        // A batch by itself, as it has no position of its own: that it is refused must not be said of somebody else's.
        self.submit_batch(&mut recorder)?;
        let used = self.use_whole(&mut recorder, block);
        let Some(mut entry) = self.send(&mut recorder)? else { return used };
        let refused = entry.take_refused();
        self.progress.push(entry);
        used.and(refused.map_or(Ok(()), Err))
    }

    fn use_whole(&self, recorder: &mut Recorder, block: &Arc<Block>) -> Result<(), DeviceError> {
        let kernel = self.shared.own(Own::Fill)?;
        let (at, whole, most) = (recorder.last, block.buffer.size(), self.piece());
        for offset in (0..whole).step_by(usize::try_from(most).unwrap_or(usize::MAX)) {
            let bound = self.bound(block, offset, most.min(whole - offset));
            // Bound, and nothing written: a fill of no bytes.
            let nothing = moves::bytes(&[0; 8]);
            self.touch(recorder, at);
            let resources = [bound.resource(), Resource::Bytes(&nothing)];
            recorder.launch(&self.shared, at, &own(&kernel, &resources, Groupings::Direct([1, 1, 1])))?;
        }
        Ok(())
    }

    /// Moves rows of bytes with a kernel.
    fn move_rows(&self, recorder: &mut Recorder, at: Position, copy: &Rows) -> Result<(), DeviceError> {
        if copy.width == 0 {
            return Ok(());
        }
        let kernel = self.shared.own(Own::Move)?;
        // As many rows at once as a piece holds; a row that is longer goes in pieces of its own.
        let pitch = copy.from_pitch.max(copy.to_pitch).max(1);
        let (rows_at_once, width_at_once) = match self.piece().saturating_sub(copy.width) / pitch {
            _ if copy.width > self.piece() => (1, self.piece()),
            more => (more + 1, copy.width),
        };
        let mut row = 0;
        while row < copy.rows {
            let rows = rows_at_once.min(copy.rows - row);
            let mut column = 0;
            while column < copy.width {
                let width = width_at_once.min(copy.width - column);
                let spread = |pitch: u64| (rows - 1) * pitch + width;
                let from =
                    self.bound(&copy.from.block, copy.from.offset + row * copy.from_pitch + column, spread(copy.from_pitch));
                let to = self.bound(&copy.to.block, copy.to.offset + row * copy.to_pitch + column, spread(copy.to_pitch));
                let words = moves::words(width);
                // With one row the pitch does not matter, and may be too large for a word.
                let narrow = |pitch: u64| if rows > 1 { pitch as u32 } else { 0 };
                let numbers = [
                    from.lead,
                    to.lead,
                    width as u32,
                    rows as u32,
                    narrow(copy.from_pitch),
                    narrow(copy.to_pitch),
                    words as u32,
                    0,
                ];
                let parameters = moves::bytes(&numbers);
                self.touch(recorder, at);
                let resources = [from.resource(), to.resource(), Resource::Bytes(&parameters)];
                let grid = Groupings::Direct(moves::grid(words * rows));
                recorder.launch(&self.shared, at, &own(&kernel, &resources, grid))?;
                column += width;
            }
            row += rows;
        }
        Ok(())
    }

    /// Bytes that one launch of the kernels of our own binds at most; a multiple of 16.
    fn piece(&self) -> u64 {
        // What is bound begins earlier, at an alignment, and ends later, at a word.
        let most = self.shared.limits.binding_size.saturating_sub(2 * u64::from(self.shared.limits.storage_alignment));
        (most & !15).min(PIECE)
    }

    /// Any range of bytes as a binding, and how far it begins before them.
    pub(crate) fn bound<'b>(&self, block: &'b Arc<Block>, offset: u64, size: u64) -> Bound<'b> {
        let alignment = u64::from(self.shared.limits.storage_alignment);
        let first = offset - offset % alignment;
        Bound {
            block: block.id,
            buffer: &block.buffer,
            offset: first,
            size: (offset - first + size).next_multiple_of(4),
            lead: (offset - first) as u32,
        }
    }

    fn read_bytes(&self, recorder: &mut Recorder, at: Position, from: &Span, into: &HostTarget) -> Result<(), DeviceError> {
        let mut done = 0;
        while done < from.size {
            let size = (from.size - done).min(DOWNLOAD_MOST - 16);
            let span = Span { block: Arc::clone(&from.block), offset: from.offset + done, size };
            self.touch(recorder, at);
            recorder.fetch(&self.shared, &span, into, usize::try_from(done).unwrap_or_default())?;
            done += size;
        }
        self.touch(recorder, at);
        Ok(())
    }

    /// Submits what a wait for `at` needs.
    fn submit_for(&self, at: Position) {
        if self.progress.completed() >= at || self.progress.submission_of(at).is_some() {
            return;
        }
        self.flush();
    }

    fn wait_until(&self, at: Position, deadline: Option<Instant>) -> Result<Waited, DeviceError> {
        loop {
            if let Some(cause) = self.shared.fault() {
                wake_all(self.progress.abandon());
                return Err(DeviceError::Lost(cause));
            }
            wake_all(self.progress.end_batches(&self.shared));
            if self.progress.completed() >= at {
                return Ok(Waited::Done);
            }
            // With a time-out the queue's thread is inside wgpu, and tells: see `poll`.
            let submission = if deadline.is_none() { self.progress.submission_of(at) } else { None };
            if let Some(submission) = submission {
                let _ = poll(&self.shared, Some(submission));
                continue;
            }
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
            if left.is_zero() {
                return Ok(Waited::TimedOut);
            }
            self.listen(left, at);
        }
    }

    /// Waits until somebody ends a batch, for that long at most.
    fn listen(&self, most: Duration, at: Position) {
        let mut flight = self.progress.flight.lock();
        if self.progress.completed() < at && !flight.front_is_over() {
            self.progress.told.wait_for(&mut flight, most);
        }
    }
}

/// A range that a kernel of our own binds.
pub(crate) struct Bound<'b> {
    block: u64,
    buffer: &'b wgpu::Buffer,
    offset: u64,
    size: u64,
    pub(crate) lead: u32,
}

impl<'b> Bound<'b> {
    pub(crate) fn resource(&self) -> Resource<'b> {
        Resource::Storage { block: self.block, buffer: self.buffer, offset: self.offset, size: self.size }
    }
}

/// Rows to be moved.
struct Rows {
    from: Span,
    to: Span,
    width: u64,
    rows: u64,
    from_pitch: u64,
    to_pitch: u64,
}

/// Bytes up to the first word, whole words, the rest.
fn cut(offset: u64, bytes: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let lead = (offset.next_multiple_of(4) - offset) as usize;
    let (head, rest) = bytes.split_at(lead.min(bytes.len()));
    let (middle, tail) = rest.split_at(rest.len() & !3);
    (head, middle, tail)
}

impl Queue for WgpuQueue {
    fn id(&self) -> QueueId {
        self.lane.id
    }

    fn launch(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.lane.record(at, |lane, recorder| lane.launch_kernel(recorder, at, launch))
    }

    fn copy(&self, at: Position, from: Region, to: Region) -> Result<(), DeviceError> {
        let (from, to) = (self.lane.shared.memory.span(from)?, self.lane.shared.memory.span(to)?);
        self.lane.record(at, |lane, recorder| {
            let words = [from.offset, to.offset, from.size].iter().all(|n| n.is_multiple_of(4));
            if words && from.size > 0 && from.block.id != to.block.id {
                lane.touch(recorder, at);
                recorder.copy((&from.block.buffer, from.offset), (&to.block.buffer, to.offset), from.size);
                return Ok(());
            }
            lane.touch(recorder, at);
            let (width, rows) = (from.size, 1);
            lane.move_rows(recorder, at, &Rows { from, to, width, rows, from_pitch: 0, to_pitch: 0 })
        })
    }

    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        let (from, to) = (self.lane.shared.memory.span(copy.from)?, self.lane.shared.memory.span(copy.to)?);
        let Pitched { width, rows, from_pitch, to_pitch, .. } = *copy;
        self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            lane.move_rows(recorder, at, &Rows { from, to, width, rows, from_pitch, to_pitch })
        })
    }

    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError> {
        let to = self.lane.shared.memory.span(to)?;
        self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            if to.size == 0 { Ok(()) } else { lane.fill_bytes(recorder, at, &to, pattern) }
        })
    }

    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.lane.shared.memory.span(to)?;
        self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            lane.write_bytes(recorder, at, &to, bytes)
        })
    }

    fn write_borrowed(&self, at: Position, to: Region, bytes: HostSource) -> Result<(), DeviceError> {
        // SAFETY: whoever made the source vouched that it is readable, and not written, until `at` completes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.pointer(), bytes.size()) };
        self.write(at, to, bytes)
    }

    fn read(&self, at: Position, from: Region, into: HostTarget) -> Result<(), DeviceError> {
        let from = self.lane.shared.memory.span(from)?;
        self.lane.record(at, |lane, recorder| lane.read_bytes(recorder, at, &from, &into))
    }

    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        // There is one queue: whatever another's handle named is over.
        if queue == self.lane.id && position > self.lane.recorder.lock().last {
            return Err(DeviceError::Internal("a queue that waits for its own future".into()));
        }
        Ok(())
    }

    fn mark(&self, at: Position) {
        let mut recorder = self.lane.recorder.lock();
        recorder.last = recorder.last.max(at);
        if recorder.opened.is_some() {
            recorder.close(&self.lane.shared, at);
            return;
        }
        let due = self.lane.progress.mark(at);
        drop(recorder);
        wake_all(due);
    }

    fn submit(&self) -> Result<(), DeviceError> {
        self.lane.submit_batch(&mut self.lane.recorder.lock())
    }

    fn completed(&self) -> Position {
        self.lane.progress.completed()
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        let lane = &self.lane;
        if lane.progress.completed() >= at {
            return Ok(Waited::Done);
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        lane.submit_for(at);
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            let _ = poll(&lane.shared, None);
        }
        let inside = u32::from(deadline.is_none());
        lane.waiting.fetch_add(inside, Ordering::Relaxed);
        let waited = lane.wait_until(at, deadline);
        lane.waiting.fetch_sub(inside, Ordering::Relaxed);
        waited
    }

    fn take_late(&self) -> Vec<LateFailure> {
        self.lane.progress.take_late()
    }

    fn take_printed(&self) -> Vec<Printed> {
        self.lane.progress.take_printed()
    }

    fn stamp(&self, at: Position) -> Result<(), DeviceError> {
        self.lane.shared.well()?;
        if !self.lane.shared.looks {
            return Err(DeviceError::Unsupported("timestamps on a device that was not opened for them"));
        }
        let mut recorder = self.lane.recorder.lock();
        recorder.look = Some(at);
        self.lane.touch(&mut recorder, at);
        Ok(())
    }

    fn timestamp(&self, at: Position) -> Option<u64> {
        self.lane.shared.stamps.at(at)
    }

    fn notify(&self, at: Position, wake: Box<dyn FnOnce() + Send>) {
        self.lane.progress.notify(at, wake);
    }
}
