//! Cuts GLSL text into tokens, and keeps the names that they consist of. Every byte gives some token; what no grammar wants is refused later.

use std::collections::HashMap;

/// A word, number or sign, by its number in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

/// Every spelling once.
#[derive(Default)]
pub(super) struct Names {
    list: Vec<Box<str>>,
    known: HashMap<Box<str>, Name>,
}

impl Names {
    pub(super) fn intern(&mut self, text: &str) -> Name {
        if let Some(&name) = self.known.get(text) {
            return name;
        }
        let name = Name(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        self.list.push(text.into());
        self.known.insert(text.into(), name);
        name
    }

    pub(super) fn get(&self, name: Name) -> &str {
        self.list.get(name.0 as usize).map_or("", |text| text)
    }

    /// The name of a spelling that was met before.
    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.known.get(text).copied()
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// A word that is a macro's name where that must not be expanded again.
    Painted,
    Number,
    Sign,
    /// A text in quotes, quotes included.
    Text,
    /// Something that no token begins with.
    Other,
    /// Stands for what could not be made out; that has been told.
    Lost,
}

/// Bytes of the text, as every later stage names places.
pub(crate) type At = (u32, u32);

/// A token. One that a macro made has the place of the macro's use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) name: Name,
    pub(super) at: At,
    /// It is the first of its line.
    pub(super) first: bool,
    /// Nothing stands between it and the token before.
    pub(super) glued: bool,
}

const SIGNS: &[&str] = &[
    "<<=", ">>=", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "^^", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "##",
];

/// The tokens of a file that begins at byte `base` of the text. A backslash before the end of a line continues it.
pub(super) fn tokens(text: &str, base: usize, names: &mut Names) -> Vec<Token> {
    let mut cursor = Cursor { text, at: 0, first: true, glued: false };
    let mut list = Vec::with_capacity(text.len() / 4);
    while let Some((kind, length)) = cursor.next() {
        let place = |at: usize| u32::try_from(base + at).unwrap_or(u32::MAX);
        let name = names.intern(text.get(cursor.at..cursor.at + length).unwrap_or_default());
        let at = (place(cursor.at), place(cursor.at + length));
        list.push(Token { kind, name, at, first: cursor.first, glued: cursor.glued });
        cursor.at += length;
        cursor.first = false;
        cursor.glued = true;
    }
    list
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    first: bool,
    glued: bool,
}

impl Cursor<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
        self.glued = false;
    }

    /// Blanks and comments; a comment is a blank, and one of several lines does not begin a line.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let bytes = match rest.as_bytes() {
                [b'\n', ..] => {
                    self.first = true;
                    1
                }
                [b' ' | b'\t' | b'\r' | 0x0b | 0x0c, ..] => 1,
                [b'\\', b'\n', ..] => 2,
                [b'\\', b'\r', b'\n', ..] => 3,
                [b'/', b'/', ..] => line_comment(rest),
                [b'/', b'*', ..] => rest.get(2..).and_then(|r| r.find("*/")).map_or(rest.len(), |end| end + 4),
                _ => return,
            };
            self.skip(bytes);
        }
    }

    /// The kind and length of the next token.
    fn next(&mut self) -> Option<(Kind, usize)> {
        self.skip_blanks();
        let rest = self.rest();
        let letter = rest.chars().next()?;
        let digit = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        if letter.is_ascii_alphabetic() || letter == '_' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            return Some((Kind::Word, end));
        }
        if digit(0) || (letter == '.' && digit(1)) {
            return Some((Kind::Number, number(rest)));
        }
        if letter == '"' {
            let line = rest.find('\n').unwrap_or(rest.len());
            return Some((Kind::Text, text(rest.get(..line).unwrap_or_default())));
        }
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            return Some((Kind::Sign, sign.len()));
        }
        let kind = if letter.is_ascii_punctuation() && !matches!(letter, '@' | '$' | '`' | '\'' | '\\') {
            Kind::Sign
        } else {
            Kind::Other
        };
        Some((kind, letter.len_utf8()))
    }
}

/// The bytes of a text in quotes; a backslash keeps the quote behind it from closing it. One that is not closed ends with the line.
fn text(line: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    line.len()
}

fn line_comment(rest: &str) -> usize {
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        if !body.ends_with('\\') || body.len() == line.len() {
            return end + body.len();
        }
        end += line.len();
    }
    rest.len()
}

/// Digits, letters and points, with the sign of an exponent.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hex = rest.starts_with("0x") || rest.starts_with("0X");
    let mut end = 0;
    while let Some(&byte) = bytes.get(end) {
        let exponent = !hex && end > 0 && matches!(bytes.get(end - 1), Some(b'e' | b'E'));
        if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || (exponent && matches!(byte, b'+' | b'-'))) {
            break;
        }
        end += 1;
    }
    end
}
