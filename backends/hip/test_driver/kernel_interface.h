// What the stand-in and the kernels that it compiles know of each other. Kernels include it before their text, so it includes nothing.
#pragma once

struct HipGroup;

// An invocation.
struct HipLane {
  unsigned x, y, z, index;
  unsigned word; // What it gives to the others of its subgroup.
  int state;
  HipGroup* group;
  void* stack;
};

// A workgroup.
struct HipGroup {
  unsigned at[3], grid[3], block[3];
  unsigned count; // Invocations.
  HipLane* lanes;
  void* dynamic;
};

struct HipKernel {
  const char* name;
  void (*run)(const char* arguments); // One invocation.
  unsigned argument_size;
  unsigned most; // Invocations of a workgroup; 0: not said.
};

enum { HIP_RUNS, HIP_MEETS_SUBGROUP, HIP_MEETS_GROUP, HIP_DONE };

// The invocation that this thread runs.
extern "C" __attribute__((visibility("default"), tls_model("initial-exec"))) __thread HipLane* hip_lane;
// Goes on when the others are there, too.
extern "C" __attribute__((visibility("default"))) void hip_meet(int whom);
// Ends this invocation's subgroup.
extern "C" __attribute__((visibility("default"), noreturn)) void hip_leave();
// A clock of 100 MHz.
extern "C" __attribute__((visibility("default"))) unsigned long hip_clock();
