//! What subgroup operations compute, over arrays with one element per invocation of a workgroup. Generated code calls these.
//!
//! All have the C calling convention, take and give plain numbers, and neither allocate nor unwind. The last subgroup of a workgroup may be
//! smaller than the others: it is what is left of the array. Everything goes by the order of the lanes, floating-point sums too.

use compute_kernel::math::round_to_f16;
use naga::{CollectiveOperation, SubgroupOperation};

use super::SUBGROUP_SIZE;
use super::layout::Scalar;

const SIZE: usize = SUBGROUP_SIZE as usize;

/// An operation that combines two lanes.
trait Combine<T> {
    fn combine(left: T, right: T) -> T;
}

/// An operation that scans.
trait Scan<T>: Combine<T> {
    /// What an exclusive scan gives to the first lane.
    const IDENTITY: T;
}

struct Add;
struct Mul;
struct Min;
struct Max;
struct And;
struct Or;
struct Xor;

/// Implements [`Combine`]: operation, and the result for two lanes.
macro_rules! combine {
    ($ty:ty: $($operation:ident, |$a:ident, $b:ident| $result:expr;)*) => {
        $(impl Combine<$ty> for $operation {
            fn combine($a: $ty, $b: $ty) -> $ty {
                $result
            }
        })*
    };
}

macro_rules! scan {
    ($ty:ty: $($operation:ident, $identity:expr;)*) => {
        $(impl Scan<$ty> for $operation {
            const IDENTITY: $ty = $identity;
        })*
    };
}

macro_rules! integers {
    ($($ty:ident)*) => {
        $(combine! { $ty:
            Add, |a, b| a.wrapping_add(b);
            Mul, |a, b| a.wrapping_mul(b);
            Min, |a, b| a.min(b);
            Max, |a, b| a.max(b);
            And, |a, b| a & b;
            Or, |a, b| a | b;
            Xor, |a, b| a ^ b;
        }
        scan! { $ty: Add, 0; Mul, 1; })*
    };
}

macro_rules! floats {
    ($($ty:ident)*) => {
        $(combine! { $ty:
            Add, |a, b| a + b;
            Mul, |a, b| a * b;
            // The language's formulas for `min` and `max`, which decide for NaN and zeros of both signs too.
            Min, |a, b| if b < a { b } else { a };
            Max, |a, b| if a < b { b } else { a };
        }
        scan! { $ty: Add, 0.0; Mul, 1.0; })*
    };
}

integers! { i16 u16 i32 u32 i64 u64 }
floats! { f32 f64 }

/// Half a float, in the register's precision.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Half(f32);

combine! { Half:
    Add, |a, b| Half(round_to_f16(a.0 + b.0));
    Mul, |a, b| Half(round_to_f16(a.0 * b.0));
    Min, |a, b| if b.0 < a.0 { b } else { a };
    Max, |a, b| if a.0 < b.0 { b } else { a };
}
scan! { Half: Add, Half(0.0); Mul, Half(1.0); }

// Booleans are 0 or 1 in a byte.
combine! { u8:
    And, |a, b| a & b;
    Or, |a, b| a | b;
}

/// Calls `f` for every subgroup: its values, and where the results of its lanes go.
///
/// # Safety
/// `values` is valid for reads of `count` elements, `results` for writes of as many; they do not overlap.
unsafe fn subgroups<T: Copy, R: Copy>(values: *const T, results: *mut R, count: u32, mut f: impl FnMut(&[T], &mut [R])) {
    // SAFETY: by the caller's promise. Plain numbers have no invalid bits.
    let (values, results) =
        unsafe { (std::slice::from_raw_parts(values, count as usize), std::slice::from_raw_parts_mut(results, count as usize)) };
    for (values, results) in values.chunks(SIZE).zip(results.chunks_mut(SIZE)) {
        f(values, results);
    }
}

/// Subgroups that are reduced side by side: no step of one waits for a step of another, so the processor overlaps them.
const SIDE: usize = 8;

/// One result for each subgroup.
///
/// # Safety
/// `values` is valid for reads of `count` elements, `results` for writes of one for each subgroup; they do not overlap.
#[inline(never)]
unsafe extern "C" fn reduce<T: Copy, C: Combine<T>>(values: *const T, results: *mut T, count: u32) {
    // SAFETY: by the caller's promise. Plain numbers have no invalid bits.
    let (values, results) = unsafe {
        let subgroups = count.div_ceil(SUBGROUP_SIZE) as usize;
        (std::slice::from_raw_parts(values, count as usize), std::slice::from_raw_parts_mut(results, subgroups))
    };
    let (blocks, rest) = values.as_chunks::<{ SIDE * SIZE }>();
    let (wide, narrow) = results.split_at_mut(blocks.len() * SIDE);
    for (block, results) in blocks.iter().zip(wide.chunks_mut(SIDE)) {
        let mut all: [T; SIDE] = std::array::from_fn(|subgroup| block[subgroup * SIZE]);
        for lane in 1..SIZE {
            for (subgroup, all) in all.iter_mut().enumerate() {
                *all = C::combine(*all, block[subgroup * SIZE + lane]);
            }
        }
        results.copy_from_slice(&all);
    }
    for (values, result) in rest.chunks(SIZE).zip(narrow) {
        if let Some(all) = values.iter().copied().reduce(C::combine) {
            *result = all;
        }
    }
}

/// # Safety
/// As [`subgroups`].
#[inline(never)]
unsafe extern "C" fn inclusive<T: Copy, C: Combine<T>>(values: *const T, results: *mut T, count: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        subgroups(values, results, count, |values, results| {
            let mut sum = None;
            for (value, result) in values.iter().zip(results) {
                let next = sum.map_or(*value, |sum| C::combine(sum, *value));
                *result = next;
                sum = Some(next);
            }
        });
    }
}

/// # Safety
/// As [`subgroups`].
#[inline(never)]
unsafe extern "C" fn exclusive<T: Copy, C: Scan<T>>(values: *const T, results: *mut T, count: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        subgroups(values, results, count, |values, results| {
            let mut sum = None;
            for (value, result) in values.iter().zip(results) {
                *result = sum.unwrap_or(C::IDENTITY);
                sum = Some(sum.map_or(*value, |sum| C::combine(sum, *value)));
            }
        });
    }
}

/// The function for an operation on a type: values, results, number of invocations.
pub(super) fn collective(op: SubgroupOperation, scan: CollectiveOperation, scalar: Scalar) -> Option<usize> {
    match scalar {
        Scalar::F16 => number::<Half>(op, scan),
        Scalar::F32 => number::<f32>(op, scan),
        Scalar::F64 => number::<f64>(op, scan),
        Scalar::I16 => number::<i16>(op, scan).or_else(|| bits::<i16>(op)),
        Scalar::U16 => number::<u16>(op, scan).or_else(|| bits::<u16>(op)),
        Scalar::I64 => number::<i64>(op, scan).or_else(|| bits::<i64>(op)),
        Scalar::U64 => number::<u64>(op, scan).or_else(|| bits::<u64>(op)),
        Scalar::I32 => number::<i32>(op, scan).or_else(|| bits::<i32>(op)),
        Scalar::U32 => number::<u32>(op, scan).or_else(|| bits::<u32>(op)),
        Scalar::Bool => match op {
            SubgroupOperation::All => Some(reduce::<u8, And> as *const () as usize),
            SubgroupOperation::Any => Some(reduce::<u8, Or> as *const () as usize),
            _ => None,
        },
    }
}

fn number<T: Copy>(op: SubgroupOperation, scan: CollectiveOperation) -> Option<usize>
where
    Add: Scan<T>,
    Mul: Scan<T>,
    Min: Combine<T>,
    Max: Combine<T>,
{
    use CollectiveOperation::{ExclusiveScan, InclusiveScan, Reduce};
    let function = match (op, scan) {
        (SubgroupOperation::Add, Reduce) => reduce::<T, Add> as *const (),
        (SubgroupOperation::Add, InclusiveScan) => inclusive::<T, Add> as *const (),
        (SubgroupOperation::Add, ExclusiveScan) => exclusive::<T, Add> as *const (),
        (SubgroupOperation::Mul, Reduce) => reduce::<T, Mul> as *const (),
        (SubgroupOperation::Mul, InclusiveScan) => inclusive::<T, Mul> as *const (),
        (SubgroupOperation::Mul, ExclusiveScan) => exclusive::<T, Mul> as *const (),
        (SubgroupOperation::Min, Reduce) => reduce::<T, Min> as *const (),
        (SubgroupOperation::Max, Reduce) => reduce::<T, Max> as *const (),
        _ => return None,
    };
    Some(function as usize)
}

fn bits<T: Copy>(op: SubgroupOperation) -> Option<usize>
where
    And: Combine<T>,
    Or: Combine<T>,
    Xor: Combine<T>,
{
    let function = match op {
        SubgroupOperation::And => reduce::<T, And> as *const (),
        SubgroupOperation::Or => reduce::<T, Or> as *const (),
        SubgroupOperation::Xor => reduce::<T, Xor> as *const (),
        _ => return None,
    };
    Some(function as usize)
}

/// The first word of a ballot for each subgroup; there are no lanes for the others.
///
/// # Safety
/// As [`reduce`].
#[inline(never)]
pub(super) unsafe extern "C" fn ballot(predicates: *const u8, results: *mut u32, count: u32) {
    // SAFETY: by the caller's promise.
    let predicates = unsafe { std::slice::from_raw_parts(predicates, count as usize) };
    for (n, predicates) in predicates.chunks(SIZE).enumerate() {
        let mask = predicates.iter().enumerate().fold(0, |mask, (lane, set)| mask | u32::from(*set) << lane);
        // SAFETY: by the caller's promise.
        unsafe { results.add(n).write(mask) };
    }
}

/// For each subgroup the value of one lane; zero where that is not there.
///
/// # Safety
/// As [`reduce`].
#[inline(never)]
unsafe extern "C" fn broadcast<T: Copy + Default>(values: *const T, results: *mut T, count: u32, lane: u32) {
    // SAFETY: by the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(values, count as usize) };
    for (n, values) in values.chunks(SIZE).enumerate() {
        // SAFETY: by the caller's promise.
        unsafe { results.add(n).write(values.get(lane as usize).copied().unwrap_or_default()) };
    }
}

/// The function for a broadcast of values of `size` bytes: values, results, number of invocations, lane.
pub(super) fn broadcaster(size: u32) -> Option<usize> {
    let function = match size {
        2 => broadcast::<u16> as *const (),
        4 => broadcast::<u32> as *const (),
        8 => broadcast::<u64> as *const (),
        _ => return None,
    };
    Some(function as usize)
}

/// From which lane a lane takes its value, given what the operation is given.
pub(super) trait Source {
    fn lane(lane: u32, operand: u32) -> u32;
}

pub(super) struct Shuffle;
pub(super) struct ShuffleXor;
pub(super) struct ShuffleUp;
pub(super) struct ShuffleDown;
pub(super) struct QuadBroadcast;

impl Source for Shuffle {
    fn lane(_: u32, operand: u32) -> u32 {
        operand
    }
}
impl Source for ShuffleXor {
    fn lane(lane: u32, operand: u32) -> u32 {
        lane ^ operand
    }
}
impl Source for ShuffleUp {
    fn lane(lane: u32, operand: u32) -> u32 {
        // Below the first lane is nothing, above the last neither.
        lane.checked_sub(operand).unwrap_or(u32::MAX)
    }
}
impl Source for ShuffleDown {
    fn lane(lane: u32, operand: u32) -> u32 {
        lane.saturating_add(operand)
    }
}
impl Source for QuadBroadcast {
    fn lane(lane: u32, operand: u32) -> u32 {
        (lane & !3) | operand
    }
}

/// Each lane takes the value of another one; zero where that is not there.
///
/// # Safety
/// As [`subgroups`]; `operands` is valid for reads of `count` elements.
#[inline(never)]
unsafe extern "C" fn gather<T: Copy + Default, S: Source>(values: *const T, results: *mut T, count: u32, operands: *const u32) {
    // SAFETY: by the caller's promise.
    let operands = unsafe { std::slice::from_raw_parts(operands, count as usize) };
    let mut operands = operands.chunks(SIZE);
    // SAFETY: the caller's promise is the same.
    unsafe {
        subgroups(values, results, count, |values, results| {
            let operands = operands.next().unwrap_or_default();
            for (lane, (result, operand)) in results.iter_mut().zip(operands).enumerate() {
                *result = values.get(S::lane(lane as u32, *operand) as usize).copied().unwrap_or_default();
            }
        });
    }
}

/// As [`gather`], with one operand for all.
///
/// # Safety
/// As [`subgroups`].
#[inline(never)]
unsafe extern "C" fn gather_by<T: Copy + Default, S: Source>(values: *const T, results: *mut T, count: u32, operand: u32) {
    // SAFETY: the caller's promise is the same.
    unsafe {
        subgroups(values, results, count, |values, results| {
            for (lane, result) in results.iter_mut().enumerate() {
                *result = values.get(S::lane(lane as u32, operand) as usize).copied().unwrap_or_default();
            }
        });
    }
}

/// The function that moves values of `size` bytes: values, results, number of invocations, and an array of operands or (`one`) a single one.
pub(super) fn mover<S: Source>(size: u32, one: bool) -> Option<usize> {
    let function = match (size, one) {
        (4, false) => gather::<u32, S> as *const (),
        (4, true) => gather_by::<u32, S> as *const (),
        (2, false) => gather::<u16, S> as *const (),
        (2, true) => gather_by::<u16, S> as *const (),
        (8, false) => gather::<u64, S> as *const (),
        (8, true) => gather_by::<u64, S> as *const (),
        _ => return None,
    };
    Some(function as usize)
}

/// Every function of this file. Their order is part of what artifacts of one version of the library mean.
pub(super) fn all() -> Vec<usize> {
    use CollectiveOperation::{ExclusiveScan, InclusiveScan, Reduce};
    use SubgroupOperation as S;
    let scalars = [
        [Scalar::F16, Scalar::F32, Scalar::F64, Scalar::I16, Scalar::U16],
        [Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::Bool],
    ];
    let mut all = vec![ballot as *const () as usize];
    for op in [S::All, S::Any, S::Add, S::Mul, S::Min, S::Max, S::And, S::Or, S::Xor] {
        for scan in [Reduce, InclusiveScan, ExclusiveScan] {
            all.extend(scalars.iter().flatten().filter_map(|scalar| collective(op, scan, *scalar)));
        }
    }
    for size in [2, 4, 8] {
        all.extend(broadcaster(size));
        for one in [false, true] {
            all.extend(
                [mover::<Shuffle>(size, one), mover::<ShuffleXor>(size, one), mover::<ShuffleUp>(size, one)]
                    .into_iter()
                    .flatten(),
            );
            all.extend([mover::<ShuffleDown>(size, one), mover::<QuadBroadcast>(size, one)].into_iter().flatten());
        }
    }
    all
}
