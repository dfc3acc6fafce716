/* libcompute: GPU compute behind a plain C interface.
 *
 * Conventions, stated once:
 * - Every fallible call answers a compute_status: 0 is success, positive is an answer that is no error, negative is an error. Callers tolerate codes
 *   that they do not know by their hundreds. The last argument of such calls, `out_error`, may be NULL; it is set to NULL on success, and on
 *   failure to an error object that the caller releases.
 * - Handles are not addresses. NULL is none. A handle that is stale, of another type or garbage answers COMPUTE_ERROR_INVALID_HANDLE, always.
 *   `retain` and `release` count references, `destroy` ends a handle at once. Whatever the caller creates it also releases.
 * - Every call may be made from any thread with any handle, from callbacks too, with two exceptions: compute_device_unlock comes from the thread that locked,
 *   and nothing is called while the lock of a compute_vulkan_desc is held.
 * - Structs that begin with `struct_size` are initialised with their INIT macro; those that describe something to the library have an init function too. The
 *   small ones of arrays and views (compute_view, compute_binding, compute_constant, compute_pool_desc, compute_native_source, compute_native_header,
 *   compute_native_parameter) have neither: set them to zero first. An array's stride of 0 stands for their size. Zero is the default of everything but
 *   sizes, counts and grids: a view of size 0 is empty, COMPUTE_WHOLE is "to the end".
 * - Strings are pointer and length in bytes; COMPUTE_NUL_TERMINATED as a length means what it says. UTF-8.
 * - What a call is given may be changed or freed when it returns, unless its description says that it is borrowed.
 * - After a fork that follows the opening of a device, every call in the child that can fail answers COMPUTE_ERROR_FORKED and makes no
 *   error object; releasing does nothing there.
 */

#ifndef LIBCOMPUTE_COMPUTE_H
#define LIBCOMPUTE_COMPUTE_H

/* Generated from src/capi by `make header`. Do not edit. */

#include <stddef.h>
#include <stdint.h>

#if SIZE_MAX != UINT64_MAX
#error "libcompute needs a 64-bit target"
#endif

/* As a size: to the end of the buffer. */
#define COMPUTE_WHOLE UINT64_MAX

/* As a string's length: it is NUL-terminated. */
#define COMPUTE_NUL_TERMINATED SIZE_MAX

/* As a time-out: wait for ever. Zero polls. */
#define COMPUTE_FOREVER UINT64_MAX

/* The version of this header, for the preprocessor; that of the library tells `compute_version`. */
#define COMPUTE_VERSION_MAJOR 0

/* As above. */
#define COMPUTE_VERSION_MINOR 1

/* As above. */
#define COMPUTE_VERSION_PATCH 0

/* The number of this interface: what a header passes to `compute_check_abi` and must match the library's. */
#define COMPUTE_ABI 1

/* Device kinds. */
#define COMPUTE_DEVICE_CPU 1

/* A GPU that shares the host's memory. */
#define COMPUTE_DEVICE_INTEGRATED_GPU 2

/* A GPU with memory of its own. */
#define COMPUTE_DEVICE_DISCRETE_GPU 3

/* Anything else. */
#define COMPUTE_DEVICE_OTHER 4

/* Capabilities, in `compute_device_info.capabilities`. */
#define COMPUTE_CAPABILITY_PORTABLE (UINT64_C(1) << 0)

/* Grids from memory. */
#define COMPUTE_CAPABILITY_INDIRECT (UINT64_C(1) << 1)

/* Over-limit indirect grids are reported as a failure of the outputs. */
#define COMPUTE_CAPABILITY_INDIRECT_REPORTS (UINT64_C(1) << 2)

/* `COMPUTE_BOUNDS_VALIDATE`. */
#define COMPUTE_CAPABILITY_VALIDATE (UINT64_C(1) << 3)

/* Kernels can be given a time limit. */
#define COMPUTE_CAPABILITY_TIME_LIMIT (UINT64_C(1) << 4)

/* Event timestamps. */
#define COMPUTE_CAPABILITY_TIMESTAMPS (UINT64_C(1) << 5)

/* Memory can be host-visible. */
#define COMPUTE_CAPABILITY_HOST_VISIBLE (UINT64_C(1) << 6)

/* Native kernels can take tensor maps (L13). */
#define COMPUTE_CAPABILITY_TENSOR_MAPS (UINT64_C(1) << 7)

/* `COMPUTE_KERNEL_FLAG_STRICT`. */
#define COMPUTE_CAPABILITY_STRICT (UINT64_C(1) << 8)

/* A grid from memory of a kernel that runs a native source is read by the host before the launch, so that what follows in the stream waits for a round trip (L2).
 * Those of portable kernels stay on the device. */
#define COMPUTE_CAPABILITY_NATIVE_INDIRECT_BY_HOST (UINT64_C(1) << 9)

/* What portable kernels may use beyond the core of the language, in `compute_device_info.features`. 16-bit floats. */
#define COMPUTE_FEATURE_F16 (UINT64_C(1) << 0)

/* 64-bit floats. */
#define COMPUTE_FEATURE_F64 (UINT64_C(1) << 1)

/* 64-bit integers. */
#define COMPUTE_FEATURE_INT64 (UINT64_C(1) << 2)

/* Atomics on 64-bit integers. */
#define COMPUTE_FEATURE_ATOMIC_INT64 (UINT64_C(1) << 3)

/* Atomics on 32-bit floats. */
#define COMPUTE_FEATURE_ATOMIC_F32 (UINT64_C(1) << 4)

/* Subgroup operations. */
#define COMPUTE_FEATURE_SUBGROUPS (UINT64_C(1) << 5)

/* Never-written bytes are claimed by NEVER_WRITTEN rather than read as zeros (T1), in all buffers of the device. */
#define COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN (UINT64_C(1) << 0)

/* Events have times (`compute_event_get_time`) on devices where that is not for free (`wgpu`: each recorded event ends a pass). */
#define COMPUTE_DEVICE_FLAG_TIMESTAMPS (UINT64_C(1) << 1)

/* In `compute_chained.kind`. */
#define COMPUTE_CHAINED_FAULT 1

/* `compute_include_desc` */
#define COMPUTE_CHAINED_INCLUDE 2

/* `compute_vulkan_desc` */
#define COMPUTE_CHAINED_VULKAN 3

/* `compute_cache_desc` */
#define COMPUTE_CHAINED_CACHE 5

/* `compute_native_desc` */
#define COMPUTE_CHAINED_NATIVE 4

/* How an injected fault shows. `NONE` only counts calls. */
#define COMPUTE_FAULT_NONE 0

/* The call answers a driver error. */
#define COMPUTE_FAULT_ERROR 1

/* The call answers that memory is out. */
#define COMPUTE_FAULT_OUT_OF_MEMORY 2

/* The device is lost from the call on. */
#define COMPUTE_FAULT_LOST 3

/* The call succeeds, its work is not done, and the device says so later. */
#define COMPUTE_FAULT_LATE 4

/* The call panics inside the library. */
#define COMPUTE_FAULT_PANIC 5

/* What a `compute_native_info` or a `compute_import_desc` names: an address of the host's memory. */
#define COMPUTE_NATIVE_ADDRESS 1

/* A `VkBuffer`, of the device that `compute_vulkan_desc` named or of one of the library's own. */
#define COMPUTE_NATIVE_VULKAN_BUFFER 2

/* A `CUdeviceptr`. */
#define COMPUTE_NATIVE_CUDA_POINTER 3

/* A `hipDeviceptr_t`. */
#define COMPUTE_NATIVE_HIP_POINTER 4

/* What `compute_stream_wait_native` and `compute_stream_record_native` take: a `CUevent`. */
#define COMPUTE_NATIVE_CUDA_EVENT 5

/* A `hipEvent_t`. */
#define COMPUTE_NATIVE_HIP_EVENT 6

/* Nothing (the default). */
#define COMPUTE_LOG_OFF 0

/* Failures, each with the number that `compute_error_get_info` and `compute_check` tell, and devices that are lost, once each. */
#define COMPUTE_LOG_ERROR 1

/* Skips too, and folders in which no kernels can be kept. */
#define COMPUTE_LOG_WARNING 2

/* Launches too. */
#define COMPUTE_LOG_LAUNCHES 3

/* The level of lines that kernels print (`debugPrintf`). They come whatever level was set, unless it is off; set as a level: prints and nothing else. */
#define COMPUTE_LOG_PRINT 64

/* Call from the thread that polls or waits (the default). */
#define COMPUTE_CALLBACK_ON_POLL 0

/* Call from a thread of the library, as soon as it is known. All devices share that thread: a callback that takes long holds up the other callbacks, though no
 * wait, poll or call of anybody's. */
#define COMPUTE_CALLBACK_ON_WORKER 1

/* Never-written bytes of this buffer are claimed by NEVER_WRITTEN rather than read as zeros (T1). */
#define COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN (UINT64_C(1) << 0)

/* This buffer lives long: it comes from the persistent pools, so that it does not keep pages of short-lived buffers from going back. */
#define COMPUTE_BUFFER_FLAG_PERSISTENT (UINT64_C(1) << 1)

/* Memory is taken at the first use (M5). A use for which there is none fails with `COMPUTE_ERROR_NOT_BACKED`, and that failure claims the buffer. */
#define COMPUTE_BUFFER_FLAG_DEFERRED (UINT64_C(1) << 4)

/* `compute_stream_compact` leaves this buffer where it is. */
#define COMPUTE_BUFFER_FLAG_FIXED (UINT64_C(1) << 5)

/* Never-written bytes of this buffer read as zeros, on a device with `COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN` too. Costs nothing: bytes are zeroed when
 * something would read them. */
#define COMPUTE_BUFFER_FLAG_ZEROED (UINT64_C(1) << 2)

/* This buffer can be mapped (`compute_buffer_map`). Refused on devices without `COMPUTE_CAPABILITY_HOST_VISIBLE`. */
#define COMPUTE_BUFFER_FLAG_HOST_VISIBLE (UINT64_C(1) << 3)

/* Scratch: only the buffer's stream may use it, for a moment; it counts towards the stream's limit (`compute_stream_set_scratch_limit`). Released, its memory is
 * there again at once for what the stream does next; under a budget, for a buffer of about its size, and for others when its use is over. */
#define COMPUTE_BUFFER_FLAG_SCRATCH (UINT64_C(1) << 6)

/* Most dimensions of a tensor. */
#define COMPUTE_MOST_DIMENSIONS 8

/* The rows of a tensor follow each other without gaps. */
#define COMPUTE_ARRANGEMENT_CONTIGUOUS 0

/* Each row (of the last dimension) starts at a multiple of what the device likes best; what is between rows is padding. */
#define COMPUTE_ARRANGEMENT_OPTIMIZED 1

/* A pool whose pages hold many allocations. */
#define COMPUTE_POOL_SLICED 1

/* A pool whose pages hold one allocation each. */
#define COMPUTE_POOL_EXCLUSIVE 2

/* In `compute_cache_info.state`: the device was opened without a folder. */
#define COMPUTE_CACHE_NONE 0

/* Kernels are looked for in the folder, and kept there. */
#define COMPUTE_CACHE_ON 1

/* A folder was given and is not used; `reason` says why. */
#define COMPUTE_CACHE_REFUSED 2

/* What the source is: SPIR-V begins with its magic number, GLSL with `#version` (after comments and blanks); the rest is WGSL. */
#define COMPUTE_LANGUAGE_AUTO 0

/* WGSL source text. */
#define COMPUTE_LANGUAGE_WGSL 1

/* GLSL for Vulkan, `#version` 430 to 460 and not `es`, a compute shader. Its entry point is `main`. */
#define COMPUTE_LANGUAGE_GLSL 2

/* A SPIR-V module, of either endianness. */
#define COMPUTE_LANGUAGE_SPIRV 3

/* L5: an out-of-range read gives zero, an out-of-range write is dropped. */
#define COMPUTE_BOUNDS_CHECKED 0

/* L5: the caller vouches that there are none. */
#define COMPUTE_BOUNDS_UNCHECKED 1

/* L5: as checked, and the first violation becomes a failure of the launch's outputs. `COMPUTE_ERROR_UNSUPPORTED` without `COMPUTE_CAPABILITY_VALIDATE`. */
#define COMPUTE_BOUNDS_VALIDATE 2

/* Compile at creation. */
#define COMPUTE_COMPILE_NOW 0

/* Compile at the first launch, or by `compute_device_compile_queued`. */
#define COMPUTE_COMPILE_LAZY 1

/* Compile from creation on, on a thread of the library; `compute_kernel_wait` waits for it, and so does a launch. */
#define COMPUTE_COMPILE_BACKGROUND 2

/* The value of the constant is its `value`. */
#define COMPUTE_CONSTANT_VALUE 0

/* The value of the constant is its `integer`, as an `int64_t`. */
#define COMPUTE_CONSTANT_I64 1

/* The value of the constant is its `integer`. */
#define COMPUTE_CONSTANT_U64 2

/* The portable source gives the same bits on every device with `COMPUTE_CAPABILITY_STRICT`: nothing is contracted, and functions are those of the cpu device. What that
 * excludes is refused with its place (`docs/kernels.md`). Native sources are passed over, as nobody can look into them.
 * `COMPUTE_ERROR_UNSUPPORTED` without that capability. */
#define COMPUTE_KERNEL_FLAG_STRICT (UINT64_C(1) << 0)

/* `#include "path"` */
#define COMPUTE_INCLUDE_QUOTE 0

/* `#include <path>` */
#define COMPUTE_INCLUDE_ANGLE 1

/* Storage buffer. */
#define COMPUTE_BINDING_STORAGE 1

/* Uniform block. */
#define COMPUTE_BINDING_UNIFORM 2

/* Parameter of a native kernel by value: exactly `min_size` bytes, given inline. */
#define COMPUTE_BINDING_VALUE 3

/* Parameter of a native kernel that is a tensor map (L13): given as a view with `COMPUTE_BINDING_FLAG_TENSOR_MAP`. */
#define COMPUTE_BINDING_TENSOR_MAP 4

/* Declared, never touched. */
#define COMPUTE_ACCESS_UNUSED 0

/* Only read. */
#define COMPUTE_ACCESS_READ 1

/* Only written. */
#define COMPUTE_ACCESS_WRITE 2

/* Both; atomics too. */
#define COMPUTE_ACCESS_READ_WRITE 3

/* `bool` */
#define COMPUTE_OVERRIDE_BOOL 1

/* `i32` */
#define COMPUTE_OVERRIDE_I32 2

/* `u32` */
#define COMPUTE_OVERRIDE_U32 3

/* `f32` */
#define COMPUTE_OVERRIDE_F32 4

/* `f16` */
#define COMPUTE_OVERRIDE_F16 5

/* `f64` */
#define COMPUTE_OVERRIDE_F64 6

/* `i16` */
#define COMPUTE_OVERRIDE_I16 7

/* `u16` */
#define COMPUTE_OVERRIDE_U16 8

/* `i64` */
#define COMPUTE_OVERRIDE_I64 9

/* `u64` */
#define COMPUTE_OVERRIDE_U64 10

/* The caller vouches that this launch writes every byte of the view (T6a). */
#define COMPUTE_BINDING_FLAG_WRITE_ALL (UINT64_C(1) << 0)

/* The view is given as a tensor (L13): `data` points to a `compute_tensor_map_desc`, which is copied before the call returns, and `data_size` is zero. */
#define COMPUTE_BINDING_FLAG_TENSOR_MAP (UINT64_C(1) << 1)

/* L6: enqueue the kernel. */
#define COMPUTE_LAUNCH_EXECUTE 0

/* L6: check and compile, touch no buffer. */
#define COMPUTE_LAUNCH_COMPILE_ONLY 1

/* L6: queue the compilation; `compute_device_compile_queued` finishes all that is queued. */
#define COMPUTE_LAUNCH_QUEUE_COMPILATION 2

/* CUDA C++, compiled by NVRTC for the exact device (`cuda`). */
#define COMPUTE_LANGUAGE_CUDA 16

/* PTX, compiled by CUDA's driver (`cuda`). */
#define COMPUTE_LANGUAGE_PTX 17

/* Machine code of NVIDIA GPUs: a cubin, or a fat binary (`cuda`). */
#define COMPUTE_LANGUAGE_CUBIN 18

/* HIP C++, compiled by hiprtc for the exact device (`hip`). */
#define COMPUTE_LANGUAGE_HIP 19

/* Machine code of AMD GPUs: a code object, or a bundle of them (`hip`). */
#define COMPUTE_LANGUAGE_CODE_OBJECT 20

/* In a `compute_native_source`: Metal's language, handed to Metal as it is (`wgpu` on Metal). */
#define COMPUTE_LANGUAGE_MSL 21

/* In a `compute_native_source`: HLSL, handed to Direct3D 12's compiler as it is (`wgpu` on Direct3D 12). */
#define COMPUTE_LANGUAGE_HLSL 22

/* In a `compute_native_source`: SPIR-V, handed to Vulkan as it is, without being understood (`wgpu` on Vulkan). */
#define COMPUTE_LANGUAGE_NATIVE_SPIRV 23

/* In `compute_kernel_info.native_source`: the kernel runs its portable source. */
#define COMPUTE_NATIVE_NONE UINT32_MAX

/* The address of a view's first byte. */
#define COMPUTE_PARAMETER_BUFFER 1

/* `int8_t`, by value. */
#define COMPUTE_PARAMETER_I8 2

/* `uint8_t`, by value. */
#define COMPUTE_PARAMETER_U8 3

/* `int16_t`, by value. */
#define COMPUTE_PARAMETER_I16 4

/* `uint16_t`, by value. */
#define COMPUTE_PARAMETER_U16 5

/* `int32_t`, by value. */
#define COMPUTE_PARAMETER_I32 6

/* `uint32_t`, by value. */
#define COMPUTE_PARAMETER_U32 7

/* `int64_t`, by value. */
#define COMPUTE_PARAMETER_I64 8

/* `uint64_t`, by value. */
#define COMPUTE_PARAMETER_U64 9

/* A float of 16 bits, by value. */
#define COMPUTE_PARAMETER_F16 10

/* `float`, by value. */
#define COMPUTE_PARAMETER_F32 11

/* `double`, by value. */
#define COMPUTE_PARAMETER_F64 12

/* A structure of `size` bytes with an `alignment`, by value. */
#define COMPUTE_PARAMETER_BYTES 13

/* A tensor map of a view (L13): `const __grid_constant__ CUtensorMap`, 128 bytes at a multiple of 64. A portable source has a storage buffer there. */
#define COMPUTE_PARAMETER_TENSOR_MAP 14

/* In `compute_native_parameter.access`: written, and every launch writes every byte of the view (T6a), which the caller vouches for. */
#define COMPUTE_ACCESS_WRITE_ALL 4

/* `uint8_t` */
#define COMPUTE_ELEMENT_U8 1

/* `uint16_t` */
#define COMPUTE_ELEMENT_U16 2

/* `uint32_t` */
#define COMPUTE_ELEMENT_U32 3

/* `int32_t` */
#define COMPUTE_ELEMENT_I32 4

/* `uint64_t` */
#define COMPUTE_ELEMENT_U64 5

/* `int64_t` */
#define COMPUTE_ELEMENT_I64 6

/* A float of 16 bits. */
#define COMPUTE_ELEMENT_F16 7

/* `float` */
#define COMPUTE_ELEMENT_F32 8

/* `double` */
#define COMPUTE_ELEMENT_F64 9

/* The upper half of a `float`. */
#define COMPUTE_ELEMENT_BF16 10

/* `float`, of which subnormal values are taken for zero. */
#define COMPUTE_ELEMENT_F32_FTZ 11

/* `float`, rounded to TF32. */
#define COMPUTE_ELEMENT_TF32 12

/* `float`, rounded to TF32, of which subnormal values are taken for zero. */
#define COMPUTE_ELEMENT_TF32_FTZ 13

/* Elements of dimension 0 lie side by side. */
#define COMPUTE_INTERLEAVE_NONE 0

/* Channels in slices of 16 bytes (NC/8HWC8 of 16-bit elements). */
#define COMPUTE_INTERLEAVE_16B 1

/* Channels in slices of 32 bytes (NC/16HWC16 of 16-bit elements). */
#define COMPUTE_INTERLEAVE_32B 2

/* Boxes lie in workgroup memory as they are. */
#define COMPUTE_SWIZZLE_NONE 0

/* Chunks of 16 bytes change places within 32 bytes. */
#define COMPUTE_SWIZZLE_32B 1

/* Within 64 bytes. */
#define COMPUTE_SWIZZLE_64B 2

/* Within 128 bytes. */
#define COMPUTE_SWIZZLE_128B 3

/* The second-level cache fetches what is asked for. */
#define COMPUTE_L2_PROMOTION_NONE 0

/* In pieces of 64 bytes. */
#define COMPUTE_L2_PROMOTION_64B 1

/* In pieces of 128 bytes. */
#define COMPUTE_L2_PROMOTION_128B 2

/* In pieces of 256 bytes. */
#define COMPUTE_L2_PROMOTION_256B 3

/* Outside the tensor there are zeros. */
#define COMPUTE_OUTSIDE_ZERO 0

/* Outside the tensor there is a NaN that multiply-adds of tensor cores take for zero. Of floats only. */
#define COMPUTE_OUTSIDE_NAN 1

/* As the form of `compute_error_format`: for people. */
#define COMPUTE_FORMAT_TEXT 0

/* As the form of `compute_error_format`: a JSON object. */
#define COMPUTE_FORMAT_JSON 1

/* Each replay measures its nodes, for `compute_graph_get_times`. */
#define COMPUTE_GRAPH_FLAG_TIMED (UINT64_C(1) << 0)

/* Only told, in `compute_graph_info`: the device keeps the graph ready, and a replay is one piece of work for it. Where it is not set, the runtime makes a call of the
 * device for each node. */
#define COMPUTE_GRAPH_FLAG_NATIVE (UINT64_C(1) << 1)

/* A launch. */
#define COMPUTE_NODE_LAUNCH 1

/* A copy. */
#define COMPUTE_NODE_COPY 2

/* A fill. */
#define COMPUTE_NODE_FILL 3

/* Nothing: a place where paths meet. */
#define COMPUTE_NODE_JOIN 4

/* As `format` of `compute_graph_export`: the language of Graphviz. */
#define COMPUTE_GRAPH_DOT 0

/* As `format` of `compute_graph_export`: `{"label", "bytes", "native", "nodes": [{"index", "kind", "name", "label", "grid", "after"}]}`.
 * Only launches have a grid, and it is null where it is taken from memory. */
#define COMPUTE_GRAPH_JSON 1

typedef struct compute_budget_s compute_budget_s;

typedef struct compute_buffer_s compute_buffer_s;

typedef struct compute_device_s compute_device_s;

typedef struct compute_error_s compute_error_s;

typedef struct compute_event_s compute_event_s;

typedef struct compute_graph_builder_s compute_graph_builder_s;

typedef struct compute_graph_s compute_graph_s;

typedef struct compute_kernel_s compute_kernel_s;

typedef struct compute_mapping_s compute_mapping_s;

typedef struct compute_readback_s compute_readback_s;

typedef struct compute_stream_s compute_stream_s;

/* Result of every fallible call: 0 is success; positive is an answer that is no error and makes no error object; negative is an error. The
 * hundreds tell the class, so that an unknown code can still be classed: -1xx a mistake of the caller, -2xx resources, -3xx the device,
 * -4xx the kernel, -5xx bytes that cannot be trusted, -6xx a bug of the library. */
typedef int32_t compute_status;

/* What went wrong: immutable, usable from any thread, released by the caller. */
typedef struct compute_error_s *compute_error;

/* Called for every log line at or below the level, and at every level but `COMPUTE_LOG_OFF` for what kernels print (`COMPUTE_LOG_PRINT`). `text` is UTF-8 of `length` bytes,
 * **not** NUL-terminated, and lives for the call. On any thread, on several at once; no lock of the library is held, and it may call the library. It must return: no
 * `longjmp`, no C++ exception. */
typedef void (*compute_log_callback)(void *user, uint32_t level, const char *text, size_t length);

/* How to list devices. */
typedef struct compute_list_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* Only this driver (`cpu`, `wgpu`, ...); NULL: all that make results (`null` is listed only by name). */
    const char *backend;
    /* Its length, or `COMPUTE_NUL_TERMINATED`. 0 with a `backend` is refused: it was forgotten. */
    size_t backend_length;
    /* Zero. */
    const void *next;
} compute_list_desc;

/* How to open a device. */
typedef struct compute_device_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Index in the list of the same `backend`. */
    uint32_t index;
    /* As in `compute_list_desc`. */
    const char *backend;
    /* Its length. */
    size_t backend_length;
    /* When not NULL: opens only if the device's `target` is exactly this (S1), else `COMPUTE_ERROR_TARGET`. */
    const char *exact_target;
    /* Its length. */
    size_t exact_target_length;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Worker threads of the cpu device; 0: as many as processors. */
    uint32_t threads;
    /* Native queues that streams share (S1); 0: the device's own number. */
    uint32_t queues;
    /* `COMPUTE_DEVICE_FLAG_...` */
    uint64_t flags;
    /* Compiled kernels on disk: `compute_cache_desc`; the host's own GPU: `compute_vulkan_desc`; fault injection for tests of error paths: `compute_fault_desc`;
     * else NULL. */
    const void *next;
    /* Bytes of pages with nothing in them that the pools of each stream, and the device's own, keep for later (M6); 0: the library's choice (64 MiB). */
    uint64_t idle_bytes;
    /* The most workgroups that the device is given at once, on devices that a system may stop when they take too long (`wgpu`; desktops allow some seconds). A launch of more is
     * sent in slices, whose workgroups have the ids and counts of the whole. Grids from memory are sent whole, fills and copies are not counted. 0: no limit. */
    uint64_t slice_groups;
} compute_device_desc;

/* How to make a graph. */
typedef struct compute_graph_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* 0 or `COMPUTE_GRAPH_FLAG_TIMED`. */
    uint64_t flags;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Zero. */
    const void *next;
} compute_graph_desc;

/* Chained to `compute_device_desc`: wraps the device so that its n-th call fails. For tests of a host's own error paths. */
typedef struct compute_fault_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_FAULT` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
    /* Which call of the device fails, from 1, counted from opening; 0: none until `compute_device_inject_fault`. */
    uint64_t call;
    /* `COMPUTE_FAULT_...` */
    uint32_t how;
    /* Zero. */
    uint32_t reserved;
} compute_fault_desc;

/* Any function of Vulkan: `(compute_vulkan_function)vkGetInstanceProcAddr`. */
typedef void (*compute_vulkan_function)(void);

/* Called when the library begins or ends to use a queue that it shares with its host, and when it no longer uses anything of the host's. */
typedef void (*compute_vulkan_callback)(void *user);

/* Chained to `compute_device_desc`: the device works on a Vulkan device that the host has made, so that both use the same memory (`compute_stream_export`). `backend` is
 * then NULL or `wgpu`, and `index` 0. Named types are Vulkan's.
 *
 * The host vouches that all of this is true. Instance, physical device, device and the loader stay alive until `released` is called; that may be after the device and all
 * that was made from it has been released, as work that is under way is waited for elsewhere. Everything else here is copied before the call returns.
 *
 * The queue is used by threads of the library, too. Where the host uses it as well, it gives `lock` and `unlock`, and takes the same lock around its own
 * calls with that queue. While that lock is held, by whomever, nothing of the library may be called. */
typedef struct compute_vulkan_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_VULKAN` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
    /* `vkGetInstanceProcAddr`, cast. */
    compute_vulkan_function get_instance_proc_addr;
    /* `VkInstance` */
    void *instance;
    /* `VkPhysicalDevice` */
    void *physical_device;
    /* `VkDevice` */
    void *device;
    /* The `apiVersion` of the `VkApplicationInfo` that the instance was made with; 0: Vulkan 1.0, which needs the device extensions
     * `VK_KHR_maintenance1` and `VK_KHR_storage_buffer_storage_class`. */
    uint32_t api_version;
    /* Family of the queue: one for graphics and compute. */
    uint32_t queue_family;
    /* Index of the queue in its family. */
    uint32_t queue_index;
    /* Zero. */
    uint32_t reserved;
    /* `ppEnabledExtensionNames` that the instance was made with. */
    const char *const *instance_extensions;
    /* How many. */
    size_t instance_extension_count;
    /* `ppEnabledExtensionNames` that the device was made with. */
    const char *const *device_extensions;
    /* How many. */
    size_t device_extension_count;
    /* The head of the chain of features that the device was made with: `VkPhysicalDeviceFeatures2`, which also takes what `pEnabledFeatures` said,
     * `VkPhysicalDeviceVulkan12Features` and so on; NULL: none. Kernels can use what is enabled, `features` of the device's info says what that comes to. */
    const void *features;
    /* Called before the queue is used; the thread then has it for itself. NULL: nobody else uses it. Any thread. */
    compute_vulkan_callback lock;
    /* Called by the same thread when it no longer uses the queue. NULL where `lock` is. */
    compute_vulkan_callback unlock;
    /* Called once, after opening has succeeded, when nothing of the host's is used any more; may be NULL. Any thread, no lock held. */
    compute_vulkan_callback released;
    /* Handed to them. */
    void *user;
} compute_vulkan_desc;

/* Chained to `compute_device_desc`: compiled kernels are kept in a folder, where later devices and processes find them (L7). What is there is taken only if it is whole, and of
 * the same kernel, options, device, driver, compiler and version of this library to the letter; otherwise the kernel is compiled and the file replaced. Nothing about the
 * folder is ever an error of a call: what is wrong is logged and counted (`compute_device_cache_info`). Any number of devices and processes may share one.
 *
 * Native sources are kept where they are compiled and are all that is read for that: C++ of vendors that includes nothing but its own headers, with options that name no
 * files, and SPIR-V. Code needs no compiler, and what a driver makes of PTX it keeps itself.
 *
 * **Whoever can write to the folder can have the process run code of theirs.** It must be this user's own (or root's), with no right to write for others, and so must
 * all folders above it and links to it, but for those where everybody may only rename what is theirs (`/tmp`); a group with its owner's number is that owner. Otherwise it
 * is not used. On Windows none is yet: who may write there is told by lists that nothing here reads, so the answer is `COMPUTE_CACHE_REFUSED`. */
typedef struct compute_cache_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_CACHE` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
    /* Path of the folder; made, for this user alone, if it is not there. */
    const char *folder;
    /* Its length. */
    size_t folder_length;
    /* Bytes that kernels may take in the folder, in blocks of 4096, beyond which those used longest ago are removed; 0: 256 MiB. Each process looks when it has written an eighth of it, so several may exceed
     * it by that for a while. */
    uint64_t max_bytes;
} compute_cache_desc;

/* How to make a stream. */
typedef struct compute_stream_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Zero. */
    const void *next;
} compute_stream_desc;

/* An ordered lane of work on a device. */
typedef struct compute_stream_s *compute_stream;

/* How to make a buffer. */
typedef struct compute_buffer_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* Bytes; 0 makes an empty buffer. */
    uint64_t size;
    /* `COMPUTE_BUFFER_FLAG_...` */
    uint64_t flags;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Zero. */
    const void *next;
    /* The stream whose pools it comes from (M1), or NULL: the device's own. Any stream may use the buffer. Memory that was released and used on that
     * stream only is there again at once, without waiting for the work. */
    compute_stream stream;
} compute_buffer_desc;

/* Called once when the library no longer uses what it was lent. From a thread of the library, with no lock held; any call is allowed. It must not unwind. */
typedef void (*compute_released_callback)(void *user);

/* Memory of the caller's (`compute_buffer_import`). */
typedef struct compute_import_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* What `handle` is: `COMPUTE_NATIVE_...` */
    uint32_t kind;
    /* The driver's name of the memory: an address, a `CUdeviceptr`, a `hipDeviceptr_t`, a `VkBuffer`. Not 0. */
    uint64_t handle;
    /* Where the bytes begin in it. */
    uint64_t offset;
    /* Bytes, more than 0. */
    uint64_t size;
    /* `COMPUTE_ACCESS_READ`: nothing may write there; or `COMPUTE_ACCESS_READ_WRITE`. */
    uint32_t access;
    /* Zero. */
    uint32_t reserved;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Told when the memory is no longer used; may be NULL. */
    compute_released_callback released;
    /* Handed to it. */
    void *user;
    /* Zero. */
    const void *next;
} compute_import_desc;

/* The value of an override constant. */
typedef struct compute_constant {
    /* Name, or `@id` in decimal. */
    const char *name;
    /* Its length. */
    size_t name_length;
    /* The value; must be representable in the constant's type. */
    double value;
    /* What is meant instead of `value`: `COMPUTE_CONSTANT_...`, 0 for none. */
    uint32_t kind;
    /* The value of a `COMPUTE_CONSTANT_I64` or `_U64`, in two's complement: a double does not hold them all. */
    uint64_t integer;
} compute_constant;

/* How to make a kernel. */
typedef struct compute_kernel_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_LANGUAGE_...` */
    uint32_t language;
    /* The portable source: text, or the words of a module; NULL where only native ones are given. */
    const void *source;
    /* Its length in bytes. */
    size_t source_length;
    /* Entry point; NULL when the source has just one. */
    const char *entry;
    /* Its length. */
    size_t entry_length;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Override constants. */
    const struct compute_constant *constants;
    /* How many. */
    size_t constant_count;
    /* Distance in bytes between them; 0: `sizeof(compute_constant)`. */
    size_t constant_stride;
    /* `COMPUTE_BOUNDS_...` */
    uint32_t bounds;
    /* `COMPUTE_COMPILE_...` */
    uint32_t compile;
    /* Nanoseconds after which a launch is stopped and its outputs fail; 0: never. `COMPUTE_ERROR_UNSUPPORTED` without `COMPUTE_CAPABILITY_TIME_LIMIT`. */
    uint64_t time_limit;
    /* Where the text of `#include`s comes from: `compute_include_desc`; native sources: `compute_native_desc`; else NULL. */
    const void *next;
    /* Bytes of room for what one launch prints, at most 64 MiB; 0: 65536. A line takes 16 bytes and 4 or 8 for each number. */
    uint64_t print_size;
    /* `COMPUTE_KERNEL_FLAG_...` */
    uint64_t flags;
} compute_kernel_desc;

/* What an `#include` asks for. The strings end in a NUL byte and live for the call. */
typedef struct compute_include_request {
    /* Size of the library's struct. */
    uint32_t struct_size;
    /* `COMPUTE_INCLUDE_...` */
    uint32_t style;
    /* The path between the quotes or angle brackets. */
    const char *path;
    /* Its length. */
    size_t path_length;
    /* The name of the file that asks: the label of the kernel, or the name of an included file. */
    const char *from;
    /* Its length. */
    size_t from_length;
} compute_include_request;

/* The answer to an `#include`, all zeros at first. What it points to must stay as it is until the callback is called again, or creation returns; it is copied
 * before that. */
typedef struct compute_include_answer {
    /* Size of the library's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* The text of the file, UTF-8. */
    const char *text;
    /* Its length. */
    size_t text_length;
    /* What the file is called in messages, and known by to `#pragma once`; NULL: the path that was asked for. */
    const char *name;
    /* Its length. */
    size_t name_length;
    /* Why there is no such file; for the error's message; may be NULL. */
    const char *message;
    /* Its length. */
    size_t message_length;
} compute_include_answer;

/* Gives an included file: fills `answer` and returns `COMPUTE_OK`, or anything else when there is none. Called on the thread that makes the kernel, before
 * that call returns, with no lock of the library held; any call is allowed. It must not unwind. */
typedef compute_status (*compute_include_callback)(void *user,
                                                   const struct compute_include_request *request,
                                                   struct compute_include_answer *answer);

/* Chained to `compute_kernel_desc`: where the text of `#include`s comes from. In GLSL, and in WGSL where a line is `#include "path"` or `#include <path>`. */
typedef struct compute_include_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_INCLUDE` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
    /* Called for each `#include`. */
    compute_include_callback callback;
    /* Handed to it. */
    void *user;
} compute_include_desc;

/* A file that a native source may include. */
typedef struct compute_native_header {
    /* The path as `#include` names it. */
    const char *name;
    /* Its length. */
    size_t name_length;
    /* Its text. */
    const char *text;
    /* Its length. */
    size_t text_length;
} compute_native_header;

/* One form of a native kernel: code in a vendor's own language or format, which runs as it is. Nothing checks what it does. */
typedef struct compute_native_source {
    /* `COMPUTE_LANGUAGE_CUDA` and following. */
    uint32_t language;
    /* Zero. */
    uint32_t reserved;
    /* Text, or code. */
    const void *code;
    /* Its length in bytes; of text, `COMPUTE_NUL_TERMINATED` too. */
    size_t code_length;
    /* The function to launch, by its name in the code: of C++, declare it `extern "C"`. */
    const char *entry;
    /* Its length. */
    size_t entry_length;
    /* The architecture that it is for (`sm_90`, `gfx942`): it is passed over on others. That of a generation alone (`sm_90a`) has C++ compiled for it. NULL: any, or what the code says of itself. */
    const char *target;
    /* Its length. */
    size_t target_length;
    /* What its compiler is told besides the architecture, which no option may name: strings that end in a NUL byte. */
    const char *const *options;
    /* How many. */
    size_t option_count;
    /* Files that it includes, for C++. */
    const struct compute_native_header *headers;
    /* How many. */
    size_t header_count;
    /* Distance in bytes between them; 0: `sizeof(compute_native_header)`. */
    size_t header_stride;
} compute_native_source;

/* One parameter of a native kernel: group 0, its index as the slot. */
typedef struct compute_native_parameter {
    /* For messages and `compute_kernel_find_binding`; may be NULL. */
    const char *name;
    /* Its length. */
    size_t name_length;
    /* `COMPUTE_PARAMETER_...` */
    uint32_t kind;
    /* What is done with a buffer, or through a tensor map with the view behind it: `COMPUTE_ACCESS_...`. Unused: a null pointer is passed (a tensor map is used).
     * Zero for values. */
    uint32_t access;
    /* The fewest bytes of a buffer's or tensor map's view; the bytes of `COMPUTE_PARAMETER_BYTES`; else zero. */
    uint64_t size;
    /* What the offset of such a view has to be a multiple of, or 0; the alignment of `COMPUTE_PARAMETER_BYTES`; else zero. A power of two. */
    uint32_t alignment;
    /* Buffers and tensor maps with the same number but 0 may overlap although they are written (L9). Not beside a portable source. */
    uint32_t alias;
} compute_native_parameter;

/* Chained to `compute_kernel_desc`: native sources, and what the caller declares of them. The declaration holds on every device and for every source, the portable
 * one of the `compute_kernel_desc` included, if there is one; each device takes the source that suits it best (L11). Giving this struct is how the caller vouches that
 * native code does what is declared: nothing checks its accesses, whatever `bounds` says. */
typedef struct compute_native_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_NATIVE` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
    /* The sources. */
    const struct compute_native_source *sources;
    /* How many. */
    size_t source_count;
    /* Distance in bytes between them; 0: `sizeof(compute_native_source)`. */
    size_t source_stride;
    /* The parameters, in order. */
    const struct compute_native_parameter *parameters;
    /* How many. */
    size_t parameter_count;
    /* Distance in bytes between them; 0: `sizeof(compute_native_parameter)`. */
    size_t parameter_stride;
    /* Invocations of a workgroup on each axis; 0 means 1 on the second and third. */
    uint32_t workgroup_size[3];
    /* Bytes of workgroup memory that launches ask for beyond what the code declares (`extern __shared__`); more than 48 KiB is asked for as CUDA wants it. */
    uint32_t workgroup_memory;
} compute_native_desc;

/* One entry point, made for a device. */
typedef struct compute_kernel_s *compute_kernel;

/* An allocation on a device. */
typedef struct compute_buffer_s *compute_buffer;

/* A byte range of a buffer. */
typedef struct compute_view {
    /* The buffer. */
    compute_buffer buffer;
    /* Start in bytes. */
    uint64_t offset;
    /* Bytes, or `COMPUTE_WHOLE`. */
    uint64_t size;
} compute_view;

/* What a launch gives one binding of its kernel: a view, inline bytes (L4), or a view as a tensor (L13). */
typedef struct compute_binding {
    /* `@group` */
    uint32_t group;
    /* `@binding` */
    uint32_t slot;
    /* The view's buffer, or NULL when inline bytes are given. */
    compute_buffer buffer;
    /* The view's start in bytes. */
    uint64_t offset;
    /* The view's bytes, or `COMPUTE_WHOLE`. */
    uint64_t size;
    /* Inline bytes of a uniform block, copied before the call returns; what `COMPUTE_BINDING_FLAG_TENSOR_MAP` says; else NULL. */
    const void *data;
    /* How many inline bytes. */
    uint64_t data_size;
    /* `COMPUTE_BINDING_FLAG_...` */
    uint64_t flags;
} compute_binding;

/* One launch. */
typedef struct compute_launch_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_LAUNCH_...` */
    uint32_t mode;
    /* The kernel. */
    compute_kernel kernel;
    /* Workgroups per axis; a zero is no work (L1). Ignored when `indirect.buffer` is given. */
    uint32_t grid[3];
    /* Zero. */
    uint32_t reserved;
    /* Where the grid is read from instead: three u32 (L2), offset a multiple of 4; or `buffer` NULL. */
    struct compute_view indirect;
    /* One per binding that the kernel uses, in any order. */
    const struct compute_binding *bindings;
    /* How many. */
    size_t binding_count;
    /* Distance in bytes between them; 0: `sizeof(compute_binding)`. */
    size_t binding_stride;
    /* The immediate block (L4), copied before the call returns. */
    const void *immediates;
    /* Its size in bytes. */
    uint64_t immediate_size;
    /* For messages; may be NULL. */
    const char *label;
    /* Its length. */
    size_t label_length;
    /* Zero. */
    const void *next;
} compute_launch_desc;

/* A tensor to be placed in a buffer, by `compute_device_layout_tensors`. */
typedef struct compute_tensor_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element. */
    uint32_t rank;
    /* Elements of each dimension, the slowest first. A 0 makes an empty tensor. */
    const uint64_t *shape;
    /* Bytes of an element, more than 0. */
    uint64_t element_size;
    /* `COMPUTE_ARRANGEMENT_...` */
    uint32_t arrangement;
    /* Zero. */
    uint32_t reserved;
} compute_tensor_desc;

/* The elements that a strided transfer moves, and how they lie at both ends. Strides are in bytes, one for each dimension, not negative, and such that
 * no elements overlap or interleave: sorted by size, each is at least what the dimensions inside it span. */
typedef struct compute_strided_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Number of dimensions, at most `COMPUTE_MOST_DIMENSIONS`; 0: a single element. */
    uint32_t rank;
    /* Elements of each dimension, the slowest first. A 0: there is nothing to move. */
    const uint64_t *shape;
    /* Bytes of an element, more than 0. */
    uint64_t element_size;
    /* Strides at the source (host memory of a write, the view of a read); NULL: without gaps. */
    const int64_t *from_strides;
    /* Strides at the destination; NULL: without gaps. */
    const int64_t *to_strides;
} compute_strided_desc;

/* How a view looks as a tensor, for `cp.async.bulk.tensor` of NVIDIA's GPUs from sm_90 on: tiled mode (there is no im2col). Dimension 0 is the innermost; of each
 * array the first `rank` numbers count. The numbers mean what they mean to `cuTensorMapEncodeTiled`. All limits are checked, and the tensor lies inside its view; of
 * an interleaved one only its first slice is looked at. */
typedef struct compute_tensor_map_desc {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_ELEMENT_...` */
    uint32_t element;
    /* Dimensions: 1 to 5, interleaved 3 to 5. */
    uint32_t rank;
    /* `COMPUTE_INTERLEAVE_...`; 32 bytes need the swizzle of 32 bytes. */
    uint32_t interleave;
    /* `COMPUTE_SWIZZLE_...`; without interleave a box's side on axis 0 has at most as many bytes. */
    uint32_t swizzle;
    /* `COMPUTE_L2_PROMOTION_...` */
    uint32_t l2_promotion;
    /* What is read outside the tensor: `COMPUTE_OUTSIDE_...` */
    uint32_t outside;
    /* Zero. */
    uint32_t reserved;
    /* Elements on each axis, 1 to 2^32. */
    uint64_t shape[5];
    /* Bytes from one element to the next on each axis, below 2^40 and a multiple of 16 (32 with an interleave of 32 bytes); 0: without gaps behind the axis before.
     * On axis 0 the size of an element, or 0. */
    uint64_t strides[5];
    /* Elements of a box on each axis, 1 to 256, those that are stepped over included. On axis 0 a multiple of 16 bytes, unless interleaved. */
    uint32_t box_shape[5];
    /* Of how many elements in a box one is taken, 1 to 8; 0: 1. On axis 0 it is 1, unless interleaved. */
    uint32_t element_strides[5];
} compute_tensor_map_desc;

/* What a device is and allows. Filled by `compute_device_get_info` and `compute_devices_list`. */
typedef struct compute_device_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_DEVICE_...` */
    uint32_t kind;
    /* The driver: `cpu`, `wgpu`, `cuda`, `hip`. */
    char backend[16];
    /* For people, NUL-terminated, cut to fit. */
    char name[128];
    /* For people. */
    char vendor[64];
    /* Driver name and version, for people. */
    char driver[64];
    /* The exact target that code is made for. */
    char target[128];
    /* Stable identity; zeros when the driver gives none. */
    uint8_t uuid[16];
    /* The index to open it by, in the order of the list. */
    uint32_t index;
    /* Processors or multiprocessors. */
    uint32_t units;
    /* Smallest subgroup. */
    uint32_t subgroup_min;
    /* Largest subgroup. */
    uint32_t subgroup_max;
    /* `COMPUTE_CAPABILITY_...` */
    uint64_t capabilities;
    /* Bytes of memory in all. */
    uint64_t memory_size;
    /* Invocations per workgroup, per axis. */
    uint32_t max_workgroup_size[3];
    /* Invocations per workgroup in all. */
    uint32_t max_workgroup_invocations;
    /* Workgroups per launch, per axis. */
    uint32_t max_grid[3];
    /* Bindings per launch. */
    uint32_t max_bindings;
    /* Bytes of workgroup memory. */
    uint64_t max_workgroup_memory;
    /* Bytes of one storage binding. */
    uint64_t max_binding_size;
    /* Bytes of one uniform binding. */
    uint64_t max_uniform_size;
    /* Bytes of one buffer. */
    uint64_t max_buffer_size;
    /* Bytes of the immediate block. */
    uint32_t max_immediate_size;
    /* Alignment of a storage view's offset, in bytes. */
    uint32_t storage_alignment;
    /* Alignment of a uniform view's offset, in bytes. */
    uint32_t uniform_alignment;
    /* Bytes of the widest load that one invocation makes at once; 0: unknown. */
    uint32_t load_width;
    /* `COMPUTE_FEATURE_...` */
    uint64_t features;
    /* Place on the PCI bus as Linux writes it, `0000:3b:00.0`, NUL-terminated; empty where there is none or the driver does not tell. One card has the same place,
     * and mostly the same `uuid`, on every backend. */
    char pci_address[24];
} compute_device_info;

/* A device: owns memory and streams. Not an address; NULL is none. */
typedef struct compute_device_s *compute_device;

/* What a device's cache on disk has done. Filled by `compute_device_cache_info`. */
typedef struct compute_cache_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CACHE_...` */
    uint32_t state;
    /* Kernels that came from the folder. */
    uint64_t hits;
    /* Kernels that were not there. */
    uint64_t misses;
    /* Files that were there and not taken: damaged, of something else, or unreadable. */
    uint64_t rejected;
    /* Kernels that were put there. */
    uint64_t stored;
    /* Kernels that could not be put there. */
    uint64_t failed;
    /* Files that this device removed because there were too many bytes. */
    uint64_t evicted;
    /* Bytes that hits have read. */
    uint64_t bytes_read;
    /* Bytes that were written. */
    uint64_t bytes_written;
    /* Bytes that kernels may take in the folder. */
    uint64_t max_bytes;
    /* Why the folder is not used, NUL-terminated, cut to fit; else empty. */
    char reason[256];
} compute_cache_info;

/* A moment in a stream's work, or the completion of an asynchronous read. */
typedef struct compute_event_s *compute_event;

/* Memory of a device in use. */
typedef struct compute_memory_usage {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* Live buffers. */
    uint64_t buffers;
    /* Their bytes as asked for. */
    uint64_t bytes_in_use;
    /* Bytes taken from the driver. */
    uint64_t bytes_reserved;
    /* The most that `bytes_in_use` has been. */
    uint64_t bytes_in_use_peak;
    /* The most that `bytes_reserved` has been. */
    uint64_t bytes_reserved_peak;
    /* Bytes of ended buffers that work still uses on another stream than theirs; not handed out again before it is over. */
    uint64_t bytes_pending;
    /* Bytes in pages that hold nothing: what `compute_device_cleanup` gives back, once it is not in use. */
    uint64_t bytes_idle;
    /* The largest run of free bytes in any page. */
    uint64_t largest_free;
    /* Host memory for bytes on their way from the device, in use or kept for the next; `compute_device_cleanup` lets go of what is kept. */
    uint64_t bytes_staging;
    /* Bytes of live buffers that were imported (`compute_buffer_import`), which are in none of the above; `buffers` counts those buffers. */
    uint64_t bytes_imported;
} compute_memory_usage;

/* What a compaction came to. */
typedef struct compute_compaction_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* Buffers moved. */
    uint64_t buffers;
    /* Their bytes. */
    uint64_t bytes;
    /* Bytes in pages given back to the driver. */
    uint64_t bytes_freed;
} compute_compaction_info;

/* One pool of a stream (M4). Bytes, as pages are cut: an allocation counts with what it takes. */
typedef struct compute_pool_report {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_POOL_...` */
    uint32_t kind;
    /* 1 for a pool of long-lived buffers. */
    uint32_t persistent;
    /* Zero. */
    uint32_t reserved;
    /* The largest allocation that goes here. */
    uint64_t largest;
    /* The size of its next page, at least; 0 in an exclusive pool. */
    uint64_t page_size;
    /* The most bytes that it may have in pages; `COMPUTE_WHOLE`: no cap. */
    uint64_t cap;
    /* Pages. */
    uint64_t pages;
    /* Live allocations. */
    uint64_t allocations;
    /* Bytes in them. */
    uint64_t bytes_in_use;
    /* Bytes released that other streams still use. */
    uint64_t bytes_pending;
    /* Bytes in pages. */
    uint64_t bytes_reserved;
    /* The largest run of free bytes. */
    uint64_t largest_free;
    /* The most that `bytes_in_use` and `bytes_pending` have been together. */
    uint64_t bytes_in_use_peak;
    /* The most that `bytes_reserved` has been. */
    uint64_t bytes_reserved_peak;
    /* The most that `pages` has been. */
    uint64_t pages_peak;
} compute_pool_report;

/* One pool of a layout. Bytes. */
typedef struct compute_pool_desc {
    /* `COMPUTE_POOL_...` */
    uint32_t kind;
    /* Zero. */
    uint32_t reserved;
    /* Larger allocations go to a later pool. `COMPUTE_WHOLE`: takes all. */
    uint64_t largest;
    /* Size of the first page, a multiple of 256 and of the device's alignments. 0 in an exclusive pool. */
    uint64_t page;
    /* Pages grow with the pool up to this. 0: they do not grow. */
    uint64_t page_most;
    /* The most bytes in pages. 0: no cap. */
    uint64_t cap;
} compute_pool_desc;

/* A ceiling on memory that any number of streams share. */
typedef struct compute_budget_s *compute_budget;

/* A budget (M6). Bytes. */
typedef struct compute_budget_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* The ceiling. */
    uint64_t limit;
    /* Charged now: live buffers, and ended ones that work still uses, as the pools round them; and bytes on their way to or from the device. */
    uint64_t charged;
    /* The most that was charged at once. */
    uint64_t charged_peak;
} compute_budget_info;

/* Where a tensor lies in a buffer. All in bytes. */
typedef struct compute_tensor_place {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Number of dimensions. */
    uint32_t rank;
    /* Of its first element. */
    uint64_t offset;
    /* From its first to behind its last element; 0 for an empty tensor. */
    uint64_t size;
    /* From the start of a row to that of the next. */
    uint64_t pitch;
    /* Of each dimension, for `compute_strided_desc`; 0 beyond the rank. */
    int64_t strides[8];
} compute_tensor_place;

/* Bytes of a view that are copied to the host when they are asked for. */
typedef struct compute_readback_s *compute_readback;

/* A host-visible buffer in the host's memory. */
typedef struct compute_mapping_s *compute_mapping;

/* A graph that is ready to be replayed. */
typedef struct compute_graph_s *compute_graph;

/* An explicit graph that is being made (G6). */
typedef struct compute_graph_builder_s *compute_graph_builder;

/* Names a node of one builder, and of the graphs that it makes, or of one captured graph. 0 is none. */
typedef uint64_t compute_node;

/* Numbers of a graph. */
typedef struct compute_graph_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Zero. */
    uint32_t reserved;
    /* Nodes, joins included. */
    uint64_t node_count;
    /* Edges: those that were asked for, and those between nodes that touch common bytes of which one writes. */
    uint64_t edge_count;
    /* Distinct buffers that it keeps alive and in place. */
    uint64_t buffer_count;
    /* Distinct bytes that it references. */
    uint64_t bytes;
    /* `COMPUTE_GRAPH_FLAG_...` */
    uint64_t flags;
} compute_graph_info;

/* One node of a graph. */
typedef struct compute_node_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_NODE_...` */
    uint32_t kind;
    /* Its name. */
    compute_node node;
    /* How many nodes it follows. */
    uint64_t after_count;
    /* Entry point, or `copy`, `fill`, `join`; NUL-terminated, cut to fit. */
    char name[128];
    /* Its label, NUL-terminated, cut to fit. */
    char label[128];
} compute_node_info;

/* Where a view is for the driver (`compute_stream_export`). */
typedef struct compute_native_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_NATIVE_...` */
    uint32_t kind;
    /* The driver's name of the memory that the view lies in, other buffers too. */
    uint64_t handle;
    /* Where the view begins in it, in bytes. */
    uint64_t offset;
    /* Bytes of the view. */
    uint64_t size;
} compute_native_info;

/* What a kernel is (L10). */
typedef struct compute_kernel_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* How many bindings. */
    uint32_t binding_count;
    /* Name of the entry point, NUL-terminated, cut to fit. */
    char entry[128];
    /* Invocations per workgroup. */
    uint32_t workgroup_size[3];
    /* Bytes of the immediate block. */
    uint32_t immediate_size;
    /* Bytes of workgroup memory. */
    uint64_t workgroup_memory;
    /* How many override constants. */
    uint32_t override_count;
    /* Which of the native sources the device has taken (L11), by its index; `COMPUTE_NATIVE_NONE`: the portable one. */
    uint32_t native_source;
    /* The native source's `COMPUTE_LANGUAGE_...`; 0: the portable one runs. */
    uint32_t language;
    /* Zero. */
    uint32_t reserved;
} compute_kernel_info;

/* One binding of a kernel (L10). */
typedef struct compute_binding_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `@group` */
    uint32_t group;
    /* `@binding` */
    uint32_t slot;
    /* `COMPUTE_BINDING_...` */
    uint32_t kind;
    /* `COMPUTE_ACCESS_...` */
    uint32_t access;
    /* Required alignment of the view's offset in bytes, device's included. */
    uint32_t alignment;
    /* Fewest bytes. */
    uint64_t min_size;
    /* Name in the source, NUL-terminated, cut to fit. */
    char name[128];
} compute_binding_info;

/* One override constant of a kernel (L10). */
typedef struct compute_override_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `@id`, or -1. */
    int32_t id;
    /* `COMPUTE_OVERRIDE_...` */
    uint32_t kind;
    /* 1 when the source gives a default. */
    uint32_t has_default;
    /* The default where it is a number known before other constants, else 0. */
    double default_value;
    /* Name in the source, NUL-terminated, cut to fit. */
    char name[128];
    /* The same default for `i64` and `u64`, exactly, in two's complement; else 0. */
    uint64_t default_integer;
} compute_override_info;

/* Called exactly once: with `COMPUTE_OK`, or with the error that the event's own wait would give (for the call's duration; retain it to keep it).
 * No lock of the library is held; any call is allowed. It must not unwind. */
typedef void (*compute_event_callback)(void *user, compute_status status, compute_error error);

/* What an error says about itself, all but its text. */
typedef struct compute_error_info {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* Its status. */
    compute_status status;
    /* 1: this kernel or configuration can never run here, drop the candidate. */
    uint32_t refusal;
    /* 1: drop the device. */
    uint32_t poisoned;
    /* 1: could succeed after memory is reclaimed. */
    uint32_t reclaimable;
    /* 1: reached through at least one skip. */
    uint32_t skip;
    /* Id of the failure that claims the bytes, unique in the process; 0: none. */
    uint64_t failure;
    /* How many buffers that failure still claims. */
    uint64_t claimed_buffers;
    /* 1: the failure happened before anything reached the device, so `compute_reinstate` can lift its claims. */
    uint32_t untouched;
    /* Line in the kernel's source, from 1; 0: unknown. */
    uint32_t line;
    /* Column in bytes, from 1; 0: unknown. */
    uint32_t column;
    /* Entries of the chain that can be asked for, newest first. */
    uint32_t chain_count;
    /* Skips in all that the failure caused. */
    uint64_t chain_total;
    /* Members, when several failures claim the bytes. */
    uint32_t member_count;
    /* 1: there is a root error besides this one. */
    uint32_t has_root;
    /* The driver's own code; see `compute_error_driver_name`. */
    int64_t driver_code;
    /* Number of the operation that it is about, unique in the process; 0: none. */
    uint64_t operation;
    /* Id of the stream that it is about; 0: none. */
    uint64_t stream;
} compute_error_info;

/* One entry of an error's chain: work that was skipped because it needed bytes that had failed. */
typedef struct compute_chain_entry {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* 1: the work ran and used the bytes before their failure was known; 0: it was skipped. */
    uint32_t used;
    /* Number of the operation. */
    uint64_t operation;
    /* Id of its stream. */
    uint64_t stream;
    /* Id of the buffer that it needed. */
    uint64_t buffer;
    /* Entry point, or the name of the operation; NUL-terminated, cut to fit. */
    char kernel[64];
    /* Its label. */
    char label[64];
    /* Label of the buffer. */
    char buffer_label[64];
} compute_chain_entry;

/* What every struct in a `next` chain begins with. */
typedef struct compute_chained {
    /* Size of the caller's struct. */
    uint32_t struct_size;
    /* `COMPUTE_CHAINED_...` */
    uint32_t kind;
    /* The next one, or NULL. */
    const void *next;
} compute_chained;

/* Every function of the library. Filled by `compute_get_table`; new ones are added at the end, and one that the library lacks is NULL. */
typedef struct compute_table {
    /* Bytes that the library filled. */
    uint32_t struct_size;
    /* `COMPUTE_ABI` of the library. */
    uint32_t abi;
    /* `compute_version` */
    const char *(*version)(void);
    /* `compute_check_abi` */
    compute_status (*check_abi)(uint32_t abi, compute_error *out_error);
    /* `compute_status_name` */
    const char *(*status_name)(compute_status status);
    /* `compute_log_set` */
    compute_status (*log_set)(compute_log_callback callback, void *user, uint32_t level, compute_error *out_error);
    /* `compute_devices_list` */
    compute_status (*devices_list)(const struct compute_list_desc *desc,
                                   struct compute_device_info *infos,
                                   size_t info_stride,
                                   size_t capacity,
                                   size_t *count,
                                   compute_error *out_error);
    /* `compute_drivers_report` */
    compute_status (*drivers_report)(char *text, size_t capacity, size_t *needed, compute_error *out_error);
    /* `compute_device_open` */
    compute_status (*device_open)(const struct compute_device_desc *desc, compute_device *out, compute_error *out_error);
    /* `compute_device_retain` */
    compute_status (*device_retain)(compute_device device, compute_error *out_error);
    /* `compute_device_release` */
    void (*device_release)(compute_device device);
    /* `compute_device_destroy` */
    compute_status (*device_destroy)(compute_device device, compute_error *out_error);
    /* `compute_device_get_info` */
    compute_status (*device_get_info)(compute_device device, struct compute_device_info *info, compute_error *out_error);
    /* `compute_device_status` */
    compute_status (*device_status)(compute_device device, compute_error *out_error);
    /* `compute_device_set_queues` */
    compute_status (*device_set_queues)(compute_device device, uint32_t count, compute_error *out_error);
    /* `compute_device_lock` */
    compute_status (*device_lock)(compute_device device, compute_error *out_error);
    /* `compute_device_unlock` */
    compute_status (*device_unlock)(compute_device device, compute_error *out_error);
    /* `compute_device_memory_usage` */
    compute_status (*device_memory_usage)(compute_device device, struct compute_memory_usage *usage, compute_error *out_error);
    /* `compute_device_compile_queued` */
    compute_status (*device_compile_queued)(compute_device device, compute_error *out_error);
    /* `compute_device_inject_fault` */
    compute_status (*device_inject_fault)(compute_device device, uint64_t call, uint32_t how, compute_error *out_error);
    /* `compute_device_fault_calls` */
    compute_status (*device_fault_calls)(compute_device device, uint64_t *calls, compute_error *out_error);
    /* `compute_stream_create` */
    compute_status (*stream_create)(compute_device device,
                                    const struct compute_stream_desc *desc,
                                    compute_stream *out,
                                    compute_error *out_error);
    /* `compute_stream_retain` */
    compute_status (*stream_retain)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_release` */
    void (*stream_release)(compute_stream stream);
    /* `compute_stream_destroy` */
    compute_status (*stream_destroy)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_launch` */
    compute_status (*stream_launch)(compute_stream stream, const struct compute_launch_desc *desc, compute_error *out_error);
    /* `compute_stream_write` */
    compute_status (*stream_write)(compute_stream stream,
                                   const struct compute_view *to,
                                   const void *bytes,
                                   uint64_t size,
                                   compute_error *out_error);
    /* `compute_stream_write_borrowed` */
    compute_status (*stream_write_borrowed)(compute_stream stream,
                                            const struct compute_view *to,
                                            const void *bytes,
                                            uint64_t size,
                                            compute_event *out_event,
                                            compute_error *out_error);
    /* `compute_stream_read` */
    compute_status (*stream_read)(compute_stream stream,
                                  const struct compute_view *from,
                                  void *bytes,
                                  uint64_t size,
                                  compute_error *out_error);
    /* `compute_stream_read_async` */
    compute_status (*stream_read_async)(compute_stream stream,
                                        const struct compute_view *from,
                                        void *bytes,
                                        uint64_t size,
                                        compute_event *out_event,
                                        compute_error *out_error);
    /* `compute_stream_copy` */
    compute_status (*stream_copy)(compute_stream stream,
                                  const struct compute_view *from,
                                  const struct compute_view *to,
                                  compute_error *out_error);
    /* `compute_stream_fill` */
    compute_status (*stream_fill)(compute_stream stream,
                                  const struct compute_view *to,
                                  const void *pattern,
                                  uint64_t pattern_size,
                                  compute_error *out_error);
    /* `compute_stream_record` */
    compute_status (*stream_record)(compute_stream stream, compute_event *out_event, compute_error *out_error);
    /* `compute_stream_wait_event` */
    compute_status (*stream_wait_event)(compute_stream stream, compute_event event, compute_error *out_error);
    /* `compute_stream_flush` */
    compute_status (*stream_flush)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_sync` */
    compute_status (*stream_sync)(compute_stream stream,
                                  const struct compute_view *views,
                                  size_t view_count,
                                  size_t view_stride,
                                  uint64_t timeout_ns,
                                  compute_error *out_error);
    /* `compute_buffer_create` */
    compute_status (*buffer_create)(compute_device device,
                                    const struct compute_buffer_desc *desc,
                                    compute_buffer *out,
                                    compute_error *out_error);
    /* `compute_buffer_retain` */
    compute_status (*buffer_retain)(compute_buffer buffer, compute_error *out_error);
    /* `compute_buffer_release` */
    void (*buffer_release)(compute_buffer buffer);
    /* `compute_buffer_destroy` */
    compute_status (*buffer_destroy)(compute_buffer buffer, compute_error *out_error);
    /* `compute_buffer_get_size` */
    compute_status (*buffer_get_size)(compute_buffer buffer, uint64_t *size, compute_error *out_error);
    /* `compute_buffer_get_id` */
    compute_status (*buffer_get_id)(compute_buffer buffer, uint64_t *id, compute_error *out_error);
    /* `compute_check` */
    compute_status (*check)(const struct compute_view *views, size_t view_count, size_t view_stride, compute_error *out_error);
    /* `compute_reinstate` */
    compute_status (*reinstate)(const struct compute_view *view,
                                uint64_t failure,
                                uint64_t *lifted_bytes,
                                compute_error *out_error);
    /* `compute_kernel_create` */
    compute_status (*kernel_create)(compute_device device,
                                    const struct compute_kernel_desc *desc,
                                    compute_kernel *out,
                                    compute_error *out_error);
    /* `compute_kernel_retain` */
    compute_status (*kernel_retain)(compute_kernel kernel, compute_error *out_error);
    /* `compute_kernel_release` */
    void (*kernel_release)(compute_kernel kernel);
    /* `compute_kernel_destroy` */
    compute_status (*kernel_destroy)(compute_kernel kernel, compute_error *out_error);
    /* `compute_kernel_get_info` */
    compute_status (*kernel_get_info)(compute_kernel kernel, struct compute_kernel_info *info, compute_error *out_error);
    /* `compute_kernel_get_binding` */
    compute_status (*kernel_get_binding)(compute_kernel kernel,
                                         uint32_t index,
                                         struct compute_binding_info *info,
                                         compute_error *out_error);
    /* `compute_kernel_get_override` */
    compute_status (*kernel_get_override)(compute_kernel kernel,
                                          uint32_t index,
                                          struct compute_override_info *info,
                                          compute_error *out_error);
    /* `compute_kernel_find_binding` */
    compute_status (*kernel_find_binding)(compute_kernel kernel,
                                          const char *name,
                                          size_t length,
                                          uint32_t *index,
                                          compute_error *out_error);
    /* `compute_event_retain` */
    compute_status (*event_retain)(compute_event event, compute_error *out_error);
    /* `compute_event_release` */
    void (*event_release)(compute_event event);
    /* `compute_event_destroy` */
    compute_status (*event_destroy)(compute_event event, compute_error *out_error);
    /* `compute_event_poll` */
    compute_status (*event_poll)(compute_event event, compute_error *out_error);
    /* `compute_event_wait` */
    compute_status (*event_wait)(compute_event event, uint64_t timeout_ns, compute_error *out_error);
    /* `compute_events_wait_any` */
    compute_status (*events_wait_any)(const compute_event *events,
                                      size_t count,
                                      uint64_t timeout_ns,
                                      size_t *index,
                                      compute_error *out_error);
    /* `compute_events_wait_all` */
    compute_status (*events_wait_all)(const compute_event *events, size_t count, uint64_t timeout_ns, compute_error *out_error);
    /* `compute_event_on_complete` */
    compute_status (*event_on_complete)(compute_event event,
                                        compute_event_callback callback,
                                        void *user,
                                        uint32_t thread,
                                        compute_error *out_error);
    /* `compute_event_get_fd` */
    compute_status (*event_get_fd)(compute_event event, int32_t *fd, compute_error *out_error);
    /* `compute_event_get_time` */
    compute_status (*event_get_time)(compute_event event, uint64_t *device_ns, compute_error *out_error);
    /* `compute_error_retain` */
    compute_status (*error_retain)(compute_error error);
    /* `compute_error_release` */
    void (*error_release)(compute_error error);
    /* `compute_error_get_info` */
    compute_status (*error_get_info)(compute_error error, struct compute_error_info *info);
    /* `compute_error_message` */
    compute_status (*error_message)(compute_error error, char *text, size_t capacity, size_t *needed);
    /* `compute_error_label` */
    compute_status (*error_label)(compute_error error, char *text, size_t capacity, size_t *needed);
    /* `compute_error_kernel` */
    compute_status (*error_kernel)(compute_error error, char *text, size_t capacity, size_t *needed);
    /* `compute_error_driver_name` */
    compute_status (*error_driver_name)(compute_error error, char *text, size_t capacity, size_t *needed);
    /* `compute_error_format` */
    compute_status (*error_format)(compute_error error, uint32_t form, char *text, size_t capacity, size_t *needed);
    /* `compute_error_root` */
    compute_status (*error_root)(compute_error error, compute_error *out);
    /* `compute_error_chain` */
    compute_status (*error_chain)(compute_error error, uint32_t index, struct compute_chain_entry *entry);
    /* `compute_error_member` */
    compute_status (*error_member)(compute_error error, uint32_t index, compute_error *out);
    /* `compute_list_desc_init` */
    void (*list_desc_init)(struct compute_list_desc *desc);
    /* `compute_device_desc_init` */
    void (*device_desc_init)(struct compute_device_desc *desc);
    /* `compute_fault_desc_init` */
    void (*fault_desc_init)(struct compute_fault_desc *desc);
    /* `compute_stream_desc_init` */
    void (*stream_desc_init)(struct compute_stream_desc *desc);
    /* `compute_buffer_desc_init` */
    void (*buffer_desc_init)(struct compute_buffer_desc *desc);
    /* `compute_kernel_desc_init` */
    void (*kernel_desc_init)(struct compute_kernel_desc *desc);
    /* `compute_launch_desc_init` */
    void (*launch_desc_init)(struct compute_launch_desc *desc);
    /* `compute_device_spread_workgroups` */
    compute_status (*device_spread_workgroups)(compute_device device,
                                               uint64_t count,
                                               uint32_t exact,
                                               uint32_t *grid,
                                               uint64_t *idle,
                                               compute_error *out_error);
    /* `compute_device_get_workgroup_size` */
    compute_status (*device_get_workgroup_size)(compute_device device, uint64_t items, uint32_t *size, compute_error *out_error);
    /* `compute_device_get_vector_widths` */
    compute_status (*device_get_vector_widths)(compute_device device,
                                               uint32_t element_size,
                                               uint32_t *widths,
                                               size_t capacity,
                                               size_t *count,
                                               compute_error *out_error);
    /* `compute_kernel_poll` */
    compute_status (*kernel_poll)(compute_kernel kernel, compute_error *out_error);
    /* `compute_kernel_wait` */
    compute_status (*kernel_wait)(compute_kernel kernel, uint64_t timeout_ns, compute_error *out_error);
    /* `compute_include_desc_init` */
    void (*include_desc_init)(struct compute_include_desc *desc);
    /* `compute_error_diagnostic` */
    compute_status (*error_diagnostic)(compute_error error,
                                       uint32_t index,
                                       uint32_t *line,
                                       uint32_t *column,
                                       char *text,
                                       size_t capacity,
                                       size_t *needed);
    /* `compute_device_cleanup` */
    compute_status (*device_cleanup)(compute_device device, compute_error *out_error);
    /* `compute_stream_cleanup` */
    compute_status (*stream_cleanup)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_memory_report` */
    compute_status (*stream_memory_report)(compute_stream stream,
                                           struct compute_pool_report *reports,
                                           size_t report_stride,
                                           size_t capacity,
                                           size_t *count,
                                           compute_error *out_error);
    /* `compute_stream_set_pools` */
    compute_status (*stream_set_pools)(compute_stream stream,
                                       const struct compute_pool_desc *pools,
                                       size_t pool_count,
                                       size_t pool_stride,
                                       compute_error *out_error);
    /* `compute_budget_create` */
    compute_status (*budget_create)(uint64_t limit, compute_budget *out, compute_error *out_error);
    /* `compute_budget_retain` */
    compute_status (*budget_retain)(compute_budget budget, compute_error *out_error);
    /* `compute_budget_release` */
    void (*budget_release)(compute_budget budget);
    /* `compute_budget_destroy` */
    compute_status (*budget_destroy)(compute_budget budget, compute_error *out_error);
    /* `compute_budget_get_info` */
    compute_status (*budget_get_info)(compute_budget budget, struct compute_budget_info *info, compute_error *out_error);
    /* `compute_stream_set_budget` */
    compute_status (*stream_set_budget)(compute_stream stream, compute_budget budget, compute_error *out_error);
    /* `compute_stream_begin_dry_run` */
    compute_status (*stream_begin_dry_run)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_end_dry_run` */
    compute_status (*stream_end_dry_run)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_get_plan` */
    compute_status (*stream_get_plan)(compute_stream stream,
                                      struct compute_pool_desc *pools,
                                      size_t pool_stride,
                                      size_t capacity,
                                      size_t *count,
                                      compute_error *out_error);
    /* `compute_stream_freeze_pools` */
    compute_status (*stream_freeze_pools)(compute_stream stream, uint32_t frozen, compute_error *out_error);
    /* `compute_stream_compact` */
    compute_status (*stream_compact)(compute_stream stream, struct compute_compaction_info *info, compute_error *out_error);
    /* `compute_device_layout_tensors` */
    compute_status (*device_layout_tensors)(compute_device device,
                                            const struct compute_tensor_desc *tensors,
                                            size_t tensor_count,
                                            size_t tensor_stride,
                                            uint64_t alignment,
                                            struct compute_tensor_place *places,
                                            size_t place_stride,
                                            uint64_t *size,
                                            compute_error *out_error);
    /* `compute_stream_write_strided` */
    compute_status (*stream_write_strided)(compute_stream stream,
                                           const struct compute_view *to,
                                           const struct compute_strided_desc *desc,
                                           const void *bytes,
                                           uint64_t size,
                                           compute_error *out_error);
    /* `compute_stream_read_strided` */
    compute_status (*stream_read_strided)(compute_stream stream,
                                          const struct compute_view *from,
                                          const struct compute_strided_desc *desc,
                                          void *bytes,
                                          uint64_t size,
                                          compute_error *out_error);
    /* `compute_stream_read_strided_async` */
    compute_status (*stream_read_strided_async)(compute_stream stream,
                                                const struct compute_view *from,
                                                const struct compute_strided_desc *desc,
                                                void *bytes,
                                                uint64_t size,
                                                compute_event *out_event,
                                                compute_error *out_error);
    /* `compute_stream_copy_strided` */
    compute_status (*stream_copy_strided)(compute_stream stream,
                                          const struct compute_view *from,
                                          const struct compute_view *to,
                                          const struct compute_strided_desc *desc,
                                          compute_error *out_error);
    /* `compute_tensor_desc_init` */
    void (*tensor_desc_init)(struct compute_tensor_desc *desc);
    /* `compute_strided_desc_init` */
    void (*strided_desc_init)(struct compute_strided_desc *desc);
    /* `compute_stream_read_lazy` */
    compute_status (*stream_read_lazy)(compute_stream stream,
                                       const struct compute_view *from,
                                       compute_readback *out,
                                       compute_error *out_error);
    /* `compute_readback_retain` */
    compute_status (*readback_retain)(compute_readback readback, compute_error *out_error);
    /* `compute_readback_release` */
    void (*readback_release)(compute_readback readback);
    /* `compute_readback_destroy` */
    compute_status (*readback_destroy)(compute_readback readback, compute_error *out_error);
    /* `compute_readback_start` */
    compute_status (*readback_start)(compute_readback readback, compute_event *out_event, compute_error *out_error);
    /* `compute_readback_get` */
    compute_status (*readback_get)(compute_readback readback, const void **bytes, uint64_t *size, compute_error *out_error);
    /* `compute_buffer_map` */
    compute_status (*buffer_map)(const struct compute_view *view, compute_mapping *out, compute_error *out_error);
    /* `compute_mapping_retain` */
    compute_status (*mapping_retain)(compute_mapping mapping, compute_error *out_error);
    /* `compute_mapping_release` */
    void (*mapping_release)(compute_mapping mapping);
    /* `compute_mapping_destroy` */
    compute_status (*mapping_destroy)(compute_mapping mapping, compute_error *out_error);
    /* `compute_mapping_get_pointer` */
    compute_status (*mapping_get_pointer)(compute_mapping mapping, void **pointer, uint64_t *size, compute_error *out_error);
    /* `compute_mapping_acquire` */
    compute_status (*mapping_acquire)(compute_mapping mapping,
                                      uint64_t offset,
                                      uint64_t size,
                                      uint32_t access,
                                      uint64_t timeout_ns,
                                      compute_error *out_error);
    /* `compute_mapping_flush` */
    compute_status (*mapping_flush)(compute_mapping mapping, uint64_t offset, uint64_t size, compute_error *out_error);
    /* `compute_stream_set_scratch_limit` */
    compute_status (*stream_set_scratch_limit)(compute_stream stream, uint64_t bytes, compute_error *out_error);
    /* `compute_stream_prepare_capture` */
    compute_status (*stream_prepare_capture)(compute_stream stream, compute_error *out_error);
    /* `compute_stream_begin_capture` */
    compute_status (*stream_begin_capture)(compute_stream stream,
                                           const struct compute_graph_desc *desc,
                                           uint64_t *out_capture,
                                           compute_error *out_error);
    /* `compute_stream_end_capture` */
    compute_status (*stream_end_capture)(compute_stream stream, uint64_t capture, compute_graph *out, compute_error *out_error);
    /* `compute_graph_builder_create` */
    compute_status (*graph_builder_create)(compute_device device,
                                           const struct compute_graph_desc *desc,
                                           compute_graph_builder *out,
                                           compute_error *out_error);
    /* `compute_graph_builder_retain` */
    compute_status (*graph_builder_retain)(compute_graph_builder builder, compute_error *out_error);
    /* `compute_graph_builder_release` */
    void (*graph_builder_release)(compute_graph_builder builder);
    /* `compute_graph_builder_destroy` */
    compute_status (*graph_builder_destroy)(compute_graph_builder builder, compute_error *out_error);
    /* `compute_graph_builder_add_launch` */
    compute_status (*graph_builder_add_launch)(compute_graph_builder builder,
                                               const struct compute_launch_desc *desc,
                                               const compute_node *after,
                                               size_t after_count,
                                               compute_node *out_node,
                                               compute_error *out_error);
    /* `compute_graph_builder_add_copy` */
    compute_status (*graph_builder_add_copy)(compute_graph_builder builder,
                                             const struct compute_view *from,
                                             const struct compute_view *to,
                                             const char *label,
                                             size_t label_length,
                                             const compute_node *after,
                                             size_t after_count,
                                             compute_node *out_node,
                                             compute_error *out_error);
    /* `compute_graph_builder_add_fill` */
    compute_status (*graph_builder_add_fill)(compute_graph_builder builder,
                                             const struct compute_view *to,
                                             const void *pattern,
                                             uint64_t pattern_size,
                                             const char *label,
                                             size_t label_length,
                                             const compute_node *after,
                                             size_t after_count,
                                             compute_node *out_node,
                                             compute_error *out_error);
    /* `compute_graph_builder_add_join` */
    compute_status (*graph_builder_add_join)(compute_graph_builder builder,
                                             const compute_node *after,
                                             size_t after_count,
                                             compute_node *out_node,
                                             compute_error *out_error);
    /* `compute_graph_builder_instantiate` */
    compute_status (*graph_builder_instantiate)(compute_graph_builder builder, compute_graph *out, compute_error *out_error);
    /* `compute_graph_retain` */
    compute_status (*graph_retain)(compute_graph graph, compute_error *out_error);
    /* `compute_graph_release` */
    void (*graph_release)(compute_graph graph);
    /* `compute_graph_destroy` */
    compute_status (*graph_destroy)(compute_graph graph, compute_error *out_error);
    /* `compute_stream_replay` */
    compute_status (*stream_replay)(compute_stream stream, compute_graph graph, compute_error *out_error);
    /* `compute_graph_update_launch` */
    compute_status (*graph_update_launch)(compute_graph graph,
                                          compute_node node,
                                          const struct compute_launch_desc *desc,
                                          compute_error *out_error);
    /* `compute_graph_update_copy` */
    compute_status (*graph_update_copy)(compute_graph graph,
                                        compute_node node,
                                        const struct compute_view *from,
                                        const struct compute_view *to,
                                        compute_error *out_error);
    /* `compute_graph_update_fill` */
    compute_status (*graph_update_fill)(compute_graph graph,
                                        compute_node node,
                                        const struct compute_view *to,
                                        const void *pattern,
                                        uint64_t pattern_size,
                                        compute_error *out_error);
    /* `compute_graph_get_info` */
    compute_status (*graph_get_info)(compute_graph graph, struct compute_graph_info *info, compute_error *out_error);
    /* `compute_graph_get_node` */
    compute_status (*graph_get_node)(compute_graph graph, uint64_t index, struct compute_node_info *info, compute_error *out_error);
    /* `compute_graph_get_times` */
    compute_status (*graph_get_times)(compute_graph graph,
                                      uint64_t *times,
                                      size_t capacity,
                                      size_t *count,
                                      compute_error *out_error);
    /* `compute_graph_export` */
    compute_status (*graph_export)(compute_graph graph,
                                   uint32_t format,
                                   char *text,
                                   size_t capacity,
                                   size_t *needed,
                                   compute_error *out_error);
    /* `compute_graph_desc_init` */
    void (*graph_desc_init)(struct compute_graph_desc *desc);
    /* `compute_vulkan_desc_init` */
    void (*vulkan_desc_init)(struct compute_vulkan_desc *desc);
    /* `compute_stream_export` */
    compute_status (*stream_export)(compute_stream stream,
                                    const struct compute_view *view,
                                    uint32_t access,
                                    struct compute_native_info *info,
                                    compute_error *out_error);
    /* `compute_written` */
    compute_status (*written)(const struct compute_view *view, compute_error *out_error);
    /* `compute_stream_write_strided_borrowed` */
    compute_status (*stream_write_strided_borrowed)(compute_stream stream,
                                                    const struct compute_view *to,
                                                    const struct compute_strided_desc *desc,
                                                    const void *bytes,
                                                    uint64_t size,
                                                    compute_event *out_event,
                                                    compute_error *out_error);
    /* `compute_stream_read_strided_lazy` */
    compute_status (*stream_read_strided_lazy)(compute_stream stream,
                                               const struct compute_view *from,
                                               const struct compute_strided_desc *desc,
                                               compute_readback *out,
                                               compute_error *out_error);
    /* `compute_native_desc_init` */
    void (*native_desc_init)(struct compute_native_desc *desc);
    /* `compute_tensor_map_desc_init` */
    void (*tensor_map_desc_init)(struct compute_tensor_map_desc *desc);
    /* `compute_stream_wait_native` */
    compute_status (*stream_wait_native)(compute_stream stream, uint32_t kind, uint64_t event, compute_error *out_error);
    /* `compute_stream_record_native` */
    compute_status (*stream_record_native)(compute_stream stream, uint32_t kind, uint64_t event, compute_error *out_error);
    /* `compute_import_desc_init` */
    void (*import_desc_init)(struct compute_import_desc *desc);
    /* `compute_buffer_import` */
    compute_status (*buffer_import)(compute_device device,
                                    const struct compute_import_desc *desc,
                                    compute_buffer *out,
                                    compute_error *out_error);
    /* `compute_stream_copy_between` */
    compute_status (*stream_copy_between)(compute_stream from_stream,
                                          const struct compute_view *from,
                                          compute_stream to_stream,
                                          const struct compute_view *to,
                                          compute_error *out_error);
    /* `compute_device_reaches` */
    compute_status (*device_reaches)(compute_device from, compute_device to, uint32_t *straight, compute_error *out_error);
    /* `compute_graph_builder_add_copy_strided` */
    compute_status (*graph_builder_add_copy_strided)(compute_graph_builder builder,
                                                     const struct compute_view *from,
                                                     const struct compute_view *to,
                                                     const struct compute_strided_desc *desc,
                                                     const char *label,
                                                     size_t label_length,
                                                     const compute_node *after,
                                                     size_t after_count,
                                                     compute_node *out_node,
                                                     compute_error *out_error);
    /* `compute_graph_update_copy_strided` */
    compute_status (*graph_update_copy_strided)(compute_graph graph,
                                                compute_node node,
                                                const struct compute_view *from,
                                                const struct compute_view *to,
                                                const struct compute_strided_desc *desc,
                                                compute_error *out_error);
    /* `compute_cache_desc_init` */
    void (*cache_desc_init)(struct compute_cache_desc *desc);
    /* `compute_device_cache_info` */
    compute_status (*device_cache_info)(compute_device device, struct compute_cache_info *info, compute_error *out_error);
} compute_table;

/* Success. */
#define COMPUTE_OK 0

/* What was polled has not finished yet. */
#define COMPUTE_NOT_READY 1

/* The time ran out before what was waited for finished. Nothing is wrong with it. */
#define COMPUTE_TIMEOUT 2

/* The caller's array or text buffer was too small; it was filled as far as it goes and the needed count was told. */
#define COMPUTE_INCOMPLETE 3

/* The work did not run, because bytes that it reads are claimed by a failure. Its outputs carry the same failure. */
#define COMPUTE_SKIPPED 4

/* An argument has a value that it may not have; the message names it. */
#define COMPUTE_ERROR_INVALID_ARGUMENT -100

/* A handle is stale, destroyed, of another type, of another copy of the library, or garbage. */
#define COMPUTE_ERROR_INVALID_HANDLE -101

/* A good handle that belongs to another device than the call. */
#define COMPUTE_ERROR_FOREIGN_HANDLE -102

/* A descriptor's `struct_size` is too small, or its unknown tail is not zero. */
#define COMPUTE_ERROR_INVALID_STRUCT -103

/* An enumerated value or a flag is unknown. */
#define COMPUTE_ERROR_INVALID_ENUM -104

/* A string is not UTF-8. */
#define COMPUTE_ERROR_INVALID_UTF8 -105

/* A view, an offset or a size lies outside of what it is taken from. */
#define COMPUTE_ERROR_OUT_OF_RANGE -106

/* Two ranges overlap where one of them is written. */
#define COMPUTE_ERROR_OVERLAP -107

/* Not possible in the present state; the message says what has to happen first. */
#define COMPUTE_ERROR_BUSY -108

/* The process was forked after a device had been opened; the child must not use the library. */
#define COMPUTE_ERROR_FORKED -109

/* More than the device or the kernel allows; the message has both numbers. */
#define COMPUTE_ERROR_LIMIT -110

/* An offset or size is not aligned as required. */
#define COMPUTE_ERROR_MISALIGNED -111

/* The device cannot do this; its capabilities say so. */
#define COMPUTE_ERROR_UNSUPPORTED -112

/* A launch's bindings do not match the kernel: missing, unknown, given twice, too small, or of the wrong kind. */
#define COMPUTE_ERROR_BINDING -113

/* The header and the library do not fit together. */
#define COMPUTE_ERROR_ABI -114

/* A name that was asked for does not exist. */
#define COMPUTE_ERROR_NOT_FOUND -115

/* A layout of pools that cannot be; the message says why. */
#define COMPUTE_ERROR_INVALID_LAYOUT -116

/* Strides that no transfer here can have: negative, or so scattered that it would take too many calls of the device. */
#define COMPUTE_ERROR_UNSUPPORTED_STRIDES -117

/* Not possible while the stream records a graph. The call did nothing, and the window is doomed. */
#define COMPUTE_ERROR_RECORDING -118

/* The window gives no graph; the message names the operation that doomed it, and why. What it would have written is claimed by this failure. */
#define COMPUTE_ERROR_CAPTURE -119

/* Memory that was to be imported is the library's already: of a buffer or pool of its own, or imported and not let go of yet. */
#define COMPUTE_ERROR_ALREADY_OWNED -120

/* The call would write to a buffer that was imported to be read. */
#define COMPUTE_ERROR_READ_ONLY -121

/* Not enough memory now; the message says how much was asked for and how much is free. */
#define COMPUTE_ERROR_OUT_OF_MEMORY -200

/* This size can never be allocated here. */
#define COMPUTE_ERROR_TOO_LARGE -201

/* Pools cannot be replaced while allocations live in them. */
#define COMPUTE_ERROR_POOLS_IN_USE -202

/* The stream's budget does not allow it; the message has the numbers. Reclaimable unless the whole budget would not be enough. */
#define COMPUTE_ERROR_BUDGET -203

/* A deferred allocation could not be made when its buffer was first used; the message has the cause. The buffer is claimed by this failure. */
#define COMPUTE_ERROR_NOT_BACKED -204

/* The pools are frozen and have no room: no page may be taken from the device now. The message says how much is missing. */
#define COMPUTE_ERROR_POOLS_FROZEN -205

/* The pool is at its cap and may have no page of the size that it would take; the message says how much is free, and in what runs. */
#define COMPUTE_ERROR_POOL_FULL -206

/* No such device; the message lists what was tried. */
#define COMPUTE_ERROR_NO_DEVICE -300

/* The device is beyond use since the failure that the error names. */
#define COMPUTE_ERROR_DEVICE_POISONED -301

/* A call of the driver failed; the error has its code and name. */
#define COMPUTE_ERROR_DRIVER -302

/* The device is not the exact target that was asked for. */
#define COMPUTE_ERROR_TARGET -303

/* The device is beyond use, and may still reach the host memory that this event borrowed. Ask again until the answer is another. */
#define COMPUTE_ERROR_STILL_BORROWED -304

/* The kernel does not compile; the error has the place and the compiler's words. */
#define COMPUTE_ERROR_COMPILE -400

/* A kernel in validate mode went out of bounds. */
#define COMPUTE_ERROR_KERNEL_FAULT -401

/* A kernel ran past its time limit and was stopped. */
#define COMPUTE_ERROR_TIME_LIMIT -402

/* An indirect grid was larger than allowed; nothing ran. */
#define COMPUTE_ERROR_GRID_LIMIT -403

/* The bytes asked for are claimed by a failure, which the error leads back to. */
#define COMPUTE_ERROR_UNWRITTEN -500

/* The bytes asked for are claimed by several failures: the members of the error. */
#define COMPUTE_ERROR_SEVERAL -501

/* Bytes that nothing has written (with strict_unwritten). */
#define COMPUTE_ERROR_NEVER_WRITTEN -502

/* A call was abandoned before it could tell its outcome. */
#define COMPUTE_ERROR_ABANDONED -503

/* A bug of the library. What the call was writing stays claimed. */
#define COMPUTE_ERROR_INTERNAL -600

/* Initialisers: compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT; */
#define COMPUTE_DEVICE_INFO_INIT { sizeof(struct compute_device_info), 0, { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, 0, 0, 0, 0, 0, 0, { 0, 0, 0 }, 0, { 0, 0, 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 } }
#define COMPUTE_LIST_DESC_INIT { sizeof(struct compute_list_desc), 0, NULL, 0, NULL }
#define COMPUTE_DEVICE_DESC_INIT { sizeof(struct compute_device_desc), 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, NULL, 0, 0 }
#define COMPUTE_FAULT_DESC_INIT { sizeof(struct compute_fault_desc), COMPUTE_CHAINED_FAULT, NULL, 0, 0, 0 }
#define COMPUTE_VULKAN_DESC_INIT { sizeof(struct compute_vulkan_desc), COMPUTE_CHAINED_VULKAN, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL }
#define COMPUTE_IMPORT_DESC_INIT { sizeof(struct compute_import_desc), 0, 0, 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL }
#define COMPUTE_NATIVE_INFO_INIT { sizeof(struct compute_native_info), 0, 0, 0, 0 }
#define COMPUTE_STREAM_DESC_INIT { sizeof(struct compute_stream_desc), 0, NULL, 0, NULL }
#define COMPUTE_BUFFER_DESC_INIT { sizeof(struct compute_buffer_desc), 0, 0, 0, NULL, 0, NULL, NULL }
#define COMPUTE_TENSOR_DESC_INIT { sizeof(struct compute_tensor_desc), 0, NULL, 0, 0, 0 }
#define COMPUTE_TENSOR_PLACE_INIT { sizeof(struct compute_tensor_place), 0, 0, 0, 0, { 0 } }
#define COMPUTE_STRIDED_DESC_INIT { sizeof(struct compute_strided_desc), 0, NULL, 0, NULL, NULL }
#define COMPUTE_MEMORY_USAGE_INIT { sizeof(struct compute_memory_usage), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define COMPUTE_BUDGET_INFO_INIT { sizeof(struct compute_budget_info), 0, 0, 0, 0 }
#define COMPUTE_COMPACTION_INFO_INIT { sizeof(struct compute_compaction_info), 0, 0, 0, 0 }
#define COMPUTE_POOL_REPORT_INIT { sizeof(struct compute_pool_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define COMPUTE_CACHE_DESC_INIT { sizeof(struct compute_cache_desc), COMPUTE_CHAINED_CACHE, NULL, NULL, 0, 0 }
#define COMPUTE_CACHE_INFO_INIT { sizeof(struct compute_cache_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 } }
#define COMPUTE_KERNEL_DESC_INIT { sizeof(struct compute_kernel_desc), 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, 0 }
#define COMPUTE_INCLUDE_REQUEST_INIT { sizeof(struct compute_include_request), 0, NULL, 0, NULL, 0 }
#define COMPUTE_INCLUDE_ANSWER_INIT { sizeof(struct compute_include_answer), 0, NULL, 0, NULL, 0, NULL, 0 }
#define COMPUTE_INCLUDE_DESC_INIT { sizeof(struct compute_include_desc), COMPUTE_CHAINED_INCLUDE, NULL, NULL, NULL }
#define COMPUTE_KERNEL_INFO_INIT { sizeof(struct compute_kernel_info), 0, { 0 }, { 0, 0, 0 }, 0, 0, 0, 0, 0, 0 }
#define COMPUTE_BINDING_INFO_INIT { sizeof(struct compute_binding_info), 0, 0, 0, 0, 0, 0, { 0 } }
#define COMPUTE_OVERRIDE_INFO_INIT { sizeof(struct compute_override_info), 0, 0, 0, 0.0, { 0 }, 0 }
#define COMPUTE_LAUNCH_DESC_INIT { sizeof(struct compute_launch_desc), 0, NULL, { 0, 0, 0 }, 0, { NULL, 0, 0 }, NULL, 0, 0, NULL, 0, NULL, 0, NULL }
#define COMPUTE_NATIVE_DESC_INIT { sizeof(struct compute_native_desc), COMPUTE_CHAINED_NATIVE, NULL, NULL, 0, 0, NULL, 0, 0, { 0, 0, 0 }, 0 }
#define COMPUTE_TENSOR_MAP_DESC_INIT { sizeof(struct compute_tensor_map_desc), 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, { 0 }, { 0 } }
#define COMPUTE_ERROR_INFO_INIT { sizeof(struct compute_error_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define COMPUTE_CHAIN_ENTRY_INIT { sizeof(struct compute_chain_entry), 0, 0, 0, 0, { 0 }, { 0 }, { 0 } }
#define COMPUTE_GRAPH_DESC_INIT { sizeof(struct compute_graph_desc), 0, 0, NULL, 0, NULL }
#define COMPUTE_GRAPH_INFO_INIT { sizeof(struct compute_graph_info), 0, 0, 0, 0, 0, 0 }
#define COMPUTE_NODE_INFO_INIT { sizeof(struct compute_node_info), 0, 0, 0, { 0 }, { 0 } }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* The version of the library, "major.minor.patch". Never NULL; never freed. From any thread, and in a forked child too. */
const char *compute_version(void);

/* Whether this library has the interface that the caller's header has: pass `COMPUTE_ABI`. Otherwise `COMPUTE_ERROR_ABI`.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_check_abi(uint32_t abi, compute_error *out_error);

/* The name of a status, such as "COMPUTE_OK"; of one that this version does not know, the name of its class, such as
 * "COMPUTE_ERROR_UNKNOWN_DEVICE". Never NULL; never freed. From any thread, and in a forked child too. */
const char *compute_status_name(compute_status status);

/* Sends log lines up to `level` (`COMPUTE_LOG_...`) to `callback`, from any thread and with no lock held; NULL or `COMPUTE_LOG_OFF` ends that.
 * Lines that kernels print come at every level but `COMPUTE_LOG_OFF`; kernels made while nobody listens do not print at all.
 * For the whole library; silent by default. A line that is under way on another thread may still arrive just after this returned, and nothing tells when the last one has:
 * let `user`, and the code of `callback`, live as long as other threads use the library.
 *
 * Pointers: `callback` may be called with `user` from any thread until another one has been set. `out_error` is writable, or NULL. */
compute_status compute_log_set(compute_log_callback callback,
                               void *user,
                               uint32_t level,
                               compute_error *out_error);

/* Makes `*desc` a `compute_list_desc` with every default.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_list_desc_init(struct compute_list_desc *desc);

/* Makes `*desc` a `compute_device_desc` with every default.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_device_desc_init(struct compute_device_desc *desc);

/* Makes `*desc` a `compute_graph_desc` with every default.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_graph_desc_init(struct compute_graph_desc *desc);

/* Makes `*desc` a `compute_fault_desc` of its kind that makes nothing fail.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_fault_desc_init(struct compute_fault_desc *desc);

/* Makes `*desc` a `compute_vulkan_desc` of its kind that names nothing.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_vulkan_desc_init(struct compute_vulkan_desc *desc);

/* Makes `*desc` a `compute_cache_desc` of its kind that names no folder.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_cache_desc_init(struct compute_cache_desc *desc);

/* Makes `*desc` a `compute_stream_desc` with every default.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_stream_desc_init(struct compute_stream_desc *desc);

/* Makes `*desc` a `compute_buffer_desc` with every default, for an empty buffer.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_buffer_desc_init(struct compute_buffer_desc *desc);

/* Makes `*desc` a `compute_import_desc` that names nothing.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_import_desc_init(struct compute_import_desc *desc);

/* Makes `*desc` a `compute_kernel_desc` with every default and no source.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_kernel_desc_init(struct compute_kernel_desc *desc);

/* Makes `*desc` a `compute_include_desc` of its kind without a callback.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_include_desc_init(struct compute_include_desc *desc);

/* Makes `*desc` a `compute_native_desc` of its kind without sources and parameters.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_native_desc_init(struct compute_native_desc *desc);

/* Makes `*desc` a `compute_launch_desc` with every default and no kernel.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_launch_desc_init(struct compute_launch_desc *desc);

/* Makes `*desc` a `compute_tensor_desc` of a single element without bytes.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_tensor_desc_init(struct compute_tensor_desc *desc);

/* Makes `*desc` a `compute_strided_desc` of a single element without bytes.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_strided_desc_init(struct compute_strided_desc *desc);

/* Makes `*desc` a `compute_tensor_map_desc` without dimensions.
 *
 * Pointers: `desc` is writable, or NULL. */
void compute_tensor_map_desc_init(struct compute_tensor_map_desc *desc);

/* Lists the devices that can be opened, without initialising a driver: limits and capabilities are zero until a device is open.
 *
 * `desc` may be NULL: all devices. `*count` is told how many there are; the first `capacity` of them are written to `infos`, `info_stride` bytes
 * apart (0: `sizeof(compute_device_info)`), each as large as the `struct_size` of the first one says. With a capacity of 0 `infos` may
 * be NULL. Answers `COMPUTE_INCOMPLETE` when `infos` was given and could not take all.
 *
 * Pointers: The pointers are valid as described. */
compute_status compute_devices_list(const struct compute_list_desc *desc,
                                    struct compute_device_info *infos,
                                    size_t info_stride,
                                    size_t capacity,
                                    size_t *count,
                                    compute_error *out_error);

/* What each driver tried and found, as JSON: an array of `{"backend", "devices", "tried": [lines]}`. For bug reports and for people whose device does not
 * show up. Texts are given as by `compute_error_message`.
 *
 * Pointers: When not NULL, `text` is writable for `capacity` bytes and `needed` for a number; `out_error` is writable, or NULL. */
compute_status compute_drivers_report(char *text,
                                      size_t capacity,
                                      size_t *needed,
                                      compute_error *out_error);

/* Opens a device. The caller releases it. Opening the first one makes the process's forks noticed (a child of a later fork must not use the library),
 * and nothing before it starts a thread.
 *
 * Errors: `NO_DEVICE` (with what was tried), `TARGET`, `OUT_OF_MEMORY`, `DRIVER`.
 *
 * Pointers: `desc` and what it points to are valid as described; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_device_open(const struct compute_device_desc *desc,
                                   compute_device *out,
                                   compute_error *out_error);

/* Counts one more reference to a device.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_retain(compute_device device, compute_error *out_error);

/* Gives one reference to a device back; with the last one its handle ends as by `compute_device_destroy`. NULL is fine. Never blocks; from any
 * thread, callback, or exit handler. */
void compute_device_release(compute_device device);

/* Ends a device's handle at once, whatever its references. What was made from it stays usable and keeps the device itself alive; its waiting callbacks are
 * told now.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_destroy(compute_device device,
                                      compute_error *out_error);

/* What a device is and allows. Answers on a poisoned device too.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_device_get_info(compute_device device, struct compute_device_info *info, compute_error *out_error);

/* Whether a device is usable: `COMPUTE_OK`, or `COMPUTE_ERROR_DEVICE_POISONED` with the first cause. Instant and sticky.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_status(compute_device device, compute_error *out_error);

/* Sets how many native queues the device's streams share (S1), before its first stream. The same number again is fine, another one then is
 * `COMPUTE_ERROR_BUSY`; 0, or more than the device has, is `COMPUTE_ERROR_INVALID_ARGUMENT`.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_set_queues(compute_device device,
                                         uint32_t count,
                                         compute_error *out_error);

/* Holds a device for the calling thread alone, to measure: other threads' calls that enqueue wait until `compute_device_unlock`. The same thread may lock
 * again; each lock needs its unlock.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_lock(compute_device device,
                                   compute_error *out_error);

/* Ends what `compute_device_lock` began, from the same thread; from another, or without a lock, `COMPUTE_ERROR_BUSY`.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_unlock(compute_device device, compute_error *out_error);

/* Finishes every compilation that launches have queued on this device (L6), and waits for those that are under way. A kernel that does not compile is told by
 * the launch that needs it.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_compile_queued(compute_device device,
                                             compute_error *out_error);

/* Spreads a number of workgroups over the three axes of a grid within the device's limits (L12). With `exact` of 1 the grid has exactly `count` workgroups, x
 * as large as it can be, then y; `COMPUTE_ERROR_LIMIT` where no such grid exists. With 0 it has at least `count`, on as few axes as possible, and `*idle` (may be
 * NULL) is told how many more: the kernel must skip those whose linear number is `count` or above. A `count` of 0 gives a grid that is no work.
 *
 * Pointers: `grid` is writable for three numbers, `idle` for one or NULL; `out_error` is writable, or NULL. */
compute_status compute_device_spread_workgroups(compute_device device,
                                                uint64_t count,
                                                uint32_t exact,
                                                uint32_t *grid,
                                                uint64_t *idle,
                                                compute_error *out_error);

/* A good number of invocations for the workgroups of a kernel that does one work item per invocation (L12): whole subgroups, a power of two, smaller where there are
 * few items for many units. For a kernel that takes its workgroup size as an override constant.
 *
 * Pointers: `size` is writable; `out_error` is writable, or NULL. */
compute_status compute_device_get_workgroup_size(compute_device device,
                                                 uint64_t items,
                                                 uint32_t *size,
                                                 compute_error *out_error);

/* The vector widths, in elements of `element_size` bytes, that are worth using on the device (L12): widest first, ending with 1. `*count` is told how many there
 * are; the first `capacity` of them are written to `widths`, which may be NULL with a capacity of 0. Answers `COMPUTE_INCOMPLETE` when `widths` was given and could
 * not take all.
 *
 * Pointers: `widths` is writable for `capacity` numbers, `count` for one; `out_error` is writable, or NULL. */
compute_status compute_device_get_vector_widths(compute_device device,
                                                uint32_t element_size,
                                                uint32_t *widths,
                                                size_t capacity,
                                                size_t *count,
                                                compute_error *out_error);

/* Tells whether copies from one device to another (`compute_stream_copy_between`) go straight (1), or through the host (0). The first question about two
 * devices of a driver that can do it sends some bytes to see whether they arrive, and may take some milliseconds. Where the environment variable
 * `COMPUTE_PEER_ACCESS` is `0`, copies from one card to another go through the host.
 *
 * Pointers: `straight` is writable; `out_error` is writable, or NULL. */
compute_status compute_device_reaches(compute_device from,
                                      compute_device to,
                                      uint32_t *straight,
                                      compute_error *out_error);

/* Makes the `call`-th call of the device from now fail in the way `how` says (`COMPUTE_FAULT_...`); a `call` of 0 disarms. Only for devices opened with a
 * `compute_fault_desc`, else `COMPUTE_ERROR_UNSUPPORTED`.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_inject_fault(compute_device device,
                                           uint64_t call,
                                           uint32_t how,
                                           compute_error *out_error);

/* How many calls of the device there have been. Only for devices opened with a `compute_fault_desc`.
 *
 * Pointers: `calls` is writable; `out_error` is writable, or NULL. */
compute_status compute_device_fault_calls(compute_device device, uint64_t *calls, compute_error *out_error);

/* What a device's cache of kernels on disk has done since the device was opened. Kernels that the process had anyway are not counted. Answers on a poisoned device too.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_device_cache_info(compute_device device,
                                         struct compute_cache_info *info,
                                         compute_error *out_error);

/* Makes a stream. The caller releases it. `desc` may be NULL.
 *
 * Pointers: `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_create(compute_device device,
                                     const struct compute_stream_desc *desc,
                                     compute_stream *out,
                                     compute_error *out_error);

/* Counts one more reference to a stream.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_retain(compute_stream stream, compute_error *out_error);

/* Gives one reference to a stream back; with the last one its handle ends as by `compute_stream_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_stream_release(compute_stream stream);

/* Ends a stream's handle at once, whatever its references. Its work goes on.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_destroy(compute_stream stream, compute_error *out_error);

/* Enqueues a kernel over a grid of workgroups, or with another `mode` gets it ready (L6).
 *
 * Answers `COMPUTE_OK`; `COMPUTE_SKIPPED` when it reads bytes that a failure claims: it does not run, and its outputs take the same failure (T5). Errors
 * leave the outputs claimed by the failure that the error names (T2): `BINDING`, `LIMIT`, `MISALIGNED`, `OUT_OF_RANGE`, `OVERLAP`, `READ_ONLY`,
 * `INVALID_ARGUMENT`, `INVALID_STRUCT`, `INVALID_HANDLE`, `FOREIGN_HANDLE`, `COMPILE`, `UNSUPPORTED`, `NOT_BACKED`, `RECORDING`, `OUT_OF_MEMORY`, `DRIVER`,
 * `DEVICE_POISONED`, and what later versions add. All that the call points to may be changed or freed when it returns. From any thread.
 *
 * Pointers: `desc` and what it points to are valid; `out_error` is writable, or NULL. */
compute_status compute_stream_launch(compute_stream stream,
                                     const struct compute_launch_desc *desc,
                                     compute_error *out_error);

/* Writes host bytes into a view of the same size. The bytes are copied before this returns. Repairs what it covers (T4).
 *
 * Pointers: `to` is readable; `bytes` is readable for `size` bytes; `out_error` is writable, or NULL. */
compute_status compute_stream_write(compute_stream stream,
                                    const struct compute_view *to,
                                    const void *bytes,
                                    uint64_t size,
                                    compute_error *out_error);

/* As `compute_stream_write`, but the bytes are borrowed until `*out_event` is over. The caller releases the event.
 *
 * Pointers: `to` is readable; `bytes` is readable for `size` bytes, and nobody writes there, until the event is over; `out_event` is writable; `out_error` is
 * writable, or NULL. */
compute_status compute_stream_write_borrowed(compute_stream stream,
                                             const struct compute_view *to,
                                             const void *bytes,
                                             uint64_t size,
                                             compute_event *out_event,
                                             compute_error *out_error);

/* Reads a view into host memory of the same size, and waits for it. Bytes that a failure claims answer `COMPUTE_ERROR_UNWRITTEN` or
 * `COMPUTE_ERROR_SEVERAL` (T8), and then `bytes` is left alone.
 *
 * Pointers: `from` is readable; `bytes` is writable for `size` bytes; `out_error` is writable, or NULL. */
compute_status compute_stream_read(compute_stream stream,
                                   const struct compute_view *from,
                                   void *bytes,
                                   uint64_t size,
                                   compute_error *out_error);

/* As `compute_stream_read`, without waiting: `bytes` is borrowed until a poll, wait or callback of `*out_event` gives the answer (`COMPUTE_NOT_READY`, `COMPUTE_TIMEOUT` and
 * `COMPUTE_ERROR_STILL_BORROWED` are none); that the stream is known to be done by other means does not end it. The caller releases the event; doing so early
 * does not end the borrowing before the work is over.
 *
 * Pointers: `from` is readable; `bytes` is writable for `size` bytes, and nobody else touches it, until the event is over; `out_event` is writable; `out_error`
 * is writable, or NULL. */
compute_status compute_stream_read_async(compute_stream stream,
                                         const struct compute_view *from,
                                         void *bytes,
                                         uint64_t size,
                                         compute_event *out_event,
                                         compute_error *out_error);

/* Copies a view into another of the same size on the same device; they must not overlap (L9). Claimed bytes in the source skip the copy
 * (`COMPUTE_SKIPPED`), and the destination takes their failure.
 *
 * Pointers: `from` and `to` are readable; `out_error` is writable, or NULL. */
compute_status compute_stream_copy(compute_stream stream,
                                   const struct compute_view *from,
                                   const struct compute_view *to,
                                   compute_error *out_error);

/* Copies a view into another of the same size on another device (C1), behind the earlier work of both streams. Between devices of one driver that can reach each
 * other it is only enqueued, goes straight, and later work of both streams follows it. Otherwise it goes through the host, in pieces that take a bounded amount of
 * memory, and the call returns when the bytes have left their device. Then other threads are not to write the source meanwhile. Where the source derives from
 * work that may still fail (T13), the call waits for that first, on any devices. On one device it is `compute_stream_copy` on `to_stream`.
 *
 * Claimed bytes in the source skip the copy (`COMPUTE_SKIPPED`), and the whole destination takes their failure, across devices. Errors, of either device,
 * claim the destination only. While one of the streams records a graph: `COMPUTE_ERROR_RECORDING`, and the graph is doomed, as by any call that cannot be part
 * of it. In a dry run of either nothing is copied.
 *
 * Pointers: `from` and `to` are readable; `out_error` is writable, or NULL. */
compute_status compute_stream_copy_between(compute_stream from_stream,
                                           const struct compute_view *from,
                                           compute_stream to_stream,
                                           const struct compute_view *to,
                                           compute_error *out_error);

/* Fills a view with a pattern of 1, 2, 4, 8 or 16 bytes, repeated from its start; the last repetition may be cut. Repairs what it covers (T4).
 *
 * Pointers: `to` is readable; `pattern` is readable for `pattern_size` bytes; `out_error` is writable, or NULL. */
compute_status compute_stream_fill(compute_stream stream,
                                   const struct compute_view *to,
                                   const void *pattern,
                                   uint64_t pattern_size,
                                   compute_error *out_error);

/* Records the moment after all that was enqueued on the stream so far (S2). The caller releases the event.
 *
 * Pointers: `out_event` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_record(compute_stream stream, compute_event *out_event, compute_error *out_error);

/* Makes later work of the stream wait for an event of the same device, on the device (S2). An event of another device is
 * `COMPUTE_ERROR_FOREIGN_HANDLE`: wait for it on the host.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_wait_event(compute_stream stream, compute_event event, compute_error *out_error);

/* Sends what is collected to the device. On wgpu a thread of the library's does that, unless the host shares its queue: at once, or as soon as it is done waiting for work that is under
 * way. Reports only a fault of the device itself (T10).
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_flush(compute_stream stream,
                                    compute_error *out_error);

/* Waits for all that was enqueued on the stream so far, then tells whether the bytes of the views can be trusted (T8), as `compute_check` does but with
 * late failures heard. Over no views (`views` may be NULL then) it reports only a fault of the device itself. `view_stride` of 0 is `sizeof(compute_view)`. `timeout_ns` of 0
 * polls; `COMPUTE_TIMEOUT` when the time ran out.
 *
 * Pointers: `views` is readable for `view_count` views, `view_stride` bytes apart; `out_error` is writable, or NULL. */
compute_status compute_stream_sync(compute_stream stream,
                                   const struct compute_view *views,
                                   size_t view_count,
                                   size_t view_stride,
                                   uint64_t timeout_ns,
                                   compute_error *out_error);

/* Makes a buffer. The caller releases it. No byte counts as written: what is read of it is zeros, or with `COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN` refused.
 *
 * Errors: `OUT_OF_MEMORY` and `POOL_FULL` (reclaimable: asked again after the library has reclaimed what it can), `POOLS_FROZEN`, `BUDGET`, `TOO_LARGE` (can never work), `FOREIGN_HANDLE` (a stream of another device),
 * `UNSUPPORTED` (host-visible memory where there is none), `DEVICE_POISONED`.
 *
 * Pointers: `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_buffer_create(compute_device device,
                                     const struct compute_buffer_desc *desc,
                                     compute_buffer *out,
                                     compute_error *out_error);

/* Counts one more reference to a buffer.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_buffer_retain(compute_buffer buffer, compute_error *out_error);

/* Gives one reference to a buffer back; with the last one its handle ends as by `compute_buffer_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_buffer_release(compute_buffer buffer);

/* Ends a buffer's handle at once, whatever its references. Its memory goes when the work that uses it is over (F7).
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_buffer_destroy(compute_buffer buffer, compute_error *out_error);

/* The size of a buffer in bytes, as it was asked for.
 *
 * Pointers: `size` is writable; `out_error` is writable, or NULL. */
compute_status compute_buffer_get_size(compute_buffer buffer, uint64_t *size, compute_error *out_error);

/* The number of a buffer, unique in the process and never used again; errors name buffers by it.
 *
 * Pointers: `id` is writable; `out_error` is writable, or NULL. */
compute_status compute_buffer_get_id(compute_buffer buffer, uint64_t *id, compute_error *out_error);

/* Whether the bytes of views can be trusted, as far as is known now (T8): `COMPUTE_OK`, `COMPUTE_ERROR_UNWRITTEN` with the failure that claims some of them,
 * `COMPUTE_ERROR_SEVERAL`, or `COMPUTE_ERROR_NEVER_WRITTEN`. Instant: does not wait for work in flight, whose failures `compute_stream_sync` would
 * find. Views are `view_stride` bytes apart (0: `sizeof(compute_view)`), of any devices.
 *
 * Pointers: `views` is readable for `view_count` views; `out_error` is writable, or NULL. */
compute_status compute_check(const struct compute_view *views,
                             size_t view_count,
                             size_t view_stride,
                             compute_error *out_error);

/* Lifts the claim of a failure that reached no device (`untouched` in its info) from those bytes of the view that were trusted when it began (T2), so
 * that the caller can, say, release memory and try again. `*lifted_bytes` (may be NULL) is told how many: none where another failure had claimed them before,
 * so of work that is refused twice in a row lift the first failure's claim before the second try. `COMPUTE_ERROR_NOT_FOUND`: the failure
 * claims none of these bytes. `COMPUTE_ERROR_BUSY`: it may have touched the bytes, so they have to be written anew.
 *
 * Pointers: `view` is readable; `lifted_bytes` and `out_error` are writable, or NULL. */
compute_status compute_reinstate(const struct compute_view *view,
                                 uint64_t failure,
                                 uint64_t *lifted_bytes,
                                 compute_error *out_error);

/* Makes a buffer of memory that is the caller's, in place: nothing is copied, and its bytes count as written (T14). Views of it can be used wherever views of other
 * buffers of the device can. The caller releases it; releasing never frees the memory.
 *
 * The caller vouches that the memory is what `desc` says, stays there, and can be used by the device until `released` has been called: that comes
 * once, when the handle has ended and all work, graphs, readbacks and mappings that use the buffer are over, from a thread of the library, with no lock held. An import that fails
 * calls nothing. The order with the caller's own work is the caller's, too: what wrote the bytes is over before work of the library is enqueued that uses them,
 * and work of the caller's that uses them comes after a wait for an event of the library's stream. On cuda and hip both can be left to the device:
 * `compute_stream_wait_native`, `compute_stream_record_native`. On Vulkan the rules of `compute_stream_export` hold: a shared queue, flushes, and barriers of the caller's.
 *
 * A device imports memory of the kind that it exports: the cpu device addresses of the host's memory, cuda device memory of the device's primary context (from
 * `cuMemAlloc`, `cuMemAllocAsync`, `cuMemAllocManaged` or `cuMemMap`), hip device memory, wgpu on Vulkan a `VkBuffer` of the `VkDevice` that it works on, which has to have been made with
 * storage, transfer source and transfer destination usage (no other: grids and uniform views are copied), be bound to memory, and be owned
 * by the queue family that the device uses. The first byte is at an address that is a multiple of 16; of a `VkBuffer`, offset and size are multiples of 4. Bindings of
 * kernels may want larger multiples, and then say so.
 *
 * Imported bytes are in no pool and charged to no budget; `bytes_imported` of `compute_memory_usage` counts them. `COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN` has no effect on them. On the cpu
 * device a buffer that was imported for writing can be mapped. With `COMPUTE_ACCESS_READ` whatever would write to the buffer answers `READ_ONLY`.
 *
 * Errors: `ALREADY_OWNED` (some of the bytes are of a buffer or pool of the library's, on this handle or on another of the same device, or imported and not let go of
 * yet), `FOREIGN_HANDLE` (memory of another device or context), `OUT_OF_RANGE` (the allocation ends before the bytes do, or the sum of offset and size is beyond 64 bits),
 * `MISALIGNED`, `UNSUPPORTED` (the device does not import that kind), `INVALID_ARGUMENT` (no memory of a device, a handle of 0, no bytes), `DEVICE_POISONED`.
 *
 * Pointers: `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_buffer_import(compute_device device,
                                     const struct compute_import_desc *desc,
                                     compute_buffer *out,
                                     compute_error *out_error);

/* Memory of a device in use, over all streams (M4). Answers on a poisoned device too.
 *
 * Pointers: `usage` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_device_memory_usage(compute_device device, struct compute_memory_usage *usage, compute_error *out_error);

/* Gives every page of a device back to the driver that holds no buffer and is not in use (M1), over all streams. Does not wait for work.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_device_cleanup(compute_device device,
                                      compute_error *out_error);

/* As `compute_device_cleanup`, for the pools of one stream.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_cleanup(compute_stream stream, compute_error *out_error);

/* Moves buffers so that whole pages become idle, and gives these back to the driver (M1): of the stream's pools, and of the device's buffers of no stream.
 * Moved are buffers whose every use is over, but for those with `COMPUTE_BUFFER_FLAG_FIXED`; their bytes, and what is known of these, stay the same, and so do
 * handles and views. Later work waits for the moves on the device, and this call waits for them. Frozen pools are left alone. `info` may be NULL.
 *
 * Errors leave every buffer with its bytes, wherever it is.
 *
 * Pointers: `info` is NULL or points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_stream_compact(compute_stream stream,
                                      struct compute_compaction_info *info,
                                      compute_error *out_error);

/* The pools of a stream at one moment (M4): the main ones in the order in which sizes are routed to them, then the persistent ones. None for a stream
 * that never allocated. `*count` is told how many there are; the first `capacity` of them are written to `reports`, `report_stride` bytes apart (0:
 * `sizeof(compute_pool_report)`), each as large as the `struct_size` of the first one says. With a capacity of 0 `reports` may be NULL. Answers
 * `COMPUTE_INCOMPLETE` when `reports` was given and could not take all. Answers on a poisoned device too.
 *
 * Pointers: The pointers are valid as described. */
compute_status compute_stream_memory_report(compute_stream stream,
                                            struct compute_pool_report *reports,
                                            size_t report_stride,
                                            size_t capacity,
                                            size_t *count,
                                            compute_error *out_error);

/* Sets how many bytes of scratch buffers (`COMPUTE_BUFFER_FLAG_SCRATCH`) a stream may have at once; at first there is no limit. What exists stays. A buffer beyond it
 * is refused with `COMPUTE_ERROR_LIMIT` and the numbers. A buffer counts until its handle ends: what a capture window or a graph keeps of it does not count.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_set_scratch_limit(compute_stream stream,
                                                uint64_t bytes,
                                                compute_error *out_error);

/* Replaces the main pools (M4) by `pool_count` pools in routing order, `pool_stride` bytes apart (0: `sizeof(compute_pool_desc)`): an allocation goes to
 * the first pool whose `largest` it does not exceed. The stream's own pools are replaced at once if nothing is live in them, their marks
 * starting over; every later stream of the device starts with this layout in either case. Persistent pools stay.
 *
 * Errors: `INVALID_LAYOUT` with the reason, nothing changed; `POOLS_IN_USE`, nothing of this stream disturbed.
 *
 * Pointers: `pools` is readable for `pool_count` structs; `out_error` is writable, or NULL. */
compute_status compute_stream_set_pools(compute_stream stream,
                                        const struct compute_pool_desc *pools,
                                        size_t pool_count,
                                        size_t pool_stride,
                                        compute_error *out_error);

/* Makes a budget of `limit` bytes, more than 0. The caller releases it. Streams of any devices may share it.
 *
 * Pointers: `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_budget_create(uint64_t limit, compute_budget *out, compute_error *out_error);

/* Counts one more reference to a budget.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_budget_retain(compute_budget budget, compute_error *out_error);

/* Gives one reference to a budget back; with the last one its handle ends as by `compute_budget_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_budget_release(compute_budget budget);

/* Ends a budget's handle at once, whatever its references. Streams that have it keep it.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_budget_destroy(compute_budget budget, compute_error *out_error);

/* Ceiling and charges of a budget, as far as is known now: the charge of an ended buffer goes when a later call sees that its last use is over.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_budget_get_info(compute_budget budget,
                                       struct compute_budget_info *info,
                                       compute_error *out_error);

/* From now on buffers made from this stream's pools are charged to a budget, or with NULL to none. An allocation that does not fit waits once for what was
 * released, and is then refused with `COMPUTE_ERROR_BUDGET`. A charge stays until the work that uses the buffer is over, not merely
 * until its handle is gone; so long its memory is not handed out again. What was charged before stays charged where it was.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_set_budget(compute_stream stream,
                                         compute_budget budget,
                                         compute_error *out_error);

/* Starts a dry run of a stream (M5): what its work takes is measured, and nothing is paid for. Until `compute_stream_end_dry_run`
 *
 * - buffers made from the stream's pools are deferred: they get memory at their first use after the dry run, as with
 * `COMPUTE_BUFFER_FLAG_DEFERRED`, or never;
 * - launches are checked and compiled, and touch no buffer;
 * - writes, fills and copies are checked and do nothing: what they would have written stays as it was;
 * - reads are refused with `COMPUTE_ERROR_BUSY`, as there is nothing to read;
 * - `compute_stream_memory_report` tells what the pools would have, with the peaks.
 *
 * What is measured is the stream by itself: memory that other streams still use when it is released makes the real run wait, or take more. Budgets are not
 * charged. `COMPUTE_ERROR_BUSY`: it is in a dry run already.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_begin_dry_run(compute_stream stream,
                                            compute_error *out_error);

/* Ends the dry run of a stream. `COMPUTE_ERROR_BUSY`: it is in none.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_end_dry_run(compute_stream stream, compute_error *out_error);

/* The layout that the dry run of a stream measured, the one that goes on or else the last one: its main pools, each capped at its peak, for
 * `compute_stream_set_pools`. A pool that was not used keeps room for one page. `*count` is told how many pools there are; the first `capacity` of them are
 * written to `pools`, `pool_stride` bytes apart (0: `sizeof(compute_pool_desc)`). With a capacity of 0 `pools` may be NULL. Answers `COMPUTE_INCOMPLETE`
 * when `pools` was given and could not take all. `COMPUTE_ERROR_BUSY`: there was no dry run.
 *
 * Pointers: The pointers are valid as described. */
compute_status compute_stream_get_plan(compute_stream stream,
                                       struct compute_pool_desc *pools,
                                       size_t pool_stride,
                                       size_t capacity,
                                       size_t *count,
                                       compute_error *out_error);

/* Freezes the pools of a stream, or with 0 thaws them. Frozen pools take no page from the device and give none back, so no allocation calls the driver;
 * one that they have no room for is refused with `COMPUTE_ERROR_POOLS_FROZEN`, which says how much is missing. They cannot be replaced meanwhile.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_freeze_pools(compute_stream stream,
                                           uint32_t frozen,
                                           compute_error *out_error);

/* Places several tensors in one buffer of a device (M3), which the caller then makes with `*size` bytes: offset, size, pitch and strides of each, at
 * multiples of `alignment` (0: what views of any kind need on this device). Tensors are `tensor_stride` bytes apart, places `place_stride` (0: the size of the
 * struct), each as large as the `struct_size` of the first one says. `places` may be NULL, to ask for the size alone. Allocates nothing.
 *
 * Errors: `TOO_LARGE` (more bytes than 64 bits can count), `MISALIGNED` (an alignment that is no power of two), `LIMIT` (an alignment beyond that of buffers, too
 * many dimensions), `INVALID_ARGUMENT` (elements of 0 bytes), `INVALID_ENUM`.
 *
 * Pointers: The pointers are valid as described; `size` is writable; `out_error` is writable, or NULL. */
compute_status compute_device_layout_tensors(compute_device device,
                                             const struct compute_tensor_desc *tensors,
                                             size_t tensor_count,
                                             size_t tensor_stride,
                                             uint64_t alignment,
                                             struct compute_tensor_place *places,
                                             size_t place_stride,
                                             uint64_t *size,
                                             compute_error *out_error);

/* Writes the elements of a tensor from host memory into a view (M3): the first from the first byte of `bytes` to the first of the view, the others where the
 * strides say; what lies between them is left alone at both ends. `size` and the view are at least as large as the tensor spans. The bytes are copied before
 * this returns. Repairs what it covers (T4): up to some hundred rows to the byte; of more, never-written bytes between them are filled.
 *
 * Errors, which leave the destination claimed (T2): `OVERLAP`, `UNSUPPORTED_STRIDES`, `OUT_OF_RANGE`, `TOO_LARGE`, `LIMIT`, and those of `compute_stream_write`.
 *
 * Pointers: `to` and `desc` and what it points to are readable; `bytes` is readable for `size` bytes; `out_error` is writable, or NULL. */
compute_status compute_stream_write_strided(compute_stream stream,
                                            const struct compute_view *to,
                                            const struct compute_strided_desc *desc,
                                            const void *bytes,
                                            uint64_t size,
                                            compute_error *out_error);

/* As `compute_stream_write_strided`, but the bytes are borrowed until `*out_event` is over. The caller releases the event.
 *
 * Pointers: `to` and `desc` and what it points to are readable; `bytes` is readable for `size` bytes, and nobody writes there, until the event is over; `out_event` is
 * writable; `out_error` is writable, or NULL. */
compute_status compute_stream_write_strided_borrowed(compute_stream stream,
                                                     const struct compute_view *to,
                                                     const struct compute_strided_desc *desc,
                                                     const void *bytes,
                                                     uint64_t size,
                                                     compute_event *out_event,
                                                     compute_error *out_error);

/* Reads the elements of a tensor from a view into host memory, and waits for it (T8); otherwise as `compute_stream_write_strided`. Bytes of host memory between the
 * elements are left alone, and all of it is when the answer is an error.
 *
 * Pointers: `from` and `desc` and what it points to are readable; `bytes` is writable for `size` bytes; `out_error` is writable, or NULL. */
compute_status compute_stream_read_strided(compute_stream stream,
                                           const struct compute_view *from,
                                           const struct compute_strided_desc *desc,
                                           void *bytes,
                                           uint64_t size,
                                           compute_error *out_error);

/* As `compute_stream_read_strided`, without waiting: `bytes` is borrowed until `*out_event` gives the answer, as by `compute_stream_read_async`.
 *
 * Pointers: `from` and `desc` and what it points to are readable; `bytes` is writable for `size` bytes, and nobody else touches it, until the event is over;
 * `out_event` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_read_strided_async(compute_stream stream,
                                                 const struct compute_view *from,
                                                 const struct compute_strided_desc *desc,
                                                 void *bytes,
                                                 uint64_t size,
                                                 compute_event *out_event,
                                                 compute_error *out_error);

/* As `compute_stream_read_lazy`, of the elements of a tensor in the view: the bytes that an access gives are those from the first to behind the last element at the
 * strides of the destination, with zeros between them.
 *
 * Pointers: `from` and `desc` and what it points to are readable; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_read_strided_lazy(compute_stream stream,
                                                const struct compute_view *from,
                                                const struct compute_strided_desc *desc,
                                                compute_readback *out,
                                                compute_error *out_error);

/* Copies the elements of a tensor between two views of one device; no byte of the source may be one of the destination (L9), but their rows may lie between
 * each other's. Claimed bytes among those that it reads skip the copy (`COMPUTE_SKIPPED`). Otherwise as `compute_stream_write_strided`.
 *
 * Pointers: `from`, `to` and `desc` and what it points to are readable; `out_error` is writable, or NULL. */
compute_status compute_stream_copy_strided(compute_stream stream,
                                           const struct compute_view *from,
                                           const struct compute_view *to,
                                           const struct compute_strided_desc *desc,
                                           compute_error *out_error);

/* Promises the bytes of a view without copying them: that happens at the first access, and then what is there at that moment is given. Keeps the view's memory
 * alive. The caller releases the readback.
 *
 * Pointers: `from` is readable; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_read_lazy(compute_stream stream,
                                        const struct compute_view *from,
                                        compute_readback *out,
                                        compute_error *out_error);

/* Counts one more reference to a readback.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_readback_retain(compute_readback readback, compute_error *out_error);

/* Gives one reference to a readback back; with the last one its handle ends as by `compute_readback_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_readback_release(compute_readback readback);

/* Ends a readback's handle and the bytes that it gave, whatever its references.
 *
 * Pointers: `out_error` is writable, or NULL; nobody uses the bytes any more. */
compute_status compute_readback_destroy(compute_readback readback, compute_error *out_error);

/* Starts the copy, unless an access has, and gives the event that tells how it ends. The caller releases the event.
 *
 * Pointers: `out_event` is writable; `out_error` is writable, or NULL. */
compute_status compute_readback_start(compute_readback readback, compute_event *out_event, compute_error *out_error);

/* The bytes: starts the copy unless an access has, and waits for it. `*bytes` is the library's memory, the same at every access, readable until the readback's handle
 * has ended. Bytes that a failure claims answer as by `compute_stream_read` (T8); the next access then tries anew, so that they can be repaired in between.
 *
 * Pointers: `bytes` is writable; `size` and `out_error` are writable, or NULL. */
compute_status compute_readback_get(compute_readback readback,
                                    const void **bytes,
                                    uint64_t *size,
                                    compute_error *out_error);

/* Maps a view of a buffer that was made with `COMPUTE_BUFFER_FLAG_HOST_VISIBLE` (T14). Waits for the work that uses the buffer, and zeroes in memory what is neither
 * trusted nor reinstatable; claims stay. The caller releases the mapping, which keeps the buffer's memory alive; its address stays the same until then.
 *
 * The order is the caller's: `compute_mapping_acquire` before the host reads or writes through the address, `compute_mapping_flush` after it has written and before
 * work uses the bytes, and no access by the host while work that writes there (or for writing, reads) is under way.
 *
 * Pointers: `view` is readable; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_buffer_map(const struct compute_view *view,
                                  compute_mapping *out,
                                  compute_error *out_error);

/* Counts one more reference to a mapping.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_mapping_retain(compute_mapping mapping, compute_error *out_error);

/* Gives one reference to a mapping back; with the last one its handle ends as by `compute_mapping_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_mapping_release(compute_mapping mapping);

/* Ends a mapping, whatever its references. Its address is no longer the caller's to use.
 *
 * Pointers: `out_error` is writable, or NULL; nobody uses the address any more. */
compute_status compute_mapping_destroy(compute_mapping mapping, compute_error *out_error);

/* The address of a mapping's first byte, and how many bytes there are.
 *
 * Pointers: `pointer` is writable; `size` and `out_error` are writable, or NULL. */
compute_status compute_mapping_get_pointer(compute_mapping mapping, void **pointer, uint64_t *size, compute_error *out_error);

/* Waits until the host may access bytes of a mapping (`access`: `COMPUTE_ACCESS_READ`, `_WRITE` or `_READ_WRITE`), counted from its start; `size` may be `COMPUTE_WHOLE`. For reading,
 * the device's writes to the buffer are over then, and the bytes can be trusted, or the answer is that of `compute_stream_read` (T8). For writing, its reads are over, too.
 * `timeout_ns` of 0 polls; `COMPUTE_TIMEOUT` when the time ran out.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_mapping_acquire(compute_mapping mapping,
                                       uint64_t offset,
                                       uint64_t size,
                                       uint32_t access,
                                       uint64_t timeout_ns,
                                       compute_error *out_error);

/* Says that the host has written all of these bytes of a mapping: work that is enqueued later sees them, and their claims are released (T4).
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_mapping_flush(compute_mapping mapping,
                                     uint64_t offset,
                                     uint64_t size,
                                     compute_error *out_error);

/* Opens a capture window on a stream (G1): waits for its work. From now on buffers that are made from the stream's pools come from the persistent ones, and their
 * memory is held until `compute_stream_begin_capture`, even where they are released: the recording will want all of it at once. Run the work that is to be captured
 * once now, to warm up, then begin.
 *
 * `COMPUTE_ERROR_BUSY`: a window is open already, or the stream is in a dry run.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_prepare_capture(compute_stream stream,
                                              compute_error *out_error);

/* Begins to record what is asked of a stream whose capture was prepared. `*out_capture` is the number by which its caller shows to
 * `compute_stream_end_capture` who it is. Whatever failed or was skipped on the stream since it was prepared is told here, with
 * `COMPUTE_ERROR_CAPTURE`, and then the window is closed. `desc` may be NULL. `COMPUTE_ERROR_BUSY`: the capture was not prepared.
 *
 * Until it ends, launches, copies (with strides, too) and fills of the stream are checked and recorded, and nothing runs: no claim changes, and no byte. Everything else is refused, in general
 * with `COMPUTE_ERROR_RECORDING`: writes and reads of the host, syncs, events, waits for events that are not over, memory clean-up, replays, buffers that the memory at hand
 * has no room for. Such a call, a call that fails, a launch that would be skipped, and one that needs unfinished work of another stream doom the window: it
 * gives no graph. Other streams do not notice. Buffers that belong to other streams or to none are made as always.
 *
 * Pointers: `desc` and what it points to are valid, or it is NULL; `out_capture` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_begin_capture(compute_stream stream,
                                            const struct compute_graph_desc *desc,
                                            uint64_t *out_capture,
                                            compute_error *out_error);

/* Closes a stream's window, from any caller and whatever it answers; the stream is usable as before. Gives the graph to the caller who shows the number that
 * `compute_stream_begin_capture` gave, and releases it.
 *
 * `COMPUTE_ERROR_CAPTURE`: the window was doomed; the message names the call that did it first, and why. `COMPUTE_ERROR_ABANDONED`: `capture` is not the number. Both at once:
 * `COMPUTE_ERROR_SEVERAL`, with both as members. In all of these what the recorded nodes would have written is claimed by the failure that the error names; nothing
 * reached the device, so `compute_reinstate` gives the bytes back. `COMPUTE_ERROR_BUSY`: no window was open, or it was prepared and never begun; it is
 * closed then.
 *
 * Pointers: `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_stream_end_capture(compute_stream stream,
                                          uint64_t capture,
                                          compute_graph *out,
                                          compute_error *out_error);

/* Makes a builder for an explicit graph (G6). The caller releases it. `desc` may be NULL.
 *
 * Pointers: `desc` and what it points to are valid, or it is NULL; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_graph_builder_create(compute_device device,
                                            const struct compute_graph_desc *desc,
                                            compute_graph_builder *out,
                                            compute_error *out_error);

/* Counts one more reference to a builder.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_graph_builder_retain(compute_graph_builder builder, compute_error *out_error);

/* Gives one reference to a builder back; with the last one its handle ends as by `compute_graph_builder_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_graph_builder_release(compute_graph_builder builder);

/* Ends a builder's handle at once, whatever its references. Its graphs go on.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_graph_builder_destroy(compute_graph_builder builder, compute_error *out_error);

/* Adds a launch that follows the nodes of `after`, in any order. It also follows every earlier node that touches common bytes of which either writes, so nodes that
 * are independent of each other may run at once and all others in the order in which they are added. The same is true of all nodes. Edges can lead to
 * earlier nodes only, so there are no cycles.
 *
 * What is checked is what `compute_stream_launch` checks, and the kernel is compiled now. `mode` of the descriptor must be `COMPUTE_LAUNCH_EXECUTE`. What `desc` points to is
 * copied; buffers and kernel are kept. `out_node` may be NULL. `COMPUTE_ERROR_FOREIGN_HANDLE`: a node of `after` belongs to another builder or graph.
 *
 * Pointers: `desc` and what it points to are valid; `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL. */
compute_status compute_graph_builder_add_launch(compute_graph_builder builder,
                                                const struct compute_launch_desc *desc,
                                                const compute_node *after,
                                                size_t after_count,
                                                compute_node *out_node,
                                                compute_error *out_error);

/* Adds a copy between two views of equal size that do not overlap. As `compute_graph_builder_add_launch`. `label` may be NULL.
 *
 * Pointers: `from` and `to` are readable; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL. */
compute_status compute_graph_builder_add_copy(compute_graph_builder builder,
                                              const struct compute_view *from,
                                              const struct compute_view *to,
                                              const char *label,
                                              size_t label_length,
                                              const compute_node *after,
                                              size_t after_count,
                                              compute_node *out_node,
                                              compute_error *out_error);

/* Adds a copy of the elements of a tensor, as `compute_stream_copy_strided` does it: up to some hundred rows it touches the bytes of these and no others. Of more, it counts as
 * reading all of the bytes from the first row of the source to the last, and as writing a part of those of the destination. As
 * `compute_graph_builder_add_launch`. `label` may be NULL.
 *
 * Pointers: `from`, `to` and `desc` and what it points to are readable; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and `out_error` are
 * writable, or NULL. */
compute_status compute_graph_builder_add_copy_strided(compute_graph_builder builder,
                                                      const struct compute_view *from,
                                                      const struct compute_view *to,
                                                      const struct compute_strided_desc *desc,
                                                      const char *label,
                                                      size_t label_length,
                                                      const compute_node *after,
                                                      size_t after_count,
                                                      compute_node *out_node,
                                                      compute_error *out_error);

/* Adds a fill with a pattern of 1, 2, 4, 8 or 16 bytes. As `compute_graph_builder_add_launch`. `label` may be NULL.
 *
 * Pointers: `to` is readable; `pattern` is readable for `pattern_size` bytes; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and
 * `out_error` are writable, or NULL. */
compute_status compute_graph_builder_add_fill(compute_graph_builder builder,
                                              const struct compute_view *to,
                                              const void *pattern,
                                              uint64_t pattern_size,
                                              const char *label,
                                              size_t label_length,
                                              const compute_node *after,
                                              size_t after_count,
                                              compute_node *out_node,
                                              compute_error *out_error);

/* Adds a join: a node that does nothing, and is over when those of `after` are.
 *
 * Pointers: `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL. */
compute_status compute_graph_builder_add_join(compute_graph_builder builder,
                                              const compute_node *after,
                                              size_t after_count,
                                              compute_node *out_node,
                                              compute_error *out_error);

/* Makes the nodes that a builder has so far ready to be replayed. The caller releases the graph. Deferred buffers get their memory now: a replay allocates nothing. The
 * builder may grow and be instantiated again; its nodes have the same names in all of its graphs.
 *
 * Pointers: `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_graph_builder_instantiate(compute_graph_builder builder,
                                                 compute_graph *out,
                                                 compute_error *out_error);

/* Counts one more reference to a graph.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_graph_retain(compute_graph graph, compute_error *out_error);

/* Gives one reference to a graph back; with the last one its handle ends as by `compute_graph_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_graph_release(compute_graph graph);

/* Ends a graph's handle at once, whatever its references. Replays in flight go on, and what the graph keeps goes after them (G4). Never blocks.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_graph_destroy(compute_graph graph,
                                     compute_error *out_error);

/* Enqueues a graph on a stream, behind its earlier work (G5). A replay is one piece of work: it waits for the last uses of all its buffers, and it sees what was written to
 * them before.
 *
 * Answers `COMPUTE_OK`; `COMPUTE_SKIPPED` when a node would read bytes that a failure claims and no earlier node writes wholly: nothing of it runs, and all that it
 * writes takes the failure (T5). Errors leave all that it writes claimed (T2). `COMPUTE_ERROR_BUSY`: the last replay failed when a part of it was submitted, and
 * that part is not over.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_stream_replay(compute_stream stream,
                                     compute_graph graph,
                                     compute_error *out_error);

/* Gives a launch other views, inline bytes, immediates or another grid, for replays from now on; those that are enqueued keep what they have. `desc` is complete, as for
 * a new node, but its kernel may be NULL, and has to be the node's otherwise. It costs next to nothing where the views stay the same, and what making the graph ready costs
 * where they differ: to give many nodes other views, make another graph, or keep one for each set of buffers. A failed update changes nothing. `COMPUTE_ERROR_BUSY`: another thread is inside a call with this graph right now.
 *
 * Pointers: `desc` and what it points to are valid; `out_error` is writable, or NULL. */
compute_status compute_graph_update_launch(compute_graph graph,
                                           compute_node node,
                                           const struct compute_launch_desc *desc,
                                           compute_error *out_error);

/* Gives a copy other views, as `compute_graph_update_launch`.
 *
 * Pointers: `from` and `to` are readable; `out_error` is writable, or NULL. */
compute_status compute_graph_update_copy(compute_graph graph,
                                         compute_node node,
                                         const struct compute_view *from,
                                         const struct compute_view *to,
                                         compute_error *out_error);

/* Gives a copy other views and another tensor, as `compute_graph_update_launch`. Copies with strides and without may take each other's place.
 *
 * Pointers: `from`, `to` and `desc` and what it points to are readable; `out_error` is writable, or NULL. */
compute_status compute_graph_update_copy_strided(compute_graph graph,
                                                 compute_node node,
                                                 const struct compute_view *from,
                                                 const struct compute_view *to,
                                                 const struct compute_strided_desc *desc,
                                                 compute_error *out_error);

/* Gives a fill another view or pattern, as `compute_graph_update_launch`.
 *
 * Pointers: `to` is readable; `pattern` is readable for `pattern_size` bytes; `out_error` is writable, or NULL. */
compute_status compute_graph_update_fill(compute_graph graph,
                                         compute_node node,
                                         const struct compute_view *to,
                                         const void *pattern,
                                         uint64_t pattern_size,
                                         compute_error *out_error);

/* Numbers of a graph.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_graph_get_info(compute_graph graph, struct compute_graph_info *info, compute_error *out_error);

/* The node with an index, in the order in which they were added or recorded, from 0. `COMPUTE_ERROR_OUT_OF_RANGE`: there is none.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_graph_get_node(compute_graph graph,
                                      uint64_t index,
                                      struct compute_node_info *info,
                                      compute_error *out_error);

/* Device time of each node in nanoseconds in the last replay that is over, by index; a join has 0. For graphs that were made with
 * `COMPUTE_GRAPH_FLAG_TIMED`. `*count` is told how many nodes there are; the first `capacity` times are written to `times`, which may be NULL with a capacity of 0. Answers `COMPUTE_NOT_READY`
 * when no replay is over yet (a graph in which nothing runs has its zeros at once), `COMPUTE_INCOMPLETE` when `times` was given and could not take all.
 *
 * Pointers: The pointers are valid as described. */
compute_status compute_graph_get_times(compute_graph graph,
                                       uint64_t *times,
                                       size_t capacity,
                                       size_t *count,
                                       compute_error *out_error);

/* Writes a graph down for people and tools, `COMPUTE_GRAPH_DOT` or `COMPUTE_GRAPH_JSON`. `*needed` (may be NULL) is told how many bytes that takes, NUL included. The text is
 * cut, and the answer `COMPUTE_INCOMPLETE`, where `capacity` is too small; NULL and a capacity of 0 only ask.
 *
 * Pointers: The pointers are valid as described. */
compute_status compute_graph_export(compute_graph graph,
                                    uint32_t format,
                                    char *text,
                                    size_t capacity,
                                    size_t *needed,
                                    compute_error *out_error);

/* Tells where a view is for the driver, for programs that use the driver themselves (T14). `access` is `COMPUTE_ACCESS_READ`, `_WRITE` or `_READ_WRITE`: for
 * reading, the answer for bytes that a failure claims is that of `compute_stream_read` (T8); for writing nothing is checked, claims stay, and the caller says
 * `compute_written` once it has filled all of a view. Either way this waits for the work that uses the buffer, bytes that were never written are
 * zeroed, and the buffer is not moved from then on (`compute_stream_compact`).
 *
 * What is told stays true until the buffer ends: keep it until work of yours with it is over. The order is the caller's: work of yours comes behind what
 * `compute_stream_flush` has sent to a shared queue, with a barrier in front that covers shader and transfer writes, and one behind it that covers all commands
 * where it writes. The memory of other buffers lies around the view: stay within it.
 *
 * Errors: `UNSUPPORTED` where there is no such name (another API than Vulkan), `INVALID_ARGUMENT` (an empty view).
 *
 * Pointers: `view` is readable; `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_stream_export(compute_stream stream,
                                     const struct compute_view *view,
                                     uint32_t access,
                                     struct compute_native_info *info,
                                     compute_error *out_error);

/* Says that others have written all of a view, through what `compute_stream_export` told, and before any work that is enqueued from now on: its claims are released
 * (T14). The caller vouches for it.
 *
 * Pointers: `view` is readable; `out_error` is writable, or NULL. */
compute_status compute_written(const struct compute_view *view,
                               compute_error *out_error);

/* Makes later work of a stream wait, on the device, for an event of the driver's own that the caller has recorded (T14): a `CUevent` or `hipEvent_t`, by its `kind`
 * (`COMPUTE_NATIVE_CUDA_EVENT`, `_HIP_EVENT`). What counts is its last record before this call; one that was never recorded is not waited for. It may be recorded again, or
 * destroyed, when the call has returned. Says nothing about bytes. Streams that share a native queue wait with it, and so does work that is held back on the host.
 *
 * An event that was last recorded while the host captures a graph with the driver's own calls is refused (`DRIVER`): the stream would become a part of that graph, and its work
 * would never run. The driver's rules then end the host's capture, as if the host had asked for the event itself. If another thread records it in a capture during this
 * call, the device ends (`DEVICE_POISONED`; a new one can be opened).
 *
 * Errors: `UNSUPPORTED` (the device works with another driver, or has no such events), `INVALID_ARGUMENT` (0), `DRIVER` (the driver knows no such event, or it is being
 * captured), `RECORDING`.
 *
 * Pointers: `event` is 0 or an event of that kind, of the driver that the device works with; `out_error` is writable, or NULL. */
compute_status compute_stream_wait_native(compute_stream stream,
                                          uint32_t kind,
                                          uint64_t event,
                                          compute_error *out_error);

/* Records an event of the driver's own, made by the caller, behind all that was enqueued on the stream so far: work of the caller's that waits for it comes behind that work, on the
 * device. Does not wait, unless work of the stream is held back on the host (behind a grid from memory, or an event that is still to come): then for that. Errors as
 * `compute_stream_wait_native`. It says nothing about bytes: those of work that fails, or fails later, are as others see them in memory; `compute_stream_export` for reading tells.
 *
 * Pointers: As `compute_stream_wait_native`. */
compute_status compute_stream_record_native(compute_stream stream,
                                            uint32_t kind,
                                            uint64_t event,
                                            compute_error *out_error);

/* Makes a kernel from a source. The caller releases it.
 *
 * Errors: `COMPILE` with place and text (a refusal: the same source fails the same way), `LIMIT` when the device cannot run it, `UNSUPPORTED`,
 * `DEVICE_POISONED`. Included files are asked for here, and never later. With `COMPUTE_COMPILE_LAZY` parsing and limits are checked here, and compiling for the device happens at the first launch.
 *
 * Pointers: `desc` and what it points to are valid; `out` is writable; `out_error` is writable, or NULL. */
compute_status compute_kernel_create(compute_device device,
                                     const struct compute_kernel_desc *desc,
                                     compute_kernel *out,
                                     compute_error *out_error);

/* Whether a kernel is compiled for its device: `COMPUTE_OK`, `COMPUTE_NOT_READY`, or the error that a launch would give. Starts nothing.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_kernel_poll(compute_kernel kernel,
                                   compute_error *out_error);

/* Waits until a kernel is compiled for its device, which begins now if it has not: with `COMPUTE_FOREVER` on the calling thread, with a time-out on threads of the
 * library. `COMPUTE_TIMEOUT` when the time ran out; compilation goes on. Claims nothing (T11); what fails is answered, and may be tried again.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_kernel_wait(compute_kernel kernel,
                                   uint64_t timeout_ns,
                                   compute_error *out_error);

/* Counts one more reference to a kernel.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_kernel_retain(compute_kernel kernel, compute_error *out_error);

/* Gives one reference to a kernel back; with the last one its handle ends as by `compute_kernel_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_kernel_release(compute_kernel kernel);

/* Ends a kernel's handle at once, whatever its references. Launches in flight go on.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_kernel_destroy(compute_kernel kernel, compute_error *out_error);

/* What a kernel is (L10).
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_kernel_get_info(compute_kernel kernel, struct compute_kernel_info *info, compute_error *out_error);

/* One binding of a kernel by its index, in the order of (group, slot); `binding_count` of the info says how many there are. Past that:
 * `COMPUTE_ERROR_OUT_OF_RANGE`.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_kernel_get_binding(compute_kernel kernel,
                                          uint32_t index,
                                          struct compute_binding_info *info,
                                          compute_error *out_error);

/* One override constant of a kernel by its index, in the order of the source; `override_count` of the info says how many there are. Past that:
 * `COMPUTE_ERROR_OUT_OF_RANGE`.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL. */
compute_status compute_kernel_get_override(compute_kernel kernel,
                                           uint32_t index,
                                           struct compute_override_info *info,
                                           compute_error *out_error);

/* The index of the binding with that name in the source (for `compute_kernel_get_binding`); `COMPUTE_ERROR_NOT_FOUND` when there is none.
 *
 * Pointers: `name` is readable for `length` bytes, or NUL-terminated; `index` is writable; `out_error` is writable, or NULL. */
compute_status compute_kernel_find_binding(compute_kernel kernel,
                                           const char *name,
                                           size_t length,
                                           uint32_t *index,
                                           compute_error *out_error);

/* Counts one more reference to an event.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_event_retain(compute_event event, compute_error *out_error);

/* Gives one reference to an event back; with the last one its handle ends as by `compute_event_destroy`. NULL is fine. Never blocks; from any thread,
 * callback, or exit handler. */
void compute_event_release(compute_event event);

/* Ends an event's handle at once, whatever its references. Callbacks that wait for it are still called; memory that it lends stays borrowed until its work is
 * over.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_event_destroy(compute_event event,
                                     compute_error *out_error);

/* Whether an event is over: `COMPUTE_OK`, `COMPUTE_NOT_READY`, or the error that a wait would give. Calls callbacks that are due.
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_event_poll(compute_event event, compute_error *out_error);

/* Waits for an event on the host, asleep. `timeout_ns` of 0 polls. `COMPUTE_TIMEOUT` when the time ran out: nothing is wrong with the event. A recorded event
 * reports only a fault of the device (T10); that of a read answers for the bytes (T8).
 *
 * Pointers: `out_error` is writable, or NULL. */
compute_status compute_event_wait(compute_event event,
                                  uint64_t timeout_ns,
                                  compute_error *out_error);

/* Waits for one of several events, of any devices. `*index` (may be NULL) is told which is over; its own answer is the answer. `SIZE_MAX`: none is known to be, as
 * after `COMPUTE_TIMEOUT` or a call that was refused.
 *
 * Pointers: `events` is readable for `count` handles; `index` and `out_error` are writable, or NULL. */
compute_status compute_events_wait_any(const compute_event *events,
                                       size_t count,
                                       uint64_t timeout_ns,
                                       size_t *index,
                                       compute_error *out_error);

/* Waits for all of several events, of any devices. All are waited for even when one has an error, which is then the answer (the first of several). There must be one at least.
 *
 * Pointers: `events` is readable for `count` handles; `out_error` is writable, or NULL. */
compute_status compute_events_wait_all(const compute_event *events,
                                       size_t count,
                                       uint64_t timeout_ns,
                                       compute_error *out_error);

/* Calls `callback` exactly once when an event is over, at once if it already is: with `COMPUTE_OK`, or with the error that its wait would give. No lock is
 * held, any call is allowed inside, and the event may be released right away. A read that there is no host memory to end is told
 * `COMPUTE_ERROR_STILL_BORROWED`: it is to be asked again.
 *
 * `thread` is `COMPUTE_CALLBACK_ON_POLL`: on a thread that polls or waits for anything of the event's device; or `COMPUTE_CALLBACK_ON_WORKER`: on a
 * thread of the library. When the device's handle ends first, callbacks of the former kind are told `COMPUTE_ERROR_ABANDONED` then, or
 * `COMPUTE_ERROR_STILL_BORROWED` where the device may still reach host memory: then the event is to be asked again before that is freed.
 *
 * Pointers: `callback` may be called with `user` once from any thread, and does not unwind; `out_error` is writable, or NULL. */
compute_status compute_event_on_complete(compute_event event,
                                         compute_event_callback callback,
                                         void *user,
                                         uint32_t thread,
                                         compute_error *out_error);

/* Gives a file descriptor that becomes readable when the event is over, for a host's own loop (poll, epoll, kqueue): an eventfd on Linux, the end of a pipe on macOS. Of a
 * read, the bytes come with the answer of `compute_event_poll` or a wait, which it has at once then. The caller closes it, at any time. `COMPUTE_ERROR_UNSUPPORTED` on
 * Windows, which has none: there `compute_event_on_complete` with `COMPUTE_CALLBACK_ON_WORKER` calls a function that may set an event of the host's. `COMPUTE_ERROR_OUT_OF_MEMORY` where the
 * process has no descriptor left.
 *
 * Pointers: `fd` is writable; `out_error` is writable, or NULL. */
compute_status compute_event_get_fd(compute_event event,
                                    int32_t *fd,
                                    compute_error *out_error);

/* Device time in nanoseconds at which a recorded event came about; only differences between events of a device mean anything. `COMPUTE_NOT_READY` before that;
 * `COMPUTE_ERROR_UNSUPPORTED` where the device has no timestamps (`COMPUTE_DEVICE_FLAG_TIMESTAMPS`), and for the events of reads and writes; `COMPUTE_ERROR_NOT_FOUND` where
 * it did not keep this one, as thousands came later or memory was out.
 *
 * Pointers: `device_ns` is writable; `out_error` is writable, or NULL. */
compute_status compute_event_get_time(compute_event event,
                                      uint64_t *device_ns,
                                      compute_error *out_error);

/* Counts one more reference to an error object. */
compute_status compute_error_retain(compute_error error);

/* Gives one reference to an error object back; with the last one it goes. NULL is fine, and so is a handle that is no good. Never blocks. */
void compute_error_release(compute_error error);

/* All that an error says but its text: status, the four answers, failure, place, chain and members.
 *
 * Pointers: `info` points to a struct whose `struct_size` says how large it is. */
compute_status compute_error_get_info(compute_error error, struct compute_error_info *info);

/* The message: what was asked, what is allowed, what to do. One or two sentences in UTF-8; for compile errors also the compiler's words.
 *
 * Texts are given in two calls or one: `needed` (may be NULL) is told the bytes that all of it takes, with the NUL; as much as fits into
 * `capacity` bytes is written, NUL-terminated. Answers `COMPUTE_INCOMPLETE` when it was cut; NULL with a capacity of 0 only asks and answers
 * `COMPUTE_OK`.
 *
 * Pointers: When not NULL, `text` is writable for `capacity` bytes and `needed` for a number. */
compute_status compute_error_message(compute_error error,
                                     char *text,
                                     size_t capacity,
                                     size_t *needed);

/* The label that the caller gave the work that failed; empty when there was none. As `compute_error_message`.
 *
 * Pointers: As `compute_error_message`. */
compute_status compute_error_label(compute_error error, char *text, size_t capacity, size_t *needed);

/* The entry point of the kernel that failed, or the name of the operation (`copy`, `write`, ...). As `compute_error_message`.
 *
 * Pointers: As `compute_error_message`. */
compute_status compute_error_kernel(compute_error error, char *text, size_t capacity, size_t *needed);

/* The driver's own name of its error code; empty when no driver was involved. As `compute_error_message`.
 *
 * Pointers: As `compute_error_message`. */
compute_status compute_error_driver_name(compute_error error, char *text, size_t capacity, size_t *needed);

/* The whole error for people (`COMPUTE_FORMAT_TEXT`: what was asked, then why, newest first, down to the root) or for programs
 * (`COMPUTE_FORMAT_JSON`: an object with `status`, `name`, `message`, `answers`, and as far as they apply `about`, `location`, `diagnostics`,
 * `driver`, `failure`, `untouched`, `claimed_buffers`, `chain` (`total`, `dropped`, `entries`), `root`, `members`). As `compute_error_message`.
 *
 * Pointers: As `compute_error_message`. */
compute_status compute_error_format(compute_error error,
                                    uint32_t form,
                                    char *text,
                                    size_t capacity,
                                    size_t *needed);

/* The error at the root, as a new reference that the caller releases. An error without another root is its own.
 *
 * Pointers: `out` is writable. */
compute_status compute_error_root(compute_error error, compute_error *out);

/* An entry of the chain by its index, 0 being the newest; `chain_count` of the info says how many there are. Past that:
 * `COMPUTE_ERROR_OUT_OF_RANGE`.
 *
 * Pointers: `entry` points to a struct whose `struct_size` says how large it is. */
compute_status compute_error_chain(compute_error error, uint32_t index, struct compute_chain_entry *entry);

/* One of several failures by its index, as a new reference that the caller releases: an error with the failure's own id, chain and root.
 * `member_count` of the info says how many there are. Past that: `COMPUTE_ERROR_OUT_OF_RANGE`.
 *
 * Pointers: `out` is writable. */
compute_status compute_error_member(compute_error error,
                                    uint32_t index,
                                    compute_error *out);

/* One thing that is wrong with a kernel's source, by its index in the order of the source: its place (both may be NULL; 0 when it is about no
 * place) and what is wrong. The first one's place is that of the info. Past the last one, and for errors that are about something else:
 * `COMPUTE_ERROR_OUT_OF_RANGE`. The text is given as by `compute_error_message`, which has all of them with their lines of source.
 *
 * Pointers: As `compute_error_message`; when not NULL, `line` and `column` are writable. */
compute_status compute_error_diagnostic(compute_error error,
                                        uint32_t index,
                                        uint32_t *line,
                                        uint32_t *column,
                                        char *text,
                                        size_t capacity,
                                        size_t *needed);

/* Gives the functions of the library: fills a `compute_table` of `table_size` bytes as far as both sides know it, and what only the caller
 * knows with zeros. `*needed` (may be NULL) is told the size that the library has. `abi` is the header's `COMPUTE_ABI`.
 *
 * Pointers: `table` is writable for `table_size` bytes; `needed` and `out_error` are writable, or NULL. */
compute_status compute_get_table(uint32_t abi,
                                 void *table,
                                 size_t table_size,
                                 size_t *needed,
                                 compute_error *out_error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIBCOMPUTE_COMPUTE_H */
