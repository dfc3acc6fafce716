//! What a node of a graph does, kept: checked as the same call on a stream would be, with the buffers and bytes that it needs.

use std::sync::Arc;

use compute_hal::{self as hal, DeviceError, KernelId};
use smallvec::SmallVec;

use super::super::bind::{Bound, Given, check_on};
use super::super::buffer::View;
use super::super::code;
use super::super::device::Device;
use super::super::error::{Checked, refusal};
use super::super::import;
use super::super::kernel::Kernel;
use super::super::launch::{Grid, Launch, is_whole};
use super::super::place::Place;
use super::super::section::Write;
use super::super::transfer::{NAMES, check_copy, check_fill};
use super::effects::Touched;

/// A node.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) work: Work,
    /// The caller's; none for most.
    pub(crate) label: Option<Arc<str>>,
    /// The nodes that the caller wants it to follow, rising. More follow from what it touches.
    pub(crate) given: Box<[u32]>,
}

/// What it does.
#[derive(Clone)]
pub(crate) enum Work {
    Launch(Box<LaunchWork>),
    Copy { from: View, to: View },
    Fill { to: View, pattern: SmallVec<[u8; 16]> },
    Join,
}

/// A launch.
#[derive(Clone)]
pub(crate) struct LaunchWork {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) id: KernelId,
    pub(crate) grid: Counts,
    slots: Box<[Slot]>,
    immediates: Box<[u8]>,
}

/// How many workgroups.
#[derive(Clone)]
pub(crate) enum Counts {
    Direct([u32; 3]),
    Indirect(View),
}

/// What a binding is given.
#[derive(Clone)]
enum Slot {
    Nothing,
    Inline(Box<[u8]>),
    View { view: View, reads: bool, write: Write },
    Tensor(Box<Tensor>),
}

/// A view as a tensor: rare, and large.
#[derive(Clone)]
struct Tensor {
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
        let label: &str = match self {
            Self::Launch(launch) if launch.label.is_empty() => launch.kernel.map_or("", |kernel| &*kernel.label),
            Self::Launch(launch) => launch.label,
            Self::Copy { label, .. } | Self::Fill { label, .. } => label,
            Self::Join => "",
        };
        (!label.is_empty()).then(|| label.into())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> Arc<str> {
        match self {
            Self::Launch(launch) => launch.kernel.map_or_else(|| "launch".into(), |kernel| Arc::clone(&kernel.name)),
            Self::Copy { .. } => Arc::clone(&NAMES.copy),
            Self::Fill { .. } => Arc::clone(&NAMES.fill),
            Self::Join => "join".into(),
        }
    }
}

impl Work {
    /// Checks what is asked for on a device, and compiles the kernel if it is not yet.
    pub(crate) fn new(device: &Arc<Device>, request: &Request<'_>) -> Checked<Self> {
        let work = match request {
            Request::Launch(launch) => Self::Launch(Box::new(launch_work(device, launch)?)),
            Request::Copy { from, to, .. } => {
                let (from, to) = check_copy(device, from, to)?;
                Self::Copy { from: from.view(), to: to.view() }
            }
            Request::Fill { to, pattern, .. } => {
                let to = check_fill(device, to, pattern)?;
                Self::Fill { to: to.view(), pattern: SmallVec::from_slice(pattern) }
            }
            Request::Join => Self::Join,
        };
        let refused = work.touches().find(|touch| touch.write != Write::No && touch.view.buffer.read_only);
        match refused.map(|touch| import::read_only(&touch.view.buffer, work.name())) {
            Some(refused) => Err(Box::new(refused)),
            None => Ok(work),
        }
    }

    /// Name of the kernel or operation.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Launch(launch) => &launch.kernel.name,
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::Join => "join",
        }
    }

    /// The same, to be kept.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        match self {
            Self::Launch(launch) => Arc::clone(&launch.kernel.name),
            Self::Copy { .. } => Arc::clone(&NAMES.copy),
            Self::Fill { .. } => Arc::clone(&NAMES.fill),
            Self::Join => Arc::clone(&NAMES.none),
        }
    }

    /// What kind of node it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::Join => "join",
        }
    }

    /// Whether there is nothing to do: a join, an empty copy, a grid with a zero (L1).
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Launch(launch) => matches!(launch.grid, Counts::Direct(counts) if counts.contains(&0)),
            Self::Copy { to, .. } | Self::Fill { to, .. } => to.size == 0,
            Self::Join => true,
        }
    }

    /// Whether it can fail after it was accepted, on a device where that is the exception (T13).
    pub(crate) fn fails_late(&self) -> bool {
        match self {
            Self::Launch(launch) => launch.kernel.fails_late || matches!(launch.grid, Counts::Indirect(_)),
            Self::Copy { .. } | Self::Fill { .. } | Self::Join => false,
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
            Self::Copy { .. } | Self::Fill { .. } | Self::Join => None,
        }
    }

    /// What it does to bytes: inputs in the order of slots, the indirect grid first.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touched<'_>> + Clone {
        let mut touches: SmallVec<[Touched<'_>; 8]> = SmallVec::new();
        match self {
            _ if self.is_nothing() => {}
            Self::Launch(launch) => {
                if let Counts::Indirect(view) = &launch.grid {
                    touches.push(Touched { view, reads: true, write: Write::No });
                }
                for slot in &launch.slots {
                    let (view, reads, write) = match slot {
                        Slot::Nothing | Slot::Inline(_) => continue,
                        Slot::View { view, reads, write } => (view, *reads, *write),
                        Slot::Tensor(tensor) => (&tensor.view, tensor.reads, tensor.write),
                    };
                    touches.push(Touched { view, reads, write });
                }
            }
            Self::Copy { from, to } => {
                touches.push(Touched { view: from, reads: true, write: Write::No });
                touches.push(Touched { view: to, reads: false, write: Write::Whole });
            }
            Self::Fill { to, .. } => touches.push(Touched { view: to, reads: false, write: Write::Whole }),
            Self::Join => {}
        }
        touches.into_iter()
    }

    /// Whether it does the same to the same bytes as another, so that all that is known of its graph stays true.
    pub(crate) fn touches_as(&self, other: &Self) -> bool {
        let same = |(one, two): (Touched<'_>, Touched<'_>)| {
            Arc::ptr_eq(&one.view.buffer, &two.view.buffer)
                && one.view.range() == two.view.range()
                && (one.reads, one.write) == (two.reads, two.write)
        };
        let (mine, theirs) = (self.touches(), other.touches());
        mine.clone().count() == theirs.clone().count() && mine.zip(theirs).all(same)
    }

    /// Appends the bindings of a launch.
    pub(crate) fn bind<'a>(&'a self, bindings: &mut impl Extend<hal::Binding<'a>>) -> Result<(), DeviceError> {
        let Self::Launch(launch) = self else { return Ok(()) };
        if self.is_nothing() {
            return Ok(());
        }
        for slot in &launch.slots {
            bindings.extend([match slot {
                Slot::Nothing => hal::Binding::Inline(&[]),
                Slot::Inline(bytes) => hal::Binding::Inline(bytes),
                Slot::View { view, .. } => hal::Binding::Buffer(region(view)?),
                Slot::Tensor(tensor) => hal::Binding::Tensor(region(&tensor.view)?, &tensor.map),
            }]);
        }
        Ok(())
    }

    /// How many bindings [`Self::bind`] appends.
    pub(crate) fn binding_count(&self) -> usize {
        match self {
            Self::Launch(launch) if !self.is_nothing() => launch.slots.len(),
            _ => 0,
        }
    }

    /// As a device sees it, with what [`Self::bind`] appended.
    pub(crate) fn with_bindings<'a>(&'a self, bindings: &'a [hal::Binding<'a>]) -> Result<hal::NodeWork<'a>, DeviceError> {
        Ok(match self {
            _ if self.is_nothing() => hal::NodeWork::Join,
            Self::Launch(launch) => {
                let grid = match &launch.grid {
                    Counts::Direct(counts) => hal::Grid::Direct(*counts),
                    Counts::Indirect(view) => hal::Grid::Indirect(region(view)?),
                };
                let (immediates, time_limit) = (&*launch.immediates, launch.kernel.time_limit);
                hal::NodeWork::Launch(hal::Launch { kernel: launch.id, grid, bindings, immediates, time_limit })
            }
            Self::Copy { from, to } => hal::NodeWork::Copy { from: region(from)?, to: region(to)? },
            Self::Fill { to, pattern } => hal::NodeWork::Fill { to: region(to)?, pattern },
            Self::Join => hal::NodeWork::Join,
        })
    }
}

fn region(view: &View) -> Result<hal::Region, DeviceError> {
    let empty = || DeviceError::Internal("a node on a buffer without memory".into());
    // An empty view of a buffer that has memory is a place in it all the same.
    view.buffer.region(&view.range()).ok_or_else(empty)
}

fn launch_work(device: &Arc<Device>, launch: &Launch<'_>) -> Checked<LaunchWork> {
    let mut bound = Bound::new();
    let kernel = check_on(device, launch, &mut bound)?;
    let id = kernel.compiled()?;
    let infos = &kernel.reflection().bindings;
    let mut slots = Vec::new();
    if slots.try_reserve_exact(infos.len()).is_err() {
        return refusal(code::OUT_OF_MEMORY, || "no host memory for a node".into());
    }
    for (index, (slot, info)) in bound.slots.iter().zip(infos).enumerate() {
        slots.push(match slot.given {
            Given::Nothing => Slot::Nothing,
            Given::Inline(bytes) => Slot::Inline(bytes.into()),
            Given::View(span) => {
                let write = match info.access.writes() {
                    false => Write::No,
                    true if is_whole(kernel, launch, &bound, index, span.size, slot.write_all) => Write::Whole,
                    true => Write::Part,
                };
                let (view, reads) = (span.view(), info.access.reads());
                match slot.map {
                    None => Slot::View { view, reads, write },
                    Some(map) => Slot::Tensor(Box::new(Tensor { view, reads, write, map: *map })),
                }
            }
        });
    }
    let grid = match (&launch.grid, &bound.indirect) {
        (_, Some(span)) => Counts::Indirect(span.view()),
        (Grid::Direct(counts), None) => Counts::Direct(*counts),
        (Grid::Indirect(_), None) => return refusal(code::INTERNAL, || "an indirect grid that was not checked".into()),
    };
    Ok(LaunchWork { kernel: Arc::clone(kernel), id, grid, slots: slots.into(), immediates: launch.immediates.into() })
}
