//! The driver's symbols, and those of NVRTC. Where a function has versions, the one whose arguments the table has.

use compute_cuda_hip::driver::{CompilerNames, Names};

/// The driver.
pub(crate) static DRIVER: Names = Names {
    error_name: &["cuGetErrorName"],
    error_text: &["cuGetErrorString"],
    device_count: &["cuDeviceGetCount"],
    device_uuid: &["cuDeviceGetUuid_v2", "cuDeviceGetUuid"],
    device_memory: &["cuDeviceTotalMem_v2"],
    primary_retain: &["cuDevicePrimaryCtxRetain"],
    primary_release: &["cuDevicePrimaryCtxRelease_v2"],
    context_current: &["cuCtxGetCurrent"],
    context_push: &["cuCtxPushCurrent_v2"],
    context_pop: &["cuCtxPopCurrent_v2"],
    peer_enable_context: &["cuCtxEnablePeerAccess"],
    memory_info: &["cuMemGetInfo_v2"],
    allocate: &["cuMemAlloc_v2"],
    free: &["cuMemFree_v2"],
    pool_create: &["cuMemPoolCreate"],
    pool_destroy: &["cuMemPoolDestroy"],
    pool_set: &["cuMemPoolSetAttribute"],
    pool_trim: &["cuMemPoolTrimTo"],
    pool_access: &["cuMemPoolSetAccess"],
    pool_allocate: &["cuMemAllocFromPoolAsync"],
    pool_free: &["cuMemFreeAsync"],
    host_allocate: &["cuMemHostAlloc"],
    host_free: &["cuMemFreeHost"],
    host_address: &["cuMemHostGetDevicePointer_v2"],
    address_range: &["cuMemGetAddressRange_v2"],
    write_async: &["cuMemcpyHtoDAsync_v2"],
    read_async: &["cuMemcpyDtoHAsync_v2"],
    copy_async: &["cuMemcpyDtoDAsync_v2"],
    copy_2d_async: &["cuMemcpy2DAsync_v2"],
    copy_peer_contexts: &["cuMemcpyPeerAsync"],
    stream_create: &["cuStreamCreate"],
    stream_destroy: &["cuStreamDestroy_v2"],
    event_create: &["cuEventCreate"],
    event_destroy: &["cuEventDestroy_v2"],
    event_elapsed: &["cuEventElapsedTime_v2", "cuEventElapsedTime"],
    function_set: &["cuFuncSetAttribute"],
    function_parameter: &["cuFuncGetParamInfo"],
    resident: &["cuOccupancyMaxActiveBlocksPerMultiprocessor"],
    tensor_map: &["cuTensorMapEncodeTiled"],
    launch: &["cuLaunchKernel"],
    // The later structure of a launch begins as the first one does.
    graph_add_kernel: &["cuGraphAddKernelNode_v2", "cuGraphAddKernelNode"],
    graph_set_kernel: &["cuGraphExecKernelNodeSetParams_v2", "cuGraphExecKernelNodeSetParams"],
    graph_add_fill_in: &["cuGraphAddMemsetNode"],
    graph_set_fill_in: &["cuGraphExecMemsetNodeSetParams"],
    graph_add_copy_in: &["cuGraphAddMemcpyNode"],
    graph_set_copy_in: &["cuGraphExecMemcpyNodeSetParams"],
    // There are contexts instead, and attributes for everything.
    ..compute_cuda_hip::shared_names!("cu")
};

/// NVRTC.
pub(crate) static COMPILER: CompilerNames = CompilerNames {
    code_size: &["nvrtcGetCUBINSize"],
    code: &["nvrtcGetCUBIN"],
    architecture_count: &["nvrtcGetNumSupportedArchs"],
    architectures: &["nvrtcGetSupportedArchs"],
    ..compute_cuda_hip::shared_compiler_names!("nvrtc")
};
