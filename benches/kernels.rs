//! What compiling kernels costs, by stage and by length of the source, and how fast the compiled code is on the cpu device: `cargo bench --bench kernels`; with
//! `-- disk` only what the cache on disk saves (L7).
//!
//! Speed is processor time of the whole process over the work, so neighbours do not count and threads do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compute::registry;
use compute::runtime::{
    self, Binding, Buffer, BufferOptions, Compile, Device, DeviceOptions, Grid, Input, Kernel, KernelOptions, Launch, Mode,
    Place, Stream,
};
use compute_hal::{CompileRequest, CompileSource, OpenOptions};
use compute_kernel::reflection::Bounds;
use compute_kernel::{Language, Module, Source};

/// A kernel with the sizes of its bindings in bytes, the last one the output, its grid, and how many units of work that is.
struct Case {
    name: &'static str,
    source: &'static str,
    parameters: &'static [u32],
    sizes: &'static [u64],
    grid: [u32; 3],
    work: f64,
    unit: &'static str,
}

const ITEMS: u64 = 1 << 24;
const SIDE: u64 = 512;

const CASES: [Case; 5] = [
    Case {
        name: "saxpy",
        source: include_str!("kernels/saxpy.wgsl"),
        parameters: &[0x3fc0_0000, 1 << 24],
        sizes: &[8, ITEMS * 4, ITEMS * 4],
        grid: [256, 256, 1],
        work: ITEMS as f64,
        unit: "element",
    },
    Case {
        name: "mandelbrot",
        source: include_str!("kernels/mandelbrot.wgsl"),
        parameters: &[1024, 256],
        sizes: &[8, 1024 * 1024 * 4],
        grid: [64, 64, 1],
        work: 1024.0 * 1024.0,
        unit: "pixel",
    },
    Case {
        name: "matmul",
        source: include_str!("kernels/matmul.wgsl"),
        parameters: &[512],
        sizes: &[4, SIDE * SIDE * 4, SIDE * SIDE * 4, SIDE * SIDE * 4],
        grid: [32, 32, 1],
        work: (SIDE * SIDE * SIDE) as f64,
        unit: "step",
    },
    Case {
        name: "reduce",
        source: include_str!("kernels/reduce.wgsl"),
        parameters: &[],
        sizes: &[ITEMS * 4, ITEMS / 256 * 4],
        grid: [256, 256, 1],
        work: ITEMS as f64,
        unit: "element",
    },
    Case {
        name: "sigmoid",
        source: include_str!("kernels/sigmoid.wgsl"),
        parameters: &[],
        sizes: &[ITEMS * 4, ITEMS * 4],
        grid: [256, 256, 1],
        work: ITEMS as f64,
        unit: "element",
    },
];

/// Processor time of the process.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(rounds: usize, mut each: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<_> = (0..rounds).map(|_| each()).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

fn took(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now() - start
}

fn options(source: &str, bounds: Bounds) -> KernelOptions {
    KernelOptions {
        language: Some(Language::Wgsl),
        source: source.into(),
        native: None,
        entry: None,
        label: String::new(),
        constants: Vec::new(),
        bounds,
        compile: Compile::Now,
        print_size: 0,
        strict: false,
        time_limit: 0,
    }
}

/// The time of each stage for a source: front end, resolution and analysis of the entry point, machine code.
fn stages(source: &str) -> [Duration; 3] {
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let module = Module::parse(&Source::wgsl(source)).unwrap();
    let entry = module.entry_point(None, &[]).unwrap();
    let parse = || took(|| drop(black_box(Module::parse(&Source::wgsl(source)).unwrap())));
    let resolve = || took(|| drop(black_box(module.entry_point(None, &[]).unwrap())));
    let generate = || {
        let request = CompileRequest {
            source: CompileSource::Portable(&entry),
            bounds: Bounds::Checked,
            cancellable: false,
            print_room: 0,
            strict: false,
            label: "",
        };
        let mut made = None;
        let time = took(|| made = Some(native.compile(&request).unwrap()));
        native.drop_kernel(made.unwrap());
        time
    };
    [median(15, parse), median(15, resolve), median(15, generate)]
}

/// A kernel of about so many lines, of the kind that people write: functions with a loop, a branch and arithmetic, each used once.
fn long_source(lines: usize) -> String {
    let mut source = String::from("@group(0) @binding(0) var<storage, read_write> values: array<f32>;\n");
    let functions = lines / 10;
    for number in 0..functions {
        let _ = writeln!(
            source,
            "fn step{number}(x: f32, n: u32) -> f32 {{\n    var sum = x * {number}.5;\n    for (var i = 0u; i < n; i++) {{\n        let t = sum * sum + f32(i);\n        \
             if t > 4.0 {{\n            sum = sqrt(t) - values[i];\n        }}\n    }}\n    return sum;\n}}"
        );
    }
    source +=
        "@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {\n    var x = values[id.x];\n";
    for number in 0..functions {
        let _ = writeln!(source, "    x = step{number}(x, id.x & 15u);");
    }
    source + "    values[id.x] = x;\n}\n"
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn compilation() {
    println!("compile, ms of processor time (medians of 15): front end, entry point, machine code, in all");
    for case in &CASES {
        let stages = stages(case.source);
        let [parse, resolve, generate] = stages.map(milliseconds);
        println!("{:12} {parse:.3} {resolve:.3} {generate:.3} {:.3}", case.name, milliseconds(stages.iter().sum()));
    }
    for lines in [100, 1000, 4000] {
        let source = long_source(lines);
        let count = source.lines().count();
        let stages = stages(&source);
        let [parse, resolve, generate] = stages.map(milliseconds);
        let all = milliseconds(stages.iter().sum());
        println!(
            "{count:5} lines  {parse:.2} {resolve:.2} {generate:.2} {all:.2}, {:.2} per 1,000 lines",
            all * 1000.0 / count as f64
        );
    }
    let count = 200;
    let sources: Vec<_> = (0..count).map(|i| CASES[2].source.replace("sum = 0.0", &format!("sum = {i}.0"))).collect();
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let device = Device::new(native, &DeviceOptions::default()).unwrap();
    for (how, compile) in [("one after the other", Compile::Now), ("in the background", Compile::InBackground)] {
        let start = Instant::now();
        let kernels: Vec<_> = sources
            .iter()
            .map(|source| Kernel::new(&device, &KernelOptions { compile, ..options(source, Bounds::Checked) }).unwrap())
            .collect();
        let made = start.elapsed();
        for kernel in &kernels {
            kernel.wait(None).unwrap();
        }
        println!(
            "{count} kernels {how}: {:.1} ms until all are made, {:.1} until all are compiled",
            milliseconds(made),
            milliseconds(start.elapsed())
        );
        drop(kernels);
        // So that the other way does not find them compiled.
        for number in 0..64 {
            let other = CASES[2].source.replace("sum = 0.0", &format!("sum = {number}.5"));
            drop(Kernel::new(&device, &options(&other, Bounds::Checked)).unwrap());
        }
    }
}

/// What it takes to compile a kernel for the device, and to restore it from bytes; the bytes.
fn kept(backend: &str, source: &str) -> Option<(Duration, Duration, usize)> {
    let options = OpenOptions { artifacts: true, ..OpenOptions::default() };
    let (native, _) = registry::open(Some(backend), 0, &options)?.ok()?;
    native.artifact_identity()?;
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request = CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "" };
    let mut artifact = Vec::new();
    let compile = median(15, || {
        let mut made = None;
        let time = took(|| made = Some(native.compile(&request).unwrap()));
        artifact = native.artifact(made.unwrap()).unwrap();
        native.drop_kernel(made.unwrap());
        time
    });
    let restore = median(15, || {
        let mut made = None;
        let time = took(|| made = Some(native.restore(&request, &artifact).unwrap()));
        native.drop_kernel(made.unwrap());
        time
    });
    Some((compile, restore, artifact.len()))
}

/// Kernels made by a new device, with nothing in the folder and then with all of them.
fn cold_and_warm(backend: &str, sources: &[String]) -> Option<[Duration; 3]> {
    let folder = std::env::temp_dir().join(format!("libcompute-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    // SAFETY: it has no conditions.
    let user = unsafe { libc::geteuid() };
    let process = runtime::Process { user, largest_file: || u64::MAX, has_list: |_| false, lists_exceed_modes: false };
    let disk = runtime::DiskOptions { folder: folder.clone(), limit: 0, process };
    let make = |disk: Option<runtime::DiskOptions>| {
        let open = OpenOptions { artifacts: disk.is_some(), ..OpenOptions::default() };
        let (native, _) = registry::open(Some(backend), 0, &open)?.ok()?;
        let device = Device::new(native, &DeviceOptions { disk, open, ..DeviceOptions::default() }).unwrap();
        let start = Instant::now();
        let kernels: Vec<_> =
            sources.iter().map(|source| Kernel::new(&device, &options(source, Bounds::Checked)).unwrap()).collect();
        let time = start.elapsed();
        drop(kernels);
        Some(time)
    };
    let times = [make(None), make(Some(disk.clone())), make(Some(disk))];
    std::fs::remove_dir_all(folder).unwrap();
    let [without, cold, warm] = times;
    Some([without?, cold?, warm?])
}

fn disk() {
    println!("from disk, ms: compiled, restored, their ratio, bytes (processor time, medians of 15)");
    for backend in ["cpu", "wgpu"] {
        let long = [100, 1000, 4000].map(long_source);
        let named = CASES.iter().map(|case| (case.name.to_owned(), case.source));
        for (name, source) in
            named.chain(long.iter().map(|source| (format!("{} lines", source.lines().count()), source.as_str())))
        {
            let Some((compile, restore, size)) = kept(backend, source) else { continue };
            let [compile, restore] = [compile, restore].map(milliseconds);
            println!("{backend:5} {name:12} {compile:.3} {restore:.3} {:.1} {size}", compile / restore);
        }
        let sources: Vec<_> = (0..200).map(|i| CASES[2].source.replace("sum = 0.0", &format!("sum = {i}.0"))).collect();
        if let Some(times) = cold_and_warm(backend, &sources) {
            let [without, cold, warm] = times.map(milliseconds);
            println!(
                "{backend:5} 200 kernels, ms on the clock: {without:.0} without a folder, {cold:.0} into an empty one, {warm:.0} from it"
            );
        }
    }
}

/// A software Vulkan driver, to compare with; processor time counts for both.
fn lavapipe() -> Option<u32> {
    let found: Vec<_> = registry::probe(Some("wgpu")).into_iter().flat_map(|found| found.probe.devices).collect();
    let index = found.iter().position(|device| device.kind == compute_hal::DeviceKind::Cpu)?;
    println!("beside {} ({})", found[index].name, found[index].driver);
    u32::try_from(index).ok()
}

fn speed(case: &Case, bounds: Bounds, (backend, index): (&str, u32)) -> f64 {
    let (native, _) = registry::open(Some(backend), index, &Default::default()).unwrap().unwrap();
    let device = Device::new(native, &DeviceOptions::default()).unwrap();
    let stream = Stream::new(&device, "").unwrap();
    let kernel = Kernel::new(&device, &options(case.source, bounds)).unwrap();
    let buffers: Vec<Arc<Buffer>> =
        case.sizes.iter().map(|&size| Buffer::new(&device, &BufferOptions { size, ..Default::default() }).unwrap()).collect();
    for (slot, buffer) in buffers.iter().enumerate() {
        let place = Place::View { buffer, offset: 0, size: u64::MAX };
        if slot == 0 && !case.parameters.is_empty() {
            let bytes: Vec<u8> = case.parameters.iter().flat_map(|word| word.to_ne_bytes()).collect();
            runtime::write(Some(&stream), place, runtime::Source::Copied(&bytes)).unwrap();
        } else {
            // 0.25 everywhere.
            runtime::fill(Some(&stream), place, &0x3e80_0000_u32.to_ne_bytes()).unwrap();
        }
    }
    let bindings: Vec<Binding<'_>> = buffers
        .iter()
        .zip(0..)
        .map(|(buffer, slot)| Binding {
            group: 0,
            slot,
            given: Input::Place(Place::View { buffer, offset: 0, size: u64::MAX }),
            write_all: false,
        })
        .collect();
    let launch = Launch {
        kernel: Some(&kernel),
        grid: Grid::Direct(case.grid),
        bindings: &bindings,
        immediates: &[],
        label: "",
        mode: Mode::Execute,
    };
    let run = || {
        took(|| {
            runtime::launch(Some(&stream), &launch).unwrap();
            stream.sync(&[], None).unwrap();
        })
    };
    run();
    median(9, run).as_nanos() as f64 / case.work
}

fn main() {
    if std::env::args().any(|argument| argument == "disk") {
        return disk();
    }
    compilation();
    disk();
    println!(
        "speed on the cpu device, ns of processor time per unit of work (medians of 9): checked, unchecked, validate, and a software Vulkan driver's to checked"
    );
    let lavapipe = lavapipe();
    for case in &CASES {
        let [checked, unchecked, validate] =
            [Bounds::Checked, Bounds::Unchecked, Bounds::Validate].map(|bounds| speed(case, bounds, ("cpu", 0)));
        let other = lavapipe.map_or(f64::NAN, |index| speed(case, Bounds::Checked, ("wgpu", index)));
        println!("{:12} {checked:.3} {unchecked:.3} {validate:.3} {:.2} per {}", case.name, other / checked, case.unit);
    }
}
