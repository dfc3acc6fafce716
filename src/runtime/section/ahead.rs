//! What is enqueued ahead of the work itself, in the order of the device: the work's positions, its waits for other queues, its fills.
//!
//! Decides nothing: which fills there are the maps have told already.

use compute_hal::DeviceError;
use compute_trust::{NoMemory, Use};

use super::{Section, room};

impl Section<'_> {
    pub(super) fn advance(&mut self, count: u64) -> u64 {
        self.submit.as_mut().map_or(0, |submit| self.queue.advance(submit, count))
    }

    /// Gives the work its positions, collects what it has to wait for, and makes room for what [`Self::note_uses`] will note, so that that needs no memory (F2).
    pub(super) fn take_positions(&mut self) -> std::result::Result<(), NoMemory> {
        let before_last = (self.fills.len() as u64).saturating_add(self.subject.calls - 1);
        self.last = self.advance(before_last.saturating_add(1));
        self.first = self.last - before_last;
        let mine = self.queue.index;
        let mut waits = false;
        for held in &self.held {
            let uses = &held.buffer.uses;
            waits |= uses.elsewhere(mine, held.writes);
            if !held.writes {
                uses.expect_read(mine)?;
            }
        }
        if waits { self.collect_waits() } else { Ok(()) }
    }

    #[cold]
    fn collect_waits(&mut self) -> std::result::Result<(), NoMemory> {
        let mine = self.queue.index;
        for held in &self.held {
            let uses = &held.buffer.uses;
            let mut all = Ok(());
            let mut wait = |other: Use| {
                if other.queue != mine && all.is_ok() {
                    all = room(&mut self.waits).map(|()| self.waits.push(other));
                }
            };
            if let Some(write) = uses.last_write() {
                wait(write);
            }
            if held.writes {
                uses.each_read(wait);
            }
            all?;
        }
        Ok(())
    }

    /// Notes the work as the last use of everything it touches. Only once its waits are enqueued: a use stands for all those before it, and
    /// work that could not wait for them touches nothing.
    fn note_uses(&mut self) {
        self.reached = true;
        let mine = Use { queue: self.queue.index, position: self.last };
        for held in &self.held {
            if held.writes { held.buffer.uses.note_write(mine) } else { held.buffer.uses.note_read(mine) }
        }
    }

    /// The device's calls that come before the work's own.
    pub(super) fn prepare_device(&mut self) -> std::result::Result<(), DeviceError> {
        if !self.waits.is_empty() {
            self.enqueue_waits()?;
        }
        self.note_uses();
        if self.fills.is_empty() { Ok(()) } else { self.enqueue_fills() }
    }

    #[cold]
    fn enqueue_waits(&mut self) -> std::result::Result<(), DeviceError> {
        (0..self.waits.len()).try_for_each(|index| self.wait_for(self.waits[index]))
    }

    #[cold]
    fn enqueue_fills(&mut self) -> std::result::Result<(), DeviceError> {
        while let Some((index, range)) = self.fills.get(self.filled) {
            if let Some(region) = self.held[*index].buffer.region(range) {
                self.queue.native.fill(self.first + self.filled as u64, region, &[0])?;
            }
            self.filled += 1;
        }
        Ok(())
    }

    fn wait_for(&mut self, other: Use) -> std::result::Result<(), DeviceError> {
        let index = usize::from(other.queue);
        let Some(submit) = &mut self.submit else { return Ok(()) };
        let known = submit.awaited.get(index).copied().unwrap_or(0);
        let Some(queue) = self.stream.device.queue(other.queue).filter(|_| known < other.position) else { return Ok(()) };
        if queue.native.completed() >= other.position {
            return Ok(());
        }
        self.queue.native.wait_for(queue.native.id(), other.position)?;
        let awaited = &mut submit.awaited;
        let known = awaited.len();
        // Without memory for it the next work waits once more.
        if index < known || awaited.try_reserve(index + 1 - known).is_ok() {
            awaited.resize(known.max(index + 1), 0);
            awaited[index] = other.position;
        }
        Ok(())
    }
}
