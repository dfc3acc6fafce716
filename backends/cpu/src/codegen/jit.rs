//! From an entry point to executable memory, and back to the system.

use compute_kernel::lower::Lowered;
use compute_kernel::reflection::Reflection;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, AbiParam, ExternalName, Signature, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{FinalizedMachReloc, FinalizedRelocTarget};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc};
use naga::{Function, GlobalVariable, Handle};

use super::artifact::{Artifact, Relocation};
use super::data::Table;
use super::emitter::{Emitter, Options};
use super::layout::Layout;
use super::plan::Plan;
use super::program::Program;
use super::stop::{Result, Stop};
use super::symbols::Symbol;
use super::{Context, MOST_FRAME};

/// The generated function: runs the workgroup with these ids.
pub(super) type Entry = unsafe extern "C" fn(*const Context, u32, u32, u32);

/// A module whose memory is freed when it is dropped, which Cranelift leaves to its user: also when what was to be made of it fails.
struct Owned(Option<Box<JITModule>>);

// SAFETY: the module is only kept to free its memory; nothing of it is used through a shared reference.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: whoever drops it vouches that nothing runs its code.
            unsafe { module.free_memory() }
        }
    }
}

/// Machine code, freed when dropped. Whoever drops it vouches that nothing runs it; `entry` goes with it.
pub(super) struct Code {
    pub(super) entry: Entry,
    pub(super) size: usize,
    /// Where it lies.
    _module: Owned,
    /// Read by the code.
    _tables: Vec<Table>,
}

/// What is translated.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) module: &'a naga::Module,
    pub(super) info: &'a naga::valid::ModuleInfo,
    /// Of the entry point.
    pub(super) index: usize,
    pub(super) reflection: &'a Reflection,
    /// The hidden buffer that it reports into.
    pub(super) record: Option<Handle<GlobalVariable>>,
    /// The function that it calls when an index is out of range.
    pub(super) reporter: Option<Handle<Function>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(lowered: &'a Lowered) -> Self {
        Self {
            module: lowered.module(),
            info: lowered.info(),
            index: lowered.index(),
            reflection: lowered.reflection(),
            record: lowered.record_variable(),
            reporter: lowered.reporter(),
        }
    }
}

/// Makes the code, for no place in particular yet.
pub(super) fn translate(source: Source<'_>, options: Options) -> Result<Artifact> {
    let layout = Layout::new(source.module)?;
    let mut program = Program::build(source, &layout)?;
    let plan = Plan::build(&mut program, &layout, source.index)?;
    let isa = isa()?;
    let mut context = cranelift_codegen::Context::new();
    context.func.signature = signature(isa.default_call_conv());
    let mut builder_context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let call_conv = isa.default_call_conv();
    let mut emitter = Emitter::new(builder, &program, &plan, &layout, source.reflection, options, call_conv)?;
    emitter.body()?;
    let (scratch_size, cost) = (emitter.scratch_size(), emitter.cost);
    let Emitter { b, tables, symbols, .. } = emitter;
    b.finalize(isa.frontend_config());
    let compiled = context.compile(&*isa, &mut ControlPlane::default());
    let compiled = compiled.map_err(|e| Stop::bug(format!("machine code: {:?}", e.inner)))?;
    let layout = compiled.buffer.frame_layout().ok_or_else(|| Stop::bug("machine code without a frame"))?;
    let frame = fitting(layout.frame_to_fp_offset)?;
    let mut artifact = Artifact {
        code: compiled.code_buffer().to_vec(),
        alignment: compiled.buffer.alignment,
        relocations: Vec::new(),
        tables: tables.list,
        scratch_size,
        cost,
        frame,
        others: Vec::new(),
        unnamed: symbols.unnamed,
    };
    let compiled = context.take_compiled_code().ok_or_else(|| Stop::bug("no machine code"))?;
    for relocation in compiled.buffer.relocs() {
        match ours(relocation, &context.func) {
            Some(relocation) => artifact.relocations.push(relocation),
            None => artifact.others.push(ModuleReloc::from_mach_reloc(relocation, &context.func, FuncId::from_u32(0))),
        }
    }
    Ok(artifact)
}

/// A frame that a worker's stack has room for.
pub(super) fn fitting(frame: u32) -> Result<u32> {
    if frame <= MOST_FRAME {
        return Ok(frame);
    }
    Err(Stop::refuse(format!(
        "the kernel is too large: an invocation keeps {frame} bytes of values at once that no register holds; at most {MOST_FRAME} are allowed on the cpu device"
    )))
}

/// An address of one of our symbols.
fn ours(relocation: &FinalizedMachReloc, function: &ir::Function) -> Option<Relocation> {
    let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = relocation.target else { return None };
    let name = function.params.user_named_funcs().get(name)?;
    let symbol = Symbol::of_name((name.namespace, name.index))?;
    let whole = matches!(relocation.kind, Reloc::Abs8);
    whole.then_some(Relocation { offset: relocation.offset, symbol, addend: relocation.addend })
}

/// Makes code executable.
pub(super) fn load(artifact: Artifact, name: &str) -> Result<Code> {
    let module = JITModule::new(JITBuilder::with_isa(isa()?, cranelift_module::default_libcall_names()));
    let mut module = Owned(Some(Box::new(module)));
    let Some(jit) = &mut module.0 else { return Err(Stop::bug("a module that is gone")) };
    let signature = signature(jit.isa().default_call_conv());
    let declared = jit.declare_function(name, Linkage::Export, &signature);
    let id = declared.map_err(|e| Stop::bug(format!("declaration: {e}")))?;
    let code = artifact.linked().ok_or_else(|| Stop::bug("code that refers to what is not there"))?;
    let defined = jit.define_function_bytes(id, artifact.alignment.into(), &code, &artifact.others);
    defined.map_err(|e| Stop::bug(format!("memory for code: {e:?}")))?;
    jit.finalize_definitions().map_err(|e| Stop::bug(format!("executable memory: {e}")))?;
    let pointer = jit.get_finalized_function(id);
    // SAFETY: the code was made as a function of this very signature, with the calling convention of C.
    let entry = unsafe { std::mem::transmute::<*const u8, Entry>(pointer) };
    Ok(Code { entry, size: code.len(), _module: module, _tables: artifact.tables })
}

/// The one of [`Entry`].
fn signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature.params.extend([AbiParam::new(types::I32); 3]);
    signature
}

fn isa() -> Result<OwnedTargetIsa> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        // Code that keeps many values has a frame of several pages. It touches them in order: a stack grows by the page on Windows, and ends in one that must not be jumped over.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ] {
        flags.set(name, value).map_err(|e| Stop::bug(format!("the setting {name}: {e}")))?;
    }
    let isa = cranelift_native::builder().map_err(|e| Stop::bug(format!("this processor: {e}")))?;
    isa.finish(settings::Flags::new(flags)).map_err(|e| Stop::bug(format!("this processor: {e}")))
}

/// What the code depends on besides the kernel and the version of this library: Cranelift, its settings, the processor. `None` where there is no code.
pub(crate) fn identity() -> Option<String> {
    let isa = isa().ok()?;
    let settings: Vec<String> = isa.flags().iter().chain(isa.isa_flags()).map(|flag| flag.to_string()).collect();
    Some(format!("cranelift {} {} {}", cranelift_codegen::VERSION, isa.triple(), settings.join(" ")))
}
