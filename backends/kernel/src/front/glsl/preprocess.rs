//! The preprocessor: directives, included files, macros. Gives one list of tokens, each with its place in the text, which holds all files one after the other.
//! Runs on the caller's thread, because that is where files are asked for; so nothing here recurses deeply.

use super::lexer::{self, At, Kind, Name, Names, Token};
use super::macros::{Macro, Macros};
use super::wrong::{Findings, Wrong};
use super::{condition, extensions};
use crate::diagnostics::{self, Diagnostics, Finding};
use crate::front::{Loader, Source};
use crate::scan::MAX_SOURCE;
use crate::spelling;
use crate::text::{Builder, Text};

/// Tokens of a source when everything is expanded.
const MAX_TOKENS: usize = 1 << 20;
const DIRECTIVES: &[&str] = &[
    "define",
    "elif",
    "else",
    "endif",
    "error",
    "extension",
    "if",
    "ifdef",
    "ifndef",
    "include",
    "line",
    "pragma",
    "undef",
    "version",
];
/// Conditions inside each other, over all open files.
const MAX_CONDITIONS: usize = 256;

/// A source without directives.
pub(crate) struct Preprocessed {
    pub(super) tokens: Vec<Token>,
    pub(super) names: Names,
    pub(crate) text: Text,
    /// What is wrong so far, with the names that are not there because of it.
    pub(super) findings: Vec<Finding>,
    pub(super) lost: Vec<Name>,
    /// Any name may be missing.
    pub(super) missing: bool,
}

impl Preprocessed {
    /// Whether anything is declared `precise`, a word that means nothing else.
    pub(super) fn is_precise(&self) -> bool {
        self.tokens.iter().any(|token| token.kind == Kind::Word && self.names.get(token.name) == "precise")
    }

    /// What is left when directives are done, in parts: the text has the files one after another, and does not tell where each of them was included.
    pub(crate) fn parts(&self, mut part: impl FnMut(&[u8])) {
        for token in &self.tokens {
            part(&[token.kind as u8, u8::from(token.first), u8::from(token.glued)]);
            part(&token.at.0.to_le_bytes());
            part(self.names.get(token.name).as_bytes());
        }
    }
}

/// A file that is being read.
struct File {
    tokens: Vec<Token>,
    next: usize,
    /// Conditions that were open when it began.
    conditions: usize,
}

/// An `#if` that is open.
struct Condition {
    at: At,
    /// The lines here count.
    active: bool,
    /// One of its branches was taken, or none may be, for all of it is skipped.
    done: bool,
    last: bool,
}

struct Preprocessor<'a, 's> {
    loader: &'a mut Loader<'s>,
    builder: Builder,
    names: Names,
    macros: Macros,
    files: Vec<File>,
    conditions: Vec<Condition>,
    out: Vec<Token>,
    version: bool,
    findings: Findings,
    lost: Vec<Name>,
    missing: bool,
}

/// Reads a source with everything it includes.
pub(crate) fn run(source: &Source<'_>) -> Result<Preprocessed, Diagnostics> {
    let text = source.text()?;
    if text.len() > MAX_SOURCE {
        let message = format!("the source has {} bytes; at most {MAX_SOURCE} are allowed", text.len());
        return Err(crate::front::refuse(message));
    }
    let mut loader = Loader::new(source);
    let mut pp = Preprocessor {
        loader: &mut loader,
        builder: Builder::default(),
        names: Names::default(),
        macros: Macros::default(),
        files: Vec::new(),
        conditions: Vec::new(),
        out: Vec::new(),
        version: false,
        findings: Findings::default(),
        lost: Vec::new(),
        missing: false,
    };
    pp.predefine();
    pp.open(source.name, text);
    let ended = pp.files().map_err(|wrong| pp.findings.note(wrong)).is_err();
    let text = std::mem::take(&mut pp.builder).finish();
    let mut findings = pp.findings.into_list();
    findings.extend(pp.macros.findings.into_list());
    if ended {
        return Err(diagnostics::refuse(&text, findings));
    }
    Ok(Preprocessed { tokens: pp.out, names: pp.names, text, findings, lost: pp.lost, missing: pp.missing })
}

impl Preprocessor<'_, '_> {
    fn predefine(&mut self) {
        for (name, value) in extensions::MACROS {
            let name = self.names.intern(name);
            self.define_number(name, value);
        }
    }

    fn define_number(&mut self, name: Name, value: &str) {
        let token = Token { kind: Kind::Number, name: self.names.intern(value), at: (0, 0), first: false, glued: false };
        self.macros.define(name, Macro { parameters: None, body: vec![token] });
    }

    fn open(&mut self, name: &str, text: &str) {
        let file = self.builder.file(name);
        let start = self.builder.lines(file, 1, text);
        let tokens = lexer::tokens(text, start, &mut self.names);
        self.files.push(File { tokens, next: 0, conditions: self.conditions.len() });
    }

    fn text(&self, token: Option<&Token>) -> &str {
        token.map_or("", |t| self.names.get(t.name))
    }

    /// Goes through the open files until all are read. Only bounds are errors.
    fn files(&mut self) -> Result<(), Wrong> {
        while let Some(file) = self.files.last_mut() {
            let Some(token) = file.tokens.get(file.next).copied() else {
                self.close();
                continue;
            };
            if token.first && self.names.get(token.name) == "#" {
                let line = self.line();
                if let Err(wrong) = self.directive(token.at, &line) {
                    if wrong.ends {
                        return Err(wrong);
                    }
                    self.findings.note(wrong);
                }
            } else {
                let run = self.run_of_lines();
                if self.active() {
                    self.emit(run)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let Some(file) = self.files.pop() else { return };
        if let Some(open) = self.conditions.get(file.conditions) {
            self.findings.note(Wrong::new("the `#endif` of this is missing in its file", open.at));
            self.conditions.truncate(file.conditions);
            self.missing = true;
        }
        self.loader.close();
    }

    fn active(&self) -> bool {
        self.conditions.last().is_none_or(|c| c.active)
    }

    /// The tokens after a `#`, to the end of its line.
    fn line(&mut self) -> Vec<Token> {
        let Some(file) = self.files.last_mut() else { return Vec::new() };
        let rest = file.tokens.get(file.next + 1..).unwrap_or_default();
        let line: Vec<Token> = rest.iter().take_while(|t| !t.first).copied().collect();
        file.next += 1 + line.len();
        line
    }

    /// The tokens up to the next directive.
    fn run_of_lines(&mut self) -> Vec<Token> {
        let Some(file) = self.files.last_mut() else { return Vec::new() };
        let rest = file.tokens.get(file.next..).unwrap_or_default();
        let names = &self.names;
        let run: Vec<Token> = rest.iter().take_while(|t| !(t.first && names.get(t.name) == "#")).copied().collect();
        file.next += run.len();
        run
    }

    fn emit(&mut self, run: Vec<Token>) -> Result<(), Wrong> {
        let mut made = self.macros.expand(run, &mut self.names)?;
        if let Some(over) = made.get(MAX_TOKENS.saturating_sub(self.out.len())) {
            let message = format!("the source is too long: at most {MAX_TOKENS} tokens are allowed when it is expanded");
            return Err(Wrong::new(message, over.at).ending());
        }
        let mut before = (0, 0);
        for token in &mut made {
            if token.kind == Kind::Other || self.names.get(token.name) == "##" {
                token.kind = Kind::Other;
                // Of several in a row the first is told.
                if before.1 != token.at.0 {
                    let message = format!("`{}` is not part of the language", self.names.get(token.name));
                    self.findings.note(Wrong::new(message, token.at));
                }
                before = token.at;
            }
        }
        self.out.extend(made);
        Ok(())
    }

    fn directive(&mut self, at: At, line: &[Token]) -> Result<(), Wrong> {
        let word = self.text(line.first()).to_owned();
        let rest = line.get(1..).unwrap_or_default();
        let at = (at.0, line.last().map_or(at.1, |t| t.at.1));
        match word.as_str() {
            "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif" => return self.conditional(&word, at, rest),
            _ if !self.active() => return Ok(()),
            _ => {}
        }
        match word.as_str() {
            "" | "line" => Ok(()),
            "version" => self.version(at, rest),
            "extension" => self.extension(at, rest),
            "define" => self.define(at, rest),
            "undef" => match rest {
                [name] if name.kind == Kind::Word => {
                    self.macros.undefine(name.name);
                    Ok(())
                }
                _ => Err(Wrong::new("`#undef` takes one name".to_owned(), at)),
            },
            "include" => self.include(at, rest),
            "pragma" => {
                if self.text(rest.first()) == "once" {
                    self.loader.once();
                }
                Ok(())
            }
            "error" => {
                self.missing = true;
                let said: Vec<&str> = rest.iter().map(|t| self.names.get(t.name)).collect();
                Err(Wrong::new(format!("#error {}", said.join(" ")), at))
            }
            other => {
                let near = spelling::nearest(other, DIRECTIVES.iter().copied());
                let wrong = Wrong::new(format!("`#{other}` is not a directive of GLSL"), at);
                Err(wrong.note(near.map(|near| format!("did you mean `#{near}`?"))))
            }
        }
    }

    fn conditional(&mut self, word: &str, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let floor = self.files.last().map_or(0, |f| f.conditions);
        if word.starts_with("if") {
            if self.conditions.len() >= MAX_CONDITIONS {
                let message = format!("conditions are nested too deeply: at most {MAX_CONDITIONS} may be inside each other");
                return Err(Wrong::new(message, at).ending());
            }
            let outer = self.active();
            let holds = if outer { self.holds(word, at, rest) } else { Ok(false) };
            // Of a condition that is wrong no branch is read, and what they declare is missing.
            let (active, skip) = (matches!(holds, Ok(true)), !outer || holds.is_err());
            self.missing |= holds.is_err();
            self.conditions.push(Condition { at, active, done: active || skip, last: false });
            return holds.map(|_| ());
        }
        if self.conditions.len() <= floor || self.conditions.last().is_some_and(|c| c.last && word != "endif") {
            return Err(Wrong::new(format!("this `#{word}` belongs to no `#if`"), at));
        }
        if word == "endif" {
            self.conditions.pop();
            return Ok(());
        }
        let done = self.conditions.last().is_none_or(|c| c.done);
        let found = if done || word == "else" { Ok(!done) } else { self.holds(word, at, rest) };
        self.missing |= found.is_err();
        let holds = matches!(found, Ok(true));
        if let Some(top) = self.conditions.last_mut() {
            top.active = holds;
            top.done |= holds || found.is_err();
            top.last = word == "else";
        }
        found.map(|_| ())
    }

    fn holds(&mut self, word: &str, at: At, rest: &[Token]) -> Result<bool, Wrong> {
        if word == "ifdef" || word == "ifndef" {
            return match rest {
                [name, ..] if name.kind == Kind::Word => Ok(self.macros.is_defined(name.name) == (word == "ifdef")),
                _ => Err(Wrong::new(format!("`#{word}` takes one name"), at)),
            };
        }
        let tokens = self.replace_defined(at, rest)?;
        let tokens = self.macros.expand(tokens, &mut self.names)?;
        condition::evaluate(&tokens, &self.names).map(|value| value != 0).map_err(|message| Wrong::new(message, at))
    }

    /// `defined name` and `defined(name)` become numbers before anything is expanded.
    fn replace_defined(&mut self, at: At, tokens: &[Token]) -> Result<Vec<Token>, Wrong> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            index += 1;
            if self.names.get(token.name) != "defined" {
                out.push(*token);
                continue;
            }
            let bracket = self.text(tokens.get(index)) == "(";
            let name = tokens.get(index + usize::from(bracket)).filter(|t| t.kind == Kind::Word);
            let closes = !bracket || self.text(tokens.get(index + 2)) == ")";
            let (Some(name), true) = (name, closes) else {
                return Err(Wrong::new("`defined` takes one name".to_owned(), at));
            };
            let value = if self.macros.is_defined(name.name) { "1" } else { "0" };
            out.push(Token { kind: Kind::Number, name: self.names.intern(value), ..*token });
            index += if bracket { 3 } else { 1 };
        }
        Ok(out)
    }

    fn version(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        if self.version || !self.out.is_empty() || self.files.len() > 1 {
            return Err(Wrong::new("`#version` stands at the beginning, once".to_owned(), at));
        }
        self.version = true;
        let number = self.text(rest.first()).to_owned();
        let profile = self.text(rest.get(1));
        if !matches!(number.as_str(), "430" | "440" | "450" | "460") || profile == "es" {
            let named = if profile.is_empty() { number } else { format!("{number} {profile}") };
            return Err(Wrong::new(format!("GLSL {named} is not supported: write `#version 450` or `#version 460`"), at));
        }
        if !matches!(profile, "" | "core" | "compatibility") || rest.len() > 2 {
            return Err(Wrong::new(format!("`{profile}` is not a profile of GLSL"), at));
        }
        let name = self.names.intern("__VERSION__");
        self.define_number(name, &number);
        Ok(())
    }

    fn extension(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let words: Vec<&str> = rest.iter().map(|t| self.names.get(t.name)).collect();
        let [name, ":", behaviour] = words.as_slice() else {
            return Err(Wrong::new("`#extension` takes a name, a colon and a behaviour".to_owned(), at));
        };
        let (name, behaviour) = ((*name).to_owned(), (*behaviour).to_owned());
        match behaviour.as_str() {
            "require" if !extensions::is_supported(&name) => {
                self.missing = true;
                Err(Wrong::new(format!("the extension {name} is not supported"), at))
            }
            "require" | "enable" | "warn" | "disable" => {
                if extensions::is_supported(&name) && behaviour != "disable" {
                    let name = self.names.intern(&name);
                    self.define_number(name, "1");
                }
                Ok(())
            }
            other => Err(Wrong::new(format!("`{other}` is not `require`, `enable`, `warn` or `disable`"), at)),
        }
    }

    fn define(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let Some(name) = rest.first().filter(|t| t.kind == Kind::Word) else {
            return Err(Wrong::new("`#define` takes a name".to_owned(), at));
        };
        if self.names.get(name.name) == "defined" || self.names.get(name.name).starts_with("GL_") {
            return Err(Wrong::new(format!("`{}` cannot be defined", self.names.get(name.name)), at));
        }
        let function = rest.get(1).is_some_and(|t| t.glued && self.names.get(t.name) == "(");
        if !function {
            let body = rest.get(1..).unwrap_or_default().to_vec();
            self.macros.define(name.name, Macro { parameters: None, body });
            return Ok(());
        }
        // Whatever is wrong with it, uses of it are not to be told of.
        self.lost.push(name.name);
        let close = rest.iter().position(|t| self.names.get(t.name) == ")");
        let Some(inside) = close.and_then(|close| rest.get(2..close)) else {
            return Err(Wrong::new("the `)` of the parameters is missing".to_owned(), at));
        };
        let mut parameters = Vec::new();
        for (index, token) in inside.iter().enumerate() {
            let comma = self.names.get(token.name) == ",";
            if comma != (index % 2 == 1) || (!comma && token.kind != Kind::Word) || (comma && index + 1 == inside.len()) {
                return Err(Wrong::new("the parameters of a macro are names with commas between them".to_owned(), token.at));
            }
            if !comma && parameters.contains(&token.name) {
                return Err(Wrong::new(format!("the parameter `{}` is there twice", self.names.get(token.name)), token.at));
            }
            if !comma {
                parameters.push(token.name);
            }
        }
        let body = close.and_then(|close| rest.get(close + 1..)).unwrap_or_default().to_vec();
        self.lost.pop();
        self.macros.define(name.name, Macro { parameters: Some(parameters), body });
        Ok(())
    }

    fn include(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let (path, angle) = self
            .path(rest)
            .ok_or_else(|| Wrong::new("after `#include` stands a path in quotes or angle brackets".to_owned(), at))?;
        match self.loader.open(&path, angle) {
            Ok(Some(found)) => {
                self.open(&found.name, &found.text);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(message) => {
                self.missing = true;
                Err(Wrong::new(message, at))
            }
        }
    }

    fn path(&self, rest: &[Token]) -> Option<(String, bool)> {
        let first = rest.first()?;
        let text = self.names.get(first.name);
        if let [_] = rest
            && first.kind == Kind::Text
        {
            let path = text.strip_prefix('"')?.strip_suffix('"')?;
            return (!path.is_empty()).then(|| (path.to_owned(), false));
        }
        let spelled: String = rest.iter().map(|t| self.names.get(t.name)).collect();
        let path = spelled.strip_prefix('<')?.strip_suffix('>')?;
        (!path.is_empty()).then(|| (path.to_owned(), true))
    }
}
