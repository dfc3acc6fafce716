#include "report.h"

#include <stdio.h>
#include <stdlib.h>

char *report_text(compute_error error, uint32_t form)
{
    /* Every text of the library comes by two calls: one that tells the size, NUL included, and one that fills it. */
    size_t needed = 0;
    compute_status status = compute_error_format(error, form, NULL, 0, &needed);
    if (status < 0 || needed == 0) return NULL;
    char *text = malloc(needed);
    if (text && compute_error_format(error, form, text, needed, &needed) != COMPUTE_OK) {
        free(text);
        text = NULL;
    }
    return text;
}

void report_and_exit(const char *file, int line, const char *call, compute_status status, compute_error error)
{
    char *text = report_text(error, COMPUTE_FORMAT_TEXT);
    fprintf(stderr, "%s:%d: %s\n%s: %s\n", file, line, call, compute_status_name(status), text ? text : "(no explanation)");
    free(text);
    compute_error_release(error);
    exit(1);
}
