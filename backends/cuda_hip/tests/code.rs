//! Machine code that a caller brings, on its way to the driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod mock;

use std::sync::{Arc, Mutex};

use compute_hal::kernel::reflection::Bounds;
use compute_hal::{
    CompileRequest, CompileSource, Device, DeviceError, Driver, Fit, KernelId, NativeInterface, NativeLanguage, NativeParameter,
    NativeSource,
};
use mock::scene::open;

const ADDRESS: NativeParameter = NativeParameter::Address;

/// The head of a file with code for a machine, which has no tables; `mark` tells it apart.
fn file(machine: u16, flags: u32, mark: u8) -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..10].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 4, mark]);
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[48..52].copy_from_slice(&flags.to_le_bytes());
    file
}

/// A bundle as clang writes it, its parts at odd places.
fn bundle(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut head = [&b"__CLANG_OFFLOAD_BUNDLE__"[..], &(parts.len() as u64).to_le_bytes()].concat();
    let mut from = head.len() + parts.iter().map(|(name, _)| 24 + name.len()).sum::<usize>() + 1;
    for (name, code) in parts {
        head.extend([from, code.len(), name.len()].iter().flat_map(|number| (*number as u64).to_le_bytes()));
        head.extend(name.as_bytes());
        from += code.len() + 1;
    }
    for (_, code) in parts {
        head.push(0xee);
        head.extend(*code);
    }
    head
}

fn load(
    device: &dyn Device,
    language: NativeLanguage,
    code: &[u8],
    parameters: &[NativeParameter],
) -> Result<KernelId, DeviceError> {
    let (entry, target) = ("two".into(), String::new());
    let source = NativeSource { language, code: code.to_vec(), entry, options: Vec::new(), headers: Vec::new(), target };
    let interface = NativeInterface { parameters: parameters.to_vec(), workgroup_size: [1; 3], workgroup_memory: 0 };
    let source = CompileSource::Native { source: &source, interface: &interface };
    let request =
        CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "code" };
    device.compile(&request)
}

/// What is refused never reaches the driver.
fn refuse(mock: &mock::Mock, device: &Arc<dyn Device>, language: NativeLanguage, code: &[u8], words: &str) {
    let loads = Arc::new(Mutex::new(0));
    let count = Arc::clone(&loads);
    mock.hook(move |name| *count.lock().unwrap() += u32::from(name == "module_load"));
    match load(&**device, language, code, &[ADDRESS, ADDRESS]) {
        Err(DeviceError::Compile { log, refusal: true, .. }) => assert!(log.contains(words), "{log}"),
        other => panic!("{other:?} where {words} was expected"),
    }
    mock.hook(|_| {});
    assert_eq!(*loads.lock().unwrap(), 0, "{words}");
}

#[test]
fn pkg_03_of_a_bundle_the_driver_is_given_the_part_for_the_device_and_parameters_are_compared_with_it() {
    let mock = mock::Mock::amd();
    let device = open(&mock);
    let [any, off, on] = [1, 2, 3].map(|mark| file(224, 0x3f, mark));
    let whole = bundle(&[
        ("host-x86_64-unknown-linux--", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", &any),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", &on),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &off),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", &file(224, 0x4c, 4)),
    ]);
    load(&*device, NativeLanguage::CodeObject, &whole, &[ADDRESS, ADDRESS]).unwrap();
    assert_eq!(mock.image(), off);
    load(&*device, NativeLanguage::CodeObject, &any, &[ADDRESS, ADDRESS]).unwrap();
    assert_eq!(mock.image(), any, "a code object by itself");
    // DL-08, which nobody could see within a bundle.
    for code in [&whole, &any] {
        match load(&*device, NativeLanguage::CodeObject, code, &[ADDRESS]) {
            Err(DeviceError::Compile { log, refusal: true, .. }) => assert!(log.contains("the code has more"), "{log}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn f1_code_objects_and_bundles_that_are_not_for_the_device_or_not_whole_never_reach_the_driver() {
    let mock = mock::Mock::amd();
    let device = open(&mock);
    let refuse = |code: &[u8], words: &str| refuse(&mock, &device, NativeLanguage::CodeObject, code, words);
    let good = file(224, 0x3f, 1);
    let of = |name: &str, code: &[u8]| bundle(&[(&format!("hip-amdgcn-amd-amdhsa--{name}"), code)]);
    refuse(b"", "no ELF file");
    refuse(&good[..63], "cut short");
    refuse(&file(190, 0x3f, 1), "machine 190");
    refuse(&of("gfx942", &good), "a bundle for hip-amdgcn-amd-amdhsa--gfx942");
    refuse(&of("gfx90a:xnack+", &good), "xnack+");
    refuse(&of("gfx90a", b""), "no machine code");
    refuse(&of("gfx90a", &good[..63]), "cut short");
    refuse(&of("gfx90a", &file(62, 0, 1)), "machine 62");
    let whole = of("gfx90a", &good);
    refuse(&whole[..whole.len() - 1], "cut short");
    refuse(&[&0xba55_ed50_u32.to_le_bytes()[..], &[0; 60]].concat(), "no ELF file");
}

#[test]
fn f1_fat_binaries_whose_parts_are_not_what_they_are_said_to_be_never_reach_the_driver() {
    let mock = mock::Mock::launching();
    let device = open(&mock);
    let fat = |code: &[u8], packed: u32| {
        let mut head = [0; 64];
        head[..2].copy_from_slice(&2_u16.to_le_bytes());
        head[4..8].copy_from_slice(&64_u32.to_le_bytes());
        head[8..16].copy_from_slice(&(code.len() as u64).to_le_bytes());
        head[16..20].copy_from_slice(&packed.to_le_bytes());
        let size = (64 + code.len()) as u64;
        [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &size.to_le_bytes(), &head, code].concat()
    };
    let refuse = |code: &[u8]| refuse(&mock, &device, NativeLanguage::Cubin, code, "whose parts are not what it says");
    refuse(&fat(&file(62, 0, 1), 0));
    refuse(&fat(&file(190, 0, 1)[..63], 0));
    // The stand-in's architecture is none of CUDA's names.
    refuse(&fat(&file(190, 0, 1), 0));
    refuse(&fat(b"compressed", 11));
}

#[test]
fn l11_a_bundle_suits_a_device_for_which_it_has_a_part() {
    let mock = mock::Mock::amd();
    let device = open(&mock);
    let interface = NativeInterface { parameters: Vec::new(), workgroup_size: [1; 3], workgroup_memory: 0 };
    let fit = |code: Vec<u8>| {
        let (language, entry) = (NativeLanguage::CodeObject, "two".into());
        let source = NativeSource { language, code, entry, options: Vec::new(), headers: Vec::new(), target: String::new() };
        device.fit(&source, &interface)
    };
    assert_eq!(fit(bundle(&[("hip-amdgcn-amd-amdhsa--gfx90a", &file(224, 0x3f, 1))])), Ok(Fit::Bundle));
    assert_eq!(fit(file(224, 0x3f, 1)), Ok(Fit::Machine(0)));
    assert!(fit(bundle(&[])).is_err());
}

#[test]
fn pkg_03_a_device_that_the_runtime_compiler_does_not_know_has_no_text_compiled_and_says_what_is_needed() {
    for (generations, knows) in [(&[50, 90][..], false), (&[90, 120], true), (&[], true)] {
        let mock = mock::Mock::compiling_for(generations);
        let device = open(&mock);
        let compiles = Arc::new(Mutex::new(0));
        let count = Arc::clone(&compiles);
        mock.hook(move |name| *count.lock().unwrap() += u32::from(name == "compile"));
        let (language, entry) = (NativeLanguage::CudaCpp, "two".into());
        let source = NativeSource {
            language,
            code: b"text".to_vec(),
            entry,
            options: Vec::new(),
            headers: Vec::new(),
            target: String::new(),
        };
        let interface = NativeInterface { parameters: Vec::new(), workgroup_size: [1; 3], workgroup_memory: 0 };
        let fit = device.fit(&source, &interface);
        assert_eq!((device.capabilities().portable, fit.is_ok()), (knows, knows), "{generations:?}: {fit:?}");
        let made = load(&*device, language, b"text", &[]);
        assert_eq!((made.is_ok(), *compiles.lock().unwrap()), (knows, u32::from(knows)), "{made:?}");
        let told = [fit.err(), made.err().map(|error| error.to_string())];
        for why in told.into_iter().flatten() {
            assert!(
                why.contains("(version 12.0) makes code for sm_50 to sm_90, and not for sm_120, which takes a later one"),
                "{why}"
            );
        }
        mock.hook(|_| {});
    }
}

#[test]
fn a_runtime_compiler_that_is_broken_or_starved_is_not_taken_for_a_wrong_text() {
    let mock = mock::Mock::compiling_for(&[120]);
    let device = open(&mock);
    let make = |code: i32| {
        mock.arm_named("compile", code);
        let made = load(&*device, NativeLanguage::CudaCpp, format!("text {code}").as_bytes(), &[]);
        assert_eq!(mock.disarm(), Some("compile"));
        made.unwrap_err()
    };
    // Compilation, and an option that it does not know.
    for code in [6, 5] {
        let why = make(code);
        assert!(matches!(&why, DeviceError::Compile { log, refusal: true, .. } if log.contains("a warning")), "{code}: {why:?}");
    }
    // A part of it is missing, or something inside went wrong.
    for code in [7, 11] {
        let why = make(code);
        assert!(matches!(&why, DeviceError::Compile { log, refusal: false, .. } if log.contains("a warning")), "{code}: {why:?}");
    }
    assert!(matches!(make(1), DeviceError::NoMemoryFor { .. }));
    load(&*device, NativeLanguage::CudaCpp, b"text 6", &[]).unwrap();
}

#[test]
fn ffi_03_a_list_of_devices_leaves_no_failure_for_the_host_to_find() {
    let mock = mock::Mock::amd();
    for refused in ["device_count", "device_attribute"] {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&calls);
        mock.hook(move |name| list.lock().unwrap().push(name));
        mock.arm_named(refused, mock::REFUSED);
        mock.driver.probe();
        assert_eq!(mock.disarm(), Some(refused));
        mock.hook(|_| {});
        assert_eq!(calls.lock().unwrap().last(), Some(&"last_error"), "{refused}");
    }
}
