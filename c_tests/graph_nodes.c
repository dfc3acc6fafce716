/* What single nodes are: copies with strides (M3) as nodes of explicit graphs and captures, and nodes that run at once (G6). */
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
    for (uint32_t i = 0; i < WORDS; i++) put_word(stream, a, i, i);
    wait_for(stream);
}
static void set_up(void) { set_up_on(open_device()); }

static compute_graph_builder make_builder(uint64_t flags)
{
    compute_graph_builder builder = NULL;
    compute_graph_desc desc = COMPUTE_GRAPH_DESC_INIT;
    desc.flags = flags;
    OK(compute_graph_builder_create(device, &desc, &builder, E));
    return builder;
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

/* A tensor with room for its numbers. */
struct tensor {
    uint64_t shape[3], element;
    int64_t from[3], to[3];
};
static compute_strided_desc strided(const struct tensor *tensor)
{
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    desc.rank = 3;
    desc.shape = tensor->shape;
    desc.element_size = tensor->element;
    desc.from_strides = tensor->from;
    desc.to_strides = tensor->to;
    return desc;
}
/* `rows` words that lie two words apart at both ends. */
static struct tensor every_other(uint64_t rows) { return (struct tensor){ { rows, 1, 1 }, 4, { 8, 8, 8 }, { 8, 8, 8 } }; }

static compute_status try_add(compute_graph_builder builder, compute_view from, compute_view to, const struct tensor *tensor, compute_node *node)
{
    compute_strided_desc desc = strided(tensor);
    return compute_graph_builder_add_copy_strided(builder, &from, &to, &desc, "strided", COMPUTE_NUL_TERMINATED, NULL, 0, node, E);
}
static compute_node add_strided(compute_graph_builder builder, compute_view from, compute_view to, const struct tensor *tensor)
{
    compute_node node = 0;
    OK(try_add(builder, from, to, tensor, &node));
    return node;
}

/* Dimensions in a random order of their strides, with random gaps, within `room` bytes. */
static void random_strides(uint32_t *random, const struct tensor *tensor, int64_t strides[3], int64_t room)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    const int *order = orders[next_random(random) % 6];
    int64_t span = (int64_t)tensor->element;
    for (int i = 0; i < 3; i++) {
        strides[order[i]] = span + next_random(random) % 3;
        span += (int64_t)(tensor->shape[order[i]] - 1) * strides[order[i]];
    }
    CHECK(span <= room);
}
static void move_on_host(const struct tensor *tensor, const uint8_t *from, uint8_t *to)
{
    for (uint64_t x = 0; x < tensor->shape[0]; x++)
        for (uint64_t y = 0; y < tensor->shape[1]; y++)
            for (uint64_t z = 0; z < tensor->shape[2]; z++) {
                int64_t out = (int64_t)x * tensor->from[0] + (int64_t)y * tensor->from[1] + (int64_t)z * tensor->from[2];
                int64_t in = (int64_t)x * tensor->to[0] + (int64_t)y * tensor->to[1] + (int64_t)z * tensor->to[2];
                memcpy(to + in, from + out, tensor->element);
            }
}

/* ---- copies with strides ---- */

/* In a graph that the device keeps, and in one that is played back where a grid from memory does that. */
TEST(m3_strided_copies_are_nodes_that_move_their_elements_and_nothing_else)
{
    enum { SIZE = 4096, COPIES = 40 };
    set_up();
    uint32_t random = 11;
    for (int round = 0; round < 4; round++) {
        static uint8_t source_bytes[SIZE], model[SIZE], found[SIZE];
        compute_buffer source = make_buffer(device, SIZE, "source"), target = make_buffer(device, SIZE, "target"), counts = make_buffer(device, 16, "counts");
        for (int i = 0; i < SIZE; i++) source_bytes[i] = (uint8_t)(i * 13 + i / 256), model[i] = 0xaa;
        put(stream, source, 0, source_bytes, SIZE);
        put(stream, target, 0, model, SIZE);
        compute_graph_builder builder = make_builder(0);
        if (round % 2 && device_info(device).capabilities & COMPUTE_CAPABILITY_INDIRECT) {
            uint32_t groups[3] = { 1, 1, 1 };
            put(stream, counts, 0, groups, 12);
            compute_binding bindings[2] = { bind(0, a), bind(1, b) };
            compute_launch_desc desc = launch_desc(increment, 0, 0, 0, bindings, 2);
            desc.indirect = range(counts, 0, 12);
            OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E));
        }
        for (int i = 0; i < COPIES; i++) {
            struct tensor tensor = { { 1 + next_random(&random) % 5, 1 + next_random(&random) % 5, 1 + next_random(&random) % 9 }, 1 + next_random(&random) % 9, { 0 }, { 0 } };
            random_strides(&random, &tensor, tensor.from, SIZE);
            random_strides(&random, &tensor, tensor.to, SIZE);
            uint32_t from = next_random(&random) % 600, to = next_random(&random) % 600;
            add_strided(builder, range(source, from, SIZE - from), range(target, to, SIZE - to), &tensor);
            move_on_host(&tensor, source_bytes + from, model + to);
        }
        compute_graph graph = instantiate(builder);
        for (int replay = 0; replay < 2; replay++) {
            OK(compute_stream_replay(stream, graph, E));
            OK(get(stream, target, 0, found, SIZE));
            CHECK(memcmp(found, model, SIZE) == 0);
        }
        compute_node_info info = COMPUTE_NODE_INFO_INIT;
        OK(compute_graph_get_node(graph, COPIES / 2, &info, E));
        CHECK_EQ(info.kind, COMPUTE_NODE_COPY);
        CHECK(strcmp(info.label, "strided") == 0);
        compute_graph_release(graph);
        compute_graph_builder_release(builder);
    }
}

TEST(m3_a_strided_copy_of_megabytes_is_a_node)
{
    enum { SIDE = 1500 };
    set_up();
    static uint32_t words[SIDE * SIDE], found[SIDE * SIDE];
    compute_buffer source = make_buffer(device, sizeof words, "source"), target = make_buffer(device, sizeof words, "target");
    for (uint32_t i = 0; i < SIDE * SIDE; i++) words[i] = i;
    put(stream, source, 0, words, sizeof words);
    fill_words(stream, target, 5);
    /* The left half of each row to the right half of the row below. */
    struct tensor tensor = { { SIDE - 1, 1, SIDE / 2 }, 4, { 4 * SIDE, 4 * SIDE, 4 }, { 4 * SIDE, 4 * SIDE, 4 } };
    compute_graph_builder builder = make_builder(0);
    uint64_t skip = 4 * (SIDE + SIDE / 2);
    add_strided(builder, whole(source), range(target, skip, sizeof words - skip), &tensor);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    OK(get(stream, target, 0, found, sizeof found));
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            uint32_t right = y > 0 && x >= SIDE / 2 ? words[(y - 1) * SIDE + x - SIDE / 2] : 5;
            if (found[y * SIDE + x] != right) CHECK_EQ(found[y * SIDE + x], right);
        }
}

TEST(g1_strided_copies_are_recorded)
{
    set_up();
    fill_words(stream, c, 9);
    uint64_t capture = 0;
    compute_graph graph = NULL;
    struct tensor tensor = every_other(10);
    compute_strided_desc desc = strided(&tensor);
    compute_view from = whole(b), to = range(c, 4, 400);
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_io(stream, increment, "", a, b, 4));
    OK(compute_stream_copy_strided(stream, &from, &to, &desc, E));
    OK(compute_stream_end_capture(stream, capture, &graph, E));
    CHECK_EQ(get_word(stream, c, 1), 9);
    for (uint32_t round = 0; round < 3; round++) {
        put_word(stream, a, 4, 100 * round);
        OK(compute_stream_replay(stream, graph, E));
        CHECK_EQ(get_word(stream, c, 5), 100 * round + 1);
        CHECK_EQ(get_word(stream, c, 3), 3);
        CHECK_EQ(get_word(stream, c, 4), 9);
        CHECK_EQ(get_word(stream, c, 21), 9);
    }
    CHECK_EQ(graph_info(graph).edge_count, 1);
}

TEST(g2_a_strided_copy_that_fails_dooms_the_window_and_claims_its_rows)
{
    set_up();
    fill_words(stream, c, 9);
    uint64_t capture = 0;
    compute_graph graph = NULL;
    struct tensor tensor = every_other(10);
    compute_strided_desc desc = strided(&tensor);
    compute_view from = range(b, 0, 8), to = range(c, 4, 400);
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy_strided(stream, &from, &to, &desc, E));
    CHECK(claimed_by(c, 4, 4) != 0);
    CHECK_EQ(claimed_by(c, 8, 4), 0);
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(stream, capture, &graph, E));
    CHECK(error_says("strided copy"));
}

TEST(l9_a_strided_node_is_checked_as_the_call_on_a_stream_is_and_claims_nothing)
{
    set_up();
    compute_graph_builder builder = make_builder(0);
    struct tensor tensor = every_other(10), negative = tensor, none = tensor;
    compute_node node = 7;
    negative.from[0] = -8;
    none.element = 0;
    IS(COMPUTE_ERROR_OVERLAP, try_add(builder, whole(a), range(a, 8, 400), &tensor, &node));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_add(builder, range(a, 0, 75), whole(b), &tensor, &node));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_add(builder, whole(a), range(b, BYTES - 75, 75), &tensor, &node));
    IS(COMPUTE_ERROR_UNSUPPORTED_STRIDES, try_add(builder, whole(a), whole(b), &negative, &node));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_add(builder, whole(a), whole(b), &none, &node));
    compute_view view = whole(a);
    IS_CLASS(100, compute_graph_builder_add_copy_strided(builder, &view, &view, NULL, NULL, 0, NULL, 0, &node, E));
    compute_strided_desc desc = strided(&tensor);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_builder_add_copy_strided(NULL, &view, &view, &desc, NULL, 0, NULL, 0, &node, E));
    CHECK_EQ(node, 0);
    CHECK_EQ(claimed_by(a, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(graph_info(instantiate(builder)).node_count, 0);
    /* Nothing to move is a node that does nothing, and rows may lie between each other's. */
    struct tensor empty = tensor;
    empty.shape[1] = 0;
    add_strided(builder, whole(a), whole(b), &empty);
    add_strided(builder, whole(a), range(a, 4, 400), &tensor);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    for (uint32_t i = 0; i < 20; i++) CHECK_EQ(get_word(stream, a, i), i & ~1u);
    CHECK_EQ(get_word(stream, a, 21), 21);
}

TEST(g6_strided_copies_whose_rows_lie_between_each_others_are_independent)
{
    set_up();
    fill_words(stream, c, 0);
    struct tensor tensor = every_other(30);
    compute_graph_builder builder = make_builder(0);
    add_strided(builder, whole(a), whole(c), &tensor);
    add_strided(builder, whole(a), range(c, 4, 300), &tensor);
    CHECK_EQ(graph_info(instantiate(builder)).edge_count, 0);
    compute_view row = range(c, 8, 4), apart = range(c, 300, 4);
    OK(compute_graph_builder_add_fill(builder, &row, "\7\0\0", 4, NULL, 0, NULL, 0, NULL, E));
    OK(compute_graph_builder_add_fill(builder, &apart, "\6\0\0", 4, NULL, 0, NULL, 0, NULL, E));
    compute_graph graph = instantiate(builder);
    CHECK_EQ(graph_info(graph).edge_count, 1);
    CHECK_EQ(graph_info(graph).bytes, 4 * (30 + 60 + 1));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 2), 7);
    CHECK_EQ(get_word(stream, c, 4), 4);
    CHECK_EQ(get_word(stream, c, 5), 4);
    CHECK_EQ(get_word(stream, c, 75), 6);
}

TEST(t5_claims_between_the_rows_of_a_strided_node_neither_skip_it_nor_go)
{
    set_up();
    compute_buffer scratch = make_buffer(device, BYTES, "scratch");
    struct tensor tensor = every_other(20);
    compute_graph_builder builder = make_builder(0);
    add_strided(builder, whole(a), whole(c), &tensor);
    compute_graph graph = instantiate(builder);
    uint64_t in_source = claim_all(stream, add, scratch, a), in_target = claim_all(stream, add, scratch, c);
    IS(COMPUTE_SKIPPED, compute_stream_replay(stream, graph, E));
    for (uint32_t i = 0; i < 20; i++) put_word(stream, a, 2 * i, 500 + i);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(a, 4, 4), in_source);
    CHECK_EQ(claimed_by(c, 4, 4) != 0, 1);
    CHECK_EQ(claimed_by(c, 160, COMPUTE_WHOLE), in_target);
    for (uint32_t i = 0; i < 20; i++) CHECK_EQ(get_word(stream, c, 2 * i), 500 + i);
}

TEST(t6a_many_rows_are_as_right_as_few)
{
    enum { ROWS = 3000 };
    set_up();
    static uint32_t words[2 * ROWS], found[2 * ROWS];
    compute_buffer source = make_buffer(device, sizeof words, "source"), target = make_buffer(device, sizeof words, "target");
    for (uint32_t i = 0; i < 2 * ROWS; i++) words[i] = i + 1;
    put(stream, source, 0, words, sizeof words);
    struct tensor tensor = every_other(ROWS);
    compute_graph_builder builder = make_builder(0);
    add_strided(builder, whole(source), range(target, 4, sizeof words - 4), &tensor);
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    OK(get(stream, target, 0, found, sizeof found));
    for (uint32_t i = 0; i < 2 * ROWS; i++)
        if (found[i] != (i % 2 ? i : 0)) CHECK_EQ(found[i], i % 2 ? i : 0);
}

TEST(gr_03_a_strided_copy_can_be_updated_and_take_the_place_of_one_without_strides)
{
    set_up();
    fill_words(stream, c, 1);
    compute_view from = range(a, 0, 40), to = range(c, 0, 40);
    compute_graph_builder builder = make_builder(0);
    compute_node node = 0;
    OK(compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, &node, E));
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 9), 9);
    struct tensor tensor = every_other(10), sparse = { { 5, 1, 1 }, 4, { 4, 4, 4 }, { 16, 16, 16 } };
    compute_strided_desc every = strided(&tensor), few = strided(&sparse);
    compute_view source = whole(a), target = whole(c);
    OK(compute_graph_update_copy_strided(graph, node, &source, &target, &every, E));
    put_word(stream, a, 8, 80);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 8), 80);
    CHECK_EQ(get_word(stream, c, 18), 18);
    CHECK_EQ(get_word(stream, c, 17), 1);
    OK(compute_graph_update_copy_strided(graph, node, &source, &target, &few, E));
    put_word(stream, a, 4, 40);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, 16), 40);
    CHECK_EQ(get_word(stream, c, 8), 2);
    compute_view tail = range(a, 8, 4), end = range(c, BYTES - 4, 4);
    OK(compute_graph_update_copy(graph, node, &tail, &end, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, c, WORDS - 1), 2);
    IS(COMPUTE_ERROR_OVERLAP, compute_graph_update_copy_strided(graph, node, &source, &source, &few, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_graph_update_copy_strided(NULL, node, &source, &target, &few, E));
    compute_graph_builder other = make_builder(0);
    compute_node fill = 0;
    OK(compute_graph_builder_add_fill(other, &target, "x", 1, NULL, 0, NULL, 0, &fill, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_graph_update_copy_strided(instantiate(other), fill, &source, &target, &few, E));
}

TEST(g5_a_failed_replay_leaves_the_rows_of_its_strided_copies_claimed)
{
    set_up_on(open_faulty());
    fill_words(stream, c, 1);
    struct tensor tensor = every_other(10);
    compute_graph_builder builder = make_builder(0);
    add_strided(builder, whole(a), whole(c), &tensor);
    compute_graph graph = instantiate(builder);
    wait_for(stream);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_ERROR, E));
    IS(COMPUTE_ERROR_DRIVER, compute_stream_replay(stream, graph, E));
    OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
    CHECK(claimed_by(c, 8, 4) != 0);
    CHECK_EQ(claimed_by(c, 4, 4), 0);
    wait_for(stream);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(claimed_by(c, 0, COMPUTE_WHOLE), 0);
    CHECK_EQ(get_word(stream, c, 8), 8);
}

/* ---- G4: what cannot be given memory ---- */

static compute_buffer stream_buffer(uint64_t size, uint64_t flags, const char *label)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer buffer = NULL;
    desc.size = size;
    desc.flags = flags;
    desc.stream = stream;
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    return buffer;
}

TEST(g4_a_graph_whose_deferred_buffer_can_have_no_memory_is_refused)
{
    set_up();
    const compute_pool_desc pool = { COMPUTE_POOL_EXCLUSIVE, 0, COMPUTE_WHOLE, 0, 0, 80 << 20 };
    OK(compute_stream_set_pools(stream, &pool, 1, 0, E));
    compute_buffer hog = stream_buffer(50 << 20, 0, "hog"), later = stream_buffer(50 << 20, COMPUTE_BUFFER_FLAG_DEFERRED, "later");
    fill_words(stream, hog, 1);
    wait_for(stream);
    compute_graph_builder builder = make_builder(0);
    compute_view view = whole(later);
    OK(compute_graph_builder_add_fill(builder, &view, "x", 1, NULL, 0, NULL, 0, NULL, E));
    compute_graph graph = (compute_graph)(uintptr_t)7;
    IS(COMPUTE_ERROR_POOL_FULL, compute_graph_builder_instantiate(builder, &graph, E));
    CHECK(graph == NULL);
    CHECK_EQ(claimed_by(later, 0, COMPUTE_WHOLE), 0);
    compute_buffer_release(hog);
    graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, later, 12345), 0x78787878);
}

struct updating {
    compute_graph graph;
    compute_node node;
    compute_view to;
    int over;
    compute_status status;
};
static void *update_it(void *argument)
{
    struct updating *updating = argument;
    updating->status = compute_graph_update_fill(updating->graph, updating->node, &updating->to, "y", 1, NULL);
    __atomic_store_n(&updating->over, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* M2, G6: the memory of a deferred buffer may have to be waited for. Meanwhile the graph is as it was, and nobody waits for it. */
TEST(g6_an_update_that_waits_for_memory_keeps_nobody_from_the_graph)
{
    set_up();
    if (!runs_long(device, stream)) return;
    const compute_pool_desc pool = { COMPUTE_POOL_EXCLUSIVE, 0, COMPUTE_WHOLE, 0, 0, 80 << 20 };
    OK(compute_stream_set_pools(stream, &pool, 1, 0, E));
    compute_buffer hog = stream_buffer(50 << 20, 0, "hog"), later = stream_buffer(50 << 20, COMPUTE_BUFFER_FLAG_DEFERRED, "later");
    compute_graph_builder builder = make_builder(0);
    struct updating updating = { NULL, 0, whole(later), 0, COMPUTE_OK };
    compute_view view = whole(b);
    OK(compute_graph_builder_add_fill(builder, &view, "x", 1, NULL, 0, NULL, 0, &updating.node, E));
    updating.graph = instantiate(builder);
    compute_stream other = make_stream(device);
    compute_buffer turns = make_buffer(device, 8, "turns");
    /* Several seconds, as they are measured beside other programs. */
    put_word(other, turns, 0, turns_of(device, other, 50000000) * 4);
    put_word(other, turns, 1, 7);
    compute_kernel spin = make_kernel(device, SPIN);
    OK(launch_io(other, spin, "compiled", a, c, 1));
    wait_for(other);
    OK(launch_io(other, spin, "long", turns, hog, 1));
    compute_event done = NULL;
    OK(compute_stream_record(other, &done, E));
    compute_buffer_release(hog); /* in use elsewhere */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, update_it, &updating) == 0);
    usleep(50000); /* it waits */
    int waits = !__atomic_load_n(&updating.over, __ATOMIC_SEQ_CST);
    CHECK_EQ(graph_info(updating.graph).node_count, 1);
    OK(compute_stream_replay(stream, updating.graph, E));
    compute_status polled = compute_event_poll(done, E);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(updating.status);
    if (waits) {
        IS(COMPUTE_NOT_READY, polled);
        CHECK_EQ(get_word(stream, b, 3), 0x78787878);
    } else {
        printf("  not tried: the work was over too early\n");
    }
    OK(compute_stream_replay(stream, updating.graph, E));
    CHECK_EQ(get_word(stream, later, 12345), 0x79797979);
}

/* The line about a replay comes while the replay is still in its graph. */
static void update_within(void *user, uint32_t level, const char *text, size_t length)
{
    struct updating *updating = user;
    (void)length;
    if (level != COMPUTE_LOG_LAUNCHES || strncmp(text, "replayed", 8) != 0) return;
    updating->status = compute_graph_update_fill(updating->graph, updating->node, &updating->to, "y", 1, NULL);
    updating->over++;
}
static uint64_t bytes_in_use(void)
{
    compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
    OK(compute_device_memory_usage(device, &usage, E));
    return usage.bytes_in_use;
}
TEST(g6_m5_an_update_that_comes_during_a_replay_is_refused_before_its_buffers_get_memory)
{
    set_up();
    compute_buffer later = stream_buffer(1 << 20, COMPUTE_BUFFER_FLAG_DEFERRED, "later");
    compute_graph_builder builder = make_builder(0);
    struct updating updating = { NULL, 0, whole(later), 0, COMPUTE_OK };
    compute_view view = whole(b);
    OK(compute_graph_builder_add_fill(builder, &view, "x", 1, NULL, 0, NULL, 0, &updating.node, E));
    updating.graph = instantiate(builder);
    uint64_t before = bytes_in_use();
    OK(compute_log_set(update_within, &updating, COMPUTE_LOG_LAUNCHES, E));
    compute_status replayed = compute_stream_replay(stream, updating.graph, E);
    OK(compute_log_set(NULL, NULL, COMPUTE_LOG_OFF, E));
    OK(replayed);
    CHECK_EQ(updating.over, 1);
    IS(COMPUTE_ERROR_BUSY, updating.status);
    CHECK_EQ(bytes_in_use(), before);
    OK(compute_graph_update_fill(updating.graph, updating.node, &updating.to, "y", 1, E));
    CHECK_EQ(bytes_in_use(), before + (1 << 20));
    OK(compute_stream_replay(stream, updating.graph, E));
    CHECK_EQ(get_word(stream, later, 12345), 0x79797979);
    CHECK_EQ(get_word(stream, b, 3), 0x78787878);
}

TEST(g4_a_capture_that_needs_a_deferred_buffer_which_can_have_no_memory_is_doomed)
{
    set_up();
    compute_buffer later = stream_buffer(64 << 20, COMPUTE_BUFFER_FLAG_DEFERRED, "later");
    uint64_t capture = 0;
    compute_graph graph = (compute_graph)(uintptr_t)7;
    compute_view view = whole(later);
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_io(stream, increment, "fine", a, b, 4));
    IS(COMPUTE_ERROR_NOT_BACKED, compute_stream_fill(stream, &view, "x", 1, E));
    CHECK(error_says("`later`") && error_says("deferred"));
    CHECK(claimed_by(later, 0, COMPUTE_WHOLE) != 0);
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(stream, capture, &graph, E));
    CHECK(graph == NULL && error_says("`fill`"));
    CHECK(claimed_by(b, 0, COMPUTE_WHOLE) != 0);
    OK(compute_stream_fill(stream, &view, "x", 1, E));
    CHECK_EQ(get_word(stream, later, 12345), 0x78787878);
}

/* ---- nodes at once ---- */

/* Nodes that together take longer than the replay of which they are have overlapped. */
TEST(g6_independent_nodes_run_at_once_on_two_workers)
{
    set_up();
    if (strcmp(device_info(device).backend, "cpu") != 0) {
        printf("  not tried: this device measures nodes one after another\n");
        return;
    }
    enum { NODES = 2 };
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer in = make_buffer(device, 8, "turns"), out = make_buffer(device, 256 * NODES, "results");
    put_word(stream, in, 0, 20000000);
    put_word(stream, in, 1, 42);
    compute_graph_builder builder = make_builder(COMPUTE_GRAPH_FLAG_TIMED);
    for (uint32_t i = 0; i < NODES; i++) {
        compute_binding bindings[2] = { bind(0, in), bind_range(1, out, 256 * i, 8) };
        compute_launch_desc desc = launch_desc(spin, 1, 1, 1, bindings, 2);
        OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E));
    }
    compute_graph graph = instantiate(builder);
    for (int round = 0; round < 20; round++) {
        uint64_t times[NODES] = { 0 }, start = now_ns();
        size_t count = 0;
        OK(compute_stream_replay(stream, graph, E));
        wait_for(stream);
        uint64_t wall = now_ns() - start;
        OK(compute_graph_get_times(graph, times, NODES, &count, E));
        /* More than a clock that is read a little late could make of it. */
        if (times[0] + times[1] > wall + wall / 4) return;
    }
    fail(__FILE__, __LINE__, "two independent nodes never overlapped in 20 replays");
}

/* Two ways over the same bytes at both ends, which take different numbers of calls where rows are calls. */
TEST(g6_an_update_of_a_strided_node_to_another_number_of_rows_counts_them_anew)
{
    set_up();
    enum { SPAN = 19204 };
    static unsigned char before[SPAN], after[SPAN], expected[SPAN];
    const struct tensor ways[2] = { { { 1201, 1, 1 }, 4, { 16, 4, 4 }, { 16, 4, 4 } }, { { 2, 601, 1 }, 4, { 14400, 8, 4 }, { 14400, 8, 4 } } };
    compute_buffer from = make_buffer(device, SPAN, "from"), to = make_buffer(device, SPAN, "to");
    for (size_t i = 0; i < SPAN; i++) before[i] = (unsigned char)(i * 7 + 1);
    for (int first = 0; first < 2; first++) {
        compute_graph_builder builder = make_builder(0);
        compute_node node = add_strided(builder, whole(from), whole(to), &ways[first]);
        compute_graph graph = instantiate(builder);
        for (int round = 0; round < 4; round++) {
            const struct tensor *way = &ways[(first + round) % 2];
            compute_strided_desc desc = strided(way);
            compute_view source = whole(from), target = whole(to);
            if (round > 0) OK(compute_graph_update_copy_strided(graph, node, &source, &target, &desc, E));
            put(stream, from, 0, before, SPAN);
            fill_words(stream, to, 0xeeeeeeeeu);
            OK(compute_stream_replay(stream, graph, E));
            wait_for(stream);
            OK(get(stream, to, 0, after, SPAN));
            memset(expected, 0xee, SPAN);
            for (uint64_t row = 0; row < way->shape[0]; row++) {
                for (uint64_t column = 0; column < way->shape[1]; column++) {
                    uint64_t at = row * (uint64_t)way->from[0] + column * (uint64_t)way->from[1];
                    memcpy(expected + at, before + at, 4);
                }
            }
            CHECK(memcmp(after, expected, SPAN) == 0);
        }
        compute_graph_release(graph);
        compute_graph_builder_release(builder);
    }
}

/* The same bytes in the same order, but the grid comes from memory afterwards: such a launch can fail late, and what it writes is claimed then. */
TEST(t13_an_update_to_a_grid_from_memory_lets_the_node_fail_late)
{
    set_up();
    compute_device_info info = device_info(device);
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT_REPORTS) || info.max_grid[1] == UINT32_MAX) {
        printf("  not tried: this device does not tell of counts over its limits\n");
        return;
    }
    compute_kernel mark = make_kernel(device,
        "@group(0) @binding(0) var<uniform> p: u32;\n"
        "@group(0) @binding(1) var<storage, read_write> o: array<u32>;\n"
        "@compute @workgroup_size(1) fn mark() { o[p % 4u] = 1u; }\n");
    uint32_t counts[3] = { 1, info.max_grid[1] + 1, 1 }, two = 2, word = 0;
    compute_buffer x = make_buffer(device, 12, "counts");
    put(stream, x, 0, counts, sizeof counts);
    compute_graph_builder builder = make_builder(0);
    compute_binding bindings[2] = { bind(0, x), bind(1, b) };
    compute_launch_desc desc = launch_desc(mark, 1, 1, 1, bindings, 2);
    compute_node node = 0;
    OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, &node, E));
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 1), 1);
    bindings[0] = bind_bytes(0, &two, 4);
    desc.indirect = whole(x);
    OK(compute_graph_update_launch(graph, node, &desc, E));
    OK(compute_stream_replay(stream, graph, E));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, b, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_GRID_LIMIT);
    CHECK(error_says("node 0"));
    /* And back: the old failure is of the old launch. */
    bindings[0] = bind(0, x);
    desc.indirect = range(NULL, 0, 0);
    OK(compute_graph_update_launch(graph, node, &desc, E));
    fill_words(stream, b, 0);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, b, 1), 1);
}

/* A training step writes its gradients from the last to the first. */
TEST(g5_a_replay_is_as_quick_whatever_the_order_in_which_it_uses_its_buffers)
{
    set_up();
    enum { MANY = 12000, ROUNDS = 50 };
    static compute_buffer buffers[MANY];
    for (int i = 0; i < MANY; i++) buffers[i] = make_buffer(device, 4, "one of many");
    compute_graph graphs[2];
    for (int order = 0; order < 2; order++) {
        compute_graph_builder builder = make_builder(0);
        for (int i = 0; i < MANY; i++) {
            compute_view view = whole(buffers[order ? MANY - 1 - i : i]);
            OK(compute_graph_builder_add_fill(builder, &view, "x", 1, NULL, 0, NULL, 0, NULL, E));
        }
        graphs[order] = instantiate(builder);
        compute_graph_builder_release(builder);
        OK(compute_stream_replay(stream, graphs[order], E));
        wait_for(stream);
    }
    /* The time of the thread, and the best of many: other programs are not what is measured. */
    uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
    for (int round = 0; round < 2 * ROUNDS && (round < 10 || round % 2 || best[1] >= 3 * best[0]); round++) {
        uint64_t start = thread_ns();
        OK(compute_stream_replay(stream, graphs[round % 2], E));
        uint64_t took = thread_ns() - start;
        if (took < best[round % 2]) best[round % 2] = took;
        wait_for(stream);
    }
    printf("  %.2f ms in the order in which they were made, %.2f ms backwards\n", (double)best[0] / 1e6, (double)best[1] / 1e6);
    CHECK(best[1] < 3 * best[0]);
    for (int i = 0; i < MANY; i += 1000) CHECK_EQ(get_word(stream, buffers[i], 0), 0x78787878);
}

/* Halves of the updates of one graph, as other programs may slow both down alike. */
TEST(g6_the_last_of_many_updates_beside_a_replay_is_as_quick_as_the_first)
{
    enum { NODES = 10000 };
    static compute_node nodes[NODES];
    set_up();
    if (!runs_long(device, stream)) return;
    compute_buffer turns = make_buffer(device, 8, "turns"), result = make_buffer(device, 8, "result");
    compute_kernel add = make_kernel(device, ADD), spin = make_kernel(device, SPIN);
    uint32_t bytes[4] = { 1, 2, 3, 4 };
    fill_words(stream, a, 5);
    const compute_binding bindings[] = { bind(0, a), bind(1, b), bind_bytes(2, bytes, sizeof bytes) };
    const compute_launch_desc desc = launch_desc(add, 1, 1, 1, bindings, COUNT_OF(bindings));
    compute_graph_builder builder = make_builder(0);
    for (int i = 0; i < NODES; i++) OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, &nodes[i], E));
    compute_graph graph = instantiate(builder);
    OK(compute_stream_replay(stream, graph, E));
    put_word(stream, turns, 0, turns_of(device, stream, 2000000000) * 2);
    put_word(stream, turns, 1, 1);
    OK(launch_io(stream, spin, "long", turns, result, 1));
    OK(compute_stream_replay(stream, graph, E));
    OK(compute_stream_flush(stream, E));
    uint64_t took[2];
    for (int half = 0; half < 2; half++) {
        uint64_t start = thread_ns();
        for (int i = half * NODES / 2; i < (half + 1) * NODES / 2; i++) {
            bytes[0] = (uint32_t)i;
            OK(compute_graph_update_launch(graph, nodes[i], &desc, E));
        }
        took[half] = thread_ns() - start;
    }
    printf("  the first half took %.1f ms, the second one %.1f ms\n", (double)took[0] / 1e6, (double)took[1] / 1e6);
    CHECK(took[1] < 2 * took[0]);
    OK(compute_stream_replay(stream, graph, E));
    wait_for(stream);
}

/* T1, T3, T4: more pieces than a buffer keeps ranges are kept apart until the bytes between them are filled with zeros, by whatever comes next. */
TEST(t4_what_a_replay_writes_in_thousands_of_pieces_of_a_buffer_is_written)
{
    enum { PIECES = 3000, EACH = 256, WRITTEN = 64 };
    set_up();
    fill_words(stream, a, 6);
    compute_buffer arena = make_buffer(device, PIECES * EACH, "arena"), out = make_buffer(device, WRITTEN, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_graph_builder builder = make_builder(0);
    for (int i = 0; i < PIECES; i++) {
        const compute_binding bindings[] = { bind_range(0, a, 0, WRITTEN), bind_range(1, arena, (uint64_t)i * EACH, WRITTEN) };
        const compute_launch_desc desc = launch_desc(increment, 1, 1, 1, bindings, 2);
        OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E));
    }
    compute_graph graph = instantiate(builder);
    for (int round = 0; round < 2; round++) {
        OK(compute_stream_replay(stream, graph, E));
        const compute_binding bindings[] = { bind_range(0, arena, 10 * EACH, WRITTEN), bind(1, out) };
        OK(launch(stream, increment, 1, bindings, 2));
        CHECK_EQ(get_word(stream, out, 3), 8);
        CHECK_EQ(claimed_by(arena, 0, COMPUTE_WHOLE), 0);
        for (uint64_t i = 0; i < PIECES; i += 7) {
            CHECK_EQ(get_word(stream, arena, i * EACH / 4 + 15), 7);
            CHECK_EQ(get_word(stream, arena, i * EACH / 4 + 16), 0);
        }
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m3_strided_copies_are_nodes_that_move_their_elements_and_nothing_else);
    RUN(m3_a_strided_copy_of_megabytes_is_a_node);
    RUN(g1_strided_copies_are_recorded);
    RUN(g2_a_strided_copy_that_fails_dooms_the_window_and_claims_its_rows);
    RUN(l9_a_strided_node_is_checked_as_the_call_on_a_stream_is_and_claims_nothing);
    RUN(g6_strided_copies_whose_rows_lie_between_each_others_are_independent);
    RUN(t5_claims_between_the_rows_of_a_strided_node_neither_skip_it_nor_go);
    RUN(t6a_many_rows_are_as_right_as_few);
    RUN(gr_03_a_strided_copy_can_be_updated_and_take_the_place_of_one_without_strides);
    RUN(g6_an_update_of_a_strided_node_to_another_number_of_rows_counts_them_anew);
    RUN(t13_an_update_to_a_grid_from_memory_lets_the_node_fail_late);
    RUN(g6_the_last_of_many_updates_beside_a_replay_is_as_quick_as_the_first);
    RUN(t4_what_a_replay_writes_in_thousands_of_pieces_of_a_buffer_is_written);
    RUN(g5_a_replay_is_as_quick_whatever_the_order_in_which_it_uses_its_buffers);
    RUN(g5_a_failed_replay_leaves_the_rows_of_its_strided_copies_claimed);
    RUN(g4_a_graph_whose_deferred_buffer_can_have_no_memory_is_refused);
    RUN(g6_an_update_that_waits_for_memory_keeps_nobody_from_the_graph);
    RUN(g6_m5_an_update_that_comes_during_a_replay_is_refused_before_its_buffers_get_memory);
    RUN(g4_a_capture_that_needs_a_deferred_buffer_which_can_have_no_memory_is_doomed);
    RUN(g6_independent_nodes_run_at_once_on_two_workers);
    return finish();
}
