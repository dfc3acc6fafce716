//! Buffers over memory of somebody else's (T14): what is refused, and when the owner is told that nothing here uses it any more.
//!
//! Every byte counts as written: the caller vouches for it. What is in the way of a use is known by positions, as for any other memory; nobody here knows what
//! others do with it.

use std::fmt;
use std::sync::{Arc, mpsc};

use compute_hal::{self as hal, Foreign, MemoryId, NativeKind};
use compute_trust::{Error, LastUses};

use super::buffer::Buffer;
use super::device::Device;
use super::error::{Failed, Result, error, fail};
use super::event::{Job, watcher};
use super::memory::Home;
use super::{code, place};

/// Addresses are multiples of this, as those of any allocator are; kernels whose elements want more say so when they are launched.
const ALIGNMENT: u64 = 16;
/// Offsets and sizes in buffers of Vulkan's are multiples of this: all of its copies are.
const WORD: u64 = 4;

/// What to import.
pub struct ImportOptions<'a> {
    /// The memory.
    pub foreign: Foreign,
    /// Work may write there.
    pub writable: bool,
    /// For messages.
    pub label: &'a str,
    /// Called once, by a thread of the library and with no lock held, when nothing uses the memory any more.
    pub released: Option<Job>,
}

/// The library's hold on somebody else's memory. Dropped when no work uses it any more.
pub(crate) struct Import {
    device: Arc<dyn hal::Device>,
    memory: MemoryId,
    told: Option<(mpsc::Sender<Job>, Job)>,
}

impl Import {
    /// What the device calls it.
    pub(crate) fn memory(&self) -> MemoryId {
        self.memory
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        self.device.free(self.memory);
        if let Some((watcher, released)) = self.told.take() {
            // The watcher lives as long as the process.
            let _ = watcher.send(released);
        }
    }
}

impl Buffer {
    /// A buffer that is somebody else's memory.
    pub fn import(device: &Arc<Device>, options: ImportOptions<'_>) -> Result<Arc<Self>> {
        device.check()?;
        let ImportOptions { foreign, writable, label, released } = options;
        check(device, &foreign, label)?;
        // Whoever is to be told will be: a thread for it is there, or nothing is imported.
        let watcher = released.is_some().then(watcher).transpose()?;
        let _guard = device.guard();
        let region = device.native.import(&foreign).map_err(|failed| about(label, &device.broken(failed)))?;
        let import = Import { device: Arc::clone(&device.native), memory: region.memory, told: watcher.zip(released) };
        device.import_made(foreign.size);
        let beyond = start(&foreign) % place::ALIGNED;
        Ok(Self::imported(device, label, foreign.size, Home::imported(import, region.offset), writable, beyond))
    }
}

/// Where the bytes begin, by address or in their buffer of Vulkan's.
fn start(foreign: &Foreign) -> u64 {
    if foreign.kind == NativeKind::VulkanBuffer { foreign.offset } else { foreign.handle.wrapping_add(foreign.offset) }
}

/// What is wrong with an import, as far as it can be told without asking the driver (M9).
fn check(device: &Device, foreign: &Foreign, label: &str) -> Result<()> {
    let Foreign { kind, handle, offset, size } = *foreign;
    let taken = device.native.native_kind();
    if kind != taken {
        let name = &device.properties().name;
        return fail(
            code::UNSUPPORTED,
            format!("import of `{label}`: device `{name}` imports {}, not {}", names(taken), names(kind)),
        );
    }
    if handle == 0 || size == 0 {
        return fail(code::INVALID_ARGUMENT, format!("import of `{label}`: {size} bytes of {} {handle:#x}", names(kind)));
    }
    let is_buffer = kind == NativeKind::VulkanBuffer;
    let end = if is_buffer { Some(offset) } else { handle.checked_add(offset) }.and_then(|start| start.checked_add(size));
    // No object is larger, on any device; what comes behind may count on it.
    if end.is_none() || i64::try_from(size).is_err() {
        return fail(
            code::OUT_OF_RANGE,
            format!("import of `{label}`: {size} bytes at offset {offset} of {handle:#x} end beyond 64 bits"),
        );
    }
    let misaligned = if is_buffer {
        !offset.is_multiple_of(WORD) || !size.is_multiple_of(WORD)
    } else {
        !start(foreign).is_multiple_of(ALIGNMENT)
    };
    if misaligned {
        let what = if is_buffer { "offset and size are multiples of 4" } else { "the first byte is at a multiple of 16" };
        let text = format!("import of `{label}`: {size} bytes at offset {offset} of {handle:#x}; {what}");
        return fail(code::MISALIGNED, text);
    }
    Ok(())
}

fn names(kind: NativeKind) -> &'static str {
    match kind {
        NativeKind::Unknown => "no memory",
        NativeKind::Address => "addresses of the host's memory (COMPUTE_NATIVE_ADDRESS)",
        NativeKind::VulkanBuffer => "Vulkan buffers (COMPUTE_NATIVE_VULKAN_BUFFER)",
        NativeKind::CudaPointer => "CUDA pointers (COMPUTE_NATIVE_CUDA_POINTER)",
        NativeKind::HipPointer => "HIP pointers (COMPUTE_NATIVE_HIP_POINTER)",
    }
}

/// A device's refusal, with the buffer that it is about.
fn about(label: &str, failed: &Arc<Failed>) -> Arc<Failed> {
    let told = &*failed.error;
    Failed::of(Error { message: format!("import of `{label}`: {}", told.message), ..told.clone() })
}

/// Work that would write to a buffer that was imported for reading.
#[cold]
pub(crate) fn read_only(buffer: &Buffer, name: &str) -> Error {
    let text = format!("`{name}` writes to buffer `{}`, which was imported to be read (COMPUTE_ACCESS_READ)", buffer.label());
    error(code::READ_ONLY, text)
}

impl Device {
    /// Lets go of an import whose buffer has ended, when these last uses are over. Never blocks. What waits for a queue takes a little memory, as the end of a
    /// device does: queues have no room for it in advance.
    pub(crate) fn let_go(&self, import: Import, uses: &LastUses) {
        let import = Arc::new(Hold(parking_lot::Mutex::new(Some(import))));
        for last in uses.iter().filter(|last| !self.over([*last])) {
            if let Some(queue) = self.queue(last.queue) {
                let held = Arc::clone(&import);
                queue.native.notify(last.position, Box::new(move || drop(held)));
            }
        }
    }
}

/// An import that several queues still use.
struct Hold(#[allow(dead_code, reason = "held, never looked at")] parking_lot::Mutex<Option<Import>>);

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Import({:?})", self.memory)
    }
}
