//! Launches: splitting, grids, limits, late failures, panics.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use compute_hal::kernel::reflection::Bounds;
use compute_hal::kernel::{Module, Source};
use compute_hal::{CompileRequest, CompileSource, LateCause, LateFailure};

use super::*;

fn words(memory: MemoryId, count: u64) -> Region {
    region(memory, 0, count * 4)
}

/// A kernel compiled to validate.
fn validated(device: &CpuDevice, source: &str) -> KernelId {
    let module = Module::parse(&Source::wgsl(source)).unwrap();
    let entry = module.entry_point(None, &[]).unwrap();
    let request = CompileRequest {
        source: CompileSource::Portable(&entry),
        bounds: Bounds::Validate,
        cancellable: false,
        print_room: 0,
        strict: false,
        label: "",
    };
    device.compile(&request).unwrap()
}

#[test]
fn every_workgroup_of_a_grid_runs_exactly_once() {
    let device = open(3);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4 * 5 * 7 * 11 * 13);
    let run = |context: &Context, group: [u32; 3]| {
        let [x, y, z] = group.map(|n| n as usize);
        let [width, height, _] = context.workgroups.map(|n| n as usize);
        increment(context, x + width * (y + height * z));
    };
    let kernels = [None, Some(1), Some(1 << 40)].map(|cost| kernel(&device, &Spec { cost, ..Spec::default() }, run));
    let mut at = 1;
    for kernel in kernels {
        for grid in [[5, 77, 13], [5 * 7, 11, 13], [5005, 1, 1], [1, 5005, 1], [1, 1, 5005]] {
            at += 1;
            launch(&*queue, at, kernel, grid, words(memory, 5005)).unwrap();
        }
    }
    let bytes = read(&*queue, at + 1, words(memory, 5005));
    assert!(bytes.chunks(4).all(|word| word == [15, 0, 0, 0]));
}

#[test]
fn dl01_dl06_a_grid_of_exactly_the_limit_on_each_axis_runs_all_of_it() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let kernel = kernel(&device, &Spec::default(), |context, _| increment(context, 0));
    let limits = device.limits().grid;
    for (at, axis) in [(2, 0), (4, 1), (6, 2)] {
        queue.fill(at, words(memory, 1), &[0]).unwrap();
        let mut grid = [1; 3];
        grid[axis] = limits[axis];
        launch(&*queue, at + 1, kernel, grid, words(memory, 1)).unwrap();
        queue.wait(at + 1, None).unwrap();
        assert_eq!(word_now(&device, memory), limits[axis]);
        grid[axis] += 1;
        assert!(matches!(launch(&*queue, at + 2, kernel, grid, words(memory, 1)), Err(DeviceError::Internal(_))));
    }
    assert!(limits.iter().try_fold(1_u64, |all, &n| all.checked_mul(n.into())).is_some());
}

/// Reads through the mapping; nothing may be in flight.
fn word_now(device: &CpuDevice, memory: MemoryId) -> u32 {
    // SAFETY: the block has at least four bytes and is aligned; the caller sees to it that nothing runs.
    unsafe { device.map(memory).unwrap().pointer().cast::<u32>().read() }
}

#[test]
fn dl02_a_grid_with_a_zero_completes_in_order_and_runs_nothing() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let kernel = kernel(&device, &Spec::default(), |context, _| increment(context, 0));
    launch(&*queue, 2, kernel, [0, 5, 7], words(memory, 1)).unwrap();
    launch(&*queue, 3, kernel, [3, 5, 7], words(memory, 1)).unwrap();
    assert_eq!(word(&*queue, 4, memory, 0), 105);
}

#[test]
fn dl09_twenty_thousand_dependent_launches_count_to_twenty_thousand() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let add = |context: &Context, _: [u32; 3]| {
        // Not atomic: order alone must keep it right.
        // SAFETY: the binding has a word.
        unsafe { *(*context.bindings).pointer.cast::<u32>() += 1 };
    };
    let kernels = [None, Some(10)].map(|cost| kernel(&device, &Spec { cost, ..Spec::default() }, add));
    for n in 0..20_000 {
        launch(&*queue, n + 2, kernels[usize::from(n % 3 == 0)], [1, 1, 1], words(memory, 1)).unwrap();
    }
    assert_eq!(word(&*queue, 20_002, memory, 0), 20_000);
}

#[test]
fn l2_an_indirect_grid_is_read_when_its_turn_comes() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let (memory, grid) = (zeroed(&device, &*queue, 4), device.allocate(100).unwrap());
    let kernel = kernel(&device, &Spec::default(), |context, _| increment(context, 0));
    let gate = Gate::new(&device);
    gate.close(&*queue, 2);
    queue.write(3, region(grid, 4, 12), bytes(&[3, 5, 7])).unwrap();
    launch_with(&*queue, 4, kernel, Grid::Indirect(region(grid, 4, 12)), words(memory, 1), 0).unwrap();
    queue.write(5, region(grid, 4, 12), bytes(&[1000, 0, 1000])).unwrap();
    launch_with(&*queue, 6, kernel, Grid::Indirect(region(grid, 4, 12)), words(memory, 1), 0).unwrap();
    gate.open();
    assert_eq!(word(&*queue, 7, memory, 0), 105);
    assert!(queue.take_late().is_empty());
    assert!(launch_with(&*queue, 8, kernel, Grid::Indirect(region(grid, 4, 11)), words(memory, 1), 0).is_err());
}

fn bytes(words: &[u32; 3]) -> &[u8] {
    // SAFETY: any three words are twelve bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 12) }
}

#[test]
fn t13_l2_an_indirect_grid_over_the_limit_runs_nothing_and_fails_late() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let (memory, grid) = (zeroed(&device, &*queue, 4), device.allocate(12).unwrap());
    let kernel = kernel(&device, &Spec::default(), |context, _| increment(context, 0));
    queue.write(2, region(grid, 0, 12), bytes(&[1, u32::MAX, 1])).unwrap();
    launch_with(&*queue, 3, kernel, Grid::Indirect(region(grid, 0, 12)), words(memory, 1), 0).unwrap();
    assert_eq!(word(&*queue, 4, memory, 0), 0);
    let [LateFailure { position: 3, cause: LateCause::GridLimit { asked: [1, u32::MAX, 1], allowed } }] = *queue.take_late()
    else {
        panic!("not the one late failure expected");
    };
    assert_eq!(allowed, device.limits().grid);
    assert!(queue.take_late().is_empty());
}

#[test]
fn t13_a_kernel_past_its_time_limit_is_stopped_and_reported_before_its_position_completes() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let endless = |context: &Context, _: [u32; 3]| {
        // SAFETY: kernels compiled as cancellable are given a flag.
        while unsafe { (*context.cancel).load(Ordering::Relaxed) } == 0 {
            std::thread::yield_now();
        }
    };
    let kernel = kernel(&device, &Spec { cancellable: true, ..Spec::default() }, endless);
    for (at, grid) in [(2, [1, 1, 1]), (3, [1000, 100, 1])] {
        launch_with(&*queue, at, kernel, Grid::Direct(grid), words(memory, 1), 20_000_000).unwrap();
        let start = Instant::now();
        while queue.completed() < at {
            assert!(start.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
        let late = queue.take_late();
        assert!(
            matches!(late[..], [LateFailure { position, cause: LateCause::TimeLimit { limit: 20_000_000 } }] if position == at)
        );
    }
    queue.fill(4, words(memory, 1), &[9]).unwrap();
    assert_eq!(word(&*queue, 5, memory, 0), 0x0909_0909);
    assert!(device.fault().is_none());
}

#[test]
fn t13_a_limited_kernel_that_is_done_in_time_is_no_failure() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let kernel = kernel(&device, &Spec { cancellable: true, ..Spec::default() }, |context, _| increment(context, 0));
    for at in 2..1002 {
        launch_with(&*queue, at, kernel, Grid::Direct([3, 1, 1]), words(memory, 1), 60_000_000_000).unwrap();
    }
    assert_eq!(word(&*queue, 1002, memory, 0), 3000);
    assert!(queue.take_late().is_empty());
}

#[test]
fn l5_t13_the_first_violation_of_a_validated_kernel_is_reported_with_its_place() {
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    let source = "
        var<private> input: array<u32, 12>;
        @group(0) @binding(0) var<storage, read_write> O: array<u32>;
        @compute @workgroup_size(10) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
            let i = i32(g.x) - 775;
            if (i == -5) { O[0] = input[i]; }
        }";
    let kernel = validated(&device, source);
    launch(&*queue, 2, kernel, [77, 1, 1], words(memory, 1)).unwrap();
    launch(&*queue, 3, kernel, [78, 1, 1], words(memory, 1)).unwrap();
    queue.wait(3, None).unwrap();
    let late = queue.take_late();
    let [
        LateFailure {
            position: 3,
            cause: LateCause::OutOfBounds { location, index: -5, length: 12, invocation: [770, 0, 0], what },
        },
    ] = &late[..]
    else {
        panic!("{late:?}");
    };
    assert_eq!((location.line, location.column, &what[..]), (6, 35, "input"));
}

#[test]
fn a_panic_in_a_job_poisons_the_device_wakes_everybody_and_hangs_nobody() {
    for grid in [[1, 1, 1], [500, 1, 1]] {
        for cost in [None, Some(1)] {
            let device = open(2);
            let (queue, other) = (device.create_queue().unwrap(), device.create_queue().unwrap());
            let memory = zeroed(&device, &*queue, 4);
            let kernel =
                kernel(&device, &Spec { cost, ..Spec::default() }, |_, group| assert!(group[0] != 0, "broken on purpose"));
            let told = Arc::new(AtomicUsize::new(0));
            for queue in [&queue, &other] {
                let told = Arc::clone(&told);
                queue.notify(
                    1000,
                    Box::new(move || {
                        told.fetch_add(1, Ordering::SeqCst);
                    }),
                );
            }
            other.wait_for(queue.id(), 500).unwrap();
            let _ = launch(&*queue, 2, kernel, grid, words(memory, 1));
            assert!(matches!(queue.wait(2, None), Err(DeviceError::Lost(_))));
            assert!(matches!(other.wait(9, None), Err(DeviceError::Lost(_))));
            assert!(device.fault().unwrap().message.contains("broken on purpose"));
            // Not before nothing of the queue runs any more, which may be a moment after the waiters were told.
            let start = Instant::now();
            while (queue.completed(), other.completed()) != (Position::MAX, Position::MAX) {
                assert!(start.elapsed() < Duration::from_secs(5));
                std::thread::yield_now();
            }
            assert!(matches!(queue.fill(3, words(memory, 1), &[1]), Err(DeviceError::Lost(_))));
            assert!(matches!(device.allocate(1), Err(DeviceError::Lost(_))));
            assert!(matches!(device.create_queue(), Err(DeviceError::Lost(_))));
            queue.mark(4);
            device.free(memory);
            let start = Instant::now();
            while told.load(Ordering::SeqCst) < 2 {
                assert!(start.elapsed() < Duration::from_secs(5));
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn bindings_and_immediates_reach_the_kernel_aligned_and_whole() {
    let device = open(1);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 64);
    let run = |context: &Context, _: [u32; 3]| {
        assert_eq!(context.immediates.addr() % 16, 0);
        // SAFETY: as launched below.
        unsafe {
            let view = *context.bindings;
            assert_eq!(view.size, 40);
            std::ptr::copy_nonoverlapping(context.immediates, view.pointer, 40);
        }
    };
    let kernel = kernel(&device, &Spec { immediates: 40, ..Spec::default() }, run);
    let immediates: Vec<u8> = (10..50).collect();
    let bindings = [Binding::Buffer(region(memory, 8, 40))];
    let good = Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings: &bindings, immediates: &immediates, time_limit: 0 };
    let gate = Gate::new(&device);
    gate.close(&*queue, 2);
    queue.launch(3, &good).unwrap();
    gate.open();
    assert_eq!(read(&*queue, 4, region(memory, 8, 40)), immediates);
    let refused = [
        Launch { immediates: &immediates[1..], ..good },
        Launch { bindings: &[], ..good },
        Launch { bindings: &[Binding::Buffer(region(memory, 2, 40))], ..good },
        Launch { bindings: &[Binding::Buffer(region(memory, 0, 3))], ..good },
        Launch { bindings: &[Binding::Inline(&[1, 2, 3, 4])], ..good },
        Launch { kernel: KernelId(999), ..good },
        Launch { time_limit: 5, ..good },
    ];
    for launch in refused {
        assert!(matches!(queue.launch(5, &launch), Err(DeviceError::Internal(_))), "{launch:?}");
    }
    device.drop_kernel(kernel);
    assert!(matches!(queue.launch(5, &good), Err(DeviceError::Internal(_))));
}

#[test]
fn threads_that_run_a_kernel_at_once_never_share_scratch() {
    let device = Arc::new(open(3));
    let clashes = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&clashes);
    let run = move |context: &Context, _: [u32; 3]| {
        // SAFETY: the kernel asked for this much scratch.
        let busy = unsafe { AtomicU32::from_ptr(context.scratch.cast()) };
        if busy.swap(0xB5, Ordering::SeqCst) == 0xB5 {
            seen.fetch_add(1, Ordering::SeqCst);
        }
        std::thread::sleep(Duration::from_micros(50));
        busy.store(0, Ordering::SeqCst);
    };
    let kernel = kernel(&device, &Spec { scratch: 4096, ..Spec::default() }, run);
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let device = Arc::clone(&device);
            std::thread::spawn(move || {
                let queue = device.create_queue().unwrap();
                let memory = zeroed(&device, &*queue, 4);
                for at in 2..100 {
                    launch(&*queue, at, kernel, [4, 1, 1], words(memory, 1)).unwrap();
                    queue.wait(at, None).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(clashes.load(Ordering::SeqCst), 0);
}

#[test]
fn s1_one_long_kernel_on_the_only_worker_lets_other_queues_through() {
    let device = open(1);
    let (long, short) = (device.create_queue().unwrap(), device.create_queue().unwrap());
    let memory = zeroed(&device, &*long, 4);
    let stop = Arc::new(AtomicU32::new(0));
    let stopped = Arc::clone(&stop);
    let kernel = kernel(&device, &Spec::default(), move |_, _| {
        if stopped.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    launch(&*long, 2, kernel, [1_000_000, 1, 1], words(memory, 1)).unwrap();
    let other = device.allocate(1 << 20).unwrap();
    short.fill(1, region(other, 0, 1 << 20), &[1]).unwrap();
    // A poll does not help: the worker has to make way by itself.
    let start = Instant::now();
    while short.completed() < 1 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(long.completed(), 1);
    stop.store(1, Ordering::Relaxed);
    assert_eq!(long.wait(2, None).unwrap(), Waited::Done);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn ffi03_kernels_compute_alike_whatever_floating_point_mode_the_host_is_in() {
    fn control(set: Option<u32>) -> u32 {
        let mut before = 0_u32;
        // SAFETY: stores the control register, and loads it with a valid value.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack));
            if let Some(value) = set {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack));
            }
        }
        before & !0x3f
    }
    // Flush to zero, denormals are zero, round towards zero; workers inherit it, too.
    let host = control(Some(0x1f80 | 0xe040)) | 0xe040;
    let device = open(2);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 8);
    let run = |context: &Context, group: [u32; 3]| {
        // Through memory, so that nothing is computed beforehand.
        let half = std::hint::black_box(f32::from_bits(2)) * std::hint::black_box(0.5);
        // SAFETY: the binding has two words.
        unsafe { (*context.bindings).pointer.cast::<u32>().add(group[0] as usize).write(half.to_bits()) };
    };
    for (at, cost) in [(2, Some(1)), (4, None)] {
        let kernel = kernel(&device, &Spec { cost, ..Spec::default() }, run);
        launch(&*queue, at, kernel, [2, 1, 1], words(memory, 2)).unwrap();
        // A worker has to run the one that is not known to be short.
        queue.wait(at, Some(Duration::from_secs(60))).unwrap();
        assert_eq!(read(&*queue, at + 1, words(memory, 2)), [1, 0, 0, 0, 1, 0, 0, 0], "cost {cost:?}");
    }
    assert_eq!(control(Some(0x1f80)), host, "the host's own mode is left alone");
}

#[test]
fn kernels_that_take_much_stack_run_on_workers_only_in_order_and_on_several() {
    use crate::kernel::GUEST_FRAME;
    let device = open(3);
    let queue = device.create_queue().unwrap();
    let memory = zeroed(&device, &*queue, 4);
    queue.wait(1, None).unwrap();
    let me = std::thread::current().id();
    let mut at = 1;
    for (frame, scratch) in [(GUEST_FRAME, 0), (GUEST_FRAME + 1, 0), (GUEST_FRAME + 1, 4096)] {
        // Short ones are for the thread that enqueues, others for whoever waits.
        for cost in [Some(1), None] {
            let ran = Arc::new(parking_lot::Mutex::new(Vec::new()));
            let seen = Arc::clone(&ran);
            let spec = Spec { cost, frame, scratch, ..Spec::default() };
            let short = cost.is_some();
            let kernel = kernel(&device, &spec, move |context, _| {
                // SAFETY: the binding has a word.
                let before = unsafe { AtomicU32::from_ptr((*context.bindings).pointer.cast()) }.fetch_add(1, Ordering::SeqCst);
                seen.lock().push((before, std::thread::current().id()));
                if !short {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            for groups in [1, 40, 3] {
                at += 1;
                launch(&*queue, at, kernel, [groups, 1, 1], words(memory, 1)).unwrap();
                assert_eq!(queue.wait(at, None).unwrap(), Waited::Done);
                let ran = std::mem::take(&mut *ran.lock());
                assert_eq!(ran.len(), groups as usize);
                assert!(ran.iter().all(|(before, _)| *before < groups), "the fill before it is done");
                let mine = ran.iter().filter(|(_, thread)| *thread == me).count();
                if frame > GUEST_FRAME {
                    assert_eq!(mine, 0, "cost {cost:?}, scratch {scratch}");
                } else if short {
                    assert_eq!(mine, groups as usize);
                }
                let mut threads: Vec<_> = ran.iter().map(|(_, thread)| format!("{thread:?}")).collect();
                threads.sort();
                threads.dedup();
                assert!(short || groups < 40 || threads.len() > 1, "one thread alone");
                at += 1;
                queue.fill(at, words(memory, 1), &[0]).unwrap();
            }
        }
    }
}
