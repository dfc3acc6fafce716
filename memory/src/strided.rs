//! Tensors with strides (M3): which bytes they cover, and how one is moved to another in rows.
//!
//! Shapes and strides have the slowest dimension first; strides are in bytes, so that a pitch need not be a multiple of the element's size. Offsets
//! are relative to the first element. All arithmetic is checked when a [`Footprint`] is made; what follows cannot wrap.

use std::ops::Range;

use crate::tensor::{MOST_DIMENSIONS, TensorError};

/// One dimension of a walk: so many steps of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop<const ENDS: usize> {
    count: u64,
    strides: [u64; ENDS],
}

/// Loops around a row, innermost first, without those of a single step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loops<const ENDS: usize> {
    all: [Loop<ENDS>; MOST_DIMENSIONS],
    len: usize,
}

impl<const ENDS: usize> Loops<ENDS> {
    fn new() -> Self {
        Self { all: [Loop { count: 0, strides: [0; ENDS] }; MOST_DIMENSIONS], len: 0 }
    }

    fn push(&mut self, one: Loop<ENDS>) {
        if let Some(place) = self.all.get_mut(self.len) {
            *place = one;
            self.len += 1;
        }
    }

    fn as_slice(&self) -> &[Loop<ENDS>] {
        self.all.get(..self.len).unwrap_or_default()
    }

    /// Bytes that follow each other at every end become one row, and loops that go on where the one inside ends become one loop.
    fn collapse(&self, mut row: u64) -> (u64, Self) {
        let mut kept = Self::new();
        for outer in self.as_slice() {
            let last = kept.len.checked_sub(1).and_then(|last| kept.all.get_mut(last));
            match last {
                None if outer.strides == [row; ENDS] => row = row.saturating_mul(outer.count),
                Some(inner) if outer.strides == inner.strides.map(|stride| stride.saturating_mul(inner.count)) => {
                    inner.count = inner.count.saturating_mul(outer.count);
                }
                _ => kept.push(*outer),
            }
        }
        (row, kept)
    }
}

/// The bytes that a tensor covers: rows in nested loops, no byte twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of a row; 0: nothing is covered.
    row: u64,
    /// Each stride is at least what the loops inside span.
    loops: Loops<1>,
    span: u64,
}

impl Footprint {
    /// Of a tensor with strides in bytes. Refuses negative ones, and such that elements overlap or interleave.
    pub fn new(shape: &[u64], strides: &[i64], element_size: u64) -> Result<Self, TensorError> {
        let dimensions = dimensions(shape, element_size, [strides])?;
        let mut order = dimensions;
        order.all.get_mut(..order.len).unwrap_or_default().sort_unstable_by_key(|one| one.strides);
        let mut span = if shape.contains(&0) { 0 } else { element_size };
        for one in order.as_slice() {
            let [stride] = one.strides;
            if stride < span {
                return Err(TensorError::Overlap { stride, span });
            }
            span = (one.count - 1).checked_mul(stride).and_then(|rest| rest.checked_add(span)).ok_or(TensorError::TooLarge)?;
        }
        let (row, loops) = order.collapse(span.min(element_size));
        Ok(Self { row, loops, span })
    }

    /// From its first byte to behind its last; 0 when it covers nothing.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// How many rows it has. More than 64 bits can count are that many.
    pub fn rows(&self) -> u64 {
        match self.row {
            0 => 0,
            _ => self.loops.as_slice().iter().fold(1, |rows, one| one.count.saturating_mul(rows)),
        }
    }

    /// The first part of a row that lies in a range.
    pub fn first_in(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.start >= self.span.min(range.end) {
            return None;
        }
        let mut base = 0;
        let mut inside = self.span;
        // From outside in: the step that the offset lies in, or the beginning of the next where it lies behind what the step spans.
        for one in self.loops.as_slice().iter().rev() {
            let [stride] = one.strides;
            inside -= (one.count - 1) * stride;
            let offset = range.start.saturating_sub(base);
            let step = offset / stride;
            base += if offset - step * stride < inside { step } else { step + 1 } * stride;
        }
        let start = base.max(range.start);
        (start < range.end).then(|| start..(base + self.row).min(range.end))
    }

    /// Whether a byte is one of both tensors, where the other one begins `distance` bytes later, or earlier. However many rows there are; `None`: they are not all at
    /// one pitch, the same of both.
    pub fn meets(&self, other: &Self, distance: i128) -> Option<bool> {
        let (&[Loop { count, strides }], &[other_loop]) = (self.loops.as_slice(), other.loops.as_slice()) else { return None };
        if strides != other_loop.strides {
            return None;
        }
        // A row of this one so many rows behind one of the other: the first that ends behind where the other begins.
        let pitch = i128::from(strides[0]);
        let first = (distance - i128::from(self.row)).div_euclid(pitch) + 1;
        let apart = first.max(1 - i128::from(other_loop.count));
        Some(apart < i128::from(count) && apart * pitch < distance + i128::from(other.row))
    }

    /// All rows, in the order of their offsets.
    pub fn each(&self) -> impl Iterator<Item = Range<u64>> + Clone + '_ {
        let mut next = self.first_in(0..self.span);
        std::iter::from_fn(move || {
            let row = next.take()?;
            next = self.first_in(row.end..self.span);
            Some(row)
        })
    }
}

/// The dimensions of more than one element, innermost first.
fn dimensions<const ENDS: usize>(shape: &[u64], element_size: u64, strides: [&[i64]; ENDS]) -> Result<Loops<ENDS>, TensorError> {
    if element_size == 0 {
        return Err(TensorError::ElementSize);
    }
    if shape.len() > MOST_DIMENSIONS {
        return Err(TensorError::Dimensions(shape.len()));
    }
    let mut all = Loops::new();
    for (dimension, count) in shape.iter().enumerate().rev() {
        let mut one = Loop { count: *count, strides: [0; ENDS] };
        for (to, given) in one.strides.iter_mut().zip(strides) {
            let stride = given.get(dimension).ok_or(TensorError::Rank(shape.len(), given.len()))?;
            *to = u64::try_from(*stride).map_err(|_| TensorError::NegativeStride(dimension, *stride))?;
        }
        // One step goes nowhere, whatever its stride.
        if *count > 1 {
            all.push(one);
        }
    }
    Ok(if shape.contains(&0) { Loops::new() } else { all })
}

/// Rows at one pitch at each of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where the first row begins, at each end.
    pub offsets: [u64; 2],
    /// Bytes of a row.
    pub width: u64,
    /// How many rows.
    pub rows: u64,
    /// From row to row at each end; no shorter than a row.
    pub pitches: [u64; 2],
}

impl Piece {
    /// From the first byte to behind the last, at one end.
    pub fn span(&self, end: usize) -> u64 {
        match self.pitches.get(end) {
            Some(pitch) if self.rows > 0 => (self.rows - 1).saturating_mul(*pitch).saturating_add(self.width),
            _ => 0,
        }
    }
}

/// How a tensor is moved from one place to another: pieces of rows at one pitch, in as few pieces as there can be.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// What it covers at each end.
    pub ends: [Footprint; 2],
    width: u64,
    /// The loop of the rows in a piece.
    rows: Loop<2>,
    /// The loops around it.
    loops: Loops<2>,
}

impl Transfer {
    /// Bytes of all elements together.
    pub fn bytes(&self) -> u64 {
        self.width * self.rows()
    }

    /// Between two ends with these strides in bytes.
    pub fn new(shape: &[u64], strides: [&[i64]; 2], element_size: u64) -> Result<Self, TensorError> {
        // With these nothing below can wrap.
        let ends = [Footprint::new(shape, strides[0], element_size)?, Footprint::new(shape, strides[1], element_size)?];
        let mut order = dimensions(shape, element_size, strides)?;
        order.all.get_mut(..order.len).unwrap_or_default().sort_unstable_by_key(|one| (one.strides[1], one.strides[0]));
        let (width, collapsed) = order.collapse(if shape.contains(&0) { 0 } else { element_size });
        let longest = (0..collapsed.len).rev().max_by_key(|index| collapsed.all.get(*index).map(|one| one.count));
        let mut this = Self { ends, width, rows: Loop { count: 1, strides: [width; 2] }, loops: Loops::new() };
        for (index, one) in collapsed.as_slice().iter().enumerate() {
            if Some(index) == longest {
                this.rows = *one;
            } else {
                this.loops.push(*one);
            }
        }
        Ok(this)
    }

    /// How many pieces it takes; 0 when there is nothing to move. More than 64 bits can count are that many.
    pub fn pieces(&self) -> u64 {
        match self.width {
            0 => 0,
            _ => self.loops.as_slice().iter().fold(1, |pieces, one| one.count.saturating_mul(pieces)),
        }
    }

    /// How many rows it has in all.
    pub fn rows(&self) -> u64 {
        self.pieces().saturating_mul(self.rows.count)
    }

    /// The pieces.
    pub fn each(&self) -> impl Iterator<Item = Piece> + Clone + '_ {
        let mut steps = [0_u64; MOST_DIMENSIONS];
        let mut more = self.width > 0;
        std::iter::from_fn(move || {
            if !more {
                return None;
            }
            let offset = |end: usize| -> u64 {
                self.loops
                    .as_slice()
                    .iter()
                    .zip(steps)
                    .map(|(one, step)| one.strides.get(end).map_or(0, |stride| stride * step))
                    .sum()
            };
            let piece =
                Piece { offsets: [offset(0), offset(1)], width: self.width, rows: self.rows.count, pitches: self.rows.strides };
            more = false;
            for (one, step) in self.loops.as_slice().iter().zip(&mut steps) {
                *step += 1;
                if *step < one.count {
                    more = true;
                    break;
                }
                *step = 0;
            }
            Some(piece)
        })
    }
}

/// The strides of a tensor without gaps.
pub fn packed(shape: &[u64], element_size: u64) -> Result<[i64; MOST_DIMENSIONS], TensorError> {
    let mut strides = [0; MOST_DIMENSIONS];
    if shape.len() > MOST_DIMENSIONS {
        return Err(TensorError::Dimensions(shape.len()));
    }
    let mut next = element_size;
    // One that holds nothing has no strides that matter.
    for (stride, count) in strides.iter_mut().zip(shape).rev().filter(|_| !shape.contains(&0)) {
        *stride = i64::try_from(next).map_err(|_| TensorError::TooLarge)?;
        next = next.checked_mul(*count).ok_or(TensorError::TooLarge)?;
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::Random;

    /// Where each element begins, in the order of the shape.
    fn starts_of(shape: &[u64], strides: &[i64]) -> Vec<u64> {
        let mut starts = vec![0];
        for (size, stride) in shape.iter().zip(strides) {
            starts = starts.iter().flat_map(|start| (0..*size).map(move |index| start + index * *stride as u64)).collect();
        }
        starts
    }

    fn bytes_of(shape: &[u64], strides: &[i64], element_size: u64) -> BTreeSet<u64> {
        starts_of(shape, strides).into_iter().flat_map(|start| start..start + element_size).collect()
    }

    /// A shape, and strides that are nested with some padding, in a random order of dimensions.
    fn random_strides(random: &mut Random, shape: &[u64], element_size: u64) -> Vec<i64> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for index in (1..order.len()).rev() {
            order.swap(index, random.below(index as u64 + 1) as usize);
        }
        let mut strides = vec![0; shape.len()];
        let mut next = element_size;
        for dimension in order {
            next += if random.below(3) == 0 { random.below(9) } else { 0 };
            strides[dimension] = if random.below(20) == 0 { random.below(40) } else { next } as i64;
            next = strides[dimension] as u64 * shape[dimension].max(1);
        }
        strides
    }

    fn random_shape(random: &mut Random) -> Vec<u64> {
        (0..random.below(5)).map(|_| if random.below(16) == 0 { 0 } else { 1 + random.below(4) }).collect()
    }

    #[test]
    fn l9_rows_at_one_pitch_meet_where_a_byte_is_one_of_both() {
        let mut random = Random(5);
        let mut met = [0; 2];
        for _ in 0..20_000 {
            let pitch = 2 + random.below(6);
            let tensors = [(); 2].map(|()| (2 + random.below(5), 1 + random.below(pitch - 1)));
            let [one, other] = tensors.map(|(rows, width)| Footprint::new(&[rows, width], &[pitch as i64, 1], 1).unwrap());
            let distance = i128::from(random.below(120)) - 60;
            let bytes = |tensor: &Footprint, at: i128| {
                tensor.each().flatten().map(move |byte| i128::from(byte) + at).collect::<BTreeSet<_>>()
            };
            let meet = !bytes(&one, 0).is_disjoint(&bytes(&other, distance));
            assert_eq!(one.meets(&other, distance), Some(meet), "{one:?} and {other:?}, {distance} later");
            met[usize::from(meet)] += 1;
        }
        assert!(met.into_iter().all(|count| count > 1000), "{met:?}");
        let [one, other] = [8, 9].map(|pitch| Footprint::new(&[3, 2], &[pitch, 1], 1).unwrap());
        assert_eq!(one.meets(&other, 4), None);
        let most = Footprint::new(&[1 << 61, 1], &[4, 1], 4).map(|flat| flat.meets(&flat, 0));
        assert_eq!(most, Ok(None), "without gaps it is one row");
    }

    #[test]
    fn m3_a_footprint_has_the_bytes_of_the_elements_and_no_others() {
        let mut random = Random(3);
        let mut supported = 0;
        for _ in 0..20_000 {
            let (shape, element_size) = (random_shape(&mut random), 1 + random.below(4));
            let strides = random_strides(&mut random, &shape, element_size);
            let expected = bytes_of(&shape, &strides, element_size);
            let Ok(found) = Footprint::new(&shape, &strides, element_size) else { continue };
            supported += 1;
            let covered: Vec<u64> = found.each().flatten().collect();
            assert!(covered.iter().eq(&expected), "{shape:?} {strides:?} {found:?}");
            assert_eq!(found.each().count() as u64, found.rows());
            assert_eq!(found.span(), covered.last().map_or(0, |last| last + 1));
            let start = random.below(found.span() + 3);
            let range = start..start + random.below(20);
            let first = expected.range(range.clone()).next().copied();
            let told = found.first_in(range.clone());
            assert_eq!(told.as_ref().map(|part| part.start), first, "{range:?} of {found:?}");
            assert!(told.is_none_or(|part| part.end <= range.end && part.clone().all(|byte| expected.contains(&byte))));
        }
        assert!(supported > 10_000, "{supported}");
    }

    #[test]
    fn m3_a_transfer_moves_every_element_from_its_place_to_its_place() {
        let mut random = Random(4);
        let mut supported = 0;
        for _ in 0..20_000 {
            let (shape, element_size) = (random_shape(&mut random), 1 + random.below(4));
            let strides = [0, 1].map(|_| random_strides(&mut random, &shape, element_size));
            let Ok(transfer) = Transfer::new(&shape, [&strides[0], &strides[1]], element_size) else { continue };
            supported += 1;
            let ends = [0, 1].map(|end: usize| starts_of(&shape, &strides[end]));
            let expected: BTreeSet<(u64, u64)> = (0..element_size)
                .flat_map(|byte| ends[0].iter().zip(&ends[1]).map(move |(from, to)| (from + byte, to + byte)))
                .collect();
            let mut moved = BTreeSet::new();
            for piece in transfer.each() {
                for (row, byte) in (0..piece.rows).flat_map(|row| (0..piece.width).map(move |byte| (row, byte))) {
                    let at = |end: usize| piece.offsets[end] + row * piece.pitches[end] + byte;
                    assert!(moved.insert((at(0), at(1))), "a byte twice");
                }
                assert!(piece.rows < 2 || piece.pitches.iter().all(|pitch| *pitch >= piece.width), "{piece:?}");
                assert!([0, 1].iter().all(|end| piece.offsets[*end] + piece.span(*end) <= transfer.ends[*end].span()));
            }
            assert_eq!(moved, expected, "{shape:?} {strides:?}");
            assert_eq!(transfer.each().count() as u64, transfer.pieces());
        }
        assert!(supported > 10_000, "{supported}");
    }

    #[test]
    fn m3_transfers_take_as_few_pieces_as_there_can_be() {
        let one = |shape: &[u64], from: &[i64], to: &[i64]| {
            let transfer = Transfer::new(shape, [from, to], 4).unwrap();
            (transfer.pieces(), transfer.rows())
        };
        assert_eq!(one(&[100, 200, 300], &[240_000, 1200, 4], &[240_000, 1200, 4]), (1, 1));
        assert_eq!(one(&[100, 200, 300], &[240_000, 1200, 4], &[256_000, 1280, 4]), (1, 20_000));
        assert_eq!(one(&[1000, 3], &[12, 4], &[4, 4000]), (3, 3000));
        assert_eq!(one(&[5, 0, 3], &[12, 4, 4], &[12, 4, 4]), (0, 0));
        assert_eq!(one(&[], &[], &[]), (1, 1));
    }

    #[test]
    fn m9_strides_that_overlap_run_backwards_or_leave_64_bits_are_refused_each_with_its_error() {
        let bad: [(&[u64], &[i64], TensorError); 8] = [
            (&[4, 4], &[8, 4], TensorError::Overlap { stride: 8, span: 16 }),
            (&[2, 4], &[0, 4], TensorError::Overlap { stride: 0, span: 4 }),
            (&[2, 3], &[6, 4], TensorError::Overlap { stride: 6, span: 12 }),
            (&[2, 2], &[16, -4], TensorError::NegativeStride(1, -4)),
            (&[2, 3], &[4], TensorError::Rank(2, 1)),
            (&[u64::MAX, 3], &[i64::MAX, 4], TensorError::TooLarge),
            (&[u64::MAX], &[4], TensorError::TooLarge),
            (&[1; 9], &[4; 9], TensorError::Dimensions(9)),
        ];
        for (shape, strides, error) in bad {
            assert_eq!(Footprint::new(shape, strides, 4), Err(error), "{shape:?} {strides:?}");
        }
        assert_eq!(Footprint::new(&[2], &[4], 0), Err(TensorError::ElementSize));
        assert_eq!(packed(&[1 << 40, 1 << 40], 1), Err(TensorError::TooLarge));
        assert_eq!(packed(&[3, 1 << 62, 1 << 40, 0], 1), Ok([0; 8]));
        assert_eq!(packed(&[2, 3], 4).unwrap()[..2], [12, 4]);
        // More than 2^31 elements are nothing special.
        let far = Footprint::new(&[1 << 33, 2], &[1 << 20, 4], 4).unwrap();
        assert_eq!((far.rows(), far.span()), (1 << 33, ((1 << 33) - 1) * (1 << 20) + 8));
        assert_eq!(far.first_in((1 << 40) + 9..u64::MAX), Some((1 << 40) + (1 << 20)..(1 << 40) + (1 << 20) + 8));
    }
}
