/* The rules T11 to T13: launches that only compile, devices that are lost, and work that fails after it was accepted. */
#include <poll.h>

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

static compute_status launch_mode(compute_kernel kernel, uint32_t mode, uint32_t x)
{
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc desc = launch_desc(kernel, x, 1, 1, bindings, 2);
    desc.mode = mode;
    return compute_stream_launch(stream, &desc, E);
}

/* ---- T11 ---- */

TEST(t11_a_compile_only_launch_touches_nothing)
{
    set_up();
    compute_kernel_desc lazy = kernel_desc(IO "@compute @workgroup_size(1) fn other() { O[0] = I[0] * 9u; }", "other");
    lazy.compile = COMPUTE_COMPILE_LAZY;
    compute_kernel kernel = make_kernel_from(device, &lazy);
    OK(launch_mode(kernel, COMPUTE_LAUNCH_COMPILE_ONLY, 1));
    wait_for(stream);
    CHECK_EQ(get_word(stream, out, 0), 8);
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    OK(launch_mode(kernel, COMPUTE_LAUNCH_EXECUTE, 1));
    CHECK_EQ(get_word(stream, out, 0), 63);
}

TEST(t11_a_refused_compile_only_launch_claims_nothing)
{
    set_up();
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, in), bind(1, out), bind_bytes(2, &amount, 4) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    desc.mode = COMPUTE_LAUNCH_COMPILE_ONLY;
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(get_word(stream, out, 5), 8);
}

TEST(t11_a_compile_only_launch_does_not_care_for_claims)
{
    set_up();
    uint64_t failure = claim_all(stream, add, out, in);
    OK(launch_mode(increment, COMPUTE_LAUNCH_COMPILE_ONLY, 4));
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(claimed_by(in, 0, COMPUTE_WHOLE), failure);
}

TEST(t11_queueing_a_compilation_claims_nothing_and_compile_queued_finishes_it)
{
    set_up();
    compute_kernel_desc lazy = kernel_desc(IO "@compute @workgroup_size(1) fn other() { O[0] = I[0] * 5u; }", "other");
    lazy.compile = COMPUTE_COMPILE_LAZY;
    compute_kernel kernel = make_kernel_from(device, &lazy);
    OK(launch_mode(kernel, COMPUTE_LAUNCH_QUEUE_COMPILATION, 1));
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    OK(compute_device_compile_queued(device, E));
    CHECK_EQ(get_word(stream, out, 0), 8);
    OK(launch_mode(kernel, COMPUTE_LAUNCH_EXECUTE, 1));
    CHECK_EQ(get_word(stream, out, 0), 35);
}

/* ---- T12 ---- */

static void lose_device(void)
{
    fail_next(COMPUTE_FAULT_LOST);
    compute_status status = launch_io(stream, increment, "the last", in, out, 4);
    if (status >= 0) status = compute_stream_sync(stream, NULL, 0, 0, 10 * SECONDS, E);
    CHECK_EQ(status, COMPUTE_ERROR_DEVICE_POISONED);
    CHECK_EQ(last_info().poisoned, 1);
}

TEST(t12_every_call_on_a_lost_device_answers_poisoned_with_the_first_cause)
{
    set_up_faulty();
    compute_event event = NULL, none = NULL;
    OK(compute_stream_record(stream, &event, E));
    lose_device();
    uint32_t word = 1;
    compute_view view = range(out, 0, 4), other = range(in, 0, 4);
    compute_buffer_desc buffer;
    compute_buffer_desc_init(&buffer);
    buffer.size = 16;
    compute_buffer made = NULL;
    compute_kernel_desc source = kernel_desc(INCREMENT_FIRST, "later");
    compute_kernel kernel = NULL;
    compute_stream another = NULL;
    IS(COMPUTE_ERROR_DEVICE_POISONED, launch_io(stream, increment, "", in, out, 4));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_write(stream, &view, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_read(stream, &view, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_read(stream, &other, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_copy(stream, &other, &view, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_fill(stream, &view, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, SECONDS, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_flush(stream, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_record(stream, &none, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_event_wait(event, SECONDS, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_event_poll(event, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_buffer_create(device, &buffer, &made, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_kernel_create(device, &source, &kernel, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_create(device, NULL, &another, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    CHECK_EQ(last_info().poisoned, 1);
    CHECK(last_error != NULL && !made && !kernel && !another && !none);
    CHECK_EQ(word, 1);
}

TEST(t12_queries_and_releases_work_on_a_lost_device_and_a_new_one_opens)
{
    set_up_faulty();
    lose_device();
    uint64_t size = 0;
    compute_memory_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    OK(compute_buffer_get_size(out, &size, E));
    CHECK_EQ(size, BYTES);
    device_info(device);
    OK(compute_device_memory_usage(device, &usage, E));
    compute_buffer_release(in);
    OK(compute_buffer_destroy(out, E));
    compute_kernel_release(increment);
    compute_kernel_release(add);
    compute_stream_release(stream);
    compute_device_release(device);
    set_up();
    CHECK_EQ(get_word(stream, out, 9), 8);
}

TEST(t12_another_device_does_not_notice)
{
    set_up();
    compute_device lost = open_faulty();
    compute_stream other = make_stream(lost);
    compute_buffer buffer = make_buffer(lost, 16, "lost");
    fill_words(other, buffer, 1);
    OK(compute_device_inject_fault(lost, 1, COMPUTE_FAULT_LOST, E));
    compute_view view = whole(buffer);
    (void)compute_stream_fill(other, &view, "x", 1, NULL);
    (void)compute_stream_sync(other, NULL, 0, 0, SECONDS, NULL);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(lost, E));
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

/* What the device is still at is written to for as long as it is, whatever has become of the handles. */
TEST(t12_f7_memory_that_a_device_still_works_on_stays_until_the_work_has_run)
{
    enum { SIZE = 16 << 20 };
    for (int round = 0; round < 4; round++) {
        set_up_faulty();
        compute_kernel heavy = make_kernel(device, IO "@compute @workgroup_size(64) fn heavy(" ID ") { var x = I[id.x % 1024u] + id.x;\n"
            "for (var n = 0u; n < 4000u; n += 1u) { x = x * 1664525u + 1013904223u; } if id.x < arrayLength(&O) { O[id.x] = x; } }\n");
        compute_buffer from = make_buffer(device, SIZE, "from"), to = make_buffer(device, SIZE, "to");
        fill_words(stream, from, 1);
        fill_words(stream, to, 2);
        wait_for(stream);
        OK(launch_io(stream, heavy, "", from, to, 4096));
        OK(compute_stream_flush(stream, E));
        if (round % 2) {
            /* It is lost now, in the middle of that. */
            compute_stream another = make_stream(device);
            compute_view view = whole(in);
            fail_next(COMPUTE_FAULT_LOST);
            (void)compute_stream_fill(another, &view, "x", 1, NULL);
            IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
            compute_stream_release(another);
        }
        compute_buffer_release(from);
        compute_buffer_release(to);
        (void)compute_device_cleanup(device, NULL);
        compute_kernel_release(heavy);
        compute_stream_release(stream);
        compute_device_release(device);
        /* Whoever gets the memory next writes over it. */
        for (int i = 0; i < 8; i++) {
            char *again = malloc(SIZE);
            CHECK(again != NULL);
            memset(again, 0xff, SIZE);
            free(again);
        }
        usleep(20000);
    }
    set_up();
    CHECK_EQ(get_word(stream, out, 5), 8);
}

/* What is logged, by level. */
static int logged[4];
static char lost_line[400];
static void hear_levels(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user;
    if (level < COUNT_OF(logged)) logged[level]++;
    if (level != COMPUTE_LOG_ERROR || length >= sizeof lost_line) return;
    static char line[sizeof lost_line];
    memcpy(line, text, length);
    line[length] = 0;
    if (!strstr(line, "is lost")) return;
    CHECK(lost_line[0] == 0);
    memcpy(lost_line, line, length + 1);
    /* No lock is held. */
    CHECK(compute_status_name(0) && compute_devices_list(NULL, NULL, 0, 0, &(size_t){ 0 }, NULL) == COMPUTE_OK);
}

TEST(s4_failures_skips_and_launches_are_logged_by_level_and_a_lost_device_once_with_its_cause)
{
    compute_device device = open_faulty();
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_kernel(device, INCREMENT);
    compute_buffer a = make_buffer(device, 16, "a"), b = make_buffer(device, 16, "b"), c = make_buffer(device, 16, "c");
    fill_words(stream, a, 1);
    wait_for(stream);
    OK(compute_log_set(hear_levels, NULL, COMPUTE_LOG_LAUNCHES, E));
    OK(launch_io(stream, kernel, "", a, b, 1));
    CHECK(logged[COMPUTE_LOG_LAUNCHES] == 1 && logged[COMPUTE_LOG_ERROR] == 0 && logged[COMPUTE_LOG_WARNING] == 0);
    IS(COMPUTE_ERROR_LIMIT, launch_io(stream, kernel, "too large", a, b, UINT32_MAX));
    CHECK(logged[COMPUTE_LOG_LAUNCHES] == 1 && logged[COMPUTE_LOG_ERROR] == 1 && logged[COMPUTE_LOG_WARNING] == 0);
    IS(COMPUTE_SKIPPED, launch_io(stream, kernel, "", b, c, 1));
    CHECK(logged[COMPUTE_LOG_LAUNCHES] == 1 && logged[COMPUTE_LOG_ERROR] == 1 && logged[COMPUTE_LOG_WARNING] == 1);
    OK(compute_log_set(hear_levels, NULL, COMPUTE_LOG_ERROR, E));
    IS(COMPUTE_SKIPPED, launch_io(stream, kernel, "", b, c, 1));
    CHECK(logged[COMPUTE_LOG_WARNING] == 1 && lost_line[0] == 0);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LOST, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, launch_io(stream, kernel, "", a, b, 1));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, launch_io(stream, kernel, "", a, b, 1));
    OK(compute_log_set(NULL, NULL, COMPUTE_LOG_OFF, E));
    CHECK(strstr(lost_line, "INJECTED_LOSS"));
}

/* One callback: how often it was called, and with what the last time. */
struct heard {
    int times;
    compute_status status;
};
static void hear(void *user, compute_status status, compute_error error)
{
    struct heard *heard = user;
    (void)error;
    heard->status = status;
    __atomic_add_fetch(&heard->times, 1, __ATOMIC_SEQ_CST);
}
static int times(const struct heard *heard) { return __atomic_load_n(&heard->times, __ATOMIC_SEQ_CST); }

/* Events of moments and of reads, with callbacks of both kinds, behind work that is under way when the device is lost. Then all of them are asked for, or the device's handle ends. */
static void lose_under_callbacks(int ends)
{
    enum { MANY = 3, EVENTS = 4 * MANY };
    set_up_faulty();
    struct slow slow = make_slow(device, stream);
    compute_stream beside = make_stream(device);
    compute_event events[EVENTS] = { NULL };
    struct heard heard[EVENTS];
    uint32_t words[EVENTS];
    compute_view view = range(in, 0, 4), other = whole(out);
    memset(heard, 0, sizeof heard);
    memset(words, 0, sizeof words);
    queue_slow(&slow, stream, 500 * MILLISECONDS);
    for (int i = 0; i < EVENTS; i++) {
        if (i & 1) OK(compute_stream_read_async(stream, &view, &words[i], 4, &events[i], E));
        else OK(compute_stream_record(stream, &events[i], E));
        OK(compute_event_on_complete(events[i], hear, &heard[i], i & 2 ? COMPUTE_CALLBACK_ON_POLL : COMPUTE_CALLBACK_ON_WORKER, E));
    }
    OK(compute_stream_flush(stream, E));
    IS(COMPUTE_NOT_READY, compute_event_poll(events[0], E));
    for (int i = 0; i < EVENTS; i++) CHECK_EQ(times(&heard[i]), 0);
    fail_next(COMPUTE_FAULT_LOST);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_fill(beside, &other, "x", 1, E));
    if (ends) {
        OK(compute_device_destroy(device, E));
        for (int i = 0; i < EVENTS; i++) CHECK(times(&heard[i]) == 1 || !(i & 2));
    }
    uint64_t start = now_ns();
    for (int left = EVENTS; left > 0;) {
        left = 0;
        CHECK(now_ns() - start < 30 * SECONDS);
        for (int i = 0; i < EVENTS; i++) {
            if (!ends) (void)compute_event_poll(events[i], NULL);
            left += times(&heard[i]) == 0;
        }
        usleep(1000);
    }
    /* Whose memory may still be written to says so, and only that. */
    for (int i = 0; i < EVENTS; i++) {
        int lends = i & 1 && heard[i].status == COMPUTE_ERROR_STILL_BORROWED;
        if (!lends) CHECK_EQ(heard[i].status, COMPUTE_ERROR_DEVICE_POISONED);
        if (lends) CHECK(i & 2 && ends);
        else words[i] = 77;
    }
    usleep(1000000);
    for (int i = 0; i < EVENTS; i++) {
        CHECK_EQ(times(&heard[i]), 1);
        if (heard[i].status != COMPUTE_ERROR_STILL_BORROWED) CHECK_EQ(words[i], 77);
        IS(COMPUTE_ERROR_DEVICE_POISONED, compute_event_wait(events[i], COMPUTE_FOREVER, E));
        CHECK_EQ(times(&heard[i]), 1);
    }
}

TEST(t12_callbacks_fire_once_when_the_device_is_lost_before_their_events_are_over) { lose_under_callbacks(0); }
TEST(t12_f7_and_when_the_handle_of_the_lost_device_ends_first) { lose_under_callbacks(1); }

TEST(t12_callbacks_of_events_that_were_over_have_been_called_once)
{
    set_up_faulty();
    compute_event before = NULL;
    struct heard heard = { 0, COMPUTE_OK };
    OK(compute_stream_record(stream, &before, E));
    wait_for(stream);
    OK(compute_event_on_complete(before, hear, &heard, COMPUTE_CALLBACK_ON_WORKER, E));
    lose_device();
    for (int i = 0; i < 10000 && times(&heard) == 0; i++) usleep(1000);
    usleep(20000);
    CHECK_EQ(times(&heard), 1);
}

enum { LAUNCHES = 1000 };
static compute_buffer results[LAUNCHES];
static compute_view result_views[LAUNCHES];
static void make_results(void)
{
    for (int i = 0; i < LAUNCHES; i++) {
        results[i] = make_buffer(device, 256, "result");
        result_views[i] = whole(results[i]);
    }
}
static int error_lines;
static void count_lines(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    if (level == COMPUTE_LOG_ERROR) __atomic_add_fetch(&error_lines, 1, __ATOMIC_SEQ_CST);
}
/* The answer is the device's, with one cause and nothing that grows with the launches. */
static void is_the_one_cause(const char *cause)
{
    char text[1024];
    size_t needed = 0;
    CHECK_EQ(last_info().status, COMPUTE_ERROR_DEVICE_POISONED);
    CHECK_EQ(last_info().member_count, 0);
    CHECK_EQ(last_info().chain_count, 0);
    CHECK_EQ(last_info().failure, 0);
    OK(compute_error_message(last_error, text, sizeof text, &needed));
    if (strcmp(text, cause) != 0) fprintf(stderr, "  %s\n  and not %s\n", text, cause);
    CHECK(strcmp(text, cause) == 0);
}

TEST(lost_03_a_thousand_launches_that_are_lost_with_their_device_have_one_cause)
{
    set_up_faulty();
    make_results();
    struct slow slow = make_slow(device, stream);
    char cause[1024];
    size_t needed = 0;
    uint32_t word = 5;
    compute_event event = NULL;
    OK(compute_log_set(count_lines, NULL, COMPUTE_LOG_ERROR, E));
    queue_slow(&slow, stream, 300 * MILLISECONDS);
    for (int i = 0; i < LAUNCHES; i++) OK(launch_io(stream, increment, "one of many", in, results[i], 1));
    OK(compute_stream_record(stream, &event, E));
    fail_next(COMPUTE_FAULT_LOST);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_flush(stream, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    CHECK_EQ(compute_error_message(last_error, cause, sizeof cause, &needed), COMPUTE_OK);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_event_wait(event, COMPUTE_FOREVER, E));
    is_the_one_cause(cause);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, result_views, LAUNCHES, 0, COMPUTE_FOREVER, E));
    is_the_one_cause(cause);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_check(result_views, LAUNCHES, 0, E));
    is_the_one_cause(cause);
    for (int i = 0; i < LAUNCHES; i++) {
        IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_read(stream, &(compute_view){ results[i], 0, 4 }, &word, 4, E));
        is_the_one_cause(cause);
    }
    CHECK_EQ(word, 5);
    CHECK(__atomic_load_n(&error_lines, __ATOMIC_SEQ_CST) <= 1);
    OK(compute_log_set(NULL, NULL, COMPUTE_LOG_OFF, E));
}

TEST(lost_03_a_thousand_launches_that_needed_one_that_failed_late_have_one_cause)
{
    set_up_faulty();
    make_results();
    uint32_t word = 5;
    OK(compute_log_set(count_lines, NULL, COMPUTE_LOG_ERROR, E));
    fail_next(COMPUTE_FAULT_LATE);
    for (int i = 0; i < LAUNCHES; i++) {
        compute_status status = launch_io(stream, increment, i ? "one of many" : "the first", i ? results[i - 1] : in, results[i], 1);
        CHECK(status == COMPUTE_OK || (i > 0 && status == COMPUTE_SKIPPED));
    }
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_sync(stream, result_views, LAUNCHES, 0, COMPUTE_FOREVER, E));
    uint64_t failure = last_info().failure;
    CHECK(failure != 0);
    CHECK_EQ(last_info().member_count, 0);
    CHECK_EQ(last_info().claimed_buffers, LAUNCHES);
    CHECK_EQ(root_info().status, COMPUTE_ERROR_DRIVER);
    CHECK(error_says("the first"));
    for (int i = 0; i < LAUNCHES; i++) CHECK_EQ(claimed_by(results[i], 0, 256), failure);
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, results[LAUNCHES - 1], 0, &word, 4));
    CHECK_EQ(last_info().failure, failure);
    CHECK_EQ(word, 5);
    CHECK(__atomic_load_n(&error_lines, __ATOMIC_SEQ_CST) <= 1);
    OK(compute_log_set(NULL, NULL, COMPUTE_LOG_OFF, E));
}

TEST(mem_04_out_of_memory_is_not_what_a_lost_device_answers)
{
    set_up_faulty();
    lose_device();
    compute_buffer_desc desc;
    compute_buffer buffer = NULL;
    compute_buffer_desc_init(&desc);
    desc.size = 16;
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_buffer_create(device, &desc, &buffer, E));
}

/* ---- T13 ---- */

TEST(t13_a_late_failure_claims_the_outputs_of_accepted_work)
{
    set_up_faulty();
    uint32_t word = 77;
    fail_next(COMPUTE_FAULT_LATE);
    OK(launch_io(stream, increment, "late", in, out, 4));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(word, 77);
    CHECK_EQ(root_info().status, COMPUTE_ERROR_DRIVER);
    OK(compute_device_status(device, E));
    CHECK_EQ(get_word(stream, in, 0), 7);
}

TEST(t13_what_derives_from_work_that_failed_late_is_claimed_too_on_every_stream)
{
    set_up_faulty();
    compute_stream other = make_stream(device);
    compute_buffer second = make_buffer(device, BYTES, "second"), third = make_buffer(device, BYTES, "third"), clean = make_buffer(device, BYTES, "clean");
    uint32_t word = 77;
    fill_words(other, clean, 1);
    wait_for(other);
    fail_next(COMPUTE_FAULT_LATE);
    OK(launch_io(stream, increment, "K1", in, out, 4));
    compute_status k2 = launch_io(stream, increment, "K2", out, second, 4);
    CHECK(k2 == COMPUTE_OK || k2 == COMPUTE_SKIPPED);
    compute_status k3 = launch_io(other, increment, "K3", second, third, 4);
    CHECK(k3 == COMPUTE_OK || k3 == COMPUTE_SKIPPED);
    IS(COMPUTE_ERROR_UNWRITTEN, get(other, third, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_DRIVER);
    CHECK_EQ(last_info().chain_count, 2);
    CHECK(strcmp(chain_entry(0).label, "K3") == 0 && strcmp(chain_entry(1).label, "K2") == 0);
    CHECK_EQ(chain_entry(0).used, k3 == COMPUTE_OK);
    CHECK_EQ(chain_entry(1).used, k2 == COMPUTE_OK);
    CHECK_EQ(word, 77);
    CHECK_EQ(get_word(other, clean, 0), 1);
}

TEST(t13_a_whole_write_that_came_later_stays)
{
    set_up_faulty();
    fail_next(COMPUTE_FAULT_LATE);
    OK(launch_io(stream, increment, "late", in, out, 4));
    put_word(stream, out, 3, 1234);
    CHECK_EQ(get_word(stream, out, 3), 1234);
    uint32_t word;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 16, &word, 4));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 8, &word, 4));
}

TEST(t13_a_kernel_that_runs_past_its_time_limit_is_stopped_and_its_outputs_fail)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_TIME_LIMIT)) return;
    compute_kernel_desc desc = kernel_desc(IO
        "@compute @workgroup_size(1) fn endless() { var x = I[0]; loop { if x == 0u { break; } x = (x * 5u) | 1u; O[1] = x; } O[0] = x; }", "endless");
    desc.time_limit = 50 * MILLISECONDS;
    compute_kernel endless = make_kernel_from(device, &desc);
    uint32_t word;
    uint64_t start = now_ns();
    OK(launch_io(stream, endless, "endless", in, out, 1));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK(now_ns() - start < 20 * SECONDS);
    CHECK_EQ(root_info().status, COMPUTE_ERROR_TIME_LIMIT);
    OK(compute_device_status(device, E));
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

TEST(t13_a_kernel_that_keeps_its_time_limit_is_right)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_TIME_LIMIT)) return;
    compute_kernel_desc desc = kernel_desc(INCREMENT, "limited");
    desc.time_limit = 30 * SECONDS;
    compute_kernel limited = make_kernel_from(device, &desc);
    fill_words(stream, out, 0);
    OK(launch_io(stream, limited, "", in, out, 4));
    for (int i = 0; i < WORDS; i++) CHECK_EQ(get_word(stream, out, i), 8);
}

TEST(t13_a_kernel_that_is_stopped_between_barriers_leaves_its_neighbours_alone)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_TIME_LIMIT)) return;
    compute_kernel_desc desc = kernel_desc(IO "var<workgroup> w: array<u32, 64>;\nvar<workgroup> stop: u32;\n"
        "fn step(li: u32) { w[li] += w[(li + 1u) % 64u]; }\n"
        "@compute @workgroup_size(64) fn endless(" ID ", @builtin(local_invocation_index) li: u32) {\n"
        "  w[li] = li; if li == 0u { stop = I[0] - 7u; }\n"
        "  loop { workgroupBarrier(); step(li); if workgroupUniformLoad(&stop) != 0u { break; } }\n  O[id.x] = w[li]; }", "endless");
    desc.time_limit = 50 * MILLISECONDS;
    compute_kernel endless = make_kernel_from(device, &desc);
    desc = kernel_desc(INCREMENT, "quick");
    desc.time_limit = 30 * SECONDS;
    compute_kernel quick = make_kernel_from(device, &desc);
    compute_stream other = make_stream(device);
    compute_buffer beside = make_buffer(device, BYTES, "beside"), behind = make_buffer(device, BYTES, "behind");
    OK(launch_io(stream, endless, "endless", in, out, WORDS / 64));
    OK(launch_io(other, quick, "beside", in, beside, WORDS / 64));
    OK(launch_io(stream, quick, "behind", in, behind, WORDS / 64));
    uint32_t word;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, BYTES - 4, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_TIME_LIMIT);
    CHECK_EQ(last_info().chain_count, 0);
    for (uint32_t i = 0; i < WORDS; i++) CHECK_EQ(get_word(other, beside, i), 8);
    for (uint32_t i = 0; i < WORDS; i++) CHECK_EQ(get_word(stream, behind, i), 8);
    OK(compute_device_status(device, E));
}

TEST(t13_validate_mode_turns_an_access_out_of_bounds_into_a_failure_that_tells_the_place)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_VALIDATE)) return;
    compute_kernel_desc desc = kernel_desc(IO "@compute @workgroup_size(64)\nfn reach(" ID ") {\n  O[id.x] = I[id.x + 1u];\n}\n", "reach");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel reach = make_kernel_from(device, &desc);
    uint32_t word;
    OK(launch_io(stream, reach, "reach", in, out, 4));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_KERNEL_FAULT);
    CHECK_EQ(root_info().line, 5); /* two lines of declarations come before the entry */
    CHECK(error_says("256"));
    CHECK(error_says("255"));
    CHECK(error_says("reach"));
    OK(launch_io(stream, increment, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

TEST(t13_validate_mode_lets_a_good_kernel_pass)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_VALIDATE)) return;
    compute_kernel_desc desc = kernel_desc(INCREMENT, "valid");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel valid = make_kernel_from(device, &desc);
    fill_words(stream, out, 0);
    OK(launch_io(stream, valid, "", in, out, 4));
    CHECK_EQ(get_word(stream, out, WORDS - 1), 8);
}

TEST(t13_launches_after_a_known_late_failure_are_skipped)
{
    set_up_faulty();
    compute_buffer second = make_buffer(device, BYTES, "second");
    uint32_t word;
    fail_next(COMPUTE_FAULT_LATE);
    OK(launch_io(stream, increment, "late", in, out, 4));
    wait_for(stream);
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "K2", out, second, 4));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, second, 0, &word, 4));
    CHECK_EQ(chain_entry(0).used, 0);
}

TEST(t13_a_late_write_never_shows_the_bytes_that_were_there_before)
{
    set_up_faulty();
    uint32_t word = 1;
    compute_view view = range(in, 0, 4);
    fail_next(COMPUTE_FAULT_LATE);
    OK(compute_stream_write(stream, &view, &word, 4, E));
    word = 99;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, in, 0, &word, 4));
    CHECK_EQ(word, 99);
    CHECK_EQ(get_word(stream, in, 1), 7);
}

TEST(t13_once_the_file_descriptor_of_a_read_is_readable_a_poll_gives_its_bytes_or_the_failure)
{
    set_up_faulty();
    enum { MANY = 1 << 17 };
    uint32_t *words = (uint32_t *)calloc(MANY, sizeof *words);
    compute_buffer big = make_buffer(device, sizeof *words * MANY, "big");
    compute_view view = whole(big);
    for (uint32_t round = 1; round <= 10; round++) {
        int fails = round % 2 == 0;
        compute_event event = NULL;
        int32_t fd = -1;
        memset(words, 0, sizeof *words * MANY);
        if (fails) fail_next(COMPUTE_FAULT_LATE);
        for (int i = 0; i < 10; i++) OK(compute_stream_fill(stream, &view, &round, sizeof round, E));
        if (fails) {
            fail_next(COMPUTE_FAULT_LATE);
            OK(compute_stream_fill(stream, &view, &round, sizeof round, E));
        }
        compute_status asked = compute_stream_read_async(stream, &view, words, sizeof *words * MANY, &event, E);
        if (fails && asked == COMPUTE_ERROR_UNWRITTEN) {
            /* Where this thread was slow the failure is known by now, and the call itself tells it. */
            CHECK(event == NULL && words[0] == 0);
            continue;
        }
        IS(COMPUTE_OK, asked);
        OK(compute_event_get_fd(event, &fd, E));
        struct pollfd waiting = { fd, POLLIN, 0 };
        CHECK_EQ(poll(&waiting, 1, 20000), 1);
        close(fd);
        if (fails) IS(COMPUTE_ERROR_UNWRITTEN, compute_event_poll(event, E));
        else OK(compute_event_poll(event, E));
        CHECK_EQ(words[0], fails ? 0 : round);
        CHECK_EQ(words[MANY - 1], fails ? 0 : round);
        compute_event_release(event);
    }
    free(words);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(t11_a_compile_only_launch_touches_nothing);
    RUN(t11_a_refused_compile_only_launch_claims_nothing);
    RUN(t11_a_compile_only_launch_does_not_care_for_claims);
    RUN(t11_queueing_a_compilation_claims_nothing_and_compile_queued_finishes_it);
    RUN(t12_every_call_on_a_lost_device_answers_poisoned_with_the_first_cause);
    RUN(t12_queries_and_releases_work_on_a_lost_device_and_a_new_one_opens);
    RUN(t12_another_device_does_not_notice);
    RUN(t12_f7_memory_that_a_device_still_works_on_stays_until_the_work_has_run);
    RUN(s4_failures_skips_and_launches_are_logged_by_level_and_a_lost_device_once_with_its_cause);
    RUN(t12_callbacks_fire_once_when_the_device_is_lost_before_their_events_are_over);
    RUN(t12_f7_and_when_the_handle_of_the_lost_device_ends_first);
    RUN(t12_callbacks_of_events_that_were_over_have_been_called_once);
    RUN(lost_03_a_thousand_launches_that_are_lost_with_their_device_have_one_cause);
    RUN(lost_03_a_thousand_launches_that_needed_one_that_failed_late_have_one_cause);
    RUN(mem_04_out_of_memory_is_not_what_a_lost_device_answers);
    RUN(t13_a_late_failure_claims_the_outputs_of_accepted_work);
    RUN(t13_what_derives_from_work_that_failed_late_is_claimed_too_on_every_stream);
    RUN(t13_a_whole_write_that_came_later_stays);
    RUN(t13_a_kernel_that_runs_past_its_time_limit_is_stopped_and_its_outputs_fail);
    RUN(t13_a_kernel_that_keeps_its_time_limit_is_right);
    RUN(t13_a_kernel_that_is_stopped_between_barriers_leaves_its_neighbours_alone);
    RUN(t13_validate_mode_turns_an_access_out_of_bounds_into_a_failure_that_tells_the_place);
    RUN(t13_validate_mode_lets_a_good_kernel_pass);
    RUN(t13_launches_after_a_known_late_failure_are_skipped);
    RUN(t13_once_the_file_descriptor_of_a_read_is_readable_a_poll_gives_its_bytes_or_the_failure);
    RUN(t13_a_late_write_never_shows_the_bytes_that_were_there_before);
    return finish();
}
