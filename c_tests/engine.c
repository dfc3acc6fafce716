/* T14: a program that draws. It makes a Vulkan device of its own, has libcompute work on that device, and uses the results in its own command buffers without a copy
 * over the host. Vulkan is loaded like an engine loads it: by name, with no prototypes. */
#include "rules.h"

#include <dlfcn.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* ---- the engine ---- */

#define FUNCTIONS(X)                                                                                                               \
    X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties)  \
    X(GetPhysicalDeviceProperties) X(CreateDevice) X(DestroyDevice) X(GetDeviceQueue) X(CreateCommandPool) X(DestroyCommandPool)   \
    X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) X(CmdPipelineBarrier) X(CmdCopyBufferToImage)              \
    X(CmdCopyImageToBuffer) X(CmdFillBuffer) X(QueueSubmit) X(CreateFence) X(DestroyFence) X(WaitForFences) X(CreateImage)         \
    X(DestroyImage) X(GetImageMemoryRequirements) X(BindImageMemory) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) \
    X(BindBufferMemory) X(AllocateMemory) X(FreeMemory) X(MapMemory) X(ResetCommandPool)

#define DECLARE(name) static PFN_vk##name vk##name;
FUNCTIONS(DECLARE)
static PFN_vkGetInstanceProcAddr loader;

typedef struct {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    uint32_t version;
    const char *instance_extensions[4], *device_extensions[4];
    uint32_t instance_extension_count, device_extension_count;
    const void *features;
    VkCommandPool pool;
    VkCommandBuffer commands;
    pthread_mutex_t mutex;
    int held, locks;
    int released;
} engine_t;
static engine_t engine;

#define VK(call)                                                                 \
    do {                                                                         \
        VkResult result_ = (call);                                               \
        if (result_ != VK_SUCCESS) {                                             \
            fprintf(stderr, "  " #call " answered %d\n", (int)result_);          \
            fail(__FILE__, __LINE__, "Vulkan failed");                           \
        }                                                                        \
    } while (0)

static void lock(void *user)
{
    engine_t *of = user;
    pthread_mutex_lock(&of->mutex);
    if (of->held) abort();
    of->held = 1;
    of->locks++;
}

static void unlock(void *user)
{
    engine_t *of = user;
    if (!of->held) abort();
    of->held = 0;
    pthread_mutex_unlock(&of->mutex);
}

static void released(void *user) { __atomic_add_fetch(&((engine_t *)user)->released, 1, __ATOMIC_SEQ_CST); }

static void make_instance(void)
{
    /* Not closed: drivers have handlers for the end of the process. */
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    CHECK(library != NULL);
    void *symbol = dlsym(library, "vkGetInstanceProcAddr");
    memcpy(&loader, &symbol, sizeof loader);
    CHECK(loader != NULL);
    PFN_vkCreateInstance vkCreateInstance = (PFN_vkCreateInstance)loader(NULL, "vkCreateInstance");
    VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = engine.version };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
                                  .enabledExtensionCount = engine.instance_extension_count, .ppEnabledExtensionNames = engine.instance_extensions };
    VK(vkCreateInstance(&info, NULL, &engine.instance));
#define LOAD(name)                                                                \
    vk##name = (PFN_vk##name)loader(engine.instance, "vk" #name);                 \
    CHECK(vk##name != NULL);
    FUNCTIONS(LOAD)
}

/* The first device with a family of queues for graphics and compute. */
static void choose(void)
{
    VkPhysicalDevice all[16];
    uint32_t count = COUNT_OF(all);
    CHECK(vkEnumeratePhysicalDevices(engine.instance, &count, all) >= 0);
    for (uint32_t i = 0; i < count; i++) {
        VkQueueFamilyProperties families[16];
        uint32_t family_count = COUNT_OF(families);
        vkGetPhysicalDeviceQueueFamilyProperties(all[i], &family_count, families);
        for (uint32_t family = 0; family < family_count; family++) {
            const VkQueueFlags both = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
            if ((families[family].queueFlags & both) != both) continue;
            engine.physical = all[i];
            engine.family = family;
            return;
        }
    }
    fail(__FILE__, __LINE__, "there is no Vulkan device that draws and computes");
}

static void make_engine(uint32_t version, const void *features)
{
    memset(&engine, 0, sizeof engine);
    pthread_mutex_init(&engine.mutex, NULL);
    engine.version = version;
    engine.features = features;
    if (version < VK_API_VERSION_1_1) {
        engine.instance_extensions[engine.instance_extension_count++] = "VK_KHR_get_physical_device_properties2";
        engine.device_extensions[engine.device_extension_count++] = "VK_KHR_maintenance1";
        engine.device_extensions[engine.device_extension_count++] = "VK_KHR_storage_buffer_storage_class";
    }
    make_instance();
    choose();
    float priority = 1;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = engine.family, .queueCount = 1, .pQueuePriorities = &priority };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = engine.device_extension_count, .ppEnabledExtensionNames = engine.device_extensions };
    VK(vkCreateDevice(engine.physical, &info, NULL, &engine.device));
    vkGetDeviceQueue(engine.device, engine.family, 0, &engine.queue);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = engine.family };
    VK(vkCreateCommandPool(engine.device, &pool, NULL, &engine.pool));
    VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = engine.pool, .commandBufferCount = 1 };
    VK(vkAllocateCommandBuffers(engine.device, &commands, &engine.commands));
}

static void begin_commands(void)
{
    VK(vkResetCommandPool(engine.device, engine.pool, 0));
    VkCommandBufferBeginInfo begin_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VK(vkBeginCommandBuffer(engine.commands, &begin_info));
}

/* Everything before is over, and what it wrote is seen, before anything after begins. */
static void barrier(void)
{
    VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT };
    vkCmdPipelineBarrier(engine.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, NULL, 0, NULL);
}

/* Submits under the engine's own lock and waits. */
static void run_commands(void)
{
    VK(vkEndCommandBuffer(engine.commands));
    VkFence fence;
    VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
    VK(vkCreateFence(engine.device, &fence_info, NULL, &fence));
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &engine.commands };
    lock(&engine);
    VK(vkQueueSubmit(engine.queue, 1, &submit, fence));
    unlock(&engine);
    VK(vkWaitForFences(engine.device, 1, &fence, VK_TRUE, UINT64_C(20000000000)));
    vkDestroyFence(engine.device, fence, NULL);
}

static VkDeviceMemory memory_for(VkMemoryRequirements needs, VkMemoryPropertyFlags wanted)
{
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(engine.physical, &types);
    for (uint32_t type = 0; type < types.memoryTypeCount; type++) {
        if (!(needs.memoryTypeBits >> type & 1) || (types.memoryTypes[type].propertyFlags & wanted) != wanted) continue;
        VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type };
        VkDeviceMemory memory;
        VK(vkAllocateMemory(engine.device, &info, NULL, &memory));
        return memory;
    }
    fail(__FILE__, __LINE__, "no memory of that kind");
    return VK_NULL_HANDLE;
}

#define SIDE 64
#define PIXELS (SIDE * SIDE)

static void to_layout(VkImage image, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier change = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT, .oldLayout = from, .newLayout = to,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = image,
                                    .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };
    vkCmdPipelineBarrier(engine.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &change);
}

/* Puts PIXELS pixels of a buffer into a texture, on the engine's queue, and gives what the texture holds then. */
static void texture_from(compute_native_info from, uint32_t *pixels)
{
    CHECK_EQ(COMPUTE_NATIVE_VULKAN_BUFFER, from.kind);
    VkBuffer source;
    memcpy(&source, &from.handle, sizeof source);
    VkImageCreateInfo image_info = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R8G8B8A8_UNORM,
                                     .extent = { SIDE, SIDE, 1 }, .mipLevels = 1, .arrayLayers = 1, .samples = VK_SAMPLE_COUNT_1_BIT,
                                     .tiling = VK_IMAGE_TILING_OPTIMAL, .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };
    VkImage image;
    VkMemoryRequirements needs;
    VK(vkCreateImage(engine.device, &image_info, NULL, &image));
    vkGetImageMemoryRequirements(engine.device, image, &needs);
    VkDeviceMemory image_memory = memory_for(needs, 0);
    VK(vkBindImageMemory(engine.device, image, image_memory, 0));
    VkBufferCreateInfo seen_info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4 * PIXELS, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkBuffer seen;
    VK(vkCreateBuffer(engine.device, &seen_info, NULL, &seen));
    vkGetBufferMemoryRequirements(engine.device, seen, &needs);
    VkDeviceMemory seen_memory = memory_for(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    VK(vkBindBufferMemory(engine.device, seen, seen_memory, 0));

    begin_commands();
    barrier();
    to_layout(image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    VkBufferImageCopy copy = { .bufferOffset = from.offset, .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 }, .imageExtent = { SIDE, SIDE, 1 } };
    vkCmdCopyBufferToImage(engine.commands, source, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    to_layout(image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    copy.bufferOffset = 0;
    vkCmdCopyImageToBuffer(engine.commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, seen, 1, &copy);
    barrier();
    run_commands();

    void *mapped = NULL;
    VK(vkMapMemory(engine.device, seen_memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    memcpy(pixels, mapped, 4 * PIXELS);
    vkDestroyBuffer(engine.device, seen, NULL);
    vkFreeMemory(engine.device, seen_memory, NULL);
    vkDestroyImage(engine.device, image, NULL);
    vkFreeMemory(engine.device, image_memory, NULL);
}

/* Fills words of a buffer on the engine's queue. */
static void fill_from_engine(compute_native_info to, uint32_t word)
{
    VkBuffer buffer;
    memcpy(&buffer, &to.handle, sizeof buffer);
    begin_commands();
    barrier();
    vkCmdFillBuffer(engine.commands, buffer, to.offset, to.size, word);
    barrier();
    run_commands();
}

/* ---- libcompute on it ---- */

static compute_device device;
static compute_stream stream;

static compute_vulkan_desc describe(void)
{
    compute_vulkan_desc desc = COMPUTE_VULKAN_DESC_INIT;
    desc.get_instance_proc_addr = (compute_vulkan_function)loader;
    desc.instance = engine.instance;
    desc.physical_device = engine.physical;
    desc.device = engine.device;
    desc.api_version = engine.version;
    desc.queue_family = engine.family;
    desc.instance_extensions = engine.instance_extensions;
    desc.instance_extension_count = engine.instance_extension_count;
    desc.device_extensions = engine.device_extensions;
    desc.device_extension_count = engine.device_extension_count;
    desc.features = engine.features;
    desc.lock = lock;
    desc.unlock = unlock;
    desc.released = released;
    desc.user = &engine;
    return desc;
}

static compute_status open_on(const compute_vulkan_desc *vulkan, uint64_t flags)
{
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.next = vulkan;
    desc.flags = flags;
    return compute_device_open(&desc, &device, E);
}

static void set_up_flags(uint32_t version, const void *features, uint64_t flags)
{
    make_engine(version, features);
    compute_vulkan_desc desc = describe();
    OK(open_on(&desc, flags));
    stream = make_stream(device);
}
static void set_up(uint32_t version, const void *features) { set_up_flags(version, features, 0); }

/* Everything of libcompute's goes, and then the engine's. */
static void tear_down(void)
{
    compute_stream_release(stream);
    compute_device_release(device);
    uint64_t begun = now_ns();
    while (!__atomic_load_n(&engine.released, __ATOMIC_SEQ_CST)) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(1000);
    }
    usleep(20000);
    CHECK_EQ(1, __atomic_load_n(&engine.released, __ATOMIC_SEQ_CST));
    /* What is the engine's still works. */
    begin_commands();
    run_commands();
    vkDestroyCommandPool(engine.device, engine.pool, NULL);
    vkDestroyDevice(engine.device, NULL);
    vkDestroyInstance(engine.instance, NULL);
}

static compute_native_info export_of(compute_buffer buffer, uint32_t access)
{
    compute_view view = whole(buffer);
    compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
    OK(compute_stream_export(stream, &view, access, &info, E));
    return info;
}

/* ---- a driver in trouble ---- */

/* What the engine's loader gives the library instead of the driver's own functions, where a test wants to see them called or have them fail. */
static struct {
    /* The answers to submissions, waits, new pools of descriptors, new pipelines and allocations, unless they are a success. */
    VkResult submit, waits, descriptors, pipelines, memory;
    /* Allocations that the driver allows at once unless 0, how many there are, and how many there were at most. */
    uint32_t allowed, allocations, peak;
    /* The device says that it is a card with memory of its own. */
    int discrete;
    /* The functions of the engine's device were asked for; since then its properties were, that often. */
    int loaded, asked;
    /* A buffer to look out for, and how often it was destroyed. */
    VkBuffer watched;
    int destroyed;
} trouble;
static PFN_vkGetDeviceProcAddr device_loader;
static PFN_vkDestroyBuffer destroy_buffer;
static PFN_vkCreateDescriptorPool create_descriptors;
static PFN_vkCreateComputePipelines create_pipelines;
static PFN_vkAllocateMemory allocate_memory;
static PFN_vkFreeMemory free_memory;

static VkResult VKAPI_CALL troubled_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)
{
    VkResult answer = __atomic_load_n(&trouble.submit, __ATOMIC_SEQ_CST);
    return answer ? answer : vkQueueSubmit(queue, count, submits, fence);
}

static VkResult VKAPI_CALL troubled_wait(VkDevice of, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t timeout)
{
    VkResult answer = __atomic_load_n(&trouble.waits, __ATOMIC_SEQ_CST);
    return answer ? answer : vkWaitForFences(of, count, fences, all, timeout);
}

static VkResult VKAPI_CALL troubled_descriptors(VkDevice of, const VkDescriptorPoolCreateInfo *info, const VkAllocationCallbacks *allocator, VkDescriptorPool *made)
{
    return trouble.descriptors ? trouble.descriptors : create_descriptors(of, info, allocator, made);
}

static VkResult VKAPI_CALL troubled_pipelines(VkDevice of, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *allocator,
                                              VkPipeline *made)
{
    return trouble.pipelines ? trouble.pipelines : create_pipelines(of, cache, count, infos, allocator, made);
}

static VkResult VKAPI_CALL troubled_memory(VkDevice of, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *allocator, VkDeviceMemory *made)
{
    VkResult answer = __atomic_load_n(&trouble.memory, __ATOMIC_SEQ_CST);
    if (answer) return answer;
    if (trouble.allowed && __atomic_load_n(&trouble.allocations, __ATOMIC_SEQ_CST) >= trouble.allowed) return VK_ERROR_TOO_MANY_OBJECTS;
    answer = allocate_memory(of, info, allocator, made);
    if (answer == VK_SUCCESS) {
        uint32_t now = __atomic_add_fetch(&trouble.allocations, 1, __ATOMIC_SEQ_CST);
        if (now > trouble.peak) trouble.peak = now;
    }
    return answer;
}

static void VKAPI_CALL counted_free(VkDevice of, VkDeviceMemory memory, const VkAllocationCallbacks *allocator)
{
    if (memory) __atomic_sub_fetch(&trouble.allocations, 1, __ATOMIC_SEQ_CST);
    free_memory(of, memory, allocator);
}

static void VKAPI_CALL watched_destroy(VkDevice of, VkBuffer buffer, const VkAllocationCallbacks *allocator)
{
    if (buffer && buffer == trouble.watched) __atomic_add_fetch(&trouble.destroyed, 1, __ATOMIC_SEQ_CST);
    destroy_buffer(of, buffer, allocator);
}

static void VKAPI_CALL told_properties(VkPhysicalDevice of, VkPhysicalDeviceProperties *into)
{
    vkGetPhysicalDeviceProperties(of, into);
    trouble.asked += trouble.loaded;
    if (trouble.discrete) into->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (trouble.allowed) into->limits.maxMemoryAllocationCount = trouble.allowed;
}

static PFN_vkVoidFunction VKAPI_CALL troubled_device_loader(VkDevice of, const char *name)
{
    PFN_vkVoidFunction function = device_loader(of, name);
    trouble.loaded = 1;
    if (!strcmp(name, "vkQueueSubmit")) return (PFN_vkVoidFunction)troubled_submit;
    if (!strcmp(name, "vkWaitForFences")) return (PFN_vkVoidFunction)troubled_wait;
    if (!strcmp(name, "vkCreateDescriptorPool")) {
        create_descriptors = (PFN_vkCreateDescriptorPool)function;
        return (PFN_vkVoidFunction)troubled_descriptors;
    }
    if (!strcmp(name, "vkCreateComputePipelines")) {
        create_pipelines = (PFN_vkCreateComputePipelines)function;
        return (PFN_vkVoidFunction)troubled_pipelines;
    }
    if (!strcmp(name, "vkAllocateMemory")) {
        allocate_memory = (PFN_vkAllocateMemory)function;
        return (PFN_vkVoidFunction)troubled_memory;
    }
    if (!strcmp(name, "vkFreeMemory")) {
        free_memory = (PFN_vkFreeMemory)function;
        return (PFN_vkVoidFunction)counted_free;
    }
    if (!strcmp(name, "vkDestroyBuffer")) {
        destroy_buffer = (PFN_vkDestroyBuffer)function;
        return (PFN_vkVoidFunction)watched_destroy;
    }
    return function;
}

static PFN_vkVoidFunction VKAPI_CALL troubled_loader(VkInstance of, const char *name)
{
    PFN_vkVoidFunction function = loader(of, name);
    if (!strcmp(name, "vkGetPhysicalDeviceProperties")) return (PFN_vkVoidFunction)told_properties;
    if (!strcmp(name, "vkGetDeviceProcAddr")) {
        device_loader = (PFN_vkGetDeviceProcAddr)function;
        return (PFN_vkVoidFunction)troubled_device_loader;
    }
    return function;
}

static int shares_memory(void) { return (device_info(device).capabilities & COMPUTE_CAPABILITY_HOST_VISIBLE) != 0; }

static void set_up_allowed(int discrete, uint32_t allowed)
{
    memset(&trouble, 0, sizeof trouble);
    trouble.discrete = discrete;
    trouble.allowed = allowed;
    make_engine(VK_API_VERSION_1_3, NULL);
    compute_vulkan_desc desc = describe();
    desc.get_instance_proc_addr = (compute_vulkan_function)troubled_loader;
    OK(open_on(&desc, 0));
    stream = make_stream(device);
    if (discrete) CHECK(!shares_memory());
}

static void set_up_troubled(int discrete) { set_up_allowed(discrete, 0); }

/* Pixels whose colour tells their place and `frame`. */
static const char PAINT[] =
    "@group(0) @binding(0) var<storage, read_write> pixels: array<u32>;\n"
    "@group(0) @binding(1) var<uniform> frame: u32;\n"
    "@compute @workgroup_size(64) fn paint(@builtin(global_invocation_id) id: vec3<u32>) {\n"
    "    if (id.x < arrayLength(&pixels)) { pixels[id.x] = (id.x & 63u) | ((id.x / 64u) << 8u) | (frame << 16u) | 0xff000000u; }\n"
    "}\n";

static void paint(compute_kernel kernel, compute_buffer pixels, uint32_t frame)
{
    uint32_t block[4] = { frame, 0, 0, 0 };
    compute_binding bindings[2] = { bind(0, pixels), bind_bytes(1, block, 4) };
    OK(launch(stream, kernel, PIXELS / 64, bindings, 2));
}

static void check_picture(const uint32_t *pixels, uint32_t frame)
{
    for (uint32_t i = 0; i < PIXELS; i++) CHECK_EQ((i & 63) | (i / 64) << 8 | frame << 16 | 0xff000000u, pixels[i]);
}

static void draw_frames(void)
{
    compute_kernel kernel = make_kernel(device, PAINT);
    compute_buffer before = make_buffer(device, 1000, "before"), pixels = make_buffer(device, 4 * PIXELS, "pixels");
    uint32_t seen[PIXELS];
    paint(kernel, pixels, 1);
    compute_native_info native = export_of(pixels, COMPUTE_ACCESS_READ);
    CHECK_EQ(4 * PIXELS, native.size);
    texture_from(native, seen);
    check_picture(seen, 1);
    /* From here on the order of the queue is enough. */
    for (uint32_t frame = 2; frame < 6; frame++) {
        paint(kernel, pixels, frame);
        OK(compute_stream_flush(stream, E));
        texture_from(native, seen);
        check_picture(seen, frame);
    }
    CHECK(engine.locks > 5);
    compute_buffer_release(before);
    compute_buffer_release(pixels);
    compute_kernel_release(kernel);
}

TEST(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_0)
{
    set_up(VK_API_VERSION_1_0, NULL);
    draw_frames();
    tear_down();
}

TEST(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_1)
{
    set_up(VK_API_VERSION_1_1, NULL);
    draw_frames();
    tear_down();
}

TEST(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_3)
{
    set_up(VK_API_VERSION_1_3, NULL);
    CHECK((device_info(device).features & COMPUTE_FEATURE_SUBGROUPS) == 0);
    draw_frames();
    tear_down();
    VkPhysicalDeviceVulkan12Features more = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE };
    VkPhysicalDeviceVulkan13Features most = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &more,
                                              .subgroupSizeControl = VK_TRUE, .shaderZeroInitializeWorkgroupMemory = VK_TRUE };
    set_up(VK_API_VERSION_1_3, &most);
    CHECK((device_info(device).features & COMPUTE_FEATURE_SUBGROUPS) != 0);
    draw_frames();
    tear_down();
}

TEST(t14_what_the_engine_has_written_is_seen_by_kernels)
{
    set_up(VK_API_VERSION_1_1, NULL);
    compute_buffer in = make_buffer_with(device, 1024, "in", COMPUTE_BUFFER_FLAG_STRICT_UNWRITTEN), out = make_buffer(device, 1024, "out");
    compute_kernel increment = make_kernel(device, INCREMENT);
    for (uint32_t turn = 0; turn < 4; turn++) {
        compute_native_info native = export_of(in, COMPUTE_ACCESS_WRITE);
        CHECK((claimed_by(in, 0, 1024) != 0) == (turn == 0));
        fill_from_engine(native, 100 + turn);
        compute_view view = whole(in);
        OK(compute_written(&view, E));
        OK(launch_io(stream, increment, "", in, out, 4));
        CHECK_EQ(101 + turn, get_word(stream, out, 0));
        CHECK_EQ(101 + turn, get_word(stream, out, 255));
    }
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(increment);
    tear_down();
}

TEST(t8_claimed_bytes_are_not_exported_for_reading_and_never_written_ones_are_zeros)
{
    set_up(VK_API_VERSION_1_1, NULL);
    /* In memory that held something else. */
    compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT;
    compute_buffer old = NULL, pixels = NULL;
    desc.size = 4 * PIXELS;
    desc.stream = stream;
    OK(compute_buffer_create(device, &desc, &old, E));
    fill_words(stream, old, 0xffffffffu);
    wait_for(stream);
    compute_buffer_release(old);
    OK(compute_buffer_create(device, &desc, &pixels, E));
    uint32_t seen[PIXELS];
    texture_from(export_of(pixels, COMPUTE_ACCESS_WRITE), seen);
    for (uint32_t i = 0; i < PIXELS; i++) CHECK_EQ(0, seen[i]);

    compute_view bad = range(pixels, 256, 4), all = whole(pixels), rest = range(pixels, 260, COMPUTE_WHOLE);
    compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_write(stream, &bad, NULL, 4, E));
    uint64_t failure = claimed_by(pixels, 0, COMPUTE_WHOLE);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_export(stream, &all, COMPUTE_ACCESS_READ, &info, E));
    CHECK_EQ(failure, last_info().failure);
    IS(COMPUTE_ERROR_UNWRITTEN, compute_stream_export(stream, &all, COMPUTE_ACCESS_READ_WRITE, &info, E));
    CHECK_EQ(0, info.handle);
    OK(compute_stream_export(stream, &rest, COMPUTE_ACCESS_READ, &info, E));
    CHECK_EQ(failure, claimed_by(pixels, 256, 4));
    CHECK_EQ(0, claimed_by(pixels, 260, COMPUTE_WHOLE));
    OK(compute_written(&bad, E));
    OK(compute_stream_export(stream, &all, COMPUTE_ACCESS_READ_WRITE, &info, E));
    compute_buffer_release(pixels);
    tear_down();
}

TEST(t14_objects_of_the_engine_are_used_until_it_is_told_even_if_everything_is_released_with_work_under_way)
{
    set_up(VK_API_VERSION_1_1, NULL);
    compute_kernel kernel = make_kernel(device, PAINT);
    compute_buffer pixels = make_buffer(device, 4 * PIXELS, "pixels");
    for (uint32_t i = 0; i < 500; i++) paint(kernel, pixels, i & 255);
    compute_buffer_release(pixels);
    compute_kernel_release(kernel);
    tear_down();
}

static int stop;
static void *submit_often(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        begin_commands();
        barrier();
        run_commands();
    }
    return NULL;
}

TEST(t14_engine_and_library_take_turns_at_one_queue)
{
    set_up(VK_API_VERSION_1_1, NULL);
    compute_kernel kernel = make_kernel(device, PAINT);
    compute_buffer pixels = make_buffer(device, 4 * PIXELS, "pixels");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, submit_often, NULL) == 0);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t seen[PIXELS];
        paint(kernel, pixels, i & 255);
        OK(get(stream, pixels, 0, seen, sizeof seen));
        check_picture(seen, i & 255);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    compute_buffer_release(pixels);
    compute_kernel_release(kernel);
    tear_down();
}

static const char DOUBLE[] =
    "@group(0) @binding(0) var<storage, read_write> out: array<f64>;\n"
    "@compute @workgroup_size(1) fn main() { out[0] = out[0] + 1.5lf; }\n";

TEST(t14_kernels_use_the_features_that_the_engine_has_enabled_and_no_others)
{
    set_up(VK_API_VERSION_1_1, NULL);
    const uint64_t dear = COMPUTE_FEATURE_F16 | COMPUTE_FEATURE_F64 | COMPUTE_FEATURE_INT64 | COMPUTE_FEATURE_ATOMIC_INT64 | COMPUTE_FEATURE_ATOMIC_F32;
    CHECK_EQ(0, device_info(device).features & dear);
    compute_kernel kernel = NULL;
    compute_kernel_desc desc = kernel_desc(DOUBLE, "double");
    IS_CLASS(400, compute_kernel_create(device, &desc, &kernel, E));
    CHECK(last_info().refusal == 1);
    tear_down();

    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .features = { .shaderFloat64 = VK_TRUE, .shaderInt64 = VK_TRUE } };
    set_up(VK_API_VERSION_1_1, &features);
    CHECK_EQ(COMPUTE_FEATURE_F64 | COMPUTE_FEATURE_INT64, device_info(device).features & dear);
    OK(compute_kernel_create(device, &desc, &kernel, E));
    compute_buffer out = make_buffer(device, 8, "out");
    compute_binding binding = bind(0, out);
    OK(launch(stream, kernel, 1, &binding, 1));
    double value = 0;
    OK(get(stream, out, 0, &value, sizeof value));
    CHECK(value == 1.5);
    compute_buffer_release(out);
    compute_kernel_release(kernel);
    tear_down();
}

TEST(t14_a_host_s_device_that_cannot_be_shared_is_refused_with_the_reason_and_nobody_is_told)
{
    make_engine(VK_API_VERSION_1_1, NULL);
    compute_vulkan_desc good = describe(), bad = good;
#define REFUSED(status, words)        \
    do {                              \
        IS(status, open_on(&bad, 0)); \
        CHECK(device == NULL);        \
        CHECK(error_says(words));     \
        bad = good;                   \
    } while (0)
    bad.queue_family = 77;
    REFUSED(COMPUTE_ERROR_DRIVER, "no queue family 77");
    bad.queue_index = 1000;
    REFUSED(COMPUTE_ERROR_DRIVER, "queue 1000");
    bad.instance = NULL;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "instance");
    bad.device = NULL;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "device");
    bad.get_instance_proc_addr = NULL;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "get_instance_proc_addr");
    bad.unlock = NULL;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "unlock");
    bad.device_extension_count = 1;
    bad.device_extensions = NULL;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "device_extensions");
    bad.next = &good;
    REFUSED(COMPUTE_ERROR_INVALID_ARGUMENT, "two structs");
    compute_device_desc desc = COMPUTE_DEVICE_DESC_INIT;
    desc.next = &good;
    desc.index = 1;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &device, E));
    desc.index = 0;
    desc.backend = "cpu";
    desc.backend_length = 3;
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_device_open(&desc, &device, E));
    CHECK_EQ(0, engine.released);
    OK(open_on(&good, 0));
    stream = make_stream(device);
    tear_down();
}

/* ---- the engine's buffers, used in place ---- */

/* A buffer that both the engine and the library use; the engine looks at it through `bytes`. */
typedef struct {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint32_t *words;
    uint64_t handle;
} shared_t;

static shared_t make_shared(uint64_t size)
{
    shared_t made;
    memset(&made, 0, sizeof made);
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkMemoryRequirements needs;
    void *mapped = NULL;
    VK(vkCreateBuffer(engine.device, &info, NULL, &made.buffer));
    vkGetBufferMemoryRequirements(engine.device, made.buffer, &needs);
    made.memory = memory_for(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    VK(vkBindBufferMemory(engine.device, made.buffer, made.memory, 0));
    VK(vkMapMemory(engine.device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    made.words = mapped;
    memcpy(&made.handle, &made.buffer, sizeof made.buffer);
    return made;
}

static void end_shared(shared_t *of)
{
    vkDestroyBuffer(engine.device, of->buffer, NULL);
    vkFreeMemory(engine.device, of->memory, NULL);
}

static int let_go;
static void note_let_go(void *user) { __atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST); }
static void wait_until_let_go(int count)
{
    uint64_t begun = now_ns();
    while (__atomic_load_n(&let_go, __ATOMIC_SEQ_CST) < count) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(100);
    }
    CHECK_EQ(count, let_go);
}

static compute_import_desc import_desc(uint64_t handle, uint64_t offset, uint64_t size)
{
    compute_import_desc desc = COMPUTE_IMPORT_DESC_INIT;
    desc.kind = COMPUTE_NATIVE_VULKAN_BUFFER;
    desc.handle = handle;
    desc.offset = offset;
    desc.size = size;
    desc.access = COMPUTE_ACCESS_READ_WRITE;
    desc.released = note_let_go;
    desc.user = &let_go;
    return desc;
}

static compute_status try_import(uint64_t handle, uint64_t offset, uint64_t size)
{
    compute_import_desc desc = import_desc(handle, offset, size);
    compute_buffer made = (compute_buffer)&desc;
    compute_status status = compute_buffer_import(device, &desc, &made, E);
    CHECK((status == COMPUTE_OK) == (made != NULL));
    compute_buffer_release(made);
    return status;
}

static compute_native_info native_of(const shared_t *of, uint64_t offset, uint64_t size)
{
    compute_native_info info = COMPUTE_NATIVE_INFO_INIT;
    info.handle = of->handle;
    info.offset = offset;
    info.size = size;
    return info;
}

static void used_in_place(uint32_t version)
{
    set_up(version, NULL);
    enum { SIZE = 64 << 10, BEGIN = 4096, WORDS = 4096 };
    shared_t of = make_shared(SIZE);
    /* On the engine's queue, then on the library's, which is the same. */
    fill_from_engine(native_of(&of, 0, SIZE), 100);
    compute_import_desc desc = import_desc(of.handle, BEGIN, 4 * WORDS);
    compute_buffer in = NULL, out = make_buffer(device, 4 * WORDS, "out");
    OK(compute_buffer_import(device, &desc, &in, E));
    compute_kernel increment = make_kernel(device, INCREMENT);
    CHECK_EQ(100, get_word(stream, in, WORDS - 1));
    OK(launch_io(stream, increment, "from the engine's", in, out, WORDS / 64));
    OK(launch_io(stream, increment, "to the engine's", out, in, WORDS / 64));
    put_word(stream, in, 1, 7);
    compute_view odd = range(in, 17, 3), from = range(in, 4, 64), to = range(in, 1024, 64);
    OK(compute_stream_fill(stream, &odd, "x", 1, E));
    OK(compute_stream_copy(stream, &from, &to, E));
    compute_native_info told = export_of(in, COMPUTE_ACCESS_READ);
    CHECK(told.handle == of.handle && told.offset == BEGIN && told.size == 4 * WORDS);
    wait_for(stream);
    /* The engine's eyes. */
    begin_commands();
    barrier();
    run_commands();
    const uint32_t *words = of.words + BEGIN / 4;
    CHECK(words[0] == 102 && words[1] == 7 && words[WORDS - 1] == 102 && words[256] == 7 && words[257] == 102);
    CHECK_EQ(102 | 0x78787800u, words[4]);
    CHECK(of.words[BEGIN / 4 - 1] == 100 && of.words[BEGIN / 4 + WORDS] == 100);
    /* And the other way once more, through a graph that keeps it. */
    compute_graph_builder builder = NULL;
    compute_graph graph = NULL;
    compute_binding bindings[2] = { bind(0, in), bind(1, out) };
    compute_launch_desc node = launch_desc(increment, WORDS / 64, 1, 1, bindings, 2);
    OK(compute_graph_builder_create(device, NULL, &builder, E));
    OK(compute_graph_builder_add_launch(builder, &node, NULL, 0, NULL, E));
    OK(compute_graph_builder_instantiate(builder, &graph, E));
    compute_graph_builder_release(builder);
    compute_buffer_release(in);
    fill_from_engine(native_of(&of, BEGIN, 4 * WORDS), 41);
    OK(compute_stream_replay(stream, graph, E));
    CHECK_EQ(42, get_word(stream, out, WORDS / 2));
    CHECK_EQ(0, let_go);
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(of.handle, BEGIN + 16, 16));
    OK(compute_stream_replay(stream, graph, E));
    compute_graph_release(graph);
    wait_until_let_go(1);
    end_shared(&of);
    CHECK_EQ(42, get_word(stream, out, 0));
    compute_buffer_release(out);
    compute_kernel_release(increment);
    tear_down();
}
TEST(t14_a_buffer_of_the_engine_s_is_used_in_place_on_vulkan_1_0) { used_in_place(VK_API_VERSION_1_0); }
TEST(t14_a_buffer_of_the_engine_s_is_used_in_place_on_vulkan_1_3) { used_in_place(VK_API_VERSION_1_3); }

TEST(t14_buffers_that_cannot_be_imported_are_refused_with_the_reason)
{
    set_up(VK_API_VERSION_1_1, NULL);
    shared_t of = make_shared(4096);
    compute_buffer own = make_buffer(device, 256, "own"), large = make_buffer(device, 4 << 20, "large"), in = NULL;
    compute_native_info small = export_of(own, COMPUTE_ACCESS_WRITE), far = export_of(large, COMPUTE_ACCESS_WRITE);
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(small.handle, small.offset, 256));
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(far.handle, far.offset + 1024, 16));
    IS(COMPUTE_ERROR_MISALIGNED, try_import(of.handle, 2, 16));
    IS(COMPUTE_ERROR_MISALIGNED, try_import(of.handle, 4, 18));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_import(0, 0, 16));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, try_import(of.handle, 0, 0));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_import(of.handle, UINT64_MAX - 3, 16));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, try_import(of.handle, 0, 1 << 20));
    IS(COMPUTE_ERROR_TOO_LARGE, try_import(of.handle, 0, UINT64_C(1) << 40));
    compute_import_desc desc = import_desc(of.handle, 0, 4096);
    desc.kind = COMPUTE_NATIVE_ADDRESS;
    IS(COMPUTE_ERROR_UNSUPPORTED, compute_buffer_import(device, &desc, &in, E));
    /* Halves are memory of their own; kernels want bindings at the device's multiples, counted in the engine's buffer. */
    desc = import_desc(of.handle, 4, 1020);
    OK(compute_buffer_import(device, &desc, &in, E));
    OK(try_import(of.handle, 1024, 3072));
    wait_until_let_go(1);
    IS(COMPUTE_ERROR_ALREADY_OWNED, try_import(of.handle, 0, 8));
    fill_words(stream, in, 3);
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_binding bindings[2] = { bind(0, in), bind(1, large) };
    IS(COMPUTE_ERROR_MISALIGNED, launch(stream, increment, 1, bindings, 2));
    CHECK(error_says("imported"));
    fill_words(stream, large, 0);
    bindings[0] = bind_range(0, in, 252, 256);
    OK(launch(stream, increment, 1, bindings, 2));
    CHECK_EQ(4, get_word(stream, large, 0));
    compute_buffer_release(in);
    wait_until_let_go(2);
    /* To be read: a launch that writes is refused, though the device binds everything to be written. */
    desc = import_desc(of.handle, 0, 1024);
    desc.access = COMPUTE_ACCESS_READ;
    OK(compute_buffer_import(device, &desc, &in, E));
    IS(COMPUTE_ERROR_READ_ONLY, launch_io(stream, increment, "writes", large, in, 1));
    OK(launch_io(stream, increment, "reads", in, own, 1));
    CHECK_EQ(4, get_word(stream, own, 5));
    compute_kernel_release(increment);
    compute_mapping mapping = NULL;
    compute_view view = whole(in);
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_buffer_map(&view, &mapping, E));
    compute_buffer_release(in);
    wait_until_let_go(3);
    end_shared(&of);
    compute_buffer_release(own);
    compute_buffer_release(large);
    tear_down();
}

/* What it makes of the engine's device needs to know the driver's limits. */
TEST(f1_t14_the_driver_is_asked_until_the_device_is_open)
{
    set_up_troubled(0);
    CHECK(trouble.asked > 0);
    tear_down();
}

/* ---- a device that is lost while the engine holds memory of the library's ---- */

static void wait_until_destroyed(int count)
{
    uint64_t begun = now_ns();
    while (__atomic_load_n(&trouble.destroyed, __ATOMIC_SEQ_CST) < count) {
        CHECK(now_ns() - begun < 20 * SECONDS);
        usleep(1000);
    }
    CHECK_EQ(count, trouble.destroyed);
}

/* Of 64 MiB, so that the system would take the pages back at once. A card has nothing to map, and is as if it were made one. */
static void lost_with_memory_in_use(int discrete)
{
    enum { SIZE = 64 << 20 };
    set_up_troubled(discrete);
    int mapped = shares_memory();
    compute_buffer buffer = make_buffer_with(device, SIZE, "kept", mapped ? COMPUTE_BUFFER_FLAG_HOST_VISIBLE : 0);
    compute_mapping mapping = NULL;
    unsigned char *bytes = NULL;
    uint64_t size = 0;
    fill_words(stream, buffer, 7);
    compute_native_info told = export_of(buffer, COMPUTE_ACCESS_READ_WRITE);
    if (mapped) {
        compute_view view = whole(buffer);
        OK(compute_buffer_map(&view, &mapping, E));
        OK(compute_mapping_get_pointer(mapping, (void **)&bytes, &size, E));
    }
    wait_for(stream);
    memcpy(&trouble.watched, &told.handle, sizeof told.handle);

    trouble.submit = VK_ERROR_OUT_OF_HOST_MEMORY;
    fill_words(stream, buffer, 8);
    compute_view view = whole(buffer);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, &view, 1, 0, COMPUTE_FOREVER, E));
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E));
    usleep(200000); /* the library's thread looks at the device once more */
    CHECK_EQ(0, trouble.destroyed);
    fill_from_engine(told, 9);
    if (bytes) CHECK(bytes[0] == 9 && bytes[SIZE - 4] == 9);
    compute_mapping_release(mapping);
    CHECK_EQ(0, trouble.destroyed);
    compute_buffer_release(buffer);
    compute_stream_release(stream);
    compute_device_release(device);
    wait_until_destroyed(1);
    tear_down();
}
TEST(t12_t14_what_the_engine_holds_of_a_lost_device_stays_until_it_is_released) { lost_with_memory_in_use(1); }
TEST(t12_m7_what_is_mapped_of_a_lost_device_stays_until_it_is_released) { lost_with_memory_in_use(0); }

/* What the driver refused is not what it is at work on: that goes on. */
TEST(t12_t14_an_import_of_a_lost_device_is_let_go_of_once_the_work_before_is_over)
{
    enum { SIZE = 64 << 20, TURNS = 40 };
    set_up_troubled(0);
    let_go = 0;
    shared_t of = make_shared(SIZE);
    compute_import_desc desc = import_desc(of.handle, 0, SIZE);
    compute_buffer in = NULL;
    OK(compute_buffer_import(device, &desc, &in, E));
    for (uint32_t i = 1; i <= TURNS; i++) fill_words(stream, in, i);
    OK(compute_stream_flush(stream, E));
    __atomic_store_n(&trouble.submit, VK_ERROR_OUT_OF_HOST_MEMORY, __ATOMIC_SEQ_CST);
    fill_words(stream, in, TURNS + 1);
    compute_status status = compute_stream_flush(stream, E);
    CHECK(status == COMPUTE_OK || status == COMPUTE_ERROR_DEVICE_POISONED);
    compute_buffer_release(in);
    wait_until_let_go(1);
    CHECK(of.words[0] == TURNS && of.words[SIZE / 4 - 1] == TURNS);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E));
    end_shared(&of);
    tear_down();
}

TEST(t12_t14_nor_earlier_where_the_driver_cannot_wait_for_it)
{
    enum { SIZE = 256 << 20 };
    set_up_troubled(0);
    let_go = 0;
    shared_t of = make_shared(SIZE);
    compute_import_desc desc = import_desc(of.handle, 0, SIZE);
    compute_buffer in = NULL;
    OK(compute_buffer_import(device, &desc, &in, E));
    fill_words(stream, in, 1);
    wait_for(stream);
    __atomic_store_n(&trouble.waits, VK_ERROR_OUT_OF_HOST_MEMORY, __ATOMIC_SEQ_CST);
    fill_words(stream, in, 2);
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_stream_sync(stream, NULL, 0, 0, COMPUTE_FOREVER, E));
    compute_buffer_release(in);
    wait_until_let_go(1);
    for (uint32_t i = 0; i < SIZE / 4; i += 1000) CHECK_EQ(2, of.words[i]);
    end_shared(&of);
    tear_down();
}

/* A driver that has no memory in the midst of a call leaves no device behind, whatever that call is: nothing is to be reclaimed there. */
/* wgpu says that such a device is lost. A card's memory is wgpu's from a quarter of the allocations on. */
TEST(t12_t14_nor_earlier_where_the_driver_has_refused_memory)
{
    enum { SIZE = 64 << 20, TURNS = 40 };
    set_up_allowed(1, 16);
    let_go = 0;
    shared_t of = make_shared(SIZE);
    compute_import_desc desc = import_desc(of.handle, 0, SIZE);
    compute_buffer in = NULL, more[32] = { 0 };
    OK(compute_buffer_import(device, &desc, &in, E));
    uint32_t count = 0;
    for (; count < 4; count++) more[count] = make_buffer(device, 40 << 20, "own");
    fill_words(stream, in, 0);
    wait_for(stream);
    for (uint32_t i = 1; i <= TURNS; i++) fill_words(stream, in, i);
    OK(compute_stream_flush(stream, E));
    __atomic_store_n(&trouble.memory, VK_ERROR_OUT_OF_HOST_MEMORY, __ATOMIC_SEQ_CST);
    compute_status status = COMPUTE_OK;
    compute_buffer_desc wanted = COMPUTE_BUFFER_DESC_INIT;
    wanted.size = 40 << 20;
    for (; count < 32 && status == COMPUTE_OK; count++) status = compute_buffer_create(device, &wanted, &more[count], E);
    IS(COMPUTE_ERROR_DEVICE_POISONED, status);
    compute_buffer_release(in);
    wait_until_let_go(1);
    CHECK(of.words[0] == TURNS && of.words[SIZE / 4 - 1] == TURNS);
    for (uint32_t i = 0; i < count; i++) compute_buffer_release(more[i]);
    end_shared(&of);
    tear_down();
}

/* The engine has objects of its own, and all count. */
TEST(mem_a_card_s_blocks_take_a_part_of_the_allocations_that_the_driver_allows)
{
    enum { COUNT = 20, ALLOWED = 16 };
    set_up_allowed(1, ALLOWED);
    compute_buffer blocks[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        blocks[i] = make_buffer(device, 40 << 20, "block");
        fill_words(stream, blocks[i], i);
    }
    for (uint32_t i = 0; i < COUNT; i++) CHECK_EQ(i, get_word(stream, blocks[i], 0));
    CHECK(trouble.peak < ALLOWED);
    for (uint32_t i = 0; i < COUNT; i++) compute_buffer_release(blocks[i]);
    tear_down();
}

TEST(m2_t12_what_a_driver_without_memory_ends_is_poisoned_at_once)
{
    set_up_troubled(0);
    compute_kernel increment = make_kernel(device, INCREMENT);
    compute_buffer in = make_buffer(device, 256, "in"), out = make_buffer(device, 256, "out");
    fill_words(stream, in, 1);
    OK(launch_io(stream, increment, "", in, out, 1));
    wait_for(stream);
    trouble.descriptors = trouble.pipelines = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    compute_kernel first = NULL;
    compute_kernel_desc desc = kernel_desc(INCREMENT_FIRST, "first");
    IS(COMPUTE_ERROR_DEVICE_POISONED, compute_kernel_create(device, &desc, &first, E));
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(increment);
    tear_down();

    set_up_troubled(0);
    increment = make_kernel(device, INCREMENT);
    in = make_buffer(device, 256, "in");
    out = make_buffer(device, 1 << 20, "out");
    fill_words(stream, in, 1);
    wait_for(stream);
    trouble.descriptors = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    compute_status status = COMPUTE_OK;
    /* Sets are made in pools of many; each place that is bound has a set of its own. */
    for (uint64_t i = 0; i < 4000 && status == COMPUTE_OK; i++) {
        compute_binding bindings[2] = { bind(0, in), bind_range(1, out, 256 * i, 256) };
        status = launch(stream, increment, 1, bindings, 2);
    }
    IS(COMPUTE_ERROR_DEVICE_POISONED, status);
    compute_buffer_release(in);
    compute_buffer_release(out);
    compute_kernel_release(increment);
    tear_down();
}

/* ---- devices that are the library's own ---- */

TEST(t14_the_cpu_device_tells_addresses)
{
    setenv("RULES_BACKEND", "cpu", 1);
    device = open_device();
    stream = make_stream(device);
    compute_buffer buffer = make_buffer(device, 256, "buffer");
    fill_words(stream, buffer, 42);
    compute_native_info native = export_of(buffer, COMPUTE_ACCESS_READ_WRITE);
    CHECK_EQ(COMPUTE_NATIVE_ADDRESS, native.kind);
    uint32_t *words = (uint32_t *)(uintptr_t)(native.handle + native.offset);
    CHECK_EQ(42, words[63]);
    words[63] = 43;
    compute_view view = whole(buffer), empty = range(buffer, 0, 0), outside = range(buffer, 0, 257);
    OK(compute_written(&view, E));
    CHECK_EQ(43, get_word(stream, buffer, 63));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_stream_export(stream, &empty, COMPUTE_ACCESS_READ, &native, E));
    IS(COMPUTE_ERROR_OUT_OF_RANGE, compute_stream_export(stream, &outside, COMPUTE_ACCESS_READ, &native, E));
    IS(COMPUTE_ERROR_INVALID_ENUM, compute_stream_export(stream, &view, COMPUTE_ACCESS_UNUSED, &native, E));
    IS(COMPUTE_ERROR_INVALID_HANDLE, compute_stream_export(NULL, &view, COMPUTE_ACCESS_READ, &native, E));
    IS(COMPUTE_ERROR_INVALID_ARGUMENT, compute_written(NULL, E));
    /* One that has no memory yet gets it. */
    compute_buffer deferred = make_buffer_with(device, 256, "deferred", COMPUTE_BUFFER_FLAG_DEFERRED), out = make_buffer(device, 256, "out");
    compute_view later = whole(deferred);
    OK(compute_written(&later, E));
    OK(launch_io(stream, make_kernel(device, INCREMENT), "", deferred, out, 1));
    OK(get(stream, out, 0, &native, 8));
}

TEST(t14_a_wgpu_device_of_the_library_tells_vulkan_buffers)
{
    setenv("RULES_BACKEND", "wgpu", 1);
    device = open_device();
    stream = make_stream(device);
    compute_buffer buffer = make_buffer(device, 256, "buffer");
    compute_native_info native = export_of(buffer, COMPUTE_ACCESS_READ);
    CHECK_EQ(COMPUTE_NATIVE_VULKAN_BUFFER, native.kind);
    CHECK(native.handle != 0);
    /* Of its own device nobody else can have one. */
    IS(COMPUTE_ERROR_UNSUPPORTED, try_import(native.handle, 0, 16));
    CHECK(error_says("compute_vulkan_desc"));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    RUN(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_0);
    RUN(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_1);
    RUN(t14_results_reach_the_engine_s_texture_without_the_host_on_vulkan_1_3);
    RUN(t14_what_the_engine_has_written_is_seen_by_kernels);
    RUN(t8_claimed_bytes_are_not_exported_for_reading_and_never_written_ones_are_zeros);
    RUN(t14_objects_of_the_engine_are_used_until_it_is_told_even_if_everything_is_released_with_work_under_way);
    RUN(t14_engine_and_library_take_turns_at_one_queue);
    RUN(t14_kernels_use_the_features_that_the_engine_has_enabled_and_no_others);
    RUN(t14_a_host_s_device_that_cannot_be_shared_is_refused_with_the_reason_and_nobody_is_told);
    RUN(t14_a_buffer_of_the_engine_s_is_used_in_place_on_vulkan_1_0);
    RUN(t14_a_buffer_of_the_engine_s_is_used_in_place_on_vulkan_1_3);
    RUN(t14_buffers_that_cannot_be_imported_are_refused_with_the_reason);
    RUN(f1_t14_the_driver_is_asked_until_the_device_is_open);
    RUN(t12_t14_what_the_engine_holds_of_a_lost_device_stays_until_it_is_released);
    RUN(t12_m7_what_is_mapped_of_a_lost_device_stays_until_it_is_released);
    RUN(t12_t14_an_import_of_a_lost_device_is_let_go_of_once_the_work_before_is_over);
    RUN(t12_t14_nor_earlier_where_the_driver_cannot_wait_for_it);
    RUN(t12_t14_nor_earlier_where_the_driver_has_refused_memory);
    RUN(mem_a_card_s_blocks_take_a_part_of_the_allocations_that_the_driver_allows);
    RUN(m2_t12_what_a_driver_without_memory_ends_is_poisoned_at_once);
    RUN(t14_the_cpu_device_tells_addresses);
    RUN(t14_a_wgpu_device_of_the_library_tells_vulkan_buffers);
    return finish();
}
