//! A device that does nothing, at once: what a call costs when the device costs nothing.
//!
//! It accepts everything that is legal, keeps no contents, and completes every position inside the call that enqueues it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use compute_hal::{
    Capabilities, CompileRequest, Device, DeviceError, DeviceKind, Driver, FaultCause, HostSource, HostTarget, KernelFacts,
    KernelId, LateFailure, Launch, Limits, MemoryId, OpenOptions, Pitched, Position, Probe, Properties, Queue, QueueId, Region,
    Waited,
};
use parking_lot::{Condvar, Mutex};

/// The driver of the device that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDriver;

impl Driver for NullDriver {
    fn name(&self) -> &'static str {
        "null"
    }

    fn probe(&self) -> Probe {
        Probe { devices: vec![properties()], tried: vec!["null: built in".into()] }
    }

    fn open(&self, index: u32, _options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        if index != 0 {
            return Err(DeviceError::Internal(format!("null device {index} of 1")));
        }
        Ok(Arc::new(NullDevice {
            properties: properties(),
            limits: limits(),
            capabilities: capabilities(),
            ids: AtomicU64::new(1),
            queues: AtomicU32::new(0),
        }))
    }
}

struct NullDevice {
    properties: Properties,
    limits: Limits,
    capabilities: Capabilities,
    ids: AtomicU64,
    queues: AtomicU32,
}

fn properties() -> Properties {
    Properties {
        name: "null device".into(),
        vendor: "none".into(),
        driver: "libcompute null".into(),
        kind: DeviceKind::Other,
        target: "null".into(),
        uuid: [0; 16],
        pci: None,
        memory_size: 1 << 40,
        units: 1,
        subgroup_sizes: [1, 1],
        load_width: 16,
    }
}

fn limits() -> Limits {
    Limits {
        workgroup_size: [1024; 3],
        workgroup_invocations: 1024,
        workgroup_memory: 64 << 10,
        grid: [(u32::MAX >> 10) + 1, 65_535, 65_535],
        bindings: 64,
        binding_size: 1 << 40,
        uniform_size: 64 << 10,
        immediate_size: 256,
        allocation_size: 1 << 40,
        storage_alignment: 4,
        uniform_alignment: 4,
    }
}

fn capabilities() -> Capabilities {
    Capabilities { portable: true, indirect: true, queues: 4096, ..Capabilities::default() }
}

impl Device for NullDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn allocate(&self, size: u64) -> Result<MemoryId, DeviceError> {
        if size > self.limits.allocation_size {
            return Err(DeviceError::TooLarge { asked: size, limit: self.limits.allocation_size });
        }
        Ok(MemoryId(self.ids.fetch_add(1, Ordering::Relaxed)))
    }

    fn free(&self, _memory: MemoryId) {}

    fn compile(&self, _request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        Ok(KernelId(self.ids.fetch_add(1, Ordering::Relaxed)))
    }

    fn drop_kernel(&self, _kernel: KernelId) {}

    fn kernel_facts(&self, _kernel: KernelId) -> KernelFacts {
        KernelFacts::default()
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        let id = QueueId(self.queues.fetch_add(1, Ordering::Relaxed));
        Ok(Arc::new(NullQueue {
            id,
            completed: AtomicU64::new(0),
            earliest: AtomicU64::new(u64::MAX),
            waiting: Mutex::default(),
            signal: Condvar::new(),
        }))
    }

    fn fault(&self) -> Option<FaultCause> {
        None
    }
}

type Wake = Box<dyn FnOnce() + Send>;

struct NullQueue {
    id: QueueId,
    completed: AtomicU64,
    /// The lowest position that somebody waits for, so that completing costs no lock.
    earliest: AtomicU64,
    waiting: Mutex<Waiting>,
    signal: Condvar,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// `None`: a sleeping thread.
    entries: BTreeMap<(Position, u64), Option<Wake>>,
}

impl Waiting {
    fn earliest(&self) -> Position {
        self.entries.keys().next().map_or(Position::MAX, |&(at, _)| at)
    }
}

impl NullQueue {
    fn complete(&self, at: Position) {
        self.completed.store(at, Ordering::Release);
        // Pairs with the one in `enter`.
        fence(Ordering::SeqCst);
        if self.earliest.load(Ordering::Relaxed) > at {
            return;
        }
        let mut waiting = self.waiting.lock();
        let mut wakes = Vec::new();
        while let Some(entry) = waiting.entries.first_entry()
            && entry.key().0 <= at
        {
            wakes.extend(entry.remove());
        }
        self.earliest.store(waiting.earliest(), Ordering::Relaxed);
        drop(waiting);
        self.signal.notify_all();
        if !wakes.is_empty() {
            // Whoever enqueues may hold what a callback wants. Rare enough for a thread of its own; without one, there is only here.
            let wakes = Mutex::new(wakes);
            let shared = Arc::new(wakes);
            let theirs = Arc::clone(&shared);
            let call = move || std::mem::take(&mut *theirs.lock()).into_iter().for_each(|wake| wake());
            if std::thread::Builder::new().name("compute-null".into()).spawn(call).is_err() {
                std::mem::take(&mut *shared.lock()).into_iter().for_each(|wake| wake());
            }
        }
    }

    /// Registers; gives the wake back when the position is there already.
    fn enter(&self, waiting: &mut Waiting, at: Position, wake: Option<Wake>) -> Result<(Position, u64), Option<Wake>> {
        let key = (at, waiting.next);
        waiting.next += 1;
        waiting.entries.insert(key, wake);
        self.earliest.store(waiting.earliest(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.completed() < at {
            return Ok(key);
        }
        let wake = waiting.entries.remove(&key).flatten();
        self.earliest.store(waiting.earliest(), Ordering::Relaxed);
        Err(wake)
    }
}

impl Queue for NullQueue {
    fn id(&self) -> QueueId {
        self.id
    }

    fn launch(&self, at: Position, _launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn copy(&self, at: Position, _from: Region, _to: Region) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn copy_2d(&self, at: Position, _copy: &Pitched) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn fill(&self, at: Position, _to: Region, _pattern: &[u8]) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn write(&self, at: Position, _to: Region, _bytes: &[u8]) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn write_borrowed(&self, at: Position, _to: Region, _bytes: HostSource) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn read(&self, at: Position, _from: Region, _into: HostTarget) -> Result<(), DeviceError> {
        self.complete(at);
        Ok(())
    }

    fn wait_for(&self, _queue: QueueId, _position: Position) -> Result<(), DeviceError> {
        // Without contents there is no order to keep.
        Ok(())
    }

    fn mark(&self, at: Position) {
        self.complete(at);
    }

    fn submit(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn completed(&self) -> Position {
        self.completed.load(Ordering::Acquire)
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if self.completed() >= at {
            return Ok(Waited::Done);
        }
        let mut waiting = self.waiting.lock();
        let Ok(key) = self.enter(&mut waiting, at, None) else { return Ok(Waited::Done) };
        while self.completed() < at {
            match deadline {
                None => self.signal.wait(&mut waiting),
                Some(deadline) if self.signal.wait_until(&mut waiting, deadline).timed_out() => break,
                Some(_) => {}
            }
        }
        waiting.entries.remove(&key);
        self.earliest.store(waiting.earliest(), Ordering::Relaxed);
        Ok(if self.completed() >= at { Waited::Done } else { Waited::TimedOut })
    }

    fn take_late(&self) -> Vec<LateFailure> {
        Vec::new()
    }

    fn notify(&self, at: Position, wake: Wake) {
        let mut waiting = self.waiting.lock();
        let early = self.enter(&mut waiting, at, Some(wake));
        drop(waiting);
        if let Err(Some(wake)) = early {
            wake();
        }
    }
}

impl Drop for NullQueue {
    fn drop(&mut self) {
        self.complete(Position::MAX);
    }
}
