/* What only GPUs have: times that cost something, work sent in slices, drivers that are broken or not there. For RULES_BACKEND=wgpu. */
#include "rules.h"

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

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(tm_01_events_have_the_device_s_time_where_the_device_was_opened_for_it);
    RUN(tm_01_a_time_that_the_device_no_longer_has_is_an_error_and_not_zero);
    RUN(tm_01_without_being_asked_there_are_no_times);
    return finish();
}
