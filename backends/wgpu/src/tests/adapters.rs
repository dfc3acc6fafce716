//! What adapters and devices say of themselves, and how they are opened.

use super::*;

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
