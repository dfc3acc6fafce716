/* Tensor maps (L13): views as tensors for native kernels, and every rule about the bytes behind them. RULES_BACKEND selects the device. What a map says is checked on
 * every device, by a kernel with a portable source beside the native one; what the copy engine makes of it needs an NVIDIA GPU from sm_90 on, and says so. */
#include "rules.h"

static compute_device device;
static compute_stream stream;
static int has_maps;

/* The first box of `from`, by the copy engine: 16 bytes at least. */
#define NATIVE_HEAD \
    "struct __align__(64) tensor_map { unsigned long long words[16]; };\n" \
    "struct place { int rank; unsigned bytes; int from[3], to[3]; };\n" \
    "__device__ unsigned shared_address(const void *of) { return (unsigned)__cvta_generic_to_shared(of); }\n" \
    "__device__ void load(const tensor_map &map, const place &at, void *box, unsigned long long *arrived) {\n" \
    "  unsigned barrier = shared_address(arrived), to = shared_address(box), done = 0;\n" \
    "  if (threadIdx.x == 0) {\n" \
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(barrier) : \"memory\");\n" \
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n" \
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(barrier), \"r\"(at.bytes) : \"memory\");\n" \
    "    if (at.rank == 2)\n" \
    "      asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"\n" \
    "        :: \"r\"(to), \"l\"(&map), \"r\"(at.from[0]), \"r\"(at.from[1]), \"r\"(barrier) : \"memory\");\n" \
    "    else\n" \
    "      asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];\"\n" \
    "        :: \"r\"(to), \"l\"(&map), \"r\"(at.from[0]), \"r\"(at.from[1]), \"r\"(at.from[2]), \"r\"(barrier) : \"memory\");\n" \
    "  }\n" \
    "  __syncthreads();\n" \
    "  while (!done)\n" \
    "    asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }\"\n" \
    "      : \"=r\"(done) : \"r\"(barrier) : \"memory\");\n" \
    "}\n"

/* out[0] = the first word of the tensor, and one. */
static const char FIRST[] = NATIVE_HEAD
    "extern \"C\" __global__ void first(const __grid_constant__ tensor_map from, unsigned *out) {\n"
    "  __shared__ __align__(1024) unsigned box[1024];\n"
    "  __shared__ unsigned long long arrived;\n"
    "  place at = { 2, 16 * 4, { 0, 0, 0 }, { 0, 0, 0 } };\n"
    "  load(from, at, box, &arrived);\n"
    "  if (threadIdx.x == 0) out[0] = box[0] + 1;\n"
    "}\n";
static const char FIRST_WGSL[] =
    "@group(0) @binding(0) var<storage, read> input: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> output: array<u32>;\n"
    "@compute @workgroup_size(32) fn first(@builtin(local_invocation_index) i: u32) { if i == 0u { output[0] = input[0] + 1u; } }\n";

/* A box of `from`, as it lies in workgroup memory, to `seen`, and from there into `to`. */
static const char TILE[] = NATIVE_HEAD
    "extern \"C\" __global__ void tile(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to, unsigned char *seen, place at) {\n"
    "  __shared__ __align__(1024) unsigned char box[32768];\n"
    "  __shared__ unsigned long long arrived;\n"
    "  load(from, at, box, &arrived);\n"
    "  for (unsigned i = threadIdx.x; i < at.bytes; i += blockDim.x) seen[i] = box[i];\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) {\n"
    "    unsigned source = shared_address(box);\n"
    "    if (at.rank == 2)\n"
    "      asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\"\n"
    "        :: \"l\"(&to), \"r\"(at.to[0]), \"r\"(at.to[1]), \"r\"(source) : \"memory\");\n"
    "    else\n"
    "      asm volatile(\"cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];\"\n"
    "        :: \"l\"(&to), \"r\"(at.to[0]), \"r\"(at.to[1]), \"r\"(at.to[2]), \"r\"(source) : \"memory\");\n"
    "    asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n"
    "    asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "  }\n"
    "}\n";
/* Takes a map and does nothing with it. */
static const char NOTHING[] =
    "struct __align__(64) tensor_map { unsigned long long words[16]; };\n"
    "extern \"C\" __global__ void nothing(const __grid_constant__ tensor_map from) {}\n";


static void set_up(void)
{
    device = open_device();
    stream = make_stream(device);
    has_maps = (device_info(device).capabilities & COMPUTE_CAPABILITY_TENSOR_MAPS) != 0;
}
/* For tests of what only the copy engine does. */
static int needs_maps(void)
{
    set_up();
    if (!has_maps) printf("  not tried: the device has no tensor maps\n");
    return has_maps;
}

static compute_native_source source_of(const char *text, const char *entry)
{
    compute_native_source source;
    memset(&source, 0, sizeof source);
    source.language = COMPUTE_LANGUAGE_CUDA;
    source.code = text;
    source.code_length = source.entry_length = COMPUTE_NUL_TERMINATED;
    source.entry = entry;
    return source;
}

static compute_native_parameter parameter(const char *name, uint32_t kind, uint32_t access)
{
    compute_native_parameter made;
    memset(&made, 0, sizeof made);
    made.name = name;
    made.name_length = COMPUTE_NUL_TERMINATED;
    made.kind = kind;
    made.access = access;
    return made;
}

static compute_status make_native(const char *portable, const char *text, const char *entry, const compute_native_parameter *parameters, size_t count, compute_kernel *out)
{
    compute_native_source source = source_of(text, entry);
    compute_native_desc native = COMPUTE_NATIVE_DESC_INIT;
    native.sources = &source;
    native.source_count = 1;
    native.parameters = parameters;
    native.parameter_count = count;
    native.workgroup_size[0] = 32;
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.source = portable;
    desc.source_length = portable ? strlen(portable) : 0;
    desc.next = &native;
    return compute_kernel_create(device, &desc, out, E);
}

/* `first`, which every device runs. */
static compute_kernel make_first(uint32_t out_access)
{
    compute_native_parameter parameters[2] = { parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_READ), parameter("out", COMPUTE_PARAMETER_BUFFER, out_access) };
    compute_kernel kernel = NULL;
    OK(make_native(FIRST_WGSL, FIRST, "first", parameters, 2, &kernel));
    return kernel;
}

/* 64 by 32 words in rows of 512 bytes, of which a box has 4 by 4. */
enum { WIDE = 64, HIGH = 32, PITCH = 512, BYTES = PITCH * HIGH, SPAN = PITCH * (HIGH - 1) + 4 * WIDE };
static compute_tensor_map_desc words_map(void)
{
    compute_tensor_map_desc map = COMPUTE_TENSOR_MAP_DESC_INIT;
    map.element = COMPUTE_ELEMENT_U32;
    map.rank = 2;
    map.shape[0] = WIDE;
    map.shape[1] = HIGH;
    map.strides[1] = PITCH;
    map.box_shape[0] = map.box_shape[1] = 4;
    return map;
}
static compute_binding bind_map(uint32_t slot, compute_buffer buffer, uint64_t offset, uint64_t size, const compute_tensor_map_desc *map)
{
    compute_binding binding = bind_range(slot, buffer, offset, size);
    binding.flags = COMPUTE_BINDING_FLAG_TENSOR_MAP;
    binding.data = map;
    return binding;
}
static compute_status run_first(compute_kernel kernel, compute_buffer from, uint64_t offset, const compute_tensor_map_desc *map, compute_buffer out)
{
    compute_binding bindings[2] = { bind_map(0, from, offset, COMPUTE_WHOLE, map), bind(1, out) };
    return launch(stream, kernel, 1, bindings, 2);
}

TEST(l13_a_device_without_tensor_maps_refuses_a_kernel_that_needs_them_and_says_why)
{
    set_up();
    compute_native_parameter from = parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_READ);
    compute_kernel kernel = NULL;
    if (has_maps) {
        CHECK(on("cuda"));
        OK(make_native(NULL, NOTHING, "nothing", &from, 1, &kernel));
        return;
    }
    IS(COMPUTE_ERROR_COMPILE, make_native(NULL, NOTHING, "nothing", &from, 1, &kernel));
    CHECK(last_info().refusal && kernel == NULL);
    if (on("cuda")) CHECK(error_says("tensor map") && (error_says("sm_90") || error_says("cuTensorMapEncodeTiled")));
    if (on("hip")) {
        /* In its own language too. */
        compute_native_source source = source_of(NOTHING, "nothing");
        compute_native_desc native = COMPUTE_NATIVE_DESC_INIT;
        compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
        source.language = COMPUTE_LANGUAGE_HIP;
        native.sources = &source;
        native.parameters = &from;
        native.source_count = native.parameter_count = native.workgroup_size[0] = 1;
        desc.next = &native;
        IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
        CHECK(error_says("tensor map") && error_says("only CUDA"));
    }
}

TEST(l11_a_portable_source_beside_a_tensor_map_has_a_storage_buffer_there)
{
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE);
    compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
    compute_binding_info binding = COMPUTE_BINDING_INFO_INIT;
    OK(compute_kernel_get_info(kernel, &info, E));
    CHECK_EQ(info.native_source, has_maps ? 0 : COMPUTE_NATIVE_NONE);
    OK(compute_kernel_get_binding(kernel, 0, &binding, E));
    CHECK_EQ(binding.kind, COMPUTE_BINDING_TENSOR_MAP);
    CHECK_EQ(binding.access, COMPUTE_ACCESS_READ);
    CHECK(binding.alignment % 16 == 0);
    compute_buffer from = make_buffer(device, BYTES, "from"), out = make_buffer(device, 4, "out");
    compute_tensor_map_desc map = words_map();
    put_word(stream, from, 0, 41);
    put_word(stream, from, 64, 50);
    OK(run_first(kernel, from, 0, &map, out));
    CHECK_EQ(get_word(stream, out, 0), 42);
    map.shape[1] = 4;
    OK(run_first(kernel, from, 256, &map, out));
    CHECK_EQ(get_word(stream, out, 0), 51);
}

TEST(l13_an_unused_tensor_map_and_one_that_the_portable_source_does_not_cover_are_refused)
{
    set_up();
    compute_native_parameter parameters[2] = { parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_UNUSED), parameter("out", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE) };
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make_native(FIRST_WGSL, FIRST, "first", parameters, 2, &kernel));
    CHECK(error_says("`from`") && error_says("unused"));
    parameters[0].access = COMPUTE_ACCESS_WRITE;
    IS(COMPUTE_ERROR_BINDING, make_native(FIRST_WGSL, FIRST, "first", parameters, 2, &kernel));
    CHECK(error_says("is read"));
    CHECK(kernel == NULL);
}

/* One number of a map that is not right, and what is said. */
struct wrong {
    void (*change)(compute_tensor_map_desc *map);
    compute_status status;
    const char *says[2];
};
#define CHANGE(name, statement) \
    static void name(compute_tensor_map_desc *map) { statement; }
CHANGE(no_rank, map->rank = 0)
CHANGE(six_axes, map->rank = 6)
CHANGE(slices_of_two, map->interleave = COMPUTE_INTERLEAVE_16B)
CHANGE(no_shape, map->shape[1] = 0)
CHANGE(huge_shape, map->shape[0] = (UINT64_C(1) << 32) + 1)
CHANGE(odd_stride, map->strides[1] = PITCH + 8)
CHANGE(far_stride, map->strides[1] = UINT64_C(1) << 40)
CHANGE(inner_stride, map->strides[0] = 8)
CHANGE(no_box, map->box_shape[1] = 0)
CHANGE(huge_box, map->box_shape[1] = 257)
CHANGE(small_box, map->box_shape[0] = 3)
CHANGE(wide_box, (map->box_shape[0] = 32, map->swizzle = COMPUTE_SWIZZLE_64B))
CHANGE(far_step, map->element_strides[1] = 9)
CHANGE(inner_step, map->element_strides[0] = 2)
CHANGE(nan_of_words, map->outside = COMPUTE_OUTSIDE_NAN)
CHANGE(large_box, (map->box_shape[0] = 64, map->box_shape[1] = 256, map->rank = 3, map->shape[2] = 1, map->box_shape[2] = 4))
CHANGE(narrow_slices, (map->rank = 3, map->shape[2] = 1, map->box_shape[2] = 1, map->interleave = COMPUTE_INTERLEAVE_16B, map->box_shape[0] = 2))
CHANGE(too_high, map->shape[1] = HIGH + 1)
CHANGE(packed_oddly, (map->shape[0] = 63, map->strides[1] = 0))
CHANGE(slices, (map->rank = 3, map->shape[2] = 1, map->box_shape[2] = 1, map->interleave = COMPUTE_INTERLEAVE_32B))
CHANGE(wraps, (map->rank = 5, map->shape[2] = map->shape[3] = map->shape[4] = UINT64_C(1) << 32, map->strides[2] = map->strides[3] = map->strides[4] = (UINT64_C(1) << 40) - 16, map->box_shape[2] = map->box_shape[3] = map->box_shape[4] = 1))
CHANGE(bad_element, map->element = 0)
CHANGE(later_element, map->element = 14)
CHANGE(bad_interleave, map->interleave = 3)
CHANGE(bad_swizzle, map->swizzle = 4)
CHANGE(bad_promotion, map->l2_promotion = 4)
CHANGE(bad_outside, map->outside = 2)
CHANGE(reserved, map->reserved = 1)

TEST(l13_each_limit_is_checked_with_what_was_asked_and_what_is_allowed)
{
    static const struct wrong wrongs[] = {
        { no_rank, COMPUTE_ERROR_LIMIT, { "0 dimensions", "1 to 5" } },
        { six_axes, COMPUTE_ERROR_LIMIT, { "6 dimensions", "1 to 5" } },
        { slices_of_two, COMPUTE_ERROR_LIMIT, { "2 dimensions", "3 to 5" } },
        { no_shape, COMPUTE_ERROR_LIMIT, { "0 elements on axis 1", "4294967296" } },
        { huge_shape, COMPUTE_ERROR_LIMIT, { "4294967297", "axis 0" } },
        { odd_stride, COMPUTE_ERROR_MISALIGNED, { "520", "multiple of 16" } },
        { far_stride, COMPUTE_ERROR_LIMIT, { "axis 1", "below 1099511627776" } },
        { inner_stride, COMPUTE_ERROR_INVALID_ARGUMENT, { "axis 0 is 8", "elements of 4" } },
        { no_box, COMPUTE_ERROR_LIMIT, { "a box of 0", "1 to 256" } },
        { huge_box, COMPUTE_ERROR_LIMIT, { "a box of 257", "1 to 256" } },
        { small_box, COMPUTE_ERROR_MISALIGNED, { "3 elements of 4 bytes", "multiple of 16" } },
        { wide_box, COMPUTE_ERROR_LIMIT, { "32 elements of 4 bytes", "swizzle of 64" } },
        { far_step, COMPUTE_ERROR_LIMIT, { "element stride of 9", "1 to 8" } },
        { inner_step, COMPUTE_ERROR_INVALID_ARGUMENT, { "element stride of 2", "axis 0" } },
        { nan_of_words, COMPUTE_ERROR_INVALID_ARGUMENT, { "NaN", "U32" } },
        { large_box, COMPUTE_ERROR_LIMIT, { "a box of 262144 bytes", "workgroup memory" } },
        { narrow_slices, COMPUTE_ERROR_MISALIGNED, { "2 elements of 4 bytes", "multiple of 16" } },
        { too_high, COMPUTE_ERROR_OUT_OF_RANGE, { "spans 16640", "the view has 16384" } },
        { packed_oddly, COMPUTE_ERROR_MISALIGNED, { "252", "multiple of 16" } },
        { slices, COMPUTE_ERROR_INVALID_ARGUMENT, { "interleave of 32", "swizzle of 32" } },
        { wraps, COMPUTE_ERROR_OUT_OF_RANGE, { "spans", "the view has 16384" } },
        { bad_element, COMPUTE_ERROR_INVALID_ENUM, { "0 is not", "COMPUTE_ELEMENT_" } },
        { later_element, COMPUTE_ERROR_INVALID_ENUM, { "14 is not", "COMPUTE_ELEMENT_" } },
        { bad_interleave, COMPUTE_ERROR_INVALID_ENUM, { "3 is not", "COMPUTE_INTERLEAVE_" } },
        { bad_swizzle, COMPUTE_ERROR_INVALID_ENUM, { "4 is not", "COMPUTE_SWIZZLE_" } },
        { bad_promotion, COMPUTE_ERROR_INVALID_ENUM, { "4 is not", "COMPUTE_L2_PROMOTION_" } },
        { bad_outside, COMPUTE_ERROR_INVALID_ENUM, { "2 is not", "COMPUTE_OUTSIDE_" } },
        { reserved, COMPUTE_ERROR_INVALID_ARGUMENT, { "reserved", "reserved" } },
    };
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE_ALL);
    compute_buffer from = make_buffer(device, BYTES, "from"), out = make_buffer(device, 4, "out");
    fill_words(stream, from, 6);
    for (size_t n = 0; n < COUNT_OF(wrongs); n++) {
        compute_tensor_map_desc map = words_map();
        OK(run_first(kernel, from, 0, &map, out));
        CHECK_EQ(claimed_by(out, 0, 4), 0);
        wrongs[n].change(&map);
        compute_status status = run_first(kernel, from, 0, &map, out);
        if (status != wrongs[n].status || !error_says(wrongs[n].says[0]) || !error_says(wrongs[n].says[1])) {
            fprintf(stderr, "  number %zu answered %s, not %s with \"%s\" and \"%s\"\n", n, compute_status_name(status), compute_status_name(wrongs[n].status),
                wrongs[n].says[0], wrongs[n].says[1]);
            fail(__FILE__, __LINE__, "wrong answer");
        }
        /* T2: the refused launch has left its output claimed. */
        CHECK(claimed_by(out, 0, 4) != 0);
    }
    /* The offset of the view, beside that. */
    compute_tensor_map_desc map = words_map();
    map.shape[1] = 2;
    IS(COMPUTE_ERROR_MISALIGNED, run_first(kernel, from, 8, &map, out));
    CHECK(error_says("offset 8") && error_says("multiple of 16"));
    compute_binding bindings[2] = { bind_map(0, from, 0, SPAN - 1, &map), bind(1, out) };
    map.shape[1] = HIGH;
    IS(COMPUTE_ERROR_OUT_OF_RANGE, launch(stream, kernel, 1, bindings, 2));
    bindings[0].size = SPAN;
    OK(launch(stream, kernel, 1, bindings, 2));
    CHECK_EQ(get_word(stream, out, 0), 7);
}

TEST(f1_a_view_where_a_tensor_goes_and_bindings_that_are_neither_are_refused)
{
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE_ALL);
    compute_buffer from = make_buffer(device, BYTES, "from"), out = make_buffer(device, BYTES, "out");
    compute_tensor_map_desc map = words_map();
    fill_words(stream, from, 6);
    compute_binding good[2] = { bind_map(0, from, 0, COMPUTE_WHOLE, &map), bind(1, out) }, bindings[2];
    memcpy(bindings, good, sizeof good);
    bindings[0] = bind(0, from);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 2));
    CHECK(error_says("`from`") && error_says("compute_tensor_map_desc"));
    bindings[0] = good[0];
    bindings[1] = bind_map(1, out, 0, COMPUTE_WHOLE, &map);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 2));
    CHECK(error_says("`out`") && error_says("not declared as a tensor map"));
    bindings[1] = good[1];
    bindings[0].data = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, launch(stream, kernel, 1, bindings, 2));
    bindings[0] = good[0];
    bindings[0].data_size = sizeof map;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, launch(stream, kernel, 1, bindings, 2));
    CHECK(error_says("data_size"));
    bindings[0] = good[0];
    bindings[0].buffer = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, launch(stream, kernel, 1, bindings, 2));
    bindings[0] = bind_bytes(0, &map, sizeof map);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 2));
    bindings[0] = good[0];
    map.struct_size = 8;
    IS(COMPUTE_ERROR_INVALID_STRUCT, launch(stream, kernel, 1, bindings, 2));
    CHECK(claimed_by(out, 0, BYTES) != 0);
    /* A later header's struct, with nothing in what this library does not know; then with something. */
    struct { compute_tensor_map_desc map; uint64_t more; } later = { words_map(), 0 };
    later.map.struct_size = sizeof later;
    bindings[0].data = &later;
    OK(launch(stream, kernel, 1, bindings, 2));
    later.more = 1;
    IS(COMPUTE_ERROR_INVALID_STRUCT, launch(stream, kernel, 1, bindings, 2));
    map = words_map();
    OK(launch(stream, kernel, 0, good, 2)); /* L1: no work */
}

TEST(t5_a_launch_that_would_read_claimed_bytes_through_a_tensor_map_is_skipped)
{
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE_ALL);
    compute_buffer from = make_buffer(device, BYTES, "from"), out = make_buffer(device, 4, "out");
    compute_tensor_map_desc map = words_map(), wrong = words_map();
    fill_words(stream, from, 6);
    fill_words(stream, out, 1);
    /* A refused launch claims one word in the tensor's last row. */
    compute_binding bindings[2] = { bind_map(0, from, 0, COMPUTE_WHOLE, &wrong), bind_range(1, from, SPAN - 4, 4) };
    wrong.rank = 0;
    IS(COMPUTE_ERROR_LIMIT, launch(stream, kernel, 1, bindings, 2));
    uint64_t failure = claimed_by(from, SPAN - 4, 4);
    CHECK(failure != 0);
    IS(COMPUTE_SKIPPED, run_first(kernel, from, 0, &map, out));
    CHECK_EQ(claimed_by(out, 0, 4), failure);
    /* A view that ends before it is fine, and one that begins in it is not. */
    map.shape[1] = HIGH - 1;
    bindings[0] = bind_map(0, from, 0, SPAN - PITCH, &map);
    bindings[1] = bind(1, out);
    OK(launch(stream, kernel, 1, bindings, 2));
    CHECK_EQ(get_word(stream, out, 0), 7);
    put_word(stream, from, SPAN / 4 - 1, 9);
    map = words_map();
    OK(run_first(kernel, from, 0, &map, out));
    CHECK_EQ(claimed_by(out, 0, 4), 0);
}

TEST(l9_a_tensor_map_overlaps_like_any_other_view)
{
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE);
    compute_buffer both = make_buffer(device, BYTES, "both");
    compute_tensor_map_desc map = words_map();
    fill_words(stream, both, 6);
    compute_binding bindings[2] = { bind_map(0, both, 0, COMPUTE_WHOLE, &map), bind_range(1, both, SPAN, 4) };
    IS(COMPUTE_ERROR_OVERLAP, launch(stream, kernel, 1, bindings, 2));
    fill_words(stream, both, 6);
    bindings[0].size = SPAN;
    OK(launch(stream, kernel, 1, bindings, 2));
    CHECK_EQ(get_word(stream, both, SPAN / 4), 7);
}

TEST(g3_captured_and_explicit_graphs_keep_tensor_maps_and_updates_give_others)
{
    set_up();
    compute_kernel kernel = make_first(COMPUTE_ACCESS_WRITE);
    compute_buffer from = make_buffer(device, BYTES, "from"), other = make_buffer(device, BYTES, "other"), out = make_buffer(device, 4, "out");
    compute_tensor_map_desc map = words_map();
    fill_words(stream, from, 10);
    fill_words(stream, other, 20);
    put_word(stream, other, 4 * PITCH / 4, 30);
    uint64_t capture = 0;
    compute_graph graphs[2] = { NULL, NULL };
    compute_node node = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(run_first(kernel, from, 0, &map, out));
    OK(compute_stream_end_capture(stream, capture, &graphs[0], E));
    compute_graph_builder builder = NULL;
    compute_binding bindings[2] = { bind_map(0, from, 0, COMPUTE_WHOLE, &map), bind(1, out) };
    compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, 2);
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    OK(compute_graph_builder_add_launch(builder, &desc, NULL, 0, &node, E));
    OK(compute_graph_builder_instantiate(builder, &graphs[1], E));
    memset(&map, 0xee, sizeof map); /* copied before the calls returned */
    for (int n = 0; n < 2; n++) {
        put_word(stream, out, 0, 0);
        OK(compute_stream_replay(stream, graphs[n], E));
        CHECK_EQ(get_word(stream, out, 0), 11);
    }
    /* Another buffer; then another part of it, with another map. */
    map = words_map();
    bindings[0] = bind_map(0, other, 0, COMPUTE_WHOLE, &map);
    OK(compute_graph_update_launch(graphs[1], node, &desc, E));
    OK(compute_stream_replay(stream, graphs[1], E));
    CHECK_EQ(get_word(stream, out, 0), 21);
    map.shape[1] = 8;
    bindings[0].offset = 4 * PITCH;
    for (int n = 0; n < 20; n++) {
        OK(compute_graph_update_launch(graphs[1], node, &desc, E));
        OK(compute_stream_replay(stream, graphs[1], E));
        CHECK_EQ(get_word(stream, out, 0), 31);
    }
    map.rank = 9;
    IS(COMPUTE_ERROR_LIMIT, compute_graph_update_launch(graphs[1], node, &desc, E));
    OK(compute_stream_replay(stream, graphs[1], E));
    CHECK_EQ(get_word(stream, out, 0), 31);
    /* T5 for a replay. */
    compute_binding bad[2] = { bind_map(0, from, 0, COMPUTE_WHOLE, &map), bind_range(1, other, 5 * PITCH, 4) };
    IS(COMPUTE_ERROR_LIMIT, launch(stream, kernel, 1, bad, 2));
    IS(COMPUTE_SKIPPED, compute_stream_replay(stream, graphs[1], E));
    put_word(stream, out, 0, 0);
    OK(compute_stream_replay(stream, graphs[0], E));
    CHECK_EQ(get_word(stream, out, 0), 11);
}

/* ---- from here on what only the copy engine does ---- */

struct place {
    int32_t rank;
    uint32_t bytes;
    int32_t from[3], to[3];
};

static compute_kernel make_tile(uint32_t to_access)
{
    compute_native_parameter parameters[4] = { parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_READ), parameter("to", COMPUTE_PARAMETER_TENSOR_MAP, to_access),
        parameter("seen", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE_ALL), parameter("at", COMPUTE_PARAMETER_BYTES, 0) };
    parameters[3].size = sizeof(struct place);
    parameters[3].alignment = 4;
    compute_kernel kernel = NULL;
    OK(make_native(NULL, TILE, "tile", parameters, 4, &kernel));
    return kernel;
}

static uint32_t element_size(uint32_t element)
{
    switch (element) {
    case COMPUTE_ELEMENT_U8: return 1;
    case COMPUTE_ELEMENT_U16: case COMPUTE_ELEMENT_F16: case COMPUTE_ELEMENT_BF16: return 2;
    case COMPUTE_ELEMENT_U64: case COMPUTE_ELEMENT_I64: case COMPUTE_ELEMENT_F64: return 8;
    default: return 4;
    }
}
/* Where a byte of a box lies in workgroup memory: bits 4 and up of its place change with those of its row of 128 bytes. */
static uint32_t swizzled(uint32_t place, uint32_t swizzle)
{
    uint32_t mask = swizzle == COMPUTE_SWIZZLE_128B ? 7 : swizzle == COMPUTE_SWIZZLE_64B ? 3 : swizzle == COMPUTE_SWIZZLE_32B ? 1 : 0;
    return place ^ (((place >> 7) & mask) << 4);
}

enum { ROOM = 1 << 18 };
static unsigned char source[ROOM], target[ROOM], expected[ROOM], loose[ROOM], box[1 << 15], expected_box[1 << 15];

/* What the engine should do, one element after the other. Of a row's last 16 bytes it may write those behind the tensor, too: these are `loose`. */
static void simulate(const compute_tensor_map_desc *from, const compute_tensor_map_desc *to, const struct place *at)
{
    uint32_t size = element_size(from->element), sides[3] = { 1, 1, 1 }, steps[3] = { 1, 1, 1 };
    for (uint32_t axis = 0; axis < from->rank; axis++) {
        steps[axis] = from->element_strides[axis] ? from->element_strides[axis] : 1;
        sides[axis] = (from->box_shape[axis] + steps[axis] - 1) / steps[axis];
    }
    memset(expected_box, 0, sizeof expected_box);
    memset(loose, 0, sizeof loose);
    for (uint32_t n = 0; n < sides[0] * sides[1] * sides[2]; n++) {
        uint32_t in_box[3] = { n % sides[0], n / sides[0] % sides[1], n / sides[0] / sides[1] };
        int inside = 1, lands = 1, behind = 0;
        uint64_t read = 0, written = 0;
        for (uint32_t axis = 0; axis < from->rank; axis++) {
            int64_t x = (int64_t)at->from[axis] + in_box[axis] * steps[axis], y = (int64_t)at->to[axis] + in_box[axis];
            inside = inside && x >= 0 && x < (int64_t)from->shape[axis];
            int64_t end = (int64_t)to->shape[axis], piece = axis == 0 ? (end * size + 15) / 16 * 16 / size : end;
            lands = lands && y >= 0 && y < piece;
            behind = behind || y >= end;
            read += (uint64_t)x * (axis ? from->strides[axis] : size);
            written += (uint64_t)y * (axis ? to->strides[axis] : size);
        }
        for (uint32_t byte = 0; byte < size; byte++) {
            unsigned char value = inside ? source[read + byte] : 0;
            expected_box[swizzled(n * size + byte, from->swizzle)] = value;
            if (lands && behind) loose[written + byte] = 1;
            else if (lands) expected[written + byte] = value;
        }
    }
}

static void try_tile(compute_kernel kernel, const compute_tensor_map_desc *from, const compute_tensor_map_desc *to, struct place at)
{
    uint32_t size = element_size(from->element);
    at.rank = (int32_t)from->rank;
    at.bytes = size;
    for (uint32_t axis = 0; axis < from->rank; axis++) {
        uint32_t step = from->element_strides[axis] ? from->element_strides[axis] : 1;
        at.bytes *= (from->box_shape[axis] + step - 1) / step;
    }
    compute_buffer in = make_buffer(device, ROOM, "in"), out = make_buffer(device, ROOM, "out"), seen = make_buffer(device, sizeof box, "seen");
    for (uint32_t n = 0; n < ROOM; n++) source[n] = (unsigned char)(n * 2654435761u >> 13);
    memset(expected, 0xcc, sizeof expected);
    put(stream, in, 0, source, sizeof source);
    put(stream, out, 0, expected, sizeof expected);
    compute_binding bindings[4] = { bind_map(0, in, 0, COMPUTE_WHOLE, from), bind_map(1, out, 0, COMPUTE_WHOLE, to), bind_range(2, seen, 0, at.bytes), bind_bytes(3, &at, sizeof at) };
    OK(launch(stream, kernel, 1, bindings, 4));
    OK(get(stream, out, 0, target, sizeof target));
    OK(get(stream, seen, 0, box, at.bytes));
    simulate(from, to, &at);
    CHECK(memcmp(box, expected_box, at.bytes) == 0);
    for (uint32_t n = 0; n < ROOM; n++) CHECK(target[n] == expected[n] || loose[n]);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_buffer_release(seen);
}

static compute_tensor_map_desc map_of(uint32_t element, uint32_t rank, const uint64_t *shape, const uint64_t *strides, const uint32_t *sides, uint32_t swizzle)
{
    compute_tensor_map_desc map = COMPUTE_TENSOR_MAP_DESC_INIT;
    map.element = element;
    map.rank = rank;
    map.swizzle = swizzle;
    for (uint32_t axis = 0; axis < rank; axis++) {
        map.shape[axis] = shape[axis];
        map.strides[axis] = axis ? strides[axis] : 0;
        map.box_shape[axis] = sides[axis];
    }
    return map;
}

TEST(l13_boxes_of_two_dimensions_are_loaded_swizzled_filled_and_stored_byte_by_byte)
{
    if (!needs_maps()) return;
    compute_kernel kernel = make_tile(COMPUTE_ACCESS_WRITE);
    static const uint32_t swizzles[] = { COMPUTE_SWIZZLE_NONE, COMPUTE_SWIZZLE_32B, COMPUTE_SWIZZLE_64B, COMPUTE_SWIZZLE_128B };
    static const uint32_t bytes[] = { 256, 32, 64, 128 };
    static const uint32_t elements[] = { COMPUTE_ELEMENT_U8, COMPUTE_ELEMENT_BF16, COMPUTE_ELEMENT_I32, COMPUTE_ELEMENT_U64 };
    /* In pieces of 16 bytes, and no store begins outside: the engine stops at anything else (CUDA_ERROR_ILLEGAL_INSTRUCTION on an H200). */
    static const int32_t places[][2] = { { 0, 0 }, { 2, 5 }, { -1, -2 }, { 5, 70 }, { 60, 0 } };
    for (size_t s = 0; s < COUNT_OF(swizzles); s++) {
        for (size_t e = 0; e < COUNT_OF(elements); e++) {
            uint32_t size = element_size(elements[e]);
            /* An odd number of elements in rows with gaps. */
            uint64_t shape[2] = { 101, 77 }, strides[2] = { 0, 1024 }, to_shape[2] = { 150, 90 }, to_strides[2] = { 0, 2048 };
            uint32_t sides[2] = { bytes[s] / size, 24 };
            if (sides[0] > 256) sides[0] = 256;
            compute_tensor_map_desc from = map_of(elements[e], 2, shape, strides, sides, swizzles[s]);
            compute_tensor_map_desc to = map_of(elements[e], 2, to_shape, to_strides, sides, swizzles[s]);
            from.l2_promotion = (uint32_t)s;
            for (size_t p = 0; p < COUNT_OF(places); p++) {
                int32_t piece = 16 / (int32_t)size;
                struct place at = { 0, 0, { places[p][0] * piece, places[p][1], 0 }, { abs(places[p][1]) % 7 * piece, abs(places[p][0]), 0 } };
                try_tile(kernel, &from, &to, at);
            }
        }
    }
}

TEST(l13_boxes_of_three_dimensions_and_rows_that_are_stepped_over_are_right_byte_by_byte)
{
    if (!needs_maps()) return;
    compute_kernel kernel = make_tile(COMPUTE_ACCESS_WRITE);
    uint64_t shape[3] = { 50, 20, 10 }, strides[3] = { 0, 128, 128 * 20 + 64 }, to_shape[3] = { 48, 16, 12 }, to_strides[3] = { 0, 96, 96 * 16 };
    uint32_t sides[3] = { 32, 4, 6 };
    compute_tensor_map_desc from = map_of(COMPUTE_ELEMENT_F16, 3, shape, strides, sides, COMPUTE_SWIZZLE_64B);
    compute_tensor_map_desc to = map_of(COMPUTE_ELEMENT_F16, 3, to_shape, to_strides, sides, COMPUTE_SWIZZLE_64B);
    static const int32_t places[][3] = { { 0, 0, 0 }, { 16, 3, 1 }, { -8, 18, 7 }, { 40, -1, -3 } };
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        struct place at = { 0, 0, { places[p][0], places[p][1], places[p][2] }, { 8 * abs(places[p][1] % 5), abs(places[p][0]) / 8, places[p][2] + 3 } };
        try_tile(kernel, &from, &to, at);
    }
    /* Strides that follow from the shape. */
    to.strides[1] = to.strides[2] = 0;
    compute_tensor_map_desc filled = to;
    filled.strides[1] = 96;
    filled.strides[2] = 96 * 16;
    struct place at = { 0, 0, { 8, 2, 3 }, { 16, 5, 6 } };
    compute_buffer in = make_buffer(device, ROOM, "in"), out = make_buffer(device, ROOM, "out"), seen = make_buffer(device, 1536, "seen");
    at.rank = 3;
    at.bytes = 1536;
    for (int n = 0; n < 2; n++) {
        fill_words(stream, out, 0);
        put(stream, in, 0, source, sizeof source);
        compute_binding bindings[4] = { bind_map(0, in, 0, COMPUTE_WHOLE, &from), bind_map(1, out, 0, COMPUTE_WHOLE, n ? &filled : &to), bind(2, seen), bind_bytes(3, &at, sizeof at) };
        OK(launch(stream, kernel, 1, bindings, 4));
        OK(get(stream, out, 0, n ? target : expected, ROOM));
    }
    CHECK(memcmp(target, expected, ROOM) == 0);
    /* Every second row: a box of 8 rows is 4 in workgroup memory. */
    uint32_t few[3] = { 32, 8, 6 };
    from = map_of(COMPUTE_ELEMENT_F16, 3, shape, strides, few, COMPUTE_SWIZZLE_64B);
    from.element_strides[1] = 2;
    to = filled;
    try_tile(kernel, &from, &to, at);
}

TEST(l13_outside_a_tensor_of_floats_there_is_nan_if_asked_for)
{
    if (!needs_maps()) return;
    compute_kernel kernel = make_tile(COMPUTE_ACCESS_WRITE);
    uint64_t shape[2] = { 20, 20 }, strides[2] = { 0, 80 };
    uint32_t sides[2] = { 32, 2 };
    compute_tensor_map_desc map = map_of(COMPUTE_ELEMENT_F32, 2, shape, strides, sides, COMPUTE_SWIZZLE_NONE);
    map.outside = COMPUTE_OUTSIDE_NAN;
    compute_buffer in = make_buffer(device, 1600, "in"), out = make_buffer(device, 1600, "out"), seen = make_buffer(device, 256, "seen");
    float one = 1.0f, found[64];
    compute_view all = whole(in);
    OK(compute_stream_fill(stream, &all, &one, 4, E));
    struct place at = { 2, 256, { 0, 0, 0 }, { 0, 0, 0 } };
    compute_binding bindings[4] = { bind_map(0, in, 0, COMPUTE_WHOLE, &map), bind_map(1, out, 0, COMPUTE_WHOLE, &map), bind(2, seen), bind_bytes(3, &at, sizeof at) };
    OK(launch(stream, kernel, 1, bindings, 4));
    OK(get(stream, seen, 0, found, sizeof found));
    for (int n = 0; n < 64; n++) CHECK(n % 32 < 20 ? found[n] == 1.0f : found[n] != found[n]);
}

TEST(t6a_what_is_written_through_a_tensor_map_is_a_part_unless_it_is_vouched_for)
{
    if (!needs_maps()) return;
    compute_kernel part = make_tile(COMPUTE_ACCESS_WRITE), all = make_tile(COMPUTE_ACCESS_WRITE_ALL);
    uint64_t shape[2] = { 8, 4 }, strides[2] = { 0, 32 };
    uint32_t sides[2] = { 8, 4 };
    compute_tensor_map_desc map = map_of(COMPUTE_ELEMENT_U32, 2, shape, strides, sides, COMPUTE_SWIZZLE_NONE), wrong = map;
    compute_buffer in = make_buffer(device, 128, "in"), out = make_buffer(device, 256, "out"), seen = make_buffer(device, 128, "seen");
    fill_words(stream, in, 5);
    struct place at = { 2, 128, { 0, 0, 0 }, { 0, 0, 0 } };
    /* Never-written bytes are zeros behind the tensor. */
    compute_binding bindings[4] = { bind_map(0, in, 0, COMPUTE_WHOLE, &map), bind_map(1, out, 0, COMPUTE_WHOLE, &map), bind(2, seen), bind_bytes(3, &at, sizeof at) };
    OK(launch(stream, part, 1, bindings, 4));
    CHECK_EQ(get_word(stream, out, 31), 5);
    CHECK_EQ(get_word(stream, out, 32), 0);
    /* A refused launch claims the view behind its map; a part does not lift that, all of it does. */
    wrong.rank = 0;
    bindings[1].data = &wrong;
    bindings[1].size = 128;
    IS(COMPUTE_ERROR_LIMIT, launch(stream, part, 1, bindings, 4));
    CHECK(claimed_by(out, 0, 128) != 0);
    CHECK_EQ(claimed_by(out, 128, 128), 0);
    bindings[1].data = &map;
    OK(launch(stream, part, 1, bindings, 4));
    CHECK(claimed_by(out, 0, 128) != 0);
    OK(launch(stream, all, 1, bindings, 4));
    CHECK_EQ(claimed_by(out, 0, 128), 0);
    CHECK_EQ(get_word(stream, out, 0), 5);
    /* L9: one buffer read and written through two maps. */
    bindings[1] = bind_map(1, in, 0, COMPUTE_WHOLE, &map);
    IS(COMPUTE_ERROR_OVERLAP, launch(stream, part, 1, bindings, 4));
}

static uint32_t random_state = 2463534242u;
#define ONE_OF(...) ((const uint64_t[]){ __VA_ARGS__ })[next_random(&random_state) % COUNT_OF(((const uint64_t[]){ __VA_ARGS__ }))]

TEST(l13_whatever_passes_the_checks_is_taken_by_the_driver)
{
    if (!needs_maps()) return;
    compute_native_parameter from = parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_READ);
    compute_kernel kernel = NULL;
    OK(make_native(NULL, NOTHING, "nothing", &from, 1, &kernel));
    compute_buffer buffer = make_buffer(device, 1 << 20, "buffer");
    fill_words(stream, buffer, 1);
    unsigned taken[6] = { 0 }, interleaved = 0;
    for (int n = 0; n < 40000; n++) {
        compute_tensor_map_desc map = COMPUTE_TENSOR_MAP_DESC_INIT;
        map.element = 1 + next_random(&random_state) % 13;
        map.rank = 1 + next_random(&random_state) % 5;
        map.interleave = next_random(&random_state) % 4 == 0 ? next_random(&random_state) % 3 : 0;
        map.swizzle = map.interleave == COMPUTE_INTERLEAVE_32B ? 1 : next_random(&random_state) % 4;
        map.l2_promotion = next_random(&random_state) % 4;
        map.outside = next_random(&random_state) % 8 == 0;
        for (uint32_t axis = 0; axis < map.rank; axis++) {
            map.shape[axis] = axis == 0 ? ONE_OF(1, 3, 4, 16, 64, 100, 1000) : ONE_OF(1, 1, 2, 3, 7, 16, UINT64_C(1) << 32);
            map.strides[axis] = axis == 0 ? 0 : ONE_OF(0, 0, 16, 16, 32, 48, 128, 1024, 4096, (UINT64_C(1) << 40) - 32);
            map.box_shape[axis] = axis == 0 ? (uint32_t)ONE_OF(1, 2, 4, 8, 16, 32, 64, 128, 256) : (uint32_t)ONE_OF(1, 2, 3, 8, 100, 256);
            map.element_strides[axis] = axis == 0 ? 0 : (uint32_t)ONE_OF(0, 1, 2, 3, 8);
        }
        compute_binding binding = bind_map(0, buffer, 0, COMPUTE_WHOLE, &map);
        compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, &binding, 1);
        compute_status status = compute_stream_launch(stream, &desc, E);
        if (status == COMPUTE_OK) taken[map.rank]++, interleaved += map.interleave != 0;
        else if (status <= -200) {
            fprintf(stderr, "  element %u rank %u interleave %u swizzle %u outside %u\n", map.element, map.rank, map.interleave, map.swizzle, map.outside);
            for (uint32_t axis = 0; axis < map.rank; axis++)
                fprintf(stderr, "    %llu elements, stride %llu, box %u, step %u\n", (unsigned long long)map.shape[axis], (unsigned long long)map.strides[axis],
                    map.box_shape[axis], map.element_strides[axis]);
            fail(__FILE__, __LINE__, "refused by the driver");
        }
    }
    printf("  taken: %u %u %u %u %u, of these interleaved %u\n", taken[1], taken[2], taken[3], taken[4], taken[5], interleaved);
    for (int rank = 1; rank < 6; rank++) CHECK(taken[rank] > 100);
    CHECK(interleaved > 100);
    wait_for(stream);
}

/* Nanoseconds of a launch on the host, the best of several rounds. */
static uint64_t cost_of(compute_kernel kernel, const compute_binding *bindings, size_t count)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 20; round++) {
        uint64_t start = now_ns();
        for (int n = 0; n < 500; n++) {
            compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, count);
            OK(compute_stream_launch(stream, &desc, NULL));
        }
        uint64_t took = (now_ns() - start) / 500;
        if (took < best) best = took;
        wait_for(stream);
    }
    return best;
}

TEST(l13_launches_with_tensor_maps_cost_what_others_do)
{
    if (!needs_maps()) return;
    compute_native_parameter from = parameter("from", COMPUTE_PARAMETER_TENSOR_MAP, COMPUTE_ACCESS_READ);
    compute_kernel mapped = NULL, plain = NULL;
    OK(make_native(NULL, NOTHING, "nothing", &from, 1, &mapped));
    from.kind = COMPUTE_PARAMETER_BUFFER;
    OK(make_native(NULL, "extern \"C\" __global__ void plain(const void *from) {}\n", "plain", &from, 1, &plain));
    compute_buffer buffer = make_buffer(device, BYTES, "buffer");
    fill_words(stream, buffer, 1);
    compute_tensor_map_desc map = words_map();
    compute_binding bindings[2] = { bind_map(0, buffer, 0, COMPUTE_WHOLE, &map), bind(0, buffer) };
    uint64_t with = cost_of(mapped, &bindings[0], 1), without = cost_of(plain, &bindings[1], 1);
    printf("  a launch with a tensor map takes %llu ns of the host, with an address %llu ns\n", (unsigned long long)with, (unsigned long long)without);
    CHECK(with < 2 * without);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(l13_a_device_without_tensor_maps_refuses_a_kernel_that_needs_them_and_says_why);
    RUN(l11_a_portable_source_beside_a_tensor_map_has_a_storage_buffer_there);
    RUN(l13_an_unused_tensor_map_and_one_that_the_portable_source_does_not_cover_are_refused);
    RUN(l13_each_limit_is_checked_with_what_was_asked_and_what_is_allowed);
    RUN(f1_a_view_where_a_tensor_goes_and_bindings_that_are_neither_are_refused);
    RUN(t5_a_launch_that_would_read_claimed_bytes_through_a_tensor_map_is_skipped);
    RUN(l9_a_tensor_map_overlaps_like_any_other_view);
    RUN(g3_captured_and_explicit_graphs_keep_tensor_maps_and_updates_give_others);
    RUN(l13_boxes_of_two_dimensions_are_loaded_swizzled_filled_and_stored_byte_by_byte);
    RUN(l13_boxes_of_three_dimensions_and_rows_that_are_stepped_over_are_right_byte_by_byte);
    RUN(l13_outside_a_tensor_of_floats_there_is_nan_if_asked_for);
    RUN(t6a_what_is_written_through_a_tensor_map_is_a_part_unless_it_is_vouched_for);
    RUN(l13_whatever_passes_the_checks_is_taken_by_the_driver);
    RUN(l13_launches_with_tensor_maps_cost_what_others_do);
    return finish();
}
