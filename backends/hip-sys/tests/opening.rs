//! Libraries that are not there, or are something else, are answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use hip_sys::{Compiler, HIPRTC_ERROR_INTERNAL_ERROR, Runtime, hipErrorSharedObjectSymbolNotFound, open_from};

#[test]
fn a_library_that_is_not_there_is_named_with_the_loaders_reason() {
    let names = ["/nowhere/libamdhip64.so", "libamdhip64.so.4711"];
    let unavailable = open_from(&names).unwrap_err();
    assert_eq!(unavailable.tried.len(), 2, "{unavailable}");
    for (name, line) in names.iter().zip(&unavailable.tried) {
        assert!(line.contains(name) && line.contains("No such file"), "{line}");
    }
}

#[test]
fn a_library_that_is_something_else_is_refused() {
    let unavailable = open_from(&["libc.so.6"]).unwrap_err();
    assert_eq!(unavailable.tried, ["libc.so.6: it has no hipInit"]);
}

#[test]
fn a_function_that_is_not_there_answers_that() {
    let (runtime, compiler) = (Runtime::default(), Compiler::default());
    assert_eq!(runtime.absent().len(), Runtime::SIGNATURES.len());
    let mut count = 7;
    // SAFETY: there is no function behind these.
    unsafe {
        assert_eq!(runtime.hipGetDeviceCount(&mut count), hipErrorSharedObjectSymbolNotFound);
        assert!(runtime.hipGetErrorName(hipErrorSharedObjectSymbolNotFound).is_null());
        assert_eq!(compiler.hiprtcVersion(&mut count, &mut 0), HIPRTC_ERROR_INTERNAL_ERROR);
    }
    assert_eq!(count, 7);
}
