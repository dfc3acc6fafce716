/* The rules M1, M2, M4, M6 and M9 of memory, L8 and T1 where pools meet them, and MEM-01 to MEM-03, MEM-05. */
#include "memory.h"

/* ---- M1, L8, T1 ---- */

TEST(m1_memory_released_on_its_stream_is_there_again_at_once_and_other_streams_wait_for_its_last_use)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_buffer out = make_buffer(device, 4096, "out");
    for (int round = 0; round < 3; round++) {
        compute_buffer busy = stream_buffer(stream, 60000);
        long_work(stream, busy);
        compute_view from = range(busy, 0, 4), to = range(out, 0, 4);
        OK(compute_stream_copy(stream, &from, &to, E));
        compute_buffer_release(busy);
        compute_buffer next = stream_buffer(stream, 60000);
        CHECK_EQ(report(stream), usual_pools());
        CHECK_EQ(reports[1].pages_peak, 1);
        CHECK_EQ(reports[1].bytes_in_use_peak, 60160); /* so `next` is where `busy` was */
        CHECK_EQ(reports[1].bytes_pending, 0);
        fill_words(other, next, 0xeeeeeeeeu);
        CHECK_EQ(get_word(stream, out, 0), 42);
        CHECK_EQ(get_word(stream, next, 0), 0xeeeeeeeeu); /* where the long work wrote */
        compute_buffer_release(next);
    }
}

TEST(l8_memory_that_another_stream_still_uses_is_not_handed_out_before_that_use_is_over)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_buffer busy = stream_buffer(stream, 60000);
    long_work(other, busy);
    compute_buffer out = make_buffer(device, 4096, "out");
    compute_view from = range(busy, 0, 4), to = range(out, 0, 4);
    OK(compute_stream_copy(other, &from, &to, E));
    uint64_t start = now_ns();
    compute_buffer_release(busy);
    compute_buffer next = stream_buffer(stream, 60000);
    fill_words(stream, next, 0xeeeeeeeeu);
    CHECK(report(stream) > 0);
    if (reports[1].bytes_pending) CHECK_EQ(reports[1].bytes_in_use_peak, 2 * 60160);
    CHECK(now_ns() - start < 20 * SECONDS);
    CHECK_EQ(get_word(other, out, 0), 42);
    OK(compute_stream_sync(other, NULL, 0, 0, COMPUTE_FOREVER, E));
    CHECK_EQ(usage().bytes_pending, 0);
    CHECK_EQ(get_word(stream, next, 0), 0xeeeeeeeeu); /* where the long work would have written */
}

TEST(t1_memory_that_a_pool_hands_out_again_is_never_written)
{
    set_up();
    for (int round = 0; round < 200; round++) {
        uint64_t size = 4 * (1 + (uint64_t)round * 97 % 5000);
        compute_buffer dirty = stream_buffer(stream, size);
        CHECK_EQ(get_word(stream, dirty, size / 4 - 1), 0);
        CHECK_EQ(get_word(stream, dirty, 0), 0);
        fill_words(stream, dirty, 0xffffffffu);
        compute_buffer_release(dirty);
    }
    CHECK_EQ(report(stream), usual_pools());
    CHECK(reports[0].pages_peak <= 1 && reports[1].pages_peak <= 1);
}

TEST(m1_neighbours_in_a_page_do_not_touch_each_other)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    enum { COUNT = 64 };
    compute_buffer all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = stream_buffer(stream, 1024);
        fill_words(stream, all[i], (uint32_t)i);
    }
    for (int i = 0; i < COUNT; i += 2) OK(launch_io(stream, increment, "", all[i], all[i + 1], 4)); /* input and output in one page */
    for (int i = 0; i < COUNT; i += 2) {
        for (uint64_t word = 0; word < 256; word += 255) {
            CHECK_EQ(get_word(stream, all[i], word), i);
            CHECK_EQ(get_word(stream, all[i + 1], word), i + 1);
        }
    }
    compute_view from = whole(all[0]), to = whole(all[5]);
    OK(compute_stream_copy(stream, &from, &to, E));
    CHECK_EQ(get_word(stream, all[4], 255), 4);
    CHECK_EQ(get_word(stream, all[5], 255), 0);
    CHECK_EQ(get_word(stream, all[6], 0), 6);
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(reports[0].pages, 1);
    CHECK_EQ(reports[0].allocations, COUNT);
}

TEST(m1_persistent_buffers_have_pages_of_their_own_kind)
{
    set_up();
    compute_buffer_desc desc = buffer_desc(stream, 5000, COMPUTE_BUFFER_FLAG_PERSISTENT);
    compute_buffer weights = NULL, brief = stream_buffer(stream, 5000);
    OK(compute_buffer_create(device, &desc, &weights, E));
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(reports[0].allocations, 1);
    CHECK_EQ(reports[0].persistent, 0);
    CHECK_EQ(reports[usual_pools() - 2].allocations, 1);
    CHECK_EQ(reports[usual_pools() - 2].persistent, 1);
    compute_buffer_release(brief);
    OK(compute_stream_cleanup(stream, E));
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(reports[0].pages, 0);
    CHECK_EQ(reports[usual_pools() - 2].pages, 1);
    desc.flags = UINT64_C(1) << 40;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_buffer_create(device, &desc, &weights, E));
}

TEST(m1_a_clean_up_gives_every_page_back_that_holds_nothing)
{
    set_up();
    CHECK_EQ(usage().bytes_reserved, 0);
    static const uint64_t sizes[] = { 1, 4096, 100000, 2 * MIB, 80 * MIB };
    compute_buffer all[2 * COUNT_OF(sizes)];
    for (size_t i = 0; i < COUNT_OF(all); i++) all[i] = stream_buffer(i % 2 ? stream : NULL, sizes[i / 2]);
    uint64_t asked = 0;
    for (size_t i = 0; i < COUNT_OF(all); i++) asked += sizes[i / 2];
    CHECK_EQ(usage().bytes_in_use, asked);
    CHECK(usage().bytes_reserved >= asked);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        fill_words(stream, all[i], 1);
        compute_buffer_release(all[i]);
    }
    wait_for(stream);
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_in_use, 0);
    CHECK_EQ(usage().bytes_reserved, 0);
    CHECK_EQ(usage().largest_free, 0);
    CHECK_EQ(usage().bytes_in_use_peak, asked);
    compute_buffer again = stream_buffer(stream, 1000);
    fill_words(stream, again, 3);
    CHECK_EQ(get_word(stream, again, 249), 3);
}

TEST(m6_idle_pages_are_kept_up_to_what_the_device_was_opened_with)
{
    static const uint64_t kept[] = { 1, 8 * MIB, 0, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
        desc.backend = "cpu";
        desc.backend_length = COMPUTE_NUL_TERMINATED;
        desc.idle_bytes = kept[i];
        device = NULL;
        OK(compute_device_open(&desc, &device, E));
        set_up_on(device);
        compute_buffer all[4];
        for (int j = 0; j < 4; j++) all[j] = stream_buffer(stream, 70 * MIB);
        compute_buffer small = stream_buffer(stream, 5 * MIB);
        compute_buffer_release(small);
        for (int j = 0; j < 4; j++) compute_buffer_release(all[j]);
        uint64_t most = kept[i] ? kept[i] : 64 * MIB;
        CHECK(usage().bytes_idle <= most);
        CHECK(usage().bytes_reserved <= most);
        if (kept[i] == UINT64_MAX) CHECK(usage().bytes_idle >= 280 * MIB);
        if (kept[i] == 8 * MIB || kept[i] == 0) CHECK(usage().bytes_idle >= 5 * MIB);
        compute_stream_release(stream);
        compute_device_release(device);
    }
}

TEST(f7_buffers_outlive_their_stream_and_ended_streams_keep_nothing)
{
    set_up();
    compute_buffer last = NULL;
    for (int round = 0; round < 100; round++) {
        compute_stream brief = make_stream(device);
        compute_buffer buffer = stream_buffer(brief, 200000);
        fill_words(brief, buffer, (uint32_t)round);
        compute_stream_release(brief);
        if (last) {
            CHECK_EQ(get_word(stream, last, 49999), round - 1);
            compute_buffer_release(last);
        }
        last = buffer;
    }
    CHECK_EQ(get_word(stream, last, 49999), 99); /* so that its stream's work is over */
    compute_buffer_release(last);
    CHECK_EQ(usage().buffers, 0);
    CHECK_EQ(usage().bytes_reserved, 0);
}

TEST(f7_streams_that_end_before_their_work_leave_nothing_to_those_that_come_after)
{
    set_up();
    enum { ROUNDS = 6 };
    const uint64_t size = 8 * MIB;
    long_work(stream, stream_buffer(stream, 4));
    for (int round = 0; round < ROUNDS; round++) {
        compute_stream brief = make_stream(device);
        compute_buffer buffer = stream_buffer(brief, size);
        compute_event over = NULL;
        long_work(brief, buffer);
        OK(compute_stream_record(brief, &over, E));
        compute_buffer_release(buffer);
        compute_stream_release(brief);
        OK(compute_event_wait(over, COMPUTE_FOREVER, E));
        compute_event_release(over);
    }
    /* Asked for only now: it looks at everything. */
    CHECK(usage().bytes_reserved_peak < ROUNDS / 2 * size);
}

/* ---- M4 ---- */

TEST(m4_a_stream_that_never_allocated_has_no_pools_and_reports_come_as_far_as_there_is_room)
{
    set_up();
    size_t count = 7;
    OK(compute_stream_memory_report(stream, NULL, 0, 0, &count, E));
    CHECK_EQ(count, 0);
    compute_buffer buffer = stream_buffer(stream, 10);
    OK(compute_stream_memory_report(stream, NULL, 0, 0, &count, E));
    CHECK_EQ(count, usual_pools());
    reports[0].struct_size = sizeof reports[0];
    reports[2].pages = 77;
    IS(COMPUTE_INCOMPLETE, compute_stream_memory_report(stream, reports, 0, 2, &count, E));
    CHECK_EQ(count, usual_pools());
    CHECK_EQ(reports[2].pages, 77);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(stream, reports, 8, 6, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(stream, NULL, 0, 6, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_memory_report(stream, reports, 0, 6, NULL, E));
    compute_buffer_release(buffer);
}

TEST(m4_a_layout_that_cannot_be_is_refused_with_the_reason)
{
    set_up();
    enum { S = COMPUTE_POOL_SLICED, X = COMPUTE_POOL_EXCLUSIVE };
    const compute_pool_desc bad[] = {
        pool(S, 0, 4096, 0, 0), pool(S, 4096, 0, 0, 0), pool(S, 4096, 4097, 0, 0), pool(S, 8192, 4096, 0, 0), pool(S, 100, 4096, 2048, 0),
        pool(S, 4096, 4096, 0, 4095), pool(X, 0, 0, 0, 0), pool(X, 100, 256, 0, 0), pool(S, 100, UINT64_MAX, 0, 0), pool(S, 256, 4096, UINT64_MAX, 0),
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        IS(COMPUTE_ERROR_INVALID_LAYOUT, set_pools(stream, &bad[i], 1));
        char text[512];
        OK(compute_error_message(last_error, text, sizeof text, NULL));
        CHECK(strstr(text, "pool 0"));
    }
    const compute_pool_desc same[2] = { pool(S, 4096, 4096, 0, 0), pool(X, 4096, 0, 0, 0) };
    IS(COMPUTE_ERROR_INVALID_LAYOUT, set_pools(stream, same, 2));
    IS(COMPUTE_ERROR_INVALID_LAYOUT, set_pools(stream, NULL, 0));
    IS(COMPUTE_ERROR_LIMIT, set_pools(stream, same, 65));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, set_pools(stream, NULL, 2));
    const compute_pool_desc kind = pool(9, 4096, 4096, 0, 0);
    IS(COMPUTE_ERROR_INVALID_ENUM, set_pools(stream, &kind, 1));
    compute_buffer buffer = stream_buffer(stream, 100);
    CHECK_EQ(report(stream), usual_pools()); /* nothing changed */
    compute_buffer_release(buffer);
}

TEST(m4_pools_in_use_are_not_replaced_and_later_streams_get_the_layout_all_the_same)
{
    set_up();
    const compute_pool_desc mine[2] = { pool(COMPUTE_POOL_SLICED, 4096, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, MIB, 0, 0, 0) };
    compute_buffer_desc desc = buffer_desc(stream, 3000, COMPUTE_BUFFER_FLAG_PERSISTENT);
    compute_buffer buffer = stream_buffer(stream, 5000), weights = NULL;
    OK(compute_buffer_create(device, &desc, &weights, E));
    fill_words(stream, buffer, 5);
    IS(COMPUTE_ERROR_POOLS_IN_USE, set_pools(stream, mine, 2));
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(get_word(stream, buffer, 1249), 5);
    compute_stream later = make_stream(device);
    compute_buffer other = stream_buffer(later, 5000);
    CHECK_EQ(report(later), 4);
    CHECK_EQ(reports[1].allocations, 1);
    CHECK_EQ(reports[1].bytes_in_use, 5120);
    compute_buffer_release(buffer);
    OK(set_pools(stream, mine, 2)); /* at once, though its work may still go on */
    CHECK_EQ(report(stream), 4);
    CHECK_EQ(reports[0].bytes_reserved_peak, 0);
    CHECK_EQ(reports[2].allocations, 1); /* what is persistent stays */
    IS(COMPUTE_ERROR_TOO_LARGE, try_buffer(stream, MIB + 1, &buffer));
    CHECK_EQ(last_info().reclaimable, 0);
    OK(try_buffer(stream, MIB, &buffer));
    compute_buffer_release(buffer);
    compute_buffer_release(other);
}

/* ---- M2, MEM-01, MEM-03, MEM-05 ---- */

TEST(mem_05_a_refusal_says_how_much_is_free_and_how_large_the_largest_run_is)
{
    set_up();
    const compute_pool_desc capped = pool(COMPUTE_POOL_SLICED, 20 * MIB, 100 * MIB, 0, 100 * MIB);
    OK(set_pools(stream, &capped, 1));
    static compute_buffer all[100];
    for (int i = 0; i < 100; i++) all[i] = stream_buffer(stream, MIB);
    for (int i = 0; i < 100; i += 2) compute_buffer_release(all[i]);
    compute_buffer big = NULL;
    IS(COMPUTE_ERROR_POOL_FULL, try_buffer(stream, 10 * MIB, &big));
    CHECK_EQ(last_info().reclaimable, 1);
    CHECK_EQ(last_info().reclaimable, 1);
    char text[512];
    OK(compute_error_message(last_error, text, sizeof text, NULL));
    CHECK(strstr(text, "10485760 bytes asked for") && strstr(text, "52428800 free") && strstr(text, "the largest run of them 1048576"));
    CHECK_EQ(report(stream), 3);
    CHECK_EQ(reports[0].largest_free, MIB);
    for (int i = 1; i < 20; i += 2) compute_buffer_release(all[i]);
    OK(try_buffer(stream, 10 * MIB, &big));
    compute_buffer_release(big);
    for (int i = 21; i < 100; i += 2) compute_buffer_release(all[i]);
}

TEST(m2_an_allocation_that_finds_its_pool_full_waits_for_what_was_released_and_is_tried_again)
{
    set_up();
    compute_stream other = make_stream(device);
    const compute_pool_desc capped = pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 64 * MIB);
    OK(set_pools(stream, &capped, 1));
    compute_buffer first = stream_buffer(stream, 60 * MIB), second = NULL;
    long_work(other, first); /* in use elsewhere */
    compute_buffer_release(first);
    OK(try_buffer(stream, 50 * MIB, &second));
    IS(COMPUTE_ERROR_POOL_FULL, try_buffer(stream, 50 * MIB, &first));
    put_word(stream, second, 50 * MIB / 4 - 1, 9);
    CHECK_EQ(get_word(stream, second, 50 * MIB / 4 - 1), 9);
    CHECK_EQ(report(stream), 3);
    CHECK_EQ(reports[0].bytes_reserved_peak, 60 * MIB);
}

TEST(m2_a_page_that_the_driver_has_not_is_asked_for_again_after_reclaiming)
{
    set_up_on(open_faulty());
    compute_buffer keep = stream_buffer(stream, 100), idle = stream_buffer(stream, 80 * MIB), more = NULL;
    fill_words(stream, keep, 6);
    compute_buffer_release(idle);
    CHECK_EQ(usage().bytes_idle, 0); /* above what is kept */
    for (uint64_t call = 1; call < 4; call++) {
        OK(compute_device_inject_fault(device, call, COMPUTE_FAULT_OUT_OF_MEMORY, E));
        compute_status status = try_buffer(stream, 70 * MIB + call, &more);
        CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_OUT_OF_MEMORY);
        if (status < 0) CHECK_EQ(last_info().reclaimable, 1);
        else compute_buffer_release(more);
        OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
        OK(try_buffer(stream, 1000, &more));
        compute_buffer_release(more);
    }
    CHECK_EQ(get_word(stream, keep, 24), 6);
}

TEST(mem_03_a_size_beyond_all_memory_is_refused_with_the_numbers_and_a_small_one_works_afterwards)
{
    set_up();
    compute_buffer buffer = NULL;
    static const uint64_t sizes[] = { UINT64_C(1) << 40, UINT64_C(1) << 62, UINT64_MAX - 300, UINT64_MAX - 255, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (int own = 0; own < 2; own++) IS_CLASS(200, try_buffer(own ? stream : NULL, sizes[i], &buffer));
    }
    CHECK_EQ(usage().bytes_reserved, 0);
    buffer = stream_buffer(stream, 4);
    put_word(stream, buffer, 0, 11);
    CHECK_EQ(get_word(stream, buffer, 0), 11);
}

TEST(mem_01_a_buffer_of_three_gib_is_addressed_to_its_last_byte)
{
    set_up();
    const uint64_t size = UINT64_C(3) << 30, far = UINT64_C(5) << 29;
    compute_buffer big = NULL;
    compute_status status = try_buffer(stream, size, &big);
    if (status == COMPUTE_ERROR_OUT_OF_MEMORY || status == COMPUTE_ERROR_TOO_LARGE) {
        printf("  not tried: this machine has no 3 GiB to give\n");
        return;
    }
    OK(status);
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer small = stream_buffer(stream, 1024);
    fill_words(stream, small, 41);
    put_word(stream, big, (far - (UINT64_C(2) << 30)) / 4, 7);
    compute_binding bindings[2] = { bind(0, small), bind_range(1, big, far, 1024) };
    OK(launch(stream, increment, 4, bindings, 2));
    CHECK_EQ(get_word(stream, big, far / 4 + 255), 42);
    CHECK_EQ(get_word(stream, big, (far - (UINT64_C(2) << 30)) / 4), 7);
    put_word(stream, big, size / 4 - 1, 8);
    CHECK_EQ(get_word(stream, big, size / 4 - 1), 8);
}

TEST(mem_02_bytes_around_2_to_the_31_are_where_they_should_be)
{
    set_up();
    const uint64_t middle = UINT64_C(1) << 31;
    compute_buffer big = NULL;
    compute_status status = try_buffer(stream, middle + 4096, &big);
    if (status == COMPUTE_ERROR_OUT_OF_MEMORY || status == COMPUTE_ERROR_TOO_LARGE) {
        printf("  not tried: this machine has no 2 GiB to give\n");
        return;
    }
    OK(status);
    unsigned char seven = 7, nine = 9, found[64];
    compute_view all = whole(big), some = range(big, middle - 8, 16);
    OK(compute_stream_fill(stream, &all, &seven, 1, E));
    OK(compute_stream_fill(stream, &some, &nine, 1, E));
    OK(get(stream, big, middle - 32, found, sizeof found));
    for (size_t i = 0; i < sizeof found; i++) CHECK_EQ(found[i], i >= 24 && i < 40 ? 9 : 7);
    OK(get(stream, big, 0, found, sizeof found));
    for (size_t i = 0; i < sizeof found; i++) CHECK_EQ(found[i], 7);
    OK(get(stream, big, middle + 4096 - sizeof found, found, sizeof found));
    for (size_t i = 0; i < sizeof found; i++) CHECK_EQ(found[i], 7);
}

/* ---- M6 ---- */

TEST(m6_mem_03_a_budget_is_shared_by_streams_and_refuses_with_the_numbers)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_budget budget = make_budget(64 * MIB);
    OK(compute_stream_set_budget(stream, budget, E));
    OK(compute_stream_set_budget(other, budget, E));
    compute_buffer big = stream_buffer(stream, 60 * MIB), small = stream_buffer(other, 1000), more = NULL;
    CHECK_EQ(charges(budget).charged, 60 * MIB + 1024);
    IS(COMPUTE_ERROR_BUDGET, try_buffer(other, 4 * MIB, &more));
    CHECK_EQ(last_info().reclaimable, 1);
    char text[512];
    OK(compute_error_message(last_error, text, sizeof text, NULL));
    CHECK(strstr(text, "4194304 bytes asked for, 4193280 of the budget's 67108864 are free"));
    IS(COMPUTE_ERROR_BUDGET, try_buffer(other, 65 * MIB, &more));
    CHECK_EQ(last_info().reclaimable, 0);
    IS(COMPUTE_ERROR_BUDGET, try_buffer(other, UINT64_MAX, &more));
    CHECK_EQ(charges(budget).charged, 60 * MIB + 1024);
    compute_buffer_release(big);
    OK(try_buffer(other, 50 * MIB, &more));
    compute_buffer_release(more);
    compute_buffer_release(small);
    CHECK_EQ(charges(budget).charged, 0);
    CHECK_EQ(charges(budget).charged_peak, 60 * MIB + 1024);
    OK(compute_stream_set_budget(stream, NULL, E));
    big = stream_buffer(stream, 70 * MIB);
    CHECK_EQ(charges(budget).charged, 0);
}

TEST(m6_a_charge_stays_until_the_use_is_over_and_an_allocation_that_needs_it_waits)
{
    set_up();
    compute_budget budget = make_budget(100000);
    OK(compute_stream_set_budget(stream, budget, E));
    compute_buffer busy = stream_buffer(stream, 60000), next = NULL;
    long_work(stream, busy);
    compute_event done = NULL;
    OK(compute_stream_record(stream, &done, E));
    compute_buffer_release(busy);
    uint64_t charged = charges(budget).charged;
    if (compute_event_poll(done, E) == COMPUTE_NOT_READY) CHECK_EQ(charged, 60160); /* the handle is gone, the work is not */
    else printf("  the work was over too early to tell\n");
    OK(compute_budget_destroy(budget, E));
    OK(try_buffer(stream, 50000, &next));
    fill_words(stream, next, 5);
    CHECK_EQ(get_word(stream, next, 0), 5);
    IS(COMPUTE_ERROR_BUDGET, try_buffer(stream, 60000, &busy)); /* the stream keeps its budget */
    CHECK_EQ(report(stream), usual_pools());
    CHECK_EQ(reports[1].pages_peak, 1);
}

TEST(m6_a_budget_below_a_page_charges_what_allocations_take)
{
    set_up();
    compute_budget budget = make_budget(600), none = NULL;
    OK(compute_stream_set_budget(stream, budget, E));
    compute_buffer one = stream_buffer(stream, 1), two = stream_buffer(stream, 256), three = NULL;
    IS(COMPUTE_ERROR_BUDGET, try_buffer(stream, 1, &three));
    CHECK_EQ(charges(budget).charged, 512);
    compute_buffer_release(one);
    compute_buffer_release(two);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_budget_create(0, &none, E));
    CHECK(none == NULL);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_set_budget(stream, (compute_budget)(void *)stream, E));
    OK(try_buffer(stream, 300, &three)); /* and it still holds */
    compute_buffer_release(three);
    compute_budget_release(budget);
}

TEST(m6_an_allocation_is_charged_with_what_the_pool_gives_and_is_given_no_more_than_the_budget_allows)
{
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.idle_bytes = UINT64_C(1) << 30;
    OK(compute_device_open(&desc, &device, E));
    set_up_on(device);
    compute_buffer first = stream_buffer(stream, 80 * MIB);
    compute_buffer_release(first); /* a page of 80 MiB is idle */
    compute_budget wide = make_budget(100 * MIB), tight = make_budget(78 * MIB);
    OK(compute_stream_set_budget(stream, wide, E));
    first = stream_buffer(stream, 75 * MIB);
    CHECK_EQ(charges(wide).charged, 80 * MIB);
    compute_buffer_release(first);
    CHECK_EQ(charges(wide).charged, 0);
    OK(compute_stream_set_budget(stream, tight, E));
    first = stream_buffer(stream, 75 * MIB);
    CHECK_EQ(charges(tight).charged, 75 * MIB);
    CHECK_EQ(usage().bytes_reserved, 75 * MIB);
    compute_buffer_release(first);
}

/* ---- the device fails ---- */

/* Makes, uses and releases buffers of all pools of two streams and of the device; whatever fails is let pass. */
static void use_all_pools(void)
{
    static const uint64_t sizes[] = { 100, 50000, 3 * MIB, 70 * MIB };
    compute_stream other = NULL;
    compute_stream_create(device, NULL, &other, NULL);
    compute_buffer all[3 * COUNT_OF(sizes)] = { NULL };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        compute_buffer_desc desc = buffer_desc(i % 3 == 0 ? NULL : i % 3 == 1 ? stream : other, sizes[i / 3], i % 2 ? COMPUTE_BUFFER_FLAG_PERSISTENT : 0);
        uint32_t word = 3;
        if (compute_buffer_create(device, &desc, &all[i], NULL) < 0) continue;
        compute_view view = range(all[i], 0, 4);
        compute_stream_fill(i % 2 ? stream : other, &view, &word, 4, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(all); i++) compute_buffer_release(all[i]);
    const compute_pool_desc pools[1] = { pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    compute_stream_set_pools(stream, pools, 1, 0, NULL);
    compute_device_cleanup(device, NULL);
    compute_stream_release(other);
}

TEST(f1_whichever_call_of_the_device_fails_no_page_is_lost_and_none_is_given_out_twice)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1;; call++) {
            set_up_on(open_faulty());
            uint64_t before = 0, after = 0;
            OK(compute_device_fault_calls(device, &before, E));
            OK(compute_device_inject_fault(device, call, ways[way], E));
            use_all_pools();
            OK(compute_device_fault_calls(device, &after, E));
            CHECK_EQ(usage().buffers, 0);
            CHECK_EQ(usage().bytes_in_use, 0);
            int over = after - before < call;
            if (compute_device_status(device, E) == COMPUTE_OK) {
                OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
                wait_for(stream);
                compute_buffer one = stream_buffer(stream, 1000), two = stream_buffer(stream, 1000);
                fill_words(stream, one, 1);
                fill_words(stream, two, 2);
                CHECK_EQ(get_word(stream, one, 249), 1);
                compute_buffer_release(one);
                compute_buffer_release(two);
                wait_for(stream);
                OK(compute_device_cleanup(device, E));
                CHECK_EQ(usage().bytes_reserved, 0);
            }
            compute_stream_release(stream);
            compute_device_release(device);
            if (over) {
                printf("  failing in way %u: each of %u calls\n", (unsigned)ways[way], (unsigned)call - 1);
                CHECK(call > 20);
                break;
            }
            CHECK(call < 500);
        }
    }
}

/* ---- bad input ---- */

TEST(f1_bad_streams_and_handles_are_refused)
{
    set_up();
    compute_device first = device;
    compute_stream gone = make_stream(device), foreign;
    OK(compute_stream_destroy(gone, E));
    compute_buffer buffer = NULL;
    IS(COMPUTE_ERROR_INVALID_HANDLE, try_buffer(gone, 100, &buffer));
    IS(COMPUTE_ERROR_INVALID_HANDLE, try_buffer((compute_stream)(void *)device, 100, &buffer));
    device = open_device();
    foreign = make_stream(device);
    device = first;
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, try_buffer(foreign, 100, &buffer));
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, try_buffer(foreign, 0, &buffer));
    CHECK(buffer == NULL);
    size_t count = 5;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_memory_report(gone, NULL, 0, 0, &count, E));
    CHECK_EQ(count, 0);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_cleanup(gone, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, set_pools(gone, NULL, 0));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_device_cleanup(NULL, E));
    OK(try_buffer(stream, 0, &buffer)); /* MEM-08: empty buffers are fine */
    compute_buffer_release(buffer);
}

/* ---- threads ---- */

static void *churn(void *seed)
{
    uint64_t state = (uint64_t)(uintptr_t)seed;
    compute_stream mine = NULL;
    if (compute_stream_create(device, NULL, &mine, NULL) != COMPUTE_OK) return "no stream";
    compute_buffer held[16] = { NULL };
    for (int round = 0; round < 3000; round++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t slot = (state >> 40) % 16;
        if (held[slot]) compute_buffer_release(held[slot]);
        compute_buffer_desc desc = buffer_desc(state >> 20 & 1 ? mine : NULL, 4 << ((state >> 50) % 14), 0);
        held[slot] = NULL;
        if (compute_buffer_create(device, &desc, &held[slot], NULL) != COMPUTE_OK) return "no buffer";
        uint32_t word = (uint32_t)round, found = 0;
        compute_view view = range(held[slot], 0, 4);
        if (compute_stream_fill(mine, &view, &word, 4, NULL) != COMPUTE_OK) return "no fill";
        if (round % 16 == 0 && (compute_stream_read(mine, &view, &found, 4, NULL) != COMPUTE_OK || found != word)) return "wrong bytes";
        if (round % 256 == 0) compute_device_cleanup(device, NULL);
    }
    for (size_t i = 0; i < 16; i++) compute_buffer_release(held[i]);
    compute_stream_sync(mine, NULL, 0, 0, COMPUTE_FOREVER, NULL);
    compute_stream_release(mine);
    return NULL;
}

TEST(s1_threads_that_allocate_and_clean_up_at_once_get_memory_of_their_own)
{
    set_up();
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        if (wrong) printf("  %s\n", (const char *)wrong);
        CHECK(wrong == NULL);
    }
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().buffers, 0);
    CHECK_EQ(usage().bytes_reserved, 0);
}

/* M4: a stream has the pools that it was given, whether it has had memory or not. */
TEST(m4_pools_of_a_stream_without_memory_are_not_those_that_another_sets_later)
{
    set_up();
    const compute_pool_desc small = { COMPUTE_POOL_EXCLUSIVE, 0, COMPUTE_WHOLE, 0, 0, 8 << 20 }, large = { COMPUTE_POOL_EXCLUSIVE, 0, COMPUTE_WHOLE, 0, 0, 0 };
    compute_stream first = make_stream(device), other = make_stream(device);
    OK(compute_stream_set_pools(first, &small, 1, 0, E));
    OK(compute_stream_set_pools(other, &large, 1, 0, E));
    compute_buffer_desc desc = buffer_desc(first, 16 << 20, 0);
    compute_buffer buffer = NULL;
    IS(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &buffer, E));
    desc.stream = other;
    OK(compute_buffer_create(device, &desc, &buffer, E));
}

/* M6: what is charged for released memory ends with its uses, also where nothing is allocated any more. */
TEST(m6_a_readback_has_the_budget_of_what_was_released_and_is_over)
{
    set_up();
    compute_stream spender = make_stream(device);
    compute_budget budget = make_budget(2 << 20);
    compute_buffer kept = make_buffer(device, 4096, "kept");
    fill_words(spender, kept, 7);
    OK(compute_stream_set_budget(spender, budget, E));
    compute_buffer_desc desc = buffer_desc(spender, 2 << 20, 0);
    compute_buffer all = NULL;
    OK(compute_buffer_create(device, &desc, &all, E));
    fill_words(spender, all, 1);
    compute_buffer_release(all);
    wait_for(spender);
    compute_view view = whole(kept);
    compute_readback readback = NULL;
    const void *bytes = NULL;
    uint64_t size = 0;
    OK(compute_stream_read_lazy(spender, &view, &readback, E));
    OK(compute_readback_get(readback, &bytes, &size, E));
    CHECK(size == 4096 && ((const uint32_t *)bytes)[1023] == 7);
    compute_readback_release(readback);
}

/* F7: releases of a stream that is gone, whose uses go on, take no longer and longer. */
TEST(f7_buffers_of_a_stream_that_is_gone_are_released_as_quickly_as_others)
{
    enum { MANY = 4000 };
    static compute_buffer buffers[2][MANY];
    set_up();
    if (!runs_long(device, stream)) return;
    compute_stream owners[2] = { make_stream(device), make_stream(device) };
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < MANY; i++) {
            compute_buffer_desc desc = buffer_desc(owners[kind], 256, 0);
            OK(compute_buffer_create(device, &desc, &buffers[kind][i], E));
        }
    }
    compute_buffer last = make_buffer(device, 256, "last");
    long_work(stream, last);
    long_work(stream, last);
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < MANY; i++) fill_words(stream, buffers[kind][i], 1);
    compute_stream_release(owners[1]);
    uint64_t took[2];
    for (int kind = 0; kind < 2; kind++) {
        uint64_t start = thread_ns();
        for (int i = 0; i < MANY; i++) compute_buffer_release(buffers[kind][i]);
        took[kind] = thread_ns() - start;
    }
    printf("  %.1f ms, of a stream that is gone %.1f ms\n", (double)took[0] / 1e6, (double)took[1] / 1e6);
    CHECK(took[1] < 30 * took[0]);
    compute_stream_release(owners[0]);
    wait_for(stream);
}

/* M6: a page whose last use goes on, and that is a little too large for the budget, is waited for. */
TEST(m6_an_allocation_that_fits_the_budget_is_not_refused_for_an_idle_page_that_is_too_large)
{
    compute_device_desc opened = COMPUTE_DEVICE_DESC_INIT;
    opened.backend = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    opened.backend_length = COMPUTE_NUL_TERMINATED;
    opened.idle_bytes = UINT64_C(1) << 30;
    OK(compute_device_open(&opened, &device, E));
    stream = make_stream(device);
    if (!runs_long(device, stream)) return;
    compute_buffer busy = make_buffer(device, 64, "busy");
    compute_buffer_desc desc = buffer_desc(stream, 80 << 20, 0);
    compute_buffer first = NULL, second = NULL;
    OK(compute_buffer_create(device, &desc, &first, E));
    long_work(stream, busy);
    compute_view view = range(first, 0, 4);
    OK(compute_stream_fill(stream, &view, "word", 4, E));
    compute_buffer_release(first);
    compute_budget tight = make_budget(78 << 20);
    OK(compute_stream_set_budget(stream, tight, E));
    desc.size = 75 << 20;
    OK(compute_buffer_create(device, &desc, &second, E));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m1_memory_released_on_its_stream_is_there_again_at_once_and_other_streams_wait_for_its_last_use);
    RUN(l8_memory_that_another_stream_still_uses_is_not_handed_out_before_that_use_is_over);
    RUN(t1_memory_that_a_pool_hands_out_again_is_never_written);
    RUN(m1_neighbours_in_a_page_do_not_touch_each_other);
    RUN(m1_persistent_buffers_have_pages_of_their_own_kind);
    RUN(m1_a_clean_up_gives_every_page_back_that_holds_nothing);
    RUN(m6_idle_pages_are_kept_up_to_what_the_device_was_opened_with);
    RUN(f7_buffers_outlive_their_stream_and_ended_streams_keep_nothing);
    RUN(f7_streams_that_end_before_their_work_leave_nothing_to_those_that_come_after);
    RUN(m4_a_stream_that_never_allocated_has_no_pools_and_reports_come_as_far_as_there_is_room);
    RUN(m4_a_layout_that_cannot_be_is_refused_with_the_reason);
    RUN(m4_pools_in_use_are_not_replaced_and_later_streams_get_the_layout_all_the_same);
    RUN(mem_05_a_refusal_says_how_much_is_free_and_how_large_the_largest_run_is);
    RUN(m2_an_allocation_that_finds_its_pool_full_waits_for_what_was_released_and_is_tried_again);
    RUN(m2_a_page_that_the_driver_has_not_is_asked_for_again_after_reclaiming);
    RUN(mem_03_a_size_beyond_all_memory_is_refused_with_the_numbers_and_a_small_one_works_afterwards);
    RUN(mem_01_a_buffer_of_three_gib_is_addressed_to_its_last_byte);
    RUN(mem_02_bytes_around_2_to_the_31_are_where_they_should_be);
    RUN(m6_mem_03_a_budget_is_shared_by_streams_and_refuses_with_the_numbers);
    RUN(m6_a_charge_stays_until_the_use_is_over_and_an_allocation_that_needs_it_waits);
    RUN(m6_a_budget_below_a_page_charges_what_allocations_take);
    RUN(m6_an_allocation_is_charged_with_what_the_pool_gives_and_is_given_no_more_than_the_budget_allows);
    RUN(f1_whichever_call_of_the_device_fails_no_page_is_lost_and_none_is_given_out_twice);
    RUN(f1_bad_streams_and_handles_are_refused);
    RUN(s1_threads_that_allocate_and_clean_up_at_once_get_memory_of_their_own);
    RUN(m4_pools_of_a_stream_without_memory_are_not_those_that_another_sets_later);
    RUN(m6_a_readback_has_the_budget_of_what_was_released_and_is_over);
    RUN(f7_buffers_of_a_stream_that_is_gone_are_released_as_quickly_as_others);
    RUN(m6_an_allocation_that_fits_the_budget_is_not_refused_for_an_idle_page_that_is_too_large);
    return finish();
}
