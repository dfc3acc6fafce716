//! What fails, panics, is lost or has ended.

use super::*;

#[test]
fn f1_no_thread_has_the_context_of_opengl_while_it_waits() {
    queues(|device, _| {
        let index = || device.shared_for_test().gpu.queue().submit(None);
        assert!(matches!(how(Some(index()), true), wgpu::PollType::Wait { timeout: None, .. }));
        assert!(matches!(how(Some(index()), false), wgpu::PollType::Poll));
        assert!(matches!(how(None, true), wgpu::PollType::Poll));
    });
}

#[test]
fn an_error_is_told_to_the_scope_that_it_is_in_and_ends_the_device_outside_of_all() {
    queues(|device, _| {
        let shared = device.shared_for_test();
        // No buffer is for both.
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE;
        let refused = || {
            shared.gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false })
        };
        let found = scoped(|| {
            let inner = scoped(refused);
            assert!(matches!(inner, Err(wgpu::Error::Validation { .. })));
            assert!(scoped(|| ()).is_ok(), "an error of another scope");
        });
        assert!(found.is_ok(), "{found:?}");
        assert!(scoped(|| (scoped(|| ()).is_ok(), refused())).is_err(), "an inner scope has closed the outer one");
        assert!(survive(|| scoped(|| -> () { panic!("on purpose") })).is_err());
        assert!(device.fault().is_none());
        refused();
        assert!(device.fault().is_some_and(|cause| &*cause.name == "UNCAPTURED"), "a scope that was left by a panic is open");
    });
}

#[test]
fn t12_a_lost_device_says_so_to_everybody_and_a_new_one_opens() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        queue.write(1, block, &[7; 64]).unwrap();
        let (tell, told) = mpsc::channel();
        queue.notify(1000, Box::new(move || tell.send(()).unwrap()));
        device.lose_for_test();
        assert!(matches!(queue.wait(1000, None), Err(DeviceError::Lost(_))));
        told.recv_timeout(Duration::from_secs(10)).expect("a callback did not come");
        assert!(matches!(queue.fill(2, block, &[1]), Err(DeviceError::Lost(_))));
        assert!(matches!(device.allocate(64), Err(DeviceError::Lost(cause)) if cause.reopen));
        assert_eq!(queue.completed(), Position::MAX);
        assert!(driver::open_device(0, &OpenOptions::default(), true).is_ok());
    });
}

#[test]
fn f2_a_panic_while_reads_are_brought_to_their_places_ends_the_device_and_leaves_none_of_them_done() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host uses by itself.
        device.export(block.memory).unwrap();
        queue.fill(1, block, &[7]).unwrap();
        queue.read(2, block, fives().lend(64, Arc::new(Panics)).unwrap()).unwrap();
        let answer = queue.wait(2, None);
        assert!(matches!(&answer, Err(DeviceError::Lost(cause)) if &*cause.name == "PANIC"), "{answer:?}");
    });
}

#[test]
fn f2_who_panics_when_told_ends_the_device_and_takes_nobody_with_it() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        device.export(block.memory).unwrap();
        let (tell, told) = mpsc::channel();
        queue.fill(1, block, &[7]).unwrap();
        queue.notify(1, Box::new(|| panic!("on purpose")));
        let again = tell.clone();
        queue.notify(1, Box::new(move || _ = tell.send(())));
        queue.fill(2, block, &[8]).unwrap();
        queue.notify(2, Box::new(move || _ = again.send(())));
        for _ in 0..2 {
            assert!(told.recv_timeout(Duration::from_secs(30)).is_ok(), "the queue's thread has ended");
        }
        assert!(device.fault().is_some_and(|cause| cause.message.contains("on purpose")), "{:?}", device.fault());
    });
}

#[test]
fn t13_what_a_driver_has_aborted_without_a_word_fails_late_and_moves_nothing() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host reads by itself.
        device.export(block.memory).unwrap();
        queue.write(1, block, &[7; 64]).unwrap();
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        // More often than there are words, so that each place holds what was right before.
        for at in (2..20).step_by(3) {
            let target = fives();
            device.shared_for_test().aborts.store(true, Ordering::Relaxed);
            queue.use_on_device(at, block);
            queue.read(at + 1, block, target.clone()).unwrap();
            assert_eq!(queue.wait(at + 1, None).unwrap(), Waited::Done);
            device.shared_for_test().aborts.store(false, Ordering::Relaxed);
            let late = queue.take_late();
            let aborted = |late: &LateFailure| matches!(&late.cause, LateCause::Driver { name, .. } if name == "ABORTED");
            assert!(late.iter().map(|late| late.position).eq([at, at + 1]) && late.iter().all(aborted), "{late:?}");
            assert_eq!(bytes(&target), [5; 64]);
            queue.read(at + 2, block, target.clone()).unwrap();
            assert_eq!(queue.wait(at + 2, None).unwrap(), Waited::Done);
            assert_eq!(bytes(&target), [7; 64]);
            assert!(queue.take_late().is_empty() && device.fault().is_none());
        }
    });
}

#[test]
fn t13_what_there_was_no_memory_to_prove_fails_late_for_that_reason_and_what_was_refused_for_its_own() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host reads by itself.
        device.export(block.memory).unwrap();
        queue.write(1, block, &[7; 64]).unwrap();
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        let lacks = |lacks| device.shared_for_test().proofs.as_ref().unwrap().lacks.store(lacks, Ordering::Relaxed);
        lacks(true);
        queue.break_batch([2, 3, 4, 5], block, [&fives(), &fives()]);
        assert_eq!(queue.wait(5, None).unwrap(), Waited::Done);
        lacks(false);
        let late = queue.take_late();
        let told = late.iter().map(|late| match &late.cause {
            LateCause::Driver { name, message, .. } => (late.position, &**name, message.contains("out of memory")),
            _ => panic!("{late:?}"),
        });
        let expected = [(2, "UNPROVEN", true), (3, "VALIDATION", false), (4, "UNPROVEN", true), (5, "VALIDATION", false)];
        assert!(told.eq(expected), "{late:?}");
        assert!(device.fault().is_none());
    });
}

#[test]
fn the_first_batch_for_an_idle_device_is_sent_by_the_queue_s_thread() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main() { o[0] = o[0] + 1u; }";
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        let kernel = with_request(source, |request| device.compile(request).unwrap());
        let bindings = [Binding::Buffer(block)];
        let sent_here = SENT_HERE.get();
        (1..=64).for_each(|at| queue.launch(at, &one(kernel, &bindings)).unwrap());
        let begun = Instant::now();
        while queue.completed() < 64 {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody has sent it");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(SENT_HERE.get(), sent_here, "its caller has sent it");
        assert!(queue.take_late().is_empty());
    });
}

#[test]
fn t12_a_wait_for_what_wgpu_says_will_never_be_over_ends_the_device() {
    queues(|other, many| {
        queues(|device, queue| {
            let block = Region { memory: other.allocate(64).unwrap(), offset: 0, size: 64 };
            other.export(block.memory).unwrap();
            for at in 1..5 {
                many.use_on_device(at, block);
                assert_eq!(many.wait(at, None).unwrap(), Waited::Done);
            }
            let foreign = other.shared_for_test().gpu.queue().submit(None);
            assert!(crate::flight::poll(device.shared_for_test(), Some(foreign)).is_err());
            assert!(matches!(queue.wait(1000, None), Err(DeviceError::Lost(cause)) if &*cause.name == "WAIT"));
        });
    });
}

#[test]
fn what_is_gone_is_let_go_of_by_whoever_had_the_recorder() {
    queues(|device, queue| {
        let ways: [&dyn Fn(Position); 4] = [
            &|at| queue.mark(at),
            &|at| _ = queue.wait_for(queue.id(), at),
            &|at| assert_eq!(queue.wait(at, Some(Duration::ZERO)).unwrap(), Waited::TimedOut),
            &|_| device.export(device.allocate(64).unwrap()).map(drop).unwrap(),
        ];
        for (at, way) in (1..).step_by(10).zip(ways) {
            let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
            queue.use_on_device(at, block);
            assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
            // Somebody records while it goes, and has looked already when it does.
            queue.free_while_recording(device, block.memory);
            assert!(queue.holds(block.memory));
            way(at + 5);
            assert!(!queue.holds(block.memory), "way {at}");
        }
    });
}
