/* The rules G4 to G7: explicit graphs, replays, updates, and what a graph tells about itself. Captures are in captures.c. */
#include "rules.h"

#define WORDS 256
#define BYTES (4 * WORDS)

static compute_device device;
static compute_stream stream;
static compute_kernel increment, add;
static compute_buffer a, b, c;

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
    wait_for(stream);
}
static void set_up(void) { set_up_on(open_device()); }

static compute_graph_builder make_builder(uint64_t flags)
{
    compute_graph_builder builder = NULL;
    compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
    desc.flags = flags;
    desc.label = "G";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    OK(compute_graph_builder_create(device, &desc, &builder, E));
    CHECK(builder != NULL);
    return builder;
}

static compute_status try_launch(compute_graph_builder builder, compute_kernel kernel, const char *label, compute_buffer from, compute_buffer to, uint32_t x,
                                 const compute_node *after, size_t count, compute_node *node)
{
    compute_binding bindings[2] = { bind(0, from), bind(1, to) };
    compute_launch_desc desc = launch_desc(kernel, x, 1, 1, bindings, 2);
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    return compute_graph_builder_add_launch(builder, &desc, after, count, node, E);
}
static compute_node add_launch(compute_graph_builder builder, const char *label, compute_buffer from, compute_buffer to)
{
    compute_node node = 0;
    OK(try_launch(builder, increment, label, from, to, WORDS / 64, NULL, 0, &node));
    CHECK(node != 0);
    return node;
}
static compute_node add_copy(compute_graph_builder builder, compute_buffer from, compute_buffer to)
{
    compute_node node = 0;
    compute_view source = whole(from), target = whole(to);
    OK(compute_graph_builder_add_copy(builder, &source, &target, "copied", COMPUTE_NUL_TERMINATED, NULL, 0, &node, E));
    return node;
}
static compute_node add_fill(compute_graph_builder builder, compute_buffer to, uint32_t word)
{
    compute_node node = 0;
    compute_view view = whole(to);
    OK(compute_graph_builder_add_fill(builder, &view, &word, 4, NULL, 0, NULL, 0, &node, E));
    return node;
}
static compute_graph instantiate(compute_graph_builder builder)
{
    compute_graph graph = NULL;
    OK(compute_graph_builder_instantiate(builder, &graph, E));
    CHECK(graph != NULL);
    return graph;
}
static compute_graph_info graph_info(compute_graph graph)
{
    compute_graph_info info = COMPUTE_GRAPH_INFO_INIT;
    OK(compute_graph_get_info(graph, &info, E));
    return info;
}
/* b = a + 1, c = b + 1 */
static compute_graph two_steps(void)
{
    compute_graph_builder builder = make_builder(0);
    add_launch(builder, "first", a, b);
    add_launch(builder, "second", b, c);
    compute_graph graph = instantiate(builder);
    compute_graph_builder_release(builder);
    return graph;
}
static uint64_t buffers_alive(void)
{
    compute_memory_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    OK(compute_device_memory_usage(device, &usage, E));
    return usage.buffers;
}

/* ---- G6: what runs in which order ---- */

TEST(g6_nodes_that_conflict_run_in_the_order_in_which_they_were_added)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    add_fill(builder, b, 1);
    add_launch(builder, "", b, c);
    add_fill(builder, b, 50);
    add_launch(builder, "", b, a);
    compute_graph graph = instantiate(builder);
    for (int i = 0; i < 100; i++) {
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 9), 2);
        CHECK_EQ(get_word(stream, a, 255), 51);
        CHECK_EQ(get_word(stream, b, 0), 50);
    }
    /* fill -> launch -> fill -> launch, and the second launch needs nothing but the second fill. */
    CHECK_EQ(graph_info(graph).edge_count, 3);
}

/* Nodes without an edge run in any order, so that an edge that is missing shows. */
TEST(g6_random_graphs_leave_what_their_nodes_leave_one_after_another)
{
    enum { SLOTS = 3, LENGTH = 512, STEPS = 700 };
    set_up();
    for (uint32_t seed = 1; seed <= 6; seed++) {
        static uint32_t model[SLOTS][LENGTH], found[LENGTH];
        struct {
            uint32_t from, from_at, to, to_at, count, word;
        } steps[STEPS];
        compute_buffer buffers[SLOTS];
        uint32_t random = 7919 * seed;
        for (int i = 0; i < SLOTS; i++) buffers[i] = make_buffer(device, 4 * LENGTH, "random");
        memset(model, 0, sizeof model);
        compute_graph_builder builder = make_builder(0);
        for (int i = 0; i < STEPS; i++) {
            /* Short ranges leave more pieces than are told apart. */
            uint32_t most = seed % 2 ? 4 : 100;
            steps[i].count = 1 + next_random(&random) % most;
            steps[i].to = next_random(&random) % SLOTS;
            steps[i].to_at = next_random(&random) % (LENGTH - steps[i].count);
            steps[i].from = next_random(&random) % 3 ? (steps[i].to + 1) % SLOTS : SLOTS;
            steps[i].from_at = next_random(&random) % (LENGTH - steps[i].count);
            steps[i].word = next_random(&random);
            compute_view to = range(buffers[steps[i].to], 4 * steps[i].to_at, 4 * steps[i].count);
            if (steps[i].from == SLOTS) {
                OK(compute_graph_builder_add_fill(builder, &to, &steps[i].word, 4, NULL, 0, NULL, 0, NULL, E));
            } else {
                compute_view from = range(buffers[steps[i].from], 4 * steps[i].from_at, 4 * steps[i].count);
                OK(compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, NULL, E));
            }
        }
        compute_graph graph = instantiate(builder);
        for (int round = 0; round < 3; round++) {
            OK(compute_stream_replay(stream, graph, E));
            for (int i = 0; i < STEPS; i++) {
                for (uint32_t n = 0; n < steps[i].count; n++) {
                    uint32_t word = steps[i].from == SLOTS ? steps[i].word : model[steps[i].from][steps[i].from_at + n];
                    model[steps[i].to][steps[i].to_at + n] = word;
                }
            }
            for (int i = 0; i < SLOTS; i++) {
                OK(get(stream, buffers[i], 0, found, sizeof found));
                CHECK(memcmp(found, model[i], sizeof found) == 0);
            }
        }
        compute_graph_release(graph);
        compute_graph_builder_release(builder);
    }
}

TEST(g6_independent_nodes_have_no_edge_and_given_edges_count)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node one = add_fill(builder, a, 1), two = add_fill(builder, b, 2), both[2] = { two, one }, join = 0, last = 0;
    CHECK_EQ(graph_info(instantiate(builder)).edge_count, 0);
    OK(compute_graph_builder_add_join(builder, both, 2, &join, E));
    compute_view view = whole(c);
    OK(compute_graph_builder_add_fill(builder, &view, "x", 1, NULL, 0, &join, 1, &last, E));
    compute_graph graph = instantiate(builder);
    CHECK_EQ(graph_info(graph).node_count, 4);
    CHECK_EQ(graph_info(graph).edge_count, 3);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, a, 3), 1);
    CHECK_EQ(get_word(stream, b, 3), 2);
    CHECK_EQ(get_word(stream, c, 3), 0x78787878);
}

TEST(g6_an_edge_to_a_node_of_another_graph_is_refused)
{
    set_up();
    compute_graph_builder mine = make_builder(0), other = make_builder(0);
    compute_node foreign = add_fill(other, a, 1), node = add_fill(mine, a, 1), none = 7;
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, try_launch(mine, increment, "", a, b, 4, &foreign, 1, &none));
    CHECK_EQ(none, 0);
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_builder_add_join(mine, &foreign, 1, NULL, E));
    compute_graph graph = instantiate(other);
    compute_view view = whole(a);
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_graph_update_fill(graph, node, &view, "x", 1, E));
    CHECK_EQ(graph_info(instantiate(mine)).node_count, 1);
}

TEST(g6_edges_to_nodes_that_are_not_there_are_refused)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node node = add_fill(builder, a, 1);
    compute_node wrong[] = { 0, 1, node + 1, node + 0x7fffffff, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) IS_CLASS(100, compute_graph_builder_add_join(builder, &wrong[i], 1, NULL, E));
    compute_node again[3] = { node, node, node };
    OK(compute_graph_builder_add_join(builder, again, 3, NULL, E));
    CHECK_EQ(graph_info(instantiate(builder)).edge_count, 1);
}

TEST(f1_hostile_numbers_of_edges_are_refused)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node node = add_fill(builder, a, 1);
    size_t counts[] = { SIZE_MAX, SIZE_MAX / 8, (size_t)1 << 60, ((size_t)1 << 24) + 1 };
    for (size_t i = 0; i < COUNT_OF(counts); i++) IS_CLASS(100, compute_graph_builder_add_join(builder, &node, counts[i], NULL, E));
    IS_CLASS(100, compute_graph_builder_add_join(builder, NULL, 1, NULL, E));
    OK(compute_graph_builder_add_join(builder, NULL, 0, NULL, E));
}

TEST(g6_a_node_is_checked_as_the_call_on_a_stream_is_and_claims_nothing)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node none = 7;
    compute_view all = whole(a), outside = range(a, 4, BYTES), half = range(a, 0, 8);
    IS(COMPUTE_ERROR_OVERLAP, compute_graph_builder_add_copy(builder, &all, &all, NULL, 0, NULL, 0, &none, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_builder_add_copy(builder, &all, &outside, NULL, 0, NULL, 0, &none, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_builder_add_copy(builder, &all, &half, NULL, 0, NULL, 0, &none, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_fill(builder, &all, "abc", 3, NULL, 0, NULL, 0, &none, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_builder_add_fill(builder, NULL, "a", 1, NULL, 0, NULL, 0, &none, E));
    IS(COMPUTE_ERROR_OVERLAP, try_launch(builder, increment, "", a, a, 4, NULL, 0, &none));
    IS(COMPUTE_ERROR_BINDING, try_launch(builder, add, "", b, a, 4, NULL, 0, &none));
    CHECK_EQ(none, 0);
    CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(graph_info(instantiate(builder)).node_count, 0);
    OK(compute_stream_replay(stream, instantiate(builder), E));
}

TEST(l1_a_launch_with_a_zero_in_its_grid_is_a_node_that_does_nothing)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node node = 0;
    OK(try_launch(builder, increment, "", a, b, 0, NULL, 0, &node));
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    compute_binding bindings[2] = { bind(0, a), bind(1, b) };
    compute_launch_desc desc = launch_desc(NULL, 4, 1, 1, bindings, 2);
    OK(compute_graph_update_launch(graph, node, &desc, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 200), 8);
}

/* ---- G5: replays ---- */

TEST(gr_03_inputs_that_are_written_between_replays_are_seen_ten_thousand_times)
{
    set_up();
    compute_graph graph = two_steps();
    for (uint32_t i = 0; i < 10000; i++) {
        fill_words(stream, a, 3 * i);
        put_word(stream, a, i % WORDS, i);
        OK(compute_stream_replay(stream, graph, E));
        uint32_t at = i % 7 ? i % WORDS : (i + 1) % WORDS;
        CHECK_EQ(get_word(stream, c, at), (at == i % WORDS ? i : 3 * i) + 2);
    }
}

TEST(g5_replays_on_two_streams_follow_each_other)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_graph_builder builder = make_builder(0);
    add_launch(builder, "", a, b);
    add_copy(builder, b, a);
    compute_graph graph = instantiate(builder);
    for (int i = 0; i < 200; i++) {
        OK(compute_stream_replay(i % 2 ? other : stream, graph, E));
        if (i % 3 == 0) OK(launch_io(i % 5 ? other : stream, increment, "", a, c, 4));
    }
    CHECK_EQ(get_word(stream, a, 77), 207);
}

TEST(t5_a_replay_that_would_read_claimed_bytes_is_skipped_as_a_whole)
{
    set_up();
    compute_graph graph = two_steps();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 9);
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    uint64_t failure = claim_all(stream, add, scratch, a);
    IS(COMPUTE_SKIPPED, compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(c, 0, COMPUTE_WHOLE), failure);
    uint32_t word = 0;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, c, 0, &word, 4));
    CHECK_EQ(last_info().skip, 1);
    CHECK(error_says("`replay` \"G\"") && error_says("buffer \"a\""));
    /* Repaired, all is well again. */
    fill_words(stream, a, 1);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 3);
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
}

TEST(g5_bytes_that_an_earlier_node_writes_wholly_need_not_be_trusted_before)
{
    set_up();
    compute_graph graph = two_steps();
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    claim_all(stream, add, scratch, b);
    claim_all(stream, add, scratch, c);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(get_word(stream, c, 100), 9);
}

TEST(t6a_never_written_bytes_are_filled_ahead_of_the_replay)
{
    set_up();
    compute_kernel first = make_kernel(device, INCREMENT_FIRST);
    compute_buffer fresh = make_buffer(device, BYTES, "fresh"), out = make_buffer(device, BYTES, "out");
    compute_graph_builder builder = make_builder(0);
    /* Writes one word of `fresh`; `out` takes all of it. */
    OK(try_launch(builder, first, "", a, fresh, 1, NULL, 0, NULL));
    add_launch(builder, "", fresh, out);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, out, 0), 9);
    CHECK_EQ(get_word(stream, out, 1), 1);
    CHECK_EQ(get_word(stream, fresh, 255), 0);
}

TEST(t6a_padding_that_a_node_leaves_reads_as_zeros_in_and_behind_the_graph)
{
    set_up();
    compute_kernel padded = make_kernel(device,
        "@group(0) @binding(0) var<storage, read_write> O: array<vec3<u32>>;"
        "@compute @workgroup_size(64) fn padded(@builtin(global_invocation_id) id: vec3<u32>) { O[id.x] = vec3(7u); }");
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = BYTES;
    desc.stream = stream;
    compute_buffer used = NULL, out = make_buffer(device, BYTES, "out"), lost = make_buffer(device, BYTES, "lost");
    OK(compute_buffer_create(device, &desc, &used, E));
    fill_words(stream, used, UINT32_MAX);
    compute_buffer_release(used);
    OK(compute_buffer_create(device, &desc, &used, E));
    compute_graph_builder builder = make_builder(0);
    compute_binding binding = bind(0, used);
    compute_launch_desc launch = launch_desc(padded, 1, 1, 1, &binding, 1);
    OK(compute_graph_builder_add_launch(builder, &launch, NULL, 0, NULL, E));
    add_launch(builder, "", used, out);
    compute_graph graph = instantiate(builder);
    /* Over memory that nothing has written, and over claimed bytes. */
    for (int round = 0; round < 2; round++) {
        OK(compute_stream_replay(stream, graph, E));
        for (uint32_t i = 0; i < BYTES / 4; i++) {
            CHECK_EQ(get_word(stream, used, i), i % 4 == 3 ? 0 : 7);
            CHECK_EQ(get_word(stream, out, i), i % 4 == 3 ? 1 : 8);
        }
        fill_words(stream, used, UINT32_MAX);
        claim_all(stream, add, lost, used);
    }
}

TEST(t13_what_a_graph_reads_of_padding_derives_from_the_launch_that_wrote_it)
{
    set_up();
    compute_kernel padded = make_kernel(device,
        "@group(0) @binding(0) var<storage, read_write> O: array<vec3<u32>>;"
        "@compute @workgroup_size(64) fn padded(@builtin(global_invocation_id) id: vec3<u32>) { O[id.x] = vec3(7u); }");
    compute_kernel_desc desc = kernel_desc(
        IO "@compute @workgroup_size(64) fn beyond(" ID ") { if I[id.x + 4096u] != 1u { O[4u * id.x + 3u] = 9u; } }", "beyond");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel beyond = make_kernel_from(device, &desc);
    compute_buffer between = make_buffer(device, BYTES, "between"), out = make_buffer(device, BYTES, "out");
    compute_graph_builder builder = make_builder(0);
    compute_binding binding = bind(0, between);
    compute_launch_desc launch = launch_desc(padded, 1, 1, 1, &binding, 1);
    OK(compute_graph_builder_add_launch(builder, &launch, NULL, 0, NULL, E));
    add_launch(builder, "", between, out);
    compute_graph graph = instantiate(builder);
    for (int round = 0; round < 50; round++) {
        fill_words(stream, between, 5);
        compute_binding bindings[2] = { bind(0, a), bind(1, between) };
        launch = launch_desc(beyond, 1, 1, 1, bindings, 2);
        OK(compute_stream_launch(stream, &launch, E));
        OK(compute_stream_replay(stream, graph, E));
        uint32_t words[BYTES / 4];
        compute_status status = get(stream, out, 0, words, sizeof words);
        CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_UNWRITTEN);
        for (uint32_t i = 0; status == COMPUTE_OK && i < BYTES / 4; i++) CHECK_EQ(words[i], i % 4 == 3 ? 1 : 8);
    }
}

TEST(t6a_claims_on_bytes_that_a_graph_may_not_write_stay)
{
    set_up();
    compute_kernel first = make_kernel(device, INCREMENT_FIRST);
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    compute_graph_builder builder = make_builder(0);
    OK(try_launch(builder, first, "", a, b, 1, NULL, 0, NULL));
    compute_graph graph = instantiate(builder);
    uint64_t failure = claim_all(stream, add, scratch, b);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(b, 4, COMPUTE_WHOLE), failure);
}

TEST(g5_a_graph_of_another_device_is_refused_and_what_it_writes_is_claimed)
{
    set_up();
    compute_graph graph = two_steps();
    OK(compute_stream_replay(stream, graph, E));
    compute_stream foreign = make_stream(open_device());
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_stream_replay(foreign, graph, E));
    uint64_t failure = claimed_by(b, 0, COMPUTE_WHOLE);
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(c, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), 0);
    /* Nothing reached a device: it can be taken back. */
    uint64_t lifted = 0;
    compute_view view = whole(c);
    OK(compute_reinstate(&view, failure, &lifted, E));
    CHECK_EQ(lifted, BYTES);
    CHECK_EQ(get_word(stream, c, 0), 9);
}

/* ---- G4: what a graph keeps ---- */

TEST(g4_a_graph_keeps_buffers_and_kernels_whose_handles_have_ended)
{
    set_up();
    uint64_t before = buffers_alive();
    compute_buffer temporary = make_buffer(device, BYTES, "temporary");
    compute_graph_builder builder = make_builder(0);
    add_launch(builder, "", a, temporary);
    add_launch(builder, "", temporary, c);
    compute_graph graph = instantiate(builder);
    OK(compute_graph_builder_destroy(builder, E));
    OK(compute_buffer_destroy(temporary, E));
    OK(compute_kernel_destroy(increment, E));
    /* Memory that was given away would show: somebody else writes whatever he can get. */
    for (int i = 0; i < 50; i++) fill_words(stream, make_buffer(device, BYTES, "other"), 0xffffffff);
    for (int i = 0; i < 50; i++) {
        fill_words(stream, a, (uint32_t)i);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 5), i + 2);
    }
    CHECK_EQ(buffers_alive(), before + 51);
    for (int i = 0; i < 20; i++) OK(compute_stream_replay(stream, graph, E));
    OK(compute_graph_destroy(graph, E));
    CHECK_EQ(buffers_alive(), before + 50);
    CHECK_EQ(get_word(stream, c, 5), 51);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_replay(stream, graph, E));
}

TEST(g4_destroying_a_graph_does_not_wait_for_its_replays)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer in = make_buffer(device, 8, "turns"), out = make_buffer(device, 8, "result");
    put_word(stream, in, 0, turns_of(device, stream, 200000000));
    put_word(stream, in, 1, 42);
    wait_for(stream);
    compute_graph_builder builder = make_builder(0);
    OK(try_launch(builder, spin, "long", in, out, 1, NULL, 0, NULL));
    compute_graph graph = instantiate(builder);
    compute_graph_builder_release(builder);
    uint64_t begin_ns = now_ns();
    OK(compute_stream_replay(stream, graph, E));
    OK(compute_graph_destroy(graph, E));
    uint64_t destroyed_ns = now_ns();
    CHECK_EQ(get_word(stream, out, 0), 42);
    uint64_t done_ns = now_ns();
    CHECK(destroyed_ns - begin_ns < (done_ns - begin_ns) / 2);
}

TEST(g4_a_deferred_buffer_gets_its_memory_when_the_graph_is_made)
{
    set_up();
    compute_buffer deferred = make_buffer_with(device, BYTES, "deferred", COMPUTE_BUFFER_FLAG_DEFERRED);
    compute_graph_builder builder = make_builder(0);
    add_launch(builder, "", a, deferred);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, deferred, 17), 8);
}

/* ---- G6: updates ---- */

TEST(gr_03_buffers_inline_bytes_and_grid_of_a_node_can_be_updated_without_recording_again)
{
    set_up();
    uint32_t amount[4] = { 5, 0, 0, 0 };
    compute_binding bindings[3] = { bind(0, a), bind(1, b), bind_bytes(2, amount, 16) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    compute_graph_builder builder = make_builder(0);
    compute_node node = 0;
    OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, &node, E));
    add_launch(builder, "", b, c);
    compute_graph graph = instantiate(builder), other = instantiate(builder);
    for (uint32_t i = 0; i < 300; i++) {
        amount[0] = i;
        desc.kernel = i % 2 ? add : NULL;
        OK(compute_graph_update_launch(graph, node, &desc, E));
        OK(compute_stream_replay(stream, graph, E));
        if (i % 50 == 0) CHECK_EQ(get_word(stream, c, 3), 8 + i);
    }
    CHECK_EQ(get_word(stream, c, 255), 8 + 299);
    /* Another input and another output: `c` keeps what it had. */
    compute_buffer d = make_buffer(device, BYTES, "d");
    fill_words(stream, d, 100);
    bindings[0] = bind(0, d);
    OK(compute_graph_update_launch(graph, node, &desc, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 101 + 299);
    /* Half of the grid writes half of the words. */
    fill_words(stream, b, 1);
    desc.grid[0] = 2;
    OK(compute_graph_update_launch(graph, node, &desc, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 127), 100 + 299);
    CHECK_EQ(get_word(stream, b, 128), 1);
    /* The builder's other graph was not touched. */
    OK(compute_stream_replay(stream, other, E));
    CHECK_EQ(get_word(stream, c, 0), 7 + 5 + 1);
}

TEST(g6_an_update_that_makes_nodes_conflict_orders_them)
{
    set_up();
    compute_buffer d = make_buffer(device, BYTES, "d");
    compute_graph_builder builder = make_builder(0);
    compute_node first = add_fill(builder, d, 9), second = add_launch(builder, "", a, b), third = add_copy(builder, a, c);
    (void)first;
    compute_graph graph = instantiate(builder);
    CHECK_EQ(graph_info(graph).edge_count, 0);
    compute_binding bindings[2] = { bind(0, d), bind(1, b) };
    compute_launch_desc desc = launch_desc(NULL, 4, 1, 1, bindings, 2);
    OK(compute_graph_update_launch(graph, second, &desc, E));
    compute_view from = whole(b), to = whole(c);
    OK(compute_graph_update_copy(graph, third, &from, &to, E));
    CHECK_EQ(graph_info(graph).edge_count, 2);
    for (int i = 0; i < 50; i++) {
        fill_words(stream, d, 0);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 60), 10);
    }
}

TEST(g6_updates_of_the_wrong_kind_or_kernel_are_refused_and_change_nothing)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_node launch_node = add_launch(builder, "", a, b), fill_node = add_fill(builder, c, 4), join = 0;
    OK(compute_graph_builder_add_join(builder, NULL, 0, &join, E));
    compute_graph graph = instantiate(builder);
    compute_view view = whole(c), wrong = range(c, 8, BYTES);
    compute_binding bindings[2] = { bind(0, a), bind(1, c) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 2);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_launch(graph, launch_node, &desc, E));
    desc.kernel = (compute_kernel)(uintptr_t)12345;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_update_launch(graph, launch_node, &desc, E));
    desc.kernel = increment;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_launch(graph, fill_node, &desc, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_fill(graph, launch_node, &view, "x", 1, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_fill(graph, join, &view, "x", 1, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_update_fill(graph, fill_node, &wrong, "x", 1, E));
    IS_CLASS(100, compute_graph_update_fill(graph, 0, &view, "x", 1, E));
    desc.grid[0] = UINT32_MAX;
    IS_CLASS(100, compute_graph_update_launch(graph, launch_node, &desc, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 0), 8);
    CHECK_EQ(get_word(stream, c, 0), 4);
}

/* ---- G6: what a graph tells ---- */

TEST(g6_a_graph_tells_how_many_distinct_bytes_it_references)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    compute_view one = range(a, 0, 64), two = range(a, 32, 64), to = range(b, 100, 64);
    OK(compute_graph_builder_add_copy(builder, &one, &to, NULL, 0, NULL, 0, NULL, E));
    OK(compute_graph_builder_add_copy(builder, &two, &to, NULL, 0, NULL, 0, NULL, E));
    compute_graph_info info = graph_info(instantiate(builder));
    CHECK_EQ(info.bytes, 96 + 64);
    CHECK_EQ(info.buffer_count, 2);
}

TEST(g6_a_timed_graph_gives_the_time_of_every_node_and_its_label)
{
    set_up();
    compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
    desc.flags = COMPUTE_GRAPH_FLAG_TIMED;
    compute_graph_builder builder = NULL;
    OK(compute_graph_builder_create(device, &desc, &builder, E));
    add_launch(builder, "small", a, b);
    compute_node all[2] = { 0, 0 };
    compute_view big = whole(make_buffer(device, 64 << 20, "big"));
    OK(compute_graph_builder_add_fill(builder, &big, "abcd", 4, "large", COMPUTE_NUL_TERMINATED, NULL, 0, &all[0], E));
    OK(compute_graph_builder_add_join(builder, all, 1, NULL, E));
    compute_graph graph = NULL;
    compute_status made = compute_graph_builder_instantiate(builder, &graph, E);
    if (getenv("RULES_BACKEND") && made == COMPUTE_ERROR_UNSUPPORTED) {
        printf("  not tried: this device cannot measure nodes\n");
        return;
    }
    CHECK_EQ(made, COMPUTE_OK);
    uint64_t times[3] = { 9, 9, 9 };
    size_t count = 0;
    IS(COMPUTE_NOT_READY, compute_graph_get_times(graph, times, 3, &count, E));
    CHECK_EQ(count, 3);
    /* Filling 64 MiB takes longer than adding to 256 words, but for once that something else was in the way of these. */
    for (int round = 0; round < 5 && times[1] <= times[0]; round++) {
        OK(compute_stream_replay(stream, graph, E));
        wait_for(stream);
        OK(compute_graph_get_times(graph, times, 3, &count, E));
    }
    IS(COMPUTE_INCOMPLETE, compute_graph_get_times(graph, times, 2, &count, E));
    CHECK(times[0] > 0 && times[1] > times[0]);
    CHECK_EQ(times[2], 0);
    compute_node_info info = COMPUTE_NODE_INFO_INIT;
    OK(compute_graph_get_node(graph, 1, &info, E));
    CHECK(strcmp(info.label, "large") == 0 && strcmp(info.name, "fill") == 0 && info.kind == COMPUTE_NODE_FILL && info.node == all[0]);
    OK(compute_graph_get_node(graph, 0, &info, E));
    CHECK(strcmp(info.label, "small") == 0 && strcmp(info.name, "increment") == 0 && info.kind == COMPUTE_NODE_LAUNCH);
    OK(compute_graph_get_node(graph, 2, &info, E));
    CHECK(info.kind == COMPUTE_NODE_JOIN && info.after_count == 1);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_graph_get_node(graph, 3, &info, E));
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_graph_get_times(two_steps(), times, 3, &count, E));
    /* Nothing is over at once. */
    compute_graph_builder_release(builder);
    OK(compute_graph_builder_create(device, &desc, &builder, E));
    OK(compute_graph_builder_add_join(builder, NULL, 0, NULL, E));
    graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    wait_for(stream);
    times[0] = 9;
    OK(compute_graph_get_times(graph, times, 1, &count, E));
    CHECK(count == 1 && times[0] == 0);
}

TEST(g6_a_graph_is_exported_as_dot_and_json)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    add_launch(builder, "quo\"ted\n", a, b);
    add_launch(builder, "second", b, c);
    compute_graph graph = instantiate(builder);
    char text[2048];
    size_t needed = 0, again = 0;
    OK(compute_graph_export(graph, COMPUTE_GRAPH_DOT, NULL, 0, &needed, E));
    CHECK(needed > 40 && needed < sizeof text);
    OK(compute_graph_export(graph, COMPUTE_GRAPH_DOT, text, needed, &again, E));
    CHECK_EQ(again, needed);
    CHECK_EQ(strlen(text) + 1, needed);
    CHECK(strstr(text, "digraph \"G\"") && strstr(text, "n0 -> n1;") && strstr(text, "quo\\\"ted\\u000a"));
    IS(COMPUTE_INCOMPLETE, compute_graph_export(graph, COMPUTE_GRAPH_DOT, text, 10, &needed, E));
    CHECK_EQ(strlen(text), 9);
    OK(compute_graph_export(graph, COMPUTE_GRAPH_JSON, text, sizeof text, &needed, E));
    CHECK(strstr(text, "\"kind\": \"launch\"") && strstr(text, "\"after\": [0]") && strstr(text, "\"grid\": [4, 1, 1]"));
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_graph_export(graph, 2, text, sizeof text, &needed, E));
}

/* ---- failures on the device ---- */

TEST(g5_a_failed_replay_leaves_its_write_set_claimed_and_the_next_releases_it)
{
    set_up_on(open_faulty());
    compute_graph graph = two_steps();
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 9);
    uint64_t calls = 0, after = 0;
    OK(compute_device_fault_calls(device, &calls, E));
    OK(compute_stream_replay(stream, graph, E));
    OK(compute_device_fault_calls(device, &after, E));
    wait_for(stream);
    for (uint64_t n = 1; n <= after - calls; n++) {
        OK(compute_device_inject_fault(device, n, COMPUTE_FAULT_ERROR, E));
        IS(COMPUTE_ERROR_DRIVER, compute_stream_replay(stream, graph, E));
        uint64_t failure = claimed_by(c, 0, COMPUTE_WHOLE);
        CHECK(failure != 0);
        CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
        CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), 0);
        OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
        wait_for(stream);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 0), 9);
        CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), 0);
    }
}

TEST(g5_a_graph_of_which_a_part_was_submitted_is_refused_until_that_part_is_over)
{
    set_up_on(open_faulty());
    if (!runs_long(device, stream)) return;
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer in = make_buffer(device, 8, "turns"), out = make_buffer(device, 8, "result");
    put_word(stream, in, 0, turns_of(device, stream, 100000000));
    put_word(stream, in, 1, 42);
    compute_graph graph = two_steps();
    wait_for(stream);
    OK(launch_io(stream, spin, "long", in, out, 1));
    /* The next call of the device is the replay, or its fills. */
    int failed = 0;
    for (uint64_t n = 1; n <= 4 && !failed; n++) {
        OK(compute_device_inject_fault(device, n, COMPUTE_FAULT_ERROR, E));
        failed = compute_stream_replay(stream, graph, E) == COMPUTE_ERROR_DRIVER;
        OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
    }
    CHECK(failed);
    IS(COMPUTE_ERROR_BUSY, compute_stream_replay(stream, graph, E));
    CHECK(error_says("part"));
    wait_for(stream);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 9);
}

TEST(t13_a_replay_that_fails_late_claims_all_that_it_writes_and_what_used_it)
{
    set_up_on(open_faulty());
    compute_graph graph = two_steps();
    compute_buffer d = make_buffer(device, BYTES, "d");
    OK(compute_stream_replay(stream, graph, E));
    wait_for(stream);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LATE, E));
    OK(compute_stream_replay(stream, graph, E));
    /* Where the failure is known by now, it is skipped. */
    compute_status used = launch_io(stream, increment, "user", c, d, 4);
    CHECK(used == COMPUTE_OK || used == COMPUTE_SKIPPED);
    wait_for(stream);
    uint64_t failure = claimed_by(c, 0, COMPUTE_WHOLE);
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(b, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(d, 0, COMPUTE_WHOLE), failure);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 0), 9);
}

TEST(l5_a_violation_in_a_node_becomes_a_failure_of_the_replay)
{
    set_up();
    compute_kernel_desc desc = kernel_desc(IO "@compute @workgroup_size(1) fn stray() { O[I[0]] = 1u; }", "stray");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel stray = make_kernel_from(device, &desc);
    compute_graph_builder builder = make_builder(0);
    OK(try_launch(builder, stray, "", a, b, 1, NULL, 0, NULL));
    add_launch(builder, "", b, c);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 7), 2);
    fill_words(stream, a, 100000);
    OK(compute_stream_replay(stream, graph, E));
    compute_view view = whole(c);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_sync(stream, &view, 1, 0, COMPUTE_FOREVER, E));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_KERNEL_FAULT);
    fill_words(stream, a, 8);
    fill_words(stream, b, 0);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 8), 2);
}

TEST(t2_every_way_in_which_a_graph_can_fail_leaves_its_bytes_claimed_and_the_rest_usable)
{
    const uint32_t hows[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LATE, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    for (size_t h = 0; h < COUNT_OF(hows); h++) {
        int more = 1;
        for (uint64_t n = 1; more; n++) {
            set_up_on(open_faulty());
            compute_buffer fresh = make_buffer(device, BYTES, "fresh");
            compute_graph_builder builder = make_builder(0);
            add_launch(builder, "", a, b);
            compute_node node = add_launch(builder, "", b, c);
            uint64_t before = 0, after = 0;
            OK(compute_device_fault_calls(device, &before, E));
            OK(compute_device_inject_fault(device, n, hows[h], E));
            compute_graph graph = NULL;
            compute_status made = compute_graph_builder_instantiate(builder, &graph, E);
            CHECK((made == COMPUTE_OK) == (graph != NULL));
            compute_binding bindings[2] = { bind(0, b), bind(1, fresh) };
            compute_launch_desc desc = launch_desc(NULL, 4, 1, 1, bindings, 2);
            if (graph) (void)compute_graph_update_launch(graph, node, &desc, NULL);
            if (graph) (void)compute_stream_replay(stream, graph, NULL);
            compute_status waited = compute_stream_sync(stream, NULL, 0, 0, 10 * SECONDS, NULL);
            CHECK(waited != COMPUTE_TIMEOUT);
            OK(compute_device_fault_calls(device, &after, E));
            more = after - before >= n;
            OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
            if (compute_device_status(device, NULL) == COMPUTE_OK) {
                /* What can be read holds what the graph leaves there. */
                uint32_t word = 0;
                compute_status got = get(stream, b, 0, &word, 4);
                CHECK(got != COMPUTE_OK || word == 8 || word == 0);
                OK(launch_io(stream, increment, "after", a, b, 4));
                CHECK_EQ(get_word(stream, b, 0), 8);
            }
            compute_graph_release(graph);
            compute_graph_builder_release(builder);
            compute_device_release(device);
        }
    }
}

/* ---- F1 ---- */

TEST(f1_stale_foreign_and_garbage_handles_are_refused_everywhere)
{
    set_up();
    compute_graph graph = two_steps();
    compute_graph_builder builder = make_builder(0);
    void *bad[] = { NULL, (void *)(uintptr_t)1, (void *)(uintptr_t)UINT64_MAX, stream, a, increment, device };
    compute_view view = whole(a);
    compute_graph_info info = COMPUTE_GRAPH_INFO_INIT;
    compute_node_info node = COMPUTE_NODE_INFO_INIT;
    compute_binding bindings[2] = { bind(0, a), bind(1, b) };
    compute_launch_desc desc = launch_desc(increment, 4, 1, 1, bindings, 2);
    for (size_t i = 0; i < COUNT_OF(bad) + 2; i++) {
        compute_graph wrong = i < COUNT_OF(bad) ? (compute_graph)bad[i] : i == COUNT_OF(bad) ? (compute_graph)(void *)builder : graph;
        compute_graph_builder wrong_builder = i < COUNT_OF(bad) ? (compute_graph_builder)bad[i] : (compute_graph_builder)(void *)graph;
        if (i == COUNT_OF(bad) + 1) OK(compute_graph_destroy(graph, E));
        size_t count = 0;
        compute_graph out = (compute_graph)(uintptr_t)7;
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_replay(stream, wrong, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_get_info(wrong, &info, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_get_node(wrong, 0, &node, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_get_times(wrong, NULL, 0, &count, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_export(wrong, COMPUTE_GRAPH_DOT, NULL, 0, NULL, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_update_launch(wrong, 1, &desc, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_update_copy(wrong, 1, &view, &view, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_update_fill(wrong, 1, &view, "x", 1, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_retain(wrong, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_destroy(wrong, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_add_launch(wrong_builder, &desc, NULL, 0, NULL, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_add_fill(wrong_builder, &view, "x", 1, NULL, 0, NULL, 0, NULL, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_add_join(wrong_builder, NULL, 0, NULL, E));
        IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_instantiate(wrong_builder, &out, E));
        CHECK(out == NULL);
        compute_graph_release(wrong);
        compute_graph_builder_release(wrong_builder);
    }
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_replay(NULL, two_steps(), E));
    CHECK(claimed_by(c, 0, COMPUTE_WHOLE) != 0);
}

static compute_graph shared_graph;
static compute_node shared_node;
static void *replay_and_update(void *user)
{
    uintptr_t mine = (uintptr_t)user;
    compute_stream own = NULL;
    CHECK(compute_stream_create(device, NULL, &own, NULL) == COMPUTE_OK);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t amount[4] = { i, 0, 0, 0 };
        compute_binding bindings[3] = { bind(0, a), bind(1, b), bind_bytes(2, amount, 16) };
        compute_launch_desc desc = launch_desc(NULL, 4, 1, 1, bindings, 3);
        if (mine % 2) {
            compute_status updated = compute_graph_update_launch(shared_graph, shared_node, &desc, NULL);
            CHECK(updated == COMPUTE_OK || updated == COMPUTE_ERROR_BUSY);
        }
        CHECK(compute_stream_replay(own, shared_graph, NULL) == COMPUTE_OK);
        if (i % 32 == 0) CHECK(compute_stream_sync(own, NULL, 0, 0, COMPUTE_FOREVER, NULL) == COMPUTE_OK);
    }
    compute_stream_release(own);
    return NULL;
}

TEST(f1_threads_replay_and_update_one_graph)
{
    set_up();
    uint32_t amount[4] = { 1, 0, 0, 0 };
    compute_binding bindings[3] = { bind(0, a), bind(1, b), bind_bytes(2, amount, 16) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    compute_graph_builder builder = make_builder(0);
    OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, &shared_node, E));
    add_launch(builder, "", b, c);
    shared_graph = instantiate(builder);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, replay_and_update, (void *)i) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    uint32_t first = get_word(stream, c, 0);
    CHECK(first >= 8 && first < 8 + 301);
    for (uint32_t i = 1; i < WORDS; i += 51) CHECK_EQ(get_word(stream, c, i), first);
}

TEST(g6_a_graph_of_a_hundred_thousand_nodes_is_made_and_replays)
{
    set_up();
    /* A sanitizer takes ten times as long. */
    const uint32_t nodes = RSS_SLACK_KIB ? 10000 : 100000;
    compute_graph_builder builder = make_builder(0);
    long before = rss_kib();
    uint64_t start = now_ns();
    compute_buffer from = a, to = b;
    for (uint32_t i = 0; i < nodes; i++) {
        compute_binding bindings[2] = { bind(0, from), bind(1, to) };
        compute_launch_desc desc = launch_desc(increment, 4, 1, 1, bindings, 2);
        OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E));
        compute_buffer swap = from;
        from = to;
        to = swap;
    }
    uint64_t added = now_ns();
    compute_graph graph = instantiate(builder);
    compute_graph_builder_release(builder);
    uint64_t made = now_ns();
    OK(compute_stream_replay(stream, graph, E));
    uint32_t last = get_word(stream, from, 255);
    uint64_t done = now_ns();
    CHECK_EQ(last, 7 + nodes);
    compute_graph_info info = graph_info(graph);
    CHECK_EQ(info.node_count, nodes);
    CHECK_EQ(info.edge_count, nodes - 1);
    CHECK_EQ(info.bytes, 2 * BYTES);
    printf("  %u nodes: add %.2f us, make %.2f us, replay %.2f us each, %ld bytes of host memory each\n", nodes, (double)(added - start) / 1e3 / nodes,
           (double)(made - added) / 1e3 / nodes, (double)(done - made) / 1e3 / nodes, (rss_kib() - before) * 1024 / (long)nodes);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(g6_nodes_that_conflict_run_in_the_order_in_which_they_were_added);
    RUN(g6_random_graphs_leave_what_their_nodes_leave_one_after_another);
    RUN(g6_independent_nodes_have_no_edge_and_given_edges_count);
    RUN(g6_an_edge_to_a_node_of_another_graph_is_refused);
    RUN(g6_edges_to_nodes_that_are_not_there_are_refused);
    RUN(f1_hostile_numbers_of_edges_are_refused);
    RUN(g6_a_node_is_checked_as_the_call_on_a_stream_is_and_claims_nothing);
    RUN(l1_a_launch_with_a_zero_in_its_grid_is_a_node_that_does_nothing);
    RUN(gr_03_inputs_that_are_written_between_replays_are_seen_ten_thousand_times);
    RUN(g5_replays_on_two_streams_follow_each_other);
    RUN(t5_a_replay_that_would_read_claimed_bytes_is_skipped_as_a_whole);
    RUN(g5_bytes_that_an_earlier_node_writes_wholly_need_not_be_trusted_before);
    RUN(t6a_never_written_bytes_are_filled_ahead_of_the_replay);
    RUN(t6a_padding_that_a_node_leaves_reads_as_zeros_in_and_behind_the_graph);
    RUN(t13_what_a_graph_reads_of_padding_derives_from_the_launch_that_wrote_it);
    RUN(t6a_claims_on_bytes_that_a_graph_may_not_write_stay);
    RUN(g5_a_graph_of_another_device_is_refused_and_what_it_writes_is_claimed);
    RUN(g4_a_graph_keeps_buffers_and_kernels_whose_handles_have_ended);
    RUN(g4_destroying_a_graph_does_not_wait_for_its_replays);
    RUN(g4_a_deferred_buffer_gets_its_memory_when_the_graph_is_made);
    RUN(gr_03_buffers_inline_bytes_and_grid_of_a_node_can_be_updated_without_recording_again);
    RUN(g6_an_update_that_makes_nodes_conflict_orders_them);
    RUN(g6_updates_of_the_wrong_kind_or_kernel_are_refused_and_change_nothing);
    RUN(g6_a_graph_tells_how_many_distinct_bytes_it_references);
    RUN(g6_a_timed_graph_gives_the_time_of_every_node_and_its_label);
    RUN(g6_a_graph_is_exported_as_dot_and_json);
    RUN(g5_a_failed_replay_leaves_its_write_set_claimed_and_the_next_releases_it);
    RUN(g5_a_graph_of_which_a_part_was_submitted_is_refused_until_that_part_is_over);
    RUN(t13_a_replay_that_fails_late_claims_all_that_it_writes_and_what_used_it);
    RUN(l5_a_violation_in_a_node_becomes_a_failure_of_the_replay);
    RUN(t2_every_way_in_which_a_graph_can_fail_leaves_its_bytes_claimed_and_the_rest_usable);
    RUN(f1_stale_foreign_and_garbage_handles_are_refused_everywhere);
    RUN(f1_threads_replay_and_update_one_graph);
    RUN(g6_a_graph_of_a_hundred_thousand_nodes_is_made_and_replays);
    return finish();
}
