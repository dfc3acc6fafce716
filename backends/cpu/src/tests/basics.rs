//! Memory, copies, order, waits and callbacks, without kernels that compute.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use compute_hal::{DeviceError, Foreign, HostSource, ImportRefusal, NativeKind, Pitched};

use super::*;

#[test]
fn writes_copies_and_fills_run_in_order_whatever_their_size() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    for size in [1_u64, 3, 4096, 32 << 10, (32 << 10) + 1, 3 << 20, (5 << 20) + 13] {
        let (a, b) = (device.allocate(size).unwrap(), device.allocate(size).unwrap());
        let at = queue.completed();
        let bytes: Vec<u8> = (0..size).map(|n| (n * 7 + size) as u8).collect();
        queue.write(at + 1, region(a, 0, size), &bytes).unwrap();
        queue.fill(at + 2, region(b, 0, size), &[1, 2, 3, 4]).unwrap();
        assert_eq!(read(&*queue, at + 3, region(b, 0, size)), (0..size).map(|n| (n % 4) as u8 + 1).collect::<Vec<_>>());
        queue.copy(at + 4, region(a, 0, size), region(b, 0, size)).unwrap();
        queue.fill(at + 5, region(a, 0, size), &[9]).unwrap();
        assert_eq!(read(&*queue, at + 6, region(b, 0, size)), bytes, "{size}");
        assert!(read(&*queue, at + 7, region(a, 0, size)).iter().all(|&byte| byte == 9));
        device.free(a);
        device.free(b);
    }
}

#[test]
fn a_fill_repeats_patterns_of_every_size_and_cuts_the_last_one_short() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4096);
    let mut at = 2;
    for length in [1_usize, 2, 4, 8, 16] {
        let pattern: Vec<u8> = (1..=length as u8).collect();
        queue.fill(at, region(memory, 5, 2051), &pattern).unwrap();
        let bytes = read(&*queue, at + 1, region(memory, 0, 4096));
        assert!(bytes[5..2056].iter().enumerate().all(|(n, &byte)| byte == pattern[n % length]));
        assert!(bytes[..5].iter().chain(&bytes[2056..]).all(|&byte| byte == 0));
        at += 2;
    }
}

#[test]
fn rows_are_copied_between_different_pitches_and_nothing_between_them() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let (a, b) = (device.allocate(1000).unwrap(), zeroed(&device, &*queue, 1000));
    let bytes: Vec<u8> = (0..1000).map(|n| n as u8 | 1).collect();
    queue.write(2, region(a, 0, 1000), &bytes).unwrap();
    let copy = Pitched { from: region(a, 0, 93), to: region(b, 10, 163), width: 3, rows: 10, from_pitch: 10, to_pitch: 17 };
    // 9 pitches and a row: 93 and 156 bytes.
    queue.copy_2d(3, &copy).unwrap();
    let mut expected = vec![0; 1000];
    for row in 0..10 {
        expected[10 + row * 17..][..3].copy_from_slice(&bytes[row * 10..][..3]);
    }
    assert_eq!(read(&*queue, 4, region(b, 0, 1000)), expected);
    let beyond = Pitched { to: region(b, 10, 155), ..copy };
    assert!(matches!(queue.copy_2d(5, &beyond), Err(DeviceError::Internal(_))));
    let wrapping = Pitched { rows: u64::MAX, from_pitch: u64::MAX, ..copy };
    assert!(matches!(queue.copy_2d(5, &wrapping), Err(DeviceError::Internal(_))));
}

#[test]
fn m9_regions_outside_a_block_are_refused_and_leave_the_queue_usable() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 100);
    for bad in [region(memory, 0, 101), region(memory, u64::MAX, 2), region(MemoryId(12345), 0, 1)] {
        assert!(matches!(queue.fill(2, bad, &[1]), Err(DeviceError::Internal(_))));
        assert!(matches!(queue.copy(2, bad, region(memory, 0, 1)), Err(DeviceError::Internal(_))));
    }
    assert!(matches!(queue.copy(2, region(memory, 0, 2), region(memory, 50, 3)), Err(DeviceError::Internal(_))));
    assert!(matches!(queue.fill(2, region(memory, 0, 9), &[1, 2, 3]), Err(DeviceError::Internal(_))));
    queue.fill(2, region(memory, 0, 1), &[7]).unwrap();
    assert!(matches!(queue.fill(2, region(memory, 0, 1), &[8]), Err(DeviceError::Internal(_))), "a position used twice");
    assert_eq!(read(&*queue, 3, region(memory, 0, 2)), [7, 0]);
}

#[test]
fn a_write_behind_other_work_has_copied_its_bytes_before_it_returns() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 1 << 20);
    let gate = Gate::new(&device);
    gate.close(&*queue, 2);
    let mut bytes = vec![5_u8; 1 << 20];
    queue.write(3, region(memory, 0, 1 << 20), &bytes).unwrap();
    bytes.fill(6);
    assert!(queue.completed() < 2);
    gate.open();
    assert!(read(&*queue, 4, region(memory, 0, 1 << 20)).iter().all(|&byte| byte == 5));
}

#[test]
fn whoever_sees_the_last_position_complete_finds_the_queue_idle() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = device.allocate(4 << 20).unwrap();
    let fifo = device.shared.queues.lock().get(&queue.id()).unwrap().upgrade().unwrap();
    for at in 1..300 {
        queue.fill(at, region(memory, 0, 4 << 20), &[1]).unwrap();
        // Asleep when it comes, so that waking up races with what the worker does next.
        assert_eq!(queue.wait(at, Some(Duration::from_secs(60))).unwrap(), Waited::Done);
        assert!(fifo.idle(), "position {at}");
    }
}

#[test]
fn a_borrowed_write_reads_the_bytes_when_its_turn_comes() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 8);
    let gate = Gate::new(&device);
    gate.close(&*queue, 2);
    let bytes = [AtomicUsize::new(1)];
    // SAFETY: `bytes` lives until position 3 has completed; it is changed below only before the gate opens.
    let source = unsafe { HostSource::new(bytes.as_ptr().cast(), 8) };
    queue.write_borrowed(3, region(memory, 0, 8), source).unwrap();
    bytes[0].store(2, Ordering::SeqCst);
    gate.open();
    assert_eq!(read(&*queue, 4, region(memory, 0, 8)), 2_u64.to_le_bytes());
}

#[test]
fn memory_freed_while_work_still_uses_it_lives_until_that_work_is_done() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let (memory, other) = (device.allocate(4096).unwrap(), device.allocate(4096).unwrap());
    queue.fill(1, region(memory, 0, 4096), &[3]).unwrap();
    let gate = Gate::new(&device);
    gate.close(&*queue, 2);
    queue.copy(3, region(memory, 0, 4096), region(other, 0, 4096)).unwrap();
    device.free(memory);
    device.free(memory);
    gate.open();
    assert!(read(&*queue, 4, region(other, 0, 4096)).iter().all(|&byte| byte == 3));
    assert!(matches!(device.map(memory), Err(DeviceError::Internal(_))));
}

#[test]
fn mapped_memory_is_the_block_itself() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 64);
    let target = device.map(memory).unwrap();
    // SAFETY: nothing on the queue is in flight; the block lives.
    unsafe { target.pointer().add(3).write(42) };
    assert_eq!(target.size(), 64);
    assert_eq!(read(&*queue, 2, region(memory, 2, 3)), [0, 42, 0]);
}

#[test]
fn t14_imported_memory_is_used_in_place_and_survives_its_release() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let mut host = vec![[0_u64; 2]; 16];
    let address = host.as_mut_ptr().expose_provenance() as u64;
    let foreign = |handle, offset, size| Foreign { kind: NativeKind::Address, handle, offset, size };
    let part = device.import(&foreign(address, 16, 240)).unwrap();
    assert_eq!((device.export(part.memory).unwrap(), part.offset, part.size), (address + 16, 0, 240));
    queue.fill(1, part, &[1]).unwrap();
    queue.wait(1, None).unwrap();
    let owned =
        |foreign| matches!(device.import(&foreign), Err(DeviceError::NotImportable { reason: ImportRefusal::AlreadyOwned, .. }));
    assert!(owned(foreign(address, 0, 17)) && owned(foreign(address, 255, 1)));
    device.free(part.memory);
    assert_eq!((host[0], &host[1..]), ([0; 2], &[[0x0101_0101_0101_0101; 2]; 15][..]));
    device.free(device.import(&foreign(address, 0, 256)).unwrap().memory);
    let block = device.allocate(256).unwrap();
    assert!(owned(foreign(device.export(block).unwrap(), 8, 8)));
    for (handle, offset, size) in [(0, 0, 16), (u64::MAX - 15, 0, 64), (16, u64::MAX, 16), (16, 0, u64::MAX), (16, 0, 0)] {
        assert!(device.import(&foreign(handle, offset, size)).is_err());
    }
}

#[test]
fn err05_a_wait_says_done_or_timed_out_exactly_and_goes_on_afterwards() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let gate = Gate::new(&device);
    gate.close(&*queue, 1);
    assert_eq!(queue.wait(0, Some(Duration::ZERO)).unwrap(), Waited::Done);
    assert_eq!(queue.wait(1, Some(Duration::ZERO)).unwrap(), Waited::TimedOut);
    let start = Instant::now();
    assert_eq!(queue.wait(1, Some(Duration::from_millis(50))).unwrap(), Waited::TimedOut);
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(queue.completed(), 0);
    gate.open();
    assert_eq!(queue.wait(1, Some(Duration::MAX)).unwrap(), Waited::Done);
    assert_eq!(queue.wait(1, Some(Duration::ZERO)).unwrap(), Waited::Done);
}

#[test]
fn thr01_a_thread_that_waits_does_not_delay_work_of_another_queue() {
    let device = Arc::new(open(2));
    let (slow, quick) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let gate = Gate::new(&device);
    gate.close(&*slow, 1);
    let waiter = Arc::clone(&slow);
    let waiting = std::thread::spawn(move || waiter.wait(1, None).unwrap());
    gate.await_start();
    let start = Instant::now();
    let memory = zeroed(&device, &*quick, 1 << 20);
    assert_eq!(quick.wait(1, None).unwrap(), Waited::Done);
    // The queue that is waited for takes work, too.
    slow.fill(2, region(memory, 0, 16), &[1]).unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(!waiting.is_finished());
    gate.open();
    assert_eq!(waiting.join().unwrap(), Waited::Done);
}

#[test]
fn s2_an_edge_holds_a_queue_until_the_other_is_there_and_blocks_no_worker() {
    let device = open(1);
    let (first, second) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let memory = zeroed(&device, &*first, 8);
    let gate = Gate::new(&device);
    second.wait_for(first.id(), 3).unwrap();
    // Not enqueued yet; the only worker must stay free for it.
    second.fill(1, region(memory, 0, 4), &[2]).unwrap();
    assert_eq!(second.wait(1, Some(Duration::from_millis(20))).unwrap(), Waited::TimedOut);
    gate.close(&*first, 2);
    first.fill(3, region(memory, 0, 8), &[1]).unwrap();
    assert_eq!(second.completed(), 0);
    gate.open();
    assert_eq!(read(&*second, 2, region(memory, 0, 8)), [2, 2, 2, 2, 1, 1, 1, 1]);
}

#[test]
fn an_edge_to_what_is_over_or_gone_or_to_itself_is_no_obstacle() {
    let device = open(1);
    let (queue, gone) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    gone.mark(5);
    let id = gone.id();
    drop(gone);
    queue.wait_for(id, 5).unwrap();
    queue.mark(1);
    queue.wait_for(queue.id(), 1).unwrap();
    queue.mark(2);
    assert_eq!(queue.wait(2, Some(Duration::from_secs(5))).unwrap(), Waited::Done);
    assert!(matches!(queue.wait_for(queue.id(), 3), Err(DeviceError::Internal(_))));
    assert!(matches!(queue.wait_for(compute_hal::QueueId(77), 1), Err(DeviceError::Internal(_))));
}

#[test]
fn err07_callbacks_run_exactly_once_also_when_late_or_after_the_queue_is_gone() {
    let device = open(2);
    let count = Arc::new(AtomicUsize::new(0));
    let add = |count: &Arc<AtomicUsize>| -> Box<dyn FnOnce() + Send> {
        let count = Arc::clone(count);
        Box::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        })
    };
    for round in 0..1000 {
        let queue = device.create_queue().unwrap();
        queue.notify(0, add(&count));
        queue.notify(1, add(&count));
        queue.notify(100, add(&count));
        if round % 2 == 0 {
            queue.mark(1);
        }
        drop(queue);
    }
    drop(device);
    let start = Instant::now();
    while count.load(Ordering::SeqCst) < 3000 && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(count.load(Ordering::SeqCst), 3000);
}

#[test]
fn err07_a_callback_may_drop_the_last_handle_of_queue_and_device() {
    for _ in 0..50 {
        let device = open(2);
        let queue = device.create_queue().unwrap();
        let gate = Gate::new(&device);
        gate.close(&*queue, 1);
        let (done, told) = std::sync::mpsc::channel();
        let holder = parking_lot::Mutex::new(Some((Arc::clone(&queue), device)));
        queue.notify(
            1,
            Box::new(move || {
                drop(holder.lock().take());
                done.send(()).unwrap();
            }),
        );
        drop(queue);
        gate.open();
        told.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn a_callback_is_never_called_inside_the_call_that_enqueues() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let me = std::thread::current().id();
    let (tell, told) = std::sync::mpsc::channel();
    queue.notify(1, Box::new(move || tell.send(std::thread::current().id()).unwrap()));
    queue.mark(1);
    assert_ne!(told.recv_timeout(Duration::from_secs(5)).unwrap(), me);
}

#[test]
fn tm01_stamps_are_there_when_their_position_is_and_never_go_back() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 1 << 20);
    let mut before = 0;
    for at in 2..50 {
        queue.stamp(at).unwrap();
        queue.fill(at, region(memory, 0, 1 << 20), &[1]).unwrap();
        queue.wait(at, None).unwrap();
        let time = queue.timestamp(at).unwrap();
        assert!(time > before);
        before = time;
    }
    assert_eq!(queue.timestamp(1), None);
}

/// Threads and open files of this process.
fn held() -> (usize, usize) {
    let count = |path| std::fs::read_dir(path).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[test]
fn five_hundred_devices_leave_no_threads_files_or_memory_behind() {
    // In a process of its own, as other tests come and go with their threads.
    if std::env::var_os("COMPUTE_ALONE").is_none() {
        let name = "tests::basics::five_hundred_devices_leave_no_threads_files_or_memory_behind";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--test-threads=1"])
            .env("COMPUTE_ALONE", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let cycle = || {
        let device = open(3);
        let queues: Vec<_> = (0..3).map(|_| device.create_queue().unwrap()).collect();
        let memory = device.allocate(1 << 20).unwrap();
        kernel(&device, &Spec { cancellable: true, scratch: 5000, ..Spec::default() }, |_, _| ());
        for queue in &queues {
            queue.fill(1, region(memory, 0, 1 << 20), &[1]).unwrap();
        }
        queues[1].wait_for(queues[0].id(), 1).unwrap();
    };
    cycle();
    // A thread that ended by itself may take a moment.
    let settle = || std::thread::sleep(Duration::from_millis(200));
    settle();
    let resident = || std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    let (before, pages) = (held(), resident());
    for _ in 0..500 {
        cycle();
    }
    settle();
    assert_eq!(held(), before);
    assert!(resident() < pages + 2048, "{} pages grew to {}", pages, resident());
}

#[test]
fn workers_take_none_of_the_hosts_signals() {
    let _device = open(2);
    let masks = || -> Vec<u64> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks
            .filter_map(|task| {
                let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
                let status = read("comm").starts_with("compute-cpu-").then(|| read("status"))?;
                u64::from_str_radix(status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?.trim(), 16).ok()
            })
            .collect()
    };
    // A thread gives itself its name, a moment after it started.
    while masks().len() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    for mask in masks() {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGALRM, libc::SIGCHLD, libc::SIGUSR1] {
            assert_ne!(mask >> (signal - 1) & 1, 0, "signal {signal}");
        }
    }
}

#[test]
fn mem01_a_block_of_more_than_four_gibibytes_is_addressed_to_its_end() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let size = (4_u64 << 30) + 4096;
    assert!(device.limits().allocation_size > size, "this test needs a machine with more than 4 GiB");
    let Ok(memory) = device.allocate(size) else { return };
    queue.fill(1, region(memory, size - 4096, 4096), &[7]).unwrap();
    queue.fill(2, region(memory, 0, 16), &[8]).unwrap();
    assert_eq!(read(&*queue, 3, region(memory, size - 1, 1)), [7]);
    assert_eq!(read(&*queue, 4, region(memory, (4 << 30) - 1, 2)), [0, 7]);
    queue.copy(5, region(memory, size - 8, 8), region(memory, 0, 8)).unwrap();
    assert_eq!(read(&*queue, 6, region(memory, 7, 2)), [7, 8]);
}
