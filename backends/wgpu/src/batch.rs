//! The open batch of a queue: work is collected here until it is submitted. Nothing here waits, and nothing is told to anybody.

use std::sync::Arc;
use std::time::Instant;

use compute_hal::kernel::lower::Reports;
use compute_hal::{DeviceError, HostTarget, Position};
use smallvec::SmallVec;

use crate::commands::{Command, Commands, Groupings};
use crate::device::Shared;
use crate::errors::{device_error, scoped};
use crate::groups::Groups;
use crate::kernel::Kernel;
use crate::launches::FEW;
use crate::memory::{Block, Span, create};
use crate::slices::BLOCK;
use crate::staging::{DOWNLOAD_MOST, Download, Uniform, Upload};
use crate::stamps::{Clock, Look};

/// Where bytes of a read go once their batch is over.
pub(crate) struct Landing {
    pub(crate) position: Position,
    /// The chunk that they are in, and where.
    pub(crate) chunk: usize,
    pub(crate) start: u64,
    /// Bytes in front that were copied along.
    pub(crate) skip: usize,
    pub(crate) size: usize,
    pub(crate) into: HostTarget,
    /// Where in the target.
    pub(crate) at: usize,
}

/// A launch's record on its way to the host.
pub(crate) struct Told {
    pub(crate) position: Position,
    /// Of a replay.
    pub(crate) node: Option<u32>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) chunk: usize,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// A record that is to be brought to the host behind its launch.
pub(crate) struct Report {
    /// Of a graph.
    node: Option<u32>,
    buffer: wgpu::Buffer,
    reports: Arc<Reports>,
    size: u64,
}

impl Report {
    /// Bytes that it takes on its way.
    pub(crate) fn bytes(&self) -> u64 {
        self.size.next_multiple_of(4)
    }

    pub(crate) fn of_node(self, node: u32) -> Self {
        Self { node: Some(node), ..self }
    }
}

/// What the device's clock said, on its way to the host.
pub(crate) struct Seen {
    /// The position whose work brings it.
    pub(crate) position: Position,
    pub(crate) clock: Clock,
    pub(crate) chunk: usize,
    pub(crate) start: u64,
}

/// What a batch takes along.
#[derive(Default)]
pub(crate) struct Batch {
    /// Positions with work in it.
    pub(crate) positions: Vec<Position>,
    /// The highest position that is whole once this batch is over.
    pub(crate) last: Position,
    pub(crate) uploads: Vec<Upload>,
    pub(crate) uniforms: Vec<Uniform>,
    pub(crate) downloads: Vec<Download>,
    pub(crate) landings: Vec<Landing>,
    pub(crate) told: Vec<Told>,
    /// Looks at the device's clock.
    pub(crate) clocks: Vec<Clock>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) commands: Commands,
    /// Buffers in which the host is to see what the batch did.
    pub(crate) shown: Vec<wgpu::Buffer>,
    /// Bytes that the host is to fetch.
    pub(crate) fetched: u64,
    /// Workgroups, where somebody counts them.
    pub(crate) groups: u64,
}

/// What a binding of a launch is given.
pub(crate) enum Resource<'a> {
    /// Bytes of a block, from an offset that the device can bind, of a size that it can bind.
    Storage { block: &'a Arc<Block>, offset: u64, size: u64 },
    /// Bytes from the host.
    Bytes(&'a [u8]),
    /// Uniform bytes that lie in a block.
    View(&'a Span),
}

/// A launch.
pub(crate) struct Dispatch<'a> {
    pub(crate) kernel: &'a Arc<Kernel>,
    /// One per slot of the kernel, in its order.
    pub(crate) resources: &'a [Resource<'a>],
    pub(crate) grid: Groupings,
    pub(crate) immediates: &'a [u8],
    pub(crate) part: Part,
}

/// Which part of a launch.
pub(crate) struct Part {
    /// What the kernel is told of its slice; empty where it is not sliced.
    pub(crate) block: Vec<u8>,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Part {
    pub(crate) const WHOLE: Self = Self { block: Vec::new(), first: true, last: true };
}

/// Chunk and offset of each uniform of a launch.
type Placed = SmallVec<[Option<(usize, u64)>; FEW]>;

/// The number of a chunk of uniform bytes, apart from those of blocks and kernels.
pub(crate) fn own_id(chunk: u64) -> u64 {
    chunk | 1 << 63
}

/// What is being recorded.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) batch: Batch,
    pub(crate) groups: Groups,
    /// The buffer that kernels report into: one is enough, as launches follow each other.
    pub(crate) record: Option<(u64, wgpu::Buffer)>,
    /// When the batch began.
    pub(crate) opened: Option<Instant>,
    /// The number of the batch, from 1.
    pub(crate) number: u64,
    /// The highest position that was accepted.
    pub(crate) last: Position,
    /// The position at whose end the device is to look at its clock.
    pub(crate) look: Option<Position>,
    key: Vec<u64>,
    offsets: Vec<u32>,
    /// It records nodes of a graph: uniform bytes stay, and a record is brought to the host by each replay.
    keeps: bool,
    /// Blocks that were used since these were last taken, of a graph.
    pub(crate) used: Vec<Arc<Block>>,
    /// What bind groups of a graph know its own buffers by, since these were last taken.
    pub(crate) own: Vec<u64>,
    /// The record of the launch that was recorded last, of a graph.
    pub(crate) reported: Option<Report>,
}

impl Recorder {
    /// For nodes of a graph: nothing of it is ever submitted.
    pub(crate) fn keeping() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Adds a list that is kept, and what it uses.
    pub(crate) fn replay(&mut self, commands: &Arc<Commands>, used: &[(usize, Arc<Block>)]) {
        used.iter().for_each(|(_, block)| self.uses(block));
        self.push(Command::Kept(Arc::clone(commands)));
    }

    /// For the position that was touched last.
    fn push(&mut self, command: Command) {
        let at = self.batch.positions.last().copied().unwrap_or_default();
        self.batch.commands.push(at, command);
    }

    /// To be called before each command that uses a block, for the position that was touched last.
    pub(crate) fn uses(&mut self, block: &Arc<Block>) {
        if self.keeps {
            // A use is when a replay comes; see `Recorder::replay`.
            if !self.used.iter().any(|used| used.id == block.id) {
                self.used.push(Arc::clone(block));
            }
            return;
        }
        let at = self.batch.positions.last().copied().unwrap_or_default();
        if block.note_use(at, self.number) {
            self.batch.shown.push(block.buffer.clone());
        }
    }

    /// Copies words. The blocks differ.
    pub(crate) fn copy(&mut self, from: (&wgpu::Buffer, u64), to: (&wgpu::Buffer, u64), size: u64) {
        self.push(Command::Copy { from: (from.0.clone(), from.1), to: (to.0.clone(), to.1), size });
    }

    /// Zeros whole words.
    pub(crate) fn clear(&mut self, buffer: &wgpu::Buffer, offset: u64, size: u64) {
        self.push(Command::Clear { buffer: buffer.clone(), offset, size });
    }

    /// Copies a span into memory for reads; the host moves it to `into` when the batch is over.
    pub(crate) fn fetch(&mut self, shared: &Shared, from: &Span, into: &HostTarget, at: usize) -> Result<(), DeviceError> {
        let first = from.offset & !3;
        let skip = from.offset - first;
        let words = (skip + from.size).next_multiple_of(4);
        let (chunk, start) = self.download(shared, words)?;
        self.uses(&from.block);
        self.copy_down((&from.block.buffer, first), (chunk, start), words);
        let (skip, size) = (skip as usize, usize::try_from(from.size).unwrap_or_default());
        let position = self.batch.positions.last().copied().unwrap_or_default();
        self.batch.landings.push(Landing { position, chunk, start, skip, size, into: into.clone(), at });
        Ok(())
    }

    fn copy_down(&mut self, from: (&wgpu::Buffer, u64), (chunk, start): (usize, u64), size: u64) {
        self.batch.fetched += size;
        let Some(to) = self.batch.downloads.get(chunk).map(|chunk| chunk.buffer.clone()) else { return };
        self.copy(from, (&to, start), size);
    }

    fn download(&mut self, shared: &Shared, size: u64) -> Result<(usize, u64), DeviceError> {
        debug_assert!(size <= DOWNLOAD_MOST);
        if let Some(start) = self.batch.downloads.last_mut().and_then(|chunk| chunk.reserve(size)) {
            return Ok((self.batch.downloads.len() - 1, start));
        }
        let mut chunk = shared.staging.download(shared.gpu.device(), size)?;
        let start = chunk.reserve(size).unwrap_or_default();
        self.batch.downloads.push(chunk);
        Ok((self.batch.downloads.len() - 1, start))
    }

    /// Room for uniform bytes: the chunk's place in the list, and where.
    fn uniform(&mut self, shared: &Shared, size: u64) -> Result<(usize, u64), DeviceError> {
        let alignment = shared.native.min_uniform_buffer_offset_alignment.into();
        if let Some(start) = self.batch.uniforms.last_mut().and_then(|chunk| chunk.reserve(size, alignment)) {
            return Ok((self.batch.uniforms.len() - 1, start));
        }
        let device = shared.gpu.device();
        let mut chunk = if self.keeps {
            // Twice as large as the last one, so that a graph with many has few of them.
            let twice = self.batch.uniforms.last().map_or(0, |last| last.size().saturating_mul(2));
            shared.staging.uniform_of_graph(device, twice.max(size.next_multiple_of(16)))?
        } else {
            shared.staging.uniform(device)?
        };
        let start = chunk.reserve(size, alignment);
        if self.keeps {
            self.own.push(own_id(chunk.id));
        }
        self.batch.uniforms.push(chunk);
        let Some(start) = start else { return Err(DeviceError::Internal(format!("a uniform binding of {size} bytes"))) };
        Ok((self.batch.uniforms.len() - 1, start))
    }

    /// Records a launch, or a part of one.
    pub(crate) fn launch(&mut self, shared: &Shared, at: Position, dispatch: &Dispatch<'_>) -> Result<(), DeviceError> {
        let kernel = dispatch.kernel;
        let mut placed = self.place(shared, kernel, dispatch.resources)?;
        if kernel.slice.is_some() {
            placed.push(Some(self.place_block(shared, &dispatch.part.block)?));
        }
        self.prepare_record(shared, kernel, dispatch.part.first)?;
        let group = match self.groups.get(&self.key) {
            Some(group) => group.clone(),
            None => self.make_group(shared, kernel, dispatch.resources, &placed)?,
        };
        let (offsets, immediates) = self.batch.commands.keep(&self.offsets, dispatch.immediates);
        let (kernel, grid) = (Arc::clone(kernel), dispatch.grid.clone());
        self.push(Command::Launch { kernel, group, offsets, immediates, grid });
        if dispatch.part.last { self.take_record(shared, at, dispatch.kernel) } else { Ok(()) }
    }

    /// Puts what a kernel is told of its slice in its place.
    fn place_block(&mut self, shared: &Shared, block: &[u8]) -> Result<(usize, u64), DeviceError> {
        let (chunk, start) = self.uniform(shared, BLOCK)?;
        if let Some(chunk) = self.batch.uniforms.get_mut(chunk) {
            chunk.put(start, block)?;
            self.key.push(chunk.id);
        }
        self.offsets.push(u32::try_from(start).unwrap_or_default());
        Ok((chunk, start))
    }

    /// Puts uniform bytes in their place, and finds out what the bind group is known by. The answer: chunk and offset of each uniform.
    fn place(&mut self, shared: &Shared, kernel: &Kernel, resources: &[Resource<'_>]) -> Result<Placed, DeviceError> {
        self.key.clear();
        self.offsets.clear();
        self.key.push(kernel.id);
        let mut placed = Placed::new();
        for (slot, resource) in kernel.slots.iter().zip(resources) {
            let (chunk, start) = match resource {
                Resource::Storage { block, offset, size } => {
                    self.uses(block);
                    self.key.extend([block.id, *offset, *size]);
                    placed.push(None);
                    continue;
                }
                Resource::Bytes(bytes) => {
                    let (chunk, start) = self.uniform(shared, slot.least.max(bytes.len() as u64))?;
                    if let Some(chunk) = self.batch.uniforms.get_mut(chunk) {
                        chunk.put(start, bytes)?;
                    }
                    (chunk, start)
                }
                Resource::View(span) => {
                    let (chunk, start) = self.uniform(shared, slot.least)?;
                    let to = self.batch.uniforms.get(chunk).map(|chunk| chunk.buffer.clone());
                    if let Some(to) = to {
                        self.uses(&span.block);
                        self.copy((&span.block.buffer, span.offset), (&to, start), slot.least.next_multiple_of(4));
                    }
                    (chunk, start)
                }
            };
            placed.push(Some((chunk, start)));
            let id = self.batch.uniforms.get(chunk).map_or(0, |chunk| chunk.id);
            self.key.extend([id, if slot.dynamic { 0 } else { start }]);
            if slot.dynamic {
                self.offsets.push(u32::try_from(start).unwrap_or_default());
            }
        }
        Ok(placed)
    }

    fn make_group(
        &mut self,
        shared: &Shared,
        kernel: &Kernel,
        resources: &[Resource<'_>],
        placed: &[Option<(usize, u64)>],
    ) -> Result<wgpu::BindGroup, DeviceError> {
        let mut entries = Vec::with_capacity(resources.len() + 1);
        let mut holds = vec![kernel.id];
        let binding = |buffer, offset, size| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: std::num::NonZero::new(size) })
        };
        for ((slot, resource), place) in kernel.slots.iter().zip(resources).zip(placed) {
            let resource = match (resource, place) {
                (Resource::Storage { block, offset, size }, _) => {
                    holds.push(block.id);
                    binding(&block.buffer, *offset, *size)
                }
                (_, Some((chunk, start))) => {
                    let Some(chunk) = self.batch.uniforms.get(*chunk) else { continue };
                    holds.push(own_id(chunk.id));
                    binding(&chunk.buffer, if slot.dynamic { 0 } else { *start }, slot.least.next_multiple_of(4))
                }
                (_, None) => continue,
            };
            entries.push(wgpu::BindGroupEntry { binding: slot.binding, resource });
        }
        if let (Some(slice), Some(Some((chunk, _)))) = (kernel.slice, placed.last())
            && let Some(chunk) = self.batch.uniforms.get(*chunk)
        {
            holds.push(own_id(chunk.id));
            entries.push(wgpu::BindGroupEntry { binding: slice, resource: binding(&chunk.buffer, 0, BLOCK) });
        }
        if let (Some(slot), Some((id, buffer))) = (kernel.record, &self.record) {
            holds.push(*id);
            entries.push(wgpu::BindGroupEntry { binding: slot.binding, resource: binding(buffer, 0, slot.size) });
        }
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &kernel.layout, entries: &entries };
        let group = scoped(|| shared.gpu.device().create_bind_group(&descriptor));
        let group = group.map_err(|error| device_error("create_bind_group", 0, &error))?;
        self.groups.put(self.key.clone(), holds.into_iter(), group.clone());
        Ok(group)
    }

    /// Zeros the record for the first part of a launch, where the kernel has one.
    fn prepare_record(&mut self, shared: &Shared, kernel: &Kernel, first: bool) -> Result<(), DeviceError> {
        let Some(slot) = kernel.record else { return Ok(()) };
        if self.record.as_ref().is_none_or(|(_, buffer)| buffer.size() < slot.size) {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let buffer = create(shared.gpu.device(), "record", slot.size.next_power_of_two(), usage, false)?;
            let id = shared.next_id();
            if self.keeps {
                self.own.push(id);
            }
            if let Some((smaller, _)) = self.record.replace((id, buffer)) {
                // Nobody binds it anew, and groups would keep it.
                self.groups.forget(smaller);
            }
        }
        let Some((id, buffer)) = self.record.clone() else { return Ok(()) };
        self.key.push(id);
        if !first {
            return Ok(());
        }
        self.clear(&buffer, 0, slot.size.next_multiple_of(4));
        Ok(())
    }

    /// Has the record brought to the host.
    fn take_record(&mut self, shared: &Shared, position: Position, kernel: &Kernel) -> Result<(), DeviceError> {
        let (Some(slot), Some((_, buffer))) = (kernel.record, self.record.clone()) else { return Ok(()) };
        let report = Report { node: None, buffer, reports: Arc::clone(&kernel.reports), size: slot.size };
        if self.keeps {
            self.reported = Some(report);
            return Ok(());
        }
        self.take_report(shared, position, &report)
    }

    /// Has a record brought to the host for a position.
    pub(crate) fn take_report(&mut self, shared: &Shared, position: Position, report: &Report) -> Result<(), DeviceError> {
        let size = report.bytes();
        let (chunk, start) = self.download(shared, size)?;
        self.copy_down((&report.buffer, 0), (chunk, start), size);
        let (node, reports, size) = (report.node, Arc::clone(&report.reports), report.size);
        self.batch.told.push(Told { position, node, reports, chunk, start, size });
        Ok(())
    }

    /// Notes that a position has work in the batch. Whether it is the first.
    pub(crate) fn touch(&mut self, at: Position) -> bool {
        if self.batch.positions.last() != Some(&at) {
            self.batch.positions.push(at);
        }
        let first = self.opened.is_none();
        if first {
            self.opened = Some(Instant::now());
            self.number += 1;
        }
        first
    }

    /// Has the device look at its clock, after all that is here.
    pub(crate) fn look(&mut self, shared: &Shared, why: Look) -> Result<(), DeviceError> {
        if self.batch.clocks.last().is_none_or(|clock| !clock.has_room()) {
            let clock = shared.stamps.take(shared.gpu.device())?;
            self.batch.clocks.push(clock);
        }
        let Some(clock) = self.batch.clocks.last_mut() else { return Ok(()) };
        let (place, set) = (clock.look(why), clock.set.clone());
        self.push(Command::Look { set, place });
        Ok(())
    }

    /// To be called before the batch is submitted: has what the clock said brought to the host.
    pub(crate) fn tell(&mut self, shared: &Shared) -> Result<(), DeviceError> {
        let position = self.batch.positions.last().copied().unwrap_or_default();
        for clock in std::mem::take(&mut self.batch.clocks) {
            let (chunk, start) = self.download(shared, clock.bytes())?;
            self.push(Command::Tell { set: clock.set.clone(), looks: clock.used(), into: clock.seen.clone() });
            self.copy_down((&clock.seen, 0), (chunk, start), clock.bytes());
            self.batch.seen.push(Seen { position, clock, chunk, start });
        }
        Ok(())
    }

    /// Notes that all of a position's work is recorded.
    pub(crate) fn close(&mut self, shared: &Shared, at: Position) {
        if self.look.take_if(|look| *look <= at).is_some() {
            // Without memory for it there is no time to tell.
            let _ = self.look(shared, Look::Position(at));
        }
        self.last = self.last.max(at);
        self.batch.last = self.batch.last.max(at);
    }
}
