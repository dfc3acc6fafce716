//! Host-visible buffers (M7, T14): an address for the host, and the order between its accesses and the device's.
//!
//! What the host sees through the address is what is in memory, so nothing of an earlier owner may be there: mapping zeroes what is not trusted. The host
//! says when it looks or begins to write (`acquire`) and what it has written (`flush`); what it does between is its own business.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compute_hal::HostTarget;
use compute_trust::{NoMemory, Use};
use smallvec::SmallVec;

use super::buffer::{Buffer, View};
use super::error::{Failed, Result, fail};
use super::section::{alone, alone_until, last_write, no_memory, room};
use super::stream::{Wait, wait};
use super::{code, late, prints, trust};

/// What the host is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Look at bytes: they have to be trusted, and the device's writes over.
    pub reads: bool,
    /// Write bytes: the device's reads have to be over, too.
    pub writes: bool,
}

/// A view of a buffer in the host's memory. Keeps the buffer's memory alive.
pub struct Mapping {
    view: View,
    memory: HostTarget,
}

impl Mapping {
    /// Maps a view of a buffer that was made for it. Waits for the work that uses the buffer, and zeroes what is not trusted; claims stay.
    pub fn new(view: View) -> Result<Arc<Self>> {
        let buffer = &view.buffer;
        buffer.device.check()?;
        if !buffer.host_visible {
            let message = format!("buffer `{}` was not made host-visible (COMPUTE_BUFFER_FLAG_HOST_VISIBLE)", buffer.label());
            return fail(code::INVALID_ARGUMENT, message);
        }
        // Deferred memory is needed from here on. It does not move: such buffers are fixed.
        buffer.back()?;
        let memory = match buffer.region(&view.range()).filter(|region| region.size > 0) {
            Some(region) => {
                let page = buffer.device.native.map(region.memory).map_err(|failed| buffer.device.broken(failed))?;
                page.part(region.offset, region.size)
            }
            None => HostTarget::staging(0),
        };
        let Some(memory) = memory else {
            return fail(code::INTERNAL, "a view that leaves its block, or no memory for an empty one");
        };
        let this = Self { view, memory };
        let mut seen = Vec::new();
        loop {
            // Others may go on using the buffer all the time: only what was enqueued by now is waited for.
            this.settle(Access { reads: true, writes: true }, None)?;
            if this.cleared(&mut seen)? {
                return Ok(Arc::new(this));
            }
        }
    }

    /// Zeroes what is not trusted, unless work may still use those bytes. What can be reinstated is the buffer's own and stays. `seen` is what was not trusted
    /// at the last look; all that was enqueued before that look is over.
    fn cleared(&self, seen: &mut Vec<Range<u64>>) -> Result<bool> {
        let View { buffer, offset, .. } = &self.view;
        buffer.device.check()?;
        let cleared = alone(buffer, |lock| {
            // What a late failure claims looks trusted until that is heard.
            if !late::is_settled(buffer.id, self.view.range()) {
                return Ok(false);
            }
            let mut map = lock.lock();
            // Later work uses no byte that was not trusted when it came and is not trusted now, but to write what nobody may read.
            let known = |range: Range<u64>| {
                let first = seen.partition_point(|seen| seen.end <= range.start);
                seen.get(first).is_some_and(|seen| seen.start <= range.start && range.end <= seen.end)
            };
            if !buffer.is_idle() && !map.untrusted_in(self.view.range()).all(known) {
                seen.clear();
                seen.try_reserve(map.ranges()).map_err(|_| NoMemory)?;
                seen.extend(map.untrusted_in(self.view.range()));
                return Ok(false);
            }
            for range in map.untrusted_in(self.view.range()) {
                if let Some(part) = self.memory.part(range.start - offset, range.end - range.start) {
                    part.clear();
                }
            }
            map.filled(self.view.range());
            Ok(true)
        });
        cleared.map_err(|none| Failed::of(no_memory(none)))
    }

    /// Where it is, and how many bytes there are.
    pub fn memory(&self) -> &HostTarget {
        &self.memory
    }

    /// Waits until the host may access a part of it, and for an access that reads tells whether the bytes can be trusted (T8).
    pub fn acquire(&self, offset: u64, size: u64, access: Access, timeout: Option<Duration>) -> Result<Wait> {
        let part = self.part(offset, size)?;
        if self.settle(access, timeout)? == Wait::TimedOut {
            return Ok(Wait::TimedOut);
        }
        part.buffer.device.check()?;
        if access.reads {
            trust::check(&[part])?;
        }
        Ok(Wait::Done)
    }

    /// The host has written all of a part of it: its claims are released (T4).
    pub fn flush(&self, offset: u64, size: u64) -> Result<()> {
        let part = self.part(offset, size)?;
        part.buffer.device.check()?;
        // Failures of work that ran before the host wrote come first. One that is told later claims more than it must.
        if late::active() {
            late::settle()?;
        }
        alone(&part.buffer, |map| map.lock().written(part.range()));
        Ok(())
    }

    fn part(&self, offset: u64, size: u64) -> Result<View> {
        let whole = self.view.size;
        let rest = whole.checked_sub(offset);
        let size = if size == u64::MAX { rest } else { rest.filter(|rest| size <= *rest).map(|_| size) };
        match size {
            Some(size) => Ok(View { offset: self.view.offset + offset, size, ..self.view.clone() }),
            None => {
                fail(code::OUT_OF_RANGE, format!("a part of {size:?} bytes at offset {offset} of a mapping of {whole} bytes"))
            }
        }
    }

    /// Waits for the work that the host's access has to come after, and hears what it has to tell.
    fn settle(&self, access: Access, timeout: Option<Duration>) -> Result<Wait> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (buffer, device) = (&self.view.buffer, &self.view.buffer.device);
        // Work that is being enqueued right now counts, where it matters.
        let uses = if access.writes {
            alone_until(buffer, deadline, |_| uses(buffer, true))
        } else {
            last_write(buffer, deadline).map(|last| Ok(last.into_iter().collect()))
        };
        let Some(uses) = uses else { return Ok(Wait::TimedOut) };
        let uses = uses.map_err(|none| Failed::of(no_memory(none)))?;
        for last in uses {
            if let Some(queue) = device.queue(last.queue)
                && wait(device, &queue, last.position, deadline)? == Wait::TimedOut
            {
                return Ok(Wait::TimedOut);
            }
        }
        prints::deliver();
        if late::active() {
            late::settle()?;
        }
        Ok(Wait::Done)
    }
}

/// The last uses of a buffer: its last write, and the reads after it where they matter, of which there may be one on each queue.
pub(super) fn uses(buffer: &Buffer, reads: bool) -> std::result::Result<SmallVec<[Use; 4]>, NoMemory> {
    let mut all: SmallVec<[Use; 4]> = buffer.uses.last_write().into_iter().collect();
    let mut noted = Ok(());
    if reads {
        buffer.uses.each_read(|read| {
            if noted.is_ok() {
                noted = room(&mut all).map(|()| all.push(read));
            }
        });
    }
    noted.map(|()| all)
}
