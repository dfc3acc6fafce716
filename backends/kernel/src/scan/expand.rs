//! How large the constants and types of a source become when every mention of one is replaced by what it stands for. Front ends copy constants
//! where they are used, write out the elements of zero values, and walk types as trees, so a few lines that mention each other twice, or one type
//! again and again, would grow without bound.

use std::collections::HashMap;
use std::ops::Range;

use super::lexer::Kind;
use super::sizes::Elements;
use super::{Scanned, begins_declaration};
use crate::diagnostics::Finding;

/// Tokens of a source after replacement.
const MAX_EXPANDED: u64 = 1 << 21;
/// Elements of arrays that are written out cost less than tokens.
const ELEMENTS_PER_TOKEN: u64 = 8;

/// Refuses a source that expands too far.
pub(super) fn check(scanned: &Scanned<'_>, elements: &Elements) -> Vec<Finding> {
    let names = Names::find(scanned, elements);
    let mut weights = vec![Weight::New; names.list.len()];
    for root in 0..names.list.len() {
        names.weigh(scanned, root, &mut weights);
    }
    let mut total = Size::default();
    for index in 0..scanned.tokens.len() {
        total.add(names.used(scanned, &weights, index));
        if total.tokens.saturating_add(total.elements / ELEMENTS_PER_TOKEN) > MAX_EXPANDED {
            let message = format!(
                "the constants and types mentioned up to here stand for more than {MAX_EXPANDED} tokens; declare fewer or smaller ones"
            );
            return vec![Finding::new(message, scanned.range(index))];
        }
    }
    Vec::new()
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Size {
    tokens: u64,
    /// Of arrays, where a value is made of them.
    elements: u64,
}

impl Size {
    const TOKEN: Self = Self { tokens: 1, elements: 0 };

    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.elements = self.elements.saturating_add(other.elements);
    }

    fn max(self, other: Self) -> Self {
        Self { tokens: self.tokens.max(other.tokens), elements: self.elements.max(other.elements) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weight {
    New,
    /// Its declaration is being walked.
    Open,
    Done(Size),
}

/// The declared names. One may be declared several times, in different scopes: it weighs what the heaviest weighs.
struct Names<'a> {
    elements: &'a Elements,
    index: HashMap<&'a str, usize>,
    /// Per name the tokens of its declarations.
    list: Vec<Vec<Range<usize>>>,
    /// Whether it is a value somewhere, rather than a type.
    value: Vec<bool>,
}

/// A name on the stack of the walk: which declaration of it, the next token, what was summed up in it.
struct Step {
    name: usize,
    declaration: usize,
    at: usize,
    sum: Size,
    heaviest: Size,
}

impl<'a> Names<'a> {
    fn find(scanned: &Scanned<'a>, elements: &'a Elements) -> Self {
        let mut found = Self { elements, index: HashMap::new(), list: Vec::new(), value: Vec::new() };
        for at in 0..scanned.tokens.len() {
            if matches!(scanned.text(at), "const" | "override" | "alias" | "struct") {
                let next = found.list.len();
                let name = *found.index.entry(scanned.text(at + 1)).or_insert(next);
                if name == next {
                    found.list.push(Vec::new());
                    found.value.push(false);
                }
                if let (Some(value), "const" | "override") = (found.value.get_mut(name), scanned.text(at)) {
                    *value = true;
                }
                if let Some(declarations) = found.list.get_mut(name) {
                    declarations.push(body(scanned, at));
                }
            }
        }
        found
    }

    /// The declared name that a token mentions. Members do not count, neither where they are declared nor where they are used.
    fn mentioned(&self, scanned: &Scanned<'a>, at: usize) -> Option<usize> {
        let name = *self.index.get(scanned.text(at))?;
        let member = scanned.text(at + 1) == ":" || (at > 0 && scanned.text(at - 1) == ".");
        if member { None } else { Some(name) }
    }

    fn begin(&self, name: usize) -> Step {
        Step {
            name,
            declaration: 0,
            at: self.body(name, 0).map_or(0, |b| b.start),
            sum: Size::default(),
            heaviest: Size::default(),
        }
    }

    fn body(&self, name: usize, declaration: usize) -> Option<&Range<usize>> {
        self.list.get(name).and_then(|d| d.get(declaration))
    }

    /// A walk in depth, with a stack of its own.
    fn weigh(&self, scanned: &Scanned<'a>, root: usize, weights: &mut [Weight]) {
        if weights.get(root) != Some(&Weight::New) {
            return;
        }
        set(weights, root, Weight::Open);
        let mut stack = vec![self.begin(root)];
        while let Some(step) = stack.last_mut() {
            let Some(body) = self.body(step.name, step.declaration) else {
                set(weights, step.name, Weight::Done(step.heaviest));
                stack.pop();
                continue;
            };
            if step.at >= body.end {
                step.heaviest = step.heaviest.max(step.sum);
                step.declaration += 1;
                step.sum = Size::default();
                step.at = self.body(step.name, step.declaration).map_or(0, |b| b.start);
                continue;
            }
            if let Some(next) = self.token(scanned, step, weights) {
                stack.push(next);
            }
        }
    }

    /// Adds the token that `step` is at, or says what must be weighed first. In a declaration every array counts.
    fn token(&self, scanned: &Scanned<'a>, step: &mut Step, weights: &mut [Weight]) -> Option<Step> {
        let size = match self.mentioned(scanned, step.at).and_then(|name| Some((name, *weights.get(name)?))) {
            None => Size { tokens: 1, elements: self.elements.get(&step.at).map_or(0, |e| e.0) },
            Some((name, Weight::New)) => {
                set(weights, name, Weight::Open);
                return Some(self.begin(name));
            }
            Some((_, Weight::Done(size))) => size.max(Size::TOKEN),
            // A name that mentions itself is refused by the front end, unless it hides another of the same name: then it may be anything.
            Some((name, Weight::Open)) if self.list.get(name).is_some_and(|d| d.len() > 1) => {
                Size { tokens: MAX_EXPANDED, elements: 0 }
            }
            Some((_, Weight::Open)) => Size::TOKEN,
        };
        step.sum.add(size);
        step.at += 1;
        None
    }

    /// What a token of the source stands for. The elements of a type count where a value of it is made.
    fn used(&self, scanned: &Scanned<'a>, weights: &[Weight], at: usize) -> Size {
        if let Some(&(elements, close)) = self.elements.get(&at) {
            return Size { tokens: 1, elements: if scanned.text(close + 1) == "(" { elements } else { 0 } };
        }
        let Some(name) = self.mentioned(scanned, at) else { return Size::TOKEN };
        let Some(&Weight::Done(size)) = weights.get(name) else { return Size::TOKEN };
        let made = scanned.text(at + 1) == "(" || self.value.get(name).copied().unwrap_or(true);
        Size { tokens: size.tokens.max(1), elements: if made { size.elements } else { 0 } }
    }
}

/// The tokens of the declaration whose keyword is at `at`, without its name.
fn body(scanned: &Scanned<'_>, at: usize) -> Range<usize> {
    let structure = scanned.text(at) == "struct";
    let from = at + 2;
    let ends = |index: &usize| {
        let kind = scanned.kind(*index);
        let over = if structure {
            kind == Some(Kind::CloseBrace)
        } else {
            matches!(kind, Some(Kind::Semicolon | Kind::OpenBrace | Kind::CloseBrace))
        };
        over || begins_declaration(scanned.text(*index))
    };
    from..(from..scanned.tokens.len()).find(ends).unwrap_or(from.max(scanned.tokens.len()))
}

fn set(weights: &mut [Weight], at: usize, value: Weight) {
    if let Some(slot) = weights.get_mut(at) {
        *slot = value;
    }
}
