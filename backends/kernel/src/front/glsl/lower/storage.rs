//! Types as values and as bytes of memory, and the places that are read and written.
//!
//! A value has one form. In memory the same type may lie in others: with the strides of `std140`, with matrices by rows, with `bool` as a word, with integers
//! that are atomic. Where the IR cannot say so about a type, the memory type is made of parts that it can, and reads and writes go part by part.

use std::sync::Arc;

use naga::{BinaryOperator, Expression, Handle, MathFunction, Statement, StructMember, Type, TypeInner};

use super::{Lower, Lowered, Marks, MemberInfo, Rights, Value, Wrong};
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::{Scalar, Ty, UINT, vector_size};

/// Elements of an array that is read or written as a value part by part.
const MAX_PARTS: u32 = 4096;
/// Expressions of a function past which nothing is written out part by part.
const MAX_EXPRESSIONS: usize = 1 << 18;
/// Bytes of a type.
const MAX_BYTES: u64 = (1 << 31) - 1;
/// Elements of an array.
const MAX_ELEMENTS: u32 = 1 << 24;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Packing {
    /// Of values and of variables that no one outside sees.
    Value,
    Std430,
    Std140,
    /// Everything is aligned like the largest scalar in it.
    Scalar,
}

/// How a type lies in memory.
#[derive(Clone)]
pub(super) struct Layout {
    pub(super) packing: Packing,
    pub(super) row_major: bool,
    pub(super) marks: Option<Arc<Marks>>,
}

impl Layout {
    pub(super) fn value() -> Self {
        Self { packing: Packing::Value, row_major: false, marks: None }
    }

    fn member(&self, member: &MemberInfo) -> Self {
        Self {
            packing: self.packing,
            row_major: member.row_major.unwrap_or(self.row_major),
            marks: self.marks.as_ref().and_then(|m| m.member(member.name)),
        }
    }

    fn by_rows(&self) -> bool {
        self.row_major && self.packing != Packing::Value
    }

    fn is_atomic(&self) -> bool {
        self.marks.as_ref().is_some_and(|m| m.here)
    }
}

/// A type in memory.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) ty: Handle<Type>,
    pub(super) size: u64,
    pub(super) align: u64,
}

/// An index, known or computed.
#[derive(Clone, Copy)]
pub(super) enum Index {
    Known(u32),
    Computed(Handle<Expression>),
}

#[derive(Clone)]
enum Part {
    Whole,
    /// A column of a matrix that lies by rows; the pointer is to the matrix, of so many columns.
    Column {
        column: Index,
        columns: u8,
    },
    /// Components of the vector.
    Swizzle {
        components: Vec<u8>,
        of: Box<Place>,
    },
    /// One of such components, by a computed index. No pointer leads to it, so it can only be read.
    Chosen {
        index: Handle<Expression>,
        of: Box<Place>,
    },
}

/// Something that can be read, and often written.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) pointer: Handle<Expression>,
    pub(super) ty: Ty,
    pub(super) layout: Layout,
    pub(super) rights: Rights,
    part: Part,
}

impl Place {
    pub(super) fn new(pointer: Handle<Expression>, ty: Ty, layout: Layout, rights: Rights) -> Self {
        Self { pointer, ty, layout, rights, part: Part::Whole }
    }

    /// A variable of the function.
    pub(super) fn local(pointer: Handle<Expression>, ty: Ty) -> Self {
        Self::new(pointer, ty, Layout::value(), Rights::default())
    }

    pub(super) fn is_atomic(&self) -> bool {
        matches!((&self.part, &self.ty), (Part::Whole, Ty::Scalar(_))) && self.layout.is_atomic()
    }

    fn child(&self, pointer: Handle<Expression>, ty: Ty, layout: Layout) -> Self {
        Self { pointer, ty, layout, rights: self.rights, part: Part::Whole }
    }
}

impl Lower<'_> {
    fn insert(&mut self, name: Option<String>, inner: TypeInner) -> Handle<Type> {
        self.module.types.insert(Type { name, inner }, naga::Span::UNDEFINED)
    }

    /// The type of values.
    pub(super) fn value_type(&mut self, ty: &Ty) -> Handle<Type> {
        let inner = match ty {
            Ty::Void => TypeInner::Scalar(naga::Scalar::U32),
            Ty::Scalar(scalar) => TypeInner::Scalar(scalar.to_naga()),
            Ty::Vector(scalar, n) => TypeInner::Vector { size: vector_size(*n), scalar: scalar.to_naga() },
            Ty::Matrix(scalar, c, r) => {
                TypeInner::Matrix { columns: vector_size(*c), rows: vector_size(*r), scalar: scalar.to_naga() }
            }
            Ty::Struct(index) => match self.structs.get(*index) {
                Some(found) => return found.value,
                None => TypeInner::Scalar(naga::Scalar::U32),
            },
            // What is too large was refused when the type was written.
            Ty::Array(..) => return self.stored(ty, &Layout::value(), (0, 0)).map_or_else(|_| self.value_type(&UINT), |s| s.ty),
        };
        self.insert(None, inner)
    }

    /// The type in memory.
    pub(super) fn stored(&mut self, ty: &Ty, layout: &Layout, at: At) -> Lowered<Stored> {
        if layout.marks.is_some() {
            return self.stored_anew(ty, layout, at);
        }
        let key = (ty.clone(), layout.packing, layout.row_major);
        if let Some(known) = self.stored.get(&key) {
            return Ok(*known);
        }
        let made = self.stored_anew(ty, layout, at)?;
        self.stored.insert(key, made);
        Ok(made)
    }

    fn stored_anew(&mut self, ty: &Ty, layout: &Layout, at: At) -> Lowered<Stored> {
        let wide = layout.packing == Packing::Std140;
        let host = layout.packing != Packing::Value;
        let made = match ty {
            Ty::Void => return Err(Wrong::new("`void` is no type of a variable".to_owned(), at)),
            Ty::Scalar(scalar) | Ty::Vector(scalar, _) => {
                let scalar = if host && *scalar == Scalar::Bool { Scalar::Uint } else { *scalar };
                let width = ty.width().unwrap_or(1);
                let ty = if layout.is_atomic() && width == 1 {
                    self.insert(None, TypeInner::Atomic(scalar.to_naga()))
                } else {
                    self.value_type(&Ty::of(scalar, width))
                };
                if layout.packing == Packing::Scalar && width > 1 {
                    // The IR has no vector that begins anywhere.
                    let bytes = scalar.bytes();
                    let base = self.value_type(&Ty::Scalar(scalar));
                    let ty = self.array(base, Some(u32::from(width)), bytes, at)?;
                    return Ok(Stored { ty, size: bytes * u64::from(width), align: bytes });
                }
                Stored { ty, size: scalar.bytes() * u64::from(width), align: vector_align(scalar, width) }
            }
            Ty::Matrix(scalar, c, r) => {
                let (count, length) = if layout.by_rows() { (*r, *c) } else { (*c, *r) };
                if layout.packing == Packing::Scalar {
                    let column = self.stored(&Ty::Vector(*scalar, length), layout, at)?;
                    let ty = self.array(column.ty, Some(u32::from(count)), column.size, at)?;
                    return Ok(Stored { ty, size: column.size * u64::from(count), align: column.align });
                }
                let natural = vector_align(*scalar, length);
                let align = if wide { natural.max(16) } else { natural };
                let size = align * u64::from(count);
                if align > natural {
                    let vector = self.value_type(&Ty::Vector(*scalar, length));
                    let base = self.wrap(vector, align);
                    let ty = self.array(base, Some(u32::from(count)), align, at)?;
                    Stored { ty, size, align }
                } else {
                    Stored { ty: self.value_type(&Ty::Matrix(*scalar, count, length)), size, align }
                }
            }
            Ty::Array(base, length) => self.stored_array(base, *length, layout, at)?,
            Ty::Struct(index) => self.stored_struct(*index, layout, at)?,
        };
        if made.size > MAX_BYTES {
            return Err(Wrong::new(format!("this type is too large: at most {MAX_BYTES} bytes are allowed"), at));
        }
        Ok(made)
    }

    fn stored_array(&mut self, base: &Ty, length: Option<u32>, layout: &Layout, at: At) -> Lowered<Stored> {
        let inner = self.stored(base, layout, at)?;
        let wide = layout.packing == Packing::Std140;
        let align = if wide { inner.align.max(16) } else { inner.align };
        let stride = inner.size.next_multiple_of(align);
        let element = if self.needs_wrap(base, layout) { self.wrap(inner.ty, stride) } else { inner.ty };
        let count = u64::from(length.unwrap_or(1));
        let size = stride.saturating_mul(count);
        if length.is_some_and(|n| n > MAX_ELEMENTS) {
            return Err(Wrong::new(format!("this array is too large: at most {MAX_ELEMENTS} elements are allowed"), at));
        }
        if size > MAX_BYTES {
            return Err(Wrong::new(format!("this type is too large: at most {MAX_BYTES} bytes are allowed"), at));
        }
        let ty = self.array(element, length, stride, at)?;
        Ok(Stored { ty, size: if length.is_some() { size } else { 0 }, align })
    }

    /// Whether elements lie further apart than the IR would put them.
    fn needs_wrap(&self, base: &Ty, layout: &Layout) -> bool {
        let small = base.width().zip(base.scalar()).is_some_and(|(width, scalar)| vector_align(scalar, width) < 16);
        layout.packing == Packing::Std140 && small
    }

    /// A structure of one member that takes `size` bytes.
    fn wrap(&mut self, ty: Handle<Type>, size: u64) -> Handle<Type> {
        let members = vec![StructMember { name: None, ty, binding: None, offset: 0 }];
        self.insert(None, TypeInner::Struct { members, span: clip(size) })
    }

    fn array(&mut self, base: Handle<Type>, length: Option<u32>, stride: u64, at: At) -> Lowered<Handle<Type>> {
        let size = match length.map(std::num::NonZeroU32::new) {
            None => naga::ArraySize::Dynamic,
            Some(Some(length)) => naga::ArraySize::Constant(length),
            Some(None) => return Err(Wrong::new("an array needs at least one element".to_owned(), at)),
        };
        Ok(self.insert(None, TypeInner::Array { base, size, stride: clip(stride) }))
    }

    fn stored_struct(&mut self, index: usize, layout: &Layout, at: At) -> Lowered<Stored> {
        let Some(info) = self.structs.get(index) else { return Err(Wrong::new("unknown structure".to_owned(), at)) };
        let name = info.name.clone();
        let list = info.members.clone();
        self.members(name, &list, layout, if layout.packing == Packing::Std140 { 16 } else { 1 }, at)
    }

    /// A structure in memory out of its members, with a least alignment.
    pub(super) fn members(&mut self, name: String, list: &[MemberInfo], layout: &Layout, least: u64, at: At) -> Lowered<Stored> {
        let mut members = Vec::with_capacity(list.len());
        let mut align = least;
        let mut end = 0u64;
        for member in list {
            let inner = self.stored(&member.ty, &layout.member(member), at)?;
            let next = end.next_multiple_of(inner.align);
            let declared = member.offset.unwrap_or(next);
            if declared < next || declared % inner.align != 0 {
                let message = format!(
                    "the offset {declared} of `{}` must be a multiple of {}, and not below {next}",
                    self.names.get(member.name),
                    inner.align
                );
                return Err(Wrong::new(message, at));
            }
            // `align` moves what stands at a declared offset, too.
            let offset = declared.next_multiple_of(inner.align.max(member.align));
            members.push(StructMember {
                name: Some(self.names.get(member.name).to_owned()),
                ty: inner.ty,
                binding: None,
                offset: clip(offset),
            });
            align = align.max(inner.align);
            end = offset.saturating_add(inner.size);
            if end > MAX_BYTES {
                return Err(Wrong::new(format!("this type is too large: at most {MAX_BYTES} bytes are allowed"), at));
            }
        }
        // An array without a length counts with one element, as everywhere in the IR.
        let tail = members.last().and_then(|member| match self.module.types[member.ty].inner {
            TypeInner::Array { size: naga::ArraySize::Dynamic, stride, .. } => Some(u64::from(member.offset) + u64::from(stride)),
            _ => None,
        });
        let span = end.max(tail.unwrap_or(0)).next_multiple_of(align);
        let ty = self.insert(Some(name), TypeInner::Struct { members, span: clip(span) });
        Ok(Stored { ty, size: span, align })
    }

    fn access(&mut self, base: Handle<Expression>, index: Index, at: At) -> Handle<Expression> {
        match index {
            Index::Known(index) => self.add(Expression::AccessIndex { base, index }, at),
            Index::Computed(index) => self.add(Expression::Access { base, index }, at),
        }
    }

    /// Past the structure that holds one element.
    fn unwrap_element(&mut self, pointer: Handle<Expression>, wrapped: bool, at: At) -> Handle<Expression> {
        if wrapped { self.access(pointer, Index::Known(0), at) } else { pointer }
    }

    /// An element of an array, a column of a matrix, or a component of a vector.
    pub(super) fn element(&mut self, place: &Place, index: Index, at: At) -> Lowered<Place> {
        match (&place.ty, &place.part) {
            (Ty::Array(base, _), _) => {
                let wrapped = self.needs_wrap(base, &place.layout);
                let pointer = self.access(place.pointer, index, at);
                let pointer = self.unwrap_element(pointer, wrapped, at);
                Ok(place.child(pointer, (**base).clone(), place.layout.clone()))
            }
            (Ty::Matrix(scalar, c, r), _) if place.layout.by_rows() => {
                let part = Part::Column { column: index, columns: *c };
                Ok(Place { ty: Ty::Vector(*scalar, *r), part, ..place.clone() })
            }
            (Ty::Matrix(scalar, _, r), _) => {
                let wrapped = place.layout.packing == Packing::Std140 && vector_align(*scalar, *r) < 16;
                let pointer = self.access(place.pointer, index, at);
                let pointer = self.unwrap_element(pointer, wrapped, at);
                Ok(place.child(pointer, Ty::Vector(*scalar, *r), place.layout.clone()))
            }
            (Ty::Vector(scalar, _), Part::Whole) => {
                let pointer = self.access(place.pointer, index, at);
                Ok(place.child(pointer, Ty::Scalar(*scalar), place.layout.clone()))
            }
            (Ty::Vector(scalar, _), Part::Column { column, columns }) => {
                let wrapped = place.layout.packing == Packing::Std140 && vector_align(*scalar, *columns) < 16;
                let column = *column;
                let row = self.access(place.pointer, index, at);
                let row = self.unwrap_element(row, wrapped, at);
                let pointer = self.access(row, column, at);
                Ok(place.child(pointer, Ty::Scalar(*scalar), place.layout.clone()))
            }
            (Ty::Vector(scalar, _), Part::Swizzle { components, of }) => match index {
                Index::Known(index) => match components.get(index as usize) {
                    Some(&component) => self.element(&of.clone(), Index::Known(component.into()), at),
                    None => Err(Wrong::new("the index is out of range".to_owned(), at)),
                },
                Index::Computed(index) => {
                    let part = Part::Chosen { index, of: Box::new(place.clone()) };
                    Ok(Place { ty: Ty::Scalar(*scalar), part, ..place.clone() })
                }
            },
            _ => Err(Wrong::new(format!("`{}` has no elements", self.spell(&place.ty)), at)),
        }
    }

    /// A member of a structure, by its index.
    pub(super) fn member(&mut self, place: &Place, index: usize, at: At) -> Lowered<Place> {
        let Ty::Struct(structure) = place.ty else { return Err(Wrong::new("no structure".to_owned(), at)) };
        let found = self.structs.get(structure).and_then(|s| s.members.get(index)).cloned();
        let Some(info) = found else { return Err(Wrong::new("unknown member".to_owned(), at)) };
        let pointer = self.access(place.pointer, Index::Known(u32::try_from(index).unwrap_or(0)), at);
        let mut inner = place.child(pointer, info.ty.clone(), place.layout.member(&info));
        inner.rights = inner.rights.and(info.rights);
        Ok(inner)
    }

    /// Components of a vector.
    pub(super) fn swizzle(&mut self, place: &Place, components: &[u8], at: At) -> Lowered<Place> {
        if let [one] = components {
            return self.element(place, Index::Known((*one).into()), at);
        }
        let Ty::Vector(scalar, _) = place.ty else { return Err(Wrong::new("no vector".to_owned(), at)) };
        let ty = Ty::of(scalar, u8::try_from(components.len()).unwrap_or(4));
        let part = Part::Swizzle { components: components.to_vec(), of: Box::new(place.clone()) };
        Ok(Place { ty, part, ..place.clone() })
    }

    /// Reads a place.
    pub(super) fn load(&mut self, place: &Place, at: At) -> Lowered<Value> {
        if let Some(why) = place.rights.no_read {
            return Err(Wrong::new(format!("this is {why} and cannot be read"), at));
        }
        match &place.part {
            Part::Column { .. } => self.load_parts(place, at),
            Part::Swizzle { components, of } => {
                let (components, of) = (components.clone(), of.clone());
                let whole = self.load(&of, at)?;
                self.choose_components(&whole, &components, at)
            }
            Part::Chosen { index, of } => {
                let (index, of) = (*index, of.clone());
                let base = self.load(&of, at)?.handle;
                Ok(self.value(Expression::Access { base, index }, place.ty.clone(), at))
            }
            Part::Whole => self.load_whole(place, at),
        }
    }

    /// Whether a type lies in memory as it is as a value.
    fn is_plain(&mut self, place: &Place, at: At) -> Lowered<bool> {
        if place.layout.packing == Packing::Value && place.layout.marks.is_none() {
            return Ok(true);
        }
        let turned = place.layout.by_rows() && self.has_matrix(&place.ty);
        Ok(!turned && self.stored(&place.ty, &place.layout, at)?.ty == self.value_type(&place.ty))
    }

    pub(super) fn has_matrix(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Matrix(..) => true,
            Ty::Array(base, _) => self.has_matrix(base),
            Ty::Struct(index) => self.structs.get(*index).is_some_and(|s| s.has_matrix),
            _ => false,
        }
    }

    fn load_whole(&mut self, place: &Place, at: At) -> Lowered<Value> {
        if self.is_plain(place, at)? || (place.is_atomic() && !matches!(place.ty, Ty::Scalar(Scalar::Bool))) {
            return Ok(self.value(Expression::Load { pointer: place.pointer }, place.ty.clone(), at));
        }
        match &place.ty {
            Ty::Vector(..) if place.layout.packing == Packing::Scalar => self.load_parts(place, at),
            Ty::Scalar(_) | Ty::Vector(..) => self.load_bool(place, at),
            Ty::Matrix(..) if self.same_matrix(place) && place.layout.by_rows() => {
                let stored = self.add(Expression::Load { pointer: place.pointer }, at);
                Ok(self.transpose(stored, &place.ty, at))
            }
            // Where every other form of a vector, matrix or array is stored as it is as a value, a plain load did it already.
            Ty::Matrix(..) if !place.layout.by_rows() && self.same_matrix(place) => {
                Ok(self.value(Expression::Load { pointer: place.pointer }, place.ty.clone(), at))
            }
            _ => self.load_parts(place, at),
        }
    }

    /// Whether a matrix lies in memory as one of the IR, perhaps turned.
    fn same_matrix(&self, place: &Place) -> bool {
        let Ty::Matrix(scalar, c, r) = place.ty else { return false };
        let length = if place.layout.by_rows() { c } else { r };
        match place.layout.packing {
            Packing::Scalar => false,
            Packing::Std140 => vector_align(scalar, length) >= 16,
            Packing::Value | Packing::Std430 => true,
        }
    }

    fn transpose(&mut self, arg: Handle<Expression>, ty: &Ty, at: At) -> Value {
        let math = Expression::Math { fun: MathFunction::Transpose, arg, arg1: None, arg2: None, arg3: None };
        self.value(math, ty.clone(), at)
    }

    /// A `bool` is a word; anything but zero is true.
    fn load_bool(&mut self, place: &Place, at: At) -> Lowered<Value> {
        let word = self.value(Expression::Load { pointer: place.pointer }, place.ty.with(Scalar::Uint), at);
        let zero = self.uint(0, at);
        let zero = self.splat(zero, place.ty.width().unwrap_or(1), at);
        let test = Expression::Binary { op: BinaryOperator::NotEqual, left: word.handle, right: zero.handle };
        Ok(self.value(test, place.ty.clone(), at))
    }

    /// Keeps what is written out part by part bounded over all levels.
    pub(super) fn check_size(&self, at: At) -> Lowered<()> {
        if self.func.function.expressions.len() > MAX_EXPRESSIONS {
            let message = "too much is copied or compared part by part in this function: copy less, or split the function";
            return Err(Wrong::new(message.to_owned(), at).ending());
        }
        Ok(())
    }

    fn parts(&mut self, place: &Place, at: At) -> Lowered<Vec<Place>> {
        self.check_size(at)?;
        let count = match &place.ty {
            Ty::Struct(index) => {
                let count = self.structs.get(*index).map_or(0, |s| s.members.len());
                return (0..count).map(|index| self.member(place, index, at)).collect();
            }
            Ty::Array(_, Some(length)) => *length,
            Ty::Matrix(_, columns, _) => u32::from(*columns),
            Ty::Vector(_, n) => u32::from(*n),
            _ => return Err(Wrong::new(format!("`{}` cannot be copied as a whole", self.spell(&place.ty)), at)),
        };
        if count > MAX_PARTS {
            let message = format!("an array of {count} elements cannot be copied out of this layout; at most {MAX_PARTS} can");
            return Err(Wrong::new(message, at));
        }
        (0..count).map(|index| self.element(place, Index::Known(index), at)).collect()
    }

    fn load_parts(&mut self, place: &Place, at: At) -> Lowered<Value> {
        let mut components = Vec::new();
        for part in self.parts(place, at)? {
            components.push(self.load(&part, at)?.handle);
        }
        let ty = self.value_type(&place.ty);
        Ok(self.value(Expression::Compose { ty, components }, place.ty.clone(), at))
    }

    /// Writes a value of the place's type.
    pub(super) fn assign(&mut self, place: &Place, value: &Value, at: At) -> Lowered<()> {
        if let Some(why) = place.rights.no_write {
            return Err(Wrong::new(format!("this is {why} and cannot be written"), at));
        }
        match &place.part {
            Part::Swizzle { components, of } => {
                let (components, of) = (components.clone(), of.clone());
                return self.assign_components(&of, &components, value, at);
            }
            Part::Chosen { .. } => {
                let message = "a computed index into a choice of components cannot be written to; copy the vector first";
                return Err(Wrong::new(message.to_owned(), at));
            }
            Part::Whole | Part::Column { .. } => {}
        }
        let whole = matches!(place.part, Part::Whole);
        if whole && (self.is_plain(place, at)? || place.is_atomic() || (!place.layout.by_rows() && self.same_matrix(place))) {
            self.store(place.pointer, value.handle, at);
            return Ok(());
        }
        match &place.ty {
            Ty::Scalar(_) | Ty::Vector(..)
                if whole && (place.layout.packing != Packing::Scalar || place.ty.width() == Some(1)) =>
            {
                let word = self.bool_to(value, Scalar::Uint, at);
                self.store(place.pointer, word.handle, at);
                Ok(())
            }
            Ty::Matrix(scalar, c, r) if whole && self.same_matrix(place) => {
                let turned = self.transpose(value.handle, &Ty::Matrix(*scalar, *r, *c), at);
                self.store(place.pointer, turned.handle, at);
                Ok(())
            }
            _ => {
                for (index, part) in (0..).zip(self.parts(place, at)?) {
                    let inner = Expression::AccessIndex { base: value.handle, index };
                    let inner = self.value(inner, part.ty.clone(), at);
                    self.assign(&part, &inner, at)?;
                }
                Ok(())
            }
        }
    }

    fn assign_components(&mut self, of: &Place, components: &[u8], value: &Value, at: At) -> Lowered<()> {
        for (index, component) in (0..).zip(components) {
            if components.iter().filter(|c| *c == component).count() > 1 {
                return Err(Wrong::new("a component that is named twice cannot be written".to_owned(), at));
            }
            let part = self.element(of, Index::Known((*component).into()), at)?;
            let inner = self.value(Expression::AccessIndex { base: value.handle, index }, part.ty.clone(), at);
            self.assign(&part, &inner, at)?;
        }
        Ok(())
    }

    /// How many elements a runtime-sized array has, as a u32.
    pub(super) fn array_length(&mut self, place: &Place, at: At) -> Value {
        self.value(Expression::ArrayLength(place.pointer), UINT, at)
    }

    /// A place for what has no other: a copy of a value that a computed index needs.
    pub(super) fn spill(&mut self, value: &Value, at: At) -> Place {
        let pointer = self.local(None, &value.ty, at);
        self.push(Statement::Store { pointer, value: value.handle }, at);
        Place::local(pointer, value.ty.clone())
    }
}

/// Of a scalar or vector, where the layout does not say otherwise.
fn vector_align(scalar: Scalar, width: u8) -> u64 {
    scalar.bytes() * u64::from(if width == 3 { 4 } else { width })
}

fn clip(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
