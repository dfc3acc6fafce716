//! Polynomials modulo 2^32 over what one launch fixes: the exact meaning of u32 arithmetic, so that two spellings of an index compare equal and a
//! wrap-around is never overlooked.

/// A number that does not change while an invocation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Atom {
    /// A component of `workgroup_id`.
    Group(u8),
    /// A component of `local_invocation_id`.
    Local(u8),
    /// A component of `num_workgroups`.
    Groups(u8),
    /// A u32 of the immediate block, at a byte offset.
    Immediate(u32),
    /// A u32 of a uniform binding: index, byte offset.
    Uniform(u32, u32),
    /// The length of the tail of a global, by its index.
    Length(u32),
}

impl Atom {
    /// Whether it differs between invocations of one launch.
    pub(super) fn varies(self) -> bool {
        matches!(self, Self::Group(_) | Self::Local(_))
    }
}

/// Atoms multiplied with each other, sorted, at most four.
type Product = [Option<Atom>; 4];

/// More terms than this have no use here.
const MAX_TERMS: usize = 16;

/// A sum of products with coefficients. Sorted, without zeros: equal polynomials are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Poly {
    terms: Vec<(Product, u32)>,
}

impl Poly {
    pub(super) fn constant(value: u32) -> Self {
        Self { terms: if value == 0 { Vec::new() } else { vec![([None; 4], value)] } }
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Self { terms: vec![([Some(atom), None, None, None], 1)] }
    }

    /// The value, when it is a constant.
    pub(super) fn as_constant(&self) -> Option<u32> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(product, value)] if *product == [None; 4] => Some(*value),
            _ => None,
        }
    }

    /// The atom, when it is nothing else.
    pub(super) fn as_atom(&self) -> Option<Atom> {
        match self.terms.as_slice() {
            [([Some(atom), None, None, None], 1)] => Some(*atom),
            _ => None,
        }
    }

    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        self.combine(other, 1)
    }

    pub(super) fn subtract(&self, other: &Self) -> Option<Self> {
        self.combine(other, u32::MAX)
    }

    fn combine(&self, other: &Self, factor: u32) -> Option<Self> {
        let scaled = other.terms.iter().map(|&(product, c)| (product, c.wrapping_mul(factor)));
        Self::collect(self.terms.iter().copied().chain(scaled).collect())
    }

    pub(super) fn multiply(&self, other: &Self) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for &(left, a) in &self.terms {
            for &(right, b) in &other.terms {
                terms.push((join(left, right)?, a.wrapping_mul(b)));
            }
        }
        Self::collect(terms)
    }

    fn collect(mut terms: Vec<(Product, u32)>) -> Option<Self> {
        terms.sort_unstable_by_key(|t| t.0);
        let mut merged: Vec<(Product, u32)> = Vec::with_capacity(terms.len());
        for (product, coefficient) in terms {
            match merged.last_mut() {
                Some(last) if last.0 == product => last.1 = last.1.wrapping_add(coefficient),
                _ => merged.push((product, coefficient)),
            }
        }
        merged.retain(|t| t.1 != 0);
        (merged.len() <= MAX_TERMS).then_some(Self { terms: merged })
    }

    /// The value in the invocation whose local id is zero on every axis.
    pub(super) fn in_first_invocation(&self) -> Self {
        let local = |product: &Product| product.iter().flatten().any(|atom| matches!(atom, Atom::Local(_)));
        Self { terms: self.terms.iter().filter(|(product, _)| !local(product)).copied().collect() }
    }

    /// What `atom` is multiplied with, in the terms where it stands once and with nothing that differs between invocations.
    pub(super) fn factor_of(&self, atom: Atom) -> Self {
        let mut terms = Vec::new();
        for &(product, coefficient) in &self.terms {
            let others: Vec<Atom> = product.iter().flatten().copied().filter(|&a| a != atom).collect();
            let times = product.iter().flatten().filter(|&&a| a == atom).count();
            if times == 1 && !others.iter().any(|a| a.varies()) {
                let mut rest = [None; 4];
                rest.iter_mut().zip(others).for_each(|(slot, a)| *slot = Some(a));
                terms.push((rest, coefficient));
            }
        }
        Self::collect(terms).unwrap_or_default()
    }
}

fn join(left: Product, right: Product) -> Option<Product> {
    let mut all: Vec<Atom> = left.iter().chain(&right).flatten().copied().collect();
    if all.len() > 4 {
        return None;
    }
    all.sort_unstable();
    let mut product = [None; 4];
    product.iter_mut().zip(all).for_each(|(slot, atom)| *slot = Some(atom));
    Some(product)
}
