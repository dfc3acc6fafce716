/* Buffers that end where the next of their size begins (M1): nothing of the first is in the second, and nobody can tell from counts, marks or errors that the library
 * kept the first. */
#include "memory.h"

static uint64_t id_of(compute_buffer buffer)
{
    uint64_t id = 0, size = 0;
    OK(compute_buffer_get_id(buffer, &id, E));
    OK(compute_buffer_get_size(buffer, &size, E));
    CHECK(id != 0);
    return id;
}

TEST(t1_a_buffer_made_where_one_has_ended_is_never_written_and_has_a_number_of_its_own)
{
    set_up();
    compute_buffer former = NULL;
    uint64_t last = 0;
    for (int round = 0; round < 300; round++) {
        compute_buffer buffer = stream_buffer(stream, 1000);
        CHECK(buffer != former && id_of(buffer) != last);
        uint64_t size = 0;
        if (former) IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_get_size(former, &size, E));
        last = id_of(buffer);
        CHECK_EQ(get_word(stream, buffer, 0), 0);
        CHECK_EQ(get_word(stream, buffer, 249), 0);
        if (round % 3 == 0) fill_words(stream, buffer, 0xffffffffu);
        if (round % 3 == 1) put_word(stream, buffer, 7, 0xffffffffu);
        compute_buffer_release(buffer);
        former = buffer;
    }
    CHECK(report(stream) > 0);
    CHECK_EQ(reports[0].pages_peak, 1);
    CHECK_EQ(reports[0].bytes_in_use_peak, 1024);
}

TEST(t9_claims_end_with_their_buffer_and_do_not_reach_the_next)
{
    set_up();
    compute_kernel add = make_kernel(device, ADD);
    compute_buffer scratch = make_buffer(device, 256, "scratch"), other = make_buffer(device, 256, "other");
    for (int round = 0; round < 50; round++) {
        compute_buffer buffer = stream_buffer(stream, 1024);
        uint64_t failure = claim_all(stream, add, scratch, buffer);
        /* The failure lives on in another buffer, and counts those that it claims. */
        compute_view from = range(buffer, 0, 256), to = whole(other);
        IS(COMPUTE_SKIPPED, compute_stream_copy(stream, &from, &to, E));
        CHECK_EQ(claimed_by(other, 0, 256), failure);
        CHECK_EQ(last_info().claimed_buffers, 2);
        compute_buffer_release(buffer);
        CHECK_EQ(claimed_by(other, 0, 256), failure);
        CHECK_EQ(last_info().claimed_buffers, 1);
        buffer = stream_buffer(stream, 1024);
        CHECK_EQ(claimed_by(buffer, 0, 1024), 0);
        CHECK_EQ(get_word(stream, buffer, 255), 0);
        compute_buffer_release(buffer);
    }
}

TEST(m4_what_is_kept_for_the_next_counts_as_free)
{
    set_up();
    compute_buffer all[8];
    for (int i = 0; i < 8; i++) all[i] = stream_buffer(stream, 1000);
    for (int i = 0; i < 8; i++) compute_buffer_release(all[i]);
    compute_memory_usage now = usage();
    CHECK_EQ(now.buffers, 0);
    CHECK_EQ(now.bytes_in_use, 0);
    CHECK_EQ(now.bytes_idle, now.bytes_reserved);
    CHECK_EQ(now.largest_free, now.bytes_reserved);
    CHECK_EQ(now.bytes_in_use_peak, 8000);
    for (int i = 0; i < 8; i++) all[i] = stream_buffer(stream, 1000);
    for (int i = 0; i < 8; i++) compute_buffer_release(all[i]);
    CHECK(report(stream) > 0);
    CHECK_EQ(reports[0].allocations, 0);
    CHECK_EQ(reports[0].bytes_in_use, 0);
    CHECK_EQ(reports[0].bytes_in_use_peak, 8 * 1024);
    CHECK_EQ(reports[0].largest_free, reports[0].bytes_reserved);
}

TEST(m4_marks_do_not_count_what_is_kept_beside_what_is_live)
{
    set_up();
    for (uint64_t size = 1000; size <= 16000; size += 1000) {
        compute_buffer one = stream_buffer(stream, size), two = stream_buffer(stream, size);
        compute_buffer_release(one);
        compute_buffer_release(two);
        compute_buffer of_device = NULL;
        OK(try_buffer(NULL, 100, &of_device)); /* a mark of the device's, reached elsewhere than where buffers are kept */
        compute_buffer_release(of_device);
    }
    CHECK_EQ(usage().bytes_in_use_peak, 32000);
    CHECK(report(stream) > 0);
    CHECK_EQ(reports[0].bytes_in_use_peak, 32256);
    CHECK_EQ(reports[0].pages_peak, 1);
    compute_stream second = make_stream(device);
    compute_buffer four[4];
    for (int i = 0; i < 4; i++) four[i] = stream_buffer(second, 1000);
    for (int i = 0; i < 4; i++) compute_buffer_release(four[i]);
    compute_buffer_release(stream_buffer(second, 2000));
    CHECK(report(second) > 0);
    CHECK_EQ(reports[0].bytes_in_use_peak, 4096); /* not 4096 that are kept, and 2048 */
}

TEST(m1_a_clean_up_gives_pages_of_kept_buffers_back_and_pools_can_be_replaced_under_them)
{
    set_up();
    compute_buffer_release(stream_buffer(stream, 1000));
    OK(compute_stream_cleanup(stream, E));
    CHECK_EQ(usage().bytes_reserved, 0);
    compute_buffer_release(stream_buffer(stream, 1000));
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_reserved, 0);
    compute_buffer_release(stream_buffer(stream, 1000));
    compute_pool_desc pools[] = { pool(COMPUTE_POOL_SLICED, 512, 64 << 10, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_buffer again = stream_buffer(stream, 1000);
    CHECK_EQ(report(stream), 4);
    CHECK_EQ(reports[1].allocations, 1);
    CHECK_EQ(get_word(stream, again, 0), 0);
}

TEST(m2_kept_buffers_make_room_before_a_page_is_asked_for)
{
    set_up();
    compute_pool_desc pools[] = { pool(COMPUTE_POOL_SLICED, 16 << 10, 16 << 10, 0, 16 << 10) };
    OK(set_pools(stream, pools, 1));
    for (int round = 0; round < 20; round++) {
        compute_buffer small[16], large;
        for (int i = 0; i < 16; i++) small[i] = stream_buffer(stream, 1000);
        IS(COMPUTE_ERROR_POOL_FULL, try_buffer(stream, 1000, &large));
        for (int i = 0; i < 16; i++) compute_buffer_release(small[i]);
        large = stream_buffer(stream, 16 << 10);
        compute_buffer_release(large);
    }
    CHECK(report(stream) > 0);
    CHECK_EQ(reports[0].pages_peak, 1);
}

TEST(m6_a_stream_that_gets_a_budget_charges_every_buffer)
{
    set_up();
    compute_buffer_release(stream_buffer(stream, 1000));
    compute_budget budget = make_budget(2048);
    compute_buffer older = stream_buffer(stream, 1000);
    OK(compute_stream_set_budget(stream, budget, E));
    compute_buffer_release(older); /* was never charged, and is not kept for one that is */
    for (int round = 0; round < 5; round++) {
        compute_buffer one = stream_buffer(stream, 1000), two = stream_buffer(stream, 1000), three = NULL;
        CHECK_EQ(charges(budget).charged, 2048);
        IS(COMPUTE_ERROR_BUDGET, try_buffer(stream, 1000, &three));
        compute_buffer_release(one);
        compute_buffer_release(two);
        CHECK_EQ(charges(budget).charged, 0);
    }
    OK(compute_stream_set_budget(stream, NULL, E));
    compute_buffer_release(stream_buffer(stream, 1000));
    compute_buffer_release(stream_buffer(stream, 1000));
    CHECK_EQ(charges(budget).charged, 0);
    OK(compute_stream_set_budget(stream, budget, E));
    compute_buffer one = stream_buffer(stream, 1000);
    CHECK_EQ(charges(budget).charged, 1024);
    compute_buffer_release(one);
}

TEST(m5_a_dry_run_takes_no_kept_buffer_and_keeps_none)
{
    set_up();
    compute_buffer_release(stream_buffer(stream, 1000));
    compute_buffer older = stream_buffer(stream, 1000);
    OK(compute_stream_begin_dry_run(stream, E));
    compute_buffer_release(older);
    compute_buffer dry = stream_buffer(stream, 1000);
    CHECK_EQ(usage().bytes_in_use, 0);
    CHECK(report(stream) > 0);
    CHECK_EQ(reports[0].allocations, 1);
    compute_buffer_release(dry);
    dry = stream_buffer(stream, 1000);
    OK(compute_stream_end_dry_run(stream, E));
    CHECK_EQ(usage().bytes_in_use, 0);
    compute_buffer wet = stream_buffer(stream, 1000);
    CHECK_EQ(usage().bytes_in_use, 1000);
    put_word(stream, dry, 0, 5);
    CHECK_EQ(usage().bytes_in_use, 2000);
    CHECK_EQ(get_word(stream, dry, 0), 5);
    compute_buffer_release(wet);
    compute_buffer_release(dry);
}

TEST(f1_kept_buffers_are_not_handed_out_for_wrong_or_ended_handles)
{
    set_up();
    compute_device second = open_device();
    compute_buffer_release(stream_buffer(stream, 1000));
    compute_buffer_desc desc = buffer_desc(stream, 1000, 0);
    compute_buffer buffer = NULL;
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, compute_buffer_create(second, &desc, &buffer, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_create(NULL, &desc, &buffer, E));
    desc.reserved = 1;
    IS_CLASS(100, compute_buffer_create(device, &desc, &buffer, E));
    desc.reserved = 0;
    desc.label_length = 3;
    IS_CLASS(100, compute_buffer_create(device, &desc, &buffer, E));
    desc.label_length = 0;
    desc.size = 0;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    CHECK_EQ(usage().bytes_in_use, 0);
    desc.size = 1000;
    /* A promise keeps the stream itself alive, but not its handle. */
    compute_buffer source = stream_buffer(stream, 64);
    compute_view view = whole(source);
    compute_readback promise = NULL;
    OK(compute_stream_read_lazy(stream, &view, &promise, E));
    compute_buffer_release(stream_buffer(stream, 1000));
    OK(compute_stream_destroy(stream, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_create(device, &desc, &buffer, E));
    compute_readback_release(promise);
    compute_buffer_release(source);
    CHECK(buffer == NULL);
    desc.stream = make_stream(device);
    OK(compute_buffer_create(device, &desc, &buffer, E));
    compute_buffer_release(buffer);
    compute_device_release(device);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_create(device, &desc, &buffer, E));
}

TEST(t12_on_a_lost_device_no_kept_buffer_is_handed_out)
{
    set_up_on(open_faulty());
    compute_buffer buffer = stream_buffer(stream, 1000);
    put_word(stream, buffer, 0, 1);
    compute_buffer_release(stream_buffer(stream, 1000));
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LOST, E));
    uint32_t word = 0;
    compute_view view = range(buffer, 0, 4);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_write(stream, &view, &word, 4, E));
    compute_buffer next = NULL;
    IS(COMPUTE_ERROR_DEVICE_POISONED, try_buffer(stream, 1000, &next));
    CHECK(next == NULL);
}

TEST(m8_a_buffer_that_something_still_needs_is_not_the_next_one)
{
    set_up();
    compute_buffer source = stream_buffer(stream, 1000);
    fill_words(stream, source, 0x11111111u);
    compute_view view = whole(source);
    compute_readback readback = NULL;
    OK(compute_stream_read_lazy(stream, &view, &readback, E));
    compute_buffer_release(source);
    compute_buffer next = stream_buffer(stream, 1000);
    fill_words(stream, next, 0x22222222u);
    const void *bytes = NULL;
    uint64_t size = 0;
    uint32_t word = 0;
    OK(compute_readback_get(readback, &bytes, &size, E));
    CHECK_EQ(size, 1000);
    memcpy(&word, bytes, 4);
    CHECK_EQ(word, 0x11111111u);
    CHECK_EQ(get_word(stream, next, 0), 0x22222222u);
    compute_readback_release(readback);
    compute_buffer_release(next);
}

TEST(l8_a_buffer_that_another_stream_has_used_is_not_kept)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_buffer out = make_buffer(device, 1000, "out"), slow = make_buffer(device, 64, "slow");
    for (int round = 0; round < 100; round++) {
        compute_buffer buffer = stream_buffer(stream, 1000);
        fill_words(stream, buffer, (uint32_t)round);
        compute_view from = whole(buffer), to = whole(out);
        if (round == 0) long_work(other, slow);
        OK(compute_stream_copy(other, &from, &to, E));
        compute_buffer_release(buffer);
        buffer = stream_buffer(stream, 1000);
        fill_words(stream, buffer, 0xffffffffu);
        compute_buffer_release(buffer);
        CHECK_EQ(get_word(other, out, 100), round);
    }
}

enum { THREADS = 4, ROUNDS = 4000 };
static void *make_and_release(void *words)
{
    uint64_t *ids = words;
    compute_buffer_desc desc = buffer_desc(stream, 1000, 0);
    for (int round = 0; round < ROUNDS; round++) {
        compute_buffer buffer = NULL;
        uint32_t word = 1;
        desc.size = 500 + 100 * (uint64_t)(round % 3);
        if (compute_buffer_create(device, &desc, &buffer, NULL) || compute_buffer_get_id(buffer, &ids[round], NULL)) return ids;
        compute_view view = range(buffer, 4 * (uint64_t)(round % 100), 4);
        if (round % 16 == 0 && (compute_stream_read(stream, &view, &word, 4, NULL) || word != 0)) return ids;
        if (round % 4 == 0 && compute_stream_fill(stream, &view, "\377\377\377\377", 4, NULL)) return ids;
        if (round % 64 == 0 && compute_device_cleanup(device, NULL)) return ids;
        compute_buffer_release(buffer);
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

TEST(m1_threads_that_make_and_release_buffers_of_one_stream_get_each_its_own)
{
    static uint64_t ids[THREADS * ROUNDS];
    pthread_t threads[THREADS];
    set_up();
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, make_and_release, ids + i * ROUNDS) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL);
    }
    qsort(ids, COUNT_OF(ids), sizeof *ids, by_number);
    for (size_t i = 1; i < COUNT_OF(ids); i++) CHECK(ids[i - 1] < ids[i]);
    CHECK_EQ(usage().buffers, 0);
    CHECK_EQ(usage().bytes_in_use, 0);
}

TEST(f7_streams_and_devices_go_with_what_was_kept_for_them)
{
    set_up();
    long threads = 0, rss = 0;
    for (int round = 0; round < 60; round++) {
        compute_device brief = open_device();
        for (int i = 0; i < 3; i++) {
            compute_stream lane = make_stream(brief);
            compute_buffer_desc desc = buffer_desc(lane, 8000, 0);
            compute_buffer buffers[40];
            for (int n = 0; n < 40; n++) OK(compute_buffer_create(brief, &desc, &buffers[n], E));
            for (int n = 0; n < 20; n++) compute_buffer_release(buffers[n]);
            compute_stream_release(lane);
            for (int n = 20; n < 40; n++) compute_buffer_release(buffers[n]); /* nobody is left to keep them for */
        }
        compute_device_release(brief);
        if (round == 20) {
            threads = proc_status("Threads");
            rss = rss_kib();
        }
    }
    /* Threads of the last device may still be on their way out. */
    CHECK(proc_status("Threads") <= threads + 8);
    CHECK(rss_kib() <= rss + 4096 + RSS_SLACK_KIB);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(t1_a_buffer_made_where_one_has_ended_is_never_written_and_has_a_number_of_its_own);
    RUN(t9_claims_end_with_their_buffer_and_do_not_reach_the_next);
    RUN(m4_what_is_kept_for_the_next_counts_as_free);
    RUN(m4_marks_do_not_count_what_is_kept_beside_what_is_live);
    RUN(m1_a_clean_up_gives_pages_of_kept_buffers_back_and_pools_can_be_replaced_under_them);
    RUN(m2_kept_buffers_make_room_before_a_page_is_asked_for);
    RUN(m6_a_stream_that_gets_a_budget_charges_every_buffer);
    RUN(m5_a_dry_run_takes_no_kept_buffer_and_keeps_none);
    RUN(f1_kept_buffers_are_not_handed_out_for_wrong_or_ended_handles);
    RUN(t12_on_a_lost_device_no_kept_buffer_is_handed_out);
    RUN(m8_a_buffer_that_something_still_needs_is_not_the_next_one);
    RUN(l8_a_buffer_that_another_stream_has_used_is_not_kept);
    RUN(m1_threads_that_make_and_release_buffers_of_one_stream_get_each_its_own);
    RUN(f7_streams_and_devices_go_with_what_was_kept_for_them);
    return finish();
}
