//! The drivers' own objects: working on the host's, and telling where bytes are (T14).

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compute_hal::{HostVulkan, NativeKind, VulkanHost, VulkanLoader};

use super::boundary::*;
use super::buffer::{read_view, view_of};
use super::objects::{find, guard_call, peek};
use super::shared::access_of;
use super::status::*;
use super::stream::place;
use super::types::*;
use crate::runtime;

/// More extensions are a mistake, or garbage for a number.
const MOST_EXTENSIONS: usize = 4096;

/// The host of a shared Vulkan device, as its callbacks reach it.
pub(crate) struct Host {
    lock: compute_vulkan_callback,
    unlock: compute_vulkan_callback,
    released: compute_vulkan_callback,
    user: *mut c_void,
    /// Whether a device was opened, so that the host waits to be told.
    opened: AtomicBool,
}

// SAFETY: the host has been told that its callbacks are called from any thread, with this pointer.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    pub(crate) fn opened(&self) {
        self.opened.store(true, Ordering::Release);
    }

    fn call(&self, callback: compute_vulkan_callback) {
        if let Some(callback) = callback {
            // SAFETY: the host vouches for its callbacks, which do not unwind.
            unsafe { callback(self.user) };
        }
    }
}

impl VulkanHost for Host {
    fn lock_queue(&self) {
        self.call(self.lock);
    }

    fn unlock_queue(&self) {
        self.call(self.unlock);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.opened.load(Ordering::Acquire) {
            self.call(self.released);
        }
    }
}

/// The host's device as the runtime passes it on.
///
/// # Safety
/// What `desc` points to is valid.
pub(crate) unsafe fn read_vulkan(desc: &compute_vulkan_desc) -> Result<(HostVulkan, Arc<Host>), Complaint> {
    check_zero(desc.reserved.into(), "reserved")?;
    let Some(loader) = desc.get_instance_proc_addr else {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`get_instance_proc_addr` is NULL");
    };
    let handles = [(desc.instance, "instance"), (desc.physical_device, "physical_device"), (desc.device, "device")];
    if let Some((_, name)) = handles.iter().find(|(handle, _)| handle.is_null()) {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` is NULL");
    }
    if desc.lock.is_some() != desc.unlock.is_some() {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "of `lock` and `unlock` one is NULL; a shared queue needs both");
    }
    let host = Arc::new(Host {
        lock: desc.lock,
        unlock: desc.unlock,
        released: desc.released,
        user: desc.user,
        opened: AtomicBool::new(false),
    });
    // SAFETY: as our own caller says, for all that is read here; a function pointer of any type passes as one of this type.
    unsafe {
        let vulkan = HostVulkan {
            loader: std::mem::transmute::<unsafe extern "C" fn(), VulkanLoader>(loader),
            instance: desc.instance.expose_provenance() as u64,
            physical_device: desc.physical_device.expose_provenance() as u64,
            device: desc.device.expose_provenance() as u64,
            api_version: desc.api_version,
            instance_extensions: read_names(desc.instance_extensions, desc.instance_extension_count, "instance_extensions")?,
            device_extensions: read_names(desc.device_extensions, desc.device_extension_count, "device_extensions")?,
            features: desc.features,
            queue_family: desc.queue_family,
            queue_index: desc.queue_index,
            host: host.clone(),
        };
        Ok((vulkan, host))
    }
}

/// # Safety
/// When `count` is not 0, `names` is readable for as many strings, each of which ends in a NUL byte.
unsafe fn read_names(names: *const *const c_char, count: usize, name: &str) -> Result<Vec<CString>, Complaint> {
    // SAFETY: as our own caller says.
    let names = unsafe { Strided::new(names, count, 0, MOST_EXTENSIONS, name) }?;
    let mut all = Vec::new();
    for one in names.iter() {
        if one.is_null() {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "one of the {name} is NULL");
        }
        // SAFETY: as our own caller says.
        all.push(unsafe { CStr::from_ptr(one) }.to_owned());
    }
    Ok(all)
}

/// Tells where a view is for the driver, for programs that use the driver themselves (T14). `access` is `COMPUTE_ACCESS_READ`, `_WRITE` or `_READ_WRITE`: for
/// reading, the answer for bytes that a failure claims is that of `compute_stream_read` (T8); for writing nothing is checked, claims stay, and the caller says
/// `compute_written` once it has filled all of a view. Either way this waits for the work that uses the buffer, bytes that were never written are
/// zeroed, and the buffer is not moved from then on (`compute_stream_compact`).
///
/// What is told stays true until the buffer ends: keep it until work of yours with it is over. The order is the caller's: work of yours comes behind what
/// `compute_stream_flush` has sent to a shared queue, with a barrier in front that covers shader and transfer writes, and one behind it that covers all commands
/// where it writes. The memory of other buffers lies around the view: stay within it.
///
/// Errors: `UNSUPPORTED` where there is no such name (another API than Vulkan), `INVALID_ARGUMENT` (an empty view).
///
/// # Safety
/// `view` is readable; `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_export(
    stream: compute_stream,
    view: *const compute_view,
    access: u32,
    info: *mut compute_native_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(view, "view") }?;
        let access = access_of(access)?;
        let (stream, buffer) = (peek(stream), peek(view.buffer));
        let place = place(buffer.as_ref(), view.offset, view.size);
        let native = runtime::export(stream.as_deref().map(|stream| &**stream), place, access)?;
        out.set(&compute_native_info {
            struct_size: size_of::<compute_native_info>() as u32,
            kind: kind_of(native.kind),
            handle: native.handle,
            offset: native.offset,
            size: native.size,
        });
        Ok(COMPUTE_OK)
    })
}

fn kind_of(kind: NativeKind) -> u32 {
    match kind {
        NativeKind::Unknown => 0,
        NativeKind::Address => COMPUTE_NATIVE_ADDRESS,
        NativeKind::VulkanBuffer => COMPUTE_NATIVE_VULKAN_BUFFER,
        NativeKind::CudaPointer => COMPUTE_NATIVE_CUDA_POINTER,
        NativeKind::HipPointer => COMPUTE_NATIVE_HIP_POINTER,
    }
}

/// Says that others have written all of a view, through what `compute_stream_export` told, and before any work that is enqueued from now on: its claims are released
/// (T14). The caller vouches for it.
///
/// # Safety
/// `view` is readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_written(view: *const compute_view, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(view, "view") }?;
        runtime::written(&view_of(&find(view.buffer)?, &view)?)?;
        Ok(COMPUTE_OK)
    })
}

/// Makes later work of a stream wait, on the device, for an event of the driver's own that the caller has recorded (T14): a `CUevent` or `hipEvent_t`, by its `kind`
/// (`COMPUTE_NATIVE_CUDA_EVENT`, `_HIP_EVENT`). What counts is its last record before this call; one that was never recorded is not waited for. It may be recorded again, or
/// destroyed, when the call has returned. Says nothing about bytes. Streams that share a native queue wait with it, and so does work that is held back on the host.
///
/// An event that was last recorded while the host captures a graph with the driver's own calls is refused (`DRIVER`): the stream would become a part of that graph, and its work
/// would never run. The driver's rules then end the host's capture, as if the host had asked for the event itself. If another thread records it in a capture during this
/// call, the device ends (`DEVICE_POISONED`; a new one can be opened).
///
/// Errors: `UNSUPPORTED` (the device works with another driver, or has no such events), `INVALID_ARGUMENT` (0), `DRIVER` (the driver knows no such event, or it is being
/// captured), `RECORDING`.
///
/// # Safety
/// `event` is 0 or an event of that kind, of the driver that the device works with; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_wait_native(
    stream: compute_stream,
    kind: u32,
    event: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a wait for an event of the driver's own", out_error, || {
        let driver = driver_of(kind)?;
        find(stream)?.wait_native(driver, event)?;
        Ok(COMPUTE_OK)
    })
}

/// Records an event of the driver's own, made by the caller, behind all that was enqueued on the stream so far: work of the caller's that waits for it comes behind that work, on the
/// device. Does not wait, unless work of the stream is held back on the host (behind a grid from memory, or an event that is still to come): then for that. Errors as
/// `compute_stream_wait_native`. It says nothing about bytes: those of work that fails, or fails later, are as others see them in memory; `compute_stream_export` for reading tells.
///
/// # Safety
/// As `compute_stream_wait_native`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_record_native(
    stream: compute_stream,
    kind: u32,
    event: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "recording an event of the driver's own", out_error, || {
        let driver = driver_of(kind)?;
        let stream = Arc::clone(&*find(stream)?);
        stream.record_native(driver, event)?;
        Ok(COMPUTE_OK)
    })
}

/// The driver of a kind of events, by what its pointers are.
fn driver_of(kind: u32) -> Result<NativeKind, Complaint> {
    Ok(match kind {
        COMPUTE_NATIVE_CUDA_EVENT => NativeKind::CudaPointer,
        COMPUTE_NATIVE_HIP_EVENT => NativeKind::HipPointer,
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_NATIVE_ kind of events"),
    })
}
