//! The front end's errors in words that help: what was expected, what was found, what to write instead.

use std::ops::Range;

use naga::front::wgsl::ParseError;

use super::suggest;
use crate::diagnostics::Finding;
use crate::parse::plain;
use crate::scan::{Kind, Scanned};
use crate::{bitcast, support};

/// What kind of mistake it was, for those who want to go on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// A name that is not declared.
    Unknown(String),
    /// The source ends a statement too late: one is missing after this byte.
    Semicolon(usize),
    /// The tokens around this place make no sense.
    Syntax,
    /// Anything else.
    Meaning,
}

/// An error of the parser, in bytes of `text`.
pub(super) fn parse_error(text: &str, scanned: &Scanned<'_>, error: &ParseError) -> (Finding, Mistake) {
    let mut labels = error.labels();
    let (span, label) = labels.next().unwrap_or_default();
    let at = span.to_range();
    let word = at.clone().and_then(|r| text.get(r)).unwrap_or_default().trim();
    if let Some(construct) = support::unsupported_word(word) {
        return (Finding::new(support::not_supported(construct), at), Mistake::Meaning);
    }
    let related = labels.next().and_then(|(span, label)| Some((span.to_range()?, plain(label))));
    let line = at.clone().and_then(|at| text.get(text.get(..at.start)?.rfind('\n').map_or(0, |n| n + 1)..)?.lines().next());
    let case = Case { text, scanned, at, word, message: error.message(), related };
    if let Some(found) = case.unknown().or_else(|| case.expected()) {
        return found;
    }
    if line.is_some_and(bitcast::mentioned) {
        return (case.meaning().note(bitcast::ADVICE), Mistake::Meaning);
    }
    if let Some(finding) = case.typed().or_else(|| case.assigned()) {
        return (finding, Mistake::Meaning);
    }
    let mut finding = case.meaning().label(plain(label));
    if finding.label.eq_ignore_ascii_case(&finding.message) || finding.label == "see msg" {
        finding.label.clear();
    }
    finding.related = case.related.map(Box::new);
    (error.notes().fold(finding, Finding::note), Mistake::Meaning)
}

struct Case<'a> {
    text: &'a str,
    scanned: &'a Scanned<'a>,
    at: Option<Range<usize>>,
    word: &'a str,
    message: &'a str,
    /// The second place of the error and what it is.
    related: Option<(Range<usize>, String)>,
}

impl Case<'_> {
    fn finding(&self, message: impl Into<String>) -> Finding {
        Finding::new(message, self.at.clone())
    }

    /// What stands between backticks in the front end's message.
    fn quoted(&self, nth: usize) -> &str {
        self.message.split('`').nth(nth * 2 + 1).unwrap_or_default()
    }

    fn unknown(&self) -> Option<(Finding, Mistake)> {
        let name = self.message.strip_prefix("no definition in scope for identifier: ")?.trim_matches('`');
        let mut finding = self.finding(format!("nothing is declared with the name `{name}`")).label("unknown name");
        if let Some(hint) = suggest::foreign(name) {
            finding = finding.note(hint);
        } else if let Some(near) = suggest::nearest(self.scanned, name) {
            finding = finding.note(format!("did you mean `{near}`?"));
        }
        Some((finding, Mistake::Unknown(name.to_owned())))
    }

    /// The token at the place of the error.
    fn token(&self) -> usize {
        let start = self.at.as_ref().map_or(self.text.len(), |r| r.start);
        self.scanned.at_byte(start)
    }

    fn expected(&self) -> Option<(Finding, Mistake)> {
        let (expected, found) = self.message.strip_prefix("expected ")?.split_once(", found ")?;
        let token = self.token();
        let before = token.checked_sub(1).and_then(|i| self.scanned.range(i));
        if let Some(found) = self.foreign_syntax(token, expected) {
            return Some((found, Mistake::Syntax));
        }
        if let (true, Some(before)) = (expected == "`;`" && self.ends_statement(token), before) {
            let place = before.end.saturating_sub(1).max(before.start)..before.end;
            let finding =
                Finding::new("expected `;` at the end of this statement", Some(place)).label("`;` is missing after this");
            return Some((finding, Mistake::Semicolon(before.end)));
        }
        let shown =
            if self.word.is_empty() { "the end of the source".to_owned() } else { format!("`{}`", first_line(self.word)) };
        let _ = found;
        let expected = match expected {
            "LHS expression (identifier component_or_swizzle_specifier?, (`lhs_expression`) component_or_swizzle_specifier?, &`lhs_expression`, *`lhs_expression`)" => {
                "a variable, or a part of one"
            }
            "assignment or increment/decrement" => "`=`, an operator with `=`, `++` or `--`",
            "identifier" => "a name",
            "expression" => "an expression",
            "statement" => "a statement",
            other if other.starts_with("global item") => "a declaration (`fn`, `var`, `const`, `override`, `struct` or `alias`)",
            other if other.starts_with("switch item") => "`case`, `default` or `}`",
            other => other,
        };
        Some((self.finding(format!("expected {expected}, found {shown}")), Mistake::Syntax))
    }

    /// Whether a statement may have ended before a token: the next one starts on a line of its own, or with a keyword.
    fn ends_statement(&self, token: usize) -> bool {
        let between = token.checked_sub(1).and_then(|i| self.scanned.range(i)).zip(self.scanned.range(token));
        let line = between.is_some_and(|(a, b)| self.text.get(a.end..b.start).is_some_and(|t| t.contains('\n')));
        let word = self.scanned.text(token);
        line || word == "}"
            || matches!(
                word,
                "let" | "var" | "const" | "return" | "if" | "for" | "while" | "loop" | "switch" | "break" | "continue"
            )
    }

    /// Declarations and operators of C.
    fn foreign_syntax(&self, token: usize, expected: &str) -> Option<Finding> {
        let word = self.scanned.text(token);
        if word == "#" {
            return Some(
                self.finding("there is no preprocessor")
                    .note("use `const` for constants, `override` for those given at run time"),
            );
        }
        let words = [token, token + 1].iter().all(|token| self.scanned.kind(*token) == Some(Kind::Word));
        let function = words && self.scanned.text(token + 2) == "(";
        if function && expected.starts_with("global item") && !is_keyword(word) {
            let name = self.scanned.text(token + 1);
            let range = self.scanned.range(token)?.start..self.scanned.range(token + 1)?.end;
            let hint = if word == "void" {
                format!("write `fn {name}(...)`")
            } else {
                format!("write `fn {name}(...) -> {}`", c_type(word))
            };
            return Some(Finding::new("functions begin with `fn`, and their type stands behind", Some(range)).note(hint));
        }
        if word == ":" && expected == "`{`" {
            return Some(self.finding("the type that a function returns stands behind `->`"));
        }
        if word == "}" && expected.starts_with("global item") {
            return Some(self.finding("this `}` closes nothing"));
        }
        let before = token.checked_sub(1)?;
        let (type_word, name) = (self.scanned.text(before), self.scanned.text(token));
        let after = self.scanned.text(token + 1);
        let two_words = self.scanned.kind(before) == Some(Kind::Word) && self.scanned.kind(token) == Some(Kind::Word);
        if two_words && matches!(after, "=" | ";" | "," | "[" | "(" | ")") && !is_keyword(type_word) && !is_keyword(name) {
            let start = self.scanned.range(before)?.start;
            let end = self.scanned.range(token)?.end;
            let ty = c_type(type_word);
            let hint = match after {
                "(" => format!("functions are declared as `fn {name}(...) -> {ty}`"),
                "=" | ";" | "[" => format!("variables are declared as `var {name}: {ty}`, constants as `let {name}: {ty}`"),
                _ => format!("parameters are declared as `{name}: {ty}`"),
            };
            return Some(Finding::new("the type stands behind the name, not before it", Some(start..end)).note(hint));
        }
        if name == "?" {
            return Some(
                self.finding("there is no operator `?:`").note("use `select(value_if_false, value_if_true, condition)`"),
            );
        }
        if matches!(name, "+" | "-") && self.scanned.text(token + 1) == name && expected == "expression" {
            return Some(
                self.finding(format!("`{name}{name}` stands behind the variable, as a statement of its own: `x{name}{name};`")),
            );
        }
        None
    }

    /// A value of another type than its place.
    fn typed(&self) -> Option<Finding> {
        if self.message.starts_with("the type of `") && self.message.contains("is expected to be") {
            let (name, expected, found) = (self.quoted(0), type_word(self.quoted(1)), type_word(self.quoted(2)));
            let declared = self.at.clone()?;
            let mut finding =
                Finding::new(format!("expected {expected}, found {found}"), self.initial(declared.end).or(self.at.clone()));
            finding.label = format!("this is {found}");
            finding.related = Some(Box::new((declared, format!("`{name}` is declared as {expected}"))));
            return Some(finding);
        }
        if !self.message.starts_with("automatic conversions cannot convert") {
            return None;
        }
        let (found, expected) = (type_word(self.quoted(0)), type_word(self.quoted(1)));
        let at = self.related.as_ref().map(|r| r.0.clone()).or_else(|| self.at.clone());
        let mut finding = Finding::new(format!("expected {expected}, found {found}"), at).label(format!("this is {found}"));
        finding.related = self.at.clone().map(|place| Box::new((place, format!("this needs {expected}"))));
        Some(finding)
    }

    /// What stands between the `=` after a byte and the `;`.
    fn initial(&self, after: usize) -> Option<Range<usize>> {
        let first = self.scanned.at_byte(after);
        let equal = (first..self.scanned.len()).find(|i| matches!(self.scanned.text(*i), "=" | ";"))?;
        let end = (equal..self.scanned.len()).find(|i| self.scanned.text(*i) == ";")?;
        Some(self.scanned.range(equal + 1)?.start..self.scanned.range(end.checked_sub(1)?)?.end).filter(|r| r.start < r.end)
    }

    fn assigned(&self) -> Option<Finding> {
        if self.message != "invalid left-hand side of assignment" {
            return None;
        }
        let Some((declared, _)) = &self.related else {
            let finding = self.finding("this cannot be assigned to");
            let swizzle =
                self.word.rsplit_once('.').is_some_and(|(_, m)| m.len() > 1 && m.bytes().all(|b| b"xyzwrgba".contains(&b)));
            return Some(if swizzle {
                finding.note("several components cannot be assigned at once: assign each of them")
            } else {
                finding
            });
        };
        let name = self.text.get(declared.clone()).unwrap_or_default();
        let keyword = self.scanned.at_byte(declared.start).checked_sub(1).map_or("", |i| self.scanned.text(i));
        let (what, hint) = match keyword {
            "let" => ("a `let`", format!("declare `{name}` with `var`")),
            "const" => ("a constant", format!("declare `{name}` with `var`")),
            _ => ("a parameter", format!("copy it first: `var copy = {name};`")),
        };
        let mut finding = self.finding(format!("`{name}` cannot be assigned to: it is {what}"));
        finding.related = Some(Box::new((declared.clone(), "declared here".to_owned())));
        Some(finding.note(hint))
    }

    fn meaning(&self) -> Finding {
        let message = self.message;
        if let Some(numbers) = message.strip_prefix("wrong number of arguments: expected ") {
            return self.finding(format!("wrong number of arguments: expected {}", numbers));
        }
        if message.starts_with("name `") && message.ends_with("reserved keyword") {
            return self.finding(format!("`{}` is a reserved word and cannot be a name", self.quoted(0)));
        }
        if message.starts_with("Identifier starts with a reserved prefix") {
            return self.finding(format!("`{}` cannot be a name: two underscores at the start are reserved", self.quoted(0)));
        }
        if message.starts_with("Not implemented as constant expression") {
            return self
                .finding("this cannot be evaluated before the kernel runs")
                .note("constants are made of literals, constants and builtin functions of them");
        }
        if message == "failed to convert expression to a concrete type" {
            return self.finding("this has no type that exists at run time").note("give the numbers a type: `1.0f`, `1i`, `1u`");
        }
        if message == "local declaration cannot be called" {
            return self.finding("this is a variable and cannot be called");
        }
        if let Some(name) = message.strip_prefix("invalid field accessor ") {
            return self.finding(format!("there is no member or component {name} here"));
        }
        if message.starts_with("inconsistent type passed as argument #") {
            let number = message.split('#').nth(1).and_then(|t| t.split(' ').next()).unwrap_or_default();
            return self.finding(format!("argument {number} of `{}` has another type than the one before", self.quoted(0)));
        }
        if message.starts_with("unused return value") {
            return self.finding("the result of this call must be used").note("write `_ = f();` where it is not wanted");
        }
        if message == "internal WGSL front end error" {
            return self.finding("this was not understood");
        }
        self.finding(lower_first(&plain(message)))
    }
}

/// A type as the front end names it, with backticks; the abstract ones in words.
fn type_word(name: &str) -> String {
    match name {
        "{AbstractFloat}" => "a number with a fraction".to_owned(),
        "{AbstractInt}" => "an integer without a type".to_owned(),
        name => format!("`{name}`"),
    }
}

/// The type that is meant by a word of C.
fn c_type(word: &str) -> &str {
    match word {
        "float" => "f32",
        "int" => "i32",
        "uint" | "unsigned" => "u32",
        "float2" => "vec2<f32>",
        "float3" => "vec3<f32>",
        "float4" => "vec4<f32>",
        "void" => "...",
        other => other,
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "alias"
            | "break"
            | "case"
            | "const"
            | "const_assert"
            | "continue"
            | "continuing"
            | "default"
            | "diagnostic"
            | "discard"
            | "else"
            | "enable"
            | "fn"
            | "for"
            | "if"
            | "let"
            | "loop"
            | "override"
            | "requires"
            | "return"
            | "struct"
            | "switch"
            | "var"
            | "while"
    )
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Messages here begin with a small letter.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}
