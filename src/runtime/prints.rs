//! What kernels print, on its way from the devices to the host's log callback. Lines are told in the order of a launch, with no lock held (F4).
//!
//! Idle, and free of cost but for one load, unless a launch that may print has not been heard of. Lock order: a leaf.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compute_hal::Printed;
use once_cell::sync::Lazy;
use parking_lot::Mutex;

use super::log;
use super::queue::Queue;

static ACTIVE: AtomicBool = AtomicBool::new(false);
static STATE: Lazy<Mutex<HashMap<u64, Pending>>> = Lazy::new(Mutex::default);

/// A queue's launches that may print.
struct Pending {
    /// Kept: what was printed is told even when every handle is gone.
    queue: Arc<Queue>,
    launches: VecDeque<Launched>,
}

#[derive(Clone)]
struct Launched {
    at: u64,
    kernel: Arc<str>,
    label: Box<str>,
}

/// Notes a launch that may print, before the device hears of it. The caller holds the queue's submission lock.
pub(crate) fn expect(queue: &Arc<Queue>, at: u64, kernel: &Arc<str>, label: &str) {
    let mut state = STATE.lock();
    let pending = state.entry(queue.id).or_insert_with(|| Pending { queue: Arc::clone(queue), launches: VecDeque::new() });
    pending.launches.push_back(Launched { at, kernel: Arc::clone(kernel), label: label.into() });
    ACTIVE.store(true, Ordering::Release);
}

/// Tells what devices have printed by now. The caller holds no lock and no mark.
pub(crate) fn deliver() {
    if !ACTIVE.load(Ordering::Acquire) {
        return;
    }
    let mut told = Vec::new();
    // Goes after the lock: it may be the last user of its device.
    let mut done = Vec::new();
    let mut state = STATE.lock();
    state.retain(|_, pending| {
        // First how far it is, then what it printed: what completes in between stays.
        let completed = pending.queue.native.completed();
        for printed in pending.queue.native.take_printed() {
            if let Some(launch) = pending.launches.iter().find(|launch| launch.at == printed.position) {
                told.push((launch.clone(), printed));
            }
        }
        while pending.launches.front().is_some_and(|launch| launch.at <= completed) {
            pending.launches.pop_front();
        }
        if pending.launches.is_empty() {
            done.push(Arc::clone(&pending.queue));
        }
        !pending.launches.is_empty()
    });
    ACTIVE.store(!state.is_empty(), Ordering::Release);
    drop(state);
    drop(done);
    for (launch, printed) in &told {
        tell(launch, printed);
    }
}

fn tell(launch: &Launched, printed: &Printed) {
    let mut who = format!("`{}`", launch.kernel);
    if !launch.label.is_empty() {
        let _ = write!(who, " `{}`", launch.label);
    }
    for line in &printed.output.lines {
        let [x, y, z] = line.invocation;
        log::print(&format!("{who} ({x}, {y}, {z}): {}", line.text));
    }
    let lost = printed.output.lost;
    if lost > 0 {
        log::print(&format!("{who}: {lost} more lines were lost; raise `print_size` of the kernel"));
    }
}
