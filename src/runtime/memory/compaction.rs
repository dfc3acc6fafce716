//! Compaction: moves buffers out of the least used pages into free space of others, so that whole pages go back to the driver (M1).
//!
//! What may be moved: a buffer that the caller names, that nothing holds in place, and whose every use is over. Which of them to move is planned by
//! `compute_memory`; here the plan is carried out. A move is a copy in order on the stream's queue, made under the submission lock and the buffer's exclusive
//! mark: whoever takes the mark next finds the new place, and the copy as its last write. What is known of the bytes (T1) belongs to the buffer, not to the
//! place, and so goes along. Lock order: submission lock → the device's compaction lock → marks, which are only tried.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use compute_hal::DeviceError;
use compute_memory::Move;
use compute_trust::{Found, LastUses, Use};
use once_cell::sync::Lazy;

use super::super::buffer::Buffer;
use super::super::error::Result;
use super::super::place::Span;
use super::super::queue::Submit;
use super::super::section::{Subject, Touch, Write};
use super::super::stream::Stream;
use super::super::{late, section};
use super::{Block, PoolSet, no_host_memory};

/// What a compaction came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compacted {
    /// Buffers moved.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in pages given back to the driver.
    pub freed: u64,
}

type Places<'a> = HashMap<(u64, u64), &'a Arc<Buffer>>;

static NAME: Lazy<Arc<str>> = Lazy::new(|| "compaction".into());

impl Stream {
    /// Moves those of `buffers` that may be moved so that pages of the stream's pools, and of the device's own, become idle, waits for the copies, and
    /// gives the pages back. Frozen pools are left alone.
    pub fn compact(&self, buffers: &[Arc<Buffer>]) -> Result<Compacted> {
        self.device.check()?;
        self.refused_recording("compaction")?;
        let _guard = self.device.guard();
        let mut done = Compacted::default();
        let before = self.device.memory.reserved.load(Ordering::Relaxed);
        let sets = [self.pools.get(), self.device.memory.own.get()];
        for set in sets.into_iter().flatten() {
            // What is still in use elsewhere may be over by now.
            self.device.clean(set);
            if let Some(last) = self.compact_set(set, buffers, &mut done)? {
                self.device.wait_for_use(last);
                self.device.clean(set);
            }
        }
        done.freed = before.saturating_sub(self.device.memory.reserved.load(Ordering::Relaxed));
        self.device.check().map(|()| done)
    }

    /// Enqueues the copies; the position after which the pages are idle.
    fn compact_set(&self, set: &Arc<PoolSet>, buffers: &[Arc<Buffer>], done: &mut Compacted) -> Result<Option<Use>> {
        let mut places = Places::new();
        let mut left = Vec::new();
        let room = places.try_reserve(buffers.len()).is_ok() && left.try_reserve(buffers.len()).is_ok();
        if !room {
            return Err(no_host_memory(0));
        }
        let mut submit = self.queue.lock(&self.device)?;
        // Behind the submission lock: whoever holds the device exclusively (S1) must not wait for one who waits for that to end.
        let one_at_a_time = self.device.memory.compacting.lock();
        let mine = buffers.iter().filter(|buffer| Arc::ptr_eq(&buffer.device, &self.device));
        places.extend(mine.filter_map(|buffer| Some((buffer.home.place_in(set)?, buffer))));
        let may_move = |memory, offset| places.get(&(memory, offset)).is_some_and(|buffer| self.may_move(buffer));
        let moves = set.pools.lock().compact(may_move).map_err(|_| no_host_memory(0))?;
        let (mut last, mut failed) = (None, None);
        for Move { memory, offset, to } in moves {
            let to = Block { set: Arc::clone(set), placement: to, charge: None };
            let buffer = places.get(&(memory, offset)).filter(|_| failed.is_none());
            let moved = match buffer {
                Some(buffer) => self.relocate(&mut submit, buffer, (memory, offset), to),
                None => Moved { left: to, at: Ok(None) },
            };
            let used = match moved.at {
                Ok(Some(at)) => {
                    last = Some(at);
                    done.buffers += 1;
                    done.bytes += buffer.map_or(0, |buffer| buffer.size);
                    LastUses::from(at)
                }
                Ok(None) => LastUses::default(),
                Err(error) => {
                    failed = Some(error);
                    LastUses::default()
                }
            };
            left.push((moved.left, used));
        }
        drop(one_at_a_time);
        drop(submit);
        for (block, used) in left {
            self.device.block_gone(block, used);
        }
        match failed {
            Some(error) => Err(self.device.broken(error)),
            None => Ok(last),
        }
    }

    fn may_move(&self, buffer: &Buffer) -> bool {
        !buffer.home.is_fixed() && !buffer.mark.glance().pending && buffer.is_idle()
    }

    /// Moves one buffer, if it may still be moved.
    fn relocate(&self, submit: &mut Submit, buffer: &Arc<Buffer>, from: (u64, u64), to: Block) -> Moved {
        let Some(mut marked) = Marked::take(buffer) else { return Moved { left: to, at: Ok(None) } };
        if buffer.home.place_in(&to.set) != Some(from) || !self.may_move(buffer) {
            return Moved { left: to, at: Ok(None) };
        }
        let at = Use { queue: self.queue.index, position: self.queue.advance(submit, 1) };
        if let Err(failed) = self.enqueue_move(at.position, buffer, &to, &mut marked) {
            // Its position completes all the same.
            self.queue.native.mark(at.position);
            return Moved { left: to, at: Err(failed) };
        }
        buffer.uses.note_write(at);
        Moved { left: buffer.home.move_to(to), at: Ok(Some(at)) }
    }

    fn enqueue_move(
        &self,
        at: u64,
        buffer: &Arc<Buffer>,
        to: &Block,
        marked: &mut Marked<'_>,
    ) -> std::result::Result<(), DeviceError> {
        let span = Span { buffer, offset: 0, size: buffer.size };
        if self.device.capabilities().fails_late {
            let subject = Subject { name: &NAME, label: buffer.label(), fails_late: true, calls: 1, parts: None };
            let touches = [Touch { span, reads: true, write: Write::Whole, rows: None }];
            let about = subject.about((self.queue.id << 40) | at, self.id);
            let recorded = late::record(
                &self.queue,
                at..=at,
                late::Who { about, parts: None, can_fail: true },
                &touches,
                [].into_iter(),
                None,
            );
            recorded.map_err(|_| DeviceError::OutOfMemory { asked: 0, free: 0 })?;
            marked.found.pending = late::is_pending(buffer.id);
        }
        self.queue.native.copy(at, section::region(&span)?, to.region(0, buffer.size))
    }
}

/// What came of a move.
struct Moved {
    /// The block to give back, with no lock held: the old one, or the new one when nothing came of it.
    left: Block,
    /// When the copy is over. `None`: somebody uses the buffer after all.
    at: std::result::Result<Option<Use>, DeviceError>,
}

/// The exclusive mark of a buffer, taken only if nobody has to be waited for.
struct Marked<'a> {
    buffer: &'a Arc<Buffer>,
    found: Found,
}

impl<'a> Marked<'a> {
    fn take(buffer: &'a Arc<Buffer>) -> Option<Self> {
        Some(Self { buffer, found: buffer.mark.try_exclusive().ok()? })
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        let dirty = !self.buffer.map.lock().is_clean();
        if self.buffer.mark.release_exclusive(Found { dirty, ..self.found }) {
            self.buffer.device.gate.wake();
        }
    }
}
