/* T1 to T6a, T13, L8 and M3 against a model: random writes, fills, copies (of ranges and of rows), launches, failures and reads on two streams, and beside them a plain array that
 * says of every byte what it is worth and whether a failure claims it. Every read has to answer as the array does, to the byte. Failures come at once (a
 * refused launch, a driver error) and late (T13); when a late one becomes known depends on chance, what is claimed in the end does not.
 *
 *     model [SEED]        one seed only, telling each step
 *
 * MODEL_PART=K/N: every N-th seed from K on.
 */
#include "rules.h"

enum { BUFFERS = 5, MOST = 512, STEPS = 300, SEEDS = 150, TRUSTED = 0 };

#define SPARSE IO "@compute @workgroup_size(64) fn sparse(" ID ") { if (id.x & 1u) == 1u && id.x < arrayLength(&O) { O[id.x] = I[id.x]; } }\n"

static uint32_t state;
static uint64_t alignment; /* of storage views */
static int tell, late, step_count, may_be_unknown;
static compute_device device;
static compute_stream streams[2];
static compute_kernel increment, sparse, add;

/* One buffer and what the model thinks of it. `claim` is TRUSTED or the model's number of a failure. Never-written bytes are trusted zeros; that they are
 * `blank` matters only because work that touches them has them filled first, and that fill can be what fails. */
static struct slot {
    compute_buffer buffer;
    uint64_t size;
    unsigned char value[MOST];
    int claim[MOST];
    char blank[MOST];
} slots[BUFFERS];
static int failures;              /* the model's numbers go from 1 */
static uint64_t known_as[STEPS + 1]; /* the library's number of each, once told */

static uint32_t pick(uint32_t below) { return next_random(&state) % below; }

/* `size` bytes; of rows, if `width` is not 0, that long and `pitch` apart. */
struct part {
    struct slot *slot;
    uint64_t offset, size, width, pitch;
};

static uint64_t at(const struct part *part, uint64_t i)
{
    return part->offset + (part->width ? i / part->width * part->pitch + i % part->width : i);
}

static struct part random_part(uint64_t unit)
{
    struct part part = { &slots[pick(BUFFERS)], 0, 0, 0, 0 };
    part.offset = pick((uint32_t)(part.slot->size / unit)) * unit;
    part.size = (1 + pick((uint32_t)((part.slot->size - part.offset) / unit))) * unit;
    return part;
}
/* What a kernel's binding can be given: it begins where the device wants storage views to. */
static struct part random_view(void)
{
    struct part part = random_part(4);
    part.offset -= part.offset % alignment;
    return part;
}
/* As many rows as there is room for, at most `rows`. */
static struct part random_rows(uint64_t width, uint64_t rows)
{
    struct part part = random_part(1);
    if (part.slot->size < width) width = part.slot->size;
    if (part.offset > part.slot->size - width) part.offset = part.slot->size - width;
    part.width = width;
    part.pitch = width + pick(3) * pick(20);
    uint64_t room = (part.slot->size - part.offset - width) / part.pitch + 1;
    part.size = (room < rows ? room : 1 + pick((uint32_t)rows)) * width;
    return part;
}
static int overlap(struct part a, struct part b)
{
    for (uint64_t i = 0; a.slot == b.slot && i < a.size; i++) {
        for (uint64_t j = 0; j < b.size; j++) {
            if (at(&a, i) == at(&b, j)) return 1;
        }
    }
    return 0;
}
static compute_view view_of(struct part part) { return range(part.slot->buffer, part.offset, at(&part, part.size - 1) + 1 - part.offset); }

/* What a strided transfer of these rows takes; host memory has them without gaps. Points into static memory. */
static compute_strided_desc desc_of(const struct part *from, const struct part *to)
{
    static uint64_t shape[2];
    static int64_t strides[2][2];
    const struct part *any = from ? from : to;
    compute_strided_desc desc = COMPUTE_STRIDED_DESC_INIT;
    shape[0] = any->size / any->width;
    shape[1] = any->width;
    for (int end = 0; end < 2; end++) strides[end][1] = 1;
    if (from) strides[0][0] = (int64_t)from->pitch;
    if (to) strides[1][0] = (int64_t)to->pitch;
    desc.rank = 2;
    desc.shape = shape;
    desc.element_size = 1;
    desc.from_strides = from ? strides[0] : NULL;
    desc.to_strides = to ? strides[1] : NULL;
    return desc;
}
static compute_binding binding_of(uint32_t slot, struct part part) { return bind_range(slot, part.slot->buffer, part.offset, part.size); }

static int first_claim(const struct part *part)
{
    for (uint64_t i = 0; i < part->size; i++) {
        if (part->slot->claim[at(part, i)] != TRUSTED) return part->slot->claim[at(part, i)];
    }
    return TRUSTED;
}
static void claim(const struct part *part, int failure)
{
    for (uint64_t i = 0; i < part->size; i++) {
        part->slot->claim[at(part, i)] = failure;
        part->slot->blank[at(part, i)] = 0;
    }
}
/* What work has filled with zeros before it began: the never-written bytes of what it read, or of what it might have left out. */
static void filled(const struct part *part, int failure)
{
    for (uint64_t i = 0; i < part->size; i++) {
        if (!part->slot->blank[at(part, i)]) continue;
        part->slot->claim[at(part, i)] = failure;
        part->slot->blank[at(part, i)] = 0;
    }
}
static void say(const char *what, struct part a, struct part b)
{
    if (!tell) return;
    printf("%3d %s: buffer %d [%llu, +%llu)", step_count, what, (int)(a.slot - slots), (unsigned long long)a.offset, (unsigned long long)a.size);
    if (b.slot) printf(", buffer %d [%llu, +%llu)", (int)(b.slot - slots), (unsigned long long)b.offset, (unsigned long long)b.size);
    printf("\n");
}
static const struct part nothing = { NULL, 0, 0, 0, 0 };

static void make(struct slot *slot)
{
    slot->size = 4 * (1 + pick(MOST / 4));
    slot->buffer = make_buffer(device, slot->size, "modelled");
    memset(slot->value, 0, sizeof slot->value);
    memset(slot->claim, 0, sizeof slot->claim);
    memset(slot->blank, 1, sizeof slot->blank);
}

/* Makes the next call of the device fail, now and then. Answers how. */
static uint32_t arm(void)
{
    if (pick(6) != 0) return COMPUTE_FAULT_NONE;
    uint32_t how = late && pick(3) ? COMPUTE_FAULT_LATE : COMPUTE_FAULT_ERROR;
    OK(compute_device_inject_fault(device, 1, how, E));
    return how;
}

/* What work did that read `input` (or nothing) and was to write `output`: the model's side of it. `fault` is what was armed.
 * Answers whether it ran, so that the caller may store the values. */
static int settle(compute_status status, struct part input, struct part output, uint32_t fault)
{
    int reason = input.slot ? first_claim(&input) : TRUSTED;
    OK(compute_device_inject_fault(device, 0, COMPUTE_FAULT_NONE, E));
    if (reason != TRUSTED) { /* skipped, or run before the failure was known */
        if (status != COMPUTE_SKIPPED && !(late && may_be_unknown)) CHECK_EQ(status, COMPUTE_SKIPPED);
        if (status < 0) { /* it was not known yet, and then the armed fault hit */
            CHECK(fault == COMPUTE_FAULT_ERROR && status == COMPUTE_ERROR_DRIVER);
            reason = ++failures;
        }
        claim(&output, reason);
        return 0;
    }
    if (fault == COMPUTE_FAULT_ERROR) {
        /* The fault may have hit a zero-fill or a wait of the same call: the call fails all the same. */
        CHECK_EQ(status, COMPUTE_ERROR_DRIVER);
        claim(&output, ++failures);
        return 0;
    }
    CHECK_EQ(status, COMPUTE_OK);
    if (fault == COMPUTE_FAULT_LATE) { /* of a fill or of the work itself: all that the operation was to write */
        may_be_unknown = 1;
        claim(&output, ++failures);
        if (input.slot) filled(&input, failures);
        return 0;
    }
    if (input.slot) filled(&input, TRUSTED);
    return 1;
}

static void whole_write(struct part to, const unsigned char *bytes)
{
    for (uint64_t i = 0; i < to.size; i++) to.slot->value[at(&to, i)] = bytes[i];
    claim(&to, TRUSTED);
}

static void do_write(compute_stream stream)
{
    unsigned char bytes[MOST];
    struct part to = pick(2) ? random_part(1) : random_rows(1 + pick(12), MOST);
    compute_view view = view_of(to);
    for (uint64_t i = 0; i < to.size; i++) bytes[i] = (unsigned char)next_random(&state);
    say(to.width ? "write rows" : "write", to, nothing);
    uint32_t fault = arm();
    compute_status status;
    if (to.width) {
        compute_strided_desc desc = desc_of(NULL, &to);
        status = compute_stream_write_strided(stream, &view, &desc, bytes, to.size, E);
    } else {
        status = compute_stream_write(stream, &view, bytes, to.size, E);
    }
    if (settle(status, nothing, to, fault)) whole_write(to, bytes);
}

static void do_fill(compute_stream stream)
{
    unsigned char pattern[4], bytes[MOST];
    struct part to = random_part(1);
    compute_view view = view_of(to);
    uint64_t size = (uint64_t)1 << pick(3);
    for (int i = 0; i < 4; i++) pattern[i] = (unsigned char)next_random(&state);
    for (uint64_t i = 0; i < to.size; i++) bytes[i] = pattern[i % size];
    say("fill", to, nothing);
    uint32_t fault = arm();
    if (settle(compute_stream_fill(stream, &view, pattern, size, E), nothing, to, fault)) whole_write(to, bytes);
}

static void do_copy(compute_stream stream)
{
    struct part from = random_part(1), to = random_part(1);
    int rows = pick(2) == 0;
    if (rows) {
        from = random_rows(1 + pick(12), MOST);
        to = random_rows(from.width, from.size / from.width);
        if (to.width != from.width) return;
    }
    from.size = to.size = from.size < to.size ? from.size : to.size;
    if (overlap(from, to)) return;
    compute_view source = view_of(from), destination = view_of(to);
    say(rows ? "copy rows" : "copy", from, to);
    uint32_t fault = arm();
    compute_status status;
    if (rows) {
        compute_strided_desc desc = desc_of(&from, &to);
        status = compute_stream_copy_strided(stream, &source, &destination, &desc, E);
    } else {
        status = compute_stream_copy(stream, &source, &destination, E);
    }
    if (settle(status, from, to, fault)) {
        unsigned char bytes[MOST];
        for (uint64_t i = 0; i < from.size; i++) bytes[i] = from.slot->value[at(&from, i)];
        whole_write(to, bytes);
    }
}

static uint32_t word_at(struct part part, uint64_t index)
{
    uint32_t word = 0;
    if (4 * index < part.size) memcpy(&word, part.slot->value + part.offset + 4 * index, 4);
    return word;
}

static void do_increment(compute_stream stream)
{
    struct part in = random_view(), out = random_view();
    if (overlap(in, out)) return;
    compute_binding bindings[2] = { binding_of(0, in), binding_of(1, out) };
    say("increment", in, out);
    uint32_t fault = arm();
    if (settle(launch(stream, increment, MOST / 4 / 64, bindings, 2), in, out, fault)) {
        unsigned char bytes[MOST];
        for (uint64_t i = 0; i < out.size / 4; i++) {
            uint32_t word = word_at(in, i) + 1; /* past the end of the input it reads zero (L5) */
            memcpy(bytes + 4 * i, &word, 4);
        }
        whole_write(out, bytes);
    }
}

/* Writes every other word: no claim is released (T6a). */
static void do_sparse(compute_stream stream)
{
    struct part in = random_view(), out = random_view();
    if (overlap(in, out)) return;
    compute_binding bindings[2] = { binding_of(0, in), binding_of(1, out) };
    say("sparse", in, out);
    uint32_t fault = arm();
    if (settle(launch(stream, sparse, MOST / 4 / 64, bindings, 2), in, out, fault)) {
        filled(&out, TRUSTED);
        for (uint64_t i = 1; i < out.size / 4; i += 2) {
            uint32_t word = word_at(in, i);
            memcpy(out.slot->value + out.offset + 4 * i, &word, 4);
        }
    }
}

static void do_refused(compute_stream stream)
{
    uint32_t amount = 1;
    struct part in = random_view(), out = random_view();
    if (overlap(in, out)) return;
    compute_binding bindings[3] = { binding_of(0, in), binding_of(1, out), bind_bytes(2, &amount, 4) };
    say("refused launch", in, out);
    IS(COMPUTE_ERROR_BINDING, launch(stream, add, 1, bindings, 3));
    claim(&out, ++failures);
}

static void do_replace(void)
{
    struct slot *slot = &slots[pick(BUFFERS)];
    struct part all = { slot, 0, slot->size, 0, 0 };
    say("replace", all, nothing);
    if (pick(2)) OK(compute_buffer_destroy(slot->buffer, E));
    compute_buffer_release(slot->buffer);
    make(slot);
}

/* The failure that a read told of: always the same number for the same failure of the model. Not with late ones, where chance decides which comes first. */
static void check_failure(struct part part)
{
    int first = first_claim(&part), several = 0;
    for (uint64_t i = 0; i < part.size; i++) {
        int other = part.slot->claim[at(&part, i)];
        several |= other != TRUSTED && other != first;
    }
    if (late) return;
    CHECK_EQ(last_info().status, several ? COMPUTE_ERROR_SEVERAL : COMPUTE_ERROR_UNWRITTEN);
    if (several) return;
    if (!known_as[first]) known_as[first] = last_info().failure;
    CHECK_EQ(last_info().failure, known_as[first]);
}

static void do_read(compute_stream stream)
{
    unsigned char bytes[MOST];
    compute_event event = NULL;
    struct part from = pick(2) ? random_part(1) : random_rows(1 + pick(12), MOST);
    compute_view view = view_of(from);
    memset(bytes, 0xee, sizeof bytes);
    say(from.width ? "read rows" : "read", from, nothing);
    compute_status status;
    if (from.width) {
        compute_strided_desc desc = desc_of(&from, NULL);
        status = compute_stream_read_strided_async(stream, &view, &desc, bytes, from.size, &event, E);
        if (status == COMPUTE_OK) status = compute_event_wait(event, COMPUTE_FOREVER, E);
        compute_event_release(event);
    } else if (pick(2)) {
        status = compute_stream_read(stream, &view, bytes, from.size, E);
    } else {
        status = compute_stream_read_async(stream, &view, bytes, from.size, &event, E);
        if (status == COMPUTE_OK) status = compute_event_wait(event, COMPUTE_FOREVER, E);
        compute_event_release(event);
    }
    if (first_claim(&from) == TRUSTED) {
        CHECK_EQ(status, COMPUTE_OK);
        for (uint64_t i = 0; i < from.size; i++) CHECK_EQ(bytes[i], from.slot->value[at(&from, i)]);
        filled(&from, TRUSTED);
    } else {
        CHECK(status == COMPUTE_ERROR_UNWRITTEN || status == COMPUTE_ERROR_SEVERAL);
        check_failure(from);
        for (uint64_t i = 0; i < from.size; i++) CHECK(bytes[i] == 0xee);
    }
}

static void run_seed(uint32_t seed)
{
    state = seed * 2654435761u + 1;
    late = seed & 1;
    device = open_faulty();
    alignment = device_info(device).storage_alignment;
    for (int i = 0; i < 2; i++) streams[i] = make_stream(device);
    increment = make_kernel(device, INCREMENT);
    sparse = make_kernel(device, SPARSE);
    add = make_kernel(device, ADD);
    for (int i = 0; i < BUFFERS; i++) make(&slots[i]);
    for (step_count = 0; step_count < STEPS; step_count++) {
        compute_stream stream = streams[pick(2)];
        switch (pick(16)) {
        case 0: case 1: case 2: do_write(stream); break;
        case 3: case 4: do_fill(stream); break;
        case 5: case 6: do_copy(stream); break;
        case 7: case 8: do_increment(stream); break;
        case 9: case 10: do_sparse(stream); break;
        case 11: do_refused(stream); break;
        case 12: if (pick(3) == 0) do_replace(); break;
        default: do_read(stream); break;
        }
    }
    OK(compute_device_status(device, E));
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    if (argc > 1) {
        tell = 1;
        run_seed((uint32_t)atoi(argv[1]));
        return 0;
    }
    unsigned first = 0, step = 1;
    const char *part = getenv("MODEL_PART");
    if (part && (sscanf(part, "%u/%u", &first, &step) != 2 || first >= step)) {
        printf("MODEL_PART is %s, not K/N\n", part);
        return 1;
    }
    if (part) printf("every seed of %u from %u on\n", step, first);
    for (uint32_t seed = first; seed < SEEDS; seed += step) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            run_seed(seed);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
        if (status == 0) passed++;
        else failed++;
        if (status != 0) {
            printf("FAILED t1_to_t13_every_read_answers_as_the_model_does, seed %u%s; again: model %u\n", (unsigned)seed,
                   WIFSIGNALED(status) ? ", by a signal" : "", (unsigned)seed);
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
