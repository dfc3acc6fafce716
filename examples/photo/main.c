/* photo: a photograph through seven kernels, every stage checked against plain C; then two failures on purpose, and what the library says of them.
 *
 *     photo [OUT_DIR [DATA_DIR]]
 *
 * DATA_DIR holds photo.png and kernels/; the default is where this source lies. Exits with 0 only when every check passed. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libcompute/compute.h>

#include "pipeline.h"
#include "png_io.h"
#include "reference.h"
#include "report.h"

#ifndef PHOTO_DATA_DIR
#define PHOTO_DATA_DIR "examples/photo"
#endif

enum { RUNS = 15, MAX_PATH = 1024 };

static int failures;

static void verdict(int passed, const char *what)
{
    printf("  %-4s %s\n", passed ? "ok" : "BAD", what);
    failures += !passed;
}

static double now(void) /* milliseconds */
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, size_t count)
{
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

static void join(char *path, const char *folder, const char *name)
{
    if (snprintf(path, MAX_PATH, "%s/%s", folder, name) >= MAX_PATH) {
        fprintf(stderr, "%s: too long a path\n", folder);
        exit(1);
    }
}

static image load_photo(const char *folder)
{
    char path[MAX_PATH];
    image photo;
    join(path, folder, "photo.png");
    const char *problem = png_read(path, &photo);
    if (problem) {
        fprintf(stderr, "%s: %s\n", path, problem);
        exit(1);
    }
    return photo;
}

static void print_device(const pipeline *p)
{
    compute_error error = NULL;
    compute_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK(compute_device_get_info(p->device, &info, &error));
    printf("libcompute %s on %s: %s, target %s, %u units\n", compute_version(), info.backend, info.name, info.target, (unsigned)info.units);
}

static void upload(const pipeline *p, const image *photo)
{
    compute_error error = NULL;
    compute_view view = { p->buffers[BUFFER_PHOTO], 0, COMPUTE_WHOLE };
    CHECK(compute_stream_write(p->stream, &view, photo->pixels, p->buffer_sizes[BUFFER_PHOTO], &error));
}

static void *download(const pipeline *p, int buffer)
{
    compute_error error = NULL;
    void *bytes = malloc((size_t)p->buffer_sizes[buffer]);
    if (!bytes) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    CHECK(pipeline_read(p, buffer, bytes, &error));
    return bytes;
}

/* Compares one buffer with the reference. `tolerance` is the largest difference that is right; 0 means equal to the bit. */
static void compare(const pipeline *p, int buffer, const char *name, const void *expected, double tolerance)
{
    char line[160];
    double found;
    void *bytes = download(p, buffer);
    size_t count = (size_t)p->buffer_sizes[buffer] / 4;
    if (buffer == BUFFER_ROWS || buffer == BUFFER_BLURRED || buffer == BUFFER_EDGES) found = difference_floats(bytes, expected, count);
    else if (buffer == BUFFER_RESULT) found = difference_bytes(bytes, expected, count);
    else found = difference_words(bytes, expected, count);
    if (tolerance > 0.0) snprintf(line, sizeof line, "%-13s largest difference %.3g, allowed %.3g", name, found, tolerance);
    else snprintf(line, sizeof line, "%-13s %s", name, found > 0.0 ? "differs" : "equal to the bit");
    verdict(found <= tolerance, line);
    free(bytes);
}

static void compare_all(const pipeline *p, const reference *r)
{
    compare(p, BUFFER_LUMA, "luma", r->luma, 0.0);
    compare(p, BUFFER_ROWS, "blurred rows", r->rows, ROWS_TOLERANCE);
    compare(p, BUFFER_BLURRED, "blurred", r->blurred, BLUR_TOLERANCE);
    compare(p, BUFFER_EDGES, "edges", r->edges, EDGES_TOLERANCE);
    compare(p, BUFFER_COUNTS, "histogram", r->counts, 0.0);
    compare(p, BUFFER_TABLE, "table", r->table, 0.0);
    compare(p, BUFFER_RESULT, "result", r->result, RESULT_TOLERANCE);
}

static void save(const pipeline *p, int buffer, const char *folder, const char *name)
{
    char path[MAX_PATH];
    size_t pixels = (size_t)p->width * p->height;
    void *bytes = download(p, buffer);
    image out = { p->width, p->height, 1, NULL };
    if (buffer == BUFFER_RESULT) {
        out.channels = 4;
        out.pixels = bytes;
    } else { /* one word per pixel, integer or float, becomes one grey byte, in place */
        out.pixels = bytes;
        for (size_t i = 0; i < pixels; i++) {
            float level;
            uint32_t word;
            memcpy(&word, (uint8_t *)bytes + 4 * i, sizeof word);
            memcpy(&level, &word, sizeof level);
            if (buffer == BUFFER_LUMA) level = (float)word;
            out.pixels[i] = (uint8_t)(level > 255.0f ? 255.0f : level);
        }
    }
    join(path, folder, name);
    const char *problem = png_write(path, &out);
    if (problem) {
        fprintf(stderr, "%s: %s\n", path, problem);
        exit(1);
    }
    printf("  wrote %s\n", path);
    free(bytes);
}

/* The median of RUNS: each stage launched and waited for on its own, and the whole pipeline queued at once with one wait at its end. */
static void measure(const pipeline *p)
{
    compute_error error = NULL;
    static double times[STAGES + 1][RUNS];
    double megapixels = 1e-6 * p->width * p->height;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        pipeline_run(p);
        pipeline_wait(p);
        times[STAGES][run] = now() - start;
        for (int stage = 0; stage < STAGES; stage++) {
            start = now();
            CHECK(pipeline_launch(p, (enum stage)stage, &error));
            pipeline_wait(p);
            times[stage][run] = now() - start;
        }
    }
    printf("\n%-16s %10s %12s   (median of %d)\n", "stage", "ms", "megapixel/s", RUNS);
    for (int stage = 0; stage <= STAGES; stage++) {
        double ms = median(times[stage], RUNS);
        printf("%-16s %10.3f %12.0f\n", stage < STAGES ? stage_name((enum stage)stage) : "all, one wait", ms, 1e3 * megapixels / ms);
    }
}

/* Prints an error both ways and checks what it says without reading its text. */
static void show(compute_error error, compute_status root_status, uint32_t chain_count)
{
    compute_error_info info, root_info;
    compute_error root = NULL;
    memset(&info, 0, sizeof info);
    memset(&root_info, 0, sizeof root_info);
    info.struct_size = sizeof info;
    root_info.struct_size = sizeof root_info;
    compute_error_get_info(error, &info);
    if (compute_error_root(error, &root) == COMPUTE_OK) compute_error_get_info(root, &root_info);

    char *text = report_text(error, COMPUTE_FORMAT_TEXT), *json = report_text(error, COMPUTE_FORMAT_JSON);
    printf("\n%s\n\nthe same as JSON:\n%s\n\n", text ? text : "(no text)", json ? json : "(no JSON)");
    verdict(text && json, "the error explains itself");
    verdict(info.status == COMPUTE_ERROR_UNWRITTEN, "reading the result answers UNWRITTEN");
    verdict(root_info.status == root_status, "the root of it is what we broke");
    verdict(info.chain_count == chain_count, "the chain names every stage in between");
    free(text);
    free(json);
    compute_error_release(root);
}

/* First failure: a launch that is refused, and a program that does not look at the status. */
static void break_a_launch(pipeline *p, const reference *r, uint32_t *result)
{
    compute_error error = NULL;
    static const compute_status expected[STAGES] = {
        COMPUTE_OK, COMPUTE_ERROR_BINDING, COMPUTE_SKIPPED, COMPUTE_SKIPPED, COMPUTE_OK, COMPUTE_OK, COMPUTE_SKIPPED
    };
    int as_expected = 1;
    uint32_t zero = 0;
    compute_view counts = { p->buffers[BUFFER_COUNTS], 0, COMPUTE_WHOLE };

    printf("\nOn purpose: blur_rows gets a parameter block of 8 bytes, and nobody looks at the answers.\n\n");
    p->block_sizes[STAGE_BLUR_ROWS] = 8;
    CHECK(compute_stream_fill(p->stream, &counts, &zero, sizeof zero, &error));
    for (int stage = 0; stage < STAGES; stage++) {
        compute_status status = pipeline_launch(p, (enum stage)stage, NULL); /* an error object is optional */
        printf("  %-14s %s\n", stage_name((enum stage)stage), compute_status_name(status));
        as_expected &= status == expected[stage];
    }
    p->block_sizes[STAGE_BLUR_ROWS] = sizeof(blur_block);

    if (pipeline_read(p, BUFFER_RESULT, result, &error) >= 0) verdict(0, "the result was given out although it was not computed");
    else show(error, COMPUTE_ERROR_BINDING, 3);
    compute_error_release(error);
    verdict(as_expected, "what needs the blurred rows was skipped, and nothing else was");
    compare(p, BUFFER_TABLE, "table", r->table, 0.0);
}

/* Second failure: a kernel that reads out of bounds, caught by validate mode while it runs. */
static void break_a_kernel(pipeline *p, const char *kernels, uint32_t *result)
{
    compute_error error = NULL;
    compute_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK(compute_device_get_info(p->device, &info, &error));
    if (!(info.capabilities & COMPUTE_CAPABILITY_VALIDATE)) {
        printf("\n(This device cannot validate bounds: the second failure is left out.)\n");
        return;
    }
    printf("\nOn purpose: a blur that reads four rows too far, in validate mode.\n");
    compute_kernel good = p->kernels[STAGE_BLUR_COLUMNS];
    p->kernels[STAGE_BLUR_COLUMNS] = pipeline_compile(p, kernels, "blur_columns_broken", COMPUTE_BOUNDS_VALIDATE);
    pipeline_run(p); /* every launch is accepted: the failure comes later */
    if (pipeline_read(p, BUFFER_RESULT, result, &error) >= 0) verdict(0, "the result was given out although its input was out of bounds");
    else show(error, COMPUTE_ERROR_KERNEL_FAULT, 2);
    compute_error_release(error);
    compute_kernel_release(p->kernels[STAGE_BLUR_COLUMNS]);
    p->kernels[STAGE_BLUR_COLUMNS] = good;
}

int main(int argc, char **argv)
{
    const char *out = argc > 1 ? argv[1] : ".", *data = argc > 2 ? argv[2] : PHOTO_DATA_DIR;
    char kernels[MAX_PATH];
    join(kernels, data, "kernels");

    image photo = load_photo(data);
    pipeline p;
    pipeline_open(&p, kernels, photo.width, photo.height);
    print_device(&p);
    printf("photo.png: %u x %u, %.2f megapixels\n", (unsigned)photo.width, (unsigned)photo.height, 1e-6 * photo.width * photo.height);

    reference r;
    uint32_t *result = malloc((size_t)p.buffer_sizes[BUFFER_RESULT]);
    if (!result) return 1;
    double start = now();
    reference_run(&r, (const uint32_t *)(const void *)photo.pixels, &p.blur, &p.overlay);
    double plain = now() - start;

    upload(&p, &photo);
    pipeline_run(&p);
    printf("\nagainst plain C:\n");
    compare_all(&p, &r);
    printf("\n");
    save(&p, BUFFER_LUMA, out, "luma.png");
    save(&p, BUFFER_BLURRED, out, "blurred.png");
    save(&p, BUFFER_EDGES, out, "edges.png");
    save(&p, BUFFER_RESULT, out, "result.png");
    measure(&p);
    printf("%-16s %10.3f %12.0f\n", "plain C, once", plain, 1e-3 * photo.width * photo.height / plain);

    break_a_launch(&p, &r, result);
    break_a_kernel(&p, kernels, result);
    printf("\nRun again without the mistakes, over the same buffers:\n");
    pipeline_run(&p);
    compare_all(&p, &r);

    printf("\n%s\n", failures ? "photo: something does not match" : "photo: everything matches");
    free(result);
    free(photo.pixels);
    reference_free(&r);
    pipeline_close(&p);
    return failures ? 1 : 0;
}
