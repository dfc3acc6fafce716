//! Cuts WGSL text into tokens just well enough to count them. It must never see less structure than the real front end does: where
//! it is unsure, it counts more. No recursion, linear time.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A numeric literal.
    Number,
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    /// `{`.
    OpenBrace,
    /// `}`.
    CloseBrace,
    /// `,`.
    Comma,
    /// `;`.
    Semicolon,
    /// Everything else, operators above all.
    Operator,
}

/// A token by its bytes in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of `source`, comments left out. `>` and `<` always come one by one, so that template lists can be told later.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut cursor = Cursor { source, at: 0 };
    let mut list = Vec::with_capacity(source.len() / 4);
    while let Some(token) = cursor.next() {
        list.push(token);
    }
    list
}

struct Cursor<'a> {
    source: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at..).and_then(|rest| rest.chars().nth(ahead))
    }

    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        let rest = self.source.get(self.at..).unwrap_or_default();
        self.at += rest.find(|c| !keep(c)).unwrap_or(rest.len());
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            self.skip_while(is_blank);
            match (self.peek(0)?, self.peek(1)) {
                ('/', Some('/')) => self.skip_while(|c| !ends_line(c)),
                ('/', Some('*')) => self.skip_block_comment(),
                (first, second) => return Some(self.token(first, second)),
            }
        }
    }

    fn token(&mut self, first: char, second: Option<char>) -> Token {
        let start = self.at;
        let kind = match first {
            '(' | '[' => self.single(Kind::Open),
            ')' | ']' => self.single(Kind::Close),
            '{' => self.single(Kind::OpenBrace),
            '}' => self.single(Kind::CloseBrace),
            ',' => self.single(Kind::Comma),
            ';' => self.single(Kind::Semicolon),
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            c if is_word(c) => {
                self.skip_while(is_word);
                Kind::Word
            }
            c => {
                self.at += c.len_utf8();
                Kind::Operator
            }
        };
        Token { kind, start, end: self.at }
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    /// A sign belongs to a number once, after its exponent letter and before a digit.
    fn number(&mut self) -> Kind {
        let hexadecimal = self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X'));
        let body = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        self.skip_while(body);
        let last = self.source.get(..self.at).and_then(|s| s.chars().next_back());
        let exponent = if hexadecimal { matches!(last, Some('p' | 'P')) } else { matches!(last, Some('e' | 'E')) };
        let signed = matches!(self.peek(0), Some('+' | '-')) && self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if exponent && signed {
            self.at += 1;
            self.skip_while(body);
        }
        Kind::Number
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) {
        let bytes = self.source.as_bytes();
        let mut depth = 1u32;
        self.at += 2;
        while depth > 0 && self.at < bytes.len() {
            match (bytes.get(self.at), bytes.get(self.at + 1)) {
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
}

/// Letters outside ASCII may or may not be allowed in names: whoever parses decides, here they are all letters.
fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && !is_blank(c))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\u{9}'..='\u{d}' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

fn ends_line(c: char) -> bool {
    matches!(c, '\u{a}'..='\u{d}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|t| &source[t.start..t.end]).collect()
    }

    #[test]
    fn tokens_leave_comments_out_and_keep_numbers_whole() {
        assert_eq!(words("a /* x /* y */ z */ b // c\nd"), ["a", "b", "d"]);
        assert_eq!(words("1.5e-3f-0x1p-2-0x1e-2"), ["1.5e-3f", "-", "0x1p-2", "-", "0x1e", "-", "2"]);
        assert_eq!(words("a>>=b"), ["a", ">", ">", "=", "b"]);
        assert_eq!(words("/* open"), [""; 0]);
        assert_eq!(words("é.x"), ["é", ".", "x"]);
    }
}
