/* Eight-bit PNG files in and out: libpng's simplified interface, which reports by return value rather than by longjmp. */
#include "png_io.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>

/* The text of libpng's message outlives the png_image that it came from. One program, one thread: static storage will do. */
static const char *keep_message(const png_image *png)
{
    static char kept[sizeof png->message];
    memcpy(kept, png->message, sizeof kept);
    return kept;
}

const char *png_read(const char *path, image *out)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&png, path)) return keep_message(&png);

    png.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(png));
    if (!pixels) {
        png_image_free(&png);
        return "out of memory";
    }
    if (!png_image_finish_read(&png, NULL, pixels, 0, NULL)) {
        free(pixels);
        return keep_message(&png);
    }
    out->width = png.width;
    out->height = png.height;
    out->channels = 4;
    out->pixels = pixels;
    return NULL;
}

const char *png_write(const char *path, const image *in)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    png.width = in->width;
    png.height = in->height;
    png.format = in->channels == 1 ? PNG_FORMAT_GRAY : in->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
    if (!png_image_write_to_file(&png, path, 0, in->pixels, 0, NULL)) return keep_message(&png);
    return NULL;
}
