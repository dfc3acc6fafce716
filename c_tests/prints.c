/* What kernels print: lines for the log callback, by name, label and invocation. */
#include "rules.h"

#define HELLO                                                                                                               \
    "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"                                                      \
    "@compute @workgroup_size(4) fn hello(@builtin(global_invocation_id) id: vec3<u32>) {\n"                               \
    "    debugPrintf(\"x = %d, v = %.1v3f\\n\", i32(id.x) - 1, vec3(f32(id.x), 0.5, 2.0));\n"                              \
    "    O[id.x] = 3u;\n"                                                                                                   \
    "}\n"

struct heard {
    pthread_mutex_t lock;
    size_t count, others;
    char lines[512][128];
};
static struct heard heard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void hear(void *user, uint32_t level, const char *text, size_t length)
{
    struct heard *h = user;
    pthread_mutex_lock(&h->lock);
    if (level == COMPUTE_LOG_PRINT && h->count < COUNT_OF(h->lines)) {
        snprintf(h->lines[h->count++], sizeof h->lines[0], "%.*s", (int)length, text);
    } else {
        h->others++;
    }
    pthread_mutex_unlock(&h->lock);
}

static int line_order(const void *left, const void *right) { return strcmp(left, right); }

static void launch_hello(compute_stream stream, compute_kernel kernel, const char *label, compute_buffer o)
{
    compute_binding bindings[1] = { bind(0, o) };
    compute_launch_desc desc = launch_desc(kernel, 1, 1, 1, bindings, 1);
    desc.label = label;
    desc.label_length = strlen(label);
    OK(compute_stream_launch(stream, &desc, E));
}

TEST(a_callback_hears_what_a_kernel_prints)
{
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_ERROR, E));
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_kernel(device, HELLO);
    compute_buffer o = make_buffer(device, 16, "o");
    launch_hello(stream, kernel, "greeting", o);
    wait_for(stream);
    CHECK_EQ(heard.count, 4);
    CHECK_EQ(heard.others, 0);
    qsort(heard.lines, heard.count, sizeof heard.lines[0], line_order);
    CHECK(strcmp(heard.lines[0], "`hello` `greeting` (0, 0, 0): x = -1, v = 0.0, 0.5, 2.0") == 0);
    CHECK(strcmp(heard.lines[3], "`hello` `greeting` (3, 0, 0): x = 2, v = 3.0, 0.5, 2.0") == 0);
    CHECK_EQ(get_word(stream, o, 3), 3);
}

TEST(an_event_that_is_waited_for_brings_the_lines)
{
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_PRINT, E));
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_kernel(device, HELLO);
    compute_buffer o = make_buffer(device, 16, "o");
    launch_hello(stream, kernel, "greeting", o);
    compute_event event = NULL;
    OK(compute_stream_record(stream, &event, E));
    OK(compute_event_wait(event, COMPUTE_FOREVER, E));
    CHECK_EQ(heard.count, 4);
    CHECK_EQ(heard.others, 0);
}

TEST(a_kernel_made_while_nobody_listens_is_silent_for_ever)
{
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_kernel(device, HELLO);
    compute_buffer o = make_buffer(device, 16, "o");
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_LAUNCHES, E));
    launch_hello(stream, kernel, "silent", o);
    wait_for(stream);
    CHECK_EQ(heard.count, 0);
    CHECK_EQ(get_word(stream, o, 0), 3);
}

TEST(lines_without_room_are_counted)
{
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_ERROR, E));
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel_desc desc = kernel_desc(HELLO, "small");
    desc.print_size = 40;
    compute_kernel kernel = make_kernel_from(device, &desc);
    compute_buffer o = make_buffer(device, 16, "o");
    launch_hello(stream, kernel, "", o);
    wait_for(stream);
    CHECK_EQ(heard.count, 2);
    CHECK(strstr(heard.lines[1], "3 more lines were lost") != NULL);
    desc.print_size = UINT64_MAX;
    IS(COMPUTE_ERROR_LIMIT, compute_kernel_create(device, &desc, &kernel, E));
}

TEST(a_print_that_does_not_fit_its_format_is_refused_with_its_place)
{
    compute_device device = open_device();
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = kernel_desc("@compute @workgroup_size(1) fn f() {\n    debugPrintf(\"%d %s\", 1);\n}", "bad");
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    compute_error_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    OK(compute_error_get_info(last_error, &info));
    CHECK_EQ(info.line, 2);
    CHECK_EQ(info.column, 21);
}

TEST(many_streams_print_at_once)
{
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_ERROR, E));
    compute_device device = open_device();
    compute_kernel kernel = make_kernel(device, HELLO);
    compute_stream streams[4];
    compute_buffer buffers[4];
    for (int n = 0; n < 4; n++) {
        streams[n] = make_stream(device);
        buffers[n] = make_buffer(device, 16, "o");
    }
    for (int round = 0; round < 20; round++)
        for (int n = 0; n < 4; n++) launch_hello(streams[n], kernel, "many", buffers[n]);
    for (int n = 0; n < 4; n++) wait_for(streams[n]);
    CHECK_EQ(heard.count, 4 * 20 * 4);
}

static size_t lines_heard(void)
{
    pthread_mutex_lock(&heard.lock);
    size_t count = heard.count;
    pthread_mutex_unlock(&heard.lock);
    return count;
}
TEST(what_was_printed_is_told_when_every_handle_is_gone)
{
    OK(compute_log_set(hear, &heard, COMPUTE_LOG_ERROR, E));
    compute_device device = open_device();
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_kernel(device, HELLO);
    compute_buffer o = make_buffer(device, 16, "o");
    launch_hello(stream, kernel, "farewell", o);
    compute_buffer_release(o);
    compute_kernel_release(kernel);
    compute_stream_release(stream);
    compute_device_release(device);
    for (int i = 0; i < 1000 && lines_heard() < 4; i++) usleep(10000);
    CHECK_EQ(lines_heard(), 4);
    CHECK_EQ(heard.others, 0);
    CHECK(strstr(heard.lines[0], "`farewell`") != NULL);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(a_callback_hears_what_a_kernel_prints);
    RUN(an_event_that_is_waited_for_brings_the_lines);
    RUN(a_kernel_made_while_nobody_listens_is_silent_for_ever);
    RUN(lines_without_room_are_counted);
    RUN(a_print_that_does_not_fit_its_format_is_refused_with_its_place);
    RUN(many_streams_print_at_once);
    RUN(what_was_printed_is_told_when_every_handle_is_gone);
    return finish();
}
