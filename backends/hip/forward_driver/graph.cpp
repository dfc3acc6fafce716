// Graphs: the handles are CUDA's, the parameters of nodes are made into CUDA's.
#include "forward.h"

namespace {

struct Axes {
  unsigned x, y, z;
};

// hipKernelNodeParams
struct HipKernelNode {
  Axes block;
  void** extra;
  Handle function;
  Axes grid;
  void** arguments;
  unsigned shared;
};

// hipMemsetParams
struct HipFillNode {
  void* to;
  unsigned element;
  size_t height, pitch;
  unsigned value;
  size_t width;
};

// Calls `use_it` with the same launch as CUDA has it.
template<class F> int with_kernel(const HipKernelNode* launch, F use_it) {
  if (!launch) return INVALID_VALUE;
  auto [gx, gy, gz] = launch->grid;
  auto [bx, by, bz] = launch->block;
  KernelNode own = {launch->function, {gx, gy, gz}, {bx, by, bz}, launch->shared, launch->arguments, nullptr, nullptr, nullptr};
  if (!fits(own.grid, own.block)) return INVALID_CONFIGURATION;
  if (own.arguments) return in_hip(use_it(&own));
  Extra extra(launch->extra);
  own.extra = extra.all;
  return extra.error ? extra.error : in_hip(use_it(&own));
}

FillNode fill_of(const HipFillNode& fill) { return {address(fill.to), fill.pitch, fill.value, fill.element, fill.width, fill.height}; }

} // namespace

EXPORT int hipGraphCreate(Handle* out, unsigned flags) { ENTER; return in_hip(cu.graph_create(out, flags)); }
EXPORT int hipGraphDestroy(Handle graph) { ENTER; return in_hip(cu.graph_destroy(graph)); }
EXPORT int hipGraphInstantiateWithFlags(Handle* out, Handle graph, unsigned long long flags) { ENTER; return in_hip(cu.graph_instantiate(out, graph, flags)); }
EXPORT int hipGraphLaunch(Handle executable, Handle stream) { ENTER; return in_hip(cu.graph_launch(executable, stream)); }
EXPORT int hipGraphExecDestroy(Handle executable) { ENTER; return in_hip(cu.executable_destroy(executable)); }

EXPORT int hipGraphAddEmptyNode(Handle* out, Handle graph, const Handle* after, size_t count) {
  ENTER;
  return in_hip(cu.add_empty(out, graph, after, count));
}
EXPORT int hipGraphAddKernelNode(Handle* out, Handle graph, const Handle* after, size_t count, const HipKernelNode* launch) {
  ENTER;
  return with_kernel(launch, [&](const KernelNode* own) { return cu.add_kernel(out, graph, after, count, own); });
}
EXPORT int hipGraphAddMemsetNode(Handle* out, Handle graph, const Handle* after, size_t count, const HipFillNode* fill) {
  ENTER;
  FillNode own = fill_of(*fill);
  return in_hip(cu.add_fill(out, graph, after, count, &own, context));
}
EXPORT int hipGraphAddMemcpyNode1D(
    Handle* out, Handle graph, const Handle* after, size_t count, void* to, const void* from, size_t size, int kind) {
  ENTER;
  Copy3d own = run_of_bytes(to, from, size, kind);
  return in_hip(cu.add_copy(out, graph, after, count, &own, context));
}
EXPORT int hipGraphExecKernelNodeSetParams(Handle executable, Handle node, const HipKernelNode* launch) {
  ENTER;
  return with_kernel(launch, [&](const KernelNode* own) { return cu.set_kernel(executable, node, own); });
}
EXPORT int hipGraphExecMemsetNodeSetParams(Handle executable, Handle node, const HipFillNode* fill) {
  ENTER;
  FillNode own = fill_of(*fill);
  return in_hip(cu.set_fill(executable, node, &own, context));
}
EXPORT int hipGraphExecMemcpyNodeSetParams1D(Handle executable, Handle node, void* to, const void* from, size_t size, int kind) {
  ENTER;
  Copy3d own = run_of_bytes(to, from, size, kind);
  return in_hip(cu.set_copy(executable, node, &own, context));
}
