//! Launches and replays of graphs as they go into a queue's stream.

use std::ffi::c_void;
use std::sync::Arc;

use compute_hal::{DeviceError, Position};
use smallvec::SmallVec;

use crate::api::{Api, Inside, Object};
use crate::driver::{Failure, Flags};
use crate::flight::{Laps, Told};
use crate::graph::{Listed, Replay, Step};
use crate::kernel::Kernel;
use crate::lane::{Lane, Submit};
use crate::limit::STOPPED;
use crate::op::{Call, Groups, Inline, put};
use crate::staging::{ALIGNMENT, Slice};

/// Bytes in which a kernel tells of counts over the limits.
const COUNTS: usize = 16;

/// Bytes of pinned memory for a launch's uniform bytes.
pub(crate) fn inline_size(inline: &Inline<'_>) -> usize {
    inline.iter().map(|(_, bytes)| room_for(bytes)).sum()
}

/// The same for one binding.
pub(crate) fn room_for(bytes: &[u8]) -> usize {
    bytes.len().max(1).next_multiple_of(ALIGNMENT)
}

/// Bytes of pinned memory for a launch: uniform bytes, then what it reports into.
pub(crate) fn pinned_size(call: &Call<'_>) -> usize {
    let record = call.record.and(call.kernel.reports.record()).map_or(0, |record| record.size as usize);
    let stopped = call.limit.map_or(0, |_| STOPPED);
    let counts = call.counts.map_or(0, |_| COUNTS);
    // One behind the other, each aligned.
    let reports = [record, stopped, counts].into_iter().filter(|size| *size > 0);
    reports.fold(inline_size(&call.inline), |end, size| end.next_multiple_of(ALIGNMENT) + size)
}

/// Puts uniform bytes to their place, and where that is among the arguments.
pub(crate) fn place_inline(inline: &Inline<'_>, room: Slice, arguments: &mut [u8]) -> Result<(), DeviceError> {
    let mut start = 0;
    for (offset, bytes) in inline {
        room.put(start, bytes);
        put(arguments, *offset, &(room.address + start as u64).to_le_bytes())?;
        start += room_for(bytes);
    }
    Ok(())
}

/// Calls `use_it` with a block of arguments as a launch takes it: `arguments` and `extra`, of which one is null.
#[inline(always)]
pub(crate) fn with_arguments<R>(
    kernel: &Kernel,
    flags: &Flags,
    arguments: &[u8],
    use_it: impl FnOnce(*mut *mut c_void, *mut *mut c_void) -> R,
) -> R {
    let block = arguments.as_ptr().cast_mut();
    if let Some(places) = &kernel.places {
        return use_it(one_by_one(block, places).as_mut_ptr(), std::ptr::null_mut());
    }
    let [pointer, size, end] = flags.launch_markers.map(std::ptr::without_provenance_mut);
    let mut bytes = arguments.len();
    let mut extra = [pointer, block.cast(), size, (&raw mut bytes).cast(), end];
    use_it(std::ptr::null_mut(), extra.as_mut_ptr())
}

/// Where each argument lies. Few kernels want that: theirs have parameters of a greater alignment than a block is known to have.
#[cold]
fn one_by_one(block: *mut u8, places: &[u32]) -> SmallVec<[*mut c_void; 16]> {
    places.iter().map(|place| block.wrapping_add(*place as usize).cast()).collect()
}

/// The call of a launch, with the device's home the thread's.
#[inline]
pub(crate) fn launch_now(api: &Api, kernel: &Kernel, arguments: &[u8], groups: [u32; 3], stream: Object) -> Result<(), Failure> {
    let ([x, y, z], [bx, by, bz]) = (groups, kernel.workgroup_size);
    with_arguments(kernel, &api.vendor.flags, arguments, |arguments, extra| {
        // SAFETY: the function is of a loaded module; the block of arguments is as long as its parameter, or as all of them, which the driver copies before it returns.
        unsafe { api.calls.launch(kernel.function.0, x, y, z, bx, by, bz, kernel.shared, stream.0, arguments, extra) }
    })
}

/// A replay, and how far it is in the stream.
pub(crate) struct Playing {
    replay: Replay,
    /// The node that comes next.
    next: usize,
    /// Where nodes are measured: an event before the first and behind each.
    laps: Option<Laps>,
}

impl Playing {
    pub(crate) fn new(replay: Replay) -> Self {
        let measured = replay.list.as_ref().and_then(|list| Some((list.times.as_ref()?, list.steps.len())));
        let laps = measured.map(|(times, nodes)| Laps { times: Arc::clone(times), nodes, marks: Vec::new(), whole: false });
        Self { replay, next: 0, laps }
    }

    /// All of it is in the stream, or no more will be.
    pub(crate) fn end(self, submit: &mut Submit, outcome: Result<bool, DeviceError>) -> Result<(), DeviceError> {
        submit.load.laps.extend(self.laps.map(|laps| Laps { whole: matches!(outcome, Ok(true)), ..laps }));
        outcome.map(|_| ())
    }

    /// Events that were recorded for it.
    pub(crate) fn timed(&self) -> impl Iterator<Item = Object> {
        self.laps.iter().flat_map(Laps::timed)
    }
}

impl Lane {
    /// A launch whose counts are known; `node`: of a replay.
    pub(crate) fn launch_direct(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        at: Position,
        (call, groups): (&Call<'_>, [u32; 3]),
        node: Option<u32>,
    ) -> Result<(), DeviceError> {
        let size = pinned_size(call);
        if size == 0 {
            return self.hand_over(calls, at, (call, groups), &call.arguments);
        }
        // One for all: a chunk that was left for another would be given back with a marker that lies before this launch.
        let slice = self.slice(submit, calls, size)?;
        // A node's launch is needed as it is by later replays.
        let mut arguments = call.arguments.clone();
        place_inline(&call.inline, slice, &mut arguments)?;
        let told = self.place_reports(submit, at, call, slice, &mut arguments)?;
        self.hand_over(calls, at, (call, groups), &arguments)?;
        told.into_iter().for_each(|told| self.progress.tell(Told { node, ..told }));
        Ok(())
    }

    /// Hands a launch to the driver.
    fn hand_over(
        &self,
        calls: &Inside<'_>,
        at: Position,
        (call, groups): (&Call<'_>, [u32; 3]),
        arguments: &[u8],
    ) -> Result<(), DeviceError> {
        // Before: a fault of this very launch may be this call's answer.
        self.progress.recent.note(at, Some(call.id));
        launch_now(calls.api, &call.kernel, arguments, groups, self.stream).map_err(|f| self.shared.fail(f))?;
        call.kernel.note_launched();
        Ok(())
    }

    /// Makes what a launch reports into, behind its uniform bytes.
    fn place_reports(
        &self,
        submit: &mut Submit,
        at: Position,
        call: &Call<'_>,
        slice: Slice,
        arguments: &mut [u8],
    ) -> Result<Option<Told>, DeviceError> {
        let mut told = Told {
            position: at,
            kernel: call.id,
            node: None,
            record: None,
            reports: Arc::clone(&call.kernel.reports),
            stopped: None,
            counts: None,
        };
        let mut start = inline_size(&call.inline);
        if let (Some(offset), Some(record)) = (call.record, call.kernel.reports.record()) {
            let record = slice.part(start, record.size as usize);
            record.clear();
            put(arguments, offset, &record.address.to_le_bytes())?;
            told.record = Some(record);
            start = (start + record.size).next_multiple_of(ALIGNMENT);
        }
        if let Some((offset, limit)) = call.limit {
            let stopped = slice.part(start, STOPPED);
            stopped.clear();
            put(arguments, offset, &self.time_limit(submit, stopped, limit)?)?;
            told.stopped = Some((stopped, limit));
            start = (start + STOPPED).next_multiple_of(ALIGNMENT);
        }
        if let Some(offset) = call.counts {
            let counts = slice.part(start, COUNTS);
            counts.clear();
            put(arguments, offset.saturating_add(8), &counts.address.to_le_bytes())?;
            told.counts = Some((counts, self.shared.limits.grid));
        }
        Ok((told.record.is_some() || told.stopped.is_some() || told.counts.is_some()).then_some(told))
    }

    /// Puts a graph into the stream.
    pub(crate) fn replay(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        at: Position,
        replay: Replay,
    ) -> Result<(), DeviceError> {
        let mut playing = Playing::new(replay);
        let outcome = self.play(submit, calls, at, &mut playing, |_, _| Ok(true));
        playing.end(submit, outcome)
    }

    /// Puts nodes of a graph into the stream for as long as `has_room` says that there is room for the next. Says whether all are there.
    pub(crate) fn play(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        at: Position,
        playing: &mut Playing,
        has_room: impl Fn(&mut Submit, &Step) -> Result<bool, DeviceError>,
    ) -> Result<bool, DeviceError> {
        let Playing { replay, next, laps } = playing;
        let Some(Listed { steps, .. }) = &replay.list else {
            self.progress.recent.note(at, None);
            return replay.launch(calls, self.stream).map(|()| true).map_err(|f| self.shared.fail(f));
        };
        let lap = |node, laps: &mut Option<Laps>| {
            let Some(laps) = laps else { return Ok(()) };
            self.progress.lap(calls, self.stream, node, laps).map_err(|f| self.shared.fail(f))
        };
        if laps.as_ref().is_some_and(|laps| laps.marks.is_empty()) {
            lap(None, laps)?;
        }
        while let Some(step) = steps.get(*next) {
            if !matches!(**step, Step::Nothing) {
                if !has_room(submit, step)? {
                    return Ok(false);
                }
                // Of what lies behind the marker that may just have made room.
                submit.operations = submit.operations.max(1);
                let node = u32::try_from(*next).unwrap_or(u32::MAX);
                self.step(submit, calls, at, (node, step))?;
                lap(Some(*next), laps)?;
            }
            *next += 1;
        }
        Ok(true)
    }

    fn step(&self, submit: &mut Submit, calls: &Inside<'_>, at: Position, (node, step): (u32, &Step)) -> Result<(), DeviceError> {
        match step {
            Step::Nothing => Ok(()),
            Step::Fill { to, size, pattern } => self.fill(submit, calls, *to, *size, pattern),
            Step::Copy(rows) => crate::moves::rows(calls, self.stream, rows, self.shared.pitch).map_err(|f| self.shared.fail(f)),
            Step::Rows(copies) => {
                let one = |rows| crate::moves::rows(calls, self.stream, rows, self.shared.pitch).map_err(|f| self.shared.fail(f));
                copies.iter().try_for_each(one)
            }
            Step::Launch(call) => {
                let Groups::Direct(groups) = call.groups else {
                    return Err(DeviceError::Internal("a node whose counts are not known".into()));
                };
                self.launch_direct(submit, calls, at, (call, groups), Some(node))
            }
        }
    }
}
