//! Launches of which the host keeps nothing, from the ids to the driver's call: the views are memory, the counts are known, nothing is reported. Most launches are like
//! this, and their cost on the host is what is here: no memory is allocated, nothing is written that other queues read, and the driver is asked which context is
//! current and for the launch, nothing else.
//!
//! All else goes the general way (`op`, `lane`): inline bytes that have to lie in pinned memory, reports, limits, counts in memory, a stamp, a block that the stream
//! has not waited for, a queue that holds work back. So do mistakes, whose errors are made there: here nothing is refused that could be told better.

use std::num::{NonZeroU32, NonZeroU64};

use compute_hal::kernel::cxx::{Parameter, Parameters};
use compute_hal::{Binding, DeviceError, Grid, Launch, Position};
use smallvec::SmallVec;

use crate::driver::Failure;
use crate::kernel::Kernel;
use crate::lane::{Lane, Submit};
use crate::launch::launch_now;
use crate::memory::Memory;

/// Bytes of a block of arguments at most.
const SIZE: usize = 256;

/// A block of arguments, aligned as a kernel's parameters may be.
#[repr(align(64))]
struct Block([u8; SIZE]);

impl Block {
    #[inline]
    fn put<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) {
        if let Some(place) = self.0.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) {
            *place = bytes;
        }
    }
}

/// How the arguments of a kernel are laid out here: found out once, for all its launches, and small, as each of them reads it: what most kernels have lies in it.
pub(crate) struct Plan {
    size: u16,
    views: SmallVec<[View; 3]>,
    bytes: Box<[Bytes]>,
}

/// A view's address, and how many elements it has where the kernel asks.
struct View {
    binding: u16,
    offset: u16,
    count: Option<Count>,
}

struct Count {
    offset: u16,
    /// Where elements begin, and how far they are apart.
    start: u32,
    stride: NonZeroU32,
}

/// Bytes of the launch's own: of a binding, or with none the immediates.
struct Bytes {
    binding: Option<usize>,
    offset: usize,
    size: usize,
}

impl Plan {
    /// `None`: some of what the kernel is given cannot be laid out here.
    pub(crate) fn of(parameters: &Parameters) -> Option<Self> {
        let whole = parameters.size as usize;
        let (mut views, mut bytes) = (SmallVec::<[View; 3]>::new(), Vec::new());
        for field in &parameters.fields {
            let offset = field.offset as usize;
            let size = match field.parameter {
                Parameter::Address { binding } => {
                    let (binding, offset) = (u16::try_from(binding).ok()?, u16::try_from(offset).ok()?);
                    views.push(View { binding, offset, count: None });
                    8
                }
                Parameter::Elements { .. } => 4,
                Parameter::Value { binding, size } => {
                    bytes.push(Bytes { binding: Some(binding), offset, size: size as usize });
                    size as usize
                }
                Parameter::Immediates { size } => {
                    bytes.push(Bytes { binding: None, offset, size: size as usize });
                    size as usize
                }
                Parameter::Record | Parameter::TimeLimit | Parameter::Indirect | Parameter::TensorMap { .. } => return None,
            };
            offset.checked_add(size).filter(|end| *end <= whole && whole <= SIZE)?;
        }
        for field in &parameters.fields {
            if let Parameter::Elements { binding, start, stride } = field.parameter {
                let view = views.iter_mut().find(|view| usize::from(view.binding) == binding && view.count.is_none())?;
                let (offset, stride) = (u16::try_from(field.offset).ok()?, NonZeroU32::new(stride)?);
                view.count = Some(Count { offset, start, stride });
            }
        }
        Some(Self { size: u16::try_from(whole).ok()?, views, bytes: bytes.into() })
    }

    /// Lays the arguments out; the newest block of memory among them, as [`crate::memory::Span::ready`] counts. `None`: not here.
    #[inline]
    fn lay_out(&self, memory: &Memory, launch: &Launch<'_>, block: &mut Block) -> Option<u64> {
        let mut ready = 0;
        for view in &self.views {
            let Some(Binding::Buffer(region)) = launch.bindings.get(usize::from(view.binding)) else { return None };
            let span = memory.find(*region)?;
            ready = ready.max(span.ready);
            block.put(view.offset.into(), span.address.to_le_bytes());
            if let Some(Count { offset, start, stride }) = &view.count {
                let count = region.size.saturating_sub((*start).into()) / NonZeroU64::from(*stride);
                block.put((*offset).into(), u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
            }
        }
        self.bytes.iter().try_for_each(|bytes| bytes.lay_out(launch, block))?;
        Some(ready)
    }
}

impl Bytes {
    fn lay_out(&self, launch: &Launch<'_>, block: &mut Block) -> Option<()> {
        let bytes = match self.binding {
            None => launch.immediates.get(..launch.immediates.len().min(self.size))?,
            Some(binding) => match launch.bindings.get(binding)? {
                Binding::Inline(bytes) if bytes.len() == self.size => bytes,
                _ => return None,
            },
        };
        block.0.get_mut(self.offset..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
}

impl Submit {
    /// Whether a launch that touches blocks up to `ready` has nothing before it and nothing behind it that the host would have to see to.
    #[inline]
    fn is_plain(&self, ready: u64) -> bool {
        self.held.is_empty() && !self.draining && !self.stamp && self.dependents.is_empty() && ready <= self.ready
    }
}

/// A failure, out of the way of those who hand the answer on: an error is 100 bytes or so, and a launch that went well is to copy none of them.
pub(crate) type Refused = Box<DeviceError>;

impl Lane {
    /// Puts a launch into the stream, if it is a plain one. `None`: nothing has happened, it goes the general way.
    #[inline]
    pub(crate) fn launch_plain(&self, at: Position, kernel: &Kernel, launch: &Launch<'_>) -> Option<Result<(), Refused>> {
        let Grid::Direct(groups) = launch.grid else { return None };
        let plan = kernel.plan.as_ref().filter(|_| kernel.was_launched() && launch.time_limit == 0)?;
        let mut block = Block([0; SIZE]);
        let ready = plan.lay_out(&self.shared.memory, launch, &mut block)?;
        let arguments = block.0.get(..plan.size.into())?;
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
    ) -> Result<(), Refused> {
        let shared = &self.shared;
        // Behind the lock, which whoever ends the queue after a fault has: nothing may follow.
        shared.well()?;
        self.accept(at);
        let home = shared.api.at_home(shared.home).map_err(|failure| self.refuse(failure))?;
        // Also when it fails: a part of it may be in the stream.
        submit.operations += 1;
        // Before: a fault of this very launch may be this call's answer.
        self.progress.recent.note(at, Some(launch.kernel));
        launch_now(&shared.api, kernel, arguments, groups, self.stream).map_err(|failure| self.refuse(failure))?;
        drop(home);
        self.note(submit, at);
        if self.wants_marker(submit) {
            return self.mark_behind(submit);
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, failure: Failure) -> Refused {
        let refused = Box::new(self.shared.fail(failure));
        self.shared.api.calls.forget_failures();
        refused
    }

    /// What is due every so many launches, or when somebody waits for this one.
    #[cold]
    fn mark_behind(&self, submit: &mut Submit) -> Result<(), Refused> {
        let placed = self.shared.enter().and_then(|calls| self.place_marker(submit, &calls));
        self.after_marker(placed).map_err(Box::new)
    }
}

#[cfg(test)]
mod tests {
    use compute_hal::kernel::cxx::{Field, Parameter, Parameters};

    use super::Plan;

    fn plan(size: u32, fields: &[(u32, Parameter)]) -> Option<Plan> {
        let fields = fields.iter().map(|(offset, parameter)| Field { offset: *offset, parameter: *parameter }).collect();
        Plan::of(&Parameters { size, fields })
    }

    #[test]
    fn only_views_and_bytes_that_fit_into_the_block_are_laid_out_the_short_way() {
        let address = |binding| Parameter::Address { binding };
        let elements = |binding, stride| Parameter::Elements { binding, start: 0, stride };
        assert!(plan(0, &[]).is_some());
        assert!(plan(32, &[(0, address(0)), (8, elements(0, 4)), (16, Parameter::Immediates { size: 16 })]).is_some());
        // The count before the address.
        assert!(plan(16, &[(0, elements(1, 4)), (8, address(1))]).is_some());
        let others = [Parameter::Record, Parameter::TimeLimit, Parameter::Indirect, Parameter::TensorMap { binding: 0 }];
        assert!(others.into_iter().all(|other| plan(256, &[(0, other)]).is_none()));
        assert!(plan(272, &[(0, address(0))]).is_none(), "larger than the block");
        assert!(plan(16, &[(12, address(0))]).is_none(), "it would end outside");
        assert!(plan(16, &[(0, address(0)), (8, elements(1, 4))]).is_none(), "a count of a view that has no address");
        assert!(plan(16, &[(0, address(0)), (8, elements(0, 0))]).is_none(), "elements without a size");
    }
}
