//! What every export goes through: the guard around its body, and the only ways to read what a C caller points to and to write what it asks for.
//!
//! Knows no device and no noun. The order inside [`guard`] is the contract: fork check (before any lock, look-up or allocation), body under an
//! unwind guard, then status and error object.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::fmt::{self, Write as _};
use std::hint::{black_box, cold_path};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error;
use super::status::*;
use super::system;
use super::types::{COMPUTE_NUL_TERMINATED, COMPUTE_WHOLE, compute_error};
use crate::runtime::{Failed, log};
use std::sync::Arc;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles are 64-bit values in pointers: libcompute needs a 64-bit target");

/// Why a call is refused or failed.
#[derive(Debug)]
pub(crate) enum Complaint {
    /// The runtime says so.
    Failed(Arc<Failed>),
    /// The boundary says so.
    Plain {
        /// A negative status.
        code: compute_status,
        /// What was asked, what is allowed.
        message: String,
    },
    /// There was no memory to say more.
    NoMemory,
}

/// What the body of an export gives.
pub(crate) type Answer = Result<compute_status, Complaint>;

impl From<Arc<Failed>> for Complaint {
    fn from(failed: Arc<Failed>) -> Self {
        Self::Failed(failed)
    }
}

impl From<super::handle::NoMemory> for Complaint {
    fn from(_: super::handle::NoMemory) -> Self {
        Self::NoMemory
    }
}

/// A string that would rather stay short than end the process for want of memory.
#[derive(Default)]
struct Careful(String);

impl fmt::Write for Careful {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(text);
        Ok(())
    }
}

impl Complaint {
    /// An error with a message. When there is no memory for that, says so instead.
    #[cold]
    pub(crate) fn new(code: compute_status, message: fmt::Arguments<'_>) -> Self {
        let mut text = Careful::default();
        match text.write_fmt(message) {
            Ok(()) => Self::Plain { code, message: text.0 },
            Err(fmt::Error) => Self::NoMemory,
        }
    }

    /// The same, now that the outputs of the refused call are claimed (T2) by `claim`.
    #[cold]
    pub(crate) fn claiming(self, claim: impl FnOnce(compute_status, String) -> Arc<Failed>) -> Self {
        match self {
            Self::Plain { code, message } => Self::Failed(claim(code, message)),
            Self::NoMemory => {
                let mut text = Careful::default();
                // Without words, where there is no memory for any.
                let _ = text.write_str(self.message());
                Self::Failed(claim(self.status(), text.0))
            }
            failed @ Self::Failed(_) => failed,
        }
    }

    /// What there is to say, as far as there is memory for it.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Failed(failed) => &failed.error.message,
            Self::Plain { message, .. } => message,
            Self::NoMemory => "no host memory",
        }
    }

    /// The status that the call answers.
    pub(crate) fn status(&self) -> compute_status {
        match self {
            Self::Failed(failed) => failed.error.code,
            Self::Plain { code, .. } => *code,
            Self::NoMemory => COMPUTE_ERROR_OUT_OF_MEMORY,
        }
    }
}

/// `Err` with an error of the boundary.
macro_rules! refuse {
    ($code:expr, $($text:tt)*) => { Err($crate::capi::boundary::Complaint::new($code, format_args!($($text)*))) };
}
pub(crate) use refuse;

// ---- the process: forks and panics ----

/// Set in the child of a fork that happened after a device had been opened.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How many exports this thread is inside of.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    /// What the panic hook saw last on this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

extern "C" fn after_fork_in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Whether this is a child that must not use the library (F6). One load; safe in a signal handler even.
pub(crate) fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes the process ready for a device: from here on a fork is noticed, and panics inside exports are errors rather than text on stderr.
pub(crate) fn prepare_process() -> Result<(), Complaint> {
    static PREPARE: Once = Once::new();
    static WATCHED: AtomicBool = AtomicBool::new(false);
    PREPARE.call_once(|| {
        system::stay_loaded();
        // SAFETY: the handler is a function of ours that only stores to a static; the library is never unloaded.
        let watched = unsafe { system::watch_forks(after_fork_in_child) };
        WATCHED.store(watched, Ordering::Relaxed);
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Threads of ours are named so; what panics there becomes an error too, and nothing is printed.
            let ours = std::thread::current().name().is_some_and(|name| name.starts_with("compute-"));
            if !ours && INSIDE.try_with(Cell::get).unwrap_or(0) == 0 {
                return former(info);
            }
            let _ = PANIC.try_with(|text| text.try_borrow_mut().map(|mut text| *text = info.to_string()));
        }));
    });
    if WATCHED.load(Ordering::Relaxed) { Ok(()) } else { Err(Complaint::NoMemory) }
}

/// Runs `body`; a panic in it becomes an error of the library's own.
#[inline]
fn catch<T>(body: impl FnOnce() -> Result<T, Complaint>) -> Result<T, Complaint> {
    // Found once, as finding it is a call. It needs no drop, so that it is there as long as its thread is.
    let ended = INSIDE.with(|depth| {
        // Else the compiler finds it again after the call.
        let depth = black_box(depth);
        let outside = depth.get();
        depth.set(outside.saturating_add(1));
        let ended = catch_unwind(AssertUnwindSafe(body));
        depth.set(outside);
        ended
    });
    match ended {
        Ok(answer) => answer,
        Err(payload) => Err(panicked(payload)),
    }
}

#[cold]
fn panicked(payload: Box<dyn Any + Send>) -> Complaint {
    let message = PANIC.try_with(|text| text.try_borrow_mut().map(|mut text| std::mem::take(&mut *text)).ok()).ok().flatten();
    let message = message.filter(|text| !text.is_empty()).unwrap_or_else(|| panic_text(&*payload).to_owned());
    // The payload's own drop could panic.
    std::mem::forget(payload);
    Complaint::new(
        COMPUTE_ERROR_INTERNAL,
        format_args!("a bug of the library: {message}. What the call was writing stays claimed; please report this"),
    )
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

/// The frame of every export that has an `out_error`, which may be NULL: set to NULL on success, to a new error object on failure.
pub(crate) fn guard(out_error: *mut compute_error, body: impl FnOnce() -> Answer) -> compute_status {
    if forked() {
        cold_path();
        give(out_error, ptr::null_mut());
        return COMPUTE_ERROR_FORKED;
    }
    match catch(body) {
        Ok(status) => {
            give(out_error, ptr::null_mut());
            status
        }
        Err(complaint) => complain(complaint, out_error),
    }
}

#[cold]
#[inline(never)]
fn complain(complaint: Complaint, out_error: *mut compute_error) -> compute_status {
    let status = complaint.status();
    // With no lock held, as the callback may call the library (F4). Whoever finds a device lost is refused something, so it is told by then.
    let _ = catch(|| {
        log::send_held_back();
        Ok(COMPUTE_OK)
    });
    if !out_error.is_null() {
        // Making the object may panic too, when memory is short.
        let object = catch(|| Ok(error::make(complaint))).unwrap_or_else(|_| error::no_memory());
        give(out_error, object);
    }
    status
}

/// The frame of exports without `out_error`.
pub(crate) fn guard_status(body: impl FnOnce() -> Answer) -> compute_status {
    guard(ptr::null_mut(), body)
}

/// The frame of exports that answer nothing. In a forked child they do nothing.
pub(crate) fn guard_void(body: impl FnOnce()) {
    if !forked() {
        // There is nobody to tell.
        let _ = catch(|| {
            body();
            Ok(())
        });
    }
}

fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller says that `to` points to a place for a `T`; it need not be aligned.
        unsafe { to.write_unaligned(value) }
    }
}

// ---- out-parameters ----

/// A place for one result, NULL refused. Filled with `empty` at once, so that a failing call leaves something defined behind.
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks the pointer and writes `empty`.
    ///
    /// # Safety
    /// When not NULL, `to` is writable for a `T`, for as long as this is in use.
    pub(crate) unsafe fn new(to: *mut T, name: &str, empty: T) -> Result<Self, Complaint> {
        if to.is_null() {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` is NULL; it must point to where the result goes");
        }
        give(to, empty);
        Ok(Self(to))
    }

    /// Writes the result.
    pub(crate) fn set(self, value: T) {
        give(self.0, value);
    }
}

/// Writes a value through a pointer that may be NULL.
///
/// # Safety
/// When not NULL, `to` is writable for a `T`.
pub(crate) unsafe fn set_optional<T>(to: *mut T, value: T) {
    give(to, value);
}

// ---- structs that grow ----

/// A struct of `types.rs` that begins with `struct_size`.
///
/// # Safety
/// `repr(C)`, the first field is the `u32` struct_size, every bit pattern is a value, and there is no padding that holds anything.
pub(crate) unsafe trait Sized32: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// The smallest `struct_size` that is accepted: the fields without which it makes no sense.
    const LEAST: usize;
}

/// No struct will ever be that large; a bigger number is not a size.
const MOST: usize = 4096;

fn struct_size<T: Sized32>(at: *const T) -> Result<usize, Complaint> {
    if at.is_null() {
        return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the `{}` is NULL", T::NAME);
    }
    // SAFETY: the caller says that `at` points to a struct that begins with its size.
    let size = unsafe { at.cast::<u32>().read_unaligned() } as usize;
    // Every version of a struct is a multiple of its alignment; anything else would cut a field in two.
    if !(T::LEAST..=MOST).contains(&size) || !size.is_multiple_of(size_of::<u64>()) {
        return refuse!(
            COMPUTE_ERROR_INVALID_STRUCT,
            "struct_size of the `{}` is {size}; it must be what sizeof says, {} or more (this library's is {}). Initialise the struct with its \
             INIT macro or init function",
            T::NAME,
            T::LEAST,
            size_of::<T>()
        );
    }
    Ok(size)
}

/// Reads a caller's struct: older and smaller is filled up with zeros, newer and larger is accepted when what is unknown is zero.
///
/// # Safety
/// When not NULL, `at` is readable for the size that its first field says.
pub(crate) unsafe fn read_struct<T: Sized32>(at: *const T) -> Result<T, Complaint> {
    let mut place = MaybeUninit::uninit();
    // SAFETY: as our own caller says.
    let (value, tail) = unsafe { read_known(at, &mut place) }?;
    tail.map(|()| *value)
}

/// As [`read_struct`], and what is known is also given where what is unknown is not zero: a refused call claims the outputs that it can make out (T2). It is put into
/// `place`.
///
/// # Safety
/// As [`read_struct`].
#[inline]
pub(crate) unsafe fn read_known<T: Sized32>(
    at: *const T,
    place: &mut MaybeUninit<T>,
) -> Result<(&T, Result<(), Complaint>), Complaint> {
    let size = struct_size(at)?;
    if size == size_of::<T>() {
        // SAFETY: it is that large; the place need not be aligned.
        return Ok((place.write(unsafe { at.read_unaligned() }), Ok(())));
    }
    cold_path();
    // SAFETY: as our own caller says.
    let (value, tail) = unsafe { read_resized(at, size) }?;
    Ok((place.write(value), tail))
}

/// A struct of another version of the header.
///
/// # Safety
/// `at` is readable for `size` bytes.
#[cold]
unsafe fn read_resized<T: Sized32>(at: *const T, size: usize) -> Result<(T, Result<(), Complaint>), Complaint> {
    let known = size.min(size_of::<T>());
    // SAFETY: all zero bits are a value of `T`.
    let mut value = unsafe { std::mem::zeroed::<T>() };
    // SAFETY: `known` bytes are readable there and writable here; a local is elsewhere than the caller's memory.
    unsafe { ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    // SAFETY: the caller's struct is `size` bytes long, of which `known` come first.
    let tail = unsafe { slice::from_raw_parts(at.cast::<u8>().add(known), size - known) };
    let checked = match tail.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(offset) => refuse!(
            COMPUTE_ERROR_INVALID_STRUCT,
            "the `{}` has something at byte {} that this version of the library ({}) does not know; it knows {} bytes",
            T::NAME,
            known + offset,
            env!("CARGO_PKG_VERSION"),
            size_of::<T>()
        ),
    };
    Ok((value, checked))
}

/// As [`read_struct`], but NULL is all zeros: every default.
///
/// # Safety
/// As [`read_struct`].
pub(crate) unsafe fn read_optional_struct<T: Sized32>(at: *const T) -> Result<T, Complaint> {
    if at.is_null() {
        // SAFETY: all zero bits are a value of `T`.
        return Ok(unsafe { std::mem::zeroed::<T>() });
    }
    // SAFETY: as our own caller says.
    unsafe { read_struct(at) }
}

/// Reads what a longer struct begins with; what follows is not looked at.
///
/// # Safety
/// As [`read_struct`].
pub(crate) unsafe fn read_head<T: Sized32>(at: *const T) -> Result<T, Complaint> {
    let size = struct_size(at)?;
    if size < size_of::<T>() {
        return refuse!(
            COMPUTE_ERROR_INVALID_STRUCT,
            "struct_size of a struct in the chain is {size}; it must be {} or more",
            size_of::<T>()
        );
    }
    // SAFETY: it is at least that large; the place need not be aligned.
    Ok(unsafe { at.read_unaligned() })
}

/// Where a struct is wanted, with the caller's idea of its size.
pub(crate) struct OutStruct<T> {
    at: *mut T,
    size: usize,
}

impl<T: Sized32> OutStruct<T> {
    /// Checks pointer and size.
    ///
    /// # Safety
    /// When not NULL, `at` is readable and writable for the size that its first field says, for as long as this is in use.
    pub(crate) unsafe fn new(at: *mut T) -> Result<Self, Complaint> {
        Ok(Self { at, size: struct_size(at)? })
    }

    /// The same for a further struct of an array, whose size the first one told.
    ///
    /// # Safety
    /// `at` is writable for `size` bytes, for as long as this is in use.
    pub(crate) unsafe fn with_size(at: *mut T, size: usize) -> Self {
        Self { at, size }
    }

    /// How large the caller's struct is.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Fills it as far as the caller's struct goes. What only the caller knows becomes zero, `struct_size` stays.
    pub(crate) fn set(&self, value: &T) {
        let known = self.size.min(size_of::<T>());
        let skip = size_of::<u32>();
        // SAFETY: the struct is `size` bytes long and starts with the size field, which is left alone; `value` is ours, elsewhere, and at
        // least `known` bytes long.
        unsafe {
            let to = self.at.cast::<u8>();
            ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>().add(skip), to.add(skip), known - skip);
            ptr::write_bytes(to.add(known), 0, self.size - known);
        }
    }
}

/// The first `size` bytes of `T`, all zero but for the size: what an init function gives.
///
/// # Safety
/// When not NULL, `to` is writable for a `T`.
pub(crate) unsafe fn init_struct<T: Sized32>(to: *mut T) {
    // SAFETY: all zero bits are a value of `T`.
    let mut value = unsafe { std::mem::zeroed::<T>() };
    // SAFETY: the first field of a `Sized32` is its u32 size.
    unsafe { (&raw mut value).cast::<u32>().write(size_of::<T>() as u32) };
    give(to, value);
}

// ---- arrays ----

/// Elements of a caller's array, a stride apart. An element may be longer than ours (newer caller, or part of a larger struct of the caller's).
#[derive(Clone, Copy)]
pub(crate) struct Strided<T> {
    first: *const T,
    count: usize,
    stride: usize,
}

impl<T: Copy> Strided<T> {
    /// Checks the numbers. A stride of 0 is that of `T`.
    ///
    /// # Safety
    /// When `count` is not 0, `first` is readable for `count` elements `stride` apart, for as long as this is in use. `T` is plain data.
    #[inline]
    pub(crate) unsafe fn new(first: *const T, count: usize, stride: usize, most: usize, name: &str) -> Result<Self, Complaint> {
        let stride = if stride == 0 { size_of::<T>() } else { stride };
        if count == 0 {
            return Ok(Self { first, count, stride });
        }
        if first.is_null() {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` is NULL, but their number is {count}");
        }
        if count > most {
            return refuse!(COMPUTE_ERROR_LIMIT, "{count} {name}; at most {most} are allowed");
        }
        if stride < size_of::<T>() {
            return refuse!(
                COMPUTE_ERROR_INVALID_ARGUMENT,
                "the stride of `{name}` is {stride} bytes; an element has {}",
                size_of::<T>()
            );
        }
        if stride.checked_mul(count).is_none_or(|bytes| bytes > isize::MAX as usize) {
            return refuse!(
                COMPUTE_ERROR_INVALID_ARGUMENT,
                "{count} {name} with a stride of {stride} bytes do not fit into an address space"
            );
        }
        Ok(Self { first, count, stride })
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The elements.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        // SAFETY: `new` checked that the array fits into an address space; its caller vouched for the memory.
        (0..self.count).map(|index| unsafe { self.first.byte_add(index * self.stride).read_unaligned() })
    }
}

/// Reads a caller's array of sized structs, `stride` bytes apart (0: that of `T`), each with its own idea of its size.
///
/// # Safety
/// When `count` is not 0, `first` is readable for that many structs, each as large as its first field says.
pub(crate) unsafe fn read_structs<T: Sized32>(
    first: *const T,
    count: usize,
    stride: usize,
    most: usize,
    name: &str,
) -> Result<Vec<T>, Complaint> {
    let stride = if stride == 0 { size_of::<T>() } else { stride };
    // Not more than this is known of an element before it is looked at.
    // SAFETY: as our own caller says.
    let sizes = unsafe { Strided::new(first.cast::<u32>(), count, stride, most, name) }?;
    let mut all = Vec::new();
    all.try_reserve_exact(sizes.len()).map_err(|_| Complaint::NoMemory)?;
    for (index, size) in sizes.iter().enumerate() {
        if size as usize > stride {
            return refuse!(
                COMPUTE_ERROR_INVALID_ARGUMENT,
                "the stride of `{name}` is {stride} bytes, but element {index} says that it has {size}"
            );
        }
        // SAFETY: `Strided::new` checked that the array fits into an address space; the caller vouched for the memory.
        all.push(unsafe { read_struct(first.byte_add(index * stride)) }?);
    }
    Ok(all)
}

/// Fills a caller's array of sized structs, `stride` bytes apart (0: that of `T`), each as large as the first one says, as far as it goes.
///
/// # Safety
/// When `capacity` is not 0, `first` is writable for that many structs, and the first one is readable.
pub(crate) unsafe fn write_structs<T: Sized32 + Copy>(
    values: impl Iterator<Item = T>,
    first: *mut T,
    stride: usize,
    capacity: usize,
    name: &str,
) -> Result<(), Complaint> {
    if capacity == 0 {
        return Ok(());
    }
    // SAFETY: as our own caller says.
    let size = unsafe { OutStruct::new(first) }?.size();
    let stride = if stride == 0 { size_of::<T>() } else { stride };
    if stride < size || stride > isize::MAX as usize / capacity {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "the stride of `{name}` is {stride} bytes; its elements say that they have {size}"
        );
    }
    for (value, place) in values.take(capacity).zip(0_usize..) {
        // SAFETY: `place` is below `capacity`, and the stride was checked against it.
        unsafe { OutStruct::with_size(first.byte_add(place * stride), size) }.set(&value);
    }
    Ok(())
}

/// Fills a caller's array of plain structs as far as it goes.
///
/// # Safety
/// As [`write_structs`].
pub(crate) unsafe fn write_array<T: Copy>(
    values: impl Iterator<Item = T>,
    first: *mut T,
    stride: usize,
    capacity: usize,
    name: &str,
) -> Result<(), Complaint> {
    if capacity == 0 {
        return Ok(());
    }
    let stride = if stride == 0 { size_of::<T>() } else { stride };
    if first.is_null() || stride < size_of::<T>() || stride > isize::MAX as usize / capacity {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "`{name}` is {first:p} with a stride of {stride} bytes; its elements have {}",
            size_of::<T>()
        );
    }
    for (value, place) in values.take(capacity).zip(0_usize..) {
        // SAFETY: `place` is below `capacity`, the stride was checked against it, and the place need not be aligned.
        unsafe { first.byte_add(place * stride).write_unaligned(value) };
    }
    Ok(())
}

// ---- text and bytes ----

/// How long a label or a name may be. More is a mistake, or garbage for a length.
pub(crate) const MOST_NAME: usize = 4096;

/// A string of the caller's, or `None` for NULL with a length of 0 or `COMPUTE_NUL_TERMINATED`.
///
/// # Safety
/// When not NULL, `at` is readable for `length` bytes, or up to a NUL byte when that is `COMPUTE_NUL_TERMINATED`, for `'a`.
pub(crate) unsafe fn read_text<'a>(
    at: *const c_char,
    length: usize,
    most: usize,
    name: &str,
) -> Result<Option<&'a str>, Complaint> {
    if at.is_null() {
        return match length {
            0 | COMPUTE_NUL_TERMINATED => Ok(None),
            _ => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the {name} is NULL, but its length is {length}"),
        };
    }
    let length = match length {
        // SAFETY: the caller says that there is a NUL byte; it is not looked for further than `most` allows.
        COMPUTE_NUL_TERMINATED => unsafe { libc::strnlen(at, most.saturating_add(1)) },
        length => length,
    };
    if length > most {
        return refuse!(COMPUTE_ERROR_LIMIT, "the {name} has more than {most} bytes, which is the most that is allowed");
    }
    // SAFETY: `length` bytes are readable there.
    let bytes = unsafe { slice::from_raw_parts(at.cast::<u8>(), length) };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => refuse!(COMPUTE_ERROR_INVALID_UTF8, "the {name} is not UTF-8: byte {} is wrong", error.valid_up_to()),
    }
}

/// Bytes of the caller's. The size is checked before anything is touched.
///
/// # Safety
/// When `size` is not 0, `at` is readable for `size` bytes, for `'a`.
pub(crate) unsafe fn read_bytes<'a>(at: *const u8, size: u64, name: &str) -> Result<&'a [u8], Complaint> {
    let size = check_host(at, size, name)?;
    if size == 0 {
        return Ok(&[]);
    }
    // SAFETY: not NULL, no larger than an object can be, and readable as our caller says.
    Ok(unsafe { slice::from_raw_parts(at, size) })
}

/// No process has that much memory at one place.
const MOST_HOST: usize = 1 << 56;

/// Checks a pointer to host memory and its size, without touching it.
pub(crate) fn check_host<T>(at: *const T, size: u64, name: &str) -> Result<usize, Complaint> {
    if size == COMPUTE_WHOLE {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "the size of `{name}` cannot be COMPUTE_WHOLE: host memory has no end to be known"
        );
    }
    match usize::try_from(size) {
        Ok(0) => Ok(0),
        Ok(_) if at.is_null() => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` is NULL, but its size is {size}"),
        Ok(size) if size <= MOST_HOST && at.addr().checked_add(size).is_some() => Ok(size),
        _ => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "{size} bytes at `{name}` do not fit into an address space"),
    }
}

/// Gives text to the caller, with a NUL behind it, cut at a character where the room ends. `needed` is told what all of it takes, NUL included.
/// NULL with a capacity of 0 only asks.
///
/// # Safety
/// When not NULL, `to` is writable for `capacity` bytes and `needed` for a number.
pub(crate) unsafe fn write_text(text: &str, to: *mut c_char, capacity: usize, needed: *mut usize) -> Answer {
    give(needed, text.len().saturating_add(1));
    if to.is_null() {
        return match capacity {
            0 => Ok(COMPUTE_OK),
            _ => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the text buffer is NULL, but its capacity is {capacity}"),
        };
    }
    let Some(room) = capacity.checked_sub(1) else { return Ok(COMPUTE_INCOMPLETE) };
    let cut = text.floor_char_boundary(room);
    // SAFETY: `cut < capacity` bytes and the NUL fit.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), to, cut);
        to.add(cut).write(0);
    }
    Ok(if cut == text.len() { COMPUTE_OK } else { COMPUTE_INCOMPLETE })
}

/// Text in a field of a struct: cut at a character to fit, NUL-terminated, the rest zeros.
pub(crate) fn field<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    let cut = text.floor_char_boundary(N.saturating_sub(1));
    for (to, from) in field.iter_mut().zip(text.as_bytes().iter().take(cut)) {
        *to = *from as c_char;
    }
    field
}

/// Refuses unknown flags.
pub(crate) fn check_flags(flags: u64, known: u64, name: &str) -> Result<(), Complaint> {
    match flags & !known {
        0 => Ok(()),
        unknown => refuse!(COMPUTE_ERROR_INVALID_ENUM, "flags {unknown:#x} of the {name} are unknown"),
    }
}

/// Refuses anything in a field that has no meaning yet.
pub(crate) fn check_zero(value: u64, name: &str) -> Result<(), Complaint> {
    if value == 0 { Ok(()) } else { refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`{name}` must be zero, not {value:#x}") }
}

#[cfg(test)]
mod tests;
