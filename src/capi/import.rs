//! Buffers over memory that is the caller's (T14).

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compute_hal::{Foreign, NativeKind};

use super::boundary::*;
use super::objects::{add, find};
use super::status::*;
use super::types::*;
use crate::runtime::{Buffer, ImportOptions};

/// Who is told that imported memory is no longer used.
struct Owner {
    released: compute_released_callback,
    user: *mut c_void,
    /// Whether the import has succeeded, so that the owner waits to be told.
    imported: AtomicBool,
}

// SAFETY: the caller has been told that the callback comes from another thread, with this pointer.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl Owner {
    fn tell(&self) {
        if let Some(released) = self.released.filter(|_| self.imported.load(Ordering::Acquire)) {
            // SAFETY: the caller vouches for its callback, which does not unwind.
            unsafe { released(self.user) };
        }
    }
}

/// Makes a buffer of memory that is the caller's, in place: nothing is copied, and its bytes count as written (T14). Views of it can be used wherever views of other
/// buffers of the device can. The caller releases it; releasing never frees the memory.
///
/// The caller vouches that the memory is what `desc` says, stays there, and can be used by the device until `released` has been called: that comes
/// once, when the handle has ended and all work, graphs, readbacks and mappings that use the buffer are over, from a thread of the library, with no lock held. An import that fails
/// calls nothing. The order with the caller's own work is the caller's, too: what wrote the bytes is over before work of the library is enqueued that uses them,
/// and work of the caller's that uses them comes after a wait for an event of the library's stream. On cuda and hip both can be left to the device:
/// `compute_stream_wait_native`, `compute_stream_record_native`. On Vulkan the rules of `compute_stream_export` hold: a shared queue, flushes, and barriers of the caller's.
///
/// A device imports memory of the kind that it exports: the cpu device addresses of the host's memory, cuda device memory of the device's primary context (from
/// `cuMemAlloc`, `cuMemAllocAsync`, `cuMemAllocManaged` or `cuMemMap`), hip device memory, wgpu on Vulkan a `VkBuffer` of the `VkDevice` that it works on, which has to have been made with
/// storage, transfer source and transfer destination usage (no other: grids and uniform views are copied), be bound to memory, and be owned
/// by the queue family that the device uses. The first byte is at an address that is a multiple of 16; of a `VkBuffer`, offset and size are multiples of 4. Bindings of
/// kernels may want larger multiples, and then say so.
///
/// Imported bytes are in no pool and charged to no budget; `bytes_imported` of `compute_memory_usage` counts them. `COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN` has no effect on them. On the cpu
/// device a buffer that was imported for writing can be mapped. With `COMPUTE_ACCESS_READ` whatever would write to the buffer answers `READ_ONLY`.
///
/// Errors: `ALREADY_OWNED` (some of the bytes are of a buffer or pool of the library's, on this handle or on another of the same device, or imported and not let go of
/// yet), `FOREIGN_HANDLE` (memory of another device or context), `OUT_OF_RANGE` (the allocation ends before the bytes do, or the sum of offset and size is beyond 64 bits),
/// `MISALIGNED`, `UNSUPPORTED` (the device does not import that kind), `INVALID_ARGUMENT` (no memory of a device, a handle of 0, no bytes), `DEVICE_POISONED`.
///
/// # Safety
/// `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_buffer_import(
    device: compute_device,
    desc: *const compute_import_desc,
    out: *mut compute_buffer,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        check_zero(desc.reserved.into(), "reserved")?;
        check_zero(desc.next.addr() as u64, "next")?;
        let foreign = Foreign { kind: read_kind(desc.kind)?, handle: desc.handle, offset: desc.offset, size: desc.size };
        let writable = match desc.access {
            COMPUTE_ACCESS_READ => false,
            COMPUTE_ACCESS_READ_WRITE => true,
            other => {
                return refuse!(
                    COMPUTE_ERROR_INVALID_ENUM,
                    "{other} is not an access of imported memory: give COMPUTE_ACCESS_READ or COMPUTE_ACCESS_READ_WRITE"
                );
            }
        };
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(desc.label, desc.label_length, MOST_NAME, "label") }?;
        let owner = Arc::new(Owner { released: desc.released, user: desc.user, imported: AtomicBool::new(false) });
        let released = desc.released.map(|_| {
            let owner = Arc::clone(&owner);
            Box::new(move || owner.tell()) as Box<dyn FnOnce() + Send>
        });
        let options = ImportOptions { foreign, writable, label: label.unwrap_or_default(), released };
        let buffer = Buffer::import(&find(device)?.device, options)?;
        let handle = add(buffer)?;
        owner.imported.store(true, Ordering::Release);
        out.set(handle);
        Ok(COMPUTE_OK)
    })
}

fn read_kind(kind: u32) -> Result<NativeKind, Complaint> {
    Ok(match kind {
        COMPUTE_NATIVE_ADDRESS => NativeKind::Address,
        COMPUTE_NATIVE_VULKAN_BUFFER => NativeKind::VulkanBuffer,
        COMPUTE_NATIVE_CUDA_POINTER => NativeKind::CudaPointer,
        COMPUTE_NATIVE_HIP_POINTER => NativeKind::HipPointer,
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_NATIVE_ kind of memory"),
    })
}
