//! HIP forwarded to CUDA (`forward_driver/`): that it has what the backend calls, that NVRTC takes our texts behind its words, and, where there is an NVIDIA GPU, the suite
//! that every device runs, through `backends/hip` on that GPU.
//!
//! `HIP_FORWARD` names a forwarder that was built before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(dead_code, reason = "a part of `common` and of the kernels is used")]

mod common;
#[path = "../../kernel/tests/cxx/corpus.rs"]
mod corpus;

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Once};

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{Calls, CompilerCalls};
use compute_hal::conformance::{CHECKS, Exception, Subject, run_some};
use compute_hal::kernel::cxx::{self, HIP, Options, Text};
use compute_hal::kernel::lower::{Lowering, PRINT_ROOM};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{EntryPoint, Module, Source};
use compute_hal::{Driver as _, OpenOptions};
use libloading::Library;

/// What cannot pass, and why.
const EXCEPTIONS: &[Exception] = &[];

fn forwarder() -> PathBuf {
    std::env::var_os("HIP_FORWARD").map_or_else(|| common::built("forward_driver", "libamdhip64.so", &[]), PathBuf::from)
}

fn open(path: &Path) -> Library {
    // SAFETY: it is the library that was built here.
    unsafe { Library::new(path) }.unwrap()
}

fn find(library: &Library, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: an address, which nobody follows here.
    unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok().map(|found| *found)
}

fn calls(library: &Library) -> Calls {
    // SAFETY: the forwarder has AMD's signatures.
    unsafe { Calls::load(compute_hip::VENDOR.names, &|name| find(library, name)) }
        .unwrap_or_else(|missing| panic!("not forwarded: {missing:?}"))
}

fn compiler_calls(library: &Library) -> CompilerCalls {
    // SAFETY: as above.
    unsafe { CompilerCalls::load(compute_hip::VENDOR.compiler_names, &|name| find(library, name)) }
        .unwrap_or_else(|missing| panic!("not forwarded: {missing:?}"))
}

/// Whether NVIDIA's driver is there.
fn has_cuda() -> bool {
    // SAFETY: it is the system's.
    unsafe { Library::new("libcuda.so.1") }.is_ok()
}

#[test]
fn every_call_that_the_backend_needs_is_forwarded() {
    let library = open(&forwarder());
    let calls = calls(&library);
    compiler_calls(&library);
    let graphs = [
        calls.graph_create.is_some() && calls.graph_instantiate.is_some() && calls.graph_launch.is_some(),
        calls.graph_destroy.is_some() && calls.graph_executable_destroy.is_some() && calls.graph_add_empty.is_some(),
        calls.graph_add_kernel.is_some() && calls.graph_add_fill.is_some() && calls.graph_add_copy.is_some(),
        calls.graph_set_kernel.is_some() && calls.graph_set_fill.is_some() && calls.graph_set_copy.is_some(),
    ];
    assert_eq!(graphs, [true; 4]);
    assert!(calls.copy_rows_async.is_some() && calls.copy_peer_devices.is_some() && calls.pointer_attribute.is_some());
}

#[test]
fn every_call_that_the_c_tests_make_of_hip_themselves_is_forwarded() {
    let library = open(&forwarder());
    let mut found = 0;
    for test in ["import.c", "native.c", "guests.c"] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c_tests").join(test)).unwrap();
        // Between quotes: every other piece.
        for name in text.split('"').skip(1).step_by(2) {
            let is_call = name.strip_prefix("hip").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
            if is_call && name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                assert!(find(&library, &CString::new(name).unwrap()).is_some(), "{test} calls {name}");
                found += 1;
            }
        }
    }
    assert!(found > 15, "{found}");
}

#[test]
fn f5_without_nvidias_driver_there_is_no_device_and_the_reason() {
    if has_cuda() {
        println!("NOT TESTED: NVIDIA's driver is here");
        return;
    }
    let path = forwarder();
    let path = path.to_str().unwrap().to_owned().leak();
    let probe = GpuDriver::with_libraries(&compute_hip::VENDOR, path, path).probe();
    assert!(probe.devices.is_empty());
    assert!(probe.tried.iter().any(|line| line.contains("hipErrorNoDevice")), "{:?}", probe.tried);
}

/// Whether the forwarder finds NVRTC; where there is no GPU, it compiles for an H200.
fn has_nvrtc() -> bool {
    static ONCE: Once = Once::new();
    if has_cuda() {
        return true;
    }
    let wheel =
        std::env::var("COMPUTE_NVRTC").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/nvrtc").to_owned());
    if !Path::new(&wheel).is_dir() {
        println!("NOT TESTED: no NVRTC in {wheel}, so no HIP text was compiled by it (scripts/nvrtc.py fetch {wheel})");
        return false;
    }
    ONCE.call_once(|| {
        // SAFETY: the forwarder reads them when it is asked for the first time, which is later.
        unsafe {
            std::env::set_var("HIP_FORWARD_NVRTC", &wheel);
            std::env::set_var("HIP_FORWARD_TARGET", "sm_90");
        }
    });
    true
}

/// Compiles a text; the compiler's words where it refuses.
fn compile(calls: &CompilerCalls, source: &str, options: &[&str]) -> Result<usize, String> {
    let source = CString::new(source).unwrap();
    let words: Vec<CString> = options.iter().map(|word| CString::new(*word).unwrap()).collect();
    let pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: the texts end with zeros, and there is room for what is written.
    unsafe {
        calls.create(&mut program, source.as_ptr(), c"kernel".as_ptr(), 0, null(), null()).unwrap();
        let outcome = calls.compile(program, pointers.len() as i32, pointers.as_ptr());
        calls.log_size(program, &mut size).unwrap();
        let mut log = vec![0_u8; size];
        calls.log(program, log.as_mut_ptr().cast()).unwrap();
        calls.code_size(program, &mut size).unwrap();
        calls.destroy(&mut program).unwrap();
        outcome.map(|()| size).map_err(|failure| format!("{failure:?} {}", String::from_utf8_lossy(&log)))
    }
}

fn text(entry: &Arc<EntryPoint>, bounds: Bounds, strict: bool, cancellable: bool) -> Text {
    let lowering = Lowering { bounds, deferred: true, print_room: PRINT_ROOM, names: None };
    let lowered = entry.lower(&lowering).unwrap();
    let checked = bounds != Bounds::Unchecked;
    cxx::translate(&lowered, &Options { dialect: &HIP, checked, strict, cancellable, indirect: false, subgroup_size: Some(32) })
        .unwrap()
}

#[test]
fn nvrtc_takes_every_kernel_as_hip_behind_the_forwarders_words() {
    if !has_nvrtc() {
        return;
    }
    let library = open(&forwarder());
    let (calls, shard) = (compiler_calls(&library), std::env::var("COMPUTE_SHARD").ok().and_then(|shard| shard.parse().ok()));
    let small = corpus::SMALL.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
    // The kernels with everything of a type take long: a third of them with each commit.
    let generated = corpus::generated().into_iter().enumerate();
    let generated = generated.filter(|(n, _)| shard.is_none_or(|shard: usize| n % 3 == shard % 3)).map(|(_, kernel)| kernel);
    let (mut count, mut refused) = (0, Vec::new());
    for (n, (name, source)) in small.chain(generated).enumerate() {
        let entry = Module::parse(&Source::wgsl(&source)).unwrap().entry_point(None, &[]).unwrap();
        // Not every function of a device's own library has the same bits everywhere.
        let modes = [(Bounds::Checked, false), (Bounds::Validate, name != "own"), (Bounds::Unchecked, false)];
        for (bounds, strict) in modes.into_iter().take(if n % 4 == 0 { 3 } else { 1 }) {
            let text = text(&entry, bounds, strict, n % 2 == 1);
            let options: Vec<&str> =
                ["--offload-arch=gfx1100", "-O3", "-w"].into_iter().chain(text.options.iter().copied()).collect();
            count += 1;
            match compile(&calls, &text.source, &options) {
                Ok(size) => assert!(size > 0, "{name}: no code"),
                Err(why) => refused.push(format!("{name}, {bounds:?}: {why}")),
            }
        }
    }
    let again = shard.map(|shard| format!("again with COMPUTE_SHARD={shard}:\n")).unwrap_or_default();
    assert!(refused.is_empty(), "{again}{}", refused.join("\n"));
    println!("{count} HIP texts compiled by NVRTC");
}

#[test]
fn a_text_that_is_wrong_is_told_with_its_line() {
    if !has_nvrtc() {
        return;
    }
    let library = open(&forwarder());
    let wrong = "extern \"C\" __global__ void k(int* o) {\n  o[threadIdx.x] = y;\n}\n";
    let log = compile(&compiler_calls(&library), wrong, &["--offload-arch=gfx1100"]).unwrap_err();
    assert!(log.contains("kernel(2)") && log.contains("\"y\""), "{log}");
}

#[test]
fn an_nvidia_gpu_behind_hip_conforms() {
    let path = forwarder();
    let path = path.to_str().unwrap().to_owned().leak();
    let driver = GpuDriver::with_libraries(&compute_hip::VENDOR, path, path);
    let probe = driver.probe();
    let Some(device) = probe.devices.first() else {
        println!("NOT TESTED: no NVIDIA GPU behind HIP ({:?})", probe.tried);
        return;
    };
    println!("{} of {} checks can fail here; the device is {device:?}", CHECKS.len() - EXCEPTIONS.len(), CHECKS.len());
    let only = std::env::var("COMPUTE_CHECK").unwrap_or_default();
    let options = OpenOptions::default();
    run_some(&Subject { driver: &driver, index: 0, options: &options }, EXCEPTIONS, &|name| name.contains(&only))
        .unwrap_or_else(|wrong| panic!("{wrong}"));
}
