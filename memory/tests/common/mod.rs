//! Traces, and pools that they run on.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by tests and the benchmark")]

pub mod traces;

use std::collections::HashMap;

use compute_memory::{Answer, Layout, Mode, Placement, Pools, Progress, Settings};
use traces::Event;

/// A device that is always done.
pub struct Done;

impl Progress<()> for Done {
    fn is_over(&self, (): &()) -> bool {
        true
    }

    fn is_past(&self, _: u64) -> bool {
        true
    }
}

/// What a trace took.
#[derive(Debug, Default)]
pub struct Taken {
    /// The most bytes asked for at once.
    pub peak_live: u64,
    /// The most bytes in pages at once.
    pub peak_reserved: u64,
    /// Pages asked of the driver.
    pub pages_made: u64,
    /// Of these, in the second half of the trace.
    pub pages_made_late: u64,
}

impl Taken {
    /// Peak in pages over peak live.
    pub fn ratio(&self) -> f64 {
        self.peak_reserved as f64 / self.peak_live as f64
    }
}

pub fn settings() -> Settings {
    Settings { granule: 256, page_limit: 1 << 40, exclusive_above: Layout::LARGEST_SLICE, idle_cap: 64 << 20 }
}

/// Allocates, with a page from the air if need be.
pub fn allocate(pools: &mut Pools<()>, size: u64, mode: Mode, made: &mut u64) -> Placement {
    match pools.allocate(size, 1, mode, &Done).unwrap() {
        Answer::Placed(placed) => placed,
        Answer::NeedPage(request) => {
            while pools.take_released(&Done).is_some() {}
            *made += 1;
            pools.add_page(&request, *made, request.size).unwrap()
        }
    }
}

/// Runs a trace on fresh pools.
pub fn replay(events: &[Event], layout: Layout, settings: Settings) -> (Taken, Pools<()>) {
    let mut pools = Pools::new(layout, settings).unwrap();
    let (mut taken, mut live, mut at) = (Taken::default(), 0, HashMap::new());
    for (index, event) in events.iter().enumerate() {
        match *event {
            Event::Allocate { id, size, persistent } => {
                let mode = if persistent { Mode::Persistent } else { Mode::Auto };
                let before = taken.pages_made;
                at.insert(id, (allocate(&mut pools, size, mode, &mut taken.pages_made), size));
                live += size;
                if index >= events.len() / 2 {
                    taken.pages_made_late += taken.pages_made - before;
                }
            }
            Event::Release { id } => {
                let (placed, size) = at.remove(&id).unwrap();
                live -= size;
                pools.release(placed, 0, None, &Done);
            }
        }
        while pools.take_released(&Done).is_some() {}
        taken.peak_live = taken.peak_live.max(live);
        taken.peak_reserved = taken.peak_reserved.max(pools.reserved());
    }
    (taken, pools)
}
