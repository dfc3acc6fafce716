//! Expressions, by precedence.

use super::*;
use crate::front::glsl::part::Part;
use crate::front::glsl::types::Scalar;

/// Binding strength and operator; the weakest is 1.
fn binary(text: &str) -> Option<(u8, Binary)> {
    Some(match text {
        "||" => (1, Binary::LogicalOr),
        "^^" => (2, Binary::LogicalXor),
        "&&" => (3, Binary::LogicalAnd),
        "|" => (4, Binary::Or),
        "^" => (5, Binary::Xor),
        "&" => (6, Binary::And),
        "==" => (7, Binary::Equal),
        "!=" => (7, Binary::NotEqual),
        "<" => (8, Binary::Less),
        ">" => (8, Binary::Greater),
        "<=" => (8, Binary::LessEqual),
        ">=" => (8, Binary::GreaterEqual),
        "<<" => (9, Binary::ShiftLeft),
        ">>" => (9, Binary::ShiftRight),
        "+" => (10, Binary::Add),
        "-" => (10, Binary::Subtract),
        "*" => (11, Binary::Multiply),
        "/" => (11, Binary::Divide),
        "%" => (11, Binary::Modulo),
        _ => return None,
    })
}

fn assignment(text: &str) -> Option<Option<Binary>> {
    Some(match text {
        "=" => None,
        "+=" => Some(Binary::Add),
        "-=" => Some(Binary::Subtract),
        "*=" => Some(Binary::Multiply),
        "/=" => Some(Binary::Divide),
        "%=" => Some(Binary::Modulo),
        "<<=" => Some(Binary::ShiftLeft),
        ">>=" => Some(Binary::ShiftRight),
        "&=" => Some(Binary::And),
        "|=" => Some(Binary::Or),
        "^=" => Some(Binary::Xor),
        _ => return None,
    })
}

impl Parser<'_> {
    fn make(&self, kind: ExprKind, from: At) -> Parsed<Expr> {
        let deepest = |list: &[Expr]| list.iter().map(|e| e.depth).max().unwrap_or(0);
        let below = match &kind {
            ExprKind::Unary(_, e) | ExprKind::Length(e) | ExprKind::Member(e, _) | ExprKind::Step { target: e, .. } => e.depth,
            ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Comma(a, b) | ExprKind::Index(a, b) => {
                a.depth.max(b.depth)
            }
            ExprKind::Choose(a, b, c) => a.depth.max(b.depth).max(c.depth),
            ExprKind::Call(_, list) | ExprKind::Construct(_, list) | ExprKind::List(list) => deepest(list),
            _ => 0,
        };
        let at = self.since(from);
        if below >= MAX_OPERATORS {
            let message = format!(
                "this expression is too long: at most {MAX_OPERATORS} operators, calls and members may depend on each other; split it"
            );
            return Err(Wrong::new(message, at));
        }
        Ok(Expr { kind, at, depth: below + 1 })
    }

    /// What recurses counts: brackets, `?:` and assignments inside each other.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.brackets += 1;
        if self.brackets > MAX_BRACKETS {
            let message = format!("brackets are nested too deeply here: at most {MAX_BRACKETS} may be inside each other");
            return Err(Wrong::new(message, self.here()));
        }
        let made = parse(self);
        self.brackets -= 1;
        made
    }

    /// With commas.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let from = self.here();
        let mut left = self.assignment()?;
        while self.eat(",") {
            let right = self.assignment()?;
            left = self.make(ExprKind::Comma(Box::new(left), Box::new(right)), from)?;
        }
        Ok(left)
    }

    fn assignment(&mut self) -> Parsed<Expr> {
        let from = self.here();
        let target = self.conditional()?;
        let Some(operator) = assignment(self.text(0)) else { return Ok(target) };
        self.at += 1;
        let value = self.deeper(Self::assignment)?;
        self.make(ExprKind::Assign(operator, Box::new(target), Box::new(value)), from)
    }

    /// Without assignments: what stands in array sizes and labels too.
    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        let from = self.here();
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let accept = self.deeper(Self::expression)?;
        self.expect(":")?;
        let reject = self.deeper(Self::assignment)?;
        self.make(ExprKind::Choose(Box::new(condition), Box::new(accept), Box::new(reject)), from)
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let from = self.here();
        let mut left = self.unary()?;
        while let Some((strength, operator)) = binary(self.text(0)).filter(|(s, _)| *s > least) {
            self.at += 1;
            let right = self.binary(strength)?;
            left = self.make(ExprKind::Binary(operator, Box::new(left), Box::new(right)), from)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let mut signs = Vec::new();
        while matches!(self.text(0), "+" | "-" | "!" | "~" | "++" | "--") {
            signs.push((self.text(0), self.here()));
            self.at += 1;
        }
        let mut expr = self.postfix()?;
        while let Some((sign, from)) = signs.pop() {
            let inner = Box::new(expr);
            let kind = match sign {
                "+" => ExprKind::Unary(Unary::Plus, inner),
                "-" => ExprKind::Unary(Unary::Minus, inner),
                "!" => ExprKind::Unary(Unary::Not, inner),
                "~" => ExprKind::Unary(Unary::Complement, inner),
                _ => ExprKind::Step { target: inner, increment: sign == "++", after: false },
            };
            expr = self.make(kind, from)?;
        }
        Ok(expr)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let from = self.here();
        let mut expr = self.primary()?;
        loop {
            let kind = match self.text(0) {
                "[" => {
                    self.at += 1;
                    let index = self.deeper(Self::expression)?;
                    self.expect("]")?;
                    ExprKind::Index(Box::new(expr), Box::new(index))
                }
                "." => {
                    self.at += 1;
                    if self.text(0) == "length" && self.text(1) == "(" {
                        self.at += 2;
                        self.expect(")")?;
                        ExprKind::Length(Box::new(expr))
                    } else {
                        let (name, _) = self.identifier("the name of a member")?;
                        ExprKind::Member(Box::new(expr), name)
                    }
                }
                sign @ ("++" | "--") => {
                    self.at += 1;
                    ExprKind::Step { target: Box::new(expr), increment: sign == "++", after: true }
                }
                _ => return Ok(expr),
            };
            expr = self.make(kind, from)?;
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let from = self.here();
        let Some(token) = self.token(0) else { return self.wrong("an expression") };
        let text = self.text(0);
        if token.kind == Kind::Number {
            self.at += 1;
            let kind = number(text).unwrap_or_else(|message| {
                self.findings.note(Wrong::new(message, token.at));
                ExprKind::Lost
            });
            return self.make(kind, from);
        }
        if token.kind == Kind::Lost {
            self.at += 1;
            return self.make(ExprKind::Lost, from);
        }
        if token.kind == Kind::Text {
            self.at += 1;
            return self.make(ExprKind::Text(token.name), from);
        }
        if text == "(" {
            self.at += 1;
            let inner = self.deeper(Self::expression)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if text == "true" || text == "false" {
            self.at += 1;
            return self.make(ExprKind::Number(Part::Bool(text == "true")), from);
        }
        if self.is_type(0) {
            let ty = self.type_name()?;
            let arguments = self.arguments()?;
            return self.make(ExprKind::Construct(ty, arguments), from);
        }
        let (name, _) = self.identifier("an expression")?;
        if self.text(0) == "(" {
            let arguments = self.arguments()?;
            return self.make(ExprKind::Call(name, arguments), from);
        }
        self.make(ExprKind::Name(name), from)
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        if self.text(0) == "void" && self.text(1) == ")" {
            self.at += 1;
        }
        self.list(")")
    }

    /// Expressions with commas between them, up to the sign that closes.
    fn list(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        while !self.eat(close) {
            if !list.is_empty() {
                self.expect(",")?;
                if close == "}" && self.eat(close) {
                    break;
                }
            }
            list.push(self.deeper(|p| if close == "}" { p.initializer() } else { p.assignment() })?);
        }
        Ok(list)
    }

    /// What stands after the `=` of a declaration.
    pub(super) fn initializer(&mut self) -> Parsed<Expr> {
        let from = self.here();
        if !self.eat("{") {
            return self.assignment();
        }
        let list = self.list("}")?;
        self.make(ExprKind::List(list), from)
    }
}

fn number(text: &str) -> Result<ExprKind, String> {
    let lower = text.to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    let part = if !hex && (lower.contains(['.', 'e']) || lower.ends_with('f')) { real(&lower) } else { whole(&lower) };
    part.map(ExprKind::Number).map_err(|what| format!("`{text}` is not a number {what}"))
}

fn real(lower: &str) -> Result<Part, &'static str> {
    let (digits, scalar) = match (lower.strip_suffix("lf"), lower.strip_suffix("hf")) {
        (Some(digits), _) => (digits, Scalar::Double),
        (_, Some(digits)) => (digits, Scalar::Half),
        _ => (lower.strip_suffix('f').unwrap_or(lower), Scalar::Float),
    };
    let digits = if digits.starts_with(|c: char| c == '.' || c.is_ascii_digit()) { digits } else { "" };
    // Each is read by itself, for a number that is rounded twice is not the nearest.
    let (part, finite) = match scalar {
        Scalar::Double => digits.parse::<f64>().map(|v| (Part::Double(v.to_bits()), v.is_finite())),
        Scalar::Half => digits.parse::<half::f16>().map(|v| (Part::Half(v.to_bits()), v.is_finite())),
        _ => digits.parse::<f32>().map(|v| (Part::Float(v.to_bits()), v.is_finite())),
    }
    .map_err(|_| "that a float can hold")?;
    if finite { Ok(part) } else { Err("that a float can hold") }
}

fn whole(lower: &str) -> Result<Part, &'static str> {
    let (rest, bits) = match (lower.strip_suffix('l'), lower.strip_suffix('s')) {
        (Some(rest), _) => (rest, 64),
        (_, Some(rest)) => (rest, 16),
        _ => (lower, 32),
    };
    let (digits, unsigned) = match rest.strip_suffix('u') {
        Some(digits) => (digits, true),
        None => (rest, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse::<u64>(),
    };
    let what = match bits {
        16 => "of 16 bits",
        32 => "of 32 bits",
        _ => "of 64 bits",
    };
    let value = value.map_err(|_| what)?;
    // Without a `u` the bits are those of a signed number, as the language has it: `0xffffffff` is -1.
    Ok(match bits {
        16 => {
            let value = u16::try_from(value).map_err(|_| what)?;
            if unsigned { Part::Uint16(value) } else { Part::Int16(value.cast_signed()) }
        }
        32 => {
            let value = u32::try_from(value).map_err(|_| what)?;
            if unsigned { Part::Uint(value) } else { Part::Int(value.cast_signed()) }
        }
        _ if unsigned => Part::Uint64(value),
        _ => Part::Int64(value.cast_signed()),
    })
}
