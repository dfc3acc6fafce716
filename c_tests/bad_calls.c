/* FFI-01 and F1: handles that are none, of every kind to every call, and what calls answer that have no error to give. The arguments are in mistakes.c. */
#include "mistakes.h"

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

static void rows(void)
{
    bad_devices();
    bad_streams();
    bad_buffers();
    bad_kernels_and_events();
    bad_errors();
}

TEST(ffi_01_a_thousand_bad_handles_answer_the_same_on_every_device_and_a_good_kernel_still_runs)
{
    on_every_device(rows, 1000);
}

/* The same calls with nobody to take the error. */
TEST(ffi_01_bad_calls_without_an_error_pointer_answer_the_same)
{
    set_up_as(getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu", 0);
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
    RUN(ffi_01_a_thousand_bad_handles_answer_the_same_on_every_device_and_a_good_kernel_still_runs);
    RUN(ffi_01_bad_calls_without_an_error_pointer_answer_the_same);
    RUN(f3_an_error_lives_until_its_last_release_and_can_be_asked_from_any_thread);
    return finish();
}
