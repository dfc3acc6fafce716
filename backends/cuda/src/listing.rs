//! NVIDIA's devices without CUDA (F6): its management library tells them, and leaves nothing behind that a fork could break.
//!
//! What the two see differs where the environment chooses among devices or a device is divided. Where it is not certain that both mean the same there is no answer
//! here, and CUDA itself is asked.

use std::ffi::{c_char, c_int, c_uint, c_void};

use compute_cuda_hip::driver::{Find, Listing};
use compute_hal::{DeviceKind, PciAddress, Properties};

type Device = *mut c_void;

/// `nvmlMemory_t`
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlPciInfo_t`
#[repr(C)]
#[derive(Default)]
struct Place {
    short: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    ids: [c_uint; 2],
    long: [c_char; 32],
}

/// The library's functions. All answer 0 where they succeed.
struct Calls {
    start: unsafe extern "C" fn() -> c_int,
    end: unsafe extern "C" fn() -> c_int,
    version: unsafe extern "C" fn(*mut c_int) -> c_int,
    count: unsafe extern "C" fn(*mut c_uint) -> c_int,
    device: unsafe extern "C" fn(c_uint, *mut Device) -> c_int,
    name: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int,
    identity: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int,
    memory: unsafe extern "C" fn(Device, *mut Memory) -> c_int,
    capability: unsafe extern "C" fn(Device, *mut c_int, *mut c_int) -> c_int,
    divided: unsafe extern "C" fn(Device, *mut c_uint, *mut c_uint) -> c_int,
    place: unsafe extern "C" fn(Device, *mut Place) -> c_int,
}

/// `NVML_ERROR_NOT_SUPPORTED`
const NOT_SUPPORTED: c_int = 3;

/// The devices that CUDA would show to this process, or nothing where that is not certain.
pub(crate) fn listing(find: Find<'_>) -> Option<Listing> {
    let chosen = std::env::var_os("CUDA_VISIBLE_DEVICES");
    let chosen = chosen.as_ref().map(|text| text.to_str().ok_or(())).transpose().ok()?;
    let by_bus = std::env::var_os("CUDA_DEVICE_ORDER").is_some_and(|order| order == "PCI_BUS_ID");
    let (version, devices) = all(find)?;
    Some(Listing { version, devices: visible(devices, chosen, by_bus)? })
}

/// All devices, in the order of their places on the bus, and the newest CUDA that the driver knows.
fn all(find: Find<'_>) -> Option<(c_int, Vec<Properties>)> {
    let calls = Calls::load(find)?;
    // SAFETY: without arguments.
    if unsafe { (calls.start)() } != 0 {
        return None;
    }
    let found = calls.all();
    // SAFETY: without arguments; it was started.
    let _ = unsafe { (calls.end)() };
    found
}

impl Calls {
    #[allow(clippy::missing_transmute_annotations, reason = "they are the fields' types")]
    fn load(find: Find<'_>) -> Option<Self> {
        macro_rules! symbols {
            ($($name:ident: $symbol:literal),*) => {
                // SAFETY: the library is NVIDIA's, whose functions have these types.
                unsafe { Some(Self { $($name: std::mem::transmute::<*mut c_void, _>(find($symbol)?)),* }) }
            };
        }
        symbols! {
            start: c"nvmlInit_v2", end: c"nvmlShutdown", version: c"nvmlSystemGetCudaDriverVersion_v2", count: c"nvmlDeviceGetCount_v2",
            device: c"nvmlDeviceGetHandleByIndex_v2", name: c"nvmlDeviceGetName", identity: c"nvmlDeviceGetUUID",
            memory: c"nvmlDeviceGetMemoryInfo", capability: c"nvmlDeviceGetCudaComputeCapability", divided: c"nvmlDeviceGetMigMode",
            place: c"nvmlDeviceGetPciInfo_v3"
        }
    }

    fn all(&self) -> Option<(c_int, Vec<Properties>)> {
        let (mut version, mut count) = (0, 0);
        // SAFETY: the places are ours.
        if unsafe { (self.version)(&mut version) != 0 || (self.count)(&mut count) != 0 } {
            return None;
        }
        let devices = (0..count).map(|index| self.one(index, version)).collect::<Option<_>>()?;
        Some((version, devices))
    }

    fn one(&self, index: c_uint, version: c_int) -> Option<Properties> {
        let (mut device, mut memory) = (std::ptr::null_mut(), Memory::default());
        let (mut major, mut minor, mut divided, mut later) = (0, 0, 0, 0);
        let (mut name, mut identity) = ([0 as c_char; 128], [0 as c_char; 96]);
        let mut place = Place::default();
        // SAFETY: the places are ours and as long as said, and the device is the library's.
        let mode = unsafe {
            if (self.device)(index, &mut device) != 0
                || (self.name)(device, name.as_mut_ptr(), 127) != 0
                || (self.identity)(device, identity.as_mut_ptr(), 95) != 0
                || (self.memory)(device, &mut memory) != 0
                || (self.capability)(device, &mut major, &mut minor) != 0
                || (self.place)(device, &mut place) != 0
            {
                return None;
            }
            (self.divided)(device, &mut divided, &mut later)
        };
        // CUDA shows the parts of a divided device.
        if !(mode == NOT_SUPPORTED || mode == 0 && divided == 0) {
            return None;
        }
        Some(Properties {
            name: text(&name),
            vendor: crate::VENDOR.company.into(),
            driver: format!("{} {}", crate::VENDOR.name, crate::version(version)),
            kind: DeviceKind::DiscreteGpu,
            target: format!("sm_{major}{minor}"),
            uuid: parsed(&text(&identity))?,
            pci: place.address(),
            memory_size: memory.total,
            units: 0,
            subgroup_sizes: [32, 32],
            load_width: 16,
        })
    }
}

impl Place {
    fn address(&self) -> Option<PciAddress> {
        let Self { domain, bus, device, .. } = *self;
        Some(PciAddress { domain, bus: bus.try_into().ok()?, device: device.try_into().ok()?, function: 0 })
    }
}

fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().flat_map(|c| c.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// The bytes of `GPU-8b5b1d8a-...`.
fn parsed(identity: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = identity.strip_prefix("GPU-")?.bytes().filter(|byte| *byte != b'-').collect();
    let mut bytes = [0; 16];
    if digits.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The devices that the environment chooses, in its order. Numbers mean places on the bus where the environment says so or all devices are alike; CUDA counts others by
/// their speed, as it sees it.
fn visible(devices: Vec<Properties>, chosen: Option<&str>, by_bus: bool) -> Option<Vec<Properties>> {
    let alike = devices.iter().all(|device| devices.first().is_some_and(|first| first.name == device.name));
    if !by_bus && !alike {
        return None;
    }
    let Some(chosen) = chosen else { return Some(devices) };
    let mut taken: Vec<usize> = Vec::new();
    for entry in chosen.split(',').map(str::trim) {
        let place = if entry.starts_with("GPU-") {
            let mut fitting =
                (0..devices.len()).filter(|at| devices.get(*at).is_some_and(|device| written(device.uuid).starts_with(entry)));
            let first = fitting.next()?;
            // CUDA takes no entry that means two.
            fitting.next().is_none().then_some(first)?
        } else if !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit()) {
            entry.parse().ok()?
        } else {
            return None;
        };
        // Whatever comes behind one that is not there is not seen, either.
        if place >= devices.len() {
            break;
        }
        if taken.contains(&place) {
            return None;
        }
        taken.push(place);
    }
    Some(taken.iter().filter_map(|place| devices.get(*place).cloned()).collect())
}

/// As the library writes an identity.
fn written(uuid: [u8; 16]) -> String {
    let mut text = String::from("GPU-");
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    const FIRST: &str = "GPU-00112233-4455-6677-8899-aabbccddeeff";
    const SECOND: &str = "GPU-00112233-4455-6677-8899-aabbccddee00";

    fn device(name: &str, identity: &str) -> Properties {
        Properties {
            name: name.into(),
            vendor: String::new(),
            driver: String::new(),
            kind: DeviceKind::DiscreteGpu,
            target: String::new(),
            uuid: parsed(identity).unwrap(),
            pci: None,
            memory_size: 0,
            units: 0,
            subgroup_sizes: [32, 32],
            load_width: 16,
        }
    }

    fn seen(names: [&str; 2], chosen: Option<&str>, by_bus: bool) -> Option<String> {
        let devices = vec![device(names[0], FIRST), device(names[1], SECOND)];
        let found = visible(devices, chosen, by_bus)?;
        Some(found.iter().map(|device| if device.uuid == parsed(FIRST).unwrap() { 'a' } else { 'b' }).collect())
    }

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        assert_eq!(written(parsed(FIRST).unwrap()), FIRST);
        assert_eq!(parsed(FIRST).unwrap()[..3], [0, 0x11, 0x22]);
        for wrong in [
            "",
            "GPU-",
            "MIG-00112233-4455-6677-8899-aabbccddeeff",
            "GPU-00112233-4455-6677-8899-aabbccddeef",
            "GPU-0011223g-4455-6677-8899-aabbccddeeff",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn md_02_the_environment_chooses_devices_as_for_cuda() {
        let alike = ["H200"; 2];
        for (chosen, expected) in [
            (None, "ab"),
            (Some("1,0"), "ba"),
            (Some(" 1 "), "b"),
            (Some("1,7,0"), "b"),
            (Some(FIRST), "a"),
            (Some("GPU-00112233-4455-6677-8899-aabbccddee0,0"), "ba"),
        ] {
            assert_eq!(seen(alike, chosen, false).as_deref(), Some(expected), "{chosen:?}");
        }
    }

    #[test]
    fn what_is_not_certain_is_left_to_cuda() {
        let alike = ["H200"; 2];
        for chosen in ["", "0,0", "-1", "0,x", "MIG-1", "GPU-0011", "GPU-ff", "99999999999999999999999"] {
            assert_eq!(seen(alike, Some(chosen), false), None, "{chosen:?}");
        }
        assert_eq!(seen(["H200", "A10"], None, false), None);
        assert_eq!(seen(["H200", "A10"], Some("1"), true).as_deref(), Some("b"));
    }

    unsafe extern "C" fn fine() -> c_int {
        0
    }
    unsafe extern "C" fn version(to: *mut c_int) -> c_int {
        // SAFETY: of the caller's.
        unsafe { *to = 13_000 };
        0
    }
    unsafe extern "C" fn count(to: *mut c_uint) -> c_int {
        // SAFETY: of the caller's.
        unsafe { *to = 1 };
        0
    }
    unsafe extern "C" fn handle(_: c_uint, _: *mut Device) -> c_int {
        0
    }
    unsafe extern "C" fn name(_: Device, to: *mut c_char, _: c_uint) -> c_int {
        // SAFETY: of the caller's, and long enough.
        unsafe { to.cast::<[u8; 12]>().write(*b"NVIDIA H200\0") };
        0
    }
    unsafe extern "C" fn identity(_: Device, to: *mut c_char, _: c_uint) -> c_int {
        // SAFETY: of the caller's, and long enough.
        unsafe { std::ptr::copy_nonoverlapping(FIRST.as_ptr(), to.cast(), FIRST.len()) };
        0
    }
    unsafe extern "C" fn memory(_: Device, to: *mut Memory) -> c_int {
        // SAFETY: of the caller's.
        unsafe { (*to).total = 141 << 30 };
        0
    }
    unsafe extern "C" fn capability(_: Device, major: *mut c_int, _: *mut c_int) -> c_int {
        // SAFETY: of the caller's.
        unsafe { *major = 9 };
        0
    }
    unsafe extern "C" fn place(_: Device, to: *mut Place) -> c_int {
        // SAFETY: of the caller's.
        unsafe { ((*to).domain, (*to).bus, (*to).device) = (1, 0x3b, 2) };
        0
    }
    unsafe extern "C" fn whole(_: Device, _: *mut c_uint, _: *mut c_uint) -> c_int {
        0
    }
    unsafe extern "C" fn unsupported(_: Device, _: *mut c_uint, _: *mut c_uint) -> c_int {
        NOT_SUPPORTED
    }
    unsafe extern "C" fn divided(_: Device, now: *mut c_uint, _: *mut c_uint) -> c_int {
        // SAFETY: of the caller's.
        unsafe { *now = 1 };
        0
    }

    fn library(symbol: &CStr, mode: *mut c_void) -> Option<*mut c_void> {
        Some(match symbol.to_str().unwrap() {
            "nvmlInit_v2" | "nvmlShutdown" => fine as *mut c_void,
            "nvmlSystemGetCudaDriverVersion_v2" => version as *mut c_void,
            "nvmlDeviceGetCount_v2" => count as *mut c_void,
            "nvmlDeviceGetHandleByIndex_v2" => handle as *mut c_void,
            "nvmlDeviceGetName" => name as *mut c_void,
            "nvmlDeviceGetUUID" => identity as *mut c_void,
            "nvmlDeviceGetMemoryInfo" => memory as *mut c_void,
            "nvmlDeviceGetCudaComputeCapability" => capability as *mut c_void,
            "nvmlDeviceGetMigMode" => mode,
            "nvmlDeviceGetPciInfo_v3" => place as *mut c_void,
            _ => return None,
        })
    }

    #[test]
    fn f6_the_management_library_tells_devices_that_are_whole() {
        for mode in [whole as *mut c_void, unsupported as *mut c_void] {
            let (version, devices) = all(&|symbol| library(symbol, mode)).unwrap();
            assert_eq!((version, devices.len()), (13_000, 1));
            let device = &devices[0];
            assert_eq!(
                (device.name.as_str(), device.target.as_str(), device.driver.as_str()),
                ("NVIDIA H200", "sm_90", "cuda 13.0")
            );
            assert_eq!((device.uuid, device.memory_size), (parsed(FIRST).unwrap(), 141 << 30));
            assert_eq!(device.pci.unwrap().to_string(), "0001:3b:02.0");
        }
        assert!(all(&|symbol| library(symbol, divided as *mut c_void)).is_none());
    }

    #[test]
    fn a_management_library_that_lacks_something_is_none() {
        assert!(all(&|symbol| library(symbol, whole as *mut c_void).filter(|_| symbol != c"nvmlDeviceGetMigMode")).is_none());
    }
}
