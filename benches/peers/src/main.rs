//! Our pools and those of cubecl on the same traces: what they take from a driver for what is live, and what an allocation costs.
//!
//! cubecl's pools are driven without a server and on a storage that only counts, as ours are on pages from the air.

#[allow(dead_code, reason = "shared with the tests of the pools")]
#[path = "../../../memory/tests/common/traces.rs"]
mod traces;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use compute_memory::{Answer, Layout, Mode, Placement, Pools, Progress, Settings};
use cubecl_ir::MemoryDeviceProperties;
use cubecl_runtime::logging::ServerLogger;
use cubecl_runtime::memory_management::{
    ManagedMemoryHandle, MemoryAllocationMode, MemoryConfiguration, MemoryManagement, MemoryManagementOptions,
};
use cubecl_runtime::server::IoError;
use cubecl_runtime::storage::{ComputeStorage, StorageHandle, StorageId, StorageUtilization};
use traces::{Event, frames, training};

const MIB: u64 = 1 << 20;

/// Pools of either kind.
trait Peer {
    type Held;
    fn allocate(&mut self, size: u64, persistent: bool) -> Self::Held;
    fn release(&mut self, held: Self::Held);
    /// Bytes from the driver now.
    fn reserved(&mut self) -> u64;
    /// Pages that the driver was asked for.
    fn pages(&mut self) -> u64;
}

// ---- ours ----

struct Done;

impl Progress<()> for Done {
    fn is_over(&self, (): &()) -> bool {
        true
    }

    fn is_past(&self, _: u64) -> bool {
        true
    }
}

struct Ours {
    pools: Pools<()>,
    pages: u64,
}

impl Ours {
    fn new(idle_cap: u64) -> Self {
        let settings = Settings { granule: 256, page_limit: 1 << 40, exclusive_above: Layout::LARGEST_SLICE, idle_cap };
        Self { pools: Pools::new(Layout::standard(Layout::LARGEST_SLICE), settings).expect("the standard layout"), pages: 0 }
    }
}

impl Peer for Ours {
    type Held = Placement;

    fn allocate(&mut self, size: u64, persistent: bool) -> Placement {
        let mode = if persistent { Mode::Persistent } else { Mode::Auto };
        match self.pools.allocate(size, 1, mode, &Done).expect("no caps") {
            Answer::Placed(placed) => placed,
            Answer::NeedPage(request) => {
                while self.pools.take_released(&Done).is_some() {}
                self.pages += 1;
                self.pools.add_page(&request, self.pages, request.size).expect("a page as asked for")
            }
        }
    }

    fn release(&mut self, held: Placement) {
        self.pools.release(held, 0, None, &Done);
        while self.pools.take_released(&Done).is_some() {}
    }

    fn reserved(&mut self) -> u64 {
        self.pools.reserved()
    }

    fn pages(&mut self) -> u64 {
        self.pages
    }
}

// ---- cubecl's ----

/// Memory that is only counted.
#[derive(Default)]
struct Counted {
    sizes: HashMap<StorageId, u64>,
    reserved: u64,
    pages: u64,
}

impl ComputeStorage for Counted {
    type Resource = ();

    fn alignment(&self) -> usize {
        256
    }

    fn get(&mut self, _: &StorageHandle) {}

    fn alloc(&mut self, size: u64) -> Result<StorageHandle, IoError> {
        let id = StorageId::new();
        self.sizes.insert(id, size);
        self.reserved += size;
        self.pages += 1;
        Ok(StorageHandle::new(id, StorageUtilization { offset: 0, size }))
    }

    fn dealloc(&mut self, id: StorageId) {
        self.reserved -= self.sizes.remove(&id).unwrap_or(0);
    }

    fn flush(&mut self) {}
}

struct Cubecl {
    pools: MemoryManagement<Counted>,
    calls: u64,
}

impl Cubecl {
    fn new(config: MemoryConfiguration, max_page_size: u64) -> Self {
        let properties = MemoryDeviceProperties { max_page_size, alignment: 256 };
        let options = MemoryManagementOptions::new("peer").mode(MemoryAllocationMode::Auto);
        let logger = Arc::new(ServerLogger::default());
        Self { pools: MemoryManagement::from_configuration(Counted::default(), &properties, config, logger, options), calls: 0 }
    }
}

impl Peer for Cubecl {
    type Held = ManagedMemoryHandle;

    fn allocate(&mut self, size: u64, persistent: bool) -> ManagedMemoryHandle {
        // Its servers clean up as they go; what is not due yet costs next to nothing.
        self.calls += 1;
        if self.calls.is_multiple_of(64) {
            self.pools.cleanup(false);
        }
        if persistent {
            self.pools.mode(MemoryAllocationMode::Persistent);
            let held = self.pools.reserve(size).expect("memory from the air");
            self.pools.mode(MemoryAllocationMode::Auto);
            return held;
        }
        self.pools.reserve(size).expect("memory from the air")
    }

    fn release(&mut self, held: ManagedMemoryHandle) {
        drop(held);
    }

    fn reserved(&mut self) -> u64 {
        self.pools.storage().reserved
    }

    fn pages(&mut self) -> u64 {
        self.pools.storage().pages
    }
}

// ---- the comparison ----

fn replay<P: Peer>(name: &str, trace: &[Event], mut peer: P) {
    let mut held = HashMap::new();
    let (mut live, mut peak_live, mut peak) = (0, 0_u64, 0);
    let (mut first_half, start) = (0, Instant::now());
    for (index, event) in trace.iter().enumerate() {
        match *event {
            Event::Allocate { id, size, persistent } => {
                held.insert(id, (peer.allocate(size, persistent), size));
                live += size;
            }
            Event::Release { id } => {
                let (handle, size) = held.remove(&id).expect("released once");
                peer.release(handle);
                live -= size;
            }
        }
        peak_live = peak_live.max(live);
        peak = peak.max(peer.reserved());
        if index == trace.len() / 2 {
            first_half = peer.pages();
        }
    }
    let each = start.elapsed().as_nanos() as f64 / trace.len() as f64;
    let late = peer.pages() - first_half;
    println!(
        "  {name:<38} peak {:>6} MiB, {:.3} of peak live; pages in the second half {late:>5}; {each:>7.0} ns an event",
        peak / MIB,
        peak as f64 / peak_live as f64
    );
}

/// Nanoseconds to allocate a slice and to release it, with so many others live.
fn warm<P: Peer>(mut peer: P, live: u32, pairs: u32) -> f64 {
    let size = |index: u32| 256 * (1 + u64::from(index % 16));
    let held: Vec<_> = (0..live).map(|index| peer.allocate(size(index), false)).collect();
    let mut rounds: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            for index in 0..pairs {
                let one = black_box(peer.allocate(size(index), false));
                peer.release(one);
            }
            start.elapsed().as_nanos() as f64 / f64::from(pairs)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    drop(held);
    rounds[rounds.len() / 2]
}

fn main() {
    for (name, trace) in [("40 training steps", training(40)), ("2000 frames", frames(2000))] {
        println!("{name}, {} events", trace.len());
        replay("ours, 64 MiB of idle pages kept", &trace, Ours::new(64 * MIB));
        replay("ours, all idle pages kept", &trace, Ours::new(u64::MAX));
        for (page, text) in [(2 << 30, "2 GiB"), (6 << 30, "6 GiB")] {
            replay(&format!("cubecl, sub-slices, pages up to {text}"), &trace, Cubecl::new(MemoryConfiguration::SubSlices, page));
            replay(
                &format!("cubecl, exclusive, pages up to {text}"),
                &trace,
                Cubecl::new(MemoryConfiguration::ExclusivePages, page),
            );
        }
    }
    println!("allocate and release a slice of 256 to 4096 bytes, ns (median of 15 rounds)");
    // Its cost grows with what is live, so fewer rounds, and no more than ten thousand.
    for (live, pairs) in [(100, 1000), (1000, 200), (10_000, 20)] {
        let ours = warm(Ours::new(u64::MAX), live, 2000);
        let cubecl = warm(Cubecl::new(MemoryConfiguration::SubSlices, 6 << 30), live, pairs);
        println!("  {live:>7} live: ours {ours:.0}, cubecl sub-slices {cubecl:.0}");
    }
}
