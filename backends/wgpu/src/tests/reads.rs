//! What moves bytes between host and device, and the memory for it.

use super::*;

#[test]
fn err06_t13_what_is_refused_in_a_batch_fails_its_own_position_and_the_neighbours_run() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        queue.write(1, block, &[7; 64]).unwrap();
        let (read, lost) = (fives(), fives());
        queue.break_batch([2, 3, 4, 5], block, [&read, &lost]);
        assert_eq!(queue.wait(5, None).unwrap(), Waited::Done);
        let late = queue.take_late();
        let positions: Vec<Position> = late.iter().map(|late| late.position).collect();
        assert_eq!(positions, [3, 5], "{late:?}");
        assert!(
            late.iter().all(|late| matches!(&late.cause, LateCause::Driver { name, .. } if name == "VALIDATION")),
            "{late:?}"
        );
        assert_eq!(bytes(&read), [9; 64], "a neighbour did not run");
        assert_eq!(bytes(&lost), [5; 64], "a read whose position was refused moved bytes");
        queue.read(6, block, lost.clone()).unwrap();
        assert_eq!(queue.wait(6, None).unwrap(), Waited::Done);
        assert_eq!(bytes(&lost), [9; 64]);
        assert!(queue.take_late().is_empty() && device.fault().is_none());
    });
}

#[test]
fn t13_reads_whose_memory_cannot_be_mapped_fail_late_and_move_nothing() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host reads by itself.
        device.export(block.memory).unwrap();
        queue.write(1, block, &[7; 64]).unwrap();
        let target = fives();
        device.lose_reads_for_test(true);
        queue.read(2, block, target.clone()).unwrap();
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        device.lose_reads_for_test(false);
        let late = queue.take_late();
        assert!(late.iter().any(|late| late.position == 2), "{late:?}");
        assert!(late.iter().all(|late| matches!(&late.cause, LateCause::Driver { name, .. } if name == "MAP")), "{late:?}");
        assert_eq!(bytes(&target), [5; 64]);
        queue.read(3, block, target.clone()).unwrap();
        assert_eq!(queue.wait(3, None).unwrap(), Waited::Done);
        assert_eq!(bytes(&target), [7; 64]);
        assert!(queue.take_late().is_empty() && device.fault().is_none());
    });
}

#[test]
fn t13_a_read_whose_end_is_told_before_its_memory_is_does_not_fail() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host reads by itself.
        device.export(block.memory).unwrap();
        queue.write(1, block, &[7; 64]).unwrap();
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        TARDY.store(true, Ordering::Relaxed);
        // Of those who look, one is about to tell of the memory while another tells of the batch.
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        queue.wait(Position::MAX, Some(Duration::ZERO)).unwrap();
                    }
                });
            }
            for at in 2..12 {
                let target = fives();
                queue.read(at, block, target.clone()).unwrap();
                assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
                let (late, read) = (queue.take_late(), bytes(&target));
                if !late.is_empty() || read != [7; 64] {
                    over.store(true, Ordering::Relaxed);
                    panic!("{late:?}, read {read:?}");
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        TARDY.store(false, Ordering::Relaxed);
    });
}

#[test]
fn l8_a_read_is_made_at_once_only_of_memory_that_nothing_under_way_uses() {
    queues(|device, queue| {
        let [busy, idle] = [(); 2].map(|()| Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 });
        let target = fives();
        let mut at = 0;
        let mut next = || {
            at += 1;
            at
        };
        queue.write(next(), busy, &[7; 64]).unwrap();
        queue.write(next(), idle, &[8; 64]).unwrap();
        let shares = device.capabilities().host_visible;
        assert_eq!(queue.read_at_once(next(), busy, &target).unwrap(), shares);
        assert_eq!(bytes(&target), if shares { [7; 64] } else { [5; 64] });
        // Recorded, and sent by nobody yet.
        queue.use_on_device(next(), busy);
        let target = fives();
        assert!(!queue.read_at_once(next(), busy, &target).unwrap());
        assert_eq!(bytes(&target), [5; 64], "bytes came from memory in use");
        assert_eq!(queue.read_at_once(next(), idle, &target).unwrap(), shares, "another block is not in use");
        let last = next();
        queue.mark(last);
        assert_eq!(queue.wait(last, None).unwrap(), Waited::Done);
        assert_eq!(queue.read_at_once(next(), busy, &target).unwrap(), shares);
        assert_eq!(bytes(&target), if shares { [9; 64] } else { [5; 64] });
        // Whoever has the buffer's handle uses it when he likes.
        if device.export(busy.memory).is_ok() {
            assert!(!queue.read_at_once(next(), busy, &target).unwrap());
        }
        device.lose_for_test();
        assert!(matches!(queue.read_at_once(next(), idle, &target), Err(DeviceError::Lost(_))));
    });
}

#[test]
fn the_host_is_shown_a_block_once_by_every_batch_that_uses_it() {
    queues(|_, queue| {
        let (one, two) = (queue.shown_block(&fives()), queue.shown_block(&fives()));
        for batch in 0..3 {
            let at = 10 * batch + 1;
            assert_eq!(queue.uses_shown(at, &one, 3), [1, 1, 1], "batch {batch}");
            assert_eq!(queue.uses_shown(at + 1, &two, 1), [1]);
            assert_eq!(queue.wait(at + 1, None).unwrap(), Waited::Done);
            assert!(one.at_hand(0, 64, queue.completed()).is_some() && one.at_hand(0, 64, at - 1).is_none());
        }
        assert!(queue.take_late().is_empty(), "wgpu refused what shows the host a buffer");
    });
}

#[test]
fn t14_what_keeps_memory_from_being_handed_out_is_told_at_once_and_of_nothing_else() {
    queues(|device, queue| {
        let [block, gone] = [(); 2].map(|()| Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 });
        queue.write(1, block, &[7; 64]).unwrap();
        let refused = queue.hand_out_what_is_gone(gone);
        assert!(matches!(&refused, Err(DeviceError::Driver { call: "submit", .. })), "{refused:?}");
        let target = fives();
        queue.read(2, block, target.clone()).unwrap();
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        assert_eq!(bytes(&target), [7; 64]);
        assert!(queue.take_late().is_empty() && device.fault().is_none());
    });
}

#[test]
fn m2_a_trim_gives_all_back_that_transfers_and_reports_have_for_later() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(4 << 20).unwrap(), offset: 0, size: 4 << 20 };
        // Told to others, it is nothing that the host uses by itself.
        device.export(block.memory).unwrap();
        let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
            @group(0) @binding(1) var<uniform> by: vec4<u32>;
            @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] += by.x; }";
        let kernel = with_bounds(source, Bounds::Validate, |request| device.compile(request).unwrap());
        let bytes_of = |n: u32| n.to_le_bytes().repeat(1 << 20);
        let transfer = |at: Position, n: u32| {
            queue.write(at, block, &bytes_of(n)).unwrap();
            let by = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let (bindings, grid) = ([Binding::Buffer(block), Binding::Inline(&by)], Grid::Direct([1 << 14, 1, 1]));
            queue.launch(at + 1, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
            let target = HostTarget::staging(4 << 20).unwrap();
            queue.read(at + 2, block, target.clone()).unwrap();
            assert_eq!(queue.wait(at + 2, None).unwrap(), Waited::Done);
            assert!(bytes(&target) == bytes_of(n + 1));
        };
        transfer(1, 7);
        let kept = || device.shared_for_test().staging.kept_for_test();
        assert!(kept().iter().all(|kept| *kept > 0) && queue.record_size().is_some(), "{:?}", kept());
        device.trim();
        assert_eq!((kept(), queue.record_size()), ([0; 3], None));
        transfer(4, 8);
        assert!(queue.take_late().is_empty() && device.fault().is_none());
    });
}

#[test]
fn m2_blocks_leave_allocations_to_what_moves_their_bytes() {
    queues(|device, _| {
        let shared = device.shared_for_test();
        let Some(own) = shared.own_memory.as_ref().filter(|own| own.shared) else { return };
        let (own, memory) = (own.at_most(2), Memory::default());
        let allocate = || memory.allocate(shared.gpu.device(), shared.next_id(), 64, 64, Some(&own));
        let made = [allocate().unwrap(), allocate().unwrap()];
        let refused = allocate();
        assert!(matches!(refused, Err(DeviceError::OutOfMemory { .. })), "{refused:?}");
        memory.free(made[0]);
        assert!(allocate().is_ok_and(|made| memory.map(made).is_ok()));
    });
}

#[test]
fn mem09_small_reads_leave_large_chunks_to_large_ones() {
    queues(|device, _| {
        let shared = device.shared_for_test();
        let take = |size| shared.staging.download(shared.gpu.device(), size).unwrap();
        let give = |chunks: Vec<Download>| chunks.into_iter().for_each(|chunk| shared.staging.give_download(chunk, true));
        give((0..4).map(|_| take(DOWNLOAD_MOST)).collect());
        let small = |n| {
            assert!(!shared.staging.lacks_downloads(4), "chunk {n}");
            take(4)
        };
        let chunks: Vec<Download> = (0..40).map(small).collect();
        assert!(chunks.iter().all(|chunk| chunk.buffer.size() <= 2 << 20));
        let first: Vec<wgpu::Buffer> = chunks.iter().map(|chunk| chunk.buffer.clone()).collect();
        give(chunks);
        let again: Vec<Download> = (0..40).map(small).collect();
        assert!(again.iter().all(|chunk| first.contains(&chunk.buffer)), "small ones were not kept");
        give(again);
    });
}

#[test]
fn mem09_small_reads_go_together_where_large_ones_have_most_of_the_memory() {
    queues(|device, queue| {
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        // Told to others, it is nothing that the host reads by itself.
        device.export(block.memory).unwrap();
        queue.use_on_device(1, block);
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        let shared = device.shared_for_test();
        let take = |_| shared.staging.download(shared.gpu.device(), DOWNLOAD_MOST).unwrap();
        let large: Vec<Download> = (0..3).map(take).collect();
        let targets: Vec<HostTarget> = (0..200).map(|_| fives()).collect();
        let sent = device.submitted_for_test();
        for (at, target) in (2..).zip(&targets) {
            queue.read(at, block, target.clone()).unwrap();
        }
        assert_eq!(queue.wait(201, None).unwrap(), Waited::Done);
        // The queue's thread sends what nobody waits for, too, but not each.
        let sent = device.submitted_for_test() - sent;
        assert!(sent < 100, "{sent} submissions of 200 reads");
        assert!(targets.iter().all(|target| bytes(target) == [9; 64]));
        large.into_iter().for_each(|chunk| shared.staging.give_download(chunk, true));
    });
}
