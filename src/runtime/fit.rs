//! What fits each binding of a kernel: its reflection and the device's limits put together once, when the kernel is made, so that a launch that is right is
//! found to be right by a few comparisons.
//!
//! Says only "it fits" or nothing. What does not fit here may still be right (given in another order, unused, a tensor map); `bind.rs` goes through it in
//! full, and has the words for what is wrong.

use std::sync::Arc;

use compute_kernel::reflection::{Access, BindingInfo, BindingKind, Reflection};

use super::bind::{Given, Slot, binding_limits, granule};
use super::device::Device;
use super::launch::{Binding, Input};
use super::place::{Place, Span};

/// What fits one binding.
pub(super) struct Fit {
    group: u32,
    slot: u32,
    reads: bool,
    writes: bool,
    /// Sizes of a view, and the low bits that are zero in what it begins at. `least` above `most`: no view fits.
    least: u64,
    most: u64,
    low: u64,
    /// Sizes of inline bytes. `least_inline` above `most_inline`: none fit.
    least_inline: u64,
    most_inline: u64,
}

/// No size is in this range.
const NONE: (u64, u64) = (1, 0);

impl Fit {
    /// For each binding of a kernel that was checked against the device's limits.
    pub(super) fn all(device: &Device, reflection: &Reflection) -> Box<[Self]> {
        reflection.bindings.iter().map(|info| Self::new(device, info)).collect()
    }

    fn new(device: &Device, info: &BindingInfo) -> Self {
        let (most, alignment) = binding_limits(device, info);
        let by_granule = info.min_size.checked_next_multiple_of(granule(device)).unwrap_or(u64::MAX);
        let least = if info.tail_stride == 0 { info.min_size } else { by_granule };
        let used = info.access != Access::Unused;
        let (least, most) = match info.kind {
            BindingKind::Storage | BindingKind::Uniform if used => (least, most),
            _ => NONE,
        };
        let (least_inline, most_inline) = match info.kind {
            BindingKind::Value => (info.min_size, info.min_size),
            BindingKind::Uniform if used => (info.min_size, info.min_size.next_multiple_of(16)),
            _ => NONE,
        };
        Self {
            group: info.group,
            slot: info.slot,
            reads: info.access.reads(),
            writes: info.access.writes(),
            least,
            most,
            low: alignment - 1,
            least_inline,
            most_inline,
        }
    }

    /// What the launch does to the view of the binding: whether it reads, and whether it writes.
    #[inline]
    pub(super) fn access(&self) -> (bool, bool) {
        (self.reads, self.writes)
    }

    /// The slot of a binding that plainly fits.
    #[inline]
    pub(super) fn accept<'a>(&self, device: &Arc<Device>, binding: &Binding<'a>) -> Option<Slot<'a>> {
        if (self.group, self.slot) != (binding.group, binding.slot) {
            return None;
        }
        let given = match binding.given {
            Input::Place(Place::View { buffer, offset, size }) => {
                let size = buffer.part(offset, size)?;
                let span = Span { buffer, offset, size };
                let fits = self.least <= size && size <= self.most && span.place() & self.low == 0;
                if !fits || !Arc::ptr_eq(&buffer.device, device) {
                    return None;
                }
                Given::View(span)
            }
            Input::Inline(bytes) => {
                let size = bytes.len() as u64;
                if size < self.least_inline || size > self.most_inline {
                    return None;
                }
                Given::Inline(bytes)
            }
            Input::Place(Place::BadHandle) | Input::Tensor(..) => return None,
        };
        Some(Slot { given, map: None, write_all: binding.write_all, seen: true })
    }
}
