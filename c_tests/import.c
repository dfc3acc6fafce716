/* T14: memory that is not the library's, used in place, and memory of the library's, used by others. What is foreign here comes from the driver itself, which is loaded by
 * name: RULES_BACKEND is cpu, cuda or hip (for a `VkBuffer` see engine.c). */
#include "rules.h"

#include <dlfcn.h>

/* ---- the driver, as a program that uses it directly has it ---- */

enum { BYTES = 4096, WORDS = BYTES / 4 };


static void *library;
static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "  %s\n", name);
    CHECK(found != NULL);
    return found;
}
/* A function of the driver's, of one of the forms that there are. */
#define F(type, name) (*(type *)(void *[]){ symbol(name) })
typedef int (*of_nothing)(void);
typedef int (*of_flags)(unsigned);
typedef int (*of_address)(uint64_t);
typedef int (*to_device)(uint64_t, const void *, size_t);
typedef int (*to_host)(void *, uint64_t, size_t);
typedef int (*new_memory)(uint64_t *, size_t);
#define DRIVER(call) CHECK_EQ(0, (call))

static void *primary; /* the context that cuda works in */

static void load_driver(void)
{
    if (library || on("cpu")) return;
    static const char *const hip[] = { "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" };
    if (on("cuda")) library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; on("hip") && !library && i < COUNT_OF(hip); i++) library = dlopen(hip[i], RTLD_NOW);
    CHECK(library != NULL);
    DRIVER(F(of_flags, on("cuda") ? "cuInit" : "hipInit")(0));
    if (!on("cuda")) return;
    typedef int (*retain)(void **, int);
    typedef int (*set)(void *);
    DRIVER(F(retain, "cuDevicePrimaryCtxRetain")(&primary, 0));
    DRIVER(F(set, "cuCtxSetCurrent")(primary));
}

static uint64_t foreign(size_t size)
{
    load_driver();
    uint64_t address = 0;
    if (on("cpu")) return (uint64_t)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256);
    DRIVER(F(new_memory, on("cuda") ? "cuMemAlloc_v2" : "hipMalloc")(&address, size));
    return address;
}
static void free_foreign(uint64_t address)
{
    if (on("cpu")) free((void *)(uintptr_t)address);
    else DRIVER(F(of_address, on("cuda") ? "cuMemFree_v2" : "hipFree")(address));
}
static void poke(uint64_t address, const void *bytes, size_t size)
{
    if (on("cpu")) memcpy((void *)(uintptr_t)address, bytes, size);
    else DRIVER(F(to_device, on("cuda") ? "cuMemcpyHtoD_v2" : "hipMemcpyHtoD")(address, bytes, size));
    /* From pageable memory it may return before the bytes are there. */
    if (!on("cpu")) DRIVER(F(of_nothing, on("cuda") ? "cuCtxSynchronize" : "hipDeviceSynchronize")());
}
static void peek(uint64_t address, void *bytes, size_t size)
{
    if (on("cpu")) memcpy(bytes, (void *)(uintptr_t)address, size);
    else DRIVER(F(to_host, on("cuda") ? "cuMemcpyDtoH_v2" : "hipMemcpyDtoH")(bytes, address, size));
}
static uint32_t peek_word(uint64_t address)
{
    uint32_t word = 0;
    peek(address, &word, 4);
    return word;
}
static uint64_t foreign_words(uint32_t first)
{
    uint32_t words[WORDS];
    uint64_t address = foreign(BYTES);
    for (uint32_t i = 0; i < WORDS; i++) words[i] = first + i;
    poke(address, words, BYTES);
    return address;
}

/* ---- the library ---- */

static compute_device device;
static compute_stream stream;

static void set_up(void)
{
    load_driver();
    device = open_device();
    stream = make_stream(device);
}

static uint32_t own_kind(void) { return on("cuda") ? COMPUTE_NATIVE_CUDA_POINTER : on("hip") ? COMPUTE_NATIVE_HIP_POINTER : COMPUTE_NATIVE_ADDRESS; }

static int released;
static void count_release(void *user) { __atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST); }
static int releases(void) { return __atomic_load_n(&released, __ATOMIC_SEQ_CST); }
static void wait_for_releases(int count)
{
    uint64_t begun = now_ns();
    while (releases() < count) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(100);
    }
    CHECK_EQ(count, releases());
}

static compute_import_desc import_desc(uint64_t address, uint64_t size)
{
    compute_import_desc desc = COMPUTE_IMPORT_DESC_INIT;
    desc.kind = own_kind();
    desc.handle = address;
    desc.size = size;
    desc.access = COMPUTE_ACCESS_READ_WRITE;
    desc.label = "imported";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    desc.released = count_release;
    desc.user = &released;
    return desc;
}
static compute_status try_import(uint64_t address, uint64_t offset, uint64_t size)
{
    compute_import_desc desc = import_desc(address, size);
    compute_buffer made = (compute_buffer)&desc;
    desc.offset = offset;
    compute_status status = compute_buffer_import(device, &desc, &made, E);
    CHECK((status == COMPUTE_OK) == (made != NULL));
    compute_buffer_release(made);
    return status;
}
static compute_buffer import_with(uint64_t address, uint64_t offset, uint64_t size, uint32_t access)
{
    compute_import_desc desc = import_desc(address, size);
    compute_buffer made = NULL;
    desc.offset = offset;
    desc.access = access;
    OK(compute_buffer_import(device, &desc, &made, E));
    return made;
}
static compute_buffer import(uint64_t address, uint64_t size) { return import_with(address, 0, size, COMPUTE_ACCESS_READ_WRITE); }

static compute_native_info export_of(compute_buffer buffer, uint64_t offset, uint64_t size, uint32_t access)
{
    compute_view view = range(buffer, offset, size);
    compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
    OK(compute_stream_export(stream, &view, access, &info, E));
    CHECK_EQ(own_kind(), info.kind);
    return info;
}
static uint64_t address_of(compute_buffer buffer)
{
    compute_native_info info = export_of(buffer, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_WRITE);
    return info.handle + info.offset;
}

/* ---- what an imported buffer is good for ---- */

TEST(t14_every_kind_of_call_works_on_imported_memory_in_place)
{
    set_up();
    uint64_t address = foreign_words(1000);
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer in = import(address, BYTES), out = make_buffer(device, BYTES, "out");
    compute_view all = whole(in), other = whole(out), half = range(in, 0, BYTES / 2), rest = range(in, BYTES / 2, BYTES / 2);
    uint64_t size = 0;
    OK(compute_buffer_get_size(in, &size, E));
    CHECK_EQ(BYTES, size);
    OK(compute_check(&all, 1, 0, E));
    /* Read by the host and by a kernel; the address that is exported is the one that was imported. */
    CHECK_EQ(1007, get_word(stream, in, 7));
    OK(launch_io(stream, increment, "from imported", in, out, WORDS / 64));
    CHECK_EQ(1000 + WORDS, get_word(stream, out, WORDS - 1));
    compute_native_info info = export_of(in, 16, 32, COMPUTE_ACCESS_READ);
    CHECK_EQ(address + 16, info.handle + info.offset);
    CHECK_EQ(32, info.size);
    /* Written by a kernel, the host, a copy, a fill and rows; what the owner sees is in its own memory. */
    OK(launch_io(stream, increment, "to imported", out, in, WORDS / 64));
    put_word(stream, in, 3, 42);
    OK(compute_stream_fill(stream, &rest, "\x11\x22\x33\x44", 4, E));
    wait_for(stream);
    CHECK_EQ(1002, peek_word(address));
    CHECK_EQ(42, peek_word(address + 12));
    CHECK_EQ(0x44332211, peek_word(address + BYTES - 4));
    OK(compute_stream_copy(stream, &half, &rest, E));
    wait_for(stream);
    CHECK_EQ(42, peek_word(address + BYTES / 2 + 12));
    compute_strided_desc rows = COMPUTE_STRIDED_DESC_INIT;
    const uint64_t shape[2] = { 3, 2 };
    const int64_t strides[2] = { 256, 4 };
    const uint32_t pairs[6] = { 1, 2, 3, 4, 5, 6 };
    rows.rank = 2;
    rows.shape = shape;
    rows.element_size = 4;
    rows.to_strides = strides;
    OK(compute_stream_write_strided(stream, &all, &rows, pairs, sizeof pairs, E));
    OK(compute_stream_copy(stream, &all, &other, E));
    wait_for(stream);
    CHECK_EQ(6, peek_word(address + 2 * 256 + 4));
    CHECK_EQ(6, get_word(stream, out, 2 * 64 + 1));
    compute_readback lazy = NULL;
    const void *bytes = NULL;
    OK(compute_stream_read_lazy(stream, &all, &lazy, E));
    OK(compute_readback_get(lazy, &bytes, &size, E));
    CHECK_EQ(5, ((const uint32_t *)bytes)[2 * 64]);
    compute_readback_release(lazy);
    compute_buffer_release(in);
    wait_for_releases(1);
    CHECK_EQ(6, peek_word(address + 2 * 256 + 4));
    free_foreign(address);
}

TEST(t14_t1_imported_bytes_are_trusted_and_nothing_is_zeroed_not_even_on_a_strict_device)
{
    load_driver();
    device = open_with(COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN, NULL);
    stream = make_stream(device);
    uint64_t address = foreign_words(5);
    compute_buffer in = import(address, BYTES), out = make_buffer(device, BYTES, "out");
    /* Writes a word and leaves the others alone. */
    compute_buffer from = make_buffer(device, 4, "from");
    put_word(stream, from, 0, 99);
    OK(launch_io(stream, make_kernel(device, INCREMENT_FIRST), "one word", from, in, 1));
    OK(launch_io(stream, make_kernel(device, INCREMENT), "all", in, out, WORDS / 64));
    CHECK_EQ(101, get_word(stream, out, 0));
    for (uint32_t i = 1; i < WORDS; i += 100) CHECK_EQ(6 + i, get_word(stream, out, i));
    compute_buffer_release(in);
    wait_for_releases(1);
    free_foreign(address);
}

TEST(t14_g4_a_graph_keeps_imported_memory_until_it_is_destroyed)
{
    set_up();
    uint64_t address = foreign_words(10);
    compute_buffer in = import(address, BYTES), out = make_buffer(device, BYTES, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_graph graphs[2] = { NULL };
    uint64_t capture = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(launch_io(stream, increment, "warm-up", in, out, WORDS / 64));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(launch_io(stream, increment, "recorded", in, out, WORDS / 64));
    OK(compute_stream_end_capture(stream, capture, &graphs[0], E));
    compute_graph_builder builder = NULL;
    compute_view to = whole(in), from = whole(out);
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    OK(compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, NULL, E));
    OK(compute_graph_builder_instantiate(builder, &graphs[1], E));
    compute_graph_builder_release(builder);
    compute_buffer_release(in);
    for (uint32_t i = 0; i < 3; i++) {
        OK(compute_stream_replay(stream, graphs[0], E));
        OK(compute_stream_replay(stream, graphs[1], E));
    }
    wait_for(stream);
    CHECK_EQ(13, peek_word(address));
    compute_graph_release(graphs[0]);
    wait_for(stream);
    usleep(20000);
    CHECK_EQ(0, releases());
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 0, BYTES));
    compute_graph_release(graphs[1]);
    wait_for_releases(1);
    free_foreign(address);
}

TEST(t14_on_the_cpu_device_imported_memory_can_be_mapped_and_a_mapping_keeps_it)
{
    if (!on("cpu")) {
        printf("  left out: the memory of this device is not the host's\n");
        return;
    }
    set_up();
    uint64_t address = foreign_words(10);
    compute_buffer in = import(address, BYTES);
    compute_view part = range(in, 64, 64);
    compute_mapping mapping = NULL;
    void *pointer = NULL;
    OK(compute_buffer_map(&part, &mapping, E));
    OK(compute_mapping_get_pointer(mapping, &pointer, NULL, E));
    CHECK_EQ(address + 64, (uintptr_t)pointer);
    CHECK_EQ(26, *(const uint32_t *)pointer);
    compute_buffer_release(in);
    usleep(20000);
    CHECK_EQ(0, releases());
    compute_mapping_release(mapping);
    wait_for_releases(1);
    free_foreign(address);
}

TEST(t2_t4_work_that_fails_claims_imported_bytes_and_whole_writes_repair_them)
{
    set_up();
    uint64_t address = foreign_words(0);
    compute_buffer in = import(address, BYTES), from = make_buffer(device, BYTES, "from");
    claim_all(stream, make_kernel(device, ADD), from, in);
    uint32_t word = 77;
    IS(COMPUTE_ERROR_UNWRITTEN, get(stream, in, 0, &word, 4));
    CHECK_EQ(77, word);
    /* The owner has filled them. */
    compute_view half = range(in, 0, BYTES / 2);
    OK(compute_written(&half, E));
    CHECK_EQ(9, get_word(stream, in, 9));
    fill_words(stream, in, 3);
    CHECK_EQ(3, get_word(stream, in, WORDS - 1));
    compute_buffer_release(in);
    wait_for_releases(1);
    free_foreign(address);
}

TEST(l3_a_binding_says_when_imported_memory_begins_at_too_small_a_multiple)
{
    set_up();
    if (!(device_info(device).features & COMPUTE_FEATURE_F64)) {
        printf("  left out: no elements of this device's want more than 16\n");
        return;
    }
    uint64_t address = foreign_words(0);
    compute_buffer in = import_with(address, 16, 256, COMPUTE_ACCESS_READ_WRITE);
    compute_kernel kernel = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> all: array<vec4<f64>>;\n"
                                                "@compute @workgroup_size(1) fn four() { all[0] = vec4<f64>(1.0lf, 2.0lf, 3.0lf, 4.0lf); }");
    compute_binding binding = bind(0, in);
    IS(COMPUTE_ERROR_MISALIGNED, launch(stream, kernel, 1, &binding, 1));
    CHECK(error_says("imported"));
    compute_view all = whole(in);
    OK(compute_written(&all, E));
    binding = bind_range(0, in, 16, 64);
    OK(launch(stream, kernel, 1, &binding, 1));
    double value = 0;
    OK(get(stream, in, 24, &value, 8));
    CHECK(value == 2.0);
    peek(address + 32 + 8, &value, 8);
    CHECK(value == 2.0);
    compute_buffer_release(in);
    wait_for_releases(1);
    free_foreign(address);
}

/* L13: as every other alignment, counted from where the device sees the memory begin. A map of slices wants 32 bytes, one without 16. */
TEST(l13_a_tensor_map_of_imported_memory_begins_at_a_multiple_for_the_device)
{
    set_up();
    if (!on("cpu")) {
        printf("  left out: what runs here beside the copy engine is the portable source\n");
        return;
    }
    static const char portable[] = "@group(0) @binding(0) var<storage, read> input: array<u32>;\n@group(0) @binding(1) var<storage, read_write> output: array<u32>;\n"
                                   "@compute @workgroup_size(1) fn first() { output[0] = input[0]; }\n";
    compute_native_source source;
    memset(&source, 0, sizeof source);
    source.language = COMPUTE_LANGUAGE_CUDA;
    source.code = "text";
    source.entry = "first";
    source.code_length = source.entry_length = COMPUTE_NUL_TERMINATED;
    compute_native_parameter parameters[2];
    memset(parameters, 0, sizeof parameters);
    parameters[0].kind = COMPUTE_PARAMETER_TENSOR_MAP;
    parameters[0].access = COMPUTE_ACCESS_READ;
    parameters[1].kind = COMPUTE_PARAMETER_BUFFER;
    parameters[1].access = COMPUTE_ACCESS_WRITE;
    compute_native_desc native = COMPUTE_NATIVE_DESC_INIT;
    native.sources = &source;
    native.source_count = 1;
    native.parameters = parameters;
    native.parameter_count = 2;
    native.workgroup_size[0] = 1;
    compute_kernel_desc desc = kernel_desc(portable, "first");
    desc.next = &native;
    compute_kernel kernel = make_kernel_from(device, &desc);
    compute_tensor_map_desc map = COMPUTE_TENSOR_MAP_DESC_INIT;
    map.element = COMPUTE_ELEMENT_U8;
    map.rank = 3;
    map.shape[0] = 32;
    map.shape[1] = map.shape[2] = 2;
    map.strides[1] = 32;
    map.strides[2] = 64;
    map.box_shape[0] = 32;
    map.box_shape[1] = map.box_shape[2] = 1;
    map.interleave = COMPUTE_INTERLEAVE_32B;
    map.swizzle = COMPUTE_SWIZZLE_32B;
    uint64_t address = foreign_words(0);
    compute_buffer in = import_with(address, 16, 512, COMPUTE_ACCESS_READ_WRITE), out = make_buffer(device, 4, "out");
    compute_binding bindings[2] = { bind_range(0, in, 0, 256), bind(1, out) };
    bindings[0].flags = COMPUTE_BINDING_FLAG_TENSOR_MAP;
    bindings[0].data = &map;
    IS(COMPUTE_ERROR_MISALIGNED, launch(stream, kernel, 1, bindings, 2));
    CHECK(error_says("imported") && error_says("multiple of 32"));
    fill_words(stream, out, 0);
    bindings[0].offset = 16;
    OK(launch(stream, kernel, 1, bindings, 2));
    CHECK_EQ(get_word(stream, out, 0), 8);
    compute_buffer_release(in);
    wait_for_releases(1);
    free_foreign(address);
}

/* ---- read only ---- */

TEST(t14_nothing_writes_to_memory_that_was_imported_to_be_read_and_refusals_claim_none_of_it)
{
    set_up();
    uint64_t address = foreign_words(100);
    compute_buffer in = import_with(address, 0, BYTES, COMPUTE_ACCESS_READ), out = make_buffer(device, BYTES, "out");
    compute_kernel increment = make_kernel(device, INCREMENT), add = make_kernel(device, ADD);
    compute_view to = whole(in), from = whole(out);
    uint32_t words[WORDS] = { 0 };
    fill_words(stream, out, 1);
    OK(launch_io(stream, increment, "reads it", in, out, WORDS / 64));
    IS(COMPUTE_ERROR_READ_ONLY, launch_io(stream, increment, "writes it", out, in, WORDS / 64));
    CHECK(error_says("imported"));
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_write(stream, &to, words, BYTES, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_fill(stream, &to, words, 4, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_copy(stream, &from, &to, E));
    compute_strided_desc one = COMPUTE_STRIDED_DESC_INIT;
    one.element_size = 4;
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_write_strided(stream, &to, &one, words, 4, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_copy_strided(stream, &from, &to, &one, E));
    compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_export(stream, &to, COMPUTE_ACCESS_WRITE, &info, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_stream_export(stream, &to, COMPUTE_ACCESS_READ_WRITE, &info, E));
    CHECK_EQ(address, export_of(in, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_READ).handle);
    compute_mapping mapping = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&to, &mapping, E));
    compute_graph_builder builder = NULL;
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_graph_builder_add_copy(builder, &from, &to, NULL, 0, NULL, 0, NULL, E));
    IS(COMPUTE_ERROR_READ_ONLY, compute_graph_builder_add_fill(builder, &to, words, 4, NULL, 0, NULL, 0, NULL, E));
    compute_binding bindings[2] = { bind(0, out), bind(1, in) };
    compute_launch_desc desc = launch_desc(increment, 1, 1, 1, bindings, 2);
    IS(COMPUTE_ERROR_READ_ONLY, compute_graph_builder_add_launch(builder, &desc, NULL, 0, NULL, E));
    OK(compute_graph_builder_add_copy(builder, &to, &from, NULL, 0, NULL, 0, NULL, E));
    compute_graph_builder_release(builder);
    /* A launch that is refused for another reason would claim its outputs. */
    uint32_t amount = 1;
    compute_binding three[3] = { bind(0, out), bind(1, in), bind_bytes(2, &amount, 4) };
    IS_CLASS(100, launch(stream, add, 1, three, 3));
    OK(compute_check(&to, 1, 0, E));
    for (uint32_t i = 0; i < WORDS; i += 64) CHECK_EQ(100 + i, get_word(stream, in, i));
    /* In a window, too. */
    compute_graph graph = NULL;
    uint64_t capture = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    IS(COMPUTE_ERROR_READ_ONLY, launch_io(stream, increment, "writes it", out, in, WORDS / 64));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(stream, capture, &graph, E));
    OK(compute_check(&to, 1, 0, E));
    CHECK_EQ(100, get_word(stream, in, 0));
    compute_buffer_release(in);
    wait_for_releases(1);
    free_foreign(address);
}

/* ---- what is the library's already ---- */

TEST(t14_memory_that_the_library_owns_is_refused_wherever_it_comes_from)
{
    set_up();
    compute_buffer small = make_buffer(device, 256, "small"), large = make_buffer(device, 8 << 20, "large");
    uint64_t own = address_of(small), far = address_of(large);
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(own, 0, 256));
    CHECK(error_says("imported"));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(own, 16, 16));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(far, (8 << 20) - 16, 16));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(far, 4096, 4096));
    /* Of the page that it was cut from, too, and from another handle of the same device. */
    compute_device first = device, second = open_device();
    device = second;
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(own, 0, 256));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(far, 64, 64));
    device = first;
    /* What was imported, and bytes of it, by either handle, until it has been let go of. */
    uint64_t address = foreign_words(0);
    compute_buffer in = import_with(address, 256, 1024, COMPUTE_ACCESS_READ);
    for (int handle = 0; handle < 2; handle++) {
        IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 256, 1024));
        IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 0, BYTES));
        IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 0, 257));
        IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 1264, 64));
        device = second;
    }
    CHECK_EQ(0, releases());
    OK(try_import(address, 0, 256));
    OK(try_import(address, 1280, BYTES - 1280));
    wait_for_releases(2);
    compute_buffer_release(in);
    wait_for_releases(3);
    OK(try_import(address, 0, BYTES));
    wait_for_releases(4);
    free_foreign(address);
    compute_device_release(second);
}

TEST(t14_bytes_that_the_library_shows_to_the_host_are_not_imported_as_the_host_s)
{
    set_up();
    compute_device cpu = device;
    if (!on("cpu")) {
        compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
        desc.backend = "cpu";
        desc.backend_length = COMPUTE_NUL_TERMINATED;
        OK(compute_device_open(&desc, &cpu, E));
    }
    compute_buffer buffer = make_buffer(device, BYTES, "buffer"), made = NULL;
    compute_view view = whole(buffer);
    compute_readback lazy = NULL;
    const void *bytes = NULL;
    fill_words(stream, buffer, 4);
    OK(compute_stream_read_lazy(stream, &view, &lazy, E));
    OK(compute_readback_get(lazy, &bytes, NULL, E));
    compute_import_desc desc = import_desc((uintptr_t)bytes, BYTES);
    desc.kind = COMPUTE_NATIVE_ADDRESS;
    IS(COMPUTE_ERROR_ALREADY_OWNED, compute_buffer_import(cpu, &desc, &made, E));
    compute_readback_release(lazy);
    if (!on("cpu")) return;
    compute_buffer visible = make_buffer_with(device, BYTES, "visible", COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute_mapping mapping = NULL;
    void *pointer = NULL;
    view = whole(visible);
    OK(compute_buffer_map(&view, &mapping, E));
    OK(compute_mapping_get_pointer(mapping, &pointer, NULL, E));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import((uintptr_t)pointer, 0, BYTES));
}

/* ---- letting go ---- */

TEST(t14_f7_memory_is_let_go_of_when_the_work_that_uses_it_is_over_and_is_never_freed)
{
    set_up();
    int long_work = runs_long(device, stream);
    compute_kernel spin = make_kernel(device, SPIN), increment = make_kernel(device, INCREMENT);
    compute_buffer turns = make_buffer(device, 8, "turns"), few = make_buffer(device, 8, "few"), out = make_buffer(device, 8, "out");
    const uint32_t many[2] = { on("hip") ? 300000 : 3000000, 7 }, one[2] = { 1, 7 };
    put(stream, turns, 0, many, 8);
    put(stream, few, 0, one, 8);
    uint64_t address = foreign_words(55);
    compute_buffer in = import(address, BYTES), other = make_buffer(device, BYTES, "other");
    compute_event after = NULL;
    OK(launch_io(stream, spin, "compiles", few, out, 1));
    OK(launch_io(stream, increment, "compiles", in, other, WORDS / 64));
    compute_stream beside = make_stream(device);
    wait_for(stream);
    for (int i = 0; i < 30; i++) OK(launch_io(stream, spin, "long", turns, out, 1));
    OK(launch_io(stream, increment, "uses it", in, other, WORDS / 64));
    /* On another stream, too: that waits for the first. */
    compute_view from = whole(other), to = whole(in);
    OK(compute_stream_copy(beside, &from, &to, E));
    OK(compute_stream_record(beside, &after, E));
    compute_buffer_release(in);
    if (long_work && compute_event_poll(after, E) == COMPUTE_NOT_READY) {
        CHECK_EQ(0, releases());
        IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(address, 0, 16));
        CHECK(compute_event_poll(after, E) == COMPUTE_NOT_READY || long_work < 0);
    } else {
        printf("  work was over too early to see that its memory was kept\n");
    }
    OK(compute_event_wait(after, COMPUTE_FOREVER, E));
    wait_for_releases(1);
    CHECK_EQ(56, peek_word(address));
    OK(try_import(address, 0, BYTES));
    wait_for_releases(2);
    free_foreign(address);
    compute_event_release(after);
}

static uint64_t again;
static compute_buffer imported_again;
static void import_again(void *user)
{
    compute_import_desc desc = import_desc(again, BYTES);
    if (compute_buffer_import(device, &desc, &imported_again, NULL) == COMPUTE_OK) count_release(user);
}

TEST(t14_f4_who_is_told_may_import_the_same_memory_at_once)
{
    set_up();
    int told = 0;
    again = foreign_words(1);
    compute_import_desc desc = import_desc(again, BYTES);
    compute_buffer in = NULL;
    desc.released = import_again;
    desc.user = &told;
    OK(compute_buffer_import(device, &desc, &in, E));
    fill_words(stream, in, 8);
    OK(compute_buffer_retain(in, E));
    OK(compute_buffer_destroy(in, E));
    uint64_t begun = now_ns();
    while (!__atomic_load_n(&told, __ATOMIC_SEQ_CST)) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(100);
    }
    CHECK_EQ(8, get_word(stream, imported_again, 5));
    compute_buffer_release(imported_again);
    wait_for_releases(1);
    CHECK_EQ(1, told);
    free_foreign(again);
}

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static int is_told;
static void wants_mine(void *user)
{
    __atomic_store_n(&is_told, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&mine);
    pthread_mutex_unlock(&mine);
    count_release(user);
}

TEST(err_07_a_thread_may_wait_while_it_holds_a_lock_that_an_owner_who_is_told_hangs_on)
{
    set_up();
    uint64_t address = foreign_words(1), another = foreign_words(1);
    compute_import_desc desc = import_desc(address, BYTES);
    compute_buffer in = NULL, out = make_buffer(device, BYTES, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    uint64_t begun = now_ns();
    desc.released = wants_mine;
    OK(compute_buffer_import(device, &desc, &in, E));
    CHECK(pthread_mutex_lock(&mine) == 0);
    OK(launch_io(stream, increment, "uses it", in, out, WORDS / 64));
    compute_buffer_release(in);
    OK(compute_stream_flush(stream, E));
    while (!__atomic_load_n(&is_told, __ATOMIC_SEQ_CST)) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(100);
    }
    in = import(another, BYTES);
    for (uint32_t round = 0; round < 20; round++) {
        compute_event event = NULL;
        put_word(stream, in, 7, round);
        OK(launch_io(stream, increment, "goes on", in, out, WORDS / 64));
        OK(compute_stream_record(stream, &event, E));
        if (round % 2) wait_for(stream);
        else OK(compute_event_wait(event, COMPUTE_FOREVER, E));
        OK(compute_event_poll(event, E));
        CHECK_EQ(round + 1, get_word(stream, out, 7));
        compute_event_release(event);
    }
    /* Others are let go of meanwhile; who is told of it is told later. */
    compute_buffer_release(in);
    OK(compute_device_cleanup(device, E));
    CHECK_EQ(0, releases());
    CHECK(pthread_mutex_unlock(&mine) == 0);
    wait_for_releases(2);
    free_foreign(address);
    free_foreign(another);
}

TEST(t14_everything_released_with_work_under_way_lets_go_in_the_end)
{
    set_up();
    uint64_t address = foreign_words(1);
    compute_buffer in = import(address, BYTES), out = make_buffer(device, BYTES, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    for (int i = 0; i < 50; i++) {
        OK(launch_io(stream, increment, "there", in, out, WORDS / 64));
        OK(launch_io(stream, increment, "back", out, in, WORDS / 64));
    }
    compute_kernel_release(increment);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_stream_release(stream);
    compute_device_release(device);
    wait_for_releases(1);
    CHECK_EQ(101, peek_word(address));
    free_foreign(address);
}

TEST(t12_the_owner_is_told_on_a_device_that_was_lost)
{
    load_driver();
    device = open_faulty();
    stream = make_stream(device);
    uint64_t address = foreign_words(1);
    compute_buffer in = import(address, BYTES);
    fill_words(stream, in, 1);
    OK(compute_device_inject_fault(device, 1, COMPUTE_FAULT_LOST, E));
    compute_view view = whole(in);
    IS_CLASS(300, compute_stream_fill(stream, &view, "x", 1, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, try_import(address, 0, 16));
    compute_buffer_release(in);
    wait_for_releases(1);
    device = open_device();
    OK(try_import(address, 0, BYTES));
    wait_for_releases(2);
    free_foreign(address);
}

TEST(f1_an_import_that_the_device_refuses_leaves_nothing_behind_and_tells_nobody)
{
    load_driver();
    uint64_t address = foreign_words(1);
    static const uint32_t ways[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY, COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        device = open_faulty();
        stream = make_stream(device);
        OK(compute_device_inject_fault(device, 1, ways[way], E));
        compute_import_desc desc = import_desc(address, BYTES);
        compute_buffer made = (compute_buffer)&desc;
        CHECK(compute_buffer_import(device, &desc, &made, NULL) < 0 && made == NULL);
        OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
        compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
        OK(compute_device_memory_usage(device, &usage, E));
        CHECK_EQ(0, usage.buffers + usage.bytes_imported);
        compute_stream_release(stream);
        compute_device_release(device);
    }
    set_up();
    OK(try_import(address, 0, BYTES));
    wait_for_releases(1);
    free_foreign(address);
}

TEST(m4_m6_imported_bytes_are_counted_by_themselves_and_charged_to_nobody)
{
    set_up();
    uint64_t address = foreign_words(1);
    compute_memory_usage before = COMPUTE_MEMORY_USAGE_INIT, with = COMPUTE_MEMORY_USAGE_INIT, after = COMPUTE_MEMORY_USAGE_INIT;
    compute_budget budget = NULL;
    OK(compute_budget_create(256, &budget, E));
    OK(compute_stream_set_budget(stream, budget, E));
    OK(compute_device_memory_usage(device, &before, E));
    compute_buffer in = import(address, BYTES);
    OK(compute_device_memory_usage(device, &with, E));
    CHECK_EQ(before.buffers + 1, with.buffers);
    CHECK_EQ(BYTES, with.bytes_imported);
    CHECK_EQ(before.bytes_in_use, with.bytes_in_use);
    CHECK_EQ(before.bytes_reserved, with.bytes_reserved);
    compute_budget_info charged = COMPUTE_BUDGET_INFO_INIT;
    OK(compute_budget_get_info(budget, &charged, E));
    CHECK_EQ(0, charged.charged);
    /* A compaction leaves it where it is. */
    OK(compute_stream_compact(stream, NULL, E));
    CHECK_EQ(address, address_of(in));
    compute_buffer_release(in);
    wait_for_releases(1);
    OK(compute_device_memory_usage(device, &after, E));
    CHECK_EQ(before.buffers, after.buffers);
    CHECK_EQ(0, after.bytes_imported);
    free_foreign(address);
}

TEST(mem_07_importing_and_letting_go_over_and_over_leaves_nothing_behind)
{
    set_up();
    uint64_t address = foreign_words(1);
    compute_buffer out = make_buffer(device, BYTES, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    const int rounds = on("hip") ? 200 : 1000;
    long first = 0;
    for (int i = 0; i < 2 * rounds; i++) {
        if (i == rounds) first = rss_kib();
        compute_buffer in = import(address, BYTES);
        OK(launch_io(stream, increment, "uses it", in, out, WORDS / 64));
        compute_buffer_release(in);
        wait_for(stream);
        wait_for_releases(i + 1);
    }
    CHECK(rss_kib() < first + 4096 + RSS_SLACK_KIB);
    free_foreign(address);
}

/* ---- what cannot be imported ---- */

TEST(f1_m9_imports_that_cannot_be_are_refused_with_the_reason_and_nobody_is_told)
{
    set_up();
    uint64_t address = foreign_words(1);
    compute_import_desc good = import_desc(address, BYTES), bad = good;
    compute_buffer made = NULL;
#define REFUSED(status, words)                                      \
    do {                                                            \
        made = (compute_buffer)&bad;                                \
        IS(status, compute_buffer_import(device, &bad, &made, E));  \
        CHECK(made == NULL);                                        \
        CHECK(error_says(words));                                   \
        bad = good;                                                 \
    } while (0)
    static const uint32_t kinds[] = { 0, COMPUTE_NATIVE_CUDA_EVENT, COMPUTE_NATIVE_HIP_EVENT, 77, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bad.kind = kinds[i];
        REFUSED(COMPUTE_ERROR_INVALID_ENUM, "COMPUTE_NATIVE_");
    }
    for (uint32_t kind = 1; kind <= 4; kind++) {
        if (kind == own_kind()) continue;
        bad.kind = kind;
        REFUSED(COMPUTE_ERROR_UNSUPPORTED, "COMPUTE_NATIVE_");
    }
    static const uint32_t accesses[] = { COMPUTE_ACCESS_UNUSED, COMPUTE_ACCESS_WRITE, COMPUTE_ACCESS_WRITE_ALL, 5, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(accesses); i++) {
        bad.access = accesses[i];
        REFUSED(COMPUTE_ERROR_INVALID_ENUM, "access");
    }
    bad.handle = 0;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "0x0");
    bad.size = 0;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "0 bytes");
    static const uint64_t sums[][3] = { { 16, UINT64_MAX - 15, 16 }, { 16, 0, UINT64_MAX }, { UINT64_MAX - 15, 0, 32 }, { UINT64_MAX - 15, 16, 16 }, { 16, 0, UINT64_C(1) << 63 } };
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        bad.handle = sums[i][0];
        bad.offset = sums[i][1];
        bad.size = sums[i][2];
        REFUSED(COMPUTE_ERROR_OUT_OF_RANGE, "64 bits");
    }
    bad.handle = address + 4;
    REFUSED(COMPUTE_ERROR_MISALIGNED, "multiple of 16");
    bad.offset = 8;
    REFUSED(COMPUTE_ERROR_MISALIGNED, "multiple of 16");
    bad.reserved = 1;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "reserved");
    bad.next = &good;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "next");
    bad.label = "\xff";
    bad.label_length = 1;
    REFUSED(COMPUTE_ERROR_INVALID_UTF8, "label");
    if (!on("cpu")) {
        static uint32_t host[64] __attribute__((aligned(64)));
        bad.handle = (uintptr_t)host;
        bad.size = sizeof host;
        REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "no memory");
        bad.handle = 0x10;
        bad.size = 16;
        REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "no memory");
        bad.size = UINT64_C(1) << 50;
        REFUSED(COMPUTE_ERROR_OUT_OF_RANGE, "ends");
    }
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_buffer_import(NULL, &good, &made, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_import(device, NULL, &made, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_import(device, &good, NULL, E));
    usleep(20000);
    CHECK_EQ(0, releases());
    OK(try_import(address, 0, BYTES));
    wait_for_releases(1);
    free_foreign(address);
}

TEST(t14_pinned_and_managed_memory_are_told_apart_and_so_are_other_contexts)
{
    if (on("cpu")) {
        printf("  left out: there is one kind of memory\n");
        return;
    }
    set_up();
    typedef int (*pin)(void **, size_t, unsigned);
    void *pinned = NULL;
    DRIVER(F(pin, on("cuda") ? "cuMemHostAlloc" : "hipHostMalloc")(&pinned, BYTES, 3));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_import((uintptr_t)pinned, 0, BYTES));
    CHECK(error_says("pinned"));
    if (!on("cuda")) return;
    typedef int (*managed)(uint64_t *, size_t, unsigned);
    uint64_t address = 0;
    DRIVER(F(managed, "cuMemAllocManaged")(&address, BYTES, 1));
    compute_buffer in = import(address, BYTES);
    fill_words(stream, in, 12);
    wait_for(stream);
    CHECK_EQ(12, *(const uint32_t *)(uintptr_t)address);
    compute_buffer_release(in);
    wait_for_releases(1);
    typedef int (*create)(void **, unsigned, int);
    typedef int (*pop)(void **);
    void *context = NULL;
    DRIVER(F(create, "cuCtxCreate_v2")(&context, 0, 0));
    DRIVER(F(new_memory, "cuMemAlloc_v2")(&address, BYTES));
    DRIVER(F(pop, "cuCtxPopCurrent_v2")(&context));
    IS(COMPUTE_ERROR_FOREIGN_HANDLE, try_import(address, 0, BYTES));
    CHECK(error_says("context"));
}

TEST(t14_memory_of_pools_and_memory_that_is_mapped_in_pieces_is_imported)
{
    if (!on("cuda")) {
        printf("  left out: cuda's\n");
        return;
    }
    set_up();
    typedef int (*allocate)(uint64_t *, size_t, void *);
    typedef int (*release)(uint64_t, void *);
    uint64_t address = 0;
    DRIVER(F(allocate, "cuMemAllocAsync")(&address, BYTES, NULL));
    DRIVER(F(of_nothing, "cuCtxSynchronize")());
    compute_buffer in = import(address, BYTES);
    fill_words(stream, in, 12);
    wait_for(stream);
    CHECK_EQ(12, peek_word(address));
    compute_buffer_release(in);
    wait_for_releases(1);
    DRIVER(F(release, "cuMemFreeAsync")(address, NULL));
    /* As allocators do whose segments grow: one range of addresses, and memory behind memory. */
    struct {
        int type, handles;
        struct { int type, id; } location;
        void *metadata;
        unsigned char flags[8];
    } property;
    struct { struct { int type, id; } location; int flags; } access = { { 1, 0 }, 3 };
    memset(&property, 0, sizeof property);
    property.type = property.location.type = 1;
    typedef int (*granularity)(size_t *, const void *, int);
    typedef int (*reserve)(uint64_t *, size_t, size_t, uint64_t, uint64_t);
    typedef int (*make)(uint64_t *, size_t, const void *, uint64_t);
    typedef int (*map)(uint64_t, size_t, size_t, uint64_t, uint64_t);
    typedef int (*allow)(uint64_t, size_t, const void *, size_t);
    size_t piece = 0;
    DRIVER(F(granularity, "cuMemGetAllocationGranularity")(&piece, &property, 0));
    DRIVER(F(reserve, "cuMemAddressReserve")(&address, 4 * piece, 0, 0, 0));
    for (int i = 0; i < 3; i++) {
        uint64_t memory = 0;
        DRIVER(F(make, "cuMemCreate")(&memory, piece, &property, 0));
        DRIVER(F(map, "cuMemMap")(address + (uint64_t)i * piece, piece, 0, memory, 0));
    }
    DRIVER(F(allow, "cuMemSetAccess")(address, 3 * piece, &access, 1));
    in = import(address, 3 * piece);
    fill_words(stream, in, 13);
    wait_for(stream);
    CHECK_EQ(13, peek_word(address));
    CHECK_EQ(13, peek_word(address + 3 * piece - 4));
    compute_buffer_release(in);
    wait_for_releases(2);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_import(address, 0, 4 * piece));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_import(address, 3 * piece, 16));
    /* Two allocations that lie behind each other are no allocation. */
    uint64_t one = foreign(BYTES), two = foreign(BYTES);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_import(one < two ? one : two, 0, 2 * BYTES));
}

TEST(ffi_03_imports_leave_the_thread_s_device_and_context_alone)
{
    if (on("cpu")) {
        printf("  left out: the host has no devices to choose from\n");
        return;
    }
    set_up();
    uint64_t address = foreign_words(1);
    typedef int (*current)(void **);
    typedef int (*set)(void *);
    void *before = &before, *after = &after;
    if (on("cuda")) DRIVER(F(set, "cuCtxSetCurrent")(NULL));
    if (on("cuda")) DRIVER(F(current, "cuCtxGetCurrent")(&before));
    OK(try_import(address, 0, BYTES));
    wait_for_releases(1);
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_import(address, 0, UINT64_C(1) << 40));
    if (on("cuda")) DRIVER(F(current, "cuCtxGetCurrent")(&after));
    if (on("cuda")) CHECK(before == NULL && after == NULL);
    if (on("cuda")) return;
    typedef int (*device_of)(int *);
    int number = -1;
    DRIVER(F(device_of, "hipGetDevice")(&number));
    CHECK_EQ(0, number);
}

/* ---- order with work of others, on the device ---- */

typedef int (*make_handle)(void **, unsigned);
typedef int (*on_handle)(void *);
typedef int (*of_two)(void *, void *);
typedef int (*wait_event)(void *, void *, unsigned);
typedef int (*copy_async)(uint64_t, uint64_t, size_t, void *);

static uint32_t event_kind(void) { return on("cuda") ? COMPUTE_NATIVE_CUDA_EVENT : COMPUTE_NATIVE_HIP_EVENT; }
static const char *named(const char *cuda, const char *hip) { return on("cuda") ? cuda : hip; }

static void *other_stream, *their_event;
static void make_others(void)
{
    DRIVER(F(make_handle, named("cuStreamCreate", "hipStreamCreateWithFlags"))(&other_stream, 1));
    DRIVER(F(make_handle, named("cuEventCreate", "hipEventCreateWithFlags"))(&their_event, 2));
}
static void record_theirs(void) { DRIVER(F(of_two, named("cuEventRecord", "hipEventRecord"))(their_event, other_stream)); }
static void copy_theirs(uint64_t to, uint64_t from, size_t size)
{
    DRIVER(F(copy_async, named("cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"))(to, from, size, other_stream));
}
/* Work of others that takes a while, and then the words of `from` are at `to`. */
static void slow_copy(uint64_t to, uint64_t from, uint64_t large, size_t size)
{
    for (int i = 0; i < 40; i++) copy_theirs(large + size / 2, large, size / 2);
    copy_theirs(to, from, BYTES);
}

TEST(t14_work_of_the_library_waits_for_an_event_of_the_driver_s_own_on_the_device)
{
    set_up();
    if (on("cpu")) {
        printf("  left out: the host has no events of a driver\n");
        return;
    }
    make_others();
    const size_t size = on("cuda") ? 256 << 20 : 4 << 20;
    uint64_t address = foreign_words(0), from = foreign_words(500), zero = foreign_words(0), large = foreign(size);
    compute_buffer in = import(address, BYTES), out = make_buffer(device, BYTES, "out"), counts = make_buffer(device, 12, "counts");
    compute_kernel increment = make_kernel(device, INCREMENT);
    const uint32_t groups[3] = { WORDS / 64, 1, 1 };
    put(stream, counts, 0, groups, 12);
    OK(launch_io(stream, increment, "compiles", in, out, WORDS / 64));
    wait_for(stream);
    for (int held = 0; held < 2; held++) {
        copy_theirs(address, zero, BYTES);
        slow_copy(address, from, large, size);
        record_theirs();
        if (held) {
            /* What follows a grid from memory may be held back until the counts are known, when the event is no more. */
            compute_binding bindings[2] = { bind(0, out), bind(1, make_buffer(device, BYTES, "beside")) };
            compute_launch_desc indirect = launch_desc(increment, 0, 0, 0, bindings, 2);
            indirect.indirect = whole(counts);
            OK(compute_stream_launch(stream, &indirect, E));
        }
        OK(compute_stream_wait_native(stream, event_kind(), (uintptr_t)their_event, E));
        if (held) DRIVER(F(on_handle, named("cuEventDestroy_v2", "hipEventDestroy"))(their_event));
        OK(launch_io(stream, increment, "comes behind it", in, out, WORDS / 64));
        for (uint32_t i = 0; i < WORDS; i += WORDS - 1) CHECK_EQ(501 + i, get_word(stream, out, i));
    }
    compute_buffer_release(in);
    wait_for_releases(1);
    DRIVER(F(on_handle, named("cuStreamDestroy_v2", "hipStreamDestroy"))(other_stream));
}

TEST(t14_work_of_others_waits_for_the_library_s_by_an_event_of_their_own)
{
    set_up();
    if (on("cpu")) {
        printf("  left out: the host has no events of a driver\n");
        return;
    }
    make_others();
    uint64_t address = foreign_words(0), seen = foreign_words(0);
    compute_buffer in = import(address, BYTES), turns = make_buffer(device, 8, "turns"), spun = make_buffer(device, 8, "spun"), counts = make_buffer(device, 12, "counts");
    compute_kernel spin = make_kernel(device, SPIN), increment = make_kernel(device, INCREMENT);
    const uint32_t many[2] = { on("hip") ? 100000 : 3000000, 7 }, groups[3] = { WORDS / 64, 1, 1 };
    put(stream, turns, 0, many, 8);
    put(stream, counts, 0, groups, 12);
    compute_buffer words = make_buffer(device, BYTES, "words");
    for (uint32_t held = 0; held < 2; held++) {
        fill_words(stream, words, 70 + held);
        OK(launch_io(stream, spin, "takes a while", turns, spun, 1));
        compute_binding bindings[2] = { bind(0, words), bind(1, in) };
        compute_launch_desc desc = launch_desc(increment, WORDS / 64, 1, 1, bindings, 2);
        if (held) desc.indirect = whole(counts);
        OK(compute_stream_launch(stream, &desc, E));
        OK(compute_stream_record_native(stream, event_kind(), (uintptr_t)their_event, E));
        DRIVER(F(wait_event, named("cuStreamWaitEvent", "hipStreamWaitEvent"))(other_stream, their_event, 0));
        copy_theirs(seen, address, BYTES);
        DRIVER(F(on_handle, named("cuStreamSynchronize", "hipStreamSynchronize"))(other_stream));
        CHECK_EQ(71 + held, peek_word(seen));
        CHECK_EQ(71 + held, peek_word(seen + BYTES - 4));
    }
    compute_buffer_release(in);
    wait_for_releases(1);
    DRIVER(F(on_handle, named("cuEventDestroy_v2", "hipEventDestroy"))(their_event));
    DRIVER(F(on_handle, named("cuStreamDestroy_v2", "hipStreamDestroy"))(other_stream));
}

TEST(f1_events_that_cannot_be_are_refused)
{
    set_up();
    static const uint32_t kinds[] = { 0, 1, 2, 3, 4, 7, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_wait_native(stream, kinds[i], 1, E));
        IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_record_native(stream, kinds[i], 1, E));
    }
    const uint32_t others = on("cuda") ? COMPUTE_NATIVE_HIP_EVENT : COMPUTE_NATIVE_CUDA_EVENT;
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_stream_wait_native(stream, others, 1, E));
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_stream_record_native(stream, others, 1, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_wait_native(NULL, others, 1, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_record_native((compute_stream)device, others, 1, E));
    if (on("cpu")) return;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_wait_native(stream, event_kind(), 0, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_record_native(stream, event_kind(), 0, E));
    /* One that was never recorded is not waited for. */
    make_others();
    OK(compute_stream_wait_native(stream, event_kind(), (uintptr_t)their_event, E));
    compute_buffer buffer = make_buffer(device, 64, "buffer");
    fill_words(stream, buffer, 4);
    CHECK_EQ(4, get_word(stream, buffer, 3));
    /* A graph waits for nothing but its own. */
    compute_graph graph = NULL;
    uint64_t capture = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    IS(COMPUTE_ERROR_RECORDING, compute_stream_wait_native(stream, event_kind(), (uintptr_t)their_event, E));
    IS(COMPUTE_ERROR_RECORDING, compute_stream_record_native(stream, event_kind(), (uintptr_t)their_event, E));
    IS(COMPUTE_ERROR_CAPTURE, compute_stream_end_capture(stream, capture, &graph, E));
    DRIVER(F(on_handle, named("cuEventDestroy_v2", "hipEventDestroy"))(their_event));
    DRIVER(F(on_handle, named("cuStreamDestroy_v2", "hipStreamDestroy"))(other_stream));
}

/* ---- memory of the library's, used by others ---- */

TEST(t14_what_is_exported_is_the_driver_s_own_memory_both_ways)
{
    set_up();
    compute_kernel increment = make_kernel(device, INCREMENT), add = make_kernel(device, ADD);
    compute_buffer in = make_buffer(device, BYTES, "in"), out = make_buffer(device, BYTES, "out");
    uint32_t words[WORDS];
    /* Read by others: never-written bytes are zeros, and the work before is over. */
    uint64_t address = address_of(in);
    CHECK_EQ(0, peek_word(address + BYTES - 4));
    fill_words(stream, in, 20);
    OK(launch_io(stream, increment, "made for others", in, out, WORDS / 64));
    compute_native_info info = export_of(out, 64, 128, COMPUTE_ACCESS_READ);
    CHECK_EQ(128, info.size);
    peek(info.handle + info.offset, words, 128);
    for (int i = 0; i < 32; i++) CHECK_EQ(21, words[i]);
    /* Claimed bytes are not shown; others fill them, say so, and they are trusted. */
    claim_all(stream, add, in, out);
    compute_view view = whole(out), half = range(out, 0, BYTES / 2);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_export(stream, &view, COMPUTE_ACCESS_READ, &info, E));
    info = export_of(out, 0, COMPUTE_WHOLE, COMPUTE_ACCESS_WRITE);
    CHECK(claimed_by(out, 0, COMPUTE_WHOLE) != 0);
    for (uint32_t i = 0; i < WORDS; i++) words[i] = 1000 + i;
    poke(info.handle + info.offset, words, BYTES);
    OK(compute_written(&half, E));
    CHECK_EQ(0, claimed_by(out, 0, BYTES / 2));
    CHECK(claimed_by(out, BYTES / 2, BYTES / 2) != 0);
    OK(compute_written(&view, E));
    OK(launch_io(stream, increment, "of others", out, in, WORDS / 64));
    for (uint32_t i = 0; i < WORDS; i += 50) CHECK_EQ(1001 + i, get_word(stream, in, i));
    if (on("cuda")) {
        /* In the context that every library of CUDA's shares. */
        typedef int (*ask)(void *, int, uint64_t);
        void *context = NULL;
        int number = -1;
        DRIVER(F(ask, "cuPointerGetAttribute")(&context, 1, info.handle));
        DRIVER(F(ask, "cuPointerGetAttribute")(&number, 9, info.handle));
        CHECK(number == 0 && (context == NULL || context == primary));
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(t14_every_kind_of_call_works_on_imported_memory_in_place);
    RUN(t14_t1_imported_bytes_are_trusted_and_nothing_is_zeroed_not_even_on_a_strict_device);
    RUN(t14_g4_a_graph_keeps_imported_memory_until_it_is_destroyed);
    RUN(t14_on_the_cpu_device_imported_memory_can_be_mapped_and_a_mapping_keeps_it);
    RUN(t2_t4_work_that_fails_claims_imported_bytes_and_whole_writes_repair_them);
    RUN(l3_a_binding_says_when_imported_memory_begins_at_too_small_a_multiple);
    RUN(l13_a_tensor_map_of_imported_memory_begins_at_a_multiple_for_the_device);
    RUN(t14_nothing_writes_to_memory_that_was_imported_to_be_read_and_refusals_claim_none_of_it);
    RUN(t14_memory_that_the_library_owns_is_refused_wherever_it_comes_from);
    RUN(t14_bytes_that_the_library_shows_to_the_host_are_not_imported_as_the_host_s);
    RUN(t14_f7_memory_is_let_go_of_when_the_work_that_uses_it_is_over_and_is_never_freed);
    RUN(t14_f4_who_is_told_may_import_the_same_memory_at_once);
    RUN(err_07_a_thread_may_wait_while_it_holds_a_lock_that_an_owner_who_is_told_hangs_on);
    RUN(t14_everything_released_with_work_under_way_lets_go_in_the_end);
    RUN(t12_the_owner_is_told_on_a_device_that_was_lost);
    RUN(f1_an_import_that_the_device_refuses_leaves_nothing_behind_and_tells_nobody);
    RUN(m4_m6_imported_bytes_are_counted_by_themselves_and_charged_to_nobody);
    RUN(mem_07_importing_and_letting_go_over_and_over_leaves_nothing_behind);
    RUN(f1_m9_imports_that_cannot_be_are_refused_with_the_reason_and_nobody_is_told);
    RUN(t14_pinned_and_managed_memory_are_told_apart_and_so_are_other_contexts);
    RUN(t14_memory_of_pools_and_memory_that_is_mapped_in_pieces_is_imported);
    RUN(ffi_03_imports_leave_the_thread_s_device_and_context_alone);
    RUN(t14_work_of_the_library_waits_for_an_event_of_the_driver_s_own_on_the_device);
    RUN(t14_work_of_others_waits_for_the_library_s_by_an_event_of_their_own);
    RUN(f1_events_that_cannot_be_are_refused);
    RUN(t14_what_is_exported_is_the_driver_s_own_memory_both_ways);
    return finish();
}
