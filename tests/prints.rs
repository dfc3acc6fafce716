//! What kernels print, through the runtime: who is told what, in which order, and what happens to what finds no room.
//!
//! The callback is the process's: each test has it for itself (`LISTENER`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::{Arc, Mutex, MutexGuard};

use common::*;
use compute::registry::How;
use compute::runtime::{self, Kernel, KernelOptions, Stream, code, log};
use compute_kernel::reflection::Bounds;

static LISTENER: Mutex<()> = Mutex::new(());

type Lines = Arc<Mutex<Vec<(u32, String)>>>;

/// Collects lines while it lives.
struct Listening {
    lines: Lines,
    _turn: MutexGuard<'static, ()>,
}

impl Listening {
    fn at(level: u32) -> Self {
        let turn = LISTENER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let lines = Lines::default();
        let sink = Arc::clone(&lines);
        log::set(level, Some(Arc::new(move |level, text| sink.lock().unwrap().push((level, text.to_owned())))));
        Self { lines, _turn: turn }
    }

    /// What was printed so far.
    fn prints(&self) -> Vec<String> {
        self.lines.lock().unwrap().iter().filter(|(level, _)| *level == log::PRINT).map(|(_, text)| text.clone()).collect()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        log::set(0, None);
    }
}

const HELLO: &str = "
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(4) fn hello(@builtin(global_invocation_id) id: vec3<u32>) {
    o[id.x] = id.x;
    if (id.x % 2u == 1u) { debugPrintf(\"x = %d, v = %.1v2f\\n\", -i32(id.x), vec2(f32(id.x), 0.5)); }
}";

fn named(label: &str, source: &str) -> KernelOptions {
    KernelOptions { label: label.into(), ..options(source) }
}

#[test]
fn a_kernel_prints_with_its_name_label_and_invocation() {
    let listening = Listening::at(log::ERROR);
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let kernel = Kernel::new(&device, &named("greeter", HELLO)).unwrap();
    let o = buffer(&device, 32, "o");
    runtime::launch(Some(&stream), &launch_of(&kernel, 2, &[bind(0, whole(&o))])).unwrap();
    stream.sync(&[], None).unwrap();
    let mut lines = listening.prints();
    lines.sort();
    assert_eq!(
        lines,
        [
            "`hello` `greeter` (1, 0, 0): x = -1, v = 1.0, 0.5",
            "`hello` `greeter` (3, 0, 0): x = -3, v = 3.0, 0.5",
            "`hello` `greeter` (5, 0, 0): x = -5, v = 5.0, 0.5",
            "`hello` `greeter` (7, 0, 0): x = -7, v = 7.0, 0.5",
        ]
    );
    assert_eq!(read(&stream, part(&o, 0, 8), 8).unwrap(), [0, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn prints_alone_can_be_listened_to() {
    let listening = Listening::at(log::PRINT);
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let kernel = Kernel::new(&device, &named("", HELLO)).unwrap();
    let o = buffer(&device, 16, "o");
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap();
    stream.sync(&[], None).unwrap();
    assert_eq!(listening.prints().len(), 2);
    assert_eq!(listening.lines.lock().unwrap().len(), 2, "nothing but prints");
}

#[test]
fn a_kernel_made_while_nobody_listens_prints_nothing() {
    let turn = LISTENER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let device = device();
    let silent = Kernel::new(&device, &options(HELLO)).unwrap();
    drop(turn);
    let listening = Listening::at(log::ERROR);
    let stream = Stream::new(&device, "s").unwrap();
    let o = buffer(&device, 16, "o");
    runtime::launch(Some(&stream), &launch_of(&silent, 1, &[bind(0, whole(&o))])).unwrap();
    stream.sync(&[], None).unwrap();
    assert_eq!(listening.prints(), [""; 0]);
    // The same source made now is another kernel.
    let loud = Kernel::new(&device, &options(HELLO)).unwrap();
    runtime::launch(Some(&stream), &launch_of(&loud, 1, &[bind(0, whole(&o))])).unwrap();
    stream.sync(&[], None).unwrap();
    assert_eq!(listening.prints().len(), 2);
}

#[test]
fn what_finds_no_room_is_counted_and_told() {
    let listening = Listening::at(log::ERROR);
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let source =
        "@compute @workgroup_size(64) fn many(@builtin(global_invocation_id) id: vec3<u32>) { debugPrintf(\"%u\", id.x); }";
    // Ten lines of 20 bytes, and a bit that nothing fits into.
    let kernel = Kernel::new(&device, &KernelOptions { print_size: 215, ..options(source) }).unwrap();
    runtime::launch(Some(&stream), &launch_of(&kernel, 10, &[])).unwrap();
    stream.sync(&[], None).unwrap();
    let lines = listening.prints();
    assert_eq!(lines.len(), 11, "{lines:?}");
    assert_eq!(lines.last().unwrap(), "`many`: 630 more lines were lost; raise `print_size` of the kernel");
    let failed = Kernel::new(&device, &KernelOptions { print_size: u32::MAX, ..options(source) }).unwrap_err();
    assert_eq!(failed.error.code, code::LIMIT);
}

#[test]
fn launches_on_many_streams_print_each_in_order_and_nothing_twice() {
    let listening = Listening::at(log::ERROR);
    let device = device();
    let source = "
        var<immediate> launch: u32;
        @compute @workgroup_size(1) fn count() { for (var i = 0u; i < 5u; i++) { debugPrintf(\"%u %u\", launch, i); } }";
    let kernel = Kernel::new(&device, &options(source)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let (device, kernel) = (&device, &kernel);
            scope.spawn(move || {
                let stream = Stream::new(device, "s").unwrap();
                for n in 0..50_u32 {
                    let id = (thread * 50 + n).to_le_bytes();
                    let launch = runtime::Launch { immediates: &id, ..launch_of(kernel, 1, &[]) };
                    runtime::launch(Some(&stream), &launch).unwrap();
                }
                stream.sync(&[], None).unwrap();
            });
        }
    });
    let stream = Stream::new(&device, "last").unwrap();
    stream.sync(&[], None).unwrap();
    let lines = listening.prints();
    let mut seen = vec![0_u32; 200];
    for line in &lines {
        let numbers: Vec<u32> = line.rsplit(": ").next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        assert_eq!(seen[numbers[0] as usize], numbers[1], "out of order: {line}");
        seen[numbers[0] as usize] += 1;
    }
    assert!(seen.iter().all(|n| *n == 5), "{seen:?}");
}

#[test]
fn l5_a_kernel_that_validates_prints_and_fails() {
    let listening = Listening::at(log::ERROR);
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let source = "
        @group(0) @binding(0) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn both() { debugPrintf(\"before %u\", o[o[0] + 9u]); o[0] = 7u; debugPrintf(\"after\"); }";
    let kernel = Kernel::new(&device, &KernelOptions { bounds: Bounds::Validate, ..options(source) }).unwrap();
    let o = buffer(&device, 16, "o");
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap();
    let failed = read(&stream, part(&o, 0, 4), 4).unwrap_err();
    assert_eq!(failed.report.as_ref().unwrap().root.code, code::KERNEL_FAULT);
    assert!(failed.report.as_ref().unwrap().root.message.contains("index 9"), "{failed:?}");
    assert_eq!(listening.prints(), ["`both` (0, 0, 0): before 0", "`both` (0, 0, 0): after"]);
}

#[test]
fn launches_that_fail_print_nothing_and_disturb_no_other() {
    let listening = Listening::at(log::ERROR);
    let (device, faults) = faulty();
    let stream = Stream::new(&device, "s").unwrap();
    let kernel = Kernel::new(&device, &options(HELLO)).unwrap();
    let o = buffer(&device, 16, "o");
    faults.inject(1, How::Late);
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap();
    let _ = stream.sync(&[], None);
    assert_eq!(listening.prints().len(), 0, "work that was not done has printed");
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap();
    let _ = stream.sync(&[], None);
    assert_eq!(listening.prints().len(), 2);
    faults.inject(1, How::Error);
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap_err();
    let _ = stream.sync(&[], None);
    assert_eq!(listening.prints().len(), 2, "a launch that never ran has printed");
}

#[test]
fn f4_a_callback_may_call_back_in() {
    let turn = LISTENER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let device = device();
    let stream = Arc::new(Stream::new(&device, "s").unwrap());
    let (inner, count) = (Arc::clone(&stream), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&count);
    log::set(
        log::ERROR,
        Some(Arc::new(move |_, _| {
            *counted.lock().unwrap() += 1;
            inner.sync(&[], None).unwrap();
        })),
    );
    let kernel = Kernel::new(&device, &options(HELLO)).unwrap();
    let o = buffer(&device, 16, "o");
    in_time("a callback that waits", move || {
        runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&o))])).unwrap();
        stream.sync(&[], None).unwrap();
    });
    assert_eq!(*count.lock().unwrap(), 2);
    log::set(0, None);
    drop(turn);
}

#[test]
fn kernels_in_glsl_print_with_the_name_of_its_extension() {
    let listening = Listening::at(log::ERROR);
    let device = device();
    let stream = Stream::new(&device, "s").unwrap();
    let out = buffer(&device, 16, "out");
    let source = "#version 450
#extension GL_EXT_debug_printf : require
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer O { uint o[]; };
void tell(vec2 v) { debugPrintfEXT(\"v = %.1v2f \\\"%u\\\"\", v, gl_LocalInvocationIndex); }
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = i;
    if (i == 2u) { debugPrintfEXT(\"i = %d\", int(i)); tell(vec2(i, 0.5)); }
}";
    let glsl = |source: &str| KernelOptions { language: None, ..named("label", source) };
    let kernel = Kernel::new(&device, &glsl(source)).unwrap();
    runtime::launch(Some(&stream), &launch_of(&kernel, 1, &[bind(0, whole(&out))])).unwrap();
    stream.sync(&[], None).unwrap();
    let prints = listening.prints();
    assert_eq!(prints.len(), 2, "{prints:?}");
    assert!(prints[0].contains("i = 2") && prints[1].contains("v = 2.0, 0.5 \"2\""), "{prints:?}");
    for (line, wrong) in [
        ("debugPrintfEXT(\"%v3f\", vec2(1.0));", "value 1 of this print is"),
        ("debugPrintfEXT(\"%d\");", "prints 1 values; 0 are given"),
        ("debugPrintfEXT(1);", "its format"),
        ("uint x = \"a\";", "a text in quotes"),
        ("debugPrintfEXT(\"%s\", 1);", "no strings"),
    ] {
        let source = format!("#version 450\nlayout(local_size_x = 1) in;\nvoid main() {{\n{line}\n}}");
        let failed = Kernel::new(&device, &glsl(&source)).unwrap_err();
        assert!(failed.error.message.contains(wrong) && failed.error.message.contains("line 4"), "{}", failed.error.message);
    }
}

/// F4: each callback is called once, also when the host's own log callback panics while it is found out how an event ended.
#[test]
fn f4_a_log_callback_that_panics_takes_no_callback_of_an_event_with_it() {
    let _listening = Listening::at(log::PRINT);
    let device = device();
    let (stream, other) = (Stream::new(&device, "s").unwrap(), Stream::new(&device, "other").unwrap());
    let kernel = Kernel::new(&device, &named("", HELLO)).unwrap();
    let (big, out) = (buffer(&device, 64 << 20, "big"), buffer(&device, 16, "out"));
    runtime::fill(Some(&stream), whole(&big), &[1]).unwrap();
    let event = runtime::Event::record(&stream).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = |name: &'static str| {
        let told = Arc::clone(&told);
        move |answer: runtime::Result<()>| told.lock().unwrap().push((name, answer.map_err(|failed| failed.error.code)))
    };
    let first = tell("first");
    event
        .on_poll(Box::new(move |answer| {
            first(answer);
            // Something is printed, and nobody has been told of it yet.
            runtime::launch(Some(&other), &launch_of(&kernel, 1, &[bind(0, whole(&out))])).unwrap();
            let (over, is_over) = std::sync::mpsc::channel();
            runtime::Event::record(&other).unwrap().notify(Box::new(move || over.send(()).unwrap()));
            other.flush().unwrap();
            is_over.recv().unwrap();
            log::set(log::PRINT, Some(Arc::new(|_, _| panic!("the host's log callback"))));
        }))
        .unwrap();
    event.on_poll(Box::new(tell("second"))).unwrap();
    event.on_poll(Box::new(tell("third"))).unwrap();
    assert_eq!(event.wait(None).unwrap(), runtime::Wait::Done);
    let expected = [("first", Ok(())), ("second", Err(code::INTERNAL)), ("third", Ok(()))];
    assert_eq!(*told.lock().unwrap(), expected);
}
