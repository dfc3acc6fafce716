/* LOST-02 and T12 on a real GPU: a kernel that faults ends the device, and what then still works. Each test is a process of its own, as after a fault no other
 * context of the process works. Only CUDA's driver has such faults to test with: RULES_BACKEND=cuda, or nothing is tried. */
#include "rules.h"

#include <dlfcn.h>

#define MEMBERS 64

static compute_device device;
static compute_stream stream;
static compute_kernel increment, stray;
static compute_buffer in, out;
static int calls;

static void call_back(void *user, compute_status status, compute_error error)
{
    (void)user;
    (void)status;
    (void)error;
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
}

static void set_up(void)
{
    device = open_device();
    stream = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    /* Nothing is checked, and 60 GiB behind a buffer there is nothing. */
    compute_kernel_desc desc = kernel_desc("@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
        "@group(0) @binding(1) var<storage, read_write> O: array<vec4<u32>>;\n"
        "@compute @workgroup_size(64) fn stray(" ID ") { O[id.x + I[0] * 0x8000000u + 0xb0000000u] = vec4(1u); }", "stray");
    desc.bounds = COMPUTE_BOUNDS_UNCHECKED;
    stray = make_kernel_from(device, &desc);
    in = make_buffer(device, 4 * MEMBERS, "in");
    out = make_buffer(device, 4 * MEMBERS, "out");
    fill_words(stream, in, 7);
    fill_words(stream, out, 1);
    wait_for(stream);
}

/* Everything answers the fault, with one cause, which names the kernel and says what is left to do. */
static void expect_dead(void)
{
    compute_view view = whole(in), other = whole(out);
    compute_event none = NULL;
    compute_stream another = NULL;
    uint32_t word = 1;
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    CHECK_EQ(last_info().poisoned, 1);
    CHECK(error_says("CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK(error_says("new process"));
    CHECK(error_says("Every context"));
    CHECK(error_says("stray"));
    IS(COMPUTE_ERROR_DEVICE_POISONED, launch_io(stream, increment, "", in, out, 1));
    CHECK(error_says("CUDA_ERROR_ILLEGAL_ADDRESS"));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_write(stream, &view, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_read(stream, &other, &word, 4, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, SECONDS, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_record(stream, &none, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_create(device, NULL, &another, E));
    CHECK_EQ(word, 1);
}

TEST(t12_an_illegal_address_ends_the_device_with_the_launch_that_did_it_and_nothing_hangs)
{
    set_up();
    compute_event event = NULL;
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    OK(launch(stream, stray, 1, bindings, 2));
    OK(compute_stream_record(stream, &event, E));
    uint64_t start = now_ns();
    OK(compute_event_on_complete(event, call_back, NULL, COMPUTE_CALLBACK_ON_WORKER, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_event_wait(event, 20 * SECONDS, E));
    CHECK(now_ns() - start < 10 * SECONDS);
    CHECK(error_says("The only launch of this device that was not known to be over was `stray`"));
    print_error(last_error);
    expect_dead();
    for (int i = 0; i < 2000 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) == 0; i++) usleep(1000);
    usleep(20000);
    CHECK_EQ(calls, 1);
}

TEST(t12_of_several_launches_all_are_named_that_may_have_been_it)
{
    set_up();
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_stream other = make_stream(device);
    for (int i = 0; i < 3; i++) OK(launch(stream, stray, 1, bindings, 2));
    compute_status status = launch_io(other, increment, "", in, out, 1);
    CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_DEVICE_POISONED);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, 20 * SECONDS, E));
    print_error(last_error);
    CHECK(error_says("not known to be over"));
    expect_dead();
}

/* The fault is there before anybody asks, and `call` is the first that hears of it. */
static void expect_named_by(compute_status (*call)(void))
{
    set_up();
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    OK(launch(stream, stray, 1, bindings, 2));
    usleep(400000);
    IS(COMPUTE_ERROR_DEVICE_POISONED, call());
    CHECK(error_says("`stray`"));
    expect_dead();
}

static compute_status create_a_buffer(void)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer made = NULL;
    desc.size = 1ull << 30;
    return compute_buffer_create(device, &desc, &made, E);
}
static compute_status write_a_little(void)
{
    static const uint32_t words[MEMBERS];
    compute_view view = whole(in);
    return compute_stream_write(stream, &view, words, sizeof words, E);
}
static compute_status create_a_kernel(void)
{
    compute_kernel_desc desc = kernel_desc(ADD, "add");
    compute_kernel made = NULL;
    return compute_kernel_create(device, &desc, &made, E);
}

TEST(t12_a_fault_that_making_a_buffer_is_the_first_to_find_names_the_kernel) { expect_named_by(create_a_buffer); }
TEST(t12_a_fault_that_a_write_is_the_first_to_find_names_the_kernel) { expect_named_by(write_a_little); }
TEST(t12_a_fault_that_making_a_kernel_is_the_first_to_find_names_the_kernel) { expect_named_by(create_a_kernel); }

/* The next GPU where there is one, else the same once more. */
static compute_device open_another(void)
{
    compute_device other = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.index = 1;
    if (compute_device_open(&desc, &other, NULL) != COMPUTE_OK) {
        printf("  there is one GPU: it was opened twice\n");
        desc.index = 0;
        OK(compute_device_open(&desc, &other, E));
    }
    return other;
}

static compute_status create_a_buffer_elsewhere(void)
{
    static compute_device other;
    if (!other) other = open_another();
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer made = NULL;
    desc.size = 1ull << 30;
    return compute_buffer_create(other, &desc, &made, E);
}
TEST(t12_a_fault_that_another_device_is_the_first_to_find_names_the_kernel)
{
    OK(create_a_buffer_elsewhere());
    expect_named_by(create_a_buffer_elsewhere);
}

TEST(t12_other_devices_of_the_process_end_with_the_same_cause_before_anybody_asks_them)
{
    set_up();
    compute_device other = open_another();
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    compute_stream lane = make_stream(other);
    compute_buffer theirs = make_buffer(other, 4, "theirs");
    compute_event event = NULL;
    fill_words(lane, theirs, 1);
    OK(compute_stream_record(lane, &event, E));
    OK(compute_event_on_complete(event, call_back, NULL, COMPUTE_CALLBACK_ON_WORKER, E));
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    OK(launch(stream, stray, 1, bindings, 2));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, 20 * SECONDS, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(other, E));
    CHECK(last_info().poisoned);
    CHECK(error_says("device 0 of this process ended") && error_says("CUDA_ERROR_ILLEGAL_ADDRESS") && error_says("`stray`"));
    print_error(last_error);
    uint32_t word = 0;
    compute_view view = whole(theirs);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_write(lane, &view, &word, 4, E));
    CHECK(error_says("`stray`"));
    for (int i = 0; i < 2000 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) == 0; i++) usleep(1000);
    CHECK_EQ(calls, 1);
    compute_device again = NULL;
    CHECK(compute_device_open(&desc, &again, E) < 0 && again == NULL);
    CHECK(error_says("`stray`"));
    expect_dead();
}

/* What any library in the process may do to the first GPU. */
static void reset_the_first(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(cuda != NULL);
    int (*reset)(int);
    *(void **)&reset = dlsym(cuda, "cuDevicePrimaryCtxReset_v2");
    CHECK(reset != NULL && reset(0) == 0);
}

TEST(t12_a_primary_context_that_somebody_else_resets_is_the_end_of_that_device_alone)
{
    set_up();
    compute_device other = NULL, again = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.index = 1;
    if (compute_device_open(&desc, &other, NULL) != COMPUTE_OK) printf("  there is one GPU\n");
    reset_the_first();
    IS(COMPUTE_ERROR_DEVICE_POISONED, create_a_buffer());
    CHECK(error_says("reset") && error_says("a new device can be opened"));
    CHECK(!error_says("Every context") && !error_says("known to be over"));
    print_error(last_error);
    desc.index = 0;
    OK(compute_device_open(&desc, &again, E));
    /* What was in the context that is gone goes while the new one works. */
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(stray);
    compute_kernel_release(increment);
    compute_stream_release(stream);
    compute_device_release(device);
    for (int i = 0; i < 2; i++) {
        compute_device works = i ? other : again;
        if (!works) continue;
        stream = make_stream(works);
        in = make_buffer(works, 4 * MEMBERS, "in");
        out = make_buffer(works, 4 * MEMBERS, "out");
        fill_words(stream, in, 7);
        OK(launch_io(stream, make_kernel(works, INCREMENT), "", in, out, 1));
        CHECK_EQ(get_word(stream, out, 3), 8);
    }
}

/* The driver itself crashes on a copy from a context that is gone, and nobody has asked the first GPU since. */
TEST(t12_a_copy_from_a_card_that_somebody_else_has_reset_is_the_end_of_that_card_alone)
{
    set_up();
    compute_device other = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.index = 1;
    if (compute_device_open(&desc, &other, NULL) != COMPUTE_OK) {
        printf("  not tried: there is one GPU\n");
        return;
    }
    compute_stream there = make_stream(other);
    compute_buffer theirs = make_buffer(other, 4 * MEMBERS, "theirs");
    compute_view from = whole(in), to = whole(theirs);
    OK(compute_stream_copy_between(stream, &from, there, &to, E));
    CHECK_EQ(get_word(there, theirs, 3), 7);
    wait_for(stream);
    reset_the_first();
    compute_status copied = compute_stream_copy_between(stream, &from, there, &to, E);
    CHECK(copied >= 0 || copied == COMPUTE_ERROR_DEVICE_POISONED || copied == COMPUTE_ERROR_DRIVER);
    compute_stream_sync(there, NULL, 0, 0, 20 * SECONDS, NULL);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    CHECK(error_says("reset") && error_says("a new device can be opened"));
    OK(compute_device_status(other, E));
    fill_words(there, theirs, 9);
    CHECK_EQ(get_word(there, theirs, 3), 9);
}

TEST(lost_02_after_a_fault_everything_is_released_and_the_cpu_device_works)
{
    set_up();
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    OK(launch(stream, stray, 1, bindings, 2));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, 20 * SECONDS, E));
    OK(compute_buffer_destroy(out, E));
    compute_buffer_release(in);
    compute_kernel_release(stray);
    compute_kernel_release(increment);
    compute_stream_release(stream);
    compute_device_release(device);
    /* Whatever the driver says of another one: an answer, and no device that does not work. */
    compute_device_desc desc;
    compute_device again = NULL;
    compute_device_desc_init(&desc);
    desc.backend = "cuda";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    compute_status status = compute_device_open(&desc, &again, E);
    print_error(last_error);
    CHECK(status < 0 && again == NULL);
    setenv("RULES_BACKEND", "cpu", 1);
    device = open_device();
    stream = make_stream(device);
    in = make_buffer(device, 4 * MEMBERS, "in");
    out = make_buffer(device, 4 * MEMBERS, "out");
    fill_words(stream, in, 7);
    OK(launch_io(stream, make_kernel(device, INCREMENT), "", in, out, 1));
    CHECK_EQ(get_word(stream, out, 3), 8);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    const char *backend = getenv("RULES_BACKEND");
    if (!backend || strcmp(backend, "cuda") != 0) {
        printf("not tried: only cuda has faults that end a device (RULES_BACKEND=cuda)\n");
        return 77; /* skipped */
    }
    RUN(t12_an_illegal_address_ends_the_device_with_the_launch_that_did_it_and_nothing_hangs);
    RUN(t12_of_several_launches_all_are_named_that_may_have_been_it);
    RUN(t12_a_fault_that_making_a_buffer_is_the_first_to_find_names_the_kernel);
    RUN(t12_a_fault_that_a_write_is_the_first_to_find_names_the_kernel);
    RUN(t12_a_fault_that_making_a_kernel_is_the_first_to_find_names_the_kernel);
    RUN(t12_a_fault_that_another_device_is_the_first_to_find_names_the_kernel);
    RUN(t12_other_devices_of_the_process_end_with_the_same_cause_before_anybody_asks_them);
    RUN(t12_a_primary_context_that_somebody_else_resets_is_the_end_of_that_device_alone);
    RUN(t12_a_copy_from_a_card_that_somebody_else_has_reset_is_the_end_of_that_card_alone);
    RUN(lost_02_after_a_fault_everything_is_released_and_the_cpu_device_works);
    return finish();
}
