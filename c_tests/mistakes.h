/* One table of mistakes for every device. A row is a wrong call and the code that it answers, said once: the rows run on the cpu device first and then on the
 * device under test, as it is and where its calls can be made to fail. There each row has to answer the same code, in the same words but for the numbers,
 * and afterwards a kernel still works there and nothing that was written is lost.
 *
 * What a device has decides whether a row applies to it (`WHERE`), never its name. */
#ifndef MISTAKES_H
#define MISTAKES_H

#include "rules.h"

HELPER compute_device device, other_device;
HELPER compute_stream stream, witness_stream;
HELPER compute_buffer buffer, other_buffer, witness_in, witness_out;
HELPER compute_kernel kernel;
HELPER compute_event event;
HELPER compute_error error_object;
HELPER uint64_t capabilities;
/* Its name, to open it once more. */
HELPER const char *backend;
/* Whether it was opened so that its calls can be made to fail, and whether it runs kernels: the `null` device of benchmarks accepts everything and does nothing. */
HELPER int faulty, runs_kernels;

/* ---- what the cpu device answered ---- */

typedef struct {
    const char *call;
    char *words;
} answer;
HELPER answer *answers;
HELPER size_t calls, asked, answers_known, answers_room;
HELPER int comparing, once;

/* The text with every number, address and name of a device as one sign. */
HELPER void without_numbers(const char *from, char *to)
{
    while (*from) {
        if (*from < '0' || *from > '9') {
            *to++ = *from++;
            continue;
        }
        while ((*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f') || *from == 'x' || *from == ',' || *from == '_') from++;
        *to++ = '#';
    }
    *to = 0;
}

/* `words` is NULL where the row does not apply to the device, or its words are its own. */
HELPER void note(const char *call, const char *words, const char *file, int line)
{
    if (!comparing) {
        if (calls == answers_room) {
            answers_room = answers_room ? 2 * answers_room : 1024;
            answers = realloc(answers, answers_room * sizeof *answers);
            CHECK(answers != NULL);
        }
        answers[calls++] = (answer){ call, words ? strdup(words) : NULL };
        answers_known = calls;
        return;
    }
    CHECK(calls < answers_known);
    const answer *cpu = &answers[calls++];
    if (strcmp(cpu->call, call) == 0 && (!cpu->words || !words || strcmp(cpu->words, words) == 0)) return;
    fprintf(stderr, "  %s says\n    %s\n  and on the cpu device %s says\n    %s\n", call, words, cpu->call, cpu->words ? cpu->words : "");
    fail(file, line, "the same mistake should be told in the same words");
}

HELPER uint32_t still_round;
/* That a kernel still runs, and that what was written before is still there: asked after every row. */
HELPER void still_works(const char *file, int line)
{
    if (once) return;
    uint32_t words[2] = { 0, 0 };
    compute_view in = whole(witness_in), out = whole(witness_out);
    compute_binding bindings[2] = { bind(0, witness_in), bind(1, witness_out) };
    compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, 2);
    int well = compute_stream_launch(witness_stream, &desc, NULL) == COMPUTE_OK;
    well = well && compute_stream_read(witness_stream, &out, words, 8, NULL) == COMPUTE_OK;
    if (runs_kernels) well = well && words[0] == still_round + 1 && words[1] == 8;
    still_round++;
    words[0] = still_round;
    words[1] = 7;
    well = well && compute_stream_write(witness_stream, &in, words, 8, NULL) == COMPUTE_OK;
    if (!well) fail(file, line, "after this mistake a good kernel should still work");
}

/* ---- rows ---- */

HELPER int numbers_in(const char *text)
{
    int numbers = 0;
    for (; *text; text++) numbers += *text >= '0' && *text <= '9' && !(text[1] >= '0' && text[1] <= '9');
    return numbers;
}

HELPER void told(compute_status expected, const char *call, const char *file, int line)
{
    char text[4096], json[8192], words[4096];
    size_t needed = 0;
    asked++;
    CHECK_EQ(compute_error_message(last_error, text, sizeof text, &needed), COMPUTE_OK);
    CHECK_EQ(compute_error_format(last_error, COMPUTE_FORMAT_JSON, json, sizeof json, NULL), COMPUTE_OK);
    if (needed <= 10 || needed != strlen(text) + 1 || json[0] != '{') fail(file, line, "an error should say something");
    /* What was asked and what is allowed. Of a text that is too long only the latter, as it is not read to its end; and what 64 bits cannot count has no number. */
    int numbers = expected == COMPUTE_ERROR_LIMIT || expected == COMPUTE_ERROR_TOO_LARGE || expected == COMPUTE_ERROR_MISALIGNED ? 1 : 0;
    if (expected == COMPUTE_ERROR_OUT_OF_RANGE) numbers = 2;
    if (numbers_in(text) < numbers) fail(file, line, "an error should say what was asked and what is allowed");
    without_numbers(text, words);
    note(call, words, file, line);
    still_works(file, line);
}

#define BAD(expected, call)                          \
    do {                                             \
        IS(expected, call);                          \
        told(expected, #call, __FILE__, __LINE__);   \
    } while (0)
/* For calls without an error object. */
#define BAD_PLAIN(expected, call)            \
    do {                                     \
        CHECK_EQ((int64_t)(call), expected); \
        asked++;                             \
        note(#call, "", __FILE__, __LINE__); \
    } while (0)
/* A row for devices of which the condition is true; the others are not asked, and where the cpu device was not, nothing is compared. */
#define WHERE(condition, expected, call)                 \
    do {                                                 \
        if (condition) {                                 \
            IS(expected, call);                          \
            told(expected, #call, __FILE__, __LINE__);   \
        } else {                                         \
            note(#call, NULL, __FILE__, __LINE__);       \
        }                                                \
    } while (0)

/* The same where the words name what only this device has: the code alone is compared. */
#define WHERE_CODE(condition, expected, call)            \
    do {                                                 \
        if (condition) {                                 \
            IS(expected, call);                          \
            asked++;                                     \
            still_works(__FILE__, __LINE__);             \
        }                                                \
        note(#call, NULL, __FILE__, __LINE__);           \
    } while (0)

HELPER compute_device open_as(const char *backend, int may_fail)
{
    compute_device made = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    compute_fault_desc fault = COMPUTE_FAULT_DESC_INIT;
    fault.kind = COMPUTE_CHAINED_FAULT;
    desc.backend = backend;
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    if (may_fail) desc.next = &fault;
    OK(compute_device_open(&desc, &made, E));
    return made;
}

HELPER void set_up_as(const char *name, int may_fail)
{
    backend = name;
    device = open_as(backend, may_fail);
    other_device = open_as(backend, may_fail);
    capabilities = device_info(device).capabilities;
    runs_kernels = strcmp(backend, "null") != 0;
    faulty = may_fail;
    stream = make_stream(device);
    witness_stream = make_stream(device);
    buffer = make_buffer(device, 1024, "buffer");
    other_buffer = make_buffer(other_device, 1024, "of another device");
    kernel = make_kernel(device, INCREMENT);
    witness_in = make_buffer(device, 8, "witness");
    witness_out = make_buffer(device, 8, "what the witness becomes");
    static const uint32_t first[2] = { 0, 7 };
    put(witness_stream, witness_in, 0, first, 8);
    OK(compute_stream_record(stream, &event, E));
    compute_error made = NULL;
    CHECK(compute_device_status(NULL, &made) == COMPUTE_ERROR_INVALID_HANDLE && made);
    error_object = made;
}

/* KT-08: a barrier in a loop whose count comes from workgroup memory. */
HELPER void a_good_kernel(void)
{
    static const char source[] = IO
        "var<workgroup> acc: array<u32, 64>;\nvar<workgroup> lim: u32;\n"
        "@compute @workgroup_size(64) fn sum(@builtin(local_invocation_index) li: u32) {\n"
        "  acc[li] = I[li];\n  if li == 0u { lim = 32u; }\n  workgroupBarrier();\n"
        "  loop {\n    let s = workgroupUniformLoad(&lim);\n    if s == 0u { break; }\n"
        "    if li < s { acc[li] += acc[li + s]; }\n    workgroupBarrier();\n    if li == 0u { lim /= 2u; }\n  }\n"
        "  if li == 0u { O[0] = acc[0]; }\n}\n";
    compute_buffer in = make_buffer(device, 256, "in"), out = make_buffer(device, 4, "out");
    compute_kernel sum = make_kernel(device, source);
    for (uint32_t i = 0; i < 64; i++) put_word(stream, in, i, i);
    OK(launch_io(stream, sum, "good", in, out, 1));
    if (runs_kernels) CHECK_EQ(get_word(stream, out, 0), 2016);
    OK(compute_device_status(device, E));
}

/* All rows on the cpu device, and then on the device under test as it is and where its calls can be made to fail; `least` have to apply each time. */
HELPER void on_every_device(void (*rows)(void), size_t least)
{
    const char *under_test = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    /* For valgrind: the rows once, on the cpu device, and kernels run before and after them only. */
    once = getenv("MISTAKES_ONCE") != NULL;
    for (int pass = 0; pass < (once ? 1 : 3); pass++) {
        calls = asked = 0;
        comparing = pass > 0;
        still_round = 0;
        set_up_as(pass == 0 ? "cpu" : under_test, pass == 2);
        rows();
        a_good_kernel();
        CHECK_EQ(calls, answers_known);
        CHECK(asked >= least);
        printf("  %zu bad calls on %s%s, %zu that do not apply to it\n", asked, backend, pass == 2 ? " where its calls can be made to fail" : "", calls - asked);
        OK(compute_device_status(device, E));
        compute_device_release(device);
        compute_device_release(other_device);
    }
}

#endif
