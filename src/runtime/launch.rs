//! Launches: checked in `bind.rs`, decided in a section, then one call of the device.
//!
//! **A device never has to refuse what passed here.** A refusal claims the outputs that it could make out (T2) before it answers.

use std::hint::cold_path;
use std::ops::Range;
use std::sync::Arc;

use compute_hal as hal;
use compute_trust::{About, Error};
use smallvec::SmallVec;

use super::bind::{Bound, Given, Slot, check, cuts_elements};
use super::buffer::Buffer;
use super::error::{Checked, Failed, Result, error};
use super::graph::{Request, named, record, watched};
use super::kernel::Kernel;
use super::place::Place;
use super::refuse::refuse_each;
use super::section::{
    Outcome, Performed, Subject, Touch, Write, no_memory, perform, put, refuse, refused_operation, region, room_for,
};
use super::stream::Stream;
use super::transfer::usable;
use super::{code, late, log, prints};

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
    pub given: Input<'a>,
    /// The caller vouches that every byte gets written (T6a).
    pub write_all: bool,
}

/// A view, inline bytes (L4), or a view as a tensor.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A view of a buffer.
    Place(Place<'a>),
    /// The bytes of a uniform block.
    Inline(&'a [u8]),
    /// A view of a buffer, as a tensor (L13).
    Tensor(Place<'a>, &'a hal::TensorMap),
}

impl<'a> Input<'a> {
    pub(super) fn map(&self) -> Option<&'a hal::TensorMap> {
        match self {
            Self::Tensor(_, map) => Some(map),
            Self::Place(_) | Self::Inline(_) => None,
        }
    }
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

/// Launches on a stream, which is `None` when its handle was no good.
pub fn launch(stream: Option<&Stream>, launch: &Launch<'_>) -> Result<Outcome> {
    watched(stream, || named(&Request::Launch(*launch)), || launch_now(stream, launch))
}

fn launch_now(stream: Option<&Stream>, launch: &Launch<'_>) -> Result<Outcome> {
    // A dry run compiles only (M5).
    if launch.mode != Mode::Execute || stream.is_some_and(Stream::is_dry) {
        return prepare(stream, launch);
    }
    if let Some(stream) = stream.filter(|stream| stream.window.is_recording()) {
        cold_path();
        let recorded = settling(launch, || record(stream, &Request::Launch(*launch)));
        if let Some(outcome) = recorded.map_err(|made| refused(*made, launch))? {
            return Ok(outcome);
        }
    }
    let mut bound = Bound::new();
    let (stream, kernel) = check(stream, launch, &mut bound).map_err(|made| refused(*made, launch))?;
    if is_nothing(&launch.grid) {
        cold_path();
        return usable(Some(stream)).map(|_| Outcome::Enqueued).map_err(|made| refused(*made, launch));
    }
    let id = match kernel.ready().filter(|_| bound.indirect.is_none()) {
        Some(id) => id,
        None => compiled(stream, kernel, launch, &bound)?,
    };
    enqueue(stream, kernel, id, launch, &bound)
}

/// T7: what does not compile claims its outputs.
#[cold]
fn compiled(stream: &Stream, kernel: &Kernel, launch: &Launch<'_>, bound: &Bound<'_>) -> Result<hal::KernelId> {
    let compiled: Checked<_> = usable(Some(stream)).and_then(|_| {
        settling(launch, || if bound.indirect.is_some() { kernel.compiled_for_counts() } else { kernel.compiled() })
    });
    compiled.map_err(|made| refused(*made, launch))
}

/// Makes a call that may compile, and panic at it.
fn settling<T>(launch: &Launch<'_>, call: impl FnOnce() -> T) -> T {
    let mut unsettled = Unsettled(Some(launch));
    let answer = call();
    unsettled.0 = None;
    answer
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

pub(super) fn is_nothing(grid: &Grid<'_>) -> bool {
    matches!(grid, Grid::Direct(counts) if counts.contains(&0))
}

/// L6 and T11: no buffer is touched and nothing is claimed, whatever happens.
#[cold]
fn prepare(stream: Option<&Stream>, launch: &Launch<'_>) -> Result<Outcome> {
    let (stream, kernel) = check(stream, launch, &mut Bound::new()).map_err(|made| Failed::of(*made))?;
    stream.device.check()?;
    match launch.mode {
        Mode::QueueCompilation => kernel.queue_compilation(),
        _ => drop(kernel.compiled().map_err(|made| Failed::of(*made))?),
    }
    Ok(Outcome::Enqueued)
}

/// What the launch does to each range that it touches: inputs by slot, so that the first claimed one is the first by slot and offset.
fn touches<'a>(
    kernel: &Kernel,
    launch: &Launch<'_>,
    bound: &Bound<'a>,
    fails_late: bool,
    touches: &mut SmallVec<[Touch<'a>; 8]>,
) {
    if let Some(span) = bound.indirect {
        cold_path();
        touches.push(Touch { span, reads: true, write: Write::No, rows: None });
    }
    // A clean buffer has no claims to release and nothing to fill, so it makes no difference there whether all of it is written, unless
    // late failures are about (T13). Should it get dirty before this launch has its mark, "a part" errs on the safe side.
    let exact = fails_late || late::active();
    for (index, (slot, fit)) in bound.slots.iter().zip(kernel.fits()).enumerate() {
        let Given::View(span) = slot.given else { continue };
        let (reads, writes) = fit.access();
        let write = if !writes {
            Write::No
        } else if exact || span.buffer.mark.glance().dirty {
            cold_path();
            written(kernel, launch, bound, index, span.size, slot.write_all)
        } else {
            Write::Part
        };
        put(touches, Touch { span, reads, write, rows: None });
    }
}

/// T6a: how much of a view that it writes a launch writes: all of it where that is proven by the analysis for this grid, or vouched for. An indirect launch is never whole,
/// nor is one that cannot reach every element of the view.
#[inline(never)]
pub(super) fn written(
    kernel: &Kernel,
    launch: &Launch<'_>,
    bound: &Bound<'_>,
    index: usize,
    size: u64,
    write_all: bool,
) -> Write {
    let Grid::Direct(grid) = launch.grid else { return Write::Part };
    if kernel.reflection().bindings.get(index).is_none_or(|info| cuts_elements(&kernel.device, info, size)) {
        return Write::Part;
    }
    if write_all || kernel.writes_all(index) {
        // Nobody can vouch for bytes that the portable source cannot write.
        return if kernel.leaves_bytes(index, size) { Write::Padded { seen: false } } else { Write::Whole };
    }
    let Some(store) = kernel.store(index) else { return Write::Part };
    let inline = |binding: u32| match bound.slots.get(binding as usize)?.given {
        Given::Inline(bytes) => Some(bytes),
        _ => None,
    };
    match store.covers(kernel.reflection(), grid, size, launch.immediates, &inline) {
        false => Write::Part,
        true if store.is_dense(size) => Write::Whole,
        true => Write::Padded { seen: false },
    }
}

fn enqueue(stream: &Stream, kernel: &Kernel, id: hal::KernelId, launch: &Launch<'_>, bound: &Bound<'_>) -> Result<Outcome> {
    let fails_late = kernel.may_fail_late || bound.indirect.is_some();
    let mut ranges = SmallVec::new();
    room_for(&mut ranges, bound.slots.len() + 1).map_err(|none| refused(no_memory(none), launch))?;
    touches(kernel, launch, bound, fails_late, &mut ranges);
    let label = if launch.label.is_empty() { &*kernel.label } else { launch.label };
    let subject = Subject { name: &kernel.name, label, fails_late, calls: 1, parts: None };
    let mut prints = None;
    if kernel.print_room > 0 {
        cold_path();
        let expected = prints::expect(&stream.queue, &kernel.name, label);
        prints = Some(expected.map_err(|none| refused(no_memory(none), launch))?);
    }
    let performed = perform(stream, &subject, &ranges, None, |step| {
        let mut bindings: SmallVec<[hal::Binding<'_>; 8]> = SmallVec::new();
        if room_for(&mut bindings, bound.slots.len()).is_err() {
            cold_path();
            return Err(hal::DeviceError::OutOfMemory { asked: 0, free: 0 });
        }
        for slot in &bound.slots {
            put(&mut bindings, native(slot)?);
        }
        let grid = match (&launch.grid, &bound.indirect) {
            (_, Some(span)) => {
                cold_path();
                hal::Grid::Indirect(region(span)?)
            }
            (Grid::Direct(counts), None) => hal::Grid::Direct(*counts),
            (Grid::Indirect(_), None) => return internal("an indirect grid that was not checked"),
        };
        let native =
            hal::Launch { kernel: id, grid, bindings: &bindings, immediates: launch.immediates, time_limit: kernel.time_limit };
        if let Some(prints) = &mut prints {
            cold_path();
            prints.note(step.at);
        }
        step.queue.launch(step.at, &native)
    })?;
    if matches!(performed, Performed::Enqueued(_)) {
        log::line(log::LAUNCHES, || format!("launched `{}` `{label}` on stream {}", kernel.name, stream.id));
    }
    Ok(performed.into())
}

/// What a device is given for a binding. Refused for a view of a buffer without memory, which passes no check.
#[inline]
fn native<'a>(slot: &Slot<'a>) -> std::result::Result<hal::Binding<'a>, hal::DeviceError> {
    let span = match slot.given {
        Given::Nothing => return Ok(hal::Binding::Inline(&[])),
        Given::Inline(bytes) => return Ok(hal::Binding::Inline(bytes)),
        Given::View(span) => span,
    };
    let Some(region) = span.buffer.region(&span.range()) else { return internal("work on an empty buffer") };
    Ok(match slot.map {
        None => hal::Binding::Buffer(region),
        Some(map) => {
            cold_path();
            hal::Binding::Tensor(region, map)
        }
    })
}

#[cold]
fn internal<T>(what: &str) -> std::result::Result<T, hal::DeviceError> {
    Err(hal::DeviceError::Internal(what.into()))
}

/// Refuses a launch for a reason that only the caller of the runtime knows (a bad descriptor), and claims its outputs (T2).
pub fn refuse_launch(code: i32, message: String, launch: &Launch<'_>) -> Arc<Failed> {
    if launch.mode != Mode::Execute {
        return Failed::of(error(code, message));
    }
    refused(error(code, message), launch)
}

/// Claims what can be made out of the outputs of a launch that was refused (T2). Without a kernel nobody knows which they are, so all are.
#[cold]
fn refused(made: Error, launch: &Launch<'_>) -> Arc<Failed> {
    if is_nothing(&launch.grid) {
        return Failed::of(made);
    }
    refuse(about(made, launch), launch.bindings.iter().filter_map(|binding| output(launch.kernel, binding)))
}

/// As [`refuse_launch`] for a launch whose bindings are at hand only one after another: `all` calls what it is given with each of them.
pub fn refuse_launch_of_each(
    code: i32,
    message: String,
    launch: &Launch<'_>,
    all: impl FnOnce(&mut dyn FnMut(&Binding<'_>)),
) -> Arc<Failed> {
    let made = error(code, message);
    if launch.mode != Mode::Execute || is_nothing(&launch.grid) {
        return Failed::of(made);
    }
    refuse_each(about(made, launch), |claim| {
        all(&mut |binding| {
            if let Some((buffer, range)) = output(launch.kernel, binding) {
                claim(buffer, range);
            }
        });
    })
}

/// What a launch would write through a binding, as far as that can be made out.
fn output<'a>(kernel: Option<&Arc<Kernel>>, binding: &Binding<'a>) -> Option<(&'a Arc<Buffer>, Range<u64>)> {
    let written = kernel.is_none_or(|kernel| {
        let reflection = kernel.reflection();
        let info = reflection.find(binding.group, binding.slot).and_then(|index| reflection.bindings.get(index));
        info.is_some_and(|info| info.access.writes())
    });
    match binding.given {
        Input::Place(place) | Input::Tensor(place, _) if written => place.reachable(),
        Input::Place(_) | Input::Tensor(..) | Input::Inline(_) => None,
    }
}

/// The same error, with the launch that it is about.
fn about(made: Error, launch: &Launch<'_>) -> Error {
    let kernel = launch.kernel.map_or_else(|| "launch".into(), |kernel| Arc::clone(&kernel.name));
    let about = About { operation: refused_operation(), label: launch.label.into(), kernel, stream: 0 };
    Error { about: Some(about), ..made }
}
