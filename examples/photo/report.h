/* What a program does with a failed call: the part of this example that every program wants to copy. */
#ifndef PHOTO_REPORT_H
#define PHOTO_REPORT_H

#include <libcompute/compute.h>

/* Runs a call whose last argument is `&error` (a `compute_error error = NULL;` of the function that it stands in). Ends the program with the
 * library's own explanation when it fails. Positive statuses (skipped, timed out) are answers and not failures: they pass. */
#define CHECK(call)                                                                                                                    \
    do {                                                                                                                               \
        compute_status check_status = (call);                                                                                          \
        if (check_status < 0) report_and_exit(__FILE__, __LINE__, #call, check_status, error);                                         \
    } while (0)

/* Prints what failed, where and why, releases the error and exits with 1. */
void report_and_exit(const char *file, int line, const char *call, compute_status status, compute_error error);

/* The error as text (COMPUTE_FORMAT_TEXT) or as JSON (COMPUTE_FORMAT_JSON), NUL-terminated; the caller frees it. NULL without memory. */
char *report_text(compute_error error, uint32_t form);

#endif
