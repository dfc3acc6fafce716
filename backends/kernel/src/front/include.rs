//! `#include`: asking for files within bounds, and putting them in the place of the lines that ask. The lines of WGSL are worked on here; GLSL asks from its
//! own preprocessor.

use std::collections::HashSet;

use super::{Include, IncludeRequest, Source, utf8};
use crate::diagnostics::{self, Diagnostics, Finding};
use crate::scan::MAX_SOURCE;
use crate::text::{Builder, Text};

/// Files inside each other.
const MAX_DEPTH: usize = 32;
/// Files in all, each counted as often as it is included.
const MAX_FILES: usize = 1024;

/// Asks for files, and keeps account of them.
pub(crate) struct Loader<'a> {
    include: Option<&'a Include<'a>>,
    /// The names of the files that are open, the source itself first.
    chain: Vec<String>,
    once: HashSet<String>,
    files: usize,
    bytes: usize,
}

/// A file to be read now.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(source: &Source<'a>) -> Self {
        Self {
            include: source.include,
            chain: vec![source.name.to_owned()],
            once: HashSet::new(),
            files: 0,
            bytes: source.bytes.len(),
        }
    }

    /// The name of the file that is open.
    pub(crate) fn name(&self) -> &str {
        self.chain.last().map_or("", String::as_str)
    }

    /// The open file is not to be read again.
    pub(crate) fn once(&mut self) {
        self.once.insert(self.name().to_owned());
    }

    /// The open file is done with.
    pub(crate) fn close(&mut self) {
        self.chain.pop();
    }

    /// Asks for a file, and opens it. `None`: it was here before and said that once is enough.
    pub(crate) fn open(&mut self, path: &str, angle: bool) -> Result<Option<Opened>, String> {
        let Some(include) = self.include else {
            return Err(format!("`{path}` cannot be included: no include callback was given"));
        };
        if self.chain.len() > MAX_DEPTH {
            return Err(format!("includes are nested too deeply: at most {MAX_DEPTH} files may be inside each other"));
        }
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(format!("too many includes: at most {MAX_FILES} are allowed in one source"));
        }
        let request = IncludeRequest { path, from: self.name(), angle };
        let found = include(&request).map_err(|why| format!("`{path}` cannot be included: {why}"))?;
        let name = if found.name.is_empty() { path.to_owned() } else { found.name };
        if self.once.contains(&name) {
            return Ok(None);
        }
        if let Some(first) = self.chain.iter().position(|open| *open == name) {
            let circle: Vec<&str> = self.chain.iter().skip(first).map(String::as_str).chain([name.as_str()]).collect();
            return Err(format!("`{name}` includes itself: {}", circle.join(" -> ")));
        }
        self.bytes = self.bytes.saturating_add(found.text.len());
        if self.bytes > MAX_SOURCE {
            return Err(format!("with `{name}` the source has {} bytes; at most {MAX_SOURCE} are allowed", self.bytes));
        }
        let text = String::from_utf8(found.text)
            .map_err(|error| format!("`{name}` is not text: {}", utf8(error.as_bytes(), error.utf8_error())))?;
        self.chain.push(name.clone());
        Ok(Some(Opened { name, text }))
    }
}

/// The path of a line `"path"` or `<path>`, and whether it has angle brackets. Only a comment may follow.
pub(crate) fn path(rest: &str) -> Option<(&str, bool)> {
    let rest = rest.trim();
    let (close, angle) = match rest.chars().next()? {
        '"' => ('"', false),
        '<' => ('>', true),
        _ => return None,
    };
    let (path, after) = rest.get(1..)?.split_once(close)?;
    let after = after.trim_start();
    let over = after.is_empty() || after.starts_with("//") || after.starts_with("/*");
    (!path.is_empty() && over).then_some((path, angle))
}

/// A file that lines are being taken from.
struct Open {
    file: usize,
    text: String,
    /// Bytes taken, and lines.
    at: usize,
    line: u32,
    /// Block comments that are open.
    comments: u32,
}

/// Text with every line `#include "path"` outside comments replaced by the file.
pub(super) fn expand(source: &str, loader: &mut Loader<'_>) -> Result<Text, Diagnostics> {
    if !source.contains('#') {
        return Ok(source.into());
    }
    let mut builder = Builder::default();
    let file = builder.file(loader.name());
    let mut open = vec![Open { file, text: source.to_owned(), at: 0, line: 1, comments: 0 }];
    while let Some(top) = open.last_mut() {
        let Some(request) = copy(top, &mut builder, loader) else {
            let over = open.pop();
            loader.close();
            if over.is_some_and(|file| file.comments > 0) && !open.is_empty() {
                return Err(complain(builder, "the included file ends inside a comment".to_owned()));
            }
            continue;
        };
        match request.and_then(|(path, angle)| loader.open(&path, angle)) {
            Ok(Some(found)) => {
                let file = builder.file(&found.name);
                open.push(Open { file, text: found.text, at: 0, line: 1, comments: 0 });
            }
            Ok(None) => {}
            Err(message) => return Err(complain(builder, message)),
        }
    }
    Ok(builder.finish())
}

/// A refusal at the line that was copied last.
fn complain(builder: Builder, message: String) -> Diagnostics {
    let text = builder.finish();
    let end = text.trim_end().len();
    let start = text.line_start(end);
    diagnostics::refuse(&text, vec![Finding::new(message, Some(start..end))])
}

/// Copies lines up to the next that asks for a file, with that line, which a comment hides from the language. `None` at the end.
fn copy(open: &mut Open, builder: &mut Builder, loader: &mut Loader<'_>) -> Option<Result<(String, bool), String>> {
    let text = std::mem::take(&mut open.text);
    let found = copy_from(&text, open, builder, loader);
    open.text = text;
    found
}

fn copy_from(
    text: &str,
    open: &mut Open,
    builder: &mut Builder,
    loader: &mut Loader<'_>,
) -> Option<Result<(String, bool), String>> {
    let (mut from, mut first) = (open.at, open.line);
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        let at = open.at;
        open.at += line.len();
        let directive = if open.comments == 0 { line.trim_start().strip_prefix('#') } else { None };
        let word = directive.map(str::trim_start).unwrap_or_default();
        let asks = word.strip_prefix("include");
        let once = word.strip_prefix("pragma").is_some_and(|rest| rest.trim_start().starts_with("once"));
        if asks.is_none() && !once {
            open.comments = comments(line, open.comments);
            open.line = open.line.saturating_add(1);
            continue;
        }
        builder.lines(open.file, first, text.get(from..at).unwrap_or_default());
        builder.lines(open.file, open.line, &format!("// {}\n", line.trim_end()));
        open.line = open.line.saturating_add(1);
        (from, first) = (open.at, open.line);
        match asks {
            None => loader.once(),
            Some(rest) => {
                let asked = path(rest).map(|(path, angle)| (path.to_owned(), angle));
                return Some(asked.ok_or_else(|| "after `#include` stands a path in quotes or angle brackets".to_owned()));
            }
        }
    }
    builder.lines(open.file, first, text.get(from..).unwrap_or_default());
    None
}

/// Block comments open at the end of a line; they nest.
fn comments(line: &str, mut open: u32) -> u32 {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(&pair) = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
        match &pair {
            b"//" if open == 0 => return 0,
            b"/*" => open = open.saturating_add(1),
            b"*/" if open > 0 => open -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    open
}
