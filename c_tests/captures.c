/* The rules G1 to G3: capture windows. Explicit graphs and replays are in graphs.c. */
#include "rules.h"

#define WORDS 256
#define BYTES (4 * WORDS)

static compute_device device;
static compute_stream stream;
static compute_kernel increment, add;
static compute_buffer a, b, c;
static uint64_t capture;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    add = make_kernel(device, ADD);
    a = make_buffer(device, BYTES, "a");
    b = make_buffer(device, BYTES, "b");
    c = make_buffer(device, BYTES, "c");
    fill_words(stream, a, 7);
    fill_words(stream, b, 1);
    fill_words(stream, c, 2);
    wait_for(stream);
}
static void set_up(void) { set_up_on(open_device()); }

static void open_window(void)
{
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    CHECK(capture != 0);
}
static compute_status try_end(uint64_t number, compute_graph *graph)
{
    *graph = (compute_graph)(uintptr_t)7;
    compute_status status = compute_stream_end_capture(stream, number, graph, E);
    CHECK((status == COMPUTE_OK) == (*graph != NULL));
    return status;
}
static compute_graph end_window(void)
{
    compute_graph graph = NULL;
    OK(try_end(capture, &graph));
    return graph;
}
static compute_buffer stream_buffer(uint64_t size, const char *label)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    desc.stream = stream;
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    compute_buffer buffer = NULL;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    return buffer;
}
static compute_memory_usage usage(void)
{
    compute_memory_usage info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    OK(compute_device_memory_usage(device, &info, E));
    return info;
}
/* The stream runs work, and a new window gives a graph. */
static void stream_is_usable(void)
{
    compute_graph graph = NULL;
    IS(COMPUTE_ERROR_BUSY, try_end(capture, &graph));
    fill_words(stream, a, 70);
    OK(launch_io(stream, increment, "usable", a, b, 4));
    CHECK_EQ(get_word(stream, b, 3), 71);
    open_window();
    OK(launch_io(stream, increment, "again", b, c, 4));
    graph = end_window();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 3), 72);
    compute_graph_release(graph);
}
/* `end` refuses to give a graph, and says what doomed the window. */
static uint64_t is_doomed(const char *words)
{
    compute_graph graph = NULL;
    IS(COMPUTE_ERROR_CAPTURE, try_end(capture, &graph));
    if (!error_says(words)) {
        print_error(last_error);
        fail(__FILE__, __LINE__, words);
    }
    return last_info().failure;
}

/* ---- G1 ---- */

TEST(g1_what_is_recorded_does_not_run_and_is_replayed_any_number_of_times)
{
    set_up();
    OK(compute_stream_prepare_capture(stream, E));
    OK(launch_io(stream, increment, "warm", a, b, 4));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_io(stream, increment, "first", a, b, 4));
    compute_view from = whole(b), to = whole(c);
    OK(compute_stream_copy(stream, &from, &to, E));
    compute_view tail = range(c, 4 * (WORDS - 1), 4);
    uint32_t word = 99;
    OK(compute_stream_fill(stream, &tail, &word, 4, E));
    compute_graph graph = end_window();
    CHECK_EQ(get_word(stream, c, 0), 2);
    CHECK_EQ(get_word(stream, b, 0), 8);
    for (uint32_t i = 0; i < 20; i++) {
        fill_words(stream, a, i);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 0), i + 1);
        CHECK_EQ(get_word(stream, c, WORDS - 1), 99);
    }
    compute_graph_info info = COMPUTE_GRAPH_INFO_INIT;
    OK(compute_graph_get_info(graph, &info, E));
    CHECK_EQ(info.node_count, 3);
    compute_node_info node = COMPUTE_NODE_INFO_INIT;
    OK(compute_graph_get_node(graph, 0, &node, E));
    CHECK(strcmp(node.label, "first") == 0);
    /* A captured node can be updated, too. */
    compute_binding bindings[2] = { bind(0, c), bind(1, b) };
    compute_launch_desc desc = launch_desc(NULL, 4, 1, 1, bindings, 2);
    OK(compute_graph_update_launch(graph, node.node, &desc, E));
    fill_words(stream, c, 500);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 501);
}

TEST(g1_calls_out_of_order_are_refused)
{
    set_up();
    compute_graph graph = NULL;
    uint64_t number = 7;
    IS(COMPUTE_ERROR_BUSY, try_end(1, &graph));
    IS(COMPUTE_ERROR_BUSY, compute_stream_begin_capture(stream, NULL, &number, E));
    CHECK_EQ(number, 0);
    OK(compute_stream_prepare_capture(stream, E));
    IS(COMPUTE_ERROR_BUSY, compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    IS(COMPUTE_ERROR_BUSY, compute_stream_begin_capture(stream, NULL, &number, E));
    IS(COMPUTE_ERROR_BUSY, compute_stream_prepare_capture(stream, E));
    OK(launch_io(stream, increment, "", a, b, 4));
    graph = end_window();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 0), 8);
    stream_is_usable();
}

TEST(g1_begin_reports_a_failure_of_the_warm_up_and_disarms)
{
    set_up();
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, a), bind(1, b), bind_bytes(2, &amount, 4) };
    OK(compute_stream_prepare_capture(stream, E));
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    desc.label = "broken";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
    /* Skipped for it; the first is told. */
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "skipped", b, c, 4));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_begin_capture(stream, NULL, &capture, E));
    CHECK(error_says("broken") && !error_says("`skipped`"));
    IS(COMPUTE_ERROR_BUSY, compute_stream_begin_capture(stream, NULL, &capture, E));
    stream_is_usable();
}

TEST(g1_a_skip_and_a_late_failure_of_the_warm_up_are_failures_too)
{
    set_up_on(open_faulty());
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    claim_all(stream, add, scratch, a);
    OK(compute_stream_prepare_capture(stream, E));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "hungry", a, b, 4));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_begin_capture(stream, NULL, &capture, E));
    CHECK(error_says("skipped"));
    fill_words(stream, a, 1);
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LATE, E));
    OK(launch_io(stream, increment, "tardy", a, b, 4));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_begin_capture(stream, NULL, &capture, E));
    CHECK(error_says("tardy"));
    stream_is_usable();
}

TEST(g1_a_failure_of_another_stream_is_none_of_the_warm_up)
{
    set_up();
    compute_stream other = make_stream(device);
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, a), bind(1, c), bind_bytes(2, &amount, 4) };
    OK(compute_stream_prepare_capture(stream, E));
    IS_CLASS(100, launch(other, add, 4, bindings, 3));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_io(stream, increment, "", a, b, 4));
    IS_CLASS(100, launch(other, add, 4, bindings, 3));
    compute_graph_release(end_window());
}

TEST(g1_a_window_that_was_prepared_and_never_begun_is_disarmed_by_end)
{
    set_up();
    compute_graph graph = NULL;
    OK(compute_stream_prepare_capture(stream, E));
    compute_buffer held = stream_buffer(BYTES, "held");
    compute_buffer_release(held);
    CHECK_EQ(usage().buffers, 4);
    IS(COMPUTE_ERROR_BUSY, try_end(0, &graph));
    CHECK(error_says("never begun"));
    CHECK_EQ(usage().buffers, 3);
    stream_is_usable();
}

TEST(g1_temporaries_of_the_warm_up_are_there_for_the_recording)
{
    set_up();
    const int steps = 40;
    OK(compute_stream_prepare_capture(stream, E));
    for (int pass = 0; pass < 2; pass++) {
        compute_buffer last = a;
        for (int i = 0; i < steps; i++) {
            compute_buffer temporary = stream_buffer(100 * BYTES, "temporary");
            OK(launch_io(stream, increment, "", last, temporary, 400));
            if (last != a) compute_buffer_release(last);
            last = temporary;
        }
        OK(launch_io(stream, increment, "", last, c, 4));
        compute_buffer_release(last);
        if (pass == 0) OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    }
    compute_graph graph = end_window();
    /* Whoever gets memory of the graph's temporaries would break it. */
    for (int i = 0; i < 60; i++) fill_words(stream, stream_buffer(100 * BYTES, "other"), 0xffffffff);
    for (uint32_t i = 0; i < 5; i++) {
        fill_words(stream, a, i);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 9), i + (uint32_t)steps + 1);
    }
    uint64_t before = usage().buffers;
    compute_graph_release(graph);
    CHECK_EQ(usage().buffers, before - (uint64_t)steps);
}

/* ---- G2 ---- */

/* What a window refuses at once. Each answers COMPUTE_ERROR_RECORDING, and its name is in what `end` says. */
static compute_graph some_graph;
static uint32_t host_word = 5;

static compute_status do_read(void) { return get(stream, a, 0, &host_word, 4); }
static compute_status do_read_async(void)
{
    compute_view view = range(a, 0, 4);
    compute_event event = NULL;
    return compute_stream_read_async(stream, &view, &host_word, 4, &event, E);
}
static compute_status do_sync(void) { return compute_stream_sync(stream, NULL, 0, 0, 0, E); }
static compute_status do_write(void)
{
    compute_view view = range(c, 0, 4);
    return compute_stream_write(stream, &view, &host_word, 4, E);
}
static compute_status do_record(void)
{
    compute_event event = NULL;
    return compute_stream_record(stream, &event, E);
}
static compute_status do_cleanup(void) { return compute_stream_cleanup(stream, E); }
static compute_status do_replay(void) { return compute_stream_replay(stream, some_graph, E); }
static compute_status do_freeze(void) { return compute_stream_freeze_pools(stream, 0, E); }
static compute_status do_dry_run(void) { return compute_stream_begin_dry_run(stream, E); }
static compute_status do_compact(void) { return compute_stream_compact(stream, NULL, E); }
static compute_strided_desc four_apart(void)
{
    static const uint64_t shape[1] = { 4 };
    static const int64_t strides[1] = { 8 };
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    desc.rank = 1;
    desc.shape = shape;
    desc.element_size = 4;
    desc.to_strides = strides;
    return desc;
}
static compute_status do_write_strided(void)
{
    static const uint32_t words[4] = { 1, 2, 3, 4 };
    compute_strided_desc desc = four_apart();
    compute_view to = range(c, 0, 28);
    return compute_stream_write_strided(stream, &to, &desc, words, sizeof words, E);
}
static compute_status do_write_strided_borrowed(void)
{
    static const uint32_t words[4] = { 1, 2, 3, 4 };
    compute_strided_desc desc = four_apart();
    compute_view to = range(c, 0, 28);
    compute_event over = NULL;
    return compute_stream_write_strided_borrowed(stream, &to, &desc, words, sizeof words, &over, E);
}
static compute_status do_read_strided_lazy(void)
{
    compute_strided_desc desc = four_apart();
    compute_view from = range(a, 0, 16);
    compute_readback readback = NULL;
    const void *bytes = NULL;
    compute_status status = compute_stream_read_strided_lazy(stream, &from, &desc, &readback, E);
    if (status == COMPUTE_OK) status = compute_readback_get(readback, &bytes, NULL, E);
    compute_readback_release(readback);
    return status;
}
static const struct {
    const char *says;
    compute_status (*call)(void);
} refused[] = {
    { "read", do_read }, { "read", do_read_async }, { "sync", do_sync }, { "write", do_write }, { "event", do_record }, { "clean-up", do_cleanup },
    { "replay", do_replay }, { "freezing", do_freeze }, { "dry run", do_dry_run }, { "compaction", do_compact },
    { "write", do_write_strided }, { "write", do_write_strided_borrowed }, { "read", do_read_strided_lazy },
};

TEST(g2_gr_01_what_a_window_cannot_record_is_refused_at_once_and_dooms_it_by_name)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        set_up();
        open_window();
        OK(launch_io(stream, increment, "", a, b, 4));
        some_graph = end_window();
        OK(compute_stream_replay(stream, some_graph, E));
        wait_for(stream);
        open_window();
        OK(launch_io(stream, increment, "", a, b, 4));
        uint64_t begin_ns = now_ns();
        IS(COMPUTE_ERROR_RECORDING, refused[i].call());
        CHECK(now_ns() - begin_ns < SECONDS);
        CHECK(error_says(refused[i].says));
        CHECK_EQ(host_word, 5);
        uint64_t failure = is_doomed(refused[i].says);
        /* What the window would have written is claimed, and can be taken back: nothing ran. */
        CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE) != 0, 1);
        if (refused[i].call != do_replay) {
            uint64_t lifted = 0;
            compute_view view = whole(b);
            OK(compute_reinstate(&view, failure, &lifted, E));
            CHECK_EQ(lifted, BYTES);
            CHECK_EQ(get_word(stream, b, 0), 8);
        }
        CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), 0);
        fill_words(stream, c, 0);
        stream_is_usable();
        compute_graph_release(some_graph);
        compute_device_release(device);
    }
}

TEST(g2_a_failed_launch_dooms_the_window_and_end_names_it)
{
    set_up();
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, a), bind(1, c), bind_bytes(2, &amount, 4) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    desc.label = "the culprit";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    open_window();
    OK(launch_io(stream, increment, "fine", a, b, 4));
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
    uint64_t refused_failure = claimed_by(c, 0, COMPUTE_WHOLE);
    CHECK(refused_failure != 0);
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
    IS(COMPUTE_ERROR_RECORDING, do_sync());
    uint64_t failure = is_doomed("the culprit");
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(c, 0, COMPUTE_WHOLE), refused_failure);
    stream_is_usable();
}

TEST(g2_bad_descriptors_and_kernels_that_do_not_compile_doom_the_window)
{
    set_up();
    open_window();
    compute_launch_desc desc = launch_desc(increment, 4, 1, 1, NULL, 0);
    desc.struct_size = 3;
    IS(COMPUTE_ERROR_INVALID_STRUCT, compute_stream_launch(stream, &desc, E));
    is_doomed("launch");
    open_window();
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_copy(stream, NULL, NULL, E));
    is_doomed("copy");
    stream_is_usable();
}

TEST(g2_a_launch_that_would_be_skipped_dooms_the_window)
{
    set_up();
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    uint64_t claim = claim_all(stream, add, scratch, a);
    open_window();
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "starved", a, b, 4));
    uint64_t failure = is_doomed("starved");
    CHECK(error_says("`a`"));
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), claim);
    fill_words(stream, a, 1);
    stream_is_usable();
}

TEST(g5_a_window_has_a_view_of_trust_of_its_own)
{
    set_up();
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    uint64_t claim = claim_all(stream, add, scratch, b);
    open_window();
    /* Written wholly first, so that what was there does not matter. */
    OK(launch_io(stream, increment, "", a, b, 4));
    OK(launch_io(stream, increment, "", b, c, 4));
    compute_graph graph = end_window();
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), claim);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(get_word(stream, c, 0), 9);
}

TEST(g2_an_allocation_that_the_memory_held_cannot_serve_is_refused)
{
    set_up();
    OK(compute_stream_prepare_capture(stream, E));
    compute_buffer_release(stream_buffer(1 << 20, "warm"));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    compute_buffer fits = stream_buffer(1 << 20, "fits"), none = (compute_buffer)(uintptr_t)7;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = 64 << 20;
    desc.stream = stream;
    desc.label = "too much";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    IS(COMPUTE_ERROR_POOLS_FROZEN, compute_buffer_create(device, &desc, &none, E));
    CHECK(none == NULL && last_info().reclaimable == 0);
    /* Buffers of other pools are made as always. */
    compute_buffer_release(make_buffer(device, 64 << 20, "elsewhere"));
    is_doomed("too much");
    OK(compute_buffer_create(device, &desc, &none, E));
    compute_buffer_release(fits);
    compute_buffer_release(none);
    stream_is_usable();
}

TEST(g2_unfinished_work_of_another_stream_dooms_the_window)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_stream other = make_stream(device);
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer in = make_buffer(device, 8, "turns");
    put_word(stream, in, 0, turns_of(device, stream, 300000000));
    put_word(stream, in, 1, 42);
    /* Compiled before, which takes longer than the long one does where others use the GPU, too. */
    OK(launch_io(stream, increment, "", a, b, 4));
    wait_for(stream);
    OK(launch_io(other, spin, "long", in, a, 1));
    compute_event event = NULL;
    OK(compute_stream_record(other, &event, E));
    open_window();
    if (compute_event_poll(event, NULL) == COMPUTE_OK) {
        printf("  not tried: the streams share a queue of the device, and what was waited for before the window was all of it\n");
        return;
    }
    IS(COMPUTE_ERROR_RECORDING, launch_io(stream, increment, "impatient", a, b, 4));
    is_doomed("impatient");
    open_window();
    IS(COMPUTE_ERROR_RECORDING, compute_stream_wait_event(stream, event, E));
    is_doomed("wait");
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    /* What is over is no dependency. */
    open_window();
    OK(compute_stream_wait_event(stream, event, E));
    OK(launch_io(stream, increment, "", a, b, 4));
    compute_graph graph = end_window();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 0), 43);
}

/* ---- G3 ---- */

TEST(g3_end_from_another_caller_closes_the_window_and_gives_no_graph)
{
    set_up();
    compute_graph graph = NULL;
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    IS(COMPUTE_ERROR_ABANDONED, try_end(capture + 1, &graph));
    uint64_t failure = last_info().failure;
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
    IS(COMPUTE_ERROR_BUSY, try_end(capture, &graph));
    stream_is_usable();
}

TEST(g3_doomed_and_abandoned_is_several)
{
    set_up();
    compute_graph graph = NULL;
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    IS(COMPUTE_ERROR_RECORDING, do_sync());
    IS(COMPUTE_ERROR_SEVERAL, try_end(0, &graph));
    CHECK_EQ(last_info().member_count, 2);
    compute_error doom = NULL, abandoned = NULL;
    CHECK(compute_error_member(last_error, 0, &doom) == COMPUTE_OK && compute_error_member(last_error, 1, &abandoned) == COMPUTE_OK);
    compute_error_release(doom);
    compute_error_release(abandoned);
    compute_view view = whole(b);
    IS(COMPUTE_ERROR_SEVERAL, compute_check(&view, 1, 0, E));
    CHECK_EQ(last_info().member_count, 2);
    stream_is_usable();
}

/* T2: nothing ran, so what was trusted before is so again. */
TEST(g3_what_a_doomed_and_abandoned_window_claims_is_reinstated_by_the_failure_that_it_names)
{
    set_up();
    compute_graph graph = NULL;
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    OK(launch_io(stream, increment, "", b, c, 4));
    IS(COMPUTE_ERROR_RECORDING, do_sync());
    IS(COMPUTE_ERROR_SEVERAL, try_end(0, &graph));
    compute_error_info told = last_info();
    CHECK(told.failure != 0);
    CHECK_EQ(told.claimed_buffers, 2);
    compute_view views[2] = { whole(b), whole(c) };
    for (int i = 0; i < 2; i++) {
        uint64_t lifted = 0;
        IS(COMPUTE_ERROR_SEVERAL, compute_check(&views[i], 1, 0, E));
        CHECK_EQ(last_info().failure, told.failure);
        OK(compute_reinstate(&views[i], told.failure, &lifted, E));
        CHECK_EQ(lifted, BYTES);
        CHECK_EQ(get_word(stream, views[i].buffer, 3), i + 1u);
    }
    stream_is_usable();
}

TEST(g3_end_without_a_place_for_the_graph_closes_the_window_all_the_same)
{
    set_up();
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_end_capture(stream, capture, NULL, E));
    CHECK(claimed_by(b, 0, COMPUTE_WHOLE) != 0);
    stream_is_usable();
}

TEST(g3_other_streams_are_not_captured_blocked_or_doomed)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_buffer d = make_buffer(device, BYTES, "d");
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    /* The neighbour works, waits, allocates, cleans up, fails and captures. */
    fill_words(other, d, 5);
    OK(launch_io(other, increment, "", d, c, 4));
    CHECK_EQ(get_word(other, c, 0), 6);
    wait_for(other);
    compute_buffer_release(make_buffer(device, 32 << 20, "big"));
    OK(compute_device_cleanup(device, E));
    compute_view outside = range(d, 0, BYTES + 4);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write(other, &outside, d, BYTES + 4, E));
    uint64_t failure = claimed_by(d, 0, COMPUTE_WHOLE);
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(claimed_by(c, 0, COMPUTE_WHOLE), 0);
    fill_words(other, d, 6);
    uint64_t theirs = 0;
    compute_graph graph = NULL;
    OK(compute_stream_prepare_capture(other, E));
    OK(compute_stream_begin_capture(other, NULL, &theirs, E));
    OK(launch_io(other, increment, "", d, c, 4));
    OK(compute_stream_end_capture(other, theirs, &graph, E));
    OK(compute_stream_replay(other, graph, E));
    CHECK_EQ(get_word(other, c, 0), 7);
    graph = end_window();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 0), 8);
}

TEST(gr_01_destroying_anything_inside_a_window_is_safe)
{
    set_up();
    compute_buffer temporary = make_buffer(device, BYTES, "temporary");
    open_window();
    OK(launch_io(stream, increment, "", a, temporary, 4));
    OK(launch_io(stream, increment, "", temporary, c, 4));
    OK(compute_buffer_destroy(temporary, E));
    OK(compute_kernel_destroy(increment, E));
    compute_graph graph = end_window();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 9);
    compute_stream old = stream;
    increment = make_kernel(device, INCREMENT);
    open_window();
    OK(launch_io(stream, increment, "", a, b, 4));
    OK(compute_stream_destroy(stream, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_end_capture(old, capture, &graph, E));
    /* Nobody can end it any more, so it has ended: what it would have written is claimed. */
    compute_view view = whole(b);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_check(&view, 1, 0, E));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_ABANDONED);
    stream = make_stream(device);
    stream_is_usable();
    OK(compute_stream_prepare_capture(stream, E));
    uint64_t before = usage().buffers;
    compute_buffer_release(stream_buffer(BYTES, "held"));
    CHECK_EQ(usage().buffers, before + 1);
    compute_stream_release(stream);
    CHECK_EQ(usage().buffers, before);
    compute_device_release(device);
}

TEST(g3_every_failure_of_the_device_inside_a_window_leaves_the_stream_usable_and_nothing_pinned)
{
    const uint32_t hows[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_PANIC, COMPUTE_FAULT_LOST };
    for (size_t h = 0; h < COUNT_OF(hows); h++) {
        int more = 1;
        for (uint64_t n = 1; more; n++) {
            set_up_on(open_faulty());
            uint64_t before = 0, after = 0;
            OK(compute_device_fault_calls(device, &before, E));
            OK(compute_device_inject_fault(device, n, hows[h], E));
            compute_graph graph = NULL;
            uint64_t number = 0;
            (void)compute_stream_prepare_capture(stream, NULL);
            compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
            desc.size = BYTES;
            desc.stream = stream;
            for (int pass = 0; pass < 2; pass++) {
                compute_buffer temporary = NULL;
                if (compute_buffer_create(device, &desc, &temporary, NULL) == COMPUTE_OK) {
                    compute_binding one[2] = { bind(0, a), bind(1, temporary) }, two[2] = { bind(0, temporary), bind(1, b) };
                    compute_launch_desc first = launch_desc(increment, 4, 1, 1, one, 2), second = launch_desc(increment, 4, 1, 1, two, 2);
                    (void)compute_stream_launch(stream, &first, NULL);
                    (void)compute_stream_launch(stream, &second, NULL);
                }
                compute_buffer_release(temporary);
                if (pass == 0) (void)compute_stream_begin_capture(stream, NULL, &number, NULL);
            }
            compute_status ended = compute_stream_end_capture(stream, number, &graph, NULL);
            CHECK((ended == COMPUTE_OK) == (graph != NULL));
            OK(compute_device_fault_calls(device, &after, E));
            more = after - before >= n;
            OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
            if (compute_device_status(device, NULL) == COMPUTE_OK) {
                if (graph) OK(compute_stream_replay(stream, graph, E));
                wait_for(stream);
                compute_graph_release(graph);
                CHECK_EQ(usage().buffers, 3);
                stream_is_usable();
            } else {
                compute_graph_release(graph);
            }
            compute_device_release(device);
        }
    }
}

static void *capture_alone(void *user)
{
    compute_stream own = NULL;
    compute_buffer out = make_buffer(device, BYTES, "own");
    (void)user;
    CHECK(compute_stream_create(device, NULL, &own, NULL) == COMPUTE_OK);
    for (int i = 0; i < 50; i++) {
        uint64_t number = 0;
        compute_graph graph = NULL;
        compute_binding bindings[2] = { bind(0, a), bind(1, out) };
        compute_launch_desc desc = launch_desc(increment, 4, 1, 1, bindings, 2);
        CHECK(compute_stream_prepare_capture(own, NULL) == COMPUTE_OK);
        CHECK(compute_stream_begin_capture(own, NULL, &number, NULL) == COMPUTE_OK);
        CHECK(compute_stream_launch(own, &desc, NULL) == COMPUTE_OK);
        if (i % 3 == 0) CHECK(compute_stream_sync(own, NULL, 0, 0, 0, NULL) == COMPUTE_ERROR_RECORDING);
        CHECK(compute_stream_end_capture(own, number, &graph, NULL) == (i % 3 ? COMPUTE_OK : COMPUTE_ERROR_CAPTURE));
        if (graph) CHECK(compute_stream_replay(own, graph, NULL) == COMPUTE_OK);
        compute_graph_release(graph);
    }
    uint32_t word = 0;
    compute_view view = range(out, 0, 4);
    CHECK(compute_stream_read(own, &view, &word, 4, NULL) == COMPUTE_OK && word == 8);
    compute_stream_release(own);
    return NULL;
}

TEST(g3_streams_capture_at_the_same_time)
{
    set_up();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, capture_alone, NULL) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

TEST(f1_stale_and_garbage_handles_are_refused)
{
    set_up();
    void *bad[] = { NULL, (void *)(uintptr_t)UINT64_MAX, a, increment, device };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        compute_stream wrong = (compute_stream)bad[i];
        uint64_t number = 7;
        compute_graph graph = (compute_graph)(uintptr_t)7;
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_prepare_capture(wrong, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_begin_capture(wrong, NULL, &number, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_end_capture(wrong, number, &graph, E));
        CHECK(number == 0);
    }
    OK(compute_stream_prepare_capture(stream, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_begin_capture(stream, NULL, NULL, E));
    compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
    desc.flags = 1u << 31;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_begin_capture(stream, &desc, &capture, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    compute_graph_release(end_window());
}

/* The limit is for what is in use at once, which is one of them: that the window and the graph keep all of them does not count. */
static compute_status scratch_of(compute_stream of, uint64_t size, compute_buffer *buffer)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    desc.stream = of;
    desc.flags = COMPUTE_BUFFER_FLAG_SCRATCH;
    return compute_buffer_create(device, &desc, buffer, E);
}
static void three_steps(void)
{
    compute_view words = whole(a), result = whole(b);
    for (int i = 0; i < 3; i++) {
        compute_buffer scratch = NULL;
        OK(scratch_of(stream, BYTES, &scratch));
        compute_view view = whole(scratch);
        OK(compute_stream_copy(stream, i ? &result : &words, &view, E));
        OK(launch_io(stream, increment, "", scratch, b, 4));
        if (i == 1) OK(compute_buffer_destroy(scratch, E));
        else compute_buffer_release(scratch);
    }
}
TEST(m7_g1_scratch_that_is_used_one_after_another_can_be_captured)
{
    set_up();
    OK(compute_stream_set_scratch_limit(stream, BYTES, E));
    three_steps();
    OK(compute_stream_prepare_capture(stream, E));
    three_steps();
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    three_steps();
    compute_graph graph = end_window();
    fill_words(stream, a, 100);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 5), 103);
    compute_buffer scratch = NULL, more = NULL;
    OK(scratch_of(stream, BYTES, &scratch));
    compute_graph_release(graph);
    IS(COMPUTE_ERROR_LIMIT, scratch_of(stream, BYTES, &more)); /* nothing is given back twice */
}

TEST(g2_scratch_of_another_stream_gives_no_graph)
{
    set_up();
    compute_buffer theirs = NULL;
    compute_graph graph = NULL;
    OK(scratch_of(make_stream(device), BYTES, &theirs));
    compute_view from = whole(a), to = whole(theirs);
    open_window();
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_copy(stream, &from, &to, E));
    OK(launch_io(stream, increment, "", a, b, 4));
    IS(COMPUTE_ERROR_CAPTURE, try_end(capture, &graph));
    open_window();
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, launch_io(stream, increment, "", a, theirs, 4));
    IS(COMPUTE_ERROR_CAPTURE, try_end(capture, &graph));
    stream_is_usable();
}

TEST(g2_empty_reads_and_writes_of_the_host_are_refused_like_others)
{
    set_up();
    const uint64_t shape[1] = { 0 };
    compute_strided_desc none = COMPUTE_STRIDED_DESC_INIT;
    none.rank = 1;
    none.shape = shape;
    none.element_size = 4;
    compute_view nothing = range(a, 0, 0);
    uint32_t word = 0;
    compute_graph graph = NULL;
    for (int way = 0; way < 6; way++) {
        compute_event event = NULL;
        open_window();
        switch (way) {
        case 0: IS(COMPUTE_ERROR_RECORDING, compute_stream_write(stream, &nothing, &word, 0, E)); break;
        case 1: IS(COMPUTE_ERROR_RECORDING, compute_stream_read(stream, &nothing, &word, 0, E)); break;
        case 2: IS(COMPUTE_ERROR_RECORDING, compute_stream_write_borrowed(stream, &nothing, &word, 0, &event, E)); break;
        case 3: IS(COMPUTE_ERROR_RECORDING, compute_stream_read_async(stream, &nothing, &word, 0, &event, E)); break;
        case 4: IS(COMPUTE_ERROR_RECORDING, compute_stream_write_strided(stream, &nothing, &none, &word, 0, E)); break;
        case 5: IS(COMPUTE_ERROR_RECORDING, compute_stream_read_strided(stream, &nothing, &none, &word, 0, E)); break;
        }
        CHECK(event == NULL);
        IS(COMPUTE_ERROR_CAPTURE, try_end(capture, &graph));
    }
    OK(compute_stream_write(stream, &nothing, &word, 0, E));
    OK(compute_stream_read(stream, &nothing, &word, 0, E));
    stream_is_usable();
}

/* ---- two threads ---- */

struct rival {
    pthread_barrier_t begin, end;
    int over;
    compute_status status;
};
static void *run_dry(void *argument)
{
    struct rival *rival = argument;
    for (;;) {
        pthread_barrier_wait(&rival->begin);
        if (rival->over) return NULL;
        rival->status = compute_stream_begin_dry_run(stream, NULL);
        pthread_barrier_wait(&rival->end);
    }
}
/* G2, M5: in a dry run a launch is not recorded, so that there would be a hole in the graph. */
TEST(g2_m5_a_dry_run_and_a_capture_are_never_both_open)
{
    set_up();
    struct rival rival = { .over = 0 };
    CHECK(pthread_barrier_init(&rival.begin, NULL, 2) == 0 && pthread_barrier_init(&rival.end, NULL, 2) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_dry, &rival) == 0);
    int dry = 0, captured = 0;
    for (int round = 0; round < 4000; round++) {
        pthread_barrier_wait(&rival.begin);
        /* Now one is a little ahead, and now the other. */
        for (volatile int turns = round % 64 * 16; turns > 0; turns--) {}
        compute_status prepared = compute_stream_prepare_capture(stream, NULL);
        pthread_barrier_wait(&rival.end);
        CHECK(prepared == COMPUTE_OK || prepared == COMPUTE_ERROR_BUSY);
        CHECK(rival.status == COMPUTE_OK || rival.status == COMPUTE_ERROR_BUSY);
        CHECK(prepared != COMPUTE_OK || rival.status != COMPUTE_OK);
        compute_graph graph = NULL;
        if (prepared == COMPUTE_OK) {
            captured++;
            IS(COMPUTE_ERROR_BUSY, try_end(0, &graph)); /* never begun */
        }
        if (rival.status == COMPUTE_OK) {
            dry++;
            OK(compute_stream_end_dry_run(stream, E));
        }
    }
    printf("  %d dry runs, %d captures\n", dry, captured);
    rival.over = 1;
    pthread_barrier_wait(&rival.begin);
    pthread_join(thread, NULL);
    stream_is_usable();
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(g1_what_is_recorded_does_not_run_and_is_replayed_any_number_of_times);
    RUN(g1_calls_out_of_order_are_refused);
    RUN(g1_begin_reports_a_failure_of_the_warm_up_and_disarms);
    RUN(g1_a_skip_and_a_late_failure_of_the_warm_up_are_failures_too);
    RUN(g1_a_failure_of_another_stream_is_none_of_the_warm_up);
    RUN(g1_a_window_that_was_prepared_and_never_begun_is_disarmed_by_end);
    RUN(g1_temporaries_of_the_warm_up_are_there_for_the_recording);
    RUN(g2_gr_01_what_a_window_cannot_record_is_refused_at_once_and_dooms_it_by_name);
    RUN(g2_a_failed_launch_dooms_the_window_and_end_names_it);
    RUN(g2_bad_descriptors_and_kernels_that_do_not_compile_doom_the_window);
    RUN(g2_a_launch_that_would_be_skipped_dooms_the_window);
    RUN(g5_a_window_has_a_view_of_trust_of_its_own);
    RUN(g2_an_allocation_that_the_memory_held_cannot_serve_is_refused);
    RUN(g2_unfinished_work_of_another_stream_dooms_the_window);
    RUN(g3_end_from_another_caller_closes_the_window_and_gives_no_graph);
    RUN(g3_doomed_and_abandoned_is_several);
    RUN(g3_what_a_doomed_and_abandoned_window_claims_is_reinstated_by_the_failure_that_it_names);
    RUN(g3_end_without_a_place_for_the_graph_closes_the_window_all_the_same);
    RUN(g3_other_streams_are_not_captured_blocked_or_doomed);
    RUN(gr_01_destroying_anything_inside_a_window_is_safe);
    RUN(g3_every_failure_of_the_device_inside_a_window_leaves_the_stream_usable_and_nothing_pinned);
    RUN(g3_streams_capture_at_the_same_time);
    RUN(f1_stale_and_garbage_handles_are_refused);
    RUN(m7_g1_scratch_that_is_used_one_after_another_can_be_captured);
    RUN(g2_scratch_of_another_stream_gives_no_graph);
    RUN(g2_empty_reads_and_writes_of_the_host_are_refused_like_others);
    RUN(g2_m5_a_dry_run_and_a_capture_are_never_both_open);
    return finish();
}
