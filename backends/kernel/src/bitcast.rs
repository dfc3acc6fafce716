//! `bitcast` to a type of other components. The front end keeps number and width of what is cast and drops what the source asks for, so the source
//! has to tell.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Module, TypeInner};

use crate::diagnostics::Finding;

/// What to write instead.
pub(crate) const ADVICE: &str = "`bitcast` between types of different widths is not supported yet: for `vec2<f16>` and `u32` write \
    `vec2<f16>(unpack2x16float(x))` and `pack2x16float(vec2<f32>(x))`; 64 bits are put together with shifts";

/// Every cast whose result, as the source spells it, has other components than its operand.
pub(crate) fn check(module: &Module, info: &ModuleInfo, source: &str) -> Vec<Finding> {
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    let entries = module.entry_points.iter().enumerate();
    let entries = entries.map(|(index, entry)| (&entry.function, info.get_entry_point(index)));
    functions.chain(entries).flat_map(|(function, info)| of_function(module, function, info, source)).collect()
}

fn of_function(module: &Module, function: &naga::Function, info: &FunctionInfo, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (handle, expression) in function.expressions.iter() {
        let Expression::As { expr, convert: None, .. } = *expression else { continue };
        let span = function.expressions.get_span(handle);
        let asked = span.to_range().and_then(|range| source.get(range)).and_then(target).and_then(components);
        let (count, scalar) = match *info[expr].ty.inner_with(&module.types) {
            TypeInner::Scalar(scalar) => (1, scalar),
            TypeInner::Vector { size, scalar } => (size as u32, scalar),
            _ => continue,
        };
        if asked.is_some_and(|asked| asked != (count, u32::from(scalar.width))) {
            findings.push(Finding::span(ADVICE, span));
        }
    }
    findings
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
