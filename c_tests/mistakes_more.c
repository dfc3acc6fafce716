/* FFI-01, F1, L3, M9: mistakes with memory, rows, kernels, graphs and windows. Those with devices, streams and plain transfers are in mistakes.c. */
#include "mistakes.h"

static const uint64_t huge[] = { UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62 };

/* ---- memory ---- */

static void bad_buffers(void)
{
    compute_buffer out = NULL;
    compute_stream elsewhere = make_stream(other_device), gone = make_stream(device);
    compute_stream_release(gone);
    compute_buffer_desc desc;
    const compute_buffer_desc good = { .struct_size = sizeof good, .size = 64 };
#define WRONG(code, change)                                       \
    do {                                                          \
        desc = good;                                              \
        change;                                                   \
        BAD(code, compute_buffer_create(device, &desc, &out, E)); \
    } while (0)
    for (uint32_t bit = 7; bit < 64; bit++) WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.flags = UINT64_C(1) << bit);
    for (uint32_t size = 0; size < 8; size++) WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = size);
    WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = UINT32_MAX);
    WRONG(COMPUTE_ERROR_FOREIGN_HANDLE, desc.stream = elsewhere);
    WRONG(COMPUTE_ERROR_INVALID_HANDLE, desc.stream = gone);
    WRONG(COMPUTE_ERROR_INVALID_HANDLE, desc.stream = (compute_stream)(void *)buffer);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.flags = COMPUTE_BUFFER_FLAG_SCRATCH);
    WRONG(COMPUTE_ERROR_INVALID_UTF8, (desc.label = "\xf5\x80\x80\x80", desc.label_length = 4));
    WRONG(COMPUTE_ERROR_TOO_LARGE, desc.size = device_info(device).max_buffer_size + 1);
    WHERE(!(capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE), COMPUTE_ERROR_UNSUPPORTED,
          (desc = good, desc.flags = COMPUTE_BUFFER_FLAG_HOST_VISIBLE, compute_buffer_create(device, &desc, &out, E)));
#undef WRONG
    CHECK(out == NULL);
    compute_stream_release(elsewhere);
}

static void bad_mappings(void)
{
    compute_view view = whole(buffer), none = range(NULL, 0, 4);
    compute_mapping out = NULL;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&view, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(NULL, &out, E));
    BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_map(&none, &out, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&view, &out, E));
    CHECK(out == NULL);
    const int maps = (capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) != 0;
    compute_buffer visible = maps ? make_buffer_with(device, 64, "visible", COMPUTE_BUFFER_FLAG_HOST_VISIBLE) : NULL;
    if (maps) fill_words(stream, visible, 1);
    compute_view beyond = range(visible, 32, 64);
    WHERE(maps, COMPUTE_ERROR_OUT_OF_RANGE, compute_buffer_map(&beyond, &out, E));
    view = whole(visible);
    if (maps) OK(compute_buffer_map(&view, &out, E));
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        WHERE(maps, COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_acquire(out, huge[i], 1, COMPUTE_ACCESS_READ, 0, E));
        WHERE(maps, COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_flush(out, 1, huge[i] - 1, E));
    }
    WHERE(maps, COMPUTE_ERROR_INVALID_ENUM, compute_mapping_acquire(out, 0, 64, COMPUTE_ACCESS_UNUSED, 0, E));
    WHERE(maps, COMPUTE_ERROR_INVALID_ENUM, compute_mapping_acquire(out, 0, 64, COMPUTE_ACCESS_WRITE_ALL, 0, E));
    WHERE(maps, COMPUTE_ERROR_INVALID_ENUM, compute_mapping_acquire(out, 0, 64, UINT32_MAX, 0, E));
    WHERE(maps, COMPUTE_ERROR_INVALID_ARGUMENT, compute_mapping_get_pointer(out, NULL, NULL, E));
    compute_mapping_release(out);
    compute_buffer_release(visible);
}

static void bad_pools(void)
{
    compute_stream own = make_stream(device);
    size_t count = 0;
    compute_pool_report report = COMPUTE_POOL_REPORT_INIT;
    compute_pool_desc pool;
    const compute_pool_desc good = { COMPUTE_POOL_SLICED, 0, 4096, 65536, 1 << 20, 0 };
#define WRONG(code, change)                                               \
    do {                                                                  \
        pool = good;                                                      \
        change;                                                           \
        BAD(code, compute_stream_set_pools(own, &pool, 1, 0, E));         \
    } while (0)
    WRONG(COMPUTE_ERROR_INVALID_ENUM, pool.kind = 0);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, pool.kind = 3);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, pool.reserved = 1);
    WRONG(COMPUTE_ERROR_INVALID_LAYOUT, pool.largest = 0);
    WRONG(COMPUTE_ERROR_INVALID_LAYOUT, pool.page = 1);
    WRONG(COMPUTE_ERROR_INVALID_LAYOUT, pool.page_most = 1);
    for (size_t i = 0; i < COUNT_OF(huge); i++) WRONG(COMPUTE_ERROR_INVALID_LAYOUT, pool.page = huge[i]);
#undef WRONG
    pool = good;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_set_pools(own, NULL, 1, 0, E));
    BAD(COMPUTE_ERROR_INVALID_LAYOUT, compute_stream_set_pools(own, &pool, 0, 0, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_stream_set_pools(own, &pool, SIZE_MAX, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_set_pools(own, &pool, 2, 1, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(own, NULL, 0, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(own, &report, 0, 1, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(own, &report, 1, 1, &count, E));
    BAD(COMPUTE_ERROR_BUSY, compute_stream_end_dry_run(own, E));
    BAD(COMPUTE_ERROR_BUSY, compute_stream_get_plan(own, &pool, 0, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_get_plan(own, &pool, 0, 1, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_freeze_pools(own, 2, E));
    compute_budget budget = NULL;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_budget_create(1, NULL, E));
    OK(compute_budget_create(64, &budget, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_budget_get_info(budget, NULL, E));
    OK(compute_stream_set_budget(own, budget, E));
    compute_buffer out = NULL;
    compute_buffer_desc desc = { .struct_size = sizeof desc, .size = 1 << 20, .stream = own };
    BAD(COMPUTE_ERROR_BUDGET, compute_buffer_create(device, &desc, &out, E));
    CHECK(out == NULL);
    compute_budget_release(budget);
    compute_stream_release(own);
}

static void bad_layouts(void)
{
    uint64_t shape[3] = { 4, 5, 6 }, size = 0;
    compute_tensor_place place = { 0 };
    compute_tensor_desc desc;
    const compute_tensor_desc good = { sizeof good, 3, shape, 4, 0, 0 };
#define WRONG(code, change)                                                                            \
    do {                                                                                               \
        desc = good;                                                                                   \
        change;                                                                                        \
        BAD(code, compute_device_layout_tensors(device, &desc, 1, 0, 0, &place, 0, &size, E));         \
    } while (0)
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.shape = NULL);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.arrangement = 77);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.reserved = 1);
    WRONG(COMPUTE_ERROR_LIMIT, desc.rank = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = 3);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.element_size = 0);
    for (size_t i = 0; i < COUNT_OF(huge); i++) WRONG(COMPUTE_ERROR_TOO_LARGE, desc.element_size = huge[i]);
    shape[0] = UINT64_MAX;
    WRONG(COMPUTE_ERROR_TOO_LARGE, desc.rank = 3);
    shape[0] = 4;
#undef WRONG
    desc = good;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_layout_tensors(device, NULL, 1, 0, 0, &place, 0, &size, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_layout_tensors(device, &desc, 1, 0, 0, &place, 0, NULL, E));
    BAD(COMPUTE_ERROR_MISALIGNED, compute_device_layout_tensors(device, &desc, 1, 0, 3, &place, 0, &size, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_device_layout_tensors(device, &desc, SIZE_MAX, 0, 0, &place, 0, &size, E));
}

/* ---- rows ---- */

static void bad_rows(void)
{
    static unsigned char bytes[1024];
    uint64_t shape[2] = { 8, 4 };
    int64_t apart[2] = { 32, 4 };
    compute_buffer there = make_buffer(device, 1024, "there");
    compute_view from = whole(buffer), to = whole(there), foreign = whole(other_buffer);
    fill_words(stream, buffer, 1);
    fill_words(stream, there, 1);
    compute_event event_out = NULL;
    compute_readback readback = NULL;
    compute_strided_desc desc;
    const compute_strided_desc good = { sizeof good, 2, shape, 4, apart, apart };
    /* The same mistake with the copy, and where the host is one end. */
#define WRONG(code, change)                                                                                 \
    do {                                                                                                    \
        desc = good;                                                                                        \
        change;                                                                                             \
        BAD(code, compute_stream_copy_strided(stream, &from, &to, &desc, E));                               \
        BAD(code, compute_stream_write_strided(stream, &to, &desc, bytes, 128, E));                         \
        BAD(code, compute_stream_write_strided_borrowed(stream, &to, &desc, bytes, 128, &event_out, E));    \
        fill_words(stream, there, 1);                                                                       \
        BAD(code, compute_stream_read_strided(stream, &from, &desc, bytes, 128, E));                        \
        BAD(code, compute_stream_read_strided_async(stream, &from, &desc, bytes, 128, &event_out, E));      \
        BAD(code, compute_stream_read_strided_lazy(stream, &from, &desc, &readback, E));                    \
    } while (0)
    WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = 4);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.shape = NULL);
    WRONG(COMPUTE_ERROR_LIMIT, desc.rank = 1000);
    WRONG(COMPUTE_ERROR_LIMIT, desc.rank = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.element_size = 0);
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        WRONG(COMPUTE_ERROR_TOO_LARGE, desc.element_size = huge[i]);
        shape[0] = huge[i];
        WRONG(COMPUTE_ERROR_TOO_LARGE, desc.rank = 2);
        shape[0] = 8;
    }
    apart[0] = INT64_MAX;
    WRONG(COMPUTE_ERROR_TOO_LARGE, desc.rank = 2);
    apart[0] = 160;
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, desc.rank = 2);
    apart[0] = 32;
    from = to = foreign;
    WRONG(COMPUTE_ERROR_FOREIGN_HANDLE, desc.rank = 2);
#undef WRONG
    desc = good;
    from = whole(buffer);
    BAD(COMPUTE_ERROR_OVERLAP, compute_stream_copy_strided(stream, &from, &from, &desc, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy_strided(stream, NULL, &from, &desc, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy_strided(stream, &from, &from, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided(stream, &from, &desc, NULL, 128, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read_strided(stream, &from, &desc, bytes, 127, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided_async(stream, &from, &desc, bytes, 128, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided_lazy(stream, &from, &desc, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_lazy(stream, &from, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_lazy(stream, NULL, &readback, E));
    CHECK(event_out == NULL && readback == NULL);
    compute_buffer_release(there);
}

/* ---- what is not the library's ---- */

static void bad_imports(void)
{
    static uint32_t words[16] __attribute__((aligned(64)));
    compute_buffer out = NULL;
    compute_import_desc desc;
    const compute_import_desc good = { .struct_size = sizeof good, .kind = COMPUTE_NATIVE_ADDRESS, .handle = (uint64_t)(uintptr_t)words, .size = 64, .access = COMPUTE_ACCESS_READ_WRITE };
#define WRONG(code, change)                                       \
    do {                                                          \
        desc = good;                                              \
        change;                                                   \
        BAD(code, compute_buffer_import(device, &desc, &out, E)); \
    } while (0)
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.kind = 0);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.kind = 7);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.kind = COMPUTE_NATIVE_CUDA_EVENT);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.kind = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.access = COMPUTE_ACCESS_UNUSED);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.access = COMPUTE_ACCESS_WRITE);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.access = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.reserved = 1);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.next = &desc);
#undef WRONG
    /* What the device's own memory is called by its driver, which an export tells: 0 where there is no such name. */
    compute_native_info native = COMPUTE_NATIVE_INFO_INIT;
    compute_view view = whole(buffer), beyond = range(buffer, 1024, 1);
    fill_words(stream, buffer, 1);
    const compute_status exported = compute_stream_export(stream, &view, COMPUTE_ACCESS_READ, &native, E);
    CHECK(exported == COMPUTE_OK || exported == COMPUTE_ERROR_UNSUPPORTED);
    if (exported != COMPUTE_OK) native.kind = 0;
    const uint32_t own = native.kind;
#define WRONG(code, change) WHERE_CODE(own != 0, code, (desc = good, desc.kind = own, change, compute_buffer_import(device, &desc, &out, E)))
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.handle = 0);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.size = 0);
    for (size_t i = 0; i < 3; i++) WRONG(COMPUTE_ERROR_OUT_OF_RANGE, (desc.offset = huge[i], desc.size = huge[i]));
    WRONG(COMPUTE_ERROR_MISALIGNED, desc.offset = 1);
#undef WRONG
    for (uint32_t kind = COMPUTE_NATIVE_ADDRESS; kind <= COMPUTE_NATIVE_HIP_POINTER; kind++) {
        WHERE_CODE(kind != own, COMPUTE_ERROR_UNSUPPORTED, (desc = good, desc.kind = kind, compute_buffer_import(device, &desc, &out, E)));
    }
    const uint32_t own_event = own == COMPUTE_NATIVE_CUDA_POINTER ? COMPUTE_NATIVE_CUDA_EVENT : own == COMPUTE_NATIVE_HIP_POINTER ? COMPUTE_NATIVE_HIP_EVENT : 0;
    for (uint32_t kind = COMPUTE_NATIVE_CUDA_EVENT; kind <= COMPUTE_NATIVE_HIP_EVENT; kind++) {
        WHERE_CODE(kind != own_event, COMPUTE_ERROR_UNSUPPORTED, compute_stream_wait_native(stream, kind, 1, E));
        WHERE_CODE(kind != own_event, COMPUTE_ERROR_UNSUPPORTED, compute_stream_record_native(stream, kind, 1, E));
    }
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_stream_export(stream, &view, COMPUTE_ACCESS_UNUSED, &native, E));
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_stream_export(stream, &view, UINT32_MAX, &native, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_export(stream, &view, COMPUTE_ACCESS_READ, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_export(stream, NULL, COMPUTE_ACCESS_READ, &native, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_export(stream, &beyond, COMPUTE_ACCESS_READ, &native, E));
    for (uint32_t kind = 0; kind <= COMPUTE_NATIVE_HIP_POINTER; kind++) {
        BAD(COMPUTE_ERROR_INVALID_ENUM, compute_stream_wait_native(stream, kind, 1, E));
        BAD(COMPUTE_ERROR_INVALID_ENUM, compute_stream_record_native(stream, kind, 1, E));
    }
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_stream_wait_native(stream, 7, 1, E));
    CHECK(out == NULL);
}

/* ---- kernels ---- */

static void bad_sources(void)
{
    compute_kernel out = NULL;
    const compute_device_info info = device_info(device);
    char text[512];
    compute_kernel_desc desc;
    const compute_kernel_desc good = kernel_desc(INCREMENT, "");
#define WRONG(code, change)                                                   \
    do {                                                                      \
        desc = good;                                                          \
        change;                                                               \
        BAD(code, compute_kernel_create(device, &desc, &out, E));             \
    } while (0)
#define SOURCE(...) (snprintf(text, sizeof text, __VA_ARGS__), desc.source = text, desc.source_length = COMPUTE_NUL_TERMINATED)
    compute_constant constant = { "n", 1, 1.0, 3, 0 };
    WRONG(COMPUTE_ERROR_INVALID_ENUM, (desc.constants = &constant, desc.constant_count = 1));
    constant.kind = UINT32_MAX;
    WRONG(COMPUTE_ERROR_INVALID_ENUM, (desc.constants = &constant, desc.constant_count = 1));
    for (uint32_t bit = 1; bit < 64; bit += 7) WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.flags = UINT64_C(1) << bit);
    for (uint32_t language = 4; language < 30; language++) WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.language = language);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.bounds = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.compile = UINT32_MAX);
    for (size_t i = 0; i < COUNT_OF(huge); i++) WRONG(COMPUTE_ERROR_LIMIT, desc.print_size = huge[i]);
    for (uint32_t size = 0; size < 8; size++) WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = size);
    static const uint32_t spirv[8] = { 0x07230203, 0x00010300, 0, 1, 0, 0, 0, 0 };
    WRONG(COMPUTE_ERROR_COMPILE, (desc.language = COMPUTE_LANGUAGE_SPIRV, desc.source = spirv, desc.source_length = 32));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.language = COMPUTE_LANGUAGE_SPIRV, desc.source = spirv, desc.source_length = 31));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.language = COMPUTE_LANGUAGE_SPIRV, desc.source = spirv, desc.source_length = 4));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.language = COMPUTE_LANGUAGE_GLSL));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE("@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}"));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE("@compute @workgroup_size(0) fn a() {}"));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE("@fragment fn a() {}"));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE("fn f() { f(); } @compute @workgroup_size(1) fn a() { f(); }"));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE(IO "@compute @workgroup_size(64) fn a(" ID ") { if I[0] == id.x { workgroupBarrier(); } O[0] = 1u; }"));
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE(IO "@compute @workgroup_size(64) fn a() { I[0] = 1u; }"));
    /* KT: a value that only some passes have set is used in `continuing`. */
    WRONG(COMPUTE_ERROR_COMPILE, SOURCE(IO "@compute @workgroup_size(1) fn a() { loop { if I[0] == 0u { continue; } let x = I[1]; continuing { O[0] = x; break if x > 3u; } } }"));
    WRONG(COMPUTE_ERROR_LIMIT, SOURCE("@compute @workgroup_size(%u) fn a() {}", info.max_workgroup_size[0] + 1));
    WRONG(COMPUTE_ERROR_LIMIT, SOURCE("@compute @workgroup_size(1, %u) fn a() {}", info.max_workgroup_size[1] + 1));
    WRONG(COMPUTE_ERROR_LIMIT, SOURCE("@compute @workgroup_size(1, 1, %u) fn a() {}", info.max_workgroup_size[2] + 1));
    WRONG(COMPUTE_ERROR_LIMIT, SOURCE("@compute @workgroup_size(%u, 2) fn a() {}", info.max_workgroup_invocations));
    WRONG(COMPUTE_ERROR_LIMIT, SOURCE(IO "var<workgroup> w: array<u32, %u>; @compute @workgroup_size(1) fn a() { w[I[0]] = 1u; O[0] = w[I[1]]; }",
                                      (unsigned)(info.max_workgroup_memory / 4 + 1)));
    WHERE(runs_kernels && !(info.features & COMPUTE_FEATURE_F64), COMPUTE_ERROR_COMPILE,
          (desc = good, SOURCE(IO "@compute @workgroup_size(1) fn a() { O[0] = u32(f64(I[0]) * 2.0lf); }"), compute_kernel_create(device, &desc, &out, E)));
    WHERE(!(capabilities & COMPUTE_CAPABILITY_TIME_LIMIT), COMPUTE_ERROR_UNSUPPORTED,
          (desc = good, desc.time_limit = 1000, compute_kernel_create(device, &desc, &out, E)));
    WHERE(!(capabilities & COMPUTE_CAPABILITY_VALIDATE), COMPUTE_ERROR_UNSUPPORTED,
          (desc = good, desc.bounds = COMPUTE_BOUNDS_VALIDATE, compute_kernel_create(device, &desc, &out, E)));
    WHERE(!(capabilities & COMPUTE_CAPABILITY_STRICT), COMPUTE_ERROR_UNSUPPORTED,
          (desc = good, desc.flags = COMPUTE_KERNEL_FLAG_STRICT, compute_kernel_create(device, &desc, &out, E)));
#undef WRONG
    CHECK(out == NULL);
}

/* ---- launches against the device's own limits ---- */

#define PUSH IO "var<immediate> p: vec4<u32>;\n@compute @workgroup_size(1) fn push() { O[0] = I[0] + p.x; }\n"

static void bad_limits(void)
{
    const compute_device_info info = device_info(device);
    compute_buffer in = make_buffer(device, 1024, "in"), out = make_buffer(device, 1024, "out");
    fill_words(stream, in, 1);
    compute_kernel add = make_kernel(device, ADD), push = make_kernel(device, PUSH);
    uint32_t amount[64] = { 1 };
    compute_binding bindings[3];
    const compute_binding good[3] = { bind(0, in), bind(1, out), bind_bytes(2, amount, 16) };
    compute_launch_desc desc;
#define WRONG(code, change)                                             \
    do {                                                                \
        memcpy(bindings, good, sizeof good);                            \
        desc = launch_desc(add, 4, 1, 1, bindings, 3);                  \
        change;                                                         \
        BAD(code, compute_stream_launch(stream, &desc, E));             \
    } while (0)
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (info.max_grid[axis] < UINT32_MAX) WRONG(COMPUTE_ERROR_LIMIT, desc.grid[axis] = info.max_grid[axis] + 1);
    }
    for (uint32_t size = 0; size < 8; size++) WRONG(COMPUTE_ERROR_INVALID_STRUCT, desc.struct_size = size);
    for (uint32_t bit = 2; bit < 32; bit++) WRONG(COMPUTE_ERROR_INVALID_ENUM, bindings[0].flags = UINT32_C(1) << bit);
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, bindings[2] = bind_range(2, in, 1008, 32));
    WRONG(COMPUTE_ERROR_BINDING, bindings[2] = bind_range(2, in, 0, 12));
    WRONG(COMPUTE_ERROR_MISALIGNED, bindings[2] = bind_range(2, in, 1, 16));
    WRONG(COMPUTE_ERROR_BINDING, bindings[2].slot = 1);

    WRONG(COMPUTE_ERROR_MISALIGNED, bindings[1] = bind_range(1, out, 1, 4));
    WRONG(COMPUTE_ERROR_INVALID_HANDLE, bindings[1].buffer = (compute_buffer)(void *)stream);
    WRONG(COMPUTE_ERROR_BINDING, (desc.kernel = push, desc.binding_count = 2));
    WRONG(COMPUTE_ERROR_BINDING, (desc.kernel = push, desc.binding_count = 2, desc.immediates = amount, desc.immediate_size = 12));
    WRONG(COMPUTE_ERROR_BINDING, (desc.kernel = push, desc.binding_count = 2, desc.immediates = amount, desc.immediate_size = 20));
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, (desc.kernel = push, desc.binding_count = 2, desc.immediates = NULL, desc.immediate_size = 16));
#undef WRONG
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(add);
    compute_kernel_release(push);
}

/* ---- graphs and windows ---- */

static compute_graph_builder make_builder(compute_device on)
{
    compute_graph_builder builder = NULL;
    OK(compute_graph_builder_create(on, NULL, &builder, E));
    return builder;
}

static void bad_builders(void)
{
    compute_graph_builder out = NULL, builder = make_builder(device);
    compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_create(device, &desc, NULL, E));
    for (uint32_t bit = 2; bit < 64; bit += 5) {
        desc.flags = UINT64_C(1) << bit;
        BAD(COMPUTE_ERROR_INVALID_ENUM, compute_graph_builder_create(device, &desc, &out, E));
    }
    desc.flags = 0;
    desc.reserved = 1;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_create(device, &desc, &out, E));
    desc.reserved = 0;
    desc.next = &desc;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_create(device, &desc, &out, E));
    BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_create((compute_device)(void *)stream, NULL, &out, E));

    compute_buffer there = make_buffer(device, 1024, "there");
    compute_view from = whole(buffer), to = whole(there), foreign = whole(other_buffer), beyond = range(buffer, 1, 1024), less = range(there, 0, 8);
    compute_node node = 7, no_such = 12345;
    static const uint32_t word = 1;
    static const unsigned char pattern[40];
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_copy(builder, NULL, &to, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_builder_add_copy(builder, &beyond, &to, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_builder_add_copy(builder, &from, &less, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_OVERLAP, compute_graph_builder_add_copy(builder, &from, &from, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_builder_add_copy(builder, &foreign, &to, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_builder_add_copy(builder, &from, &foreign, NULL, 0, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_graph_builder_add_copy(builder, &from, &to, "\xff", 1, NULL, 0, &node, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 1, &node, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, &no_such, 1, &node, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_builder_add_fill(builder, &foreign, &word, 4, NULL, 0, NULL, 0, &node, E));
    for (uint32_t size = 0; size < 40; size++) {
        if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16) continue;
        BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_fill(builder, &to, pattern, size, NULL, 0, NULL, 0, &node, E));
    }
    BAD(COMPUTE_ERROR_LIMIT, compute_graph_builder_add_join(builder, &no_such, SIZE_MAX, &node, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_launch(builder, NULL, NULL, 0, &node, E));
    compute_kernel elsewhere = make_kernel(other_device, INCREMENT);
    compute_binding bindings[2] = { bind(0, buffer), bind(1, there) };
    compute_launch_desc launch = launch_desc(elsewhere, 1, 1, 1, bindings, 2);
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_builder_add_launch(builder, &launch, NULL, 0, &node, E));
    launch.kernel = kernel;
    launch.mode = COMPUTE_LAUNCH_COMPILE_ONLY;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_launch(builder, &launch, NULL, 0, &node, E));
    launch.mode = 0;
    bindings[1].buffer = buffer;
    BAD(COMPUTE_ERROR_OVERLAP, compute_graph_builder_add_launch(builder, &launch, NULL, 0, &node, E));
    CHECK(node == 0 && out == NULL);
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_instantiate(builder, NULL, E));
    compute_graph_builder_release(builder);
    compute_kernel_release(elsewhere);
    compute_buffer_release(there);
}

static void bad_graphs(void)
{
    compute_buffer there = make_buffer(device, 1024, "there");
    compute_view from = whole(buffer), to = whole(there), beyond = range(there, 1, 1024), foreign = whole(other_buffer);
    compute_graph_builder builder = make_builder(device), elsewhere = make_builder(other_device);
    compute_node launch_node = 0, copy_node = 0, fill_node = 0;
    compute_binding bindings[2] = { bind(0, buffer), bind(1, there) };
    compute_launch_desc launch = launch_desc(kernel, 16, 1, 1, bindings, 2);
    static const uint32_t word = 1;
    OK(compute_graph_builder_add_launch(builder, &launch, NULL, 0, &launch_node, E));
    OK(compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, &copy_node, E));
    OK(compute_graph_builder_add_fill(builder, &to, &word, 4, NULL, 0, NULL, 0, &fill_node, E));
    compute_graph graph = NULL, foreign_graph = NULL;
    OK(compute_graph_builder_instantiate(builder, &graph, E));
    OK(compute_graph_builder_instantiate(elsewhere, &foreign_graph, E));
    compute_node_info node = COMPUTE_NODE_INFO_INIT;
    size_t count = 0;
    char text[16];
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_replay(stream, foreign_graph, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_get_info(graph, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_get_node(graph, 0, NULL, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_get_node(graph, 3, &node, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_get_node(graph, UINT64_MAX, &node, E));
    BAD(COMPUTE_ERROR_UNSUPPORTED, compute_graph_get_times(graph, NULL, 0, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_graph_export(graph, 77, text, sizeof text, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_export(graph, COMPUTE_GRAPH_DOT, NULL, 16, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_copy(graph, fill_node, &from, &to, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_fill(graph, copy_node, &to, &word, 4, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_launch(graph, copy_node, &launch, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_launch(graph, launch_node, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_copy(graph, 12345, &from, &to, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_update_copy(graph, copy_node, &from, &beyond, E));
    BAD(COMPUTE_ERROR_OVERLAP, compute_graph_update_copy(graph, copy_node, &from, &from, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_update_copy(graph, copy_node, &from, &foreign, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_fill(graph, fill_node, &to, &word, 3, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_fill(graph, fill_node, &to, NULL, 4, E));
    launch.grid[0] = UINT32_MAX;
    BAD(COMPUTE_ERROR_LIMIT, compute_graph_update_launch(graph, launch_node, &launch, E));
    launch.grid[0] = 1;
    launch.binding_count = 1;
    BAD(COMPUTE_ERROR_BINDING, compute_graph_update_launch(graph, launch_node, &launch, E));
    /* None of this changed anything. */
    fill_words(stream, buffer, 41);
    OK(compute_stream_replay(stream, graph, E));
    if (runs_kernels) CHECK_EQ(get_word(stream, there, 255), 1);
    compute_graph_release(graph);
    compute_graph_release(foreign_graph);
    compute_graph_builder_release(builder);
    compute_graph_builder_release(elsewhere);
    compute_buffer_release(there);
}

/* The wrong call is made within a window, and dooms it: its end tells the same mistake. */
static void bad_windows(void)
{
    compute_stream own = make_stream(device);
    compute_buffer there = make_buffer(device, 1024, "there");
    uint64_t number = 0;
    compute_graph graph = NULL;
    BAD(COMPUTE_ERROR_BUSY, compute_stream_begin_capture(own, NULL, &number, E));
    BAD(COMPUTE_ERROR_BUSY, compute_stream_end_capture(own, 1, &graph, E));
    compute_view to = whole(there), first = range(there, 0, 4), beyond = range(there, 4, 1024), foreign = whole(other_buffer);
    static const uint32_t word = 1;
    uint32_t back = 0;
    compute_event out_event = NULL;
    compute_binding bindings[2] = { bind(0, there), bind(1, there) };
    compute_launch_desc launch = launch_desc(kernel, 1, 1, 1, bindings, 2);
#define DOOMS(code, call)                                                            \
    do {                                                                             \
        OK(compute_stream_prepare_capture(own, E));                                  \
        BAD(COMPUTE_ERROR_BUSY, compute_stream_prepare_capture(own, E));             \
        OK(compute_stream_begin_capture(own, NULL, &number, E));                     \
        BAD(code, call);                                                             \
        BAD(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(own, number, &graph, E)); \
        CHECK(graph == NULL);                                                        \
    } while (0)
    DOOMS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_fill(own, &beyond, &word, 4, E));
    DOOMS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_fill(own, &to, &word, 3, E));
    DOOMS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_fill(own, &foreign, &word, 4, E));
    DOOMS(COMPUTE_ERROR_OVERLAP, compute_stream_launch(own, &launch, E));
    DOOMS(COMPUTE_ERROR_RECORDING, compute_stream_write(own, &first, &word, 4, E));
    DOOMS(COMPUTE_ERROR_RECORDING, compute_stream_read(own, &first, &back, 4, E));
    DOOMS(COMPUTE_ERROR_RECORDING, compute_stream_sync(own, NULL, 0, 0, 0, E));
    DOOMS(COMPUTE_ERROR_RECORDING, compute_stream_record(own, &out_event, E));
    DOOMS(COMPUTE_ERROR_RECORDING, compute_stream_cleanup(own, E));
#undef DOOMS
    OK(compute_stream_fill(own, &to, &word, 4, E));
    if (runs_kernels) CHECK_EQ(get_word(own, there, 255), 1);
    compute_stream_release(own);
    compute_buffer_release(there);
}

static void rows(void)
{
    bad_buffers();
    bad_mappings();
    bad_pools();
    bad_layouts();
    bad_rows();
    bad_imports();
    bad_sources();
    bad_limits();
    bad_builders();
    bad_graphs();
    bad_windows();
}

TEST(f1_l3_mistakes_with_memory_rows_kernels_and_graphs_have_the_same_answer_on_every_device)
{
    on_every_device(rows, 400);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(f1_l3_mistakes_with_memory_rows_kernels_and_graphs_have_the_same_answer_on_every_device);
    return finish();
}
