/* Eight-bit PNG files in and out, by libpng. Knows nothing of compute. */
#ifndef PHOTO_PNG_IO_H
#define PHOTO_PNG_IO_H

#include <stddef.h>
#include <stdint.h>

/* Rows from the top, no padding; `channels` bytes per pixel: 1 grey, 3 RGB, 4 RGBA. */
typedef struct image {
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    uint8_t *pixels;
} image;

/* Reads any PNG as RGBA. Returns NULL and fills `out` (free `out->pixels`), or returns what was wrong. */
const char *png_read(const char *path, image *out);

/* Writes an image. Returns NULL, or what was wrong. */
const char *png_write(const char *path, const image *in);

#endif
