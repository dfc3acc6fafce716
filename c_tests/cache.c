/* L7: compiled kernels in a folder, as a C program sees them: later processes, damage of every kind, folders that cannot be used, many processes at once.
 *
 * Whatever is wrong with the folder, a kernel is made and its result is right. A test's own process never opens a device: its children do, as processes of their own. */
#include "rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#define NOBODY 65534
#define HEAD 88 /* bytes of a file before the kernel itself */

/* ---- folders ---- */

static char folder[64];
static char only[192]; /* the one kernel in it */

static void new_folder(void)
{
    strcpy(folder, "/tmp/libcompute-cache-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

static void empty_folder(void)
{
    char path[512];
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') remove(path);
    }
    if (all) closedir(all);
}

static void remove_folder(void)
{
    chmod(folder, 0700);
    empty_folder();
    rmdir(folder);
}

/* Files whose name ends like this, and their bytes. The path of the last one goes to `only`. */
static unsigned files(const char *end, uint64_t *bytes)
{
    unsigned count = 0;
    struct stat facts;
    char path[512];
    DIR *all = opendir(folder);
    CHECK(all != NULL);
    for (struct dirent *entry; (entry = readdir(all));) {
        size_t length = strlen(entry->d_name);
        if (length < strlen(end) || strcmp(entry->d_name + length - strlen(end), end) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &facts) == 0 && bytes) *bytes += (uint64_t)facts.st_size;
        CHECK(strlen(path) < sizeof only);
        strcpy(only, path);
        count++;
    }
    closedir(all);
    return count;
}

static unsigned char *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    CHECK(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    CHECK(size == 0 || write(file, bytes, size) == (ssize_t)size);
    close(file);
}

/* ---- devices with a cache ---- */

static uint64_t limit;

static compute_status try_cache(const char *name, const void *next, compute_device *out)
{
    compute_cache_desc cache = COMPUTE_CACHE_DESC_INIT;
    cache.folder = name;
    cache.folder_length = COMPUTE_NUL_TERMINATED;
    cache.max_bytes = limit;
    cache.next = next;
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.backend = getenv("RULES_BACKEND") ? getenv("RULES_BACKEND") : "cpu";
    desc.backend_length = COMPUTE_NUL_TERMINATED;
    desc.threads = 1;
    desc.next = &cache;
    return compute_device_open(&desc, out, E);
}

static compute_device open_cached(const void *next)
{
    compute_device device = NULL;
    OK(try_cache(folder, next, &device));
    return device;
}

static compute_cache_info info_of(compute_device device)
{
    compute_cache_info info = COMPUTE_CACHE_INFO_INIT;
    OK(compute_device_cache_info(device, &info, E));
    return info;
}

static void is(compute_device device, uint64_t hits, uint64_t misses, uint64_t rejected, uint64_t stored, uint64_t failed)
{
    compute_cache_info info = info_of(device);
    if (info.hits == hits && info.misses == misses && info.rejected == rejected && info.stored == stored && info.failed == failed) return;
    fprintf(stderr, "  hits %u, misses %u, rejected %u, stored %u, failed %u (%s)\n", (unsigned)info.hits, (unsigned)info.misses, (unsigned)info.rejected,
            (unsigned)info.stored, (unsigned)info.failed, info.reason);
    fail(__FILE__, __LINE__, "not what the cache should have done");
}

/* The n-th of the kernels of these tests, which doubles and adds n. */
static compute_kernel numbered_at(compute_device device, unsigned n, uint32_t compile)
{
    char source[512];
    snprintf(source, sizeof source,
             "const table = array<u32, 3>(2u, %uu, 7u);\n"
             "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
             "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
             "var<workgroup> zeros: array<u32, 64>;\n"
             "@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
             "    O[id.x] = zeros[id.x] + table[I[64u] %% 3u] * I[id.x] + table[I[65u] %% 3u] + u32(cos(f32(I[66u])));\n"
             "}\n",
             n);
    compute_kernel_desc desc = kernel_desc(source, "kernel");
    desc.compile = compile;
    return make_kernel_from(device, &desc);
}
static compute_kernel numbered(compute_device device, unsigned n) { return numbered_at(device, n, COMPUTE_COMPILE_NOW); }

/* Launches it and looks at every number. */
static void runs(compute_device device, compute_kernel kernel, unsigned n)
{
    uint32_t numbers[67] = { 0 };
    for (uint32_t i = 0; i < 64; i++) numbers[i] = 3 * i + 1;
    numbers[65] = 1;
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, sizeof numbers, "in"), out = make_buffer(device, 256, "out");
    put(stream, in, 0, numbers, sizeof numbers);
    OK(launch_io(stream, kernel, "run", in, out, 2));
    uint32_t result[64];
    OK(get(stream, out, 0, result, sizeof result));
    for (uint32_t i = 0; i < 64; i++) CHECK_EQ(result[i], 2 * (3 * i + 1) + n + 1);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_stream_release(stream);
}

static void make_and_run(compute_device device, unsigned n)
{
    compute_kernel kernel = numbered(device, n);
    runs(device, kernel, n);
    compute_kernel_release(kernel);
}

/* A device that makes kernel 5, and what its cache did. */
static void makes(uint64_t hits, uint64_t misses, uint64_t rejected, uint64_t stored, uint64_t failed)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 5);
    is(device, hits, misses, rejected, stored, failed);
    compute_device_release(device);
}

static void in_a_process(void (*work)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work();
        fflush(NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void compiles(void) { makes(0, 1, 0, 1, 0); }
static void finds(void) { makes(1, 0, 0, 0, 0); }
static void replaces(void) { makes(0, 0, 1, 1, 0); }
static void cannot_replace(void) { makes(0, 0, 1, 0, 1); }
static void cannot_keep(void) { makes(0, 1, 0, 0, 1); }

/* A folder with kernel 5 in it. */
static void folder_with_one(void)
{
    new_folder();
    in_a_process(compiles);
    CHECK_EQ(files(".kernel", NULL), 1);
}

static int is_cpu(void) { return on("cpu"); }

/* ---- tests ---- */

TEST(l7_a_later_process_finds_what_an_earlier_one_compiled)
{
    folder_with_one();
    struct stat facts;
    CHECK(stat(only, &facts) == 0);
    CHECK_EQ(facts.st_mode & 0777, 0600);
    in_a_process(finds);
    in_a_process(finds);
    CHECK_EQ(files(".kernel", NULL), 1);
    remove_folder();
}

/* A kernel that takes its compiler a while: 200 statements with a function each. */
static uint64_t *took;
static void makes_a_long_one(void)
{
    static char source[32768] = "@group(0) @binding(0) var<storage, read_write> O: array<f32>;\n"
                                "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n  var x = O[id.x];\n";
    for (unsigned n = 0; n < 200; n++) {
        size_t length = strlen(source);
        snprintf(source + length, sizeof source - length, "  x = x * %u.5 + sin(x + f32(id.%c)) / (abs(x) + 1.0);\n", n, "xyz"[n % 3]);
    }
    strcat(source, "  O[id.x] = x;\n}\n");
    compute_device device = open_cached(NULL);
    uint64_t start = now_ns();
    compute_kernel kernel = make_kernel(device, source);
    *took = now_ns() - start;
    compute_kernel_release(kernel);
    uint64_t known = took[1];
    is(device, known, 1 - known, 0, 1 - known, 0);
}
TEST(l7_a_later_process_does_not_compile)
{
    took = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(took != MAP_FAILED);
    new_folder();
    double cold = 0, warm = 0;
    for (took[1] = 0; took[1] < 2; took[1]++) {
        if (took[1] == 0) {
            in_a_process(makes_a_long_one);
            cold = (double)*took / 1e6;
            continue;
        }
        in_a_process(makes_a_long_one);
        warm = (double)*took / 1e6;
    }
    printf("  compiled in %.2f ms, from disk in %.2f ms: %.1f times\n", cold, warm, cold / warm);
    /* Runtime compilers take long enough for a clock to be believed. */
    CHECK(!on("cuda") || warm * 2 < cold);
    remove_folder();
}

static void two_devices(void)
{
    compute_device one = open_cached(NULL), other = open_cached(NULL), plain = open_device();
    make_and_run(one, 5);
    make_and_run(one, 5);
    is(one, 0, 1, 0, 1, 0);
    make_and_run(other, 5);
    is(other, 1, 0, 0, 0, 0);
    make_and_run(plain, 5);
    compute_cache_info info = info_of(plain);
    CHECK_EQ(info.state, COMPUTE_CACHE_NONE);
    CHECK_EQ(info.hits + info.misses + info.max_bytes, 0);
    info = info_of(other);
    CHECK_EQ(info.state, COMPUTE_CACHE_ON);
    CHECK_EQ(info.bytes_read, info_of(one).bytes_written);
    CHECK_EQ(info.max_bytes, UINT64_C(256) << 20);
    CHECK_EQ(info.reason[0], 0);
}
TEST(l7_what_the_process_has_anyway_is_not_looked_for_and_devices_share_a_folder)
{
    new_folder();
    in_a_process(two_devices);
    remove_folder();
}

static void each_byte(void)
{
    size_t size = 0, tried = 0;
    unsigned char *good = contents(only, &size);
    /* All of the head where a device is opened in no time; else a part. Every byte is tried where files are read (`runtime/disk/entry.rs`). */
    size_t step = is_cpu() ? 1 + size / 200 : size / 12, head = is_cpu() ? 1 : 11;
    for (size_t at = 0; at < size; at += at < HEAD ? head : step, tried++) {
        good[at] ^= (unsigned char)(1u << at % 8);
        write_file(only, good, size);
        good[at] ^= (unsigned char)(1u << at % 8);
        replaces();
    }
    printf("  %zu of %zu bytes\n", tried, size);
    finds();
    for (size_t length = 0; length < size; length += 1 + size / (is_cpu() ? 100 : 8)) {
        write_file(only, good, length);
        replaces();
    }
    good[size] = 0;
    write_file(only, good, size + 1);
    replaces();
    finds();
}
TEST(l7_a_file_with_any_byte_wrong_or_missing_is_compiled_anew)
{
    folder_with_one();
    in_a_process(each_byte);
    remove_folder();
}

static void makes_six(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 6);
}
TEST(l7_what_is_in_place_of_a_file_is_never_followed_and_never_believed)
{
    char path[256], aside[256];
    size_t size = 0;
    folder_with_one();
    strcpy(path, only);
    unsigned char *good = contents(path, &size);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    puts("  a link to the right file");
    CHECK(rename(path, aside) == 0 && symlink(aside, path) == 0);
    in_a_process(replaces);
    in_a_process(finds);
    puts("  a second name of the right file, which is no link");
    CHECK(remove(path) == 0 && link(aside, path) == 0);
    in_a_process(finds);
    puts("  a link to nowhere");
    CHECK(remove(path) == 0 && symlink("/nowhere/at/all", path) == 0);
    in_a_process(replaces);
    puts("  a pipe");
    CHECK(remove(path) == 0 && mkfifo(path, 0600) == 0);
    in_a_process(replaces);
    puts("  a folder");
    CHECK(remove(path) == 0 && mkdir(path, 0700) == 0);
    in_a_process(cannot_replace);
    CHECK(rmdir(path) == 0);
    puts("  the file of another kernel");
    in_a_process(makes_six);
    CHECK_EQ(files(".kernel", NULL), 1);
    CHECK(rename(only, path) == 0);
    in_a_process(replaces);
    puts("  a file that others may write to");
    CHECK(chmod(path, 0666) == 0);
    in_a_process(replaces);
    puts("  a file that is far too large");
    CHECK(truncate(path, (off_t)1 << 40) == 0 || truncate(path, (off_t)1 << 33) == 0);
    in_a_process(replaces);
    in_a_process(finds);
    CHECK_EQ(files(".tmp", NULL), 0);
    write_file(path, good, size);
    in_a_process(finds);
    remove_folder();
}

static void finds_six(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 6);
    is(device, 1, 0, 0, 0, 0);
}

static const char *told;
static void goes_without(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 5);
    compute_cache_info info = info_of(device);
    CHECK_EQ(info.state, COMPUTE_CACHE_REFUSED);
    if (!strstr(info.reason, told)) fail(__FILE__, __LINE__, info.reason);
    is(device, 0, 0, 0, 0, 0);
}
static char heard[1024];
static void hear(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user;
    if (level <= COMPUTE_LOG_WARNING) snprintf(heard, sizeof heard, "%.*s", (int)length, text);
}
static void is_told(void)
{
    OK(compute_log_set(hear, NULL, COMPUTE_LOG_WARNING, E));
    goes_without();
    CHECK(strstr(heard, folder) && strstr(heard, told));
}
#ifdef __linux__
/* One more user may write by a list, of which the mode shows the most that it gives as the group's right. */
static void with_a_list(const char *path)
{
    struct {
        uint16_t tag, rights;
        uint32_t id;
    } list[6] = { { 2, 0, 0 }, { 1, 7, ~0u }, { 2, 7, NOBODY }, { 4, 0, ~0u }, { 0x10, 7, ~0u }, { 0x20, 0, ~0u } };
    /* The first four bytes are the version of the layout. */
    const char *bytes = (const char *)list + 4;
    uint32_t version = 2;
    memcpy((char *)list + 4, &version, sizeof version);
    if (setxattr(path, "system.posix_acl_access", bytes, sizeof list - 4, 0) != 0) {
        puts("  NOT TESTED: a list of users, which this file system does not have");
        return;
    }
    in_a_process(goes_without);
    CHECK(removexattr(path, "system.posix_acl_access") == 0 && chmod(path, 0770) == 0);
}
#else
static void with_a_list(const char *path) { (void)path; }
#endif
/* Folders above a good one, and a link to it, that somebody else can change. */
static void ways_to_replace(const char *inside)
{
    char above[128], good[128];
    told = "somebody may replace it";
    snprintf(above, sizeof above, "%s/a", inside);
    CHECK(chmod(above, 0702) == 0);
    in_a_process(goes_without);
    /* The group is this user's own, by its number. */
    CHECK(chmod(above, 0770) == 0);
    if (getegid() == geteuid()) in_a_process(finds);
    with_a_list(above);
    CHECK(chmod(above, 01777) == 0);
    in_a_process(finds);
    CHECK(chmod(above, 0700) == 0);
    strcpy(good, folder);
    snprintf(folder, sizeof folder, "%s/ln", inside);
    CHECK(symlink(good, folder) == 0);
    in_a_process(finds);
    if (geteuid() == 0) {
        CHECK(lchown(folder, 1, 1) == 0);
        in_a_process(goes_without);
        CHECK(chown(above, 1, 1) == 0 && lchown(folder, 0, 0) == 0);
        in_a_process(goes_without);
        /* Another user's private group is not this one's. */
        CHECK(chown(above, 0, 1) == 0 && chmod(above, 0770) == 0);
        in_a_process(goes_without);
        CHECK(chown(above, 0, 0) == 0 && chmod(above, 0700) == 0);
    }
    CHECK(remove(folder) == 0);
    strcpy(folder, good);
    in_a_process(finds);
}
TEST(l7_a_folder_that_cannot_be_trusted_or_made_is_gone_without)
{
    char inside[128];
    folder_with_one();
    told = "others may write";
    CHECK(chmod(folder, 0777) == 0);
    in_a_process(is_told);
    CHECK(chmod(folder, 01777) == 0);
    in_a_process(goes_without);
    CHECK(chmod(folder, 0720) == 0);
    in_a_process(goes_without);
    CHECK(chmod(folder, 0750) == 0);
    in_a_process(finds);
    if (geteuid() == 0) {
        told = "belongs to user";
        CHECK(chown(folder, NOBODY, NOBODY) == 0);
        in_a_process(goes_without);
        CHECK(chown(folder, 0, 0) == 0);
    } else {
        puts("  NOT TESTED: a folder of somebody else's, as this is not root");
    }
    strcpy(inside, folder);
    CHECK(strlen(strcat(folder, "/a/b/c")) < sizeof folder);
    in_a_process(compiles);
    in_a_process(finds);
    ways_to_replace(inside);
    remove_folder();
    strcpy(folder, inside);
    strcat(folder, "/a/b");
    remove_folder();
    strcpy(folder, inside);
    strcat(folder, "/a");
    remove_folder();
    strcpy(folder, inside);
    remove_folder();
    write_file(folder, "", 0);
    told = "";
    in_a_process(goes_without);
    strcat(folder, "/below");
    told = "cannot be made";
    in_a_process(goes_without);
    CHECK(remove(inside) == 0);
    strcpy(folder, "/proc/nobody/makes/this");
    in_a_process(goes_without);
}

static void finds_as_nobody(void)
{
    CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    compute_device device = open_cached(NULL);
    make_and_run(device, 5);
    make_and_run(device, 6);
    is(device, 1, 1, 0, 0, 1);
}
TEST(l7_a_folder_that_may_only_be_read_is_read)
{
    if (!is_cpu() || geteuid() != 0) {
        puts("  NOT TESTED: needs the cpu device, and root to become somebody else");
        return;
    }
    folder_with_one();
    CHECK(chmod(folder, 0755) == 0 && chmod(only, 0644) == 0);
    in_a_process(finds_as_nobody); /* root's */
    CHECK(chown(only, NOBODY, NOBODY) == 0 && chmod(only, 0600) == 0 && chown(folder, NOBODY, NOBODY) == 0 && chmod(folder, 0500) == 0);
    in_a_process(finds_as_nobody); /* its own, without the right to write */
    CHECK_EQ(files("", NULL), 3);  /* with . and .. */
    CHECK(chown(folder, 0, 0) == 0);
    remove_folder();
}

static void keeps_no_file(rlim_t most)
{
    struct rlimit room = { most, most };
    CHECK(setrlimit(RLIMIT_FSIZE, &room) == 0);
}
static void knows_the_limit(void)
{
    /* Writing more would end the process, by the signal that this one does not ignore. */
    keeps_no_file(100);
    cannot_keep();
}
static void meets_the_limit(void)
{
    /* Lower than when the device was opened: asked again before each file. */
    compute_device device = open_cached(NULL);
    keeps_no_file(100);
    make_and_run(device, 5);
    is(device, 0, 1, 0, 0, 1);
    compute_device_release(device);
}
TEST(l7_a_disk_without_room_keeps_nothing_and_harms_nothing)
{
    if (!is_cpu()) {
        puts("  NOT TESTED: drivers and compilers write files of their own");
        return;
    }
    new_folder();
    in_a_process(knows_the_limit);
    in_a_process(meets_the_limit);
    CHECK_EQ(files("", NULL), 2);
    in_a_process(compiles);
    limit = 50;
    CHECK(files(".kernel", NULL) == 1 && remove(only) == 0);
    in_a_process(cannot_keep);
    remove_folder();
}

static void fails_then_keeps(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 5);
    is(device, 0, 1, 0, 0, 1);
    CHECK_EQ(files("", NULL), 3);
    snprintf(only, sizeof only, "%s/all", folder);
    CHECK(remove(only) == 0);
    make_and_run(device, 6);
    is(device, 0, 2, 0, 1, 1);
}
TEST(l7_a_full_disk_keeps_nothing_and_leaves_nothing)
{
    new_folder();
    if (mount("none", folder, "tmpfs", 0, "size=64k,mode=0700") != 0) {
        puts("  NOT TESTED: a full disk, as this process may not mount one");
        remove_folder();
        return;
    }
    static char zeros[65536];
    snprintf(only, sizeof only, "%s/all", folder);
    write_file(only, zeros, sizeof zeros);
    in_a_process(fails_then_keeps);
    in_a_process(finds_six);
    CHECK(umount(folder) == 0);
    remove_folder();
}

#define MANY 6
static void makes_many(void)
{
    compute_device device = open_cached(NULL);
    unsigned first = (unsigned)getpid();
    for (unsigned n = 0; n < MANY; n++) make_and_run(device, (first + n) % MANY);
    compute_cache_info info = info_of(device);
    CHECK_EQ(info.hits + info.misses + info.rejected, MANY);
    CHECK_EQ(info.failed, 0);
}
static void finds_many(void)
{
    compute_device device = open_cached(NULL);
    for (unsigned n = 0; n < MANY; n++) make_and_run(device, n);
    is(device, MANY, 0, 0, 0, 0);
}
static int all_well(pid_t *children, unsigned count)
{
    int well = 1, status = 0;
    for (unsigned i = 0; i < count; i++) well &= waitpid(children[i], &status, 0) == children[i] && status == 0;
    return well;
}
TEST(l7_processes_that_share_a_folder_do_not_disturb_each_other)
{
    pid_t children[8];
    new_folder();
    for (int round = 0; round < 4; round++) {
        fflush(NULL);
        for (unsigned i = 0; i < COUNT_OF(children); i++) {
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0) {
                makes_many();
                _exit(0);
            }
        }
        /* Somebody spoils files meanwhile. */
        for (int i = 0; round % 2 && i < 200; i++) {
            struct timespec moment = { 0, 1000000 };
            if (files(".kernel", NULL) > 0 && truncate(only, i % 120) != 0) CHECK(errno == ENOENT);
            nanosleep(&moment, NULL);
        }
        CHECK(all_well(children, COUNT_OF(children)));
    }
    in_a_process(makes_many);
    in_a_process(finds_many);
    CHECK_EQ(files(".kernel", NULL), MANY);
    CHECK_EQ(files(".tmp", NULL), 0);
    remove_folder();
}

static void makes_more(void)
{
    compute_device device = open_cached(NULL);
    for (unsigned n = 0; n < 12; n++) make_and_run(device, n);
    compute_cache_info info = info_of(device);
    CHECK_EQ(info.hits, 1);
    CHECK_EQ(info.stored, 11);
    CHECK(info.evicted >= 5);
    CHECK_EQ(info.max_bytes, limit);
}
static void finds_the_last(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 11);
    is(device, 1, 0, 0, 0, 0);
    make_and_run(device, 0);
    is(device, 1, 1, 0, 1, 0);
}
TEST(l7_what_was_used_longest_ago_makes_room)
{
    uint64_t bytes = 0, left = 0;
    char foreign[256];
    folder_with_one();
    files(".kernel", &bytes);
    snprintf(foreign, sizeof foreign, "%s/somebody.else", folder);
    write_file(foreign, "mine", 4);
    limit = (bytes + 4095) / 4096 * 4096 * 13 / 2; /* six, and a little for what differs */
    in_a_process(makes_more);
    files(".kernel", &left);
    CHECK(left <= limit && files(".kernel", NULL) <= 6);
    in_a_process(finds_the_last);
    CHECK(access(foreign, F_OK) == 0);
    remove_folder();
}

/* A kernel that reads past its input in line 4, and says so in validate mode. */
static const char PAST[] = "@group(0) @binding(0) var<storage, read> I: array<u32>;\n"
                           "@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
                           "@compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) {\n"
                           "    O[id.x] = I[id.x + 3u] + 1u;\n"
                           "}\n";
static unsigned made;
static compute_kernel make_past(compute_device device, uint32_t bounds, uint64_t time_limit)
{
    compute_kernel_desc desc = kernel_desc(PAST, "past");
    desc.bounds = bounds;
    desc.time_limit = time_limit;
    made++;
    return make_kernel_from(device, &desc);
}
static void makes_variants(void)
{
    compute_device device = open_cached(NULL);
    uint64_t can = device_info(device).capabilities;
    uint32_t word = 7, zeros[4] = { 0 };
    compute_stream stream = make_stream(device);
    compute_buffer in = make_buffer(device, 16, "in"), out = make_buffer(device, 4, "out");
    made = 0;
    compute_kernel checked = make_past(device, COMPUTE_BOUNDS_CHECKED, 0);
    make_past(device, COMPUTE_BOUNDS_UNCHECKED, 0);
    if (can & COMPUTE_CAPABILITY_TIME_LIMIT) make_past(device, COMPUTE_BOUNDS_CHECKED, 10 * SECONDS);
    if (can & COMPUTE_CAPABILITY_STRICT) {
        compute_kernel_desc strict = kernel_desc(PAST, "strict");
        strict.flags = COMPUTE_KERNEL_FLAG_STRICT;
        make_kernel_from(device, &strict);
        made++;
    }
    for (uint64_t value = 1; value <= 2; value++) {
        compute_kernel_desc tuned = kernel_desc("override n = 3u;\n@group(0) @binding(1) var<storage, read_write> O: array<u32>;\n"
                                                "@compute @workgroup_size(1) fn main() { O[0] = n; }", "tuned");
        compute_constant constant = { "n", 1, 0.0, COMPUTE_CONSTANT_U64, value };
        tuned.constants = &constant;
        tuned.constant_count = 1;
        compute_binding binding = bind(1, out);
        OK(launch(stream, make_kernel_from(device, &tuned), 1, &binding, 1));
        made++;
        CHECK_EQ(get_word(stream, out, 0), value);
    }
    put(stream, in, 0, zeros, sizeof zeros);
    put_word(stream, in, 3, word);
    OK(launch_io(stream, checked, "checked", in, out, 1));
    CHECK_EQ(get_word(stream, out, 0), word + 1);
    if (can & COMPUTE_CAPABILITY_VALIDATE) {
        compute_kernel validated = make_past(device, COMPUTE_BOUNDS_VALIDATE, 0);
        compute_buffer two = make_buffer(device, 8, "two");
        OK(launch_io(stream, validated, "validated", in, two, 2));
        IS(COMPUTE_ERROR_UNWRITTEN, get(stream, two, 0, zeros, 8));
        char text[4096];
        size_t needed = 0;
        CHECK(compute_error_format(last_error, COMPUTE_FORMAT_TEXT, text, sizeof text, &needed) >= 0);
        CHECK(strstr(text, "line 4, column") != NULL);
    }
}
static void compiles_variants(void)
{
    makes_variants();
    CHECK_EQ(files(".kernel", NULL), made);
}
static unsigned prints_heard;
static void hear_prints(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user;
    if (level == COMPUTE_LOG_PRINT && length > 4 && strstr(text, "said 41")) prints_heard++;
}
static void prints(uint64_t hits)
{
    OK(compute_log_set(hear_prints, NULL, COMPUTE_LOG_PRINT, E));
    compute_device device = open_cached(NULL);
    compute_stream stream = make_stream(device);
    compute_buffer out = make_buffer(device, 4, "out");
    compute_kernel kernel = make_kernel(device, "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n"
                                                "@compute @workgroup_size(1) fn main() { O[0] = 41u; debugPrintf(\"said %u\", O[0]); }");
    compute_binding binding = bind(0, out);
    OK(launch(stream, kernel, 1, &binding, 1));
    CHECK_EQ(get_word(stream, out, 0), 41);
    CHECK_EQ(prints_heard, 1);
    is(device, hits, 1 - hits, 0, 1 - hits, 0);
}
static void prints_compiled(void) { prints(0); }
static void prints_from_disk(void) { prints(1); }
TEST(l7_each_way_to_compile_a_kernel_has_a_file_of_its_own_and_means_the_same_from_it)
{
    new_folder();
    in_a_process(compiles_variants);
    unsigned count = files(".kernel", NULL);
    in_a_process(compiles_variants);
    CHECK_EQ(files(".kernel", NULL), count);
    empty_folder();
    in_a_process(prints_compiled);
    in_a_process(prints_from_disk);
    remove_folder();
}

/* Multiplies by what its header says, in the vendors' C++. On the hip device the header stands in the source, as the driver for tests takes none. */
static const char *before = "", *header = "#define FACTOR 3\n", *option = "-DADDED=1";
static unsigned parameters = 1;
static compute_status make_times(compute_device device, compute_kernel *out)
{
    compute_native_header file = { "factor.h", COMPUTE_NUL_TERMINATED, header, COMPUTE_NUL_TERMINATED };
    char body[512];
    snprintf(body, sizeof body, "%s%s\nextern \"C\" __global__ void times(unsigned* out) { out[threadIdx.x] = threadIdx.x * FACTOR + ADDED; }\n", before,
             on("cuda") ? "#include \"factor.h\"" : header);
    compute_native_source source;
    compute_native_parameter declared[2];
    memset(&source, 0, sizeof source);
    memset(declared, 0, sizeof declared);
    source.language = on("cuda") ? COMPUTE_LANGUAGE_CUDA : COMPUTE_LANGUAGE_HIP;
    source.code = body;
    source.code_length = COMPUTE_NUL_TERMINATED;
    source.entry = "times";
    source.entry_length = COMPUTE_NUL_TERMINATED;
    source.options = &option;
    source.option_count = 1;
    source.headers = &file;
    source.header_count = on("cuda");
    for (unsigned i = 0; i < 2; i++) {
        declared[i].name = i ? "more" : "out";
        declared[i].name_length = COMPUTE_NUL_TERMINATED;
        declared[i].kind = COMPUTE_PARAMETER_BUFFER;
        declared[i].access = COMPUTE_ACCESS_WRITE;
    }
    compute_native_desc native = COMPUTE_NATIVE_DESC_INIT;
    native.sources = &source;
    native.source_count = 1;
    native.parameters = declared;
    native.parameter_count = parameters;
    native.workgroup_size[0] = 32;
    compute_kernel_desc desc = COMPUTE_KERNEL_DESC_INIT;
    desc.next = &native;
    return compute_kernel_create(device, &desc, out, E);
}
static uint32_t factor = 3;
static void multiplies(uint64_t hits, uint64_t misses, uint64_t stored)
{
    compute_device device = open_cached(NULL);
    compute_stream stream = make_stream(device);
    compute_buffer out = make_buffer(device, 128, "out");
    compute_kernel kernel = NULL;
    OK(make_times(device, &kernel));
    compute_binding binding = bind(0, out);
    OK(launch(stream, kernel, 1, &binding, 1));
    for (uint32_t i = 0; i < 32; i++) CHECK_EQ(get_word(stream, out, i), i * factor + 1);
    is(device, hits, misses, 0, stored, 0);
}
static void native_compiled(void) { multiplies(0, 1, 1); }
static void native_found(void) { multiplies(1, 0, 0); }
static void native_not_kept(void) { multiplies(0, 0, 0); }
static void another_factor(void)
{
    header = "#define FACTOR 4\n";
    factor = 4;
    native_compiled();
    native_found();
}
static void another_option(void)
{
    option = "-DADDED=1u";
    native_compiled();
}
static void opened(void)
{
    /* Each of these could read a file that is no part of the source. */
    if (on("cuda")) {
        option = "-I.";
        before = "#define ADDED 1\n";
        native_not_kept();
    }
    option = "-DADDED=1";
    before = "#if __has_include(\"nowhere.h\")\n#error it is here\n#endif\n";
    native_not_kept();
}
static void declared_wrong(void)
{
    compute_device device = open_cached(NULL);
    compute_kernel kernel = NULL;
    parameters = 2;
    IS(COMPUTE_ERROR_COMPILE, make_times(device, &kernel));
    is(device, 0, 1, 0, 0, 0);
}
static void told_by_the_environment(void)
{
    CHECK(setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-g", 1) == 0);
    native_compiled();
}
TEST(l7_native_sources_are_kept_when_they_are_all_that_their_compiler_reads)
{
    if (!on("cuda") && !on("hip")) {
        puts("  NOT TESTED: this device compiles no C++");
        return;
    }
    new_folder();
    in_a_process(native_compiled);
    in_a_process(native_found);
    in_a_process(another_factor);
    in_a_process(another_option);
    in_a_process(opened);
    if (on("cuda")) in_a_process(declared_wrong); /* Elsewhere nobody tells. */
    in_a_process(native_found);
    CHECK_EQ(files(".kernel", NULL), 3);
    if (on("hip")) in_a_process(told_by_the_environment);
    remove_folder();
}

static compute_device open_to_fail(uint32_t how)
{
    compute_fault_desc fault = COMPUTE_FAULT_DESC_INIT;
    compute_device device = open_cached(&fault);
    OK(compute_device_inject_fault(device, 1, how, E));
    return device;
}
static void fails_to_restore(void)
{
    static const uint32_t passing[] = { COMPUTE_FAULT_ERROR, COMPUTE_FAULT_OUT_OF_MEMORY };
    for (unsigned i = 0; i < COUNT_OF(passing); i++) {
        compute_device device = open_to_fail(passing[i]);
        make_and_run(device, 5);
        is(device, 0, 0, 1, 1, 0);
    }
    static const uint32_t ending[] = { COMPUTE_FAULT_LOST, COMPUTE_FAULT_PANIC };
    for (unsigned i = 0; i < COUNT_OF(ending); i++) {
        compute_device device = open_to_fail(ending[i]);
        compute_kernel kernel = NULL;
        compute_kernel_desc desc = kernel_desc(PAST, "past");
        CHECK(compute_kernel_create(device, &desc, &kernel, E) < 0);
        IS(COMPUTE_ERROR_DEVICE_POISONED, compute_device_status(device, E));
    }
    finds();
}
TEST(l7_a_device_that_fails_to_take_a_file_compiles_and_one_that_ends_has_ended)
{
    folder_with_one();
    in_a_process(fails_to_restore);
    remove_folder();
}

static void forks(void)
{
    compute_device device = open_cached(NULL);
    make_and_run(device, 5);
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        compute_cache_info info = COMPUTE_CACHE_INFO_INIT;
        compute_kernel kernel = NULL;
        compute_kernel_desc desc = kernel_desc(PAST, "past");
        int forked = compute_device_cache_info(device, &info, NULL) == COMPUTE_ERROR_FORKED;
        _exit(forked && compute_kernel_create(device, &desc, &kernel, NULL) == COMPUTE_ERROR_FORKED ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    make_and_run(device, 6);
    is(device, 0, 2, 0, 2, 0);
}
TEST(f6_a_child_of_a_fork_does_nothing_to_the_folder)
{
    new_folder();
    in_a_process(forks);
    in_a_process(finds);
    CHECK_EQ(files(".kernel", NULL), 2);
    remove_folder();
}

TEST(l7_a_folder_without_a_name_is_a_mistake_and_so_are_two)
{
    compute_device device = NULL;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_cache(NULL, NULL, &device));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_cache("", NULL, &device));
    IS(COMPUTE_ERROR_INVALID_UTF8, try_cache("\xff\xfe", NULL, &device));
    compute_cache_desc second = COMPUTE_CACHE_DESC_INIT;
    second.folder = "/tmp";
    second.folder_length = 4;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_cache("/tmp", &second, &device));
    CHECK(device == NULL);
    compute_cache_info info = COMPUTE_CACHE_INFO_INIT;
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_device_cache_info(NULL, &info, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_cache_info(NULL, NULL, E));
}

/* What a driver keeps of a kernel may be nothing at all: then nothing of it is kept here. */
static void compiles_without_keeping(void)
{
    makes(0, 1, 0, 0, 0);
    CHECK_EQ(files(".kernel", NULL), 0);
}
TEST(l7_of_a_driver_that_keeps_nothing_there_are_no_files)
{
    new_folder();
    in_a_process(compiles_without_keeping);
    in_a_process(compiles_without_keeping);
    remove_folder();
}

/* Whether the driver keeps anything, which only a kernel tells. In a process of its own: others fork. */
static int driver_keeps(void)
{
    int status = 0;
    if (!on("wgpu")) return 1;
    new_folder();
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        compute_device device = open_cached(NULL);
        make_and_run(device, 5);
        compute_cache_info info = info_of(device);
        _exit(info.stored + info.failed > 0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    remove_folder();
    return WEXITSTATUS(status) != 0;
}

/* F4: what is wrong with a file is told by callbacks that may make the same kernel, and may wait for all that is queued. */
static compute_device told_of;
static _Atomic unsigned remarks;
static void make_it_too(void *user, uint32_t level, const char *text, size_t length)
{
    (void)user, (void)level, (void)text, (void)length;
    remarks++;
    if (remarks > 2) return;
    compute_kernel same = numbered(told_of, 5);
    compute_kernel_release(same);
    CHECK(compute_device_compile_queued(told_of, NULL) == COMPUTE_OK);
}
static void calls_back_in(void)
{
    alarm(20);
    OK(compute_log_set(make_it_too, NULL, COMPUTE_LOG_WARNING, E));
    told_of = open_cached(NULL);
    compute_kernel kernel = numbered(told_of, 5);
    CHECK(remarks > 0);
    runs(told_of, kernel, 5);
}
static void calls_back_in_from_behind(void)
{
    alarm(20);
    OK(compute_log_set(make_it_too, NULL, COMPUTE_LOG_WARNING, E));
    told_of = open_cached(NULL);
    compute_kernel kernel = numbered_at(told_of, 5, COMPUTE_COMPILE_BACKGROUND);
    IS(COMPUTE_OK, compute_kernel_wait(kernel, 15 * SECONDS, E));
    while (!remarks) usleep(1000); /* told when the kernel is there already */
    OK(compute_device_compile_queued(told_of, E));
    runs(told_of, kernel, 5);
}
TEST(f4_a_callback_that_hears_of_a_bad_file_may_make_the_same_kernel)
{
    void (*const ways[])(void) = { calls_back_in, calls_back_in_from_behind };
    for (unsigned way = 0; way < COUNT_OF(ways); way++) {
        puts(way ? "  compiled by a thread of the library" : "  compiled when it is made");
        folder_with_one();
        write_file(only, "damaged", 7);
        in_a_process(ways[way]);
        puts("    and cannot be kept either");
        CHECK(remove(only) == 0 && mkdir(only, 0700) == 0);
        in_a_process(ways[way]);
        CHECK(rmdir(only) == 0);
        remove_folder();
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (!driver_keeps()) {
        puts("  NOT TESTED: kernels in a folder, as this Vulkan driver keeps nothing but a header of a pipeline");
        RUN(l7_of_a_driver_that_keeps_nothing_there_are_no_files);
        RUN(l7_a_folder_without_a_name_is_a_mistake_and_so_are_two);
        return finish();
    }
    RUN(l7_a_later_process_finds_what_an_earlier_one_compiled);
    RUN(l7_a_later_process_does_not_compile);
    RUN(l7_what_the_process_has_anyway_is_not_looked_for_and_devices_share_a_folder);
    RUN(l7_a_file_with_any_byte_wrong_or_missing_is_compiled_anew);
    RUN(l7_what_is_in_place_of_a_file_is_never_followed_and_never_believed);
    RUN(l7_a_folder_that_cannot_be_trusted_or_made_is_gone_without);
    RUN(l7_a_folder_that_may_only_be_read_is_read);
    RUN(l7_a_disk_without_room_keeps_nothing_and_harms_nothing);
    RUN(l7_a_full_disk_keeps_nothing_and_leaves_nothing);
    RUN(l7_processes_that_share_a_folder_do_not_disturb_each_other);
    RUN(l7_what_was_used_longest_ago_makes_room);
    RUN(l7_each_way_to_compile_a_kernel_has_a_file_of_its_own_and_means_the_same_from_it);
    RUN(l7_native_sources_are_kept_when_they_are_all_that_their_compiler_reads);
    RUN(l7_a_device_that_fails_to_take_a_file_compiles_and_one_that_ends_has_ended);
    RUN(f6_a_child_of_a_fork_does_nothing_to_the_folder);
    RUN(l7_a_folder_without_a_name_is_a_mistake_and_so_are_two);
    RUN(f4_a_callback_that_hears_of_a_bad_file_may_make_the_same_kernel);
    return finish();
}
