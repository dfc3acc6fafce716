//! Subgroup operations, in the words of GL_KHR_shader_subgroup. What the IR has no operation for is made of those that it has, for subgroups of up to 128
//! invocations.

use naga::{
    BinaryOperator as Op, BuiltIn, CollectiveOperation as Collective, Direction, Expression, GatherMode, Handle, Literal,
    MathFunction as Math, Statement, SubgroupOperation as Operation,
};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::Expr;
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{BOOL, Scalar, Ty, UINT};

/// What the lanes of a ballot are compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lanes {
    Equal,
    AtLeast,
    Above,
    AtMost,
    Below,
}

const MASK: Ty = Ty::Vector(Scalar::Uint, 4);
/// No subgroup of any device is larger.
const MOST: u32 = 128;

/// A reduction or scan by its name.
fn collective(name: &str) -> Option<(Operation, Collective)> {
    let rest = name.strip_prefix("subgroup")?;
    let (rest, scan) = match (rest.strip_prefix("Inclusive"), rest.strip_prefix("Exclusive")) {
        (Some(rest), _) => (rest, Collective::InclusiveScan),
        (_, Some(rest)) => (rest, Collective::ExclusiveScan),
        _ => (rest, Collective::Reduce),
    };
    let operation = match rest {
        "Add" => Operation::Add,
        "Mul" => Operation::Mul,
        "Min" => Operation::Min,
        "Max" => Operation::Max,
        "And" => Operation::And,
        "Or" => Operation::Or,
        "Xor" => Operation::Xor,
        _ => return None,
    };
    Some((operation, scan))
}

/// An input that is made of the number of the lane.
fn mask(name: &str) -> Option<Lanes> {
    Some(match name {
        "gl_SubgroupEqMask" => Lanes::Equal,
        "gl_SubgroupGeMask" => Lanes::AtLeast,
        "gl_SubgroupGtMask" => Lanes::Above,
        "gl_SubgroupLeMask" => Lanes::AtMost,
        "gl_SubgroupLtMask" => Lanes::Below,
        _ => return None,
    })
}

impl Lower<'_> {
    /// A mask of lanes as an input; `None` when it is another name.
    pub(super) fn mask_input(&mut self, name: &str, at: At) -> Lowered<Option<Value>> {
        match mask(name) {
            Some(lanes) => self.lanes_mask(lanes, at).map(Some),
            None => Ok(None),
        }
    }

    /// A call of a function whose name begins with `subgroup`.
    pub(super) fn subgroup(&mut self, name: &str, arguments: &[Expr], at: At) -> Lowered<Value> {
        if let Some(barrier) = barrier(name) {
            if !arguments.is_empty() {
                return Err(Wrong::new(format!("`{name}` takes no arguments"), at));
            }
            self.push(barrier, at);
            return Ok(self.nothing(at));
        }
        let values = self.each(arguments, |lower, argument| lower.rvalue(argument))?;
        let made = match (name, values.as_slice()) {
            ("subgroupElect", []) => Some(self.elect(at)),
            (_, [value]) => self.subgroup_of_one(name, value, at)?,
            (_, [value, second]) => {
                let known = match arguments.get(1) {
                    Some(expr) => self.fold(expr)?.and_then(|c| c.integer()).and_then(|n| u32::try_from(n).ok()),
                    None => None,
                };
                self.subgroup_of_two(name, value, second, known, at)?
            }
            _ => None,
        };
        match made {
            Some(made) => Ok(made),
            None if is_known(name) => {
                let spelled: Vec<String> = values.iter().map(|v| self.spell(&v.ty)).collect();
                Err(Wrong::new(format!("there is no function `{name}({})`", spelled.join(", ")), at))
            }
            None => Err(Wrong::not_supported(&format!("subgroup operations like `{name}`"), at)),
        }
    }

    fn subgroup_of_one(&mut self, name: &str, value: &Value, at: At) -> Lowered<Option<Value>> {
        if let Some((operation, scan)) = collective(name) {
            return self.collective(operation, scan, value, at);
        }
        Ok(match (name, &value.ty) {
            ("subgroupAll", &BOOL) => Some(self.reduce(Operation::All, Collective::Reduce, value, at)),
            ("subgroupAny", &BOOL) => Some(self.reduce(Operation::Any, Collective::Reduce, value, at)),
            ("subgroupAllEqual", ty) if ty.width().is_some() => {
                let first = self.gather(GatherMode::BroadcastFirst, value, at);
                let same = self.same(value, &first, at)?;
                Some(self.reduce(Operation::All, Collective::Reduce, &same, at))
            }
            ("subgroupBroadcastFirst", ty) if ty.width().is_some() => Some(self.gather(GatherMode::BroadcastFirst, value, at)),
            ("subgroupQuadSwapHorizontal", ty) if ty.width().is_some() => {
                Some(self.gather(GatherMode::QuadSwap(Direction::X), value, at))
            }
            ("subgroupQuadSwapVertical", ty) if ty.width().is_some() => {
                Some(self.gather(GatherMode::QuadSwap(Direction::Y), value, at))
            }
            ("subgroupQuadSwapDiagonal", ty) if ty.width().is_some() => {
                Some(self.gather(GatherMode::QuadSwap(Direction::Diagonal), value, at))
            }
            ("subgroupBallot", &BOOL) => {
                let result = self.result_of(Expression::SubgroupBallotResult, at);
                self.push(Statement::SubgroupBallot { result, predicate: Some(value.handle) }, at);
                Some(Value { handle: result, ty: MASK })
            }
            (_, &MASK) => self.of_ballot(name, value, at)?,
            _ => None,
        })
    }

    /// Functions of a mask of lanes.
    fn of_ballot(&mut self, name: &str, ballot: &Value, at: At) -> Lowered<Option<Value>> {
        let which = match name {
            "subgroupInverseBallot" => {
                let lane = self.lane(at)?;
                return Ok(Some(self.bit(ballot, &lane, at)));
            }
            "subgroupBallotInclusiveBitCount" => self.lanes_mask(Lanes::AtMost, at)?,
            "subgroupBallotExclusiveBitCount" => self.lanes_mask(Lanes::Below, at)?,
            "subgroupBallotBitCount" | "subgroupBallotFindLSB" | "subgroupBallotFindMSB" => self.all_lanes(at)?,
            _ => return Ok(None),
        };
        let masked = self.op(Op::And, ballot, &which, MASK, at);
        Ok(Some(match name {
            "subgroupBallotFindLSB" => self.find_bit(&masked, Math::FirstTrailingBit, &[3, 2, 1, 0], at),
            "subgroupBallotFindMSB" => self.find_bit(&masked, Math::FirstLeadingBit, &[0, 1, 2, 3], at),
            _ => {
                let counts = self.math(Math::CountOneBits, &[&masked], MASK, at);
                let mut sum = self.extract(&counts, 0, UINT, at);
                for index in 1..4 {
                    let next = self.extract(&counts, index, UINT, at);
                    sum = self.op(Op::Add, &sum, &next, UINT, at);
                }
                sum
            }
        }))
    }

    /// The bit that the last of these words with any has.
    fn find_bit(&mut self, mask: &Value, find: Math, order: &[u32], at: At) -> Value {
        let zero = self.uint(0, at);
        let mut found = self.uint(u32::MAX, at);
        for &index in order {
            let word = self.extract(mask, index, UINT, at);
            let bit = self.math(find, &[&word], UINT, at);
            let base = self.uint(32 * index, at);
            let bit = self.op(Op::Add, &bit, &base, UINT, at);
            let has = self.op(Op::NotEqual, &word, &zero, BOOL, at);
            found = self.select_value(&has, &bit, &found, at);
        }
        found
    }

    fn subgroup_of_two(
        &mut self,
        name: &str,
        value: &Value,
        second: &Value,
        known: Option<u32>,
        at: At,
    ) -> Lowered<Option<Value>> {
        if !matches!(second.ty, Ty::Scalar(Scalar::Int | Scalar::Uint)) || value.ty.width().is_none() {
            return Ok(None);
        }
        let index = self.cast(second, Scalar::Uint, at);
        if name == "subgroupBallotBitExtract" {
            return Ok((value.ty == MASK).then(|| self.bit(value, &index, at)));
        }
        let fixed = |lower: &mut Self, number: u32| lower.literal(Literal::U32(number), at);
        let mode = match (name, known) {
            ("subgroupBroadcast", Some(id)) => GatherMode::Broadcast(fixed(self, id)),
            ("subgroupQuadBroadcast", Some(id)) => GatherMode::QuadBroadcast(fixed(self, id)),
            ("subgroupQuadBroadcast", None) => return Err(Wrong::new("the id of `subgroupQuadBroadcast` is a constant", at)),
            ("subgroupBroadcast" | "subgroupShuffle", _) => GatherMode::Shuffle(index.handle),
            ("subgroupShuffleXor", Some(mask)) => GatherMode::ShuffleXor(fixed(self, mask)),
            ("subgroupShuffleUp", Some(by)) => GatherMode::ShuffleUp(fixed(self, by)),
            ("subgroupShuffleDown", Some(by)) => GatherMode::ShuffleDown(fixed(self, by)),
            // The IR's own take only what is the same for a subgroup; here each invocation may ask for another lane.
            ("subgroupShuffleXor" | "subgroupShuffleUp" | "subgroupShuffleDown", None) => {
                let lane = self.lane(at)?;
                let op = match name {
                    "subgroupShuffleXor" => Op::ExclusiveOr,
                    "subgroupShuffleUp" => Op::Subtract,
                    _ => Op::Add,
                };
                let by = if op == Op::ExclusiveOr {
                    index
                } else {
                    // So far away is nobody, and from there nothing comes back to a lane by wrapping.
                    let most = self.uint(MOST, at);
                    self.math(Math::Min, &[&index, &most], UINT, at)
                };
                GatherMode::Shuffle(self.op(op, &lane, &by, UINT, at).handle)
            }
            _ => return Ok(None),
        };
        Ok(Some(self.gather(mode, value, at)))
    }

    /// The number of the invocation in its subgroup.
    fn lane(&mut self, at: At) -> Lowered<Value> {
        self.input_value(BuiltIn::SubgroupInvocationId, "gl_SubgroupInvocationID", UINT, at)
    }

    fn elect(&mut self, at: At) -> Value {
        // Nobody is inactive where subgroup operations are allowed: the first one has none before it.
        let one = self.uint(1, at);
        let before = self.reduce(Operation::Add, Collective::ExclusiveScan, &one, at);
        let zero = self.uint(0, at);
        self.op(Op::Equal, &before, &zero, BOOL, at)
    }

    fn reduce(&mut self, op: Operation, collective_op: Collective, value: &Value, at: At) -> Value {
        let ty = self.value_type(&value.ty);
        let result = self.result_of(Expression::SubgroupOperationResult { ty }, at);
        self.push(Statement::SubgroupCollectiveOperation { op, collective_op, argument: value.handle, result }, at);
        Value { handle: result, ty: value.ty.clone() }
    }

    /// A value of another lane. Those of `bool` travel as numbers.
    fn gather(&mut self, mode: GatherMode, value: &Value, at: At) -> Value {
        let bools = value.ty.scalar() == Some(Scalar::Bool);
        let sent = if bools { self.cast(value, Scalar::Uint, at) } else { value.clone() };
        let ty = self.value_type(&sent.ty);
        let result = self.result_of(Expression::SubgroupOperationResult { ty }, at);
        self.push(Statement::SubgroupGather { mode, argument: sent.handle, result }, at);
        let got = Value { handle: result, ty: sent.ty };
        if bools { self.cast(&got, Scalar::Bool, at) } else { got }
    }

    fn collective(&mut self, op: Operation, scan: Collective, value: &Value, at: At) -> Lowered<Option<Value>> {
        let Some(scalar) = value.ty.scalar().filter(|_| value.ty.width().is_some()) else { return Ok(None) };
        let bits = matches!(op, Operation::And | Operation::Or | Operation::Xor);
        let fits = if bits { value.ty.is_integer() || scalar == Scalar::Bool } else { scalar != Scalar::Bool };
        if !fits {
            return Ok(None);
        }
        // Operators on bits want words.
        let word = match scalar {
            Scalar::Bool => Some(Scalar::Uint),
            Scalar::Int16 if bits => Some(Scalar::Int),
            Scalar::Uint16 if bits => Some(Scalar::Uint),
            _ => None,
        };
        let inner = word.map_or_else(|| value.clone(), |word| self.cast(value, word, at));
        let native = scan == Collective::Reduce || matches!(op, Operation::Add | Operation::Mul);
        let made = if native { self.reduce(op, scan, &inner, at) } else { self.scan(op, scan, &inner, at)? };
        Ok(Some(if word.is_some() { self.cast(&made, scalar, at) } else { made }))
    }

    /// A scan that the IR has no operation for: each step takes in twice as many lanes.
    fn scan(&mut self, op: Operation, scan: Collective, value: &Value, at: At) -> Lowered<Value> {
        let lane = self.lane(at)?;
        let mut sum = value.clone();
        let mut distance = 1;
        while distance < MOST {
            let by = self.literal(Literal::U32(distance), at);
            let other = self.gather(GatherMode::ShuffleUp(by), &sum, at);
            let both = self.combine(op, &other, &sum, at);
            let least = self.uint(distance, at);
            let there = self.op(Op::GreaterEqual, &lane, &least, BOOL, at);
            sum = self.select_value(&there, &both, &sum, at);
            distance *= 2;
        }
        if scan == Collective::InclusiveScan {
            return Ok(sum);
        }
        let by = self.literal(Literal::U32(1), at);
        let before = self.gather(GatherMode::ShuffleUp(by), &sum, at);
        let neutral = self.neutral(op, &value.ty, at);
        let zero = self.uint(0, at);
        let first = self.op(Op::Equal, &lane, &zero, BOOL, at);
        Ok(self.select_value(&first, &neutral, &before, at))
    }

    fn combine(&mut self, op: Operation, left: &Value, right: &Value, at: At) -> Value {
        let ty = left.ty.clone();
        match op {
            Operation::Min => self.math(Math::Min, &[left, right], ty, at),
            Operation::Max => self.math(Math::Max, &[left, right], ty, at),
            Operation::And => self.op(Op::And, left, right, ty, at),
            Operation::Or => self.op(Op::InclusiveOr, left, right, ty, at),
            _ => self.op(Op::ExclusiveOr, left, right, ty, at),
        }
    }

    /// What changes nothing.
    fn neutral(&mut self, op: Operation, ty: &Ty, at: At) -> Value {
        let scalar = ty.scalar().unwrap_or(Scalar::Uint);
        let one = match (op, scalar.kind()) {
            (Operation::Min | Operation::Max, naga::ScalarKind::Float) => {
                let bits = self.uint(if op == Operation::Min { 0x7f80_0000 } else { 0xff80_0000 }, at);
                let infinity = self.bitcast(&bits, Scalar::Float, at);
                self.cast(&infinity, scalar, at)
            }
            (Operation::Min, _) => self.greatest(scalar, at),
            (Operation::Max, naga::ScalarKind::Sint) => {
                let greatest = self.greatest(scalar, at);
                self.complement(&greatest, at)
            }
            (Operation::And, _) => {
                let zero = self.small(scalar, 0, at);
                self.complement(&zero, at)
            }
            _ => self.small(scalar, 0, at),
        };
        self.splat(one, ty.width().unwrap_or(1), at)
    }

    /// The greatest number of an integer type.
    fn greatest(&mut self, scalar: Scalar, at: At) -> Value {
        let zero = self.small(scalar, 0, at);
        let ones = self.complement(&zero, at);
        if scalar.kind() == naga::ScalarKind::Uint {
            return ones;
        }
        let unsigned = self.bitcast(&ones, scalar.integer(false), at);
        let by = self.uint(1, at);
        let half = self.op(Op::ShiftRight, &unsigned, &by, unsigned.ty.clone(), at);
        self.bitcast(&half, scalar, at)
    }

    fn complement(&mut self, value: &Value, at: At) -> Value {
        let unary = Expression::Unary { op: naga::UnaryOperator::BitwiseNot, expr: value.handle };
        self.value(unary, value.ty.clone(), at)
    }

    pub(super) fn select_value(&mut self, condition: &Value, accept: &Value, reject: &Value, at: At) -> Value {
        let condition = self.splat(condition.clone(), accept.ty.width().unwrap_or(1), at);
        let select = Expression::Select { condition: condition.handle, accept: accept.handle, reject: reject.handle };
        self.value(select, accept.ty.clone(), at)
    }

    /// Whether a lane's bit is set.
    fn bit(&mut self, mask: &Value, lane: &Value, at: At) -> Value {
        let (words, bits) = (self.uint(5, at), self.uint(31, at));
        let word = self.op(Op::ShiftRight, lane, &words, UINT, at);
        // Past all lanes the last word is looked at, where the bit is another's: no subgroup has them.
        let three = self.uint(3, at);
        let word = self.math(Math::Min, &[&word, &three], UINT, at);
        let word = self.value(Expression::Access { base: mask.handle, index: word.handle }, UINT, at);
        let shift = self.op(Op::And, lane, &bits, UINT, at);
        let bit = self.op(Op::ShiftRight, &word, &shift, UINT, at);
        let one = self.uint(1, at);
        let bit = self.op(Op::And, &bit, &one, UINT, at);
        let zero = self.uint(0, at);
        self.op(Op::NotEqual, &bit, &zero, BOOL, at)
    }

    fn all_lanes(&mut self, at: At) -> Lowered<Value> {
        let size = self.input_value(BuiltIn::SubgroupSize, "gl_SubgroupSize", UINT, at)?;
        Ok(self.first_lanes(&size, at))
    }

    /// A mask of so many lanes, from the first.
    fn first_lanes(&mut self, count: &Value, at: At) -> Value {
        let (one, whole, ones) = (self.uint(1, at), self.uint(32, at), self.uint(u32::MAX, at));
        let mut components: Vec<Handle<Expression>> = Vec::new();
        for base in [0, 32, 64, 96] {
            let base = self.uint(base, at);
            let above = self.math(Math::Max, &[count, &base], UINT, at);
            let here = self.op(Op::Subtract, &above, &base, UINT, at);
            let power = self.op(Op::ShiftLeft, &one, &here, UINT, at);
            let some = self.op(Op::Subtract, &power, &one, UINT, at);
            let full = self.op(Op::GreaterEqual, &here, &whole, BOOL, at);
            components.push(self.select_value(&full, &ones, &some, at).handle);
        }
        let ty = self.value_type(&MASK);
        self.value(Expression::Compose { ty, components }, MASK, at)
    }

    fn lanes_mask(&mut self, lanes: Lanes, at: At) -> Lowered<Value> {
        let lane = self.lane(at)?;
        let one = self.uint(1, at);
        let next = self.op(Op::Add, &lane, &one, UINT, at);
        let (below, up_to) = (self.first_lanes(&lane, at), self.first_lanes(&next, at));
        let all = self.all_lanes(at)?;
        Ok(match lanes {
            Lanes::Below => below,
            Lanes::AtMost => up_to,
            Lanes::Equal => self.op(Op::ExclusiveOr, &up_to, &below, MASK, at),
            Lanes::AtLeast => self.op(Op::ExclusiveOr, &all, &below, MASK, at),
            Lanes::Above => self.op(Op::ExclusiveOr, &all, &up_to, MASK, at),
        })
    }
}

fn barrier(name: &str) -> Option<Statement> {
    let both = naga::Barrier::STORAGE | naga::Barrier::WORK_GROUP;
    Some(match name {
        "subgroupBarrier" => Statement::ControlBarrier(naga::Barrier::SUB_GROUP),
        "subgroupMemoryBarrier" => Statement::MemoryBarrier(both),
        "subgroupMemoryBarrierBuffer" | "subgroupMemoryBarrierImage" => Statement::MemoryBarrier(naga::Barrier::STORAGE),
        "subgroupMemoryBarrierShared" => Statement::MemoryBarrier(naga::Barrier::WORK_GROUP),
        _ => return None,
    })
}

/// Whether the name is one of those above, so that its arguments are what is wrong.
fn is_known(name: &str) -> bool {
    let others = [
        "subgroupElect",
        "subgroupAll",
        "subgroupAny",
        "subgroupAllEqual",
        "subgroupBroadcast",
        "subgroupBroadcastFirst",
        "subgroupBallot",
        "subgroupInverseBallot",
        "subgroupBallotBitExtract",
        "subgroupBallotBitCount",
        "subgroupBallotInclusiveBitCount",
        "subgroupBallotExclusiveBitCount",
        "subgroupBallotFindLSB",
        "subgroupBallotFindMSB",
        "subgroupShuffle",
        "subgroupShuffleXor",
        "subgroupShuffleUp",
        "subgroupShuffleDown",
        "subgroupQuadBroadcast",
        "subgroupQuadSwapHorizontal",
        "subgroupQuadSwapVertical",
        "subgroupQuadSwapDiagonal",
    ];
    collective(name).is_some() || others.contains(&name)
}
