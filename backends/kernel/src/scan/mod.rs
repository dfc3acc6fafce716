//! Bounds on a source, checked on its tokens before any parser sees it, so that every recursive pass after this one has a bounded depth
//! and every evaluated constant a bounded size. Knows nothing of meaning; whatever passes here may still be nonsense.
//!
//! The bounds are listed in `docs/kernels.md`; change both together.

mod directives;
mod expand;
mod lexer;
mod sizes;

use std::collections::HashMap;
use std::ops::Range;

use crate::diagnostics::Finding;
pub(crate) use directives::{declares, directives};
pub(crate) use lexer::Kind;
use lexer::Token;

/// Bytes of a source.
pub(crate) const MAX_SOURCE: usize = 1 << 20;
/// Brackets, template lists included, inside each other within one statement.
const MAX_BRACKETS: u32 = 64;
/// Operators, calls, indices and members that can hang below each other within one expression.
const MAX_OPERATORS: u32 = 1024;
/// Blocks inside each other, plus the `else if`s on the way.
const MAX_BLOCKS: u32 = 96;
/// Statements of one function. The front end's time grows with the square of their number: ten thousand take about a second.
const MAX_STATEMENTS: u32 = 10_000;
/// Names and numbers in one function. The front end's time grows with the square of the expressions that they make.
const MAX_OPERANDS: u32 = 40_960;
/// Declarations at module scope.
const MAX_DECLARATIONS: u32 = 4096;

/// The words whose `<` opens a template list wherever the source is valid.
const TEMPLATES: &[&str] = &[
    "array", "atomic", "bitcast", "ptr", "var", "vec2", "vec3", "vec4", "mat2x2", "mat2x3", "mat2x4", "mat3x2", "mat3x3",
    "mat3x4", "mat4x2", "mat4x3", "mat4x4",
];

/// A declaration never holds one of these words past its first token, so a search for its end stops at them: each token is looked at by
/// one declaration only.
fn begins_declaration(word: &str) -> bool {
    matches!(word, "fn" | "const" | "var" | "let" | "override" | "struct" | "alias" | "const_assert")
}

/// The tokens of a source with its text.
pub(crate) struct Scanned<'a> {
    source: &'a str,
    tokens: Vec<Token>,
}

impl<'a> Scanned<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, tokens: lexer::tokens(source) }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The text of a token, empty past the end.
    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.tokens.get(index).and_then(|t| self.source.get(t.start..t.end)).unwrap_or_default()
    }

    pub(crate) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|t| t.kind)
    }

    /// The first token that ends after a byte; past the last one when there is none.
    pub(crate) fn at_byte(&self, at: usize) -> usize {
        self.tokens.partition_point(|t| t.end <= at)
    }

    /// Its bytes.
    pub(crate) fn range(&self, index: usize) -> Option<Range<usize>> {
        self.tokens.get(index).map(|t| t.start..t.end)
    }
}

/// Everything about `source` that is over a bound.
pub(crate) fn check(source: &str) -> Vec<Finding> {
    if source.len() > MAX_SOURCE {
        let message = format!("the source has {} bytes; at most {MAX_SOURCE} are allowed", source.len());
        return vec![Finding::new(message, None)];
    }
    let scanned = Scanned::new(source);
    let (mut findings, arrays) = Nesting::new(&scanned).run();
    let mut elements = HashMap::new();
    if findings.is_empty() {
        (findings, elements) = sizes::check(&scanned, &arrays);
    }
    if findings.is_empty() {
        findings = expand::check(&scanned, &elements);
    }
    findings
}

/// The first word outside comments that `is` holds for. For messages only.
pub(crate) fn find_word(source: &str, is: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let words = lexer::tokens(source).into_iter().filter(|t| t.kind == Kind::Word).map(|t| t.start..t.end);
    words.into_iter().find(|range| source.get(range.clone()).is_some_and(&is))
}

/// Where the name of a function is declared. For messages only.
pub(crate) fn find_entry(source: &str, name: &str) -> Option<Range<usize>> {
    let scanned = Scanned::new(source);
    (1..scanned.tokens.len()).find(|&i| scanned.text(i) == name && scanned.text(i - 1) == "fn").and_then(|i| scanned.range(i))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameKind {
    /// `{ }`, and the module itself at the bottom.
    Block,
    /// `( )` and `[ ]`.
    Bracket,
    /// `< >` of a template list, an array's or another's.
    Template { array: bool },
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: FrameKind,
    /// Operators since the last separator.
    operators: u32,
    /// A `<` that may or may not open a template list was seen since then: a comma separates nothing any more.
    unsure: bool,
    /// `else if`s in the present chain; blocks only.
    chain: u32,
    /// The token that opened it.
    opened: usize,
    /// In a template list: the first token of the second argument, and the comma behind it.
    second: (Option<usize>, Option<usize>),
}

/// A fixed-size array type, as tokens.
struct ArrayType {
    /// The word `array`.
    word: usize,
    /// The element count.
    count: Range<usize>,
    /// The `>`.
    close: usize,
}

struct Nesting<'a> {
    scanned: &'a Scanned<'a>,
    frames: Vec<Frame>,
    /// Brackets since the innermost block began, and blocks with chains: what the bounds are about.
    brackets: u32,
    blocks: u32,
    /// Operators of all frames since the innermost block began, without the top frame.
    below: u32,
    declarations: u32,
    /// Of the function that is open.
    statements: u32,
    operands: u32,
    arrays: Vec<ArrayType>,
}

impl<'a> Nesting<'a> {
    fn new(scanned: &'a Scanned<'a>) -> Self {
        let module = Frame { kind: FrameKind::Block, operators: 0, unsure: false, chain: 0, opened: 0, second: (None, None) };
        Self {
            scanned,
            frames: vec![module],
            brackets: 0,
            blocks: 0,
            below: 0,
            declarations: 0,
            statements: 0,
            operands: 0,
            arrays: Vec::new(),
        }
    }

    /// Stops at the first thing that is over a bound: after it, the count of everything else would be off.
    fn run(mut self) -> (Vec<Finding>, Vec<ArrayType>) {
        for index in 0..self.scanned.tokens.len() {
            if let Err(finding) = self.token(index) {
                return (vec![finding], self.arrays);
            }
        }
        (Vec::new(), self.arrays)
    }

    fn token(&mut self, index: usize) -> Result<(), Finding> {
        match self.scanned.kind(index) {
            Some(Kind::Open) => self.operator(index).and_then(|()| self.open(index, FrameKind::Bracket)),
            Some(Kind::Close) => self.close_bracket(index),
            Some(Kind::OpenBrace) => self.open_block(index),
            Some(Kind::CloseBrace) => self.close_block(index),
            Some(Kind::Comma) => self.comma(index),
            Some(Kind::Semicolon) => self.separator(index).and_then(|()| self.statement(index)),
            Some(Kind::Operator) => self.operator_or_template(index),
            Some(Kind::Word) => self.operand(index).and_then(|()| self.word(index)),
            Some(Kind::Number) => self.operand(index),
            None => Ok(()),
        }
    }

    fn top(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    fn refuse(&self, index: usize, message: String) -> Result<(), Finding> {
        Err(Finding::new(message, self.scanned.range(index)))
    }

    fn operator(&mut self, index: usize) -> Result<(), Finding> {
        let below = self.below;
        let Some(top) = self.top() else { return Ok(()) };
        top.operators += 1;
        if below + top.operators > MAX_OPERATORS {
            let message = format!(
                "this expression is too long: at most {MAX_OPERATORS} operators, calls and members may depend on each other; split it with `let`"
            );
            return self.refuse(index, message);
        }
        Ok(())
    }

    fn operator_or_template(&mut self, index: usize) -> Result<(), Finding> {
        match self.scanned.text(index) {
            "<" if self.opens_template(index) => {
                let array = self.scanned.text(index - 1) == "array";
                self.open(index, FrameKind::Template { array })
            }
            ">" if matches!(self.top().map(|f| f.kind), Some(FrameKind::Template { .. })) => self.close_template(index),
            "<" => {
                if let Some(top) = self.top() {
                    top.unsure = true;
                }
                self.operator(index)
            }
            _ => self.operator(index),
        }
    }

    fn opens_template(&self, index: usize) -> bool {
        index > 0 && TEMPLATES.contains(&self.scanned.text(index - 1)) && !matches!(self.scanned.text(index + 1), "<" | "=")
    }

    fn open(&mut self, index: usize, kind: FrameKind) -> Result<(), Finding> {
        self.below += self.top().map_or(0, |f| f.operators);
        self.brackets += 1;
        self.frames.push(Frame { kind, operators: 0, unsure: false, chain: 0, opened: index, second: (None, None) });
        if self.brackets > MAX_BRACKETS {
            let message = format!("brackets are nested too deeply here: at most {MAX_BRACKETS} may be inside each other");
            return self.refuse(index, message);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.brackets = self.brackets.saturating_sub(1);
        self.below -= self.top().map_or(0, |f| f.operators).min(self.below);
        Some(frame)
    }

    fn close_template(&mut self, index: usize) -> Result<(), Finding> {
        if let Some(Frame { kind: FrameKind::Template { array: true }, opened, second: (Some(from), to), .. }) = self.pop() {
            // Without a comma there is the element type alone: a runtime-sized array. A last comma ends nothing but the list.
            let count = from..to.unwrap_or(index);
            if !count.is_empty() {
                self.arrays.push(ArrayType { word: opened.saturating_sub(1), count, close: index });
            }
        }
        self.operator(index)
    }

    /// A bracket that closes ends the template lists inside it that never closed: those `<` were no such lists.
    fn close_bracket(&mut self, _index: usize) -> Result<(), Finding> {
        while let Some(FrameKind::Template { .. }) = self.top().map(|f| f.kind) {
            self.pop();
        }
        if self.top().is_some_and(|f| f.kind == FrameKind::Bracket) {
            self.pop();
        }
        Ok(())
    }

    fn open_block(&mut self, index: usize) -> Result<(), Finding> {
        self.separator(index)?;
        if self.frames.len() == 1 {
            self.statements = 0;
            self.operands = 0;
        }
        self.statement(index)?;
        self.blocks += 1;
        // Whatever brackets are open belong to the statement that this block ends: a new count starts, and the old one is not needed, for
        // no expression holds a block.
        self.brackets = 0;
        self.below = 0;
        self.frames.push(Frame {
            kind: FrameKind::Block,
            operators: 0,
            unsure: false,
            chain: 0,
            opened: index,
            second: (None, None),
        });
        self.check_blocks(index)
    }

    fn statement(&mut self, index: usize) -> Result<(), Finding> {
        self.statements += 1;
        if self.frames.len() > 1 && self.statements > MAX_STATEMENTS {
            let message =
                format!("this function is too long: at most {MAX_STATEMENTS} statements and blocks are allowed; split it");
            return self.refuse(index, message);
        }
        Ok(())
    }

    fn check_blocks(&self, index: usize) -> Result<(), Finding> {
        let chains: u32 = self.frames.iter().filter(|f| f.kind == FrameKind::Block).map(|f| f.chain).sum();
        if self.blocks + chains > MAX_BLOCKS {
            let message =
                format!("blocks are nested too deeply here: at most {MAX_BLOCKS} blocks and `else if`s may be inside each other");
            return self.refuse(index, message);
        }
        Ok(())
    }

    fn close_block(&mut self, index: usize) -> Result<(), Finding> {
        while self.top().is_some_and(|f| f.kind != FrameKind::Block) {
            self.pop();
        }
        if self.frames.len() > 1 {
            self.frames.pop();
            self.blocks = self.blocks.saturating_sub(1);
        }
        self.brackets = 0;
        self.below = 0;
        let follows_else = self.scanned.text(index + 1) == "else";
        if let Some(top) = self.top() {
            top.operators = 0;
            if !follows_else {
                top.chain = 0;
            }
        }
        Ok(())
    }

    fn comma(&mut self, index: usize) -> Result<(), Finding> {
        if let Some(top) = self.top() {
            match top.second {
                (None, _) => top.second.0 = Some(index + 1),
                (Some(_), None) => top.second.1 = Some(index),
                _ => {}
            }
        }
        if self.top().is_some_and(|f| f.unsure) { Ok(()) } else { self.separator(index) }
    }

    fn separator(&mut self, _index: usize) -> Result<(), Finding> {
        if let Some(top) = self.top() {
            top.operators = 0;
            top.unsure = false;
        }
        Ok(())
    }

    fn operand(&mut self, index: usize) -> Result<(), Finding> {
        self.operands += 1;
        if self.blocks > 0 && self.operands > MAX_OPERANDS {
            let message = format!("this function is too long: at most {MAX_OPERANDS} names and numbers are allowed; split it");
            return self.refuse(index, message);
        }
        Ok(())
    }

    fn word(&mut self, index: usize) -> Result<(), Finding> {
        match self.scanned.text(index) {
            "else" if self.scanned.text(index + 1) == "if" => {
                if let Some(top) = self.top() {
                    top.chain += 1;
                }
                self.check_blocks(index)
            }
            word if self.frames.len() == 1 && begins_declaration(word) => self.declaration(index),
            _ => Ok(()),
        }
    }

    fn declaration(&mut self, index: usize) -> Result<(), Finding> {
        self.declarations += 1;
        if self.declarations > MAX_DECLARATIONS {
            let message = format!("too many declarations: at most {MAX_DECLARATIONS} are allowed in one module");
            return self.refuse(index, message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
