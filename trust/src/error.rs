//! An error as plain data: what the error object of the C ABI shows of one failure.

use std::fmt;
use std::sync::Arc;

/// The four questions that every error answers without its text being parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Answers {
    /// This kernel or configuration can never run here: drop the candidate.
    pub refusal: bool,
    /// Drop the device.
    pub poisoned: bool,
    /// Could succeed after memory is reclaimed.
    pub reclaimable: bool,
    /// Reached through at least one skip.
    pub skip: bool,
}

impl Answers {
    /// The answers of a group: refusal and reclaimable need every member, poisoned and skip any; an empty group is none of them.
    pub fn of_group(members: impl IntoIterator<Item = Answers>) -> Answers {
        let both = |a: Answers, b: Answers| Answers {
            refusal: a.refusal && b.refusal,
            poisoned: a.poisoned || b.poisoned,
            reclaimable: a.reclaimable && b.reclaimable,
            skip: a.skip || b.skip,
        };
        members.into_iter().reduce(both).unwrap_or_default()
    }
}

/// The driver's own words for a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCode {
    /// Its number.
    pub code: i64,
    /// Its name.
    pub name: String,
}

/// Which piece of work an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Number of the operation, unique in the process, from 1.
    pub operation: u64,
    /// The caller's label, may be empty.
    pub label: Arc<str>,
    /// Entry point of the kernel, or the name of the operation (`copy`, `write`, ...).
    pub kernel: Arc<str>,
    /// Id of the stream, unique in the process; 0: none.
    pub stream: u64,
}

/// A place in a kernel's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Location {
    /// From 1; 0 when unknown.
    pub line: u32,
    /// In bytes, from 1; 0 when unknown.
    pub column: u32,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The status code of the C ABI: negative.
    pub code: i32,
    /// What was asked, what is allowed, what to do.
    pub message: String,
    /// The answers for this error by itself; `skip` is never set here.
    pub answers: Answers,
    /// What the driver said.
    pub driver: Option<DriverCode>,
    /// The work that it is about.
    pub about: Option<About>,
    /// Where in the kernel's source.
    pub location: Option<Location>,
    /// Everything that was found wrong with that source, in its order; empty when it is about something else.
    pub diagnostics: Vec<Diagnostic>,
}

/// One thing that is wrong with a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, what was expected.
    pub message: String,
    /// Where, if it is about a place.
    pub location: Option<Location>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
