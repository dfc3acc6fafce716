/* What the tests of memory share: a device and a stream, buffers from a stream's pools, reports whose figures are checked, budgets, long work. */
#ifndef MEMORY_H
#define MEMORY_H

#include "rules.h"

#define MIB (UINT64_C(1) << 20)
#define MOST_POOLS 70

HELPER compute_device device;
HELPER compute_stream stream;

HELPER void set_up_on(compute_device on)
{
    device = on;
    stream = make_stream(device);
}
HELPER void set_up(void) { set_up_on(open_device()); }

HELPER compute_buffer_desc buffer_desc(compute_stream of, uint64_t size, uint64_t flags)
{
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    desc.size = size;
    desc.flags = flags;
    desc.stream = of;
    return desc;
}

HELPER compute_status try_buffer(compute_stream of, uint64_t size, compute_buffer *buffer)
{
    compute_buffer_desc desc = buffer_desc(of, size, 0);
    return compute_buffer_create(device, &desc, buffer, E);
}

HELPER compute_buffer stream_buffer(compute_stream of, uint64_t size)
{
    compute_buffer buffer = NULL;
    OK(try_buffer(of, size, &buffer));
    return buffer;
}

HELPER compute_memory_usage usage(void)
{
    compute_memory_usage usage = COMPUTE_MEMORY_USAGE_INIT;
    OK(compute_device_memory_usage(device, &usage, E));
    CHECK(usage.bytes_in_use <= usage.bytes_in_use_peak && usage.bytes_reserved <= usage.bytes_reserved_peak);
    CHECK(usage.bytes_idle + usage.bytes_pending <= usage.bytes_reserved);
    return usage;
}

HELPER compute_pool_report reports[MOST_POOLS];
HELPER size_t report(compute_stream of)
{
    size_t count = 99;
    memset(reports, 0, sizeof reports);
    reports[0].struct_size = sizeof reports[0];
    OK(compute_stream_memory_report(of, reports, 0, MOST_POOLS, &count, E));
    for (size_t i = 0; i < count; i++) {
        const compute_pool_report *r = &reports[i];
        CHECK(r->bytes_in_use + r->bytes_pending <= r->bytes_reserved && r->bytes_reserved <= r->cap);
        CHECK(r->largest_free <= r->bytes_reserved - r->bytes_in_use - r->bytes_pending);
        CHECK(r->bytes_reserved <= r->bytes_reserved_peak && r->pages <= r->pages_peak && r->bytes_in_use <= r->bytes_in_use_peak);
    }
    return count;
}

/* Pools of a stream that nobody has replaced, the two persistent ones last: a device that tracks usage by block needs one less, as more goes to blocks of its own. */
HELPER size_t usual_pools(void) { return on("wgpu") ? 5 : 6; }

HELPER compute_pool_desc pool(uint32_t kind, uint64_t largest, uint64_t page, uint64_t page_most, uint64_t cap)
{
    compute_pool_desc desc = { kind, 0, largest, page, page_most, cap };
    return desc;
}

HELPER compute_status set_pools(compute_stream of, const compute_pool_desc *pools, size_t count)
{
    return compute_stream_set_pools(of, pools, count, 0, E);
}

/* Work of some hundred milliseconds on `on`, whose result is 42 in the first word of `to`. */
HELPER compute_kernel spin;
HELPER compute_buffer turns;
HELPER void long_work(compute_stream on, compute_buffer to)
{
    if (!spin) {
        spin = make_kernel(device, SPIN);
        turns = make_buffer(device, 8, "turns");
        put_word(on, turns, 0, turns_of(device, on, 100000000));
        put_word(on, turns, 1, 42);
        wait_for(on);
    }
    OK(launch_io(on, spin, "long", turns, to, 1));
}

HELPER compute_budget make_budget(uint64_t limit)
{
    compute_budget budget = NULL;
    OK(compute_budget_create(limit, &budget, E));
    return budget;
}

HELPER compute_budget_info charges(compute_budget budget)
{
    compute_budget_info info = COMPUTE_BUDGET_INFO_INIT;
    OK(compute_budget_get_info(budget, &info, E));
    CHECK(info.charged <= info.charged_peak && info.charged_peak <= info.limit);
    return info;
}

#endif
