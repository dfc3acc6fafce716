// Devices, their properties, contexts and errors. A device is a part of the host.
#include <cstddef>

#include "driver.h"

namespace {

struct Context {
  int device;
  std::atomic<int> retained{0};
};

// The numbers of hipDeviceAttribute_t.
enum {
  ASYNC_ENGINES = 2, MAP_HOST = 3, REGISTERED_POINTER = 4, CLOCK = 5, CONCURRENT = 8, COOPERATIVE = 10, INTEGRATED = 16, TIMEOUT = 18, L2 = 19,
  MAJOR = 23, MANAGED = 24, BLOCK_X = 26, GRID_X = 29, THREADS = 56, THREADS_PER_UNIT = 57, PITCH = 58, MINOR = 61, UNITS = 63, PAGEABLE = 65,
  BUS = 67, BUS_DEVICE = 68, DOMAIN = 69, REGISTERS = 71, SHARED = 74, SHARED_OPT_IN = 75, SHARED_PER_UNIT = 76, TEXTURE = 81, MEMORY_SIZE = 84,
  UNIFIED = 85, WAVE = 87, POOLS = 88, LARGE_BAR = 10011, WAIT_VALUE = 10013,
};

thread_local int device = 0;
thread_local std::vector<Context*> stack;

Context* context(int of) {
  static Context all[16];
  all[of].device = of;
  return &all[of];
}

bool is_device(int n) { return n >= 0 && n < settings().devices && n < 16; }

int attribute(int number, int of) {
  switch (number) {
  case ASYNC_ENGINES: return 2;
  case MAP_HOST: case REGISTERED_POINTER: case CONCURRENT: case UNIFIED: return 1;
  case CLOCK: return 1700000;
  case L2: return 8 << 20;
  case MAJOR: return settings().wave == 64 ? 9 : 11;
  case BLOCK_X: case BLOCK_X + 1: case BLOCK_X + 2: case THREADS: return 1024;
  // Less than a GPU has: tests launch as many.
  case GRID_X: return 1 << 20;
  case GRID_X + 1: case GRID_X + 2: return 65535;
  case THREADS_PER_UNIT: return 2048;
  case PITCH: return 0x7fffffff;
  case UNITS: return 4;
  case BUS: return 3 + of;
  case REGISTERS: return 65536;
  case SHARED: case SHARED_OPT_IN: case SHARED_PER_UNIT: return 65536;
  case TEXTURE: return 256;
  case MEMORY_SIZE: return (int)settings().memory;
  case WAVE: return (int)settings().wave;
  case POOLS: return settings().pools;
  default: return 0;
  }
}

struct Named {
  int code;
  const char *name, *text;
};
const Named NAMES[] = {
  {SUCCESS, "hipSuccess", "no error"},
  {INVALID_VALUE, "hipErrorInvalidValue", "invalid argument"},
  {OUT_OF_MEMORY, "hipErrorOutOfMemory", "out of memory"},
  {NOT_INITIALIZED, "hipErrorNotInitialized", "initialization error"},
  {INVALID_DEVICE, "hipErrorInvalidDevice", "invalid device ordinal"},
  {INVALID_IMAGE, "hipErrorInvalidImage", "device kernel image is invalid"},
  {INVALID_CONTEXT, "hipErrorInvalidContext", "invalid device context"},
  {NO_BINARY_FOR_GPU, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
  {INVALID_HANDLE, "hipErrorInvalidHandle", "invalid resource handle"},
  {NOT_FOUND, "hipErrorNotFound", "named symbol not found"},
  {NOT_READY, "hipErrorNotReady", "device not ready"},
  {ILLEGAL_ADDRESS, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
  {PEER_ENABLED, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
  {LAUNCH_FAILURE, "hipErrorLaunchFailure", "unspecified launch failure"},
  {NOT_SUPPORTED, "hipErrorNotSupported", "operation not supported"},
};

const Named* named(int code) {
  for (const Named& one : NAMES) if (one.code == code) return &one;
  return nullptr;
}

// A structure of properties: the name in front, the architecture where this layout has it, and nothing else.
Error properties(char* out, size_t size, size_t at, int of) {
  if (!out || !is_device(of)) return INVALID_DEVICE;
  memset(out, 0, size);
  snprintf(out, 256, "HIP on this processor, wavefronts of %u", settings().wave);
  snprintf(out + at, 256, "%s", architecture());
  return SUCCESS;
}

} // namespace

int current_device() { return stack.empty() ? device : stack.back()->device; }

EXPORT int hipInit(unsigned) { BEGIN; return SUCCESS; }
EXPORT int hipDriverGetVersion(int* version) { BEGIN; *version = settings().version; return SUCCESS; }
EXPORT int hipRuntimeGetVersion(int* version) { BEGIN; *version = settings().version; return SUCCESS; }
EXPORT const char* hipGetErrorName(int code) { auto* one = named(code); return one ? one->name : "hipErrorUnknown"; }
EXPORT const char* hipGetErrorString(int code) { auto* one = named(code); return one ? one->text : "unknown error"; }
EXPORT int hipDrvGetErrorName(int code, const char** name) {
  auto* one = named(code);
  *name = one ? one->name : nullptr;
  return one ? SUCCESS : INVALID_VALUE;
}
EXPORT int hipDrvGetErrorString(int code, const char** text) {
  auto* one = named(code);
  *text = one ? one->text : nullptr;
  return one ? SUCCESS : INVALID_VALUE;
}
EXPORT int hipGetLastError(void) { return poisoned(); }
EXPORT int hipPeekAtLastError(void) { return poisoned(); }

EXPORT int hipGetDeviceCount(int* count) { BEGIN; *count = settings().devices; return settings().devices ? 0 : 100; }
EXPORT int hipDeviceGet(int* out, int n) { BEGIN; *out = n; return is_device(n) ? SUCCESS : INVALID_DEVICE; }
EXPORT int hipDeviceGetName(char* name, int length, int of) {
  BEGIN;
  char all[1472];
  Error error = properties(all, sizeof all, 1160, of);
  if (!error) snprintf(name, (size_t)length, "%s", all);
  return error;
}
EXPORT int hipDeviceGetUuid(char* uuid, int of) {
  BEGIN;
  if (!is_device(of)) return INVALID_DEVICE;
  memcpy(uuid, "HIP on the cpu ", 15);
  uuid[15] = (char)of;
  return SUCCESS;
}
EXPORT int hipDeviceGetPCIBusId(char* id, int length, int of) {
  BEGIN;
  if (!is_device(of)) return INVALID_DEVICE;
  snprintf(id, (size_t)length, "0000:%02x:00.0", 3 + of);
  return SUCCESS;
}
EXPORT int hipDeviceTotalMem(size_t* bytes, int of) { BEGIN; *bytes = settings().memory; return is_device(of) ? SUCCESS : INVALID_DEVICE; }
EXPORT int hipDeviceGetAttribute(int* value, int number, int of) {
  BEGIN;
  if (!is_device(of)) return INVALID_DEVICE;
  *value = attribute(number, of);
  return SUCCESS;
}
EXPORT int hipGetDeviceProperties(char* out, int of) { BEGIN; return properties(out, 792, 396, of); }
EXPORT int hipGetDevicePropertiesR0600(char* out, int of) { BEGIN; return properties(out, 1472, 1160, of); }
EXPORT int hipDeviceCanAccessPeer(int* can, int of, int peer) {
  BEGIN;
  *can = of != peer;
  return is_device(of) && is_device(peer) ? SUCCESS : INVALID_DEVICE;
}
EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  BEGIN;
  static std::mutex lock;
  static std::set<std::pair<int, int>> enabled;
  if (!is_device(peer) || peer == current_device() || flags) return INVALID_DEVICE;
  std::lock_guard<std::mutex> hold(lock);
  return enabled.insert({current_device(), peer}).second ? SUCCESS : PEER_ENABLED;
}
EXPORT int hipDeviceGetP2PAttribute(int* value, int, int, int) { BEGIN; *value = 1; return SUCCESS; }
EXPORT int hipSetDevice(int n) {
  BEGIN;
  if (!is_device(n)) return INVALID_DEVICE;
  device = n;
  if (!stack.empty()) stack.back() = context(n);
  return SUCCESS;
}
EXPORT int hipGetDevice(int* out) { BEGIN; *out = current_device(); return SUCCESS; }
EXPORT int hipDeviceSynchronize(void) { BEGIN; drain_all(); return poisoned(); }
EXPORT int hipDeviceGetStreamPriorityRange(int* least, int* greatest) { BEGIN; *least = 1; *greatest = -1; return SUCCESS; }

EXPORT int hipDevicePrimaryCtxRetain(void** out, int of) {
  BEGIN;
  if (!is_device(of)) return INVALID_DEVICE;
  context(of)->retained++;
  count(RETAINED, 1);
  *out = context(of);
  return SUCCESS;
}
EXPORT int hipDevicePrimaryCtxRelease(int of) {
  BEGIN;
  if (!is_device(of)) return INVALID_DEVICE;
  if (context(of)->retained-- <= 0) mistake("a context is released that nobody has retained");
  count(RETAINED, -1);
  return SUCCESS;
}
EXPORT int hipCtxGetCurrent(void** out) { BEGIN; *out = stack.empty() ? nullptr : stack.back(); return SUCCESS; }
EXPORT int hipCtxSetCurrent(void* to) {
  BEGIN;
  if (!stack.empty()) stack.pop_back();
  if (to) stack.push_back((Context*)to);
  return SUCCESS;
}
EXPORT int hipCtxPushCurrent(void* to) { BEGIN; if (!to) return INVALID_CONTEXT; stack.push_back((Context*)to); return SUCCESS; }
EXPORT int hipCtxPopCurrent(void** out) {
  BEGIN;
  if (stack.empty()) return INVALID_CONTEXT;
  if (out) *out = stack.back();
  stack.pop_back();
  return SUCCESS;
}
