/* FFI-02: structs that grow. Every struct that begins with its size is put right before a page that nobody may touch, with its smallest size, with its own,
 * and with a larger one. */
#include "rules.h"

#include <stddef.h>
#include <sys/mman.h>

enum { PAGE = 4096, FUTURE = 64 };

static unsigned char *page_end;
static compute_device device;
static compute_stream stream;
static compute_kernel kernel;
static compute_buffer in, out;

static void set_up(void)
{
    unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    page_end = pages + PAGE;
    device = open_device();
    stream = make_stream(device);
    kernel = make_kernel(device, INCREMENT);
    in = make_buffer(device, 1024, "in");
    out = make_buffer(device, 1024, "out");
    fill_words(stream, in, 1);
}

static void set_size(void *place, size_t size)
{
    uint32_t number = (uint32_t)size;
    memcpy(place, &number, 4);
}

/* The first `size` bytes of a struct at the very end of a page; longer than the struct is means zeros behind it. */
static void *at_end(const void *value, size_t value_size, size_t size)
{
    unsigned char *place = page_end - size;
    memset(place, 0, size);
    memcpy(place, value, size < value_size ? size : value_size);
    set_size(place, size);
    return place;
}

/* ---- structs that the library reads ---- */

typedef compute_status (*reader)(const void *desc);

static compute_status list_devices(const void *desc)
{
    size_t count;
    return compute_devices_list((const compute_list_desc *)desc, NULL, 0, 0, &count, E);
}
static compute_status open_one(const void *desc)
{
    compute_device made = NULL;
    compute_status status = compute_device_open((const compute_device_desc *)desc, &made, E);
    CHECK((status == COMPUTE_OK) == (made != NULL));
    compute_device_release(made);
    return status;
}
static compute_status open_chained(const void *next)
{
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.next = next;
    return open_one(&desc);
}
static compute_status create_builder(const void *desc)
{
    compute_graph_builder made = NULL;
    compute_status status = compute_graph_builder_create(device, (const compute_graph_desc *)desc, &made, E);
    compute_graph_builder_release(made);
    return status;
}
static compute_status create_stream(const void *desc)
{
    compute_stream made = NULL;
    compute_status status = compute_stream_create(device, (const compute_stream_desc *)desc, &made, E);
    compute_stream_release(made);
    return status;
}
static compute_status create_buffer(const void *desc)
{
    compute_buffer made = NULL;
    compute_status status = compute_buffer_create(device, (const compute_buffer_desc *)desc, &made, E);
    uint64_t size = 0;
    if (status == COMPUTE_OK) OK(compute_buffer_get_size(made, &size, E));
    CHECK_EQ(size, status == COMPUTE_OK ? 24 : 0);
    compute_buffer_release(made);
    return status;
}
static compute_status import_words(const void *desc)
{
    compute_buffer made = NULL;
    compute_status status;
    /* What was imported before is let go of a moment after its release. */
    do {
        status = compute_buffer_import(device, (const compute_import_desc *)desc, &made, E);
    } while (status == COMPUTE_ERROR_ALREADY_OWNED && usleep(100) == 0);
    compute_buffer_release(made);
    return status;
}
static compute_status create_kernel(const void *desc)
{
    compute_kernel made = NULL;
    compute_status status = compute_kernel_create(device, (const compute_kernel_desc *)desc, &made, E);
    compute_kernel_release(made);
    return status;
}
static compute_status create_native(const void *native)
{
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.source = "@compute @workgroup_size(1) fn nothing() {}";
    desc.source_length = strlen((const char *)desc.source);
    desc.next = native;
    return create_kernel(&desc);
}
static compute_status launch_empty(const void *desc) { return compute_stream_launch(stream, (const compute_launch_desc *)desc, E); }

static compute_status write_strided(const void *desc)
{
    compute_view view = whole(in);
    uint32_t word = 1;
    return compute_stream_write_strided(stream, &view, (const compute_strided_desc *)desc, &word, 4, E);
}
static compute_status lay_out(const void *desc)
{
    uint64_t size = 0, stride = 0;
    memcpy(&stride, desc, 4);
    return compute_device_layout_tensors(device, (const compute_tensor_desc *)desc, 1, stride < 8 ? 8 : stride, 0, NULL, 0, &size, E);
}

static void check_reader(const char *name, const void *value, size_t size, size_t least, reader read)
{
    printf("  %s\n", name);
    for (size_t given = least; given <= size + FUTURE; given++) {
        /* A size that cuts a field in two is none that a struct ever had. */
        IS(given % 8 == 0 ? COMPUTE_OK : COMPUTE_ERROR_INVALID_STRUCT, read(at_end(value, size, given)));
    }
    for (size_t given = 0; given < least; given++) {
        /* As large as it says it is not, so that not more than the size field itself can be read. */
        unsigned char *place = at_end(value, size, given < 4 ? 4 : given);
        set_size(place, given);
        IS(COMPUTE_ERROR_INVALID_STRUCT, read(place));
    }
    for (size_t tail = 0; tail < FUTURE; tail++) {
        unsigned char *place = at_end(value, size, size + FUTURE);
        place[size + tail] = 1;
        IS(COMPUTE_ERROR_INVALID_STRUCT, read(place));
    }
    unsigned char *place = at_end(value, size, size);
    static const uint32_t absurd[] = { 4097, 1 << 16, INT32_MAX, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(absurd); i++) {
        set_size(place, absurd[i]);
        IS(COMPUTE_ERROR_INVALID_STRUCT, read(place));
    }
}

/* The smallest size: up to and including that field, and the next multiple of 8. */
#define UP_TO(type, field) ((offsetof(type, field) + sizeof((type *)0)->field + 7) / 8 * 8)

TEST(ffi_02_input_structs_may_be_older_or_newer_and_nothing_past_them_is_read)
{
    set_up();
    compute_list_desc list = COMPUTE_LIST_DESC_INIT;
    compute_device_desc open = COMPUTE_DEVICE_DESC_INIT;
    compute_fault_desc fault = COMPUTE_FAULT_DESC_INIT;
    compute_stream_desc stream_desc = COMPUTE_STREAM_DESC_INIT;
    compute_buffer_desc buffer = COMPUTE_BUFFER_DESC_INIT;
    compute_kernel_desc source = COMPUTE_KERNEL_DESC_INIT;
    compute_launch_desc launch = COMPUTE_LAUNCH_DESC_INIT;
    buffer.size = 24;
    source.language = COMPUTE_LANGUAGE_WGSL;
    source.source = "@compute @workgroup_size(1) fn nothing() {}";
    source.source_length = strlen((const char *)source.source);
    launch.kernel = make_kernel(device, (const char *)source.source);
    launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    check_reader("list", &list, sizeof list, UP_TO(compute_list_desc, reserved), list_devices);
    check_reader("stream", &stream_desc, sizeof stream_desc, UP_TO(compute_stream_desc, reserved), create_stream);
    compute_graph_desc graph_desc = COMPUTE_GRAPH_DESC_INIT;
    check_reader("graph", &graph_desc, sizeof graph_desc, UP_TO(compute_graph_desc, reserved), create_builder);
    check_reader("buffer", &buffer, sizeof buffer, UP_TO(compute_buffer_desc, size), create_buffer);
    static uint32_t words[16] __attribute__((aligned(64)));
    compute_import_desc imported = COMPUTE_IMPORT_DESC_INIT;
    imported.kind = COMPUTE_NATIVE_ADDRESS;
    imported.handle = (uint64_t)(uintptr_t)words;
    imported.size = sizeof words;
    imported.access = COMPUTE_ACCESS_READ;
    check_reader("import", &imported, sizeof imported, UP_TO(compute_import_desc, access), import_words);
    check_reader("kernel", &source, sizeof source, UP_TO(compute_kernel_desc, source_length), create_kernel);
    compute_native_source native_source;
    memset(&native_source, 0, sizeof native_source);
    native_source.language = COMPUTE_LANGUAGE_CUDA;
    native_source.code = native_source.entry = "nothing";
    native_source.code_length = native_source.entry_length = COMPUTE_NUL_TERMINATED;
    compute_native_desc native = COMPUTE_NATIVE_DESC_INIT;
    native.sources = &native_source;
    native.source_count = 1;
    native.workgroup_size[0] = 1;
    check_reader("native", &native, sizeof native, UP_TO(compute_native_desc, workgroup_memory), create_native);
    check_reader("launch", &launch, sizeof launch, UP_TO(compute_launch_desc, grid), launch_empty);
    compute_strided_desc word = COMPUTE_STRIDED_DESC_INIT;
    compute_tensor_desc tensor = COMPUTE_TENSOR_DESC_INIT;
    word.element_size = tensor.element_size = 4;
    check_reader("strided", &word, sizeof word, UP_TO(compute_strided_desc, to_strides), write_strided);
    check_reader("tensor", &tensor, sizeof tensor, UP_TO(compute_tensor_desc, element_size), lay_out);
    check_reader("device", &open, sizeof open, UP_TO(compute_device_desc, index), open_one);
    check_reader("fault", &fault, sizeof fault, UP_TO(compute_fault_desc, how), open_chained);
    /* Not used, as anybody may write to it; the struct is read all the same. */
    compute_cache_desc cache = COMPUTE_CACHE_DESC_INIT;
    cache.folder = "/tmp";
    cache.folder_length = 4;
    check_reader("cache", &cache, sizeof cache, UP_TO(compute_cache_desc, folder_length), open_chained);
}

/* ---- structs that the library fills ---- */

typedef compute_status (*writer)(void *info);
static compute_error example;

static compute_status get_device(void *info) { return compute_device_get_info(device, (compute_device_info *)info, E); }
static compute_status get_cache(void *info) { return compute_device_cache_info(device, (compute_cache_info *)info, E); }
static compute_status get_listed(void *info)
{
    size_t count = 0, size = 0;
    memcpy(&size, info, 4);
    compute_status status = compute_devices_list(NULL, (compute_device_info *)info, size, 1, &count, E);
    CHECK(count >= 1 || status < 0);
    return status == COMPUTE_INCOMPLETE ? COMPUTE_OK : status;
}
static compute_status get_usage(void *info) { return compute_device_memory_usage(device, (compute_memory_usage *)info, E); }
static compute_budget budget;
static compute_graph graph;
static compute_status get_graph(void *info) { return compute_graph_get_info(graph, (compute_graph_info *)info, E); }
static compute_status get_node(void *info) { return compute_graph_get_node(graph, 0, (compute_node_info *)info, E); }
static compute_status get_budget(void *info) { return compute_budget_get_info(budget, (compute_budget_info *)info, E); }
static compute_status get_compaction(void *info) { return compute_stream_compact(stream, (compute_compaction_info *)info, E); }
static compute_status get_pool(void *info)
{
    size_t count = 0, size = 0;
    memcpy(&size, info, 4);
    compute_status status = compute_stream_memory_report(stream, (compute_pool_report *)info, size, 1, &count, E);
    return status == COMPUTE_INCOMPLETE ? COMPUTE_OK : status;
}
static compute_status get_place(void *info)
{
    uint64_t total = 0, shape[2] = { 3, 5 };
    uint32_t size = 0;
    compute_tensor_desc tensor = COMPUTE_TENSOR_DESC_INIT;
    memcpy(&size, info, 4);
    tensor.rank = 2;
    tensor.shape = shape;
    tensor.element_size = 4;
    return compute_device_layout_tensors(device, &tensor, 1, 0, 0, (compute_tensor_place *)info, size, &total, E);
}
static compute_status get_native(void *info)
{
    compute_view view = range(in, 0, 4);
    return compute_stream_export(stream, &view, COMPUTE_ACCESS_WRITE, (compute_native_info *)info, E);
}
static compute_status get_kernel(void *info) { return compute_kernel_get_info(kernel, (compute_kernel_info *)info, E); }
static compute_status get_binding(void *info) { return compute_kernel_get_binding(kernel, 1, (compute_binding_info *)info, E); }
static compute_status get_override(void *info)
{
    static compute_kernel tunable;
    if (!tunable) tunable = make_kernel(device, "override n = 3u; @group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
                                                "@compute @workgroup_size(1) fn tuned() { O[0] = n; }");
    return compute_kernel_get_override(tunable, 0, (compute_override_info *)info, E);
}
static compute_status get_error(void *info) { return compute_error_get_info(example, (compute_error_info *)info); }
static compute_status get_chain(void *info) { return compute_error_chain(example, 0, (compute_chain_entry *)info); }

static void check_writer(const char *name, size_t size, size_t least, writer write)
{
    printf("  %s\n", name);
    unsigned char full[PAGE];
    memset(full, 0, sizeof full);
    set_size(full, size);
    IS(COMPUTE_OK, write(full));
    for (size_t given = least; given <= size + FUTURE; given++) {
        unsigned char *place = page_end - given;
        memset(place - 16, 0xee, given + 16);
        set_size(place, given);
        IS(given % 8 == 0 ? COMPUTE_OK : COMPUTE_ERROR_INVALID_STRUCT, write(place));
        if (given % 8 != 0) continue;
        uint32_t told;
        memcpy(&told, place, 4);
        CHECK_EQ(told, given);
        /* As much of the whole as fits, zeros where only the caller knows what it would be, and nothing before it. */
        CHECK(memcmp(place + 4, full + 4, (given < size ? given : size) - 4) == 0);
        for (size_t i = size; i < given; i++) CHECK_EQ(place[i], 0);
        for (size_t i = 1; i <= 16; i++) CHECK_EQ(*(place - i), 0xee);
    }
    for (size_t given = 0; given < least; given++) {
        unsigned char *place = page_end - (given < 4 ? 4 : given);
        set_size(place, given);
        IS(COMPUTE_ERROR_INVALID_STRUCT, write(place));
    }
    unsigned char *place = page_end - size;
    set_size(place, UINT32_MAX);
    IS(COMPUTE_ERROR_INVALID_STRUCT, write(place));
}

/* Status and error object are checked by IS only for calls that were asked for one. */
TEST(ffi_02_output_structs_may_be_older_or_newer_and_nothing_past_them_is_written)
{
    set_up();
    compute_kernel add = make_kernel(device, ADD);
    claim_all(stream, add, in, out);
    compute_buffer next = make_buffer(device, 1024, "next");
    IS(COMPUTE_SKIPPED, launch_io(stream, kernel, "skipped", out, next, 4));
    compute_view view = whole(next);
    CHECK(compute_check(&view, 1, 0, &example) == COMPUTE_ERROR_UNWRITTEN && example);
    check_writer("device info", sizeof(compute_device_info), UP_TO(compute_device_info, kind), get_device);
    check_writer("device info of the list", sizeof(compute_device_info), UP_TO(compute_device_info, kind), get_listed);
    check_writer("memory usage", sizeof(compute_memory_usage), UP_TO(compute_memory_usage, reserved), get_usage);
    compute_buffer_desc own = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer pooled = NULL;
    own.size = 100;
    own.stream = stream;
    OK(compute_buffer_create(device, &own, &pooled, E));
    check_writer("pool report", sizeof(compute_pool_report), UP_TO(compute_pool_report, kind), get_pool);
    compute_buffer_release(pooled);
    OK(compute_budget_create(1000, &budget, E));
    check_writer("budget info", sizeof(compute_budget_info), UP_TO(compute_budget_info, reserved), get_budget);
    OK(compute_stream_compact(stream, NULL, E)); /* later ones find nothing to do */
    check_writer("compaction info", sizeof(compute_compaction_info), UP_TO(compute_compaction_info, reserved), get_compaction);
    check_writer("tensor place", sizeof(compute_tensor_place), UP_TO(compute_tensor_place, rank), get_place);
    check_writer("native info", sizeof(compute_native_info), UP_TO(compute_native_info, size), get_native);
    check_writer("cache info", sizeof(compute_cache_info), UP_TO(compute_cache_info, hits), get_cache);
    check_writer("kernel info", sizeof(compute_kernel_info), UP_TO(compute_kernel_info, binding_count), get_kernel);
    check_writer("binding info", sizeof(compute_binding_info), UP_TO(compute_binding_info, group), get_binding);
    check_writer("override info", sizeof(compute_override_info), UP_TO(compute_override_info, id), get_override);
    compute_graph_builder builder = NULL;
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    compute_view filled = whole(in);
    OK(compute_graph_builder_add_fill(builder, &filled, "x", 1, "labelled", COMPUTE_NUL_TERMINATED, NULL, 0, NULL, E));
    OK(compute_graph_builder_instantiate(builder, &graph, E));
    check_writer("graph info", sizeof(compute_graph_info), UP_TO(compute_graph_info, reserved), get_graph);
    check_writer("node info", sizeof(compute_node_info), UP_TO(compute_node_info, kind), get_node);
    check_writer("error info", sizeof(compute_error_info), UP_TO(compute_error_info, status), get_error);
    check_writer("chain entry", sizeof(compute_chain_entry), UP_TO(compute_chain_entry, used), get_chain);
}

TEST(ffi_02_the_init_functions_and_macros_agree)
{
#define AGREE(type, upper)                                 \
    do {                                                   \
        compute_##type made, written = COMPUTE_##upper##_INIT; \
        memset(&made, 0xee, sizeof made);                  \
        compute_##type##_init(&made);                      \
        CHECK(memcmp(&made, &written, sizeof made) == 0);  \
        CHECK_EQ(made.struct_size, sizeof made);           \
    } while (0)
    AGREE(list_desc, LIST_DESC);
    AGREE(device_desc, DEVICE_DESC);
    AGREE(fault_desc, FAULT_DESC);
    AGREE(vulkan_desc, VULKAN_DESC);
    AGREE(stream_desc, STREAM_DESC);
    AGREE(buffer_desc, BUFFER_DESC);
    AGREE(import_desc, IMPORT_DESC);
    AGREE(tensor_desc, TENSOR_DESC);
    AGREE(strided_desc, STRIDED_DESC);
    AGREE(kernel_desc, KERNEL_DESC);
    AGREE(launch_desc, LAUNCH_DESC);
    AGREE(include_desc, INCLUDE_DESC);
    AGREE(native_desc, NATIVE_DESC);
    AGREE(tensor_map_desc, TENSOR_MAP_DESC);
    AGREE(graph_desc, GRAPH_DESC);
}

TEST(ffi_02_elements_of_arrays_may_be_longer_than_the_library_knows)
{
    set_up();
    struct {
        compute_binding binding;
        unsigned char more[24];
    } bindings[2];
    struct {
        compute_view view;
        uint64_t more;
    } views[2];
    memset(bindings, 0xee, sizeof bindings);
    memset(views, 0xee, sizeof views);
    bindings[0].binding = bind(0, in);
    bindings[1].binding = bind(1, out);
    views[0].view = whole(in);
    views[1].view = whole(out);
    compute_launch_desc desc = launch_desc(kernel, 4, 1, 1, &bindings[0].binding, 2);
    desc.binding_stride = sizeof bindings[0];
    OK(compute_stream_launch(stream, &desc, E));
    OK(compute_stream_sync(stream, &views[0].view, 2, sizeof views[0], COMPUTE_FOREVER, E));
    OK(compute_check(&views[0].view, 2, sizeof views[0], E));
    CHECK_EQ(get_word(stream, out, 255), 2);
}

TEST(t2_a_launch_with_more_in_its_descriptor_than_the_library_knows_claims_its_outputs)
{
    set_up();
    struct {
        compute_launch_desc desc;
        uint64_t more;
    } newer;
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    newer.desc = launch_desc(kernel, 4, 1, 1, bindings, 2);
    newer.desc.struct_size = sizeof newer;
    newer.more = 0;
    OK(compute_stream_launch(stream, &newer.desc, E));
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    newer.more = 7;
    IS(COMPUTE_ERROR_INVALID_STRUCT, compute_stream_launch(stream, &newer.desc, E));
    uint64_t failure = last_info().failure;
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), failure);
    CHECK_EQ(claimed_by(in, 0, COMPUTE_WHOLE), 0);
}

TEST(t11_a_bad_launch_that_would_only_compile_claims_nothing)
{
    set_up();
    fill_words(stream, out, 3);
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    bindings[1].flags = UINT64_C(1) << 40;
    compute_launch_desc desc = launch_desc(kernel, 4, 1, 1, bindings, 2);
    for (desc.mode = COMPUTE_LAUNCH_COMPILE_ONLY; desc.mode <= COMPUTE_LAUNCH_QUEUE_COMPILATION; desc.mode++) {
        IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_launch(stream, &desc, E));
        CHECK_EQ(claimed_by(out, 0, COMPUTE_WHOLE), 0);
    }
    desc.mode = COMPUTE_LAUNCH_EXECUTE;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_launch(stream, &desc, E));
    CHECK(claimed_by(out, 0, COMPUTE_WHOLE) != 0);
}

/* A struct anywhere in memory, aligned to nothing. */
TEST(f1_structs_and_results_need_not_be_aligned)
{
    set_up();
    unsigned char place[sizeof(compute_buffer_desc) + 8], result[16], info[sizeof(compute_device_info) + 8];
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = 24;
    for (size_t shift = 0; shift < 8; shift++) {
        compute_buffer made;
        memcpy(place + shift, &desc, sizeof desc);
        OK(compute_buffer_create(device, (const compute_buffer_desc *)(const void *)(place + shift), (compute_buffer *)(void *)(result + shift), E));
        memcpy(&made, result + shift, sizeof made);
        uint64_t size = 0;
        OK(compute_buffer_get_size(made, &size, E));
        CHECK_EQ(size, 24);
        compute_buffer_release(made);
        set_size(info + shift, sizeof(compute_device_info));
        OK(compute_device_get_info(device, (compute_device_info *)(void *)(info + shift), E));
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(ffi_02_input_structs_may_be_older_or_newer_and_nothing_past_them_is_read);
    RUN(ffi_02_output_structs_may_be_older_or_newer_and_nothing_past_them_is_written);
    RUN(ffi_02_the_init_functions_and_macros_agree);
    RUN(ffi_02_elements_of_arrays_may_be_longer_than_the_library_knows);
    RUN(t2_a_launch_with_more_in_its_descriptor_than_the_library_knows_claims_its_outputs);
    RUN(t11_a_bad_launch_that_would_only_compile_claims_nothing);
    RUN(f1_structs_and_results_need_not_be_aligned);
    return finish();
}
