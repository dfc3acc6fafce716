// Modules: shared objects that the compiler beside this file has made. And launches.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "compiler.h"
#include "driver.h"

namespace {

struct Module;

struct Function {
  Module* module;
  const HipKernel* kernel;
};

struct Module {
  void* library = nullptr;
  bool meets = false; // Whether its kernels wait for each other.
  unsigned workgroup_memory = 0;
  std::map<std::string, std::unique_ptr<Function>> functions;

  ~Module() {
    if (library) dlclose(library);
  }
};

std::mutex lock;
auto& modules = *new std::set<Module*>;
auto& functions = *new std::set<Function*>;

// Bytes of memory for each thread, which is all that a kernel declares as workgroup memory.
unsigned thread_memory(const std::string& object) {
  if (object.size() < sizeof(Elf64_Ehdr)) return 0;
  auto* head = (const Elf64_Ehdr*)object.data();
  for (unsigned n = 0; n < head->e_phnum; n++) {
    size_t at = head->e_phoff + n * sizeof(Elf64_Phdr);
    if (at + sizeof(Elf64_Phdr) > object.size()) break;
    auto* part = (const Elf64_Phdr*)(object.data() + at);
    if (part->p_type == PT_TLS) return (unsigned)part->p_memsz;
  }
  return 0;
}

// The loader takes an object of the same name for the same, so each gets a name of its own.
void* load(const std::string& object) {
  static std::atomic<unsigned> next{0};
  std::string path = settings().cache + "/load-" + std::to_string(getpid()) + "-" + std::to_string(next++) + ".so";
  if (!write_file(path, object)) return nullptr;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) mistake("%s", dlerror());
  unlink(path.c_str());
  return library;
}

bool is_function(void* function) {
  std::lock_guard<std::mutex> hold(lock);
  return functions.count((Function*)function);
}

Error unpack_extra(void** extra, unsigned size, std::vector<char>& arguments) {
  const char* block = nullptr;
  size_t given = 0;
  for (; (uintptr_t)*extra != 3; extra += 2) {
    if ((uintptr_t)*extra == 1) block = (const char*)extra[1];
    else if ((uintptr_t)*extra == 2) given = *(const size_t*)extra[1];
    else return INVALID_VALUE;
  }
  if (!block || given < size) {
    mistake("a kernel with %u bytes of arguments is given %zu", size, given);
    return INVALID_VALUE;
  }
  arguments.assign(block, block + size);
  return SUCCESS;
}

} // namespace

Error prepare(void* handle, const unsigned* grid, const unsigned* block, unsigned shared, void** arguments, void** extra, Launch& launch) {
  if (!is_function(handle)) return INVALID_HANDLE;
  auto* function = (Function*)handle;
  const HipKernel* kernel = function->kernel;
  unsigned long count = (unsigned long)block[0] * block[1] * block[2];
  unsigned long limits[] = {1 << 20, 65535, 65535};
  for (int axis = 0; axis < 3; axis++) {
    if (grid[axis] == 0 || grid[axis] > limits[axis] || block[axis] == 0 || block[axis] > 1024) return INVALID_VALUE;
  }
  if (count > 1024 || kernel->most && count > kernel->most) {
    mistake("%s: workgroups of %lu invocations, %u at most", kernel->name, count, kernel->most);
    return INVALID_VALUE;
  }
  if (shared + function->module->workgroup_memory > 65536) return INVALID_VALUE;
  // Arguments one by one have to be told apart, which only the compiler could.
  if (arguments || !extra) return kernel->argument_size == 0 ? SUCCESS : NOT_SUPPORTED;
  launch.kernel = kernel;
  launch.meets = function->module->meets;
  launch.dynamic = shared;
  memcpy(launch.grid, grid, sizeof launch.grid);
  memcpy(launch.block, block, sizeof launch.block);
  return unpack_extra(extra, kernel->argument_size, launch.arguments);
}

EXPORT int hipModuleLoadData(void** out, const void* image) {
  BEGIN;
  std::string object;
  if (Error error = unpack(image, object)) return error;
  auto module = std::make_unique<Module>();
  module->library = load(object);
  if (!module->library) return INVALID_IMAGE;
  // Who leaves is a fiber, too: that is how its frames are left behind.
  module->meets = object.find("hip_meet") != std::string::npos || object.find("hip_leave") != std::string::npos;
  module->workgroup_memory = thread_memory(object);
  auto* kernel = (const HipKernel*)dlsym(module->library, "hip_kernels");
  std::lock_guard<std::mutex> hold(lock);
  for (; kernel && kernel->name; kernel++) {
    auto function = std::make_unique<Function>(Function{module.get(), kernel});
    functions.insert(function.get());
    module->functions[kernel->name] = std::move(function);
  }
  modules.insert(module.get());
  count(MODULE, 1);
  *out = module.release();
  return SUCCESS;
}
EXPORT int hipModuleLoadDataEx(void** out, const void* image, unsigned, int*, void**) { return hipModuleLoadData(out, image); }
// As the real one, it waits for what runs.
EXPORT int hipModuleUnload(void* handle) {
  BEGIN;
  drain_all();
  std::lock_guard<std::mutex> hold(lock);
  auto* module = (Module*)handle;
  if (!modules.erase(module)) {
    mistake("%p is no module", handle);
    return INVALID_HANDLE;
  }
  for (auto& [_, function] : module->functions) functions.erase(function.get());
  delete module;
  count(MODULE, -1);
  return SUCCESS;
}
EXPORT int hipModuleGetFunction(void** out, void* handle, const char* name) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  auto* module = (Module*)handle;
  if (!modules.count(module)) return INVALID_HANDLE;
  auto found = module->functions.find(name);
  if (found == module->functions.end()) return NOT_FOUND;
  *out = found->second.get();
  return SUCCESS;
}
EXPORT int hipModuleGetGlobal(void**, size_t*, void*, const char*) { BEGIN; return NOT_FOUND; }
EXPORT int hipFuncGetAttribute(int* value, int number, void* handle) {
  BEGIN;
  if (!is_function(handle)) return INVALID_HANDLE;
  auto* function = (Function*)handle;
  switch (number) {
  case 0: *value = function->kernel->most ? (int)function->kernel->most : 1024; return SUCCESS;
  case 1: *value = (int)function->module->workgroup_memory; return SUCCESS;
  case 4: *value = 32; return SUCCESS;
  case 8: *value = 65536 - (int)function->module->workgroup_memory; return SUCCESS;
  default: *value = 0; return SUCCESS;
  }
}
EXPORT int hipFuncSetAttribute(const void*, int, int) { BEGIN; return SUCCESS; }
EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* handle, int size, size_t) {
  BEGIN;
  if (!is_function(handle) || size <= 0) return INVALID_VALUE;
  *blocks = 2048 / size > 0 ? 2048 / size : 1;
  return SUCCESS;
}
EXPORT int hipModuleLaunchKernel(
    void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** arguments,
    void** extra) {
  BEGIN;
  auto launch = std::make_shared<Launch>();
  unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  if (Error error = prepare(function, grid, block, shared, arguments, extra, *launch)) return error;
  return enqueue(stream, call, [launch] { execute(*launch); });
}
