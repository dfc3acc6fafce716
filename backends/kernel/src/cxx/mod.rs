//! Portable kernels as text: CUDA C++ and HIP C++, for the runtime compilers of the vendors.
//!
//! A text is made of three parts: the words of a [`Dialect`], a library of functions on the language's types that is the same for all of them
//! (`library/`), and what the kernel itself consists of. The first two are data. What a kernel means is fixed before it comes here; what cannot be
//! said in a text yet is refused with its place. No device is known here, and no compiler is called.
//!
//! | file | |
//! |---|---|
//! | `types` | names, layouts and definitions of types, with their sizes asserted in the text |
//! | `constants` | literals and constant expressions |
//! | `globals` | parameters, workgroup and private memory; what a launch has to know of them |
//! | `functions`, `statements` | functions and control flow |
//! | `expressions`, `operations` | values |
//! | `places` | pointers, bounds, loads and stores |

mod constants;
mod dialect;
mod expressions;
mod functions;
mod globals;
mod operations;
mod places;
mod statements;
mod types;
pub(crate) mod uses;

use naga::Span;

pub use dialect::{CUDA, Dialect, HIP};
pub use globals::{Field, INDIRECT_SIZE, Parameter, Parameters, TIME_LIMIT_SIZE};

use crate::diagnostics::{Diagnostics, Finding};
use crate::lower::Lowered;
use crate::parse;
use crate::range::ModuleRanges;

/// What to make a text for.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The language of the text.
    pub dialect: &'a Dialect,
    /// Whether indices that may be out of range are checked: reads then give zero, writes are skipped (L5).
    pub checked: bool,
    /// Whether the kernel gives the same bits on every device: nothing is contracted, and functions are those of [`crate::math`]. Without it,
    /// products and sums may be fused unless the source is [precise](crate::EntryPoint::is_precise), and transcendental functions and `inverseSqrt` are the device's own, as the language allows.
    pub strict: bool,
    /// Whether a launch may be stopped after a time: loops then look at the device's clock ([`Parameter::TimeLimit`]).
    pub cancellable: bool,
    /// Whether the number of workgroups is read from memory when the kernel begins ([`Parameter::Indirect`]). Then it may be launched with any number of them on
    /// the first axis.
    pub indirect: bool,
    /// Invocations of a subgroup, where the device is known to have one size; otherwise the compiler's target says it. 32 or 64.
    pub subgroup_size: Option<u32>,
}

/// A kernel as text.
#[derive(Clone, Debug)]
pub struct Text {
    /// One translation unit that includes nothing.
    pub source: String,
    /// The name of the kernel's function, which is not mangled.
    pub entry: String,
    /// What the compiler has to be told besides the architecture. The meaning depends on it.
    pub options: Vec<&'static str>,
    /// The one parameter of the function, a structure that is passed by value.
    pub parameters: Parameters,
    /// Invocations of a workgroup on each axis; launched with any other size the kernel is wrong.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory that a launch has to ask for, because there is more of it than a kernel may declare.
    pub dynamic_workgroup_memory: u32,
}

/// Why a kernel has no text.
struct Refusal {
    message: String,
    at: Span,
    /// Whether it is a bug of ours.
    bug: bool,
}

type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    fn unsupported(what: impl std::fmt::Display) -> Self {
        Self { message: format!("{what} cannot be translated to this device's language yet"), at: Span::UNDEFINED, bug: false }
    }

    fn limit(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: Span::UNDEFINED, bug: false }
    }

    fn bug(what: impl std::fmt::Display) -> Self {
        Self { message: format!("a kernel could not be translated: {what}"), at: Span::UNDEFINED, bug: true }
    }

    /// Gives it a place, unless it has one.
    fn at(mut self, span: Span) -> Self {
        if self.at == Span::UNDEFINED {
            self.at = span;
        }
        self
    }
}

/// Makes the text of a kernel.
///
/// # Errors
/// What the dialect cannot say, with the construct and its place: see `docs/kernels.md`.
pub fn translate(lowered: &Lowered, options: &Options<'_>) -> std::result::Result<Text, Diagnostics> {
    parse::on_large_stack(|| {
        make(lowered, options).map_err(|refusal| {
            if refusal.bug {
                return crate::diagnostics::internal(refusal.message);
            }
            let text = &lowered.entry().text;
            parse::refuse(text, vec![Finding::span(refusal.message, refusal.at)])
        })
    })
}

fn make(lowered: &Lowered, options: &Options<'_>) -> Result<Text> {
    let module = lowered.module();
    let entry = module.entry_points.get(lowered.index()).ok_or_else(|| Refusal::bug("the entry point is not there"))?;
    let types = types::Types::new(module)?;
    let globals = globals::Globals::new(lowered, &types, options)?;
    let ranges = ModuleRanges::find(module, lowered.info(), lowered.index());
    let context = functions::Context { module, info: lowered.info(), options, types: &types, globals: &globals, ranges: &ranges };
    let body = functions::write_all(&context, entry, lowered)?;
    let name = format!("kernel_{}", types::word(&lowered.reflection().entry));
    let source = dialect::assemble(options, entry.workgroup_size, &types, &globals, &body, &name)?;
    let mut flags = options.dialect.flags.to_vec();
    let contracts = !options.strict && !lowered.entry().is_precise();
    flags.extend(if contracts { options.dialect.relaxed_flags } else { options.dialect.strict_flags });
    Ok(Text {
        source,
        entry: name,
        options: flags,
        parameters: globals.parameters.clone(),
        workgroup_size: entry.workgroup_size,
        dynamic_workgroup_memory: globals.dynamic_memory(),
    })
}
