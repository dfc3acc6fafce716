//! The directives at the head of a source.

use std::ops::Range;

use super::Scanned;
use super::lexer::{self, Kind};

/// `enable a, b;`, `requires a;` or `diagnostic(...);`.
pub(crate) struct Directive {
    pub(crate) word: Range<usize>,
    /// The words behind it.
    pub(crate) names: Vec<Range<usize>>,
    /// Behind the semicolon.
    pub(crate) end: usize,
}

/// All directives of a source; one that does not end is left out.
pub(crate) fn directives(source: &str) -> Vec<Directive> {
    let scanned = Scanned { source, tokens: lexer::tokens(source) };
    let mut found = Vec::new();
    let mut at = 0;
    while matches!(scanned.text(at), "enable" | "requires" | "diagnostic") {
        let Some(length) = scanned.tokens.iter().skip(at).position(|t| t.kind == Kind::Semicolon) else { break };
        let names = (at + 1..at + length).filter(|&i| scanned.kind(i) == Some(Kind::Word)).filter_map(|i| scanned.range(i));
        let (Some(word), Some(end)) = (scanned.range(at), scanned.range(at + length)) else { break };
        found.push(Directive { word, names: names.collect(), end: end.end });
        at += length + 1;
    }
    found
}

/// Whether a source declares something of this name at module scope. May say so of a name in another scope.
pub(crate) fn declares(source: &str, name: &str) -> bool {
    let scanned = Scanned { source, tokens: lexer::tokens(source) };
    let declaring = |word: &str| matches!(word, "fn" | "const" | "override" | "struct" | "alias" | "var" | ">");
    (1..scanned.tokens.len()).any(|i| scanned.text(i) == name && declaring(scanned.text(i - 1)))
}
