//! The marks of a section: one for each buffer, taken in the order of their numbers, all or none.
//!
//! Makes no call of a device, and asks a byte map for nothing but whether it is clean. Waiting for a mark happens with no mark held.

use std::hint::cold_path;
use std::sync::Arc;

use compute_trust::{Found, Map, NoMemory, Refused};
use parking_lot::Mutex;

use super::super::buffer::Buffer;
use super::super::device::Device;
use super::super::rows;
use super::{Section, Write, put, room};

/// A buffer that the work touches, and its mark once that is taken.
pub(super) struct Held<'a> {
    pub(super) buffer: &'a Arc<Buffer>,
    pub(super) exclusive: bool,
    pub(super) writes: bool,
    /// How many ranges of its map the work may change at most, about.
    pub(super) ranges: usize,
    pub(super) found: Found,
    /// Its map was changed, so whether it is clean has to be asked anew.
    pub(super) changed: bool,
}

impl Section<'_> {
    /// Takes all marks or none, sleeping where somebody else has to settle first. Tells what any of them found.
    pub(super) fn take_marks(&mut self) -> Found {
        loop {
            let mut any = Found { dirty: false, pending: false };
            let mut refused = None;
            for (index, held) in self.held.iter_mut().enumerate() {
                if let Err(exclusive) = take(held) {
                    refused = Some((index, exclusive));
                    break;
                }
                any.dirty |= held.found.dirty;
                any.pending |= held.found.pending;
            }
            let Some((taken, exclusive)) = refused else { return any };
            cold_path();
            self.give_way(taken, exclusive);
        }
    }

    /// Gives back the first marks and sleeps until the next one can be had.
    #[cold]
    fn give_way(&mut self, taken: usize, exclusive: bool) {
        let busy = self.held[taken].buffer;
        release(&self.stream.device, &mut self.held[..taken]);
        self.stream.device.gate.wait(&busy.mark, exclusive);
    }

    /// One entry per buffer, by id, which is the order of locking.
    pub(super) fn merge(&mut self) -> std::result::Result<(), NoMemory> {
        // Numbers begin at 1.
        let mut last = 0;
        for touch in self.touches {
            let (buffer, writes) = (touch.span.buffer, touch.write != Write::No);
            let ranges = if touch.rows.is_some() { rows::EXACT } else { 1 };
            let found = Found { dirty: false, pending: false };
            let new = Held { buffer, exclusive: false, writes, ranges, found, changed: false };
            // Buffers that were made one after another often come in that order.
            if last < buffer.id {
                last = buffer.id;
                room(&mut self.held)?;
                put(&mut self.held, new);
                continue;
            }
            cold_path();
            match self.place_of(buffer.id) {
                Ok(index) => {
                    let held = &mut self.held[index];
                    held.writes |= writes;
                    held.ranges = held.ranges.saturating_add(ranges);
                }
                Err(place) => {
                    room(&mut self.held)?;
                    self.held.insert(place, new);
                }
            }
        }
        Ok(())
    }

    /// The place of a buffer among those held: a replay may touch thousands.
    pub(super) fn place(&self, buffer: &Buffer) -> Option<usize> {
        self.place_of(buffer.id).ok()
    }

    fn place_of(&self, id: u64) -> std::result::Result<usize, usize> {
        self.held.binary_search_by_key(&id, |held| held.buffer.id)
    }
}

/// Takes one mark; `Err` says whether the one to wait for is exclusive.
fn take(held: &mut Held<'_>) -> std::result::Result<(), bool> {
    held.exclusive = held.writes;
    if !held.exclusive {
        match held.buffer.mark.try_shared() {
            Ok(()) => {
                held.found = Found { dirty: false, pending: false };
                return Ok(());
            }
            Err(Refused::Busy) => {
                cold_path();
                return Err(false);
            }
            Err(Refused::Unclean) => {
                cold_path();
                held.exclusive = true;
            }
        }
    }
    match held.buffer.mark.try_exclusive() {
        Ok(found) => {
            held.found = found;
            Ok(())
        }
        Err(_) => {
            cold_path();
            Err(true)
        }
    }
}

/// Gives marks back and wakes whoever waits for one.
pub(super) fn release(device: &Device, held: &mut [Held<'_>]) {
    let mut wake = false;
    for held in held {
        wake |= if held.exclusive {
            if held.changed {
                cold_path();
                // Asked under the map's lock, which is where late claims are made too.
                held.found.dirty = !held.buffer.map.lock().is_clean();
            }
            held.buffer.mark.release_exclusive(held.found)
        } else {
            held.buffer.mark.release_shared()
        };
    }
    if wake {
        cold_path();
        device.gate.wake();
    }
}

/// Waits until no call that touches a buffer is unsettled, and looks at it alone.
pub(crate) fn alone<T>(buffer: &Buffer, look: impl FnOnce(&Mutex<Map>) -> T) -> T {
    loop {
        if let Ok(found) = buffer.mark.try_exclusive() {
            let answer = look(&buffer.map);
            let dirty = !buffer.map.lock().is_clean();
            if buffer.mark.release_exclusive(Found { dirty, ..found }) {
                buffer.device.gate.wake();
            }
            return answer;
        }
        buffer.device.gate.wait(&buffer.mark, true);
    }
}
