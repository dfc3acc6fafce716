//! What a launch costs on the host besides the driver's own work: the cuda device over a stand-in for the driver whose calls do nothing. Needs no GPU.
//!
//! `cargo bench -p compute-cuda --bench host -- LAUNCHES [THREADS]` prints nanoseconds a launch and the driver's calls a launch, with the device's context the thread's. For instructions, run it twice under
//! `valgrind --tool=callgrind` with different numbers of launches, and divide the difference of the totals by that of the launches.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a benchmark ends at the first thing that is wrong"
)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::time::Instant;

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{Handle, PoolProperties, Status};
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, Grid, KernelId, Launch, OpenOptions, Queue, Region, Waited,
};

const LAUNCHES: u64 = 1_000_000;
/// The device's context.
const DEVICE: usize = 0x1000;

thread_local! {
    /// Calls of the thread's, and its current context and mode of captures.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static CONTEXT: Cell<Handle> = const { Cell::new(std::ptr::null_mut()) };
    static MODE: Cell<c_int> = const { Cell::new(0) };
}

fn give<T>(place: *mut T, value: T) -> Status {
    // SAFETY: the caller's place for an answer.
    unsafe { place.write(value) }
    0
}

macro_rules! stand_in {
    ($($name:ident($($parameter:ident: $kind:ty),*) $body:block)*) => {
        $(#[allow(non_snake_case, reason = "the driver's names")]
        unsafe extern "C" fn $name($($parameter: $kind),*) -> Status {
            CALLS.set(CALLS.get() + 1);
            $body
        })*

        fn find(symbol: &CStr) -> Option<*mut c_void> {
            match symbol.to_str().ok()? {
                $(stringify!($name) => Some($name as *mut c_void),)*
                _ => None,
            }
        }
    };
}

stand_in! {
    cuInit(_flags: c_uint) { 0 }
    cuDriverGetVersion(version: *mut c_int) { give(version, 12_000) }
    cuDeviceGetCount(count: *mut c_int) { give(count, 1) }
    cuDeviceGet(device: *mut c_int, index: c_int) { give(device, index) }
    cuDeviceGetName(name: *mut c_char, _length: c_int, _device: c_int) { give(name, 0) }
    cuDeviceTotalMem_v2(size: *mut usize, _device: c_int) { give(size, 1 << 30) }
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        give(value, match attribute {
            1..=4 => 1024,
            5 => c_int::MAX,
            6 | 7 => 65_535,
            8 => 48 << 10,
            10 => 32,
            11 => 1 << 30,
            75 => 9,
            76 => 0,
            _ => 1,
        })
    }
    cuDevicePrimaryCtxRetain(context: *mut Handle, _device: c_int) { give(context, DEVICE as Handle) }
    cuDevicePrimaryCtxRelease_v2(_device: c_int) { 0 }
    cuCtxGetCurrent(context: *mut Handle) { give(context, CONTEXT.get()) }
    cuCtxPushCurrent_v2(context: Handle) { CONTEXT.set(context); 0 }
    cuCtxPopCurrent_v2(context: *mut Handle) { give(context, CONTEXT.replace(std::ptr::null_mut())) }
    cuThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        // SAFETY: the caller's place.
        let asked = unsafe { *mode };
        give(mode, MODE.replace(asked))
    }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { give(total, 1 << 30); give(free, 1 << 30) }
    cuMemAlloc_v2(address: *mut u64, size: usize) { give(address, take(size)) }
    cuMemFree_v2(_address: u64) { 0 }
    cuMemPoolCreate(pool: *mut Handle, _properties: *const PoolProperties) { give(pool, 0x2000 as Handle) }
    cuMemPoolDestroy(_pool: Handle) { 0 }
    cuMemPoolSetAttribute(_pool: Handle, _attribute: c_int, _value: *mut c_void) { 0 }
    cuMemPoolTrimTo(_pool: Handle, _keep: usize) { 0 }
    cuMemAllocFromPoolAsync(address: *mut u64, size: usize, _pool: Handle, _stream: Handle) { give(address, take(size)) }
    cuMemFreeAsync(_address: u64, _stream: Handle) { 0 }
    cuMemHostAlloc(pointer: *mut *mut c_void, size: usize, _flags: c_uint) {
        give(pointer, Box::leak(vec![0_u8; size].into_boxed_slice()).as_mut_ptr().cast())
    }
    cuMemFreeHost(_pointer: *mut c_void) { 0 }
    cuMemHostGetDevicePointer_v2(address: *mut u64, pointer: *mut c_void, _flags: c_uint) { give(address, pointer as u64) }
    cuMemcpyHtoDAsync_v2(_to: u64, _from: *const c_void, _size: usize, _stream: Handle) { 0 }
    cuMemcpyDtoHAsync_v2(_to: *mut c_void, _from: u64, _size: usize, _stream: Handle) { 0 }
    cuMemcpyDtoDAsync_v2(_to: u64, _from: u64, _size: usize, _stream: Handle) { 0 }
    cuMemsetD8Async(_to: u64, _value: u8, _count: usize, _stream: Handle) { 0 }
    cuMemsetD16Async(_to: u64, _value: u16, _count: usize, _stream: Handle) { 0 }
    cuMemsetD32Async(_to: u64, _value: u32, _count: usize, _stream: Handle) { 0 }
    cuStreamCreate(stream: *mut Handle, _flags: c_uint) { give(stream, 0x3000 as Handle) }
    cuStreamDestroy_v2(_stream: Handle) { 0 }
    cuStreamQuery(_stream: Handle) { 0 }
    cuStreamWaitEvent(_stream: Handle, _event: Handle, _flags: c_uint) { 0 }
    cuEventCreate(event: *mut Handle, _flags: c_uint) { give(event, 0x4000 as Handle) }
    cuEventDestroy_v2(_event: Handle) { 0 }
    cuEventRecord(_event: Handle, _stream: Handle) { 0 }
    cuEventQuery(_event: Handle) { 0 }
    cuEventElapsedTime(milliseconds: *mut f32, _from: Handle, _to: Handle) { give(milliseconds, 0.0) }
    cuModuleLoadDataEx(module: *mut Handle, _image: *const c_void, _options: c_uint, _option: *mut c_int, _values: *mut *mut c_void) {
        give(module, 0x5000 as Handle)
    }
    cuModuleUnload(_module: Handle) { 0 }
    cuModuleGetFunction(function: *mut Handle, _module: Handle, _name: *const c_char) { give(function, 0x6000 as Handle) }
    cuFuncGetAttribute(value: *mut c_int, _attribute: c_int, _function: Handle) { give(value, 1) }
    cuLaunchKernel(_function: Handle, _x: c_uint, _y: c_uint, _z: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint, _shared: c_uint,
        _stream: Handle, _arguments: *mut *mut c_void, _extra: *mut *mut c_void) { 0 }
    nvrtcVersion(major: *mut c_int, minor: *mut c_int) { give(major, 12); give(minor, 0) }
    nvrtcCreateProgram(program: *mut Handle, _source: *const c_char, _name: *const c_char, _headers: c_int,
        _header: *const *const c_char, _names: *const *const c_char) { give(program, 0x7000 as Handle) }
    nvrtcCompileProgram(_program: Handle, _count: c_int, _options: *const *const c_char) { 0 }
    nvrtcGetProgramLogSize(_program: Handle, size: *mut usize) { give(size, 0) }
    nvrtcGetProgramLog(_program: Handle, _log: *mut c_char) { 0 }
    nvrtcGetCUBINSize(_program: Handle, size: *mut usize) { give(size, 1) }
    nvrtcGetCUBIN(_program: Handle, code: *mut c_char) { give(code, 1) }
    nvrtcDestroyProgram(_program: *mut Handle) { 0 }
}

/// Addresses that nobody touches.
fn take(size: usize) -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 40);
    NEXT.fetch_add((size as u64).next_multiple_of(256), std::sync::atomic::Ordering::Relaxed)
}

fn compile(device: &dyn Device) -> KernelId {
    let source = "@group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) { o[i.x] = a[i.x]; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request =
        CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "host" };
    device.compile(&request).unwrap()
}

/// Nanoseconds and the driver's calls of so many launches with two bindings, on a queue of their own.
fn launches(device: &dyn Device, kernel: KernelId, count: u64) -> (u128, u64) {
    let queue = device.create_queue().unwrap();
    let region = || Region { memory: device.allocate(4096).unwrap(), offset: 0, size: 4096 };
    let bindings = [Binding::Buffer(region()), Binding::Buffer(region())];
    let launch = Launch { kernel, grid: Grid::Direct([16, 1, 1]), bindings: &bindings, immediates: &[], time_limit: 0 };
    let queue: &dyn Queue = &*queue;
    CONTEXT.set(DEVICE as Handle);
    let (before, start) = (CALLS.get(), Instant::now());
    for at in 1..=count {
        queue.launch(at, &launch).unwrap();
    }
    let (time, calls) = (start.elapsed(), CALLS.get() - before);
    assert_eq!(queue.wait(count, None).unwrap(), Waited::Done);
    (time.as_nanos(), calls)
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (count, threads) = (numbers.next().unwrap_or(LAUNCHES).max(1), numbers.next().unwrap_or(1).max(1));
    // SAFETY: the symbols are functions of this file, with the arguments of CUDA's.
    let driver = unsafe { GpuDriver::with_symbols(&compute_cuda::VENDOR, &find) }.unwrap();
    let device = driver.open(0, &OpenOptions::default()).unwrap();
    let (device, kernel) = (&*device, compile(&*device));
    let all: Vec<(u128, u64)> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..threads).map(|_| scope.spawn(|| launches(device, kernel, count))).collect();
        each.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (time, calls) = all.iter().fold((0, 0), |(time, calls), (more, others)| (time + more, calls + others));
    let total = u128::from(count) * u128::from(threads);
    println!(
        "{threads} threads, {count} launches each: {} ns a launch, {:.2} calls of the driver's",
        time / total,
        calls as f64 / total as f64
    );
}
