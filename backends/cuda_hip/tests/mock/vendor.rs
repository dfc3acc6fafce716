//! What is said of the stand-in as of a vendor: no symbol of its own is looked up under another name, and numbers are as the calls in `mod.rs` have them.

use compute_cuda_hip::driver::{Attributes, CompilerFit, CompilerNames, Errors, Flags, Names, NodeParameters, Vendor};

use super::{GONE, NOT_FOUND, NOT_READY, OUT_OF_MEMORY, REFUSED, STICKY};

/// Whether the next device has pools.
pub(crate) static POOLS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

pub(crate) static VENDOR: Vendor = DATA;
/// Of devices that the runtime compiler may not know.
pub(super) static CHOOSY: Vendor = Vendor {
    target: |_, _, _| Ok("sm_120".into()),
    forms: compute_cuda_hip::driver::Forms {
        generation: |target| target.trim_start_matches("sm_").parse().unwrap_or(0),
        ..DATA.forms
    },
    ..LAUNCHING
};
pub(super) static LAUNCHING: Vendor = Vendor { compile_options: |_| Ok(Vec::new()), ..DATA };
pub(super) static AMD: Vendor = Vendor {
    target: |_, _, _| Ok("gfx90a:sramecc+:xnack-".into()),
    forms: compute_cuda_hip::driver::Forms {
        text: compute_hal::NativeLanguage::HipCpp,
        assembly: None,
        code: compute_hal::NativeLanguage::CodeObject,
        machine: 224,
        architecture: |flags, _| (flags == 0x3f).then(|| "gfx90a".into()),
        runs: |code, device| device.starts_with(code),
        // Of a kernel `two` a word for each.
        parameters: |code, kernel| (code.starts_with(b"\x7fELF") && kernel == "two").then(|| vec![[0, 8], [8, 8]]),
        ..DATA.forms
    },
    errors: Errors { end_all: false, ..DATA.errors },
    ..LAUNCHING
};

const DATA: Vendor = Vendor {
    name: "mock",
    company: "nobody",
    libraries: &[],
    compilers: &[],
    compiler_parts: &[],
    environment: &[],
    oldest_compiler: [11, 7],
    compiler_fits: |_, _| CompilerFit::Yes,
    names: &Names::OWN,
    compiler_names: &CompilerNames::OWN,
    listing: None,
    oldest: 11_000,
    version: |version| version.to_string(),
    attributes: Attributes {
        workgroup_invocations: 1,
        workgroup_size: [2, 3, 4],
        grid: [5, 6, 7],
        workgroup_memory: 8,
        workgroup_memory_most: None,
        clock: None,
        warp_size: 10,
        pitch: 11,
        units: 16,
        integrated: 18,
        capability: None,
        pools: Some(115),
        bus: [50, 33, 34],
        pool_keeps: 4,
        function_invocations: 0,
        function_memory: 1,
        function_registers: 4,
        function_memory_most: None,
        pointer_context: None,
        pointer_device: Some(9),
        pointer_kind: None,
        pointer_managed: None,
        pointer_pool: None,
    },
    flags: Flags {
        stream: 1,
        event: 2,
        event_timed: 0,
        host: 3,
        memory_host: 1,
        memory_device: 2,
        ways: [0; 3],
        launch_markers: [1, 2, 0],
        block_alignment: 16,
        load_log: None,
    },
    errors: Errors {
        out_of_memory: OUT_OF_MEMORY,
        not_ready: NOT_READY,
        no_device: 100,
        capturing: (900, 908),
        peer_enabled: 704,
        patience: std::time::Duration::from_millis(200),
        sticky_at_home: &[],
        sticky: &[(STICKY, STICKY)],
        end_all: true,
        context_gone: GONE,
        names: &[(STICKY, "STICKY"), (REFUSED, "REFUSED"), (GONE, "GONE")],
        image: &[200],
        no_memory_there: &[NOT_FOUND],
        compilation: 6,
    },
    dialect: &compute_hal::kernel::cxx::CUDA,
    forms: compute_cuda_hip::driver::Forms {
        text: compute_hal::NativeLanguage::CudaCpp,
        assembly: Some(compute_hal::NativeLanguage::Ptx),
        code: compute_hal::NativeLanguage::Cubin,
        machine: 190,
        architecture: |_, _| Some("mock".into()),
        runs: |code, device| code == device,
        generation: |_| 0,
        newest: |_| Some([9, 0]),
        parameters: |_, _| None,
    },
    tensor_maps: None,
    queues: 4,
    clock: 1_000_000,
    native: compute_hal::NativeKind::CudaPointer,
    is_host: |_, _| false,
    row_alignment: 256,
    target: |_, _, _| Ok("mock".into()),
    compile_options: |_| Err("a mock runs nothing".into()),
    features: |_| compute_hal::Features::default(),
    graphs: 0,
    kernel_node: |node| NodeParameters::of(*node),
    fill_node: |node| NodeParameters::of(*node),
};
