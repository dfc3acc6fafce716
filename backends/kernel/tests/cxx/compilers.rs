//! Whether real compilers take the texts. Nothing runs.

use std::process::Command;

use compute_kernel::cxx::{CUDA, HIP};
use compute_kernel::reflection::Bounds;

use super::tools::{Folder, for_each, is_there, run};
use super::*;

/// The architectures of AMD that kernels are compiled for: each kernel for one of them, another with each commit (`COMPUTE_SHARD`).
const ARCHITECTURES: [&str; 4] = ["gfx942", "gfx90a", "gfx1100", "gfx1201"];
/// The same of NVIDIA's.
const GENERATIONS: [&str; 3] = ["sm_90", "sm_80", "sm_120"];

fn shard() -> usize {
    std::env::var("COMPUTE_SHARD").ok().and_then(|shard| shard.parse().ok()).unwrap_or(0)
}

/// Every kernel there is, by name.
fn all() -> Vec<(String, String)> {
    let small = corpus::SMALL.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
    small.chain(corpus::generated()).collect()
}

#[test]
fn clang_takes_every_kernel_as_hip() {
    const CLANG: &str = "clang-19";
    if !is_there(CLANG) {
        println!("NOT TESTED: {CLANG} is not installed, so no text was compiled as HIP");
        return;
    }
    let folder = Folder::new();
    let mut jobs = Vec::new();
    let shard = shard();
    for (n, (name, source)) in all().into_iter().enumerate() {
        let entry = entry(&source);
        let architecture = ARCHITECTURES[(n + shard) % ARCHITECTURES.len()];
        for (bounds, checked, strict) in
            [(Bounds::Checked, true, false), (Bounds::Validate, true, false), (Bounds::Unchecked, false, false)]
        {
            // The other modes of a part of the kernels.
            if bounds == Bounds::Checked || n % 4 == 0 {
                let cancellable = n % 2 == 0;
                let indirect = n % 3 == 1;
                let text = translate(&entry, bounds, &Options { checked, strict, cancellable, indirect, ..options(&HIP) });
                jobs.push((format!("{name}-{bounds:?}"), architecture, text));
            }
        }
    }
    for_each(&jobs, |(name, architecture, text)| {
        let file = folder.file(&format!("{name}.hip"), &text.source);
        let mut command = Command::new(CLANG);
        command.args(["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w", "-O1", "-emit-llvm", "-c"]);
        command
            .arg(format!("--offload-arch={architecture}"))
            .args(&text.options)
            .arg(&file)
            .arg("-o")
            .arg(folder.path(&format!("{name}.bc")));
        if let Err(error) = run(&mut command, &[]) {
            panic!("{name} for {architecture}: {error}\n{}", text.source.split("// The kernel.").last().unwrap_or_default());
        }
    });
    println!("{} texts compiled as HIP (COMPUTE_SHARD={shard})", jobs.len());
}

/// A number of the metadata that stands beside a kernel's code: what the loader and the packets of a launch are made from.
fn metadata(assembly: &str, key: &str) -> u64 {
    let lines = assembly.lines().skip_while(|line| !line.contains(".amdgpu_metadata"));
    let mut found = lines.filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix(key)?.strip_prefix(':'));
    found.next().unwrap_or_else(|| panic!("no {key}")).trim().parse().unwrap()
}

#[test]
fn amds_code_asks_for_what_a_launch_passes() {
    const CLANG: &str = "clang-19";
    if !is_there(CLANG) {
        println!("NOT TESTED: {CLANG} is not installed, so no metadata of HIP code was looked at");
        return;
    }
    let folder = Folder::new();
    let jobs: Vec<_> = corpus::SMALL.iter().enumerate().flat_map(|(n, small)| [(n, small), (n + 2, small)]).collect();
    for_each(&jobs, |(n, (name, source))| {
        let architecture = ARCHITECTURES[n % ARCHITECTURES.len()];
        let entry = entry(source);
        let text = translate(&entry, Bounds::Validate, &options(&HIP));
        let file = folder.file(&format!("{name}-{architecture}.hip"), &text.source);
        let mut command = Command::new(CLANG);
        command.args(["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-w", "-O1", "-S"]);
        // Or arrays of an invocation are put into workgroup memory where there is room, which adds to it.
        command.args(["-mllvm", "-disable-promote-alloca-to-lds"]);
        command.arg(format!("--offload-arch={architecture}")).args(&text.options).arg(&file).arg("-o").arg("-");
        let assembly = String::from_utf8(run(&mut command, &[]).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap();
        let told = |key: &str| metadata(&assembly, key);
        let place = format!("{name} for {architecture}");
        // The first argument is the structure; others are hidden ones, which the loader adds.
        assert_eq!((told(".offset"), told(".size")), (0, u64::from(text.parameters.size)), "{place}: the parameters");
        assert!(told(".kernarg_segment_size") >= u64::from(text.parameters.size), "{place}");
        assert_eq!(told(".max_flat_workgroup_size"), entry.reflection().invocations(), "{place}: the workgroup");
        assert_eq!(told(".wavefront_size"), if architecture.starts_with("gfx9") { 64 } else { 32 }, "{place}");
        // Each variable begins at a multiple of 16; those that no code needs are not there.
        let (needs, declared) = (told(".group_segment_fixed_size"), entry.reflection().workgroup_memory);
        assert!(needs == 0 || needs >= declared, "{place}: {needs} bytes of workgroup memory for {declared}");
        assert!(needs <= declared.next_multiple_of(16) + 64, "{place}: {needs} bytes of workgroup memory for {declared}");
    });
    println!("the metadata of {} codes looked at", jobs.len());
}

#[test]
fn nvrtc_takes_every_kernel_as_cuda() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/nvrtc.py");
    let wheel =
        std::env::var("COMPUTE_NVRTC").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/nvrtc").to_owned());
    if !std::path::Path::new(&wheel).is_dir() || !is_there("python3") {
        println!("NOT TESTED: no NVRTC in {wheel}, so no text was compiled as CUDA (scripts/nvrtc.py fetch {wheel})");
        return;
    }
    let folder = Folder::new();
    let mut list = String::new();
    let shard = shard();
    for (n, (name, source)) in all().into_iter().enumerate() {
        let entry = entry(&source);
        let architecture = GENERATIONS[(n + shard) % GENERATIONS.len()];
        for (bounds, checked) in [(Bounds::Checked, true), (Bounds::Validate, true), (Bounds::Unchecked, false)] {
            if bounds == Bounds::Checked || n % 4 == 0 {
                let cancellable = n % 2 == 0;
                let indirect = n % 3 == 1;
                let text = translate(&entry, bounds, &Options { checked, cancellable, indirect, ..options(&CUDA) });
                let file = folder.file(&format!("{name}-{bounds:?}.cu"), &text.source);
                list.push_str(&format!("{}\t{architecture}\t{}\n", file.display(), text.options.join("\t")));
            }
        }
    }
    let count = list.lines().count();
    if let Err(error) = run(Command::new("python3").args([script, "compile", &wheel]), list.as_bytes()) {
        panic!("{error}");
    }
    println!("{count} texts compiled as CUDA (COMPUTE_SHARD={shard})");
}
