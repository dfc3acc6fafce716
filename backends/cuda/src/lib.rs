//! NVIDIA's GPUs through CUDA's driver and NVRTC: the data that `compute-cuda-hip` needs, and nothing that decides.

pub mod nodes;
mod symbols;

use std::ffi::c_int;

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{Attributes, Calls, DeviceNumber, Errors, Failure, Flags, Vendor};
use compute_hal::{Features, NativeKind};
use compute_kernel::cxx;

/// The driver, opened when somebody asks for devices.
pub static DRIVER: GpuDriver = GpuDriver::new(&VENDOR);

/// All in which CUDA differs.
pub static VENDOR: Vendor = Vendor {
    name: "cuda",
    company: "NVIDIA",
    libraries: if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1"] },
    compilers: if cfg!(windows) {
        &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"]
    } else {
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"]
    },
    // Later code than the driver's own version may need a later driver; earlier code runs.
    compiler_fits: |major, driver| major <= driver / 1000,
    names: &symbols::DRIVER,
    compiler_names: &symbols::COMPILER,
    // Kernel parameters that are constants in place came with 11.7.
    oldest: 11_070,
    version,
    attributes: ATTRIBUTES,
    flags: FLAGS,
    errors: ERRORS,
    dialect: &cxx::CUDA,
    language: "cuda",
    formats: &["cubin", "ptx"],
    // More share the same few channels anyway.
    queues: 32,
    // `%globaltimer` counts nanoseconds.
    clock: 1_000_000,
    native: NativeKind::CudaPointer,
    // What the driver's own pitched allocations have.
    row_alignment: 512,
    target,
    compile_options,
    features,
    graphs: 0,
    kernel_node: nodes::kernel,
    fill_node: nodes::fill,
};

/// `CU_DEVICE_ATTRIBUTE_*`, `CU_MEMPOOL_ATTR_*`, `CU_FUNC_ATTRIBUTE_*`, `CU_POINTER_ATTRIBUTE_*`.
const ATTRIBUTES: Attributes = Attributes {
    workgroup_invocations: 1,
    workgroup_size: [2, 3, 4],
    grid: [5, 6, 7],
    workgroup_memory: 8,
    workgroup_memory_most: Some(97),
    clock: None,
    warp_size: 10,
    pitch: 11,
    units: 16,
    integrated: 18,
    capability: Some([75, 76]),
    pools: Some(115),
    bus: [50, 33, 34],
    pool_keeps: 4,
    function_invocations: 0,
    function_memory: 1,
    function_registers: 4,
    function_memory_most: Some(8),
    pointer_context: Some(1),
    pointer_device: Some(9),
};

const FLAGS: Flags = Flags {
    // CU_STREAM_NON_BLOCKING
    stream: 1,
    // CU_EVENT_DISABLE_TIMING, CU_EVENT_DEFAULT
    event: 2,
    event_timed: 0,
    // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
    host: 1 | 2,
    // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
    memory_host: 1,
    memory_device: 2,
    // The other form is the vendor's.
    ways: [0; 3],
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    launch_markers: [1, 2, 0],
    // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    load_log: Some([5, 6]),
};

/// `CUDA_ERROR_*`, `NVRTC_ERROR_*`.
const ERRORS: Errors = Errors {
    out_of_memory: 2,
    not_ready: 600,
    no_device: 100,
    peer_enabled: 704,
    // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED to CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
    capturing: (900, 908),
    // Memory or a link that cannot be corrected, an illegal address, a time-out, a destroyed context, assertions, faults of the hardware, tensor memory that was not
    // given back: the context is gone, and with it the process.
    sticky: &[(214, 214), (220, 220), (700, 700), (702, 702), (709, 710), (714, 719), (721, 721)],
    // Read when the driver cannot be asked.
    names: &[(2, "CUDA_ERROR_OUT_OF_MEMORY"), (100, "CUDA_ERROR_NO_DEVICE"), (700, "CUDA_ERROR_ILLEGAL_ADDRESS")],
    compilation: 6,
};

/// 13000 is 13.0.
fn version(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn target(calls: &Calls, attributes: &Attributes, device: DeviceNumber) -> Result<String, Failure> {
    let [mut major, mut minor] = [0, 0];
    let [ask_major, ask_minor] = attributes.capability.unwrap_or_default();
    // SAFETY: the places are ours.
    unsafe {
        calls.device_attribute(&mut major, ask_major, device)?;
        calls.device_attribute(&mut minor, ask_minor, device)?;
    }
    Ok(format!("sm_{major}{minor}"))
}

/// Ten times what it can compute: 90 for `sm_90`.
fn generation(target: &str) -> u32 {
    target.strip_prefix("sm_").and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn compile_options(target: &str) -> Result<Vec<String>, String> {
    // Machine code for exactly this device, rather than code that the driver would have to know.
    match generation(target) {
        0..70 => Err(format!("{target}: kernels need sm_70 or later, whose invocations go their own ways")),
        _ => Ok(vec![format!("--gpu-architecture={target}"), "-w".into()]),
    }
}

fn features(target: &str) -> Features {
    let all = generation(target) >= 70;
    Features { f16: all, f64: all, int64: all, atomic_int64: all, atomic_f32: all, subgroups: all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_targets_are_read_as_the_vendor_writes_them() {
        assert_eq!((version(13_000), version(12_080)), ("13.0".into(), "12.8".into()));
        assert_eq!((generation("sm_90"), generation("sm_120"), generation("gfx90a")), (90, 120, 0));
        assert_eq!(compile_options("sm_90").unwrap(), ["--gpu-architecture=sm_90", "-w"]);
        assert!(compile_options("sm_61").unwrap_err().contains("sm_70"));
        assert!((VENDOR.compiler_fits)(12, 12_080) && (VENDOR.compiler_fits)(11, 13_000) && !(VENDOR.compiler_fits)(13, 12_080));
        assert!(features("sm_80").f16 && !features("sm_52").f16);
    }
}
