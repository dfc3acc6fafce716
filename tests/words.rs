//! Views of a device that binds whole words (wgpu): what is cut off of a view counts neither as written nor as there. Elements of 16 bits only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::*;
use compute::registry;
use compute::runtime::{self, Device, DeviceOptions, Outcome, Stream, code};

const ONES: &str = "enable f16;
@group(0) @binding(0) var<storage, read_write> o: array<f16>;
@compute @workgroup_size(1) fn ones(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = 1h; }";

const FIXED: &str = "enable f16;
@group(0) @binding(0) var<storage, read_write> o: array<f16, 3>;
@compute @workgroup_size(1) fn ones(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = 1h; }";

/// A wgpu device that has `f16`. Where there is none, says so.
fn device_of_words() -> Option<(Arc<Device>, Arc<Stream>)> {
    let Some(opened) = registry::open(Some("wgpu"), 0, &Default::default()) else {
        eprintln!("NOT TESTED: no wgpu device");
        return None;
    };
    let device = Device::new(opened.unwrap().0, &DeviceOptions::default()).unwrap();
    if !device.capabilities().features.f16 {
        eprintln!("NOT TESTED: the wgpu device has no f16");
        return None;
    }
    let stream = Stream::new(&device, "s").unwrap();
    Some((device, stream))
}

/// A buffer whose memory was full of sevens.
fn used_before(device: &Arc<Device>, stream: &Stream, size: u64) -> Arc<runtime::Buffer> {
    let dirty = buffer(device, size, "dirty");
    runtime::fill(Some(stream), whole(&dirty), &[7]).unwrap();
    assert_eq!(read(stream, whole(&dirty), size as usize).unwrap(), vec![7; size as usize]);
    drop(dirty);
    buffer(device, size, "fresh")
}

#[test]
fn t1_t6a_a_view_whose_last_element_is_cut_off_is_not_written_whole() {
    let Some((device, stream)) = device_of_words() else { return };
    let kernel = kernel(&device, ONES);
    for write_all in [false, true] {
        let fresh = used_before(&device, &stream, 6);
        let bindings = [runtime::Binding { write_all, ..bind(0, whole(&fresh)) }];
        assert_eq!(runtime::launch(Some(&stream), &launch_of(&kernel, 3, &bindings)).unwrap(), Outcome::Enqueued);
        // 1 is 0x3c00.
        assert_eq!(read(&stream, whole(&fresh), 6).unwrap(), [0, 0x3c, 0, 0x3c, 0, 0], "{write_all}");
        // T4: the claim of what the launch cannot reach stays.
        let refused = runtime::write(Some(&stream), part(&fresh, 4, 2), runtime::Source::Copied(&[1; 3])).unwrap_err();
        assert_eq!(runtime::launch(Some(&stream), &launch_of(&kernel, 3, &bindings)).unwrap(), Outcome::Enqueued);
        assert_eq!(read(&stream, whole(&fresh), 6).unwrap_err().failure, refused.failure, "{write_all}");
    }
}

#[test]
fn t6a_a_view_of_whole_words_and_one_of_a_fixed_size_are_written_whole() {
    let Some((device, stream)) = device_of_words() else { return };
    for (source, groups, size) in [(ONES, 4, 8), (FIXED, 3, 6)] {
        let kernel = kernel(&device, source);
        let fresh = used_before(&device, &stream, size);
        runtime::write(Some(&stream), part(&fresh, size - 2, 2), runtime::Source::Copied(&[1; 3])).unwrap_err();
        let bindings = [bind(0, whole(&fresh))];
        assert_eq!(runtime::launch(Some(&stream), &launch_of(&kernel, groups, &bindings)).unwrap(), Outcome::Enqueued);
        assert_eq!(read(&stream, whole(&fresh), size as usize).unwrap(), [0, 0x3c].repeat(size as usize / 2));
    }
}

#[test]
fn l5_a_view_that_has_no_whole_word_for_its_first_element_is_refused() {
    let Some((device, stream)) = device_of_words() else { return };
    let kernel = kernel(&device, ONES);
    let both = buffer(&device, 4, "both");
    runtime::fill(Some(&stream), whole(&both), &[7]).unwrap();
    let bindings = [bind(0, part(&both, 0, 2))];
    let refused = runtime::launch(Some(&stream), &launch_of(&kernel, 2, &bindings)).unwrap_err();
    assert_eq!(refused.error.code, code::BINDING);
    assert!(refused.error.message.contains("multiples of 4"), "{}", refused.error.message);
    assert_eq!(read(&stream, part(&both, 2, 2), 2).unwrap(), [7; 2], "bytes behind the view");
}
