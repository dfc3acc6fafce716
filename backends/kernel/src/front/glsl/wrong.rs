//! What is wrong with a source, on its way to the reader. Every stage goes on after a mistake; what only follows from one is an error without words.

use std::collections::HashSet;

use super::lexer::At;
use crate::diagnostics::{Finding, MOST};

/// Why something cannot be translated.
#[derive(Debug)]
pub(super) struct Wrong {
    /// `None`: it has been told, and whoever needs the part that failed fails silently.
    finding: Option<Box<Finding>>,
    /// A bound was hit: what stands around it would only hit it again.
    pub(super) ends: bool,
    /// Told at its first place only.
    once: bool,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>, at: At) -> Self {
        Self { finding: Some(Box::new(Finding::new(message, Some(at.0 as usize..at.1 as usize)))), ends: false, once: false }
    }

    /// It only follows from what has been told.
    pub(super) fn told() -> Self {
        Self { finding: None, ends: false, once: false }
    }

    /// A construct that is not supported; a source that uses it once often uses it everywhere.
    pub(super) fn not_supported(construct: &str, at: At) -> Self {
        Self::new(crate::support::not_supported(construct), at).once()
    }

    pub(super) fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Ends the function that it stands in.
    pub(super) fn ending(mut self) -> Self {
        self.ends = true;
        self
    }

    fn change(mut self, change: impl FnOnce(Finding) -> Finding) -> Self {
        self.finding = self.finding.map(|finding| Box::new(change(*finding)));
        self
    }

    /// What stands beside the caret.
    pub(super) fn label(self, label: impl Into<String>) -> Self {
        self.change(|finding| finding.label(label))
    }

    pub(super) fn note(self, note: Option<impl Into<String>>) -> Self {
        match note {
            Some(note) => self.change(|finding| finding.note(note)),
            None => self,
        }
    }

    /// In other words, when it has any.
    pub(super) fn reworded(self, message: String) -> Self {
        self.change(|finding| Finding { message, ..finding })
    }
}

/// What one stage has found.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    known: HashSet<(usize, String)>,
    once: HashSet<String>,
}

impl Findings {
    /// For a stage after others, which found these.
    pub(super) fn after(earlier: &[Finding]) -> Self {
        Self { once: earlier.iter().map(|f| f.message.clone()).collect(), ..Self::default() }
    }

    /// Notes a mistake once, however often the stage comes by.
    pub(super) fn note(&mut self, wrong: Wrong) {
        let Some(finding) = wrong.finding.filter(|_| !self.are_enough()) else { return };
        let start = finding.at.as_ref().map_or(0, |at| at.start);
        let again = !self.once.insert(finding.message.clone()) && wrong.once;
        if self.known.insert((start, finding.message.clone())) && !again {
            self.list.push(*finding);
        }
    }

    /// More would not be shown.
    pub(super) fn are_enough(&self) -> bool {
        self.list.len() >= MOST
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list
    }
}
