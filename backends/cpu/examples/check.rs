//! Tries sources of kernels: says of each file and entry point whether the cpu device takes it, how long that took, or what is wrong.
//!
//! `cargo run --release -p compute-cpu --example check -- [-I folder] files...`; included files are looked for beside the file that asks, then in the folders.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use compute_cpu::CpuDriver;
use compute_hal::{CompileRequest, CompileSource, Device, Driver, OpenOptions};
use compute_kernel::reflection::Bounds;
use compute_kernel::{IncludeRequest, Included, Module, Source};

/// Looks an included file up.
fn find(request: &IncludeRequest<'_>, folders: &[PathBuf]) -> Result<Included, String> {
    let beside = Path::new(request.from).parent().map(Path::to_path_buf);
    let mut tried = Vec::new();
    for folder in beside.iter().filter(|_| !request.angle).chain(folders) {
        let path = folder.join(request.path);
        match std::fs::read(&path) {
            Ok(text) => return Ok(Included { name: path.display().to_string(), text }),
            Err(why) => tried.push(format!("{}: {why}", path.display())),
        }
    }
    Err(format!("looked for it at {}", tried.join("; ")))
}

/// One file: a line per entry point. The first thing that is wrong ends it.
fn check(device: &dyn Device, path: &str, folders: &[PathBuf]) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|why| why.to_string())?;
    let include = |request: &IncludeRequest<'_>| find(request, folders);
    let source = Source { name: path, include: Some(&include), ..Source::new(&bytes) };
    let start = Instant::now();
    let module = Module::parse(&source).map_err(|wrong| wrong.to_string())?;
    let parsed = start.elapsed();
    let entries = module.entry_points();
    if entries.is_empty() {
        return Err("it has no compute entry point".into());
    }
    for name in entries {
        let start = Instant::now();
        let entry = module.entry_point(Some(name), &[]).map_err(|wrong| wrong.to_string())?;
        let request = CompileRequest {
            source: CompileSource::Portable(&entry),
            bounds: Bounds::Checked,
            cancellable: false,
            print_room: 0,
            strict: false,
            label: path,
        };
        let kernel = device.compile(&request).map_err(|wrong| format!("{wrong:?}"))?;
        let code = device.kernel_facts(kernel).code_size;
        device.drop_kernel(kernel);
        println!("ok      {path}: `{name}`, parsed in {parsed:.1?}, compiled in {:.1?}, {code} bytes", start.elapsed());
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut folders = Vec::new();
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-I" => folders.extend(arguments.next().map(PathBuf::from)),
            _ => files.push(argument),
        }
    }
    let device = match CpuDriver.open(0, &OpenOptions::default()) {
        Ok(device) => device,
        Err(why) => {
            eprintln!("the cpu device does not open: {why:?}");
            return ExitCode::FAILURE;
        }
    };
    let mut refused = 0;
    for file in &files {
        if let Err(wrong) = check(&*device, file, &folders) {
            refused += 1;
            println!("refused {file}\n{wrong}");
        }
    }
    println!("{} files, {refused} refused", files.len());
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
