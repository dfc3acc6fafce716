//! The runtime compiler: which of those that are there is taken, and what it makes code for.

use std::ffi::c_int;

use crate::driver::{CompilerCalls, CompilerFit, Vendor};

/// A runtime compiler, opened.
pub(crate) struct RuntimeCompiler {
    pub(crate) calls: CompilerCalls,
    about: About,
}

/// What a compiler says of itself.
#[derive(Clone, Debug, Default)]
struct About {
    /// Its file.
    file: String,
    /// Major and minor version, if it tells.
    version: Option<[c_int; 2]>,
    /// As of [`crate::driver::Forms::generation`], what it makes code for, if it tells.
    generations: Option<Vec<u32>>,
}

impl RuntimeCompiler {
    /// One whose calls were found in a file.
    pub(crate) fn new(calls: CompilerCalls, file: &str) -> Self {
        let [mut major, mut minor] = [0, 0];
        // SAFETY: the places are ours.
        let version = unsafe { calls.version(&mut major, &mut minor) }.ok().map(|()| [major, minor]);
        let about = About { file: file.to_owned(), version, generations: generations(&calls) };
        Self { calls, about }
    }

    /// Its version, if it tells.
    pub(crate) fn version(&self) -> Option<[c_int; 2]> {
        self.about.version
    }

    /// Why it makes no code for a target, as far as it says so.
    pub(crate) fn check(&self, vendor: &Vendor, target: &str) -> Result<(), String> {
        self.about.check((vendor.forms.generation)(target), target)
    }
}

impl About {
    /// Why it is too old for what kernels are written in.
    fn check_age(&self, oldest: [c_int; 2]) -> Result<(), String> {
        match self.version {
            Some(version) if version < oldest => Err(format!("{self} is too old, {}.{} is needed", oldest[0], oldest[1])),
            _ => Ok(()),
        }
    }

    fn makes(&self, generation: u32) -> bool {
        self.generations.as_ref().is_none_or(|known| known.contains(&generation))
    }

    fn check(&self, generation: u32, target: &str) -> Result<(), String> {
        let (true, Some(known)) = (!self.makes(generation), &self.generations) else { return Ok(()) };
        let bounds = known.iter().min().zip(known.iter().max());
        let (least, most) = bounds.unwrap_or((&0, &0));
        let needed = if generation < *least { "an earlier one" } else { "a later one" };
        // What is before the number is the same for all.
        let name = target.find(|letter: char| letter.is_ascii_digit()).and_then(|at| target.get(..at)).unwrap_or_default();
        Err(format!("{self} makes code for {name}{least} to {name}{most}, and not for {target}, which takes {needed}"))
    }
}

impl std::fmt::Display for About {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            Some([major, minor]) => write!(f, "{} (version {major}.{minor})", self.file),
            None => write!(f, "{}", self.file),
        }
    }
}

/// What a compiler makes code for, if it tells, as NVRTC does from 11.2 on.
fn generations(calls: &CompilerCalls) -> Option<Vec<u32>> {
    let mut count = 0;
    // SAFETY: the place is ours.
    unsafe { calls.architecture_count(&mut count) }.ok()?;
    let mut all = vec![0; usize::try_from(count).ok().filter(|count| (1..=MOST).contains(count))?];
    // SAFETY: there is room for as many as it has said.
    unsafe { calls.architectures(all.as_mut_ptr()) }.ok()?;
    Some(all.into_iter().filter_map(|number| u32::try_from(number).ok()).collect())
}

/// Architectures that a compiler may have. One that says more is not understood.
const MOST: usize = 4096;

/// What a compiler is chosen by.
pub(crate) struct Wanted {
    /// The first version, major and minor, that takes what kernels are written in.
    oldest: [c_int; 2],
    /// Of the devices that kernels are compiled for at all; of others it does not matter what is known.
    generations: Vec<u32>,
    /// As of [`Vendor::compiler_fits`], by a compiler's major version.
    fits: Box<dyn Fn(c_int) -> CompilerFit>,
}

impl Wanted {
    /// For a driver of a version and devices of these targets.
    pub(crate) fn new(vendor: &Vendor, driver: c_int, targets: &[String]) -> Self {
        let fits = vendor.compiler_fits;
        let generations = generations_of(targets, vendor.compile_options, vendor.forms.generation);
        Self { oldest: vendor.oldest_compiler, generations, fits: Box::new(move |major| fits(major, driver)) }
    }

    /// How good one is: by the devices that its code is made for and runs on, then by those that it is made for, as code which may be too new for the driver is better
    /// than none.
    fn rank(&self, about: &About) -> Rank {
        let fits = about.version.map_or(CompilerFit::Unknown, |[major, _]| (self.fits)(major));
        let known = self.generations.iter().filter(|generation| about.makes(**generation)).count();
        (if fits == CompilerFit::No { 0 } else { known }, known, fits)
    }
}

type Rank = (usize, usize, CompilerFit);

/// The generations of those targets that there are options for.
fn generations_of(
    targets: &[String],
    options: impl Fn(&str) -> Result<Vec<String>, String>,
    generation: impl Fn(&str) -> u32,
) -> Vec<u32> {
    targets.iter().filter(|target| options(target).is_ok()).map(|target| generation(target)).collect()
}

/// The best compiler. What is not taken because of its age is told in `tried`.
pub(crate) fn choose(
    found: impl Iterator<Item = RuntimeCompiler>,
    wanted: &Wanted,
    tried: &mut Vec<String>,
) -> Option<RuntimeCompiler> {
    best_of(found, |one| &one.about, wanted, tried)
}

fn best_of<T>(
    found: impl Iterator<Item = T>,
    about: impl Fn(&T) -> &About,
    wanted: &Wanted,
    tried: &mut Vec<String>,
) -> Option<T> {
    let young = found.filter(|one| about(one).check_age(wanted.oldest).map_err(|why| tried.push(why)).is_ok());
    let all = wanted.generations.len();
    best(young, |one| wanted.rank(about(one)), (all, all, CompilerFit::Yes))
}

/// The first of the highest rank, which may be low: it is better than none. Nothing is looked at behind one of the rank `top`.
fn best<T, R: Ord>(all: impl Iterator<Item = T>, rank: impl Fn(&T) -> R, top: R) -> Option<T> {
    let mut so_far: Option<(R, T)> = None;
    for one in all {
        let rank = rank(&one);
        if rank >= top {
            return Some(one);
        }
        if so_far.as_ref().is_none_or(|(highest, _)| rank > *highest) {
            so_far = Some((rank, one));
        }
    }
    so_far.map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use super::*;

    #[test]
    fn the_first_of_the_highest_rank_is_taken_and_nothing_behind_one_that_has_all() {
        let seen = std::cell::Cell::new(0);
        let all =
            || [(1, false), (0, true), (2, false), (2, true), (2, true)].into_iter().zip(1..).inspect(|(_, n)| seen.set(*n));
        assert_eq!((best(all(), |one| one.0, (2, true)), seen.get()), (Some(((2, true), 4)), 4));
        assert_eq!((best(all(), |one| one.0, (3, true)), seen.get()), (Some(((2, true), 4)), 5));
        assert_eq!(best(all(), |one| !one.0.1, true).map(|one| one.1), Some(1));
        assert_eq!(best([0; 0].into_iter(), |_| true, true), None);
    }

    /// As of CUDA's: what is newer than the driver may not run.
    fn wanted(driver: c_int, targets: &[&str]) -> Wanted {
        let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
        let generation = |target: &str| target.trim_start_matches("sm_").parse().unwrap();
        let options = |target: &str| if generation(target) < 70 { Err(String::new()) } else { Ok(Vec::new()) };
        let fits = move |major| match major {
            9 => CompilerFit::Unknown,
            _ if major <= driver => CompilerFit::Yes,
            _ => CompilerFit::No,
        };
        Wanted { oldest: [7, 0], generations: generations_of(&targets, options, generation), fits: Box::new(fits) }
    }

    /// The major version of the one that is taken, of those with these versions, which know these generations.
    fn taken(wanted: &Wanted, all: &[(c_int, &[u32])]) -> c_int {
        let about = all.iter().map(|(major, known)| About {
            version: Some([*major, 4]),
            generations: Some(known.to_vec()).filter(|known| !known.is_empty()),
            ..About::default()
        });
        best_of(about, |about| about, wanted, &mut Vec::new()).unwrap().version.unwrap()[0]
    }

    #[test]
    fn pkg_03_a_compiler_is_chosen_by_the_devices_that_it_makes_running_code_for() {
        let nvrtc: [(c_int, &[u32]); 2] = [(13, &[75, 90, 120]), (12, &[50, 61, 70, 75, 90])];
        // Kernels are refused for the two old ones, whichever is taken.
        assert_eq!(taken(&wanted(13, &["sm_61", "sm_61", "sm_120"]), &nvrtc), 13);
        assert_eq!(taken(&wanted(13, &["sm_70", "sm_70", "sm_120"]), &nvrtc), 12);
        // What is too new for the driver is no better than what works for one of them, and better than nothing.
        assert_eq!(taken(&wanted(12, &["sm_90", "sm_120"]), &nvrtc), 12);
        assert_eq!(taken(&wanted(12, &["sm_120"]), &nvrtc), 13);
        assert_eq!(taken(&wanted(13, &["sm_90"]), &nvrtc), 13);
    }

    #[test]
    fn pkg_03_a_compiler_that_does_not_tell_its_release_is_behind_one_of_the_right_release_and_before_a_wrong_one() {
        let fit = wanted(7, &[]);
        assert_eq!(taken(&fit, &[(9, &[]), (7, &[])]), 7);
        assert_eq!(taken(&fit, &[(8, &[]), (9, &[]), (8, &[])]), 9);
        assert_eq!(taken(&fit, &[(8, &[]), (10, &[])]), 8, "the first where none is right");
    }

    #[test]
    fn pkg_03_a_compiler_that_does_not_know_the_device_says_which_it_is_and_what_is_needed() {
        let old = About { file: "libnvrtc.so.12".into(), version: Some([12, 4]), generations: Some(vec![50, 70, 90]) };
        assert_eq!((old.check(90, "sm_90"), old.check(90, "sm_90a")), (Ok(()), Ok(())));
        let why = old.check(120, "sm_120").unwrap_err();
        assert_eq!(
            why,
            "libnvrtc.so.12 (version 12.4) makes code for sm_50 to sm_90, and not for sm_120, which takes a later one"
        );
        let why = About { generations: Some(vec![75, 90]), ..old.clone() }.check(70, "sm_70").unwrap_err();
        assert!(why.ends_with("which takes an earlier one"), "{why}");
        assert_eq!(About::default().check(120, "sm_120"), Ok(()), "one that does not tell is asked itself");
    }

    #[test]
    fn pkg_03_a_compiler_before_what_kernels_are_written_in_is_none() {
        let of = |version| About { file: "libnvrtc.so.11.2".into(), version, ..About::default() };
        let why = of(Some([11, 6])).check_age([11, 7]).unwrap_err();
        assert_eq!(why, "libnvrtc.so.11.2 (version 11.6) is too old, 11.7 is needed");
        for version in [Some([11, 7]), Some([12, 0]), None] {
            assert_eq!(of(version).check_age([11, 7]), Ok(()), "{version:?}");
        }
    }
}
