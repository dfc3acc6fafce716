//! What expressions compute, as numbered values, and which accesses are in range where they are evaluated.

use naga::{
    AddressSpace, ArraySize, BuiltIn, Expression, GlobalVariable, Handle, Literal, MathFunction, ScalarKind, TypeInner,
    UnaryOperator,
};

use super::facts::Goal;
use super::flow::{self, Flow};
use super::inputs;
use super::values::{Id, Kind, Made};

impl Flow<'_> {
    fn expression(&self, at: Handle<Expression>) -> &Expression {
        &self.subject.function.expressions[at]
    }

    fn inner(&self, at: Handle<Expression>) -> &TypeInner {
        self.subject.info[at].ty.inner_with(&self.subject.module.types)
    }

    pub(super) fn kind(&self, at: Handle<Expression>) -> Kind {
        match *self.inner(at) {
            TypeInner::Scalar(scalar) => Kind::of(Some(scalar)),
            _ => Kind::Other,
        }
    }

    /// The value of an expression: what it was evaluated to, or what needs no evaluation.
    pub(super) fn value(&mut self, at: Handle<Expression>) -> Id {
        if let Some(id) = self.by_expression.get(&at) {
            return *id;
        }
        let kind = self.kind(at);
        let id = match *self.expression(at) {
            Expression::Literal(Literal::Bool(truth)) => self.values.share(Kind::Truth, Made::Truth(truth)),
            Expression::FunctionArgument(index) => self.input(at, kind, Made::Argument(index)),
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {
                match flow::literal(self.subject.module, self.subject.function, at).filter(|_| kind.is_number()) {
                    Some(number) => self.values.share(kind, Made::Number(number)),
                    None => self.values.fresh(kind),
                }
            }
            _ => self.values.fresh(kind),
        };
        self.by_expression.insert(at, id);
        id
    }

    /// Evaluates an expression, where the kernel does.
    pub(super) fn evaluate(&mut self, at: Handle<Expression>) {
        self.steps += 1;
        self.evaluated.push(at);
        let kind = self.kind(at);
        let id = match *self.expression(at) {
            Expression::Access { base, index } => {
                let index = self.value(index);
                self.note_access(at, base, index);
                self.values.fresh(kind)
            }
            Expression::AccessIndex { base, index } => {
                let number = self.values.share(Kind::Unsigned, Made::Number(index.into()));
                self.note_access(at, base, number);
                let base = self.value(base);
                self.input(at, kind, Made::Part(base, index))
            }
            Expression::Load { pointer } => self.loaded(pointer, kind).unwrap_or_else(|| self.values.fresh(kind)),
            Expression::ArrayLength(pointer) => match self.array(pointer) {
                Some(array) => self.length(array),
                None => self.values.fresh(kind),
            },
            ref other => {
                let other = other.clone();
                match self.made(&other, kind) {
                    Some(made) => self.values.share(kind, made),
                    None => self.values.fresh(kind),
                }
            }
        };
        self.by_expression.insert(at, id);
    }

    /// How an operator makes its value, if that is followed.
    fn made(&mut self, expression: &Expression, kind: Kind) -> Option<Made> {
        Some(match *expression {
            Expression::Binary { op, left, right } if kind != Kind::Other => {
                Made::Binary(op, self.value(left), self.value(right))
            }
            Expression::Unary { op: UnaryOperator::LogicalNot, expr } if kind == Kind::Truth => Made::Not(self.value(expr)),
            Expression::As { expr, kind: ScalarKind::Sint | ScalarKind::Uint, .. }
                if kind.is_number() && self.kind(expr).is_number() =>
            {
                Made::Reread(self.value(expr))
            }
            Expression::Select { condition, accept, reject } if self.kind(condition) == Kind::Truth => {
                Made::Select(self.value(condition), self.value(accept), self.value(reject))
            }
            Expression::Math { fun, arg, arg1: Some(second), arg2, .. } if kind.is_number() => {
                let (a, b) = (self.value(arg), self.value(second));
                match (fun, arg2) {
                    (MathFunction::Min, _) => Made::Min(a, b),
                    (MathFunction::Max, _) => Made::Max(a, b),
                    (MathFunction::Clamp, Some(third)) => Made::Clamp(a, b, self.value(third)),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// What a pointer leads to, where that is followed: variables of the function, and memory that nobody writes meanwhile.
    fn loaded(&mut self, pointer: Handle<Expression>, kind: Kind) -> Option<Id> {
        match *self.expression(pointer) {
            Expression::LocalVariable(local) => Some(match self.variables.get(&local) {
                Some(id) => *id,
                None => {
                    let within = self.assumed.get(&local).copied();
                    let (low, high) = within.map_or((kind.lowest(), kind.highest()), |within| (within.low, within.high));
                    let id = self.values.fresh_within(kind, low, high);
                    self.set(local, Some(id));
                    id
                }
            }),
            Expression::GlobalVariable(global) => {
                let space = self.subject.module.global_variables[global].space;
                (space == AddressSpace::Immediate).then(|| self.values.share(kind, Made::Fixed(global)))
            }
            Expression::AccessIndex { base, index } => {
                let whole = self.loaded(base, Kind::Other)?;
                Some(self.values.share(kind, Made::Part(whole, index)))
            }
            _ => None,
        }
    }

    /// A value that may be an input of the invocation.
    fn input(&mut self, at: Handle<Expression>, kind: Kind, made: Made) -> Id {
        let size = self.subject.workgroup_size;
        let count = match *self.expression(at) {
            Expression::FunctionArgument(_) | Expression::AccessIndex { .. }
                if inputs::built_in(self.subject, at) == Some(BuiltIn::LocalInvocationIndex) =>
            {
                Some(size.iter().map(|n| i64::from(*n)).product())
            }
            Expression::AccessIndex { base, index }
                if inputs::built_in(self.subject, base) == Some(BuiltIn::LocalInvocationId) =>
            {
                size.get(index as usize).map(|n| i64::from(*n))
            }
            _ => None,
        };
        match count {
            Some(count) if kind == Kind::Unsigned => self.values.share_within(kind, made, 0, count - 1),
            _ => self.values.share(kind, made),
        }
    }

    /// Notes whether an access is surely in range.
    fn note_access(&mut self, at: Handle<Expression>, base: Handle<Expression>, index: Id) {
        let inner = match *self.inner(base) {
            TypeInner::Pointer { base, .. } => &self.subject.module.types[base].inner,
            ref inner => inner,
        };
        let (goal, above) = match *inner {
            TypeInner::Vector { size, .. } | TypeInner::ValuePointer { size: Some(size), .. } => (Goal::Zero, size as i64 - 1),
            TypeInner::Matrix { columns, .. } => (Goal::Zero, columns as i64 - 1),
            TypeInner::Array { size: ArraySize::Constant(count), .. } => (Goal::Zero, i64::from(count.get()) - 1),
            TypeInner::Array { size: ArraySize::Dynamic, .. } => match self.array(base) {
                Some(array) => (Goal::Length(array), -1),
                None => return,
            },
            _ => return,
        };
        if !self.values.get(index).kind.is_number() {
            return;
        }
        let proven =
            self.ask(|question| question.least(index) >= 0 && question.above(index, goal).is_some_and(|found| found <= above));
        // An expression may be evaluated in several blocks. Its check is left out everywhere or nowhere.
        if proven && !self.doubtful.contains(&at) {
            self.proven.insert(at);
        } else {
            self.doubt(at);
        }
    }

    /// The binding that a runtime-sized array is, or is the last member of.
    fn array(&self, mut pointer: Handle<Expression>) -> Option<Handle<GlobalVariable>> {
        loop {
            match *self.expression(pointer) {
                Expression::GlobalVariable(global) => {
                    let ty = self.subject.module.global_variables[global].ty;
                    let one = matches!(self.subject.module.types[ty].inner, TypeInner::Array { .. } | TypeInner::Struct { .. });
                    return one.then_some(global);
                }
                // A structure's member; an element of an array would be a pointer of another kind of expression or have a known size.
                Expression::AccessIndex { base, .. } => pointer = base,
                _ => return None,
            }
        }
    }
}
