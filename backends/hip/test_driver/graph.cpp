// Graphs of explicit nodes. What is instantiated is a list in the order in which nodes were added, which is one that their edges allow.
#include "driver.h"

namespace {

struct Node {
  std::function<void()> work;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
};

struct Executable {
  std::mutex lock;
  // A node of the graph, and what it does here.
  std::vector<std::pair<Node*, std::function<void()>>> nodes;
};

struct KernelParameters { // hipKernelNodeParams
  unsigned block[3];
  void** extra;
  void* function;
  unsigned grid[3];
  void** arguments;
  unsigned shared;
};

struct FillParameters { // hipMemsetParams
  void* to;
  unsigned element;
  size_t height, pitch;
  unsigned value;
  size_t width;
};

struct Pitched { void* pointer; size_t pitch, width, height; };
struct CopyParameters { // hipMemcpy3DParms
  void* from_array;
  size_t from_at[3];
  Pitched from;
  void* to_array;
  size_t to_at[3];
  Pitched to;
  size_t extent[3];
  int kind;
};

std::mutex lock;
auto& graphs = *new std::set<Graph*>;
auto& executables = *new std::map<Executable*, std::shared_ptr<Executable>>;

Error add(void** out, void* handle, void* const* after, size_t count, std::function<void()> work) {
  std::lock_guard<std::mutex> hold(lock);
  auto* graph = (Graph*)handle;
  if (!graphs.count(graph)) return INVALID_HANDLE;
  for (size_t n = 0; n < count; n++) {
    bool found = false;
    for (auto& node : graph->nodes) found |= node.get() == after[n];
    if (!found) return INVALID_VALUE;
  }
  graph->nodes.push_back(std::make_shared<Node>(Node{std::move(work)}));
  *out = graph->nodes.back().get();
  return SUCCESS;
}

Error kernel(const KernelParameters* p, std::function<void()>& work) {
  auto launch = std::make_shared<Launch>();
  Error error = prepare(p->function, p->grid, p->block, p->shared, p->arguments, p->extra, *launch);
  work = [launch] { execute(*launch); };
  return error;
}

Error copy(void* to, const void* from, size_t size, int kind, std::function<void()>& work) {
  work = [=] { if (check_copy(to, from, size, kind)) poison(ILLEGAL_ADDRESS); else memmove(to, from, size); };
  return check_copy(to, from, size, kind);
}

Error fill(const FillParameters* p, std::function<void()>& work) {
  FillParameters f = *p;
  size_t size = f.height ? f.pitch * (f.height - 1) + f.width * f.element : 0;
  if ((f.element != 1 && f.element != 2 && f.element != 4) || f.height > 1 && f.width * f.element > f.pitch) return INVALID_VALUE;
  if (f.height == 1) size = f.width * f.element;
  work = [=] {
    if (!in_device(f.to, size, "a fill of a graph")) return poison(ILLEGAL_ADDRESS);
    for (size_t row = 0; row < f.height; row++)
      for (size_t n = 0; n < f.width; n++) memcpy((char*)f.to + row * f.pitch + n * f.element, &f.value, f.element);
  };
  return in_device(f.to, size, "a fill of a graph") ? SUCCESS : INVALID_VALUE;
}

Error rows(const CopyParameters* p, std::function<void()>& work) {
  CopyParameters c = *p;
  char* to = (char*)c.to.pointer + c.to_at[0] + c.to_at[1] * c.to.pitch;
  const char* from = (const char*)c.from.pointer + c.from_at[0] + c.from_at[1] * c.from.pitch;
  size_t width = c.extent[0], height = c.extent[1];
  if (c.extent[2] != 1 || height == 0 || c.from_array || c.to_array) return INVALID_VALUE;
  auto check = [=] {
    Error error = check_copy(to, from, width, c.kind);
    return error ? error : check_copy(to + (height - 1) * c.to.pitch, from + (height - 1) * c.from.pitch, width, c.kind);
  };
  work = [=] {
    if (check()) return poison(ILLEGAL_ADDRESS);
    for (size_t row = 0; row < height; row++) memmove(to + row * c.to.pitch, from + row * c.from.pitch, width);
  };
  return check();
}

Error update(void* handle, void* node, std::function<void()> work) {
  std::shared_ptr<Executable> executable;
  {
    std::lock_guard<std::mutex> hold(lock);
    auto found = executables.find((Executable*)handle);
    if (found == executables.end()) return INVALID_HANDLE;
    executable = found->second;
  }
  std::lock_guard<std::mutex> hold(executable->lock);
  for (auto& [name, old] : executable->nodes)
    if (name == node) {
      old = std::move(work);
      return SUCCESS;
    }
  return INVALID_VALUE;
}

} // namespace

EXPORT int hipGraphCreate(void** out, unsigned) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  auto* graph = new Graph;
  graphs.insert(graph);
  count(GRAPH, 1);
  *out = graph;
  return SUCCESS;
}
EXPORT int hipGraphDestroy(void* handle) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  if (!graphs.erase((Graph*)handle)) return INVALID_HANDLE;
  delete (Graph*)handle;
  count(GRAPH, -1);
  return SUCCESS;
}
EXPORT int hipGraphAddEmptyNode(void** out, void* graph, void* const* after, size_t count) { BEGIN; return add(out, graph, after, count, [] {}); }
EXPORT int hipGraphAddKernelNode(void** out, void* graph, void* const* after, size_t count, const KernelParameters* p) {
  BEGIN;
  std::function<void()> work;
  Error error = kernel(p, work);
  return error ? error : add(out, graph, after, count, work);
}
EXPORT int hipGraphAddMemcpyNode1D(void** out, void* graph, void* const* after, size_t count, void* to, const void* from, size_t size, int kind) {
  BEGIN;
  std::function<void()> work;
  Error error = copy(to, from, size, kind, work);
  return error ? error : add(out, graph, after, count, work);
}
EXPORT int hipGraphAddMemcpyNode(void** out, void* graph, void* const* after, size_t count, const CopyParameters* p) {
  BEGIN;
  std::function<void()> work;
  Error error = rows(p, work);
  return error ? error : add(out, graph, after, count, work);
}
EXPORT int hipGraphAddMemsetNode(void** out, void* graph, void* const* after, size_t count, const FillParameters* p) {
  BEGIN;
  std::function<void()> work;
  Error error = fill(p, work);
  return error ? error : add(out, graph, after, count, work);
}
static Error instantiate(void** out, void* handle) {
  std::lock_guard<std::mutex> hold(lock);
  auto* graph = (Graph*)handle;
  if (!graphs.count(graph)) return INVALID_HANDLE;
  auto executable = std::make_shared<Executable>();
  for (auto& node : graph->nodes) executable->nodes.push_back({node.get(), node->work});
  executables[executable.get()] = executable;
  count(EXECUTABLE, 1);
  *out = executable.get();
  return SUCCESS;
}
EXPORT int hipGraphInstantiate(void** out, void* graph, void**, char*, size_t) { BEGIN; return instantiate(out, graph); }
EXPORT int hipGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) { BEGIN; return instantiate(out, graph); }
EXPORT int hipGraphExecKernelNodeSetParams(void* executable, void* node, const KernelParameters* p) {
  BEGIN;
  std::function<void()> work;
  Error error = kernel(p, work);
  return error ? error : update(executable, node, work);
}
EXPORT int hipGraphExecMemcpyNodeSetParams1D(void* executable, void* node, void* to, const void* from, size_t size, int kind) {
  BEGIN;
  std::function<void()> work;
  Error error = copy(to, from, size, kind, work);
  return error ? error : update(executable, node, work);
}
EXPORT int hipGraphExecMemsetNodeSetParams(void* executable, void* node, const FillParameters* p) {
  BEGIN;
  std::function<void()> work;
  Error error = fill(p, work);
  return error ? error : update(executable, node, work);
}
EXPORT int hipGraphLaunch(void* handle, void* stream) {
  BEGIN;
  std::shared_ptr<Executable> executable;
  {
    std::lock_guard<std::mutex> hold(lock);
    auto found = executables.find((Executable*)handle);
    if (found == executables.end()) return INVALID_HANDLE;
    executable = found->second;
  }
  // What is launched is the graph as it is now, whatever is replaced later.
  std::lock_guard<std::mutex> hold(executable->lock);
  auto nodes = executable->nodes;
  return enqueue(stream, call, [nodes] { for (auto& [_, work] : nodes) if (!poisoned()) work(); });
}
EXPORT int hipGraphExecDestroy(void* handle) {
  BEGIN;
  std::lock_guard<std::mutex> hold(lock);
  if (!executables.erase((Executable*)handle)) return INVALID_HANDLE;
  count(EXECUTABLE, -1);
  return SUCCESS;
}
