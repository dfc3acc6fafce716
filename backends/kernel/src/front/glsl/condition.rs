//! The arithmetic of `#if`. Words that are left when macros are expanded count as zero.

use super::lexer::{Kind, Names, Token};

/// Operators and brackets inside each other.
const MAX_DEPTH: u32 = 64;

/// The value of a condition, or what is wrong with it.
pub(super) fn evaluate(tokens: &[Token], names: &Names) -> Result<i64, String> {
    let mut parser = Parser { tokens, names, at: 0, depth: 0 };
    let value = parser.binary(0)?;
    match parser.text() {
        "" => Ok(value),
        text => Err(format!("`{text}` is not expected in a condition of the preprocessor")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    names: &'a Names,
    at: usize,
    depth: u32,
}

/// Binding strength; the weakest is 1.
fn strength(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn text(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |t| self.names.get(t.name))
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("this condition is nested too deeply: at most {MAX_DEPTH} operators may be inside each other"));
        }
        Ok(())
    }

    fn binary(&mut self, least: u8) -> Result<i64, String> {
        self.deeper()?;
        let mut left = self.unary()?;
        while let Some(strength) = strength(self.text()).filter(|&s| s > least) {
            let operator = self.text();
            self.at += 1;
            let right = self.binary(strength)?;
            left = apply(operator, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, String> {
        let operator = self.text();
        if !matches!(operator, "!" | "~" | "-" | "+") {
            return self.primary();
        }
        self.at += 1;
        self.deeper()?;
        let value = self.unary()?;
        self.depth -= 1;
        Ok(match operator {
            "!" => i64::from(value == 0),
            "~" => !value,
            "-" => value.wrapping_neg(),
            _ => value,
        })
    }

    fn primary(&mut self) -> Result<i64, String> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err("the condition ends where a number is expected".to_owned());
        };
        let text = self.names.get(token.name);
        self.at += 1;
        match token.kind {
            Kind::Word | Kind::Painted => Ok(0),
            Kind::Number => number(text).ok_or_else(|| format!("`{text}` is not an integer")),
            _ if text == "(" => {
                let value = self.binary(0)?;
                if self.text() != ")" {
                    return Err("a `)` is missing in this condition".to_owned());
                }
                self.at += 1;
                Ok(value)
            }
            _ => Err(format!("`{text}` is not expected in a condition of the preprocessor")),
        }
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U']);
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    let octal = text.len() > 1 && text.starts_with('0');
    i64::from_str_radix(text, if octal { 8 } else { 10 }).ok()
}

fn apply(operator: &str, left: i64, right: i64) -> Result<i64, String> {
    let shift = |by: i64| u32::try_from(by).ok().filter(|&by| by < 64);
    Ok(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => shift(right).map_or(0, |by| left.wrapping_shl(by)),
        ">>" => shift(right).map_or(0, |by| left.wrapping_shr(by)),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" | "%" if right == 0 => return Err("a division by zero in a condition".to_owned()),
        "/" => left.wrapping_div(right),
        _ => left.wrapping_rem(right),
    })
}
