//! Kernels: making them, and what they are.

use std::cell::Cell;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use ::compute_kernel::reflection::{Access, BindingInfo, BindingKind, Bounds, Number, OverrideInfo, OverrideType};
use ::compute_kernel::{Constant, IncludeRequest, Language};

use super::boundary::*;
use super::includes;
use super::objects::{add, destroy, find, release, retain};
use super::sources::{self, language_of, read_chain};
use super::status::*;
use super::stream::timeout_of;
use super::types::*;
use crate::runtime::{Compile, Kernel, KernelOptions, Wait};

/// Bytes of a source. The front ends have bounds of their own; more than this is garbage for a length.
pub(super) const MOST_SOURCE: usize = 64 << 20;
const MOST_CONSTANTS: usize = 4096;

/// Makes a kernel from a source. The caller releases it.
///
/// Errors: `COMPILE` with place and text (a refusal: the same source fails the same way), `LIMIT` when the device cannot run it, `UNSUPPORTED`,
/// `DEVICE_POISONED`. Included files are asked for here, and never later. With `COMPUTE_COMPILE_LAZY` parsing and limits are checked here, and compiling for the device happens at the first launch.
///
/// # Safety
/// `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_create(
    device: compute_device,
    desc: *const compute_kernel_desc,
    out: *mut compute_kernel,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        // SAFETY: as our own caller says.
        let chain = unsafe { read_chain(desc.next) }?;
        // SAFETY: as our own caller says.
        let options = unsafe { read_options(&desc, &chain) }?;
        let device = find(device)?.device.clone();
        // That is nothing that the source has to answer for.
        let no_memory = Cell::new(false);
        let ask = |request: &IncludeRequest<'_>| match &chain.includes {
            // SAFETY: the chain's callback may be called as its type says, for the length of this call.
            Some(includes) => unsafe { includes::ask(includes, request) }.map_err(|complaint| {
                no_memory.set(no_memory.get() || matches!(complaint, Complaint::NoMemory));
                includes::sentence(complaint)
            }),
            None => Err("the kernel's descriptor has no compute_include_desc in its chain".to_owned()),
        };
        let made = Kernel::with_includes(&device, &options, &ask);
        if no_memory.get() {
            return Err(Complaint::NoMemory);
        }
        out.set(add(made?)?);
        Ok(COMPUTE_OK)
    })
}

/// # Safety
/// What `desc` and the structs in its chain point to is valid.
unsafe fn read_options(desc: &compute_kernel_desc, chain: &sources::Chain) -> Result<KernelOptions, Complaint> {
    check_flags(desc.flags, COMPUTE_KERNEL_FLAG_STRICT, "kernel")?;
    let language = match desc.language {
        COMPUTE_LANGUAGE_AUTO => None,
        COMPUTE_LANGUAGE_WGSL => Some(Language::Wgsl),
        COMPUTE_LANGUAGE_GLSL => Some(Language::Glsl),
        COMPUTE_LANGUAGE_SPIRV => Some(Language::Spirv),
        language => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{language} is not a COMPUTE_LANGUAGE_"),
    };
    let bounds = match desc.bounds {
        COMPUTE_BOUNDS_CHECKED => Bounds::Checked,
        COMPUTE_BOUNDS_UNCHECKED => Bounds::Unchecked,
        COMPUTE_BOUNDS_VALIDATE => Bounds::Validate,
        bounds => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{bounds} is not a COMPUTE_BOUNDS_"),
    };
    let compile = match desc.compile {
        COMPUTE_COMPILE_NOW => Compile::Now,
        COMPUTE_COMPILE_LAZY => Compile::Lazily,
        COMPUTE_COMPILE_BACKGROUND => Compile::InBackground,
        compile => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{compile} is not a COMPUTE_COMPILE_"),
    };
    // SAFETY: as our own caller says, for all that is read here.
    let (source, entry, label, constants) = unsafe {
        (
            read_source(desc, language)?,
            read_text(desc.entry, desc.entry_length, MOST_NAME, "entry")?,
            read_text(desc.label, desc.label_length, MOST_NAME, "label")?,
            read_constants(desc)?,
        )
    };
    // SAFETY: as our own caller says.
    let native = chain.native.as_ref().map(|native| unsafe { sources::read(native) }).transpose()?;
    if source.is_none() && native.is_none() {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`source` is NULL; a kernel needs a source");
    }
    Ok(KernelOptions {
        language,
        source: source.unwrap_or_default(),
        native,
        entry: entry.map(copy).transpose()?,
        label: copy(label.unwrap_or_default())?,
        constants,
        bounds,
        compile,
        time_limit: desc.time_limit,
        // What is too large is told with the limit.
        print_size: u32::try_from(desc.print_size).unwrap_or(u32::MAX),
        strict: desc.flags & COMPUTE_KERNEL_FLAG_STRICT != 0,
    })
}

/// A copy of the source's bytes. Text may end in a NUL byte instead of having a length; a module may not, for it has such bytes inside.
///
/// # Safety
/// What `desc` points to is valid.
unsafe fn read_source(desc: &compute_kernel_desc, language: Option<Language>) -> Result<Option<Vec<u8>>, Complaint> {
    if desc.source_length == COMPUTE_NUL_TERMINATED && language != Some(Language::Spirv) {
        // SAFETY: as our own caller says.
        let text = unsafe { read_text(desc.source.cast::<c_char>(), desc.source_length, MOST_SOURCE, "source") }?;
        return text.map(|text| copy(text).map(String::into_bytes)).transpose();
    }
    if desc.source.is_null() && desc.source_length == 0 {
        return Ok(None);
    }
    if desc.source_length > MOST_SOURCE {
        return refuse!(COMPUTE_ERROR_LIMIT, "the source has more than {MOST_SOURCE} bytes, which is the most that is allowed");
    }
    // SAFETY: as our own caller says.
    let bytes = unsafe { read_bytes(desc.source.cast::<u8>(), desc.source_length as u64, "source") }?;
    if matches!(language, Some(Language::Wgsl | Language::Glsl))
        && let Err(error) = std::str::from_utf8(bytes)
    {
        return refuse!(COMPUTE_ERROR_INVALID_UTF8, "the source is not UTF-8: byte {} is wrong", error.valid_up_to());
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| Complaint::NoMemory)?;
    copy.extend_from_slice(bytes);
    Ok(Some(copy))
}

/// A copy of text that may be long.
pub(super) fn copy(text: &str) -> Result<String, Complaint> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Complaint::NoMemory)?;
    copy.push_str(text);
    Ok(copy)
}

/// # Safety
/// What `desc` points to is valid.
unsafe fn read_constants(desc: &compute_kernel_desc) -> Result<Vec<Constant>, Complaint> {
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(desc.constants, desc.constant_count, desc.constant_stride, MOST_CONSTANTS, "constants") }?;
    let read = |constant: compute_constant| {
        // SAFETY: as our own caller says.
        let name = unsafe { read_text(constant.name, constant.name_length, MOST_NAME, "name of a constant") }?;
        match name {
            Some(name) => {
                let value = match constant.kind {
                    COMPUTE_CONSTANT_VALUE => Number::Float(constant.value),
                    COMPUTE_CONSTANT_I64 => Number::Int(constant.integer.cast_signed()),
                    COMPUTE_CONSTANT_U64 => Number::Uint(constant.integer),
                    other => {
                        return refuse!(
                            COMPUTE_ERROR_INVALID_ENUM,
                            "the kind {other} of the constant `{name}` is none that there is"
                        );
                    }
                };
                Ok(Constant { key: copy(name)?, value })
            }
            None => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the name of a constant is NULL"),
        }
    };
    gather(given.iter().map(read))
}

/// What a description lists, or the first that is wrong.
pub(super) fn gather<T>(given: impl ExactSizeIterator<Item = Result<T, Complaint>>) -> Result<Vec<T>, Complaint> {
    let mut all = Vec::new();
    all.try_reserve_exact(given.len()).map_err(|_| Complaint::NoMemory)?;
    for one in given {
        all.push(one?);
    }
    Ok(all)
}

/// Whether a kernel is compiled for its device: `COMPUTE_OK`, `COMPUTE_NOT_READY`, or the error that a launch would give. Starts nothing.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_poll(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        let kernel = Arc::clone(&*find(kernel)?);
        match kernel.poll()? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_NOT_READY),
        }
    })
}

/// Waits until a kernel is compiled for its device, which begins now if it has not: with `COMPUTE_FOREVER` on the calling thread, with a time-out on threads of the
/// library. `COMPUTE_TIMEOUT` when the time ran out; compilation goes on. Claims nothing (T11); what fails is answered, and may be tried again.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_wait(
    kernel: compute_kernel,
    timeout_ns: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let kernel = Arc::clone(&*find(kernel)?);
        match kernel.wait(timeout_of(timeout_ns))? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => Ok(COMPUTE_TIMEOUT),
        }
    })
}

/// Counts one more reference to a kernel.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_retain(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(kernel))
}

/// Gives one reference to a kernel back; with the last one its handle ends as by `compute_kernel_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_kernel_release(kernel: compute_kernel) {
    guard_void(|| release(kernel));
}

/// Ends a kernel's handle at once, whatever its references. Launches in flight go on.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_destroy(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(kernel))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What a kernel is (L10).
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_get_info(
    kernel: compute_kernel,
    info: *mut compute_kernel_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let kernel = find(kernel)?;
        let reflection = kernel.reflection();
        out.set(&compute_kernel_info {
            struct_size: size_of::<compute_kernel_info>() as u32,
            binding_count: count(reflection.bindings.len()),
            entry: field(&reflection.entry),
            workgroup_size: reflection.workgroup_size,
            immediate_size: reflection.immediate_size,
            workgroup_memory: reflection.workgroup_memory,
            override_count: count(reflection.overrides.len()),
            native_source: kernel.native_source().map_or(COMPUTE_NATIVE_NONE, |(index, _)| count(index)),
            language: kernel.native_source().map_or(COMPUTE_LANGUAGE_AUTO, |(_, language)| language_of(language)),
            reserved: 0,
        });
        Ok(COMPUTE_OK)
    })
}

fn binding_of(binding: &BindingInfo, device: &crate::runtime::Device) -> compute_binding_info {
    let limits = device.limits();
    let (kind, alignment) = match binding.kind {
        BindingKind::Storage => (COMPUTE_BINDING_STORAGE, limits.storage_alignment),
        BindingKind::Uniform => (COMPUTE_BINDING_UNIFORM, limits.uniform_alignment),
        BindingKind::Value => (COMPUTE_BINDING_VALUE, 1),
        BindingKind::TensorMap => (COMPUTE_BINDING_TENSOR_MAP, limits.storage_alignment.max(16)),
    };
    let access = match binding.access {
        Access::Unused => COMPUTE_ACCESS_UNUSED,
        Access::Read => COMPUTE_ACCESS_READ,
        Access::Write => COMPUTE_ACCESS_WRITE,
        Access::ReadWrite => COMPUTE_ACCESS_READ_WRITE,
    };
    compute_binding_info {
        struct_size: size_of::<compute_binding_info>() as u32,
        group: binding.group,
        slot: binding.slot,
        kind,
        access,
        alignment: binding.alignment.max(alignment).max(1),
        min_size: binding.min_size,
        name: field(&binding.name),
    }
}

/// One binding of a kernel by its index, in the order of (group, slot); `binding_count` of the info says how many there are. Past that:
/// `COMPUTE_ERROR_OUT_OF_RANGE`.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_get_binding(
    kernel: compute_kernel,
    index: u32,
    info: *mut compute_binding_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let kernel = find(kernel)?;
        let bindings = &kernel.reflection().bindings;
        match bindings.get(index as usize) {
            Some(binding) => out.set(&binding_of(binding, kernel.device())),
            None => {
                return refuse!(COMPUTE_ERROR_OUT_OF_RANGE, "binding {index} was asked for; the kernel has {}", bindings.len());
            }
        }
        Ok(COMPUTE_OK)
    })
}

fn override_of(constant: &OverrideInfo) -> compute_override_info {
    compute_override_info {
        struct_size: size_of::<compute_override_info>() as u32,
        id: constant.id.map_or(-1, i32::from),
        kind: match constant.ty {
            OverrideType::Bool => COMPUTE_OVERRIDE_BOOL,
            OverrideType::I32 => COMPUTE_OVERRIDE_I32,
            OverrideType::U32 => COMPUTE_OVERRIDE_U32,
            OverrideType::F32 => COMPUTE_OVERRIDE_F32,
            OverrideType::F16 => COMPUTE_OVERRIDE_F16,
            OverrideType::F64 => COMPUTE_OVERRIDE_F64,
            OverrideType::I16 => COMPUTE_OVERRIDE_I16,
            OverrideType::U16 => COMPUTE_OVERRIDE_U16,
            OverrideType::I64 => COMPUTE_OVERRIDE_I64,
            OverrideType::U64 => COMPUTE_OVERRIDE_U64,
        },
        has_default: u32::from(constant.has_default),
        default_value: constant.default.map_or(0.0, Number::to_f64),
        name: field(&constant.name),
        default_integer: match constant.default {
            Some(Number::Int(value)) => value.cast_unsigned(),
            Some(Number::Uint(value)) => value,
            Some(Number::Float(_)) | None => 0,
        },
    }
}

/// One override constant of a kernel by its index, in the order of the source; `override_count` of the info says how many there are. Past that:
/// `COMPUTE_ERROR_OUT_OF_RANGE`.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_get_override(
    kernel: compute_kernel,
    index: u32,
    info: *mut compute_override_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let kernel = find(kernel)?;
        let overrides = &kernel.reflection().overrides;
        match overrides.get(index as usize) {
            Some(constant) => out.set(&override_of(constant)),
            None => {
                return refuse!(COMPUTE_ERROR_OUT_OF_RANGE, "override {index} was asked for; the kernel has {}", overrides.len());
            }
        }
        Ok(COMPUTE_OK)
    })
}

/// The index of the binding with that name in the source (for `compute_kernel_get_binding`); `COMPUTE_ERROR_NOT_FOUND` when there is none.
///
/// # Safety
/// `name` is readable for `length` bytes, or NUL-terminated; `index` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_kernel_find_binding(
    kernel: compute_kernel,
    name: *const c_char,
    length: usize,
    index: *mut u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(index, "index", 0) }?;
        // SAFETY: as our own caller says.
        let name = unsafe { read_text(name, length, MOST_NAME, "name") }?;
        let Some(name) = name else {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`name` is NULL");
        };
        let kernel = find(kernel)?;
        let bindings = &kernel.reflection().bindings;
        match bindings.iter().position(|binding| binding.name == name) {
            Some(found) => out.set(count(found)),
            None => {
                let names: Vec<&str> = bindings.iter().take(16).map(|binding| binding.name.as_str()).collect();
                return refuse!(COMPUTE_ERROR_NOT_FOUND, "the kernel has no binding `{name}`; it has: {}", names.join(", "));
            }
        }
        Ok(COMPUTE_OK)
    })
}
