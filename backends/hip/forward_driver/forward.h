// What the parts of the forwarder share: where a call is made, and what CUDA's answers are called in HIP. All of it is ours, nothing is AMD's or NVIDIA's.
#pragma once

#include "cuda.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// The numbers of hipError_t that are answered where CUDA has not been asked, or has another number.
enum Error : int {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  INVALID_CONFIGURATION = 9,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  LAUNCH_FAILURE = 719,
  UNKNOWN = 999,
};

// --- device.cpp

// What HIP calls an answer of CUDA's driver.
int in_hip(int code);
// The device that this thread has set, and the primary context of a device, retained for ever; null where there is none.
int current_device();
Handle primary_context(int device);

// The primary context of this thread's device is current until it ends, as HIP's runtime has it; what was current before is again afterwards.
struct Entered {
  Entered();
  ~Entered();
  Entered(const Entered&) = delete;
  const Cuda* cu = nullptr;
  Handle context = nullptr;
  int error = SUCCESS;

 private:
  bool pushed = false;
};

// The first line of a call that needs a device: `cu` and `context` are there after it.
#define ENTER \
  Entered entered; \
  if (entered.error) return entered.error; \
  const Cuda& cu = *entered.cu; \
  [[maybe_unused]] Handle context = entered.context

// The first line of one that needs the driver alone.
#define DRIVER \
  if (!cuda()) return NO_DEVICE; \
  const Cuda& cu = *cuda()

inline Address address(const void* pointer) { return (Address)pointer; }

// --- module.cpp

// A launch's `extra` with CUDA's number for its end.
struct Extra {
  // `error`: there was none that could be read.
  explicit Extra(void** extra);
  void* all[5];
  int error = SUCCESS;
};
// Whether AMD's packets, which count invocations in 32 bits, could hold such a launch.
bool fits(const unsigned* grid, const unsigned* block);

// --- memory.cpp

// A copy as one row of a box; `kind` is HIP's.
Copy3d run_of_bytes(void* to, const void* from, size_t size, int kind);
