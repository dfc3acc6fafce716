//! The functions of the language. What the IR has no function for is made of what it has.

use naga::{AtomicFunction, Barrier, BinaryOperator as Op, Expression, MathFunction as Math, RelationalFunction, Statement};

use super::constant::Part;
use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::Expr;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{BOOL, Scalar, Ty, UINT};
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

/// Functions that read the bits of one type as another's.
fn bits(name: &str) -> Option<(Scalar, Scalar)> {
    Some(match name {
        "floatBitsToInt" => (Scalar::Float, Scalar::Int),
        "floatBitsToUint" => (Scalar::Float, Scalar::Uint),
        "intBitsToFloat" => (Scalar::Int, Scalar::Float),
        "uintBitsToFloat" => (Scalar::Uint, Scalar::Float),
        "doubleBitsToInt64" => (Scalar::Double, Scalar::Int64),
        "doubleBitsToUint64" => (Scalar::Double, Scalar::Uint64),
        "int64BitsToDouble" => (Scalar::Int64, Scalar::Double),
        "uint64BitsToDouble" => (Scalar::Uint64, Scalar::Double),
        "halfBitsToInt16" | "float16BitsToInt16" => (Scalar::Half, Scalar::Int16),
        "halfBitsToUint16" | "float16BitsToUint16" => (Scalar::Half, Scalar::Uint16),
        "int16BitsToHalf" | "int16BitsToFloat16" => (Scalar::Int16, Scalar::Half),
        "uint16BitsToHalf" | "uint16BitsToFloat16" => (Scalar::Uint16, Scalar::Half),
        _ => return None,
    })
}

/// Functions that join two numbers to one of twice the size, and the other way.
fn halves(name: &str) -> Option<(Ty, Ty)> {
    let (pair, whole) = match name.strip_prefix("un").unwrap_or(name) {
        "packDouble2x32" => (Scalar::Uint, Scalar::Double),
        "packInt2x32" => (Scalar::Int, Scalar::Int64),
        "packUint2x32" => (Scalar::Uint, Scalar::Uint64),
        "packInt2x16" => (Scalar::Int16, Scalar::Int),
        "packUint2x16" => (Scalar::Uint16, Scalar::Uint),
        "packFloat2x16" => (Scalar::Half, Scalar::Uint),
        _ => return None,
    };
    let (pair, whole) = (Ty::Vector(pair, 2), Ty::Scalar(whole));
    Some(if name.starts_with("un") { (whole, pair) } else { (pair, whole) })
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
            Ty::Scalar(scalar @ (Scalar::Int | Scalar::Uint | Scalar::Int64 | Scalar::Uint64)) if place.is_atomic() => scalar,
            Ty::Scalar(Scalar::Float) if place.is_atomic() && self.is_shared(place.pointer) => {
                return Err(Wrong::not_supported("atomics on `float` in shared memory", at));
            }
            Ty::Scalar(Scalar::Float) if place.is_atomic() && matches!(name, "atomicAdd" | "atomicExchange") => Scalar::Float,
            Ty::Scalar(scalar) if scalar.is_float() && place.is_atomic() => {
                return Err(Wrong::not_supported(&format!("`{name}` and other atomics on `{}`", self.spell(&place.ty)), at));
            }
            _ => {
                let message = format!("`{name}` works on an integer of 32 or 64 bits in a buffer or in shared memory");
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

    /// Whether a pointer leads into the memory of the workgroup.
    fn is_shared(&self, pointer: naga::Handle<Expression>) -> bool {
        match self.func.function.expressions[pointer] {
            Expression::GlobalVariable(variable) => self.module.global_variables[variable].space == naga::AddressSpace::WorkGroup,
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => self.is_shared(base),
            _ => false,
        }
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
            let scalar = value.ty.scalar().unwrap_or(Scalar::Float).to_naga();
            let (fun, ty) = if name == "frexp" {
                (Math::Frexp, naga::PredeclaredType::FrexpResult { size, scalar })
            } else {
                (Math::Modf, naga::PredeclaredType::ModfResult { size, scalar })
            };
            self.module.generate_predeclared_type(ty);
            let both = self.math(fun, &[&value], value.ty.clone(), at);
            let first = self.extract(&both, 0, value.ty.clone(), at);
            if name == "modf" {
                return Ok((Some(first), vec![self.extract(&both, 1, value.ty.clone(), at)]));
            }
            // The exponent has the size of the number.
            let size = value.ty.scalar().unwrap_or(Scalar::Float).integer(true);
            let exponent = self.extract(&both, 1, value.ty.with(size), at);
            return Ok((Some(first), vec![self.cast(&exponent, Scalar::Int, at)]));
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
        let common = self.common(&values, at)?;
        let to = if common.is_float() { Some(common) } else { common.common(Scalar::Float).or(common.common(Scalar::Double)) };
        let Some(to) = to else { return Err(Wrong::new("a float is expected here", at)) };
        self.as_one(values, to, at)
    }

    /// Values in one scalar that all become, and of one width.
    fn alike(&mut self, values: Vec<Value>, at: At) -> Lowered<Vec<Value>> {
        let common = self.common(&values, at)?;
        self.as_one(values, common, at)
    }

    fn common(&self, values: &[Value], at: At) -> Lowered<Scalar> {
        let mut found: Option<Scalar> = None;
        for value in values {
            let scalar = value.ty.scalar().filter(|s| *s != Scalar::Bool && value.ty.width().is_some());
            let both = scalar.and_then(|scalar| found.map_or(Some(scalar), |found| found.common(scalar)));
            let Some(both) = both else {
                return Err(Wrong::new(format!("`{}` has no place here", self.spell(&value.ty)), at));
            };
            found = Some(both);
        }
        found.ok_or_else(|| Wrong::new("an argument is missing", at))
    }

    fn as_one(&mut self, values: Vec<Value>, to: Scalar, at: At) -> Lowered<Vec<Value>> {
        let widest = values.iter().filter_map(|v| v.ty.width()).max().unwrap_or(1);
        let fits = |value: &&Value| value.ty.width().is_some_and(|width| width == 1 || width == widest);
        if let Some(other) = values.iter().find(|v| !fits(v)) {
            return Err(Wrong::new(format!("`{}` has no place here", self.spell(&other.ty)), at));
        }
        let one = |value: Value| {
            let value = self.cast(&value, to, at);
            self.splat(value, widest, at)
        };
        Ok(values.into_iter().map(one).collect())
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
        let float = scalar.is_float() && ty.width().is_some();
        Ok(Some(match name {
            "abs" | "sign" if (scalar.is_signed() || float) && ty.width().is_some() => {
                self.math(if name == "abs" { Math::Abs } else { Math::Sign }, &[&value], ty, at)
            }
            "atan" => {
                let value = self.floats(vec![value], at)?.remove(0);
                self.math(Math::Atan, &[&value], value.ty.clone(), at)
            }
            "length" | "normalize" => {
                let value = self.floats(vec![value], at)?.remove(0);
                let ty = value.ty.clone();
                let one = Ty::Scalar(ty.scalar().unwrap_or(Scalar::Float));
                match (ty == one, name) {
                    (true, "length") => self.math(Math::Abs, &[&value], one, at),
                    (true, _) => self.math(Math::Sign, &[&value], one, at),
                    (false, "length") => self.math(Math::Length, &[&value], one, at),
                    (false, _) => self.math(Math::Normalize, &[&value], ty, at),
                }
            }
            "isnan" | "isinf" if float => self.not_finite(name == "isnan", &value, at),
            _ if bits(name).is_some_and(|(from, _)| from == scalar) && ty.width().is_some() => {
                let to = bits(name).map_or(scalar, |(_, to)| to);
                self.bitcast(&value, to, at)
            }
            _ if halves(name).is_some_and(|(from, _)| from == ty) => {
                let to = halves(name).map_or(UINT, |(_, to)| to);
                if to.width() == Some(1) { self.join(&value, &to, at) } else { self.divide(&value, &to, at) }
            }
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
                // What finds nothing says -1, which has to survive the cast.
                let made = self.math(fun, &[&value], ty, at);
                let signed = self.bitcast(&made, scalar.integer(true), at);
                self.cast(&signed, Scalar::Int, at)
            }
            "transpose" => match ty {
                Ty::Matrix(scalar, c, r) => self.math(Math::Transpose, &[&value], Ty::Matrix(scalar, r, c), at),
                _ => return Ok(None),
            },
            "determinant" if matches!(ty, Ty::Matrix(_, c, r) if c == r) => {
                self.math(Math::Determinant, &[&value], Ty::Scalar(scalar), at)
            }
            "inverse" if matches!(ty, Ty::Matrix(_, c, r) if c == r) => self.inverse(&value, at)?,
            _ => return Ok(None),
        }))
    }

    /// `isnan` or `isinf`, by the bits.
    fn not_finite(&mut self, nan: bool, value: &Value, at: At) -> Value {
        // A half is a float exactly.
        let value = if value.ty.scalar() == Some(Scalar::Half) { self.cast(value, Scalar::Float, at) } else { value.clone() };
        let scalar = value.ty.scalar().unwrap_or(Scalar::Float).integer(false);
        let bits = self.bitcast(&value, scalar, at);
        let (mask, infinity) = match scalar {
            Scalar::Uint64 => (Part::Uint64(u64::MAX >> 1), Part::Uint64(f64::INFINITY.to_bits())),
            _ => (Part::Uint(u32::MAX >> 1), Part::Uint(f32::INFINITY.to_bits())),
        };
        let all = |lower: &mut Self, part: Part| {
            let one = Value { handle: lower.literal(part.literal(), at), ty: Ty::Scalar(scalar) };
            lower.splat(one, value.ty.width().unwrap_or(1), at)
        };
        let (mask, infinity) = (all(self, mask), all(self, infinity));
        let bits = self.op(Op::And, &bits, &mask, bits.ty.clone(), at);
        let op = if nan { Op::Greater } else { Op::Equal };
        self.op(op, &bits, &infinity, value.ty.with(Scalar::Bool), at)
    }

    /// Two numbers as one; the first is the lower half.
    fn join(&mut self, pair: &Value, to: &Ty, at: At) -> Value {
        let (from, scalar) = (pair.ty.scalar().unwrap_or(Scalar::Uint), to.scalar().unwrap_or(Scalar::Uint));
        let unsigned = self.bitcast(pair, from.integer(false), at);
        let wide = self.cast(&unsigned, scalar.integer(false), at);
        let ty = Ty::Scalar(scalar.integer(false));
        let (low, high) = (self.extract(&wide, 0, ty.clone(), at), self.extract(&wide, 1, ty.clone(), at));
        let by = self.uint(if from.bytes() == 4 { 32 } else { 16 }, at);
        let high = self.op(Op::ShiftLeft, &high, &by, ty.clone(), at);
        let both = self.op(Op::InclusiveOr, &low, &high, ty, at);
        self.bitcast(&both, scalar, at)
    }

    /// One number as two; the first is the lower half.
    fn divide(&mut self, whole: &Value, to: &Ty, at: At) -> Value {
        let (from, scalar) = (whole.ty.scalar().unwrap_or(Scalar::Uint), to.scalar().unwrap_or(Scalar::Uint));
        let bits = self.bitcast(whole, from.integer(false), at);
        let by = self.uint(if scalar.bytes() == 4 { 32 } else { 16 }, at);
        let high = self.op(Op::ShiftRight, &bits, &by, bits.ty.clone(), at);
        let half = |lower: &mut Self, part: &Value| lower.cast(part, scalar.integer(false), at).handle;
        let components = vec![half(self, &bits), half(self, &high)];
        let ty = Ty::Vector(scalar.integer(false), 2);
        let handle = self.value_type(&ty);
        let both = self.value(Expression::Compose { ty: handle, components }, ty, at);
        self.bitcast(&both, scalar, at)
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
                    _ if a.ty.width() == Some(1) => return Ok(None),
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
                let both = self.alike(values, at)?;
                let [a, b] = both.as_slice() else { return Ok(None) };
                self.math(if name == "min" { Math::Min } else { Math::Max }, &[a, b], a.ty.clone(), at)
            }
            "dot" => {
                let (a, b) = float(self, values)?;
                let one = Ty::Scalar(a.ty.scalar().unwrap_or(Scalar::Float));
                if a.ty == one { self.op(Op::Multiply, &a, &b, one, at) } else { self.math(Math::Dot, &[&a, &b], one, at) }
            }
            "distance" => {
                let (a, b) = float(self, values)?;
                let difference = self.op(Op::Subtract, &a, &b, a.ty.clone(), at);
                let one = Ty::Scalar(a.ty.scalar().unwrap_or(Scalar::Float));
                let fun = if a.ty == one { Math::Abs } else { Math::Length };
                self.math(fun, &[&difference], one, at)
            }
            "cross" => {
                let (a, b) = float(self, values)?;
                if a.ty.width() != Some(3) {
                    return Ok(None);
                }
                self.math(Math::Cross, &[&a, &b], a.ty.clone(), at)
            }
            "ldexp" => {
                let [x, e] = values.as_slice() else { return Ok(None) };
                let x = self.floats(vec![x.clone()], at)?.remove(0);
                let e = self.implicit(e.clone(), &x.ty.with(Scalar::Int), at)?;
                self.math(Math::Ldexp, &[&x, &e], x.ty.clone(), at)
            }
            "matrixCompMult" | "outerProduct" => return self.of_matrices(name, &values, at),
            _ => return Ok(None),
        }))
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
                let one = Ty::Scalar(i.ty.scalar().unwrap_or(Scalar::Float));
                if i.ty == one || eta.ty.width() != Some(1) {
                    return Ok(None);
                }
                let eta = self.implicit(eta, &one, at)?;
                return Ok(Some(self.math(Math::Refract, &[i, n, &eta], i.ty.clone(), at)));
            }
            "clamp" => {
                let all = self.alike(values, at)?;
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
        if fun == Math::FaceForward && a.ty.width() == Some(1) {
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
}
