//! Device time: places in the work where the device looks at its clock, and what it saw there. A device that was not opened for it has none of this.

use std::collections::VecDeque;

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
    pub(crate) positions: Vec<Position>,
}

impl Clock {
    fn new(device: &wgpu::Device) -> Result<Self, DeviceError> {
        let descriptor = wgpu::QuerySetDescriptor { label: Some("stamps"), ty: wgpu::QueryType::Timestamp, count: LOOKS };
        let set = scoped(device, || device.create_query_set(&descriptor));
        let set = set.map_err(|error| device_error("create_query_set", u64::from(LOOKS) * TICKS, &error))?;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let seen = create(device, "stamps", u64::from(LOOKS) * TICKS, usage, false)?;
        Ok(Self { set, seen, positions: Vec::new() })
    }

    /// The next look's place, for a position.
    pub(crate) fn look(&mut self, at: Position) -> Option<u32> {
        let place = self.used();
        (place < LOOKS).then(|| {
            self.positions.push(at);
            place
        })
    }

    pub(crate) fn used(&self) -> u32 {
        self.positions.len() as u32
    }

    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.used()) * TICKS
    }
}

/// Sets that nothing uses, and times that were seen.
#[derive(Default)]
pub(crate) struct Stamps {
    free: Mutex<Vec<Clock>>,
    seen: Mutex<VecDeque<(Position, u64)>>,
}

impl Stamps {
    pub(crate) fn take(&self, device: &wgpu::Device) -> Result<Clock, DeviceError> {
        let free = self.free.lock().pop();
        free.map_or_else(|| Clock::new(device), Ok)
    }

    pub(crate) fn give(&self, mut clock: Clock) {
        clock.positions.clear();
        self.free.lock().push(clock);
    }

    /// Notes what the device saw. `ticks` has a time for each look; one takes so many nanoseconds.
    pub(crate) fn note(&self, positions: &[Position], ticks: &[u8], nanoseconds: f32) {
        let mut seen = self.seen.lock();
        for (position, ticks) in positions.iter().zip(ticks.as_chunks().0) {
            let time = (u64::from_le_bytes(*ticks) as f64 * f64::from(nanoseconds)) as u64;
            // Never 0, which some readers take for "none", and never back.
            let time = time.max(1).max(seen.back().map_or(0, |(_, last)| *last));
            if seen.len() == KEPT {
                seen.pop_front();
            }
            seen.push_back((*position, time));
        }
    }

    pub(crate) fn at(&self, position: Position) -> Option<u64> {
        let seen = self.seen.lock();
        let place = seen.binary_search_by_key(&position, |(position, _)| *position).ok()?;
        seen.get(place).map(|(_, time)| *time)
    }
}
