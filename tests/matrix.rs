//! A scenario over two streams, with every call of the device failing in every way: what is read is right, or an error that leads to that failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::*;
use compute::registry::{Faults, How};
use compute::runtime::{self, Binding, Device, Event, Failed, Input, Source, Stream, Wait, code};
use compute_hal::{HostSource, HostTarget};

const SCALE: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(2) var<uniform> n: u32;
@compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&o)) { o[id.x] = a[id.x] * n; }
}";

const WORDS: usize = 4096;
const BYTES: u64 = WORDS as u64 * 4;

/// What a step of the scenario came to: nothing, or what it answered.
type Answer = Result<(), Arc<Failed>>;

/// One run: every answer with the name of its step, in order, and what was called back.
struct Run {
    answers: Vec<(&'static str, Answer)>,
    panics: usize,
    callbacks: Arc<AtomicU32>,
    registered: u32,
}

impl Run {
    fn step<T>(&mut self, name: &'static str, step: impl FnOnce() -> runtime::Result<T>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Ok(value)) => {
                self.answers.push((name, Ok(())));
                Some(value)
            }
            Ok(Err(failed)) => {
                self.answers.push((name, Err(failed)));
                None
            }
            Err(_) => {
                self.panics += 1;
                None
            }
        }
    }

    /// A read, whose bytes are right if there are any.
    fn expect(&mut self, name: &'static str, stream: &Stream, place: runtime::Place<'_>, expected: &[u8]) {
        if let Some(bytes) = self.step(name, || read(stream, place, expected.len())) {
            assert!(bytes == expected, "{name}: other bytes than were written");
        }
    }
}

fn words(value: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..WORDS as u32).flat_map(|index| value(index).to_le_bytes()).collect()
}

fn scenario(device: &Arc<Device>) -> Run {
    let mut run = Run { answers: Vec::new(), panics: 0, callbacks: Arc::default(), registered: 0 };
    let (Some(one), Some(two)) =
        (run.step("stream one", || Stream::new(device, "one")), run.step("stream two", || Stream::new(device, "two")))
    else {
        return run;
    };
    let Some(scale) = run.step("kernel", || runtime::Kernel::new(device, &options(SCALE))) else { return run };
    let mut make = |label: &'static str, size| {
        let options = runtime::BufferOptions { size, label, ..Default::default() };
        run.step(label, || runtime::Buffer::new(device, &options))
    };
    let (Some(a), Some(b), Some(c), Some(d)) = (make("a", BYTES), make("b", BYTES), make("c", 2 * BYTES), make("d", BYTES))
    else {
        return run;
    };
    let input = words(|index| index);
    let scaled = words(|index| index * 3);

    run.step("write a", || runtime::write(Some(&one), whole(&a), Source::Copied(&input)));
    let n = 3_u32.to_le_bytes();
    let uniform = Binding { group: 0, slot: 2, given: Input::Inline(&n), write_all: false };
    let bindings = [bind(0, whole(&a)), bind(1, whole(&b)), uniform];
    run.step("launch a to b", || runtime::launch(Some(&two), &launch_of(&scale, WORDS as u32 / 64, &bindings)));
    // Part of a never-written buffer: the rest reads as zeros.
    run.step("copy b to c", || runtime::copy(Some(&one), whole(&b), part(&c, BYTES, BYTES)));
    let event = run.step("record", || Event::record(&two));
    if let Some(event) = &event {
        run.step("hold", || event.hold(&one));
        let count = Arc::clone(&run.callbacks);
        run.registered += 1;
        event
            .on_poll(Box::new(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            }))
            .unwrap();
        let count = Arc::clone(&run.callbacks);
        let asked = run.step("on worker", || {
            event.on_worker(Box::new(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            }))
        });
        run.registered += u32::from(asked.is_some());
    }
    run.step("fill d", || runtime::fill(Some(&two), part(&d, 16, 64), &[7, 8]));
    // Borrowed until the event is over, so it must live that long.
    let lent: &'static [u8] = Box::leak(words(|index| !index).into_boxed_slice());
    // SAFETY: it lives for ever.
    let source = unsafe { HostSource::new(lent.as_ptr(), lent.len()) };
    let written = run.step("lend a", || runtime::write(Some(&two), whole(&a), Source::Borrowed(source)));
    let target: &'static mut [u8] = Box::leak(vec![0xEE; BYTES as usize].into_boxed_slice());
    // SAFETY: it lives for ever, and is looked at only when the event says that it is done.
    let into = unsafe { HostTarget::new(target.as_mut_ptr(), target.len()) };
    let reading = run.step("read b aside", || runtime::read_async(Some(&two), whole(&b), into));
    run.step("flush", || one.flush());

    let mut twice = vec![0; BYTES as usize];
    twice.extend_from_slice(&scaled);
    run.expect("read c", &two, whole(&c), &twice);
    run.expect("read b", &one, whole(&b), &scaled);
    let mut filled = vec![0; BYTES as usize];
    filled[16..80].copy_from_slice(&[7, 8].repeat(32));
    run.expect("read d", &one, whole(&d), &filled);
    run.expect("read a", &one, whole(&a), lent);
    if let Some(written) = written.flatten() {
        run.step("wait for lent", || written.wait(None));
    }
    if let Some(reading) = reading {
        if run.step("wait for read", || reading.wait(None)) == Some(Wait::Done) {
            assert!(*target == *scaled, "read aside: other bytes than were written");
        } else {
            // STILL_BORROWED, or a failure; not to be looked at.
            let _ = catch_unwind(AssertUnwindSafe(|| reading.wait(None)));
        }
    }
    run.step("sync", || one.sync(&[], None));
    run.step("sync over views", || two.sync(&[b.view(0, 64)?], None));
    if let Some(event) = event {
        run.step("wait", || event.wait(None));
    }
    drop((a, b, c, d));
    run
}

/// The root of an error, through report, member and skip.
fn leads_to(failed: &Failed, injected: &[&str]) -> bool {
    let names = |error: &compute_trust::Error| {
        injected
            .iter()
            .any(|name| error.message.contains(name) || error.driver.as_ref().is_some_and(|driver| driver.name == *name))
    };
    fn roots<'a>(report: &'a compute_trust::Report, all: &mut Vec<&'a compute_trust::Error>) {
        if report.members.is_empty() {
            all.push(&report.root);
        }
        report.members.iter().for_each(|member| roots(member, all));
    }
    match &failed.report {
        None => names(&failed.error),
        Some(report) => {
            let mut all = Vec::new();
            roots(report, &mut all);
            !all.is_empty() && all.into_iter().all(names)
        }
    }
}

fn one(call: u64, how: How) {
    let (device, faults) = faulty();
    faults.inject(call, how);
    let run = scenario(&device);
    // How many calls there are depends on what has completed by then: the last ones may not come.
    let how = if faults.calls() >= call { how } else { How::None };
    faults.inject(0, How::None);
    let names: &[&str] = match how {
        How::Error => &["INJECTED"],
        How::OutOfMemory => &["out of memory"],
        How::Lost => &["INJECTED_LOSS"],
        How::Late => &["INJECTED_LATE"],
        How::Panic => &["PANIC", "left unsettled", "could tell whether"],
        How::None => &[],
    };
    for (step, answer) in &run.answers {
        if let Err(failed) = answer {
            let poisoned = failed.error.code == code::DEVICE_POISONED;
            let borrowed = failed.error.code == code::STILL_BORROWED;
            assert!(leads_to(failed, names) || borrowed, "{how:?} in call {call}: `{step}` answers {failed:?}");
            assert!(!poisoned || matches!(how, How::Lost | How::Panic), "{how:?} in call {call}: `{step}` answers {failed:?}");
        }
    }
    assert_eq!(run.panics, usize::from(how == How::Panic), "{how:?} in call {call}");
    after(&device, &run, call, how);
}

/// The device has nothing left of it, and is as good as new, or beyond use.
fn after(device: &Arc<Device>, run: &Run, call: u64, how: How) {
    device.end();
    // Worker callbacks come when they come, and whoever settles late failures of any device holds its buffers for a moment.
    let patient = std::time::Instant::now();
    let calm = || run.callbacks.load(Ordering::SeqCst) == run.registered && device.usage().buffers == 0;
    while !calm() && patient.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(run.callbacks.load(Ordering::SeqCst), run.registered, "{how:?} in call {call}: callbacks");
    assert_eq!(device.usage().buffers, 0, "{how:?} in call {call}");
    if matches!(how, How::Lost | How::Panic) {
        assert_eq!(device.check().unwrap_err().error.code, code::DEVICE_POISONED, "{how:?} in call {call}");
        return;
    }
    let again = scenario(device);
    let first = again.answers.iter().find(|(_, answer)| answer.is_err());
    assert!(first.is_none(), "{how:?} in call {call}, and then without a failure: {first:?}");
    assert_eq!(again.panics, 0);
}

fn calls() -> u64 {
    let (device, faults): (_, Faults) = faulty();
    let run = scenario(&device);
    assert!(run.answers.iter().all(|(_, answer)| answer.is_ok()), "the scenario itself fails");
    faults.calls()
}

fn matrix(how: How) {
    let count = within(Duration::from_secs(30), "the scenario", calls);
    assert!(count > 20, "{count} calls are no scenario");
    for call in 1..=count {
        within(Duration::from_secs(30), &format!("{how:?} in call {call}"), move || one(call, how));
    }
}

#[test]
fn t2_t8_a_call_that_fails_leaves_right_bytes_or_an_error_that_leads_to_it() {
    matrix(How::Error);
}

#[test]
fn t2_t8_a_call_that_runs_out_of_memory_leaves_right_bytes_or_an_error_that_leads_to_it() {
    matrix(How::OutOfMemory);
}

#[test]
fn t12_a_device_lost_in_any_call_answers_with_the_first_cause_and_hands_out_no_other_bytes() {
    matrix(How::Lost);
}

#[test]
fn t13_a_call_that_fails_late_leaves_right_bytes_or_an_error_that_leads_to_it() {
    matrix(How::Late);
}

#[test]
fn f2_a_call_that_panics_poisons_the_device_and_hands_out_no_other_bytes() {
    matrix(How::Panic);
}
