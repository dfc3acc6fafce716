// compute.hpp: what it adds to compute.h, which is ownership, exceptions and the launch builder.
#include <libcompute/compute.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

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
    CHECK(device.cache_info().state == COMPUTE_CACHE_NONE);
    // Anybody may write to that folder, so it is not used.
    compute::device cached(compute_device_desc COMPUTE_DEVICE_DESC_INIT, "/tmp");
    CHECK(cached.cache_info().state == COMPUTE_CACHE_REFUSED && std::strstr(cached.cache_info().reason, "others may write"));
    compute::exclusive held(device);
}

void a_launch_that_is_bound_anew_has_what_it_was_bound_to_last() {
    compute::device device("cpu");
    compute::stream stream(device);
    const compute::kernel add(device, ADD);
    compute::buffer in(device, 64), out(device, 64), other(device, 64);
    stream.fill(in, std::uint32_t{ 10 });
    compute::launch step(add);
    step.bind_value(2, amount{ { 1, 0, 0, 0 } }).bind(0, in).bind(1, out).on(stream);
    for (std::uint32_t frame = 2; frame < 5; frame++) {
        step.bind_value(2, amount{ { frame, 0, 0, 0 } }).bind(1, frame % 2 ? out : other).on(stream);
        CHECK(stream.read<std::uint32_t>(frame % 2 ? out : other)[15] == 10 + frame && step.desc().binding_count == 3);
    }
    const amount seven{ { 7, 0, 0, 0 } };
    step.bind_bytes(2, &seven, sizeof seven).on(stream);
    CHECK(stream.read<std::uint32_t>(other)[0] == 17);
    compute::launch copy = step;
    copy.bind_value(2, amount{ { 8, 0, 0, 0 } }).on(stream);
    CHECK(stream.read<std::uint32_t>(other)[0] == 18);
    /* A grid counts again after one that was read from memory. */
    const compute::buffer one(device, 12);
    stream.fill(one, std::uint32_t{ 1 });
    step.grid(1).indirect(one).on(stream);
    stream.fill(other, std::uint32_t{ 0 });
    step.grid(4).on(stream);
    CHECK(stream.read<std::uint32_t>(other)[15] == 17 && step.desc().indirect.buffer == nullptr);
    stream.prepare_capture();
    compute::capture window(stream, "named", COMPUTE_GRAPH_FLAG_TIMED);
    step.on(stream);
    const compute::graph graph = window.end();
    stream.replay(graph);
    CHECK(stream.read<std::uint32_t>(other)[0] == 17 && graph.times().size() == 1 && graph.text(COMPUTE_GRAPH_DOT).find("\"named\"") != std::string::npos);
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

void memory_is_pooled_reported_and_budgeted() {
    compute::device device("cpu");
    compute::stream stream(device);
    CHECK(stream.memory_report().empty());
    stream.set_pools({ { COMPUTE_POOL_EXCLUSIVE, 0, 1 << 20, 0, 0, 0 } });
    compute::budget budget(8192);
    stream.set_budget(budget);
    compute::buffer first(device, stream, 4096, "first"), second(device, stream, 4096, "second");
    CHECK(budget.info().charged == 8192 && budget.info().limit == 8192);
    try {
        compute::buffer third(device, stream, 4096, "third");
        CHECK(!"allowed");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_BUDGET);
    }
    stream.set_no_budget();
    compute::buffer third(device, stream, 4096, "third", COMPUTE_BUFFER_FLAG_ZEROED);
    CHECK(stream.memory_report().at(0).pages == 3);
    third.reset();
    stream.cleanup();
    device.cleanup();
    CHECK(stream.memory_report().at(0).pages == 2 && device.memory_usage().buffers == 2);
}

void tensors_are_laid_out_and_moved_with_strides() {
    compute::device device("cpu");
    compute::stream stream(device);
    const auto layout = device.layout({ { { 3, 5 }, 4, COMPUTE_ARRANGEMENT_OPTIMIZED }, { { 4 }, 8 } });
    CHECK(layout.first.size() == 2 && layout.first[0].pitch == 64 && layout.second == layout.first[1].offset + 32);
    compute::buffer buffer(device, layout.second), other(device, 64);
    const compute_tensor_place &place = layout.first[0];
    std::vector<std::uint32_t> given(15), got(15), turned(15);
    for (std::uint32_t i = 0; i < 15; i++) given[i] = i;
    const std::vector<std::int64_t> strides(place.strides, place.strides + place.rank);
    stream.write(buffer.at(place), compute::strided{ { 3, 5 }, 4, {}, strides }, given.data(), 60);
    stream.read(buffer.at(place), compute::strided{ { 3, 5 }, 4, strides, {} }, got.data(), 60);
    CHECK(got == given);
    CHECK(stream.copy(buffer.at(place), other, compute::strided{ { 3, 5 }, 4, strides, { 4, 12 } }) == compute::outcome::enqueued);
    CHECK(stream.read_async(other, compute::strided{ { 15 }, 4 }, turned.data(), 60).wait());
    CHECK(turned[1] == 5 && turned[3] == 1 && turned[14] == 14);
    try {
        stream.read(other, compute::strided{ { 3, 5 }, 4, { 4 }, {} }, got.data(), 60);
        CHECK(!"one stride for two dimensions");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_INVALID_ARGUMENT);
    }
}

void bytes_are_looked_at_in_place() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::buffer buffer(device, 64, "shared", COMPUTE_BUFFER_FLAG_HOST_VISIBLE);
    compute::mapping mapping(buffer);
    const auto words = mapping.get<std::uint32_t>();
    CHECK(words.second == 16 && words.first[7] == 0 && mapping.acquire(COMPUTE_ACCESS_WRITE));
    for (std::uint32_t i = 0; i < 16; i++) words.first[i] = i;
    mapping.flush();
    compute::readback lazy = stream.read_lazy(buffer.range(16, 16));
    stream.fill(buffer.range(16, 4), std::uint32_t{ 99 });
    CHECK(lazy.start().wait());
    const auto read = lazy.get<std::uint32_t>();
    CHECK(read.second == 4 && read.first[0] == 99 && read.first[1] == 5 && lazy.get<std::uint32_t>().first == read.first);
    CHECK(mapping.acquire(COMPUTE_ACCESS_READ, 16, 4) && words.first[4] == 99);
}

void bytes_are_exported_and_said_to_be_written() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::buffer buffer(device, 64, "exported", COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN);
    const compute_native_info native = stream.exported(buffer.range(16, 16), COMPUTE_ACCESS_WRITE);
    CHECK(native.kind == COMPUTE_NATIVE_ADDRESS && native.size == 16);
    std::memset(reinterpret_cast<void *>(static_cast<std::uintptr_t>(native.handle + native.offset)), 7, 16);
    compute::written(buffer.range(16, 16));
    compute::check(buffer.range(16, 16));
    try {
        stream.exported(buffer, COMPUTE_ACCESS_READ);
        CHECK(!"bytes that nobody has written were exported");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_UNWRITTEN);
    }
}

void memory_of_others_is_used_in_place() {
    compute::device device("cpu");
    compute::stream stream(device);
    alignas(64) static std::uint32_t words[16] = { 1, 2, 3 };
    static std::atomic<int> told{ 0 };
    const auto tell = [](void *user) { ++*static_cast<std::atomic<int> *>(user); };
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(words);
    {
        compute::buffer buffer(device, compute::import_desc(COMPUTE_NATIVE_ADDRESS, address, sizeof words, COMPUTE_ACCESS_READ_WRITE, tell, &told));
        CHECK(stream.read<std::uint32_t>(buffer)[2] == 3 && device.memory_usage().bytes_imported == sizeof words);
        try {
            compute::buffer twice(device, compute::import_desc(COMPUTE_NATIVE_ADDRESS, address, 16));
            CHECK(!"memory was imported twice");
        } catch (const compute::error &thrown) {
            CHECK(thrown.status() == COMPUTE_ERROR_ALREADY_OWNED);
        }
        stream.fill(buffer, std::uint32_t{ 9 });
        stream.sync();
    }
    for (int tries = 0; told == 0 && tries < 20000; tries++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(told == 1 && words[15] == 9);
}

void native_sources_stand_beside_a_portable_one() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::buffer in(device, 256), out(device, 256);
    compute::native_sources native(64);
    native.source(COMPUTE_LANGUAGE_CUDA, "#include \"mine.h\"\nextern \"C\" __global__ void add(const unsigned* i, unsigned* o, unsigned n) {}", "add", { "-DX" }, "sm_90")
        .header("mine.h", "// nothing")
        .buffer(COMPUTE_ACCESS_READ, "i", 4)
        .buffer(COMPUTE_ACCESS_WRITE_ALL, "o", 4)
        .value(COMPUTE_PARAMETER_U32, "n");
    const compute::kernel kernel(device, native,
                                 "@group(0) @binding(0) var<storage, read> i: array<u32>; @group(0) @binding(1) var<storage, read_write> o: array<u32>;"
                                 "@group(0) @binding(2) var<uniform> n: u32;"
                                 "@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = i[id.x] + n; }");
    CHECK(kernel.info().native_source == COMPUTE_NATIVE_NONE && kernel.binding("n").kind == COMPUTE_BINDING_VALUE);
    stream.fill(in, std::uint32_t{ 4 });
    compute::launch add(kernel);
    add.grid(1).bind(0, in).bind(1, out).bind_value(2, std::uint32_t{ 3 });
    add.on(stream);
    CHECK(stream.read<std::uint32_t>(out)[63] == 7);
    /* A copy has values of its own. */
    compute::launch other = add;
    add = compute::launch(kernel);
    other.on(stream);
    CHECK(stream.read<std::uint32_t>(out)[63] == 7);
    try {
        const compute::kernel alone(device, native);
        CHECK(!"CUDA C++ on the cpu device");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_COMPILE && failed.is_refusal());
    }
}

void tensor_maps_are_copied_and_their_views_are_buffers_for_a_portable_source() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::buffer in(device, 4096), out(device, 4);
    compute::native_sources native(1);
    native.source(COMPUTE_LANGUAGE_CUDA, "", "first").tensor_map(COMPUTE_ACCESS_READ, "i").buffer(COMPUTE_ACCESS_WRITE_ALL, "o");
    const compute::kernel kernel(device, native,
                                 "@group(0) @binding(0) var<storage, read> i: array<u32>; @group(0) @binding(1) var<storage, read_write> o: array<u32>;"
                                 "@compute @workgroup_size(1) fn first() { o[0] = i[0] + 1u; }");
    CHECK(kernel.binding("i").kind == COMPUTE_BINDING_TENSOR_MAP);
    stream.fill(in, std::uint32_t{ 4 });
    compute_tensor_map_desc map = COMPUTE_TENSOR_MAP_DESC_INIT;
    map.element = COMPUTE_ELEMENT_F32;
    map.rank = 2;
    map.shape[0] = map.shape[1] = 32;
    map.box_shape[0] = map.box_shape[1] = 4;
    compute::launch first(kernel);
    first.bind_tensor(0, in, map).bind(1, out);
    map.rank = 0;
    first.on(stream);
    CHECK(stream.read<std::uint32_t>(out)[0] == 5);
    compute::launch wrong(kernel);
    wrong.bind_tensor(0, in, map).bind(1, out);
    try {
        wrong.on(stream);
        CHECK(!"a tensor without dimensions");
    } catch (const compute::error &failed) {
        CHECK(failed.status() == COMPUTE_ERROR_LIMIT);
    }
}

void graphs_are_captured_made_and_replayed() {
    compute::device device("cpu");
    compute::stream stream(device);
    compute::buffer in(device, 1024), out(device, 1024);
    const compute::kernel kernel(device, "@group(0) @binding(0) var<storage, read> I: array<u32>; @group(0) @binding(1) var<storage, read_write> O: array<u32>;"
                                         "@compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3<u32>) { O[id.x] = I[id.x] + 1u; }");
    compute::launch step(kernel);
    step.grid(4).bind(0, in).bind(1, out);
    stream.prepare_capture();
    step.on(stream);
    compute::graph captured;
    {
        compute::capture window(stream);
        step.on(stream);
        captured = window.end();
    }
    stream.fill(in, std::uint32_t{ 4 });
    CHECK(stream.replay(captured) == compute::outcome::enqueued && stream.read<std::uint32_t>(out)[200] == 5);
    stream.prepare_capture();
    try {
        compute::capture window(stream);
        stream.sync();
        CHECK(!"a sync inside a window");
    } catch (const compute::error &thrown) {
        CHECK(thrown.status() == COMPUTE_ERROR_RECORDING);
    }
    CHECK(stream.sync());
    /* What throws in a warm-up leaves no window open. */
    try {
        compute::warm_up once(stream);
        step.on(stream);
        throw 7;
    } catch (int) {
    }
    {
        compute::warm_up again(stream);
        step.on(stream);
        compute::capture window = again.begin("warm");
        step.on(stream);
        captured = window.end();
    }
    CHECK(stream.replay(captured) == compute::outcome::enqueued && stream.sync());

    compute::graph_builder builder(device, "made", COMPUTE_GRAPH_FLAG_TIMED);
    const compute_node first = builder.add_fill(in, std::uint32_t{ 9 }), second = builder.add(step, { first });
    builder.add_join({ first, second });
    compute::graph graph = builder.instantiate();
    CHECK(graph.info().node_count == 3 && graph.times().empty() && graph.text(COMPUTE_GRAPH_DOT).find("\"made\"") != std::string::npos);
    stream.replay(graph);
    CHECK(stream.read<std::uint32_t>(out)[0] == 10 && graph.times().size() == 3);
    step.grid(1);
    graph.update(second, step);
    stream.fill(out, std::uint32_t{ 0 });
    stream.replay(graph);
    CHECK(stream.read<std::uint32_t>(out)[63] == 10 && stream.read<std::uint32_t>(out)[64] == 0);
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
    run("a_launch_that_is_bound_anew_has_what_it_was_bound_to_last", a_launch_that_is_bound_anew_has_what_it_was_bound_to_last);
    run("failures_are_exceptions_that_say_why", failures_are_exceptions_that_say_why);
    run("memory_is_pooled_reported_and_budgeted", memory_is_pooled_reported_and_budgeted);
    run("tensors_are_laid_out_and_moved_with_strides", tensors_are_laid_out_and_moved_with_strides);
    run("bytes_are_looked_at_in_place", bytes_are_looked_at_in_place);
    run("bytes_are_exported_and_said_to_be_written", bytes_are_exported_and_said_to_be_written);
    run("memory_of_others_is_used_in_place", memory_of_others_is_used_in_place);
    run("native_sources_stand_beside_a_portable_one", native_sources_stand_beside_a_portable_one);
    run("tensor_maps_are_copied_and_their_views_are_buffers_for_a_portable_source",
        tensor_maps_are_copied_and_their_views_are_buffers_for_a_portable_source);
    run("graphs_are_captured_made_and_replayed", graphs_are_captured_made_and_replayed);
    run("handles_move_and_release_once", handles_move_and_release_once);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
