//! The one queue: regions and ids become recorded work. When it is sent, and who waits for it, is in `sending`.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use compute_hal::movers::copy;
use compute_hal::{
    DeviceError, GraphId, HostSource, HostTarget, LateFailure, Launch, Pitched, Position, Printed, Queue, QueueId, Region, Waited,
};
use parking_lot::{Mutex, MutexGuard};

use crate::batch::{Recorder, Resource};
use crate::commands::Groupings;
use crate::device::Shared;
use crate::exit;
use crate::flight::Progress;
use crate::launches::own;
use crate::memory::{Block, Span, WORD, create};
use crate::moves::{self, Own, PIECE};
use crate::sending::{PARTS, wake_all};
use crate::staging::{DOWNLOAD_MOST, UNIFORMS, UPLOAD, Upload};

/// Commands in a batch that the queue's thread is to send, while the device has nothing to do, and while it has.
const SOON: usize = 64;
const MEANWHILE: usize = 256;
/// Commands in a batch that whoever recorded the last one sends, as the queue's thread has not come to it.
const LATER: usize = 1024;
/// Bytes for the host in a batch: a part of what they may be in all, so that the host takes those of one batch to their places while the device copies those of the next.
const MOST_FETCHED: u64 = DOWNLOAD_MOST;
/// Chunks of uniform bytes in a batch, a part likewise.
const MOST_UNIFORMS: usize = UNIFORMS / 4;
/// Batches under way at most: more work waits until one of them is over, so that none of what a batch takes grows with how far the host is ahead (MEM-09).
const MOST_AHEAD: usize = 64;
/// Bytes that the host fills by itself at most, where it can: more than that the device fills faster.
const FILLED_HERE: u64 = 256 << 10;
/// Bytes of a read that the host copies within the call at most, where nobody has said that he waits. A write has no such bound: its bytes are copied within the call
/// in any case, and this is the shorter way.
const READ_HERE: u64 = 1 << 20;
/// A queue as its handles and its thread share it.
pub(crate) struct Lane {
    id: QueueId,
    recorder: Mutex<Recorder>,
    /// Held by the one who sends a batch. Taken with the recorder held, which may be given back before this is.
    pub(crate) sending: Mutex<()>,
    pub(crate) progress: Progress,
    /// Blocks and kernels that are gone, and that bind groups may still hold.
    gone: Mutex<Vec<u64>>,
    any_gone: AtomicBool,
    /// Where an indirect grid is put once it is checked.
    pub(crate) grid: Arc<Block>,
    /// Goes last: a buffer that went later would be what destroys the device, outside of its turn.
    pub(crate) shared: Arc<Shared>,
}

/// The recorder, in somebody's hands. What goes while it is there could not be let go of, so whoever gives it back looks.
pub(crate) struct Held<'a> {
    recorder: ManuallyDrop<MutexGuard<'a, Recorder>>,
    lane: &'a Lane,
}

impl Deref for Held<'_> {
    type Target = Recorder;
    fn deref(&self) -> &Recorder {
        &self.recorder
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

impl Held<'_> {
    /// Does something that may wait for the device with the recorder given back: others send what is recorded meanwhile, or let go of what has gone. Nobody records, as
    /// calls on a queue come one after another.
    fn apart<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let lane = self.lane;
        MutexGuard::unlocked(&mut self.recorder, || {
            lane.let_go_if_free();
            wait()
        })
    }

    /// Sends what is recorded, in the midst of what somebody records. Drivers may take long over it while the device is busy.
    fn submit_apart(&mut self) -> Result<(), DeviceError> {
        let lane = self.lane;
        let Some((batch, turn)) = lane.take(self) else { return lane.shared.well() };
        self.apart(|| {
            let sent = lane.send(batch)?;
            lane.progress.sent(sent);
            drop(turn);
            Ok(())
        })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.recorder) };
        self.lane.let_go_if_free();
    }
}

pub(crate) struct WgpuQueue {
    lane: Arc<Lane>,
}

impl WgpuQueue {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        Self { lane }
    }
}

impl WgpuQueue {
    /// Copies a span by the host, if it may right now.
    fn read_here(&self, at: Position, from: &Span, into: &HostTarget) -> Result<bool, DeviceError> {
        let Some(memory) = self.lane.at_hand(from)? else { return Ok(false) };
        into.store(&memory);
        self.mark(at);
        Ok(true)
    }
}

#[cfg(test)]
impl WgpuQueue {
    /// A launch whose first slice is refused.
    pub(crate) fn break_first_slice(&self, at: Position, launch: &Launch<'_>) {
        let made = self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            recorder.copy((&lane.grid.buffer, 0), (&lane.grid.buffer, 0), 4);
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

    /// A fill with nines by the device, even where the host could do it.
    pub(crate) fn use_on_device(&self, at: Position, block: Region) {
        let made = self.lane.record(at, |lane, recorder| {
            let span = lane.shared.memory.span(block)?;
            lane.fill_bytes(recorder, at, &span, &[9])
        });
        assert!(made.is_ok());
    }

    /// Notes uses of a block that has to be shown to the host, all in one batch, and sends that; how many buffers it showed after each.
    pub(crate) fn uses_shown(&self, at: Position, block: &Arc<Block>, uses: usize) -> Vec<usize> {
        let mut recorder = self.lane.lock();
        self.lane.touch(&mut recorder, at);
        let mut use_it = |_| {
            recorder.uses(block);
            recorder.batch.shown.len()
        };
        let shown = (0..uses).map(&mut use_it).collect();
        recorder.close(&self.lane.shared, at);
        assert!(self.lane.send_off(recorder).is_ok());
        shown
    }

    /// A block as a GPU has it that shares the host's memory.
    pub(crate) fn shown_block(&self, memory: &HostTarget) -> Arc<Block> {
        let shared = &self.lane.shared;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = create(shared.gpu.device(), "shown", memory.size() as u64, usage, false).ok();
        let host = Some(memory.clone());
        Arc::new(Block::new(shared.next_id(), buffer.expect("a buffer"), memory.size() as u64, host, true))
    }

    /// Frees memory while somebody has the recorder, who gives it back without looking whether something is gone.
    pub(crate) fn free_while_recording(&self, device: &dyn compute_hal::Device, memory: compute_hal::MemoryId) {
        let _recorder = self.lane.recorder.lock();
        device.free(memory);
    }

    /// Whether a bind group holds a block.
    pub(crate) fn holds(&self, memory: compute_hal::MemoryId) -> bool {
        self.lane.recorder.lock().groups.holds_for_test(memory.0)
    }

    /// Bytes of the buffer that kernels report into.
    pub(crate) fn record_size(&self) -> Option<u64> {
        self.lane.recorder.lock().record.as_ref().map(|(_, buffer)| buffer.size())
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
            recorder.copy((&lane.grid.buffer, 0), (&lane.grid.buffer, 0), 4);
            lane.read_bytes(recorder, read, &span, into[0])?;
            lane.touch(recorder, lost);
            recorder.copy((&lane.grid.buffer, 0), (&lane.grid.buffer, 0), 4);
            lane.read_bytes(recorder, lost, &span, into[1])
        });
        assert!(made.is_ok());
    }
}

impl Drop for WgpuQueue {
    fn drop(&mut self) {
        let _ = self.lane.flush();
        self.lane.progress.close();
    }
}

impl Lane {
    pub(crate) fn start(id: QueueId, shared: Arc<Shared>) -> Result<Arc<Self>, DeviceError> {
        let grid = Self::grid(&shared)?;
        exit::register();
        let lane = Arc::new(Self::new(id, shared, grid));
        let own = Arc::clone(&lane);
        let thread = std::thread::Builder::new().name("compute-wgpu".into()).spawn(move || own.live());
        thread.map(|_| lane).map_err(|error| DeviceError::Driver {
            call: "spawn",
            code: error.raw_os_error().unwrap_or_default().into(),
            name: "THREAD".into(),
            message: error.to_string(),
        })
    }

    /// A place for indirect grids.
    pub(crate) fn grid(shared: &Shared) -> Result<Arc<Block>, DeviceError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT;
        let grid = create(shared.gpu.device(), "grid", 16, usage, false)?;
        Ok(Arc::new(Block::new(shared.next_id(), grid, 16, None, false)))
    }

    fn new(id: QueueId, shared: Arc<Shared>, grid: Arc<Block>) -> Self {
        Self {
            id,
            shared,
            recorder: Mutex::default(),
            sending: Mutex::default(),
            progress: Progress::default(),
            gone: Mutex::default(),
            any_gone: AtomicBool::new(false),
            grid,
        }
    }

    /// One to which nothing is ever submitted: it records the nodes of a graph.
    pub(crate) fn apart(shared: &Arc<Shared>, grid: Arc<Block>) -> Self {
        Self::new(QueueId(u32::MAX), Arc::clone(shared), grid)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.progress.is_closing()
    }

    /// Has the queue's thread look at the device's fault.
    pub(crate) fn look(&self) {
        self.progress.work.notify_one();
    }

    /// Lets go of what holds a block or kernel that is gone: at once, or when whoever is recording is done with it.
    pub(crate) fn forget(&self, id: u64) {
        self.gone.lock().push(id);
        self.any_gone.store(true, Ordering::Release);
        self.let_go_if_free();
    }

    fn let_go_if_free(&self) {
        // Again once it is given back: something may have gone meanwhile.
        while self.any_gone.load(Ordering::Acquire)
            && let Some(mut recorder) = self.recorder.try_lock()
        {
            self.let_go(&mut recorder);
        }
    }

    /// The recorder, for as long as what this gives is held.
    pub(crate) fn lock(&self) -> Held<'_> {
        Held { recorder: ManuallyDrop::new(self.recorder.lock()), lane: self }
    }

    pub(crate) fn try_lock(&self) -> Option<Held<'_>> {
        self.recorder.try_lock().map(|recorder| Held { recorder: ManuallyDrop::new(recorder), lane: self })
    }

    pub(crate) fn let_go(&self, recorder: &mut Recorder) {
        // Most of the time nothing is, and to look costs less.
        if self.any_gone.load(Ordering::Acquire) && self.any_gone.swap(false, Ordering::AcqRel) {
            let gone = std::mem::take(&mut *self.gone.lock());
            gone.into_iter().for_each(|id| recorder.groups.forget(id));
        }
    }

    /// Lets go of the buffer that kernels report into, if nobody is recording and no batch is open.
    pub(crate) fn drop_record(&self) {
        if let Some(mut recorder) = self.try_lock()
            && recorder.opened.is_none()
            && let Some((id, _)) = recorder.record.take()
        {
            recorder.groups.forget(id);
        }
    }

    /// The bytes of a span in the host's memory, if the host may use them right now.
    fn at_hand(&self, span: &Span) -> Result<Option<HostTarget>, DeviceError> {
        // Asked before whether the device is well: what a device completes by its end must not look idle.
        let completed = self.progress.completed();
        self.shared.well()?;
        Ok(span.block.at_hand(span.offset, span.size, completed))
    }

    /// Records work at `at`.
    fn record(
        &self,
        at: Position,
        work: impl FnOnce(&Self, &mut Held<'_>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.shared.well()?;
        let mut recorder = self.lock_with_room()?;
        let done = work(self, &mut recorder).map_err(|error| self.shared.or_lost(error));
        recorder.close(&self.shared, at);
        self.let_go(&mut recorder);
        if done.is_ok() && Self::is_full(&recorder, LATER) {
            return self.send_off(recorder);
        }
        let under_way = self.progress.under_way();
        let soon = under_way < PARTS && Self::is_full(&recorder, if under_way == 0 { SOON } else { MEANWHILE });
        drop(recorder);
        if soon {
            // To send is most of the cost of a launch, and not for whoever has more to enqueue.
            self.progress.hand_over();
        }
        done
    }

    /// The recorder, once the host is not too far ahead. It is not held meanwhile.
    fn lock_with_room(&self) -> Result<Held<'_>, DeviceError> {
        while self.progress.under_way() >= MOST_AHEAD || self.shared.staging.lacks_uniforms() {
            self.send_off(self.lock())?;
            if !self.end_oldest()? {
                // Another thread has ended them all meanwhile.
                break;
            }
        }
        Ok(self.lock())
    }

    fn is_full(recorder: &Recorder, commands: usize) -> bool {
        let batch = &recorder.batch;
        batch.commands.work() >= commands || batch.fetched >= MOST_FETCHED || batch.uniforms.len() >= MOST_UNIFORMS
    }

    /// Within a replay: submits what is there if that is much.
    pub(crate) fn submit_if_full(&self, recorder: &mut Recorder, at: Position) -> Result<(), DeviceError> {
        if Self::is_full(recorder, LATER) {
            self.submit_batch(recorder)?;
            self.touch(recorder, at);
        }
        Ok(())
    }

    /// To be called before anything is recorded for a position, and after each submission in its midst.
    pub(crate) fn touch(&self, recorder: &mut Recorder, at: Position) {
        if recorder.touch(at) {
            self.progress.begin();
        }
    }

    /// Memory for a write with at least one byte left.
    fn upload<'r>(&self, recorder: &'r mut Held<'_>, at: Position) -> Result<&'r mut Upload, DeviceError> {
        let full = recorder.batch.uploads.last().is_none_or(|chunk| chunk.left() < 16);
        if full {
            let chunk = loop {
                if let Some(chunk) = self.shared.staging.upload(self.shared.gpu.device())? {
                    break chunk;
                }
                // All that there may be is under way: an earlier batch has to end first.
                recorder.submit_apart()?;
                let ended = recorder.apart(|| self.end_oldest())?;
                self.touch(recorder, at);
                if !ended {
                    // Another thread has ended them all meanwhile, and given their memory back, or there is none.
                    let back = self.shared.staging.upload(self.shared.gpu.device())?;
                    break back.ok_or(DeviceError::OutOfMemory { asked: UPLOAD, free: 0 })?;
                }
            };
            recorder.batch.uploads.push(chunk);
        }
        recorder.batch.uploads.last_mut().ok_or_else(|| DeviceError::Internal("no memory for a write".into()))
    }

    fn write_bytes(&self, recorder: &mut Held<'_>, at: Position, to: &Span, bytes: &[u8]) -> Result<(), DeviceError> {
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

    fn write_words(&self, recorder: &mut Held<'_>, at: Position, to: &Span, bytes: &[u8]) -> Result<(), DeviceError> {
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
            recorder.uses(&to.block);
            recorder.copy((&staging, start), (&to.block.buffer, offset), size as u64);
            rest = later;
            offset += size as u64;
        }
        Ok(())
    }

    /// Fills with a pattern whose length divides 16, or with bytes of which none is repeated.
    pub(crate) fn fill_bytes(&self, recorder: &mut Recorder, at: Position, to: &Span, pattern: &[u8]) -> Result<(), DeviceError> {
        let zeros = pattern.iter().all(|byte| *byte == 0);
        if zeros && to.offset.is_multiple_of(4) && to.size.is_multiple_of(4) {
            self.touch(recorder, at);
            recorder.uses(&to.block);
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
        let mut recorder = self.lock();
        // A batch by itself, as it has no position of its own: that it is refused must not be said of somebody else's.
        self.submit_batch(&mut recorder)?;
        let used = self.use_whole(&mut recorder, block);
        let Some((batch, _turn)) = self.take(&mut recorder) else { return used };
        let mut sent = self.send(batch)?;
        let refused = sent.take_refused();
        self.progress.sent(sent);
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

    /// Copies between two spans of equal size.
    pub(crate) fn copy_bytes(&self, recorder: &mut Recorder, at: Position, from: Span, to: Span) -> Result<(), DeviceError> {
        self.touch(recorder, at);
        let words = [from.offset, to.offset, from.size].iter().all(|n| n.is_multiple_of(4));
        if words && from.size > 0 && from.block.id != to.block.id {
            recorder.uses(&from.block);
            recorder.uses(&to.block);
            recorder.copy((&from.block.buffer, from.offset), (&to.block.buffer, to.offset), from.size);
            return Ok(());
        }
        let (width, rows) = (from.size, 1);
        self.move_rows(recorder, at, &Rows { from, to, width, rows, from_pitch: 0, to_pitch: 0 })
    }

    /// Copies rows.
    pub(crate) fn copy_rows(
        &self,
        recorder: &mut Recorder,
        at: Position,
        [from, to]: [Span; 2],
        copy: &Pitched,
    ) -> Result<(), DeviceError> {
        if copy.rows == 1 {
            return self.copy_bytes(recorder, at, from, to);
        }
        let Pitched { width, rows, from_pitch, to_pitch, .. } = *copy;
        self.touch(recorder, at);
        self.move_rows(recorder, at, &Rows { from, to, width, rows, from_pitch, to_pitch })
    }

    /// Moves rows of bytes with a kernel.
    pub(crate) fn move_rows(&self, recorder: &mut Recorder, at: Position, copy: &Rows) -> Result<(), DeviceError> {
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
        Bound { block, offset: first, size: (offset - first + size).next_multiple_of(4), lead: (offset - first) as u32 }
    }

    fn read_bytes(&self, recorder: &mut Held<'_>, at: Position, from: &Span, into: &HostTarget) -> Result<(), DeviceError> {
        let mut done = 0;
        while done < from.size {
            let offset = from.offset + done;
            // A chunk takes whole words.
            let size = (from.size - done).min(DOWNLOAD_MOST - offset % WORD);
            let span = Span { block: Arc::clone(&from.block), offset, size };
            let words = (offset % WORD + size).next_multiple_of(WORD);
            if recorder.batch.fetched >= MOST_FETCHED {
                recorder.submit_apart()?;
            }
            while self.lacks_room_to_read(recorder, words) {
                recorder.submit_apart()?;
                if !recorder.apart(|| self.end_oldest())? {
                    break;
                }
            }
            self.touch(recorder, at);
            recorder.fetch(&self.shared, &span, into, usize::try_from(done).unwrap_or_default())?;
            done += size;
        }
        self.touch(recorder, at);
        Ok(())
    }

    /// Sends what is recorded if that has enough for the host, and waits for earlier batches while these have all the memory for reads that there may be and `size` bytes
    /// need more. To be called before a position is touched.
    pub(crate) fn room_to_read(&self, recorder: &mut Recorder, size: u64) -> Result<(), DeviceError> {
        if recorder.keeps() {
            return Ok(());
        }
        if recorder.batch.fetched >= MOST_FETCHED {
            self.submit_batch(recorder)?;
        }
        while self.lacks_room_to_read(recorder, size) {
            self.submit_batch(recorder)?;
            if !self.end_oldest()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether an earlier batch has to end before there is room for `size` bytes.
    fn lacks_room_to_read(&self, recorder: &Recorder, size: u64) -> bool {
        let has_room = recorder.batch.downloads.last().is_some_and(|chunk| chunk.has_room(size));
        !has_room && self.shared.staging.lacks_downloads(size)
    }
}

/// A range that a kernel of our own binds.
pub(crate) struct Bound<'b> {
    block: &'b Arc<Block>,
    offset: u64,
    size: u64,
    pub(crate) lead: u32,
}

impl<'b> Bound<'b> {
    pub(crate) fn resource(&self) -> Resource<'b> {
        Resource::Storage { block: self.block, offset: self.offset, size: self.size }
    }
}

/// Rows to be moved.
pub(crate) struct Rows {
    pub(crate) from: Span,
    pub(crate) to: Span,
    pub(crate) width: u64,
    pub(crate) rows: u64,
    pub(crate) from_pitch: u64,
    pub(crate) to_pitch: u64,
}

/// Fills memory that nothing else uses, beginning with the beginning of the pattern.
fn repeat(pattern: &[u8], memory: &HostTarget) {
    // SAFETY: it is writable for its size, and calls on a queue come one after another.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.pointer(), memory.size()) };
    let first = pattern.len().min(bytes.len());
    bytes[..first].copy_from_slice(&pattern[..first]);
    // What is there is copied behind itself, twice as much each time: a pattern is seldom as long as what a processor moves at once.
    let mut done = first;
    while done > 0 && done < bytes.len() {
        let more = done.min(bytes.len() - done);
        bytes.copy_within(..more, done);
        done += more;
    }
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
        self.lane.record(at, |lane, recorder| lane.copy_bytes(recorder, at, from, to))
    }

    fn replay(&self, at: Position, graph: GraphId) -> Result<(), DeviceError> {
        let graph = self.lane.shared.graph(graph)?;
        self.lane.record(at, |lane, recorder| graph.replay(lane, recorder, at))
    }

    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        let (from, to) = (self.lane.shared.memory.span(copy.from)?, self.lane.shared.memory.span(copy.to)?);
        self.lane.record(at, |lane, recorder| lane.copy_rows(recorder, at, [from, to], copy))
    }

    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError> {
        let to = self.lane.shared.memory.span(to)?;
        if to.size <= FILLED_HERE
            && let Some(memory) = self.lane.at_hand(&to)?
        {
            repeat(pattern, &memory);
            self.mark(at);
            return Ok(());
        }
        self.lane.record(at, |lane, recorder| {
            lane.touch(recorder, at);
            if to.size == 0 { Ok(()) } else { lane.fill_bytes(recorder, at, &to, pattern) }
        })
    }

    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.lane.shared.memory.span(to)?;
        if let Some(memory) = self.lane.at_hand(&to)? {
            let size = bytes.len().min(memory.size());
            // SAFETY: nothing uses the block, and nothing will before this call returns: calls on a queue come one after another. It has that many bytes.
            unsafe { copy(bytes.as_ptr(), memory.pointer(), size) };
            self.mark(at);
            return Ok(());
        }
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
        if from.size <= READ_HERE && self.read_here(at, &from, &into)? {
            return Ok(());
        }
        self.lane.record(at, |lane, recorder| lane.read_bytes(recorder, at, &from, &into))
    }

    fn read_at_once(&self, at: Position, from: Region, into: &HostTarget) -> Result<bool, DeviceError> {
        let from = self.lane.shared.memory.span(from)?;
        self.read_here(at, &from, into)
    }

    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        // There is one queue: whatever another's handle named is over.
        if queue == self.lane.id && position > self.lane.lock().last {
            return Err(DeviceError::Internal("a queue that waits for its own future".into()));
        }
        Ok(())
    }

    fn mark(&self, at: Position) {
        let mut recorder = self.lane.lock();
        recorder.last = recorder.last.max(at);
        if recorder.look.is_some_and(|look| look <= at) {
            // What was there when the look was asked for may have been sent since.
            self.lane.touch(&mut recorder, at);
        }
        if recorder.opened.is_some() {
            recorder.close(&self.lane.shared, at);
            return;
        }
        let due = self.lane.progress.mark(at);
        drop(recorder);
        wake_all(&self.lane.shared, due);
    }

    fn submit(&self) -> Result<(), DeviceError> {
        // Whoever shares the queue sends work of its own behind what is flushed.
        if self.lane.shared.gpu.host().is_some() {
            return self.lane.flush();
        }
        self.lane.progress.hand_over();
        self.lane.shared.well()
    }

    fn completed(&self) -> Position {
        self.lane.progress.completed()
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        // On a lost device everything counts as completed.
        if self.lane.progress.completed() >= at {
            return self.lane.shared.well().map(|()| Waited::Done);
        }
        self.lane.wait_for(at, timeout)
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
        let mut recorder = self.lane.lock();
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
