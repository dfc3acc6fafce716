/* COMPUTE_KERNEL_FLAG_STRICT: kernels that give the same bits on every device that can promise it. RULES_BACKEND selects the device that is compared with the cpu device. */
#include "rules.h"

#include <math.h>

enum { COUNT = 4096, GROUP = 64 };

static int is_cpu(void) { return !getenv("RULES_BACKEND") || !strcmp(getenv("RULES_BACKEND"), "cpu"); }
static int can(compute_device device) { return (device_info(device).capabilities & COMPUTE_CAPABILITY_STRICT) != 0; }

static compute_device open_cpu(void)
{
    compute_device device = NULL;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    OK(compute_device_open(&desc, &device, E));
    return device;
}

static compute_kernel make_strict(compute_device device, const char *source, uint64_t flags)
{
    compute_kernel_desc desc = kernel_desc(source, "strict");
    desc.flags = flags;
    return make_kernel_from(device, &desc);
}

/* What a kernel makes of three times COUNT numbers. */
static void results(compute_device device, const char *source, uint64_t flags, const uint32_t *numbers, uint32_t *result)
{
    compute_stream stream = make_stream(device);
    compute_kernel kernel = make_strict(device, source, flags);
    compute_buffer in = make_buffer(device, 12 * COUNT, "in"), out = make_buffer(device, 4 * COUNT, "out");
    put(stream, in, 0, numbers, 12 * COUNT);
    OK(launch_io(stream, kernel, "strict", in, out, COUNT / GROUP));
    OK(get(stream, out, 0, result, 4 * COUNT));
    compute_kernel_release(kernel);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_stream_release(stream);
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, 4);
    return bits;
}
static float number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

#define HEAD \
    "@group(0) @binding(0) var<storage, read> I: array<f32>;\n" \
    "@group(0) @binding(1) var<storage, read_write> O: array<f32>;\n" \
    "fn f(a: f32, b: f32, c: f32) -> f32 { return "
#define TAIL \
    "; }\n" \
    "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n" \
    "  O[id.x] = f(I[3u * id.x], I[3u * id.x + 1u], I[3u * id.x + 2u]); }\n"
#define KERNEL(expression) HEAD expression TAIL

/* a * b, rounded, is -c. So a sum of rounded numbers is 0, and one that is rounded only at its end is what the first rounding loses. */
static void fusible(uint32_t *numbers)
{
    uint32_t state = 7;
    for (unsigned i = 0; i < COUNT; i++) {
        float a = 1.0f + (float)(next_random(&state) >> 9) / 8388608.0f, b = 1.0f + (float)(next_random(&state) >> 9) / 8388608.0f;
        volatile float product = a * b;
        numbers[3 * i] = bits_of(a);
        numbers[3 * i + 1] = bits_of(b);
        numbers[3 * i + 2] = bits_of(-product);
    }
}

TEST(a_product_and_a_sum_are_rounded_each_in_a_strict_kernel)
{
    static uint32_t numbers[3 * COUNT], result[COUNT];
    compute_device device = open_device();
    fusible(numbers);
    if (can(device)) {
        results(device, KERNEL("a * b + c"), COMPUTE_KERNEL_FLAG_STRICT, numbers, result);
        for (unsigned i = 0; i < COUNT; i++) CHECK_EQ(result[i], 0);
        /* What the source fuses itself stays fused. */
        results(device, KERNEL("fma(a, b, c)"), COMPUTE_KERNEL_FLAG_STRICT, numbers, result);
        for (unsigned i = 0; i < COUNT; i++) {
            float whole = fmaf(number_of(numbers[3 * i]), number_of(numbers[3 * i + 1]), number_of(numbers[3 * i + 2]));
            CHECK_EQ(result[i], bits_of(whole));
        }
    }
    unsigned fused = 0;
    results(device, KERNEL("a * b + c"), 0, numbers, result);
    for (unsigned i = 0; i < COUNT; i++) fused += result[i] != 0;
    printf("  without the flag %u of %d are fused\n", fused, COUNT);
    CHECK(!is_cpu() || fused == 0);
}

/* Numbers of every size and sign, and those that are none. */
static void all_kinds(uint32_t *numbers)
{
    static const uint32_t corners[] = { 0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0x3f000000, 0x40490fdb, 0x42b17218, 0x4b000000 };
    uint32_t state = 11;
    for (unsigned i = 0; i < 3 * COUNT; i++) {
        uint32_t bits = next_random(&state);
        /* A third of all bits, a third of numbers near 1, and corners. */
        switch (next_random(&state) % 3) {
        case 0: numbers[i] = bits; break;
        case 1: numbers[i] = (bits & 0x87ffffff) | 0x38000000; break;
        default: numbers[i] = corners[bits % COUNT_OF(corners)]; break;
        }
    }
}

static const char *const EXPRESSIONS[] = {
    KERNEL("a * b + c"),
    KERNEL("a / b - c"),
    KERNEL("sqrt(abs(a)) + inverseSqrt(abs(b)) * c"),
    KERNEL("dot(vec3<f32>(a, b, c), vec3<f32>(c, a, b))"),
    KERNEL("length(vec2<f32>(a, b)) - distance(vec3<f32>(a, b, c), vec3<f32>(1.0, 2.0, 3.0))"),
    KERNEL("mix(a, b, c) + smoothstep(0.0, 1.0, c) * a"),
    KERNEL("normalize(vec4<f32>(a, b, c, 1.0)).y + cross(vec3<f32>(a, b, c), vec3<f32>(c, b, a)).z"),
    KERNEL("(mat3x3<f32>(a, b, c, b, c, a, c, a, b) * vec3<f32>(a, 0.3, c)).x + determinant(mat2x2<f32>(a, b, c, a))"),
    KERNEL("((a * 0.125 + b) * a + c) * a - b * c + 1.0 / 3.0"),
    KERNEL("exp(a) - exp2(b) * c"),
    KERNEL("log(abs(a)) + log2(abs(b)) * c"),
    KERNEL("pow(abs(a), b)"),
    KERNEL("sin(a) * cos(b) + tan(c)"),
    KERNEL("sinh(a) - cosh(b) * tanh(c)"),
    KERNEL("a % b + fract(c) * floor(b) - round(a)"),
    KERNEL("degrees(a) + radians(b) - ldexp(c, 3)"),
};

TEST(strict_kernels_give_the_bits_of_the_cpu_device)
{
    static uint32_t numbers[3 * COUNT], result[COUNT], expected[COUNT];
    compute_device device = open_device(), cpu = open_cpu();
    if (!can(device)) {
        puts("  this device promises no bits");
        return;
    }
    all_kinds(numbers);
    for (unsigned e = 0; e < COUNT_OF(EXPRESSIONS); e++) {
        unsigned differ = 0, free = 0;
        results(cpu, EXPRESSIONS[e], COMPUTE_KERNEL_FLAG_STRICT, numbers, expected);
        results(device, EXPRESSIONS[e], 0, numbers, result);
        for (unsigned i = 0; i < COUNT; i++) free += result[i] != expected[i] && !(isnan(number_of(result[i])) && isnan(number_of(expected[i])));
        results(device, EXPRESSIONS[e], COMPUTE_KERNEL_FLAG_STRICT, numbers, result);
        for (unsigned i = 0; i < COUNT; i++) {
            /* The bits of what is no number are nobody's promise. */
            if (result[i] == expected[i] || (isnan(number_of(result[i])) && isnan(number_of(expected[i])))) continue;
            if (!differ++) {
                fprintf(stderr, "  %.*s of %08x %08x %08x: %08x, on the cpu device %08x\n", (int)(strstr(EXPRESSIONS[e], "; }") - EXPRESSIONS[e] - strlen(HEAD)),
                        EXPRESSIONS[e] + strlen(HEAD), (unsigned)numbers[3 * i], (unsigned)numbers[3 * i + 1], (unsigned)numbers[3 * i + 2], (unsigned)result[i],
                        (unsigned)expected[i]);
            }
        }
        printf("  %u of %d differ without the flag: %.*s\n", free, COUNT, (int)(strstr(EXPRESSIONS[e], "; }") - EXPRESSIONS[e] - strlen(HEAD)),
               EXPRESSIONS[e] + strlen(HEAD));
        CHECK_EQ(differ, 0);
    }
}

TEST(what_no_device_can_promise_is_refused_with_its_place)
{
    compute_device device = open_device();
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = kernel_desc(KERNEL("a +\n  atan(b) * c"), "arcs");
    desc.flags = COMPUTE_KERNEL_FLAG_STRICT;
    if (!can(device)) {
        IS(COMPUTE_ERROR_UNSUPPORTED, compute_kernel_create(device, &desc, &kernel, E));
        CHECK(kernel == NULL);
        return;
    }
    if (is_cpu()) {
        OK(compute_kernel_create(device, &desc, &kernel, E));
        return;
    }
    IS(COMPUTE_ERROR_COMPILE, compute_kernel_create(device, &desc, &kernel, E));
    char text[2048];
    size_t needed = 0;
    CHECK(compute_error_format(last_error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed) >= 0);
    CHECK(strstr(text, "atan") && strstr(text, "same bits") && strstr(text, "line 4, column 3"));
    compute_error_info info = COMPUTE_ERROR_INFO_INIT;
    OK(compute_error_get_info(last_error, &info));
    desc.flags = 0;
    OK(compute_kernel_create(device, &desc, &kernel, E));
}

TEST(a_flag_that_is_not_there_is_a_mistake)
{
    compute_device device = open_device();
    compute_kernel kernel = NULL;
    for (unsigned bit = 1; bit < 64; bit++) {
        compute_kernel_desc desc = kernel_desc(KERNEL("a"), "flags");
        desc.flags = UINT64_C(1) << bit;
        IS(COMPUTE_ERROR_INVALID_ENUM, compute_kernel_create(device, &desc, &kernel, E));
    }
    CHECK(kernel == NULL);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(a_product_and_a_sum_are_rounded_each_in_a_strict_kernel);
    RUN(strict_kernels_give_the_bits_of_the_cpu_device);
    RUN(what_no_device_can_promise_is_refused_with_its_place);
    RUN(a_flag_that_is_not_there_is_a_mistake);
    return finish();
}
