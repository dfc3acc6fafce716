//! Override expressions that the front end cannot evaluate. Once all override constants have values they are constants like others: the source is
//! read again with them written in.

use naga::valid::ModuleInfo;
use naga::{Literal, Module};

use super::fold;
use crate::edits::{Edit, Edited};
use crate::entry::Values;
use crate::reflect;
use crate::scan::{Kind, Scanned};

/// The module with its override constants made constants. `values` are by id in decimal, or by name where there is none.
pub(crate) fn with_values(text: &Edited, module: &Module, values: &Values) -> Option<(Edited, Module, ModuleInfo)> {
    let mut text = text.clone();
    let source = text.as_str().to_owned();
    let scanned = Scanned::new(&source);
    let mut edits = Vec::new();
    for at in (0..scanned.len()).filter(|at| scanned.text(*at) == "override") {
        edits.extend(declaration(&scanned, at, module, values)?);
    }
    text.apply(edits);
    let (edits, findings) = fold::check(&Scanned::new(text.as_str()));
    text.apply(edits);
    if !findings.is_empty() {
        return None;
    }
    let mut module = super::read(text.as_str()).ok()?.module;
    let info = super::valid(&mut module).ok()?;
    Some((text, module, info))
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
        Literal::F32(v) => format!("({v:?}f)"),
        // The literal of the least integer does not exist.
        Literal::I64(v) => format!("i64({}lu)", v.cast_unsigned()),
        Literal::U64(v) => format!("{v}lu"),
        Literal::F64(v) => format!("({v:?}lf)"),
        _ => return None,
    })
}
