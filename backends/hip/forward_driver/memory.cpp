// Memory, copies and fills.
#include "forward.h"

namespace {

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };
// CUmemorytype
enum { HOST = 1, DEVICE = 2 };

bool is_way(int kind) { return kind >= HOST_TO_DEVICE && kind <= DEVICE_TO_DEVICE; }

} // namespace

Copy3d run_of_bytes(void* to, const void* from, size_t size, int kind) {
  Copy3d copy = {};
  copy.from_kind = kind == HOST_TO_DEVICE ? HOST : DEVICE;
  copy.to_kind = kind == DEVICE_TO_HOST ? HOST : DEVICE;
  copy.from_host = from;
  copy.from_device = address(from);
  copy.to_host = to;
  copy.to_device = address(to);
  copy.width = size;
  copy.height = copy.depth = 1;
  return copy;
}

EXPORT int hipMalloc(void** out, size_t size) { ENTER; return in_hip(cu.allocate((Address*)out, size)); }
EXPORT int hipFree(void* memory) { ENTER; return in_hip(cu.free(address(memory))); }
// HIP's flags for coherence have no counterpart: on CUDA pinned memory is coherent.
EXPORT int hipHostMalloc(void** out, size_t size, unsigned flags) { ENTER; return in_hip(cu.host_allocate(out, size, flags & 7)); }
EXPORT int hipHostFree(void* memory) { ENTER; return in_hip(cu.host_free(memory)); }
EXPORT int hipHostGetDevicePointer(void** out, void* host, unsigned flags) { ENTER; return in_hip(cu.host_address((Address*)out, host, flags)); }
EXPORT int hipMemGetInfo(size_t* free, size_t* total) { ENTER; return in_hip(cu.memory_info(free, total)); }
EXPORT int hipMemGetAddressRange(void** base, size_t* size, void* of) { ENTER; return in_hip(cu.address_range((Address*)base, size, address(of))); }
// The attributes have the same numbers, and so have the kinds of memory since HIP 6.
EXPORT int hipPointerGetAttribute(void* out, int number, void* of) { ENTER; return in_hip(cu.pointer_attribute(out, number, address(of))); }

// For programs that use HIP beside the library, as the C tests do.
EXPORT int hipMemcpyHtoD(void* to, const void* from, size_t size) { ENTER; return in_hip(cu.write(address(to), from, size)); }
EXPORT int hipMemcpyDtoH(void* to, void* from, size_t size) { ENTER; return in_hip(cu.read(to, address(from), size)); }
EXPORT int hipMemcpyHtoDAsync(void* to, const void* from, size_t size, Handle stream) {
  ENTER;
  return in_hip(cu.write_async(address(to), from, size, stream));
}
EXPORT int hipMemcpyDtoHAsync(void* to, void* from, size_t size, Handle stream) { ENTER; return in_hip(cu.read_async(to, address(from), size, stream)); }
EXPORT int hipMemcpyDtoDAsync(void* to, void* from, size_t size, Handle stream) {
  ENTER;
  return in_hip(cu.copy_async(address(to), address(from), size, stream));
}
EXPORT int hipMemcpy2DAsync(
    void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind, Handle stream) {
  ENTER;
  if (!is_way(kind)) return INVALID_VALUE;
  Copy3d bytes = run_of_bytes(to, from, width, kind);
  Copy2d copy = {};
  copy.from_kind = bytes.from_kind;
  copy.from_host = bytes.from_host;
  copy.from_device = bytes.from_device;
  copy.from_pitch = from_pitch;
  copy.to_kind = bytes.to_kind;
  copy.to_host = bytes.to_host;
  copy.to_device = bytes.to_device;
  copy.to_pitch = to_pitch;
  copy.width = width;
  copy.height = height;
  return in_hip(cu.copy_2d_async(&copy, stream));
}
EXPORT int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, Handle stream) {
  ENTER;
  Handle there = primary_context(to_device), here = primary_context(from_device);
  if (!there || !here) return INVALID_DEVICE;
  return in_hip(cu.copy_peer_async(address(to), there, address(from), here, size, stream));
}
EXPORT int hipMemsetD8Async(void* to, unsigned char value, size_t count, Handle stream) {
  ENTER;
  return in_hip(cu.fill_8_async(address(to), value, count, stream));
}
EXPORT int hipMemsetD16Async(void* to, unsigned short value, size_t count, Handle stream) {
  ENTER;
  return in_hip(cu.fill_16_async(address(to), value, count, stream));
}
EXPORT int hipMemsetD32Async(void* to, int value, size_t count, Handle stream) {
  ENTER;
  return in_hip(cu.fill_32_async(address(to), (unsigned)value, count, stream));
}
