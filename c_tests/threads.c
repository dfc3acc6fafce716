/* S1, L8, T5 and T13 with several threads at once: each picks buffers that all share and fills, copies, increments or reads them as a whole, on a stream of
 * its own, while launches are refused and calls of the device fail, at once or late. All work is on whole buffers, so a read that is answered with
 * success finds every word equal to the others, whatever the order was: a torn, stale or half-failed buffer shows at once. Buffers come and go meanwhile.
 *
 *     threads [SECONDS]       for each of the three kinds of failures (default: 3)
 */
#include "rules.h"

enum { THREADS = 6, BUFFERS = 4, WORDS = 1024, BYTES = 4 * WORDS };

static compute_device device;
static compute_kernel increment, add;
static compute_buffer shared[BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `shared` only: a reference is taken under it */
static uint32_t how;
static uint64_t deadline;
static uint64_t reads_right, reads_refused, launches_skipped;

/* A buffer of all, with a reference that the caller releases. */
static compute_buffer borrow(uint32_t which)
{
    pthread_mutex_lock(&lock);
    compute_buffer buffer = shared[which];
    compute_status status = compute_buffer_retain(buffer, NULL);
    pthread_mutex_unlock(&lock);
    return status == COMPUTE_OK ? buffer : NULL;
}

static void replace(uint32_t which)
{
    compute_buffer_desc desc;
    compute_buffer fresh = NULL;
    compute_buffer_desc_init(&desc);
    desc.size = BYTES;
    if (compute_buffer_create(device, &desc, &fresh, NULL) != COMPUTE_OK) return; /* that call was made to fail */
    pthread_mutex_lock(&lock);
    compute_buffer old = shared[which];
    shared[which] = fresh;
    pthread_mutex_unlock(&lock);
    compute_buffer_release(old);
}

static const char *read_whole(compute_stream stream, compute_view view, uint32_t *words)
{
    memset(words, 0xee, BYTES);
    compute_status status = compute_stream_read(stream, &view, words, BYTES, NULL);
    if (status < 0) {
        __atomic_add_fetch(&reads_refused, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < WORDS; i++) {
            if (words[i] != 0xeeeeeeeeu) return "a read that failed gave bytes";
        }
        return how == COMPUTE_FAULT_NONE && status != COMPUTE_ERROR_UNWRITTEN ? "a read failed although nothing was made to fail" : NULL;
    }
    __atomic_add_fetch(&reads_right, 1, __ATOMIC_RELAXED);
    for (int i = 1; i < WORDS; i++) {
        if (words[i] != words[0]) return "a read was answered with success and gave torn bytes";
    }
    return NULL;
}

static const char *one_step(compute_stream stream, uint32_t *random, compute_buffer a, compute_buffer b)
{
    uint32_t words[WORDS];
    compute_view from = whole(a), to = whole(b);
    compute_binding bindings[3] = { bind(0, a), bind(1, b), bind_bytes(2, words, 4) };
    compute_launch_desc desc = launch_desc(increment, WORDS / 64, 1, 1, bindings, 2);
    compute_status status = COMPUTE_OK;
    switch (next_random(random) % 12) {
    case 0: case 1: status = compute_stream_fill(stream, &to, random, 4, NULL); break;
    case 2:
        for (int i = 0; i < WORDS; i++) words[i] = *random;
        status = compute_stream_write(stream, &to, words, BYTES, NULL);
        break;
    case 3: case 4: status = a == b ? COMPUTE_OK : compute_stream_copy(stream, &from, &to, NULL); break;
    case 5: case 6: status = a == b ? COMPUTE_OK : compute_stream_launch(stream, &desc, NULL); break;
    case 7: /* refused: too few inline bytes */
        desc.kernel = add;
        desc.binding_count = 3;
        if (compute_stream_launch(stream, &desc, NULL) >= 0) return "a bad launch was not refused";
        break;
    case 8:
        if (how != COMPUTE_FAULT_NONE) (void)compute_device_inject_fault(device, 1 + next_random(random) % 4, how, NULL);
        break;
    case 9: (void)compute_check(&to, 1, 0, NULL); break;
    default: return read_whole(stream, from, words);
    }
    if (status == COMPUTE_SKIPPED) __atomic_add_fetch(&launches_skipped, 1, __ATOMIC_RELAXED);
    return status < 0 && how == COMPUTE_FAULT_NONE ? "a good call failed although nothing was made to fail" : NULL;
}

static void *work(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
    compute_stream stream = NULL;
    const char *problem = NULL;
    while (compute_stream_create(device, NULL, &stream, NULL) != COMPUTE_OK) usleep(100);
    while (!problem && now_ns() < deadline) {
        if (next_random(&random) % 64 == 0) replace(next_random(&random) % BUFFERS);
        compute_buffer a = borrow(next_random(&random) % BUFFERS), b = borrow(next_random(&random) % BUFFERS);
        problem = a && b ? one_step(stream, &random, a, b) : "a live buffer cannot be retained";
        compute_buffer_release(a);
        compute_buffer_release(b);
    }
    compute_stream_release(stream);
    return (void *)(uintptr_t)problem;
}

static uint64_t seconds = 3;

static void together(uint32_t way)
{
    pthread_t threads[THREADS];
    how = way;
    device = open_faulty();
    increment = make_kernel(device, INCREMENT);
    add = make_kernel(device, ADD);
    for (int i = 0; i < BUFFERS; i++) shared[i] = make_buffer(device, BYTES, "shared");
    deadline = now_ns() + seconds * SECONDS;
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, problem);
    }
    printf("  %llu reads right, %llu refused, %llu launches skipped\n", (unsigned long long)reads_right, (unsigned long long)reads_refused,
        (unsigned long long)launches_skipped);
    CHECK(reads_right > 100 && reads_refused > 10 && launches_skipped > 10);

    compute_memory_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
    for (int i = 0; i < BUFFERS; i++) compute_buffer_release(shared[i]);
    for (int i = 0; i < 2000; i++) {
        OK(compute_device_memory_usage(device, &usage, E));
        if (usage.buffers == 0) break;
        usleep(1000);
    }
    CHECK_EQ(usage.buffers, 0);
    CHECK_EQ(usage.bytes_in_use, 0);
}

TEST(s1_l8_threads_that_share_buffers_never_read_torn_bytes) { together(COMPUTE_FAULT_NONE); }
TEST(s1_t2_threads_that_share_buffers_never_read_torn_bytes_when_calls_fail) { together(COMPUTE_FAULT_ERROR); }
TEST(s1_t13_threads_that_share_buffers_never_read_torn_bytes_when_work_fails_late) { together(COMPUTE_FAULT_LATE); }

/* Calls that only read the same weights overlap on all streams, so that somebody is always at it. They are short: on the cpu device they run inside the call. */
enum { READ_BYTES = 256 };
static compute_buffer weights;
static int enough;

static void *read_weights(void *unused)
{
    (void)unused;
    compute_stream stream = make_stream(device);
    compute_buffer mine = make_buffer(device, READ_BYTES, "mine");
    fill_words(stream, mine, 0);
    compute_binding bindings[2] = { bind(0, weights), bind(1, mine) };
    compute_launch_desc desc = launch_desc(increment, 1, 1, 1, bindings, 2);
    const char *problem = NULL;
    for (int i = 0; !problem && !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
        if (compute_stream_launch(stream, &desc, NULL) != COMPUTE_OK) problem = "a good launch failed";
        /* So that no queue becomes long. */
        if (i % 64 == 0 && compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, NULL) != COMPUTE_OK) problem = "a sync failed";
    }
    compute_buffer_release(mine);
    compute_stream_release(stream);
    return (void *)(uintptr_t)problem;
}

static void capture_a_reader(compute_stream stream)
{
    compute_buffer out = make_buffer(device, READ_BYTES, "out");
    compute_graph graph = NULL;
    uint64_t number = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &number, E));
    OK(launch_io(stream, increment, "", weights, out, 1));
    OK(compute_stream_end_capture(stream, number, &graph, E));
    OK(compute_stream_replay(stream, graph, E));
    compute_graph_release(graph);
    compute_buffer_release(out);
}

TEST(l8_s1_who_writes_or_waits_gets_its_turn_among_threads_that_keep_reading)
{
    enum { READERS = 8, WRITES = 300 };
    device = open_device();
    increment = make_kernel(device, INCREMENT);
    weights = make_buffer(device, READ_BYTES, "weights");
    compute_stream stream = make_stream(device);
    fill_words(stream, weights, 1);
    pthread_t threads[READERS];
    deadline = now_ns() + 20 * SECONDS;
    for (int i = 0; i < READERS; i++) CHECK(pthread_create(&threads[i], NULL, read_weights, NULL) == 0);
    usleep(100000);
    uint64_t longest_write = 0, longest_wait = 0;
    int writes = 0;
    for (; writes < WRITES && now_ns() < deadline; writes++) {
        uint64_t start = now_ns();
        fill_words(stream, weights, (uint32_t)writes);
        uint64_t written = now_ns();
        compute_view view = whole(weights);
        compute_status status = compute_stream_sync(stream, &view, 1, 0, 10 * MILLISECONDS, E);
        CHECK(status == COMPUTE_OK || status == COMPUTE_TIMEOUT);
        uint64_t waited = now_ns() - written;
        if (written - start > longest_write) longest_write = written - start;
        if (waited > longest_wait) longest_wait = waited;
        if (writes % 60 == 0) capture_a_reader(stream);
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        void *problem = NULL;
        CHECK(pthread_join(threads[i], &problem) == 0);
        if (problem) fail(__FILE__, __LINE__, (const char *)problem);
    }
    printf("  %d writes, the longest took %llu ms; the longest wait of 10 ms took %llu\n", writes, (unsigned long long)(longest_write / MILLISECONDS),
        (unsigned long long)(longest_wait / MILLISECONDS));
    CHECK_EQ(writes, WRITES);
    CHECK(longest_write < SECONDS);
}

int main(int argc, char **argv)
{
    if (argc > 1) seconds = (uint64_t)atoi(argv[1]);
    RUN(s1_l8_threads_that_share_buffers_never_read_torn_bytes);
    RUN(s1_t2_threads_that_share_buffers_never_read_torn_bytes_when_calls_fail);
    RUN(s1_t13_threads_that_share_buffers_never_read_torn_bytes_when_work_fails_late);
    RUN(l8_s1_who_writes_or_waits_gets_its_turn_among_threads_that_keep_reading);
    return finish();
}
