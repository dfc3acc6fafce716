//! HIP's name of each call, whose arguments `hip-sys` has and its tests compare with AMD's headers. Where HIP changed what a name means, another call stands here.

use compute_cuda_hip::driver::{CompilerNames, Names};

/// `libamdhip64`.
pub(crate) static RUNTIME: Names = Names {
    init: &["hipInit"],
    driver_version: &["hipDriverGetVersion"],
    device_count: &["hipGetDeviceCount"],
    device_get: &["hipDeviceGet"],
    device_name: &["hipDeviceGetName"],
    device_uuid: &["hipDeviceGetUuid"],
    device_memory: &["hipDeviceTotalMem"],
    device_attribute: &["hipDeviceGetAttribute"],
    // The older function writes another layout: `lib.rs` tells them apart by what they write.
    device_properties: &["hipGetDevicePropertiesR0600", "hipGetDeviceProperties"],
    can_access_peer: &["hipDeviceCanAccessPeer"],
    // Contexts are deprecated in HIP: a thread has a device.
    current_device: &["hipGetDevice"],
    set_device: &["hipSetDevice"],
    peer_enable_device: &["hipDeviceEnablePeerAccess"],
    memory_info: &["hipMemGetInfo"],
    allocate: &["hipMalloc"],
    free: &["hipFree"],
    host_allocate: &["hipHostMalloc"],
    host_free: &["hipHostFree"],
    host_address: &["hipHostGetDevicePointer"],
    pointer_attribute: &["hipPointerGetAttribute"],
    address_range: &["hipMemGetAddressRange"],
    write_async: &["hipMemcpyHtoDAsync"],
    read_async: &["hipMemcpyDtoHAsync"],
    copy_async: &["hipMemcpyDtoDAsync"],
    // hip_Memcpy2D holds numbers that became others with HIP 6.
    copy_rows_async: &["hipMemcpy2DAsync"],
    copy_peer_devices: &["hipMemcpyPeerAsync"],
    fill_8_async: &["hipMemsetD8Async"],
    fill_16_async: &["hipMemsetD16Async"],
    fill_32_async: &["hipMemsetD32Async"],
    stream_create: &["hipStreamCreateWithFlags"],
    stream_destroy: &["hipStreamDestroy"],
    stream_query: &["hipStreamQuery"],
    stream_wait: &["hipStreamWaitEvent"],
    event_create: &["hipEventCreateWithFlags"],
    event_destroy: &["hipEventDestroy"],
    event_record: &["hipEventRecord"],
    event_query: &["hipEventQuery"],
    event_elapsed: &["hipEventElapsedTime"],
    module_load: &["hipModuleLoadDataEx"],
    module_unload: &["hipModuleUnload"],
    module_function: &["hipModuleGetFunction"],
    function_attribute: &["hipFuncGetAttribute"],
    launch: &["hipModuleLaunchKernel"],
    graph_create: &["hipGraphCreate"],
    graph_destroy: &["hipGraphDestroy"],
    graph_instantiate: &["hipGraphInstantiateWithFlags"],
    graph_launch: &["hipGraphLaunch"],
    graph_executable_destroy: &["hipGraphExecDestroy"],
    // HIP's names of errors are answers rather than arguments; pools cannot be relied on before HIP 6.
    ..Names::NONE
};

/// `libhiprtc`, or the same library before HIP 6.
pub(crate) static COMPILER: CompilerNames = CompilerNames {
    version: &["hiprtcVersion"],
    create: &["hiprtcCreateProgram"],
    compile: &["hiprtcCompileProgram"],
    log_size: &["hiprtcGetProgramLogSize"],
    log: &["hiprtcGetProgramLog"],
    code_size: &["hiprtcGetCodeSize"],
    code: &["hiprtcGetCode"],
    destroy: &["hiprtcDestroyProgram"],
};
