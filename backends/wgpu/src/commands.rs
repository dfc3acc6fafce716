//! What a batch does, as a list: it becomes commands of wgpu's only when the batch is submitted. So a launch costs its caller a few pointers, and what wgpu refuses
//! can be told apart from its neighbours by encoding each position by itself.

use std::ops::Range;
use std::sync::Arc;

use compute_hal::Position;

use crate::kernel::Kernel;

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
}

#[derive(Default)]
pub(crate) struct Commands {
    list: Vec<(Position, Command)>,
    offsets: Vec<u32>,
    immediates: Vec<u8>,
}

impl Commands {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn push(&mut self, at: Position, command: Command) {
        self.list.push((at, command));
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

    /// Some of the commands as wgpu takes them. Behind them the host sees what is in the buffers of `shown`. To be called in a scope.
    pub(crate) fn encode(&self, device: &wgpu::Device, which: Range<usize>, shown: &[wgpu::Buffer]) -> wgpu::CommandBuffer {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
        let mut rest = self.list.get(which).unwrap_or_default();
        while let Some((_, first)) = rest.first() {
            let launches = rest.iter().take_while(|(_, command)| matches!(command, Command::Launch { .. })).count();
            match first {
                Command::Launch { .. } => self.encode_pass(&mut encoder, &rest[..launches]),
                Command::Copy { from, to, size } => {
                    encoder.copy_buffer_to_buffer(&from.0, from.1, &to.0, to.1, *size);
                }
                Command::Look { set, place } => encoder.write_timestamp(set, *place),
                Command::Tell { set, looks, into } => encoder.resolve_query_set(set, 0..*looks, into, 0),
                Command::Clear { buffer, offset, size } => encoder.clear_buffer(buffer, *offset, Some(*size)),
            }
            rest = &rest[launches.max(1)..];
        }
        if !shown.is_empty() {
            let to_host = |buffer| wgpu::wgt::BufferTransition { buffer, state: wgpu::BufferUses::MAP_READ };
            encoder.transition_resources(shown.iter().map(to_host), std::iter::empty());
        }
        encoder.finish()
    }

    /// Launches that follow each other.
    fn encode_pass(&self, encoder: &mut wgpu::CommandEncoder, launches: &[(Position, Command)]) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: None });
        let mut current = None;
        for (_, command) in launches {
            let Command::Launch { kernel, group, offsets, immediates, grid } = command else { continue };
            if current != Some(kernel.id) {
                pass.set_pipeline(&kernel.pipeline);
                current = Some(kernel.id);
            }
            pass.set_bind_group(0, group, self.offsets.get(offsets.clone()).unwrap_or_default());
            if let Some(immediates) = self.immediates.get(immediates.clone()).filter(|immediates| !immediates.is_empty()) {
                pass.set_immediates(0, immediates);
            }
            match grid {
                Groupings::Direct([x, y, z]) => pass.dispatch_workgroups(*x, *y, *z),
                Groupings::Indirect(buffer) => pass.dispatch_workgroups_indirect(buffer, 0),
            }
        }
    }
}
