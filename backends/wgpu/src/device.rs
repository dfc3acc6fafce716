//! The device: its tables, its queue, its fault.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use compute_hal::{
    Capabilities, CompileRequest, Device, DeviceError, FaultCause, Fit, Foreign, GraphId, GraphRequest, HostTarget, KernelFacts,
    KernelId, Limits, MemoryId, NativeInterface, NativeKind, NativeSource, NodeWork, Properties, Queue, QueueId, Region,
};
use parking_lot::{Mutex, RwLock};

use crate::artifact::Artifact;
use crate::batch::own_id;
use crate::errors;
use crate::exit;
use crate::gpu::Gpu;
use crate::graph::Graph;
use crate::groups::Groups;
use crate::kernel::{Compiler, Kernel};
use crate::memory::{Ids, Memory};
use crate::moves::{Own, OwnKernels};
use crate::passthrough;
use crate::proof::Proofs;
use crate::queue::{Lane, WgpuQueue};
use crate::staging::Staging;
use crate::stamps::Stamps;
use crate::vulkan::OwnMemory;

/// The cause of a device that was lost, wgpu says ([`Shared::rests`]).
pub(crate) const LOST: &str = "DEVICE_LOST";

/// What a small write counts for: it has memory and a command of its own.
const LEAST_HELD: u64 = 4 << 10;
/// Bytes of writes that may wait for a submission.
const MOST_HELD: u64 = 1 << 20;

/// See [`proof`](crate::proof). Tests have it everywhere.
fn proves(gpu: &Gpu) -> bool {
    cfg!(test) || matches!(gpu.device().adapter_info().backend, wgpu::Backend::Metal | wgpu::Backend::Dx12)
}

/// wgpu gives a device up for whatever the driver refuses it in the midst of something, and calls all of it a loss.
fn why_lost(message: &str) -> &'static str {
    use wgpu::hal::DeviceError as E;
    let is = |error: E| message == error.to_string();
    if is(E::Lost) {
        LOST
    } else if is(E::OutOfMemory) {
        "OUT_OF_MEMORY"
    } else {
        "UNEXPECTED"
    }
}

/// What the device's handle and its queue share.
pub(crate) struct Shared {
    pub(crate) native: wgpu::Limits,
    pub(crate) limits: Limits,
    pub(crate) memory: Memory,
    pub(crate) staging: Staging,
    pub(crate) stamps: Stamps,
    kernels: RwLock<Ids<u64, Arc<Kernel>>>,
    graphs: RwLock<Ids<u64, Arc<Graph>>>,
    /// Bind groups of graphs' nodes, by what they bind.
    pub(crate) kept_groups: Mutex<Groups>,
    own: OwnKernels,
    /// The most workgroups that are sent at once; 0: any number.
    pub(crate) slice_groups: u64,
    /// Where blocks are not wgpu's to destroy: what the host looks at in place, or has handles of.
    pub(crate) own_memory: Option<OwnMemory>,
    /// Whether the device was opened for timestamps.
    pub(crate) looks: bool,
    /// See [`turns`](crate::turns).
    nvidia: bool,
    /// Whether a wait for the device may be left to wgpu: on OpenGL it has the context meanwhile, for seconds, and whoever wants that for anything panics after six.
    pub(crate) waits: bool,
    /// What batches end with where the driver does not tell of those that it has aborted.
    pub(crate) proofs: Option<Proofs>,
    /// Of the one queue that there may be.
    lane: Mutex<Weak<Lane>>,
    next: AtomicU64,
    next_queue: AtomicU32,
    /// Bytes that wgpu was told to write, and holds until something is submitted, in memory that is made for each write.
    held_back: AtomicU64,
    faulted: AtomicBool,
    fault: OnceLock<FaultCause>,
    /// Batches that were submitted.
    #[cfg(test)]
    pub(crate) submitted: AtomicU64,
    /// Memory for reads cannot be mapped.
    #[cfg(test)]
    pub(crate) loses_reads: AtomicBool,
    /// Nothing of what is submitted is done, and nobody is told.
    #[cfg(test)]
    pub(crate) aborts: AtomicBool,
    /// Goes last: what was made with it goes before.
    pub(crate) gpu: Gpu,
}

impl Shared {
    /// A number that names one block or kernel.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn fault(&self) -> Option<FaultCause> {
        if self.faulted.load(Ordering::Acquire) { self.fault.get().cloned() } else { None }
    }

    pub(crate) fn well(&self) -> Result<(), DeviceError> {
        self.fault().map_or(Ok(()), |cause| Err(DeviceError::Lost(cause)))
    }

    /// Whether nothing runs any more on a device that has ended so. On Vulkan wgpu says that the device is lost, too, where the driver has only refused memory
    /// (`vkAllocateMemory` with any error but the device's memory), and one that is really lost answers a wait at once: so there nobody is believed.
    pub(crate) fn rests(&self, cause: &FaultCause) -> bool {
        &*cause.name == LOST && self.gpu.device().adapter_info().backend != wgpu::Backend::Vulkan
    }

    /// What a call that failed answers. wgpu tells of a driver's refusal by the call's own error, out of memory say, also where that was the end of the device.
    pub(crate) fn or_lost(&self, error: DeviceError) -> DeviceError {
        self.well().err().unwrap_or(error)
    }

    /// Ends the device; the first cause stays. Queues learn of it when they look.
    pub(crate) fn lose(&self, name: &str, message: String) -> DeviceError {
        let cause = FaultCause { code: 0, name: name.into(), message: message.into(), reopen: true };
        let cause = self.fault.get_or_init(|| cause).clone();
        self.faulted.store(true, Ordering::Release);
        // The queue's thread lets everybody go.
        if let Some(lane) = self.lane.try_lock().and_then(|lane| lane.upgrade()) {
            lane.look();
        }
        DeviceError::Lost(cause)
    }

    /// Lets go of bind groups that hold a block or kernel that is gone, or a chunk of uniform bytes ([`own_id`](crate::batch::own_id)).
    pub(crate) fn forget(&self, id: u64) {
        let lane = self.lane.lock().upgrade();
        if let Some(lane) = lane {
            lane.forget(id);
        }
        self.kept_groups.lock().forget(id);
    }

    /// Something is submitted, and what wgpu has held back goes with it.
    pub(crate) fn holds_nothing_back(&self) {
        self.held_back.store(0, Ordering::Relaxed);
    }

    /// Notes that wgpu has so many bytes more to write with the next submission. Whether that has to come now, as there may be none: a graph may be changed for ever and never replayed.
    pub(crate) fn holds_too_much_back(&self, bytes: u64) -> bool {
        let more = bytes.max(LEAST_HELD);
        let is_much = self.held_back.fetch_add(more, Ordering::Relaxed) + more > MOST_HELD;
        if is_much {
            self.holds_nothing_back();
        }
        is_much
    }

    pub(crate) fn kernel(&self, id: KernelId) -> Result<Arc<Kernel>, DeviceError> {
        self.kernels.read().get(&id.0).cloned().ok_or_else(|| DeviceError::Internal(format!("no such kernel: {id:?}")))
    }

    pub(crate) fn graph(&self, id: GraphId) -> Result<Arc<Graph>, DeviceError> {
        self.graphs.read().get(&id.0).cloned().ok_or_else(|| DeviceError::Internal(format!("no such graph: {id:?}")))
    }

    pub(crate) fn own(&self, own: Own) -> Result<Arc<Kernel>, DeviceError> {
        self.own.get(own, |request| self.compile(request, false, Artifact::Unwanted))
    }

    fn compile(&self, request: &CompileRequest<'_>, sliced: bool, artifact: Artifact<'_>) -> Result<Kernel, DeviceError> {
        let dynamic_uniforms = self.native.max_dynamic_uniform_buffers_per_pipeline_layout;
        let compiler = Compiler { device: self.gpu.device(), dynamic_uniforms, sliced, beside: self.nvidia, artifact };
        Kernel::compile(&compiler, self.next_id(), request).map_err(|error| self.or_lost(error))
    }
}

#[cfg(test)]
impl Shared {
    /// The data of a pipeline cache with nothing in it.
    pub(crate) fn empty_cache_for_test(&self) -> Vec<u8> {
        crate::artifact::Cache::open(self.gpu.device(), Artifact::Wanted)
            .and_then(|cache| cache.native.get_data())
            .unwrap_or_default()
    }
}

pub(crate) struct WgpuDevice {
    shared: Arc<Shared>,
    properties: Properties,
    capabilities: Capabilities,
    /// What pipelines depend on, on a device that was opened to keep them and can.
    identity: Option<String>,
}

impl WgpuDevice {
    pub(crate) fn new(
        gpu: Gpu,
        native: wgpu::Limits,
        properties: Properties,
        limits: Limits,
        capabilities: Capabilities,
        slice_groups: u64,
        own_memory: Option<OwnMemory>,
    ) -> Self {
        let shared = Arc::new(Shared {
            native,
            limits,
            memory: Memory::default(),
            staging: Staging::default(),
            stamps: Stamps::default(),
            kernels: RwLock::default(),
            graphs: RwLock::default(),
            kept_groups: Mutex::default(),
            own: OwnKernels::default(),
            slice_groups,
            own_memory,
            looks: capabilities.timestamps,
            nvidia: properties.vendor == "NVIDIA",
            waits: gpu.device().adapter_info().backend != wgpu::Backend::Gl,
            proofs: proves(&gpu).then(Proofs::default),
            lane: Mutex::default(),
            next: AtomicU64::new(0),
            next_queue: AtomicU32::new(0),
            held_back: AtomicU64::new(0),
            faulted: AtomicBool::new(false),
            fault: OnceLock::new(),
            #[cfg(test)]
            submitted: AtomicU64::new(0),
            #[cfg(test)]
            loses_reads: AtomicBool::new(false),
            #[cfg(test)]
            aborts: AtomicBool::new(false),
            gpu,
        });
        // Weak: wgpu's device holds the callbacks.
        let lost = Arc::downgrade(&shared);
        shared.gpu.device().set_device_lost_callback(move |reason, message| {
            // Dropping a device destroys it, which is told here, too.
            if reason != wgpu::DeviceLostReason::Destroyed
                && let Some(shared) = lost.upgrade()
            {
                let _ = shared.lose(why_lost(&message), message);
            }
        });
        let stray = Arc::downgrade(&shared);
        shared.gpu.device().on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            // Every call that can fail has a scope, so this is a call that was thought not to: nothing is known about what it left undone.
            if let Some(error) = errors::stray(error)
                && let Some(shared) = stray.upgrade()
            {
                let _ = shared.lose("UNCAPTURED", errors::chain(&error));
            }
        }));
        Self { shared, properties, capabilities, identity: None }
    }

    /// Pipelines are kept, and depend on this.
    pub(crate) fn keeps_pipelines(self, identity: String) -> Self {
        Self { identity: Some(identity), ..self }
    }

    fn add_kernel(&self, request: &CompileRequest<'_>, artifact: Artifact<'_>) -> Result<KernelId, DeviceError> {
        self.shared.well()?;
        let kernel = self.shared.compile(request, self.shared.slice_groups > 0, artifact)?;
        let id = kernel.id;
        self.shared.kernels.write().insert(id, Arc::new(kernel));
        Ok(KernelId(id))
    }

    pub(crate) fn open_queue(&self) -> Result<WgpuQueue, DeviceError> {
        self.shared.well()?;
        let mut slot = self.shared.lane.lock();
        if slot.upgrade().is_some_and(|lane| !lane.is_closing()) {
            return Err(DeviceError::Internal("more than one queue at once".into()));
        }
        let id = QueueId(self.shared.next_queue.fetch_add(1, Ordering::Relaxed));
        let lane = Lane::start(id, Arc::clone(&self.shared)).map_err(|error| self.shared.or_lost(error))?;
        *slot = Arc::downgrade(&lane);
        Ok(WgpuQueue::new(lane))
    }

    /// As if the driver had told that it is gone.
    #[cfg(test)]
    pub(crate) fn lose_for_test(&self) {
        let _ = self.shared.lose(LOST, "lost by a test".into());
    }

    /// Batches that were submitted so far.
    #[cfg(test)]
    pub(crate) fn submitted_for_test(&self) -> u64 {
        self.shared.submitted.load(Ordering::Relaxed)
    }

    /// Memory for reads can, or cannot be mapped from now on.
    #[cfg(test)]
    pub(crate) fn lose_reads_for_test(&self, lose: bool) {
        self.shared.loses_reads.store(lose, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn shared_for_test(&self) -> &Shared {
        &self.shared
    }
}

impl Device for WgpuDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn allocate(&self, size: u64) -> Result<MemoryId, DeviceError> {
        self.shared.well()?;
        let shared = &self.shared;
        let (limit, own) = (shared.limits.allocation_size, shared.own_memory.as_ref());
        let allocate = || shared.memory.allocate(shared.gpu.device(), shared.next_id(), size, limit, own);
        let made = match allocate() {
            Err(DeviceError::OutOfMemory { .. }) if shared.well().is_ok() => {
                self.trim();
                allocate()
            }
            made => made,
        };
        made.map_err(|error| shared.or_lost(error))
    }

    fn free(&self, memory: MemoryId) {
        if self.shared.memory.free(memory) {
            self.shared.forget(memory.0);
        }
    }

    fn map(&self, memory: MemoryId) -> Result<HostTarget, DeviceError> {
        self.shared.memory.map(memory)
    }

    fn native_kind(&self) -> NativeKind {
        NativeKind::VulkanBuffer
    }

    fn export(&self, memory: MemoryId) -> Result<u64, DeviceError> {
        let span = self.shared.memory.span(Region { memory, offset: 0, size: 0 })?;
        let none = DeviceError::Unsupported("exported memory of an API other than Vulkan");
        let native = crate::vulkan::export(&span.block.buffer).ok_or(none)?;
        // Of a device of wgpu's own nobody can use a handle.
        if self.shared.gpu.host().is_some() && !span.block.stays() {
            return Err(DeviceError::Unsupported("exported memory beyond a quarter of the allocations that the driver allows"));
        }
        span.block.share();
        let lane = self.shared.lane.lock().upgrade();
        lane.map_or(Ok(()), |lane| lane.hand_out(&span.block)).map_err(|error| self.shared.or_lost(error))?;
        Ok(native)
    }

    fn import(&self, foreign: &Foreign) -> Result<Region, DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        // Of a device that wgpu has made nobody else has buffers.
        if shared.gpu.host().is_none() {
            return Err(DeviceError::Unsupported(
                "imported memory where the VkDevice is not the host's own (compute_vulkan_desc)",
            ));
        }
        let made = shared.memory.import(shared.gpu.device(), shared.next_id(), foreign, shared.limits.allocation_size);
        made.map_err(|error| shared.or_lost(error))
    }

    fn fit(&self, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
        passthrough::fit(self.shared.gpu.device(), source, interface, self.shared.limits.uniform_size)
    }

    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        let artifact = if self.identity.is_some() { Artifact::Wanted } else { Artifact::Unwanted };
        self.add_kernel(request, artifact)
    }

    fn artifact_identity(&self) -> Option<String> {
        self.identity.clone()
    }

    fn artifact(&self, kernel: KernelId) -> Option<Vec<u8>> {
        self.shared.kernel(kernel).ok()?.take_artifact()
    }

    fn restore(&self, request: &CompileRequest<'_>, artifact: &[u8]) -> Result<KernelId, DeviceError> {
        self.add_kernel(request, Artifact::Given(artifact))
    }

    fn drop_kernel(&self, kernel: KernelId) {
        let gone = self.shared.kernels.write().remove(&kernel.0);
        if gone.is_some() {
            self.shared.forget(kernel.0);
        }
    }

    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts {
        self.shared.kernel(kernel).map(|kernel| kernel.facts()).unwrap_or_default()
    }

    fn instantiate(&self, request: &GraphRequest<'_>) -> Result<GraphId, DeviceError> {
        self.shared.well()?;
        let graph = Graph::new(&self.shared, request).map_err(|error| self.shared.or_lost(error))?;
        let id = self.shared.next_id();
        self.shared.graphs.write().insert(id, Arc::new(graph));
        Ok(GraphId(id))
    }

    fn update_graph(&self, graph: GraphId, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        self.shared.well()?;
        self.shared.graph(graph)?.update(&self.shared, node, work).map_err(|error| self.shared.or_lost(error))
    }

    fn drop_graph(&self, graph: GraphId) {
        // Dropped with the lock given back.
        let graph = self.shared.graphs.write().remove(&graph.0);
        drop(graph);
    }

    fn graph_times(&self, graph: GraphId) -> Option<Vec<u64>> {
        self.shared.graph(graph).ok()?.times()
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(self.open_queue()?))
    }

    fn fault(&self) -> Option<FaultCause> {
        self.shared.fault()
    }

    fn trim(&self) {
        let shared = &self.shared;
        shared.staging.trim().into_iter().for_each(|chunk| shared.forget(own_id(chunk)));
        shared.stamps.trim();
        if let Some(proofs) = &shared.proofs {
            proofs.trim();
        }
        let lane = shared.lane.lock().upgrade();
        if let Some(lane) = lane {
            lane.drop_record();
        }
    }

    fn inside(&self) -> Option<compute_hal::exit::Inside> {
        // A device without queues has nobody who has.
        exit::register();
        Some(exit::inside())
    }
}
