/* What the rule tests share: a runner that gives every test a process of its own, assertions, and short names for the calls that all of them make.
 *
 * A test is a sentence that begins with its rule. It runs in a child process, so that a crash or a hang of one (a minute is the most) fails that one
 * alone; RULES_INLINE=1 runs them in one process, for a debugger. The parent never touches the library, so forking is allowed (F6).
 * The first argument of a test program selects the tests whose names contain it. RULES_BACKEND selects the device (default: cpu), RULES_SECONDS how
 * long a test may take (60). */
#ifndef RULES_H
#define RULES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libcompute/compute.h>

#define HELPER __attribute__((unused)) static
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MILLISECONDS UINT64_C(1000000)
#define SECONDS UINT64_C(1000000000)

/* ---- assertions: the first that fails ends its test ---- */

HELPER __thread compute_error last_error;
HELPER __thread int error_was_asked;

/* For the last argument of a call. The error is kept in `last_error` until the next call that uses E. Each thread has its own: one that ends while it has an error leaves that behind. */
#define E (fresh_error())
HELPER compute_error *fresh_error(void)
{
    compute_error_release(last_error);
    last_error = NULL;
    error_was_asked = 1;
    return &last_error;
}

HELPER void print_error(compute_error error)
{
    char text[4096];
    size_t needed = 0;
    if (error && compute_error_format(error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed) >= 0) fprintf(stderr, "    %s\n", text);
}

HELPER void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "  %s:%d: %s\n", file, line, what);
    print_error(last_error);
    fflush(NULL);
    _exit(1);
}

#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) fail(__FILE__, __LINE__, "not so: " #condition); \
    } while (0)

#define CHECK_EQ(left, right)                                                                                                     \
    do {                                                                                                                          \
        uint64_t left_ = (uint64_t)(left), right_ = (uint64_t)(right);                                                            \
        if (left_ != right_) {                                                                                                    \
            fprintf(stderr, "  %s = %llu, %s = %llu\n", #left, (unsigned long long)left_, #right, (unsigned long long)right_); \
            fail(__FILE__, __LINE__, "should be equal");                                                                          \
        }                                                                                                                         \
    } while (0)

/* The call answers exactly this status. With E: a negative status comes with an error object that has the same status, the others with none. */
#define IS(expected, call)                                                  \
    do {                                                                    \
        error_was_asked = 0;                                                \
        compute_status status_ = (call);                                    \
        check_status((expected), status_, #call, __FILE__, __LINE__);       \
    } while (0)
#define OK(call) IS(COMPUTE_OK, call)

/* The call answers some error of a block: 100 a mistake of the caller, 200 resources, 300 the device, 400 the kernel, 500 bytes without trust. */
#define IS_CLASS(hundred, call)                                                                                  \
    do {                                                                                                         \
        error_was_asked = 0;                                                                                     \
        compute_status status_ = (call);                                                                         \
        check_error_object(status_, #call, __FILE__, __LINE__);                                                  \
        if (status_ > -(hundred) || status_ <= -(hundred) - 100) {                                               \
            fprintf(stderr, "  %s answered %s\n", #call, compute_status_name(status_));                       \
            fail(__FILE__, __LINE__, "should be an error of the block -" #hundred);                              \
        }                                                                                                        \
    } while (0)

HELPER void check_error_object(compute_status status, const char *call, const char *file, int line)
{
    if (!error_was_asked) return;
    compute_error_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    if ((status < 0) != (last_error != NULL)) {
        fprintf(stderr, "  %s answered %s\n", call, compute_status_name(status));
        fail(file, line, status < 0 ? "an error without an error object" : "an error object without an error");
    }
    if (status < 0 && (compute_error_get_info(last_error, &info) != COMPUTE_OK || info.status != status)) {
        fprintf(stderr, "  %s answered %s, its error object says %s\n", call, compute_status_name(status), compute_status_name(info.status));
        fail(file, line, "status and error object should agree");
    }
}

HELPER void check_status(compute_status expected, compute_status status, const char *call, const char *file, int line)
{
    if (status != expected) {
        fprintf(stderr, "  %s answered %s, not %s\n", call, compute_status_name(status), compute_status_name(expected));
        fail(file, line, "wrong status");
    }
    check_error_object(status, call, file, line);
}

/* ---- the runner ---- */

#define TEST(name) static void name(void)
#define RUN(name) run_test(#name, name)

HELPER const char *test_filter;
HELPER int tests_passed, tests_failed;

HELPER void run_test(const char *name, void (*test)(void))
{
    if (test_filter && !strstr(name, test_filter)) return;
    int status = 0;
    fflush(NULL);
    if (getenv("RULES_INLINE")) {
        test();
    } else {
        pid_t child = fork();
        if (child == 0) {
            alarm(getenv("RULES_SECONDS") ? (unsigned)strtoul(getenv("RULES_SECONDS"), NULL, 10) : 60);
            test();
            fflush(NULL);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
    }
    if (status == 0) tests_passed++;
    else tests_failed++;
    if (status != 0 && WIFSIGNALED(status)) {
        printf("FAILED %s: signal %d%s\n", name, WTERMSIG(status), WTERMSIG(status) == 14 ? ", it hangs" : "");
    } else {
        printf("%s %s\n", status == 0 ? "ok    " : "FAILED", name);
    }
    fflush(stdout);
}

/* The last line of main: `return finish();` */
HELPER int finish(void)
{
    printf("%d passed, %d failed\n", tests_passed, tests_failed);
    return tests_failed || (!tests_passed && !test_filter) ? 1 : 0;
}

HELPER void begin(int argc, char **argv)
{
    if (argc > 1) test_filter = argv[1];
}

/* ---- the device under test ---- */

/* Whether the tests run on this device. */
HELPER int on(const char *backend)
{
    const char *mine = getenv("RULES_BACKEND");
    return strcmp(mine ? mine : "cpu", backend) == 0;
}

HELPER compute_device open_with(uint64_t flags, const void *next)
{
    compute_device device = NULL;
    compute_device_desc desc;
    compute_device_desc_init(&desc);
    desc.backend = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.flags = flags;
    desc.next = next;
    OK(compute_device_open(&desc, &device, E));
    CHECK(device != NULL);
    return device;
}
HELPER compute_device open_device(void) { return open_with(0, NULL); }

/* A device whose calls can be made to fail; none does until `compute_device_inject_fault`. */
HELPER compute_device open_faulty(void)
{
    compute_fault_desc fault;
    compute_fault_desc_init(&fault);
    fault.kind = COMPUTE_CHAINED_FAULT;
    fault.how = COMPUTE_FAULT_NONE;
    return open_with(0, &fault);
}

HELPER compute_device_info device_info(compute_device device)
{
    compute_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    OK(compute_device_get_info(device, &info, E));
    return info;
}

/* Whether rows at a pitch move in one call of the device: true of the cpu device, while wgpu has nothing of the kind. */
HELPER int moves_rows(void) { return !on("wgpu"); }

HELPER compute_stream make_stream(compute_device device)
{
    compute_stream stream = NULL;
    OK(compute_stream_create(device, NULL, &stream, E));
    CHECK(stream != NULL);
    return stream;
}

HELPER compute_buffer make_buffer_with(compute_device device, uint64_t size, const char *label, uint64_t flags)
{
    compute_buffer buffer = NULL;
    compute_buffer_desc desc;
    compute_buffer_desc_init(&desc);
    desc.size = size;
    desc.flags = flags;
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    OK(compute_buffer_create(device, &desc, &buffer, E));
    CHECK(buffer != NULL);
    return buffer;
}
HELPER compute_buffer make_buffer(compute_device device, uint64_t size, const char *label) { return make_buffer_with(device, size, label, 0); }

HELPER compute_view range(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view;
    memset(&view, 0, sizeof view);
    view.buffer = buffer;
    view.offset = offset;
    view.size = size;
    return view;
}
HELPER compute_view whole(compute_buffer buffer) { return range(buffer, 0, COMPUTE_WHOLE); }

HELPER compute_kernel_desc kernel_desc(const char *source, const char *label)
{
    compute_kernel_desc desc;
    compute_kernel_desc_init(&desc);
    desc.language = COMPUTE_LANGUAGE_WGSL;
    desc.source = source;
    desc.source_length = strlen(source);
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    return desc;
}

HELPER compute_kernel make_kernel_from(compute_device device, const compute_kernel_desc *desc)
{
    compute_kernel kernel = NULL;
    OK(compute_kernel_create(device, desc, &kernel, E));
    CHECK(kernel != NULL);
    return kernel;
}
HELPER compute_kernel make_kernel(compute_device device, const char *source)
{
    compute_kernel_desc desc = kernel_desc(source, "kernel");
    return make_kernel_from(device, &desc);
}

/* ---- launching ---- */

HELPER compute_binding bind_range(uint32_t slot, compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_binding binding;
    memset(&binding, 0, sizeof binding);
    binding.slot = slot;
    binding.buffer = buffer;
    binding.offset = offset;
    binding.size = size;
    return binding;
}
HELPER compute_binding bind(uint32_t slot, compute_buffer buffer) { return bind_range(slot, buffer, 0, COMPUTE_WHOLE); }
HELPER compute_binding bind_bytes(uint32_t slot, const void *bytes, uint64_t size)
{
    compute_binding binding;
    memset(&binding, 0, sizeof binding);
    binding.slot = slot;
    binding.data = bytes;
    binding.data_size = size;
    return binding;
}

HELPER compute_launch_desc launch_desc(compute_kernel kernel, uint32_t x, uint32_t y, uint32_t z, const compute_binding *bindings, size_t count)
{
    compute_launch_desc desc;
    compute_launch_desc_init(&desc);
    desc.kernel = kernel;
    desc.grid[0] = x;
    desc.grid[1] = y;
    desc.grid[2] = z;
    desc.bindings = bindings;
    desc.binding_count = count;
    return desc;
}

/* Launches over (x, 1, 1) workgroups. Usage: IS(COMPUTE_SKIPPED, launch(stream, kernel, 1, bindings, 2)). */
HELPER compute_status launch(compute_stream stream, compute_kernel kernel, uint32_t x, const compute_binding *bindings, size_t count)
{
    compute_launch_desc desc = launch_desc(kernel, x, 1, 1, bindings, count);
    return compute_stream_launch(stream, &desc, E);
}

/* Launches a kernel of one input (slot 0) and one output (slot 1), with a label. */
HELPER compute_status launch_io(compute_stream stream, compute_kernel kernel, const char *label, compute_buffer in, compute_buffer out, uint32_t x)
{
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc desc = launch_desc(kernel, x, 1, 1, bindings, 2);
    desc.label = label;
    desc.label_length = COMPUTE_NUL_TERMINATED;
    return compute_stream_launch(stream, &desc, E);
}

HELPER void put(compute_stream stream, compute_buffer buffer, uint64_t offset, const void *bytes, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    OK(compute_stream_write(stream, &view, bytes, size, E));
}
HELPER void put_word(compute_stream stream, compute_buffer buffer, uint64_t index, uint32_t word) { put(stream, buffer, 4 * index, &word, 4); }

HELPER compute_status get(compute_stream stream, compute_buffer buffer, uint64_t offset, void *bytes, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    return compute_stream_read(stream, &view, bytes, size, E);
}
HELPER uint32_t get_word(compute_stream stream, compute_buffer buffer, uint64_t index)
{
    uint32_t word = 0xdeadbeef;
    OK(get(stream, buffer, 4 * index, &word, 4));
    return word;
}
HELPER void fill_words(compute_stream stream, compute_buffer buffer, uint32_t word)
{
    compute_view view = whole(buffer);
    OK(compute_stream_fill(stream, &view, &word, 4, E));
}
HELPER void wait_for(compute_stream stream) { OK(compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E)); }

/* ---- what errors say ---- */

HELPER compute_error_info error_info(compute_error error)
{
    compute_error_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK(compute_error_get_info(error, &info) == COMPUTE_OK);
    return info;
}
HELPER compute_error_info last_info(void)
{
    CHECK(last_error != NULL);
    return error_info(last_error);
}
/* The root of the last error: itself where it has none besides. */
HELPER compute_error_info root_info(void)
{
    compute_error_info info = last_info();
    if (!info.has_root) return info;
    compute_error root = NULL;
    CHECK(compute_error_root(last_error, &root) == COMPUTE_OK && root != NULL);
    info = error_info(root);
    compute_error_release(root);
    return info;
}
HELPER compute_chain_entry chain_entry(uint32_t index)
{
    compute_chain_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.struct_size = sizeof entry;
    CHECK(compute_error_chain(last_error, index, &entry) == COMPUTE_OK);
    return entry;
}
/* Whether the last error's text has this in it. */
HELPER int error_says(const char *words)
{
    char text[8192];
    size_t needed = 0;
    CHECK(compute_error_format(last_error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed) == COMPUTE_OK);
    return strstr(text, words) != NULL;
}

/* The id of the failure that claims some of these bytes as far as is known now; 0: none. */
HELPER uint64_t claimed_by(compute_buffer buffer, uint64_t offset, uint64_t size)
{
    compute_view view = range(buffer, offset, size);
    compute_status status = compute_check(&view, 1, 0, E);
    if (status == COMPUTE_OK) return 0;
    CHECK(status == COMPUTE_ERROR_UNWRITTEN);
    CHECK(last_info().failure != 0);
    return last_info().failure;
}

/* ---- small things ---- */

HELPER uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECONDS + (uint64_t)t.tv_nsec;
}

/* A line "Name: N ..." of /proc/self/status. */
HELPER long proc_status(const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') value = atol(line + strlen(name) + 1);
    }
    fclose(file);
    CHECK(value >= 0);
    return value;
}
/* A sanitizer keeps freed memory for a while, to see whether somebody still uses it: so much more may be resident. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RSS_SLACK_KIB 32768
#endif
#endif
#if !defined(RSS_SLACK_KIB) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define RSS_SLACK_KIB 32768
#endif
#ifndef RSS_SLACK_KIB
#define RSS_SLACK_KIB 0
#endif
/* Time of this thread alone. */
HELPER uint64_t thread_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (uint64_t)now.tv_sec * SECONDS + (uint64_t)now.tv_nsec;
}
HELPER long rss_kib(void) { return proc_status("VmRSS"); }

HELPER uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* ---- kernels that many tests use; I is an input array of u32, O an output ---- */

#define IO "@group(0) @binding(0) var<storage, read> I: array<u32>;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
#define ID "@builtin(global_invocation_id) id: vec3<u32>"

/* O[i] = I[i] + 1 for every element of O: writes all of O, provably, when the grid is large enough. */
#define INCREMENT IO "@compute @workgroup_size(64) fn increment(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] + 1u; } }\n"
/* O[0] = I[0] + 1 and nothing else. */
#define INCREMENT_FIRST IO "@compute @workgroup_size(1) fn first() { O[0] = I[0] + 1u; }\n"
/* The same, with the amount from a uniform block at slot 2. */
#define ADD IO "@group(0) @binding(2) var<uniform> amount: vec4<u32>;\n" \
    "@compute @workgroup_size(64) fn add(" ID ") { if id.x < arrayLength(&O) { O[id.x] = I[id.x] + amount.x; } }\n"
/* Spins I[0] times and then stores I[1]: long work of a calibrated length. */
#define SPIN IO "@compute @workgroup_size(1) fn spin() { var x = I[1]; for (var n = 0u; n < I[0]; n += 1u) { x = x * 1664525u + 1013904223u; }\n" \
    "if x == 0xffffffffu { x = 1u; } O[0] = I[1]; O[1] = x; }\n"
/* Turns of SPIN, `most` of them or as many as take about a second. One invocation of a GPU needs several times as long as a processor, and through Vulkan, where each turn of
 * a loop is counted, many times: what takes a second here would take minutes there, in which no other program may have its turn. */
HELPER uint32_t turns_of(compute_device device, compute_stream stream, uint32_t most)
{
    const uint32_t some = 1000000;
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer in = make_buffer(device, 8, "turns"), out = make_buffer(device, 8, "result");
    uint64_t took = 0;
    for (int warm = 0; warm < 2; warm++) {
        put_word(stream, in, 0, warm ? some : 1);
        wait_for(stream);
        uint64_t start = now_ns();
        OK(launch_io(stream, spin, "a part of it", in, out, 1));
        wait_for(stream);
        took = now_ns() - start;
    }
    compute_kernel_release(spin);
    compute_buffer_release(in);
    compute_buffer_release(out);
    uint64_t turns = some * UINT64_C(1000000000) / (took ? took : 1);
    return turns < most ? (uint32_t)turns : most;
}
/* Whether loops on the device end when they should. Mesa's software Vulkan driver leaves them after 65,535 turns, so that no invocation works for long on it. */
HELPER int loops_end(compute_device device, compute_stream stream)
{
    const uint32_t turns = 200000;
    compute_buffer in = make_buffer(device, 8, "turns"), out = make_buffer(device, 8, "result");
    compute_kernel spin = make_kernel(device, SPIN);
    put_word(stream, in, 0, turns);
    put_word(stream, in, 1, 1);
    OK(launch_io(stream, spin, "loop", in, out, 1));
    uint32_t expected = 1, found = get_word(stream, out, 1);
    for (uint32_t n = 0; n < turns; n++) expected = expected * 1664525u + 1013904223u;
    compute_kernel_release(spin);
    compute_buffer_release(in);
    compute_buffer_release(out);
    if (found == expected) return 1;
    CHECK(getenv("RULES_BACKEND") != NULL);
    return 0;
}
HELPER int runs_long(compute_device device, compute_stream stream)
{
    if (loops_end(device, stream)) return 1;
    printf("  not tried: the driver of this device leaves long loops early\n");
    return 0;
}

/* Long work that every device does: launches that follow each other, of some 50 to 100 ms each, so that a GPU can go to others between two. Where loops end
 * when they should one invocation turns for long, else many workgroups do, each for less than 65,535 turns. The first word of `done` counts launches. */
#define SLOW IO "@compute @workgroup_size(1) fn slow(@builtin(workgroup_id) g: vec3<u32>) { var x = g.x;\n" \
    "for (var n = 0u; n < I[0]; n += 1u) { x = x * 1664525u + 1013904223u; }\nif x == 0xffffffffu { O[1] = x; }\nif g.x == 0u { O[0] += 1u; } }\n"
struct slow {
    compute_kernel kernel;
    compute_buffer turns, done;
    uint32_t groups;
    uint32_t launches; /* so far */
    uint64_t least;    /* nanoseconds that one takes */
};
HELPER uint64_t time_slow(struct slow *slow, compute_stream stream)
{
    wait_for(stream);
    uint64_t start = now_ns();
    OK(launch_io(stream, slow->kernel, "slow", slow->turns, slow->done, slow->groups));
    wait_for(stream);
    slow->launches++;
    return now_ns() - start;
}
HELPER struct slow make_slow(compute_device device, compute_stream stream)
{
    compute_device_info info = device_info(device);
    const int visible = (info.capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) != 0, end = loops_end(device, stream);
    struct slow slow = { make_kernel(device, SLOW), make_buffer(device, 8, "turns"),
        make_buffer_with(device, 8, "done", visible ? COMPUTE_BUFFER_FLAG_HOST_VISIBLE : 0), 1, 0, 0 };
    uint32_t turns = 60000;
    put_word(stream, slow.turns, 0, turns);
    fill_words(stream, slow.done, 0);
    /* The first launch may take long for other reasons. */
    time_slow(&slow, stream);
    while ((slow.least = time_slow(&slow, stream)) < 50 * MILLISECONDS) {
        if (end && turns < 2000000000) turns *= 2;
        else if (!end && slow.groups <= info.max_grid[0] / 2) slow.groups *= 2;
        else break;
        put_word(stream, slow.turns, 0, turns);
    }
    for (int again = 0; again < 2; again++) {
        uint64_t took = time_slow(&slow, stream);
        if (took < slow.least) slow.least = took;
    }
    return slow;
}
/* Queues so many that they take this long at least. */
HELPER void queue_slow(struct slow *slow, compute_stream stream, uint64_t ns)
{
    for (uint64_t left = ns / slow->least + 1; left > 0; left--) {
        OK(launch_io(stream, slow->kernel, "slow", slow->turns, slow->done, slow->groups));
        slow->launches++;
    }
}
#define COUNTER "@group(0) @binding(0) var<storage, read_write> C: atomic<u32>;\n@compute @workgroup_size(1) fn count() { atomicAdd(&C, 1u); }\n"

/* Makes all bytes of `buffer` claimed by a refused launch (ADD without enough inline bytes) whose input is `scratch`. Answers the failure's id. */
HELPER uint64_t claim_all(compute_stream stream, compute_kernel add, compute_buffer scratch, compute_buffer buffer)
{
    uint32_t amount = 1;
    compute_binding bindings[3] = { bind(0, scratch), bind(1, buffer), bind_bytes(2, &amount, 4) };
    IS_CLASS(100, launch(stream, add, 64, bindings, 3));
    uint64_t failure = claimed_by(buffer, 0, COMPUTE_WHOLE);
    CHECK(failure != 0);
    return failure;
}

#endif
