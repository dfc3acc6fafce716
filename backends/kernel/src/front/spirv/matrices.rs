//! Matrices in memory that are not laid out as those of WGSL: by rows, or with columns further apart. In memory they become arrays of vectors, rows or columns
//! with their stride; a load makes a matrix of these and a store takes one apart. Accesses to single columns and elements go to where these are.

use std::collections::{HashMap, HashSet};

use super::Wrong;
use super::facts::{Facts, Type};
use super::module::{Instruction, Words};
use super::sections::{Made, Section, Sections};

const ROW_MAJOR: u32 = 4;
const MATRIX_STRIDE: u32 = 7;

/// How such a matrix lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Layout {
    matrix: u32,
    by_rows: bool,
    stride: u32,
}

/// What the arrays of vectors are made of.
#[derive(Clone, Copy)]
struct Stored {
    /// The array, its vectors, and how many there are.
    array: u32,
    vector: u32,
    count: u32,
}

/// A pointer into such a member.
#[derive(Clone, Copy)]
enum Place {
    /// To an array of matrices, or of these.
    Array { ty: u32, layout: Layout, class: u32 },
    /// To a matrix.
    Matrix { layout: Layout, class: u32 },
    /// To a column of a matrix by rows, which is nowhere in one piece: the matrix, and which column.
    Column { layout: Layout, class: u32, matrix: u32, column: u32 },
}

/// Rewrites a module; `None` when it has no such matrix.
pub(super) fn run(words: &Words) -> Result<Option<Made>, Wrong> {
    let facts = Facts::of(words);
    let members = members(words, &facts)?;
    if members.is_empty() {
        return Ok(None);
    }
    let mut pass = Pass {
        holders: holders(&facts, &members),
        facts,
        members,
        out: Sections::new(words),
        stored: HashMap::new(),
        arrays: HashMap::new(),
        strides: decorated(words, 6),
        lengths: words.instructions().filter(|i| i.opcode == 28).filter_map(|i| Some((i.operand(0)?, i.operand(2)?))).collect(),
        made: HashMap::new(),
        pointers: HashMap::new(),
        numbers: HashMap::new(),
        places: HashMap::new(),
    };
    let mut section = Section::Names;
    for instruction in words.instructions() {
        section = Sections::of(section, instruction.opcode);
        match section {
            Section::Functions => pass.code(&instruction)?,
            _ => pass.declaration(section, &instruction)?,
        }
    }
    pass.out.finish().map(Some).map_err(|message| (message, 0))
}

fn decorated(words: &Words, decoration: u32) -> HashMap<u32, u32> {
    let all = words.instructions().filter(|i| i.opcode == 71 && i.operand(1) == Some(decoration));
    all.filter_map(|i| Some((i.operand(0)?, i.operand(2)?))).collect()
}

type Members = HashMap<(u32, u32), Layout>;

/// The members of structures that are such matrices, or arrays of them.
fn members(words: &Words, facts: &Facts) -> Result<Members, Wrong> {
    let (mut rows, mut strides) = (HashMap::new(), HashMap::new());
    for instruction in words.instructions().filter(|i| i.opcode == 72) {
        match instruction.operands() {
            [id, member, ROW_MAJOR] => _ = rows.insert((*id, *member), instruction.at),
            [id, member, MATRIX_STRIDE, stride] => _ = strides.insert((*id, *member), *stride),
            _ => {}
        }
    }
    let mut found = HashMap::new();
    for (id, ty) in &facts.types {
        let Type::Struct(list) = ty else { continue };
        for (index, member) in (0..).zip(list) {
            let Some((matrix, columns, height)) = matrix(facts, *member) else { continue };
            let by_rows = rows.get(&(*id, index));
            let width = if by_rows.is_some() { columns } else { height };
            let natural = if width == 2 { 8 } else { 16 };
            let stride = match (strides.get(&(*id, index)).copied(), by_rows) {
                (Some(stride), _) => stride,
                (None, Some(at)) => return Err(("OpMemberDecorate: a matrix by rows needs a MatrixStride".to_owned(), *at)),
                (None, None) => natural,
            };
            if by_rows.is_some() || stride != natural {
                found.insert((*id, index), Layout { matrix, by_rows: by_rows.is_some(), stride });
            }
        }
    }
    Ok(found)
}

/// The matrix of 32-bit floats that a member consists of, with how many columns of how many numbers it has.
fn matrix(facts: &Facts, mut ty: u32) -> Option<(u32, u32, u32)> {
    loop {
        match facts.ty(ty)? {
            Type::Array(of) => ty = *of,
            Type::Matrix(column, columns @ 2..=4) => {
                let Type::Vector(scalar, rows @ 2..=4) = facts.ty(*column)? else { return None };
                return (facts.ty(*scalar) == Some(&Type::Float(32))).then_some((ty, *columns, *rows));
            }
            _ => return None,
        }
    }
}

/// Structures with such members, and what they are members and elements of.
fn holders(facts: &Facts, members: &Members) -> HashSet<u32> {
    let mut all: HashSet<u32> = members.keys().map(|(id, _)| *id).collect();
    loop {
        let before = all.len();
        for (id, ty) in &facts.types {
            let holds = match ty {
                Type::Array(of) => all.contains(of),
                Type::Struct(list) => list.iter().any(|member| all.contains(member)),
                _ => false,
            };
            if holds {
                all.insert(*id);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

struct Pass {
    facts: Facts,
    members: Members,
    /// Types whose values would hold such a matrix.
    holders: HashSet<u32>,
    out: Sections,
    stored: HashMap<Layout, Stored>,
    /// Arrays of such matrices by the type in the module.
    arrays: HashMap<(u32, Layout), u32>,
    strides: HashMap<u32, u32>,
    /// Constants that say how long arrays are.
    lengths: HashMap<u32, u32>,
    /// Types that were declared for this.
    made: HashMap<Type, u32>,
    pointers: HashMap<(u32, u32), u32>,
    /// Constants of 32 bits by their value.
    numbers: HashMap<u32, u32>,
    places: HashMap<u32, Place>,
}

impl Pass {
    fn declaration(&mut self, section: Section, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let at = instruction.at;
        match (instruction.opcode, instruction.operands()) {
            // RowMajor, ColMajor, MatrixStride.
            (72, [id, member, 4 | 5 | MATRIX_STRIDE, ..]) if self.members.contains_key(&(*id, *member)) => {}
            (30, [id, members @ ..]) => {
                let mut operands = vec![*id];
                for (index, member) in (0..).zip(members) {
                    operands.push(match self.members.get(&(*id, index)).copied() {
                        Some(layout) => self.in_memory(*member, layout, at).ok_or_else(|| odd(at))?,
                        None => *member,
                    });
                }
                self.out.emit(section, at, 30, &operands);
            }
            (44 | 51, [ty, ..]) if self.holders.contains(ty) => return Err(value(at)),
            _ => self.out.copy(section, instruction),
        }
        Ok(())
    }

    /// The type that a matrix, or an array of them, has in memory.
    fn in_memory(&mut self, ty: u32, layout: Layout, at: usize) -> Option<u32> {
        let Type::Array(of) = *self.facts.ty(ty)? else { return Some(self.stored(layout, at)?.array) };
        if let Some(&known) = self.arrays.get(&(ty, layout)) {
            return Some(known);
        }
        let of = self.in_memory(of, layout, at)?;
        let made = match self.lengths.get(&ty).copied() {
            Some(length) => self.out.declare(at, 28, &[of, length]),
            None => self.out.declare(at, 29, &[of]),
        };
        if let Some(&stride) = self.strides.get(&ty) {
            self.out.emit(Section::Annotations, at, 71, &[made, 6, stride]);
        }
        self.arrays.insert((ty, layout), made);
        Some(made)
    }

    fn stored(&mut self, layout: Layout, at: usize) -> Option<Stored> {
        if let Some(&known) = self.stored.get(&layout) {
            return Some(known);
        }
        let (_, columns, rows) = matrix(&self.facts, layout.matrix)?;
        let Type::Matrix(column, _) = *self.facts.ty(layout.matrix)? else { return None };
        let (width, count) = if layout.by_rows { (columns, rows) } else { (rows, columns) };
        let vector = if width == rows { column } else { self.vector(column, width, at)? };
        let length = self.number(count, at);
        let array = self.out.declare(at, 28, &[vector, length]);
        self.out.emit(Section::Annotations, at, 71, &[array, 6, layout.stride]);
        let stored = Stored { array, vector, count };
        self.stored.insert(layout, stored);
        Some(stored)
    }

    /// A vector of as many floats as `width`; `like`: another vector of them.
    fn vector(&mut self, like: u32, width: u32, at: usize) -> Option<u32> {
        let Type::Vector(scalar, _) = *self.facts.ty(like)? else { return None };
        Some(self.declared(&Type::Vector(scalar, width), 23, &[scalar, width], at))
    }

    fn declared(&mut self, ty: &Type, opcode: u16, operands: &[u32], at: usize) -> u32 {
        // One of the module's own may be declared only later than this.
        if let Some(&known) = self.made.get(ty) {
            return known;
        }
        let id = self.out.declare(at, opcode, operands);
        self.made.insert(ty.clone(), id);
        id
    }

    fn number(&mut self, value: u32, at: usize) -> u32 {
        if let Some(&known) = self.numbers.get(&value) {
            return known;
        }
        let word = self.declared(&Type::Int(32, false), 21, &[32, 0], at);
        let id = self.out.constant(at, word, &[value]);
        self.numbers.insert(value, id);
        id
    }

    fn pointer(&mut self, class: u32, of: u32, at: usize) -> u32 {
        if let Some(&known) = self.pointers.get(&(class, of)) {
            return known;
        }
        let id = self.out.declare(at, 32, &[class, of]);
        self.pointers.insert((class, of), id);
        id
    }

    fn code(&mut self, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let at = instruction.at;
        let place = |pass: &Self, id: &u32| pass.places.get(id).copied();
        match (instruction.opcode, instruction.operands()) {
            (65 | 66, [ty, id, base, indices @ ..]) => self.chain(instruction, (*ty, *id, *base), indices),
            (61, [ty, id, pointer, rest @ ..]) if place(self, pointer).is_some() => {
                self.plain(rest, at)?;
                let Some(place) = place(self, pointer) else { return Ok(()) };
                self.load((*ty, *id, *pointer), place, at).ok_or_else(|| value(at))
            }
            (62, [pointer, value_id, rest @ ..]) if place(self, pointer).is_some() => {
                self.plain(rest, at)?;
                let Some(place) = place(self, pointer) else { return Ok(()) };
                self.store(*pointer, *value_id, place, at).ok_or_else(|| value(at))
            }
            // OpUndef and OpConstantNull say nothing of what is inside; OpVariable is memory.
            (12 | 44 | 51 | 52 | 55 | 57 | 61 | 79..=83 | 169 | 245 | 400, [ty, ..]) if self.holders.contains(ty) => {
                Err(value(at))
            }
            (57, [_, _, _, arguments @ ..]) if arguments.iter().any(|id| self.places.contains_key(id)) => Err(escapes(at)),
            (63 | 64, [to, from, ..]) => {
                let holds = |id: &u32| match self.facts.of_value(*id) {
                    Some(Type::Pointer(_, of)) => self.holders.contains(of),
                    _ => false,
                };
                if [to, from].into_iter().any(|id| self.places.contains_key(id) || holds(id)) {
                    return Err(value(at));
                }
                self.out.copy(Section::Functions, instruction);
                Ok(())
            }
            (83, [_, id, from]) if place(self, from).is_some() => {
                Err((format!("OpCopyObject: %{id} is a copy of a pointer to a matrix by rows, which is not supported"), at))
            }
            _ => {
                self.out.copy(Section::Functions, instruction);
                Ok(())
            }
        }
    }

    /// Memory operands: what they say of alignment is of another type.
    fn plain(&self, operands: &[u32], at: usize) -> Result<(), Wrong> {
        if operands.first().is_some_and(|mask| mask & 1 != 0) {
            return Err(("volatile memory is not supported: use atomics".to_owned(), at));
        }
        Ok(())
    }

    /// Follows an access chain into such a member.
    fn chain(&mut self, instruction: &Instruction<'_>, (ty, id, base): (u32, u32, u32), indices: &[u32]) -> Result<(), Wrong> {
        let at = instruction.at;
        let start = match self.places.get(&base).copied() {
            Some(Place::Column { matrix, column, .. }) => {
                let [row] = indices else { return Err(odd(at)) };
                self.element(instruction, (ty, id, matrix), &[], (column, *row));
                return Ok(());
            }
            Some(Place::Matrix { layout, class }) => Some((layout.matrix, Some(layout), class)),
            Some(Place::Array { ty, layout, class }) => Some((ty, Some(layout), class)),
            None => match self.facts.of_value(base) {
                Some(Type::Pointer(class, of)) => Some((*of, None, *class)),
                _ => None,
            },
        };
        let Some((mut at_type, mut layout, class)) = start else {
            self.out.copy(Section::Functions, instruction);
            return Ok(());
        };
        let mut followed = 0;
        for index in indices {
            at_type = match self.facts.ty(at_type) {
                Some(Type::Struct(list)) => {
                    let Some(number) = self.facts.constants.get(index).copied() else { return Err(odd(at)) };
                    layout = self.members.get(&(at_type, number)).copied();
                    *list.get(number as usize).ok_or_else(|| odd(at))?
                }
                Some(Type::Array(of)) => *of,
                _ => break,
            };
            followed += 1;
        }
        let Some(layout) = layout else {
            self.out.copy(Section::Functions, instruction);
            return Ok(());
        };
        let (outer, inner) = indices.split_at(followed);
        if at_type != layout.matrix {
            let Some(in_memory) = self.in_memory(at_type, layout, at) else { return Err(odd(at)) };
            let pointer = self.pointer(class, in_memory, at);
            self.out.emit(Section::Functions, at, 65, &[&[pointer, id, base], outer].concat());
            self.places.insert(id, Place::Array { ty: at_type, layout, class });
            return Ok(());
        }
        match inner {
            [] => {
                self.matrix_pointer((id, base), outer, (layout, class), at).ok_or_else(|| odd(at))?;
                self.places.insert(id, Place::Matrix { layout, class });
                Ok(())
            }
            // Columns are vectors of the array.
            _ if !layout.by_rows => {
                self.out.copy(Section::Functions, instruction);
                Ok(())
            }
            [column] => {
                let matrix = if outer.is_empty() {
                    base
                } else {
                    let matrix = self.out.fresh();
                    self.matrix_pointer((matrix, base), outer, (layout, class), at).ok_or_else(|| odd(at))?;
                    matrix
                };
                self.places.insert(id, Place::Column { layout, class, matrix, column: *column });
                Ok(())
            }
            [column, row] => {
                self.element(instruction, (ty, id, base), outer, (*column, *row));
                Ok(())
            }
            _ => Err(odd(at)),
        }
    }

    fn matrix_pointer(
        &mut self,
        (id, base): (u32, u32),
        indices: &[u32],
        (layout, class): (Layout, u32),
        at: usize,
    ) -> Option<()> {
        let stored = self.stored(layout, at)?;
        let pointer = self.pointer(class, stored.array, at);
        self.out.emit(Section::Functions, at, 65, &[&[pointer, id, base], indices].concat());
        Some(())
    }

    /// The pointer to one number of a matrix by rows.
    fn element(&mut self, instruction: &Instruction<'_>, chain: (u32, u32, u32), outer: &[u32], (column, row): (u32, u32)) {
        let (ty, id, base) = chain;
        let operands = [&[ty, id, base], outer, &[row, column]].concat();
        self.out.emit(Section::Functions, instruction.at, instruction.opcode, &operands);
    }

    fn load(&mut self, (ty, id, pointer): (u32, u32, u32), place: Place, at: usize) -> Option<()> {
        match place {
            Place::Array { .. } => return None,
            Place::Matrix { layout, class } => {
                let stored = self.stored(layout, at)?;
                let one = self.pointer(class, stored.vector, at);
                let mut parts = Vec::new();
                for n in 0..stored.count {
                    let n = self.number(n, at);
                    let part = self.out.value(at, 65, one, &[pointer, n]);
                    parts.push(self.out.value(at, 61, stored.vector, &[part]));
                }
                if layout.by_rows {
                    let turned = self.turned(stored, at);
                    let made = self.out.value(at, 80, turned, &parts);
                    self.out.emit(Section::Functions, at, 84, &[ty, id, made]);
                } else {
                    self.out.emit(Section::Functions, at, 80, &[&[ty, id], parts.as_slice()].concat());
                }
            }
            Place::Column { layout, class, matrix, column } => {
                let (one, float, rows) = self.numbers_of(layout, class, at)?;
                let mut parts = Vec::new();
                for n in 0..rows {
                    let n = self.number(n, at);
                    let part = self.out.value(at, 65, one, &[matrix, n, column]);
                    parts.push(self.out.value(at, 61, float, &[part]));
                }
                self.out.emit(Section::Functions, at, 80, &[&[ty, id], parts.as_slice()].concat());
            }
        }
        Some(())
    }

    fn store(&mut self, pointer: u32, value: u32, place: Place, at: usize) -> Option<()> {
        match place {
            Place::Array { .. } => return None,
            Place::Matrix { layout, class } => {
                let stored = self.stored(layout, at)?;
                let one = self.pointer(class, stored.vector, at);
                let value = if layout.by_rows {
                    let turned = self.turned(stored, at);
                    self.out.value(at, 84, turned, &[value])
                } else {
                    value
                };
                for n in 0..stored.count {
                    let part = self.out.value(at, 81, stored.vector, &[value, n]);
                    let n = self.number(n, at);
                    let to = self.out.value(at, 65, one, &[pointer, n]);
                    self.out.emit(Section::Functions, at, 62, &[to, part]);
                }
            }
            Place::Column { layout, class, matrix, column } => {
                let (one, float, rows) = self.numbers_of(layout, class, at)?;
                for n in 0..rows {
                    let part = self.out.value(at, 81, float, &[value, n]);
                    let n = self.number(n, at);
                    let to = self.out.value(at, 65, one, &[matrix, n, column]);
                    self.out.emit(Section::Functions, at, 62, &[to, part]);
                }
            }
        }
        Some(())
    }

    /// A pointer to a number of a matrix, the type of the number, and how many rows there are.
    fn numbers_of(&mut self, layout: Layout, class: u32, at: usize) -> Option<(u32, u32, u32)> {
        let (_, _, rows) = matrix(&self.facts, layout.matrix)?;
        let Type::Matrix(column, _) = *self.facts.ty(layout.matrix)? else { return None };
        let Type::Vector(float, _) = *self.facts.ty(column)? else { return None };
        Some((self.pointer(class, float, at), float, rows))
    }

    /// The matrix whose columns are the rows.
    fn turned(&mut self, stored: Stored, at: usize) -> u32 {
        self.declared(&Type::Matrix(stored.vector, stored.count), 24, &[stored.vector, stored.count], at)
    }
}

fn odd(at: usize) -> Wrong {
    ("an access to a matrix by rows, or with columns further apart, that is not supported".to_owned(), at)
}

fn value(at: usize) -> Wrong {
    let message = "a structure or an array that holds a matrix by rows, or one with columns further apart, is handled as a whole, which is not supported: load and store its members";
    (message.to_owned(), at)
}

fn escapes(at: usize) -> Wrong {
    let message = "OpFunctionCall: a pointer to a matrix by rows, or to one with columns further apart, is an argument, which is not supported";
    (message.to_owned(), at)
}
