//! Zeros that are stored to a whole structure or array in which there are atomics: naga makes such types of plain ones, and the zeros stay plain. They are
//! stored part by part, arrays in a loop.

use naga::{
    ArraySize, BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Module, Range, Scalar, Span,
    Statement, SwitchCase, Type, TypeInner,
};

/// Parts that all stores of a module may become. What is beyond stays as it is, and no module for the validator.
pub(super) const MAX_PARTS: u64 = 1 << 16;

/// Splits the stores of a function. `left`: how many parts they may become.
pub(super) fn split(module: &mut Module, function: &mut Function, left: &mut u64) {
    if !module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::Atomic(_))) {
        return;
    }
    let u32_type = module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    let body = std::mem::take(&mut function.body);
    let parts = parts(module);
    let mut splitter = Splitter { module, function, u32_type, parts, left };
    let body = splitter.block(body);
    function.body = body;
}

struct Splitter<'a> {
    module: &'a Module,
    function: &'a mut Function,
    u32_type: Handle<Type>,
    /// By type.
    parts: Vec<Parts>,
    left: &'a mut u64,
}

/// What a type is made of.
#[derive(Clone, Copy, Default)]
struct Parts {
    atomics: bool,
    count: u64,
}

/// Types come after those that they are made of: none is looked at twice, however often it is used.
fn parts(module: &Module) -> Vec<Parts> {
    let mut all: Vec<Parts> = Vec::with_capacity(module.types.len());
    for (_, ty) in module.types.iter() {
        let of = |inner: Handle<Type>| all.get(inner.index()).copied().unwrap_or_default();
        let found = match &ty.inner {
            TypeInner::Atomic(_) => Parts { atomics: true, count: 1 },
            TypeInner::Array { base, .. } => Parts { count: of(*base).count.saturating_add(1), ..of(*base) },
            TypeInner::Struct { members, .. } => members.iter().fold(Parts::default(), |sum, member| {
                let one = of(member.ty);
                Parts { atomics: sum.atomics || one.atomics, count: sum.count.saturating_add(one.count) }
            }),
            _ => Parts { atomics: false, count: 1 },
        };
        all.push(found);
    }
    all
}

impl Splitter<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut out = Block::with_capacity(block.len());
        for (statement, span) in block.span_into_iter() {
            let statement = match statement {
                Statement::Store { pointer, value } if self.is_zero(value) => match self.pointee(pointer) {
                    Some(ty) if self.splits(ty) => {
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

    /// Whether a zero of this type has to be split, and may be.
    fn splits(&mut self, ty: Handle<Type>) -> bool {
        let found = self.parts.get(ty.index()).copied().unwrap_or_default();
        if !found.atomics || matches!(self.module.types[ty].inner, TypeInner::Atomic(_)) {
            return false;
        }
        let left = self.left.checked_sub(found.count);
        *self.left = left.unwrap_or(*self.left);
        left.is_some()
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

#[cfg(test)]
mod tests {
    use naga::{AddressSpace, GlobalVariable, StructMember};

    use super::*;

    /// A store of zero to a structure of eight structures of eight, and so on, with an atomic at the end; how many statements come of it.
    fn statements_of(levels: usize) -> usize {
        let mut module = Module::default();
        let mut add = |inner| module.types.insert(Type { name: None, inner }, Span::UNDEFINED);
        let mut ty = add(TypeInner::Atomic(Scalar::U32));
        for level in 0..levels {
            let span = 4 * 8u32.pow(level as u32);
            let member = |at: u32| StructMember { name: None, ty, binding: None, offset: at * span };
            ty = add(TypeInner::Struct { members: (0..8).map(member).collect(), span: 8 * span });
        }
        let variable = GlobalVariable {
            name: None,
            space: AddressSpace::WorkGroup,
            binding: None,
            ty,
            init: None,
            memory_decorations: naga::MemoryDecorations::empty(),
        };
        let variable = module.global_variables.append(variable, Span::UNDEFINED);
        let mut function = Function::default();
        let pointer = function.expressions.append(Expression::GlobalVariable(variable), Span::UNDEFINED);
        let value = function.expressions.append(Expression::ZeroValue(ty), Span::UNDEFINED);
        function.body.push(Statement::Store { pointer, value }, Span::UNDEFINED);
        let mut left = MAX_PARTS;
        split(&mut module, &mut function, &mut left);
        function.body.len()
    }

    #[test]
    fn zeros_of_more_parts_than_a_bound_stay_whole() {
        assert!(statements_of(2) >= 64);
        assert_eq!(statements_of(7), 1);
    }
}
