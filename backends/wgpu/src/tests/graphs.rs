//! What a graph keeps.

use super::*;

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
