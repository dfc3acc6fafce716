#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { MAX_BINDINGS = 6 };

/* What each stage is called (its kernel is in NAME.wgsl), which buffers it is given and how its work is cut into workgroups. A stage with a uniform
 * block has it at binding 0 and its buffers after that. */
static const struct plan {
    const char *name;
    uint32_t pixels_x; /* pixels per workgroup; 0: a fixed grid of one */
    uint32_t pixels_y;
    int has_block;
    int buffer_count;
    int buffers[MAX_BINDINGS];
} plans[STAGES] = {
    [STAGE_LUMA] = { "luma", 16, 16, 1, 2, { BUFFER_PHOTO, BUFFER_LUMA } },
    [STAGE_BLUR_ROWS] = { "blur_rows", 64, 4, 1, 2, { BUFFER_LUMA, BUFFER_ROWS } },
    [STAGE_BLUR_COLUMNS] = { "blur_columns", 16, 16, 1, 2, { BUFFER_ROWS, BUFFER_BLURRED } },
    [STAGE_SOBEL] = { "sobel", 16, 16, 1, 2, { BUFFER_BLURRED, BUFFER_EDGES } },
    [STAGE_HISTOGRAM] = { "histogram", 256 * 16, 0, 0, 2, { BUFFER_LUMA, BUFFER_COUNTS } },
    [STAGE_EQUALISE] = { "equalise", 0, 0, 0, 2, { BUFFER_COUNTS, BUFFER_TABLE } },
    [STAGE_OVERLAY] = { "overlay", 16, 16, 1, 5, { BUFFER_PHOTO, BUFFER_LUMA, BUFFER_EDGES, BUFFER_TABLE, BUFFER_RESULT } },
};

static const char *const buffer_names[BUFFERS] = { "photo", "luma", "rows", "blurred", "edges", "counts", "table", "result" };

const char *stage_name(enum stage stage) { return plans[stage].name; }

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) bytes = malloc((size_t)length + 1);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

compute_kernel pipeline_compile(const pipeline *p, const char *folder, const char *name, uint32_t bounds)
{
    char path[1024];
    size_t size = 0;
    if (snprintf(path, sizeof path, "%s/%s.wgsl", folder, name) >= (int)sizeof path) {
        fprintf(stderr, "%s: too long a path\n", folder);
        exit(1);
    }
    char *source = read_file(path, &size);

    compute_error error = NULL;
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.language = COMPUTE_LANGUAGE_WGSL;
    desc.source = source;
    desc.source_length = size;
    desc.label = name;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    desc.bounds = bounds;
    CHECK(compute_kernel_create(p->device, &desc, &kernel, &error));
    free(source); /* the library keeps what it needs */
    return kernel;
}

static void set_blocks(pipeline *p)
{
    /* A Gaussian of sigma 2, its weights adding up to 1. */
    float sum = 0.0f;
    for (int d = 0; d <= BLUR_RADIUS; d++) {
        p->blur.weights[d] = expf(-(float)(d * d) / 8.0f);
        sum += (d == 0 ? 1.0f : 2.0f) * p->blur.weights[d];
    }
    for (int d = 0; d <= BLUR_RADIUS; d++) p->blur.weights[d] /= sum;
    p->blur.width = p->overlay.width = p->width;
    p->blur.height = p->overlay.height = p->height;
    p->overlay.gain = 1.0f / 128.0f;

    p->block_sizes[STAGE_LUMA] = p->block_sizes[STAGE_SOBEL] = 2 * sizeof(uint32_t);
    p->block_sizes[STAGE_BLUR_ROWS] = p->block_sizes[STAGE_BLUR_COLUMNS] = sizeof(blur_block);
    p->block_sizes[STAGE_OVERLAY] = sizeof(overlay_block);
}

void pipeline_open(pipeline *p, const char *kernels, uint32_t width, uint32_t height)
{
    compute_error error = NULL;
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    set_blocks(p);

    compute_device_desc device = COMPUTE_DEVICE_DESC_INIT;
    CHECK(compute_device_open(&device, &p->device, &error));
    CHECK(compute_stream_create(p->device, NULL, &p->stream, &error));

    for (int i = 0; i < BUFFERS; i++) {
        p->buffer_sizes[i] = i == BUFFER_COUNTS || i == BUFFER_TABLE ? BINS * sizeof(uint32_t) : (uint64_t)width * height * 4;
        compute_buffer_desc buffer = COMPUTE_BUFFER_DESC_INIT;
        buffer.size = p->buffer_sizes[i];
        buffer.label = buffer_names[i];
        buffer.label_length = COMPUTE_NUL_TERMINATED;
        CHECK(compute_buffer_create(p->device, &buffer, &p->buffers[i], &error));
    }
    for (int i = 0; i < STAGES; i++) p->kernels[i] = pipeline_compile(p, kernels, plans[i].name, COMPUTE_BOUNDS_CHECKED);
}

void pipeline_close(pipeline *p)
{
    /* Any order is fine: what is in use lives until it is not. */
    for (int i = 0; i < STAGES; i++) compute_kernel_release(p->kernels[i]);
    for (int i = 0; i < BUFFERS; i++) compute_buffer_release(p->buffers[i]);
    compute_stream_release(p->stream);
    compute_device_release(p->device);
}

static const void *block_of(const pipeline *p, enum stage stage)
{
    switch (stage) {
    case STAGE_OVERLAY: return &p->overlay;
    default: return &p->blur; /* luma and sobel take width and height, its first two words */
    }
}

static uint32_t groups(uint32_t pixels, uint32_t per_group) { return per_group ? (pixels + per_group - 1) / per_group : 1; }

compute_status pipeline_launch(const pipeline *p, enum stage stage, compute_error *out_error)
{
    const struct plan *plan = &plans[stage];
    compute_binding bindings[MAX_BINDINGS];
    uint32_t slot = 0;
    memset(bindings, 0, sizeof bindings);
    if (plan->has_block) {
        bindings[slot].slot = slot;
        bindings[slot].data = block_of(p, stage); /* copied before the call returns */
        bindings[slot].data_size = p->block_sizes[stage];
        slot++;
    }
    for (int i = 0; i < plan->buffer_count; i++, slot++) {
        bindings[slot].slot = slot;
        bindings[slot].buffer = p->buffers[plan->buffers[i]];
        bindings[slot].size = COMPUTE_WHOLE;
    }

    compute_launch_desc launch = COMPUTE_LAUNCH_DESC_INIT;
    launch.kernel = p->kernels[stage];
    launch.bindings = bindings;
    launch.binding_count = slot;
    launch.label = plan->name;
    launch.label_length = COMPUTE_NUL_TERMINATED;
    if (plan->pixels_y) {
        launch.grid[0] = groups(p->width, plan->pixels_x);
        launch.grid[1] = groups(p->height, plan->pixels_y);
    } else {
        launch.grid[0] = groups(p->width * p->height, plan->pixels_x);
        launch.grid[1] = 1;
    }
    launch.grid[2] = 1;
    return compute_stream_launch(p->stream, &launch, out_error);
}

void pipeline_run(const pipeline *p)
{
    compute_error error = NULL;
    uint32_t zero = 0;
    compute_view counts = { p->buffers[BUFFER_COUNTS], 0, COMPUTE_WHOLE };
    CHECK(compute_stream_fill(p->stream, &counts, &zero, sizeof zero, &error));
    for (int i = 0; i < STAGES; i++) CHECK(pipeline_launch(p, (enum stage)i, &error));
}

void pipeline_wait(const pipeline *p)
{
    compute_error error = NULL;
    CHECK(compute_stream_sync(p->stream, NULL, 0, 0, COMPUTE_FOREVER, &error));
}

compute_status pipeline_read(const pipeline *p, int buffer, void *bytes, compute_error *out_error)
{
    compute_view view = { p->buffers[buffer], 0, COMPUTE_WHOLE };
    return compute_stream_read(p->stream, &view, bytes, p->buffer_sizes[buffer], out_error);
}
