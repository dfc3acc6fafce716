//! Formats of prints: what their literals ask for, and the text of a line from the words of its arguments.

use std::fmt::Write as _;

use naga::{Scalar, ScalarKind};

/// Longest width and precision that are allowed: lines stay small whatever the kernel prints.
const WIDEST: usize = 99;

/// The literal of a print, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Format {
    pieces: Vec<Piece>,
    /// What the values are, in their order.
    pub(crate) arguments: Vec<Argument>,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) scalar: Scalar,
    /// 1 for a scalar, 2 to 4 for a vector.
    pub(crate) components: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Value(Conversion, Argument),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conversion {
    kind: u8,
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

/// What is wrong with a literal, and at which byte of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Argument {
    /// Words that it takes in a line.
    pub(super) fn words(&self) -> u32 {
        self.components * if self.scalar.width == 8 { 2 } else { 1 }
    }

    /// Its type as WGSL and GLSL write it.
    pub(crate) fn names(&self) -> (String, String) {
        let (wgsl, glsl, prefix) = match (self.scalar.kind, self.scalar.width) {
            (ScalarKind::Sint, 8) => ("i64", "int64_t", "i64"),
            (ScalarKind::Uint, 8) => ("u64", "uint64_t", "u64"),
            (ScalarKind::Float, 8) => ("f64", "double", "d"),
            (ScalarKind::Sint, _) => ("i32", "int", "i"),
            (ScalarKind::Uint, _) => ("u32", "uint", "u"),
            _ => ("f32", "float", ""),
        };
        match self.components {
            1 => (wgsl.into(), glsl.into()),
            n => (format!("vec{n}<{wgsl}>"), format!("{prefix}vec{n}")),
        }
    }
}

impl Format {
    /// Reads the inside of a string literal, escapes included.
    pub(crate) fn parse(literal: &str) -> Result<Self, Wrong> {
        let mut parser = Parser { bytes: literal.as_bytes(), at: 0 };
        let mut format = Self { pieces: Vec::new(), arguments: Vec::new() };
        let mut text = Vec::new();
        while let Some(byte) = parser.next() {
            match byte {
                b'\\' => text.extend(parser.escape()?),
                b'%' if parser.peek() == Some(b'%') => {
                    parser.at += 1;
                    text.push(b'%');
                }
                b'%' => {
                    format.pieces.push(Piece::Text(String::from_utf8_lossy(&std::mem::take(&mut text)).into_owned()));
                    let (conversion, argument) = parser.conversion()?;
                    format.pieces.push(Piece::Value(conversion, argument));
                    format.arguments.push(argument);
                }
                byte => text.push(byte),
            }
        }
        format.pieces.push(Piece::Text(String::from_utf8_lossy(&text).into_owned()));
        Ok(format)
    }

    /// The line for these words; missing ones are zero.
    pub(super) fn text(&self, words: &[u32]) -> String {
        let mut words = words.iter().copied();
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(conversion, argument) => {
                    for component in 0..argument.components {
                        if component > 0 {
                            out.push_str(", ");
                        }
                        let low = u64::from(words.next().unwrap_or(0));
                        let high = if argument.scalar.width == 8 { u64::from(words.next().unwrap_or(0)) } else { 0 };
                        out.push_str(&conversion.value(argument.scalar, high << 32 | low));
                    }
                }
            }
        }
        out
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn wrong<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { at, message: message.into() })
    }

    fn escape(&mut self) -> Result<Option<u8>, Wrong> {
        let at = self.at - 1;
        Ok(Some(match self.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(byte @ (b'\\' | b'"' | b'\'')) => byte,
            _ => return self.wrong(at, r#"this escape is not known; there are \n, \t, \r, \\, \" and \'"#),
        }))
    }

    fn number(&mut self) -> Result<Option<usize>, Wrong> {
        let start = self.at;
        let mut value: usize = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            self.at += 1;
        }
        if value > WIDEST {
            return self.wrong(start, format!("a width or precision may be {WIDEST} at most"));
        }
        Ok((self.at > start).then_some(value))
    }

    /// What follows a `%`.
    fn conversion(&mut self) -> Result<(Conversion, Argument), Wrong> {
        let start = self.at - 1;
        let mut out = Conversion::default();
        loop {
            match self.peek() {
                Some(b'-') => out.left = true,
                Some(b'+') => out.plus = true,
                Some(b' ') => out.space = true,
                Some(b'#') => out.alternate = true,
                Some(b'0') => out.zeros = true,
                _ => break,
            }
            self.at += 1;
        }
        out.width = self.number()?.unwrap_or(0);
        if self.take(b'.') {
            out.precision = Some(self.number()?.unwrap_or(0));
        }
        let components = if self.take(b'v') {
            match self.next() {
                Some(digit @ b'2'..=b'4') => u32::from(digit - b'0'),
                _ => return self.wrong(start, "`%v` takes 2, 3 or 4 and a conversion, as in `%v3f`"),
            }
        } else {
            1
        };
        let long = self.take(b'l');
        let Some(kind) = self.next() else {
            return self.wrong(start, "the format ends inside of a conversion; write `%%` for a percent sign");
        };
        // `%ul`, as some write it.
        let long = long || (kind == b'u' && self.take(b'l'));
        let (kind_of_scalar, width) = match kind {
            b'd' | b'i' => (ScalarKind::Sint, if long { 8 } else { 4 }),
            b'u' | b'x' | b'X' | b'o' => (ScalarKind::Uint, if long { 8 } else { 4 }),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => (ScalarKind::Float, if long { 8 } else { 4 }),
            b's' => return self.wrong(start, "`%s` is not possible: kernels have no strings"),
            _ => {
                let known = "there are d, i, u, x, X, o, f, e and g, with v2, v3 or v4 for vectors and l for 64 bits";
                return self.wrong(start, format!("this conversion is not known; {known}"));
            }
        };
        out.kind = kind;
        Ok((out, Argument { scalar: Scalar { kind: kind_of_scalar, width }, components }))
    }
}

impl Conversion {
    /// The text of one number.
    fn value(&self, scalar: Scalar, bits: u64) -> String {
        let wide = scalar.width == 8;
        let (negative, digits, finite) = match scalar.kind {
            ScalarKind::Sint => {
                let value = if wide { bits.cast_signed() } else { i64::from((bits as u32).cast_signed()) };
                (value < 0, self.integer(value.unsigned_abs()), true)
            }
            ScalarKind::Float => {
                let value = if wide { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) };
                (value.is_sign_negative() && !value.is_nan(), self.float(value.abs()), value.is_finite())
            }
            _ => (false, self.integer(bits), true),
        };
        let sign = match (negative, scalar.kind) {
            (true, _) => "-",
            (false, ScalarKind::Uint) => "",
            _ if self.plus => "+",
            _ if self.space => " ",
            _ => "",
        };
        // A precision of an integer says how many digits there are, so zeros do not fill the width.
        let fill = self.zeros && !self.left && finite && (scalar.kind == ScalarKind::Float || self.precision.is_none());
        let prefix = match self.kind {
            b'x' if self.alternate && bits != 0 => "0x",
            b'X' if self.alternate && bits != 0 => "0X",
            _ => "",
        };
        let room = self.width.saturating_sub(sign.len() + prefix.len());
        match (fill, self.left) {
            (true, _) => format!("{sign}{prefix}{digits:0>room$}"),
            (false, true) => format!("{:<width$}", format!("{sign}{prefix}{digits}"), width = self.width),
            (false, false) => format!("{:>width$}", format!("{sign}{prefix}{digits}"), width = self.width),
        }
    }

    fn integer(&self, value: u64) -> String {
        let digits = match self.kind {
            b'x' => format!("{value:x}"),
            b'X' => format!("{value:X}"),
            b'o' if self.alternate => format!("0{value:o}"),
            b'o' => format!("{value:o}"),
            _ => value.to_string(),
        };
        match self.precision {
            Some(0) if value == 0 => String::new(),
            Some(least) => format!("{digits:0>least$}"),
            None => digits,
        }
    }

    fn float(&self, value: f64) -> String {
        let upper = self.kind.is_ascii_uppercase();
        let text = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            let precision = self.precision.unwrap_or(6);
            match self.kind.to_ascii_lowercase() {
                b'e' => exponent(value, precision),
                b'g' => self.general(value, precision.max(1)),
                _ => format!("{value:.precision$}"),
            }
        };
        if upper { text.to_uppercase() } else { text }
    }

    /// `%g`: the shorter of both forms, without zeros at the end.
    fn general(&self, value: f64, precision: usize) -> String {
        let scientific = exponent(value, precision - 1);
        let power: i32 = scientific.rsplit_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
        let plain = power >= -4 && i64::from(power) < precision as i64;
        if plain {
            let decimals = (precision as i64 - 1 - i64::from(power)).max(0) as usize;
            return self.shorten(format!("{value:.decimals$}"));
        }
        match scientific.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", self.shorten(digits.to_owned())),
            None => scientific,
        }
    }

    fn shorten(&self, text: String) -> String {
        if self.alternate || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// `%e`: one digit before the point, an exponent of at least two digits.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let Some((digits, power)) = text.split_once('e') else { return text };
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    let mut out = digits.to_owned();
    let _ = write!(out, "e{sign}{power:0>2}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: &str, words: &[u32]) -> String {
        Format::parse(format).unwrap_or_else(|wrong| panic!("{format}: {wrong:?}")).text(words)
    }

    #[test]
    fn numbers_are_printed_as_c_prints_them() {
        let minus = -42_i32 as u32;
        for (format, words, expected) in [
            ("x = %d", vec![minus], "x = -42"),
            ("%i|%5d|%-5d|%05d|%+d|% d", vec![7, 7, 7, minus, 7, 7], "7|    7|7    |-0042|+7| 7"),
            ("%u %x %X %o %#x %#o", vec![u32::MAX, 255, 255, 8, 255, 8], "4294967295 ff FF 10 0xff 010"),
            ("%.3d|%8.3u|%08x|%#010x", vec![5, 5, 0xabc, 0xabc], "005|     005|00000abc|0x00000abc"),
            ("100%% of %v3u", vec![1, 2, 3], "100% of 1, 2, 3"),
            (r#"a\tb\\\"\'\n"#, vec![], "a\tb\\\"'\n"),
        ] {
            assert_eq!(line(format, &words), expected, "{format}");
        }
        let floats = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for (format, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%.2f", -0.125, "-0.12"),
            ("%8.1f|", 2.25, "     2.2|"),
            ("%08.1f", -2.25, "-00002.2"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.0e", 1e-10, "1e-10"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 1.5e-5, "1.5e-05"),
            ("%G", f32::INFINITY, "INF"),
            ("%06f", f32::NEG_INFINITY, "  -inf"),
            ("%f", f32::NAN, "nan"),
            ("%f", -0.0, "-0.000000"),
        ] {
            assert_eq!(line(format, &floats(&[value])), expected, "{format}");
        }
        assert_eq!(line("%1.2v2f;", &floats(&[1.0, -2.0])), "1.00, -2.00;");
        assert_eq!(line("%ld %lu %lx %ul", &[minus, u32::MAX, 0, 1, 0xa, 0xb, 5, 0]), "-42 4294967296 b0000000a 5");
        let pi = std::f64::consts::PI.to_bits();
        assert_eq!(line("%.10lf", &[pi as u32, (pi >> 32) as u32]), "3.1415926536");
    }

    #[test]
    fn formats_that_mean_nothing_are_refused_at_their_place() {
        for (format, at, word) in [
            ("ab%s", 2, "no strings"),
            ("%q", 0, "not known"),
            ("x %", 2, "ends inside"),
            ("%5", 0, "ends inside"),
            ("%v5f", 0, "%v3f"),
            ("%100d", 1, "99"),
            (r"\q", 0, "escape"),
            ("\\", 0, "escape"),
            ("%*d", 0, "not known"),
        ] {
            let wrong = Format::parse(format).expect_err(format);
            assert!(wrong.at == at && wrong.message.contains(word), "{format}: {wrong:?}");
        }
    }
}
