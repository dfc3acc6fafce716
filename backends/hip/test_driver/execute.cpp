// Runs workgroups. Invocations that meet (at barriers, or in operations of their subgroup) are fibers of the stream's thread: each runs until it has to
// wait, and goes on when all that it waits for are there. Kernels in which nobody waits need none of that.
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "driver.h"

__thread HipLane* hip_lane;

namespace {

constexpr size_t STACK = 256 << 10;

#if defined(__x86_64__)
// Saves what a call has to keep on the stack, and goes on where another stack was left.
extern "C" void hip_switch(void** from, void* to);
asm(R"(
.text
.globl hip_switch
.hidden hip_switch
.type hip_switch, @function
hip_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hip_switch, .-hip_switch
)");

void* fresh(char* top, void (*start)()) {
  void** stack = (void**)((uintptr_t)top & ~(uintptr_t)15) - 2;
  stack[0] = (void*)start;
  stack[1] = nullptr;
  stack -= 6;
  memset(stack, 0, 6 * sizeof *stack);
  return stack;
}
#else
void hip_switch(void** from, void* to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, (ucontext_t*)to);
}

void* fresh(char* top, void (*start)()) {
  // It stands at the bottom of its own stack.
  ucontext_t* context = (ucontext_t*)(top - STACK);
  getcontext(context);
  context->uc_stack.ss_sp = context + 1;
  context->uc_stack.ss_size = STACK - sizeof *context;
  context->uc_link = nullptr;
  makecontext(context, start, 0);
  return context;
}
#endif

// What a thread needs to run workgroups.
struct Runner {
  std::vector<HipLane> lanes;
  std::vector<char> dynamic;
  char* stacks = nullptr;
  size_t stack_count = 0;
  void* scheduler = nullptr;
  const Launch* launch = nullptr;
  bool deadlocked = false;

  ~Runner() {
    if (stacks) munmap(stacks, stack_count * STACK);
  }
};
thread_local Runner runner;

void start() {
  runner.launch->kernel->run(runner.launch->arguments.data());
  hip_lane->state = HIP_DONE;
  hip_switch(&hip_lane->stack, runner.scheduler);
  __builtin_trap();
}

void resume(HipLane& lane) {
  hip_lane = &lane;
  lane.state = HIP_RUNS;
  hip_switch(&runner.scheduler, lane.stack);
}

// Lets a subgroup run until all of its lanes have ended or wait for the workgroup. Whether any ran.
bool subgroup(HipLane* lanes, unsigned count, bool reversed) {
  bool ran = false;
  for (;;) {
    bool any = false;
    for (unsigned n = 0; n < count; n++) {
      HipLane& lane = lanes[reversed ? count - 1 - n : n];
      if (lane.state != HIP_RUNS) continue;
      resume(lane);
      any = true;
    }
    ran |= any;
    unsigned meeting = 0, alive = 0;
    for (unsigned n = 0; n < count; n++) {
      meeting += lanes[n].state == HIP_MEETS_SUBGROUP;
      alive += lanes[n].state != HIP_DONE;
    }
    // Some wait for their subgroup, others for the workgroup: nobody will come.
    if (meeting == 0 || meeting != alive) return ran;
    for (unsigned n = 0; n < count; n++) if (lanes[n].state == HIP_MEETS_SUBGROUP) lanes[n].state = HIP_RUNS;
    // The other way round, so that what one lane leaves to the next without meeting it does not look right.
    reversed = !reversed;
  }
}

void with_fibers(HipGroup& group) {
  Runner& r = runner;
  if (r.stack_count < group.count) {
    if (r.stacks) munmap(r.stacks, r.stack_count * STACK);
    r.stacks = (char*)mmap(nullptr, group.count * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    r.stack_count = r.stacks == MAP_FAILED ? 0 : group.count;
    if (r.stack_count == 0) return poison(OUT_OF_MEMORY);
  }
  for (unsigned n = 0; n < group.count; n++) group.lanes[n].stack = fresh(r.stacks + (n + 1) * STACK, start);
  unsigned wave = settings().wave, waves = (group.count + wave - 1) / wave;
  for (bool reversed = group.at[0] & 1;; reversed = !reversed) {
    bool ran = false;
    for (unsigned n = 0; n < waves; n++) {
      unsigned first = (reversed ? waves - 1 - n : n) * wave;
      ran |= subgroup(group.lanes + first, std::min(wave, group.count - first), reversed);
    }
    unsigned meeting = 0, alive = 0;
    for (unsigned n = 0; n < group.count; n++) {
      meeting += group.lanes[n].state == HIP_MEETS_GROUP;
      alive += group.lanes[n].state != HIP_DONE;
    }
    if (alive == 0) return;
    if (meeting == alive) {
      for (unsigned n = 0; n < group.count; n++) if (group.lanes[n].state == HIP_MEETS_GROUP) group.lanes[n].state = HIP_RUNS;
    } else if (!ran) {
      mistake("%s: %u of %u invocations wait for others that never come", r.launch->kernel->name, alive - meeting, alive);
      return poison(LAUNCH_FAILURE);
    }
  }
}

} // namespace

extern "C" void hip_meet(int whom) {
  hip_lane->state = whom;
  hip_switch(&hip_lane->stack, runner.scheduler);
}

extern "C" void hip_leave() {
  unsigned wave = settings().wave, first = hip_lane->index / wave * wave;
  HipGroup& group = *hip_lane->group;
  for (unsigned n = first; n < group.count && n < first + wave; n++) group.lanes[n].state = HIP_DONE;
  hip_switch(&hip_lane->stack, runner.scheduler);
  __builtin_trap();
}

extern "C" unsigned long hip_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long)now.tv_sec * 100000000ul + (unsigned long)now.tv_nsec / 10ul;
}

void execute(const Launch& launch) {
  Runner& r = runner;
  r.launch = &launch;
  HipGroup group{};
  group.count = launch.block[0] * launch.block[1] * launch.block[2];
  memcpy(group.grid, launch.grid, sizeof group.grid);
  memcpy(group.block, launch.block, sizeof group.block);
  if (r.lanes.size() < group.count) r.lanes.resize(group.count);
  r.dynamic.resize(launch.dynamic + 64);
  group.lanes = r.lanes.data();
  group.dynamic = (void*)(((uintptr_t)r.dynamic.data() + 63) & ~(uintptr_t)63);
  unsigned index = 0;
  for (unsigned z = 0; z < launch.block[2]; z++)
    for (unsigned y = 0; y < launch.block[1]; y++)
      for (unsigned x = 0; x < launch.block[0]; x++, index++) r.lanes[index] = HipLane{x, y, z, index, 0, HIP_RUNS, &group, nullptr};
  for (group.at[2] = 0; group.at[2] < launch.grid[2]; group.at[2]++)
    for (group.at[1] = 0; group.at[1] < launch.grid[1]; group.at[1]++)
      for (group.at[0] = 0; group.at[0] < launch.grid[0]; group.at[0]++) {
        if (launch.meets) {
          for (unsigned n = 0; n < group.count; n++) group.lanes[n].state = HIP_RUNS;
          with_fibers(group);
          if (poisoned()) return;
          continue;
        }
        for (unsigned n = 0; n < group.count; n++) {
          hip_lane = group.lanes + n;
          launch.kernel->run(launch.arguments.data());
        }
      }
}
