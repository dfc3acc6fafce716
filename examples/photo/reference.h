/* The same pipeline in plain C, one loop per stage, and the comparisons that the demo's verdict rests on. Knows nothing of the library. */
#ifndef PHOTO_REFERENCE_H
#define PHOTO_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "pipeline.h" /* for the parameter blocks only */

typedef struct reference {
    uint32_t width;
    uint32_t height;
    uint32_t *luma;
    float *rows;
    float *blurred;
    float *edges;
    uint32_t counts[BINS];
    uint32_t table[BINS];
    uint32_t *result;
} reference;

/* Computes every stage from packed RGBA pixels. Ends the program without memory. Free with reference_free. */
void reference_run(reference *r, const uint32_t *photo, const blur_block *blur, const overlay_block *overlay);
void reference_free(reference *r);

/* How far apart two correct computations can be, with the reasons in reference.c. */
extern const double ROWS_TOLERANCE, BLUR_TOLERANCE, EDGES_TOLERANCE;
enum { RESULT_TOLERANCE = 1 };

/* The largest difference of two arrays: of words, of floats (infinite where one is no number), of the four bytes of each word. */
uint32_t difference_words(const uint32_t *a, const uint32_t *b, size_t count);
double difference_floats(const float *a, const float *b, size_t count);
uint32_t difference_bytes(const uint32_t *a, const uint32_t *b, size_t count);

#endif
