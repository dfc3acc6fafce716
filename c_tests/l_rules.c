/* The rules L1 to L10 and the field reports DL-01 to DL-09: launching, and what is refused. */
#include "rules.h"

#define WORDS 256
#define BYTES (4 * WORDS)

static compute_device device;
static compute_stream stream;
static compute_kernel increment, add;
static compute_buffer in, out;
static compute_device_info info;

static void set_up(void)
{
    device = open_device();
    info = device_info(device);
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    add = make_kernel(device, ADD);
    in = make_buffer(device, BYTES, "in");
    out = make_buffer(device, BYTES, "out");
    fill_words(stream, in, 7);
    fill_words(stream, out, 1);
}

static compute_status launch_grid(compute_kernel kernel, uint32_t x, uint32_t y, uint32_t z, compute_buffer buffer)
{
    compute_binding binding = bind(0, buffer);
    compute_launch_desc desc = launch_desc(kernel, x, y, z, &binding, 1);
    return compute_stream_launch(stream, &desc, E);
}

/* ---- L1, DL-02 ---- */

TEST(l1_dl_02_a_grid_with_a_zero_is_no_work)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    OK(launch_grid(count, 0, 5, 7, out));
    OK(launch_grid(count, 5, 0, 7, out));
    OK(launch_grid(count, 5, 7, 0, out));
    compute_event event = NULL;
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_wait(event, 10 * SECONDS, E));
    CHECK_EQ(get_word(stream, out, 0), 1);
}

TEST(l1_a_grid_with_a_zero_claims_nothing_and_releases_nothing)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    OK(launch_io(stream, increment, "", in, out, 0));
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), failure);
    compute_buffer clean = make_buffer(device, BYTES, "clean");
    OK(launch_io(stream, increment, "", out, clean, 0));
    CHECK_EQ(claimed_by(clean, 0, COMPUTE_WHOLE), 0);
}

TEST(dl_02_every_invocation_knows_its_place_in_a_grid_of_three_axes)
{
    set_up();
    compute_kernel place = make_kernel(device,
        "struct Places { n: atomic<u32>, x: atomic<u32>, y: atomic<u32>, z: atomic<u32>, groups: array<u32, 3> }\n"
        "@group(0) @binding(0) var<storage, read_write> R: Places;\n"
        "@compute @workgroup_size(2) fn place(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\n"
        "  atomicAdd(&R.n, 1u); atomicMax(&R.x, g.x); atomicMax(&R.y, g.y); atomicMax(&R.z, g.z);\n"
        "  if g.x + g.y + g.z == 0u { R.groups[0] = n.x; R.groups[1] = n.y; R.groups[2] = n.z; } }");
    uint32_t expected[7] = { 210, 2, 4, 6, 3, 5, 7 };
    compute_buffer result = make_buffer(device, 28, "result");
    OK(launch_grid(place, 3, 5, 7, result));
    for (int i = 0; i < 7; i++) CHECK_EQ(get_word(stream, result, i), expected[i]);
}

/* ---- L2 ---- */

static compute_status launch_indirect(compute_kernel kernel, compute_buffer grid, uint64_t offset, compute_buffer counter)
{
    compute_binding binding = bind(0, counter);
    compute_launch_desc desc = launch_desc(kernel, 0, 0, 0, &binding, 1);
    desc.indirect = range(grid, offset, 12);
    return compute_stream_launch(stream, &desc, E);
}

TEST(l2_a_grid_is_read_from_memory_after_the_work_before_it)
{
    set_up();
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT)) return;
    compute_kernel count = make_kernel(device, COUNTER);
    compute_kernel size = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> G: array<u32>;\n"
        "@compute @workgroup_size(1) fn size() { G[1] = 3u; G[2] = 5u; G[3] = 2u; }");
    compute_buffer grid = make_buffer(device, 16, "grid"), counter = make_buffer(device, 4, "counter");
    OK(launch_grid(size, 1, 1, 1, grid));
    OK(launch_indirect(count, grid, 4, counter));
    CHECK_EQ(get_word(stream, counter, 0), 30);
}

/* Every workgroup has memory of its own that begins with zeros, some leave early, and all of it depends on where it is in what grid. */
#define TURNS "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\nvar<workgroup> seen: array<u32, 64>;\n" \
    "@compute @workgroup_size(64) fn turns(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>," \
    " @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>) {\n" \
    "let group = g.x + n.x * (g.y + n.y * g.z);\nlet before = seen[i];\nworkgroupBarrier();\nseen[63u - i] += group + 1u;\nworkgroupBarrier();\n" \
    "if group % 3u == 1u { return; }\nlet at = group * 64u + i;\nif i == 7u { return; }\n" \
    "if at < arrayLength(&O) { O[at] = seen[i] + before * 1000u + id.x * 7u + n.y * 13u + n.z; } }\n"

static void expect_turns(compute_buffer out, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t groups = x * y * z, *words = malloc(256 * (size_t)groups);
    CHECK(words != NULL);
    OK(get(stream, out, 0, words, 256 * (uint64_t)groups));
    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t i = 0; i < 64; i++) {
            int leaves = group % 3 == 1 || i == 7;
            CHECK_EQ(words[group * 64 + i], leaves ? 0 : group + 1 + (group % x * 64 + i) * 7 + y * 13 + z);
        }
    }
    free(words);
}

static void put_counts(compute_buffer grid, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t counts[3] = { x, y, z };
    put(stream, grid, 0, counts, 12);
}

TEST(l2_workgroups_of_a_grid_from_memory_are_those_of_one_that_is_known)
{
    static const uint32_t grids[][3] = { { 1, 1, 1 }, { 5, 1, 1 }, { 9000, 1, 1 }, { 3, 5, 7 }, { 1, 4000, 1 }, { 7, 1, 900 }, { 1, 1, 3 } };
    set_up();
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT)) return;
    compute_kernel turns = make_kernel(device, TURNS);
    compute_buffer grid = make_buffer(device, 12, "grid");
    for (size_t i = 0; i < COUNT_OF(grids); i++) {
        uint32_t x = grids[i][0], y = grids[i][1], z = grids[i][2];
        compute_buffer out = make_buffer(device, 256 * (uint64_t)(x * y * z), "out");
        put_counts(grid, x, y, z);
        OK(launch_indirect(turns, grid, 0, out));
        expect_turns(out, x, y, z);
        compute_buffer_release(out);
    }
}

TEST(l2_g5_a_replay_reads_the_counts_that_are_there_then_and_tells_those_above_a_limit)
{
    set_up();
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT)) return;
    uint64_t capture = 0;
    compute_graph graph = NULL;
    compute_kernel turns = make_kernel(device, TURNS);
    compute_buffer grid = make_buffer(device, 12, "grid"), out = make_buffer(device, 256 * 64, "out");
    put_counts(grid, 1, 1, 1);
    OK(compute_stream_prepare_capture(stream, E));
    OK(launch_indirect(turns, grid, 0, out));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_indirect(turns, grid, 0, out));
    OK(compute_stream_end_capture(stream, capture, &graph, E));
    /* The device keeps it: nobody's host looks at the counts. */
    compute_graph_info kept = COMPUTE_GRAPH_INFO_INIT;
    OK(compute_graph_get_info(graph, &kept, E));
    CHECK(kept.flags & COMPUTE_GRAPH_FLAG_NATIVE);
    for (uint32_t round = 1; round < 8; round++) {
        fill_words(stream, out, 0);
        put_counts(grid, round, 2, round % 3 + 1);
        OK(compute_stream_replay(stream, graph, E));
        expect_turns(out, round, 2, round % 3 + 1);
    }
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT_REPORTS) || info.max_grid[1] == UINT32_MAX) return;
    uint32_t word = 0;
    fill_words(stream, out, 3);
    put_counts(grid, 1, info.max_grid[1] + 1, 1);
    OK(compute_stream_replay(stream, graph, E));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_GRID_LIMIT);
    CHECK(error_says("node 0"));
    fill_words(stream, out, 0);
    put_counts(grid, 2, 1, 1);
    OK(compute_stream_replay(stream, graph, E));
    expect_turns(out, 2, 1, 1);
}

TEST(l2_a_zero_in_an_indirect_grid_is_no_work)
{
    set_up();
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT)) return;
    compute_kernel count = make_kernel(device, COUNTER);
    compute_buffer grid = make_buffer(device, 12, "grid"), counter = make_buffer(device, 4, "counter");
    put_word(stream, grid, 0, 4);
    put_word(stream, grid, 2, 4);
    OK(launch_indirect(count, grid, 0, counter));
    CHECK_EQ(get_word(stream, counter, 0), 0);
}

TEST(l2_an_indirect_grid_above_a_limit_runs_nothing_and_is_reported)
{
    set_up();
    if (!(info.capabilities & COMPUTE_CAPABILITY_INDIRECT) || info.max_grid[1] == UINT32_MAX) return;
    compute_kernel count = make_kernel(device, COUNTER);
    compute_buffer grid = make_buffer(device, 12, "grid"), counter = make_buffer(device, 4, "counter");
    uint32_t word = 0;
    put_word(stream, counter, 0, 5);
    put_word(stream, grid, 0, 1);
    put_word(stream, grid, 1, info.max_grid[1] + 1);
    put_word(stream, grid, 2, 1);
    OK(launch_indirect(count, grid, 0, counter));
    if (info.capabilities & COMPUTE_CAPABILITY_INDIRECT_REPORTS) {
        IS(COMPUTE_ERROR_UNWRITTEN, get(stream, counter, 0, &word, 4));
        CHECK_EQ(root_info().status, COMPUTE_ERROR_GRID_LIMIT);
    } else {
        CHECK_EQ(get_word(stream, counter, 0), 5);
    }
}

TEST(l2_an_indirect_view_that_is_misaligned_or_of_a_wrong_size_is_refused)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    compute_buffer counter = make_buffer(device, 4, "counter");
    IS_CLASS(100, launch_indirect(count, in, 2, counter));
    IS_CLASS(100, launch_indirect(count, in, BYTES - 8, counter));
}

/* ---- L3, DL-01, DL-03, DL-05, DL-06 ---- */

TEST(l3_dl_01_many_groups_all_run_or_the_launch_is_refused_with_axis_request_and_limit)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    static const uint32_t sizes[3] = { 65535, 65536, 1000000 };
    for (int axis = 0; axis < 3; axis++) {
        for (int i = 0; i < 3; i++) {
            uint32_t grid[3] = { 1, 1, 1 };
            char asked[16], allowed[16];
            compute_buffer counter = make_buffer(device, 4, "counter");
            put_word(stream, counter, 0, 0);
            grid[axis] = sizes[i];
            if (sizes[i] <= info.max_grid[axis]) {
                OK(launch_grid(count, grid[0], grid[1], grid[2], counter));
                CHECK_EQ(get_word(stream, counter, 0), sizes[i]);
            } else {
                IS(COMPUTE_ERROR_LIMIT, launch_grid(count, grid[0], grid[1], grid[2], counter));
                snprintf(asked, sizeof asked, "%u", (unsigned)sizes[i]);
                snprintf(allowed, sizeof allowed, "%u", (unsigned)info.max_grid[axis]);
                CHECK(error_says(asked) && error_says(allowed));
                CHECK(claimed_by(counter, 0, 4) != 0);
            }
            compute_buffer_release(counter);
        }
    }
}

TEST(dl_01_a_grid_above_the_limit_is_refused_on_every_axis)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    for (int axis = 0; axis < 3; axis++) {
        if (info.max_grid[axis] == UINT32_MAX) continue;
        uint32_t grid[3] = { 1, 1, 1 };
        grid[axis] = info.max_grid[axis] + 1;
        fill_words(stream, out, 1);
        IS(COMPUTE_ERROR_LIMIT, launch_grid(count, grid[0], grid[1], grid[2], out));
    }
}

static compute_status create_of_size(const char *size, compute_kernel *kernel)
{
    char source[256];
    snprintf(source, sizeof source, "@group(0) @binding(0) var<storage, read_write> C: atomic<u32>;\n@compute @workgroup_size(%s) fn f() { atomicAdd(&C, 1u); }", size);
    compute_kernel_desc desc = kernel_desc(source, "sized");
    return compute_kernel_create(device, &desc, kernel, E);
}

TEST(l3_dl_03_a_workgroup_above_the_limit_is_refused_at_creation_with_both_numbers)
{
    set_up();
    char size[64], limit[16];
    compute_kernel kernel = NULL;
    for (int axis = 0; axis < 3; axis++) {
        unsigned n[3] = { 1, 1, 1 };
        n[axis] = info.max_workgroup_size[axis] + 1;
        snprintf(size, sizeof size, "%u, %u, %u", n[0], n[1], n[2]);
        snprintf(limit, sizeof limit, "%u", (unsigned)info.max_workgroup_size[axis]);
        compute_status status = create_of_size(size, &kernel);
        CHECK(status == COMPUTE_ERROR_LIMIT || status == COMPUTE_ERROR_COMPILE);
        CHECK(error_says(limit));
        CHECK_EQ(last_info().refusal, 1);
        CHECK(kernel == NULL);
    }
    compute_buffer counter = make_buffer(device, 4, "counter");
    OK(launch_grid(make_kernel(device, COUNTER), 3, 1, 1, counter));
    CHECK_EQ(get_word(stream, counter, 0), 3);
}

TEST(dl_06_workgroups_of_exactly_the_limit_run)
{
    set_up();
    char size[64];
    unsigned sizes[4][3] = { { info.max_workgroup_size[0], 1, 1 }, { 1, info.max_workgroup_size[1], 1 }, { 1, 1, info.max_workgroup_size[2] },
                             { info.max_workgroup_invocations, 1, 1 } };
    CHECK(info.max_workgroup_invocations >= 1);
    for (int i = 0; i < 4; i++) {
        compute_kernel kernel = NULL;
        uint64_t invocations = (uint64_t)sizes[i][0] * sizes[i][1] * sizes[i][2];
        if (invocations > info.max_workgroup_invocations || sizes[i][0] > info.max_workgroup_size[0]) continue;
        compute_buffer counter = make_buffer(device, 4, "counter");
        snprintf(size, sizeof size, "%u, %u, %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        OK(create_of_size(size, &kernel));
        OK(launch_grid(kernel, 2, 1, 1, counter));
        CHECK_EQ(get_word(stream, counter, 0), 2 * invocations);
    }
}

/* ---- L12 ---- */

TEST(l12_subgroups_are_of_the_sizes_that_the_device_reports)
{
    set_up();
    CHECK(info.subgroup_min >= 1 && info.subgroup_min <= info.subgroup_max && info.subgroup_max <= 128);
    if (info.subgroup_max == 1) return;
    compute_kernel kernel = make_kernel(device, "enable subgroups;\n@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "@compute @workgroup_size(256) fn f(@builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32) {\n"
        "  let sum = subgroupAdd(1u);\n  if (i == 0u) { O[0] = size; O[1] = sum; } }");
    OK(launch_grid(kernel, 1, 1, 1, out));
    uint32_t size = get_word(stream, out, 0);
    CHECK(size >= info.subgroup_min && size <= info.subgroup_max);
    CHECK_EQ(get_word(stream, out, 1), size);
}

static compute_status create_with_memory(uint64_t words, compute_kernel *kernel)
{
    char source[512];
    snprintf(source, sizeof source, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\nvar<workgroup> w: array<u32, %llu>;\n"
        "@compute @workgroup_size(64) fn f(@builtin(local_invocation_index) i: u32) {\n"
        "  for (var n = i; n < %lluu; n += 64u) { w[n] = n; }\n  workgroupBarrier();\n  O[i] = w[%lluu - i]; }",
        (unsigned long long)words, (unsigned long long)words, (unsigned long long)words - 1);
    compute_kernel_desc desc = kernel_desc(source, "memory");
    return compute_kernel_create(device, &desc, kernel, E);
}

TEST(dl_06_workgroup_memory_of_exactly_the_limit_works_and_more_is_refused)
{
    set_up();
    compute_kernel kernel = NULL;
    uint64_t words = info.max_workgroup_memory / 4;
    CHECK(words >= 4096);
    OK(create_with_memory(words, &kernel));
    OK(launch_grid(kernel, 1, 1, 1, out));
    CHECK_EQ(get_word(stream, out, 0), words - 1);
    CHECK_EQ(get_word(stream, out, 63), words - 64);
    compute_kernel none = NULL;
    compute_status status = create_with_memory(words + 1, &none);
    CHECK(status == COMPUTE_ERROR_LIMIT || status == COMPUTE_ERROR_COMPILE);
    CHECK_EQ(last_info().refusal, 1);
    CHECK(none == NULL);
}

/* Ways of making a kernel that put things of the library's own beside what it is given. */
enum { PLAIN, VALIDATED, PRINTING, SLICED, MANNERS };
static const char *const manners[MANNERS] = { "plain", "validated", "printing", "sliced" };
static void ignore_line(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user;
    (void)level;
    (void)text;
    (void)length;
}
/* 0: not on this device. */
static int set_up_for(int manner)
{
    OK(compute_log_set(manner == PRINTING ? ignore_line : NULL, NULL, manner == PRINTING ? COMPUTE_LOG_PRINT : COMPUTE_LOG_OFF, E));
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.slice_groups = manner == SLICED ? 2 : 0;
    OK(compute_device_open(&desc, &device, E));
    info = device_info(device);
    stream = make_stream(device);
    out = make_buffer(device, 64, "out");
    return manner != VALIDATED || (info.capabilities & COMPUTE_CAPABILITY_VALIDATE) != 0;
}
static compute_status make_in(int manner, const char *source, compute_kernel *kernel)
{
    compute_kernel_desc desc = kernel_desc(source, manners[manner]);
    desc.bounds = manner == VALIDATED ? COMPUTE_BOUNDS_VALIDATE : COMPUTE_BOUNDS_CHECKED;
    return compute_kernel_create(device, &desc, kernel, E);
}
static const char *print_in(int manner) { return manner == PRINTING ? "if O[0] == 1u { debugPrintf(\"%u\", O[0]); }" : ""; }

/* Whether the last error names both numbers and is for ever. */
static void is_over_the_limit(uint64_t asked, uint64_t allowed)
{
    char numbers[2][24];
    snprintf(numbers[0], sizeof numbers[0], "%llu", (unsigned long long)asked);
    snprintf(numbers[1], sizeof numbers[1], "%llu", (unsigned long long)allowed);
    CHECK(error_says(numbers[0]) && error_says(numbers[1]));
    CHECK_EQ(last_info().refusal, 1);
}

static compute_status create_with_immediates(int manner, uint32_t words, compute_kernel *kernel)
{
    size_t room = 2048 + 32 * (size_t)words, used;
    char *source = malloc(room);
    CHECK(source != NULL);
    used = (size_t)snprintf(source, room, "struct P {\n");
    for (uint32_t i = 0; i < words; i++) used += (size_t)snprintf(source + used, room - used, "w%u: u32,\n", (unsigned)i);
    used += (size_t)snprintf(source + used, room - used, "}\nvar<immediate> p: P;\n@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "@group(0) @binding(1) var<uniform> u: vec4<u32>;\n"
        "@compute @workgroup_size(1) fn f(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\nvar s = 0u;\n");
    for (uint32_t i = 0; i < words; i++) used += (size_t)snprintf(source + used, room - used, "s = s * 31u + p.w%u;\n", (unsigned)i);
    snprintf(source + used, room - used, "if g.x + 1u == n.x { O[0] = p.w0; O[1] = p.w%u; O[2] = s; O[3] = g.x; O[4] = u.w; }\n%s }\n", (unsigned)words - 1, print_in(manner));
    compute_status status = make_in(manner, source, kernel);
    free(source);
    return status;
}

TEST(dl_06_an_immediate_block_of_exactly_the_limit_arrives_and_one_word_more_is_refused)
{
    for (int manner = 0; manner < MANNERS; manner++) {
        if (!set_up_for(manner)) continue;
        const uint32_t words = info.max_immediate_size / 4;
        if (words == 0) {
            printf("  not tried: the device has no immediates\n");
            return;
        }
        CHECK_EQ(info.max_immediate_size % 4, 0);
        uint32_t *block = malloc(4 * (size_t)words), sum = 0, beside[4] = { 1, 2, 3, 4 };
        compute_kernel kernel = NULL, none = NULL;
        CHECK(block != NULL);
        OK(create_with_immediates(manner, words, &kernel));
        for (uint32_t round = 1; round <= 3; round++) {
            sum = 0;
            for (uint32_t i = 0; i < words; i++) {
                block[i] = i * 2654435761u * round + 1;
                sum = sum * 31 + block[i];
            }
            compute_binding bindings[2] = { bind(0, out), bind_bytes(1, beside, 16) };
            compute_launch_desc desc = launch_desc(kernel, 5, 1, 1, bindings, 2);
            desc.immediates = block;
            desc.immediate_size = 4 * (uint64_t)words;
            OK(compute_stream_launch(stream, &desc, E));
            CHECK_EQ(get_word(stream, out, 0), block[0]);
            CHECK_EQ(get_word(stream, out, 1), block[words - 1]);
            CHECK_EQ(get_word(stream, out, 2), sum);
            CHECK_EQ(get_word(stream, out, 3), 4);
            CHECK_EQ(get_word(stream, out, 4), 4);
        }
        compute_status more = create_with_immediates(manner, words + 1, &none);
        CHECK(more == COMPUTE_ERROR_LIMIT || more == COMPUTE_ERROR_COMPILE);
        CHECK(none == NULL);
        is_over_the_limit(4 * (uint64_t)words + 4, 4 * (uint64_t)words);
        free(block);
    }
}

static compute_status create_with_uniform(int manner, uint64_t blocks, compute_kernel *kernel)
{
    char source[1024];
    snprintf(source, sizeof source, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n@group(0) @binding(1) var<uniform> u: array<vec4<u32>, %llu>;\n"
        "@compute @workgroup_size(1) fn f(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\nvar s = 0u;\n"
        "for (var i = 0u; i < %lluu; i += 1u) { s = s * 31u + u[i].x + u[i].w; }\n"
        "if g.x + 1u == n.x { O[0] = u[0].x; O[1] = u[%llu].w; O[2] = s; O[3] = g.x; }\n%s }\n",
        (unsigned long long)blocks, (unsigned long long)blocks, (unsigned long long)blocks - 1, print_in(manner));
    return make_in(manner, source, kernel);
}

TEST(dl_06_a_uniform_block_of_exactly_the_limit_arrives_inline_and_by_view_and_more_is_refused)
{
    for (int manner = 0; manner < MANNERS; manner++) {
        if (!set_up_for(manner)) continue;
        const uint64_t blocks = info.max_uniform_size / 16, size = info.max_uniform_size;
        CHECK(blocks > 0 && blocks < 1 << 20);
        CHECK_EQ(size % 16, 0);
        uint32_t *words = malloc(size);
        compute_kernel kernel = NULL, none = NULL;
        compute_buffer uniform = make_buffer(device, size + 16, "uniform");
        CHECK(words != NULL);
        OK(create_with_uniform(manner, blocks, &kernel));
        for (uint32_t round = 1; round <= 4; round++) {
            uint32_t sum = 0;
            for (uint64_t i = 0; i < size / 4; i++) words[i] = (uint32_t)i * 2654435761u * round + 1;
            for (uint64_t i = 0; i < blocks; i++) sum = sum * 31 + words[4 * i] + words[4 * i + 3];
            /* In turns, as inline bytes may be kept beside each other. */
            put(stream, uniform, 16, words, size);
            compute_binding bindings[2] = { bind(0, out), round % 2 ? bind_bytes(1, words, size) : bind_range(1, uniform, 16, size) };
            OK(launch(stream, kernel, 5, bindings, 2));
            CHECK_EQ(get_word(stream, out, 0), words[0]);
            CHECK_EQ(get_word(stream, out, 1), words[size / 4 - 1]);
            CHECK_EQ(get_word(stream, out, 2), sum);
            CHECK_EQ(get_word(stream, out, 3), 4);
        }
        compute_binding longer[2] = { bind(0, out), bind_range(1, uniform, 0, size + 16) };
        IS(COMPUTE_ERROR_LIMIT, launch(stream, kernel, 5, longer, 2));
        is_over_the_limit(size + 16, size);
        compute_binding inline_longer[2] = { bind(0, out), bind_bytes(1, words, size + 4) };
        inline_longer[1].data = calloc(1, size + 4);
        IS_CLASS(100, launch(stream, kernel, 5, inline_longer, 2));
        IS(COMPUTE_ERROR_LIMIT, create_with_uniform(manner, blocks + 1, &none));
        CHECK(none == NULL);
        is_over_the_limit(size + 16, size);
        compute_buffer_release(uniform);
        free((void *)(uintptr_t)inline_longer[1].data);
        free(words);
    }
}

/* Where there is memory for it. */
TEST(dl_06_mem_01_a_binding_of_exactly_the_limit_reaches_its_last_word_and_one_word_more_is_refused)
{
    for (int manner = 0; manner < MANNERS; manner++) {
        if (!set_up_for(manner)) continue;
        const uint64_t size = info.max_binding_size, last = size / 4 - 1;
        compute_kernel kernel = NULL;
        compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
        compute_buffer buffer = NULL;
        char source[768];
        CHECK_EQ(size % 4, 0);
        desc.size = size + 256;
        if (size > info.max_buffer_size - 256 || size > info.memory_size / 4 || size / 4 > UINT32_MAX) {
            printf("  not tried: a binding may be as large as the memory, or nearly (%llu bytes of %llu)\n", (unsigned long long)size, (unsigned long long)info.memory_size);
            return;
        }
        compute_status made = compute_buffer_create(device, &desc, &buffer, E);
        if (made == COMPUTE_ERROR_OUT_OF_MEMORY) {
            printf("  not tried: others have the memory\n");
            return;
        }
        CHECK_EQ(made, COMPUTE_OK);
        snprintf(source, sizeof source, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n@group(0) @binding(1) var<storage, read_write> B: array<u32>;\n"
            "@compute @workgroup_size(1) fn f(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {\n"
            "if g.x + 1u == n.x { O[0] = B[0]; O[1] = B[%lluu]; O[2] = arrayLength(&B); B[0] = 7u; B[%lluu] = 9u; O[3] = g.x; }\n%s }\n",
            (unsigned long long)last, (unsigned long long)last, print_in(manner));
        OK(make_in(manner, source, &kernel));
        for (int end = 0; end < 2; end++) {
            const uint64_t offset = end ? 256 : 0, first = offset / 4;
            put_word(stream, buffer, first, 70 + (uint32_t)end);
            put_word(stream, buffer, first + last, 90 + (uint32_t)end);
            compute_binding bindings[2] = { bind(0, out), bind_range(1, buffer, offset, size) };
            OK(launch(stream, kernel, 5, bindings, 2));
            CHECK_EQ(get_word(stream, out, 0), 70 + end);
            CHECK_EQ(get_word(stream, out, 1), 90 + end);
            CHECK_EQ(get_word(stream, out, 2), last + 1);
            CHECK_EQ(get_word(stream, out, 3), 4);
            CHECK_EQ(get_word(stream, buffer, first), 7);
            CHECK_EQ(get_word(stream, buffer, first + last), 9);
        }
        /* Never what fits of it. */
        compute_binding all[2] = { bind(0, out), bind(1, buffer) }, longer[2] = { bind(0, out), bind_range(1, buffer, 0, size + 4) };
        IS(COMPUTE_ERROR_LIMIT, launch(stream, kernel, 5, all, 2));
        is_over_the_limit(size + 256, size);
        CHECK(claimed_by(buffer, size, 4) != 0);
        fill_words(stream, buffer, 5);
        IS(COMPUTE_ERROR_LIMIT, launch(stream, kernel, 5, longer, 2));
        is_over_the_limit(size + 4, size);
        fill_words(stream, buffer, 6);
        CHECK_EQ(get_word(stream, buffer, last + 64), 6);
        compute_buffer_release(buffer);
        compute_stream_release(stream);
        compute_device_release(device);
    }
}

/* A kernel with `count` storage bindings; O is slot 0 and gets the sum of the first words of the others. */
static compute_status create_with_bindings(int manner, uint32_t count, compute_kernel *kernel)
{
    size_t room = 1024 + 160 * (size_t)count, used = 0;
    char *source = malloc(room);
    CHECK(source != NULL);
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(source + used, room - used, "@group(0) @binding(%u) var<storage, read%s> b%u: array<u32>;\n", (unsigned)i,
            i == 0 ? "_write" : "", (unsigned)i);
    }
    used += (size_t)snprintf(source + used, room - used, 
        "@compute @workgroup_size(1) fn f(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) { var s = 0u;\n");
    for (uint32_t i = 1; i < count; i++) used += (size_t)snprintf(source + used, room - used, "s += b%u[0];\n", (unsigned)i);
    snprintf(source + used, room - used, "if g.x + 1u == n.x { b0[0] = s + n.x; }\n%s }\n", manner == PRINTING ? "if s == 1u { debugPrintf(\"%u\", s); }" : "");
    compute_status status = make_in(manner, source, kernel);
    free(source);
    return status;
}

TEST(dl_05_as_many_bindings_as_the_limit_says_work_and_one_more_is_refused)
{
    for (int manner = 0; manner < MANNERS; manner++) {
        if (!set_up_for(manner)) continue;
        uint32_t count = info.max_bindings;
        CHECK(count >= 8 && count < 10000);
        compute_kernel kernel = NULL, none = NULL;
        OK(create_with_bindings(manner, count, &kernel));
        compute_binding *bindings = calloc(count + 2, sizeof *bindings);
        CHECK(bindings != NULL);
        uint64_t expected = 5;
        for (uint32_t i = 0; i < count; i++) {
            compute_buffer buffer = make_buffer(device, 4, "one");
            put_word(stream, buffer, 0, i * i);
            bindings[i] = bind(i, buffer);
            if (i > 0) expected += i * i;
        }
        OK(launch(stream, kernel, 5, bindings, count));
        CHECK_EQ(get_word(stream, bindings[0].buffer, 0), expected);
        bindings[count] = bind(4000000000u, out);
        IS_CLASS(100, launch(stream, kernel, 5, bindings, count + 1));
        compute_status status = create_with_bindings(manner, count + 1, &none);
        CHECK(status < 0 && none == NULL);
        is_over_the_limit(count + 1, count);
        free(bindings);
    }
}

TEST(l3_bindings_that_do_not_match_the_kernel_are_refused)
{
    set_up();
    uint32_t block[4] = { 1, 0, 0, 0 };
    compute_binding good[4] = { bind(0, in), bind(1, out), bind_bytes(2, block, 16), bind(1, out) };
    OK(launch(stream, add, 4, good, 3));
    IS(COMPUTE_ERROR_BINDING, launch(stream, add, 4, good, 2)); /* missing */
    IS(COMPUTE_ERROR_BINDING, launch(stream, add, 4, good, 4)); /* twice */
    compute_binding unknown[4] = { bind(0, in), bind(1, out), bind_bytes(2, block, 16), bind(9, in) };
    IS(COMPUTE_ERROR_BINDING, launch(stream, add, 4, unknown, 4));
    compute_binding inline_storage[3] = { bind_bytes(0, block, 16), bind(1, out), bind_bytes(2, block, 16) };
    IS_CLASS(100, launch(stream, add, 4, inline_storage, 3));
    compute_binding too_small[3] = { bind_range(0, in, 0, 2), bind(1, out), bind_bytes(2, block, 16) };
    IS_CLASS(100, launch(stream, add, 4, too_small, 3));
    compute_binding empty[3] = { bind_range(0, in, 0, 0), bind(1, out), bind_bytes(2, block, 16) };
    IS_CLASS(100, launch(stream, add, 4, empty, 3));
    compute_binding other_group[3] = { bind(0, in), bind(1, out), bind_bytes(2, block, 16) };
    other_group[0].group = 1;
    IS(COMPUTE_ERROR_BINDING, launch(stream, add, 4, other_group, 3));
    OK(launch(stream, add, 4, good, 3));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

TEST(l3_a_misaligned_or_overlong_view_is_refused)
{
    set_up();
    compute_binding misaligned[2] = { bind_range(0, in, 2, 64), bind(1, out) };
    IS(COMPUTE_ERROR_MISALIGNED, launch(stream, increment, 4, misaligned, 2));
    compute_binding overlong[2] = { bind_range(0, in, 16, BYTES), bind(1, out) };
    IS(COMPUTE_ERROR_OUT_OF_RANGE, launch(stream, increment, 4, overlong, 2));
    compute_binding behind[2] = { bind_range(0, in, BYTES + 256, COMPUTE_WHOLE), bind(1, out) };
    IS(COMPUTE_ERROR_OUT_OF_RANGE, launch(stream, increment, 4, behind, 2));
}

/* ---- L4 ---- */

TEST(l4_inline_bytes_and_immediates_reach_the_kernel_by_value)
{
    set_up();
    compute_kernel both = make_kernel(device,
        "struct P { a: u32, b: f32 }\nvar<immediate> p: P;\n@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "@group(0) @binding(1) var<uniform> u: vec2<u32>;\n"
        "@compute @workgroup_size(1) fn both() { O[0] = p.a; O[1] = u32(p.b); O[2] = u.x; O[3] = u.y; }");
    struct { uint32_t a; float b; } immediates = { 11, 12.5f };
    uint32_t block[2] = { 13, 14 }, expected[4] = { 11, 12, 13, 14 };
    compute_binding bindings[2] = { bind(0, out), bind_bytes(1, block, 8) };
    compute_launch_desc desc = launch_desc(both, 1, 1, 1, bindings, 2);
    desc.immediates = &immediates;
    desc.immediate_size = sizeof immediates;
    OK(compute_stream_launch(stream, &desc, E));
    immediates.a = block[0] = block[1] = 0xffffffffu; /* copied before the call returned */
    for (int i = 0; i < 4; i++) CHECK_EQ(get_word(stream, out, i), expected[i]);
    desc.immediate_size = 4;
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
    desc.immediate_size = 12;
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
    desc.immediates = NULL;
    desc.immediate_size = 0;
    IS_CLASS(100, compute_stream_launch(stream, &desc, E));
}

TEST(l4_a_uniform_can_be_a_view_or_inline_bytes)
{
    set_up();
    uint32_t block[4] = { 5, 0, 0, 0 };
    compute_buffer uniform = make_buffer(device, 16, "uniform");
    put(stream, uniform, 0, block, 16);
    compute_binding by_view[3] = { bind(0, in), bind(1, out), bind(2, uniform) };
    OK(launch(stream, add, 4, by_view, 3));
    CHECK_EQ(get_word(stream, out, WORDS - 1), 12);
}

/* ---- L5 ---- */

TEST(l5_checked_reads_out_of_range_give_zero_and_writes_are_dropped)
{
    set_up();
    compute_kernel wild = make_kernel(device, IO
        "@compute @workgroup_size(1) fn wild() { let far = I[0]; O[0] = I[far]; O[far] = 0xbadu; O[8] = 0xbadu; O[1] = I[far + 0x40000000u]; O[0x7fffffffu + far] = 1u; }");
    compute_buffer arena = make_buffer(device, 1024, "arena");
    fill_words(stream, arena, 0xaaaaaaaau);
    put_word(stream, arena, 0, 100);
    compute_binding bindings[2] = { bind_range(0, arena, 0, 32), bind_range(1, arena, 256, 32) };
    OK(launch(stream, wild, 1, bindings, 2));
    CHECK_EQ(get_word(stream, arena, 64), 0);
    CHECK_EQ(get_word(stream, arena, 65), 0);
    for (int i = 1; i < 256; i++) {
        if (i != 64 && i != 65) CHECK_EQ(get_word(stream, arena, i), 0xaaaaaaaau);
    }
}

TEST(l5_the_length_of_an_array_is_that_of_its_view)
{
    set_up();
    compute_kernel length = make_kernel(device, IO "@compute @workgroup_size(1) fn length() { O[0] = arrayLength(&I); O[1] = arrayLength(&O); }");
    compute_binding bindings[2] = { bind_range(0, in, 256, 102), bind_range(1, out, 0, 16) };
    OK(launch(stream, length, 1, bindings, 2));
    CHECK_EQ(get_word(stream, out, 0), 25);
    CHECK_EQ(get_word(stream, out, 1), 4);
}

/* ---- L6 ---- */

TEST(l6_an_unknown_mode_is_refused)
{
    set_up();
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc desc = launch_desc(increment, 4, 1, 1, bindings, 2);
    desc.mode = 99;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_launch(stream, &desc, E));
}

/* ---- L8, DL-09 ---- */

TEST(l8_dl_09_twenty_thousand_dependent_launches_run_in_order)
{
    set_up();
    compute_kernel step = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n@compute @workgroup_size(1) fn step() { O[0] += 1u; }");
    compute_buffer counter = make_buffer(device, 4, "counter");
    uint64_t start = now_ns();
    for (int i = 0; i < 20000; i++) OK(launch_grid(step, 1, 1, 1, counter));
    CHECK_EQ(get_word(stream, counter, 0), 20000);
    printf("  20,000 dependent launches: %.1f ms\n", 1e-6 * (double)(now_ns() - start));
}

TEST(dl_09_two_buffers_hand_a_value_back_and_forth)
{
    set_up();
    put_word(stream, in, 0, 0);
    for (int i = 0; i < 500; i++) {
        OK(launch_io(stream, increment, "", in, out, 4));
        OK(launch_io(stream, increment, "", out, in, 4));
    }
    CHECK_EQ(get_word(stream, in, 0), 1000);
}

TEST(l8_work_on_one_stream_waits_for_the_other_streams_use_of_the_buffer)
{
    set_up();
    compute_stream other = make_stream(device);
    put_word(stream, in, 0, 0);
    for (int i = 0; i < 500; i++) {
        OK(launch_io(stream, increment, "", in, out, 4));
        OK(launch_io(other, increment, "", out, in, 4));
    }
    CHECK_EQ(get_word(stream, in, 0), 1000);
}

TEST(l8_memory_that_is_released_while_in_use_is_not_used_again_before_the_use_is_over)
{
    set_up();
    compute_kernel spin = make_kernel(device, SPIN);
    put_word(stream, in, 0, 3000000);
    put_word(stream, in, 1, 42);
    compute_stream other = make_stream(device);
    for (int round = 0; round < 10; round++) {
        compute_buffer busy = make_buffer(device, BYTES, "busy");
        OK(launch_io(stream, spin, "", in, busy, 1));
        compute_view from = range(busy, 0, 4), to = range(out, 0, 4);
        OK(compute_stream_copy(stream, &from, &to, E));
        compute_buffer_release(busy);
        compute_buffer next = make_buffer(device, BYTES, "next");
        fill_words(other, next, 0xeeeeeeeeu);
        CHECK_EQ(get_word(stream, out, 0), 42);
        CHECK_EQ(get_word(stream, next, 0), 0xeeeeeeeeu); /* where the work would have written */
        compute_buffer_release(next);
    }
}

/* ---- L9 ---- */

TEST(l9_two_read_bindings_may_overlap_and_a_written_one_may_not)
{
    set_up();
    compute_kernel sum = make_kernel(device, IO "@group(0) @binding(2) var<storage, read> J: array<u32>;\n"
        "@compute @workgroup_size(64) fn sum(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] + J[id.x]; } }");
    compute_binding both_read[3] = { bind(0, in), bind(1, out), bind(2, in) };
    OK(launch(stream, sum, 4, both_read, 3));
    CHECK_EQ(get_word(stream, out, 0), 14);
    compute_binding written[3] = { bind_range(0, in, 0, 512), bind_range(1, in, 256, 256), bind(2, out) };
    IS(COMPUTE_ERROR_OVERLAP, launch(stream, sum, 1, written, 3));
    CHECK(claimed_by(in, 256, 256) != 0);
    CHECK_EQ(claimed_by(in, 0, 256), 0);
    fill_words(stream, in, 7);
    compute_binding side_by_side[3] = { bind_range(0, in, 0, 256), bind_range(1, in, 256, 256), bind_range(2, in, 512, 256) };
    OK(launch(stream, sum, 1, side_by_side, 3));
    CHECK_EQ(get_word(stream, in, 64), 14);
}

TEST(l9_an_indirect_grid_counts_as_read)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    IS(COMPUTE_ERROR_OVERLAP, launch_indirect(count, out, 0, out));
}

TEST(l9_a_copy_whose_ranges_overlap_is_refused)
{
    set_up();
    compute_view from = range(in, 0, 100), to = range(in, 99, 100), beside = range(in, 100, 100);
    IS(COMPUTE_ERROR_OVERLAP, compute_stream_copy(stream, &from, &to, E));
    fill_words(stream, in, 7);
    OK(compute_stream_copy(stream, &from, &beside, E));
}

/* ---- L10 ---- */

TEST(l10_a_kernel_tells_what_it_is_before_it_runs)
{
    set_up();
    const char *source = IO "struct U { a: vec3<f32>, b: u32 }\n@group(1) @binding(3) var<uniform> settings: U;\n"
        "@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;\nvar<immediate> tail: vec4<u32>;\n"
        "var<workgroup> shared_words: array<u32, 100>;\noverride scale: f32 = 2.5;\n@id(7) override rounds: u32;\n"
        "@compute @workgroup_size(8, 4, 2) fn everything(@builtin(local_invocation_index) i: u32) {\n"
        "  shared_words[i] = I[i] + settings.b + tail.x + rounds;\n  workgroupBarrier();\n"
        "  O[i] = shared_words[i ^ 1u] + u32(scale);\n  atomicAdd(&counts[i], 1u); }\n";
    compute_constant rounds = { "rounds", COMPUTE_NUL_TERMINATED, 3.0, COMPUTE_CONSTANT_VALUE, 0 };
    compute_kernel_desc desc = kernel_desc(source, "everything");
    desc.constants = &rounds;
    desc.constant_count = 1;
    compute_kernel kernel = make_kernel_from(device, &desc);
    compute_kernel_info k;
    memset(&k, 0, sizeof k);
    k.struct_size = sizeof k;
    OK(compute_kernel_get_info(kernel, &k, E));
    CHECK(strcmp(k.entry, "everything") == 0);
    CHECK(k.workgroup_size[0] == 8 && k.workgroup_size[1] == 4 && k.workgroup_size[2] == 2);
    CHECK_EQ(k.binding_count, 4);
    CHECK_EQ(k.immediate_size, 16);
    CHECK_EQ(k.workgroup_memory, 400);
    CHECK_EQ(k.override_count, 2);

    static const struct { const char *name; uint32_t group, slot, kind, access; uint64_t min_size; } expected[4] = {
        { "I", 0, 0, COMPUTE_BINDING_STORAGE, COMPUTE_ACCESS_READ, 4 },
        { "O", 0, 1, COMPUTE_BINDING_STORAGE, COMPUTE_ACCESS_WRITE, 4 },
        { "counts", 0, 7, COMPUTE_BINDING_STORAGE, COMPUTE_ACCESS_READ_WRITE, 4 },
        { "settings", 1, 3, COMPUTE_BINDING_UNIFORM, COMPUTE_ACCESS_READ, 16 },
    };
    for (uint32_t i = 0; i < 4; i++) {
        compute_binding_info b;
        memset(&b, 0, sizeof b);
        b.struct_size = sizeof b;
        OK(compute_kernel_get_binding(kernel, i, &b, E));
        CHECK(strcmp(b.name, expected[i].name) == 0);
        CHECK_EQ(b.group, expected[i].group);
        CHECK_EQ(b.slot, expected[i].slot);
        CHECK_EQ(b.kind, expected[i].kind);
        CHECK_EQ(b.access, expected[i].access);
        CHECK_EQ(b.min_size, expected[i].min_size);
        uint32_t found = 99;
        OK(compute_kernel_find_binding(kernel, expected[i].name, COMPUTE_NUL_TERMINATED, &found, E));
        CHECK_EQ(found, i);
    }
    uint32_t found;
    IS(COMPUTE_ERROR_NOT_FOUND, compute_kernel_find_binding(kernel, "nothing", COMPUTE_NUL_TERMINATED, &found, E));

    compute_override_info o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    OK(compute_kernel_get_override(kernel, 0, &o, E));
    CHECK(strcmp(o.name, "scale") == 0 && o.kind == COMPUTE_OVERRIDE_F32 && o.has_default == 1 && o.default_value == 2.5 && o.id == -1);
    OK(compute_kernel_get_override(kernel, 1, &o, E));
    CHECK(strcmp(o.name, "rounds") == 0 && o.kind == COMPUTE_OVERRIDE_U32 && o.has_default == 0 && o.id == 7);
    IS_CLASS(100, compute_kernel_get_override(kernel, 2, &o, E));
}

TEST(l10_override_constants_of_64_bits_keep_every_bit)
{
    set_up();
    if (!(info.features & COMPUTE_FEATURE_INT64)) {
        printf("  left out: the device has no 64-bit integers\n");
        return;
    }
    const char *source = "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\noverride big: u64 = 81985529216486895lu;\noverride less: i64;\n"
        "@compute @workgroup_size(1) fn f() { O[0] = u32(big); O[1] = u32(big >> 32u); O[2] = u32(less); O[3] = u32(less >> 32u); }";
    compute_constant given[2] = { { "less", COMPUTE_NUL_TERMINATED, 0.0, COMPUTE_CONSTANT_I64, (uint64_t)INT64_MIN + 7 },
        { "big", COMPUTE_NUL_TERMINATED, 0.0, COMPUTE_CONSTANT_U64, UINT64_MAX - 1 } };
    for (size_t count = 1; count <= 2; count++) {
        compute_kernel_desc desc = kernel_desc(source, "f");
        desc.constants = given;
        desc.constant_count = count;
        compute_kernel kernel = make_kernel_from(device, &desc);
        OK(launch_grid(kernel, 1, 1, 1, out));
        uint64_t big = count == 2 ? UINT64_MAX - 1 : 0x123456789abcdefu;
        CHECK_EQ(get_word(stream, out, 0), (uint32_t)big);
        CHECK_EQ(get_word(stream, out, 1), (uint32_t)(big >> 32));
        CHECK_EQ(get_word(stream, out, 2), 7);
        CHECK_EQ(get_word(stream, out, 3), 0x80000000u);
        compute_override_info o;
        memset(&o, 0, sizeof o);
        o.struct_size = sizeof o;
        OK(compute_kernel_get_override(kernel, 0, &o, E));
        CHECK(o.kind == COMPUTE_OVERRIDE_U64 && o.has_default == 1 && o.default_integer == 0x123456789abcdefu);
        OK(compute_kernel_get_override(kernel, 1, &o, E));
        CHECK(o.kind == COMPUTE_OVERRIDE_I64 && o.has_default == 0 && o.default_integer == 0);
    }
    given[0].kind = 3;
    compute_kernel_desc desc = kernel_desc(source, "f");
    desc.constants = given;
    desc.constant_count = 1;
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_kernel_create(device, &desc, &kernel, E));
}

TEST(kt_19_override_constants_set_sizes_and_bad_ones_are_refused)
{
    set_up();
    const char *source = "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\noverride N: u32 = 4u;\nvar<workgroup> w: array<u32, N>;\n"
        "@compute @workgroup_size(N) fn f(@builtin(local_invocation_index) i: u32) { w[i] = i + 1u; workgroupBarrier();\n"
        "  if i == 0u { var s = 0u; for (var n = 0u; n < N; n += 1u) { s += w[n]; } O[0] = s; O[1] = N; } }";
    static const struct { const char *name; double value; int good; } tries[] = {
        { "N", 32, 1 }, { "N", 0, 0 }, { "N", 1.5, 0 }, { "N", -1, 0 }, { "N", 4294967296.0, 0 }, { "M", 3, 0 } };
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        compute_constant constant = { tries[i].name, COMPUTE_NUL_TERMINATED, tries[i].value, COMPUTE_CONSTANT_VALUE, 0 };
        compute_kernel_desc desc = kernel_desc(source, "sized");
        compute_kernel kernel = NULL;
        desc.constants = &constant;
        desc.constant_count = 1;
        compute_status status = compute_kernel_create(device, &desc, &kernel, E);
        if (!tries[i].good) {
            CHECK(status < 0 && kernel == NULL);
            continue;
        }
        CHECK_EQ(status, COMPUTE_OK);
        OK(launch_grid(kernel, 1, 1, 1, out));
        CHECK_EQ(get_word(stream, out, 0), 528);
        CHECK_EQ(get_word(stream, out, 1), 32);
    }
}

/* ---- L6 ---- */

TEST(l6_a_kernel_compiles_in_the_background_and_can_be_waited_for)
{
    set_up();
    compute_kernel_desc desc = kernel_desc(IO "@compute @workgroup_size(1) fn later() { O[0] = I[0] * 6u; }", "later");
    desc.compile = COMPUTE_COMPILE_LAZY;
    compute_kernel lazy = make_kernel_from(device, &desc);
    CHECK_EQ(compute_kernel_poll(lazy, E), COMPUTE_NOT_READY);
    desc = kernel_desc(IO "@compute @workgroup_size(1) fn later() { O[0] = I[0] * 7u; }", "later");
    desc.compile = COMPUTE_COMPILE_BACKGROUND;
    compute_kernel soon = make_kernel_from(device, &desc);
    OK(compute_kernel_wait(soon, 60000000000u, E));
    OK(compute_kernel_poll(soon, E));
    OK(compute_kernel_wait(lazy, COMPUTE_FOREVER, E));
    OK(compute_kernel_poll(lazy, E));
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc launch = launch_desc(soon, 1, 1, 1, bindings, 2);
    OK(compute_stream_launch(stream, &launch, E));
    CHECK_EQ(get_word(stream, out, 0), 49);
}

/* ---- L12 ---- */

TEST(l12_workgroups_are_spread_within_the_limits_exactly_or_with_idle_ones)
{
    set_up();
    uint32_t grid[3];
    uint64_t idle;
    OK(compute_device_spread_workgroups(device, 0, 1, grid, &idle, E));
    CHECK(grid[0] == 0 && idle == 0);
    uint64_t many = (uint64_t)info.max_grid[0] * 3 + 1;
    OK(compute_device_spread_workgroups(device, many, 0, grid, &idle, E));
    CHECK_EQ((uint64_t)grid[0] * grid[1] * grid[2], many + idle);
    OK(compute_device_spread_workgroups(device, (uint64_t)info.max_grid[0] * 6, 1, grid, &idle, E));
    CHECK(grid[0] == info.max_grid[0] && grid[1] == 6 && grid[2] == 1 && idle == 0);
    /* The largest prime of 64 bits. */
    IS(COMPUTE_ERROR_LIMIT, compute_device_spread_workgroups(device, UINT64_C(18446744073709551557), 1, grid, &idle, E));
    CHECK(grid[0] == 0 && grid[1] == 0 && grid[2] == 0 && idle == 0);
}

TEST(l12_a_device_tells_good_workgroup_sizes_vector_widths_and_features)
{
    set_up();
    uint32_t size, widths[8];
    size_t count;
    OK(compute_device_get_workgroup_size(device, UINT64_MAX, &size, E));
    CHECK(size <= info.max_workgroup_size[0] && size % info.subgroup_max == 0);
    OK(compute_device_get_vector_widths(device, 4, widths, 8, &count, E));
    CHECK(count >= 1 && widths[count - 1] == 1 && widths[0] * 4 == info.load_width);
    CHECK_EQ(compute_device_get_vector_widths(device, 1, widths, 1, &count, E), COMPUTE_INCOMPLETE);
    CHECK(count > 1 && widths[0] == info.load_width);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(l1_dl_02_a_grid_with_a_zero_is_no_work);
    RUN(l1_a_grid_with_a_zero_claims_nothing_and_releases_nothing);
    RUN(dl_02_every_invocation_knows_its_place_in_a_grid_of_three_axes);
    RUN(l2_a_grid_is_read_from_memory_after_the_work_before_it);
    RUN(l2_workgroups_of_a_grid_from_memory_are_those_of_one_that_is_known);
    RUN(l2_g5_a_replay_reads_the_counts_that_are_there_then_and_tells_those_above_a_limit);
    RUN(l2_a_zero_in_an_indirect_grid_is_no_work);
    RUN(l2_an_indirect_grid_above_a_limit_runs_nothing_and_is_reported);
    RUN(l2_an_indirect_view_that_is_misaligned_or_of_a_wrong_size_is_refused);
    RUN(l3_dl_01_many_groups_all_run_or_the_launch_is_refused_with_axis_request_and_limit);
    RUN(dl_01_a_grid_above_the_limit_is_refused_on_every_axis);
    RUN(l3_dl_03_a_workgroup_above_the_limit_is_refused_at_creation_with_both_numbers);
    RUN(dl_06_workgroups_of_exactly_the_limit_run);
    RUN(l12_subgroups_are_of_the_sizes_that_the_device_reports);
    RUN(dl_06_workgroup_memory_of_exactly_the_limit_works_and_more_is_refused);
    RUN(dl_06_an_immediate_block_of_exactly_the_limit_arrives_and_one_word_more_is_refused);
    RUN(dl_06_a_uniform_block_of_exactly_the_limit_arrives_inline_and_by_view_and_more_is_refused);
    RUN(dl_06_mem_01_a_binding_of_exactly_the_limit_reaches_its_last_word_and_one_word_more_is_refused);
    RUN(dl_05_as_many_bindings_as_the_limit_says_work_and_one_more_is_refused);
    RUN(l3_bindings_that_do_not_match_the_kernel_are_refused);
    RUN(l3_a_misaligned_or_overlong_view_is_refused);
    RUN(l4_inline_bytes_and_immediates_reach_the_kernel_by_value);
    RUN(l4_a_uniform_can_be_a_view_or_inline_bytes);
    RUN(l5_checked_reads_out_of_range_give_zero_and_writes_are_dropped);
    RUN(l5_the_length_of_an_array_is_that_of_its_view);
    RUN(l6_an_unknown_mode_is_refused);
    RUN(l6_a_kernel_compiles_in_the_background_and_can_be_waited_for);
    RUN(l12_workgroups_are_spread_within_the_limits_exactly_or_with_idle_ones);
    RUN(l12_a_device_tells_good_workgroup_sizes_vector_widths_and_features);
    RUN(l8_dl_09_twenty_thousand_dependent_launches_run_in_order);
    RUN(dl_09_two_buffers_hand_a_value_back_and_forth);
    RUN(l8_work_on_one_stream_waits_for_the_other_streams_use_of_the_buffer);
    RUN(l8_memory_that_is_released_while_in_use_is_not_used_again_before_the_use_is_over);
    RUN(l9_two_read_bindings_may_overlap_and_a_written_one_may_not);
    RUN(l9_an_indirect_grid_counts_as_read);
    RUN(l9_a_copy_whose_ranges_overlap_is_refused);
    RUN(l10_a_kernel_tells_what_it_is_before_it_runs);
    RUN(l10_override_constants_of_64_bits_keep_every_bit);
    RUN(kt_19_override_constants_set_sizes_and_bad_ones_are_refused);
    return finish();
}
