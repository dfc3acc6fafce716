/* C1: copies between two devices. BETWEEN names the devices of both sides, BACKEND or BACKEND:INDEX each ("cuda:0 cuda:1"); without it both are the cpu device, opened
 * twice, between which bytes go through the host. Where both can reach each other they go straight, and the same has to hold. BETWEEN_BENCH=1 measures instead. */
#include "rules.h"

#define MIB (UINT64_C(1) << 20)

typedef struct {
    compute_device device;
    compute_stream stream;
} side;

static side here, there;

static const char *name_of(int which, char *name, uint32_t *index)
{
    const char *both = getenv("BETWEEN") ? getenv("BETWEEN") : "cpu cpu";
    char first[32], second[32];
    CHECK(sscanf(both, "%31s %31s", first, second) == 2);
    strcpy(name, which == 0 ? first : second);
    char *colon = strchr(name, ':');
    *index = colon ? (uint32_t)atoi(colon + 1) : 0;
    if (colon) *colon = 0;
    return name;
}

static side open_side(int which, uint64_t flags, int faulty)
{
    side made;
    char name[32];
    compute_device_desc desc;
    compute_fault_desc fault;
    compute_device_desc_init(&desc);
    compute_fault_desc_init(&fault);
    fault.kind = COMPUTE_CHAINED_FAULT;
    fault.how = COMPUTE_FAULT_NONE;
    desc.backend = name_of(which, name, &desc.index);
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.flags = flags;
    desc.next = faulty ? &fault : NULL;
    OK(compute_device_open(&desc, &made.device, E));
    made.stream = make_stream(made.device);
    return made;
}

static void set_up(void)
{
    here = open_side(0, 0, 0);
    there = open_side(1, 0, 0);
}

/* Whether both devices are of one driver that copies from one to another, and may. */
static int is_direct(void)
{
    const char *set = getenv("COMPUTE_PEER_ACCESS"), *peer = getenv("HIP_TEST_PEER");
    char names[2][32];
    uint32_t index;
    if (set && strcmp(set, "0") == 0) return 0;
    /* The driver for tests says that they can, and delivers other bytes. */
    if (peer && strcmp(peer, "wrong") == 0) return 0;
    return strcmp(name_of(0, names[0], &index), name_of(1, names[1], &index)) == 0 && (strcmp(names[0], "cuda") == 0 || strcmp(names[0], "hip") == 0);
}

static compute_status copy(const side *from, compute_view source, const side *to, compute_view destination)
{
    return compute_stream_copy_between(from->stream, &source, to->stream, &destination, E);
}

static compute_status copy_all(const side *from, compute_buffer source, const side *to, compute_buffer destination)
{
    return copy(from, whole(source), to, whole(destination));
}

/* Claims a view by a write of a wrong size. */
static uint64_t claim_view(const side *of, compute_view view)
{
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write(of->stream, &view, "x", 1, E));
    return last_info().failure;
}

static unsigned char *random_bytes(uint64_t size, uint32_t seed)
{
    unsigned char *bytes = malloc(size);
    CHECK(bytes != NULL);
    for (uint64_t i = 0; i < size; i++) bytes[i] = (unsigned char)(next_random(&seed) >> 11);
    return bytes;
}

static void arrives(const side *from, const side *to, uint64_t size, uint64_t skew)
{
    unsigned char *bytes = random_bytes(size, (uint32_t)size + 77), *back = malloc(size + 32);
    compute_buffer source = make_buffer(from->device, size + skew + 3, "source"), destination = make_buffer(to->device, size + 32, "destination");
    compute_view all = whole(destination);
    CHECK(back != NULL);
    OK(compute_stream_fill(to->stream, &all, "\xa5", 1, E));
    put(from->stream, source, skew, bytes, size);
    OK(copy(from, range(source, skew, size), to, range(destination, 7, size)));
    OK(get(to->stream, destination, 0, back, size + 32));
    CHECK(memcmp(back + 7, bytes, size) == 0);
    for (uint64_t i = 0; i < 7; i++) CHECK_EQ(back[i], 0xa5);
    for (uint64_t i = size + 7; i < size + 32; i++) CHECK_EQ(back[i], 0xa5);
    compute_buffer_release(source);
    compute_buffer_release(destination);
    free(bytes);
    free(back);
}

TEST(c1_bytes_arrive_both_ways_whatever_their_number_and_place_and_no_others_change)
{
    static const uint64_t sizes[] = { 1, 3, 4, 4096, 70001, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 13 * MIB + 5 };
    set_up();
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        arrives(&here, &there, sizes[i], i % 5);
        arrives(&there, &here, sizes[i], (i + 3) % 5);
    }
}

TEST(md_01_a_device_tells_whether_copies_go_straight)
{
    uint32_t straight = 9;
    set_up();
    OK(compute_device_reaches(here.device, here.device, &straight, E));
    CHECK_EQ(straight, 1);
    OK(compute_device_reaches(here.device, there.device, &straight, E));
    CHECK_EQ(straight, is_direct());
    OK(compute_device_reaches(there.device, here.device, &straight, E));
    CHECK_EQ(straight, is_direct());
}

TEST(c1_within_one_device_it_is_a_copy_like_any_other)
{
    set_up();
    side other = { here.device, make_stream(here.device) };
    compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(here.device, 64, "b");
    fill_words(here.stream, a, 5);
    OK(copy_all(&here, a, &other, b));
    CHECK_EQ(get_word(other.stream, b, 15), 5);
    IS(COMPUTE_ERROR_OVERLAP, copy(&here, range(a, 0, 32), &other, range(a, 16, 32)));
}

TEST(c1_an_empty_view_is_copied_and_changes_nothing)
{
    set_up();
    compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
    uint64_t failure = claim_view(&there, whole(b));
    OK(copy(&here, range(a, 64, 0), &there, range(b, 3, 0)));
    CHECK_EQ(claimed_by(b, 0, 64), failure);
}

/* ---- order ---- */

TEST(l8_a_copy_follows_the_earlier_work_of_both_streams_and_later_work_follows_it)
{
    enum { WORDS = 1 << 16, ROUNDS = 12 };
    set_up();
    compute_kernel add_here = make_kernel(here.device, INCREMENT), add_there = make_kernel(there.device, INCREMENT);
    compute_buffer a = make_buffer(here.device, 4 * WORDS, "a"), b = make_buffer(here.device, 4 * WORDS, "b");
    compute_buffer c = make_buffer(there.device, 4 * WORDS, "c"), d = make_buffer(there.device, 4 * WORDS, "d");
    fill_words(here.stream, a, 0);
    /* Round and round, and no wait of the host's: a + 4 each time. */
    for (int round = 0; round < ROUNDS; round++) {
        OK(launch_io(here.stream, add_here, "", a, b, WORDS / 64));
        OK(copy_all(&here, b, &there, c));
        OK(launch_io(there.stream, add_there, "", c, d, WORDS / 64));
        OK(launch_io(there.stream, add_there, "", d, c, WORDS / 64));
        OK(copy_all(&there, c, &here, b));
        OK(launch_io(here.stream, add_here, "", b, a, WORDS / 64));
    }
    for (uint64_t i = 0; i < WORDS; i += 4095) CHECK_EQ(get_word(here.stream, a, i), 4 * ROUNDS);
}

TEST(l8_what_is_written_to_the_source_later_on_any_stream_comes_after_the_copy)
{
    enum { WORDS = 4 << 20 };
    set_up();
    compute_stream second = make_stream(here.device), third = make_stream(there.device);
    compute_buffer a = make_buffer(here.device, 4 * WORDS, "a"), b = make_buffer(there.device, 4 * WORDS, "b"), c = make_buffer(there.device, 4 * WORDS, "c");
    for (uint32_t round = 1; round < 8; round++) {
        fill_words(here.stream, a, round);
        fill_words(there.stream, b, 99);
        OK(copy_all(&here, a, &there, b));
        fill_words(second, a, 1000 + round);
        compute_view from = whole(b), to = whole(c);
        OK(compute_stream_copy(third, &from, &to, E));
        for (uint64_t i = 0; i < WORDS; i += WORDS / 8 - 1) CHECK_EQ(get_word(third, c, i), round);
        CHECK_EQ(get_word(second, a, WORDS - 1), 1000 + round);
    }
}

TEST(f7_a_source_that_is_released_at_once_is_copied_all_the_same)
{
    enum { WORDS = 2 << 20 };
    set_up();
    compute_buffer b = make_buffer(there.device, 4 * WORDS, "b");
    for (uint32_t round = 1; round < 6; round++) {
        compute_buffer a = make_buffer(here.device, 4 * WORDS, "a");
        fill_words(here.stream, a, round);
        OK(copy_all(&here, a, &there, b));
        compute_buffer_release(a);
        compute_buffer next = make_buffer(here.device, 4 * WORDS, "the same memory");
        fill_words(here.stream, next, 0xffffffff);
        CHECK_EQ(get_word(there.stream, b, WORDS - 1), round);
        compute_buffer_release(next);
    }
}

static compute_buffer mine[2], yours[2];

static void *to_and_fro(void *which)
{
    size_t n = (size_t)which;
    const side *from = n ? &there : &here, *to = n ? &here : &there;
    compute_view source = whole(mine[n]), destination = whole(yours[1 - n]);
    for (int i = 0; i < 200; i++) {
        if (compute_stream_copy_between(from->stream, &source, to->stream, &destination, NULL) != COMPUTE_OK) return "failed";
    }
    return NULL;
}

TEST(c1_opposite_copies_at_the_same_time_end)
{
    set_up();
    for (size_t i = 0; i < 2; i++) {
        const side *at = i ? &there : &here;
        mine[i] = make_buffer(at->device, 4096, "mine");
        yours[i] = make_buffer(at->device, 4096, "yours");
        fill_words(at->stream, mine[i], 10 + (uint32_t)i);
    }
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, to_and_fro, (void *)(i % 2)) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0 && wrong == NULL);
    }
    CHECK_EQ(get_word(there.stream, yours[1], 1023), 10);
    CHECK_EQ(get_word(here.stream, yours[0], 1023), 11);
}

/* ---- trust ---- */

TEST(t1_never_written_bytes_arrive_as_zeros)
{
    set_up();
    compute_buffer a = make_buffer(here.device, 5 * MIB, "a"), b = make_buffer(there.device, 5 * MIB, "b");
    put_word(here.stream, a, 1000, 7);
    fill_words(there.stream, b, 1);
    OK(copy_all(&here, a, &there, b));
    CHECK_EQ(get_word(there.stream, b, 999), 0);
    CHECK_EQ(get_word(there.stream, b, 1000), 7);
    CHECK_EQ(get_word(there.stream, b, 5 * MIB / 4 - 1), 0);
}

TEST(t1_never_written_bytes_of_a_strict_device_skip_the_copy)
{
    here = open_side(0, COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN, 0);
    there = open_side(1, 0, 0);
    compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
    put_word(here.stream, a, 0, 7);
    IS(COMPUTE_SKIPPED, copy_all(&here, a, &there, b));
    CHECK_EQ(claimed_by(b, 0, 64), claimed_by(a, 4, 60));
    OK(copy(&here, range(a, 0, 4), &there, range(b, 0, 4)));
    CHECK_EQ(get_word(there.stream, b, 0), 7);
}

TEST(c1_t5_a_claimed_byte_skips_the_copy_and_the_destination_takes_the_same_failure_from_device_to_device)
{
    set_up();
    side third = open_side(0, 0, 0);
    for (uint64_t size = 64; size <= 9 * MIB; size = 9 * MIB - size) {
        compute_buffer a = make_buffer(here.device, size, "a"), b = make_buffer(there.device, size + 8, "b"), c = make_buffer(third.device, size, "c");
        fill_words(here.stream, a, 3);
        fill_words(there.stream, b, 4);
        uint64_t failure = claim_view(&here, range(a, size - 4, 4));
        IS(COMPUTE_SKIPPED, copy(&here, whole(a), &there, range(b, 8, size)));
        CHECK_EQ(claimed_by(b, 8, 1), failure);
        CHECK_EQ(claimed_by(b, size + 7, 1), failure);
        CHECK_EQ(get_word(there.stream, b, 1), 4);
        IS(COMPUTE_SKIPPED, copy(&there, range(b, 8, size), &third, whole(c)));
        compute_view last = whole(c);
        IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_sync(third.stream, &last, 1, 0, COMPUTE_FOREVER, E));
        CHECK_EQ(last_info().failure, failure);
        CHECK_EQ(root_info().status, COMPUTE_ERROR_OUT_OF_RANGE);
        CHECK(strcmp(chain_entry(0).buffer_label, "b") == 0 && strcmp(chain_entry(1).buffer_label, "a") == 0);
        /* T4: bytes that arrive repair what they cover. What was not read is of no matter. */
        OK(copy(&here, range(a, 0, size - 4), &there, range(b, 8, size - 4)));
        CHECK_EQ(claimed_by(b, 0, size + 4), 0);
        CHECK_EQ(claimed_by(b, size + 4, 4), failure);
        fill_words(here.stream, a, 6);
        OK(copy_all(&here, a, &third, c));
        CHECK_EQ(get_word(third.stream, c, size / 4 - 1), 6);
        if (size > 64) break;
    }
}

TEST(t2_a_skip_before_anything_was_sent_can_be_taken_back)
{
    set_up();
    compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
    fill_words(there.stream, b, 4);
    uint64_t failure = claim_view(&here, whole(a)), bytes = 0;
    IS(COMPUTE_SKIPPED, copy_all(&here, a, &there, b));
    compute_view view = whole(b);
    OK(compute_reinstate(&view, failure, &bytes, E));
    CHECK_EQ(bytes, 64);
    CHECK_EQ(get_word(there.stream, b, 3), 4);
}

TEST(t13_a_late_failure_is_known_before_its_bytes_reach_another_device)
{
    set_up();
    if (!(device_info(here.device).capabilities & COMPUTE_CAPABILITY_VALIDATE)) {
        printf("  not tried: the device has no validate mode\n");
        return;
    }
    compute_kernel_desc desc = kernel_desc("@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "@compute @workgroup_size(64) fn beyond(" ID ") { O[id.x] = id.x; if id.x == 17u { O[id.x + 1000000u] = 1u; } }", "beyond");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel beyond = make_kernel_from(here.device, &desc), well = NULL;
    desc = kernel_desc("@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
        "@compute @workgroup_size(64) fn well(" ID ") { O[id.x] = id.x; }", "well");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    well = make_kernel_from(here.device, &desc);
    compute_buffer a = make_buffer(here.device, 1024, "a"), b = make_buffer(here.device, 1024, "b"), c = make_buffer(there.device, 1024, "c");
    for (int round = 0; round < 4; round++) {
        compute_binding binding = bind(0, a);
        fill_words(there.stream, c, 55);
        OK(launch(here.stream, round % 2 ? well : beyond, 4, &binding, 1));
        compute_view from = whole(a), to = whole(b);
        /* Skipped, where the failure is known by now. */
        CHECK(compute_stream_copy(here.stream, &from, &to, E) >= 0);
        if (round % 2) {
            OK(copy_all(&here, b, &there, c));
            CHECK_EQ(get_word(there.stream, c, 200), 200);
        } else {
            IS(COMPUTE_SKIPPED, copy_all(&here, b, &there, c));
            CHECK_EQ(claimed_by(c, 0, 1024), claimed_by(b, 0, 1024));
            CHECK_EQ(root_info().status, COMPUTE_ERROR_KERNEL_FAULT);
        }
    }
}

/* ---- what is refused ---- */

TEST(c4_sizes_and_devices_are_checked_before_anything_is_sent_and_a_refusal_claims_the_destination)
{
    set_up();
    compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
    fill_words(here.stream, a, 3);
    struct { compute_status expected; const side *from; compute_view source; const side *to; compute_view destination; uint64_t claimed; } wrong[] = {
        { COMPUTE_ERROR_OUT_OF_RANGE, &here, range(a, 0, 32), &there, range(b, 0, 31), 31 },
        { COMPUTE_ERROR_OUT_OF_RANGE, &here, range(a, 0, 65), &there, range(b, 0, 64), 64 },
        { COMPUTE_ERROR_OUT_OF_RANGE, &here, range(a, UINT64_MAX, 8), &there, range(b, 0, 8), 8 },
        { COMPUTE_ERROR_FOREIGN_HANDLE, &there, whole(a), &there, whole(b), 64 },
        { COMPUTE_ERROR_FOREIGN_HANDLE, &here, whole(a), &here, whole(b), 64 },
        { COMPUTE_ERROR_FOREIGN_HANDLE, &there, whole(a), &here, whole(b), 64 },
        { COMPUTE_ERROR_INVALID_HANDLE, &here, whole((compute_buffer)(uintptr_t)12345), &there, whole(b), 64 },
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        fill_words(there.stream, b, 4);
        IS(wrong[i].expected, copy(wrong[i].from, wrong[i].source, wrong[i].to, wrong[i].destination));
        CHECK_EQ(claimed_by(b, 0, wrong[i].claimed), last_info().failure);
        if (wrong[i].claimed < 64) CHECK_EQ(claimed_by(b, wrong[i].claimed, COMPUTE_WHOLE), 0);
        CHECK_EQ(get_word(here.stream, a, 7), 3);
    }
    compute_buffer scratch = make_buffer_with(here.device, 64, "plain", 0);
    fill_words(here.stream, scratch, 8);
    OK(copy_all(&here, scratch, &there, b));
    CHECK_EQ(get_word(there.stream, b, 7), 8);
}

TEST(g2_a_copy_between_devices_dooms_the_window_of_either_stream)
{
    for (int which = 0; which < 2; which++) {
        set_up();
        side *recording = which ? &there : &here;
        compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
        uint64_t capture = 0;
        compute_graph graph = NULL;
        fill_words(here.stream, a, 3);
        fill_words(there.stream, b, 4);
        OK(compute_stream_prepare_capture(recording->stream, E));
        OK(compute_stream_begin_capture(recording->stream, NULL, &capture, E));
        IS(COMPUTE_ERROR_RECORDING, copy_all(&here, a, &there, b));
        CHECK_EQ(claimed_by(b, 0, 64), last_info().failure);
        IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(recording->stream, capture, &graph, E));
        CHECK(error_says("copy between devices"));
        OK(copy_all(&here, a, &there, b));
        CHECK_EQ(get_word(there.stream, b, 9), 3);
    }
}

TEST(g2_a_copy_that_is_refused_before_it_is_looked_at_dooms_the_window_of_either_stream)
{
    for (int which = 0; which < 2; which++) {
        set_up();
        side *recording = which ? &there : &here;
        compute_buffer b = make_buffer(there.device, 64, "b");
        compute_view to = whole(b);
        uint64_t capture = 0;
        compute_graph graph = NULL;
        OK(compute_stream_prepare_capture(recording->stream, E));
        OK(compute_stream_begin_capture(recording->stream, NULL, &capture, E));
        IS_CLASS(100, compute_stream_copy_between(here.stream, NULL, there.stream, &to, E));
        IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(recording->stream, capture, &graph, E));
        CHECK(error_says("copy between devices"));
    }
}

/* ---- faults ---- */

/* Every call of either device fails in each way. Bytes are right or claimed, and only the destination is; a device that was lost says so, the other works. */
static void fault(int which, uint32_t how, uint64_t size, int *claimed)
{
    for (uint64_t call = 1;; call++) {
        here = open_side(0, 0, which == 0);
        there = open_side(1, 0, which == 1);
        side *ill = which ? &there : &here, *well = which ? &here : &there;
        compute_buffer a = make_buffer(here.device, size, "a"), b = make_buffer(there.device, size, "b"), other = make_buffer(there.device, 64, "other");
        fill_words(here.stream, a, 3);
        fill_words(there.stream, b, 4);
        fill_words(there.stream, other, 5);
        wait_for(here.stream);
        wait_for(there.stream);
        uint64_t before = 0, after = 0;
        OK(compute_device_fault_calls(ill->device, &before, E));
        OK(compute_device_inject_fault(ill->device, call, how, E));
        compute_view source = whole(a), destination = whole(b);
        compute_status status = compute_stream_copy_between(here.stream, &source, there.stream, &destination, E);
        OK(compute_device_fault_calls(ill->device, &after, E));
        OK(compute_device_inject_fault(ill->device, 0, how, E));
        compute_status settled = compute_stream_sync(there.stream, &destination, 1, 0, 30 * SECONDS, E);
        int lost = compute_device_status(ill->device, NULL) != COMPUTE_OK;
        CHECK(!lost || how == COMPUTE_FAULT_LOST || how == COMPUTE_FAULT_PANIC);
        OK(compute_device_status(well->device, E));
        if (settled == COMPUTE_OK) {
            CHECK_EQ(get_word(there.stream, b, size / 4 - 1), 3);
            CHECK_EQ(get_word(there.stream, b, 0), 3);
        } else if (!lost || which == 0) {
            if (settled != COMPUTE_ERROR_UNWRITTEN && settled != COMPUTE_ERROR_SEVERAL) {
                printf("  side %d, way %u, call %llu: %s\n", which, how, (unsigned long long)call, compute_status_name(settled));
                fail(__FILE__, __LINE__, "should be claimed");
            }
            *claimed += 1;
        }
        CHECK(status <= COMPUTE_OK || status == COMPUTE_SKIPPED);
        if (status < 0 && which == 0) CHECK(settled != COMPUTE_OK);
        if (which == 0 || !lost) CHECK_EQ(get_word(there.stream, other, 3), 5);
        if (which == 1 || !lost) {
            /* A late failure of a read is one of the read alone. */
            CHECK_EQ(get_word(here.stream, a, size / 4 - 1), 3);
        }
        if (!lost) {
            OK(copy_all(&here, a, &there, b));
            CHECK_EQ(get_word(there.stream, b, size / 4 - 1), 3);
        }
        compute_device_release(here.device);
        compute_device_release(there.device);
        if (after - before < call || call > 60) return;
    }
}

TEST(t2_t12_t13_whatever_fails_on_either_device_claims_the_destination_only)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LOST, COMPUTE_FAULT_LATE, COMPUTE_FAULT_PANIC };
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < COUNT_OF(ways); i++) {
            int claimed = 0;
            fault(which, ways[i], 64, &claimed);
            fault(which, ways[i], 9 * MIB, &claimed);
            /* Of a destination that is lost nothing can be asked, and a source that is copied from directly does nothing that could fail late. */
            int fatal = ways[i] == COMPUTE_FAULT_LOST || ways[i] == COMPUTE_FAULT_PANIC;
            CHECK(claimed > 0 || (which == 1 && fatal) || (which == 0 && is_direct()));
        }
    }
}

TEST(t12_a_copy_from_or_to_a_lost_device_is_refused_and_the_other_works)
{
    for (int which = 0; which < 2; which++) {
        here = open_side(0, 0, which == 0);
        there = open_side(1, 0, which == 1);
        side *ill = which ? &there : &here;
        compute_buffer a = make_buffer(here.device, 64, "a"), b = make_buffer(there.device, 64, "b");
        compute_view view = whole(which ? b : a);
        fill_words(here.stream, a, 3);
        OK(compute_device_inject_fault(ill->device, 1, COMPUTE_FAULT_LOST, E));
        (void)compute_stream_fill(ill->stream, &view, "x", 1, NULL);
        IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(ill->device, E));
        IS(COMPUTE_ERROR_DEVICE_POISONED, copy_all(&here, a, &there, b));
        if (which == 0) {
            CHECK_EQ(claimed_by(b, 0, 64), last_info().failure);
            fill_words(there.stream, b, 9);
            CHECK_EQ(get_word(there.stream, b, 1), 9);
        } else {
            CHECK_EQ(get_word(here.stream, a, 1), 3);
        }
    }
}

/* The copy waits for the source's work when its device ends under it. */
static compute_status copied;
static compute_buffer copied_from, copied_to;
static void *copy_now(void *user)
{
    (void)user;
    compute_view source = whole(copied_from), destination = whole(copied_to);
    __atomic_store_n(&copied, compute_stream_copy_between(here.stream, &source, there.stream, &destination, NULL), __ATOMIC_SEQ_CST);
    return NULL;
}

TEST(c1_t13_a_copy_whose_source_ends_before_its_turn_claims_its_destination)
{
    int claimed = 0;
    for (int round = 0; round < 4; round++) {
        here = open_side(0, 0, 1);
        there = open_side(1, 0, 0);
        /* Some time of work, in many workgroups: a driver may cut loops off. */
        compute_kernel heavy = make_kernel(here.device, IO "@compute @workgroup_size(64) fn heavy(" ID ") { var x = I[0] + id.x;\n"
            "for (var n = 0u; n < 30000u; n += 1u) { x = x * 1664525u + 1013904223u; } if id.x < arrayLength(&O) { O[id.x] = x | 1u; } }\n");
        compute_buffer seed = make_buffer(here.device, 64, "seed"), other = make_buffer(there.device, 64, "other");
        copied_from = make_buffer(here.device, 64 * 64 * 4, "from");
        copied_to = make_buffer(there.device, 64 * 64 * 4, "to");
        compute_stream beside = make_stream(here.device);
        fill_words(here.stream, seed, 1);
        fill_words(there.stream, copied_to, 4);
        fill_words(there.stream, other, 5);
        wait_for(here.stream);
        wait_for(there.stream);
        OK(launch_io(here.stream, heavy, "", seed, copied_from, 64));
        pthread_t thread;
        copied = 1;
        CHECK(pthread_create(&thread, NULL, copy_now, NULL) == 0);
        usleep((useconds_t)(5000 * round));
        OK(compute_device_inject_fault(here.device, 1, COMPUTE_FAULT_LOST, E));
        compute_view view = whole(seed);
        (void)compute_stream_fill(beside, &view, "x", 1, NULL);
        CHECK(pthread_join(thread, NULL) == 0);
        IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(here.device, E));
        compute_view destination = whole(copied_to);
        compute_status settled = compute_stream_sync(there.stream, &destination, 1, 0, 30 * SECONDS, E);
        /* Its turn may have come before. */
        if (settled == COMPUTE_OK) {
            CHECK(copied == COMPUTE_OK);
            CHECK(get_word(there.stream, copied_to, 77) % 2 == 1);
        } else {
            CHECK(settled == COMPUTE_ERROR_UNWRITTEN || settled == COMPUTE_ERROR_SEVERAL);
            claimed++;
            CHECK(claimed_by(copied_to, 0, 4) != 0 && claimed_by(copied_to, 64 * 64 * 4 - 4, 4) != 0);
        }
        CHECK_EQ(get_word(there.stream, other, 3), 5);
        OK(compute_device_status(there.device, E));
        fill_words(there.stream, copied_to, 6);
        CHECK_EQ(get_word(there.stream, copied_to, 77), 6);
        compute_device_release(here.device);
        compute_device_release(there.device);
    }
    /* One that goes straight is enqueued at once. */
    CHECK(claimed > 0 || is_direct());
}

/* ---- memory ---- */

TEST(m6_m7_a_copy_through_the_host_takes_little_of_its_memory)
{
    enum { SIZE = 192 << 20 };
    set_up();
    compute_buffer a = make_buffer(here.device, SIZE, "a"), b = make_buffer(there.device, SIZE, "b");
    fill_words(here.stream, a, 3);
    fill_words(there.stream, b, 4);
    wait_for(here.stream);
    wait_for(there.stream);
    compute_budget budget = NULL;
    OK(compute_budget_create(16 * MIB, &budget, E));
    OK(compute_stream_set_budget(here.stream, budget, E));
    OK(compute_stream_set_budget(there.stream, budget, E));
    long before = proc_status("VmHWM");
    OK(copy_all(&here, a, &there, b));
    CHECK_EQ(get_word(there.stream, b, SIZE / 4 - 1), 3);
    CHECK_EQ(get_word(there.stream, b, SIZE / 8), 3);
    CHECK(proc_status("VmHWM") - before < 96 * 1024 + RSS_SLACK_KIB);
}

/* ---- how fast ---- */

static double seconds_of(uint64_t size, int times, compute_buffer a, compute_buffer b)
{
    wait_for(here.stream);
    wait_for(there.stream);
    uint64_t start = now_ns();
    for (int i = 0; i < times; i++) OK(copy(&here, range(a, 0, size), &there, range(b, 0, size)));
    wait_for(there.stream);
    return (double)(now_ns() - start) / 1e9;
}

static void bench(void)
{
    static const uint64_t sizes[] = { 4096, MIB, 16 * MIB, 256 * MIB };
    set_up();
    compute_buffer a = make_buffer(here.device, 256 * MIB, "a"), b = make_buffer(there.device, 256 * MIB, "b");
    fill_words(here.stream, a, 3);
    fill_words(there.stream, b, 4);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int times = sizes[i] >= 256 * MIB ? 8 : sizes[i] >= MIB ? 64 : 1000;
        (void)seconds_of(sizes[i], 2, a, b);
        double best = 1e9;
        for (int round = 0; round < 5; round++) {
            double took = seconds_of(sizes[i], times, a, b) / times;
            if (took < best) best = took;
        }
        printf("copy between devices, %9llu bytes: %9.2f us each, %7.2f GB/s\n", (unsigned long long)sizes[i], best * 1e6, (double)sizes[i] / best / 1e9);
    }
    CHECK_EQ(get_word(there.stream, b, 64 * MIB - 1), 3);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (getenv("BETWEEN_BENCH")) {
        bench();
        return 0;
    }
    RUN(c1_bytes_arrive_both_ways_whatever_their_number_and_place_and_no_others_change);
    RUN(md_01_a_device_tells_whether_copies_go_straight);
    RUN(c1_within_one_device_it_is_a_copy_like_any_other);
    RUN(c1_an_empty_view_is_copied_and_changes_nothing);
    RUN(l8_a_copy_follows_the_earlier_work_of_both_streams_and_later_work_follows_it);
    RUN(l8_what_is_written_to_the_source_later_on_any_stream_comes_after_the_copy);
    RUN(f7_a_source_that_is_released_at_once_is_copied_all_the_same);
    RUN(c1_opposite_copies_at_the_same_time_end);
    RUN(t1_never_written_bytes_arrive_as_zeros);
    RUN(t1_never_written_bytes_of_a_strict_device_skip_the_copy);
    RUN(c1_t5_a_claimed_byte_skips_the_copy_and_the_destination_takes_the_same_failure_from_device_to_device);
    RUN(t2_a_skip_before_anything_was_sent_can_be_taken_back);
    RUN(t13_a_late_failure_is_known_before_its_bytes_reach_another_device);
    RUN(c4_sizes_and_devices_are_checked_before_anything_is_sent_and_a_refusal_claims_the_destination);
    RUN(g2_a_copy_between_devices_dooms_the_window_of_either_stream);
    RUN(g2_a_copy_that_is_refused_before_it_is_looked_at_dooms_the_window_of_either_stream);
    RUN(t2_t12_t13_whatever_fails_on_either_device_claims_the_destination_only);
    RUN(c1_t13_a_copy_whose_source_ends_before_its_turn_claims_its_destination);
    RUN(t12_a_copy_from_or_to_a_lost_device_is_refused_and_the_other_works);
    RUN(m6_m7_a_copy_through_the_host_takes_little_of_its_memory);
    return finish();
}
