//! A device: its queues, its memory, what is wrong with it, and what has to be given back once work is over.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use compute_hal as hal;
use compute_trust::{Gate, MAX_QUEUES, NoMemory, Use};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;

use super::compile::Cache;
use super::disk::{Disk, DiskOptions, DiskReport};
use super::error::{Failed, Result, error, fail, from_device, poisoned};
use super::exclusive::Exclusive;
use super::memory::Store;
use super::queue::Queue;
use super::section::no_memory;
use super::{code, event, late, log};

/// How to open a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// For messages.
    pub label: String,
    /// Never-written bytes are claimed rather than read as zeros (T1), in all of its buffers.
    pub strict_unwritten: bool,
    /// Open only if the target is exactly this (S1).
    pub exact_target: Option<String>,
    /// Native queues that streams share; 0: the device's own number.
    pub queues: u32,
    /// Bytes of idle pages that each stream's pools keep, and the device's own; 0: the library's choice.
    pub idle_bytes: u64,
    /// Where compiled kernels are kept (L7); `None`: in the process only.
    pub disk: Option<DiskOptions>,
    /// Passed on to the driver; with `artifacts` where there is `disk`.
    pub open: hal::OpenOptions,
}

/// An open device. Everything made from it keeps it alive.
#[repr(C)] // What every launch looks at comes first, and lies together.
pub struct Device {
    pub(crate) native: Arc<dyn hal::Device>,
    pub(crate) exclusive: Exclusive,
    poison: OnceCell<hal::FaultCause>,
    pub(crate) id: u64,
    pub(crate) label: Arc<str>,
    /// What `native` says, here because every binding of every launch is compared with it.
    limits: hal::Limits,
    capabilities: hal::Capabilities,
    pub(crate) strict: bool,
    pub(crate) gate: Gate,
    pub(crate) kernels: Cache,
    pub(crate) disk: Option<Disk>,
    pub(crate) callbacks: event::Callbacks,
    queues: RwLock<Vec<Arc<Queue>>>,
    policy: Mutex<Policy>,
    pub(crate) memory: Store,
    retired: Mutex<Retired>,
    ended: AtomicBool,
    handle: AtomicU64,
}

/// How streams are spread over native queues (S1).
struct Policy {
    limit: u32,
    streams_made: bool,
}

/// Compiled kernels and graphs that go back to the driver once their last uses have completed. `None`: there was no memory to note these yet.
#[derive(Default)]
struct Retired {
    waiting: VecDeque<(Gone, Option<Tails>)>,
    /// How many will come here.
    live: usize,
}

/// The last position of every queue at some moment.
type Tails = SmallVec<[Use; 2]>;

/// What goes back to the driver once nothing uses it.
#[derive(Clone, Copy)]
pub(crate) enum Gone {
    Kernel(hal::KernelId),
    Graph(hal::GraphId),
}

impl Gone {
    fn give_back(self, native: &dyn hal::Device) {
        match self {
            Self::Kernel(kernel) => native.drop_kernel(kernel),
            Self::Graph(graph) => native.drop_graph(graph),
        }
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Device {
    /// Takes over an opened device.
    pub fn new(native: Arc<dyn hal::Device>, options: &DeviceOptions) -> Result<Arc<Self>> {
        if let Some(wanted) = options.exact_target.as_ref().filter(|wanted| **wanted != native.properties().target) {
            let target = &native.properties().target;
            return fail(code::TARGET, format!("the device's target is `{target}`, not `{wanted}` as asked for"));
        }
        let allowed = native.capabilities().queues.max(1);
        let queues = if options.queues == 0 { allowed } else { options.queues };
        let device = Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            label: options.label.as_str().into(),
            disk: options.disk.as_ref().map(|disk| Disk::new(disk, &*native)),
            memory: Store::new(native.limits(), native.capabilities(), options.idle_bytes),
            limits: native.limits().clone(),
            capabilities: native.capabilities().clone(),
            native,
            strict: options.strict_unwritten,
            gate: Gate::new(),
            exclusive: Exclusive::default(),
            kernels: Cache::default(),
            callbacks: event::Callbacks::default(),
            queues: RwLock::new(Vec::new()),
            policy: Mutex::new(Policy { limit: allowed, streams_made: false }),
            retired: Mutex::default(),
            ended: AtomicBool::new(false),
            handle: AtomicU64::new(0),
            poison: OnceCell::new(),
        };
        device.set_queues(queues)?;
        Ok(Arc::new(device))
    }

    /// Who it is.
    pub fn properties(&self) -> &hal::Properties {
        self.native.properties()
    }

    /// What it allows.
    pub fn limits(&self) -> &hal::Limits {
        &self.limits
    }

    /// What it can do.
    pub fn capabilities(&self) -> &hal::Capabilities {
        &self.capabilities
    }

    /// What its cache on disk has done (L7); `None`: it has none.
    pub fn disk_report(&self) -> Option<DiskReport> {
        self.disk.as_ref().map(Disk::report)
    }

    /// The caller's name for it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Number of the device, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it is usable: instant, and the first cause if it is not (T12).
    pub fn check(&self) -> Result<()> {
        if self.poison.get().is_none() && self.native.fault().is_none() {
            return Ok(());
        }
        self.told()
    }

    #[cold]
    fn told(&self) -> Result<()> {
        match self.fault() {
            None => Ok(()),
            Some(cause) => Err(Failed::of(poisoned(&cause))),
        }
    }

    /// Why it is beyond use, if it is.
    pub(crate) fn fault(&self) -> Option<hal::FaultCause> {
        self.poison.get().cloned().or_else(|| self.native.fault().map(|cause| self.lose(cause).clone()))
    }

    /// A device's answer to a call that is about no bytes in particular.
    pub(crate) fn broken(&self, failed: hal::DeviceError) -> Arc<Failed> {
        if let hal::DeviceError::Lost(cause) = &failed {
            self.condemn(cause.clone());
        }
        Failed::of(from_device(failed))
    }

    /// Puts it beyond use; the first cause stays.
    pub(crate) fn condemn(&self, cause: hal::FaultCause) {
        self.lose(cause);
    }

    /// Keeps the first cause, and has it logged.
    fn lose(&self, cause: hal::FaultCause) -> &hal::FaultCause {
        self.poison.get_or_init(|| {
            log::line_held_back(log::ERROR, || {
                let label = if self.label.is_empty() { String::new() } else { format!(" `{}`", self.label) };
                format!("device {}{label} is lost: {} ({})", self.id, cause.message, cause.name)
            });
            cause
        })
    }

    /// Puts it beyond use after a panic inside the bookkeeping or a device crate (F2). Allocates nothing that must succeed.
    pub(crate) fn condemn_after_panic(&self) {
        self.condemn(hal::FaultCause {
            code: 0,
            name: "PANIC".into(),
            message: "the library panicked while it was working for this device".into(),
            reopen: true,
        });
    }

    /// Puts it beyond use if what is done while the guard lives panics (F2).
    pub(crate) fn guard(&self) -> impl Drop + '_ {
        struct Guard<'a>(&'a Device, bool);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() && !self.1 {
                    self.0.condemn_after_panic();
                }
            }
        }
        Guard(self, std::thread::panicking())
    }

    /// Sets how many native queues streams share (S1): before the first stream; the same number again is fine.
    pub fn set_queues(&self, count: u32) -> Result<()> {
        self.check()?;
        let allowed = self.native.capabilities().queues.max(1);
        if count == 0 || count > allowed {
            return fail(
                code::INVALID_ARGUMENT,
                format!("{count} native queues asked for; 1 to {allowed} are possible on this device"),
            );
        }
        let mut policy = self.policy.lock();
        if policy.streams_made && policy.limit != count {
            return fail(
                code::BUSY,
                format!("the device already uses {} native queues; set {count} before its first stream", policy.limit),
            );
        }
        policy.limit = count;
        Ok(())
    }

    /// The queue for a new stream: a new one while there may be more, else the one with the fewest streams.
    pub(crate) fn queue_for_stream(&self) -> Result<Arc<Queue>> {
        self.check()?;
        let _guard = self.guard();
        let mut policy = self.policy.lock();
        let mut queues = self.queues.write();
        let idle = queues.iter().min_by_key(|queue| queue.streams.load(Ordering::Relaxed)).cloned();
        let queue = match idle {
            Some(queue) if queue.streams.load(Ordering::Relaxed) == 0 || queues.len() >= policy.limit as usize => queue,
            _ => {
                let index = u16::try_from(queues.len()).ok().filter(|index| *index < MAX_QUEUES);
                let index = index.ok_or_else(|| Failed::of(error(code::LIMIT, "too many native queues")))?;
                queues.try_reserve(1).map_err(|_| Failed::of(no_memory(NoMemory)))?;
                let native = self.native.create_queue().map_err(|failed| self.broken(failed))?;
                let queue = Arc::new(Queue::new(native, index));
                queues.push(Arc::clone(&queue));
                queue
            }
        };
        policy.streams_made = true;
        queue.streams.fetch_add(1, Ordering::Relaxed);
        Ok(queue)
    }

    /// A queue by its index.
    pub(crate) fn queue(&self, index: u16) -> Option<Arc<Queue>> {
        self.queues.read().get(usize::from(index)).cloned()
    }

    /// Whether every one of these uses has completed.
    pub(crate) fn over(&self, uses: impl IntoIterator<Item = Use>) -> bool {
        uses.into_iter().all(|last| self.queue(last.queue).is_none_or(|queue| queue.native.completed() >= last.position))
    }

    /// Room for giving back one more kernel or graph, so that doing so needs no memory (F2). Every call is followed by one of [`Self::gone`] or
    /// [`Self::none_made`].
    pub(crate) fn expect_one(&self) -> std::result::Result<(), hal::DeviceError> {
        let mut retired = self.retired.lock();
        let wanted = retired.live + 1;
        retired.waiting.try_reserve(wanted).map_err(|_| hal::DeviceError::OutOfMemory { asked: 0, free: 0 })?;
        retired.live = wanted;
        Ok(())
    }

    /// What was expected did not come about.
    pub(crate) fn none_made(&self) {
        let mut retired = self.retired.lock();
        retired.live = retired.live.saturating_sub(1);
    }

    /// Gives a compiled kernel or a graph back once all work enqueued so far is over.
    pub(crate) fn gone(&self, gone: Gone) {
        let mut now = None;
        if self.are_over(&mut now) {
            self.none_made();
            return gone.give_back(&*self.native);
        }
        let mut retired = self.retired.lock();
        // First put there, then no longer expected: in between another one would find too little room.
        retired.waiting.push_back((gone, now));
        retired.live = retired.live.saturating_sub(1);
        drop(retired);
        self.reap();
    }

    /// Whether work up to these positions is over. Without any, up to the last ones, which are noted if there is memory for that.
    fn are_over(&self, tails: &mut Option<Tails>) -> bool {
        if let Some(tails) = tails {
            return self.over(tails.iter().copied());
        }
        let queues = self.queues.read();
        let last = |queue: &Arc<Queue>| Use { queue: queue.index, position: queue.last() };
        let mut now = Tails::new();
        if now.try_reserve(queues.len()).is_ok() {
            now.extend(queues.iter().map(last));
            *tails = Some(now);
        }
        queues.iter().all(|queue| queue.native.completed() >= last(queue).position)
    }

    /// Gives back the kernels and graphs that are no longer in use, looking at a bounded number.
    pub(crate) fn reap(&self) {
        let looks = self.retired.lock().waiting.len().min(64);
        for _ in 0..looks {
            let mut retired = self.retired.lock();
            let Some((gone, mut tails)) = retired.waiting.pop_front() else { return };
            if self.are_over(&mut tails) {
                drop(retired);
                gone.give_back(&*self.native);
            } else {
                retired.waiting.push_back((gone, tails));
            }
        }
    }

    /// Tells what the kernels and graphs that are to go back wait for.
    pub(crate) fn each_retired(&self, mut each: impl FnMut(Use)) {
        for (_, tails) in &self.retired.lock().waiting {
            match tails {
                Some(tails) => tails.iter().for_each(|one| each(*one)),
                None => self.each_queue(|queue| each(Use { queue: queue.index, position: queue.last() })),
            }
        }
    }

    /// Calls `each` with every queue, holding no lock. One that is made meanwhile may be missed.
    pub(crate) fn each_queue(&self, each: impl FnMut(Arc<Queue>)) {
        (0..MAX_QUEUES).map_while(|index| self.queue(index)).for_each(each);
    }

    pub(crate) fn wait_for_use(&self, last: Use) {
        if let Some(queue) = self.queue(last.queue) {
            // A device that fails meanwhile is found by the allocation that follows.
            let _ = queue.native.wait(last.position, None);
        }
    }

    /// Takes the device for the calling thread alone (S1), after all that other threads are enqueuing right now.
    pub fn lock(&self) -> Result<()> {
        self.check()?;
        if !self.exclusive.acquire(|| self.fault().is_some()) {
            return self.check();
        }
        self.each_queue(|queue| queue.pass());
        Ok(())
    }

    /// Ends what [`Device::lock`] began.
    pub fn unlock(&self) -> Result<()> {
        self.exclusive.release()
    }

    /// By which number the owner of handles knows it; 0: by none yet. Nothing here depends on it.
    pub fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Tells the number.
    pub fn set_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Whether its handle has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The handle has ended (F7): callbacks that still wait are told. Work in flight goes on.
    pub fn end(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            self.callbacks.end(self);
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.callbacks.end(self);
        if self.fault().is_none() {
            self.queues.get_mut().iter().for_each(|queue| late::outlive(&self.native, queue));
        }
        let retired = std::mem::take(self.retired.get_mut());
        let memory = std::mem::replace(&mut self.memory, Store::new(self.native.limits(), self.native.capabilities(), 0));
        let remains = Remains { native: Arc::clone(&self.native), memory, retired };
        // Never blocks: what is still running keeps its memory, and the last queue to finish gives it back.
        let remains = Arc::new(Mutex::new(Some(remains)));
        for queue in self.queues.get_mut() {
            let held = Arc::clone(&remains);
            queue.native.notify(queue.last(), Box::new(move || drop(held)));
        }
    }
}

/// What a device leaves behind for the work that outlives it.
struct Remains {
    native: Arc<dyn hal::Device>,
    memory: Store,
    retired: Retired,
}

impl Drop for Remains {
    fn drop(&mut self) {
        self.memory.each_page(|memory| self.native.free(memory));
        for (gone, _) in self.retired.waiting.drain(..) {
            gone.give_back(&*self.native);
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.id, self.native.properties().name)
    }
}
