//! Launches: every check that a caller's mistake can fail (L3, L4, L9), then the section, then one call of the device.
//!
//! **A device never has to refuse what passed here.** A refusal claims the outputs that it could make out (T2) before it answers.

use std::ops::Range;
use std::sync::Arc;

use compute_hal as hal;
use compute_kernel::reflection::{Access, BindingInfo, BindingKind, Reflection};
use compute_trust::{About, Error};
use smallvec::SmallVec;

use super::buffer::{Buffer, View};
use super::device::Device;
use super::error::{Failed, Result, error};
use super::kernel::Kernel;
use super::place::Place;
use super::section::{Begun, Outcome, Section, Subject, Touch, Write, refuse, refused_operation, region};
use super::stream::Stream;
use super::{code, log};

/// What is done with a launch (L6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Enqueue it.
    #[default]
    Execute,
    /// Check it and compile the kernel; touch no buffer (T11).
    CompileOnly,
    /// Queue the compilation.
    QueueCompilation,
}

/// How many workgroups.
#[derive(Clone, Copy, Debug)]
pub enum Grid<'a> {
    /// Known now. A zero is no work (L1).
    Direct([u32; 3]),
    /// Read by the device (L2): three u32.
    Indirect(Place<'a>),
}

/// What one binding is given.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// `@group`
    pub group: u32,
    /// `@binding`
    pub slot: u32,
    /// The view or the bytes.
    pub given: Given<'a>,
    /// The caller vouches that every byte gets written (T6a).
    pub write_all: bool,
}

/// A view, or inline bytes (L4).
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// A view of a buffer.
    Place(Place<'a>),
    /// The bytes of a uniform block.
    Inline(&'a [u8]),
}

/// A launch as asked for.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// `None` when its handle was no good.
    pub kernel: Option<&'a Arc<Kernel>>,
    /// How many workgroups.
    pub grid: Grid<'a>,
    /// In any order.
    pub bindings: &'a [Binding<'a>],
    /// The immediate block.
    pub immediates: &'a [u8],
    /// For messages.
    pub label: &'a str,
    /// What to do with it.
    pub mode: Mode,
}

/// What passed the checks: one entry per binding of the kernel.
struct Bound<'a> {
    slots: SmallVec<[Slot<'a>; 8]>,
    indirect: Option<(View, &'a Arc<Buffer>)>,
}

#[derive(Clone)]
enum Slot<'a> {
    Unused,
    View { view: View, buffer: &'a Arc<Buffer>, write_all: bool },
    Inline(&'a [u8]),
}

/// Launches on a stream, which is `None` when its handle was no good.
pub fn launch(stream: Option<&Stream>, launch: &Launch<'_>) -> Result<Outcome> {
    if launch.mode != Mode::Execute {
        return prepare(stream, launch);
    }
    let (stream, kernel, bound) = check(stream, launch).map_err(|made| refused(made, launch))?;
    if is_nothing(&launch.grid) {
        return Ok(Outcome::Enqueued);
    }
    // T7: what does not compile claims its outputs.
    let mut unsettled = Unsettled(Some(launch));
    let compiled = kernel.compiled();
    unsettled.0 = None;
    let id = compiled.map_err(|made| refused(made, launch))?;
    enqueue(stream, kernel, id, launch, &bound)
}

/// A launch whose compilation may panic: its outputs stay claimed (F2).
struct Unsettled<'a, 'b>(Option<&'a Launch<'b>>);

impl Drop for Unsettled<'_, '_> {
    fn drop(&mut self) {
        if let Some(launch) = self.0 {
            refused(error(code::INTERNAL, "the compilation of the kernel panicked"), launch);
        }
    }
}

fn is_nothing(grid: &Grid<'_>) -> bool {
    matches!(grid, Grid::Direct(counts) if counts.contains(&0))
}

/// L6 and T11: no buffer is touched and nothing is claimed, whatever happens.
fn prepare(stream: Option<&Stream>, launch: &Launch<'_>) -> Result<Outcome> {
    let (_, kernel, _) = check(stream, launch).map_err(Failed::of)?;
    match launch.mode {
        Mode::QueueCompilation => kernel.queue_compilation(),
        _ => drop(kernel.compiled().map_err(Failed::of)?),
    }
    Ok(Outcome::Enqueued)
}

fn check<'a>(
    stream: Option<&'a Stream>,
    launch: &Launch<'a>,
) -> std::result::Result<(&'a Stream, &'a Arc<Kernel>, Bound<'a>), Error> {
    let stream = stream.ok_or_else(|| error(code::INVALID_HANDLE, "the stream handle is not a live stream"))?;
    let kernel = launch.kernel.ok_or_else(|| error(code::INVALID_HANDLE, "the kernel handle is not a live kernel"))?;
    stream.device.check().map_err(|failed| (*failed.error).clone())?;
    if !Arc::ptr_eq(&kernel.device, &stream.device) {
        return Err(error(
            code::FOREIGN_HANDLE,
            format!("kernel `{}` was made for another device than the stream's", kernel.name),
        ));
    }
    let reflection = kernel.reflection();
    let slots = bind(&stream.device, reflection, launch.bindings)?;
    check_immediates(reflection, launch.immediates)?;
    let indirect = check_grid(&stream.device, kernel, &launch.grid)?;
    check_overlap(reflection, &slots, indirect.as_ref())?;
    Ok((stream, kernel, Bound { slots, indirect }))
}

/// Puts what was given in the order of the kernel's bindings.
fn bind<'a>(
    device: &Arc<Device>,
    reflection: &Reflection,
    given: &[Binding<'a>],
) -> std::result::Result<SmallVec<[Slot<'a>; 8]>, Error> {
    let mut slots: SmallVec<[Option<Slot<'a>>; 8]> = SmallVec::from_elem(None, reflection.bindings.len());
    for binding in given {
        let place = || format!("@group({}) @binding({})", binding.group, binding.slot);
        let Some(index) = reflection.find(binding.group, binding.slot) else {
            let message = format!("kernel `{}` has no {}; it has {}", reflection.entry, place(), list(reflection));
            return Err(error(code::BINDING, message));
        };
        let slot = bind_one(device, &reflection.bindings[index], binding)?;
        if slots[index].replace(slot).is_some() {
            return Err(error(code::BINDING, format!("{} is given twice", place())));
        }
    }
    slots
        .into_iter()
        .zip(&reflection.bindings)
        .map(|(slot, info)| match slot {
            Some(slot) => Ok(slot),
            None if info.access == Access::Unused => Ok(Slot::Unused),
            None => {
                let message = format!("kernel `{}` needs {}, which the launch does not give", reflection.entry, describe(info));
                Err(error(code::BINDING, message))
            }
        })
        .collect()
}

fn describe(info: &BindingInfo) -> String {
    format!("@group({}) @binding({}) `{}`", info.group, info.slot, info.name)
}

fn list(reflection: &Reflection) -> String {
    let all: Vec<String> = reflection.bindings.iter().take(16).map(describe).collect();
    if all.is_empty() { "no bindings".into() } else { all.join(", ") }
}

fn bind_one<'a>(device: &Arc<Device>, info: &BindingInfo, binding: &Binding<'a>) -> std::result::Result<Slot<'a>, Error> {
    match binding.given {
        Given::Inline(bytes) => bind_inline(info, bytes),
        Given::Place(place) => {
            let (view, buffer) = place.check(device, || describe(info))?;
            if info.access == Access::Unused {
                return Ok(Slot::Unused);
            }
            check_view(device, info, &view)?;
            Ok(Slot::View { view, buffer, write_all: binding.write_all })
        }
    }
}

fn bind_inline<'a>(info: &BindingInfo, bytes: &'a [u8]) -> std::result::Result<Slot<'a>, Error> {
    if info.kind != BindingKind::Uniform {
        let message = format!("{} is a storage buffer; inline bytes go to uniform blocks only", describe(info));
        return Err(error(code::BINDING, message));
    }
    let (size, least) = (bytes.len() as u64, info.min_size);
    if size < least || size > least.next_multiple_of(16) {
        let message =
            format!("{} has {least} bytes, {size} were given inline (padding up to a multiple of 16 is fine)", describe(info));
        return Err(error(code::BINDING, message));
    }
    Ok(if info.access == Access::Unused { Slot::Unused } else { Slot::Inline(bytes) })
}

fn check_view(device: &Device, info: &BindingInfo, view: &View) -> std::result::Result<(), Error> {
    let limits = device.limits();
    let (most, device_alignment) = match info.kind {
        BindingKind::Uniform => (limits.uniform_size, limits.uniform_alignment),
        BindingKind::Storage => (limits.binding_size, limits.storage_alignment),
    };
    if view.size < info.min_size {
        let message = format!("{} needs at least {} bytes, the view has {}", describe(info), info.min_size, view.size);
        return Err(error(code::BINDING, message));
    }
    if view.size > most {
        let message =
            format!("{}: the view has {} bytes, the device allows {most} for such a binding", describe(info), view.size);
        return Err(error(code::LIMIT, message));
    }
    let alignment = u64::from(info.alignment.max(device_alignment).max(1));
    if !view.offset.is_multiple_of(alignment) {
        let message = format!("{}: offset {} of the view is not a multiple of {alignment}", describe(info), view.offset);
        return Err(error(code::MISALIGNED, message));
    }
    Ok(())
}

fn check_immediates(reflection: &Reflection, immediates: &[u8]) -> std::result::Result<(), Error> {
    let expected = u64::from(reflection.immediate_size);
    if immediates.len() as u64 == expected {
        return Ok(());
    }
    let message =
        format!("kernel `{}` has an immediate block of {expected} bytes, {} were given", reflection.entry, immediates.len());
    Err(error(code::BINDING, message))
}

fn check_grid<'a>(
    device: &Arc<Device>,
    kernel: &Kernel,
    grid: &Grid<'a>,
) -> std::result::Result<Option<(View, &'a Arc<Buffer>)>, Error> {
    let limits = device.limits();
    match grid {
        Grid::Direct(counts) => {
            for (axis, (&asked, &allowed)) in ["x", "y", "z"].iter().zip(counts.iter().zip(&limits.grid)) {
                if asked > allowed {
                    let message =
                        format!("kernel `{}`: {asked} workgroups on the {axis} axis, the device allows {allowed}", kernel.name);
                    return Err(error(code::LIMIT, message));
                }
            }
            Ok(None)
        }
        Grid::Indirect(place) => {
            if !device.capabilities().indirect {
                return Err(error(code::UNSUPPORTED, "the device takes no grids from memory; its capabilities say so"));
            }
            let (view, buffer) = place.check(device, || "indirect grid".into())?;
            if view.size != 12 {
                return Err(error(
                    code::OUT_OF_RANGE,
                    format!("an indirect grid is 12 bytes (three u32), the view has {}", view.size),
                ));
            }
            if !view.offset.is_multiple_of(4) {
                return Err(error(
                    code::MISALIGNED,
                    format!("offset {} of the indirect grid is not a multiple of 4", view.offset),
                ));
            }
            Ok(Some((view, buffer)))
        }
    }
}

/// L9: views that overlap are fine when nobody writes there. The indirect grid counts as read.
fn check_overlap(
    reflection: &Reflection,
    slots: &[Slot<'_>],
    indirect: Option<&(View, &Arc<Buffer>)>,
) -> std::result::Result<(), Error> {
    let bound = |(slot, info)| match (slot, info) {
        (&Slot::View { ref view, .. }, info) => Some((view, info)),
        _ => None,
    };
    for (index, (view, info)) in slots.iter().zip(&reflection.bindings).filter_map(bound).enumerate() {
        let earlier = slots.iter().zip(&reflection.bindings).filter_map(bound).take(index);
        for (other, other_info) in earlier {
            if (info.access.writes() || other_info.access.writes()) && view.overlaps(other) {
                let message = format!(
                    "{} and {} overlap in buffer `{}` and one of them is written",
                    describe(other_info),
                    describe(info),
                    view.buffer.label
                );
                return Err(error(code::OVERLAP, message));
            }
        }
        if let Some((grid, _)) = indirect
            && info.access.writes()
            && view.overlaps(grid)
        {
            return Err(error(code::OVERLAP, format!("{} overlaps the indirect grid and is written", describe(info))));
        }
    }
    Ok(())
}

/// What the launch does to each range that it touches: inputs by slot, so that the first claimed one is the first by slot and offset.
fn touches<'a>(kernel: &Kernel, launch: &Launch<'_>, bound: &'a Bound<'_>) -> SmallVec<[Touch<'a>; 8]> {
    let mut touches: SmallVec<[Touch<'a>; 8]> = SmallVec::new();
    if let Some((view, buffer)) = &bound.indirect {
        touches.push(Touch { buffer, range: view.range(), reads: true, write: Write::No });
    }
    for (index, (slot, info)) in bound.slots.iter().zip(&kernel.reflection().bindings).enumerate() {
        if let Slot::View { view, buffer, write_all } = slot {
            let write = match info.access.writes() {
                false => Write::No,
                true if is_whole(kernel, launch, bound, index, view, *write_all) => Write::Whole,
                true => Write::Part,
            };
            touches.push(Touch { buffer, range: view.range(), reads: info.access.reads(), write });
        }
    }
    touches
}

/// T6a: proven by the analysis for this grid, or vouched for. An indirect launch is never whole.
fn is_whole(kernel: &Kernel, launch: &Launch<'_>, bound: &Bound<'_>, index: usize, view: &View, write_all: bool) -> bool {
    let Grid::Direct(grid) = launch.grid else { return false };
    if write_all {
        return true;
    }
    // A clean buffer has no claims to release and nothing to fill: the question is moot, unless somebody dirties it first.
    let Some(Some(store)) = kernel.entry.coverage().stores.get(index) else { return false };
    let inline = |binding: u32| match bound.slots.get(binding as usize) {
        Some(Slot::Inline(bytes)) => Some(*bytes),
        _ => None,
    };
    store.covers(kernel.reflection(), grid, view.size, launch.immediates, &inline)
}

fn enqueue(stream: &Stream, kernel: &Kernel, id: hal::KernelId, launch: &Launch<'_>, bound: &Bound<'_>) -> Result<Outcome> {
    let touches = touches(kernel, launch, bound);
    let label = if launch.label.is_empty() { &kernel.label } else { launch.label };
    let fails_late = kernel.fails_late || bound.indirect.is_some() || stream.device.capabilities().fails_late;
    let subject = Subject { name: &kernel.name, label, fails_late };
    let Begun::Go(section) = Section::begin(stream, &subject, &touches, None)? else { return Ok(Outcome::Skipped) };
    section.run(|queue, at| {
        let bindings = native_bindings(bound)?;
        let grid = match (&launch.grid, &bound.indirect) {
            (_, Some((view, buffer))) => hal::Grid::Indirect(region(buffer, &view.range())?),
            (Grid::Direct(counts), None) => hal::Grid::Direct(*counts),
            (Grid::Indirect(_), None) => return Err(hal::DeviceError::Internal("an indirect grid that was not checked".into())),
        };
        let native =
            hal::Launch { kernel: id, grid, bindings: &bindings, immediates: launch.immediates, time_limit: kernel.time_limit };
        queue.launch(at, &native)
    })?;
    log::line(log::LAUNCHES, || format!("launched `{}` `{label}` on stream {}", kernel.name, stream.id));
    Ok(Outcome::Enqueued)
}

fn native_bindings<'a>(bound: &'a Bound<'_>) -> std::result::Result<SmallVec<[hal::Binding<'a>; 8]>, hal::DeviceError> {
    let native = |slot: &'a Slot<'_>| {
        Ok(match slot {
            Slot::Unused => hal::Binding::Inline(&[]),
            Slot::Inline(bytes) => hal::Binding::Inline(bytes),
            Slot::View { view, buffer, .. } => hal::Binding::Buffer(region(buffer, &view.range())?),
        })
    };
    bound.slots.iter().map(native).collect()
}

/// Refuses a launch for a reason that only the caller of the runtime knows (a bad descriptor), and claims its outputs (T2).
pub fn refuse_launch(code: i32, message: String, launch: &Launch<'_>) -> Arc<Failed> {
    if launch.mode != Mode::Execute {
        return Failed::of(error(code, message));
    }
    refused(error(code, message), launch)
}

/// Claims what can be made out of the outputs of a launch that was refused (T2). Without a kernel nobody knows which they are, so all are.
fn refused(made: Error, launch: &Launch<'_>) -> Arc<Failed> {
    if is_nothing(&launch.grid) {
        return Failed::of(made);
    }
    let reflection = launch.kernel.map(|kernel| kernel.reflection());
    let is_output = |binding: &&Binding<'_>| match reflection {
        None => true,
        Some(reflection) => {
            reflection.find(binding.group, binding.slot).is_some_and(|index| reflection.bindings[index].access.writes())
        }
    };
    let outputs: Vec<(Arc<Buffer>, Range<u64>)> = launch
        .bindings
        .iter()
        .filter(is_output)
        .filter_map(|binding| match binding.given {
            Given::Place(place) => place.reachable(),
            Given::Inline(_) => None,
        })
        .collect();
    let kernel = launch.kernel.map_or_else(|| "launch".into(), |kernel| Arc::clone(&kernel.name));
    let about = About { operation: refused_operation(), label: launch.label.into(), kernel, stream: 0 };
    refuse(Error { about: Some(about), ..made }, &outputs)
}
