//! Zeros that are stored to a whole structure or array in which there are atomics: naga makes such types of plain ones, and the zeros stay plain. They are
//! stored part by part, arrays in a loop.

use naga::{
    ArraySize, BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Module, Range, Scalar, Span,
    Statement, SwitchCase, Type, TypeInner,
};

/// Splits the stores of a function.
pub(super) fn split(module: &mut Module, function: &mut Function) {
    if !module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::Atomic(_))) {
        return;
    }
    let u32_type = module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    let body = std::mem::take(&mut function.body);
    let mut splitter = Splitter { module, function, u32_type };
    let body = splitter.block(body);
    function.body = body;
}

struct Splitter<'a> {
    module: &'a Module,
    function: &'a mut Function,
    u32_type: Handle<Type>,
}

impl Splitter<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut out = Block::with_capacity(block.len());
        for (statement, span) in block.span_into_iter() {
            let statement = match statement {
                Statement::Store { pointer, value } if self.is_zero(value) => match self.pointee(pointer) {
                    Some(ty) if self.has_atomics(ty) && !matches!(self.module.types[ty].inner, TypeInner::Atomic(_)) => {
                        self.zero(pointer, ty, &mut out);
                        continue;
                    }
                    _ => Statement::Store { pointer, value },
                },
                Statement::Block(inner) => Statement::Block(self.block(inner)),
                Statement::If { condition, accept, reject } => {
                    Statement::If { condition, accept: self.block(accept), reject: self.block(reject) }
                }
                Statement::Switch { selector, cases } => {
                    let cases = cases.into_iter().map(|case| SwitchCase { body: self.block(case.body), ..case }).collect();
                    Statement::Switch { selector, cases }
                }
                Statement::Loop { body, continuing, break_if } => {
                    Statement::Loop { body: self.block(body), continuing: self.block(continuing), break_if }
                }
                other => other,
            };
            out.push(statement, span);
        }
        out
    }

    fn is_zero(&self, value: Handle<Expression>) -> bool {
        match self.function.expressions[value] {
            Expression::ZeroValue(_) => true,
            Expression::Constant(constant) => {
                matches!(self.module.global_expressions[self.module.constants[constant].init], Expression::ZeroValue(_))
            }
            _ => false,
        }
    }

    /// What a chain of accesses from a variable of the module points to.
    fn pointee(&self, pointer: Handle<Expression>) -> Option<Handle<Type>> {
        match self.function.expressions[pointer] {
            Expression::GlobalVariable(variable) => Some(self.module.global_variables[variable].ty),
            Expression::AccessIndex { base, index } => match &self.module.types[self.pointee(base)?].inner {
                TypeInner::Struct { members, .. } => members.get(index as usize).map(|m| m.ty),
                TypeInner::Array { base, .. } => Some(*base),
                _ => None,
            },
            Expression::Access { base, .. } => match self.module.types[self.pointee(base)?].inner {
                TypeInner::Array { base, .. } => Some(base),
                _ => None,
            },
            _ => None,
        }
    }

    fn has_atomics(&self, ty: Handle<Type>) -> bool {
        match &self.module.types[ty].inner {
            TypeInner::Atomic(_) => true,
            TypeInner::Array { base, .. } => self.has_atomics(*base),
            TypeInner::Struct { members, .. } => members.iter().any(|m| self.has_atomics(m.ty)),
            _ => false,
        }
    }

    fn emit(&mut self, expression: Expression, out: &mut Block) -> Handle<Expression> {
        let handle = self.function.expressions.append(expression, Span::UNDEFINED);
        out.push(Statement::Emit(Range::new_from_bounds(handle, handle)), Span::UNDEFINED);
        handle
    }

    fn early(&mut self, expression: Expression) -> Handle<Expression> {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// Stores zero to everything that a pointer leads to.
    fn zero(&mut self, pointer: Handle<Expression>, ty: Handle<Type>, out: &mut Block) {
        let store = |pointer, value| Statement::Store { pointer, value };
        match &self.module.types[ty].inner {
            TypeInner::Struct { members, .. } => {
                for (index, member) in (0..).zip(members) {
                    let part = self.emit(Expression::AccessIndex { base: pointer, index }, out);
                    self.zero(part, member.ty, out);
                }
            }
            TypeInner::Array { base, size: ArraySize::Constant(length), .. } => {
                self.zero_array(pointer, *base, length.get(), out)
            }
            TypeInner::Atomic(scalar) => {
                if let Some(literal) = Literal::zero(*scalar) {
                    let value = self.early(Expression::Literal(literal));
                    out.push(store(pointer, value), Span::UNDEFINED);
                }
            }
            _ => {
                let value = self.early(Expression::ZeroValue(ty));
                out.push(store(pointer, value), Span::UNDEFINED);
            }
        }
    }

    fn zero_array(&mut self, pointer: Handle<Expression>, base: Handle<Type>, length: u32, out: &mut Block) {
        let local = LocalVariable { name: None, ty: self.u32_type, init: None };
        let local = self.function.local_variables.append(local, Span::UNDEFINED);
        let counter = self.early(Expression::LocalVariable(local));
        let constants = [0, 1, length].map(|n| self.early(Expression::Literal(Literal::U32(n))));
        let [zero, one, end] = constants;
        out.push(Statement::Store { pointer: counter, value: zero }, Span::UNDEFINED);
        let (mut body, mut continuing, mut leave) = (Block::new(), Block::new(), Block::new());
        leave.push(Statement::Break, Span::UNDEFINED);
        let index = self.emit(Expression::Load { pointer: counter }, &mut body);
        let goes_on = self.emit(Expression::Binary { op: BinaryOperator::Less, left: index, right: end }, &mut body);
        body.push(Statement::If { condition: goes_on, accept: Block::new(), reject: leave }, Span::UNDEFINED);
        let element = self.emit(Expression::Access { base: pointer, index }, &mut body);
        self.zero(element, base, &mut body);
        let before = self.emit(Expression::Load { pointer: counter }, &mut continuing);
        let after = self.emit(Expression::Binary { op: BinaryOperator::Add, left: before, right: one }, &mut continuing);
        continuing.push(Statement::Store { pointer: counter, value: after }, Span::UNDEFINED);
        out.push(Statement::Loop { body, continuing, break_if: None }, Span::UNDEFINED);
    }
}
