//! Validate mode as code of the kernel: before an access whose index may be out of range, the index is compared with the length, and the first
//! that is out of range goes into the record. What the access itself then does is the device's job, as in checked mode.
//!
//! An index is a value: it is evaluated once, where the source says, and only looked at here. A pointer that is formed and not
//! used violates nothing. Where a pointer with indices is handed to a function, what is wrong with it goes along in an
//! argument of its own, and is reported where the function uses the pointer.

use std::collections::HashSet;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    ArraySize, BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, Literal, Module, Range, Scalar, ScalarKind,
    Span, Statement, TypeInner,
};

use super::build::Writer;
use super::record::Site;
use super::{Context, Hidden};
use crate::range::{ModuleRanges, Ranges};

/// An index that is not known to be in range.
pub(super) struct Check {
    /// The expression that indexes.
    access: Handle<Expression>,
    index: Index,
    length: Length,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Index {
    Value(Handle<Expression>),
    Constant(u32),
}

#[derive(Clone, Copy)]
enum Length {
    Known(u32),
    /// Of the runtime-sized array behind this pointer, which lies in that variable.
    Runtime(Handle<Expression>, Option<Handle<GlobalVariable>>),
}

/// What has been checked: an index below a number, or below the length of a variable's runtime-sized array.
type Fact = (Index, std::result::Result<u32, Handle<GlobalVariable>>);

/// A pointer taken apart.
pub(super) struct Chain {
    /// From the outermost index inwards.
    pub(super) checks: Vec<Check>,
    /// The parameter that it starts from.
    parameter: Option<u32>,
}

/// A function as it was before the pass.
pub(super) struct View<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    pub(super) ranges: &'a Ranges<'a>,
}

impl<'a> View<'a> {
    /// Of a function, or of the entry point with this index for `None`. Nothing for a function that is not reached.
    pub(super) fn new(
        module: &'a Module,
        (info, index): (&'a ModuleInfo, usize),
        ranges: &'a ModuleRanges<'a>,
        function: Option<Handle<Function>>,
    ) -> Option<Self> {
        let (body, info) = match function {
            Some(handle) => (&module.functions[handle], &info[handle]),
            None => (&module.entry_points[index].function, info.get_entry_point(index)),
        };
        Some(Self { module, function: body, info, ranges: ranges.of(function)? })
    }

    fn inner(&self, at: Handle<Expression>) -> &TypeInner {
        self.info[at].ty.inner_with(&self.module.types)
    }

    pub(super) fn scalar(&self, at: Handle<Expression>) -> Option<Scalar> {
        self.inner(at).scalar()
    }

    pub(super) fn is_pointer(&self, at: Handle<Expression>) -> bool {
        self.inner(at).pointer_space().is_some()
    }

    /// Takes a pointer apart, keeping the indices that may be out of range.
    pub(super) fn chain(&self, pointer: Handle<Expression>) -> Chain {
        let mut chain = Chain { checks: Vec::new(), parameter: None };
        let mut at = pointer;
        loop {
            match self.function.expressions[at] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                    chain.checks.extend(self.check(at));
                    at = base;
                }
                Expression::FunctionArgument(index) => {
                    chain.parameter = Some(index);
                    break;
                }
                _ => break,
            }
        }
        chain.checks.reverse();
        chain
    }

    /// The check that an access needs.
    fn check(&self, access: Handle<Expression>) -> Option<Check> {
        let (base, index) = match self.function.expressions[access] {
            Expression::Access { base, index } => (base, Index::Value(index)),
            Expression::AccessIndex { base, index } => (base, Index::Constant(index)),
            _ => return None,
        };
        let length = self.length(base)?;
        let surely = match (index, length) {
            // The front end has seen to constants; a binding holds at least one element.
            (Index::Constant(_), Length::Known(_)) | (Index::Constant(0), Length::Runtime(..)) => true,
            _ => self.ranges.in_range(access),
        };
        (!surely).then_some(Check { access, index, length })
    }

    /// How many elements an indexed value, or what an indexed pointer leads to, has; `None` for structures.
    fn length(&self, base: Handle<Expression>) -> Option<Length> {
        let inner = match *self.inner(base) {
            TypeInner::Pointer { base, .. } => &self.module.types[base].inner,
            ref inner => inner,
        };
        match *inner {
            TypeInner::Vector { size, .. } | TypeInner::ValuePointer { size: Some(size), .. } => Some(Length::Known(size as u32)),
            TypeInner::Matrix { columns, .. } => Some(Length::Known(columns as u32)),
            TypeInner::Array { size: ArraySize::Constant(count), .. } => Some(Length::Known(count.get())),
            TypeInner::Array { size: ArraySize::Dynamic, .. } => {
                Some(Length::Runtime(base, self.function.originating_global(base)))
            }
            _ => None,
        }
    }

    /// Whether anything wrong with a pointer that is handed to a function cannot be known before.
    pub(super) fn may_be_wrong(&self, pointer: Handle<Expression>, pending: &[bool]) -> bool {
        let chain = self.chain(pointer);
        let handed_on = chain.parameter.is_some_and(|p| pending.get(p as usize).copied().unwrap_or(false));
        !chain.checks.is_empty() || handed_on
    }

    /// Whether a block has something to check, or calls a function that needs to know who runs it.
    pub(super) fn reports(
        &self,
        block: &Block,
        pending: &[bool],
        validate: bool,
        calls: &dyn Fn(Handle<Function>) -> bool,
    ) -> bool {
        let inside = |block| self.reports(block, pending, validate, calls);
        let wrong = |pointer| validate && self.may_be_wrong(pointer, pending);
        block.iter().any(|statement| match statement {
            Statement::Emit(range) => range.clone().any(|at| self.checked_at(at).is_some_and(wrong)),
            Statement::Store { pointer, .. }
            | Statement::Atomic { pointer, .. }
            | Statement::WorkGroupUniformLoad { pointer, .. } => wrong(*pointer),
            Statement::Call { function, .. } => calls(*function),
            Statement::Block(inner) => inside(inner),
            Statement::If { accept, reject, .. } => inside(accept) || inside(reject),
            Statement::Switch { cases, .. } => cases.iter().any(|case| inside(&case.body)),
            Statement::Loop { body, continuing, .. } => inside(body) || inside(continuing),
            _ => false,
        })
    }

    /// What is to be taken apart before an expression is evaluated: the pointer of a load, or an indexed value.
    pub(super) fn checked_at(&self, at: Handle<Expression>) -> Option<Handle<Expression>> {
        match self.function.expressions[at] {
            Expression::Load { pointer } => Some(pointer),
            Expression::Access { base, .. } if !self.is_pointer(base) => Some(at),
            _ => None,
        }
    }

    /// The name of what a pointer or value is, as a path.
    fn path(&self, at: Handle<Expression>) -> String {
        let named = |name: &Option<String>| name.clone().unwrap_or_default();
        match self.function.expressions[at] {
            Expression::GlobalVariable(handle) => named(&self.module.global_variables[handle].name),
            Expression::LocalVariable(handle) => named(&self.function.local_variables[handle].name),
            Expression::Constant(handle) => named(&self.module.constants[handle].name),
            Expression::FunctionArgument(index) => {
                self.function.arguments.get(index as usize).map(|a| named(&a.name)).unwrap_or_default()
            }
            _ if self.function.named_expressions.contains_key(&at) => self.function.named_expressions[&at].clone(),
            Expression::Load { pointer } => self.path(pointer),
            Expression::Access { base, .. } => self.path_of_part(base, "[..]"),
            Expression::AccessIndex { base, index } => match self.member(base, index) {
                Some(name) => self.path_of_part(base, &format!(".{name}")),
                None => self.path_of_part(base, &format!("[{index}]")),
            },
            _ => String::new(),
        }
    }

    fn path_of_part(&self, base: Handle<Expression>, part: &str) -> String {
        let base = self.path(base);
        if base.is_empty() { base } else { base + part }
    }

    fn member(&self, base: Handle<Expression>, index: u32) -> Option<&str> {
        let inner = match *self.inner(base) {
            TypeInner::Pointer { base, .. } => &self.module.types[base].inner,
            ref inner => inner,
        };
        match inner {
            TypeInner::Struct { members, .. } => members.get(index as usize)?.name.as_deref(),
            _ => None,
        }
    }
}

/// Rewrites the body of one function.
pub(super) struct Rewriter<'a, 'c> {
    view: View<'a>,
    context: &'c mut Context,
    hidden: Hidden,
    /// The function after the pass.
    out: &'c mut Function,
    facts: HashSet<Fact>,
    /// The order in which facts were found, so that those of a block go with it.
    found: Vec<Fact>,
    /// Written before every way out of an entry point.
    is_entry: bool,
}

impl<'a, 'c> Rewriter<'a, 'c> {
    pub(super) fn new(view: View<'a>, context: &'c mut Context, hidden: Hidden, out: &'c mut Function, is_entry: bool) -> Self {
        Self { view, context, hidden, out, facts: HashSet::new(), found: Vec::new(), is_entry }
    }

    pub(super) fn run(mut self) {
        let body = std::mem::take(&mut self.out.body);
        let mut body = self.block(&body);
        if self.is_entry && !matches!(body.last(), Some(Statement::Return { .. })) {
            self.leave(&mut body, Span::UNDEFINED);
        }
        self.out.body = body;
    }

    fn block(&mut self, block: &Block) -> Block {
        let facts = self.found.len();
        let mut out = Block::with_capacity(block.len());
        for (statement, &span) in block.span_iter() {
            self.statement(statement, span, &mut out);
        }
        for fact in self.found.drain(facts..) {
            self.facts.remove(&fact);
        }
        out
    }

    fn statement(&mut self, statement: &Statement, span: Span, out: &mut Block) {
        let rewritten = match statement {
            Statement::Emit(range) => return self.emit(range, span, out),
            Statement::Block(inner) => Statement::Block(self.block(inner)),
            Statement::If { condition, accept, reject } => {
                Statement::If { condition: *condition, accept: self.block(accept), reject: self.block(reject) }
            }
            Statement::Switch { selector, cases } => {
                let case = |case: &naga::SwitchCase| naga::SwitchCase {
                    value: case.value,
                    body: self.block(&case.body),
                    fall_through: case.fall_through,
                };
                Statement::Switch { selector: *selector, cases: cases.iter().map(case).collect() }
            }
            Statement::Loop { body, continuing, break_if } => {
                Statement::Loop { body: self.block(body), continuing: self.block(continuing), break_if: *break_if }
            }
            Statement::Store { pointer, .. }
            | Statement::Atomic { pointer, .. }
            | Statement::WorkGroupUniformLoad { pointer, .. } => {
                self.check(*pointer, out);
                statement.clone()
            }
            Statement::Call { function, arguments, result } => {
                let Some(arguments) = self.arguments(*function, arguments, span, out) else { return };
                let Some(function) = self.context.moved(*function) else { return };
                Statement::Call { function, arguments, result: *result }
            }
            Statement::Return { .. } => {
                if self.is_entry {
                    self.leave(out, span);
                }
                statement.clone()
            }
            _ => statement.clone(),
        };
        out.push(rewritten, span);
    }

    /// What is evaluated, in pieces where something in it has to be checked first.
    fn emit(&mut self, range: &Range<Expression>, span: Span, out: &mut Block) {
        let mut open: Option<(Handle<Expression>, Handle<Expression>)> = None;
        for at in range.clone() {
            if let Some(pointer) = self.view.checked_at(at) {
                let mut checks = Block::new();
                self.check(pointer, &mut checks);
                if !checks.is_empty() {
                    if let Some((first, last)) = open.take() {
                        out.push(Statement::Emit(Range::new_from_bounds(first, last)), span);
                    }
                    out.append(&mut checks);
                }
            }
            open = Some((open.map_or(at, |(first, _)| first), at));
        }
        if let Some((first, last)) = open {
            out.push(Statement::Emit(Range::new_from_bounds(first, last)), span);
        }
    }

    /// Code that reports what is wrong with a pointer that is about to be used.
    fn check(&mut self, pointer: Handle<Expression>, out: &mut Block) {
        if !self.context.validate {
            return;
        }
        let mut chain = self.view.chain(pointer);
        chain.checks.retain(|check| self.is_new(check));
        let pending = chain.parameter.and_then(|p| self.hidden.pending(p));
        if chain.checks.is_empty() && pending.is_none() {
            return;
        }
        let span = self.view.function.expressions.get_span(pointer);
        let sites: Vec<u32> = chain.checks.iter().map(|check| self.site(check)).collect();
        let (context, hidden) = (&*self.context, self.hidden.clone());
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let mut conditions = Vec::with_capacity(sites.len() + 1);
        if let Some(argument) = pending {
            let pending = writer.add(Expression::FunctionArgument(argument));
            let (site, none) = (writer.part(pending, 0), writer.word(0));
            conditions.push(writer.binary(BinaryOperator::Equal, site, none));
        }
        conditions.extend(chain.checks.iter().map(|check| in_range(&mut writer, &self.view, check)));
        let all = conditions.iter().copied().reduce(|a, b| writer.binary(BinaryOperator::LogicalAnd, a, b));
        let Some(all) = all else { return };
        let single = conditions.len() == 1;
        let cold = writer.nested(|writer| {
            let mut reports = conditions.iter().copied();
            let mut guarded = |writer: &mut Writer<'_>, report: &dyn Fn(&mut Writer<'_>)| {
                let Some(condition) = reports.next() else { return };
                if single {
                    return report(writer);
                }
                let inside = writer.nested(|writer| report(writer));
                writer.if_(condition, Block::new(), inside);
            };
            if let Some(argument) = pending {
                guarded(writer, &|writer| {
                    let pending = writer.add(Expression::FunctionArgument(argument));
                    let parts = [0, 1, 2, 3].map(|n| writer.part(pending, n));
                    context.record(writer, &hidden, parts);
                });
            }
            for (check, site) in chain.checks.iter().zip(&sites) {
                guarded(writer, &|writer| {
                    let parts = described(writer, &self.view, check, *site);
                    context.record(writer, &hidden, parts);
                });
            }
        });
        writer.if_(all, Block::new(), cold);
        let mut block = writer.block;
        out.append(&mut block);
    }

    /// Notes that a check is made here; whether it was not made before.
    fn is_new(&mut self, check: &Check) -> bool {
        let length = match check.length {
            Length::Known(length) => Ok(length),
            Length::Runtime(_, Some(global)) => Err(global),
            Length::Runtime(_, None) => return true,
        };
        let fact = (check.index, length);
        let new = self.facts.insert(fact);
        if new {
            self.found.push(fact);
        }
        new
    }

    fn site(&mut self, check: &Check) -> u32 {
        let base = match self.view.function.expressions[check.access] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => base,
            _ => check.access,
        };
        let scalar = index_scalar(&self.view, check);
        self.context.sites.push(SiteAt {
            span: self.view.function.expressions.get_span(check.access),
            what: self.view.path(base),
            signed: scalar.kind == ScalarKind::Sint,
            wide: scalar.width == 8,
        });
        u32::try_from(self.context.sites.len()).unwrap_or(u32::MAX)
    }

    /// The arguments of a call with the hidden ones; `None` when the call is dropped.
    fn arguments(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        span: Span,
        out: &mut Block,
    ) -> Option<Vec<Handle<Expression>>> {
        let callee = self.context.callees.get(function.index())?.clone()?;
        let mut all = arguments.to_vec();
        if callee.id.is_some() {
            let mut writer = Writer::new(&mut self.out.expressions, span);
            all.push(self.hidden.id(&mut writer));
            out.append(&mut writer.block);
        }
        for (position, argument) in (0..).zip(arguments) {
            if callee.pending(position).is_some() {
                all.push(self.pending(*argument, span, out));
            }
        }
        Some(all)
    }

    /// What is wrong with a pointer that is handed on: the first of its indices that is out of range, or zeros.
    fn pending(&mut self, pointer: Handle<Expression>, span: Span, out: &mut Block) -> Handle<Expression> {
        let chain = self.view.chain(pointer);
        let sites: Vec<u32> = chain.checks.iter().map(|check| self.site(check)).collect();
        let ty = self.context.types.pending;
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let none = writer.add(Expression::ZeroValue(ty));
        // From the innermost outwards: the outer wins.
        let mut wrong = none;
        for (check, site) in chain.checks.iter().zip(sites).rev() {
            let ok = in_range(&mut writer, &self.view, check);
            let components = described(&mut writer, &self.view, check, site).to_vec();
            let this = writer.add(Expression::Compose { ty, components });
            wrong = writer.select(ok, wrong, this);
        }
        if let Some(argument) = chain.parameter.and_then(|p| self.hidden.pending(p)) {
            let before = writer.add(Expression::FunctionArgument(argument));
            let (site, zero) = (writer.part(before, 0), writer.word(0));
            let fine = writer.binary(BinaryOperator::Equal, site, zero);
            wrong = writer.select(fine, wrong, before);
        }
        out.append(&mut writer.block);
        wrong
    }

    fn leave(&mut self, out: &mut Block, span: Span) {
        let mut writer = Writer::new(&mut self.out.expressions, span);
        self.context.flush(&mut writer, &self.hidden);
        out.append(&mut writer.block);
    }
}

/// A site whose place is not looked up yet.
pub(super) struct SiteAt {
    pub(super) span: Span,
    pub(super) what: String,
    pub(super) signed: bool,
    pub(super) wide: bool,
}

impl SiteAt {
    pub(super) fn resolve(self, locate: &dyn Fn(Span) -> crate::reflection::Location) -> Site {
        Site { location: locate(self.span), what: self.what, signed: self.signed, wide: self.wide }
    }
}

fn index_scalar(view: &View<'_>, check: &Check) -> Scalar {
    match check.index {
        Index::Value(index) => view.inner(index).scalar().unwrap_or(Scalar::U32),
        Index::Constant(_) => Scalar::U32,
    }
}

fn length(writer: &mut Writer<'_>, length: Length) -> Handle<Expression> {
    match length {
        Length::Known(length) => writer.word(length),
        Length::Runtime(array, _) => writer.add(Expression::ArrayLength(array)),
    }
}

/// Whether an index is below its length. Negative ones are large as unsigned ones.
pub(super) fn in_range(writer: &mut Writer<'_>, view: &View<'_>, check: &Check) -> Handle<Expression> {
    let mut limit = length(writer, check.length);
    let scalar = index_scalar(view, check);
    let index = match check.index {
        Index::Constant(index) => writer.word(index),
        Index::Value(index) if scalar.width == 8 => {
            limit = writer.add(Expression::As { expr: limit, kind: ScalarKind::Uint, convert: Some(8) });
            match scalar.kind {
                ScalarKind::Sint => writer.add(Expression::As { expr: index, kind: ScalarKind::Uint, convert: None }),
                _ => index,
            }
        }
        Index::Value(index) => writer.low_word(index, scalar),
    };
    writer.binary(BinaryOperator::Less, index, limit)
}

/// Site, low and high word of the index, length.
fn described(writer: &mut Writer<'_>, view: &View<'_>, check: &Check, site: u32) -> [Handle<Expression>; 4] {
    let scalar = index_scalar(view, check);
    let site = writer.word(site);
    let (low, high) = match check.index {
        Index::Constant(index) => (writer.word(index), None),
        Index::Value(index) => (writer.low_word(index, scalar), writer.high_word(index, scalar)),
    };
    let high = high.unwrap_or_else(|| writer.add(Expression::Literal(Literal::U32(0))));
    let length = length(writer, check.length);
    [site, low, high, length]
}
