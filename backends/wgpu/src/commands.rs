//! What a batch does, as a list: it becomes commands of wgpu's only when the batch is submitted. So a launch costs its caller a few pointers, and what wgpu refuses
//! can be told apart from its neighbours by encoding each position by itself.

use std::ops::Range;
use std::sync::Arc;

use compute_hal::Position;

use crate::kernel::Kernel;
use crate::proof::Proof;
use crate::staging::Uniform;

/// How many workgroups.
#[derive(Clone)]
pub(crate) enum Groupings {
    Direct([u32; 3]),
    /// From the beginning of this buffer.
    Indirect(wgpu::Buffer),
}

pub(crate) enum Command {
    Launch {
        kernel: Arc<Kernel>,
        group: wgpu::BindGroup,
        /// Dynamic offsets and immediates, in the lists that all commands share.
        offsets: Range<usize>,
        immediates: Range<usize>,
        grid: Groupings,
    },
    /// Words between two buffers.
    Copy { from: (wgpu::Buffer, u64), to: (wgpu::Buffer, u64), size: u64 },
    /// A look at the device's clock once all before it is over.
    Look { set: wgpu::QuerySet, place: u32 },
    /// Puts what the first looks saw into a buffer.
    Tell { set: wgpu::QuerySet, looks: u32, into: wgpu::Buffer },
    /// Zeros in whole words.
    Clear { buffer: wgpu::Buffer, offset: u64, size: u64 },
    /// All of a list that is kept.
    Kept(Arc<Commands>),
}

#[derive(Default)]
pub(crate) struct Commands {
    list: Vec<(Position, Command)>,
    offsets: Vec<u32>,
    immediates: Vec<u8>,
    /// How many commands there are, those of kept lists included.
    work: usize,
}

impl Commands {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// How many fit without more memory.
    pub(crate) fn room(&self) -> usize {
        self.list.capacity()
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.offsets.clear();
        self.immediates.clear();
        self.work = 0;
    }

    /// How many commands wgpu will get.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    pub(crate) fn push(&mut self, at: Position, command: Command) {
        self.work += if let Command::Kept(kept) = &command { kept.work } else { 1 };
        self.list.push((at, command));
    }

    /// Appends some of the commands of a list that is kept.
    pub(crate) fn append(&mut self, other: &Self, which: Range<usize>) {
        for (at, command) in other.list.get(which).unwrap_or_default() {
            let command = match command {
                Command::Launch { kernel, group, offsets, immediates, grid } => {
                    let given = other.offsets.get(offsets.clone()).unwrap_or_default();
                    let (offsets, immediates) = self.keep(given, other.immediates.get(immediates.clone()).unwrap_or_default());
                    let (kernel, group, grid) = (Arc::clone(kernel), group.clone(), grid.clone());
                    Command::Launch { kernel, group, offsets, immediates, grid }
                }
                Command::Copy { from, to, size } => Command::Copy { from: from.clone(), to: to.clone(), size: *size },
                Command::Look { set, place } => Command::Look { set: set.clone(), place: *place },
                Command::Tell { set, looks, into } => Command::Tell { set: set.clone(), looks: *looks, into: into.clone() },
                Command::Clear { buffer, offset, size } => {
                    Command::Clear { buffer: buffer.clone(), offset: *offset, size: *size }
                }
                Command::Kept(kept) => Command::Kept(Arc::clone(kept)),
            };
            self.push(*at, command);
        }
    }

    /// Keeps a launch's dynamic offsets and immediates, and tells where.
    pub(crate) fn keep(&mut self, offsets: &[u32], immediates: &[u8]) -> (Range<usize>, Range<usize>) {
        let (first_offset, first_immediate) = (self.offsets.len(), self.immediates.len());
        self.offsets.extend_from_slice(offsets);
        self.immediates.extend_from_slice(immediates);
        (first_offset..self.offsets.len(), first_immediate..self.immediates.len())
    }

    /// Runs of commands of one position each, in order.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (Position, Range<usize>)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let at = self.list.get(next)?.0;
            let first = next;
            next += self.list[first..].iter().take_while(|(other, _)| *other == at).count();
            Some((at, first..next))
        })
    }

    /// Some of the commands as wgpu takes them, with what belongs around them. To be called in a scope.
    ///
    /// All of it is one command buffer of wgpu's. Each has a pool of the driver's, and in front of it there one more for barriers.
    pub(crate) fn encode(&self, device: &wgpu::Device, which: Range<usize>, around: Around<'_>) -> wgpu::CommandBuffer {
        let encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
        let mut encoding = Encoding { pass: None, pipeline: None, group: None, encoder };
        for chunk in around.uniforms {
            encoding.encoder.copy_buffer_to_buffer(&chunk.staging, 0, &chunk.buffer, 0, chunk.used());
        }
        encoding.add(self, which);
        encoding.show(around.shown);
        if let Some(proof) = around.proof {
            proof.encode(encoding.outside());
        }
        encoding.finish()
    }
}

/// What goes with commands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// Uniform bytes that they read: copied to their places in front of them.
    pub(crate) uniforms: &'a [Uniform],
    /// Buffers in which the host sees behind them what they did.
    pub(crate) shown: &'a [wgpu::Buffer],
    /// Behind all, that it was done.
    pub(crate) proof: Option<&'a Proof>,
}

/// Commands as they become wgpu's. Launches that follow each other share a pass.
struct Encoding<'c> {
    /// Goes before its encoder.
    pass: Option<wgpu::ComputePass<'static>>,
    /// The kernel that the pass has set.
    pipeline: Option<u64>,
    /// And the bind group, with its offsets.
    group: Option<(&'c wgpu::BindGroup, &'c [u32])>,
    encoder: wgpu::CommandEncoder,
}

impl<'c> Encoding<'c> {
    fn add(&mut self, commands: &'c Commands, which: Range<usize>) {
        for (_, command) in commands.list.get(which).unwrap_or_default() {
            match command {
                Command::Launch { kernel, group, offsets, immediates, grid } => {
                    let offsets = commands.offsets.get(offsets.clone()).unwrap_or_default();
                    let immediates = commands.immediates.get(immediates.clone()).unwrap_or_default();
                    self.launch(kernel, group, offsets, immediates, grid);
                }
                Command::Copy { from, to, size } => {
                    self.outside().copy_buffer_to_buffer(&from.0, from.1, &to.0, to.1, *size);
                }
                Command::Look { set, place } => self.outside().write_timestamp(set, *place),
                Command::Tell { set, looks, into } => self.outside().resolve_query_set(set, 0..*looks, into, 0),
                Command::Clear { buffer, offset, size } => self.outside().clear_buffer(buffer, *offset, Some(*size)),
                // Nothing that is kept keeps another.
                Command::Kept(kept) => self.add(kept, 0..kept.len()),
            }
        }
    }

    fn launch(&mut self, kernel: &Kernel, group: &'c wgpu::BindGroup, offsets: &'c [u32], immediates: &[u8], grid: &Groupings) {
        let pass = self.pass.get_or_insert_with(|| {
            let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes: None };
            self.encoder.begin_compute_pass(&descriptor).forget_lifetime()
        });
        if self.pipeline.replace(kernel.id) != Some(kernel.id) {
            pass.set_pipeline(&kernel.pipeline);
            // Each kernel has a layout of its own, so that no group is for two.
            self.group = None;
        }
        if self.group.replace((group, offsets)) != Some((group, offsets)) {
            pass.set_bind_group(0, group, offsets);
        }
        if !immediates.is_empty() {
            pass.set_immediates(0, immediates);
        }
        match grid {
            Groupings::Direct([x, y, z]) => pass.dispatch_workgroups(*x, *y, *z),
            Groupings::Indirect(buffer) => pass.dispatch_workgroups_indirect(buffer, 0),
        }
    }

    /// The encoder, with no pass open.
    fn outside(&mut self) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.pipeline = None;
        self.group = None;
        &mut self.encoder
    }

    fn show(&mut self, shown: &[wgpu::Buffer]) {
        if !shown.is_empty() {
            let to_host = |buffer| wgpu::wgt::BufferTransition { buffer, state: wgpu::BufferUses::MAP_READ };
            self.outside().transition_resources(shown.iter().map(to_host), std::iter::empty());
        }
    }

    fn finish(mut self) -> wgpu::CommandBuffer {
        self.outside();
        self.encoder.finish()
    }
}
