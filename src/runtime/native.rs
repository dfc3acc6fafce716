//! Kernels with native sources: what their caller declares (T6, L4, L9), and which of the sources a device takes (L11).
//!
//! The declaration is one for all sources and all devices, the portable one included: what a launch reads, writes and refuses does not depend on which source
//! runs. Native code cannot be looked into. That it does what is declared, its caller vouches for by giving it (F1).

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{CompileSource, DeviceError, Fit, NativeInterface, NativeLanguage, NativeParameter, NativeSource};
use compute_kernel::EntryPoint;
use compute_kernel::reflection::{Access, BindingInfo, BindingKind, Bounds, Reflection};

use super::code;
use super::device::Device;
use super::error::{Checked, from_device, refusal};
use super::kernel::KernelOptions;

/// Parameters of one kernel at most.
const MOST_PARAMETERS: usize = 256;

/// The native side of a kernel's description.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// In any order; of those that suit a device equally well the first is taken.
    pub sources: Vec<Arc<NativeSource>>,
    /// In order: parameter n is `@group(0) @binding(n)` of the portable source, and group 0 slot n of a launch.
    pub parameters: Vec<ParameterOptions>,
    /// Invocations of a workgroup on each axis.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory beyond what the code declares (`extern __shared__`).
    pub workgroup_memory: u32,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct ParameterOptions {
    /// For messages and look-ups; may be empty.
    pub name: String,
    /// What it takes.
    pub kind: ParameterKind,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// The address of a view.
    Buffer {
        /// What is done with its bytes.
        access: Access,
        /// Each launch writes every byte of the view (T6a), which is vouched for.
        write_all: bool,
        /// The fewest bytes.
        min_size: u64,
        /// What the view's offset is a multiple of, a power of two; 0: whatever the device wants.
        alignment: u32,
        /// Views of parameters with the same number but 0 may overlap although they are written (L9).
        alias: u32,
        /// It is passed as a tensor map (L13) and not by its address.
        tensor_map: bool,
    },
    /// Bytes by value.
    Value {
        /// How many.
        size: u32,
        /// Their alignment among the arguments, a power of two.
        alignment: u32,
    },
}

/// What is known of a kernel by declaration.
pub(crate) struct Declared {
    pub(super) reflection: Reflection,
    whole: Vec<bool>,
    aliases: Vec<u32>,
    /// Beside the native ones, whichever runs.
    portable: Option<Arc<EntryPoint>>,
    /// The native source that the device takes; `None`: the portable one.
    pub(super) taken: Option<(usize, NativeLanguage)>,
}

impl Declared {
    /// Whether launches write every byte of a binding's view.
    pub(super) fn writes_all(&self, index: usize) -> bool {
        self.whole.get(index).is_some_and(|whole| *whole)
    }

    /// Whether the portable source has bytes in a view of that size that it cannot write. What a launch leaves does not depend on which source runs, so that counts for
    /// all; without a portable source nobody knows.
    pub(super) fn leaves_bytes(&self, index: usize, view_size: u64) -> bool {
        let Some((entry, declared)) = self.portable.as_ref().zip(self.reflection.bindings.get(index)) else { return false };
        // Its own size of an element: to the declaration every byte is one.
        let portable = entry.reflection();
        let found = portable.find(declared.group, declared.slot);
        let info = found.and_then(|found| Some((found, portable.bindings.get(found)?)));
        info.is_none_or(|(found, info)| entry.coverage().leaves_bytes(found, info, view_size))
    }

    /// Whether the views of two bindings may overlap.
    pub(super) fn may_overlap(&self, one: usize, two: usize) -> bool {
        self.aliases.get(one).zip(self.aliases.get(two)).is_some_and(|(one, two)| one == two && *one != 0)
    }
}

/// What is compiled for the device.
#[derive(Clone)]
pub(super) enum Code {
    Portable(Arc<EntryPoint>),
    Native(Arc<NativeCode>),
}

/// What is compiled of a native source.
#[derive(Hash)]
pub(super) struct NativeCode {
    source: Arc<NativeSource>,
    interface: NativeInterface,
    /// Told apart from all others where the compiler may read what nobody here sees; else 0.
    alone: u64,
}

impl NativeCode {
    fn new(source: &Arc<NativeSource>, interface: NativeInterface) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let alone = if !source.is_closed() { NEXT.fetch_add(1, Ordering::Relaxed) } else { 0 };
        Self { source: Arc::clone(source), interface, alone }
    }
}

impl Code {
    pub(super) fn source(&self) -> CompileSource<'_> {
        match self {
            Self::Portable(entry) => CompileSource::Portable(entry),
            Self::Native(native) => CompileSource::Native { source: &native.source, interface: &native.interface },
        }
    }

    /// By what a compiled kernel is found: everything that determines it.
    pub(super) fn content(&self) -> [u8; 32] {
        match self {
            Self::Portable(entry) => entry.hash(),
            Self::Native(native) => {
                let mut digest = Digest(blake3::Hasher::new());
                "native".hash(&mut digest);
                native.hash(&mut digest);
                *digest.0.finalize().as_bytes()
            }
        }
    }
}

/// Feeds what is hashed to a hash that nobody can make collide. For keys within one process: how a type is hashed may change with its compiler.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Checks a declaration, compares the portable source with it, and decides which source the device takes.
pub(super) fn declare(
    device: &Device,
    options: &KernelOptions,
    native: &NativeOptions,
    portable: Option<&Arc<EntryPoint>>,
) -> Checked<(Arc<Declared>, Code)> {
    check(native)?;
    if portable.is_none() && !options.constants.is_empty() {
        return refusal(code::INVALID_ARGUMENT, || {
            "override constants are of the portable source, and there is none; what native text is told goes into its options"
                .into()
        });
    }
    let mut reflection = reflect(native);
    if let Some(entry) = portable {
        cover(native, &mut reflection, entry.reflection())?;
    }
    let taken = choose(device, options, native, portable.is_some())?;
    let code = match (taken.and_then(|index| native.sources.get(index)), portable) {
        (Some(source), _) => {
            reflection.entry.clone_from(&source.entry);
            Code::Native(Arc::new(NativeCode::new(source, interface(native))))
        }
        (None, Some(entry)) => {
            reflection.entry.clone_from(&entry.reflection().entry);
            reflection.workgroup_memory = entry.reflection().workgroup_memory;
            reflection.overrides.clone_from(&entry.reflection().overrides);
            Code::Portable(Arc::clone(entry))
        }
        (None, None) => return refusal(code::INTERNAL, || "a kernel without a source".into()),
    };
    let (mut whole, mut aliases) = (Vec::new(), Vec::new());
    for parameter in &native.parameters {
        let (all, class) = match parameter.kind {
            ParameterKind::Buffer { write_all, alias, .. } => (write_all, alias),
            ParameterKind::Value { .. } => (false, 0),
        };
        whole.push(all);
        aliases.push(class);
    }
    let taken = taken.zip(taken.and_then(|index| native.sources.get(index)).map(|source| source.language));
    Ok((Arc::new(Declared { reflection, whole, aliases, portable: portable.cloned(), taken }), code))
}

fn named(index: usize, parameter: &ParameterOptions) -> String {
    if parameter.name.is_empty() { format!("parameter {index}") } else { format!("parameter {index} `{}`", parameter.name) }
}

/// What is wrong with a declaration by itself.
fn check(native: &NativeOptions) -> Checked<()> {
    if native.sources.is_empty() {
        return refusal(code::INVALID_ARGUMENT, || "the native description has no source".into());
    }
    if native.parameters.len() > MOST_PARAMETERS {
        let count = native.parameters.len();
        return refusal(code::LIMIT, || format!("{count} parameters are declared; at most {MOST_PARAMETERS} are possible"));
    }
    if native.workgroup_size.contains(&0) {
        return refusal(code::INVALID_ARGUMENT, || "the declared workgroup size has a zero".into());
    }
    for (index, parameter) in native.parameters.iter().enumerate() {
        let (alignment, empty) = match parameter.kind {
            ParameterKind::Buffer { alignment, .. } => (alignment.max(1), false),
            ParameterKind::Value { size, alignment } => (alignment, size == 0),
        };
        if matches!(parameter.kind, ParameterKind::Buffer { tensor_map: true, access: Access::Unused, .. }) {
            return refusal(code::INVALID_ARGUMENT, || {
                format!("{}: a tensor map is read or written; declared is that it is unused", named(index, parameter))
            });
        }
        if empty || !alignment.is_power_of_two() {
            return refusal(code::INVALID_ARGUMENT, || {
                format!("{}: a size of 0, or an alignment that is no power of two", named(index, parameter))
            });
        }
    }
    Ok(())
}

fn reflect(native: &NativeOptions) -> Reflection {
    let binding = |(index, parameter): (usize, &ParameterOptions)| {
        // Bytes are all that is known of a buffer: it may end anywhere, but where a device binds only multiples of some.
        let (kind, access, min_size, alignment, tail_stride) = match parameter.kind {
            ParameterKind::Buffer { access, min_size, alignment, tensor_map, .. } => {
                let kind = if tensor_map { BindingKind::TensorMap } else { BindingKind::Storage };
                (kind, access, min_size.max(1), alignment.max(1), 1)
            }
            ParameterKind::Value { size, alignment } => (BindingKind::Value, Access::Read, size.into(), alignment, 0),
        };
        let slot = u32::try_from(index).unwrap_or(u32::MAX);
        BindingInfo {
            group: 0,
            slot,
            name: parameter.name.clone(),
            kind,
            access,
            min_size,
            alignment,
            tail_stride,
            tail_offset: 0,
        }
    };
    Reflection {
        entry: String::new(),
        workgroup_size: native.workgroup_size,
        bindings: native.parameters.iter().enumerate().map(binding).collect(),
        immediate_size: 0,
        workgroup_memory: native.workgroup_memory.into(),
        overrides: Vec::new(),
    }
}

fn interface(native: &NativeOptions) -> NativeInterface {
    let parameter = |parameter: &ParameterOptions| match parameter.kind {
        ParameterKind::Buffer { access: Access::Unused, .. } => NativeParameter::Null,
        ParameterKind::Buffer { tensor_map: true, .. } => NativeParameter::TensorMap,
        ParameterKind::Buffer { .. } => NativeParameter::Address,
        ParameterKind::Value { size, alignment } => NativeParameter::Value { size, alignment },
    };
    NativeInterface {
        parameters: native.parameters.iter().map(parameter).collect(),
        workgroup_size: native.workgroup_size,
        workgroup_memory: native.workgroup_memory,
    }
}

/// T6: one declared access covers all sources. The portable one tells what it does, so what is not covered is known here. What it asks of a view holds for all.
fn cover(native: &NativeOptions, declared: &mut Reflection, portable: &Reflection) -> Checked<()> {
    let differs = |what: String| refusal(code::BINDING, || format!("the portable source is not as declared: {what}"));
    if portable.workgroup_size != declared.workgroup_size {
        return differs(format!(
            "its workgroup size is {:?}, declared is {:?}",
            portable.workgroup_size, declared.workgroup_size
        ));
    }
    if portable.immediate_size != 0 {
        return differs(
            "it has an immediate block; small parameters of kernels with native sources are uniform variables".into(),
        );
    }
    if let Some(binding) = portable.bindings.iter().find(|binding| declared.find(binding.group, binding.slot).is_none()) {
        let (group, slot, count) = (binding.group, binding.slot, native.parameters.len());
        return differs(format!("it has @group({group}) @binding({slot}) `{}`; {count} parameters are declared", binding.name));
    }
    for (index, (info, parameter)) in declared.bindings.iter_mut().zip(&native.parameters).enumerate() {
        let Some(binding) = portable.find(info.group, info.slot).and_then(|found| portable.bindings.get(found)) else {
            return differs(format!("it has no @group(0) @binding({index}) for {}", named(index, parameter)));
        };
        if let Some(what) = difference(info, parameter, binding) {
            return differs(format!("{}: {what}", named(index, parameter)));
        }
        if info.kind != BindingKind::Value {
            info.min_size = info.min_size.max(binding.min_size);
            info.alignment = info.alignment.max(binding.alignment);
        }
        // Its tail stays exact to the byte: of what another source does with the bytes behind the last whole element nothing is known.
    }
    Ok(())
}

/// How a binding of the portable source differs from its declaration.
fn difference(info: &BindingInfo, parameter: &ParameterOptions, binding: &BindingInfo) -> Option<String> {
    match parameter.kind {
        ParameterKind::Value { size, .. } => {
            if binding.kind != BindingKind::Uniform {
                return Some("it is declared as a value, which is a uniform variable there, and not a storage buffer".into());
            }
            (binding.min_size != u64::from(size))
                .then(|| format!("it is declared with {size} bytes; the uniform variable has {}", binding.min_size))
        }
        ParameterKind::Buffer { alias, .. } => {
            if binding.kind != BindingKind::Storage {
                return Some("it is declared as a buffer, which is a storage buffer there, and not a uniform variable".into());
            }
            if alias != 0 {
                return Some("it may overlap another one, which bindings of portable kernels never do".into());
            }
            let uncovered =
                |does: bool, may: bool, what: &str| (does && !may).then(|| format!("it {what}, which is not declared"));
            uncovered(binding.access.reads(), info.access.reads(), "is read")
                .or_else(|| uncovered(binding.access.writes(), info.access.writes(), "is written"))
        }
    }
}

/// L11: the native source that suits the device best, else the portable one (`None`), else why there is none.
fn choose(device: &Device, options: &KernelOptions, native: &NativeOptions, portable: bool) -> Checked<Option<usize>> {
    let mut best: Option<(Fit, usize)> = None;
    let mut reasons = Vec::new();
    let interface = interface(native);
    for (index, source) in native.sources.iter().enumerate() {
        // None of these is possible in code that nobody can look into, so the portable source is what then runs.
        let found = if options.bounds == Bounds::Validate {
            Err(format!("{}: bounds of native code cannot be validated", source.language.name()))
        } else if options.time_limit != 0 {
            Err(format!("{}: native code cannot be stopped after a time limit", source.language.name()))
        } else if options.strict {
            Err(format!("{}: nothing can be promised of the bits of native code", source.language.name()))
        } else {
            device.native.fit(source, &interface)
        };
        match found {
            Ok(fit) if best.is_none_or(|(so_far, _)| fit > so_far) => best = Some((fit, index)),
            Ok(_) => {}
            Err(why) => reasons.push(format!("source {index}: {why}")),
        }
    }
    if let Some((_, index)) = best {
        return Ok(Some(index));
    }
    if portable && device.capabilities().portable {
        return Ok(None);
    }
    reasons.push(if portable { "the device takes no portable source" } else { "there is no portable source" }.into());
    let target = &device.properties().target;
    let log = format!("no source of the kernel suits the device `{target}`: {}", reasons.join("; "));
    Err(Box::new(from_device(DeviceError::Compile { log, location: None, refusal: true })))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use super::*;

    fn buffer(access: Access) -> ParameterOptions {
        let kind = ParameterKind::Buffer { access, write_all: false, min_size: 4, alignment: 0, alias: 0, tensor_map: false };
        ParameterOptions { name: String::new(), kind }
    }

    fn source() -> NativeSource {
        NativeSource {
            language: NativeLanguage::CudaCpp,
            code: b"text".to_vec(),
            entry: "k".into(),
            options: Vec::new(),
            headers: Vec::new(),
            target: String::new(),
        }
    }

    fn native(parameters: Vec<ParameterOptions>) -> NativeOptions {
        NativeOptions { sources: vec![Arc::new(source())], parameters, workgroup_size: [64, 1, 1], workgroup_memory: 0 }
    }

    fn covered(native: &NativeOptions, text: &str) -> std::result::Result<Reflection, String> {
        let module = compute_kernel::Module::parse(&compute_kernel::Source::wgsl(text)).unwrap();
        let entry = module.entry_point(None, &[]).unwrap();
        let mut declared = reflect(native);
        cover(native, &mut declared, entry.reflection()).map(|()| declared).map_err(|error| error.message.to_string())
    }

    const TEXT: &str = "@group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;
        @group(0) @binding(1) var<storage, read_write> b: array<vec4<u32>>;
        @group(0) @binding(2) var<uniform> n: u32;
        @compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>) { b[id.x] = a[id.x] * n; }";

    fn value(size: u32) -> ParameterOptions {
        ParameterOptions { name: "n".into(), kind: ParameterKind::Value { size, alignment: size } }
    }

    #[test]
    fn t6_a_declaration_has_to_cover_the_portable_source() {
        let (read, write) = (buffer(Access::Read), buffer(Access::Write));
        let made = covered(&native(vec![read.clone(), write.clone(), value(4)]), TEXT).unwrap();
        assert_eq!(
            (made.bindings[0].min_size, made.bindings[0].alignment),
            (16, 16),
            "what the portable source needs holds for all"
        );
        let wrong = [
            (vec![write.clone(), write.clone(), value(4)], "parameter 0: it is read"),
            (vec![read.clone(), read.clone(), value(4)], "parameter 1: it is written"),
            (vec![read.clone(), buffer(Access::Unused), value(4)], "parameter 1: it is written"),
            (
                vec![read.clone(), write.clone(), value(8)],
                "parameter 2 `n`: it is declared with 8 bytes; the uniform variable has 4",
            ),
            (vec![read.clone(), write.clone(), read.clone()], "parameter 2: it is declared as a buffer"),
            (vec![value(4), write.clone(), value(4)], "parameter 0 `n`: it is declared as a value"),
            (vec![read.clone(), write.clone()], "it has @group(0) @binding(2) `n`; 2 parameters are declared"),
            (vec![read, write.clone(), value(4), write], "it has no @group(0) @binding(3)"),
        ];
        for (parameters, words) in wrong {
            let why = covered(&native(parameters), TEXT).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let other = NativeOptions { workgroup_size: [32, 2, 1], ..native(Vec::new()) };
        assert!(covered(&other, TEXT).unwrap_err().contains("[64, 1, 1], declared is [32, 2, 1]"));
    }

    #[test]
    fn l7_everything_of_a_native_source_is_in_its_key() {
        let code = |source: NativeSource, parameters: Vec<ParameterOptions>, size, memory| {
            let native = NativeOptions { workgroup_size: size, workgroup_memory: memory, ..native(parameters) };
            Code::Native(Arc::new(NativeCode::new(&Arc::new(source), interface(&native)))).content()
        };
        let plain = |source| code(source, vec![buffer(Access::Read)], [1; 3], 0);
        let header = compute_hal::NativeHeader { name: "h".into(), text: "t".into() };
        let all = [
            plain(source()),
            plain(NativeSource { language: NativeLanguage::HipCpp, ..source() }),
            plain(NativeSource { code: b"texts".to_vec(), ..source() }),
            plain(NativeSource { entry: "l".into(), ..source() }),
            plain(NativeSource { options: vec!["-DA".into(), "-DB".into()], ..source() }),
            plain(NativeSource { options: vec!["-DA-DB".into()], ..source() }),
            plain(NativeSource { headers: vec![header], ..source() }),
            plain(NativeSource { target: "sm_90".into(), ..source() }),
            code(source(), vec![value(8)], [1; 3], 0),
            code(source(), vec![buffer(Access::Read)], [2, 1, 1], 0),
            code(source(), vec![buffer(Access::Read)], [1; 3], 1),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other != one), "{index}");
        }
        assert_eq!(all[0], plain(source()));
    }

    #[test]
    fn l7_what_a_compiler_may_find_in_folders_is_never_taken_for_known() {
        let content = |option: &str| {
            let source = NativeSource { options: vec![option.into()], ..source() };
            Code::Native(Arc::new(NativeCode::new(&Arc::new(source), interface(&native(Vec::new()))))).content()
        };
        for option in ["-I/folder", "--include-path=/folder", "--pre-include=a.h", "-include", "a.h"] {
            assert_ne!(content(option), content(option), "{option}");
        }
        for option in ["-DA=1", "--use_fast_math", "-O1"] {
            assert_eq!(content(option), content(option), "{option}");
        }
        let beside = || {
            let source = NativeSource { code: b"#include \"beside.h\"".to_vec(), ..source() };
            Code::Native(Arc::new(NativeCode::new(&Arc::new(source), interface(&native(Vec::new()))))).content()
        };
        assert_ne!(beside(), beside());
    }
}
