// Code objects, which are ELF files: laid out in memory, so that symbols have addresses. Nothing of them runs.
#include <elf.h>
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fake.h"

namespace {

struct Code {
  const char* bytes;
  size_t size;
};
struct Symbol {
  char* address;
  uint64_t size;
  bool is_kernel;
};
struct Executable {
  char* memory = nullptr;
  std::vector<char> file;
};

std::mutex lock;
// The names of kernels by the addresses of their descriptors.
auto& kernels = *new std::map<uint64_t, std::string>;

template<class T> T* at(std::vector<char>& file, uint64_t offset) { return (T*)(file.data() + offset); }

bool ends_with(const std::string& text, const char* end) { return text.size() >= strlen(end) && text.compare(text.size() - strlen(end), strlen(end), end) == 0; }

} // namespace

EXPORT hsa_status_t hsa_code_object_reader_create_from_memory(const void* bytes, size_t size, hsa_code_object_reader_t* out) {
  return out->handle = (uint64_t) new Code{(const char*)bytes, size}, HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) { return delete (Code*)reader.handle, HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_executable_create_alt(hsa_profile_t, hsa_default_float_rounding_mode_t, const char*, hsa_executable_t* out) {
  return out->handle = (uint64_t) new Executable, HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_executable_destroy(hsa_executable_t executable) { return delete (Executable*)executable.handle, HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_executable_freeze(hsa_executable_t, const char*) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t, hsa_agent_t, const char*, void*) { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_executable_load_agent_code_object(
    hsa_executable_t executable, hsa_agent_t, hsa_code_object_reader_t reader, const char*, hsa_loaded_code_object_t* out) {
  auto* code = (Code*)reader.handle;
  auto* into = (Executable*)executable.handle;
  constexpr int AMDGPU = 224;
  if (code->size < sizeof(Elf64_Ehdr) || memcmp(code->bytes, ELFMAG, SELFMAG) || ((Elf64_Ehdr*)code->bytes)->e_machine != AMDGPU)
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  into->file.assign(code->bytes, code->bytes + code->size);
  auto* head = at<Elf64_Ehdr>(into->file, 0);
  auto* parts = at<Elf64_Phdr>(into->file, head->e_phoff);
  uint64_t end = 0;
  for (int n = 0; n < head->e_phnum; n++)
    if (parts[n].p_type == PT_LOAD && parts[n].p_vaddr + parts[n].p_memsz > end) end = parts[n].p_vaddr + parts[n].p_memsz;
  void* memory = mmap(nullptr, (end + 8191) & ~4095ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  into->memory = (char*)memory;
  for (int n = 0; n < head->e_phnum; n++)
    if (parts[n].p_type == PT_LOAD) memcpy(into->memory + parts[n].p_vaddr, into->file.data() + parts[n].p_offset, parts[n].p_filesz);
  if (out) out->handle = 1;
  return HSA_STATUS_SUCCESS;
}
EXPORT hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* name, const hsa_agent_t*, hsa_executable_symbol_t* out) {
  auto* from = (Executable*)executable.handle;
  auto* head = at<Elf64_Ehdr>(from->file, 0);
  auto* sections = at<Elf64_Shdr>(from->file, head->e_shoff);
  for (int n = 0; n < head->e_shnum; n++) {
    if (sections[n].sh_type != SHT_DYNSYM) continue;
    auto* symbols = at<Elf64_Sym>(from->file, sections[n].sh_offset);
    const char* names = at<char>(from->file, sections[sections[n].sh_link].sh_offset);
    for (size_t s = 0; s < sections[n].sh_size / sizeof *symbols; s++) {
      if (strcmp(names + symbols[s].st_name, name)) continue;
      char* address = from->memory + symbols[s].st_value;
      bool is_kernel = ends_with(name, ".kd");
      std::lock_guard<std::mutex> hold(lock);
      if (is_kernel) kernels[(uint64_t)address] = name;
      out->handle = (uint64_t) new Symbol{address, symbols[s].st_size, is_kernel};
      return HSA_STATUS_SUCCESS;
    }
  }
  return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}
EXPORT hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle, hsa_executable_symbol_info_t what, void* out) {
  auto* symbol = (Symbol*)handle.handle;
  // A kernel's descriptor begins with the sizes of its workgroup memory, of an invocation's memory and of its arguments.
  auto* descriptor = (uint32_t*)symbol->address;
  switch ((int)what) {
  case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: return answer(out, symbol->is_kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS: return answer(out, (uint64_t)symbol->address);
  case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE: return answer(out, (uint32_t)symbol->size);
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE: return answer(out, descriptor[0]);
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE: return answer(out, descriptor[1]);
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE: return answer(out, descriptor[2]);
  default: return answer(out, uint32_t(0));
  }
}

// For tests: the name of a kernel by its object, as a dispatch has it. Null: none that was asked for.
EXPORT const char* fake_hsa_kernel(uint64_t object) {
  std::lock_guard<std::mutex> hold(lock);
  auto found = kernels.find(object);
  return found == kernels.end() ? nullptr : found->second.c_str();
}
