struct int { double: u32, char: u32 }
@group(0) @binding(0) var<storage, read> new_: array<u32>;
@group(0) @binding(1) var<storage, read_write> template_: array<u32>;

fn blockIdx(errno: u32) -> u32 {
    var threadIdx = errno;
    let size_t = threadIdx + 1u;
    var float4 = int(size_t, 2u);
    return float4.double * float4.char;
}

fn printf(half2: u32) -> u32 {
    let INFINITY = half2;
    return INFINITY;
}

@compute @workgroup_size(1)
fn kernel() {
    template_[0] = blockIdx(new_[0]);
    template_[1] = printf(new_[1]);
}
