//! Evaluates calls of builtin functions with constant arguments where the front end does not, or not to the bits that they have at run time, and
//! writes their values in their place. Works on tokens: what is declared where is followed, so that a name that hides a function is left alone.
//! Whatever is not understood is left to the front end, which refuses it or leaves it to run time.

mod builtins;
mod eval;
mod names;
mod operators;
mod value;

use std::ops::Range;

use crate::diagnostics::Finding;
use crate::edits::Edit;
use crate::scan::{Kind as Token, Scanned};
use eval::Eval;
use names::{Declared, Names, Scope};
use value::{No, Scalar, Value};

/// The values of calls, and calls that have none by the rules of the language.
pub(crate) fn check(scanned: &Scanned<'_>) -> (Vec<Edit>, Vec<Finding>) {
    let mut walk = Walk::new(scanned);
    if !walk.writes_types() {
        return (Vec::new(), Vec::new());
    }
    walk.run();
    (walk.edits, walk.findings)
}

/// The value of an integer expression that mentions nothing but constants of the module.
pub(crate) fn count(scanned: &Scanned<'_>, tokens: Range<usize>) -> Option<i128> {
    let mut names = Names::of(scanned);
    match Eval::whole(scanned, &mut names, tokens).ok()? {
        Value::Scalar(Scalar::AbstractInt(n)) => Some(n.into()),
        Value::Scalar(Scalar::I32(n)) => Some(n.into()),
        Value::Scalar(Scalar::U32(n)) => Some(n.into()),
        _ => None,
    }
}

/// Of each expression, given by its tokens, how many components it has when it is a constant of abstract numbers: one whose type is open yet.
pub(crate) fn abstracts(scanned: &Scanned<'_>, asked: &[Range<usize>]) -> Vec<Option<usize>> {
    let mut walk = Walk::new(scanned);
    let mut answers = Vec::with_capacity(asked.len());
    let mut at = 0;
    while at < scanned.len() && answers.len() < asked.len() {
        // They are in order, and none begins inside of a call.
        while let Some(tokens) = asked.get(answers.len()).filter(|tokens| tokens.start <= at) {
            let value = Eval::whole(scanned, &mut walk.names, tokens.clone());
            let scalars = value.map(|value| value.scalars()).unwrap_or_default();
            let open = scalars.iter().any(|s| matches!(s, Scalar::AbstractInt(_) | Scalar::AbstractFloat(_)));
            answers.push(open.then_some(scalars.len()));
        }
        at = walk.token(at).max(at + 1);
    }
    answers.resize(asked.len(), None);
    answers
}

/// A declaration whose name counts from its end on.
struct Pending<'a> {
    name: &'a str,
    constant: Option<(Option<Range<usize>>, Range<usize>)>,
}

struct Walk<'s, 'a> {
    scanned: &'s Scanned<'a>,
    names: Names<'a>,
    pending: Vec<Pending<'a>>,
    /// Whether anything in the source is a half.
    halves: bool,
    edits: Vec<Edit>,
    findings: Vec<Finding>,
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(scanned: &'s Scanned<'a>) -> Self {
        let halves = (0..scanned.len()).any(|at| scanned.text(at) == "f16");
        Self { scanned, names: Names::of(scanned), pending: Vec::new(), halves, edits: Vec::new(), findings: Vec::new() }
    }

    /// Whether the names that values are written with mean what they should.
    fn writes_types(&self) -> bool {
        let built = ["array", "bool", "f16", "f32", "f64", "i16", "i32", "i64", "u32", "u64", "vec2", "vec3", "vec4"];
        let own = |i: usize| {
            let word = self.scanned.text(i);
            (built.contains(&word) || word.starts_with("mat")) && self.declares(i)
        };
        !(0..self.scanned.len()).any(own)
    }

    /// Whether the name at a token is being declared there.
    fn declares(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |i| self.scanned.text(i));
        matches!(before, "let" | "var" | "const" | "override" | "fn" | "struct" | "alias" | ">")
            || self.scanned.text(at + 1) == ":"
    }

    fn run(&mut self) {
        let mut at = 0;
        while at < self.scanned.len() {
            at = self.token(at).max(at + 1);
        }
    }

    /// Takes the token at `at` and returns the next one.
    fn token(&mut self, at: usize) -> usize {
        match self.scanned.kind(at) {
            Some(Token::OpenBrace) => self.open(),
            Some(Token::CloseBrace) => self.close(),
            Some(Token::Semicolon) => self.declare_pending(),
            Some(Token::Word) => return self.word(at),
            _ => {}
        }
        at + 1
    }

    fn open(&mut self) {
        self.names.scopes.push(Scope::default());
        // Parameters of a function.
        for pending in std::mem::take(&mut self.pending) {
            self.names.declare(pending.name, Declared::Other);
        }
    }

    fn close(&mut self) {
        self.pending.clear();
        self.names.scopes.pop();
        if self.names.scopes.last().is_some_and(|s| s.header) {
            self.names.scopes.pop();
        }
    }

    fn declare_pending(&mut self) {
        for Pending { name, constant } in std::mem::take(&mut self.pending) {
            let value = constant.and_then(|(ty, tokens)| {
                let value = self.names.initial(self.scanned, ty, tokens.clone());
                self.judge(&value, tokens);
                value.ok()
            });
            self.names.declare(name, value.map_or(Declared::Other, Declared::Value));
        }
    }

    fn word(&mut self, at: usize) -> usize {
        match self.scanned.text(at) {
            "fn" => return self.parameters(at),
            "for" => self.names.scopes.push(Scope { header: true, ..Scope::default() }),
            keyword @ ("let" | "var" | "const") if !self.names.scopes.is_empty() => {
                let constant = if keyword == "const" { names::constant(self.scanned, at) } else { None };
                self.pending.push(Pending { name: self.scanned.text(self.declared(at)), constant });
                return at + 1;
            }
            "const" if self.halves => self.global(at),
            word if builtins::replaced(word) || self.converts_halves(at) => return self.call(at, word),
            _ if self.halves && self.makes_integers(at) => self.cast(at),
            _ => {}
        }
        at + 1
    }

    /// Looks for halves that are none in a constant of the module.
    fn global(&mut self, at: usize) {
        if let Some((_, tokens)) = names::constant(self.scanned, at) {
            let value = self.names.constant(self.scanned, self.scanned.text(at + 1));
            self.judge(&value, tokens);
        }
    }

    /// Looks for them in what is converted to integers: the front end fails where that is a constant.
    fn cast(&mut self, at: usize) {
        let mut eval = Eval { scanned: self.scanned, names: &mut self.names, at, end: self.scanned.len() };
        let value = eval.primary();
        // Where the call ends is looked for only if there is something to say: it may be as far away as the source is long.
        if let Err(No::PastHalves(_)) = value {
            self.judge(&value, at..self.call_end(at));
        }
    }

    /// The token after the arguments of the call that begins at `at`.
    fn call_end(&self, at: usize) -> usize {
        let mut depth = 0u32;
        for i in at..self.scanned.len() {
            match self.scanned.kind(i) {
                Some(Token::Open) => depth += 1,
                Some(Token::Close) if depth <= 1 => return i + 1,
                Some(Token::Close) => depth -= 1,
                // No call goes on behind these, closed or not.
                _ if matches!(self.scanned.text(i), ";" | "{" | "}") => return i,
                _ => {}
            }
        }
        self.scanned.len()
    }

    /// Whether a conversion to integers may begin here, beside the one to those of 16 bits.
    fn makes_integers(&self, at: usize) -> bool {
        let word = self.scanned.text(at);
        let template = |of: &[&str]| self.scanned.text(at + 1) == "<" && of.contains(&self.scanned.text(at + 2));
        match word {
            "i32" | "u32" | "i64" | "u64" | "u16" => self.scanned.text(at + 1) == "(",
            "vec2i" | "vec3i" | "vec4i" | "vec2u" | "vec3u" | "vec4u" => true,
            "vec2" | "vec3" | "vec4" => template(&["i32", "u32", "i64", "u64", "u16"]),
            _ => false,
        }
    }

    /// Notes that a value would hold a half that is none, unless something was found wrong there already.
    fn judge(&mut self, value: &value::Result<Value>, tokens: Range<usize>) {
        let Err(No::PastHalves(n)) = *value else { return };
        let last = tokens.end.checked_sub(1).and_then(|i| self.scanned.range(i));
        let Some((first, last)) = self.scanned.range(tokens.start).zip(last) else { return };
        let place = first.start..last.end;
        let told = |f: &Finding| f.at.as_ref().is_some_and(|at| at.start < place.end && place.start < at.end);
        if !self.findings.iter().any(told) {
            let message = format!("{n} is not a value of f16, which holds at most 65504");
            self.findings.push(Finding::new(message, Some(place)));
        }
    }

    /// Whether a conversion to halves begins here, which rounds twice in the front end on most machines, or one of halves to integers, which gives
    /// numbers there that are no halves.
    fn converts_halves(&self, at: usize) -> bool {
        match self.scanned.text(at) {
            "f16" | "i16" | "vec2h" | "vec3h" | "vec4h" => true,
            "vec2" | "vec3" | "vec4" => self.scanned.text(at + 1) == "<" && matches!(self.scanned.text(at + 2), "f16" | "i16"),
            _ => false,
        }
    }

    /// The name after `var`, past a template list.
    fn declared(&self, at: usize) -> usize {
        if self.scanned.text(at + 1) != "<" {
            return at + 1;
        }
        (at + 1..(at + 8).min(self.scanned.len())).find(|i| self.scanned.text(*i) == ">").map_or(at + 1, |i| i + 1)
    }

    /// The names of parameters wait for the body. Attributes and types between them hold no calls to evaluate.
    fn parameters(&mut self, at: usize) -> usize {
        let mut next = at + 1;
        while next < self.scanned.len() && !matches!(self.scanned.kind(next), Some(Token::OpenBrace | Token::Semicolon)) {
            if self.scanned.text(next + 1) == ":" {
                self.pending.push(Pending { name: self.scanned.text(next), constant: None });
            }
            next += 1;
        }
        next
    }

    fn call(&mut self, at: usize, word: &str) -> usize {
        let called = matches!(self.scanned.text(at + 1), "(" | "<");
        let member = at.checked_sub(1).is_some_and(|i| matches!(self.scanned.text(i), "." | "fn"));
        if !called || member || self.names.look_up(word).is_some() || self.names.is_global(word) {
            return at + 1;
        }
        let mut eval = Eval { scanned: self.scanned, names: &mut self.names, at, end: self.scanned.len() };
        // The results of frexp and modf have no name to write: with their member they are numbers.
        let found = if matches!(word, "frexp" | "modf") { eval.postfix() } else { eval.primary() };
        let end = eval.at;
        let (Some(first), Some(last)) = (self.scanned.range(at), end.checked_sub(1).and_then(|i| self.scanned.range(i))) else {
            return at + 1;
        };
        let mut text = String::new();
        match found.and_then(|value| value.write(&mut text)) {
            Ok(()) => {
                self.edits.push(Edit::new(first.start..last.end, text));
                end
            }
            Err(No::Unknown) => at + 1,
            Err(no @ No::PastHalves(_)) => {
                self.judge(&Err(no), at..end);
                at + 1
            }
            Err(No::Wrong(message)) => {
                self.findings.push(Finding::new(message, Some(first.start..last.end)));
                at + 1
            }
        }
    }
}
