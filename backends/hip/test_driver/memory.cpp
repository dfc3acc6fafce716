// Allocations: what lives where, so that every access of a copy or a fill can be checked.
#include <sys/mman.h>

#include "driver.h"

namespace {

struct Block {
  size_t size;
  bool host;
  bool registered; // The caller's own memory.
  int device;
};

struct Pool {
  uint64_t keeps = 0;
};

std::mutex lock;
auto& blocks = *new std::map<uintptr_t, Block>;
size_t used = 0;

// The allocation that an address lies in.
std::map<uintptr_t, Block>::iterator at(const void* address) {
  auto next = blocks.upper_bound((uintptr_t)address);
  if (next == blocks.begin()) return blocks.end();
  --next;
  return (uintptr_t)address < next->first + next->second.size ? next : blocks.end();
}

bool holds(const void* address, size_t size) {
  auto found = at(address);
  return found != blocks.end() && size <= found->second.size - ((uintptr_t)address - found->first);
}

constexpr size_t PAGE = 4096;
size_t mapped(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

// Memory that ends where an unmapped page begins, and holds no zeros: what reads what nobody wrote shall not look right.
Error allocate(void** out, size_t size, bool host) {
  if (!out) return INVALID_VALUE;
  *out = nullptr;
  if (size == 0) return SUCCESS;
  std::lock_guard<std::mutex> hold(lock);
  if (size > settings().memory || !host && used + size > settings().memory) return OUT_OF_MEMORY;
  void* all = mmap(nullptr, mapped(size) + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return OUT_OF_MEMORY;
  if (mprotect(all, mapped(size), PROT_READ | PROT_WRITE)) {
    munmap(all, mapped(size) + PAGE);
    return OUT_OF_MEMORY;
  }
  // Of large ones both ends, as touching a page costs.
  constexpr size_t END = 256 << 10;
  memset(all, 0xa5, size < 2 * END ? size : END);
  if (size >= 2 * END) memset((char*)all + size - END, 0xa5, END);
  blocks[(uintptr_t)all] = Block{size, host, false, current_device()};
  if (!host) used += size;
  count(host ? HOST_MEMORY : MEMORY, 1);
  *out = all;
  return SUCCESS;
}

Error release(void* address, bool host) {
  if (!address) return SUCCESS;
  std::lock_guard<std::mutex> hold(lock);
  auto found = blocks.find((uintptr_t)address);
  if (found == blocks.end() || found->second.host != host || found->second.registered) {
    mistake("%p is freed and is no allocation of that kind", address);
    return INVALID_VALUE;
  }
  munmap(address, mapped(found->second.size) + PAGE);
  if (!host) used -= found->second.size;
  blocks.erase(found);
  count(host ? HOST_MEMORY : MEMORY, -1);
  return SUCCESS;
}

} // namespace

bool in_device(const void* address, size_t size, const char* what) {
  std::lock_guard<std::mutex> hold(lock);
  if (size == 0 || holds(address, size)) return true;
  mistake("%s of %zu bytes at %p, which is in no allocation", what, size, address);
  return false;
}

bool in_host(const void* address, const char* what) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = at(address);
  if (found == blocks.end() || found->second.host) return true;
  mistake("%s at %p, which is the device's", what, address);
  return false;
}

bool is_pinned(const void* address, size_t size) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = at(address);
  return found != blocks.end() && found->second.host && holds(address, size);
}

EXPORT int hipMalloc(void** out, size_t size) { BEGIN; return allocate(out, size, false); }
EXPORT int hipHostMalloc(void** out, size_t size, unsigned) { BEGIN; return allocate(out, size, true); }
// As the real ones, these wait for the device.
EXPORT int hipFree(void* address) { BEGIN; drain_all(); return release(address, false); }
EXPORT int hipHostFree(void* address) { BEGIN; drain_all(); return release(address, true); }
EXPORT int hipHostRegister(void* address, size_t size, unsigned) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  if (at(address) != blocks.end()) return 712;
  blocks[(uintptr_t)address] = Block{size, true, true, current_device()};
  return SUCCESS;
}
EXPORT int hipHostUnregister(void* address) {
  BEGIN;
  drain_all();
  std::lock_guard<std::mutex> hold(lock);
  auto found = blocks.find((uintptr_t)address);
  if (found == blocks.end() || !found->second.registered) return 713;
  blocks.erase(found);
  return SUCCESS;
}
EXPORT int hipHostGetDevicePointer(void** out, void* host, unsigned) {
  BEGIN;
  if (!is_pinned(host, 1)) return INVALID_VALUE;
  *out = host;
  return SUCCESS;
}
EXPORT int hipMemGetInfo(size_t* free, size_t* total) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  *total = settings().memory;
  *free = *total - used;
  return SUCCESS;
}
EXPORT int hipMemGetAddressRange(void** base, size_t* size, void* address) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  auto found = at(address);
  if (found == blocks.end()) return NOT_FOUND;
  if (base) *base = (void*)found->first;
  if (size) *size = found->second.size;
  return SUCCESS;
}
EXPORT int hipPointerGetAttribute(void* out, int number, void* address) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  auto found = at(address);
  if (found == blocks.end()) return INVALID_VALUE;
  bool old = settings().version < 60000000;
  switch (number) {
  case 2: *(unsigned*)out = (found->second.host ? 0u : 1u) + (old ? 0u : 1u); return SUCCESS;
  case 3: case 4: *(void**)out = address; return SUCCESS;
  case 8: *(int*)out = 0; return SUCCESS;
  case 9: *(int*)out = found->second.device; return SUCCESS;
  case 11: *(void**)out = (void*)found->first; return SUCCESS;
  case 12: *(size_t*)out = found->second.size; return SUCCESS;
  default: return INVALID_VALUE;
  }
}

EXPORT int hipMemPoolCreate(void** out, const void* properties) {
  BEGIN;
  if (!settings().pools || !out || !properties) return NOT_SUPPORTED;
  *out = new Pool;
  count(POOL, 1);
  return SUCCESS;
}
EXPORT int hipMemPoolDestroy(void* pool) { BEGIN; delete (Pool*)pool; count(POOL, -1); return SUCCESS; }
EXPORT int hipDeviceGetDefaultMemPool(void** out, int) { BEGIN; static Pool pool; *out = &pool; return settings().pools ? SUCCESS : NOT_SUPPORTED; }
EXPORT int hipMemPoolSetAttribute(void* pool, int number, void* value) {
  BEGIN;
  if (number == 4) ((Pool*)pool)->keeps = *(uint64_t*)value;
  return SUCCESS;
}
EXPORT int hipMemPoolGetAttribute(void* pool, int number, void* value) { BEGIN; *(uint64_t*)value = number == 4 ? ((Pool*)pool)->keeps : 0; return SUCCESS; }
EXPORT int hipMemPoolTrimTo(void*, size_t) { BEGIN; return SUCCESS; }
EXPORT int hipMemPoolSetAccess(void*, const void*, size_t) { BEGIN; return SUCCESS; }
EXPORT int hipMallocFromPoolAsync(void** out, size_t size, void* pool, void* stream) {
  BEGIN;
  if (!settings().pools || !pool || !find(stream)) return NOT_SUPPORTED;
  return allocate(out, size, false);
}
EXPORT int hipMallocAsync(void** out, size_t size, void* stream) { BEGIN; return settings().pools && find(stream) ? allocate(out, size, false) : NOT_SUPPORTED; }
EXPORT int hipFreeAsync(void* address, void* stream) { BEGIN; return enqueue(stream, call, [address] { release(address, false); }); }
