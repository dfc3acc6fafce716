//! The decision for one launch: does this store, over this grid, write every byte of this view? No allocation, no arithmetic that can wrap.

use crate::reflection::{Extent, Guard, LinearStore, Reflection};

/// One more than the largest u32: ids and indices of the language are below it.
const LIMIT: u64 = 1 << 32;
/// The same of i32.
const SIGNED_LIMIT: u64 = 1 << 31;

/// What the launch gives.
struct Given<'a> {
    threads: [u64; 3],
    /// All numbers are below.
    limit: u64,
    immediates: &'a [u8],
    inline_uniform: &'a dyn Fn(u32) -> Option<&'a [u8]>,
}

impl LinearStore {
    /// Whether a launch over `grid` workgroups of the kernel that `reflection` describes writes every byte of a view of `view_size` bytes, when this
    /// is the store that its binding was found to have. Padding (see `dense`), and a tail too short for an element, count as written.
    ///
    /// `inline_uniform` gives the bytes of a uniform binding, by its index in the reflection, when the launch passes them inline. In doubt the
    /// answer is no. An indirect grid is never whole: do not ask.
    pub fn covers<'a>(
        &self,
        reflection: &Reflection,
        grid: [u32; 3],
        view_size: u64,
        immediates: &'a [u8],
        inline_uniform: &'a dyn Fn(u32) -> Option<&'a [u8]>,
    ) -> bool {
        let [x, y, z] = if self.groups { [1; 3] } else { reflection.workgroup_size };
        let [gx, gy, gz] = grid.map(u64::from);
        // Two factors below 2^32 each: no overflow.
        let threads = [gx * u64::from(x), gy * u64::from(y), gz * u64::from(z)];
        let limit = if self.signed { SIGNED_LIMIT } else { LIMIT };
        let given = Given { threads, limit, immediates, inline_uniform };
        self.decide(&given, view_size).unwrap_or(false)
    }

    /// Whether the store leaves no byte of a view of that size as it was, if it covers the view: there is no padding in its elements, and no tail that is too short for one.
    pub fn is_dense(&self, view_size: u64) -> bool {
        self.dense && view_size.checked_rem(self.stride) == Some(0)
    }

    fn decide(&self, given: &Given<'_>, view_size: u64) -> Option<bool> {
        if self.offset != 0 || self.stride == 0 || given.threads.iter().any(|&n| n == 0 || n > given.limit) {
            return None;
        }
        // How many elements the store can reach at all, and how many the view has. What is past a fixed number is never written.
        let length = match self.elements {
            Some(count) if view_size > count.checked_mul(self.stride)? => return None,
            _ => view_size / self.stride,
        };
        if length == 0 || length >= given.limit {
            return None;
        }
        let (row, plane) = (factor(given, self.row)?, factor(given, self.plane)?);
        let mut threads = [0u64; 3];
        for ((count, all), guard) in threads.iter_mut().zip(given.threads).zip(self.axis_guards) {
            *count = all.min(bound(given, guard, length)?);
        }
        if bound(given, self.guard, length)? < length {
            return None;
        }
        let [x, y, z] = threads;
        if x == 0 || y == 0 || z == 0 {
            return None;
        }
        // The largest index must be one: past 2^32 the language would start again at 0, at another place than this count says.
        let last = (x - 1).checked_add((y - 1).checked_mul(row)?)?.checked_add((z - 1).checked_mul(plane)?)?;
        if last >= given.limit {
            return None;
        }
        // Elements from 0 without a gap: along x, then rows that touch, then planes that touch.
        let in_plane = if row <= x { (y - 1) * row + x } else { x };
        let all = if plane <= in_plane { (z - 1) * plane + in_plane } else { in_plane };
        Some(all >= length)
    }
}

/// The multiplier of an axis. An axis that is not used stores to the same elements again.
fn factor(given: &Given<'_>, extent: Extent) -> Option<u64> {
    number(given, extent)
}

fn bound(given: &Given<'_>, guard: Guard, length: u64) -> Option<u64> {
    match guard {
        Guard::None => Some(u64::MAX),
        Guard::OwnLength => Some(length),
        Guard::Below(extent) => number(given, extent),
    }
}

/// A u32 as the kernel would see it; `None` when it is not known, or would wrap.
fn number(given: &Given<'_>, extent: Extent) -> Option<u64> {
    let [x, y, _] = given.threads;
    let value = match extent {
        Extent::Unused => 0,
        Extent::Constant(value) => value,
        Extent::GridWidth => x,
        Extent::GridPlane => x.checked_mul(y)?,
        Extent::Immediate(offset) => read(given.immediates, offset)?,
        Extent::Uniform(binding, offset) => read((given.inline_uniform)(binding)?, offset)?,
    };
    (value < given.limit).then_some(value)
}

fn read(bytes: &[u8], offset: u32) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let word = bytes.get(start..start.checked_add(4)?)?;
    Some(u64::from(u32::from_le_bytes(word.try_into().ok()?)))
}
