//! The folder of the cache: who may own it, and reading, replacing and removing files in it. Knows nothing of kernels.
//!
//! Whoever can write to the folder can have this process run code of theirs. So a folder that others may write to is not used. What is there is still not
//! believed: a name may lead to anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::Process;
use super::entry::{HEAD, MOST};

/// How the files of the cache end.
const SUFFIX: &str = ".kernel";
/// How files end that are being written.
const UNFINISHED: &str = ".tmp";
/// Letters of a key in a name.
const LETTERS: usize = 64;
/// After that an unfinished file is one that its process left.
const LEFT_AFTER: Duration = Duration::from_secs(60 * 60);

/// A folder that may be used.
pub(super) struct Folder {
    path: PathBuf,
    process: Process,
}

/// What a look for a file found.
pub(super) enum Found {
    Nothing,
    /// Something that is no file of ours.
    Unusable(String),
    Bytes(Vec<u8>, File),
}

/// What went out of a folder, and what is left in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    pub(super) removed: u64,
    pub(super) bytes: u64,
}

impl Folder {
    /// Makes it unless it is there, for this user alone. `Err`: why it is not used.
    pub(super) fn open(path: &Path, process: Process) -> Result<Self, String> {
        if !path.is_dir() {
            make(path).map_err(|why| format!("it cannot be made: {why}"))?;
        }
        // From here on what it is now, wherever links lead later.
        let path = fs::canonicalize(path).map_err(|why| format!("it cannot be found: {why}"))?;
        check(&path, &process)?;
        Ok(Self { path, process })
    }

    pub(super) fn read(&self, key: &str) -> Found {
        let file = match open_plain(&self.path.join(format!("{key}{SUFFIX}"))) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(why) => return Found::Unusable(why.to_string()),
        };
        match self.read_all(&file) {
            Ok(bytes) => Found::Bytes(bytes, file),
            Err(why) => Found::Unusable(why),
        }
    }

    fn read_all(&self, file: &File) -> Result<Vec<u8>, String> {
        let facts = file.metadata().map_err(|why| why.to_string())?;
        if !facts.is_file() {
            return Err("it is no file".into());
        }
        owned(&facts, &self.process)?;
        let size = facts.len();
        if !(HEAD as u64..=MOST + HEAD as u64).contains(&size) {
            return Err(format!("it has {size} bytes"));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize).map_err(|_| "there is no memory for it")?;
        // One more, so that a file that grows is noticed.
        file.take(size + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        Ok(bytes)
    }

    /// Puts a file in place of what is there, as a whole: others see the one before or this one.
    pub(super) fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if bytes.len() as u64 > self.process.largest_file {
            return Err(format!(
                "it has {} bytes, and files of this process may have {}",
                bytes.len(),
                self.process.largest_file
            ));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.path.join(format!("{key}.{}.{number}{UNFINISHED}", std::process::id()));
        // Not synced: what a crash of the system leaves is noticed by its digest.
        let written = create_plain(&unfinished)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&unfinished, self.path.join(format!("{key}{SUFFIX}"))));
        written.map_err(|why| {
            let _ = fs::remove_file(&unfinished);
            why.to_string()
        })
    }

    /// Removes what was used longest ago until `keep` bytes are left, if there are more than `limit`; and what other processes left unfinished.
    pub(super) fn sweep(&self, limit: u64, keep: u64) -> Swept {
        let (mut files, mut swept) = (Vec::new(), Swept::default());
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(kind) = name.to_str().and_then(kind_of) else { continue };
            // Of a link, not of what it leads to.
            let Ok(facts) = entry.metadata() else { continue };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match kind {
                Kind::Whole if !facts.is_dir() => {
                    swept.bytes = swept.bytes.saturating_add(facts.len());
                    files.push((used, facts.len(), entry.path()));
                }
                Kind::Unfinished if used.elapsed().is_ok_and(|age| age > LEFT_AFTER) => drop(fs::remove_file(entry.path())),
                Kind::Whole | Kind::Unfinished => {}
            }
        }
        if swept.bytes > limit {
            files.sort();
            for (_, size, path) in files {
                if swept.bytes <= keep {
                    break;
                }
                // Another process may have done it.
                if fs::remove_file(path).is_ok() {
                    swept.removed += 1;
                }
                swept.bytes -= size;
            }
        }
        swept
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Whole,
    Unfinished,
}

/// What the name of one of our files says; `None` for all others, which are never touched.
fn kind_of(name: &str) -> Option<Kind> {
    let (key, rest) = name.split_at_checked(LETTERS)?;
    if !key.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    match rest {
        SUFFIX => Some(Kind::Whole),
        rest if rest.starts_with('.') && rest.ends_with(UNFINISHED) => Some(Kind::Unfinished),
        _ => None,
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, Metadata};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    use super::{File, OpenOptions, Path, Process, fs, io};

    /// Others may write.
    const OTHERS_WRITE: u32 = 0o022;
    const ALL_WRITE: u32 = 0o002;
    /// In such a folder one may only rename what is one's own.
    const STICKY: u32 = 0o1000;

    pub(super) fn make(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Not a link; and a pipe does not make it wait.
    pub(super) fn open_plain(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    }

    pub(super) fn create_plain(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
    }

    pub(super) fn owned(facts: &Metadata, process: &Process) -> Result<(), String> {
        if facts.uid() != process.user && facts.uid() != 0 {
            return Err(format!("it belongs to user {}, and this process is of user {}", facts.uid(), process.user));
        }
        if facts.mode() & OTHERS_WRITE != 0 {
            return Err(format!("others may write to it: its mode is {:03o}, and chmod go-w would do", facts.mode() & 0o777));
        }
        Ok(())
    }

    pub(super) fn check(path: &Path, process: &Process) -> Result<(), String> {
        owned(&fs::metadata(path).map_err(|why| why.to_string())?, process)?;
        for above in path.ancestors().skip(1) {
            let mode = fs::metadata(above).map_err(|why| why.to_string())?.mode();
            if mode & ALL_WRITE != 0 && mode & STICKY == 0 {
                return Err(format!("anybody may replace it: {} has mode {:04o}", above.display(), mode & 0o7777));
            }
        }
        Ok(())
    }
}

/// Where permissions are not those of Unix, the folder has to be one that only this user can write to; nothing looks.
#[cfg(not(unix))]
mod system {
    use super::{File, OpenOptions, Path, Process, fs, io};

    pub(super) fn make(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(super) fn open_plain(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }

    pub(super) fn create_plain(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(super) fn owned(_: &fs::Metadata, _: &Process) -> Result<(), String> {
        Ok(())
    }

    pub(super) fn check(_: &Path, _: &Process) -> Result<(), String> {
        Ok(())
    }
}

use system::{check, create_plain, make, open_plain, owned};
