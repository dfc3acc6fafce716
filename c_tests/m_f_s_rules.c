/* The rules M2, M7 to M9, S1, S2, and F3, F4, F7: sizes, threads, events, error objects and callbacks. */
#include "rules.h"

#include <poll.h>

#define WORDS 256
#define BYTES (4 * WORDS)

static compute_device device;
static compute_stream stream;
static compute_kernel increment, spin;
static compute_buffer in, out, turns;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    spin = make_kernel(device, SPIN);
    in = make_buffer(device, BYTES, "in");
    out = make_buffer(device, BYTES, "out");
    turns = make_buffer(device, 8, "turns");
    fill_words(stream, in, 7);
    fill_words(stream, out, 1);
    wait_for(stream);
}
static void set_up(void) { set_up_on(open_device()); }

/* Queues work that takes about this long on `on`; its result is 42 in out[0]. */
static uint32_t turns_per_ms;
static void queue_work(compute_stream on, uint32_t ms)
{
    if (!turns_per_ms) {
        uint64_t start;
        /* The first launch may take long for other reasons. */
        put_word(on, turns, 0, 1);
        OK(launch_io(on, spin, "warm", turns, out, 1));
        put_word(on, turns, 0, 20000000);
        put_word(on, turns, 1, 42);
        wait_for(on);
        start = now_ns();
        OK(launch_io(on, spin, "calibration", turns, out, 1));
        wait_for(on);
        turns_per_ms = (uint32_t)(20000000.0 / (1e-6 * (double)(now_ns() - start)));
        CHECK(turns_per_ms > 0);
    }
    put_word(on, turns, 0, ms * turns_per_ms);
    OK(launch_io(on, spin, "long work", turns, out, 1));
}

/* ---- M2, M9 ---- */

TEST(m2_a_size_that_can_never_be_allocated_is_told_apart_from_out_of_memory)
{
    set_up();
    compute_buffer_desc desc;
    compute_buffer buffer = NULL;
    compute_buffer_desc_init(&desc);
    static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        desc.size = sizes[i];
        IS(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &buffer, E));
        CHECK_EQ(last_info().reclaimable, 0);
        CHECK(buffer == NULL);
    }
    desc.size = UINT64_C(1) << 40;
    IS_CLASS(200, compute_buffer_create(device, &desc, &buffer, E));
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 9), 8);
}

TEST(m2_out_of_memory_is_reclaimable_and_harms_nothing)
{
    set_up_on(open_faulty());
    compute_buffer_desc desc;
    compute_buffer buffer = NULL;
    compute_buffer_desc_init(&desc);
    desc.size = 1 << 20;
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_OUT_OF_MEMORY, E));
    compute_status status = compute_buffer_create(device, &desc, &buffer, E);
    if (status < 0) { /* the retry after reclaiming (M2) may have served it */
        CHECK_EQ(status, COMPUTE_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(last_info().reclaimable, 1);
        CHECK_EQ(last_info().refusal, 0);
    }
    buffer = make_buffer(device, 4, "small");
    put_word(stream, buffer, 0, 3);
    CHECK_EQ(get_word(stream, buffer, 0), 3);
    CHECK_EQ(get_word(stream, in, 0), 7);
}

TEST(m9_views_whose_end_wraps_are_out_of_range_everywhere)
{
    set_up();
    static const struct { uint64_t offset, size; } bad[] = {
        { UINT64_MAX, 1 }, { UINT64_MAX - 3, 8 }, { 8, UINT64_MAX - 4 }, { BYTES, 1 }, { BYTES + 1, 0 }, { UINT64_MAX, COMPUTE_WHOLE },
        { UINT64_C(1) << 63, UINT64_C(1) << 63 }, { BYTES - 4, 8 }, { UINT64_MAX - BYTES + 1, BYTES },
    };
    unsigned char bytes[16] = { 0 };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        compute_view view = range(out, bad[i].offset, bad[i].size), good = range(in, 0, 8);
        uint64_t size = bad[i].size == COMPUTE_WHOLE ? 8 : bad[i].size, lifted;
        IS_CLASS(100, compute_stream_write(stream, &view, bytes, size, E));
        IS_CLASS(100, compute_stream_read(stream, &view, bytes, size, E));
        IS_CLASS(100, compute_stream_copy(stream, &view, &good, E));
        fill_words(stream, in, 7);
        IS_CLASS(100, compute_stream_copy(stream, &good, &view, E));
        IS_CLASS(100, compute_stream_fill(stream, &view, bytes, 4, E));
        IS_CLASS(100, compute_check(&view, 1, 0, E));
        IS_CLASS(100, compute_reinstate(&view, 1, &lifted, E));
        IS_CLASS(100, compute_stream_sync(stream, &view, 1, 0, COMPUTE_FOREVER, E));
        compute_binding bindings[2] = { bind(0, in), bind_range(1, out, bad[i].offset, bad[i].size) };
        IS_CLASS(100, launch(stream, increment, 1, bindings, 2));
    }
    fill_words(stream, out, 1);
    CHECK_EQ(get_word(stream, out, 0), 1);
}

TEST(m9_a_size_that_is_not_the_views_is_refused)
{
    set_up();
    unsigned char bytes[64] = { 0 };
    compute_view view = range(out, 0, 16), rest = range(out, BYTES - 16, COMPUTE_WHOLE);
    IS_CLASS(100, compute_stream_read(stream, &view, bytes, 15, E));
    IS_CLASS(100, compute_stream_read(stream, &view, bytes, 17, E));
    IS_CLASS(100, compute_stream_read(stream, &rest, bytes, 15, E));
    OK(compute_stream_read(stream, &rest, bytes, 16, E));
    IS_CLASS(100, compute_stream_write(stream, &view, bytes, UINT64_MAX, E));
    IS_CLASS(100, compute_stream_write(stream, &view, bytes, 0, E));
    CHECK(claimed_by(out, 0, 16) != 0); /* T2: a refused write claims what it was to write */
}

TEST(m9_a_fill_pattern_has_1_2_4_8_or_16_bytes_and_may_be_cut_short)
{
    set_up();
    unsigned char pattern[17] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 }, bytes[21];
    compute_view view = range(out, 3, 21);
    for (uint64_t size = 0; size <= 17; size++) {
        if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16) {
            OK(compute_stream_fill(stream, &view, pattern, size, E));
            OK(get(stream, out, 3, bytes, 21));
            for (uint64_t i = 0; i < 21; i++) CHECK_EQ(bytes[i], pattern[i % size]);
        } else {
            IS_CLASS(100, compute_stream_fill(stream, &view, pattern, size, E));
        }
    }
}

/* ---- S1 ---- */

TEST(s1_a_device_opens_only_if_it_is_the_exact_target_asked_for)
{
    set_up();
    compute_device_info info = device_info(device);
    compute_device_desc desc;
    compute_device same = NULL, other = NULL;
    compute_device_desc_init(&desc);
    desc.backend = info.backend;
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.index = info.index;
    desc.exact_target = info.target;
    desc.exact_target_length = COMPUTE_NUL_TERMINATED;
    OK(compute_device_open(&desc, &same, E));
    desc.exact_target = "sm_12345";
    IS(COMPUTE_ERROR_TARGET, compute_device_open(&desc, &other, E));
    CHECK(other == NULL);
    CHECK(error_says("sm_12345") && error_says(info.target));
}

TEST(s1_the_number_of_queues_can_be_set_before_the_first_stream_only)
{
    device = open_device();
    IS_CLASS(100, compute_device_set_queues(device, 0, E));
    /* Some devices have one queue only. */
    uint32_t queues = compute_device_set_queues(device, 2, NULL) == COMPUTE_OK ? 2 : 1;
    CHECK(queues == 2 || getenv("RULES_BACKEND"));
    OK(compute_device_set_queues(device, queues, E));
    OK(compute_device_set_queues(device, queues, E));
    compute_stream streams[5];
    compute_buffer buffers[5];
    for (int i = 0; i < 5; i++) {
        streams[i] = make_stream(device);
        buffers[i] = make_buffer(device, 64, "own");
        fill_words(streams[i], buffers[i], (uint32_t)i);
    }
    for (int i = 0; i < 5; i++) CHECK_EQ(get_word(streams[i], buffers[i], 3), i);
    OK(compute_device_set_queues(device, queues, E));
    if (queues == 2) IS(COMPUTE_ERROR_BUSY, compute_device_set_queues(device, 3, E));
}

enum { THREADS = 8, ROUNDS = 400 };

static void *hammer(void *which)
{
    uint64_t mine = (uint64_t)(uintptr_t)which;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t word = (uint32_t)(mine * ROUNDS) + (uint32_t)round, back = 0;
        compute_view own = range(out, 4 * mine, 4), shared = range(in, 0, 4);
        if (compute_stream_write(stream, &own, &word, 4, NULL) != COMPUTE_OK) return "write";
        if (compute_stream_read(stream, &own, &back, 4, NULL) != COMPUTE_OK || back != word) return "read";
        if (compute_stream_read(stream, &shared, &back, 4, NULL) != COMPUTE_OK || back != 7) return "shared read";
    }
    return NULL;
}

TEST(s1_eight_threads_use_the_same_handles)
{
    set_up();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, hammer, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, problem);
    }
}

static void *count_up(void *kernel)
{
    compute_stream own = NULL;
    compute_binding binding = bind(0, out);
    compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, &binding, 1);
    if (compute_stream_create(device, NULL, &own, NULL) != COMPUTE_OK) return "create";
    for (int round = 0; round < ROUNDS; round++) {
        if (compute_stream_launch(own, &desc, NULL) != COMPUTE_OK) return "launch";
    }
    if (compute_stream_sync(own, NULL, 0, 0, COMPUTE_FOREVER, NULL) != COMPUTE_OK) return "sync";
    compute_stream_release(own);
    return NULL;
}

TEST(s1_l8_eight_threads_on_their_own_streams_change_one_buffer_and_lose_nothing)
{
    set_up();
    compute_kernel step = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n@compute @workgroup_size(1) fn step() { O[0] += 1u; }");
    pthread_t threads[THREADS];
    put_word(stream, out, 0, 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, count_up, step) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, problem);
    }
    CHECK_EQ(get_word(stream, out, 0), THREADS * ROUNDS);
}

static volatile int section_is_open, neighbour_is_done;
static void *neighbour(void *unused)
{
    (void)unused;
    uint32_t word = 5;
    compute_view view = range(out, 0, 4);
    while (!__atomic_load_n(&section_is_open, __ATOMIC_SEQ_CST)) usleep(100);
    compute_status status = compute_stream_write(stream, &view, &word, 4, NULL);
    __atomic_store_n(&neighbour_is_done, 1, __ATOMIC_SEQ_CST);
    return status == COMPUTE_OK ? NULL : "write";
}

TEST(s1_while_a_thread_holds_the_device_calls_of_others_that_enqueue_wait)
{
    set_up();
    pthread_t thread;
    void *problem;
    CHECK(pthread_create(&thread, NULL, neighbour, NULL) == 0);
    OK(compute_device_lock(device, E));
    OK(compute_device_lock(device, E)); /* the holder may lock again */
    __atomic_store_n(&section_is_open, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 50; i++) {
        usleep(1000);
        CHECK(!__atomic_load_n(&neighbour_is_done, __ATOMIC_SEQ_CST));
        OK(launch_io(stream, increment, "", in, out, 4));
    }
    OK(compute_device_unlock(device, E));
    usleep(2000);
    CHECK(!__atomic_load_n(&neighbour_is_done, __ATOMIC_SEQ_CST));
    OK(compute_device_unlock(device, E));
    CHECK(pthread_join(thread, &problem) == 0 && problem == NULL);
    CHECK_EQ(get_word(stream, out, 0), 5);
    IS(COMPUTE_ERROR_BUSY, compute_device_unlock(device, E));
}

/* ---- S2 ---- */

TEST(s2_an_event_is_not_ready_then_times_out_then_completes)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_event event = NULL;
    queue_work(stream, 1);
    wait_for(stream);
    compute_stream other = make_stream(device);
    queue_work(other, 300);
    OK(compute_stream_record(other, &event, E));
    IS(COMPUTE_NOT_READY, compute_event_poll(event, E));
    uint64_t start = now_ns();
    IS(COMPUTE_TIMEOUT, compute_event_wait(event, 20 * MILLISECONDS, E));
    CHECK(now_ns() - start >= 20 * MILLISECONDS);
    IS(COMPUTE_NOT_READY, compute_event_poll(event, E)); /* it came back before the work was over */
    IS(COMPUTE_TIMEOUT, compute_event_wait(event, 0, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    OK(compute_event_poll(event, E));
    OK(compute_event_wait(event, 0, E));
    CHECK_EQ(get_word(stream, out, 0), 42);
}

TEST(s2_waiting_for_any_and_for_all_of_several_events)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_device second = open_device();
    compute_stream slow = make_stream(device), fast = make_stream(second);
    compute_buffer little = make_buffer(second, 4, "little");
    fill_words(fast, little, 3);
    wait_for(fast);
    compute_event events[2] = { NULL, NULL };
    size_t index = 99;
    queue_work(slow, 1);
    wait_for(slow);
    /* In pieces: a GPU that both devices share may leave one for the other only between two launches. */
    for (int i = 0; i < 60; i++) queue_work(slow, 5);
    OK(compute_stream_record(slow, &events[0], E));
    fill_words(fast, little, 1);
    OK(compute_stream_record(fast, &events[1], E));
    OK(compute_events_wait_any(events, 2, 10 * SECONDS, &index, E));
    CHECK_EQ(index, 1);
    IS(COMPUTE_TIMEOUT, compute_events_wait_all(events, 2, 10 * MILLISECONDS, E));
    index = 99;
    IS(COMPUTE_TIMEOUT, compute_events_wait_any(events, 1, 10 * MILLISECONDS, &index, E));
    CHECK(index == SIZE_MAX);
    OK(compute_events_wait_all(events, 2, COMPUTE_FOREVER, E));
    OK(compute_events_wait_any(events, 1, 0, &index, E));
    CHECK_EQ(index, 0);
    IS_CLASS(100, compute_events_wait_any(events, 0, 0, &index, E));
    IS_CLASS(100, compute_events_wait_all(events, 0, 0, E));
}

TEST(s2_another_stream_waits_for_an_event_on_the_device)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_event event = NULL;
    compute_buffer flag = make_buffer(device, 4, "flag");
    const int is_long = runs_long(device, stream);
    queue_work(stream, 1);
    queue_work(stream, 300);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_stream_wait_event(other, event, E));
    if (is_long) IS(COMPUTE_NOT_READY, compute_event_poll(event, E)); /* the host did not wait */
    fill_words(other, flag, 1);
    wait_for(other);
    OK(compute_event_poll(event, E));
    CHECK_EQ(get_word(other, flag, 0), 1);
}

TEST(s2_an_event_of_another_device_is_refused)
{
    set_up();
    compute_device second = open_device();
    compute_stream other = make_stream(second);
    compute_event event = NULL;
    OK(compute_stream_record(stream, &event, E));
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_wait_event(other, event, E));
    compute_view view = whole(in), theirs = whole(make_buffer(second, BYTES, "theirs"));
    uint32_t word = 0;
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_fill(other, &view, &word, 4, E));
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy(other, &theirs, &view, E));
    CHECK_EQ(get_word(other, theirs.buffer, 0), 0);
}

TEST(s2_an_event_gives_a_file_descriptor_that_becomes_readable_when_it_completes)
{
    set_up();
    compute_event event = NULL;
    int32_t fd = -1;
    queue_work(stream, 1);
    wait_for(stream);
    queue_work(stream, 200);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_get_fd(event, &fd, E));
    struct pollfd waiting = { fd, POLLIN, 0 };
    CHECK_EQ(poll(&waiting, 1, 0), 0);
    CHECK_EQ(poll(&waiting, 1, 20000), 1);
    CHECK(waiting.revents & POLLIN);
    OK(compute_event_poll(event, E));
    close(fd);
    OK(compute_event_get_fd(event, &fd, E)); /* of an event that has completed: readable at once */
    waiting.fd = fd;
    CHECK_EQ(poll(&waiting, 1, 5000), 1);
    close(fd);
}

TEST(s2_a_sync_that_runs_out_of_time_says_so_and_harms_nothing)
{
    set_up();
    if (!runs_long(device, stream)) return;
    queue_work(stream, 1);
    wait_for(stream);
    queue_work(stream, 200);
    IS(COMPUTE_TIMEOUT, compute_stream_sync(stream, NULL, 0, 0, 10 * MILLISECONDS, E));
    wait_for(stream);
    CHECK_EQ(get_word(stream, out, 0), 42);
}

TEST(m8_an_asynchronous_read_completes_with_its_event)
{
    set_up();
    uint32_t word = 0;
    compute_event event = NULL;
    compute_view view = range(out, 0, 4);
    queue_work(stream, 50);
    OK(compute_stream_read_async(stream, &view, &word, 4, &event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    CHECK_EQ(word, 42);
    compute_event_release(event);
}

TEST(s2_event_times_are_device_time_in_order_where_the_device_has_them)
{
    set_up();
    compute_event a = NULL, b = NULL;
    uint64_t first = 0, second = 0;
    queue_work(stream, 1);
    OK(compute_stream_record(stream, &a, E));
    queue_work(stream, 50);
    OK(compute_stream_record(stream, &b, E));
    OK(compute_event_wait(b, COMPUTE_FOREVER, E));
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_TIMESTAMPS)) {
        IS(COMPUTE_ERROR_UNSUPPORTED, compute_event_get_time(a, &first, E));
        return;
    }
    OK(compute_event_get_time(a, &first, E));
    OK(compute_event_get_time(b, &second, E));
    CHECK(first != 0 && second > first && second - first < 30 * SECONDS);
}

/* ---- F3, F4, F7 ---- */

static void *read_error(void *error)
{
    char text[512];
    size_t needed = 0;
    for (int i = 0; i < 1000; i++) {
        if (compute_error_retain(error) != COMPUTE_OK) return "retain";
        if (compute_error_message(error, text, sizeof text, &needed) < 0 || needed < 2) return "message";
        compute_error_release(error);
    }
    return NULL;
}

TEST(f3_an_error_object_outlives_its_device_and_is_read_from_any_thread)
{
    set_up();
    compute_error error = NULL;
    pthread_t threads[4];
    compute_view view = range(out, BYTES, 8);
    unsigned char bytes[8];
    CHECK_EQ(compute_stream_read(stream, &view, bytes, 8, &error), COMPUTE_ERROR_OUT_OF_RANGE);
    CHECK_EQ(get_word(stream, out, 0), 1); /* a later success does not touch it: there is no last-error state */
    OK(compute_device_destroy(device, E));
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, read_error, error) == 0);
    for (int i = 0; i < 4; i++) {
        void *problem;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, problem);
    }
    CHECK_EQ(error_info(error).status, COMPUTE_ERROR_OUT_OF_RANGE);
    compute_error_release(error);
    compute_error_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK_EQ(compute_error_get_info(error, &info), COMPUTE_ERROR_INVALID_HANDLE);
    compute_error_release(error);
    compute_error_release(NULL);
}

TEST(f3_error_texts_come_by_two_calls_and_a_short_buffer_is_filled_as_far_as_it_goes)
{
    set_up();
    compute_view view = range(out, BYTES, 8);
    unsigned char bytes[8];
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read(stream, &view, bytes, 8, E));
    for (uint32_t form = COMPUTE_FORMAT_TEXT; form <= COMPUTE_FORMAT_JSON; form++) {
        size_t needed = 0, again = 0;
        CHECK(compute_error_format(last_error, form, NULL, 0, &needed) >= 0);
        CHECK(needed > 10 && needed < 10000);
        char *text = malloc(needed), shorter[8];
        CHECK(text != NULL);
        CHECK_EQ(compute_error_format(last_error, form, text, needed, &again), COMPUTE_OK);
        CHECK_EQ(again, needed);
        CHECK_EQ(strlen(text) + 1, needed);
        memset(shorter, 'x', sizeof shorter);
        CHECK_EQ(compute_error_format(last_error, form, shorter, 7, &again), COMPUTE_INCOMPLETE);
        CHECK_EQ(again, needed);
        CHECK(memcmp(shorter, text, 6) == 0 && shorter[6] == 0 && shorter[7] == 'x');
        free(text);
    }
    IS_CLASS(100, compute_error_format(last_error, 99, NULL, 0, &(size_t){ 0 }));
}

static int fired;
static compute_status fired_with;
static void note(void *user, compute_status status, compute_error error)
{
    (void)user;
    (void)error;
    fired_with = status;
    __atomic_add_fetch(&fired, 1, __ATOMIC_SEQ_CST);
}

TEST(f4_a_callback_on_poll_runs_once_from_the_thread_that_polls)
{
    set_up();
    compute_event event = NULL;
    queue_work(stream, 20);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_on_complete(event, note, NULL, COMPUTE_CALLBACK_ON_POLL, E));
    usleep(100000);
    wait_for(stream);
    CHECK(fired <= 1);
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    CHECK_EQ(fired, 1);
    CHECK_EQ(fired_with, COMPUTE_OK);
    OK(compute_event_poll(event, E));
    CHECK_EQ(fired, 1);
}

/* What is told then decides whether the memory may be freed. */
TEST(f4_t12_a_callback_of_a_read_whose_device_ends_says_if_its_memory_is_still_borrowed)
{
    set_up();
    uint32_t word = 0;
    compute_event event = NULL;
    compute_view view = range(out, 0, 4);
    fired = 0;
    queue_work(stream, 1);
    wait_for(stream);
    queue_work(stream, 300);
    OK(compute_stream_read_async(stream, &view, &word, 4, &event, E));
    OK(compute_event_on_complete(event, note, NULL, COMPUTE_CALLBACK_ON_POLL, E));
    OK(compute_device_destroy(device, E));
    CHECK_EQ(fired, 1);
    if (fired_with == COMPUTE_ERROR_ABANDONED) {
        /* Its bytes waited aside, and will not come any more. */
        IS(COMPUTE_ERROR_ABANDONED, compute_event_wait(event, COMPUTE_FOREVER, E));
        usleep(600000);
        CHECK_EQ(word, 0);
        return;
    }
    if (fired_with != COMPUTE_OK) CHECK_EQ(fired_with, COMPUTE_ERROR_STILL_BORROWED);
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    CHECK_EQ(word, 42);
    CHECK_EQ(fired, 1);
}

static void call_back_in(void *user, compute_status status, compute_error error)
{
    (void)error;
    compute_event event = user;
    uint32_t word = 0;
    compute_view view = range(in, 0, 4);
    if (status == COMPUTE_OK && compute_stream_read(stream, &view, &word, 4, NULL) == COMPUTE_OK && word == 7) {
        compute_event_release(event); /* releasing the event inside its own callback is legal */
        __atomic_add_fetch(&fired, 1, __ATOMIC_SEQ_CST);
    }
}

TEST(f4_a_callback_may_call_the_library_and_release_its_event)
{
    set_up();
    for (uint32_t where = COMPUTE_CALLBACK_ON_POLL; where <= COMPUTE_CALLBACK_ON_WORKER; where++) {
        compute_event event = NULL;
        fired = 0;
        queue_work(stream, 20);
        OK(compute_stream_record(stream, &event, E));
        OK(compute_event_retain(event, E)); /* before the callback can have released it */
        OK(compute_event_on_complete(event, call_back_in, event, where, E));
        OK(compute_event_wait(event, COMPUTE_FOREVER, E));
        for (int i = 0; i < 5000 && __atomic_load_n(&fired, __ATOMIC_SEQ_CST) == 0; i++) usleep(1000);
        CHECK_EQ(fired, 1);
        compute_event_release(event);
    }
}

TEST(f7_destroy_ends_the_handle_at_once_and_work_in_flight_finishes)
{
    set_up();
    compute_buffer busy = make_buffer(device, BYTES, "busy");
    compute_view from = range(busy, 0, 4), to = range(out, 4, 4);
    queue_work(stream, 50);
    OK(launch_io(stream, increment, "", in, busy, 4));
    OK(compute_stream_copy(stream, &from, &to, E));
    OK(compute_buffer_destroy(busy, E));
    uint64_t size;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_get_size(busy, &size, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_destroy(busy, E));
    compute_buffer_release(busy);
    CHECK_EQ(get_word(stream, out, 1), 8);
}

TEST(f1_garbage_and_handles_of_another_type_are_invalid)
{
    set_up();
    uint64_t size = 0;
    void *handles[] = { NULL, (void *)(uintptr_t)1, (void *)(uintptr_t)UINT64_MAX, stream, device, increment, &size, (void *)((uintptr_t)in ^ 1u) };
    for (size_t i = 0; i < COUNT_OF(handles); i++) {
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_get_size(handles[i], &size, E));
        compute_buffer_release(handles[i]);
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_event_poll(handles[i], E));
    }
    CHECK_EQ(get_word(stream, in, 0), 7);
}

TEST(f6_a_child_of_a_process_that_uses_the_library_must_not_use_it)
{
    set_up();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        uint64_t size = 0;
        compute_device opened = NULL;
        compute_device_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.struct_size = sizeof desc;
        int right = compute_buffer_get_size(in, &size, NULL) == COMPUTE_ERROR_FORKED && compute_device_open(&desc, &opened, NULL) == COMPUTE_ERROR_FORKED;
        compute_buffer_release(in);
        compute_device_release(device);
        _exit(right ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 3), 8);
}

TEST(f6_a_place_on_the_bus_is_told_in_one_form_or_not_at_all)
{
    static compute_device_info found[64];
    size_t count = 0;
    found[0].struct_size = sizeof found[0];
    OK(compute_devices_list(NULL, found, 0, COUNT_OF(found), &count, E));
    for (size_t i = 0; i < count; i++) {
        unsigned domain, bus, card, function;
        char again[64];
        if (strlen(found[i].pci_address) == 0) continue;
        CHECK(sscanf(found[i].pci_address, "%x:%x:%x.%x", &domain, &bus, &card, &function) == 4);
        snprintf(again, sizeof again, "%04x:%02x:%02x.%x", domain, bus, card, function);
        CHECK(strcmp(again, found[i].pci_address) == 0);
    }
    CHECK(count > 0 && strlen(found[0].pci_address) == 0); /* the cpu device is on no bus */
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m2_a_size_that_can_never_be_allocated_is_told_apart_from_out_of_memory);
    RUN(m2_out_of_memory_is_reclaimable_and_harms_nothing);
    RUN(m9_views_whose_end_wraps_are_out_of_range_everywhere);
    RUN(m9_a_size_that_is_not_the_views_is_refused);
    RUN(m9_a_fill_pattern_has_1_2_4_8_or_16_bytes_and_may_be_cut_short);
    RUN(s1_a_device_opens_only_if_it_is_the_exact_target_asked_for);
    RUN(s1_the_number_of_queues_can_be_set_before_the_first_stream_only);
    RUN(s1_eight_threads_use_the_same_handles);
    RUN(s1_l8_eight_threads_on_their_own_streams_change_one_buffer_and_lose_nothing);
    RUN(s1_while_a_thread_holds_the_device_calls_of_others_that_enqueue_wait);
    RUN(s2_an_event_is_not_ready_then_times_out_then_completes);
    RUN(s2_waiting_for_any_and_for_all_of_several_events);
    RUN(s2_another_stream_waits_for_an_event_on_the_device);
    RUN(s2_an_event_of_another_device_is_refused);
    RUN(s2_an_event_gives_a_file_descriptor_that_becomes_readable_when_it_completes);
    RUN(s2_a_sync_that_runs_out_of_time_says_so_and_harms_nothing);
    RUN(m8_an_asynchronous_read_completes_with_its_event);
    RUN(s2_event_times_are_device_time_in_order_where_the_device_has_them);
    RUN(f3_an_error_object_outlives_its_device_and_is_read_from_any_thread);
    RUN(f3_error_texts_come_by_two_calls_and_a_short_buffer_is_filled_as_far_as_it_goes);
    RUN(f4_a_callback_on_poll_runs_once_from_the_thread_that_polls);
    RUN(f4_t12_a_callback_of_a_read_whose_device_ends_says_if_its_memory_is_still_borrowed);
    RUN(f4_a_callback_may_call_the_library_and_release_its_event);
    RUN(f7_destroy_ends_the_handle_at_once_and_work_in_flight_finishes);
    RUN(f1_garbage_and_handles_of_another_type_are_invalid);
    RUN(f6_a_child_of_a_process_that_uses_the_library_must_not_use_it);
    RUN(f6_a_place_on_the_bus_is_told_in_one_form_or_not_at_all);
    return finish();
}
