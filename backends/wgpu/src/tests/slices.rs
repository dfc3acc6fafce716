//! Launches that are sent in slices.

use super::*;

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
