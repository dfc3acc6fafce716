//! Tensors in an allocation (M3): where several of them lie, and how far apart their rows are. What strides cover is in `strided.rs`.
//!
//! Shapes and strides have the slowest dimension first, as in row-major order. Strides are in bytes, so that a pitch need not be a multiple of
//! the element's size.

use std::fmt;

/// More dimensions than anybody's tensors have.
pub const MOST_DIMENSIONS: usize = 8;

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
    /// Of each dimension, as many as the shape has; the others are 0.
    pub strides: [i64; MOST_DIMENSIONS],
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
    /// So many dimensions.
    Dimensions(usize),
    /// So many dimensions, but so many strides.
    Rank(usize, usize),
    /// This dimension has this stride.
    NegativeStride(usize, i64),
    /// A dimension's step is shorter than what one step of it spans.
    Overlap {
        /// The step.
        stride: u64,
        /// What lies inside it.
        span: u64,
    },
    /// So many tensors that there is no host memory for their places.
    NoMemory(usize),
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ElementSize => write!(f, "elements of 0 bytes"),
            Self::Alignment(alignment) => write!(f, "an alignment of {alignment} bytes: alignments are powers of two"),
            Self::NoMemory(count) => write!(f, "no host memory for the places of {count} tensors"),
            Self::TooLarge => write!(f, "the tensor has more bytes than 64 bits can count"),
            Self::Dimensions(given) => write!(f, "{given} dimensions; at most {MOST_DIMENSIONS} are allowed"),
            Self::Rank(dimensions, strides) => write!(f, "{dimensions} dimensions, but {strides} strides"),
            Self::NegativeStride(dimension, stride) => {
                write!(
                    f,
                    "the stride of dimension {dimension} is {stride} bytes; strides cannot be negative: give the first byte in memory instead"
                )
            }
            Self::Overlap { stride, span } => write!(
                f,
                "a stride of {stride} bytes is shorter than the {span} bytes that the dimensions inside it span, so elements overlap or interleave"
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
    /// Where it is when it begins at `offset`, with rows that start at multiples of `row_alignment` where the arrangement says so.
    fn place(&self, offset: u64, row_alignment: u64) -> Result<TensorPlace, TensorError> {
        if self.element_size == 0 {
            return Err(TensorError::ElementSize);
        }
        if self.shape.len() > MOST_DIMENSIONS {
            return Err(TensorError::Dimensions(self.shape.len()));
        }
        let (width, outer) = self.shape.split_last().map_or((1, &[][..]), |(width, outer)| (*width, outer));
        let row = width.checked_mul(self.element_size).ok_or(TensorError::TooLarge)?;
        let mut place = TensorPlace { offset, size: 0, pitch: row, strides: [0; MOST_DIMENSIONS] };
        // A zero anywhere makes it empty, whatever the others multiply to.
        if self.shape.contains(&0) {
            return Ok(place);
        }
        let rows = outer.iter().try_fold(1_u64, |rows, more| rows.checked_mul(*more)).ok_or(TensorError::TooLarge)?;
        if self.arrangement == Arrangement::Optimized && rows > 1 {
            place.pitch = rounded(row, row_alignment)?;
        }
        let mut next = self.element_size;
        for (dimension, (stride, count)) in place.strides.iter_mut().zip(self.shape).enumerate().rev() {
            *stride = i64::try_from(next).map_err(|_| TensorError::TooLarge)?;
            let last = dimension + 1 == self.shape.len();
            next = if last { place.pitch } else { next.checked_mul(*count).ok_or(TensorError::TooLarge)? };
        }
        let before_last = (rows - 1).checked_mul(place.pitch).ok_or(TensorError::TooLarge)?;
        place.size = before_last.checked_add(row).ok_or(TensorError::TooLarge)?;
        Ok(place)
    }
}

/// Places several tensors in one allocation, each at a multiple of `alignment`; tells the bytes of the whole.
pub fn carve(specs: &[TensorSpec<'_>], alignment: u64, row_alignment: u64) -> Result<(Vec<TensorPlace>, u64), TensorError> {
    let mut end = 0_u64;
    let mut places = Vec::new();
    places.try_reserve_exact(specs.len()).map_err(|_| TensorError::NoMemory(specs.len()))?;
    for spec in specs {
        let place = spec.place(rounded(end, alignment)?, row_alignment)?;
        end = place.offset.checked_add(place.size).ok_or(TensorError::TooLarge)?;
        places.push(place);
    }
    Ok((places, end))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn m3_strides_are_told_and_the_last_row_has_no_padding() {
        let specs = [
            spec(&[2, 3, 5], 4, Arrangement::Optimized),
            spec(&[2, 3, 5], 4, Arrangement::Contiguous),
            spec(&[], 8, Arrangement::Optimized),
        ];
        let (places, _) = carve(&specs, 64, 64).unwrap();
        assert_eq!(places[0].strides, [192, 64, 4, 0, 0, 0, 0, 0]);
        assert_eq!(places[1].strides, [60, 20, 4, 0, 0, 0, 0, 0]);
        assert_eq!((places[0].size, places[1].size, places[2].strides), (5 * 64 + 20, 120, [0; 8]));
        let nine = [1; 9];
        assert_eq!(carve(&[spec(&nine, 4, Arrangement::Contiguous)], 1, 1), Err(TensorError::Dimensions(9)));
    }
}
