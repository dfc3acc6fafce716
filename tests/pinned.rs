//! Staging on a device that has pinned memory (M7), which the cpu device has not: a cpu device whose staging memory is counted, as a driver counts what it pins.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::*;
use compute::registry;
use compute::runtime::{self, Budget, Device, DeviceOptions, Readback, Stream, code};
use compute_hal::{
    self as hal, Capabilities, CompileRequest, DeviceError, FaultCause, HostTarget, KernelFacts, KernelId, Limits, MemoryId,
    Properties, Queue,
};

const MIB: u64 = 1 << 20;

/// What the driver knows of pinned memory.
struct Pinned {
    bytes: AtomicU64,
    most: AtomicU64,
    made: AtomicU64,
    /// The most bytes that it pins.
    limit: AtomicU64,
    /// How often it was to give back what it keeps.
    trimmed: AtomicU64,
}

struct PinningDevice {
    inner: Arc<dyn hal::Device>,
    pinned: Arc<Pinned>,
}

/// A piece of pinned memory. Unpinned when dropped.
struct Piece {
    _memory: Box<[u64]>,
    size: u64,
    pinned: Arc<Pinned>,
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.pinned.bytes.fetch_sub(self.size, Ordering::SeqCst);
    }
}

impl hal::Device for PinningDevice {
    fn allocate_staging(&self, size: usize) -> Result<HostTarget, DeviceError> {
        if now(&self.pinned) + size as u64 > self.pinned.limit.load(Ordering::SeqCst) {
            return Err(DeviceError::OutOfMemory { asked: size as u64, free: 0 });
        }
        let mut memory = vec![u64::MAX; size.div_ceil(8)].into_boxed_slice();
        let (pointer, size) = (memory.as_mut_ptr().cast::<u8>(), size as u64);
        self.pinned.made.fetch_add(1, Ordering::SeqCst);
        let now = self.pinned.bytes.fetch_add(size, Ordering::SeqCst) + size;
        self.pinned.most.fetch_max(now, Ordering::SeqCst);
        let piece = Piece { _memory: memory, size, pinned: Arc::clone(&self.pinned) };
        // SAFETY: the memory is the piece's, at this address until it is dropped, and nobody else writes there.
        Ok(unsafe { HostTarget::owned(pointer, size as usize, Box::new(piece)) })
    }
    fn properties(&self) -> &Properties {
        self.inner.properties()
    }
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }
    fn allocate(&self, size: u64) -> Result<MemoryId, DeviceError> {
        self.inner.allocate(size)
    }
    fn free(&self, memory: MemoryId) {
        self.inner.free(memory);
    }
    fn compile(&self, request: &CompileRequest<'_>) -> Result<KernelId, DeviceError> {
        self.inner.compile(request)
    }
    fn drop_kernel(&self, kernel: KernelId) {
        self.inner.drop_kernel(kernel);
    }
    fn kernel_facts(&self, kernel: KernelId) -> KernelFacts {
        self.inner.kernel_facts(kernel)
    }
    fn create_queue(&self) -> Result<Arc<dyn Queue>, DeviceError> {
        self.inner.create_queue()
    }
    fn fault(&self) -> Option<FaultCause> {
        self.inner.fault()
    }
    fn trim(&self) {
        self.pinned.trimmed.fetch_add(1, Ordering::SeqCst);
        self.inner.trim();
    }
}

fn pinning() -> (Arc<Device>, Arc<Stream>, Arc<Pinned>) {
    let (inner, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let [bytes, most, made, limit, trimmed] = [0, 0, 0, u64::MAX, 0].map(AtomicU64::new);
    let pinned = Arc::new(Pinned { bytes, most, made, limit, trimmed });
    let device = Device::new(Arc::new(PinningDevice { inner, pinned: Arc::clone(&pinned) }), &DeviceOptions::default()).unwrap();
    let stream = Stream::new(&device, "reader").unwrap();
    (device, stream, pinned)
}

fn promise(device: &Arc<Device>, stream: &Arc<Stream>, size: u64) -> Arc<Readback> {
    let source = buffer(device, size, "source");
    runtime::fill(Some(stream), whole(&source), &[7]).unwrap();
    Readback::new(Some(stream), whole(&source), None).unwrap()
}

fn now(pinned: &Pinned) -> u64 {
    pinned.bytes.load(Ordering::SeqCst)
}

#[test]
fn m7_pinned_memory_is_pinned_once_and_serves_one_readback_after_the_other() {
    let (device, stream, pinned) = pinning();
    for size in [1, 4096, 5000, 8192, 5000, 1] {
        for _ in 0..20 {
            let readback = promise(&device, &stream, size);
            assert_eq!(readback.get().unwrap().size() as u64, size);
        }
    }
    assert_eq!(pinned.made.load(Ordering::SeqCst), 2, "a piece of 4 and one of 8 KiB");
    assert_eq!((now(&pinned), device.usage().bytes_staging), (12288, 12288));
    device.cleanup().unwrap();
    assert_eq!((now(&pinned), device.usage().bytes_staging), (0, 0));
}

#[test]
fn m1_a_cleanup_has_the_device_give_back_what_it_keeps_for_itself() {
    let (device, stream, pinned) = pinning();
    drop(buffer(&device, MIB, "gone"));
    assert_eq!(pinned.trimmed.load(Ordering::SeqCst), 0);
    device.cleanup().unwrap();
    assert_eq!(pinned.trimmed.load(Ordering::SeqCst), 1);
    drop(stream);
}

#[test]
fn m7_what_is_kept_pinned_is_bounded_in_bytes_and_pieces() {
    let (device, stream, pinned) = pinning();
    for (count, size) in [(40, MIB), (200, 4096), (3, 40 * MIB)] {
        let all: Vec<_> = (0..count).map(|_| promise(&device, &stream, size)).collect();
        all.iter().for_each(|one| drop(one.get().unwrap()));
        assert!(now(&pinned) >= count * size, "all of them are read");
        drop(all);
        // One piece of a large read beside those of small ones.
        assert!(now(&pinned) <= 80 * MIB, "{} bytes stay pinned", now(&pinned));
        assert_eq!(device.usage().bytes_staging, now(&pinned));
    }
    device.cleanup().unwrap();
    assert_eq!(now(&pinned), 0);
}

#[test]
fn m6_pinned_memory_is_charged_while_it_is_lent_and_a_budget_bounds_it() {
    let (device, stream, pinned) = pinning();
    let all: Vec<_> = (0..4).map(|_| promise(&device, &stream, MIB)).collect();
    let budget = Arc::new(Budget::new(3 * MIB));
    stream.set_budget(Some(Arc::clone(&budget)));
    for (index, one) in all.iter().take(3).enumerate() {
        one.get().unwrap();
        assert_eq!(budget.charged(), (index as u64 + 1) * MIB);
    }
    assert_eq!(all[3].get().unwrap_err().error.code, code::BUDGET);
    assert_eq!(pinned.most.load(Ordering::SeqCst), 3 * MIB, "what is refused is not pinned");
    let mut all = all;
    drop(all.remove(0));
    assert_eq!(budget.charged(), 2 * MIB);
    all[2].get().unwrap();
    drop(all);
    assert_eq!(budget.charged(), 0);
}

#[test]
fn m2_pieces_that_are_kept_make_room_for_one_of_another_size() {
    let (device, stream, pinned) = pinning();
    pinned.limit.store(16 * MIB, Ordering::SeqCst);
    let all: Vec<_> = (0..12).map(|_| promise(&device, &stream, MIB)).collect();
    all.iter().for_each(|one| drop(one.get().unwrap()));
    drop(all);
    assert_eq!(now(&pinned), 12 * MIB);
    let large = promise(&device, &stream, 8 * MIB);
    assert_eq!(large.get().unwrap().size() as u64, 8 * MIB);
    assert_eq!((now(&pinned), device.usage().bytes_staging), (8 * MIB, 8 * MIB));
}

#[test]
fn m2_a_driver_that_pins_no_more_is_an_error_of_the_read_and_of_nothing_else() {
    let (device, stream, pinned) = pinning();
    let readback = promise(&device, &stream, 100_000);
    pinned.limit.store(50_000, Ordering::SeqCst);
    let refused = readback.get().unwrap_err();
    assert!(refused.error.code == code::OUT_OF_MEMORY && refused.answers().reclaimable, "{refused}");
    let other = buffer(&device, 64, "other");
    runtime::fill(Some(&stream), whole(&other), &[9]).unwrap();
    assert_eq!(read(&stream, whole(&other), 64).unwrap(), [9; 64]);
    pinned.limit.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(readback.get().unwrap().size(), 100_000);
    drop((readback, other));
    drop(stream);
    drop(device);
    assert_eq!(now(&pinned), 0, "pinned memory goes with its device");
}
