//! NVIDIA's GPUs through CUDA's driver and NVRTC: the data that `compute-cuda-hip` needs, and nothing that decides.

mod listing;
pub mod nodes;
mod symbols;
pub mod tensor_map;

use std::ffi::c_int;
use std::time::Duration;

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{Attributes, Calls, CompilerFit, DeviceNumber, Errors, Failure, Flags, Forms, Vendor};
use compute_cuda_hip::elf::sections;
use compute_hal::{Features, NativeKind, NativeLanguage};
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
    compiler_parts: &["libnvrtc-builtins", "nvrtc-builtins64"],
    environment: &[],
    // As of `oldest`: the library of 11.2 has the name of those up to 11.8.
    oldest_compiler: [11, 7],
    // Later code than the driver's own version may need a later driver; earlier code runs.
    compiler_fits: |major, driver| if major <= driver / 1000 { CompilerFit::Yes } else { CompilerFit::No },
    names: &symbols::DRIVER,
    compiler_names: &symbols::COMPILER,
    listing: Some((if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" }, listing::listing)),
    // Kernel parameters that are constants in place came with 11.7.
    oldest: 11_070,
    version,
    attributes: ATTRIBUTES,
    flags: FLAGS,
    errors: ERRORS,
    dialect: &cxx::CUDA,
    forms: FORMS,
    tensor_maps: Some(tensor_map::TENSOR_MAPS),
    // More share the same few channels anyway.
    queues: 32,
    // `%globaltimer` counts nanoseconds.
    clock: 1_000_000,
    native: NativeKind::CudaPointer,
    // CU_MEMORYTYPE_HOST
    is_host: |kind, _| kind == 1,
    // What the driver's own pitched allocations have.
    row_alignment: 512,
    target,
    compile_options,
    features,
    graphs: 0,
    kernel_node: nodes::kernel,
    fill_node: nodes::fill,
};

const FORMS: Forms = Forms {
    text: NativeLanguage::CudaCpp,
    assembly: Some(NativeLanguage::Ptx),
    code: NativeLanguage::Cubin,
    // EM_CUDA
    machine: 190,
    architecture,
    runs,
    generation,
    newest,
    parameters,
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
    pointer_kind: Some(2),
    pointer_managed: Some(8),
    pointer_pool: Some(17),
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
    // Where parameters begin depends on the generation: at 0x140, 0x160, 0x210 and 0x380 so far.
    block_alignment: 16,
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
    // In the relaxed mode nothing of it comes to questions about streams that nobody captures.
    patience: Duration::from_secs(30),
    sticky_at_home: &[],
    // Memory or a link that cannot be corrected, an illegal address, a time-out, assertions, faults of the hardware, tensor memory that was not given back: the context is
    // gone, and with it the process. Three of which NVIDIA says that the process has to end: an error that the GPU has contained, a client that its MPS server has ended, a
    // signal of another device's that bytes are not right.
    sticky: &[
        (214, 214),
        (220, 220),
        (226, 226),
        (700, 700),
        (702, 702),
        (710, 710),
        (714, 719),
        (721, 721),
        (810, 810),
        (911, 911),
    ],
    // Seen on an H200: after a fault no context of the process works, on whatever device, and no new one.
    end_all: true,
    // CUDA_ERROR_CONTEXT_IS_DESTROYED
    context_gone: 709,
    // Read when the driver cannot be asked.
    names: &[(2, "CUDA_ERROR_OUT_OF_MEMORY"), (100, "CUDA_ERROR_NO_DEVICE"), (700, "CUDA_ERROR_ILLEGAL_ADDRESS")],
    // Invalid image, no binary for the GPU, invalid PTX, PTX of an unsupported version, symbol not found.
    image: &[200, 209, 218, 222, 500],
    // Invalid value, not found.
    no_memory_there: &[1, 500],
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

/// Ten times what it can compute: 90 for `sm_90`, and for `sm_90a`, whose code runs on that generation alone.
fn generation(target: &str) -> u32 {
    let digits = target.strip_prefix("sm_").unwrap_or_default().trim_end_matches(['a', 'f']);
    digits.parse().unwrap_or(0)
}

/// Of machine code. Where it says what it is for has moved with version 8 of its format, which CUDA 12.8 began to write.
fn architecture(flags: u32, version: u8) -> Option<String> {
    let (generation, exact) = match version {
        ..8 => (flags & 0xff, flags & 0x800 != 0),
        8 => (flags >> 8 & 0xff, flags & 0x8 != 0),
        // Later than this version of ours.
        _ => return None,
    };
    (20..=200).contains(&generation).then(|| format!("sm_{generation}{}", if exact { "a" } else { "" }))
}

/// Machine code runs on its generation and on later ones with the same first number.
fn runs(code: &str, device: &str) -> bool {
    let (made, there) = (generation(code), generation(device));
    if code.ends_with('a') { made == there } else { made / 10 == there / 10 && made <= there }
}

/// Of a cubin: the entries of its kernel's information that describe parameters. NVIDIA does not document them; what is not as expected says nothing.
fn parameters(code: &[u8], kernel: &str) -> Option<Vec<[u32; 2]>> {
    const SIZED: u8 = 4;
    const PARAMETER: u8 = 0x17;
    let name = format!(".nv.info.{kernel}");
    let section = sections(code).into_iter().find(|section| section.name == name.as_bytes())?;
    let (mut rest, mut found) = (section.bytes, Vec::new());
    while let Some(([form, attribute, low, high], after)) = rest.split_first_chunk::<4>() {
        let size = if *form == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (value, after) = after.split_at_checked(size)?;
        rest = after;
        // Four bytes of an index, then ordinal and offset in two each, then bits of which the upper fourteen are the size.
        if let (SIZED, PARAMETER, &[_, _, _, _, o0, o1, p0, p1, b0, b1, b2, b3]) = (*form, *attribute, value) {
            let size = u32::from_le_bytes([b0, b1, b2, b3]) >> 18;
            found.push((u16::from_le_bytes([o0, o1]), [u32::from(u16::from_le_bytes([p0, p1])), size]));
        }
    }
    found.sort_unstable_by_key(|(ordinal, _)| *ordinal);
    let in_order = found.iter().enumerate().all(|(index, (ordinal, _))| usize::from(*ordinal) == index);
    (in_order && !found.is_empty()).then(|| found.into_iter().map(|(_, parameter)| parameter).collect())
}

/// PTX's version by CUDA's: they went side by side until 12.5, and do again since 13.0.
fn newest(driver: c_int) -> Option<[u32; 2]> {
    let (major, minor) = (u32::try_from(driver / 1000).ok()?, u32::try_from(driver % 1000 / 10).ok()?);
    match (major, minor) {
        (11, minor) => Some([7, minor]),
        (12, minor @ ..=5) => Some([8, minor]),
        (12, minor) => Some([8, minor - 1]),
        (13, minor) => Some([9, minor]),
        _ => None,
    }
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
        let fits = [(12, 12_080), (11, 13_000), (13, 12_080)].map(|(major, driver)| (VENDOR.compiler_fits)(major, driver));
        assert_eq!(fits, [CompilerFit::Yes, CompilerFit::Yes, CompilerFit::No]);
        assert!(features("sm_80").f16 && !features("sm_52").f16);
    }
    #[test]
    fn pkg_03_machine_code_says_what_it_is_for_in_both_versions_of_its_format() {
        // As NVRTC 12.9 and 13.0 write them.
        let told = [(0x460546, 7, "sm_70"), (0x5a055a, 7, "sm_90"), (0x5a0d5a, 7, "sm_90a"), (0x6005a04, 8, "sm_90")];
        let later = [(0x6006402, 8, "sm_100"), (0x600640a, 8, "sm_100a"), (0x6007802, 8, "sm_120"), (0x6004b04, 8, "sm_75")];
        for (flags, version, name) in told.into_iter().chain(later) {
            assert_eq!(architecture(flags, version).as_deref(), Some(name));
        }
        assert_eq!((architecture(0, 7), architecture(u32::MAX, 9)), (None, None), "nothing is made up");
        assert!(runs("sm_80", "sm_86") && runs("sm_90a", "sm_90") && runs("sm_90", "sm_90"));
        assert!(!runs("sm_86", "sm_80") && !runs("sm_70", "sm_90") && !runs("sm_100a", "sm_103") && !runs("sm_90", "sm_120"));
    }

    #[test]
    fn pkg_03_the_newest_ptx_that_a_driver_takes_follows_from_its_version() {
        let known = [(11_080, [7, 8]), (12_050, [8, 5]), (12_060, [8, 5]), (12_080, [8, 7]), (12_090, [8, 8]), (13_000, [9, 0])];
        for (driver, version) in known {
            assert_eq!(newest(driver), Some(version), "{driver}");
        }
        assert_eq!(newest(99_000), None, "a driver of the future is asked itself");
    }
    /// A file with one section of that name, and the names.
    fn file(name: &str, bytes: &[u8]) -> Vec<u8> {
        let names = [&[0][..], name.as_bytes(), &[0]].concat();
        let (table, places) = (64_u64, [192_u64, 192 + bytes.len() as u64]);
        let mut file = [0; 192];
        file[40..48].copy_from_slice(&table.to_le_bytes());
        for (place, value) in [(58, 64_u16), (60, 2), (62, 1)] {
            file[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
        for (entry, (place, size)) in [(64, (places[0], bytes.len())), (128, (places[1], names.len()))] {
            file[entry..entry + 4].copy_from_slice(&u32::from(entry == 64).to_le_bytes());
            file[entry + 24..entry + 32].copy_from_slice(&place.to_le_bytes());
            file[entry + 32..entry + 40].copy_from_slice(&(size as u64).to_le_bytes());
        }
        [&file[..], bytes, &names].concat()
    }

    #[test]
    fn dl_08_parameters_are_found_in_a_cubin() {
        // As NVRTC 12.9 writes them for `k(float* o, float a, char c)` and sm_90, the last one first.
        let mut information = vec![4, 0x37, 4, 0, 0x81, 0, 0, 0];
        for (ordinal, offset, bits) in [(2_u8, 12_u8, 0x0005_f000_u32), (1, 8, 0x0011_f000), (0, 0, 0x0021_f000)] {
            information.extend([4, 0x17, 12, 0, 0, 0, 0, 0, ordinal, 0, offset, 0]);
            information.extend(bits.to_le_bytes());
        }
        information.extend([3, 0x50, 0, 0, 3, 0x1b, 0xff, 0]);
        let code = file(".nv.info.k", &information);
        assert_eq!(parameters(&code, "k"), Some(vec![[0, 8], [8, 4], [12, 1]]));
        assert_eq!((parameters(&code, "l"), parameters(&code[..150], "k"), parameters(&[], "k")), (None, None, None));
        let without_the_first = file(".nv.info.k", &information[..information.len() - 24]);
        assert_eq!(parameters(&without_the_first, "k"), None, "a gap says that they are not understood");
    }
}
