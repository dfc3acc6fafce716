//! An entry point with all calls inlined, as a tree of nodes over the IR's expressions.
//!
//! Values and variables of every inlined copy of a function get numbers of their own, so that nothing behind this file knows about
//! calls. No decision about barriers is made here, and no code is emitted.

use std::collections::HashSet;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Block, Expression, Function, GlobalVariable, Handle, LocalVariable, Span, Statement, SwitchValue};

use super::jit::Source;
use super::layout::{Layout, Shape};
use super::stop::{Result, Stop};
use super::subgroups::Exchange;

/// Expressions of all inlined copies together; a kernel beyond is refused. Bounds compile time.
const MAX_EXPRESSIONS: usize = 1 << 17;
/// Nodes of the tree; see [`MAX_EXPRESSIONS`].
const MAX_NODES: usize = 1 << 17;
/// Instructions of what is made of them: a product of matrices of halves is an expression like others, and has more than a thousand. With as many, compiling takes about a
/// gigabyte.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Depth of inlined calls.
const MAX_CALL_DEPTH: usize = 128;

/// An inlined copy of a function; 0 is the entry point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameId(pub(super) u32);

/// A variable of one inlined copy, a private global, or the result of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LocalId(pub(super) u32);

/// What a jump can lead to: the end of a loop, switch or call, or the continuing block of a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TargetId(pub(super) u32);

/// An expression of one inlined copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ValueRef {
    pub(super) frame: FrameId,
    pub(super) expr: Handle<Expression>,
}

/// What an operand means once arguments of inlined calls have been followed to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolved {
    /// A value with a number: evaluated at an `Emit`, or set by a statement.
    Value(u32),
    /// Can be evaluated anywhere: constants, built-in inputs, addresses of variables.
    Anywhere(ValueRef),
}

pub(super) struct Frame<'a> {
    /// Of the module; nothing for the entry point.
    pub(super) handle: Option<Handle<Function>>,
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    /// The caller's expressions; empty for the entry point, whose arguments are built-in inputs.
    arguments: Vec<ValueRef>,
    first_value: u32,
    first_local: u32,
    pub(super) result: Option<LocalId>,
}

/// Where a variable's first value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Initial {
    Zero,
    /// A constant expression of the module.
    Global(Handle<Expression>),
    /// A constant expression of a function.
    Local(ValueRef),
}

pub(super) struct Local {
    pub(super) shape: Shape,
    pub(super) initial: Initial,
    /// Whether it is ever indexed with a number that is not constant: then it needs memory.
    pub(super) indexed: bool,
}

pub(super) struct Case<'a> {
    /// `None` is the default.
    pub(super) value: Option<u32>,
    pub(super) body: Vec<Node<'a>>,
    pub(super) fall_through: bool,
}

pub(super) enum Kind<'a> {
    Emit(FrameId, &'a naga::Range<Expression>),
    /// A statement without control flow: store or atomic.
    Plain(FrameId, &'a Statement),
    /// Gives a variable its first value.
    Init(LocalId),
    /// Stores the result of an inlined call.
    SetResult(LocalId, ValueRef),
    /// Makes the result of an inlined call a value of the caller.
    TakeResult(LocalId, ValueRef),
    Barrier,
    UniformLoad {
        pointer: ValueRef,
        result: ValueRef,
    },
    /// A subgroup operation.
    Exchange(Exchange),
    If {
        condition: ValueRef,
        accept: Vec<Node<'a>>,
        reject: Vec<Node<'a>>,
    },
    Switch {
        exit: TargetId,
        selector: ValueRef,
        cases: Vec<Case<'a>>,
    },
    Loop {
        exit: TargetId,
        next: TargetId,
        body: Vec<Node<'a>>,
        continuing: Vec<Node<'a>>,
        break_if: Option<ValueRef>,
    },
    Call {
        exit: TargetId,
        body: Vec<Node<'a>>,
    },
    Jump(TargetId),
}

pub(super) struct Node<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) span: Span,
    /// Whether it contains a barrier or a subgroup operation.
    pub(super) barrier: bool,
    /// Whether it is executed once for the whole workgroup. Set by the plan.
    pub(super) outer: bool,
}

pub(super) struct Program<'a> {
    pub(super) module: &'a naga::Module,
    pub(super) module_info: &'a ModuleInfo,
    pub(super) entry: &'a naga::EntryPoint,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) locals: Vec<Local>,
    /// By value number: the variable that a pointer leads to, and whether it is all of it.
    pub(super) roots: Vec<Option<(LocalId, bool)>>,
    /// By value number: whether it is evaluated at one point of the program.
    emitted: Vec<bool>,
    /// By global variable: its number, when private.
    private: Vec<Option<LocalId>>,
    pub(super) targets: u32,
    /// The hidden buffer that lowered code reports into.
    pub(super) record: Option<Handle<GlobalVariable>>,
    reporter: Option<Handle<Function>>,
    /// The ends of calls that are made only when something is to be reported.
    pub(super) cold: HashSet<TargetId>,
    /// The end of the entry point.
    pub(super) exit: TargetId,
    pub(super) body: Vec<Node<'a>>,
}

impl<'a> Program<'a> {
    /// Inlines everything reachable from the entry point.
    pub(super) fn build(source: Source<'a>, layout: &Layout<'a>) -> Result<Program<'a>> {
        let Source { module, info: module_info, index, record, reporter, .. } = source;
        let entry = module.entry_points.get(index).ok_or_else(|| Stop::bug("no such entry point"))?;
        let info = module_info.get_entry_point(index);
        let program = Program {
            module,
            module_info,
            entry,
            record,
            reporter,
            cold: HashSet::new(),
            frames: Vec::new(),
            locals: Vec::new(),
            roots: Vec::new(),
            emitted: Vec::new(),
            private: vec![None; module.global_variables.len()],
            targets: 0,
            exit: TargetId(0),
            body: Vec::new(),
        };
        let mut inliner = Inliner { program, layout, nodes: 0, depth: 0 };
        inliner.entry(info)?;
        Ok(inliner.program)
    }

    pub(super) fn frame(&self, id: FrameId) -> &Frame<'a> {
        &self.frames[id.0 as usize]
    }

    pub(super) fn expression(&self, value: ValueRef) -> &'a Expression {
        &self.frame(value.frame).function.expressions[value.expr]
    }

    pub(super) fn span(&self, value: ValueRef) -> Span {
        self.frame(value.frame).function.expressions.get_span(value.expr)
    }

    /// The number of a value.
    pub(super) fn number(&self, value: ValueRef) -> u32 {
        self.frame(value.frame).first_value + value.expr.index() as u32
    }

    /// Follows arguments to the caller.
    pub(super) fn resolve(&self, mut value: ValueRef) -> Resolved {
        loop {
            if self.emitted[self.number(value) as usize] {
                return Resolved::Value(self.number(value));
            }
            match *self.expression(value) {
                Expression::FunctionArgument(i) if value.frame.0 != 0 => value = self.frame(value.frame).arguments[i as usize],
                _ => return Resolved::Anywhere(value),
            }
        }
    }

    /// The expression behind an operand, wherever it is.
    pub(super) fn origin(&self, mut value: ValueRef) -> ValueRef {
        while let Expression::FunctionArgument(i) = *self.expression(value) {
            match self.frame(value.frame).arguments.get(i as usize) {
                Some(&argument) => value = argument,
                None => break,
            }
        }
        value
    }

    pub(super) fn local(&self, frame: FrameId, handle: Handle<LocalVariable>) -> LocalId {
        LocalId(self.frame(frame).first_local + handle.index() as u32)
    }

    pub(super) fn private(&self, handle: Handle<GlobalVariable>) -> Option<LocalId> {
        self.private[handle.index()]
    }

    /// The variable that a pointer leads to, and whether it is all of it; `None` for buffers and workgroup memory.
    pub(super) fn root(&self, pointer: ValueRef) -> Option<(LocalId, bool)> {
        let origin = self.origin(pointer);
        self.roots[self.number(origin) as usize]
    }

    pub(super) fn values(&self) -> usize {
        self.emitted.len()
    }
}

struct Inliner<'a, 'l> {
    program: Program<'a>,
    layout: &'l Layout<'a>,
    nodes: usize,
    depth: usize,
}

/// Where `break`, `continue` and `return` lead.
#[derive(Clone, Copy)]
struct Scope {
    frame: FrameId,
    break_to: Option<TargetId>,
    continue_to: Option<TargetId>,
    return_to: TargetId,
}

impl<'a> Inliner<'a, '_> {
    fn entry(&mut self, info: &'a FunctionInfo) -> Result<()> {
        let mut body = self.privates()?;
        let function = &self.program.entry.function;
        let frame = self.frame((None, function), info, Vec::new())?;
        let exit = self.target();
        self.program.exit = exit;
        body.extend(self.function(frame, exit)?);
        self.program.body = body;
        Ok(())
    }

    fn target(&mut self) -> TargetId {
        self.program.targets += 1;
        TargetId(self.program.targets - 1)
    }

    fn node(&mut self, kind: Kind<'a>, span: Span) -> Result<Node<'a>> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_large());
        }
        let any = |nodes: &[Node<'_>]| nodes.iter().any(|n| n.barrier);
        let barrier = match kind {
            Kind::Barrier | Kind::UniformLoad { .. } | Kind::Exchange(_) => true,
            Kind::If { ref accept, ref reject, .. } => any(accept) || any(reject),
            Kind::Switch { ref cases, .. } => cases.iter().any(|c| any(&c.body)),
            Kind::Loop { ref body, ref continuing, .. } => any(body) || any(continuing),
            Kind::Call { ref body, .. } => any(body),
            _ => false,
        };
        Ok(Node { kind, span, barrier, outer: false })
    }

    /// Private globals become variables of the invocation; those that are not used cost nothing later.
    fn privates(&mut self) -> Result<Vec<Node<'a>>> {
        let mut nodes = Vec::new();
        for (handle, global) in self.program.module.global_variables.iter() {
            if global.space != naga::AddressSpace::Private {
                continue;
            }
            let Ok(shape) = self.layout.shape(global.ty) else { continue };
            let id = LocalId(self.program.locals.len() as u32);
            let initial = global.init.map_or(Initial::Zero, Initial::Global);
            self.program.locals.push(Local { shape, initial, indexed: false });
            self.program.private[handle.index()] = Some(id);
            nodes.push(self.node(Kind::Init(id), Span::UNDEFINED)?);
        }
        Ok(nodes)
    }

    fn frame(
        &mut self,
        (handle, function): (Option<Handle<Function>>, &'a Function),
        info: &'a FunctionInfo,
        arguments: Vec<ValueRef>,
    ) -> Result<FrameId> {
        let program = &mut self.program;
        let id = FrameId(program.frames.len() as u32);
        let first_value = program.emitted.len() as u32;
        let first_local = program.locals.len() as u32;
        if program.emitted.len() + function.expressions.len() > MAX_EXPRESSIONS {
            return Err(too_large());
        }
        program.emitted.resize(program.emitted.len() + function.expressions.len(), false);
        for (_, variable) in function.local_variables.iter() {
            let initial = variable.init.map_or(Initial::Zero, |expr| Initial::Local(ValueRef { frame: id, expr }));
            program.locals.push(Local { shape: self.layout.shape(variable.ty)?, initial, indexed: false });
        }
        let mut result = None;
        if let (Some(r), true) = (&function.result, id.0 != 0) {
            result = Some(LocalId(program.locals.len() as u32));
            let shape = self.layout.shape(r.ty)?;
            program.locals.push(Local { shape, initial: Initial::Zero, indexed: false });
        }
        program.frames.push(Frame { handle, function, info, arguments, first_value, first_local, result });
        self.find_roots(id);
        Ok(id)
    }

    /// Operands come before their uses in the arena, so one pass finds what every pointer leads to.
    fn find_roots(&mut self, frame: FrameId) {
        let function = self.program.frame(frame).function;
        for (expr, expression) in function.expressions.iter() {
            let root = match *expression {
                Expression::LocalVariable(handle) => Some((self.program.local(frame, handle), true)),
                Expression::GlobalVariable(handle) => self.program.private(handle).map(|id| (id, true)),
                Expression::FunctionArgument(_) if frame.0 != 0 => {
                    let origin = self.program.origin(ValueRef { frame, expr });
                    self.program.roots[self.program.number(origin) as usize]
                }
                Expression::AccessIndex { base, .. } => self.part_of(frame, base),
                Expression::Access { base, .. } => {
                    let root = self.part_of(frame, base);
                    if let Some((id, _)) = root {
                        self.program.locals[id.0 as usize].indexed = true;
                    }
                    root
                }
                _ => None,
            };
            self.program.roots.push(root);
        }
    }

    fn part_of(&self, frame: FrameId, base: Handle<Expression>) -> Option<(LocalId, bool)> {
        self.program.roots[self.program.number(ValueRef { frame, expr: base }) as usize].map(|(id, _)| (id, false))
    }

    /// Variables and body of an inlined copy.
    fn function(&mut self, frame: FrameId, exit: TargetId) -> Result<Vec<Node<'a>>> {
        let function = self.program.frame(frame).function;
        let mut nodes = Vec::new();
        for (handle, _) in function.local_variables.iter() {
            let id = self.program.local(frame, handle);
            nodes.push(self.node(Kind::Init(id), function.local_variables.get_span(handle))?);
        }
        let scope = Scope { frame, break_to: None, continue_to: None, return_to: exit };
        self.block(&function.body, scope, &mut nodes)?;
        if matches!(nodes.last(), Some(Node { kind: Kind::Jump(to), .. }) if *to == exit) {
            nodes.pop();
        }
        Ok(nodes)
    }

    fn block(&mut self, block: &'a Block, scope: Scope, out: &mut Vec<Node<'a>>) -> Result<()> {
        for (statement, &span) in block.span_iter() {
            self.statement(statement, span, scope, out).map_err(|stop| stop.at(span))?;
        }
        Ok(())
    }

    fn nested(&mut self, block: &'a Block, scope: Scope) -> Result<Vec<Node<'a>>> {
        let mut nodes = Vec::new();
        self.block(block, scope, &mut nodes)?;
        Ok(nodes)
    }

    fn mark_emitted(&mut self, value: ValueRef) {
        let number = self.program.number(value) as usize;
        self.program.emitted[number] = true;
    }

    fn statement(&mut self, statement: &'a Statement, span: Span, scope: Scope, out: &mut Vec<Node<'a>>) -> Result<()> {
        let frame = scope.frame;
        let value = |expr: Handle<Expression>| ValueRef { frame, expr };
        let kind = match *statement {
            Statement::Emit(ref range) => {
                for expr in range.clone() {
                    self.mark_emitted(value(expr));
                }
                Kind::Emit(frame, range)
            }
            Statement::Block(ref block) => return self.block(block, scope, out),
            Statement::If { condition, ref accept, ref reject } => {
                Kind::If { condition: value(condition), accept: self.nested(accept, scope)?, reject: self.nested(reject, scope)? }
            }
            Statement::Switch { selector, ref cases } => self.switch(value(selector), cases, scope)?,
            Statement::Loop { ref body, ref continuing, break_if } => self.loop_(body, continuing, break_if.map(value), scope)?,
            Statement::Break => Kind::Jump(scope.break_to.ok_or_else(|| Stop::bug("break outside of a loop"))?),
            Statement::Continue => Kind::Jump(scope.continue_to.ok_or_else(|| Stop::bug("continue outside of a loop"))?),
            Statement::Return { value: returned } => {
                if let (Some(expr), Some(result)) = (returned, self.program.frame(frame).result) {
                    let set = self.node(Kind::SetResult(result, value(expr)), span)?;
                    out.push(set);
                }
                Kind::Jump(scope.return_to)
            }
            Statement::ControlBarrier(_) => Kind::Barrier,
            Statement::MemoryBarrier(_) => return Ok(()),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.mark_emitted(value(result));
                Kind::UniformLoad { pointer: value(pointer), result: value(result) }
            }
            Statement::Store { .. } => Kind::Plain(frame, statement),
            Statement::Atomic { result, .. } => {
                if let Some(result) = result {
                    self.mark_emitted(value(result));
                }
                Kind::Plain(frame, statement)
            }
            Statement::Call { function, ref arguments, result } => {
                return self.call(function, arguments, result, span, scope, out);
            }
            _ => match Exchange::of(statement, frame) {
                Some(exchange) => {
                    self.mark_emitted(exchange.result);
                    Kind::Exchange(exchange)
                }
                None => return Err(Stop::unsupported(unsupported_name(statement))),
            },
        };
        let node = self.node(kind, span)?;
        out.push(node);
        Ok(())
    }

    fn switch(&mut self, selector: ValueRef, cases: &'a [naga::SwitchCase], scope: Scope) -> Result<Kind<'a>> {
        let exit = self.target();
        let inside = Scope { break_to: Some(exit), ..scope };
        let mut out = Vec::with_capacity(cases.len());
        for case in cases {
            let value = match case.value {
                SwitchValue::I32(v) => Some(v as u32),
                SwitchValue::U32(v) => Some(v),
                SwitchValue::Default => None,
            };
            out.push(Case { value, body: self.nested(&case.body, inside)?, fall_through: case.fall_through });
        }
        Ok(Kind::Switch { exit, selector, cases: out })
    }

    fn loop_(&mut self, body: &'a Block, continuing: &'a Block, break_if: Option<ValueRef>, scope: Scope) -> Result<Kind<'a>> {
        let (exit, next) = (self.target(), self.target());
        let inside = Scope { break_to: Some(exit), continue_to: Some(next), ..scope };
        let body = self.nested(body, inside)?;
        let continuing = self.nested(continuing, inside)?;
        Ok(Kind::Loop { exit, next, body, continuing, break_if })
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
        scope: Scope,
        out: &mut Vec<Node<'a>>,
    ) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_CALL_DEPTH {
            return Err(Stop::refuse(format!(
                "calls are nested deeper than {MAX_CALL_DEPTH}; the cpu device inlines every call"
            )));
        }
        let arguments = arguments.iter().map(|&expr| ValueRef { frame: scope.frame, expr }).collect();
        let callee = &self.program.module.functions[function];
        let frame = self.frame((Some(function), callee), &self.program.module_info[function], arguments)?;
        let exit = self.target();
        if self.program.reporter == Some(function) {
            self.program.cold.insert(exit);
        }
        let body = self.function(frame, exit)?;
        let call = self.node(Kind::Call { exit, body }, span)?;
        out.push(call);
        if let (Some(expr), Some(local)) = (result, self.program.frame(frame).result) {
            let value = ValueRef { frame: scope.frame, expr };
            self.mark_emitted(value);
            let take = self.node(Kind::TakeResult(local, value), span)?;
            out.push(take);
        }
        self.depth -= 1;
        Ok(())
    }
}

fn too_large() -> Stop {
    Stop::refuse(format!(
        "the kernel is too large: with all calls inlined it has more than {MAX_EXPRESSIONS} expressions or {MAX_NODES} statements"
    ))
}

/// To be asked again and again while instructions are made.
pub(super) fn within_bounds(instructions: usize) -> Result<()> {
    if instructions <= MAX_INSTRUCTIONS {
        return Ok(());
    }
    Err(Stop::refuse(format!(
        "the kernel is too large: with all calls inlined it has more than {MAX_INSTRUCTIONS} instructions (products and inverses of matrices have hundreds each, of halves thousands)"
    )))
}

fn unsupported_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Kill => "discard",
        Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => "textures",
        Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => "ray queries",
        Statement::CooperativeStore { .. } => "cooperative matrices",
        _ => "this statement",
    }
}
