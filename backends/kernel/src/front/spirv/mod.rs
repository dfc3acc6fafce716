//! SPIR-V modules, through naga's front end, which is given only what it translates rightly.
//!
//! The way: words (`module.rs`: endianness, lengths, ids) → what naga does not translate rightly, spelled in what it does (`matrices.rs`, `switches.rs`, `numbers.rs`, `prints.rs`, over
//! `facts.rs` and `sections.rs`) → checks of structure (`types.rs`, `flow.rs`: sizes, and control flow that the IR can express) →
//! rewriting (`rewrite.rs`: without debugging information, specialization constants replaced by their values) → naga → repairs of the IR (`repair.rs`).
//! Debugging information is kept beside the words and never changes what is accepted.

mod constants;
mod facts;
mod flow;
mod matrices;
mod module;
mod numbers;
mod prints;
mod repair;
mod rewrite;
mod sections;
mod signs;
mod switches;
mod types;

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::front::glsl::Specialization;
use crate::lower::Print;
use crate::reflection::OverrideInfo;
use crate::text::Text;

pub(crate) use module::{Words, read};

/// What comes out.
pub(crate) struct Output {
    pub(crate) module: naga::Module,
    pub(crate) overrides: Vec<OverrideInfo>,
    pub(crate) text: Text,
    /// What it prints, with the place of each, in the order of their numbers.
    pub(crate) prints: Vec<Print>,
    /// Whether anything in it is decorated with NoContraction.
    pub(crate) precise: bool,
}

/// What the fuzzer counts by.
const CRASHED: &str = "front end crashed";

/// A refusal and the word of the module that it is about.
type Wrong = (String, usize);

/// Translates a module with values for its specialization constants. Call on a large stack.
pub(crate) fn translate(words: &Words, values: &Specialization) -> Result<Output, Diagnostics> {
    let text = words.debug_text();
    let refuse = |(message, at): Wrong| {
        let message = format!("{message} (word {at})");
        diagnostics::refuse(&text, vec![Finding::new(message, Some(at * 4..at * 4 + 4))])
    };
    let (plain, prints) = plain(words).map_err(refuse)?;
    // Places of what is found from here on.
    let written = |at: usize| plain.as_ref().map_or(at, |made| made.origin(at));
    let refuse = |(message, at): Wrong| refuse((message, written(at)));
    let module = plain.as_ref().map_or(words, |made| &made.words);
    let types = types::check(module).map_err(refuse)?;
    flow::check(module).map_err(refuse)?;
    let constants = constants::evaluate(module, &types, values).map_err(refuse)?;
    let made = rewrite::rewrite(module, &types, &constants).map_err(refuse)?;
    // Sizes that depend on specialization are known only now.
    let origin = |at: usize| made.origins.iter().find(|(to, _)| *to == at).map_or(0, |(_, from)| *from);
    let again = Words::new(made.words.clone()).map_err(|message| (message, 0));
    again.and_then(|words| types::check(&words)).map_err(|(message, at)| refuse((message, origin(at))))?;
    let options =
        naga::front::spv::Options { adjust_coordinate_space: false, strict_capabilities: true, block_ctx_dump_prefix: None };
    // naga takes for granted that a module is valid, and panics where it is not: then the module is to blame.
    let parse = || naga::front::spv::Frontend::new(made.words.iter().copied(), &options).parse();
    let mut result = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse)) {
        Ok(Ok(module)) => module,
        Ok(Err(error)) => return Err(refuse(naga_error(module, &error))),
        Err(_) => return Err(refuse((format!("the module is not valid: the {CRASHED} on it"), 0))),
    };
    repair::repair(&mut result, &made.casts);
    let counted = |to: &usize| to.saturating_sub(made.uncounted);
    let origins: Vec<_> = made.origins.iter().map(|(to, from)| (counted(to), written(*from))).collect();
    let location = |at: usize| text.place(at * 4).location;
    let prints = prints.into_iter().map(|(at, format)| Print { location: location(at), format }).collect();
    let text = words.rewritten_text(&origins);
    Ok(Output { module: result, overrides: constants.overrides, text, prints, precise: is_precise(words) })
}

/// Whether an OpDecorate says NoContraction, of a result or of a group of them.
fn is_precise(words: &Words) -> bool {
    words.instructions().any(|instruction| instruction.opcode == 71 && instruction.operand(1) == Some(42))
}

/// The module in what naga translates rightly, when it is not already, and what it prints.
fn plain(words: &Words) -> Result<(Option<sections::Made>, Vec<prints::Print>), Wrong> {
    let mut made: Option<sections::Made> = None;
    for pass in [matrices::run, switches::run, numbers::run] {
        let before = made.as_ref();
        let found = pass(before.map_or(words, |made| &made.words));
        let found = found.map_err(|(message, at)| (message, before.map_or(at, |made| made.origin(at))))?;
        if let Some(found) = found.map(|found| found.after(before)) {
            made = Some(found);
        }
    }
    let before = made.as_ref();
    let origin = |at: usize| before.map_or(at, |made| made.origin(at));
    let found = prints::run(before.map_or(words, |made| &made.words)).map_err(|(message, at)| (message, origin(at)))?;
    let Some((found, prints)) = found else { return Ok((made, Vec::new())) };
    let prints = prints.into_iter().map(|(at, format)| (origin(at), format)).collect();
    Ok((Some(found.after(before)), prints))
}

/// What naga refuses, by the name of the instruction and its first word where it is known.
fn naga_error(words: &Words, error: &naga::front::spv::Error) -> Wrong {
    use naga::front::spv::Error;
    let first = |opcode: u16| words.instructions().find(|i| i.opcode == opcode).map_or(0, |i| i.at);
    let name = |op: &dyn std::fmt::Debug| format!("Op{op:?}");
    match error {
        Error::UnsupportedInstruction(_, op) => {
            (format!("the instruction {} is not supported here", name(op)), first(u16::try_from(*op as u32).unwrap_or(0)))
        }
        Error::UnsupportedCapability(capability) => (format!("the capability {capability:?} is not supported"), first(17)),
        Error::UnsupportedExtension(extension) => (format!("OpExtension: the extension {extension} is not supported"), first(10)),
        Error::UnsupportedExtInst(number) => {
            let at = words.instructions().find(|i| i.opcode == 12 && i.operand(3) == Some(*number)).map_or(0, |i| i.at);
            (format!("OpExtInst: {} is not supported", extended(*number)), at)
        }
        Error::AtomicUpgradeError(cause) => {
            let at = words.instructions().find(|i| (227..=242).contains(&i.opcode)).map_or(0, |i| i.at);
            (format!("an atomic instruction is not supported here: {cause}"), at)
        }
        other => (format!("the module is not valid, or uses what is not supported: {other}"), 0),
    }
}

/// Instructions of GLSL.std.450.
fn extended(number: u32) -> String {
    let name = match number {
        35 => "Modf",
        36 => "ModfStruct",
        51 => "Frexp",
        52 => "FrexpStruct",
        76 => "InterpolateAtCentroid",
        77 => "InterpolateAtSample",
        78 => "InterpolateAtOffset",
        _ => return format!("instruction {number} of GLSL.std.450"),
    };
    format!("{name} of GLSL.std.450")
}
