//! A GLSL source as a tree: what was written, nothing of what it means. Depths are bounded by the parser, so walks over it may recurse.

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::{At, Name};
use super::part::Part;
use super::types::Ty;
use crate::diagnostics::Finding;

#[derive(Default)]
pub(super) struct Unit {
    pub(super) items: Vec<Item>,
    /// What is wrong, and the names that are not there because of it.
    pub(super) findings: Vec<Finding>,
    pub(super) lost: HashSet<Name>,
}

pub(super) enum Item {
    Function(Arc<Function>),
    Block(Block),
    Variables(Vec<Variable>),
    Struct(Arc<Struct>),
    /// Qualifiers alone: the workgroup size, or defaults for blocks.
    Defaults(Qualifiers),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Storage {
    Const,
    In,
    Out,
    InOut,
    Uniform,
    Buffer,
    Shared,
}

#[derive(Default)]
pub(super) struct Qualifiers {
    pub(super) layout: Vec<(Name, Option<Expr>, At)>,
    pub(super) storage: Option<(Storage, At)>,
    /// `const` beside `in`.
    pub(super) constant: bool,
    pub(super) readonly: bool,
    pub(super) writeonly: bool,
    pub(super) at: At,
}

/// A type where one is written.
#[derive(Clone)]
pub(super) struct TypeName {
    pub(super) base: Base,
    pub(super) arrays: Dimensions,
    pub(super) at: At,
}

/// Lengths of arrays, the outermost first; `None` for `[]`.
pub(super) type Dimensions = Arc<[Option<Expr>]>;

#[derive(Clone)]
pub(super) enum Base {
    Known(Ty),
    Named(Name),
    Declared(Arc<Struct>),
    /// No type is called that, or none that is supported; this has been told.
    Lost,
}

pub(super) struct Struct {
    pub(super) name: Name,
    pub(super) members: Vec<Member>,
    /// Something among the members was not understood.
    pub(super) broken: bool,
    pub(super) at: At,
}

pub(super) struct Member {
    pub(super) qualifiers: Arc<Qualifiers>,
    pub(super) ty: TypeName,
    pub(super) name: Name,
    pub(super) arrays: Dimensions,
    pub(super) at: At,
}

/// A `uniform` or `buffer` block.
pub(super) struct Block {
    pub(super) qualifiers: Qualifiers,
    pub(super) name: Name,
    pub(super) members: Vec<Member>,
    pub(super) broken: bool,
    pub(super) instance: Option<(Name, Dimensions)>,
    pub(super) at: At,
}

pub(super) struct Variable {
    pub(super) qualifiers: Arc<Qualifiers>,
    pub(super) ty: TypeName,
    pub(super) name: Name,
    pub(super) arrays: Dimensions,
    pub(super) init: Option<Arc<Expr>>,
    pub(super) at: At,
}

pub(super) struct Function {
    pub(super) name: Name,
    pub(super) result: TypeName,
    pub(super) parameters: Vec<Variable>,
    /// The parameters were not understood.
    pub(super) broken: bool,
    /// `None`: only a prototype.
    pub(super) body: Option<Vec<Statement>>,
    pub(super) at: At,
}

pub(super) struct Statement {
    pub(super) kind: StatementKind,
    pub(super) at: At,
}

pub(super) enum StatementKind {
    Block(Vec<Statement>),
    Variables(Vec<Variable>),
    Struct(Arc<Struct>),
    Expression(Expr),
    If {
        condition: Expr,
        accept: Box<Statement>,
        reject: Option<Box<Statement>>,
    },
    Switch {
        selector: Expr,
        body: Vec<Statement>,
    },
    /// A label of a switch; `None` is `default`.
    Case(Option<Expr>),
    For {
        first: Option<Box<Statement>>,
        condition: Option<Condition>,
        step: Option<Expr>,
        body: Box<Statement>,
    },
    While {
        condition: Condition,
        body: Box<Statement>,
    },
    DoWhile {
        body: Box<Statement>,
        condition: Expr,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Empty,
}

/// What a loop tests; C's grammar lets it declare a variable.
pub(super) enum Condition {
    Expression(Expr),
    Variable(Box<Variable>),
}

pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) at: At,
    /// Expressions below each other, this one included.
    pub(super) depth: u32,
}

pub(super) enum ExprKind {
    Number(Part),
    Name(Name),
    Unary(Unary, Box<Expr>),
    /// `++` and `--`: before, or after, what they change.
    Step {
        target: Box<Expr>,
        increment: bool,
        after: bool,
    },
    Binary(Binary, Box<Expr>, Box<Expr>),
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    Call(Name, Vec<Expr>),
    Construct(TypeName, Vec<Expr>),
    /// An initializer in braces.
    List(Vec<Expr>),
    /// A text in quotes, quotes included.
    Text(Name),
    Length(Box<Expr>),
    Member(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    /// What was not understood; this has been told.
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Plus,
    Minus,
    Not,
    Complement,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
}
