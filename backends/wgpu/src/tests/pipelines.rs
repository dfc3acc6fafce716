//! Kernels being compiled, and pipelines kept for later.

use super::*;

/// Nested as deep as the front end takes it.
fn deepest() -> String {
    let nested = format!("{}x = 1u{};{}", "if x == 1u { loop {".repeat(45), " + x".repeat(1000), "break; } }".repeat(45));
    format!(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn main() {{ var x = o[1]; {nested} o[0] = x; }}"
    )
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
