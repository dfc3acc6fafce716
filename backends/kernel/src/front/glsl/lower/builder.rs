//! One function under construction: expressions are emitted in the order in which they are made, before the next statement.

use std::collections::{HashMap, HashSet};

use naga::{Block, Expression, Function, GlobalVariable, Handle, Literal, Span, Statement};

use super::constant::Part;
use super::{Lower, Lowered, Value};
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{BOOL, FLOAT, INT, Scalar, Ty, UINT};

/// What is known about the function that is being made.
#[derive(Default)]
pub(super) struct Func {
    pub(super) function: Function,
    pub(super) body: Block,
    /// First and last expression that no statement has emitted yet.
    pending: Option<(Handle<Expression>, Handle<Expression>)>,
    globals: HashMap<Handle<GlobalVariable>, Handle<Expression>>,
    arguments: HashMap<u32, Handle<Expression>>,
    /// Names that something is assigned to anywhere in it.
    pub(super) assigned: HashSet<Name>,
    pub(super) entry: bool,
    pub(super) result: Option<Ty>,
    /// Loops, and loops or switches, around the statement.
    pub(super) loops: u32,
    pub(super) breakable: u32,
    /// Directly in a switch, where a declaration may be jumped over.
    pub(super) in_switch: bool,
    /// Statements that were translated.
    pub(super) statements: usize,
    /// How often what is translated is written out again where nothing falls through, and what that makes in all.
    pub(super) copies: usize,
    pub(super) copied: usize,
    /// A bound was hit: the rest of it is not looked at.
    pub(super) ended: bool,
}

impl Func {
    /// What has been made so far.
    pub(super) fn size(&self) -> usize {
        self.statements + self.function.expressions.len()
    }
}

impl Lower<'_> {
    /// Adds an expression.
    pub(super) fn add(&mut self, expression: Expression, at: At) -> Handle<Expression> {
        let early = expression.needs_pre_emit();
        if early {
            self.flush();
        }
        let handle = self.func.function.expressions.append(expression, super::span(at));
        if !early {
            let first = self.func.pending.map_or(handle, |(first, _)| first);
            self.func.pending = Some((first, handle));
        }
        handle
    }

    /// Emits what was added.
    pub(super) fn flush(&mut self) {
        if let Some((first, last)) = self.func.pending.take() {
            let mut span = self.func.function.expressions.get_span(first);
            span.subsume(self.func.function.expressions.get_span(last));
            self.func.body.push(Statement::Emit(naga::Range::new_from_bounds(first, last)), span);
        }
    }

    pub(super) fn push(&mut self, statement: Statement, at: At) {
        self.flush();
        self.func.body.push(statement, super::span(at));
    }

    /// An expression whose value a statement makes: it is in the arena, and never emitted.
    pub(super) fn result_of(&mut self, expression: Expression, at: At) -> Handle<Expression> {
        self.flush();
        self.func.function.expressions.append(expression, super::span(at))
    }

    /// What `work` adds, as a block of its own.
    pub(super) fn block<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<(Block, T)> {
        self.flush();
        let outer = std::mem::take(&mut self.func.body);
        let done = work(self);
        self.flush();
        let block = std::mem::replace(&mut self.func.body, outer);
        Ok((block, done?))
    }

    pub(super) fn value(&mut self, expression: Expression, ty: Ty, at: At) -> Value {
        Value { handle: self.add(expression, at), ty }
    }

    pub(super) fn literal(&mut self, literal: Literal, at: At) -> Handle<Expression> {
        self.add(Expression::Literal(literal), at)
    }

    pub(super) fn uint(&mut self, value: u32, at: At) -> Value {
        Value { handle: self.literal(Literal::U32(value), at), ty: UINT }
    }

    pub(super) fn int(&mut self, value: i32, at: At) -> Value {
        Value { handle: self.literal(Literal::I32(value), at), ty: INT }
    }

    pub(super) fn float(&mut self, value: f32, at: At) -> Value {
        Value { handle: self.literal(Literal::F32(value), at), ty: FLOAT }
    }

    pub(super) fn boolean(&mut self, value: bool, at: At) -> Value {
        Value { handle: self.literal(Literal::Bool(value), at), ty: BOOL }
    }

    /// The number one, or another small one, of a scalar type.
    pub(super) fn small(&mut self, scalar: Scalar, value: u8, at: At) -> Value {
        let literal = Part::Uint(value.into()).convert(scalar).map_or(Literal::U32(value.into()), Part::literal);
        Value { handle: self.literal(literal, at), ty: Ty::Scalar(scalar) }
    }

    pub(super) fn global(&mut self, variable: Handle<GlobalVariable>, at: At) -> Handle<Expression> {
        if let Some(&known) = self.func.globals.get(&variable) {
            return known;
        }
        let handle = self.add(Expression::GlobalVariable(variable), at);
        self.func.globals.insert(variable, handle);
        handle
    }

    pub(super) fn argument(&mut self, index: u32, at: At) -> Handle<Expression> {
        if let Some(&known) = self.func.arguments.get(&index) {
            return known;
        }
        let handle = self.add(Expression::FunctionArgument(index), at);
        self.func.arguments.insert(index, handle);
        handle
    }

    /// A new variable of the function; the pointer to it.
    pub(super) fn local(&mut self, name: Option<String>, ty: &Ty, at: At) -> Handle<Expression> {
        let ty = self.value_type(ty);
        let variable = naga::LocalVariable { name, ty, init: None };
        let variable = self.func.function.local_variables.append(variable, Span::new(at.0, at.1));
        self.add(Expression::LocalVariable(variable), at)
    }

    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>, at: At) {
        self.push(Statement::Store { pointer, value }, at);
    }
}
