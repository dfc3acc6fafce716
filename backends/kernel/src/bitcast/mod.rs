//! `bitcast` to a type of other components, as `vec2<f16>` to `u32`. The front end keeps number and width of what is cast and drops what the source
//! asks for. So the source is made to ask for something else that has the type, from which the IR is then put right.

mod expand;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Module, TypeInner};

use crate::edits::Edit;
use crate::scan::Scanned;

pub(crate) use expand::{Casts, Shape, reshape, resolve};

/// Where it still cannot be.
pub(crate) const ADVICE: &str =
    "`bitcast` between types of different widths is no constant expression yet: use `let` in a function";

/// Makes every cast to a type that may be of other components than its operand a choice between zeros of that type, depending on the operand in a way that nothing
/// else does: see [`resolve`].
pub(crate) fn edits(scanned: &Scanned<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for at in (0..scanned.len()).filter(|at| scanned.text(*at) == "bitcast" && scanned.text(at + 1) == "<") {
        edits.extend(edit(scanned, at).into_iter().flatten());
    }
    edits
}

fn edit(scanned: &Scanned<'_>, at: usize) -> Option<[Edit; 2]> {
    let start = scanned.range(at)?.start;
    let bracket = (at..scanned.len()).take(16).find(|i| scanned.text(*i) == "(")?;
    let ty: String = (at + 2..bracket).map(|i| scanned.text(i)).collect();
    let ty = ty.strip_suffix('>')?;
    // What is neither a type of numbers nor a name for one is the front end's to refuse.
    if ty == "bool" || (components(ty).is_none() && ty.contains('<')) {
        return None;
    }
    let end = closing(scanned, bracket)?;
    let head = Edit::new(start..scanned.range(bracket)?.end, format!("select({ty}(), {ty}(), all(bitcast<bool>("));
    Some([head, Edit::new(scanned.range(end)?, ")))")])
}

fn closing(scanned: &Scanned<'_>, open: usize) -> Option<usize> {
    let mut depth = 0u32;
    (open..scanned.len()).find(|i| {
        match scanned.text(*i) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Whether any cast has a result that, as the source spells it, has or may have other components than its operand.
pub(crate) fn differ(module: &Module, info: &ModuleInfo, source: &str) -> bool {
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    let entries = module.entry_points.iter().enumerate();
    let mut all = functions.chain(entries.map(|(index, entry)| (&entry.function, info.get_entry_point(index))));
    all.any(|(function, info)| differ_in(module, function, info, source))
}

fn differ_in(module: &Module, function: &naga::Function, info: &FunctionInfo, source: &str) -> bool {
    function.expressions.iter().any(|(handle, expression)| {
        let Expression::As { expr, convert: None, .. } = *expression else { return false };
        let span = function.expressions.get_span(handle);
        let Some(asked) = span.to_range().and_then(|range| source.get(range)).and_then(target) else { return false };
        let (count, scalar) = match *info[expr].ty.inner_with(&module.types) {
            TypeInner::Scalar(scalar) => (1, scalar),
            TypeInner::Vector { size, scalar } => (size as u32, scalar),
            _ => return false,
        };
        // A name of the source's own may stand for any type.
        components(asked).map_or(asked.trim() != "bool", |asked| asked != (count, u32::from(scalar.width)))
    })
}

/// Whether a line of source has a cast: when it was refused, that may be why.
pub(crate) fn mentioned(line: &str) -> bool {
    line.match_indices("bitcast")
        .any(|(at, word)| line.get(at + word.len()..).is_some_and(|rest| rest.trim_start().starts_with('<')))
}

/// What stands between the brackets of `bitcast<...>`.
fn target(call: &str) -> Option<&str> {
    let rest = call.strip_prefix("bitcast")?.trim_start().strip_prefix('<')?;
    let mut depth = 1u32;
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest.get(..at);
        }
    }
    None
}

/// How many components a type has by its name, and the bytes of each; `None` for names that the source has given.
fn components(name: &str) -> Option<(u32, u32)> {
    let name = name.trim();
    let scalar = |name: &str| match name.trim() {
        "f16" | "i16" | "u16" => Some(2),
        "f32" | "i32" | "u32" => Some(4),
        "f64" | "i64" | "u64" => Some(8),
        _ => None,
    };
    let Some(vector) = name.strip_prefix("vec") else { return scalar(name).map(|bytes| (1, bytes)) };
    let count = vector.chars().next()?.to_digit(10)?;
    let one = match vector.get(1..)?.trim() {
        "h" => 2,
        "f" | "i" | "u" => 4,
        rest => scalar(rest.strip_prefix('<')?.strip_suffix('>')?)?,
    };
    Some((count, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_measured_by_their_names() {
        let call = |text: &'static str| target(text).and_then(components);
        assert_eq!(call("bitcast<vec2<f16>>(x)"), Some((2, 2)));
        assert_eq!(call("bitcast < vec4h > (x)"), Some((4, 2)));
        assert_eq!(call("bitcast<u64>(a < b)"), Some((1, 8)));
        assert_eq!(call("bitcast<vec3< i32 >>(x)"), Some((3, 4)));
        assert_eq!(call("bitcast<Mine>(x)"), None);
        assert_eq!(call("bitcast<vec>(x)"), None);
        assert_eq!(call("bitcast<vec2"), None);
        assert!(mentioned("let x = bitcast <u32>(y);") && !mentioned("bitcasts"));
    }
}
