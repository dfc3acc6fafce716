// Brightness of every pixel, 0 to 255, by the weights of Rec. 709 in 256ths: integers, so that every device gives the same bits.

struct Frame {
    width: u32,
    height: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> photo: array<u32>; // one pixel a word: red in the lowest byte, then green, blue, alpha
@group(0) @binding(2) var<storage, read_write> brightness: array<u32>;

@compute @workgroup_size(16, 16)
fn luma(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= frame.width || id.y >= frame.height {
        return;
    }
    let i = id.y * frame.width + id.x;
    let pixel = photo[i];
    let red = pixel & 0xffu;
    let green = (pixel >> 8u) & 0xffu;
    let blue = (pixel >> 16u) & 0xffu;
    brightness[i] = (54u * red + 183u * green + 19u * blue) >> 8u;
}
