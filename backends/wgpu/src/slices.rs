//! Launches in slices: systems with a screen stop work that takes too long at once. A kernel that may be sliced gets one more uniform block, which says where its slice
//! begins and how many workgroups the whole grid has, and sees ids and counts as if there were no slices.

use compute_hal::DeviceError;
use naga::{
    AddressSpace, BinaryOperator, Binding, BuiltIn, Expression, Function, FunctionArgument, GlobalVariable, Handle, Literal,
    Module, ResourceBinding, Scalar, Span, Statement, StructMember, Type, TypeInner, VectorSize,
};

use crate::moves::bytes;

/// Bytes of the block: where the slice begins, then the whole grid, 16 bytes each.
pub(crate) const BLOCK: u64 = 32;

/// A part of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    /// Its first workgroup.
    pub(crate) base: [u32; 3],
    /// Its workgroups.
    pub(crate) size: [u32; 3],
    /// It is the last one.
    pub(crate) last: bool,
}

impl Slice {
    pub(crate) fn groups(&self) -> u64 {
        groups(self.size)
    }

    /// The block for it. A grid of zeros: the number of workgroups is what the device says.
    pub(crate) fn block(&self, grid: [u32; 3]) -> Vec<u8> {
        bytes(&[self.base[0], self.base[1], self.base[2], 0, grid[0], grid[1], grid[2], 0])
    }
}

fn groups(size: [u32; 3]) -> u64 {
    size.iter().fold(1, |all, count| all.saturating_mul(u64::from(*count)))
}

/// Cuts a grid into slices of `most` workgroups at most, the first axis last.
pub(crate) fn slices(grid: [u32; 3], most: u64) -> impl Iterator<Item = Slice> {
    let mut left = most.max(1);
    // As much of an axis as fits; of the next ones more than a single layer only where all of it does.
    let step = grid.map(|count| {
        let taken = u64::from(count).min(left).max(1);
        left = if taken == u64::from(count) { (left / taken).max(1) } else { 1 };
        taken as u32
    });
    let mut next = (!grid.contains(&0)).then_some([0; 3]);
    std::iter::from_fn(move || {
        let base = next?;
        let size = [0, 1, 2].map(|axis| step[axis].min(grid[axis] - base[axis]));
        next = after(base, step, grid);
        Some(Slice { base, size, last: next.is_none() })
    })
}

fn after(mut base: [u32; 3], step: [u32; 3], grid: [u32; 3]) -> Option<[u32; 3]> {
    for axis in 0..3 {
        base[axis] = base[axis].saturating_add(step[axis]);
        if base[axis] < grid[axis] {
            return Some(base);
        }
        base[axis] = 0;
    }
    None
}

/// Makes the one entry point of a module see the whole grid: what it was becomes a function, which is called with the ids of the whole.
pub(crate) fn see_the_whole(module: &mut Module, binding: u32) -> Result<(), DeviceError> {
    let [entry] = &mut module.entry_points[..] else {
        return Err(DeviceError::Internal("a module to be sliced that has not one entry point".into()));
    };
    let arguments = entry.function.arguments.clone();
    let size = entry.workgroup_size;
    let mut inner = std::mem::take(&mut entry.function);
    inner.name = Some("in_the_whole".into());
    inner.arguments.iter_mut().for_each(|argument| argument.binding = None);
    let inner = module.functions.append(inner, Span::UNDEFINED);
    let vector = plain(module, TypeInner::Vector { size: VectorSize::Tri, scalar: Scalar::U32 });
    let block = declare(module, vector, binding);
    let outer = Outer::new(module, vector, block, size).call(inner, arguments);
    if let Some(entry) = module.entry_points.first_mut() {
        entry.function = outer;
    }
    Ok(())
}

fn plain(module: &mut Module, inner: TypeInner) -> Handle<Type> {
    module.types.insert(Type { name: None, inner }, Span::UNDEFINED)
}

fn declare(module: &mut Module, vector: Handle<Type>, binding: u32) -> Handle<GlobalVariable> {
    let member = |name: &str, offset| StructMember { name: Some(name.into()), ty: vector, binding: None, offset };
    let inner = TypeInner::Struct { members: vec![member("base", 0), member("grid", 16)], span: BLOCK as u32 };
    let ty = module.types.insert(Type { name: Some("Slice".into()), inner }, Span::UNDEFINED);
    let variable = GlobalVariable {
        name: Some("slice".into()),
        space: AddressSpace::Uniform,
        binding: Some(ResourceBinding { group: 0, binding }),
        ty,
        init: None,
        memory_decorations: naga::MemoryDecorations::empty(),
    };
    module.global_variables.append(variable, Span::UNDEFINED)
}

/// The entry point that is made: its expressions, and what they need.
struct Outer<'a> {
    module: &'a Module,
    function: Function,
    /// Values that no statement has to compute.
    zeros: Handle<Expression>,
    groups: Handle<Expression>,
    base: Handle<Expression>,
    grid: Handle<Expression>,
}

impl<'a> Outer<'a> {
    fn new(module: &'a Module, vector: Handle<Type>, block: Handle<GlobalVariable>, size: [u32; 3]) -> Self {
        let mut function = Function { name: Some("of_a_slice".into()), ..Function::default() };
        let mut add = |expression| function.expressions.append(expression, Span::UNDEFINED);
        let block = add(Expression::GlobalVariable(block));
        let zero = add(Expression::Literal(Literal::U32(0)));
        let counts = size.map(|count| add(Expression::Literal(Literal::U32(count))));
        let mut outer = Self { module, function, zeros: zero, groups: zero, base: zero, grid: zero };
        outer.zeros = outer.value(Expression::Compose { ty: vector, components: vec![zero; 3] });
        outer.groups = outer.value(Expression::Compose { ty: vector, components: counts.to_vec() });
        outer.base = outer.load(block, 0);
        outer.grid = outer.load(block, 1);
        outer
    }

    /// A value that a statement computes.
    fn value(&mut self, expression: Expression) -> Handle<Expression> {
        let before = self.function.expressions.len();
        let value = self.function.expressions.append(expression, Span::UNDEFINED);
        let range = self.function.expressions.range_from(before);
        self.function.body.push(Statement::Emit(range), Span::UNDEFINED);
        value
    }

    fn load(&mut self, block: Handle<Expression>, index: u32) -> Handle<Expression> {
        let pointer = self.value(Expression::AccessIndex { base: block, index });
        self.value(Expression::Load { pointer })
    }

    fn sum(&mut self, left: Handle<Expression>, right: Handle<Expression>) -> Handle<Expression> {
        self.value(Expression::Binary { op: BinaryOperator::Add, left, right })
    }

    /// What an input is in the whole.
    fn whole(&mut self, value: Handle<Expression>, binding: Option<&Binding>) -> Handle<Expression> {
        match binding {
            Some(Binding::BuiltIn(BuiltIn::WorkGroupId)) => self.sum(value, self.base),
            Some(Binding::BuiltIn(BuiltIn::GlobalInvocationId)) => {
                let (left, right) = (self.base, self.groups);
                let start = self.value(Expression::Binary { op: BinaryOperator::Multiply, left, right });
                self.sum(value, start)
            }
            Some(Binding::BuiltIn(BuiltIn::NumWorkGroups)) => {
                let (left, right) = (self.grid, self.zeros);
                let condition = self.value(Expression::Binary { op: BinaryOperator::Equal, left, right });
                self.value(Expression::Select { condition, accept: value, reject: self.grid })
            }
            _ => value,
        }
    }

    /// Calls `inner` with the inputs as they are in the whole.
    fn call(mut self, inner: Handle<Function>, arguments: Vec<FunctionArgument>) -> Function {
        // Arguments are no values of statements, so they come first.
        let inputs: Vec<_> = (0..arguments.len() as u32)
            .map(|index| self.function.expressions.append(Expression::FunctionArgument(index), Span::UNDEFINED))
            .collect();
        let mut given = Vec::with_capacity(inputs.len());
        for (input, argument) in inputs.into_iter().zip(&arguments) {
            let members = match &self.module.types[argument.ty].inner {
                TypeInner::Struct { members, .. } if argument.binding.is_none() => members,
                _ => {
                    given.push(self.whole(input, argument.binding.as_ref()));
                    continue;
                }
            };
            let components = (0..).zip(members).map(|(index, member)| {
                let value = self.value(Expression::AccessIndex { base: input, index });
                self.whole(value, member.binding.as_ref())
            });
            let components = components.collect();
            given.push(self.value(Expression::Compose { ty: argument.ty, components }));
        }
        let mut function = self.function;
        function.arguments = arguments;
        function.body.push(Statement::Call { function: inner, arguments: given, result: None }, Span::UNDEFINED);
        function.body.push(Statement::Return { value: None }, Span::UNDEFINED);
        function
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_within_their_limit_and_cover_a_grid_once() {
        for (grid, most) in [
            ([7, 5, 3], 1),
            ([7, 5, 3], 4),
            ([7, 5, 3], 7),
            ([7, 5, 3], 20),
            ([7, 5, 3], 70),
            ([7, 5, 3], 1000),
            ([1, 1, 9], 2),
            ([1, 9, 1], 4),
        ] {
            let mut seen = vec![0; (grid[0] * grid[1] * grid[2]) as usize];
            let all: Vec<_> = slices(grid, most).collect();
            for slice in &all {
                assert!(slice.groups() <= most, "{slice:?} of {most}");
                for z in 0..slice.size[2] {
                    for y in 0..slice.size[1] {
                        for x in 0..slice.size[0] {
                            let at = [x + slice.base[0], y + slice.base[1], z + slice.base[2]];
                            seen[((at[2] * grid[1] + at[1]) * grid[0] + at[0]) as usize] += 1;
                        }
                    }
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{grid:?} by {most}");
            assert!(all.iter().rev().skip(1).all(|slice| !slice.last) && all.last().is_some_and(|slice| slice.last));
        }
        assert_eq!(slices([0, 1, 1], 4).count(), 0);
    }
}
