//! Takes what is wrong out of a source, as little as can be, so that the rest can be looked at: a statement, else the body of its function, else
//! the declaration. Works on tokens, for nothing better is left of a source with mistakes.

use std::ops::Range;

use crate::edits::Edit;
use crate::scan::{Kind, Scanned};

/// What is taken out, and the names that are lost with it.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) edit: Edit,
    pub(super) lost: Vec<String>,
    /// The function it was in, or the name of the declaration that is gone.
    pub(super) within: Option<String>,
    /// Whether the names are lost for the whole module.
    pub(super) global: bool,
}

/// A declaration at module scope, in tokens.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) tokens: Range<usize>,
    /// The token of its name.
    pub(super) name: Option<usize>,
    /// The `{` and the `}` of a function.
    body: Option<(usize, usize)>,
}

/// The declarations of a source. Words that begin one end the one before, closed or not: functions do not nest.
pub(super) fn declarations(scanned: &Scanned<'_>) -> Vec<Declaration> {
    let mut list = Vec::new();
    let mut start = 0;
    let (mut braces, mut brackets) = (0u32, 0u32);
    let mut finish = |range: Range<usize>| {
        if !range.is_empty() {
            list.push(declaration(scanned, range));
        }
    };
    for at in 0..scanned.len() {
        let kind = scanned.kind(at);
        if at > start && begins(scanned, at, braces) {
            let first = attributes_before(scanned, at, start);
            finish(start..first);
            (start, braces, brackets) = (first, 0, 0);
        }
        match kind {
            Some(Kind::OpenBrace) => braces += 1,
            Some(Kind::CloseBrace) => braces = braces.saturating_sub(1),
            Some(Kind::Open) => brackets += 1,
            Some(Kind::Close) => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        let ends = matches!(kind, Some(Kind::CloseBrace)) && braces == 0;
        if ends || (kind == Some(Kind::Semicolon) && braces == 0 && brackets == 0) {
            finish(start..at + 1);
            (start, brackets) = (at + 1, 0);
        }
    }
    finish(start..scanned.len());
    list
}

/// Whether a declaration begins at a word, whatever is still open.
fn begins(scanned: &Scanned<'_>, at: usize, braces: u32) -> bool {
    let named = scanned.kind(at + 1) == Some(Kind::Word);
    match scanned.text(at) {
        "fn" => named && scanned.text(at + 2) == "(",
        "struct" => named && scanned.text(at + 2) == "{",
        "alias" | "override" => named,
        "const" => named && braces == 0,
        "var" => braces == 0 || (scanned.text(at + 1) == "<" && !matches!(scanned.text(at + 2), "function")),
        _ => false,
    }
}

/// The first token of the attributes in front of a declaration.
fn attributes_before(scanned: &Scanned<'_>, at: usize, least: usize) -> usize {
    let mut first = at;
    while first > least {
        let mut name = first - 1;
        if scanned.text(name) == ")" {
            let mut depth = 0i32;
            while name > least {
                depth += match scanned.text(name) {
                    ")" => 1,
                    "(" => -1,
                    _ => 0,
                };
                name -= 1;
                if depth == 0 {
                    break;
                }
            }
        }
        match name.checked_sub(1) {
            Some(sign) if sign >= least && scanned.text(sign) == "@" => first = sign,
            _ => break,
        }
    }
    first
}

fn declaration(scanned: &Scanned<'_>, tokens: Range<usize>) -> Declaration {
    let keyword = tokens.clone().find(|i| {
        matches!(scanned.text(*i), "fn" | "struct" | "alias" | "override" | "const" | "var")
            && i.checked_sub(1).is_none_or(|b| scanned.text(b) != "@")
    });
    let name = keyword.and_then(|keyword| {
        if scanned.text(keyword) == "var" && scanned.text(keyword + 1) == "<" {
            return (keyword + 1..tokens.end).find(|i| scanned.text(*i) == ">").map(|i| i + 1);
        }
        Some(keyword + 1)
    });
    let function = keyword.filter(|k| scanned.text(*k) == "fn");
    let open = function.and_then(|k| (k..tokens.end).find(|i| scanned.kind(*i) == Some(Kind::OpenBrace)));
    let close = tokens.end.checked_sub(1).filter(|i| scanned.kind(*i) == Some(Kind::CloseBrace));
    Declaration {
        name: name.filter(|n| scanned.kind(*n) == Some(Kind::Word)),
        body: open.zip(close).filter(|(o, c)| o < c),
        tokens,
    }
}

/// A function with fewer `}` than `{`.
pub(super) struct Unclosed {
    /// Bytes of its first `{` that nothing closes.
    pub(super) brace: Range<usize>,
    /// Where it ends, and how many are missing.
    pub(super) end: usize,
    pub(super) missing: usize,
    pub(super) name: Option<String>,
}

/// Functions that the next declaration, or the end, comes too early for.
pub(super) fn unclosed(scanned: &Scanned<'_>) -> Vec<Unclosed> {
    let mut list = Vec::new();
    for declaration in declarations(scanned) {
        let mut open = Vec::new();
        for at in declaration.tokens.clone() {
            match scanned.kind(at) {
                Some(Kind::OpenBrace) => open.push(at),
                Some(Kind::CloseBrace) => {
                    open.pop();
                }
                _ => {}
            }
        }
        let function = declaration.tokens.clone().any(|at| scanned.text(at) == "fn");
        let places = open
            .last()
            .and_then(|at| scanned.range(*at))
            .zip(declaration.tokens.end.checked_sub(1).and_then(|at| scanned.range(at)));
        if let (true, Some((brace, last))) = (function, places) {
            list.push(Unclosed {
                brace,
                end: last.end,
                missing: open.len(),
                name: declaration.name.map(|n| scanned.text(n).to_owned()),
            });
        }
    }
    list
}

/// Takes the statement at a token out; a declaration where there is no statement. `syntax` when the tokens before are as likely to be wrong.
pub(super) fn smallest(source: &str, scanned: &Scanned<'_>, token: usize, syntax: bool) -> Option<Cut> {
    let all = declarations(scanned);
    let declaration = at_token(&all, token)?;
    let Some((open, close)) = declaration.body.filter(|(open, close)| *open < token && token <= *close) else {
        return whole(source, scanned, declaration);
    };
    let token = if syntax && token > open + 1 { token - 1 } else { token };
    let token = if token == close { token - 1 } else { token };
    let found = statement(scanned, token, open, close).map(|(tokens, with)| {
        let name = declaration.name.map(|n| scanned.text(n).to_owned());
        let lost = declared_in(scanned, tokens.clone());
        cut(source, scanned, tokens, with, lost, name, false)
    });
    match found.flatten() {
        Some(cut) => Some(cut),
        None => body(source, scanned, declaration),
    }
}

/// Takes more out than `smallest` did: the body of the function, or the whole declaration when that is gone.
pub(super) fn larger(source: &str, scanned: &Scanned<'_>, token: usize) -> Option<Cut> {
    let all = declarations(scanned);
    let declaration = at_token(&all, token)?;
    let inside = declaration.body.is_some_and(|(open, close)| open < token && token <= close);
    let stub = if inside { body(source, scanned, declaration) } else { None };
    stub.or_else(|| whole(source, scanned, declaration))
}

/// Takes the declaration out that a token is in.
pub(super) fn whole_at(source: &str, scanned: &Scanned<'_>, token: usize) -> Option<Cut> {
    let all = declarations(scanned);
    whole(source, scanned, at_token(&all, token)?)
}

/// The function around a token.
pub(super) fn function_at(scanned: &Scanned<'_>, token: usize) -> Option<String> {
    let all = declarations(scanned);
    let declaration = at_token(&all, token).filter(|d| d.body.is_some())?;
    declaration.name.map(|n| scanned.text(n).to_owned())
}

fn at_token(all: &[Declaration], token: usize) -> Option<&Declaration> {
    all.iter().find(|d| d.tokens.contains(&token)).or_else(|| all.last())
}

fn whole(source: &str, scanned: &Scanned<'_>, declaration: &Declaration) -> Option<Cut> {
    let name = declaration.name.map(|n| scanned.text(n).to_owned());
    cut(source, scanned, declaration.tokens.clone(), String::new(), name.clone().into_iter().collect(), name, true)
}

/// A body that returns a zero value of the type that the function returns.
fn body(source: &str, scanned: &Scanned<'_>, declaration: &Declaration) -> Option<Cut> {
    let (open, close) = declaration.body?;
    let arrow = (declaration.tokens.start..open).find(|i| scanned.text(*i) == "-" && scanned.text(i + 1) == ">");
    let ty = arrow.and_then(|arrow| {
        let mut first = arrow + 2;
        while scanned.text(first) == "@" {
            first += 2;
            if scanned.text(first) == "(" {
                first = (first..open).find(|i| scanned.text(*i) == ")")? + 1;
            }
        }
        source.get(scanned.range(first)?.start..scanned.range(open)?.start)
    });
    let with = ty.map_or(String::new(), |ty| format!("var zero: {}; return zero;", ty.trim()));
    let name = declaration.name.map(|n| scanned.text(n).to_owned());
    if open + 1 == close && !with.is_empty() {
        let end = scanned.range(open)?.end;
        return Some(Cut { edit: Edit::new(end..end, with), lost: Vec::new(), within: name, global: false });
    }
    cut(source, scanned, open + 1..close, with, Vec::new(), name, false)
}

/// Replaces tokens. `None` when nothing would change.
fn cut(
    source: &str,
    scanned: &Scanned<'_>,
    tokens: Range<usize>,
    with: String,
    lost: Vec<String>,
    within: Option<String>,
    global: bool,
) -> Option<Cut> {
    let range = scanned.range(tokens.start)?.start..scanned.range(tokens.end.checked_sub(1)?)?.end;
    if tokens.is_empty() || source.get(range.clone())? == with {
        return None;
    }
    Some(Cut { edit: Edit::new(range, with), lost, within, global })
}

/// The innermost statement around a token, and what to put in its place.
fn statement(scanned: &Scanned<'_>, token: usize, open: usize, close: usize) -> Option<(Range<usize>, String)> {
    // Brackets that are open at the token: a `;` in the head of a `for` ends no statement.
    let mut brackets: Vec<usize> = Vec::new();
    let mut start = open + 1;
    for at in open + 1..=token {
        match scanned.kind(at) {
            Some(Kind::Open) => brackets.push(at),
            Some(Kind::Close) if at < token => {
                brackets.pop();
            }
            Some(Kind::Semicolon) if brackets.is_empty() && at < token => start = at + 1,
            Some(Kind::OpenBrace | Kind::CloseBrace) if at < token => {
                brackets.clear();
                start = at + 1;
            }
            Some(Kind::Word) if at > start && begins_statement(scanned, at) => {
                brackets.clear();
                start = at;
            }
            _ => {}
        }
    }
    if start >= close || scanned.kind(start) == Some(Kind::CloseBrace) {
        return None;
    }
    match scanned.text(start) {
        "if" | "while" => condition(scanned, start, close),
        "else" if scanned.text(start + 1) == "if" => condition(scanned, start + 1, close),
        "for" | "switch" => Some((start..block_end(scanned, start, close)?, String::new())),
        "else" | "case" | "default" | "loop" | "continuing" => None,
        _ => Some((start..simple_end(scanned, start, token, close), String::new())),
    }
}

/// Words that begin a statement wherever they stand, so that the one before them has ended.
fn begins_statement(scanned: &Scanned<'_>, at: usize) -> bool {
    let header = at.checked_sub(1).is_some_and(|i| matches!(scanned.text(i), "(" | "else"));
    match scanned.text(at) {
        "let" | "const" | "return" | "for" | "while" | "loop" | "switch" | "continue" => !header,
        "var" => !header && (scanned.kind(at + 1) == Some(Kind::Word) || scanned.text(at + 1) == "<"),
        "if" => at.checked_sub(1).is_none_or(|i| !matches!(scanned.text(i), "else" | "break")),
        _ => false,
    }
}

/// The condition of an `if` or a `while`: it becomes true, and the block behind it is still looked at.
fn condition(scanned: &Scanned<'_>, keyword: usize, close: usize) -> Option<(Range<usize>, String)> {
    let block = (keyword..close).find(|i| scanned.kind(*i) == Some(Kind::OpenBrace))?;
    Some((keyword + 1..block, " true ".to_owned())).filter(|(tokens, _)| !tokens.is_empty())
}

fn block_end(scanned: &Scanned<'_>, start: usize, close: usize) -> Option<usize> {
    let mut depth = 0u32;
    for at in start..close {
        match scanned.kind(at) {
            Some(Kind::OpenBrace) => depth += 1,
            Some(Kind::CloseBrace) => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Up to the `;`, or to what cannot belong to the statement any more.
fn simple_end(scanned: &Scanned<'_>, start: usize, token: usize, close: usize) -> usize {
    for at in start..close {
        match scanned.kind(at) {
            Some(Kind::Semicolon) if at >= token => return at + 1,
            Some(Kind::OpenBrace | Kind::CloseBrace) if at > start => return at,
            Some(Kind::Word) if at > token && begins_statement(scanned, at) => return at,
            _ => {}
        }
    }
    close
}

/// Names that a range declares: after a keyword, or the second of two words as C has it.
fn declared_in(scanned: &Scanned<'_>, tokens: Range<usize>) -> Vec<String> {
    let mut lost = Vec::new();
    for at in tokens.start..tokens.end.saturating_sub(1) {
        let next = scanned.kind(at + 1) == Some(Kind::Word);
        let word = scanned.kind(at) == Some(Kind::Word) && !matches!(scanned.text(at), "return" | "case" | "else");
        if next && word {
            lost.push(scanned.text(at + 1).to_owned());
        }
        if scanned.text(at) == "var" && scanned.text(at + 1) == "<" {
            lost.extend((at + 1..tokens.end).find(|i| scanned.text(*i) == ">").map(|i| scanned.text(i + 1).to_owned()));
        }
    }
    lost
}
