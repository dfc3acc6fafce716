/* M6 and M7: memory for bytes on their way, and scratch. */
#include "memory.h"

/* ---- M6: bytes on their way are charged ---- */

TEST(m6_bytes_that_wait_for_their_turn_on_the_way_to_the_device_are_charged_until_they_are_there)
{
    set_up();
    static unsigned char bytes[MIB];
    compute_budget budget = make_budget(3 * MIB);
    compute_buffer busy = make_buffer(device, 64, "busy"), to = make_buffer(device, MIB, "to");
    compute_stream other = make_stream(device);
    long_work(stream, busy);
    wait_for(stream);
    OK(compute_stream_set_budget(stream, budget, E));
    put(stream, to, 0, bytes, MIB); /* nothing is ahead: straight to its place */
    CHECK_EQ(charges(budget).charged_peak, 0);
    long_work(stream, busy);
    memset(bytes, 5, sizeof bytes);
    put(stream, to, 0, bytes, MIB);
    put(other, busy, 32, bytes, 4); /* a stream without a budget */
    compute_event done = NULL;
    OK(compute_stream_record(stream, &done, E));
    uint64_t charged = charges(budget).charged;
    if (compute_event_poll(done, E) == COMPUTE_NOT_READY) CHECK_EQ(charged, MIB);
    else printf("  the work was over too early to tell\n");
    compute_buffer_release(to); /* the handle is gone, the bytes are on their way */
    wait_for(stream);
    for (int i = 0; i < 1000 && charges(budget).charged; i++) usleep(1000); /* by the thread that finished it */
    CHECK_EQ(charges(budget).charged, 0);
}

TEST(m6_an_upload_that_the_budget_has_no_room_for_waits_for_what_is_ahead)
{
    set_up();
    static unsigned char bytes[MIB];
    compute_budget budget = make_budget(MIB / 2);
    compute_buffer busy = make_buffer(device, 64, "busy"), to = make_buffer(device, MIB, "to");
    OK(compute_stream_set_budget(stream, budget, E));
    for (int round = 0; round < 3; round++) {
        long_work(stream, busy);
        memset(bytes, round + 1, sizeof bytes);
        put(stream, to, 0, bytes, MIB);
        CHECK(charges(budget).charged <= MIB / 2);
        CHECK_EQ(get_word(stream, to, MIB / 4 - 1), 0x01010101u * (uint32_t)(round + 1));
        CHECK_EQ(get_word(stream, busy, 0), 42);
    }
}

TEST(m6_t13_readbacks_that_wait_aside_are_charged_and_their_memory_is_used_again)
{
    set_up_on(open_faulty()); /* work can fail late, so bytes wait until nothing can */
    static unsigned char bytes[MIB];
    compute_budget budget = make_budget(MIB);
    compute_buffer busy = make_buffer(device, 64, "busy"), from = make_buffer(device, MIB, "from");
    fill_words(stream, from, 3);
    long_work(stream, busy);
    wait_for(stream);
    OK(compute_stream_set_budget(stream, budget, E));
    for (int round = 0; round < 4; round++) {
        long_work(stream, busy);
        fill_words(stream, from, 3); /* or what is idle in memory that host and device share is read at once */
        compute_view view = range(from, 0, 700000);
        compute_event read = NULL, second = NULL;
        OK(compute_stream_read_async(stream, &view, bytes, 700000, &read, E));
        CHECK_EQ(charges(budget).charged, MIB); /* rounded up */
        CHECK_EQ(usage().bytes_staging, MIB);
        view.size = 4;
        bytes[MIB - 1] = 0xee;
        IS(COMPUTE_ERROR_BUDGET, compute_stream_read_async(stream, &view, bytes + MIB - 4, 4, &second, E));
        CHECK(second == NULL && bytes[MIB - 1] == 0xee);
        CHECK_EQ(last_info().reclaimable, 1);
        CHECK_EQ(claimed_by(from, 0, COMPUTE_WHOLE), 0);
        if (round == 3) {
            compute_event_release(read); /* the charge outlives the handle */
            CHECK_EQ(charges(budget).charged, MIB);
            wait_for(stream);
        } else {
            OK(compute_event_wait(read, COMPUTE_FOREVER, E));
            uint32_t word;
            memcpy(&word, bytes + 699996, 4);
            CHECK_EQ(word, 3);
            compute_event_release(read);
        }
        for (int i = 0; i < 1000 && charges(budget).charged; i++) usleep(1000);
        CHECK_EQ(charges(budget).charged, 0);
        CHECK_EQ(usage().bytes_staging, MIB); /* kept for the next */
    }
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_staging, 0);
}

TEST(f1_a_readback_without_staging_memory_is_refused_and_nothing_is_lost)
{
    for (uint64_t call = 1; call <= 3; call++) {
        set_up_on(open_faulty());
        static unsigned char bytes[MIB];
        compute_buffer from = make_buffer(device, MIB, "from");
        fill_words(stream, from, 3);
        compute_view view = whole(from);
        compute_event read = NULL;
        OK(compute_device_inject_fault(device, call, COMPUTE_FAULT_OUT_OF_MEMORY, E));
        compute_status status = compute_stream_read_async(stream, &view, bytes, MIB, &read, E);
        CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_OUT_OF_MEMORY);
        if (call == 1) CHECK(status == COMPUTE_ERROR_OUT_OF_MEMORY); /* the staging memory itself */
        OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
        CHECK_EQ(get_word(stream, from, 77), 3);
        compute_event_release(read);
        wait_for(stream);
        compute_buffer_release(from);
        OK(compute_device_cleanup(device, E));
        CHECK_EQ(usage().bytes_staging, 0);
        CHECK_EQ(usage().bytes_reserved, 0);
        compute_stream_release(stream);
        compute_device_release(device);
    }
}

/* ---- M7: scratch ---- */

static compute_status try_scratch(compute_stream of, uint64_t size, compute_buffer *buffer)
{
    compute_buffer_desc desc = buffer_desc(of, size, COMPUTE_BUFFER_FLAG_SCRATCH);
    desc.label = "scratch";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    return compute_buffer_create(device, &desc, buffer, E);
}

TEST(m7_scratch_is_recycled_in_stream_order_under_a_limit)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer in = make_buffer(device, 60000, "in"), out = make_buffer(device, 60000, "out"), scratch = NULL, more = NULL;
    fill_words(stream, in, 1);
    OK(compute_stream_set_scratch_limit(stream, 100000, E));
    for (int round = 0; round < 100; round++) {
        OK(try_scratch(stream, 60000, &scratch));
        OK(launch_io(stream, increment, "", in, scratch, 235));
        OK(launch_io(stream, increment, "", scratch, out, 235));
        compute_buffer_release(scratch); /* while the work goes on */
    }
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(reports[1].pages_peak, 1);
    CHECK_EQ(reports[1].bytes_in_use_peak, 60160);
    CHECK_EQ(get_word(stream, out, 14999), 3);
    OK(try_scratch(stream, 60000, &scratch));
    IS(COMPUTE_ERROR_LIMIT, try_scratch(stream, 50000, &more));
    CHECK(error_says("50000 bytes") && error_says("40000 of its 100000 are free"));
    CHECK_EQ(last_info().reclaimable, 1);
    IS(COMPUTE_ERROR_LIMIT, try_scratch(stream, UINT64_MAX, &more));
    CHECK_EQ(last_info().reclaimable, 0);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_scratch(NULL, 50000, &more));
    CHECK(more == NULL);
    OK(try_scratch(stream, 40000, &more));
    compute_buffer_release(more);
    OK(compute_stream_set_scratch_limit(stream, 0, E));
    IS(COMPUTE_ERROR_LIMIT, try_scratch(stream, 4, &more));
    OK(try_buffer(stream, 50000, &more)); /* no scratch */
    fill_words(stream, scratch, 7);
    CHECK_EQ(get_word(stream, scratch, 9), 7);
}

struct reading {
    compute_buffer from;
    int begun, over;
    uint32_t word;
};
static void *read_it(void *argument)
{
    struct reading *reading = argument;
    compute_view view = range(reading->from, 0, 4);
    compute_error error = NULL;
    __atomic_store_n(&reading->begun, 1, __ATOMIC_SEQ_CST);
    CHECK(compute_stream_read(stream, &view, &reading->word, 4, &error) == COMPUTE_OK);
    __atomic_store_n(&reading->over, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

TEST(m7_scratch_whose_last_handle_goes_while_another_thread_reads_it_counts_no_longer)
{
    set_up();
    if (!runs_long(device, stream)) return;
    compute_buffer scratch = NULL, more = NULL;
    OK(compute_stream_set_scratch_limit(stream, 60000, E));
    /* Handed to somebody who gives it back, and not. */
    for (int shared = 0; shared < 2; shared++) {
        OK(try_scratch(stream, 60000, &scratch));
        if (shared) OK(compute_buffer_retain(scratch, E));
        long_work(stream, scratch);
        struct reading reading = { scratch, 0, 0, 0 };
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, read_it, &reading) == 0);
        while (!__atomic_load_n(&reading.begun, __ATOMIC_SEQ_CST)) usleep(100);
        usleep(20000); /* it has looked the buffer up, and waits */
        if (shared) compute_buffer_release(scratch);
        compute_buffer_release(scratch);
        compute_status status = try_scratch(stream, 60000, &more);
        int over = __atomic_load_n(&reading.over, __ATOMIC_SEQ_CST);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK_EQ(reading.word, 42);
        if (over) printf("  the work was over too early to tell\n");
        OK(status);
        compute_buffer_release(more);
    }
}

TEST(m7_scratch_of_another_stream_is_refused_and_what_was_to_be_written_is_claimed)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_stream other = make_stream(device);
    compute_buffer scratch = NULL, out = make_buffer(device, 4096, "out");
    OK(try_scratch(stream, 4096, &scratch));
    fill_words(stream, scratch, 1);
    fill_words(stream, out, 1);
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, launch_io(other, increment, "", scratch, out, 16));
    CHECK(error_says("`scratch`"));
    CHECK(claimed_by(out, 0, 4096) == last_info().failure);
    uint32_t word = 9;
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, get(other, scratch, 0, &word, 4));
    CHECK_EQ(word, 9);
    CHECK_EQ(get_word(stream, scratch, 5), 1);
    OK(launch_io(stream, increment, "", scratch, out, 16));
    CHECK_EQ(get_word(other, out, 1023), 2);
}

TEST(m6_m7_scratch_under_a_budget_serves_the_next_of_its_size_in_order_without_waiting)
{
    set_up();
    enum { SIZE = 60000, CHARGED = 60160 };
    int waits = runs_long(device, stream);
    compute_event worked = NULL;
    compute_budget budget = make_budget(CHARGED);
    compute_buffer out = make_buffer(device, 64, "out"), other = NULL;
    fill_words(stream, out, 0);
    if (waits) long_work(stream, out); /* what it needs is made before it is charged for */
    wait_for(stream);
    OK(compute_stream_set_budget(stream, budget, E));
    for (uint32_t round = 0; round < 4; round++) {
        compute_buffer_desc desc = buffer_desc(stream, SIZE, round % 2 ? COMPUTE_BUFFER_FLAG_SCRATCH : 0);
        compute_buffer scratch = NULL;
        OK(compute_buffer_create(device, &desc, &scratch, E));
        CHECK_EQ(charges(budget).charged, CHARGED);
        if (waits && round == 1) IS(COMPUTE_NOT_READY, compute_event_poll(worked, E)); /* so nobody waited for it */
        for (int i = 0; waits && round == 0 && i < 8; i++) long_work(stream, scratch);
        if (round == 0) OK(compute_stream_record(stream, &worked, E));
        compute_view from = range(scratch, 0, 4), end = range(scratch, 4, 4), to = range(out, 4 * round, 4);
        if (round > 0) OK(compute_stream_fill(stream, &end, &round, 4, E));
        if (round > 0) from = end;
        OK(compute_stream_copy(stream, &from, &to, E));
        compute_buffer_release(scratch);
    }
    CHECK_EQ(charges(budget).charged_peak, CHARGED);
    /* Another size finds no room while one of the first is charged. */
    OK(try_buffer(stream, 30000, &other));
    CHECK_EQ(get_word(stream, out, 0), waits ? 42 : 0);
    for (uint32_t round = 1; round < 4; round++) CHECK_EQ(get_word(stream, out, round), round);
    compute_buffer_release(other);
    wait_for(stream);
    CHECK_EQ(usage().bytes_pending, 0);
    CHECK_EQ(charges(budget).charged, 0);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m6_bytes_that_wait_for_their_turn_on_the_way_to_the_device_are_charged_until_they_are_there);
    RUN(m6_an_upload_that_the_budget_has_no_room_for_waits_for_what_is_ahead);
    RUN(m6_t13_readbacks_that_wait_aside_are_charged_and_their_memory_is_used_again);
    RUN(f1_a_readback_without_staging_memory_is_refused_and_nothing_is_lost);
    RUN(m7_scratch_is_recycled_in_stream_order_under_a_limit);
    RUN(m7_scratch_whose_last_handle_goes_while_another_thread_reads_it_counts_no_longer);
    RUN(m7_scratch_of_another_stream_is_refused_and_what_was_to_be_written_is_claimed);
    RUN(m6_m7_scratch_under_a_budget_serves_the_next_of_its_size_in_order_without_waiting);
    return finish();
}
