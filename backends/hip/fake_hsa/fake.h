// What the parts of the fake HSA share. All of it is ours; names and layouts are those of AMD's headers.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <cstdint>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

constexpr uint64_t PROCESSOR = 1, GPU = 2;

// Writes an answer of a type to where the caller wants it.
template<class T> hsa_status_t answer(void* out, T value) {
  memcpy(out, &value, sizeof value);
  return HSA_STATUS_SUCCESS;
}

uint64_t now();
// Waits for signals to become 0, then carries something out, then counts a signal down.
void complete(hsa_signal_t signal, uint64_t begun);
void wait_for(uint32_t count, const hsa_signal_t* signals);
