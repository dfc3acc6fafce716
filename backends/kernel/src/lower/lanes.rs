//! Values from other lanes of a subgroup, for targets that leave open what comes from a lane that is not there: here it is zero (L12).
//!
//! A lane keeps its number in a private variable, so that functions need no hidden parameter.

use naga::{
    AddressSpace, BinaryOperator, Block, BuiltIn, Direction, Expression, Function, GatherMode, GlobalVariable, Handle, Literal,
    MemoryDecorations, Module, Scalar, ScalarKind, Span, Statement, Type, TypeInner,
};

use super::build::{Types, Writer};
use super::cut::Rewriter;
use super::find_input;
use crate::walk;

/// No subgroup is larger: a ballot has so many bits.
const MOST: u32 = 128;

/// Whether anything looks at another lane's value.
pub(super) fn are_looked_at(module: &Module, entry: &Function) -> bool {
    let mut found = false;
    for function in module.functions.iter().map(|(_, function)| function).chain([entry]) {
        walk::statements(&function.body, &mut |statement| found |= matches!(statement, Statement::SubgroupGather { .. }));
    }
    found
}

/// Where a lane keeps its number.
pub(super) fn variable(module: &mut Module) -> Handle<GlobalVariable> {
    let ty = Types::new(&mut module.types).word;
    let variable = GlobalVariable {
        name: Some("compute_lane".into()),
        space: AddressSpace::Private,
        binding: None,
        ty,
        init: None,
        memory_decorations: MemoryDecorations::empty(),
    };
    module.global_variables.append(variable, Span::UNDEFINED)
}

/// Has an entry point begin with storing its lane.
pub(super) fn store_own(module: &mut Module, entry: &mut Function, lane: Handle<GlobalVariable>) {
    let ty = Types::new(&mut module.types).word;
    let (position, member) = find_input(module, entry, BuiltIn::SubgroupInvocationId, ("compute_lane", ty));
    let signed = |ty: Handle<Type>| module.types[ty].inner == TypeInner::Scalar(Scalar::I32);
    let given = entry.arguments.get(position as usize).map_or(ty, |argument| argument.ty);
    let given = match (&module.types[given].inner, member) {
        (TypeInner::Struct { members, .. }, Some(member)) => members.get(member as usize).map_or(ty, |member| member.ty),
        _ => given,
    };
    let mut writer = Writer::new(&mut entry.expressions, Span::UNDEFINED);
    let mut own = writer.add(Expression::FunctionArgument(position));
    if let Some(member) = member {
        own = writer.part(own, member);
    }
    if signed(given) {
        own = writer.add(Expression::As { expr: own, kind: ScalarKind::Uint, convert: None });
    }
    let place = writer.add(Expression::GlobalVariable(lane));
    writer.store(place, own);
    let mut body = writer.block;
    body.append(&mut std::mem::take(&mut entry.body));
    entry.body = body;
}

impl Rewriter<'_, '_> {
    /// Takes a value from another lane, or zero where that is not there.
    pub(super) fn gather(
        &mut self,
        (mode, argument, result): (GatherMode, Handle<Expression>, Handle<Expression>),
        span: Span,
        out: &mut Block,
    ) {
        let (Some(lane), Some(ty)) = (self.cut.lane, self.ty(result)) else { return };
        let scalar = |at: Handle<Expression>| self.view.as_ref().and_then(|view| view.scalar(at)).unwrap_or(Scalar::U32);
        let given = match mode {
            GatherMode::Broadcast(at)
            | GatherMode::Shuffle(at)
            | GatherMode::ShuffleDown(at)
            | GatherMode::ShuffleUp(at)
            | GatherMode::ShuffleXor(at)
            | GatherMode::QuadBroadcast(at) => Some((at, scalar(at))),
            GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
        };
        let made = self.out.expressions[result].clone();
        let function = self.cut.giver(ty);
        let mut writer = Writer::new(&mut self.out.expressions, span);
        let there = other_lane(&mut writer, mode, given, lane).map(|other| is_there(&mut writer, other));
        let taken = writer.add(made);
        writer.push(Statement::SubgroupGather { mode, argument, result: taken });
        let value = match there {
            Some(there) => {
                let zero = writer.add(Expression::ZeroValue(ty));
                writer.select(there, taken, zero)
            }
            None => taken,
        };
        writer.push(Statement::Call { function, arguments: vec![value], result: Some(result) });
        out.append(&mut writer.block);
        self.out.expressions[result] = Expression::CallResult(function);
    }
}

/// The lane that a value comes from; `None` when it is certainly there.
fn other_lane(
    writer: &mut Writer<'_>,
    mode: GatherMode,
    given: Option<(Handle<Expression>, Scalar)>,
    lane: Handle<GlobalVariable>,
) -> Option<Handle<Expression>> {
    let place = writer.add(Expression::GlobalVariable(lane));
    let own = writer.load(place);
    let given = given.map(|(at, scalar)| writer.low_word(at, scalar));
    Some(match (mode, given) {
        (GatherMode::Broadcast(_) | GatherMode::Shuffle(_), Some(id)) => id,
        (GatherMode::ShuffleXor(_), Some(mask)) => writer.binary(BinaryOperator::ExclusiveOr, own, mask),
        (GatherMode::ShuffleUp(_) | GatherMode::ShuffleDown(_), Some(distance)) => {
            // So far away is nobody, and from there nothing comes back to a lane by wrapping: what is less than zero becomes larger than any.
            let most = writer.word(MOST);
            let small = writer.binary(BinaryOperator::Less, distance, most);
            let distance = writer.select(small, distance, most);
            let up = matches!(mode, GatherMode::ShuffleUp(_));
            writer.binary(if up { BinaryOperator::Subtract } else { BinaryOperator::Add }, own, distance)
        }
        (GatherMode::QuadBroadcast(_), Some(id)) => {
            let mask = writer.word(!3);
            let first = writer.binary(BinaryOperator::And, own, mask);
            writer.binary(BinaryOperator::Add, first, id)
        }
        (GatherMode::QuadSwap(direction), _) => {
            let mask = writer.word(match direction {
                Direction::X => 1,
                Direction::Y => 2,
                Direction::Diagonal => 3,
            });
            writer.binary(BinaryOperator::ExclusiveOr, own, mask)
        }
        _ => return None,
    })
}

/// Whether a lane of that number takes part.
fn is_there(writer: &mut Writer<'_>, lane: Handle<Expression>) -> Handle<Expression> {
    let ballot = writer.add(Expression::SubgroupBallotResult);
    let yes = writer.add(Expression::Literal(Literal::Bool(true)));
    writer.push(Statement::SubgroupBallot { result: ballot, predicate: Some(yes) });
    let most = writer.word(MOST);
    let fits = writer.binary(BinaryOperator::Less, lane, most);
    let zero = writer.word(0);
    let near = writer.select(fits, lane, zero);
    let (thirty_one, five, one) = (writer.word(31), writer.word(5), writer.word(1));
    let word = writer.binary(BinaryOperator::ShiftRight, near, five);
    let word = writer.add(Expression::Access { base: ballot, index: word });
    let bit = writer.binary(BinaryOperator::And, near, thirty_one);
    let bits = writer.binary(BinaryOperator::ShiftRight, word, bit);
    let bit = writer.binary(BinaryOperator::And, bits, one);
    let set = writer.binary(BinaryOperator::NotEqual, bit, zero);
    writer.binary(BinaryOperator::LogicalAnd, fits, set)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "ends at the first thing that is wrong")]

    use naga::{Arena, UniqueArena};

    use super::*;

    /// The lane that is meant, of the own lane and what the operation is given.
    type Model = fn(u32, u32) -> Option<u32>;

    /// What an expression over the own lane and what the operation is given is worth.
    fn value(all: &Arena<Expression>, at: Handle<Expression>, own: u32, given: u32) -> u32 {
        let of = |at| value(all, at, own, given);
        match all[at] {
            Expression::FunctionArgument(0) => given,
            Expression::Load { .. } => own,
            Expression::Literal(Literal::U32(word)) => word,
            Expression::Select { condition, accept, reject } => of(if of(condition) != 0 { accept } else { reject }),
            Expression::Binary { op, left, right } => match op {
                BinaryOperator::Less => u32::from(of(left) < of(right)),
                BinaryOperator::Add => of(left).wrapping_add(of(right)),
                BinaryOperator::Subtract => of(left).wrapping_sub(of(right)),
                BinaryOperator::ExclusiveOr => of(left) ^ of(right),
                other => panic!("{other:?}"),
            },
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn l12_from_every_distance_comes_the_lane_that_is_there_or_none() {
        let (mut types, mut globals, mut all) = (UniqueArena::new(), Arena::new(), Arena::new());
        let word = types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
        let lane = GlobalVariable {
            name: None,
            space: AddressSpace::Private,
            binding: None,
            ty: word,
            init: None,
            memory_decorations: MemoryDecorations::empty(),
        };
        let lane = globals.append(lane, Span::UNDEFINED);
        let given = all.append(Expression::FunctionArgument(0), Span::UNDEFINED);
        let modes: [(GatherMode, Model); 3] = [
            (GatherMode::ShuffleUp(given), u32::checked_sub),
            (GatherMode::ShuffleDown(given), u32::checked_add),
            (GatherMode::ShuffleXor(given), |own, mask| Some(own ^ mask)),
        ];
        for (mode, expected) in modes {
            let mut writer = Writer::new(&mut all, Span::UNDEFINED);
            let other = other_lane(&mut writer, mode, Some((given, Scalar::U32)), lane).unwrap();
            for own in 0..MOST {
                for given in (0..260).chain([1 << 31, u32::MAX - 300, u32::MAX - 128, u32::MAX - 4, u32::MAX]) {
                    let expected = expected(own, given).filter(|lane| *lane < MOST);
                    let found = Some(value(&all, other, own, given)).filter(|lane| *lane < MOST);
                    assert_eq!(found, expected, "{mode:?} by {given} in lane {own}");
                }
            }
        }
    }
}
