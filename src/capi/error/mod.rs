//! Error objects: made by the guard of a failed call, asked by anybody.

mod format;
mod object;

use std::ffi::c_char;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use compute_trust::{Answers, Error};

pub(crate) use object::Object;

use super::boundary::{Answer, Complaint, Out, OutStruct, field, guard_status, guard_void, refuse, set_optional, write_text};
use super::handle::{Counted, Guard, Table, Tag};
use super::status::*;
use super::types::*;

static ERRORS: Table<Object> = Table::new(Tag::Error);
static NO_MEMORY: Object = Object::NoMemory;

/// The object of a complaint. Where there is no room for one, the object made in advance.
pub(crate) fn make(complaint: Complaint) -> compute_error {
    match Object::of(complaint) {
        Object::NoMemory => no_memory(),
        object => ERRORS.insert(object).map_or_else(|_| no_memory(), handle_of),
    }
}

/// The object that stands for "out of memory" when there is none to say so. Needs none.
pub(crate) fn no_memory() -> compute_error {
    handle_of(ERRORS.reserved())
}

fn handle_of(value: u64) -> compute_error {
    ptr::without_provenance_mut(value as usize)
}

fn value_of(error: compute_error) -> u64 {
    error.addr() as u64
}

/// An object being asked.
enum Asked {
    Live(Guard<'static, Object>),
    Made,
}

impl Deref for Asked {
    type Target = Object;
    fn deref(&self) -> &Object {
        match self {
            Self::Live(object) => object,
            Self::Made => &NO_MEMORY,
        }
    }
}

fn ask(error: compute_error) -> Result<Asked, Complaint> {
    if error == no_memory() {
        return Ok(Asked::Made);
    }
    match ERRORS.get(value_of(error)) {
        Some(object) => Ok(Asked::Live(object)),
        None => refuse!(COMPUTE_ERROR_INVALID_HANDLE, "not an error object"),
    }
}

fn insert(object: Object) -> Result<compute_error, Complaint> {
    Ok(handle_of(ERRORS.insert(object)?))
}

/// Counts one more reference to an error object.
#[unsafe(no_mangle)]
pub extern "C" fn compute_error_retain(error: compute_error) -> compute_status {
    guard_status(|| {
        if error == no_memory() {
            return Ok(COMPUTE_OK);
        }
        match ERRORS.retain(value_of(error)) {
            Counted::Invalid => refuse!(COMPUTE_ERROR_INVALID_HANDLE, "not an error object"),
            Counted::Full => refuse!(COMPUTE_ERROR_LIMIT, "too many references"),
            _ => Ok(COMPUTE_OK),
        }
    })
}

/// Gives one reference to an error object back; with the last one it goes. NULL is fine, and so is a handle that is no good. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn compute_error_release(error: compute_error) {
    guard_void(|| {
        ERRORS.release(value_of(error));
    });
}

fn info_of(object: &Object) -> compute_error_info {
    let flag = u32::from;
    let Answers { refusal, poisoned, reclaimable, skip } = object.answers();
    let error = object.error().map(|error| &**error);
    let report = object.report();
    let about = error.and_then(|error| error.about.as_ref());
    let location = error.and_then(|error| error.location).unwrap_or_default();
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    compute_error_info {
        struct_size: size_of::<compute_error_info>() as u32,
        status: object.status(),
        refusal: flag(refusal),
        poisoned: flag(poisoned),
        reclaimable: flag(reclaimable),
        skip: flag(skip),
        failure: object.failure(),
        claimed_buffers: report.map_or(0, |report| report.buffers),
        untouched: flag(object.untouched()),
        line: location.line,
        column: location.column,
        chain_count: report.map_or(0, |report| count(report.chain.len())),
        chain_total: report.map_or(0, |report| report.skips_total),
        member_count: count(object.members().len()),
        has_root: flag(object.root().is_some()),
        driver_code: error.and_then(|error| error.driver.as_ref()).map_or(0, |driver| driver.code),
        operation: about.map_or(0, |about| about.operation),
        stream: about.map_or(0, |about| about.stream),
    }
}

/// All that an error says but its text: status, the four answers, failure, place, chain and members.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_get_info(error: compute_error, info: *mut compute_error_info) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        out.set(&info_of(&*ask(error)?));
        Ok(COMPUTE_OK)
    })
}

/// Gives a text of an error.
///
/// # Safety
/// As [`write_text`].
unsafe fn give_text(
    error: compute_error,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    pick: impl FnOnce(&Object) -> Result<String, Complaint>,
) -> Answer {
    let object = ask(error)?;
    let picked = pick(&object)?;
    // SAFETY: as our own caller says.
    unsafe { write_text(&picked, text, capacity, needed) }
}

fn about_text(object: &Object, pick: impl FnOnce(&compute_trust::About) -> &Arc<str>) -> String {
    object.error().and_then(|error| error.about.as_ref()).map(|about| pick(about).to_string()).unwrap_or_default()
}

/// The message: what was asked, what is allowed, what to do. One or two sentences in UTF-8; for compile errors also the compiler's words.
///
/// Texts are given in two calls or one: `needed` (may be NULL) is told the bytes that all of it takes, with the NUL; as much as fits into
/// `capacity` bytes is written, NUL-terminated. Answers `COMPUTE_INCOMPLETE` when it was cut; NULL with a capacity of 0 only asks and answers
/// `COMPUTE_OK`.
///
/// # Safety
/// When not NULL, `text` is writable for `capacity` bytes and `needed` for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_message(
    error: compute_error,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe { give_text(error, text, capacity, needed, |object| Ok(object.message().into_owned())) }
    })
}

/// The label that the caller gave the work that failed; empty when there was none. As `compute_error_message`.
///
/// # Safety
/// As `compute_error_message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_label(
    error: compute_error,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe { give_text(error, text, capacity, needed, |object| Ok(about_text(object, |about| &about.label))) }
    })
}

/// The entry point of the kernel that failed, or the name of the operation (`copy`, `write`, ...). As `compute_error_message`.
///
/// # Safety
/// As `compute_error_message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_kernel(
    error: compute_error,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe { give_text(error, text, capacity, needed, |object| Ok(about_text(object, |about| &about.kernel))) }
    })
}

/// The driver's own name of its error code; empty when no driver was involved. As `compute_error_message`.
///
/// # Safety
/// As `compute_error_message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_driver_name(
    error: compute_error,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    let name = |object: &Object| {
        let driver = object.error().and_then(|error| error.driver.as_ref());
        Ok(driver.map(|driver| driver.name.clone()).unwrap_or_default())
    };
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe { give_text(error, text, capacity, needed, name) }
    })
}

/// The whole error for people (`COMPUTE_FORMAT_TEXT`: what was asked, then why, newest first, down to the root) or for programs
/// (`COMPUTE_FORMAT_JSON`: an object with `status`, `name`, `message`, `answers`, and as far as they apply `about`, `location`, `diagnostics`,
/// `driver`, `failure`, `untouched`, `claimed_buffers`, `chain` (`total`, `dropped`, `entries`), `root`, `members`). As `compute_error_message`.
///
/// # Safety
/// As `compute_error_message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_format(
    error: compute_error,
    form: u32,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    let format = |object: &Object| match form {
        COMPUTE_FORMAT_TEXT => Ok(format::text(object)),
        COMPUTE_FORMAT_JSON => Ok(format::json(object)),
        _ => refuse!(COMPUTE_ERROR_INVALID_ENUM, "{form} is not a COMPUTE_FORMAT_"),
    };
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe { give_text(error, text, capacity, needed, format) }
    })
}

/// The error at the root, as a new reference that the caller releases. An error without another root is its own.
///
/// # Safety
/// `out` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_root(error: compute_error, out: *mut compute_error) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        let object = ask(error)?;
        match object.root() {
            Some(root) => out.set(insert(Object::Root(Arc::<Error>::clone(root)))?),
            None => {
                let kept = compute_error_retain(error);
                if kept != COMPUTE_OK {
                    return Ok(kept);
                }
                out.set(error);
            }
        }
        Ok(COMPUTE_OK)
    })
}

/// An entry of the chain by its index, 0 being the newest; `chain_count` of the info says how many there are. Past that:
/// `COMPUTE_ERROR_OUT_OF_RANGE`.
///
/// # Safety
/// `entry` points to a struct whose `struct_size` says how large it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_chain(
    error: compute_error,
    index: u32,
    entry: *mut compute_chain_entry,
) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(entry) }?;
        let object = ask(error)?;
        let Some(skip) = object.report().and_then(|report| report.chain.get(index as usize)) else {
            return refuse!(COMPUTE_ERROR_OUT_OF_RANGE, "the chain has no entry {index}");
        };
        out.set(&compute_chain_entry {
            struct_size: size_of::<compute_chain_entry>() as u32,
            used: u32::from(skip.used),
            operation: skip.about.operation,
            stream: skip.about.stream,
            buffer: skip.needed.id,
            kernel: field(&skip.about.kernel),
            label: field(&skip.about.label),
            buffer_label: field(&skip.needed.label),
        });
        Ok(COMPUTE_OK)
    })
}

/// One of several failures by its index, as a new reference that the caller releases: an error with the failure's own id, chain and root.
/// `member_count` of the info says how many there are. Past that: `COMPUTE_ERROR_OUT_OF_RANGE`.
///
/// # Safety
/// `out` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_member(error: compute_error, index: u32, out: *mut compute_error) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        let object = ask(error)?;
        match &*object {
            Object::Failed(failed) if (index as usize) < object.members().len() => {
                out.set(insert(Object::Member(Arc::clone(failed), index as usize))?);
                Ok(COMPUTE_OK)
            }
            _ => refuse!(COMPUTE_ERROR_OUT_OF_RANGE, "the error has no member {index}"),
        }
    })
}

/// One thing that is wrong with a kernel's source, by its index in the order of the source: its place (both may be NULL; 0 when it is about no
/// place) and what is wrong. The first one's place is that of the info. Past the last one, and for errors that are about something else:
/// `COMPUTE_ERROR_OUT_OF_RANGE`. The text is given as by `compute_error_message`, which has all of them with their lines of source.
///
/// # Safety
/// As `compute_error_message`; when not NULL, `line` and `column` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_error_diagnostic(
    error: compute_error,
    index: u32,
    line: *mut u32,
    column: *mut u32,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> compute_status {
    guard_status(|| {
        // SAFETY: as our own caller says.
        unsafe {
            set_optional(line, 0);
            set_optional(column, 0);
        }
        let object = ask(error)?;
        let Some(found) = object.error().and_then(|error| error.diagnostics.get(index as usize)) else {
            return refuse!(COMPUTE_ERROR_OUT_OF_RANGE, "the error has no diagnostic {index}");
        };
        let place = found.location.unwrap_or_default();
        // SAFETY: as our own caller says.
        unsafe {
            set_optional(line, place.line);
            set_optional(column, place.column);
            write_text(&found.message, text, capacity, needed)
        }
    })
}

#[cfg(test)]
mod tests;
