/* FFI-01 and F1: some hundreds of bad calls in one process. Each answers its documented code with an error object that says why, and at the end a kernel
 * with barriers (KT-08) gives the right result. */
#include "rules.h"

static compute_device device, other_device;
static compute_stream stream;
static compute_buffer buffer, other_buffer;
static compute_kernel kernel;
static compute_event event;
static compute_error error_object;
static int calls;

#define BAD(expected, call)    \
    do {                       \
        IS(expected, call);    \
        calls++;               \
        CHECK(says_something()); \
    } while (0)
/* For calls without an error object. */
#define BAD_PLAIN(expected, call)           \
    do {                                    \
        CHECK_EQ((int64_t)(call), expected); \
        calls++;                            \
    } while (0)

static int says_something(void)
{
    char text[2048], json[4096];
    size_t needed = 0;
    CHECK_EQ(compute_error_message(last_error, text, sizeof text, &needed), COMPUTE_OK);
    CHECK_EQ(compute_error_format(last_error, COMPUTE_FORMAT_JSON, json, sizeof json, NULL), COMPUTE_OK);
    return needed > 10 && needed == strlen(text) + 1 && json[0] == '{';
}

static void set_up(void)
{
    device = open_device();
    other_device = open_device();
    stream = make_stream(device);
    buffer = make_buffer(device, 1024, "buffer");
    other_buffer = make_buffer(other_device, 1024, "of another device");
    kernel = make_kernel(device, INCREMENT);
    OK(compute_stream_record(stream, &event, E));
    compute_error made = NULL;
    CHECK(compute_device_status(NULL, &made) == COMPUTE_ERROR_INVALID_HANDLE && made);
    error_object = made;
}

/* ---- handles ---- */

enum { STALE, GARBAGE_FIRST, BAD_HANDLES = 16 };
static void *bad_handles[BAD_HANDLES];

static void gather_bad_handles(void *stale, const void *const *others, size_t count)
{
    static const uintptr_t garbage[] = { 0, 1, 0x1000, 0xdeadbeef, UINTPTR_MAX, UINTPTR_MAX - 1, (uintptr_t)1 << 63, INT64_MAX };
    size_t n = 0;
    bad_handles[n++] = stale;
    for (size_t i = 0; i < COUNT_OF(garbage); i++) bad_handles[n++] = (void *)garbage[i];
    bad_handles[n++] = &device;
    for (size_t i = 0; i < count; i++) bad_handles[n++] = (void *)(uintptr_t)others[i];
    for (; n < BAD_HANDLES; n++) bad_handles[n] = (void *)((uintptr_t)stale ^ ((uintptr_t)1 << n));
}

#define EACH_BAD(type, call)                                   \
    for (size_t b_ = 0; b_ < BAD_HANDLES; b_++) {              \
        type h = (type)bad_handles[b_];                        \
        BAD(COMPUTE_ERROR_INVALID_HANDLE, call);               \
    }

static void bad_devices(void)
{
    compute_device stale = open_device();
    OK(compute_device_destroy(stale, E));
    const void *others[] = { stream, buffer, kernel, event, error_object };
    gather_bad_handles(stale, others, COUNT_OF(others));
    compute_device_info info = COMPUTE_DEVICE_INFO_INIT;
    compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
    compute_stream out_stream = stream;
    compute_buffer out_buffer = buffer;
    compute_kernel out_kernel = kernel;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_kernel_desc source = kernel_desc(INCREMENT, "");
    uint64_t number = 7;
    EACH_BAD(compute_device, compute_device_retain(h, E));
    EACH_BAD(compute_device, compute_device_destroy(h, E));
    EACH_BAD(compute_device, compute_device_get_info(h, &info, E));
    compute_cache_info cached = COMPUTE_CACHE_INFO_INIT;
    EACH_BAD(compute_device, compute_device_cache_info(h, &cached, E));
    EACH_BAD(compute_device, compute_device_status(h, E));
    EACH_BAD(compute_device, compute_device_set_queues(h, 1, E));
    EACH_BAD(compute_device, compute_device_lock(h, E));
    EACH_BAD(compute_device, compute_device_unlock(h, E));
    EACH_BAD(compute_device, compute_device_memory_usage(h, &usage, E));
    EACH_BAD(compute_device, compute_device_cleanup(h, E));
    EACH_BAD(compute_device, compute_device_compile_queued(h, E));
    uint32_t grid[3], width;
    size_t count;
    EACH_BAD(compute_device, compute_device_spread_workgroups(h, 1, 0, grid, &number, E));
    number = 0;
    EACH_BAD(compute_device, compute_device_get_workgroup_size(h, 1, &width, E));
    EACH_BAD(compute_device, compute_device_get_vector_widths(h, 4, &width, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_spread_workgroups(device, 1, 2, grid, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_spread_workgroups(device, 1, 0, NULL, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_get_workgroup_size(device, 1, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_get_vector_widths(device, 0, &width, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_get_vector_widths(device, 4, NULL, 1, &count, E));
    EACH_BAD(compute_device, compute_device_inject_fault(h, 1, COMPUTE_FAULT_ERROR, E));
    EACH_BAD(compute_device, compute_device_fault_calls(h, &number, E));
    EACH_BAD(compute_device, compute_stream_create(h, NULL, &out_stream, E));
    uint32_t straight = 0;
    EACH_BAD(compute_device, compute_device_reaches(h, device, &straight, E));
    EACH_BAD(compute_device, compute_device_reaches(device, h, &straight, E));
    EACH_BAD(compute_device, compute_buffer_create(h, &desc, &out_buffer, E));
    static uint32_t words[16] __attribute__((aligned(64)));
    compute_import_desc imported = COMPUTE_IMPORT_DESC_INIT;
    imported.kind = COMPUTE_NATIVE_ADDRESS;
    imported.handle = (uint64_t)(uintptr_t)words;
    imported.size = sizeof words;
    imported.access = COMPUTE_ACCESS_READ_WRITE;
    EACH_BAD(compute_device, compute_buffer_import(h, &imported, &out_buffer, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_import(device, NULL, &out_buffer, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_import(device, &imported, NULL, E));
    EACH_BAD(compute_device, compute_kernel_create(h, &source, &out_kernel, E));
    CHECK(!out_stream && !out_buffer && !out_kernel && !number);
    for (size_t i = 0; i < BAD_HANDLES; i++) compute_device_release((compute_device)bad_handles[i]);
}

static void bad_streams(void)
{
    compute_stream stale = make_stream(device);
    compute_stream_release(stale);
    const void *others[] = { device, buffer, kernel, event, error_object };
    gather_bad_handles(stale, others, COUNT_OF(others));
    compute_buffer in = make_buffer(device, 64, "in"), out = make_buffer(device, 64, "out");
    compute_view view = whole(in), to = whole(out);
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, 2);
    compute_event out_event = NULL;
    unsigned char bytes[64] = { 0 };
    EACH_BAD(compute_stream, compute_stream_retain(h, E));
    EACH_BAD(compute_stream, compute_stream_destroy(h, E));
    EACH_BAD(compute_stream, compute_stream_launch(h, &desc, E));
    EACH_BAD(compute_stream, compute_stream_write(h, &to, bytes, 64, E));
    EACH_BAD(compute_stream, compute_stream_write_borrowed(h, &to, bytes, 64, &out_event, E));
    EACH_BAD(compute_stream, compute_stream_read(h, &view, bytes, 64, E));
    EACH_BAD(compute_stream, compute_stream_read_async(h, &view, bytes, 64, &out_event, E));
    EACH_BAD(compute_stream, compute_stream_copy(h, &view, &to, E));
    EACH_BAD(compute_stream, compute_stream_copy_between(h, &view, stream, &to, E));
    EACH_BAD(compute_stream, compute_stream_copy_between(stream, &view, h, &to, E));
    EACH_BAD(compute_stream, compute_stream_fill(h, &to, bytes, 4, E));
    compute_strided_desc word = COMPUTE_STRIDED_DESC_INIT;
    compute_readback out_readback = NULL;
    word.element_size = 4;
    EACH_BAD(compute_stream, compute_stream_write_strided(h, &to, &word, bytes, 64, E));
    EACH_BAD(compute_stream, compute_stream_write_strided_borrowed(h, &to, &word, bytes, 64, &out_event, E));
    EACH_BAD(compute_stream, compute_stream_read_strided_lazy(h, &view, &word, &out_readback, E));
    EACH_BAD(compute_stream, compute_stream_read_strided(h, &view, &word, bytes, 64, E));
    EACH_BAD(compute_stream, compute_stream_read_strided_async(h, &view, &word, bytes, 64, &out_event, E));
    EACH_BAD(compute_stream, compute_stream_copy_strided(h, &view, &to, &word, E));
    EACH_BAD(compute_stream, compute_stream_read_lazy(h, &view, &out_readback, E));
    const void *read = NULL;
    void *pointer = NULL;
    EACH_BAD(compute_readback, compute_readback_retain(h, E));
    EACH_BAD(compute_readback, compute_readback_destroy(h, E));
    EACH_BAD(compute_readback, compute_readback_start(h, &out_event, E));
    EACH_BAD(compute_readback, compute_readback_get(h, &read, NULL, E));
    EACH_BAD(compute_mapping, compute_mapping_retain(h, E));
    EACH_BAD(compute_mapping, compute_mapping_destroy(h, E));
    EACH_BAD(compute_mapping, compute_mapping_get_pointer(h, &pointer, NULL, E));
    EACH_BAD(compute_mapping, compute_mapping_acquire(h, 0, 1, COMPUTE_ACCESS_READ, 0, E));
    EACH_BAD(compute_mapping, compute_mapping_flush(h, 0, 1, E));
    compute_native_info native = COMPUTE_NATIVE_INFO_INIT;
    EACH_BAD(compute_stream, compute_stream_export(h, &view, COMPUTE_ACCESS_READ, &native, E));
    EACH_BAD(compute_stream, compute_stream_wait_native(h, COMPUTE_NATIVE_CUDA_EVENT, 1, E));
    EACH_BAD(compute_stream, compute_stream_record_native(h, COMPUTE_NATIVE_HIP_EVENT, 1, E));
    for (size_t i = 0; i < BAD_HANDLES; i++) {
        compute_readback_release((compute_readback)bad_handles[i]);
        compute_mapping_release((compute_mapping)bad_handles[i]);
    }
    size_t pools = 0;
    compute_pool_desc pool = { COMPUTE_POOL_EXCLUSIVE, 0, 100, 0, 0, 0 };
    EACH_BAD(compute_stream, compute_stream_cleanup(h, E));
    EACH_BAD(compute_stream, compute_stream_set_budget(h, NULL, E));
    compute_budget_info budget = COMPUTE_BUDGET_INFO_INIT;
    EACH_BAD(compute_budget, compute_budget_retain(h, E));
    EACH_BAD(compute_budget, compute_budget_destroy(h, E));
    EACH_BAD(compute_budget, compute_budget_get_info(h, &budget, E));
    for (size_t i = 0; i < BAD_HANDLES; i++) compute_budget_release((compute_budget)bad_handles[i]);
    EACH_BAD(compute_stream, compute_stream_memory_report(h, NULL, 0, 0, &pools, E));
    EACH_BAD(compute_stream, compute_stream_set_pools(h, &pool, 1, 0, E));
    EACH_BAD(compute_stream, compute_stream_begin_dry_run(h, E));
    EACH_BAD(compute_stream, compute_stream_end_dry_run(h, E));
    EACH_BAD(compute_stream, compute_stream_get_plan(h, &pool, 0, 1, &pools, E));
    EACH_BAD(compute_stream, compute_stream_freeze_pools(h, 1, E));
    EACH_BAD(compute_stream, compute_stream_compact(h, NULL, E));
    EACH_BAD(compute_stream, compute_stream_set_scratch_limit(h, 1, E));
    EACH_BAD(compute_stream, compute_stream_record(h, &out_event, E));
    EACH_BAD(compute_stream, compute_stream_wait_event(h, event, E));
    EACH_BAD(compute_stream, compute_stream_flush(h, E));
    EACH_BAD(compute_stream, compute_stream_sync(h, NULL, 0, 0, 0, E));
    for (size_t i = 0; i < BAD_HANDLES; i++) compute_stream_release((compute_stream)bad_handles[i]);
    compute_buffer_release(in);
    compute_buffer_release(out);
}

static void bad_buffers(void)
{
    compute_buffer stale = make_buffer(device, 16, "stale");
    OK(compute_buffer_retain(stale, E));
    OK(compute_buffer_destroy(stale, E));
    const void *others[] = { device, stream, kernel, event, error_object };
    gather_bad_handles(stale, others, COUNT_OF(others));
    compute_buffer good = make_buffer(device, 64, "good");
    compute_view to = whole(good);
    unsigned char bytes[64] = { 0 };
    uint64_t number = 0;
    EACH_BAD(compute_buffer, compute_buffer_retain(h, E));
    EACH_BAD(compute_buffer, compute_buffer_destroy(h, E));
    EACH_BAD(compute_buffer, compute_buffer_get_size(h, &number, E));
    EACH_BAD(compute_buffer, compute_buffer_get_id(h, &number, E));
    for (size_t i = 0; i < BAD_HANDLES; i++) {
        compute_buffer h = (compute_buffer)bad_handles[i];
        compute_view view = range(h, 0, 64);
        compute_view two[2] = { to, view };
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_check(two, 2, 0, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_reinstate(&view, 1, &number, E));
        compute_native_info native = COMPUTE_NATIVE_INFO_INIT;
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_export(stream, &view, COMPUTE_ACCESS_READ, &native, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_written(&view, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_write(stream, &view, bytes, 64, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_read(stream, &view, bytes, 64, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_copy(stream, &view, &to, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_copy(stream, &to, &view, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_copy_between(stream, &view, stream, &to, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_copy_between(stream, &to, stream, &view, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_fill(stream, &view, bytes, 4, E));
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_sync(stream, &view, 1, 0, 0, E));
        compute_binding bindings[2] = { bind(0, h), bind(1, good) };
        compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, 2);
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_launch(stream, &desc, E));
        if (h) {
            compute_binding fine[2] = { bind(0, buffer), bind(1, good) };
            desc = launch_desc(kernel, 1, 1, 1, fine, 2);
            desc.indirect = range(h, 0, 12);
            BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_launch(stream, &desc, E));
        }
        compute_buffer_release(h);
    }
    compute_buffer_release(good);
}

static void bad_kernels_and_events(void)
{
    compute_kernel stale = make_kernel(device, INCREMENT);
    compute_kernel_release(stale);
    const void *others[] = { device, stream, buffer, event, error_object };
    gather_bad_handles(stale, others, COUNT_OF(others));
    compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
    compute_binding_info binding = COMPUTE_BINDING_INFO_INIT;
    compute_override_info constant = COMPUTE_OVERRIDE_INFO_INIT;
    uint32_t index = 0;
    EACH_BAD(compute_kernel, compute_kernel_retain(h, E));
    EACH_BAD(compute_kernel, compute_kernel_destroy(h, E));
    EACH_BAD(compute_kernel, compute_kernel_get_info(h, &info, E));
    EACH_BAD(compute_kernel, compute_kernel_get_binding(h, 0, &binding, E));
    EACH_BAD(compute_kernel, compute_kernel_get_override(h, 0, &constant, E));
    EACH_BAD(compute_kernel, compute_kernel_find_binding(h, "I", 1, &index, E));
    EACH_BAD(compute_kernel, compute_kernel_poll(h, E));
    EACH_BAD(compute_kernel, compute_kernel_wait(h, 1, E));
    for (size_t i = 0; i < BAD_HANDLES; i++) {
        compute_launch_desc desc = launch_desc((compute_kernel)bad_handles[i], 1, 1, 1, NULL, 0);
        BAD(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_launch(stream, &desc, E));
        compute_kernel_release((compute_kernel)bad_handles[i]);
    }

    compute_event old = NULL;
    OK(compute_stream_record(stream, &old, E));
    OK(compute_event_destroy(old, E));
    const void *no_events[] = { device, stream, buffer, kernel, error_object };
    gather_bad_handles(old, no_events, COUNT_OF(no_events));
    uint64_t time = 0;
    size_t which = 0;
    int32_t fd = 0;
    EACH_BAD(compute_event, compute_event_retain(h, E));
    EACH_BAD(compute_event, compute_event_destroy(h, E));
    EACH_BAD(compute_event, compute_event_poll(h, E));
    EACH_BAD(compute_event, compute_event_wait(h, 0, E));
    EACH_BAD(compute_event, compute_event_get_time(h, &time, E));
    EACH_BAD(compute_event, compute_event_get_fd(h, &fd, E));
    EACH_BAD(compute_event, compute_events_wait_any(&h, 1, 0, &which, E));
    EACH_BAD(compute_event, compute_events_wait_all(&h, 1, 0, E));
    EACH_BAD(compute_event, compute_stream_wait_event(stream, h, E));
    CHECK_EQ(fd, -1);
    for (size_t i = 0; i < BAD_HANDLES; i++) compute_event_release((compute_event)bad_handles[i]);
}

static void bad_errors(void)
{
    compute_error stale = NULL;
    CHECK(compute_device_status(NULL, &stale) < 0);
    compute_error_release(stale);
    const void *others[] = { device, stream, buffer, kernel, event };
    gather_bad_handles(stale, others, COUNT_OF(others));
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    compute_chain_entry entry = COMPUTE_CHAIN_ENTRY_INIT;
    compute_error out = NULL;
    char text[16];
    for (size_t i = 0; i < BAD_HANDLES; i++) {
        compute_error h = (compute_error)bad_handles[i];
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_retain(h));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_get_info(h, &info));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_message(h, text, sizeof text, NULL));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_label(h, text, sizeof text, NULL));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_kernel(h, text, sizeof text, NULL));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_driver_name(h, text, sizeof text, NULL));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_format(h, COMPUTE_FORMAT_TEXT, text, sizeof text, NULL));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_root(h, &out));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_chain(h, 0, &entry));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_member(h, 0, &out));
        BAD_PLAIN(COMPUTE_ERROR_INVALID_HANDLE, compute_error_diagnostic(h, 0, NULL, NULL, text, sizeof text, NULL));
        compute_error_release(h);
    }
    BAD_PLAIN(COMPUTE_ERROR_INVALID_ENUM, compute_error_format(error_object, 2, text, sizeof text, NULL));
    BAD_PLAIN(COMPUTE_ERROR_INVALID_ARGUMENT, compute_error_message(error_object, NULL, 16, NULL));
    BAD_PLAIN(COMPUTE_INCOMPLETE, compute_error_message(error_object, text, 1, NULL));
    CHECK_EQ(text[0], 0);
    BAD_PLAIN(COMPUTE_INCOMPLETE, compute_error_message(error_object, text, 0, NULL));
    BAD_PLAIN(COMPUTE_ERROR_INVALID_ARGUMENT, compute_error_root(error_object, NULL));
    BAD_PLAIN(COMPUTE_ERROR_INVALID_ARGUMENT, compute_error_member(error_object, 0, NULL));
    BAD_PLAIN(COMPUTE_ERROR_OUT_OF_RANGE, compute_error_member(error_object, 0, &out));
    BAD_PLAIN(COMPUTE_ERROR_OUT_OF_RANGE, compute_error_diagnostic(error_object, 0, NULL, NULL, NULL, 0, NULL));
    BAD_PLAIN(COMPUTE_ERROR_OUT_OF_RANGE, compute_error_chain(error_object, 0, &entry));
    BAD_PLAIN(COMPUTE_ERROR_OUT_OF_RANGE, compute_error_chain(error_object, UINT32_MAX, &entry));
    BAD_PLAIN(COMPUTE_ERROR_INVALID_ARGUMENT, compute_error_get_info(error_object, NULL));
}

/* ---- arguments ---- */

static void bad_library_calls(void)
{
    compute_table table;
    size_t needed = 0;
    BAD(COMPUTE_ERROR_ABI, compute_check_abi(COMPUTE_ABI + 1, E));
    BAD(COMPUTE_ERROR_ABI, compute_check_abi(0, E));
    BAD(COMPUTE_ERROR_ABI, compute_get_table(COMPUTE_ABI + 1, &table, sizeof table, &needed, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_get_table(COMPUTE_ABI, NULL, sizeof table, &needed, E));
    BAD(COMPUTE_ERROR_INVALID_STRUCT, compute_get_table(COMPUTE_ABI, &table, 1, &needed, E));
    BAD(COMPUTE_ERROR_INVALID_STRUCT, compute_get_table(COMPUTE_ABI, &table, SIZE_MAX, &needed, E));
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_log_set(NULL, NULL, 99, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_drivers_report(NULL, 1, &needed, E));
    CHECK(strcmp(compute_status_name(-12345), "COMPUTE_ERROR_UNKNOWN") == 0);
    CHECK(strcmp(compute_status_name(INT32_MIN), "COMPUTE_ERROR_UNKNOWN") == 0);
    CHECK(strcmp(compute_status_name(-399), "COMPUTE_ERROR_UNKNOWN_DEVICE") == 0);
    CHECK(strcmp(compute_status_name(INT32_MAX), "COMPUTE_UNKNOWN") == 0);
}

static void bad_device_calls(void)
{
    size_t count = 7;
    compute_device out = NULL;
    compute_device_info info = COMPUTE_DEVICE_INFO_INIT;
    compute_list_desc list = COMPUTE_LIST_DESC_INIT;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(NULL, &info, 0, 1, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(NULL, NULL, 0, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(NULL, &info, 8, 1, &count, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(NULL, &info, SIZE_MAX, SIZE_MAX, &count, E));
    list.backend = "no such thing";
    list.backend_length = COMPUTE_NUL_TERMINATED;
    BAD(COMPUTE_ERROR_NO_DEVICE, compute_devices_list(&list, NULL, 0, 0, &count, E));
    list.backend = "\xff";
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_devices_list(&list, NULL, 0, 0, &count, E));
    list.backend = NULL;
    list.backend_length = 3;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(&list, NULL, 0, 0, &count, E));
    list.backend_length = 0;
    list.reserved = 1;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(&list, NULL, 0, 0, &count, E));
    list.reserved = 0;
    list.next = &list;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(&list, NULL, 0, 0, &count, E));

    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(NULL, &out, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, NULL, E));
    desc.index = 1000;
    BAD(COMPUTE_ERROR_NO_DEVICE, compute_device_open(&desc, &out, E));
    desc.index = UINT32_MAX;
    BAD(COMPUTE_ERROR_NO_DEVICE, compute_device_open(&desc, &out, E));
    desc.index = 0;
    desc.backend = "nothing";
    desc.backend_length = 7;
    BAD(COMPUTE_ERROR_NO_DEVICE, compute_device_open(&desc, &out, E));
    desc.backend = "cpu";
    desc.backend_length = 3;
    desc.exact_target = "z80";
    desc.exact_target_length = COMPUTE_NUL_TERMINATED;
    BAD(COMPUTE_ERROR_TARGET, compute_device_open(&desc, &out, E));
    desc.exact_target = NULL;
    desc.flags = UINT64_C(1) << 63;
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_device_open(&desc, &out, E));
    desc.flags = 0;
    desc.label = "caf\xc3";
    desc.label_length = 4;
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_device_open(&desc, &out, E));
    desc.label_length = SIZE_MAX / 2;
    BAD(COMPUTE_ERROR_LIMIT, compute_device_open(&desc, &out, E));
    desc.label = NULL;
    desc.label_length = 1;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &out, E));
    desc.label_length = 0;
    desc.queues = UINT32_MAX;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &out, E));
    desc.queues = 0;
    compute_fault_desc fault = COMPUTE_FAULT_DESC_INIT;
    desc.next = &fault;
    fault.kind = 77;
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_device_open(&desc, &out, E));
    fault.kind = COMPUTE_CHAINED_FAULT;
    fault.how = 77;
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_device_open(&desc, &out, E));
    fault.how = 0;
    fault.reserved = 1;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &out, E));
    fault.reserved = 0;
    fault.next = &fault;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &out, E));
    fault.next = NULL;
    fault.struct_size = 8;
    BAD(COMPUTE_ERROR_INVALID_STRUCT, compute_device_open(&desc, &out, E));
    CHECK(out == NULL);

    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_get_info(device, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_cache_info(device, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_memory_usage(device, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_set_queues(device, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_set_queues(device, UINT32_MAX, E));
    BAD(COMPUTE_ERROR_BUSY, compute_device_unlock(device, E));
    BAD(COMPUTE_ERROR_UNSUPPORTED, compute_device_inject_fault(device, 1, COMPUTE_FAULT_ERROR, E));
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_device_inject_fault(device, 1, 99, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_fault_calls(device, NULL, E));
    uint64_t number;
    BAD(COMPUTE_ERROR_UNSUPPORTED, compute_device_fault_calls(device, &number, E));
}

static void bad_buffer_calls(void)
{
    compute_buffer out = NULL;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_create(device, NULL, &out, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_create(device, &desc, NULL, E));
    desc.size = UINT64_MAX;
    BAD(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &out, E));
    desc.size = INT64_MAX;
    BAD(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &out, E));
    desc.size = UINT64_C(1) << 62;
    BAD(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &out, E));
    desc.size = 4;
    desc.flags = UINT64_C(1) << 40;
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_buffer_create(device, &desc, &out, E));
    desc.flags = 0;
    desc.label = "\x80";
    desc.label_length = 1;
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_buffer_create(device, &desc, &out, E));
    desc.label_length = 1 << 20;
    BAD(COMPUTE_ERROR_LIMIT, compute_buffer_create(device, &desc, &out, E));
    desc.label = NULL;
    desc.label_length = 0;
    desc.reserved = 1;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_create(device, &desc, &out, E));
    desc.reserved = 0;
    desc.next = &desc;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_create(device, &desc, &out, E));
    CHECK(out == NULL);

    compute_view view = whole(buffer), beyond[] = { range(buffer, 1025, 0), range(buffer, 1, 1024), range(buffer, UINT64_MAX, 1), range(buffer, UINT64_MAX, COMPUTE_WHOLE), range(buffer, 512, UINT64_MAX - 1) };
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_check(&beyond[i], 1, 0, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_reinstate(&beyond[i], 1, NULL, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_written(&beyond[i], E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_sync(stream, &beyond[i], 1, 0, 0, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read(stream, &beyond[i], &out, 1, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write(stream, &beyond[i], &out, 1, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_fill(stream, &beyond[i], &out, 1, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &beyond[i], &view, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &view, &beyond[i], E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy_between(stream, &beyond[i], stream, &view, E));
        BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy_between(stream, &view, stream, &beyond[i], E));
    }
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_check(NULL, 1, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_check(&view, 2, 8, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_check(&view, SIZE_MAX, 0, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_check(&view, SIZE_MAX / 24, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_check(&view, 3, SIZE_MAX / 2, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_reinstate(NULL, 1, NULL, E));
    fill_words(stream, buffer, 1);
    BAD(COMPUTE_ERROR_NOT_FOUND, compute_reinstate(&view, 1, NULL, E));
    BAD(COMPUTE_ERROR_NOT_FOUND, compute_reinstate(&view, UINT64_MAX, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_get_size(buffer, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_get_id(buffer, NULL, E));
}

static void bad_kernel_calls(void)
{
    compute_kernel out = NULL;
    compute_kernel_desc desc = kernel_desc(INCREMENT, "");
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_create(device, NULL, &out, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_create(device, &desc, NULL, E));
    const compute_kernel_desc good = desc;
#define WRONG(code, change)                                                   \
    do {                                                                      \
        desc = good;                                                          \
        change;                                                               \
        BAD(code, compute_kernel_create(device, &desc, &out, E));             \
    } while (0)
    compute_constant constant = { "nothing", COMPUTE_NUL_TERMINATED, 1.0, COMPUTE_CONSTANT_VALUE, 0 };
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.language = 4);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.language = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.bounds = 3);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.compile = 3);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.source = NULL);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, (desc.source = NULL, desc.source_length = 0));
    WRONG(COMPUTE_ERROR_LIMIT, desc.source_length = SIZE_MAX - 1);
    WRONG(COMPUTE_ERROR_LIMIT, desc.source_length = SIZE_MAX / 2 + 1);
    WRONG(COMPUTE_ERROR_INVALID_UTF8, (desc.source = "\xc3\x28", desc.source_length = 2));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.source = "", desc.source_length = 0));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.source = "fn main() {}", desc.source_length = 12));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.source = "@compute @workgroup_size(1) fn main() { nonsense }", desc.source_length = COMPUTE_NUL_TERMINATED));
    WRONG(COMPUTE_ERROR_COMPILE, desc.source_length = 40);
    WRONG(COMPUTE_ERROR_COMPILE, (desc.entry = "elsewhere", desc.entry_length = 9));
    WRONG(COMPUTE_ERROR_INVALID_UTF8, (desc.entry = "\xff", desc.entry_length = 1));
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.entry_length = 1);
    WRONG(COMPUTE_ERROR_INVALID_UTF8, (desc.label = "\xff", desc.label_length = 1));
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.next = &desc);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.constant_count = 1);
    WRONG(COMPUTE_ERROR_LIMIT, (desc.constants = &constant, desc.constant_count = SIZE_MAX));
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, (desc.constants = &constant, desc.constant_count = 2, desc.constant_stride = 1));
    WRONG(COMPUTE_ERROR_COMPILE, (desc.constants = &constant, desc.constant_count = 1));
    constant.name = NULL;
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, (desc.constants = &constant, desc.constant_count = 1));
    constant.name_length = 0;
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, (desc.constants = &constant, desc.constant_count = 1));
    WRONG(COMPUTE_ERROR_LIMIT, (desc.source = "@compute @workgroup_size(2048) fn main() {}", desc.source_length = COMPUTE_NUL_TERMINATED));
#undef WRONG
    CHECK(out == NULL);

    compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
    compute_binding_info binding = COMPUTE_BINDING_INFO_INIT;
    compute_override_info constant_info = COMPUTE_OVERRIDE_INFO_INIT;
    uint32_t index;
    OK(compute_kernel_get_info(kernel, &info, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_get_info(kernel, NULL, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_kernel_get_binding(kernel, info.binding_count, &binding, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_kernel_get_binding(kernel, UINT32_MAX, &binding, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_get_binding(kernel, 0, NULL, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_kernel_get_override(kernel, 0, &constant_info, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_get_override(kernel, 0, NULL, E));
    BAD(COMPUTE_ERROR_NOT_FOUND, compute_kernel_find_binding(kernel, "nobody", 6, &index, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_find_binding(kernel, "I", 1, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_find_binding(kernel, NULL, 0, &index, E));
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_kernel_find_binding(kernel, "\xff", 1, &index, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_kernel_find_binding(kernel, "I", SIZE_MAX - 1, &index, E));
}

static void bad_stream_calls(void)
{
    compute_stream out = NULL;
    compute_event out_event = NULL;
    compute_stream_desc desc = COMPUTE_STREAM_DESC_INIT;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_create(device, &desc, NULL, E));
    desc.label = "\xe0";
    desc.label_length = 1;
    BAD(COMPUTE_ERROR_INVALID_UTF8, compute_stream_create(device, &desc, &out, E));
    desc.label = NULL;
    desc.label_length = 0;
    desc.reserved = 9;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_create(device, &desc, &out, E));
    desc.reserved = 0;
    desc.next = &desc;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_create(device, &desc, &out, E));

    unsigned char bytes[1024] = { 0 };
    compute_view view = whole(buffer), foreign = whole(other_buffer), half = range(buffer, 0, 512), middle = range(buffer, 256, 512);
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, NULL, bytes, 1024, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, NULL, 1024, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write(stream, &view, bytes, 1023, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write(stream, &half, bytes, 1024, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, bytes, UINT64_MAX, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, bytes, UINT64_MAX - 1, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, bytes, UINT64_C(1) << 63, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_write(stream, &foreign, bytes, 1024, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_borrowed(stream, &view, bytes, 1024, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_borrowed(stream, NULL, bytes, 1024, &out_event, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_borrowed(stream, &view, NULL, 1024, &out_event, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write_borrowed(stream, &view, bytes, 1, &out_event, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read(stream, NULL, bytes, 1024, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read(stream, &view, NULL, 1024, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read(stream, &view, bytes, 1, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read(stream, &view, bytes, UINT64_MAX, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_read(stream, &foreign, bytes, 1024, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_async(stream, &view, bytes, 1024, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_async(stream, NULL, bytes, 1024, &out_event, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy(stream, NULL, &view, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy(stream, &view, NULL, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &view, &half, E));
    BAD(COMPUTE_ERROR_OVERLAP, compute_stream_copy(stream, &half, &middle, E));
    BAD(COMPUTE_ERROR_OVERLAP, compute_stream_copy(stream, &half, &half, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy(stream, &foreign, &view, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy(stream, &view, &foreign, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_reaches(device, device, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy_between(stream, NULL, stream, &view, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy_between(stream, &view, stream, NULL, E));
    BAD(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy_between(stream, &view, stream, &half, E));
    BAD(COMPUTE_ERROR_OVERLAP, compute_stream_copy_between(stream, &half, stream, &middle, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy_between(stream, &foreign, stream, &view, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy_between(stream, &view, stream, &foreign, E));
    static const uint64_t wrong_sizes[] = { 0, 3, 5, 32, UINT64_MAX, UINT64_MAX - 1 };
    for (size_t i = 0; i < COUNT_OF(wrong_sizes); i++) BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_fill(stream, &view, bytes, wrong_sizes[i], E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_fill(stream, &view, NULL, 4, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_fill(stream, NULL, bytes, 4, E));
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_fill(stream, &foreign, bytes, 4, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_record(stream, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_sync(stream, NULL, 1, 0, 0, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_stream_sync(stream, &view, SIZE_MAX, 0, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_sync(stream, &view, 2, 7, 0, E));
    compute_stream foreign_stream = make_stream(other_device);
    BAD(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_wait_event(foreign_stream, event, E));
    compute_stream_release(foreign_stream);

    size_t index;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_events_wait_any(NULL, 0, 0, &index, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_events_wait_any(NULL, 1, 0, &index, E));
    index = 7;
    BAD(COMPUTE_ERROR_LIMIT, compute_events_wait_any(&event, SIZE_MAX, 0, &index, E));
    CHECK(index == SIZE_MAX);
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_events_wait_all(NULL, 2, 0, E));
    BAD(COMPUTE_ERROR_LIMIT, compute_events_wait_all(&event, SIZE_MAX / 8, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_event_on_complete(event, NULL, NULL, 0, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_event_get_fd(event, NULL, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_event_get_time(event, NULL, E));
    CHECK(!out && !out_event);
}

static void never(void *user, compute_status status, compute_error error)
{
    (void)user, (void)status, (void)error;
    abort();
}

static void bad_launches(void)
{
    compute_buffer in = make_buffer(device, 1024, "in"), out = make_buffer(device, 1024, "out");
    compute_kernel adder = make_kernel(device, ADD);
    compute_kernel foreign_kernel = make_kernel(other_device, INCREMENT);
    uint32_t amount[64] = { 3 };
    const compute_binding good[4] = { bind(0, in), bind(1, out), bind_bytes(2, amount, 16), bind(1, out) };
    compute_binding bindings[4];
    compute_launch_desc desc;
    compute_tensor_map_desc tensor = COMPUTE_TENSOR_MAP_DESC_INIT;
    tensor.element = COMPUTE_ELEMENT_U32;
    fill_words(stream, in, 1);
#define WRONG(code, change)                                             \
    do {                                                                \
        memcpy(bindings, good, sizeof good);                            \
        desc = launch_desc(adder, 4, 1, 1, bindings, 3);                \
        change;                                                         \
        BAD(code, compute_stream_launch(stream, &desc, E));             \
    } while (0)
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_launch(stream, NULL, E));
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.mode = 3);
    WRONG(COMPUTE_ERROR_INVALID_ENUM, desc.mode = UINT32_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.reserved = 1);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.next = &desc);
    WRONG(COMPUTE_ERROR_FOREIGN_HANDLE, desc.kernel = foreign_kernel);
    WRONG(COMPUTE_ERROR_LIMIT, desc.grid[0] = UINT32_MAX);
    WRONG(COMPUTE_ERROR_LIMIT, desc.grid[1] = UINT32_MAX);
    WRONG(COMPUTE_ERROR_LIMIT, desc.grid[2] = UINT32_MAX);
    WRONG(COMPUTE_ERROR_BINDING, desc.binding_count = 0);
    WRONG(COMPUTE_ERROR_BINDING, desc.binding_count = 2);
    WRONG(COMPUTE_ERROR_BINDING, desc.binding_count = 4);
    WRONG(COMPUTE_ERROR_LIMIT, desc.binding_count = SIZE_MAX);
    WRONG(COMPUTE_ERROR_LIMIT, desc.binding_count = SIZE_MAX / sizeof *bindings);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.bindings = NULL);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.binding_stride = 8);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.binding_stride = SIZE_MAX - 7);
    WRONG(COMPUTE_ERROR_BINDING, bindings[0].slot = 9);
    WRONG(COMPUTE_ERROR_BINDING, bindings[0].group = 1);
    WRONG(COMPUTE_ERROR_BINDING, bindings[0].group = UINT32_MAX);
    WRONG(COMPUTE_ERROR_FOREIGN_HANDLE, bindings[0].buffer = other_buffer);
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, bindings[0].offset = 1028);
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, bindings[0].size = 1025);
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, (bindings[0].offset = UINT64_MAX, bindings[0].size = UINT64_MAX - 1));
    WRONG(COMPUTE_ERROR_BINDING, bindings[0].size = 0);
    WRONG(COMPUTE_ERROR_BINDING, bindings[0].size = 3);
    WRONG(COMPUTE_ERROR_MISALIGNED, bindings[0].offset = 2);
    WRONG(COMPUTE_ERROR_OVERLAP, bindings[0].buffer = out);
    WRONG(COMPUTE_ERROR_OVERLAP, (bindings[0] = bind_range(0, out, 0, 516), bindings[1] = bind_range(1, out, 512, 512)));
    WRONG(COMPUTE_ERROR_INVALID_ENUM, bindings[1].flags = 4);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, bindings[1].flags = COMPUTE_BINDING_FLAG_TENSOR_MAP);
    WRONG(COMPUTE_ERROR_INVALID_STRUCT, (bindings[1].flags = COMPUTE_BINDING_FLAG_TENSOR_MAP, bindings[1].data = amount));
    WRONG(COMPUTE_ERROR_BINDING, (bindings[1].flags = COMPUTE_BINDING_FLAG_TENSOR_MAP, bindings[1].data = &tensor));
    WRONG(COMPUTE_ERROR_BINDING, bindings[0] = bind_bytes(0, amount, 16));
    WRONG(COMPUTE_ERROR_BINDING, bindings[2].data_size = 15);
    WRONG(COMPUTE_ERROR_BINDING, bindings[2].data_size = 32);
    WRONG(COMPUTE_ERROR_LIMIT, bindings[2].data_size = UINT64_MAX);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, bindings[2].data = NULL);
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, bindings[2].buffer = in);
    WRONG(COMPUTE_ERROR_BINDING, (desc.immediates = amount, desc.immediate_size = 4));
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.immediate_size = 4);
    WRONG(COMPUTE_ERROR_LIMIT, (desc.immediates = amount, desc.immediate_size = UINT64_MAX));
    WRONG(COMPUTE_ERROR_INVALID_UTF8, (desc.label = "\xf8", desc.label_length = 1));
    WRONG(COMPUTE_ERROR_INVALID_ARGUMENT, desc.label_length = 1);
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, desc.indirect = range(in, 0, 8));
    WRONG(COMPUTE_ERROR_OUT_OF_RANGE, desc.indirect = range(in, 1020, 12));
    WRONG(COMPUTE_ERROR_MISALIGNED, desc.indirect = range(in, 2, 12));
    WRONG(COMPUTE_ERROR_OVERLAP, desc.indirect = range(out, 0, 12));
    WRONG(COMPUTE_ERROR_FOREIGN_HANDLE, desc.indirect = range(other_buffer, 0, 12));
#undef WRONG
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_event_on_complete(event, never, NULL, 2, E));
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(adder);
    compute_kernel_release(foreign_kernel);
}

/* KT-08: a barrier in a loop whose count comes from workgroup memory. */
static void a_good_kernel(void)
{
    static const char source[] = IO
        "var<workgroup> acc: array<u32, 64>;\nvar<workgroup> lim: u32;\n"
        "@compute @workgroup_size(64) fn sum(@builtin(local_invocation_index) li: u32) {\n"
        "  acc[li] = I[li];\n  if li == 0u { lim = 32u; }\n  workgroupBarrier();\n"
        "  loop {\n    let s = workgroupUniformLoad(&lim);\n    if s == 0u { break; }\n"
        "    if li < s { acc[li] += acc[li + s]; }\n    workgroupBarrier();\n    if li == 0u { lim /= 2u; }\n  }\n"
        "  if li == 0u { O[0] = acc[0]; }\n}\n";
    compute_buffer in = make_buffer(device, 256, "in"), out = make_buffer(device, 4, "out");
    compute_kernel sum = make_kernel(device, source);
    for (uint32_t i = 0; i < 64; i++) put_word(stream, in, i, i);
    OK(launch_io(stream, sum, "good", in, out, 1));
    CHECK_EQ(get_word(stream, out, 0), 2016);
    OK(compute_device_status(device, E));
}

TEST(ffi_01_hundreds_of_bad_calls_in_one_process_answer_their_codes_and_a_good_kernel_still_runs)
{
    set_up();
    bad_devices();
    bad_streams();
    bad_buffers();
    bad_kernels_and_events();
    bad_errors();
    bad_library_calls();
    bad_device_calls();
    bad_buffer_calls();
    bad_kernel_calls();
    bad_stream_calls();
    bad_launches();
    a_good_kernel();
    printf("  %d bad calls\n", calls);
    CHECK(calls >= 200);
}

/* The same calls with nobody to take the error. */
TEST(ffi_01_bad_calls_without_an_error_pointer_answer_the_same)
{
    set_up();
    CHECK_EQ(compute_device_status((compute_device)(uintptr_t)0xdead, NULL), COMPUTE_ERROR_INVALID_HANDLE);
    CHECK_EQ(compute_stream_launch(stream, NULL, NULL), COMPUTE_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(compute_buffer_create(device, NULL, NULL, NULL), COMPUTE_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(compute_check_abi(77, NULL), COMPUTE_ERROR_ABI);
    compute_list_desc_init(NULL);
    compute_device_desc_init(NULL);
    compute_fault_desc_init(NULL);
    compute_cache_desc_init(NULL);
    compute_stream_desc_init(NULL);
    compute_buffer_desc_init(NULL);
    compute_kernel_desc_init(NULL);
    compute_launch_desc_init(NULL);
    a_good_kernel();
}

TEST(f3_an_error_lives_until_its_last_release_and_can_be_asked_from_any_thread)
{
    compute_error made = NULL, root = NULL;
    CHECK(compute_device_status(NULL, &made) < 0);
    CHECK_EQ(compute_error_retain(made), COMPUTE_OK);
    compute_error_release(made);
    CHECK_EQ(error_info(made).status, COMPUTE_ERROR_INVALID_HANDLE);
    CHECK_EQ(error_info(made).has_root, 0);
    CHECK_EQ(compute_error_root(made, &root), COMPUTE_OK);
    CHECK(root == made);
    compute_error_release(made);
    CHECK_EQ(error_info(root).status, COMPUTE_ERROR_INVALID_HANDLE);
    compute_error_release(root);
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    CHECK_EQ(compute_error_get_info(root, &info), COMPUTE_ERROR_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(ffi_01_hundreds_of_bad_calls_in_one_process_answer_their_codes_and_a_good_kernel_still_runs);
    RUN(ffi_01_bad_calls_without_an_error_pointer_answer_the_same);
    RUN(f3_an_error_lives_until_its_last_release_and_can_be_asked_from_any_thread);
    return finish();
}
