//! Going on after a mistake: where the next statement or declaration begins, and which names are missing because of what is skipped.

use super::*;
use crate::spelling;

/// Braces and brackets open before a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Level {
    braces: u32,
    brackets: u32,
}

/// The level of every token. A brace closes all brackets, and so does a semicolon outside of a `for`'s: so one that is missing costs one statement.
pub(super) fn levels(tokens: &[Token], names: &Names) -> Vec<Level> {
    let mut list = Vec::with_capacity(tokens.len());
    // For each open bracket whether it is a `for`'s.
    let mut open: Vec<bool> = Vec::new();
    let (mut braces, mut before) = (0u32, "");
    for token in tokens {
        let text = names.get(token.name);
        if text == ";" && !open.last().is_some_and(|of_for| *of_for) {
            open.clear();
        }
        list.push(Level { braces, brackets: u32::try_from(open.len()).unwrap_or(u32::MAX) });
        match text {
            "(" => open.push(before == "for"),
            ")" => drop(open.pop()),
            "{" | "}" => {
                open.clear();
                braces = if text == "{" { braces + 1 } else { braces.saturating_sub(1) };
            }
            _ => {}
        }
        before = text;
    }
    list
}

impl Parser<'_> {
    pub(super) fn level(&self, at: usize) -> Level {
        self.levels.get(at).copied().unwrap_or(Level { braces: 0, brackets: 0 })
    }

    /// What an unknown type may have been meant to be.
    pub(super) fn unknown_type(&self, token: &Token) -> Wrong {
        let word = self.names.get(token.name);
        if self.lost.contains(&token.name) {
            return Wrong::told();
        }
        let wrong = Wrong::new(format!("`{word}` is not a type"), token.at);
        if let Some(hint) = words::foreign_type(word) {
            return wrong.note(Some(hint));
        }
        let declared = self.structs.iter().map(|name| self.names.get(*name));
        let near = spelling::nearest(word, words::TYPES.iter().copied().chain(declared));
        wrong.note(near.map(|near| format!("did you mean `{near}`?")))
    }

    /// Whether something begins here that cannot stand in a function: then a brace is missing above.
    fn begins_outside(&self) -> bool {
        let block = self.text(0) == "layout" || (matches!(self.text(0), "uniform" | "buffer") && self.text(2) == "{");
        block && self.token(0).is_some_and(|t| t.first) || self.begins_function()
    }

    /// Whether a function's definition begins here.
    fn begins_function(&self) -> bool {
        if !self.is_word(0) || !self.is_word(1) || self.text(2) != "(" {
            return false;
        }
        if is_keyword(self.text(1)) || (is_keyword(self.text(0)) && types::word(self.text(0)).is_none()) {
            return false;
        }
        let level = self.level(self.at + 3);
        let rest = self.tokens.get(self.at + 3..).unwrap_or_default();
        let close = rest.iter().zip(self.at + 3..).find(|(t, at)| self.names.get(t.name) == ")" && self.level(*at) == level);
        close.and_then(|(_, at)| self.tokens.get(at + 1)).is_some_and(|t| self.names.get(t.name) == "{")
    }

    /// Whether the function being read has no end: told at its beginning. What comes next is outside of it.
    pub(super) fn never_closed(&mut self) -> bool {
        if self.at < self.tokens.len() && !self.begins_outside() {
            return false;
        }
        let wrong = Wrong::new("this `{` is never closed: a `}` is missing", self.brace);
        self.findings.note(wrong.label("opened here"));
        if self.level(self.at).braces > 0 {
            let rest = levels(self.tokens.get(self.at..).unwrap_or_default(), self.names);
            self.levels.truncate(self.at);
            self.levels.extend(rest);
        }
        true
    }

    /// Past a statement or member that was not understood. A block that belongs to it is left to be read.
    pub(super) fn skip_statement(&mut self, wrong: Wrong, from: usize, level: Level) {
        self.findings.note(wrong);
        (from..self.at).for_each(|at| self.lose(at));
        let outside = self.level(from).brackets;
        while let Some(token) = self.tokens.get(self.at) {
            let here = self.level(self.at);
            if here.braces <= level.braces {
                match self.names.get(token.name) {
                    ";" if here.brackets <= outside => {
                        self.at += 1;
                        return;
                    }
                    "}" => return,
                    "{" if self.at > from && self.is_header() => return,
                    _ => {}
                }
            }
            self.lose(self.at);
            self.at += 1;
        }
    }

    /// Whether the brace here begins the statements that belong to what stands before it.
    fn is_header(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.is_some_and(|t| matches!(self.names.get(t.name), ")" | "else" | "do"))
    }

    /// Past the bracket that closes the parameters of a function, or to its body where that bracket is missing.
    pub(super) fn skip_parameters(&mut self, wrong: Wrong, from: usize) -> Parsed<()> {
        let (mut at, level) = (self.at, self.level(from));
        while let Some(token) = self.tokens.get(at).filter(|_| self.level(at).braces == level.braces) {
            let text = self.names.get(token.name);
            if (text == ")" && self.level(at) == level) || text == "{" {
                self.findings.note(wrong);
                (from..at).for_each(|at| self.lose(at));
                self.at = at + usize::from(text == ")");
                return Ok(());
            }
            if text == ";" {
                break;
            }
            at += 1;
        }
        Err(wrong)
    }

    /// Past a declaration of the outermost level that was not understood.
    pub(super) fn skip_item(&mut self, wrong: Wrong, from: usize) {
        self.findings.note(wrong);
        (self.blocks, self.brackets) = (0, 0);
        (from..self.at).for_each(|at| self.lose(at));
        while let Some(token) = self.tokens.get(self.at) {
            let here = self.level(self.at);
            let text = self.names.get(token.name);
            self.lose(self.at);
            self.at += 1;
            let named = self.is_word(0) && matches!(self.text(1), ";" | "[");
            let over = match text {
                ";" => here.braces == 0 && here.brackets == 0,
                "}" => here.braces <= 1 && !named && self.text(0) != ";",
                _ => false,
            };
            if over {
                return;
            }
        }
    }

    /// A word in what is skipped that looks as if it was declared there.
    fn lose(&mut self, at: usize) {
        let Some(token) = self.tokens.get(at).filter(|t| t.kind == Kind::Word) else { return };
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let declares = before.is_some_and(|t| {
            let text = self.names.get(t.name);
            let word =
                matches!(t.kind, Kind::Word | Kind::Painted | Kind::Lost) && !matches!(text, "return" | "else" | "do" | "case");
            word || matches!(text, "," | "]" | "}")
        });
        if declares && !is_keyword(self.names.get(token.name)) {
            self.lost.insert(token.name);
        }
    }
}
