//! Override expressions that the front end cannot evaluate, or not to the bits that they have at run time. Once all override constants have values they are constants like others: the source is
//! read again with them written in.

use naga::valid::ModuleInfo;
use naga::{Arena, Expression, Literal, MathFunction, Module, ScalarKind};

use super::fold;
use crate::diagnostics::Diagnostics;
use crate::edits::{Edit, Edited};
use crate::entry::Values;
use crate::parse;
use crate::reflect;
use crate::scan::{Kind, Scanned};

/// The module with its override constants made constants. `values` are by id in decimal, or by name where there is none. The error says of which constant
/// expressions there is no value then, in whichever entry point.
pub(crate) fn with_values(
    text: &Edited,
    module: &Module,
    values: &Values,
) -> Result<Option<(Edited, Module, ModuleInfo)>, Diagnostics> {
    let Some(mut text) = written(text, module, values) else { return Ok(None) };
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
