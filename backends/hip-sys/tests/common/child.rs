//! A test that needs AMD's own libraries runs in a child process: the loader finds them there, and what they do to a process stays there. Of the tests of `hip-sys` and
//! of `compute-hip`.

use std::path::Path;
use std::process::Command;

const CHILD: &str = "COMPUTE_HIP_CHILD";

/// Runs the test of that name again, in a child whose loader finds AMD's libraries (5.2, from `scripts/hip_packages`). Whether this process is that child.
pub(crate) fn is_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let folder =
        std::env::var("COMPUTE_HIP").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/hip").to_owned());
    let libraries = Path::new(&folder).join("usr/lib/x86_64-linux-gnu");
    if !libraries.is_dir() {
        println!("NOT TESTED: AMD's libraries are not in {folder} (scripts/hip_packages {folder})");
        return false;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", &libraries)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{:?}\n{text}", output.status);
    false
}
