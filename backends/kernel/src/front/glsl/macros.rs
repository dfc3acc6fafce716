//! Macros: their definitions, and the expansion of token lists within bounds.

use std::collections::HashMap;

use super::lexer::{At, Kind, Name, Names, Token};
use super::wrong::{Findings, Wrong};

/// Tokens that all expansions of a source may make together, those that are used up again included.
const MAX_WORK: usize = 1 << 22;
/// Bytes of a token that `##` makes.
const MAX_PASTED: usize = 1024;
/// Macros whose bodies are being read.
const MAX_BODIES: usize = 1024;
/// Arguments inside arguments.
const MAX_DEPTH: u32 = 32;

/// What a name is defined as.
#[derive(Clone)]
pub(super) struct Macro {
    /// `None`: it is used without brackets.
    pub(super) parameters: Option<Vec<Name>>,
    pub(super) body: Vec<Token>,
}

/// All macros of a source.
#[derive(Default)]
pub(super) struct Macros {
    defined: HashMap<Name, Macro>,
    work: usize,
    pub(super) findings: Findings,
}

/// Tokens that are being read: a list, or the body of a macro.
struct Frame {
    tokens: Vec<Token>,
    next: usize,
    of: Option<Name>,
}

/// The lists that are being read, the innermost last.
struct Input(Vec<Frame>);

impl Input {
    fn next(&mut self) -> Option<Token> {
        self.settle();
        let top = self.0.last_mut()?;
        let token = top.tokens.get(top.next).copied();
        top.next += 1;
        token
    }

    fn peek(&mut self) -> Option<Token> {
        self.settle();
        self.0.last().and_then(|top| top.tokens.get(top.next)).copied()
    }

    /// Leaves what is read to its end.
    fn settle(&mut self) {
        while self.0.last().is_some_and(|top| top.next >= top.tokens.len()) {
            self.0.pop();
        }
    }

    fn inside(&self, name: Name) -> bool {
        self.0.iter().any(|frame| frame.of == Some(name))
    }
}

impl Macros {
    pub(super) fn define(&mut self, name: Name, meaning: Macro) {
        self.defined.insert(name, meaning);
    }

    pub(super) fn undefine(&mut self, name: Name) {
        self.defined.remove(&name);
    }

    pub(super) fn is_defined(&self, name: Name) -> bool {
        self.defined.contains_key(&name)
    }

    /// Replaces every macro in a list. What stands for a macro's use that is wrong is lost; only bounds are errors.
    pub(super) fn expand(&mut self, tokens: Vec<Token>, names: &mut Names) -> Result<Vec<Token>, Wrong> {
        self.expand_within(tokens, names, &[], 0)
    }

    /// `outer`: the macros in whose bodies all this stands.
    fn expand_within(&mut self, tokens: Vec<Token>, names: &mut Names, outer: &[Name], depth: u32) -> Result<Vec<Token>, Wrong> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut input = Input(vec![Frame { tokens, next: 0, of: None }]);
        while let Some(mut token) = input.next() {
            self.spend(1, token.at)?;
            if token.kind != Kind::Word || !self.defined.contains_key(&token.name) {
                out.push(token);
                continue;
            }
            if input.inside(token.name) || outer.contains(&token.name) {
                token.kind = Kind::Painted;
                out.push(token);
                continue;
            }
            if input.0.len() > MAX_BODIES {
                let message = format!("macros are nested too deeply here: at most {MAX_BODIES} may be in bodies of each other");
                return Err(Wrong::new(message, token.at).ending());
            }
            match self.replace(token, &mut input, names, outer, depth) {
                Ok(Some(tokens)) => input.0.push(Frame { tokens, next: 0, of: Some(token.name) }),
                Ok(None) => out.push(token),
                Err(wrong) if wrong.ends => return Err(wrong),
                Err(wrong) => {
                    self.findings.note(wrong);
                    out.push(Token { kind: Kind::Lost, ..token });
                }
            }
        }
        Ok(out)
    }

    fn spend(&mut self, tokens: usize, at: At) -> Result<(), Wrong> {
        self.work = self.work.saturating_add(tokens);
        if self.work > MAX_WORK {
            let message = format!("the macros expand too far here: at most {MAX_WORK} tokens are allowed in all");
            return Err(Wrong::new(message, at).ending());
        }
        Ok(())
    }

    /// What stands in for a macro's use; `None` when it has no brackets and needs them.
    fn replace(
        &mut self,
        used: Token,
        input: &mut Input,
        names: &mut Names,
        outer: &[Name],
        depth: u32,
    ) -> Result<Option<Vec<Token>>, Wrong> {
        let Some(found) = self.defined.get(&used.name) else { return Ok(None) };
        self.work = self.work.saturating_add(found.body.len());
        let found = found.clone();
        let place = |token: &Token| Token { at: used.at, first: false, ..*token };
        let Some(parameters) = &found.parameters else {
            let body: Vec<Token> = found.body.iter().map(place).collect();
            return paste(body, names).map(Some);
        };
        let opens = input.peek().filter(|t| names.get(t.name) == "(");
        if opens.is_none() {
            return Ok(None);
        }
        input.next();
        let raw = self.arguments(used, input, names)?;
        let none = parameters.is_empty() && matches!(raw.as_slice(), [only] if only.is_empty());
        if !none && raw.len() != parameters.len() {
            let message =
                format!("the macro `{}` takes {} arguments, {} are given", names.get(used.name), parameters.len(), raw.len());
            return Err(Wrong::new(message, used.at));
        }
        if depth >= MAX_DEPTH {
            let message = format!("macros are nested too deeply here: at most {MAX_DEPTH} may be in arguments of each other");
            return Err(Wrong::new(message, used.at).ending());
        }
        let active: Vec<Name> = input.0.iter().filter_map(|frame| frame.of).chain(outer.iter().copied()).collect();
        let mut expanded = Vec::with_capacity(raw.len());
        for argument in &raw {
            expanded.push(self.expand_within(argument.clone(), names, &active, depth + 1)?);
        }
        let body = self.substitute(used, &found.body, parameters, (&raw, &expanded), names)?;
        paste(body, names).map(Some)
    }

    /// A body with arguments in the place of parameters: expanded, but beside `##` as they were written.
    fn substitute(
        &mut self,
        used: Token,
        body: &[Token],
        parameters: &[Name],
        (raw, expanded): (&[Vec<Token>], &[Vec<Token>]),
        names: &Names,
    ) -> Result<Vec<Token>, Wrong> {
        let mut out = Vec::with_capacity(body.len());
        for (index, token) in body.iter().enumerate() {
            let Some(which) = parameters.iter().position(|p| *p == token.name && token.kind == Kind::Word) else {
                out.push(Token { at: used.at, first: false, ..*token });
                continue;
            };
            let is_paste = |at: Option<usize>| at.and_then(|at| body.get(at)).is_some_and(|t| names.get(t.name) == "##");
            let list = if is_paste(index.checked_sub(1)) || is_paste(Some(index + 1)) { raw } else { expanded };
            let argument = list.get(which).map(Vec::as_slice).unwrap_or_default();
            self.spend(argument.len(), used.at)?;
            out.extend_from_slice(argument);
        }
        Ok(out)
    }

    /// The tokens between the brackets, by commas.
    fn arguments(&mut self, used: Token, input: &mut Input, names: &Names) -> Result<Vec<Vec<Token>>, Wrong> {
        let mut list = vec![Vec::new()];
        let mut brackets = 0u32;
        while let Some(token) = input.next() {
            self.spend(1, used.at)?;
            match names.get(token.name) {
                ")" if brackets == 0 => return Ok(list),
                "," if brackets == 0 => {
                    list.push(Vec::new());
                    continue;
                }
                "(" => brackets += 1,
                ")" => brackets -= 1,
                _ => {}
            }
            if let Some(last) = list.last_mut() {
                last.push(token);
            }
        }
        // All that follows went into its arguments.
        Err(Wrong::new(format!("the `)` of the macro `{}` is missing", names.get(used.name)), used.at).ending())
    }
}

/// Joins what stands on both sides of `##`.
fn paste(tokens: Vec<Token>, names: &mut Names) -> Result<Vec<Token>, Wrong> {
    if !tokens.iter().any(|t| names.get(t.name) == "##") {
        return Ok(tokens);
    }
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        if names.get(token.name) != "##" {
            out.push(token);
            continue;
        }
        let (Some(left), Some(right)) = (out.pop(), rest.next()) else {
            return Err(Wrong::new("`##` stands between two tokens".to_owned(), token.at));
        };
        let text = format!("{}{}", names.get(left.name), names.get(right.name));
        if text.len() > MAX_PASTED {
            return Err(Wrong::new(
                format!("`##` makes a token of {} bytes; at most {MAX_PASTED} are allowed", text.len()),
                token.at,
            ));
        }
        let made = super::lexer::tokens(&text, 0, names);
        let [one] = made.as_slice() else {
            return Err(Wrong::new(format!("`{text}` is not one token"), token.at));
        };
        out.push(Token { at: left.at, ..*one });
    }
    Ok(out)
}
