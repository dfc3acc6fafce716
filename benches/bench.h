/* What the benchmarks in C share: clocks, medians, and the end at the first thing that is wrong. */
#ifndef COMPUTE_BENCH_H
#define COMPUTE_BENCH_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libcompute/compute.h>

enum { MAX_RUNS = 101 };

/* How often everything is measured. */
static int runs = 15;

static inline double nanoseconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static inline double now(void) { return nanoseconds_of(CLOCK_MONOTONIC); }
/* Of all threads of the process: what other work on the machine does not change. */
static inline double processor_time(void) { return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID); }

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Of `runs` values, which it sorts. */
static inline double median(double *values)
{
    qsort(values, (size_t)runs, sizeof *values, by_value);
    return values[runs / 2];
}

static inline void stop(const char *call, compute_status status, compute_error error)
{
    char text[4096] = "";
    size_t needed;
    if (error) (void)compute_error_format(error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed);
    fprintf(stderr, "%s: %s: %s\n", call, compute_status_name(status), text);
    _exit(1);
}
#define CHECK(call)                                                             \
    do {                                                                        \
        compute_error error = NULL;                                             \
        compute_status status_ = (call);                                        \
        if (status_ != COMPUTE_OK) stop(#call, status_, error);                 \
    } while (0)
#endif
