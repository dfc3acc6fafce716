/* Field reports as tests, by their ids: what people ran into elsewhere. DL-.. are in l_rules.c, MEM-07 is soak.c. */
#include "rules.h"

#include <poll.h>

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

static int readable(int fd, int ms)
{
    struct pollfd asked = { fd, POLLIN, 0 };
    int ready = poll(&asked, 1, ms);
    CHECK(ready >= 0);
    return ready;
}

/* How a thread can wait for the end of long work. */
enum { BY_EVENT, BY_SYNC, BY_READ, BY_ANY, BY_ALL, BY_MAPPING, WAYS };
static const char *const ways[WAYS] = { "an event", "a stream", "a read", "any of two events", "all of two events", "mapped memory" };
struct waiting {
    int way, begun;
    compute_stream stream;
    compute_event event; /* behind the work */
    struct slow *slow;
    pthread_t thread;
    compute_status answer;
    int early; /* it came back before the work was over */
};

/* Of `slow.done`, made before there is work: mapping waits, too. NULL where memory cannot be mapped. */
static compute_mapping slow_mapping;
static struct slow slow_work(void)
{
    struct slow slow = make_slow(device, stream);
    compute_view done = whole(slow.done);
    slow_mapping = NULL;
    if (device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) OK(compute_buffer_map(&done, &slow_mapping, E));
    return slow;
}

static void *wait_long(void *user)
{
    struct waiting *w = user;
    compute_view done = range(w->slow->done, 0, 4);
    compute_event twice[2] = { w->event, w->event };
    uint32_t launches = 0;
    size_t index;
    __atomic_store_n(&w->begun, 1, __ATOMIC_SEQ_CST);
    switch (w->way) {
    case BY_EVENT: w->answer = compute_event_wait(w->event, COMPUTE_FOREVER, NULL); break;
    case BY_SYNC: w->answer = compute_stream_sync(w->stream, NULL, 0, 0, COMPUTE_FOREVER, NULL); break;
    case BY_READ:
        w->answer = compute_stream_read(w->stream, &done, &launches, 4, NULL);
        w->early = launches != w->slow->launches;
        break;
    case BY_ANY: w->answer = compute_events_wait_any(twice, 2, COMPUTE_FOREVER, &index, NULL); break;
    case BY_ALL: w->answer = compute_events_wait_all(twice, 2, COMPUTE_FOREVER, NULL); break;
    case BY_MAPPING: w->answer = compute_mapping_acquire(slow_mapping, 0, 4, COMPUTE_ACCESS_READ, COMPUTE_FOREVER, NULL); break;
    }
    if (w->way != BY_READ && w->way != BY_MAPPING) w->early = compute_event_poll(w->event, NULL) != COMPUTE_OK;
    return NULL;
}
/* Starts a thread that waits, and answers when it does: nobody sees from outside whether it sleeps already. 0: the device has no such wait. */
static int begin_waiting(struct waiting *w, int way, compute_stream on, compute_event event, struct slow *slow)
{
    struct waiting fresh = { .way = way, .stream = on, .event = event, .slow = slow, .answer = COMPUTE_ERROR_INTERNAL };
    if (way == BY_MAPPING && !slow_mapping) return 0;
    *w = fresh;
    CHECK(pthread_create(&w->thread, NULL, wait_long, w) == 0);
    while (!__atomic_load_n(&w->begun, __ATOMIC_SEQ_CST)) usleep(100);
    usleep(20000);
    return 1;
}
static void end_waiting(struct waiting *w)
{
    CHECK(pthread_join(w->thread, NULL) == 0);
    if (w->answer != COMPUTE_OK || w->early) fprintf(stderr, "  a wait for %s answered %s%s\n", ways[w->way], compute_status_name(w->answer), w->early ? ", early" : "");
    CHECK(w->answer == COMPUTE_OK && !w->early);
}

/* Some drivers end each wait after five seconds, and say that all is over. Answers how long the work took that was waited for. */
static uint64_t wait_for_long_work(struct slow *slow, uint64_t ns)
{
    struct waiting waiting[WAYS];
    int waits[WAYS];
    compute_event event = NULL;
    queue_slow(slow, stream, ns);
    OK(compute_stream_record(stream, &event, E));
    uint64_t start = now_ns();
    for (int way = 0; way < WAYS; way++) waits[way] = begin_waiting(&waiting[way], way, stream, event, slow);
    compute_status first = compute_event_wait(event, SECONDS, E);
    CHECK_EQ(first, COMPUTE_TIMEOUT);
    CHECK(now_ns() - start >= SECONDS);
    IS(COMPUTE_NOT_READY, compute_event_poll(event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    OK(compute_event_poll(event, E));
    uint64_t took = now_ns() - start;
    for (int way = 0; way < WAYS; way++) {
        if (waits[way]) end_waiting(&waiting[way]);
    }
    compute_event_release(event);
    CHECK_EQ(get_word(stream, slow->done, 0), slow->launches);
    return took;
}

TEST(err_05_a_wait_answers_done_or_timed_out_and_for_ever_means_it)
{
    set_up();
    struct slow slow = slow_work();
    /* As much as takes so long now, as the machine may have other work, and again should it have less of that then. */
    uint64_t start = now_ns();
    queue_slow(&slow, stream, 500 * MILLISECONDS);
    wait_for(stream);
    uint64_t took = now_ns() - start;
    took = wait_for_long_work(&slow, 3500 * SECONDS / (took / MILLISECONDS));
    if (took < 6 * SECONDS) took = wait_for_long_work(&slow, 49 * SECONDS / (took / MILLISECONDS) * 1000);
    printf("  the work took %.1f s%s\n", 1e-9 * (double)took, took < 5500 * MILLISECONDS ? "; not tried: waits of more than 5 s, as it was faster than measured" : "");
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

/* A callback that hangs until the thread that waits gives `mine` up, as one does that wants the lock of an interpreter. */
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static int inside, outside;
static void take_mine(void)
{
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mine);
    pthread_mutex_unlock(&mine);
    __atomic_add_fetch(&outside, 1, __ATOMIC_SEQ_CST);
}
static void want_mine(void *user, compute_status status, compute_error error)
{
    (void)user;
    (void)status;
    (void)error;
    take_mine();
}
static void log_wants_mine(void *user, uint32_t level, const char *text, size_t length)
{
    (void)level;
    (void)text;
    (void)length;
    if (pthread_equal(pthread_self(), *(pthread_t *)user)) take_mine();
}
static void await_count(int *count, int expected)
{
    for (int i = 0; i < 20000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) < expected; i++) usleep(1000);
    CHECK_EQ(__atomic_load_n(count, __ATOMIC_SEQ_CST), expected);
}

/* Everything that waits, while somebody's callback hangs. */
static void everybody_goes_on(compute_device on, compute_stream with, compute_buffer words)
{
    compute_event events[4] = { NULL };
    compute_view view = range(words, 0, 4);
    uint32_t word = 0, next;
    size_t index = 99;
    int32_t fd = -1;
    for (uint32_t round = 1; round <= 3; round++) {
        OK(compute_stream_fill(with, &view, &round, 4, E));
        OK(compute_stream_record(with, &events[0], E));
        OK(compute_event_wait(events[0], COMPUTE_FOREVER, E));
        OK(compute_event_poll(events[0], E));
        next = round + 10;
        OK(compute_stream_fill(with, &view, &next, 4, E));
        OK(compute_stream_sync(with, &view, 1, 0, COMPUTE_FOREVER, E));
        OK(compute_stream_read(with, &view, &word, 4, E));
        CHECK_EQ(word, round + 10);
        next = round + 20;
        OK(compute_stream_fill(with, &view, &next, 4, E));
        OK(compute_stream_read_async(with, &view, &word, 4, &events[1], E));
        calls = 0;
        OK(compute_event_on_complete(events[1], count_call, NULL, COMPUTE_CALLBACK_ON_POLL, E));
        OK(compute_event_wait(events[1], COMPUTE_FOREVER, E));
        CHECK_EQ(word, round + 20);
        CHECK_EQ(calls, 1);
        OK(compute_stream_fill(with, &view, &round, 4, E));
        OK(compute_stream_record(with, &events[2], E));
        OK(compute_event_get_fd(events[2], &fd, E));
        OK(compute_stream_flush(with, E));
        CHECK(readable(fd, 20000));
        close(fd);
        OK(compute_event_poll(events[2], E));
        OK(compute_stream_fill(with, &view, &round, 4, E));
        OK(compute_stream_record(with, &events[3], E));
        OK(compute_events_wait_any(&events[3], 1, COMPUTE_FOREVER, &index, E));
        OK(compute_events_wait_all(events, 4, COMPUTE_FOREVER, E));
        for (int i = 0; i < 4; i++) compute_event_release(events[i]);
    }
    OK(compute_device_cleanup(on, E));
}
/* The same on this device, which has work before that, on another one, and where a failure comes late. */
static void everybody_goes_on_everywhere(struct slow *slow)
{
    compute_event event = NULL;
    queue_slow(slow, stream, 100 * MILLISECONDS);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    compute_event_release(event);
    everybody_goes_on(device, stream, out);
    compute_device other = open_faulty();
    compute_stream another = make_stream(other);
    compute_buffer words = make_buffer(other, 4, "words");
    uint32_t word = 5;
    everybody_goes_on(other, another, words);
    OK(compute_device_inject_fault(other, 1, COMPUTE_FAULT_LATE, E));
    fill_words(another, words, 1);
    IS(COMPUTE_ERROR_UNWRITTEN, get(another, words, 0, &word, 4));
    CHECK_EQ(word, 5);
    compute_buffer_release(words);
    compute_stream_release(another);
    compute_device_release(other);
}

TEST(err_07_a_thread_may_wait_while_it_holds_a_lock_that_a_callback_hangs_on)
{
    set_up();
    struct slow slow = make_slow(device, stream);
    compute_event event = NULL;
    CHECK(pthread_mutex_lock(&mine) == 0);
    fill_words(stream, out, 1);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_on_complete(event, want_mine, NULL, COMPUTE_CALLBACK_ON_WORKER, E));
    OK(compute_stream_flush(stream, E));
    await_count(&inside, 1);
    everybody_goes_on_everywhere(&slow);
    CHECK_EQ(__atomic_load_n(&outside, __ATOMIC_SEQ_CST), 0);
    CHECK(pthread_mutex_unlock(&mine) == 0);
    await_count(&outside, 1);
    CHECK_EQ(inside, 1);
    CHECK_EQ(get_word(stream, slow.done, 0), slow.launches);
}

static void *poll_it(void *event)
{
    return compute_event_poll(event, NULL) == COMPUTE_OK ? NULL : "poll";
}

TEST(err_07_nor_does_a_callback_on_the_polling_thread_hold_up_others_while_it_hangs)
{
    set_up();
    struct slow slow = make_slow(device, stream);
    compute_event event = NULL;
    pthread_t thread;
    void *problem;
    CHECK(pthread_mutex_lock(&mine) == 0);
    queue_slow(&slow, stream, 200 * MILLISECONDS);
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_on_complete(event, want_mine, NULL, COMPUTE_CALLBACK_ON_POLL, E));
    CHECK_EQ(inside, 0);
    /* Nobody of this device polls meanwhile but the other thread. */
    OK(compute_stream_flush(stream, E));
    int32_t fd = -1;
    OK(compute_event_get_fd(event, &fd, E));
    CHECK(readable(fd, 30000));
    close(fd);
    CHECK(pthread_create(&thread, NULL, poll_it, event) == 0);
    await_count(&inside, 1);
    everybody_goes_on_everywhere(&slow);
    CHECK_EQ(__atomic_load_n(&outside, __ATOMIC_SEQ_CST), 0);
    CHECK(pthread_mutex_unlock(&mine) == 0);
    CHECK(pthread_join(thread, &problem) == 0 && problem == NULL);
    CHECK_EQ(outside, 1);
}

static pthread_t refused_thread;
static int may_fail;
static void *be_refused(void *unused)
{
    (void)unused;
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, in), bind(1, out), bind_bytes(2, &amount, 4) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    while (!__atomic_load_n(&may_fail, __ATOMIC_SEQ_CST)) usleep(100);
    return compute_stream_launch(stream, &desc, NULL) == COMPUTE_ERROR_BINDING ? NULL : "launch";
}

TEST(err_07_nor_does_a_log_callback_while_it_hangs)
{
    set_up();
    struct slow slow = make_slow(device, stream);
    void *problem;
    CHECK(pthread_mutex_lock(&mine) == 0);
    CHECK(pthread_create(&refused_thread, NULL, be_refused, NULL) == 0);
    OK(compute_log_set(log_wants_mine, &refused_thread, COMPUTE_LOG_LAUNCHES, E));
    __atomic_store_n(&may_fail, 1, __ATOMIC_SEQ_CST);
    await_count(&inside, 1);
    fill_words(stream, out, 1); /* what was refused has claimed it */
    everybody_goes_on_everywhere(&slow);
    OK(launch_io(stream, increment, "logged", in, out, 4));
    CHECK_EQ(get_word(stream, out, 3), 8);
    OK(compute_log_set(NULL, NULL, COMPUTE_LOG_OFF, E));
    CHECK_EQ(__atomic_load_n(&outside, __ATOMIC_SEQ_CST), 0);
    CHECK(pthread_mutex_unlock(&mine) == 0);
    CHECK(pthread_join(refused_thread, &problem) == 0 && problem == NULL);
    CHECK(outside >= 1);
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

/* Answers from the function with what took until the work was over that another thread waits for. `over` becomes readable then, which asks nothing of the library. */
#define BESIDE(call)                           \
    do {                                       \
        OK(call);                              \
        if (readable(over, 0)) return #call;   \
    } while (0)
#define BESIDE_VOID(call) BESIDE(((call), COMPUTE_OK))

/* What THR-01 names and more, on another stream. `busy` is used by work behind that. */
static const char *calls_of_others(int over, compute_buffer busy)
{
    compute_view all = whole(out), source = range(in, 0, 64), destination = range(out, 128, 64);
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_memory_usage used = COMPUTE_MEMORY_USAGE_INIT;
    compute_buffer made = NULL;
    compute_event event = NULL;
    uint32_t word = 7;
    desc.size = 256;
    BESIDE(launch_io(stream, increment, "beside", in, out, 4));
    BESIDE(compute_stream_write(stream, &source, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64, E));
    BESIDE(compute_stream_copy(stream, &source, &destination, E));
    BESIDE(compute_stream_fill(stream, &all, &word, 4, E));
    BESIDE(compute_stream_flush(stream, E));
    BESIDE(compute_stream_record(stream, &event, E));
    BESIDE_VOID(compute_event_poll(event, NULL));
    BESIDE_VOID(compute_event_release(event));
    BESIDE(compute_check(&all, 1, 0, E));
    BESIDE(compute_buffer_create(device, &desc, &made, E));
    BESIDE(compute_stream_copy(stream, &source, &(compute_view){ made, 0, 64 }, E));
    BESIDE(compute_buffer_destroy(made, E));
    BESIDE(compute_buffer_create(device, &desc, &made, E));
    BESIDE_VOID(compute_buffer_release(made));
    BESIDE(compute_buffer_destroy(busy, E));
    BESIDE(compute_device_status(device, E));
    BESIDE(compute_device_memory_usage(device, &used, E));
    return NULL;
}

static const char *make_a_kernel(int over, compute_buffer unused)
{
    static unsigned number;
    (void)unused;
    char source[512];
    compute_kernel kernel = NULL;
    snprintf(source, sizeof source, IO "@compute @workgroup_size(1) fn made() { O[0] = I[0] + %uu; }", ++number);
    compute_kernel_desc desc = kernel_desc(source, "made");
    BESIDE(compute_kernel_create(device, &desc, &kernel, E));
    BESIDE(compute_kernel_destroy(kernel, E));
    return NULL;
}

/* Whether all of it was made while the work went on, in one of three attempts: the machine may have other work. Without a way nobody waits for that work. */
static const char *beside(struct slow *slow, int way, uint64_t ns, const char *(*others)(int over, compute_buffer busy))
{
    compute_stream other = make_stream(device);
    const char *held_up = NULL;
    for (int attempt = 0; attempt < 3; attempt++) {
        struct waiting waiting;
        compute_event behind = NULL;
        int32_t over = -1;
        compute_buffer busy = make_buffer(device, BYTES, "busy");
        queue_slow(slow, other, ns);
        OK(compute_stream_record(other, &behind, E));
        OK(launch_io(other, increment, "behind it", slow->done, busy, 4));
        OK(compute_stream_flush(other, E));
        OK(compute_event_get_fd(behind, &over, E));
        int waits = way < WAYS && begin_waiting(&waiting, way, other, behind, slow);
        held_up = way < WAYS && !waits ? NULL : others(over, busy);
        /* Who waits may hear of the end before that. */
        if (!held_up && !(way < WAYS && !waits) && readable(over, 20)) held_up = "one call";
        if (waits) end_waiting(&waiting);
        OK(compute_event_wait(behind, COMPUTE_FOREVER, E));
        wait_for(other);
        wait_for(stream);
        CHECK(readable(over, 5000));
        close(over);
        compute_event_release(behind);
        compute_buffer_release(busy);
        if (!held_up) break;
    }
    compute_stream_release(other);
    return held_up;
}

static void must_go_on(const char *held_up, int way)
{
    if (held_up) fprintf(stderr, "  %s took until the work was over that another thread waited for by %s\n", held_up, ways[way]);
    CHECK(held_up == NULL);
}

TEST(thr_01_a_thread_that_waits_holds_up_no_call_of_others)
{
    set_up();
    struct slow slow = slow_work();
    for (int way = 0; way < WAYS; way++) must_go_on(beside(&slow, way, 700 * MILLISECONDS, calls_of_others), way);
}

TEST(thr_01_a_thread_that_waits_does_not_hold_up_one_that_makes_a_kernel)
{
    set_up();
    struct slow slow = slow_work();
    /* A driver may itself let whoever loads code wait for what runs. */
    const char *held_up = on("cpu") ? NULL : beside(&slow, WAYS, SECONDS, make_a_kernel);
    if (held_up) printf("  not tried: %s waits for what the device does although nobody else waits\n", held_up);
    else for (int way = BY_EVENT; way <= BY_READ; way++) must_go_on(beside(&slow, way, SECONDS, make_a_kernel), way);
}

TEST(thr_01_f7_destroying_a_device_does_not_wait_for_a_thread_that_waits)
{
    for (int way = BY_EVENT; way <= BY_ANY; way++) {
        const char *held_up = "";
        for (int attempt = 0; held_up && attempt < 3; attempt++) {
            set_up();
            struct slow slow = slow_work();
            struct waiting waiting;
            compute_event behind = NULL;
            int32_t over = -1;
            queue_slow(&slow, stream, 500 * MILLISECONDS);
            OK(compute_stream_record(stream, &behind, E));
            OK(compute_event_get_fd(behind, &over, E));
            CHECK(begin_waiting(&waiting, way, stream, behind, &slow));
            OK(compute_device_destroy(device, E));
            held_up = readable(over, 20) ? "destroying the device" : NULL;
            end_waiting(&waiting);
            CHECK(readable(over, 5000));
            close(over);
            compute_stream_release(stream);
        }
        must_go_on(held_up, way);
    }
}

/* A driver may take its time with what it is sent: Mesa's software driver does until what it was sent before is over. */
static const char *look(int over, compute_buffer unused)
{
    compute_event event = NULL;
    (void)unused;
    uint32_t word = 7;
    compute_view all = whole(out);
    for (int i = 0; i < 5; i++) {
        BESIDE(compute_stream_fill(stream, &all, &word, 4, E));
        BESIDE(compute_stream_record(stream, &event, E));
        if (i % 2) BESIDE(compute_stream_flush(stream, E));
        BESIDE_VOID(compute_event_poll(event, NULL));
        BESIDE_VOID(compute_event_wait(event, 0, NULL));
        BESIDE_VOID(compute_event_wait(event, MILLISECONDS, NULL));
        BESIDE_VOID(compute_stream_sync(stream, NULL, 0, 0, 0, NULL));
        compute_event_release(event);
    }
    return NULL;
}

TEST(s2_a_look_at_an_event_does_not_last_until_work_is_over)
{
    set_up();
    struct slow slow = slow_work();
    const char *held_up = beside(&slow, WAYS, SECONDS, look);
    if (held_up) fprintf(stderr, "  %s took until the work was over\n", held_up);
    CHECK(held_up == NULL);
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
    RUN(err_07_a_thread_may_wait_while_it_holds_a_lock_that_a_callback_hangs_on);
    RUN(err_07_nor_does_a_callback_on_the_polling_thread_hold_up_others_while_it_hangs);
    RUN(err_07_nor_does_a_log_callback_while_it_hangs);
    RUN(tx_01_any_byte_offset_and_size_works_and_neighbours_stay);
    RUN(tx_01_copies_within_one_buffer_are_a_memmove_or_refused);
    RUN(tx_02_upload_memory_may_be_overwritten_and_freed_as_soon_as_the_call_returns);
    RUN(tx_02_borrowed_upload_memory_may_be_overwritten_once_the_event_is_done);
    RUN(tx_03_a_read_waits_for_the_work_before_it);
    RUN(s2_a_look_at_an_event_does_not_last_until_work_is_over);
    RUN(thr_01_a_thread_that_waits_holds_up_no_call_of_others);
    RUN(thr_01_a_thread_that_waits_does_not_hold_up_one_that_makes_a_kernel);
    RUN(thr_01_f7_destroying_a_device_does_not_wait_for_a_thread_that_waits);
    RUN(tm_02_times_are_the_device_s_and_come_when_the_work_is_over);
    RUN(tm_02_ten_thousand_empty_pairs_never_take_less_than_nothing);
    RUN(tm_02_without_times_there_is_an_error_and_no_number);
    RUN(thr_03_waiting_sleeps);
    RUN(thr_03_a_thread_that_is_not_the_main_one_may_do_everything);
    return finish();
}
