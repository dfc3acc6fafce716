/* Sources in three languages, found by what they are, and the files that they include. */
#include "rules.h"

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

int main(int count, char **arguments)
{
    begin(count, arguments);
    RUN(languages_are_found_and_included_files_are_asked_for_at_creation);
    RUN(an_included_file_that_is_not_there_says_which_and_why);
    RUN(an_answer_to_an_include_that_sets_what_is_reserved_is_refused);
    RUN(spir_v_that_is_cut_off_or_odd_is_refused_with_a_reason);
    return finish();
}
