//! Sizes that suit a device (L12): grids spread over three axes, workgroup sizes, vector widths. Arithmetic on a device's limits and properties; nothing
//! here touches a device.

use compute_hal::{Limits, Properties};

use super::code;
use super::error::{Result, fail};

/// The workgroup size that suits every device that anybody ships: large enough to hide latency, small enough to leave several per unit.
const USUAL_WORKGROUP: u32 = 256;
/// Workgroups per unit below which smaller workgroups keep more units busy.
const GROUPS_PER_UNIT: u64 = 4;
/// Bytes of the widest vector that is worth using when the device does not say.
const USUAL_LOAD: u32 = 16;

/// A grid, and how many of its workgroups have nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Workgroups on each axis; their product is at least what was asked for.
    pub grid: [u32; 3],
    /// How many more than asked for.
    pub idle: u64,
}

/// Spreads `count` workgroups over three axes within the limits. Exact: the product is `count`, x as large as it can be, then y; refused where
/// `count` has no such divisors. Otherwise as few axes as possible are used and the last row is not full: fewer than y * z groups are idle.
/// 0 gives a grid that is no work (L1).
pub fn spread(limits: &Limits, count: u64, exact: bool) -> Result<Spread> {
    let [most_x, most_y, most_z] = limits.grid.map(u64::from);
    let most = u128::from(most_x) * u128::from(most_y) * u128::from(most_z);
    if u128::from(count) > most {
        let message = format!("{count} workgroups were asked for; a grid of this device has {most} at most");
        return fail(code::LIMIT, message);
    }
    if count <= most_x {
        return Ok(Spread { grid: [count, 1, 1].map(narrow), idle: 0 });
    }
    if !exact {
        // Both divisors are at most the limits' product, so nothing is 0 and nothing wraps.
        let z = u128::from(count).div_ceil(u128::from(most_x) * u128::from(most_y)) as u64;
        let y = u128::from(count).div_ceil(u128::from(most_x) * u128::from(z)) as u64;
        let x = count.div_ceil(y * z);
        return Ok(Spread { grid: [x, y, z].map(narrow), idle: (u128::from(x) * u128::from(y * z) - u128::from(count)) as u64 });
    }
    match exact_grid(count, [most_x, most_y, most_z]) {
        Some(grid) => Ok(Spread { grid: grid.map(narrow), idle: 0 }),
        None => {
            let message = format!(
                "{count} workgroups cannot be spread exactly: there are no three divisors within {most_x} x {most_y} x {most_z}; \
                 ask for a spread that is not exact, and let the kernel skip the idle workgroups"
            );
            fail(code::LIMIT, message)
        }
    }
}

/// Within a limit of u32, so within u32.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// `count` as a product within `most`, the first axis as large as it can be, then the second.
fn exact_grid(count: u64, most: [u64; 3]) -> Option<[u64; 3]> {
    let divisors = divisors(count);
    for &x in divisors.iter().rev().filter(|&&x| x <= most[0]) {
        let rest = count / x;
        if u128::from(rest) > u128::from(most[1]) * u128::from(most[2]) {
            // Smaller ones leave even more.
            return None;
        }
        let fits = |&&y: &&u64| y <= most[1] && rest.is_multiple_of(y) && rest / y <= most[2];
        if let Some(&y) = divisors.iter().rev().find(fits) {
            return Some([x, y, rest / y]);
        }
    }
    None
}

/// All divisors, ascending. A number of 64 bits has at most 103,680.
fn divisors(count: u64) -> Vec<u64> {
    let mut all = vec![1_u64];
    let mut factors = Vec::new();
    factor(count, &mut factors);
    factors.sort_unstable();
    for group in factors.chunk_by(|a, b| a == b) {
        let before = all.len();
        let mut power = 1;
        for &prime in group {
            power *= prime;
            for at in 0..before {
                all.push(all[at] * power);
            }
        }
    }
    all.sort_unstable();
    all
}

/// The prime factors of a number that is not 0, in any order.
fn factor(mut number: u64, factors: &mut Vec<u64>) {
    // What is left after this has no factor below 2^12.
    for prime in 2..1 << 12 {
        while number.is_multiple_of(prime) {
            factors.push(prime);
            number /= prime;
        }
    }
    let mut open = vec![number];
    while let Some(number) = open.pop() {
        if number == 1 {
        } else if is_prime(number) {
            factors.push(number);
        } else {
            let part = (1..).find_map(|step| split(number, step)).unwrap_or(number);
            open.extend([part, number / part]);
        }
    }
}

fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base, modulus);
        }
        base = multiply(base, base, modulus);
        exponent >>= 1;
    }
    result
}

/// Miller and Rabin's test for an odd number above 2^12; with these bases it is exact for 64 bits (Jaeschke 1993, Sorenson and Webster 2015).
fn is_prime(number: u64) -> bool {
    let twos = (number - 1).trailing_zeros();
    let odd = (number - 1) >> twos;
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37].into_iter().all(|base| {
        let mut value = power(base, odd, number);
        if value == 1 || value == number - 1 {
            return true;
        }
        for _ in 1..twos {
            value = multiply(value, value, number);
            if value == number - 1 {
                return true;
            }
        }
        false
    })
}

/// Pollard's rho: a proper divisor of a composite number, or `None` when this `step` of the walk finds none.
fn split(number: u64, step: u64) -> Option<u64> {
    let next = |value: u64| ((u128::from(value) * u128::from(value) + u128::from(step)) % u128::from(number)) as u64;
    let (mut slow, mut fast) = (2, 2);
    loop {
        slow = next(slow);
        fast = next(next(fast));
        match common_divisor(slow.abs_diff(fast), number) {
            1 => {}
            whole if whole == number => return None,
            part => return Some(part),
        }
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A good number of invocations for the workgroups of a kernel over `items` work items, one item each: whole subgroups, the usual size where
/// that leaves work for every unit of the device, and a power of two up to that.
pub fn workgroup_size(properties: &Properties, limits: &Limits, items: u64) -> u32 {
    let most = limits.workgroup_invocations.min(limits.workgroup_size[0]).max(1);
    let subgroup = properties.subgroup_sizes[1].clamp(1, most);
    let usual = USUAL_WORKGROUP.min(1 << most.ilog2()).max(subgroup);
    let busy = u64::from(properties.units.max(1)).saturating_mul(GROUPS_PER_UNIT);
    let mut size = usual;
    while size / 2 >= subgroup && items.div_ceil(size.into()) < busy {
        size /= 2;
    }
    size
}

/// The vector widths in elements that are worth using for elements of `element_size` bytes, widest first, ending with 1: powers of two up to the widest load
/// of the device. Refused: a size of 0.
pub fn vector_widths(properties: &Properties, element_size: u32) -> Result<Vec<u32>> {
    if element_size == 0 {
        return fail(code::INVALID_ARGUMENT, "elements of 0 bytes were asked for; an element has 1 at least");
    }
    let load = if properties.load_width == 0 { USUAL_LOAD } else { properties.load_width };
    let widest = (load / element_size).max(1).ilog2();
    Ok((0..=widest).rev().map(|power| 1 << power).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(grid: [u32; 3]) -> Limits {
        Limits {
            workgroup_size: [1024, 1024, 64],
            workgroup_invocations: 1024,
            workgroup_memory: 0,
            grid,
            bindings: 1,
            binding_size: 1,
            uniform_size: 1,
            immediate_size: 0,
            allocation_size: 1,
            storage_alignment: 4,
            uniform_alignment: 4,
        }
    }

    fn properties(units: u32, subgroup: u32, load_width: u32) -> Properties {
        Properties {
            name: String::new(),
            vendor: String::new(),
            driver: String::new(),
            kind: compute_hal::DeviceKind::Cpu,
            target: String::new(),
            uuid: [0; 16],
            pci: None,
            memory_size: 0,
            units,
            subgroup_sizes: [subgroup; 2],
            load_width,
        }
    }

    fn product(grid: [u32; 3]) -> u128 {
        grid.iter().map(|&n| u128::from(n)).product()
    }

    proptest! {
        #[test]
        fn l12_a_spread_has_all_groups_within_the_limits_and_says_how_many_are_idle(
            grid in [1_u32..=70_000, 1_u32..=70_000, 1_u32..=70_000], part in 0.0..=1.0_f64, exact in any::<bool>(),
        ) {
            let most = u64::try_from(product(grid)).unwrap();
            let count = (most as f64 * part.powi(3)) as u64;
            let count = count.min(most);
            match spread(&limits(grid), count, exact) {
                Ok(Spread { grid: got, idle }) => {
                    prop_assert_eq!(product(got), u128::from(count) + u128::from(idle));
                    prop_assert!(got.iter().zip(grid).all(|(&got, most)| got <= most));
                    prop_assert!(!exact || idle == 0);
                    prop_assert!(idle < u64::from(got[1]) * u64::from(got[2]));
                }
                Err(failed) => {
                    prop_assert!(exact);
                    prop_assert_eq!(failed.error.code, code::LIMIT);
                }
            }
        }

        #[test]
        fn l12_an_exact_spread_is_found_whenever_there_is_one(grid in [1_u32..40, 1_u32..40, 1_u32..40], count in 1_u64..4000) {
            let possible = (1..=u64::from(grid[0])).any(|x| (1..=u64::from(grid[1])).any(|y| {
                count.is_multiple_of(x * y) && count / (x * y) <= u64::from(grid[2])
            }));
            prop_assert_eq!(spread(&limits(grid), count, true).is_ok(), possible);
        }

        #[test]
        fn factors_are_prime_and_multiply_to_the_number(number in 1_u64..) {
            let mut factors = Vec::new();
            factor(number, &mut factors);
            prop_assert_eq!(factors.iter().map(|&f| u128::from(f)).product::<u128>(), u128::from(number));
            for factor in factors {
                let prime = if factor < 1 << 12 { (2..factor).all(|n| factor % n != 0) } else { is_prime(factor) };
                prop_assert!(prime);
            }
        }

        #[test]
        fn l12_a_workgroup_is_whole_subgroups_within_the_limits(units in 1_u32..300, log in 0_u32..8, items in any::<u64>()) {
            let properties = properties(units, 1 << log, 16);
            let size = workgroup_size(&properties, &limits([1; 3]), items);
            prop_assert!(size.is_multiple_of(1 << log) && size <= 1024 && size.is_power_of_two());
        }
    }

    #[test]
    fn l12_hard_numbers_are_factored_in_time() {
        // The product of the two largest primes below 2^32, the square of one, and the largest prime of 64 bits.
        let large = limits([u32::MAX, u32::MAX, u32::MAX]);
        let found = spread(&large, 4_294_967_291 * 4_294_967_279, true).unwrap();
        assert_eq!(found.grid, [4_294_967_291, 4_294_967_279, 1]);
        assert_eq!(spread(&large, 4_294_967_291 * 4_294_967_291, true).unwrap().grid, [4_294_967_291, 4_294_967_291, 1]);
        assert_eq!(spread(&large, 18_446_744_073_709_551_557, true).unwrap_err().error.code, code::LIMIT);
        assert_eq!(spread(&large, u64::MAX, false).unwrap().grid, [4_294_967_295, 2_147_483_649, 2]);
    }

    #[test]
    fn l12_no_workgroups_are_no_work_and_too_many_are_refused_with_the_numbers() {
        let limits = limits([10, 10, 10]);
        assert_eq!(spread(&limits, 0, true).unwrap(), Spread { grid: [0, 1, 1], idle: 0 });
        assert_eq!(spread(&limits, 1000, true).unwrap().grid, [10, 10, 10]);
        let failed = spread(&limits, 1001, false).unwrap_err();
        assert_eq!(failed.error.code, code::LIMIT);
        assert!(failed.error.message.contains("1001") && failed.error.message.contains("1000"), "{}", failed.error.message);
        assert_eq!(spread(&limits, 11, false).unwrap(), Spread { grid: [6, 2, 1], idle: 1 });
        assert_eq!(spread(&limits, 11, true).unwrap_err().error.code, code::LIMIT);
    }

    #[test]
    fn l12_little_work_gets_small_workgroups_and_much_work_the_usual_ones() {
        let gpu = properties(132, 32, 16);
        let limits = limits([1; 3]);
        assert_eq!(workgroup_size(&gpu, &limits, 1 << 30), 256);
        assert_eq!(workgroup_size(&gpu, &limits, 1), 32);
        assert_eq!(workgroup_size(&properties(2, 1, 16), &limits, 100), 8);
    }

    #[test]
    fn l12_vector_widths_are_what_one_load_takes() {
        let gpu = properties(1, 32, 16);
        assert_eq!(vector_widths(&gpu, 4).unwrap(), [4, 2, 1]);
        assert_eq!(vector_widths(&gpu, 2).unwrap(), [8, 4, 2, 1]);
        assert_eq!(vector_widths(&gpu, 12).unwrap(), [1]);
        assert_eq!(vector_widths(&gpu, 1 << 20).unwrap(), [1]);
        assert_eq!(vector_widths(&gpu, 0).unwrap_err().error.code, code::INVALID_ARGUMENT);
    }
}
