//! Device time: places in the work where the device looks at its clock, and what it saw there. A device that was not opened for it has none of this.

use std::collections::VecDeque;
use std::sync::Arc;

use compute_hal::{DeviceError, Position};
use parking_lot::Mutex;

use crate::errors::{device_error, scoped};
use crate::memory::create;

/// Looks at the clock in one set.
const LOOKS: u32 = 256;
/// Times that are kept for those who ask.
const KEPT: usize = 4096;
/// Bytes of a time.
const TICKS: u64 = 8;

/// A set of looks, and where the device puts what it saw.
pub(crate) struct Clock {
    pub(crate) set: wgpu::QuerySet,
    pub(crate) seen: wgpu::Buffer,
    pub(crate) looks: Vec<Look>,
}

/// Why there was a look.
pub(crate) enum Look {
    /// To tell when a position was over.
    Position(Position),
    /// To measure nodes of a replay.
    Node(Arc<Timing>),
}

/// What is measured of a graph.
#[derive(Default)]
pub(crate) struct Measured {
    /// How many nodes it has.
    pub(crate) nodes: usize,
    /// Those that do something, rising: there is a look in front of the first and one behind each.
    pub(crate) working: Vec<u32>,
    /// Nanoseconds of each node in the last replay that is over.
    pub(crate) last: Mutex<Option<Vec<u64>>>,
}

/// A replay that is measured.
pub(crate) struct Timing {
    of: Arc<Measured>,
    seen: Mutex<Vec<u64>>,
}

impl Timing {
    pub(crate) fn new(of: &Arc<Measured>) -> Result<Arc<Self>, DeviceError> {
        let looks = of.working.len() + 1;
        let mut seen = Vec::new();
        let asked = looks as u64 * TICKS;
        seen.try_reserve_exact(looks).map_err(|_| DeviceError::OutOfMemory { asked, free: 0 })?;
        Ok(Arc::new(Self { of: Arc::clone(of), seen: Mutex::new(seen) }))
    }

    /// Notes the next look. With the last one the times of all nodes are known; where a look is missing they never are.
    fn note(&self, time: u64) {
        let mut seen = self.seen.lock();
        seen.push(time);
        if seen.len() <= self.of.working.len() {
            return;
        }
        let mut times = vec![0; self.of.nodes];
        for (node, pair) in self.of.working.iter().zip(seen.windows(2)) {
            if let (Some(time), [begin, end]) = (times.get_mut(*node as usize), pair) {
                *time = end.saturating_sub(*begin).max(1);
            }
        }
        *self.of.last.lock() = Some(times);
    }
}

impl Clock {
    fn new(device: &wgpu::Device) -> Result<Self, DeviceError> {
        let descriptor = wgpu::QuerySetDescriptor { label: Some("stamps"), ty: wgpu::QueryType::Timestamp, count: LOOKS };
        let set = scoped(|| device.create_query_set(&descriptor));
        let set = set.map_err(|error| device_error("create_query_set", u64::from(LOOKS) * TICKS, &error))?;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let seen = create(device, "stamps", u64::from(LOOKS) * TICKS, usage, false)?;
        Ok(Self { set, seen, looks: Vec::new() })
    }

    /// Whether there is room for another look.
    pub(crate) fn has_room(&self) -> bool {
        self.used() < LOOKS
    }

    /// The next look's place.
    pub(crate) fn look(&mut self, why: Look) -> u32 {
        let place = self.used();
        self.looks.push(why);
        place
    }

    pub(crate) fn used(&self) -> u32 {
        self.looks.len() as u32
    }

    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.used()) * TICKS
    }
}

/// A counter that goes back by this much has begun again: no device has fewer bits than 36.
const BEGINS_AGAIN: u64 = 1 << 35;

/// A counter of the device, made into one that never goes back.
#[derive(Default)]
struct Counter {
    /// What it said last.
    last: u64,
    /// What is added to what it says.
    offset: u64,
}

impl Counter {
    fn whole(&mut self, ticks: u64) -> u64 {
        if ticks < self.last {
            // Nobody here is told how many bits it has: the fewest that hold what it said. One that was set back for another reason stands still for a moment.
            let back = self.last - ticks;
            let round = self.last.checked_add(1).and_then(u64::checked_next_power_of_two);
            let round = round.filter(|_| back >= BEGINS_AGAIN).unwrap_or(back);
            self.offset = self.offset.saturating_add(round);
        }
        self.last = ticks;
        self.offset.saturating_add(ticks)
    }
}

/// Times that were seen, by position.
#[derive(Default)]
struct Seen {
    times: VecDeque<(Position, u64)>,
    counter: Counter,
    /// What it said first, which times count from: some count from 1970, in more bits than a ratio of ticks and nanoseconds keeps.
    first: Option<u64>,
}

/// Sets that nothing uses, and times that were seen.
#[derive(Default)]
pub(crate) struct Stamps {
    free: Mutex<Vec<Clock>>,
    seen: Mutex<Seen>,
}

impl Stamps {
    pub(crate) fn take(&self, device: &wgpu::Device) -> Result<Clock, DeviceError> {
        let free = self.free.lock().pop();
        free.map_or_else(|| Clock::new(device), Ok)
    }

    /// Lets go of what nothing uses.
    pub(crate) fn trim(&self) {
        drop(std::mem::take(&mut *self.free.lock()));
    }

    pub(crate) fn give(&self, mut clock: Clock) {
        clock.looks.clear();
        self.free.lock().push(clock);
    }

    /// Notes what the device saw. `ticks` has a time for each look; one takes so many nanoseconds.
    pub(crate) fn note(&self, looks: &[Look], ticks: &[u8], nanoseconds: f32) {
        let Seen { times, counter, first } = &mut *self.seen.lock();
        for (look, ticks) in looks.iter().zip(ticks.as_chunks().0) {
            let ticks = counter.whole(u64::from_le_bytes(*ticks));
            let ticks = ticks.saturating_sub(*first.get_or_insert(ticks));
            // Never 0, which some readers take for "none".
            let time = ((ticks as f64 * f64::from(nanoseconds)) as u64).saturating_add(1);
            match look {
                Look::Node(timing) => timing.note(time),
                Look::Position(position) => {
                    if times.len() == KEPT {
                        times.pop_front();
                    }
                    times.push_back((*position, time));
                }
            }
        }
    }

    pub(crate) fn at(&self, position: Position) -> Option<u64> {
        let seen = self.seen.lock();
        let place = seen.times.binary_search_by_key(&position, |(position, _)| *position).ok()?;
        seen.times.get(place).map(|(_, time)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen of a clock that says these ticks, of so many nanoseconds each.
    fn times_of(ticks: &[u64], nanoseconds: f32) -> Vec<u64> {
        let stamps = Stamps::default();
        for (position, ticks) in (1..).zip(ticks) {
            stamps.note(&[Look::Position(position)], &ticks.to_le_bytes(), nanoseconds);
        }
        (1..).map_while(|position| stamps.at(position)).collect()
    }

    /// The same with two nanoseconds.
    fn times(ticks: &[u64]) -> Vec<u64> {
        times_of(ticks, 2.0)
    }

    #[test]
    fn a_clock_that_counts_nanoseconds_since_1970_is_told_to_the_nanosecond() {
        let now = 1_760_000_000_000_000_000;
        let times = times_of(&[now, now + 1000, now + 1100], 1.0);
        assert_eq!((times[1] - times[0], times[2] - times[1]), (1000, 100));
    }

    #[test]
    fn a_clock_whose_counter_begins_again_goes_on() {
        let end = 1 << 36;
        assert_eq!(times(&[end - 100, end - 10, 5, 20]), [1, 181, 211, 241]);
        // Twice.
        assert_eq!(times(&[end - 1, 1, end - 1, 1])[3], 1 + 2 * (end + 2));
    }

    #[test]
    fn a_clock_never_goes_back_and_never_stands_still_for_good() {
        assert_eq!(times(&[0, 1000, 990, 995, 1005]), [1, 2001, 2001, 2011, 2031]);
        assert_eq!(times(&[u64::MAX - 1, 0, 5]), [1, 1, 3]);
    }
}
