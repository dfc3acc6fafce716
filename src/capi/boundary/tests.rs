//! What every export is promised of its frame: no unwinding, error objects, careful reading. Structs and guard pages are in `c_tests/structs.c`.

use super::*;
use crate::capi::error::{compute_error_get_info, compute_error_message, compute_error_release, compute_error_retain};
use crate::capi::types::compute_error_info;

fn info(error: compute_error) -> compute_error_info {
    // SAFETY: zeros are a value.
    let mut info: compute_error_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of::<compute_error_info>() as u32;
    // SAFETY: it says its size.
    assert_eq!(unsafe { compute_error_get_info(error, &raw mut info) }, COMPUTE_OK);
    info
}

fn message(error: compute_error) -> String {
    let mut text = [0; 512];
    // SAFETY: the text has room for its length.
    assert_eq!(unsafe { compute_error_message(error, text.as_mut_ptr(), text.len(), ptr::null_mut()) }, COMPUTE_OK);
    text.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8 as char).collect()
}

#[test]
fn f2_a_panic_in_an_export_becomes_an_internal_error_that_carries_its_words() {
    prepare_process().unwrap();
    let mut error = ptr::null_mut();
    let status = guard(&raw mut error, || panic!("the {}th wheel came off", 3));
    assert_eq!((status, info(error).status), (COMPUTE_ERROR_INTERNAL, COMPUTE_ERROR_INTERNAL));
    assert!(message(error).contains("the 3th wheel came off"), "{}", message(error));
    compute_error_release(error);
    // The thread is as usable as before.
    assert_eq!(guard(&raw mut error, || Ok(COMPUTE_OK)), COMPUTE_OK);
    assert!(error.is_null());
}

#[test]
fn f2_a_payload_that_panics_when_dropped_does_not_get_out() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    let status = guard(ptr::null_mut(), || std::panic::panic_any(Nasty));
    assert_eq!(status, COMPUTE_ERROR_INTERNAL);
    guard_void(|| std::panic::panic_any(Nasty));
}

#[test]
fn f3_success_and_answers_that_are_no_error_set_the_error_to_null() {
    for status in [COMPUTE_OK, COMPUTE_SKIPPED, COMPUTE_NOT_READY] {
        let mut error: compute_error = ptr::without_provenance_mut(8);
        assert_eq!(guard(&raw mut error, || Ok(status)), status);
        assert!(error.is_null());
    }
}

#[test]
fn f2_out_of_memory_has_an_error_object_that_needs_none_and_cannot_be_released_away() {
    let mut error = ptr::null_mut();
    assert_eq!(guard(&raw mut error, || Err(Complaint::NoMemory)), COMPUTE_ERROR_OUT_OF_MEMORY);
    for _ in 0..3 {
        compute_error_release(error);
    }
    assert_eq!(compute_error_retain(error), COMPUTE_OK);
    assert_eq!((info(error).status, info(error).reclaimable), (COMPUTE_ERROR_OUT_OF_MEMORY, 1));
    assert!(message(error).contains("memory"));
}

#[test]
fn an_unknown_caller_of_another_copy_cannot_use_the_error_made_in_advance() {
    let other: crate::capi::handle::Table<()> = crate::capi::handle::Table::new(crate::capi::handle::Tag::Error);
    assert_ne!(other.reserved(), error::no_memory().addr() as u64);
}

fn text(bytes: &[u8], length: usize, most: usize) -> Result<Option<&str>, compute_status> {
    // SAFETY: the length is no longer than the bytes, or they end in NUL, or the length is refused.
    unsafe { read_text(bytes.as_ptr().cast(), length, most, "text") }.map_err(|complaint| complaint.status())
}

#[test]
fn f1_text_is_checked_before_it_is_believed() {
    assert_eq!(text(b"abc\0def", COMPUTE_NUL_TERMINATED, 100), Ok(Some("abc")));
    assert_eq!(text(b"abc\0def", 7, 100), Ok(Some("abc\0def")));
    assert_eq!(text(b"abc", 0, 100), Ok(Some("")));
    assert_eq!(text("caf\u{e9}".as_bytes(), 5, 5), Ok(Some("caf\u{e9}")));
    assert_eq!(text("caf\u{e9}".as_bytes(), 4, 5), Err(COMPUTE_ERROR_INVALID_UTF8));
    assert_eq!(text(b"abcdef\0", COMPUTE_NUL_TERMINATED, 5), Err(COMPUTE_ERROR_LIMIT));
    assert_eq!(text(b"abcdef\0", COMPUTE_NUL_TERMINATED, 6), Ok(Some("abcdef")));
    for huge in [usize::MAX - 1, isize::MAX as usize, 1 << 40] {
        assert_eq!(text(b"", huge, 100), Err(COMPUTE_ERROR_LIMIT));
    }
    for (length, expected) in [(0, Ok(None)), (COMPUTE_NUL_TERMINATED, Ok(None)), (1, Err(COMPUTE_ERROR_INVALID_ARGUMENT))] {
        // SAFETY: NULL is never read.
        let read = unsafe { read_text(ptr::null(), length, 100, "text") };
        assert_eq!(read.map_err(|complaint| complaint.status()), expected);
    }
}

#[test]
fn f3_texts_are_cut_at_a_character_and_tell_what_they_need() {
    let source = "caf\u{e9}!";
    for capacity in 0..10 {
        let (mut room, mut needed) = ([0x7f_i8 as c_char; 12], 0);
        // SAFETY: there is more room than `capacity`.
        let status = unsafe { write_text(source, room.as_mut_ptr(), capacity, &raw mut needed) }.unwrap();
        assert_eq!(needed, 7);
        assert_eq!(status, if capacity >= 7 { COMPUTE_OK } else { COMPUTE_INCOMPLETE });
        let written = room
            .iter()
            .position(|byte| *byte == 0)
            .map(|length| room[..length].iter().map(|byte| *byte as u8).collect::<Vec<_>>());
        let expected = (capacity > 0).then(|| source.as_bytes()[..source.floor_char_boundary(capacity - 1)].to_vec());
        assert_eq!(written, expected);
        assert!(room[capacity.max(1)..].iter().skip(1).all(|byte| *byte == 0x7f || capacity >= 7));
    }
}

#[test]
fn f1_arrays_whose_numbers_do_not_fit_an_address_space_are_refused_untouched() {
    let one = [0_u64; 1];
    let check = |count, stride| {
        // SAFETY: refused, or of one element.
        unsafe { Strided::new(one.as_ptr(), count, stride, usize::MAX, "things") }.map_err(|complaint| complaint.status())
    };
    assert!(check(1, 0).is_ok() && check(1, 1 << 20).is_ok() && check(0, usize::MAX).is_ok());
    for (count, stride) in
        [(usize::MAX, 0), (2, usize::MAX), (usize::MAX / 8, 8), (1 << 32, 1 << 32), (1 << 60, 8), (1, 7), (1, 1)]
    {
        assert_eq!(check(count, stride).err(), Some(COMPUTE_ERROR_INVALID_ARGUMENT), "{count} of {stride}");
    }
    // SAFETY: NULL is refused.
    assert!(unsafe { Strided::<u64>::new(ptr::null(), 1, 0, 10, "things") }.is_err());
}

#[test]
fn f1_host_memory_that_would_wrap_is_refused_untouched() {
    let byte = 0_u8;
    for size in [u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64] {
        assert!(check_host(&raw const byte, size, "bytes").is_err(), "{size}");
    }
    assert_eq!(check_host(ptr::null::<u8>(), 0, "bytes").ok(), Some(0));
    assert!(check_host(ptr::null::<u8>(), 1, "bytes").is_err());
}

#[test]
fn fields_are_cut_at_a_character_and_end_in_nul() {
    let cut: [c_char; 4] = field("ab\u{e9}");
    assert_eq!(cut.map(|byte| byte as u8), [b'a', b'b', 0, 0]);
    let fits: [c_char; 5] = field("ab\u{e9}");
    assert_eq!(fits.map(|byte| byte as u8), [b'a', b'b', 0xc3, 0xa9, 0]);
}
