//! Subgroup operations: a cut between runs, like a barrier, where values cross from one invocation to another.
//!
//! A workgroup's invocations are cut into subgroups of [`SUBGROUP_SIZE`] by their index; the last one has what is left. An operation is
//! reached by all invocations (creation has checked that), so its argument lies in the frames of all of them when it is: as arrays, one
//! per scalar. The operation makes arrays of results out of these, which later runs load like any other value; what a subgroup has in
//! common is there once for each subgroup. What is computed is in `lanes`.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use naga::{CollectiveOperation, Direction, GatherMode, Statement, SubgroupOperation};

use super::emitter::{Emitter, Spill, trusted};
use super::lanes::{self, QuadBroadcast, Shuffle, ShuffleDown, ShuffleUp, ShuffleXor};
use super::layout::Scalar;
use super::program::{FrameId, Resolved, ValueRef};
use super::stop::{Result, Stop};
use super::value::{Parts, Place, Val};

/// Invocations of a subgroup. As many as most kernels are written for; and so many subgroups of so many are a workgroup of the largest
/// size, so that what the subgroups of a workgroup have found fits into one more operation. A multiple of the lanes that vector code
/// would have.
pub(crate) const SUBGROUP_SIZE: u32 = 32;

/// One operation of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    operation: Operation,
    pub(super) argument: Option<ValueRef>,
    /// The id, distance or mask.
    pub(super) index: Option<ValueRef>,
    pub(super) result: ValueRef,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Ballot,
    Collective(SubgroupOperation, CollectiveOperation),
    Gather(GatherMode),
}

impl Exchange {
    /// The operation of a statement, if it is one.
    pub(super) fn of(statement: &Statement, frame: FrameId) -> Option<Self> {
        let at = |expr| ValueRef { frame, expr };
        Some(match *statement {
            Statement::SubgroupBallot { result, predicate } => {
                Self { operation: Operation::Ballot, argument: predicate.map(at), index: None, result: at(result) }
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let operation = Operation::Collective(op, collective_op);
                Self { operation, argument: Some(at(argument)), index: None, result: at(result) }
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let index = match mode {
                    GatherMode::Broadcast(index)
                    | GatherMode::Shuffle(index)
                    | GatherMode::ShuffleDown(index)
                    | GatherMode::ShuffleUp(index)
                    | GatherMode::ShuffleXor(index)
                    | GatherMode::QuadBroadcast(index) => Some(at(index)),
                    GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
                };
                Self { operation: Operation::Gather(mode), argument: Some(at(argument)), index, result: at(result) }
            }
            _ => return None,
        })
    }

    /// How many invocations share a result.
    fn shared_by(&self) -> u32 {
        match self.operation {
            Operation::Ballot
            | Operation::Collective(_, CollectiveOperation::Reduce)
            | Operation::Gather(GatherMode::BroadcastFirst | GatherMode::Broadcast(_)) => SUBGROUP_SIZE,
            Operation::Collective(..) | Operation::Gather(_) => 1,
        }
    }

    /// What it needs of earlier runs.
    pub(super) fn operands(&self) -> impl Iterator<Item = ValueRef> {
        [self.argument, self.index].into_iter().flatten()
    }
}

/// One scalar of all invocations, as neighbours in memory.
type Lanes = (Type, Place);

impl Emitter<'_> {
    /// Emits an operation. `run` is its number among the runs.
    pub(super) fn exchange(&mut self, exchange: &Exchange, run: u32) -> Result<()> {
        let number = self.program.number(exchange.result) as usize;
        if !self.plan.spilled[number] {
            // Nobody looks at the result.
            return Ok(());
        }
        let before = self.work();
        let slots = match exchange.operation {
            Operation::Ballot => self.ballot(exchange.argument, run)?,
            Operation::Collective(op, scan) => {
                let scalar = self.scalar(exchange)?;
                let function = lanes::collective(op, scan, scalar).ok_or_else(|| unsupported(scalar))?;
                self.each_part(exchange, run, function, None)?
            }
            Operation::Gather(mode) => self.gather(mode, exchange, run)?,
        };
        self.spills[number] = Some(Spill { template: Val::Parts(Parts::new()), slots, shared_by: exchange.shared_by() });
        let work = (self.work() - before).saturating_add(self.invocations());
        self.cost = self.cost.and_then(|cost| cost.checked_add(work));
        Ok(())
    }

    fn scalar(&self, exchange: &Exchange) -> Result<Scalar> {
        self.shape_of(exchange.argument.ok_or_else(no_argument)?)?.scalar()
    }

    /// Calls a function of `lanes` for each scalar of the argument.
    fn each_part(&mut self, exchange: &Exchange, run: u32, function: usize, operand: Option<Value>) -> Result<Vec<Lanes>> {
        let argument = exchange.argument.ok_or_else(no_argument)?;
        let mut results = Vec::new();
        for lanes in self.lanes(argument, run)? {
            let result = self.array_of(lanes.0, exchange.shared_by())?;
            self.pass(function, lanes, result, operand)?;
            results.push(result);
        }
        Ok(results)
    }

    fn ballot(&mut self, predicate: Option<ValueRef>, run: u32) -> Result<Vec<Lanes>> {
        let predicates = match predicate {
            Some(predicate) => *self.lanes(predicate, run)?.first().ok_or_else(no_argument)?,
            None => self.stage(run, types::I8, &mut |e| Ok(e.bool(true)))?,
        };
        let [mask, zero] = [self.array_of(types::I32, SUBGROUP_SIZE)?, self.array_of(types::I32, SUBGROUP_SIZE)?];
        let start = self.start_of(zero);
        self.zero_memory(start, self.bytes(types::I32, SUBGROUP_SIZE)?);
        self.pass(lanes::ballot as *const () as usize, predicates, mask, None)?;
        Ok(vec![mask, zero, zero, zero])
    }

    fn gather(&mut self, mode: GatherMode, exchange: &Exchange, run: u32) -> Result<Vec<Lanes>> {
        let scalar = self.scalar(exchange)?;
        let (operand, one) = self.operand(mode, exchange.index, run)?;
        let size = scalar.register().bytes();
        let function = match mode {
            GatherMode::BroadcastFirst | GatherMode::Broadcast(_) => lanes::broadcaster(size),
            GatherMode::Shuffle(_) => lanes::mover::<Shuffle>(size, one),
            GatherMode::ShuffleDown(_) => lanes::mover::<ShuffleDown>(size, one),
            GatherMode::ShuffleUp(_) => lanes::mover::<ShuffleUp>(size, one),
            GatherMode::ShuffleXor(_) | GatherMode::QuadSwap(_) => lanes::mover::<ShuffleXor>(size, one),
            GatherMode::QuadBroadcast(_) => lanes::mover::<QuadBroadcast>(size, one),
        };
        self.each_part(exchange, run, function.ok_or_else(|| unsupported(scalar))?, Some(operand))
    }

    /// The id, distance or mask of a gather, and whether it is one for all rather than the address of an array.
    fn operand(&mut self, mode: GatherMode, index: Option<ValueRef>, run: u32) -> Result<(Value, bool)> {
        let fixed = match mode {
            GatherMode::BroadcastFirst => 0,
            GatherMode::QuadSwap(Direction::X) => 1,
            GatherMode::QuadSwap(Direction::Y) => 2,
            GatherMode::QuadSwap(Direction::Diagonal) => 3,
            _ => {
                let index = index.ok_or_else(no_argument)?;
                // The id of a broadcast is constant, so the first invocation's is everybody's.
                let constant = matches!(mode, GatherMode::Broadcast(_) | GatherMode::QuadBroadcast(_));
                if constant || self.is_one_for_all(index) {
                    return Ok((self.value(index)?.scalar()?, true));
                }
                let lanes = self.lanes(index, run)?;
                let lanes = *lanes.first().ok_or_else(no_argument)?;
                return Ok((self.start_of(lanes), false));
            }
        };
        Ok((self.int(fixed), true))
    }

    /// Whether a value is computed once for the workgroup, or constant.
    fn is_one_for_all(&self, value: ValueRef) -> bool {
        match self.program.resolve(value) {
            Resolved::Value(number) => self.plan.uniform.values[number as usize],
            Resolved::Anywhere(origin) => matches!(
                self.program.expression(origin),
                naga::Expression::Literal(_) | naga::Expression::Constant(_) | naga::Expression::ZeroValue(_)
            ),
        }
    }

    /// The scalars of a value of all invocations, as arrays.
    fn lanes(&mut self, value: ValueRef, run: u32) -> Result<Vec<Lanes>> {
        let kept = match self.program.resolve(value) {
            Resolved::Value(number) => self.spills[number as usize].clone().map(|spill| (number, spill)),
            Resolved::Anywhere(_) => None,
        };
        if let Some((_, spill)) = &kept
            && spill.shared_by == 1
            && spill.slots.iter().all(|(ty, place)| place.stride == ty.bytes())
        {
            return Ok(spill.slots.clone());
        }
        let shape = self.shape_of(value)?;
        let ty = shape.scalar()?.register();
        let mut arrays = Vec::new();
        for part in 0..shape.width() {
            let array = self.stage(run, ty, &mut |e| {
                let value = match &kept {
                    Some((number, _)) => e.reload(*number)?,
                    None => e.value(value)?,
                };
                value.parts()?.get(part).copied().ok_or_else(|| Stop::bug("a part out of range"))
            })?;
            arrays.push(array);
        }
        Ok(arrays)
    }

    /// An array made of what `f` computes for each invocation.
    fn stage(&mut self, run: u32, ty: Type, f: &mut dyn FnMut(&mut Self) -> Result<Value>) -> Result<Lanes> {
        let lanes = self.array_of(ty, 1)?;
        let outside = self.invocation;
        let before = self.work();
        let sweep = self.open_sweep()?;
        self.run = Some(run);
        let value = f(self)?;
        let address = self.place_address(lanes.1);
        self.b.ins().store(trusted(), value, address, lanes.1.offset as i32);
        self.run = None;
        self.close_sweep(sweep);
        self.invocation = outside;
        let further = (self.work() - before).saturating_mul(self.invocations().saturating_sub(1));
        self.extra = self.extra.saturating_add(further);
        Ok(lanes)
    }

    /// Room for one scalar of each `shared_by` invocations.
    fn array_of(&mut self, ty: Type, shared_by: u32) -> Result<Lanes> {
        let offset = self.reserve(u64::from(self.bytes(ty, shared_by)?))?;
        Ok((ty, Place { offset, stride: ty.bytes() }))
    }

    fn bytes(&self, ty: Type, shared_by: u32) -> Result<u32> {
        let count = self.invocations().div_ceil(u64::from(shared_by));
        let bytes = count.checked_mul(u64::from(ty.bytes())).and_then(|bytes| u32::try_from(bytes).ok());
        bytes.ok_or_else(|| Stop::bug("too many invocations"))
    }

    fn start_of(&mut self, (_, place): Lanes) -> Value {
        self.b.ins().iadd_imm_s(self.entry.scratch, i64::from(place.offset))
    }

    /// Calls a function of `lanes`.
    fn pass(&mut self, function: usize, values: Lanes, results: Lanes, operand: Option<Value>) -> Result<()> {
        let count = i64::try_from(self.invocations()).map_err(|_| Stop::bug("too many invocations"))?;
        let mut arguments = Parts::from_slice(&[self.start_of(values), self.start_of(results), self.int(count)]);
        arguments.extend(operand);
        self.call(function, &arguments, None);
        Ok(())
    }

    /// The index of the invocation in its subgroup, and of that in the workgroup.
    pub(super) fn subgroup_lane(&mut self) -> Value {
        let index = self.invocation_index();
        self.b.ins().band_imm_u(index, i64::from(SUBGROUP_SIZE - 1))
    }

    pub(super) fn subgroup_id(&mut self) -> Value {
        let index = self.invocation_index();
        self.b.ins().ushr_imm_u(index, i64::from(SUBGROUP_SIZE.trailing_zeros()))
    }

    pub(super) fn subgroup_count(&mut self) -> Value {
        let count = self.invocations().div_ceil(u64::from(SUBGROUP_SIZE));
        self.int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn invocation_index(&mut self) -> Value {
        let index = self.invocation.index;
        self.b.ins().ireduce(types::I32, index)
    }
}

fn no_argument() -> Stop {
    Stop::bug("a subgroup operation without an argument")
}

fn unsupported(scalar: Scalar) -> Stop {
    Stop::unsupported(format_args!("this subgroup operation on {scalar:?}"))
}
