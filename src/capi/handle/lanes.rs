//! Places where threads say which slots they are looking at, for objects that many threads look up at once: the kernel that eight of them launch.
//!
//! A count in the slot's word would be one cache line that all of them write, twice per call. Here each thread writes a line of its own, and
//! whoever ends a handle reads all of them. So it is for kinds of objects that end seldom.
//!
//! A look-up first writes the slot's address into a place, then reads the slot's word: live means that it is held. Whoever ends a handle first
//! takes `live` away, then reads the places. All four are sequentially consistent, so at least one of the two sees the other.

use std::cell::Cell;
use std::hint::cold_path;

use super::sync::{AtomicUsize, Ordering};

const LANES: usize = 64;
const PLACES: usize = 8;

/// A cache line that is mostly one thread's, with the one that processors fetch along with it.
#[repr(align(128))]
struct Lane([AtomicUsize; PLACES]);

static TABLE: [Lane; LANES] = [const { Lane([const { AtomicUsize::new(0) }; PLACES]) }; LANES];
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local!(static MINE: Cell<usize> = const { Cell::new(usize::MAX) });

/// A place that holds an address. Given back by [`Place::clear`].
pub(super) struct Place(&'static AtomicUsize);

/// Takes a free place of this thread's lane for an address. `None` when there is none: count instead.
pub(super) fn publish(address: usize) -> Option<Place> {
    // A thread whose locals are gone counts.
    let mine = MINE
        .try_with(|mine| {
            if mine.get() == usize::MAX {
                cold_path();
                mine.set(NEXT.fetch_add(1, Ordering::Relaxed) % LANES);
            }
            mine.get()
        })
        .ok()?;
    // Threads beyond the number of lanes share them, hence the exchange.
    let take = |place: &AtomicUsize| place.compare_exchange(0, address, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    let lane = TABLE.get(mine)?;
    // The first is free but for those who look at several such objects at once.
    if take(&lane.0[0]) {
        return Some(Place(&lane.0[0]));
    }
    cold_path();
    lane.0.iter().find(|place| take(place)).map(Place)
}

impl Place {
    /// Gives the place back. The caller then looks whether the handle has ended meanwhile.
    pub(super) fn clear(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

/// Whether any thread looks at the slot of that address.
pub(super) fn holds(address: usize) -> bool {
    TABLE.iter().flat_map(|lane| &lane.0).any(|place| place.load(Ordering::SeqCst) == address)
}
