/* Stage by stage what the kernels do, in the simplest C. The integer stages (luma, counts, table) must agree to the bit. The float stages may differ,
 * because WGSL lets a device fuse a multiplication with an addition, and gives `sqrt` some slack. By how much follows from u = 2^-24, the most by
 * which one rounding is off relative to its value:
 *
 * - A blur pass adds nine products. Each term goes through at most 6 roundings (adding its pair, the weight, four sums), the weights add up to 1 and
 *   no value is above 255: off by 6 u 255 at most. Two computations can be off in opposite directions: twice that. The second pass takes over the
 *   error of the first (its weights add up to 1) and adds the same again.
 * - A Sobel mask weights eight values, by 8 in all: 8 times the blur's tolerance, and 3 roundings of terms that add up to at most 4 x 255, twice. The
 *   length of a vector changes by no more than sqrt(2) times its larger change; squares, sum and root add 8 u of at most 255 x 4 x sqrt(2), twice.
 * - The ink's share is counted in 256ths and can come out one apart when the edge strength lies at a step (the tolerance times gain times 256 is
 *   far below 1). That moves a colour by less than one level before it is cut to a byte: 1 level. */
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define U (1.0 / 16777216.0)
#define ROWS_BOUND (2.0 * 6.0 * U * 255.0)
#define BLUR_BOUND (2.0 * ROWS_BOUND)
#define EDGES_BOUND (1.415 * (8.0 * BLUR_BOUND + 2.0 * 3.0 * U * 1020.0) + 2.0 * 8.0 * U * 1443.0)

const double ROWS_TOLERANCE = ROWS_BOUND, BLUR_TOLERANCE = BLUR_BOUND, EDGES_TOLERANCE = EDGES_BOUND;

static int32_t clamp(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static void luma(reference *r, const uint32_t *photo)
{
    for (size_t i = 0; i < (size_t)r->width * r->height; i++) {
        uint32_t red = photo[i] & 0xff, green = photo[i] >> 8 & 0xff, blue = photo[i] >> 16 & 0xff;
        r->luma[i] = (54 * red + 183 * green + 19 * blue) >> 8;
    }
}

static void blur_rows(reference *r, const float *weights)
{
    int32_t width = (int32_t)r->width, height = (int32_t)r->height;
    for (int32_t y = 0; y < height; y++) {
        const uint32_t *row = r->luma + (size_t)y * r->width;
        for (int32_t x = 0; x < width; x++) {
            float sum = weights[0] * (float)row[x];
            for (int32_t d = 1; d <= BLUR_RADIUS; d++) {
                float before = (float)row[clamp(x - d, 0, width - 1)], after = (float)row[clamp(x + d, 0, width - 1)];
                sum += weights[d] * (before + after);
            }
            r->rows[(size_t)y * r->width + (size_t)x] = sum;
        }
    }
}

static void blur_columns(reference *r, const float *weights)
{
    int32_t width = (int32_t)r->width, height = (int32_t)r->height;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            float sum = weights[0] * r->rows[(size_t)y * r->width + (size_t)x];
            for (int32_t d = 1; d <= BLUR_RADIUS; d++) {
                float above = r->rows[(size_t)clamp(y - d, 0, height - 1) * r->width + (size_t)x];
                float below = r->rows[(size_t)clamp(y + d, 0, height - 1) * r->width + (size_t)x];
                sum += weights[d] * (above + below);
            }
            r->blurred[(size_t)y * r->width + (size_t)x] = sum;
        }
    }
}

static void sobel(reference *r)
{
    int32_t width = (int32_t)r->width, height = (int32_t)r->height;
    for (int32_t y = 0; y < height; y++) {
        const float *above = r->blurred + (size_t)clamp(y - 1, 0, height - 1) * r->width;
        const float *here = r->blurred + (size_t)y * r->width;
        const float *below = r->blurred + (size_t)clamp(y + 1, 0, height - 1) * r->width;
        for (int32_t x = 0; x < width; x++) {
            int32_t left = clamp(x - 1, 0, width - 1), right = clamp(x + 1, 0, width - 1);
            float across = (above[right] - above[left]) + 2.0f * (here[right] - here[left]) + (below[right] - below[left]);
            float down = (below[left] - above[left]) + 2.0f * (below[x] - above[x]) + (below[right] - above[right]);
            r->edges[(size_t)y * r->width + (size_t)x] = sqrtf(across * across + down * down);
        }
    }
}

static void histogram(reference *r)
{
    memset(r->counts, 0, sizeof r->counts);
    for (size_t i = 0; i < (size_t)r->width * r->height; i++) r->counts[r->luma[i] & 0xff]++;
}

static void equalise(reference *r)
{
    uint32_t sum = 0, total = r->width * r->height, darkest = r->counts[0];
    uint32_t range = total > darkest ? total - darkest : 1, scale = 1 + range / 0x1000000, most = range / scale ? range / scale : 1;
    for (int bin = 0; bin < BINS; bin++) {
        sum += r->counts[bin];
        uint32_t level = (sum - darkest) / scale * 255 / most;
        r->table[bin] = level > 255 ? 255 : level;
    }
}

static void overlay(reference *r, const uint32_t *photo, float gain)
{
    static const uint32_t ink_colour[3] = { 255, 150, 30 };
    for (size_t i = 0; i < (size_t)r->width * r->height; i++) {
        float share = r->edges[i] * gain;
        uint32_t ink = (uint32_t)((share > 1.0f ? 1.0f : share) * 256.0f), was = r->luma[i] ? r->luma[i] : 1, packed = 0xff000000u;
        for (unsigned c = 0; c < 3; c++) {
            uint32_t evened = (photo[i] >> 8 * c & 0xff) * r->table[was] / was;
            if (evened > 255) evened = 255;
            packed |= (evened * (256 - ink) + ink_colour[c] * ink) >> 8 << 8 * c;
        }
        r->result[i] = packed;
    }
}

void reference_run(reference *r, const uint32_t *photo, const blur_block *blur, const overlay_block *over)
{
    size_t pixels = (size_t)over->width * over->height;
    r->width = over->width;
    r->height = over->height;
    r->luma = allocate(pixels, sizeof *r->luma);
    r->rows = allocate(pixels, sizeof *r->rows);
    r->blurred = allocate(pixels, sizeof *r->blurred);
    r->edges = allocate(pixels, sizeof *r->edges);
    r->result = allocate(pixels, sizeof *r->result);
    luma(r, photo);
    blur_rows(r, blur->weights);
    blur_columns(r, blur->weights);
    sobel(r);
    histogram(r);
    equalise(r);
    overlay(r, photo, over->gain);
}

void reference_free(reference *r)
{
    free(r->luma);
    free(r->rows);
    free(r->blurred);
    free(r->edges);
    free(r->result);
}

uint32_t difference_words(const uint32_t *a, const uint32_t *b, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        if (d > most) most = d;
    }
    return most;
}

double difference_floats(const float *a, const float *b, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = isnan(d) ? INFINITY : d;
    }
    return most;
}

uint32_t difference_bytes(const uint32_t *a, const uint32_t *b, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        for (unsigned c = 0; c < 4; c++) {
            uint32_t left = a[i] >> 8 * c & 0xff, right = b[i] >> 8 * c & 0xff, d = left > right ? left - right : right - left;
            if (d > most) most = d;
        }
    }
    return most;
}
