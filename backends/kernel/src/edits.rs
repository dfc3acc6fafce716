//! A source that repairs have edited, and the way back from its bytes to those that the caller wrote. Knows nothing of any language.

use std::collections::VecDeque;
use std::ops::Range;

use crate::diagnostics::Finding;
use crate::text::Text;

/// Replaces a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) at: Range<usize>,
    pub(crate) with: String,
    /// What the new bytes are about, when it is not what they replace.
    about: Option<Range<usize>>,
}

impl Edit {
    pub(crate) fn new(at: Range<usize>, with: impl Into<String>) -> Self {
        Self { at, with: with.into(), about: None }
    }

    /// What is wrong with the new bytes is shown at these.
    pub(crate) fn about(self, range: Range<usize>) -> Self {
        Self { about: Some(range), ..self }
    }
}

/// A piece of the edited text that stands where another piece of the original stood.
#[derive(Clone, Debug)]
struct Piece {
    now: Range<usize>,
    was: Range<usize>,
    /// What it is about in the original, mostly the same.
    about: Range<usize>,
}

/// An edited source.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    written: Text,
    text: String,
    /// In order, without overlap.
    pieces: Vec<Piece>,
}

impl Edited {
    pub(crate) fn new(written: Text) -> Self {
        Self { text: written.to_string(), written, pieces: Vec::new() }
    }

    /// What the caller wrote.
    pub(crate) fn written(&self) -> &Text {
        &self.written
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Applies edits, given in bytes of the present text. One that overlaps an earlier one, or is no range of the text, is left out.
    pub(crate) fn apply(&mut self, mut edits: Vec<Edit>) {
        edits.sort_by_key(|e| e.at.start);
        let (mut text, mut pieces) = (String::with_capacity(self.text.len()), Vec::new());
        let mut done = 0;
        let mut old: VecDeque<Piece> = self.pieces.iter().cloned().collect();
        for edit in edits {
            let Some(between) = self.text.get(done..edit.at.start).filter(|_| self.text.get(edit.at.clone()).is_some()) else {
                continue;
            };
            while let Some(piece) = old.pop_front_if(|p| p.now.end <= edit.at.start) {
                pieces.push(Piece { now: moved(&piece.now, done, text.len()), ..piece });
            }
            let mut was = self.replaced(&edit.at);
            while let Some(piece) = old.pop_front_if(|p| p.now.start < edit.at.end) {
                was = was.start.min(piece.was.start)..was.end.max(piece.was.end);
                // What is left of a piece is about what it was about.
                if piece.now.start < edit.at.start {
                    let now = moved(&(piece.now.start..edit.at.start), done, text.len());
                    pieces.push(Piece { now, was: piece.was.start..piece.was.start, about: piece.about.clone() });
                }
                if piece.now.end > edit.at.end {
                    old.push_front(Piece {
                        now: edit.at.end..piece.now.end,
                        was: piece.was.end..piece.was.end,
                        about: piece.about,
                    });
                    break;
                }
            }
            text.push_str(between);
            let start = text.len();
            text.push_str(&edit.with);
            let about = self.original(edit.about.as_ref().unwrap_or(&edit.at));
            pieces.push(Piece { now: start..text.len(), was, about });
            done = edit.at.end;
        }
        let shift = text.len();
        pieces.extend(old.into_iter().map(|p| Piece { now: moved(&p.now, done, shift), ..p }));
        text.push_str(self.text.get(done..).unwrap_or_default());
        (self.text, self.pieces) = (text, pieces);
    }

    /// Where bytes of the present text come from. What lies in a replaced piece comes from all that the piece replaced.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.offset(range.start, false);
        start..self.offset(range.end, true).max(start)
    }

    /// The bytes in whose place a range is.
    fn replaced(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize, end: bool| match self.piece(at, end) {
            Some((piece, true)) => {
                if end {
                    piece.was.end
                } else {
                    piece.was.start
                }
            }
            Some((piece, false)) => piece.was.end + (at - piece.now.end),
            None => at,
        };
        let start = place(range.start, false);
        start..place(range.end, true).max(start)
    }

    /// Findings about the present text, as ones about what was written.
    pub(crate) fn written_findings(&self, findings: Vec<Finding>) -> Vec<Finding> {
        findings.into_iter().map(|finding| finding.moved(|range| self.original(range))).collect()
    }

    fn offset(&self, at: usize, end: bool) -> usize {
        match self.piece(at, end) {
            Some((piece, true)) => {
                if end {
                    piece.about.end
                } else {
                    piece.about.start
                }
            }
            Some((piece, false)) => piece.was.end + (at - piece.now.end),
            None => at,
        }
    }

    /// The piece that a place is in, or the last one before it. An end that touches the start of a piece lies before it.
    fn piece(&self, at: usize, end: bool) -> Option<(&Piece, bool)> {
        let before = self.pieces.partition_point(|p| if end { p.now.start < at } else { p.now.start <= at });
        let piece = before.checked_sub(1).and_then(|i| self.pieces.get(i))?;
        Some((piece, at < piece.now.end || (end && at == piece.now.end)))
    }
}

/// A range after `done` in the old text, in the new one, where `done` is at `length`.
fn moved(range: &Range<usize>, done: usize, length: usize) -> Range<usize> {
    range.start - done + length..range.end - done + length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_map_back_to_what_was_written() {
        let mut text = Edited::new("abc def ghi".into());
        text.apply(vec![Edit::new(8..11, "z"), Edit::new(0..3, "longer")]);
        assert_eq!(text.as_str(), "longer def z");
        assert_eq!(text.original(&(7..10)), 4..7);
        assert_eq!(text.original(&(2..3)), 0..3);
        assert_eq!(text.original(&(11..12)), 8..11);
        assert_eq!(text.original(&(0..12)), 0..11);
        text.apply(vec![Edit::new(7..10, "in the middle"), Edit::new(8..9, "left out"), Edit::new(100..101, "nowhere")]);
        assert_eq!(text.as_str(), "longer in the middle z");
        assert_eq!(text.original(&(21..22)), 8..11);
        assert_eq!(text.original(&(10..12)), 4..7);
        text.apply(vec![Edit::new(3..22, "-")]);
        assert_eq!((text.as_str(), text.original(&(3..4))), ("lon-", 0..11));
    }

    #[test]
    fn what_is_left_of_a_piece_is_about_what_the_piece_was_about() {
        let mut text = Edited::new("v.xy = w;".into());
        text.apply(vec![Edit::new(0..7, "{let t=").about(0..4), Edit::new(8..9, ";v.x=t.x;v.y=t.y;}").about(0..4)]);
        assert_eq!(text.as_str(), "{let t=w;v.x=t.x;v.y=t.y;}");
        assert_eq!((text.original(&(7..8)), text.original(&(9..12)), text.original(&(17..20))), (7..8, 0..4, 0..4));
        text.apply(vec![Edit::new(9..17, "")]);
        assert_eq!(text.as_str(), "{let t=w;v.y=t.y;}");
        assert_eq!((text.original(&(9..12)), text.original(&(8..9)), text.original(&(0..3))), (0..4, 0..4, 0..4));
    }

    #[test]
    fn an_edit_at_the_start_of_a_place_does_not_take_the_place_before_along() {
        let mut text = Edited::new("f(1)+2".into());
        text.apply(vec![Edit::new(0..4, "10.5")]);
        assert_eq!(text.original(&(4..5)), 4..5);
        assert_eq!(text.original(&(5..6)), 5..6);
        assert_eq!(text.original(&(0..4)), 0..4);
    }
}
