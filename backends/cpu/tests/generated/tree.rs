//! A program as a tree of text, so that it can be made smaller without being understood: blocks lose statements, statements give way to what is inside
//! them, expressions to a part of the same type or to zero.

use crate::types::Type;

#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    Expression(Expression),
    Block(Block),
}

#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) ty: Type,
    pub(crate) pieces: Vec<Piece>,
    /// Whether the front end may fold it, and refuse it when it overflows.
    pub(crate) constant: bool,
}

pub(crate) type Statement = Vec<Piece>;
pub(crate) type Block = Vec<Statement>;

/// Builds pieces from a pattern, in which each `$` stands for the next expression.
pub(crate) fn fill(pattern: &str, parts: Vec<Expression>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut texts = pattern.split('$');
    pieces.push(Piece::Text(texts.next().unwrap_or_default().to_owned()));
    for (text, part) in texts.zip(parts) {
        pieces.push(Piece::Expression(part));
        pieces.push(Piece::Text(text.to_owned()));
    }
    pieces
}

impl Expression {
    /// An expression from a pattern; constant when all its parts are.
    pub(crate) fn new(ty: Type, pattern: &str, parts: Vec<Self>) -> Self {
        let constant = !parts.is_empty() && parts.iter().all(|p| p.constant);
        Self { ty, pieces: fill(pattern, parts), constant }
    }

    pub(crate) fn leaf(ty: Type, text: impl Into<String>, constant: bool) -> Self {
        Self { ty, pieces: vec![Piece::Text(text.into())], constant }
    }
}

pub(crate) fn render(pieces: &[Piece], out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Expression(e) => render(&e.pieces, out),
            Piece::Block(block) => {
                out.push_str("{\n");
                for statement in block {
                    render(statement, out);
                    out.push('\n');
                }
                out.push('}');
            }
        }
    }
}

/// How a place in the tree can be made smaller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// The statement goes.
    Remove,
    /// The statement gives way to its n-th block.
    Inner(usize),
    /// The expression becomes the zero value.
    Zero,
    /// The expression gives way to its n-th part.
    Part(usize),
}

/// Applies `change` at the `at`-th place where it can be applied, counting in order. False when there is no such place.
pub(crate) fn reduce(pieces: &mut [Piece], change: Change, at: &mut usize) -> bool {
    for piece in pieces {
        let done = match piece {
            Piece::Text(_) => false,
            Piece::Expression(e) => reduce_expression(e, change, at),
            Piece::Block(block) => reduce_block(block, change, at),
        };
        if done {
            return true;
        }
    }
    false
}

/// Counts down to the place.
fn here(at: &mut usize) -> bool {
    if *at == 0 {
        return true;
    }
    *at -= 1;
    false
}

fn reduce_expression(e: &mut Expression, change: Change, at: &mut usize) -> bool {
    match change {
        Change::Zero if !is_zero(e) && here(at) => {
            *e = Expression::leaf(e.ty.clone(), format!("{}()", e.ty.name()), true);
            return true;
        }
        Change::Part(n) => {
            let parts = e.pieces.iter().filter_map(|p| if let Piece::Expression(part) = p { Some(part) } else { None });
            let same = parts.filter(|p| p.ty == e.ty).nth(n).cloned();
            if let Some(same) = same
                && here(at)
            {
                *e = same;
                return true;
            }
        }
        _ => {}
    }
    reduce(&mut e.pieces, change, at)
}

fn is_zero(e: &Expression) -> bool {
    matches!(&e.pieces[..], [Piece::Text(text)] if *text == format!("{}()", e.ty.name()))
}

fn reduce_block(block: &mut Block, change: Change, at: &mut usize) -> bool {
    for i in 0..block.len() {
        match change {
            Change::Remove if here(at) => {
                block.remove(i);
                return true;
            }
            Change::Inner(n) => {
                let blocks = block[i].iter().filter_map(|p| if let Piece::Block(inner) = p { Some(inner) } else { None });
                let inner = blocks.clone().nth(n).cloned();
                if let Some(inner) = inner
                    && here(at)
                {
                    block.splice(i..=i, inner);
                    return true;
                }
            }
            _ => {}
        }
        if reduce(&mut block[i], change, at) {
            return true;
        }
    }
    false
}
