//! Runs kernels on the cpu device the way the runtime does: through the device interface.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::Arc;
use std::time::Duration;

use compute_cpu::CpuDriver;
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, Grid, HostTarget, LateFailure, Launch, OpenOptions,
    Position, Queue, Region, Waited,
};
use compute_kernel::reflection::{Access, Bounds};
use compute_kernel::{Diagnostics, EntryPoint, Module, Source};

/// Bytes before and after each binding that no kernel may touch.
const GUARD: u64 = 256;
const GUARD_BYTE: u8 = 0xa5;
/// A kernel of these tests that runs longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Parses WGSL.
pub fn parse(source: &str) -> Result<Arc<Module>, Diagnostics> {
    Module::parse(&Source::wgsl(source))
}

/// A device and a queue on it.
pub struct Bench {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    at: Position,
}

/// What a launch left.
pub struct Ran {
    /// In the order of the reflection.
    pub bindings: Vec<Vec<u8>>,
    pub late: Vec<LateFailure>,
}

impl Bench {
    pub fn open(threads: u32) -> Result<Self, DeviceError> {
        let device = CpuDriver.open(0, &OpenOptions { threads, ..OpenOptions::default() })?;
        let queue = device.create_queue()?;
        Ok(Self { device, queue, at: 0 })
    }

    fn next(&mut self) -> Position {
        self.at += 1;
        self.at
    }

    /// Compiles and launches. `bindings` are in the order of the reflection; those that are not used may be of any size.
    pub fn run(
        &mut self,
        entry: &Arc<EntryPoint>,
        bounds: Bounds,
        grid: [u32; 3],
        bindings: &[Vec<u8>],
        immediates: &[u8],
    ) -> Result<Ran, String> {
        self.run_in(entry, bounds, grid, bindings, immediates).map_err(|e| e.to_string())?
    }

    fn run_in(
        &mut self,
        entry: &Arc<EntryPoint>,
        bounds: Bounds,
        grid: [u32; 3],
        bindings: &[Vec<u8>],
        immediates: &[u8],
    ) -> Result<Result<Ran, String>, DeviceError> {
        let request = CompileRequest {
            source: CompileSource::Portable(entry),
            bounds,
            cancellable: true,
            print_room: 0,
            strict: false,
            label: "generated",
        };
        let kernel = self.device.compile(&request)?;
        let mut regions = Vec::new();
        for bytes in bindings {
            let size = bytes.len() as u64 + 2 * GUARD;
            let memory = self.device.allocate(size)?;
            let at = self.next();
            self.queue.fill(at, Region { memory, offset: 0, size }, &[GUARD_BYTE])?;
            let region = Region { memory, offset: GUARD, size: bytes.len() as u64 };
            let at = self.next();
            self.queue.write(at, region, bytes)?;
            regions.push(region);
        }
        let used = entry.reflection().bindings.iter().map(|b| b.access != Access::Unused);
        let given: Vec<Binding<'_>> =
            regions.iter().zip(used).map(|(r, used)| if used { Binding::Buffer(*r) } else { Binding::Inline(&[]) }).collect();
        let time_limit = PATIENCE.as_nanos() as u64;
        let launch = Launch { kernel, grid: Grid::Direct(grid), bindings: &given, immediates, time_limit };
        let at = self.next();
        self.queue.launch(at, &launch)?;
        let mut results = Vec::new();
        for region in &regions {
            let mut all = vec![0; (region.size + 2 * GUARD) as usize];
            // SAFETY: the vector lives until the wait below is over, and nobody else touches it.
            let target = unsafe { HostTarget::new(all.as_mut_ptr(), all.len()) };
            let at = self.next();
            self.queue.read(at, Region { memory: region.memory, offset: 0, size: all.len() as u64 }, target)?;
            if self.queue.wait(at, None)? != Waited::Done {
                return Ok(Err("the wait ended early".into()));
            }
            results.push(all);
        }
        for region in regions {
            self.device.free(region.memory);
        }
        self.device.drop_kernel(kernel);
        let late = self.queue.take_late();
        let guard = GUARD as usize;
        let mut bindings = Vec::new();
        for (slot, all) in results.into_iter().enumerate() {
            let end = all.len() - guard;
            if all[..guard].iter().chain(&all[end..]).any(|&b| b != GUARD_BYTE) {
                return Ok(Err(format!("bytes around binding {slot} were written")));
            }
            bindings.push(all[guard..end].to_vec());
        }
        Ok(Ok(Ran { bindings, late }))
    }
}
