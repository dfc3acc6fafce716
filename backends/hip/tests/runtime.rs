//! `backends/hip` over AMD's own HIP runtime and compiler (5.2, from `scripts/hip_packages`), with nothing below them that is a GPU (`fake_hsa/`): what AMD's runtime makes of
//! the calls. Kernels are dispatched and not executed. In a child process, where the loader finds these libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]
#![allow(dead_code, reason = "a part of `common` is used")]

#[path = "../../hip-sys/tests/common/child.rs"]
mod child;
mod common;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::time::Duration;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver as _, Grid, HostTarget, Launch, OpenOptions, Position, Queue, Region,
    Waited,
};
use libloading::Library;

/// Whether this process is the child that has AMD's runtime over the fake.
fn is_child(test: &str) -> bool {
    if std::env::var_os(child::CHILD).is_some() {
        return true;
    }
    let Some(packages) = child::packages() else { return false };
    let include = packages.join("usr/include");
    if !include.join("hsa").is_dir() {
        println!("NOT TESTED: AMD's headers of HSA are not in {} (scripts/hip_packages makes it anew)", packages.display());
        return false;
    }
    let fake = common::built("fake_hsa", "libhsa-runtime64.so.1", &[&include]);
    let folders = [fake.parent().unwrap().to_owned(), packages.join(child::LIBRARIES)];
    child::run(test, &std::env::join_paths(folders).unwrap());
    false
}

/// A dispatch as it stands in the packet, with the first words of its arguments.
#[derive(Debug, Default)]
struct Dispatch {
    kernel: String,
    grid: [u32; 3],
    workgroup: [u32; 3],
    memory: u32,
    arguments: [u64; 3],
}

type Ask = unsafe extern "C" fn(c_uint, *mut u32, *mut u32, *mut u32, *mut u64, *mut *const c_void) -> c_int;
type Name = unsafe extern "C" fn(u64) -> *const c_char;

fn dispatches() -> Vec<Dispatch> {
    // SAFETY: it is the library that was built here, which is loaded already; its functions have these types.
    unsafe {
        let library = Library::new("libhsa-runtime64.so.1").unwrap();
        let (ask, name) =
            (library.get::<Ask>(b"fake_hsa_dispatch\0").unwrap(), library.get::<Name>(b"fake_hsa_kernel\0").unwrap());
        let mut all = Vec::new();
        loop {
            let (mut one, mut kernel, mut arguments) = (Dispatch::default(), 0, std::ptr::null());
            let (grid, workgroup) = (one.grid.as_mut_ptr(), one.workgroup.as_mut_ptr());
            if ask(all.len() as c_uint, grid, workgroup, &mut one.memory, &mut kernel, &mut arguments) == 0 {
                return all;
            }
            let found = name(kernel);
            if !found.is_null() {
                one.kernel = CStr::from_ptr(found).to_string_lossy().into_owned();
            }
            one.arguments = arguments.cast::<[u64; 3]>().read_unaligned();
            all.push(one);
        }
    }
}

fn finish(queue: &Arc<dyn Queue>, at: Position) {
    assert_eq!(queue.wait(at, Some(Duration::from_secs(30))).unwrap(), Waited::Done, "position {at}");
}

fn read(device: &dyn Device, queue: &Arc<dyn Queue>, at: Position, from: Region) -> Vec<u8> {
    let target: HostTarget = device.allocate_staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone()).unwrap();
    finish(queue, at);
    // SAFETY: the read is over, and it has so many bytes.
    unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec()
}

const KERNEL: &str = "@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
var<workgroup> w: array<u32, 64>;
@compute @workgroup_size(8, 4, 2) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    w[l] = a[id.x];
    workgroupBarrier();
    o[id.x] = w[63u - l];
}";

#[test]
fn amds_runtime_takes_the_calls_and_makes_the_packet_that_a_launch_means() {
    if !is_child("amds_runtime_takes_the_calls_and_makes_the_packet_that_a_launch_means") {
        return;
    }
    let probe = compute_hip::DRIVER.probe();
    assert_eq!(probe.devices.len(), 1, "{:?}", probe.tried);
    assert_eq!((probe.devices[0].target.as_str(), probe.devices[0].subgroup_sizes), ("gfx90a:sramecc+:xnack-", [64, 64]));
    let device = compute_hip::DRIVER.open(0, &OpenOptions::default()).unwrap();
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let block = |words: u64| Region { memory: device.allocate(words * 4).unwrap(), offset: 0, size: words * 4 };
    let (a, o) = (block(1000), block(500));
    // What the host writes on one queue, it reads on another.
    let bytes: Vec<u8> = (0..1000_u32).flat_map(|n| (n * 77).to_le_bytes()).collect();
    first.write(1, a, &bytes).unwrap();
    second.wait_for(first.id(), 1).unwrap();
    assert_eq!(read(&*device, &second, 1, a), bytes);

    let entry = Module::parse(&Source::wgsl(KERNEL)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request =
        CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "packet" };
    let kernel = device.compile(&request).unwrap();
    let (part, bindings) = (Region { offset: 256, size: 400, ..o }, |part| [Binding::Buffer(a), Binding::Buffer(part)]);
    let launch = Launch { kernel, grid: Grid::Direct([5, 3, 2]), bindings: &bindings(part), immediates: &[], time_limit: 0 };
    first.launch(2, &launch).unwrap();
    finish(&first, 2);
    let all = dispatches();
    let found: Vec<&Dispatch> = all.iter().filter(|one| one.workgroup == [8, 4, 2]).collect();
    let [packet] = *found else { panic!("{all:?}") };
    assert!(packet.kernel.contains("main"), "{packet:?}");
    assert_eq!(packet.grid, [40, 12, 4], "AMD counts invocations");
    assert!(packet.memory >= 256, "workgroup memory: {packet:?}");
    // Addresses, then the numbers of elements.
    let address = |of: Region| device.export(of.memory).unwrap() + of.offset;
    assert_eq!(packet.arguments, [address(a), address(part), 1000 | 100 << 32]);
}
