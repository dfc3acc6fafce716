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

int main(int argc, char **argv)
{
    if (argc > 1) seconds = (uint64_t)atoi(argv[1]);
    RUN(s1_l8_threads_that_share_buffers_never_read_torn_bytes);
    RUN(s1_t2_threads_that_share_buffers_never_read_torn_bytes_when_calls_fail);
    RUN(s1_t13_threads_that_share_buffers_never_read_torn_bytes_when_work_fails_late);
    return finish();
}
