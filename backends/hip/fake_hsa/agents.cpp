// The system, its agents with their properties, and memory, which is all the host's.
#include <cstdlib>
#include <ctime>
#include <initializer_list>

#include "fake.h"

namespace {

// Pools: of the processor fine-grained memory and that for arguments, of the GPU its memory and its workgroups'.
enum Pool : uint64_t { FINE = 10, COARSE, ARGUMENTS, VIDEO = 20, WORKGROUP };
constexpr size_t MEMORY = size_t(4) << 30;
const char ISA[] = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

struct Sizes {
  uint16_t of[3];
};

hsa_status_t words(void* out, std::initializer_list<uint32_t> all) {
  memcpy(out, all.begin(), all.size() * 4);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t text(void* out, const char* value) {
  char padded[64] = {};
  strncpy(padded, value, sizeof padded - 1);
  memcpy(out, padded, sizeof padded);
  return HSA_STATUS_SUCCESS;
}

} // namespace

uint64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

EXPORT hsa_status_t hsa_init() { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_shut_down() { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_status_string(hsa_status_t, const char** out) { return *out = "an error of the fake HSA", HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_system_get_info(hsa_system_info_t what, void* out) {
  switch ((int)what) {
  case HSA_SYSTEM_INFO_TIMESTAMP: return answer(out, now());
  case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: return answer(out, uint64_t(1000000000));
  case HSA_SYSTEM_INFO_VERSION_MAJOR: case HSA_SYSTEM_INFO_VERSION_MINOR: return answer(out, uint16_t(1));
  case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED: case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT: return answer(out, false);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}
EXPORT hsa_status_t hsa_system_extension_supported(uint16_t, uint16_t, uint16_t, bool* out) { return answer(out, false); }
EXPORT hsa_status_t hsa_agent_extension_supported(uint16_t, hsa_agent_t, uint16_t, uint16_t, bool* out) { return answer(out, false); }
EXPORT hsa_status_t hsa_system_get_major_extension_table(uint16_t, uint16_t, size_t size, void* out) { return memset(out, 0, size), HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_iterate_agents(hsa_status_t (*tell)(hsa_agent_t, void*), void* data) {
  hsa_status_t status = tell(hsa_agent_t{PROCESSOR}, data);
  return status ? status : tell(hsa_agent_t{GPU}, data);
}
EXPORT hsa_status_t hsa_agent_iterate_isas(hsa_agent_t, hsa_status_t (*tell)(hsa_isa_t, void*), void* data) { return tell(hsa_isa_t{1}, data); }
EXPORT hsa_status_t hsa_isa_get_info_alt(hsa_isa_t, hsa_isa_info_t what, void* out) {
  if (what == HSA_ISA_INFO_NAME_LENGTH) return answer(out, (uint32_t)strlen(ISA));
  if (what != HSA_ISA_INFO_NAME) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  memcpy(out, ISA, strlen(ISA));
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t what, void* out) {
  bool gpu = agent.handle == GPU;
  switch ((int)what) {
  case HSA_AGENT_INFO_NAME: return text(out, gpu ? "gfx90a" : "a processor");
  case HSA_AGENT_INFO_VENDOR_NAME: return text(out, "nobody");
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME: return text(out, "no GPU, below AMD's HIP runtime");
  case HSA_AMD_AGENT_INFO_UUID: return strcpy((char*)out, "GPU-0000000000000001"), HSA_STATUS_SUCCESS;
  case HSA_AGENT_INFO_DEVICE: return answer(out, gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
  case HSA_AGENT_INFO_PROFILE: return answer(out, HSA_PROFILE_BASE);
  case HSA_AGENT_INFO_FEATURE: return answer(out, HSA_AGENT_FEATURE_KERNEL_DISPATCH);
  case HSA_AGENT_INFO_EXTENSIONS: return memset(out, 0, 128), HSA_STATUS_SUCCESS;
  case HSA_AGENT_INFO_VERSION_MAJOR: case HSA_AGENT_INFO_VERSION_MINOR: return answer(out, uint16_t(1));
  case HSA_AGENT_INFO_ISA: return answer(out, uint64_t(1));
  case HSA_AGENT_INFO_WAVEFRONT_SIZE: return answer(out, uint32_t(64));
  case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE: return answer(out, uint32_t(1024));
  case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: return answer(out, Sizes{{1024, 1024, 1024}});
  case HSA_AGENT_INFO_GRID_MAX_DIM: return words(out, {0x7fffffff, 0x7fffffff, 0x7fffffff});
  case HSA_AGENT_INFO_GRID_MAX_SIZE: return answer(out, ~uint32_t(0));
  case HSA_AGENT_INFO_QUEUES_MAX: case HSA_AGENT_INFO_QUEUE_MIN_SIZE: return answer(out, uint32_t(64));
  case HSA_AGENT_INFO_QUEUE_MAX_SIZE: return answer(out, uint32_t(16384));
  case HSA_AGENT_INFO_NODE: case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID: return answer(out, uint32_t(gpu));
  case HSA_AGENT_INFO_CACHE_SIZE: return words(out, {16384, 8 << 20, 0, 0});
  case HSA_AMD_AGENT_INFO_CHIP_ID: return answer(out, uint32_t(0x7408));
  case HSA_AMD_AGENT_INFO_CACHELINE_SIZE: return answer(out, uint32_t(64));
  case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT: case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU: return answer(out, uint32_t(4));
  case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY: return answer(out, uint32_t(1700));
  case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY: return answer(out, uint32_t(1600));
  case HSA_AMD_AGENT_INFO_MEMORY_WIDTH: return answer(out, uint32_t(4096));
  case HSA_AMD_AGENT_INFO_BDFID: return answer(out, uint32_t(0x100));
  case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU: return answer(out, uint32_t(32));
  case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES: case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE: case HSA_AMD_AGENT_INFO_ASIC_REVISION:
    return answer(out, uint32_t(1));
  case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES: case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS: return answer(out, false);
  case HSA_AMD_AGENT_INFO_HDP_FLUSH: return answer(out, hsa_amd_hdp_flush_t{});
  case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT: return answer(out, size_t(256));
  case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS: return words(out, {8192, 8192});
  case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS: return words(out, {8192, 8192, 2048});
  // Nanoseconds of a timestamp, which has no name in these headers.
  case 0xa016: return answer(out, uint64_t(100000000));
  default: return answer(out, uint32_t(0));
  }
}

EXPORT hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*tell)(hsa_amd_memory_pool_t, void*), void* data) {
  bool gpu = agent.handle == GPU;
  for (uint64_t pool = gpu ? VIDEO : FINE; pool <= (gpu ? WORKGROUP : ARGUMENTS); pool++)
    if (hsa_status_t status = tell(hsa_amd_memory_pool_t{pool}, data)) return status;
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* out) {
  bool workgroup = pool.handle == WORKGROUP;
  uint32_t flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  if (pool.handle == FINE) flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  if (pool.handle == ARGUMENTS) flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  switch ((int)what) {
  case HSA_AMD_MEMORY_POOL_INFO_SEGMENT: return answer(out, workgroup ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL);
  case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS: return answer(out, flags);
  case HSA_AMD_MEMORY_POOL_INFO_SIZE: return answer(out, workgroup ? size_t(65536) : MEMORY);
  case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE: return answer(out, MEMORY);
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: return answer(out, !workgroup);
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE: case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT: return answer(out, size_t(4096));
  case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL: return answer(out, pool.handle < VIDEO);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}
EXPORT hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool, hsa_amd_agent_memory_pool_info_t what, void* out) {
  bool reached = agent.handle == GPU || pool.handle < VIDEO;
  if (what != HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS) return answer(out, uint32_t(0));
  return answer(out, reached ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT : HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
}
EXPORT hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t, size_t size, uint32_t, void** out) {
  *out = aligned_alloc(4096, (size + 4095) & ~size_t(4095));
  return *out ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}
EXPORT hsa_status_t hsa_amd_memory_pool_free(void* memory) { return free(memory), HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_agents_allow_access(uint32_t, const hsa_agent_t*, const uint32_t*, const void*) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t, hsa_amd_coherency_type_t) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_memory_lock_to_pool(void* host, size_t, hsa_agent_t*, int, hsa_amd_memory_pool_t, uint32_t, void** out) {
  return *out = host, HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_amd_memory_unlock(void*) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_pointer_info(const void*, hsa_amd_pointer_info_t* out, void* (*)(size_t), uint32_t*, hsa_agent_t**) {
  uint32_t size = out->size;
  memset(out, 0, size);
  out->size = size;
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_memory_copy(void* to, const void* from, size_t size) { return memmove(to, from, size), HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_memory_register(void*, size_t) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_memory_deregister(void*, size_t) { return HSA_STATUS_SUCCESS; }

EXPORT hsa_status_t hsa_amd_memory_async_copy(
    void* to, hsa_agent_t, const void* from, hsa_agent_t, size_t size, uint32_t count, const hsa_signal_t* after, hsa_signal_t signal) {
  uint64_t begun = now();
  wait_for(count, after);
  memmove(to, from, size);
  return complete(signal, begun), HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_at, const hsa_pitched_ptr_t* from, const hsa_dim3_t* from_at, const hsa_dim3_t* size, hsa_agent_t,
    hsa_amd_copy_direction_t, uint32_t count, const hsa_signal_t* after, hsa_signal_t signal) {
  uint64_t begun = now();
  wait_for(count, after);
  auto row = [](const hsa_pitched_ptr_t* of, const hsa_dim3_t* at, uint32_t y, uint32_t z) {
    return (char*)of->base + (at->z + z) * of->slice + (at->y + y) * of->pitch + at->x;
  };
  for (uint32_t z = 0; z < size->z; z++)
    for (uint32_t y = 0; y < size->y; y++) memmove(row(to, to_at, y, z), row(from, from_at, y, z), size->x);
  return complete(signal, begun), HSA_STATUS_SUCCESS;
}
