//! What tests of queues begin with: a device without pools, memory, a kernel, and places where threads meet.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{
    CompileRequest, CompileSource, Device, Driver, HostTarget, KernelId, OpenOptions, Position, Queue, Region, Waited,
};
use parking_lot::{Condvar, Mutex};

use super::{Mock, POOLS};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A device without pools, whose calls are then those of its queues alone.
pub(crate) fn open(mock: &Mock) -> Arc<dyn Device> {
    POOLS.store(false, Ordering::Relaxed);
    mock.driver.open(0, &OpenOptions::default()).unwrap()
}

pub(crate) fn region(device: &dyn Device, size: u64) -> Region {
    Region { memory: device.allocate(size).unwrap(), offset: 0, size }
}

pub(crate) fn read(queue: &dyn Queue, at: Position, from: Region) -> Vec<u8> {
    let target = HostTarget::staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone()).unwrap();
    assert_eq!(queue.wait(at, Some(PATIENCE)).unwrap(), Waited::Done);
    // SAFETY: the read is over.
    unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec()
}

/// Two uniforms, whose first 16 bytes go to the output.
pub(crate) fn kernel(device: &dyn Device) -> KernelId {
    let source = "@group(0) @binding(0) var<uniform> a: vec4<u32>;
        @group(0) @binding(1) var<uniform> b: vec4<u32>;
        @group(0) @binding(2) var<storage, read_write> o: array<vec4<u32>, 2>;
        @compute @workgroup_size(1) fn main() { o[0] = a; o[1] = b; }";
    let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
    let source = CompileSource::Portable(&entry);
    let request =
        CompileRequest { source, bounds: Bounds::Unchecked, cancellable: false, print_room: 0, strict: false, label: "order" };
    device.compile(&request).unwrap()
}

/// Where threads of a test meet threads inside the driver.
#[derive(Default)]
pub(crate) struct Gate {
    reached: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.reached.lock() = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.reached.lock()
    }

    pub(crate) fn wait(&self) {
        let mut reached = self.reached.lock();
        while !*reached {
            assert!(!self.changed.wait_for(&mut reached, PATIENCE).timed_out(), "a thread does not come");
        }
    }
}

pub(crate) fn thread(name: &str) -> bool {
    std::thread::current().name() == Some(name)
}

pub(crate) fn on_thread<R: Send + 'static>(name: &str, body: impl FnOnce() -> R + Send + 'static) -> std::thread::JoinHandle<R> {
    std::thread::Builder::new().name(name.into()).spawn(body).unwrap()
}
