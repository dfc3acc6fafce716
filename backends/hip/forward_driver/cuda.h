// What the forwarder calls of CUDA's driver and of NVRTC, looked up when it is first needed: nothing of NVIDIA's is needed to build it. Names, numbers and
// layouts are those of CUDA's documentation.
#pragma once

#include <cstddef>
#include <cstdint>

// Contexts, streams, events, modules, functions, graphs, nodes, programs.
using Handle = void*;
using Address = uint64_t;

// CUDA_MEMCPY2D_v2
struct Copy2d {
  size_t from_x, from_y;
  int from_kind;
  const void* from_host;
  Address from_device;
  Handle from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  int to_kind;
  void* to_host;
  Address to_device;
  Handle to_array;
  size_t to_pitch;
  size_t width, height;
};

// CUDA_MEMCPY3D_v2
struct Copy3d {
  size_t from_x, from_y, from_z, from_level;
  int from_kind;
  const void* from_host;
  Address from_device;
  Handle from_array, from_reserved;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_level;
  int to_kind;
  void* to_host;
  Address to_device;
  Handle to_array, to_reserved;
  size_t to_pitch, to_height;
  size_t width, height, depth;
};

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  Handle function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  Handle kernel, context;
};

// CUDA_MEMSET_NODE_PARAMS_v1
struct FillNode {
  Address to;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};

// Each call with the symbol that has these arguments.
#define CUDA_CALLS(X) \
  X(init, cuInit, unsigned) \
  X(device_count, cuDeviceGetCount, int*) \
  X(device_get, cuDeviceGet, int*, int) \
  X(device_name, cuDeviceGetName, char*, int, int) \
  X(device_uuid, cuDeviceGetUuid_v2, void*, int) \
  X(device_memory, cuDeviceTotalMem_v2, size_t*, int) \
  X(device_attribute, cuDeviceGetAttribute, int*, int, int) \
  X(can_access_peer, cuDeviceCanAccessPeer, int*, int, int) \
  X(primary_retain, cuDevicePrimaryCtxRetain, Handle*, int) \
  X(context_current, cuCtxGetCurrent, Handle*) \
  X(context_push, cuCtxPushCurrent_v2, Handle) \
  X(context_pop, cuCtxPopCurrent_v2, Handle*) \
  X(context_wait, cuCtxSynchronize) \
  X(peer_enable, cuCtxEnablePeerAccess, Handle, unsigned) \
  X(capture_mode, cuThreadExchangeStreamCaptureMode, int*) \
  X(memory_info, cuMemGetInfo_v2, size_t*, size_t*) \
  X(allocate, cuMemAlloc_v2, Address*, size_t) \
  X(free, cuMemFree_v2, Address) \
  X(host_allocate, cuMemHostAlloc, void**, size_t, unsigned) \
  X(host_free, cuMemFreeHost, void*) \
  X(host_address, cuMemHostGetDevicePointer_v2, Address*, void*, unsigned) \
  X(pointer_attribute, cuPointerGetAttribute, void*, int, Address) \
  X(address_range, cuMemGetAddressRange_v2, Address*, size_t*, Address) \
  X(write, cuMemcpyHtoD_v2, Address, const void*, size_t) \
  X(read, cuMemcpyDtoH_v2, void*, Address, size_t) \
  X(write_async, cuMemcpyHtoDAsync_v2, Address, const void*, size_t, Handle) \
  X(read_async, cuMemcpyDtoHAsync_v2, void*, Address, size_t, Handle) \
  X(copy_async, cuMemcpyDtoDAsync_v2, Address, Address, size_t, Handle) \
  X(copy_2d_async, cuMemcpy2DAsync_v2, const Copy2d*, Handle) \
  X(copy_peer_async, cuMemcpyPeerAsync, Address, Handle, Address, Handle, size_t, Handle) \
  X(fill_8_async, cuMemsetD8Async, Address, unsigned char, size_t, Handle) \
  X(fill_16_async, cuMemsetD16Async, Address, unsigned short, size_t, Handle) \
  X(fill_32_async, cuMemsetD32Async, Address, unsigned, size_t, Handle) \
  X(stream_create, cuStreamCreate, Handle*, unsigned) \
  X(stream_destroy, cuStreamDestroy_v2, Handle) \
  X(stream_query, cuStreamQuery, Handle) \
  X(stream_wait, cuStreamWaitEvent, Handle, Handle, unsigned) \
  X(stream_finish, cuStreamSynchronize, Handle) \
  X(event_create, cuEventCreate, Handle*, unsigned) \
  X(event_destroy, cuEventDestroy_v2, Handle) \
  X(event_record, cuEventRecord, Handle, Handle) \
  X(event_query, cuEventQuery, Handle) \
  X(event_elapsed, cuEventElapsedTime, float*, Handle, Handle) \
  X(module_load, cuModuleLoadData, Handle*, const void*) \
  X(module_unload, cuModuleUnload, Handle) \
  X(module_function, cuModuleGetFunction, Handle*, Handle, const char*) \
  X(function_attribute, cuFuncGetAttribute, int*, int, Handle) \
  X(launch, cuLaunchKernel, Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**) \
  X(graph_create, cuGraphCreate, Handle*, unsigned) \
  X(graph_destroy, cuGraphDestroy, Handle) \
  X(graph_instantiate, cuGraphInstantiateWithFlags, Handle*, Handle, unsigned long long) \
  X(graph_launch, cuGraphLaunch, Handle, Handle) \
  X(executable_destroy, cuGraphExecDestroy, Handle) \
  X(add_empty, cuGraphAddEmptyNode, Handle*, Handle, const Handle*, size_t) \
  X(add_kernel, cuGraphAddKernelNode_v2, Handle*, Handle, const Handle*, size_t, const KernelNode*) \
  X(add_fill, cuGraphAddMemsetNode, Handle*, Handle, const Handle*, size_t, const FillNode*, Handle) \
  X(add_copy, cuGraphAddMemcpyNode, Handle*, Handle, const Handle*, size_t, const Copy3d*, Handle) \
  X(set_kernel, cuGraphExecKernelNodeSetParams_v2, Handle, Handle, const KernelNode*) \
  X(set_fill, cuGraphExecMemsetNodeSetParams, Handle, Handle, const FillNode*, Handle) \
  X(set_copy, cuGraphExecMemcpyNodeSetParams, Handle, Handle, const Copy3d*, Handle)

#define NVRTC_CALLS(X) \
  X(create, nvrtcCreateProgram, Handle*, const char*, const char*, int, const char**, const char**) \
  X(compile, nvrtcCompileProgram, Handle, int, const char**) \
  X(log_size, nvrtcGetProgramLogSize, Handle, size_t*) \
  X(log, nvrtcGetProgramLog, Handle, char*) \
  X(code_size, nvrtcGetCUBINSize, Handle, size_t*) \
  X(code, nvrtcGetCUBIN, Handle, char*) \
  X(destroy, nvrtcDestroyProgram, Handle*)

#define FIELD(NAME, SYMBOL, ...) int (*NAME)(__VA_ARGS__);
struct Cuda {
  CUDA_CALLS(FIELD)
};
struct Nvrtc {
  NVRTC_CALLS(FIELD)
};
#undef FIELD

// The libraries, opened when they are first asked for. Null, said on the standard error: there is none, or it lacks a call.
const Cuda* cuda();
const Nvrtc* nvrtc();
