//! What checks are made of: an open device with a queue, bytes in and out, kernels from source.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use compute_kernel::{Module, Source};

use super::Subject;
use crate::kernel::lower::PRINT_ROOM;
use crate::kernel::reflection::Bounds;
use crate::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Grid, HostTarget, KernelId, Launch, MemoryId, Position, Queue,
    Region, Waited,
};

/// What was wrong.
#[derive(Debug)]
pub struct Failed(pub String);

impl From<DeviceError> for Failed {
    fn from(error: DeviceError) -> Self {
        Self(error.to_string())
    }
}

macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err($crate::conformance::Failed(format!($($text)*)));
        }
    };
}
pub(super) use ensure;

/// Longer than anything here takes on any machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A device, and one queue of it.
pub(super) struct Bench {
    pub(super) device: Arc<dyn Device>,
    pub(super) queue: Arc<dyn Queue>,
    next: Cell<Position>,
}

impl Bench {
    pub(super) fn new(subject: &Subject<'_>) -> Result<Self, Failed> {
        let device = subject.driver.open(subject.index, subject.options)?;
        let queue = device.create_queue()?;
        Ok(Self { device, queue, next: Cell::new(1) })
    }

    /// The next position of the queue.
    pub(super) fn at(&self) -> Position {
        self.next.replace(self.next.get() + 1)
    }

    /// The last position given out.
    pub(super) fn last(&self) -> Position {
        self.next.get() - 1
    }

    /// A new block holding `bytes`.
    pub(super) fn block(&self, bytes: &[u8]) -> Result<Region, Failed> {
        let region = whole(self.device.allocate(bytes.len() as u64)?, bytes.len() as u64);
        self.queue.write(self.at(), region, bytes)?;
        Ok(region)
    }

    pub(super) fn words(&self, words: &[u32]) -> Result<Region, Failed> {
        self.block(&to_bytes(words))
    }

    pub(super) fn wait(&self) -> Result<(), Failed> {
        wait(&*self.queue, self.last())
    }

    pub(super) fn read(&self, from: Region) -> Result<Vec<u8>, Failed> {
        read(&*self.queue, self.at(), from)
    }

    pub(super) fn read_words(&self, from: Region) -> Result<Vec<u32>, Failed> {
        Ok(self.read(from)?.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default())).collect())
    }

    pub(super) fn compile(&self, source: &str) -> Result<KernelId, Failed> {
        compile(&*self.device, source, Bounds::Checked, false)
    }

    /// A launch with views only.
    pub(super) fn launch(&self, kernel: KernelId, grid: [u32; 3], views: &[Region]) -> Result<Position, Failed> {
        let bindings: Vec<Binding<'_>> = views.iter().map(|view| Binding::Buffer(*view)).collect();
        self.launch_with(kernel, Grid::Direct(grid), &bindings, 0)
    }

    pub(super) fn launch_with(
        &self,
        kernel: KernelId,
        grid: Grid,
        bindings: &[Binding<'_>],
        time_limit: u64,
    ) -> Result<Position, Failed> {
        let at = self.at();
        self.queue.launch(at, &Launch { kernel, grid, bindings, immediates: &[], time_limit })?;
        Ok(at)
    }
}

pub(super) fn whole(memory: MemoryId, size: u64) -> Region {
    Region { memory, offset: 0, size }
}

/// A part of a region.
pub(super) fn part(of: Region, offset: u64, size: u64) -> Region {
    Region { memory: of.memory, offset: of.offset + offset, size }
}

pub(super) fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn wait(queue: &dyn Queue, at: Position) -> Result<(), Failed> {
    match queue.wait(at, Some(PATIENCE))? {
        Waited::Done if queue.completed() >= at => Ok(()),
        Waited::Done => Err(Failed(format!("a wait for {at} was done when only {} was", queue.completed()))),
        Waited::TimedOut => Err(Failed(format!("position {at} did not complete"))),
    }
}

pub(super) fn read(queue: &dyn Queue, at: Position, from: Region) -> Result<Vec<u8>, Failed> {
    let size = usize::try_from(from.size).map_err(|_| Failed("too large to read".into()))?;
    let target = HostTarget::staging(size).ok_or_else(|| Failed("no host memory to read into".into()))?;
    queue.read(at, from, target.clone())?;
    wait(queue, at)?;
    // SAFETY: the staging memory lives as long as `target`, has `size` bytes, and the read is over.
    Ok(unsafe { std::slice::from_raw_parts(target.pointer(), size) }.to_vec())
}

pub(super) fn compile(device: &dyn Device, source: &str, bounds: Bounds, cancellable: bool) -> Result<KernelId, Failed> {
    compile_to_print(device, source, bounds, cancellable, PRINT_ROOM)
}

pub(super) fn compile_to_print(
    device: &dyn Device,
    source: &str,
    bounds: Bounds,
    cancellable: bool,
    print_room: u32,
) -> Result<KernelId, Failed> {
    let refused = |diagnostics: compute_kernel::Diagnostics| Failed(diagnostics.text);
    let entry = Module::parse(&Source::wgsl(source)).map_err(refused)?.entry_point(None, &[]).map_err(refused)?;
    let source = CompileSource::Portable(&entry);
    Ok(device.compile(&CompileRequest { source, bounds, cancellable, print_room, strict: false, label: "conformance" })?)
}

/// Bytes that differ from their neighbours and from call to call.
pub(super) fn pattern(size: u64, seed: u64) -> Vec<u8> {
    (0..size).map(|n| (n.wrapping_mul(31) ^ (n >> 8) ^ seed.wrapping_mul(77)) as u8).collect()
}

/// Says where two byte strings differ first.
pub(super) fn same(got: &[u8], expected: &[u8], what: &str) -> Result<(), Failed> {
    if got == expected {
        return Ok(());
    }
    let place = got.iter().zip(expected).position(|(a, b)| a != b);
    let values = place.and_then(|place| Some((got.get(place)?, expected.get(place)?)));
    Err(Failed(format!("{what}: {} bytes for {}, first difference at {place:?}: {values:?}", got.len(), expected.len())))
}
