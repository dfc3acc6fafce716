//! Tensors (M3): where several of them lie in a buffer, and moving them with strides.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use compute_hal::{HostSource, HostTarget};
use smallvec::SmallVec;

use super::boundary::*;
use super::buffer::read_view;
use super::kernel::gather;
use super::objects::{add, find, guard_call, peek};
use super::status::*;
use super::stream::{Asked, give_event, outcome, place};
use super::types::*;
use crate::runtime::{self, Arrangement, Readback, Source, Tensor, TensorPlace, TensorSpec, Wait};

/// More tensors in one layout are a mistake, or garbage for a number.
const MOST_TENSORS: usize = 1 << 20;

type Numbers<T> = SmallVec<[T; COMPUTE_MOST_DIMENSIONS as usize]>;

fn check_rank(rank: u32) -> Result<usize, Complaint> {
    if rank > COMPUTE_MOST_DIMENSIONS {
        return refuse!(COMPUTE_ERROR_LIMIT, "{rank} dimensions; at most {COMPUTE_MOST_DIMENSIONS} are allowed");
    }
    Ok(rank as usize)
}

/// A number for each dimension.
///
/// # Safety
/// When `rank` is not 0, `at` is readable for that many numbers, or NULL.
unsafe fn read_numbers<T: Copy>(at: *const T, rank: u32, name: &str) -> Result<Numbers<T>, Complaint> {
    let count = check_rank(rank)?;
    // SAFETY: as our own caller says.
    Ok(unsafe { Strided::new(at, count, 0, COMPUTE_MOST_DIMENSIONS as usize, name) }?.iter().collect())
}

/// What a `compute_strided_desc` points to, read.
pub(super) struct Read {
    shape: Numbers<u64>,
    element_size: u64,
    strides: [Option<Numbers<i64>>; 2],
}

impl Read {
    /// # Safety
    /// `desc` and what it points to are readable.
    pub(super) unsafe fn new(desc: *const compute_strided_desc) -> Result<Self, Complaint> {
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        // SAFETY: as our own caller says.
        let shape = unsafe { read_numbers(desc.shape, desc.rank, "shape") }?;
        let mut strides = [None, None];
        for (read, (at, name)) in strides.iter_mut().zip([(desc.from_strides, "from_strides"), (desc.to_strides, "to_strides")]) {
            if !at.is_null() {
                // SAFETY: as our own caller says.
                *read = Some(unsafe { read_numbers(at, desc.rank, name) }?);
            }
        }
        Ok(Self { shape, element_size: desc.element_size, strides })
    }

    /// On behalf of a call that claims its destination when it is refused.
    ///
    /// # Safety
    /// As [`Read::new`].
    unsafe fn for_writing(desc: *const compute_strided_desc, asked: &Asked) -> Result<Self, Complaint> {
        // SAFETY: as our own caller says.
        unsafe { Self::new(desc) }.map_err(|complaint| asked.refused(complaint))
    }

    /// A complaint about a call that would write these elements there, which claims them (T2).
    fn refused(&self, complaint: Complaint, asked: &Asked) -> Complaint {
        complaint.claiming(|code, message| runtime::refuse_strided(code, message, &asked.place(), Some(&self.tensor())))
    }

    pub(super) fn tensor(&self) -> Tensor<'_> {
        let [from, to] = &self.strides;
        Tensor { shape: &self.shape, element_size: self.element_size, from: from.as_deref(), to: to.as_deref() }
    }
}

/// Places several tensors in one buffer of a device (M3), which the caller then makes with `*size` bytes: offset, size, pitch and strides of each, at
/// multiples of `alignment` (0: what views of any kind need on this device). Tensors are `tensor_stride` bytes apart, places `place_stride` (0: the size of the
/// struct), each as large as the `struct_size` of the first one says. `places` may be NULL, to ask for the size alone. Allocates nothing.
///
/// Errors: `TOO_LARGE` (more bytes than 64 bits can count), `MISALIGNED` (an alignment that is no power of two), `LIMIT` (an alignment beyond that of buffers, too
/// many dimensions), `INVALID_ARGUMENT` (elements of 0 bytes), `INVALID_ENUM`.
///
/// # Safety
/// The pointers are valid as described; `size` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_layout_tensors(
    device: compute_device,
    tensors: *const compute_tensor_desc,
    tensor_count: usize,
    tensor_stride: usize,
    alignment: u64,
    places: *mut compute_tensor_place,
    place_stride: usize,
    size: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let size = unsafe { Out::new(size, "size", 0) }?;
        let device = find(device)?;
        // SAFETY: as our own caller says.
        let descs = unsafe { read_structs(tensors, tensor_count, tensor_stride, MOST_TENSORS, "tensors") }?;
        let mut shapes = Vec::new();
        shapes.try_reserve_exact(descs.len()).map_err(|_| Complaint::NoMemory)?;
        for desc in &descs {
            check_zero(desc.reserved.into(), "reserved")?;
            // SAFETY: as our own caller says.
            shapes.push(unsafe { read_numbers(desc.shape, desc.rank, "shape") }?);
        }
        let specs = gather(descs.iter().zip(&shapes).map(|(desc, shape)| spec_of(desc, shape)))?;
        let (placed, total) = runtime::layout(&device.device, &specs, alignment)?;
        let told = placed.iter().zip(&descs).map(|(place, desc)| place_of(place, desc.rank));
        let capacity = if places.is_null() { 0 } else { placed.len() };
        // SAFETY: as our own caller says.
        unsafe { write_structs(told, places, place_stride, capacity, "places") }?;
        size.set(total);
        Ok(COMPUTE_OK)
    })
}

fn spec_of<'a>(desc: &compute_tensor_desc, shape: &'a [u64]) -> Result<TensorSpec<'a>, Complaint> {
    let arrangement = match desc.arrangement {
        COMPUTE_ARRANGEMENT_CONTIGUOUS => Arrangement::Contiguous,
        COMPUTE_ARRANGEMENT_OPTIMIZED => Arrangement::Optimized,
        other => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{other} is not a COMPUTE_ARRANGEMENT_"),
    };
    Ok(TensorSpec { shape, element_size: desc.element_size, arrangement })
}

fn place_of(place: &TensorPlace, rank: u32) -> compute_tensor_place {
    let TensorPlace { offset, size, pitch, strides } = *place;
    compute_tensor_place { struct_size: size_of::<compute_tensor_place>() as u32, rank, offset, size, pitch, strides }
}

/// Writes the elements of a tensor from host memory into a view (M3): the first from the first byte of `bytes` to the first of the view, the others where the
/// strides say; what lies between them is left alone at both ends. `size` and the view are at least as large as the tensor spans. The bytes are copied before
/// this returns. Repairs what it covers (T4): up to some hundred rows to the byte; of more, never-written bytes between them are filled.
///
/// Errors, which leave the destination claimed (T2): `OVERLAP`, `UNSUPPORTED_STRIDES`, `OUT_OF_RANGE`, `TOO_LARGE`, `LIMIT`, and those of `compute_stream_write`.
///
/// # Safety
/// `to` and `desc` and what it points to are readable; `bytes` is readable for `size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_write_strided(
    stream: compute_stream,
    to: *const compute_view,
    desc: *const compute_strided_desc,
    bytes: *const c_void,
    size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a strided write", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let read = unsafe { Read::for_writing(desc, &asked) }?;
        // SAFETY: as our own caller says.
        let bytes = unsafe { read_bytes(bytes.cast(), size, "bytes") };
        let bytes = bytes.map_err(|complaint| read.refused(complaint, &asked))?;
        runtime::write_strided(asked.stream().map(|stream| &**stream), asked.place(), &read.tensor(), Source::Copied(bytes))?;
        Ok(COMPUTE_OK)
    })
}

/// As `compute_stream_write_strided`, but the bytes are borrowed until `*out_event` is over. The caller releases the event.
///
/// # Safety
/// `to` and `desc` and what it points to are readable; `bytes` is readable for `size` bytes, and nobody writes there, until the event is over; `out_event` is
/// writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_write_strided_borrowed(
    stream: compute_stream,
    to: *const compute_view,
    desc: *const compute_strided_desc,
    bytes: *const c_void,
    size: u64,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a strided write", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let read = unsafe { Read::for_writing(desc, &asked) }?;
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) };
        let checked = out.and_then(|out| Ok((out, check_host(bytes, size, "bytes")?)));
        let (out, size) = checked.map_err(|complaint| read.refused(complaint, &asked))?;
        // SAFETY: as our own caller says.
        let source = Source::Borrowed(unsafe { HostSource::new(bytes.cast(), size) });
        give_event(out, runtime::write_strided(asked.stream().map(|stream| &**stream), asked.place(), &read.tensor(), source)?)
    })
}

/// Reads the elements of a tensor from a view into host memory, and waits for it (T8); otherwise as `compute_stream_write_strided`. Bytes of host memory between the
/// elements are left alone, and all of it is when the answer is an error.
///
/// # Safety
/// `from` and `desc` and what it points to are readable; `bytes` is writable for `size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read_strided(
    stream: compute_stream,
    from: *const compute_view,
    desc: *const compute_strided_desc,
    bytes: *mut c_void,
    size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a strided read", out_error, || {
        // SAFETY: as our own caller says; the read is over when this returns.
        match unsafe { enqueue_read(stream, from, desc, bytes, size) }?.wait_for_lent()? {
            Wait::Done => Ok(COMPUTE_OK),
            Wait::TimedOut => refuse!(COMPUTE_ERROR_INTERNAL, "a wait without a time limit ended before its time"),
        }
    })
}

/// As `compute_stream_read_strided`, without waiting: `bytes` is borrowed until `*out_event` gives the answer, as by `compute_stream_read_async`.
///
/// # Safety
/// `from` and `desc` and what it points to are readable; `bytes` is writable for `size` bytes, and nobody else touches it, until the event is over;
/// `out_event` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read_strided_async(
    stream: compute_stream,
    from: *const compute_view,
    desc: *const compute_strided_desc,
    bytes: *mut c_void,
    size: u64,
    out_event: *mut compute_event,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a strided read", out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out_event, "out_event", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        give_event(out, Some(unsafe { enqueue_read(stream, from, desc, bytes, size) }?))
    })
}

/// # Safety
/// As [`compute_stream_read_strided_async`].
unsafe fn enqueue_read(
    stream: compute_stream,
    from: *const compute_view,
    desc: *const compute_strided_desc,
    bytes: *mut c_void,
    size: u64,
) -> Result<Arc<runtime::Event>, Complaint> {
    // SAFETY: as our own caller says.
    let asked = unsafe { Asked::new(stream, from, "from") }?;
    // SAFETY: as our own caller says.
    let read = unsafe { Read::new(desc) }?;
    let size = check_host(bytes, size, "bytes")?;
    // SAFETY: as our own caller says.
    let into = unsafe { HostTarget::new(bytes.cast(), size) };
    Ok(runtime::read_strided(asked.stream().map(|stream| &**stream), asked.place(), &read.tensor(), into)?)
}

/// As `compute_stream_read_lazy`, of the elements of a tensor in the view: the bytes that an access gives are those from the first to behind the last element at the
/// strides of the destination, with zeros between them.
///
/// # Safety
/// `from` and `desc` and what it points to are readable; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_read_strided_lazy(
    stream: compute_stream,
    from: *const compute_view,
    desc: *const compute_strided_desc,
    out: *mut compute_readback,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, from, "from") }?;
        // SAFETY: as our own caller says.
        let read = unsafe { Read::new(desc) }?;
        out.set(add(Readback::new(asked.stream(), asked.place(), Some(&read.tensor()))?)?);
        Ok(COMPUTE_OK)
    })
}

/// Copies the elements of a tensor between two views of one device; no byte of the source may be one of the destination (L9), but their rows may lie between
/// each other's. Claimed bytes among those that it reads skip the copy (`COMPUTE_SKIPPED`). Otherwise as `compute_stream_write_strided`.
///
/// # Safety
/// `from`, `to` and `desc` and what it points to are readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_copy_strided(
    stream: compute_stream,
    from: *const compute_view,
    to: *const compute_view,
    desc: *const compute_strided_desc,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a strided copy", out_error, || {
        // SAFETY: as our own caller says.
        let asked = unsafe { Asked::new(stream, to, "to") }?;
        // SAFETY: as our own caller says.
        let read = unsafe { Read::for_writing(desc, &asked) }?;
        // SAFETY: as our own caller says.
        let source = unsafe { read_view(from, "from") }.map_err(|complaint| read.refused(complaint, &asked))?;
        let buffer = peek(source.buffer);
        let from = place(buffer.as_ref(), source.offset, source.size);
        Ok(outcome(runtime::copy_strided(asked.stream().map(|stream| &**stream), from, asked.place(), &read.tensor())?))
    })
}
