/* F1 and THR-01: eight threads do as they like with the same handles, ending them under each other's feet. Every call answers something that it may answer,
 * nothing hangs, and what is left works.
 *
 *     races [TEST [MILLISECONDS]]
 */
#include "rules.h"

#include <stdatomic.h>

enum { THREADS = 8, CELLS = 4, BYTES = 4096 };

static uint64_t run_for = 3000 * MILLISECONDS;
static compute_device device;
static compute_kernel kernel;
static _Atomic(compute_stream) streams[CELLS];
static _Atomic(compute_buffer) buffers[CELLS];
static _Atomic(compute_kernel) kernels[CELLS];
static _Atomic(compute_event) events[CELLS];
static _Atomic(compute_error) errors[CELLS];
static atomic_ulong done, refused, callbacks_asked, callbacks_run;

/* What a race of handles may answer. Never INTERNAL, never a poisoned device. */
static void may(compute_status status, compute_error error)
{
    switch (status) {
    case COMPUTE_OK: case COMPUTE_SKIPPED: case COMPUTE_NOT_READY: case COMPUTE_TIMEOUT: case COMPUTE_INCOMPLETE:
        CHECK(error == NULL);
        atomic_fetch_add(&done, 1);
        return;
    case COMPUTE_ERROR_INVALID_HANDLE: case COMPUTE_ERROR_UNWRITTEN: case COMPUTE_ERROR_SEVERAL: case COMPUTE_ERROR_OVERLAP: case COMPUTE_ERROR_ABANDONED:
        CHECK(error != NULL);
        atomic_fetch_add(&refused, 1);
        /* Errors are handed around too. */
        compute_error_release(atomic_exchange(&errors[(unsigned)-status % CELLS], error));
        return;
    default:
        fprintf(stderr, "  %s\n", compute_status_name(status));
        print_error(error);
        CHECK(!"an answer that no race explains");
    }
}

static void on_complete(void *user, compute_status status, compute_error error)
{
    (void)user;
    CHECK((status < 0) == (error != NULL));
    atomic_fetch_add(&callbacks_run, 1);
}

static void replace(unsigned what, unsigned cell)
{
    compute_error error = NULL;
    compute_status status = COMPUTE_OK;
    if (what == 0) {
        compute_stream made = NULL;
        status = compute_stream_create(device, NULL, &made, &error);
        compute_stream_release(atomic_exchange(&streams[cell], made));
    } else if (what == 1) {
        compute_buffer made = NULL;
        compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
        desc.size = BYTES;
        status = compute_buffer_create(device, &desc, &made, &error);
        compute_buffer_release(atomic_exchange(&buffers[cell], made));
    } else if (what == 2) {
        compute_kernel made = NULL;
        compute_kernel_desc desc = kernel_desc(INCREMENT, "raced");
        status = compute_kernel_create(device, &desc, &made, &error);
        compute_kernel_release(atomic_exchange(&kernels[cell], made));
    } else {
        compute_event made = NULL;
        status = compute_stream_record(atomic_load(&streams[cell]), &made, &error);
        compute_event_release(atomic_exchange(&events[cell], made));
    }
    may(status, error);
}

/* The error is looked at after the call. */
#define MAY(call)                        \
    do {                                 \
        compute_status status_ = (call); \
        may(status_, error);             \
    } while (0)

/* One call of some kind. */
static void act(uint32_t *random)
{
    uint32_t r = next_random(random);
    unsigned cell = r % CELLS, other = r / CELLS % CELLS;
    compute_stream stream = atomic_load(&streams[cell]);
    compute_buffer in = atomic_load(&buffers[cell]), out = atomic_load(&buffers[other]);
    compute_event event = atomic_load(&events[cell]);
    compute_view from = range(in, 0, 64), to = range(out, 64, 64), views[2] = { from, to };
    compute_error error = NULL;
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    unsigned char bytes[64] = { 0 };
    char text[256];
    uint64_t number;
    switch (r >> 16 & 31) {
    case 0: replace(0, cell); return;
    case 1: replace(1, cell); return;
    case 2: replace(2, cell); return;
    case 3: replace(3, cell); return;
    case 4: MAY(compute_buffer_destroy(in, &error)); return;
    case 5: MAY(compute_stream_destroy(stream, &error)); return;
    case 6: MAY(compute_event_destroy(event, &error)); return;
    case 7: MAY(compute_kernel_destroy(atomic_load(&kernels[cell]), &error)); return;
    case 8: compute_buffer_release(in); return;
    case 9: MAY(compute_buffer_retain(in, &error)); return;
    case 10: MAY(compute_stream_write(stream, &to, bytes, 64, &error)); return;
    case 11: MAY(compute_stream_read(stream, &from, bytes, 64, &error)); return;
    case 12: MAY(compute_stream_copy(stream, &from, &to, &error)); return;
    case 13: MAY(compute_stream_fill(stream, &to, bytes, 4, &error)); return;
    case 14: MAY(compute_event_poll(event, &error)); return;
    case 15: MAY(compute_event_wait(event, MILLISECONDS, &error)); return;
    case 16: MAY(compute_stream_wait_event(stream, event, &error)); return;
    case 17: MAY(compute_check(views, 2, 0, &error)); return;
    case 18: MAY(compute_stream_sync(stream, views, 2, 0, COMPUTE_FOREVER, &error)); return;
    case 19: MAY(compute_buffer_get_size(in, &number, &error)); return;
    case 20: MAY(compute_device_status(device, &error)); return;
    case 21: compute_error_get_info(atomic_load(&errors[cell]), &info); return;
    case 22: compute_error_format(atomic_load(&errors[cell]), r & 1, text, sizeof text, NULL); return;
    case 23: {
        compute_status status = compute_event_on_complete(event, on_complete, NULL, r >> 8 & 1, &error);
        if (status == COMPUTE_OK) atomic_fetch_add(&callbacks_asked, 1);
        may(status, error);
        return;
    }
    default: {
        compute_binding bindings[2] = { bind(0, in), bind(1, out) };
        compute_launch_desc desc = launch_desc(atomic_load(&kernels[cell]), BYTES / 256, 1, 1, bindings, 2);
        MAY(compute_stream_launch(stream, &desc, &error));
    }
    }
}

static void *work(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
    for (uint64_t end = now_ns() + run_for; now_ns() < end;) {
        for (int i = 0; i < 50; i++) act(&random);
    }
    return NULL;
}

TEST(thr_01_f1_eight_threads_end_each_others_handles_and_nothing_breaks)
{
    device = open_device();
    kernel = make_kernel(device, INCREMENT);
    for (unsigned cell = 0; cell < CELLS; cell++) {
        for (unsigned what = 0; what < 4; what++) replace(what, cell);
    }
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    printf("  %lu calls done, %lu refused, %lu callbacks\n", atomic_load(&done), atomic_load(&refused), atomic_load(&callbacks_run));
    CHECK(atomic_load(&done) > 100 && atomic_load(&refused) > 100);

    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, BYTES, "in"), out = make_buffer(device, BYTES, "out");
    fill_words(stream, in, 41);
    OK(launch_io(stream, kernel, "after", in, out, BYTES / 256));
    CHECK_EQ(get_word(stream, out, BYTES / 4 - 1), 42);
    OK(compute_device_status(device, E));
    for (unsigned cell = 0; cell < CELLS; cell++) {
        compute_stream_release(atomic_load(&streams[cell]));
        compute_buffer_release(atomic_load(&buffers[cell]));
        compute_kernel_release(atomic_load(&kernels[cell]));
        compute_event_release(atomic_load(&events[cell]));
        compute_error_release(atomic_load(&errors[cell]));
    }
    /* Ends the device's handle, so that whoever still waits is told. Callbacks of the worker kind come when they come. */
    OK(compute_device_destroy(device, E));
    for (uint64_t end = now_ns() + 10 * SECONDS; atomic_load(&callbacks_run) < atomic_load(&callbacks_asked) && now_ns() < end;) usleep(1000);
    CHECK_EQ(atomic_load(&callbacks_run), atomic_load(&callbacks_asked));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (argc > 2) run_for = strtoull(argv[2], NULL, 10) * MILLISECONDS;
    RUN(thr_01_f1_eight_threads_end_each_others_handles_and_nothing_breaks);
    return finish();
}
