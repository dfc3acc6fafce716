// Finding CUDA's driver and NVRTC.
#include "cuda.h"

#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// A library of a folder, by how its file begins. NVRTC looks for the one of its builtins by name, so that has to be there already.
void* open_from(const std::string& folder, const char* name, int flags) {
  void* library = nullptr;
  DIR* all = opendir(folder.c_str());
  if (!all) return nullptr;
  while (dirent* one = readdir(all))
    if (!library && begins(one->d_name, name)) library = dlopen((folder + "/" + one->d_name).c_str(), flags);
  closedir(all);
  return library;
}

void* open_nvrtc() {
  if (const char* folder = getenv("HIP_FORWARD_NVRTC")) {
    open_from(folder, "libnvrtc-builtins.so", RTLD_NOW | RTLD_GLOBAL);
    return open_from(folder, "libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

bool find(void* library, const char* symbol, void** place) {
  *place = library ? dlsym(library, symbol) : nullptr;
  if (!*place) fprintf(stderr, "HIP forwarded to CUDA: no %s\n", symbol);
  return *place;
}

#define FIND(NAME, SYMBOL, ...) if (!find(library, #SYMBOL, (void**)&all->NAME)) return nullptr;

const Cuda* find_cuda() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* all = new Cuda;
  CUDA_CALLS(FIND)
  return all;
}

const Nvrtc* find_nvrtc() {
  void* library = open_nvrtc();
  auto* all = new Nvrtc;
  NVRTC_CALLS(FIND)
  return all;
}

} // namespace

const Cuda* cuda() {
  static const Cuda* all = find_cuda();
  return all;
}

const Nvrtc* nvrtc() {
  static const Nvrtc* all = find_nvrtc();
  return all;
}
