/* PKG-01, PKG-02 and F6: the library as a guest in a process that loads it, forks, exits and unloads when it likes. The program is not linked to the library:
 * it opens it by the path in COMPUTE_LIBRARY, and takes the functions from the table. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libcompute/compute.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "  %s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            fflush(NULL);                                                             \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

static const char *library_path;
static compute_table api;
static void *library;

static void load(void)
{
    library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "  %s\n", dlerror());
    CHECK(library != NULL);
    compute_status (*get_table)(uint32_t, void *, size_t, size_t *, compute_error *);
    *(void **)&get_table = dlsym(library, "compute_get_table");
    size_t needed = 0;
    CHECK(get_table && get_table(COMPUTE_ABI, &api, sizeof api, &needed, NULL) == COMPUTE_OK);
    CHECK(needed == sizeof api && api.struct_size == sizeof api && api.abi == COMPUTE_ABI);
}

static int entries(const char *folder)
{
    int count = 0;
    DIR *directory = opendir(folder);
    CHECK(directory != NULL);
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}
static int threads(void) { return entries("/proc/self/task"); }

/* ---- something to do ---- */

static const char SPIN[] =
    "@group(0) @binding(0) var<storage, read> I: array<u32>;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    "@compute @workgroup_size(1) fn spin(@builtin(workgroup_id) w: vec3<u32>) {\n"
    "  var x = I[1] + w.x;\n  for (var n = 0u; n < I[0]; n += 1u) { x = x * 1664525u + 1013904223u; }\n"
    "  if w.x == 0u { O[0] = I[1] * 2u; O[1] = x; }\n}\n";

typedef struct {
    compute_device device;
    compute_stream stream;
    compute_kernel kernel;
    compute_buffer in, out;
} session;

static compute_buffer make_buffer(session *s, uint64_t size)
{
    compute_buffer buffer = NULL;
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    CHECK(api.buffer_create(s->device, &desc, &buffer, NULL) == COMPUTE_OK);
    return buffer;
}

static session open_session(void)
{
    session s = { NULL, NULL, NULL, NULL, NULL };
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    CHECK(api.device_open(&desc, &s.device, NULL) == COMPUTE_OK);
    CHECK(api.stream_create(s.device, NULL, &s.stream, NULL) == COMPUTE_OK);
    compute_kernel_desc source = COMPUTE_KERNEL_DESC_INIT;
    source.language = COMPUTE_LANGUAGE_WGSL;
    source.source = SPIN;
    source.source_length = sizeof SPIN - 1;
    CHECK(api.kernel_create(s.device, &source, &s.kernel, NULL) == COMPUTE_OK);
    s.in = make_buffer(&s, 8);
    s.out = make_buffer(&s, 8);
    return s;
}

/* Work of about a second on two cores for a million spins, of microseconds for one. */
static void enqueue(session *s, uint32_t spins, uint32_t groups)
{
    uint32_t input[2] = { spins, 21 };
    compute_view in = { s->in, 0, COMPUTE_WHOLE };
    compute_binding bindings[2];
    memset(bindings, 0, sizeof bindings);
    bindings[0].buffer = s->in;
    bindings[1].slot = 1;
    bindings[1].buffer = s->out;
    bindings[0].size = bindings[1].size = COMPUTE_WHOLE;
    compute_launch_desc desc = COMPUTE_LAUNCH_DESC_INIT;
    desc.kernel = s->kernel;
    desc.grid[0] = groups;
    desc.grid[1] = desc.grid[2] = 1;
    desc.bindings = bindings;
    desc.binding_count = 2;
    CHECK(api.stream_write(s->stream, &in, input, sizeof input, NULL) == COMPUTE_OK);
    CHECK(api.stream_launch(s->stream, &desc, NULL) == COMPUTE_OK);
}
static void enqueue_long(session *s) { enqueue(s, 1000000, 1000); }

static void use(session *s)
{
    uint32_t output[2] = { 0, 0 };
    compute_view out = { s->out, 0, COMPUTE_WHOLE };
    enqueue(s, 1, 4);
    CHECK(api.stream_read(s->stream, &out, output, sizeof output, NULL) == COMPUTE_OK);
    CHECK(output[0] == 42);
}

static void close_session(session *s)
{
    api.buffer_release(s->in);
    api.buffer_release(s->out);
    api.kernel_release(s->kernel);
    api.stream_release(s->stream);
    api.device_release(s->device);
}

/* ---- the runner: every test many times, each time in a process of its own whose exit status must be 0 ---- */

static int passed, failed;
static const char *filter;

static void run(const char *name, void (*test)(void), int times)
{
    if (filter && !strstr(name, filter)) return;
    int status = 0;
    for (int i = 0; i < times && status == 0; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            test();
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
    }
    if (status == 0) passed++;
    else failed++;
    printf("%s %s", status == 0 ? "ok    " : "FAILED", name);
    if (status > 0 && WIFSIGNALED(status)) printf(": signal %d", WTERMSIG(status));
    printf("\n");
    fflush(stdout);
}
#define RUN(times, name) run(#name, name, times)

/* ---- tests ---- */

static void pkg_01_the_library_loads_lists_and_works_with_nothing_but_libc(void)
{
    load();
    size_t count = 0, needed = 0;
    char report[4096];
    CHECK(api.devices_list(NULL, NULL, 0, 0, &count, NULL) == COMPUTE_OK && count >= 1);
    CHECK(api.drivers_report(report, sizeof report, &needed, NULL) == COMPUTE_OK && strstr(report, "\"backend\":\"cpu\""));
    session s = open_session();
    use(&s);
    close_session(&s);
}

static void no_thread_and_no_descriptor_before_a_device_is_opened(void)
{
    int before = entries("/proc/self/fd");
    load();
    size_t count = 0;
    CHECK(api.devices_list(NULL, NULL, 0, 0, &count, NULL) == COMPUTE_OK);
    CHECK(threads() == 1 && entries("/proc/self/fd") == before);
}

static void pkg_02_exit_with_work_running(void)
{
    load();
    session s = open_session();
    enqueue_long(&s);
}

static void pkg_02_return_from_main_thread_with_everything_released_and_work_running(void)
{
    load();
    session s = open_session();
    enqueue_long(&s);
    close_session(&s);
}

/* Its threads, and what the system calls at a fork, outlive the last handle. The null device has no threads, which alone would keep the library with some loaders. */
static void pkg_02_what_has_opened_a_device_stays_loaded(void)
{
    load();
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "null";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    compute_device device = NULL;
    CHECK(api.device_open(&desc, &device, NULL) == COMPUTE_OK);
    api.device_release(device);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(library_path, RTLD_NOW | RTLD_NOLOAD) != NULL);
    CHECK(api.check_abi(COMPUTE_ABI, NULL) == COMPUTE_OK);
}

static void pkg_02_load_use_and_unload_a_hundred_times(void)
{
    for (int i = 0; i < 100; i++) {
        load();
        session s = open_session();
        use(&s);
        if (i % 3 == 0) enqueue(&s, 1000, 100);
        close_session(&s);
        CHECK(dlclose(library) == 0);
    }
}

/* On the GPU device, as it is its driver that must not be inside of when it takes itself down. Each kernel is another, so that none is found compiled. */
enum { BACKGROUND = 64 };
static compute_kernel compiling[BACKGROUND];
static int compiled(void)
{
    int count = 0;
    for (int i = 0; i < BACKGROUND; i++) count += api.kernel_poll(compiling[i], NULL) == COMPUTE_OK;
    return count;
}
static struct timespec left;
static void nothing_is_compiled_any_more(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - left.tv_sec >= 2) {
        /* The end waits for two seconds at most. */
        printf("       one kernel takes so long to compile here that the end of the process did not wait for it\n");
        return;
    }
    int before = compiled();
    struct timespec pause = { 0, 500000000L };
    nanosleep(&pause, NULL);
    int after = compiled();
    if (before != after) fprintf(stderr, "  %d of %d were compiled when the process ended, and then %d\n", before, BACKGROUND, after);
    CHECK(before == after);
}
static void pkg_02_at_the_end_of_the_process_no_thread_compiles_for_a_gpu_any_more(void)
{
    /* Before the library is loaded, so that it runs after what the library does at the end. */
    atexit(nothing_is_compiled_any_more);
    load();
    compute_device device = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "wgpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    if (api.device_open(&desc, &device, NULL) != COMPUTE_OK) {
        printf("       without a GPU, or a driver that stands in for one, nothing is compiled here\n");
        return;
    }
    /* One source, so that making the kernels takes less time than compiling them. */
    static char text[1 << 16];
    size_t length = (size_t)snprintf(text, sizeof text,
        "@group(0) @binding(0) var<storage, read_write> O: array<f32>;\nfn f(y: f32) -> f32 {\n  var x = y;\n");
    for (int line = 0; line < 5; line++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "  for (var n = 0u; n < %du; n += 1u) { x = sin(x) * O[n] + cos(x); }\n", line + 3);
    }
    length += (size_t)snprintf(text + length, sizeof text - length, "  return x;\n}\n");
    for (int i = 0; i < BACKGROUND; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "@compute @workgroup_size(%d) fn k%02d() { O[0] = f(%d.0); }\n", i + 1, i, i);
    }
    for (int i = 0; i < BACKGROUND; i++) {
        char entry[8];
        compute_kernel_desc source = COMPUTE_KERNEL_DESC_INIT;
        source.language = COMPUTE_LANGUAGE_WGSL;
        source.source = text;
        source.source_length = length;
        source.entry = entry;
        source.entry_length = (size_t)snprintf(entry, sizeof entry, "k%02d", i);
        source.compile = COMPUTE_COMPILE_BACKGROUND;
        CHECK(api.kernel_create(device, &source, &compiling[i], NULL) == COMPUTE_OK);
    }
    while (compiled() == 0) usleep(200);
    clock_gettime(CLOCK_MONOTONIC, &left);
}

static session shared;
static void release_at_exit(void)
{
    close_session(&shared);
    compute_error error = NULL;
    CHECK(api.device_status(shared.device, &error) == COMPUTE_ERROR_INVALID_HANDLE && error);
    api.error_release(error);
}
static void pkg_02_an_exit_handler_releases(void)
{
    load();
    shared = open_session();
    use(&shared);
    enqueue_long(&shared);
    atexit(release_at_exit);
}

/* Registered before the library is loaded, so that it runs after everything that the library could have registered. */
static void pkg_02_an_exit_handler_from_before_the_library_was_loaded_releases(void)
{
    atexit(release_at_exit);
    load();
    shared = open_session();
    enqueue_long(&shared);
}

static pthread_key_t key;
static void release_session(void *value)
{
    session *s = (session *)value;
    close_session(s);
    free(s);
}
static void *use_and_leave(void *unused)
{
    session *s = (session *)malloc(sizeof *s);
    *s = open_session();
    use(s);
    pthread_setspecific(key, s);
    return unused;
}
static void ffi_01_a_thread_that_exits_releases_from_its_destructor(void)
{
    load();
    CHECK(pthread_key_create(&key, release_session) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_and_leave, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
}

static pthread_barrier_t barrier;
static void *use_while_main_unloads(void *unused)
{
    session s = open_session();
    use(&s);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    use(&s);
    close_session(&s);
    return unused;
}
static void pkg_02_main_unloads_while_a_thread_uses_the_library(void)
{
    pthread_t thread;
    load();
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && pthread_create(&thread, NULL, use_while_main_unloads, NULL) == 0);
    pthread_barrier_wait(&barrier);
    CHECK(dlclose(library) == 0);
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void *exit_now(void *unused)
{
    (void)unused;
    session s = open_session();
    enqueue_long(&s);
    exit(0);
}
static void pkg_02_a_second_thread_exits_the_process(void)
{
    pthread_t thread;
    load();
    CHECK(pthread_create(&thread, NULL, exit_now, NULL) == 0);
    for (;;) pause();
}

static void thr_03_all_work_on_a_thread_that_is_not_the_main_one(void)
{
    pthread_t thread;
    load();
    CHECK(pthread_key_create(&key, release_session) == 0);
    CHECK(pthread_create(&thread, NULL, use_and_leave, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* ---- F6 ---- */

static int in_child(int (*body)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        exit(body());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static int child_after_enumeration(void)
{
    size_t count = 0;
    if (api.devices_list(NULL, NULL, 0, 0, &count, NULL) != COMPUTE_OK || count < 1) return 1;
    session s = open_session();
    use(&s);
    close_session(&s);
    return 0;
}
static void f6_a_child_of_an_enumeration_may_use_the_library(void)
{
    load();
    size_t count = 0;
    CHECK(api.devices_list(NULL, NULL, 0, 0, &count, NULL) == COMPUTE_OK);
    CHECK(in_child(child_after_enumeration) == 0);
}

static compute_error held;
static compute_event pending;

#define FORKED(call)                                                                         \
    do {                                                                                     \
        error = held;                                                                        \
        if ((call) != COMPUTE_ERROR_FORKED) return fprintf(stderr, "  %s\n", #call), 1;      \
        if (error != NULL) return fprintf(stderr, "  %s made an error object\n", #call), 1; \
    } while (0)
#define FORKED_PLAIN(call)                                                              \
    do {                                                                                \
        if ((call) != COMPUTE_ERROR_FORKED) return fprintf(stderr, "  %s\n", #call), 1; \
    } while (0)

static int every_call_in_the_child(void)
{
    compute_error error;
    session *s = &shared;
    uint64_t number = 0;
    size_t count = 0;
    uint32_t index = 0;
    int32_t fd = 0;
    unsigned char bytes[8] = { 0 };
    compute_view view = { s->in, 0, 8 };
    compute_device device = NULL;
    compute_stream stream = NULL;
    compute_buffer buffer = NULL;
    compute_kernel kernel = NULL;
    compute_event event = NULL;
    compute_device_desc device_desc = COMPUTE_DEVICE_DESC_INIT;
    compute_buffer_desc buffer_desc = COMPUTE_BUFFER_DESC_INIT;
    compute_kernel_desc kernel_desc = COMPUTE_KERNEL_DESC_INIT;
    compute_launch_desc launch = COMPUTE_LAUNCH_DESC_INIT;
    compute_device_info device_info = COMPUTE_DEVICE_INFO_INIT;
    compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
    compute_kernel_info kernel_info = COMPUTE_KERNEL_INFO_INIT;
    compute_binding_info binding_info = COMPUTE_BINDING_INFO_INIT;
    compute_override_info override_info = COMPUTE_OVERRIDE_INFO_INIT;
    compute_error_info error_info = COMPUTE_ERROR_INFO_INIT;
    compute_chain_entry entry = COMPUTE_CHAIN_ENTRY_INIT;
    compute_table table;
    char text[16];
    FORKED(api.check_abi(COMPUTE_ABI, &error));
    FORKED(api.log_set(NULL, NULL, 0, &error));
    compute_status (*get_table)(uint32_t, void *, size_t, size_t *, compute_error *);
    *(void **)&get_table = dlsym(library, "compute_get_table");
    FORKED(get_table(COMPUTE_ABI, &table, sizeof table, NULL, &error));
    FORKED(api.devices_list(NULL, NULL, 0, 0, &count, &error));
    FORKED(api.drivers_report(text, sizeof text, &count, &error));
    FORKED(api.device_open(&device_desc, &device, &error));
    FORKED(api.device_retain(s->device, &error));
    FORKED(api.device_destroy(s->device, &error));
    FORKED(api.device_get_info(s->device, &device_info, &error));
    FORKED(api.device_status(s->device, &error));
    FORKED(api.device_set_queues(s->device, 1, &error));
    FORKED(api.device_lock(s->device, &error));
    FORKED(api.device_unlock(s->device, &error));
    FORKED(api.device_memory_usage(s->device, &usage, &error));
    FORKED(api.device_cleanup(s->device, &error));
    FORKED(api.stream_cleanup(s->stream, &error));
    FORKED(api.device_compile_queued(s->device, &error));
    uint32_t grid[3];
    FORKED(api.device_spread_workgroups(s->device, 1, 0, grid, &number, &error));
    FORKED(api.device_get_workgroup_size(s->device, 1, grid, &error));
    FORKED(api.device_get_vector_widths(s->device, 4, grid, 3, &count, &error));
    FORKED(api.kernel_poll(s->kernel, &error));
    FORKED(api.kernel_wait(s->kernel, 0, &error));
    FORKED(api.device_inject_fault(s->device, 1, 1, &error));
    FORKED(api.device_fault_calls(s->device, &number, &error));
    FORKED(api.stream_create(s->device, NULL, &stream, &error));
    FORKED(api.stream_retain(s->stream, &error));
    FORKED(api.stream_destroy(s->stream, &error));
    FORKED(api.stream_launch(s->stream, &launch, &error));
    FORKED(api.stream_write(s->stream, &view, bytes, 8, &error));
    FORKED(api.stream_write_borrowed(s->stream, &view, bytes, 8, &event, &error));
    FORKED(api.stream_read(s->stream, &view, bytes, 8, &error));
    FORKED(api.stream_read_async(s->stream, &view, bytes, 8, &event, &error));
    FORKED(api.stream_copy(s->stream, &view, &view, &error));
    FORKED(api.stream_fill(s->stream, &view, bytes, 4, &error));
    FORKED(api.stream_record(s->stream, &event, &error));
    FORKED(api.stream_wait_event(s->stream, pending, &error));
    FORKED(api.stream_flush(s->stream, &error));
    FORKED(api.stream_sync(s->stream, NULL, 0, 0, COMPUTE_FOREVER, &error));
    FORKED(api.buffer_create(s->device, &buffer_desc, &buffer, &error));
    compute_import_desc import_desc = COMPUTE_IMPORT_DESC_INIT;
    FORKED(api.stream_wait_native(s->stream, COMPUTE_NATIVE_CUDA_EVENT, 1, &error));
    FORKED(api.stream_record_native(s->stream, COMPUTE_NATIVE_CUDA_EVENT, 1, &error));
    FORKED(api.buffer_import(s->device, &import_desc, &buffer, &error));
    FORKED(api.buffer_retain(s->in, &error));
    FORKED(api.buffer_destroy(s->in, &error));
    FORKED(api.buffer_get_size(s->in, &number, &error));
    FORKED(api.buffer_get_id(s->in, &number, &error));
    FORKED(api.check(&view, 1, 0, &error));
    FORKED(api.reinstate(&view, 1, &number, &error));
    FORKED(api.kernel_create(s->device, &kernel_desc, &kernel, &error));
    FORKED(api.kernel_retain(s->kernel, &error));
    FORKED(api.kernel_destroy(s->kernel, &error));
    FORKED(api.kernel_get_info(s->kernel, &kernel_info, &error));
    FORKED(api.kernel_get_binding(s->kernel, 0, &binding_info, &error));
    FORKED(api.kernel_get_override(s->kernel, 0, &override_info, &error));
    FORKED(api.kernel_find_binding(s->kernel, "I", 1, &index, &error));
    FORKED(api.event_retain(pending, &error));
    FORKED(api.event_destroy(pending, &error));
    FORKED(api.event_poll(pending, &error));
    FORKED(api.event_wait(pending, COMPUTE_FOREVER, &error));
    FORKED(api.events_wait_any(&pending, 1, COMPUTE_FOREVER, &count, &error));
    FORKED(api.events_wait_all(&pending, 1, COMPUTE_FOREVER, &error));
    FORKED(api.event_on_complete(pending, NULL, NULL, 0, &error));
    FORKED(api.event_get_fd(pending, &fd, &error));
    FORKED(api.event_get_time(pending, &number, &error));
    FORKED_PLAIN(api.error_retain(held));
    FORKED_PLAIN(api.error_get_info(held, &error_info));
    FORKED_PLAIN(api.error_message(held, text, sizeof text, &count));
    FORKED_PLAIN(api.error_label(held, text, sizeof text, &count));
    FORKED_PLAIN(api.error_kernel(held, text, sizeof text, &count));
    FORKED_PLAIN(api.error_driver_name(held, text, sizeof text, &count));
    FORKED_PLAIN(api.error_format(held, 0, text, sizeof text, &count));
    FORKED_PLAIN(api.error_root(held, &error));
    FORKED_PLAIN(api.error_chain(held, 0, &entry));
    FORKED_PLAIN(api.error_member(held, 0, &error));
    FORKED_PLAIN(api.error_diagnostic(held, 0, NULL, NULL, text, sizeof text, &count));
    close_session(s);
    api.event_release(pending);
    api.error_release(held);
    return strcmp(api.version(), "") == 0 || strcmp(api.status_name(COMPUTE_OK), "COMPUTE_OK") != 0;
}

static volatile int busy = 1;
static void *keep_locks_busy(void *unused)
{
    while (busy) {
        compute_error error = NULL;
        session s = shared;
        compute_buffer buffer = make_buffer(&s, 4096);
        api.buffer_release(buffer);
        CHECK(api.device_status(NULL, &error) < 0);
        api.error_release(error);
    }
    return unused;
}

static void f6_every_call_in_a_child_of_a_user_answers_forked_and_the_parent_goes_on(void)
{
    load();
    shared = open_session();
    use(&shared);
    CHECK(api.device_status(NULL, &held) < 0 && held);
    pthread_t others[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&others[i], NULL, keep_locks_busy, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        enqueue(&shared, 10000, 100);
        CHECK(api.stream_record(shared.stream, &pending, NULL) == COMPUTE_OK);
        CHECK(in_child(every_call_in_the_child) == 0);
        CHECK(api.event_wait(pending, COMPUTE_FOREVER, NULL) == COMPUTE_OK);
        api.event_release(pending);
        use(&shared);
    }
    busy = 0;
    for (int i = 0; i < 2; i++) CHECK(pthread_join(others[i], NULL) == 0);
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    CHECK(api.error_get_info(held, &info) == COMPUTE_OK && info.status == COMPUTE_ERROR_INVALID_HANDLE);
    close_session(&shared);
}

/* ---- out of memory ---- */

static compute_error hoard[1 << 20];

static void f2_without_memory_for_an_error_object_there_is_one_made_in_advance(void)
{
    load();
    session s = open_session();
    use(&s);
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    struct rlimit old, tight;
    CHECK(getrlimit(RLIMIT_AS, &old) == 0);
    tight = old;
    tight.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (16UL << 20);
    CHECK(setrlimit(RLIMIT_AS, &tight) == 0);
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    size_t count = 0;
    while (count < sizeof hoard / sizeof *hoard && info.status != COMPUTE_ERROR_OUT_OF_MEMORY) {
        compute_status status = api.device_status(NULL, &hoard[count]);
        CHECK(status == COMPUTE_ERROR_INVALID_HANDLE || status == COMPUTE_ERROR_OUT_OF_MEMORY);
        CHECK(hoard[count] && api.error_get_info(hoard[count], &info) == COMPUTE_OK);
        count++;
    }
    char text[128];
    CHECK(info.status == COMPUTE_ERROR_OUT_OF_MEMORY && info.reclaimable == 1);
    CHECK(api.error_retain(hoard[count - 1]) == COMPUTE_OK);
    while (count > 0) api.error_release(hoard[--count]);
    CHECK(setrlimit(RLIMIT_AS, &old) == 0);
    CHECK(api.device_status(NULL, &hoard[0]) == COMPUTE_ERROR_INVALID_HANDLE);
    CHECK(api.error_message(hoard[0], text, sizeof text, NULL) == COMPUTE_OK && strstr(text, "NULL"));
    api.error_release(hoard[0]);
    use(&s);
    close_session(&s);
}

/* ---- the table ---- */

static void the_table_fits_older_and_newer_hosts(void)
{
    load();
    compute_status (*get_table)(uint32_t, void *, size_t, size_t *, compute_error *);
    *(void **)&get_table = dlsym(library, "compute_get_table");
    void **slots = (void **)calloc(sizeof api / sizeof(void *) + 8, sizeof(void *));
    size_t needed = 0;
    CHECK(get_table(COMPUTE_ABI, NULL, 0, &needed, NULL) == COMPUTE_OK && needed == sizeof api);
    for (size_t size = 8; size <= sizeof api + 64; size++) {
        memset(slots, 0xee, sizeof api + 64);
        CHECK(get_table(COMPUTE_ABI, slots, size, &needed, NULL) == COMPUTE_OK);
        size_t whole = (size < sizeof api ? size : sizeof api) / 8 * 8;
        CHECK(memcmp((unsigned char *)slots + 8, (unsigned char *)&api + 8, whole - 8) == 0);
        for (size_t i = whole; i < size; i++) CHECK(((unsigned char *)slots)[i] == 0);
        for (size_t i = size; i < sizeof api + 64; i++) CHECK(((unsigned char *)slots)[i] == 0xee);
    }
    /* Every field is the exported function of its name. */
    void *version = NULL;
    memcpy(&version, (unsigned char *)&api + offsetof(compute_table, version), sizeof version);
    CHECK(version == dlsym(library, "compute_version"));
    for (size_t i = 1; i < sizeof api / 8; i++) CHECK(((void **)&api)[i] != NULL);
    free(slots);
}

int main(int argc, char **argv)
{
    library_path = getenv("COMPUTE_LIBRARY");
    if (!library_path) library_path = "build/libcompute.so";
    int times = getenv("PROCESS_RUNS") ? atoi(getenv("PROCESS_RUNS")) : 200;
    if (argc > 1) filter = argv[1];
    RUN(1, pkg_01_the_library_loads_lists_and_works_with_nothing_but_libc);
    RUN(1, no_thread_and_no_descriptor_before_a_device_is_opened);
    RUN(times, pkg_02_exit_with_work_running);
    RUN(times, pkg_02_return_from_main_thread_with_everything_released_and_work_running);
    RUN(times < 10 ? times : 10, pkg_02_at_the_end_of_the_process_no_thread_compiles_for_a_gpu_any_more);
    RUN(1, pkg_02_what_has_opened_a_device_stays_loaded);
    RUN(1, pkg_02_load_use_and_unload_a_hundred_times);
    RUN(times, pkg_02_an_exit_handler_releases);
    RUN(times, pkg_02_an_exit_handler_from_before_the_library_was_loaded_releases);
    RUN(times, ffi_01_a_thread_that_exits_releases_from_its_destructor);
    RUN(times, pkg_02_main_unloads_while_a_thread_uses_the_library);
    RUN(times, pkg_02_a_second_thread_exits_the_process);
    RUN(1, thr_03_all_work_on_a_thread_that_is_not_the_main_one);
    RUN(1, f6_a_child_of_an_enumeration_may_use_the_library);
    RUN(1, f6_every_call_in_a_child_of_a_user_answers_forked_and_the_parent_goes_on);
    RUN(1, f2_without_memory_for_an_error_object_there_is_one_made_in_advance);
    RUN(1, the_table_fits_older_and_newer_hosts);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
