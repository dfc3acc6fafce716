//! What is wrong with a source, as data and as text. Knows byte ranges of a source, and nothing of kernels.

use std::fmt;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use crate::reflection::Location;
use crate::text::{Text, Where};

/// One thing wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, what was expected: one or two sentences.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
    /// The file that it is in, when that is not the source itself.
    pub file: Option<Arc<str>>,
}

/// Everything found wrong, never empty. `Display` shows each with its source line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// In the order of the source.
    pub list: Vec<Diagnostic>,
    /// The rendered text.
    pub text: String,
    /// False when a failure of ours (a crashed front end, no memory) rather than the source is to blame: then it is no refusal.
    pub refusal: bool,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Diagnostics {}

/// More than this many are of no help to anybody.
pub(crate) const MOST: usize = 64;
/// A line longer than this is shown in part.
const WIDEST: usize = 160;

/// A finding on its way to becoming a [`Diagnostic`].
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// One or two sentences.
    pub(crate) message: String,
    /// Bytes of the source; `None` when it is about no particular place.
    pub(crate) at: Option<Range<usize>>,
    /// What stands beside the caret.
    pub(crate) label: String,
    /// Another place that explains it, and what it is.
    pub(crate) related: Option<Box<(Range<usize>, String)>>,
    /// Further lines under it.
    pub(crate) notes: Vec<String>,
}

impl Finding {
    pub(crate) fn new(message: impl Into<String>, at: Option<Range<usize>>) -> Self {
        Self { message: message.into(), at, label: String::new(), related: None, notes: Vec::new() }
    }

    pub(crate) fn span(message: impl Into<String>, span: naga::Span) -> Self {
        Self::new(message, span.to_range())
    }

    /// With its places put through a function.
    pub(crate) fn moved(mut self, to: impl Fn(&Range<usize>) -> Range<usize>) -> Self {
        self.at = self.at.map(|range| to(&range));
        self.related = self.related.map(|related| {
            let (range, label) = *related;
            Box::new((to(&range), label))
        });
        self
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Renders findings against the source that they are about. `findings` must not be empty; a list that is gets a sentence of its own.
pub(crate) fn refuse(source: &Text, mut findings: Vec<Finding>) -> Diagnostics {
    findings.sort_by_key(|f| f.at.as_ref().map_or(0, |r| r.start));
    if findings.is_empty() {
        findings.push(Finding::new("the source was refused without a reason; this is a bug of the library", None));
    }
    let more = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    let mut list = Vec::with_capacity(findings.len());
    let mut text = String::new();
    for finding in &findings {
        let place = finding.at.as_ref().map(|range| Place::find(source, range));
        let related = finding.related.as_ref().map(|related| Place::find(source, &related.0));
        render(&mut text, finding, place.as_ref(), related.as_ref());
        let known = place.map(|p| p.at).filter(|at| at.location.line != 0);
        let (location, file) = known.map_or((None, None), |at| (Some(at.location), at.file));
        list.push(Diagnostic { message: finding.message.clone(), location, file });
    }
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    Diagnostics { list, text, refusal: true }
}

/// The answer when the library itself failed.
pub(crate) fn internal(message: String) -> Diagnostics {
    let text = format!("internal error: {message}\n");
    Diagnostics { list: vec![Diagnostic { message, location: None, file: None }], text, refusal: false }
}

struct Place<'a> {
    at: Where,
    line: &'a str,
    /// Byte offsets of the marked part in `line`.
    from: usize,
    to: usize,
}

impl<'a> Place<'a> {
    fn find(source: &'a Text, range: &Range<usize>) -> Self {
        let at = source.place(range.start);
        if source.is_binary() {
            return Self { at, line: "", from: 0, to: 0 };
        }
        let start = source.boundary(range.start);
        let line_start = source.line_start(start);
        let rest = source.get(line_start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let from = (start - line_start).min(line.len());
        let to = range.end.saturating_sub(line_start).clamp(from, line.len());
        Self { at, line, from, to }
    }
}

fn floor_boundary(source: &str, offset: usize) -> usize {
    let mut at = offset.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn render(text: &mut String, finding: &Finding, place: Option<&Place<'_>>, related: Option<&Place<'_>>) {
    let _ = writeln!(text, "error: {}", finding.message);
    if let Some(place) = place {
        mark(text, "-->", place, &finding.label);
    }
    if let (Some(place), Some(related)) = (related, finding.related.as_ref()) {
        mark(text, ":::", place, &related.1);
    }
    for note in &finding.notes {
        let _ = writeln!(text, "  = {note}");
    }
    text.push('\n');
}

fn mark(text: &mut String, arrow: &str, place: &Place<'_>, label: &str) {
    let Location { line, column } = place.at.location;
    if line == 0 {
        return;
    }
    let number = line.to_string();
    let pad = " ".repeat(number.len());
    let file = place.at.file.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let _ = writeln!(text, "{pad}{arrow} {file}line {line}, column {column}");
    if place.line.is_empty() {
        return;
    }
    let (shown, lead, width) = excerpt(place);
    let _ = writeln!(text, "{pad} |\n{number} | {shown}");
    let label = if label.is_empty() { String::new() } else { format!(" {label}") };
    let _ = writeln!(text, "{pad} | {}{}{label}", " ".repeat(lead), "^".repeat(width));
}

/// The line as shown, the columns before the caret, and its width. Control characters would move the caret: they become spaces.
fn excerpt(place: &Place<'_>) -> (String, usize, usize) {
    let chars_before = place.line.get(..place.from).unwrap_or_default().chars().count();
    let marked = place.line.get(place.from..floor_boundary(place.line, place.to)).unwrap_or_default().chars().count();
    let skip = if chars_before > WIDEST / 2 { chars_before - WIDEST / 4 } else { 0 };
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = place.line.chars().skip(skip).take(WIDEST).map(clean).collect();
    let lead = chars_before - skip;
    (shown, lead, marked.clamp(1, WIDEST.saturating_sub(lead).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_line_column_source_and_caret() {
        let source = "one\n  two three\n";
        let d = refuse(&source.into(), vec![Finding::new("three is wrong", Some(10..15)).label("here").note("say four")]);
        assert_eq!(d.list.first().and_then(|d| d.location.clone()), Some(Location { line: 2, column: 7 }));
        assert_eq!(
            d.text,
            "error: three is wrong\n --> line 2, column 7\n  |\n2 |   two three\n  |       ^^^^^ here\n  = say four\n\n"
        );
        assert!(d.refusal);
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let long = "x".repeat(5000);
        let d = refuse(&long.as_str().into(), vec![Finding::new("far", Some(4000..4001))]);
        assert!(d.text.len() < 600);
    }

    #[test]
    fn findings_come_in_the_order_of_the_source_and_are_bounded() {
        let many = (0..200).rev().map(|i| Finding::new(format!("f{i}"), Some(i..i))).collect();
        let d = refuse(&" ".repeat(300).as_str().into(), many);
        assert_eq!(d.list.len(), MOST);
        assert_eq!(d.list[0].message, "f0");
        assert!(d.text.ends_with("and 136 more\n"));
    }
}
