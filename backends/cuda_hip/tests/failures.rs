//! Every call of the driver that a piece of work makes fails once: at once, and for good. Nothing hangs, nothing wrong is read, nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use compute_hal::{
    Device, DeviceError, Driver, HostRows, HostSource, HostTarget, OpenOptions, Pitched, Position, Queue, Region, Waited,
};

const PATIENCE: Duration = Duration::from_secs(30);
/// More than one piece of a read, and more than writes in one piece.
const LONG: u64 = (4 << 20) + 5;

fn bytes(size: u64, seed: u64) -> Vec<u8> {
    (0..size).map(|n| (n.wrapping_mul(31) ^ (n >> 8) ^ seed) as u8).collect()
}

/// Reads, and says what is there; a failure of the call or of the wait is one of the work.
fn read(queue: &dyn Queue, at: Position, from: Region) -> Result<Vec<u8>, DeviceError> {
    let target = HostTarget::staging(from.size as usize).unwrap();
    queue.read(at, from, target.clone())?;
    assert_eq!(queue.wait(at, Some(PATIENCE))?, Waited::Done, "a read does not end");
    // SAFETY: the read is over.
    Ok(unsafe { std::slice::from_raw_parts(target.pointer(), from.size as usize) }.to_vec())
}

/// Some of everything. What it reads is looked at; its first failure ends it.
fn work(device: &Arc<dyn Device>, woken: &Arc<AtomicU32>) -> Result<(), DeviceError> {
    let (a, b) = (device.create_queue()?, device.create_queue()?);
    let region = |size| device.allocate(size).map(|memory| Region { memory, offset: 0, size });
    let (small, long) = (region(4096)?, region(LONG)?);
    static SECOND: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(LONG, 2));
    let (first, second) = (bytes(4096, 1), &*SECOND);
    a.write(1, small, &first)?;
    a.stamp(2)?;
    a.write(2, long, second)?;
    let count = Arc::clone(woken);
    a.notify(2, Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
    b.wait_for(a.id(), 2)?;
    let part = Region { offset: 100, size: 4096, ..long };
    b.copy(1, part, small)?;
    b.copy_2d(
        2,
        &Pitched {
            from: Region { size: 300, ..long },
            to: Region { size: 600, ..small },
            width: 100,
            rows: 3,
            from_pitch: 100,
            to_pitch: 250,
        },
    )?;
    let got = read(&*b, 3, small)?;
    assert_eq!(got[600..], second[700..4196], "what the other queue wrote");
    assert_eq!(got[250..350], second[100..200], "rows");
    a.wait_for(b.id(), 3)?;
    a.fill(3, Region { offset: 3, size: 4001, ..small }, &[1, 2, 3, 4, 5, 6, 7, 8])?;
    let rows = HostRows { region: Region { size: 64, ..small }, width: 8, rows: 4, pitch: 16, host_pitch: 8 };
    a.write_2d(4, &rows, &bytes(32, 9))?;
    let got = read(&*a, 5, small)?;
    assert_eq!((&got[16..24], got[67], &got[4004..]), (&bytes(32, 9)[8..16], 1, &second[4104..4196]), "a fill and rows over it");
    let got = read(&*a, 6, long)?;
    assert!(got == *second, "a long read");
    let pinned = device.allocate_staging(4096)?;
    a.read(7, small, pinned.clone())?;
    // SAFETY: it is read behind the read that fills it, and lives until both are over.
    a.write_borrowed(8, Region { offset: 4096, size: 4096, ..long }, unsafe { HostSource::new(pinned.pointer(), 4096) })?;
    assert_eq!(
        read(&*a, 9, Region { offset: 4096, size: 4096, ..long })?[4004..],
        second[4104..4196],
        "what went through pinned memory"
    );
    device.free(small.memory);
    device.free(long.memory);
    Ok(())
}

/// Runs the work while the `call`-th call fails. False: there are fewer.
fn fail_once(mock: &mock::Mock, call: u64, code: i32) -> bool {
    let woken = Arc::new(AtomicU32::new(0));
    mock.arm(call, code);
    let outcome = mock.driver.open(0, &OpenOptions::default()).and_then(|device| work(&device, &woken));
    let failed = mock.disarm();
    let Some(failed) = failed else {
        outcome.unwrap();
        return false;
    };
    let sticky = code == mock::STICKY;
    match outcome {
        Ok(()) => {}
        Err(DeviceError::Lost(cause)) if sticky => {
            assert!(!cause.reopen && cause.message.contains("new process"), "{}", cause.message)
        }
        Err(DeviceError::OutOfMemory { .. }) if code == mock::OUT_OF_MEMORY => {}
        // A code that says that the call was wrong where work has to be asked for ends the device.
        Err(DeviceError::Driver { .. } | DeviceError::Lost(_)) if !sticky => {}
        // Nothing answers any more, not even who it is.
        Err(DeviceError::Driver { .. } | DeviceError::Internal(_)) if sticky => {}
        Err(other) => panic!("{failed} answered {code}: {other}"),
    }
    let deadline = Instant::now() + PATIENCE;
    // The context is the last thing that a device gives back.
    while mock.left()[4] > 0 {
        assert!(Instant::now() < deadline, "after {failed} answered {code}, the context is left behind");
        std::thread::sleep(Duration::from_micros(200));
    }
    // What the driver itself refused to end stays; after a sticky error it ends nothing at all.
    let ends = failed.contains("free")
        || failed.contains("destroy")
        || failed.contains("release")
        || failed.contains("context")
        || sticky;
    assert!(ends || mock.left() == [0; 5], "after {failed} answered {code}, left behind: {:?}", mock.left());
    true
}

fn each_call_fails(code: i32) {
    mock::POOLS.store(true, Ordering::Relaxed);
    let (tell, told) = mpsc::channel();
    // On a thread of its own, so that a hang is seen.
    std::thread::spawn(move || {
        let mut call = 1;
        loop {
            let mock = mock::Mock::new();
            let some = fail_once(&mock, call, code);
            drop(mock);
            tell.send((call, some)).unwrap();
            if !some {
                return;
            }
            // The first calls are all different; later ones repeat themselves, as events are asked for again and again.
            call += if call < 150 { 1 } else { 13 };
        }
    });
    let mut last = 0;
    loop {
        match told.recv_timeout(PATIENCE * 3) {
            Ok((call, true)) => last = call,
            Ok((call, false)) => {
                assert!(call > 100, "the work made {call} calls only");
                return;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs when a call after the {last}-th answers {code}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("ended when a call after the {last}-th answered {code}"),
        }
    }
}

#[test]
fn every_call_runs_out_of_memory_once() {
    each_call_fails(mock::OUT_OF_MEMORY);
}

#[test]
fn every_call_is_refused_once() {
    each_call_fails(mock::REFUSED);
}

#[test]
fn t12_every_call_finds_the_device_dead_once() {
    each_call_fails(mock::STICKY);
}

#[test]
fn t12_a_fault_completes_every_position_and_wakes_everybody_once() {
    mock::POOLS.store(true, Ordering::Relaxed);
    let mock = mock::Mock::new();
    let device = mock.driver.open(0, &OpenOptions::default()).unwrap();
    let (a, b) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let memory = device.allocate(100).unwrap();
    let woken = Arc::new(AtomicU32::new(0));
    for (queue, at) in [(&a, 1), (&a, 1000), (&b, 7)] {
        let count = Arc::clone(&woken);
        queue.notify(at, Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
    }
    mock.arm(1, mock::STICKY);
    let answer = a.fill(1, Region { memory, offset: 0, size: 100 }, &[1]);
    assert!(matches!(&answer, Err(DeviceError::Lost(_))), "{answer:?}");
    let deadline = Instant::now() + PATIENCE;
    while woken.load(Ordering::SeqCst) < 3 || a.completed() != Position::MAX || b.completed() != Position::MAX {
        assert!(
            Instant::now() < deadline,
            "{} of 3 were told; {} and {} completed",
            woken.load(Ordering::SeqCst),
            a.completed(),
            b.completed()
        );
        std::thread::yield_now();
    }
    assert!(device.fault().is_some_and(|cause| !cause.reopen && &*cause.name == "STICKY"));
    assert!(matches!(b.fill(8, Region { memory, offset: 0, size: 1 }, &[1]), Err(DeviceError::Lost(_))));
    assert!(matches!(device.allocate(1), Err(DeviceError::Lost(_))));
    drop((a, b, device));
    while mock.left()[4] > 0 {
        assert!(Instant::now() < deadline, "the context is left behind");
        std::thread::yield_now();
    }
    assert_eq!(woken.load(Ordering::SeqCst), 3, "somebody was told twice");
}
