//! Events: a moment in a stream's work, or the end of an asynchronous read. Poll, wait, callback, a wake-up for the host's own loop.
//!
//! A recorded event reports only a fault of the device (T10); the event of a read answers for the bytes (T8).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::HostTarget;
use compute_memory::Footprint;
use compute_trust::{Error, Watch};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use super::buffer::View;
use super::device::Device;
use super::error::{Failed, Result, error, fail, poisoned};
use super::queue::Queue;
use super::stream::{Stream, Wait, wait};
use super::{code, late, log, prints, trust};

/// An event.
pub struct Event {
    device: Arc<Device>,
    queue: Arc<Queue>,
    position: u64,
    stamped: bool,
    /// Host memory is the device's until it is over (T12).
    borrows: bool,
    read: Option<Mutex<Read>>,
    sleepers: Arc<Sleepers>,
}

/// A read that is on its way.
pub(crate) struct Read {
    /// Where the bytes wait while something that they derive from may still fail (T13).
    pub(crate) staging: Option<HostTarget>,
    /// There were, whatever has become of them.
    pub(crate) aside: bool,
    pub(crate) target: HostTarget,
    /// Of the target, only these rows; none: all of it.
    pub(crate) rows: Option<Box<Footprint>>,
    pub(crate) view: View,
    pub(crate) watch: Option<Arc<Watch>>,
    /// How it ended, once it has.
    pub(crate) done: Option<Result<()>>,
}

/// Called once with how an event ended.
pub type Callback = Box<dyn FnOnce(Result<()>) + Send>;

type Due = SmallVec<[(Arc<Event>, Callback); 4]>;

/// Callbacks that wait for somebody to poll.
#[derive(Default)]
pub(crate) struct Callbacks {
    waiting: Mutex<Vec<(Arc<Event>, Callback)>>,
    any: AtomicBool,
}

impl Event {
    /// The moment after all that was enqueued on the stream so far (S2).
    pub fn record(stream: &Stream) -> Result<Arc<Self>> {
        stream.refused_recording("recording an event")?;
        let _guard = stream.device.guard();
        let mut submit = stream.queue.lock(&stream.device)?;
        // Before the position is given out: one that no mark follows would never complete.
        let next = submit.last.saturating_add(1);
        let stamped = stream.device.capabilities().timestamps && stream.queue.native.stamp(next).is_ok();
        let position = stream.queue.advance(&mut submit, 1);
        stream.queue.native.mark(position);
        drop(submit);
        Ok(Arc::new(Self {
            device: Arc::clone(&stream.device),
            queue: Arc::clone(&stream.queue),
            position,
            stamped,
            borrows: false,
            read: None,
            sleepers: Arc::default(),
        }))
    }

    /// The end of work at a position that borrows host memory, unless that is ours; of a read, when `read` is given.
    pub(crate) fn at(stream: &Stream, position: u64, read: Option<Read>) -> Arc<Self> {
        Arc::new(Self {
            device: Arc::clone(&stream.device),
            queue: Arc::clone(&stream.queue),
            position,
            stamped: false,
            borrows: read.as_ref().is_none_or(|read| !read.target.is_ours()),
            read: read.map(Mutex::new),
            sleepers: Arc::default(),
        })
    }

    /// Makes later work of a stream of the same device wait for it, on the device (S2).
    pub fn hold(&self, stream: &Stream) -> Result<()> {
        if !Arc::ptr_eq(&self.device, &stream.device) {
            return fail(
                code::FOREIGN_HANDLE,
                "the event belongs to another device than the stream; wait for it on the host instead",
            );
        }
        // What is over is waited for in no time; a graph cannot wait for anything else that is not its own (G2).
        if stream.window.is_recording() && self.is_over() {
            return Ok(());
        }
        stream.refused_recording("a wait for unfinished work")?;
        let _guard = stream.device.guard();
        let mut submit = stream.queue.lock(&stream.device)?;
        if Arc::ptr_eq(&self.queue, &stream.queue) || self.queue.native.completed() >= self.position {
            return Ok(());
        }
        let waited = stream.queue.native.wait_for(self.queue.native.id(), self.position);
        if waited.is_ok() {
            stream.queue.mark_wait(&mut submit);
        }
        drop(submit);
        waited.map_err(|failed| stream.device.broken(failed))
    }

    /// Whether it is over: `TimedOut` when not. Runs callbacks that are due.
    pub fn poll(&self) -> Result<Wait> {
        self.wait(Some(Duration::ZERO))
    }

    /// Waits on the host. Runs callbacks that are due.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Wait> {
        let answer = self.wait_quietly(timeout);
        run_due(&self.device);
        answer
    }

    fn wait_quietly(&self, timeout: Option<Duration>) -> Result<Wait> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.answered(self.wait_for_end(deadline))
    }

    /// What the caller is told. A read ends with any error but those after which it may be asked again: bytes that have arrived may be had no second time.
    fn answered<T>(&self, answer: Result<T>) -> Result<T> {
        match answer {
            Err(failed) if failed.error.code == code::OUT_OF_MEMORY && self.is_unanswered() => {
                if !self.borrows {
                    return Err(failed);
                }
                let made = error(
                    code::STILL_BORROWED,
                    format!(
                        "whether these bytes can be trusted is not known yet, ask again before you free their memory: {failed}"
                    ),
                );
                Err(Failed::of(Error { answers: failed.error.answers, ..made }))
            }
            Err(failed) if failed.error.code != code::STILL_BORROWED => {
                self.give_up(&failed);
                Err(failed)
            }
            answer => answer,
        }
    }

    /// Whether it is that of a read of which nobody was told how it ended.
    fn is_unanswered(&self) -> bool {
        self.read.as_ref().is_some_and(|read| read.lock().done.is_none())
    }

    fn wait_for_end(&self, deadline: Option<Instant>) -> Result<Wait> {
        if let Some(failed) = self.failed() {
            return Err(failed);
        }
        if self.borrows {
            self.wait_for_memory(deadline)?;
        }
        match wait(&self.device, &self.queue, self.position, deadline) {
            Ok(Wait::TimedOut) => Ok(Wait::TimedOut),
            Ok(Wait::Done) => self.finish().map(|()| Wait::Done),
            Err(failed) if self.is_reached() => fail(
                code::STILL_BORROWED,
                format!("the device may still reach this host memory, as a wait for it failed: {failed}"),
            ),
            Err(failed) => Err(failed),
        }
    }

    /// Waits until a blocking call may give back host memory that it lent to the device.
    pub(crate) fn wait_for_lent(&self) -> Result<Wait> {
        /// Also when the wait panics.
        struct Lent<'a>(&'a Event);
        impl Drop for Lent<'_> {
            fn drop(&mut self) {
                self.0.outlast();
            }
        }
        let _lent = Lent(self);
        let answer = loop {
            match self.wait_for_end(None) {
                Err(failed) if failed.error.code == code::STILL_BORROWED => self.outlast(),
                // Nobody can ask again.
                answer => break answer.inspect_err(|failed| self.give_up(failed)),
            }
        };
        run_due(&self.device);
        answer
    }

    /// Whether the device writes to memory of ours. On a device beyond use nothing goes on from there to the caller's.
    fn is_staged(&self) -> bool {
        self.read.as_ref().is_some_and(|read| read.lock().aside)
    }

    /// Whether the device itself may still reach the caller's memory.
    fn is_reached(&self) -> bool {
        self.borrows && !self.is_over() && !self.is_staged()
    }

    /// The error with which a read has ended.
    pub(super) fn failed(&self) -> Option<Arc<Failed>> {
        self.read.as_ref().and_then(|read| read.lock().done.clone()?.err())
    }

    /// Sleeps until it is over, by means that cannot fail.
    pub(super) fn outlast(&self) {
        if self.is_over() || self.is_staged() && self.device.fault().is_some() {
            return;
        }
        // What is only collected so far would never end.
        let _ = catch_unwind(AssertUnwindSafe(|| self.queue.native.submit()));
        while !self.is_over() {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// T12: on a device beyond use, host memory is the caller's again only once its work is over, one way or another.
    fn wait_for_memory(&self, deadline: Option<Instant>) -> Result<()> {
        if self.device.fault().is_none() || self.is_over() || self.is_staged() {
            return Ok(());
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let _guard = self.device.guard();
        let _ = self.queue.native.wait(self.position, left);
        if self.is_over() {
            return Ok(());
        }
        fail(code::STILL_BORROWED, "the device is beyond use and may still reach this host memory; ask again before you free it")
    }

    /// Whether its work is over, successful or not.
    fn is_over(&self) -> bool {
        self.queue.native.completed() >= self.position
    }

    /// How it ended. Its position has completed.
    fn finish(&self) -> Result<()> {
        prints::deliver();
        let mut unlogged = late::Unlogged::default();
        let ended = self.take_bytes(&mut unlogged);
        unlogged.tell();
        ended
    }

    /// The same on a thread of the library's, which the end of the process must not meet inside a driver. The host is called outside.
    fn finish_on_worker(&self) -> Result<()> {
        let inside = self.device.native.inside();
        let printed = prints::collect();
        let mut unlogged = late::Unlogged::default();
        let ended = self.take_bytes(&mut unlogged);
        drop(inside);
        printed.tell();
        unlogged.tell();
        ended
    }

    /// Ends a read. The answer ends the borrowing: from then on nothing is written to the caller's memory, which may be gone.
    fn take_bytes(&self, unlogged: &mut late::Unlogged) -> Result<()> {
        self.device.check().inspect_err(|failed| self.give_up(failed))?;
        let Some(read) = &self.read else { return Ok(()) };
        let settled = if late::active() { late::settle_unlogged(unlogged) } else { Ok(()) };
        let mut read = read.lock();
        // Again: another thread may have answered that the device has ended.
        match settled.and_then(|()| self.device.check()) {
            // The bytes go on waiting.
            Err(failed) if failed.error.code == code::OUT_OF_MEMORY && read.done.is_none() => Err(failed),
            settled => read.end(settled),
        }
    }

    /// A read ends with an error that is told to the caller.
    fn give_up(&self, failed: &Arc<Failed>) {
        if let Some(read) = &self.read {
            let _ = read.lock().end(Err(Arc::clone(failed)));
        }
    }

    /// Device time in nanoseconds when it came about.
    pub fn time(&self) -> Result<Option<u64>> {
        self.device.check()?;
        if !self.stamped {
            return fail(
                code::UNSUPPORTED,
                "this event carries no time: the device has no timestamps, or the event is that of a read or write",
            );
        }
        if !self.is_over() {
            return Ok(None);
        }
        let kept = self.queue.native.timestamp(self.position);
        kept.map_or_else(|| fail(code::NOT_FOUND, "the device has not kept the time of this event"), |time| Ok(Some(time)))
    }

    /// Calls `callback` once, from a thread that polls or waits for anything of this device; at once when it is over already.
    pub fn on_poll(self: &Arc<Self>, callback: Callback) -> Result<()> {
        if self.is_over() {
            call(callback, self.ended(Self::finish));
            return Ok(());
        }
        let callbacks = &self.device.callbacks;
        let mut waiting = callbacks.waiting.lock();
        if waiting.try_reserve(1).is_err() {
            return fail(code::OUT_OF_MEMORY, "no host memory for one more callback; it will not be called");
        }
        waiting.push((Arc::clone(self), callback));
        callbacks.any.store(true, Ordering::Release);
        drop(waiting);
        if self.device.has_ended() {
            callbacks.end(&self.device);
        }
        Ok(())
    }

    /// Calls `callback` once, from a thread of the library, as soon as it is over.
    pub fn on_worker(self: &Arc<Self>, callback: Callback) -> Result<()> {
        let watcher = watcher()?;
        let event = Arc::clone(self);
        let job = move || {
            call(callback, event.ended(Self::finish_on_worker));
            // It may be the last user of its device.
            let inside = event.device.native.inside();
            drop(event);
            drop(inside);
        };
        self.queue.native.notify(
            self.position,
            Box::new(move || {
                // The watcher lives as long as the process.
                let _ = watcher.send(Box::new(job));
            }),
        );
        Ok(())
    }

    /// How it ended, for a callback, which is to be called even when finding that out panics (F4).
    fn ended(&self, finish: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        let ended = catch_unwind(AssertUnwindSafe(|| finish(self)))
            .unwrap_or_else(|_| fail(code::INTERNAL, "the library panicked while it found out how this event had ended"));
        self.answered(ended)
    }

    /// Calls `wake` once, from any thread and with no lock held, when it is over. The bytes of a read may come only with the answer of a poll or wait.
    pub fn notify(&self, wake: Box<dyn FnOnce() + Send>) {
        self.queue.native.notify(self.position, wake);
    }
}

impl Read {
    /// How it ended, the first time that it is asked.
    fn end(&mut self, answer: Result<()>) -> Result<()> {
        if self.done.is_none() {
            let ended = answer.and_then(|()| self.finish());
            self.staging = None;
            self.done = Some(ended);
        }
        self.done.clone().unwrap_or(Ok(()))
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(failure) = self.watch.take().and_then(|watch| watch.failure()) {
            return Err(trust::unwritten(&failure, self.view.buffer.id));
        }
        if let Some(staging) = self.staging.take() {
            self.store(&staging);
        }
        Ok(())
    }

    fn store(&self, staging: &HostTarget) {
        let Some(rows) = &self.rows else { return self.target.store(staging) };
        for row in rows.each() {
            let part = |of: &HostTarget| of.part(row.start, row.end - row.start);
            if let (Some(to), Some(from)) = (part(&self.target), part(staging)) {
                to.store(&from);
            }
        }
    }
}

impl Callbacks {
    /// Those that are due, in order; and whether there are more of them, for which there was no host memory.
    fn take_due(&self, all: bool) -> (Due, bool) {
        let is_due = |event: &Event| all || event.is_over();
        let mut due = Due::new();
        let mut waiting = self.waiting.lock();
        let count = waiting.iter().filter(|(event, _)| is_due(event)).count();
        let room = if due.try_reserve(count).is_ok() { count } else { due.capacity() };
        let mut left = room;
        let taken = waiting.extract_if(.., |(event, _)| {
            let take = left > 0 && is_due(event);
            left -= usize::from(take);
            take
        });
        due.extend(taken);
        self.any.store(!waiting.is_empty(), Ordering::Release);
        (due, room < count)
    }

    /// Calls those that are due with what `answer` says, with no lock held.
    fn tell_due(&self, all: bool, answer: impl Fn(&Event) -> Result<()>) {
        loop {
            let (due, more) = self.take_due(all);
            for (event, callback) in due {
                call(callback, answer(&event));
            }
            if !more {
                return;
            }
        }
    }

    /// Tells everybody who still waits that the device has ended.
    pub(crate) fn end(&self, device: &Device) {
        self.tell_due(true, |event| {
            let answer = match device.fault() {
                _ if event.is_reached() => fail(
                    code::STILL_BORROWED,
                    "the device has ended before this event was over, and may still reach the host memory; ask the event again before you free it",
                ),
                Some(cause) => Err(Failed::of(poisoned(&cause))),
                None if event.is_over() => event.ended(Event::finish),
                None => Err(Failed::of(error(
                    code::ABANDONED,
                    "the device was destroyed before this event was over; its work goes on",
                ))),
            };
            match &answer {
                Err(failed) if failed.error.code != code::STILL_BORROWED => event.give_up(failed),
                _ => {}
            }
            answer
        });
    }
}

/// Runs the callbacks of a device that are due, with no lock held (F4).
pub(crate) fn run_due(device: &Device) {
    if !device.callbacks.any.load(Ordering::Acquire) {
        return;
    }
    device.callbacks.tell_due(false, |event| event.ended(Event::finish));
}

/// One that unwinds must not take the others with it: each is called once (F4).
fn call(callback: Callback, answer: Result<()>) {
    log::send_held_back();
    if catch_unwind(AssertUnwindSafe(|| callback(answer))).is_err() {
        log::line(log::ERROR, || "a callback for an event panicked".into());
    }
}

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// The thread that runs worker callbacks; started by the first.
pub(super) fn watcher() -> Result<mpsc::Sender<Job>> {
    static WATCHER: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);
    let mut started = WATCHER.lock();
    if let Some(sender) = &*started {
        return Ok(sender.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    let run = move || {
        for job in jobs {
            // A callback that unwinds must not take the others with it.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    };
    match std::thread::Builder::new().name("compute-watcher".into()).spawn(run) {
        Ok(_) => Ok(started.insert(sender).clone()),
        Err(why) => fail(
            code::OUT_OF_MEMORY,
            format!("no thread could be started for callbacks ({why}); ask for them on the polling thread instead"),
        ),
    }
}

/// Waits for one or all of several events, of any devices. Answers the index of one that is over.
pub fn wait_several(events: &[Arc<Event>], all: bool, timeout: Option<Duration>) -> Result<Option<usize>> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    if events.is_empty() {
        return fail(code::INVALID_ARGUMENT, "a wait for none of any events would never end; give at least one");
    }
    let answer = if all { wait_all(events, deadline) } else { wait_any(events, deadline) };
    events.iter().for_each(|event| run_due(&event.device));
    answer
}

fn wait_any(events: &[Arc<Event>], deadline: Option<Instant>) -> Result<Option<usize>> {
    let sleeper = Sleeper { events, signal: Arc::default() };
    let mut asked = false;
    loop {
        // Of a device beyond use, events say so (T12), those that lent memory only when they are over.
        let tells = |event: &Arc<Event>| event.is_over() || (!event.borrows && event.device.fault().is_some());
        if let Some(index) = events.iter().position(tells) {
            return events[index].wait(Some(Duration::ZERO)).map(|_| Some(index));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        if !asked {
            events.iter().for_each(|event| event.tell(&sleeper.signal));
            asked = true;
        }
        let mut guard = sleeper.signal.lock.lock();
        // Whoever wakes takes the lock first, so an event that ends after this look is not missed.
        if events.iter().any(|event| event.is_over()) {
            continue;
        }
        match deadline {
            Some(deadline) => {
                sleeper.signal.woken.wait_until(&mut guard, deadline);
            }
            None => sleeper.signal.woken.wait(&mut guard),
        }
    }
}

/// What a thread sleeps on that waits for one of several events.
#[derive(Default)]
struct Signal {
    lock: Mutex<()>,
    woken: Condvar,
}

/// Who is told when an event is over. The device is asked once per event, so that waits that run out of time leave nothing behind.
#[derive(Default)]
struct Sleepers {
    asked: AtomicBool,
    signals: Mutex<Vec<Arc<Signal>>>,
}

struct Sleeper<'a> {
    events: &'a [Arc<Event>],
    signal: Arc<Signal>,
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        for event in self.events {
            event.sleepers.signals.lock().retain(|other| !Arc::ptr_eq(other, &self.signal));
        }
    }
}

impl Event {
    fn tell(&self, signal: &Arc<Signal>) {
        let _guard = self.device.guard();
        self.sleepers.signals.lock().push(Arc::clone(signal));
        // What is only collected so far would never end; a fault is found by the wait that follows.
        let _ = self.queue.native.submit();
        if self.sleepers.asked.swap(true, Ordering::SeqCst) {
            return;
        }
        let sleepers = Arc::clone(&self.sleepers);
        self.notify(Box::new(move || {
            // It is over by now, so whoever comes later sees that.
            let signals = std::mem::take(&mut *sleepers.signals.lock());
            for signal in signals {
                drop(signal.lock.lock());
                signal.woken.notify_all();
            }
        }));
    }
}

fn wait_all(events: &[Arc<Event>], deadline: Option<Instant>) -> Result<Option<usize>> {
    let mut first = None;
    for (index, event) in events.iter().enumerate() {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match event.wait(left) {
            Ok(Wait::Done) => {}
            Ok(Wait::TimedOut) => return Ok(None),
            // The others are waited for all the same; the first error is the answer.
            Err(failed) => first = first.or(Some((index, failed))),
        }
    }
    match first {
        Some((_, failed)) => Err(failed),
        None => Ok(Some(0)),
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event(queue {}, position {})", self.queue.id, self.position)
    }
}
