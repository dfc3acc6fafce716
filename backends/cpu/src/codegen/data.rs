//! Constant tables: values that are known when the code is made and that the code indexes.

use std::collections::HashMap;

use naga::{Expression, Handle, Literal};

use super::emitter::Emitter;
use super::expr::Constant;
use super::layout::Shape;
use super::program::ValueRef;
use super::stop::{Result, Stop};
use super::value::{Pointer, Root};

/// A table's bytes, aligned for every type of the language. The generated code refers to their address, which stays the same when the box moves.
pub(super) type Table = Box<[u128]>;

/// Bytes of all tables of a kernel, beyond which it is refused.
const MAX_TABLES: usize = 16 << 20;

/// The tables made so far.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) list: Vec<Table>,
    /// By function and expression, so that inlined copies and constants with a name share theirs.
    numbers: HashMap<(usize, Handle<Expression>), u32>,
    size: usize,
}

impl Emitter<'_> {
    /// A pointer to a constant in memory, if `at` is one.
    pub(super) fn constant_table(&mut self, at: ValueRef, shape: Shape) -> Result<Option<Pointer>> {
        let (at, key) = match *self.program.expression(at) {
            Expression::Constant(handle) => {
                let init = self.program.module.constants[handle].init;
                (Constant::Global(init), (0, init))
            }
            _ => (Constant::Local(at), (std::ptr::from_ref(self.program.frame(at.frame).function) as usize, at.expr)),
        };
        let number = match self.tables.numbers.get(&key) {
            Some(number) => *number,
            None => {
                let Some(table) = self.make_table(at, shape)? else { return Ok(None) };
                // Their size is bounded, and so is their number.
                let number = self.tables.list.len() as u32;
                self.tables.list.push(table);
                self.tables.numbers.insert(key, number);
                number
            }
        };
        Ok(Some(Pointer::new(Root::Table(number), shape, true)))
    }

    fn make_table(&mut self, at: Constant, shape: Shape) -> Result<Option<Table>> {
        if !matches!(self.constant_expression(at), Expression::Compose { .. }) {
            return Ok(None);
        }
        let size = self.layout.size(shape) as usize;
        let all = self.tables.size.saturating_add(size);
        if all > MAX_TABLES {
            return Err(Stop::refuse(format!("the constant arrays that are indexed take more than {} MiB", MAX_TABLES >> 20)));
        }
        let mut bytes = vec![0; size];
        if self.write_constant(at, shape, &mut bytes)?.is_none() {
            return Ok(None);
        }
        self.tables.size = all;
        let word = |chunk: &[u8]| {
            let mut word = [0; 16];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u128::from_ne_bytes(word)
        };
        Ok(Some(bytes.chunks(16).map(word).collect()))
    }

    /// Writes a constant's bytes; `None` if some part is not constant.
    fn write_constant(&self, at: Constant, shape: Shape, to: &mut [u8]) -> Result<Option<()>> {
        match *self.constant_expression(at) {
            Expression::Literal(literal) => Ok(write_literal(literal, to)),
            Expression::ZeroValue(_) => Ok(Some(())),
            Expression::Constant(handle) => {
                let init = self.program.module.constants[handle].init;
                self.write_constant(Constant::Global(init), shape, to)
            }
            Expression::Splat { value, .. } => {
                for index in 0..self.layout.member_count(shape) {
                    if self.write_part(at.sibling(value), shape, index, to)?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Some(()))
            }
            Expression::Compose { ref components, .. } => {
                // A vector made of vectors has fewer components than parts; it is small, and not worth a table.
                if components.len() as u64 != u64::from(self.layout.member_count(shape)) {
                    return Ok(None);
                }
                for (index, component) in components.iter().enumerate() {
                    if self.write_part(at.sibling(*component), shape, index as u32, to)?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Some(()))
            }
            _ => Ok(None),
        }
    }

    fn write_part(&self, at: Constant, shape: Shape, index: u32, to: &mut [u8]) -> Result<Option<()>> {
        let member = self.layout.member(shape, index)?;
        let start = member.offset as usize;
        let end = start + self.layout.size(member.shape) as usize;
        match to.get_mut(start..end) {
            Some(part) => self.write_constant(at, member.shape, part),
            None => Ok(None),
        }
    }
}

fn write_literal(literal: Literal, to: &mut [u8]) -> Option<()> {
    let mut write = |bytes: &[u8]| to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    match literal {
        Literal::F16(v) => write(&v.to_bits().to_ne_bytes()),
        Literal::F32(v) => write(&v.to_ne_bytes()),
        Literal::F64(v) => write(&v.to_ne_bytes()),
        Literal::I16(v) => write(&v.to_ne_bytes()),
        Literal::U16(v) => write(&v.to_ne_bytes()),
        Literal::I32(v) => write(&v.to_ne_bytes()),
        Literal::U32(v) => write(&v.to_ne_bytes()),
        Literal::I64(v) => write(&v.to_ne_bytes()),
        Literal::U64(v) => write(&v.to_ne_bytes()),
        Literal::Bool(v) => write(&[u8::from(v)]),
        Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return None,
    }
    Some(())
}
