//! The device: its tables, its queues, its fault.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use compute_hal::{
    Capabilities, CompileRequest, Device, DeviceError, FaultCause, Foreign, GraphId, GraphRequest, HostTarget, KernelFacts,
    KernelId, Limits, MemoryId, NativeKind, NodeWork, Properties, Queue, QueueId, Region,
};
use parking_lot::Mutex;

use crate::codegen;
use crate::fifo::Fifo;
use crate::graph::Graph;
use crate::kernel::Kernel;
use crate::memory::{Account, Block};
use crate::pool::Pool;
use crate::queue::CpuQueue;
use crate::scratch::Scratches;
use crate::table::Table;
use crate::watchdog::Watchdog;

/// What queues, workers and the device handle share. Goes with the last of the device's and queues' handles and jobs.
pub(crate) struct Shared {
    // First: the workers end before anything that they could look at.
    pub(crate) pool: Pool,
    pub(crate) watchdog: Watchdog,
    pub(crate) memory: Table<Arc<Block>>,
    account: Arc<Account>,
    pub(crate) kernels: Table<Arc<Kernel>>,
    pub(crate) graphs: Table<Arc<Graph>>,
    pub(crate) scratches: Scratches,
    pub(crate) queues: Mutex<HashMap<QueueId, Weak<Fifo>>>,
    pub(crate) limits: Limits,
    next_queue: AtomicU32,
    faulted: AtomicBool,
    fault: OnceLock<FaultCause>,
}

impl Shared {
    pub(crate) fn faulted(&self) -> bool {
        self.faulted.load(Ordering::Acquire)
    }

    pub(crate) fn fault(&self) -> Option<FaultCause> {
        if self.faulted() { self.fault.get().cloned() } else { None }
    }

    pub(crate) fn well(&self) -> Result<(), DeviceError> {
        self.fault().map_or(Ok(()), |cause| Err(DeviceError::Lost(cause)))
    }

    /// Queues made so far; every id below has been a queue.
    pub(crate) fn queue_ids(&self) -> u32 {
        self.next_queue.load(Ordering::Relaxed)
    }

    /// Ends the device after a bug of ours: one of its jobs panicked.
    pub(crate) fn poison_by_panic(&self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("a job of the cpu device panicked: {}", text.unwrap_or("no message"));
        let cause = FaultCause { code: 0, name: "PANIC".into(), message: message.into(), reopen: true };
        // The first cause stays.
        let _ = self.fault.set(cause);
        self.faulted.store(true, Ordering::Release);
        // Collected first: dropping a queue takes the lock.
        let queues: Vec<Arc<Fifo>> = self.queues.lock().values().filter_map(Weak::upgrade).collect();
        for queue in queues {
            queue.abandon();
        }
    }
}

pub(crate) struct CpuDevice {
    pub(crate) shared: Arc<Shared>,
    properties: Properties,
    capabilities: Capabilities,
    /// Kernels are asked for as bytes.
    artifacts: bool,
}

impl CpuDevice {
    pub(crate) fn open(
        workers: u32,
        properties: Properties,
        limits: Limits,
        capabilities: Capabilities,
        artifacts: bool,
    ) -> Result<Self, DeviceError> {
        let shared = Arc::new(Shared {
            pool: Pool::start(workers)?,
            watchdog: Watchdog::default(),
            memory: Table::default(),
            account: Account::new(limits.allocation_size),
            kernels: Table::default(),
            graphs: Table::default(),
            scratches: Scratches::new(workers as usize),
            queues: Mutex::default(),
            limits,
            next_queue: AtomicU32::new(0),
            faulted: AtomicBool::new(false),
            fault: OnceLock::new(),
        });
        Ok(Self { shared, properties, capabilities, artifacts })
    }

    fn add_block(&self, block: Block) -> Result<MemoryId, DeviceError> {
        self.shared.memory.reserve()?;
        Ok(MemoryId(self.shared.memory.insert(Arc::new(block))))
    }

    fn block(&self, memory: MemoryId) -> Result<Arc<Block>, DeviceError> {
        self.shared.memory.get(memory.0).ok_or_else(|| DeviceError::Internal(format!("no such memory: {memory:?}")))
    }

    pub(crate) fn add_kernel(&self, kernel: Kernel) -> Result<KernelId, DeviceError> {
        if kernel.cancellable {
            self.shared.watchdog.start()?;
        }
        self.shared.kernels.reserve()?;
        Ok(KernelId(self.shared.kernels.insert(Arc::new(kernel))))
    }
}

impl Device for CpuDevice {
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
        self.add_block(Block::charged(&self.shared.account, size)?)
    }

    fn free(&self, memory: MemoryId) {
        if let Some(block) = self.shared.memory.remove(memory.0) {
            block.let_go();
        }
    }

    fn map(&self, memory: MemoryId) -> Result<HostTarget, DeviceError> {
        self.shared.well()?;
        let block = self.block(memory)?;
        // SAFETY: the block is that large; that nobody frees or uses it against the order of the queues is for the runtime to keep.
        Ok(unsafe { HostTarget::new(block.pointer(), block.size()) })
    }

    fn import(&self, foreign: &Foreign) -> Result<Region, DeviceError> {
        self.shared.well()?;
        Ok(Region { memory: self.add_block(Block::foreign(foreign)?)?, offset: 0, size: foreign.size })
    }

    fn native_kind(&self) -> NativeKind {
        NativeKind::Address
    }

    fn export(&self, memory: MemoryId) -> Result<u64, DeviceError> {
        self.shared.well()?;
        Ok(self.block(memory)?.pointer().expose_provenance() as u64)
    }

    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        self.shared.well()?;
        self.add_kernel(Kernel::compile(request, &self.shared.scratches, self.artifacts)?)
    }

    fn artifact_identity(&self) -> Option<String> {
        codegen::identity()
    }

    fn artifact(&self, kernel: KernelId) -> Option<Vec<u8>> {
        self.shared.kernels.get(kernel.0)?.take_artifact()
    }

    fn restore(&self, request: &CompileRequest<'_>, artifact: &[u8]) -> Result<KernelId, DeviceError> {
        self.shared.well()?;
        self.add_kernel(Kernel::restore(request, &self.shared.scratches, artifact)?)
    }

    fn drop_kernel(&self, kernel: KernelId) {
        drop(self.shared.kernels.remove(kernel.0));
    }

    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts {
        self.shared.kernels.get(kernel.0).map(|kernel| kernel.facts()).unwrap_or_default()
    }

    fn instantiate(&self, graph: &GraphRequest<'_>) -> Result<GraphId, DeviceError> {
        self.shared.well()?;
        self.shared.graphs.reserve()?;
        let graph = Graph::new(&self.shared, graph)?;
        Ok(GraphId(self.shared.graphs.insert(Arc::new(graph))))
    }

    fn update_graph(&self, graph: GraphId, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        self.shared.well()?;
        match self.shared.graphs.get(graph.0) {
            Some(graph) => graph.update(&self.shared, node, work),
            None => Err(DeviceError::Internal(format!("no such graph: {graph:?}"))),
        }
    }

    fn drop_graph(&self, graph: GraphId) {
        drop(self.shared.graphs.remove(graph.0));
    }

    fn graph_times(&self, graph: GraphId) -> Option<Vec<u64>> {
        self.shared.graphs.get(graph.0)?.times()
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        self.shared.well()?;
        let mut queues = self.shared.queues.lock();
        if queues.len() >= self.capabilities.queues as usize {
            return Err(DeviceError::Internal(format!("more than {} queues at once", self.capabilities.queues)));
        }
        let Some(next) = self.shared.queue_ids().checked_add(1) else {
            return Err(DeviceError::Internal("no queue ids left".into()));
        };
        let id = QueueId(self.shared.next_queue.swap(next, Ordering::Relaxed));
        let fifo = Arc::new(Fifo::new(id, Arc::clone(&self.shared)));
        queues.insert(id, Arc::downgrade(&fifo));
        drop(queues);
        // A fault between the check and the registration has not seen this queue.
        if self.shared.faulted() {
            fifo.abandon();
        }
        Ok(Arc::new(CpuQueue::new(fifo)))
    }

    fn fault(&self) -> Option<FaultCause> {
        self.shared.fault()
    }
}
