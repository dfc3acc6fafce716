//! Says which version of the library this is, to the letter: kernels that one version keeps on disk are not taken by another (L7).

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// All that the meaning of a compiled kernel can depend on. What is not there (a packaged library has no lock file) is left out.
const SOURCES: &[&str] = &["Cargo.toml", "Cargo.lock", "src", "backends", "trust/src", "memory/src"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for source in SOURCES {
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    // It tells versions apart and defends against nobody.
    let mut hasher = DefaultHasher::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(&file);
        part(&mut hasher, name.to_string_lossy().as_bytes());
        part(&mut hasher, &fs::read(&file)?);
    }
    for name in ["TARGET", "CARGO_CFG_FEATURE", "PROFILE", "OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS"] {
        part(&mut hasher, std::env::var(name).unwrap_or_default().as_bytes());
    }
    // What generated code calls is this compiler's work.
    let compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output()?;
    part(&mut hasher, &compiler.stdout);
    println!("cargo::rustc-env=COMPUTE_BUILD={:016x}", hasher.finish());
    Ok(())
}

fn part(hasher: &mut DefaultHasher, bytes: &[u8]) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// The sources below a path; not tests and benchmarks, whose changes change no kernel.
fn collect(at: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let skipped = ["tests", "benches", "examples", "test_driver", "fault", "interpreter"];
    if at.is_file() {
        files.push(at.to_owned());
    } else if at.is_dir() && !at.file_name().is_some_and(|name| skipped.iter().any(|skipped| name == *skipped)) {
        println!("cargo::rerun-if-changed={}", at.display());
        for entry in fs::read_dir(at)? {
            collect(&entry?.path(), files)?;
        }
    }
    Ok(())
}
