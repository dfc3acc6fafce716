//! A test that needs AMD's own libraries runs in a child process: the loader finds them there, and what they do to a process stays there. Of the tests of `hip-sys` and
//! of `compute-hip`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in a child.
pub(crate) const CHILD: &str = "COMPUTE_HIP_CHILD";
/// Within the packages' folder.
pub(crate) const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Where AMD's packages are unpacked, if they are.
pub(crate) fn packages() -> Option<PathBuf> {
    let folder =
        std::env::var("COMPUTE_HIP").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/hip").to_owned());
    if Path::new(&folder).join(LIBRARIES).is_dir() {
        return Some(folder.into());
    }
    println!("NOT TESTED: AMD's libraries are not in {folder} (scripts/hip_packages {folder})");
    None
}

/// Runs the test of that name again, in a child whose loader finds AMD's libraries (5.2, from `scripts/hip_packages`). Whether this process is that child.
pub(crate) fn is_child(test: &str) -> bool {
    std::env::var_os(CHILD).is_some() || {
        if let Some(folder) = packages() {
            run(test, &folder.join(LIBRARIES).into_os_string());
        }
        false
    }
}

/// Runs a test in a child whose loader looks there, and fails where it fails.
pub(crate) fn run(test: &str, path: &OsStr) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", path)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{:?}\n{text}", output.status);
}
