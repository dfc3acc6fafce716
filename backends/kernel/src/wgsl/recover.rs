//! Finds everything that is wrong with a source. The front end stops at its first error: here that error is noted, the least that holds it is
//! taken out, and the rest is tried again, until nothing is wrong with what is left. What the cuts themselves make wrong is not told.

use std::collections::HashSet;
use std::ops::Range;

use super::cut::{self, Cut};
use super::invalid;
use super::lets;
use super::messages::{self, Mistake};
use super::swizzles;
use crate::diagnostics::{Diagnostics, Finding, MOST};
use crate::edits::{Edit, Edited};
use crate::print::Rewritten;
use crate::scan::{Kind, Scanned};
use crate::{limits, pointers, uniformity};

/// Attempts, those included that find nothing new.
const MAX_ROUNDS: u64 = 200;
/// What all attempts may cost, in bytes of source. A large source with many mistakes is told of the first ones.
const MAX_COST: u64 = 4 << 20;
/// The front end's time grows with the square of a function's statements: this many pairs take it as long as one byte.
const PAIRS_PER_BYTE: u64 = 32;

/// All that can be told of a source that is refused. `written` are the findings known already, in bytes of what was written.
pub(super) fn everything(text: Edited, written: Vec<Finding>, prints: &Rewritten) -> Diagnostics {
    let mut recovery = Recovery {
        text,
        known: written.iter().filter_map(|f| f.at.clone()).collect(),
        findings: written,
        lost: HashSet::new(),
        touched: HashSet::new(),
        rounds: 0,
        cost: 0,
    };
    recovery.run(prints);
    let Recovery { text, findings, .. } = recovery;
    crate::diagnostics::refuse(text.written(), findings)
}

struct Recovery {
    text: Edited,
    /// In bytes of what was written.
    findings: Vec<Finding>,
    /// The places of what was found before anything was parsed: the front end would say it again in other words.
    known: Vec<Range<usize>>,
    /// Names whose declaration was taken out: by function, or for the whole module.
    lost: HashSet<(Option<String>, String)>,
    /// Functions that a statement was taken from.
    touched: HashSet<String>,
    rounds: u64,
    cost: u64,
}

impl Recovery {
    fn run(&mut self, prints: &Rewritten) {
        self.close_functions();
        let Some(module) = self.parsed() else { return };
        let unsupported = super::refused(&module, self.text.as_str(), prints);
        for finding in &unsupported {
            self.note(finding.clone());
        }
        self.validate(module, !unsupported.is_empty());
        if self.findings.is_empty() {
            self.copied();
        }
    }

    /// What is wrong only with the copies of functions that pointers lead to.
    fn copied(&mut self) {
        let Ok(super::Read { mut module, .. }) = super::read(self.text.as_str()) else { return };
        let findings = match super::valid(&mut module) {
            Ok(info) => limits::check(&module, &info),
            Err(findings) => findings,
        };
        findings.into_iter().for_each(|f| self.note(f));
    }

    /// A function that is not closed takes what follows it along: that is told first.
    fn close_functions(&mut self) {
        let source = self.text.as_str().to_owned();
        let open = cut::unclosed(&Scanned::new(&source));
        for function in &open {
            let finding = Finding::new("this `{` is never closed: a `}` is missing", Some(function.brace.clone()));
            self.note(finding.label("opened here"));
        }
        self.touched.extend(open.iter().filter_map(|f| f.name.clone()));
        self.text.apply(open.into_iter().map(|f| Edit::new(f.end..f.end, "}".repeat(f.missing))).collect());
    }

    /// Notes a finding, unless it has been noted.
    fn note(&mut self, finding: Finding) {
        let finding = match finding.at.clone().and_then(|at| swizzles::explain(self.text.as_str().get(at)?)) {
            Some(message) => Finding::new(message, finding.at),
            None => finding,
        };
        let finding = finding.moved(|range| self.text.original(range));
        let inside = |outer: &Range<usize>| finding.at.as_ref().is_some_and(|at| outer.contains(&at.start));
        if self.known.iter().any(inside) {
            return;
        }
        let overlap = |f: &Finding| match (&f.at, &finding.at) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end || a == b,
            (a, b) => a == b,
        };
        if !self.findings.iter().any(|f| f.message == finding.message && overlap(f)) {
            self.findings.push(finding);
        }
    }

    /// Whether another attempt is allowed.
    fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        self.cost += cost(self.text.as_str());
        self.findings.len() < MOST && self.rounds <= MAX_ROUNDS && self.cost <= MAX_COST
    }

    /// Parses until nothing is wrong any more.
    fn parsed(&mut self) -> Option<naga::Module> {
        loop {
            let error = match super::read(self.text.as_str()) {
                Ok(super::Read { mut module, findings, .. }) => {
                    findings.into_iter().for_each(|f| self.note(f));
                    pointers::generalise(&mut module);
                    return Some(module);
                }
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

    /// Takes a declaration out, and what needs it.
    fn without(&mut self, source: &str, scanned: &Scanned<'_>, token: usize) -> Option<naga::Module> {
        self.take_out(cut::whole_at(source, scanned, token)?);
        self.parsed()
    }

    /// Validates until nothing is wrong any more.
    fn validate(&mut self, module: naga::Module, unsupported: bool) {
        let mut module = module;
        let edits = lets::check(&module, self.text.as_str());
        if !edits.is_empty() {
            self.text.apply(edits);
            match super::read(self.text.as_str()) {
                Ok(changed) => {
                    module = changed.module;
                    pointers::generalise(&mut module);
                }
                Err(_) => return,
            }
        }
        let mut stubs = HashSet::new();
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
            if unsupported && at.is_none() {
                // It comes of what was told already.
                return;
            }
            // The statement that returned may be one that was taken out.
            let returns = invalid::unreturned(&error).is_some_and(|name| self.touched.contains(name));
            if !returns {
                self.note(finding);
            }
            let source = self.text.as_str().to_owned();
            let scanned = Scanned::new(&source);
            let Some(token) = at.map(|at| scanned.at_byte(at.start)).filter(|_| self.goes_on()) else { return };
            let again = cut::function_at(&scanned, token).is_some_and(|function| !stubs.insert(function));
            if again || !invalid::empty(&mut module, &error) {
                // It is not the body: the declaration has to go.
                stubs.clear();
                let Some(changed) = self.without(&source, &scanned, token) else { return };
                module = changed;
            }
        }
        // Together they may take what one alone may.
        let mut steps = uniformity::Steps::new();
        for index in 0..module.entry_points.len() {
            if self.findings.len() >= MOST || steps.is_spent() {
                break;
            }
            let findings = uniformity::check_within(&module, index, self.text.as_str().len(), &mut steps);
            findings.into_iter().for_each(|f| self.note(f));
        }
    }
}

/// What one attempt costs.
fn cost(source: &str) -> u64 {
    let scanned = Scanned::new(source);
    let pairs = cut::declarations(&scanned).into_iter().map(|declaration| {
        let ends = |at: &usize| matches!(scanned.kind(*at), Some(Kind::Semicolon | Kind::OpenBrace));
        let statements = declaration.tokens.filter(ends).count() as u64;
        statements * statements
    });
    source.len() as u64 + pairs.sum::<u64>() / PAIRS_PER_BYTE
}
