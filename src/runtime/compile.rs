//! Compilation for a device: shared by content, done at once, when it is due, or in the background (L6, L7, T7).
//!
//! One [`Cache`] per device. What a kernel is lives in `kernel`; this file only decides who compiles, when, and who waits for it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use compute_hal::{CompileRequest, DeviceError, KernelId};
use compute_kernel::reflection::Bounds;
use compute_kernel::{Diagnostics, Module, Source};
use once_cell::sync::OnceCell;
use parking_lot::{Condvar, Mutex};

use super::device::{Device, Gone};
use super::disk::Remarks;
use super::error::{Checked, Failed, Result, from_device};
use super::native::Code;

/// Compiled kernels that are kept although nothing uses them, for hosts that make the same kernel again (L7).
const KEPT: usize = 64;

/// What a compiled kernel is found by.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) content: [u8; 32],
    pub(super) bounds: Bounds,
    pub(super) cancellable: bool,
    pub(super) print_room: u32,
    pub(super) strict: bool,
}

/// A place for one compiled kernel: filled by whoever needs it first, while others who need it wait.
pub(super) struct Slot {
    device: Weak<Device>,
    /// A refusal is kept too: it would be the same each time.
    compiled: OnceCell<std::result::Result<KernelId, DeviceError>>,
    /// The newest failure that need not happen again, for those who wait while somebody else compiles.
    failed: Mutex<Option<DeviceError>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let (Some(Ok(kernel)), Some(device)) = (self.compiled.get(), self.device.upgrade()) {
            device.gone(Gone::Kernel(*kernel));
        }
    }
}

/// What has to be done to fill a slot. Holds no kernel and no device, so a job that nobody gets to keeps nothing alive.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) slot: Arc<Slot>,
    pub(super) code: Code,
    pub(super) label: Arc<str>,
    pub(super) bounds: Bounds,
    pub(super) cancellable: bool,
    pub(super) print_room: u32,
    pub(super) strict: bool,
}

/// The kernels of a device: those compiled, by content, and those queued to be.
#[derive(Default)]
pub(crate) struct Cache {
    /// Parsed sources by their content, for as long as a kernel of theirs lives: the next entry point of a module, or the same one with other
    /// constants, need not parse it again.
    modules: Mutex<HashMap<[u8; 32], Weak<Module>>>,
    table: Mutex<Slots>,
    queue: Mutex<Queued>,
    /// Told whenever a compilation ends, however it ends.
    ended: Condvar,
}

#[derive(Default)]
struct Slots {
    by_content: HashMap<Key, Weak<Slot>>,
    /// The newest compiled kernels, newest last.
    kept: VecDeque<Arc<Slot>>,
}

impl Slots {
    /// Makes a kept slot the newest again.
    fn refresh(&mut self, slot: &Arc<Slot>) {
        if let Some(at) = self.kept.iter().position(|kept| Arc::ptr_eq(kept, slot))
            && let Some(kept) = self.kept.remove(at)
        {
            self.kept.push_back(kept);
        }
    }
}

#[derive(Default)]
struct Queued {
    waiting: VecDeque<Job>,
    /// Jobs that a thread is at.
    working: usize,
    /// Threads that drain the queue.
    threads: usize,
}

impl Cache {
    /// The module of a source, parsed now unless a kernel has it. Includes are asked for each time.
    pub(super) fn module(&self, source: &Source<'_>) -> std::result::Result<Arc<Module>, Diagnostics> {
        let Some(content) = source.content() else { return Module::parse(source) };
        let found = self.modules.lock().get(&content).and_then(Weak::upgrade);
        if let Some(module) = found {
            return Ok(module);
        }
        // Without the lock: two who come at once both parse, and the later module is found from then on.
        let module = Module::parse(source)?;
        let mut modules = self.modules.lock();
        if modules.len() == modules.capacity() {
            modules.retain(|_, module| module.strong_count() > 0);
        }
        modules.insert(content, Arc::downgrade(&module));
        Ok(module)
    }

    pub(super) fn slot(&self, key: Key, device: &Arc<Device>) -> Arc<Slot> {
        let mut table = self.table.lock();
        let slots = &mut table.by_content;
        if let Some(slot) = slots.get(&key).and_then(Weak::upgrade) {
            table.refresh(&slot);
            return slot;
        }
        // Bounded by what is alive: the dead leave when the table would grow.
        if slots.len() == slots.capacity() {
            slots.retain(|_, slot| slot.strong_count() > 0);
        }
        let slot = Arc::new(Slot { device: Arc::downgrade(device), compiled: OnceCell::new(), failed: Mutex::default() });
        slots.insert(key, Arc::downgrade(&slot));
        slot
    }

    /// Keeps a compiled kernel for a while after its last use.
    fn keep(&self, slot: &Arc<Slot>) {
        let oldest = {
            let mut table = self.table.lock();
            table.kept.push_back(Arc::clone(slot));
            if table.kept.len() > KEPT { table.kept.pop_front() } else { None }
        };
        // Gives code back to the device, for which no lock may be held.
        drop(oldest);
    }

    /// Gives up what is kept for nobody: the device's memory is short.
    pub(super) fn forget(&self) {
        let kept = std::mem::take(&mut self.table.lock().kept);
        drop(kept);
    }

    /// Queues a job unless it is queued, and starts a thread for it unless there are as many as processors.
    pub(super) fn queue(&self, job: Job, device: &Arc<Device>) {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        {
            let mut queue = self.queue.lock();
            if !queue.waiting.iter().any(|waiting| Arc::ptr_eq(&waiting.slot, &job.slot)) {
                queue.waiting.push_back(job);
            }
            if queue.threads >= most {
                return;
            }
            queue.threads += 1;
        }
        let theirs = Arc::downgrade(device);
        let spawned = std::thread::Builder::new().name("compute-compile".into()).spawn(move || drain(&theirs));
        if spawned.is_err() {
            // Without a thread the work stays queued, for `compile_queued` or the launch.
            self.queue.lock().threads -= 1;
        }
    }

    /// The next job. A thread that finds none is counted out under the same lock, so that whoever queues a job sees either a thread that will look
    /// again, or one fewer.
    fn next(&self, thread: bool) -> Option<Job> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        match next {
            Some(_) => queue.working += 1,
            None => queue.threads -= usize::from(thread),
        }
        next
    }
}

/// The body of a compiling thread: works until the queue is empty or the device has gone.
fn drain(device: &Weak<Device>) {
    /// Counts the thread out when the compiler panics.
    struct Leave<'a>(&'a Weak<Device>);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            if let (true, Some(device)) = (std::thread::panicking(), self.0.upgrade()) {
                device.kernels.queue.lock().threads -= 1;
            }
        }
    }
    let _leave = Leave(device);
    while let Some(device) = device.upgrade() {
        // Before any lock, as at the end of the process it never comes. Also for the device, whose last user this may be.
        let inside = device.native.inside();
        let done = compile_next(&device, true);
        drop(device);
        drop(inside);
        let Some(remarks) = done else { break };
        remarks.tell();
    }
}

/// Does the next job. What is to be told of it is the caller's, who holds nothing and is counted out by then; `None`: there is no job.
fn compile_next(device: &Arc<Device>, thread: bool) -> Option<Remarks> {
    let cache = &device.kernels;
    let job = cache.next(thread)?;
    /// Counts the work out even when the compiler panics.
    struct Done<'a>(&'a Cache);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.queue.lock().working -= 1;
            self.0.ended.notify_all();
        }
    }
    let _done = Done(cache);
    // What fails is told by the launch that needs it, and by those who wait.
    let mut remarks = Remarks::default();
    let _ = job.fill(device, &mut remarks);
    Some(remarks)
}

impl Job {
    /// The compiled kernel, made now if it is not there yet. Waits for somebody else who is making it.
    pub(super) fn run(&self, device: &Device) -> Checked<KernelId> {
        let mut remarks = Remarks::default();
        let made = self.fill(device, &mut remarks);
        remarks.tell();
        made
    }

    /// The same, without a call of the host.
    fn fill(&self, device: &Device, remarks: &mut Remarks) -> Checked<KernelId> {
        if let Some(made) = self.made() {
            return made;
        }
        let mut fresh = false;
        let made = self.slot.compiled.get_or_try_init(|| {
            let request = self.request();
            let _guard = device.guard();
            fresh = true;
            device.expect_one()?;
            let made = match &device.disk {
                Some(disk) => disk.compile(&*device.native, &request, remarks),
                None => device.native.compile(&request),
            };
            if made.is_err() {
                device.none_made();
            }
            match made {
                Err(failed @ DeviceError::Compile { refusal: true, .. }) => Ok(Err(failed)),
                Err(failed) => Err(failed),
                Ok(kernel) => Ok(Ok(kernel)),
            }
        });
        let answer = match made {
            Ok(made) => answer(made),
            Err(failed) => {
                if let DeviceError::Lost(cause) = &failed {
                    device.condemn(cause.clone());
                }
                *self.slot.failed.lock() = Some(failed.clone());
                Err(Box::new(from_device(failed)))
            }
        };
        if fresh {
            if answer.is_ok() {
                device.kernels.keep(&self.slot);
            }
            device.kernels.tell();
        }
        answer
    }

    /// What a device is asked for.
    pub(super) fn request(&self) -> CompileRequest<'_> {
        let Self { slot: _, code, label, bounds, cancellable, print_room, strict } = self;
        let (bounds, cancellable, print_room, strict) = (*bounds, *cancellable, *print_room, *strict);
        CompileRequest { source: code.source(), bounds, cancellable, print_room, strict, label }
    }

    /// What is known already.
    pub(super) fn made(&self) -> Option<Checked<KernelId>> {
        self.slot.compiled.get().map(answer)
    }

    /// The compiled kernel, if it is there.
    #[inline]
    pub(super) fn ready(&self) -> Option<KernelId> {
        self.slot.compiled.get()?.as_ref().ok().copied()
    }

    /// Waits until it is compiled; `None` when the time ran out first. With a time-out the work is left to the compiling threads; without
    /// one the caller helps.
    pub(super) fn wait(&self, device: &Arc<Device>, timeout: Option<Duration>) -> Result<Option<KernelId>> {
        let deadline = match timeout {
            None => None,
            Some(timeout) => Instant::now().checked_add(timeout),
        };
        let told = |made: Checked<KernelId>| made.map(Some).map_err(|made| Failed::of(*made));
        if deadline.is_none() {
            return told(self.run(device));
        }
        if let Some(made) = self.made() {
            return told(made);
        }
        *self.slot.failed.lock() = None;
        device.kernels.queue(self.clone(), device);
        let mut queue = device.kernels.queue.lock();
        loop {
            device.check()?;
            if let Some(made) = self.made() {
                return told(made);
            }
            if let Some(failed) = self.slot.failed.lock().clone() {
                return Err(Failed::of(from_device(failed)));
            }
            let over = deadline.is_some_and(|deadline| device.kernels.ended.wait_until(&mut queue, deadline).timed_out());
            if over {
                return self.made().map_or(Ok(None), told);
            }
        }
    }
}

fn answer(made: &std::result::Result<KernelId, DeviceError>) -> Checked<KernelId> {
    made.clone().map_err(|failed| Box::new(from_device(failed)))
}

impl Cache {
    /// Wakes those who wait for a compilation.
    fn tell(&self) {
        // With the lock, so that nobody is between looking and sleeping.
        let _queue = self.queue.lock();
        self.ended.notify_all();
    }
}

/// Finishes every compilation that is queued (L6).
pub fn compile_queued(device: &Arc<Device>) -> Result<()> {
    device.check()?;
    while let Some(remarks) = compile_next(device, false) {
        remarks.tell();
    }
    let mut queue = device.kernels.queue.lock();
    while queue.working > 0 {
        device.kernels.ended.wait(&mut queue);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use compute_kernel::Included;

    use super::*;

    const SOURCE: &str = "@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}";

    #[test]
    fn a_source_is_parsed_once_while_somebody_has_it() {
        let cache = Cache::default();
        let first = cache.module(&Source::wgsl(SOURCE)).unwrap();
        let again = cache.module(&Source { name: "another label", ..Source::new(SOURCE.as_bytes()) }).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let other = cache.module(&Source::wgsl(&format!("{SOURCE} "))).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
        let gone = Arc::downgrade(&first);
        drop((first, again));
        assert!(gone.upgrade().is_none(), "the cache keeps nothing alive");
        assert_eq!(cache.module(&Source::wgsl(SOURCE)).unwrap().entry_points(), ["a", "b"]);
    }

    #[test]
    fn what_is_refused_in_one_language_is_not_found_for_another() {
        let cache = Cache::default();
        let _module = cache.module(&Source::wgsl(SOURCE)).unwrap();
        assert!(cache.module(&Source::glsl(SOURCE)).is_err());
    }

    #[test]
    fn includes_are_asked_for_each_time() {
        let cache = Cache::default();
        let asked = std::cell::Cell::new(0);
        let include = |_: &compute_kernel::IncludeRequest<'_>| {
            asked.set(asked.get() + 1);
            Ok(Included { name: String::new(), text: format!("const n = {};", asked.get()).into_bytes() })
        };
        let text = format!("#include \"n\"\n{SOURCE}");
        let source = Source { include: Some(&include), ..Source::wgsl(&text) };
        let _both = [cache.module(&source).unwrap(), cache.module(&source).unwrap()];
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn the_table_of_sources_is_bounded_by_what_is_alive() {
        let cache = Cache::default();
        let _kept = cache.module(&Source::wgsl(SOURCE)).unwrap();
        for n in 0..64 {
            cache.module(&Source::wgsl(&format!("{SOURCE} // {n}"))).unwrap();
        }
        assert!(cache.modules.lock().len() <= 8, "{}", cache.modules.lock().len());
    }
}
