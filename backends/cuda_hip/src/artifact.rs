//! Machine code as bytes for a later process (L7): which text it is of, and what else it depends on.
//!
//! Nothing is read from disk here but facts of the compiler's own files. That bytes are whole is for whoever kept them.

use std::collections::BTreeSet;
use std::fs;
use std::time::UNIX_EPOCH;

use compute_hal::{DeviceError, NativeHeader};

use crate::kernel::Compiler;

/// What a text and its compiler's options are known by.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(source: &[u8], options: &[String], headers: &[NativeHeader]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    part(source);
    part(&(options.len() as u64).to_le_bytes());
    options.iter().for_each(|option| part(option.as_bytes()));
    for NativeHeader { name, text } in headers {
        part(name.as_bytes());
        part(text.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Code with what it was made of before it.
pub(crate) fn seal(text: &Digest, code: &[u8]) -> Vec<u8> {
    [text, code].concat()
}

/// The code, if it is of this text. A request that is the same may still be translated otherwise, by a library that nobody has told apart from this one; then its parameters
/// need not lie where the code looks.
pub(crate) fn open<'a>(text: &Digest, bytes: &'a [u8]) -> Result<&'a [u8], DeviceError> {
    match bytes.split_at_checked(text.len()) {
        Some((of, code)) if of == text && !code.is_empty() => Ok(code),
        _ => Err(DeviceError::Internal("machine code of another text".into())),
    }
}

impl Compiler<'_> {
    /// What machine code depends on besides the kernel: the compiler, what it is told by us and by the environment, and the driver. `None` without a compiler.
    pub(crate) fn identity(&self) -> Option<String> {
        let vendor = self.api.vendor;
        let options = self.api.compile_options(self.target).ok()?.join(" ");
        let [major, minor] = self.api.compiler.as_ref().ok()?.version()?;
        let mut driver = 0;
        // SAFETY: the place is ours.
        unsafe { self.api.calls.driver_version(&mut driver) }.ok()?;
        let (name, subgroup) = (vendor.name, self.subgroup);
        let told = vendor.environment.iter().filter_map(|name| std::env::var_os(name).map(|value| format!("{name}={value:?}")));
        let told = told.collect::<Vec<_>>().join(" ");
        // hiprtc has said 9.0 for years, and NVRTC says nothing of its patches. Where the system does not tell which files they are, nothing is kept.
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let own = facts(&files(&maps, &[vendor.compilers, vendor.libraries].concat()));
        let files = own + " " + &facts(&parts(&files(&maps, vendor.compilers), &maps, vendor.compiler_parts));
        Some(format!("{name} {driver}, compiler {major}.{minor}, subgroups of {subgroup}, {options}; {told}; {files}"))
    }
}

/// The files of a compiler's parts, which may not be mapped before it is used: those that are, and those in the folders of the compiler's own files.
fn parts(compilers: &BTreeSet<String>, maps: &str, parts: &[&str]) -> BTreeSet<String> {
    let is_part = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        parts.iter().any(|part| name.strip_prefix(part).is_some_and(|rest| rest.starts_with(['.', '_'])))
    };
    let folders: BTreeSet<_> = compilers.iter().filter_map(|path| path.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let beside = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let beside = beside.map(|entry| entry.path().to_string_lossy().into_owned());
    maps.lines().filter_map(path).map(str::to_owned).chain(beside).filter(is_part).collect()
}

/// The path in a line of a process's maps.
fn path(line: &str) -> Option<&str> {
    line.find('/').and_then(|at| line.get(at..))
}

/// Sizes and times of files.
fn facts(files: &BTreeSet<String>) -> String {
    let facts = files.iter().map(|path| {
        let facts = fs::metadata(path);
        let time =
            facts.as_ref().ok().and_then(|facts| facts.modified().ok()).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{path} {} {}", facts.map_or(0, |facts| facts.len()), time.map_or(0, |time| time.as_nanos()))
    });
    facts.collect::<Vec<_>>().join(" ")
}

/// The mapped files with a library's name, whatever their versions. The compiler may be part of the driver's.
fn files(maps: &str, libraries: &[&str]) -> BTreeSet<String> {
    let stems: BTreeSet<_> = libraries.iter().filter_map(|name| name.split('.').next()).collect();
    let is_part = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        stems.iter().any(|stem| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.')))
    };
    maps.lines().filter_map(path).filter(is_part).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use super::*;

    #[test]
    fn l7_code_is_taken_for_its_own_text_only() {
        let text = |source: &str, options: &[&str], headers: &[[&str; 2]]| {
            let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
            let header = |[name, text]: &[&str; 2]| NativeHeader { name: (*name).into(), text: (*text).into() };
            digest(source.as_bytes(), &options, &headers.iter().map(header).collect::<Vec<_>>())
        };
        let of = text("x", &["-o"], &[["h", "t"]]);
        let bytes = seal(&of, b"code");
        assert_eq!(open(&of, &bytes).unwrap(), b"code");
        let others = [
            text("y", &["-o"], &[["h", "t"]]),
            text("x", &["-p"], &[["h", "t"]]),
            text("x", &[], &[["h", "t"]]),
            text("x", &["-o", "h"], &[]),
            text("x", &["-o"], &[["h", "u"]]),
            text("x", &["-o"], &[["i", "t"]]),
        ];
        assert!(others.iter().all(|other| open(other, &bytes).is_err()));
        assert!((0..=of.len()).all(|length| open(&of, &bytes[..length]).is_err()));
    }

    #[test]
    fn l7_a_compiler_is_known_by_its_files() {
        let maps = "7f00-7f01 r-xp 0 08:01 1  /opt/x y/libnvrtc.so.13.0.88\n7f01-7f02 r--p 0 08:01 1  /opt/x y/libnvrtc.so.13.0.88\n\
                    7f02-7f03 r-xp 0 08:01 2 /opt/libnvrtc-builtins.so.13.0\n7f03-7f04 rw-p 0 00:00 0\n7f04-7f05 r-xp 0 08:01 3 /lib/libc.so.6\n";
        let found = files(maps, &["libnvrtc.so.13", "libnvrtc.so"]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["/opt/x y/libnvrtc.so.13.0.88"]);
        let folder = std::env::temp_dir().join(format!("libcompute-facts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("libnvrtc.so.13");
        let maps = format!("0-1 r-xp 0 08:01 1 {}\n", file.display());
        fs::write(&file, "one").unwrap();
        // Not mapped yet, but the compiler will open it.
        let part = folder.join("libnvrtc-builtins.so.13.0");
        fs::write(&part, "one").unwrap();
        fs::write(folder.join("libnvrtc-other.so"), "one").unwrap();
        let now = || {
            let compilers = files(&maps, &["libnvrtc.so.13"]);
            [
                facts(&compilers),
                facts(&parts(&compilers, "0-1 r-xp 0 08:01 1 /opt/libnvrtc-builtins.so.12\n", &["libnvrtc-builtins"])),
            ]
        };
        let before = now();
        assert_eq!(before[1].split(' ').filter(|word| word.starts_with('/')).count(), 2, "{before:?}");
        fs::write(&file, "another").unwrap();
        fs::write(&part, "another").unwrap();
        let after = now();
        fs::remove_dir_all(&folder).unwrap();
        assert!(before.iter().zip(&after).all(|(before, after)| before != after));
    }
}
