//! The crate over AMD's own libraries (5.2, from `scripts/hip_packages`), on a machine without a GPU of AMD's. Each test runs in a child process, where the
//! loader finds them and where what they do to the process stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "common/child.rs"]
#[allow(dead_code, reason = "a part is used")]
mod child;

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use hip_sys::*;

use child::is_child;

fn opened() -> Opened {
    open_from(&["libamdhip64.so.5"]).unwrap()
}

#[test]
fn every_function_but_those_that_came_later_is_there() {
    if !is_child("every_function_but_those_that_came_later_is_there") {
        return;
    }
    let opened = opened();
    assert_eq!(opened.runtime.absent(), ["hipGetDevicePropertiesR0600"]);
    // hiprtc was a part of the runtime then.
    assert_eq!(opened.compiler_name.as_deref(), Some("libamdhip64.so.5"));
    assert!(opened.compiler.unwrap().absent().is_empty());
}

#[test]
fn f5_without_a_gpu_there_is_an_answer() {
    if !is_child("f5_without_a_gpu_there_is_an_answer") {
        return;
    }
    let hip = opened().runtime;
    let (mut count, mut version) = (-1, 0);
    // SAFETY: the pointers are valid.
    unsafe {
        assert_eq!(hip.hipInit(0), hipErrorInvalidDevice);
        assert_eq!(hip.hipGetDeviceCount(&mut count), hipErrorNoDevice);
        assert_eq!(hip.hipRuntimeGetVersion(&mut version), hipSuccess);
        assert_eq!(hip.hipMalloc(&mut null_mut(), 16), hipErrorInvalidDevice);
        assert_eq!(CStr::from_ptr(hip.hipGetErrorName(hipErrorNoDevice)).to_str(), Ok("hipErrorNoDevice"));
    }
    assert_eq!((count, hip_sys::version(version)), (0, (5, 2)));
}

/// What hiprtc makes of a text: code, or the log.
fn compile(compiler: &Compiler, text: &str, architecture: &str) -> Result<Vec<u8>, String> {
    let source = CString::new(text).unwrap();
    let option = CString::new(format!("--offload-arch={architecture}")).unwrap();
    let mut program = null_mut();
    // SAFETY: every pointer is valid, and what is written fits into what has been asked for.
    unsafe {
        assert_eq!(
            compiler.hiprtcCreateProgram(&mut program, source.as_ptr(), c"k.hip".as_ptr(), 0, null(), null()),
            HIPRTC_SUCCESS
        );
        let result = compiler.hiprtcCompileProgram(program, 1, &option.as_ptr());
        let (mut log_size, mut code_size) = (0, 0);
        assert_eq!(compiler.hiprtcGetProgramLogSize(program, &mut log_size), HIPRTC_SUCCESS);
        let mut log: Vec<c_char> = vec![0; log_size + 1];
        assert_eq!(compiler.hiprtcGetProgramLog(program, log.as_mut_ptr()), HIPRTC_SUCCESS);
        let made = if result == HIPRTC_SUCCESS {
            assert_eq!(compiler.hiprtcGetCodeSize(program, &mut code_size), HIPRTC_SUCCESS);
            let mut code = vec![0_u8; code_size];
            assert_eq!(compiler.hiprtcGetCode(program, code.as_mut_ptr().cast()), HIPRTC_SUCCESS);
            Ok(code)
        } else {
            assert_eq!(result, HIPRTC_ERROR_COMPILATION);
            Err(CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned())
        };
        assert_eq!(compiler.hiprtcDestroyProgram(&mut program), HIPRTC_SUCCESS);
        made
    }
}

#[test]
fn hiprtc_compiles_without_a_gpu_and_says_where_a_text_is_wrong() {
    if !is_child("hiprtc_compiles_without_a_gpu_and_says_where_a_text_is_wrong") {
        return;
    }
    let compiler = opened().compiler.unwrap();
    let good = "extern \"C\" __global__ void twice(float* x) {\n  x[threadIdx.x] *= 2.0f;\n}\n";
    let code = compile(&compiler, good, "gfx90a").unwrap();
    assert!(code.windows(5).any(|bytes| bytes == b"twice"), "{} bytes of code without the kernel's name", code.len());
    let log = compile(&compiler, &good.replace("x[threadIdx.x]", "y[threadIdx.x]"), "gfx90a").unwrap_err();
    assert!(log.contains(":2:") && log.contains("undeclared identifier 'y'"), "{log}");
}
