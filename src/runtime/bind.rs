//! What a caller can get wrong about a launch (L3, L4, L9), checked against the kernel's reflection and the device's limits.
//!
//! Part of every launch, so nothing here allocates or counts references unless it refuses. Most launches are found to be right by `fit.rs`, and go through
//! none of the code here that finds out what is wrong.

use std::hint::cold_path;
use std::sync::Arc;

use compute_hal::{TENSOR_BOX_SIZE, TensorMap, TensorMistake};
use compute_kernel::reflection::{Access, BindingInfo, BindingKind, Reflection};
use smallvec::SmallVec;

use super::code;
use super::device::Device;
use super::error::{Checked, refusal};
use super::kernel::Kernel;
use super::launch::{Binding, Grid, Input, Launch};
use super::place::Span;
use super::section::{no_memory, put, room_for};
use super::stream::Stream;
use super::transfer::usable;

/// What passed the checks: one slot per binding of the kernel, in its order.
pub(super) struct Bound<'a> {
    pub(super) slots: SmallVec<[Slot<'a>; 8]>,
    pub(super) indirect: Option<Span<'a>>,
}

#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    pub(super) given: Given<'a>,
    /// How the view looks as a tensor, if the kernel takes it so (L13).
    pub(super) map: Option<&'a TensorMap>,
    pub(super) write_all: bool,
    pub(super) seen: bool,
}

/// What a binding was given.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    /// Nothing, or something that the kernel does not use.
    Nothing,
    /// A view.
    View(Span<'a>),
    /// Inline bytes.
    Inline(&'a [u8]),
}

impl Bound<'_> {
    pub(super) fn new() -> Self {
        Self { slots: SmallVec::new(), indirect: None }
    }
}

/// Checks a launch on a stream and puts what it was given in the order of the kernel's bindings. Whether the device is usable is not asked for a launch that is right:
/// whoever goes on with it asks, at the latest under the submission lock.
#[inline]
pub(super) fn check<'a>(
    stream: Option<&'a Stream>,
    launch: &Launch<'a>,
    bound: &mut Bound<'a>,
) -> Checked<(&'a Stream, &'a Arc<Kernel>)> {
    if launch.kernel.is_none() {
        return no_kernel();
    }
    let Some(stream) = stream else { return usable(None).and_then(|_| no_kernel()) };
    match check_on(&stream.device, launch, bound) {
        Ok(kernel) => Ok((stream, kernel)),
        Err(made) => {
            cold_path();
            // That the device is lost counts for more than what is wrong with the launch.
            usable(Some(stream)).and(Err(made))
        }
    }
}

fn no_kernel<T>() -> Checked<T> {
    refusal(code::INVALID_HANDLE, || "the kernel handle is not a live kernel".into())
}

/// The same for a launch that is not for a stream yet.
pub(super) fn check_on<'a>(device: &Arc<Device>, launch: &Launch<'a>, bound: &mut Bound<'a>) -> Checked<&'a Arc<Kernel>> {
    let Some(kernel) = launch.kernel else { return no_kernel() };
    if !Arc::ptr_eq(&kernel.device, device) {
        let message = || format!("kernel `{}` was made for another device", kernel.name);
        return refusal(code::FOREIGN_HANDLE, message);
    }
    bind(device, kernel, launch.bindings, &mut bound.slots)?;
    check_immediates(kernel, launch.immediates)?;
    bound.indirect = check_grid(device, kernel, &launch.grid)?;
    check_overlap(kernel, bound)?;
    Ok(kernel)
}

fn bind<'a>(device: &Arc<Device>, kernel: &Kernel, given: &[Binding<'a>], slots: &mut SmallVec<[Slot<'a>; 8]>) -> Checked<()> {
    room_for(slots, kernel.fits().len()).map_err(|none| Box::new(no_memory(none)))?;
    if given.len() == kernel.fits().len() {
        for (fit, binding) in kernel.fits().iter().zip(given) {
            let Some(slot) = fit.accept(device, binding) else { break };
            put(slots, slot);
        }
        if slots.len() == given.len() {
            return Ok(());
        }
        slots.clear();
    }
    cold_path();
    bind_each(device, kernel, given, slots)
}

/// The same for what is not given in the kernel's order, or does not plainly fit.
#[cold]
fn bind_each<'a>(
    device: &Arc<Device>,
    kernel: &Kernel,
    given: &[Binding<'a>],
    slots: &mut SmallVec<[Slot<'a>; 8]>,
) -> Checked<()> {
    let reflection = kernel.reflection();
    let infos = reflection.bindings.as_slice();
    slots.resize(infos.len(), Slot { given: Given::Nothing, map: None, write_all: false, seen: false });
    for (position, binding) in given.iter().enumerate() {
        let index = find(reflection, position, binding)?;
        let (slot, info) = (&mut slots[index], &infos[index]);
        if slot.seen {
            return refusal(code::BINDING, || format!("{} is given twice", describe(info)));
        }
        let given = bind_one(device, info, binding)?;
        // The portable source beside it has a storage buffer there.
        let map = binding.given.map().filter(|_| kernel.native_source().is_some());
        *slot = Slot { given, map, write_all: binding.write_all, seen: true };
    }
    for (slot, info) in slots.iter().zip(infos) {
        if !slot.seen && info.access != Access::Unused {
            let message = || format!("kernel `{}` needs {}, which the launch does not give", reflection.entry, describe(info));
            return refusal(code::BINDING, message);
        }
    }
    Ok(())
}

/// The index of a binding. Callers who give them in order, as most do, are answered at once.
fn find(reflection: &Reflection, position: usize, binding: &Binding<'_>) -> Checked<usize> {
    let here = |info: &BindingInfo| info.group == binding.group && info.slot == binding.slot;
    if reflection.bindings.get(position).is_some_and(here) {
        return Ok(position);
    }
    match reflection.find(binding.group, binding.slot) {
        Some(index) => Ok(index),
        None => refusal(code::BINDING, || {
            let (group, slot) = (binding.group, binding.slot);
            format!("kernel `{}` has no @group({group}) @binding({slot}); it has {}", reflection.entry, list(reflection))
        }),
    }
}

fn describe(info: &BindingInfo) -> String {
    format!("@group({}) @binding({}) `{}`", info.group, info.slot, info.name)
}

fn list(reflection: &Reflection) -> String {
    let all: Vec<String> = reflection.bindings.iter().take(16).map(describe).collect();
    if all.is_empty() { "no bindings".into() } else { all.join(", ") }
}

fn bind_one<'a>(device: &Arc<Device>, info: &BindingInfo, binding: &Binding<'a>) -> Checked<Given<'a>> {
    match binding.given {
        Input::Inline(bytes) => bind_inline(info, bytes),
        Input::Tensor(place, map) => bind_tensor(device, info, place.check(device, || describe(info))?, map).and_then(|span| {
            check_view(device, info, &span)?;
            Ok(Given::View(span))
        }),
        Input::Place(_) if info.kind == BindingKind::TensorMap => refusal(code::BINDING, || {
            format!("{} is a tensor map: a compute_tensor_map_desc comes with its view", describe(info))
        }),
        Input::Place(place) => {
            let span = place.check(device, || describe(info))?;
            if info.kind == BindingKind::Value {
                return refusal(code::BINDING, || {
                    format!("{} is a parameter by value: its {} bytes are given inline", describe(info), info.min_size)
                });
            }
            if info.access == Access::Unused {
                return Ok(Given::Nothing);
            }
            check_view(device, info, &span)?;
            Ok(Given::View(span))
        }
    }
}

fn bind_inline<'a>(info: &BindingInfo, bytes: &'a [u8]) -> Checked<Given<'a>> {
    let (size, least) = (bytes.len() as u64, info.min_size);
    if info.kind == BindingKind::Value {
        return if size == least { Ok(Given::Inline(bytes)) } else { wrong_value(info, size) };
    }
    if info.kind != BindingKind::Uniform {
        let message = || format!("{} is a storage buffer; inline bytes go to uniform blocks only", describe(info));
        return refusal(code::BINDING, message);
    }
    if size < least || size > least.next_multiple_of(16) {
        return refusal(code::BINDING, || {
            format!("{} has {least} bytes, {size} were given inline (padding up to a multiple of 16 is fine)", describe(info))
        });
    }
    Ok(if info.access == Access::Unused { Given::Nothing } else { Given::Inline(bytes) })
}

/// L13: everything is known here but where the block begins that the view lies in.
fn bind_tensor<'a>(device: &Device, info: &BindingInfo, span: Span<'a>, map: &TensorMap) -> Checked<Span<'a>> {
    if info.kind != BindingKind::TensorMap {
        return refusal(code::BINDING, || format!("{} is not declared as a tensor map, but given with one", describe(info)));
    }
    let room = if device.capabilities().tensor_maps { device.limits().workgroup_memory } else { TENSOR_BOX_SIZE };
    if let Err((mistake, why)) = map.check(span.size, info.access.writes(), room) {
        let status = match mistake {
            TensorMistake::Combination => code::INVALID_ARGUMENT,
            TensorMistake::Limit => code::LIMIT,
            TensorMistake::Alignment => code::MISALIGNED,
            TensorMistake::Range => code::OUT_OF_RANGE,
        };
        return refusal(status, || format!("tensor map of {}: {why}", describe(info)));
    }
    let alignment = map.alignment();
    if !span.place().is_multiple_of(alignment) {
        return refusal(code::MISALIGNED, || format!("tensor map of {}: {}", describe(info), misaligned(&span, alignment)));
    }
    Ok(span)
}

/// DL-08: a double where a float is expected gives nonsense, and no driver would say so.
#[cold]
fn wrong_value<T>(info: &BindingInfo, size: u64) -> Checked<T> {
    refusal(code::BINDING, || {
        let least = info.min_size;
        format!("{} is a parameter of {least} bytes by value, which are given inline; {size} were given", describe(info))
    })
}

/// How large a view may be, and what it begins at a multiple of: a power of two.
pub(super) fn binding_limits(device: &Device, info: &BindingInfo) -> (u64, u64) {
    let limits = device.limits();
    let (most, alignment) = match info.kind {
        BindingKind::Uniform => (limits.uniform_size, limits.uniform_alignment),
        BindingKind::Storage | BindingKind::Value | BindingKind::TensorMap => (limits.binding_size, limits.storage_alignment),
    };
    (most, u64::from(info.alignment.max(alignment).max(1)))
}

fn check_view(device: &Device, info: &BindingInfo, span: &Span<'_>) -> Checked<()> {
    let (most, alignment) = binding_limits(device, info);
    if span.size < info.min_size {
        let message = || format!("{} needs at least {} bytes, the view has {}", describe(info), info.min_size, span.size);
        return refusal(code::BINDING, message);
    }
    if info.tail_stride != 0 && whole_granules(device, span.size) < info.min_size {
        return refusal(code::BINDING, || {
            let (granule, size) = (granule(device), span.size);
            let least = info.min_size.next_multiple_of(granule);
            let binds = format!("this device, which binds multiples of {granule}");
            format!("{} needs at least {least} bytes on {binds}; the view has {size}", describe(info))
        });
    }
    if span.size > most {
        return refusal(code::LIMIT, || {
            format!("{}: the view has {} bytes, the device allows {most} for such a binding", describe(info), span.size)
        });
    }
    debug_assert!(alignment.is_power_of_two());
    if span.place() & (alignment - 1) != 0 {
        return refusal(code::MISALIGNED, || format!("{}: {}", describe(info), misaligned(span, alignment)));
    }
    Ok(())
}

fn misaligned(span: &Span<'_>, alignment: u64) -> String {
    let (offset, beyond) = (span.offset, span.buffer.beyond % alignment);
    let imported = if beyond == 0 { String::new() } else { format!(", counted from {beyond}, where imported memory begins,") };
    format!("offset {offset} of the view{imported} is not a multiple of {alignment}")
}

pub(super) fn granule(device: &Device) -> u64 {
    u64::from(device.capabilities().binding_granule.max(1))
}

/// How many of a view's bytes the device binds.
fn whole_granules(device: &Device, size: u64) -> u64 {
    size & !(granule(device) - 1)
}

/// Whether elements of a view are out of the kernel's reach, as the device binds it in multiples of some bytes.
pub(super) fn cuts_elements(device: &Device, info: &BindingInfo, size: u64) -> bool {
    let bound = whole_granules(device, size);
    if bound == size || info.tail_stride == 0 {
        return false;
    }
    let elements = |size: u64| size.saturating_sub(info.tail_offset.into()) / u64::from(info.tail_stride);
    elements(bound) != elements(size)
}

fn check_immediates(kernel: &Kernel, immediates: &[u8]) -> Checked<()> {
    let expected = u64::from(kernel.immediate_size);
    if immediates.len() as u64 == expected {
        return Ok(());
    }
    refusal(code::BINDING, || {
        format!("kernel `{}` has an immediate block of {expected} bytes, {} were given", kernel.name, immediates.len())
    })
}

fn check_grid<'a>(device: &Arc<Device>, kernel: &Kernel, grid: &Grid<'a>) -> Checked<Option<Span<'a>>> {
    let Grid::Indirect(place) = grid else {
        let Grid::Direct(counts) = grid else { return Ok(None) };
        return check_counts(kernel, counts).map(|()| None);
    };
    cold_path();
    if !device.capabilities().indirect {
        return refusal(code::UNSUPPORTED, || "the device takes no grids from memory; its capabilities say so".into());
    }
    let span = place.check(device, || "indirect grid".into())?;
    if span.size != 12 {
        let message = || format!("an indirect grid is 12 bytes (three u32), the view has {}", span.size);
        return refusal(code::OUT_OF_RANGE, message);
    }
    if span.place() & 3 != 0 {
        return refusal(code::MISALIGNED, || format!("indirect grid: {}", misaligned(&span, 4)));
    }
    Ok(Some(span))
}

#[inline]
fn check_counts(kernel: &Kernel, counts: &[u32; 3]) -> Checked<()> {
    let ([x, y, z], [most_x, most_y, most_z]) = (counts, &kernel.most);
    if x <= most_x && y <= most_y && z <= most_z {
        return Ok(());
    }
    too_many(kernel, counts)
}

#[cold]
fn too_many(kernel: &Kernel, counts: &[u32; 3]) -> Checked<()> {
    for (axis, (&asked, &allowed)) in counts.iter().zip(&kernel.most).enumerate() {
        if asked > allowed {
            return refusal(code::LIMIT, || {
                let axis = ["x", "y", "z"][axis];
                format!("kernel `{}`: {asked} workgroups on the {axis} axis, the device allows {allowed}", kernel.name)
            });
        }
    }
    Ok(())
}

/// L9: views that overlap are fine when nobody writes there, or when a native kernel declares them so. The indirect grid counts as read.
fn check_overlap(kernel: &Kernel, bound: &Bound<'_>) -> Checked<()> {
    if bound.indirect.is_none() && !shares(&bound.slots) { Ok(()) } else { check_each_overlap(kernel, bound) }
}

/// Whether two bindings are given the same buffer: otherwise nothing overlaps.
fn shares(mut slots: &[Slot<'_>]) -> bool {
    // Buffers that were made one after another often come in that order.
    let mut last = 0;
    let ascend = slots.iter().all(|slot| match &slot.given {
        Given::View(span) => {
            last < span.buffer.id && {
                last = span.buffer.id;
                true
            }
        }
        Given::Nothing | Given::Inline(_) => true,
    });
    if ascend {
        return false;
    }
    let mut shares = false;
    while let [slot, others @ ..] = slots {
        if let Given::View(span) = &slot.given {
            for other in others {
                shares |= matches!(&other.given, Given::View(other) if Arc::ptr_eq(span.buffer, other.buffer));
            }
        }
        slots = others;
    }
    shares
}

#[cold]
fn check_each_overlap(kernel: &Kernel, bound: &Bound<'_>) -> Checked<()> {
    let infos = kernel.reflection().bindings.as_slice();
    for (index, slot) in bound.slots.iter().enumerate() {
        let Given::View(span) = &slot.given else { continue };
        let writes = infos[index].access.writes();
        for (earlier, other) in bound.slots[..index].iter().enumerate() {
            let Given::View(other) = &other.given else { continue };
            if (writes || infos[earlier].access.writes()) && span.overlaps(other) && !kernel.may_overlap(earlier, index) {
                return refusal(code::OVERLAP, || {
                    let (one, two) = (describe(&infos[earlier]), describe(&infos[index]));
                    format!("{one} and {two} overlap in buffer `{}` and one of them is written", span.buffer.label())
                });
            }
        }
        if let Some(grid) = &bound.indirect
            && writes
            && span.overlaps(grid)
        {
            return refusal(code::OVERLAP, || format!("{} overlaps the indirect grid and is written", describe(&infos[index])));
        }
    }
    Ok(())
}
