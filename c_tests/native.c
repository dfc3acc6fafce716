/* Native kernels (T6, L4, L9, L10, L11, F1): sources of vendors beside portable ones, declared once. RULES_BACKEND selects the device; what needs CUDA or HIP says so
 * where it is left out. */
#include "rules.h"
#include "scale_spirv.h"

static compute_device device;
static compute_stream stream;

enum { WORDS = 300, GROUP = 64, GROUPS = (WORDS + GROUP - 1) / GROUP };

/* out[i] = in[i] * factor + offset, in four languages. */
static const char WGSL[] =
    "@group(0) @binding(0) var<storage, read> input: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> output: array<u32>;\n"
    "@group(0) @binding(2) var<uniform> factor: u32;\n"
    "@group(0) @binding(3) var<uniform> count: u32;\n"
    "@compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {\n"
    "  if id.x < count { output[id.x] = input[id.x] * factor + 1u; } }\n";
#define C_BODY \
    "(const unsigned* input, unsigned* output, unsigned factor, unsigned count) {\n" \
    "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n" \
    "  if (i < count) output[i] = input[i] * factor + OFFSET; }\n"
static const char CUDA[] = "extern \"C\" __global__ void scale_cuda" C_BODY;
static const char HIP[] = "extern \"C\" __global__ void scale_hip" C_BODY;
static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry scale_ptx(.param .u64 i, .param .u64 o, .param .u32 f, .param .u32 n) {\n"
    "  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d0, [i]; ld.param.u64 %d1, [o]; ld.param.u32 %r0, [f]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p, %r5, %r1; @%p bra end;\n"
    "  mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;\n"
    "  ld.global.u32 %r6, [%d3]; mad.lo.u32 %r7, %r6, %r0, 3; st.global.u32 [%d4], %r7;\nend: ret;\n}\n";

static const char *const OFFSET_2[] = { "-DOFFSET=2" };

/* What multiplies here also adds: 1 the portable source, 2 C++, 3 PTX. */
static int is_native(void) { return on("cuda") || on("hip"); }

static void set_up(void)
{
    device = open_device();
    stream = make_stream(device);
}

static compute_native_source source_of(uint32_t language, const char *text, const char *entry)
{
    compute_native_source source;
    memset(&source, 0, sizeof source);
    source.language = language;
    source.code = text;
    source.code_length = COMPUTE_NUL_TERMINATED;
    source.entry = entry;
    source.entry_length = COMPUTE_NUL_TERMINATED;
    if (language == COMPUTE_LANGUAGE_CUDA || language == COMPUTE_LANGUAGE_HIP) {
        source.options = OFFSET_2;
        source.option_count = 1;
    }
    return source;
}
static compute_native_source cuda_source(void) { return source_of(COMPUTE_LANGUAGE_CUDA, CUDA, "scale_cuda"); }
static compute_native_source hip_source(void) { return source_of(COMPUTE_LANGUAGE_HIP, HIP, "scale_hip"); }
/* What this device compiles as text. */
static compute_native_source text_source(const char *text, const char *entry)
{
    return source_of(on("cuda") ? COMPUTE_LANGUAGE_CUDA : COMPUTE_LANGUAGE_HIP, text, entry);
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

static compute_native_parameter scale_parameters[4];

static compute_native_desc native_of(const compute_native_source *sources, size_t count, const compute_native_parameter *parameters, size_t parameter_count)
{
    compute_native_desc desc = COMPUTE_NATIVE_DESC_INIT;
    desc.sources = sources;
    desc.source_count = count;
    desc.parameters = parameters;
    desc.parameter_count = parameter_count;
    desc.workgroup_size[0] = GROUP;
    return desc;
}
/* The declaration of `scale`. */
static compute_native_desc scale_of(const compute_native_source *sources, size_t count)
{
    scale_parameters[0] = parameter("input", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_READ);
    scale_parameters[1] = parameter("output", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE);
    scale_parameters[2] = parameter("factor", COMPUTE_PARAMETER_U32, 0);
    scale_parameters[3] = parameter("count", COMPUTE_PARAMETER_U32, 0);
    return native_of(sources, count, scale_parameters, 4);
}

static compute_status make(const char *portable, const compute_native_desc *native, uint32_t bounds, compute_kernel *out)
{
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.source = portable;
    desc.source_length = portable ? strlen(portable) : 0;
    desc.label = "native";
    desc.label_length = COMPUTE_NUL_TERMINATED;
    desc.bounds = bounds;
    desc.next = native;
    return compute_kernel_create(device, &desc, out, E);
}
/* Tells what was said, for people who read the log. */
static void told(void)
{
    if (last_error) print_error(last_error);
}

static compute_kernel_info info_of(compute_kernel kernel)
{
    compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
    OK(compute_kernel_get_info(kernel, &info, E));
    return info;
}

static compute_status run_scale(compute_kernel kernel, compute_buffer in, compute_buffer out, uint32_t factor)
{
    static uint32_t given[2];
    given[0] = factor;
    given[1] = WORDS;
    compute_binding bindings[4] = { bind(0, in), bind(1, out), bind_bytes(2, &given[0], 4), bind_bytes(3, &given[1], 4) };
    return launch(stream, kernel, GROUPS, bindings, 4);
}
/* Runs `scale` and compares every word. */
static void try_scale(compute_kernel kernel, uint32_t offset)
{
    uint32_t words[WORDS];
    compute_buffer in = make_buffer(device, sizeof words, "in"), out = make_buffer(device, sizeof words, "out");
    for (uint32_t i = 0; i < WORDS; i++) words[i] = 10 * i;
    put(stream, in, 0, words, sizeof words);
    OK(run_scale(kernel, in, out, 7));
    OK(get(stream, out, 0, words, sizeof words));
    for (uint32_t i = 0; i < WORDS; i++) CHECK_EQ(words[i], 70 * i + offset);
}

TEST(l11_one_description_with_portable_cuda_and_hip_sources_runs_on_every_device)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    compute_kernel_info info = info_of(kernel);
    CHECK_EQ(info.native_source, on("cuda") ? 0 : on("hip") ? 1 : COMPUTE_NATIVE_NONE);
    CHECK_EQ(info.language, on("cuda") ? COMPUTE_LANGUAGE_CUDA : on("hip") ? COMPUTE_LANGUAGE_HIP : 0);
    CHECK(strcmp(info.entry, on("cuda") ? "scale_cuda" : on("hip") ? "scale_hip" : "scale") == 0);
    CHECK_EQ(info.workgroup_size[0], GROUP);
    CHECK_EQ(info.binding_count, 4);
    try_scale(kernel, is_native() ? 2 : 1);
}

TEST(l10_parameters_are_bindings_of_group_0_by_name_and_kind)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    uint32_t index = 9;
    OK(compute_kernel_find_binding(kernel, "count", COMPUTE_NUL_TERMINATED, &index, E));
    CHECK_EQ(index, 3);
    compute_binding_info info = COMPUTE_BINDING_INFO_INIT;
    OK(compute_kernel_get_binding(kernel, index, &info, E));
    CHECK_EQ(info.kind, COMPUTE_BINDING_VALUE);
    CHECK_EQ(info.min_size, 4);
    OK(compute_kernel_get_binding(kernel, 1, &info, E));
    CHECK_EQ(info.kind, COMPUTE_BINDING_STORAGE);
    CHECK_EQ(info.access, COMPUTE_ACCESS_WRITE);
    CHECK_EQ(info.min_size, 4);
    CHECK_EQ(info.slot, 1);
}

TEST(l4_values_are_given_inline_with_exactly_their_width)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    compute_buffer in = make_buffer(device, 4 * WORDS, "in"), out = make_buffer(device, 4 * WORDS, "out");
    uint64_t wide = 7;
    uint32_t count = WORDS;
    compute_binding bindings[4] = { bind(0, in), bind(1, out), bind_bytes(2, &wide, 8), bind_bytes(3, &count, 4) };
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, GROUPS, bindings, 4));
    CHECK(error_says("factor") && error_says("4 bytes") && error_says("8 were given"));
    bindings[2] = bind(2, in);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, GROUPS, bindings, 4));
    CHECK(error_says("by value"));
    bindings[2] = bind_bytes(2, &wide, 2);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, GROUPS, bindings, 4));
    bindings[2] = bind_bytes(2, &wide, 4);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, GROUPS, bindings, 3));
    CHECK(error_says("count"));
    OK(launch(stream, kernel, GROUPS, bindings, 4));
}

TEST(t6_declared_access_decides_what_is_claimed_and_skipped)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    compute_buffer in = make_buffer(device, 4 * WORDS, "in"), out = make_buffer(device, 4 * WORDS, "out");
    /* A refused launch claims what it would have written, and nothing else. */
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, GROUPS, bindings, 2));
    uint64_t failure = claimed_by(out, 0, 4 * WORDS);
    CHECK(failure != 0);
    CHECK_EQ(claimed_by(in, 0, 4 * WORDS), 0);
    /* T6a: a write that is not declared to be whole leaves the claim, although the portable source would prove that it is. */
    OK(run_scale(kernel, in, out, 7));
    CHECK_EQ(claimed_by(out, 0, 4), failure);
    /* T5: who reads it is skipped. */
    compute_buffer next = make_buffer(device, 4 * WORDS, "next");
    IS(COMPUTE_SKIPPED, run_scale(kernel, out, next, 7));
    CHECK_EQ(claimed_by(next, 0, 4), failure);
    /* A declared write of all is whole. */
    scale_parameters[1].access = COMPUTE_ACCESS_WRITE_ALL;
    compute_kernel vouched = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &vouched));
    OK(run_scale(vouched, in, out, 7));
    CHECK_EQ(claimed_by(out, 0, 4 * WORDS), 0);
    CHECK_EQ(get_word(stream, out, 5), is_native() ? 2 : 1);
}

/* T1, T6a: what is vouched for is what a source can write. Elements of 12 bytes lie 16 apart, and of the view's last 8 bytes none is an element's. */
static const char THREES[] =
    "@group(0) @binding(0) var<storage, read_write> o: array<vec3<u32>>;\n"
    "@compute @workgroup_size(64) fn threes(@builtin(global_invocation_id) id: vec3<u32>) { if id.x < 4u { o[id.x] = vec3<u32>(7u); } }\n";
static const char THREES_CUDA[] =
    "extern \"C\" __global__ void threes(unsigned *o) {\n"
    "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < 4) o[4 * i] = o[4 * i + 1] = o[4 * i + 2] = 7; }\n";

TEST(t6a_nobody_vouches_for_padding_that_the_portable_source_beside_a_native_one_leaves)
{
    set_up();
    enum { SIZE = 72 };
    compute_native_source source = source_of(on("hip") ? COMPUTE_LANGUAGE_HIP : COMPUTE_LANGUAGE_CUDA, THREES_CUDA, "threes");
    source.options = NULL;
    source.option_count = 0;
    for (int declared = 0; declared < 2; declared++) {
        compute_native_parameter out = parameter("o", COMPUTE_PARAMETER_BUFFER, declared ? COMPUTE_ACCESS_WRITE_ALL : COMPUTE_ACCESS_WRITE);
        compute_native_desc native = native_of(&source, 1, &out, 1);
        compute_kernel kernel = NULL;
        OK(make(THREES, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
        compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
        desc.size = SIZE;
        desc.stream = stream;
        compute_buffer before = NULL, after = NULL;
        OK(compute_buffer_create(device, &desc, &before, E));
        fill_words(stream, before, 0xdeadbeef);
        wait_for(stream);
        compute_buffer_release(before);
        OK(compute_buffer_create(device, &desc, &after, E));
        compute_binding binding = bind(0, after);
        if (!declared) binding.flags = COMPUTE_BINDING_FLAG_WRITE_ALL;
        OK(launch(stream, kernel, 1, &binding, 1));
        CHECK_EQ(claimed_by(after, 0, COMPUTE_WHOLE), 0);
        for (uint64_t i = 0; i < SIZE / 4; i++) CHECK_EQ(get_word(stream, after, i), i < 16 && i % 4 < 3 ? 7 : 0);
        compute_buffer_release(after);
        compute_kernel_release(kernel);
    }
}

TEST(t6_a_portable_source_that_does_more_than_is_declared_is_refused)
{
    set_up();
    compute_native_source sources[1] = { cuda_source() };
    compute_native_desc native = scale_of(sources, 1);
    compute_kernel kernel = NULL;
    scale_parameters[0].access = COMPUTE_ACCESS_WRITE;
    IS(COMPUTE_ERROR_BINDING, make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    CHECK(error_says("`input`") && error_says("is read"));
    CHECK(kernel == NULL);
    scale_parameters[0].access = COMPUTE_ACCESS_READ;
    scale_parameters[3].kind = COMPUTE_PARAMETER_F64;
    IS(COMPUTE_ERROR_BINDING, make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    CHECK(error_says("`count`") && error_says("8 bytes"));
    native = scale_of(sources, 1);
    native.workgroup_size[0] = 32;
    IS(COMPUTE_ERROR_BINDING, make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    CHECK(error_says("workgroup size"));
}

TEST(l11_without_a_source_for_the_device_the_refusal_says_which_there_are)
{
    set_up();
    compute_native_source other = on("cuda") ? hip_source() : cuda_source();
    compute_native_desc native = scale_of(&other, 1);
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    CHECK(last_info().refusal);
    CHECK(error_says(on("cuda") ? "HIP C++" : "CUDA C++") && error_says("no portable source"));
}

TEST(l5_validation_takes_the_portable_source_as_native_code_cannot_be_validated)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_VALIDATE, &kernel));
    CHECK_EQ(info_of(kernel).native_source, COMPUTE_NATIVE_NONE);
    try_scale(kernel, 1);
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, COMPUTE_BOUNDS_VALIDATE, &kernel));
    CHECK(error_says("cannot be validated"));
}

TEST(t13_under_a_time_limit_the_portable_source_runs_as_native_code_cannot_be_stopped)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    compute_kernel kernel = NULL;
    desc.source = WGSL;
    desc.source_length = COMPUTE_NUL_TERMINATED;
    desc.time_limit = 10 * SECONDS;
    desc.next = &native;
    if (on("wgpu")) { /* it says so by a capability */
        IS(COMPUTE_ERROR_UNSUPPORTED, compute_kernel_create(device, &desc, &kernel, E));
        return;
    }
    OK(compute_kernel_create(device, &desc, &kernel, E));
    CHECK_EQ(info_of(kernel).native_source, COMPUTE_NATIVE_NONE);
    try_scale(kernel, 1);
    desc.source = NULL;
    desc.source_length = 0;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    CHECK(error_says("cannot be stopped"));
}

TEST(l11_constants_need_a_portable_source_and_a_source_for_another_architecture_is_passed_over)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_constant constant = { "N", 1, 4.0, 0, 0 };
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    compute_kernel kernel = NULL;
    desc.constants = &constant;
    desc.constant_count = 1;
    desc.next = &native;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_create(device, &desc, &kernel, E));
    CHECK(error_says("portable source"));
    /* Of every kind of source: PTX for an old generation would run, were it not kept to another. */
    sources[0] = source_of(COMPUTE_LANGUAGE_PTX, ".version 6.0\n.target sm_50\n.address_size 64\n", "k");
    sources[0].target = "sm_50";
    sources[0].target_length = COMPUTE_NUL_TERMINATED;
    native = scale_of(sources, 1);
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    CHECK_EQ(info_of(kernel).native_source, COMPUTE_NATIVE_NONE);
    try_scale(kernel, 1);
}

TEST(f1_bad_native_descriptions_are_refused)
{
    set_up();
    compute_kernel kernel = NULL;
    compute_native_source source = cuda_source();
    compute_native_desc native = scale_of(NULL, 0);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    native.source_count = (size_t)1 << 60;
    IS_CLASS(100, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    native.parameters = NULL;
    IS_CLASS(100, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    native.workgroup_size[0] = 0;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(NULL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    scale_parameters[0].kind = 99;
    IS(COMPUTE_ERROR_INVALID_ENUM, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    scale_parameters[0].access = 9;
    IS(COMPUTE_ERROR_INVALID_ENUM, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    scale_parameters[0].alignment = 3;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    scale_parameters[2].access = COMPUTE_ACCESS_READ;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    scale_parameters[2] = parameter("huge", COMPUTE_PARAMETER_BYTES, 0);
    scale_parameters[2].size = UINT64_MAX;
    scale_parameters[2].alignment = 4;
    IS_CLASS(100, make(NULL, &native, 0, &kernel));
    native = scale_of(&source, 1);
    source.language = COMPUTE_LANGUAGE_WGSL;
    IS(COMPUTE_ERROR_INVALID_ENUM, make(WGSL, &native, 0, &kernel));
    source = cuda_source();
    source.entry = NULL;
    source.entry_length = 0;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    source = cuda_source();
    source.code = NULL;
    source.code_length = 0;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    source = cuda_source();
    source.code_length = sizeof CUDA; /* with the NUL byte */
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    source = cuda_source();
    source.reserved = 1;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    source = cuda_source();
    compute_native_desc twice = native;
    native.next = &twice;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, make(WGSL, &native, 0, &kernel));
    CHECK(kernel == NULL);
}

/* From here on what only the vendors' devices can do. */
static int needs(const char *one, const char *other)
{
    if (on(one) || on(other)) return 1;
    printf("  not tried: needs the %s device\n", one);
    return 0;
}

TEST(l2_a_device_says_where_grids_of_native_kernels_are_read)
{
    set_up();
    int by_host = (device_info(device).capabilities & COMPUTE_CAPABILITY_NATIVE_INDIRECT_BY_HOST) != 0;
    CHECK_EQ(by_host, is_native());
}

TEST(l11_a_source_for_this_very_architecture_goes_first_and_one_for_another_is_passed_over)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    static const char *const three[] = { "-DOFFSET=3" };
    compute_device_info mine = device_info(device);
    compute_native_source one = on("cuda") ? cuda_source() : hip_source();
    compute_native_source sources[3] = { one, one, one };
    sources[0].target = "sm_10";
    sources[2].target = mine.target;
    sources[0].target_length = sources[2].target_length = COMPUTE_NUL_TERMINATED;
    sources[2].options = three;
    compute_native_desc native = scale_of(sources, 3);
    compute_kernel kernel = NULL;
    OK(make(NULL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 2);
    try_scale(kernel, 3);
    native.source_count = 2;
    OK(make(NULL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 1);
    native.source_count = 1;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("sm_10") && error_says(mine.target));
}

TEST(l9_parameters_that_are_declared_aliases_may_overlap)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    compute_native_source source = on("cuda") ? cuda_source() : hip_source();
    compute_native_desc native = scale_of(&source, 1);
    compute_kernel strict = NULL, aliased = NULL;
    OK(make(NULL, &native, 0, &strict));
    scale_parameters[0].alias = scale_parameters[1].alias = 1;
    OK(make(NULL, &native, 0, &aliased));
    compute_buffer both = make_buffer(device, 4 * WORDS, "both");
    fill_words(stream, both, 5);
    OK(run_scale(aliased, both, both, 7));
    CHECK_EQ(get_word(stream, both, WORDS - 1), 37);
    IS(COMPUTE_ERROR_OVERLAP, run_scale(strict, both, both, 7));
    IS(COMPUTE_ERROR_BINDING, make(WGSL, &native, 0, &strict));
    CHECK(error_says("overlap"));
}

TEST(l4_scalars_of_every_width_arrive_as_they_were_given)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    static const char TEXT[] =
        "struct Pair { double x; int y; };\n"
        "extern \"C\" __global__ void widths(signed char a, double* out, unsigned char b, short c, unsigned short d, int e, unsigned f, long long g,\n"
        "    unsigned long long h, float i, double j, Pair k, const double* none) {\n"
        "  double all[] = { (double)a, (double)b, (double)c, (double)d, (double)e, (double)f, (double)g, (double)h, (double)i, j, k.x, (double)k.y,\n"
        "    none == nullptr ? 1.0 : 0.0 };\n"
        "  for (int n = 0; n < 13; n++) out[n] = all[n]; }\n";
    static const struct { uint32_t kind; uint64_t size; } kinds[13] = { { COMPUTE_PARAMETER_I8, 1 }, { COMPUTE_PARAMETER_BUFFER, 0 }, { COMPUTE_PARAMETER_U8, 1 },
        { COMPUTE_PARAMETER_I16, 2 }, { COMPUTE_PARAMETER_U16, 2 }, { COMPUTE_PARAMETER_I32, 4 }, { COMPUTE_PARAMETER_U32, 4 }, { COMPUTE_PARAMETER_I64, 8 },
        { COMPUTE_PARAMETER_U64, 8 }, { COMPUTE_PARAMETER_F32, 4 }, { COMPUTE_PARAMETER_F64, 8 }, { COMPUTE_PARAMETER_BYTES, 16 }, { COMPUTE_PARAMETER_BUFFER, 0 } };
    int8_t a = -100;
    uint8_t b = 200;
    int16_t c = -30000;
    uint16_t d = 60000;
    int32_t e = -2000000000;
    uint32_t f = 4000000000u;
    int64_t g = -(INT64_C(1) << 50);
    uint64_t h = UINT64_C(1) << 60;
    float i = 0.1f;
    double j = 0.2;
    struct { double x; int32_t y, pad; } k = { 0.3, -7, 0 };
    const void *values[13] = { &a, NULL, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, NULL };
    compute_native_parameter parameters[13];
    compute_binding bindings[13];
    compute_buffer out = make_buffer(device, 13 * sizeof(double), "out");
    for (uint32_t n = 0; n < 13; n++) {
        parameters[n] = parameter(NULL, kinds[n].kind, n == 1 ? COMPUTE_ACCESS_WRITE : 0);
        if (n == 11) parameters[n].size = 16, parameters[n].alignment = 8;
        bindings[n] = values[n] ? bind_bytes(n, values[n], kinds[n].size) : bind(n, out);
    }
    compute_native_source source = text_source(TEXT, "widths");
    compute_native_desc native = native_of(&source, 1, parameters, 13);
    native.workgroup_size[0] = 1;
    compute_kernel kernel = NULL;
    OK(make(NULL, &native, 0, &kernel));
    OK(launch(stream, kernel, 1, bindings, 12)); /* what is unused need not be given */
    double found[13], expected[13] = { a, b, c, d, e, f, (double)g, (double)h, i, j, k.x, k.y, 1.0 };
    OK(get(stream, out, 0, found, sizeof found));
    CHECK(memcmp(found, expected, sizeof found) == 0);
}

TEST(dl_07_dynamic_workgroup_memory_is_asked_for_and_its_limit_is_told)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    static const char TEXT[] =
        "extern __shared__ unsigned words[];\n"
        "extern \"C\" __global__ void sum(unsigned* out, unsigned count) {\n"
        "  __shared__ volatile char one;\n  if (threadIdx.x == 0) one = 1;\n"
        "  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) words[i] = 1;\n  __syncthreads();\n"
        "  if (threadIdx.x == 0) { unsigned all = one - 1u; for (unsigned i = 0; i < count; i++) all += words[i]; out[0] = all; } }\n";
    compute_native_source source = text_source(TEXT, "sum");
    compute_native_parameter parameters[2] = { parameter("out", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE_ALL), parameter("count", COMPUTE_PARAMETER_U32, 0) };
    compute_buffer out = make_buffer(device, 4, "out");
    static const uint32_t sizes[] = { 4, 47, 48, 49, 100, 200, 4, 63 };
    uint64_t most = device_info(device).max_workgroup_memory;
    compute_kernel kernels[COUNT_OF(sizes)];
    for (size_t n = 0; n < COUNT_OF(sizes); n++) {
        compute_native_desc native = native_of(&source, 1, parameters, 2);
        native.workgroup_memory = sizes[n] << 10;
        kernels[n] = NULL;
        if (native.workgroup_memory > most) {
            IS(COMPUTE_ERROR_LIMIT, make(NULL, &native, 0, &kernels[n]));
            continue;
        }
        if (native.workgroup_memory == most) {
            /* The code has a byte of its own. */
            IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernels[n]));
            continue;
        }
        OK(make(NULL, &native, 0, &kernels[n]));
    }
    /* After all are made: none has lowered what another one asked for. */
    for (size_t n = 0; n < COUNT_OF(sizes); n++) {
        if (!kernels[n]) continue;
        uint32_t count = sizes[n] << 8;
        compute_binding bindings[2] = { bind(0, out), bind_bytes(1, &count, 4) };
        OK(launch(stream, kernels[n], 1, bindings, 2));
        CHECK_EQ(get_word(stream, out, 0), count);
    }
    compute_native_desc native = native_of(&source, 1, parameters, 2);
    native.workgroup_memory = 300 << 10;
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_LIMIT, make(NULL, &native, 0, &kernel));
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)most);
    CHECK(error_says("307200") && error_says(number));
    told();
    /* All of it is one byte too many, as the code has one of its own. */
    native.workgroup_memory = (uint32_t)most;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("bytes of workgroup memory and") && error_says(number));
}

/* Launches a kernel of its own, over and over. */
struct turns {
    compute_stream stream;
    compute_kernel kernel;
    compute_buffer out;
    uint32_t count;
};
static void *take_turns(void *of)
{
    struct turns *mine = of;
    compute_binding bindings[2] = { bind(0, mine->out), bind_bytes(1, &mine->count, 4) };
    compute_launch_desc desc = launch_desc(mine->kernel, 1, 1, 1, bindings, 2);
    for (int n = 0; n < 1000; n++) {
        if (compute_stream_launch(mine->stream, &desc, NULL) != COMPUTE_OK) return (void *)mine;
    }
    return NULL;
}

TEST(dl_07_threads_with_little_and_much_workgroup_memory_do_not_disturb_each_other)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    compute_native_source source = text_source(
        "extern __shared__ unsigned words[];\n"
        "extern \"C\" __global__ void last(unsigned* out, unsigned count) { words[count - 1] = count; out[0] = words[count - 1]; }\n", "last");
    compute_native_parameter parameters[2] = { parameter("out", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE_ALL), parameter("count", COMPUTE_PARAMETER_U32, 0) };
    struct turns turns[2];
    pthread_t threads[2];
    const uint64_t most = device_info(device).max_workgroup_memory;
    for (int n = 0; n < 2; n++) {
        compute_native_desc native = native_of(&source, 1, parameters, 2);
        native.workgroup_size[0] = 1;
        native.workgroup_memory = n == 0 ? 4 : most < 200 << 10 ? (uint32_t)most : 200 << 10;
        turns[n].stream = make_stream(device);
        turns[n].out = make_buffer(device, 4, "out");
        turns[n].count = native.workgroup_memory / 4;
        turns[n].kernel = NULL;
        OK(make(NULL, &native, 0, &turns[n].kernel));
    }
    for (int n = 0; n < 2; n++) CHECK_EQ(pthread_create(&threads[n], NULL, take_turns, &turns[n]), 0);
    for (int n = 0; n < 2; n++) {
        void *failed = NULL;
        CHECK_EQ(pthread_join(threads[n], &failed), 0);
        CHECK(failed == NULL);
        CHECK_EQ(get_word(turns[n].stream, turns[n].out, 0), turns[n].count);
    }
}

TEST(dl_08_arguments_are_compared_with_the_code_where_the_driver_tells)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    static const char TEXT[] = "extern \"C\" __global__ void three(float* o, float a, char c) { o[0] = a + (float)c; }\n";
    compute_native_source source = text_source(TEXT, "three");
    compute_native_parameter parameters[4] = { parameter("o", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE_ALL), parameter("a", COMPUTE_PARAMETER_F32, 0),
        parameter("c", COMPUTE_PARAMETER_I8, 0), parameter("d", COMPUTE_PARAMETER_I8, 0) };
    compute_kernel kernel = NULL;
    compute_native_desc native = native_of(&source, 1, parameters, 2);
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("parameter 2") && error_says("2 parameters are declared"));
    told();
    native.parameter_count = 4;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("parameter 3"));
    told();
    native.parameter_count = 3;
    parameters[1].kind = COMPUTE_PARAMETER_F64;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("parameter 1") && error_says("8 bytes"));
    CHECK(last_info().refusal);
    told();
    parameters[1].kind = COMPUTE_PARAMETER_F32;
    OK(make(NULL, &native, 0, &kernel));
    compute_buffer out = make_buffer(device, 4, "out");
    float a = 1.5f, found = 0;
    double wrong = 1.5;
    int8_t c = 2;
    compute_binding bindings[3] = { bind(0, out), bind_bytes(1, &wrong, 8), bind_bytes(2, &c, 1) };
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 3));
    bindings[1] = bind_bytes(1, &a, 4);
    OK(launch(stream, kernel, 1, bindings, 3));
    OK(get(stream, out, 0, &found, 4));
    CHECK(found == 3.5f);
}

TEST(pkg_03_an_error_of_the_compiler_is_told_with_its_line)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    compute_native_source source = text_source("extern \"C\" __global__ void k(unsigned* o) {\n  o[0] = not_there;\n}\n", "k");
    compute_native_parameter o = parameter("o", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE);
    compute_native_desc native = native_of(&source, 1, &o, 1);
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("not_there"));
    CHECK(last_info().refusal);
    CHECK_EQ(last_info().line, 2);
    source = text_source("extern \"C\" __global__ void k(unsigned* o) {}\n", "l");
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("`l`"));
    told();
}

TEST(t7_a_native_source_that_turns_out_not_to_compile_claims_what_is_declared_as_written)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    compute_native_source source = text_source("extern \"C\" __global__ void k(unsigned* i, unsigned* o) { wrong }\n", "k");
    compute_native_parameter parameters[2] = { parameter("i", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_READ), parameter("o", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE) };
    compute_native_desc native = native_of(&source, 1, parameters, 2);
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.compile = COMPUTE_COMPILE_LAZY;
    desc.next = &native;
    compute_kernel kernel = make_kernel_from(device, &desc);
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 16, "out");
    IS(COMPUTE_ERROR_COMPILE, launch_io(stream, kernel, "", in, out, 1));
    CHECK(last_info().refusal);
    CHECK(claimed_by(out, 0, 16) != 0);
    CHECK_EQ(claimed_by(in, 0, 16), 0);
}

TEST(pkg_03_headers_are_given_with_the_source_and_missed_by_name)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    compute_native_source source = source_of(COMPUTE_LANGUAGE_CUDA, "#include \"offset.h\"\nextern \"C\" __global__ void scale_cuda" C_BODY, "scale_cuda");
    source.option_count = 0;
    compute_native_desc native = scale_of(&source, 1);
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("offset.h") && error_says("--include-path="));
    told();
    compute_native_header header = { "offset.h", COMPUTE_NUL_TERMINATED, "#define OFFSET 4\n", COMPUTE_NUL_TERMINATED };
    source.headers = &header;
    source.header_count = 1;
    OK(make(NULL, &native, 0, &kernel));
    try_scale(kernel, 4);
}

TEST(pkg_03_cudas_own_headers_work_from_their_folder)
{
    if (!needs("cuda", "cuda")) return;
    static char option[4096];
    if (!getenv("NATIVE_INCLUDE")) {
        printf("  not tried: NATIVE_INCLUDE names no folder with cuda_fp16.h\n");
        return;
    }
    set_up();
    snprintf(option, sizeof option, "--include-path=%s", getenv("NATIVE_INCLUDE"));
    static const char *const options[] = { option };
    compute_native_source source = source_of(COMPUTE_LANGUAGE_CUDA, "#include <cuda_fp16.h>\nextern \"C\" __global__ void twice(__half* o, __half x) { *o = x + x; }\n", "twice");
    source.option_count = 0;
    compute_native_parameter parameters[2] = { parameter("o", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE_ALL), parameter("x", COMPUTE_PARAMETER_F16, 0) };
    compute_native_desc native = native_of(&source, 1, parameters, 2);
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("cuda_fp16.h"));
    source.options = options;
    source.option_count = 1;
    OK(make(NULL, &native, 0, &kernel));
    uint16_t x = 0x3e00, found = 0; /* 1.5 */
    compute_buffer out = make_buffer(device, 2, "out");
    compute_binding bindings[2] = { bind(0, out), bind_bytes(1, &x, 2) };
    OK(launch(stream, kernel, 1, bindings, 2));
    OK(get(stream, out, 0, &found, 2));
    CHECK_EQ(found, 0x4200); /* 3.0 */
}

TEST(l11_ptx_goes_before_text_and_a_later_version_is_refused_by_number)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    compute_native_source sources[2] = { cuda_source(), source_of(COMPUTE_LANGUAGE_PTX, PTX, "scale_ptx") };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 1);
    try_scale(kernel, 3);
    sources[1].code = ".version 99.0\n.target sm_90\n.address_size 64\n";
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 0);
    native.sources = &sources[1];
    native.source_count = 1;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("99.0") && error_says("driver"));
    told();
    sources[1].code = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry scale_ptx() { nonsense; }\n";
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(last_info().refusal);
    told();
}

TEST(pkg_03_machine_code_runs_where_it_was_made_for_and_names_both_elsewhere)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    static unsigned char code[2][1 << 16];
    compute_device_info mine = device_info(device);
    size_t length[2] = { 0, 0 };
    const char *paths[2] = { getenv("NATIVE_CUBIN"), getenv("NATIVE_CUBIN_75") };
    for (int n = 0; n < 2; n++) {
        FILE *file = paths[n] ? fopen(paths[n], "rb") : NULL;
        if (!file) {
            printf("  not tried: NATIVE_CUBIN and NATIVE_CUBIN_75 name no files with `scale_cuda` for this device and for sm_75\n");
            return;
        }
        length[n] = fread(code[n], 1, sizeof code[n], file);
        fclose(file);
    }
    compute_native_source sources[2] = { cuda_source(), source_of(COMPUTE_LANGUAGE_CUBIN, NULL, "scale_cuda") };
    sources[1].code = code[0];
    sources[1].code_length = length[0];
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(NULL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 1);
    try_scale(kernel, 5);
    native.sources = &sources[1];
    native.source_count = 1;
    sources[1].code = code[1];
    sources[1].code_length = length[1];
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("sm_75") && error_says(mine.target));
    told();
    sources[1].code = code[0];
    for (size_t cut = 1; cut < length[0]; cut += 97) {
        sources[1].code_length = cut;
        IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    }
}

/* Appends a part to a fat binary: machine code for an architecture. */
static size_t add_part(unsigned char *fat, size_t end, uint32_t architecture, const void *code, size_t length)
{
    const uint16_t words[] = { 2, 0x101 };
    const uint32_t head = 64, version[] = { 0x10007, architecture }, flags = 0x11;
    uint64_t size = (length + 7) / 8 * 8;
    memset(fat + end, 0, head + size);
    memcpy(fat + end, words, sizeof words);
    memcpy(fat + end + 4, &head, 4);
    memcpy(fat + end + 8, &size, 8);
    memcpy(fat + end + 24, version, sizeof version);
    memcpy(fat + end + 40, &flags, 4);
    memcpy(fat + end + head, code, length);
    return end + head + size;
}
static size_t begin_fat(unsigned char *fat) { memcpy(fat, "\x50\xed\x55\xba\x01\x00\x10\x00", 8); return 16; }
static void end_fat(unsigned char *fat, size_t end)
{
    uint64_t size = end - 16;
    memcpy(fat + 8, &size, 8);
}

TEST(pkg_03_a_fat_binary_runs_by_its_part_for_the_device_and_names_its_parts_elsewhere)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    static unsigned char fat[1 << 17], code[2][1 << 15];
    size_t length[2] = { 0, 0 };
    compute_device_info mine = device_info(device);
    const char *paths[2] = { getenv("NATIVE_CUBIN"), getenv("NATIVE_CUBIN_75") };
    for (int n = 0; n < 2; n++) {
        FILE *file = paths[n] ? fopen(paths[n], "rb") : NULL;
        if (!file) {
            printf("  a part for this device is not tried: NATIVE_CUBIN and NATIVE_CUBIN_75 name no files\n");
            break;
        }
        length[n] = fread(code[n], 1, sizeof code[n], file);
        fclose(file);
    }
    compute_native_source source = source_of(COMPUTE_LANGUAGE_CUBIN, NULL, "scale_cuda");
    compute_native_desc native = scale_of(&source, 1);
    compute_kernel kernel = NULL;
    size_t end = add_part(fat, begin_fat(fat), 75, code[1], length[1]);
    end = add_part(fat, end, 53, "not looked into", 16);
    end_fat(fat, end);
    source.code = fat;
    source.code_length = end;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("holds sm_75, sm_53") && error_says(mine.target));
    told();
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, COMPUTE_NATIVE_NONE);
    if (!length[0]) return;
    end = add_part(fat, add_part(fat, begin_fat(fat), 75, code[1], length[1]), 90, code[0], length[0]);
    end_fat(fat, end);
    source.code_length = end;
    OK(make(NULL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 0);
    try_scale(kernel, 5);
    for (size_t cut = 1; cut < end; cut += 97) {
        source.code_length = cut;
        IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    }
}

TEST(l11_spirv_goes_to_vulkan_as_it_is)
{
    if (!needs("wgpu", "wgpu")) return;
    set_up();
    compute_native_source sources[2] = { cuda_source(), source_of(COMPUTE_LANGUAGE_NATIVE_SPIRV, NULL, "scale_spirv") };
    sources[1].code = SCALE_SPIRV;
    sources[1].code_length = sizeof SCALE_SPIRV;
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 1);
    try_scale(kernel, 6);
    sources[1].code_length -= 2;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("SPIR-V") && error_says("does not begin as a module does"));
    /* A view that ends within a word, of which the last bytes are not bound: nothing is claimed to be whole there. */
    sources[1].code_length += 2;
    scale_parameters[1].access = COMPUTE_ACCESS_WRITE_ALL;
    OK(make(NULL, &native, 0, &kernel));
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 16, "out");
    uint32_t factor = 1, one = 1;
    compute_binding bindings[4] = { bind(0, in), bind_range(1, out, 0, 7), bind_bytes(2, &factor, 4), bind_bytes(3, &one, 4) };
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 2));
    CHECK(claimed_by(out, 0, 7) != 0);
    OK(launch(stream, kernel, 1, bindings, 4));
    CHECK(claimed_by(out, 6, 1) != 0);
    /* A portable source beside it, whose elements end before these bytes, changes nothing. */
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, 1);
    OK(launch(stream, kernel, 1, bindings, 4));
    CHECK(claimed_by(out, 6, 1) != 0);
    bindings[1] = bind_range(1, out, 0, 3);
    IS(COMPUTE_ERROR_BINDING, launch(stream, kernel, 1, bindings, 4));
    /* What nobody behind the library looks at. */
    native.workgroup_size[0] = 2 * GROUP;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("workgroup size"));
    native.workgroup_size[0] = GROUP;
    sources[1].entry = "scale";
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("no compute entry point `scale`"));
    /* What it has no place for: the portable source runs. */
    sources[1].entry = "scale_spirv";
    native.workgroup_memory = 64;
    OK(make(WGSL, &native, 0, &kernel));
    CHECK_EQ(info_of(kernel).native_source, COMPUTE_NATIVE_NONE);
}

TEST(l3_a_workgroup_that_the_code_cannot_have_is_refused_with_numbers)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    compute_native_source source = text_source("extern \"C\" __global__ void __launch_bounds__(128) k(unsigned* o) { o[threadIdx.x] = 1; }\n", "k");
    compute_native_parameter o = parameter("o", COMPUTE_PARAMETER_BUFFER, COMPUTE_ACCESS_WRITE);
    compute_native_desc native = native_of(&source, 1, &o, 1);
    native.workgroup_size[0] = 256;
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("256") && error_says("128"));
    native.workgroup_size[0] = 4096;
    IS(COMPUTE_ERROR_LIMIT, make(NULL, &native, 0, &kernel));
    native.workgroup_size[0] = 128;
    OK(make(NULL, &native, 0, &kernel));
}

TEST(l7_a_kernel_of_other_options_is_another_kernel)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    static const char *const three[] = { "-DOFFSET=3" };
    compute_native_source source = on("cuda") ? cuda_source() : hip_source();
    compute_native_desc native = scale_of(&source, 1);
    compute_kernel two = NULL, other = NULL;
    OK(make(NULL, &native, 0, &two));
    source.options = three;
    OK(make(NULL, &native, 0, &other));
    try_scale(two, 2);
    try_scale(other, 3);
}

TEST(f1_an_option_that_names_an_architecture_is_refused_before_any_compiler_sees_it)
{
    if (!needs("cuda", "hip")) return;
    set_up();
    static const char *const wrong[] = { "--offload-arch=gfx9999", "--gpu-architecture=sm_999", "-DOFFSET=3 --offload-arch=gfx9999" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        compute_native_source source = on("cuda") ? cuda_source() : hip_source();
        source.options = &wrong[i];
        source.option_count = 1;
        compute_native_desc native = scale_of(&source, 1);
        compute_kernel kernel = NULL;
        IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
        CHECK(kernel == NULL && last_info().refusal == 1);
        CHECK(error_says("names an architecture") && error_says("`target`"));
        told();
    }
}

TEST(l11_a_source_that_is_kept_to_its_generation_alone_is_compiled_for_that)
{
    if (!needs("cuda", "cuda")) return;
    set_up();
    compute_device_info mine = device_info(device);
    if (strcmp(mine.target, "sm_90") != 0) {
        printf("  not tried: the device is no sm_90\n");
        return;
    }
    compute_native_source source = source_of(COMPUTE_LANGUAGE_CUDA, "#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error plain\n#endif\nextern \"C\" __global__ void scale_cuda" C_BODY, "scale_cuda");
    compute_native_desc native = scale_of(&source, 1);
    compute_kernel kernel = NULL;
    IS(COMPUTE_ERROR_COMPILE, make(NULL, &native, 0, &kernel));
    CHECK(error_says("plain"));
    source.target = "sm_90a";
    source.target_length = COMPUTE_NUL_TERMINATED;
    OK(make(NULL, &native, 0, &kernel));
    try_scale(kernel, 2);
}

TEST(g5_a_graph_replays_a_native_kernel)
{
    set_up();
    compute_native_source sources[2] = { cuda_source(), hip_source() };
    compute_native_desc native = scale_of(sources, 2);
    compute_kernel kernel = NULL;
    OK(make(WGSL, &native, COMPUTE_BOUNDS_CHECKED, &kernel));
    compute_buffer in = make_buffer(device, 4 * WORDS, "in"), out = make_buffer(device, 4 * WORDS, "out");
    fill_words(stream, in, 3);
    uint64_t capture = 0;
    OK(compute_stream_prepare_capture(stream, E));
    OK(compute_stream_begin_capture(stream, NULL, &capture, E));
    OK(run_scale(kernel, in, out, 7));
    compute_graph graph = NULL;
    OK(compute_stream_end_capture(stream, capture, &graph, E));
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, out, WORDS - 1), 21u + (is_native() ? 2u : 1u));
    fill_words(stream, in, 4);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(get_word(stream, out, 0), 28u + (is_native() ? 2u : 1u));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(l11_one_description_with_portable_cuda_and_hip_sources_runs_on_every_device);
    RUN(l10_parameters_are_bindings_of_group_0_by_name_and_kind);
    RUN(l4_values_are_given_inline_with_exactly_their_width);
    RUN(t6_declared_access_decides_what_is_claimed_and_skipped);
    RUN(t6a_nobody_vouches_for_padding_that_the_portable_source_beside_a_native_one_leaves);
    RUN(t6_a_portable_source_that_does_more_than_is_declared_is_refused);
    RUN(l11_without_a_source_for_the_device_the_refusal_says_which_there_are);
    RUN(l5_validation_takes_the_portable_source_as_native_code_cannot_be_validated);
    RUN(t13_under_a_time_limit_the_portable_source_runs_as_native_code_cannot_be_stopped);
    RUN(l11_constants_need_a_portable_source_and_a_source_for_another_architecture_is_passed_over);
    RUN(f1_bad_native_descriptions_are_refused);
    RUN(l2_a_device_says_where_grids_of_native_kernels_are_read);
    RUN(l11_a_source_for_this_very_architecture_goes_first_and_one_for_another_is_passed_over);
    RUN(l9_parameters_that_are_declared_aliases_may_overlap);
    RUN(l4_scalars_of_every_width_arrive_as_they_were_given);
    RUN(dl_07_dynamic_workgroup_memory_is_asked_for_and_its_limit_is_told);
    RUN(dl_07_threads_with_little_and_much_workgroup_memory_do_not_disturb_each_other);
    RUN(dl_08_arguments_are_compared_with_the_code_where_the_driver_tells);
    RUN(pkg_03_an_error_of_the_compiler_is_told_with_its_line);
    RUN(t7_a_native_source_that_turns_out_not_to_compile_claims_what_is_declared_as_written);
    RUN(pkg_03_headers_are_given_with_the_source_and_missed_by_name);
    RUN(pkg_03_cudas_own_headers_work_from_their_folder);
    RUN(l11_ptx_goes_before_text_and_a_later_version_is_refused_by_number);
    RUN(pkg_03_machine_code_runs_where_it_was_made_for_and_names_both_elsewhere);
    RUN(pkg_03_a_fat_binary_runs_by_its_part_for_the_device_and_names_its_parts_elsewhere);
    RUN(l11_spirv_goes_to_vulkan_as_it_is);
    RUN(l3_a_workgroup_that_the_code_cannot_have_is_refused_with_numbers);
    RUN(l7_a_kernel_of_other_options_is_another_kernel);
    RUN(f1_an_option_that_names_an_architecture_is_refused_before_any_compiler_sees_it);
    RUN(l11_a_source_that_is_kept_to_its_generation_alone_is_compiled_for_that);
    RUN(g5_a_graph_replays_a_native_kernel);
    return finish();
}
