//! Kernels: one entry point made for a device (L3, L10). When it is compiled, and by whom, is in `compile`.

use std::fmt;
use std::hint::cold_path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use compute_hal::{KernelId, NativeLanguage};
use compute_kernel::lower::{MAX_PRINT_ROOM, PRINT_ROOM};
use compute_kernel::reflection::{BindingKind, Bounds, LinearStore, Reflection};
use compute_kernel::{Constant, EntryPoint, Include, Language, Module, Source};

use super::code;
use super::compile::{Job, Key};
use super::device::Device;
use super::error::{Checked, Failed, Result, fail, from_diagnostics, refusal};
use super::fit::Fit;
use super::log;
use super::native::{Code, Declared, NativeOptions, declare};
use super::stream::Wait;

/// How to make a kernel.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// Language of the source; `None`: what it begins like.
    pub language: Option<Language>,
    /// The portable source: text, or the words of a module. Empty: there is none, if there are native ones.
    pub source: Vec<u8>,
    /// Native sources and what is declared of them.
    pub native: Option<NativeOptions>,
    /// The entry point; may be `None` when the source has just one.
    pub entry: Option<String>,
    /// For messages.
    pub label: String,
    /// Override constants.
    pub constants: Vec<Constant>,
    /// Treatment of accesses out of range.
    pub bounds: Bounds,
    /// When it is compiled.
    pub compile: Compile,
    /// Nanoseconds after which a launch is stopped; 0: never.
    pub time_limit: u64,
    /// Bytes of room for what one launch prints; 0: [`PRINT_ROOM`].
    pub print_size: u32,
    /// Whether its portable source gives the same bits on every device that has the capability.
    pub strict: bool,
}

/// When a kernel is compiled for its device (L6). It is parsed and checked against the device's limits at creation in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compile {
    /// At creation, on the calling thread.
    Now,
    /// At the first launch that needs it.
    Lazily,
    /// From creation on, by a thread of the library; a launch that needs it sooner waits for it.
    InBackground,
}

/// A kernel. Launches in flight keep the compiled code, not the kernel, so it may be dropped at any time (F7).
#[repr(C)] // What every launch looks at comes first, and lies together.
pub struct Kernel {
    pub(crate) device: Arc<Device>,
    /// What fits its bindings, in their order.
    fits: Box<[Fit]>,
    /// The compiled kernel's number and 1, once it is known to be there.
    made: AtomicU64,
    pub(crate) time_limit: u64,
    /// Bytes of room for what a launch prints; 0 when it prints nothing, or nobody listened when it was made.
    pub(crate) print_room: u32,
    /// Bytes of its immediate block.
    pub(super) immediate_size: u32,
    /// How many workgroups its device allows on each axis.
    pub(super) most: [u32; 3],
    /// Its launches can fail when they have been accepted (T13).
    pub(crate) fails_late: bool,
    /// The same, or all that its device does can.
    pub(super) may_fail_late: bool,
    pub(crate) name: Arc<str>,
    pub(crate) label: Arc<str>,
    form: Form,
    job: Job,
    /// What it was made of, for the next kernel of the same source.
    _module: Option<Arc<Module>>,
}

/// How it is known what a kernel does.
enum Form {
    /// By analysis.
    Portable(Arc<EntryPoint>),
    /// By declaration, whichever source runs.
    Declared(Arc<Declared>),
}

impl Kernel {
    /// Parses, resolves, checks against the device's limits, and compiles unless that is to happen later.
    pub fn new(device: &Arc<Device>, options: &KernelOptions) -> Result<Arc<Self>> {
        Self::made(device, options, None)
    }

    /// The same for a source that may include files. They are asked for on this thread, with no lock held, before this returns.
    pub fn with_includes(device: &Arc<Device>, options: &KernelOptions, include: &Include<'_>) -> Result<Arc<Self>> {
        Self::made(device, options, Some(include))
    }

    fn made(device: &Arc<Device>, options: &KernelOptions, include: Option<&Include<'_>>) -> Result<Arc<Self>> {
        device.check()?;
        let portable = parse(device, options, include)?;
        let entry = portable.as_ref().map(|(_, entry)| entry);
        let (form, code) = match (&options.native, entry) {
            (Some(native), entry) => {
                let (declared, code) = declare(device, options, native, entry).map_err(|made| Failed::of(*made))?;
                (Form::Declared(declared), code)
            }
            (None, Some(entry)) => (Form::Portable(Arc::clone(entry)), Code::Portable(Arc::clone(entry))),
            (None, None) => return fail(code::INVALID_ARGUMENT, "a kernel needs a source"),
        };
        check_abilities(device, options)?;
        let reflection = form.reflection();
        check_limits(device, reflection).map_err(|made| Failed::of(*made))?;
        let cancellable = options.time_limit != 0;
        let print_room = print_room(options, &code)?;
        let (bounds, strict) = (options.bounds, options.strict);
        let fails_late = cancellable || bounds == Bounds::Validate;
        let key = Key { content: code.content(), bounds, cancellable, print_room, strict };
        let label: Arc<str> = options.label.as_str().into();
        let slot = device.kernels.slot(key, device);
        let job = Job { slot, code, label: Arc::clone(&label), bounds, cancellable, print_room, strict };
        let kernel = Arc::new(Self {
            device: Arc::clone(device),
            name: reflection.entry.as_str().into(),
            fits: Fit::all(device, reflection),
            made: AtomicU64::new(0),
            immediate_size: reflection.immediate_size,
            most: device.limits().grid,
            label,
            time_limit: options.time_limit,
            print_room,
            fails_late,
            may_fail_late: fails_late || device.capabilities().fails_late,
            job,
            form,
            _module: portable.map(|(module, _)| module),
        });
        match options.compile {
            Compile::Now => drop(kernel.compiled().map_err(|made| Failed::of(*made))?),
            Compile::InBackground => kernel.queue_compilation(),
            Compile::Lazily => {}
        }
        Ok(kernel)
    }

    /// What it is (L10).
    pub fn reflection(&self) -> &Reflection {
        self.form.reflection()
    }

    /// What fits its bindings, in their order.
    #[inline]
    pub(super) fn fits(&self) -> &[Fit] {
        &self.fits
    }

    /// Which of the native sources the device takes (L11); `None`: the portable one.
    pub fn native_source(&self) -> Option<(usize, NativeLanguage)> {
        match &self.form {
            Form::Portable(_) => None,
            Form::Declared(declared) => declared.taken,
        }
    }

    /// Whether launches write every byte of a binding's view by declaration (T6).
    pub(crate) fn writes_all(&self, index: usize) -> bool {
        matches!(&self.form, Form::Declared(declared) if declared.writes_all(index))
    }

    /// The rule by which a grid is proven to write all of a binding. With a declaration nothing is proven, so that every source of a kernel leaves the same.
    pub(crate) fn store(&self, index: usize) -> Option<&LinearStore> {
        match &self.form {
            Form::Portable(entry) => entry.coverage().stores.get(index)?.as_ref(),
            Form::Declared(_) => None,
        }
    }

    /// Whether the portable source leaves bytes of a view of that size whatever it stores, also where a native one runs. Of native code nobody knows.
    pub(crate) fn leaves_bytes(&self, index: usize, view_size: u64) -> bool {
        match &self.form {
            Form::Portable(entry) => {
                let info = self.reflection().bindings.get(index);
                info.is_some_and(|info| entry.coverage().leaves_bytes(index, info, view_size))
            }
            Form::Declared(declared) => declared.leaves_bytes(index, view_size),
        }
    }

    /// Whether the views of two bindings may overlap although they are written (L9).
    pub(crate) fn may_overlap(&self, one: usize, two: usize) -> bool {
        matches!(&self.form, Form::Declared(declared) if declared.may_overlap(one, two))
    }

    /// The device that it is for.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The compiled kernel, made now if it is not there yet. Waits for somebody else who is making it.
    pub(crate) fn compiled(&self) -> Checked<KernelId> {
        self.job.run(&self.device)
    }

    /// As [`Self::compiled`], with what a grid from memory takes. That is not needed: where it fails, such launches work all the same, and a device that is lost
    /// meanwhile is found by the launch.
    pub(crate) fn compiled_for_counts(&self) -> Checked<KernelId> {
        let id = self.compiled()?;
        let native = &self.device.native;
        let Some(disk) = &self.device.disk else {
            let _ = native.prepare_indirect(id, None);
            return Ok(id);
        };
        let request = self.job.request();
        let kept = disk.of_counts(&request);
        let _ = native.prepare_indirect(id, Some(&kept));
        kept.remarks().tell();
        Ok(id)
    }

    /// The compiled kernel, if it is there.
    #[inline]
    pub(crate) fn ready(&self) -> Option<KernelId> {
        match self.made.load(Ordering::Acquire) {
            0 => {
                cold_path();
                let id = self.job.ready()?;
                self.made.store(id.0.wrapping_add(1), Ordering::Release);
                Some(id)
            }
            made => Some(KernelId(made - 1)),
        }
    }

    /// Whether it is compiled: `TimedOut` while it is not and nothing failed. Starts nothing.
    pub fn poll(&self) -> Result<Wait> {
        self.device.check()?;
        match self.job.made() {
            None => Ok(Wait::TimedOut),
            Some(made) => made.map(|_| Wait::Done).map_err(|made| Failed::of(*made)),
        }
    }

    /// Waits until it is compiled, which begins now if it has not. Without a time-out the calling thread compiles.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Wait> {
        self.device.check()?;
        Ok(self.job.wait(&self.device, timeout)?.map_or(Wait::TimedOut, |_| Wait::Done))
    }

    /// Has it compiled in the background (L6). What fails is told by the launch that needs it.
    pub(crate) fn queue_compilation(&self) {
        if self.job.made().is_none() {
            self.device.kernels.queue(self.job.clone(), &self.device);
        }
    }
}

impl Form {
    fn reflection(&self) -> &Reflection {
        match self {
            Self::Portable(entry) => entry.reflection(),
            Self::Declared(declared) => &declared.reflection,
        }
    }
}

/// The portable source, if there is one.
fn parse(
    device: &Device,
    options: &KernelOptions,
    include: Option<&Include<'_>>,
) -> Result<Option<(Arc<Module>, Arc<EntryPoint>)>> {
    if options.source.is_empty() && options.native.is_some() {
        return Ok(None);
    }
    let source = Source { language: options.language, bytes: &options.source, name: &options.label, include };
    let module = device.kernels.module(&source).map_err(|found| Failed::of(from_diagnostics(found)))?;
    let entry =
        module.entry_point(options.entry.as_deref(), &options.constants).map_err(|found| Failed::of(from_diagnostics(found)))?;
    Ok(Some((module, entry)))
}

/// Bytes of room for what a launch prints.
fn print_room(options: &KernelOptions, code: &Code) -> Result<u32> {
    if options.print_size > MAX_PRINT_ROOM {
        let message =
            format!("room of {} bytes for prints was asked for; at most {MAX_PRINT_ROOM} are possible", options.print_size);
        return fail(code::LIMIT, &message);
    }
    let prints = matches!(code, Code::Portable(entry) if entry.prints());
    Ok(match options.print_size {
        _ if !prints || !log::hears_prints() => 0,
        0 => PRINT_ROOM,
        size => size,
    })
}

fn check_abilities(device: &Device, options: &KernelOptions) -> Result<()> {
    let can = device.capabilities();
    if !can.portable && options.native.is_none() {
        return fail(code::UNSUPPORTED, "this device takes no portable kernels");
    }
    if options.bounds == Bounds::Validate && !can.validate {
        return fail(code::UNSUPPORTED, "this device cannot validate bounds; its capabilities say so");
    }
    if options.strict && !can.strict {
        return fail(code::UNSUPPORTED, "this device cannot promise the same bits as others; its capabilities say so");
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
