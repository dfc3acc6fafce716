// Signals, and queues whose packets a thread of each takes off. A dispatch is written down, and completes.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "fake.h"

namespace {

// What a signal's handle points at begins as AMD's layout does: the runtime looks at the value itself.
struct alignas(64) Signal {
  int64_t kind = 1;
  std::atomic<int64_t> value{0};
  uint64_t mailbox = 0;
  uint32_t event = 0, reserved = 0;
  uint64_t begun = 0, ended = 0;
};
Signal* of(hsa_signal_t signal) { return (Signal*)signal.handle; }

struct Queue {
  hsa_queue_t base; // First, as the runtime has its address.
  std::atomic<uint64_t> written{0}, read{0};
  std::atomic<bool> ends{false};
  Signal doorbell;
  std::thread thread;
};
Queue* of(const hsa_queue_t* queue) { return (Queue*)queue; }

std::mutex lock;
auto& dispatches = *new std::vector<hsa_kernel_dispatch_packet_t>;

bool holds(hsa_signal_condition_t condition, int64_t value, int64_t with) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ: return value == with;
  case HSA_SIGNAL_CONDITION_NE: return value != with;
  case HSA_SIGNAL_CONDITION_LT: return value < with;
  default: return value >= with;
  }
}

void carry_out(char* packet, int kind) {
  uint64_t begun = now();
  // Every packet has its signal in the same place.
  auto* barrier = (hsa_barrier_and_packet_t*)packet;
  if (kind == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    std::lock_guard<std::mutex> hold(lock);
    dispatches.push_back(*(hsa_kernel_dispatch_packet_t*)packet);
  } else if (kind == HSA_PACKET_TYPE_BARRIER_AND) {
    wait_for(5, barrier->dep_signal);
  }
  complete(barrier->completion_signal, begun);
}

void run(Queue* queue) {
  while (!queue->ends) {
    char* packet = (char*)queue->base.base_address + 64 * (queue->read % queue->base.size);
    // The header is written last, which makes a packet valid.
    int kind = __atomic_load_n((uint16_t*)packet, __ATOMIC_ACQUIRE) & 0xff;
    if (queue->read >= queue->written || kind == HSA_PACKET_TYPE_INVALID) {
      usleep(30);
      continue;
    }
    carry_out(packet, kind);
    __atomic_store_n((uint16_t*)packet, uint16_t(HSA_PACKET_TYPE_INVALID), __ATOMIC_RELEASE);
    queue->read++;
  }
}

} // namespace

void complete(hsa_signal_t signal, uint64_t begun) {
  if (!signal.handle) return;
  of(signal)->begun = begun;
  of(signal)->ended = now();
  of(signal)->value--;
}
void wait_for(uint32_t count, const hsa_signal_t* signals) {
  for (uint32_t n = 0; n < count; n++)
    while (signals[n].handle && of(signals[n])->value != 0) usleep(20);
}

EXPORT hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t, const hsa_agent_t*, hsa_signal_t* out) {
  auto* signal = new Signal;
  signal->value = value;
  out->handle = (uint64_t)signal;
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_amd_signal_create(hsa_signal_value_t value, uint32_t count, const hsa_agent_t* by, uint64_t, hsa_signal_t* out) {
  return hsa_signal_create(value, count, by, out);
}
// Somebody may still look at it.
EXPORT hsa_status_t hsa_signal_destroy(hsa_signal_t) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) { return of(signal)->value; }
EXPORT void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { of(signal)->value = value; }
EXPORT void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) { of(signal)->value = value; }
EXPORT void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { of(signal)->value = value; }
EXPORT void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t by) { of(signal)->value += by; }
EXPORT void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t by) { of(signal)->value -= by; }
EXPORT hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** out) {
  return *out = (volatile hsa_signal_value_t*)&of(signal)->value, HSA_STATUS_SUCCESS;
}
EXPORT hsa_signal_value_t hsa_signal_wait_scacquire(
    hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t with, uint64_t patience, hsa_wait_state_t) {
  uint64_t begun = now();
  while (!holds(condition, of(signal)->value, with) && now() - begun <= patience) usleep(20);
  return of(signal)->value;
}
EXPORT hsa_status_t hsa_amd_signal_async_handler(
    hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t with, hsa_amd_signal_handler handler, void* data) {
  std::thread([=] {
    int64_t value;
    do {
      while (!holds(condition, value = of(signal)->value, with)) usleep(50);
    } while (handler(value, data));
  }).detach();
  return HSA_STATUS_SUCCESS;
}

EXPORT hsa_status_t hsa_queue_create(
    hsa_agent_t, uint32_t size, hsa_queue_type32_t type, void (*)(hsa_status_t, hsa_queue_t*, void*), void*, uint32_t, uint32_t, hsa_queue_t** out) {
  auto* queue = new Queue{};
  queue->base.type = type;
  queue->base.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  queue->base.size = size;
  queue->base.base_address = aligned_alloc(4096, (size * 64 + 4095) & ~4095u);
  queue->base.doorbell_signal.handle = (uint64_t)&queue->doorbell;
  for (uint32_t n = 0; n < size; n++) {
    memset((char*)queue->base.base_address + 64 * n, 0, 64);
    *(uint16_t*)((char*)queue->base.base_address + 64 * n) = HSA_PACKET_TYPE_INVALID;
  }
  queue->thread = std::thread(run, queue);
  return *out = &queue->base, HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  of(queue)->ends = true;
  of(queue)->thread.join();
  return HSA_STATUS_SUCCESS;
}
EXPORT uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t* queue, uint64_t by) { return of(queue)->written.fetch_add(by); }
EXPORT uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue) { return of(queue)->written; }
EXPORT uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue) { return of(queue)->read; }
EXPORT uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue) { return of(queue)->read; }
EXPORT hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t*, hsa_amd_queue_priority_t) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t*, uint32_t, const uint32_t*) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_profiling_async_copy_enable(bool) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* out) {
  *out = {of(signal)->begun, of(signal)->ended};
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* out) {
  *out = {of(signal)->begun, of(signal)->ended};
  return HSA_STATUS_SUCCESS;
}

// For tests: a dispatch so far, by its number. Counts are of invocations. The arguments' memory is the runtime's, which uses it again some time.
EXPORT int fake_hsa_dispatch(unsigned n, uint32_t grid[3], uint32_t workgroup[3], uint32_t* memory, uint64_t* kernel, const void** arguments) {
  std::lock_guard<std::mutex> hold(lock);
  if (n >= dispatches.size()) return 0;
  auto& packet = dispatches[n];
  uint32_t all[2][3] = {{packet.grid_size_x, packet.grid_size_y, packet.grid_size_z}, {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z}};
  memcpy(grid, all[0], sizeof all[0]);
  memcpy(workgroup, all[1], sizeof all[1]);
  *memory = packet.group_segment_size;
  *kernel = packet.kernel_object;
  *arguments = packet.kernarg_address;
  return 1;
}
