//! The device interface: what a device must provide so that the runtime can keep its promises on it.
//!
//! The contract between the layers, stated once:
//!
//! - **Everything a caller could get wrong has been checked** before a method here is called. A device never validates
//!   sizes, offsets, limits, overlap or trust. Breaking that is a bug of the runtime, answered by [`DeviceError::Internal`] where it
//!   is noticed, and never undefined behaviour on the part of `backends/cpu`.
//! - **Ids are plain integers**, never pointers. A device keeps its own tables.
//! - **Positions are the runtime's.** Every piece of work on a queue gets a number, strictly increasing per queue, and the device tells
//!   the highest completed one cheaply ([`Queue::completed`]). Deferred release, events, readbacks, budgets and profile windows
//!   wait on positions and on nothing else. A position whose work failed still completes.
//! - **Calls on one queue are serialised by the runtime** (it holds the stream's submission lock); calls on different queues, and
//!   all of [`Device`], come from any thread at once. `completed`, `wait` and `take_late` of a queue come from any thread at any time.
//! - **Work on one queue runs in order**, copies and fills included.
//! - No method blocks for the device, except `wait`, and those whose text says so.
//!
//! `docs/device-interface.md` holds the answer of each of the four devices to every method.

mod artifact;
mod closed;
mod error;
pub mod exit;
mod graph;
mod host;
mod import;
pub mod movers;
mod native;
pub mod stack;
pub mod table;
mod tensor_map;
mod vulkan;
mod work;

#[cfg(feature = "conformance")]
pub mod conformance;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use artifact::Kept;
pub use compute_kernel as kernel;
pub use error::{DeviceError, FaultCause, LateCause, LateFailure};
pub use graph::{GraphId, GraphRequest, Node, NodeWork, for_change};
pub use host::{HostSource, HostTarget};
pub use import::{Foreign, ImportRefusal, Owned, Space};
pub use native::{Fit, NativeHeader, NativeInterface, NativeLanguage, NativeParameter, NativeSource};
pub use tensor_map::{
    Interleave, L2Promotion, MOST_DIMENSIONS, OutsideFill, Swizzle, TENSOR_BOX_SIZE, TENSOR_MAP_ALIGNMENT, TENSOR_MAP_SIZE,
    TensorElement, TensorMap, TensorMistake,
};
pub use vulkan::{HostVulkan, VulkanFunction, VulkanHost, VulkanLoader};
pub use work::{Binding, Grid, HostRows, Launch, Pitched, Printed, Region};

use kernel::reflection::Bounds;

/// The number of a piece of work on one queue: strictly increasing, given by the runtime, from 1. 0 is "before everything".
pub type Position = u64;

/// Names a block of device memory of one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MemoryId(pub u64);

/// Names a compiled kernel of one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelId(pub u64);

/// Names a queue of one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueId(pub u32);

/// Names an open device among all of the process, for those that can reach its memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerId(u64);

impl PeerId {
    /// A name that no other device has.
    #[allow(clippy::new_without_default, reason = "no two are alike")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// One way to reach devices: a vendor's driver, or the built-in cpu.
pub trait Driver: Send + Sync {
    /// `cpu`, `wgpu`, `cuda`, `hip`, or `null` for the device of the benchmarks.
    fn name(&self) -> &'static str;

    /// Finds devices without initialising more than that needs, or says what was tried and why there are none (F5, F6).
    fn probe(&self) -> Probe;

    /// Opens the device that `probe` listed under `index`.
    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError>;

    /// Opens the device that `probe` would list under `index` now; `Err`: how many it would list, which is not enough. For drivers that look for devices once for
    /// both, where looking takes long.
    fn open_if_listed(&self, index: u32, options: &OpenOptions) -> Result<Result<Arc<dyn Device>, DeviceError>, usize> {
        let count = self.probe().devices.len();
        if (index as usize) < count { Ok(self.open(index, options)) } else { Err(count) }
    }
}

/// The answer of [`Driver::probe`].
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// Devices that can be opened; their position is the index for [`Driver::open`].
    pub devices: Vec<Properties>,
    /// What was tried, a line each, and why it failed where it did ("libcuda.so.1: not found").
    pub tried: Vec<String>,
}

/// What a caller may ask for when a device is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Worker threads of the cpu device; 0: as many as there are processors.
    pub threads: u32,
    /// Timestamps are wanted, on devices that pay for them.
    pub timestamps: bool,
    /// The most workgroups that a device gives its hardware at once, for systems that stop what takes too long; 0: any number. A device without such a
    /// danger does not look at it.
    pub slice_groups: u64,
    /// [`Device::artifact`] will be asked for each compiled kernel.
    pub artifacts: bool,
    /// The wgpu device works on this Vulkan device instead of one of its own; the index is of no matter then.
    pub vulkan: Option<HostVulkan>,
}

/// What kind of hardware a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The host's own processors.
    Cpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// A GPU with memory of its own.
    DiscreteGpu,
    /// Anything else.
    Other,
}

/// A place on the PCI bus, written as Linux does: `0000:3b:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    /// The domain, or segment.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus.
    pub device: u8,
    /// The function of the device.
    pub function: u8,
}

impl PciAddress {
    /// Reads what [`Display`](std::fmt::Display) writes, and domains of other lengths.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (domain, rest) = text.split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.')?;
        let short = |part| u8::from_str_radix(part, 16).ok();
        let domain = u32::from_str_radix(domain, 16).ok()?;
        Some(Self { domain, bus: short(bus)?, device: short(device)?, function: short(function)? })
    }
}

impl std::fmt::Display for PciAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

/// Who a device is. Stable across runs as far as the driver allows.
#[derive(Clone, Debug)]
pub struct Properties {
    /// Name for people.
    pub name: String,
    /// Vendor for people.
    pub vendor: String,
    /// Driver name and version for people.
    pub driver: String,
    /// The kind of hardware.
    pub kind: DeviceKind,
    /// The exact target that code is generated for (`x86_64-avx2`, `sm_90`, `gfx942:sramecc+:xnack-`).
    pub target: String,
    /// A stable identity (from UUID or PCI address), zeros when the driver gives none.
    pub uuid: [u8; 16],
    /// Where it is on the PCI bus, if it is on one and the driver says where.
    pub pci: Option<PciAddress>,
    /// Bytes of memory in all.
    pub memory_size: u64,
    /// Compute units (processors, multiprocessors).
    pub units: u32,
    /// Smallest and largest subgroup; 1 and 1 without subgroups.
    pub subgroup_sizes: [u32; 2],
    /// Bytes of the widest load or store that one invocation makes at once; 0: unknown.
    pub load_width: u32,
}

/// What a device allows. Every number is usable: work that uses exactly the limit runs (DL-06).
#[derive(Clone, Debug)]
pub struct Limits {
    /// Invocations per workgroup on each axis.
    pub workgroup_size: [u32; 3],
    /// Invocations per workgroup in all.
    pub workgroup_invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u64,
    /// Workgroups per launch on each axis.
    pub grid: [u32; 3],
    /// Bindings of one launch (storage and uniform together), internal ones already subtracted.
    pub bindings: u32,
    /// Bytes of one storage binding.
    pub binding_size: u64,
    /// Bytes of one uniform binding.
    pub uniform_size: u64,
    /// Bytes of the immediate block.
    pub immediate_size: u32,
    /// Bytes of one allocation.
    pub allocation_size: u64,
    /// Required alignment of a storage view's offset, in bytes, whatever the kernel.
    pub storage_alignment: u32,
    /// Required alignment of a uniform view's offset, in bytes.
    pub uniform_alignment: u32,
}

/// What a device can do beyond the minimum. Data, asked once; an absent ability is never an error in mid-stream.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// The sources that [`Device::compile`] takes.
    pub portable: bool,
    /// Launches can take their grid from memory.
    pub indirect: bool,
    /// The grid of a native kernel that is taken from memory is read by the host first: what follows in the queue waits for a round trip.
    pub native_indirect_by_host: bool,
    /// Over-limit indirect counts are reported as a late failure (L2); otherwise they silently run nothing.
    pub indirect_reports: bool,
    /// `Bounds::Validate` works.
    pub validate: bool,
    /// A running kernel can be cancelled by a time limit.
    pub time_limit: bool,
    /// [`CompileRequest::strict`] works.
    pub strict: bool,
    /// Accepted work may fail late even without validate mode and time limits (batched submission, delayed driver errors), so
    /// everything is journaled (T13).
    pub fails_late: bool,
    /// Memory is host-visible: `map` works, and what the host writes there and the device writes there are one memory without more ado.
    pub host_visible: bool,
    /// [`Queue::copy_2d`], [`Queue::write_2d`] and [`Queue::read_2d`] work. Elsewhere the runtime moves each row by itself.
    pub pitched: bool,
    /// Bytes that the rows of a padded tensor start at multiples of, a power of two; 0: as storage views.
    pub row_alignment: u32,
    /// A storage view is bound in multiples of this many bytes, a power of two; 0 or 1: to the byte. Elements of a runtime-sized array that are cut off by that are
    /// not there for the kernel.
    pub binding_granule: u32,
    /// [`Queue::timestamp`] works.
    pub timestamps: bool,
    /// [`Device::instantiate`] and [`Queue::replay`] work. Elsewhere the runtime plays graphs back node by node.
    pub native_graphs: bool,
    /// [`Device::communicator`] works.
    pub collectives: bool,
    /// Usage is tracked per block: large allocations need blocks of their own (the page rule).
    pub tracks_blocks: bool,
    /// Native kernels can take tensor maps (L13).
    pub tensor_maps: bool,
    /// How many native queues may exist at once; streams beyond it share (S1).
    pub queues: u32,
    /// What kernels may use.
    pub features: Features,
}

/// What portable kernels may use on a device beyond the core of the language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// 16-bit floats.
    pub f16: bool,
    /// 64-bit floats.
    pub f64: bool,
    /// 64-bit integers.
    pub int64: bool,
    /// Atomics on 64-bit integers.
    pub atomic_int64: bool,
    /// Atomics on 32-bit floats.
    pub atomic_f32: bool,
    /// Subgroup operations.
    pub subgroups: bool,
}

/// A kernel to be made ready for a device.
pub struct CompileRequest<'a> {
    /// What to compile.
    pub source: CompileSource<'a>,
    /// Treatment of out-of-range accesses.
    pub bounds: Bounds,
    /// Whether it must be possible to cancel it (costs a check per loop round).
    pub cancellable: bool,
    /// Bytes of room for what a launch prints; 0: nobody listens. See [`kernel::lower::Lowering`].
    pub print_room: u32,
    /// Whether its results have the same bits on every device that can do that ([`Capabilities::strict`]).
    pub strict: bool,
    /// The caller's label, for messages.
    pub label: &'a str,
}

/// The forms a kernel can come in; [`Capabilities`] says which a device takes.
pub enum CompileSource<'a> {
    /// A portable kernel, meaning fixed.
    Portable(&'a Arc<kernel::EntryPoint>),
    /// A source that the device has said suits it ([`Device::fit`]), and what is declared of it. Nothing of what the request says of bounds, prints and bits is meant for it.
    Native {
        /// The source.
        source: &'a NativeSource,
        /// The declaration.
        interface: &'a NativeInterface,
    },
}

/// What is known about a compiled kernel only after compilation.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// Registers per invocation, where the device says.
    pub registers: Option<u32>,
    /// The largest workgroup (in invocations) that this kernel can run with.
    pub max_invocations: Option<u32>,
    /// Bytes of workgroup memory that the compiled code needs.
    pub workgroup_memory: u64,
    /// Bytes of machine code.
    pub code_size: u64,
}

/// What the names are that a device gives its memory for other libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeKind {
    /// The device has none, or does not say.
    Unknown,
    /// An address of the host's.
    Address,
    /// A `VkBuffer`.
    VulkanBuffer,
    /// A `CUdeviceptr`.
    CudaPointer,
    /// A `hipDeviceptr_t`.
    HipPointer,
}

/// A device: memory, kernels, queues.
pub trait Device: Send + Sync {
    /// Who it is.
    fn properties(&self) -> &Properties;
    /// What it allows.
    fn limits(&self) -> &Limits;
    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Allocates a block of `size` bytes, more than 0, aligned to at least 256. What it holds is unspecified: the runtime's trust
    /// bookkeeping sees to zeros.
    fn allocate(&self, size: u64) -> Result<MemoryId, DeviceError>;
    /// Gives a block back. The runtime has seen every use of it complete.
    fn free(&self, memory: MemoryId);
    /// Host memory of `size` bytes, more than 0, that reads land in fastest: pinned, where there is such. It goes with the last clone.
    fn allocate_staging(&self, size: usize) -> Result<HostTarget, DeviceError> {
        HostTarget::staging(size).ok_or(DeviceError::OutOfMemory { asked: size as u64, free: 0 })
    }
    /// The host address of a block on host-visible devices, valid until it is freed.
    fn map(&self, memory: MemoryId) -> Result<HostTarget, DeviceError> {
        let _ = memory;
        Err(DeviceError::Unsupported("mapped memory"))
    }
    /// Uses somebody else's memory in place (T14), and tells where its bytes are: as if they were a block's, until [`Self::free`], which leaves the memory itself
    /// alone. Of the kind that [`Self::native_kind`] tells; whether it is memory of this device is for the device to find out, as far as its driver knows, and that none of
    /// it is the library's ([`Owned`]).
    fn import(&self, foreign: &Foreign) -> Result<Region, DeviceError> {
        let _ = foreign;
        Err(DeviceError::Unsupported("imported memory"))
    }
    /// The device's own name of a block, for other libraries (T14).
    fn export(&self, memory: MemoryId) -> Result<u64, DeviceError> {
        let _ = memory;
        Err(DeviceError::Unsupported("exported memory"))
    }

    /// What [`Device::export`] names.
    fn native_kind(&self) -> NativeKind {
        NativeKind::Unknown
    }

    /// How well a native source suits the device (L11), from a look at it: with what is declared of it, without compiling it, and without believing
    /// what it says of itself. Otherwise why it does not, for people: what was found and what is needed.
    fn fit(&self, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
        let _ = interface;
        Err(format!("{} is not taken by this device", source.language.name()))
    }

    /// Compiles. May take long and may be called from several threads at once.
    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError>;
    /// Makes ready what launches of a kernel with a grid from memory take beyond its code, if anything. Asked before each such launch, with no lock held; may take as
    /// long as [`Self::compile`] the first time. Without it, or when it fails, such launches work all the same. `kept`: where an earlier process may have left that,
    /// for a device that was opened with [`OpenOptions::artifacts`].
    fn prepare_indirect(&self, kernel: KernelId, kept: Option<&dyn Kept>) -> Result<(), DeviceError> {
        let _ = (kernel, kept);
        Ok(())
    }
    /// What compiled kernels depend on besides the request and the version of this library: exact target, features of the processor, versions of driver and compiler,
    /// options of the device. Kernels of a device with the same identity can be restored here. `None`: this device has no artifacts.
    fn artifact_identity(&self) -> Option<String> {
        None
    }
    /// A kernel that was just compiled, as bytes for [`Self::restore`]; `None` when it cannot be had. Asked for once, and only of a device that was opened with
    /// [`OpenOptions::artifacts`].
    fn artifact(&self, kernel: KernelId) -> Option<Vec<u8>> {
        let _ = kernel;
        None
    }
    /// As [`Self::compile`], from bytes that [`Self::artifact`] gave for an equal request on a device of the same identity. Their sender has checked that
    /// they are those bytes; a device checks their structure all the same, and an error other than a loss has the runtime compile.
    fn restore(&self, request: &CompileRequest<'_>, artifact: &[u8]) -> Result<KernelId, DeviceError> {
        let _ = (request, artifact);
        Err(DeviceError::Unsupported("kernels compiled earlier"))
    }
    /// Drops a compiled kernel. The runtime has seen every use of it complete.
    fn drop_kernel(&self, kernel: KernelId);
    /// What compilation found out.
    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts;

    /// Makes a queue, of at most [`Capabilities::queues`].
    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError>;

    /// Whether the device is beyond use, and by what (T12). One atomic load when it is well.
    fn fault(&self) -> Option<FaultCause>;

    /// Makes a graph ready to be replayed, when [`Capabilities::native_graphs`] says so. Everything that its replays need is allocated here: a replay asks the
    /// device for no memory. What its nodes name lives at least as long as the graph. [`DeviceError::Unsupported`]: not with such nodes; the runtime plays this
    /// graph back.
    fn instantiate(&self, graph: &GraphRequest<'_>) -> Result<GraphId, DeviceError> {
        let _ = graph;
        Err(DeviceError::Unsupported("graphs"))
    }
    /// Gives a node other regions, inline bytes, patterns or counts; its kind and its kernel stay, and so do all edges. For replays that are enqueued from now on:
    /// those that are enqueued keep what they have. Never at the same time as a call that replays the graph. A device that cannot answers
    /// [`DeviceError::Unsupported`], and the runtime makes the graph anew.
    fn update_graph(&self, graph: GraphId, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        let _ = (graph, node, work);
        Err(DeviceError::Unsupported("updates of graphs"))
    }
    /// Drops a graph. The runtime has seen every replay complete.
    fn drop_graph(&self, graph: GraphId) {
        let _ = graph;
    }
    /// Device time of each node in nanoseconds in the last replay that has completed, for a graph that was made to be timed. A join takes none. `None`:
    /// none has completed.
    fn graph_times(&self, graph: GraphId) -> Option<Vec<u64>> {
        let _ = graph;
        None
    }
    /// Gives memory to the system that it keeps for later, after a clean-up (M1). Does not wait for work of queues.
    fn trim(&self) {}
    /// To be held by a thread of the library's while it may be inside the device's driver: the end of the process waits for it for a while, and once the process ends it never comes. So
    /// it is taken before any lock, by no thread of the host's, and not while the host is called. `None`: the device has no driver that would mind.
    fn inside(&self) -> Option<exit::Inside> {
        None
    }
    /// The device's name for others, when some can reach its memory.
    fn peer(&self) -> Option<PeerId> {
        None
    }
    /// Whether this memory of another device, or what it allocates, can be copied from directly: [`Queue::copy_peer`] of this device's queues, and
    /// [`Queue::wait_for_peer`] of both's. The first call for a device may take long: the driver is asked to make it so, and bytes are sent to see whether they
    /// arrive (MD-01).
    fn can_reach(&self, other: PeerId, memory: Option<MemoryId>) -> bool {
        let _ = (other, memory);
        false
    }
    /// Joins a collective group, when [`Capabilities::collectives`] says so.
    fn communicator(&self, rank: u32, size: u32, unique_id: &[u8]) -> Result<Box<dyn Communicator>, DeviceError> {
        let _ = (rank, size, unique_id);
        Err(DeviceError::Unsupported("collectives"))
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The position has completed.
    Done,
    /// The time ran out first. Never an error of the device.
    TimedOut,
}

/// An ordered lane of work. Dropping a queue whose work has not completed is legal and lets that work finish.
pub trait Queue: Send + Sync {
    /// Its name on its device.
    fn id(&self) -> QueueId;

    /// Enqueues a kernel.
    fn launch(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError>;
    /// Enqueues a copy within the device, of equal sizes, never overlapping.
    fn copy(&self, at: Position, from: Region, to: Region) -> Result<(), DeviceError>;
    /// Enqueues a copy of rows that lie a pitch apart; see [`Pitched`].
    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        let _ = (at, copy);
        Err(DeviceError::Unsupported("pitched copies"))
    }
    /// Enqueues a copy from memory of another device that [`Device::can_reach`] allows, of equal sizes. Order on the other device is the runtime's business, by
    /// [`Self::wait_for_peer`]. An end of the other device is never told as an end of this one.
    fn copy_peer(&self, at: Position, from: (PeerId, Region), to: Region) -> Result<(), DeviceError> {
        let _ = (at, from, to);
        Err(DeviceError::Unsupported("peer copies"))
    }
    /// Enqueues a fill with a repeated pattern of 1, 2, 4, 8 or 16 bytes; the last repetition may be cut short.
    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError>;
    /// Enqueues a write of host bytes, which are copied before this returns.
    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Enqueues a write of host bytes that stay valid until `at` completes. The default copies at once.
    fn write_borrowed(&self, at: Position, to: Region, bytes: HostSource) -> Result<(), DeviceError>;
    /// Enqueues a write of rows of host bytes, which are copied before this returns; `bytes` is as long as [`HostRows::host_size`] says.
    fn write_2d(&self, at: Position, rows: &HostRows, bytes: &[u8]) -> Result<(), DeviceError> {
        let _ = (at, rows, bytes);
        Err(DeviceError::Unsupported("pitched writes"))
    }
    /// As [`Self::write_2d`], but the bytes stay valid until `at` completes. The default copies them at once.
    fn write_borrowed_2d(&self, at: Position, rows: &HostRows, bytes: HostSource) -> Result<(), DeviceError> {
        // SAFETY: `at` is only now enqueued, and the bytes are copied before that returns.
        self.write_2d(at, rows, unsafe { bytes.bytes() })
    }
    /// Enqueues a read of rows into host memory that stays valid until `at` completes. Bytes between the rows are left alone.
    fn read_2d(&self, at: Position, rows: &HostRows, into: HostTarget) -> Result<(), DeviceError> {
        let _ = (at, rows, into);
        Err(DeviceError::Unsupported("pitched reads"))
    }
    /// Enqueues a read into host memory that stays valid until `at` completes.
    fn read(&self, at: Position, from: Region, into: HostTarget) -> Result<(), DeviceError>;
    /// Reads at once, where the device's memory is the host's and no work under way uses the region. When this answers true the bytes are in `into`, nothing of the
    /// read can fail any more, and `at` completes in its turn. False: nothing was done. Not counted by a wrapper that makes calls fail, which answers false.
    fn read_at_once(&self, at: Position, from: Region, into: &HostTarget) -> Result<bool, DeviceError> {
        let _ = (at, from, into);
        Ok(false)
    }
    /// Enqueues a graph as one piece of work, when [`Capabilities::native_graphs`] says so. One graph may be replayed on several queues, and again while
    /// earlier replays are on their way; what it writes keeps them apart. What fails late or prints has the position of the replay.
    fn replay(&self, at: Position, graph: GraphId) -> Result<(), DeviceError> {
        let _ = (at, graph);
        Err(DeviceError::Unsupported("graphs"))
    }
    /// Makes later work of this queue wait for a position of another queue of the same device, on the device. That position may
    /// not have been enqueued yet only if its `mark` is certain to follow.
    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError>;
    /// Makes later work of this queue wait, on the device, for an event of the driver's own, as somebody else has recorded it until now (T14). It need not live longer
    /// than the call. Whoever names it vouches that it is one of this device's driver.
    fn wait_native(&self, event: u64) -> Result<(), DeviceError> {
        let _ = event;
        Err(DeviceError::Unsupported("events of a driver's own"))
    }
    /// Records an event of the driver's own behind all work of this queue (T14). False: the driver does not have all of that yet, and nothing was recorded.
    fn record_native(&self, event: u64) -> Result<bool, DeviceError> {
        let _ = event;
        Err(DeviceError::Unsupported("events of a driver's own"))
    }
    /// As [`Self::wait_for`] for a queue of another device that one of the two can reach. A device that is gone or beyond use is not waited for.
    fn wait_for_peer(&self, other: PeerId, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        let _ = (other, queue, position);
        Err(DeviceError::Unsupported("waits for other devices"))
    }
    /// Completes `at` without work, in order. Cannot fail: it is how a position whose work was refused still completes.
    fn mark(&self, at: Position);
    /// Sends what is collected to the device. Devices that do not collect do nothing.
    fn submit(&self) -> Result<(), DeviceError>;

    /// The highest position such that it and all before it have completed. Cheap: an atomic load, or a poll of the driver. After a
    /// fault of the device it is `Position::MAX`: nothing will ever run again, so nothing is in flight.
    fn completed(&self) -> Position;
    /// Blocks until `completed() >= at` or the time is over (`None`: for ever; zero: a poll). Submits what it waits for. Several threads may
    /// wait and enqueue at once. May run queued work on the calling thread.
    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError>;
    /// Takes the late failures (T13) found since the last call, in order. A failure is here before `completed` reaches its position.
    fn take_late(&self) -> Vec<LateFailure>;
    /// Takes what kernels have printed since the last call, in the order of their positions. What a launch prints is here before `completed`
    /// reaches its position.
    fn take_printed(&self) -> Vec<Printed> {
        Vec::new()
    }
    /// Calls `wake` (from any thread, with no lock held) once when `completed() >= at`; at once if it already is.
    fn notify(&self, at: Position, wake: Box<dyn FnOnce() + Send>);
    /// Device time in nanoseconds when the queue reached `at`, for positions enqueued with a timestamp request by `stamp`.
    fn timestamp(&self, at: Position) -> Option<u64> {
        let _ = at;
        None
    }
    /// Asks that the next work on this queue be timestamped at its end.
    fn stamp(&self, at: Position) -> Result<(), DeviceError> {
        let _ = at;
        Err(DeviceError::Unsupported("timestamps"))
    }
}

/// The reductions of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Sum of all members.
    Sum,
    /// Sum divided by the number of members; floating types only.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// One member's end of a collective group.
pub trait Communicator: Send + Sync {
    /// Reduces over all members; `scatter` leaves each with its own part only.
    #[allow(clippy::too_many_arguments, reason = "one call, plain data: a structure for it would be used once")]
    fn reduce(
        &self,
        queue: &dyn Queue,
        at: Position,
        op: Reduction,
        element: &str,
        from: Region,
        to: Region,
        scatter: bool,
    ) -> Result<(), DeviceError>;
    /// Concatenates all members' parts at every member.
    fn all_gather(&self, queue: &dyn Queue, at: Position, from: Region, to: Region) -> Result<(), DeviceError>;
    /// Sends to, or receives from, one member.
    fn exchange(
        &self,
        queue: &dyn Queue,
        at: Position,
        peer: u32,
        send: Option<Region>,
        receive: Option<Region>,
    ) -> Result<(), DeviceError>;
    /// Gives up, so that members in other processes notice.
    fn abort(&self);
}

impl fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.properties().name)
    }
}
