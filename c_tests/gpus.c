/* What only GPUs have: times that cost something, work sent in slices, drivers that are broken or not there. For RULES_BACKEND=wgpu. */
#include "rules.h"

#include <link.h>

static compute_device device;
static compute_stream stream;

static void set_up(uint64_t flags)
{
    device = open_with(flags, NULL);
    stream = make_stream(device);
}

static uint64_t time_of(compute_event event)
{
    uint64_t time = 0;
    OK(compute_event_get_time(event, &time, E));
    CHECK(time != 0);
    return time;
}

static compute_event record(void)
{
    compute_event event = NULL;
    OK(compute_stream_record(stream, &event, E));
    return event;
}

/* ---- times ---- */

TEST(tm_01_events_have_the_device_s_time_where_the_device_was_opened_for_it)
{
    set_up(COMPUTE_DEVICE_FLAG_TIMESTAMPS);
    CHECK(device_info(device).capabilities & COMPUTE_CAPABILITY_TIMESTAMPS);
    compute_kernel spin = make_kernel(device, SPIN);
    compute_buffer turns = make_buffer(device, 8, "turns"), few = make_buffer(device, 8, "few"), out = make_buffer(device, 8, "out");
    put_word(stream, turns, 0, 60000);
    put_word(stream, few, 0, 1);
    /* Drivers compile at the first launch. */
    OK(launch_io(stream, spin, "warm-up", few, out, 1));
    wait_for(stream);
    compute_event events[4];
    events[0] = record();
    for (int i = 0; i < 16; i++) OK(launch_io(stream, spin, "long", turns, out, 1));
    events[1] = record();
    OK(launch_io(stream, spin, "short", few, out, 1));
    events[2] = record();
    events[3] = record();
    uint64_t begun = now_ns();
    uint64_t time = 0;
    OK(compute_event_wait(events[3], COMPUTE_FOREVER, E));
    uint64_t took = now_ns() - begun;
    uint64_t times[4];
    for (int i = 0; i < 4; i++) times[i] = time_of(events[i]);
    for (int i = 1; i < 4; i++) CHECK(times[i] >= times[i - 1]);
    CHECK(times[1] - times[0] > times[2] - times[1]);
    CHECK(times[1] - times[0] < took + SECONDS);
    CHECK_EQ(times[3], time_of(events[3]));
    for (int i = 0; i < 4; i++) compute_event_release(events[i]);
    /* More than one set of looks at the clock in one batch. */
    compute_event many[600];
    for (size_t i = 0; i < COUNT_OF(many); i++) many[i] = record();
    wait_for(stream);
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        CHECK(time_of(many[i]) >= time);
        time = time_of(many[i]);
        compute_event_release(many[i]);
    }
    compute_buffer_release(turns);
    compute_buffer_release(few);
    compute_buffer_release(out);
    compute_kernel_release(spin);
}

TEST(tm_01_a_time_that_the_device_no_longer_has_is_an_error_and_not_zero)
{
    set_up(COMPUTE_DEVICE_FLAG_TIMESTAMPS);
    compute_event first = record();
    for (int i = 0; i < 5000; i++) compute_event_release(record());
    compute_event last = record();
    wait_for(stream);
    uint64_t time = 77;
    IS(COMPUTE_ERROR_NOT_FOUND, compute_event_get_time(first, &time, E));
    CHECK_EQ(0, time);
    CHECK(time_of(last) != 0);
    compute_event_release(first);
    compute_event_release(last);
}

TEST(tm_01_without_being_asked_there_are_no_times)
{
    set_up(0);
    CHECK(!(device_info(device).capabilities & COMPUTE_CAPABILITY_TIMESTAMPS));
    compute_event event = record();
    uint64_t time = 0;
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_event_get_time(event, &time, E));
    compute_event_release(event);
}

/* ---- slices ---- */

static compute_device open_sliced(uint64_t groups)
{
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    compute_device sliced = NULL;
    desc.backend = "wgpu";
    desc.backend_length = 4;
    desc.slice_groups = groups;
    OK(compute_device_open(&desc, &sliced, E));
    return sliced;
}

/* Each invocation writes all that it knows of its place. In WGSL from an argument and a struct, in GLSL from its variables. */
static const char PLACES_WGSL[] =
    "struct In { @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(num_workgroups) count: vec3<u32> }\n"
    "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
    "var<workgroup> first: u32;\n"
    "@compute @workgroup_size(2, 3, 1) fn main(in: In, @builtin(workgroup_id) group: vec3<u32>) {\n"
    "    if in.local == 0u { first = group.x + 100u * group.y + 10000u * group.z; }\n"
    "    workgroupBarrier();\n"
    "    let at = (((group.z * in.count.y) + group.y) * in.count.x + group.x) * 6u + in.local;\n"
    "    for (var i = 0u; i < 3u; i += 1u) { out[at * 8u + i] = in.id[i]; out[at * 8u + 3u + i] = in.count[i]; }\n"
    "    out[at * 8u + 6u] = first; out[at * 8u + 7u] += 1u;\n"
    "}\n";
static const char PLACES_GLSL[] =
    "#version 450\n"
    "layout(local_size_x = 2, local_size_y = 3) in;\n"
    "layout(std430, set = 0, binding = 0) buffer B { uint o[]; };\n"
    "void main() {\n"
    "    uint at = ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 6u + gl_LocalInvocationIndex;\n"
    "    for (uint i = 0u; i < 3u; i++) { o[at * 8u + i] = gl_GlobalInvocationID[i]; o[at * 8u + 3u + i] = gl_NumWorkGroups[i]; }\n"
    "    o[at * 8u + 6u] = gl_WorkGroupID.x + 100u * gl_WorkGroupID.y + 10000u * gl_WorkGroupID.z; o[at * 8u + 7u] += 1u;\n"
    "}\n";

enum { X = 7, Y = 5, Z = 3, PLACE_WORDS = X * Y * Z * 6 * 8 };

static void places_on(compute_device on, const char *source, int indirect, uint32_t *words)
{
    stream = make_stream(on);
    compute_kernel_desc kernel_of = kernel_desc(source, "places");
    kernel_of.language = COMPUTE_LANGUAGE_AUTO;
    compute_kernel kernel = make_kernel_from(on, &kernel_of);
    compute_buffer out = make_buffer(on, 4 * PLACE_WORDS, "out"), grid = make_buffer(on, 12, "grid");
    compute_binding binding = bind(0, out);
    compute_launch_desc desc = launch_desc(kernel, X, Y, Z, &binding, 1);
    if (indirect) {
        const uint32_t counts[3] = { X, Y, Z };
        put(stream, grid, 0, counts, sizeof counts);
        desc.indirect = whole(grid);
    }
    OK(compute_stream_launch(stream, &desc, E));
    OK(get(stream, out, 0, words, 4 * PLACE_WORDS));
    compute_buffer_release(out);
    compute_buffer_release(grid);
    compute_kernel_release(kernel);
    compute_stream_release(stream);
    compute_device_release(on);
}

TEST(lost_03_sliced_launches_have_the_ids_and_counts_of_the_whole)
{
    static uint32_t plain[PLACE_WORDS], sliced[PLACE_WORDS];
    const char *const sources[] = { PLACES_WGSL, PLACES_GLSL };
    const uint64_t most[] = { 1, 4, 7, 20, 1000 };
    for (size_t source = 0; source < COUNT_OF(sources); source++) {
        places_on(open_device(), sources[source], 0, plain);
        CHECK_EQ(X, plain[3]);
        CHECK_EQ(100 * (Y - 1) + 10000 * (Z - 1) + X - 1, plain[PLACE_WORDS - 2]);
        CHECK_EQ(1, plain[PLACE_WORDS - 1]);
        for (size_t i = 0; i < COUNT_OF(most); i++) {
            memset(sliced, 0xee, sizeof sliced);
            places_on(open_sliced(most[i]), sources[source], 0, sliced);
            CHECK(memcmp(plain, sliced, sizeof plain) == 0);
        }
        memset(sliced, 0xee, sizeof sliced);
        places_on(open_sliced(4), sources[source], 1, sliced);
        CHECK(memcmp(plain, sliced, sizeof plain) == 0);
    }
}

TEST(l5_a_violation_in_any_slice_is_reported_with_the_invocation_of_the_whole)
{
    static const char source[] =
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
        "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x; }\n";
    device = open_sliced(5);
    stream = make_stream(device);
    compute_kernel_desc desc = kernel_desc(source, "store");
    desc.bounds = COMPUTE_BOUNDS_VALIDATE;
    compute_kernel kernel = make_kernel_from(device, &desc);
    compute_buffer good = make_buffer(device, 4 * 80, "good"), bad = make_buffer(device, 4 * 79, "bad");
    compute_binding binding = bind(0, good);
    OK(launch(stream, kernel, 20, &binding, 1));
    binding = bind(0, bad);
    OK(launch(stream, kernel, 20, &binding, 1));
    for (uint32_t i = 0; i < 80; i++) CHECK_EQ(i, get_word(stream, good, i));
    uint32_t word = 0;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, bad, 0, &word, 4));
    CHECK_EQ(COMPUTE_ERROR_KERNEL_FAULT, root_info().status);
    CHECK(error_says("(79, 0, 0)"));
    compute_buffer_release(good);
    compute_buffer_release(bad);
    compute_kernel_release(kernel);
}

/* ---- who they are, and what if there are none ---- */

TEST(a_device_says_who_it_is_and_how_much_memory_it_has)
{
    set_up(0);
    compute_device_info info = device_info(device), listed[16];
    static const uint8_t nobody[16];
    size_t count = 0;
    memset(listed, 0, sizeof listed);
    listed[0].struct_size = sizeof listed[0];
    compute_list_desc desc = COMPUTE_LIST_DESC_INIT;
    desc.backend = "wgpu";
    desc.backend_length = 4;
    CHECK(compute_devices_list(&desc, listed, 0, COUNT_OF(listed), &count, E) >= 0);
    CHECK(count > 0 && memcmp(info.uuid, listed[0].uuid, 16) == 0);
    if (strcmp(info.target, "vulkan") != 0) return;
    CHECK(memcmp(info.uuid, nobody, 16) != 0);
    CHECK(info.memory_size > 64 << 20);
}

/* A file with that text, of which Vulkan's loader is told that it describes all drivers there are. */
static void only_driver(const char *text)
{
    static char name[64];
    snprintf(name, sizeof name, "/tmp/libcompute_icd_%ld.json", (long)getpid());
    if (text) {
        FILE *file = fopen(name, "w");
        CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    }
    setenv("VK_DRIVER_FILES", name, 1);
    setenv("VK_ICD_FILENAMES", name, 1);
}

static void there_is_no_vulkan(const char *words)
{
    compute_device_info infos[16];
    size_t count = 0, needed = 0;
    static char report[65536];
    memset(infos, 0, sizeof infos);
    infos[0].struct_size = sizeof infos[0];
    OK(compute_devices_list(NULL, infos, 0, COUNT_OF(infos), &count, E));
    CHECK(count > 0 && strcmp(infos[0].backend, "cpu") == 0);
    for (size_t i = 0; i < count && i < COUNT_OF(infos); i++) CHECK(strcmp(infos[i].target, "vulkan") != 0);
    OK(compute_drivers_report(report, sizeof report, &needed, E));
    CHECK(strstr(report, "Vulkan: ") && strstr(report, words) && strstr(report, "VK_DRIVER_FILES is /tmp/libcompute_icd_"));
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "wgpu";
    desc.backend_length = 4;
    desc.index = 15;
    IS(COMPUTE_ERROR_NO_DEVICE, compute_device_open(&desc, &device, E));
    CHECK(error_says(words));
    /* The process is none the worse. */
    setenv("RULES_BACKEND", "cpu", 1);
    device = open_device();
    stream = make_stream(device);
    compute_buffer buffer = make_buffer(device, 64, "buffer");
    fill_words(stream, buffer, 5);
    CHECK_EQ(5, get_word(stream, buffer, 15));
    unlink(getenv("VK_DRIVER_FILES"));
}

#define NO_DRIVER "the loader found no driver that it could use"
TEST(f5_without_any_driver_the_list_says_what_was_tried)
{
    only_driver(NULL);
    there_is_no_vulkan(NO_DRIVER);
}

TEST(f5_a_description_of_a_driver_that_is_garbage_is_no_driver)
{
    only_driver("\x7f{[}garbage, \"ICD\": 7");
    there_is_no_vulkan(NO_DRIVER);
}

TEST(f5_a_driver_whose_library_is_missing_is_no_driver)
{
    only_driver("{ \"file_format_version\": \"1.0.0\", \"ICD\": { \"library_path\": \"/nowhere/libvulkan_nothing.so\", \"api_version\": \"1.3.0\" } }");
    there_is_no_vulkan(NO_DRIVER);
}

TEST(f5_a_library_that_is_no_driver_is_none)
{
    only_driver("{ \"file_format_version\": \"1.0.0\", \"ICD\": { \"library_path\": \"libm.so.6\", \"api_version\": \"1.3.0\" } }");
    there_is_no_vulkan(NO_DRIVER);
}

static size_t list_of_vulkan(compute_device_info *infos, size_t capacity)
{
    size_t count = 0, vulkan = 0;
    memset(infos, 0, capacity * sizeof *infos);
    infos->struct_size = sizeof *infos;
    OK(compute_devices_list(NULL, infos, 0, capacity, &count, E));
    for (size_t i = 0; i < count && i < capacity; i++) vulkan += strcmp(infos[i].target, "vulkan") == 0;
    if (vulkan == 0) printf("  not tried: no device of Vulkan's\n");
    return vulkan;
}

static int note_name(struct dl_phdr_info *library, size_t size, void *names)
{
    (void)size;
    char(*name)[4096] = names;
    while (**name) name++;
    snprintf(*name, sizeof *name, "%s", library->dlpi_name);
    return 0;
}

/* Loading the driver once more fails without it: glibc has little thread-local storage for libraries that come late, and CUDA's libraries take it. */
TEST(f5_the_thread_local_storage_of_nvidias_driver_stays_loaded)
{
    static compute_device_info infos[16];
    static char names[512][4096];
    int nvidia = 0, storage = 0;
    if (list_of_vulkan(infos, COUNT_OF(infos)) == 0) return;
    for (size_t i = 0; i < COUNT_OF(infos); i++) nvidia += strcmp(infos[i].target, "vulkan") == 0 && strcmp(infos[i].vendor, "NVIDIA") == 0;
    if (nvidia == 0) {
        printf("  not tried: no device of NVIDIA's\n");
        return;
    }
    dl_iterate_phdr(note_name, names);
    for (int i = 0; i < (int)COUNT_OF(names) && *names[i]; i++) storage += strstr(names[i], "libnvidia-tls.so") != NULL;
    CHECK(storage > 0);
}

TEST(f6_a_child_of_a_process_that_only_listed_the_devices_may_use_them)
{
    static compute_device_info infos[16];
    if (list_of_vulkan(infos, COUNT_OF(infos)) == 0) return;
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(list_of_vulkan(infos, COUNT_OF(infos)) > 0);
            set_up(0);
            compute_buffer in = make_buffer(device, 256, "in"), out = make_buffer(device, 256, "out");
            fill_words(stream, in, 7);
            OK(launch_io(stream, make_kernel(device, INCREMENT), "in a child", in, out, 4));
            CHECK_EQ(get_word(stream, out, 50), 8);
            _exit(0);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
    }
    set_up(0);
    wait_for(stream);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(tm_01_events_have_the_device_s_time_where_the_device_was_opened_for_it);
    RUN(tm_01_a_time_that_the_device_no_longer_has_is_an_error_and_not_zero);
    RUN(tm_01_without_being_asked_there_are_no_times);
    RUN(lost_03_sliced_launches_have_the_ids_and_counts_of_the_whole);
    RUN(l5_a_violation_in_any_slice_is_reported_with_the_invocation_of_the_whole);
    RUN(a_device_says_who_it_is_and_how_much_memory_it_has);
    RUN(f5_without_any_driver_the_list_says_what_was_tried);
    RUN(f5_a_description_of_a_driver_that_is_garbage_is_no_driver);
    RUN(f5_a_driver_whose_library_is_missing_is_no_driver);
    RUN(f5_a_library_that_is_no_driver_is_none);
    RUN(f5_the_thread_local_storage_of_nvidias_driver_stays_loaded);
    RUN(f6_a_child_of_a_process_that_only_listed_the_devices_may_use_them);
    return finish();
}
