//! The functions of the language. What the IR has no function for is made of what it has.

use naga::{AtomicFunction, Barrier, BinaryOperator as Op, Expression, MathFunction as Math, RelationalFunction, Statement};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::{Expr, Unary};
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{BOOL, FLOAT, Scalar, Ty, UINT};
use crate::front::glsl::words;

/// Functions of floats with one argument, componentwise.
fn componentwise(name: &str) -> Option<Math> {
    Some(match name {
        "radians" => Math::Radians,
        "degrees" => Math::Degrees,
        "sin" => Math::Sin,
        "cos" => Math::Cos,
        "tan" => Math::Tan,
        "asin" => Math::Asin,
        "acos" => Math::Acos,
        "sinh" => Math::Sinh,
        "cosh" => Math::Cosh,
        "tanh" => Math::Tanh,
        "asinh" => Math::Asinh,
        "acosh" => Math::Acosh,
        "atanh" => Math::Atanh,
        "exp" => Math::Exp,
        "log" => Math::Log,
        "exp2" => Math::Exp2,
        "log2" => Math::Log2,
        "sqrt" => Math::Sqrt,
        "inversesqrt" => Math::InverseSqrt,
        "floor" => Math::Floor,
        "ceil" => Math::Ceil,
        "trunc" => Math::Trunc,
        "round" | "roundEven" => Math::Round,
        "fract" => Math::Fract,
        _ => return None,
    })
}

/// Packing: the function, and the type that it takes or makes.
fn packing(name: &str) -> Option<(Math, Ty, Ty)> {
    let vec = |n| Ty::Vector(Scalar::Float, n);
    Some(match name {
        "packSnorm4x8" => (Math::Pack4x8snorm, vec(4), UINT),
        "packUnorm4x8" => (Math::Pack4x8unorm, vec(4), UINT),
        "packSnorm2x16" => (Math::Pack2x16snorm, vec(2), UINT),
        "packUnorm2x16" => (Math::Pack2x16unorm, vec(2), UINT),
        "packHalf2x16" => (Math::Pack2x16float, vec(2), UINT),
        "unpackSnorm4x8" => (Math::Unpack4x8snorm, UINT, vec(4)),
        "unpackUnorm4x8" => (Math::Unpack4x8unorm, UINT, vec(4)),
        "unpackSnorm2x16" => (Math::Unpack2x16snorm, UINT, vec(2)),
        "unpackUnorm2x16" => (Math::Unpack2x16unorm, UINT, vec(2)),
        "unpackHalf2x16" => (Math::Unpack2x16float, UINT, vec(2)),
        _ => return None,
    })
}

fn comparison(name: &str) -> Option<Op> {
    Some(match name {
        "lessThan" => Op::Less,
        "lessThanEqual" => Op::LessEqual,
        "greaterThan" => Op::Greater,
        "greaterThanEqual" => Op::GreaterEqual,
        "equal" => Op::Equal,
        "notEqual" => Op::NotEqual,
        _ => return None,
    })
}

fn atomic(name: &str) -> Option<AtomicFunction> {
    Some(match name {
        "atomicAdd" => AtomicFunction::Add,
        "atomicAnd" => AtomicFunction::And,
        "atomicOr" => AtomicFunction::InclusiveOr,
        "atomicXor" => AtomicFunction::ExclusiveOr,
        "atomicMin" => AtomicFunction::Min,
        "atomicMax" => AtomicFunction::Max,
        "atomicExchange" => AtomicFunction::Exchange { compare: None },
        _ => return None,
    })
}

fn unsupported(name: &str) -> Option<&'static str> {
    let starts = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    if starts(&["readInvocation", "readFirstInvocation", "ballotARB", "anyInvocation", "allInvocations"]) {
        return Some("subgroup operations");
    }
    if starts(&["texture", "texel", "image", "sparse"]) {
        return Some("textures");
    }
    if starts(&["dFd", "fwidth", "interpolateAt"]) {
        return Some("derivatives");
    }
    if starts(&["packDouble", "unpackDouble"]) {
        return Some("64-bit floats (`double`)");
    }
    starts(&["debugPrintf"]).then_some("prints")
}

impl Lower<'_> {
    pub(super) fn math(&mut self, fun: Math, args: &[&Value], ty: Ty, at: At) -> Value {
        let arg = |i: usize| args.get(i).map(|v| v.handle);
        let Some(first) = arg(0) else { return self.uint(0, at) };
        let math = Expression::Math { fun, arg: first, arg1: arg(1), arg2: arg(2), arg3: arg(3) };
        self.value(math, ty, at)
    }

    pub(super) fn nothing(&mut self, at: At) -> Value {
        Value { handle: self.literal(naga::Literal::U32(0), at), ty: Ty::Void }
    }

    pub(super) fn builtin(&mut self, name: Name, arguments: &[Expr], at: At) -> Lowered<Value> {
        let names = self.names;
        let word = name;
        let name = names.get(name);
        if let Some(construct) = unsupported(name) {
            return Err(Wrong::not_supported(construct, at));
        }
        let both = Barrier::STORAGE | Barrier::WORK_GROUP;
        let barrier = match name {
            "barrier" => Some(Statement::ControlBarrier(Barrier::WORK_GROUP)),
            "memoryBarrier" | "groupMemoryBarrier" => Some(Statement::MemoryBarrier(both)),
            "memoryBarrierShared" => Some(Statement::MemoryBarrier(Barrier::WORK_GROUP)),
            "memoryBarrierBuffer" => Some(Statement::MemoryBarrier(Barrier::STORAGE)),
            "memoryBarrierImage" | "memoryBarrierAtomicCounter" => return Ok(self.nothing(at)),
            _ => None,
        };
        if let Some(barrier) = barrier {
            if !arguments.is_empty() {
                return Err(Wrong::new(format!("`{name}` takes no arguments"), at));
            }
            self.push(barrier, at);
            return Ok(self.nothing(at));
        }
        if name.starts_with("subgroup") {
            return self.subgroup(name, arguments, at);
        }
        if name.starts_with("atomic") {
            return self.atomic(name, arguments, at);
        }
        if let Some(made) = self.with_outputs(name, arguments, at)? {
            return Ok(made);
        }
        let values = self.each(arguments, |lower, argument| lower.rvalue(argument))?;
        let spelled: Vec<String> = values.iter().map(|v| self.spell(&v.ty)).collect();
        match self.function_of_values(name, values, at)? {
            Some(made) => Ok(made),
            None if words::NAMES.contains(&name) => {
                Err(Wrong::new(format!("there is no function `{name}({})`", spelled.join(", ")), at))
            }
            None => Err(self.unknown_function(word, at)),
        }
    }

    fn atomic(&mut self, name: &str, arguments: &[Expr], at: At) -> Lowered<Value> {
        let swap = name == "atomicCompSwap";
        let function = atomic(name).or(swap.then_some(AtomicFunction::Exchange { compare: None }));
        let Some(mut function) = function else { return Err(Wrong::new(format!("there is no function `{name}`"), at)) };
        let (Some(target), Some(data), true) = (arguments.first(), arguments.last(), arguments.len() == 2 + usize::from(swap))
        else {
            return Err(Wrong::new(
                format!("`{name}` takes {} arguments, {} are given", 2 + usize::from(swap), arguments.len()),
                at,
            ));
        };
        let place = self.target(target)?;
        let scalar = match place.ty {
            Ty::Scalar(scalar @ (Scalar::Int | Scalar::Uint)) if place.is_atomic() => scalar,
            Ty::Scalar(Scalar::Float) => return Err(Wrong::not_supported("atomics of floats", at)),
            _ => {
                let message = format!("`{name}` works on an `int` or `uint` in a buffer or in shared memory");
                return Err(Wrong::new(message, target.at));
            }
        };
        if let (true, Some(compare)) = (swap, arguments.get(1)) {
            let compare = self.rvalue(compare)?;
            let compare = self.implicit(compare, &place.ty, at)?.handle;
            function = AtomicFunction::Exchange { compare: Some(compare) };
        }
        let data = self.rvalue(data)?;
        let value = self.implicit(data, &place.ty, at)?.handle;
        let ty = if swap {
            self.module.generate_predeclared_type(naga::PredeclaredType::AtomicCompareExchangeWeakResult(scalar.to_naga()))
        } else {
            self.value_type(&place.ty)
        };
        let result = self.result_of(Expression::AtomicResult { ty, comparison: swap }, at);
        self.push(Statement::Atomic { pointer: place.pointer, fun: function, value, result: Some(result) }, at);
        let made = Value { handle: result, ty: place.ty.clone() };
        Ok(if swap { self.extract(&made, 0, place.ty, at) } else { made })
    }

    /// Functions that write to arguments.
    fn with_outputs(&mut self, name: &str, arguments: &[Expr], at: At) -> Lowered<Option<Value>> {
        let inputs = match name {
            "frexp" | "modf" => 1,
            "uaddCarry" | "usubBorrow" | "umulExtended" | "imulExtended" => 2,
            _ => return Ok(None),
        };
        let extended = name.ends_with("Extended");
        if arguments.len() != inputs + 1 + usize::from(extended) {
            return Err(Wrong::new(format!("`{name}` does not take {} arguments", arguments.len()), at));
        }
        let values = self.each(arguments.iter().take(inputs), |lower, argument| lower.rvalue(argument));
        let places = self.each(arguments.iter().skip(inputs), |lower, argument| lower.target(argument));
        let (values, places) = self.both(values, places)?;
        let (result, written) = self.results(name, values, at)?;
        for (place, value) in places.iter().zip(written) {
            let value = self.implicit(value, &place.ty.clone(), at)?;
            self.assign(place, &value, at)?;
        }
        Ok(Some(match result {
            Some(value) => value,
            None => self.nothing(at),
        }))
    }

    /// What such a function returns, and what it writes.
    fn results(&mut self, name: &str, values: Vec<Value>, at: At) -> Lowered<(Option<Value>, Vec<Value>)> {
        if name == "frexp" || name == "modf" {
            let Some(value) = values.into_iter().next() else { return Err(Wrong::new("an argument is missing".to_owned(), at)) };
            let value = self.floats(vec![value], at)?.remove(0);
            let size = value.ty.width().filter(|n| *n > 1).map(crate::front::glsl::types::vector_size);
            let scalar = naga::Scalar::F32;
            let (fun, ty) = if name == "frexp" {
                (Math::Frexp, naga::PredeclaredType::FrexpResult { size, scalar })
            } else {
                (Math::Modf, naga::PredeclaredType::ModfResult { size, scalar })
            };
            self.module.generate_predeclared_type(ty);
            let both = self.math(fun, &[&value], value.ty.clone(), at);
            let first = self.extract(&both, 0, value.ty.clone(), at);
            let second = if name == "frexp" { value.ty.with(Scalar::Int) } else { value.ty.clone() };
            return Ok((Some(first), vec![self.extract(&both, 1, second, at)]));
        }
        let scalar = if name == "imulExtended" { Scalar::Int } else { Scalar::Uint };
        let mut list = Vec::new();
        for value in values {
            let to = value.ty.with(scalar);
            list.push(self.implicit(value, &to, at)?);
        }
        let [x, y] = list.as_slice() else { return Err(Wrong::new("an argument is missing".to_owned(), at)) };
        if x.ty != y.ty || x.ty.width().is_none() {
            return Err(self.no_operator(x, y, at));
        }
        let ty = x.ty.clone();
        Ok(match name {
            "uaddCarry" => {
                let sum = self.op(Op::Add, x, y, ty, at);
                let carry = self.flag(Op::Less, &sum, x, at);
                (Some(sum), vec![carry])
            }
            "usubBorrow" => {
                let difference = self.op(Op::Subtract, x, y, ty, at);
                let borrow = self.flag(Op::Less, x, y, at);
                (Some(difference), vec![borrow])
            }
            _ => {
                let low = self.op(Op::Multiply, x, y, ty.clone(), at);
                let (a, b) = (self.bitcast(x, Scalar::Uint, at), self.bitcast(y, Scalar::Uint, at));
                let mut high = self.high_product(&a, &b, at);
                if scalar == Scalar::Int {
                    high = self.signed_correction(high, (x, &a), (y, &b), at);
                }
                (None, vec![self.bitcast(&high, scalar, at), low])
            }
        })
    }

    /// 1 where a comparison holds, else 0.
    fn flag(&mut self, op: Op, left: &Value, right: &Value, at: At) -> Value {
        let holds = self.op(op, left, right, left.ty.with(Scalar::Bool), at);
        self.cast(&holds, Scalar::Uint, at)
    }

    fn all_of(&mut self, value: u32, like: &Value, at: At) -> Value {
        let value = self.uint(value, at);
        self.splat(value, like.ty.width().unwrap_or(1), at)
    }

    /// The upper 32 bits of a product, from products of halves.
    fn high_product(&mut self, a: &Value, b: &Value, at: At) -> Value {
        let ty = a.ty.clone();
        let (mask, half) = (self.all_of(0xffff, a, at), self.all_of(16, a, at));
        let low = |lower: &mut Self, v: &Value| lower.op(Op::And, v, &mask, ty.clone(), at);
        let high = |lower: &mut Self, v: &Value| lower.op(Op::ShiftRight, v, &half, ty.clone(), at);
        let times = |lower: &mut Self, x: &Value, y: &Value| lower.op(Op::Multiply, x, y, ty.clone(), at);
        let plus = |lower: &mut Self, x: &Value, y: &Value| lower.op(Op::Add, x, y, ty.clone(), at);
        let (a0, a1, b0, b1) = (low(self, a), high(self, a), low(self, b), high(self, b));
        let (p0, p1, p2, p3) = (times(self, &a0, &b0), times(self, &a0, &b1), times(self, &a1, &b0), times(self, &a1, &b1));
        let (carry, l1, l2) = (high(self, &p0), low(self, &p1), low(self, &p2));
        let middle = plus(self, &carry, &l1);
        let middle = plus(self, &middle, &l2);
        let (m, h1, h2) = (high(self, &middle), high(self, &p1), high(self, &p2));
        let sum = plus(self, &p3, &h1);
        let sum = plus(self, &sum, &h2);
        plus(self, &sum, &m)
    }

    /// A negative factor counts 2^32 too much of the other one.
    fn signed_correction(&mut self, high: Value, x: (&Value, &Value), y: (&Value, &Value), at: At) -> Value {
        let ty = high.ty.clone();
        let mut high = high;
        for (negative, other) in [(x.0, y.1), (y.0, x.1)] {
            let zero = self.int(0, at);
            let zero = self.splat(zero, negative.ty.width().unwrap_or(1), at);
            let flag = self.flag(Op::Less, negative, &zero, at);
            let excess = self.op(Op::Multiply, &flag, other, ty.clone(), at);
            high = self.op(Op::Subtract, &high, &excess, ty.clone(), at);
        }
        high
    }

    /// Values as floats, scalars as vectors beside vectors.
    fn floats(&mut self, values: Vec<Value>, at: At) -> Lowered<Vec<Value>> {
        self.alike(values, Some(Scalar::Float), at)
    }

    /// Values in one scalar, the largest or the given one, and of one width.
    fn alike(&mut self, values: Vec<Value>, scalar: Option<Scalar>, at: At) -> Lowered<Vec<Value>> {
        let mut widest = 1;
        let mut common = Scalar::Bool;
        for value in &values {
            let (Some(width), Some(scalar)) = (value.ty.width(), value.ty.scalar()) else {
                return Err(Wrong::new(format!("`{}` has no place here", self.spell(&value.ty)), at));
            };
            if scalar == Scalar::Bool || (width > 1 && widest > 1 && width != widest) {
                return Err(Wrong::new(format!("`{}` has no place here", self.spell(&value.ty)), at));
            }
            widest = widest.max(width);
            common = common.max(scalar);
        }
        let to = scalar.unwrap_or(common);
        if common > to {
            return Err(Wrong::new("an integer is expected here, this is a float".to_owned(), at));
        }
        Ok(values
            .into_iter()
            .map(|value| {
                let value = self.cast(&value, to, at);
                self.splat(value, widest, at)
            })
            .collect())
    }

    fn function_of_values(&mut self, name: &str, values: Vec<Value>, at: At) -> Lowered<Option<Value>> {
        if let (Some(fun), [_]) = (componentwise(name), values.as_slice()) {
            let value = self.floats(values, at)?.remove(0);
            return Ok(Some(self.math(fun, &[&value], value.ty.clone(), at)));
        }
        if let (Some((fun, from, to)), [_]) = (packing(name), values.as_slice()) {
            let Some(value) = values.into_iter().next() else { return Ok(None) };
            let value = self.implicit(value, &from, at)?;
            return Ok(Some(self.math(fun, &[&value], to, at)));
        }
        if let (Some(op), [_, _]) = (comparison(name), values.as_slice()) {
            return self.compare(op, &values, at).map(Some);
        }
        match values.len() {
            1 => self.of_one(name, values, at),
            2 => self.of_two(name, values, at),
            3 => self.of_three(name, values, at),
            4 => self.of_four(name, &values, at),
            _ => Ok(None),
        }
    }

    /// Componentwise comparisons of vectors.
    fn compare(&mut self, op: Op, values: &[Value], at: At) -> Lowered<Value> {
        let [left, right] = values else { return Err(Wrong::new("an argument is missing".to_owned(), at)) };
        let bools = left.ty.scalar() == Some(Scalar::Bool) && matches!(op, Op::Equal | Op::NotEqual);
        let (left, right) = if bools { (left.clone(), right.clone()) } else { self.unify(left.clone(), right.clone(), at)? };
        let numbers = left.ty.scalar() != Some(Scalar::Bool) || bools;
        let (Ty::Vector(_, n), true) = (&left.ty, left.ty == right.ty && numbers) else {
            return Err(self.no_operator(&left, &right, at));
        };
        let ty = Ty::Vector(Scalar::Bool, *n);
        Ok(self.op(op, &left, &right, ty, at))
    }

    fn of_one(&mut self, name: &str, mut values: Vec<Value>, at: At) -> Lowered<Option<Value>> {
        let value = values.remove(0);
        let ty = value.ty.clone();
        let Some(scalar) = ty.scalar() else { return Ok(None) };
        let integer = ty.is_integer();
        let float = scalar == Scalar::Float && ty.width().is_some();
        Ok(Some(match name {
            "abs" | "sign" if (scalar == Scalar::Int || float) && ty.width().is_some() => {
                self.math(if name == "abs" { Math::Abs } else { Math::Sign }, &[&value], ty, at)
            }
            "atan" => {
                let value = self.floats(vec![value], at)?.remove(0);
                self.math(Math::Atan, &[&value], value.ty.clone(), at)
            }
            "length" | "normalize" => {
                let value = self.floats(vec![value], at)?.remove(0);
                match (value.ty == FLOAT, name) {
                    (true, "length") => self.math(Math::Abs, &[&value], FLOAT, at),
                    (true, _) => self.math(Math::Sign, &[&value], FLOAT, at),
                    (false, "length") => self.math(Math::Length, &[&value], FLOAT, at),
                    (false, _) => self.math(Math::Normalize, &[&value], value.ty.clone(), at),
                }
            }
            "isnan" | "isinf" if float => {
                let bits = self.bitcast(&value, Scalar::Uint, at);
                let (mask, infinity) = (self.all_of(0x7fff_ffff, &bits, at), self.all_of(0x7f80_0000, &bits, at));
                let bits = self.op(Op::And, &bits, &mask, bits.ty.clone(), at);
                let op = if name == "isnan" { Op::Greater } else { Op::Equal };
                self.op(op, &bits, &infinity, ty.with(Scalar::Bool), at)
            }
            "floatBitsToInt" if float => self.bitcast(&value, Scalar::Int, at),
            "floatBitsToUint" if float => self.bitcast(&value, Scalar::Uint, at),
            "intBitsToFloat" if scalar == Scalar::Int => self.bitcast(&value, Scalar::Float, at),
            "uintBitsToFloat" if scalar == Scalar::Uint => self.bitcast(&value, Scalar::Float, at),
            "any" | "all" if matches!(ty, Ty::Vector(Scalar::Bool, _)) => {
                let fun = if name == "any" { RelationalFunction::Any } else { RelationalFunction::All };
                self.value(Expression::Relational { fun, argument: value.handle }, BOOL, at)
            }
            "not" if matches!(ty, Ty::Vector(Scalar::Bool, _)) => self.not(&value, at),
            "bitfieldReverse" if integer => self.math(Math::ReverseBits, &[&value], ty, at),
            "bitCount" | "findLSB" | "findMSB" if integer => {
                let fun = match name {
                    "bitCount" => Math::CountOneBits,
                    "findLSB" => Math::FirstTrailingBit,
                    _ => Math::FirstLeadingBit,
                };
                let made = self.math(fun, &[&value], ty, at);
                self.bitcast(&made, Scalar::Int, at)
            }
            "transpose" => match ty {
                Ty::Matrix(c, r) => self.math(Math::Transpose, &[&value], Ty::Matrix(r, c), at),
                _ => return Ok(None),
            },
            "determinant" if matches!(ty, Ty::Matrix(c, r) if c == r) => self.math(Math::Determinant, &[&value], FLOAT, at),
            "inverse" if matches!(ty, Ty::Matrix(c, r) if c == r) => self.inverse(&value, at)?,
            _ => return Ok(None),
        }))
    }

    fn of_two(&mut self, name: &str, values: Vec<Value>, at: At) -> Lowered<Option<Value>> {
        let float = |lower: &mut Self, values| -> Lowered<(Value, Value)> {
            let mut both = lower.floats(values, at)?;
            let second = both.remove(1);
            Ok((both.remove(0), second))
        };
        Ok(Some(match name {
            "atan" | "pow" | "reflect" | "step" => {
                let (a, b) = float(self, values)?;
                let fun = match name {
                    "atan" => Math::Atan2,
                    "pow" => Math::Pow,
                    "step" => Math::Step,
                    _ if a.ty == FLOAT => return Ok(None),
                    _ => Math::Reflect,
                };
                self.math(fun, &[&a, &b], a.ty.clone(), at)
            }
            "mod" => {
                let (a, b) = float(self, values)?;
                let ty = a.ty.clone();
                let quotient = self.op(Op::Divide, &a, &b, ty.clone(), at);
                let whole = self.math(Math::Floor, &[&quotient], ty.clone(), at);
                let whole = self.op(Op::Multiply, &b, &whole, ty.clone(), at);
                self.op(Op::Subtract, &a, &whole, ty, at)
            }
            "min" | "max" => {
                let both = self.alike(values, None, at)?;
                let [a, b] = both.as_slice() else { return Ok(None) };
                self.math(if name == "min" { Math::Min } else { Math::Max }, &[a, b], a.ty.clone(), at)
            }
            "dot" => {
                let (a, b) = float(self, values)?;
                if a.ty == FLOAT { self.op(Op::Multiply, &a, &b, FLOAT, at) } else { self.math(Math::Dot, &[&a, &b], FLOAT, at) }
            }
            "distance" => {
                let (a, b) = float(self, values)?;
                let difference = self.op(Op::Subtract, &a, &b, a.ty.clone(), at);
                let fun = if a.ty == FLOAT { Math::Abs } else { Math::Length };
                self.math(fun, &[&difference], FLOAT, at)
            }
            "cross" => {
                let (a, b) = float(self, values)?;
                if a.ty != Ty::Vector(Scalar::Float, 3) {
                    return Ok(None);
                }
                self.math(Math::Cross, &[&a, &b], a.ty.clone(), at)
            }
            "ldexp" => {
                let [x, e] = values.as_slice() else { return Ok(None) };
                let x = self.cast(x, Scalar::Float, at);
                let e = self.implicit(e.clone(), &x.ty.with(Scalar::Int), at)?;
                self.math(Math::Ldexp, &[&x, &e], x.ty.clone(), at)
            }
            "matrixCompMult" | "outerProduct" => return self.of_matrices(name, &values, at),
            _ => return Ok(None),
        }))
    }

    fn of_matrices(&mut self, name: &str, values: &[Value], at: At) -> Lowered<Option<Value>> {
        let [a, b] = values else { return Ok(None) };
        let (ty, columns) = match (name, &a.ty, &b.ty) {
            ("matrixCompMult", Ty::Matrix(c, r), other) if *other == a.ty => {
                let column = Ty::Vector(Scalar::Float, *r);
                let pair = |i| {
                    let (x, y) = (self.extract(a, i, column.clone(), at), self.extract(b, i, column.clone(), at));
                    self.op(Op::Multiply, &x, &y, column.clone(), at).handle
                };
                (a.ty.clone(), (0..u32::from(*c)).map(pair).collect::<Vec<_>>())
            }
            ("outerProduct", Ty::Vector(Scalar::Float, r), Ty::Vector(Scalar::Float, c)) => {
                let scaled = |i| {
                    let factor = self.extract(b, i, FLOAT, at);
                    self.op(Op::Multiply, a, &factor, a.ty.clone(), at).handle
                };
                (Ty::Matrix(*c, *r), (0..u32::from(*c)).map(scaled).collect())
            }
            _ => return Ok(None),
        };
        let handle = self.value_type(&ty);
        Ok(Some(self.value(Expression::Compose { ty: handle, components: columns }, ty, at)))
    }

    fn of_three(&mut self, name: &str, mut values: Vec<Value>, at: At) -> Lowered<Option<Value>> {
        let fun = match name {
            "mix" if values.last().and_then(|v| v.ty.scalar()) == Some(Scalar::Bool) => return self.mix_bool(values, at),
            "mix" => Math::Mix,
            "smoothstep" => Math::SmoothStep,
            "fma" => Math::Fma,
            "faceforward" => Math::FaceForward,
            "refract" => {
                let last = values.split_off(2);
                let eta = self.floats(last, at)?.remove(0);
                let both = self.floats(values, at)?;
                let [i, n] = both.as_slice() else { return Ok(None) };
                if i.ty == FLOAT || eta.ty != FLOAT {
                    return Ok(None);
                }
                return Ok(Some(self.math(Math::Refract, &[i, n, &eta], i.ty.clone(), at)));
            }
            "clamp" => {
                let all = self.alike(values, None, at)?;
                let [v, low, high] = all.as_slice() else { return Ok(None) };
                return Ok(Some(self.math(Math::Clamp, &[v, low, high], v.ty.clone(), at)));
            }
            "bitfieldExtract" => {
                let [v, offset, bits] = values.as_slice() else { return Ok(None) };
                let (offset, bits) = (self.amount(offset, at)?, self.amount(bits, at)?);
                if !v.ty.is_integer() {
                    return Ok(None);
                }
                return Ok(Some(self.math(Math::ExtractBits, &[v, &offset, &bits], v.ty.clone(), at)));
            }
            _ => return Ok(None),
        };
        let all = self.floats(values, at)?;
        let [a, b, c] = all.as_slice() else { return Ok(None) };
        if fun == Math::FaceForward && a.ty == FLOAT {
            return Ok(None);
        }
        Ok(Some(self.math(fun, &[a, b, c], a.ty.clone(), at)))
    }

    /// An offset or count of bits.
    fn amount(&mut self, value: &Value, at: At) -> Lowered<Value> {
        match value.ty {
            Ty::Scalar(Scalar::Int | Scalar::Uint) => Ok(self.cast(value, Scalar::Uint, at)),
            _ => Err(Wrong::new(format!("a number of bits is an integer; this is `{}`", self.spell(&value.ty)), at)),
        }
    }

    fn mix_bool(&mut self, mut values: Vec<Value>, at: At) -> Lowered<Option<Value>> {
        let condition = values.remove(2);
        let second = values.remove(1);
        let first = values.remove(0);
        let (first, second) = match (first.ty.scalar(), second.ty.scalar()) {
            (Some(Scalar::Bool), Some(Scalar::Bool)) => (first, second),
            _ => self.unify(first, second, at)?,
        };
        if first.ty != second.ty || first.ty.width() != condition.ty.width() || first.ty.width().is_none() {
            return Ok(None);
        }
        let select = Expression::Select { condition: condition.handle, accept: second.handle, reject: first.handle };
        Ok(Some(self.value(select, first.ty, at)))
    }

    fn of_four(&mut self, name: &str, values: &[Value], at: At) -> Lowered<Option<Value>> {
        let ("bitfieldInsert", [base, insert, offset, bits]) = (name, values) else { return Ok(None) };
        let (base, insert) = self.unify(base.clone(), insert.clone(), at)?;
        let (offset, bits) = (self.amount(offset, at)?, self.amount(bits, at)?);
        if !base.ty.is_integer() || base.ty != insert.ty {
            return Ok(None);
        }
        Ok(Some(self.math(Math::InsertBits, &[&base, &insert, &offset, &bits], base.ty.clone(), at)))
    }

    /// From cofactors: the transposed cofactor matrix over the determinant.
    fn inverse(&mut self, matrix: &Value, at: At) -> Lowered<Value> {
        let Ty::Matrix(n, _) = matrix.ty else { return Err(Wrong::new("no matrix".to_owned(), at)) };
        let column = Ty::Vector(Scalar::Float, n);
        let mut cells = Vec::new();
        for c in 0..u32::from(n) {
            let vector = self.extract(matrix, c, column.clone(), at);
            cells.push((0..u32::from(n)).map(|r| self.extract(&vector, r, FLOAT, at)).collect::<Vec<_>>());
        }
        let all: Vec<usize> = (0..usize::from(n)).collect();
        let mut cofactors = Vec::new();
        for c in &all {
            let mut list = Vec::new();
            for r in &all {
                let keep = |skip: usize| all.iter().copied().filter(|&i| i != skip).collect::<Vec<_>>();
                let minor = self.minor(&cells, &keep(*c), &keep(*r), at)?;
                list.push(if (c + r) % 2 == 0 { minor } else { self.unary(Unary::Minus, minor, at)? });
            }
            cofactors.push(list);
        }
        let mut determinant: Option<Value> = None;
        for (cell, cofactor) in cells.iter().filter_map(|c| c.first()).zip(cofactors.iter().filter_map(|c| c.first())) {
            let term = self.op(Op::Multiply, cell, cofactor, FLOAT, at);
            determinant = Some(match determinant {
                Some(sum) => self.op(Op::Add, &sum, &term, FLOAT, at),
                None => term,
            });
        }
        let Some(determinant) = determinant else { return Err(Wrong::new("no matrix".to_owned(), at)) };
        let mut columns = Vec::new();
        for r in &all {
            let mut components = Vec::new();
            for list in &cofactors {
                let Some(cofactor) = list.get(*r) else { return Err(Wrong::new("no matrix".to_owned(), at)) };
                components.push(self.op(Op::Divide, cofactor, &determinant, FLOAT, at).handle);
            }
            let ty = self.value_type(&column);
            columns.push(self.add(Expression::Compose { ty, components }, at));
        }
        let ty = self.value_type(&matrix.ty);
        Ok(self.value(Expression::Compose { ty, components: columns }, matrix.ty.clone(), at))
    }

    /// The determinant of some rows and columns; one by one, three at most.
    fn minor(&mut self, cells: &[Vec<Value>], columns: &[usize], rows: &[usize], at: At) -> Lowered<Value> {
        let cell = |c: usize, r: usize| cells.get(c).and_then(|column| column.get(r)).cloned();
        let (Some((&first, others)), Some(_)) = (columns.split_first(), rows.first()) else { return Ok(self.float(1.0, at)) };
        let mut sum: Option<Value> = None;
        for (index, &row) in rows.iter().enumerate() {
            let rest: Vec<usize> = rows.iter().copied().filter(|&r| r != row).collect();
            let Some(value) = cell(first, row) else { return Err(Wrong::new("no matrix".to_owned(), at)) };
            let inner = self.minor(cells, others, &rest, at)?;
            let term = if others.is_empty() { value } else { self.op(Op::Multiply, &value, &inner, FLOAT, at) };
            sum = Some(match sum {
                None => term,
                Some(before) => {
                    let op = if index % 2 == 0 { Op::Add } else { Op::Subtract };
                    self.op(op, &before, &term, FLOAT, at)
                }
            });
        }
        sum.ok_or_else(|| Wrong::new("no matrix".to_owned(), at))
    }
}
