//! Tensors in an allocation (M3): where several of them lie, how far apart their rows are, and which strides are rows at one pitch.
//!
//! Shapes and strides have the slowest dimension first, as in row-major order. Strides are in bytes, so that a pitch need not be a multiple of
//! the element's size.

use std::fmt;

/// How the rows of a tensor follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Without gaps.
    Contiguous,
    /// Each row starts at a multiple of the device's alignment.
    Optimized,
}

/// A tensor to be placed.
#[derive(Clone, Copy, Debug)]
pub struct TensorSpec<'a> {
    /// Elements of each dimension. No dimension: a single element.
    pub shape: &'a [u64],
    /// Bytes of an element, more than 0.
    pub element_size: u64,
    /// How its rows follow each other.
    pub arrangement: Arrangement,
}

/// Where a tensor is. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorPlace {
    /// Its start in the allocation.
    pub offset: u64,
    /// From its first to behind its last element; 0 for an empty one.
    pub size: u64,
    /// From the start of a row (the last dimension) to that of the next.
    pub pitch: u64,
}

/// Rows of bytes at one distance: what a device copies in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Bytes of a row.
    pub row: u64,
    /// How many rows.
    pub count: u64,
    /// From row to row; the length of a row when there is only one.
    pub pitch: u64,
}

impl Rows {
    /// From the first byte to behind the last.
    pub fn span(&self) -> u64 {
        // Checked when it was made.
        if self.count == 0 || self.row == 0 { 0 } else { (self.count - 1) * self.pitch + self.row }
    }
}

/// Why a tensor cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorError {
    /// Elements without bytes.
    ElementSize,
    /// An alignment that is no power of two.
    Alignment(u64),
    /// More bytes than 64 bits can count.
    TooLarge,
    /// So many dimensions, but so many strides.
    Rank(usize, usize),
    /// The strides are not those of rows at one pitch: this dimension breaks them.
    UnsupportedStrides(usize),
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ElementSize => write!(f, "elements of 0 bytes"),
            Self::Alignment(alignment) => write!(f, "an alignment of {alignment} bytes: alignments are powers of two"),
            Self::TooLarge => write!(f, "the tensor has more bytes than 64 bits can count"),
            Self::Rank(dimensions, strides) => write!(f, "{dimensions} dimensions, but {strides} strides"),
            Self::UnsupportedStrides(dimension) => write!(
                f,
                "the stride of dimension {dimension} does not continue rows at one pitch; elements of a row have to follow each other, and rows \
                 have to be at one distance that is no shorter than a row"
            ),
        }
    }
}

impl std::error::Error for TensorError {}

fn rounded(size: u64, alignment: u64) -> Result<u64, TensorError> {
    if !alignment.is_power_of_two() {
        return Err(TensorError::Alignment(alignment));
    }
    size.checked_next_multiple_of(alignment).ok_or(TensorError::TooLarge)
}

impl TensorSpec<'_> {
    /// Pitch and size, for rows that start at multiples of `row_alignment` where the arrangement says so.
    fn measure(&self, row_alignment: u64) -> Result<(u64, u64), TensorError> {
        if self.element_size == 0 {
            return Err(TensorError::ElementSize);
        }
        let (width, outer) = self.shape.split_last().map_or((1, &[][..]), |(width, outer)| (*width, outer));
        let row = width.checked_mul(self.element_size).ok_or(TensorError::TooLarge)?;
        // A zero anywhere makes it empty, whatever the others multiply to.
        if self.shape.contains(&0) {
            return Ok((row, 0));
        }
        let rows = outer.iter().try_fold(1_u64, |rows, more| rows.checked_mul(*more)).ok_or(TensorError::TooLarge)?;
        let pitch = match self.arrangement {
            Arrangement::Optimized if rows > 1 => rounded(row, row_alignment)?,
            Arrangement::Contiguous | Arrangement::Optimized => row,
        };
        let before_last = (rows - 1).checked_mul(pitch).ok_or(TensorError::TooLarge)?;
        Ok((pitch, before_last.checked_add(row).ok_or(TensorError::TooLarge)?))
    }
}

/// Places several tensors in one allocation, each at a multiple of `alignment`; tells the bytes of the whole.
pub fn carve(specs: &[TensorSpec<'_>], alignment: u64, row_alignment: u64) -> Result<(Vec<TensorPlace>, u64), TensorError> {
    let mut end = 0_u64;
    let mut places = Vec::new();
    for spec in specs {
        let (pitch, size) = spec.measure(row_alignment)?;
        let offset = rounded(end, alignment)?;
        end = offset.checked_add(size).ok_or(TensorError::TooLarge)?;
        places.push(TensorPlace { offset, size, pitch });
    }
    Ok((places, end))
}

/// The rows that a shape with strides in bytes is made of, when it is made of rows at one pitch.
pub fn rows(shape: &[u64], strides: &[u64], element_size: u64) -> Result<Rows, TensorError> {
    if element_size == 0 {
        return Err(TensorError::ElementSize);
    }
    if shape.len() != strides.len() {
        return Err(TensorError::Rank(shape.len(), strides.len()));
    }
    if shape.contains(&0) {
        return Ok(Rows { row: 0, count: 0, pitch: 0 });
    }
    let mut found = Rows { row: element_size, count: 1, pitch: 0 };
    // A dimension of one element goes nowhere, whatever its stride.
    for (dimension, (size, stride)) in shape.iter().zip(strides).enumerate().rev().filter(|(_, (size, _))| **size != 1) {
        let longer = |length: u64| length.checked_mul(*size).ok_or(TensorError::TooLarge);
        if found.count == 1 && *stride == found.row {
            found.row = longer(found.row)?;
        } else if found.count == 1 && *stride > found.row {
            (found.pitch, found.count) = (*stride, *size);
        } else if found.count > 1 && found.pitch.checked_mul(found.count) == Some(*stride) {
            found.count = longer(found.count)?;
        } else {
            return Err(TensorError::UnsupportedStrides(dimension));
        }
    }
    if found.count == 1 {
        found.pitch = found.row;
    }
    let before_last = (found.count - 1).checked_mul(found.pitch).ok_or(TensorError::TooLarge)?;
    before_last.checked_add(found.row).ok_or(TensorError::TooLarge)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::Random;

    fn spec(shape: &[u64], element_size: u64, arrangement: Arrangement) -> TensorSpec<'_> {
        TensorSpec { shape, element_size, arrangement }
    }

    #[test]
    fn m3_rows_are_padded_to_the_alignment_and_the_pitch_is_told() {
        use Arrangement::{Contiguous, Optimized};
        let specs = [
            spec(&[3, 5], 4, Contiguous),
            spec(&[3, 5], 4, Optimized),
            spec(&[2, 3, 64], 4, Optimized),
            spec(&[7], 4, Optimized),
        ];
        let (places, size) = carve(&specs, 256, 64).unwrap();
        let told: Vec<_> = places.iter().map(|place| (place.offset, place.size, place.pitch)).collect();
        assert_eq!(told, [(0, 60, 20), (256, 148, 64), (512, 1536, 256), (2048, 28, 28)]);
        assert_eq!(size, 2076);
    }

    #[test]
    fn m3_tensors_without_elements_or_dimensions_have_their_place_too() {
        let specs = [
            spec(&[], 8, Arrangement::Optimized),
            spec(&[4, 0, 9], 8, Arrangement::Optimized),
            spec(&[1], 1, Arrangement::Contiguous),
        ];
        let (places, size) = carve(&specs, 16, 64).unwrap();
        assert_eq!(places.iter().map(|place| (place.offset, place.size)).collect::<Vec<_>>(), [(0, 8), (16, 0), (16, 1)]);
        assert_eq!(size, 17);
        assert_eq!(carve(&[], 16, 64), Ok((vec![], 0)));
    }

    #[test]
    fn m9_shapes_that_overflow_are_refused_and_more_than_2_to_the_31_elements_are_not() {
        let far = [1 << 20, 1 << 20];
        assert_eq!(carve(&[spec(&far, 4, Arrangement::Contiguous)], 256, 64).unwrap().1, 1 << 42);
        let bad: [&[u64]; 4] = [&[u64::MAX], &[1 << 32, 1 << 32], &[u64::MAX, 1], &[2, u64::MAX / 4]];
        for shape in bad {
            for arrangement in [Arrangement::Contiguous, Arrangement::Optimized] {
                assert_eq!(carve(&[spec(shape, 8, arrangement)], 256, 64), Err(TensorError::TooLarge), "{shape:?}");
            }
        }
        let half = [u64::MAX / 2];
        let twice = [spec(&half, 1, Arrangement::Contiguous); 3];
        assert_eq!(carve(&twice, 1, 1), Err(TensorError::TooLarge));
        assert_eq!(carve(&[spec(&[1], 0, Arrangement::Contiguous)], 1, 1), Err(TensorError::ElementSize));
        assert_eq!(carve(&[spec(&[1], 1, Arrangement::Contiguous)], 3, 1), Err(TensorError::Alignment(3)));
        assert_eq!(carve(&[spec(&[2, 1], 1, Arrangement::Optimized)], 1, 0), Err(TensorError::Alignment(0)));
        for (shape, strides) in
            [([2, 3], [u64::MAX, 4]), ([u64::MAX, 3], [u64::MAX, 4]), ([u64::MAX, 3], [12, 4]), ([3, u64::MAX], [64, 4])]
        {
            assert_eq!(rows(&shape, &strides, 4), Err(TensorError::TooLarge), "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn m3_strides_that_are_no_rows_at_one_pitch_are_unsupported() {
        let bad: [(&[u64], &[u64], usize); 5] = [
            (&[4, 4], &[4, 16], 0),
            (&[4, 4], &[8, 4], 0),
            (&[2, 4, 4], &[100, 32, 4], 0),
            (&[2, 4], &[0, 4], 0),
            (&[3, 4, 4], &[64, 20, 8], 1),
        ];
        for (shape, strides, dimension) in bad {
            assert_eq!(rows(shape, strides, 4), Err(TensorError::UnsupportedStrides(dimension)), "{shape:?} {strides:?}");
        }
        assert_eq!(rows(&[2, 3], &[4], 4), Err(TensorError::Rank(2, 1)));
        assert_eq!(rows(&[2], &[4], 0), Err(TensorError::ElementSize));
    }

    /// The bytes of every element.
    fn bytes_of(shape: &[u64], strides: &[u64], element_size: u64) -> BTreeSet<u64> {
        let mut starts = vec![0];
        for (size, stride) in shape.iter().zip(strides) {
            starts = starts.iter().flat_map(|start| (0..*size).map(move |index| start + index * stride)).collect();
        }
        starts.into_iter().flat_map(|start| start..start + element_size).collect()
    }

    #[test]
    fn m3_rows_cover_the_bytes_of_the_elements_and_no_others() {
        let mut random = Random(3);
        let mut supported = 0;
        for _ in 0..20_000 {
            let rank = random.below(4) as usize;
            let element_size = 1 + random.below(4);
            let shape: Vec<u64> = (0..rank).map(|_| if random.below(12) == 0 { 0 } else { 1 + random.below(4) }).collect();
            let mut strides = vec![0; rank];
            let mut next = element_size;
            for index in (0..rank).rev() {
                next += if random.below(3) == 0 { random.below(9) } else { 0 };
                strides[index] = if random.below(10) == 0 { random.below(40) } else { next };
                next = strides[index] * shape[index].max(1);
            }
            let Ok(found) = rows(&shape, &strides, element_size) else { continue };
            supported += 1;
            let covered: BTreeSet<u64> =
                (0..found.count).flat_map(|row| row * found.pitch..row * found.pitch + found.row).collect();
            assert_eq!(covered, bytes_of(&shape, &strides, element_size), "{shape:?} {strides:?} {found:?}");
            assert_eq!(covered.len() as u64, found.count * found.row, "no byte twice");
            assert_eq!(found.span(), covered.last().map_or(0, |last| last + 1));
        }
        assert!(supported > 10_000, "{supported}");
    }
}
