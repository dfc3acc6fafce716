//! AMD's GPUs through HIP and hiprtc: the data that `compute-cuda-hip` needs, and nothing that decides. Numbers and layouts are `hip-sys`'s.
//!
//! Experimental: no GPU of AMD's has run it. What has: AMD's own runtime and compiler with no GPU below them (`fake_hsa/`), and two stand-ins for tests with no code of
//! AMD's in them, one that executes HIP on the processor (`test_driver/`), one that passes it on to CUDA (`forward_driver/`).

mod metadata;
mod symbols;

use std::ffi::c_int;
use std::time::Duration;

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{
    Attributes, Calls, CompilerFit, DeviceNumber, Errors, Failure, FillNode, Flags, Forms, KernelNode, NodeParameters, Vendor,
};
use compute_hal::{Features, NativeKind, NativeLanguage};
use compute_kernel::cxx;
use hip_sys::*;

/// The driver, opened when somebody asks for devices.
pub static DRIVER: GpuDriver = GpuDriver::new(&VENDOR);

/// All in which HIP differs.
pub static VENDOR: Vendor = Vendor {
    name: "hip",
    company: "AMD",
    libraries: hip_sys::RUNTIMES,
    compilers: hip_sys::COMPILERS,
    compiler_parts: &["libamd_comgr", "libhiprtc-builtins"],
    environment: &[
        "HIPRTC_COMPILE_OPTIONS_APPEND",
        "HIPRTC_LINK_OPTIONS_APPEND",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "CCC_OVERRIDE_OPTIONS",
    ],
    oldest_compiler: [0, 0],
    // Both come from one release, or may disagree on what is in the code. hiprtc has said 9.0 in many releases, which says nothing: then one that tells the right release is
    // better, and one that tells another is not.
    compiler_fits: |major, driver| match major {
        _ if major == hip_sys::version(driver).0 => CompilerFit::Yes,
        9 => CompilerFit::Unknown,
        _ => CompilerFit::No,
    },
    names: &symbols::RUNTIME,
    compiler_names: &symbols::COMPILER,
    listing: None,
    // The oldest whose headers the tests have.
    oldest: 50_200_000,
    version: |version| {
        let (major, minor) = hip_sys::version(version);
        format!("{major}.{minor}")
    },
    attributes: ATTRIBUTES,
    flags: FLAGS,
    errors: ERRORS,
    dialect: &cxx::HIP,
    forms: FORMS,
    tensor_maps: None,
    // The hardware's queues are few, and changing between more costs.
    queues: 4,
    // That of gfx940 and later ones; where a runtime does not tell, a limit on an older one whose clock is slower comes late, never early.
    clock: 100_000,
    native: NativeKind::HipPointer,
    // hipMemoryTypeHost, whose number is another from 6 on.
    is_host: |kind, version| kind == u32::from(version >= 60_000_000),
    row_alignment: 256,
    target,
    compile_options,
    features,
    // What came before has been changed since in how it treats nodes.
    graphs: 50_600_000,
    kernel_node,
    fill_node,
};

const FORMS: Forms = Forms {
    text: NativeLanguage::HipCpp,
    assembly: None,
    code: NativeLanguage::CodeObject,
    // EM_AMDGPU
    machine: 224,
    architecture: code_architecture,
    runs,
    // Code for one processor is better than code for all of its kin.
    generation: |code| u32::from(!GENERIC.iter().any(|(generic, _)| *generic == architecture(code))),
    newest: |_| None,
    parameters: metadata::parameters,
};

/// `EF_AMDGPU_MACH_AMDGCN_*`.
const MACHINES: &[(u32, &str)] = &[
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5f, "gfx9-4-generic"),
];

/// The processors that code for a generic one runs on, as LLVM's "User Guide for AMDGPU Backend" lists them. HIP loads such code from 6.4 on; an earlier one says that it cannot.
const GENERIC: [(&str, &[&str]); 6] = [
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

fn runs(code: &str, device: &str) -> bool {
    let (code, device) = (architecture(code), architecture(device));
    let of_its_kin = || GENERIC.iter().any(|(generic, kin)| *generic == code && kin.contains(&device));
    code == device || of_its_kin()
}

/// Of a code object, as clang writes it. What is not in the list the driver has to judge.
fn code_architecture(flags: u32, _: u8) -> Option<String> {
    MACHINES.iter().find(|(machine, _)| *machine == flags & 0xff).map(|(_, name)| (*name).to_owned())
}

/// A number of HIP's, which all fit.
const fn plain(value: u32) -> c_int {
    value.cast_signed()
}

const ATTRIBUTES: Attributes = Attributes {
    workgroup_invocations: plain(hipDeviceAttributeMaxThreadsPerBlock),
    workgroup_size: [
        plain(hipDeviceAttributeMaxBlockDimX),
        plain(hipDeviceAttributeMaxBlockDimY),
        plain(hipDeviceAttributeMaxBlockDimZ),
    ],
    grid: [plain(hipDeviceAttributeMaxGridDimX), plain(hipDeviceAttributeMaxGridDimY), plain(hipDeviceAttributeMaxGridDimZ)],
    workgroup_memory: plain(hipDeviceAttributeMaxSharedMemoryPerBlock),
    workgroup_memory_most: None,
    // hipDeviceAttributeWallClockRate, which HIP has from 5.4 on; earlier ones refuse the number.
    clock: Some(10_017),
    warp_size: plain(hipDeviceAttributeWarpSize),
    pitch: plain(hipDeviceAttributeMaxPitch),
    units: plain(hipDeviceAttributeMultiprocessorCount),
    integrated: plain(hipDeviceAttributeIntegrated),
    capability: None,
    pools: None,
    bus: [plain(hipDeviceAttributePciDomainID), plain(hipDeviceAttributePciBusId), plain(hipDeviceAttributePciDeviceId)],
    pool_keeps: plain(hipMemPoolAttrReleaseThreshold),
    function_invocations: plain(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
    function_memory: plain(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
    function_registers: plain(HIP_FUNC_ATTRIBUTE_NUM_REGS),
    function_memory_most: None,
    pointer_context: None,
    pointer_device: Some(plain(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL)),
    pointer_kind: Some(plain(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE)),
    pointer_managed: Some(plain(HIP_POINTER_ATTRIBUTE_IS_MANAGED)),
    pointer_pool: None,
};

const FLAGS: Flags = Flags {
    stream: hipStreamNonBlocking,
    // To the host: what kernels tell is in memory that is not coherent, so that their atomics are the GPU's own and ask nothing of the bus. The host looks behind an event.
    event: hipEventDisableTiming | hipEventReleaseToSystem,
    event_timed: hipEventDefault,
    // Not coherent: what the device writes is seen behind an event that releases it, which is all that is asked for.
    host: hipHostMallocPortable | hipHostMallocMapped | hipHostMallocNonCoherent,
    // The other form is the vendor's.
    memory_host: 0,
    memory_device: 0,
    ways: [plain(hipMemcpyHostToDevice), plain(hipMemcpyDeviceToHost), plain(hipMemcpyDeviceToDevice)],
    launch_markers: [1, 2, 3],
    // Whatever the code asks for.
    block_alignment: u32::MAX,
    load_log: None,
};

const ERRORS: Errors = Errors {
    out_of_memory: plain(hipErrorOutOfMemory.0),
    not_ready: plain(hipErrorNotReady.0),
    no_device: plain(hipErrorNoDevice.0),
    peer_enabled: plain(hipErrorPeerAccessAlreadyEnabled.0),
    // To hipErrorStreamCaptureWrongThread.
    capturing: (plain(hipErrorStreamCaptureUnsupported.0), 908),
    // 7.0 to 7.2 answer so in the relaxed mode, too: for as long as another thread captures in the global mode, and ever after where a capture is not ended.
    patience: Duration::from_secs(30),
    // All that it answers after some faults of the GPU; other calls also answer it for less.
    sticky_at_home: &[plain(hipErrorUnknown.0)],
    sticky: &[
        (plain(hipErrorECCNotCorrectable.0), plain(hipErrorECCNotCorrectable.0)),
        (plain(hipErrorIllegalAddress.0), plain(hipErrorIllegalAddress.0)),
        (plain(hipErrorLaunchTimeOut.0), plain(hipErrorLaunchTimeOut.0)),
        (plain(hipErrorAssert.0), plain(hipErrorAssert.0)),
        (plain(hipErrorLaunchFailure.0), plain(hipErrorLaunchFailure.0)),
    ],
    // AMD says nothing of the kind, and no GPU has been there to ask.
    end_all: false,
    context_gone: plain(hipErrorContextIsDestroyed.0),
    names: NAMES,
    // hipErrorInvalidImage, hipErrorNoBinaryForGpu, hipErrorInvalidKernelFile, hipErrorSharedObjectInitFailed, hipErrorNotFound
    image: &[200, 209, 218, 303, 500],
    // hipErrorInvalidValue, hipErrorInvalidDevicePointer, hipErrorNotFound
    no_memory_there: &[1, 17, 500],
    compilation: plain(HIPRTC_ERROR_COMPILATION.0),
};

/// What AMD's headers call the codes that may come.
const NAMES: &[(c_int, &str)] = &[
    (1, "hipErrorInvalidValue"),
    (2, "hipErrorOutOfMemory"),
    (3, "hipErrorNotInitialized"),
    (4, "hipErrorDeinitialized"),
    (9, "hipErrorInvalidConfiguration"),
    (17, "hipErrorInvalidDevicePointer"),
    (35, "hipErrorInsufficientDriver"),
    (53, "hipErrorPriorLaunchFailure"),
    (98, "hipErrorInvalidDeviceFunction"),
    (100, "hipErrorNoDevice"),
    (101, "hipErrorInvalidDevice"),
    (200, "hipErrorInvalidImage"),
    (201, "hipErrorInvalidContext"),
    (209, "hipErrorNoBinaryForGpu"),
    (214, "hipErrorECCNotCorrectable"),
    (217, "hipErrorPeerAccessUnsupported"),
    (218, "hipErrorInvalidKernelFile"),
    (302, "hipErrorSharedObjectSymbolNotFound"),
    (303, "hipErrorSharedObjectInitFailed"),
    (400, "hipErrorInvalidHandle"),
    (500, "hipErrorNotFound"),
    (600, "hipErrorNotReady"),
    (700, "hipErrorIllegalAddress"),
    (701, "hipErrorLaunchOutOfResources"),
    (702, "hipErrorLaunchTimeOut"),
    (709, "hipErrorContextIsDestroyed"),
    (710, "hipErrorAssert"),
    (719, "hipErrorLaunchFailure"),
    (801, "hipErrorNotSupported"),
    (999, "hipErrorUnknown"),
];

/// The architecture with its features, `gfx90a:sramecc+:xnack-`, which is no attribute.
fn target(calls: &Calls, _: &Attributes, device: DeviceNumber) -> Result<String, Failure> {
    let mut properties = DeviceProperties::new();
    // SAFETY: there is room for every layout.
    unsafe { calls.device_properties(properties.pointer(), device) }?;
    // Which function has written them is seen from where the name stands: in the other layout a number is there.
    let places = [DeviceProperties::R0600_ARCHITECTURE, DeviceProperties::FIRST_ARCHITECTURE];
    let found = places.into_iter().map(|at| properties.architecture(at)).find(|name| name.starts_with("gfx"));
    found.ok_or(Failure { call: "hipGetDeviceProperties", code: plain(hipErrorNotSupported.0) })
}

fn kernel_node(node: &KernelNode) -> NodeParameters {
    let axes = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
    NodeParameters::of(hipKernelNodeParams {
        blockDim: axes(node.size),
        extra: node.extra,
        func: node.function,
        gridDim: axes(node.groups),
        kernelParams: node.arguments,
        sharedMemBytes: node.shared,
    })
}

fn fill_node(node: &FillNode) -> NodeParameters {
    NodeParameters::of(hipMemsetParams {
        dst: std::ptr::with_exposed_provenance_mut(usize::try_from(node.to).unwrap_or(0)),
        elementSize: node.element,
        height: 1,
        pitch: node.count.saturating_mul(node.element as usize),
        value: node.value,
        width: node.count,
    })
}

/// Families whose code hiprtc has been made to produce or clang has: of an architecture that it does not know, the compiler inside AMD's library ends the process.
const KNOWN: &[&str] = &[
    "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1030", "gfx1031", "gfx1032", "gfx1034", "gfx1035",
    "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201",
];

/// `gfx90a` of `gfx90a:sramecc+:xnack-`.
fn architecture(target: &str) -> &str {
    target.split(':').next().unwrap_or(target)
}

fn compile_options(target: &str) -> Result<Vec<String>, String> {
    if !KNOWN.contains(&architecture(target)) {
        return Err(format!("kernels cannot be compiled for {target}; known are {}", KNOWN.join(", ")));
    }
    Ok(vec![format!("--offload-arch={target}"), "-O3".into(), "-w".into()])
}

fn features(target: &str) -> Features {
    let all = KNOWN.contains(&architecture(target));
    Features { f16: all, f64: all, int64: all, atomic_int64: all, atomic_f32: all, subgroups: all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_that_a_compiler_is_known_to_take() {
        assert_eq!(compile_options("gfx90a:sramecc+:xnack-").unwrap(), ["--offload-arch=gfx90a:sramecc+:xnack-", "-O3", "-w"]);
        let why = compile_options("gfx803").unwrap_err();
        assert!(why.contains("gfx803") && why.contains("gfx1201"), "{why}");
        assert!(features("gfx1100").f16 && !features("gfx803").f16);
        assert_eq!((VENDOR.version)(60_443_484), "6.4");
        let fits = [6, 7, 9].map(|major| (VENDOR.compiler_fits)(major, 60_443_484));
        assert_eq!(fits, [CompilerFit::Yes, CompilerFit::No, CompilerFit::Unknown]);
    }

    #[test]
    fn what_kernels_tell_in_pinned_memory_is_seen_behind_an_event() {
        let Flags { host, event, .. } = VENDOR.flags;
        assert!(host & hipHostMallocCoherent != 0 || event & hipEventReleaseToSystem != 0, "{host:#x} {event:#x}");
    }

    #[test]
    fn pkg_03_every_architecture_that_is_compiled_for_is_found_in_its_code_objects() {
        for name in KNOWN {
            assert!(MACHINES.iter().any(|(_, known)| known == name), "{name}");
        }
        // As clang 19 writes them for gfx90a and gfx1100.
        assert_eq!(code_architecture(0x53f, 3).as_deref(), Some("gfx90a"));
        assert_eq!(code_architecture(0x41, 3).as_deref(), Some("gfx1100"));
        assert_eq!(code_architecture(0xff, 3), None);
        assert!((FORMS.runs)("gfx90a", "gfx90a:sramecc+:xnack-") && !(FORMS.runs)("gfx90a", "gfx908:sramecc+:xnack-"));
    }

    #[test]
    fn pkg_03_code_for_a_generic_processor_runs_on_its_kin_and_gives_way_to_code_for_the_device() {
        // As clang 19 writes it for gfx9-generic and gfx11-generic, with the version of what is common to them.
        assert_eq!(code_architecture(0x0100_0151, 4).as_deref(), Some("gfx9-generic"));
        assert_eq!(code_architecture(0x0100_0054, 4).as_deref(), Some("gfx11-generic"));
        for (generic, kin) in GENERIC {
            assert!(MACHINES.iter().any(|(_, known)| *known == generic), "{generic}");
            for device in kin {
                assert!(MACHINES.iter().any(|(_, known)| known == device), "{device}");
                assert!((FORMS.runs)(generic, device) && !(FORMS.runs)(device, generic));
                assert!((FORMS.generation)(generic) < (FORMS.generation)(device));
            }
        }
        assert!((FORMS.runs)("gfx9-generic:xnack-", "gfx906:sramecc+:xnack-"));
        let others = [
            ("gfx9-generic", "gfx90a"),
            ("gfx9-generic", "gfx942"),
            ("gfx10-3-generic", "gfx1010"),
            ("gfx11-generic", "gfx1200"),
        ];
        assert!(others.iter().all(|(generic, device)| !(FORMS.runs)(generic, device)));
    }

    /// Bytes of a parameter, by the name of its type here or in `hip-sys`.
    fn size(kind: &str) -> u32 {
        match kind.trim() {
            "u8" => 1,
            "u16" | "c_ushort" => 2,
            "c_int" | "c_uint" | "u32" | "Status" | "DeviceNumber" | "hipDevice_t" => 4,
            "usize" | "u64" | "c_ulonglong" | "Handle" => 8,
            number
                if ["hipMemcpyKind", "hipDeviceAttribute_t", "hipFunction_attribute", "hipPointer_attribute"]
                    .contains(&number) =>
            {
                4
            }
            pointer if pointer.starts_with('*') || pointer.starts_with("hip") => 8,
            other => panic!("{other} is not known"),
        }
    }

    #[test]
    fn calls_have_the_forms_of_the_headers() {
        let known = || hip_sys::Runtime::SIGNATURES.iter().chain(hip_sys::Compiler::SIGNATURES);
        let mut compared = 0;
        for (call, symbols, parameters) in symbols::RUNTIME.forms().into_iter().chain(symbols::COMPILER.forms()) {
            for symbol in symbols {
                let found = known().find(|signature| signature.name == *symbol);
                let found = found.unwrap_or_else(|| panic!("{symbol} is not in hip-sys, so nothing compares it with a header"));
                let sizes = |kinds: &[&str]| kinds.iter().map(|kind| size(kind)).collect::<Vec<_>>();
                assert_eq!(
                    sizes(parameters),
                    sizes(found.parameters),
                    "{call} is {symbol}: {parameters:?} for {:?}",
                    found.parameters
                );
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
    }

    #[test]
    fn names_of_errors_are_those_of_the_headers() {
        for (code, name) in NAMES {
            let found = hip_sys::VALUES.iter().find(|(known, _)| known == name);
            assert_eq!(found.map(|(_, value)| *value), u64::try_from(*code).ok(), "{name}");
        }
    }
}
