//! Tests of the device as a whole, with kernels made of closures where the code generator is not the point.

mod basics;
mod kernels;
mod stress;

use std::sync::Arc;
use std::time::Duration;

use compute_hal::kernel::lower::Reports;
use compute_hal::kernel::reflection::{Access, BindingInfo, BindingKind, Reflection};
use compute_hal::{
    Binding, Device, DeviceError, Grid, HostTarget, KernelId, Launch, MemoryId, OpenOptions, Position, Queue, Region, Waited,
};

use crate::codegen::Context;
use crate::device::CpuDevice;
use crate::driver;
use crate::kernel::{Code, Kernel};

type RunGroup = Box<dyn Fn(&Context, [u32; 3]) + Send + Sync>;

/// A kernel made of a closure that runs one workgroup.
pub(crate) struct TestCode {
    pub(crate) run: RunGroup,
    pub(crate) cost: Option<u64>,
    pub(crate) scratch: usize,
    pub(crate) frame: u32,
    pub(crate) reports: Arc<Reports>,
}

fn open(threads: u32) -> CpuDevice {
    driver::open(0, &OpenOptions { threads, ..OpenOptions::default() }).unwrap()
}

fn region(memory: MemoryId, offset: u64, size: u64) -> Region {
    Region { memory, offset, size }
}

/// Options of a test kernel with `bindings` storage bindings.
struct Spec {
    bindings: usize,
    cost: Option<u64>,
    scratch: usize,
    frame: u32,
    immediates: u32,
    cancellable: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Self { bindings: 1, cost: None, scratch: 0, frame: 0, immediates: 0, cancellable: false }
    }
}

fn kernel(device: &CpuDevice, spec: &Spec, run: impl Fn(&Context, [u32; 3]) + Send + Sync + 'static) -> KernelId {
    let binding = |slot| BindingInfo {
        group: 0,
        slot,
        name: format!("binding{slot}"),
        kind: BindingKind::Storage,
        access: Access::ReadWrite,
        min_size: 4,
        alignment: 4,
        tail_stride: 4,
        tail_offset: 0,
    };
    let reflection = Reflection {
        entry: "test".into(),
        workgroup_size: [1, 1, 1],
        bindings: (0..spec.bindings as u32).map(binding).collect(),
        immediate_size: spec.immediates,
        workgroup_memory: 0,
        overrides: Vec::new(),
    };
    let code =
        TestCode { run: Box::new(run), cost: spec.cost, scratch: spec.scratch, frame: spec.frame, reports: Arc::default() };
    let scratches = &device.shared.scratches;
    let kernel = Kernel::new(Code::Test(code), reflection, spec.cancellable, scratches).unwrap();
    device.add_kernel(kernel).unwrap()
}

/// Adds one to word `word` of binding 0, atomically.
fn increment(context: &Context, word: usize) {
    // SAFETY: test kernels are launched with a first binding that large and aligned.
    unsafe {
        let range = *context.bindings;
        assert!(range.size >= (word as u64 + 1) * 4);
        std::sync::atomic::AtomicU32::from_ptr(range.pointer.cast::<u32>().add(word))
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn launch(queue: &dyn Queue, at: Position, kernel: KernelId, grid: [u32; 3], view: Region) -> Result<(), DeviceError> {
    launch_with(queue, at, kernel, Grid::Direct(grid), view, 0)
}

fn launch_with(
    queue: &dyn Queue,
    at: Position,
    kernel: KernelId,
    grid: Grid,
    view: Region,
    time_limit: u64,
) -> Result<(), DeviceError> {
    let bindings = [Binding::Buffer(view)];
    queue.launch(at, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit })
}

fn read(queue: &dyn Queue, at: Position, view: Region) -> Vec<u8> {
    let mut bytes = vec![0xEE; view.size as usize];
    // SAFETY: the vector lives until the wait below is over, and nobody else touches it.
    let target = unsafe { HostTarget::new(bytes.as_mut_ptr(), bytes.len()) };
    queue.read(at, view, target).unwrap();
    assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
    bytes
}

fn word(queue: &dyn Queue, at: Position, memory: MemoryId, index: u64) -> u32 {
    u32::from_le_bytes(read(queue, at, region(memory, index * 4, 4)).try_into().unwrap())
}

/// A block of `size` zero bytes, written as position 1 of `queue`.
fn zeroed(device: &CpuDevice, queue: &dyn Queue, size: u64) -> MemoryId {
    let memory = device.allocate(size).unwrap();
    queue.fill(1, region(memory, 0, size), &[0]).unwrap();
    memory
}

/// A kernel that blocks until the sender is dropped, and a second to be sure that it started.
struct Gate {
    open: std::sync::mpsc::Sender<()>,
    kernel: KernelId,
    started: Arc<std::sync::atomic::AtomicUsize>,
}

impl Gate {
    fn new(device: &CpuDevice) -> Self {
        let (open, closed) = std::sync::mpsc::channel::<()>();
        let closed = parking_lot::Mutex::new(closed);
        let started = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let start = Arc::clone(&started);
        let kernel = kernel(device, &Spec { bindings: 0, ..Spec::default() }, move |_, _| {
            start.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let _ = closed.lock().recv();
        });
        Self { open, kernel, started }
    }

    fn close(&self, queue: &dyn Queue, at: Position) {
        let launch = Launch { kernel: self.kernel, grid: Grid::Direct([1, 1, 1]), bindings: &[], immediates: &[], time_limit: 0 };
        queue.launch(at, &launch).unwrap();
    }

    fn await_start(&self) {
        while self.started.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn open(self) {
        drop(self.open);
    }
}
