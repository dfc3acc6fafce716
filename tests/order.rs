//! A launch whose bindings come in the kernel's order is found to be right by a few comparisons; any other is gone through in full. Both must come to the
//! same answer, to the word.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::*;
use compute::runtime::{self, Binding, Buffer, Input, Kernel, Outcome, Place, Stream, code};

const SOURCE: &str = "
struct Both { a: vec4<u32>, b: vec2<u32>, }
@group(0) @binding(0) var<storage, read> i: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> u: Both;
@group(0) @binding(2) var<storage, read_write> o: array<u32>;
@group(0) @binding(3) var<storage, read> f: array<u32, 8>;
@compute @workgroup_size(1) fn go(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = i[id.x].x + u.b.x + f[id.x & 7]; }";

/// The answer to a launch whose bindings come in the kernel's order, and to the same one with its bindings reversed.
fn both(stream: &Stream, kernel: &Arc<Kernel>, bindings: &[Binding<'_>; 4]) -> [Result<Outcome, (i32, String)>; 2] {
    let mut reversed = *bindings;
    reversed.reverse();
    let answer = |bindings: &[Binding<'_>]| {
        let answer = runtime::launch(Some(stream), &launch_of(kernel, 1, bindings));
        answer.map_err(|failed| (failed.error.code, failed.error.message.clone()))
    };
    [answer(bindings), answer(&reversed)]
}

fn filled(device: &Arc<runtime::Device>, stream: &Stream, label: &str) -> Arc<Buffer> {
    let made = buffer(device, 1024, label);
    runtime::fill(Some(stream), whole(&made), &[0]).unwrap();
    made
}

#[test]
fn l3_a_launch_is_judged_alike_whatever_the_order_of_its_bindings() {
    let (device, other) = (device(), device());
    let (stream, theirs) = (Stream::new(&device, "s").unwrap(), Stream::new(&other, "t").unwrap());
    let buffers = ["i", "u", "o", "f"].map(|label| filled(&device, &stream, label));
    let foreign = filled(&other, &theirs, "foreign");
    let kernel = kernel(&device, SOURCE);
    let bytes = [0; 64];
    let right: [Binding<'_>; 4] = std::array::from_fn(|slot| bind(slot as u32, part(&buffers[slot], 0, 64)));
    assert_eq!(both(&stream, &kernel, &right), [Ok(Outcome::Enqueued), Ok(Outcome::Enqueued)]);
    let mut found = std::collections::BTreeSet::new();
    for slot in 0..4 {
        let mut inputs = vec![Input::Place(Place::BadHandle), Input::Place(whole(&foreign))];
        let sizes = [0, 3, 4, 8, 15, 16, 24, 31, 32, 33, 48, 64, 1024, 1025, u64::MAX];
        let offsets = [0, 1, 2, 4, 8, 16, 64, 256, 1008, 1020, 1024, 1025, u64::MAX];
        for offset in offsets {
            inputs.extend(sizes.map(|size| Input::Place(part(&buffers[slot], offset, size))));
        }
        // Somebody else's bytes: beside what that one has of them, and over it.
        for (other, offset) in (0..4).flat_map(|other| [(other, 0), (other, 32), (other, 64)]) {
            inputs.push(Input::Place(part(&buffers[other], offset, 64)));
        }
        inputs.extend((0..=64).map(|size| Input::Inline(&bytes[..size])));
        for given in inputs {
            let mut bindings = right;
            bindings[slot].given = given;
            let [one, two] = both(&stream, &kernel, &bindings);
            assert_eq!(one, two, "binding {slot} given {given:?}");
            found.insert(one.map_or_else(|(code, _)| code, |_| 0));
            // What a refusal claimed.
            for buffer in &buffers {
                runtime::fill(Some(&stream), whole(buffer), &[0]).unwrap();
            }
        }
    }
    let all = [0, code::INVALID_HANDLE, code::FOREIGN_HANDLE, code::OUT_OF_RANGE, code::OVERLAP, code::BINDING, code::MISALIGNED];
    assert!(all.iter().all(|code| found.contains(code)), "{found:?}");
}

#[test]
fn l3_a_binding_too_many_or_too_few_or_twice_is_refused_also_where_the_others_are_in_order() {
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let buffers = ["i", "u", "o", "f"].map(|label| filled(&device, &stream, label));
    let kernel = kernel(&device, SOURCE);
    let right: Vec<Binding<'_>> = (0..4).map(|slot| bind(slot as u32, whole(&buffers[slot]))).collect();
    let refused = |bindings: &[Binding<'_>]| {
        let failed = runtime::launch(Some(&stream), &launch_of(&kernel, 1, bindings)).unwrap_err();
        assert_eq!(failed.error.code, code::BINDING, "{}", failed.error.message);
        runtime::fill(Some(&stream), whole(&buffers[2]), &[0]).unwrap();
    };
    for missing in 0..4 {
        let mut bindings = right.clone();
        bindings.remove(missing);
        refused(&bindings);
        bindings.insert(0, right[(missing + 1) % 4]);
        refused(&bindings);
    }
    refused(&[right.as_slice(), &[bind(4, whole(&buffers[0]))]].concat());
    refused(&[right.as_slice(), &right[..1]].concat());
    assert_eq!(runtime::launch(Some(&stream), &launch_of(&kernel, 1, &right)).unwrap(), Outcome::Enqueued);
}
