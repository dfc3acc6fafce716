//! `NonSemantic.DebugPrintf`: each print becomes a call of a function of its own, which `crate::lower` turns into what prints.

use std::collections::{HashMap, HashSet};

use naga::{Scalar, ScalarKind};

use super::Wrong;
use super::facts::{Facts, Type};
use super::module::{Instruction, Words};
use super::sections::{Made, Section, Sections};
use crate::front::glsl::PREFIX;
use crate::lower::format::{Argument, Format};

/// Prints in one module, as in a source.
const MAX_PRINTS: usize = 1024;

/// A print: its word in the module and its format.
pub(super) type Print = (usize, Format);

/// Rewrites a module; `None` when it prints nothing.
pub(super) fn run(words: &Words) -> Result<Option<(Made, Vec<Print>)>, Wrong> {
    let imports = words.instructions().filter(|i| i.opcode == 11 && i.text(1).is_some_and(|t| t == "NonSemantic.DebugPrintf"));
    let sets: HashSet<u32> = imports.filter_map(|i| i.operand(0)).collect();
    let prints =
        |i: &Instruction<'_>| i.opcode == 12 && i.operand(2).is_some_and(|set| sets.contains(&set)) && i.operand(3) == Some(1);
    if !words.instructions().any(|i| prints(&i)) {
        return Ok(None);
    }
    let mut pass =
        Pass { facts: Facts::of(words), out: Sections::new(words), types: HashMap::new(), made: Vec::new(), tails: Vec::new() };
    let mut section = Section::Names;
    for instruction in words.instructions() {
        section = Sections::of(section, instruction.opcode);
        if prints(&instruction) {
            pass.print(&instruction)?;
        } else {
            pass.out.copy(section, &instruction);
        }
    }
    for (at, opcode, operands) in std::mem::take(&mut pass.tails) {
        pass.out.emit(Section::Functions, at, opcode, &operands);
    }
    let made = pass.out.finish().map_err(|message| (message, 0))?;
    Ok(Some((made, pass.made)))
}

struct Pass {
    facts: Facts,
    out: Sections,
    /// Types of functions by those of their parameters.
    types: HashMap<Vec<u32>, u32>,
    made: Vec<Print>,
    /// The functions that are called, behind all others.
    tails: Vec<(usize, u16, Vec<u32>)>,
}

impl Pass {
    fn print(&mut self, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let at = instruction.at;
        let wrong = |message: String| (format!("DebugPrintf: {message}"), at);
        let [void, result, _, _, format, values @ ..] = instruction.operands() else {
            return Err(wrong("it needs a format".to_owned()));
        };
        let Some(text) = self.facts.strings.get(format) else {
            return Err(wrong(format!("its format %{format} is no OpString")));
        };
        let format = Format::parse(&escaped(text)).map_err(|found| wrong(found.message))?;
        if format.arguments.len() != values.len() {
            return Err(wrong(format!("its format prints {} values; {} are given", format.arguments.len(), values.len())));
        }
        if self.made.len() == MAX_PRINTS {
            return Err(wrong(format!("a module may print in {MAX_PRINTS} places at most")));
        }
        let (mut types, mut arguments) = (Vec::new(), Vec::new());
        for (position, (value, argument)) in values.iter().zip(&format.arguments).enumerate() {
            let given = self.facts.values.get(value).copied();
            let Some(ty) = given.and_then(|ty| self.wanted(ty, argument, at)) else {
                let spelled = argument.names().0;
                return Err(wrong(format!("value {} is not what its format says, which is {spelled}", position + 1)));
            };
            let same = given == Some(ty);
            arguments.push(if same { *value } else { self.out.value(at, 124, ty, &[*value]) });
            types.push(ty);
        }
        let function = self.function(*void, types, at);
        self.out.emit(Section::Functions, at, 57, &[&[*void, *result, function], arguments.as_slice()].concat());
        self.made.push((at, format));
        Ok(())
    }

    /// The type that a format asks for, when a value of `given` is one, or one but for the sign.
    fn wanted(&mut self, given: u32, argument: &Argument, at: usize) -> Option<u32> {
        let (scalar, count) = match *self.facts.ty(given)? {
            Type::Vector(of, count) => (of, count),
            _ => (given, 1),
        };
        if count != argument.components {
            return None;
        }
        let Scalar { kind, width } = argument.scalar;
        let bits = u32::from(width) * 8;
        let wanted = match (self.facts.ty(scalar)?, kind) {
            (Type::Float(found), ScalarKind::Float) if *found == bits => return Some(given),
            (Type::Int(found, _), ScalarKind::Sint) if *found == bits => Type::Int(bits, true),
            (Type::Int(found, _), ScalarKind::Uint) if *found == bits => Type::Int(bits, false),
            _ => return None,
        };
        let sign = u32::from(kind == ScalarKind::Sint);
        let scalar = self.declared(&wanted, 21, &[bits, sign], at);
        Some(if count == 1 { scalar } else { self.declared(&Type::Vector(scalar, count), 23, &[scalar, count], at) })
    }

    fn declared(&mut self, ty: &Type, opcode: u16, operands: &[u32], at: usize) -> u32 {
        self.facts.find(ty).unwrap_or_else(|| {
            let id = self.out.declare(at, opcode, operands);
            self.facts.types.insert(id, ty.clone());
            id
        })
    }

    /// A function that does nothing, and has the number of the print in its name.
    fn function(&mut self, void: u32, types: Vec<u32>, at: usize) -> u32 {
        let known = self.types.get(&types).copied();
        let ty = known.unwrap_or_else(|| self.out.declare(at, 33, &[&[void], types.as_slice()].concat()));
        let id = self.out.fresh();
        let name = super::rewrite::text_words(&format!("{PREFIX}{}", self.made.len()));
        self.out.emit(Section::Names, at, 5, &[&[id], name.as_slice()].concat());
        self.tails.push((at, 54, vec![void, id, 0, ty]));
        for parameter in &types {
            let parameter = vec![*parameter, self.out.fresh()];
            self.tails.push((at, 55, parameter));
        }
        let label = self.out.fresh();
        self.tails.extend([(at, 248, vec![label]), (at, 253, Vec::new()), (at, 56, Vec::new())]);
        self.types.insert(types, ty);
        id
    }
}

/// A text as the inside of a literal that means it.
fn escaped(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            '\\' | '"' => literal.extend(['\\', c]),
            c => literal.push(c),
        }
    }
    literal
}
