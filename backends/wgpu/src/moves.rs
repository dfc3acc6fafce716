//! Kernels of our own, for what wgpu's copies cannot do: any byte offset and size, within one buffer, patterns; and the check of an indirect grid.
//!
//! Several rows may share a word of the destination, so a word of which only a part is written is put together by atomics.

use std::sync::{Arc, OnceLock};

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{CompileRequest, CompileSource, DeviceError};
use parking_lot::Mutex;

use crate::kernel::Kernel;

/// Invocations of a workgroup of the kernels here.
const GROUP: u64 = 64;
/// Workgroups along x before a grid goes on along y.
const ACROSS: u64 = 32_768;
/// Bytes that one launch of them touches at most, so that its numbers fit 32 bits.
pub(crate) const PIECE: u64 = 256 << 20;

const MOVE: &str = "
struct P { source_start: u32, sink_start: u32, width: u32, rows: u32, source_pitch: u32, sink_pitch: u32, words: u32 }
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sink: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> p: P;
fn word(at: u32) -> u32 {
    if (at < arrayLength(&source)) { return source[at]; }
    return 0u;
}
@compute @workgroup_size(64)
fn move_bytes(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * (groups.x * 64u) + id.x;
    let row = i / p.words;
    if (row >= p.rows) { return; }
    let start = p.sink_start + row * p.sink_pitch;
    let place = start / 4u + i % p.words;
    let first = max(place * 4u, start);
    let end = min(place * 4u + 4u, start + p.width);
    if (first >= end) { return; }
    // One word too far, so that the bytes in front of a row's first do not wrap.
    let at = p.source_start + row * p.source_pitch + (place * 4u - start) + 4u;
    let shift = (at % 4u) * 8u;
    var bits = word(at / 4u - 1u) >> shift;
    if (shift != 0u) { bits |= word(at / 4u) << (32u - shift); }
    if (end - first == 4u) {
        atomicStore(&sink[place], bits);
    } else {
        let mask = (0xffffffffu << ((first - place * 4u) * 8u)) & (0xffffffffu >> (32u - (end - place * 4u) * 8u));
        atomicAnd(&sink[place], ~mask);
        atomicOr(&sink[place], bits & mask);
    }
}";

const FILL: &str = "
struct P { start: u32, size: u32, pattern: vec4<u32> }
@group(0) @binding(0) var<storage, read_write> sink: array<atomic<u32>>;
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(64)
fn fill_bytes(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let place = p.start / 4u + id.y * (groups.x * 64u) + id.x;
    let first = max(place * 4u, p.start);
    let end = min(place * 4u + 4u, p.start + p.size);
    if (first >= end) { return; }
    let at = (place * 4u - p.start) & 15u;
    let shift = (at % 4u) * 8u;
    var bits = p.pattern[at / 4u] >> shift;
    if (shift != 0u) { bits |= p.pattern[(at / 4u + 1u) & 3u] << (32u - shift); }
    if (end - first == 4u) {
        atomicStore(&sink[place], bits);
    } else {
        let mask = (0xffffffffu << ((first - place * 4u) * 8u)) & (0xffffffffu >> (32u - (end - place * 4u) * 8u));
        atomicAnd(&sink[place], ~mask);
        atomicOr(&sink[place], bits & mask);
    }
}";

/// The grid that was asked for, or zeros where it is over the limits.
const GRID: &str = "
struct P { start: u32, most_x: u32, most_y: u32, most_z: u32 }
@group(0) @binding(0) var<storage, read> asked: array<u32>;
@group(0) @binding(1) var<storage, read_write> grid: array<u32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(1)
fn check_grid() {
    let x = asked[p.start]; let y = asked[p.start + 1u]; let z = asked[p.start + 2u];
    let fits = x <= p.most_x && y <= p.most_y && z <= p.most_z;
    grid[0] = select(0u, x, fits); grid[1] = select(0u, y, fits); grid[2] = select(0u, z, fits);
}";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    Move,
    Fill,
    Grid,
}

/// The kernels, compiled when first needed.
#[derive(Default)]
pub(crate) struct OwnKernels {
    made: [OnceLock<Arc<Kernel>>; 3],
    making: Mutex<()>,
}

impl OwnKernels {
    pub(crate) fn get(
        &self,
        own: Own,
        compile: impl Fn(&CompileRequest<'_>) -> Result<Kernel, DeviceError>,
    ) -> Result<Arc<Kernel>, DeviceError> {
        let (slot, source) = match own {
            Own::Move => (&self.made[0], MOVE),
            Own::Fill => (&self.made[1], FILL),
            Own::Grid => (&self.made[2], GRID),
        };
        if let Some(kernel) = slot.get() {
            return Ok(Arc::clone(kernel));
        }
        let _one = self.making.lock();
        if let Some(kernel) = slot.get() {
            return Ok(Arc::clone(kernel));
        }
        host_memory(TO_COMPILE)?;
        let internal = |found: compute_hal::kernel::Diagnostics| DeviceError::Internal(found.text);
        let entry = Module::parse(&Source::wgsl(source)).and_then(|module| module.entry_point(None, &[])).map_err(internal)?;
        let kernel = Arc::new(compile(&CompileRequest {
            source: CompileSource::Portable(&entry),
            bounds: Bounds::Unchecked,
            cancellable: false,
            print_room: 0,
            strict: false,
            label: "libcompute",
        })?);
        Ok(Arc::clone(slot.get_or_init(|| kernel)))
    }
}

/// What making one of these kernels takes of the host's memory, in all and more than enough.
const TO_COMPILE: usize = 1 << 20;

/// Whether the host has so many bytes now. naga and wgpu end the process where there are none, so whoever is about to need them asks first.
fn host_memory(bytes: usize) -> Result<(), DeviceError> {
    let mut asked = Vec::<u8>::new();
    asked.try_reserve_exact(bytes).map_err(|_| DeviceError::OutOfMemory { asked: bytes as u64, free: 0 })?;
    // Else the compiler may leave both the asking and the giving back out.
    std::hint::black_box(&asked);
    Ok(())
}

/// A grid of at least so many invocations.
pub(crate) fn grid(invocations: u64) -> [u32; 3] {
    let groups = invocations.div_ceil(GROUP).max(1);
    let across = groups.min(ACROSS);
    // Pieces are bounded, so both fit.
    [across as u32, groups.div_ceil(across) as u32, 1]
}

/// Words that a row of `width` bytes can touch, wherever it begins.
pub(crate) fn words(width: u64) -> u64 {
    width.div_ceil(4) + 1
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
