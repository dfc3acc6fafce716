@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn collatz(start: u32) -> u32 {
    var n = start;
    var steps = 0u;
    while (n > 1u && steps < 500u) {
        steps++;
        if (n % 2u == 0u) { n /= 2u; continue; }
        n = 3u * n + 1u;
    }
    return steps;
}

fn walk(limit: u32) -> u32 {
    var sum = 0u;
    var i = 0u;
    loop {
        let step = i % 3u + 1u;
        if (i % 5u == 4u) { continue; }
        switch (i % 7u) {
            case 0u: { sum += 1u; }
            case 1u, 2u: {
                if (sum > 50u) { continue; }
                sum += 10u;
            }
            default: {
                if (sum > 1000u) { break; }
                sum += 100u;
            }
            case 3u: { sum += 2u; }
        }
        for (var k = 0u; k < 4u; k++) { sum += k * i; }
        continuing {
            i += step;
            break if i >= limit;
        }
    }
    return sum;
}

@compute @workgroup_size(16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let x = input[id.x] % 1000u;
    out[id.x] = collatz(x) + 1000u * walk(x % 40u);
}
