//! From an entry point to executable memory, and back to the system.

use compute_kernel::lower::Lowered;
use compute_kernel::reflection::Reflection;
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module};
use naga::{Function, GlobalVariable, Handle};

use super::Context;
use super::data::Table;
use super::emitter::{Emitter, Options};
use super::layout::Layout;
use super::plan::Plan;
use super::program::Program;
use super::stop::{Result, Stop};

/// The generated function: runs the workgroup with these ids.
pub(super) type Entry = unsafe extern "C" fn(*const Context, u32, u32, u32);

/// Machine code, freed when dropped.
pub(super) struct Code {
    module: Option<Box<JITModule>>,
    pub(super) entry: Entry,
    pub(super) size: usize,
    /// Read by the code.
    _tables: Vec<Table>,
}

// SAFETY: the module is only kept to free its memory; nothing of it is used through a shared reference.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: whoever drops the code vouches that nothing runs it, and `entry` goes with it.
            unsafe { module.free_memory() }
        }
    }
}

/// What a translation gives.
pub(super) struct Output {
    pub(super) code: Code,
    pub(super) scratch_size: u64,
    pub(super) cost: Option<u64>,
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

pub(super) fn translate(source: Source<'_>, options: Options) -> Result<Output> {
    let layout = Layout::new(source.module)?;
    let mut program = Program::build(source, &layout)?;
    let plan = Plan::build(&mut program, &layout, source.index)?;
    let mut jit = new_module()?;
    let mut context = jit.make_context();
    context.func.signature.params.push(AbiParam::new(types::I64));
    context.func.signature.params.extend([AbiParam::new(types::I32); 3]);
    let name = &source.reflection.entry;
    let declared = jit.declare_function(name, Linkage::Export, &context.func.signature);
    let id = declared.map_err(|e| Stop::bug(format!("declaration: {e}")))?;
    let mut builder_context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let call_conv = jit.target_config().default_call_conv;
    let mut emitter = Emitter::new(builder, &program, &plan, &layout, source.reflection, options, call_conv)?;
    emitter.body()?;
    let (scratch_size, cost) = (emitter.scratch_size(), emitter.cost);
    let Emitter { b, tables, .. } = emitter;
    b.finalize(jit.target_config());
    jit.define_function(id, &mut context).map_err(|e| Stop::bug(format!("machine code: {e:?}")))?;
    let size = context.compiled_code().map_or(0, |code| code.code_buffer().len());
    jit.finalize_definitions().map_err(|e| Stop::bug(format!("executable memory: {e}")))?;
    let pointer = jit.get_finalized_function(id);
    // SAFETY: the function was declared with this very signature and the calling convention of C.
    let entry = unsafe { std::mem::transmute::<*const u8, Entry>(pointer) };
    Ok(Output { code: Code { module: Some(Box::new(jit)), entry, size, _tables: tables.list }, scratch_size, cost })
}

fn new_module() -> Result<JITModule> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", verify),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("probestack_strategy", "inline"),
    ] {
        flags.set(name, value).map_err(|e| Stop::bug(format!("the setting {name}: {e}")))?;
    }
    let isa = cranelift_native::builder().map_err(|e| Stop::bug(format!("this processor: {e}")))?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|e| Stop::bug(format!("this processor: {e}")))?;
    Ok(JITModule::new(JITBuilder::with_isa(isa, cranelift_module::default_libcall_names())))
}
