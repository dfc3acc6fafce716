/* What graphs cost: replays on the cpu device per node, independent nodes beside the same in a chain, captures beside plain launches, and replays beside plain
 * launches on a device of your choice. Medians, and ratios within one run.
 *
 *     graphs [RUNS] [BACKEND]     (default 15, cpu; e.g. `graphs 15 wgpu`)
 *
 * Absolute numbers belong to the machine that they were taken on; compare ratios. */
#define _GNU_SOURCE
#include "bench.h"

enum { NODES = 1000, PARALLEL = 64 };

/* One workgroup that does next to nothing, and one that is busy for a while. */
static const char TINY[] =
    "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    "@compute @workgroup_size(1) fn tiny() { O[0] = I[0] + 1u; }\n";
static const char BUSY[] =
    "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    "@compute @workgroup_size(1) fn busy() { var x = I[0]; for (var n = 0u; n < 240000u; n += 1u) { x = x * 1664525u + 1013904223u; } O[0] = x; }\n";

static compute_device device;
static compute_stream stream;

static compute_kernel make_kernel(const char *source)
{
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.source = source;
    desc.source_length = strlen(source);
    CHECK(compute_kernel_create(device, &desc, &kernel, &error));
    return kernel;
}
static compute_buffer make_buffer(uint64_t size)
{
    compute_buffer buffer = NULL;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    CHECK(compute_buffer_create(device, &desc, &buffer, &error));
    compute_view view = { buffer, 0, COMPUTE_WHOLE };
    CHECK(compute_stream_fill(stream, &view, "", 1, &error));
    return buffer;
}
static void wait_for_all(void) { CHECK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, &error)); }

/* A launch from one slot of 256 bytes to another. */
struct request {
    compute_binding bindings[2];
    compute_launch_desc desc;
};
static void set_request(struct request *request, compute_kernel kernel, compute_buffer from, uint64_t from_slot, compute_buffer to, uint64_t to_slot)
{
    memset(request, 0, sizeof *request);
    compute_launch_desc_init(&request->desc);
    request->bindings[0].buffer = from;
    request->bindings[0].offset = 256 * from_slot;
    request->bindings[0].size = 256;
    request->bindings[1].slot = 1;
    request->bindings[1].buffer = to;
    request->bindings[1].offset = 256 * to_slot;
    request->bindings[1].size = 256;
    request->desc.kernel = kernel;
    request->desc.grid[0] = request->desc.grid[1] = request->desc.grid[2] = 1;
    request->desc.bindings = request->bindings;
    request->desc.binding_count = 2;
}

/* `count` launches of a kernel: a chain between two slots, or each from a slot of its own to another. */
static compute_graph make_graph(compute_kernel kernel, int count, int chain)
{
    compute_buffer from = make_buffer(256u * (uint64_t)count), to = make_buffer(256u * (uint64_t)count);
    compute_graph_builder builder = NULL;
    compute_graph graph = NULL;
    CHECK(compute_graph_builder_create(device, NULL, &builder, &error));
    for (int i = 0; i < count; i++) {
        struct request request;
        if (chain) set_request(&request, kernel, i % 2 ? to : from, 0, i % 2 ? from : to, 0);
        else set_request(&request, kernel, from, (uint64_t)i, to, (uint64_t)i);
        CHECK(compute_graph_builder_add_launch(builder, &request.desc, NULL, 0, NULL, &error));
    }
    CHECK(compute_graph_builder_instantiate(builder, &graph, &error));
    compute_graph_builder_release(builder);
    return graph;
}

/* Nanoseconds, medians, and the wall clock of the fastest run. */
struct cost {
    double wall;
    double processor;
    double fastest;
};

/* Of one replay, from the call to its end. `median` sorts. */
static struct cost replay_time(compute_graph graph)
{
    double wall[MAX_RUNS], processor[MAX_RUNS];
    for (int run = -1; run < runs; run++) {
        double start = now(), busy = processor_time();
        CHECK(compute_stream_replay(stream, graph, &error));
        wait_for_all();
        if (run < 0) continue;
        wall[run] = now() - start;
        processor[run] = processor_time() - busy;
    }
    struct cost cost = { median(wall), median(processor), wall[0] };
    return cost;
}

/* The same launches one by one. */
static struct cost launch_time(compute_kernel kernel, int count)
{
    compute_buffer one = make_buffer(256), two = make_buffer(256);
    struct request requests[2];
    set_request(&requests[0], kernel, one, 0, two, 0);
    set_request(&requests[1], kernel, two, 0, one, 0);
    double wall[MAX_RUNS], processor[MAX_RUNS];
    for (int run = -1; run < runs; run++) {
        wait_for_all();
        double start = now(), busy = processor_time();
        for (int i = 0; i < count; i++) CHECK(compute_stream_launch(stream, &requests[i % 2].desc, &error));
        wait_for_all();
        if (run < 0) continue;
        wall[run] = now() - start;
        processor[run] = processor_time() - busy;
    }
    struct cost cost = { median(wall), median(processor), wall[0] };
    return cost;
}

static double capture_time(compute_kernel kernel, int count)
{
    compute_buffer one = make_buffer(256), two = make_buffer(256);
    struct request requests[2];
    set_request(&requests[0], kernel, one, 0, two, 0);
    set_request(&requests[1], kernel, two, 0, one, 0);
    double values[MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        uint64_t capture = 0;
        compute_graph graph = NULL;
        wait_for_all();
        double start = now();
        CHECK(compute_stream_prepare_capture(stream, &error));
        CHECK(compute_stream_begin_capture(stream, NULL, &capture, &error));
        for (int i = 0; i < count; i++) CHECK(compute_stream_launch(stream, &requests[i % 2].desc, &error));
        CHECK(compute_stream_end_capture(stream, capture, &graph, &error));
        values[run] = now() - start;
        compute_graph_release(graph);
    }
    return median(values);
}

int main(int argc, char **argv)
{
    if (argc > 1) runs = atoi(argv[1]);
    if (runs < 1 || runs > MAX_RUNS) return 2;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = argc > 2 ? argv[2] : "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    CHECK(compute_device_open(&desc, &device, &error));
    CHECK(compute_stream_create(device, NULL, &stream, &error));
    compute_kernel tiny = make_kernel(TINY), busy = make_kernel(BUSY);

    struct cost launches = launch_time(tiny, NODES), chain = replay_time(make_graph(tiny, NODES, 1)), apart = replay_time(make_graph(tiny, NODES, 0));
    printf("%s, %d tiny launches: %.0f ns each (%.0f ns of processor time)\n", desc.backend, NODES, launches.wall / NODES, launches.processor / NODES);
    printf("%s, %d tiny nodes in a chain: %.0f ns each (%.0f), %.2f of a launch; cpu target: 300 ns\n", desc.backend, NODES, chain.wall / NODES, chain.processor / NODES,
           chain.processor / launches.processor);
    printf("%s, %d tiny nodes, independent: %.0f ns each (%.0f)\n", desc.backend, NODES, apart.wall / NODES, apart.processor / NODES);
    double captured = capture_time(tiny, NODES);
    printf("%s: captured and made ready, %.0f ns a node, %.2f of a launch\n", desc.backend, captured / NODES, captured / launches.wall);
    struct cost one_by_one = replay_time(make_graph(busy, PARALLEL, 1)), at_once = replay_time(make_graph(busy, PARALLEL, 0));
    printf("%s, %d busy nodes of one workgroup: %.2f ms in a chain, %.2f ms independent, %.2f times faster; cpu target on two cores: 1.5\n", desc.backend, PARALLEL,
           one_by_one.wall / 1e6, at_once.wall / 1e6, one_by_one.wall / at_once.wall);
    printf("%s, the fastest run of each: %.2f ms in a chain, %.2f ms independent, %.2f times faster\n", desc.backend, one_by_one.fastest / 1e6, at_once.fastest / 1e6,
           one_by_one.fastest / at_once.fastest);
    compute_device_release(device);
    return 0;
}
