// Runs a kernel on what stands in the standard input, and writes the bindings to the standard output: counts and sizes as words of 64 bits, then bytes.
#include <thread>
#include <vector>
static unsigned long long number() { unsigned long long n = 0; if (fread(&n, 8, 1, stdin) != 1) abort(); return n; }
static std::vector<char*> read_all(std::vector<size_t>& sizes) {
  std::vector<char*> all;
  for (unsigned long long count = number(); count > 0; count--) {
    size_t size = number();
    char* bytes = (char*)aligned_alloc(64, (size + 64) / 64 * 64);
    if (fread(bytes, 1, size, stdin) != size) abort();
    all.push_back(bytes);
    sizes.push_back(size);
  }
  return all;
}
int main() {
  alarm(100);
  std::vector<size_t> sizes, parameter_sizes;
  std::vector<char*> bindings = read_all(sizes);
  char* parameters = read_all(parameter_sizes)[0];
  if (parameter_sizes[0] != sizeof(compute::Parameters)) abort();
  for (unsigned long long count = number(); count > 0; count--) {
    size_t offset = number();
    char* address = bindings[number()];
    memcpy(parameters + offset, &address, 8);
  }
  for (int axis = 0; axis < 3; axis++) compute::host_groups[axis] = (unsigned)number();
  compute::Parameters c;
  memcpy(&c, parameters, sizeof c);
  pthread_barrier_init(&compute::host_barrier, 0, C_INVOCATIONS);
  for (unsigned first = 0, n = 0; first < C_INVOCATIONS; first += C_WAVE, n++) {
    unsigned rest = C_INVOCATIONS - first;
    pthread_barrier_init(&compute::host_subgroup_barriers[n], 0, rest < C_WAVE ? rest : C_WAVE);
  }
  unsigned* g = compute::host_group;
  unsigned* n = compute::host_groups;
  for (g[2] = 0; g[2] < n[2]; g[2]++) for (g[1] = 0; g[1] < n[1]; g[1]++) for (g[0] = 0; g[0] < n[0]; g[0]++) {
    std::vector<std::thread> threads;
    for (unsigned z = 0; z < C_SIZE_Z; z++) for (unsigned y = 0; y < C_SIZE_Y; y++) for (unsigned x = 0; x < C_SIZE_X; x++) {
      auto invocation = [=] {
        unsigned id[3] = {x, y, z};
        memcpy(compute::host_thread, id, sizeof id);
        try { ENTRY(c); } catch (compute::HostLeft&) {}
      };
      if (C_INVOCATIONS == 1) invocation(); else threads.emplace_back(invocation);
    }
    for (auto& thread : threads) thread.join();
  }
  for (size_t i = 0; i < bindings.size(); i++) fwrite(bindings[i], 1, sizes[i], stdout);
}
