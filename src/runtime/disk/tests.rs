#![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use compute_hal::{CompileSource, Device, Driver, OpenOptions};
use compute_kernel::reflection::Bounds;
use compute_kernel::{EntryPoint, Module, Source};

use super::*;

/// An empty folder, gone with its owner.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("libcompute-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        set_mode(&path, 0o700);
        Self(path)
    }

    fn options(&self, limit: u64) -> DiskOptions {
        DiskOptions { folder: self.0.clone(), limit, process: process(&self.0) }
    }

    fn kernels(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == "kernel")).collect();
        found.sort();
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn process(path: &Path) -> Process {
    let user = std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).unwrap());
    Process { user, largest_file: || u64::MAX, has_list: |_| false, lists_exceed_modes: false }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

fn cpu() -> Arc<dyn Device> {
    compute_cpu::CpuDriver.open(0, &OpenOptions { threads: 1, artifacts: true, ..OpenOptions::default() }).unwrap()
}

fn entry(source: &str) -> Arc<EntryPoint> {
    Module::parse(&Source::wgsl(source)).unwrap().entry_point(None, &[]).unwrap()
}

fn compile(disk: &Disk, device: &Arc<dyn Device>, entry: &Arc<EntryPoint>, bounds: Bounds) {
    let source = CompileSource::Portable(entry);
    let request = CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "test" };
    let kernel = disk.compile(&**device, &request, &mut Remarks::default()).unwrap();
    device.drop_kernel(kernel);
}

fn numbers(disk: &Disk) -> [u64; 5] {
    let DiskReport { hits, misses, rejected, stored, failed, .. } = disk.report();
    [hits, misses, rejected, stored, failed]
}

const ONE: &str = "@compute @workgroup_size(1) fn one() {}";

#[test]
fn l7_a_kernel_is_found_again_by_the_same_version_only() {
    let (place, device, one) = (Place::new("version"), cpu(), entry(ONE));
    let of_version = |version| Disk::of_version(&place.options(0), &*device, version);
    let first = of_version("1");
    compile(&first, &device, &one, Bounds::Checked);
    assert_eq!(numbers(&first), [0, 1, 0, 1, 0]);
    let again = of_version("1");
    compile(&again, &device, &one, Bounds::Checked);
    assert_eq!(numbers(&again), [1, 0, 0, 0, 0]);
    let later = of_version("2");
    compile(&later, &device, &one, Bounds::Checked);
    assert_eq!(numbers(&later), [0, 1, 0, 1, 0]);
    assert_eq!(place.kernels().len(), 2);
    assert!(VERSION.len() > "libcompute 0.1.0 ".len() + 15, "it tells builds apart: {VERSION}");
}

#[test]
fn l7_the_file_of_another_version_under_our_name_is_not_taken() {
    let (place, device, one) = (Place::new("stale"), cpu(), entry(ONE));
    compile(&Disk::of_version(&place.options(0), &*device, "1"), &device, &one, Bounds::Checked);
    let stale = place.kernels().remove(0);
    let disk = Disk::of_version(&place.options(0), &*device, "2");
    compile(&disk, &device, &one, Bounds::Checked);
    let ours = place.kernels().into_iter().find(|path| *path != stale).unwrap();
    fs::copy(&stale, &ours).unwrap();
    compile(&disk, &device, &one, Bounds::Checked);
    assert_eq!(numbers(&disk), [0, 1, 1, 2, 0]);
    compile(&disk, &device, &one, Bounds::Checked);
    assert_eq!(numbers(&disk), [1, 1, 1, 2, 0]);
}

#[test]
fn l7_what_was_used_longest_ago_goes_first() {
    let (place, device) = (Place::new("evict"), cpu());
    let kernels: Vec<_> = (0..8).map(|n| entry(&format!("{ONE} // {n}"))).collect();
    let disk = Disk::new(&place.options(0), &*device);
    kernels.iter().for_each(|kernel| compile(&disk, &device, kernel, Bounds::Checked));
    let size = taken(fs::metadata(&place.kernels()[0]).unwrap().len());
    for (path, minutes) in place.kernels().iter().zip(1..) {
        let used = SystemTime::now() - Duration::from_secs(60 * minutes);
        fs::File::options().write(true).open(path).unwrap().set_modified(used).unwrap();
    }
    // Used now, so the one whose time is the oldest stays.
    let small = Disk::new(&place.options(8 * size), &*device);
    kernels.iter().for_each(|kernel| compile(&small, &device, kernel, Bounds::Checked));
    assert_eq!(numbers(&small)[0], 8, "all were there");
    let oldest = place.kernels().remove(5);
    let long_ago = SystemTime::now() - Duration::from_secs(60 * 60);
    fs::File::options().write(true).open(&oldest).unwrap().set_modified(long_ago).unwrap();
    compile(&small, &device, &entry(&format!("{ONE} // another")), Bounds::Checked);
    assert!(small.report().evicted >= 1);
    assert!(!oldest.exists());
    let left: u64 = place.kernels().iter().map(|path| taken(fs::metadata(path).unwrap().len())).sum();
    assert!(left <= 8 * size, "{left} of {}", 8 * size);
    assert!(place.kernels().len() >= 5, "no more than an eighth below the limit goes");
}

#[test]
fn l7_files_of_others_stay_and_unfinished_ones_of_dead_processes_go() {
    let (place, device) = (Place::new("foreign"), cpu());
    let key = "0123456789abcdef".repeat(4);
    let file = |name: String, age: u64| {
        let path = place.0.join(name);
        fs::write(&path, [0; 100]).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    };
    let foreign =
        [file("notes.txt".into(), 1 << 20), file("short.kernel".into(), 1 << 20), file(format!("{key}.other"), 1 << 20)];
    let (left, new) = (file(format!("{key}.77.0.tmp"), 7200), file(format!("{key}.78.0.tmp"), 60));
    let old = file(format!("{key}.kernel"), 1 << 20);
    // Room for the new kernel and nothing else.
    let disk = Disk::new(&place.options(0), &*device);
    compile(&disk, &device, &entry(ONE), Bounds::Checked);
    assert!(!left.exists() && new.exists() && old.exists());
    let size = taken(disk.report().bytes_written);
    compile(&Disk::new(&place.options(size + 50), &*device), &device, &entry(&format!("{ONE} ")), Bounds::Checked);
    assert!(foreign.iter().all(|path| path.exists()) && !old.exists());
}

#[test]
fn l7_a_folder_that_others_may_write_to_is_not_used() {
    let (place, device) = (Place::new("modes"), cpu());
    let refused = |folder: &Path, process: Process| {
        let options = DiskOptions { folder: folder.to_owned(), limit: 0, process };
        let disk = Disk::new(&options, &*device);
        compile(&disk, &device, &entry(ONE), Bounds::Checked);
        assert_eq!(numbers(&disk), [0; 5]);
        disk.report().refused.expect("a reason")
    };
    let us = process(&place.0);
    for mode in [0o770, 0o702, 0o777, 0o1777, 0o720] {
        set_mode(&place.0, mode);
        let why = refused(&place.0, us);
        assert!(why.contains("others may write"), "{mode:o}: {why}");
    }
    set_mode(&place.0, 0o700);
    if us.user != 0 {
        let why = refused(&place.0, Process { user: us.user + 1, ..us });
        assert!(why.contains("belongs to user"), "{why}");
    }
    let below = place.0.join("below");
    fs::create_dir(&below).unwrap();
    set_mode(&below, 0o700);
    set_mode(&place.0, 0o777);
    let why = refused(&below, us);
    assert!(why.contains("somebody may replace it"), "{why}");
    set_mode(&place.0, 0o770);
    let why = refused(&below, Process { has_list: |_| true, ..us });
    assert!(why.contains("somebody may replace it"), "{why}");
    set_mode(&place.0, 0o700);
    let why = refused(&below, Process { has_list: |path| path.ends_with("below"), lists_exceed_modes: true, ..us });
    assert!(why.contains("somebody may replace it") && why.contains("below has a list"), "{why}");
    fs::write(place.0.join("plain"), "x").unwrap();
    assert!(!refused(&place.0.join("plain"), us).is_empty());
    assert!(!refused(&place.0.join("plain/below"), us).is_empty());
    let options = DiskOptions { folder: place.0.join("new/folder"), limit: 0, process: us };
    assert_eq!(Disk::new(&options, &*device).report().refused, None, "folders on the way are made");
    let made = fs::metadata(place.0.join("new/folder")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&made.permissions()) & 0o777, 0o700);
}

#[test]
fn l7_a_file_that_the_process_may_not_write_is_not_begun() {
    let (place, device) = (Place::new("limit"), cpu());
    let mut options = place.options(0);
    options.process.largest_file = || 100;
    let disk = Disk::new(&options, &*device);
    compile(&disk, &device, &entry(ONE), Bounds::Checked);
    assert_eq!(numbers(&disk), [0, 1, 0, 0, 1]);
    assert!(fs::read_dir(&place.0).unwrap().next().is_none());
}

#[test]
fn l7_a_small_file_counts_as_what_it_takes() {
    assert_eq!([0, 1, 4096, 4097, u64::MAX].map(taken), [0, 4096, 4096, 8192, u64::MAX]);
    let (place, device) = (Place::new("small"), cpu());
    let disk = Disk::new(&place.options(4095), &*device);
    compile(&disk, &device, &entry(ONE), Bounds::Checked);
    assert_eq!(numbers(&disk), [0, 1, 0, 0, 1], "one file takes more than the folder may");
}

#[test]
fn l7_code_of_another_kernel_under_the_right_key_is_compiled_anew() {
    let (place, device) = (Place::new("swapped"), cpu());
    let disk = || Disk::new(&place.options(0), &*device);
    let one = entry(ONE);
    compile(&disk(), &device, &one, Bounds::Checked);
    let path = place.kernels().pop().unwrap();
    let own = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let other = entry(
        "@group(0) @binding(0) var<storage, read_write> o: array<u32>; @compute @workgroup_size(1) fn one() { o[0] = 1u; }",
    );
    let bodies =
        [("of the same source with other bounds", &one, Bounds::Validate), ("of another source", &other, Bounds::Checked)];
    for (what, kernel, bounds) in bodies {
        compile(&disk(), &device, kernel, bounds);
        let foreign = place.kernels().pop().unwrap();
        let artifact = fs::read(&foreign).unwrap().split_off(entry::HEAD);
        fs::remove_file(&foreign).unwrap();
        // All is as it should be but what the code is of.
        let key: Key = own[16..48].try_into().unwrap();
        fs::write(&path, [&entry::seal(&key, &artifact)[..], &artifact].concat()).unwrap();
        set_mode(&path, 0o600);
        let disk = disk();
        compile(&disk, &device, &one, Bounds::Checked);
        assert_eq!(numbers(&disk), [0, 0, 1, 1, 0], "{what}");
        assert_eq!(fs::read(&path).unwrap(), own, "{what}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn l7_what_grids_from_memory_take_is_kept_beside_the_kernel_and_asked_for_with_the_same_care() {
    use hal::Kept;
    let (place, device, one) = (Place::new("counts"), cpu(), entry(ONE));
    let disk = Disk::new(&place.options(0), &*device);
    compile(&disk, &device, &one, Bounds::Checked);
    let request = |bounds| CompileRequest {
        source: CompileSource::Portable(&one),
        bounds,
        cancellable: false,
        print_room: 0,
        strict: false,
        label: "test",
    };
    let request = [Bounds::Checked, Bounds::Validate].map(request);
    let [checked, other] = request.each_ref().map(|request| disk.of_counts(request));
    let nothing = &mut |_: &[u8]| -> Result<(), DeviceError> { Err(DeviceError::Internal("there is nothing".into())) };
    assert!(matches!(checked.restore(nothing), Ok(false)), "the kernel's own file is none of it");
    checked.keep(b"counted");
    assert!(matches!(other.restore(nothing), Ok(false)), "it is of one request alone");
    let mut found = Vec::new();
    let taken = checked.restore(&mut |bytes| {
        found = bytes.to_vec();
        Ok(())
    });
    assert!(matches!(taken, Ok(true)) && found == b"counted");
    assert_eq!(numbers(&disk), [1, 3, 0, 2, 0]);
    let refused = checked.restore(&mut |_| Err(DeviceError::Internal("of another text".into())));
    assert!(matches!(refused, Ok(false)));
    assert_eq!(numbers(&disk), [1, 3, 1, 2, 0]);
    // Neither stands in the other's way.
    compile(&disk, &device, &one, Bounds::Checked);
    assert_eq!((numbers(&disk)[0], place.kernels().len()), (2, 2));
}
