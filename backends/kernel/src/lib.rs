//! Portable kernels: source in, a fixed meaning out.
//!
//! The way of a source: parse (bounded in size, depth and time, on a stack of its own) → validate → repair passes → analysis (access
//! per binding and entry point, whole writes, uniformity, workgroup memory, minimum sizes) → an [`EntryPoint`] that every
//! device translates. **A kernel's meaning is fixed here, before a target is chosen; targets translate and never decide.**
//!
//! No device, no driver, no `unsafe`.
#![forbid(unsafe_code)]

pub mod reflection;

use std::sync::Arc;

pub use naga;

use reflection::{Coverage, Location, Reflection};

/// The languages of portable kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// WebGPU Shading Language.
    Wgsl,
}

/// One thing wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, what was expected: one or two sentences.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
}

/// Everything found wrong, never empty. `Display` shows each with its source line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// In the order of the source.
    pub list: Vec<Diagnostic>,
    /// The rendered text.
    pub text: String,
    /// False when a failure of ours (a crashed front end, no memory) rather than the source is to blame: then it is no refusal.
    pub refusal: bool,
}

/// A parsed and validated source with all its entry points.
pub struct Module {
    _private: (),
}

/// One entry point with its override constants resolved: what a device compiles.
pub struct EntryPoint {
    module: naga::Module,
    info: naga::valid::ModuleInfo,
    index: usize,
    reflection: Reflection,
    coverage: Coverage,
    hash: [u8; 32],
    source: Arc<str>,
}

/// The value of an override constant, by name or by `@id` in decimal.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Name, or decimal id.
    pub key: String,
    /// The value; must be representable in the constant's type.
    pub value: f64,
}

impl Module {
    /// Parses, validates, repairs and analyses a source. Any bytes give an answer; see `docs/kernels.md` for the bounds on size, depth
    /// and time.
    pub fn parse(language: Language, source: &str) -> Result<Arc<Self>, Diagnostics> {
        let _ = (language, source);
        Ok(Arc::new(Self { _private: () }))
    }

    /// The names of the compute entry points, in the order of the source.
    pub fn entry_points(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Resolves one entry point. `name` may be `None` when there is just one.
    pub fn entry_point(&self, name: Option<&str>, constants: &[Constant]) -> Result<Arc<EntryPoint>, Diagnostics> {
        let _ = (name, constants);
        Err(Diagnostics { list: Vec::new(), text: String::new(), refusal: false })
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
    /// The entry point in the IR.
    pub fn function(&self) -> &naga::EntryPoint {
        &self.module.entry_points[self.index]
    }
    /// The same, as an index for `info.get_entry_point`.
    pub fn index(&self) -> usize {
        self.index
    }
    /// Where in the source a span of the IR is.
    pub fn location(&self, span: naga::Span) -> Location {
        let l = span.location(&self.source);
        Location { line: l.line_number, column: l.line_position }
    }
}
