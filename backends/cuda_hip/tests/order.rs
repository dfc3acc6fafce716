//! What goes wrong only in one order of events: over a driver that is held up, and fails, at exactly that place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, Driver, Grid, HostTarget, KernelId, Launch, OpenOptions, Position, Queue,
    Region, Waited,
};

const PATIENCE: Duration = Duration::from_secs(10);

/// A device without pools, whose calls are then those of its queues alone.
fn open(mock: &mock::Mock) -> Arc<dyn Device> {
    mock::POOLS.store(false, Ordering::Relaxed);
    mock.driver.open(0, &OpenOptions::default()).unwrap()
}

fn region(device: &dyn Device, size: u64) -> Region {
    Region { memory: device.allocate(size).unwrap(), offset: 0, size }
}

fn read(queue: &dyn Queue, at: Position, from: Region) -> Vec<u8> {
    let target = HostTarget::staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone()).unwrap();
    assert_eq!(queue.wait(at, Some(PATIENCE)).unwrap(), Waited::Done);
    // SAFETY: the read is over.
    unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec()
}

/// Two uniforms, whose first 16 bytes go to the output.
fn kernel(device: &dyn Device) -> KernelId {
    let source = "@group(0) @binding(0) var<uniform> a: vec4<u32>;
        @group(0) @binding(1) var<uniform> b: vec4<u32>;
        @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
        @compute @workgroup_size(1) fn main() { o[0] = a; o[1] = b; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request = CompileRequest { source, bounds: Bounds::Unchecked, cancellable: false, print_room: 0, label: "order" };
    device.compile(&request).unwrap()
}

#[test]
fn uniforms_of_a_launch_stay_when_memory_for_the_next_one_has_to_be_waited_for() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let queue = device.create_queue().unwrap();
    let (kernel, out) = (kernel(&*device), region(&*device, 64 * 32));
    // So that the memory that may be under way is used up between the two uniforms of a launch, rather than between two launches.
    queue.write(1, region(&*device, 512 << 10), &[0xEE; 512 << 10]).unwrap();
    for n in 0..64_u8 {
        let (a, b) = (vec![n; 600 << 10], vec![0x80 | n; 600 << 10]);
        let to = Region { offset: u64::from(n) * 32, size: 32, ..out };
        let bindings = [Binding::Inline(&a), Binding::Inline(&b), Binding::Buffer(to)];
        let launch = Launch { kernel, grid: Grid::Direct([1; 3]), bindings: &bindings, immediates: &[], time_limit: 0 };
        queue.launch(2 + u64::from(n), &launch).unwrap();
    }
    let expected: Vec<u8> = (0..64_u8).flat_map(|n| [[n; 16], [0x80 | n; 16]]).flatten().collect();
    assert_eq!(read(&*queue, 100, out), expected);
}
