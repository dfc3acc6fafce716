/* FFI-01 and F1: arguments that are wrong, of every call. Handles that are none are in bad_calls.c. */
#include "mistakes.h"

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
    list.backend = "cpu";
    list.backend_length = 0;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_devices_list(&list, NULL, 0, 0, &count, E));
    list.backend = NULL;
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
    desc.backend = backend;
    desc.backend_length = 0;
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &out, E));
    desc.backend = "nothing";
    desc.backend_length = 7;
    BAD(COMPUTE_ERROR_NO_DEVICE, compute_device_open(&desc, &out, E));
    desc.backend = backend;
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.exact_target = "z80";
    desc.exact_target_length = COMPUTE_NUL_TERMINATED;
    /* Each says what its own target is. */
    WHERE_CODE(1, COMPUTE_ERROR_TARGET, compute_device_open(&desc, &out, E));
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
    WHERE(!faulty, COMPUTE_ERROR_UNSUPPORTED, compute_device_inject_fault(device, 1, COMPUTE_FAULT_ERROR, E));
    BAD(COMPUTE_ERROR_INVALID_ENUM, compute_device_inject_fault(device, 1, 99, E));
    BAD(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_fault_calls(device, NULL, E));
    uint64_t number;
    WHERE(!faulty, COMPUTE_ERROR_UNSUPPORTED, compute_device_fault_calls(device, &number, E));
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

static void rows(void)
{
    bad_library_calls();
    bad_device_calls();
    bad_buffer_calls();
    bad_kernel_calls();
    bad_stream_calls();
    bad_launches();
}

TEST(ffi_01_the_same_mistake_has_the_same_answer_on_every_device_and_a_good_kernel_still_runs)
{
    on_every_device(rows, 250);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(ffi_01_the_same_mistake_has_the_same_answer_on_every_device_and_a_good_kernel_still_runs);
    return finish();
}
