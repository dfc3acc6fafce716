//! Assignments to several components at once (`v.yx = w`, the language feature `swizzle_assignment`), which the front end does not know: the value is
//! worked out once, then each component is assigned. Works on tokens.

use std::collections::HashSet;
use std::ops::Range;

use super::fold;
use crate::diagnostics::Finding;
use crate::edits::Edit;
use crate::scan::{Kind, Scanned};

/// How the variables that hold a value begin, before a letter.
const PREFIX: &str = "assigned";

/// What is wrong where an error is about a vector that only this pass made.
pub(super) fn explain(text: &str) -> Option<&'static str> {
    let made = text.starts_with("vec4(") && text.contains(PREFIX);
    made.then_some("the value has not as many components as are assigned")
}

/// What is in the place of every such assignment, and what is wrong with some.
pub(super) fn check(scanned: &Scanned<'_>, source: &str) -> (Vec<Edit>, Vec<Finding>) {
    let mut found: Vec<Assignment> = (0..scanned.len()).filter_map(|at| Assignment::at(scanned, at)).collect();
    if found.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let members = members(scanned);
    found.retain(|assignment| !members.contains(scanned.text(assignment.swizzle)));
    let prefix = ('a'..='z').map(|letter| format!("{PREFIX}{letter}")).find(|prefix| !source.contains(prefix.as_str()));
    let Some(prefix) = prefix else { return (Vec::new(), Vec::new()) };
    let values: Vec<_> = found.iter().map(|assignment| assignment.value.clone()).collect();
    let (mut edits, mut findings) = (Vec::new(), Vec::new());
    for (assignment, constant) in found.iter().zip(fold::abstracts(scanned, &values)) {
        let made = match assignment.wrong(scanned, constant) {
            Some(finding) => {
                findings.push(finding);
                assignment.without(scanned)
            }
            None => assignment.edits(scanned, source, &prefix, constant.is_some()),
        };
        edits.extend(made.into_iter().flatten());
    }
    (edits, findings)
}

/// The names of all members of structures: of one of these nobody can tell without types what it is.
fn members<'a>(scanned: &Scanned<'a>) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    let mut inside = false;
    for at in 0..scanned.len() {
        match scanned.kind(at) {
            Some(Kind::Word) if scanned.text(at) == "struct" => inside = true,
            Some(Kind::CloseBrace) => inside = false,
            Some(Kind::Word) if inside && scanned.text(at + 1) == ":" => {
                names.insert(scanned.text(at));
            }
            _ => {}
        }
    }
    names
}

/// `base.swizzle operator= value;`, by its tokens.
struct Assignment {
    first: usize,
    swizzle: usize,
    /// Tokens between the swizzle and the `=`.
    operator: Range<usize>,
    value: Range<usize>,
    /// Whether it is a statement, and not a part of the head of a `for`.
    statement: bool,
}

impl Assignment {
    /// The one whose swizzle is at a token.
    fn at(scanned: &Scanned<'_>, swizzle: usize) -> Option<Self> {
        let name = scanned.text(swizzle);
        let letters = (2..=4).contains(&name.len()) && name.bytes().all(|b| b"xyzwrgba".contains(&b));
        if !letters || scanned.text(swizzle.checked_sub(1)?) != "." {
            return None;
        }
        let equal = equal(scanned, swizzle + 1)?;
        let (first, statement) = start(scanned, swizzle - 1)?;
        let end = end(scanned, equal + 1)?;
        if scanned.kind(end) != Some(Kind::Semicolon) && statement {
            return None;
        }
        Some(Self { first, swizzle, operator: swizzle + 1..equal, value: equal + 1..end, statement })
    }

    /// `constant`: how many components the value has, if it is an abstract constant.
    fn wrong(&self, scanned: &Scanned<'_>, constant: Option<usize>) -> Option<Finding> {
        let name = scanned.text(self.swizzle);
        let at = scanned.range(self.swizzle);
        let set = |letters: &str| name.chars().all(|c| letters.contains(c));
        if !set("xyzw") && !set("rgba") {
            let message = format!("`{name}` mixes components of `xyzw` and of `rgba`");
            return Some(Finding::new(message, at).note("write all of them in one way"));
        }
        if let Some((i, twice)) = name.char_indices().find(|(i, c)| name[..*i].contains(*c)) {
            let at = at.map(|at| at.start + i..at.start + i + 1);
            return Some(Finding::new(format!("the component `{twice}` is assigned twice"), at));
        }
        if !self.statement {
            let message = "several components cannot be assigned at once in the head of a `for`";
            return Some(Finding::new(message, at).note("assign each of them in the body, or use `loop`"));
        }
        let given = constant.filter(|given| *given != name.len() && (self.operator.is_empty() || *given > 1))?;
        let s = if given == 1 { "" } else { "s" };
        let (first, last) = scanned.range(self.value.start).zip(scanned.range(self.value.end - 1))?;
        let message = format!("the value has {given} component{s}, and {} are assigned", name.len());
        Some(Finding::new(message, Some(first.start..last.end)))
    }

    /// The value alone, so that what is wrong in it is found.
    fn without(&self, scanned: &Scanned<'_>) -> Option<Vec<Edit>> {
        let (first, from, end) = (scanned.range(self.first)?, scanned.range(self.value.start)?, scanned.range(self.value.end)?);
        Some(vec![Edit::new(first.start..from.start, "_=("), Edit::new(end.start..end.start, ")")])
    }

    /// A block that does the same. A value that the front end has no type for yet is a constant: it is written once for each component.
    fn edits(&self, scanned: &Scanned<'_>, source: &str, prefix: &str, constant: bool) -> Option<Vec<Edit>> {
        let text =
            |range: Range<usize>| source.get(scanned.range(range.start)?.start..scanned.range(range.end.checked_sub(1)?)?.end);
        let (mut head, base) = self.base(scanned, source, prefix)?;
        let (value, operator) = (text(self.value.clone())?, text(self.operator.clone()).unwrap_or_default());
        let name = scanned.text(self.swizzle);
        let whole = if operator.is_empty() { String::new() } else { format!("{base}.{name}{operator}") };
        // Nothing else says that the value has to have as many components: a wrong number makes this no vector of four.
        let fill = |value: &str| match name.len() {
            2 => format!("vec4({value},{value})"),
            3 => format!("vec4({value},{value}.x)"),
            _ => format!("vec4({value})"),
        };
        let mut stores = name.chars().zip(["x", "y", "z", "w"]).map(|(component, part)| (format!("{base}.{component}="), part));
        let (mut tail, from) = if constant && operator.is_empty() {
            let (store, part) = stores.next()?;
            let value = format!("({value})");
            head += &format!("{store}(");
            (format!(").{part};"), fill(&value))
        } else {
            head += &format!("let {prefix}={whole}(");
            (format!(");let {prefix}s={};", fill(prefix)), format!("{prefix}s"))
        };
        for (store, part) in stores {
            tail += &format!("{store}{from}.{part};");
        }
        let (first, from, end) = (scanned.range(self.first)?, scanned.range(self.value.start)?, scanned.range(self.value.end)?);
        let left = first.start..scanned.range(self.swizzle)?.end;
        let head = Edit::new(first.start..from.start, format!("{{{head}")).about(left.clone());
        Some(vec![head, Edit::new(end, format!("{tail}}}")).about(left)])
    }

    /// What is assigned to, with every index that may not be evaluated twice in a variable, which the first part of the answer declares.
    fn base(&self, scanned: &Scanned<'_>, source: &str, prefix: &str) -> Option<(String, String)> {
        let (mut head, mut base) = (String::new(), String::new());
        let end = self.swizzle - 1;
        let mut at = self.first;
        while at < end {
            let close = if scanned.text(at) == "[" { closing(scanned, at)? } else { at };
            if close > at + 2 || (close == at + 2 && scanned.kind(at + 1) != Some(Kind::Number)) {
                let index = source.get(scanned.range(at + 1)?.start..scanned.range(close - 1)?.end)?;
                let name = format!("{prefix}{close}");
                head += &format!("let {name}=({index});");
                base += &format!("[{name}]");
                at = close + 1;
                continue;
            }
            base += scanned.text(at);
            at += 1;
        }
        Some((head, base))
    }
}

/// The `=` of an assignment that goes on at a token.
fn equal(scanned: &Scanned<'_>, at: usize) -> Option<usize> {
    let touches = |at: usize| scanned.range(at).zip(scanned.range(at + 1)).is_some_and(|(a, b)| a.end == b.start);
    let width = match scanned.text(at) {
        "=" => 0,
        "<" | ">" if scanned.text(at + 1) == scanned.text(at) && touches(at) && touches(at + 1) => 2,
        "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" if touches(at) => 1,
        _ => return None,
    };
    let found = at + width;
    let twice = scanned.text(found + 1) == "=" && touches(found);
    (scanned.text(found) == "=" && !twice).then_some(found)
}

/// The first token of the statement that the `.` at `dot` belongs to, and whether it is no part of a `for`'s head.
fn start(scanned: &Scanned<'_>, dot: usize) -> Option<(usize, bool)> {
    let mut depth = 0u32;
    let mut at = dot;
    while let Some(before) = at.checked_sub(1) {
        match scanned.kind(before)? {
            Kind::Close => depth += 1,
            Kind::Open if depth == 0 => return (scanned.text(before.checked_sub(1)?) == "for").then_some((at, false)),
            Kind::Open => depth -= 1,
            Kind::Semicolon if depth == 0 => return Some((at, !in_head(scanned, before))),
            Kind::OpenBrace | Kind::CloseBrace => return Some((at, true)),
            Kind::Semicolon => return None,
            Kind::Operator if depth == 0 && !matches!(scanned.text(before), "." | "*" | "&") => return None,
            Kind::Comma if depth == 0 => return None,
            _ => {}
        }
        at = before;
    }
    None
}

/// Whether a semicolon is one of the two of a `for`'s head.
fn in_head(scanned: &Scanned<'_>, semicolon: usize) -> bool {
    let (mut depth, mut semicolons) = (0u32, 0u32);
    for at in (0..semicolon).rev() {
        match scanned.kind(at) {
            Some(Kind::Close) => depth += 1,
            Some(Kind::Open) if depth == 0 => return true,
            Some(Kind::Open) => depth -= 1,
            Some(Kind::Semicolon) if depth == 0 && semicolons == 1 => return false,
            Some(Kind::Semicolon) => semicolons += 1,
            Some(Kind::OpenBrace | Kind::CloseBrace) => return false,
            _ => {}
        }
    }
    false
}

/// Where an expression that begins at a token ends: at a semicolon, a comma or a bracket that it has not opened.
fn end(scanned: &Scanned<'_>, from: usize) -> Option<usize> {
    let mut depth = 0u32;
    for at in from..scanned.len() {
        match scanned.kind(at)? {
            Kind::Open => depth += 1,
            Kind::Close if depth == 0 => return (at > from).then_some(at),
            Kind::Close => depth -= 1,
            Kind::Semicolon if depth == 0 => return (at > from).then_some(at),
            Kind::OpenBrace | Kind::CloseBrace | Kind::Semicolon => return None,
            _ => {}
        }
    }
    None
}

fn closing(scanned: &Scanned<'_>, open: usize) -> Option<usize> {
    let end = end(scanned, open + 1)?;
    (scanned.text(end) == "]").then_some(end)
}
