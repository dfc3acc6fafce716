/* The rules T1 to T10, as a C caller sees them: which bytes may be read. T11 to T13 are in t_late_rules.c. */
#include "rules.h"

#define WORDS 256
#define BYTES (4 * WORDS)

/* What most tests start from: a device, a stream, the usual kernels and two buffers, `in` full of 7s. */
static compute_device device;
static compute_stream stream;
static compute_kernel increment, add;
static compute_buffer in, out;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    add = make_kernel(device, ADD);
    in = make_buffer(device, BYTES, "in");
    out = make_buffer(device, BYTES, "out");
    fill_words(stream, in, 7);
}
static void set_up(void) { set_up_on(open_device()); }
static void set_up_faulty(void)
{
    set_up_on(open_faulty());
    /* Everything that is made at first use is made: from here on the next call of the device is the work itself. */
    OK(launch_io(stream, increment, "warm", in, out, WORDS / 64));
    wait_for(stream);
}
static void fail_next(uint32_t how) { OK(compute_device_inject_fault(device, 1, how, E)); }

/* Reading any of these bytes answers UNWRITTEN with this failure. */
static void expect_claimed(compute_buffer buffer, uint64_t offset, uint64_t size, uint64_t failure)
{
    unsigned char bytes[BYTES];
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, buffer, offset, bytes, size));
    CHECK_EQ(last_info().failure, failure);
}

/* ---- T1 ---- */

TEST(t1_never_written_bytes_read_as_zeros_around_written_ones)
{
    set_up();
    compute_buffer b = make_buffer(device, 101, "odd");
    unsigned char bytes[101], written[7] = { 1, 2, 3, 4, 5, 6, 7 };
    memset(bytes, 0xee, sizeof bytes);
    put(stream, b, 13, written, sizeof written);
    OK(get(stream, b, 0, bytes, sizeof bytes));
    for (int i = 0; i < 101; i++) CHECK_EQ(bytes[i], i >= 13 && i < 20 ? i - 12 : 0);
}

TEST(t1_a_launch_reads_zeros_where_nothing_was_written)
{
    set_up();
    compute_buffer blank = make_buffer(device, BYTES, "blank");
    OK(launch_io(stream, increment, "", blank, out, WORDS / 64));
    for (int i = 0; i < WORDS; i += 17) CHECK_EQ(get_word(stream, out, i), 1);
}

TEST(t1_a_copy_of_never_written_bytes_gives_zeros)
{
    set_up();
    compute_buffer blank = make_buffer(device, BYTES, "blank");
    compute_view from = whole(blank), to = whole(in);
    OK(compute_stream_copy(stream, &from, &to, E));
    for (int i = 0; i < WORDS; i += 17) CHECK_EQ(get_word(stream, in, i), 0);
}

TEST(t1_memory_that_is_used_again_is_never_written_again)
{
    set_up();
    for (int round = 0; round < 50; round++) {
        compute_buffer dirty = make_buffer(device, 4096 + 64 * round, "dirty");
        uint32_t word = 1;
        OK(get(stream, dirty, 4092, &word, 4));
        CHECK_EQ(word, 0);
        fill_words(stream, dirty, 0xffffffffu);
        wait_for(stream);
        compute_buffer_release(dirty);
    }
}

TEST(t1_strict_bytes_that_nothing_wrote_are_refused)
{
    set_up();
    compute_buffer strict = make_buffer_with(device, 64, "strict", COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN);
    uint32_t word = 5;
    put_word(stream, strict, 3, 9);
    CHECK_EQ(get_word(stream, strict, 3), 9);
    IS_CLASS(500, get(stream, strict, 16, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_NEVER_WRITTEN);
    IS_CLASS(500, get(stream, strict, 0, &word, 4));
    CHECK_EQ(word, 5);
}

TEST(t1_a_launch_that_reads_strict_unwritten_bytes_is_skipped)
{
    set_up();
    compute_buffer strict = make_buffer_with(device, BYTES, "strict", COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN);
    uint32_t word;
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "", strict, out, WORDS / 64));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_NEVER_WRITTEN);
}

TEST(t1_a_strict_device_makes_all_its_buffers_strict)
{
    set_up_on(open_with(COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN, NULL));
    uint32_t word;
    IS_CLASS(500, get(stream, out, 0, &word, 4));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_NEVER_WRITTEN);
    OK(launch_io(stream, increment, "", in, out, WORDS / 64));
    CHECK_EQ(get_word(stream, out, WORDS - 1), 8);
}

/* ---- T2 ---- */

TEST(t2_a_refused_launch_claims_its_outputs_although_nobody_looks_at_the_status)
{
    set_up();
    fill_words(stream, out, 1);
    uint32_t amount = 1, word = 77;
    compute_binding bindings[3] = { bind(0, in), bind(1, out), bind_bytes(2, &amount, 4) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    (void)compute_stream_launch(stream, &desc, NULL);
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(word, 77);
    CHECK(root_info().status <= -100 && root_info().status > -200);
    CHECK_EQ(get_word(stream, in, 0), 7);
}

TEST(t2_a_launch_that_the_driver_refuses_claims_its_outputs)
{
    set_up_faulty();
    uint32_t word = 77;
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, launch_io(stream, increment, "K", in, out, WORDS / 64));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(word, 77);
    CHECK_EQ(root_info().status, COMPUTE_ERROR_DRIVER);
}

TEST(t2_a_write_a_copy_and_a_fill_that_fail_claim_their_destinations)
{
    set_up_faulty();
    compute_buffer b[3] = { make_buffer(device, 64, "w"), make_buffer(device, 64, "c"), make_buffer(device, 64, "f") };
    for (int i = 0; i < 3; i++) fill_words(stream, b[i], 3);
    uint32_t word = 1;
    compute_view to[3] = { range(b[0], 8, 4), range(b[1], 8, 4), range(b[2], 8, 4) }, from = range(in, 0, 4);
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, compute_stream_write(stream, &to[0], &word, 4, E));
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, compute_stream_copy(stream, &from, &to[1], E));
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, compute_stream_fill(stream, &to[2], &word, 4, E));
    for (int i = 0; i < 3; i++) {
        CHECK(claimed_by(b[i], 8, 4) != 0);
        CHECK_EQ(claimed_by(b[i], 0, 8), 0);
        CHECK_EQ(claimed_by(b[i], 12, COMPUTE_WHOLE), 0);
        CHECK_EQ(get_word(stream, b[i], 1), 3);
    }
}

TEST(t2_a_call_with_a_bad_handle_claims_the_outputs_that_it_could_tell)
{
    set_up();
    fill_words(stream, out, 1);
    compute_binding bindings[2] = { bind(0, (compute_buffer)(uintptr_t)0x1234567887654321u), bind(1, out) };
    IS(COMPUTE_ERROR_INVALID_HANDLE, launch(stream, increment, 4, bindings, 2));
    CHECK(claimed_by(out, 0, COMPUTE_WHOLE) != 0);
}

TEST(t2_a_refused_copy_claims_its_destination)
{
    set_up();
    fill_words(stream, out, 1);
    compute_view from = range(in, BYTES, 16), to = range(out, 16, 16);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &from, &to, E));
    CHECK(claimed_by(out, 16, 16) != 0);
    CHECK_EQ(claimed_by(out, 0, 16), 0);
}

TEST(t2_reinstate_lifts_an_untouched_failure_from_bytes_that_were_trusted)
{
    set_up();
    put_word(stream, out, 0, 41);
    put_word(stream, out, 1, 42); /* the rest of `out` stays never written */
    uint64_t failure = claim_all(stream, add, in, out), lifted = 0;
    CHECK_EQ(last_info().untouched, 1);
    compute_view view = whole(out);
    OK(compute_reinstate(&view, failure, &lifted, E));
    CHECK_EQ(lifted, 8);
    CHECK_EQ(get_word(stream, out, 0), 41);
    CHECK_EQ(get_word(stream, out, 1), 42);
}

TEST(t2_reinstate_does_not_lift_a_failure_that_may_have_touched_the_bytes)
{
    set_up_faulty();
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, launch_io(stream, increment, "K", in, out, WORDS / 64));
    uint64_t failure = claimed_by(out, 0, 4), lifted = 0;
    int untouched = last_info().untouched != 0;
    compute_view view = whole(out);
    (void)compute_reinstate(&view, failure, &lifted, NULL);
    if (!untouched) {
        CHECK_EQ(lifted, 0);
        expect_claimed(out, 0, 4, failure);
    } else {
        CHECK_EQ(get_word(stream, out, 0), 8);
    }
}

TEST(t2_reinstate_lifts_no_other_failure)
{
    set_up();
    fill_words(stream, out, 1);
    uint64_t failure = claim_all(stream, add, in, out), lifted = 0;
    compute_view view = whole(out);
    (void)compute_reinstate(&view, failure + 1000, &lifted, NULL);
    CHECK_EQ(lifted, 0);
    expect_claimed(out, 0, 4, failure);
}

TEST(t2_a_panic_inside_claims_what_was_being_written_and_does_not_end_the_process)
{
    set_up_faulty();
    unsigned char word[4] = { 9, 9, 9, 9 };
    fail_next(COMPUTE_FAULT_PANIC);
    compute_status status = launch_io(stream, increment, "K", in, out, WORDS / 64);
    CHECK(status == COMPUTE_ERROR_INTERNAL || status == COMPUTE_ERROR_DEVICE_POISONED);
    CHECK(get(stream, out, 0, word, 4) < 0);
    CHECK(word[0] == 9);
}

/* ---- T3 ---- */

TEST(t3_failing_the_same_way_a_million_times_uses_no_more_memory_than_failing_once)
{
    set_up();
    uint32_t amount = 1, word;
    compute_binding bindings[3] = { bind(0, in), bind(1, out), bind_bytes(2, &amount, 4) };
    compute_launch_desc desc = launch_desc(add, 4, 1, 1, bindings, 3);
    for (int i = 0; i < 1000; i++) (void)compute_stream_launch(stream, &desc, NULL);
    wait_for(stream); /* a driver may still be at what came before, and take memory for it */
    long before = rss_kib();
    for (int i = 0; i < 1000000; i++) CHECK(compute_stream_launch(stream, &desc, NULL) < 0);
    CHECK(rss_kib() - before < 1024 + RSS_SLACK_KIB);
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, out, 0, &word, 4));
    CHECK_EQ(last_info().claimed_buffers, 1);
}

TEST(t3_being_skipped_a_million_times_uses_no_more_memory_than_once)
{
    set_up();
    compute_buffer last = make_buffer(device, BYTES, "last");
    claim_all(stream, add, in, out);
    compute_binding bindings[2] = { bind(0, out), bind(1, last) };
    compute_launch_desc desc = launch_desc(increment, 4, 1, 1, bindings, 2);
    for (int i = 0; i < 1000; i++) CHECK_EQ(compute_stream_launch(stream, &desc, NULL), COMPUTE_SKIPPED);
    wait_for(stream); /* a driver may still be loading code for the work before */
    long before = rss_kib();
    for (int i = 0; i < 1000000; i++) CHECK(compute_stream_launch(stream, &desc, NULL) == COMPUTE_SKIPPED);
    CHECK(rss_kib() - before < 1024 + RSS_SLACK_KIB);
    CHECK(claimed_by(last, 0, 4) != 0);
    CHECK_EQ(last_info().chain_total, 1001000);
    CHECK_EQ(last_info().chain_count, 16);
}

TEST(t3_a_new_failure_takes_over_its_bytes_and_the_old_one_keeps_the_rest)
{
    set_up_faulty();
    uint64_t old = claim_all(stream, add, in, out);
    unsigned char bytes[16] = { 0 };
    compute_view view = range(out, 33, 15);
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, compute_stream_write(stream, &view, bytes, 15, E));
    uint64_t new = claimed_by(out, 33, 15);
    CHECK(new != 0 && new != old);
    CHECK_EQ(claimed_by(out, 0, 33), old);
    CHECK_EQ(claimed_by(out, 48, COMPUTE_WHOLE), old);
    expect_claimed(out, 32, 1, old);
    expect_claimed(out, 33, 1, new);
    expect_claimed(out, 47, 1, new);
    expect_claimed(out, 48, 1, old);
}

TEST(t3_more_failures_than_a_buffer_can_tell_apart_never_release_a_byte)
{
    enum { ROOM = 5000 };
    set_up_faulty();
    compute_buffer many = make_buffer(device, ROOM, "many");
    compute_view view = whole(many);
    unsigned char byte = 1;
    OK(compute_stream_fill(stream, &view, &byte, 1, E));
    for (uint64_t i = 0; i < ROOM; i += 2) {
        view = range(many, i, 1);
        fail_next(COMPUTE_FAULT_ERROR);
        IS(COMPUTE_ERROR_DRIVER, compute_stream_write(stream, &view, &byte, 1, E));
    }
    for (uint64_t i = 0; i < ROOM; i += 2) {
        view = range(many, i, 1);
        CHECK(compute_check(&view, 1, 0, NULL) < 0);
    }
    view = whole(many);
    OK(compute_stream_fill(stream, &view, &byte, 1, E));
    OK(compute_check(&view, 1, 0, E));
}

/* ---- T4 ---- */

TEST(t4_a_write_repairs_the_bytes_that_it_covers_and_no_others)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    unsigned char bytes[5] = { 1, 2, 3, 4, 5 }, back[5];
    put(stream, out, 21, bytes, 5);
    OK(get(stream, out, 21, back, 5));
    CHECK(memcmp(bytes, back, 5) == 0);
    expect_claimed(out, 20, 1, failure);
    expect_claimed(out, 26, 1, failure);
    expect_claimed(out, 20, 6, failure);
}

TEST(t4_a_fill_and_a_copy_repair_what_they_cover)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    unsigned char pattern = 0x5a;
    compute_view filled = range(out, 3, 10), from = range(in, 0, 9), to = range(out, 100, 9);
    OK(compute_stream_fill(stream, &filled, &pattern, 1, E));
    OK(compute_stream_copy(stream, &from, &to, E));
    CHECK_EQ(claimed_by(out, 3, 10), 0);
    CHECK_EQ(claimed_by(out, 100, 9), 0);
    expect_claimed(out, 2, 1, failure);
    expect_claimed(out, 13, 87, failure);
    expect_claimed(out, 109, 1, failure);
}

TEST(t4_a_launch_that_writes_every_byte_repairs_its_output)
{
    set_up();
    claim_all(stream, add, in, out);
    OK(launch_io(stream, increment, "", in, out, WORDS / 64));
    for (int i = 0; i < WORDS; i++) CHECK_EQ(get_word(stream, out, i), 8);
}

TEST(t4_a_write_that_does_not_land_repairs_nothing)
{
    set_up_faulty();
    claim_all(stream, add, in, out);
    unsigned char bytes[8] = { 0 };
    compute_view view = range(out, 0, 8);
    fail_next(COMPUTE_FAULT_ERROR);
    IS(COMPUTE_ERROR_DRIVER, compute_stream_write(stream, &view, bytes, 8, E));
    CHECK(claimed_by(out, 0, 8) != 0);
}

/* ---- T5 ---- */

TEST(t5_a_launch_that_reads_claimed_bytes_is_skipped_and_its_outputs_take_the_failure)
{
    set_up();
    compute_buffer second = make_buffer(device, BYTES, "second"), third = make_buffer(device, BYTES, "third");
    uint64_t failure = claim_all(stream, add, in, out);
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "K2", out, second, WORDS / 64));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "K3", second, third, WORDS / 64));
    expect_claimed(third, 0, 4, failure);
    CHECK_EQ(last_info().skip, 1);
    CHECK_EQ(last_info().chain_count, 2);
    CHECK_EQ(last_info().chain_total, 2);
    CHECK_EQ(last_info().claimed_buffers, 3);
    compute_chain_entry newest = chain_entry(0), oldest = chain_entry(1);
    CHECK(strcmp(newest.label, "K3") == 0 && strcmp(oldest.label, "K2") == 0);
    CHECK(strcmp(newest.kernel, "increment") == 0);
    CHECK(strcmp(newest.buffer_label, "second") == 0 && strcmp(oldest.buffer_label, "out") == 0);
    CHECK(newest.operation > oldest.operation);
    CHECK_EQ(newest.used, 0);
    uint64_t id = 0;
    OK(compute_buffer_get_id(second, &id, E));
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, third, 0, &(uint32_t){ 0 }, 4));
    CHECK_EQ(chain_entry(0).buffer, id);
    CHECK(root_info().status <= -100 && root_info().status > -200);
}

TEST(t5_a_partly_claimed_input_skips_only_launches_whose_view_has_claimed_bytes)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    unsigned char bytes[BYTES / 2] = { 0 };
    put(stream, out, 0, bytes, sizeof bytes);
    compute_buffer result = make_buffer(device, BYTES / 2, "result");
    compute_binding good[2] = { bind_range(0, out, 0, BYTES / 2), bind(1, result) };
    OK(launch(stream, increment, WORDS / 128, good, 2));
    CHECK_EQ(get_word(stream, result, 5), 1);
    compute_binding bad[2] = { bind_range(0, out, 0, BYTES / 2 + 16), bind(1, result) };
    IS(COMPUTE_SKIPPED, launch(stream, increment, WORDS / 128, bad, 2));
    expect_claimed(result, 0, 4, failure);
}

TEST(t5_a_claimed_indirect_grid_skips_the_launch)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    compute_buffer result = make_buffer(device, BYTES, "result");
    compute_binding bindings[2] = { bind(0, in), bind(1, result) };
    compute_launch_desc desc = launch_desc(increment, 0, 0, 0, bindings, 2);
    desc.indirect = range(out, 0, 12);
    IS(COMPUTE_SKIPPED, compute_stream_launch(stream, &desc, E));
    expect_claimed(result, 0, 4, failure);
}

TEST(t5_a_copy_of_claimed_bytes_is_skipped)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    compute_view from = range(out, 8, 8), to = range(in, 16, 8);
    IS(COMPUTE_SKIPPED, compute_stream_copy(stream, &from, &to, E));
    expect_claimed(in, 16, 8, failure);
    CHECK_EQ(claimed_by(in, 0, 16), 0);
    CHECK_EQ(claimed_by(in, 24, COMPUTE_WHOLE), 0);
}

TEST(t5_of_several_failures_the_outputs_take_the_first_by_slot)
{
    set_up();
    compute_buffer other = make_buffer(device, BYTES, "other"), result = make_buffer(device, BYTES, "result");
    compute_kernel both = make_kernel(device, IO "@group(0) @binding(2) var<storage, read> J: array<u32>;\n"
        "@compute @workgroup_size(64) fn both(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] + J[id.x]; } }");
    uint64_t second = claim_all(stream, add, in, other), first = claim_all(stream, add, in, out);
    CHECK(first != second);
    compute_binding bindings[3] = { bind(2, other), bind(1, result), bind(0, out) };
    IS(COMPUTE_SKIPPED, launch(stream, both, WORDS / 64, bindings, 3));
    expect_claimed(result, 0, 4, first);
}

/* ---- T6, T6a ---- */

TEST(t6_atomics_read_what_they_change)
{
    set_up();
    compute_kernel count = make_kernel(device, COUNTER);
    claim_all(stream, add, in, out);
    compute_binding binding = bind(0, out);
    IS(COMPUTE_SKIPPED, launch(stream, count, 1, &binding, 1));
}

TEST(t6a_a_pure_output_is_not_checked_and_keeps_the_claims_that_may_not_be_overwritten)
{
    set_up();
    compute_kernel first = make_kernel(device, INCREMENT_FIRST);
    uint64_t failure = claim_all(stream, add, in, out);
    OK(launch_io(stream, first, "", in, out, 1));
    expect_claimed(out, 4, 4, failure);
}

TEST(t6a_a_launch_that_writes_less_leaves_zeros_in_the_never_written_rest)
{
    set_up();
    compute_kernel first = make_kernel(device, INCREMENT_FIRST);
    OK(launch_io(stream, first, "", in, out, 1));
    CHECK_EQ(get_word(stream, out, 0), 8);
    for (int i = 1; i < WORDS; i++) CHECK_EQ(get_word(stream, out, i), 0);
}

TEST(t6a_a_grid_that_is_too_small_is_not_a_whole_write)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    OK(launch_io(stream, increment, "", in, out, WORDS / 64 - 1));
    expect_claimed(out, BYTES - 4, 4, failure);
}

TEST(t6a_a_caller_who_vouches_write_all_repairs_the_view)
{
    set_up();
    compute_kernel reversed = make_kernel(device, IO
        "@compute @workgroup_size(64) fn reversed(" ID ") { O[arrayLength(&O) - 1u - id.x] = I[id.x]; }");
    claim_all(stream, add, in, out);
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    bindings[1].flags = COMPUTE_BINDING_FLAG_WRITE_ALL;
    OK(launch(stream, reversed, WORDS / 64, bindings, 2));
    for (int i = 0; i < WORDS; i++) CHECK_EQ(get_word(stream, out, i), 7);
}

/* Each element of `O` is written, and takes 12 of its 16 bytes. */
#define PADDED                                                        \
    "@group(0) @binding(0) var<storage, read_write> O: array<vec3<u32>>;" \
    "@compute @workgroup_size(64) fn padded(@builtin(global_invocation_id) id: vec3<u32>) { O[id.x] = vec3(id.x + 1u); }"

/* New memory where another buffer of the stream's was, full of ones. */
static compute_buffer used_memory(uint64_t size)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    desc.stream = stream;
    compute_buffer buffer = NULL;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    fill_words(stream, buffer, UINT32_MAX);
    compute_buffer_release(buffer);
    OK(compute_buffer_create(device, &desc, &buffer, E));
    return buffer;
}

static void expect_padded(compute_buffer buffer)
{
    uint32_t words[WORDS];
    OK(get(stream, buffer, 0, words, sizeof words));
    for (uint32_t i = 0; i < WORDS; i++) CHECK_EQ(words[i], i % 4 == 3 ? 0 : i / 4 + 1);
}

TEST(t6a_padding_that_a_launch_leaves_reads_as_zeros)
{
    set_up();
    compute_kernel padded = make_kernel(device, PADDED);
    compute_buffer used = used_memory(BYTES);
    compute_binding binding = bind(0, used);
    OK(launch(stream, padded, 1, &binding, 1));
    expect_padded(used);
    /* Nobody can vouch for bytes that no kernel writes, whatever is known of its stores. */
    compute_kernel backwards = make_kernel(device,
        "@group(0) @binding(0) var<storage, read_write> O: array<vec3<u32>>;"
        "@compute @workgroup_size(64) fn backwards(@builtin(global_invocation_id) id: vec3<u32>) {"
        "    for (var n = 64u; n > 0u; n -= 1u) { if n - 1u == id.x { O[n - 1u] = vec3(n); } } }");
    compute_kernel kernels[2] = { padded, backwards };
    for (int i = 0; i < 2; i++) {
        used = used_memory(BYTES);
        binding = bind(0, used);
        binding.flags = COMPUTE_BINDING_FLAG_WRITE_ALL;
        OK(launch(stream, kernels[i], 1, &binding, 1));
        expect_padded(used);
    }
}

TEST(t6a_a_tail_too_short_for_an_element_reads_as_zeros)
{
    set_up();
    compute_kernel fours = make_kernel(device,
        "@group(0) @binding(0) var<storage, read_write> O: array<vec4<u32>>;"
        "@compute @workgroup_size(64) fn fours(@builtin(global_invocation_id) id: vec3<u32>) { O[id.x] = vec4(5u); }");
    compute_buffer used = used_memory(BYTES + 12);
    compute_binding binding = bind(0, used);
    OK(launch(stream, fours, 1, &binding, 1));
    for (uint32_t i = 0; i < WORDS + 3; i++) CHECK_EQ(get_word(stream, used, i), i < WORDS ? 5 : 0);
}

TEST(t4_t6a_a_launch_that_leaves_padding_repairs_a_view_and_the_padding_is_zeros)
{
    set_up();
    compute_kernel padded = make_kernel(device, PADDED);
    compute_buffer used = used_memory(BYTES);
    /* Once over bytes that nothing has ever written, once over bytes that were trusted. */
    for (int round = 0; round < 2; round++) {
        compute_buffer lost = make_buffer(device, BYTES, "lost");
        uint64_t failure = claim_all(stream, add, lost, used);
        CHECK_EQ(claimed_by(used, 0, COMPUTE_WHOLE), failure);
        compute_binding binding = bind(0, used);
        OK(launch(stream, padded, 1, &binding, 1));
        CHECK_EQ(claimed_by(used, 0, COMPUTE_WHOLE), 0);
        expect_padded(used);
        fill_words(stream, used, UINT32_MAX);
        compute_buffer_release(lost);
    }
}

TEST(t13_t6a_padding_over_a_launch_that_fails_late_is_claimed_or_zeros)
{
    set_up();
    compute_kernel_desc desc = kernel_desc(
        IO "@compute @workgroup_size(64) fn beyond(" ID ") { if I[id.x + 4096u] != 1u { O[id.x] = 1u; } }", "beyond");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel beyond = make_kernel_from(device, &desc), padded = make_kernel(device, PADDED);
    int claimed = 0;
    for (int round = 0; round < 50; round++) {
        compute_buffer used = used_memory(BYTES);
        OK(launch_io(stream, beyond, "", in, used, WORDS / 64));
        compute_binding binding = bind(0, used);
        OK(launch(stream, padded, 1, &binding, 1));
        uint32_t words[WORDS];
        compute_status status = get(stream, used, 0, words, sizeof words);
        CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_UNWRITTEN);
        if (status == COMPUTE_OK) expect_padded(used);
        claimed += status != COMPUTE_OK;
        compute_buffer_release(used);
    }
    printf("  %d of 50 were claimed\n", claimed);
}

TEST(t6a_an_indirect_launch_is_never_a_whole_write)
{
    set_up();
    compute_buffer grid = make_buffer(device, 12, "grid");
    for (int i = 0; i < 3; i++) put_word(stream, grid, i, i == 0 ? WORDS / 64 : 1);
    uint64_t failure = claim_all(stream, add, in, out);
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    bindings[1].flags = COMPUTE_BINDING_FLAG_WRITE_ALL;
    compute_launch_desc desc = launch_desc(increment, 0, 0, 0, bindings, 2);
    desc.indirect = whole(grid);
    OK(compute_stream_launch(stream, &desc, E));
    expect_claimed(out, 0, 4, failure);
}

/* ---- T7 ---- */

TEST(t7_a_kernel_that_fails_to_compile_at_its_launch_claims_the_outputs)
{
    set_up_faulty();
    compute_kernel_desc lazy = kernel_desc(IO "@compute @workgroup_size(1) fn lazy() { O[0] = I[0] * 3u + 1u; }", "lazy");
    lazy.compile = COMPUTE_COMPILE_LAZY;
    compute_kernel kernel = make_kernel_from(device, &lazy);
    fill_words(stream, out, 1);
    wait_for(stream);
    fail_next(COMPUTE_FAULT_ERROR);
    compute_status status = launch_io(stream, kernel, "", in, out, 1);
    CHECK(status < 0);
    CHECK(claimed_by(out, 0, COMPUTE_WHOLE) != 0);
    OK(launch_io(stream, increment, "", in, out, WORDS / 64));
    CHECK_EQ(get_word(stream, out, 0), 8);
}

TEST(t7_a_source_that_does_not_parse_fails_at_creation_with_its_place)
{
    set_up();
    compute_kernel kernel = (compute_kernel)(uintptr_t)1;
    compute_kernel_desc desc = kernel_desc("@compute @workgroup_size(1)\nfn main() {\n  let x = nonsense + 1;\n}\n", "broken");
    desc.compile = COMPUTE_COMPILE_LAZY;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    CHECK(kernel == NULL);
    CHECK_EQ(last_info().line, 3);
    CHECK_EQ(last_info().column, 11);
    CHECK_EQ(last_info().refusal, 1);
    CHECK(error_says("nonsense"));
}

TEST(t7_everything_that_is_wrong_with_a_source_is_listed)
{
    set_up();
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = kernel_desc("@compute @workgroup_size(1)\nfn main() {\n  let x = nonsense + 1;\n  let y: f32 = 1u;\n}\nfn f() { oops(); }\n", "broken");
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    static const uint32_t lines[3] = { 3, 4, 6 }, columns[3] = { 11, 16, 10 };
    static const char *const words[3] = { "nonsense", "expected `f32`, found `u32`", "oops" };
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t line = 0, column = 0;
        char text[256];
        size_t needed = 0;
        CHECK_EQ(compute_error_diagnostic(last_error, i, &line, &column, text, sizeof text, &needed), COMPUTE_OK);
        CHECK_EQ(line, lines[i]);
        CHECK_EQ(column, columns[i]);
        CHECK(strstr(text, words[i]) != NULL);
        CHECK_EQ(needed, strlen(text) + 1);
    }
    uint32_t line = 7;
    CHECK_EQ(compute_error_diagnostic(last_error, 3, &line, NULL, NULL, 0, NULL), COMPUTE_ERROR_OUT_OF_RANGE);
    CHECK_EQ(line, 0);
}

/* ---- T8, T9 ---- */

TEST(t8_several_failures_are_told_each_once_in_the_order_found)
{
    set_up();
    compute_buffer other = make_buffer(device, BYTES, "other");
    uint64_t first = claim_all(stream, add, in, out), second = claim_all(stream, add, in, other);
    compute_view views[4] = { whole(other), range(out, 0, 4), range(other, 8, 4), range(out, 100, 100) };
    IS(COMPUTE_ERROR_SEVERAL, compute_check(views, 4, sizeof views[0], E));
    CHECK_EQ(last_info().member_count, 2);
    compute_error member = NULL;
    CHECK_EQ(compute_error_member(last_error, 0, &member), COMPUTE_OK);
    CHECK_EQ(error_info(member).failure, second);
    compute_error_release(member);
    CHECK_EQ(compute_error_member(last_error, 1, &member), COMPUTE_OK);
    CHECK_EQ(error_info(member).failure, first);
    CHECK(compute_error_member(last_error, 2, &(compute_error){ NULL }) < 0);
    compute_error_release(member);
}

TEST(t8_sync_over_views_tells_what_claims_them_and_sync_over_none_does_not)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    compute_view good = whole(in), bad = range(out, 40, 2);
    OK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E));
    OK(compute_stream_sync(stream, &good, 1, 0, COMPUTE_FOREVER, E));
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_sync(stream, &bad, 1, 0, COMPUTE_FOREVER, E));
    CHECK_EQ(last_info().failure, failure);
}

TEST(t8_an_asynchronous_read_of_claimed_bytes_gives_its_error_through_the_event_or_the_call)
{
    set_up();
    uint64_t failure = claim_all(stream, add, in, out);
    unsigned char bytes[8] = { 3, 3, 3, 3, 3, 3, 3, 3 };
    compute_view view = range(out, 0, 8);
    compute_event event = NULL;
    compute_status status = compute_stream_read_async(stream, &view, bytes, 8, &event, E);
    if (status >= 0) IS(COMPUTE_ERROR_UNWRITTEN, compute_event_wait(event, COMPUTE_FOREVER, E));
    CHECK_EQ(last_info().failure, failure);
    CHECK(bytes[0] == 3);
    compute_event_release(event);
}

TEST(t9_a_failure_tells_how_many_buffers_it_still_claims)
{
    set_up();
    compute_buffer second = make_buffer(device, BYTES, "second"), third = make_buffer(device, BYTES, "third");
    claim_all(stream, add, in, out);
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "", out, second, 4));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "", out, third, 4));
    CHECK(claimed_by(out, 0, 4) != 0);
    CHECK_EQ(last_info().claimed_buffers, 3);
    fill_words(stream, second, 1);
    CHECK(claimed_by(out, 0, 4) != 0);
    CHECK_EQ(last_info().claimed_buffers, 2);
    compute_buffer_release(third);
    wait_for(stream);
    CHECK(claimed_by(out, 0, 4) != 0);
    CHECK_EQ(last_info().claimed_buffers, 1);
}

TEST(t9_a_failure_keeps_its_newest_16_skips_and_the_exact_total)
{
    set_up();
    compute_buffer chain[21];
    claim_all(stream, add, in, out);
    chain[0] = out;
    for (int i = 1; i <= 20; i++) {
        char label[16];
        chain[i] = make_buffer(device, BYTES, "link");
        snprintf(label, sizeof label, "K%d", i);
        IS(COMPUTE_SKIPPED, launch_io(stream, increment, label, chain[i - 1], chain[i], 4));
    }
    CHECK(claimed_by(chain[20], 0, 4) != 0);
    CHECK_EQ(last_info().chain_total, 20);
    CHECK_EQ(last_info().chain_count, 16);
    CHECK(strcmp(chain_entry(0).label, "K20") == 0);
    CHECK(strcmp(chain_entry(15).label, "K5") == 0);
}

TEST(t8_the_chain_has_only_the_skips_that_lead_to_this_buffer)
{
    set_up();
    compute_buffer a = make_buffer(device, BYTES, "a"), b = make_buffer(device, BYTES, "b"), c = make_buffer(device, BYTES, "c");
    claim_all(stream, add, in, out);
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "to a", out, a, 4));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "to b", out, b, 4));
    IS(COMPUTE_SKIPPED, launch_io(stream, increment, "to c", a, c, 4));
    CHECK(claimed_by(c, 0, 4) != 0);
    CHECK_EQ(last_info().chain_count, 2);
    CHECK(strcmp(chain_entry(0).label, "to c") == 0 && strcmp(chain_entry(1).label, "to a") == 0);
}

/* ---- T10 ---- */

/* Each view has bytes of all of 1000 claims, and there is a quarter of a million of them. */
TEST(t8_a_check_of_many_views_over_many_claims_takes_no_longer_than_both)
{
    enum { CLAIMS = 1000, VIEWS = 1 << 18 };
    set_up();
    compute_buffer buffer = make_buffer(device, 8 * CLAIMS, "claimed"), other = make_buffer(device, 8, "other");
    fill_words(stream, buffer, 1);
    for (uint64_t i = 0; i < CLAIMS; i++) {
        compute_view from = range(other, 0, 8), to = range(buffer, 8 * (CLAIMS - 1 - i), 4);
        IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy(stream, &from, &to, E));
    }
    compute_view *views = calloc(VIEWS, sizeof *views);
    CHECK(views != NULL);
    for (uint64_t i = 0; i < VIEWS; i++) views[i] = range(buffer, 16 + i % 3, 8 * CLAIMS - 100);
    views[1] = whole(buffer);
    uint64_t start = now_ns();
    IS(COMPUTE_ERROR_SEVERAL, compute_check(views, VIEWS, 0, E));
    CHECK_EQ(last_info().member_count, 256); /* T9: as many as a report keeps */
    compute_error first = NULL;
    OK(compute_error_member(last_error, 0, &first));
    CHECK_EQ(error_info(first).failure, claimed_by(buffer, 16, 4)); /* in the order found */
    compute_error_release(first);
    IS(COMPUTE_ERROR_SEVERAL, compute_stream_sync(stream, views, VIEWS, 0, COMPUTE_FOREVER, E));
    printf("  %.0f ms\n", (double)(now_ns() - start) / 1e6);
    CHECK(now_ns() - start < 40 * SECONDS);
    free(views);
}

TEST(t10_other_buffers_and_streams_do_not_notice_and_events_complete)
{
    set_up();
    compute_stream neighbour = make_stream(device);
    compute_buffer good = make_buffer(device, BYTES, "good");
    compute_event here = NULL, there = NULL;
    claim_all(stream, add, in, out);
    OK(launch_io(stream, increment, "", in, good, 4));
    OK(compute_stream_record(stream, &here, E));
    OK(launch_io(neighbour, increment, "", good, in, 4));
    OK(compute_stream_record(neighbour, &there, E));
    OK(compute_event_wait(here, 10 * SECONDS, E));
    OK(compute_event_wait(there, 10 * SECONDS, E));
    OK(compute_stream_flush(stream, E));
    CHECK_EQ(get_word(stream, good, 3), 8);
    CHECK_EQ(get_word(neighbour, in, 3), 9);
    OK(compute_device_status(device, E));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(t1_never_written_bytes_read_as_zeros_around_written_ones);
    RUN(t1_a_launch_reads_zeros_where_nothing_was_written);
    RUN(t1_a_copy_of_never_written_bytes_gives_zeros);
    RUN(t1_memory_that_is_used_again_is_never_written_again);
    RUN(t1_strict_bytes_that_nothing_wrote_are_refused);
    RUN(t1_a_launch_that_reads_strict_unwritten_bytes_is_skipped);
    RUN(t1_a_strict_device_makes_all_its_buffers_strict);
    RUN(t2_a_refused_launch_claims_its_outputs_although_nobody_looks_at_the_status);
    RUN(t2_a_launch_that_the_driver_refuses_claims_its_outputs);
    RUN(t2_a_write_a_copy_and_a_fill_that_fail_claim_their_destinations);
    RUN(t2_a_call_with_a_bad_handle_claims_the_outputs_that_it_could_tell);
    RUN(t2_a_refused_copy_claims_its_destination);
    RUN(t2_reinstate_lifts_an_untouched_failure_from_bytes_that_were_trusted);
    RUN(t2_reinstate_does_not_lift_a_failure_that_may_have_touched_the_bytes);
    RUN(t2_reinstate_lifts_no_other_failure);
    RUN(t2_a_panic_inside_claims_what_was_being_written_and_does_not_end_the_process);
    RUN(t3_failing_the_same_way_a_million_times_uses_no_more_memory_than_failing_once);
    RUN(t3_being_skipped_a_million_times_uses_no_more_memory_than_once);
    RUN(t3_a_new_failure_takes_over_its_bytes_and_the_old_one_keeps_the_rest);
    RUN(t3_more_failures_than_a_buffer_can_tell_apart_never_release_a_byte);
    RUN(t4_a_write_repairs_the_bytes_that_it_covers_and_no_others);
    RUN(t4_a_fill_and_a_copy_repair_what_they_cover);
    RUN(t4_a_launch_that_writes_every_byte_repairs_its_output);
    RUN(t4_a_write_that_does_not_land_repairs_nothing);
    RUN(t5_a_launch_that_reads_claimed_bytes_is_skipped_and_its_outputs_take_the_failure);
    RUN(t5_a_partly_claimed_input_skips_only_launches_whose_view_has_claimed_bytes);
    RUN(t5_a_claimed_indirect_grid_skips_the_launch);
    RUN(t5_a_copy_of_claimed_bytes_is_skipped);
    RUN(t5_of_several_failures_the_outputs_take_the_first_by_slot);
    RUN(t6_atomics_read_what_they_change);
    RUN(t6a_a_pure_output_is_not_checked_and_keeps_the_claims_that_may_not_be_overwritten);
    RUN(t6a_a_launch_that_writes_less_leaves_zeros_in_the_never_written_rest);
    RUN(t6a_a_grid_that_is_too_small_is_not_a_whole_write);
    RUN(t6a_a_caller_who_vouches_write_all_repairs_the_view);
    RUN(t6a_padding_that_a_launch_leaves_reads_as_zeros);
    RUN(t6a_a_tail_too_short_for_an_element_reads_as_zeros);
    RUN(t4_t6a_a_launch_that_leaves_padding_repairs_a_view_and_the_padding_is_zeros);
    RUN(t13_t6a_padding_over_a_launch_that_fails_late_is_claimed_or_zeros);
    RUN(t6a_an_indirect_launch_is_never_a_whole_write);
    RUN(t7_a_kernel_that_fails_to_compile_at_its_launch_claims_the_outputs);
    RUN(t7_a_source_that_does_not_parse_fails_at_creation_with_its_place);
    RUN(t7_everything_that_is_wrong_with_a_source_is_listed);
    RUN(t8_several_failures_are_told_each_once_in_the_order_found);
    RUN(t8_sync_over_views_tells_what_claims_them_and_sync_over_none_does_not);
    RUN(t8_an_asynchronous_read_of_claimed_bytes_gives_its_error_through_the_event_or_the_call);
    RUN(t8_the_chain_has_only_the_skips_that_lead_to_this_buffer);
    RUN(t9_a_failure_tells_how_many_buffers_it_still_claims);
    RUN(t9_a_failure_keeps_its_newest_16_skips_and_the_exact_total);
    RUN(t8_a_check_of_many_views_over_many_claims_takes_no_longer_than_both);
    RUN(t10_other_buffers_and_streams_do_not_notice_and_events_complete);
    return finish();
}
