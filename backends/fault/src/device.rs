//! A driver and a device that pass every call on, unless the plan says otherwise.

use std::sync::{Arc, OnceLock, Weak};

use compute_hal::{
    Capabilities, Communicator, CompileRequest, Device, DeviceError, Driver, FaultCause, Fit, Foreign, GraphId, GraphRequest,
    HostTarget, Kept, KernelFacts, KernelId, Limits, MemoryId, NativeInterface, NativeKind, NativeSource, NodeWork, OpenOptions,
    PeerId, Probe, Properties, Queue, Region,
};
use parking_lot::Mutex;

use crate::plan::{Calls, FaultPlan, How};
use crate::queue::{FaultQueue, Lane};

/// Wraps a driver: every device that it opens is under the plan.
pub struct FaultDriver {
    inner: Box<dyn Driver>,
    plan: Arc<FaultPlan>,
}

impl FaultDriver {
    /// Wraps `inner`.
    pub fn new(inner: Box<dyn Driver>, plan: Arc<FaultPlan>) -> Self {
        Self { inner, plan }
    }
}

impl Driver for FaultDriver {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn probe(&self) -> Probe {
        self.inner.probe()
    }

    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(wrap(self.inner.open(index, options)?, Arc::clone(&self.plan)))
    }
}

/// Puts a device under a plan. Calls to `device` itself are not counted and do not fail.
pub fn wrap(device: Arc<dyn Device>, plan: Arc<FaultPlan>) -> Arc<dyn Device> {
    let mut capabilities = device.capabilities().clone();
    capabilities.fails_late |= plan.late();
    capabilities.pitched &= plan.pitched();
    let common = Arc::new(Common { plan, lost: OnceLock::new(), lanes: Mutex::default() });
    Arc::new(FaultDevice { inner: device, capabilities, common })
}

/// What a device and its queues share.
pub(crate) struct Common {
    pub(crate) plan: Arc<FaultPlan>,
    lost: OnceLock<FaultCause>,
    lanes: Mutex<Vec<Weak<Lane>>>,
}

/// What the wrapped call is to do after all.
pub(crate) enum Verdict {
    Pass,
    Late,
    LateDone,
}

impl Common {
    pub(crate) fn lost(&self) -> Option<&FaultCause> {
        self.lost.get()
    }

    /// Counts a call, and fails it if it is its turn.
    pub(crate) fn meet(&self, call: Calls, name: &'static str, enqueues: bool) -> Result<Verdict, DeviceError> {
        if let Some(cause) = self.lost() {
            return Err(DeviceError::Lost(cause.clone()));
        }
        match self.plan.meet(call, enqueues) {
            None => Ok(Verdict::Pass),
            Some(How::Late) => Ok(Verdict::Late),
            Some(How::LateDone) => Ok(Verdict::LateDone),
            Some(How::Driver) => Err(DeviceError::Driver {
                call: name,
                code: -1,
                name: "INJECTED".into(),
                message: "a failure asked for by the fault plan".into(),
            }),
            Some(How::OutOfMemory) => Err(DeviceError::OutOfMemory { asked: 0, free: 0 }),
            Some(How::Lost) => Err(DeviceError::Lost(self.lose(name))),
            Some(How::Unsupported) => Err(DeviceError::Unsupported(name)),
            Some(How::Panic) => panic_in(name),
        }
    }

    fn lose(&self, name: &'static str) -> FaultCause {
        let message = format!("the fault plan had the device lost in {name}").into();
        let cause =
            self.lost.get_or_init(|| FaultCause { code: -2, name: "INJECTED_LOSS".into(), message, reopen: true }).clone();
        // Outside the lock: sealing waits for calls in progress.
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().iter().filter_map(Weak::upgrade).collect();
        for lane in lanes {
            lane.seal();
        }
        cause
    }
}

#[allow(clippy::panic, reason = "that is what was asked for")]
fn panic_in(name: &'static str) -> ! {
    panic!("the fault plan asked for a panic in {name}")
}

struct FaultDevice {
    inner: Arc<dyn Device>,
    capabilities: Capabilities,
    common: Arc<Common>,
}

impl FaultDevice {
    fn meet(&self, call: Calls, name: &'static str) -> Result<(), DeviceError> {
        self.common.meet(call, name, false).map(drop)
    }
}

impl Device for FaultDevice {
    fn properties(&self) -> &Properties {
        self.inner.properties()
    }

    fn limits(&self) -> &Limits {
        self.inner.limits()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn allocate(&self, size: u64) -> Result<MemoryId, DeviceError> {
        self.meet(Calls::ALLOCATE, "allocate").map_err(|error| match error {
            DeviceError::OutOfMemory { .. } => DeviceError::OutOfMemory { asked: size, free: 0 },
            other => other,
        })?;
        self.inner.allocate(size)
    }

    fn free(&self, memory: MemoryId) {
        self.inner.free(memory);
    }

    fn allocate_staging(&self, size: usize) -> Result<HostTarget, DeviceError> {
        self.meet(Calls::ALLOCATE, "allocate_staging")?;
        self.inner.allocate_staging(size)
    }

    fn map(&self, memory: MemoryId) -> Result<HostTarget, DeviceError> {
        self.meet(Calls::SHARE, "map")?;
        self.inner.map(memory)
    }

    fn import(&self, foreign: &Foreign) -> Result<Region, DeviceError> {
        self.meet(Calls::SHARE, "import")?;
        self.inner.import(foreign)
    }

    fn native_kind(&self) -> NativeKind {
        self.inner.native_kind()
    }

    fn export(&self, memory: MemoryId) -> Result<u64, DeviceError> {
        self.meet(Calls::SHARE, "export")?;
        self.inner.export(memory)
    }

    fn fit(&self, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
        self.inner.fit(source, interface)
    }

    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        self.meet(Calls::COMPILE, "compile")?;
        self.inner.compile(request)
    }

    fn prepare_indirect(&self, kernel: KernelId, kept: Option<&dyn Kept>) -> Result<(), DeviceError> {
        self.inner.prepare_indirect(kernel, kept)
    }

    fn artifact_identity(&self) -> Option<String> {
        self.inner.artifact_identity()
    }

    fn artifact(&self, kernel: KernelId) -> Option<Vec<u8>> {
        self.inner.artifact(kernel)
    }

    fn restore(&self, request: &CompileRequest<'_>, artifact: &[u8]) -> Result<KernelId, DeviceError> {
        self.meet(Calls::COMPILE, "restore")?;
        self.inner.restore(request, artifact)
    }

    fn drop_kernel(&self, kernel: KernelId) {
        self.inner.drop_kernel(kernel);
    }

    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts {
        self.inner.kernel_facts(kernel)
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        self.meet(Calls::CREATE_QUEUE, "create_queue")?;
        let lane = Arc::new(Lane::new(self.inner.create_queue()?));
        let mut lanes = self.common.lanes.lock();
        lanes.retain(|lane| lane.strong_count() > 0);
        lanes.push(Arc::downgrade(&lane));
        drop(lanes);
        if self.common.lost().is_some() {
            lane.seal();
        }
        Ok(Arc::new(FaultQueue::new(lane, Arc::clone(&self.common))))
    }

    fn fault(&self) -> Option<FaultCause> {
        self.common.lost().cloned().or_else(|| self.inner.fault())
    }

    fn instantiate(&self, graph: &GraphRequest<'_>) -> Result<GraphId, DeviceError> {
        self.meet(Calls::GRAPH, "instantiate")?;
        self.inner.instantiate(graph)
    }

    fn update_graph(&self, graph: GraphId, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        self.meet(Calls::GRAPH, "update_graph")?;
        self.inner.update_graph(graph, node, work)
    }

    fn drop_graph(&self, graph: GraphId) {
        self.inner.drop_graph(graph);
    }

    fn graph_times(&self, graph: GraphId) -> Option<Vec<u64>> {
        self.inner.graph_times(graph)
    }

    fn trim(&self) {
        self.inner.trim();
    }

    fn inside(&self) -> Option<compute_hal::exit::Inside> {
        self.common.plan.inside().or_else(|| self.inner.inside())
    }

    fn peer(&self) -> Option<PeerId> {
        self.inner.peer()
    }

    fn can_reach(&self, other: PeerId, memory: Option<MemoryId>) -> bool {
        self.inner.can_reach(other, memory)
    }

    fn communicator(&self, rank: u32, size: u32, unique_id: &[u8]) -> Result<Box<dyn Communicator>, DeviceError> {
        self.inner.communicator(rank, size, unique_id)
    }
}
