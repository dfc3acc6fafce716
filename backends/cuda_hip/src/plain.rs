//! Launches of which the host keeps nothing, from the ids to the driver's call: the views are memory, the counts are known, nothing is reported. Most launches are like
//! this, and their cost on the host is what is here: no memory is allocated, nothing is written that other queues read, and the driver is asked which context is
//! current and for the launch, nothing else.
//!
//! All else goes the general way (`op`, `lane`): inline bytes that have to lie in pinned memory, reports, limits, counts in memory, a stamp, a block that the stream
//! has not waited for, a queue that holds work back. So do mistakes, whose errors are made there: here nothing is refused that could be told better.

use compute_hal::kernel::cxx::{Parameter, Parameters};
use compute_hal::{Binding, DeviceError, Grid, Launch, Position};

use crate::kernel::Kernel;
use crate::lane::{Lane, Submit};
use crate::launch::launch_now;
use crate::memory::Memory;

/// Bytes of a block of arguments at most.
const SIZE: usize = 256;

/// A block of arguments, aligned as a kernel's parameters may be.
#[repr(align(64))]
struct Block([u8; SIZE]);

/// Whether all that a kernel is given can be laid out here.
pub(crate) fn suits(parameters: &Parameters) -> bool {
    let simple = |parameter| {
        use Parameter::{Address, Elements, Immediates, Value};
        matches!(parameter, Address { .. } | Elements { .. } | Immediates { .. } | Value { .. })
    };
    parameters.size as usize <= SIZE && parameters.fields.iter().all(|field| simple(field.parameter))
}

/// Lays the arguments out; the newest block among them, as [`crate::memory::Span::ready`] counts. `None`: not here.
#[inline]
fn lay_out(memory: &Memory, kernel: &Kernel, launch: &Launch<'_>, block: &mut [u8]) -> Option<u64> {
    let mut ready = 0;
    for field in &kernel.parameters.fields {
        let place = block.get_mut(field.offset as usize..)?;
        match field.parameter {
            Parameter::Address { binding } => {
                let Binding::Buffer(region) = launch.bindings.get(binding)? else { return None };
                let span = memory.find(*region)?;
                ready = ready.max(span.ready);
                *place.first_chunk_mut()? = span.address.to_le_bytes();
            }
            Parameter::Elements { binding, start, stride } => {
                let Binding::Buffer(region) = launch.bindings.get(binding)? else { return None };
                let count = region.size.saturating_sub(start.into()).checked_div(stride.into())?;
                *place.first_chunk_mut()? = u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
            }
            Parameter::Value { binding, size } => {
                let Binding::Inline(bytes) = launch.bindings.get(binding)? else { return None };
                if bytes.len() != size as usize {
                    return None;
                }
                place.get_mut(..bytes.len())?.copy_from_slice(bytes);
            }
            Parameter::Immediates { size } => {
                let bytes = launch.immediates.get(..launch.immediates.len().min(size as usize))?;
                place.get_mut(..bytes.len())?.copy_from_slice(bytes);
            }
            Parameter::Record | Parameter::TimeLimit | Parameter::Indirect | Parameter::TensorMap { .. } => return None,
        }
    }
    Some(ready)
}

impl Submit {
    /// Whether a launch that touches blocks up to `ready` has nothing before it and nothing behind it that the host would have to see to.
    #[inline]
    fn is_plain(&self, ready: u64) -> bool {
        self.held.is_empty() && !self.draining && !self.stamp && self.dependents.is_empty() && ready <= self.ready
    }
}

impl Lane {
    /// Puts a launch into the stream, if it is a plain one. `None`: nothing has happened, it goes the general way.
    #[inline]
    pub(crate) fn launch_plain(&self, at: Position, kernel: &Kernel, launch: &Launch<'_>) -> Option<Result<(), DeviceError>> {
        let Grid::Direct(groups) = launch.grid else { return None };
        if !kernel.plain || !kernel.was_launched() || launch.time_limit != 0 {
            return None;
        }
        let mut block = Block([0; SIZE]);
        let arguments = block.0.get_mut(..kernel.parameters.size as usize)?;
        let ready = lay_out(&self.shared.memory, kernel, launch, arguments)?;
        let mut submit = self.submit.lock();
        if !submit.is_plain(ready) {
            return None;
        }
        Some(self.put_plain(&mut submit, at, (kernel, launch), (arguments, groups)))
    }

    fn put_plain(
        &self,
        submit: &mut Submit,
        at: Position,
        (kernel, launch): (&Kernel, &Launch<'_>),
        (arguments, groups): (&[u8], [u32; 3]),
    ) -> Result<(), DeviceError> {
        let shared = &self.shared;
        // Behind the lock, which whoever ends the queue after a fault has: nothing may follow.
        shared.well()?;
        self.accept(at);
        let home = shared.api.at_home(shared.home).map_err(|failure| shared.fail(failure))?;
        // Also when it fails: a part of it may be in the stream.
        submit.operations += 1;
        // Before: a fault of this very launch may be this call's answer.
        self.progress.recent.note(at, Some(launch.kernel));
        launch_now(&shared.api, kernel, arguments, groups, self.stream).map_err(|failure| shared.fail(failure))?;
        drop(home);
        self.note(submit, at);
        if self.wants_marker(submit) {
            return self.mark_behind(submit);
        }
        Ok(())
    }

    /// What is due every so many launches, or when somebody waits for this one.
    #[cold]
    fn mark_behind(&self, submit: &mut Submit) -> Result<(), DeviceError> {
        let placed = self.shared.enter().and_then(|calls| self.place_marker(submit, &calls));
        self.after_marker(placed)
    }
}
