/* The data side of memory: M3 (tensors with strides and pitches, several in one buffer) with T1 to T5, T8, T13 and L9 by row, M9, MEM-01, MEM-02. */
#include "rules.h"

#define GIB (UINT64_C(1) << 30)

static compute_device device;
static compute_stream stream;

static void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
}
static void set_up(void) { set_up_on(open_device()); }

static compute_strided_desc strided(uint32_t rank, const uint64_t *shape, uint64_t element_size, const int64_t *from, const int64_t *to)
{
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    desc.rank = rank;
    desc.shape = shape;
    desc.element_size = element_size;
    desc.from_strides = from;
    desc.to_strides = to;
    return desc;
}

/* `rows` rows of `width` bytes, `pitch` apart in the buffer and without gaps in host memory. */
typedef struct {
    uint64_t shape[2];
    int64_t strides[2];
} rows_of;
static rows_of rows(uint64_t count, uint64_t width, uint64_t pitch)
{
    rows_of made = { { count, width }, { (int64_t)pitch, 1 } };
    return made;
}
static compute_strided_desc to_rows(const rows_of *r) { return strided(2, r->shape, 1, NULL, r->strides); }
static compute_strided_desc from_rows(const rows_of *r) { return strided(2, r->shape, 1, r->strides, NULL); }
static compute_strided_desc rows_to_rows(const rows_of *from, const rows_of *to) { return strided(2, from->shape, 1, from->strides, to->strides); }

static compute_status write_rows(compute_buffer buffer, uint64_t offset, const rows_of *r, const void *bytes)
{
    compute_strided_desc desc = to_rows(r);
    compute_view view = range(buffer, offset, COMPUTE_WHOLE);
    return compute_stream_write_strided(stream, &view, &desc, bytes, r->shape[0] * r->shape[1], E);
}
static compute_status read_rows(compute_buffer buffer, uint64_t offset, const rows_of *r, void *bytes)
{
    compute_strided_desc desc = from_rows(r);
    compute_view view = range(buffer, offset, COMPUTE_WHOLE);
    return compute_stream_read_strided(stream, &view, &desc, bytes, r->shape[0] * r->shape[1], E);
}

static int all_are(const void *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (((const unsigned char *)bytes)[i] != value) return 0;
    }
    return 1;
}

/* A buffer of the stream in memory that held 0xff before. */
static compute_buffer used_buffer(uint64_t size, uint64_t flags)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer buffer = NULL;
    desc.size = size;
    desc.stream = stream;
    for (int round = 0; round < 2; round++) {
        desc.flags = round ? flags : 0;
        OK(compute_buffer_create(device, &desc, &buffer, E));
        if (round == 0) {
            fill_words(stream, buffer, 0xffffffffu);
            wait_for(stream);
            compute_buffer_release(buffer);
        }
    }
    return buffer;
}

/* Claims a range by a write from nowhere. */
static uint64_t claim(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &view, NULL, size, E));
    return claimed_by(buffer, offset, size);
}

/* ---- M3: layouts ---- */

static compute_tensor_desc tensor(uint32_t rank, const uint64_t *shape, uint64_t element_size, uint32_t arrangement)
{
    compute_tensor_desc desc = COMPUTE_TENSOR_DESC_INIT;
    desc.rank = rank;
    desc.shape = shape;
    desc.element_size = element_size;
    desc.arrangement = arrangement;
    return desc;
}

static int on_cpu(void)
{
    const char *backend = getenv("RULES_BACKEND");
    return !backend || strcmp(backend, "cpu") == 0;
}

TEST(m3_several_tensors_are_carved_out_of_one_buffer_and_do_not_touch_each_other)
{
    set_up();
    const uint64_t shapes[4][3] = { { 3, 5, 7 }, { 40, 33, 0 }, { 1000, 0, 0 }, { 2, 3, 5 } };
    const uint32_t ranks[4] = { 3, 2, 1, 3 };
    const uint64_t counts[4] = { 105, 1320, 1000, 30 };
    compute_tensor_desc tensors[4];
    compute_tensor_place places[4] = { COMPUTE_TENSOR_PLACE_INIT, COMPUTE_TENSOR_PLACE_INIT, COMPUTE_TENSOR_PLACE_INIT, COMPUTE_TENSOR_PLACE_INIT };
    uint64_t size = 0, asked = 0;
    for (int i = 0; i < 4; i++) tensors[i] = tensor(ranks[i], shapes[i], 4, i % 2 ? COMPUTE_ARRANGEMENT_OPTIMIZED : COMPUTE_ARRANGEMENT_CONTIGUOUS);
    OK(compute_device_layout_tensors(device, tensors, 4, 0, 0, places, 0, &size, E));
    OK(compute_device_layout_tensors(device, tensors, 4, 0, 0, NULL, 0, &asked, E));
    CHECK_EQ(asked, size);
    compute_buffer buffer = used_buffer((size + 3) / 4 * 4, 0);
    static uint32_t given[4][1400], got[1400];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(places[i].offset % 256, 0);
            CHECK(i == 0 || places[i].offset >= places[i - 1].offset + places[i - 1].size);
            CHECK(places[i].offset + places[i].size <= size);
            CHECK(i % 2 == 0 || places[i].pitch % (on_cpu() ? 64 : device_info(device).storage_alignment) == 0);
            CHECK_EQ(places[i].strides[ranks[i] - 1], 4);
            compute_view view = range(buffer, places[i].offset, places[i].size);
            compute_strided_desc in = strided(ranks[i], shapes[i], 4, NULL, places[i].strides);
            compute_strided_desc out = strided(ranks[i], shapes[i], 4, places[i].strides, NULL);
            if (round == 0) {
                for (uint64_t k = 0; k < counts[i]; k++) given[i][k] = (uint32_t)(i * 100000 + k);
                OK(compute_stream_write_strided(stream, &view, &in, given[i], counts[i] * 4, E));
            } else {
                OK(compute_stream_read_strided(stream, &view, &out, got, counts[i] * 4, E));
                CHECK(memcmp(got, given[i], counts[i] * 4) == 0);
            }
        }
    }
    /* 33 words, and on the cpu device rounded to a cache line. Others may need no padding at all. */
    CHECK(on_cpu() ? places[1].pitch == 192 : places[1].pitch >= 132);
    CHECK_EQ(get_word(stream, buffer, (places[1].offset + places[1].pitch) / 4 - 1), places[1].pitch == 132 ? 100032 : 0);
    CHECK_EQ(get_word(stream, buffer, (places[1].offset + places[1].pitch) / 4), 100033);
}

TEST(m9_layouts_that_cannot_be_are_refused_each_with_its_error)
{
    set_up();
    const uint64_t far[2] = { UINT64_C(1) << 40, UINT64_C(1) << 40 }, small[2] = { 3, 5 }, none[2] = { 3, 0 }, half[1] = { UINT64_MAX / 2 };
    const uint64_t nine[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    compute_tensor_place place = COMPUTE_TENSOR_PLACE_INIT;
    uint64_t size = 7;
    struct {
        compute_status status;
        uint32_t rank;
        const uint64_t *shape;
        uint64_t element_size, alignment;
        uint32_t arrangement;
    } bad[] = {
        { COMPUTE_ERROR_TOO_LARGE, 2, far, 4, 0, 0 },
        { COMPUTE_ERROR_TOO_LARGE, 2, far, 1, 0, 1 },
        { COMPUTE_ERROR_TOO_LARGE, 1, half, 8, 0, 1 },
        { COMPUTE_ERROR_INVALID_ARGUMENT, 2, small, 0, 0, 0 },
        { COMPUTE_ERROR_MISALIGNED, 2, small, 4, 3, 0 },
        { COMPUTE_ERROR_MISALIGNED, 2, small, 4, UINT64_MAX, 0 },
        { COMPUTE_ERROR_LIMIT, 2, small, 4, 4096, 0 },
        { COMPUTE_ERROR_LIMIT, 9, nine, 4, 0, 0 },
        { COMPUTE_ERROR_LIMIT, UINT32_MAX, nine, 4, 0, 0 },
        { COMPUTE_ERROR_INVALID_ENUM, 2, small, 4, 0, 2 },
        { COMPUTE_ERROR_INVALID_ARGUMENT, 2, NULL, 4, 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        compute_tensor_desc desc = tensor(bad[i].rank, bad[i].shape, bad[i].element_size, bad[i].arrangement);
        IS(bad[i].status, compute_device_layout_tensors(device, &desc, 1, 0, bad[i].alignment, &place, 0, &size, E));
        CHECK_EQ(size, 0);
    }
    compute_tensor_desc two[3] = { tensor(1, half, 1, 0), tensor(1, half, 1, 0), tensor(1, half, 1, 0) };
    IS(COMPUTE_ERROR_TOO_LARGE, compute_device_layout_tensors(device, two, 3, 0, 0, NULL, 0, &size, E));
    two[0].struct_size = 4;
    IS(COMPUTE_ERROR_INVALID_STRUCT, compute_device_layout_tensors(device, two, 2, 0, 0, NULL, 0, &size, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_layout_tensors(device, NULL, 2, 0, 0, NULL, 0, &size, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_layout_tensors(device, two, 1, 0, 0, NULL, 0, NULL, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_device_layout_tensors(NULL, two, 0, 0, 0, NULL, 0, &size, E));
    OK(compute_device_layout_tensors(device, NULL, 0, 0, 0, NULL, 0, &size, E));
    compute_tensor_desc empty = tensor(2, none, 4, 1), one = tensor(0, NULL, 16, 1);
    OK(compute_device_layout_tensors(device, &empty, 1, 0, 16, &place, 0, &size, E));
    CHECK(size == 0 && place.size == 0);
    OK(compute_device_layout_tensors(device, &one, 1, 0, 16, &place, 0, &size, E));
    CHECK(size == 16 && place.rank == 0);
}

/* ---- M3: transfers ---- */

typedef struct {
    uint32_t rank;
    uint64_t shape[4], element_size;
} box;

/* Nested strides in a random order of dimensions. Answers what they span. */
static uint64_t random_strides(uint32_t *seed, const box *b, int64_t *strides)
{
    uint32_t order[4] = { 0, 1, 2, 3 };
    uint64_t next = b->element_size, span = b->element_size;
    for (uint32_t i = b->rank; i-- > 1;) {
        uint32_t j = next_random(seed) % (i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (uint32_t i = 0; i < b->rank; i++) {
        uint64_t count = b->shape[order[i]];
        next += next_random(seed) % 3 ? 0 : next_random(seed) % 9;
        strides[order[i]] = (int64_t)next;
        span += (count - 1) * next;
        next *= count;
    }
    return span;
}

/* Moves the elements one by one. */
static void move_box(const box *b, unsigned char *to, const int64_t *to_strides, const unsigned char *from, const int64_t *from_strides)
{
    uint64_t at[4] = { 0 }, total = 1;
    for (uint32_t i = 0; i < b->rank; i++) total *= b->shape[i];
    for (uint64_t n = 0; n < total; n++) {
        int64_t f = 0, t = 0;
        for (uint32_t i = 0; i < b->rank; i++) {
            f += (int64_t)at[i] * from_strides[i];
            t += (int64_t)at[i] * to_strides[i];
        }
        memcpy(to + t, from + f, b->element_size);
        for (uint32_t i = b->rank; i-- > 0;) {
            if (++at[i] < b->shape[i]) break;
            at[i] = 0;
        }
    }
}

enum { MODEL = 1 << 16 };

TEST(m3_strided_writes_copies_and_reads_move_each_element_to_its_place_and_touch_nothing_else)
{
    set_up();
    static unsigned char host[MODEL], models[2][MODEL], got[MODEL], before[MODEL];
    uint32_t seed = 7;
    compute_buffer buffers[2] = { used_buffer(MODEL, 0), used_buffer(MODEL, 0) };
    memset(models, 0, sizeof models);
    for (int i = 0; i < MODEL; i++) host[i] = (unsigned char)next_random(&seed);
    for (int round = 0; round < 600; round++) {
        box b = { next_random(&seed) % 5, { 1, 1, 1, 1 }, 1 + next_random(&seed) % 8 };
        int64_t strides[2][4];
        uint64_t spans[2], offsets[2];
        for (uint32_t i = 0; i < b.rank; i++) b.shape[i] = 1 + next_random(&seed) % (b.rank < 3 && next_random(&seed) % 4 == 0 ? 90 : 6);
        for (int end = 0; end < 2; end++) spans[end] = random_strides(&seed, &b, strides[end]);
        if (spans[0] > MODEL || spans[1] > MODEL) continue;
        for (int end = 0; end < 2; end++) offsets[end] = next_random(&seed) % (MODEL - spans[end] + 1);
        compute_strided_desc desc = strided(b.rank, b.shape, b.element_size, strides[0], strides[1]);
        compute_view from = range(buffers[0], offsets[0], COMPUTE_WHOLE), to = range(buffers[1], offsets[1], spans[1]);
        if (round % 3 == 0) {
            to.buffer = buffers[0];
            OK(compute_stream_write_strided(stream, &to, &desc, host + offsets[0], spans[0], E));
            move_box(&b, models[0] + offsets[1], strides[1], host + offsets[0], strides[0]);
        } else if (round % 3 == 1) {
            OK(compute_stream_copy_strided(stream, &from, &to, &desc, E));
            move_box(&b, models[1] + offsets[1], strides[1], models[0] + offsets[0], strides[0]);
        } else {
            memset(got, 0xdd, sizeof got);
            memset(before, 0xdd, sizeof before);
            OK(compute_stream_read_strided(stream, &from, &desc, got + offsets[1], spans[1], E));
            move_box(&b, before + offsets[1], strides[1], models[0] + offsets[0], strides[0]);
            CHECK(memcmp(got, before, MODEL) == 0);
        }
        if (round % 20 == 19) {
            for (int i = 0; i < 2; i++) {
                OK(get(stream, buffers[i], 0, got, MODEL));
                CHECK(memcmp(got, models[i], MODEL) == 0);
            }
        }
    }
}

TEST(m3_a_copy_within_one_buffer_may_interleave_rows_but_not_overlap)
{
    set_up();
    compute_buffer image = make_buffer(device, 64 * 100, "image");
    fill_words(stream, image, 0x01010101u);
    rows_of left = rows(100, 32, 64), wide = rows(100, 33, 64);
    unsigned char bytes[3200];
    memset(bytes, 9, sizeof bytes);
    OK(write_rows(image, 0, &left, bytes));
    compute_strided_desc desc = rows_to_rows(&left, &left), too_wide = rows_to_rows(&wide, &wide);
    compute_view from = range(image, 0, COMPUTE_WHOLE), to = range(image, 32, COMPUTE_WHOLE), mid = range(image, 31, COMPUTE_WHOLE);
    OK(compute_stream_copy_strided(stream, &from, &to, &desc, E));
    memset(bytes, 0, sizeof bytes);
    OK(read_rows(image, 32, &left, bytes));
    CHECK(all_are(bytes, sizeof bytes, 9));
    IS(COMPUTE_ERROR_OVERLAP, compute_stream_copy_strided(stream, &from, &mid, &desc, E));
    OK(compute_stream_fill(stream, &from, "\1", 1, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_copy_strided(stream, &from, &to, &too_wide, E));
    OK(compute_stream_fill(stream, &from, "\1", 1, E));
    IS(COMPUTE_ERROR_OVERLAP, compute_stream_copy_strided(stream, &from, &from, &desc, E));
}

TEST(l9_columns_of_millions_of_rows_are_copied_beside_each_other)
{
    set_up();
    enum { ROWS = 2000000 };
    static const uint64_t counts[] = { 1000000, ROWS };
    static unsigned char bytes[2 * ROWS];
    compute_buffer table = make_buffer(device, sizeof bytes, "table");
    compute_view all = whole(table), second = range(table, 1, COMPUTE_WHOLE);
    /* Where no rows are moved at a pitch, each would be a call. */
    const int refused = !moves_rows();
    for (size_t i = refused; i < COUNT_OF(counts); i++) {
        const uint64_t shape[1] = { counts[i] }, less[1] = { counts[i] - 1 };
        const int64_t strides[1] = { 2 };
        compute_strided_desc column = strided(1, shape, 1, strides, strides), shorter = strided(1, less, 1, strides, strides);
        compute_view next_row = range(table, 2, COMPUTE_WHOLE);
        OK(compute_stream_fill(stream, &all, "\7\10", 2, E));
        IS(refused ? COMPUTE_ERROR_UNSUPPORTED_STRIDES : COMPUTE_ERROR_OVERLAP, compute_stream_copy_strided(stream, &all, &next_row, &shorter, E));
        OK(compute_stream_fill(stream, &all, "\7\10", 2, E));
        IS(refused ? COMPUTE_ERROR_UNSUPPORTED_STRIDES : COMPUTE_OK, compute_stream_copy_strided(stream, &all, &second, &column, E));
        if (refused) return;
        OK(get(stream, table, 0, bytes, sizeof bytes));
        for (uint64_t n = 0; n < ROWS; n++) CHECK(bytes[2 * n] == 7 && bytes[2 * n + 1] == (n < counts[i] ? 7 : 8));
    }
}

/* ---- trust by row ---- */

TEST(t1_bytes_between_rows_that_were_never_written_read_as_zeros)
{
    set_up();
    /* Few rows are remembered one by one, many are filled around. */
    static const uint64_t counts[] = { 1, 5, 256, 257, 3000 };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        rows_of r = rows(counts[i], 13, 40);
        uint64_t size = counts[i] * 40 + 400;
        unsigned char *bytes = malloc(size), *given = malloc(counts[i] * 13);
        memset(given, 7, counts[i] * 13);
        compute_buffer buffer = used_buffer(size, 0);
        OK(write_rows(buffer, 100, &r, given));
        OK(read_rows(buffer, 100, &r, bytes));
        CHECK(all_are(bytes, counts[i] * 13, 7));
        OK(get(stream, buffer, 0, bytes, size));
        for (uint64_t at = 0; at < size; at++) {
            int in_row = at >= 100 && (at - 100) / 40 < counts[i] && (at - 100) % 40 < 13;
            CHECK_EQ(bytes[at], in_row ? 7 : 0);
        }
        compute_buffer_release(buffer);
        /* A read before anything was written. */
        buffer = used_buffer(size, 0);
        OK(read_rows(buffer, 100, &r, bytes));
        CHECK(all_are(bytes, counts[i] * 13, 0));
        compute_buffer_release(buffer);
        free(bytes);
        free(given);
    }
}

TEST(t1_of_a_strict_buffer_rows_that_were_written_can_be_read_and_what_lies_between_them_cannot)
{
    set_up();
    rows_of r = rows(200, 16, 64), wide = rows(200, 17, 64), between = rows(199, 48, 64);
    unsigned char bytes[16 * 200 + 48 * 200];
    memset(bytes, 3, sizeof bytes);
    compute_buffer buffer = used_buffer(200 * 64, COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN);
    OK(write_rows(buffer, 0, &r, bytes));
    OK(read_rows(buffer, 0, &r, bytes));
    memset(bytes, 0xee, sizeof bytes);
    IS(COMPUTE_ERROR_UNWRITTEN, read_rows(buffer, 0, &wide, bytes));
    IS(COMPUTE_ERROR_UNWRITTEN, read_rows(buffer, 16, &between, bytes));
    CHECK_EQ(root_info().status, COMPUTE_ERROR_NEVER_WRITTEN);
    CHECK(all_are(bytes, sizeof bytes, 0xee));
}

TEST(t4_a_strided_write_repairs_its_rows_and_no_others)
{
    set_up();
    rows_of r = rows(50, 8, 32), between = rows(50, 24, 32);
    unsigned char bytes[50 * 24];
    memset(bytes, 5, sizeof bytes);
    compute_buffer buffer = make_buffer(device, 50 * 32, "half repaired");
    uint64_t failure = claim(buffer, 0, 1600);
    OK(write_rows(buffer, 0, &r, bytes));
    OK(read_rows(buffer, 0, &r, bytes));
    for (uint64_t row = 0; row < 50; row++) {
        CHECK_EQ(claimed_by(buffer, row * 32, 8), 0);
        CHECK_EQ(claimed_by(buffer, row * 32 + 8, 1), failure);
        CHECK_EQ(claimed_by(buffer, row * 32 + 31, 1), failure);
    }
    IS(COMPUTE_ERROR_UNWRITTEN, read_rows(buffer, 8, &between, bytes));
    OK(write_rows(buffer, 8, &between, bytes));
    CHECK_EQ(claimed_by(buffer, 0, COMPUTE_WHOLE), 0);
}

TEST(t5_t8_claims_between_the_rows_do_not_matter_and_one_on_a_row_does)
{
    set_up();
    static const uint64_t counts[] = { 100, 5000 };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        rows_of r = rows(counts[i], 8, 32), apart = rows(counts[i], 8, 16);
        unsigned char *bytes = calloc(counts[i], 8);
        compute_buffer from = make_buffer(device, counts[i] * 32, "from"), to = make_buffer(device, counts[i] * 16, "to");
        fill_words(stream, from, 1);
        fill_words(stream, to, 2);
        compute_strided_desc desc = rows_to_rows(&r, &apart);
        compute_view source = whole(from), target = whole(to);
        claim(from, 8, 24);
        claim(from, 32 * (counts[i] / 2) + 20, 12);
        OK(read_rows(from, 0, &r, bytes));
        OK(compute_stream_copy_strided(stream, &source, &target, &desc, E));
        uint64_t failure = claim(from, 32 * (counts[i] - 1) + 7, 3);
        memset(bytes, 0xee, counts[i] * 8);
        IS(COMPUTE_ERROR_UNWRITTEN, read_rows(from, 0, &r, bytes));
        CHECK_EQ(last_info().failure, failure);
        CHECK(all_are(bytes, counts[i] * 8, 0xee));
        IS(COMPUTE_SKIPPED, compute_stream_copy_strided(stream, &source, &target, &desc, E));
        CHECK_EQ(claimed_by(to, 16, 8), failure);
        if (counts[i] <= 256) CHECK_EQ(claimed_by(to, 8, 8), 0);
        claim(from, 0, 2);
        IS(COMPUTE_ERROR_SEVERAL, read_rows(from, 0, &r, bytes));
        compute_buffer_release(from);
        compute_buffer_release(to);
        free(bytes);
    }
}

TEST(t3_a_hundred_thousand_rows_over_claims_take_bounded_time_and_never_give_out_what_is_claimed)
{
    set_up();
    /* Each row is a call of its own where rows do not move together. */
    const uint64_t ROWS = moves_rows() ? 100000 : 5000;
    rows_of r = rows(ROWS, 8, 24), between = rows(ROWS - 1, 16, 24);
    unsigned char *bytes = calloc(ROWS, 16);
    compute_buffer buffer = make_buffer(device, ROWS * 24, "many rows");
    uint64_t start = now_ns();
    for (int round = 0; round < 10; round++) {
        uint64_t failure = claim(buffer, 0, ROWS * 24);
        OK(write_rows(buffer, 0, &r, bytes));
        CHECK(claimed_by(buffer, 24 * (ROWS - 2) + 10, 4) != 0);
        IS(COMPUTE_ERROR_UNWRITTEN, read_rows(buffer, 8, &between, bytes));
        CHECK_EQ(last_info().failure, failure);
    }
    CHECK(now_ns() - start < 20 * SECONDS);
    fill_words(stream, buffer, 0);
    for (int round = 0; round < 10; round++) OK(write_rows(buffer, 0, &r, bytes));
    OK(read_rows(buffer, 0, &r, bytes));
    CHECK_EQ(claimed_by(buffer, 0, COMPUTE_WHOLE), 0);
    free(bytes);
}

/* More claimed bytes with rows in them than are looked at, and behind them a row in bytes that were never written. */
TEST(t1_a_row_behind_many_in_claimed_bytes_keeps_what_was_written)
{
    enum { ROWS = 8192, WIDTH = 64, PITCH = 128, LAST = (ROWS - 1) * PITCH };
    set_up();
    static unsigned char host[ROWS * WIDTH], got[WIDTH];
    const uint64_t shape[2] = { ROWS, WIDTH };
    const int64_t packed[2] = { WIDTH, 1 }, apart[2] = { PITCH, 1 };
    compute_buffer buffer = used_buffer(1 << 20, 0);
    for (int i = 0; i < ROWS * WIDTH; i++) host[i] = (unsigned char)(i % 251 + 1);
    /* A part of the row holds something already. */
    put(stream, buffer, LAST + WIDTH / 2, host, WIDTH / 2);
    compute_view claimed = range(buffer, 0, LAST), rows = range(buffer, 0, LAST + WIDTH);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &claimed, NULL, LAST, E));
    compute_strided_desc desc = strided(2, shape, 1, packed, apart);
    OK(compute_stream_write_strided(stream, &rows, &desc, host, sizeof host, E));
    OK(get(stream, buffer, LAST, got, WIDTH));
    CHECK(memcmp(got, host + (ROWS - 1) * WIDTH, WIDTH) == 0);
    OK(get(stream, buffer, 0, got, WIDTH));
    CHECK(memcmp(got, host, WIDTH) == 0);
}

TEST(t2_a_refused_strided_write_claims_its_rows_and_reinstating_gives_them_back)
{
    set_up();
    rows_of r = rows(20, 8, 32);
    compute_buffer buffer = make_buffer(device, 640, "refused");
    fill_words(stream, buffer, 6);
    compute_strided_desc desc = to_rows(&r);
    compute_view view = whole(buffer);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write_strided(stream, &view, &desc, NULL, 160, E));
    uint64_t failure = claimed_by(buffer, 32, 8), lifted = 0;
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(buffer, 8, 24), 0);
    CHECK_EQ(claimed_by(buffer, 640 - 24, 24), 0);
    OK(compute_reinstate(&view, failure, &lifted, E));
    CHECK_EQ(lifted, 160);
    CHECK_EQ(get_word(stream, buffer, 8), 6);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_write_strided(stream, &view, &desc, buffer, 159, E)); /* the pointer is not looked at */
    CHECK(claimed_by(buffer, 0, 8) != 0);
    CHECK_EQ(claimed_by(buffer, 8, 24), 0);
}

/* O[I[0]] = 1: out of bounds when asked to be; a validated kernel fails late. */
#define STORE_AT IO "@compute @workgroup_size(1) fn store_at() { for (var i = 0u; i < arrayLength(&O); i += 1u) { O[i] = I[1]; } O[I[0]] = I[1]; }\n"

TEST(t13_bytes_of_a_strided_read_reach_the_host_only_once_they_cannot_fail_any_more)
{
    set_up();
    compute_kernel_desc kernel_of = kernel_desc(STORE_AT, "store_at");
    kernel_of.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel kernel = make_kernel_from(device, &kernel_of);
    compute_buffer in = make_buffer(device, 8, "in"), out = make_buffer(device, 4096, "out");
    const uint64_t shape[2] = { 16, 4 };
    const int64_t strides[2] = { 256, 4 }, host_strides[2] = { 32, 4 };
    compute_strided_desc desc = strided(2, shape, 4, strides, host_strides);
    for (int fails = 0; fails < 2; fails++) {
        uint32_t bytes[16 * 8];
        compute_event event = NULL;
        compute_view view = whole(out);
        memset(bytes, 0xee, sizeof bytes);
        put_word(stream, in, 0, fails ? 5000 : 3);
        put_word(stream, in, 1, 77);
        OK(launch_io(stream, kernel, "", in, out, 1));
        compute_status status = compute_stream_read_strided_async(stream, &view, &desc, bytes, sizeof bytes - 16, &event, E);
        if (status == COMPUTE_OK) status = compute_event_wait(event, COMPUTE_FOREVER, E);
        CHECK_EQ(status, fails ? COMPUTE_ERROR_UNWRITTEN : COMPUTE_OK);
        for (int i = 0; i < 16 * 8; i++) CHECK_EQ(bytes[i], fails || i % 8 >= 4 ? 0xeeeeeeeeu : 77u);
        compute_event_release(event);
    }
}

/* ---- M9, F1: what cannot be ---- */

TEST(m3_transfers_that_cannot_be_are_refused_each_with_its_error_and_nothing_is_disturbed)
{
    set_up();
    compute_buffer buffer = make_buffer(device, 4096, "bad"), other = make_buffer(device, 4096, "other");
    static unsigned char host[4096];
    const uint64_t two[2] = { 4, 4 }, huge[2] = { UINT64_MAX, UINT64_MAX }, wide[1] = { UINT64_C(1) << 63 }, nothing[2] = { 0, UINT64_MAX };
    const int64_t good[2] = { 64, 4 }, back[2] = { -64, 4 }, over[2] = { 8, 4 }, same[2] = { 0, 4 }, far[2] = { INT64_MAX, 4 }, out[2] = { 2048, 4 };
    struct {
        compute_status status;
        uint32_t rank;
        const uint64_t *shape;
        uint64_t element_size;
        const int64_t *from, *to;
    } bad[] = {
        { COMPUTE_ERROR_UNSUPPORTED_STRIDES, 2, two, 4, good, back },
        { COMPUTE_ERROR_UNSUPPORTED_STRIDES, 2, two, 4, back, good },
        { COMPUTE_ERROR_OVERLAP, 2, two, 4, good, over },
        { COMPUTE_ERROR_OVERLAP, 2, two, 4, over, good },
        { COMPUTE_ERROR_OVERLAP, 2, two, 4, same, NULL },
        { COMPUTE_ERROR_TOO_LARGE, 2, two, 4, NULL, far },
        { COMPUTE_ERROR_TOO_LARGE, 2, huge, 4, NULL, NULL },
        { COMPUTE_ERROR_TOO_LARGE, 1, wide, 4, NULL, NULL },
        { COMPUTE_ERROR_OUT_OF_RANGE, 2, two, 4, NULL, out },
        { COMPUTE_ERROR_OUT_OF_RANGE, 2, two, 4, out, NULL },
        { COMPUTE_ERROR_INVALID_ARGUMENT, 2, two, 0, NULL, NULL },
        { COMPUTE_ERROR_INVALID_ARGUMENT, 2, NULL, 4, NULL, NULL },
        { COMPUTE_ERROR_LIMIT, 9, two, 4, NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        compute_strided_desc desc = strided(bad[i].rank, bad[i].shape, bad[i].element_size, bad[i].from, bad[i].to);
        compute_view view = whole(buffer), from = whole(other);
        uint64_t failure, lifted = 0;
        fill_words(stream, buffer, 3);
        memset(host, 0xee, sizeof host);
        IS(bad[i].status, compute_stream_write_strided(stream, &view, &desc, host, sizeof host, E));
        failure = last_info().failure;
        CHECK(failure != 0);
        OK(compute_reinstate(&view, failure, &lifted, E));
        CHECK(lifted > 0);
        IS(bad[i].status, compute_stream_copy_strided(stream, &from, &view, &desc, E));
        failure = last_info().failure;
        OK(compute_reinstate(&view, failure, &lifted, E));
        IS(bad[i].status, compute_stream_read_strided(stream, &view, &desc, host, sizeof host, E));
        CHECK(all_are(host, sizeof host, 0xee));
        CHECK_EQ(claimed_by(buffer, 0, COMPUTE_WHOLE), 0);
        CHECK_EQ(get_word(stream, buffer, 1023), 3);
    }
    /* Nothing to move is nothing wrong, whatever the rest multiplies to. */
    compute_strided_desc empty = strided(2, nothing, 4, NULL, NULL), good_desc = strided(2, two, 4, good, NULL);
    compute_view view = whole(buffer), end = range(buffer, 4096, 0);
    OK(compute_stream_write_strided(stream, &end, &empty, NULL, 0, E));
    OK(compute_stream_read_strided(stream, &end, &empty, NULL, 0, E));
    OK(compute_stream_copy_strided(stream, &end, &end, &empty, E));
    compute_event event = NULL;
    OK(compute_stream_read_strided_async(stream, &end, &empty, NULL, 0, &event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    compute_event_release(event);
    CHECK_EQ(get_word(stream, buffer, 0), 3);
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_read_strided(NULL, &view, &good_desc, host, sizeof host, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided(stream, NULL, &good_desc, host, sizeof host, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided(stream, &view, NULL, host, sizeof host, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided(stream, &view, &good_desc, NULL, sizeof host, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_read_strided(stream, &view, &good_desc, host, COMPUTE_WHOLE, E));
    good_desc.struct_size = 8;
    IS(COMPUTE_ERROR_INVALID_STRUCT, compute_stream_write_strided(stream, &view, &good_desc, host, sizeof host, E));
    CHECK(claimed_by(buffer, 0, COMPUTE_WHOLE) != 0);
}

TEST(m3_elements_scattered_beyond_what_the_device_moves_in_one_go_are_unsupported)
{
    set_up();
    const uint64_t shape[3] = { 1025, 1025, 1025 };
    const int64_t reversed[3] = { 1, 1025, 1025 * 1025 };
    uint64_t size = UINT64_C(1025) * 1025 * 1025;
    compute_buffer buffer = make_buffer(device, size, "transposed");
    compute_strided_desc desc = strided(3, shape, 1, NULL, reversed);
    compute_view view = whole(buffer);
    IS(COMPUTE_ERROR_UNSUPPORTED_STRIDES, compute_stream_write_strided(stream, &view, &desc, &size, size, E)); /* the bytes are not looked at */
    CHECK(error_says(moves_rows() ? "1050625" : "1076890625"));
}

/* ---- big sizes ---- */

static uint64_t available_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    }
    if (file) fclose(file);
    return (uint64_t)kib * 1024;
}

TEST(mem_01_rows_more_than_four_gib_apart_are_where_they_should_be)
{
    set_up();
    uint64_t size = 7 * GIB;
    if (available_bytes() < size + GIB || device_info(device).max_buffer_size < size) {
        printf("  not run: a buffer of 7 GiB is more than this machine has free\n");
        return;
    }
    compute_buffer buffer = make_buffer(device, size, "large");
    rows_of r = rows(3, 16, 3 * GIB + 4);
    unsigned char given[48], got[48];
    for (int i = 0; i < 48; i++) given[i] = (unsigned char)(i + 1);
    OK(write_rows(buffer, 8, &r, given));
    OK(read_rows(buffer, 8, &r, got));
    CHECK(memcmp(given, got, 48) == 0);
    OK(get(stream, buffer, 6 * GIB + 16, got, 16));
    CHECK(memcmp(given + 32, got, 16) == 0);
    OK(get(stream, buffer, 2 * GIB + 16, got, 16)); /* 6 GiB + 16 without its upper half */
    CHECK(all_are(got, 16, 0));
    rows_of near = rows(3, 16, 32);
    compute_buffer small = make_buffer(device, 96, "small");
    compute_strided_desc desc = rows_to_rows(&r, &near);
    compute_view from = range(buffer, 8, COMPUTE_WHOLE), to = whole(small);
    OK(compute_stream_copy_strided(stream, &from, &to, &desc, E));
    OK(read_rows(small, 0, &near, got));
    CHECK(memcmp(given, got, 48) == 0);
}

TEST(mem_02_more_than_2_to_the_31_elements_are_filled_copied_and_read_by_row)
{
    set_up();
    enum { ROWS = 65537, WIDTH = 32768, PITCH = WIDTH + 64 };
    uint64_t size = (uint64_t)ROWS * PITCH;
    if (RSS_SLACK_KIB > 0) {
        printf("  not run: a sanitizer keeps several bytes for each of 4 GiB\n");
        return;
    }
    if (device_info(device).max_buffer_size < size) {
        printf("  not run: the device has no buffers of 2 GiB and more\n");
        return;
    }
    if (available_bytes() < 2 * size + GIB) {
        printf("  not run: two buffers of 2 GiB are more than this machine has free\n");
        return;
    }
    compute_buffer one = make_buffer(device, size, "one"), two = make_buffer(device, size, "two");
    compute_view from = whole(one), to = whole(two), middle = range(one, (UINT64_C(1) << 31) - 8, 16);
    unsigned char got[64], wanted[64];
    OK(compute_stream_fill(stream, &from, "\7", 1, E));
    OK(compute_stream_fill(stream, &middle, "\11", 1, E));
    memset(wanted, 7, sizeof wanted);
    memset(wanted + 24, 9, 16);
    OK(get(stream, one, (UINT64_C(1) << 31) - 32, got, 64));
    CHECK(memcmp(got, wanted, 64) == 0);
    rows_of r = rows(ROWS, WIDTH, PITCH);
    compute_strided_desc desc = rows_to_rows(&r, &r);
    OK(compute_stream_copy_strided(stream, &from, &to, &desc, E));
    OK(get(stream, two, size - PITCH, got, 64)); /* the last row, behind 2^31 */
    CHECK(all_are(got, 64, 7));
    OK(get(stream, two, size - 64, got, 64)); /* behind it */
    CHECK(all_are(got, 64, 0));
    OK(get(stream, two, (UINT64_C(1) << 31) - 32, got, 64));
    for (uint64_t i = 0; i < 64; i++) CHECK_EQ(got[i], ((UINT64_C(1) << 31) - 32 + i) % PITCH < WIDTH ? wanted[i] : 0);
}

/* ---- the device fails ---- */

TEST(f1_whichever_call_of_the_device_fails_strided_transfers_give_right_bytes_or_the_error)
{
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LATE, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    /* Two pieces for each transfer. */
    const uint64_t shape[3] = { 2, 30, 8 };
    const int64_t strides[3] = { 1800, 50, 1 }, apart[3] = { 2000, 20, 1 };
    unsigned char given[480], got[480];
    int reached = 0;
    for (int i = 0; i < 480; i++) given[i] = (unsigned char)(i * 7 + 1);
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        for (uint64_t call = 1; call < 30; call++) {
            set_up_on(open_faulty());
            compute_buffer a = make_buffer(device, 4096, "a"), b = make_buffer(device, 4096, "b");
            compute_view va = whole(a), vb = whole(b);
            compute_strided_desc in = strided(3, shape, 1, NULL, strides), over = strided(3, shape, 1, strides, apart), out = strided(3, shape, 1, apart, NULL);
            memset(got, 0xee, sizeof got);
            OK(compute_device_inject_fault(device, call, ways[way], E));
            (void)compute_stream_write_strided(stream, &va, &in, given, sizeof given, NULL);
            (void)compute_stream_copy_strided(stream, &va, &vb, &over, NULL);
            compute_status status = compute_stream_read_strided(stream, &vb, &out, got, sizeof got, E);
            if (status == COMPUTE_OK) CHECK(memcmp(got, given, sizeof got) == 0);
            else CHECK(status < 0 && all_are(got, sizeof got, 0xee));
            reached += status != COMPUTE_OK;
            OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
            if (compute_device_status(device, NULL) == COMPUTE_OK) {
                OK(compute_stream_fill(stream, &va, "", 1, E));
                OK(compute_stream_fill(stream, &vb, "", 1, E));
                OK(compute_stream_write_strided(stream, &va, &in, given, sizeof given, E));
                OK(compute_stream_copy_strided(stream, &va, &vb, &over, E));
                OK(compute_stream_read_strided(stream, &vb, &out, got, sizeof got, E));
                CHECK(memcmp(got, given, sizeof got) == 0);
            }
            compute_buffer_release(a);
            compute_buffer_release(b);
            compute_stream_release(stream);
            compute_device_release(device);
        }
    }
    CHECK(reached >= 20);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(m3_several_tensors_are_carved_out_of_one_buffer_and_do_not_touch_each_other);
    RUN(m9_layouts_that_cannot_be_are_refused_each_with_its_error);
    RUN(m3_strided_writes_copies_and_reads_move_each_element_to_its_place_and_touch_nothing_else);
    RUN(m3_a_copy_within_one_buffer_may_interleave_rows_but_not_overlap);
    RUN(l9_columns_of_millions_of_rows_are_copied_beside_each_other);
    RUN(t1_bytes_between_rows_that_were_never_written_read_as_zeros);
    RUN(t1_of_a_strict_buffer_rows_that_were_written_can_be_read_and_what_lies_between_them_cannot);
    RUN(t4_a_strided_write_repairs_its_rows_and_no_others);
    RUN(t5_t8_claims_between_the_rows_do_not_matter_and_one_on_a_row_does);
    RUN(t3_a_hundred_thousand_rows_over_claims_take_bounded_time_and_never_give_out_what_is_claimed);
    RUN(t1_a_row_behind_many_in_claimed_bytes_keeps_what_was_written);
    RUN(t2_a_refused_strided_write_claims_its_rows_and_reinstating_gives_them_back);
    RUN(t13_bytes_of_a_strided_read_reach_the_host_only_once_they_cannot_fail_any_more);
    RUN(m3_transfers_that_cannot_be_are_refused_each_with_its_error_and_nothing_is_disturbed);
    RUN(m3_elements_scattered_beyond_what_the_device_moves_in_one_go_are_unsupported);
    RUN(mem_01_rows_more_than_four_gib_apart_are_where_they_should_be);
    RUN(mem_02_more_than_2_to_the_31_elements_are_filled_copied_and_read_by_row);
    RUN(f1_whichever_call_of_the_device_fails_strided_transfers_give_right_bytes_or_the_error);
    return finish();
}
