//! The text that messages are about, and how a byte of it is named to a reader: file, line and column.
//!
//! Included files make one text of several: then each part says which file it came from. A binary module has no text; what places it has come from its own
//! debugging information. Knows no language.

use std::ops::Deref;
use std::sync::Arc;

use crate::reflection::Location;

/// A part of the text that comes from consecutive lines of one file.
#[derive(Clone, Debug)]
struct Part {
    /// Its first byte in the text; always the first of a line.
    start: usize,
    file: usize,
    /// The line of the file that it begins with.
    line: u32,
}

/// From here on in a binary module, until the next one.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Byte in the module.
    pub(crate) start: usize,
    /// Index into the files; `None` where the module says that nothing is known.
    pub(crate) file: Option<usize>,
    pub(crate) location: Location,
}

/// A source on its way through the front end. Dereferences to its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    text: Arc<str>,
    /// The first is the source itself; its name may be empty.
    files: Vec<Arc<str>>,
    parts: Vec<Part>,
    marks: Vec<Mark>,
    binary: bool,
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Makes a [`Text`] of parts, in their order.
#[derive(Default)]
pub(crate) struct Builder {
    text: String,
    files: Vec<Arc<str>>,
    parts: Vec<Part>,
}

impl Builder {
    /// A new file; its index.
    pub(crate) fn file(&mut self, name: &str) -> usize {
        self.files.push(name.into());
        self.files.len() - 1
    }

    /// Adds whole lines, the first of which is `line` of `file`. Where they begin.
    pub(crate) fn lines(&mut self, file: usize, line: u32, text: &str) -> usize {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.parts.push(Part { start, file, line });
        self.text.push_str(text);
        start
    }

    pub(crate) fn finish(self) -> Text {
        Text { text: self.text.into(), files: self.files, parts: self.parts, marks: Vec::new(), binary: false }
    }
}

/// Where something is: a file when it is not the source itself, and a place in it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Where {
    pub(crate) file: Option<Arc<str>>,
    pub(crate) location: Location,
}

impl Text {
    /// A binary module with the places that it names; `marks` are in the order of their bytes.
    pub(crate) fn binary(files: Vec<Arc<str>>, marks: Vec<Mark>) -> Self {
        Self { files, marks, binary: true, ..Self::default() }
    }

    /// Whether there is text to show.
    pub(crate) fn is_binary(&self) -> bool {
        self.binary
    }

    /// What is at a byte. Never fails: an offset past the end or inside a character gives the nearest place before. In a binary module without debugging
    /// information the place is all zeros.
    pub(crate) fn place(&self, offset: usize) -> Where {
        if self.binary {
            return self.marked(offset);
        }
        let at = self.boundary(offset);
        let part = self.part(at);
        let line_start = self.line_start(at);
        let from = part.map_or(0, |p| p.start);
        let lines = self.get(from..at).unwrap_or_default().bytes().filter(|&b| b == b'\n').count();
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let line = part.map_or(1, |p| p.line).saturating_add(clip(lines));
        let file = part.filter(|p| p.file != 0).and_then(|p| self.files.get(p.file)).cloned();
        Where { file, location: Location { line, column: clip(at - line_start + 1) } }
    }

    fn part(&self, at: usize) -> Option<&Part> {
        self.parts.get(self.parts.partition_point(|p| p.start <= at).checked_sub(1)?)
    }

    fn marked(&self, offset: usize) -> Where {
        let before = self.marks.partition_point(|m| m.start <= offset);
        let Some(mark) = before.checked_sub(1).and_then(|i| self.marks.get(i)) else { return Where::default() };
        let Some(file) = mark.file else { return Where::default() };
        Where { file: self.files.get(file).cloned(), location: mark.location.clone() }
    }

    /// The first byte of the line that holds a byte.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.get(..at).unwrap_or_default().rfind('\n').map_or(0, |p| p + 1)
    }

    /// The nearest boundary between characters, at or before.
    pub(crate) fn boundary(&self, offset: usize) -> usize {
        let mut at = offset.min(self.len());
        while !self.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_an_included_file_is_named_by_that_file() {
        let mut builder = Builder::default();
        let (main, inner) = (builder.file("main"), builder.file("inner"));
        builder.lines(main, 1, "one\n");
        builder.lines(inner, 1, "in\n  ner");
        builder.lines(main, 3, "three\n");
        let text = builder.finish();
        let place = |word: &str| text.place(text.find(word).unwrap_or(0));
        assert_eq!(place("one"), Where { file: None, location: Location { line: 1, column: 1 } });
        assert_eq!(place("ner"), Where { file: Some("inner".into()), location: Location { line: 2, column: 3 } });
        assert_eq!(place("three"), Where { file: None, location: Location { line: 3, column: 1 } });
    }

    #[test]
    fn a_place_past_the_end_or_inside_a_character_is_still_a_place() {
        assert_eq!(Text::from("é").place(1).location, Location { line: 1, column: 1 });
        assert_eq!(Text::from("a\nb").place(99).location, Location { line: 2, column: 2 });
    }
}
