//! What fits each binding of a kernel: its reflection and the device's limits put together once, when the kernel is made, so that a launch that is right is
//! found to be right by a few comparisons.
//!
//! Says only "it fits" or nothing. What does not fit here may still be right (given in another order, unused, a tensor map); `bind.rs` goes through it in
//! full, and has the words for what is wrong.

use std::hint::cold_path;
use std::sync::Arc;

use compute_kernel::reflection::{Access, BindingInfo, BindingKind, Reflection};

use super::bind::{Given, Slot, binding_limits, granule};
use super::device::Device;
use super::launch::{Binding, Input};
use super::place::{Place, Span};

/// What fits one binding. Two of them to a cache line: what needs larger numbers is left to `bind.rs`.
pub(super) struct Fit {
    group: u16,
    slot: u16,
    reads: bool,
    writes: bool,
    /// Sizes of a view, and the low bits that are zero in what it begins at. `least` above `most`: no view fits.
    least: u32,
    most: u64,
    low: u32,
    /// Sizes of inline bytes. `least_inline` above `most_inline`: none fit.
    least_inline: u32,
    most_inline: u32,
}

const _: () = assert!(size_of::<Fit>() == 32);

/// No size is in this range.
const NONE: (u64, u64) = (1, 0);

fn short(size: u64) -> Option<u32> {
    u32::try_from(size).ok()
}

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
        let (reads, writes) = (info.access.reads(), info.access.writes());
        let of =
            |group, slot, least, low| Some((u16::try_from(group).ok()?, u16::try_from(slot).ok()?, short(least)?, short(low)?));
        let (Some((group, slot, least, low)), Some(least_inline), Some(most_inline)) =
            (of(info.group, info.slot, least, alignment - 1), short(least_inline), short(most_inline))
        else {
            return Self { group: 0, slot: 0, reads, writes, least: 1, most: 0, low: 0, least_inline: 1, most_inline: 0 };
        };
        Self { group, slot, reads, writes, least, most, low, least_inline, most_inline }
    }

    /// What the launch does to the view of the binding: whether it reads, and whether it writes.
    #[inline]
    pub(super) fn access(&self) -> (bool, bool) {
        (self.reads, self.writes)
    }

    /// The slot of a binding that plainly fits.
    #[inline]
    pub(super) fn accept<'a>(&self, device: &Arc<Device>, binding: &Binding<'a>) -> Option<Slot<'a>> {
        if (u32::from(self.group), u32::from(self.slot)) != (binding.group, binding.slot) {
            cold_path();
            return None;
        }
        let given = match binding.given {
            Input::Place(Place::View { buffer, offset, size }) => {
                let Some(size) = buffer.part(offset, size) else {
                    cold_path();
                    return None;
                };
                let span = Span { buffer, offset, size };
                let fits = u64::from(self.least) <= size && size <= self.most && span.place() & u64::from(self.low) == 0;
                if !fits || !Arc::ptr_eq(&buffer.device, device) {
                    cold_path();
                    return None;
                }
                Given::View(span)
            }
            Input::Inline(bytes) => {
                let size = bytes.len() as u64;
                if size < self.least_inline.into() || size > self.most_inline.into() {
                    cold_path();
                    return None;
                }
                Given::Inline(bytes)
            }
            Input::Place(Place::BadHandle) | Input::Tensor(..) => {
                cold_path();
                return None;
            }
        };
        Some(Slot { given, map: None, write_all: binding.write_all, seen: true })
    }
}
