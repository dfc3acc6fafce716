// compute.hpp: what it adds to compute.h, which is ownership, exceptions and the launch builder.
#include <libcompute/compute.hpp>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": not so: " #condition); \
    } while (0)

namespace {

const char *const ADD = "@group(0) @binding(0) var<storage, read> I: array<u32>;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
                        "@group(0) @binding(2) var<uniform> amount: vec4<u32>;\n"
                        "@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {\n"
                        "  if id.x < arrayLength(&O) { O[id.x] = I[id.x] + amount.x; }\n}\n";

struct amount {
    std::uint32_t value[4];
};

void work_goes_through_and_comes_back() {
    compute::device device("cpu");
    compute::stream stream(device, "main");
    compute::kernel add(device, ADD, "add");
    std::vector<std::uint32_t> numbers(1000, 40);
    compute::buffer in(device, numbers.size() * 4, "in"), out(device, numbers.size() * 4, "out");
    stream.write(in, numbers);
    CHECK(compute::launch(add).grid(16).bind(0, in).bind(1, out).bind_value(2, amount{ { 2, 0, 0, 0 } }).label("adding").on(stream) == compute::outcome::enqueued);
    stream.read(out, numbers);
    CHECK(numbers[0] == 42 && numbers[999] == 42);
    CHECK(stream.read<std::uint32_t>(out).size() == 1000);
    std::uint32_t one = 0;
    CHECK(stream.read_async(out.range(4 * 7, 4), &one, 4).wait() && one == 42);
    stream.fill(out, std::uint32_t{ 5 });
    CHECK(stream.copy(out, in) == compute::outcome::enqueued);
    CHECK(stream.read<std::uint32_t>(in)[500] == 5);
    CHECK(stream.sync() && stream.record().wait());
    CHECK(add.binding("amount").kind == COMPUTE_BINDING_UNIFORM && add.info().workgroup_size[0] == 64);
    CHECK(device.info().kind == COMPUTE_DEVICE_CPU && device.memory_usage().buffers == 2);
    CHECK(!compute::devices().empty());
    compute::exclusive held(device);
}

void failures_are_exceptions_that_say_why() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::kernel add(device, ADD);
    compute::buffer in(device, 64, "in"), out(device, 64, "out"), next(device, 64, "next");
    stream.fill(in, std::uint32_t{ 1 });
    try {
        compute::launch(add).bind(0, in).bind(1, out).on(stream);
        CHECK(!"refused");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_BINDING && std::strstr(failed.what(), "amount") && failed.info().failure != 0);
    }
    CHECK(compute::launch(add).bind(0, out).bind(1, next).bind_value(2, amount{ { 1, 0, 0, 0 } }).on(stream) == compute::outcome::skipped);
    try {
        stream.read<std::uint32_t>(next);
        CHECK(!"claimed");
    } catch (const compute::error &failed) {
        const compute::error copy = failed;
        CHECK(copy.status() == COMPUTE_ERROR_UNWRITTEN && copy.is_skip() && !copy.is_poisoned());
        CHECK(std::strstr(copy.what(), "was skipped") && copy.format(COMPUTE_FORMAT_JSON)[0] == '{');
    }
    try {
        compute::device("no such backend");
        CHECK(!"opened");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_NO_DEVICE);
    }
}

void handles_move_and_release_once() {
    compute::device device("cpu");
    compute::buffer one(device, 64);
    const compute_buffer handle = one.get();
    compute::buffer two(std::move(one));
    CHECK(two.get() == handle);
    compute::buffer three;
    three = std::move(two);
    CHECK(three.size() == 64);
    three = compute::buffer(device, 32);
    CHECK(three.size() == 32 && device.memory_usage().buffers == 1);
    CHECK(compute_buffer_retain(handle, nullptr) == COMPUTE_ERROR_INVALID_HANDLE);
    compute::buffer four(three.get());
    CHECK(four.release() == three.get());
    three.destroy();
    CHECK(!three);
    static_assert(!std::is_copy_constructible_v<compute::buffer> && std::is_nothrow_move_constructible_v<compute::buffer>, "move-only");
}

int passed, failed;

void run(const char *name, void (*test)()) {
    try {
        test();
        std::printf("ok     %s\n", name);
        ++passed;
    } catch (const std::exception &thrown) {
        std::printf("FAILED %s\n  %s\n", name, thrown.what());
        ++failed;
    }
}

} // namespace

int main() {
    run("work_goes_through_and_comes_back", work_goes_through_and_comes_back);
    run("failures_are_exceptions_that_say_why", failures_are_exceptions_that_say_why);
    run("handles_move_and_release_once", handles_move_and_release_once);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
