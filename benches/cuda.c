/* What the library costs over CUDA's driver, through the C interface: launches, launches that are waited for, launches from eight threads, a graph of a thousand
 * launches, and copies, each beside the driver's own calls in the same process, in turns.
 *
 *     cuda_cost [RUNS]        (default 15, the median of which is printed)
 *
 * Needs an NVIDIA GPU; says so where there is none. The driver's declarations are here, so that no toolkit is needed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "bench.h"

enum { LAUNCHES = 20000, WAITS = 2000, NODES = 1000, THREADS = 8, SIZE = 256 << 20 };

/* The driver's pointers, of whatever kind. */
typedef void *object;

#define DRIVER(name, ...) static int (*name)(__VA_ARGS__)
DRIVER(cuInit, unsigned);
DRIVER(cuDevicePrimaryCtxRetain, object *, int);
DRIVER(cuCtxPushCurrent_v2, object);
DRIVER(cuStreamCreate, object *, unsigned);
DRIVER(cuStreamSynchronize, object);
DRIVER(cuMemAlloc_v2, uint64_t *, size_t);
DRIVER(cuMemcpyHtoD_v2, uint64_t, const void *, size_t);
DRIVER(cuMemcpyDtoH_v2, void *, uint64_t, size_t);
DRIVER(cuModuleLoadData, object *, const void *);
DRIVER(cuModuleGetFunction, object *, object, const char *);
DRIVER(cuLaunchKernel, object, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, object, void **, void **);
DRIVER(cuStreamBeginCapture_v2, object, int);
DRIVER(cuStreamEndCapture, object, object *);
DRIVER(cuGraphInstantiateWithFlags, object *, object, unsigned long long);
DRIVER(cuGraphLaunch, object, object);
DRIVER(cuGraphDestroy, object);
DRIVER(cuGraphExecDestroy, object);

static void driver(const char *call, int status)
{
    if (status == 0) return;
    fprintf(stderr, "%s: %d\n", call, status);
    _exit(1);
}
#define RAW(name, ...) driver(#name, name(__VA_ARGS__))

static int open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 0;
#define FIND(name) \
    if (!(*(void **)&name = dlsym(library, #name))) return 0
    FIND(cuInit);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuCtxPushCurrent_v2);
    FIND(cuStreamCreate);
    FIND(cuStreamSynchronize);
    FIND(cuMemAlloc_v2);
    FIND(cuMemcpyHtoD_v2);
    FIND(cuMemcpyDtoH_v2);
    FIND(cuModuleLoadData);
    FIND(cuModuleGetFunction);
    FIND(cuLaunchKernel);
    FIND(cuStreamBeginCapture_v2);
    FIND(cuStreamEndCapture);
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuGraphLaunch);
    FIND(cuGraphDestroy);
    FIND(cuGraphExecDestroy);
    return cuInit(0) == 0;
}

/* The same kernel for both. The driver compiles PTX for its device by itself. */
static const char TINY[] =
    "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    "@compute @workgroup_size(1) fn tiny() { O[0] = I[0] + 1u; }\n";
static const char TINY_PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry tiny(.param .u64 from, .param .u64 to)\n"
    "{\n"
    "  .reg .u64 %a, %b;\n  .reg .u32 %x;\n"
    "  ld.param.u64 %a, [from];\n  ld.param.u64 %b, [to];\n"
    "  ld.global.nc.u32 %x, [%a];\n  add.u32 %x, %x, 1;\n  st.global.u32 [%b], %x;\n  ret;\n"
    "}\n";

static compute_device device;
static compute_kernel kernel;
static object context, function;

/* What one thread launches with: ours and the driver's. */
struct lane {
    compute_stream stream;
    compute_buffer buffers[2];
    compute_binding bindings[2];
    compute_launch_desc desc;
    object raw;
    uint64_t addresses[2];
};

static void make_lane(struct lane *lane)
{
    memset(lane, 0, sizeof *lane);
    CHECK(compute_stream_create(device, NULL, &lane->stream, &error));
    RAW(cuStreamCreate, &lane->raw, 1);
    compute_launch_desc_init(&lane->desc);
    for (uint32_t i = 0; i < 2; i++) {
        compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
        desc.size = 256;
        CHECK(compute_buffer_create(device, &desc, &lane->buffers[i], &error));
        compute_view view = { lane->buffers[i], 0, COMPUTE_WHOLE };
        CHECK(compute_stream_fill(lane->stream, &view, "", 1, &error));
        lane->bindings[i].slot = i;
        lane->bindings[i].buffer = lane->buffers[i];
        lane->bindings[i].size = 256;
        RAW(cuMemAlloc_v2, &lane->addresses[i], 256);
    }
    lane->desc.kernel = kernel;
    lane->desc.grid[0] = lane->desc.grid[1] = lane->desc.grid[2] = 1;
    lane->desc.bindings = lane->bindings;
    lane->desc.binding_count = 2;
}

static void ours_wait(struct lane *lane) { CHECK(compute_stream_sync(lane->stream, NULL, 0, 0, COMPUTE_FOREVER, &error)); }
static void ours_launch(struct lane *lane) { CHECK(compute_stream_launch(lane->stream, &lane->desc, &error)); }
static void raw_wait(struct lane *lane) { RAW(cuStreamSynchronize, lane->raw); }
static void raw_launch(struct lane *lane)
{
    void *arguments[] = { &lane->addresses[0], &lane->addresses[1] };
    RAW(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, lane->raw, arguments, NULL);
}

/* Work is enqueued, then waited for; either counts, or only the first. */
struct work {
    void (*enqueue)(struct lane *lane);
    void (*wait)(struct lane *lane);
};
static double time_of(const struct work *work, struct lane *lane, int whole)
{
    double start = now();
    work->enqueue(lane);
    double enqueued = now();
    work->wait(lane);
    return (whole ? now() : enqueued) - start;
}

/* Ours and the driver's in turns: nanoseconds for each of `count`. */
static void compare(const char *what, struct work ours, struct work raw, struct lane *lane, int whole, double count, double most)
{
    double mine[MAX_RUNS], theirs[MAX_RUNS];
    for (int run = -1; run < runs; run++) {
        double a = time_of(&ours, lane, whole), b = time_of(&raw, lane, whole);
        if (run < 0) continue;
        mine[run] = a / count;
        theirs[run] = b / count;
    }
    double a = median(mine), b = median(theirs);
    printf("| %s | %.0f ns | %.0f ns | %.2f | at most %.2f | %s |\n", what, a, b, a / b, most, a / b <= most ? "met" : "missed");
}

static void ours_launches(struct lane *lane) { for (int i = 0; i < LAUNCHES; i++) ours_launch(lane); }
static void raw_launches(struct lane *lane) { for (int i = 0; i < LAUNCHES; i++) raw_launch(lane); }
static void ours_turns(struct lane *lane) { for (int i = 0; i < WAITS; i++) ours_launch(lane), ours_wait(lane); }
static void raw_turns(struct lane *lane) { for (int i = 0; i < WAITS; i++) raw_launch(lane), raw_wait(lane); }

static struct lane lanes[THREADS];
static void *ours_thread(void *lane) { ours_launches(lane); ours_wait(lane); return NULL; }
static void *raw_thread(void *lane) { RAW(cuCtxPushCurrent_v2, context); raw_launches(lane); raw_wait(lane); return NULL; }
static void together(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, body, &lanes[i])) stop("pthread_create", COMPUTE_ERROR_INTERNAL, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
static void ours_threads(struct lane *lane) { (void)lane; together(ours_thread); }
static void raw_threads(struct lane *lane) { (void)lane; together(raw_thread); }
static void nothing(struct lane *lane) { (void)lane; }

/* A graph of launches by capture. */
static compute_graph graph;
static object executable;
static double recorded[MAX_RUNS];
static void ours_capture(struct lane *lane)
{
    static int run;
    uint64_t capture = 0;
    if (graph) compute_graph_release(graph);
    CHECK(compute_stream_prepare_capture(lane->stream, &error));
    CHECK(compute_stream_begin_capture(lane->stream, NULL, &capture, &error));
    double start = now();
    for (int i = 0; i < NODES; i++) ours_launch(lane);
    recorded[run++ % runs] = now() - start;
    CHECK(compute_stream_end_capture(lane->stream, capture, &graph, &error));
}
static void raw_capture(struct lane *lane)
{
    object captured;
    if (executable) RAW(cuGraphExecDestroy, executable);
    RAW(cuStreamBeginCapture_v2, lane->raw, 1);
    for (int i = 0; i < NODES; i++) raw_launch(lane);
    RAW(cuStreamEndCapture, lane->raw, &captured);
    RAW(cuGraphInstantiateWithFlags, &executable, captured, 0);
    RAW(cuGraphDestroy, captured);
}
static void ours_replay(struct lane *lane) { CHECK(compute_stream_replay(lane->stream, graph, &error)); }
static void raw_replay(struct lane *lane) { RAW(cuGraphLaunch, executable, lane->raw); }

static char *bytes, *landed;
static compute_view large;
static uint64_t raw_large;
static void ours_write(struct lane *lane) { CHECK(compute_stream_write(lane->stream, &large, bytes, SIZE, &error)); }
static void raw_write(struct lane *lane) { (void)lane; RAW(cuMemcpyHtoD_v2, raw_large, bytes, SIZE); }
static void ours_read(struct lane *lane) { CHECK(compute_stream_read(lane->stream, &large, landed, SIZE, &error)); }
static void raw_read(struct lane *lane) { (void)lane; RAW(cuMemcpyDtoH_v2, landed, raw_large, SIZE); }

static void copies(struct lane *lane)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = SIZE;
    CHECK(compute_buffer_create(device, &desc, &large.buffer, &error));
    large.size = SIZE;
    RAW(cuMemAlloc_v2, &raw_large, SIZE);
    bytes = malloc(SIZE);
    landed = malloc(SIZE);
    if (!bytes || !landed) stop("malloc", COMPUTE_ERROR_OUT_OF_MEMORY, NULL);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i ^ i >> 8);
    memset(landed, 1, SIZE);
    compare("256 MiB written from ordinary memory, a megabyte", (struct work){ ours_write, ours_wait }, (struct work){ raw_write, raw_wait }, lane, 1, SIZE / 1e6, 1 / 3.0);
    compare("256 MiB read into ordinary memory, a megabyte", (struct work){ ours_read, ours_wait }, (struct work){ raw_read, raw_wait }, lane, 1, SIZE / 1e6, 1);
    ours_read(lane);
    if (memcmp(bytes, landed, SIZE) != 0) stop("what was read is not what was written", COMPUTE_ERROR_INTERNAL, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) runs = atoi(argv[1]);
    if (runs < 1 || runs > MAX_RUNS) return 2;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    if (!open_driver() || compute_device_open(&desc, &device, NULL) != COMPUTE_OK) {
        printf("NOT MEASURED: no device of CUDA's\n");
        return 0;
    }
    object module;
    RAW(cuDevicePrimaryCtxRetain, &context, 0);
    RAW(cuCtxPushCurrent_v2, context);
    RAW(cuModuleLoadData, &module, TINY_PTX);
    RAW(cuModuleGetFunction, &function, module, "tiny");
    compute_kernel_desc source = COMPUTE_KERNEL_DESC_INIT;
    source.source = TINY;
    source.source_length = sizeof TINY - 1;
    CHECK(compute_kernel_create(device, &source, &kernel, &error));
    for (int i = 0; i < THREADS; i++) make_lane(&lanes[i]);

    printf("| through the C interface | libcompute | driver | ratio | target | |\n|---|---|---|---|---|---|\n");
    struct work ours = { ours_launches, ours_wait }, raw = { raw_launches, raw_wait };
    compare("a launch, enqueued", ours, raw, &lanes[0], 0, LAUNCHES, 1.15);
    ours.enqueue = ours_turns, raw.enqueue = raw_turns;
    compare("a launch, waited for", ours, raw, &lanes[0], 1, WAITS, 1.15);
    compare("launches of 8 threads on 8 streams", (struct work){ ours_threads, nothing }, (struct work){ raw_threads, nothing }, &lanes[0], 1, LAUNCHES * THREADS, 1 / 0.85);
    ours.enqueue = ours_capture, raw.enqueue = raw_capture;
    compare("capture of 1000 launches until the graph is ready, a launch", ours, raw, &lanes[0], 0, NODES, 1.3);
    printf("| of it, until all launches are recorded | %.0f ns | | | | |\n", median(recorded) / NODES);
    ours.enqueue = ours_replay, raw.enqueue = raw_replay;
    compare("its replay, waited for, a launch", ours, raw, &lanes[0], 1, NODES, 1.02);
    compare("its replay, enqueued, in all", ours, raw, &lanes[0], 0, 1, 1.15);
    copies(&lanes[0]);
    compute_device_release(device);
    return 0;
}
