//! The folder of the cache: who may own it, and reading, replacing and removing files in it. Knows nothing of kernels.
//!
//! Whoever can write to the folder can have this process run code of theirs. So a folder that others may write to, or put another in place of, is not used. What is
//! there is still not believed: a name may lead to anything.

use std::collections::hash_map::RandomState;
#[cfg(unix)]
use std::fs::OpenOptions;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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
/// What a file takes on disk is a multiple of this on most systems; small files would otherwise count for next to nothing.
const BLOCK: u64 = 4096;

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

/// Bytes that a file of this size takes on disk.
pub(super) fn taken(size: u64) -> u64 {
    size.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
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
        let path = std::path::absolute(path).map_err(|why| format!("it cannot be found: {why}"))?;
        if !path.is_dir() {
            make(&path).map_err(|why| format!("it cannot be made: {why}"))?;
        }
        // Who can change where links lead on the way, and then what is there.
        check_way(&path, &process)?;
        // From here on what it is now, wherever links lead later.
        let path = fs::canonicalize(path).map_err(|why| format!("it cannot be found: {why}"))?;
        check_way(&path, &process)?;
        // Not through a link that somebody has put there since.
        let facts = fs::symlink_metadata(&path).map_err(|why| why.to_string())?;
        if !facts.is_dir() {
            return Err("it is no folder".into());
        }
        owned(&facts, &process)?;
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
    pub(super) fn replace(&self, key: &str, head: &[u8], artifact: &[u8]) -> Result<(), String> {
        let (size, most) = (head.len().saturating_add(artifact.len()), (self.process.largest_file)());
        if size as u64 > most {
            return Err(format!("it has {size} bytes, and files of this process may have {most}"));
        }
        // A number of the process's would not do: processes that share a folder may be in namespaces where their numbers are the same.
        let random = RandomState::new().build_hasher().finish();
        let unfinished = self.path.join(format!("{key}.{random:016x}{UNFINISHED}"));
        let mut file = create_plain(&unfinished).map_err(|why| why.to_string())?;
        // Not synced: what a crash of the system leaves is noticed by its digest, and a kernel is soon compiled.
        let written = file
            .write_all(head)
            .and_then(|()| file.write_all(artifact))
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
                    let size = taken(facts.len());
                    swept.bytes = swept.bytes.saturating_add(size);
                    files.push((used, size, entry.path()));
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
                swept.bytes = swept.bytes.saturating_sub(size);
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
    const GROUP_WRITES: u32 = 0o020;
    /// In such a folder one may only rename what is one's own.
    const STICKY: u32 = 0o1000;
    /// Whoever has no number in the namespace that this process is in: there it is the user of all that the namespace's makers left outside, the system's folders among
    /// them. Who that is cannot be told, so it counts as root, above the folder only.
    const UNKNOWN: u32 = 65534;

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

    /// Whether there are users whose numbers mean nothing here, as inside a user namespace: all of them are shown as [`UNKNOWN`]. Elsewhere that is a user like others.
    fn has_unknown_users() -> bool {
        let all = ["0", "0", "4294967295"];
        fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_whitespace().eq(all))
    }

    /// Whether nobody but the user whose name it has is in a group. Not if the system's file does not tell: other sources of groups may ask a network.
    fn is_private(group: u32) -> bool {
        fs::read_to_string("/etc/group").is_ok_and(|groups| lists_its_user_only(&groups, group))
    }

    /// The same in a file of groups: `name:password:number:members`.
    pub(super) fn lists_its_user_only(groups: &str, group: u32) -> bool {
        let lines = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let members = lines.filter_map(|line| match line[..] {
            [name, _, number, members] if number.parse() == Ok(group) => Some((name, members)),
            _ => None,
        });
        let mut own =
            members.map(|(name, members)| members.split(',').all(|member| member.is_empty() || member == name)).peekable();
        own.peek().is_some() && own.all(|own| own)
    }

    /// Whether somebody else can put another folder in place of one, at whatever step of its path.
    pub(super) fn check_way(path: &Path, process: &Process) -> Result<(), String> {
        for step in path.ancestors() {
            // Of a link itself: whose it is says who can make it lead elsewhere.
            let facts = fs::symlink_metadata(step).map_err(|why| format!("{}: {why}", step.display()))?;
            let (owner, mode) = (facts.uid(), facts.mode());
            let at = step.display();
            if process.lists_exceed_modes && (process.has_list)(step) {
                return Err(format!("somebody may replace it: {at} has a list that gives rights which its mode does not show"));
            }
            if step == path && !facts.is_symlink() {
                continue;
            }
            let trusted = [process.user, 0].contains(&owner) || owner == UNKNOWN && has_unknown_users();
            if !trusted {
                return Err(format!("somebody may replace it: {at} belongs to user {owner}"));
            }
            let open = |others: u32| facts.is_dir() && mode & others != 0 && mode & STICKY == 0;
            // A group of one user's own is that user. With a list of further users the group's right is the most that any of them has.
            let own = || facts.gid() == owner && is_private(facts.gid()) && !(process.has_list)(step);
            if open(OTHERS_WRITE & !GROUP_WRITES) || open(GROUP_WRITES) && !own() {
                return Err(format!("somebody may replace it: {at} has mode {:04o}", mode & 0o7777));
            }
        }
        Ok(())
    }
}

/// Who may write to a folder is not told by numbers here but by lists, which nobody has taught this file to read. So nothing is kept: a folder that somebody else could write
/// to would let them run code in this process.
#[cfg(not(unix))]
mod system {
    use super::{File, Path, Process, fs, io};

    const WHY: &str = "who may write to it cannot be told on this system, so no kernels are kept";

    fn no<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, WHY))
    }

    pub(super) fn make(_: &Path) -> io::Result<()> {
        no()
    }

    pub(super) fn open_plain(_: &Path) -> io::Result<File> {
        no()
    }

    pub(super) fn create_plain(_: &Path) -> io::Result<File> {
        no()
    }

    pub(super) fn owned(_: &fs::Metadata, _: &Process) -> Result<(), String> {
        Err(WHY.into())
    }

    pub(super) fn check_way(_: &Path, _: &Process) -> Result<(), String> {
        Err(WHY.into())
    }
}

use system::{check_way, create_plain, make, open_plain, owned};

#[cfg(all(test, not(unix)))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use super::{Folder, Process, fs};

    #[test]
    fn l7_no_folder_is_used_or_made_where_nobody_can_tell_who_may_write_to_it() {
        let place = std::env::temp_dir().join(format!("libcompute-untold-{}", std::process::id()));
        let process = Process { user: 0, largest_file: || u64::MAX, has_list: |_| true, lists_exceed_modes: true };
        let why = Folder::open(&place, process).err().unwrap();
        assert!(why.contains("cannot be told") && !place.exists(), "{why}");
        fs::create_dir(&place).unwrap();
        let why = Folder::open(&place, process).err().unwrap();
        fs::remove_dir(&place).unwrap();
        assert!(why.contains("cannot be told"), "{why}");
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::system::lists_its_user_only;

    #[test]
    fn l7_a_group_with_its_owners_number_is_the_owner_only_if_nobody_else_is_in_it() {
        let groups =
            "root:x:0:\nada:x:1000:ada\nshared:x:1001:shared,eve\ntwice:x:1002:\nagain:x:1002:eve\nbroken:1003:\nempty:x:1004:\n";
        let own = |group| lists_its_user_only(groups, group);
        assert!(own(0) && own(1000) && own(1004));
        assert!(!own(1001), "another member");
        assert!(!own(1002), "two groups with a number, of which one has a member");
        assert!(!own(1003) && !own(7) && !lists_its_user_only("", 0), "nothing is known");
    }
}
