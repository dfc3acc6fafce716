//! From an entry point to a function of the driver's: lowered, translated, compiled for the exact device, loaded.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{CString, c_char, c_void};
use std::hash::{Hash, Hasher};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use compute_hal::kernel::EntryPoint;
use compute_hal::kernel::cxx::{self, Options, Parameters, Text};
use compute_hal::kernel::lower::{Lowering, Reports};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::{CompileRequest, CompileSource, DeviceError, Kept, KernelFacts, NativeHeader};
use parking_lot::Mutex;

use crate::api::{Api, Garbage, Inside, Object};
use crate::artifact;
use crate::device::Shared;
use crate::driver::{CompilerCalls, Failure, Handle, Status};
use crate::plain::Plan;
use crate::reclaim::Reclaim;
use crate::table::Thing;

/// A record is zeroed by the host for each launch; lines beyond are counted as lost.
const MOST_PRINT_ROOM: u32 = 8 << 20;
/// Compiled texts that are kept.
const KEPT: usize = 64;
/// Bytes of a compiler's words that are passed on.
const MOST_LOG: usize = 16 << 10;

/// Invocations that a unit has at once, at most, where the driver does not say how many workgroups that are.
const INVOCATIONS: u32 = 2048;

/// A kernel that can be launched. In this order: what a plain launch reads lies together at the beginning.
#[repr(C, align(128))]
pub(crate) struct Kernel {
    /// How `plain` lays its arguments out, if it can.
    pub(crate) plan: Option<Plan>,
    pub(crate) function: Object,
    pub(crate) workgroup_size: [u32; 3],
    /// Bytes of workgroup memory that a launch asks for.
    pub(crate) shared: u32,
    launched: AtomicBool,
    /// Where each argument lies in the block, if they are passed one by one.
    pub(crate) places: Option<Box<[u32]>>,
    /// Its entry point, for errors.
    pub(crate) name: Box<str>,
    module: Object,
    pub(crate) parameters: Parameters,
    pub(crate) reports: Arc<Reports>,
    /// Whether it can be stopped.
    pub(crate) cancellable: bool,
    facts: KernelFacts,
    /// What it can be restored from, until somebody asks for it.
    artifact: Mutex<Option<Vec<u8>>>,
    reclaim: Arc<Reclaim>,
    /// Of one that reads its number of workgroups: how many of its workgroups a unit of the device has at once.
    pub(crate) resident: u32,
    /// Of a portable kernel that does not read its number of workgroups.
    origin: Option<Origin>,
    /// The same kernel in the form that does, once somebody has asked for it; `None`: it could not be made.
    counted: OnceLock<Option<Arc<Self>>>,
}

/// What a portable kernel is made of.
pub(crate) struct Origin {
    entry: Arc<EntryPoint>,
    bounds: Bounds,
    strict: bool,
    cancellable: bool,
    print_room: u32,
    label: Box<str>,
}

impl Origin {
    fn of(entry: &Arc<EntryPoint>, request: &CompileRequest<'_>) -> Self {
        Self {
            entry: Arc::clone(entry),
            bounds: request.bounds,
            strict: request.strict,
            cancellable: request.cancellable,
            print_room: request.print_room.min(MOST_PRINT_ROOM),
            label: request.label.into(),
        }
    }
}

// Two cache lines, which processors fetch together.
const _: () = assert!(offset_of!(Kernel, name) <= 128);

/// A kernel in its device's table.
#[derive(Clone)]
pub(crate) struct Loaded(pub(crate) Arc<Kernel>);

impl Thing for Loaded {
    /// Where it is.
    fn numbers(&self) -> [u64; 3] {
        [Arc::as_ptr(&self.0).expose_provenance() as u64, 0, 0]
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.reclaim.throw(Garbage::Module(self.module));
    }
}

impl Kernel {
    /// Whether a launch of it has gone into a stream. A driver may put off a part of loading until then, which a capture of others may forbid.
    #[inline]
    pub(crate) fn was_launched(&self) -> bool {
        self.launched.load(Ordering::Relaxed)
    }

    pub(crate) fn note_launched(&self) {
        // Only once: others read the line.
        if !self.was_launched() {
            self.launched.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn facts(&self) -> KernelFacts {
        self.facts.clone()
    }

    /// The form that reads its number of workgroups, if it is there.
    pub(crate) fn counted(&self) -> Option<Arc<Self>> {
        self.counted.get().cloned().flatten()
    }

    /// Has `make` make that form, unless somebody has. That its text cannot be compiled is kept; what fails for another reason is tried again.
    pub(crate) fn count(&self, make: impl FnOnce(&Origin) -> Result<Self, DeviceError>) -> Result<(), DeviceError> {
        let Some(origin) = self.origin.as_ref().filter(|_| self.counted.get().is_none()) else { return Ok(()) };
        // Of two that are made at once the first stays.
        match make(origin) {
            Ok(made) => drop(self.counted.set(Some(Arc::new(made)))),
            Err(DeviceError::Compile { .. }) => drop(self.counted.set(None)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub(crate) fn take_artifact(&self) -> Option<Vec<u8>> {
        self.artifact.lock().take()
    }

    pub(crate) fn keeping(self, artifact: Option<Vec<u8>>) -> Self {
        *self.artifact.lock() = artifact;
        self
    }
}

/// Hash, text and code.
type CompiledText = (u64, Arc<str>, Arc<[u8]>);

/// Machine code of texts that were compiled, the newest last.
#[derive(Default)]
pub(crate) struct Compiled {
    kept: Mutex<VecDeque<CompiledText>>,
}

/// What compiling needs to know of a device.
pub(crate) struct Compiler<'a> {
    /// What ends when a call finds that it has.
    pub(crate) device: &'a Shared,
    pub(crate) api: &'a Arc<Api>,
    pub(crate) target: &'a str,
    pub(crate) subgroup: u32,
    /// Bytes of workgroup memory at most.
    pub(crate) workgroup_memory: u64,
    pub(crate) reclaim: &'a Arc<Reclaim>,
    /// Somebody will ask for the machine code.
    pub(crate) artifacts: bool,
}

/// What becomes a kernel once its code is loaded.
pub(crate) struct Loading<'a> {
    pub(crate) entry: &'a str,
    /// What people call it.
    pub(crate) name: &'a str,
    pub(crate) parameters: Parameters,
    pub(crate) places: Option<Box<[u32]>>,
    pub(crate) workgroup_size: [u32; 3],
    /// Bytes of workgroup memory that a launch asks for.
    pub(crate) shared: u32,
    /// Whether a launch passes it how long it may take.
    pub(crate) cancellable: bool,
    pub(crate) reports: Arc<Reports>,
}

/// A portable kernel as text.
struct Translated {
    text: Text,
    /// All that the runtime compiler is told.
    options: Vec<String>,
    /// Of the entry point in the source.
    name: String,
    cancellable: bool,
    reports: Arc<Reports>,
}

impl Translated {
    fn digest(&self) -> artifact::Digest {
        artifact::digest(self.text.source.as_bytes(), &self.options, &[])
    }

    fn loading(&self) -> Loading<'_> {
        Loading {
            entry: &self.text.entry,
            name: &self.name,
            parameters: self.text.parameters.clone(),
            places: None,
            workgroup_size: self.text.workgroup_size,
            shared: self.text.dynamic_workgroup_memory,
            cancellable: self.cancellable,
            reports: Arc::clone(&self.reports),
        }
    }
}

/// What a runtime compiler reads.
pub(crate) struct Input<'a> {
    pub(crate) source: &'a [u8],
    /// What it is called in messages.
    pub(crate) name: &'a str,
    pub(crate) headers: &'a [NativeHeader],
    pub(crate) options: &'a [String],
}

pub(crate) fn refused(log: String, refusal: bool) -> DeviceError {
    DeviceError::Compile { log, location: None, refusal }
}

impl Compiler<'_> {
    /// Makes a kernel. What has to be done on the device is done inside `enter`.
    pub(crate) fn compile<'c>(
        &self,
        request: &CompileRequest<'_>,
        enter: impl FnOnce() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let entry = match request.source {
            CompileSource::Portable(entry) => entry,
            CompileSource::Native { source, interface } => return self.compile_native(source, interface, enter),
        };
        let origin = Origin::of(entry, request);
        let made = self.translate(&origin, false)?;
        let code = self.machine_code(&made, request.label)?;
        let mut kernel = self.load(&enter()?, &code, made.loading(), |_| Ok(()))?;
        let artifact = self.artifacts.then(|| artifact::seal(&made.digest(), &code));
        kernel.origin = Some(origin);
        Ok(kernel.keeping(artifact))
    }

    /// As [`Self::compile`], from what [`Kernel::take_artifact`] gave for an equal request with the same compiler and target.
    pub(crate) fn restore<'c>(
        &self,
        request: &CompileRequest<'_>,
        bytes: &[u8],
        enter: impl FnOnce() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let entry = match request.source {
            CompileSource::Portable(entry) => entry,
            CompileSource::Native { source, interface } => return self.restore_native(source, interface, bytes, enter),
        };
        let origin = Origin::of(entry, request);
        let made = self.translate(&origin, false)?;
        let code = artifact::open(&made.digest(), bytes)?;
        let mut kernel = self.load(&enter()?, code, made.loading(), |_| Ok(()))?;
        kernel.origin = Some(origin);
        Ok(kernel)
    }

    /// Makes the form of a portable kernel that reads its number of workgroups: of what is kept of it, or anew.
    pub(crate) fn make_counted<'c>(
        &self,
        origin: &Origin,
        kept: Option<&dyn Kept>,
        enter: impl Fn() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let made = self.translate(origin, true)?;
        let load = |code: &[u8]| {
            let calls = enter()?;
            let mut kernel = self.load(&calls, code, made.loading(), |_| Ok(()))?;
            kernel.resident = resident(&calls, &kernel);
            Ok(kernel)
        };
        let mut found = None;
        if let Some(kept) = kept {
            kept.restore(&mut |bytes| {
                found = Some(load(artifact::open(&made.digest(), bytes)?)?);
                Ok(())
            })?;
        }
        if let Some(kernel) = found {
            return Ok(kernel);
        }
        let code = self.machine_code(&made, &origin.label)?;
        let kernel = load(&code)?;
        if let Some(kept) = kept {
            kept.keep(&artifact::seal(&made.digest(), &code));
        }
        Ok(kernel)
    }

    /// `indirect`: in the form that reads its number of workgroups.
    fn translate(&self, origin: &Origin, indirect: bool) -> Result<Translated, DeviceError> {
        let Origin { bounds, strict, cancellable, print_room, .. } = *origin;
        let lowering = Lowering { bounds, deferred: true, print_room, names: None };
        let lowered = origin.entry.lower(&lowering).map_err(|found| DeviceError::Internal(found.text))?;
        let options = Options {
            dialect: self.api.vendor.dialect,
            checked: bounds != Bounds::Unchecked,
            strict,
            cancellable,
            indirect,
            subgroup_size: Some(self.subgroup),
        };
        let text = cxx::translate(&lowered, &options).map_err(|found| refused(found.text, true))?;
        let mut options = self.options()?;
        options.extend(text.options.iter().map(|option| (*option).to_owned()));
        let (name, reports) = (lowered.reflection().entry.clone(), Arc::clone(lowered.reports()));
        Ok(Translated { text, options, name, cancellable, reports })
    }

    /// What the runtime compiler is told for this device.
    fn options(&self) -> Result<Vec<String>, DeviceError> {
        self.options_for(self.target)
    }

    /// The same for an architecture that it has another name for.
    pub(crate) fn options_for(&self, target: &str) -> Result<Vec<String>, DeviceError> {
        self.api.compile_options(target).map_err(|why| refused(why, true))
    }

    /// The machine code of a text, compiled now unless it is kept.
    fn machine_code(&self, made: &Translated, label: &str) -> Result<Arc<[u8]>, DeviceError> {
        let Translated { text, options, .. } = made;
        let mut hasher = DefaultHasher::new();
        (&text.source, options).hash(&mut hasher);
        let hash = hasher.finish();
        {
            let mut kept = self.api.compiled.kept.lock();
            let found = kept.iter().position(|(known, source, _)| *known == hash && **source == *text.source);
            if let Some(entry) = found.and_then(|at| kept.remove(at)) {
                let code = Arc::clone(&entry.2);
                kept.push_back(entry);
                return Ok(code);
            }
        }
        let compiler = self
            .api
            .compiler
            .as_ref()
            .map_err(|tried| refused(format!("no runtime compiler for {}: {tried}", self.api.vendor.dialect.name), false))?;
        let input = Input { source: text.source.as_bytes(), name: "kernel", headers: &[], options };
        let code: Arc<[u8]> =
            compile_text(&compiler.calls, &input).map_err(|why| explain(self.api, why, label, self.target))?.into();
        let mut kept = self.api.compiled.kept.lock();
        kept.push_back((hash, text.source.as_str().into(), Arc::clone(&code)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(code)
    }

    /// Loads code and finds its kernel; `check` may refuse it.
    pub(crate) fn load(
        &self,
        calls: &Inside<'_>,
        code: &[u8],
        loading: Loading<'_>,
        check: impl FnOnce(Object) -> Result<(), DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let module = load_module(self.device, calls, code)?;
        let function =
            find_function(self.device, calls, module, loading.entry).inspect_err(|_| Garbage::Module(module).end(calls))?;
        let mut kernel = Kernel {
            name: loading.name.into(),
            function,
            module,
            plan: Plan::of(&loading.parameters),
            parameters: loading.parameters,
            places: loading.places,
            workgroup_size: loading.workgroup_size,
            shared: loading.shared,
            reports: loading.reports,
            cancellable: loading.cancellable,
            launched: AtomicBool::new(false),
            artifact: Mutex::new(None),
            facts: KernelFacts { code_size: code.len() as u64, ..KernelFacts::default() },
            reclaim: Arc::clone(self.reclaim),
            resident: 0,
            origin: None,
            counted: OnceLock::new(),
        };
        check(function)?;
        allow_memory(calls, function, kernel.shared).map_err(|failure| self.device.fail(failure))?;
        kernel.facts = facts(calls, function, kernel.shared, code.len() as u64);
        Ok(kernel)
    }
}

/// Why a text did not become machine code.
pub(crate) enum Refused {
    /// The compiler's words.
    Text(String),
    /// It is not the text's fault. What it said besides.
    Call(Failure, String),
}

/// What a runtime compiler answers of a text or an option that is wrong: invalid input, invalid option, compilation. All else is a compiler that is starved or broken. The
/// numbers are NVIDIA's, which AMD has taken over.
const FAULTS_OF_TEXTS: [Status; 3] = [3, 5, 6];
/// It had no memory.
const STARVED: Status = 1;

/// What is to be told of a failure that is not the text's fault.
pub(crate) fn broken_compiler(failure: &Failure, log: &str, of: &str) -> DeviceError {
    if failure.code == STARVED {
        return DeviceError::NoMemoryFor { what: "the runtime compiler", call: failure.call };
    }
    let log = if log.is_empty() { String::new() } else { format!(":\n{log}") };
    refused(format!("the runtime compiler failed {of}: {} answered {}{log}", failure.call, failure.code), false)
}

fn explain(api: &Api, why: Refused, label: &str, target: &str) -> DeviceError {
    let dialect = api.vendor.dialect.name;
    match why {
        Refused::Text(log) => {
            // The source is ours, so this is either a bug of ours or a compiler that does not know the device.
            refused(
                format!("the runtime compiler did not take the {dialect} made of kernel \"{label}\" for {target}:\n{log}"),
                false,
            )
        }
        Refused::Call(failure, log) => broken_compiler(&failure, &log, &format!("on kernel \"{label}\" for {target}")),
    }
}

/// A program of the runtime compiler's, gone when dropped.
struct Program<'a> {
    calls: &'a CompilerCalls,
    handle: Handle,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once.
        let _ = unsafe { self.calls.destroy(&mut self.handle) };
    }
}

pub(crate) fn compile_text(calls: &CompilerCalls, input: &Input<'_>) -> Result<Vec<u8>, Refused> {
    let text =
        |text: &[u8]| CString::new(text).map_err(|_| Refused::Text("a zero byte in the source, a header or an option".into()));
    let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<*const c_char>>();
    let (source, name) = (text(input.source)?, text(input.name.as_bytes())?);
    let options: Vec<CString> = input.options.iter().map(|option| text(option.as_bytes())).collect::<Result<_, _>>()?;
    let headers: Vec<CString> = input.headers.iter().map(|header| text(header.text.as_bytes())).collect::<Result<_, _>>()?;
    let paths: Vec<CString> = input.headers.iter().map(|header| text(header.name.as_bytes())).collect::<Result<_, _>>()?;
    let count = |length| i32::try_from(length).map_err(|_| Refused::Text("too many options or headers".into()));
    let (option_count, header_count) = (count(options.len())?, count(headers.len())?);
    let (option_texts, header_texts, header_names) = (pointers(&options), pointers(&headers), pointers(&paths));
    let mut program = Program { calls, handle: std::ptr::null_mut() };
    // Null where there are none, as the compilers' manuals have it.
    let list = |texts: &[*const c_char]| if texts.is_empty() { std::ptr::null() } else { texts.as_ptr() };
    let (texts, names) = (list(&header_texts), list(&header_names));
    // SAFETY: the texts end with zeros and outlive the calls, the lists are as long as said; the places are ours.
    unsafe {
        if let Err(failure) = calls.create(&mut program.handle, source.as_ptr(), name.as_ptr(), header_count, texts, names) {
            std::mem::forget(program);
            return Err(Refused::Call(failure, String::new()));
        }
        if let Err(failure) = calls.compile(program.handle, option_count, option_texts.as_ptr()) {
            let log = compiler_log(&program);
            let of_text = !log.is_empty() && FAULTS_OF_TEXTS.contains(&failure.code);
            return Err(if of_text { Refused::Text(log) } else { Refused::Call(failure, log) });
        }
        let silent = |failure| Refused::Call(failure, String::new());
        let mut size = 0;
        calls.code_size(program.handle, &mut size).map_err(silent)?;
        let mut code = vec![0_u8; size];
        calls.code(program.handle, code.as_mut_ptr().cast()).map_err(silent)?;
        if code.is_empty() {
            return Err(Refused::Text("the compiler made no machine code".into()));
        }
        Ok(code)
    }
}

/// What the compiler said, cut to what somebody may read.
fn compiler_log(program: &Program<'_>) -> String {
    let mut size = 0;
    // SAFETY: the places are ours, and as large as the compiler said.
    unsafe {
        if program.calls.log_size(program.handle, &mut size).is_err() || size == 0 {
            return String::new();
        }
        let mut log = vec![0_u8; size];
        if program.calls.log(program.handle, log.as_mut_ptr().cast()).is_err() {
            return String::new();
        }
        while log.last() == Some(&0) {
            log.pop();
        }
        log.truncate(MOST_LOG);
        String::from_utf8_lossy(&log).trim_end().to_owned()
    }
}

/// Loads code. When the driver refuses it, with its words.
fn load_module(device: &Shared, calls: &Inside<'_>, code: &[u8]) -> Result<Object, DeviceError> {
    let mut module: Handle = std::ptr::null_mut();
    let mut log = vec![0_u8; 8192];
    let options = calls.api.vendor.flags.load_log;
    let mut names = options.unwrap_or_default();
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len() - 1)];
    let count = if options.is_some() { 2 } else { 0 };
    // SAFETY: the code is an image that the compiler made; options and values are as many as said, and the log is as long as said.
    let answer = unsafe { calls.module_load(&mut module, code.as_ptr().cast(), count, names.as_mut_ptr(), values.as_mut_ptr()) };
    answer.map(|()| Object(module)).map_err(|failure| {
        let words = log.split(|byte| *byte == 0).next().map(|words| String::from_utf8_lossy(words).trim().to_owned());
        match (words.filter(|words| !words.is_empty()), device.fail_for(failure, code.len() as u64)) {
            (Some(words), DeviceError::Driver { name, code, .. }) => {
                refused(format!("the driver did not load the code ({name}): {words}"), calls.api.vendor.errors.is_image(code))
            }
            (_, error) => error,
        }
    })
}

fn find_function(device: &Shared, calls: &Inside<'_>, module: Object, entry: &str) -> Result<Object, DeviceError> {
    let name = CString::new(entry).map_err(|_| DeviceError::Internal("a zero byte in an entry's name".into()))?;
    let mut function: Handle = std::ptr::null_mut();
    // SAFETY: the module is loaded, the name ends with a zero.
    let found = unsafe { calls.module_function(&mut function, module.0, name.as_ptr()) };
    found.map(|()| Object(function)).map_err(|failure| match device.fail(failure) {
        DeviceError::Driver { code, .. } if calls.api.vendor.errors.is_image(code) => {
            refused(format!("the code has no kernel `{entry}`; in C++ it has to be declared `extern \"C\"`"), true)
        }
        other => other,
    })
}

/// Lets launches ask for more workgroup memory than a kernel has by itself.
fn allow_memory(calls: &Inside<'_>, function: Object, bytes: u32) -> Result<(), Failure> {
    let (Some(attribute), true) = (calls.api.vendor.attributes.function_memory_most, bytes > 0) else { return Ok(()) };
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    // SAFETY: the function is of a loaded module.
    unsafe { calls.function_set(function.0, attribute, bytes) }
}

/// How many workgroups of a kernel a unit has at once: what the driver says, who knows of its registers and workgroup memory, else what invocations allow.
fn resident(calls: &Inside<'_>, kernel: &Kernel) -> u32 {
    let invocations = kernel.workgroup_size.iter().fold(1, |all: u32, axis| all.saturating_mul(*axis)).max(1);
    let mut count = 0;
    let asked = i32::try_from(invocations).unwrap_or(i32::MAX);
    // SAFETY: the place is ours, the function is of a loaded module.
    let told = unsafe { calls.resident(&mut count, kernel.function.0, asked, kernel.shared as usize) };
    let told = told.ok().and_then(|()| u32::try_from(count).ok()).filter(|count| *count > 0);
    told.unwrap_or((INVOCATIONS / invocations).clamp(1, 32))
}

fn facts(calls: &Inside<'_>, function: Object, shared: u32, code_size: u64) -> KernelFacts {
    let attributes = &calls.api.vendor.attributes;
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the place is ours, the function is of a loaded module.
        unsafe { calls.function_attribute(&mut value, attribute, function.0) }.ok()?;
        u32::try_from(value).ok()
    };
    KernelFacts {
        registers: ask(attributes.function_registers),
        max_invocations: ask(attributes.function_invocations).filter(|most| *most > 0),
        workgroup_memory: u64::from(ask(attributes.function_memory).unwrap_or(0)) + u64::from(shared),
        code_size,
    }
}
