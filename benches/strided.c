/* Moving tensors with strides on the cpu device, beside a loop of memcpy over the same rows: medians of GiB/s, and their ratio.
 *
 *     strided [RUNS]        (default 15)
 *
 * One process, one run: compare ratios. */
#define _GNU_SOURCE
#include "bench.h"

static compute_device device;
static compute_stream stream;

/* A tensor of rank 2 between rows at a pitch (or turned) and no gaps. */
struct form {
    const char *name;
    uint64_t shape[2], element_size;
    int64_t strides[2];
    int turned;
};

static compute_buffer make_buffer(uint64_t size)
{
    compute_buffer buffer = NULL;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    uint32_t one = 1;
    desc.size = size;
    CHECK(compute_buffer_create(device, &desc, &buffer, &error));
    compute_view view = { buffer, 0, size };
    CHECK(compute_stream_fill(stream, &view, &one, 4, &error));
    return buffer;
}

/* The same on the host, by memcpy of each row, or of each element where rows cannot be. */
static void move_rows(const struct form *f, unsigned char *spread, unsigned char *packed, int gather)
{
    uint64_t row = f->turned ? f->element_size : f->shape[1] * f->element_size, columns = f->turned ? f->shape[1] : 1;
    for (uint64_t i = 0; i < f->shape[0]; i++) {
        for (uint64_t j = 0; j < columns; j++) {
            unsigned char *there = spread + (int64_t)i * f->strides[0] + (int64_t)j * f->strides[1], *here = packed + (i * columns + j) * row;
            memcpy(gather ? here : there, gather ? there : here, row);
        }
    }
}

enum { WRITE, READ, COPY, SCATTER, GATHER, WAYS };

static double once(int way, const struct form *f, compute_buffer buffers[2], uint64_t span, unsigned char *spread, unsigned char *packed)
{
    uint64_t bytes = f->shape[0] * f->shape[1] * f->element_size;
    compute_strided_desc in = COMPUTE_STRIDED_DESC_INIT;
    in.rank = 2;
    in.shape = f->shape;
    in.element_size = f->element_size;
    compute_strided_desc out = in, both = in;
    in.to_strides = out.from_strides = both.from_strides = f->strides;
    compute_view first = { buffers[0], 0, span }, second = { buffers[1], 0, bytes };
    double start = now();
    switch (way) {
    case WRITE: CHECK(compute_stream_write_strided(stream, &first, &in, packed, bytes, &error)); break;
    case READ: CHECK(compute_stream_read_strided(stream, &first, &out, packed, bytes, &error)); break;
    case COPY:
        CHECK(compute_stream_copy_strided(stream, &first, &second, &both, &error));
        CHECK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, &error));
        break;
    default: move_rows(f, spread, packed, way == GATHER);
    }
    return 1e9 * (double)bytes / (now() - start) / (1 << 30);
}

static void measure(const struct form *f)
{
    uint64_t span = (f->shape[0] - 1) * (uint64_t)f->strides[0] + (f->shape[1] - 1) * (uint64_t)f->strides[1] + f->element_size;
    uint64_t bytes = f->shape[0] * f->shape[1] * f->element_size;
    span = (span + 3) / 4 * 4;
    compute_buffer buffers[2] = { make_buffer(span), make_buffer(bytes) };
    unsigned char *spread = malloc(span), *packed = malloc(bytes);
    double values[WAYS][MAX_RUNS], middle[WAYS];
    memset(spread, 1, span);
    memset(packed, 1, bytes);
    for (int run = -1; run < runs; run++) { /* the first is not counted */
        for (int way = 0; way < WAYS; way++) values[way][run < 0 ? 0 : run] = once(way, f, buffers, span, spread, packed);
    }
    for (int way = 0; way < WAYS; way++) middle[way] = median(values[way]);
    printf("%-42s write %6.2f (%.2f of memcpy)  read %6.2f (%.2f)  copy %6.2f (%.2f)  memcpy %6.2f, %6.2f\n", f->name, middle[WRITE],
           middle[WRITE] / middle[SCATTER], middle[READ], middle[READ] / middle[GATHER], middle[COPY], middle[COPY] / middle[GATHER], middle[SCATTER],
           middle[GATHER]);
    compute_buffer_release(buffers[0]);
    compute_buffer_release(buffers[1]);
    free(spread);
    free(packed);
}

int main(int argc, char **argv)
{
    static const struct form forms[] = {
        { "8192 rows of 4 KiB, 8 KiB apart", { 8192, 1024 }, 4, { 8192, 4 }, 0 },
        { "100000 rows of 64 B, 128 B apart", { 100000, 16 }, 4, { 128, 4 }, 0 },
        { "1000000 rows of 4 B, 16 B apart", { 1000000, 1 }, 4, { 16, 4 }, 0 },
        { "1024 x 1024 words, turned", { 1024, 1024 }, 4, { 4, 4096 }, 1 },
        { "64 rows of 64 B, 128 B apart", { 64, 16 }, 4, { 128, 4 }, 0 },
    };
    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= MAX_RUNS) runs = atoi(argv[1]);
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    CHECK(compute_device_open(&desc, &device, &error));
    CHECK(compute_stream_create(device, NULL, &stream, &error));
    printf("GiB/s, medians of %d\n", runs);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) measure(&forms[i]);
    compute_stream_release(stream);
    compute_device_release(device);
    return 0;
}
