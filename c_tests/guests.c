/* FFI-03, F6 and MD-02: the library as a guest in a process that uses CUDA itself. RULES_BACKEND=cuda, or nothing is tried (status 77). The driver's declarations
 * are here, so that no toolkit is needed. */
#include "rules.h"

#include <dlfcn.h>

#define WORDS 256
#define BYTES (4 * WORDS)

/* The driver's pointers, of whatever kind. */
typedef void *object;

static struct {
    int (*init)(unsigned);
    int (*primary_retain)(object *, int);
    int (*create)(object *, unsigned, int);
    int (*current)(object *);
    int (*set_current)(object);
    int (*pop)(object *);
} driver;

static void find(void *library, void *to, const char *name)
{
    *(void **)to = dlsym(library, name);
    CHECK(*(void **)to != NULL);
}

static int open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 0;
    find(library, &driver.init, "cuInit");
    find(library, &driver.primary_retain, "cuDevicePrimaryCtxRetain");
    find(library, &driver.create, "cuCtxCreate_v2");
    find(library, &driver.current, "cuCtxGetCurrent");
    find(library, &driver.set_current, "cuCtxSetCurrent");
    find(library, &driver.pop, "cuCtxPopCurrent_v2");
    return driver.init(0) == 0;
}

/* ---- FFI-03 ---- */

static object expected;

static void context_is_the_caller_s(const char *call, int line)
{
    object found = (object)(uintptr_t)1;
    CHECK(driver.current(&found) == 0);
    if (found == expected) return;
    fprintf(stderr, "  line %d: %s left context %p, it was %p\n", line, call, found, expected);
    fail(__FILE__, line, "the caller's context should be the current one");
}

#define KEEPS(statement)                                    \
    do {                                                    \
        statement;                                          \
        context_is_the_caller_s(#statement, __LINE__);      \
    } while (0)

static void nothing(void *user, compute_status status, compute_error error)
{
    (void)user;
    (void)status;
    (void)error;
}

/* Calls of all kinds, of which some fail. */
static void use_everything(void)
{
    compute_device device = NULL;
    compute_stream stream = NULL, other = NULL;
    compute_kernel increment = NULL, bad = NULL;
    compute_buffer in = NULL, out = NULL, large = NULL, shared = NULL;
    compute_event event = NULL;
    compute_graph graph = NULL;
    compute_graph_builder builder = NULL;
    compute_readback readback = NULL;
    compute_mapping mapping = NULL;
    compute_memory_usage usage;
    size_t count = 0;
    uint64_t capture = 0;
    static uint32_t words[WORDS];
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;

    KEEPS(compute_devices_list(NULL, NULL, 0, 0, &count, E));
    KEEPS(device = open_device());
    KEEPS(device_info(device));
    KEEPS(OK(compute_device_status(device, E)));
    KEEPS(OK(compute_stream_create(device, NULL, &stream, E)));
    KEEPS(OK(compute_stream_create(device, NULL, &other, E)));
    KEEPS(in = make_buffer(device, BYTES, "in"));
    KEEPS(out = make_buffer(device, BYTES, "out"));
    const int maps = (device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) != 0;
    KEEPS(shared = make_buffer_with(device, BYTES, "shared", maps ? COMPUTE_BUFFER_FLAG_HOST_VISIBLE : 0));
    compute_view from = whole(in), to = whole(out), both = whole(shared);

    /* Refused, not compiled, not there. */
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = UINT64_C(1) << 45;
    KEEPS(CHECK(compute_buffer_create(device, &desc, &large, E) < 0));
    compute_kernel_desc wrong = kernel_desc("@compute @workgroup_size(1) fn f() { no }", "wrong");
    KEEPS(CHECK(compute_kernel_create(device, &wrong, &bad, E) < 0));
    KEEPS(increment = make_kernel(device, INCREMENT));
    KEEPS(IS_CLASS(100, launch(stream, increment, 4, NULL, 0)));

    /* Transfers and launches. */
    KEEPS(OK(compute_stream_write(stream, &from, words, BYTES, E)));
    KEEPS(OK(compute_stream_write_borrowed(stream, &from, words, BYTES, &event, E)));
    KEEPS(OK(compute_event_wait(event, COMPUTE_FOREVER, E)));
    KEEPS(compute_event_release(event));
    KEEPS(OK(launch_io(stream, increment, "one", in, out, 4)));
    KEEPS(OK(compute_stream_flush(stream, E)));
    KEEPS(OK(compute_stream_copy(other, &to, &from, E)));
    KEEPS(fill_words(other, in, 7));
    KEEPS(OK(compute_stream_read(other, &from, words, BYTES, E)));
    CHECK_EQ(words[5], 7);
    KEEPS(OK(compute_stream_read_async(stream, &to, words, BYTES, &event, E)));
    KEEPS(compute_event_poll(event, E));
    KEEPS(OK(compute_events_wait_all(&event, 1, COMPUTE_FOREVER, E)));
    KEEPS(compute_event_release(event));
    KEEPS(OK(compute_stream_read_lazy(stream, &to, &readback, E)));
    const void *bytes = NULL;
    KEEPS(OK(compute_readback_get(readback, &bytes, NULL, E)));
    KEEPS(compute_readback_release(readback));
    if (maps) {
        KEEPS(OK(compute_buffer_map(&both, &mapping, E)));
        KEEPS(OK(compute_mapping_acquire(mapping, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_WRITE, COMPUTE_FOREVER, E)));
        KEEPS(OK(compute_mapping_flush(mapping, 0, COMPUTE_WHOLE, E)));
        KEEPS(compute_mapping_release(mapping));
    } else {
        KEEPS(IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&both, &mapping, E)));
    }

    /* Events and streams that wait. */
    KEEPS(OK(compute_stream_record(stream, &event, E)));
    KEEPS(OK(compute_stream_wait_event(other, event, E)));
    KEEPS(OK(compute_event_on_complete(event, nothing, NULL, COMPUTE_CALLBACK_ON_POLL, E)));
    KEEPS(wait_for(other));
    KEEPS(compute_event_release(event));

    /* Graphs. */
    KEEPS(OK(compute_stream_prepare_capture(stream, E)));
    KEEPS(OK(compute_stream_begin_capture(stream, NULL, &capture, E)));
    KEEPS(OK(launch_io(stream, increment, "recorded", in, out, 4)));
    KEEPS(OK(compute_stream_end_capture(stream, capture, &graph, E)));
    KEEPS(OK(compute_stream_replay(stream, graph, E)));
    KEEPS(wait_for(stream));
    KEEPS(compute_graph_release(graph));
    KEEPS(OK(compute_graph_builder_create(device, NULL, &builder, E)));
    KEEPS(OK(compute_graph_builder_add_fill(builder, &to, words, 4, NULL, 0, NULL, 0, NULL, E)));
    KEEPS(OK(compute_graph_builder_instantiate(builder, &graph, E)));
    KEEPS(OK(compute_stream_replay(stream, graph, E)));
    KEEPS(compute_graph_builder_release(builder));
    KEEPS(compute_graph_release(graph));
    /* A window that comes to nothing. */
    KEEPS(OK(compute_stream_prepare_capture(stream, E)));
    KEEPS(OK(compute_stream_begin_capture(stream, NULL, &capture, E)));
    KEEPS(IS(COMPUTE_ERROR_RECORDING, compute_stream_read(stream, &to, words, BYTES, E)));
    KEEPS(CHECK(compute_stream_end_capture(stream, capture, &graph, E) < 0));

    KEEPS(OK(compute_device_memory_usage(device, &usage, E)));
    KEEPS(OK(compute_stream_cleanup(stream, E)));
    KEEPS(OK(compute_device_cleanup(device, E)));
    KEEPS(compute_buffer_release(in));
    KEEPS(compute_buffer_release(out));
    KEEPS(compute_buffer_release(shared));
    KEEPS(compute_kernel_release(increment));
    KEEPS(compute_stream_release(stream));
    KEEPS(compute_stream_release(other));
    KEEPS(compute_device_release(device));
}

TEST(ffi_03_where_no_context_was_current_none_is_after_any_call)
{
    CHECK(open_driver());
    expected = NULL;
    use_everything();
}

TEST(ffi_03_the_primary_context_stays_current_as_programs_of_the_runtime_have_it)
{
    CHECK(open_driver());
    CHECK(driver.primary_retain(&expected, 0) == 0 && driver.set_current(expected) == 0);
    use_everything();
}

TEST(ffi_03_a_context_of_the_caller_s_own_stays_current_and_the_stack_below_it_too)
{
    CHECK(open_driver());
    object below = NULL, own = NULL, popped = NULL;
    CHECK(driver.create(&below, 0, 0) == 0);
    CHECK(driver.create(&own, 0, 0) == 0);
    expected = own;
    use_everything();
    CHECK(driver.pop(&popped) == 0 && popped == own);
    CHECK(driver.pop(&popped) == 0 && popped == below);
    CHECK(driver.current(&popped) == 0 && popped == NULL);
}

/* ---- F6 ---- */

static size_t list_of(const char *backend, compute_device_info *infos, size_t capacity)
{
    size_t count = 0;
    compute_list_desc desc = COMPUTE_LIST_DESC_INIT;
    desc.backend = backend;
    desc.backend_length = strlen(backend);
    memset(infos, 0, capacity * sizeof *infos);
    infos->struct_size = sizeof *infos;
    CHECK(compute_devices_list(&desc, infos, 0, capacity, &count, E) >= 0);
    return count;
}

TEST(f6_a_child_of_a_process_that_only_listed_the_gpus_may_use_them)
{
    static compute_device_info listed[64];
    CHECK(list_of("cuda", listed, COUNT_OF(listed)) > 0);
    pid_t child = fork();
    if (child == 0) {
        compute_device device = open_device();
        compute_stream stream = make_stream(device);
        compute_buffer in = make_buffer(device, BYTES, "in"), out = make_buffer(device, BYTES, "out");
        fill_words(stream, in, 7);
        OK(launch_io(stream, make_kernel(device, INCREMENT), "in a child", in, out, 4));
        CHECK_EQ(get_word(stream, out, 200), 8);
        /* The device that was listed is the one that was opened. */
        compute_device_info info = device_info(device);
        CHECK(memcmp(info.uuid, listed[0].uuid, 16) == 0 && strcmp(info.name, listed[0].name) == 0 && strcmp(info.target, listed[0].target) == 0);
        _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    /* And so may the parent. */
    compute_stream stream = make_stream(open_device());
    wait_for(stream);
}

/* ---- MD-02 ---- */

TEST(md_02_one_card_has_one_identity_in_every_list)
{
    static compute_device_info cuda[64], vulkan[64];
    size_t count = list_of("cuda", cuda, COUNT_OF(cuda)), others = list_of("wgpu", vulkan, COUNT_OF(vulkan)), same = 0;
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        static const uint8_t nobody[16];
        CHECK(memcmp(cuda[i].uuid, nobody, 16) != 0);
        for (size_t j = 0; j < i; j++) CHECK(memcmp(cuda[i].uuid, cuda[j].uuid, 16) != 0);
        CHECK(strlen(cuda[i].pci_address) > 0);
        for (size_t j = 0; j < others; j++) {
            int one = memcmp(cuda[i].uuid, vulkan[j].uuid, 16) == 0;
            same += one;
            if (strcmp(vulkan[j].target, "vulkan") == 0) CHECK_EQ(strcmp(cuda[i].pci_address, vulkan[j].pci_address) == 0, one);
        }
    }
    int nvidia = 0;
    for (size_t j = 0; j < others; j++) nvidia += strstr(vulkan[j].name, "NVIDIA") != NULL && strcmp(vulkan[j].target, "vulkan") == 0;
    if (nvidia) CHECK_EQ(same, count);
    else printf("  not tried: no Vulkan driver that knows these cards\n");
}

TEST(md_02_the_environment_chooses_cards_and_changes_no_identity)
{
    static compute_device_info all[64], some[64];
    size_t count = list_of("cuda", all, COUNT_OF(all));
    char order[512] = "";
    for (size_t i = count; i-- > 0;) snprintf(order + strlen(order), sizeof order - strlen(order), "%zu%s", i, i ? "," : "");
    CHECK(setenv("CUDA_VISIBLE_DEVICES", order, 1) == 0);
    CHECK_EQ(list_of("cuda", some, COUNT_OF(some)), count);
    for (size_t i = 0; i < count; i++) {
        CHECK(memcmp(some[i].uuid, all[count - 1 - i].uuid, 16) == 0);
        compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
        compute_device device = NULL;
        desc.backend = "cuda";
        desc.backend_length = 4;
        desc.index = (uint32_t)i;
        OK(compute_device_open(&desc, &device, E));
        CHECK(memcmp(device_info(device).uuid, some[i].uuid, 16) == 0);
        compute_device_release(device);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (!getenv("RULES_BACKEND") || strcmp(getenv("RULES_BACKEND"), "cuda") != 0) {
        printf("not tried: only CUDA has a context of the thread, RULES_BACKEND=cuda\n");
        return 77;
    }
    RUN(ffi_03_where_no_context_was_current_none_is_after_any_call);
    RUN(ffi_03_the_primary_context_stays_current_as_programs_of_the_runtime_have_it);
    RUN(ffi_03_a_context_of_the_caller_s_own_stays_current_and_the_stack_below_it_too);
    RUN(f6_a_child_of_a_process_that_only_listed_the_gpus_may_use_them);
    RUN(md_02_one_card_has_one_identity_in_every_list);
    RUN(md_02_the_environment_chooses_cards_and_changes_no_identity);
    return finish();
}
