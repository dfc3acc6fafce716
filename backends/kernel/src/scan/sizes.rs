//! The element counts of fixed arrays, evaluated on tokens. A front end that folds constants writes one entry per element of a zero value,
//! so a source of forty bytes could ask for gigabytes; this finds it first.

use std::collections::HashMap;
use std::ops::Range;

use super::lexer::Kind;
use super::{ArrayType, Scanned};
use crate::diagnostics::Finding;

/// Elements of one fixed array.
pub(crate) const MAX_ELEMENTS: i128 = 1 << 24;
/// Constants that mention each other in a chain longer than this are not followed.
const MAX_CHAIN: u32 = 64;
/// Nothing that fits an integer type of WGSL is larger.
const LARGEST: i128 = 1 << 64;

/// Elements by the word `array` of the type, with the `>` that ends it. Those that wait for an override constant are left out: they are no values.
pub(super) type Elements = HashMap<usize, (u64, usize)>;

/// Evaluates the size of each of `arrays`.
pub(super) fn check(scanned: &Scanned<'_>, arrays: &[ArrayType]) -> (Vec<Finding>, Elements) {
    let mut sizes = Sizes { constants: constants(scanned), known: HashMap::new() };
    let (mut findings, mut elements) = (Vec::new(), HashMap::new());
    for array in arrays {
        let value = match sizes.evaluate(scanned, array.count.clone(), 0) {
            Value::Unknown => sizes.with_functions(scanned, array.count.clone()),
            value => value,
        };
        findings.extend(finding(scanned, &array.count, value));
        if let Value::Known(n) = value {
            elements.insert(array.word, (u64::try_from(n).unwrap_or(0), array.close));
        }
    }
    (findings, elements)
}

fn finding(scanned: &Scanned<'_>, count: &Range<usize>, value: Value) -> Option<Finding> {
    let at = Some(scanned.range(count.start)?.start..scanned.range(count.end.checked_sub(1)?)?.end);
    let message = match value {
        Value::Known(n) if n > MAX_ELEMENTS => {
            format!(
                "an array of {n} elements is too large: at most {MAX_ELEMENTS} are allowed; for more use a runtime-sized array"
            )
        }
        Value::Unknown => {
            "this array size is not supported yet: it must be integer arithmetic on literals, constants and override constants"
                .to_owned()
        }
        Value::Known(_) | Value::Later => return None,
    };
    Some(Finding::new(message, at))
}

/// Where the values of names are, in tokens. A name declared in several scopes has several.
struct Constants<'a> {
    values: HashMap<&'a str, Vec<Range<usize>>>,
    overrides: Vec<&'a str>,
}

fn constants<'a>(scanned: &Scanned<'a>) -> Constants<'a> {
    let mut found = Constants { values: HashMap::new(), overrides: Vec::new() };
    let mut index = 0;
    while index < scanned.tokens.len() {
        match scanned.text(index) {
            "override" => found.overrides.push(scanned.text(index + 1)),
            "const" => {
                if let Some(value) = value_of(scanned, index) {
                    found.values.entry(scanned.text(index + 1)).or_default().push(value);
                }
            }
            _ => {}
        }
        index += 1;
    }
    found
}

/// How often a name is declared, as whatever.
fn declarations(scanned: &Scanned<'_>, name: &str) -> usize {
    let declares = |at: &usize| {
        let before = at.checked_sub(1).map_or("", |i| scanned.text(i));
        scanned.text(*at) == name
            && (matches!(before, "let" | "var" | "const" | "override" | "fn" | "struct" | "alias" | ">")
                || scanned.text(at + 1) == ":")
    };
    (0..scanned.len()).filter(declares).count()
}

/// The tokens between `=` and `;`.
fn value_of(scanned: &Scanned<'_>, declaration: usize) -> Option<Range<usize>> {
    let mut start = None;
    for index in declaration + 1..scanned.tokens.len() {
        match (scanned.kind(index)?, start) {
            (Kind::Semicolon, Some(start)) => return Some(start..index),
            (Kind::Semicolon | Kind::OpenBrace | Kind::CloseBrace, _) => return None,
            (Kind::Operator, None) if scanned.text(index) == "=" => start = Some(index + 1),
            (Kind::Word, _) if super::begins_declaration(scanned.text(index)) => return None,
            _ => {}
        }
    }
    None
}

/// What is known about a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Exactly, or for a name with several declarations the largest.
    Known(i128),
    /// Depends on an override constant: decided, and checked, when that has a value.
    Later,
    /// Not integer arithmetic.
    Unknown,
}

struct Sizes<'a> {
    constants: Constants<'a>,
    known: HashMap<&'a str, Value>,
}

impl<'a> Sizes<'a> {
    fn evaluate(&mut self, scanned: &Scanned<'a>, tokens: Range<usize>, chain: u32) -> Value {
        let mut parser = Parser { sizes: self, scanned, at: tokens.start, end: tokens.end, chain };
        let value = parser.binary(0);
        if parser.at == parser.end { value } else { Value::Unknown }
    }

    /// With everything that constants may be made of, when each name in it stands for one thing only wherever it is mentioned.
    fn with_functions(&self, scanned: &Scanned<'a>, tokens: Range<usize>) -> Value {
        let words = || tokens.clone().filter(|i| scanned.kind(*i) == Some(Kind::Word)).map(|i| scanned.text(i));
        if words().any(|word| self.constants.overrides.contains(&word)) {
            return Value::Later;
        }
        if words().any(|word| declarations(scanned, word) > 1) {
            return Value::Unknown;
        }
        crate::wgsl::count(scanned, tokens).map_or(Value::Unknown, Value::Known)
    }

    fn name(&mut self, scanned: &Scanned<'a>, name: &'a str, chain: u32) -> Value {
        if let Some(&value) = self.known.get(name) {
            return value;
        }
        if chain >= MAX_CHAIN {
            return Value::Unknown;
        }
        let mut value = if self.constants.overrides.contains(&name) { Value::Later } else { Value::Unknown };
        // Held while it is being worked out, so that a cycle ends here. A local constant may also hide, and mention, an outer one of
        // the same name: then nothing is known.
        self.known.insert(name, Value::Unknown);
        for (nth, tokens) in self.constants.values.get(name).cloned().unwrap_or_default().into_iter().enumerate() {
            let one = self.evaluate(scanned, tokens, chain + 1);
            value = match (nth, value, one) {
                (0, Value::Unknown, one) => one,
                (_, Value::Known(a), Value::Known(b)) => Value::Known(a.max(b)),
                (_, Value::Later, one) => one,
                (_, Value::Known(a), Value::Later) => Value::Known(a),
                _ => Value::Unknown,
            };
        }
        self.known.insert(name, value);
        value
    }
}

/// Precedence climbing. Its depth is bounded, for the brackets and operators of the source were bounded before.
struct Parser<'p, 'a> {
    sizes: &'p mut Sizes<'a>,
    scanned: &'p Scanned<'a>,
    at: usize,
    end: usize,
    chain: u32,
}

impl<'a> Parser<'_, 'a> {
    fn text(&self, ahead: usize) -> &'a str {
        if self.at + ahead < self.end { self.scanned.text(self.at + ahead) } else { "" }
    }

    /// The operator here, its binding strength, and how many tokens it has.
    fn operator(&self) -> Option<(char, u8, usize)> {
        match (self.text(0), self.text(1)) {
            ("<", "<") => Some(('l', 4, 2)),
            (">", ">") => Some(('r', 4, 2)),
            ("|", "|") | ("&", "&") => None,
            ("|", _) => Some(('|', 1, 1)),
            ("^", _) => Some(('^', 2, 1)),
            ("&", _) => Some(('&', 3, 1)),
            ("+", _) => Some(('+', 5, 1)),
            ("-", _) => Some(('-', 5, 1)),
            ("*", _) => Some(('*', 6, 1)),
            ("/", _) => Some(('/', 6, 1)),
            ("%", _) => Some(('%', 6, 1)),
            _ => None,
        }
    }

    fn binary(&mut self, least: u8) -> Value {
        let mut left = self.unary();
        while let Some((operator, strength, length)) = self.operator().filter(|o| o.1 >= least) {
            self.at += length;
            let right = self.binary(strength + 1);
            left = apply(operator, left, right);
        }
        left
    }

    fn unary(&mut self) -> Value {
        let mut negate = false;
        while self.text(0) == "-" || self.text(0) == "+" {
            negate ^= self.text(0) == "-";
            self.at += 1;
        }
        match self.primary() {
            Value::Known(n) if negate => Value::Known(-n),
            value => value,
        }
    }

    fn primary(&mut self) -> Value {
        let (index, word) = (self.at, self.text(0));
        if word.is_empty() {
            return Value::Unknown;
        }
        self.at += 1;
        match self.scanned.kind(index) {
            Some(Kind::Number) => literal(word),
            Some(Kind::Open) if word == "(" => {
                let value = self.binary(0);
                self.expect(")", value)
            }
            Some(Kind::Word) if self.text(0) == "(" => self.call(word),
            Some(Kind::Word) => self.sizes.name(self.scanned, word, self.chain),
            _ => Value::Unknown,
        }
    }

    fn expect(&mut self, text: &str, value: Value) -> Value {
        if self.text(0) != text {
            return Value::Unknown;
        }
        self.at += 1;
        value
    }

    /// Casts, and the functions of integers that a size is likely to use.
    fn call(&mut self, name: &str) -> Value {
        self.at += 1;
        let first = self.binary(0);
        match name {
            "u32" | "i32" => self.expect(")", first),
            "max" | "min" => {
                if self.expect(",", first) == Value::Unknown {
                    return Value::Unknown;
                }
                let second = self.binary(0);
                let value = both(first, second, |a, b| Some(if name == "max" { a.max(b) } else { a.min(b) }));
                self.expect(")", value)
            }
            _ => Value::Unknown,
        }
    }
}

fn both(left: Value, right: Value, f: impl Fn(i128, i128) -> Option<i128>) -> Value {
    match (left, right) {
        (Value::Known(a), Value::Known(b)) => match f(a, b) {
            Some(n) if n.abs() <= LARGEST => Value::Known(n),
            // Out of range of every integer type: the front end refuses it. Zero divisors too.
            _ => Value::Known(LARGEST),
        },
        (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
        _ => Value::Later,
    }
}

fn apply(operator: char, left: Value, right: Value) -> Value {
    both(left, right, |a, b| match operator {
        '+' => a.checked_add(b),
        '-' => a.checked_sub(b),
        '*' => a.checked_mul(b),
        '/' => a.checked_div(b),
        '%' => a.checked_rem(b),
        'l' => u32::try_from(b).ok().filter(|&b| b < 64).and_then(|b| a.checked_mul(1i128 << b)),
        'r' => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        '&' => Some(a & b),
        '|' => Some(a | b),
        _ => Some(a ^ b),
    })
}

fn literal(text: &str) -> Value {
    let body = text.strip_suffix(['u', 'i']).map_or(text, |body| body.strip_suffix('l').unwrap_or(body));
    let parsed = match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => body.parse::<i128>(),
    };
    match parsed {
        Ok(n) => Value::Known(n.min(LARGEST)),
        Err(_) => Value::Unknown,
    }
}
