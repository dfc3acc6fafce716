// Modules, whose code is what `compiler.cpp` made, and launches.
#include "forward.h"

// The markers of the block of arguments and of its size have the same numbers; the end is 3 in HIP and 0 in CUDA.
Extra::Extra(void** extra) {
  void *block = nullptr, *size = nullptr;
  for (; extra && (uintptr_t)*extra != 3; extra += 2) {
    if ((uintptr_t)*extra == 1) block = extra[1];
    else if ((uintptr_t)*extra == 2) size = extra[1];
    else break;
  }
  if (!extra || (uintptr_t)*extra != 3 || !block || !size) error = INVALID_VALUE;
  void* filled[] = {(void*)1, block, (void*)2, size, nullptr};
  for (int n = 0; n < 5; n++) all[n] = filled[n];
}

bool fits(const unsigned* grid, const unsigned* block) {
  for (int axis = 0; axis < 3; axis++)
    if ((uint64_t)grid[axis] * block[axis] > UINT32_MAX) return false;
  return true;
}

EXPORT int hipModuleLoadDataEx(Handle* out, const void* image, unsigned, int*, void**) { ENTER; return in_hip(cu.module_load(out, image)); }
EXPORT int hipModuleLoadData(Handle* out, const void* image) { ENTER; return in_hip(cu.module_load(out, image)); }
EXPORT int hipModuleUnload(Handle module) { ENTER; return in_hip(cu.module_unload(module)); }
EXPORT int hipModuleGetFunction(Handle* out, Handle module, const char* name) { ENTER; return in_hip(cu.module_function(out, module, name)); }
// The attributes have the same numbers.
EXPORT int hipFuncGetAttribute(int* value, int number, Handle function) { ENTER; return in_hip(cu.function_attribute(value, number, function)); }
EXPORT int hipModuleLaunchKernel(
    Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Handle stream, void** arguments,
    void** extra) {
  ENTER;
  unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  if (!fits(grid, block)) return INVALID_CONFIGURATION;
  if (arguments) return in_hip(cu.launch(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, nullptr));
  Extra own(extra);
  if (own.error) return own.error;
  return in_hip(cu.launch(function, gx, gy, gz, bx, by, bz, shared, stream, nullptr, own.all));
}
