/* wgpu-native through its C interface, as one of the peers: the functions that src/native.rs calls. A library of its own, so that nothing of it is needed where
 * wgpu-native is not installed. Errors end the process: there is nothing to measure then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "webgpu.h"
#include "wgpu.h"

enum { BUFFERS = 16, BUFFER_SIZE = 256, SMALL = 4096 };

static const WGPUBufferUsage STORAGE = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
static const WGPUBufferUsage READBACK = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;

static WGPUInstance instance;
static WGPUDevice device;
static WGPUQueue queue;
static WGPUComputePipeline pipeline;
static WGPUBindGroupLayout layout;
static WGPUBuffer buffers[BUFFERS], small_readback, large, large_readback;
static WGPUCommandEncoder encoder;
static WGPUComputePassEncoder pass;
static unsigned next;

static void need(int there, const char *what)
{
    if (there) return;
    fprintf(stderr, "wgpu-native: no %s\n", what);
    exit(1);
}

static void got_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void *into, void *unused)
{
    (void)message, (void)unused;
    need(status == WGPURequestAdapterStatus_Success, "adapter");
    *(WGPUAdapter *)into = adapter;
}

static void got_device(WGPURequestDeviceStatus status, WGPUDevice made, WGPUStringView message, void *into, void *unused)
{
    (void)message, (void)unused;
    need(status == WGPURequestDeviceStatus_Success, "device");
    *(WGPUDevice *)into = made;
}

static void mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *into, void *unused)
{
    (void)message, (void)unused;
    *(int *)into = status == WGPUMapAsyncStatus_Success ? 1 : -1;
}

static WGPUBuffer make_buffer(uint64_t size, WGPUBufferUsage usage)
{
    WGPUBufferDescriptor desc = { .size = size, .usage = usage };
    WGPUBuffer made = wgpuDeviceCreateBuffer(device, &desc);
    need(made != NULL, "buffer");
    return made;
}

/* Everything up to what launches need. `source` is WGSL with the entry point `add`. */
void peer_open(const char *source, size_t length)
{
    WGPUInstanceExtras extras = { .chain = { .sType = (WGPUSType)WGPUSType_InstanceExtras }, .backends = WGPUInstanceBackend_Vulkan };
    WGPUInstanceDescriptor instance_desc = { .nextInChain = &extras.chain };
    instance = wgpuCreateInstance(&instance_desc);
    need(instance != NULL, "instance");
    WGPUAdapter adapter = NULL;
    WGPURequestAdapterCallbackInfo on_adapter = { .mode = WGPUCallbackMode_AllowProcessEvents, .callback = got_adapter, .userdata1 = &adapter };
    wgpuInstanceRequestAdapter(instance, NULL, on_adapter);
    while (!adapter) wgpuInstanceProcessEvents(instance);
    WGPULimits limits = { 0 };
    wgpuAdapterGetLimits(adapter, &limits);
    WGPUDeviceDescriptor device_desc = { .requiredLimits = &limits };
    WGPURequestDeviceCallbackInfo on_device = { .mode = WGPUCallbackMode_AllowProcessEvents, .callback = got_device, .userdata1 = &device };
    wgpuAdapterRequestDevice(adapter, &device_desc, on_device);
    while (!device) wgpuInstanceProcessEvents(instance);
    queue = wgpuDeviceGetQueue(device);

    WGPUShaderSourceWGSL text = { .chain = { .sType = WGPUSType_ShaderSourceWGSL }, .code = { source, length } };
    WGPUShaderModuleDescriptor module_desc = { .nextInChain = &text.chain };
    WGPUShaderModule module = wgpuDeviceCreateShaderModule(device, &module_desc);
    WGPUComputePipelineDescriptor pipeline_desc = { .compute = { .module = module, .entryPoint = { "add", 3 } } };
    pipeline = wgpuDeviceCreateComputePipeline(device, &pipeline_desc);
    need(pipeline != NULL, "pipeline");
    layout = wgpuComputePipelineGetBindGroupLayout(pipeline, 0);
    for (int i = 0; i < BUFFERS; i++) buffers[i] = make_buffer(BUFFER_SIZE, STORAGE);
    small_readback = make_buffer(SMALL, READBACK);
}

void peer_launch(void)
{
    WGPUBindGroupEntry entry = { .binding = 0, .buffer = buffers[next++ % BUFFERS], .size = BUFFER_SIZE };
    WGPUBindGroupDescriptor desc = { .layout = layout, .entryCount = 1, .entries = &entry };
    WGPUBindGroup group = wgpuDeviceCreateBindGroup(device, &desc);
    if (!encoder) {
        encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
        pass = wgpuCommandEncoderBeginComputePass(encoder, NULL);
        wgpuComputePassEncoderSetPipeline(pass, pipeline);
    }
    wgpuComputePassEncoderSetBindGroup(pass, 0, group, 0, NULL);
    wgpuComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
    wgpuBindGroupRelease(group);
}

static void submit(WGPUCommandEncoder of)
{
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(of, NULL);
    wgpuQueueSubmit(queue, 1, &commands);
    wgpuCommandBufferRelease(commands);
    wgpuCommandEncoderRelease(of);
}

void peer_flush(void)
{
    if (!encoder) return;
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    submit(encoder);
    encoder = NULL;
}

void peer_wait(void)
{
    peer_flush();
    wgpuDevicePoll(device, 1, NULL);
}

static void read_through(WGPUBuffer from, WGPUBuffer readback, void *out, size_t size)
{
    WGPUCommandEncoder copying = wgpuDeviceCreateCommandEncoder(device, NULL);
    wgpuCommandEncoderCopyBufferToBuffer(copying, from, 0, readback, 0, size);
    submit(copying);
    int done = 0;
    WGPUBufferMapCallbackInfo on_mapped = { .mode = WGPUCallbackMode_AllowProcessEvents, .callback = mapped, .userdata1 = &done };
    wgpuBufferMapAsync(readback, WGPUMapMode_Read, 0, size, on_mapped);
    while (!done) wgpuDevicePoll(device, 1, NULL);
    need(done > 0, "mapping");
    memcpy(out, wgpuBufferGetConstMappedRange(readback, 0, size), size);
    wgpuBufferUnmap(readback);
}

void peer_small_cycle(const void *data, void *out, size_t size)
{
    WGPUBuffer buffer = make_buffer(size, STORAGE);
    wgpuQueueWriteBuffer(queue, buffer, 0, data, size);
    read_through(buffer, small_readback, out, size);
    wgpuBufferRelease(buffer);
}

void peer_prepare_large(size_t size)
{
    large = make_buffer(size, STORAGE);
    large_readback = make_buffer(size, READBACK);
}

void peer_upload(const void *data, size_t size)
{
    wgpuQueueWriteBuffer(queue, large, 0, data, size);
    wgpuQueueSubmit(queue, 0, NULL);
    wgpuDevicePoll(device, 1, NULL);
}

void peer_readback(void *out, size_t size) { read_through(large, large_readback, out, size); }

void peer_first(void *out, size_t size)
{
    peer_flush();
    read_through(buffers[0], small_readback, out, size);
}
