// What tests ask for (settings, failures, counts), and the first line of every call.
#include <cstdarg>
#include <cstdlib>

#include "driver.h"

namespace {

std::atomic<int> sticky{0};
std::atomic<long> calls{0}, mistakes{0}, living[KINDS];
// The call that fails: how many more of those that count there are until then, what it answers, and whether that shows at once.
std::mutex plan_lock;
long planned = 0;
int planned_code = 0;
bool planned_late = false;
auto& planned_name = *new std::string;
auto& planned_only = *new std::string;
auto& called = *new std::map<std::string, long>;

unsigned long number(const char* name, unsigned long otherwise) {
  const char* text = getenv(name);
  return text && *text ? strtoul(text, nullptr, 0) : otherwise;
}

Settings read_settings() {
  Settings s;
  s.wave = number("HIP_TEST_WAVE", s.wave) == 32 ? 32 : 64;
  s.devices = (int)number("HIP_TEST_DEVICES", s.devices);
  s.pools = number("HIP_TEST_POOLS", s.pools) != 0;
  s.version = (int)number("HIP_TEST_VERSION", s.version);
  s.memory = number("HIP_TEST_MEMORY", s.memory);
  const char* peer = getenv("HIP_TEST_PEER");
  s.peers_deliver = !peer || std::string(peer) != "wrong";
  s.delay = (unsigned)number("HIP_TEST_DELAY", s.delay);
  const char* cache = getenv("HIP_TEST_CACHE");
  s.cache = cache && *cache ? cache : "/tmp/hip-test-cache";
  return s;
}

} // namespace

Settings& settings() {
  static Settings& all = *new Settings(read_settings());
  return all;
}

const char* architecture() { return settings().wave == 64 ? "gfx90a:sramecc+:xnack-" : "gfx1100"; }

Call::Call(const char* name, bool device) {
  if (int code = device ? sticky.load() : 0) {
    error = (Error)code;
    return;
  }
  ++calls;
  std::lock_guard<std::mutex> lock(plan_lock);
  called[name]++;
  if (planned == 0 || std::string(name).rfind(planned_only, 0) != 0 || --planned > 0) return;
  planned_name = name;
  if (planned_late) late = planned_code;
  else error = (Error)planned_code;
}

void poison(int error) {
  int none = 0;
  sticky.compare_exchange_strong(none, error);
}

int poisoned() { return sticky.load(); }

void mistake(const char* format, ...) {
  mistakes++;
  va_list list;
  va_start(list, format);
  fputs("HIP test driver: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

void count(Kind kind, int by) { living[kind] += by; }

// --- For tests, found with dlsym.

// The n-th call from now on answers `code`, or with `late` succeeds, and what it enqueues ends the device with `code` when its turn comes. 0: none.
EXPORT void hip_test_fail(long n, int code, int late) {
  std::lock_guard<std::mutex> lock(plan_lock);
  planned = n > 0 ? n : 0;
  planned_code = code;
  planned_late = late != 0;
  planned_name.clear();
}
// Only calls whose name begins like that count for `hip_test_fail`. An empty text: all.
EXPORT void hip_test_only(const char* name) {
  std::lock_guard<std::mutex> lock(plan_lock);
  planned_only = name;
}
// The name of the call that failed, or an empty text.
EXPORT const char* hip_test_failed(void) {
  static thread_local std::string name;
  std::lock_guard<std::mutex> lock(plan_lock);
  name = planned_name;
  return name.c_str();
}
// How often a call has been made, by its place among the names of all that have been. 0: there are no more.
EXPORT long hip_test_called(int n, const char** name) {
  std::lock_guard<std::mutex> lock(plan_lock);
  if (n < 0 || n >= (int)called.size()) return 0;
  auto& [found, times] = *std::next(called.begin(), n);
  *name = found.c_str();
  return times;
}
// As a new process would find it, but for what still lives.
EXPORT void hip_test_heal(void) {
  hip_test_fail(0, 0, 0);
  sticky = 0;
}
EXPORT void hip_test_poison(int code) { poison(code); }
EXPORT long hip_test_calls(void) { return calls; }
EXPORT long hip_test_mistakes(void) { return mistakes; }
// How many there are of a kind: allocations, host allocations, pools, streams, events, modules, graphs, executable graphs, programs, retained contexts.
EXPORT long hip_test_living(int kind) { return kind >= 0 && kind < KINDS ? living[kind].load() : -1; }
EXPORT void hip_test_set(const char* name, unsigned long value) {
  Settings& s = settings();
  std::string what = name;
  if (what == "wave") s.wave = value == 32 ? 32 : 64;
  if (what == "devices") s.devices = (int)value;
  if (what == "pools") s.pools = value != 0;
  if (what == "version") s.version = (int)value;
  if (what == "delay") s.delay = (unsigned)value;
}
