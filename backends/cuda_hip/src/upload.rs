//! Long writes from ordinary memory: several threads fill pinned chunks while others are on their way (M7).

use std::sync::mpsc;
use std::time::Duration;

use compute_hal::{DeviceError, movers};
use parking_lot::Mutex;

use crate::api::Inside;
use crate::lane::{BUDGET, Lane, Submit};
use crate::staging::{CHUNK, Pinned, Slice};

/// From this size on.
pub(crate) const FROM: u64 = 4 << 20;
/// Threads that fill. More than fill the bus help nobody.
const THREADS: usize = 8;

/// A chunk to be filled, or filled, and where its bytes go.
struct Job<'a> {
    chunk: Pinned,
    bytes: &'a [u8],
    address: u64,
}

impl Lane {
    /// Writes bytes that are copied when this returns. False: no thread is to be had, and nothing has been written.
    pub(crate) fn upload(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        address: u64,
        bytes: &[u8],
    ) -> Result<bool, DeviceError> {
        let threads = movers::processors().clamp(1, THREADS).min(bytes.len().div_ceil(CHUNK));
        let (give, jobs) = mpsc::channel::<Job<'_>>();
        let (tell, filled) = mpsc::channel();
        let jobs = &Mutex::new(jobs);
        std::thread::scope(|scope| {
            let mut started = 0;
            for _ in 0..threads {
                let tell = tell.clone();
                let fill = move || fill_chunks(jobs, &tell);
                started += usize::from(std::thread::Builder::new().spawn_scoped(scope, fill).is_ok());
            }
            drop(tell);
            if started == 0 {
                return Ok(false);
            }
            self.feed(submit, calls, (address, bytes), give, &filled).map(|()| true)
        })
    }

    /// Hands chunks out and sends them on their way.
    fn feed<'a>(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        (address, bytes): (u64, &'a [u8]),
        give: mpsc::Sender<Job<'a>>,
        filled: &mpsc::Receiver<Job<'a>>,
    ) -> Result<(), DeviceError> {
        let mut parts = (address..).step_by(CHUNK).zip(bytes.chunks(CHUNK)).peekable();
        let mut working = 0;
        while working > 0 || parts.peek().is_some() {
            let room = |working: usize| self.progress.out.load(std::sync::atomic::Ordering::Relaxed) + working * CHUNK < BUDGET;
            while room(working)
                && let Some(&(address, bytes)) = parts.peek()
            {
                let chunk = match self.shared.chunk_now(calls, CHUNK) {
                    // Those that are being filled will come back.
                    Err(DeviceError::OutOfMemory { .. }) if working > 0 => break,
                    Err(DeviceError::OutOfMemory { .. }) => self.chunk(submit, calls, CHUNK)?,
                    taken => taken?,
                };
                (working, _) = (working + 1, parts.next());
                if give.send(Job { chunk, bytes, address }).is_err() {
                    return Err(DeviceError::Internal("the threads of an upload ended".into()));
                }
            }
            let Ok(job) = filled.recv_timeout(Duration::from_micros(50)) else {
                self.shared.well()?;
                self.look_and_owe();
                continue;
            };
            working -= 1;
            // The last part's marker is before it.
            submit.operations = submit.operations.max(1);
            // SAFETY: the chunk holds that many bytes and is kept until its marker is reached; the destination is inside the region.
            let sent = unsafe {
                calls.write_async(job.address, job.chunk.pointer().cast_const().cast(), job.bytes.len(), self.stream.0)
            };
            sent.map_err(|f| self.shared.fail(f))?;
            submit.load.chunks.push(job.chunk);
            self.place_marker(submit, calls)?;
            self.look_and_owe();
        }
        Ok(())
    }
}

fn fill_chunks<'a>(jobs: &Mutex<mpsc::Receiver<Job<'a>>>, tell: &mpsc::Sender<Job<'a>>) {
    loop {
        let next = jobs.lock().recv();
        let Ok(job) = next else { return };
        Slice::of(&job.chunk, 0, job.bytes.len()).put(0, job.bytes);
        if tell.send(job).is_err() {
            return;
        }
    }
}
