/* The photo pipeline on a device: its kernels, its buffers and how the one runs on the other. Seven stages:
 *
 *   photo -> LUMA -> luma -> BLUR_ROWS -> rows -> BLUR_COLUMNS -> blurred -> SOBEL -> edges ----+
 *                      \---> HISTOGRAM -> counts -> EQUALISE -> table ---------------------------+-> OVERLAY -> result
 */
#ifndef PHOTO_PIPELINE_H
#define PHOTO_PIPELINE_H

#include <stdint.h>

#include <libcompute/compute.h>

enum stage { STAGE_LUMA, STAGE_BLUR_ROWS, STAGE_BLUR_COLUMNS, STAGE_SOBEL, STAGE_HISTOGRAM, STAGE_EQUALISE, STAGE_OVERLAY, STAGES };

enum { BUFFER_PHOTO, BUFFER_LUMA, BUFFER_ROWS, BUFFER_BLURRED, BUFFER_EDGES, BUFFER_COUNTS, BUFFER_TABLE, BUFFER_RESULT, BUFFERS };

enum { BINS = 256, BLUR_RADIUS = 4 };

/* The uniform blocks, byte for byte as the kernels declare them. */
typedef struct blur_block {
    uint32_t width;
    uint32_t height;
    uint32_t padding[2]; /* WGSL aligns the array of vec4 to 16 bytes */
    float weights[8];    /* by distance; 0 to BLUR_RADIUS are used */
} blur_block;

typedef struct overlay_block {
    uint32_t width;
    uint32_t height;
    float gain;
} overlay_block;

typedef struct pipeline {
    compute_device device;
    compute_stream stream;
    compute_kernel kernels[STAGES];
    compute_buffer buffers[BUFFERS];
    uint64_t buffer_sizes[BUFFERS];
    uint32_t width;
    uint32_t height;
    blur_block blur;
    overlay_block overlay;
    uint64_t block_sizes[STAGES]; /* bytes given to the stage's uniform block; 0 where it has none */
} pipeline;

/* Opens the first device, compiles the kernels in the folder `kernels` and makes all buffers. Ends the program when anything fails. */
void pipeline_open(pipeline *p, const char *kernels, uint32_t width, uint32_t height);
void pipeline_close(pipeline *p);

/* Compiles a WGSL file; `bounds` is COMPUTE_BOUNDS_... Ends the program when it fails. */
compute_kernel pipeline_compile(const pipeline *p, const char *folder, const char *name, uint32_t bounds);

/* Queues one stage. Answers as compute_stream_launch does, error object included. */
compute_status pipeline_launch(const pipeline *p, enum stage stage, compute_error *out_error);

/* Queues all stages, in order. Ends the program when one is refused. */
void pipeline_run(const pipeline *p);

/* Waits until everything queued is done. Ends the program when the device is lost. */
void pipeline_wait(const pipeline *p);

/* Copies a whole buffer to `bytes`; answers as compute_stream_read does. */
compute_status pipeline_read(const pipeline *p, int buffer, void *bytes, compute_error *out_error);

const char *stage_name(enum stage stage);

#endif
