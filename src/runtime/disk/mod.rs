//! The cache of compiled kernels on disk (L7): which file is whose, what becomes of it, and how much there may be.
//!
//! [`entry`] is the layout of a file, [`folder`] what is done in the folder. Devices only turn kernels into bytes and back. Nothing that goes wrong here is an error of
//! a call: the kernel is compiled then. No lock is held while a file is read or written; processes and devices that share a folder meet in `rename` only.

mod entry;
mod folder;
#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use compute_hal as hal;
use hal::{CompileRequest, DeviceError, KernelId};
use parking_lot::Mutex;

use super::log;
use entry::Key;
use folder::{Folder, Found, taken};

/// Bytes that a folder holds when nothing else is said.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// Which version of the library this is: kernels of another one are not taken.
const VERSION: &str = concat!("libcompute ", env!("CARGO_PKG_VERSION"), " ", env!("COMPUTE_BUILD"));

/// What has to be known of the process.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// The user whose rights it has, where there are users with numbers.
    pub user: u32,
    /// Bytes of the largest file that it may write now: to try a larger one would end it. Asked before each file, as a program may lower it.
    pub largest_file: fn() -> u64,
    /// Whether there is a list at a path that gives rights to more users than its mode tells, or that cannot be told.
    pub has_list: fn(&Path) -> bool,
    /// Whether such lists give rights that the mode does not bound, as on macOS: then nothing that has one is used.
    pub lists_exceed_modes: bool,
}

/// Where a device keeps compiled kernels.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// Bytes of files in it, each a multiple of 4096; 0: [`DEFAULT_LIMIT`].
    pub limit: u64,
    /// Who asks.
    pub process: Process,
}

/// What a device's cache on disk has done.
#[derive(Clone, Debug, Default)]
pub struct DiskReport {
    /// Why there is none although one was asked for.
    pub refused: Option<String>,
    /// Bytes that the folder may have.
    pub limit: u64,
    /// Kernels that came from disk.
    pub hits: u64,
    /// Kernels that were not there.
    pub misses: u64,
    /// Files that were there and no good, so that the kernel was compiled.
    pub rejected: u64,
    /// Kernels that were put there.
    pub stored: u64,
    /// Kernels that should have been put there and could not.
    pub failed: u64,
    /// Files that were removed because there were too many bytes.
    pub evicted: u64,
    /// Bytes of files that hits read.
    pub bytes_read: u64,
    /// Bytes of files that were written.
    pub bytes_written: u64,
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    rejected: AtomicU64,
    stored: AtomicU64,
    failed: AtomicU64,
    evicted: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// What went wrong with files, for whoever listens. Kept until the caller holds nothing: a compilation is waited for by others, and the host's callback may be one of
/// them (F4).
#[derive(Default)]
pub(crate) struct Remarks(Vec<String>);

impl Remarks {
    fn note(&mut self, text: impl FnOnce() -> String) {
        if log::hears(log::WARNING) {
            self.0.push(text());
        }
    }

    /// Calls the host. The caller holds no lock and fills no slot.
    pub(crate) fn tell(self) {
        for text in self.0 {
            log::line(log::WARNING, || text);
        }
    }
}

/// The cache of one device.
pub(crate) struct Disk {
    /// Or why there is none.
    folder: Result<Folder, String>,
    limit: u64,
    /// What every key begins with.
    identity: Vec<u8>,
    counts: Counts,
    /// Bytes written since the folder was last looked through.
    written: AtomicU64,
    looked: AtomicBool,
}

impl Disk {
    /// For a device that was opened with [`hal::OpenOptions::artifacts`].
    pub(crate) fn new(options: &DiskOptions, native: &dyn hal::Device) -> Self {
        Self::of_version(options, native, VERSION)
    }

    fn of_version(options: &DiskOptions, native: &dyn hal::Device, version: &str) -> Self {
        let device = native.artifact_identity();
        let folder = match &device {
            None => Err("the device has no kernels that can be kept".to_owned()),
            Some(_) => Folder::open(&options.folder, options.process),
        };
        if let Err(why) = &folder {
            let folder = options.folder.display();
            log::line(log::WARNING, || format!("no kernels are kept in {folder}: {why}"));
        }
        let properties = native.properties();
        let device = device.unwrap_or_default();
        let mut identity = Vec::new();
        for part in [version, &properties.name, &properties.target, &properties.driver, &device] {
            identity.extend((part.len() as u64).to_le_bytes());
            identity.extend(part.as_bytes());
        }
        let limit = if options.limit == 0 { DEFAULT_LIMIT } else { options.limit };
        Self { folder, limit, identity, counts: Counts::default(), written: AtomicU64::new(0), looked: AtomicBool::new(false) }
    }

    /// `form`: of a kernel, what else is kept of it than its code.
    fn key(&self, request: &CompileRequest<'_>, form: &[u8]) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.identity).update(&request.digest()).update(form);
        *hasher.finalize().as_bytes()
    }

    /// The place of what a device makes of a kernel for grids from memory ([`hal::Device::prepare_indirect`]).
    pub(crate) fn of_counts<'a>(&'a self, request: &'a CompileRequest<'a>) -> OfCounts<'a> {
        OfCounts { disk: self, request, remarks: Mutex::default() }
    }

    /// The kernel from disk if it is there and good; else compiled, and kept.
    pub(crate) fn compile(
        &self,
        native: &dyn hal::Device,
        request: &CompileRequest<'_>,
        remarks: &mut Remarks,
    ) -> Result<KernelId, DeviceError> {
        let folder = match &self.folder {
            Ok(folder) if request.can_be_kept() => folder,
            _ => {
                let kernel = native.compile(request)?;
                // A device that was opened to be asked keeps it until it is.
                drop(native.artifact(kernel));
                return Ok(kernel);
            }
        };
        let key = self.key(request, b"");
        let name = blake3::Hash::from_bytes(key).to_hex();
        let restore = |artifact: &[u8]| native.restore(request, artifact);
        if let Some(kernel) = self.fetch(folder, request.label, (&key, &name), restore, remarks)? {
            return Ok(kernel);
        }
        let kernel = native.compile(request)?;
        if let Some(artifact) = native.artifact(kernel) {
            self.keep(folder, &key, &name, &artifact, remarks);
        }
        Ok(kernel)
    }

    /// What `restore` makes of a file. `None`: there is no good one.
    fn fetch<T>(
        &self,
        folder: &Folder,
        label: &str,
        (key, name): (&Key, &str),
        restore: impl FnOnce(&[u8]) -> Result<T, DeviceError>,
        remarks: &mut Remarks,
    ) -> Result<Option<T>, DeviceError> {
        let why = match folder.read(name) {
            Found::Nothing => {
                add(&self.counts.misses, 1);
                return Ok(None);
            }
            Found::Unusable(why) => why,
            Found::Bytes(bytes, file) => match entry::open(key, &bytes).map(restore) {
                Ok(Ok(made)) => {
                    add(&self.counts.hits, 1);
                    add(&self.counts.bytes_read, bytes.len() as u64);
                    // The time of its last use; in a folder that may only be read nobody needs it.
                    let _ = file.set_modified(SystemTime::now());
                    return Ok(Some(made));
                }
                Ok(Err(lost @ DeviceError::Lost(_))) => return Err(lost),
                // A device that has no memory answers the same when it compiles.
                Ok(Err(why)) => why.to_string(),
                Err(why) => why.to_owned(),
            },
        };
        add(&self.counts.rejected, 1);
        remarks.note(|| format!("kernel `{label}` is compiled, as its file {name} is not used: {why}"));
        Ok(None)
    }

    fn keep(&self, folder: &Folder, key: &Key, name: &str, artifact: &[u8], remarks: &mut Remarks) {
        let size = (artifact.len() as u64).saturating_add(entry::HEAD as u64);
        let kept = match taken(size) {
            all if size > entry::MOST || all > self.limit => {
                Err(format!("{size} bytes are too large for the folder's {}", self.limit))
            }
            _ => folder.replace(name, &entry::seal(key, artifact), artifact),
        };
        match kept {
            Ok(()) => {
                add(&self.counts.stored, 1);
                add(&self.counts.bytes_written, size);
                self.bound(folder, taken(size));
            }
            Err(why) => {
                add(&self.counts.failed, 1);
                remarks.note(|| format!("a kernel is not kept as {name}: {why}"));
            }
        }
    }

    /// Looks through the folder at the first file that is written and whenever an eighth of the limit was; so that several processes exceed it by an eighth each at
    /// most.
    fn bound(&self, folder: &Folder, size: u64) {
        let written = self.written.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        let part = self.limit / 8;
        if written < part && self.looked.swap(true, Ordering::Relaxed) {
            return;
        }
        self.looked.store(true, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
        // Room for a while.
        let swept = folder.sweep(self.limit, self.limit - part);
        add(&self.counts.evicted, swept.removed);
    }

    pub(crate) fn report(&self) -> DiskReport {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { hits, misses, rejected, stored, failed, evicted, bytes_read, bytes_written } = &self.counts;
        DiskReport {
            refused: self.folder.as_ref().err().cloned(),
            limit: self.limit,
            hits: read(hits),
            misses: read(misses),
            rejected: read(rejected),
            stored: read(stored),
            failed: read(failed),
            evicted: read(evicted),
            bytes_read: read(bytes_read),
            bytes_written: read(bytes_written),
        }
    }
}

/// A form of a kernel on disk beside its code. It counts as a kernel.
pub(crate) struct OfCounts<'a> {
    disk: &'a Disk,
    request: &'a CompileRequest<'a>,
    remarks: Mutex<Remarks>,
}

impl OfCounts<'_> {
    /// What went wrong with its file.
    pub(crate) fn remarks(self) -> Remarks {
        self.remarks.into_inner()
    }

    fn place(&self) -> Option<(&Folder, Key)> {
        let folder = self.disk.folder.as_ref().ok().filter(|_| self.request.can_be_kept())?;
        Some((folder, self.disk.key(self.request, b"grid from memory")))
    }
}

impl hal::Kept for OfCounts<'_> {
    fn restore(&self, restore: &mut dyn FnMut(&[u8]) -> Result<(), DeviceError>) -> Result<bool, DeviceError> {
        let Some((folder, key)) = self.place() else { return Ok(false) };
        let name = blake3::Hash::from_bytes(key).to_hex();
        Ok(self.disk.fetch(folder, self.request.label, (&key, &name), restore, &mut self.remarks.lock())?.is_some())
    }

    fn keep(&self, artifact: &[u8]) {
        if let Some((folder, key)) = self.place() {
            self.disk.keep(folder, &key, &blake3::Hash::from_bytes(key).to_hex(), artifact, &mut self.remarks.lock());
        }
    }
}
