//! From the tree to IR: names get meanings, everything gets a type, conversions become explicit. What is left to do afterwards is what every front end's IR
//! goes through.
//!
//! Order of evaluation is that of the source, operands are evaluated once, and the right sides of `&&`, `||` and `?:` only when they are needed.

mod atomics;
mod builder;
mod builtins;
mod calls;
mod constant;
mod convert;
mod declarations;
mod expression;
mod functions;
mod matrices;
mod operators;
pub(super) mod prints;
mod recover;
mod statement;
mod storage;
mod subgroups;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use naga::{Expression, Handle, Span};

use super::ast::{Expr, Function, Unit};
use super::lexer::{At, Name, Names};
use super::preprocess::Preprocessed;
use super::types::Ty;
use super::wrong::{Findings, Wrong};
use atomics::Marks;
use builder::Func;
use constant::Const;
use storage::{Layout, Place};

use crate::diagnostics::Finding;
use crate::lower::format::Format;
use crate::reflection::{Number, OverrideInfo};

type Lowered<T> = Result<T, Wrong>;

/// Values of specialization constants by their `constant_id`.
pub(crate) type Specialization = HashMap<u32, Number>;

/// What comes out.
pub(crate) struct Output {
    pub(crate) module: naga::Module,
    /// The specialization constants, in the order of the source.
    pub(crate) overrides: Vec<OverrideInfo>,
    /// What it prints, with the place of each format, in the order of their numbers.
    pub(crate) prints: Vec<(At, Format)>,
    /// Whether anything in it is `precise`.
    pub(crate) precise: bool,
}

/// A value that has been computed.
#[derive(Clone, Debug)]
struct Value {
    handle: Handle<Expression>,
    ty: Ty,
}

/// What a name means.
#[derive(Clone)]
enum Symbol {
    Constant(Const),
    /// Never changes.
    Value(Value),
    Variable(Place),
    /// A variable of the module; its place is made in each function that mentions it.
    Global(Global),
    Struct(usize),
    /// Its declaration was wrong, which has been told.
    Lost,
}

#[derive(Clone)]
struct Global {
    variable: Handle<naga::GlobalVariable>,
    /// A member of a block without an instance name.
    member: Option<u32>,
    ty: Ty,
    layout: Layout,
    rights: Rights,
}

/// What may be done with a variable, and the word for why not.
#[derive(Clone, Copy, Default)]
struct Rights {
    no_read: Option<&'static str>,
    no_write: Option<&'static str>,
}

impl Rights {
    fn and(self, other: Self) -> Self {
        Self { no_read: self.no_read.or(other.no_read), no_write: self.no_write.or(other.no_write) }
    }
}

/// A member of a structure or block; only members of blocks have more than a name and a type.
#[derive(Clone)]
struct MemberInfo {
    name: Name,
    ty: Ty,
    row_major: Option<bool>,
    offset: Option<u64>,
    align: u64,
    rights: Rights,
}

/// A declared structure, or a block.
struct StructInfo {
    name: String,
    members: Vec<MemberInfo>,
    value: Handle<naga::Type>,
    /// Kept, because a walk over the members of members of members would grow without bound.
    nesting: u32,
    has_matrix: bool,
    parts: Option<usize>,
}

enum State {
    Declared,
    Open,
    Done(Handle<naga::Function>),
}

/// One overload of a function.
struct FunctionInfo {
    tree: Arc<Function>,
    name: Name,
    result: Ty,
    parameters: Vec<(Ty, Passing)>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passing {
    In,
    Out,
    InOut,
}

struct Lower<'a> {
    names: &'a Names,
    module: naga::Module,
    structs: Vec<StructInfo>,
    scopes: Vec<HashMap<Name, Symbol>>,
    functions: Vec<FunctionInfo>,
    overloads: HashMap<Name, Vec<usize>>,
    marks: HashMap<Name, Arc<Marks>>,
    specialization: &'a Specialization,
    overrides: Vec<OverrideInfo>,
    prints: Vec<(At, Format)>,
    func: Func,
    constants: HashMap<Const, Handle<naga::Constant>>,
    stored: HashMap<(Ty, storage::Packing, bool), storage::Stored>,
    /// Builtin inputs as functions other than the entry point see them.
    inputs: Vec<(naga::BuiltIn, Handle<naga::GlobalVariable>)>,
    /// Variables of the module that must be computed before `main` begins.
    initializers: Vec<(Handle<naga::GlobalVariable>, Ty, Arc<Expr>)>,
    group: declarations::Group,
    defaults: declarations::Defaults,
    /// Functions being translated on account of calls, the innermost last.
    open: Vec<Name>,
    /// Components of all constants, so that constants made of constants stay bounded.
    constant_parts: usize,
    findings: Findings,
    /// Nothing was wrong before.
    clean: bool,
    /// Names that are not there because of what was told.
    lost: HashSet<Name>,
    /// Any name may be missing.
    missing: bool,
    /// Functions whose types were wrong.
    lost_functions: Vec<Arc<Function>>,
    /// Words that were compared for those that are unknown.
    compared: usize,
}

/// Translates a source, and says what is wrong with it: then what comes out means nothing. Call on a large stack.
pub(super) fn lower(unit: &Unit, source: &Preprocessed, specialization: &Specialization) -> (Output, Vec<Finding>) {
    let names = &source.names;
    let mut lower = Lower {
        names,
        module: naga::Module::default(),
        structs: Vec::new(),
        scopes: vec![HashMap::new()],
        functions: Vec::new(),
        overloads: HashMap::new(),
        marks: atomics::marks(unit, names),
        specialization,
        overrides: Vec::new(),
        prints: Vec::new(),
        func: Func::default(),
        constants: HashMap::new(),
        stored: HashMap::new(),
        inputs: Vec::new(),
        initializers: Vec::new(),
        group: declarations::Group::default(),
        defaults: declarations::Defaults::default(),
        open: Vec::new(),
        constant_parts: 0,
        findings: Findings::after(&[source.findings.as_slice(), unit.findings.as_slice()].concat()),
        clean: source.findings.is_empty() && unit.findings.is_empty(),
        lost: unit.lost.clone(),
        missing: source.missing,
        lost_functions: Vec::new(),
        compared: 0,
    };
    lower.group_size(unit);
    for item in &unit.items {
        lower.item(item);
    }
    lower.bodies();
    let made = Output { module: lower.module, overrides: lower.overrides, prints: lower.prints, precise: source.is_precise() };
    (made, lower.findings.into_list())
}

fn span(at: At) -> Span {
    Span::new(at.0, at.1)
}

impl Lower<'_> {
    fn name(&self, name: Name) -> String {
        self.names.get(name).to_owned()
    }

    fn spell(&self, ty: &Ty) -> String {
        ty.spell(&|index| self.structs.get(index).map_or_else(String::new, |s| s.name.clone()))
    }

    fn find(&self, name: Name) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&name))
    }

    fn declare(&mut self, name: Name, symbol: Symbol, at: At) -> Lowered<()> {
        let text = self.names.get(name);
        if text.starts_with("gl_") {
            return Err(Wrong::new(format!("`{text}` is a name that only the language declares"), at));
        }
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if scope.contains_key(&name) && text != "(" {
            return Err(Wrong::new(format!("`{text}` is declared twice in one scope"), at));
        }
        scope.insert(name, symbol);
        Ok(())
    }

    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.scopes.push(HashMap::new());
        let done = work(self);
        self.scopes.pop();
        done
    }
}
