//! What only the inside can bring about: a batch that the driver refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use ash::vk::{self, Handle as _};
use compute_hal::kernel::{Module, Source, reflection::Bounds};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, GraphRequest, Grid, HostTarget, HostVulkan, KernelId,
    LateCause, LateFailure, Launch, Node, NodeWork, OpenOptions, Position, Queue, Region, VulkanFunction, VulkanHost, Waited,
};

use crate::device::WgpuDevice;
use crate::errors::{scoped, survive};
use crate::flight::{SENT_HERE, how};
use crate::memory::Memory;
use crate::queue::WgpuQueue;
use crate::sending::PARTS;
use crate::staging::{DOWNLOAD_MOST, Download, TARDY};
use crate::{WgpuDriver, driver, turns};

fn queues(test: impl Fn(&WgpuDevice, &WgpuQueue)) {
    for index in 0..WgpuDriver.probe().devices.len() {
        let device = driver::open_device(u32::try_from(index).unwrap(), &OpenOptions::default(), true).unwrap();
        let queue = device.open_queue().unwrap();
        test(&device, &queue);
    }
}

/// Memory full of fives, for reads.
fn fives() -> HostTarget {
    let target = HostTarget::staging(64).unwrap();
    // SAFETY: the memory is 64 bytes, and nobody else has it yet.
    unsafe { target.pointer().write_bytes(5, 64) };
    target
}

/// What is in staging memory.
fn bytes(target: &HostTarget) -> Vec<u8> {
    // SAFETY: the staging memory lives as long as `target`, and nothing is under way that writes there.
    unsafe { std::slice::from_raw_parts(target.pointer(), target.size()) }.to_vec()
}

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

/// Runs `test` with a kernel on a device that sends `slice_groups` workgroups at most.
fn sliced(source: &str, bounds: Bounds, slice_groups: u64, test: impl Fn(&WgpuDevice, &WgpuQueue, KernelId)) {
    if WgpuDriver.probe().devices.is_empty() {
        return;
    }
    let device = driver::open_device(0, &OpenOptions { slice_groups, ..OpenOptions::default() }, true).unwrap();
    let queue = device.open_queue().unwrap();
    let entry = Module::parse(&Source::wgsl(source)).and_then(|module| module.entry_point(None, &[])).unwrap();
    let source = CompileSource::Portable(&entry);
    let request = CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "" };
    test(&device, &queue, device.compile(&request).unwrap());
}

#[test]
fn no_submission_has_more_workgroups_than_a_sliced_device_allows() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { o[id.x] = id.x + 1u; }";
    let entry = Module::parse(&Source::wgsl(source)).and_then(|module| module.entry_point(None, &[])).unwrap();
    if WgpuDriver.probe().devices.is_empty() {
        return;
    }
    for (slice_groups, submissions) in [(0, 1), (3, 4), (5, 2), (100, 1)] {
        let device = driver::open_device(0, &OpenOptions { slice_groups, ..OpenOptions::default() }, true).unwrap();
        let queue = device.open_queue().unwrap();
        let block = Region { memory: device.allocate(40).unwrap(), offset: 0, size: 40 };
        let source = CompileSource::Portable(&entry);
        let request =
            CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "" };
        let kernel = device.compile(&request).unwrap();
        let before = device.submitted_for_test();
        let (grid, bindings) = (Grid::Direct([10, 1, 1]), [Binding::Buffer(block)]);
        queue.launch(1, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        assert_eq!(device.submitted_for_test() - before, submissions, "{slice_groups}");
        let target = HostTarget::staging(40).unwrap();
        queue.read(2, block, target.clone()).unwrap();
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        let wanted: Vec<u8> = (1..=10_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(bytes(&target), wanted);
    }
}

#[test]
fn a_launch_of_many_slices_waits_for_its_own_earlier_ones() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) {
            var sum = id.x;
            for (var i = 0u; i < 20000u; i++) { sum = sum * 3u + i; }
            o[id.x] = sum | 1u;
        }";
    sliced(source, Bounds::Checked, 1, |device, queue, kernel| {
        let block = Region { memory: device.allocate(1200).unwrap(), offset: 0, size: 1200 };
        let (grid, bindings) = (Grid::Direct([300, 1, 1]), [Binding::Buffer(block)]);
        queue.launch(1, &Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 }).unwrap();
        assert!(queue.under_way() <= PARTS + 1, "{} batches under way", queue.under_way());
        let target = HostTarget::staging(1200).unwrap();
        queue.read(2, block, target.clone()).unwrap();
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        assert!(bytes(&target).as_chunks::<4>().0.iter().all(|word| u32::from_le_bytes(*word) != 0));
    });
}

#[test]
fn t13_a_launch_whose_first_slice_is_refused_does_not_report_what_another_one_did() {
    let source = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { o[id.x] = 1u; }";
    sliced(source, Bounds::Validate, 1, |device, queue, kernel| {
        let memory = device.allocate(8).unwrap();
        let [short, long] = [4, 8].map(|size| [Binding::Buffer(Region { memory, offset: 0, size })]);
        let launch = |bindings| Launch { kernel, grid: Grid::Direct([2, 1, 1]), bindings, immediates: &[], time_limit: 0 };
        queue.launch(1, &launch(&short)).unwrap();
        queue.submit().unwrap();
        queue.break_first_slice(2, &launch(&long));
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        let late = queue.take_late();
        let [one, two] = &late[..] else { panic!("{late:?}") };
        assert!(one.position == 1 && matches!(one.cause, LateCause::OutOfBounds { .. }), "{one:?}");
        assert!(two.position == 2 && matches!(two.cause, LateCause::Driver { .. }), "{two:?}");
        queue.launch(3, &launch(&long)).unwrap();
        assert_eq!(queue.wait(3, None).unwrap(), Waited::Done);
        assert!(queue.take_late().is_empty());
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
fn dl06_the_limits_leave_room_for_what_is_bound_beside_a_kernels_own() {
    let few = wgpu::Limits {
        max_storage_buffers_per_shader_stage: 31,
        max_uniform_buffers_per_shader_stage: 12,
        max_bindings_per_bind_group: 1000,
        ..wgpu::Limits::default()
    };
    let bindings = |native: &wgpu::Limits, sliced| driver::limits(native, wgpu::Features::empty(), sliced).bindings;
    assert_eq!((bindings(&few, false), bindings(&few, true)), (12, 11), "the slice is a uniform block");
    let few = wgpu::Limits { max_uniform_buffers_per_shader_stage: 100, max_bindings_per_bind_group: 16, ..few };
    assert_eq!((bindings(&few, false), bindings(&few, true)), (15, 14), "the record and the slice are bindings");
    let none = wgpu::Limits { max_uniform_buffers_per_shader_stage: 0, ..few };
    assert_eq!(bindings(&none, true), 0);
    let metal = wgpu::Limits {
        max_storage_buffers_per_shader_stage: 29,
        max_uniform_buffers_per_shader_stage: 29,
        max_buffers_and_acceleration_structures_per_shader_stage: 29,
        max_bindings_per_bind_group: u32::MAX,
        ..few
    };
    assert_eq!((bindings(&metal, false), bindings(&metal, true)), (28, 27), "one number for both kinds");
}

#[test]
fn t1_a_binding_is_no_longer_than_a_kernel_can_be_told() {
    let size = |native| {
        let native = wgpu::Limits { max_storage_buffer_binding_size: native, ..wgpu::Limits::default() };
        driver::limits(&native, wgpu::Features::empty(), false).binding_size
    };
    assert_eq!([32 << 30, 1 << 32, 0xffff_ffff].map(size), [0xffff_fffc; 3]);
    assert_eq!(size(2 << 30), 2 << 30);
}

#[test]
fn l2_direct3d_12_tells_kernels_how_many_workgroups_an_indirect_grid_has() {
    assert_eq!(driver::flags(wgpu::Backends::DX12), wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    assert_eq!(driver::flags(wgpu::Backends::VULKAN), wgpu::InstanceFlags::empty());
}

fn adapter(backend: wgpu::Backend, name: &str, (vendor, device): (u32, u32)) -> wgpu::AdapterInfo {
    let device_pci_bus_id = "0000:01:00.0".into();
    let info = wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, backend);
    wgpu::AdapterInfo { name: name.into(), vendor, device, device_pci_bus_id, ..info }
}

#[test]
fn two_equal_cards_of_direct3d_12_are_not_given_one_identity() {
    let of = |backend| driver::identity(&adapter(backend, "A", (driver::NVIDIA, 1)));
    assert_eq!(of(wgpu::Backend::Dx12), [0; 16]);
    assert_ne!(of(wgpu::Backend::Gl), [0; 16]);
}

#[test]
fn a_card_is_listed_by_the_first_api_that_has_it() {
    use wgpu::Backend::{Dx12, Metal, Vulkan};
    let (a, warp) = ((driver::NVIDIA, 1), (0x1414, 0x8c));
    let found = [adapter(Vulkan, "A", a), adapter(Vulkan, "A", a)];
    let more =
        [adapter(Dx12, "A as it is called there", a), adapter(Dx12, "WARP", warp), adapter(Dx12, "A", a), adapter(Dx12, "A", a)];
    assert_eq!(driver::are_new(&found, &more), [false, true, false, true], "there are two of them");
    let apple = adapter(Metal, "Apple M2", (0, 0));
    let more = [adapter(Vulkan, "Apple M2", (0x106b, 7)), adapter(Vulkan, "llvmpipe", (0x1_0005, 0))];
    assert_eq!(driver::are_new(&[apple], &more), [false, true]);
    assert_eq!(driver::are_new(&[], &found), [true, true], "an API's own list is as it is");
}

fn one<'a>(kernel: KernelId, bindings: &'a [Binding<'a>]) -> Launch<'a> {
    Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings, immediates: &[], time_limit: 0 }
}

#[test]
fn g6_updates_of_a_node_find_the_bind_groups_of_what_was_bound_before() {
    queues(|device, queue| {
        let source = "@group(0) @binding(0) var<storage, read> old: array<u32>;
            @group(0) @binding(1) var<storage, read_write> sum: array<u32>;
            @group(0) @binding(2) var<uniform> more: vec4<u32>;
            @compute @workgroup_size(1) fn more_of_it() { sum[0] = old[0] + more.x; }";
        let entry = Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap();
        let source = CompileSource::Portable(&entry);
        let request =
            CompileRequest { source, bounds: Bounds::Checked, label: "more", cancellable: false, print_room: 0, strict: false };
        let kernel = device.compile(&request).unwrap();
        let blocks = [0, 1, 2].map(|_| Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 });
        queue.write(1, blocks[0], &[1; 64]).unwrap();
        queue.write(2, blocks[1], &[2; 64]).unwrap();
        let more = |n: u8| [n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let bind = |from: usize| [blocks[from], blocks[2]].map(Binding::Buffer);
        let ([from, to], none) = (bind(0), more(0));
        let bindings = [from, to, Binding::Inline(&none)];
        let node = Node { work: NodeWork::Launch(one(kernel, &bindings)), after: &[] };
        let graph = device.instantiate(&GraphRequest { nodes: &[node], timed: false, label: "updated" }).unwrap();
        let made = || device.shared_for_test().kept_groups.lock().made_in_all;
        assert_eq!(made(), 1);
        for turn in 1..40_u8 {
            let inline = more(turn);
            let [from, to] = bind(usize::from(turn % 2));
            let bindings = [from, to, Binding::Inline(&inline)];
            device.update_graph(graph, 0, &NodeWork::Launch(one(kernel, &bindings))).unwrap();
            queue.replay(2 * Position::from(turn) + 1, graph).unwrap();
            let result = fives();
            queue.read(2 * Position::from(turn) + 2, blocks[2], result.clone()).unwrap();
            queue.wait(2 * Position::from(turn) + 2, None).unwrap();
            let old = if turn % 2 == 0 { 1 } else { 2 };
            assert_eq!(bytes(&result)[..4], [old + turn, old, old, old]);
        }
        assert_eq!(made(), 2, "one group for each of two inputs");
        // What is gone is not held.
        device.free(blocks[1].memory);
        assert_eq!(device.shared_for_test().kept_groups.lock().count_for_test(), 1);
        device.drop_graph(graph);
        assert_eq!(device.shared_for_test().kept_groups.lock().count_for_test(), 0);
    });
}

#[test]
fn g6_a_graph_that_is_changed_and_never_replayed_keeps_no_memory_for_each_change() {
    queues(|device, queue| {
        let source = "@group(0) @binding(0) var<storage, read_write> sum: array<u32>;
            @group(0) @binding(1) var<uniform> more: vec4<u32>;
            @compute @workgroup_size(1) fn more_of_it() { sum[0] = more.x; }";
        let kernel = with_request(source, |request| device.compile(request).unwrap());
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        let change = |graph, byte: u8| {
            let bytes = [byte; 16];
            let bindings = [Binding::Buffer(block), Binding::Inline(&bytes)];
            device.update_graph(graph, 0, &NodeWork::Launch(one(kernel, &bindings))).unwrap();
        };
        let bindings = [Binding::Buffer(block), Binding::Inline(&[0; 16])];
        let node = Node { work: NodeWork::Launch(one(kernel, &bindings)), after: &[] };
        let graph = device.instantiate(&GraphRequest { nodes: &[node], timed: false, label: "changed" }).unwrap();
        let before = device.submitted_for_test();
        (0..2000).for_each(|turn| change(graph, turn as u8));
        // Each is a write of wgpu's with memory of its own until something is submitted.
        let submitted = device.submitted_for_test() - before;
        assert!((4..200).contains(&submitted), "{submitted} submissions for 2000 changes");
        change(graph, 77);
        queue.replay(1, graph).unwrap();
        let result = fives();
        queue.read(2, block, result.clone()).unwrap();
        assert_eq!(queue.wait(2, None).unwrap(), Waited::Done);
        assert_eq!(bytes(&result)[..4], [77; 4]);
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

/// Nested as deep as the front end takes it.
fn deepest() -> String {
    let nested = format!("{}x = 1u{};{}", "if x == 1u { loop {".repeat(45), " + x".repeat(1000), "break; } }".repeat(45));
    format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main() {{ var x = o[1]; {nested} o[0] = x; }}"
    )
}

fn with_request<T>(source: &str, then: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    with_bounds(source, Bounds::Checked, then)
}

fn with_bounds<T>(source: &str, bounds: Bounds, then: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    let entry = Module::parse(&Source::wgsl(source)).unwrap_or_else(|found| panic!("{}", found.text));
    let entry = entry.entry_point(None, &[]).unwrap_or_else(|found| panic!("{}", found.text));
    let source = CompileSource::Portable(&entry);
    then(&CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "t" })
}

#[test]
fn the_deepest_kernel_is_compiled_for_a_thread_with_a_small_stack() {
    queues(|device, _| {
        with_request(&deepest(), |request| {
            std::thread::scope(|scope| {
                let small = std::thread::Builder::new().stack_size(64 << 10);
                let compiled = small.spawn_scoped(scope, || device.compile(request).map(drop)).unwrap().join().unwrap();
                assert!(compiled.is_ok(), "{compiled:?}");
            });
        });
    });
}

/// Devices that keep pipelines, of adapters that can.
fn keepers(test: impl Fn(&WgpuDevice)) {
    for index in 0..WgpuDriver.probe().devices.len() {
        let options = OpenOptions { artifacts: true, ..OpenOptions::default() };
        let device = driver::open_device(u32::try_from(index).unwrap(), &options, true).unwrap();
        if device.artifact_identity().is_some() {
            test(&device);
        }
    }
}

#[test]
fn l7_a_pipeline_is_kept_if_the_driver_keeps_any_of_it_and_taken_back_by_that_driver() {
    keepers(|device| {
        with_request("@compute @workgroup_size(1) fn main() {}", |request| {
            let kept = device.artifact(device.compile(request).unwrap());
            let software = device.properties().kind == compute_hal::DeviceKind::Cpu;
            // Mesa's software driver of 22.3 keeps headers only, of which nobody would have anything.
            assert!(kept.is_some() || software, "{:?}", device.properties());
            if let Some(kept) = kept {
                assert!(device.restore(request, &kept).is_ok());
            }
        });
    });
}

#[test]
fn l7_a_pipeline_that_the_driver_takes_nothing_of_is_not_restored() {
    keepers(|device| {
        with_request("@compute @workgroup_size(1) fn main() {}", |request| {
            let kept = device.artifact(device.compile(request).unwrap());
            let mut foreign = kept.unwrap_or_else(|| device.shared_for_test().empty_cache_for_test());
            // Behind wgpu's header of 64 bytes lies Vulkan's, whose last 16 are the driver's own: of another build of it they differ.
            foreign[64 + 16..64 + 32].iter_mut().for_each(|byte| *byte ^= 0xff);
            let restored = device.restore(request, &foreign);
            assert!(matches!(restored, Err(DeviceError::Unsupported(_))), "{restored:?}");
            foreign.push(0);
            assert!(device.restore(request, &foreign).is_err(), "data of a wrong length were taken");
        });
    });
}

#[test]
fn devices_are_opened_and_closed_by_several_threads_while_others_compile() {
    let opened = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                queues(|device, _| {
                    with_request("@compute @workgroup_size(1) fn main() {}", |request| assert!(device.compile(request).is_ok()));
                    opened.fetch_add(1, Ordering::Relaxed);
                });
            });
        }
    });
    assert_eq!(opened.into_inner(), 4 * WgpuDriver.probe().devices.len());
}

#[test]
fn devices_are_opened_and_closed_one_at_a_time() {
    if WgpuDriver.probe().devices.is_empty() {
        return;
    }
    let open = || driver::open_device(0, &OpenOptions::default(), true).unwrap();
    let device = open();
    let tries: [Box<dyn FnOnce() + Send>; 3] = [
        Box::new(|| drop(WgpuDriver.probe())),
        Box::new(move || drop(open())),
        // Alone, with no queue's thread that would do it.
        Box::new(move || drop(device)),
    ];
    for tried in tries {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let turn = turns::alone();
            scope.spawn(|| {
                tried();
                done.store(true, Ordering::Release);
            });
            std::thread::sleep(Duration::from_millis(100));
            assert!(!done.load(Ordering::Acquire), "out of turn");
            drop(turn);
        });
        assert!(done.into_inner());
    }
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

/// A host that has a Vulkan device of its own.
struct Engine {
    loaded: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    physical: vk::PhysicalDevice,
    family: u32,
}

/// A host that has its queue for itself.
struct Alone;

impl VulkanHost for Alone {
    fn lock_queue(&self) {}
    fn unlock_queue(&self) {}
}

/// What loads functions of the loader's, for those that say something else in a test.
static LOADER: OnceLock<ash::StaticFn> = OnceLock::new();

unsafe extern "system" fn load(instance: *mut c_void, name: *const c_char) -> VulkanFunction {
    let instance = vk::Instance::from_raw(instance.expose_provenance() as u64);
    // SAFETY: as our own caller says, who has a name.
    unsafe {
        if CStr::from_ptr(name) == c"vkGetPhysicalDeviceProperties" {
            ASKED_OF.get_or_init(|| instance.as_raw());
            return Some(std::mem::transmute::<vk::PFN_vkGetPhysicalDeviceProperties, unsafe extern "system" fn()>(of_nvidia));
        }
        (LOADER.get().unwrap().get_instance_proc_addr)(instance, name)
    }
}

static ASKED_OF: OnceLock<u64> = OnceLock::new();

/// Whatever it is, it says that NVIDIA has made it.
unsafe extern "system" fn of_nvidia(physical: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceProperties) {
    let instance = vk::Instance::from_raw(*ASKED_OF.get().unwrap());
    // SAFETY: the function of that name has this type, and its caller gives a place.
    unsafe {
        let ask = (LOADER.get().unwrap().get_instance_proc_addr)(instance, c"vkGetPhysicalDeviceProperties".as_ptr()).unwrap();
        std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkGetPhysicalDeviceProperties>(ask)(physical, into);
        (*into).vendor_id = driver::NVIDIA;
    }
}

impl Engine {
    /// `None`: there is no Vulkan device that draws and computes.
    fn new() -> Option<Self> {
        // Other tests make devices, too.
        let _turn = turns::alone();
        // SAFETY: a Vulkan loader may be loaded into any process; what is made here is used as Vulkan has it.
        unsafe {
            let loaded = ash::Entry::load().ok()?;
            LOADER.get_or_init(|| loaded.static_fn().clone());
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
            let instance = loaded.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None).ok()?;
            let both = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
            let (physical, family) = instance.enumerate_physical_devices().ok()?.into_iter().find_map(|physical| {
                let families = instance.get_physical_device_queue_family_properties(physical);
                families.iter().position(|family| family.queue_flags.contains(both)).map(|family| (physical, family as u32))
            })?;
            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let device =
                instance.create_device(physical, &vk::DeviceCreateInfo::default().queue_create_infos(&queues), None).ok()?;
            Some(Self { loaded, instance, device, physical, family })
        }
    }

    fn shared(&self) -> HostVulkan {
        HostVulkan {
            loader: load,
            instance: self.instance.handle().as_raw(),
            physical_device: self.physical.as_raw(),
            device: self.device.handle().as_raw(),
            api_version: vk::API_VERSION_1_1,
            instance_extensions: Vec::new(),
            device_extensions: Vec::new(),
            features: std::ptr::null(),
            queue_family: self.family,
            queue_index: 0,
            host: Arc::new(Alone),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _turn = turns::alone();
        // SAFETY: devices on it are closed by now. The loader stays: drivers have handlers for the end of the process.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
        std::mem::forget(self.loaded.clone());
    }
}

#[test]
fn a_host_s_device_of_nvidia_s_is_opened_while_nobody_makes_a_device() {
    let Some(engine) = Engine::new() else { return };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let turn = turns::alone();
        let (engine, done) = (&engine, &done);
        scope.spawn(move || {
            let options = OpenOptions { vulkan: Some(engine.shared()), ..OpenOptions::default() };
            let device = driver::open_device(0, &options, true).unwrap();
            assert_eq!(device.properties().vendor, "NVIDIA");
            done.store(true, Ordering::Release);
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!done.load(Ordering::Acquire), "out of turn");
        drop(turn);
    });
    assert!(done.into_inner());
}
