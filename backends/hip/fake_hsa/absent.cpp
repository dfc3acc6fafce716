// What the runtime names and the backend's use of it never calls. No header is included: these have other arguments there.
#define ABSENT(NAME) \
  extern "C" __attribute__((visibility("default"))) int NAME(); \
  int NAME() { return 0x1000; } // HSA_STATUS_ERROR

ABSENT(hsa_amd_image_create)
ABSENT(hsa_amd_interop_map_buffer)
ABSENT(hsa_amd_interop_unmap_buffer)
ABSENT(hsa_amd_ipc_memory_attach)
ABSENT(hsa_amd_ipc_memory_create)
ABSENT(hsa_amd_ipc_memory_detach)
ABSENT(hsa_amd_svm_attributes_get)
ABSENT(hsa_amd_svm_attributes_set)
ABSENT(hsa_amd_svm_prefetch_async)
ABSENT(hsa_ext_image_create)
ABSENT(hsa_ext_image_create_with_layout)
ABSENT(hsa_ext_image_data_get_info)
ABSENT(hsa_ext_image_destroy)
ABSENT(hsa_ext_image_export)
ABSENT(hsa_ext_image_import)
ABSENT(hsa_ext_sampler_create)
ABSENT(hsa_ext_sampler_destroy)
