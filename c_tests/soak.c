/* MEM-07: five hundred times a device, streams, buffers, kernels, launches, reads, events and errors, each round released in another order, some things
 * twice retained, some destroyed. Resident memory, threads and file descriptors stay where they are.
 *
 *     soak [CYCLES]
 */
#include "rules.h"

#include <dirent.h>

enum { STREAMS = 2, BUFFERS = 3, WARM_UP = 50, LARGE = 4 << 20 };

static int entries(const char *folder)
{
    int count = 0;
    DIR *directory = opendir(folder);
    CHECK(directory != NULL);
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

enum kind { DEVICE, STREAM, BUFFER, KERNEL, EVENT, ERROR };
static struct thing {
    enum kind kind;
    void *handle;
} things[32];
static size_t thing_count;

static void *keep(enum kind kind, void *handle)
{
    CHECK(thing_count < COUNT_OF(things));
    things[thing_count].kind = kind;
    things[thing_count++].handle = handle;
    return handle;
}

static void let_go(struct thing thing)
{
    switch (thing.kind) {
    case DEVICE: compute_device_release(thing.handle); break;
    case STREAM: compute_stream_release(thing.handle); break;
    case BUFFER: compute_buffer_release(thing.handle); break;
    case KERNEL: compute_kernel_release(thing.handle); break;
    case EVENT: compute_event_release(thing.handle); break;
    case ERROR: compute_error_release(thing.handle); break;
    }
}

static void work(uint32_t *random)
{
    compute_device device = keep(DEVICE, next_random(random) & 1 ? open_device() : open_faulty());
    compute_stream streams[STREAMS];
    compute_buffer buffers[BUFFERS];
    for (int i = 0; i < STREAMS; i++) streams[i] = keep(STREAM, make_stream(device));
    for (int i = 0; i < BUFFERS; i++) buffers[i] = keep(BUFFER, make_buffer(device, LARGE, "soak"));
    compute_kernel increment = keep(KERNEL, make_kernel(device, INCREMENT));
    put_word(streams[0], buffers[0], 5, next_random(random) & 0xffff);
    OK(launch_io(streams[0], increment, "", buffers[0], buffers[1], LARGE / 4 / 64 / 16));
    OK(launch_io(streams[1], increment, "", buffers[1], buffers[2], 4));
    compute_event event = NULL, read = NULL;
    OK(compute_stream_record(streams[1], &event, E));
    keep(EVENT, event);
    /* Each outlives its asynchronous read, whenever that happens. */
    static uint32_t words[1 << 16], used;
    uint32_t *word = &words[used++ % COUNT_OF(words)];
    compute_view view = range(buffers[2], 20, 4), outside = range(buffers[2], LARGE, 4);
    OK(compute_stream_read_async(streams[1], &view, word, 4, &read, E));
    keep(EVENT, read);
    compute_error error = NULL;
    CHECK(compute_check(&outside, 1, 0, &error) < 0);
    keep(ERROR, error);
    if (next_random(random) & 1) OK(compute_event_wait(read, COMPUTE_FOREVER, E));
    if (next_random(random) & 1) OK(compute_buffer_destroy(buffers[next_random(random) % BUFFERS], E));
    if (next_random(random) & 1) {
        OK(compute_kernel_retain(increment, E));
        keep(KERNEL, increment);
    }
    if (next_random(random) % 4 == 0) OK(compute_device_destroy(device, E));
}

int main(int argc, char **argv)
{
    int cycles = argc > 1 ? atoi(argv[1]) : 500;
    uint32_t random = 2463534242u;
    long rss = 0, threads = 0, most = 0;
    int fds = 0;
    uint64_t start = now_ns();
    for (int cycle = 0; cycle < cycles; cycle++) {
        thing_count = 0;
        work(&random);
        while (thing_count) {
            size_t pick = next_random(&random) % thing_count;
            struct thing thing = things[pick];
            things[pick] = things[--thing_count];
            let_go(thing);
        }
        compute_error_release(last_error);
        last_error = NULL;
        if (cycle + 1 == WARM_UP) {
            usleep(200000); /* whatever ends in the background has ended */
            rss = rss_kib();
            threads = proc_status("Threads");
            fds = entries("/proc/self/fd");
        }
        if (cycle % 50 == 49) {
            long now = rss_kib();
            if (now > most) most = now;
            printf("%4d cycles: %ld KiB resident, %ld threads\n", cycle + 1, now, proc_status("Threads"));
            fflush(stdout);
        }
    }
    usleep(500000);
    long grown = rss_kib() - rss, allowed = (long)(cycles - WARM_UP) * 1024 / 100 + RSS_SLACK_KIB;
    printf("%d cycles in %.1f s: grown by %ld KiB since the %dth (allowed %ld), %ld threads (were %ld), %d files (were %d)\n", cycles,
        1e-9 * (double)(now_ns() - start), grown, WARM_UP, allowed, proc_status("Threads"), threads, entries("/proc/self/fd"), fds);
    int good = cycles <= WARM_UP || (grown < allowed && proc_status("Threads") <= threads && entries("/proc/self/fd") <= fds);
    printf("%d passed, %d failed\n", good, !good);
    return !good;
}
