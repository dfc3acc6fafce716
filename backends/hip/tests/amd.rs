//! `backends/hip` over AMD's own libraries (5.2, from `scripts/hip_packages`), on a machine without a GPU of AMD's: in child processes, where the loader finds them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

#[path = "../../hip-sys/tests/common/child.rs"]
#[allow(dead_code, reason = "a part is used")]
mod child;

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use compute_hal::kernel::cxx::{self, HIP, Options, Text};
use compute_hal::kernel::lower::{Lowering, PRINT_ROOM};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{Driver as _, OpenOptions};
use hip_sys::{HIPRTC_SUCCESS, open};

use child::is_child;

#[test]
fn f5_without_a_gpu_there_is_no_device_and_the_reason() {
    if !is_child("f5_without_a_gpu_there_is_no_device_and_the_reason") {
        return;
    }
    let probe = compute_hip::DRIVER.probe();
    assert!(probe.devices.is_empty());
    assert!(probe.tried.iter().any(|line| line.contains("hipInit answered hipErrorInvalidDevice")), "{:?}", probe.tried);
    let error = compute_hip::DRIVER.open(0, &OpenOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("hipErrorInvalidDevice"), "{error}");
}

fn text(source: &str, subgroup_size: u32) -> Text {
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let lowering = Lowering { bounds: Bounds::Validate, deferred: true, print_room: PRINT_ROOM, names: None };
    let options = Options {
        dialect: &HIP,
        checked: true,
        strict: false,
        cancellable: false,
        indirect: false,
        subgroup_size: Some(subgroup_size),
    };
    cxx::translate(&entry.lower(&lowering).unwrap(), &options).unwrap()
}

/// AMD's runtime compiler on a text of ours, told what a device would be told.
fn compile(text: &Text, architecture: &str) -> Result<Vec<u8>, String> {
    let compiler = open().unwrap().compiler.unwrap();
    let mut options = (compute_hip::VENDOR.compile_options)(architecture).unwrap();
    options.extend(text.options.iter().map(|option| (*option).to_owned()));
    let options: Vec<CString> = options.into_iter().map(|option| CString::new(option).unwrap()).collect();
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let source = CString::new(text.source.as_str()).unwrap();
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: every pointer is valid, and what is written fits into what has been asked for.
    unsafe {
        assert_eq!(
            compiler.hiprtcCreateProgram(&mut program, source.as_ptr(), c"kernel".as_ptr(), 0, null(), null()),
            HIPRTC_SUCCESS
        );
        if compiler.hiprtcCompileProgram(program, i32::try_from(pointers.len()).unwrap(), pointers.as_ptr()) != HIPRTC_SUCCESS {
            assert_eq!(compiler.hiprtcGetProgramLogSize(program, &mut size), HIPRTC_SUCCESS);
            let mut log: Vec<c_char> = vec![0; size + 1];
            assert_eq!(compiler.hiprtcGetProgramLog(program, log.as_mut_ptr()), HIPRTC_SUCCESS);
            return Err(CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned());
        }
        assert_eq!(compiler.hiprtcGetCodeSize(program, &mut size), HIPRTC_SUCCESS);
        let mut code = vec![0_u8; size];
        assert_eq!(compiler.hiprtcGetCode(program, code.as_mut_ptr().cast()), HIPRTC_SUCCESS);
        Ok(code)
    }
}

/// Kernels that between them use most of the dialect's words.
const KERNELS: &[&str] = &[
    include_str!("../../kernel/tests/cxx/kernels/reduce.wgsl"),
    include_str!("../../kernel/tests/cxx/kernels/atomics.wgsl"),
    include_str!("../../kernel/tests/cxx/kernels/subgroups.wgsl"),
    include_str!("../../kernel/tests/cxx/kernels/sigmoid.wgsl"),
    include_str!("../../kernel/tests/cxx/kernels/validate.wgsl"),
];

#[test]
fn amds_own_compiler_takes_our_texts() {
    if !is_child("amds_own_compiler_takes_our_texts") {
        return;
    }
    // Those that 5.2 knows: wavefronts of 64 and of 32.
    for (n, source) in KERNELS.iter().enumerate() {
        let (architecture, wave) = [("gfx90a", 64), ("gfx1030", 32)][n % 2];
        let text = text(source, wave);
        let code = compile(&text, architecture).unwrap_or_else(|log| panic!("{architecture}: {log}\n{source}"));
        assert!(code.windows(text.entry.len()).any(|bytes| bytes == text.entry.as_bytes()), "{architecture}: no {}", text.entry);
    }
}
