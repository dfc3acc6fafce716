//! What kernels print, on its way from the devices to the host's log callback. Lines are told in the order of a launch, with no lock held (F4).
//!
//! Idle, and free of cost but for one load, unless a launch that may print has not been heard of. Lock order: a leaf.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compute_hal::Printed;
use compute_trust::{NoMemory, Part};
use once_cell::sync::Lazy;
use parking_lot::Mutex;

use super::log;
use super::queue::Queue;

static ACTIVE: AtomicBool = AtomicBool::new(false);
static STATE: Lazy<Mutex<HashMap<u64, Pending>>> = Lazy::new(Mutex::default);

/// A queue's launches that may print.
struct Pending {
    /// Kept: what was printed is told even when every handle is gone, at the next call of any device or by [`super::late::outlive`].
    queue: Arc<Queue>,
    launches: VecDeque<Launched>,
    /// Launches that there is room for, and that have not been noted yet.
    expected: usize,
}

#[derive(Clone)]
struct Launched {
    at: u64,
    kernel: Arc<str>,
    label: String,
    /// Of a replay at one position: the names of its nodes.
    nodes: Option<Arc<Vec<Part>>>,
}

/// Room for a launch that may print, so that noting it needs no memory (F2). Given back when dropped.
pub(crate) struct Expected<'a> {
    queue: &'a Arc<Queue>,
    launch: Option<Launched>,
}

/// Makes room. The caller holds no lock.
pub(crate) fn expect<'a>(queue: &'a Arc<Queue>, kernel: &Arc<str>, label: &str) -> Result<Expected<'a>, NoMemory> {
    let mut text = String::new();
    text.try_reserve_exact(label.len()).map_err(|_| NoMemory)?;
    text.push_str(label);
    let mut state = STATE.lock();
    state.try_reserve(1).map_err(|_| NoMemory)?;
    let new = || Pending { queue: Arc::clone(queue), launches: VecDeque::new(), expected: 0 };
    let pending = state.entry(queue.id).or_insert_with(new);
    // Counted before anything can fail, so that the answer gives it back.
    pending.expected += 1;
    ACTIVE.store(true, Ordering::Release);
    let room = pending.launches.try_reserve(pending.expected);
    drop(state);
    let launch = Launched { at: 0, kernel: Arc::clone(kernel), label: text, nodes: None };
    let expected = Expected { queue, launch: Some(launch) };
    room.map_err(|_| NoMemory)?;
    Ok(expected)
}

impl Expected<'_> {
    /// What is printed comes from these nodes.
    pub(crate) fn of_nodes(mut self, nodes: Option<&Arc<Vec<Part>>>) -> Self {
        if let Some(launch) = &mut self.launch {
            launch.nodes = nodes.map(Arc::clone);
        }
        self
    }

    /// Notes the launch, before the device hears of it. The caller holds the queue's submission lock.
    pub(crate) fn note(&mut self, at: u64) {
        let Some(launch) = self.launch.take() else { return };
        if let Some(pending) = STATE.lock().get_mut(&self.queue.id) {
            pending.launches.push_back(Launched { at, ..launch });
            pending.expected -= 1;
        }
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        if self.launch.is_some()
            && let Some(pending) = STATE.lock().get_mut(&self.queue.id)
        {
            pending.expected -= 1;
        }
    }
}

/// Whether launches of a queue may have printed what has not been heard of.
pub(crate) fn expects(queue: u64) -> bool {
    ACTIVE.load(Ordering::Acquire) && STATE.lock().contains_key(&queue)
}

/// Tells what devices have printed by now. The caller holds no lock and no mark.
#[inline]
pub(crate) fn deliver() {
    if ACTIVE.load(Ordering::Acquire) {
        collect().tell();
    }
}

/// What devices have printed, on its way to the host.
pub(crate) struct Printouts(Vec<(Launched, Printed)>);

impl Printouts {
    /// Calls the host.
    pub(crate) fn tell(&self) {
        for (launch, printed) in &self.0 {
            tell(launch, printed);
        }
    }
}

/// Asks the devices. The caller holds no lock and no mark.
#[cold]
pub(crate) fn collect() -> Printouts {
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
        let over = pending.launches.is_empty() && pending.expected == 0;
        if over {
            done.push(Arc::clone(&pending.queue));
        }
        !over
    });
    ACTIVE.store(!state.is_empty(), Ordering::Release);
    drop(state);
    drop(done);
    Printouts(told)
}

fn tell(launch: &Launched, printed: &Printed) {
    let is_it = |part: &&Part| Some(part.number) == printed.node;
    let node = launch.nodes.as_ref().and_then(|nodes| nodes.iter().find(is_it));
    let (kernel, label) = node.map_or((&launch.kernel, &*launch.label), |node| (&node.kernel, &node.label));
    let mut who = format!("`{kernel}`");
    if !label.is_empty() {
        let _ = write!(who, " `{label}`");
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
