//! T6a: which store, if any, proves that a grid writes every byte of a binding.
//!
//! A wrong "yes" would hand out bytes that nobody wrote, so everything here is proof: indices are exact polynomials modulo 2^32, every condition on the
//! way to the store is kept as a guard, and what is not understood is "no". `launch` decides for a grid.

mod eval;
mod launch;
mod poly;
mod walk;

use std::collections::HashMap;

use naga::{AddressSpace, ArraySize, Expression, GlobalVariable, Handle, Module, ScalarKind, Type, TypeInner};

use crate::reflect::Layout;
use crate::reflection::{Coverage, Extent, Guard, LinearStore};
use eval::Values;
use poly::{Atom, Poly};
use walk::{Found, Less, Walk};

/// Analyses an entry point. `bindings` are the variables in the order of the reflection; `None` for those it does not use.
pub(crate) fn analyse(
    module: &Module,
    layout: &Layout<'_>,
    index: usize,
    bindings: &[Option<Handle<GlobalVariable>>],
) -> Coverage {
    let mut coverage = Coverage { stores: vec![None; bindings.len()] };
    let Some(entry) = module.entry_points.get(index) else { return coverage };
    let mut places = HashMap::new();
    for (place, handle) in bindings.iter().enumerate() {
        if let (Some(handle), Ok(place)) = (handle, u32::try_from(place)) {
            places.insert(*handle, place);
        }
    }
    let mut values = Values::new(module, entry, &places);
    let found = Walk::new(&entry.function, &mut values).run();
    let prove = Prove { module, layout, function: &entry.function, values: &values };
    for store in &found {
        let Some((global, linear)) = prove.store(store) else { continue };
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

struct Prove<'p> {
    module: &'p Module,
    layout: &'p Layout<'p>,
    function: &'p naga::Function,
    values: &'p Values<'p>,
}

/// Where a store goes: a binding, the distance of its elements, how many there are, and the index; `None` for the one element at 0.
struct Target<'p> {
    global: Handle<GlobalVariable>,
    stride: u64,
    elements: Option<u64>,
    index: Option<&'p Poly>,
}

impl<'p> Prove<'p> {
    fn store(&self, found: &Found) -> Option<(Handle<GlobalVariable>, LinearStore)> {
        let target = self.target(found.pointer)?;
        let (row, plane) = match target.index {
            Some(index) => self.linear(index)?,
            None => (Extent::Unused, Extent::Unused),
        };
        let mut store = LinearStore {
            stride: target.stride,
            offset: 0,
            elements: target.elements,
            row,
            plane,
            guard: Guard::None,
            axis_guards: [Guard::None; 3],
            signed: self.signed(),
        };
        for guard in &found.guards {
            self.guard(&target, guard, &mut store)?;
        }
        Some((target.global, store))
    }

    /// Whether any number of the function may be one with a sign: ids have none, so there is a cast then.
    fn signed(&self) -> bool {
        let cast = |e: &Expression| matches!(e, Expression::As { kind: ScalarKind::Sint, .. });
        self.function.expressions.iter().any(|(_, expression)| cast(expression))
    }

    /// The store must be to a whole element of an array that is the whole binding, or to the whole binding.
    fn target(&self, pointer: Handle<Expression>) -> Option<Target<'p>> {
        let expressions = &self.function.expressions;
        let (array, index, one) = match expressions[pointer] {
            Expression::Access { base, index } => (base, Some(self.values.scalar(index)?), false),
            Expression::AccessIndex { base, index: 0 } => (base, None, true),
            Expression::GlobalVariable(global) => return self.whole(global),
            _ => return None,
        };
        let (global, ty) = self.whole_place(array)?;
        let TypeInner::Array { size, stride, .. } = self.module.types[ty].inner else { return None };
        let elements = match size {
            _ if one => Some(1),
            ArraySize::Constant(count) => Some(u64::from(count.get())),
            ArraySize::Dynamic => None,
            ArraySize::Pending(_) => return None,
        };
        // A constant index reaches one element, and only the first starts where the binding does.
        let index = if index.and_then(Poly::as_constant) == Some(0) { None } else { index };
        let elements = if index.is_none() { Some(1) } else { elements };
        Some(Target { global, stride: u64::from(stride), elements, index })
    }

    fn whole(&self, global: Handle<GlobalVariable>) -> Option<Target<'p>> {
        self.storage(global)?;
        let (size, _) = self.layout.get(self.module.global_variables[global].ty);
        Some(Target { global, stride: size, elements: Some(1), index: None })
    }

    /// The binding behind a pointer to all of it: the variable itself, or the only member of a structure.
    fn whole_place(&self, pointer: Handle<Expression>) -> Option<(Handle<GlobalVariable>, Handle<Type>)> {
        match self.function.expressions[pointer] {
            Expression::GlobalVariable(global) => Some((global, self.storage(global)?)),
            Expression::AccessIndex { base, index: 0 } => {
                let Expression::GlobalVariable(global) = self.function.expressions[base] else { return None };
                match &self.module.types[self.storage(global)?].inner {
                    TypeInner::Struct { members, .. } => match members.as_slice() {
                        [only] if only.offset == 0 => Some((global, only.ty)),
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn storage(&self, global: Handle<GlobalVariable>) -> Option<Handle<Type>> {
        let variable = &self.module.global_variables[global];
        matches!(variable.space, AddressSpace::Storage { .. }).then_some(variable.ty)
    }

    /// Whether an index is `x + y*row + z*plane`, exactly.
    fn linear(&self, index: &Poly) -> Option<(Extent, Extent)> {
        let factor = |axis: u8| {
            let atom = if self.values.size(axis) == 1 { Atom::Group(axis) } else { Atom::Local(axis) };
            index.factor_of(atom)
        };
        let (row, plane) = (factor(1), factor(2));
        let id = |axis: u8| self.values.global_id(axis);
        let whole = id(0)?.add(&id(1)?.multiply(&row)?)?.add(&id(2)?.multiply(&plane)?)?;
        if whole != *index {
            return None;
        }
        let extent = |factor: &Poly| if factor.as_constant() == Some(0) { Some(Extent::Unused) } else { self.extent(factor) };
        Some((extent(&row)?, extent(&plane)?))
    }

    /// A number that the launch knows.
    fn extent(&self, poly: &Poly) -> Option<Extent> {
        if let Some(value) = poly.as_constant() {
            return Some(Extent::Constant(u64::from(value)));
        }
        match poly.as_atom() {
            Some(Atom::Immediate(offset)) => return Some(Extent::Immediate(offset)),
            Some(Atom::Uniform(binding, offset)) => return Some(Extent::Uniform(binding, offset)),
            _ => {}
        }
        let across = |axis: u8| Poly::atom(Atom::Groups(axis)).multiply(&Poly::constant(self.values.size(axis)));
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
    fn guard(&self, target: &Target<'_>, guard: &Less, store: &mut LinearStore) -> Option<()> {
        let own = u32::try_from(target.global.index()).ok().map(Atom::Length);
        let bound = if guard.right.as_atom().is_some() && guard.right.as_atom() == own {
            Guard::OwnLength
        } else {
            Guard::Below(self.extent(&guard.right)?)
        };
        if target.index == Some(&guard.left) {
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
        let axis = (0..3u8).find(|&axis| self.values.global_id(axis).as_ref() == Some(&guard.left))?;
        tighten(store.axis_guards.get_mut(usize::from(axis))?, bound)
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
