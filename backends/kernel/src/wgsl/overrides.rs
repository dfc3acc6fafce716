//! Override expressions that the front end cannot evaluate, or not to the bits that they have at run time. Once all override constants have values they are constants like others: the source is
//! read again with them written in.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use naga::valid::ModuleInfo;
use naga::{Arena, Expression, Literal, MathFunction, Module, ScalarKind};

use super::{cut, fold};
use crate::diagnostics::Diagnostics;
use crate::edits::{Edit, Edited};
use crate::entry::Values;
use crate::parse;
use crate::reflect;
use crate::scan::{Kind, Scanned};

/// A module with the text that it was read from.
type Made = (Edited, Module, ModuleInfo);

/// The module with its override constants made constants. `values` are by id in decimal, or by name where there is none. The error says of which constant
/// expressions there is no value then. A constant may be wrong where only another entry point than `entry` uses it: then everything that this one does not
/// mention is missing in the module.
pub(crate) fn with_values(text: &Edited, module: &Module, values: &Values, entry: &str) -> Result<Option<Made>, Diagnostics> {
    let Some(mut text) = written(text, module, values) else { return Ok(None) };
    // Where a constant is wrong the front end may panic over it.
    if let Ok(Ok(Some(made))) = catch_unwind(AssertUnwindSafe(|| folded(text.clone()))) {
        return Ok(Some(made));
    }
    let others = not_reached(&Scanned::new(text.as_str()), entry);
    text.apply(others);
    folded(text)
}

/// Evaluates and reads a source without override constants.
fn folded(mut text: Edited) -> Result<Option<Made>, Diagnostics> {
    let (edits, findings) = fold::check(&Scanned::new(text.as_str()));
    if !findings.is_empty() {
        return Err(parse::refuse(&text, findings));
    }
    text.apply(edits);
    Ok(super::read(text.as_str()).ok().and_then(|read| {
        let mut module = read.module;
        let info = super::valid(&mut module).ok()?;
        Some((text, module, info))
    }))
}

/// Takes out every declaration that a function does not need, as far as names tell: one that a local name hides stays.
fn not_reached(scanned: &Scanned<'_>, function: &str) -> Vec<Edit> {
    let all = cut::declarations(scanned);
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, declaration) in all.iter().enumerate() {
        by_name.entry(declaration.name.map_or("", |name| scanned.text(name))).or_default().push(i);
    }
    let mut reached = vec![false; all.len()];
    let mut open = by_name.remove(function).unwrap_or_default();
    while let Some(i) = open.pop() {
        let Some((seen, declaration)) = reached.get_mut(i).zip(all.get(i)) else { continue };
        *seen = true;
        for token in declaration.tokens.clone() {
            open.extend(by_name.remove(scanned.text(token)).unwrap_or_default());
        }
    }
    // What has no name are directives, which stay, and assertions about constants, which have been looked at.
    let needed =
        |declaration: &cut::Declaration| declaration.name.is_none() && scanned.text(declaration.tokens.start) != "const_assert";
    let dropped = all.iter().zip(reached).filter(|(declaration, reached)| !reached && !needed(declaration));
    let bytes = |tokens: &Range<usize>| Some(scanned.range(tokens.start)?.start..scanned.range(tokens.end.checked_sub(1)?)?.end);
    dropped.filter_map(|(declaration, _)| bytes(&declaration.tokens)).map(|range| Edit::new(range, "")).collect()
}

/// The source with its override constants made constants.
fn written(text: &Edited, module: &Module, values: &Values) -> Option<Edited> {
    let mut text = text.clone();
    let source = text.as_str().to_owned();
    let scanned = Scanned::new(&source);
    let mut edits = Vec::new();
    for at in (0..scanned.len()).filter(|at| scanned.text(*at) == "override") {
        edits.extend(declaration(&scanned, at, module, values)?);
    }
    text.apply(edits);
    Some(text)
}

/// Whether resolving the override constants of a module folds a function to other bits than it has at run time.
pub(crate) fn folds_otherwise(module: &Module) -> bool {
    if module.overrides.is_empty() {
        return false;
    }
    let functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
    functions.map(|f| &f.expressions).chain([&module.global_expressions]).any(any_folded_otherwise)
}

fn any_folded_otherwise(expressions: &Arena<Expression>) -> bool {
    // What is a constant once the override constants are: of each expression, by its place.
    let mut known: Vec<bool> = Vec::with_capacity(expressions.len());
    for (_, expression) in expressions.iter() {
        let is = |handle: &naga::Handle<Expression>| known.get(handle.index()).copied().unwrap_or(false);
        let constant = match expression {
            Expression::Literal(_) | Expression::ZeroValue(_) | Expression::Constant(_) | Expression::Override(_) => true,
            Expression::Compose { components, .. } => components.iter().all(is),
            Expression::Splat { value: x, .. }
            | Expression::AccessIndex { base: x, .. }
            | Expression::Swizzle { vector: x, .. }
            | Expression::Unary { expr: x, .. }
            | Expression::As { expr: x, .. }
            | Expression::Relational { argument: x, .. } => is(x),
            Expression::Access { base: x, index: y } | Expression::Binary { left: x, right: y, .. } => is(x) && is(y),
            Expression::Select { condition, accept, reject } => is(condition) && is(accept) && is(reject),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let constant = is(arg) && [arg1, arg2, arg3].into_iter().flatten().all(is);
                if constant && otherwise(*fun) {
                    return true;
                }
                constant
            }
            _ => false,
        };
        // From an f64 to a half, which is rounded twice, or from a half to 16 bits (`fold::converts_halves`).
        let half = matches!(expression, Expression::As { kind: ScalarKind::Float | ScalarKind::Sint, convert: Some(2), .. });
        if constant && half {
            return true;
        }
        known.push(constant);
    }
    false
}

/// The functions whose folded value is not always the one of run time. The first ones are exact in the front end too; of the last ones it folds none.
fn otherwise(function: MathFunction) -> bool {
    use MathFunction as F;
    !matches!(
        function,
        F::Abs
            | F::Clamp
            | F::Saturate
            | F::Ceil
            | F::Floor
            | F::Round
            | F::Fract
            | F::Trunc
            | F::Sign
            | F::Step
            | F::Radians
            | F::Degrees
            | F::CountTrailingZeros
            | F::CountLeadingZeros
            | F::CountOneBits
            | F::ReverseBits
            | F::FirstTrailingBit
            | F::FirstLeadingBit
            | F::Dot4I8Packed
            | F::Dot4U8Packed
            | F::Modf
            | F::Frexp
            | F::Ldexp
            | F::Mix
            | F::SmoothStep
            | F::FaceForward
            | F::Reflect
            | F::Refract
            | F::Inverse
            | F::Transpose
            | F::Determinant
            | F::ExtractBits
            | F::InsertBits
    )
}

/// Makes the declaration whose keyword is at `at` one of a constant.
fn declaration(scanned: &Scanned<'_>, at: usize, module: &Module, values: &Values) -> Option<Vec<Edit>> {
    let name = scanned.text(at + 1);
    let (_, declared) = module.overrides.iter().find(|(_, o)| o.name.as_deref() == Some(name))?;
    let key = declared.id.map_or_else(|| name.to_owned(), |id| id.to_string());
    let mut edits = vec![Edit::new(scanned.range(at)?, "const")];
    // `@id(n)` in front of it.
    if let Some(first) = at.checked_sub(5).filter(|i| scanned.text(*i) == "@") {
        edits.push(Edit::new(scanned.range(first)?.start..scanned.range(at - 1)?.end, ""));
    }
    let given = values.iter().find(|(k, _)| *k == key);
    let end = (at..scanned.len()).find(|i| scanned.kind(*i) == Some(Kind::Semicolon))?;
    if let Some((_, value)) = given {
        let from = (at..end).find(|i| scanned.text(*i) == "=").unwrap_or(end);
        let range = scanned.range(from)?.start..scanned.range(end)?.start;
        edits.push(Edit::new(range, format!("= {}", literal(value.literal(reflect::override_type(module, declared.ty)?)?)?)));
    }
    Some(edits)
}

fn literal(literal: Literal) -> Option<String> {
    Some(match literal {
        Literal::Bool(v) => v.to_string(),
        Literal::I32(v) => format!("i32({v})"),
        Literal::U32(v) => format!("{v}u"),
        Literal::I16(v) => format!("i16({v})"),
        Literal::U16(v) => format!("u16({v})"),
        Literal::F16(v) => format!("({v:?}h)"),
        Literal::F32(v) => format!("({v:?}f)"),
        // The literal of the least integer does not exist.
        Literal::I64(v) => format!("i64({}lu)", v.cast_unsigned()),
        Literal::U64(v) => format!("{v}lu"),
        Literal::F64(v) => format!("({v:?}lf)"),
        _ => return None,
    })
}
