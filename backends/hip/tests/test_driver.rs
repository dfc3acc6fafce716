//! The stand-in for AMD's driver by itself: that it executes HIP as HIP's manual has it, so that what runs on it means something.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call is of the stand-in, with pointers of this file's")]
#![allow(dead_code, reason = "a part of `common` is used")]

mod common;

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::Control;
use hip_sys::*;

macro_rules! ok {
    ($call:expr) => {
        assert_eq!($call, hipSuccess, stringify!($call))
    };
}

/// The stand-in's settings, and whether its device is well, are the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

struct Bench {
    _one: MutexGuard<'static, ()>,
    /// Mistakes that were told before.
    mistakes: u64,
    control: Control,
    hip: Runtime,
    compiler: Compiler,
    stream: hipStream_t,
}

impl Bench {
    fn new(wave: u64) -> Option<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let path = common::library()?;
        let control = Control::new(&path);
        control.heal();
        control.set("wave", wave);
        let opened = open_from(&[path.to_str().unwrap()]).unwrap();
        assert_eq!(opened.runtime.absent(), Vec::<&str>::new());
        let mut stream = null_mut();
        unsafe {
            ok!(opened.runtime.hipInit(0));
            ok!(opened.runtime.hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking));
        }
        Some(Self {
            _one: one,
            mistakes: control.mistakes(),
            control,
            hip: opened.runtime,
            compiler: opened.compiler.unwrap(),
            stream,
        })
    }

    fn mistakes(&self) -> u64 {
        self.control.mistakes() - self.mistakes
    }

    fn architecture(&self) -> String {
        let mut properties = DeviceProperties::new();
        unsafe { ok!(self.hip.hipGetDevicePropertiesR0600(properties.pointer(), 0)) };
        properties.architecture(DeviceProperties::R0600_ARCHITECTURE)
    }

    fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        let (text, option) =
            (CString::new(text).unwrap(), CString::new(format!("--offload-arch={}", self.architecture())).unwrap());
        let mut program = null_mut();
        unsafe {
            assert_eq!(
                self.compiler.hiprtcCreateProgram(&mut program, text.as_ptr(), c"k.hip".as_ptr(), 0, null(), null()),
                HIPRTC_SUCCESS
            );
            let result = self.compiler.hiprtcCompileProgram(program, 1, &option.as_ptr());
            let mut size = 0;
            self.compiler.hiprtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0_u8; size];
            self.compiler.hiprtcGetProgramLog(program, log.as_mut_ptr().cast::<c_char>());
            let mut code = Vec::new();
            if result == HIPRTC_SUCCESS {
                self.compiler.hiprtcGetCodeSize(program, &mut size);
                code.resize(size, 0);
                self.compiler.hiprtcGetCode(program, code.as_mut_ptr().cast());
            }
            self.compiler.hiprtcDestroyProgram(&mut program);
            if result == HIPRTC_SUCCESS { Ok(code) } else { Err(String::from_utf8_lossy(&log).into_owned()) }
        }
    }

    fn function(&self, text: &str, name: &str) -> hipFunction_t {
        let code = self.compile(text).unwrap_or_else(|log| panic!("{log}"));
        let (mut module, mut function, name) = (null_mut(), null_mut(), CString::new(name).unwrap());
        unsafe {
            ok!(self.hip.hipModuleLoadData(&mut module, code.as_ptr().cast()));
            ok!(self.hip.hipModuleGetFunction(&mut function, module, name.as_ptr()));
        }
        function
    }

    fn words(&self, words: &[u32]) -> *mut c_void {
        let mut address = null_mut();
        unsafe {
            ok!(self.hip.hipMalloc(&mut address, words.len() * 4));
            ok!(self.hip.hipMemcpyHtoD(address, words.as_ptr().cast(), words.len() * 4));
        }
        address
    }

    fn read(&self, from: *mut c_void, count: usize) -> Vec<u32> {
        let mut words = vec![0; count];
        unsafe { ok!(self.hip.hipMemcpyDtoH(words.as_mut_ptr().cast(), from, count * 4)) };
        words
    }

    fn launch(&self, function: hipFunction_t, grid: u32, block: u32, arguments: &[*mut c_void]) -> hipError_t {
        let mut size = std::mem::size_of_val(arguments);
        let mut extra = [
            HIP_LAUNCH_PARAM_BUFFER_POINTER,
            arguments.as_ptr().cast_mut().cast(),
            HIP_LAUNCH_PARAM_BUFFER_SIZE,
            (&raw mut size).cast(),
            HIP_LAUNCH_PARAM_END,
        ];
        unsafe {
            self.hip.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, self.stream, null_mut(), extra.as_mut_ptr())
        }
    }
}

const KERNELS: &str = "extern \"C\" __global__ void sum(const unsigned* x, unsigned* o) {
  __shared__ unsigned s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) atomicAdd(o, s[0]);
}
extern \"C\" __global__ void waves(const int* x, int* o) {
  int v = x[threadIdx.x];
  for (int m = warpSize / 2; m > 0; m >>= 1) v += __shfl_xor(v, m);
  o[threadIdx.x] = v;
}
extern \"C\" __global__ void stuck(const int* x, int* o) {
  if (threadIdx.x < 3) __syncthreads();
  else __builtin_amdgcn_wave_barrier();
  o[0] = x[0];
}
";

fn with_waves_of(wave: u64) {
    let Some(bench) = Bench::new(wave) else { return };
    let numbers: Vec<u32> = (0..2048).collect();
    let (x, o) = (bench.words(&numbers), bench.words(&[0; 256]));
    ok!(bench.launch(bench.function(KERNELS, "sum"), 8, 256, &[x, o]));
    assert_eq!(bench.read(o, 1), [2048 * 2047 / 2]);
    ok!(bench.launch(bench.function(KERNELS, "waves"), 1, 256, &[x, o]));
    let expected: Vec<u32> = (0..256_u64).map(|n| (n / wave * wave..(n / wave + 1) * wave).sum::<u64>() as u32).collect();
    assert_eq!(bench.read(o, 256), expected);
    assert_eq!(bench.mistakes(), 0);
}

#[test]
fn barriers_and_wavefronts_of_64_work() {
    with_waves_of(64);
}

#[test]
fn barriers_and_wavefronts_of_32_work() {
    with_waves_of(32);
}

#[test]
fn invocations_that_wait_for_nobody_end_the_launch_and_the_device() {
    let Some(bench) = Bench::new(64) else { return };
    let (x, o) = (bench.words(&[1; 64]), bench.words(&[7]));
    ok!(bench.launch(bench.function(KERNELS, "stuck"), 1, 64, &[x, o]));
    unsafe {
        assert_eq!(bench.hip.hipStreamSynchronize(bench.stream), hipErrorLaunchFailure);
        assert_eq!(bench.hip.hipMalloc(&mut null_mut(), 16), hipErrorLaunchFailure, "it stays so");
    }
    assert_eq!(bench.mistakes(), 1);
}

#[test]
fn a_text_that_is_wrong_is_told_with_its_line() {
    let Some(bench) = Bench::new(64) else { return };
    let log = bench.compile(&KERNELS.replace("o[0] = x[0]", "o[0] = y[0]")).unwrap_err();
    assert!(log.contains("k.hip:20:") && log.contains("'y'"), "{log}");
}

#[test]
fn streams_run_on_their_own_and_events_order_them() {
    let Some(bench) = Bench::new(64) else { return };
    let hip = &bench.hip;
    bench.control.set("delay", 20_000);
    let (mut other, mut event) = (null_mut(), null_mut());
    let (a, b) = (bench.words(&[1; 1000]), bench.words(&[2; 1000]));
    unsafe {
        ok!(hip.hipStreamCreateWithFlags(&mut other, hipStreamNonBlocking));
        ok!(hip.hipEventCreateWithFlags(&mut event, hipEventDisableTiming));
        assert_eq!(hip.hipEventQuery(event), hipSuccess, "an event that was never recorded is over");
        for round in 0..5 {
            ok!(hip.hipMemsetD32Async(a, round, 1000, bench.stream));
            ok!(hip.hipEventRecord(event, bench.stream));
            ok!(hip.hipStreamWaitEvent(other, event, 0));
            ok!(hip.hipMemcpyDtoDAsync(b, a, 4000, other));
            assert_eq!(hip.hipStreamQuery(other), hipErrorNotReady);
            ok!(hip.hipStreamSynchronize(other));
            assert_eq!(bench.read(b, 1000), vec![round as u32; 1000]);
        }
        ok!(hip.hipEventDestroy(event));
        ok!(hip.hipStreamDestroy(other));
    }
    assert_eq!(bench.mistakes(), 0);
}

#[test]
fn a_graph_runs_its_nodes_and_takes_other_parameters() {
    let Some(bench) = Bench::new(64) else { return };
    let hip = &bench.hip;
    let (a, b) = (bench.words(&[1; 64]), bench.words(&[2; 64]));
    let (mut graph, mut fill, mut copy, mut run) = (null_mut(), null_mut(), null_mut(), null_mut());
    let mut parameters = hipMemsetParams { dst: a, elementSize: 4, height: 1, pitch: 256, value: 9, width: 64 };
    unsafe {
        ok!(hip.hipGraphCreate(&mut graph, 0));
        ok!(hip.hipGraphAddMemsetNode(&mut fill, graph, null(), 0, &parameters));
        ok!(hip.hipGraphAddMemcpyNode1D(&mut copy, graph, &fill, 1, b, a, 256, hipMemcpyDeviceToDevice));
        ok!(hip.hipGraphInstantiate(&mut run, graph, null_mut(), null_mut(), 0));
        ok!(hip.hipGraphLaunch(run, bench.stream));
        parameters.value = 10;
        ok!(hip.hipGraphExecMemsetNodeSetParams(run, fill, &parameters));
        ok!(hip.hipStreamSynchronize(bench.stream));
        assert_eq!(bench.read(b, 64), [9; 64], "what was launched does not change");
        ok!(hip.hipGraphLaunch(run, bench.stream));
        ok!(hip.hipStreamSynchronize(bench.stream));
        assert_eq!(bench.read(b, 64), [10; 64]);
        ok!(hip.hipGraphExecDestroy(run));
        ok!(hip.hipGraphDestroy(graph));
    }
}

#[test]
fn calls_fail_when_told_to_at_once_and_late() {
    let Some(bench) = Bench::new(64) else { return };
    let (hip, control) = (&bench.hip, &bench.control);
    let a = bench.words(&[1; 64]);
    unsafe {
        control.fail(2, hipErrorOutOfMemory.0 as i32, false);
        ok!(hip.hipMemsetD32Async(a, 2, 64, bench.stream));
        assert_eq!(hip.hipMemsetD32Async(a, 3, 64, bench.stream), hipErrorOutOfMemory);
        assert_eq!(control.failed().as_deref(), Some("hipMemsetD32Async"));
        ok!(hip.hipStreamSynchronize(bench.stream));
        assert_eq!(bench.read(a, 64), [2; 64]);
        control.fail(1, hipErrorIllegalAddress.0 as i32, true);
        ok!(hip.hipMemsetD32Async(a, 4, 64, bench.stream));
        assert_eq!(hip.hipStreamSynchronize(bench.stream), hipErrorIllegalAddress);
        assert_eq!(hip.hipMemsetD32Async(a, 5, 64, bench.stream), hipErrorIllegalAddress);
        control.heal();
        assert_eq!(bench.read(a, 64), [2; 64], "work behind the failure is not done");
    }
    let before = control.living();
    unsafe { ok!(hip.hipFree(a)) };
    assert_eq!(control.living()[0], before[0] - 1);
}

#[test]
fn memory_that_is_gone_is_noticed() {
    let Some(bench) = Bench::new(64) else { return };
    let hip = &bench.hip;
    let a = bench.words(&[1; 64]);
    unsafe {
        assert_eq!(hip.hipMemsetD32Async(a, 2, 65, bench.stream), hipErrorInvalidValue, "beyond the end");
        assert_eq!(hip.hipMemsetD32Async(a, 2, 64, null_mut()), hipErrorInvalidHandle, "the default stream");
        ok!(hip.hipFree(a));
        assert_eq!(hip.hipMemsetD32Async(a, 2, 1, bench.stream), hipErrorInvalidValue);
    }
    assert_eq!(bench.mistakes(), 3);
}
