//! Portable kernels against the same algorithms in hand-written CUDA C++ (`kernels/`), both through the same compiler and on the same memory, in one process: the
//! device's own times between two events, as ratios of speed. The results are compared.
//!
//! `cargo bench -p compute-cuda --bench kernels [-- NAME ...]`. Needs a GPU; says so where there is none. With COMPUTE_BENCH_TEXTS=FOLDER it writes the texts of the kernels there
//! and ends, for who wants to look at the machine code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a benchmark ends at the first thing that is wrong"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Function, Raw, median};
use compute_hal::kernel::cxx::{self, Options};
use compute_hal::kernel::lower::Lowering;
use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{EntryPoint, Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, Grid, HostTarget, KernelId, Launch, OpenOptions, Queue, Region,
    Waited,
};

const ROUNDS: usize = 15;
const MODES: [(&str, Bounds, f64); 3] =
    [("unchecked", Bounds::Unchecked, 0.97), ("checked", Bounds::Checked, 0.95), ("validated", Bounds::Validate, 0.85)];
const HAND: &str = include_str!("kernels/hand.cu");
/// Bytes of each of the two buffers.
const BYTES: u64 = 256 << 20;
/// Words of one.
const WORDS: u32 = (BYTES / 4) as u32;

/// One algorithm.
struct Case {
    name: &'static str,
    /// The entry point, in both languages.
    entry: &'static str,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Bytes of what each binding is: those that are read, then the one that is written.
    bindings: &'static [u64],
    /// Numbers that both are given, as words.
    given: Vec<u32>,
    /// How the numbers are given: as a uniform binding, or as immediates.
    uniform: bool,
    /// Whether the hand-written one is told how many elements there are.
    counted: u32,
    /// Launches between two events.
    repeats: u32,
    /// Whether the input is any words, and the output counts.
    words: bool,
}

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("kernels/", $name, ".wgsl"))
    };
}

fn cases() -> Vec<Case> {
    const SIDE: u32 = 4096;
    const SQUARE: u64 = 4 * (SIDE as u64) * (SIDE as u64);
    const BODIES: u32 = 132 * 512;
    const PARTS: u32 = 132 * 16;
    let case = |name, text, grid, block, bindings| Case {
        name,
        entry: name,
        text,
        grid,
        block,
        bindings,
        given: Vec::new(),
        uniform: false,
        counted: 0,
        repeats: 8,
        words: false,
    };
    let row = [256, 1, 1];
    let tile = [16, 16, 1];
    vec![
        Case {
            given: vec![0.75_f32.to_bits()],
            counted: WORDS,
            ..case("saxpy", text!("saxpy"), [WORDS / 256, 1, 1], row, &[BYTES, BYTES])
        },
        Case {
            given: vec![0.75_f32.to_bits()],
            counted: WORDS,
            entry: "saxpy",
            uniform: true,
            ..case("saxpy, uniform bytes", text!("saxpy_uniform"), [WORDS / 256, 1, 1], row, &[BYTES, BYTES])
        },
        Case {
            given: vec![0.75_f32.to_bits()],
            counted: WORDS / 4,
            ..case("saxpy4", text!("saxpy4"), [WORDS / 1024, 1, 1], row, &[BYTES, BYTES])
        },
        Case {
            given: vec![SIDE],
            repeats: 1,
            ..case("matmul", text!("matmul"), [SIDE / 16, SIDE / 16, 1], tile, &[SQUARE, SQUARE, SQUARE])
        },
        Case {
            given: vec![SIDE],
            repeats: 1,
            ..case("gemm", text!("gemm"), [SIDE / 64, SIDE / 64, 1], tile, &[SQUARE, SQUARE, SQUARE])
        },
        Case { counted: WORDS, ..case("reduce", text!("reduce"), [PARTS, 1, 1], row, &[BYTES, 4 * PARTS as u64]) },
        Case {
            given: vec![8192, 1000, (3.0_f32 / 8192.0).to_bits()],
            repeats: 1,
            ..case("mandelbrot", text!("mandelbrot"), [512, 512, 1], tile, &[BYTES])
        },
        Case {
            given: vec![0.01_f32.to_bits()],
            counted: BODIES,
            repeats: 1,
            ..case("nbody", text!("nbody"), [BODIES / 256, 1, 1], row, &[16 * BODIES as u64, 16 * BODIES as u64])
        },
        Case { given: vec![8192, 8192], ..case("stencil", text!("stencil"), [256, 1024, 1], [32, 8, 1], &[BYTES, BYTES]) },
        Case { counted: WORDS, words: true, ..case("histogram", text!("histogram"), [PARTS, 1, 1], row, &[BYTES, 1024]) },
    ]
}

impl Case {
    fn entry_point(&self) -> Arc<EntryPoint> {
        Module::parse(&Source::wgsl(self.text)).unwrap().entry_point(None, &[]).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        self.given.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The block of arguments of the hand-written function.
    fn arguments(&self, addresses: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        if self.counted > 0 {
            bytes.extend(self.counted.to_le_bytes());
        }
        bytes.extend(self.bytes());
        bytes
    }
}

/// Writes the texts that the device compiles, each with its options in the first line.
fn write_texts(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("hand.cu"), HAND).unwrap();
    for case in cases() {
        for (mode, bounds, _) in MODES {
            let lowering = Lowering { bounds, deferred: true, print_room: 0, names: None };
            let lowered = case.entry_point().lower(&lowering).unwrap();
            let checked = bounds != Bounds::Unchecked;
            let options = Options {
                dialect: &cxx::CUDA,
                checked,
                strict: false,
                cancellable: false,
                indirect: false,
                subgroup_size: Some(32),
            };
            let text = cxx::translate(&lowered, &options).unwrap();
            let name = case.name.split(',').next().unwrap().to_owned() + if case.uniform { "_uniform" } else { "" };
            let source = format!("// {}\n{}", text.options.join(" "), text.source);
            std::fs::write(folder.join(format!("{name}-{mode}.cu")), source).unwrap();
        }
    }
}

/// The device and the memory that everything works on.
struct Bench {
    raw: Raw,
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    stream: usize,
    events: [usize; 2],
    buffers: [Region; 3],
    fill: KernelId,
    at: u64,
    target: String,
}

/// Who runs an algorithm.
#[derive(Clone, Copy)]
enum Who {
    Hand(Function),
    Ours(KernelId),
}

fn compile(device: &dyn Device, entry: &Arc<EntryPoint>, bounds: Bounds) -> KernelId {
    let source = CompileSource::Portable(entry);
    device
        .compile(&CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "benchmark" })
        .unwrap()
}

impl Bench {
    fn open() -> Option<Self> {
        let driver = &compute_cuda::DRIVER;
        let probe = driver.probe();
        let Some(properties) = probe.devices.first() else {
            println!("NOT MEASURED: no device: {}", probe.tried.join("; "));
            return None;
        };
        println!("{} ({}), {}; medians of {ROUNDS}", properties.name, properties.target, properties.driver);
        let device = driver.open(0, &OpenOptions::default()).unwrap();
        let raw = Raw::open();
        let queue = device.create_queue().unwrap();
        let buffers = [BYTES; 3].map(|size| Region { memory: device.allocate(size).unwrap(), offset: 0, size });
        let entry = Module::parse(&Source::wgsl(text!("fill"))).unwrap().entry_point(None, &[]).unwrap();
        let fill = compile(&*device, &entry, Bounds::Checked);
        let (stream, events) = (raw.stream(), [raw.event(true), raw.event(true)]);
        let target = properties.target.clone();
        Some(Self { raw, device, queue, stream, events, buffers, fill, at: 0, target })
    }

    fn next(&mut self) -> u64 {
        self.at += 1;
        self.at
    }

    fn wait(&self) {
        assert_eq!(self.queue.wait(self.at, None).unwrap(), Waited::Done);
        assert!(self.queue.take_late().is_empty(), "a kernel reported a violation");
    }

    /// What the bindings of an algorithm are.
    fn regions(&self, case: &Case) -> Vec<Region> {
        case.bindings.iter().zip(&self.buffers).map(|(size, region)| Region { size: *size, ..*region }).collect()
    }

    fn fill(&mut self, region: Region, seed: u32, words: bool) {
        let (at, kernel) = (self.next(), self.fill);
        let given: Vec<u8> = [seed, words.into()].iter().flat_map(|word| word.to_le_bytes()).collect();
        let bindings = [Binding::Buffer(region)];
        let grid = Grid::Direct([4096, 1, 1]);
        self.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &given, time_limit: 0 }).unwrap();
    }

    fn launch(&mut self, case: &Case, who: Who) {
        let regions = self.regions(case);
        match who {
            Who::Hand(function) => {
                let addresses: Vec<u64> = regions.iter().map(|region| self.device.export(region.memory).unwrap()).collect();
                self.raw.launch(function, (case.grid, case.block), self.stream, &case.arguments(&addresses));
            }
            Who::Ours(kernel) => {
                let (at, given) = (self.next(), case.bytes());
                let mut bindings: Vec<Binding<'_>> = regions.iter().map(|region| Binding::Buffer(*region)).collect();
                if case.uniform {
                    bindings.push(Binding::Inline(&given));
                }
                let immediates: &[u8] = if case.uniform { &[] } else { &given };
                let grid = Grid::Direct(case.grid);
                self.queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates, time_limit: 0 }).unwrap();
            }
        }
    }

    /// Milliseconds of a launch.
    fn time(&mut self, case: &Case, who: Who) -> f64 {
        let synchronize = self.raw.synchronize();
        if let Who::Hand(_) = who {
            self.raw.record(self.events[0], self.stream);
            (0..case.repeats).for_each(|_| self.launch(case, who));
            self.raw.record(self.events[1], self.stream);
            synchronize(self.stream);
            return self.raw.milliseconds(self.events[0], self.events[1]) / f64::from(case.repeats);
        }
        let start = self.next();
        self.queue.stamp(start).unwrap();
        self.queue.mark(start);
        for n in 1..=case.repeats {
            if n == case.repeats {
                self.queue.stamp(self.at + 1).unwrap();
            }
            self.launch(case, who);
        }
        self.wait();
        let time = |at| self.queue.timestamp(at).unwrap() as f64 / 1e6;
        (time(self.at) - time(start)) / f64::from(case.repeats)
    }

    /// What an algorithm makes of the same input.
    fn result(&mut self, case: &Case, who: Who) -> Vec<u32> {
        let regions = self.regions(case);
        let (target, sources) = regions.split_last().unwrap();
        for (seed, region) in (1..).zip(sources) {
            self.fill(*region, seed * 7919, case.words);
        }
        if case.words {
            let at = self.next();
            self.queue.fill(at, *target, &[0]).unwrap();
        } else {
            self.fill(*target, 31, false);
        }
        self.wait();
        self.launch(case, who);
        self.raw.synchronize()(self.stream);
        let size = target.size as usize;
        let into = HostTarget::staging(size).unwrap();
        let at = self.next();
        self.queue.read(at, *target, into.clone()).unwrap();
        self.wait();
        // SAFETY: the read is over.
        let bytes = unsafe { std::slice::from_raw_parts(into.pointer(), size) };
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn run(&mut self, case: &Case) {
        let hand = Who::Hand(self.raw.function(HAND, case.entry, &self.target, &[]));
        let entry = case.entry_point();
        let ours = MODES.map(|(_, bounds, _)| Who::Ours(compile(&*self.device, &entry, bounds)));
        let right = self.result(case, hand);
        let all = [hand, ours[0], ours[1], ours[2]];
        let mut differences = Vec::new();
        for who in ours {
            let found = self.result(case, who);
            differences.push(format!("{:.0e}", difference(case, &right, &found)));
        }
        let mut times = [const { Vec::new() }; 4];
        for round in 0..=ROUNDS {
            for turn in 0..all.len() {
                let which = (turn + round) % all.len();
                let time = self.time(case, all[which]);
                if round > 0 {
                    times[which].push(time);
                }
            }
        }
        let times = times.map(median);
        let registers = ours.map(|who| match who {
            Who::Ours(kernel) => self.device.kernel_facts(kernel).registers.unwrap_or(0),
            Who::Hand(_) => 0,
        });
        let ratios: Vec<f64> = times[1..].iter().map(|time| times[0] / time).collect();
        let met = ratios.iter().zip(MODES).all(|(ratio, (_, _, least))| *ratio >= least);
        println!(
            "| {} | {:.4} ms | {:.3} | {:.3} | {:.3} | {} | {registers:?} {differences:?} |",
            case.name,
            times[0],
            ratios[0],
            ratios[1],
            ratios[2],
            if met { "met" } else { "missed" }
        );
    }
}

/// How far two results are apart, of the largest number; 0 for counts that are the same.
fn difference(case: &Case, right: &[u32], found: &[u32]) -> f64 {
    assert_eq!(right.len(), found.len());
    let counts = case.words || case.name == "mandelbrot";
    if counts {
        let wrong = right.iter().zip(found).filter(|(a, b)| a != b).count();
        let share = wrong as f64 / right.len() as f64;
        // Whether products and sums are fused decides about points at the edge.
        let most = if case.words { 0.0 } else { 0.01 };
        assert!(share <= most, "{}: {wrong} of {} counts differ", case.name, right.len());
        return share;
    }
    let number = |word: &u32| f64::from(f32::from_bits(*word));
    let (mut largest, mut apart) = (0.0_f64, 0.0_f64);
    for (a, b) in right.iter().zip(found).map(|(a, b)| (number(a), number(b))) {
        assert!(a.is_finite() && b.is_finite(), "{}: no number", case.name);
        largest = largest.max(a.abs());
        apart = apart.max((a - b).abs());
    }
    assert!(largest > 0.0 && apart <= 1e-4 * largest, "{}: {apart} apart, of numbers up to {largest}", case.name);
    apart / largest
}

fn main() {
    if let Some(folder) = std::env::var_os("COMPUTE_BENCH_TEXTS") {
        return write_texts(Path::new(&folder));
    }
    let Some(mut bench) = Bench::open() else { return };
    println!("speed, of the hand-written kernel's; targets 0.97, 0.95, 0.85");
    println!("| | by hand | unchecked | checked | validated | | registers, differences |\n|---|---|---|---|---|---|---|");
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for case in cases().iter().filter(|case| named.is_empty() || named.iter().any(|name| case.name == name)) {
        bench.run(case);
    }
}
