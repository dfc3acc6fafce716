/* The least that shows that a program found the library, its header, and that they fit: prints 42. */
#include <stdio.h>

#include <libcompute/compute.h>

static const char SOURCE[] = "@group(0) @binding(0) var<storage, read_write> O: array<u32>;\n@compute @workgroup_size(1) fn main() { O[0] = 42u; }";

int main(void)
{
    compute_device device = NULL;
    compute_stream stream = NULL;
    compute_kernel kernel = NULL;
    compute_buffer buffer = NULL;
    compute_device_desc open = COMPUTE_DEVICE_DESC_INIT;
    compute_kernel_desc source = COMPUTE_KERNEL_DESC_INIT;
    compute_buffer_desc size = COMPUTE_BUFFER_DESC_INIT;
    compute_launch_desc launch = COMPUTE_LAUNCH_DESC_INIT;
    compute_binding binding = { 0, 0, NULL, 0, COMPUTE_WHOLE, NULL, 0, 0 };
    compute_view view = { NULL, 0, COMPUTE_WHOLE };
    uint32_t answer = 0;
    source.language = COMPUTE_LANGUAGE_WGSL;
    source.source = SOURCE;
    source.source_length = sizeof SOURCE - 1;
    size.size = sizeof answer;
    if (compute_check_abi(COMPUTE_ABI, NULL) != COMPUTE_OK) return 1;
    if (compute_device_open(&open, &device, NULL) != COMPUTE_OK || compute_stream_create(device, NULL, &stream, NULL) != COMPUTE_OK) return 2;
    if (compute_kernel_create(device, &source, &kernel, NULL) != COMPUTE_OK || compute_buffer_create(device, &size, &buffer, NULL) != COMPUTE_OK) return 3;
    binding.buffer = view.buffer = buffer;
    launch.kernel = kernel;
    launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    launch.bindings = &binding;
    launch.binding_count = 1;
    if (compute_stream_launch(stream, &launch, NULL) != COMPUTE_OK || compute_stream_read(stream, &view, &answer, sizeof answer, NULL) != COMPUTE_OK) return 4;
    printf("%u\n", answer);
    compute_buffer_release(buffer);
    compute_kernel_release(kernel);
    compute_stream_release(stream);
    compute_device_release(device);
    return 0;
}
