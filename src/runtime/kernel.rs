//! Kernels: one entry point made for a device, and its compilation, shared by content and done when it is due (L6, L7, T7).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

use compute_hal::{CompileRequest, CompileSource, DeviceError, KernelId};
use compute_kernel::lower::{MAX_PRINT_ROOM, PRINT_ROOM};
use compute_kernel::reflection::{BindingKind, Bounds, Reflection};
use compute_kernel::{Constant, EntryPoint, Language, Module};
use once_cell::sync::OnceCell;
use parking_lot::{Condvar, Mutex};

use super::code;
use super::device::Device;
use super::error::{Checked, Failed, Result, fail, from_device, from_diagnostics, refusal};
use super::log;

/// How to make a kernel.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// Language of the source.
    pub language: Language,
    /// The source text.
    pub source: String,
    /// The entry point; may be `None` when the source has just one.
    pub entry: Option<String>,
    /// For messages.
    pub label: String,
    /// Override constants.
    pub constants: Vec<Constant>,
    /// Treatment of accesses out of range.
    pub bounds: Bounds,
    /// Compile at the first launch rather than now.
    pub lazy: bool,
    /// Nanoseconds after which a launch is stopped; 0: never.
    pub time_limit: u64,
    /// Bytes of room for what one launch prints; 0: [`PRINT_ROOM`].
    pub print_size: u32,
}

/// A kernel. Launches in flight keep the compiled code, not the kernel, so it may be dropped at any time (F7).
pub struct Kernel {
    pub(crate) device: Arc<Device>,
    pub(crate) entry: Arc<EntryPoint>,
    pub(crate) name: Arc<str>,
    pub(crate) label: String,
    pub(crate) time_limit: u64,
    pub(crate) fails_late: bool,
    /// Bytes of room for what a launch prints; 0 when it prints nothing, or nobody listened when it was made.
    pub(crate) print_room: u32,
    bounds: Bounds,
    slot: Arc<Slot>,
}

/// What a compiled kernel is found by.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    content: [u8; 32],
    bounds: Bounds,
    cancellable: bool,
    print_room: u32,
}

/// A place for one compiled kernel: filled by whoever needs it first, while others who need it wait.
struct Slot {
    device: Weak<Device>,
    /// A refusal is kept too: it would be the same each time.
    compiled: OnceCell<std::result::Result<KernelId, DeviceError>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let (Some(Ok(kernel)), Some(device)) = (self.compiled.get(), self.device.upgrade()) {
            device.kernel_gone(*kernel);
        }
    }
}

/// The kernels of a device: those compiled, by content, and those queued to be.
#[derive(Default)]
pub(crate) struct Cache {
    slots: Mutex<HashMap<Key, Weak<Slot>>>,
    queue: Mutex<Queued>,
    idle: Condvar,
}

#[derive(Default)]
struct Queued {
    waiting: VecDeque<Arc<Kernel>>,
    working: usize,
}

impl Cache {
    fn slot(&self, key: Key, device: &Arc<Device>) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(&key).and_then(Weak::upgrade) {
            return slot;
        }
        // Bounded by what is alive: the dead leave when the table would grow.
        if slots.len() == slots.capacity() {
            slots.retain(|_, slot| slot.strong_count() > 0);
        }
        let slot = Arc::new(Slot { device: Arc::downgrade(device), compiled: OnceCell::new() });
        slots.insert(key, Arc::downgrade(&slot));
        slot
    }
}

impl Kernel {
    /// Parses, resolves, checks against the device's limits, and compiles unless that is to happen later.
    pub fn new(device: &Arc<Device>, options: &KernelOptions) -> Result<Arc<Self>> {
        device.check()?;
        let module = Module::parse(options.language, &options.source).map_err(|found| Failed::of(from_diagnostics(found)))?;
        let entry = module
            .entry_point(options.entry.as_deref(), &options.constants)
            .map_err(|found| Failed::of(from_diagnostics(found)))?;
        check_abilities(device, options)?;
        check_limits(device, entry.reflection()).map_err(|made| Failed::of(*made))?;
        let cancellable = options.time_limit != 0;
        if options.print_size > MAX_PRINT_ROOM {
            let message =
                format!("room of {} bytes for prints was asked for; at most {MAX_PRINT_ROOM} are possible", options.print_size);
            return fail(code::LIMIT, &message);
        }
        let print_room = match options.print_size {
            _ if !entry.prints() || !log::hears_prints() => 0,
            0 => PRINT_ROOM,
            size => size,
        };
        let key = Key { content: entry.hash(), bounds: options.bounds, cancellable, print_room };
        let kernel = Arc::new(Self {
            slot: device.kernels.slot(key, device),
            device: Arc::clone(device),
            name: entry.reflection().entry.as_str().into(),
            label: options.label.clone(),
            time_limit: options.time_limit,
            print_room,
            fails_late: cancellable || options.bounds == Bounds::Validate,
            bounds: options.bounds,
            entry,
        });
        if !options.lazy {
            kernel.compiled().map_err(|made| Failed::of(*made))?;
        }
        Ok(kernel)
    }

    /// What it is (L10).
    pub fn reflection(&self) -> &Reflection {
        self.entry.reflection()
    }

    /// The device that it is for.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The compiled kernel, made now if it is not there yet. Waits for somebody else who is making it.
    pub(crate) fn compiled(&self) -> Checked<KernelId> {
        let made = self.slot.compiled.get_or_try_init(|| {
            let source = CompileSource::Portable(&self.entry);
            let _guard = self.device.guard();
            let request = CompileRequest {
                source,
                bounds: self.bounds,
                cancellable: self.time_limit != 0,
                print_room: self.print_room,
                label: &self.label,
            };
            match self.device.native.compile(&request) {
                Err(failed @ DeviceError::Compile { refusal: true, .. }) => Ok(Err(failed)),
                Err(failed) => Err(failed),
                Ok(kernel) => Ok(Ok(kernel)),
            }
        });
        match made {
            Ok(Ok(kernel)) => Ok(*kernel),
            Ok(Err(failed)) => Err(Box::new(from_device(failed.clone()))),
            Err(failed) => {
                if let DeviceError::Lost(cause) = &failed {
                    self.device.condemn(cause.clone());
                }
                Err(Box::new(from_device(failed)))
            }
        }
    }

    /// Has it compiled in the background (L6). What fails is told by the launch that needs it.
    pub(crate) fn queue_compilation(self: &Arc<Self>) {
        if self.slot.compiled.get().is_some() {
            return;
        }
        self.device.kernels.queue.lock().waiting.push_back(Arc::clone(self));
        let device = Arc::downgrade(&self.device);
        // Without a thread the work stays queued, for `compile_queued` or the launch.
        let _ = std::thread::Builder::new().name("compute-compile".into()).spawn(move || {
            while let Some(device) = device.upgrade() {
                if !compile_next(&device) {
                    return;
                }
            }
        });
    }
}

fn compile_next(device: &Device) -> bool {
    let cache = &device.kernels;
    let next = {
        let mut queue = cache.queue.lock();
        let next = queue.waiting.pop_front();
        queue.working += usize::from(next.is_some());
        next
    };
    let Some(kernel) = next else { return false };
    /// Counts the work out even when the compiler panics.
    struct Done<'a>(&'a Cache);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.queue.lock().working -= 1;
            self.0.idle.notify_all();
        }
    }
    let _done = Done(cache);
    let _ = kernel.compiled();
    true
}

/// Finishes every compilation that is queued (L6).
pub fn compile_queued(device: &Arc<Device>) -> Result<()> {
    device.check()?;
    while compile_next(device) {}
    let mut queue = device.kernels.queue.lock();
    while queue.working > 0 {
        device.kernels.idle.wait(&mut queue);
    }
    Ok(())
}

fn check_abilities(device: &Device, options: &KernelOptions) -> Result<()> {
    let can = device.capabilities();
    if !can.portable {
        return fail(code::UNSUPPORTED, "this device takes no portable kernels");
    }
    if options.bounds == Bounds::Validate && !can.validate {
        return fail(code::UNSUPPORTED, "this device cannot validate bounds; its capabilities say so");
    }
    if options.time_limit != 0 && !can.time_limit {
        return fail(code::UNSUPPORTED, "this device cannot stop a kernel after a time limit; its capabilities say so");
    }
    Ok(())
}

/// L3, as far as it does not depend on the launch.
fn check_limits(device: &Device, kernel: &Reflection) -> Checked<()> {
    let limits = device.limits();
    let over = |what: &str, asked: u64, allowed: u64| {
        refusal(code::LIMIT, || format!("kernel `{}` asks for {what} of {asked}; the device allows {allowed}", kernel.entry))
    };
    for (axis, (&asked, &allowed)) in ["x", "y", "z"].iter().zip(kernel.workgroup_size.iter().zip(&limits.workgroup_size)) {
        if asked > allowed {
            return over(&format!("a workgroup size on the {axis} axis"), asked.into(), allowed.into());
        }
    }
    if kernel.invocations() > limits.workgroup_invocations.into() {
        return over("a workgroup size in all", kernel.invocations(), limits.workgroup_invocations.into());
    }
    if kernel.workgroup_memory > limits.workgroup_memory {
        return over("workgroup memory in bytes", kernel.workgroup_memory, limits.workgroup_memory);
    }
    if kernel.immediate_size > limits.immediate_size {
        return over("an immediate block in bytes", kernel.immediate_size.into(), limits.immediate_size.into());
    }
    let used =
        kernel.bindings.iter().filter(|binding| binding.access != compute_kernel::reflection::Access::Unused).count() as u64;
    if used > limits.bindings.into() {
        return over("a number of bindings", used, limits.bindings.into());
    }
    for binding in &kernel.bindings {
        let allowed = if binding.kind == BindingKind::Uniform { limits.uniform_size } else { limits.binding_size };
        if binding.min_size > allowed {
            return over(&format!("a size in bytes for binding `{}`", binding.name), binding.min_size, allowed);
        }
    }
    Ok(())
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel(`{}`)", self.name)
    }
}
