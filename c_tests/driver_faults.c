/* T2, T12, T13 and F1 at every call of a driver: some of everything that a program does is run on the hip device over the stand-in for AMD's driver
 * (backends/hip/test_driver), once to count the calls that the driver gets, and then again for each of them and each way in which it can fail. Whatever
 * fails, every read gives the right bytes or an error, never other bytes; nothing hangs, and nothing of the driver's is left behind.
 *
 *     driver_faults                     the first call of each kind, and a part of all by commit (SHARD of SHARDS, in the environment)
 *     driver_faults WAY [NAME CALL]     all of one way (0 to 3), or one call of it: the n-th with that name
 */
#include <dlfcn.h>

#include "rules.h"

enum { WORDS = 4096, BYTES = 4 * WORDS, BIG_WORDS = 1 << 20, ROW = 64, SENTINEL = 0xee, SECONDS_PER_POINT = 40, MOST_KINDS = 128, MOST_OF_A_KIND = 24 };
enum { A, B, C, D, F, G, H, K, M, N, V, GRID, X, BUFFERS };

#define SUM IO "@group(0) @binding(2) var<storage, read> J: array<u32>;\n" \
    "@compute @workgroup_size(64) fn sum(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] * 3u + J[id.x]; } }\n"

/* In which way a call fails, and the number of HIP's that it answers. Late: it succeeds, and its work ends the device when its turn comes. */
typedef struct {
    const char *name;
    int code, late;
} fault_way;
static const fault_way ways[] = { { "refused", 1, 0 }, { "out of memory", 2, 0 }, { "lost", 719, 0 }, { "late", 700, 1 } };
enum { REFUSED, MEMORY, LOST, LATE };

/* One point: the n-th of the calls with this name fails. */
typedef struct {
    int way; /* -1: nothing fails */
    long call;
    char name[64];
} fault_point;

/* What a child tells: which call failed, and how many of each kind there were. */
typedef struct {
    char failed[64];
    int kinds;
    struct {
        char name[64];
        long calls;
    } kind[MOST_KINDS];
} told;

static struct {
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    void (*fail)(long, int, int);
    void (*only)(const char *);
    const char *(*failed)(void);
    long (*called)(int, const char **);
    long (*mistakes)(void);
    long (*living)(int);
} driver;

static const fault_point *point;
static compute_device device;
static compute_stream streams[2];
static compute_kernel increment, validated, sum, add;
static compute_buffer buffers[BUFFERS], big;
static compute_graph graph;
static uint32_t expected[BUFFERS][WORDS], *expected_big;
static uint64_t foreign; /* X is imported: the driver's memory, allocated and freed here */
static int let_go;
static int failed_somewhere, errors_seen;

static void wrong(const char *what)
{
    fprintf(stderr, "  %s, call %ld%s%s (%s): %s\n", point->way < 0 ? "no fault" : ways[point->way].name, point->call, *point->name ? " of " : "", point->name,
            driver.failed ? driver.failed() : "", what);
    print_error(last_error);
    failed_somewhere = 1;
}

static void find_driver(void)
{
    void *library = dlopen("libamdhip64.so", RTLD_NOW);
    const char *names[] = { "hipMalloc", "hipFree", "hip_test_fail", "hip_test_only", "hip_test_failed", "hip_test_called", "hip_test_mistakes", "hip_test_living" };
    void *found[COUNT_OF(names)] = { NULL };
    for (size_t i = 0; library && i < COUNT_OF(names); i++) found[i] = dlsym(library, names[i]);
    memcpy(&driver, found, sizeof driver);
}

static void set_expected(void)
{
    expected_big = malloc(4 * BIG_WORDS);
    CHECK(expected_big != NULL);
    for (uint32_t i = 0; i < BIG_WORDS; i++) expected_big[i] = i * 2246822519u;
    for (uint32_t i = 0; i < WORDS; i++) {
        expected[A][i] = i * 2654435761u;
        expected[B][i] = expected[V][i] = expected[A][i] + 1;
        expected[C][i] = expected[B][i];
        expected[D][i] = 0x01010101u;
        expected[F][i] = expected[C][i] * 3u + expected[D][i];
        expected[G][i] = i % ROW < ROW / 2 ? expected[A][i] : 0;
        expected[H][i] = expected[A][i] + 7;
        expected[X][i] = expected[A][i] + 1;
        /* K, M and N are the graph's: see `replay`. */
        expected[GRID][i] = i == 0 ? WORDS / 64 : 1;
    }
}

/* Whether a status can be the failure itself. A driver that answers nothing cannot be opened either, and the compiler's errors are its own; where it is
 * in doubt what a failed call has done, the device ends. */
static int is_injected(compute_status status)
{
    if (point->way < 0) return 0;
    if (status == COMPUTE_ERROR_BUSY) return graph != NULL; /* G5: after a replay of which a part was submitted, until that is over */
    /* An address that the driver has no memory at is refused with the same number. */
    int asked = strcmp(driver.failed(), "hipPointerGetAttribute") == 0 || strcmp(driver.failed(), "hipMemGetAddressRange") == 0;
    if (asked && point->way == REFUSED && status == COMPUTE_ERROR_INVALID_ARGUMENT) return 1;
    int anywhere = status == COMPUTE_ERROR_DRIVER || status == COMPUTE_ERROR_COMPILE || status == COMPUTE_ERROR_NO_DEVICE;
    return anywhere || status == COMPUTE_ERROR_DEVICE_POISONED || (point->way == MEMORY && status == COMPUTE_ERROR_OUT_OF_MEMORY);
}

/* A call of the scenario: it succeeds, is skipped because of the failure, or answers the failure. Anything else is a bug. */
static int went_well(compute_status status, const char *call)
{
    if (status == COMPUTE_OK || status == COMPUTE_SKIPPED) return status == COMPUTE_OK;
    errors_seen++;
    compute_status root = last_error ? root_info().status : status;
    if (!is_injected(status) && !is_injected(root)) {
        fprintf(stderr, "  %s answered %s, root %s\n", call, compute_status_name(status), compute_status_name(root));
        wrong("an error that does not lead back to the injected failure");
    }
    return 0;
}
#define TRY(call) went_well((call), #call)

static void note_release(void *user)
{
    (void)user;
    __atomic_store_n(&let_go, 1, __ATOMIC_SEQ_CST);
}

static int make_everything(void)
{
    for (int i = 0; i < 2; i++) {
        if (!TRY(compute_stream_create(device, NULL, &streams[i], E))) return 0;
    }
    compute_import_desc imported = COMPUTE_IMPORT_DESC_INIT;
    imported.kind = COMPUTE_NATIVE_HIP_POINTER;
    imported.handle = foreign;
    imported.size = BYTES;
    imported.access = COMPUTE_ACCESS_READ_WRITE;
    imported.released = note_release;
    if (!TRY(compute_buffer_import(device, &imported, &buffers[X], E))) return 0;
    for (int i = 0; i <= BUFFERS; i++) {
        if (i == X) continue;
        compute_buffer_desc desc;
        compute_buffer_desc_init(&desc);
        desc.size = i < BUFFERS ? BYTES : 4 * BIG_WORDS;
        if (!TRY(compute_buffer_create(device, &desc, i < BUFFERS ? &buffers[i] : &big, E))) return 0;
    }
    compute_kernel_desc descs[] = { kernel_desc(INCREMENT, "increment"), kernel_desc(INCREMENT, "validated"), kernel_desc(SUM, "sum"), kernel_desc(ADD, "add") };
    compute_kernel *kernels[] = { &increment, &validated, &sum, &add };
    descs[1].bounds = COMPUTE_BOUNDS_VALIDATE;
    for (size_t i = 0; i < COUNT_OF(descs); i++) {
        if (!TRY(compute_kernel_create(device, &descs[i], kernels[i], E))) return 0;
    }
    return 1;
}

/* A replay of K = `word`, M = `from`, N = 3 M + K. What was never replayed is never written, and reads as zeros. */
static void replay(uint32_t word, int from)
{
    if (!TRY(compute_stream_replay(streams[1], graph, E))) return;
    for (int i = 0; i < WORDS; i++) {
        expected[K][i] = word;
        expected[M][i] = expected[from][i];
        expected[N][i] = expected[M][i] * 3u + word;
    }
}

/* A graph with a node of each kind, two of which get other parameters between its replays. */
static void replay_everything(void)
{
    uint32_t five = 5, six = 6;
    compute_view b = whole(buffers[B]), a = whole(buffers[A]), k = whole(buffers[K]), m = whole(buffers[M]);
    compute_binding three[3] = { bind(0, buffers[M]), bind(1, buffers[N]), bind(2, buffers[K]) };
    compute_launch_desc desc = launch_desc(sum, WORDS / 64, 1, 1, three, 3);
    compute_node filled = 0, copied = 0;
    compute_graph_builder builder = NULL;
    if (!TRY(compute_graph_builder_create(device, NULL, &builder, E))) return;
    int made = TRY(compute_graph_builder_add_fill(builder, &k, &five, 4, NULL, 0, NULL, 0, &filled, E)) &&
               TRY(compute_graph_builder_add_copy(builder, &b, &m, NULL, 0, NULL, 0, &copied, E)) &&
               TRY(compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E)) && TRY(compute_graph_builder_add_join(builder, NULL, 0, NULL, E)) &&
               TRY(compute_graph_builder_instantiate(builder, &graph, E));
    if (made) {
        replay(five, B);
        uint32_t word = TRY(compute_graph_update_fill(graph, filled, &k, &six, 4, E)) ? six : five;
        int from = TRY(compute_graph_update_copy(graph, copied, &a, &m, E)) ? A : B;
        replay(word, from);
    }
    compute_graph_builder_release(builder);
}

/* The work. Statuses are looked at, and then ignored as a careless program would: what follows must be right all the same. */
static void queue_everything(void)
{
    compute_view a = whole(buffers[A]), b = whole(buffers[B]), c = whole(buffers[C]), d = whole(buffers[D]), f = whole(buffers[F]), g = whole(buffers[G]), grid = whole(buffers[GRID]);
    compute_view all = whole(big);
    uint32_t ones = 0x01010101u, zero = 0, amount[4] = { 7, 0, 0, 0 };
    compute_event event = NULL;
    TRY(compute_stream_write(streams[0], &a, expected[A], BYTES, E));
    TRY(compute_stream_write(streams[1], &grid, expected[GRID], BYTES, E));
    TRY(compute_stream_write(streams[0], &all, expected_big, 4 * BIG_WORDS, E));
    TRY(launch_io(streams[0], increment, "A to B", buffers[A], buffers[B], WORDS / 64));
    TRY(launch_io(streams[0], validated, "A to V", buffers[A], buffers[V], WORDS / 64));
    TRY(launch_io(streams[0], increment, "A to X", buffers[A], buffers[X], WORDS / 64));
    TRY(compute_stream_copy(streams[1], &b, &c, E)); /* waits for the other stream */
    TRY(compute_stream_fill(streams[1], &d, &ones, 4, E));
    compute_binding three[3] = { bind(0, buffers[C]), bind(1, buffers[F]), bind(2, buffers[D]) };
    compute_launch_desc indirect = launch_desc(sum, 0, 0, 0, three, 3);
    indirect.indirect = range(buffers[GRID], 0, 12);
    /* Nobody knows beforehand that it writes all of F. */
    TRY(compute_stream_fill(streams[1], &f, &zero, 4, E));
    TRY(compute_stream_launch(streams[1], &indirect, E));
    if (TRY(compute_stream_record(streams[1], &event, E))) TRY(compute_stream_wait_event(streams[0], event, E));
    compute_event_release(event);
    uint64_t shape[2] = { WORDS / ROW, ROW / 2 };
    int64_t strides[2] = { 4 * ROW, 4 };
    compute_strided_desc rows;
    compute_strided_desc_init(&rows);
    rows.rank = 2;
    rows.shape = shape;
    rows.element_size = 4;
    rows.from_strides = rows.to_strides = strides;
    TRY(compute_stream_fill(streams[0], &g, &zero, 4, E));
    TRY(compute_stream_copy_strided(streams[0], &a, &g, &rows, E));
    compute_binding inline_amount[3] = { bind(0, buffers[A]), bind(1, buffers[H]), bind_bytes(2, amount, sizeof amount) };
    TRY(launch(streams[0], add, WORDS / 64, inline_amount, 3));
    replay_everything();
    TRY(compute_stream_flush(streams[0], E));
}

/* T8: bytes without trust are not given. A read of others whose wait failed, or that was under way when the device ended, may have given some: right ones. */
static void check_read(compute_status status, const unsigned char *bytes, const void *right, size_t size)
{
    if (status == COMPUTE_OK) {
        if (memcmp(bytes, right, size) != 0) wrong("a read gave other bytes and said that they are right");
        return;
    }
    int claimed = status == COMPUTE_ERROR_UNWRITTEN || status == COMPUTE_ERROR_SEVERAL;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != SENTINEL && (claimed || bytes[i] != ((const unsigned char *)right)[i])) {
            fprintf(stderr, "  byte %zu of %zu, answered %s:\n", i, size, compute_status_name(status));
            wrong("a read that failed gave bytes");
            return;
        }
    }
}

/* T12: a wait that failed itself cannot tell that the device is done with our memory; another, later, can. */
static compute_status wait_for_read(compute_event event)
{
    compute_status status = compute_event_wait(event, 20 * SECONDS, E);
    for (int again = 0; status == COMPUTE_ERROR_STILL_BORROWED && again < 20000; again++) {
        usleep(1000);
        status = compute_event_wait(event, 20 * SECONDS, E);
    }
    if (status == COMPUTE_TIMEOUT) wrong("an asynchronous read never completes");
    return status;
}

static void read_everything(void)
{
    static unsigned char bytes[BUFFERS][BYTES], large[4 * BIG_WORDS];
    compute_view all = whole(big);
    compute_event event = NULL, last = NULL;
    memset(bytes, SENTINEL, sizeof bytes);
    memset(large, SENTINEL, sizeof large);
    compute_view a = whole(buffers[A]);
    compute_status of_big = compute_stream_read_async(streams[0], &all, large, sizeof large, &event, E);
    TRY(of_big);
    compute_status of_a = compute_stream_read_async(streams[1], &a, bytes[A], BYTES, &last, E);
    TRY(of_a);
    for (int i = 1; i < BUFFERS; i++) {
        compute_view view = whole(buffers[i]);
        compute_status status = compute_stream_read(streams[i % 2], &view, bytes[i], BYTES, E);
        TRY(status);
        check_read(status, bytes[i], expected[i], BYTES);
    }
    if (of_big == COMPUTE_OK) TRY(of_big = wait_for_read(event));
    check_read(of_big, large, expected_big, sizeof large);
    if (of_a == COMPUTE_OK) TRY(of_a = wait_for_read(last));
    check_read(of_a, bytes[A], expected[A], BYTES);
    compute_event_release(event);
    compute_event_release(last);
}

/* With the fault behind us: unless the device has ended, the same work, all of whose writes are whole, gives the same bytes. */
static void run_again(void)
{
    driver.fail(0, 0, 0);
    read_everything();
    if (compute_device_status(device, E) != COMPUTE_OK) return;
    compute_graph_release(graph);
    graph = NULL;
    errors_seen = 0;
    queue_everything();
    read_everything();
    if (errors_seen) wrong("work after the failure still fails");
}

static void release_everything(void)
{
    int imported = buffers[X] != NULL;
    for (int i = 0; i < 2; i++) (void)compute_stream_sync(streams[i], NULL, 0, 0, 20 * SECONDS, NULL);
    compute_graph_release(graph);
    for (int i = 0; i < BUFFERS; i++) compute_buffer_release(buffers[i]);
    compute_buffer_release(big);
    compute_kernel kernels[] = { increment, validated, sum, add };
    for (size_t i = 0; i < COUNT_OF(kernels); i++) compute_kernel_release(kernels[i]);
    for (int i = 0; i < 2; i++) compute_stream_release(streams[i]);
    compute_device_release(device);
    /* T14: whatever failed, the owner is told, once it may free its memory. */
    for (int tries = 0; imported && !__atomic_load_n(&let_go, __ATOMIC_SEQ_CST); tries++) {
        if (tries == 20000) {
            wrong("imported memory is not let go of");
            return;
        }
        usleep(1000);
    }
}

/* Whether what failed is itself the end of something, or of the driver: then that is left, as nobody can end it. */
static int may_leave(const char *failed)
{
    static const char *const ends[] = { "Free", "Destroy", "Unload", "GetDevice", "SetDevice", "DestroyProgram" };
    if (point->way == LOST || point->way == LATE) return 1;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        size_t at = strlen(failed), end = strlen(ends[i]);
        if (at >= end && strcmp(failed + at - end, ends[i]) == 0) return 1;
    }
    return 0;
}

static void nothing_is_left(const told *tell)
{
    static const char *const kinds[] = { "allocations", "host allocations", "pools", "streams", "events", "modules", "graphs", "executable graphs", "programs",
                                         "retained contexts" };
    long left[COUNT_OF(kinds)], all = 1;
    for (int tries = 0; all && tries < 5000; tries++) { /* what is ended on a thread of the device's own takes its time */
        all = 0;
        for (size_t i = 0; i < COUNT_OF(kinds); i++) all += left[i] = driver.living((int)i);
        /* Nor is it known before then what fails at the end. */
        if (!all || may_leave(*tell->failed ? tell->failed : driver.failed())) return;
        usleep(1000);
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (left[i]) fprintf(stderr, "  left: %ld %s\n", left[i], kinds[i]);
    }
    wrong("something of the driver's is left behind");
}

static void run_scenario(told *tell)
{
    if (driver.allocate(&foreign, BYTES) != 0) wrong("the driver has no memory");
    if (point->way >= 0) {
        driver.only(point->name);
        driver.fail(point->call, ways[point->way].code, ways[point->way].late);
    }
    compute_device_desc desc;
    compute_device_desc_init(&desc);
    desc.backend = "hip";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    if (TRY(compute_device_open(&desc, &device, E))) {
        if (make_everything()) {
            queue_everything();
            read_everything();
            if (point->way < 0 && errors_seen) wrong("without a fault something fails");
            snprintf(tell->failed, sizeof tell->failed, "%s", driver.failed());
            /* What has not failed by now may still do so when things are ended. */
            if (*tell->failed || point->way < 0) run_again();
        }
        release_everything();
    }
    (void)driver.release(foreign);
    nothing_is_left(tell);
    if (!*tell->failed) snprintf(tell->failed, sizeof tell->failed, "%s", driver.failed());
    if (driver.mistakes()) wrong("the driver was called in a way that it does not allow");
    const char *name = NULL;
    for (long calls; tell->kinds < MOST_KINDS && (calls = driver.called(tell->kinds, &name)) > 0; tell->kinds++) {
        snprintf(tell->kind[tell->kinds].name, sizeof tell->kind->name, "%s", name);
        tell->kind[tell->kinds].calls = calls;
    }
}

/* Runs a point in a process of its own. Answers 0 when it passed. */
static int run_point(const fault_point *at, told *tell)
{
    static told answer;
    int channel[2], status = 0;
    memset(tell, 0, sizeof *tell);
    if (pipe(channel) != 0) return 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_PER_POINT);
        point = at;
        find_driver();
        if (!driver.living) _exit(77);
        set_expected();
        run_scenario(&answer);
        fflush(NULL);
        _exit(write(channel[1], &answer, sizeof answer) != (ssize_t)sizeof answer || failed_somewhere);
    }
    close(channel[1]);
    size_t got = 0;
    for (ssize_t some; (some = read(channel[0], (char *)tell + got, sizeof *tell - got)) > 0;) got += (size_t)some;
    close(channel[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "  %s, call %ld of %s: signal %d%s\n", ways[at->way].name, at->call, at->name, WTERMSIG(status), WTERMSIG(status) == 14 ? ": it hangs" : "");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int passed, failed, reached;

static void try_point(int way, long call, const char *name)
{
    static told tell;
    fault_point at = { way, call, "" };
    snprintf(at.name, sizeof at.name, "%s", name);
    if (run_point(&at, &tell) == 0) passed++;
    else {
        failed++;
        printf("FAILED; again: driver_faults %d %s %ld\n", way, name, call);
    }
    reached += *tell.failed != 0;
}

static long number(const char *name, long otherwise) { return getenv(name) ? atol(getenv(name)) : otherwise; }

int main(int argc, char **argv)
{
    static told all;
    const fault_point none = { -1, 0, "" };
    int outcome = run_point(&none, &all);
    if (outcome == 77) {
        printf("NOT TESTED: the library of HIP that is found is not the stand-in\n");
        return 0;
    }
    long calls = 0;
    for (int kind = 0; kind < all.kinds; kind++) calls += all.kind[kind].calls;
    if (outcome != 0 || all.kinds < 30) {
        printf("FAILED: the scenario fails without a fault, or its %d kinds of calls cannot be right\n", all.kinds);
        return 1;
    }
    printf("the scenario makes %ld calls of the driver, of %d kinds; of a kind the first %d are tried\n", calls, all.kinds, MOST_OF_A_KIND);
    if (argc > 3) {
        try_point(atoi(argv[1]), atol(argv[3]), argv[2]);
        return failed != 0;
    }
    long shards = number("SHARDS", 1), shard = number("SHARD", 0) % (shards > 0 ? shards : 1);
    for (int way = 0; way < (int)COUNT_OF(ways); way++) {
        if (argc > 1 && atoi(argv[1]) != way) continue;
        int before = passed;
        reached = 0;
        for (int kind = 0; kind < all.kinds; kind++) try_point(way, 1, all.kind[kind].name);
        int first = reached;
        long n = 0;
        for (int kind = 0; kind < all.kinds; kind++) {
            for (long call = 2; call <= all.kind[kind].calls && call <= MOST_OF_A_KIND; call++) {
                if (n++ % shards == shard) try_point(way, call, all.kind[kind].name);
            }
        }
        printf("%-14s %d points passed; the first of %d kinds of calls and %d others failed\n", ways[way].name, passed - before, first, reached - first);
        if (first < all.kinds * 4 / 5) { /* a failure that never came has tested nothing */
            printf("FAILED %s: of %d kinds of calls %d failed\n", ways[way].name, all.kinds, first);
            failed++;
        }
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
