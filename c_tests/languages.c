/* Sources in three languages, found by what they are, the files that they include, and what is easily broken on the way to a device. */
#include "rules.h"
#include "glslang_spirv.h"
#include "scale_spirv.h"

static const char GLSL[] =
    "/* a comment first */\n#version 450\n"
    "#include \"shared.glsl\"\n"
    "layout(local_size_x = 4) in;\n"
    "layout(binding = 0) readonly buffer In { uint I[]; };\n"
    "layout(binding = 1) writeonly buffer Out { uint O[]; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; O[i] = twice(I[i]) + 1u; }\n";

static const char WGSL[] =
    "#include <shared.wgsl>\n"
    "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
    "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) g: vec3<u32>) { O[g.x] = twice(I[g.x]) + 1u; }\n";

static unsigned asked;

static compute_status give(void *user, const compute_include_request *request, compute_include_answer *answer)
{
    ++asked;
    CHECK(user == &asked);
    CHECK_EQ(request->path_length, strlen(request->path));
    CHECK(strcmp(request->from, "kernel") == 0 || strcmp(request->from, "lib/shared.glsl") == 0);
    /* Any call is allowed in here. */
    CHECK(compute_version() != NULL);
    if (strcmp(request->path, "shared.glsl") == 0) {
        CHECK_EQ(request->style, COMPUTE_INCLUDE_QUOTE);
        answer->text = "#pragma once\n#include \"wrong.glsl\"\n#include \"shared.glsl\"\nuint twice(uint x) { return 2u * x; }\n";
        answer->text_length = COMPUTE_NUL_TERMINATED;
        answer->name = "lib/shared.glsl";
        answer->name_length = COMPUTE_NUL_TERMINATED;
        return COMPUTE_OK;
    }
    if (strcmp(request->path, "shared.wgsl") == 0) {
        CHECK_EQ(request->style, COMPUTE_INCLUDE_ANGLE);
        answer->text = "fn twice(x: u32) -> u32 { return 2u * x; }";
        answer->text_length = strlen(answer->text);
        return COMPUTE_OK;
    }
    if (strcmp(request->path, "wrong.glsl") == 0) return COMPUTE_OK; /* an empty file */
    answer->message = "no such file here";
    answer->message_length = COMPUTE_NUL_TERMINATED;
    return COMPUTE_ERROR_NOT_FOUND;
}

static compute_status give_with_reserved(void *user, const compute_include_request *request, compute_include_answer *answer)
{
    (void)user;
    (void)request;
    answer->reserved = 3;
    return COMPUTE_OK;
}

static compute_include_desc includes(void)
{
    compute_include_desc desc = COMPUTE_INCLUDE_DESC_INIT;
    desc.callback = give;
    desc.user = &asked;
    return desc;
}

static compute_kernel_desc described(const char *source, const compute_include_desc *chain)
{
    compute_kernel_desc desc = kernel_desc(source, "kernel");
    desc.language = COMPUTE_LANGUAGE_AUTO;
    desc.next = chain;
    return desc;
}

static void doubles_and_adds_one(compute_device device, compute_kernel kernel)
{
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 16, "out");
    fill_words(stream, in, 20);
    OK(launch_io(stream, kernel, "launch", in, out, 1));
    uint32_t words[4] = { 0 };
    OK(get(stream, out, 0, words, sizeof words));
    for (unsigned i = 0; i < 4; ++i) CHECK_EQ(words[i], 41);
}

static void message_has(const char *part)
{
    char text[4096];
    size_t needed = 0;
    OK(compute_error_format(last_error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed));
    if (!strstr(text, part)) {
        fprintf(stderr, "  %s\n  has no `%s`\n", text, part);
        fail(__FILE__, __LINE__, "wrong message");
    }
}

TEST(languages_are_found_and_included_files_are_asked_for_at_creation)
{
    compute_device device = open_device();
    compute_include_desc chain = includes();
    compute_kernel_desc glsl = described(GLSL, &chain), wgsl = described(WGSL, &chain);
    compute_kernel first = make_kernel_from(device, &glsl);
    CHECK_EQ(asked, 3);
    compute_kernel second = make_kernel_from(device, &wgsl);
    CHECK_EQ(asked, 4);
    doubles_and_adds_one(device, first);
    doubles_and_adds_one(device, second);
    CHECK_EQ(asked, 4);
}

TEST(an_included_file_that_is_not_there_says_which_and_why)
{
    compute_device device = open_device();
    compute_include_desc chain = includes();
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = described("#include \"missing\"\n", &chain);
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("`missing` cannot be included: no such file here");
    desc.next = NULL;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("compute_include_desc");
    chain.callback = NULL;
    desc.next = &chain;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_kernel_create(device, &desc, &kernel, E));
    compute_fault_desc fault = COMPUTE_FAULT_DESC_INIT;
    desc.next = &fault;
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_kernel_create(device, &desc, &kernel, E));
}

TEST(an_answer_to_an_include_that_sets_what_is_reserved_is_refused)
{
    compute_device device = open_device();
    compute_include_desc chain = includes();
    chain.callback = give_with_reserved;
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = described(GLSL, &chain);
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("`reserved`");
}

TEST(spir_v_that_is_cut_off_or_odd_is_refused_with_a_reason)
{
    compute_device device = open_device();
    compute_kernel kernel = NULL;
    static const uint32_t words[] = { 0x07230203, 0x00010000, 0, 4, 0, 0x00020011 };
    compute_kernel_desc desc = described("", NULL);
    desc.source = words;
    desc.source_length = sizeof words;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("cut off");
    desc.source_length = sizeof words - 1;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("words of 4 bytes");
    desc.language = COMPUTE_LANGUAGE_SPIRV;
    desc.source = "void main() {}  ";
    desc.source_length = 16;
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    message_has("magic number");
}

/* The module of scale_spirv.h with constants that are decorated as WorkgroupSize: (6, 1, 1), and as many of (1, 1, 1) as are asked for besides. */
static compute_status with_sizes(compute_device device, int others)
{
    enum { UINT = 3, VEC3 = 7, SIX = 0x21, ONE = 0x36, FIRST = 0x37, VOID_TYPE = 0x20013, FUNCTION = 0x50036 };
    static uint32_t words[COUNT_OF(SCALE_SPIRV) + 64];
    size_t length = 0;
    for (size_t i = 0; i < COUNT_OF(SCALE_SPIRV); i++) {
        if (SCALE_SPIRV[i] == VOID_TYPE) {
            for (uint32_t n = 0; n <= (uint32_t)others; n++) {
                const uint32_t decorate[4] = { 0x40047, FIRST + n, 11, 25 };
                memcpy(words + length, decorate, sizeof decorate);
                length += COUNT_OF(decorate);
            }
        }
        if (SCALE_SPIRV[i] == FUNCTION) {
            const uint32_t one[4] = { 0x4002b, UINT, ONE, 1 };
            memcpy(words + length, one, sizeof one);
            length += COUNT_OF(one);
            for (uint32_t n = 0; n <= (uint32_t)others; n++) {
                const uint32_t size[6] = { 0x6002c, VEC3, FIRST + n, n ? ONE : SIX, ONE, ONE };
                memcpy(words + length, size, sizeof size);
                length += COUNT_OF(size);
            }
        }
        words[length++] = SCALE_SPIRV[i];
    }
    words[3] = FIRST + (uint32_t)others + 1;
    compute_kernel_desc desc = kernel_desc("", "kernel");
    desc.language = COMPUTE_LANGUAGE_SPIRV;
    desc.source = words;
    desc.source_length = 4 * length;
    compute_kernel kernel = NULL;
    compute_status status = compute_kernel_create(device, &desc, &kernel, E);
    compute_kernel_info info = COMPUTE_KERNEL_INFO_INIT;
    CHECK((status == COMPUTE_OK) == (kernel != NULL));
    if (kernel) CHECK(compute_kernel_get_info(kernel, &info, NULL) == COMPUTE_OK && info.workgroup_size[0] == 6);
    compute_kernel_release(kernel);
    return status;
}

TEST(spir_v_with_two_sizes_of_its_workgroups_is_refused_rather_than_run_with_either)
{
    compute_device device = open_device();
    OK(with_sizes(device, 0));
    IS(COMPUTE_ERROR_COMPILE, with_sizes(device, 1));
    CHECK(error_says("WorkgroupSize"));
    IS(COMPUTE_ERROR_COMPILE, with_sizes(device, 3));
}

/* What glslang makes of `%`, `bitCount` and `findLSB`: in SPIR-V the first takes the sign of its divisor, and the others give what has a sign of what has none. */
TEST(kt_17_integers_of_glslang_are_what_its_instructions_say)
{
    static const int32_t in_words[][4] = { { 123456789, 10, -40, 7 }, { 33554435, 4, 0, -9 }, { -7, 3, INT32_MIN, -3 }, { 16777217, -5, 12, 1000000007 } };
    static const int32_t expected[][6] = { { 9, 9, 0, 2, 28, 3 }, { 3, 3, 0, 0, 0, -1 }, { 2, 2, 1, -2, 1, 31 }, { -3, -3, -3, 12, 2, 2 } };
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 24, "out");
    compute_kernel_desc desc = kernel_desc("", "glslang");
    desc.language = COMPUTE_LANGUAGE_SPIRV;
    desc.source = GLSLANG_SPIRV;
    desc.source_length = sizeof GLSLANG_SPIRV;
    compute_kernel kernel = make_kernel_from(device, &desc);
    for (size_t i = 0; i < COUNT_OF(in_words); i++) {
        int32_t got[6];
        put(stream, in, 0, in_words[i], sizeof in_words[i]);
        OK(launch_io(stream, kernel, "numbers", in, out, 1));
        OK(get(stream, out, 0, got, sizeof got));
        for (size_t n = 0; n < COUNT_OF(got); n++) CHECK_EQ((uint32_t)got[n], (uint32_t)expected[i][n]);
    }
}

/* The largest number there is is never passed: the loop ends by its `break` or not at all. */
TEST(kt_a_loop_to_the_largest_number_there_is_goes_on_behind_it)
{
    static const char *const loops[] = {
        "for (var i = I[0]; i <= 4294967295u; i += 1u) { n += 1u; last = i; if n == I[1] { break; } }",
        "for (var i = I[2]; i >= 0u; i -= 1u) { n += 1u; last = i; if n == I[1] { break; } }",
        "for (var i = i32(I[3]); i <= 2147483647i; i += 1i) { n += 1u; last = u32(i); if n == I[1] { break; } }",
    };
    static const uint32_t expected[] = { 14, UINT32_MAX - 16, UINT32_C(0x8000000f) };
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 40, "out");
    const uint32_t words[4] = { UINT32_MAX - 5, 21, 3, 0x7ffffffb };
    put(stream, in, 0, words, sizeof words);
    for (uint32_t bounds = COMPUTE_BOUNDS_CHECKED; bounds <= COMPUTE_BOUNDS_VALIDATE; bounds++) {
        for (size_t i = 0; i < COUNT_OF(loops); i++) {
            char source[1024];
            snprintf(source, sizeof source, IO "@compute @workgroup_size(1) fn loops() { var n = 0u; var last = 0u; %s\n O[0] = n; O[1] = last; O[2u + last %% 8u] = 9u; }", loops[i]);
            compute_kernel_desc desc = kernel_desc(source, "loops");
            desc.bounds = bounds;
            fill_words(stream, out, 0);
            compute_kernel kernel = make_kernel_from(device, &desc);
            OK(launch_io(stream, kernel, "", in, out, 1));
            CHECK_EQ(get_word(stream, out, 0), 21);
            CHECK_EQ(get_word(stream, out, 1), expected[i]);
            CHECK_EQ(get_word(stream, out, 2 + expected[i] % 8), 9);
            compute_kernel_release(kernel);
        }
    }
}

/* What names are in the language that a device's compiler reads is no concern of the source's. */
TEST(kt_18_names_that_mean_something_in_the_target_language_are_names_like_others)
{
    static const char *const entries[] = { "main", "kernel", "hip", "uint", "dim3", "warpSize", "assert", "NAN" };
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, 8, "in"), out = make_buffer(device, 16, "out");
    const uint32_t words[2] = { 3, 4 };
    put(stream, in, 0, words, sizeof words);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        char source[1024];
        snprintf(source, sizeof source,
                 "struct int { double: u32, char: u32 }\n"
                 "@group(0) @binding(0) var<storage, read> blockDim: array<u32>;\n"
                 "@group(0) @binding(1) var<storage, read_write> gridDim: array<u32>;\n"
                 "var<workgroup> CHAR_BIT: array<u32, 2>;\n"
                 "fn blockIdx(errno: u32) -> u32 { let threadIdx = errno + 1u; let size_t = 2u; let float4 = threadIdx * size_t; return float4; }\n"
                 "fn printf(half2: u32) -> u32 { var INFINITY = half2; return INFINITY; }\n"
                 "@compute @workgroup_size(1) fn %s() { var long: int; long.double = blockIdx(blockDim[0]); long.char = printf(blockDim[1]);\n"
                 "CHAR_BIT[1] = long.char; gridDim[0] = long.double; gridDim[1] = CHAR_BIT[1]; gridDim[2] = CHAR_BIT[0]; }\n",
                 entries[i]);
        fill_words(stream, out, 77);
        OK(launch_io(stream, make_kernel(device, source), "", in, out, 1));
        CHECK_EQ(get_word(stream, out, 0), 8);
        CHECK_EQ(get_word(stream, out, 1), 4);
        CHECK_EQ(get_word(stream, out, 2), 0);
        CHECK_EQ(get_word(stream, out, 3), 77);
    }
}

/* A compiler that may take it that loops end concludes that i < 10, and drops the check. Then the store is far outside. */
TEST(kt_23_a_loop_that_does_not_end_leaves_memory_that_is_not_its_own_alone)
{
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel_desc desc = kernel_desc(IO
        "@compute @workgroup_size(1) fn endless() { let i = I[0]; loop { if i < 10u { O[i] = 1u; break; } } O[i] = 2u; }", "endless");
    if (device_info(device).capabilities & COMPUTE_CAPABILITY_TIME_LIMIT) {
        desc.time_limit = 100 * MILLISECONDS;
    } else if (runs_long(device, stream)) {
        printf("  not tried: nothing would stop the kernel but the loss of the device\n");
        return;
    } else {
        printf("  tried all the same: it leaves this one too\n");
    }
    enum { WORDS = 1200000 };
    static uint32_t words[WORDS];
    compute_kernel endless = make_kernel_from(device, &desc);
    compute_buffer in = make_buffer(device, 4, "in"), out = make_buffer(device, 4 * WORDS, "out");
    fill_words(stream, out, 5);
    for (uint32_t inside = 0; inside < 2; inside++) {
        put_word(stream, in, 0, inside ? 3 : 1000000);
        compute_binding bindings[2] = { bind(0, in), bind_range(1, out, 256, 40) };
        OK(launch(stream, endless, 1, bindings, 2));
        compute_status settled = compute_stream_sync(stream, NULL, 0, 0, 30 * SECONDS, E);
        OK(settled);
        if (!inside && desc.time_limit) {
            CHECK(claimed_by(out, 256, 40) != 0);
            CHECK_EQ(root_info().status, COMPUTE_ERROR_TIME_LIMIT);
        }
        /* Whole again, so that it can be looked at. */
        if (claimed_by(out, 256, 40)) {
            compute_view range_of_it = range(out, 256, 40);
            uint32_t word = 5;
            OK(compute_stream_fill(stream, &range_of_it, &word, 4, E));
        }
        OK(get(stream, out, 0, words, sizeof words));
        for (uint32_t i = 0; i < WORDS; i++) {
            if (words[i] != 5) CHECK(inside && i == 64 + 3 && words[i] == 2);
        }
        CHECK_EQ(words[64 + 3], inside ? 2 : 5);
    }
}

/* Up to three groups, each of one or two labels, with or without a `break`, a bit for each. Nobody, the last group, one of its own at the end, or the first one has `default`. */
#define SWITCHES 84
#define SELECTORS 8
struct group {
    int labels, breaks;
};
static int groups_of(int number, struct group *groups)
{
    int count = 1;
    for (int of_this_count = 4; number >= of_this_count; of_this_count *= 4, count++) number -= of_this_count;
    for (int i = 0; i < count; i++) groups[i] = (struct group){ 1 + (number >> 2 * i & 1), number >> (2 * i + 1) & 1 };
    return count;
}
static size_t write_switch(char *to, size_t room, int number, int variant)
{
    struct group groups[3];
    int count = groups_of(number, groups), label = 0;
    size_t length = (size_t)snprintf(to, room, "uint s%d(uint j) { uint n = 0u; switch (j) {\n", number);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < groups[i].labels; k++) length += (size_t)snprintf(to + length, room - length, "case %d: ", label++);
        if ((variant == 1 && i == count - 1) || (variant == 3 && i == 0)) length += (size_t)snprintf(to + length, room - length, "default: ");
        length += (size_t)snprintf(to + length, room - length, "n = n * 8u + %du; %s\n", i + 1, groups[i].breaks ? "break;" : "");
    }
    return length + (size_t)snprintf(to + length, room - length, "%s} return n; }\n", variant == 2 ? "default: n = n * 8u + 7u;\n" : "");
}
static uint32_t switched(int number, int variant, uint32_t selector)
{
    struct group groups[3];
    uint32_t n = 0, label = 0;
    int count = groups_of(number, groups), at = -1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < groups[i].labels; k++)
            if (label++ == selector) at = i;
    if (at < 0) at = variant == 0 ? count + 1 : variant == 1 ? count - 1 : variant == 2 ? count : 0;
    for (; at < count; at++) {
        n = n * 8 + (uint32_t)at + 1;
        if (groups[at].breaks) return n;
    }
    return at == count && variant == 2 ? n * 8 + 7 : n;
}
TEST(kt_a_switch_goes_where_its_labels_and_breaks_say)
{
    static char source[1 << 16];
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_buffer out = make_buffer(device, SELECTORS * SWITCHES * 4, "out");
    for (int variant = 0; variant < 4; variant++) {
        size_t length = (size_t)snprintf(source, sizeof source, "#version 460\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer O { uint o[]; };\n");
        for (int i = 0; i < SWITCHES; i++) length += write_switch(source + length, sizeof source - length, i, variant);
        length += (size_t)snprintf(source + length, sizeof source - length, "void main() { uint j = gl_WorkGroupID.x;\n");
        for (int i = 0; i < SWITCHES; i++) length += (size_t)snprintf(source + length, sizeof source - length, "o[j * %du + %du] = s%d(j);\n", SWITCHES, i, i);
        length += (size_t)snprintf(source + length, sizeof source - length, "}\n");
        CHECK(length < sizeof source);
        compute_kernel_desc desc = kernel_desc(source, "switches");
        desc.language = COMPUTE_LANGUAGE_GLSL;
        desc.source_length = length;
        compute_kernel kernel = make_kernel_from(device, &desc);
        const compute_binding binding = bind(0, out);
        fill_words(stream, out, 99);
        OK(launch(stream, kernel, SELECTORS, &binding, 1));
        for (uint32_t j = 0; j < SELECTORS; j++) {
            uint32_t got[SWITCHES];
            OK(get(stream, out, j * sizeof got, got, sizeof got));
            for (int i = 0; i < SWITCHES; i++) {
                if (got[i] != switched(i, variant, j)) printf("  switch %d of variant %d by %u\n", i, variant, j);
                CHECK_EQ(got[i], switched(i, variant, j));
            }
        }
        compute_kernel_release(kernel);
    }
}

int main(int count, char **arguments)
{
    begin(count, arguments);
    RUN(languages_are_found_and_included_files_are_asked_for_at_creation);
    RUN(an_included_file_that_is_not_there_says_which_and_why);
    RUN(an_answer_to_an_include_that_sets_what_is_reserved_is_refused);
    RUN(spir_v_that_is_cut_off_or_odd_is_refused_with_a_reason);
    RUN(spir_v_with_two_sizes_of_its_workgroups_is_refused_rather_than_run_with_either);
    RUN(kt_17_integers_of_glslang_are_what_its_instructions_say);
    RUN(kt_a_loop_to_the_largest_number_there_is_goes_on_behind_it);
    RUN(kt_18_names_that_mean_something_in_the_target_language_are_names_like_others);
    RUN(kt_a_switch_goes_where_its_labels_and_breaks_say);
    RUN(kt_23_a_loop_that_does_not_end_leaves_memory_that_is_not_its_own_alone);
    return finish();
}
