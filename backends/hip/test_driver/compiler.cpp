// hiprtc: HIP C++ is compiled for the host by clang, with kernel.h in front. What it makes is kept in a folder by its content, as compiling costs most.
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler.h"
#include "embedded.h"

namespace {

// The numbers of hiprtcResult.
enum { DONE = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, FAILED = 6, INTERNAL = 11 };

const char MAGIC[] = "HIP test object for ";

struct Program {
  std::string source, name, log, code;
};

std::mutex lock;
auto& programs = *new std::set<Program*>;

Program* known(void* program) {
  std::lock_guard<std::mutex> hold(lock);
  return programs.count((Program*)program) ? (Program*)program : nullptr;
}

std::string read_file(const std::string& path) {
  std::string all;
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return all;
  char some[1 << 14];
  for (size_t got; (got = fread(some, 1, sizeof some, file)) > 0;) all.append(some, got);
  fclose(file);
  return all;
}

// Two hashes of FNV's kind with different bases make one of 128 bits; nobody attacks it.
std::string hash(const std::string& text) {
  uint64_t a = 14695981039346656037ull, b = 1099511628211ull;
  for (unsigned char byte : text) {
    a = (a ^ byte) * 1099511628211ull;
    b = (b + byte) * 6364136223846793005ull + 1442695040888963407ull;
  }
  char out[40];
  snprintf(out, sizeof out, "%016lx%016lx", (unsigned long)a, (unsigned long)b);
  return out;
}

bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

void skip_space(const std::string& text, size_t& at) {
  while (at < text.size() && isspace((unsigned char)text[at])) at++;
}

std::string word(const std::string& text, size_t& at) {
  skip_space(text, at);
  size_t from = at;
  while (at < text.size() && in_word(text[at])) at++;
  return text.substr(from, at - from);
}

// A number in parentheses, which may hold more behind it.
std::string in_parentheses(const std::string& text, size_t& at) {
  skip_space(text, at);
  if (at >= text.size() || text[at] != '(') return "0";
  std::string number = word(text, ++at);
  at = text.find(')', at);
  at = at == std::string::npos ? text.size() : at + 1;
  return number;
}

// The kernels of a text, as entries of the table that a module is found by: `C_KERNEL(64) name(` in the texts of this project,
// `__global__ void __launch_bounds__(64) name(` in others.
std::string kernels(const std::string& source) {
  std::string all;
  for (size_t at = 0; (at = source.find("\nC_KERNEL(", at)) != std::string::npos;) {
    at += strlen("\nC_KERNEL");
    std::string most = in_parentheses(source, at), name = word(source, at);
    all += "HIP_KERNEL(" + name + ", " + most + "),\n";
  }
  for (size_t at = 0; (at = source.find("__global__", at)) != std::string::npos;) {
    at += strlen("__global__");
    if (word(source, at) != "void") continue;
    std::string name = word(source, at), most = "0";
    if (name == "__launch_bounds__") {
      most = in_parentheses(source, at);
      name = word(source, at);
    }
    all += "HIP_KERNEL(" + name + ", " + most + "),\n";
  }
  return all;
}

// Workgroup memory whose size the launch says is reached through the workgroup: `C_DYNAMIC type name[];`, `extern __shared__ type name[];`.
std::string with_dynamic_memory(std::string source) {
  for (const char* start : {"\nC_DYNAMIC ", "extern __shared__ "}) {
    size_t from = source.find(start);
    if (from == std::string::npos) continue;
    size_t at = from + strlen(start);
    std::string type = word(source, at), name = word(source, at);
    size_t end = source.find(';', at);
    if (source.compare(at, 2, "[]") || end == std::string::npos) continue;
    std::string pointer = type + "*";
    source.replace(from, end + 1 - from,
      "\nstatic struct { operator " + pointer + "() const { return (" + pointer + ")hip_lane->group->dynamic; } } " + name + ";");
  }
  return source;
}

std::string unit(const std::string& source, const std::string& name) {
  return std::string(KERNEL_INTERFACE_H) + KERNEL_H + "#line 1 \"" + name + "\"\n" + with_dynamic_memory(source) +
    "\n#undef __attribute__\nusing namespace compute;\nextern \"C\" __attribute__((visibility(\"default\"))) const HipKernel hip_kernels[] = {\n" +
    kernels(source) + "{}};\n";
}

// Runs the compiler; what it said.
bool run(std::vector<std::string> words, std::string& log) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC)) return false;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = vfork();
  if (child == 0) {
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipes[1]);
  char some[4096];
  for (ssize_t got; (got = read(pipes[0], some, sizeof some)) > 0;) log.append(some, (size_t)got);
  close(pipes[0]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) log += "the compiler cannot be started: " + words[0];
  return status == 0;
}

// What clang is told for the host, of what hiprtc is told for the device. False: no option of hiprtc's.
bool translate(const std::string& option, std::vector<std::string>& words, std::string& target) {
  for (const char* prefix : {"--offload-arch=", "--gpu-architecture="})
    if (option.rfind(prefix, 0) == 0) {
      target = option.substr(strlen(prefix));
      return true;
    }
  if (option == "-fhip-fp32-correctly-rounded-divide-sqrt") return true;
  if (option.rfind("-f", 0) == 0 || option.rfind("-std=", 0) == 0 || option.rfind("-D", 0) == 0 || option.rfind("-O", 0) == 0 || option == "-w") {
    // Templates on functions need a later language than kernels are written in.
    if (option.rfind("-std=", 0) != 0 && option.rfind("-O", 0) != 0) words.push_back(option);
    return true;
  }
  return false;
}

// Kernels name this library as one that they need.
std::string own_path() {
  Dl_info info;
  return dladdr((void*)&hip_meet, &info) ? info.dli_fname : "";
}

bool compile(Program& program, const std::vector<std::string>& options, std::string& target) {
  std::vector<std::string> words = {"clang++-19", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-march=native",
    "-fno-math-errno", "-fno-strict-aliasing", "-Xclang", "-ffloat16-excess-precision=none", "-fno-caret-diagnostics", "-s"};
  for (auto& option : options)
    if (!translate(option, words, target)) {
      program.log = "unknown option " + option;
      return false;
    }
  std::string plain = target.substr(0, target.find(':'));
  bool wide = plain.rfind("gfx9", 0) == 0 || plain.rfind("gfx8", 0) == 0;
  words.push_back(std::string("-D__AMDGCN_WAVEFRONT_SIZE=") + (wide ? "64" : "32"));
  std::string text = unit(program.source, program.name), key = text;
  for (auto& word : words) key += '\0' + word;
  std::string stem = settings().cache + "/" + hash(key), object = stem + ".so";
  mkdir(settings().cache.c_str(), 0777);
  program.code = read_file(object);
  if (program.code.empty()) {
    std::string mine = stem + "-" + std::to_string(getpid()) + "-" + std::to_string((unsigned long)pthread_self());
    if (!write_file(mine + ".cpp", text)) return false;
    for (std::string word : {mine + ".cpp", std::string("-o"), mine + ".so", own_path(), std::string("-lm")}) words.push_back(word);
    bool well = run(words, program.log);
    unlink((mine + ".cpp").c_str());
    if (!well) return false;
    program.code = read_file(mine + ".so");
    rename((mine + ".so").c_str(), object.c_str());
  }
  uint64_t size = program.code.size();
  std::string head = MAGIC + target + "\n";
  head.append((const char*)&size, 8);
  program.code = head + program.code;
  return true;
}

} // namespace

bool write_file(const std::string& path, const std::string& bytes) {
  FILE* file = fopen(path.c_str(), "wb");
  if (!file) return false;
  bool well = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return fclose(file) == 0 && well;
}

Error unpack(const void* image, std::string& object) {
  auto* at = (const char*)image;
  if (!at || strncmp(at, MAGIC, sizeof MAGIC - 1)) return INVALID_IMAGE;
  at += sizeof MAGIC - 1;
  auto* line = (const char*)memchr(at, '\n', 200);
  if (!line) return INVALID_IMAGE;
  std::string target(at, line);
  if (target != architecture()) {
    mistake("code for %s on %s", target.c_str(), architecture());
    return NO_BINARY_FOR_GPU;
  }
  uint64_t size;
  memcpy(&size, line + 1, 8);
  object.assign(line + 9, size);
  return SUCCESS;
}

EXPORT int hiprtcVersion(int* major, int* minor) { *major = settings().version / 10000000; *minor = settings().version / 100000 % 100; return DONE; }
EXPORT const char* hiprtcGetErrorString(int code) {
  switch (code) {
  case DONE: return "HIPRTC_SUCCESS";
  case INVALID_OPTION: return "HIPRTC_ERROR_INVALID_OPTION";
  case FAILED: return "HIPRTC_ERROR_COMPILATION";
  default: return "HIPRTC_ERROR_INTERNAL_ERROR";
  }
}
EXPORT int hiprtcCreateProgram(void** out, const char* source, const char* name, int headers, const char**, const char**) {
  Call call(__func__, false);
  if (call.error) return INTERNAL;
  if (!out || !source || headers) return INVALID_INPUT;
  auto* program = new Program{source, name ? name : "program", "", ""};
  std::lock_guard<std::mutex> hold(lock);
  programs.insert(program);
  count(PROGRAM, 1);
  *out = program;
  return DONE;
}
EXPORT int hiprtcCompileProgram(void* handle, int count, const char** options) {
  Call call(__func__, false);
  if (call.error) return INTERNAL;
  Program* program = known(handle);
  if (!program) return INVALID_PROGRAM;
  std::vector<std::string> all(options, options + count);
  std::string target = architecture();
  if (compile(*program, all, target)) return DONE;
  return program->log.rfind("unknown option", 0) == 0 ? INVALID_OPTION : FAILED;
}
EXPORT int hiprtcGetProgramLogSize(void* handle, size_t* size) {
  Call call(__func__, false);
  Program* program = known(handle);
  if (call.error || !program) return call.error ? INTERNAL : INVALID_PROGRAM;
  *size = program->log.size() + 1;
  return DONE;
}
EXPORT int hiprtcGetProgramLog(void* handle, char* log) {
  Call call(__func__, false);
  Program* program = known(handle);
  if (call.error || !program) return call.error ? INTERNAL : INVALID_PROGRAM;
  memcpy(log, program->log.c_str(), program->log.size() + 1);
  return DONE;
}
EXPORT int hiprtcGetCodeSize(void* handle, size_t* size) {
  Call call(__func__, false);
  Program* program = known(handle);
  if (call.error || !program) return call.error ? INTERNAL : INVALID_PROGRAM;
  *size = program->code.size();
  return DONE;
}
EXPORT int hiprtcGetCode(void* handle, char* code) {
  Call call(__func__, false);
  Program* program = known(handle);
  if (call.error || !program) return call.error ? INTERNAL : INVALID_PROGRAM;
  memcpy(code, program->code.data(), program->code.size());
  return DONE;
}
EXPORT int hiprtcDestroyProgram(void** handle) {
  Call call(__func__, false);
  if (call.error) return INTERNAL;
  std::lock_guard<std::mutex> hold(lock);
  if (!programs.erase((Program*)*handle)) return INVALID_PROGRAM;
  delete (Program*)*handle;
  count(PROGRAM, -1);
  *handle = nullptr;
  return DONE;
}
