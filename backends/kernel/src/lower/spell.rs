//! Operators and functions that graphics APIs lack or leave open, spelled with others, for targets that hand them on as they are: shift counts past the width, what
//! comparisons and their like make of NaN, functions on the bits of integers that are not words, and conversions that naga's writers get wrong.

use std::collections::HashMap;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    Arena, BinaryOperator, Expression, Function, Handle, Literal, MathFunction as Math, Module, Scalar, ScalarKind, Span,
    TypeInner, UnaryOperator, VectorSize,
};

use crate::remap;

/// Operands behind each other up to which it is looked whether something can be NaN, or a count too large. Little, as it is looked at all of them each time.
const DEPTH: u32 = 4;

/// A number, or a vector of them.
#[derive(Clone, Copy)]
struct Shape {
    size: Option<VectorSize>,
    scalar: Scalar,
}

impl Shape {
    fn of(inner: &TypeInner) -> Option<Self> {
        match *inner {
            TypeInner::Scalar(scalar) => Some(Self { size: None, scalar }),
            TypeInner::Vector { size, scalar } => Some(Self { size: Some(size), scalar }),
            _ => None,
        }
    }

    fn is_float(self) -> bool {
        self.scalar.kind == ScalarKind::Float
    }

    fn bits(self) -> u32 {
        u32::from(self.scalar.width) * 8
    }
}

/// What becomes of an expression.
enum Change {
    /// `!=` of floats.
    Unequal,
    /// A shift of this, by a count that may be too large.
    Shift(Shape),
    /// A function of floats of this shape, of which some may be NaN.
    Float(Shape, [bool; 3]),
    /// A conversion of floats that may be NaN to integers of this shape.
    Integer(Shape),
    /// A conversion to wider integers of the other sign. It goes by the sign of what is converted, which is of this kind; naga's SPIR-V goes by the other one.
    Widened(ScalarKind),
    /// A function on the bits of integers of this shape.
    Bits(Shape),
}

type Changes = HashMap<Handle<Expression>, Change>;

/// Spells everything in a module.
pub(super) fn run(module: &mut Module) {
    let functions: Vec<_> = module.functions.iter().map(|(_, function)| changes(module, function)).collect();
    let entries: Vec<_> = module.entry_points.iter().map(|entry| changes(module, &entry.function)).collect();
    for ((_, function), changes) in module.functions.iter_mut().zip(functions) {
        apply(function, &changes);
    }
    for (entry, changes) in module.entry_points.iter_mut().zip(entries) {
        apply(&mut entry.function, &changes);
    }
}

fn changes(module: &Module, function: &Function) -> Changes {
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    let mut finder = Finder { module, function, context, typifier: Typifier::new() };
    function.expressions.iter().filter_map(|(at, expression)| Some((at, finder.change(expression)?))).collect()
}

struct Finder<'a> {
    module: &'a Module,
    function: &'a Function,
    context: ResolveContext<'a>,
    typifier: Typifier,
}

impl Finder<'_> {
    fn shape(&mut self, at: Handle<Expression>) -> Option<Shape> {
        self.typifier.grow(at, &self.function.expressions, &self.context).ok()?;
        Shape::of(self.typifier.get(at, &self.module.types))
    }

    fn change(&mut self, expression: &Expression) -> Option<Change> {
        match *expression {
            Expression::Binary { op: BinaryOperator::NotEqual, left, right } => {
                let may = self.shape(left)?.is_float() && (self.may_be_nan(left, DEPTH) || self.may_be_nan(right, DEPTH));
                may.then_some(Change::Unequal)
            }
            Expression::Binary { op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, left, right } => {
                let shape = self.shape(left)?;
                let fits = is_below(self.module, &self.function.expressions, right, shape.bits(), DEPTH);
                (!fits).then_some(Change::Shift(shape))
            }
            Expression::As { expr, kind: kind @ (ScalarKind::Sint | ScalarKind::Uint), convert: Some(width) } => {
                let Shape { size, scalar } = self.shape(expr)?;
                match scalar.kind {
                    ScalarKind::Float if self.may_be_nan(expr, DEPTH) => {
                        Some(Change::Integer(Shape { size, scalar: Scalar { kind, width } }))
                    }
                    ScalarKind::Sint | ScalarKind::Uint if scalar.kind != kind && scalar.width < width => {
                        Some(Change::Widened(scalar.kind))
                    }
                    _ => None,
                }
            }
            Expression::Math { fun, arg, arg1, arg2, .. } => {
                let shape = self.shape(arg)?;
                match fun {
                    Math::Min | Math::Max | Math::Clamp | Math::Saturate | Math::Sign | Math::Step | Math::SmoothStep
                        if shape.is_float() =>
                    {
                        let nan = [Some(arg), arg1, arg2].map(|at| at.is_some_and(|at| self.may_be_nan(at, DEPTH)));
                        // Also of numbers, bounds that stand the other way around are left open.
                        let open = nan.contains(&true) || matches!(fun, Math::Clamp | Math::SmoothStep);
                        open.then_some(Change::Float(shape, nan))
                    }
                    Math::CountOneBits
                    | Math::CountLeadingZeros
                    | Math::CountTrailingZeros
                    | Math::ReverseBits
                    | Math::FirstLeadingBit
                    | Math::FirstTrailingBit
                    | Math::ExtractBits
                    | Math::InsertBits
                        if shape.scalar.width != 4 =>
                    {
                        Some(Change::Bits(shape))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a float, or a component of a vector of floats, may be NaN as far as one sees. Literals never are, in the IR.
    fn may_be_nan(&mut self, at: Handle<Expression>, depth: u32) -> bool {
        if depth == 0 {
            return true;
        }
        match self.function.expressions[at] {
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => false,
            Expression::Splat { value: one, .. }
            | Expression::AccessIndex { base: one, .. }
            | Expression::Swizzle { vector: one, .. }
            | Expression::Unary { op: UnaryOperator::Negate, expr: one } => self.may_be_nan(one, depth - 1),
            Expression::Math { fun: Math::Sign | Math::Step, .. } => false,
            // Of `min`, `max` and `clamp` the first decides: it is what comes out where another is NaN.
            Expression::Math { fun, arg: one, .. } => {
                let keeps = matches!(
                    fun,
                    Math::Abs
                        | Math::Floor
                        | Math::Ceil
                        | Math::Round
                        | Math::Trunc
                        | Math::Min
                        | Math::Max
                        | Math::Clamp
                        | Math::Saturate
                );
                !keeps || self.may_be_nan(one, depth - 1)
            }
            Expression::Compose { ref components, .. } => components.iter().any(|one| self.may_be_nan(*one, depth - 1)),
            Expression::Select { accept, reject, .. } => self.may_be_nan(accept, depth - 1) || self.may_be_nan(reject, depth - 1),
            Expression::As { expr, kind: ScalarKind::Float, convert: Some(_) } => {
                self.shape(expr).is_none_or(Shape::is_float) && self.may_be_nan(expr, depth - 1)
            }
            _ => true,
        }
    }
}

/// Whether a count, or each of a vector of counts, is surely less than `bound`, a power of two.
fn is_below(module: &Module, all: &Arena<Expression>, count: Handle<Expression>, bound: u32, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let below = |at: Handle<Expression>| is_below(module, all, at, bound, depth);
    match all[count] {
        Expression::Literal(Literal::U32(count)) => count < bound,
        Expression::ZeroValue(_) => true,
        Expression::Constant(constant) => {
            is_below(module, &module.global_expressions, module.constants[constant].init, bound, depth)
        }
        Expression::Splat { value, .. } => below(value),
        Expression::Compose { ref components, .. } => components.iter().all(|one| below(*one)),
        Expression::Binary { op: BinaryOperator::And, left, right } => below(left) || below(right),
        _ => false,
    }
}

/// Literals that are used; they come before all other expressions.
const LITERALS: [u32; 9] = [0, 2, 3, 15, 16, 31, 32, 63, 64];

fn apply(function: &mut Function, changes: &Changes) {
    if changes.is_empty() {
        return;
    }
    let literals = LITERALS.map(|word| Expression::Literal(Literal::U32(word)));
    let mut shared = Vec::new();
    remap::rewrite(function, &literals, &mut |(handle, mut expression, span), literals, out| {
        if changes.contains_key(&handle) {
            remap::expression(&mut expression, &mut |operand| shared.push(*operand));
        }
        let [zero, two, three, fifteen, sixteen, thirty_one, thirty_two, sixty_three, sixty_four] = *literals else {
            return out.append(expression, span);
        };
        let words = Words { zero, two, three, fifteen, sixteen, thirty_one, thirty_two, sixty_three, sixty_four };
        let mut speller = Speller { out, span, words };
        match (changes.get(&handle), expression) {
            (Some(Change::Unequal), Expression::Binary { left, right, .. }) => {
                let equal = speller.binary(BinaryOperator::Equal, left, right);
                speller.unary(UnaryOperator::LogicalNot, equal)
            }
            (Some(Change::Shift(shape)), Expression::Binary { op, left, right }) => {
                let count = speller.count(right, *shape);
                speller.binary(op, left, count)
            }
            (Some(Change::Integer(shape)), Expression::As { expr, kind, convert }) => {
                let made = speller.add(Expression::As { expr, kind, convert });
                let zero = speller.whole(speller.words.zero, *shape);
                let is_number = speller.is_number(expr);
                speller.select(is_number, made, zero)
            }
            (Some(Change::Widened(own)), Expression::As { expr, kind, convert }) => {
                let wide = speller.cast(expr, *own, convert);
                speller.cast(wide, kind, None)
            }
            (Some(Change::Float(shape, nan)), Expression::Math { fun, arg, arg1, arg2, .. }) => {
                speller.float(*shape, fun, [arg, arg1.unwrap_or(arg), arg2.unwrap_or(arg)], *nan)
            }
            (Some(Change::Bits(shape)), Expression::Math { fun, arg, arg1, arg2, arg3 }) => {
                let rest = [arg1, arg2, arg3].map(|at| at.unwrap_or(arg));
                if shape.scalar.width == 8 { speller.long(*shape, fun, arg, rest) } else { speller.short(*shape, fun, arg, rest) }
            }
            (_, expression) => speller.add(expression),
        }
    });
    // A writer of text has a variable for what is used more than once, but for components without a name: it would write them, and what they are of, out each time,
    // and so more and more of what depends on each other.
    for operand in shared {
        if matches!(function.expressions[operand], Expression::Access { .. } | Expression::AccessIndex { .. }) {
            function.named_expressions.entry(operand).or_insert_with(|| "compute_part".into());
        }
    }
}

#[derive(Clone, Copy)]
struct Words {
    zero: Handle<Expression>,
    two: Handle<Expression>,
    three: Handle<Expression>,
    fifteen: Handle<Expression>,
    sixteen: Handle<Expression>,
    thirty_one: Handle<Expression>,
    thirty_two: Handle<Expression>,
    sixty_three: Handle<Expression>,
    sixty_four: Handle<Expression>,
}

/// Appends what stands for one expression.
struct Speller<'a> {
    out: &'a mut Arena<Expression>,
    span: Span,
    words: Words,
}

type Value = Handle<Expression>;

impl Speller<'_> {
    fn add(&mut self, expression: Expression) -> Value {
        self.out.append(expression, self.span)
    }

    fn unary(&mut self, op: UnaryOperator, expr: Value) -> Value {
        self.add(Expression::Unary { op, expr })
    }

    fn binary(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.add(Expression::Binary { op, left, right })
    }

    fn select(&mut self, condition: Value, accept: Value, reject: Value) -> Value {
        self.add(Expression::Select { condition, accept, reject })
    }

    fn math(&mut self, fun: Math, arg: Value, rest: [Option<Value>; 3]) -> Value {
        let [arg1, arg2, arg3] = rest;
        self.add(Expression::Math { fun, arg, arg1, arg2, arg3 })
    }

    fn math1(&mut self, fun: Math, arg: Value) -> Value {
        self.math(fun, arg, [None; 3])
    }

    fn cast(&mut self, expr: Value, kind: ScalarKind, convert: Option<u8>) -> Value {
        self.add(Expression::As { expr, kind, convert })
    }

    /// A number for each component.
    fn spread(&mut self, value: Value, shape: Shape) -> Value {
        shape.size.map_or(value, |size| self.add(Expression::Splat { size, value }))
    }

    /// A word as a value of another shape.
    fn whole(&mut self, word: Value, shape: Shape) -> Value {
        let made = self.cast(word, shape.scalar.kind, Some(shape.scalar.width));
        self.spread(made, shape)
    }

    /// A shift count, modulo the width of what is shifted.
    fn count(&mut self, count: Value, shape: Shape) -> Value {
        let last = match shape.scalar.width {
            2 => self.words.fifteen,
            8 => self.words.sixty_three,
            _ => self.words.thirty_one,
        };
        let last = self.spread(last, shape);
        self.binary(BinaryOperator::And, count, last)
    }

    fn is_number(&mut self, value: Value) -> Value {
        self.binary(BinaryOperator::Equal, value, value)
    }

    /// Whether all that may be NaN are none.
    fn are_numbers(&mut self, values: &[(Value, bool)]) -> Option<Value> {
        let found: Vec<_> = values.iter().filter(|(_, nan)| *nan).map(|(value, _)| self.is_number(*value)).collect();
        found.into_iter().reduce(|a, b| self.binary(BinaryOperator::And, a, b))
    }

    /// `min` or `max`: the first where either is NaN. A comparison and a choice would say the same, but there are drivers that take these for the function whose
    /// answer is open.
    fn extreme(&mut self, fun: Math, a: (Value, bool), b: (Value, bool)) -> Value {
        let made = self.math(fun, a.0, [Some(b.0), None, None]);
        match self.are_numbers(&[a, b]) {
            Some(numbers) => self.select(numbers, made, a.0),
            None => made,
        }
    }

    fn clamp(&mut self, x: (Value, bool), low: (Value, bool), high: (Value, bool)) -> Value {
        if low.1 || high.1 {
            let above = self.extreme(Math::Max, x, low);
            return self.extreme(Math::Min, (above, x.1), high);
        }
        let above = self.math(Math::Max, x.0, [Some(low.0), None, None]);
        let made = self.math(Math::Min, above, [Some(high.0), None, None]);
        match self.are_numbers(&[x]) {
            Some(number) => self.select(number, made, x.0),
            None => made,
        }
    }

    fn saturate(&mut self, x: Value) -> Value {
        let (made, number) = (self.math1(Math::Saturate, x), self.is_number(x));
        self.select(number, made, x)
    }

    fn float(&mut self, shape: Shape, fun: Math, [x, y, z]: [Value; 3], nan: [bool; 3]) -> Value {
        let kind = ScalarKind::Float;
        let width = Some(shape.scalar.width);
        match fun {
            Math::Min | Math::Max => self.extreme(fun, (x, nan[0]), (y, nan[1])),
            Math::Clamp => self.clamp((x, nan[0]), (y, nan[1]), (z, nan[2])),
            Math::Saturate => self.saturate(x),
            Math::Step => {
                let reached = self.binary(BinaryOperator::LessEqual, x, y);
                self.cast(reached, kind, width)
            }
            Math::Sign => {
                let zero = self.whole(self.words.zero, shape);
                let above = self.binary(BinaryOperator::Greater, x, zero);
                let below = self.binary(BinaryOperator::Less, x, zero);
                let (above, below) = (self.cast(above, kind, width), self.cast(below, kind, width));
                self.binary(BinaryOperator::Subtract, above, below)
            }
            // `smoothstep(low, high, x)`, by its formula.
            _ => {
                use BinaryOperator::{Divide, Multiply, Subtract};
                let (part, range) = (self.binary(Subtract, z, x), self.binary(Subtract, y, x));
                let t = self.binary(Divide, part, range);
                let t = self.saturate(t);
                let (two, three) = (self.whole(self.words.two, shape), self.whole(self.words.three, shape));
                let twice = self.binary(Multiply, two, t);
                let bend = self.binary(Subtract, three, twice);
                let square = self.binary(Multiply, t, t);
                self.binary(Multiply, square, bend)
            }
        }
    }

    /// An integer's bits, without a sign.
    fn unsigned(&mut self, x: Value, shape: Shape) -> Value {
        if shape.scalar.kind == ScalarKind::Sint { self.cast(x, ScalarKind::Uint, None) } else { x }
    }

    /// An integer without a sign as one of a shape, cut or filled with zeros.
    fn integer(&mut self, x: Value, shape: Shape) -> Value {
        let made = self.cast(x, ScalarKind::Uint, Some(shape.scalar.width));
        if shape.scalar.kind == ScalarKind::Sint { self.cast(made, ScalarKind::Sint, None) } else { made }
    }

    /// The same, filled with its highest bit.
    fn extended(&mut self, x: Value, shape: Shape) -> Value {
        let signed = self.cast(x, ScalarKind::Sint, None);
        let made = self.cast(signed, ScalarKind::Sint, Some(shape.scalar.width));
        if shape.scalar.kind == ScalarKind::Uint { self.cast(made, ScalarKind::Uint, None) } else { made }
    }

    /// Offset and count of a field, as far as they are within so many bits.
    fn field(&mut self, width: Value, offset: Value, count: Value) -> (Value, Value) {
        let offset = self.math(Math::Min, offset, [Some(width), None, None]);
        let rest = self.binary(BinaryOperator::Subtract, width, offset);
        (offset, self.math(Math::Min, count, [Some(rest), None, None]))
    }

    /// Of integers of 16 bits, in words.
    fn short(&mut self, shape: Shape, fun: Math, x: Value, [first, second, third]: [Value; 3]) -> Value {
        let bits = self.unsigned(x, shape);
        let word = self.cast(bits, ScalarKind::Uint, Some(4));
        let sixteen = self.spread(self.words.sixteen, shape);
        let made = match fun {
            Math::CountLeadingZeros => {
                let zeros = self.math1(fun, word);
                self.binary(BinaryOperator::Subtract, zeros, sixteen)
            }
            Math::CountTrailingZeros => {
                let zeros = self.math1(fun, word);
                self.math(Math::Min, zeros, [Some(sixteen), None, None])
            }
            Math::ReverseBits => {
                let turned = self.math1(fun, word);
                self.binary(BinaryOperator::ShiftRight, turned, sixteen)
            }
            Math::FirstLeadingBit | Math::ExtractBits => {
                let signed = shape.scalar.kind == ScalarKind::Sint;
                let word = if signed { self.cast(x, ScalarKind::Sint, Some(4)) } else { word };
                let made = if fun == Math::ExtractBits {
                    let (offset, count) = self.field(self.words.sixteen, first, second);
                    self.math(fun, word, [Some(offset), Some(count), None])
                } else {
                    self.math1(fun, word)
                };
                if signed { self.cast(made, ScalarKind::Uint, None) } else { made }
            }
            Math::InsertBits => {
                let new = self.unsigned(first, shape);
                let new = self.cast(new, ScalarKind::Uint, Some(4));
                let (offset, count) = self.field(self.words.sixteen, second, third);
                self.math(fun, word, [Some(new), Some(offset), Some(count)])
            }
            // Of ones, and the first of them.
            _ => self.math1(fun, word),
        };
        self.integer(made, shape)
    }

    /// Of integers of 64 bits, in two words.
    fn long(&mut self, shape: Shape, fun: Math, x: Value, [first, second, third]: [Value; 3]) -> Value {
        use BinaryOperator::{Add, Equal, ExclusiveOr, InclusiveOr, ShiftLeft, ShiftRight};
        match fun {
            Math::ExtractBits => return self.extract(shape, x, first, second),
            Math::InsertBits => return self.insert(shape, x, first, second, third),
            _ => {}
        }
        let (zero, thirty_two) = (self.spread(self.words.zero, shape), self.spread(self.words.thirty_two, shape));
        let signed = shape.scalar.kind == ScalarKind::Sint;
        let x = if fun == Math::FirstLeadingBit && signed {
            // Of a negative number the highest bit that is 0.
            let last = self.spread(self.words.sixty_three, shape);
            let sign = self.binary(ShiftRight, x, last);
            self.binary(ExclusiveOr, x, sign)
        } else {
            x
        };
        let bits = self.unsigned(x, shape);
        let high = self.binary(ShiftRight, bits, thirty_two);
        let [low, high] = [bits, high].map(|part| self.cast(part, ScalarKind::Uint, Some(4)));
        let [of_low, of_high] = [low, high].map(|word| self.math1(fun, word));
        match fun {
            Math::CountOneBits => {
                let sum = self.binary(Add, of_low, of_high);
                self.integer(sum, shape)
            }
            Math::ReverseBits => {
                let [low, high] = [of_high, of_low].map(|word| self.cast(word, ScalarKind::Uint, Some(8)));
                let high = self.binary(ShiftLeft, high, thirty_two);
                let made = self.binary(InclusiveOr, low, high);
                if signed { self.cast(made, ScalarKind::Sint, None) } else { made }
            }
            Math::CountLeadingZeros | Math::CountTrailingZeros => {
                let (word, near, far) =
                    if fun == Math::CountLeadingZeros { (high, of_high, of_low) } else { (low, of_low, of_high) };
                let (none, far) = (self.binary(Equal, word, zero), self.binary(Add, far, thirty_two));
                let made = self.select(none, far, near);
                self.integer(made, shape)
            }
            // Where there is no bit at all it is -1, with which `| 32` does nothing.
            _ => {
                let above = self.binary(InclusiveOr, of_high, thirty_two);
                let (word, there, none) = if fun == Math::FirstLeadingBit { (high, above, of_low) } else { (low, of_low, above) };
                let empty = self.binary(Equal, word, zero);
                let made = self.select(empty, none, there);
                self.extended(made, shape)
            }
        }
    }

    /// Offset and count of a field of 64 bits, how far its highest bit is from the highest of all, and whether it is empty.
    fn long_field(&mut self, shape: Shape, offset: Value, count: Value) -> [Value; 3] {
        let (offset, count) = self.field(self.words.sixty_four, offset, count);
        let down = self.binary(BinaryOperator::Subtract, self.words.sixty_four, count);
        let [offset, count, down] = [offset, count, down].map(|word| self.spread(word, shape));
        let zero = self.spread(self.words.zero, shape);
        let empty = self.binary(BinaryOperator::Equal, count, zero);
        [offset, down, empty]
    }

    fn shifted(&mut self, op: BinaryOperator, x: Value, count: Value, shape: Shape) -> Value {
        let count = self.count(count, shape);
        self.binary(op, x, count)
    }

    /// The field moved to the highest bits, and from there to the lowest.
    fn extract(&mut self, shape: Shape, x: Value, offset: Value, count: Value) -> Value {
        let [offset, down, empty] = self.long_field(shape, offset, count);
        let up = self.binary(BinaryOperator::Subtract, down, offset);
        let highest = self.shifted(BinaryOperator::ShiftLeft, x, up, shape);
        let made = self.shifted(BinaryOperator::ShiftRight, highest, down, shape);
        let zero = self.whole(self.words.zero, shape);
        self.select(empty, zero, made)
    }

    fn insert(&mut self, shape: Shape, x: Value, new: Value, offset: Value, count: Value) -> Value {
        use BinaryOperator::{And, InclusiveOr, ShiftLeft, ShiftRight};
        let [offset, down, empty] = self.long_field(shape, offset, count);
        // Without a sign, so that zeros come from above.
        let plain = Shape { scalar: Scalar { kind: ScalarKind::Uint, ..shape.scalar }, ..shape };
        let (bits, new) = (self.unsigned(x, shape), self.unsigned(new, shape));
        let zero = self.whole(self.words.zero, plain);
        let ones = self.unary(UnaryOperator::BitwiseNot, zero);
        let mask = self.shifted(ShiftRight, ones, down, plain);
        let mask = self.shifted(ShiftLeft, mask, offset, plain);
        let new = self.shifted(ShiftLeft, new, offset, plain);
        let new = self.binary(And, new, mask);
        let rest = self.unary(UnaryOperator::BitwiseNot, mask);
        let old = self.binary(And, bits, rest);
        let both = self.binary(InclusiveOr, old, new);
        let made = self.select(empty, bits, both);
        if shape.scalar.kind == ScalarKind::Sint { self.cast(made, ScalarKind::Sint, None) } else { made }
    }
}
