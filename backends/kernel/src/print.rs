//! Prints in WGSL text. Before the front end sees it, every `debugPrintf("...", ...)` becomes, in place and at the same length, a call of a
//! function of its own without the literal: `printfa0007(      ...)`. These functions are added behind the source, empty, with the
//! parameters that the literal asks for; `lower` gives them a body. So every other byte keeps its place.
//!
//! Text only: nothing here knows the IR but for [`check`], which compares the types of arguments.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{Function, Module, TypeInner};

use crate::diagnostics::Finding;
use crate::edits::Edit;
use crate::lower::Print;
use crate::lower::format::{Argument, Format};
use crate::text::Text;
use crate::walk;

/// The names that print, in every language.
const NAMES: [&str; 2] = ["debugPrintf", "debugPrintfEXT"];
/// Prints in one source.
const MAX_PRINTS: usize = 1024;

/// The prints of a source, and what makes it one without them.
pub(crate) struct Rewritten {
    /// Edits of the source: same lengths, and the functions behind its end.
    pub(crate) edits: Vec<Edit>,
    pub(crate) prints: Arc<[Print]>,
    /// The functions are called this and a number; `None` when nothing is printed.
    pub(crate) prefix: Option<Arc<str>>,
}

/// Takes the prints out of a source.
pub(crate) fn rewrite(source: &str) -> Result<Rewritten, Vec<Finding>> {
    let mut out = Rewritten { edits: Vec::new(), prints: Arc::new([]), prefix: None };
    if !source.contains(NAMES[0]) {
        return Ok(out);
    }
    let mut scanner = Scanner { bytes: source.as_bytes(), source, at: 0, calls: Vec::new(), findings: Vec::new() };
    scanner.run();
    if !scanner.findings.is_empty() {
        return Err(scanner.findings);
    }
    let calls = scanner.calls;
    if calls.is_empty() {
        return Ok(out);
    }
    let Some(prefix) = ('a'..='z').map(|letter| format!("printf{letter}")).find(|prefix| !source.contains(prefix.as_str()))
    else {
        return Err(vec![Finding::new("a source that prints must leave names that begin with `printf` and a letter free", None)]);
    };
    let text = Text::from(source);
    let mut prints = Vec::with_capacity(calls.len());
    let mut behind = String::new();
    for (number, call) in calls.into_iter().enumerate() {
        let width = call.name.len() - prefix.len();
        let name = format!("{prefix}{number:0>width$}");
        declare(&mut behind, &name, &call.format);
        out.edits.push(Edit::new(call.name, name));
        out.edits.push(Edit::new(call.blank.clone(), " ".repeat(call.blank.len())));
        prints.push(Print { location: text.place(call.literal.start).location, format: call.format });
    }
    out.edits.push(Edit::new(source.len()..source.len(), behind));
    out.prints = prints.into();
    out.prefix = Some(prefix.into());
    Ok(out)
}

/// Adds a function.
fn declare(behind: &mut String, name: &str, format: &Format) {
    let _ = write!(behind, "\nfn {name}(");
    for (position, argument) in format.arguments.iter().enumerate() {
        let comma = if position > 0 { ", " } else { "" };
        let _ = write!(behind, "{comma}a{position}: {}", argument.names().0);
    }
    behind.push_str(") {}");
}

/// A call that prints, by its bytes.
struct Call {
    name: Range<usize>,
    literal: Range<usize>,
    /// The literal and the comma behind it.
    blank: Range<usize>,
    format: Format,
}

struct Scanner<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    calls: Vec<Call>,
    findings: Vec<Finding>,
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

impl<'a> Scanner<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn run(&mut self) {
        let mut before = "";
        loop {
            self.skip_blank();
            let Some(byte) = self.peek(0) else { return };
            if !is_word(byte) {
                self.at += 1;
                before = "";
                continue;
            }
            let word = self.word();
            let text = self.source.get(word.clone()).unwrap_or_default();
            if NAMES.contains(&text) {
                // A function of the user's with this name is the user's.
                let declares = !matches!(before, "" | "return" | "else" | "do");
                if declares {
                    self.calls.clear();
                    self.findings.clear();
                    return;
                }
                self.call(word);
            }
            before = text;
        }
    }

    fn word(&mut self) -> Range<usize> {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
        start..self.at
    }

    /// Skips blanks and comments.
    fn skip_blank(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b' ' | b'\t' | b'\r' | b'\n'), _) => self.at += 1,
                (Some(b'/'), Some(b'/')) => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                (Some(b'/'), Some(b'*')) => self.skip_comment(),
                _ => return,
            }
        }
    }

    fn skip_comment(&mut self) {
        let mut depth = 1_u32;
        self.at += 2;
        while depth > 0 && self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                }
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }

    /// What follows the name of a print.
    fn call(&mut self, name: Range<usize>) {
        self.skip_blank();
        if self.peek(0) != Some(b'(') {
            return;
        }
        self.at += 1;
        self.skip_blank();
        let start = self.at;
        if self.peek(0) != Some(b'"') {
            let end = (start + 1).min(self.bytes.len());
            let message = "the first argument of a print is its format, a string literal: `debugPrintf(\"x = %d\", x)`";
            return self.findings.push(Finding::new(message, Some(start..end)));
        }
        let Some(literal) = self.literal() else {
            return self.findings.push(Finding::new("this string is not closed on its line", Some(start..self.at)));
        };
        let inside = self.source.get(literal.start + 1..literal.end - 1).unwrap_or_default();
        let format = match Format::parse(inside) {
            Ok(format) => format,
            Err(wrong) => {
                let at = literal.start + 1 + wrong.at;
                return self.findings.push(Finding::new(wrong.message, Some(at..literal.end - 1)));
            }
        };
        if self.calls.len() == MAX_PRINTS {
            return self.findings.push(Finding::new(format!("a source may print in {MAX_PRINTS} places at most"), Some(name)));
        }
        self.skip_blank();
        let comma = self.peek(0) == Some(b',');
        let blank = literal.start..if comma { self.at + 1 } else { literal.end };
        // A comment between both would be cut open.
        let between = self.bytes.get(literal.end..blank.end.saturating_sub(usize::from(comma))).unwrap_or_default();
        if between.contains(&b'/') || between.contains(&b'\n') {
            let message = "the comma must follow the format of a print on its line, without a comment between them";
            return self.findings.push(Finding::new(message, Some(literal)));
        }
        self.at += usize::from(comma);
        self.count(&format, &literal);
        self.calls.push(Call { name, literal, blank, format });
    }

    fn literal(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0)? {
                b'\n' => return None,
                b'\\' => self.at += 1,
                b'"' => {
                    self.at += 1;
                    return Some(start..self.at);
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Complains about a wrong number of arguments, where commas tell it, without moving on: prints inside of arguments are found later.
    fn count(&mut self, format: &Format, literal: &Range<usize>) {
        let after = self.at;
        let (mut depth, mut given, mut empty) = (0_u32, 0_usize, true);
        loop {
            self.skip_blank();
            match self.peek(0) {
                // A template list may hold commas, a comparison none; who parses knows.
                None | Some(b'<' | b'"' | b';') => {
                    self.at = after;
                    return;
                }
                Some(b'(' | b'[' | b'{') => depth += 1,
                Some(b')') if depth == 0 => break,
                Some(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                Some(b',') if depth == 0 => {
                    given += 1;
                    empty = true;
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            empty = false;
            self.at += 1;
        }
        self.at = after;
        given += usize::from(!empty);
        let wanted = format.arguments.len();
        if given != wanted {
            let list: Vec<String> = format.arguments.iter().map(|a| a.names().0).collect();
            let list = if list.is_empty() { String::new() } else { format!(": {}", list.join(", ")) };
            let message = format!("this format prints {wanted} values{list}; {given} are given");
            self.findings.push(Finding::new(message, Some(literal.clone())));
        }
    }
}

/// Compares the arguments of prints with what their formats ask for. Places are those of the text.
pub(crate) fn check(module: &Module, rewritten: &Rewritten) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(prefix) = rewritten.prefix.as_deref() else { return findings };
    let functions = module.functions.iter().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
        let mut typifier = None;
        walk::calls(&function.body, |callee, arguments| {
            let number =
                module.functions[callee].name.as_deref().and_then(|name| name.strip_prefix(prefix)?.parse::<usize>().ok());
            let Some(print) = number.and_then(|number| rewritten.prints.get(number)) else { return };
            let typifier = typifier.get_or_insert_with(|| types(module, function));
            for (position, (argument, wanted)) in arguments.iter().zip(&print.format.arguments).enumerate() {
                let expected = match wanted.components {
                    2 => vector(naga::VectorSize::Bi, wanted),
                    3 => vector(naga::VectorSize::Tri, wanted),
                    4 => vector(naga::VectorSize::Quad, wanted),
                    _ => TypeInner::Scalar(wanted.scalar),
                };
                // What has no type is for the validation to complain about.
                if typifier.as_ref().is_none_or(|types| *types.get(*argument, &module.types) == expected) {
                    continue;
                }
                let message = format!(
                    "value {} of this print must be `{}`, as its format says; convert it or change the format",
                    position + 1,
                    wanted.names().0
                );
                findings.push(Finding::span(message, function.expressions.get_span(*argument)));
            }
        });
    }
    findings
}

fn vector(size: naga::VectorSize, argument: &Argument) -> TypeInner {
    TypeInner::Vector { size, scalar: argument.scalar }
}

/// The types of a function's expressions.
fn types(module: &Module, function: &Function) -> Option<Typifier> {
    let mut typifier = Typifier::new();
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    for (handle, _) in function.expressions.iter() {
        typifier.grow(handle, &function.expressions, &context).ok()?;
    }
    Some(typifier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::Edited;

    fn refused(source: &str) -> (usize, String) {
        let findings = rewrite(source).err().unwrap_or_else(|| panic!("accepted: {source}"));
        (findings[0].at.clone().map_or(usize::MAX, |at| at.start), findings[0].message.clone())
    }

    fn rewritten(source: &str) -> String {
        let mut text = Edited::new(source.into());
        text.apply(rewrite(source).unwrap_or_else(|found| panic!("{found:?}")).edits);
        text.as_str().to_owned()
    }

    #[test]
    fn a_print_becomes_a_call_at_the_same_place() {
        let source = "fn f() { /* debugPrintf(\"%d\" */ debugPrintf(\"é %d //\\\" (\", x); y(); }";
        let text = rewritten(source);
        let literal = "\"é %d //\\\" (\",";
        let call = format!("fn f() {{ /* debugPrintf(\"%d\" */ printfa0000({} x); y(); }}", " ".repeat(literal.len()));
        assert!(text.starts_with(&call), "{text}");
        assert!(text.ends_with("\nfn printfa0000(a0: i32) {}"), "{text}");
        assert_eq!(text.find("y()"), source.find("y()"));
    }

    #[test]
    fn a_function_of_the_users_own_with_that_name_is_left_alone() {
        let source = "fn debugPrintf(x: u32) {} fn f() { debugPrintf(1u); }";
        assert_eq!(rewritten(source), source);
    }

    #[test]
    fn what_is_wrong_with_a_print_is_told_with_its_place() {
        for (source, at, word) in [
            ("debugPrintf(x);", 12, "string literal"),
            ("debugPrintf(\"%d\n\", x);", 12, "not closed"),
            ("debugPrintf(\"a %s\", x);", 15, "no strings"),
            ("debugPrintf(\"%d %v3f\", x);", 12, "prints 2 values: i32, vec3<f32>; 1 are given"),
            ("debugPrintf(\"hello\", f(a, b[c, d]));", 12, "prints 0 values; 1 are given"),
            ("debugPrintf(\"%d\" /* , */, x);", 12, "comma"),
            ("debugPrintf(", 12, "string literal"),
            ("debugPrintf(\"%d", 12, "not closed"),
        ] {
            let (found, message) = refused(source);
            assert!(found == at && message.contains(word), "{source}: {found} {message}");
        }
    }

    #[test]
    fn any_bytes_around_a_print_give_an_answer() {
        let pieces = ["debugPrintf", "(", "\"", "%d", ",", ")", "\\", "/*", "*/", "//", "\n", "é", "EXT", "<", "x"];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut source = String::from("debugPrintf");
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                source.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            if let Ok(out) = rewrite(&source) {
                assert_eq!(out.edits.is_empty(), out.prints.is_empty());
            }
        }
    }
}
