// From the histogram to the table that spreads the picture's brightness evenly over 0 to 255: one workgroup sums the counts up to each bin, in eight
// rounds of doubling reach.

const BINS: u32 = 256u;

@group(0) @binding(0) var<storage, read> histogram: array<u32, BINS>;
@group(0) @binding(1) var<storage, read_write> table: array<u32, BINS>;

var<workgroup> sums: array<u32, BINS>;

@compute @workgroup_size(BINS)
fn equalise(@builtin(local_invocation_index) bin: u32) {
    sums[bin] = histogram[bin];
    workgroupBarrier();
    for (var reach = 1u; reach < BINS; reach *= 2u) {
        var below = 0u;
        if bin >= reach {
            below = sums[bin - reach];
        }
        workgroupBarrier(); // everybody has read before anybody writes
        sums[bin] += below;
        workgroupBarrier();
    }
    // The share of the pixels below this bin, of those that are not in the darkest one; scaled down first so that 32 bits are enough up to 2^28 pixels.
    let darkest = sums[0];
    let range = max(sums[BINS - 1u] - darkest, 1u);
    let scale = 1u + range / 0x1000000u;
    table[bin] = min(((sums[bin] - darkest) / scale) * 255u / max(range / scale, 1u), 255u);
}
