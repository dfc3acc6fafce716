//! Values that a `continue` leads past although the `continuing` block uses them. WGSL refuses such a loop, naga's validator does not; whoever translates it would
//! use a value that nobody computed.

use std::collections::HashSet;

use naga::{Function, Module, Statement};

use crate::cxx::uses;
use crate::diagnostics::Finding;
use crate::walk;

/// What is wrong with the loops of a validated module.
pub(crate) fn check(module: &Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    for function in module.functions.iter().map(|(_, function)| function).chain(entries) {
        walk::statements(&function.body, &mut |statement| findings.extend(skipped(function, statement)));
    }
    findings
}

fn skipped(function: &Function, statement: &Statement) -> Option<Finding> {
    let Statement::Loop { body, continuing, break_if } = statement else { return None };
    let (place, (_, at)) = body.span_iter().enumerate().find(|(_, (one, _))| walk::continues(std::slice::from_ref(*one)))?;
    let mut used = HashSet::new();
    uses::used(function, continuing, &mut used);
    break_if.iter().for_each(|at| uses::used_by(function, *at, &mut used));
    let mut behind = HashSet::new();
    for one in body.iter().skip(place) {
        match one {
            Statement::Emit(range) => behind.extend(range.clone()),
            other => behind.extend(uses::result(other)),
        }
    }
    let lost = !used.is_disjoint(&behind);
    lost.then(|| {
        Finding::span("a `continue` in here leads past a value that the `continuing` block uses; compute it before", *at)
    })
}

#[cfg(test)]
mod tests {
    use crate::{Module, Source};

    fn refused(body: &str) -> bool {
        let source = format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n\
             @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ var k = 0u; {body} }}"
        );
        match Module::parse(&Source::wgsl(&source)) {
            Ok(_) => false,
            Err(found) => {
                assert!(found.to_string().contains("leads past"), "{found}");
                true
            }
        }
    }

    #[test]
    fn l5_a_continue_past_what_the_continuing_block_uses_is_refused() {
        assert!(refused("loop { if id.x == k { continue; } let v = o[k]; continuing { k += v; break if k > 9u; } }"));
        assert!(refused("loop { if id.x == k { continue; } let v = o[k]; continuing { k += 1u; break if v > 9u; } }"));
        assert!(refused(
            "loop { switch id.x { case 3u: { continue; } default: {} } let p = &o[k]; continuing { k += *p; break if k > 9u; } }"
        ));
        assert!(refused(
            "loop { if id.x == k { continue; } let v = atomicless(k); continuing { k += v; break if k > 9u; } } } fn atomicless(n: u32) -> u32 { return n + 1u;"
        ));
    }

    #[test]
    fn loops_whose_continuing_block_has_all_it_uses_are_not() {
        assert!(!refused(
            "loop { let v = o[k]; if id.x == k { continue; } o[0] = v; continuing { k += v + 1u; break if k > 9u; } }"
        ));
        assert!(!refused("for (var i = 0u; i < 9u; i++) { if i == id.x { continue; } let v = o[i]; o[0] += v; }"));
        assert!(!refused(
            "loop { for (var i = 0u; i < 9u; i++) { if i == 3u { continue; } } let v = o[k]; continuing { k += v + 1u; break if k > 9u; } }"
        ));
        assert!(!refused("loop { if id.x == k { break; } let v = o[k]; continuing { k += v + 1u; break if k > 9u; } }"));
    }
}
