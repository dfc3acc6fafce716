//! Portable kernels: source in, a fixed meaning out.
//!
//! The way of a source: parse (bounded in size, depth and time, on a stack of its own) → validate → repair passes → analysis (access
//! per binding and entry point, whole writes, uniformity, workgroup memory, minimum sizes) → an [`EntryPoint`] that every
//! device translates. **A kernel's meaning is fixed here, before a target is chosen; targets translate and never decide.**
//!
//! No device, no driver, no `unsafe`.
#![forbid(unsafe_code)]

mod access;
mod bitcast;
mod coverage;
pub mod cxx;
mod diagnostics;
mod edits;
mod entry;
mod front;
mod limits;
pub mod lower;
pub mod math;
mod parse;
mod pointers;
mod print;
pub mod range;
mod reflect;
pub mod reflection;
mod remap;
mod scan;
mod skipped;
mod spelling;
mod subgroups;
mod support;
mod text;
mod uniformity;
mod walk;
mod wgsl;

use std::sync::Arc;

pub use diagnostics::{Diagnostic, Diagnostics};
pub use front::{Include, IncludeRequest, Included, Language, Source};
pub use naga;

use edits::Edited;
use parse::Parsed;
pub use reflection::Number;
use reflection::{Coverage, Location, Reflection};

/// A parsed and validated source with all its entry points.
pub struct Module {
    parsed: Parsed,
}

/// One entry point with its override constants resolved: what a device compiles.
pub struct EntryPoint {
    module: naga::Module,
    info: naga::valid::ModuleInfo,
    index: usize,
    reflection: Reflection,
    coverage: Coverage,
    hash: [u8; 32],
    text: Arc<Edited>,
    /// See [`EntryPoint::is_precise`].
    precise: bool,
    /// What the source prints, and the names of the functions that stand for it: this and a number.
    prints: Arc<[lower::Print]>,
    print_prefix: Option<Arc<str>>,
}

/// The value of an override constant, by name or by `@id` in decimal.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Name, or decimal id.
    pub key: String,
    /// The value; must be representable in the constant's type.
    pub value: Number,
}

impl Module {
    /// Parses, validates, repairs and analyses a source. Any bytes give an answer; see `docs/kernels.md` for the bounds on size, depth
    /// and time. Included files are asked for on the caller's thread; everything else works on a thread of its own, so the caller's stack may be small.
    pub fn parse(source: &Source<'_>) -> Result<Arc<Self>, Diagnostics> {
        let parsed = match source.language() {
            Language::Wgsl => {
                let text = front::wgsl(source)?;
                parse::on_large_stack(|| wgsl::parse(text))?
            }
            Language::Glsl => {
                let read = front::glsl::preprocess(source)?;
                parse::on_large_stack(|| parse::glsl(read))?
            }
            Language::Spirv => parse::on_large_stack(|| parse::spirv(source.bytes))?,
        };
        Ok(Arc::new(Self { parsed }))
    }

    /// The names of the compute entry points, in the order of the source.
    pub fn entry_points(&self) -> Vec<&str> {
        self.parsed.module.entry_points.iter().map(|e| e.name.as_str()).collect()
    }

    /// Resolves one entry point. `name` may be `None` when there is just one. Refused: an unknown or ambiguous name; constants that are unknown,
    /// given twice, missing or not values of their type; sizes that they make wrong.
    pub fn entry_point(&self, name: Option<&str>, constants: &[Constant]) -> Result<Arc<EntryPoint>, Diagnostics> {
        parse::on_large_stack(|| entry::resolve(&self.parsed, name, constants)).map(Arc::new)
    }
}

impl EntryPoint {
    /// What it is (L10).
    pub fn reflection(&self) -> &Reflection {
        &self.reflection
    }
    /// Which grids write which binding wholly (T6a).
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }
    /// A digest of everything that determines its meaning: source, entry, constants, version of this crate.
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }
    /// The IR. Override constants are resolved, repairs done; validated with `info`.
    pub fn module(&self) -> &naga::Module {
        &self.module
    }
    /// Types and uniformity of the IR's expressions.
    pub fn info(&self) -> &naga::valid::ModuleInfo {
        &self.info
    }
    /// Whether its source prints anywhere.
    pub fn prints(&self) -> bool {
        !self.prints.is_empty()
    }
    /// Whether its source asks somewhere that products and sums are not fused: `precise` in GLSL, NoContraction in SPIR-V. The IR does not say of what, so then it holds for
    /// everything, wherever a device can be told.
    pub fn is_precise(&self) -> bool {
        self.precise
    }
    /// The entry point in the IR.
    pub fn function(&self) -> &naga::EntryPoint {
        &self.module.entry_points[self.index]
    }
    /// The same, as an index for `info.get_entry_point`.
    pub fn index(&self) -> usize {
        self.index
    }
    /// Where in the source a span of the IR is; zeros when it is nowhere.
    pub fn location(&self, span: naga::Span) -> Location {
        match span.to_range() {
            Some(range) => self.text.written().place(self.text.original(&range).start).location,
            None => Location::default(),
        }
    }
}
