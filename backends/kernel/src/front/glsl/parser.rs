//! From tokens to the tree: declarations and statements. `expression.rs` has the expressions. Every depth is bounded here, for all that comes later.

mod expression;
mod recover;
mod statement;

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::*;
use super::lexer::{At, Kind, Name, Names, Token};
use super::preprocess::Preprocessed;
use super::wrong::{Findings, Wrong};
use super::{types, words};

/// Declarations at the outermost level; as for WGSL.
const MAX_DECLARATIONS: usize = 4096;
/// Statements of one function; as for WGSL.
const MAX_STATEMENTS: u32 = 10_000;
/// Statements inside each other, with the `else if`s on the way.
const MAX_BLOCKS: u32 = 96;
/// Brackets inside each other in one expression.
const MAX_BRACKETS: u32 = 64;
/// Operators, calls, indices and members that depend on each other in one expression.
const MAX_OPERATORS: u32 = 1024;

pub(super) type Parsed<T> = Result<T, Wrong>;

pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    names: &'a Names,
    at: usize,
    structs: HashSet<Name>,
    brackets: u32,
    blocks: u32,
    statements: u32,
    /// Braces and brackets open before each token.
    levels: Vec<recover::Level>,
    /// The brace that the function being read begins with.
    brace: At,
    findings: Findings,
    lost: HashSet<Name>,
}

/// The tree of a source, as far as it was understood.
pub(super) fn unit(source: &Preprocessed) -> Unit {
    let (tokens, names) = (source.tokens.as_slice(), &source.names);
    let mut parser = Parser {
        tokens,
        names,
        at: 0,
        structs: HashSet::new(),
        brackets: 0,
        blocks: 0,
        statements: 0,
        levels: recover::levels(tokens, names),
        brace: (0, 0),
        findings: Findings::after(&source.findings),
        lost: source.lost.iter().copied().collect(),
    };
    let mut items = Vec::new();
    while parser.at < tokens.len() && !parser.findings.are_enough() {
        if items.len() >= MAX_DECLARATIONS {
            let message = format!("too many declarations: at most {MAX_DECLARATIONS} are allowed in one source");
            parser.findings.note(Wrong::new(message, parser.here()));
            break;
        }
        let from = parser.at;
        if let Err(wrong) = parser.item(&mut items) {
            parser.skip_item(wrong, from);
        }
    }
    Unit { items, findings: parser.findings.into_list(), lost: parser.lost }
}

impl<'a> Parser<'a> {
    fn token(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + ahead)
    }

    fn text(&self, ahead: usize) -> &'a str {
        self.token(ahead).map_or("", |t| self.names.get(t.name))
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.token(ahead).is_some_and(|t| matches!(t.kind, Kind::Word | Kind::Painted))
    }

    /// The place of the next token; at the end, of the last.
    fn here(&self) -> At {
        self.token(0).or(self.tokens.last()).map_or((0, 0), |t| t.at)
    }

    /// From a place to the last token taken.
    fn since(&self, from: At) -> At {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        (from.0, last.map_or(from.1, |t| t.at.1.max(from.1)))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.text(0) == text && self.at < self.tokens.len();
        self.at += usize::from(found);
        found
    }

    fn wrong<T>(&self, expected: &str) -> Parsed<T> {
        if self.token(0).is_some_and(|t| matches!(t.kind, Kind::Lost | Kind::Other)) {
            return Err(Wrong::told());
        }
        let found = match self.text(0) {
            "" => "the source ends".to_owned(),
            text => format!("`{text}` stands"),
        };
        Err(Wrong::new(format!("{expected} is expected here, but {found}"), self.here()))
    }

    fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { self.wrong(&format!("`{text}`")) }
    }

    fn identifier(&mut self, what: &str) -> Parsed<(Name, At)> {
        match self.token(0) {
            Some(token) if self.is_word(0) && !is_keyword(self.text(0)) => {
                self.at += 1;
                Ok((token.name, token.at))
            }
            _ => self.wrong(what),
        }
    }

    fn not_supported<T>(&self, construct: &str, at: At) -> Parsed<T> {
        Err(Wrong::not_supported(construct, at))
    }

    /// The end of a statement or declaration. One that is missing at the end of a line is told there, and taken as written.
    fn semicolon(&mut self) -> Parsed<()> {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let over = self.token(0).is_none_or(|t| t.first && !matches!(t.kind, Kind::Lost | Kind::Other)) || self.text(0) == "}";
        match before.filter(|_| over && self.text(0) != ";") {
            Some(before) => {
                let wrong = Wrong::new("`;` is expected at the end of this", before.at);
                self.findings.note(wrong.label("`;` is missing after this"));
                Ok(())
            }
            None => self.expect(";"),
        }
    }

    fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        if self.eat(";") {
            return Ok(());
        }
        if self.text(0) == "}" {
            self.findings.note(Wrong::new("this `}` closes nothing", self.here()));
            self.at += 1;
            return Ok(());
        }
        if self.text(0) == "precision" {
            return self.precision();
        }
        let qualifiers = self.qualifiers()?;
        if self.eat(";") {
            items.push(Item::Defaults(qualifiers));
            return Ok(());
        }
        let block = matches!(qualifiers.storage, Some((Storage::Uniform | Storage::Buffer | Storage::In | Storage::Out, _)));
        if block && self.is_word(0) && self.text(1) == "{" {
            items.push(Item::Block(self.block(qualifiers)?));
            return Ok(());
        }
        let ty = self.type_name()?;
        if let Base::Declared(declared) = &ty.base {
            items.push(Item::Struct(Arc::clone(declared)));
            let over = self.text(0) != ";" && self.token(0).is_none_or(|t| t.first);
            if self.text(0) == ";" || over {
                return self.semicolon();
            }
        }
        if self.is_word(0) && self.text(1) == "(" {
            items.push(Item::Function(Arc::new(self.function(ty)?)));
            return Ok(());
        }
        items.push(Item::Variables(self.variables(qualifiers, ty)?));
        Ok(())
    }

    fn precision(&mut self) -> Parsed<()> {
        self.at += 1;
        if !matches!(self.text(0), "highp" | "mediump" | "lowp") {
            return self.wrong("`highp`, `mediump` or `lowp`");
        }
        self.at += 1;
        self.type_name()?;
        self.semicolon()
    }

    fn qualifiers(&mut self) -> Parsed<Qualifiers> {
        let mut found = Qualifiers { at: self.here(), ..Qualifiers::default() };
        loop {
            let at = self.here();
            let storage = match self.text(0) {
                "layout" => {
                    self.layout(&mut found)?;
                    continue;
                }
                "const" => Storage::Const,
                "in" => Storage::In,
                "out" => Storage::Out,
                "inout" => Storage::InOut,
                "uniform" => Storage::Uniform,
                "buffer" => Storage::Buffer,
                "shared" => Storage::Shared,
                "readonly" => {
                    found.readonly = true;
                    self.at += 1;
                    continue;
                }
                "writeonly" => {
                    found.writeonly = true;
                    self.at += 1;
                    continue;
                }
                // Every access of a kernel to memory is coherent within what its barriers and atomics order, and no two bindings that are written may overlap.
                "coherent" | "restrict" | "highp" | "mediump" | "lowp" | "precise" | "invariant" => {
                    self.at += 1;
                    continue;
                }
                "volatile" => {
                    let message = "`volatile` is not supported: use atomics for memory that other invocations change meanwhile";
                    return Err(Wrong::new(message.to_owned(), at));
                }
                "flat" | "smooth" | "noperspective" | "centroid" | "sample" | "patch" | "attribute" | "varying" => {
                    return self.not_supported("inputs and outputs of stages other than compute", at);
                }
                "subroutine" => return self.not_supported("subroutines", at),
                _ => break,
            };
            self.at += 1;
            match found.storage {
                Some((Storage::Const, _)) => found.constant = true,
                Some(_) if storage == Storage::Const => {
                    found.constant = true;
                    continue;
                }
                Some((other, _)) => {
                    return Err(Wrong::new(
                        format!("{storage:?} and {other:?} cannot both qualify a declaration").to_lowercase(),
                        at,
                    ));
                }
                None => {}
            }
            found.storage = Some((storage, at));
        }
        found.at = self.since(found.at);
        Ok(found)
    }

    fn layout(&mut self, found: &mut Qualifiers) -> Parsed<()> {
        self.at += 1;
        self.expect("(")?;
        loop {
            let Some(token) = self.token(0).filter(|_| self.is_word(0)) else { return self.wrong("a layout qualifier") };
            self.at += 1;
            let value = if self.eat("=") { Some(self.conditional()?) } else { None };
            found.layout.push((token.name, value, self.since(token.at)));
            if !self.eat(",") {
                return self.expect(")");
            }
        }
    }

    /// Whether a word names a type.
    fn is_type(&self, ahead: usize) -> bool {
        let Some(token) = self.token(ahead).filter(|_| self.is_word(ahead)) else { return false };
        self.text(ahead) == "struct" || types::word(self.text(ahead)).is_some() || self.structs.contains(&token.name)
    }

    fn type_name(&mut self) -> Parsed<TypeName> {
        let at = self.here();
        while matches!(self.text(0), "highp" | "mediump" | "lowp") {
            self.at += 1;
        }
        if self.text(0) == "struct" {
            let declared = Arc::new(self.structure()?);
            let arrays = self.dimensions()?;
            return Ok(TypeName { base: Base::Declared(declared), arrays, at: self.since(at) });
        }
        let Some(token) = self.token(0).filter(|_| self.is_word(0)) else { return self.wrong("a type") };
        let base = match types::word(self.text(0)) {
            Some(Ok(ty)) => Base::Known(ty),
            Some(Err(construct)) => {
                self.findings.note(Wrong::not_supported(construct, token.at));
                Base::Lost
            }
            None if self.structs.contains(&token.name) => Base::Named(token.name),
            None => {
                let wrong = self.unknown_type(token);
                let declares = self.is_word(1) || matches!(self.text(1), "[" | "," | ")");
                if !declares || is_keyword(self.text(0)) {
                    return Err(wrong);
                }
                self.findings.note(wrong);
                Base::Lost
            }
        };
        self.at += 1;
        let arrays = self.dimensions()?;
        Ok(TypeName { base, arrays, at: self.since(at) })
    }

    fn dimensions(&mut self) -> Parsed<Dimensions> {
        let mut list = Vec::new();
        while self.eat("[") {
            if list.len() >= 15 {
                return Err(Wrong::new(
                    "arrays are nested too deeply here: at most 15 may be inside each other".to_owned(),
                    self.here(),
                ));
            }
            if self.eat("]") {
                list.push(None);
                continue;
            }
            list.push(Some(self.conditional()?));
            self.expect("]")?;
        }
        Ok(list.into())
    }

    fn structure(&mut self) -> Parsed<Struct> {
        let at = self.here();
        self.at += 1;
        let (name, _) = self.identifier("the name of a structure")?;
        self.structs.insert(name);
        let (members, broken) = self.members()?;
        Ok(Struct { name, members, broken, at: self.since(at) })
    }

    /// The members in braces, and whether some were not understood.
    fn members(&mut self) -> Parsed<(Vec<Member>, bool)> {
        let brace = self.here();
        self.expect("{")?;
        let (mut members, mut broken) = (Vec::new(), false);
        let level = self.level(self.at);
        while !self.eat("}") {
            if self.at >= self.tokens.len() || self.findings.are_enough() {
                return Err(Wrong::new("this `{` is never closed: a `}` is missing", brace).ending());
            }
            let from = self.at;
            if let Err(wrong) = self.member(&mut members) {
                broken = true;
                self.skip_statement(wrong, from, level);
            }
        }
        if members.is_empty() && !broken {
            return Err(Wrong::new("a structure needs a member", self.since(self.here())));
        }
        Ok((members, broken))
    }

    fn member(&mut self, members: &mut Vec<Member>) -> Parsed<()> {
        let qualifiers = Arc::new(self.qualifiers()?);
        let ty = self.type_name()?;
        if let Base::Declared(_) = ty.base {
            return Err(Wrong::new("a structure cannot be declared inside another", ty.at));
        }
        loop {
            let (name, at) = self.identifier("the name of a member")?;
            let arrays = self.dimensions()?;
            members.push(Member { qualifiers: Arc::clone(&qualifiers), ty: ty.clone(), name, arrays, at });
            if !self.eat(",") {
                return self.semicolon();
            }
        }
    }

    fn block(&mut self, qualifiers: Qualifiers) -> Parsed<Block> {
        let (name, at) = self.identifier("the name of a block")?;
        let (members, broken) = self.members()?;
        let instance = if self.text(0) == ";" {
            None
        } else {
            let (name, _) = self.identifier("the name of the block's instance")?;
            Some((name, self.dimensions()?))
        };
        self.semicolon()?;
        Ok(Block { qualifiers, name, members, broken, instance, at })
    }

    fn variables(&mut self, qualifiers: Qualifiers, ty: TypeName) -> Parsed<Vec<Variable>> {
        let qualifiers = Arc::new(qualifiers);
        let mut list = Vec::new();
        loop {
            let (name, at) = self.identifier("the name of a variable")?;
            let arrays = self.dimensions()?;
            let init = if self.eat("=") { Some(Arc::new(self.initializer()?)) } else { None };
            list.push(Variable { qualifiers: Arc::clone(&qualifiers), ty: ty.clone(), name, arrays, init, at });
            if !self.eat(",") {
                break;
            }
        }
        self.semicolon()?;
        Ok(list)
    }

    fn function(&mut self, result: TypeName) -> Parsed<Function> {
        let (name, at) = self.identifier("the name of a function")?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        let from = self.at;
        let broken = match self.parameters(&mut parameters) {
            Ok(()) => false,
            Err(wrong) => {
                self.skip_parameters(wrong, from)?;
                true
            }
        };
        if self.eat(";") {
            return Ok(Function { name, result, parameters, broken, body: None, at });
        }
        self.statements = 0;
        self.brace = self.here();
        let body = self.compound()?;
        Ok(Function { name, result, parameters, broken, body: Some(body), at })
    }

    fn parameters(&mut self, parameters: &mut Vec<Variable>) -> Parsed<()> {
        if self.text(0) == "void" && self.text(1) == ")" {
            self.at += 1;
        }
        while !self.eat(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            parameters.push(self.parameter()?);
        }
        Ok(())
    }

    fn parameter(&mut self) -> Parsed<Variable> {
        let qualifiers = Arc::new(self.qualifiers()?);
        let ty = self.type_name()?;
        let (name, at, arrays) = if self.is_word(0) {
            let (name, at) = self.identifier("the name of a parameter")?;
            (name, at, self.dimensions()?)
        } else {
            // Without a name nothing can mention it: the sign before it is a name that no source has.
            let at = self.at.saturating_sub(1);
            let name = self.names.find("(").or(self.tokens.get(at).map(|t| t.name));
            let Some(name) = name else { return self.wrong("the name of a parameter") };
            (name, ty.at, Vec::new().into())
        };
        Ok(Variable { qualifiers, ty, name, arrays, init: None, at })
    }
}

/// Words that can name nothing.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "else"
            | "for"
            | "while"
            | "do"
            | "switch"
            | "case"
            | "default"
            | "break"
            | "continue"
            | "return"
            | "discard"
            | "struct"
            | "true"
            | "false"
            | "const"
            | "in"
            | "out"
            | "inout"
            | "uniform"
            | "buffer"
            | "shared"
            | "layout"
            | "precision"
            | "highp"
            | "mediump"
            | "lowp"
            | "coherent"
            | "restrict"
            | "volatile"
            | "readonly"
            | "writeonly"
            | "precise"
            | "invariant"
            | "goto"
    ) || types::word(word).is_some()
}
