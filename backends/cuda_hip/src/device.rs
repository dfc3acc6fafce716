//! The device: what its handle and its queues share, and its end.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use compute_hal::movers::Movers;
use compute_hal::stack::on_large_stack;
use compute_hal::{
    Capabilities, CompileRequest, Device, DeviceError, FaultCause, Fit, Foreign, GraphId, GraphRequest, HostTarget, Kept,
    KernelFacts, KernelId, Limits, MemoryId, NativeInterface, NativeKind, NativeSource, NodeWork, PeerId, Properties, Queue,
    QueueId, Region, Space,
};
use parking_lot::{Mutex, RwLock};

use crate::api::{Api, Garbage, Home, Inside, Object, STREAM, made_for};
use crate::attendant::Attendant;
use crate::context::Context;
use crate::declared;
use crate::doubt::Doubt;
use crate::driver::{Failure, Handle};
use crate::exit;
use crate::fate::Fate;
use crate::foreign;
use crate::graph::Graph;
use crate::kernel::{Compiler, Kernel, Loaded};
use crate::lane::Lane;
use crate::memory::{Memory, Pool};
use crate::peer::Reach;
use crate::probe::Description;
use crate::queue::GpuQueue;
use crate::reclaim::{MOMENT, PATIENCE, Reclaim};
use crate::staging::{Chunks, Pinned};
use crate::suspects;
use crate::table::Table;

/// Where pinned memory that was given out lies: start and end.
type Lent = RwLock<BTreeMap<usize, usize>>;

/// What the device's handle and its queues share.
pub(crate) struct Shared {
    pub(crate) api: Arc<Api>,
    pub(crate) home: Home,
    pub(crate) number: i32,
    pub(crate) limits: Limits,
    /// Bytes from row to row in a copy at most.
    pub(crate) pitch: u64,
    /// Kilohertz of the clock that kernels look at.
    pub(crate) clock: u32,
    target: String,
    subgroup: u32,
    /// Multiprocessors.
    units: u32,
    /// Kernels are asked for as bytes.
    artifacts: bool,
    pub(crate) memory: Memory,
    pub(crate) chunks: Chunks,
    pub(crate) reclaim: Arc<Reclaim>,
    pub(crate) attendant: Arc<Attendant>,
    pub(crate) movers: Arc<Movers>,
    kernels: Table<Loaded>,
    graphs: Table<Arc<Graph>>,
    lanes: Mutex<HashMap<QueueId, Weak<Lane>>>,
    /// Whether memory of other devices can be reached, as far as somebody has asked.
    pub(crate) reached: Mutex<HashMap<PeerId, Reach>>,
    next_queue: AtomicU32,
    /// Threads that wait without sleeping.
    pub(crate) awake: AtomicU32,
    lent: Lent,
    fate: Arc<Fate>,
    pub(crate) context: Arc<Context>,
}

impl Shared {
    /// The device's calls, on this thread.
    pub(crate) fn try_enter(&self) -> Result<Inside<'_>, Failure> {
        self.context.enter()
    }

    /// As [`Self::try_enter`]; that it fails may be the end of the device.
    pub(crate) fn enter(&self) -> Result<Inside<'_>, DeviceError> {
        self.try_enter().map_err(|failure| self.fail(failure))
    }

    /// As [`Self::enter`] for those who look how far work is, and would look for ever where that fails for ever: the end of the device, unless memory is out or somebody
    /// captures, which passes. With a doubt not even that is borne without end.
    pub(crate) fn enter_to_look(&self, doubt: Option<&mut Doubt>) -> Option<Inside<'_>> {
        let failure = match self.try_enter() {
            Ok(calls) => return Some(calls),
            Err(failure) => failure,
        };
        let errors = &self.api.vendor.errors;
        let passes = failure.code == errors.out_of_memory || errors.is_not_yet(failure.code);
        if !passes {
            self.condemn(failure);
        } else if doubt.is_some_and(|doubt| doubt.lasts(errors.patience)) {
            self.give_up(failure);
        }
        None
    }

    pub(crate) fn fault(&self) -> Option<FaultCause> {
        self.fate.cause()
    }

    pub(crate) fn fate(&self) -> Arc<Fate> {
        Arc::clone(&self.fate)
    }

    #[inline]
    pub(crate) fn well(&self) -> Result<(), DeviceError> {
        if self.fate.is_over() { self.ended() } else { Ok(()) }
    }

    #[cold]
    fn ended(&self) -> Result<(), DeviceError> {
        self.fault().map_or(Ok(()), |cause| Err(DeviceError::Lost(cause)))
    }

    fn add_kernel(&self, made: Result<Kernel, DeviceError>) -> Result<KernelId, DeviceError> {
        let made = made?;
        self.kernels.reserve()?;
        Ok(KernelId(self.kernels.insert(Loaded(Arc::new(made)))))
    }

    /// Ends the device, and all others of the process where the cause is one that ends them all.
    pub(crate) fn end_by(&self, cause: FaultCause) -> FaultCause {
        self.api.fates.end(&self.fate, cause)
    }

    /// Whether a stream has work that may still touch memory, also when the device has ended by a cause of ours. Where the driver does not tell, it is taken to have some
    /// for as long as another answer is to be expected.
    pub(crate) fn is_running(&self, stream: Object, doubt: &mut Doubt) -> bool {
        let errors = &self.api.vendor.errors;
        let failure = match self.try_enter() {
            // SAFETY: the stream lives.
            Ok(calls) => match unsafe { calls.stream_query(stream.0) } {
                Err(failure) if errors.is_capturing(failure.code) => failure,
                answer => {
                    doubt.clear();
                    return answer.is_err_and(|failure| failure.code == errors.not_ready);
                }
            },
            Err(failure) => failure,
        };
        // After a fault that the driver has told nothing runs any more.
        self.api.cause(failure).is_none() && !doubt.lasts(errors.patience)
    }

    /// Looks for a fault that the driver has to tell of work that nobody has asked for since. The queues are let go of on another thread, as of [`Self::with_suspects`].
    pub(crate) fn find_fault(&self) {
        if self.fault().is_some() {
            return;
        }
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().values().filter_map(Weak::upgrade).collect();
        lanes.iter().for_each(|lane| lane.progress.find_fault(self));
        self.attendant.let_go(lanes);
    }

    /// Whether no call about a queue is under way that was begun before the device's end, and none that ends what was thrown away: whoever enqueues or looks has a lock of
    /// the queue's, and asks behind it whether the device is well. Waits for those who have one until then. Of calls that are about no queue (an allocation that waits for
    /// memory, a kernel that is loaded, a graph that is made) nothing is known.
    pub(crate) fn is_left(&self, deadline: Instant) -> bool {
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().values().filter_map(Weak::upgrade).collect();
        let left = lanes.iter().all(|lane| lane.submit.try_lock_until(deadline).is_some() && lane.progress.is_left(deadline));
        self.attendant.let_go(lanes);
        self.reclaim.flush(deadline.saturating_duration_since(Instant::now())) && left
    }

    /// The driver has no pinned memory: gives it what nobody uses, which may be of a wrong size, and has queues let go of what they can. Whether some will come back:
    /// if not, all that was under way is back.
    pub(crate) fn gets_memory_back(&self) -> bool {
        self.chunks.clear();
        let used = self.chunks.are_there();
        if used {
            self.attendant.want_chunks();
        }
        used || self.reclaim.is_busy()
    }

    /// Makes pinned memory for a call that may wait: where the driver has none, for as long as some of ours is under way. `mark`: what the caller's own queue does so
    /// that some comes back; false: it cannot. Whoever waits looks after the other queues, too: it may hold what the attendant's next callback wants.
    pub(crate) fn insist<T>(
        &self,
        mut mark: impl FnMut() -> Result<bool, DeviceError>,
        mut make: impl FnMut() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let mut made = make();
        let mut pause = Duration::from_micros(20);
        let mut unmarked = Doubt::default();
        while let Err(DeviceError::OutOfMemory { .. }) = made {
            self.well()?;
            if mark()? {
                unmarked.clear();
            } else if unmarked.lasts(self.api.vendor.errors.patience) {
                // What the queue itself holds comes back only behind an event, and there is none to be had.
                break;
            }
            let lanes: Vec<Arc<Lane>> = self.lanes.lock().values().filter_map(Weak::upgrade).collect();
            for lane in &lanes {
                lane.let_chunks_go();
                lane.look_and_owe();
            }
            // The caller holds locks, and this may be a queue's last user.
            self.attendant.let_go(lanes);
            // Asked before the try: what comes back in between is found by it.
            let more = self.gets_memory_back();
            made = make();
            if !more {
                break;
            }
            if made.is_err() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(1));
            }
        }
        made
    }

    /// Pinned memory that is no chunk.
    pub(crate) fn pinned(&self, calls: &Inside<'_>, size: usize) -> Result<Pinned, DeviceError> {
        self.insist(|| Ok(true), || self.pinned_now(calls, size))
    }

    /// The same for a call that may not wait.
    pub(crate) fn pinned_now(&self, calls: &Inside<'_>, size: usize) -> Result<Pinned, DeviceError> {
        Pinned::new(calls, &self.reclaim, size).map_err(|failure| self.fail_for(failure, size as u64))
    }

    /// Ends the device by a cause of ours.
    pub(crate) fn lose(&self, name: &str, message: String) {
        self.end_by(FaultCause { code: 0, name: name.into(), message: message.into(), reopen: true });
    }

    /// Does what is done for others than those who have called. A panic ends the device, and nothing else (F2).
    pub(crate) fn contain<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(answer) => Some(answer),
            Err(panic) => {
                self.lose("PANIC", format!("the device panicked while it looked after its queues: {}", words(&*panic)));
                None
            }
        }
    }

    /// What a failed call is; the end of the device if nothing works any more after it. Every failure of a call goes through here, whichever call is the first to be told of
    /// a fault: nobody else ends the device, tells the other ones, and knows what may have been it.
    pub(crate) fn fail(&self, failure: Failure) -> DeviceError {
        self.fail_for(failure, 0)
    }

    /// As [`Self::fail`] where so many bytes were asked for.
    pub(crate) fn fail_for(&self, failure: Failure, asked: u64) -> DeviceError {
        match self.api.cause(failure) {
            // No work of the device's has done that. What the call named was the device's own: see `fail_between` and `fail_given` for others.
            Some(cause) if failure.code == self.api.vendor.errors.context_gone => {
                // The same GPU may be open once more: that would not be told once there is another context.
                self.context.lose(&cause);
                DeviceError::Lost(self.end_by(cause))
            }
            Some(cause) => DeviceError::Lost(self.end_by(self.with_suspects(cause))),
            None => self.api.error(failure, asked),
        }
    }

    /// As [`Self::fail`], of a call that names something of another device's: where a context is gone, the answer does not say which.
    pub(crate) fn fail_between(&self, failure: Failure, other: &Self) -> DeviceError {
        match self.own(failure) {
            Some(failure) => self.fail(failure),
            None => other.fail(failure),
        }
    }

    /// As [`Self::fail`], of a call that names something of the caller's: where that is of a context that is gone, the call is refused, and the device goes on.
    pub(crate) fn fail_given(&self, failure: Failure, what: &str) -> DeviceError {
        match self.own(failure) {
            Some(failure) => self.fail(failure),
            None => DeviceError::Driver {
                call: failure.call,
                code: failure.code.into(),
                name: self.api.vendor.error_name(Some(&self.api.calls), failure.code),
                message: format!(
                    "{what}'s context is gone: somebody has destroyed it, or reset its device; this device's is there"
                ),
            },
        }
    }

    /// A failure as far as it is this device's: `None`, where one says that a context is gone and its own works. A device whose context has been reset and retained anew is taken
    /// to work, but never comes here: on a stream of the former one the driver crashes.
    fn own(&self, failure: Failure) -> Option<Failure> {
        if failure.code != self.api.vendor.errors.context_gone {
            return Some(failure);
        }
        self.try_context().err().filter(|failure| self.api.vendor.is_end(*failure))
    }

    /// Whether the context works. That it becomes the thread's says nothing, and an allocation fails where it is gone (both seen on an H200).
    fn try_context(&self) -> Result<(), Failure> {
        let calls = self.try_enter()?;
        let mut address = 0;
        // SAFETY: the place is ours.
        unsafe { calls.allocate(&mut address, 1) }?;
        // The driver may wait for the device before it takes it back.
        self.reclaim.throw(Garbage::Memory(address));
        Ok(())
    }

    /// Has the device end where its context is gone, which nobody is told of a device that has nothing to do.
    pub(crate) fn find_context(&self) {
        if let Err(failure) = self.context.find() {
            self.fail(failure);
        }
    }

    /// Memory of the device; `relieve` is called once when there is none, and then the driver is asked again.
    pub(crate) fn allocate(&self, calls: &Inside<'_>, size: u64, relieve: impl FnOnce()) -> Result<MemoryId, DeviceError> {
        self.memory.allocate(calls, size, relieve).map_err(|failure| self.fail_for(failure, size))
    }

    /// A chunk of at least `size` bytes, if there is one or memory for one.
    pub(crate) fn chunk_now(&self, calls: &Inside<'_>, size: usize) -> Result<Pinned, DeviceError> {
        self.chunks.take(calls, &self.reclaim, size).map_err(|failure| self.fail_for(failure, size as u64))
    }

    /// A cause that the driver told, with what may have brought it about, unless nobody would be told: one that has ended before keeps its cause, but may still end others.
    fn with_suspects(&self, cause: FaultCause) -> FaultCause {
        let over = self.fate.is_over();
        if self.api.fates.ended().is_some() || over && (cause.reopen || self.fate.has_told()) {
            return cause;
        }
        let mut told = self.suspects("this device");
        told.extend(self.recorded());
        // Of one that has ended by something else nobody knows.
        if told.is_empty() && !over {
            told.push("All launches of this device were known to be over".into());
        }
        if self.api.vendor.errors.end_all {
            // Any of them may have been it, and this one only the first that was told.
            for other in self.api.peers.others(self) {
                told.extend(other.suspects(&format!("device {}", other.number)));
                self.attendant.let_go([other]);
            }
        }
        if told.is_empty() {
            return cause;
        }
        FaultCause { message: format!("{}. {}", cause.message, told.join(". ")).into(), ..cause }
    }

    /// The launches of the device that are not known to be over, as a sentence.
    fn suspects(&self, whose: &str) -> Vec<String> {
        self.of_queues(|lanes| suspects::sentence(self, whose, lanes.iter().map(|lane| &lane.progress))).into_iter().collect()
    }

    /// What they have recorded, as a sentence. Of the device that was told of a fault alone: its kernels run no more, those of others may.
    fn recorded(&self) -> Option<String> {
        self.of_queues(|lanes| suspects::violation(self, lanes.iter().map(|lane| &lane.progress)))
    }

    fn of_queues<T>(&self, tell: impl FnOnce(&[Arc<Lane>]) -> T) -> T {
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().values().filter_map(Weak::upgrade).collect();
        let told = tell(&lanes);
        // The caller may hold locks, and this may be the last user of a queue, whose end takes some and calls the driver.
        self.attendant.let_go(lanes);
        told
    }

    /// As [`Self::fail`] where nothing can go on after any failure.
    pub(crate) fn condemn(&self, failure: Failure) {
        if let DeviceError::Lost(_) = self.fail(failure) {
            return;
        }
        let name = self.api.vendor.error_name(Some(&self.api.calls), failure.code);
        let text = self.api.vendor.error_text(&self.api.calls, failure.code);
        let message = format!("{} answered {name} ({text}) for work that was enqueued before", failure.call).into();
        self.end_by(FaultCause { code: failure.code.into(), name: name.into(), message, reopen: true });
    }

    /// Ends the device after answers that were to pass and do not.
    pub(crate) fn give_up(&self, failure: Failure) {
        let errors = &self.api.vendor.errors;
        let name = self.api.vendor.error_name(Some(&self.api.calls), failure.code);
        let why = if errors.is_capturing(failure.code) {
            ": the driver refuses it while another thread captures a graph, and goes on to when a capture is left unfinished. No stream of the library's is part of one"
        } else {
            ""
        };
        let message = format!(
            "for {} s {} has answered nothing but {name} when asked how far work is{why}",
            errors.patience.as_secs_f32(),
            failure.call
        );
        self.end_by(FaultCause { code: failure.code.into(), name: name.into(), message: message.into(), reopen: true });
    }

    fn compiler(&self) -> Compiler<'_> {
        Compiler {
            device: self,
            api: &self.api,
            target: &self.target,
            subgroup: self.subgroup,
            workgroup_memory: self.limits.workgroup_memory,
            reclaim: &self.reclaim,
            artifacts: self.artifacts,
        }
    }

    /// Looks at a kernel, which stays meanwhile.
    pub(crate) fn with_kernel<R>(
        &self,
        id: KernelId,
        look: impl FnOnce(&Arc<Kernel>) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        self.kernels
            .with(id.0, |kernel| look(&kernel.0))
            .unwrap_or_else(|| Err(DeviceError::Internal(format!("no such kernel: {id:?}"))))
    }

    /// As [`Self::with_kernel`] for a launch, without an error, and without a note of it: a kernel is dropped when every use of it is over.
    #[inline]
    pub(crate) fn look_at_kernel<R>(&self, id: KernelId, look: impl FnOnce(&Kernel) -> R) -> Option<R> {
        let [place, ..] = self.kernels.numbers(id.0)?;
        let place = std::ptr::with_exposed_provenance::<Kernel>(usize::try_from(place).ok()?);
        // SAFETY: it is in the table, which keeps it until `drop_kernel`, and that comes when the runtime has seen every use of it complete (`Device::drop_kernel`), this
        // launch among them; or until the device's end, which comes after its queues'.
        Some(look(unsafe { &*place }))
    }

    /// Makes the form of a kernel that reads its number of workgroups, from what is kept of it where there is something.
    pub(crate) fn prepare_indirect(&self, id: KernelId, kept: Option<&dyn Kept>) -> Result<(), DeviceError> {
        let compiler = self.compiler();
        // Compiling takes long: not with the table locked.
        let kernel = self.with_kernel(id, |kernel| Ok(Arc::clone(kernel)))?;
        // Without it the counts go by way of the host. Only an end of the device is more than that.
        let _ = kernel.count(|origin| on_large_stack(|| compiler.make_counted(origin, kept, || self.enter())));
        self.well()
    }

    /// How many workgroups of a kernel are launched to take those of a grid in turn: as many as are on the device at once.
    pub(crate) fn resident(&self, kernel: &Kernel) -> u32 {
        self.units.max(1).saturating_mul(kernel.resident.max(1)).min(self.limits.grid[0])
    }

    pub(crate) fn graph(&self, id: GraphId) -> Result<Arc<Graph>, DeviceError> {
        self.graphs.get(id.0).ok_or_else(|| DeviceError::Internal(format!("no such graph: {id:?}")))
    }

    /// The context of its calls, or null where there are none.
    pub(crate) fn context(&self) -> Handle {
        match self.home {
            Home::Context(context) => context.0,
            Home::Device(_) => std::ptr::null_mut(),
        }
    }

    /// A queue that lives; `None`: it is gone.
    pub(crate) fn lane(&self, id: QueueId) -> Result<Option<Arc<Lane>>, DeviceError> {
        if id.0 >= self.next_queue.load(Ordering::Relaxed) {
            return Err(DeviceError::Internal(format!("no such queue: {id:?}")));
        }
        Ok(self.lanes.lock().get(&id).and_then(Weak::upgrade))
    }

    /// Whether bytes are pinned memory that this device gave out.
    pub(crate) fn is_pinned(&self, start: usize, size: u64) -> bool {
        let lent = self.lent.read();
        let found = lent.range(..=start).next_back().map(|(_, end)| *end);
        found.is_some_and(|end| {
            usize::try_from(size).ok().and_then(|size| start.checked_add(size)).is_some_and(|mine| mine <= end)
        })
    }

    /// Gives a block back, behind everything that was enqueued.
    pub(crate) fn free(&self, memory: MemoryId) {
        let Ok(calls) = self.enter() else { return };
        match self.memory.free(&calls, memory) {
            Ok(Some(address)) => self.reclaim.throw(Garbage::Memory(address)),
            Ok(None) => {}
            Err(failure) => _ = self.fail(failure),
        }
    }

    /// Gives the driver what nobody uses, and waits until it has it, for that long at most. Whoever found no memory asks again in any case: what was on its way back may have come before this looked.
    pub(crate) fn relieve(&self, most: Duration) {
        self.chunks.clear();
        self.reclaim.flush(most);
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.graphs.drain());
        drop(self.kernels.drain());
        self.chunks.clear();
        if let Ok(calls) = self.context.enter() {
            self.memory.end(&calls);
        }
        self.reclaim.close();
        self.attendant.close();
        self.movers.close();
    }
}

pub(crate) struct GpuDevice {
    shared: Arc<Shared>,
    peer: PeerId,
    properties: Properties,
    capabilities: Capabilities,
}

/// Whether a context works: one of a process that has had a fault is given out like any other, and refuses what is made of it.
fn is_alive(calls: &Inside<'_>) -> Result<(), Failure> {
    let mut stream = std::ptr::null_mut();
    // SAFETY: the place is ours, and what was made is ended once.
    unsafe {
        calls.stream_create(&mut stream, calls.api.vendor.flags.stream)?;
        calls.stream_destroy(stream)
    }
}

/// Where the addresses of a device mean something: the vendors' drivers number their devices each for itself.
fn space(native: NativeKind, number: i32) -> Space {
    if native == NativeKind::HipPointer { Space::Hip(number) } else { Space::Cuda(number) }
}

/// Pinned memory that was given out. The device lives as long: when its context goes, so does all memory of it.
struct Staged {
    pinned: Pinned,
    shared: Arc<Shared>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.shared.lent.write().remove(&self.pinned.pointer().addr());
    }
}

impl GpuDevice {
    pub(crate) fn open(api: &Arc<Api>, description: Description, artifacts: bool) -> Result<Self, DeviceError> {
        let Description { number, properties, limits, capabilities, pitch, clock, pools } = description;
        let failed = |what| move |failure: Failure| made_for(what, failure, api.fail(failure));
        let what = "the device's context";
        let context = Context::of(api, number).map_err(failed(what))?;
        // What ends all devices from here on ends this one, too.
        let ends = api.fates.count();
        is_alive(&context.enter().map_err(failed(what))?).map_err(failed(STREAM))?;
        exit::register();
        let reclaim = Reclaim::start(Arc::clone(&context))?;
        let attendant = Attendant::start().inspect_err(|_| reclaim.close())?;
        // When nothing can fail any more that would leave it behind. Without one, memory comes from the driver.
        let make = || Pool::new(&context.enter()?, &api.vendor.attributes, number);
        let pool = if pools { make().ok() } else { None };
        let [_, subgroup] = properties.subgroup_sizes;
        let fate = api.fates.add(number, &attendant, ends);
        let shared = Shared {
            api: Arc::clone(api),
            home: context.home,
            number,
            limits,
            pitch,
            clock,
            target: properties.target.clone(),
            subgroup,
            units: properties.units,
            artifacts,
            memory: Memory::new(space(api.vendor.native, number), pool),
            chunks: Chunks::default(),
            reclaim,
            attendant,
            movers: Arc::default(),
            kernels: Table::default(),
            graphs: Table::default(),
            lanes: Mutex::default(),
            reached: Mutex::default(),
            next_queue: AtomicU32::new(0),
            awake: AtomicU32::new(0),
            lent: Lent::default(),
            fate,
            context,
        };
        let (shared, peer) = (Arc::new(shared), PeerId::new());
        api.peers.add(peer, &shared);
        // Whoever has lost the context before that has not found this one.
        if shared.context.is_gone() {
            shared.find_context();
        }
        shared.well()?;
        Ok(Self { shared, peer, properties, capabilities })
    }
}

impl Device for GpuDevice {
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
        let shared = &self.shared;
        shared.well()?;
        if size > shared.limits.allocation_size {
            return Err(DeviceError::TooLarge { asked: size, limit: shared.limits.allocation_size });
        }
        let calls = shared.enter()?;
        shared.allocate(&calls, size, || shared.relieve(PATIENCE))
    }

    fn free(&self, memory: MemoryId) {
        self.shared.free(memory);
    }

    fn allocate_staging(&self, size: usize) -> Result<HostTarget, DeviceError> {
        self.shared.well()?;
        let calls = self.shared.enter()?;
        // The runtime asks with locks held, so that nothing is waited for but what is being given back, for a moment: chunks that nobody uses, pieces that the runtime
        // has let go. The driver may take them only when the device is done.
        let pinned = match self.shared.pinned_now(&calls, size) {
            Err(DeviceError::OutOfMemory { .. }) => {
                self.shared.relieve(MOMENT);
                self.shared.pinned_now(&calls, size)?
            }
            made => made?,
        };
        let (pointer, shared) = (pinned.pointer(), Arc::clone(&self.shared));
        shared.lent.write().insert(pointer.addr(), pointer.addr().saturating_add(size));
        // SAFETY: it is that long and lives until its owner is dropped; nobody else knows of it.
        Ok(unsafe { HostTarget::owned(pointer, size, Box::new(Staged { pinned, shared })) })
    }

    fn import(&self, foreign: &Foreign) -> Result<Region, DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        let address = foreign.handle.saturating_add(foreign.offset);
        foreign::check(shared, &shared.enter()?, (shared.home, shared.number), address, foreign.size)?;
        Ok(Region { memory: shared.memory.add_foreign(address, foreign.size)?, offset: 0, size: foreign.size })
    }

    fn export(&self, memory: MemoryId) -> Result<u64, DeviceError> {
        self.shared.well()?;
        Ok(self.shared.memory.get(memory)?.address)
    }

    fn native_kind(&self) -> NativeKind {
        self.shared.api.vendor.native
    }

    fn fit(&self, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
        declared::fit(&self.shared.compiler(), source, interface)
    }

    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        // The vendors' compilers recurse, also the driver's own, which text is loaded with.
        shared.add_kernel(on_large_stack(|| shared.compiler().compile(request, || shared.enter())))
    }

    fn artifact_identity(&self) -> Option<String> {
        self.shared.compiler().identity()
    }

    fn artifact(&self, kernel: KernelId) -> Option<Vec<u8>> {
        self.shared.with_kernel(kernel, |kernel| Ok(kernel.take_artifact())).ok()?
    }

    fn restore(&self, request: &CompileRequest<'_>, artifact: &[u8]) -> Result<KernelId, DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        shared.add_kernel(on_large_stack(|| shared.compiler().restore(request, artifact, || shared.enter())))
    }

    fn prepare_indirect(&self, kernel: KernelId, kept: Option<&dyn Kept>) -> Result<(), DeviceError> {
        self.shared.well()?;
        self.shared.prepare_indirect(kernel, kept)
    }

    fn drop_kernel(&self, kernel: KernelId) {
        drop(self.shared.kernels.remove(kernel.0));
    }

    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts {
        self.shared.with_kernel(kernel, |kernel| Ok(kernel.facts())).unwrap_or_default()
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        self.shared.well()?;
        let id = QueueId(self.shared.next_queue.fetch_add(1, Ordering::Relaxed));
        let lane = Arc::new(Lane::new(id, Arc::clone(&self.shared))?);
        let mut lanes = self.shared.lanes.lock();
        if lanes.len() == lanes.capacity() {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        lanes.insert(id, Arc::downgrade(&lane));
        drop(lanes);
        self.shared.attendant.add(Arc::clone(&lane));
        Ok(Arc::new(GpuQueue::new(lane)))
    }

    fn instantiate(&self, request: &GraphRequest<'_>) -> Result<GraphId, DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        shared.graphs.reserve()?;
        let graph = Graph::new(shared, &shared.enter()?, request)?;
        Ok(GraphId(shared.graphs.insert(Arc::new(graph))))
    }

    fn update_graph(&self, graph: GraphId, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        let shared = &self.shared;
        shared.well()?;
        shared.graph(graph)?.update(shared, &shared.enter()?, node, work)
    }

    fn drop_graph(&self, graph: GraphId) {
        drop(self.shared.graphs.remove(graph.0));
    }

    fn graph_times(&self, graph: GraphId) -> Option<Vec<u64>> {
        self.shared.graph(graph).ok()?.times()
    }

    fn fault(&self) -> Option<FaultCause> {
        self.shared.fault()
    }

    fn trim(&self) {
        let shared = &self.shared;
        shared.chunks.clear();
        if shared.well().is_ok()
            && let Ok(calls) = shared.enter()
        {
            shared.memory.trim(&calls);
        }
    }

    fn inside(&self) -> Option<compute_hal::exit::Inside> {
        Some(exit::inside())
    }

    fn peer(&self) -> Option<PeerId> {
        Some(self.peer)
    }

    fn can_reach(&self, other: PeerId, memory: Option<MemoryId>) -> bool {
        self.shared.can_reach(other, memory)
    }
}
