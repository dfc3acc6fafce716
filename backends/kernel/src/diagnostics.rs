//! What is wrong with a source, as data and as text. Knows byte ranges of a source, and nothing of kernels.

use std::fmt;
use std::fmt::Write as _;
use std::ops::Range;

use crate::reflection::Location;

/// One thing wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, what was expected: one or two sentences.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
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
pub(crate) fn refuse(source: &str, mut findings: Vec<Finding>) -> Diagnostics {
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
        list.push(Diagnostic { message: finding.message.clone(), location: place.map(|p| p.location) });
    }
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    Diagnostics { list, text, refusal: true }
}

/// The answer when the library itself failed.
pub(crate) fn internal(message: String) -> Diagnostics {
    let text = format!("internal error: {message}\n");
    Diagnostics { list: vec![Diagnostic { message, location: None }], text, refusal: false }
}

/// The place of a byte offset. Never fails: an offset past the end or inside a character gives the nearest place before.
pub(crate) fn location(source: &str, offset: usize) -> Location {
    Place::find(source, &(offset..offset)).location
}

struct Place<'a> {
    location: Location,
    line: &'a str,
    /// Byte offsets of the marked part in `line`.
    from: usize,
    to: usize,
}

impl<'a> Place<'a> {
    fn find(source: &'a str, range: &Range<usize>) -> Self {
        let start = floor_boundary(source, range.start);
        let before = source.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |p| p + 1);
        let rest = source.get(line_start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let number = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let from = (start - line_start).min(line.len());
        let to = range.end.saturating_sub(line_start).clamp(from, line.len());
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { location: Location { line: clip(number), column: clip(start - line_start + 1) }, line, from, to }
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
    let number = place.location.line.to_string();
    let pad = " ".repeat(number.len());
    let _ = writeln!(text, "{pad}{arrow} line {}, column {}", place.location.line, place.location.column);
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
        let d = refuse(source, vec![Finding::new("three is wrong", Some(10..15)).label("here").note("say four")]);
        assert_eq!(d.list.first().and_then(|d| d.location.clone()), Some(Location { line: 2, column: 7 }));
        assert_eq!(
            d.text,
            "error: three is wrong\n --> line 2, column 7\n  |\n2 |   two three\n  |       ^^^^^ here\n  = say four\n\n"
        );
        assert!(d.refusal);
    }

    #[test]
    fn a_place_past_the_end_or_inside_a_character_is_still_a_place() {
        assert_eq!(location("é", 1), Location { line: 1, column: 1 });
        assert_eq!(location("a\nb", 99), Location { line: 2, column: 2 });
        let long = "x".repeat(5000);
        let d = refuse(&long, vec![Finding::new("far", Some(4000..4001))]);
        assert!(d.text.len() < 600, "a long line is shown in part");
    }

    #[test]
    fn findings_come_in_the_order_of_the_source_and_are_bounded() {
        let many = (0..200).rev().map(|i| Finding::new(format!("f{i}"), Some(i..i))).collect();
        let d = refuse(&" ".repeat(300), many);
        assert_eq!(d.list.len(), MOST);
        assert_eq!(d.list[0].message, "f0");
        assert!(d.text.ends_with("and 136 more\n"));
    }
}
