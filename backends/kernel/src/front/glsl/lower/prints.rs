//! `debugPrintfEXT`: each becomes a call of a function of its own without a body, which `crate::lower` turns into what prints.

use naga::{Function, FunctionArgument, Statement};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{Scalar, Ty};
use crate::lower::format::{Argument, Format};

/// No name of the language has a blank, so none is like it.
pub(crate) const PREFIX: &str = "print ";
/// Prints in one source, as in WGSL.
const MAX_PRINTS: usize = 1024;

/// Whether a function that the source does not declare prints.
pub(super) fn is_print(name: &str) -> bool {
    matches!(name, "debugPrintfEXT" | "debugPrintf")
}

/// The type that a format asks for.
fn wanted(argument: &Argument) -> Option<Ty> {
    let scalar = Scalar::from_naga(argument.scalar)?;
    Some(if argument.components == 1 { Ty::Scalar(scalar) } else { Ty::Vector(scalar, argument.components as u8) })
}

impl Lower<'_> {
    pub(super) fn print(&mut self, arguments: &[Expr], at: At) -> Lowered<Value> {
        let Some((Expr { kind: ExprKind::Text(literal), at: place, .. }, values)) = arguments.split_first() else {
            return Err(Wrong::new("the first argument of a print is its format, a text in quotes".to_owned(), at));
        };
        let inside = self.names.get(*literal).get(1..).and_then(|text| text.strip_suffix('"'));
        let Some(inside) = inside else { return Err(Wrong::new("this text is not closed on its line".to_owned(), *place)) };
        let format = Format::parse(inside).map_err(|wrong| {
            let from = u32::try_from(wrong.at + 1).unwrap_or(0).saturating_add(place.0);
            Wrong::new(wrong.message, (from.min(place.1), place.1))
        })?;
        if format.arguments.len() != values.len() {
            let message = format!("this format prints {} values; {} are given", format.arguments.len(), values.len());
            return Err(Wrong::new(message, *place));
        }
        let number = self.prints.len();
        if number == MAX_PRINTS {
            return Err(Wrong::new(format!("a source may print in {MAX_PRINTS} places at most"), at));
        }
        let mut function = Function { name: Some(format!("{PREFIX}{number}")), ..Function::default() };
        let mut handles = Vec::with_capacity(values.len());
        for (position, (value, argument)) in values.iter().zip(&format.arguments).enumerate() {
            let Some(ty) = wanted(argument) else {
                return Err(Wrong::new("this format prints no number of GLSL".to_owned(), *place));
            };
            let given = self.rvalue(value)?;
            let spelled = (self.spell(&given.ty), self.spell(&ty));
            let made = self.implicit(given, &ty, value.at).map_err(|wrong| {
                let message = format!("value {} of this print is {}, and its format says {}", position + 1, spelled.0, spelled.1);
                wrong.reworded(message)
            })?;
            handles.push(made.handle);
            function.arguments.push(FunctionArgument { name: None, ty: self.value_type(&ty), binding: None });
        }
        let function = self.module.functions.append(function, super::span(at));
        self.prints.push((*place, format));
        self.push(Statement::Call { function, arguments: handles, result: None }, at);
        Ok(Value { handle: self.literal(naga::Literal::U32(0), at), ty: Ty::Void })
    }
}
