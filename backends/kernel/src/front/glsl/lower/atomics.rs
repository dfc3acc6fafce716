//! Which integers in memory are operated on atomically anywhere in a source: the IR wants to know it from their types.

use std::collections::HashMap;
use std::sync::Arc;

use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{Name, Names};

/// Where below a variable atomics are: at it, or in its members. Elements of arrays are all alike.
#[derive(Default, Debug, Clone)]
pub(super) struct Marks {
    pub(super) here: bool,
    members: HashMap<Name, Arc<Self>>,
}

impl Marks {
    pub(super) fn member(&self, name: Name) -> Option<Arc<Self>> {
        self.members.get(&name).cloned()
    }

    /// Of something with these marks in its members; `None` when there are none.
    pub(super) fn of_members(members: HashMap<Name, Arc<Self>>) -> Option<Arc<Self>> {
        (!members.is_empty()).then(|| Arc::new(Self { here: false, members }))
    }

    fn add(&mut self, path: &[Name]) {
        match path.split_first() {
            None => self.here = true,
            Some((first, rest)) => Arc::make_mut(self.members.entry(*first).or_default()).add(rest),
        }
    }
}

/// The marks of every variable that has some, by its name. Names that are declared twice share their marks, which only makes more of them atomic.
pub(super) fn marks(unit: &Unit, names: &Names) -> HashMap<Name, Arc<Marks>> {
    let mut found: HashMap<Name, Arc<Marks>> = HashMap::new();
    let mut visit = |expr: &Expr| {
        let ExprKind::Call(function, arguments) = &expr.kind else { return };
        let Some(target) = arguments.first().filter(|_| names.get(*function).starts_with("atomic")) else { return };
        let mut path = Vec::new();
        if let Some(root) = root(target, &mut path) {
            path.reverse();
            Arc::make_mut(found.entry(root).or_default()).add(&path);
        }
    };
    for item in &unit.items {
        if let Item::Function(function) = item {
            function.body.iter().flatten().for_each(|s| walk_statement(s, &mut visit));
        }
    }
    found
}

/// The variable that a chain of members and indices begins with; its members are added to `path` from the last to the first.
pub(super) fn root(expr: &Expr, path: &mut Vec<Name>) -> Option<Name> {
    match &expr.kind {
        ExprKind::Name(name) => Some(*name),
        ExprKind::Index(base, _) => root(base, path),
        ExprKind::Member(base, name) => {
            path.push(*name);
            root(base, path)
        }
        _ => None,
    }
}

/// The variable that an expression may change when it is assigned to.
pub(super) fn root_of_target(expr: &Expr) -> Option<Name> {
    root(expr, &mut Vec::new())
}

/// Visits every expression of a statement, the outer ones first.
pub(super) fn walk_statement(statement: &Statement, visit: &mut impl FnMut(&Expr)) {
    match &statement.kind {
        StatementKind::Block(list) => list.iter().for_each(|s| walk_statement(s, visit)),
        StatementKind::Variables(list) => list.iter().for_each(|v| walk_variable(v, visit)),
        StatementKind::Expression(expr) => walk(expr, visit),
        StatementKind::If { condition, accept, reject } => {
            walk(condition, visit);
            walk_statement(accept, visit);
            if let Some(reject) = reject {
                walk_statement(reject, visit);
            }
        }
        StatementKind::Switch { selector, body } => {
            walk(selector, visit);
            body.iter().for_each(|s| walk_statement(s, visit));
        }
        StatementKind::For { first, condition, step, body } => {
            if let Some(first) = first {
                walk_statement(first, visit);
            }
            if let Some(condition) = condition {
                walk_condition(condition, visit);
            }
            if let Some(step) = step {
                walk(step, visit);
            }
            walk_statement(body, visit);
        }
        StatementKind::While { condition, body } => {
            walk_condition(condition, visit);
            walk_statement(body, visit);
        }
        StatementKind::DoWhile { body, condition } => {
            walk_statement(body, visit);
            walk(condition, visit);
        }
        StatementKind::Return(Some(expr)) => walk(expr, visit),
        StatementKind::Struct(_)
        | StatementKind::Case(_)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(None)
        | StatementKind::Empty => {}
    }
}

fn walk_variable(variable: &Variable, visit: &mut impl FnMut(&Expr)) {
    if let Some(init) = &variable.init {
        walk(init, visit);
    }
}

fn walk_condition(condition: &Condition, visit: &mut impl FnMut(&Expr)) {
    match condition {
        Condition::Expression(expr) => walk(expr, visit),
        Condition::Variable(variable) => walk_variable(variable, visit),
    }
}

/// Visits an expression and everything in it.
pub(super) fn walk(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Unary(_, e) | ExprKind::Length(e) | ExprKind::Member(e, _) | ExprKind::Step { target: e, .. } => walk(e, visit),
        ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Comma(a, b) | ExprKind::Index(a, b) => {
            walk(a, visit);
            walk(b, visit);
        }
        ExprKind::Choose(a, b, c) => {
            walk(a, visit);
            walk(b, visit);
            walk(c, visit);
        }
        ExprKind::Call(_, list) | ExprKind::Construct(_, list) | ExprKind::List(list) => {
            list.iter().for_each(|e| walk(e, visit));
        }
        ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Text(_) | ExprKind::Lost => {}
    }
}
