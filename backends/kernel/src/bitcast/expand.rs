//! The IR of casts between types of different widths: everything goes through words of 32 bits, the first component in the lowest bits.

use std::collections::HashMap;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    Arena, BinaryOperator, Expression, Function, Handle, Literal, MathFunction, Module, RelationalFunction, Scalar, ScalarKind,
    Span, SwizzleComponent, Type, TypeInner, VectorSize,
};

use crate::diagnostics::Finding;
use crate::remap;
use crate::wgsl::type_text;

/// Number of components, one for a scalar, and their type.
pub(crate) type Shape = (u32, Scalar);

/// Casts of a module of SPIR-V, by the word that each begins at: from what, to what.
pub(crate) type Casts = HashMap<usize, (Shape, Shape)>;

/// A cast.
#[derive(Clone, Copy)]
struct Cast {
    operand: Handle<Expression>,
    from: Shape,
    to: Shape,
    ty: Handle<Type>,
}

/// What becomes of an expression.
enum Change {
    Cast(Cast),
    /// Was only there to lead to the operand.
    Unused(Handle<Expression>, ScalarKind),
}

type Changes = HashMap<Handle<Expression>, Change>;

/// Makes casts of what [`super::edits`] has left in the source, and finds those between types of different sizes.
pub(crate) fn resolve(module: &mut Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    let functions: Vec<_> = module.functions.iter().map(|(_, function)| changes(module, function, &mut findings)).collect();
    let entries: Vec<_> = module.entry_points.iter().map(|entry| changes(module, &entry.function, &mut findings)).collect();
    for ((_, function), changes) in module.functions.iter_mut().zip(functions) {
        apply(function, &changes);
    }
    for (entry, changes) in module.entry_points.iter_mut().zip(entries) {
        apply(&mut entry.function, &changes);
    }
    findings
}

/// Puts casts right for which naga has kept the components of their operands. Their sizes are the same, and of whole words.
pub(crate) fn reshape(module: &mut Module, casts: &Casts) {
    if casts.is_empty() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for (_, function) in functions.iter_mut() {
        let mut changes = Changes::new();
        for (handle, expression) in function.expressions.iter() {
            let Expression::As { expr: operand, kind, convert: None } = *expression else { continue };
            let place = function.expressions.get_span(handle).to_range();
            let found = place.and_then(|place| casts.get(&(place.start / 4)));
            let Some(&(from, to)) = found.filter(|(_, to)| to.1.kind == kind) else { continue };
            let ty = module.types.insert(Type { name: None, inner: inner(to) }, Span::UNDEFINED);
            changes.insert(handle, Change::Cast(Cast { operand, from, to, ty }));
        }
        apply(function, &changes);
    }
    module.functions = functions;
}

fn inner((count, scalar): Shape) -> TypeInner {
    let vector = |size| TypeInner::Vector { size, scalar };
    match count {
        2 => vector(VectorSize::Bi),
        3 => vector(VectorSize::Tri),
        4 => vector(VectorSize::Quad),
        _ => TypeInner::Scalar(scalar),
    }
}

fn changes(module: &Module, function: &Function, findings: &mut Vec<Finding>) -> Changes {
    let mut changes = Changes::new();
    let mut typifier = Typifier::new();
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    for (handle, expression) in function.expressions.iter() {
        let Some(Marked { condition, made, operand, ty }) = marked(function, expression) else { continue };
        if typifier.grow(operand, &function.expressions, &context).is_err() {
            continue;
        }
        let found = typifier.get(operand, &module.types);
        let span = function.expressions.get_span(handle);
        let (Some(from), Some(to)) = (shape(found), shape(&module.types[ty].inner)) else {
            let message = format!("`bitcast` is of numbers and vectors of them, not of `{}`", type_text(module, found));
            findings.push(Finding::span(message, span));
            continue;
        };
        changes.insert(made, Change::Unused(operand, from.1.kind));
        changes.insert(condition, Change::Unused(operand, from.1.kind));
        if from == to || (from.0, from.1.width) == (to.0, to.1.width) {
            changes.insert(handle, Change::Unused(operand, to.1.kind));
        } else if size(from) == size(to) && size(from).is_multiple_of(4) {
            changes.insert(handle, Change::Cast(Cast { operand, from, to, ty }));
        } else {
            let (a, b) = (type_text(module, found), type_text(module, &module.types[ty].inner));
            let message = format!("`bitcast` keeps all bits: `{a}` has {} bytes, `{b}` has {}", size(from), size(to));
            findings.push(Finding::span(message, span));
        }
    }
    changes
}

/// The parts of a cast as the source has been made to spell it.
struct Marked {
    condition: Handle<Expression>,
    /// What the operand is cast to in the condition.
    made: Handle<Expression>,
    operand: Handle<Expression>,
    ty: Handle<Type>,
}

/// Finds `select(T(), T(), all(bitcast<bool>(operand)))`, which no source has otherwise.
fn marked(function: &Function, expression: &Expression) -> Option<Marked> {
    let Expression::Select { condition, accept, reject } = *expression else { return None };
    let (Expression::ZeroValue(ty), Expression::ZeroValue(_)) = (&function.expressions[accept], &function.expressions[reject])
    else {
        return None;
    };
    // `all` of one is that one.
    let argument = match function.expressions[condition] {
        Expression::Relational { fun: RelationalFunction::All, argument } => argument,
        _ => condition,
    };
    match function.expressions[argument] {
        Expression::As { expr, kind: ScalarKind::Bool, convert: None } => {
            Some(Marked { condition, made: argument, operand: expr, ty: *ty })
        }
        _ => None,
    }
}

fn shape(inner: &TypeInner) -> Option<Shape> {
    let (count, scalar) = match *inner {
        TypeInner::Scalar(scalar) => (1, scalar),
        TypeInner::Vector { size, scalar } => (size as u32, scalar),
        _ => return None,
    };
    matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint | ScalarKind::Float).then_some((count, scalar))
}

fn size((count, scalar): Shape) -> u32 {
    count * u32::from(scalar.width)
}

const LITERALS: [Expression; 2] = [Expression::Literal(Literal::U32(16)), Expression::Literal(Literal::U32(32))];

fn apply(function: &mut Function, changes: &Changes) {
    if changes.is_empty() {
        return;
    }
    // Operands come before what is made of them, so where they are now is known by then.
    let mut places: HashMap<Handle<Expression>, Handle<Expression>> = HashMap::new();
    remap::rewrite(function, &LITERALS, &mut |(handle, expression, span), literals, out| {
        let place = |at: &Handle<Expression>| places.get(at).copied().unwrap_or(*at);
        let made = match changes.get(&handle) {
            None => out.append(expression, span),
            Some(Change::Unused(operand, kind)) => {
                out.append(Expression::As { expr: place(operand), kind: *kind, convert: None }, span)
            }
            Some(Change::Cast(cast)) => {
                let mut maker = Maker { out, span, counts: [literals[0], literals[1]] };
                let words = maker.words(place(&cast.operand), cast.from);
                maker.value(&words, cast.to, cast.ty)
            }
        };
        places.insert(handle, made);
        made
    });
}

struct Maker<'a> {
    out: &'a mut Arena<Expression>,
    span: Span,
    /// 16 and 32.
    counts: [Handle<Expression>; 2],
}

impl Maker<'_> {
    fn add(&mut self, expression: Expression) -> Handle<Expression> {
        self.out.append(expression, self.span)
    }

    fn cast(&mut self, expr: Handle<Expression>, kind: ScalarKind, convert: Option<u8>) -> Handle<Expression> {
        self.add(Expression::As { expr, kind, convert })
    }

    fn binary(&mut self, op: BinaryOperator, left: Handle<Expression>, right: Handle<Expression>) -> Handle<Expression> {
        self.add(Expression::Binary { op, left, right })
    }

    fn math(&mut self, fun: MathFunction, arg: Handle<Expression>) -> Handle<Expression> {
        self.add(Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None })
    }

    /// One component as an integer without a sign, of its own width.
    fn component(&mut self, value: Handle<Expression>, (count, scalar): Shape, index: u32) -> Handle<Expression> {
        let one = if count == 1 { value } else { self.add(Expression::AccessIndex { base: value, index }) };
        if scalar.kind == ScalarKind::Uint { one } else { self.cast(one, ScalarKind::Uint, None) }
    }

    /// The bits of a value.
    fn words(&mut self, value: Handle<Expression>, from: Shape) -> Vec<Handle<Expression>> {
        let (count, scalar) = from;
        let mut words = Vec::new();
        match (scalar.width, scalar.kind) {
            (2, ScalarKind::Float) => {
                for first in (0..count).step_by(2) {
                    let pair = self.pair(value, count, first);
                    let wide = self.cast(pair, ScalarKind::Float, Some(4));
                    words.push(self.math(MathFunction::Pack2x16float, wide));
                }
            }
            (2, _) => {
                for first in (0..count).step_by(2) {
                    let halves = [first, first + 1].map(|index| {
                        let half = self.component(value, from, index);
                        self.cast(half, ScalarKind::Uint, Some(4))
                    });
                    let high = self.binary(BinaryOperator::ShiftLeft, halves[1], self.counts[0]);
                    words.push(self.binary(BinaryOperator::InclusiveOr, halves[0], high));
                }
            }
            (8, _) => {
                for index in 0..count {
                    let whole = self.component(value, from, index);
                    let high = self.binary(BinaryOperator::ShiftRight, whole, self.counts[1]);
                    words.extend([whole, high].map(|part| self.cast(part, ScalarKind::Uint, Some(4))));
                }
            }
            _ => words.extend((0..count).map(|index| self.component(value, from, index))),
        }
        words
    }

    /// Two neighbouring components of a vector of two or four.
    fn pair(&mut self, vector: Handle<Expression>, count: u32, first: u32) -> Handle<Expression> {
        use SwizzleComponent::{W, X, Y, Z};
        if count == 2 {
            return vector;
        }
        let pattern = if first == 0 { [X, Y, X, X] } else { [Z, W, X, X] };
        self.add(Expression::Swizzle { size: VectorSize::Bi, vector, pattern })
    }

    /// A value of these bits.
    fn value(&mut self, words: &[Handle<Expression>], to: Shape, ty: Handle<Type>) -> Handle<Expression> {
        let (count, scalar) = to;
        let components: Vec<_> = match (scalar.width, scalar.kind) {
            (2, ScalarKind::Float) => {
                let pair = |maker: &mut Self, word| {
                    let wide = maker.math(MathFunction::Unpack2x16float, word);
                    maker.cast(wide, ScalarKind::Float, Some(2))
                };
                words.iter().map(|word| pair(self, *word)).collect()
            }
            (2, kind) => words.iter().flat_map(|word| self.halves(*word, kind)).collect(),
            (8, kind) => words.chunks(2).filter_map(|pair| Some(self.wide(*pair.first()?, *pair.get(1)?, kind))).collect(),
            (_, ScalarKind::Uint) => words.to_vec(),
            (_, kind) => words.iter().map(|word| self.cast(*word, kind, None)).collect(),
        };
        match components.as_slice() {
            // A vector of two halves is made at once.
            [one] if count == 1 || scalar.width == 2 => *one,
            _ => self.add(Expression::Compose { ty, components }),
        }
    }

    fn halves(&mut self, word: Handle<Expression>, kind: ScalarKind) -> [Handle<Expression>; 2] {
        let high = self.binary(BinaryOperator::ShiftRight, word, self.counts[0]);
        [word, high].map(|part| {
            let half = self.cast(part, ScalarKind::Uint, Some(2));
            if kind == ScalarKind::Uint { half } else { self.cast(half, kind, None) }
        })
    }

    fn wide(&mut self, low: Handle<Expression>, high: Handle<Expression>, kind: ScalarKind) -> Handle<Expression> {
        let [low, high] = [low, high].map(|word| self.cast(word, ScalarKind::Uint, Some(8)));
        let high = self.binary(BinaryOperator::ShiftLeft, high, self.counts[1]);
        let whole = self.binary(BinaryOperator::InclusiveOr, low, high);
        if kind == ScalarKind::Uint { whole } else { self.cast(whole, kind, None) }
    }
}
