//! Launches of kernels: regions and bytes become what their slots are given, grids are checked or cut into slices.

use std::sync::Arc;

use compute_hal::kernel::reflection::BindingKind;
use compute_hal::{Binding, DeviceError, Grid, Launch, Position, Region};
use smallvec::SmallVec;

use crate::batch::{Dispatch, Part, Recorder, Resource};
use crate::commands::Groupings;
use crate::kernel::{Kernel, Slot};
use crate::memory::{Span, WORD};
use crate::moves::{self, Own};
use crate::queue::Lane;
use crate::slices::{BLOCK, slices};

/// Bindings of a launch that takes no memory of the process for them.
pub(crate) const FEW: usize = 8;

impl Lane {
    /// A kernel's launch.
    pub(crate) fn launch_kernel(&self, recorder: &mut Recorder, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let kernel = self.shared.kernel(launch.kernel)?;
        if let Some(slot) = &kernel.record {
            self.room_to_read(recorder, slot.size.next_multiple_of(WORD))?;
        }
        let mut spans = SmallVec::<[_; FEW]>::new();
        for slot in &kernel.slots {
            spans.push(self.span_of(slot, launch)?);
        }
        let mut resources = SmallVec::<[_; FEW]>::new();
        for (slot, span) in kernel.slots.iter().zip(&spans) {
            resources.push(resource(slot, span.as_ref(), launch)?);
        }
        let immediates = launch.immediates.len().is_multiple_of(4);
        let mut padded;
        let immediates = if immediates {
            launch.immediates
        } else {
            padded = launch.immediates.to_vec();
            padded.resize(launch.immediates.len().next_multiple_of(4), 0);
            &padded
        };
        self.touch(recorder, at);
        let dispatch = |grid| Dispatch { immediates, ..own(&kernel, &resources, grid) };
        match launch.grid {
            Grid::Direct(grid) if kernel.slice.is_some() => {
                self.launch_slices(recorder, at, dispatch(Groupings::Direct(grid)), grid)
            }
            Grid::Direct(grid) => recorder.launch(&self.shared, at, &dispatch(Groupings::Direct(grid))),
            Grid::Indirect(region) => {
                self.check_grid(recorder, at, region)?;
                let mut dispatch = dispatch(Groupings::Indirect(self.grid.buffer.clone()));
                // Nobody here knows how many workgroups there are, so they go at once.
                dispatch.part.block = vec![0; BLOCK as usize];
                recorder.launch(&self.shared, at, &dispatch)
            }
        }
    }

    /// Sends a launch in slices, none of them with others if that were more workgroups than may be sent at once.
    fn launch_slices(
        &self,
        recorder: &mut Recorder,
        at: Position,
        mut dispatch: Dispatch<'_>,
        grid: [u32; 3],
    ) -> Result<(), DeviceError> {
        let most = self.shared.slice_groups;
        for slice in slices(grid, most) {
            if recorder.batch.groups.saturating_add(slice.groups()) > most && recorder.batch.groups > 0 {
                self.submit_part(recorder, at)?;
            }
            recorder.batch.groups += slice.groups();
            dispatch.grid = Groupings::Direct(slice.size);
            dispatch.part = Part { block: slice.block(grid), first: slice.base == [0; 3], last: slice.last };
            recorder.launch(&self.shared, at, &dispatch)?;
        }
        Ok(())
    }

    /// Puts an indirect grid where it can be taken from, zeros if it is over the limits.
    fn check_grid(&self, recorder: &mut Recorder, at: Position, region: Region) -> Result<(), DeviceError> {
        let span = self.shared.memory.span(region)?;
        let kernel = self.shared.own(Own::Grid)?;
        let bound = self.bound(&span.block, span.offset, span.size);
        let [x, y, z] = self.shared.limits.grid;
        let parameters = moves::bytes(&[bound.lead / 4, x, y, z]);
        let grid = Resource::Storage { block: &self.grid, offset: 0, size: self.grid.buffer.size() };
        let resources = [bound.resource(), grid, Resource::Bytes(&parameters)];
        recorder.launch(&self.shared, at, &own(&kernel, &resources, Groupings::Direct([1, 1, 1])))
    }

    fn span_of(&self, slot: &Slot, launch: &Launch<'_>) -> Result<Option<Span>, DeviceError> {
        match launch.bindings.get(slot.index) {
            Some(Binding::Buffer(region)) => self.shared.memory.span(*region).map(Some),
            Some(Binding::Inline(_)) => Ok(None),
            Some(Binding::Tensor(..)) => Err(DeviceError::Internal("a tensor map".into())),
            None => Err(DeviceError::Internal(format!("binding {} of a launch is missing", slot.index))),
        }
    }
}

/// A launch of a kernel of our own, or of another one as a whole and without immediates.
pub(crate) fn own<'a>(kernel: &'a Arc<Kernel>, resources: &'a [Resource<'a>], grid: Groupings) -> Dispatch<'a> {
    Dispatch { kernel, resources, grid, immediates: &[], part: Part::WHOLE }
}

/// What a slot is given.
fn resource<'a>(slot: &Slot, span: Option<&'a Span>, launch: &Launch<'a>) -> Result<Resource<'a>, DeviceError> {
    match (slot.kind, span, launch.bindings.get(slot.index)) {
        (BindingKind::Storage, Some(span), _) => {
            // wgpu binds whole words: see `Capabilities::binding_granule`. More than the view only of what has a fixed size, where nothing reaches there.
            let size = (span.size & !3).max(slot.least.next_multiple_of(4));
            Ok(Resource::Storage { block: &span.block, offset: span.offset, size })
        }
        (BindingKind::Uniform, Some(span), _) => Ok(Resource::View(span)),
        (BindingKind::Uniform, None, Some(Binding::Inline(bytes))) => Ok(Resource::Bytes(bytes)),
        _ => Err(DeviceError::Internal(format!("binding {} of a launch is of the wrong kind", slot.index))),
    }
}
