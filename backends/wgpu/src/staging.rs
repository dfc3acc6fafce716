//! Host-visible memory that bytes pass through: chunks for writes, for uniform bytes and for reads. Each has a pool, so that a steady state creates no
//! buffers. Chunks travel with a batch and come back when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use compute_hal::DeviceError;
use compute_hal::movers::copy;
use parking_lot::Mutex;

use crate::commands::Commands;
use crate::memory::create;

/// Bytes of a chunk for writes.
pub(crate) const UPLOAD: u64 = 1 << 20;
/// Chunks for writes that may exist at once: a write beyond waits for an earlier batch (MEM-09).
pub(crate) const UPLOADS: usize = 64;
/// Bytes of a chunk for uniform bytes.
pub(crate) const UNIFORM: u64 = 256 << 10;
/// Bytes of the smallest chunk for uniform bytes of a graph.
const UNIFORM_OF_GRAPH: u64 = 4 << 10;
/// Chunks for uniform bytes that batches may have at once: a launch beyond waits for an earlier batch (MEM-09). As many are kept while nothing uses them.
pub(crate) const UNIFORMS: usize = 64;
/// Bytes of the smallest chunk for reads.
const DOWNLOAD: u64 = 1 << 20;
/// Bytes of the largest chunk for reads: longer reads are cut.
pub(crate) const DOWNLOAD_MOST: u64 = 16 << 20;
/// Bytes of chunks for reads that batches may have at once: a read beyond waits for an earlier batch (MEM-09).
const DOWNLOADS: u64 = 64 << 20;
/// Bytes of them that are kept while nothing uses them: all that large reads had, and what small ones had beside these.
const DOWNLOADS_KEPT: u64 = DOWNLOADS + DOWNLOAD_MOST;

/// Lists of commands that are kept while nothing uses them, and the most commands that one of them has room for.
const LISTS_KEPT: usize = 4;
const MOST_ROOM: usize = 4096;

/// Mapped memory for writes, filled from its beginning.
pub(crate) struct Upload {
    pub(crate) buffer: wgpu::Buffer,
    used: u64,
}

/// Memory for uniform bytes: written on the host, copied in front of the batch, bound from the second buffer.
pub(crate) struct Uniform {
    pub(crate) id: u64,
    pub(crate) staging: wgpu::Buffer,
    pub(crate) buffer: wgpu::Buffer,
    size: u64,
    used: u64,
    /// Of a graph: the bytes, instead of in `staging`, and how many of them the device has.
    kept: Option<(Vec<u8>, u64)>,
}

/// Memory for reads, filled from its beginning.
pub(crate) struct Download {
    pub(crate) buffer: wgpu::Buffer,
    size: u64,
    used: u64,
}

#[derive(Default)]
pub(crate) struct Staging {
    uploads: Mutex<Vec<Upload>>,
    /// Chunks for writes that exist.
    uploads_made: AtomicU64,
    uniforms: Mutex<Vec<Uniform>>,
    /// Chunks for uniform bytes that batches have.
    uniforms_out: AtomicUsize,
    next_uniform: AtomicU64,
    downloads: Mutex<Vec<Download>>,
    /// Bytes of chunks for reads that batches have.
    downloads_out: AtomicU64,
    /// Empty lists, with the memory that they grew to.
    lists: Mutex<Vec<Commands>>,
}

#[cfg(test)]
impl Staging {
    /// Chunks that nothing uses, of each kind.
    pub(crate) fn kept_for_test(&self) -> [usize; 3] {
        [self.uploads.lock().len(), self.uniforms.lock().len(), self.downloads.lock().len()]
    }
}

impl Staging {
    /// Lets go of all that nothing uses. The numbers of chunks of uniform bytes are in the answer: bind groups that are kept still hold those.
    pub(crate) fn trim(&self) -> Vec<u64> {
        let uploads = std::mem::take(&mut *self.uploads.lock());
        self.uploads_made.fetch_sub(uploads.len() as u64, Ordering::Relaxed);
        let uniforms = std::mem::take(&mut *self.uniforms.lock());
        drop(std::mem::take(&mut *self.downloads.lock()));
        drop(std::mem::take(&mut *self.lists.lock()));
        uniforms.into_iter().map(|chunk| chunk.id).collect()
    }

    /// An empty list.
    pub(crate) fn list(&self) -> Commands {
        self.lists.lock().pop().unwrap_or_default()
    }

    /// Takes a list back whose batch is over.
    pub(crate) fn give_list(&self, mut list: Commands) {
        // Lets go of what its commands hold, with no lock held.
        list.clear();
        let mut kept = self.lists.lock();
        if kept.len() < LISTS_KEPT && list.room() <= MOST_ROOM {
            kept.push(list);
        }
    }

    /// A chunk for writes; `None` when all that there may be are under way.
    pub(crate) fn upload(&self, device: &wgpu::Device) -> Result<Option<Upload>, DeviceError> {
        if let Some(chunk) = self.uploads.lock().pop() {
            return Ok(Some(chunk));
        }
        if self.uploads_made.load(Ordering::Relaxed) >= UPLOADS as u64 {
            return Ok(None);
        }
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let buffer = create(device, "upload", UPLOAD, usage, true)?;
        self.uploads_made.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Upload { buffer, used: 0 }))
    }

    /// Takes a chunk back, mapped again or lost.
    pub(crate) fn give_upload(&self, mut chunk: Upload, mapped: bool) {
        if mapped {
            chunk.used = 0;
            self.uploads.lock().push(chunk);
        } else {
            self.uploads_made.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether batches have all the uniform bytes that they may have. A launch that has begun gets what it needs.
    pub(crate) fn lacks_uniforms(&self) -> bool {
        self.uniforms_out.load(Ordering::Relaxed) >= UNIFORMS
    }

    pub(crate) fn uniform(&self, device: &wgpu::Device) -> Result<Uniform, DeviceError> {
        let kept = self.uniforms.lock().pop();
        let chunk = kept.map_or_else(|| self.new_uniform(device), Ok)?;
        self.uniforms_out.fetch_add(1, Ordering::Relaxed);
        Ok(chunk)
    }

    fn new_uniform(&self, device: &wgpu::Device) -> Result<Uniform, DeviceError> {
        let staging =
            create(device, "uniform staging", UNIFORM, wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC, true)?;
        let buffer = create(device, "uniform", UNIFORM, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST, false)?;
        let id = self.next_uniform.fetch_add(1, Ordering::Relaxed);
        Ok(Uniform { id, staging, buffer, size: UNIFORM, used: 0, kept: None })
    }

    /// A chunk for uniform bytes that stay as they are, for a graph; of at least `least` bytes.
    pub(crate) fn uniform_of_graph(&self, device: &wgpu::Device, least: u64) -> Result<Uniform, DeviceError> {
        let size = least.next_multiple_of(16).clamp(UNIFORM_OF_GRAPH, UNIFORM);
        let asked = usize::try_from(size).unwrap_or(usize::MAX);
        let mut kept = Vec::new();
        kept.try_reserve_exact(asked).map_err(|_| DeviceError::OutOfMemory { asked: size, free: 0 })?;
        kept.resize(asked, 0);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = create(device, "uniform of a graph", size, usage, false)?;
        let id = self.next_uniform.fetch_add(1, Ordering::Relaxed);
        Ok(Uniform { id, staging: buffer.clone(), buffer, size, used: 0, kept: Some((kept, 0)) })
    }

    /// Takes a chunk back, mapped again or lost. Whether it is kept: if not, bind groups that are kept still hold it, and are of no more use.
    ///
    /// It is not destroyed: wgpu would wait for every thread that is inside a poll, and every other call would wait for that.
    #[must_use]
    pub(crate) fn give_uniform(&self, mut chunk: Uniform, mapped: bool) -> bool {
        self.uniforms_out.fetch_sub(1, Ordering::Relaxed);
        let mut kept = self.uniforms.lock();
        let keeps = mapped && kept.len() < UNIFORMS;
        if keeps {
            chunk.used = 0;
            kept.push(chunk);
        }
        keeps
    }

    /// Whether batches have so much memory for reads that another chunk with room for `size` bytes may be more than they may have.
    pub(crate) fn lacks_downloads(&self, size: u64) -> bool {
        self.downloads_out.load(Ordering::Relaxed).saturating_add(largest(size)) > DOWNLOADS
    }

    /// A chunk for reads with room for `size` bytes, at most [`DOWNLOAD_MOST`].
    pub(crate) fn download(&self, device: &wgpu::Device, size: u64) -> Result<Download, DeviceError> {
        let mut kept = self.downloads.lock();
        // Large ones are left to those who need them: a few of them are all that there may be.
        let fits = kept.iter().enumerate().filter(|(_, chunk)| (size..=largest(size)).contains(&chunk.size));
        let fits = fits.min_by_key(|(_, chunk)| chunk.size);
        let found = fits.map(|(place, _)| place).map(|place| kept.swap_remove(place));
        drop(kept);
        let chunk = found.map_or_else(|| Self::new_download(device, size), Ok)?;
        self.downloads_out.fetch_add(chunk.size, Ordering::Relaxed);
        Ok(chunk)
    }

    fn new_download(device: &wgpu::Device, size: u64) -> Result<Download, DeviceError> {
        let size = smallest(size);
        let buffer = create(device, "download", size, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST, false)?;
        Ok(Download { buffer, size, used: 0 })
    }

    /// Takes a chunk back, unmapped again or lost.
    pub(crate) fn give_download(&self, mut chunk: Download, unmapped: bool) {
        self.downloads_out.fetch_sub(chunk.size, Ordering::Relaxed);
        if !unmapped {
            return;
        }
        chunk.used = 0;
        let mut kept = self.downloads.lock();
        kept.push(chunk);
        // A large one goes: it is room for many small ones.
        let all = kept.iter().map(|chunk| chunk.size).sum::<u64>();
        let largest = kept.iter().enumerate().max_by_key(|(_, chunk)| chunk.size).map(|(place, _)| place);
        let gone = largest.filter(|_| all > DOWNLOADS_KEPT).map(|place| kept.swap_remove(place));
        drop(kept);
        drop(gone);
    }
}

/// Bytes of a new chunk for reads with room for `size` bytes.
fn smallest(size: u64) -> u64 {
    size.clamp(DOWNLOAD, DOWNLOAD_MOST).next_power_of_two()
}

/// Bytes of the largest chunk that such a read is given of those that are kept.
fn largest(size: u64) -> u64 {
    (2 * smallest(size)).min(DOWNLOAD_MOST)
}

/// Takes `size` bytes of a chunk of `whole` bytes, from a multiple of `alignment` on.
fn take(used: &mut u64, whole: u64, size: u64, alignment: u64) -> Option<u64> {
    let start = used.checked_next_multiple_of(alignment)?;
    let end = start.checked_add(size)?;
    if end > whole {
        return None;
    }
    *used = end;
    Some(start)
}

impl Upload {
    /// Bytes that still fit.
    pub(crate) fn left(&self) -> u64 {
        UPLOAD.saturating_sub(self.used.next_multiple_of(WRITE_ALIGNMENT))
    }

    /// Copies `bytes` in with `lead` bytes before them; where that begins. `None`: it does not fit.
    pub(crate) fn put(&mut self, lead: u64, bytes: &[u8]) -> Result<Option<u64>, DeviceError> {
        let size = (lead + bytes.len() as u64).next_multiple_of(WRITE_ALIGNMENT);
        let Some(start) = take(&mut self.used, UPLOAD, size, WRITE_ALIGNMENT) else { return Ok(None) };
        write(&self.buffer, start, lead, size, bytes)?;
        Ok(Some(start))
    }
}

impl Uniform {
    /// Room for `size` bytes from a multiple of `alignment` on.
    pub(crate) fn reserve(&mut self, size: u64, alignment: u64) -> Option<u64> {
        take(&mut self.used, self.size, size.next_multiple_of(16), alignment.max(WRITE_ALIGNMENT))
    }

    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let Some((kept, _)) = &mut self.kept else {
            return write(&self.staging, at, 0, (bytes.len() as u64).next_multiple_of(4), bytes);
        };
        let place = usize::try_from(at).ok().and_then(|at| kept.get_mut(at..)?.get_mut(..bytes.len()));
        let Some(place) = place else { return Err(DeviceError::Internal("uniform bytes behind their chunk".into())) };
        place.copy_from_slice(bytes);
        Ok(())
    }

    /// Of a graph: how large it is.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Of a graph: the bytes that the device does not have yet, and where they belong; from now on it has them. The first are the whole chunk: what nobody has written
    /// wgpu zeroes in the first submission that binds it, also where somebody writes while that is put together, and the bytes would be gone.
    pub(crate) fn take_news(&mut self) -> Option<(u64, &[u8])> {
        let (used, size) = (self.used(), self.size);
        let (kept, known) = self.kept.as_mut()?;
        let from = std::mem::replace(known, used);
        let end = if from == 0 && used > 0 { size } else { used };
        let range = usize::try_from(from).ok()?..usize::try_from(end).ok()?;
        kept.get(range).filter(|news| !news.is_empty()).map(|news| (from, news))
    }

    /// Bytes to copy in front of the batch.
    pub(crate) fn used(&self) -> u64 {
        self.used.next_multiple_of(4)
    }
}

impl Download {
    pub(crate) fn has_room(&self, size: u64) -> bool {
        let mut used = self.used;
        take(&mut used, self.size, size, WRITE_ALIGNMENT).is_some()
    }

    pub(crate) fn reserve(&mut self, size: u64) -> Option<u64> {
        take(&mut self.used, self.size, size, WRITE_ALIGNMENT)
    }
}

/// wgpu maps from multiples of this.
const WRITE_ALIGNMENT: u64 = wgpu::MAP_ALIGNMENT;

fn write(buffer: &wgpu::Buffer, start: u64, lead: u64, size: u64, bytes: &[u8]) -> Result<(), DeviceError> {
    let mut view = buffer
        .get_mapped_range_mut(start..start + size)
        .map_err(|error| DeviceError::Internal(format!("staging memory cannot be written: {error}")))?;
    let at = usize::try_from(lead).unwrap_or_default();
    let mut place = view.slice(at..at + bytes.len());
    // SAFETY: the place is as long as the bytes, which lie elsewhere.
    unsafe { copy(bytes.as_ptr(), place.as_raw_element_ptr().as_ptr(), bytes.len()) }
    Ok(())
}

/// Asks for a chunk to be mapped once the submissions that use it are over; what became of it is in the answer, from then on.
pub(crate) fn map(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Arc<AtomicU64> {
    let state = Arc::new(AtomicU64::new(WAITING));
    let told = Arc::clone(&state);
    buffer.map_async(mode, .., move |answer| {
        #[cfg(test)]
        be_tardy();
        told.store(if answer.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
    });
    state
}

/// Whoever tells that memory is mapped takes his time over it.
#[cfg(test)]
pub(crate) static TARDY: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[cfg(test)]
pub(crate) fn be_tardy() {
    if TARDY.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

pub(crate) const WAITING: u64 = 0;
pub(crate) const MAPPED: u64 = 1;
const FAILED: u64 = 2;
