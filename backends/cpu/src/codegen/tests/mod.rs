//! Tests that compile kernels and run them on plain memory.
//!
//! Constants of a kernel arrive through its input buffer, or the front end would fold what is to be tested.

mod arithmetic;
mod artifacts;
mod barriers;
mod basics;
mod bounds;
mod folding;
mod glsl;
mod glsl_subgroups;
mod glsl_types;
mod hostile;
mod language;
mod random;
mod speed;
mod spellings;
mod spirv;
mod spirv_numbers;
mod spirv_passes;
mod subgroups;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use compute_kernel::lower::{Lowered, Lowering, PRINT_ROOM, Violation};
use compute_kernel::reflection::Bounds;
use compute_kernel::{EntryPoint, Module, Source};

use super::{BoundRange, CompiledKernel, Context};

const GUARD: usize = 64;
const GUARD_WORD: u32 = 0xaaaa_aaaa;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Zeroed memory, aligned as scratch is.
struct Memory(Vec<Line>);

impl Memory {
    fn new(size: usize, fill: u8) -> Self {
        Self(vec![Line([fill; 64]); size.div_ceil(64)])
    }
    fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A kernel under test.
struct Kernel {
    compiled: CompiledKernel,
    immediates: Vec<u32>,
    /// Words of the record, zero before the first run.
    record: Vec<AtomicU32>,
    cancel: AtomicU32,
}

fn entry(source: &str) -> Arc<EntryPoint> {
    let module = Module::parse(&Source::new(source.as_bytes())).unwrap_or_else(|e| panic!("{}", e.text));
    module.entry_point(None, &[]).unwrap_or_else(|e| panic!("{}", e.text))
}

fn lowered(entry: &Arc<EntryPoint>, bounds: Bounds) -> Lowered {
    let lowering = Lowering { bounds, deferred: false, print_room: PRINT_ROOM, names: None };
    entry.lower(&lowering).unwrap_or_else(|e| panic!("{}", e.text))
}

/// Every kernel of these tests goes through its bytes, so what runs is what a later process would run (L7).
fn compile(entry: &Arc<EntryPoint>, bounds: Bounds, cancellable: bool) -> Result<CompiledKernel, compute_hal::DeviceError> {
    let (compiled, bytes) = CompiledKernel::compile_to_keep(lowered(entry, bounds), bounds, cancellable, true)?;
    let restored = CompiledKernel::restore(&lowered(entry, bounds), bounds, cancellable, &bytes.expect("an artifact"))?;
    assert_eq!((restored.scratch_size(), restored.frame()), (compiled.scratch_size(), compiled.frame()));
    assert_eq!((restored.cost(), restored.code_size()), (compiled.cost(), compiled.code_size()));
    Ok(restored)
}

impl Kernel {
    fn new(source: &str, bounds: Bounds) -> Self {
        Self::with(source, bounds, false)
    }

    fn with(source: &str, bounds: Bounds, cancellable: bool) -> Self {
        Self::of(compile(&entry(source), bounds, cancellable).unwrap_or_else(|e| panic!("{e:?}")))
    }

    fn of_entry(entry: &Arc<EntryPoint>, bounds: Bounds, cancellable: bool) -> Self {
        Self::of(compile(entry, bounds, cancellable).unwrap_or_else(|e| panic!("{e:?}")))
    }

    fn of(compiled: CompiledKernel) -> Self {
        let words = compiled.reports().record().map_or(0, |record| record.size as usize / 4);
        let record = (0..words).map(|_| AtomicU32::new(0)).collect();
        Self { compiled, immediates: Vec::new(), record, cancel: AtomicU32::new(0) }
    }

    fn record(&self) -> *mut u8 {
        self.record.as_ptr().cast_mut().cast()
    }

    fn recorded(&self) -> Vec<u8> {
        self.record.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect()
    }

    /// Runs a grid. Words before and after each buffer must stay as they are.
    fn run(&self, groups: [u32; 3], buffers: &mut [&mut [u32]]) {
        let mut scratch = Memory::new(self.compiled.scratch_size() + 64, 0xcc);
        let mut guarded: Vec<Memory> = buffers.iter().map(|b| Memory::new((b.len() + 2 * GUARD) * 4, 0xaa)).collect();
        let mut ranges = Vec::new();
        for (memory, buffer) in guarded.iter_mut().zip(buffers.iter()) {
            // SAFETY: the memory holds the buffer between two guards.
            let start = unsafe {
                let start = memory.pointer().add(GUARD * 4);
                std::ptr::copy_nonoverlapping(buffer.as_ptr().cast(), start, buffer.len() * 4);
                start
            };
            ranges.push(BoundRange { pointer: start, size: buffer.len() as u64 * 4 });
        }
        let mut immediates = Memory::new(self.immediates.len() * 4 + 16, 0xee);
        // SAFETY: there is room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(self.immediates.as_ptr().cast(), immediates.pointer(), self.immediates.len() * 4);
        }
        let context = Context {
            scratch: scratch.pointer(),
            bindings: ranges.as_ptr(),
            immediates: immediates.pointer(),
            record: self.record(),
            cancel: &self.cancel,
            workgroups: groups,
        };
        for z in 0..groups[2] {
            for y in 0..groups[1] {
                for x in 0..groups[0] {
                    // SAFETY: everything in the context lives until the end of this function.
                    unsafe { self.compiled.run(&context, [x, y, z]) };
                }
            }
        }
        for (memory, buffer) in guarded.iter_mut().zip(buffers.iter_mut()) {
            let words = buffer.len() + 2 * GUARD;
            // SAFETY: the memory is that large.
            let all = unsafe { std::slice::from_raw_parts(memory.pointer().cast::<u32>(), words) };
            buffer.copy_from_slice(&all[GUARD..words - GUARD]);
            let guards = all[..GUARD].iter().chain(&all[words - GUARD..]);
            assert!(guards.into_iter().all(|w| *w == GUARD_WORD), "a store outside of the buffer");
        }
    }

    fn violation(&self) -> Option<Violation> {
        self.compiled.reports().violation(&self.recorded())
    }

    fn violated(&self) -> bool {
        self.violation().is_some()
    }
}

/// Runs one kernel of `O` (slot 1, written) over `I` (slot 0) in all bounds modes; they must agree.
fn run_words(source: &str, groups: u32, input: &[u32], output_words: usize) -> Vec<u32> {
    let run = |bounds| {
        let mut input = input.to_vec();
        let mut output = vec![0; output_words];
        let kernel = Kernel::new(source, bounds);
        kernel.run([groups, 1, 1], &mut [&mut input, &mut output]);
        assert!(!kernel.violated(), "a violation in a kernel that has none");
        output
    };
    let checked = run(Bounds::Checked);
    assert_eq!(checked, run(Bounds::Unchecked), "unchecked");
    assert_eq!(checked, run(Bounds::Validate), "validate");
    checked
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|w| f32::from_bits(*w)).collect()
}

/// The declarations that most tests share.
const HEAD: &str = "
    @group(0) @binding(0) var<storage, read> I: array<u32>;
    @group(0) @binding(1) var<storage, read_write> O: array<u32>;
";

/// The body of a kernel with one invocation, after [`HEAD`].
fn one(body: &str) -> String {
    format!("{HEAD} @compute @workgroup_size(1) fn main() {{ {body} }}")
}
