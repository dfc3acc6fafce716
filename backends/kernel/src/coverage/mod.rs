//! T6a: which store, if any, proves that a grid writes every byte of a binding.
//!
//! A wrong "yes" would hand out bytes that nobody wrote, so everything here is proof: indices are exact polynomials modulo 2^32, every condition on the
//! way to the store is kept as a guard, and what is not understood is "no". `launch` decides for a grid.

mod dense;
mod eval;
mod launch;
mod place;
mod poly;
mod walk;

use std::collections::HashMap;

use naga::{Expression, GlobalVariable, Handle, Module, ScalarKind, Type};

use crate::reflect::Layout;
use crate::reflection::{Coverage, Extent, Guard, LinearStore};
use dense::Dense;
use eval::Kernel;
use place::Place;
use poly::{Atom, Poly};
use walk::{Found, Less, NEGATIVE};

/// Analyses an entry point. `bindings` are the variables in the order of the reflection; `None` for those it does not use.
pub(crate) fn analyse(
    module: &Module,
    layout: &Layout<'_>,
    index: usize,
    bindings: &[Option<Handle<GlobalVariable>>],
) -> Coverage {
    let dense = Dense::of(module, layout);
    let is_dense = |handle: &Handle<GlobalVariable>| dense.is_binding(module, layout, module.global_variables[*handle].ty);
    let mut coverage = Coverage {
        stores: vec![None; bindings.len()],
        dense: bindings.iter().map(|handle| handle.as_ref().is_some_and(is_dense)).collect(),
    };
    let Some(entry) = module.entry_points.get(index) else { return coverage };
    let mut places = HashMap::new();
    for (place, handle) in bindings.iter().enumerate() {
        if let (Some(handle), Ok(place)) = (handle, u32::try_from(place)) {
            places.insert(*handle, place);
        }
    }
    let kernel = Kernel { module, layout, dense: &dense, workgroup: entry.workgroup_size, bindings: &places };
    let functions = module.functions.iter().map(|(_, function)| function).chain([&entry.function]);
    let signed = functions.into_iter().any(|function| function.expressions.iter().any(|(_, e)| has_sign(module, e)));
    for store in &walk::stores(kernel, &entry.function) {
        let prove = |groups| Prove { kernel, signed, groups }.store(store);
        let Some(linear) = prove(false).or_else(|| prove(true)) else { continue };
        let global = store.place.global;
        let Some(slot) = places.get(&global).and_then(|&place| coverage.stores.get_mut(place as usize)) else { continue };
        if slot.as_ref().is_none_or(|old| guards(&linear) < guards(old)) {
            *slot = Some(linear);
        }
    }
    coverage
}

/// How much must hold: of several stores the freest is kept.
fn guards(store: &LinearStore) -> usize {
    let bounds = |g: &Guard| match g {
        Guard::None => 0,
        Guard::OwnLength => 1,
        Guard::Below(_) => 8,
    };
    let one = if store.elements == Some(1) { 64 } else { 0 };
    one + bounds(&store.guard) + store.axis_guards.iter().map(bounds).sum::<usize>()
}

/// Whether a number may have a sign: ids have none, so it comes from a cast or a constant. What is read from memory is compared with one of these, or not understood.
fn has_sign(module: &Module, expression: &Expression) -> bool {
    // Of a structure nobody looks at the members.
    let of = |ty: Handle<Type>| module.types[ty].inner.scalar().is_none_or(|scalar| scalar.kind == ScalarKind::Sint);
    match expression {
        Expression::As { kind, .. } => *kind == ScalarKind::Sint,
        Expression::Literal(literal) => literal.scalar().kind == ScalarKind::Sint,
        Expression::ZeroValue(ty) => of(*ty),
        Expression::Constant(constant) => of(module.constants[*constant].ty),
        Expression::Override(constant) => of(module.overrides[*constant].ty),
        _ => false,
    }
}

struct Prove<'p> {
    kernel: Kernel<'p>,
    /// Whether any number may be one with a sign.
    signed: bool,
    /// Of each workgroup only the first invocation is looked at: where it stores is written, whatever the others do.
    groups: bool,
}

impl Prove<'_> {
    fn store(&self, found: &Found) -> Option<LinearStore> {
        let seen = |poly: &Poly| if self.groups { poly.in_first_invocation() } else { poly.clone() };
        let place = Place { index: found.place.index.as_ref().map(seen), ..found.place.clone() }.first();
        let (row, plane) = match &place.index {
            Some(index) => self.linear(index)?,
            None => (Extent::Unused, Extent::Unused),
        };
        let mut store = LinearStore {
            stride: place.stride,
            dense: place.dense,
            offset: 0,
            elements: place.elements,
            row,
            plane,
            guard: Guard::None,
            axis_guards: [Guard::None; 3],
            signed: self.signed,
            groups: self.groups,
        };
        for guard in &found.guards {
            let guard = Less { left: seen(&guard.left), right: seen(&guard.right), sign: guard.sign };
            match (guard.left.as_constant(), guard.right.as_constant()) {
                (Some(left), Some(right)) if left >= right => return None,
                // With a sign these could be the other way round.
                (Some(left), Some(right)) if !self.signed || left < NEGATIVE && (right < NEGATIVE || guard.sign) => {}
                _ => self.guard(&place, &guard, &mut store)?,
            }
        }
        Some(store)
    }

    /// Whether an index is `x + y*row + z*plane`, exactly.
    fn linear(&self, index: &Poly) -> Option<(Extent, Extent)> {
        let factor = |axis: u8| {
            let atom = if self.groups || self.kernel.size(axis) == 1 { Atom::Group(axis) } else { Atom::Local(axis) };
            index.factor_of(atom)
        };
        let (row, plane) = (factor(1), factor(2));
        let id = |axis: u8| self.id(axis);
        let whole = id(0)?.add(&id(1)?.multiply(&row)?)?.add(&id(2)?.multiply(&plane)?)?;
        if whole != *index {
            return None;
        }
        let extent = |factor: &Poly| if factor.as_constant() == Some(0) { Some(Extent::Unused) } else { self.extent(factor) };
        Some((extent(&row)?, extent(&plane)?))
    }

    /// What counts along an axis.
    fn id(&self, axis: u8) -> Option<Poly> {
        if self.groups { Some(Poly::atom(Atom::Group(axis))) } else { self.kernel.global_id(axis) }
    }

    /// A number that the launch knows.
    fn extent(&self, poly: &Poly) -> Option<Extent> {
        if let Some(value) = poly.as_constant() {
            if self.signed && value >= NEGATIVE {
                return None;
            }
            return Some(Extent::Constant(u64::from(value)));
        }
        match poly.as_atom() {
            Some(Atom::Immediate(offset)) => return Some(Extent::Immediate(offset)),
            Some(Atom::Uniform(binding, offset)) => return Some(Extent::Uniform(binding, offset)),
            _ => {}
        }
        let size = |axis: u8| if self.groups { 1 } else { self.kernel.size(axis) };
        let across = |axis: u8| Poly::atom(Atom::Groups(axis)).multiply(&Poly::constant(size(axis)));
        let (width, height) = (across(0)?, across(1)?);
        if *poly == width {
            Some(Extent::GridWidth)
        } else if *poly == width.multiply(&height)? {
            Some(Extent::GridPlane)
        } else {
            None
        }
    }

    /// Adds a guard to a store; `None` when it is none of those that a launch can decide.
    fn guard(&self, target: &Place, guard: &Less, store: &mut LinearStore) -> Option<()> {
        let own = u32::try_from(target.global.index()).ok().map(Atom::Length);
        let axis = (0..3u8).find(|&axis| self.id(axis).as_ref() == Some(&guard.left));
        let counts = target.index.as_ref() == Some(&guard.left) || axis.is_some();
        // A launch sees to it that neither ids nor indices are negative.
        if counts && self.signed && guard.sign {
            return Some(());
        }
        let bound = if guard.right.as_atom().is_some() && guard.right.as_atom() == own {
            Guard::OwnLength
        } else {
            Guard::Below(self.extent(&guard.right)?)
        };
        if target.index.as_ref() == Some(&guard.left) {
            // What is past the own length is not stored anyway: of an index it says nothing beside another bound.
            return match (store.guard, bound) {
                (Guard::OwnLength, bound) => {
                    store.guard = bound;
                    Some(())
                }
                (_, Guard::OwnLength) if store.guard != Guard::None => Some(()),
                (_, bound) => tighten(&mut store.guard, bound),
            };
        }
        tighten(store.axis_guards.get_mut(usize::from(axis?))?, bound)
    }
}

/// One bound per place.
fn tighten(slot: &mut Guard, bound: Guard) -> Option<()> {
    match (*slot, bound) {
        (Guard::None, bound) => *slot = bound,
        (old, bound) if old == bound => {}
        _ => return None,
    }
    Some(())
}
