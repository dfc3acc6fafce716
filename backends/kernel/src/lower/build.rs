//! Making pieces of IR: expressions appended to a function, statements to a block.

use naga::{
    Arena, Block, Expression, Function, Handle, Literal, Range, Scalar, ScalarKind, Span, Statement, Type, TypeInner,
    UniqueArena, VectorSize,
};

/// A block that is being written, and the function whose expressions it uses.
pub(super) struct Writer<'a> {
    pub(super) expressions: &'a mut Arena<Expression>,
    pub(super) block: Block,
    /// Of everything that is made.
    pub(super) span: Span,
    /// The last expression that the block's last statement emits.
    open: Option<Handle<Expression>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(expressions: &'a mut Arena<Expression>, span: Span) -> Self {
        Self { expressions, block: Block::new(), span, open: None }
    }

    /// Writes a block inside this one's function.
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Block {
        let mut inner = Writer::new(self.expressions, self.span);
        write(&mut inner);
        inner.block
    }

    pub(super) fn push(&mut self, statement: Statement) {
        self.open = None;
        self.block.push(statement, self.span);
    }

    /// Appends an expression, and emits it where it has to be.
    pub(super) fn add(&mut self, expression: Expression) -> Handle<Expression> {
        let emits = !expression.needs_pre_emit()
            && !matches!(
                expression,
                Expression::CallResult(_)
                    | Expression::AtomicResult { .. }
                    | Expression::WorkGroupUniformLoadResult { .. }
                    | Expression::SubgroupBallotResult
                    | Expression::SubgroupOperationResult { .. }
            );
        let handle = self.expressions.append(expression, self.span);
        if !emits {
            return handle;
        }
        match (self.open, self.block.last_mut()) {
            (Some(last), Some(Statement::Emit(range))) if last.index() + 1 == handle.index() => {
                let first = range.first_and_last().map_or(handle, |(first, _)| first);
                *range = Range::new_from_bounds(first, handle);
            }
            _ => self.block.push(Statement::Emit(Range::new_from_bounds(handle, handle)), self.span),
        }
        self.open = Some(handle);
        handle
    }

    pub(super) fn word(&mut self, value: u32) -> Handle<Expression> {
        self.add(Expression::Literal(Literal::U32(value)))
    }

    pub(super) fn binary(
        &mut self,
        op: naga::BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Handle<Expression> {
        self.add(Expression::Binary { op, left, right })
    }

    pub(super) fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Handle<Expression> {
        self.add(Expression::Select { condition, accept, reject })
    }

    pub(super) fn part(&mut self, base: Handle<Expression>, index: u32) -> Handle<Expression> {
        self.add(Expression::AccessIndex { base, index })
    }

    pub(super) fn load(&mut self, pointer: Handle<Expression>) -> Handle<Expression> {
        self.add(Expression::Load { pointer })
    }

    /// An integer of any size as one of 32 bits: its low word.
    pub(super) fn low_word(&mut self, expr: Handle<Expression>, from: Scalar) -> Handle<Expression> {
        match from {
            Scalar::U32 => expr,
            // The sign is kept: a narrow integer is widened as what it is.
            Scalar { kind: ScalarKind::Sint, width: 1..4 } => {
                let wide = self.add(Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) });
                self.add(Expression::As { expr: wide, kind: ScalarKind::Uint, convert: None })
            }
            Scalar { width: 4, .. } => self.add(Expression::As { expr, kind: ScalarKind::Uint, convert: None }),
            Scalar { width: 8, .. } => {
                let bits = self.add(Expression::As { expr, kind: ScalarKind::Uint, convert: None });
                self.add(Expression::As { expr: bits, kind: ScalarKind::Uint, convert: Some(4) })
            }
            _ => self.add(Expression::As { expr, kind: ScalarKind::Uint, convert: Some(4) }),
        }
    }

    /// The high word of a number of 64 bits; nothing for shorter ones.
    pub(super) fn high_word(&mut self, expr: Handle<Expression>, from: Scalar) -> Option<Handle<Expression>> {
        if from.width != 8 {
            return None;
        }
        let bits = self.add(Expression::As { expr, kind: ScalarKind::Uint, convert: None });
        let count = self.word(32);
        let high = self.binary(naga::BinaryOperator::ShiftRight, bits, count);
        Some(self.add(Expression::As { expr: high, kind: ScalarKind::Uint, convert: Some(4) }))
    }

    pub(super) fn if_(&mut self, condition: Handle<Expression>, accept: Block, reject: Block) {
        self.push(Statement::If { condition, accept, reject });
    }

    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) {
        self.push(Statement::Store { pointer, value });
    }

    /// An atomic operation on a u32; its old value.
    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: naga::AtomicFunction,
        value: Handle<Expression>,
        word: Handle<Type>,
    ) -> Handle<Expression> {
        let result = self.add(Expression::AtomicResult { ty: word, comparison: false });
        self.push(Statement::Atomic { pointer, fun, value, result: Some(result) });
        result
    }
}

/// The types that instrumentation works with.
#[derive(Clone, Copy)]
pub(super) struct Types {
    pub(super) word: Handle<Type>,
    pub(super) atomic: Handle<Type>,
    /// An invocation's id.
    pub(super) id: Handle<Type>,
    /// A violation that has not happened yet: site, low and high word of the index, length.
    pub(super) pending: Handle<Type>,
}

impl Types {
    pub(super) fn new(types: &mut UniqueArena<Type>) -> Self {
        let mut add = |inner| types.insert(Type { name: None, inner }, Span::UNDEFINED);
        Self {
            word: add(TypeInner::Scalar(Scalar::U32)),
            atomic: add(TypeInner::Atomic(Scalar::U32)),
            id: add(TypeInner::Vector { size: VectorSize::Tri, scalar: Scalar::U32 }),
            pending: add(TypeInner::Vector { size: VectorSize::Quad, scalar: Scalar::U32 }),
        }
    }
}

/// A function with these parameters and no result.
pub(super) fn function(name: &str, parameters: &[(&str, Handle<Type>)]) -> Function {
    let arguments =
        parameters.iter().map(|&(name, ty)| naga::FunctionArgument { name: Some(name.into()), ty, binding: None }).collect();
    Function { name: Some(name.into()), arguments, ..Function::default() }
}
