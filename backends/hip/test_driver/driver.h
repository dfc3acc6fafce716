// What the parts of the stand-in share. It is a HIP driver for tests: it exports the functions of libamdhip64 and libhiprtc that a backend calls and does
// on the host's processor what they ask for. All of it is ours, nothing is AMD's; what it shows is that the calls are right as HIP's manual has them,
// not that AMD's driver takes them. It is stricter than that one where it can be: see README.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernel_interface.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// The numbers of hipError_t that are answered here.
enum Error : int {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE_POINTER = 17,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  PEER_ENABLED = 704,
  LAUNCH_FAILURE = 719,
  NOT_SUPPORTED = 801,
};

// --- control.cpp: what tests ask for, and every call's first line.

struct Settings {
  unsigned wave = 64;
  int devices = 1;
  bool pools = true;
  int version = 60443484;
  size_t memory = size_t(2) << 30;
  bool peers_deliver = true;
  unsigned delay = 0; // Microseconds that a piece of work waits at most before it runs.
  std::string cache;
};
Settings& settings();
const char* architecture();

// A call has begun. `error`: what it has to answer at once. `late`: what it enqueues has to fail.
struct Call {
  // `device`: whether it is one that the end of the device reaches.
  explicit Call(const char* name, bool device = true);
  Error error = SUCCESS;
  int late = 0;
};
#define BEGIN \
  Call call(__func__); \
  if (call.error) return call.error

// An error after which every call answers it. The first stays.
void poison(int error);
int poisoned();
// A caller's mistake that AMD's driver might not notice: said on the standard error, and counted.
void mistake(const char* format, ...) __attribute__((format(printf, 1, 2)));

enum Kind { MEMORY, HOST_MEMORY, POOL, STREAM, EVENT, MODULE, GRAPH, EXECUTABLE, PROGRAM, RETAINED, KINDS };
void count(Kind kind, int by);

// --- device.cpp

int current_device();

// --- memory.cpp

// Whether these bytes lie in one living allocation (of the device, or pinned); said as a mistake where they do not.
bool in_device(const void* address, size_t size, const char* what);
// Whether this is not the device's memory, likewise.
bool in_host(const void* address, const char* what);
bool is_pinned(const void* address, size_t size);

// --- stream.cpp

struct Stream;
struct Event;
// Enqueues work. A late failure poisons the device in its place.
Error enqueue(void* stream, const Call& call, std::function<void()> work);
// Waits for everything that is enqueued anywhere.
void drain_all();
Stream* find(void* stream);

// --- execute.cpp

struct Launch {
  const HipKernel* kernel;
  bool meets;
  unsigned grid[3], block[3];
  std::vector<char> arguments;
  unsigned dynamic;
};
// Runs all workgroups of a launch on this thread.
void execute(const Launch& launch);

// --- module.cpp

// Checks a launch and takes its arguments over.
Error prepare(void* function, const unsigned* grid, const unsigned* block, unsigned shared, void** arguments, void** extra, Launch& launch);

// --- copy.cpp

Error check_copy(void* to, const void* from, size_t size, int kind);
