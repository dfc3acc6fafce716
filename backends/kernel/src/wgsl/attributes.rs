//! `@diagnostic(...)` in front of statements filters warnings that only other stages give. The front end does not know it there, so it is left out.

use crate::edits::Edit;
use crate::scan::{Kind, Scanned};

/// Leaves out diagnostic attributes inside of functions.
pub(super) fn check(scanned: &Scanned<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut blocks = 0u32;
    for at in 0..scanned.len() {
        match scanned.kind(at) {
            Some(Kind::OpenBrace) => blocks += 1,
            Some(Kind::CloseBrace) => blocks = blocks.saturating_sub(1),
            Some(Kind::Operator)
                if scanned.text(at) == "@" && scanned.text(at + 1) == "diagnostic" && scanned.text(at + 2) == "(" =>
            {
                // Before a block that is a function's body, or a statement.
                let close = (at + 3..(at + 12).min(scanned.len())).find(|i| scanned.text(*i) == ")");
                let places = close.and_then(|close| scanned.range(at).zip(scanned.range(close)));
                if let Some((first, last)) = places.filter(|_| blocks > 0) {
                    edits.push(Edit::new(first.start..last.end, ""));
                }
            }
            _ => {}
        }
    }
    edits
}
