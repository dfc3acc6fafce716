//! What the names of a source stand for while its tokens are walked: constants and types of the module, and whatever hides them locally.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use super::eval::Eval;
use super::value::{No, Result, Scalar, Type, Value};
use crate::scan::{Kind as Token, Scanned};

/// Constants that depend on each other in a longer chain are not followed.
const MAX_CHAIN: u32 = 512;
/// Elements of arrays that the constants of one source may make.
const MAX_MADE: usize = 1 << 20;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Declared {
    /// A local constant with its value.
    Value(Value),
    /// A constant of the module.
    Constant,
    /// A structure or an alias.
    Type,
    /// Anything else, or a constant that is not evaluated here.
    Other,
}

/// A declaration at module scope, by its tokens.
enum Global {
    Constant { ty: Option<Range<usize>>, value: Range<usize> },
    Alias(Range<usize>),
    Struct(Range<usize>),
    Other,
}

/// A local scope. The one of a `for` ends with the block after it.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) names: HashMap<&'a str, Declared>,
    pub(super) header: bool,
}

pub(super) struct Names<'a> {
    globals: HashMap<&'a str, Global>,
    known: HashMap<&'a str, Result<Value>>,
    /// Types that are being made: one that needs itself, as in a size of an array, is none.
    open: HashSet<&'a str>,
    pub(super) scopes: Vec<Scope<'a>>,
    chain: u32,
    made: usize,
}

impl<'a> Names<'a> {
    pub(super) fn of(scanned: &Scanned<'a>) -> Self {
        let mut names =
            Self { globals: HashMap::new(), known: HashMap::new(), open: HashSet::new(), scopes: Vec::new(), chain: 0, made: 0 };
        let mut depth = 0u32;
        for at in 0..scanned.len() {
            match scanned.kind(at) {
                Some(Token::OpenBrace | Token::Open) => depth += 1,
                Some(Token::CloseBrace | Token::Close) => depth = depth.saturating_sub(1),
                Some(Token::Word) if depth == 0 => names.global(scanned, at),
                _ => {}
            }
        }
        names
    }

    fn global(&mut self, scanned: &Scanned<'a>, at: usize) {
        let name = scanned.text(at + 1);
        let found = match scanned.text(at) {
            "const" => constant(scanned, at).map_or(Global::Other, |(ty, value)| Global::Constant { ty, value }),
            "alias" => Global::Alias(at + 3..statement_end(scanned, at)),
            "struct" => Global::Struct(at + 3..block_end(scanned, at)),
            "override" | "fn" => Global::Other,
            "var" => {
                // A template list may stand before the name.
                let name = (at + 1..statement_end(scanned, at)).find(|i| matches!(scanned.text(i + 1), ":" | "=" | ";"));
                self.globals.insert(name.map_or("", |i| scanned.text(i)), Global::Other);
                return;
            }
            _ => return,
        };
        self.globals.insert(name, found);
    }

    /// `None` for a name that is not declared: then it may be predeclared.
    pub(super) fn look_up(&self, name: &str) -> Option<Declared> {
        if let Some(found) = self.scopes.iter().rev().find_map(|s| s.names.get(name)) {
            return Some(found.clone());
        }
        self.globals.get(name).map(|global| match global {
            Global::Constant { .. } => Declared::Constant,
            Global::Alias(_) | Global::Struct(_) => Declared::Type,
            Global::Other => Declared::Other,
        })
    }

    /// Whether a name is declared at module scope.
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.globals.contains_key(name)
    }

    pub(super) fn declare(&mut self, name: &'a str, what: Declared) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, what);
        }
    }

    /// The value of a constant of the module, worked out once.
    pub(super) fn constant(&mut self, scanned: &Scanned<'a>, name: &'a str) -> Result<Value> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let Some(Global::Constant { ty, value }) = self.globals.get(name) else { return Err(No::Unknown) };
        let (ty, value) = (ty.clone(), value.clone());
        if self.chain >= MAX_CHAIN {
            return Err(No::Unknown);
        }
        // Held while it is worked out, so that a cycle ends here.
        self.known.insert(name, Err(No::Unknown));
        self.chain += 1;
        let scopes = std::mem::take(&mut self.scopes);
        let found = self.initial(scanned, ty, value);
        self.scopes = scopes;
        self.chain -= 1;
        self.known.insert(name, found.clone());
        found
    }

    /// The value of `const name: ty = value`.
    pub(super) fn initial(&mut self, scanned: &Scanned<'a>, ty: Option<Range<usize>>, value: Range<usize>) -> Result<Value> {
        let value = Eval::whole(scanned, self, value)?;
        let Some(tokens) = ty else { return Ok(value) };
        let mut eval = Eval { scanned, names: self, at: tokens.start, end: tokens.end };
        let ty = eval.ty(0)?;
        if eval.at == eval.end { value.to_type(&ty) } else { Err(No::Unknown) }
    }

    /// The structure or the alias of a name.
    pub(super) fn ty(&mut self, scanned: &Scanned<'a>, name: &'a str, depth: u32) -> Result<Type> {
        let (tokens, structure) = match self.globals.get(name) {
            Some(Global::Alias(tokens)) => (tokens.clone(), false),
            Some(Global::Struct(tokens)) => (tokens.clone(), true),
            _ => return Err(No::Unknown),
        };
        // Each time that it is named: types inside types could be many.
        self.spend(1)?;
        if self.chain >= MAX_CHAIN || !self.open.insert(name) {
            return Err(No::Unknown);
        }
        self.chain += 1;
        let scopes = std::mem::take(&mut self.scopes);
        let mut eval = Eval { scanned, names: self, at: tokens.start, end: tokens.end };
        let found = if structure { members(&mut eval, name, depth) } else { eval.ty(depth) };
        self.scopes = scopes;
        self.chain -= 1;
        self.open.remove(name);
        found
    }

    /// A number of elements.
    pub(super) fn integer(&self, count: Scalar) -> Option<usize> {
        if let Scalar::U32(n) = count { usize::try_from(n).ok().filter(|n| *n > 0) } else { None }
    }

    /// Counts elements that are made.
    pub(super) fn spend(&mut self, elements: usize) -> Result<()> {
        self.made = self.made.saturating_add(elements);
        if self.made > MAX_MADE { Err(No::Unknown) } else { Ok(()) }
    }
}

/// The members of a structure. Those with attributes change its layout, which is nothing to its value.
fn members<'a>(eval: &mut Eval<'_, 'a>, name: &'a str, depth: u32) -> Result<Type> {
    let mut members = Vec::new();
    while eval.at < eval.end {
        while eval.at < eval.end && eval.scanned.text(eval.at + 1) != ":" {
            eval.at += 1;
        }
        if eval.at >= eval.end {
            break;
        }
        let member = eval.scanned.text(eval.at);
        eval.at += 2;
        members.push((Rc::from(member), eval.ty(depth)?));
        if eval.at < eval.end && eval.scanned.text(eval.at) == "," {
            eval.at += 1;
        }
    }
    Ok(Type::Struct(name.into(), members.into()))
}

/// Type and value, in tokens, of the constant whose keyword is at `at`.
pub(super) fn constant(scanned: &Scanned<'_>, at: usize) -> Option<(Option<Range<usize>>, Range<usize>)> {
    let end = statement_end(scanned, at);
    let equal = (at + 2..end).find(|i| scanned.text(*i) == "=")?;
    let ty = if scanned.text(at + 2) == ":" { Some(at + 3..equal) } else { None };
    Some((ty, equal + 1..end))
}

/// The `;` that ends what begins at `at`, or the brace that does in a source with errors.
fn statement_end(scanned: &Scanned<'_>, at: usize) -> usize {
    let ends = |i: &usize| matches!(scanned.kind(*i), Some(Token::Semicolon | Token::OpenBrace | Token::CloseBrace));
    (at..scanned.len()).find(ends).unwrap_or(scanned.len())
}

fn block_end(scanned: &Scanned<'_>, at: usize) -> usize {
    (at..scanned.len()).find(|i| scanned.kind(*i) == Some(Token::CloseBrace)).unwrap_or(scanned.len())
}
