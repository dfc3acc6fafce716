/* Tensors on their way without the caller's waiting: strided writes of borrowed host memory (M7) and lazy readbacks of elements (M8). */
#include "memory.h"

enum { ROWS = 50, WIDTH = 12, PITCH = 40, HOST_PITCH = 16, SPAN = (ROWS - 1) * PITCH + WIDTH, HOST_SPAN = (ROWS - 1) * HOST_PITCH + WIDTH };
static const uint64_t shape[2] = { ROWS, WIDTH };
static const int64_t apart[2] = { PITCH, 1 }, host_apart[2] = { HOST_PITCH, 1 };

static compute_strided_desc elements(const int64_t *from, const int64_t *to)
{
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    desc.rank = 2;
    desc.shape = shape;
    desc.element_size = 1;
    desc.from_strides = from;
    desc.to_strides = to;
    return desc;
}

static void number(unsigned char *bytes, int first)
{
    for (int i = 0; i < HOST_SPAN; i++) bytes[i] = (unsigned char)(first + 3 * i);
}

/* What the buffer should hold that was all `between` and then got the host's rows. */
static void check_rows(compute_buffer buffer, const unsigned char *host, unsigned char between)
{
    static unsigned char got[SPAN];
    OK(get(stream, buffer, 0, got, SPAN));
    for (int i = 0; i < SPAN; i++) CHECK_EQ(got[i], i % PITCH < WIDTH ? host[i / PITCH * HOST_PITCH + i % PITCH] : between);
}

TEST(m7_a_strided_write_of_borrowed_memory_needs_it_until_its_event_and_no_longer)
{
    set_up();
    unsigned char host[HOST_SPAN];
    compute_strided_desc desc = elements(host_apart, apart);
    for (int busy = 0; busy < 2; busy++) {
        compute_buffer buffer = stream_buffer(stream, 4096), slow = stream_buffer(stream, 256);
        compute_view view = whole(buffer);
        compute_event over = NULL;
        unsigned char kept[HOST_SPAN];
        OK(compute_stream_fill(stream, &view, "\x11", 1, E));
        number(host, busy);
        memcpy(kept, host, sizeof kept);
        if (busy) long_work(stream, slow);
        OK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, &over, E));
        OK(compute_event_wait(over, COMPUTE_FOREVER, E));
        memset(host, 0, sizeof host);
        check_rows(buffer, kept, 0x11);
        compute_event_release(over);
        compute_buffer_release(buffer);
        compute_buffer_release(slow);
    }
}

TEST(t1_t4_borrowed_rows_repair_what_they_cover_and_leave_the_rest_never_written)
{
    set_up();
    unsigned char host[HOST_SPAN];
    compute_strided_desc desc = elements(host_apart, apart);
    compute_buffer buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer);
    compute_event over = NULL;
    number(host, 9);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, NULL, 4096, E));
    CHECK(claimed_by(buffer, 0, 4096) != 0);
    OK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, &over, E));
    OK(compute_event_wait(over, COMPUTE_FOREVER, E));
    CHECK_EQ(claimed_by(buffer, 3 * PITCH, WIDTH), 0);
    CHECK(claimed_by(buffer, 3 * PITCH + WIDTH, 1) != 0);
    compute_event_release(over);
    compute_buffer fresh = stream_buffer(stream, 4096);
    view = whole(fresh);
    OK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, &over, E));
    check_rows(fresh, host, 0);
    OK(compute_event_wait(over, COMPUTE_FOREVER, E));
}

TEST(t2_a_refused_strided_write_of_borrowed_memory_claims_its_rows_and_borrows_nothing)
{
    set_up();
    unsigned char host[HOST_SPAN];
    compute_strided_desc desc = elements(host_apart, apart), odd = desc;
    compute_buffer buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer), tail = range(buffer, 4096 - SPAN + 1, COMPUTE_WHOLE);
    compute_event over = NULL;
    number(host, 0);
    odd.to_strides = host_apart;
    odd.element_size = 0;
    fill_words(stream, buffer, 1);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, NULL, E));
    uint64_t failure = last_info().failure;
    CHECK(claimed_by(buffer, 2 * PITCH, WIDTH) == failure && claimed_by(buffer, 2 * PITCH + WIDTH, PITCH - WIDTH) == 0);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided_borrowed(stream, &view, &desc, NULL, sizeof host, &over, E));
    CHECK(claimed_by(buffer, 0, 1) == last_info().failure);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host - 1, &over, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write_strided_borrowed(stream, &tail, &desc, host, sizeof host, &over, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided_borrowed(stream, &view, &odd, host, sizeof host, &over, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided_borrowed(stream, &view, NULL, host, sizeof host, &over, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided_borrowed(stream, NULL, &desc, host, sizeof host, &over, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_write_strided_borrowed(NULL, &view, &desc, host, sizeof host, &over, E));
    CHECK(over == NULL);
    OK(compute_stream_fill(stream, &view, "\x22", 1, E));
    OK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, &over, E));
    check_rows(buffer, host, 0x22);
}

/* Leaves staging memory behind that is full of ones. */
static void soil_staging(void)
{
    compute_buffer dirty = stream_buffer(stream, 4096);
    compute_view view = whole(dirty);
    compute_readback readback = NULL;
    const void *bytes = NULL;
    fill_words(stream, dirty, 0xffffffffu);
    OK(compute_stream_read_lazy(stream, &view, &readback, E));
    OK(compute_readback_get(readback, &bytes, NULL, E));
    compute_readback_release(readback);
    compute_buffer_release(dirty);
}

TEST(m8_a_lazy_readback_of_elements_gives_them_as_they_are_at_the_first_access_with_zeros_between)
{
    set_up();
    unsigned char host[HOST_SPAN];
    compute_strided_desc in = elements(host_apart, apart), out = elements(apart, host_apart), packed = elements(apart, NULL);
    compute_buffer buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer);
    compute_readback spread = NULL, dense = NULL;
    OK(compute_stream_fill(stream, &view, "\x33", 1, E));
    OK(compute_stream_read_strided_lazy(stream, &view, &out, &spread, E));
    OK(compute_stream_read_strided_lazy(stream, &view, &packed, &dense, E));
    compute_buffer_release(buffer); /* kept alive by what is promised of it */
    number(host, 77);
    view = whole(buffer);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_write_strided(stream, &view, &in, host, sizeof host, E));
    for (int access = 0; access < 2; access++) {
        soil_staging();
        const unsigned char *bytes = NULL;
        uint64_t size = 0;
        OK(compute_readback_get(spread, (const void **)&bytes, &size, E));
        CHECK_EQ(size, HOST_SPAN);
        for (int i = 0; i < HOST_SPAN; i++) CHECK_EQ(bytes[i], i % HOST_PITCH < WIDTH ? 0x33 : 0);
        OK(compute_readback_get(dense, (const void **)&bytes, &size, E));
        CHECK_EQ(size, ROWS * WIDTH);
        for (int i = 0; i < ROWS * WIDTH; i++) CHECK_EQ(bytes[i], 0x33);
    }
    compute_readback_release(spread);
    compute_readback_release(dense);
}

/* Bytes of this process that are in memory. */
static uint64_t resident(void)
{
    unsigned long all = 0, here = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &all, &here) == 2);
    fclose(file);
    return here * UINT64_C(4096);
}

TEST(f1_rows_that_are_gigabytes_apart_in_what_a_lazy_readback_gives_take_no_memory_for_what_is_between)
{
    set_up();
    const int64_t far[2] = { INT64_C(2) << 30, 1 };
    const uint64_t three[2] = { 3, WIDTH };
    compute_buffer buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer);
    compute_readback readback = NULL;
    const unsigned char *bytes = NULL;
    uint64_t size = 0;
    OK(compute_stream_fill(stream, &view, "\x55", 1, E));
    compute_strided_desc desc = elements(apart, far);
    desc.shape = three;
    OK(compute_stream_read_strided_lazy(stream, &view, &desc, &readback, E));
    wait_for(stream);
    uint64_t before = resident();
    OK(compute_readback_get(readback, (const void **)&bytes, &size, E));
    CHECK_EQ(size, 2 * (uint64_t)far[0] + WIDTH);
    for (int i = 0; i < 3; i++) {
        const unsigned char *row = bytes + i * (uint64_t)far[0];
        for (int b = 0; b < WIDTH; b++) CHECK_EQ(row[b], 0x55);
        if (i < 2) CHECK(row[WIDTH] == 0 && row[far[0] / 2] == 0 && row[far[0] - 1] == 0);
    }
    uint64_t more = resident() - before;
    /* A driver may need some for its own transfers. */
    if (more > 512 << 20) printf("  %llu MiB more are in memory\n", (unsigned long long)(more >> 20));
    /* A sanitizer has memory of its own for all of it. */
    if (RSS_SLACK_KIB == 0) CHECK(more <= 512 << 20);
    else printf("  not tried: what is in memory under a sanitizer\n");
    compute_readback_release(readback);
}

TEST(t8_a_lazy_readback_of_elements_answers_for_its_rows_and_can_be_tried_again)
{
    set_up();
    compute_strided_desc out = elements(apart, NULL);
    compute_buffer buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer), row = range(buffer, 5 * PITCH, 4), gap = range(buffer, 5 * PITCH + WIDTH, 4);
    compute_readback readback = NULL;
    const void *bytes = NULL;
    compute_event event = NULL;
    OK(compute_stream_fill(stream, &view, "\x44", 1, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &gap, NULL, 4, E));
    OK(compute_stream_read_strided_lazy(stream, &view, &out, &readback, E));
    OK(compute_readback_get(readback, &bytes, NULL, E));
    compute_readback_release(readback);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &row, NULL, 4, E));
    OK(compute_stream_read_strided_lazy(stream, &view, &out, &readback, E));
    IS(COMPUTE_ERROR_UNWRITTEN, compute_readback_get(readback, &bytes, NULL, E));
    CHECK(bytes == NULL);
    OK(compute_stream_fill(stream, &row, "\x44", 1, E));
    OK(compute_readback_start(readback, &event, E));
    OK(compute_readback_get(readback, &bytes, NULL, E));
    CHECK(((const unsigned char *)bytes)[5 * WIDTH] == 0x44);
    compute_event_release(event);
    compute_readback_release(readback);
}

TEST(m9_lazy_readbacks_of_elements_that_cannot_be_are_refused_when_they_are_made)
{
    set_up();
    compute_buffer buffer = stream_buffer(stream, SPAN - 1);
    compute_view view = whole(buffer);
    compute_strided_desc out = elements(apart, NULL), bad = out;
    const uint64_t huge[2] = { UINT64_C(1) << 62, 8 };
    const int64_t back[2] = { -40, 1 };
    compute_readback readback = NULL;
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_read_strided_lazy(stream, &view, &out, &readback, E));
    bad.shape = huge;
    IS(COMPUTE_ERROR_TOO_LARGE, compute_stream_read_strided_lazy(stream, &view, &bad, &readback, E));
    bad = out;
    bad.from_strides = back;
    IS(COMPUTE_ERROR_UNSUPPORTED_STRIDES, compute_stream_read_strided_lazy(stream, &view, &bad, &readback, E));
    bad = out;
    bad.rank = 9;
    IS(COMPUTE_ERROR_LIMIT, compute_stream_read_strided_lazy(stream, &view, &bad, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided_lazy(stream, &view, NULL, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided_lazy(stream, NULL, &out, &readback, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided_lazy(stream, &view, &out, NULL, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_read_strided_lazy(NULL, &view, &out, &readback, E));
    CHECK(readback == NULL);
    const uint64_t none[2] = { 0, WIDTH };
    bad = out;
    bad.shape = none;
    OK(compute_stream_read_strided_lazy(stream, &view, &bad, &readback, E));
    const void *bytes = NULL;
    uint64_t size = 99;
    OK(compute_readback_get(readback, &bytes, &size, E));
    CHECK_EQ(size, 0);
    compute_readback_release(readback);
}

TEST(f1_whichever_call_of_the_device_fails_borrowed_rows_and_lazy_ones_are_right_or_an_error)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LATE, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    unsigned char host[HOST_SPAN];
    compute_strided_desc in = elements(host_apart, apart), out = elements(apart, host_apart);
    int reached = 0;
    number(host, 5);
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1; call < 12; call++) {
            set_up_on(open_faulty());
            compute_buffer buffer = make_buffer(device, 4096, "rows");
            compute_view view = whole(buffer);
            compute_event over = NULL;
            compute_readback readback = NULL;
            const unsigned char *bytes = NULL;
            OK(compute_device_inject_fault(device, call, ways[way], E));
            (void)compute_stream_write_strided_borrowed(stream, &view, &in, host, sizeof host, &over, NULL);
            if (over) (void)compute_event_wait(over, COMPUTE_FOREVER, NULL);
            compute_status status = compute_stream_read_strided_lazy(stream, &view, &out, &readback, E);
            if (status == COMPUTE_OK) status = compute_readback_get(readback, (const void **)&bytes, NULL, E);
            if (status == COMPUTE_OK) {
                for (int i = 0; i < HOST_SPAN; i++) CHECK_EQ(bytes[i], i % HOST_PITCH < WIDTH ? host[i] : 0);
            } else {
                CHECK(status < 0 && bytes == NULL);
                reached++;
            }
            compute_readback_release(readback);
            compute_event_release(over);
            compute_buffer_release(buffer);
            compute_stream_release(stream);
            compute_device_release(device);
        }
    }
    CHECK(reached >= 10);
}

TEST(m6_strided_writes_that_wait_for_their_turn_are_charged_and_borrowed_ones_are_not)
{
    set_up();
    if (!runs_long(device, stream)) return;
    unsigned char host[HOST_SPAN];
    compute_strided_desc desc = elements(host_apart, apart);
    compute_buffer slow = stream_buffer(stream, 256), buffer = stream_buffer(stream, 4096);
    compute_view view = whole(buffer);
    compute_budget budget = make_budget(1 << 20);
    compute_event over = NULL;
    number(host, 0);
    OK(compute_stream_set_budget(stream, budget, E));
    long_work(stream, slow);
    OK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, sizeof host, &over, E));
    CHECK_EQ(charges(budget).charged, 0);
    OK(compute_stream_write_strided(stream, &view, &desc, host, sizeof host, E));
    compute_status still = compute_event_poll(over, NULL);
    if (still == COMPUTE_NOT_READY) CHECK_EQ(charges(budget).charged_peak, ROWS * WIDTH);
    wait_for(stream);
    for (int tries = 0; charges(budget).charged != 0 && tries < 1000; tries++) usleep(1000); /* given back by a thread of the library */
    CHECK_EQ(charges(budget).charged, 0);
}

TEST(t12_f1_borrowed_rows_of_a_write_that_fails_half_way_are_the_callers_when_the_call_returns)
{
    enum { PLANES = 2, PLANE = 60 * PITCH, HOST_PLANE = 60 * HOST_PITCH, HOST = HOST_PLANE + HOST_SPAN };
    static const uint64_t planes[3] = { PLANES, ROWS, WIDTH };
    static const int64_t to[3] = { PLANE, PITCH, 1 }, from[3] = { HOST_PLANE, HOST_PITCH, 1 };
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_PANIC };
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        set_up_on(open_faulty());
        if (!runs_long(device, stream)) return;
        unsigned char *host = malloc(HOST);
        compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
        desc.rank = 3;
        desc.shape = planes;
        desc.element_size = 1;
        desc.from_strides = from;
        desc.to_strides = to;
        compute_buffer slow = make_buffer(device, 256, "slow"), buffer = make_buffer(device, 8192, "rows");
        compute_view view = whole(buffer);
        compute_native_info native = COMPUTE_NATIVE_INFO_INIT;
        compute_event over = NULL;
        OK(compute_stream_fill(stream, &view, "\x11", 1, E));
        OK(compute_stream_export(stream, &view, COMPUTE_ACCESS_WRITE, &native, E));
        if (native.kind != COMPUTE_NATIVE_ADDRESS) {
            printf("  left out: the host cannot look at this device's memory\n");
            free(host);
            return;
        }
        for (int i = 0; i < HOST; i++) host[i] = (unsigned char)(3 * i);
        spin = NULL; /* of another device */
        long_work(stream, slow);
        /* The second piece is refused when the first one is enqueued already, behind the long work. */
        OK(compute_device_inject_fault(device, 2, ways[way], E));
        CHECK(compute_stream_write_strided_borrowed(stream, &view, &desc, host, HOST, &over, NULL) < 0 && over == NULL);
        memset(host, 0xEE, HOST);
        (void)compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, NULL);
        const unsigned char *bytes = (const unsigned char *)(uintptr_t)(native.handle + native.offset);
        for (int row = 0; row < ROWS; row++) {
            for (int i = 0; i < WIDTH; i++) CHECK_EQ(bytes[row * PITCH + i], (unsigned char)(3 * (row * HOST_PITCH + i)));
        }
        free(host);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m7_a_strided_write_of_borrowed_memory_needs_it_until_its_event_and_no_longer);
    RUN(t1_t4_borrowed_rows_repair_what_they_cover_and_leave_the_rest_never_written);
    RUN(t2_a_refused_strided_write_of_borrowed_memory_claims_its_rows_and_borrows_nothing);
    RUN(m8_a_lazy_readback_of_elements_gives_them_as_they_are_at_the_first_access_with_zeros_between);
    RUN(f1_rows_that_are_gigabytes_apart_in_what_a_lazy_readback_gives_take_no_memory_for_what_is_between);
    RUN(t8_a_lazy_readback_of_elements_answers_for_its_rows_and_can_be_tried_again);
    RUN(m9_lazy_readbacks_of_elements_that_cannot_be_are_refused_when_they_are_made);
    RUN(f1_whichever_call_of_the_device_fails_borrowed_rows_and_lazy_ones_are_right_or_an_error);
    RUN(t12_f1_borrowed_rows_of_a_write_that_fails_half_way_are_the_callers_when_the_call_returns);
    RUN(m6_strided_writes_that_wait_for_their_turn_are_charged_and_borrowed_ones_are_not);
    return finish();
}
