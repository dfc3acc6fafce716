//! What the front end does not know of WGSL's subgroup operations, put right around it: directives that it refuses, `subgroupElect`, and signed ids.
//! Knows nothing of uniformity, which is `uniformity`'s.
//!
//! Everything here keeps the places of the source: directives are overwritten with blanks, and what is added stands behind the end.

mod narrow;

use std::borrow::Cow;
use std::ops::Range;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{Block, Expression, Function, GatherMode, Handle, Literal, Module, Scalar, ScalarKind, Span, Statement, TypeInner};

use crate::diagnostics::Finding;
use crate::scan;

/// The one function of the language that the IR has no statement for. Nobody is inactive where subgroup operations are allowed, so the
/// lowest invocation is the one with none before it.
const ELECT: &str = "subgroupElect";
const ELECT_BODY: &str = "\nfn subgroupElect() -> bool { return subgroupExclusiveAdd(1u) == 0u; }\n";

/// Ids and distances at or above this are refused where they are constant: no device has larger subgroups.
const MOST: i64 = 128;
const QUAD: i64 = 4;

/// The source as the front end takes it.
pub(crate) fn prepare(source: &str) -> Cow<'_, str> {
    let edits = directives(source);
    let elect = scan::find_word(source, |word| word == ELECT).is_some() && !scan::declares(source, ELECT);
    if edits.is_empty() && !elect {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len() + ELECT_BODY.len());
    let mut from = 0;
    for (range, text) in edits {
        out.push_str(source.get(from..range.start).unwrap_or_default());
        let old = source.get(range.clone()).unwrap_or_default();
        let lines = old.bytes().filter(|&b| b == b'\n').count();
        let blanks = old.len().saturating_sub(text.len() + lines);
        out.push_str(&text);
        out.extend(std::iter::repeat_n('\n', lines).chain(std::iter::repeat_n(' ', blanks)));
        from = range.end;
    }
    out.push_str(source.get(from..).unwrap_or_default());
    if elect {
        out.push_str(ELECT_BODY);
    }
    Cow::Owned(out)
}

/// Whether a function is the one that [`prepare`] adds to `source`.
pub(crate) fn is_elect(module: &Module, function: Handle<Function>, source_size: usize) -> bool {
    let at = module.functions.get_span(function).to_range();
    module.functions[function].name.as_deref() == Some(ELECT) && at.is_some_and(|at| at.start >= source_size)
}

/// What becomes of the `enable` and `requires` directives that name subgroups: the names that are left, which are never longer than before.
fn directives(source: &str) -> Vec<(Range<usize>, String)> {
    let text = |range: &Range<usize>| source.get(range.clone()).unwrap_or_default();
    let mut edits = Vec::new();
    for directive in scan::directives(source) {
        let ours = match text(&directive.word) {
            "enable" => ["subgroups"].as_slice(),
            "requires" => &["subgroup_id", "swizzle_assignment"],
            _ => continue,
        };
        let others: Vec<_> = directive.names.iter().map(text).filter(|name| !ours.contains(name)).collect();
        let (Some(first), Some(last)) = (directive.names.first(), directive.names.last()) else { continue };
        if others.is_empty() {
            edits.push((directive.word.start..directive.end, String::new()));
        } else if others.len() < directive.names.len() {
            edits.push((first.start..last.end, others.join(",")));
        }
    }
    edits
}

/// Ids that the IR wants unsigned and the language also takes signed become unsigned, and constant ones outside of every subgroup are found. Operations that the IR does not have
/// for 16 bits become those of 32.
pub(crate) fn normalise(module: &mut Module) -> Vec<Finding> {
    narrow::widen(module);
    let mut findings = Vec::new();
    let mut plans = Vec::new();
    for (_, function) in module.functions.iter() {
        plans.push(Plan::of(module, function, &mut findings));
    }
    let entries: Vec<_> = module.entry_points.iter().map(|e| Plan::of(module, &e.function, &mut findings)).collect();
    for ((_, function), plan) in module.functions.iter_mut().zip(plans) {
        plan.apply(function);
    }
    for (entry, plan) in module.entry_points.iter_mut().zip(entries) {
        plan.apply(&mut entry.function);
    }
    findings
}

/// What becomes of signed ids of one function.
#[derive(Default)]
struct Plan {
    /// Signed ids: the constant they are, or `None` for those that only the run knows.
    signed: Vec<(Handle<Expression>, Option<u32>)>,
}

impl Plan {
    fn of(module: &Module, function: &Function, findings: &mut Vec<Finding>) -> Self {
        let mut gathers = Vec::new();
        collect(&function.body, &mut gathers);
        let mut plan = Self::default();
        if gathers.is_empty() {
            return plan;
        }
        let mut typifier = Typifier::new();
        let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
        for (mode, span) in gathers {
            let Some(index) = index(mode) else { continue };
            let constant = constant(module, function, index);
            if let Some(value) = constant {
                check(mode, value, span, findings);
            }
            let signed = typifier.grow(index, &function.expressions, &context).is_ok()
                && *typifier.get(index, &module.types) == TypeInner::Scalar(Scalar::I32);
            let relative = matches!(mode, GatherMode::ShuffleUp(_) | GatherMode::ShuffleDown(_) | GatherMode::ShuffleXor(_));
            // Distances are unsigned in the language; only a constant without a type of its own may stand for one.
            if signed && (!relative || literal(function, index)) && !plan.signed.iter().any(|(known, _)| *known == index) {
                plan.signed.push((index, constant.and_then(|v| u32::try_from(v).ok())));
            }
        }
        plan
    }

    fn apply(self, function: &mut Function) {
        if self.signed.is_empty() {
            return;
        }
        let mut replacements = Vec::with_capacity(self.signed.len());
        for (from, constant) in self.signed {
            let span = function.expressions.get_span(from);
            let expression = match constant {
                Some(value) => Expression::Literal(Literal::U32(value)),
                None => Expression::As { expr: from, kind: ScalarKind::Uint, convert: Some(4) },
            };
            replacements.push((from, expression, span));
        }
        rewrite(&mut function.body, &mut function.expressions, &replacements);
    }
}

fn collect(block: &Block, gathers: &mut Vec<(GatherMode, Span)>) {
    for (statement, span) in block.span_iter() {
        match statement {
            Statement::SubgroupGather { mode, .. } => gathers.push((*mode, *span)),
            Statement::Block(block) => collect(block, gathers),
            Statement::If { accept, reject, .. } => {
                collect(accept, gathers);
                collect(reject, gathers);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| collect(&case.body, gathers)),
            Statement::Loop { body, continuing, .. } => {
                collect(body, gathers);
                collect(continuing, gathers);
            }
            _ => {}
        }
    }
}

/// The id, distance or mask of a gather.
pub(crate) fn index(mode: GatherMode) -> Option<Handle<Expression>> {
    match mode {
        GatherMode::Broadcast(index)
        | GatherMode::Shuffle(index)
        | GatherMode::ShuffleDown(index)
        | GatherMode::ShuffleUp(index)
        | GatherMode::ShuffleXor(index)
        | GatherMode::QuadBroadcast(index) => Some(index),
        GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
    }
}

fn set_index(mode: &mut GatherMode, to: Handle<Expression>) {
    match mode {
        GatherMode::Broadcast(index)
        | GatherMode::Shuffle(index)
        | GatherMode::ShuffleDown(index)
        | GatherMode::ShuffleUp(index)
        | GatherMode::ShuffleXor(index)
        | GatherMode::QuadBroadcast(index) => *index = to,
        GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => {}
    }
}

/// The name of a gather in the source, and of what it is given.
pub(crate) fn gather_name(mode: GatherMode) -> (&'static str, &'static str) {
    match mode {
        GatherMode::BroadcastFirst => ("subgroupBroadcastFirst", "id"),
        GatherMode::Broadcast(_) => ("subgroupBroadcast", "id"),
        GatherMode::Shuffle(_) => ("subgroupShuffle", "id"),
        GatherMode::ShuffleDown(_) => ("subgroupShuffleDown", "distance"),
        GatherMode::ShuffleUp(_) => ("subgroupShuffleUp", "distance"),
        GatherMode::ShuffleXor(_) => ("subgroupShuffleXor", "mask"),
        GatherMode::QuadBroadcast(_) => ("quadBroadcast", "id"),
        GatherMode::QuadSwap(naga::Direction::X) => ("quadSwapX", "id"),
        GatherMode::QuadSwap(naga::Direction::Y) => ("quadSwapY", "id"),
        GatherMode::QuadSwap(naga::Direction::Diagonal) => ("quadSwapDiagonal", "id"),
    }
}

fn check(mode: GatherMode, value: i64, span: Span, findings: &mut Vec<Finding>) {
    let most = if matches!(mode, GatherMode::QuadBroadcast(_)) { QUAD } else { MOST };
    if !(0..most).contains(&value) {
        let (name, what) = gather_name(mode);
        findings.push(Finding::span(format!("the {what} of `{name}` is {value}; it must be at least 0 and below {most}"), span));
    }
}

fn literal(function: &Function, at: Handle<Expression>) -> bool {
    matches!(function.expressions[at], Expression::Literal(_))
}

/// An integer that is known.
fn constant(module: &Module, function: &Function, at: Handle<Expression>) -> Option<i64> {
    let literal = match function.expressions[at] {
        Expression::Literal(literal) => literal,
        Expression::Constant(constant) => match module.global_expressions[module.constants[constant].init] {
            Expression::Literal(literal) => literal,
            Expression::ZeroValue(_) => return Some(0),
            _ => return None,
        },
        Expression::ZeroValue(_) => return Some(0),
        _ => return None,
    };
    match literal {
        Literal::U32(value) => Some(i64::from(value)),
        Literal::I32(value) => Some(i64::from(value)),
        _ => None,
    }
}

/// Gives each gather with a replaced id an expression of its own, evaluated in front of it.
fn rewrite(
    block: &mut Block,
    expressions: &mut naga::Arena<Expression>,
    replacements: &[(Handle<Expression>, Expression, Span)],
) {
    let old = std::mem::take(block);
    for (mut statement, span) in old.span_into_iter() {
        match &mut statement {
            Statement::SubgroupGather { mode, .. } => {
                let found = index(*mode).and_then(|at| replacements.iter().find(|(from, ..)| *from == at));
                if let Some((_, expression, at)) = found {
                    let new = expressions.append(expression.clone(), *at);
                    if !matches!(expression, Expression::Literal(_)) {
                        block.push(Statement::Emit(naga::Range::new_from_bounds(new, new)), *at);
                    }
                    set_index(mode, new);
                }
            }
            Statement::Block(inner) => rewrite(inner, expressions, replacements),
            Statement::If { accept, reject, .. } => {
                rewrite(accept, expressions, replacements);
                rewrite(reject, expressions, replacements);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| rewrite(&mut case.body, expressions, replacements));
            }
            Statement::Loop { body, continuing, .. } => {
                rewrite(body, expressions, replacements);
                rewrite(continuing, expressions, replacements);
            }
            _ => {}
        }
        block.push(statement, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_source_keeps_every_place() {
        for (source, expected) in [
            ("fn f() {}", "fn f() {}"),
            ("enable subgroups;x", "                 x"),
            ("enable f16;enable subgroups;x", "enable f16;                 x"),
            ("enable subgroups, f16;x", "enable f16           ;x"),
            ("enable f16, subgroups;x", "enable f16           ;x"),
            ("enable f16,subgroups,dual,;x", "enable f16,dual          ,;x"),
            ("enable\nsubgroups\n;x", "\n\n                x"),
            ("requires subgroup_id, a;x", "requires a             ;x"),
            ("diagnostic(off, subgroups);enable subgroups;", "diagnostic(off, subgroups);                 "),
            ("/* enable subgroups; */ x", "/* enable subgroups; */ x"),
            ("fn f() {} enable subgroups;", "fn f() {} enable subgroups;"),
            ("enable subgroups", "enable subgroups"),
            ("enable;requires;", "enable;requires;"),
        ] {
            assert_eq!(prepare(source), expected);
            assert_eq!(expected.len(), source.len(), "{source}");
            assert_eq!(expected.matches('\n').count(), source.matches('\n').count(), "{source}");
        }
    }

    #[test]
    fn a_function_is_added_for_what_the_front_end_does_not_know() {
        let source = "fn f() { if (subgroupElect()) {} }";
        assert!(prepare(source).starts_with(source) && prepare(source).ends_with(ELECT_BODY));
        let declared = "fn subgroupElect() {} fn f() { subgroupElect(); }";
        assert_eq!(prepare(declared), declared);
        assert_eq!(prepare("// subgroupElect"), "// subgroupElect");
    }
}
