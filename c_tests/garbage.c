/* F1: calls made of odd numbers. Every field that is no pointer takes values from the edges of its range or by chance, handles are good, stale or garbage,
 * pointers point to memory that is there. Whatever that adds up to, the process lives, no bytes come back that nobody wrote, and afterwards a good kernel runs.
 *
 *     garbage [TEST [MILLISECONDS [SEED]]]
 */
#include "rules.h"

enum { BYTES = 1024, ROOM = 8192 };

static uint64_t run_for = 3000 * MILLISECONDS;
static uint32_t seed = 1;
static compute_device device;
static compute_stream stream;
static compute_kernel kernel, add;
static compute_buffer buffers[3], stale;
static compute_event event;
static unsigned char room[ROOM];
static unsigned long statuses[2];

static uint32_t chance(uint32_t n) { return next_random(&seed) % n; }
static uint64_t wide(void) { return (uint64_t)next_random(&seed) << 32 | next_random(&seed); }

static uint64_t odd_number(void)
{
    static const uint64_t edges[] = { 0, 1, 2, 3, 4, 8, 12, 15, 16, 17, 64, 255, 256, 1020, 1023, 1024, 1025, 4096, 65535, 65536, INT32_MAX, UINT32_MAX,
        UINT64_C(1) << 32, UINT64_C(1) << 40, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX };
    switch (chance(4)) {
    case 0: return wide() >> chance(64);
    case 1: return chance(2048);
    default: return edges[chance(COUNT_OF(edges))];
    }
}
static uint32_t small(void) { return chance(8) ? chance(4) : (uint32_t)odd_number(); }
/* How many bytes may be read at `room`, or a length that is refused before anything is read. */
static uint64_t length(void)
{
    switch (chance(6)) {
    case 0: return UINT64_MAX - 1;
    case 1: return (UINT64_C(1) << 56) + 1 + chance(1000);
    default: return chance(ROOM / 2);
    }
}
static void *handle(const void *good)
{
    switch (chance(8)) {
    case 0: return NULL;
    case 1: return (void *)(uintptr_t)wide();
    case 2: return (void *)((uintptr_t)good ^ (uintptr_t)1 << chance(64));
    case 3: return stale;
    case 4: return stream;
    default: return (void *)(uintptr_t)good;
    }
}
static compute_buffer some_buffer(void) { return (compute_buffer)handle(buffers[chance(3)]); }
static compute_view some_view(void)
{
    compute_view view = { some_buffer(), chance(3) ? 4 * chance(BYTES / 4) : odd_number(), chance(3) ? 4 * chance(BYTES / 4) : odd_number() };
    return view;
}
static void noise(void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) ((unsigned char *)bytes)[i] = (unsigned char)next_random(&seed);
}
static void with_label(const char **label, size_t *size)
{
    if (chance(4) == 0) {
        *label = (const char *)room;
        *size = chance(4) ? length() : chance(40);
    }
}

static compute_status odd_launch(void)
{
    compute_binding bindings[4];
    compute_launch_desc desc = COMPUTE_LAUNCH_DESC_INIT;
    for (size_t i = 0; i < COUNT_OF(bindings); i++) {
        compute_view view = some_view();
        compute_binding binding = { chance(9) ? 0 : small(), chance(4) ? (uint32_t)i : small(), view.buffer, view.offset, view.size, NULL, 0, chance(9) ? chance(2) : odd_number() };
        if (i == 2 || chance(9) == 0) {
            binding.data = room;
            binding.data_size = chance(3) ? 16 : length();
            if (chance(3)) binding.buffer = NULL;
        }
        bindings[i] = binding;
    }
    if (chance(30) == 0) desc.struct_size = (uint32_t)odd_number() % (sizeof desc + 1);
    desc.mode = chance(9) ? 0 : small();
    desc.kernel = (compute_kernel)handle(chance(2) ? kernel : add);
    for (int i = 0; i < 3; i++) desc.grid[i] = chance(9) ? chance(5) : (uint32_t)odd_number();
    if (desc.grid[0] > 64 && desc.grid[0] < UINT32_MAX) desc.grid[1] = 1, desc.grid[2] = chance(2), desc.grid[0] %= 100000;
    if (chance(5) == 0) desc.indirect = some_view();
    if (chance(2)) desc.indirect.size = 12;
    if (chance(9) == 0) desc.reserved = small();
    desc.bindings = chance(20) ? bindings : NULL;
    desc.binding_count = chance(9) ? 2 + (desc.kernel == add) : chance(5) ? chance(5) : odd_number() | 65536;
    desc.binding_stride = chance(9) ? 0 : odd_number();
    if (desc.binding_count <= 4 && desc.binding_stride > sizeof *bindings) desc.binding_stride = sizeof *bindings;
    if (chance(9) == 0) desc.immediates = room, desc.immediate_size = length();
    with_label(&desc.label, &desc.label_length);
    return compute_stream_launch((compute_stream)handle(stream), &desc, E);
}

static compute_status odd_kernel(void)
{
    compute_kernel made = NULL;
    char source[sizeof INCREMENT];
    memcpy(source, INCREMENT, sizeof source);
    for (uint32_t n = chance(4); n > 0; n--) source[chance(sizeof source - 1)] = (char)(chance(2) ? INCREMENT[chance(sizeof source - 1)] : (int)chance(256));
    compute_kernel_desc desc = kernel_desc(INCREMENT, "");
    desc.source = source;
    desc.source_length = chance(5) ? sizeof source - 1 : chance(sizeof source);
    desc.bounds = chance(5) ? 0 : small();
    desc.compile = chance(5) ? 0 : small();
    desc.time_limit = chance(5) ? 0 : odd_number();
    with_label(&desc.label, &desc.label_length);
    compute_status status = compute_kernel_create((compute_device)handle(device), &desc, &made, E);
    compute_kernel_release(made);
    return status;
}

static compute_status odd_buffer(void)
{
    compute_buffer made = NULL;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = chance(2) ? odd_number() & 0xfffff : odd_number() | UINT64_C(1) << 50;
    desc.flags = chance(4) ? chance(2) : odd_number();
    with_label(&desc.label, &desc.label_length);
    compute_status status = compute_buffer_create((compute_device)handle(device), &desc, &made, E);
    compute_buffer_release(made);
    return status;
}

/* Strict buffers and failures aside, bytes that come back are 0 (nobody wrote them) or what was written: every write here is of 0x2a. */
static void only_what_was_written(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) CHECK(bytes[i] == 0 || bytes[i] == 0x2a || bytes[i] == 0x2b);
}

static compute_status odd_transfer(void)
{
    compute_stream on = (compute_stream)handle(stream);
    compute_view a = some_view(), b = some_view();
    unsigned char bytes[ROOM], pattern[16];
    compute_event made = NULL;
    compute_status status;
    memset(bytes, 0x2a, sizeof bytes);
    memset(pattern, 0x2a, sizeof pattern);
    if (chance(3)) b.size = a.size;
    uint64_t size = chance(3) && a.size <= BYTES ? a.size : length();
    switch (chance(6)) {
    case 0: return compute_stream_write(on, &a, bytes, size, E);
    case 1: return compute_stream_fill(on, &a, pattern, chance(2) ? UINT64_C(1) << chance(5) : odd_number(), E);
    case 2:
        if (chance(2)) return compute_stream_copy_between((compute_stream)handle(stream), &a, on, &b, E);
        return compute_stream_copy(on, &a, &b, E);
    case 3:
        memset(bytes, 0, sizeof bytes);
        status = compute_stream_read(on, &a, bytes, size, E);
        if (status == COMPUTE_OK) only_what_was_written(bytes, size);
        return status;
    case 4:
        status = compute_stream_write_borrowed(on, &a, bytes, size, &made, E);
        break;
    default: status = compute_stream_read_async(on, &a, bytes, size, &made, E); break;
    }
    if (made) CHECK(compute_event_wait(made, COMPUTE_FOREVER, NULL) <= 0);
    compute_event_release(made);
    return status;
}

static compute_status odd_strided(void)
{
    compute_stream on = (compute_stream)handle(stream);
    compute_view a = some_view(), b = some_view();
    unsigned char bytes[ROOM];
    uint64_t shape[8], size = chance(ROOM + 1);
    int64_t strides[2][8], next[2];
    compute_event made = NULL;
    compute_status status;
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    desc.rank = chance(9) ? chance(4) : small();
    desc.element_size = chance(5) ? 1 + chance(8) : odd_number();
    next[0] = next[1] = (int64_t)desc.element_size;
    for (int i = 7; i >= 0; i--) {
        shape[i] = chance(9) ? chance(6) : odd_number();
        for (int end = 0; end < 2; end++) {
            strides[end][i] = chance(20) ? next[end] : (int64_t)odd_number();
            if (i < (int)desc.rank) next[end] = (int64_t)((uint64_t)strides[end][i] * shape[i]) + (chance(3) ? 0 : chance(8));
        }
    }
    desc.shape = chance(20) ? shape : NULL;
    desc.from_strides = chance(4) ? strides[0] : NULL;
    desc.to_strides = chance(4) ? strides[1] : NULL;
    memset(bytes, 0x2a, sizeof bytes);
    switch (chance(7)) {
    case 0: return compute_stream_write_strided(on, &a, &desc, bytes, size, E);
    case 4:
        status = compute_stream_write_strided_borrowed(on, &a, &desc, bytes, size, &made, E);
        if (made) CHECK(compute_event_wait(made, COMPUTE_FOREVER, NULL) <= 0);
        compute_event_release(made);
        return status;
    case 5: {
        compute_readback readback = NULL;
        const void *read = NULL;
        uint64_t got = 0;
        status = compute_stream_read_strided_lazy(on, &a, &desc, &readback, E);
        if (readback) status = compute_readback_get(readback, &read, &got, E);
        if (read) memcpy(bytes, read, got < ROOM ? got : ROOM);
        compute_readback_release(readback);
        break;
    }
    case 1: return compute_stream_copy_strided(on, &a, &b, &desc, E);
    case 2: status = compute_stream_read_strided(on, &a, &desc, bytes, size, E); break;
    case 3:
        status = compute_stream_read_strided_async(on, &a, &desc, bytes, size, &made, E);
        if (made) CHECK(compute_event_wait(made, COMPUTE_FOREVER, NULL) <= 0);
        compute_event_release(made);
        break;
    default: {
        compute_tensor_desc tensors[2] = { COMPUTE_TENSOR_DESC_INIT, COMPUTE_TENSOR_DESC_INIT };
        compute_tensor_place places[2] = { COMPUTE_TENSOR_PLACE_INIT, COMPUTE_TENSOR_PLACE_INIT };
        for (int i = 0; i < 2; i++) {
            tensors[i].rank = desc.rank;
            tensors[i].shape = desc.shape;
            tensors[i].element_size = chance(5) ? desc.element_size : odd_number();
            tensors[i].arrangement = chance(9) ? chance(2) : small();
        }
        uint64_t alignment = chance(2) ? 0 : odd_number(), total = 0;
        uint64_t count = chance(3);
        /* With two places a stride is either too small and refused, or within `places`. */
        uint64_t stride = chance(9) ? 0 : count > 1 ? chance(sizeof places[0] + 1) : odd_number();
        status = compute_device_layout_tensors((compute_device)handle(device), tensors, count, 0, alignment, places, stride, &total, E);
        CHECK(status != COMPUTE_OK || total >= places[0].size);
        return status;
    }
    }
    only_what_was_written(bytes, sizeof bytes);
    return status;
}

static compute_status odd_shared(void)
{
    static compute_readback readback;
    static compute_mapping mapping;
    compute_view view = some_view();
    const void *read = NULL;
    void *pointer = NULL;
    uint64_t size = 0;
    compute_status status;
    switch (chance(7)) {
    case 0:
        compute_readback_release(readback);
        return compute_stream_read_lazy((compute_stream)handle(stream), &view, &readback, E);
    case 1:
        status = compute_readback_get((compute_readback)handle(readback), &read, &size, E);
        if (status == COMPUTE_OK) only_what_was_written((const unsigned char *)read, size);
        return status;
    case 2:
        compute_mapping_release(mapping);
        return compute_buffer_map(&view, &mapping, E);
    case 3: return compute_mapping_flush((compute_mapping)handle(NULL), odd_number(), odd_number(), E);
    case 4: return compute_mapping_acquire((compute_mapping)handle(mapping), odd_number(), odd_number(), chance(4) ? 1 + chance(3) : small(), odd_number() % 1000, E);
    default:
        if (!mapping) return COMPUTE_OK;
        OK(compute_mapping_get_pointer(mapping, &pointer, &size, E));
        status = compute_mapping_acquire(mapping, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_READ, COMPUTE_FOREVER, E);
        if (status == COMPUTE_OK) only_what_was_written((const unsigned char *)pointer, size);
        OK(compute_mapping_acquire(mapping, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_WRITE, COMPUTE_FOREVER, E));
        memset(pointer, 0x2a, size);
        OK(compute_mapping_flush(mapping, 0, chance((uint32_t)size + 1), E));
        return status;
    }
}

static compute_status odd_question(void)
{
    compute_view views[3] = { some_view(), some_view(), some_view() };
    compute_event events[2] = { (compute_event)handle(event), (compute_event)handle(event) };
    size_t count = chance(8) ? 1 + chance(3) : odd_number() | 1 << 24, index;
    uint64_t number = 0;
    uint32_t which;
    union {
        compute_device_info device;
        compute_kernel_info kernel;
        compute_binding_info binding;
        compute_override_info constant;
        compute_memory_usage usage;
        compute_error_info error;
        compute_chain_entry entry;
        unsigned char bytes[ROOM];
    } info;
    uint32_t info_size = (uint32_t)odd_number();
    memcpy(&info, &info_size, 4);
    compute_error error = (compute_error)handle(last_error);
    char text[64];
    uint32_t grid[3];
    switch (chance(24)) {
    case 0: return compute_check(views, count, 0, E);
    case 1: return compute_stream_sync((compute_stream)handle(stream), views, count, chance(3) ? 0 : 24, odd_number(), E);
    case 2: return compute_reinstate(views, odd_number() & 0xffff, &number, E);
    case 3: return compute_device_get_info((compute_device)handle(device), &info.device, E);
    case 4: return compute_kernel_get_info((compute_kernel)handle(kernel), &info.kernel, E);
    case 5: return compute_kernel_get_binding((compute_kernel)handle(add), small(), &info.binding, E);
    case 6: return compute_kernel_get_override((compute_kernel)handle(add), small(), &info.constant, E);
    case 7: return compute_device_memory_usage((compute_device)handle(device), &info.usage, E);
    case 8: return compute_error_get_info(error, &info.error);
    case 9: return compute_error_chain(error, small(), &info.entry);
    case 10: return compute_error_format(error, small(), text, chance(sizeof text), &index);
    case 11: return compute_error_message(error, text, chance(sizeof text), &index);
    case 12: return compute_event_wait(events[0], odd_number() % 1000, E);
    case 13: return compute_events_wait_any(events, chance(3), odd_number() % 1000, &index, E);
    case 14: return compute_events_wait_all(events, chance(3), odd_number() % 1000, E);
    case 15: return compute_stream_wait_event((compute_stream)handle(stream), events[0], E);
    case 16: return compute_kernel_find_binding((compute_kernel)handle(kernel), (const char *)room, length(), &which, E);
    case 17: return compute_device_set_queues((compute_device)handle(device), small(), E);
    case 18: return compute_check_abi(small(), E);
    case 19: return compute_device_spread_workgroups((compute_device)handle(device), odd_number(), small(), grid, &number, E);
    case 20: return compute_device_get_workgroup_size((compute_device)handle(device), odd_number(), &which, E);
    case 21: return compute_device_get_vector_widths((compute_device)handle(device), small(), grid, chance(4), &index, E);
    case 22: return compute_kernel_wait((compute_kernel)handle(kernel), odd_number() % 1000, E);
    default: return compute_event_poll(events[0], E);
    }
}

TEST(f1_calls_made_of_odd_numbers_neither_crash_nor_hand_out_what_nobody_wrote)
{
    device = open_device();
    stream = make_stream(device);
    kernel = make_kernel(device, INCREMENT);
    add = make_kernel(device, "@group(0) @binding(0) var<storage, read> I: array<u32>;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
                              "@group(0) @binding(2) var<uniform> amount: vec4<u32>;\n"
                              "@compute @workgroup_size(4) fn add(" ID ") { O[id.x] = amount.x * 0u + 0x2a2a2a2au; if I[id.x] == 1u { O[0] = 0u; } }");
    /* The kernel that adds one would make other bytes: here it fills, too. */
    compute_kernel_release(kernel);
    kernel = make_kernel(device, IO "@compute @workgroup_size(4) fn fill(" ID ") { if id.x < arrayLength(&O) && I[0] != 1u { O[id.x] = 0x2a2a2a2au; } }");
    /* Mapped, too, where the device's memory is the host's. */
    uint64_t flags = device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE ? COMPUTE_BUFFER_FLAG_HOST_VISIBLE : 0;
    for (size_t i = 0; i < COUNT_OF(buffers); i++) buffers[i] = make_buffer_with(device, BYTES, "b", flags);
    stale = make_buffer(device, BYTES, "stale");
    OK(compute_buffer_destroy(stale, E));
    OK(compute_stream_record(stream, &event, E));
    for (uint64_t end = now_ns() + run_for; now_ns() < end;) {
        if (chance(16) == 0) noise(room, sizeof room);
        compute_status status = COMPUTE_OK;
        switch (chance(16)) {
        case 0: case 1: case 2: case 3: case 4: status = odd_launch(); break;
        case 5: status = odd_kernel(); break;
        case 6: status = odd_buffer(); break;
        case 7: case 8: status = odd_question(); break;
        case 9: case 10: status = odd_strided(); break;
        case 11: status = odd_shared(); break;
        default: status = odd_transfer(); break;
        }
        CHECK(status != COMPUTE_ERROR_INTERNAL && status != COMPUTE_ERROR_DEVICE_POISONED && status > -600);
        statuses[status < 0]++;
    }
    printf("  %lu calls done, %lu refused\n", statuses[0], statuses[1]);
    CHECK(statuses[0] > 100 && statuses[1] > 100);
    compute_buffer in = make_buffer(device, BYTES, "in"), out = make_buffer(device, BYTES, "out");
    fill_words(stream, in, 41);
    compute_kernel good = make_kernel(device, INCREMENT);
    OK(launch_io(stream, good, "after", in, out, BYTES / 256));
    CHECK_EQ(get_word(stream, out, BYTES / 4 - 1), 42);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (argc > 2) run_for = strtoull(argv[2], NULL, 10) * MILLISECONDS;
    if (argc > 3) seed = (uint32_t)strtoul(argv[3], NULL, 10) | 1;
    RUN(f1_calls_made_of_odd_numbers_neither_crash_nor_hand_out_what_nobody_wrote);
    return finish();
}
