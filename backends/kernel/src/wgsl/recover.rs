//! Finds everything that is wrong with a source. The front end stops at its first error: here that error is noted, the least that holds it is
//! taken out, and the rest is tried again, until nothing is wrong with what is left. What the cuts themselves make wrong is not told.

use std::collections::HashSet;

use super::cut::{self, Cut};
use super::invalid;
use super::lets;
use super::messages::{self, Mistake};
use crate::diagnostics::{Diagnostics, Finding, MOST};
use crate::scan::Scanned;
use crate::text::{Edit, Text};
use crate::{support, uniformity};

/// Attempts, those included that find nothing new.
const MAX_ROUNDS: u64 = 200;
/// What all attempts may cost, in bytes of source. A large source with many mistakes is told of the first ones.
const MAX_BYTES: u64 = 8 << 20;

/// All that can be told of a source that is refused. `findings` are those known already, in bytes of the present text.
pub(super) fn everything(text: Text, findings: Vec<Finding>) -> Diagnostics {
    let written = findings.into_iter().map(|f| f.moved(|range| text.original(range))).collect();
    let mut recovery = Recovery { text, findings: written, lost: HashSet::new(), touched: HashSet::new(), rounds: 0, bytes: 0 };
    recovery.run();
    let Recovery { text, findings, .. } = recovery;
    crate::diagnostics::refuse(text.written(), findings)
}

struct Recovery {
    text: Text,
    /// In bytes of what was written.
    findings: Vec<Finding>,
    /// Names whose declaration was taken out: by function, or for the whole module.
    lost: HashSet<(Option<String>, String)>,
    /// Functions that a statement was taken from.
    touched: HashSet<String>,
    rounds: u64,
    bytes: u64,
}

impl Recovery {
    fn run(&mut self) {
        self.close_functions();
        let Some(module) = self.parsed() else { return };
        let unsupported = support::check(&module, self.text.as_str());
        for finding in &unsupported {
            self.note(finding.clone());
        }
        self.validate(module, !unsupported.is_empty());
    }

    /// A function that is not closed takes what follows it along: that is told first.
    fn close_functions(&mut self) {
        let source = self.text.as_str().to_owned();
        let open = cut::unclosed(&Scanned::new(&source));
        for function in &open {
            let finding = Finding::new("this `{` is never closed: a `}` is missing", Some(function.brace.clone()));
            self.note(finding.label("opened here"));
        }
        self.text.apply(open.into_iter().map(|f| Edit::new(f.end..f.end, "}".repeat(f.missing))).collect());
    }

    /// Notes a finding, unless it has been noted.
    fn note(&mut self, finding: Finding) {
        let finding = finding.moved(|range| self.text.original(range));
        if !self.findings.iter().any(|f| f.message == finding.message && f.at == finding.at) {
            self.findings.push(finding);
        }
    }

    /// Whether another attempt is allowed.
    fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        self.bytes += self.text.as_str().len() as u64;
        self.findings.len() < MOST && self.rounds <= MAX_ROUNDS && self.bytes <= MAX_BYTES
    }

    /// Parses until nothing is wrong any more.
    fn parsed(&mut self) -> Option<naga::Module> {
        loop {
            let error = match naga::front::wgsl::parse_str(self.text.as_str()) {
                Ok(module) => return Some(module),
                Err(error) => error,
            };
            let source = self.text.as_str().to_owned();
            let scanned = Scanned::new(&source);
            let (finding, mistake) = messages::parse_error(&source, &scanned, &error);
            let at = finding.at.clone();
            let token = scanned.at_byte(error.labels().next().and_then(|l| l.0.to_range()).map_or(source.len(), |r| r.start));
            if !self.follows(&scanned, token, &mistake) {
                self.note(finding);
            }
            if at.is_none() || !self.goes_on() || !self.mend(&source, &scanned, token, &mistake) {
                return None;
            }
        }
    }

    /// Whether an error is there only because of what was taken out.
    fn follows(&self, scanned: &Scanned<'_>, token: usize, mistake: &Mistake) -> bool {
        let Mistake::Unknown(name) = mistake else { return false };
        let function = cut::function_at(scanned, token);
        self.lost.contains(&(None, name.clone())) || self.lost.contains(&(function, name.clone()))
    }

    /// Takes a mistake out of the text. False when that cannot be done.
    fn mend(&mut self, source: &str, scanned: &Scanned<'_>, token: usize, mistake: &Mistake) -> bool {
        if let Mistake::Semicolon(at) = mistake {
            self.text.apply(vec![Edit::new(*at..*at, ";")]);
            return true;
        }
        let syntax = *mistake == Mistake::Syntax;
        let found = cut::smallest(source, scanned, token, syntax).or_else(|| cut::larger(source, scanned, token));
        match found {
            Some(cut) => {
                self.take_out(cut);
                true
            }
            None => false,
        }
    }

    fn take_out(&mut self, cut: Cut) {
        let function = if cut.global { None } else { cut.within.clone() };
        self.lost.extend(cut.lost.into_iter().map(|name| (function.clone(), name)));
        if let (false, Some(function)) = (cut.global, cut.within) {
            self.touched.insert(function);
        }
        self.text.apply(vec![cut.edit]);
    }

    /// Replaces the bodies of functions, and parses again.
    fn without_bodies(&mut self, functions: impl IntoIterator<Item = String>) -> Option<naga::Module> {
        for function in functions {
            let source = self.text.as_str().to_owned();
            let cut = cut::stub(&source, &Scanned::new(&source), &function)?;
            self.text.apply(vec![cut.edit]);
        }
        naga::front::wgsl::parse_str(self.text.as_str()).ok()
    }

    /// Validates until nothing is wrong any more. Functions that something was taken from are left out: what they are now is nobody's fault.
    fn validate(&mut self, module: naga::Module, unsupported: bool) {
        let touched = std::mem::take(&mut self.touched);
        let mut module = if touched.is_empty() { module } else {
            match self.without_bodies(touched) {
                Some(module) => module,
                None => return,
            }
        };
        let edits = lets::check(&module, self.text.as_str());
        if !edits.is_empty() {
            self.text.apply(edits);
            match naga::front::wgsl::parse_str(self.text.as_str()) {
                Ok(changed) => module = changed,
                Err(_) => return,
            }
        }
        loop {
            let error = match super::judge(&module, unsupported) {
                Ok(findings) => {
                    findings.into_iter().for_each(|f| self.note(f));
                    break;
                }
                Err(error) => error,
            };
            let finding = invalid::finding(&module, &error);
            let at = finding.at.clone();
            self.note(finding);
            let source = self.text.as_str().to_owned();
            let scanned = Scanned::new(&source);
            let function = at.and_then(|at| cut::function_at(&scanned, scanned.at_byte(at.start)));
            if !self.goes_on() {
                return;
            }
            match function.and_then(|function| self.without_bodies([function])) {
                Some(changed) => module = changed,
                None => return,
            }
        }
        for index in 0..module.entry_points.len() {
            uniformity::check(&module, index).into_iter().for_each(|f| self.note(f));
        }
    }
}
