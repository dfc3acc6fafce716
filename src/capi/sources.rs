//! Native sources of a kernel's description: from the caller's structs to what the runtime takes.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use compute_hal::{NativeHeader, NativeLanguage, NativeSource};

use ::compute_kernel::reflection::Access;

use super::boundary::*;
use super::kernel::{MOST_SOURCE, copy, gather};
use super::status::*;
use super::types::*;
use crate::runtime::{NativeOptions, ParameterKind, ParameterOptions};

/// More are a mistake, or garbage for a number.
const MOST_SOURCES: usize = 256;
const MOST_LISTED: usize = 4096;

/// # Safety
/// What `desc` points to is valid.
pub(super) unsafe fn read(desc: &compute_native_desc) -> Result<NativeOptions, Complaint> {
    // SAFETY: as our own caller says.
    let sources = unsafe { Strided::new(desc.sources, desc.source_count, desc.source_stride, MOST_SOURCES, "sources") }?;
    let (first, count, stride) = (desc.parameters, desc.parameter_count, desc.parameter_stride);
    // SAFETY: as our own caller says.
    let parameters = unsafe { Strided::new(first, count, stride, MOST_LISTED, "parameters") }?;
    let [x, y, z] = desc.workgroup_size;
    // SAFETY: as our own caller says.
    let source = |(index, source): (usize, compute_native_source)| unsafe { read_source(index, &source) }.map(Arc::new);
    // SAFETY: as our own caller says.
    let parameter = |(index, given): (usize, compute_native_parameter)| unsafe { read_parameter(index, &given) };
    Ok(NativeOptions {
        sources: gather(sources.iter().enumerate().map(source))?,
        parameters: gather(parameters.iter().enumerate().map(parameter))?,
        workgroup_size: [x, y.max(1), z.max(1)],
        workgroup_memory: desc.workgroup_memory,
    })
}

/// Compilers and drivers take text that ends in a NUL byte, so there is none inside.
fn whole(text: &str, what: &str) -> Result<String, Complaint> {
    match text.find('\0') {
        Some(at) => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the {what} has a NUL byte at {at}"),
        None => copy(text),
    }
}

/// # Safety
/// What `source` points to is valid.
unsafe fn read_source(index: usize, source: &compute_native_source) -> Result<NativeSource, Complaint> {
    check_zero(source.reserved.into(), "reserved")?;
    let language = match source.language {
        COMPUTE_LANGUAGE_CUDA => NativeLanguage::CudaCpp,
        COMPUTE_LANGUAGE_PTX => NativeLanguage::Ptx,
        COMPUTE_LANGUAGE_CUBIN => NativeLanguage::Cubin,
        COMPUTE_LANGUAGE_HIP => NativeLanguage::HipCpp,
        COMPUTE_LANGUAGE_CODE_OBJECT => NativeLanguage::CodeObject,
        COMPUTE_LANGUAGE_NATIVE_SPIRV => NativeLanguage::SpirV,
        COMPUTE_LANGUAGE_MSL => NativeLanguage::Msl,
        COMPUTE_LANGUAGE_HLSL => NativeLanguage::Hlsl,
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is no COMPUTE_LANGUAGE_ of native source {index}"),
    };
    // SAFETY: as our own caller says, for all that is read here.
    let (code, entry, target) = unsafe {
        (
            read_code(source, language)?,
            read_text(source.entry, source.entry_length, MOST_NAME, "entry of a native source")?,
            read_text(source.target, source.target_length, MOST_NAME, "target of a native source")?,
        )
    };
    let Some(entry) = entry.filter(|entry| !entry.is_empty()) else {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "native source {index} has no `entry`: nothing in it can be looked up");
    };
    Ok(NativeSource {
        language,
        code,
        entry: whole(entry, "entry")?,
        target: match target {
            Some("") => {
                return refuse!(
                    COMPUTE_ERROR_INVALID_ARGUMENT,
                    "the `target` of native source {index} has a `target_length` of 0: set it to the length or COMPUTE_NUL_TERMINATED, or leave `target` NULL for any"
                );
            }
            target => whole(target.unwrap_or_default(), "target")?,
        },
        // SAFETY: as our own caller says.
        options: unsafe { read_options(source) }?,
        // SAFETY: as our own caller says.
        headers: unsafe { read_headers(source) }?,
    })
}

/// # Safety
/// What `source` points to is valid.
unsafe fn read_code(source: &compute_native_source, language: NativeLanguage) -> Result<Vec<u8>, Complaint> {
    if language.is_text() {
        let at = source.code.cast::<c_char>();
        // SAFETY: as our own caller says.
        let text = unsafe { read_text(at, source.code_length, MOST_SOURCE, "code of a native source") }?;
        return match text {
            Some(text) => Ok(whole(text, "code of a native source")?.into_bytes()),
            None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the `code` of a native source is NULL"),
        };
    }
    if source.code.is_null() || source.code_length > MOST_SOURCE {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "the `code` of a native source is NULL, or longer than {MOST_SOURCE} bytes, the most that is allowed"
        );
    }
    // SAFETY: as our own caller says.
    let bytes = unsafe { read_bytes(source.code.cast::<u8>(), source.code_length as u64, "code of a native source") }?;
    let mut code = Vec::new();
    code.try_reserve_exact(bytes.len()).map_err(|_| Complaint::NoMemory)?;
    code.extend_from_slice(bytes);
    Ok(code)
}

/// # Safety
/// What `source` points to is valid.
unsafe fn read_options(source: &compute_native_source) -> Result<Vec<String>, Complaint> {
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(source.options, source.option_count, 0, MOST_LISTED, "options") }?;
    let read = |at: *const c_char| {
        // SAFETY: as our own caller says.
        match unsafe { read_text(at, COMPUTE_NUL_TERMINATED, MOST_NAME, "option of a native source") }? {
            Some(text) => copy(text),
            None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "an option of a native source is NULL"),
        }
    };
    gather(given.iter().map(read))
}

/// # Safety
/// What `source` points to is valid.
unsafe fn read_headers(source: &compute_native_source) -> Result<Vec<NativeHeader>, Complaint> {
    let (first, count, stride) = (source.headers, source.header_count, source.header_stride);
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(first, count, stride, MOST_LISTED, "headers") }?;
    let read = |header: compute_native_header| {
        // SAFETY: as our own caller says.
        let (name, text) = unsafe {
            (
                read_text(header.name, header.name_length, MOST_NAME, "name of a header")?,
                read_text(header.text, header.text_length, MOST_SOURCE, "text of a header")?,
            )
        };
        match name {
            Some(name) => Ok(NativeHeader {
                name: whole(name, "name of a header")?,
                text: whole(text.unwrap_or_default(), "text of a header")?,
            }),
            None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the name of a header is NULL"),
        }
    };
    gather(given.iter().map(read))
}

/// # Safety
/// What `given` points to is valid.
unsafe fn read_parameter(index: usize, given: &compute_native_parameter) -> Result<ParameterOptions, Complaint> {
    // SAFETY: as our own caller says.
    let name = unsafe { read_text(given.name, given.name_length, MOST_NAME, "name of a parameter") }?;
    let scalar = match given.kind {
        COMPUTE_PARAMETER_BUFFER | COMPUTE_PARAMETER_TENSOR_MAP => None,
        COMPUTE_PARAMETER_BYTES => {
            let Ok(size) = u32::try_from(given.size) else {
                return refuse!(COMPUTE_ERROR_LIMIT, "parameter {index} has {} bytes, more than a launch can pass", given.size);
            };
            Some((size, given.alignment))
        }
        COMPUTE_PARAMETER_I8 | COMPUTE_PARAMETER_U8 => Some((1, 1)),
        COMPUTE_PARAMETER_I16 | COMPUTE_PARAMETER_U16 | COMPUTE_PARAMETER_F16 => Some((2, 2)),
        COMPUTE_PARAMETER_I32 | COMPUTE_PARAMETER_U32 | COMPUTE_PARAMETER_F32 => Some((4, 4)),
        COMPUTE_PARAMETER_I64 | COMPUTE_PARAMETER_U64 | COMPUTE_PARAMETER_F64 => Some((8, 8)),
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_PARAMETER_ (parameter {index})"),
    };
    let kind = match scalar {
        None => read_buffer(index, given)?,
        Some((size, alignment)) => {
            let others = if given.kind == COMPUTE_PARAMETER_BYTES { 0 } else { given.size | u64::from(given.alignment) };
            check_zero(others | u64::from(given.access) | u64::from(given.alias), "size, alignment, access or alias of a value")?;
            ParameterKind::Value { size, alignment }
        }
    };
    Ok(ParameterOptions { name: copy(name.unwrap_or_default())?, kind })
}

fn read_buffer(index: usize, given: &compute_native_parameter) -> Result<ParameterKind, Complaint> {
    let (access, write_all) = match given.access {
        COMPUTE_ACCESS_UNUSED => (Access::Unused, false),
        COMPUTE_ACCESS_READ => (Access::Read, false),
        COMPUTE_ACCESS_WRITE => (Access::Write, false),
        COMPUTE_ACCESS_READ_WRITE => (Access::ReadWrite, false),
        COMPUTE_ACCESS_WRITE_ALL => (Access::Write, true),
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_ACCESS_ (parameter {index})"),
    };
    let (min_size, alignment, alias) = (given.size, given.alignment, given.alias);
    let tensor_map = given.kind == COMPUTE_PARAMETER_TENSOR_MAP;
    Ok(ParameterKind::Buffer { access, write_all, min_size, alignment, alias, tensor_map })
}

/// What a language is called in C.
pub(super) fn language_of(language: NativeLanguage) -> u32 {
    match language {
        NativeLanguage::CudaCpp => COMPUTE_LANGUAGE_CUDA,
        NativeLanguage::Ptx => COMPUTE_LANGUAGE_PTX,
        NativeLanguage::Cubin => COMPUTE_LANGUAGE_CUBIN,
        NativeLanguage::HipCpp => COMPUTE_LANGUAGE_HIP,
        NativeLanguage::CodeObject => COMPUTE_LANGUAGE_CODE_OBJECT,
        NativeLanguage::SpirV => COMPUTE_LANGUAGE_NATIVE_SPIRV,
        NativeLanguage::Msl => COMPUTE_LANGUAGE_MSL,
        NativeLanguage::Hlsl => COMPUTE_LANGUAGE_HLSL,
    }
}

/// The structs in the chain of a kernel's description.
pub(super) struct Chain {
    pub(super) includes: Option<compute_include_desc>,
    pub(super) native: Option<compute_native_desc>,
}

/// # Safety
/// `next` is NULL or the head of a chain of structs, each with its size, kind and next.
pub(super) unsafe fn read_chain(mut next: *const c_void) -> Result<Chain, Complaint> {
    /// A longer chain goes in circles.
    const LONGEST: u32 = 16;
    let mut found = Chain { includes: None, native: None };
    for _ in 0..LONGEST {
        if next.is_null() {
            if found.includes.as_ref().is_some_and(|desc| desc.callback.is_none()) {
                return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the callback of the compute_include_desc is NULL");
            }
            return Ok(found);
        }
        // SAFETY: every struct of a chain begins like this one, and says how much of it there is.
        let head = unsafe { read_head(next.cast::<compute_chained>()) }?;
        let twice = match head.kind {
            COMPUTE_CHAINED_INCLUDE => {
                // SAFETY: its kind says what it is.
                let desc = unsafe { read_struct(next.cast::<compute_include_desc>()) }?;
                found.includes.replace(desc).is_some()
            }
            COMPUTE_CHAINED_NATIVE => {
                // SAFETY: its kind says what it is.
                let desc = unsafe { read_struct(next.cast::<compute_native_desc>()) }?;
                found.native.replace(desc).is_some()
            }
            kind => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "the chain has a struct of kind {kind}, which does not fit here"),
        };
        if twice {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the chain has two structs of kind {}", head.kind);
        }
        next = head.next;
    }
    refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the chain has more than {LONGEST} structs")
}
