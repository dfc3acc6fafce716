//! What a node of a graph does, kept: checked as the same call on a stream would be, with the buffers and bytes that it needs.

use std::sync::Arc;

use compute_hal::{self as hal, DeviceError, KernelId, Pitched};
use compute_memory::{Footprint, Transfer};
use smallvec::SmallVec;

use super::super::bind::{Bound, Given, check_on};
use super::super::buffer::View;
use super::super::code;
use super::super::device::Device;
use super::super::error::{Checked, refusal};
use super::super::import;
use super::super::kernel::Kernel;
use super::super::launch::{Grid, Launch, is_nothing, written};
use super::super::place::{Place, Span};
use super::super::rows::EXACT;
use super::super::section::Write;
use super::super::strided::{Tensor, calls_of, check_rows, pitched};
use super::super::transfer::{NAMES, check_copy, check_fill};
use super::effects::Touched;

/// A node.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) work: Work,
    /// The caller's; none for most.
    pub(crate) label: Option<Arc<str>>,
}

/// What a node does to bytes, as a list.
pub(crate) type Touches<'a> = SmallVec<[Touched<'a>; 8]>;

/// What it does. Shared by all graphs of a builder: it never changes, an update puts another in its place.
#[derive(Clone)]
pub(crate) enum Work {
    Launch(Arc<LaunchWork>),
    Copy { from: View, to: View },
    CopyRows(Arc<RowsWork>),
    Fill { to: View, pattern: SmallVec<[u8; 16]> },
    Join,
}

/// A launch.
pub(crate) struct LaunchWork {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) id: KernelId,
    pub(crate) grid: Counts,
    /// Beside the rest, as what a node takes is mostly what it has to ask the heap for.
    slots: SmallVec<[Slot; 4]>,
    immediates: Box<[u8]>,
}

/// A copy of the elements of a tensor, from the first byte of one view to the first of another.
pub(crate) struct RowsWork {
    from: View,
    to: View,
    transfer: Transfer,
    /// How many calls of the device it takes.
    calls: u64,
    /// Whether each of them moves rows at a pitch.
    pitched: bool,
}

/// How many workgroups.
pub(crate) enum Counts {
    Direct([u32; 3]),
    Indirect(View),
}

/// What a binding is given.
enum Slot {
    Nothing,
    Inline(Box<[u8]>),
    View { view: View, reads: bool, write: Write },
    Tensor(Box<Mapped>),
}

/// A view as a tensor: rare, and large.
#[derive(Clone)]
struct Mapped {
    view: View,
    reads: bool,
    write: Write,
    map: hal::TensorMap,
}

/// What a node is asked to do, before it is known to be right.
#[derive(Clone, Copy)]
pub enum Request<'a> {
    /// A launch. Its mode does not matter.
    Launch(Launch<'a>),
    /// A copy between views of equal size.
    Copy {
        /// Source.
        from: Place<'a>,
        /// Destination.
        to: Place<'a>,
        /// For messages.
        label: &'a str,
    },
    /// A copy of the elements of a tensor.
    CopyRows {
        /// Source.
        from: Place<'a>,
        /// Destination.
        to: Place<'a>,
        /// How they lie.
        tensor: Tensor<'a>,
        /// For messages.
        label: &'a str,
    },
    /// A fill.
    Fill {
        /// Destination.
        to: Place<'a>,
        /// Of 1, 2, 4, 8 or 16 bytes.
        pattern: &'a [u8],
        /// For messages.
        label: &'a str,
    },
    /// Nothing: a place where paths meet.
    Join,
}

impl Request<'_> {
    /// The caller's label, or the kernel's.
    pub(crate) fn label(&self) -> Option<Arc<str>> {
        let label = match self {
            Self::Launch(launch) if launch.label.is_empty() => {
                return launch.kernel.map(|kernel| &kernel.label).filter(|label| !label.is_empty()).cloned();
            }
            Self::Launch(launch) => launch.label,
            Self::Copy { label, .. } | Self::CopyRows { label, .. } | Self::Fill { label, .. } => label,
            Self::Join => "",
        };
        (!label.is_empty()).then(|| label.into())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> Arc<str> {
        match self {
            Self::Launch(launch) => launch.kernel.map_or_else(|| "launch".into(), |kernel| Arc::clone(&kernel.name)),
            Self::Copy { .. } | Self::CopyRows { .. } => Arc::clone(&NAMES.copy),
            Self::Fill { .. } => Arc::clone(&NAMES.fill),
            Self::Join => "join".into(),
        }
    }
}

impl Work {
    /// Checks what is asked for on a device, and compiles the kernel if it is not yet. Also adds what it does to bytes, as [`Self::touches`] would, to a list.
    pub(crate) fn new<'a>(device: &Arc<Device>, request: &Request<'a>, touches: &mut Touches<'a>) -> Checked<Self> {
        let work = match request {
            Request::Launch(launch) => Self::Launch(Arc::new(launch_work(device, launch, touches)?)),
            Request::Copy { from, to, .. } => {
                let (from, to) = check_copy(device, from, to)?;
                if to.size > 0 {
                    touches.push(Touched { span: from, reads: true, write: Write::No });
                    touches.push(Touched { span: to, reads: false, write: Write::Whole });
                }
                Self::Copy { from: from.view(), to: to.view() }
            }
            Request::CopyRows { from, to, tensor, .. } => Self::CopyRows(Arc::new(rows_work(device, from, to, tensor, touches)?)),
            Request::Fill { to, pattern, .. } => {
                let to = check_fill(device, to, pattern)?;
                if to.size > 0 {
                    touches.push(Touched { span: to, reads: false, write: Write::Whole });
                }
                Self::Fill { to: to.view(), pattern: SmallVec::from_slice(pattern) }
            }
            Request::Join => Self::Join,
        };
        let refused = touches.iter().find(|touch| touch.write != Write::No && touch.span.buffer.read_only);
        match refused.map(|touch| import::read_only(touch.span.buffer, work.name())) {
            Some(refused) => Err(Box::new(refused)),
            None => Ok(work),
        }
    }

    /// Name of the kernel or operation.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Launch(launch) => &launch.kernel.name,
            Self::Copy { .. } | Self::CopyRows(_) => "copy",
            Self::Fill { .. } => "fill",
            Self::Join => "join",
        }
    }

    /// The same, to be kept.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        match self {
            Self::Launch(launch) => Arc::clone(&launch.kernel.name),
            Self::Copy { .. } | Self::CopyRows(_) => Arc::clone(&NAMES.copy),
            Self::Fill { .. } => Arc::clone(&NAMES.fill),
            Self::Join => Arc::clone(&NAMES.none),
        }
    }

    /// What kind of node it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Copy { .. } | Self::CopyRows(_) => "copy",
            Self::Fill { .. } => "fill",
            Self::Join => "join",
        }
    }

    /// Whether there is nothing to do: a join, an empty copy, a grid with a zero (L1).
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Launch(launch) => matches!(launch.grid, Counts::Direct(counts) if counts.contains(&0)),
            Self::Copy { to, .. } | Self::Fill { to, .. } => to.size == 0,
            Self::CopyRows(rows) => rows.calls == 0,
            Self::Join => true,
        }
    }

    /// How many calls of a device it is where that keeps no graphs.
    pub(crate) fn calls(&self) -> u64 {
        match self {
            Self::CopyRows(rows) => rows.calls,
            _ => u64::from(!self.is_nothing()),
        }
    }

    /// Whether it can fail after it was accepted, on a device where that is the exception (T13).
    pub(crate) fn fails_late(&self) -> bool {
        match self {
            Self::Launch(launch) => launch.kernel.fails_late || matches!(launch.grid, Counts::Indirect(_)),
            Self::Copy { .. } | Self::CopyRows(_) | Self::Fill { .. } | Self::Join => false,
        }
    }

    /// Whether a device may tell something of it by itself.
    pub(crate) fn is_heard_of(&self) -> bool {
        self.fails_late() || self.prints().is_some()
    }

    /// The kernel, if it prints.
    pub(crate) fn prints(&self) -> Option<&Arc<Kernel>> {
        match self {
            Self::Launch(launch) => Some(&launch.kernel).filter(|kernel| kernel.print_room > 0 && !self.is_nothing()),
            Self::Copy { .. } | Self::CopyRows(_) | Self::Fill { .. } | Self::Join => None,
        }
    }

    /// What it does to bytes: inputs in the order of slots, the indirect grid first.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touched<'_>> + Clone {
        let (mut read, mut written, mut slots, mut rows) = (None, None, [].as_slice(), None);
        match self {
            _ if self.is_nothing() => {}
            Self::Launch(launch) => {
                if let Counts::Indirect(view) = &launch.grid {
                    read = Some(view);
                }
                slots = &launch.slots;
            }
            Self::Copy { from, to } => (read, written) = (Some(from), Some(to)),
            Self::CopyRows(work) => rows = Some(work),
            Self::Fill { to, .. } => written = Some(to),
            Self::Join => {}
        }
        let read = read.map(|view| Touched { span: view.span(), reads: true, write: Write::No });
        let written = written.map(|view| Touched { span: view.span(), reads: false, write: Write::Whole });
        let slots = slots.iter().filter_map(Slot::touched);
        read.into_iter().chain(slots).chain(written).chain(rows.into_iter().flat_map(|work| work.touches()))
    }

    /// The same as a list, for whoever looks at it more than once.
    pub(crate) fn all_touches(&self) -> Checked<Touches<'_>> {
        let mut all = Touches::new();
        self.touches().try_for_each(|touched| put(&mut all, touched))?;
        Ok(all)
    }

    /// Whether it does the same to the same bytes as another, so that all that is known of its graph stays true.
    pub(crate) fn touches_as(&self, other: &Self) -> bool {
        let same = |(one, two): (Touched<'_>, Touched<'_>)| {
            Arc::ptr_eq(one.span.buffer, two.span.buffer)
                && one.span.range() == two.span.range()
                && (one.reads, one.write) == (two.reads, two.write)
        };
        let (mine, theirs) = (self.touches(), other.touches());
        mine.clone().count() == theirs.clone().count() && mine.zip(theirs).all(same)
    }

    /// As a device sees it, with its own of the parts that [`Parts`] has of several.
    pub(crate) fn seen<'a>(&'a self, rest: &mut Rest<'a>) -> Result<hal::NodeWork<'a>, DeviceError> {
        Ok(match self {
            _ if self.is_nothing() => hal::NodeWork::Join,
            Self::Launch(launch) => {
                let grid = match &launch.grid {
                    Counts::Direct(counts) => hal::Grid::Direct(*counts),
                    Counts::Indirect(view) => hal::Grid::Indirect(region(view)?),
                };
                let bindings = split(&mut rest.bindings, launch.slots.len());
                let (immediates, time_limit) = (&*launch.immediates, launch.kernel.time_limit);
                hal::NodeWork::Launch(hal::Launch { kernel: launch.id, grid, bindings, immediates, time_limit })
            }
            Self::Copy { from, to } => hal::NodeWork::Copy { from: region(from)?, to: region(to)? },
            Self::CopyRows(_) => hal::NodeWork::CopyRows(split(&mut rest.rows, self.row_count())),
            Self::Fill { to, pattern } => hal::NodeWork::Fill { to: region(to)?, pattern },
            Self::Join => hal::NodeWork::Join,
        })
    }

    fn binding_count(&self) -> usize {
        match self {
            Self::Launch(launch) if !self.is_nothing() => launch.slots.len(),
            _ => 0,
        }
    }

    fn row_count(&self) -> usize {
        match self {
            Self::CopyRows(rows) => usize::try_from(rows.calls).unwrap_or(usize::MAX),
            _ => 0,
        }
    }
}

impl Slot {
    fn touched(&self) -> Option<Touched<'_>> {
        let (view, reads, write) = match self {
            Self::Nothing | Self::Inline(_) => return None,
            Self::View { view, reads, write } => (view, *reads, *write),
            Self::Tensor(tensor) => (&tensor.view, tensor.reads, tensor.write),
        };
        Some(Touched { span: view.span(), reads, write })
    }
}

impl RowsWork {
    /// Few rows are ranges of their own. Of many, it reads all that lies around them, or writes a part of that.
    fn touches(&self) -> impl Iterator<Item = Touched<'_>> + Clone {
        rows_touches(self.from.span(), self.to.span(), &self.transfer)
    }
}

fn rows_touches<'a>(from: Span<'a>, to: Span<'a>, transfer: &Transfer) -> impl Iterator<Item = Touched<'a>> + Clone {
    let [source, target] = &transfer.ends;
    let few = if target.rows() <= EXACT as u64 { Write::Whole } else { Write::Part };
    let read = spans(from, source).map(|span| Touched { span, reads: true, write: Write::No });
    read.chain(spans(to, target).map(move |span| Touched { span, reads: false, write: few }))
}

fn spans<'a>(all: Span<'a>, rows: &Footprint) -> impl Iterator<Item = Span<'a>> + Clone {
    let few = rows.rows() <= EXACT as u64;
    let each = few.then(|| rows.each()).into_iter().flatten();
    let each = each.map(move |row| Span { offset: all.offset + row.start, size: row.end - row.start, ..all });
    each.chain((!few).then_some(all))
}

fn put<'a>(touches: &mut Touches<'a>, touched: Touched<'a>) -> Checked<()> {
    if touches.try_reserve(1).is_err() {
        return no_memory();
    }
    touches.push(touched);
    Ok(())
}

/// What nodes need as a device sees them, besides themselves: made first, since what it sees borrows it.
pub(crate) struct Parts<'a> {
    bindings: SmallVec<[hal::Binding<'a>; 8]>,
    rows: SmallVec<[Pitched; 1]>,
}

/// What of it has not been handed out yet.
pub(crate) struct Rest<'a> {
    bindings: &'a [hal::Binding<'a>],
    rows: &'a [Pitched],
}

fn split<'a, T>(rest: &mut &'a [T], count: usize) -> &'a [T] {
    let (mine, others) = rest.split_at_checked(count).unwrap_or_default();
    *rest = others;
    mine
}

impl<'a> Parts<'a> {
    /// Of some nodes.
    pub(crate) fn of(nodes: impl Iterator<Item = &'a Work> + Clone) -> Result<Self, DeviceError> {
        let mut parts = Self { bindings: SmallVec::new(), rows: SmallVec::new() };
        let (mut bindings, mut rows) = (0_usize, 0_usize);
        for node in nodes.clone() {
            bindings = bindings.saturating_add(node.binding_count());
            rows = rows.saturating_add(node.row_count());
        }
        let out_of_memory = |_| DeviceError::OutOfMemory { asked: 0, free: 0 };
        parts.bindings.try_reserve_exact(bindings).map_err(out_of_memory)?;
        parts.rows.try_reserve_exact(rows).map_err(out_of_memory)?;
        nodes.into_iter().try_for_each(|node| parts.add(node))?;
        Ok(parts)
    }

    fn add(&mut self, node: &'a Work) -> Result<(), DeviceError> {
        match node {
            Work::Launch(launch) if !node.is_nothing() => {
                for slot in &launch.slots {
                    self.bindings.push(match slot {
                        Slot::Nothing => hal::Binding::Inline(&[]),
                        Slot::Inline(bytes) => hal::Binding::Inline(bytes),
                        Slot::View { view, .. } => hal::Binding::Buffer(region(view)?),
                        Slot::Tensor(tensor) => hal::Binding::Tensor(region(&tensor.view)?, &tensor.map),
                    });
                }
            }
            Work::CopyRows(work) if work.calls > 0 => {
                let (from, to) = (region(&work.from)?, region(&work.to)?);
                self.rows.extend(calls_of(&work.transfer, work.pitched).map(|piece| pitched(from, to, &piece)));
            }
            _ => {}
        }
        Ok(())
    }

    /// All of it, to be handed out in the order in which it was made.
    pub(crate) fn rest(&self) -> Rest<'_> {
        Rest { bindings: &self.bindings, rows: &self.rows }
    }
}

fn region(view: &View) -> Result<hal::Region, DeviceError> {
    let empty = || DeviceError::Internal("a node on a buffer without memory".into());
    // An empty view of a buffer that has memory is a place in it all the same.
    view.buffer.region(&view.range()).ok_or_else(empty)
}

fn launch_work<'a>(device: &Arc<Device>, launch: &Launch<'a>, touches: &mut Touches<'a>) -> Checked<LaunchWork> {
    let mut bound = Bound::new();
    let kernel = check_on(device, launch, &mut bound)?;
    let id = match kernel.ready().filter(|_| bound.indirect.is_none()) {
        Some(id) => id,
        None if bound.indirect.is_some() => kernel.compiled_for_counts()?,
        None => kernel.compiled()?,
    };
    let mut slots = SmallVec::new();
    if slots.try_reserve_exact(bound.slots.len()).is_err() || touches.try_reserve(bound.slots.len() + 1).is_err() {
        return no_memory();
    }
    touches.extend(bound.indirect.map(|span| Touched { span, reads: true, write: Write::No }));
    for (index, (slot, fit)) in bound.slots.iter().zip(kernel.fits()).enumerate() {
        slots.push(match slot.given {
            Given::Nothing => Slot::Nothing,
            Given::Inline(bytes) => Slot::Inline(kept(bytes)?),
            Given::View(span) => {
                let (reads, writes) = fit.access();
                let write = match writes {
                    false => Write::No,
                    true => written(kernel, launch, &bound, index, span.size, slot.write_all),
                };
                touches.push(Touched { span, reads, write });
                let view = span.view();
                match slot.map {
                    None => Slot::View { view, reads, write },
                    Some(map) => Slot::Tensor(Box::new(Mapped { view, reads, write, map: *map })),
                }
            }
        });
    }
    let grid = match (&launch.grid, &bound.indirect) {
        (_, Some(span)) => Counts::Indirect(span.view()),
        (Grid::Direct(counts), None) => Counts::Direct(*counts),
        (Grid::Indirect(_), None) => return refusal(code::INTERNAL, || "an indirect grid that was not checked".into()),
    };
    if is_nothing(&launch.grid) {
        touches.clear();
    }
    Ok(LaunchWork { kernel: Arc::clone(kernel), id, grid, slots, immediates: kept(launch.immediates)? })
}

fn no_memory<T>() -> Checked<T> {
    refusal(code::OUT_OF_MEMORY, || "no host memory for a node".into())
}

/// Bytes to keep, which may be many.
fn kept(bytes: &[u8]) -> Checked<Box<[u8]>> {
    let mut kept = Vec::new();
    if kept.try_reserve_exact(bytes.len()).is_err() {
        return no_memory();
    }
    kept.extend_from_slice(bytes);
    Ok(kept.into())
}

fn rows_work<'a>(
    device: &Arc<Device>,
    from: &Place<'a>,
    to: &Place<'a>,
    tensor: &Tensor<'_>,
    touches: &mut Touches<'a>,
) -> Checked<RowsWork> {
    let moved = check_rows(device, from, to, tensor)?;
    if moved.calls > 0 {
        rows_touches(moved.from, moved.to, &moved.transfer).try_for_each(|touched| put(touches, touched))?;
    }
    let (from, to, pitched) = (moved.from.view(), moved.to.view(), device.capabilities().pitched);
    Ok(RowsWork { from, to, transfer: moved.transfer, calls: moved.calls, pitched })
}
