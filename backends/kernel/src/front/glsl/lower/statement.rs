//! Statements. Each says whether control never comes out below it: what stands there is not translated, for the IR allows nothing after a jump.

use naga::{Block, Expression, Statement as Ir, SwitchCase, SwitchValue, UnaryOperator};

use super::storage::Place;
use super::{Lower, Lowered, Symbol, Value, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{Scalar, Ty, UINT};

/// Labels of a switch.
const MAX_LABELS: usize = 4096;
/// Statements and expressions of a function that are written out again where a language has no fall-through (HLSL): what follows a group that falls into it, and
/// so twice as much with each switch inside such a group.
const MAX_COPIED: usize = 1 << 20;

/// Whether control leaves for good.
type Ends = bool;

impl Lower<'_> {
    pub(super) fn statements(&mut self, list: &[Statement]) -> Lowered<Ends> {
        for statement in list {
            if self.judged(statement)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A statement, or what is wrong with it noted. Only what ends the function is an error.
    fn judged(&mut self, statement: &Statement) -> Lowered<Ends> {
        let switch = self.func.in_switch;
        match self.statement(statement) {
            Ok(ends) => Ok(ends),
            Err(wrong) if wrong.ends || self.func.ended || self.findings.are_enough() => Err(wrong.ending()),
            Err(wrong) => {
                self.findings.note(wrong);
                self.func.in_switch = switch;
                Ok(false)
            }
        }
    }

    fn statement(&mut self, statement: &Statement) -> Lowered<Ends> {
        let at = statement.at;
        self.func.statements += 1;
        let switch = std::mem::take(&mut self.func.in_switch);
        let ends = match &statement.kind {
            StatementKind::Block(list) => self.scoped(|lower| lower.statements(list))?,
            StatementKind::Variables(list) => {
                self.func.in_switch = switch;
                self.each(list, |lower, variable| {
                    let made = lower.local_variable(variable);
                    if made.is_err() {
                        lower.lose(variable.name);
                    }
                    made
                })?;
                false
            }
            StatementKind::Struct(tree) => {
                self.structure(tree).inspect_err(|_| self.lose(tree.name))?;
                false
            }
            StatementKind::Expression(expr) => {
                self.effect(expr)?;
                false
            }
            StatementKind::If { condition, accept, reject } => self.selection(condition, accept, reject.as_deref(), at)?,
            StatementKind::Switch { selector, body } => {
                self.scoped(|lower| lower.switch(selector, body, at))?;
                false
            }
            StatementKind::Case(_) => return Err(Wrong::new("a label stands directly in a `switch`".to_owned(), at)),
            StatementKind::For { first, condition, step, body } => {
                self.scoped(|lower| lower.for_loop(first.as_deref(), condition.as_ref(), step.as_ref(), body, at))?;
                false
            }
            StatementKind::While { condition, body } => {
                self.scoped(|lower| lower.for_loop(None, Some(condition), None, body, at))?;
                false
            }
            StatementKind::DoWhile { body, condition } => {
                self.do_while(body, condition, at)?;
                false
            }
            StatementKind::Break => {
                self.jump(self.func.breakable > 0, Ir::Break, "`break` stands in a loop or a `switch`", at)?
            }
            StatementKind::Continue => self.jump(self.func.loops > 0, Ir::Continue, "`continue` stands in a loop", at)?,
            StatementKind::Return(value) => self.give_back(value.as_ref(), at)?,
            StatementKind::Empty => false,
        };
        self.func.in_switch = switch;
        self.flush();
        Ok(ends)
    }

    fn jump(&mut self, allowed: bool, jump: Ir, otherwise: &str, at: At) -> Lowered<Ends> {
        if !allowed {
            return Err(Wrong::new(otherwise.to_owned(), at));
        }
        self.push(jump, at);
        Ok(true)
    }

    fn give_back(&mut self, value: Option<&Expr>, at: At) -> Lowered<Ends> {
        let Some(wanted) = self.func.result.clone() else {
            // What the function returns was wrong.
            if let Some(value) = value {
                self.effect(value)?;
            }
            return Err(Wrong::told());
        };
        let value = match (value, &wanted) {
            (None, Ty::Void) => None,
            (Some(expr), Ty::Void) => return Err(Wrong::new("a `void` function returns no value".to_owned(), expr.at)),
            (None, ty) => return Err(Wrong::new(format!("this function returns `{}`", self.spell(ty)), at)),
            (Some(expr), ty) => {
                let value = self.rvalue(expr)?;
                Some(self.implicit(value, ty, expr.at)?.handle)
            }
        };
        self.push(Ir::Return { value }, at);
        Ok(true)
    }

    fn local_variable(&mut self, variable: &Variable) -> Lowered<()> {
        let at = variable.at;
        let constant = match variable.qualifiers.storage {
            None => false,
            Some((Storage::Const, _)) => true,
            Some((_, at)) => return Err(Wrong::new("this qualifier stands outside of functions only".to_owned(), at)),
        };
        if !variable.qualifiers.layout.is_empty() {
            return Err(Wrong::new("a variable of a function has no layout".to_owned(), variable.qualifiers.at));
        }
        let declared = self.declared_type(&variable.ty, &variable.arrays, variable.init.as_deref())?;
        if constant && let Some(init) = &variable.init {
            if let Some(value) = self.constant_initializer(&declared, init)? {
                return self.declare(variable.name, Symbol::Constant(value), at);
            }
        } else if constant {
            return Err(Wrong::new("a `const` variable needs a value".to_owned(), at));
        }
        let value = match &variable.init {
            Some(init) => Some(self.initializer(&declared, init)?),
            None => None,
        };
        let fixed = constant || !self.func.assigned.contains(&variable.name);
        if let Some(value) = value.as_ref().filter(|v| fixed && !self.func.in_switch && v.ty.width().is_some()) {
            return self.declare(variable.name, Symbol::Value(value.clone()), at);
        }
        let pointer = self.local(Some(self.name(variable.name)), &declared, at);
        let place = Place::local(pointer, declared);
        match value {
            Some(value) => self.store(pointer, value.handle, at),
            // Zeros each time that control comes by, so that a kernel means the same on every device.
            None => self.zero(&place, at),
        }
        self.declare(variable.name, Symbol::Variable(place), at)
    }

    /// The value that a declaration gives; lists in braces may be inside each other.
    pub(super) fn initializer(&mut self, ty: &Ty, init: &Expr) -> Lowered<Value> {
        let ExprKind::List(list) = &init.kind else {
            let value = self.rvalue(init)?;
            return self.implicit(value, ty, init.at);
        };
        let inner: Vec<Ty> = match ty {
            Ty::Array(base, _) => vec![(**base).clone(); list.len()],
            Ty::Struct(index) => self.structs.get(*index).into_iter().flat_map(|s| &s.members).map(|m| m.ty.clone()).collect(),
            Ty::Matrix(scalar, c, r) => vec![Ty::Vector(*scalar, *r); usize::from(*c)],
            Ty::Vector(scalar, n) => vec![Ty::Scalar(*scalar); usize::from(*n)],
            ty => vec![ty.clone()],
        };
        if inner.len() != list.len() {
            return Err(Wrong::new(
                format!("`{}` takes {} values, {} are given", self.spell(ty), inner.len(), list.len()),
                init.at,
            ));
        }
        let values = self.each(inner.iter().zip(list), |lower, (ty, init)| lower.initializer(ty, init))?;
        self.construct_from(ty, values, init.at)
    }

    fn condition(&mut self, condition: &Expr) -> Lowered<Value> {
        let value = self.rvalue(condition)?;
        self.expect_bool(value, "a condition", condition.at)
    }

    fn selection(&mut self, condition: &Expr, accept: &Statement, reject: Option<&Statement>, at: At) -> Lowered<Ends> {
        let condition = self.condition(condition);
        let accept = self.block(|lower| lower.scoped(|lower| lower.judged(accept)));
        let reject = self.block(|lower| match reject {
            Some(reject) => lower.scoped(|lower| lower.judged(reject)),
            None => Ok(false),
        });
        let (condition, (accept, first)) = self.both(condition, accept)?;
        let (reject, second) = reject?;
        self.push(Ir::If { condition: condition.handle, accept, reject }, at);
        Ok(first && second)
    }

    fn inside_loop<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.func.loops += 1;
        self.func.breakable += 1;
        let done = work(self);
        self.func.loops -= 1;
        self.func.breakable -= 1;
        done
    }

    fn for_loop(
        &mut self,
        first: Option<&Statement>,
        condition: Option<&Condition>,
        step: Option<&Expr>,
        body: &Statement,
        at: At,
    ) -> Lowered<()> {
        if let Some(first) = first {
            self.judged(first)?;
        }
        let (body, ()) = self.block(|lower| {
            lower.scoped(|lower| {
                let condition = condition.map_or(Ok(()), |condition| lower.leave_unless(condition, at));
                lower.attempt(condition);
                lower.inside_loop(|lower| lower.scoped(|lower| lower.judged(body)))?;
                Ok(())
            })
        })?;
        let (continuing, ()) = self.block(|lower| match step {
            Some(step) => lower.effect(step),
            None => Ok(()),
        })?;
        self.push(Ir::Loop { body, continuing, break_if: None }, at);
        Ok(())
    }

    /// `if (!condition) break;`
    fn leave_unless(&mut self, condition: &Condition, at: At) -> Lowered<()> {
        let condition = match condition {
            Condition::Expression(expr) => self.condition(expr)?,
            Condition::Variable(variable) => {
                self.local_variable(variable).inspect_err(|_| self.lose(variable.name))?;
                let name = Expr { kind: ExprKind::Name(variable.name), at: variable.at, depth: 1 };
                self.condition(&name)?
            }
        };
        let mut leave = Block::new();
        leave.push(Ir::Break, super::span(at));
        self.push(Ir::If { condition: condition.handle, accept: Block::new(), reject: leave }, at);
        Ok(())
    }

    fn do_while(&mut self, body: &Statement, condition: &Expr, at: At) -> Lowered<()> {
        let (body, _) = self.block(|lower| lower.inside_loop(|lower| lower.scoped(|lower| lower.judged(body))))?;
        let (continuing, leave) = self.block(|lower| {
            let value = lower.condition(condition)?;
            let unary = Expression::Unary { op: UnaryOperator::LogicalNot, expr: value.handle };
            Ok(lower.add(unary, condition.at))
        })?;
        self.push(Ir::Loop { body, continuing, break_if: Some(leave) }, at);
        Ok(())
    }

    fn switch(&mut self, selector: &Expr, body: &[Statement], at: At) -> Lowered<()> {
        let value = self.selector(selector);
        let value = self.attempt(value);
        let unsigned = value.as_ref().is_none_or(|value| value.ty == UINT);
        let mut cases: Vec<SwitchCase> = Vec::new();
        // Groups that fall into this one.
        let mut falling = 0;
        let mut rest = body;
        while let Some((label, after)) = rest.split_first() {
            let StatementKind::Case(number) = &label.kind else {
                return Err(Wrong::new("a `switch` begins with a label".to_owned(), label.at));
            };
            if cases.len() >= MAX_LABELS {
                return Err(Wrong::new(format!("too many labels: at most {MAX_LABELS} are allowed in one `switch`"), label.at));
            }
            let value = self.label(number.as_ref(), unsigned);
            let value = self.attempt(value);
            if cases.iter().any(|case| Some(case.value) == value) {
                self.findings.note(Wrong::new("this label is there twice", label.at));
            }
            let count = after.iter().position(|s| matches!(s.kind, StatementKind::Case(_))).unwrap_or(after.len());
            let (group, next) = after.split_at(count);
            let (block, ends) = self.block(|lower| lower.copied_group(group, falling, label.at))?;
            falling = if ends { 0 } else { falling + usize::from(!block.is_empty()) };
            cases.extend(value.map(|value| SwitchCase { value, body: block, fall_through: !ends }));
            rest = next;
        }
        if !cases.iter().any(|case| case.value == SwitchValue::Default) {
            // Above it the last group would fall into this one, which does nothing.
            cases.push(SwitchCase { value: SwitchValue::Default, body: Block::new(), fall_through: false });
        }
        if let Some(last) = cases.last_mut() {
            last.fall_through = false;
        }
        let Some(value) = value else { return Err(Wrong::told()) };
        self.push(Ir::Switch { selector: value.handle, cases }, at);
        Ok(())
    }

    fn selector(&mut self, selector: &Expr) -> Lowered<Value> {
        let value = self.rvalue(selector)?;
        match value.ty {
            Ty::Scalar(Scalar::Int | Scalar::Uint) => Ok(value),
            ty => Err(Wrong::new(format!("a `switch` chooses by an integer; this is `{}`", self.spell(&ty)), selector.at)),
        }
    }

    /// A group with the groups before it that fall into it.
    fn copied_group(&mut self, list: &[Statement], falling: usize, at: At) -> Lowered<Ends> {
        let (before, outer) = (self.func.size(), self.func.copies);
        let copies = outer.saturating_add(1).saturating_mul(falling);
        self.func.copies = outer.saturating_add(copies);
        let ends = self.group(list)?;
        self.func.copies = outer;
        let more = (self.func.size() - before).saturating_mul(copies);
        self.func.copied = self.func.copied.saturating_add(more);
        if self.func.copied > MAX_COPIED {
            let message = format!(
                "too much is fallen into: with the groups of a `switch` written out again where one before them falls through, a function has at most {MAX_COPIED} \
                 operations more"
            );
            return Err(Wrong::new(message, at).ending());
        }
        Ok(ends)
    }

    /// The statements below a label. A variable declared here may be jumped over, so none is only a name for a value.
    fn group(&mut self, list: &[Statement]) -> Lowered<Ends> {
        self.func.breakable += 1;
        let mut ends = false;
        for statement in list {
            self.func.in_switch = true;
            if self.judged(statement)? {
                ends = true;
                break;
            }
        }
        self.func.in_switch = false;
        self.func.breakable -= 1;
        Ok(ends)
    }

    fn label(&mut self, number: Option<&Expr>, unsigned: bool) -> Lowered<SwitchValue> {
        let Some(expr) = number else { return Ok(SwitchValue::Default) };
        let value = self.known_integer(expr, "a label")?;
        // Bits decide: `case 0xffffffff` of an int is -1.
        let bits = u32::try_from(value & 0xffff_ffff).unwrap_or(0);
        Ok(if unsigned { SwitchValue::U32(bits) } else { SwitchValue::I32(bits.cast_signed()) })
    }
}
