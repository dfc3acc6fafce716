//! Graphs of the driver's, made of explicit nodes: one for each node of the runtime's, several for a fill that the driver has no node for.
//!
//! The driver copies a launch's block of arguments. What these point at, uniform bytes, and what fills start from lies in pinned memory of the graph's. A replay
//! that is on its way reads it, so an update takes other bytes of that memory; the old ones are used again when the replays of that time are over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use compute_hal::kernel::cxx::Parameter;
use compute_hal::{Binding, DeviceError, Grid, Launch, Node, NodeWork, Pitched};

use crate::api::{Garbage, Inside, Object};
use crate::device::Shared;
use crate::driver::{Copy3d, Failure, FillNode, Handle, KernelNode, NodeParameters};
use crate::graph::{Step, Uses, kernel_of, reserved};
use crate::kernel::Kernel;
use crate::launch::{inline_size, place_inline, room_for, with_arguments};
use crate::moves::even;
use crate::op::{Call, Groups, Move};
use crate::reclaim::Reclaim;
use crate::staging::{ALIGNMENT, Pinned, Slice};

/// Bytes that a fill with a long pattern starts from; a multiple of every pattern.
const SEED: u64 = 4096;
/// The most of the driver's nodes that a copy of rows may become.
const MOST_COPIES: u64 = 64;
/// The smallest block of pinned memory for updates.
const BLOCK: usize = 16 << 10;
const NULL: Object = Object(std::ptr::null_mut());

/// What updates can do to a node.
#[derive(Clone, Copy)]
enum Kind {
    Launch,
    Copy,
    Fill,
    /// Nothing: it is several of the driver's nodes, or does nothing.
    Fixed,
}

/// A node of the runtime's.
struct Made {
    /// The driver's last node for it.
    last: Object,
    kind: Kind,
    /// Its uniform bytes.
    room: Option<Slice>,
    /// Lives as long as what launches it.
    _kernel: Option<Arc<Kernel>>,
}

/// Pinned memory of a graph.
#[derive(Default)]
struct Arena {
    blocks: Vec<Pinned>,
    /// Bytes of the last one that are used.
    used: usize,
}

/// A graph of the driver's.
pub(crate) struct Native {
    /// Kept because its nodes are how the driver names those that are to be changed.
    source: Object,
    executable: Object,
    nodes: Vec<Made>,
    arena: Arena,
    /// Bytes that may be used again when replays are over, by their size: first those whose replays are over first.
    spare: BTreeMap<usize, VecDeque<(Slice, Uses)>>,
    reclaim: Arc<Reclaim>,
}

impl Drop for Native {
    fn drop(&mut self) {
        // Before the memory and the kernels, which are fields.
        if !self.executable.0.is_null() {
            self.reclaim.throw(Garbage::Executable(self.executable));
        }
        if !self.source.0.is_null() {
            self.reclaim.throw(Garbage::Graph(self.source));
        }
    }
}

/// What one of the driver's nodes does.
enum Piece<'a> {
    Launch(&'a Kernel, [u32; 3], &'a [u8]),
    Copy(Source, u64, u64),
    /// Rows at a pitch, where the driver has boxes.
    Rows(&'a Move),
    Fill(FillNode),
    Nothing,
}

#[derive(Clone, Copy)]
enum Source {
    Device(u64),
    Host(Slice),
}

/// The driver's calls for nodes.
struct Nodes<'a> {
    calls: &'a Inside<'a>,
    /// The device's, or null.
    context: Handle,
}

impl Arena {
    fn take(&mut self, calls: &Inside<'_>, reclaim: &Arc<Reclaim>, size: usize) -> Result<Slice, Failure> {
        let start = self.used.next_multiple_of(ALIGNMENT);
        if let Some(block) = self.blocks.last()
            && start.checked_add(size).is_some_and(|end| end <= block.size)
        {
            self.used = start + size;
            return Ok(Slice::of(block, start, size));
        }
        let block = Pinned::new(calls, reclaim, size)?;
        let slice = Slice::of(&block, 0, size);
        self.blocks.push(block);
        self.used = size;
        Ok(slice)
    }
}

/// Bytes of pinned memory that nodes take as the driver's. `None`: one of them is played, and so all are. Asks for nothing but what is known of a kernel and the sizes of what
/// it is given.
pub(crate) fn room(shared: &Shared, calls: &Inside<'_>, nodes: &[Node<'_>]) -> Result<Option<usize>, DeviceError> {
    let mut all = 0_usize;
    for node in nodes {
        let room = match &node.work {
            NodeWork::Launch(launch) => shared.with_kernel(launch.kernel, |kernel| Ok(room_of_launch(kernel, launch)))?,
            NodeWork::CopyRows(copies) => fits(shared, calls, copies).then_some(0),
            NodeWork::Fill { to, pattern } if even(0, to.size, pattern).is_none() => {
                Some(bytes(SEED.min(to.size)).next_multiple_of(ALIGNMENT))
            }
            NodeWork::Fill { .. } | NodeWork::Copy { .. } | NodeWork::Join => Some(0),
        };
        let Some(room) = room else { return Ok(None) };
        all = all.saturating_add(room);
    }
    Ok(Some(all))
}

/// Uniform bytes of a launch. `None`: it reports, or may be stopped, for which each replay has a place of its own.
fn room_of_launch(kernel: &Kernel, launch: &Launch<'_>) -> Option<usize> {
    match launch.grid {
        Grid::Direct(groups) if groups.contains(&0) => return Some(0),
        Grid::Direct(_) => {}
        Grid::Indirect(_) => return None,
    }
    let mut room = 0_usize;
    for field in &kernel.parameters.fields {
        match field.parameter {
            Parameter::Address { binding } => {
                if let Some(Binding::Inline(bytes)) = launch.bindings.get(binding) {
                    room = room.saturating_add(room_for(bytes));
                }
            }
            Parameter::TimeLimit | Parameter::Indirect => return None,
            Parameter::Record if kernel.reports.record().is_some() => return None,
            _ => {}
        }
    }
    Some(room)
}

/// Whether copies of rows can be the driver's nodes.
fn fits(shared: &Shared, calls: &Inside<'_>, copies: &[Pitched]) -> bool {
    let each = |copy: &Pitched| if calls.graph_add_copy_in.is_some() { 1 } else { copy.rows };
    copies.iter().all(|rows| rows.from_pitch.max(rows.to_pitch) <= shared.pitch)
        && copies.iter().map(each).fold(0, u64::saturating_add) <= MOST_COPIES
}

/// What one of the driver's nodes copies: a box, or a row where it has none.
fn runs(copies: &[Move], boxes: bool) -> impl Iterator<Item = Move> {
    copies.iter().flat_map(move |rows| {
        let (apart, each) = if boxes { (1, rows.rows) } else { (rows.rows, 1) };
        let Move { to, from, to_pitch, from_pitch, .. } = *rows;
        (0..apart).map(move |row| Move { to: to + row * to_pitch, from: from + row * from_pitch, rows: each, ..*rows })
    })
}

impl Native {
    /// Hands the nodes to the driver one by one; `room` is what [`room`] says of them. Also tells the newest block that any of them touches.
    pub(crate) fn new(shared: &Shared, calls: &Inside<'_>, nodes: &[Node<'_>], room: usize) -> Result<(Self, u64), DeviceError> {
        let reclaim = Arc::clone(&shared.reclaim);
        let (spare, made) = (BTreeMap::new(), reserved(nodes.len())?);
        let mut graph = Self { source: NULL, executable: NULL, nodes: made, arena: Arena::default(), spare, reclaim };
        let fail = |failure| shared.fail(failure);
        // SAFETY: the place is ours.
        unsafe { calls.graph_create(&mut graph.source.0, 0) }.map_err(fail)?;
        if room > 0 {
            // All in one block.
            graph.arena.blocks.push(shared.pinned(calls, room)?);
        }
        let driver = Nodes { calls, context: shared.context() };
        let (mut after, mut newest) = (Vec::new(), 0);
        for node in nodes {
            after.clear();
            let asked = size_of_val(node.after) as u64;
            after.try_reserve(node.after.len()).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
            for before in node.after {
                let before = graph.nodes.get(*before as usize);
                after.push(before.ok_or_else(|| DeviceError::Internal("an edge that leads to no earlier node".into()))?.last.0);
            }
            let kernel = kernel_of(shared, &node.work)?;
            let (mut step, ready) = Step::new(shared, &node.work, kernel.as_ref())?;
            if step.reports() {
                return Err(DeviceError::Internal("a node that reports in a graph of the driver's".into()));
            }
            newest = newest.max(ready);
            let (last, kind, room) = graph.add(shared, &driver, &after, &mut step)?;
            drop(step);
            graph.nodes.push(Made { last, kind, room, _kernel: kernel });
        }
        // SAFETY: the graph lives; the place is ours.
        unsafe { calls.graph_instantiate(&mut graph.executable.0, graph.source.0, 0) }.map_err(fail)?;
        Ok((graph, newest))
    }

    /// Adds a node behind others: the driver's last node for it, what updates can do to that, and where its uniform bytes are.
    fn add(
        &mut self,
        shared: &Shared,
        driver: &Nodes<'_>,
        after: &[Handle],
        step: &mut Step<'_>,
    ) -> Result<(Object, Kind, Option<Slice>), DeviceError> {
        let fail = |failure| shared.fail(failure);
        let add = |piece: &Piece<'_>| driver.add(self.source, after, piece).map_err(fail);
        Ok(match step {
            Step::Nothing => (add(&Piece::Nothing)?, Kind::Fixed, None),
            Step::Copy(rows) => (add(&copy(rows))?, Kind::Copy, None),
            Step::Rows(copies) => (self.add_rows(shared, driver, after, copies)?, Kind::Fixed, None),
            Step::Fill { to, size, pattern } => {
                let (last, kind) = self.add_fill(shared, driver, after, (*to, *size, pattern))?;
                (last, kind, None)
            }
            Step::Launch(call) => {
                let room = match inline_size(&call.inline) {
                    0 => None,
                    size => Some(self.arena.take(driver.calls, &self.reclaim, size).map_err(fail)?),
                };
                place(call, room)?;
                (driver.add(self.source, after, &launch_of(call)).map_err(fail)?, Kind::Launch, room)
            }
        })
    }

    /// Adds copies of rows, one node behind the other.
    fn add_rows(
        &mut self,
        shared: &Shared,
        driver: &Nodes<'_>,
        after: &[Handle],
        copies: &[Move],
    ) -> Result<Object, DeviceError> {
        let mut last = None;
        for run in runs(copies, driver.calls.graph_add_copy_in.is_some()) {
            let before = last.map(|Object(node)| [node]);
            let after = before.as_ref().map_or(after, |before| before.as_slice());
            let piece = if run.rows == 1 { copy(&run) } else { Piece::Rows(&run) };
            last = Some(driver.add(self.source, after, &piece).map_err(|failure| shared.fail(failure))?);
        }
        last.ok_or_else(|| DeviceError::Internal("a copy of no rows".into()))
    }

    /// Adds a fill as the lane does it, one node behind the other.
    fn add_fill(
        &mut self,
        shared: &Shared,
        driver: &Nodes<'_>,
        after: &[Handle],
        (to, size, pattern): (u64, u64, &[u8]),
    ) -> Result<(Object, Kind), DeviceError> {
        let fail = |failure| shared.fail(failure);
        if let Some(even) = even(to, size, pattern) {
            let mut last = None;
            let whole = (even.count > 0).then_some(even.node(to));
            for fill in whole.into_iter().chain(even.rest()) {
                let before = last.map(|Object(node)| [node]);
                let after = before.as_ref().map_or(after, |before| before.as_slice());
                last = Some(driver.add(self.source, after, &Piece::Fill(fill)).map_err(fail)?);
            }
            let none = || DeviceError::Internal("a fill of nothing".into());
            let kind = if even.rest.is_empty() { Kind::Fill } else { Kind::Fixed };
            return Ok((last.ok_or_else(none)?, kind));
        }
        let first = SEED.min(size);
        let room = usize::try_from(first).unwrap_or(0);
        let seed = self.arena.take(driver.calls, &self.reclaim, room).map_err(fail)?;
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(room).collect();
        seed.put(0, &bytes);
        let mut last = driver.add(self.source, after, &Piece::Copy(Source::Host(seed), to, first)).map_err(fail)?;
        let mut done = first;
        while done < size {
            let more = done.min(size - done);
            let piece = Piece::Copy(Source::Device(to), to + done, more);
            last = driver.add(self.source, &[last.0], &piece).map_err(fail)?;
            done += more;
        }
        Ok((last, Kind::Fixed))
    }

    pub(crate) fn launch(&self, calls: &Inside<'_>, stream: Object) -> Result<(), Failure> {
        // SAFETY: both live, and whoever has the graph is alone with it.
        unsafe { calls.graph_launch(self.executable.0, stream.0) }
    }

    /// Changes a node for launches of the graph from now on. `now`: where the replays so far are over.
    pub(crate) fn update(
        &mut self,
        shared: &Shared,
        calls: &Inside<'_>,
        node: u32,
        step: Step<'_>,
        now: &Uses,
    ) -> Result<(), DeviceError> {
        let made = self.nodes.get(node as usize).map(|made| (made.last, made.kind));
        let Some((id, kind)) = made else { return Err(DeviceError::Internal(format!("no node {node} in the graph"))) };
        let driver = Nodes { calls, context: shared.context() };
        let set = |executable, piece: &Piece<'_>| driver.set(executable, id, piece).map_err(|failure| refused(shared, failure));
        match (kind, step) {
            (Kind::Copy, Step::Copy(rows)) => set(self.executable, &copy(&rows)),
            (Kind::Fill, Step::Fill { to, size, pattern }) => match even(to, size, &pattern) {
                Some(even) if even.rest.is_empty() => set(self.executable, &Piece::Fill(even.node(to))),
                _ => Err(OTHER),
            },
            (Kind::Launch, Step::Launch(mut call)) => {
                let room = self.room(shared, calls, inline_size(&call.inline))?;
                let changed = place(&mut call, room).and_then(|()| set(self.executable, &launch_of(&call)));
                let place = self.nodes.get_mut(node as usize).map(|made| &mut made.room);
                match (place, changed.is_ok()) {
                    (Some(place), true) => {
                        if let Some(old) = std::mem::replace(place, room) {
                            self.spare.entry(old.size).or_default().push_back((old, now.clone()));
                        }
                    }
                    _ => {
                        if let Some(room) = room {
                            self.spare.entry(room.size).or_default().push_front((room, Uses::default()));
                        }
                    }
                }
                changed
            }
            _ => Err(OTHER),
        }
    }

    /// Pinned memory that no replay on its way reads.
    fn room(&mut self, shared: &Shared, calls: &Inside<'_>, size: usize) -> Result<Option<Slice>, DeviceError> {
        if size == 0 {
            return Ok(None);
        }
        // Behind one whose replays are not over there is none whose replays are.
        let spare = self.spare.get_mut(&size);
        if let Some((slice, _)) = spare.and_then(|spare| spare.pop_front_if(|(_, uses)| uses.are_over())) {
            return Ok(Some(slice));
        }
        if self.arena.used.next_multiple_of(ALIGNMENT) + size > self.arena.blocks.last().map_or(0, |block| block.size) {
            // A block for more than this update.
            let block = Pinned::new(calls, &self.reclaim, size.max(BLOCK)).map_err(|failure| shared.fail(failure))?;
            self.arena.blocks.push(block);
            self.arena.used = 0;
        }
        self.arena.take(calls, &self.reclaim, size).map(Some).map_err(|failure| shared.fail(failure))
    }
}

/// The runtime makes such a graph anew.
const OTHER: DeviceError = DeviceError::Unsupported("an update that takes other nodes");

/// A driver that refuses a change may take the same as a new graph.
fn refused(shared: &Shared, failure: Failure) -> DeviceError {
    match shared.fail(failure) {
        DeviceError::Driver { .. } => DeviceError::Unsupported("an update that the driver refuses"),
        other => other,
    }
}

fn copy(rows: &Move) -> Piece<'static> {
    Piece::Copy(Source::Device(rows.from), rows.to, rows.width)
}

/// Puts the uniform bytes of a launch into their room.
fn place(call: &mut Call<'_>, room: Option<Slice>) -> Result<(), DeviceError> {
    room.map_or(Ok(()), |room| place_inline(&call.inline, room, &mut call.arguments))
}

/// What the driver's node of a launch does whose uniform bytes are in their room.
fn launch_of<'a>(call: &'a Call<'_>) -> Piece<'a> {
    let groups = if let Groups::Direct(groups) = call.groups { groups } else { [0; 3] };
    Piece::Launch(&call.kernel, groups, &call.arguments)
}

impl Nodes<'_> {
    /// Adds one of the driver's nodes.
    fn add(&self, graph: Object, after: &[Handle], piece: &Piece<'_>) -> Result<Object, Failure> {
        let Self { calls, context } = *self;
        let mut made = NULL;
        let (node, graph, count) = (&raw mut made.0, graph.0, after.len());
        let after = if after.is_empty() { std::ptr::null() } else { after.as_ptr() };
        // SAFETY: the graph lives, and the nodes are its own; the structures have the driver's layout; what they name lives as long as the graph.
        unsafe {
            match piece {
                Piece::Nothing => calls.graph_add_empty(node, graph, after, count),
                Piece::Launch(kernel, groups, arguments) => self.with_launch(kernel, *groups, arguments, |launch| {
                    calls.graph_add_kernel(node, graph, after, count, launch.pointer())
                }),
                Piece::Fill(fill) => {
                    let fill = (calls.api.vendor.fill_node)(fill);
                    if calls.graph_add_fill_in.is_some() {
                        calls.graph_add_fill_in(node, graph, after, count, fill.pointer(), context)
                    } else {
                        calls.graph_add_fill(node, graph, after, count, fill.pointer())
                    }
                }
                Piece::Rows(rows) => calls.graph_add_copy_in(node, graph, after, count, &self.box_of_rows(rows), context),
                Piece::Copy(from, to, size) if calls.graph_add_copy_in.is_some() => {
                    calls.graph_add_copy_in(node, graph, after, count, &self.box_of(*from, *to, *size), context)
                }
                Piece::Copy(from, to, size) => {
                    let (from, way) = self.way(*from);
                    calls.graph_add_copy(node, graph, after, count, *to, from, bytes(*size), way)
                }
            }
        }?;
        Ok(made)
    }

    /// Gives a node of what was made ready other parameters.
    fn set(&self, executable: Object, Object(node): Object, piece: &Piece<'_>) -> Result<(), Failure> {
        let Self { calls, context } = *self;
        let executable = executable.0;
        // SAFETY: as of `add`; nobody else uses what was made ready.
        unsafe {
            match piece {
                Piece::Nothing | Piece::Rows(_) => Ok(()),
                Piece::Launch(kernel, groups, arguments) => self
                    .with_launch(kernel, *groups, arguments, |launch| calls.graph_set_kernel(executable, node, launch.pointer())),
                Piece::Fill(fill) => {
                    let fill = (calls.api.vendor.fill_node)(fill);
                    if calls.graph_add_fill_in.is_some() {
                        calls.graph_set_fill_in(executable, node, fill.pointer(), context)
                    } else {
                        calls.graph_set_fill(executable, node, fill.pointer())
                    }
                }
                Piece::Copy(from, to, size) if calls.graph_add_copy_in.is_some() => {
                    calls.graph_set_copy_in(executable, node, &self.box_of(*from, *to, *size), context)
                }
                Piece::Copy(from, to, size) => {
                    let (from, way) = self.way(*from);
                    calls.graph_set_copy(executable, node, *to, from, bytes(*size), way)
                }
            }
        }
    }

    fn with_launch<R>(&self, kernel: &Kernel, groups: [u32; 3], arguments: &[u8], use_it: impl FnOnce(NodeParameters) -> R) -> R {
        let vendor = self.calls.api.vendor;
        let Kernel { function, workgroup_size: size, shared, .. } = kernel;
        with_arguments(kernel, &vendor.flags, arguments, |arguments, extra| {
            let node = KernelNode { function: function.0, groups, size: *size, shared: *shared, arguments, extra };
            use_it((vendor.kernel_node)(&node))
        })
    }

    /// A run of bytes as a box.
    fn box_of(&self, from: Source, to: u64, size: u64) -> Copy3d {
        let flags = &self.calls.api.vendor.flags;
        let none = std::ptr::null_mut();
        let (from_kind, from_host, from_device) = match from {
            Source::Device(address) => (flags.memory_device, std::ptr::null(), address),
            Source::Host(slice) => (flags.memory_host, slice.pointer().cast_const().cast(), 0),
        };
        Copy3d {
            from_at: [0; 4],
            from_kind,
            from_host,
            from_device,
            from_array: [none; 2],
            from_pitch: [0; 2],
            to_at: [0; 4],
            to_kind: flags.memory_device,
            to_host: none,
            to_device: to,
            to_array: [none; 2],
            to_pitch: [0; 2],
            size: [bytes(size), 1, 1],
        }
    }

    /// Rows at a pitch as a box.
    fn box_of_rows(&self, rows: &Move) -> Copy3d {
        Copy3d {
            from_pitch: [bytes(rows.from_pitch), bytes(rows.rows)],
            to_pitch: [bytes(rows.to_pitch), bytes(rows.rows)],
            size: [bytes(rows.width), bytes(rows.rows), 1],
            ..self.box_of(Source::Device(rows.from), rows.to, rows.width)
        }
    }

    /// The address of a source, and the way from there to the device.
    fn way(&self, from: Source) -> (u64, i32) {
        let [to_device, _, within] = self.calls.api.vendor.flags.ways;
        match from {
            Source::Device(address) => (address, within),
            Source::Host(slice) => (slice.pointer().expose_provenance() as u64, to_device),
        }
    }
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
