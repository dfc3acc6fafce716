//! Going on after a mistake: noting it, and keeping what it takes away from being told as well.

use std::sync::Arc;

use super::builder::Func;
use super::{Lower, Lowered, Symbol, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::words;
use crate::spelling;

/// Words that are compared for all unknown ones of a source.
const MOST_COMPARED: usize = 1 << 16;

impl Lower<'_> {
    /// What was made, or nothing where it was wrong: that is noted.
    pub(super) fn attempt<T>(&mut self, made: Lowered<T>) -> Option<T> {
        made.map_err(|wrong| {
            self.func.ended |= wrong.ends;
            self.findings.note(wrong);
        })
        .ok()
    }

    /// Both, or an error without words when one was wrong.
    pub(super) fn both<A, B>(&mut self, first: Lowered<A>, second: Lowered<B>) -> Lowered<(A, B)> {
        let (first, second) = (self.attempt(first), self.attempt(second));
        first.zip(second).ok_or_else(Wrong::told)
    }

    /// Every one of a list, or an error without words when some were wrong.
    pub(super) fn each<T, U>(
        &mut self,
        list: impl IntoIterator<Item = T>,
        mut work: impl FnMut(&mut Self, T) -> Lowered<U>,
    ) -> Lowered<Vec<U>> {
        let mut made = Vec::new();
        let mut complete = true;
        for one in list {
            let one = work(self, one);
            match self.attempt(one) {
                Some(one) => made.push(one),
                None => complete = false,
            }
        }
        if complete { Ok(made) } else { Err(Wrong::told()) }
    }

    /// A name whose declaration was wrong.
    pub(super) fn lose(&mut self, name: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.entry(name).or_insert(Symbol::Lost);
        }
    }

    /// Of a name that nothing declares; told once in a function.
    pub(super) fn unknown(&mut self, name: Name, at: At) -> Wrong {
        if self.is_lost(name) {
            return Wrong::told();
        }
        let word = self.names.get(name);
        let wrong = Wrong::new(format!("`{word}` is not declared"), at);
        let near = self.near(word, false);
        if let Some(scope) = self.scopes.get_mut(1) {
            scope.entry(name).or_insert(Symbol::Lost);
        }
        wrong.note(near)
    }

    /// Of a function that nothing declares.
    pub(super) fn unknown_function(&mut self, name: Name, at: At) -> Wrong {
        if self.is_lost(name) {
            return Wrong::told();
        }
        let word = self.names.get(name);
        let near = self.near(word, true);
        Wrong::new(format!("there is no function `{word}`"), at).note(near)
    }

    pub(super) fn is_lost(&self, name: Name) -> bool {
        self.missing || self.lost.contains(&name)
    }

    /// What may have been meant: the word for it in this language, or one that is spelled alike.
    fn near(&mut self, word: &str, function: bool) -> Option<String> {
        if let Some(hint) = words::foreign(word) {
            return Some(hint.to_owned());
        }
        if self.compared > MOST_COMPARED {
            return None;
        }
        let names = self.names;
        let mut known: Vec<&str> = Vec::new();
        if function {
            known.extend(self.overloads.keys().map(|name| names.get(*name)));
        } else {
            known.extend(self.scopes.iter().rev().flat_map(|scope| scope.keys()).map(|name| names.get(*name)));
        }
        // A table has no order; a message has one.
        known.sort_unstable();
        known.extend(words::NAMES);
        self.compared += known.len();
        spelling::nearest(word, known.into_iter()).map(|near| format!("did you mean `{near}`?"))
    }

    /// The body of a function whose own types were wrong: looked at for what else is.
    pub(super) fn lost_function(&mut self, tree: &Arc<Function>) {
        let made = self.separately(|lower| {
            lower.func = Func::default();
            lower.func.assigned = lower.assigned(tree);
            lower.scoped(|lower| {
                for parameter in &tree.parameters {
                    lower.lose(parameter.name);
                }
                lower.statements(tree.body.as_deref().unwrap_or_default())
            })
        });
        self.attempt(made);
    }
}
