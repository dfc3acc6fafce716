// Devices, the thread's device, and errors.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "forward.h"

namespace {

constexpr int MOST_DEVICES = 16;
thread_local int device = 0;

// hipDeviceAttribute_t and CUdevice_attribute of the same.
struct Attribute {
  int hip, cuda;
};
const Attribute ATTRIBUTES[] = {
  {2, 40}, // AsyncEngineCount
  {3, 19}, // CanMapHostMemory
  {5, 13}, // ClockRate
  {8, 31}, // ConcurrentKernels
  {16, 18}, // Integrated
  {18, 17}, // KernelExecTimeout
  {19, 38}, // L2CacheSize
  {26, 2}, {27, 3}, {28, 4}, // MaxBlockDim
  {29, 5}, {30, 6}, {31, 7}, // MaxGridDim
  {56, 1}, // MaxThreadsPerBlock
  {57, 39}, // MaxThreadsPerMultiProcessor
  {58, 11}, // MaxPitch
  {63, 16}, // MultiprocessorCount
  {67, 33}, {68, 34}, {69, 50}, // PciBusId, PciDeviceId, PciDomainID
  {71, 12}, // MaxRegistersPerBlock
  {74, 8}, // MaxSharedMemoryPerBlock
  {85, 41}, // UnifiedAddressing
  {87, 10}, // WarpSize
};

// A GPU of AMD's with wavefronts of 32, which warps are.
const char ARCHITECTURE[] = "gfx1100";

int properties(char* out, size_t size, size_t at, int of) {
  DRIVER;
  if (!out) return INVALID_VALUE;
  memset(out, 0, size);
  if (int code = cu.device_name(out, 256, of)) return in_hip(code);
  snprintf(out + at, 256, "%s", ARCHITECTURE);
  return SUCCESS;
}

} // namespace

int in_hip(int code) {
  switch (code) {
  // Links and memory that cannot be corrected.
  case 220: return 214;
  // Faults that HIP has one name for: of the stack, instructions, addresses, the program counter, tensor memory.
  case 714: case 715: case 716: case 717: case 718: case 721: return LAUNCH_FAILURE;
  default: break;
  }
  // The others have the same number in both, or HIP does not know them.
  return code < 0 || code > 999 ? UNKNOWN : code;
}

int current_device() { return device; }

Handle primary_context(int of) {
  static std::mutex lock;
  static Handle all[MOST_DEVICES];
  if (of < 0 || of >= MOST_DEVICES || !cuda()) return nullptr;
  std::lock_guard<std::mutex> hold(lock);
  if (!all[of] && cuda()->primary_retain(&all[of], of)) all[of] = nullptr;
  return all[of];
}

Entered::Entered() {
  cu = cuda();
  error = cu ? SUCCESS : NO_DEVICE;
  if (error) return;
  context = primary_context(device);
  Handle current = nullptr;
  error = context ? in_hip(cu->context_current(&current)) : INVALID_DEVICE;
  if (error || current == context) return;
  error = in_hip(cu->context_push(context));
  pushed = !error;
}

Entered::~Entered() {
  Handle gone;
  if (pushed) cu->context_pop(&gone);
}

EXPORT int hipInit(unsigned flags) { DRIVER; return in_hip(cu.init(flags)); }
// 6.4: what the backend asks of a version, CUDA has.
EXPORT int hipDriverGetVersion(int* version) { *version = 60443484; return SUCCESS; }
EXPORT int hipGetDeviceCount(int* count) { DRIVER; return in_hip(cu.device_count(count)); }
EXPORT int hipDeviceGet(int* out, int n) { DRIVER; return in_hip(cu.device_get(out, n)); }
EXPORT int hipDeviceGetName(char* name, int length, int of) { DRIVER; return in_hip(cu.device_name(name, length, of)); }
EXPORT int hipDeviceGetUuid(char* uuid, int of) { DRIVER; return in_hip(cu.device_uuid(uuid, of)); }
EXPORT int hipDeviceTotalMem(size_t* bytes, int of) { DRIVER; return in_hip(cu.device_memory(bytes, of)); }
EXPORT int hipDeviceGetAttribute(int* value, int number, int of) {
  DRIVER;
  // WallClockRate, in kHz, of the clock in kernel.h: CUDA has no number for it.
  if (number == 10017) { *value = 1000000; return SUCCESS; }
  for (const Attribute& one : ATTRIBUTES)
    if (one.hip == number) return in_hip(cu.device_attribute(value, one.cuda, of));
  return INVALID_VALUE;
}
EXPORT int hipGetDeviceProperties(char* out, int of) { return properties(out, 792, 396, of); }
EXPORT int hipGetDevicePropertiesR0600(char* out, int of) { return properties(out, 1472, 1160, of); }
EXPORT int hipDeviceCanAccessPeer(int* can, int of, int peer) { DRIVER; return in_hip(cu.can_access_peer(can, of, peer)); }
EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  ENTER;
  Handle other = primary_context(peer);
  return other ? in_hip(cu.peer_enable(other, flags)) : INVALID_DEVICE;
}
EXPORT int hipGetDevice(int* out) { *out = device; return SUCCESS; }
EXPORT int hipSetDevice(int n) {
  DRIVER;
  int count = 0;
  if (int code = cu.device_count(&count)) return in_hip(code);
  if (n < 0 || n >= count || n >= MOST_DEVICES) return INVALID_DEVICE;
  device = n;
  return SUCCESS;
}
EXPORT int hipDeviceSynchronize(void) { ENTER; return in_hip(cu.context_wait()); }
// The modes have the same numbers.
EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) { DRIVER; return in_hip(cu.capture_mode(mode)); }
