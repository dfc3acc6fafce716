/* M5: dry runs, plans, deferred allocations; frozen pools (M2). */
#include "memory.h"

/* One step of a program: buffers of many sizes that come and go on `stream`, each filled and one in three computed on. */
enum { LIVE = 24, ROUNDS = 400 };
static int step(compute_kernel increment)
{
    compute_buffer live[LIVE] = { NULL };
    uint64_t state = 7;
    for (int round = 0; round < ROUNDS; round++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t slot = (size_t)(state >> 40) % LIVE;
        compute_buffer_release(live[slot]);
        live[slot] = NULL;
        uint64_t size = (4 + (state >> 20) % 250) * (UINT64_C(4) << (state >> 50) % 12);
        compute_status status = try_buffer(stream, size, &live[slot]);
        if (status != COMPUTE_OK) return status;
        fill_words(stream, live[slot], (uint32_t)round);
        compute_buffer other = live[(slot + 1) % LIVE];
        if (round % 3 == 0 && other) OK(launch_io(stream, increment, "", live[slot], other, 1));
    }
    for (int i = 0; i < LIVE; i++) compute_buffer_release(live[i]);
    return COMPUTE_OK;
}

static compute_pool_desc plan[MOST_POOLS];
static size_t get_plan(void)
{
    size_t count = 0;
    OK(compute_stream_get_plan(stream, plan, 0, MOST_POOLS, &count, E));
    return count;
}

TEST(m5_a_dry_run_measures_the_peaks_and_pays_for_nothing)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    OK(compute_stream_begin_dry_run(stream, E));
    /* Together more than this machine has, where buffers may be as large as that. */
    compute_device_info info = device_info(device);
    uint64_t half = (info.memory_size / 2 < info.max_buffer_size ? info.memory_size / 2 : info.max_buffer_size) / 4096 * 4096;
    compute_buffer huge[3];
    for (int i = 0; i < 3; i++) huge[i] = stream_buffer(stream, half);
    CHECK_EQ(report(stream), usual_pools());
    size_t own = usual_pools() - 3; /* of what has pages of its own, ahead of the two persistent pools */
    CHECK_EQ(reports[own].bytes_in_use, 3 * half);
    CHECK_EQ(usage().buffers, 3);
    CHECK_EQ(usage().bytes_in_use, 0);
    for (int i = 0; i < 3; i++) compute_buffer_release(huge[i]);
    CHECK_EQ(step(increment), COMPUTE_OK);
    CHECK_EQ(report(stream), usual_pools());
    for (size_t i = 0; i < 6; i++) CHECK_EQ(reports[i].bytes_in_use, 0);
    CHECK(reports[0].bytes_in_use_peak > 0 && reports[1].bytes_in_use_peak > 0);
    CHECK_EQ(reports[own].bytes_in_use_peak, 3 * half);
    CHECK_EQ(usage().bytes_reserved_peak, 0);
    CHECK_EQ(usage().bytes_in_use_peak, 0);
    OK(compute_stream_end_dry_run(stream, E));
    CHECK_EQ(report(stream), 0); /* nothing was taken from the stream's own pools */
}

TEST(m5_the_plan_of_a_dry_run_caps_pools_that_serve_the_same_work)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    OK(compute_stream_begin_dry_run(stream, E));
    CHECK_EQ(step(increment), COMPUTE_OK);
    CHECK_EQ(report(stream), usual_pools());
    uint64_t peaks[6];
    for (size_t i = 0; i < usual_pools(); i++) peaks[i] = reports[i].bytes_reserved_peak;
    OK(compute_stream_end_dry_run(stream, E));
    size_t count = get_plan();
    CHECK_EQ(count, usual_pools() - 2);
    OK(set_pools(stream, plan, count));
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(step(increment), COMPUTE_OK);
        CHECK_EQ(report(stream), usual_pools());
        for (size_t i = 0; i < count; i++) {
            CHECK(reports[i].bytes_reserved_peak <= plan[i].cap);
            if (peaks[i]) CHECK_EQ(plan[i].cap, peaks[i]);
            else CHECK_EQ(plan[i].cap, plan[i].page ? plan[i].page : 1);
        }
    }
    /* Half of the plan is not enough for the work: so it was no more than needed. */
    compute_stream tight = make_stream(device);
    for (size_t i = 0; i < count; i++) {
        if (plan[i].kind != COMPUTE_POOL_SLICED || !peaks[i]) continue;
        if (plan[i].cap / 2 >= plan[i].page) plan[i].cap /= 2;
    }
    stream = tight;
    OK(set_pools(stream, plan, count));
    CHECK_EQ((uint64_t)step(increment), (uint64_t)COMPUTE_ERROR_POOL_FULL);
    CHECK_EQ(last_info().reclaimable, 1);
}

TEST(m5_a_dry_run_compiles_and_checks_but_touches_nothing)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer kept = stream_buffer(stream, 64), out = stream_buffer(stream, 64);
    fill_words(stream, kept, 5);
    OK(compute_stream_begin_dry_run(stream, E));
    IS(COMPUTE_ERROR_BUSY, compute_stream_begin_dry_run(stream, E));
    compute_buffer brief = stream_buffer(stream, 64);
    fill_words(stream, kept, 6);
    put_word(stream, kept, 0, 7);
    compute_view from = whole(kept), to = whole(brief);
    OK(compute_stream_copy(stream, &from, &to, E));
    OK(launch_io(stream, increment, "", kept, out, 1));
    uint32_t word = 9;
    IS(COMPUTE_ERROR_BUSY, get(stream, kept, 0, &word, 4));
    CHECK(word == 9 && error_says("dry run"));
    compute_binding bindings[2] = { bind(0, kept), bind(1, kept) };
    IS(COMPUTE_ERROR_OVERLAP, launch(stream, increment, 1, bindings, 2));
    CHECK_EQ(claimed_by(kept, 0, 64), 0); /* as T11 */
    const char *broken = "@compute @workgroup_size(1) fn main() { let a: i32 = 1.5; }";
    compute_kernel_desc desc = kernel_desc(broken, "broken");
    compute_kernel none = NULL;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &none, E));
    compute_event event = NULL;
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    OK(compute_stream_sync(stream, &from, 1, 0, COMPUTE_FOREVER, E));
    OK(compute_stream_end_dry_run(stream, E));
    IS(COMPUTE_ERROR_BUSY, compute_stream_end_dry_run(stream, E));
    CHECK_EQ(get_word(stream, kept, 0), 5);
    CHECK_EQ(get_word(stream, out, 0), 0);
    CHECK_EQ(usage().bytes_in_use, 128);
    CHECK_EQ(get_word(stream, brief, 3), 0); /* never written, and now it has memory */
    CHECK_EQ(usage().bytes_in_use, 192);
    fill_words(stream, brief, 8);
    OK(launch_io(stream, increment, "", brief, out, 1));
    CHECK_EQ(get_word(stream, out, 0), 9);
}

TEST(m5_a_plan_is_told_as_far_as_there_is_room_and_only_after_a_dry_run)
{
    set_up();
    size_t count = 9;
    IS(COMPUTE_ERROR_BUSY, compute_stream_get_plan(stream, plan, 0, MOST_POOLS, &count, E));
    CHECK_EQ(count, 0);
    OK(compute_stream_begin_dry_run(stream, E));
    compute_buffer buffer = stream_buffer(stream, 100000);
    memset(plan, 0x55, sizeof plan);
    IS(COMPUTE_INCOMPLETE, compute_stream_get_plan(stream, plan, 0, 2, &count, E));
    CHECK_EQ(count, usual_pools() - 2);
    CHECK_EQ(plan[1].cap, 1 << 20);
    CHECK_EQ(plan[2].cap, UINT64_C(0x5555555555555555));
    OK(compute_stream_get_plan(stream, NULL, 0, 0, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_get_plan(stream, NULL, 0, 4, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_get_plan(stream, plan, 8, 4, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_get_plan(stream, plan, SIZE_MAX / 2, 4, &count, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_get_plan(stream, plan, 0, 4, NULL, E));
    compute_buffer_release(buffer);
    OK(compute_stream_end_dry_run(stream, E));
    CHECK_EQ(get_plan(), usual_pools() - 2);
}

/* ---- deferred allocations ---- */

static compute_buffer deferred(compute_stream of, uint64_t size, uint64_t flags)
{
    compute_buffer_desc desc = buffer_desc(of, size, COMPUTE_BUFFER_FLAG_DEFERRED | flags);
    desc.label = "later";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    compute_buffer buffer = NULL;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    return buffer;
}

TEST(m5_a_deferred_buffer_gets_its_memory_at_its_first_use_whatever_that_is)
{
    set_up();
    compute_stream other = make_stream(device);
    compute_kernel increment = make_kernel(device, INCREMENT);
    for (int use = 0; use < 6; use++) {
        compute_buffer later = deferred(use % 2 ? stream : NULL, 4096, use % 3 ? 0 : COMPUTE_BUFFER_FLAG_PERSISTENT);
        compute_buffer plain = make_buffer(device, 4096, "plain");
        fill_words(stream, plain, 41);
        compute_view view = whole(later), from = whole(plain);
        OK(compute_check(&view, 1, 0, E));
        OK(compute_stream_sync(stream, &view, 1, 0, COMPUTE_FOREVER, E));
        CHECK_EQ(usage().bytes_in_use, 4096);
        uint32_t expected = 41, bytes[1024];
        if (use == 0) OK(compute_stream_copy(other, &from, &view, E));
        if (use == 1) fill_words(other, later, 41);
        if (use == 2) put_word(other, later, 0, 41);
        if (use == 3) OK(launch_io(other, increment, "", plain, later, 16));
        if (use == 4) OK(launch_io(other, increment, "", later, plain, 16));
        if (use == 5) OK(compute_stream_read(other, &view, bytes, 4096, E));
        if (use >= 3) expected = use == 3 ? 42 : 0;
        CHECK_EQ(usage().bytes_in_use, 8192);
        CHECK_EQ(get_word(stream, later, 0), expected);
        if (use == 2 || use == 4) CHECK_EQ(get_word(stream, later, 1023), 0);
        compute_buffer_release(later);
        compute_buffer_release(plain);
        CHECK_EQ(usage().bytes_in_use, 0);
        CHECK_EQ(usage().buffers, 0);
    }
    compute_buffer unused = deferred(stream, MIB, 0), empty = deferred(stream, 0, 0);
    compute_stream_release(stream); /* it keeps its pools until then */
    fill_words(other, unused, 3);
    CHECK_EQ(get_word(other, unused, 99), 3);
    compute_buffer_release(unused);
    compute_buffer_release(empty);
}

TEST(m5_a_deferred_allocation_that_cannot_be_made_claims_its_buffer_with_an_error_of_its_own)
{
    set_up_on(open_faulty());
    compute_kernel increment = make_kernel(device, INCREMENT);
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 4096, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 150 * MIB) };
    OK(set_pools(stream, pools, 2));
    compute_buffer in = stream_buffer(stream, 4096), out = stream_buffer(stream, 4096), hog = stream_buffer(stream, 100 * MIB);
    compute_buffer later = deferred(stream, 100 * MIB, 0);
    fill_words(stream, in, 1);
    fill_words(stream, out, 1);
    wait_for(stream);
    uint64_t before = usage().bytes_in_use;
    IS(COMPUTE_ERROR_NOT_BACKED, launch_io(stream, increment, "first", in, later, 1));
    CHECK(error_says("104857600 bytes") && error_says("`later`") && error_says("deferred"));
    CHECK_EQ(last_info().reclaimable, 1);
    CHECK_EQ(last_info().refusal, 0);
    uint64_t failure = last_info().failure;
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(later, 0, 4), failure);
    CHECK_EQ(claimed_by(later, 100 * MIB - 4, 4), failure);
    CHECK_EQ(claimed_by(in, 0, 4096), 0);
    CHECK_EQ(usage().bytes_in_use, before);
    /* What needs it is skipped, without another attempt, and leads back to it. */
    uint64_t calls = 0, again = 0;
    OK(compute_device_fault_calls(device, &calls, E));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "second", later, out, 1));
    OK(compute_device_fault_calls(device, &again, E));
    CHECK_EQ(calls, again);
    uint32_t word;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ((uint64_t)root_info().status, (uint64_t)COMPUTE_ERROR_NOT_BACKED);
    CHECK_EQ(last_info().reclaimable, 1);
    CHECK(error_says("second") && error_says("first"));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, later, 0, &word, 4));
    /* A whole write, once there is memory, repairs it (T4). */
    compute_buffer_release(hog);
    fill_words(stream, later, 6);
    OK(launch_io(stream, increment, "third", later, out, 64));
    CHECK_EQ(get_word(stream, out, 5), 7);
    CHECK_EQ(get_word(stream, later, 100 * MIB / 4 - 1), 6);
}

TEST(m5_a_deferred_buffer_that_is_only_read_and_cannot_be_backed_keeps_what_needed_it_from_running)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer out = make_buffer(device, 4096, "out"), later = deferred(stream, 4096, 0);
    fill_words(stream, out, 1);
    OK(compute_stream_freeze_pools(stream, 1, E));
    uint32_t word = 9;
    IS(COMPUTE_ERROR_NOT_BACKED, get(stream, later, 0, &word, 4));
    CHECK_EQ(word, 9);
    uint64_t failure = claimed_by(later, 0, COMPUTE_WHOLE);
    CHECK(failure != 0);
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "", later, out, 16));
    CHECK_EQ(claimed_by(out, 0, 4096), failure);
    CHECK_EQ(usage().bytes_in_use, 4096);
}

TEST(m5_what_can_never_be_allocated_is_refused_at_once_and_a_lost_device_stays_one)
{
    set_up_on(open_faulty());
    compute_buffer_desc desc = buffer_desc(stream, UINT64_MAX - 5, COMPUTE_BUFFER_FLAG_DEFERRED);
    compute_buffer none = NULL;
    IS(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &none, E));
    CHECK_EQ(last_info().reclaimable, 0);
    const compute_pool_desc small = pool(COMPUTE_POOL_SLICED, 4096, 4096, 0, 0);
    compute_buffer brief = stream_buffer(stream, 1); /* so that it has pools */
    compute_buffer_release(brief);
    OK(set_pools(stream, &small, 1));
    desc.size = 5000;
    IS(COMPUTE_ERROR_TOO_LARGE, compute_buffer_create(device, &desc, &none, E));
    OK(compute_stream_begin_dry_run(stream, E));
    IS(COMPUTE_ERROR_TOO_LARGE, try_buffer(stream, 5000, &none));
    OK(compute_stream_end_dry_run(stream, E));
    CHECK(none == NULL);
    compute_buffer later = deferred(stream, 4096, 0);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LOST, E));
    compute_view view = whole(later);
    uint32_t word = 0;
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_fill(stream, &view, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_begin_dry_run(stream, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_freeze_pools(stream, 1, E));
    compute_buffer_release(later);
}

TEST(m6_a_deferred_allocation_is_charged_when_it_is_made)
{
    set_up();
    compute_budget budget = make_budget(MIB);
    OK(compute_stream_set_budget(stream, budget, E));
    compute_buffer one = deferred(stream, MIB * 3 / 4, 0), two = deferred(stream, MIB * 3 / 4, 0);
    CHECK_EQ(charges(budget).charged, 0);
    fill_words(stream, one, 1);
    CHECK_EQ(charges(budget).charged, MIB * 3 / 4);
    compute_view view = whole(two);
    uint32_t word = 2;
    IS(COMPUTE_ERROR_NOT_BACKED, compute_stream_fill(stream, &view, &word, 4, E));
    CHECK(error_says("budget"));
    CHECK_EQ(last_info().reclaimable, 1);
    compute_buffer_release(one);
    fill_words(stream, two, 2);
    CHECK_EQ(get_word(stream, two, 1000), 2);
}

/* Threads that use deferred buffers for the first time at once. */
static compute_buffer raced[64];
static void *race(void *seed)
{
    compute_stream mine = NULL;
    if (compute_stream_create(device, NULL, &mine, NULL) != COMPUTE_OK) return "no stream";
    for (size_t i = 0; i < COUNT_OF(raced); i++) {
        uint32_t word = 0;
        compute_view view = range(raced[i], 4 * (uintptr_t)seed, 4);
        uint32_t mark = (uint32_t)(uintptr_t)seed + 100;
        if (compute_stream_write(mine, &view, &mark, 4, NULL) != COMPUTE_OK) return "no write";
        if (compute_stream_read(mine, &view, &word, 4, NULL) != COMPUTE_OK || word != mark) return "wrong bytes";
    }
    compute_stream_sync(mine, NULL, 0, 0, COMPUTE_FOREVER, NULL);
    compute_stream_release(mine);
    return NULL;
}

TEST(m5_threads_that_use_a_deferred_buffer_first_at_once_share_one_allocation)
{
    set_up();
    for (size_t i = 0; i < COUNT_OF(raced); i++) raced[i] = deferred(i % 2 ? stream : NULL, 4000 + i, 0);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, race, (void *)i) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        if (wrong) printf("  %s\n", (const char *)wrong);
        CHECK(wrong == NULL);
    }
    uint64_t asked = 0;
    for (size_t i = 0; i < COUNT_OF(raced); i++) {
        for (uint32_t word = 0; word < 4; word++) CHECK_EQ(get_word(stream, raced[i], word), word + 100);
        asked += 4000 + i;
    }
    CHECK_EQ(usage().bytes_in_use, asked);
    for (size_t i = 0; i < COUNT_OF(raced); i++) compute_buffer_release(raced[i]);
    wait_for(stream);
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_reserved, 0);
}

/* ---- frozen pools ---- */

TEST(m2_frozen_pools_take_no_page_and_say_how_much_is_missing)
{
    set_up_on(open_faulty());
    compute_buffer first = stream_buffer(stream, 1000), large = stream_buffer(stream, 3 * MIB), more = NULL;
    compute_buffer_release(large);
    wait_for(stream);
    OK(compute_stream_freeze_pools(stream, 1, E));
    uint64_t reserved = usage().bytes_reserved, before = 0, after = 0;
    OK(compute_device_fault_calls(device, &before, E));
    OK(try_buffer(stream, 2000, &more)); /* there is room */
    compute_buffer_release(more);
    IS(COMPUTE_ERROR_POOLS_FROZEN, try_buffer(stream, 40 * MIB, &more));
    CHECK(error_says("41943040 bytes asked for") && error_says("a further page of 41943040 bytes is missing"));
    CHECK_EQ(last_info().reclaimable, 0);
    IS(COMPUTE_ERROR_POOLS_FROZEN, try_buffer(stream, 100 * MIB, &more));
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_reserved, reserved); /* nothing goes back either */
    const compute_pool_desc small = pool(COMPUTE_POOL_SLICED, 4096, 4096, 0, 0);
    IS(COMPUTE_ERROR_POOLS_FROZEN, set_pools(stream, &small, 1));
    compute_buffer later = deferred(stream, 100 * MIB, 0);
    compute_view view = whole(later);
    uint32_t word = 4;
    IS(COMPUTE_ERROR_NOT_BACKED, compute_stream_fill(stream, &view, &word, 4, E));
    CHECK_EQ(last_info().reclaimable, 0);
    CHECK(error_says("frozen"));
    OK(compute_device_fault_calls(device, &after, E));
    CHECK_EQ(before, after);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_freeze_pools(stream, 2, E));
    compute_stream neighbour = make_stream(device); /* G3: others are not disturbed */
    OK(try_buffer(neighbour, 4096, &more));
    compute_buffer_release(more);
    OK(compute_stream_freeze_pools(stream, 0, E));
    OK(try_buffer(stream, 40 * MIB, &more));
    fill_words(stream, later, 4);
    CHECK_EQ(get_word(stream, later, 7), 4);
    fill_words(stream, first, 1);
}

/* ---- the device fails ---- */

static void use_plans(void)
{
    static const uint64_t sizes[] = { 100, 50000, 3 * MIB, 70 * MIB };
    compute_buffer all[3 * COUNT_OF(sizes)] = { NULL };
    compute_stream_begin_dry_run(stream, NULL);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        compute_buffer_desc desc = buffer_desc(stream, sizes[i / 3], i % 2 ? COMPUTE_BUFFER_FLAG_PERSISTENT : 0);
        if (compute_buffer_create(device, &desc, &all[i], NULL) < 0) continue;
    }
    compute_stream_end_dry_run(stream, NULL);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        uint32_t word = 3;
        compute_view view = range(all[i], 0, i % 2 ? 4 : COMPUTE_WHOLE);
        compute_stream_fill(stream, &view, &word, 4, NULL);
        uint32_t found = 3;
        view.size = 4;
        CHECK(compute_stream_read(stream, &view, &found, 4, NULL) != COMPUTE_OK || found == 3);
    }
    for (size_t i = 0; i < COUNT_OF(all); i++) compute_buffer_release(all[i]);
}

TEST(f1_whichever_call_of_the_device_fails_deferred_memory_is_neither_lost_nor_given_out_twice)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    /* A driver takes long to open a device, and this opens one for each call. */
    const uint64_t stride = getenv("RULES_BACKEND") ? 7 : 1;
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1;; call += stride) {
            set_up_on(open_faulty());
            uint64_t before = 0, after = 0;
            OK(compute_device_fault_calls(device, &before, E));
            OK(compute_device_inject_fault(device, call, ways[way], E));
            use_plans();
            OK(compute_device_fault_calls(device, &after, E));
            CHECK_EQ(usage().buffers, 0);
            CHECK_EQ(usage().bytes_in_use, 0);
            if (compute_device_status(device, E) == COMPUTE_OK) {
                OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
                wait_for(stream);
                OK(compute_device_cleanup(device, E));
                CHECK_EQ(usage().bytes_reserved, 0);
            }
            compute_stream_release(stream);
            compute_device_release(device);
            if (after - before < call) {
                printf("  failing in way %u: %s of %u calls\n", (unsigned)ways[way], stride > 1 ? "one in seven" : "each", (unsigned)(after - before));
                CHECK(call > 20);
                break;
            }
            CHECK(call < 500);
        }
    }
}

/* M5: makes and releases buffers in an order that only the seed decides. */
static compute_status at_random(compute_stream on, uint64_t most, uint32_t seed, int uses)
{
    enum { SLOTS = 300, STEPS = 3000 };
    compute_buffer buffers[SLOTS] = { NULL };
    compute_status status = COMPUTE_OK;
    for (int i = 0; i < STEPS && status == COMPUTE_OK; i++) {
        compute_buffer *slot = &buffers[next_random(&seed) % SLOTS];
        uint64_t largest = most >> next_random(&seed) % 12, size = 1 + next_random(&seed) % largest;
        if (*slot) {
            compute_buffer_release(*slot);
            *slot = NULL;
            continue;
        }
        compute_buffer_desc desc = buffer_desc(on, size, 0);
        status = compute_buffer_create(device, &desc, slot, E);
        if (status == COMPUTE_OK && uses) {
            compute_view first = range(*slot, 0, 1);
            OK(compute_stream_fill(on, &first, "x", 1, E));
        }
    }
    for (int i = 0; i < SLOTS; i++) compute_buffer_release(buffers[i]);
    return status;
}

TEST(m5_caps_that_a_dry_run_measured_hold_the_same_work)
{
    static const uint64_t most[] = { 16 << 10, 1 << 20, 40 << 20 };
    set_up();
    for (int kind = 0; kind < 3; kind++) {
        for (uint32_t seed = 1; seed <= 12; seed++) {
            compute_stream measured = make_stream(device);
            compute_pool_desc plan[16];
            size_t count = 0;
            OK(compute_stream_begin_dry_run(measured, E));
            CHECK_EQ(at_random(measured, most[kind], seed * 2654435761u, 0), COMPUTE_OK);
            OK(compute_stream_end_dry_run(measured, E));
            OK(compute_stream_get_plan(measured, plan, 0, COUNT_OF(plan), &count, E));
            OK(compute_stream_set_pools(measured, plan, count, 0, E));
            compute_status status = at_random(measured, most[kind], seed * 2654435761u, kind < 2 && seed % 2);
            if (status != COMPUTE_OK) printf("  sizes up to %llu, seed %u\n", (unsigned long long)most[kind], seed);
            CHECK_EQ(status, COMPUTE_OK);
            for (size_t i = 0; i < count; i++) plan[i].cap = 0;
            OK(compute_stream_set_pools(measured, plan, count, 0, E));
            compute_stream_release(measured);
        }
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m5_a_dry_run_measures_the_peaks_and_pays_for_nothing);
    RUN(m5_the_plan_of_a_dry_run_caps_pools_that_serve_the_same_work);
    RUN(m5_a_dry_run_compiles_and_checks_but_touches_nothing);
    RUN(m5_a_plan_is_told_as_far_as_there_is_room_and_only_after_a_dry_run);
    RUN(m5_a_deferred_buffer_gets_its_memory_at_its_first_use_whatever_that_is);
    RUN(m5_a_deferred_allocation_that_cannot_be_made_claims_its_buffer_with_an_error_of_its_own);
    RUN(m5_a_deferred_buffer_that_is_only_read_and_cannot_be_backed_keeps_what_needed_it_from_running);
    RUN(m5_what_can_never_be_allocated_is_refused_at_once_and_a_lost_device_stays_one);
    RUN(m6_a_deferred_allocation_is_charged_when_it_is_made);
    RUN(m5_threads_that_use_a_deferred_buffer_first_at_once_share_one_allocation);
    RUN(m2_frozen_pools_take_no_page_and_say_how_much_is_missing);
    RUN(f1_whichever_call_of_the_device_fails_deferred_memory_is_neither_lost_nor_given_out_twice);
    RUN(m5_caps_that_a_dry_run_measured_hold_the_same_work);
    return finish();
}
