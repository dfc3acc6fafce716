//! Threads that copy bytes within host memory: what one thread copies is a fraction of what the bus brings. They are started when there is much to copy, stay for
//! a while, and end when nobody needs them. No driver is called here, and no lock of others is taken.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Threads at most, the caller included: more than fill the bus help nobody.
const MOST: usize = 8;
/// Bytes that a thread takes at a time.
const SHARE: usize = 256 << 10;
/// Bytes from which on a copy goes past the caches: it would push out all that is there, and a line that is written whole need not be brought first, which is a third of the
/// bus. Libraries of C do the same, but not in a thread's share.
const STREAMED: usize = 16 << 20;
/// Bytes that a processor writes to memory at once.
#[cfg(any(target_arch = "x86_64", test))]
const LINE: usize = 64;
/// What a thread does needs little.
const STACK: usize = 256 << 10;
/// How long a thread stays without work.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asking takes longer than most copies.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// How many there are for this process.
pub fn processors() -> usize {
    *PROCESSORS
}

/// Those of whoever has none of its own.
static COMMON: LazyLock<Arc<Movers>> = LazyLock::new(Arc::default);

/// Copies bytes, which may overlap: a caller may read a buffer into the very memory that is mapped from it. With several threads where that is worth it.
///
/// # Safety
/// `from` is readable and `to` writable for `size` bytes, and nobody else writes the one or uses the other meanwhile.
pub unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    if size < 2 * SHARE || from.addr().abs_diff(to.addr()) < size {
        // SAFETY: as our own caller says.
        return unsafe { std::ptr::copy(from, to, size) };
    }
    // SAFETY: as our own caller says, and they do not overlap; all of it is copied when this returns.
    unsafe {
        let run = Run::new(std::slice::from_raw_parts(from, size), to, size, size);
        COMMON.copy(&[Run { streams: size >= STREAMED, ..run }]);
    }
}

/// Rows to be copied: one behind the other where they come from, a pitch apart where they go.
#[derive(Clone, Copy)]
pub struct Run {
    from: *const u8,
    to: *mut u8,
    width: usize,
    rows: usize,
    pitch: usize,
    /// Past the caches.
    streams: bool,
}

// SAFETY: whoever made it vouches for both places from any thread until it is copied; see `Run::new`.
unsafe impl Send for Run {}

impl Run {
    /// As many rows as there are.
    ///
    /// # Safety
    /// All rows lie within what `to` points into, they do not overlap, and `width` is not 0. Until the run is copied nobody writes `from`, and nobody else uses the rows.
    pub unsafe fn new(from: &[u8], to: *mut u8, width: usize, pitch: usize) -> Self {
        let run = Self { from: from.as_ptr(), to, width, rows: from.len() / width, pitch, streams: false };
        if pitch == width { Self { width: width * run.rows, rows: 1, ..run } } else { run }
    }

    fn size(&self) -> usize {
        self.width * self.rows
    }

    fn copy(self) {
        for row in 0..self.rows {
            let (from, to) = (self.from.wrapping_add(row * self.width), self.to.wrapping_add(row * self.pitch));
            // SAFETY: as `new` was told.
            unsafe {
                if self.streams {
                    stream(from, to, self.width);
                } else {
                    std::ptr::copy_nonoverlapping(from, to, self.width);
                }
            }
        }
    }

    /// It in pieces of a thread's share: bytes of one row, or rows.
    fn shares(self) -> impl Iterator<Item = Self> {
        let one = self.rows == 1;
        let (whole, step) = if one { (self.width, SHARE) } else { (self.rows, (SHARE / self.width).max(1)) };
        (0..whole).step_by(step).map(move |start| {
            let count = step.min(whole - start);
            let (from, to) = if one { (start, start) } else { (start * self.width, start * self.pitch) };
            let (width, rows) = if one { (count, 1) } else { (self.width, count) };
            // `wrapping_add` does not wrap: both are longer.
            Self { from: self.from.wrapping_add(from), to: self.to.wrapping_add(to), width, rows, ..self }
        })
    }
}

/// Copies bytes past the caches. Whoever is told of them by a lock or an atomic sees them.
///
/// # Safety
/// As of [`std::ptr::copy_nonoverlapping`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream(from: *const u8, to: *mut u8, size: usize) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const WORD: usize = 16;
    let head = (to.addr().next_multiple_of(LINE) - to.addr()).min(size);
    let tail = (size - head) % LINE;
    let end = size - tail;
    // SAFETY: both are as long as our own caller says; every processor of this kind has these instructions, and the places of the words are multiples of their size.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let mut at = head;
        while at < end {
            for word in (at..at + LINE).step_by(WORD) {
                _mm_stream_si128(to.add(word).cast(), _mm_loadu_si128(from.add(word).cast()));
            }
            at += LINE;
        }
        // Such writes wait for nothing, not even for what tells of them.
        _mm_sfence();
        std::ptr::copy_nonoverlapping(from.add(end), to.add(end), tail);
    }
}

/// # Safety
/// As of [`std::ptr::copy_nonoverlapping`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn stream(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: as our own caller says.
    unsafe { std::ptr::copy_nonoverlapping(from, to, size) }
}

/// A caller's runs, by number: how many are not copied yet.
struct Batch {
    id: u64,
    left: usize,
}

#[derive(Default)]
struct State {
    runs: VecDeque<(u64, Run)>,
    batches: Vec<Batch>,
    next: u64,
    threads: usize,
    idle: usize,
    closing: bool,
}

/// The threads, as many as there is work for.
#[derive(Default)]
pub struct Movers {
    state: Mutex<State>,
    /// To the threads: something to do.
    work: Condvar,
    /// To the callers: a batch is over.
    over: Condvar,
}

impl Movers {
    /// Copies all of them, with other threads where that is worth it.
    pub fn copy(self: &Arc<Self>, runs: &[Run]) {
        let whole: usize = runs.iter().map(Run::size).sum();
        let threads = processors().min(MOST).min(whole / SHARE);
        if threads < 2 {
            return runs.iter().for_each(|run| run.copy());
        }
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        state.runs.extend(runs.iter().flat_map(|run| run.shares()).map(|run| (id, run)));
        let left = state.runs.iter().filter(|(batch, _)| *batch == id).count();
        state.batches.push(Batch { id, left });
        let missing = (threads - 1).saturating_sub(state.idle).min((MOST - 1).saturating_sub(state.threads));
        state.threads += missing;
        drop(state);
        self.work.notify_all();
        for _ in 0..missing {
            let own = Arc::clone(self);
            let thread = std::thread::Builder::new().name("compute-copies".into()).stack_size(STACK);
            if thread.spawn(move || own.live()).is_err() {
                self.state.lock().threads -= 1;
            }
        }
        self.help(id);
    }

    /// The caller's part: it copies until nothing is left to be begun, and waits for the rest.
    fn help(&self, id: u64) {
        let mut state = self.state.lock();
        loop {
            let done = state.batches.iter().position(|batch| batch.id == id && batch.left == 0);
            if let Some(done) = done {
                state.batches.swap_remove(done);
                return;
            }
            let own = state.runs.iter().position(|(batch, _)| *batch == id);
            match own.and_then(|own| state.runs.remove(own)) {
                Some((batch, run)) => {
                    drop(state);
                    run.copy();
                    state = self.state.lock();
                    self.finished(&mut state, batch);
                }
                None => self.over.wait(&mut state),
            }
        }
    }

    fn finished(&self, state: &mut State, id: u64) {
        if let Some(batch) = state.batches.iter_mut().find(|batch| batch.id == id) {
            batch.left -= 1;
            if batch.left == 0 {
                self.over.notify_all();
            }
        }
    }

    fn live(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some((batch, run)) = state.runs.pop_front() {
                drop(state);
                run.copy();
                state = self.state.lock();
                self.finished(&mut state, batch);
                continue;
            }
            if state.closing {
                break;
            }
            state.idle += 1;
            let bored = self.work.wait_for(&mut state, PATIENCE).timed_out();
            state.idle -= 1;
            if bored && state.runs.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }

    /// The threads end when they have nothing to do.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.work.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LINE, Movers, Run, SHARE, STREAMED, copy, stream};

    #[test]
    fn copies_past_the_caches_bring_each_byte_to_its_place_and_touch_no_other() {
        let from: Vec<u8> = (0..4 * LINE + 7).map(|n| n as u8 | 1).collect();
        for (skip, lead) in [(0, 0), (1, 0), (0, 1), (3, LINE - 1), (16, 17)] {
            for size in [0, 1, 15, LINE - 1, LINE, LINE + 1, 2 * LINE, 3 * LINE + 5] {
                let mut to = vec![0; 8 * LINE];
                // SAFETY: both are longer.
                unsafe { stream(from.as_ptr().add(skip), to.as_mut_ptr().add(lead), size) };
                assert_eq!(to[lead..lead + size], from[skip..skip + size]);
                assert!(to[..lead].iter().chain(&to[lead + size..]).all(|byte| *byte == 0));
            }
        }
        let from: Vec<u8> = (0..STREAMED + SHARE + 13).map(|n| (n * 31 + n / 251) as u8).collect();
        let mut to = vec![0; from.len() + 5];
        // SAFETY: both are that long.
        unsafe { copy(from.as_ptr(), to.as_mut_ptr().add(3), from.len()) };
        assert!(to[3..][..from.len()] == from && to[..3] == [0; 3] && to[from.len() + 3..] == [0; 2]);
    }

    #[test]
    fn several_callers_get_all_their_bytes_and_rows_moved() {
        let movers = Arc::new(Movers::default());
        let (width, pitch) = (SHARE / 3 + 1, SHARE / 2);
        std::thread::scope(|scope| {
            for caller in 0..4_u8 {
                let movers = &movers;
                scope.spawn(move || {
                    for round in 0..10 {
                        let byte = |n: usize| (n * 31 + n / 251) as u8 ^ caller;
                        let from: Vec<u8> = (0..4 * SHARE + 77 * round + 9 * width).map(byte).collect();
                        let (bytes, rows) = from.split_at(from.len() - 9 * width);
                        let (mut to, mut places) = (vec![0; bytes.len()], vec![0; 9 * pitch]);
                        let size = bytes.len();
                        // SAFETY: both runs lie in buffers that hold them, and are copied when the call returns.
                        unsafe {
                            let runs =
                                [Run::new(bytes, to.as_mut_ptr(), size, size), Run::new(rows, places.as_mut_ptr(), width, pitch)];
                            movers.copy(&runs);
                        }
                        assert!(to == bytes);
                        for (row, place) in rows.chunks(width).zip(places.chunks(pitch)) {
                            assert!(place[..width] == *row && place[width..].iter().all(|byte| *byte == 0));
                        }
                    }
                });
            }
        });
        assert!(movers.state.lock().batches.is_empty());
        movers.close();
    }
}
