//! The libraries that stand in for AMD's (`test_driver/`, `forward_driver/`), built when they are not there yet, and what tests ask of the first.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What lives in the stand-in, by the numbers of `hip_test_living`.
pub(crate) const KINDS: [&str; 10] = [
    "allocations",
    "host allocations",
    "pools",
    "streams",
    "events",
    "modules",
    "graphs",
    "executable graphs",
    "programs",
    "retained contexts",
];

/// The stand-in, built now or before. `None`, said aloud: there is no compiler for it.
pub(crate) fn library() -> Option<PathBuf> {
    if !Command::new("clang++-19").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("NOT TESTED: clang++-19 is not installed, so there is no stand-in for AMD's driver");
        return None;
    }
    Some(built("test_driver", "libamdhip64.so", &[]))
}

/// The library that `build.sh` of a folder here makes, built now or before from what is in that folder.
pub(crate) fn built(folder: &str, library: &str, more: &[&Path]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&sources).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort_unstable();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in files.iter().flat_map(|file| std::fs::read(file).unwrap()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hip-{folder}-{hash:016x}"));
    std::fs::create_dir_all(&made).unwrap();
    // Other test processes want it at the same time.
    let lock = std::fs::File::create(made.join("lock")).unwrap();
    lock.lock().unwrap();
    let library = made.join(library);
    if !library.exists() {
        let output = Command::new(sources.join("build.sh")).arg(&made).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    library
}

/// The functions of the stand-in that are for tests.
pub(crate) struct Control {
    library: libloading::Library,
}

impl Control {
    /// Opens the stand-in, or gets at the one that is open.
    pub(crate) fn new(path: &Path) -> Self {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hip-kernels");
        if std::env::var_os("HIP_TEST_CACHE").is_none() {
            // SAFETY: the stand-in reads it when it is asked for the first time, which is later.
            unsafe { std::env::set_var("HIP_TEST_CACHE", cache) };
        }
        // SAFETY: it is the library that was built here.
        Self { library: unsafe { libloading::Library::new(path) }.unwrap() }
    }

    fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: the callers below name the types that `control.cpp` has.
        *unsafe { self.library.get::<F>(name.to_bytes_with_nul()) }.unwrap()
    }

    /// One of the settings of `control.cpp`.
    pub(crate) fn set(&self, name: &str, value: u64) {
        let name = CString::new(name).unwrap();
        let set: unsafe extern "C" fn(*const c_char, c_ulong) = self.function(c"hip_test_set");
        // SAFETY: the name ends with a zero.
        unsafe { set(name.as_ptr(), value) }
    }

    /// The n-th call from now on fails, at once or when its work's turn comes.
    pub(crate) fn fail(&self, n: u64, code: i32, late: bool) {
        let fail: unsafe extern "C" fn(c_long, c_int, c_int) = self.function(c"hip_test_fail");
        // SAFETY: plain numbers.
        unsafe { fail(n as c_long, code, late.into()) }
    }

    /// Only calls whose name begins like that count for [`Self::fail`].
    pub(crate) fn only(&self, name: &str) {
        let name = CString::new(name).unwrap();
        let only: unsafe extern "C" fn(*const c_char) = self.function(c"hip_test_only");
        // SAFETY: the name ends with a zero.
        unsafe { only(name.as_ptr()) }
    }

    /// The call that failed, if any has.
    pub(crate) fn failed(&self) -> Option<String> {
        let failed: unsafe extern "C" fn() -> *const c_char = self.function(c"hip_test_failed");
        // SAFETY: it is a text of this thread's.
        let name = unsafe { CStr::from_ptr(failed()) }.to_string_lossy().into_owned();
        (!name.is_empty()).then_some(name)
    }

    /// Makes the device usable again, and disarms.
    pub(crate) fn heal(&self) {
        let heal: unsafe extern "C" fn() = self.function(c"hip_test_heal");
        // SAFETY: no arguments.
        unsafe { heal() }
    }

    fn number(&self, name: &CStr) -> u64 {
        let number: unsafe extern "C" fn() -> c_long = self.function(name);
        // SAFETY: no arguments.
        unsafe { number() as u64 }
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.number(c"hip_test_calls")
    }

    /// Mistakes that the stand-in has told so far.
    pub(crate) fn mistakes(&self) -> u64 {
        self.number(c"hip_test_mistakes")
    }

    /// What lives, by kind.
    pub(crate) fn living(&self) -> [i64; KINDS.len()] {
        let living: unsafe extern "C" fn(c_int) -> c_long = self.function(c"hip_test_living");
        let mut n = 0;
        KINDS.map(|_| {
            n += 1;
            // SAFETY: plain numbers.
            unsafe { living(n - 1) }
        })
    }
}
