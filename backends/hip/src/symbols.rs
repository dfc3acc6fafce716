//! HIP's name of each call, whose arguments `hip-sys` has and its tests compare with AMD's headers. Where HIP changed what a name means, another call stands here.

use compute_cuda_hip::driver::{CompilerNames, Names};

/// `libamdhip64`.
pub(crate) static RUNTIME: Names = Names {
    last_error: &["hipGetLastError"],
    device_count: &["hipGetDeviceCount"],
    // The older function writes another layout: `lib.rs` tells them apart by what they write.
    device_properties: &["hipGetDevicePropertiesR0600", "hipGetDeviceProperties"],
    // Contexts are deprecated in HIP: a thread has a device.
    current_device: &["hipGetDevice"],
    set_device: &["hipSetDevice"],
    peer_enable_device: &["hipDeviceEnablePeerAccess"],
    allocate: &["hipMalloc"],
    free: &["hipFree"],
    host_allocate: &["hipHostMalloc"],
    host_free: &["hipHostFree"],
    host_address: &["hipHostGetDevicePointer"],
    // hip_Memcpy2D holds numbers that became others with HIP 6.
    copy_rows_async: &["hipMemcpy2DAsync"],
    copy_peer_devices: &["hipMemcpyPeerAsync"],
    stream_create: &["hipStreamCreateWithFlags"],
    event_create: &["hipEventCreateWithFlags"],
    resident: &["hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"],
    launch: &["hipModuleLaunchKernel"],
    graph_add_fill: &["hipGraphAddMemsetNode"],
    graph_set_fill: &["hipGraphExecMemsetNodeSetParams"],
    graph_add_copy: &["hipGraphAddMemcpyNode1D"],
    graph_set_copy: &["hipGraphExecMemcpyNodeSetParams1D"],
    // HIP's names of errors are answers rather than arguments; pools cannot be relied on before HIP 6.
    ..compute_cuda_hip::shared_names!("hip")
};

/// `libhiprtc`, or the same library before HIP 6.
pub(crate) static COMPILER: CompilerNames = compute_cuda_hip::shared_compiler_names!("hiprtc");
