/* Bytes that the host looks at in place: M8 (lazy readback), M7 and T14 (mapped buffers) with T4, T8, T12 and F7; and zeroed allocation (M7, T1). */
#include "rules.h"

static compute_device device;
static compute_stream stream;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
}
static void set_up(void) { set_up_on(open_device()); }

static int all_are(const void *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (((const unsigned char *)bytes)[i] != value) return 0;
    }
    return 1;
}

static compute_buffer stream_buffer(uint64_t size, uint64_t flags)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer buffer = NULL;
    desc.size = size;
    desc.stream = stream;
    desc.flags = flags;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    return buffer;
}
/* In memory that held 0xff before. */
static compute_buffer used_buffer(uint64_t size, uint64_t flags)
{
    compute_buffer before = stream_buffer(size, 0);
    fill_words(stream, before, 0xffffffffu);
    wait_for(stream);
    compute_buffer_release(before);
    return stream_buffer(size, flags);
}

static uint64_t claim(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, NULL, size, E));
    return claimed_by(buffer, offset, size);
}

/* Whether buffers of the device can be mapped. */
static int maps(void)
{
    if (device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) return 1;
    printf("  not tried: the device has no host-visible memory\n");
    return 0;
}

/* Work of some hundred milliseconds that ends with 42 in the first word of `to`. */
static void long_work(compute_stream on, compute_buffer to)
{
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer turns = make_buffer(device, 8, "turns");
    put_word(on, turns, 0, turns_of(device, on, 100000000));
    put_word(on, turns, 1, 42);
    wait_for(on);
    OK(launch_io(on, spin, "long", turns, to, 1));
    compute_kernel_release(spin);
    compute_buffer_release(turns);
}

/* ---- zeroed ---- */

TEST(m7_a_zeroed_buffer_reads_as_zeros_on_a_strict_device_and_in_used_memory)
{
    set_up_on(open_with(COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN, NULL));
    unsigned char bytes[4096];
    compute_buffer zeroed = used_buffer(4096, COMPUTE_BUFFER_FLAG_ZEROED), plain = used_buffer(4096, 0);
    OK(get(stream, zeroed, 0, bytes, sizeof bytes));
    CHECK(all_are(bytes, sizeof bytes, 0));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, plain, 0, bytes, sizeof bytes));
    compute_kernel first = make_kernel(device, INCREMENT_FIRST);
    OK(launch_io(stream, first, "", zeroed, plain, 1));
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = 64;
    desc.flags = COMPUTE_BUFFER_FLAG_ZEROED | COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_create(device, &desc, &zeroed, E));
    CHECK(zeroed == NULL);
}

/* ---- M8: lazy ---- */

static compute_readback lazy(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    compute_readback readback = NULL;
    OK(compute_stream_read_lazy(stream, &view, &readback, E));
    return readback;
}
static const uint32_t *words_of(compute_readback readback, uint64_t expected)
{
    const void *bytes = NULL;
    uint64_t size = 0;
    OK(compute_readback_get(readback, &bytes, &size, E));
    CHECK_EQ(size, expected);
    CHECK(bytes != NULL);
    return bytes;
}

TEST(m8_a_lazy_readback_gives_the_state_at_its_first_access_and_keeps_it)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 4096, "source");
    fill_words(stream, buffer, 1);
    compute_readback readback = lazy(buffer, 16, 64);
    fill_words(stream, buffer, 2);
    const uint32_t *words = words_of(readback, 64);
    CHECK(words[0] == 2 && words[15] == 2);
    fill_words(stream, buffer, 3);
    CHECK(words_of(readback, 64) == words);
    CHECK_EQ(words[7], 2);
    compute_readback_release(readback);
}

TEST(m8_f7_a_lazy_readback_keeps_its_source_alive_and_copies_nothing_before_it_is_asked)
{
    set_up_on(open_faulty());
    compute_buffer buffer = make_buffer(device, 4096, "source");
    fill_words(stream, buffer, 9);
    uint64_t before = 0, after = 0;
    OK(compute_device_fault_calls(device, &before, E));
    compute_readback readback = lazy(buffer, 0, COMPUTE_WHOLE);
    OK(compute_device_fault_calls(device, &after, E));
    CHECK_EQ(before, after);
    OK(compute_buffer_destroy(buffer, E));
    compute_stream_release(stream);
    compute_device_release(device);
    CHECK_EQ(words_of(readback, 4096)[1023], 9);
    OK(compute_readback_destroy(readback, E));
    const void *bytes = &bytes;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_readback_get(readback, &bytes, NULL, E));
    CHECK(bytes == NULL);
}

/* So large that the library keeps nothing of it for others. */
TEST(t12_m8_bytes_that_a_lazy_readback_has_given_stay_when_its_device_is_lost)
{
    enum { SIZE = 100 << 20 };
    set_up_on(open_faulty());
    compute_buffer buffer = make_buffer(device, SIZE, "source");
    fill_words(stream, buffer, 0x0b0b0b0b);
    compute_readback readback = lazy(buffer, 0, COMPUTE_WHOLE);
    const unsigned char *bytes = (const unsigned char *)(const void *)words_of(readback, SIZE);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LOST, E));
    compute_view view = whole(buffer);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_fill(stream, &view, "", 1, E));
    const void *again = &again;
    for (int i = 0; i < 2; i++) IS(COMPUTE_ERROR_DEVICE_POISONED, compute_readback_get(readback, &again, NULL, E));
    CHECK(again == NULL);
    CHECK(all_are(bytes, SIZE, 11));
    compute_readback_release(readback);
}

TEST(m8_a_lazy_readback_that_was_started_completes_with_its_event)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 8, "source");
    long_work(stream, buffer);
    compute_readback readback = lazy(buffer, 0, 4);
    compute_event event = NULL, again = NULL;
    OK(compute_readback_start(readback, &event, E));
    OK(compute_readback_start(readback, &again, E));
    put_word(stream, buffer, 0, 5);
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    OK(compute_event_poll(again, E));
    CHECK_EQ(words_of(readback, 4)[0], 42);
    compute_event_release(event);
    compute_event_release(again);
    compute_readback_release(readback);
}

/* Spins I[2] times before it stores to where I[0] says. */
#define STORE_AT IO "@compute @workgroup_size(1) fn store_at() { var x = I[1]; for (var n = 0u; n < I[2]; n += 1u) { x = x * 1664525u + 1013904223u; }\n" \
    "O[0] = x; O[I[0]] = I[1]; }\n"

TEST(t8_t13_a_lazy_readback_of_claimed_bytes_is_refused_until_they_are_repaired)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 64, "claimed"), in = make_buffer(device, 12, "in");
    fill_words(stream, buffer, 1);
    compute_readback readback = lazy(buffer, 0, 64);
    uint64_t failure = claim(buffer, 8, 4);
    const void *bytes = NULL;
    compute_event event = NULL;
    IS(COMPUTE_ERROR_UNWRITTEN, compute_readback_get(readback, &bytes, NULL, E));
    CHECK(last_info().failure == failure && bytes == NULL);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_readback_start(readback, &event, E));
    compute_kernel_desc desc = kernel_desc(STORE_AT, "store_at");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel kernel = make_kernel_from(device, &desc);
    put_word(stream, in, 0, 5000);
    put_word(stream, in, 1, 3);
    put_word(stream, in, 2, turns_of(device, stream, 100000000));
    fill_words(stream, buffer, 2);
    OK(launch_io(stream, kernel, "", in, buffer, 1)); /* fails late, after the copy was started */
    OK(compute_readback_start(readback, &event, E));
    IS(COMPUTE_ERROR_UNWRITTEN, compute_readback_get(readback, &bytes, NULL, E));
    CHECK(root_info().status == COMPUTE_ERROR_KERNEL_FAULT && bytes == NULL);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_event_poll(event, E));
    compute_event_release(event);
    fill_words(stream, buffer, 4);
    CHECK_EQ(words_of(readback, 64)[2], 4);
    compute_readback_release(readback);
}

static compute_readback shared_readback;
struct got {
    compute_status status;
    const void *bytes;
};
static void *get_it(void *to)
{
    struct got *got = to;
    got->status = compute_readback_get(shared_readback, &got->bytes, NULL, NULL);
    return NULL;
}

TEST(m8_threads_that_ask_at_once_get_the_same_bytes)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 1 << 20, "source");
    fill_words(stream, buffer, 6);
    for (int round = 0; round < 20; round++) {
        struct got results[8];
        pthread_t threads[8];
        shared_readback = lazy(buffer, 0, COMPUTE_WHOLE);
        for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, get_it, &results[i]) == 0);
        for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
        for (int i = 0; i < 8; i++) CHECK(results[i].status == COMPUTE_OK && results[i].bytes == results[0].bytes);
        CHECK_EQ(((const uint32_t *)results[0].bytes)[1000], 6);
        compute_readback_release(shared_readback);
    }
}

TEST(f1_bad_readbacks_are_refused)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 64, "small");
    compute_readback readback = (compute_readback)1;
    compute_view outside = range(buffer, 32, 33), view = whole(buffer), none = range(NULL, 0, 0), empty = range(buffer, 64, 0);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read_lazy(stream, &outside, &readback, E));
    CHECK(readback == NULL);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_read_lazy(stream, &none, &readback, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_read_lazy(NULL, &view, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_lazy(stream, NULL, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_lazy(stream, &view, NULL, E));
    compute_device other = open_device();
    compute_stream foreign = make_stream(other);
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_read_lazy(foreign, &view, &readback, E));
    const void *bytes = NULL;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_readback_get((compute_readback)buffer, &bytes, NULL, E));
    compute_event event = (compute_event)1;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_readback_start(NULL, &event, E));
    CHECK(event == NULL);
    OK(compute_stream_read_lazy(stream, &empty, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_readback_get(readback, NULL, NULL, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_readback_start(readback, NULL, E));
    OK(compute_readback_get(readback, &bytes, NULL, E));
    OK(compute_readback_retain(readback, E));
    compute_readback_release(readback);
    compute_readback_release(readback);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_readback_retain(readback, E));
}

/* ---- M7, T14: mapped ---- */

static compute_mapping map(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    compute_mapping mapping = NULL;
    OK(compute_buffer_map(&view, &mapping, E));
    return mapping;
}
static unsigned char *pointer_of(compute_mapping mapping, uint64_t expected)
{
    void *pointer = NULL;
    uint64_t size = 0;
    OK(compute_mapping_get_pointer(mapping, &pointer, &size, E));
    CHECK(pointer != NULL && size == expected);
    return pointer;
}
static compute_status acquire(compute_mapping mapping, uint32_t access)
{
    return compute_mapping_acquire(mapping, 0, COMPUTE_WHOLE, access, COMPUTE_FOREVER, E);
}

TEST(m7_what_the_host_writes_to_mapped_memory_and_what_the_device_writes_there_are_seen_by_the_other)
{
    set_up();
    if (!maps()) return;
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer in = stream_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE), out = stream_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_mapping to = map(in, 0, COMPUTE_WHOLE), from = map(out, 0, COMPUTE_WHOLE);
    uint32_t *given = (uint32_t *)(void *)pointer_of(to, 4096);
    const uint32_t *got = (const uint32_t *)(const void *)pointer_of(from, 4096);
    for (uint32_t round = 0; round < 100; round++) {
        OK(acquire(to, COMPUTE_ACCESS_WRITE));
        for (uint32_t i = 0; i < 1024; i++) given[i] = round * 1000 + i;
        OK(compute_mapping_flush(to, 0, COMPUTE_WHOLE, E));
        OK(launch_io(stream, increment, "", in, out, 16));
        OK(acquire(from, COMPUTE_ACCESS_READ));
        for (uint32_t i = 0; i < 1024; i++) CHECK_EQ(got[i], round * 1000 + i + 1);
    }
    CHECK(pointer_of(from, 4096) == (const unsigned char *)got);
    compute_mapping_release(to);
    compute_mapping_release(from);
}

TEST(t14_mapping_zeroes_what_earlier_owners_left)
{
    set_up();
    if (!maps()) return;
    for (int strict = 0; strict < 2; strict++) {
        compute_buffer buffer = used_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE | (strict ? COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN : 0));
        put_word(stream, buffer, 100, 7);
        compute_mapping mapping = map(buffer, 256, 2048);
        const unsigned char *bytes = pointer_of(mapping, 2048);
        CHECK(all_are(bytes, 144, 0) && bytes[144] == 7 && all_are(bytes + 145, 2048 - 145, 0));
        IS(strict ? COMPUTE_ERROR_UNWRITTEN : COMPUTE_OK, acquire(mapping, COMPUTE_ACCESS_READ));
        OK(compute_mapping_acquire(mapping, 144, 4, COMPUTE_ACCESS_READ, 0, E));
        OK(acquire(mapping, COMPUTE_ACCESS_WRITE));
        OK(compute_mapping_flush(mapping, 0, 8, E));
        OK(compute_mapping_acquire(mapping, 0, 8, COMPUTE_ACCESS_READ, 0, E));
        if (strict) IS(COMPUTE_ERROR_UNWRITTEN, compute_mapping_acquire(mapping, 0, 9, COMPUTE_ACCESS_READ, 0, E));
        compute_mapping_release(mapping);
        compute_buffer_release(buffer);
    }
}

TEST(t13_t14_mapping_hears_first_of_work_that_has_failed_meanwhile)
{
    set_up_on(open_faulty());
    if (!maps()) return;
    compute_buffer source = stream_buffer(4096, 0), buffer = used_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    fill_words(stream, source, 0x05050505);
    wait_for(stream);
    compute_view from = whole(source), to = whole(buffer);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LATE, E));
    OK(compute_stream_copy(stream, &from, &to, E));
    /* It is over, and nobody has asked how it ended. */
    struct timespec pause = { 0, 200 * 1000 * 1000 };
    nanosleep(&pause, NULL);
    compute_mapping mapping = map(buffer, 0, COMPUTE_WHOLE);
    CHECK(all_are(pointer_of(mapping, 4096), 4096, 0));
    IS(COMPUTE_ERROR_UNWRITTEN, acquire(mapping, COMPUTE_ACCESS_READ));
    compute_mapping_release(mapping);
}

TEST(t4_t8_claims_on_mapped_bytes_are_told_by_acquire_and_released_by_flush)
{
    set_up();
    if (!maps()) return;
    compute_buffer buffer = stream_buffer(1024, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    fill_words(stream, buffer, 0x05050505);
    uint64_t failure = claim(buffer, 100, 20), lifted = 0;
    compute_mapping mapping = map(buffer, 0, COMPUTE_WHOLE);
    unsigned char *bytes = pointer_of(mapping, 1024);
    IS(COMPUTE_ERROR_UNWRITTEN, acquire(mapping, COMPUTE_ACCESS_READ));
    CHECK_EQ(last_info().failure, failure);
    OK(compute_mapping_acquire(mapping, 0, 100, COMPUTE_ACCESS_READ, COMPUTE_FOREVER, E));
    OK(acquire(mapping, COMPUTE_ACCESS_WRITE));
    memset(bytes + 100, 9, 10);
    OK(compute_mapping_flush(mapping, 100, 10, E));
    CHECK_EQ(claimed_by(buffer, 0, 110), 0);
    CHECK_EQ(claimed_by(buffer, 110, 1), failure);
    /* What can be reinstated was the buffer's own and is still there. */
    compute_view view = whole(buffer);
    OK(compute_reinstate(&view, failure, &lifted, E));
    CHECK_EQ(lifted, 10);
    OK(acquire(mapping, COMPUTE_ACCESS_READ_WRITE));
    CHECK(all_are(bytes, 100, 5) && all_are(bytes + 100, 10, 9) && all_are(bytes + 110, 914, 5));
    compute_mapping_release(mapping);
}

TEST(l8_acquire_waits_for_the_work_that_it_has_to_come_after)
{
    set_up();
    if (!maps()) return;
    if (!runs_long(device, stream)) return;
    compute_stream other = make_stream(device);
    compute_buffer buffer = stream_buffer(8, COMPUTE_BUFFER_FLAG_HOST_VISIBLE), copy = make_buffer(device, 8, "copy");
    compute_mapping mapping = map(buffer, 0, COMPUTE_WHOLE);
    const uint32_t *words = (const uint32_t *)(const void *)pointer_of(mapping, 8);
    long_work(other, buffer);
    IS(COMPUTE_TIMEOUT, compute_mapping_acquire(mapping, 0, 8, COMPUTE_ACCESS_READ, 0, E));
    IS(COMPUTE_TIMEOUT, compute_mapping_acquire(mapping, 0, 8, COMPUTE_ACCESS_WRITE, MILLISECONDS, E));
    OK(acquire(mapping, COMPUTE_ACCESS_READ));
    CHECK_EQ(words[0], 42);
    /* Only a reader is under way: another may look, a writer has to wait. */
    compute_view from = whole(buffer), to = whole(copy);
    long_work(other, copy);
    OK(compute_stream_copy(other, &from, &to, E));
    OK(compute_mapping_acquire(mapping, 0, 8, COMPUTE_ACCESS_READ, 0, E));
    IS(COMPUTE_TIMEOUT, compute_mapping_acquire(mapping, 0, 8, COMPUTE_ACCESS_WRITE, 0, E));
    OK(acquire(mapping, COMPUTE_ACCESS_WRITE));
    CHECK_EQ(get_word(other, copy, 0), 42);
    compute_mapping_release(mapping);
}

TEST(t14_memory_is_mapped_only_once_its_earlier_use_is_over)
{
    set_up();
    if (!maps()) return;
    compute_buffer busy = stream_buffer(60000, 0);
    long_work(stream, busy);
    compute_buffer_release(busy);
    compute_buffer next = stream_buffer(60000, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_mapping mapping = map(next, 0, COMPUTE_WHOLE);
    const unsigned char *bytes = pointer_of(mapping, 60000);
    CHECK(all_are(bytes, 60000, 0));
    wait_for(stream);
    CHECK(all_are(bytes, 60000, 0));
    compute_mapping_release(mapping);
}

/* Of the same bytes, always with work of its own under way, until it is told that it is enough. */
static compute_buffer looked_at;
static compute_kernel look;
static int enough;
static void *keep_reading(void *unused)
{
    (void)unused;
    compute_stream own = make_stream(device);
    compute_buffer out = make_buffer(device, 4, "out");
    compute_event under_way[4] = { NULL };
    compute_binding bindings[2] = { bind_range(0, looked_at, 0, 256), bind(1, out) };
    compute_launch_desc desc = launch_desc(look, 1, 1, 1, bindings, 2);
    const char *problem = NULL;
    for (int i = 0; !problem && !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
        compute_event *event = &under_way[i % (int)COUNT_OF(under_way)];
        if (*event && compute_event_wait(*event, COMPUTE_FOREVER, NULL) != COMPUTE_OK) problem = "a wait failed";
        compute_event_release(*event);
        if (compute_stream_launch(own, &desc, NULL) != COMPUTE_OK || compute_stream_record(own, event, NULL) != COMPUTE_OK) problem = "a launch failed";
    }
    for (size_t i = 0; i < COUNT_OF(under_way); i++) compute_event_release(under_way[i]);
    compute_buffer_release(out);
    compute_stream_release(own);
    return (void *)(uintptr_t)problem;
}

TEST(t14_mapping_does_not_wait_for_those_who_begin_to_read_later)
{
    set_up();
    if (!maps()) return;
    enum { READERS = 2 };
    pthread_t threads[READERS];
    look = make_kernel(device, SPIN);
    looked_at = used_buffer(512, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    uint32_t words[64] = { turns_of(device, stream, 100000000) / 16, 42 }; /* some ten milliseconds */
    put(stream, looked_at, 0, words, sizeof words);
    wait_for(stream);
    for (int i = 0; i < READERS; i++) CHECK(pthread_create(&threads[i], NULL, keep_reading, NULL) == 0);
    usleep(200000);
    for (int i = 0; i < 2; i++) {
        /* First with bytes that were never written and that nobody reads, then without. */
        compute_mapping mapping = map(looked_at, 0, COMPUTE_WHOLE);
        OK(acquire(mapping, COMPUTE_ACCESS_READ));
        const unsigned char *bytes = pointer_of(mapping, 512);
        CHECK(memcmp(bytes, words, sizeof words) == 0 && all_are(bytes + 256, 256, 0));
        compute_mapping_release(mapping);
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        void *problem = NULL;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, (const char *)problem);
    }
}

TEST(f7_a_mapping_outlives_the_handles_of_its_buffer_stream_and_device)
{
    set_up();
    if (!maps()) return;
    compute_buffer buffer = stream_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_mapping mapping = map(buffer, 0, COMPUTE_WHOLE);
    unsigned char *bytes = pointer_of(mapping, 4096);
    OK(compute_buffer_destroy(buffer, E));
    compute_stream_release(stream);
    compute_buffer neighbour = make_buffer(device, 4096, "neighbour");
    compute_stream later = make_stream(device);
    fill_words(later, neighbour, 0xffffffffu);
    memset(bytes, 3, 4096);
    CHECK_EQ(get_word(later, neighbour, 0), 0xffffffffu);
    OK(compute_mapping_flush(mapping, 0, COMPUTE_WHOLE, E));
    compute_stream_release(later);
    compute_buffer_release(neighbour);
    compute_device_release(device);
    CHECK(all_are(bytes, 4096, 3));
    OK(compute_mapping_destroy(mapping, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_mapping_flush(mapping, 0, 1, E));
}

TEST(f1_bad_mappings_are_refused_each_with_its_error)
{
    set_up();
    if (!maps()) return;
    compute_buffer plain = make_buffer(device, 64, "plain"), buffer = stream_buffer(64, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_buffer nothing = stream_buffer(0, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_view no = whole(plain), outside = range(buffer, 60, 5), view = whole(buffer), none = range(NULL, 0, 0), empty = whole(nothing);
    compute_mapping mapping = (compute_mapping)1;
    void *pointer = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&no, &mapping, E));
    CHECK(mapping == NULL);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_buffer_map(&outside, &mapping, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_map(&none, &mapping, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(NULL, &mapping, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&view, NULL, E));
    OK(compute_buffer_map(&empty, &mapping, E));
    OK(compute_mapping_flush(mapping, 0, COMPUTE_WHOLE, E));
    compute_mapping_release(mapping);
    mapping = map(buffer, 8, 32);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_acquire(mapping, 33, 0, COMPUTE_ACCESS_READ, 0, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_acquire(mapping, 1, 32, COMPUTE_ACCESS_READ, 0, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_flush(mapping, UINT64_MAX, 2, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_mapping_flush(mapping, 2, UINT64_MAX - 1, E));
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_mapping_acquire(mapping, 0, 1, 4, 0, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_mapping_get_pointer((compute_mapping)buffer, &pointer, NULL, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_mapping_get_pointer(mapping, NULL, NULL, E));
    OK(compute_mapping_retain(mapping, E));
    compute_mapping_release(mapping);
    compute_mapping_release(mapping);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_mapping_retain(mapping, E));
}

TEST(m7_a_device_whose_memory_is_not_the_hosts_says_so)
{
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "null";
    desc.backend_length = 4;
    OK(compute_device_open(&desc, &device, E));
    CHECK((device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) == 0);
    compute_buffer_desc buffer_of = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer buffer = NULL;
    buffer_of.size = 64;
    buffer_of.flags = COMPUTE_BUFFER_FLAG_HOST_VISIBLE;
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_buffer_create(device, &buffer_of, &buffer, E));
    CHECK(last_info().refusal && error_says("host-visible"));
    if (!on("cpu")) return;
    set_up();
    CHECK((device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) != 0);
}

TEST(f1_t12_whichever_call_of_the_device_fails_readbacks_and_mappings_give_right_bytes_or_the_error)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LATE, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    int reached = 0;
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1; call < 10; call++) {
            set_up_on(open_faulty());
            if (!maps()) return;
            compute_buffer buffer = used_buffer(4096, COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
            compute_view view = whole(buffer);
            compute_readback readback = lazy(buffer, 0, 4096);
            compute_mapping mapping = NULL;
            const void *bytes = NULL;
            void *pointer = NULL;
            OK(compute_device_inject_fault(device, call, ways[way], E));
            (void)compute_stream_fill(stream, &view, "\7", 1, NULL);
            compute_status status = compute_readback_get(readback, &bytes, NULL, E);
            CHECK(status == COMPUTE_OK ? all_are(bytes, 4096, 7) : bytes == NULL);
            reached += status != COMPUTE_OK;
            status = compute_buffer_map(&view, &mapping, E);
            reached += status != COMPUTE_OK;
            if (status == COMPUTE_OK) {
                OK(compute_mapping_get_pointer(mapping, &pointer, NULL, E));
                CHECK(all_are(pointer, 4096, 7) || all_are(pointer, 4096, 0));
                status = acquire(mapping, COMPUTE_ACCESS_READ);
                if (status == COMPUTE_OK) CHECK(all_are(pointer, 4096, 7));
                reached += status != COMPUTE_OK;
            }
            OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
            compute_mapping_release(mapping);
            compute_readback_release(readback);
            if (compute_device_status(device, NULL) == COMPUTE_OK) {
                OK(compute_stream_fill(stream, &view, "\10", 1, E));
                mapping = map(buffer, 0, COMPUTE_WHOLE);
                OK(acquire(mapping, COMPUTE_ACCESS_READ));
                CHECK(all_are(pointer_of(mapping, 4096), 4096, 8));
                compute_mapping_release(mapping);
            } else {
                IS(COMPUTE_ERROR_DEVICE_POISONED, compute_buffer_map(&view, &mapping, E));
            }
            compute_buffer_release(buffer);
            compute_stream_release(stream);
            compute_device_release(device);
        }
    }
    CHECK(reached >= 10);
}

TEST(t14_what_is_mapped_is_no_memory_of_the_hosts_to_import)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE)) {
        printf("  not tried: nothing of this device can be mapped\n");
        return;
    }
    compute_buffer buffer = make_buffer_with(device, 4096, "shared", COMPUTE_BUFFER_FLAG_HOST_VISIBLE), taken = NULL;
    compute_view view = whole(buffer);
    compute_mapping mapping = NULL;
    void *pointer = NULL;
    OK(compute_buffer_map(&view, &mapping, E));
    OK(compute_mapping_get_pointer(mapping, &pointer, NULL, E));
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    compute_device cpu = NULL;
    desc.backend = "cpu";
    desc.backend_length = 3;
    OK(compute_device_open(&desc, &cpu, E));
    compute_import_desc import = COMPUTE_IMPORT_DESC_INIT;
    import.kind = COMPUTE_NATIVE_ADDRESS;
    import.handle = (uint64_t)(uintptr_t)pointer;
    import.size = 64;
    import.access = COMPUTE_ACCESS_READ;
    IS(COMPUTE_ERROR_ALREADY_OWNED, compute_buffer_import(cpu, &import, &taken, E));
    import.offset = 2048;
    IS(COMPUTE_ERROR_ALREADY_OWNED, compute_buffer_import(cpu, &import, &taken, E));
    compute_mapping_release(mapping);
    compute_buffer_release(buffer);
    compute_device_release(cpu);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m7_a_zeroed_buffer_reads_as_zeros_on_a_strict_device_and_in_used_memory);
    RUN(m8_a_lazy_readback_gives_the_state_at_its_first_access_and_keeps_it);
    RUN(m8_f7_a_lazy_readback_keeps_its_source_alive_and_copies_nothing_before_it_is_asked);
    RUN(t12_m8_bytes_that_a_lazy_readback_has_given_stay_when_its_device_is_lost);
    RUN(m8_a_lazy_readback_that_was_started_completes_with_its_event);
    RUN(t8_t13_a_lazy_readback_of_claimed_bytes_is_refused_until_they_are_repaired);
    RUN(m8_threads_that_ask_at_once_get_the_same_bytes);
    RUN(f1_bad_readbacks_are_refused);
    RUN(m7_what_the_host_writes_to_mapped_memory_and_what_the_device_writes_there_are_seen_by_the_other);
    RUN(t14_mapping_zeroes_what_earlier_owners_left);
    RUN(t13_t14_mapping_hears_first_of_work_that_has_failed_meanwhile);
    RUN(t4_t8_claims_on_mapped_bytes_are_told_by_acquire_and_released_by_flush);
    RUN(l8_acquire_waits_for_the_work_that_it_has_to_come_after);
    RUN(t14_memory_is_mapped_only_once_its_earlier_use_is_over);
    RUN(t14_mapping_does_not_wait_for_those_who_begin_to_read_later);
    RUN(f7_a_mapping_outlives_the_handles_of_its_buffer_stream_and_device);
    RUN(f1_bad_mappings_are_refused_each_with_its_error);
    RUN(t14_what_is_mapped_is_no_memory_of_the_hosts_to_import);
    RUN(m7_a_device_whose_memory_is_not_the_hosts_says_so);
    RUN(f1_t12_whichever_call_of_the_device_fails_readbacks_and_mappings_give_right_bytes_or_the_error);
    return finish();
}
