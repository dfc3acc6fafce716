//! Evaluates an expression on its tokens. Recursion is bounded by what `scan` lets through.

use std::ops::Range;
use std::rc::Rc;

use crate::math::round_to_f16;

use super::builtins;
use super::names::{Declared, Names};
use super::operators::{self, Operator};
use super::value::{Kind, MAX_ELEMENTS, No, Result, Scalar, Type, Value, common};
use crate::scan::{Kind as Token, Scanned};

/// Structures and arrays inside each other, in types.
const MAX_DEPTH: u32 = 16;

/// Where an evaluation is.
pub(super) struct Eval<'e, 'a> {
    pub(super) scanned: &'e Scanned<'a>,
    pub(super) names: &'e mut Names<'a>,
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'a> Eval<'_, 'a> {
    /// The value of the tokens of a range, all of them.
    pub(super) fn whole(scanned: &Scanned<'a>, names: &mut Names<'a>, tokens: Range<usize>) -> Result<Value> {
        let mut eval = Eval { scanned, names, at: tokens.start, end: tokens.end };
        let value = eval.expression()?;
        if eval.at == eval.end { Ok(value) } else { Err(No::Unknown) }
    }

    fn text(&self, ahead: usize) -> &'a str {
        if self.at + ahead < self.end { self.scanned.text(self.at + ahead) } else { "" }
    }

    fn take(&mut self, text: &str) -> Result<()> {
        if self.text(0) != text {
            return Err(No::Unknown);
        }
        self.at += 1;
        Ok(())
    }

    fn touches(&self, ahead: usize) -> bool {
        let (left, right) = (self.scanned.range(self.at + ahead), self.scanned.range(self.at + ahead + 1));
        left.zip(right).is_some_and(|(l, r)| l.end == r.start)
    }

    /// The operator here and its tokens.
    fn operator(&self) -> Option<(Operator, usize)> {
        use Operator as O;
        let second = if self.touches(0) { self.text(1) } else { "" };
        Some(match (self.text(0), second) {
            ("|", "|") => (O::Or, 2),
            ("&", "&") => (O::And, 2),
            ("=", "=") => (O::Equal, 2),
            ("!", "=") => (O::NotEqual, 2),
            ("<", "<") => (O::ShiftLeft, 2),
            (">", ">") => (O::ShiftRight, 2),
            ("<", "=") => (O::LessEqual, 2),
            (">", "=") => (O::GreaterEqual, 2),
            ("|", _) => (O::BitOr, 1),
            ("^", _) => (O::BitXor, 1),
            ("&", _) => (O::BitAnd, 1),
            ("<", _) => (O::Less, 1),
            (">", _) => (O::Greater, 1),
            ("+", _) => (O::Add, 1),
            ("-", _) => (O::Subtract, 1),
            ("*", _) => (O::Multiply, 1),
            ("/", _) => (O::Divide, 1),
            ("%", _) => (O::Remainder, 1),
            _ => return None,
        })
    }

    fn expression(&mut self) -> Result<Value> {
        self.binary(0)
    }

    fn binary(&mut self, least: u8) -> Result<Value> {
        let mut left = self.unary()?;
        while let Some((operator, tokens)) = self.operator().filter(|o| o.0.strength() > least) {
            self.at += tokens;
            let right = self.binary(operator.strength())?;
            left = operators::binary(operator, &left, &right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Value> {
        let start = self.at;
        while matches!(self.text(0), "-" | "!" | "~") {
            self.at += 1;
        }
        let signs = start..self.at;
        let mut value = self.postfix()?;
        for sign in signs.rev() {
            value = operators::unary(self.scanned.text(sign), &value)?;
        }
        Ok(value)
    }

    pub(super) fn postfix(&mut self) -> Result<Value> {
        let mut value = self.primary()?;
        loop {
            match self.text(0) {
                "." => {
                    value = member(&value, self.text(1))?;
                    self.at += 2;
                }
                "[" => {
                    self.at += 1;
                    let index = self.expression()?.scalar()?.convert(Kind::AbstractInt).or(Err(No::Unknown));
                    let index = index.and_then(|i| if let Scalar::AbstractInt(i) = i { Ok(i) } else { Err(No::Unknown) });
                    self.take("]")?;
                    value = element(&value, index?)?;
                }
                _ => return Ok(value),
            }
        }
    }

    /// A literal, a name, a bracket or a call, without what follows it.
    pub(super) fn primary(&mut self) -> Result<Value> {
        let word = self.text(0);
        match self.scanned.kind(self.at).filter(|_| !word.is_empty()) {
            Some(Token::Number) => {
                self.at += 1;
                literal(word).map(Value::Scalar).ok_or(No::Unknown)
            }
            Some(Token::Open) if word == "(" => {
                self.at += 1;
                let value = self.expression()?;
                self.take(")")?;
                Ok(value)
            }
            Some(Token::Word) if matches!(word, "true" | "false") => {
                self.at += 1;
                Ok(Value::Scalar(Scalar::Bool(word == "true")))
            }
            Some(Token::Word) => self.word(word),
            _ => Err(No::Unknown),
        }
    }

    fn word(&mut self, word: &'a str) -> Result<Value> {
        match self.names.look_up(word) {
            Some(Declared::Value(value)) => {
                self.at += 1;
                Ok(value)
            }
            Some(Declared::Constant) => {
                self.at += 1;
                // What is wrong with it is told where it is declared.
                self.names.constant(self.scanned, word).map_err(|no| if let No::PastHalves(_) = no { No::Unknown } else { no })
            }
            Some(Declared::Other) => Err(No::Unknown),
            None if word == "bitcast" => self.bitcast(),
            None if self.text(1) == "(" && self.is_function(word) => {
                self.at += 1;
                let arguments = self.arguments()?;
                builtins::call(word, &arguments)
            }
            None | Some(Declared::Type) => {
                let ty = self.ty(0)?;
                let arguments = self.arguments()?;
                self.construct(&ty, arguments)
            }
        }
    }

    fn is_function(&self, word: &str) -> bool {
        let made = ["vec", "mat", "array"].iter().any(|prefix| word.starts_with(prefix)) || kind(word).is_some();
        !made && !matches!(self.names.look_up(word), Some(Declared::Type))
    }

    fn arguments(&mut self) -> Result<Vec<Value>> {
        self.take("(")?;
        let mut arguments = Vec::new();
        while self.text(0) != ")" {
            arguments.push(self.expression()?);
            if self.text(0) != "," {
                break;
            }
            self.at += 1;
        }
        self.take(")")?;
        Ok(arguments)
    }

    fn bitcast(&mut self) -> Result<Value> {
        self.at += 1;
        self.take("<")?;
        let to = self.ty(0)?;
        self.take(">")?;
        let [from] = <[_; 1]>::try_from(self.arguments()?).map_err(|_| No::Unknown)?;
        let (count, kind) = match to {
            Type::Scalar(kind) => (1, kind),
            Type::Vector(count, Some(kind)) => (count, kind),
            _ => return Err(No::Unknown),
        };
        let lanes = from.lanes()?;
        if lanes.len() != count {
            return Err(No::Unknown);
        }
        // Numbers that an integer does not hold are infinite or none as floats: they exist at run time only.
        let lanes = lanes.iter().map(|s| bitcast_source(*s, kind)?.bits().and_then(|b| Scalar::from_bits(b, kind)));
        let lanes = lanes.collect::<Result<Vec<_>>>()?;
        if lanes.iter().any(|s| matches!(s, Scalar::F32(x) if !x.is_finite())) { Err(No::Unknown) } else { Ok(Value::of(lanes)) }
    }

    /// The type that is named here.
    pub(super) fn ty(&mut self, depth: u32) -> Result<Type> {
        let word = self.text(0);
        if depth > MAX_DEPTH {
            return Err(No::Unknown);
        }
        if let Some(Declared::Type) = self.names.look_up(word) {
            self.at += 1;
            return self.names.ty(self.scanned, word, depth + 1);
        }
        if self.names.look_up(word).is_some() {
            return Err(No::Unknown);
        }
        self.at += 1;
        if let Some(kind) = kind(word) {
            return Ok(Type::Scalar(kind));
        }
        if word == "array" {
            return self.array(depth);
        }
        let (shape, suffix) = shape(word).ok_or(No::Unknown)?;
        let scalar = match suffix {
            "" if self.text(0) == "<" => {
                self.at += 1;
                let Type::Scalar(kind) = self.ty(depth + 1)? else { return Err(No::Unknown) };
                self.end_of_list()?;
                Some(kind)
            }
            "" => None,
            "f" => Some(Kind::F32),
            "h" => Some(Kind::F16),
            "i" => Some(Kind::I32),
            "u" => Some(Kind::U32),
            _ => return Err(No::Unknown),
        };
        Ok(match shape {
            (n, None) => Type::Vector(n, scalar),
            (columns, Some(rows)) => Type::Matrix(columns, rows, scalar),
        })
    }

    fn array(&mut self, depth: u32) -> Result<Type> {
        if self.text(0) != "<" {
            return Ok(Type::Array(None));
        }
        self.at += 1;
        let element = self.ty(depth + 1)?;
        self.take(",")?;
        // An operator that ends a template list would be taken for a comparison: sizes are what additions make.
        let count = self.binary(Operator::ShiftRight.strength())?.scalar()?.convert(Kind::U32).or(Err(No::Unknown));
        let count = match self.names.integer(count?) {
            Some(n) if n <= MAX_ELEMENTS => n,
            _ => return Err(No::Unknown),
        };
        self.end_of_list()?;
        Ok(Type::Array(Some(Rc::new((element, count)))))
    }

    fn end_of_list(&mut self) -> Result<()> {
        if self.text(0) == "," {
            self.at += 1;
        }
        self.take(">")
    }

    fn construct(&mut self, ty: &Type, a: Vec<Value>) -> Result<Value> {
        if a.is_empty() {
            return self.zero(ty);
        }
        match ty {
            Type::Scalar(kind) => match &a[..] {
                [Value::Scalar(s)] => Ok(Value::Scalar(s.cast(*kind)?)),
                _ => Err(No::Unknown),
            },
            Type::Vector(count, kind) => vector(*count, *kind, &a),
            Type::Matrix(columns, rows, kind) => matrix(*columns, *rows, *kind, &a),
            Type::Array(None) => {
                self.names.spend(a.len())?;
                let scalars: Vec<Scalar> = a.iter().flat_map(Value::scalars).collect();
                let a = match common(scalars.iter().map(|s| s.kind())) {
                    Ok(kind) => a.iter().map(|v| v.to_kind(kind)).collect::<Result<Vec<_>>>()?,
                    Err(_) => a,
                };
                Ok(Value::Array(a.into()))
            }
            Type::Array(Some(_)) => {
                self.names.spend(a.len())?;
                Value::Array(a.into()).to_type(ty)
            }
            Type::Struct(name, members) if members.len() == a.len() => {
                let values = members.iter().zip(&a).map(|((name, ty), v)| Ok((Rc::clone(name), v.to_type(ty)?)));
                Ok(Value::Struct(Rc::clone(name), values.collect::<Result<_>>()?))
            }
            Type::Struct(..) => Err(No::Unknown),
        }
    }

    fn zero(&mut self, ty: &Type) -> Result<Value> {
        let scalar = |kind: Option<Kind>, without: Kind| {
            Scalar::AbstractInt(0).convert(kind.unwrap_or(without)).or(if kind == Some(Kind::Bool) {
                Ok(Scalar::Bool(false))
            } else {
                Err(No::Unknown)
            })
        };
        Ok(match ty {
            Type::Scalar(kind) => Value::Scalar(scalar(Some(*kind), *kind)?),
            Type::Vector(n, kind) => Value::Vector(vec![scalar(*kind, Kind::AbstractInt)?; *n]),
            Type::Matrix(columns, rows, kind) => Value::Matrix(vec![vec![scalar(*kind, Kind::AbstractFloat)?; *rows]; *columns]),
            Type::Array(None) => return Err(No::Unknown),
            Type::Array(Some(of)) => {
                self.names.spend(of.1)?;
                Value::Array(vec![self.zero(&of.0)?; of.1].into())
            }
            Type::Struct(name, members) => {
                let mut values = Vec::with_capacity(members.len());
                for (name, ty) in members.iter() {
                    values.push((Rc::clone(name), self.zero(ty)?));
                }
                Value::Struct(Rc::clone(name), values.into())
            }
        })
    }
}

/// An abstract integer has the bits of an i32, or of a u32 where only that holds it.
fn bitcast_source(s: Scalar, to: Kind) -> Result<Scalar> {
    match s {
        Scalar::AbstractInt(_) => {
            s.convert(if to == Kind::U32 { Kind::U32 } else { Kind::I32 }).or_else(|_| s.convert(Kind::I32))
        }
        _ => Ok(s),
    }
}

fn vector(count: usize, kind: Option<Kind>, a: &[Value]) -> Result<Value> {
    if let ([Value::Vector(v)], Some(kind)) = (a, kind)
        && v.len() == count
    {
        return Ok(Value::Vector(v.iter().map(|s| s.cast(kind)).collect::<Result<_>>()?));
    }
    let mut lanes = Vec::with_capacity(count);
    for value in a {
        lanes.extend_from_slice(value.lanes()?);
    }
    if let ([Value::Scalar(s)], true) = (a, lanes.len() == 1) {
        lanes = vec![*s; count];
    }
    if lanes.len() != count {
        return Err(No::Unknown);
    }
    let kind = kind.map_or_else(|| common(lanes.iter().map(|s| s.kind())), Ok)?;
    Ok(Value::Vector(lanes.iter().map(|s| s.convert(kind)).collect::<Result<_>>()?))
}

fn matrix(columns: usize, rows: usize, kind: Option<Kind>, a: &[Value]) -> Result<Value> {
    let scalars: Vec<Scalar> = a.iter().flat_map(Value::scalars).collect();
    let shaped = match a {
        [Value::Matrix(m)] => m.len() == columns && m.iter().all(|c| c.len() == rows),
        _ => {
            a.iter().all(|v| matches!(v, Value::Scalar(_))) || a.iter().all(|v| matches!(v, Value::Vector(l) if l.len() == rows))
        }
    };
    if !shaped || scalars.len() != columns * rows {
        return Err(No::Unknown);
    }
    let kind = kind.map_or_else(|| common(scalars.iter().map(|s| s.kind())), Ok)?;
    let kind = if kind == Kind::AbstractInt { Kind::AbstractFloat } else { kind };
    let scalars = scalars.iter().map(|s| s.convert(kind)).collect::<Result<Vec<_>>>()?;
    Ok(Value::Matrix(scalars.chunks(rows.max(1)).map(<[Scalar]>::to_vec).collect()))
}

fn member(value: &Value, name: &str) -> Result<Value> {
    if let Value::Struct(_, members) = value {
        return members.iter().find(|m| &*m.0 == name).map(|m| m.1.clone()).ok_or(No::Unknown);
    }
    let Value::Vector(v) = value else { return Err(No::Unknown) };
    let lane = |c: char| "xyzw".find(c).or_else(|| "rgba".find(c)).and_then(|i| v.get(i).copied()).ok_or(No::Unknown);
    if name.is_empty() || name.len() > 4 {
        return Err(No::Unknown);
    }
    Ok(Value::of(name.chars().map(lane).collect::<Result<_>>()?))
}

fn element(value: &Value, index: i64) -> Result<Value> {
    let index = usize::try_from(index).map_err(|_| No::Unknown)?;
    let found = match value {
        Value::Vector(v) => v.get(index).map(|s| Value::Scalar(*s)),
        Value::Matrix(m) => m.get(index).map(|c| Value::Vector(c.clone())),
        Value::Array(a) => a.get(index).cloned(),
        Value::Scalar(_) | Value::Struct(..) => None,
    };
    found.ok_or(No::Unknown)
}

fn kind(word: &str) -> Option<Kind> {
    Some(match word {
        "bool" => Kind::Bool,
        "i16" => Kind::I16,
        "i32" => Kind::I32,
        "i64" => Kind::I64,
        "u32" => Kind::U32,
        "u64" => Kind::U64,
        "f16" => Kind::F16,
        "f32" => Kind::F32,
        "f64" => Kind::F64,
        _ => return None,
    })
}

/// Components, or columns and rows, of a predeclared vector or matrix type, and the letter behind them.
fn shape(word: &str) -> Option<((usize, Option<usize>), &str)> {
    let digit = |text: &str| text.parse::<usize>().ok().filter(|n| (2..=4).contains(n));
    if let Some(rest) = word.strip_prefix("vec") {
        return Some(((digit(rest.get(..1)?)?, None), rest.get(1..)?));
    }
    let rest = word.strip_prefix("mat")?;
    if rest.get(1..2)? != "x" {
        return None;
    }
    Some(((digit(rest.get(..1)?)?, Some(digit(rest.get(2..3)?)?)), rest.get(3..)?))
}

/// The value of a numeric literal. `None` for what is not evaluated here.
fn literal(text: &str) -> Option<Scalar> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    if let Some((body, suffix)) = text.split_once('l') {
        return match suffix {
            "f" => body.parse().ok().filter(|x: &f64| x.is_finite()).map(Scalar::F64),
            "i" => body.parse().ok().map(Scalar::I64),
            "u" => body.parse().ok().map(Scalar::U64),
            _ => None,
        };
    }
    let (body, suffix) = match text.as_bytes().last()? {
        b'u' | b'i' | b'f' | b'h' => text.split_at(text.len() - 1),
        _ => (text, ""),
    };
    let whole = body.bytes().all(|b| b.is_ascii_digit());
    match suffix {
        "u" => body.parse().ok().map(Scalar::U32),
        "i" => body.parse().ok().map(Scalar::I32),
        "f" => body.parse().ok().filter(|x: &f32| x.is_finite()).map(Scalar::F32),
        // As the front end reads it: by way of an f32.
        "h" => body.parse().ok().map(round_to_f16).filter(|x| x.is_finite()).map(Scalar::F16),
        "" if whole => body.parse().ok().map(Scalar::AbstractInt),
        "" => body.parse().ok().filter(|x: &f64| x.is_finite()).map(Scalar::AbstractFloat),
        _ => None,
    }
}

fn hexadecimal(digits: &str) -> Option<Scalar> {
    if !digits.contains(['.', 'p', 'P']) {
        return match digits.as_bytes().last()? {
            b'u' => u32::from_str_radix(&digits[..digits.len() - 1], 16).ok().map(Scalar::U32),
            b'i' => i32::from_str_radix(&digits[..digits.len() - 1], 16).ok().map(Scalar::I32),
            _ => i64::from_str_radix(digits, 16).ok().map(Scalar::AbstractInt),
        };
    }
    let (mantissa, exponent) = digits.split_once(['p', 'P']).unwrap_or((digits, "0"));
    let (exponent, single) = exponent.strip_suffix('f').map_or((exponent, false), |e| (e, true));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok().filter(|b| *b < 1 << 53)?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    let value = bits as f64 * f64::exp2(f64::from(exponent.clamp(-1000, 1000)));
    let narrow = value as f32;
    match single {
        true if f64::from(narrow) == value => Some(Scalar::F32(narrow)),
        false if value.is_finite() => Some(Scalar::AbstractFloat(value)),
        _ => None,
    }
}
