//! From the bytes of a source to the language that they are in, and to text with its included files in place. What the languages mean is in the rooms below;
//! nothing here knows a token of them but how they begin.

mod detect;
pub(crate) mod glsl;
mod include;
pub(crate) mod spirv;

use std::fmt;

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::text::Text;

pub(crate) use include::Loader;

/// The languages of portable kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// WebGPU Shading Language.
    Wgsl,
    /// OpenGL Shading Language 4.50 or 4.60 for Vulkan; compute only.
    Glsl,
    /// A SPIR-V module in binary form, of either endianness.
    Spirv,
}

/// A source as its caller has it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// `None`: found from what the bytes are. SPIR-V begins with its magic number, GLSL with `#version` (after comments and blanks); the rest is WGSL.
    pub language: Option<Language>,
    /// The source itself: text in UTF-8, or the words of a module.
    pub bytes: &'a [u8],
    /// What includers are told it is called; may be empty.
    pub name: &'a str,
    /// Where the text of `#include`s comes from; without it they are refused. Called on the caller's thread, before [`crate::Module::parse`] returns.
    pub include: Option<&'a Include<'a>>,
}

/// Gives the text of an included file, or says why there is none.
pub type Include<'a> = dyn Fn(&IncludeRequest<'_>) -> Result<Included, String> + 'a;

/// What an `#include` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncludeRequest<'a> {
    /// The path between the quotes or angle brackets.
    pub path: &'a str,
    /// The name of the file that asks.
    pub from: &'a str,
    /// Written with angle brackets rather than quotes.
    pub angle: bool,
}

/// An included file.
#[derive(Clone, Debug, Default)]
pub struct Included {
    /// What it is called in messages, and known by to `#pragma once` and the search for circles. Empty: the path that was asked for.
    pub name: String,
    /// Its bytes, UTF-8.
    pub text: Vec<u8>,
}

impl<'a> Source<'a> {
    /// A source of which the language is to be found, without a name.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { language: None, bytes, name: "", include: None }
    }

    /// WGSL text.
    pub fn wgsl(text: &'a str) -> Self {
        Self { language: Some(Language::Wgsl), ..Self::new(text.as_bytes()) }
    }

    /// GLSL text.
    pub fn glsl(text: &'a str) -> Self {
        Self { language: Some(Language::Glsl), ..Self::new(text.as_bytes()) }
    }

    /// A SPIR-V module.
    pub fn spirv(bytes: &'a [u8]) -> Self {
        Self { language: Some(Language::Spirv), ..Self::new(bytes) }
    }

    /// The language given, or found.
    pub fn language(&self) -> Language {
        self.language.unwrap_or_else(|| detect::language(self.bytes))
    }

    /// A digest of what a module that is made of it depends on; `None` when that is also what its includes give.
    pub fn content(&self) -> Option<[u8; 32]> {
        if self.include.is_some() {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(match self.language() {
            Language::Wgsl => b"wgsl ",
            Language::Glsl => b"glsl ",
            Language::Spirv => b"spirv",
        });
        hasher.update(self.bytes);
        Some(*hasher.finalize().as_bytes())
    }

    /// The bytes as text, without a byte order mark.
    pub(crate) fn text(&self) -> Result<&'a str, Diagnostics> {
        let text = std::str::from_utf8(self.bytes).map_err(|error| {
            let reason = if detect::is_spirv(self.bytes) { "it is a SPIR-V module".to_owned() } else { utf8(self.bytes, error) };
            refuse(format!("the source is not text: {reason}"))
        })?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?}, {} bytes, `{}`)", self.language, self.bytes.len(), self.name)
    }
}

/// Where text stops being UTF-8.
pub(crate) fn utf8(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
    let line = valid.iter().filter(|&&b| b == b'\n').count() + 1;
    format!("byte {} (line {line}) is not UTF-8", valid.len())
}

/// A refusal that is about no particular place.
pub(crate) fn refuse(message: impl Into<String>) -> Diagnostics {
    diagnostics::refuse(&Text::default(), vec![Finding::new(message, None)])
}

/// WGSL text with its included files in place.
pub(crate) fn wgsl(source: &Source<'_>) -> Result<Text, Diagnostics> {
    include::expand(source.text()?, &mut Loader::new(source))
}
