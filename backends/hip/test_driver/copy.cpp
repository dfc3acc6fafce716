// Copies and fills. Ranges are checked when a call is made, and again when it is carried out: memory that has gone meanwhile is a mistake of the caller's.
#include "driver.h"

namespace {

enum { TO_DEVICE = 1, TO_HOST = 2, WITHIN = 3 };

// hip_Memcpy2D.
struct Rows {
  size_t from_x, from_y;
  unsigned from_kind;
  const char* from_host;
  const char* from_device;
  void* from_array;
  size_t from_pitch, to_x, to_y;
  unsigned to_kind;
  char* to_host;
  char* to_device;
  void* to_array;
  size_t to_pitch, width, height;
};

// The host's end of a copy is no memory of the device: a number that says the wrong way would not be noticed otherwise.
bool ends(const void* to, size_t to_size, const void* from, size_t from_size, int kind) {
  bool to_well = kind == TO_HOST ? in_host(to, "a copy to the host") : in_device(to, to_size, "a copy to the device");
  bool from_well = kind == TO_DEVICE ? in_host(from, "a copy from the host") : in_device(from, from_size, "a copy from the device");
  return to_well && from_well;
}

Error rows(void* stream, const Call& call, char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height, int kind) {
  if (width == 0 || height == 0) return SUCCESS;
  if (width > to_pitch || width > from_pitch || !to || !from) return INVALID_VALUE;
  size_t to_size = to_pitch * (height - 1) + width, from_size = from_pitch * (height - 1) + width;
  auto check = [=] { return ends(to, to_size, from, from_size, kind); };
  if (!check()) return INVALID_VALUE;
  return enqueue(stream, call, [=] {
    if (!check()) return poison(ILLEGAL_ADDRESS);
    for (size_t row = 0; row < height; row++) memmove(to + row * to_pitch, from + row * from_pitch, width);
  });
}

Error copy(void* stream, const Call& call, void* to, const void* from, size_t size, int kind) {
  if (Error error = check_copy(to, from, size, kind)) return error;
  return enqueue(stream, call, [=] {
    if (check_copy(to, from, size, kind)) return poison(ILLEGAL_ADDRESS);
    memmove(to, from, size);
  });
}

template<class T> Error fill(void* stream, const Call& call, void* to, T value, size_t count) {
  if ((uintptr_t)to % sizeof(T)) return INVALID_VALUE;
  if (!in_device(to, count * sizeof(T), "a fill")) return INVALID_VALUE;
  return enqueue(stream, call, [=] {
    if (!in_device(to, count * sizeof(T), "a fill, when its turn comes,")) return poison(ILLEGAL_ADDRESS);
    for (size_t n = 0; n < count; n++) ((T*)to)[n] = value;
  });
}

} // namespace

Error check_copy(void* to, const void* from, size_t size, int kind) {
  if (!to || !from) return size ? INVALID_VALUE : SUCCESS;
  return ends(to, size, from, size, kind) ? SUCCESS : INVALID_VALUE;
}

EXPORT int hipMemcpyHtoD(void* to, const void* from, size_t size) {
  BEGIN;
  drain_all();
  if (Error error = check_copy(to, from, size, TO_DEVICE)) return error;
  memcpy(to, from, size);
  return poisoned();
}
EXPORT int hipMemcpyDtoH(void* to, const void* from, size_t size) {
  BEGIN;
  drain_all();
  if (Error error = check_copy(to, from, size, TO_HOST)) return error;
  memcpy(to, from, size);
  return poisoned();
}
EXPORT int hipMemcpyHtoDAsync(void* to, const void* from, size_t size, void* stream) { BEGIN; return copy(stream, call, to, from, size, TO_DEVICE); }
EXPORT int hipMemcpyDtoHAsync(void* to, const void* from, size_t size, void* stream) { BEGIN; return copy(stream, call, to, from, size, TO_HOST); }
EXPORT int hipMemcpyDtoDAsync(void* to, const void* from, size_t size, void* stream) { BEGIN; return copy(stream, call, to, from, size, WITHIN); }
EXPORT int hipMemcpyAsync(void* to, const void* from, size_t size, int kind, void* stream) { BEGIN; return copy(stream, call, to, from, size, kind); }
EXPORT int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, void* stream) {
  BEGIN;
  Error error = copy(stream, call, to, from, size, WITHIN);
  if (error || settings().peers_deliver || to_device == from_device || size == 0) return error;
  return enqueue(stream, call, [=] { ((char*)to)[size - 1] ^= 1; });
}
EXPORT int hipMemcpy2DAsync(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height, int kind, void* stream) {
  BEGIN;
  return rows(stream, call, to, to_pitch, from, from_pitch, width, height, kind);
}
EXPORT int hipMemcpyParam2DAsync(const Rows* r, void* stream) {
  BEGIN;
  unsigned host = settings().version < 60000000 ? 0 : 1;
  if (!r || r->from_kind - host > 1 || r->to_kind - host > 1) return INVALID_VALUE;
  bool from_host = r->from_kind == host, to_host = r->to_kind == host;
  const char* from = (from_host ? r->from_host : r->from_device) + r->from_x + r->from_y * r->from_pitch;
  char* to = (to_host ? r->to_host : r->to_device) + r->to_x + r->to_y * r->to_pitch;
  int kind = from_host ? to_host ? 0 : TO_DEVICE : to_host ? TO_HOST : WITHIN;
  return rows(stream, call, to, r->to_pitch, from, r->from_pitch, r->width, r->height, kind);
}
EXPORT int hipMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) { BEGIN; return fill<uint8_t>(stream, call, to, value, count); }
EXPORT int hipMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) { BEGIN; return fill<uint16_t>(stream, call, to, value, count); }
EXPORT int hipMemsetD32Async(void* to, int value, size_t count, void* stream) { BEGIN; return fill<uint32_t>(stream, call, to, (uint32_t)value, count); }
EXPORT int hipMemset2DAsync(char* to, size_t pitch, int value, size_t width, size_t height, void* stream) {
  BEGIN;
  if (width == 0 || height == 0) return SUCCESS;
  if (width > pitch || !in_device(to, pitch * (height - 1) + width, "a fill of rows")) return INVALID_VALUE;
  return enqueue(stream, call, [=] { for (size_t row = 0; row < height; row++) memset(to + row * pitch, value, width); });
}
