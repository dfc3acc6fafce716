/* M1: a compaction moves buffers so that whole pages go back, and nobody who holds one notices. */
#include "memory.h"

static compute_compaction_info compact(compute_stream on)
{
    compute_compaction_info info = COMPUTE_COMPACTION_INFO_INIT;
    OK(compute_stream_compact(on, &info, E));
    return info;
}

TEST(m1_a_compaction_empties_the_least_used_pages_and_gives_them_back)
{
    set_up();
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 4096, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    enum { COUNT = 64 };
    compute_buffer all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = stream_buffer(stream, 4096);
        fill_words(stream, all[i], (uint32_t)i);
    }
    CHECK_EQ(usage().bytes_reserved, 16 * 16384);
    for (int i = 0; i < COUNT; i++) {
        if (i % 4) compute_buffer_release(all[i]);
    }
    wait_for(stream);
    CHECK_EQ(usage().bytes_reserved, 16 * 16384); /* one in four is left in each page */
    compute_compaction_info done = compact(stream);
    CHECK_EQ(done.buffers, 12);
    CHECK_EQ(done.bytes, 12 * 4096);
    CHECK_EQ(done.bytes_freed, 12 * 16384);
    CHECK_EQ(usage().bytes_reserved, 4 * 16384);
    CHECK_EQ(usage().bytes_in_use, 16 * 4096);
    for (int i = 0; i < COUNT; i += 4) {
        for (uint64_t word = 0; word < 1024; word += 341) CHECK_EQ(get_word(stream, all[i], word), i);
    }
    done = compact(stream);
    CHECK_EQ(done.buffers + done.bytes + done.bytes_freed, 0);
    OK(compute_stream_compact(stream, NULL, E));
    for (int i = 0; i < COUNT; i += 4) compute_buffer_release(all[i]);
    wait_for(stream);
    OK(compute_stream_cleanup(stream, E));
    CHECK_EQ(usage().bytes_reserved, 0);
}

TEST(t1_t2_what_is_known_of_bytes_moves_along)
{
    set_up();
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 8192, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer keep[2], gone[2];
    keep[0] = stream_buffer(stream, 8192); /* two pages, each half full after the releases below */
    gone[0] = stream_buffer(stream, 8192);
    keep[1] = stream_buffer(stream, 8192);
    gone[1] = stream_buffer(stream, 8192);
    for (int i = 0; i < 2; i++) {
        fill_words(stream, gone[i], 0xeeeeeeeeu); /* what a move must not bring to light */
        put_word(stream, keep[i], 0, 11);
        /* A claim on some bytes: a copy of the wrong size claims its destination. */
        compute_view from = range(gone[i], 0, 8), to = range(keep[i], 400, 16);
        IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &from, &to, E));
    }
    uint64_t failures[2] = { claimed_by(keep[0], 400, 16), claimed_by(keep[1], 400, 16) };
    CHECK(failures[0] && failures[1] && failures[0] != failures[1]);
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    wait_for(stream);
    CHECK_EQ(compact(stream).buffers, 1);
    CHECK_EQ(usage().bytes_reserved, 16384);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(claimed_by(keep[i], 400, 16), failures[i]);
        CHECK_EQ(claimed_by(keep[i], 0, 400), 0);
        CHECK_EQ(claimed_by(keep[i], 416, COMPUTE_WHOLE), 0);
        IS(COMPUTE_SKIPPED, launch_io(stream, increment, "", keep[i], keep[1 - i], 1));
        CHECK_EQ(get_word(stream, keep[i], 0), 11);
        CHECK_EQ(get_word(stream, keep[i], 50), 0); /* never written */
        fill_words(stream, keep[i], 12);
        fill_words(stream, keep[1 - i], 11);
        put_word(stream, keep[1 - i], 50, 0);
        compute_view from = range(keep[i], 0, 8), to = range(keep[1 - i], 400, 16);
        IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &from, &to, E));
        failures[1 - i] = claimed_by(keep[1 - i], 400, 16);
    }
}

/* Two pages that are half full, with one buffer each. */
static void half_full(compute_buffer keep[2])
{
    compute_buffer gone[2];
    for (int i = 0; i < 2; i++) {
        keep[i] = stream_buffer(stream, 8192);
        gone[i] = stream_buffer(stream, 8192);
        fill_words(stream, keep[i], (uint32_t)i);
    }
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    wait_for(stream);
}

TEST(g4_what_a_graph_refers_to_stays_in_place_until_it_is_destroyed_and_no_longer)
{
    set_up();
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 8192, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_buffer keep[2];
    half_full(keep);
    compute_view from = whole(keep[0]), to = whole(keep[1]);
    compute_graph_builder builder = NULL;
    compute_graph graph = NULL;
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    OK(compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, NULL, E));
    OK(compute_graph_builder_instantiate(builder, &graph, E));
    compute_graph_builder_release(builder);
    CHECK_EQ(compact(stream).buffers, 0);
    fill_words(stream, keep[0], 77);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, keep[1], 2047), 77);
    compute_graph_release(graph);
    CHECK_EQ(compact(stream).buffers, 1);
    CHECK_EQ(get_word(stream, keep[0], 5), 77);
    CHECK_EQ(get_word(stream, keep[1], 5), 77);
    for (int i = 0; i < 2; i++) compute_buffer_release(keep[i]);

    /* A window that gives no graph leaves nothing in its place either. */
    uint64_t capture = 0;
    half_full(keep);
    from = whole(keep[0]);
    to = whole(keep[1]);
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(compute_stream_copy(stream, &from, &to, E));
    IS(COMPUTE_ERROR_RECORDING, compute_stream_sync(stream, NULL, 0, 0, 0, E));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(stream, capture, &graph, E));
    CHECK_EQ(compact(stream).buffers, 1);
}

TEST(m1_what_is_in_use_held_in_place_or_in_frozen_pools_is_not_moved)
{
    set_up();
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 8192, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_buffer keep[2], gone[2];
    for (int i = 0; i < 2; i++) {
        compute_buffer_desc desc = buffer_desc(stream, 8192, COMPUTE_BUFFER_FLAG_FIXED);
        OK(compute_buffer_create(device, &desc, &keep[i], E));
        gone[i] = stream_buffer(stream, 8192);
        fill_words(stream, keep[i], (uint32_t)i);
    }
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    wait_for(stream);
    CHECK_EQ(compact(stream).buffers, 0);
    CHECK_EQ(usage().bytes_reserved, 2 * 16384);
    for (int i = 0; i < 2; i++) compute_buffer_release(keep[i]);
    wait_for(stream);
    OK(compute_stream_cleanup(stream, E));
    CHECK_EQ(usage().bytes_reserved, 0);

    for (int i = 0; i < 2; i++) {
        keep[i] = stream_buffer(stream, 8192);
        gone[i] = stream_buffer(stream, 8192);
    }
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    OK(compute_stream_freeze_pools(stream, 1, E));
    CHECK_EQ(compact(stream).buffers, 0);
    OK(compute_stream_freeze_pools(stream, 0, E));
    compute_stream other = make_stream(device);
    long_work(other, keep[0]);
    long_work(stream, keep[1]);
    compute_event last = NULL;
    OK(compute_stream_record(other, &last, E));
    uint64_t moved = compact(stream).buffers;
    if (compute_event_poll(last, E) == COMPUTE_NOT_READY) CHECK_EQ(moved, 0);
    else printf("  the work was over too early to tell\n");
    for (int i = 0; i < 2; i++) CHECK_EQ(get_word(stream, keep[i], 0), 42);
    wait_for(other);
    CHECK_EQ(compact(stream).buffers + moved, 1);
    for (int i = 0; i < 2; i++) CHECK_EQ(get_word(other, keep[i], 0), 42);
}

TEST(m5_m7_deferred_memory_is_there_once_it_is_mapped_and_stays_where_it_is)
{
    set_up();
    if (!(device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE)) {
        printf("  not tried: the device has no host-visible memory\n");
        return;
    }
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 8192, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_buffer keep[2], gone[2];
    compute_mapping mapped[2];
    unsigned char *first[2];
    for (int i = 0; i < 2; i++) {
        uint64_t size = 0;
        void *pointer = NULL;
        compute_buffer_desc desc = buffer_desc(stream, 8192, COMPUTE_BUFFER_FLAG_HOST_VISIBLE | COMPUTE_BUFFER_FLAG_DEFERRED);
        OK(compute_buffer_create(device, &desc, &keep[i], E));
        CHECK_EQ(usage().bytes_in_use, i * 16384);
        compute_view whole = range(keep[i], 0, COMPUTE_WHOLE);
        OK(compute_buffer_map(&whole, &mapped[i], E));
        OK(compute_mapping_get_pointer(mapped[i], &pointer, &size, E));
        CHECK_EQ(size, 8192);
        first[i] = pointer;
        gone[i] = stream_buffer(stream, 8192);
        fill_words(stream, gone[i], 0xeeeeeeeeu);
    }
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    wait_for(stream);
    CHECK_EQ(compact(stream).buffers, 0);
    for (int i = 0; i < 2; i++) {
        memset(first[i], i + 1, 8192);
        OK(compute_mapping_flush(mapped[i], 0, COMPUTE_WHOLE, E));
        CHECK_EQ(get_word(stream, keep[i], 2047), (uint32_t)(i + 1) * 0x01010101u);
        compute_mapping_release(mapped[i]);
        compute_buffer_release(keep[i]);
    }
}

TEST(l8_work_of_other_streams_finds_what_was_moved)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_stream other = make_stream(device);
    for (int round = 0; round < 50; round++) {
        compute_buffer all[32];
        for (int i = 0; i < 32; i++) {
            all[i] = stream_buffer(i % 2 ? stream : NULL, 16384);
            fill_words(i % 3 ? other : stream, all[i], (uint32_t)(round + i));
        }
        for (int i = 0; i < 32; i++) {
            if (i % 8 > 1) compute_buffer_release(all[i]);
        }
        wait_for(other);
        wait_for(stream);
        OK(compute_stream_compact(stream, NULL, E));
        for (int i = 0; i < 32; i += 8) OK(launch_io(other, increment, "", all[i], all[i + 1], 64)); /* at once, in and out moved */
        for (int i = 0; i < 32; i += 8) {
            CHECK_EQ(get_word(stream, all[i + 1], 4095), round + i + 1);
            CHECK_EQ(get_word(other, all[i], 4095), round + i);
            compute_buffer_release(all[i]);
            compute_buffer_release(all[i + 1]);
        }
    }
}

static void *compact_once(void *unused)
{
    (void)unused;
    compute_compaction_info info = COMPUTE_COMPACTION_INFO_INIT;
    return compute_stream_compact(stream, &info, NULL) == COMPUTE_OK && info.buffers == 1 ? NULL : (void *)"no compaction";
}

TEST(l8_work_of_another_stream_waits_for_a_move_that_is_not_over)
{
    set_up();
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 8192, 16384, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2));
    compute_stream other = make_stream(device);
    compute_buffer keep[2], gone[2], busy = make_buffer(device, 64, "busy");
    for (int i = 0; i < 2; i++) {
        keep[i] = stream_buffer(stream, 8192);
        gone[i] = stream_buffer(stream, 8192);
        fill_words(stream, gone[i], 0xeeeeeeeeu);
        fill_words(stream, keep[i], 7);
    }
    long_work(stream, busy);
    wait_for(stream);
    for (int i = 0; i < 2; i++) compute_buffer_release(gone[i]);
    long_work(stream, busy); /* the moves come after it */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, compact_once, NULL) == 0);
    struct timespec moment = { 0, 50000000 };
    nanosleep(&moment, NULL);
    for (int i = 0; i < 2; i++) CHECK_EQ(get_word(other, keep[i], 2047), 7);
    void *wrong = NULL;
    CHECK(pthread_join(thread, &wrong) == 0);
    CHECK(wrong == NULL);
}

/* ---- random programs against their contents ---- */

enum { MOST = 400 };
typedef struct {
    compute_buffer buffer;
    uint64_t words;
    uint32_t first, rest; /* what the first word, and all others, should be */
} Known;

static uint64_t random_state;
static uint64_t below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (random_state >> 33) % limit;
}

static void look_at(compute_stream on, const Known *known)
{
    uint32_t words[64];
    uint64_t start = below(known->words), count = known->words - start < 64 ? known->words - start : 64;
    OK(get(on, known->buffer, 4 * start, words, 4 * count));
    for (uint64_t i = 0; i < count; i++) CHECK_EQ(words[i], start + i == 0 ? known->first : known->rest);
}

static void random_program(uint64_t seed, int steps)
{
    static Known all[MOST];
    memset(all, 0, sizeof all);
    random_state = seed;
    const compute_pool_desc pools[2] = { pool(COMPUTE_POOL_SLICED, 16384, 65536, 0, 0), pool(COMPUTE_POOL_EXCLUSIVE, COMPUTE_WHOLE, 0, 0, 0) };
    OK(set_pools(stream, pools, 2)); /* of both streams */
    compute_stream streams[2] = { stream, make_stream(device) };
    compute_kernel add = make_kernel(device, INCREMENT);
    uint64_t moved = 0, freed = 0;
    for (int step = 0; step < steps; step++) {
        Known *known = &all[below(MOST)];
        compute_stream on = streams[below(2)];
        int shrinking = step / 1000 % 2; /* waves, which leave holes */
        switch (below(8)) {
        case 0: case 1:
            if (known->buffer || shrinking) {
                if (!shrinking) break;
                compute_buffer_release(known->buffer);
                known->buffer = NULL;
                break;
            }
            known->words = 1 + below(below(4) ? 2000 : 60000);
            compute_buffer_desc desc = buffer_desc(below(5) ? streams[below(2)] : NULL, 4 * known->words, below(6) ? 0 : COMPUTE_BUFFER_FLAG_PERSISTENT);
            if (below(4) == 0) desc.flags |= COMPUTE_BUFFER_FLAG_DEFERRED;
            OK(compute_buffer_create(device, &desc, &known->buffer, E));
            known->first = known->rest = 0; /* never written */
            break;
        case 2:
            compute_buffer_release(known->buffer);
            known->buffer = NULL;
            break;
        case 3:
            if (!known->buffer) break;
            fill_words(on, known->buffer, known->first = known->rest = (uint32_t)step);
            break;
        case 4:
            if (!known->buffer) break;
            put_word(on, known->buffer, 0, known->first = (uint32_t)~step);
            break;
        case 5: {
            Known *to = &all[below(MOST)];
            if (!known->buffer || !to->buffer || to == known || to->words > known->words) break;
            OK(launch_io(on, add, "", known->buffer, to->buffer, (uint32_t)(to->words + 63) / 64));
            to->first = known->first + 1;
            to->rest = known->rest + 1;
            break;
        }
        case 6:
            if (known->buffer) look_at(on, known);
            break;
        default:
            if (below(12)) break;
            if (below(3)) wait_for(streams[0]), wait_for(streams[1]);
            compute_compaction_info done = compact(on);
            moved += done.buffers;
            freed += done.bytes_freed;
        }
    }
    for (int i = 0; i < MOST; i++) {
        if (!all[i].buffer) continue;
        for (int round = 0; round < 3; round++) look_at(stream, &all[i]);
        compute_buffer_release(all[i].buffer);
    }
    printf("  seed %u: %u moved, %u KiB freed\n", (unsigned)seed, (unsigned)moved, (unsigned)(freed >> 10));
    CHECK(moved > 20 && freed > 0);
    wait_for(streams[0]);
    wait_for(streams[1]);
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(usage().bytes_reserved, 0);
    compute_stream_release(streams[1]);
}

TEST(m1_random_programs_find_their_bytes_whatever_is_moved)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        set_up();
        random_program(seed, 6000);
        compute_stream_release(stream);
        compute_device_release(device);
    }
}

/* ---- at once, and failing ---- */

static int stop;
static void *keep_compacting(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (compute_stream_compact(stream, NULL, NULL) != COMPUTE_OK) return "no compaction";
    }
    return NULL;
}

TEST(s1_threads_that_compact_move_nothing_away_from_those_that_work)
{
    set_up();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, keep_compacting, NULL) == 0);
    random_state = 99;
    compute_stream mine = make_stream(device);
    Known all[64];
    memset(all, 0, sizeof all);
    /* On a device whose reads take far longer, fewer do. */
    uint64_t begun = now_ns();
    for (int step = 0; step < 20000 && (step < 500 || now_ns() - begun < 15 * SECONDS); step++) {
        Known *known = &all[below(64)];
        if (!known->buffer) {
            known->words = 1 + below(4000);
            known->buffer = stream_buffer(below(2) ? stream : NULL, 4 * known->words);
            fill_words(mine, known->buffer, known->first = known->rest = (uint32_t)step);
        } else if (below(3) == 0) {
            compute_buffer_release(known->buffer);
            known->buffer = NULL;
        } else {
            look_at(mine, known);
            put_word(mine, known->buffer, 0, known->first = (uint32_t)step);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
}

static void *compact_twice(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        if (compute_stream_compact(stream, NULL, NULL) != COMPUTE_OK) return "no compaction";
    }
    return NULL;
}

TEST(s1_whoever_holds_the_device_may_compact_while_others_wait_to)
{
    set_up();
    compute_buffer keep = stream_buffer(stream, 4096);
    fill_words(stream, keep, 3);
    OK(compute_device_lock(device, E));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, compact_twice, NULL) == 0);
    struct timespec moment = { 0, 20000000 };
    nanosleep(&moment, NULL);
    for (int i = 0; i < 20; i++) OK(compute_stream_compact(stream, NULL, E));
    CHECK_EQ(get_word(stream, keep, 0), 3);
    OK(compute_device_unlock(device, E));
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
}

TEST(f1_whichever_call_of_the_device_fails_a_compaction_leaves_every_buffer_its_bytes)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC, COMPUTE_FAULT_LATE };
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1;; call++) {
            set_up_on(open_faulty());
            compute_buffer all[24];
            for (uint32_t i = 0; i < COUNT_OF(all); i++) {
                all[i] = stream_buffer(stream, 16384);
                fill_words(stream, all[i], i);
            }
            for (size_t i = 0; i < COUNT_OF(all); i++) {
                if (i % 6) compute_buffer_release(all[i]), all[i] = NULL;
            }
            wait_for(stream);
            uint64_t before = 0, after = 0;
            OK(compute_device_fault_calls(device, &before, E));
            OK(compute_device_inject_fault(device, call, ways[way], E));
            compute_stream_compact(stream, NULL, NULL);
            OK(compute_device_fault_calls(device, &after, E));
            if (compute_device_status(device, E) == COMPUTE_OK) {
                OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
                compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, NULL);
                for (uint32_t i = 0; i < COUNT_OF(all); i += 6) {
                    uint32_t word = 0;
                    compute_status status = get(stream, all[i], 16380, &word, 4);
                    CHECK(status == COMPUTE_OK ? word == i : status == COMPUTE_ERROR_UNWRITTEN && ways[way] == COMPUTE_FAULT_LATE);
                }
                CHECK_EQ(usage().bytes_in_use, 4 * 16384);
            }
            for (size_t i = 0; i < COUNT_OF(all); i++) compute_buffer_release(all[i]);
            CHECK_EQ(usage().bytes_in_use, 0);
            compute_stream_release(stream);
            compute_device_release(device);
            if (after - before < call) {
                printf("  failing in way %u: each of %u calls\n", (unsigned)ways[way], (unsigned)call - 1);
                CHECK(call > 2);
                break;
            }
            CHECK(call < 100);
        }
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m1_a_compaction_empties_the_least_used_pages_and_gives_them_back);
    RUN(t1_t2_what_is_known_of_bytes_moves_along);
    RUN(g4_what_a_graph_refers_to_stays_in_place_until_it_is_destroyed_and_no_longer);
    RUN(m1_what_is_in_use_held_in_place_or_in_frozen_pools_is_not_moved);
    RUN(m5_m7_deferred_memory_is_there_once_it_is_mapped_and_stays_where_it_is);
    RUN(l8_work_of_other_streams_finds_what_was_moved);
    RUN(l8_work_of_another_stream_waits_for_a_move_that_is_not_over);
    RUN(m1_random_programs_find_their_bytes_whatever_is_moved);
    RUN(s1_threads_that_compact_move_nothing_away_from_those_that_work);
    RUN(s1_whoever_holds_the_device_may_compact_while_others_wait_to);
    RUN(f1_whichever_call_of_the_device_fails_a_compaction_leaves_every_buffer_its_bytes);
    return finish();
}
