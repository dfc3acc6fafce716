//! Loads, stores and addresses, and the values that are kept across runs.
//!
//! An access whose checks fail is led to memory that does not matter: zeros for reads, a corner of the worker's scratch for writes.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::emitter::{Emitter, Spill, Storage, constant, trusted};
use super::layout::{Scalar, Shape};
use super::shims::FALLBACK_SIZE;
use super::stop::{Result, Stop};
use super::symbols::Symbol;
use super::value::{Parts, Place, Pointer, Root, Val, registers, with_registers};

/// Where an access goes.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) base: Value,
    pub(super) offset: i32,
    pub(super) flags: MemFlagsData,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
}

impl Address {
    fn plus(self, offset: u32) -> i32 {
        self.offset.wrapping_add(offset as i32)
    }
}

impl Emitter<'_> {
    /// The start of a place, its offset not added.
    pub(super) fn place_address(&mut self, place: Place) -> Value {
        if place.stride == 0 {
            return self.entry.scratch;
        }
        let offset = self.b.ins().imul_imm_u(self.invocation.index, i64::from(place.stride));
        self.b.ins().iadd(self.entry.scratch, offset)
    }

    /// As [`Self::place_address`], of a place that several invocations share.
    fn shared_address(&mut self, place: Place, shared_by: u32) -> Value {
        if shared_by == 1 {
            return self.place_address(place);
        }
        let copy = self.b.ins().udiv_imm_u(self.invocation.index, i64::from(shared_by));
        let offset = self.b.ins().imul_imm_u(copy, i64::from(place.stride));
        self.b.ins().iadd(self.entry.scratch, offset)
    }

    /// The base address of what a pointer leads into, and a fixed offset to add.
    fn base(&mut self, root: Root) -> Result<(Value, u32)> {
        Ok(match root {
            Root::Binding(index) => {
                let binding = self.entry.bindings[index].ok_or_else(|| Stop::bug("a binding that is not in the reflection"))?;
                (binding.pointer, 0)
            }
            Root::Workgroup(offset) => (self.entry.scratch, offset),
            Root::Table(number) => (self.symbol(Symbol::Table(number)), 0),
            Root::Immediates => (self.entry.immediates, 0),
            Root::Copy(place) => (self.place_address(place), place.offset),
            Root::Local(local) => match self.local_storage(local)? {
                Storage::Memory(place) => (self.place_address(place), place.offset),
                Storage::Registers(_) => return Err(Stop::bug("the address of a variable in registers")),
            },
        })
    }

    /// The address for an access of at most [`FALLBACK_SIZE`] bytes, or of any size when the pointer needs no checks.
    pub(super) fn address(&mut self, pointer: &Pointer, purpose: Purpose) -> Result<Address> {
        let (mut base, fixed) = self.base(pointer.root)?;
        let offset = u64::from(fixed) + u64::from(pointer.offset);
        // What may lie out of range must not be loaded earlier than the source says.
        let movable = !pointer.placed && (pointer.dynamic.is_none() || pointer.ok.is_some());
        let flags = if pointer.read_only && movable { constant() } else { trusted() };
        if let Some(dynamic) = pointer.dynamic {
            base = self.b.ins().iadd(base, dynamic);
        }
        if let Some(ok) = pointer.ok {
            let inside = self.b.ins().iadd_imm_s(base, offset as i64);
            let outside = match purpose {
                Purpose::Read => self.symbol(Symbol::Zeros),
                Purpose::Write => self.entry.scratch,
            };
            let base = self.b.ins().select(ok, inside, outside);
            return Ok(Address { base, offset: 0, flags });
        }
        match i32::try_from(offset) {
            Ok(offset) => Ok(Address { base, offset, flags }),
            Err(_) => Ok(Address { base: self.b.ins().iadd_imm_s(base, offset as i64), offset: 0, flags }),
        }
    }

    /// Reads what a pointer leads to. `number` is the value that it becomes, if it becomes one.
    pub(super) fn load(&mut self, pointer: &Pointer, number: Option<u32>) -> Result<Val> {
        if let Root::Local(local) = pointer.root
            && let Storage::Registers(variables) = self.local_storage(local)?
        {
            let first = pointer.leaf as usize;
            let count = self.layout.leaf_count(pointer.shape) as usize;
            let variables = variables.get(first..first + count).ok_or_else(|| Stop::bug("a variable part out of range"))?;
            return Ok(Val::Parts(variables.iter().map(|v| self.b.use_var(*v)).collect()));
        }
        if let Shape::Atomic(scalar) = pointer.shape {
            return self.atomic_load(pointer, scalar);
        }
        if !self.layout.is_small(pointer.shape) {
            return self.load_large(pointer, number);
        }
        if pointer.ok.is_some() && self.layout.size(pointer.shape) > FALLBACK_SIZE {
            let Val::Memory(place) = self.load_large(pointer, None)? else { return Err(Stop::bug("a copy in registers")) };
            return self.load(&self.copy_pointer(place, pointer.shape), None);
        }
        let address = self.address(pointer, Purpose::Read)?;
        let leaves = self.layout.leaves(pointer.shape)?;
        let load =
            |leaf: &super::layout::Leaf| self.load_scalar(leaf.scalar, address.flags, address.base, address.plus(leaf.offset));
        Ok(Val::Parts(leaves.iter().map(load).collect()))
    }

    fn load_large(&mut self, pointer: &Pointer, number: Option<u32>) -> Result<Val> {
        let place = self.value_place(pointer.shape, number)?;
        let to = self.copy_pointer(place, pointer.shape);
        self.guarded(pointer, &mut |e, inside| match inside {
            Some(from) => e.copy(&to, from, pointer.shape),
            None => {
                let address = e.address(&to, Purpose::Write)?;
                let start = e.b.ins().iadd_imm_s(address.base, i64::from(address.offset));
                e.zero_memory(start, e.layout.size(pointer.shape));
                Ok(())
            }
        })?;
        Ok(Val::Memory(place))
    }

    /// Writes what a pointer leads to, padding excepted.
    pub(super) fn store(&mut self, pointer: &Pointer, value: Val) -> Result<()> {
        let parts = match value {
            Val::Parts(parts) => parts,
            Val::Pointer(_) => return Err(Stop::bug("a pointer that is stored")),
            Val::Memory(place) => {
                let from = self.copy_pointer(place, pointer.shape);
                return self.guarded(pointer, &mut |e, inside| inside.map_or(Ok(()), |to| e.copy(to, &from, pointer.shape)));
            }
        };
        if let Root::Local(local) = pointer.root
            && let Storage::Registers(variables) = self.local_storage(local)?
        {
            let variables = variables.iter().skip(pointer.leaf as usize);
            variables.zip(&parts).for_each(|(variable, part)| self.b.def_var(*variable, *part));
            return Ok(());
        }
        if let Shape::Atomic(_) = pointer.shape {
            let value = Val::Parts(parts).scalar()?;
            return self.atomic_store(pointer, value);
        }
        if pointer.ok.is_some() && self.layout.size(pointer.shape) > FALLBACK_SIZE {
            return self.guarded(pointer, &mut |e, inside| inside.map_or(Ok(()), |to| e.store_parts(to, &parts)));
        }
        self.store_parts(pointer, &parts)
    }

    fn store_parts(&mut self, pointer: &Pointer, parts: &Parts) -> Result<()> {
        let address = self.address(pointer, Purpose::Write)?;
        for (leaf, part) in self.layout.leaves(pointer.shape)?.iter().zip(parts) {
            self.store_scalar(leaf.scalar, trusted(), *part, address.base, address.plus(leaf.offset));
        }
        Ok(())
    }

    /// Branches on a pointer's checks: `then` gets the pointer without checks, or `None` where they fail.
    fn guarded(&mut self, pointer: &Pointer, then: &mut dyn FnMut(&mut Self, Option<&Pointer>) -> Result<()>) -> Result<()> {
        let inside = Pointer { ok: None, ..pointer.clone() };
        let Some(ok) = pointer.ok else { return then(self, Some(&inside)) };
        let [yes, no, join] = [0; 3].map(|_| self.b.create_block());
        self.b.ins().brif(ok, yes, &[], no, &[]);
        for (block, inside) in [(yes, Some(&inside)), (no, None)] {
            self.b.switch_to_block(block);
            self.b.seal_block(block);
            then(self, inside)?;
            self.b.ins().jump(join, &[]);
        }
        self.b.switch_to_block(join);
        self.b.seal_block(join);
        Ok(())
    }

    /// Copies between pointers without checks.
    fn copy(&mut self, to: &Pointer, from: &Pointer, shape: Shape) -> Result<()> {
        let (to, from) = (Pointer { shape, ..to.clone() }, Pointer { shape, ..from.clone() });
        if self.layout.is_dense(shape) {
            let (to, from) = (self.start(&to, Purpose::Write)?, self.start(&from, Purpose::Read)?);
            let size = self.long(i64::from(self.layout.size(shape)));
            self.call(super::shims::copy as *const () as usize, &[to, from, size], None);
            return Ok(());
        }
        if self.layout.is_small(shape) {
            let parts = self.load(&from, None)?.parts()?;
            return self.store_parts(&to, &parts);
        }
        if let Shape::Array(_) = shape {
            let elements = self.layout.elements(shape)?;
            let count = elements.count.ok_or_else(|| Stop::bug("a copy of a runtime-sized array"))?;
            return self.emit_count(count, &mut |e, index| {
                let offset = e.b.ins().imul_imm_u(index, i64::from(elements.stride));
                let (to, from) = (e.moved(&to, offset), e.moved(&from, offset));
                e.copy(&to, &from, elements.shape)
            });
        }
        for index in 0..self.layout.member_count(shape) {
            let member = self.layout.member(shape, index)?;
            let (to, from) = (self.part(&to, member)?, self.part(&from, member)?);
            self.copy(&to, &from, member.shape)?;
        }
        Ok(())
    }

    fn start(&mut self, pointer: &Pointer, purpose: Purpose) -> Result<Value> {
        let address = self.address(pointer, purpose)?;
        Ok(self.b.ins().iadd_imm_s(address.base, i64::from(address.offset)))
    }

    fn moved(&mut self, pointer: &Pointer, offset: Value) -> Pointer {
        let dynamic = match pointer.dynamic {
            Some(before) => self.b.ins().iadd(before, offset),
            None => offset,
        };
        Pointer { dynamic: Some(dynamic), ..pointer.clone() }
    }

    /// A pointer to a part at a fixed place.
    pub(super) fn part(&self, pointer: &Pointer, member: super::layout::Member) -> Result<Pointer> {
        let offset = pointer.offset.checked_add(member.offset).ok_or_else(|| Stop::refuse("an offset past 4 GiB"))?;
        let leaf = pointer.leaf.saturating_add(member.first_leaf);
        Ok(Pointer { shape: member.shape, offset, leaf, ..pointer.clone() })
    }

    /// Room for a large value: one copy, or one per invocation when later runs need it.
    pub(super) fn value_place(&mut self, shape: Shape, number: Option<u32>) -> Result<Place> {
        let kept = self.run.is_some() && number.is_some_and(|n| self.plan.spilled[n as usize]);
        self.place(self.layout.size(shape), kept)
    }

    pub(super) fn copy_pointer(&self, place: Place, shape: Shape) -> Pointer {
        Pointer::new(Root::Copy(place), shape, false)
    }

    /// A value in memory, so that it can be indexed.
    pub(super) fn materialise(&mut self, value: Val, shape: Shape) -> Result<Pointer> {
        if let Val::Memory(place) = value {
            return Ok(self.copy_pointer(place, shape));
        }
        let place = self.place(self.layout.size(shape), false)?;
        let pointer = self.copy_pointer(place, shape);
        self.store(&pointer, value)?;
        Ok(pointer)
    }

    /// Sets a value, and keeps it for later runs where the plan says so.
    pub(super) fn set_value(&mut self, number: u32, value: Val) -> Result<()> {
        let index = number as usize;
        if self.plan.spilled[index] && self.run.is_some() {
            let mut slots = Vec::new();
            for register in registers(&value) {
                let ty = self.b.func.dfg.value_type(register);
                let place = self.place(ty.bytes(), true)?;
                let address = self.place_address(place);
                self.b.ins().store(trusted(), register, address, place.offset as i32);
                slots.push((ty, place));
            }
            self.spills[index] = Some(Spill { template: value.clone(), slots, shared_by: 1 });
        }
        self.values[index] = Some(value);
        Ok(())
    }

    /// Loads a value that an earlier run has kept.
    pub(super) fn reload(&mut self, number: u32) -> Result<Val> {
        let spill = self.spills[number as usize].clone().ok_or_else(|| Stop::bug("a value that was not kept"))?;
        let mut loaded = Vec::with_capacity(spill.slots.len());
        for (ty, place) in spill.slots {
            let address = self.shared_address(place, spill.shared_by);
            loaded.push(self.b.ins().load(ty, trusted(), address, place.offset as i32));
        }
        Ok(with_registers(&spill.template, &loaded))
    }

    /// The length of a runtime-sized array as u32, which larger counts saturate.
    pub(super) fn array_length(&mut self, pointer: &Pointer) -> Result<Value> {
        let length = self.runtime_length(pointer)?;
        let most = self.long(i64::from(u32::MAX));
        let length = self.b.ins().umin(length, most);
        Ok(self.b.ins().ireduce(types::I32, length))
    }

    /// Elements of the runtime-sized array behind a pointer, as u64.
    pub(super) fn runtime_length(&self, pointer: &Pointer) -> Result<Value> {
        let Root::Binding(index) = pointer.root else {
            return Err(Stop::bug("a runtime-sized array outside of a binding"));
        };
        let length = self.entry.bindings[index].and_then(|b| b.length);
        length.ok_or_else(|| Stop::bug("a runtime-sized array without a length"))
    }

    /// A scalar of zero where `ok` is false.
    pub(super) fn zero_unless(&mut self, ok: Option<Value>, value: Value, scalar: Scalar) -> Value {
        match ok {
            Some(ok) => {
                let zero = self.zero_scalar(scalar);
                self.b.ins().select(ok, value, zero)
            }
            None => value,
        }
    }
}
