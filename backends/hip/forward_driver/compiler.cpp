// hiprtc: HIP C++ is compiled by NVRTC with `kernel.h` in front, to machine code for the NVIDIA GPU that is there.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "embedded.h"
#include "forward.h"

namespace {

// The numbers of hiprtcResult; NVRTC's are the same up to there, and it has some more.
enum { DONE = 0, INVALID_OPTION = 5, INTERNAL = 11 };
int in_hiprtc(int code) { return code >= 0 && code <= INTERNAL ? code : INTERNAL; }

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, MINOR
enum { MAJOR = 75, MINOR = 76 };

// What code is made for: where there is no GPU, the environment says it.
std::string target() {
  if (const char* asked = getenv("HIP_FORWARD_TARGET")) return asked;
  int major = 0, minor = 0;
  const Cuda* cu = cuda();
  // Whoever only compiles has started no driver.
  if (!cu || cu->init(0) || cu->device_attribute(&major, MAJOR, current_device()) || cu->device_attribute(&minor, MINOR, current_device())) return "";
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

// What NVRTC is told for what hiprtc is told. False: no option that the backend gives.
bool translate(const std::string& option, std::vector<std::string>& words) {
  // Always so, or of no meaning to NVRTC.
  for (const char* plain : {"-O3", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt"})
    if (option == plain) return true;
  if (option.rfind("--offload-arch=gfx1100", 0) == 0) return true;
  if (option == "-ffp-contract=off") words.push_back("--fmad=false");
  else if (option == "-ffp-contract=fast") words.push_back("--fmad=true");
  else if (option == "-w" || option.rfind("-std=", 0) == 0 || option.rfind("-D", 0) == 0) words.push_back(option);
  else return false;
  return true;
}

#define COMPILER \
  if (!nvrtc()) return INTERNAL; \
  const Nvrtc& rtc = *nvrtc()

} // namespace

// Of the release that `hipDriverGetVersion` tells.
EXPORT int hiprtcVersion(int* major, int* minor) { *major = 6; *minor = 4; return DONE; }
EXPORT int hiprtcCreateProgram(Handle* out, const char* source, const char* name, int headers, const char** texts, const char** names) {
  COMPILER;
  std::string text = std::string(KERNEL_H) + "#line 1 \"" + (name ? name : "program") + "\"\n" + source;
  return in_hiprtc(rtc.create(out, text.c_str(), name, headers, texts, names));
}
EXPORT int hiprtcCompileProgram(Handle program, int count, const char** options) {
  COMPILER;
  std::string architecture = target();
  if (architecture.empty()) return INTERNAL;
  std::vector<std::string> words = {"--gpu-architecture=" + architecture, "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};
  for (int n = 0; n < count; n++) {
    if (translate(options[n], words)) continue;
    fprintf(stderr, "HIP forwarded to CUDA: no option %s\n", options[n]);
    return INVALID_OPTION;
  }
  std::vector<const char*> all;
  for (auto& word : words) all.push_back(word.c_str());
  return in_hiprtc(rtc.compile(program, (int)all.size(), all.data()));
}
EXPORT int hiprtcGetProgramLogSize(Handle program, size_t* size) { COMPILER; return in_hiprtc(rtc.log_size(program, size)); }
EXPORT int hiprtcGetProgramLog(Handle program, char* log) { COMPILER; return in_hiprtc(rtc.log(program, log)); }
EXPORT int hiprtcGetCodeSize(Handle program, size_t* size) { COMPILER; return in_hiprtc(rtc.code_size(program, size)); }
EXPORT int hiprtcGetCode(Handle program, char* code) { COMPILER; return in_hiprtc(rtc.code(program, code)); }
EXPORT int hiprtcDestroyProgram(Handle* program) { COMPILER; return in_hiprtc(rtc.destroy(program)); }
