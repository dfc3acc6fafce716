//! Asking the caller for included files.

use std::ffi::c_char;
use std::ptr;

use ::compute_kernel::{IncludeRequest, Included};

use super::boundary::*;
use super::kernel::copy;
use super::status::*;
use super::types::*;

/// Bytes of a file. The front ends have bounds of their own; more than this is garbage for a length.
const MOST_TEXT: usize = 64 << 20;

fn terminated(text: &str) -> Result<Vec<u8>, Complaint> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.len().saturating_add(1)).map_err(|_| Complaint::NoMemory)?;
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    Ok(bytes)
}

/// Asks for one file; the error is a [`sentence`] for the diagnostic.
///
/// # Safety
/// The callback may be called as its type says.
pub(super) unsafe fn ask(desc: &compute_include_desc, request: &IncludeRequest<'_>) -> Result<Included, Complaint> {
    let Some(callback) = desc.callback else { return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "there is no callback") };
    let (path, from) = (terminated(request.path)?, terminated(request.from)?);
    let asked = compute_include_request {
        struct_size: size_of::<compute_include_request>() as u32,
        style: if request.angle { COMPUTE_INCLUDE_ANGLE } else { COMPUTE_INCLUDE_QUOTE },
        path: path.as_ptr().cast::<c_char>(),
        path_length: request.path.len(),
        from: from.as_ptr().cast::<c_char>(),
        from_length: request.from.len(),
    };
    let mut answer = compute_include_answer {
        struct_size: size_of::<compute_include_answer>() as u32,
        reserved: 0,
        text: ptr::null(),
        text_length: 0,
        name: ptr::null(),
        name_length: 0,
        message: ptr::null(),
        message_length: 0,
    };
    // SAFETY: as our own caller says; both structs live for the call.
    let status = unsafe { callback(desc.user, &raw const asked, &raw mut answer) };
    if answer.reserved != 0 {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "the include callback set `reserved` of its answer to {}; it must stay 0",
            answer.reserved
        );
    }
    // SAFETY: the callback vouches for what it answers until it is called again.
    let read = |at, length, most, name| unsafe { read_text(at, length, most, name) };
    if status != COMPUTE_OK {
        let message = read(answer.message, answer.message_length, MOST_NAME, "message of the include callback")?;
        return match message {
            Some(message) => refuse!(COMPUTE_ERROR_COMPILE, "{message}"),
            None => refuse!(COMPUTE_ERROR_COMPILE, "the include callback answered {status}"),
        };
    }
    let text = read(answer.text, answer.text_length, MOST_TEXT, "text of the included file")?.unwrap_or_default();
    let name = read(answer.name, answer.name_length, MOST_NAME, "name of the included file")?.unwrap_or_default();
    Ok(Included { name: copy(name)?, text: copy(text)?.into_bytes() })
}

/// What the diagnostic says of a file that is not there.
pub(super) fn sentence(complaint: Complaint) -> String {
    match complaint {
        Complaint::Plain { message, .. } => message,
        Complaint::NoMemory => "memory is out".to_owned(),
        Complaint::Failed(failed) => failed.error.message.to_string(),
    }
}
