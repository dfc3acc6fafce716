//! Threads, streams, shared and own buffers, refusals, drops and injected failures at random, against what each thread knows of its bytes.
//!
//! Every write of a buffer writes one value everywhere, so a torn read shows. A thread knows what its own buffers hold; of shared ones it
//! knows which values were ever written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use common::*;
use compute::registry::{self, Faults, How};
use compute::runtime::{self, Binding, Buffer, Device, DeviceOptions, Event, Input, Kernel, Outcome, Source, Stream, Wait, code};
use compute_fault::{Calls, FaultPlan};
use compute_hal::HostTarget;

const COPY: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> o: array<u32>;
@group(0) @binding(2) var<uniform> n: u32;
@compute @workgroup_size(64) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&o)) { o[id.x] = a[id.x] + n; }
}";

const WORDS: u32 = 16 * 1024;
const BYTES: u64 = WORDS as u64 * 4;
const THREADS: u32 = 4;

/// What a thread knows of a buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Value(u32),
    /// One value everywhere, from a shared buffer, so not known yet.
    Uniform,
    /// A failure claims some of it.
    Claimed,
}

struct Random(u64);

impl Random {
    fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % u64::from(count)) as u32
    }
}

/// What all threads have.
struct World {
    device: Arc<Device>,
    kernel: Arc<Kernel>,
    shared: Vec<Arc<Buffer>>,
    /// How many values each thread has written.
    written: Vec<AtomicU32>,
    faults: Option<Faults>,
    /// Passed when all threads have made their streams and buffers: before that nothing fails.
    ready: Barrier,
}

struct Worker<'a> {
    world: &'a World,
    index: u32,
    random: Random,
    streams: Vec<Arc<Stream>>,
    own: Vec<(Arc<Buffer>, Known)>,
    /// Answers that were not bytes.
    refused: u32,
    right: u32,
}

impl Worker<'_> {
    fn stream(&mut self) -> Arc<Stream> {
        let index = self.random.below(self.streams.len() as u32);
        Arc::clone(&self.streams[index as usize])
    }

    fn shared(&mut self) -> Arc<Buffer> {
        let index = self.random.below(self.world.shared.len() as u32);
        Arc::clone(&self.world.shared[index as usize])
    }

    /// A value that nobody has written before.
    fn value(&mut self) -> u32 {
        let count = self.world.written[self.index as usize].fetch_add(1, Ordering::SeqCst) + 1;
        (self.index + 1) << 24 | count
    }

    fn was_written(&self, value: u32) -> bool {
        let (thread, count) = (value >> 24, value & 0xFF_FFFF);
        value == 0 || (1..=THREADS).contains(&thread) && count <= self.world.written[thread as usize - 1].load(Ordering::SeqCst)
    }

    /// What a write leaves behind: its value, or a claim.
    fn settled<T>(answer: runtime::Result<T>, value: Known) -> Known {
        if answer.is_ok() { value } else { Known::Claimed }
    }

    fn write_own(&mut self, own: usize) {
        let (value, stream) = (self.value(), self.stream());
        let target = Arc::clone(&self.own[own].0);
        let answer = match self.random.below(2) {
            0 => runtime::fill(Some(&stream), whole(&target), &value.to_le_bytes()),
            _ => {
                let bytes = value.to_le_bytes().repeat(WORDS as usize);
                runtime::write(Some(&stream), whole(&target), Source::Copied(&bytes)).map(drop)
            }
        };
        self.own[own].1 = Self::settled(answer, Known::Value(value));
    }

    fn write_shared(&mut self) {
        let (value, stream, target) = (self.value(), self.stream(), self.shared());
        let _ = runtime::fill(Some(&stream), whole(&target), &value.to_le_bytes());
    }

    /// Copies from a shared buffer or another own one, by a copy or a kernel, to an own or a shared one.
    fn derive(&mut self, own: usize) {
        let stream = self.stream();
        let (from, known) = match self.random.below(2) {
            0 => (self.shared(), Known::Uniform),
            _ => {
                let other = (own + 1) % self.own.len();
                self.own[other].clone()
            }
        };
        let to_shared = self.random.below(4) == 0;
        let to = if to_shared { self.shared() } else { Arc::clone(&self.own[own].0) };
        if Arc::ptr_eq(&from, &to) {
            return;
        }
        let answer = match self.random.below(2) {
            0 => runtime::copy(Some(&stream), whole(&from), whole(&to)),
            _ => {
                let n = 0_u32.to_le_bytes();
                let uniform = Binding { group: 0, slot: 2, given: Input::Inline(&n), write_all: false };
                let bindings = [bind(0, whole(&from)), bind(1, whole(&to)), uniform];
                runtime::launch(Some(&stream), &launch_of(&self.world.kernel, WORDS / 64, &bindings))
            }
        };
        if !to_shared {
            self.own[own].1 = match answer {
                Ok(Outcome::Enqueued) if known != Known::Claimed => known,
                Ok(Outcome::Enqueued) => panic!("work that reads claimed bytes has run"),
                _ => Known::Claimed,
            };
        }
    }

    fn refuse(&mut self, own: usize) {
        let stream = self.stream();
        let (target, known) = self.own[own].clone();
        let failed = runtime::copy(Some(&stream), part(&target, 0, 64), part(&target, 32, 64)).unwrap_err();
        self.own[own].1 = Known::Claimed;
        if self.random.below(2) == 0 {
            let view = target.view(0, u64::MAX).unwrap();
            let lifted = runtime::reinstate(&view, failed.failure).unwrap();
            // What was claimed before, or failed late meanwhile, is not given back.
            if lifted == 64 && known != Known::Claimed {
                self.own[own].1 = known;
            }
        }
    }

    fn read_own(&mut self, own: usize) {
        let stream = self.stream();
        let (target, known) = self.own[own].clone();
        let answer = read(&stream, whole(&target), BYTES as usize);
        self.own[own].1 = match (answer, known) {
            (Ok(bytes), Known::Value(_) | Known::Uniform) => Known::Value(self.uniform(&bytes, known)),
            (Ok(bytes), Known::Claimed) => panic!("bytes that a failure claims were handed out: {:?}", &bytes[..16]),
            (Err(failed), _) => {
                self.refused += 1;
                let excused = known == Known::Claimed || known == Known::Uniform || self.world.faults.is_some();
                assert!(excused, "{known:?} could not be read: {failed:?}");
                // The read itself may have failed; only writing anew makes sure.
                if self.world.faults.is_some() && known != Known::Claimed { known } else { Known::Claimed }
            }
        };
    }

    fn uniform(&mut self, bytes: &[u8], known: Known) -> u32 {
        self.right += 1;
        let value = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        assert!(bytes.chunks(4).all(|word| word == value.to_le_bytes()), "a torn read");
        assert!(self.was_written(value), "{value:#x} was never written");
        assert!(known == Known::Uniform || known == Known::Value(value), "{value:#x} was read where {known:?} was written");
        value
    }

    fn read_shared(&mut self) {
        let (stream, target) = (self.stream(), self.shared());
        match read(&stream, whole(&target), BYTES as usize) {
            Ok(bytes) => drop(self.uniform(&bytes, Known::Uniform)),
            Err(_) => {
                self.refused += 1;
                self.write_shared();
            }
        }
    }

    fn event(&mut self) {
        let (one, other) = (self.stream(), self.stream());
        if let Ok(event) = Event::record(&one) {
            let _ = event.hold(&other);
            let _ = event.wait(Some(Duration::from_micros(u64::from(self.random.below(200)))));
        }
    }

    fn step(&mut self) {
        let own = self.random.below(self.own.len() as u32) as usize;
        match self.random.below(20) {
            0..=3 => self.write_own(own),
            4..=5 => self.write_shared(),
            6..=10 => self.derive(own),
            11 => self.refuse(own),
            12..=14 => self.read_own(own),
            15..=16 => self.read_shared(),
            17 => self.event(),
            18 => {
                if let Ok(fresh) = Buffer::new(&self.world.device, &runtime::BufferOptions { size: BYTES, ..Default::default() })
                {
                    self.own[own] = (fresh, Known::Value(0));
                }
            }
            _ => {
                let hows = [How::Error, How::OutOfMemory, How::Late];
                let how = hows[self.random.below(3) as usize];
                let call = u64::from(self.random.below(6)) + 1;
                if let Some(faults) = &self.world.faults {
                    faults.inject(call, how);
                }
            }
        }
    }
}

fn work(world: &World, index: u32, seed: u64, steps: u32) -> (u32, u32) {
    let own = |_| (buffer(&world.device, BYTES, "own"), Known::Value(0));
    let mut worker = Worker {
        world,
        index,
        random: Random(seed),
        streams: (0..2).map(|_| Stream::new(&world.device, "s").unwrap()).collect(),
        own: (0..3).map(own).collect(),
        refused: 0,
        right: 0,
    };
    world.ready.wait();
    (0..steps).for_each(|_| worker.step());
    (worker.right, worker.refused)
}

fn stress(device: Arc<Device>, faults: Option<Faults>, seed: u64) {
    let world = Arc::new(World {
        kernel: kernel(&device, COPY),
        shared: (0..3).map(|_| buffer(&device, BYTES, "shared")).collect(),
        written: (0..THREADS).map(|_| AtomicU32::new(0)).collect(),
        faults,
        ready: Barrier::new(THREADS as usize),
        device,
    });
    let theirs = Arc::clone(&world);
    let counts = within(Duration::from_secs(100), "the stress", move || {
        std::thread::scope(|scope| {
            let world = &*theirs;
            let spawn = |index| scope.spawn(move || work(world, index, seed + u64::from(index) * 7919, 1500));
            let threads: Vec<_> = (0..THREADS).map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    });
    assert!(counts.iter().all(|(right, refused)| *right > 50 && *refused > 5), "nothing much happened: {counts:?}");
    let device = Arc::clone(&world.device);
    drop(world);
    in_time("the end", move || {
        while device.usage().buffers != 0 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn t1_to_t8_threads_at_random_read_what_was_written_or_a_failure() {
    // Streams with queues of their own, and streams that share (S1).
    for (seed, queues) in [(1, 0), (0x5eed, 1), (99, 3)] {
        let device = device();
        if queues != 0 {
            device.set_queues(queues).unwrap();
        }
        stress(device, None, seed);
    }
}

#[test]
fn t2_t13_threads_at_random_on_a_device_that_fails_read_what_was_written_or_a_failure() {
    for seed in [2, 0xfa11, 77] {
        let (device, faults) = faulty();
        stress(device, Some(faults), seed);
    }
}

/// What a thread was told of a read, and what lay in the memory then.
type Told = (i32, Vec<u8>);

/// How a read ended, unless it has not.
fn ended(answer: &runtime::Result<Wait>) -> Option<i32> {
    match answer {
        Ok(Wait::Done) => Some(0),
        Ok(Wait::TimedOut) => None,
        Err(failed) if failed.error.code == code::STILL_BORROWED => None,
        Err(failed) => Some(failed.error.code),
    }
}

/// One round of the test below: what everybody was told, how often each callback was called, and what lies in the memory at last.
fn race(how: How, staged: bool, pause: Duration) -> Option<(Vec<Told>, [usize; 2], Vec<u8>)> {
    let (native, _) = registry::open(Some("cpu"), 0, &Default::default()).unwrap().unwrap();
    let plan = Arc::new(if staged { FaultPlan::new(Calls::ALL) } else { FaultPlan::never_late(Calls::ALL) });
    let device = Device::new(compute_fault::wrap(native, Arc::clone(&plan)), &DeviceOptions::default()).unwrap();
    let (stream, other) = (Stream::new(&device, "s").unwrap(), Stream::new(&device, "other").unwrap());
    let (a, b, big) = (buffer(&device, RACED, "a"), buffer(&device, 64, "b"), buffer(&device, 8 << 20, "big"));
    for value in 1..=3 {
        runtime::fill(Some(&stream), whole(&a), &[value]).unwrap();
    }
    if how == How::Late {
        // So that the read is under way when the failure comes.
        for value in 0..4 {
            runtime::fill(Some(&stream), whole(&big), &[value, 1]).unwrap();
        }
        plan.arm(1, compute_fault::How::Late).unwrap();
        runtime::fill(Some(&stream), part(&a, 0, 64), &[3]).unwrap();
    }
    // Leaked by a round that fails, as somebody may still write there.
    let mut bytes = std::mem::ManuallyDrop::new(vec![0xEE_u8; RACED as usize]);
    let (start, size) = (bytes.as_mut_ptr() as usize, bytes.len());
    // SAFETY: the memory lives on, and nobody looks at it before somebody was told that the read is over.
    let target = unsafe { HostTarget::new(start as *mut u8, size) };
    // SAFETY: as above.
    let look = move || unsafe { std::slice::from_raw_parts(start as *const u8, size) }.to_vec();
    // Where the failure has come already there is no race.
    let event = runtime::read_async(Some(&stream), whole(&a), target).ok()?;
    let (called, calls) = mpsc::channel();
    for on_worker in [true, false] {
        let called = called.clone();
        let callback = Box::new(move |answer: runtime::Result<()>| drop(called.send((on_worker, answer.map(|()| Wait::Done)))));
        if on_worker { event.on_worker(callback).unwrap() } else { event.on_poll(callback).unwrap() }
    }
    drop(called);
    let everybody = Barrier::new(4);
    let mut told: Vec<Told> = std::thread::scope(|scope| {
        let waits = [None, Some(Duration::ZERO), Some(Duration::from_micros(50))].map(|timeout| {
            let (event, everybody) = (&event, &everybody);
            scope.spawn(move || {
                everybody.wait();
                loop {
                    if let Some(code) = ended(&event.wait(timeout)) {
                        return (code, look());
                    }
                }
            })
        });
        everybody.wait();
        std::thread::sleep(pause);
        match how {
            How::Lost => {
                let _ = plan.arm(1, compute_fault::How::Lost);
                let _ = runtime::fill(Some(&other), whole(&b), &[1]);
            }
            How::None => device.end(),
            _ => {}
        }
        waits.into_iter().map(|wait| wait.join().unwrap()).collect()
    });
    let _ = event.poll();
    // As whoever owns its handle does. Who waits for a poll that never comes is told now.
    device.end();
    drop((stream, other, a, b, big, event, device));
    let mut count = [0; 2];
    for (on_worker, answer) in calls.iter() {
        count[usize::from(on_worker)] += 1;
        told.extend(ended(&answer).map(|code| (code, look())));
    }
    let last = look();
    // SAFETY: not used any more; everybody was told that it is over.
    drop(unsafe { std::mem::ManuallyDrop::take(&mut bytes) });
    Some((told, count, last))
}

/// Bytes of a read that takes a while.
const RACED: u64 = 1 << 20;

#[test]
fn t12_whoever_asks_for_a_read_gets_its_one_end_and_nothing_is_written_to_its_memory_afterwards() {
    let mut ends = BTreeSet::new();
    for round in 0..45_u64 {
        let how = [How::Lost, How::None, How::Late][(round % 3) as usize];
        let staged = how == How::Late || round % 2 == 0;
        let pause = Duration::from_micros(round * 37 % 900);
        let what = format!("round {round}: {how:?}, staged: {staged}");
        let Some((told, calls, last)) = within(Duration::from_secs(60), &what, move || race(how, staged, pause)) else {
            continue;
        };
        assert_eq!(calls, [1, 1], "{what}: callbacks");
        assert!(told.len() >= 3, "{what}: {} were told", told.len());
        for (code, bytes) in &told {
            ends.insert(*code);
            assert!(*bytes == last, "{what}: memory changed after somebody was told {code}");
            if *code == 0 {
                assert!(bytes.iter().all(|byte| *byte == 3), "{what}: it is over, and these are not its bytes");
            }
        }
        // A device that is lost later says so (T12), but what has ended well or badly did so for all.
        let codes: BTreeSet<i32> = told.iter().map(|told| told.0).filter(|end| *end != code::DEVICE_POISONED).collect();
        assert!(codes.len() <= 1, "{what}: {codes:?}");
        if codes.is_empty() && staged {
            assert!(last.iter().all(|byte| *byte == 0xEE), "{what}: it has failed for everybody, and there are bytes");
        }
    }
    assert!([0, code::UNWRITTEN].iter().all(|end| ends.contains(end)), "{ends:?}");
}
