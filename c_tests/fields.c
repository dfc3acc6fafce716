/* Field reports as tests, by their ids: what people ran into elsewhere. DL-.. are in l_rules.c, MEM-07 is soak.c. */
#include "rules.h"

#define WORDS 256
#define BYTES (4 * WORDS)

static compute_device device;
static compute_stream stream;
static compute_kernel increment, add;
static compute_buffer in, out;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    add = make_kernel(device, ADD);
    in = make_buffer(device, BYTES, "in");
    out = make_buffer(device, BYTES, "out");
    fill_words(stream, in, 7);
    OK(launch_io(stream, increment, "warm", in, out, WORDS / 64));
    wait_for(stream);
}
static void set_up(void) { set_up_on(open_device()); }
static void set_up_faulty(void) { set_up_on(open_faulty()); }
static void fail_next(uint32_t how) { OK(compute_device_inject_fault(device, 1, how, E)); }

/* ---- KT-08 ---- */

#define REDUCE(size) IO "var<workgroup> acc: array<u32, " #size ">;\nvar<workgroup> lim: u32;\n" \
    "@compute @workgroup_size(" #size ") fn reduce(@builtin(local_invocation_index) li: u32) {\n" \
    "  acc[li] = I[li]; if li == 0u { lim = " #size "u / 2u; }\n  workgroupBarrier();\n" \
    "  loop { let s = workgroupUniformLoad(&lim); if s == 0u { break; }\n" \
    "    if li < s { acc[li] += acc[li + s]; }\n    workgroupBarrier();\n    if li == 0u { lim = lim / 2u; } }\n" \
    "  if li == 0u { O[0] = acc[0]; } }"

TEST(kt_08_barriers_in_a_loop_whose_bound_comes_from_workgroup_memory)
{
    set_up();
    static const struct { const char *source; uint32_t size; } tries[] = { { REDUCE(64), 64 }, { REDUCE(1), 1 }, { REDUCE(2), 2 }, { REDUCE(256), 256 } };
    for (uint32_t i = 0; i < WORDS; i++) put_word(stream, in, i, i);
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        OK(launch_io(stream, make_kernel(device, tries[i].source), "", in, out, 1));
        CHECK_EQ(get_word(stream, out, 0), tries[i].size * (tries[i].size - 1) / 2);
    }
}

TEST(kt_10_workgroup_memory_is_zero_for_every_group)
{
    set_up();
    compute_kernel dirty = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "struct S { x: array<u32, 60>, v: vec3<f32>, a: atomic<u32> }\nvar<workgroup> w: S;\n"
        "@compute @workgroup_size(32) fn dirty(@builtin(local_invocation_index) li: u32) {\n"
        "  var bits = bitcast<u32>(w.v.x) | bitcast<u32>(w.v.y) | bitcast<u32>(w.v.z) | atomicLoad(&w.a);\n"
        "  for (var i = 0u; i < 60u; i += 1u) { bits |= w.x[i]; }\n  workgroupBarrier();\n  O[li] = bits + 7u;\n"
        "  for (var i = 0u; i < 60u; i += 1u) { w.x[i] = 0xdeadbeefu; }\n  w.v = vec3<f32>(1.0); atomicOr(&w.a, 0xffffffffu); }");
    compute_binding binding = bind(0, out);
    for (int round = 0; round < 2; round++) {
        OK(launch(stream, dirty, 40, &binding, 1));
        for (int i = 0; i < 32; i++) CHECK_EQ(get_word(stream, out, i), 7);
    }
}

/* ---- MEM-08 ---- */

TEST(mem_08_empty_buffers_and_ranges_are_no_work_and_never_mean_everything)
{
    set_up();
    compute_buffer empty = make_buffer(device, 0, "empty");
    uint64_t size = 1;
    unsigned char byte = 9;
    OK(compute_buffer_get_size(empty, &size, E));
    CHECK_EQ(size, 0);
    compute_view nothing = whole(empty), end = range(in, BYTES, 0), middle = range(in, 8, 0), behind = range(in, BYTES + 4, 0), rest = range(in, BYTES, COMPUTE_WHOLE);
    OK(compute_stream_write(stream, &nothing, &byte, 0, E));
    OK(compute_stream_read(stream, &nothing, &byte, 0, E));
    OK(compute_stream_fill(stream, &nothing, &byte, 1, E));
    OK(compute_stream_copy(stream, &nothing, &end, E));
    OK(compute_stream_copy(stream, &end, &middle, E));
    OK(compute_stream_fill(stream, &middle, &byte, 1, E));
    OK(compute_stream_fill(stream, &rest, &byte, 1, E));
    OK(compute_stream_write(stream, &end, NULL, 0, E));
    OK(compute_stream_read(stream, &middle, NULL, 0, E));
    OK(compute_check(&nothing, 1, 0, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_fill(stream, &behind, &byte, 1, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &behind, &nothing, E));
    for (int i = 0; i < WORDS; i++) CHECK_EQ(get_word(stream, in, i), 7);
}

TEST(mem_08_binding_an_empty_range_is_one_clear_error)
{
    set_up();
    compute_buffer empty = make_buffer(device, 0, "empty");
    compute_binding bindings[2] = { bind(0, empty), bind(1, out) };
    IS_CLASS(100, launch(stream, increment, 4, bindings, 2));
    compute_binding none[2] = { bind_range(0, in, 0, 0), bind(1, out) };
    IS_CLASS(100, launch(stream, increment, 4, none, 2));
}

/* ---- ERR ---- */

TEST(err_02_a_failure_reaches_every_waiter_and_only_them)
{
    set_up_faulty();
    compute_stream b = make_stream(device), c = make_stream(device);
    compute_buffer s = make_buffer(device, BYTES, "s"), unrelated = make_buffer(device, BYTES, "unrelated");
    compute_event e = NULL, s_done = NULL, c_done = NULL;
    uint32_t word;
    fill_words(c, unrelated, 1);
    wait_for(c);
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, launch_io(stream, increment, "A", in, out, 4));
    OK(compute_stream_record(stream, &e, E));
    OK(compute_stream_wait_event(b, e, E));
    IS(COMPUTE_SKIPPED, launch_io(b, increment, "K2", out, s, 4));
    OK(compute_stream_record(b, &s_done, E));
    fill_words(c, unrelated, 2);
    OK(compute_stream_record(c, &c_done, E));
    compute_event all[3] = { e, s_done, c_done };
    OK(compute_events_wait_all(all, 3, 5 * SECONDS, E)); /* T10: events complete; the bytes carry the failure */
    IS(COMPUTE_ERROR_UNWRITTEN, get(b, s, 0, &word, 4));
    CHECK_EQ(last_info().skip, 1);
    CHECK_EQ(last_info().chain_count, 1);
    CHECK(strcmp(chain_entry(0).label, "K2") == 0);
    CHECK_EQ(root_info().status, COMPUTE_ERROR_DRIVER);
    CHECK_EQ(get_word(c, unrelated, 7), 2);
}

TEST(err_03_the_failure_is_that_of_the_launch_that_failed_and_later_ones_are_their_own)
{
    set_up_faulty();
    compute_buffer results[6];
    uint32_t amount = 1;
    for (int i = 1; i <= 5; i++) {
        char label[8];
        snprintf(label, sizeof label, "k%d", i);
        results[i] = make_buffer(device, BYTES, label);
        fill_words(stream, results[i], 0);
    }
    wait_for(stream);
    OK(launch_io(stream, increment, "k1", in, results[1], 4));
    wait_for(stream);
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, launch_io(stream, increment, "k2", in, results[2], 4));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "k3", results[2], results[3], 4));
    compute_binding bad[3] = { bind(0, in), bind(1, results[4]), bind_bytes(2, &amount, 4) };
    compute_launch_desc k4 = launch_desc(add, 4, 1, 1, bad, 3);
    k4.label = "k4";
    k4.label_length = 2;
    IS_CLASS(100, compute_stream_launch(stream, &k4, E));
    OK(launch_io(stream, increment, "k5", in, results[5], 4));

    compute_view views[5];
    for (int i = 1; i <= 5; i++) views[i - 1] = whole(results[i]);
    IS(COMPUTE_ERROR_SEVERAL, compute_stream_sync(stream, views, 5, 0, COMPUTE_FOREVER, E));
    CHECK_EQ(last_info().member_count, 2);
    CHECK(error_says("k2") && error_says("k4") && !error_says("k5"));
    uint32_t word;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, results[3], 0, &word, 4));
    CHECK(error_says("k2") && error_says("k3") && !error_says("k4"));
    CHECK_EQ(get_word(stream, results[1], 0), 8);
    CHECK_EQ(get_word(stream, results[5], 0), 8);
}

TEST(err_04_a_launch_that_is_refused_is_an_error_and_the_next_good_one_is_right)
{
    set_up();
    compute_device_info info = device_info(device);
    if (info.max_grid[0] != UINT32_MAX) IS(COMPUTE_ERROR_LIMIT, launch_io(stream, increment, "", in, out, info.max_grid[0] + 1));
    OK(launch_io(stream, increment, "", in, out, 0));
    OK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E));
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

TEST(err_05_a_wait_answers_done_or_timed_out_and_for_ever_means_it)
{
    set_up();
    compute_kernel spin = make_kernel(device, SPIN);
    put_word(stream, in, 0, turns_of(device, stream, 2000000000u / 3) * 3);
    put_word(stream, in, 1, 42);
    compute_event event = NULL;
    OK(launch_io(stream, spin, "about 3 s", in, out, 1));
    OK(compute_stream_record(stream, &event, E));
    uint64_t start = now_ns();
    compute_status first = compute_event_wait(event, SECONDS, E);
    if (now_ns() - start >= SECONDS) CHECK_EQ(first, COMPUTE_TIMEOUT);
    if (first == COMPUTE_TIMEOUT) IS(COMPUTE_NOT_READY, compute_event_poll(event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    printf("  the long kernel took %.1f s\n", 1e-9 * (double)(now_ns() - start));
    CHECK_EQ(get_word(stream, out, 0), 42);
}

TEST(err_06_an_aborted_submission_is_a_failure_of_what_was_in_it)
{
    set_up_faulty();
    uint32_t word = 5;
    fail_next(COMPUTE_FAULT_LATE);
    OK(launch_io(stream, increment, "aborted", in, out, 4));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(word, 5);
}

static int calls;
static void count_call(void *user, compute_status status, compute_error error)
{
    (void)user;
    (void)status;
    (void)error;
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
}
static void release_inside(void *user, compute_status status, compute_error error)
{
    count_call(user, status, error);
    compute_event_release(user);
}
static int await_calls(int expected)
{
    for (int i = 0; i < 10000 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) < expected; i++) usleep(1000);
    return __atomic_load_n(&calls, __ATOMIC_SEQ_CST) == expected;
}

enum { CALLBACKS = 10000 };

TEST(err_07_ten_thousand_callbacks_on_events_that_completed_before)
{
    set_up();
    for (int i = 0; i < CALLBACKS; i++) {
        compute_event event = NULL;
        OK(compute_stream_record(stream, &event, E));
        OK(compute_event_wait(event, COMPUTE_FOREVER, E));
        OK(compute_event_on_complete(event, count_call, NULL, i & 1 ? COMPUTE_CALLBACK_ON_WORKER : COMPUTE_CALLBACK_ON_POLL, E));
        OK(compute_event_poll(event, E));
        compute_event_release(event);
    }
    CHECK(await_calls(CALLBACKS));
}

TEST(err_07_ten_thousand_callbacks_that_release_their_event)
{
    set_up();
    for (int i = 0; i < CALLBACKS; i++) {
        compute_event event = NULL;
        fill_words(stream, out, (uint32_t)i);
        OK(compute_stream_record(stream, &event, E));
        OK(compute_event_on_complete(event, release_inside, event, COMPUTE_CALLBACK_ON_WORKER, E));
    }
    wait_for(stream);
    CHECK(await_calls(CALLBACKS));
    CHECK_EQ(get_word(stream, out, 0), CALLBACKS - 1);
}

TEST(err_07_callbacks_run_once_when_the_device_is_destroyed)
{
    set_up();
    enum { MANY = 1000 };
    for (int i = 0; i < MANY; i++) {
        compute_event event = NULL;
        fill_words(stream, out, (uint32_t)i);
        OK(compute_stream_record(stream, &event, E));
        OK(compute_event_on_complete(event, release_inside, event, COMPUTE_CALLBACK_ON_WORKER, E));
    }
    OK(compute_device_destroy(device, E));
    CHECK(await_calls(MANY));
    usleep(20000);
    CHECK_EQ(calls, MANY);
}

TEST(err_07_callbacks_run_once_when_work_failed)
{
    set_up_faulty();
    enum { MANY = 1000 };
    for (int i = 0; i < MANY; i++) {
        compute_event event = NULL;
        fail_next(COMPUTE_FAULT_ERROR);
        IS(COMPUTE_ERROR_DRIVER, launch_io(stream, increment, "", in, out, 4));
        OK(compute_stream_record(stream, &event, E));
        OK(compute_event_on_complete(event, release_inside, event, COMPUTE_CALLBACK_ON_WORKER, E));
    }
    CHECK(await_calls(MANY));
    usleep(20000);
    CHECK_EQ(calls, MANY);
}

/* ---- TX ---- */

TEST(tx_01_any_byte_offset_and_size_works_and_neighbours_stay)
{
    set_up();
    enum { ROOM = 64 };
    compute_buffer from = make_buffer(device, ROOM, "from"), to = make_buffer(device, ROOM, "to");
    unsigned char expected_from[ROOM], expected_to[ROOM], found[ROOM], pattern[16];
    unsigned char aa = 0xaa;
    uint64_t tried = 0;
    for (uint64_t offset = 0; offset < 8; offset++) {
        for (uint64_t size = 0; size <= 9; size++) {
            for (uint64_t target = 0; target < 8; target++) {
                compute_view all_from = whole(from), all_to = whole(to), source = range(from, offset, size), destination = range(to, target, size);
                for (unsigned i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(1 + i + 16 * offset + size);
                OK(compute_stream_fill(stream, &all_from, &aa, 1, E));
                OK(compute_stream_fill(stream, &all_to, &aa, 1, E));
                OK(compute_stream_write(stream, &source, pattern, size, E));
                OK(compute_stream_copy(stream, &source, &destination, E));
                memset(expected_from, 0xaa, ROOM);
                memset(expected_to, 0xaa, ROOM);
                memcpy(expected_from + offset, pattern, size);
                memcpy(expected_to + target, pattern, size);
                OK(compute_stream_read(stream, &all_from, found, ROOM, E));
                CHECK(memcmp(found, expected_from, ROOM) == 0);
                OK(compute_stream_read(stream, &all_to, found, ROOM, E));
                CHECK(memcmp(found, expected_to, ROOM) == 0);
                memset(found, 0x55, ROOM);
                OK(compute_stream_read(stream, &destination, found + 1, size, E));
                CHECK(memcmp(found + 1, pattern, size) == 0 && found[0] == 0x55 && found[1 + size] == 0x55);
                OK(compute_stream_fill(stream, &destination, pattern, 2, E));
                for (uint64_t i = 0; i < size; i++) expected_to[target + i] = pattern[i % 2];
                OK(compute_stream_read(stream, &all_to, found, ROOM, E));
                CHECK(memcmp(found, expected_to, ROOM) == 0);
                tried++;
            }
        }
    }
    CHECK_EQ(tried, 640);
}

TEST(tx_01_copies_within_one_buffer_are_a_memmove_or_refused)
{
    set_up();
    enum { ROOM = 64 };
    compute_buffer buffer = make_buffer(device, ROOM, "one");
    unsigned char start[ROOM], expected[ROOM], found[ROOM];
    for (int i = 0; i < ROOM; i++) start[i] = (unsigned char)(i * 7 + 1);
    for (uint64_t offset = 0; offset < 12; offset++) {
        for (uint64_t target = 0; target < 12; target++) {
            for (uint64_t size = 0; size <= 9; size += 3) {
                compute_view source = range(buffer, offset, size), destination = range(buffer, target, size);
                put(stream, buffer, 0, start, ROOM);
                memcpy(expected, start, ROOM);
                int overlap = size > 0 && offset < target + size && target < offset + size;
                compute_status status = compute_stream_copy(stream, &source, &destination, E);
                CHECK_EQ(status, overlap ? COMPUTE_ERROR_OVERLAP : COMPUTE_OK);
                if (overlap) continue;
                memmove(expected + target, expected + offset, size);
                OK(get(stream, buffer, 0, found, ROOM));
                CHECK(memcmp(found, expected, ROOM) == 0);
            }
        }
    }
}

TEST(tx_02_upload_memory_may_be_overwritten_and_freed_as_soon_as_the_call_returns)
{
    set_up();
    enum { ROOM = 64 << 20 };
    compute_buffer buffer = make_buffer(device, ROOM, "large");
    compute_view view = whole(buffer);
    unsigned char *back = malloc(ROOM);
    CHECK(back != NULL);
    for (int round = 1; round <= 10; round++) {
        unsigned char *bytes = malloc(ROOM);
        CHECK(bytes != NULL);
        memset(bytes, round, ROOM);
        OK(compute_stream_write(stream, &view, bytes, ROOM, E));
        memset(bytes, 0, ROOM);
        free(bytes);
        OK(compute_stream_read(stream, &view, back, ROOM, E));
        for (size_t i = 0; i < ROOM; i += 4093) CHECK(back[i] == round);
        CHECK(back[0] == round && back[ROOM - 1] == round);
    }
    free(back);
}

TEST(tx_02_borrowed_upload_memory_may_be_overwritten_once_the_event_is_done)
{
    set_up();
    enum { ROOM = 1 << 20 };
    compute_buffer buffer = make_buffer(device, ROOM, "large");
    compute_view view = whole(buffer);
    unsigned char *bytes = malloc(ROOM), *back = malloc(ROOM);
    CHECK(bytes && back);
    for (int round = 1; round <= 50; round++) {
        compute_event event = NULL;
        memset(bytes, round, ROOM);
        OK(compute_stream_write_borrowed(stream, &view, bytes, ROOM, &event, E));
        OK(compute_event_wait(event, COMPUTE_FOREVER, E));
        compute_event_release(event);
        memset(bytes, 0, ROOM);
        OK(compute_stream_read(stream, &view, back, ROOM, E));
        for (size_t i = 0; i < ROOM; i += 511) CHECK(back[i] == round);
    }
    free(bytes);
    free(back);
}

TEST(tx_03_a_read_waits_for_the_work_before_it)
{
    set_up();
    compute_kernel spin = make_kernel(device, SPIN);
    put_word(stream, in, 0, 60000000);
    put_word(stream, in, 1, 2);
    put_word(stream, out, 0, 1);
    OK(launch_io(stream, spin, "slow", in, out, 1));
    CHECK_EQ(get_word(stream, out, 0), 2);
    compute_stream other = make_stream(device);
    put_word(stream, in, 1, 3);
    OK(launch_io(stream, spin, "slow", in, out, 1));
    CHECK_EQ(get_word(other, out, 0), 3); /* also from another stream (L8) */
}

/* ---- THR-01, THR-03 ---- */

static compute_stream waiting_stream;
static void *wait_long(void *unused)
{
    (void)unused;
    return compute_stream_sync(waiting_stream, NULL, 0, 0, COMPUTE_FOREVER, NULL) == COMPUTE_OK ? NULL : "sync";
}

TEST(thr_01_a_thread_that_waits_does_not_hold_up_anothers_launches)
{
    set_up();
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer spun = make_buffer(device, 8, "spun"), turns = make_buffer(device, 8, "turns");
    pthread_t thread;
    void *problem;
    waiting_stream = make_stream(device);
    put_word(waiting_stream, turns, 0, turns_of(device, stream, 1000000000) * 2);
    OK(launch_io(waiting_stream, spin, "2 s", turns, spun, 1));
    CHECK(pthread_create(&thread, NULL, wait_long, NULL) == 0);
    usleep(50000);
    uint64_t fastest = UINT64_MAX; /* of three, as the machine may have other work */
    for (int i = 0; i < 3; i++) {
        uint64_t start = now_ns();
        OK(launch_io(stream, increment, "", in, out, 4));
        if (now_ns() - start < fastest) fastest = now_ns() - start;
    }
    CHECK(fastest < 50 * MILLISECONDS);
    CHECK(pthread_join(thread, &problem) == 0 && problem == NULL);
}

struct waiter {
    compute_event event;
    double used; /* nanoseconds of processor time */
};
static void *wait_and_measure(void *waiter)
{
    struct waiter *mine = waiter;
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    compute_status status = compute_event_wait(mine->event, COMPUTE_FOREVER, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    mine->used = 1e9 * (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec);
    return status == COMPUTE_OK ? NULL : "wait";
}

/* On the cpu device a thread that waits may do the work itself, but then only one of two: the other one has nothing to do but sleep. */
TEST(thr_03_waiting_sleeps)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_kernel spin = make_kernel(device, SPIN);
    struct waiter waiters[2] = { { NULL, 0 }, { NULL, 0 } };
    pthread_t threads[2];
    put_word(stream, in, 0, turns_of(device, stream, 2000000000));
    OK(launch_io(stream, spin, "1 s", in, out, 1));
    uint64_t start = now_ns();
    for (int i = 0; i < 2; i++) OK(compute_stream_record(stream, &waiters[i].event, E));
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, wait_and_measure, &waiters[i]) == 0);
    for (int i = 0; i < 2; i++) {
        void *problem;
        CHECK(pthread_join(threads[i], &problem) == 0 && problem == NULL);
    }
    double waited = (double)(now_ns() - start), less = waiters[0].used, more = waiters[1].used;
    if (less > more) {
        double swap = less;
        less = more;
        more = swap;
    }
    printf("  waited %.0f ms, the two threads used %.2f and %.2f ms of processor time\n", 1e-6 * waited, 1e-6 * less, 1e-6 * more);
    CHECK(waited > 50e6);
    CHECK(less < 5e6 + 0.01 * waited);
    if (device_info(device).kind != COMPUTE_DEVICE_CPU) CHECK(more < 5e6 + 0.1 * waited);
}

/* ---- TM-02 ---- */

static uint64_t device_time(compute_event event)
{
    uint64_t time = 0;
    OK(compute_event_get_time(event, &time, E));
    CHECK(time != 0);
    return time;
}

static int has_times(void)
{
    set_up_on(open_with(COMPUTE_DEVICE_FLAG_TIMESTAMPS, NULL));
    if (device_info(device).capabilities & COMPUTE_CAPABILITY_TIMESTAMPS) return 1;
    printf("  not tried: this device has no times\n");
    return 0;
}

TEST(tm_02_times_are_the_device_s_and_come_when_the_work_is_over)
{
    if (!has_times() || !runs_long(device, stream)) return;
    enum { SOME = 1000000 };
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer once = make_buffer(device, 8, "once"), twice = make_buffer(device, 8, "twice");
    compute_event events[3];
    put_word(stream, once, 0, SOME);
    put_word(stream, once, 1, 1);
    OK(launch_io(stream, spin, "warm-up", once, out, 1));
    wait_for(stream);
    for (int i = 0; i < 2; i++) {
        OK(compute_stream_record(stream, &events[i], E));
        if (i == 0) OK(launch_io(stream, spin, "measured", once, out, 1));
    }
    wait_for(stream);
    uint64_t turns = SOME * (50 * MILLISECONDS) / (device_time(events[1]) - device_time(events[0]));
    CHECK(turns < UINT32_MAX / 2);
    put_word(stream, once, 0, (uint32_t)turns);
    put_word(stream, twice, 0, (uint32_t)(2 * turns));
    put_word(stream, twice, 1, 1);
    wait_for(stream);
    for (int i = 0; i < 2; i++) compute_event_release(events[i]);

    uint64_t start = now_ns(), unset = 77;
    OK(compute_stream_record(stream, &events[0], E));
    OK(launch_io(stream, spin, "50 ms", once, out, 1));
    OK(compute_stream_record(stream, &events[1], E));
    OK(launch_io(stream, spin, "100 ms", twice, out, 1));
    OK(compute_stream_record(stream, &events[2], E));
    uint64_t enqueued = now_ns() - start;
    compute_status early = compute_event_get_time(events[2], &unset, E);
    if (now_ns() - start < 50 * MILLISECONDS) CHECK_EQ(early, COMPUTE_NOT_READY);
    OK(compute_event_wait(events[2], COMPUTE_FOREVER, E));
    uint64_t waited = now_ns() - start, first = device_time(events[1]) - device_time(events[0]), second = device_time(events[2]) - device_time(events[1]);
    printf("  enqueued in %.2f ms; %.1f and %.1f ms\n", 1e-6 * (double)enqueued, 1e-6 * (double)first, 1e-6 * (double)second);
    CHECK(first + second <= waited);
    /* A processor is shared with others, whose time counts. */
    if (device_info(device).kind != COMPUTE_DEVICE_CPU) {
        CHECK(10 * second >= 16 * first && 10 * second <= 24 * first);
        CHECK(enqueued < 5 * MILLISECONDS);
    } else {
        CHECK(second > first);
    }
}

TEST(tm_02_ten_thousand_empty_pairs_never_take_less_than_nothing)
{
    if (!has_times()) return;
    uint64_t last = 0;
    for (int pair = 0; pair < 10000; pair += 100) {
        compute_event events[200];
        for (size_t i = 0; i < COUNT_OF(events); i++) OK(compute_stream_record(stream, &events[i], E));
        wait_for(stream);
        for (size_t i = 0; i < COUNT_OF(events); i++) {
            uint64_t time = device_time(events[i]);
            CHECK(time >= last);
            last = time;
            compute_event_release(events[i]);
        }
    }
}

TEST(tm_02_without_times_there_is_an_error_and_no_number)
{
    set_up();
    compute_event event = NULL;
    uint64_t time = 77;
    OK(compute_stream_record(stream, &event, E));
    wait_for(stream);
    if (device_info(device).capabilities & COMPUTE_CAPABILITY_TIMESTAMPS) {
        CHECK(device_time(event) != 0);
    } else {
        IS(COMPUTE_ERROR_UNSUPPORTED, compute_event_get_time(event, &time, E));
    }
}

static void *all_of_it(void *unused)
{
    (void)unused;
    set_up();
    CHECK_EQ(get_word(stream, out, 0), 8);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(increment);
    compute_kernel_release(add);
    compute_stream_release(stream);
    compute_device_release(device);
    return NULL;
}

TEST(thr_03_a_thread_that_is_not_the_main_one_may_do_everything)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, all_of_it, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

TEST(mem_09_uploads_do_not_pile_up)
{
    set_up();
    enum { ROOM = 65536, WRITES = 100000 };
    static unsigned char bytes[ROOM];
    compute_buffer buffer = make_buffer(device, ROOM, "target");
    compute_view view = whole(buffer);
    long before = rss_kib();
    for (int i = 0; i < WRITES; i++) {
        memset(bytes, i & 0xff, 16);
        OK(compute_stream_write(stream, &view, bytes, ROOM, E));
    }
    CHECK(rss_kib() - before < 256 * 1024);
    OK(compute_stream_read(stream, &view, bytes, ROOM, E));
    CHECK_EQ(bytes[0], (WRITES - 1) & 0xff);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(kt_08_barriers_in_a_loop_whose_bound_comes_from_workgroup_memory);
    RUN(kt_10_workgroup_memory_is_zero_for_every_group);
    RUN(mem_08_empty_buffers_and_ranges_are_no_work_and_never_mean_everything);
    RUN(mem_08_binding_an_empty_range_is_one_clear_error);
    RUN(mem_09_uploads_do_not_pile_up);
    RUN(err_02_a_failure_reaches_every_waiter_and_only_them);
    RUN(err_03_the_failure_is_that_of_the_launch_that_failed_and_later_ones_are_their_own);
    RUN(err_04_a_launch_that_is_refused_is_an_error_and_the_next_good_one_is_right);
    RUN(err_05_a_wait_answers_done_or_timed_out_and_for_ever_means_it);
    RUN(err_06_an_aborted_submission_is_a_failure_of_what_was_in_it);
    RUN(err_07_ten_thousand_callbacks_on_events_that_completed_before);
    RUN(err_07_ten_thousand_callbacks_that_release_their_event);
    RUN(err_07_callbacks_run_once_when_the_device_is_destroyed);
    RUN(err_07_callbacks_run_once_when_work_failed);
    RUN(tx_01_any_byte_offset_and_size_works_and_neighbours_stay);
    RUN(tx_01_copies_within_one_buffer_are_a_memmove_or_refused);
    RUN(tx_02_upload_memory_may_be_overwritten_and_freed_as_soon_as_the_call_returns);
    RUN(tx_02_borrowed_upload_memory_may_be_overwritten_once_the_event_is_done);
    RUN(tx_03_a_read_waits_for_the_work_before_it);
    RUN(thr_01_a_thread_that_waits_does_not_hold_up_anothers_launches);
    RUN(tm_02_times_are_the_device_s_and_come_when_the_work_is_over);
    RUN(tm_02_ten_thousand_empty_pairs_never_take_less_than_nothing);
    RUN(tm_02_without_times_there_is_an_error_and_no_number);
    RUN(thr_03_waiting_sleeps);
    RUN(thr_03_a_thread_that_is_not_the_main_one_may_do_everything);
    return finish();
}
