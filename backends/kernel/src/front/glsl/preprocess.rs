//! The preprocessor: directives, included files, macros. Gives one list of tokens, each with its place in the text, which holds all files one after the other.
//! Runs on the caller's thread, because that is where files are asked for; so nothing here recurses deeply.

use super::lexer::{self, At, Kind, Name, Names, Token};
use super::macros::{Macro, Macros, Wrong};
use super::{condition, extensions};
use crate::diagnostics::{self, Diagnostics, Finding};
use crate::front::{Loader, Source};
use crate::scan::MAX_SOURCE;
use crate::text::{Builder, Text};

/// Tokens of a source when everything is expanded.
const MAX_TOKENS: usize = 1 << 20;
/// Conditions inside each other, over all open files.
const MAX_CONDITIONS: usize = 256;

/// A source without directives.
pub(crate) struct Preprocessed {
    pub(super) tokens: Vec<Token>,
    pub(super) names: Names,
    pub(crate) text: Text,
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
    };
    pp.predefine();
    pp.open(source.name, text);
    let wrong = pp.files().err();
    let text = std::mem::take(&mut pp.builder).finish();
    match wrong {
        Some((message, at)) => Err(refuse(&text, message, at)),
        None => Ok(Preprocessed { tokens: pp.out, names: pp.names, text }),
    }
}

/// A refusal with its place.
pub(super) fn refuse(text: &Text, message: String, at: At) -> Diagnostics {
    diagnostics::refuse(text, vec![Finding::new(message, Some(at.0 as usize..at.1 as usize))])
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

    /// Goes through the open files until all are read.
    fn files(&mut self) -> Result<(), Wrong> {
        while let Some(file) = self.files.last_mut() {
            let Some(token) = file.tokens.get(file.next).copied() else {
                self.close()?;
                continue;
            };
            if token.first && self.names.get(token.name) == "#" {
                let line = self.line();
                self.directive(token.at, &line)?;
            } else {
                let run = self.run_of_lines();
                if self.active() {
                    self.emit(run)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Wrong> {
        let Some(file) = self.files.pop() else { return Ok(()) };
        if let Some(open) = self.conditions.get(file.conditions) {
            return Err(("the `#endif` of this is missing in its file".to_owned(), open.at));
        }
        self.loader.close();
        Ok(())
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
        let made = self.macros.expand(run, &mut self.names)?;
        if let Some(other) = made.iter().find(|t| t.kind == Kind::Other || self.names.get(t.name) == "##") {
            return Err((format!("`{}` is not part of the language", self.names.get(other.name)), other.at));
        }
        if let Some(over) = made.get(MAX_TOKENS.saturating_sub(self.out.len())) {
            return Err((
                format!("the source is too long: at most {MAX_TOKENS} tokens are allowed when it is expanded"),
                over.at,
            ));
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
                _ => Err(("`#undef` takes one name".to_owned(), at)),
            },
            "include" => self.include(at, rest),
            "pragma" => {
                if self.text(rest.first()) == "once" {
                    self.loader.once();
                }
                Ok(())
            }
            "error" => {
                let said: Vec<&str> = rest.iter().map(|t| self.names.get(t.name)).collect();
                Err((format!("#error {}", said.join(" ")), at))
            }
            other => Err((format!("`#{other}` is not a directive of GLSL"), at)),
        }
    }

    fn conditional(&mut self, word: &str, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let floor = self.files.last().map_or(0, |f| f.conditions);
        if word.starts_with("if") {
            if self.conditions.len() >= MAX_CONDITIONS {
                let message = format!("conditions are nested too deeply: at most {MAX_CONDITIONS} may be inside each other");
                return Err((message, at));
            }
            let outer = self.active();
            let holds = outer && self.holds(word, at, rest)?;
            self.conditions.push(Condition { at, active: holds, done: holds || !outer, last: false });
            return Ok(());
        }
        if self.conditions.len() <= floor || self.conditions.last().is_some_and(|c| c.last && word != "endif") {
            return Err((format!("this `#{word}` belongs to no `#if`"), at));
        }
        if word == "endif" {
            self.conditions.pop();
            return Ok(());
        }
        let done = self.conditions.last().is_none_or(|c| c.done);
        let holds = !done && (word == "else" || self.holds(word, at, rest)?);
        if let Some(top) = self.conditions.last_mut() {
            top.active = holds;
            top.done |= holds;
            top.last = word == "else";
        }
        Ok(())
    }

    fn holds(&mut self, word: &str, at: At, rest: &[Token]) -> Result<bool, Wrong> {
        if word == "ifdef" || word == "ifndef" {
            return match rest {
                [name, ..] if name.kind == Kind::Word => Ok(self.macros.is_defined(name.name) == (word == "ifdef")),
                _ => Err((format!("`#{word}` takes one name"), at)),
            };
        }
        let tokens = self.replace_defined(at, rest)?;
        let tokens = self.macros.expand(tokens, &mut self.names)?;
        condition::evaluate(&tokens, &self.names).map(|value| value != 0).map_err(|message| (message, at))
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
                return Err(("`defined` takes one name".to_owned(), at));
            };
            let value = if self.macros.is_defined(name.name) { "1" } else { "0" };
            out.push(Token { kind: Kind::Number, name: self.names.intern(value), ..*token });
            index += if bracket { 3 } else { 1 };
        }
        Ok(out)
    }

    fn version(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        if self.version || !self.out.is_empty() || self.files.len() > 1 {
            return Err(("`#version` stands at the beginning, once".to_owned(), at));
        }
        self.version = true;
        let number = self.text(rest.first()).to_owned();
        let profile = self.text(rest.get(1));
        if !matches!(number.as_str(), "430" | "440" | "450" | "460") || profile == "es" {
            let named = if profile.is_empty() { number } else { format!("{number} {profile}") };
            return Err((format!("GLSL {named} is not supported: write `#version 450` or `#version 460`"), at));
        }
        if !matches!(profile, "" | "core" | "compatibility") || rest.len() > 2 {
            return Err((format!("`{profile}` is not a profile of GLSL"), at));
        }
        let name = self.names.intern("__VERSION__");
        self.define_number(name, &number);
        Ok(())
    }

    fn extension(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let words: Vec<&str> = rest.iter().map(|t| self.names.get(t.name)).collect();
        let [name, ":", behaviour] = words.as_slice() else {
            return Err(("`#extension` takes a name, a colon and a behaviour".to_owned(), at));
        };
        let (name, behaviour) = ((*name).to_owned(), (*behaviour).to_owned());
        match behaviour.as_str() {
            "require" if !extensions::is_supported(&name) => Err((format!("the extension {name} is not supported"), at)),
            "require" | "enable" | "warn" | "disable" => {
                if extensions::is_supported(&name) && behaviour != "disable" {
                    let name = self.names.intern(&name);
                    self.define_number(name, "1");
                }
                Ok(())
            }
            other => Err((format!("`{other}` is not `require`, `enable`, `warn` or `disable`"), at)),
        }
    }

    fn define(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let Some(name) = rest.first().filter(|t| t.kind == Kind::Word) else {
            return Err(("`#define` takes a name".to_owned(), at));
        };
        if self.names.get(name.name) == "defined" || self.names.get(name.name).starts_with("GL_") {
            return Err((format!("`{}` cannot be defined", self.names.get(name.name)), at));
        }
        let function = rest.get(1).is_some_and(|t| t.glued && self.names.get(t.name) == "(");
        if !function {
            let body = rest.get(1..).unwrap_or_default().to_vec();
            self.macros.define(name.name, Macro { parameters: None, body });
            return Ok(());
        }
        let close = rest.iter().position(|t| self.names.get(t.name) == ")");
        let Some(inside) = close.and_then(|close| rest.get(2..close)) else {
            return Err(("the `)` of the parameters is missing".to_owned(), at));
        };
        let mut parameters = Vec::new();
        for (index, token) in inside.iter().enumerate() {
            let comma = self.names.get(token.name) == ",";
            if comma != (index % 2 == 1) || (!comma && token.kind != Kind::Word) || (comma && index + 1 == inside.len()) {
                return Err(("the parameters of a macro are names with commas between them".to_owned(), token.at));
            }
            if !comma && parameters.contains(&token.name) {
                return Err((format!("the parameter `{}` is there twice", self.names.get(token.name)), token.at));
            }
            if !comma {
                parameters.push(token.name);
            }
        }
        let body = close.and_then(|close| rest.get(close + 1..)).unwrap_or_default().to_vec();
        self.macros.define(name.name, Macro { parameters: Some(parameters), body });
        Ok(())
    }

    fn include(&mut self, at: At, rest: &[Token]) -> Result<(), Wrong> {
        let (path, angle) =
            self.path(rest).ok_or_else(|| ("after `#include` stands a path in quotes or angle brackets".to_owned(), at))?;
        match self.loader.open(&path, angle) {
            Ok(Some(found)) => {
                self.open(&found.name, &found.text);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(message) => Err((message, at)),
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
