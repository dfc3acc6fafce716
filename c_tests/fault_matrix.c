/* T2, T12, T13 and F1 at every call of the device: a scenario of uploads, launches, copies and reads on two streams is run once to count the calls that the
 * device gets, and then again for each of them and each way in which it can fail. Whatever fails, every read gives the right bytes or an error that leads
 * back to that failure, never other bytes; nothing hangs, and nothing is left of it.
 *
 *     fault_matrix [WAY [CALL]]      for one way (0 to 5, COMPUTE_FAULT_...), for one call of it
 */
#include "rules.h"

enum { WORDS = 1024, BYTES = 4 * WORDS, SENTINEL = 0xee, SECONDS_PER_POINT = 30 };
enum { A, B, C, D, F, G, H, BUFFERS };

#define SUM IO "@group(0) @binding(2) var<storage, read> J: array<u32>;\n" \
    "@compute @workgroup_size(64) fn sum(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] * 3u + J[id.x]; } }\n"
/* Writes a part only, so that never-written bytes have to be zero-filled (T6a). */
#define SPARSE IO "@compute @workgroup_size(64) fn sparse(" ID ") { if (id.x & 1u) == 1u && id.x < arrayLength(&O) { O[id.x] = I[id.x]; } }\n"

static const char *const way_names[] = { "none", "error", "out of memory", "lost", "late", "panic" };
static uint32_t way;
static uint64_t point;
static compute_device device;
static compute_stream streams[2];
static compute_kernel increment, sum, sparse;
static compute_buffer buffers[BUFFERS];
static uint32_t expected[BUFFERS][WORDS];
/* H is imported where that takes an address (T14). */
static uint32_t own[WORDS] __attribute__((aligned(64)));
static int failed_somewhere, errors_seen;

static void set_expected(void)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        expected[A][i] = i * 2654435761u;
        expected[B][i] = expected[A][i] + 1;
        expected[C][i] = expected[B][i];
        expected[D][i] = 0x01010101u;
        expected[F][i] = expected[C][i] * 3u + expected[D][i];
        expected[G][i] = i & 1 ? expected[F][i] : 0;
        expected[H][i] = expected[B][i];
    }
}

static void wrong(const char *what)
{
    fprintf(stderr, "  way %s, call %llu: %s\n", way_names[way], (unsigned long long)point, what);
    print_error(last_error);
    failed_somewhere = 1;
}

/* Whether this status can be the injected failure itself. */
static int is_injected(compute_status status)
{
    switch (way) {
    case COMPUTE_FAULT_ERROR:
    case COMPUTE_FAULT_LATE: return status == COMPUTE_ERROR_DRIVER || status == COMPUTE_ERROR_COMPILE;
    case COMPUTE_FAULT_OUT_OF_MEMORY: return status == COMPUTE_ERROR_OUT_OF_MEMORY;
    case COMPUTE_FAULT_LOST: return status == COMPUTE_ERROR_DEVICE_POISONED;
    case COMPUTE_FAULT_PANIC: return status == COMPUTE_ERROR_INTERNAL || status == COMPUTE_ERROR_DEVICE_POISONED;
    default: return 0;
    }
}

/* A call of the scenario: it succeeds, is skipped because of the failure, or answers the failure. Anything else is a bug. */
static int went_well(compute_status status, const char *call)
{
    if (status == COMPUTE_OK || status == COMPUTE_SKIPPED) return status == COMPUTE_OK;
    errors_seen++;
    compute_error_info info = last_error ? error_info(last_error) : (compute_error_info){ .struct_size = 0 };
    compute_status root = last_error ? root_info().status : status;
    if (!last_error || info.status != status) wrong("status and error object do not agree");
    if (!is_injected(status) && !(status == COMPUTE_ERROR_UNWRITTEN && is_injected(root))) {
        fprintf(stderr, "  %s answered %s, root %s\n", call, compute_status_name(status), compute_status_name(root));
        wrong("an error that does not lead back to the injected failure");
    }
    return 0;
}
#define TRY(call) went_well((call), #call)

static int make_everything(void)
{
    static const char *const names[BUFFERS] = { "A", "B", "C", "D", "F", "G", "H" };
    for (int i = 0; i < 2; i++) {
        if (!TRY(compute_stream_create(device, NULL, &streams[i], E))) return 0;
    }
    int imports = !getenv("RULES_BACKEND") || strcmp(getenv("RULES_BACKEND"), "cpu") == 0;
    compute_import_desc imported = COMPUTE_IMPORT_DESC_INIT;
    imported.kind = COMPUTE_NATIVE_ADDRESS;
    imported.handle = (uint64_t)(uintptr_t)own;
    imported.size = BYTES;
    imported.access = COMPUTE_ACCESS_READ_WRITE;
    if (imports && !TRY(compute_buffer_import(device, &imported, &buffers[H], E))) return 0;
    for (int i = 0; i < BUFFERS - imports; i++) {
        compute_buffer_desc desc;
        compute_buffer_desc_init(&desc);
        desc.size = BYTES;
        desc.label = names[i];
        desc.label_length = COMPUTE_NUL_TERMINATED;
        if (!TRY(compute_buffer_create(device, &desc, &buffers[i], E))) return 0;
    }
    compute_kernel_desc descs[3] = { kernel_desc(INCREMENT, "increment"), kernel_desc(SUM, "sum"), kernel_desc(SPARSE, "sparse") };
    compute_kernel *kernels[3] = { &increment, &sum, &sparse };
    descs[1].compile = COMPUTE_COMPILE_LAZY;
    for (int i = 0; i < 3; i++) {
        if (!TRY(compute_kernel_create(device, &descs[i], kernels[i], E))) return 0;
    }
    return 1;
}

/* The work. Statuses are looked at, and then ignored as a careless program would: what follows must be right all the same. */
static void queue_everything(void)
{
    compute_view a = whole(buffers[A]), b = whole(buffers[B]), c = whole(buffers[C]), d = whole(buffers[D]);
    uint32_t ones = 0x01010101u;
    compute_event event = NULL;
    compute_binding three[3] = { bind(0, buffers[C]), bind(1, buffers[F]), bind(2, buffers[D]) };
    TRY(compute_stream_write(streams[0], &a, expected[A], BYTES, E));
    TRY(launch_io(streams[0], increment, "A to B", buffers[A], buffers[B], WORDS / 64));
    TRY(compute_stream_copy(streams[1], &b, &c, E)); /* waits for the other stream */
    TRY(compute_stream_fill(streams[1], &d, &ones, 4, E));
    TRY(launch(streams[1], sum, WORDS / 64, three, 3));
    if (TRY(compute_stream_record(streams[1], &event, E))) TRY(compute_stream_wait_event(streams[0], event, E));
    compute_event_release(event);
    TRY(launch_io(streams[0], sparse, "F to G", buffers[F], buffers[G], WORDS / 64));
    TRY(launch_io(streams[0], increment, "A to H", buffers[A], buffers[H], WORDS / 64));
    TRY(compute_stream_flush(streams[0], E));
}

static void check_read(compute_status status, const unsigned char *bytes, int buffer)
{
    if (status == COMPUTE_OK) {
        if (memcmp(bytes, expected[buffer], BYTES) != 0) {
            fprintf(stderr, "  buffer %d:\n", buffer);
            wrong("a read gave other bytes and said that they are right");
        }
        return;
    }
    for (int i = 0; i < BYTES; i++) {
        if (bytes[i] != SENTINEL) {
            wrong("a read that failed gave bytes");
            return;
        }
    }
}

static void read_everything(void)
{
    static unsigned char bytes[BUFFERS][BYTES];
    compute_event events[BUFFERS] = { NULL };
    compute_status statuses[BUFFERS];
    memset(bytes, SENTINEL, sizeof bytes);
    compute_view b = whole(buffers[B]);
    compute_native_info native = COMPUTE_NATIVE_INFO_INIT;
    TRY(compute_stream_export(streams[0], &b, COMPUTE_ACCESS_READ_WRITE, &native, E));
    for (int i = 0; i < BUFFERS; i += 2) { /* every other one asynchronously */
        compute_view view = whole(buffers[i]);
        statuses[i] = compute_stream_read_async(streams[i / 2 % 2], &view, bytes[i], BYTES, &events[i], E);
        TRY(statuses[i]);
    }
    for (int i = 1; i < BUFFERS; i += 2) {
        compute_view view = whole(buffers[i]);
        compute_status status = compute_stream_read(streams[i / 2 % 2], &view, bytes[i], BYTES, E);
        TRY(status);
        check_read(status, bytes[i], i);
    }
    for (int i = 0; i < BUFFERS; i += 2) {
        if (statuses[i] == COMPUTE_OK) {
            statuses[i] = compute_event_wait(events[i], 20 * SECONDS, E);
            /* T12: a wait that failed itself cannot tell that the device is done with our memory; another, later, can. */
            for (int again = 0; statuses[i] == COMPUTE_ERROR_STILL_BORROWED && again < 20000; again++) {
                usleep(1000);
                statuses[i] = compute_event_wait(events[i], 20 * SECONDS, E);
            }
            if (statuses[i] == COMPUTE_TIMEOUT) wrong("an asynchronous read never completes");
            TRY(statuses[i]);
        }
        check_read(statuses[i], bytes[i], i);
        compute_event_release(events[i]);
    }
}

/* With the fault behind us: unless the device is lost, whole writes repair everything, and the same work gives the same bytes. */
static void repair_and_run_again(void)
{
    OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
    read_everything();
    if (compute_device_status(device, E) != COMPUTE_OK) {
        if (way != COMPUTE_FAULT_LOST && way != COMPUTE_FAULT_PANIC) wrong("the device is poisoned by a failure that should not poison");
        return;
    }
    compute_view g = whole(buffers[G]);
    uint32_t zero = 0;
    int before = errors_seen;
    queue_everything(); /* sparse cannot repair G as a whole: that takes a fill */
    TRY(compute_stream_fill(streams[0], &g, &zero, 4, E));
    TRY(launch_io(streams[0], sparse, "F to G", buffers[F], buffers[G], WORDS / 64));
    read_everything();
    if (errors_seen != before) wrong("work after the failure still fails");
}

static void release_everything(void)
{
    compute_memory_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    for (int i = 0; i < 2; i++) (void)compute_stream_sync(streams[i], NULL, 0, 0, 20 * SECONDS, NULL);
    for (int i = 0; i < BUFFERS; i++) compute_buffer_release(buffers[i]);
    compute_kernel_release(increment);
    compute_kernel_release(sum);
    compute_kernel_release(sparse);
    for (int i = 0; i < 2; i++) compute_stream_release(streams[i]);
    for (int i = 0; i < 1000; i++) { /* memory that is in use goes when the use is over */
        OK(compute_device_memory_usage(device, &usage, E));
        if (usage.buffers == 0 && usage.bytes_in_use + usage.bytes_imported == 0) break;
        usleep(1000);
    }
    if (usage.buffers != 0 || usage.bytes_in_use + usage.bytes_imported != 0) {
        fprintf(stderr, "  %llu buffers, %llu bytes in use\n", (unsigned long long)usage.buffers, (unsigned long long)usage.bytes_in_use);
        wrong("memory is left in use");
    }
    compute_device_release(device);
}

/* One point: the scenario with call `point` failing in the way `way`. Answers the number of calls until the fault was put behind us: how far the scenario
 * came depends on what completes when, so that the last points may not be reached. */
static uint64_t run_scenario(void)
{
    uint64_t calls = 0;
    compute_fault_desc fault;
    compute_fault_desc_init(&fault);
    fault.kind = COMPUTE_CHAINED_FAULT;
    fault.call = point;
    fault.how = way;
    compute_device_desc desc;
    compute_device_desc_init(&desc);
    desc.backend = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.threads = 2;
    desc.next = &fault;
    if (!TRY(compute_device_open(&desc, &device, E))) return 0;
    int made = make_everything();
    if (made) {
        queue_everything();
        read_everything();
        if (way == COMPUTE_FAULT_NONE && errors_seen) wrong("without a fault something fails");
    }
    OK(compute_device_fault_calls(device, &calls, E));
    if (made) repair_and_run_again();
    release_everything();
    return calls;
}

/* Runs a point in a process of its own. Answers 0 when it passed; `*calls` gets the count of run_scenario. */
static int run_point(uint32_t how, uint64_t call, uint64_t *calls)
{
    int channel[2], status = 0;
    uint64_t counted = 0;
    if (pipe(channel) != 0) return 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_PER_POINT);
        way = how;
        point = call;
        set_expected();
        counted = run_scenario();
        fflush(NULL);
        _exit(write(channel[1], &counted, sizeof counted) != (ssize_t)sizeof counted || failed_somewhere);
    }
    close(channel[1]);
    if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
    if (calls && read(channel[0], &counted, sizeof counted) == (ssize_t)sizeof counted) *calls = counted;
    close(channel[0]);
    if (status != 0 && WIFSIGNALED(status)) {
        fprintf(stderr, "  way %s, call %llu: signal %d%s\n", way_names[how], (unsigned long long)call, WTERMSIG(status), WTERMSIG(status) == 14 ? ": it hangs" : "");
    }
    return status;
}

int main(int argc, char **argv)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LATE, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    if (argc > 2) return run_point((uint32_t)atoi(argv[1]), (uint64_t)atoll(argv[2]), NULL) != 0;
    uint64_t calls = 0;
    if (run_point(COMPUTE_FAULT_NONE, 0, &calls) != 0 || calls < 10) {
        fprintf(stderr, "fault_matrix: the scenario fails without a fault, or its %llu calls cannot be right\n", (unsigned long long)calls);
        printf("0 passed, 1 failed\n");
        return 1;
    }
    printf("the scenario makes %llu calls of the device\n", (unsigned long long)calls);
    int passed = 0, failed = 0;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        int here = passed, reached = 0;
        if (argc > 1 && (uint32_t)atoi(argv[1]) != ways[i]) continue;
        for (uint64_t call = 1; call <= calls; call++) {
            uint64_t made = 0;
            if (run_point(ways[i], call, &made) == 0) passed++;
            else failed++;
            reached += made >= call;
        }
        printf("%-14s %d of %llu points passed, %d of them were reached\n", way_names[ways[i]], passed - here, (unsigned long long)calls, reached);
        if (reached < (int)calls / 2) { /* a failure that never came has tested nothing */
            printf("FAILED %s: too few points were reached\n", way_names[ways[i]]);
            failed++;
        }
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
