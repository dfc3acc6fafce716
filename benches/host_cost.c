/* What the library itself costs on the host: medians and ratios, each beside its target. Launches are timed on the `null` device, which accepts work and does
 * none of it, so that what is left is the library. Everything is measured twice, in two processes: free to use every core, and pinned to one.
 *
 *     host_cost [RUNS]        (default 15, the median of which is printed)
 *
 * Absolute numbers belong to the machine that they were taken on; compare ratios. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "bench.h"

enum { MAX_THREADS = 8, LAUNCHES = 20000, LOOKUPS = 200000, WAITS = 2000, SMALL = 4096, LARGE = 64 << 20, LIVE = 1000000 };

/* Everything that is measured: nanoseconds per call, launches per second, GiB per second. */
enum figure_name {
    LAUNCH, LOOKUP, RATE, LAUNCH_FEW = RATE + MAX_THREADS, LAUNCH_MANY, ALLOCATE_FEW, ALLOCATE_MANY, LAUNCH_WAIT, SMALL_CYCLE, UPLOAD, READBACK, MEMCPY_FRESH, MEMCPY, FIGURES
};

/* A figure of several runs: the median, and the best, which on a machine with other work tells what the median would be without. */
struct figure {
    double median;
    double best;
};
static struct figure cost(double *values) /* the less the better */
{
    double middle = median(values);
    struct figure figure = { middle, values[0] };
    return figure;
}
static struct figure rate(double *values) /* the more the better */
{
    struct figure figure = cost(values);
    figure.best = values[runs - 1];
    return figure;
}

static const char SOURCE[] =
    "@group(0) @binding(0) var<storage, read> a: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read> b: array<u32>;\n"
    "@group(0) @binding(2) var<storage, read> c: array<u32>;\n"
    "@group(0) @binding(3) var<storage, read_write> d: array<u32>;\n"
    "@compute @workgroup_size(64) fn add3(@builtin(global_invocation_id) id: vec3<u32>) {\n"
    "    if id.x < arrayLength(&d) { d[id.x] = a[id.x] + b[id.x] + c[id.x]; }\n"
    "}\n";

static compute_device open_device(const char *backend)
{
    compute_device device = NULL;
    compute_device_desc desc;
    compute_device_desc_init(&desc);
    desc.backend = backend;
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    CHECK(compute_device_open(&desc, &device, &error));
    return device;
}

static compute_kernel make_kernel(compute_device device)
{
    compute_kernel kernel = NULL;
    compute_kernel_desc desc;
    compute_kernel_desc_init(&desc);
    desc.language = COMPUTE_LANGUAGE_WGSL;
    desc.source = SOURCE;
    desc.source_length = sizeof SOURCE - 1;
    CHECK(compute_kernel_create(device, &desc, &kernel, &error));
    return kernel;
}

static compute_buffer make_stream_buffer(compute_device device, compute_stream stream, uint64_t size)
{
    compute_buffer buffer = NULL;
    compute_buffer_desc desc;
    compute_buffer_desc_init(&desc);
    desc.size = size;
    desc.stream = stream;
    CHECK(compute_buffer_create(device, &desc, &buffer, &error));
    return buffer;
}
static compute_buffer make_buffer(compute_device device, uint64_t size) { return make_stream_buffer(device, NULL, size); }

/* One stream with a launch of four bindings, ready to be repeated. */
struct lane {
    compute_stream stream;
    compute_binding bindings[4];
    compute_launch_desc launch;
};

static void make_lane(struct lane *lane, compute_device device, compute_kernel kernel)
{
    uint32_t zero = 0;
    memset(lane->bindings, 0, sizeof lane->bindings);
    CHECK(compute_stream_create(device, NULL, &lane->stream, &error));
    for (uint32_t i = 0; i < 4; i++) {
        lane->bindings[i].slot = i;
        lane->bindings[i].buffer = make_buffer(device, 256);
        lane->bindings[i].size = COMPUTE_WHOLE;
        compute_view view = { lane->bindings[i].buffer, 0, COMPUTE_WHOLE };
        CHECK(compute_stream_fill(lane->stream, &view, &zero, sizeof zero, &error));
    }
    compute_launch_desc_init(&lane->launch);
    lane->launch.kernel = kernel;
    lane->launch.grid[0] = lane->launch.grid[1] = lane->launch.grid[2] = 1;
    lane->launch.bindings = lane->bindings;
    lane->launch.binding_count = 4;
}

static void drain(const struct lane *lane) { CHECK(compute_stream_sync(lane->stream, NULL, 0, 0, COMPUTE_FOREVER, &error)); }

static struct figure launch_cost(const struct lane *lane)
{
    double times[MAX_RUNS];
    for (int run = -1; run < runs; run++) { /* the first one warms up */
        double start = now();
        for (int i = 0; i < LAUNCHES; i++) CHECK(compute_stream_launch(lane->stream, &lane->launch, &error));
        if (run >= 0) times[run] = (now() - start) / LAUNCHES;
        drain(lane);
    }
    return cost(times);
}

/* A buffer of a stream's pools, made and released. */
static struct figure allocate_cost(compute_device device, const struct lane *lane)
{
    double times[MAX_RUNS];
    compute_buffer_desc desc;
    compute_buffer_desc_init(&desc);
    desc.size = 1000;
    desc.stream = lane->stream;
    for (int run = -1; run < runs; run++) {
        double start = now();
        for (int i = 0; i < LAUNCHES; i++) {
            compute_buffer buffer;
            CHECK(compute_buffer_create(device, &desc, &buffer, &error));
            compute_buffer_release(buffer);
        }
        if (run >= 0) times[run] = (now() - start) / LAUNCHES;
    }
    return cost(times);
}

static struct figure lookup_cost(const struct lane *lane)
{
    double times[MAX_RUNS];
    uint64_t size, sum = 0;
    for (int run = -1; run < runs; run++) {
        double start = now();
        for (int i = 0; i < LOOKUPS; i++) {
            CHECK(compute_buffer_get_size(lane->bindings[i & 3].buffer, &size, &error));
            sum += size;
        }
        if (run >= 0) times[run] = (now() - start) / LOOKUPS;
    }
    if (sum != 256u * LOOKUPS * (uint64_t)(runs + 1)) stop("compute_buffer_get_size", COMPUTE_ERROR_INTERNAL, NULL);
    return cost(times);
}

static pthread_barrier_t line;
static void *launch_in_parallel(void *lane)
{
    pthread_barrier_wait(&line);
    const struct lane *mine = lane;
    for (int i = 0; i < LAUNCHES; i++) CHECK(compute_stream_launch(mine->stream, &mine->launch, &error));
    return NULL;
}

/* Launches per second in all, from `count` threads, each on a stream and buffers of its own with the same kernel. */
static struct figure launch_rate(struct lane *lanes, int count)
{
    double rates[MAX_RUNS];
    pthread_t threads[MAX_THREADS];
    for (int run = -1; run < runs; run++) {
        pthread_barrier_init(&line, NULL, (unsigned)count + 1);
        for (int i = 0; i < count; i++) {
            if (pthread_create(&threads[i], NULL, launch_in_parallel, &lanes[i])) stop("pthread_create", 0, NULL);
        }
        pthread_barrier_wait(&line);
        double start = now();
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
        if (run >= 0) rates[run] = 1e9 * count * LAUNCHES / (now() - start);
        pthread_barrier_destroy(&line);
        for (int i = 0; i < count; i++) drain(&lanes[i]);
    }
    return rate(rates);
}

static void measure_launches(struct figure *figures)
{
    static struct lane lanes[MAX_THREADS];
    compute_device device = open_device("null");
    compute_kernel kernel = make_kernel(device);
    for (int i = 0; i < MAX_THREADS; i++) make_lane(&lanes[i], device, kernel);
    figures[LAUNCH] = launch_cost(&lanes[0]);
    figures[LOOKUP] = lookup_cost(&lanes[0]);
    for (int threads = 1; threads <= MAX_THREADS; threads++) figures[RATE + threads - 1] = launch_rate(lanes, threads);

    compute_device crowded = open_device("null"); /* a device of its own: ten buffers, then a million */
    struct lane lane;
    make_lane(&lane, crowded, make_kernel(crowded));
    compute_buffer *live = calloc(LIVE, sizeof *live);
    if (!live) stop("calloc", 0, NULL);
    for (int i = 0; i < 6; i++) live[i] = make_buffer(crowded, 64);
    figures[LAUNCH_FEW] = launch_cost(&lane);
    figures[ALLOCATE_FEW] = allocate_cost(crowded, &lane);
    for (int i = 6; i < LIVE; i++) live[i] = make_stream_buffer(crowded, lane.stream, 64);
    figures[LAUNCH_MANY] = launch_cost(&lane);
    figures[ALLOCATE_MANY] = allocate_cost(crowded, &lane);
    for (int i = 0; i < LIVE; i++) compute_buffer_release(live[i]);
    free(live);
    compute_device_release(crowded);
    compute_device_release(device);
}

static void measure_waits(struct figure *figures)
{
    double times[MAX_RUNS];
    static unsigned char bytes[SMALL], back[SMALL];
    compute_device device = open_device("cpu");
    struct lane lane;
    make_lane(&lane, device, make_kernel(device));
    for (int run = -1; run < runs; run++) {
        double start = now();
        for (int i = 0; i < WAITS; i++) {
            CHECK(compute_stream_launch(lane.stream, &lane.launch, &error));
            drain(&lane);
        }
        if (run >= 0) times[run] = (now() - start) / WAITS;
    }
    figures[LAUNCH_WAIT] = cost(times);
    for (int run = -1; run < runs; run++) {
        double start = now();
        for (int i = 0; i < WAITS; i++) {
            compute_view view = { make_buffer(device, SMALL), 0, COMPUTE_WHOLE };
            bytes[0] = (unsigned char)i;
            CHECK(compute_stream_write(lane.stream, &view, bytes, SMALL, &error));
            CHECK(compute_stream_read(lane.stream, &view, back, SMALL, &error));
            compute_buffer_release(view.buffer);
            if (back[0] != (unsigned char)i) stop("reading back", COMPUTE_ERROR_INTERNAL, NULL);
        }
        if (run >= 0) times[run] = (now() - start) / WAITS;
    }
    figures[SMALL_CYCLE] = cost(times);
    compute_device_release(device);
}

static double gib_per_second(double ns) { return LARGE / 1073741824.0 / (ns * 1e-9); }

static void measure_transfers(struct figure *figures)
{
    double up[MAX_RUNS], down[MAX_RUNS], fresh[MAX_RUNS], copy[MAX_RUNS];
    unsigned char *bytes = malloc(LARGE), *back = malloc(LARGE);
    compute_device device = open_device("cpu");
    compute_stream stream = NULL;
    compute_view view = { make_buffer(device, LARGE), 0, COMPUTE_WHOLE };
    CHECK(compute_stream_create(device, NULL, &stream, &error));
    if (!bytes || !back) stop("malloc", 0, NULL);
    memset(back, 1, LARGE);
    for (int run = -1; run < runs; run++) {
        memset(bytes, run + 2, LARGE);
        double start = now();
        CHECK(compute_stream_write(stream, &view, bytes, LARGE, &error));
        CHECK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, &error));
        double middle = now();
        CHECK(compute_stream_read(stream, &view, back, LARGE, &error));
        double end = now();
        if (memcmp(bytes, back, LARGE) != 0) stop("reading back", COMPUTE_ERROR_INTERNAL, NULL);
        double warm = now();
        memcpy(back, bytes, LARGE);
        double cold = now();
        unsigned char *new_pages = malloc(LARGE);
        if (!new_pages) stop("malloc", 0, NULL);
        memcpy(new_pages, bytes, LARGE);
        double done = now();
        free(new_pages);
        if (run < 0) continue;
        up[run] = gib_per_second(middle - start);
        down[run] = gib_per_second(end - middle);
        copy[run] = gib_per_second(cold - warm);
        fresh[run] = gib_per_second(done - cold);
    }
    figures[UPLOAD] = rate(up);
    figures[READBACK] = rate(down);
    figures[MEMCPY] = rate(copy);
    figures[MEMCPY_FRESH] = rate(fresh);
    free(bytes);
    free(back);
    compute_device_release(device);
}

/* Measures everything in a process of its own. Pinning comes before the library is touched, so that its threads are pinned too. */
static int measure(struct figure *figures, int pinned)
{
    int channel[2], status = 0;
    if (pipe(channel) != 0) return 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (pinned) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(sched_getcpu(), &one);
            if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(1);
        }
        struct figure own[FIGURES] = { { 0, 0 } };
        measure_launches(own);
        measure_waits(own);
        measure_transfers(own);
        _exit(write(channel[1], own, sizeof own) != (ssize_t)sizeof own);
    }
    close(channel[1]);
    int complete = read(channel[0], figures, sizeof(struct figure) * FIGURES) == (ssize_t)(sizeof(struct figure) * FIGURES);
    close(channel[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && complete;
}

static int missed;
static const char *verdict(int passed)
{
    missed += !passed;
    return passed ? "pass" : "MISS";
}

static void print_cost(const char *what, struct figure free_cores, double target, struct figure pinned)
{
    char limit[32] = "-";
    double times = pinned.median / free_cores.median;
    if (target > 0) snprintf(limit, sizeof limit, "%.0f ns", target);
    printf("%-46s %10s %10.0f %10.0f %6s %10.0f %7.2f %6s\n", what, limit, free_cores.median, free_cores.best,
        target > 0 ? verdict(free_cores.median <= target) : "-", pinned.median, times, verdict(times <= 2.0));
}

static void print_rates(const struct figure *figures, long cores)
{
    printf("\n%-46s %10s %10s %10s %6s %10s\n", "launches, each thread on a stream of its own", "target", "million/s", "best", "", "to one");
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        struct figure all = figures[RATE + threads - 1];
        double ratio = all.median / figures[RATE].median;
        const char *judged = threads < MAX_THREADS ? "-" : cores < MAX_THREADS ? "n/a" : verdict(ratio >= 5.0);
        char what[32];
        snprintf(what, sizeof what, "%d thread%s", threads, threads == 1 ? "" : "s");
        printf("%-46s %10s %10.2f %10.2f %6s %10.2f\n", what, threads == MAX_THREADS ? "x5.00" : "-", 1e-6 * all.median, 1e-6 * all.best, judged, ratio);
    }
    if (cores < MAX_THREADS) printf("(n/a: %ld cores are too few to tell)\n", cores);
}

static void print_transfers(const struct figure *figures)
{
    static const struct { const char *what; enum figure_name figure; } rows[] = {
        { "upload", UPLOAD }, { "readback", READBACK }, { "memcpy, warm", MEMCPY }, { "memcpy into fresh pages", MEMCPY_FRESH } };
    printf("\n%-46s %10s %10s %10s %6s %10s\n", "64 MiB (cpu)", "", "GiB/s", "best", "", "to memcpy");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct figure figure = figures[rows[i].figure];
        printf("%-46s %10s %10.2f %10.2f %6s %10.2f\n", rows[i].what, "-", figure.median, figure.best, "-", figure.median / figures[MEMCPY].median);
    }
}

int main(int argc, char **argv)
{
    struct figure free_cores[FIGURES], pinned[FIGURES];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (argc > 1) runs = atoi(argv[1]);
    if (runs < 1 || runs > MAX_RUNS) runs = 15;
    if (!measure(free_cores, 0) || !measure(pinned, 1)) {
        fprintf(stderr, "host_cost: a measurement failed\n");
        return 1;
    }
    printf("libcompute %s, %ld cores, medians of %d\n\n", compute_version(), cores, runs);
    printf("%-46s %10s %10s %10s %6s %10s %7s %6s\n", "cost of a call", "target", "ns", "best", "", "pinned", "ratio", "<= 2");
    print_cost("launch, four bindings (null device)", free_cores[LAUNCH], 300, pinned[LAUNCH]);
    print_cost("handle look-up (compute_buffer_get_size)", free_cores[LOOKUP], 30, pinned[LOOKUP]);
    print_cost("one workgroup launched and waited for (cpu)", free_cores[LAUNCH_WAIT], 5000, pinned[LAUNCH_WAIT]);
    print_cost("create, write, read, release 4 KiB (cpu)", free_cores[SMALL_CYCLE], 0, pinned[SMALL_CYCLE]);
    print_cost("launch, 10 live buffers (null device)", free_cores[LAUNCH_FEW], 0, pinned[LAUNCH_FEW]);
    print_cost("launch, 1,000,000 live buffers (null device)", free_cores[LAUNCH_MANY], 0, pinned[LAUNCH_MANY]);
    double crowded = free_cores[LAUNCH_MANY].best / free_cores[LAUNCH_FEW].best;
    printf("%-46s %10s %10.2f %10s %6s\n", "  the second to the first (of the best)", "x1.20", crowded, "", verdict(crowded <= 1.2));
    print_cost("buffer of a stream's pools made and released", free_cores[ALLOCATE_FEW], 100, pinned[ALLOCATE_FEW]);
    print_cost("  the same, 1,000,000 live buffers", free_cores[ALLOCATE_MANY], 100, pinned[ALLOCATE_MANY]);
    print_rates(free_cores, cores);
    print_transfers(free_cores);
    printf("\n%s\n", missed ? "host_cost: targets missed" : "host_cost: every target met");
    return 0;
}
