//! The state of a translation, what every piece of it needs, and the entry of the generated function.

use std::rc::Rc;

use compute_kernel::reflection::{Bounds, Reflection};
use cranelift_codegen::ir::{self, AbiParam, Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use naga::{AddressSpace, TypeInner};

use super::data::Tables;
use super::layout::{Layout, Shape};
use super::plan::{Home, Plan};
use super::program::{LocalId, Program, TargetId, ValueRef};
use super::shims::FALLBACK_SIZE;
use super::stop::{Result, Stop};
use super::symbols::Symbols;
use super::value::{Parts, Place, Val};
use super::{BoundRange, Context};

/// Scratch of one worker beyond which a kernel is refused.
const MAX_SCRATCH: u64 = 64 << 20;

/// What a call counts as, in instructions.
const CALL_COST: u64 = 40;

#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) bounds: Bounds,
    pub(super) cancellable: bool,
}

/// What is computed once at the start of the function.
pub(super) struct Entry {
    pub(super) scratch: Value,
    pub(super) immediates: Value,
    pub(super) cancel: Value,
    pub(super) group: [Value; 3],
    pub(super) groups: [Value; 3],
    /// By global variable.
    pub(super) bindings: Vec<Option<BindingValues>>,
}

#[derive(Clone, Copy)]
pub(super) struct BindingValues {
    pub(super) pointer: Value,
    /// Elements of the runtime-sized tail as i64, if there is one.
    pub(super) length: Option<Value>,
}

/// The invocation that code is being made for; the first of the workgroup at the outer level.
#[derive(Clone, Copy)]
pub(super) struct Invocation {
    /// As i64.
    pub(super) index: Value,
    pub(super) local: [Value; 3],
}

/// A variable's storage.
#[derive(Clone)]
pub(super) enum Storage {
    Registers(Rc<[Variable]>),
    Memory(Place),
}

/// A value kept in frames from the run that makes it to those that use it.
#[derive(Clone)]
pub(super) struct Spill {
    pub(super) template: Val,
    pub(super) slots: Vec<(ir::Type, Place)>,
    /// How many invocations, by index, share one copy.
    pub(super) shared_by: u32,
}

pub(super) struct Emitter<'e> {
    pub(super) b: FunctionBuilder<'e>,
    pub(super) program: &'e Program<'e>,
    pub(super) plan: &'e Plan<'e>,
    pub(super) layout: &'e Layout<'e>,
    pub(super) reflection: &'e Reflection,
    pub(super) options: Options,
    call_conv: CallConv,
    pub(super) entry: Entry,
    pub(super) invocation: Invocation,
    /// By value number.
    pub(super) values: Vec<Option<Val>>,
    pub(super) spills: Vec<Option<Spill>>,
    /// By variable.
    pub(super) storage: Vec<Option<Storage>>,
    /// For a variable in registers that lives in frames: its slots.
    pub(super) frames: Vec<Vec<(ir::Type, Place)>>,
    /// By target: its block, while it is open.
    pub(super) targets: Vec<Option<Block>>,
    /// By target: the flags of those that have left early.
    pub(super) flags: Vec<Option<Place>>,
    /// Where an invocation's part of the current run ends; `None` at the outer level.
    pub(super) run_end: Option<Block>,
    /// The current run.
    pub(super) run: Option<u32>,
    /// Returns from the function.
    pub(super) leave: Block,
    /// By global variable: its offset in the scratch.
    workgroup: Vec<Option<u32>>,
    workgroup_end: u32,
    scratch_size: u64,
    /// What the code refers to by address.
    pub(super) tables: Tables,
    pub(super) symbols: Symbols,
    /// Work so far, in instructions; `None` once a loop of unknown length was met.
    pub(super) cost: Option<u64>,
    /// Work of the current invocation beyond the instructions that have been made: further passes of loops, and calls.
    pub(super) extra: u64,
}

/// Loads and stores of memory that is valid and aligned.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Loads of memory that nobody changes while the function runs.
pub(super) fn constant() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl<'e> Emitter<'e> {
    pub(super) fn new(
        mut b: FunctionBuilder<'e>,
        program: &'e Program<'e>,
        plan: &'e Plan<'e>,
        layout: &'e Layout<'e>,
        reflection: &'e Reflection,
        options: Options,
        call_conv: CallConv,
    ) -> Result<Self> {
        let start = b.create_block();
        b.append_block_params_for_function_params(start);
        b.switch_to_block(start);
        let &[context, x, y, z] = b.block_params(start) else { return Err(Stop::bug("parameters of the function")) };
        let entry = emit_entry(&mut b, context, [x, y, z], program, layout, reflection)?;
        let (zero, index) = (b.ins().iconst(types::I32, 0), b.ins().iconst(types::I64, 0));
        let leave = b.create_block();
        let mut emitter = Self {
            b,
            program,
            plan,
            layout,
            reflection,
            options,
            call_conv,
            entry,
            invocation: Invocation { index, local: [zero; 3] },
            values: vec![None; program.values()],
            spills: vec![None; program.values()],
            storage: vec![None; program.locals.len()],
            frames: vec![Vec::new(); program.locals.len()],
            targets: vec![None; program.targets as usize],
            flags: vec![None; program.targets as usize],
            run_end: None,
            run: None,
            leave,
            workgroup: vec![None; program.module.global_variables.len()],
            workgroup_end: FALLBACK_SIZE,
            scratch_size: u64::from(FALLBACK_SIZE),
            tables: Tables::default(),
            symbols: Symbols::default(),
            cost: Some(0),
            extra: 0,
        };
        emitter.place_workgroup_memory()?;
        emitter.place_locals()?;
        Ok(emitter)
    }

    /// The whole body; then the function is complete.
    pub(super) fn body(&mut self) -> Result<()> {
        let size = self.workgroup_end - FALLBACK_SIZE;
        if size > 0 {
            let start = self.b.ins().iadd_imm_s(self.entry.scratch, i64::from(FALLBACK_SIZE));
            self.zero_memory(start, size);
        }
        self.targets[self.program.exit.0 as usize] = Some(self.leave);
        self.reset_flags(self.program.exit)?;
        if self.steps(&self.plan.steps)? {
            self.b.ins().jump(self.leave, &[]);
        }
        self.cost = self.cost.and_then(|c| c.checked_add(self.extra));
        self.b.switch_to_block(self.leave);
        self.b.ins().return_(&[]);
        self.b.seal_all_blocks();
        Ok(())
    }

    /// Bytes of scratch, once the body is complete.
    pub(super) fn scratch_size(&self) -> u64 {
        self.scratch_size
    }

    pub(super) fn invocations(&self) -> u64 {
        self.reflection.invocations()
    }

    /// Reserves scratch, 16-aligned.
    pub(super) fn reserve(&mut self, size: u64) -> Result<u32> {
        let offset = self.scratch_size;
        let end = size.checked_add(15).and_then(|s| offset.checked_add(s & !15)).filter(|end| *end <= MAX_SCRATCH);
        self.scratch_size = end.ok_or_else(|| {
            Stop::refuse(format!(
                "a workgroup needs more than {} MiB for workgroup memory and the variables of its {} invocations; use smaller \
                 arrays or fewer invocations",
                MAX_SCRATCH >> 20,
                self.invocations()
            ))
        })?;
        Ok(offset as u32)
    }

    /// Room for a value or variable: one copy, or one per invocation.
    pub(super) fn place(&mut self, size: u32, per_invocation: bool) -> Result<Place> {
        if !per_invocation {
            return Ok(Place { offset: self.reserve(u64::from(size))?, stride: 0 });
        }
        // Scalars are packed, so that the invocations' are neighbours; anything else keeps its alignment.
        let stride = if size <= 8 { size } else { size.next_multiple_of(16) };
        let all = u64::from(stride).saturating_mul(self.invocations());
        Ok(Place { offset: self.reserve(all)?, stride })
    }

    fn place_workgroup_memory(&mut self) -> Result<()> {
        for (handle, global) in self.program.module.global_variables.iter() {
            if global.space == AddressSpace::WorkGroup && self.is_used(handle) {
                let shape = self.layout.shape(global.ty)?;
                let offset = self.reserve(u64::from(self.layout.size(shape)))?;
                self.workgroup[handle.index()] = Some(offset);
            }
        }
        self.workgroup_end = self.scratch_size as u32;
        Ok(())
    }

    /// Whether the entry point or something it calls reads or writes a global.
    fn is_used(&self, handle: naga::Handle<naga::GlobalVariable>) -> bool {
        self.program.frames.iter().any(|f| !f.info[handle].is_empty())
    }

    pub(super) fn workgroup_offset(&self, handle: naga::Handle<naga::GlobalVariable>) -> Result<u32> {
        self.workgroup[handle.index()].ok_or_else(|| Stop::bug("workgroup memory without a place"))
    }

    fn place_locals(&mut self) -> Result<()> {
        for (index, local) in self.program.locals.iter().enumerate() {
            let framed = match self.plan.homes[index] {
                Home::Nowhere => continue,
                Home::Run(_) | Home::Workgroup => false,
                Home::Frame => true,
            };
            if local.indexed || !self.layout.is_small(local.shape) {
                let place = self.place(self.layout.size(local.shape), framed)?;
                self.storage[index] = Some(Storage::Memory(place));
                continue;
            }
            let mut variables = Vec::new();
            for leaf in self.layout.leaves(local.shape)? {
                let ty = leaf.scalar.register();
                variables.push(self.b.declare_var(ty));
                if framed {
                    let place = self.place(ty.bytes(), true)?;
                    self.frames[index].push((ty, place));
                }
            }
            self.storage[index] = Some(Storage::Registers(variables.into()));
        }
        Ok(())
    }

    pub(super) fn local_storage(&self, local: LocalId) -> Result<Storage> {
        self.storage[local.0 as usize].clone().ok_or_else(|| Stop::bug("a variable without storage"))
    }

    pub(super) fn open(&mut self, target: TargetId, block: Block) {
        self.targets[target.0 as usize] = Some(block);
    }

    pub(super) fn shape_of(&self, value: ValueRef) -> Result<Shape> {
        self.layout.resolve(&self.program.frame(value.frame).info[value.expr].ty)
    }

    pub(super) fn int(&mut self, value: i64) -> Value {
        // The immediate of a 32-bit constant is its zero-extended bits.
        self.b.ins().iconst(types::I32, i64::from(value as u32))
    }

    pub(super) fn long(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    pub(super) fn float(&mut self, value: f32) -> Value {
        self.b.ins().f32const(value)
    }

    pub(super) fn bool(&mut self, value: bool) -> Value {
        self.b.ins().iconst(types::I8, i64::from(value))
    }

    pub(super) fn zero_parts(&mut self, shape: Shape) -> Result<Parts> {
        let leaves = self.layout.leaves(shape)?;
        Ok(leaves.iter().map(|leaf| self.zero_scalar(leaf.scalar)).collect())
    }

    /// Calls a function of [`super::shims`].
    pub(super) fn call(&mut self, function: usize, arguments: &[Value], result: Option<ir::Type>) -> Option<Value> {
        let mut signature = ir::Signature::new(self.call_conv);
        signature.params.extend(arguments.iter().map(|a| AbiParam::new(self.b.func.dfg.value_type(*a))));
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        self.extra = self.extra.saturating_add(CALL_COST);
        let address = self.function(function);
        let call = self.b.ins().call_indirect(signature, address, arguments);
        self.b.inst_results(call).first().copied()
    }

    pub(super) fn zero_memory(&mut self, start: Value, size: u32) {
        self.extra = self.extra.saturating_add(u64::from(size) / 16);
        let size = self.long(i64::from(size));
        self.call(super::shims::zero as *const () as usize, &[start, size], None);
    }

    /// Ids of the invocation in the grid.
    pub(super) fn global_id(&mut self) -> [Value; 3] {
        let mut id = self.invocation.local;
        for (axis, value) in id.iter_mut().enumerate() {
            let size = self.reflection.workgroup_size[axis];
            let base = self.b.ins().imul_imm_u(self.entry.group[axis], i64::from(size));
            *value = self.b.ins().iadd(base, *value);
        }
        id
    }
}

fn emit_entry(
    b: &mut FunctionBuilder<'_>,
    context: Value,
    group: [Value; 3],
    program: &Program<'_>,
    layout: &Layout<'_>,
    reflection: &Reflection,
) -> Result<Entry> {
    let field = |b: &mut FunctionBuilder<'_>, ty, offset: usize| b.ins().load(ty, constant(), context, offset as i32);
    let scratch = field(b, types::I64, std::mem::offset_of!(Context, scratch));
    let ranges = field(b, types::I64, std::mem::offset_of!(Context, bindings));
    let immediates = field(b, types::I64, std::mem::offset_of!(Context, immediates));
    let cancel = field(b, types::I64, std::mem::offset_of!(Context, cancel));
    let groups = [0, 1, 2].map(|axis| field(b, types::I32, std::mem::offset_of!(Context, workgroups) + axis * 4));
    let mut bindings = vec![None; program.module.global_variables.len()];
    for (handle, global) in program.module.global_variables.iter() {
        if program.record == Some(handle) {
            let pointer = field(b, types::I64, std::mem::offset_of!(Context, record));
            bindings[handle.index()] = Some(BindingValues { pointer, length: None });
            continue;
        }
        let Some(place) = &global.binding else { continue };
        let Some(index) = reflection.find(place.group, place.binding) else { continue };
        // Only those that this entry point does not use can have a type without a layout.
        let Ok(shape) = layout.shape(global.ty) else { continue };
        let at = index * size_of::<BoundRange>();
        let load =
            |b: &mut FunctionBuilder<'_>, offset: usize| b.ins().load(types::I64, constant(), ranges, (at + offset) as i32);
        let pointer = load(b, std::mem::offset_of!(BoundRange, pointer));
        let length = match tail(layout, shape)? {
            Some((offset, stride)) => {
                let size = load(b, std::mem::offset_of!(BoundRange, size));
                Some(emit_length(b, size, offset, stride))
            }
            None => None,
        };
        bindings[handle.index()] = Some(BindingValues { pointer, length });
    }
    Ok(Entry { scratch, immediates, cancel, group, groups, bindings })
}

/// Offset and stride of a runtime-sized tail.
fn tail(layout: &Layout<'_>, shape: Shape) -> Result<Option<(u32, u32)>> {
    let (array, offset) = match shape {
        Shape::Array(_) => (shape, 0),
        Shape::Struct(handle) => match *layout.inner(handle) {
            TypeInner::Struct { ref members, .. } => match members.last() {
                Some(last) => (layout.shape(last.ty)?, last.offset),
                None => return Ok(None),
            },
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if !matches!(array, Shape::Array(_)) {
        return Ok(None);
    }
    let elements = layout.elements(array)?;
    Ok(elements.count.is_none().then_some((offset, elements.stride)))
}

/// Whole elements past the offset, none if the range is shorter.
fn emit_length(b: &mut FunctionBuilder<'_>, size: Value, offset: u32, stride: u32) -> Value {
    let offset = b.ins().iconst(types::I64, i64::from(offset));
    let size = b.ins().umax(size, offset);
    let bytes = b.ins().isub(size, offset);
    b.ins().udiv_imm_u(bytes, i64::from(stride.max(1)))
}
