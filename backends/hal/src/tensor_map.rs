//! Tensor maps (L13): how a view looks as a tensor of up to five dimensions, for the engine that copies boxes of it to and from workgroup memory (NVIDIA, Hopper
//! and later). Plain data, and the limits that CUDA has for `cuTensorMapEncodeTiled`, which hold wherever a map is given. No driver's numbers are here.
//!
//! NVIDIA documents all of them but two, which the driver has all the same (580, H200): a box has to fit into workgroup memory, and its innermost side is a multiple
//! of 16 bytes also where channels are interleaved. And its stores (seen there too) leave out what is outside the tensor on axis 0 only by pieces of 16 bytes, so the
//! last row of a tensor that is written has to have room for a whole piece.

/// Dimensions at most.
pub const MOST_DIMENSIONS: usize = 5;
/// Bytes of a map among a launch's arguments.
pub const TENSOR_MAP_SIZE: u32 = 128;
/// What a map's place among the arguments is a multiple of.
pub const TENSOR_MAP_ALIGNMENT: u32 = 64;

const MOST_ELEMENTS: u64 = 1 << 32;
const MOST_STRIDE: u64 = 1 << 40;
const MOST_BOX: u32 = 256;
const MOST_STEP: u32 = 8;
/// Bytes of workgroup memory that GPUs with tensor maps have, and so bytes of a box, where no such GPU is at hand.
pub const TENSOR_BOX_SIZE: u64 = 227 << 10;
/// Bytes that the innermost side of a box is a multiple of, and what addresses and strides are.
const GRAIN: u64 = 16;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Bf16,
    /// An f32 whose subnormal values are taken for zero.
    F32Flushed,
    /// An f32 that is rounded to TF32.
    Tf32,
    /// Both.
    Tf32Flushed,
}

impl TensorElement {
    /// Bytes of one.
    pub const fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::F32Flushed | Self::Tf32 | Self::Tf32Flushed => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    const fn is_float(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::I32 | Self::U64 | Self::I64)
    }
}

/// Whether channels lie in slices of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Interleave {
    None,
    Bytes16,
    Bytes32,
}

/// Within how many bytes of workgroup memory chunks of 16 bytes change places, so that columns are read without conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Swizzle {
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl Swizzle {
    /// Bytes; `None`: it does nothing.
    const fn size(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }
}

/// In which pieces the second-level cache fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum L2Promotion {
    None,
    Bytes64,
    Bytes128,
    Bytes256,
}

/// What is read outside the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutsideFill {
    /// Zeros.
    Zero,
    /// A NaN that multiply-adds on tensor cores take for zero. Of floats only.
    Nan,
}

/// A view as a tensor. Dimension 0 is the innermost; what is behind `rank` does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// What an element is.
    pub element: TensorElement,
    /// Dimensions, 1 to 5.
    pub rank: u32,
    /// Elements on each axis.
    pub shape: [u64; MOST_DIMENSIONS],
    /// Bytes from one element to the next on each axis. On axis 0 there is no choice: the size of an element.
    pub strides: [u64; MOST_DIMENSIONS],
    /// Elements of a box on each axis, those that are stepped over included.
    pub box_shape: [u32; MOST_DIMENSIONS],
    /// Of how many elements in a box one is taken.
    pub steps: [u32; MOST_DIMENSIONS],
    /// Slices of channels.
    pub interleave: Interleave,
    /// Order in workgroup memory.
    pub swizzle: Swizzle,
    /// A hint.
    pub promotion: L2Promotion,
    /// What is read outside.
    pub fill: OutsideFill,
}

/// What is wrong with a map, so that a caller can tell without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorMistake {
    /// Two choices that do not go together.
    Combination,
    /// A number that is too small or too large.
    Limit,
    /// A stride or a box that is no multiple of what it has to be.
    Alignment,
    /// The tensor leaves its view.
    Range,
}

type Checked = Result<(), (TensorMistake, String)>;

fn wrong(what: TensorMistake, why: impl FnOnce() -> String) -> Checked {
    Err((what, why()))
}

impl TensorMap {
    /// Gives axes without a stride the one of a tensor without gaps there. A stride that is too large for its type is refused by [`Self::check`] as any other.
    pub fn fill_strides(&mut self) {
        let mut next = self.element.size();
        for (stride, count) in self.strides.iter_mut().zip(self.shape) {
            if *stride == 0 {
                *stride = next;
            }
            next = stride.saturating_mul(count);
        }
    }

    /// What the address of the view's first byte is a multiple of.
    pub const fn alignment(&self) -> u64 {
        match self.interleave {
            Interleave::Bytes32 => 2 * GRAIN,
            Interleave::None | Interleave::Bytes16 => GRAIN,
        }
    }

    /// Bytes from the first to behind the last of the tensor. Of an interleaved one the slices behind the first are not counted, as nothing says how far they
    /// are from each other.
    fn span(&self, written: bool) -> u128 {
        let row = u128::from(self.shape[0]) * u128::from(self.element.size());
        let slice = match self.interleave {
            Interleave::None if written => row.next_multiple_of(GRAIN.into()),
            Interleave::None => row,
            Interleave::Bytes16 => 16,
            Interleave::Bytes32 => 32,
        };
        // Each product is below 2^128, and five of what `check` has let through below 2^75.
        self.axes().skip(1).fold(slice, |span, axis| span.saturating_add((u128::from(axis.count) - 1) * u128::from(axis.stride)))
    }

    fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        let axis = |index| Axis {
            index,
            count: self.shape[index],
            stride: self.strides[index],
            side: self.box_shape[index],
            step: self.steps[index],
        };
        (0..MOST_DIMENSIONS.min(self.rank as usize)).map(axis)
    }

    /// Bytes of a box in workgroup memory, without what is stepped over.
    fn box_size(&self) -> u64 {
        let sides = self.axes().map(|axis| u64::from(axis.side.div_ceil(axis.step)));
        // At most 256 on each of five axes.
        sides.product::<u64>() * self.element.size()
    }

    /// Every limit, for a view of `size` bytes that may be `written` through it and `room` bytes of workgroup memory, but for the address.
    ///
    /// # Errors
    /// What was asked for and what is allowed, for people.
    pub fn check(&self, size: u64, written: bool, room: u64) -> Checked {
        self.check_choices()?;
        self.axes().try_for_each(|axis| self.check_axis(&axis))?;
        self.check_inner()?;
        let box_size = self.box_size();
        if box_size > room {
            return wrong(TensorMistake::Limit, || format!("a box of {box_size} bytes; workgroup memory has {room}"));
        }
        let span = self.span(written);
        if span > u128::from(size) {
            let pieces = if written { " (rows are written in pieces of 16 bytes)" } else { "" };
            return wrong(TensorMistake::Range, || format!("the tensor spans {span} bytes{pieces}; the view has {size}"));
        }
        Ok(())
    }

    fn check_choices(&self) -> Checked {
        let rank = self.rank;
        let least = if self.interleave == Interleave::None { 1 } else { 3 };
        if rank < least || rank as usize > MOST_DIMENSIONS {
            return wrong(TensorMistake::Limit, || {
                format!("{rank} dimensions; {least} to {MOST_DIMENSIONS} are allowed (interleaved ones have 3 at least)")
            });
        }
        if self.interleave == Interleave::Bytes32 && self.swizzle != Swizzle::Bytes32 {
            return wrong(TensorMistake::Combination, || "an interleave of 32 bytes needs a swizzle of 32 bytes".into());
        }
        if self.fill == OutsideFill::Nan && !self.element.is_float() {
            let element = self.element;
            return wrong(TensorMistake::Combination, || {
                format!("NaN is to be read outside the tensor, whose elements ({element:?}) are no floats")
            });
        }
        if self.strides[0] != self.element.size() {
            let (stride, size) = (self.strides[0], self.element.size());
            return wrong(TensorMistake::Combination, || {
                format!("the stride of axis 0 is {stride} bytes; elements of {size} lie side by side there, so it is {size} or 0")
            });
        }
        Ok(())
    }

    fn check_axis(&self, axis: &Axis) -> Checked {
        let Axis { index, count, stride, side, step } = *axis;
        if count == 0 || count > MOST_ELEMENTS {
            return wrong(TensorMistake::Limit, || format!("{count} elements on axis {index}; 1 to {MOST_ELEMENTS} are allowed"));
        }
        if side == 0 || side > MOST_BOX {
            return wrong(TensorMistake::Limit, || {
                format!("a box of {side} elements on axis {index}; 1 to {MOST_BOX} are allowed")
            });
        }
        if step == 0 || step > MOST_STEP {
            return wrong(TensorMistake::Limit, || {
                format!("an element stride of {step} on axis {index}; 1 to {MOST_STEP} are allowed")
            });
        }
        if index == 0 {
            return Ok(());
        }
        if stride == 0 || stride >= MOST_STRIDE {
            return wrong(TensorMistake::Limit, || {
                format!("a stride of {stride} bytes on axis {index}; it has to be below {MOST_STRIDE}, and not 0")
            });
        }
        let grain = self.alignment();
        if !stride.is_multiple_of(grain) {
            return wrong(TensorMistake::Alignment, || {
                format!("a stride of {stride} bytes on axis {index}; it has to be a multiple of {grain}")
            });
        }
        Ok(())
    }

    /// The innermost side of a box.
    fn check_inner(&self) -> Checked {
        let (side, element) = (self.box_shape[0], self.element.size());
        let bytes = u64::from(side) * element;
        if !bytes.is_multiple_of(GRAIN) {
            return wrong(TensorMistake::Alignment, || {
                format!(
                    "a box of {side} elements of {element} bytes on axis 0; together they have to be a multiple of {GRAIN} bytes"
                )
            });
        }
        if self.interleave != Interleave::None {
            return Ok(());
        }
        if let Some(most) = self.swizzle.size().filter(|most| bytes > *most) {
            return wrong(TensorMistake::Limit, || {
                format!(
                    "a box of {side} elements of {element} bytes on axis 0; with a swizzle of {most} bytes it may have {most}"
                )
            });
        }
        if self.steps[0] != 1 {
            let step = self.steps[0];
            return wrong(TensorMistake::Combination, || {
                format!("an element stride of {step} on axis 0, where it is ignored without interleave: it has to be 1")
            });
        }
        Ok(())
    }
}

struct Axis {
    index: usize,
    count: u64,
    stride: u64,
    side: u32,
    step: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 by 40 halves in rows of 256 bytes, boxes of 64 by 8.
    fn plain() -> TensorMap {
        TensorMap {
            element: TensorElement::F16,
            rank: 2,
            shape: [100, 40, 0, 0, 0],
            strides: [2, 256, 0, 0, 0],
            box_shape: [64, 8, 0, 0, 0],
            steps: [1, 1, 0, 0, 0],
            interleave: Interleave::None,
            swizzle: Swizzle::Bytes128,
            promotion: L2Promotion::None,
            fill: OutsideFill::Zero,
        }
    }

    const ROOM: u64 = TENSOR_BOX_SIZE;
    const SIZE: u64 = 39 * 256 + 200;

    fn mistake(change: impl FnOnce(&mut TensorMap)) -> (TensorMistake, String) {
        let mut map = plain();
        change(&mut map);
        map.check(SIZE, false, ROOM).unwrap_err()
    }

    #[test]
    fn l13_what_is_within_every_limit_passes_to_the_last_byte() {
        assert_eq!(plain().check(SIZE, false, ROOM), Ok(()));
        assert_eq!(plain().check(SIZE - 1, false, ROOM).unwrap_err().0, TensorMistake::Range);
        assert_eq!(plain().check(SIZE + 7, true, ROOM).unwrap_err().0, TensorMistake::Range, "200 bytes are written as 208");
        assert_eq!(plain().check(SIZE + 8, true, ROOM), Ok(()));
        let deep = TensorMap {
            rank: 5,
            shape: [1; 5],
            strides: [2, 16, 16, 16, MOST_STRIDE - 16],
            box_shape: [8, 256, 256, 1, 1],
            steps: [1, 8, 3, 1, 1],
            ..plain()
        };
        assert_eq!(deep.check(2, false, ROOM), Ok(()), "a stride that is never taken spans nothing");
    }

    #[test]
    fn l13_each_limit_is_told_with_what_was_asked_and_what_is_allowed() {
        use TensorMistake::{Alignment, Combination, Limit, Range};
        type Wrong = (fn(&mut TensorMap), TensorMistake, &'static [&'static str]);
        let wrong: [Wrong; 19] = [
            (|map| map.rank = 0, Limit, &["0 dimensions", "1 to 5"]),
            (|map| map.rank = 6, Limit, &["6 dimensions", "1 to 5"]),
            (|map| map.interleave = Interleave::Bytes16, Limit, &["2 dimensions", "3 to 5"]),
            (|map| map.shape[1] = 0, Limit, &["0 elements on axis 1", "4294967296"]),
            (|map| map.shape[0] = (1 << 32) + 1, Limit, &["4294967297", "axis 0"]),
            (|map| map.strides[1] = 0, Limit, &["0 bytes on axis 1"]),
            (|map| map.strides[1] = 1 << 40, Limit, &["1099511627776"]),
            (|map| map.strides[1] = 264, Alignment, &["264", "multiple of 16"]),
            (|map| map.strides[0] = 4, Combination, &["axis 0 is 4", "elements of 2"]),
            (|map| map.box_shape[1] = 0, Limit, &["a box of 0", "axis 1"]),
            (|map| map.box_shape[0] = 257, Limit, &["257", "1 to 256"]),
            (|map| map.box_shape[0] = 4, Alignment, &["4 elements of 2 bytes", "multiple of 16"]),
            (|map| map.box_shape[0] = 72, Limit, &["72 elements", "swizzle of 128"]),
            (|map| map.swizzle = Swizzle::Bytes64, Limit, &["64 elements", "swizzle of 64"]),
            (|map| map.steps[1] = 9, Limit, &["element stride of 9", "1 to 8"]),
            (|map| map.steps[0] = 2, Combination, &["element stride of 2 on axis 0"]),
            (|map| (map.element, map.fill) = (TensorElement::U16, OutsideFill::Nan), Combination, &["U16", "NaN"]),
            (
                |map| {
                    (map.rank, map.shape[2], map.strides[2], map.steps[2]) = (3, 1, 256, 1);
                    (map.box_shape[1], map.box_shape[2]) = (200, 10);
                },
                Limit,
                &["256000 bytes", "232448"],
            ),
            (|map| map.shape[1] = 41, Range, &["10440", "10184"]),
        ];
        for (change, what, words) in wrong {
            let (found, why) = mistake(change);
            assert!(found == what && words.iter().all(|word| why.contains(word)), "{found:?}: {why}");
        }
    }

    #[test]
    fn l13_interleaved_maps_have_limits_of_their_own() {
        let map = |swizzle, stride| TensorMap {
            rank: 3,
            shape: [32, 4, 2, 0, 0],
            strides: [2, stride, 4 * stride, 0, 0],
            box_shape: [16, 2, 2, 0, 0],
            steps: [2, 1, 1, 0, 0],
            interleave: Interleave::Bytes32,
            swizzle,
            ..plain()
        };
        assert_eq!(map(Swizzle::Bytes32, 32).check(1 << 20, false, ROOM), Ok(()));
        assert_eq!(map(Swizzle::Bytes32, 32).alignment(), 32);
        assert_eq!(map(Swizzle::Bytes64, 32).check(1 << 20, false, ROOM).unwrap_err().0, TensorMistake::Combination);
        assert!(map(Swizzle::Bytes32, 48).check(1 << 20, false, ROOM).unwrap_err().1.contains("multiple of 32"));
        let narrow = TensorMap { box_shape: [4, 2, 2, 0, 0], ..map(Swizzle::Bytes32, 32) };
        assert!(narrow.check(1 << 20, false, ROOM).unwrap_err().1.contains("4 elements of 2 bytes"));
    }

    #[test]
    fn m9_no_shape_and_no_stride_wraps() {
        let mut map = TensorMap { rank: 5, shape: [1 << 32; 5], strides: [0; 5], box_shape: [8; 5], steps: [1; 5], ..plain() };
        map.fill_strides();
        assert_eq!(map.check(u64::MAX, false, ROOM).unwrap_err().0, TensorMistake::Limit);
        map.strides = [2, (1 << 40) - 16, (1 << 40) - 16, (1 << 40) - 16, (1 << 40) - 16];
        assert_eq!(map.check(u64::MAX, false, ROOM).unwrap_err().0, TensorMistake::Range, "2^74 bytes");
    }

    #[test]
    fn l13_strides_that_are_left_out_are_those_of_a_tensor_without_gaps_there() {
        let mut map = TensorMap { rank: 3, shape: [64, 5, 3, 0, 0], strides: [0, 256, 0, 0, 0], ..plain() };
        map.fill_strides();
        assert_eq!(map.strides[..3], [2, 256, 1280]);
    }
}
