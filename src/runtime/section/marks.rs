//! The marks of a section: one for each buffer, taken in the order of their numbers, all or none.
//!
//! Makes no call of a device, and asks a byte map for nothing but whether it is clean. Waiting for a mark happens with no mark held.

use std::hint::cold_path;
use std::sync::Arc;
use std::time::Instant;

use compute_trust::{Found, Map, NoMemory, Refused, Use};
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

/// Touches whose buffers are put in their places one by one. A replay may have thousands, each of which would move all those behind it.
const FEW: usize = 16;

impl Held<'_> {
    /// Takes in what another touch does to the same buffer.
    fn join(&mut self, other: &Self) {
        self.writes |= other.writes;
        self.ranges = self.ranges.saturating_add(other.ranges);
    }
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
        let few = self.touches.len() <= FEW;
        // Numbers begin at 1.
        let mut last = 0;
        for touch in self.touches {
            let (buffer, writes) = (touch.span.buffer, touch.write != Write::No);
            let ranges = if touch.rows.is_some() { rows::EXACT } else { 1 };
            let found = Found { dirty: false, pending: false };
            let new = Held { buffer, exclusive: false, writes, ranges, found, changed: false };
            // Buffers that were made one after another often come in that order.
            if !few || last < buffer.id {
                last = buffer.id;
                room(&mut self.held)?;
                put(&mut self.held, new);
                continue;
            }
            cold_path();
            match self.place_of(buffer.id) {
                Ok(index) => self.held[index].join(&new),
                Err(place) => {
                    room(&mut self.held)?;
                    self.held.insert(place, new);
                }
            }
        }
        if !few {
            self.held.sort_unstable_by_key(|held| held.buffer.id);
            self.held.dedup_by(|next, held| {
                let same = next.buffer.id == held.buffer.id;
                if same {
                    held.join(next);
                }
                same
            });
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
    // What was unclean once stays so until it is had: it may be reserved for this call, which no reader gets past, itself neither.
    held.exclusive |= held.writes;
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
    let found = loop {
        match buffer.mark.try_exclusive() {
            Ok(found) => break found,
            Err(_) => buffer.device.gate.wait(&buffer.mark, true),
        }
    };
    look_alone(buffer, found, look)
}

/// As [`alone`], but waits until a deadline at most. `None`: it has passed.
pub(crate) fn alone_until<T>(buffer: &Buffer, deadline: Option<Instant>, look: impl FnOnce(&Mutex<Map>) -> T) -> Option<T> {
    let found = loop {
        match buffer.mark.try_exclusive() {
            Ok(found) => break found,
            Err(_) if buffer.device.gate.wait_until(&buffer.mark, true, deadline) => {}
            Err(_) => return None,
        }
    };
    Some(look_alone(buffer, found, look))
}

fn look_alone<T>(buffer: &Buffer, found: Found, look: impl FnOnce(&Mutex<Map>) -> T) -> T {
    let answer = look(&buffer.map);
    let dirty = !buffer.map.lock().is_clean();
    if buffer.mark.release_exclusive(Found { dirty, ..found }) {
        buffer.device.gate.wake();
    }
    answer
}

/// The last write of a buffer, once no call is unsettled that may be one; calls that only read are no matter, however many there are. `None`: the
/// deadline has passed.
pub(crate) fn last_write(buffer: &Buffer, deadline: Option<Instant>) -> Option<Option<Use>> {
    while buffer.mark.is_exclusive() {
        if !buffer.device.gate.wait_until(&buffer.mark, false, deadline) {
            return None;
        }
    }
    Some(buffer.uses.last_write())
}
