//! Where log lines go: nowhere, until the host gives a callback. Lines are made and sent with no lock held (F4).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use compute_trust::Failure;
use parking_lot::{Mutex, RwLock};

/// How much a line matters: smaller is more.
pub const ERROR: u32 = 1;
/// Skips, and folders that cannot be used.
pub const WARNING: u32 = 2;
/// Launches.
pub const LAUNCHES: u32 = 3;
/// What kernels print. Not a degree like the others: told whatever the level, and given as a level it means prints and nothing else.
pub const PRINT: u32 = 64;

/// Takes lines with their level.
pub type Sink = Arc<dyn Fn(u32, &str) + Send + Sync>;

static LEVEL: AtomicU32 = AtomicU32::new(0);
static PRINTS: AtomicBool = AtomicBool::new(false);
static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// Sets where lines up to `level` go; 0 or `None` is nowhere.
pub fn set(level: u32, sink: Option<Sink>) {
    let level = if sink.is_some() { level } else { 0 };
    let old = std::mem::replace(&mut *SINK.write(), sink);
    LEVEL.store(if level == PRINT { 0 } else { level }, Ordering::Release);
    PRINTS.store(level > 0, Ordering::Release);
    drop(old);
}

/// Whether somebody listens to what kernels print.
pub(crate) fn hears_prints() -> bool {
    PRINTS.load(Ordering::Acquire)
}

/// Sends what a kernel printed.
pub(crate) fn print(text: &str) {
    if !hears_prints() {
        return;
    }
    let sink = SINK.read().clone();
    if let Some(sink) = sink {
        sink(PRINT, text);
    }
}

/// Lines that were made where locks were held.
static HELD_BACK: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());
static HOLDS_BACK: AtomicBool = AtomicBool::new(false);

/// As [`line`], where a lock may be held: sent by the next [`send_held_back`].
#[cold]
pub(crate) fn line_held_back(level: u32, text: impl FnOnce() -> String) {
    if hears(level) {
        let text = text();
        let mut held = HELD_BACK.lock();
        // Where there is no memory for it, it is not told: who logs must not end what goes on (F2).
        if held.try_reserve(1).is_ok() {
            held.push((level, text));
            HOLDS_BACK.store(true, Ordering::Release);
        }
    }
}

/// Sends what was held back. The caller holds no lock.
pub fn send_held_back() {
    if HOLDS_BACK.load(Ordering::Relaxed) && HOLDS_BACK.swap(false, Ordering::Acquire) {
        let lines = std::mem::take(&mut *HELD_BACK.lock());
        for (level, text) in lines {
            line(level, || text);
        }
    }
}

/// Whether somebody listens to lines of a level.
#[inline]
pub(crate) fn hears(level: u32) -> bool {
    level <= LEVEL.load(Ordering::Acquire)
}

/// Sends a line, which is made only when somebody listens.
#[inline]
pub(crate) fn line(level: u32, text: impl FnOnce() -> String) {
    if hears(level) {
        send(level, text);
    }
}

#[cold]
fn send(level: u32, text: impl FnOnce() -> String) {
    let sink = SINK.read().clone();
    if let Some(sink) = sink {
        sink(level, &text());
    }
}

pub(crate) fn failure(failure: &Arc<Failure>) {
    line(ERROR, || format!("failure {}: {}", failure.id(), failure.error()));
}
