//! Which launches may have ended the device. The driver tells a fault at the next call, whichever that is, and never whose it was; so each queue keeps a short list
//! of what it has launched, and what of it was not over is what may have been it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use compute_hal::kernel::lower::Violation;
use compute_hal::{KernelId, Position};

use crate::device::Shared;
use crate::flight::Progress;
use crate::lane::OPERATIONS;

/// Launches of a queue that are kept: as many as lie between two markers.
const KEPT: usize = OPERATIONS as usize;
/// Names that are told.
const TOLD: usize = 4;
/// No kernel has this id.
const GRAPH: u64 = u64::MAX;

/// The last launches of a queue. Written by whoever enqueues, one at a time; read when the device has ended, so a torn entry is only a name too many.
pub(crate) struct Recent {
    next: AtomicUsize,
    entries: [(AtomicU64, AtomicU64); KEPT],
}

impl Default for Recent {
    fn default() -> Self {
        Self { next: AtomicUsize::new(0), entries: std::array::from_fn(|_| Default::default()) }
    }
}

impl Recent {
    /// A launch, or with no kernel a graph.
    pub(crate) fn note(&self, at: Position, kernel: Option<KernelId>) {
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
        if let Some((position, id)) = self.entries.get(next % KEPT) {
            position.store(at, Ordering::Relaxed);
            id.store(kernel.map_or(GRAPH, |kernel| kernel.0), Ordering::Relaxed);
        }
    }

    /// Those behind a position, the oldest first.
    fn behind(&self, done: Position) -> Vec<u64> {
        let next = self.next.load(Ordering::Relaxed);
        let places = (0..KEPT).map(|n| next.wrapping_add(n) % KEPT).filter_map(|place| self.entries.get(place));
        let read = places.map(|(at, id)| (at.load(Ordering::Relaxed), id.load(Ordering::Relaxed)));
        read.filter(|(at, _)| *at > done).map(|(_, id)| id).collect()
    }
}

/// The launches of a device that may have ended it, as a sentence that calls it `whose`; `None`: all of its launches were known to be over.
pub(crate) fn sentence<'a>(shared: &Shared, whose: &str, queues: impl Iterator<Item = &'a Progress>) -> Option<String> {
    let (mut names, mut count, mut full) = (Vec::<String>::new(), 0, false);
    for queue in queues {
        let launched = queue.recent.behind(queue.completed());
        count += launched.len();
        full |= launched.len() == KEPT;
        for id in launched {
            let name = match id {
                GRAPH => "a graph".to_owned(),
                id => name(shared, KernelId(id)),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let more = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    let mut told = names.join(", ");
    if more > 0 {
        told.push_str(&format!(" and {more} more"));
    }
    match (count, full) {
        (0, _) => None,
        (1, _) => Some(format!("The only launch of {whose} that was not known to be over was {told}")),
        (_, false) => Some(format!("{count} launches of {whose} were not known to be over: {told}")),
        (_, true) => Some(format!("Of the launches of {whose} that were not known to be over the last {count} were of {told}")),
    }
}

/// An index out of range that a launch of a device has recorded before its end, as a sentence: what others have done with the same index may be what has ended it.
pub(crate) fn violation<'a>(shared: &Shared, mut queues: impl Iterator<Item = &'a Progress>) -> Option<String> {
    let (kernel, found) = queues.find_map(Progress::violation)?;
    let Violation { location, what, .. } = found;
    let name = name(shared, kernel);
    let what = if what.is_empty() { String::new() } else { format!(" into `{what}`") };
    Some(format!("Before that, {name} had an index{what} out of range at {}:{}", location.line, location.column))
}

fn name(shared: &Shared, id: KernelId) -> String {
    shared.with_kernel(id, |kernel| Ok(format!("`{}`", kernel.name))).unwrap_or_else(|_| "a kernel that is gone".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launches_are_kept_in_their_order_and_those_that_are_over_are_left_out() {
        let recent = Recent::default();
        assert!(recent.behind(0).is_empty());
        for at in 1..=KEPT as u64 + 36 {
            recent.note(at, Some(KernelId(at * 2)));
        }
        recent.note(KEPT as u64 + 37, None);
        let last = KEPT as u64 * 2 + 72;
        assert_eq!(recent.behind(KEPT as u64 + 34), [last - 2, last, GRAPH]);
        let all = recent.behind(0);
        assert_eq!((all.len(), all[0]), (KEPT, 76));
    }
}
