//! Devices: finding, opening, asking, and holding one to measure on it.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use compute_hal::{Capabilities, DeviceKind, Features, Limits, OpenOptions, Properties};
use serde_json::json;

use super::boundary::*;
use super::cache::read_cache;
use super::native::{Host, read_vulkan};
use super::objects::{Opened, add, destroy, find, release, retain};
use super::status::*;
use super::types::*;
use crate::registry::{self, Faults, Found, How};
use crate::runtime::{self, Device, DeviceOptions};

/// The name of a backend: NULL is all of them. One that is there and has a length of 0 is a length that was forgotten: "all" would open the processor for a GPU.
///
/// # Safety
/// As [`read_text`].
unsafe fn read_backend<'a>(name: *const c_char, length: usize) -> Result<Option<&'a str>, Complaint> {
    // SAFETY: as our own caller says.
    let name = unsafe { read_text(name, length, MOST_NAME, "backend") }?;
    match name {
        Some("") => refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "`backend` is given, but `backend_length` is 0: set it to the length or COMPUTE_NUL_TERMINATED, or leave `backend` NULL for all"
        ),
        name => Ok(name),
    }
}

/// Asks the drivers of that name; there is none is an error.
fn probe(backend: Option<&str>) -> Result<Vec<Found>, Complaint> {
    let found = registry::probe(backend);
    if found.is_empty() {
        let known: Vec<_> = registry::probe(None).iter().map(|found| found.backend).collect();
        return refuse!(
            COMPUTE_ERROR_NO_DEVICE,
            "there is no backend `{}` here; there are: {}",
            backend.unwrap_or(""),
            known.join(", ")
        );
    }
    Ok(found)
}

fn devices(found: &[Found]) -> Vec<(&'static str, &Properties)> {
    found.iter().flat_map(|found| found.probe.devices.iter().map(|properties| (found.backend, properties))).collect()
}

fn kind_of(kind: DeviceKind) -> u32 {
    match kind {
        DeviceKind::Cpu => COMPUTE_DEVICE_CPU,
        DeviceKind::IntegratedGpu => COMPUTE_DEVICE_INTEGRATED_GPU,
        DeviceKind::DiscreteGpu => COMPUTE_DEVICE_DISCRETE_GPU,
        DeviceKind::Other => COMPUTE_DEVICE_OTHER,
    }
}

fn capability_bits(can: &Capabilities) -> u64 {
    let bits = [
        (can.portable, COMPUTE_CAPABILITY_PORTABLE),
        (can.indirect, COMPUTE_CAPABILITY_INDIRECT),
        (can.indirect_reports, COMPUTE_CAPABILITY_INDIRECT_REPORTS),
        (can.validate, COMPUTE_CAPABILITY_VALIDATE),
        (can.time_limit, COMPUTE_CAPABILITY_TIME_LIMIT),
        (can.timestamps, COMPUTE_CAPABILITY_TIMESTAMPS),
        (can.host_visible, COMPUTE_CAPABILITY_HOST_VISIBLE),
        (can.tensor_maps, COMPUTE_CAPABILITY_TENSOR_MAPS),
        (can.strict, COMPUTE_CAPABILITY_STRICT),
        (can.native_indirect_by_host, COMPUTE_CAPABILITY_NATIVE_INDIRECT_BY_HOST),
    ];
    bits.iter().filter(|(has, _)| *has).fold(0, |all, (_, bit)| all | bit)
}

fn feature_bits(features: &Features) -> u64 {
    let Features { f16, f64, int64, atomic_int64, atomic_f32, subgroups } = *features;
    let bits = [
        (f16, COMPUTE_FEATURE_F16),
        (f64, COMPUTE_FEATURE_F64),
        (int64, COMPUTE_FEATURE_INT64),
        (atomic_int64, COMPUTE_FEATURE_ATOMIC_INT64),
        (atomic_f32, COMPUTE_FEATURE_ATOMIC_F32),
        (subgroups, COMPUTE_FEATURE_SUBGROUPS),
    ];
    bits.iter().filter(|(has, _)| *has).fold(0, |all, (_, bit)| all | bit)
}

/// What is known of a device; limits and capabilities only once it is open.
fn info_of(backend: &str, index: u32, properties: &Properties, open: Option<(&Limits, &Capabilities)>) -> compute_device_info {
    // What is not known yet stays zero.
    let mut info = zeroed_info();
    info.kind = kind_of(properties.kind);
    info.backend = field(backend);
    info.name = field(&properties.name);
    info.vendor = field(&properties.vendor);
    info.driver = field(&properties.driver);
    info.target = field(&properties.target);
    info.uuid = properties.uuid;
    info.pci_address = field(&properties.pci.map(|pci| pci.to_string()).unwrap_or_default());
    info.index = index;
    info.units = properties.units;
    [info.subgroup_min, info.subgroup_max] = properties.subgroup_sizes;
    info.memory_size = properties.memory_size;
    info.load_width = properties.load_width;
    if let Some((limits, can)) = open {
        info.capabilities = capability_bits(can);
        info.features = feature_bits(&can.features);
        info.max_workgroup_size = limits.workgroup_size;
        info.max_workgroup_invocations = limits.workgroup_invocations;
        info.max_grid = limits.grid;
        info.max_bindings = limits.bindings;
        info.max_workgroup_memory = limits.workgroup_memory;
        info.max_binding_size = limits.binding_size;
        info.max_uniform_size = limits.uniform_size;
        info.max_buffer_size = limits.allocation_size;
        info.max_immediate_size = limits.immediate_size;
        info.storage_alignment = limits.storage_alignment;
        info.uniform_alignment = limits.uniform_alignment;
    }
    info
}

fn zeroed_info() -> compute_device_info {
    // SAFETY: all zero bits are a value of a sized struct.
    unsafe { std::mem::zeroed() }
}

/// Lists the devices that can be opened, without initialising a driver: limits and capabilities are zero until a device is open.
///
/// `desc` may be NULL: all devices. `*count` is told how many there are; the first `capacity` of them are written to `infos`, `info_stride` bytes
/// apart (0: `sizeof(compute_device_info)`), each as large as the `struct_size` of the first one says. With a capacity of 0 `infos` may
/// be NULL. Answers `COMPUTE_INCOMPLETE` when `infos` was given and could not take all.
///
/// # Safety
/// The pointers are valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_devices_list(
    desc: *const compute_list_desc,
    infos: *mut compute_device_info,
    info_stride: usize,
    capacity: usize,
    count: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let count = unsafe { Out::new(count, "count", 0) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_optional_struct(desc) }?;
        check_zero(desc.reserved.into(), "reserved")?;
        check_zero(desc.next.addr() as u64, "next")?;
        // SAFETY: as our own caller says.
        let backend = unsafe { read_backend(desc.backend, desc.backend_length) }?;
        let found = probe(backend)?;
        let listed = devices(&found);
        count.set(listed.len());
        let all = (0..).zip(&listed).map(|(index, (backend, properties))| info_of(backend, index, properties, None));
        // SAFETY: as our own caller says.
        unsafe { write_structs(all, infos, info_stride, capacity, "infos") }?;
        Ok(if capacity > 0 && capacity < listed.len() { COMPUTE_INCOMPLETE } else { COMPUTE_OK })
    })
}

/// What each driver tried and found, as JSON: an array of `{"backend", "devices", "tried": [lines]}`. For bug reports and for people whose device does not
/// show up. Texts are given as by `compute_error_message`.
///
/// # Safety
/// When not NULL, `text` is writable for `capacity` bytes and `needed` for a number; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_drivers_report(
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let all: Vec<_> = registry::probe(None)
            .into_iter()
            .map(|found| json!({ "backend": found.backend, "devices": found.probe.devices.len(), "tried": found.probe.tried }))
            .collect();
        // SAFETY: as our own caller says.
        unsafe { write_text(&serde_json::Value::Array(all).to_string(), text, capacity, needed) }
    })
}

/// What the chain of a device's descriptor asks for.
struct Chain {
    fault: Option<compute_fault_desc>,
    vulkan: Option<compute_vulkan_desc>,
    cache: Option<compute_cache_desc>,
}

/// Reads it.
///
/// # Safety
/// `next` is NULL or the head of a chain of structs, each with its size, kind and next.
unsafe fn read_chain(mut next: *const c_void) -> Result<Chain, Complaint> {
    /// A longer chain goes in circles.
    const LONGEST: u32 = 16;
    let mut chain = Chain { fault: None, vulkan: None, cache: None };
    for _ in 0..LONGEST {
        if next.is_null() {
            return Ok(chain);
        }
        // SAFETY: every struct of a chain begins like this one, and says how much of it there is.
        let head = unsafe { read_head(next.cast::<compute_chained>()) }?;
        match head.kind {
            COMPUTE_CHAINED_FAULT if chain.fault.is_none() => {
                // SAFETY: its kind says what it is.
                chain.fault = Some(unsafe { read_struct(next.cast::<compute_fault_desc>()) }?);
            }
            COMPUTE_CHAINED_VULKAN if chain.vulkan.is_none() => {
                // SAFETY: as above.
                chain.vulkan = Some(unsafe { read_struct(next.cast::<compute_vulkan_desc>()) }?);
            }
            COMPUTE_CHAINED_CACHE if chain.cache.is_none() => {
                // SAFETY: as above.
                chain.cache = Some(unsafe { read_struct(next.cast::<compute_cache_desc>()) }?);
            }
            COMPUTE_CHAINED_FAULT | COMPUTE_CHAINED_VULKAN | COMPUTE_CHAINED_CACHE => {
                return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the chain has two structs of kind {}", head.kind);
            }
            kind => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "the chain has a struct of unknown kind {kind}"),
        }
        next = head.next;
    }
    refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the chain has more than {LONGEST} structs")
}

/// Opens a device. The caller releases it. Opening the first one makes the process's forks noticed (a child of a later fork must not use the library),
/// and nothing before it starts a thread.
///
/// Errors: `NO_DEVICE` (with what was tried), `TARGET`, `OUT_OF_MEMORY`, `DRIVER`.
///
/// # Safety
/// `desc` and what it points to are valid as described; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_open(
    desc: *const compute_device_desc,
    out: *mut compute_device,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        // SAFETY: as our own caller says.
        let (opened, host) = unsafe { open(&desc) }?;
        let device = Arc::clone(&opened.device);
        let handle: compute_device = add(opened.into())?;
        // Only now: a host that was answered with an error is not told that its objects are free.
        if let Some(host) = host {
            host.opened();
        }
        device.set_handle(handle.addr() as u64);
        out.set(handle);
        Ok(COMPUTE_OK)
    })
}

/// The device, and the host that is to hear when it is gone.
///
/// # Safety
/// What `desc` points to is valid.
unsafe fn open(desc: &compute_device_desc) -> Result<(Opened, Option<Arc<Host>>), Complaint> {
    // SAFETY: as our own caller says, for all that is read here.
    let (backend, exact_target, label, chain) = unsafe {
        (
            read_backend(desc.backend, desc.backend_length)?,
            read_text(desc.exact_target, desc.exact_target_length, MOST_NAME, "exact target")?,
            read_text(desc.label, desc.label_length, MOST_NAME, "label")?,
            read_chain(desc.next)?,
        )
    };
    check_flags(desc.flags, COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN | COMPUTE_DEVICE_FLAG_TIMESTAMPS, "device")?;
    let fault = chain.fault.map(|fault| {
        check_zero(fault.reserved.into(), "reserved")?;
        Ok::<_, Complaint>((fault.call, how_of(fault.how)?))
    });
    let fault = fault.transpose()?;
    // SAFETY: as our own caller says.
    let host = chain.vulkan.map(|vulkan| unsafe { read_vulkan(&vulkan) }).transpose()?;
    let (vulkan, host) = host.unzip();
    // SAFETY: as our own caller says.
    let disk = chain.cache.map(|cache| unsafe { read_cache(&cache) }).transpose()?;
    let options = DeviceOptions {
        label: label.unwrap_or_default().to_owned(),
        strict_unwritten: desc.flags & COMPUTE_DEVICE_FLAG_STRICT_UNWRITTEN != 0,
        exact_target: exact_target.map(str::to_owned),
        queues: desc.queues,
        idle_bytes: desc.idle_bytes,
        open: OpenOptions {
            artifacts: disk.is_some(),
            threads: desc.threads,
            timestamps: desc.flags & COMPUTE_DEVICE_FLAG_TIMESTAMPS != 0,
            slice_groups: desc.slice_groups,
            vulkan,
        },
        disk,
    };
    prepare_process()?;
    let (mut native, backend) = match &host {
        Some(_) => open_on_host(backend, desc.index, &options.open)?,
        None => open_listed(backend, desc.index, &options.open)?,
    };
    let faults = fault.map(|(call, how)| {
        let faults = Faults::new();
        native = faults.wrap(native.clone());
        faults.inject(call, how);
        faults
    });
    let device = Device::new(native, &options)?;
    Ok((Opened { device, backend, index: desc.index, faults }, host))
}

fn open_listed(backend: Option<&str>, index: u32, options: &OpenOptions) -> Result<registry::Opened, Complaint> {
    if let Some(opened) = registry::open(backend, index, options) {
        return Ok(opened.map_err(runtime::Failed::from_device)?);
    }
    let found = probe(backend)?;
    let tried: Vec<&str> = found.iter().flat_map(|found| &found.probe.tried).map(String::as_str).collect();
    let (count, tried) = (devices(&found).len(), tried.join("; "));
    refuse!(COMPUTE_ERROR_NO_DEVICE, "device {index} was asked for, and there are {count}. What was tried: {tried}")
}

fn open_on_host(backend: Option<&str>, index: u32, options: &OpenOptions) -> Result<registry::Opened, Complaint> {
    if index != 0 || backend.is_some_and(|name| name != "wgpu") {
        return refuse!(
            COMPUTE_ERROR_INVALID_ARGUMENT,
            "a compute_vulkan_desc goes with the backend `wgpu`, or NULL, and index 0; not with device {index} of `{}`",
            backend.unwrap_or("")
        );
    }
    match registry::open_on_host(options) {
        Some(opened) => Ok(opened.map_err(runtime::Failed::from_device)?),
        None => refuse!(COMPUTE_ERROR_UNSUPPORTED, "this build of the library has no `wgpu` backend"),
    }
}

fn how_of(how: u32) -> Result<How, Complaint> {
    Ok(match how {
        COMPUTE_FAULT_NONE => How::None,
        COMPUTE_FAULT_ERROR => How::Error,
        COMPUTE_FAULT_OUT_OF_MEMORY => How::OutOfMemory,
        COMPUTE_FAULT_LOST => How::Lost,
        COMPUTE_FAULT_LATE => How::Late,
        COMPUTE_FAULT_PANIC => How::Panic,
        how => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{how} is not a COMPUTE_FAULT_"),
    })
}

/// Counts one more reference to a device.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_retain(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(device))
}

/// Gives one reference to a device back; with the last one its handle ends as by `compute_device_destroy`. NULL is fine. Never blocks; from any
/// thread, callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_device_release(device: compute_device) {
    guard_void(|| release(device));
}

/// Ends a device's handle at once, whatever its references. What was made from it stays usable and keeps the device itself alive; its waiting callbacks are
/// told now.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_destroy(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(device))
}

/// What a device is and allows. Answers on a poisoned device too.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_get_info(
    device: compute_device,
    info: *mut compute_device_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let opened = find(device)?;
        let device = &opened.device;
        out.set(&info_of(opened.backend, opened.index, device.properties(), Some((device.limits(), device.capabilities()))));
        Ok(COMPUTE_OK)
    })
}

/// Whether a device is usable: `COMPUTE_OK`, or `COMPUTE_ERROR_DEVICE_POISONED` with the first cause. Instant and sticky.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_status(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(device)?.device.check()?;
        Ok(COMPUTE_OK)
    })
}

/// Sets how many native queues the device's streams share (S1), before its first stream. The same number again is fine, another one then is
/// `COMPUTE_ERROR_BUSY`; 0, or more than the device has, is `COMPUTE_ERROR_INVALID_ARGUMENT`.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_set_queues(
    device: compute_device,
    count: u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        find(device)?.device.set_queues(count)?;
        Ok(COMPUTE_OK)
    })
}

/// Holds a device for the calling thread alone, to measure: other threads' calls that enqueue wait until `compute_device_unlock`. The same thread may lock
/// again; each lock needs its unlock.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_lock(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(device)?.device.lock()?;
        Ok(COMPUTE_OK)
    })
}

/// Ends what `compute_device_lock` began, from the same thread; from another, or without a lock, `COMPUTE_ERROR_BUSY`.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_unlock(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        find(device)?.device.unlock()?;
        Ok(COMPUTE_OK)
    })
}

/// Finishes every compilation that launches have queued on this device (L6), and waits for those that are under way. A kernel that does not compile is told by
/// the launch that needs it.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_compile_queued(device: compute_device, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || {
        let device = find(device)?.device.clone();
        runtime::compile_queued(&device)?;
        Ok(COMPUTE_OK)
    })
}

/// Spreads a number of workgroups over the three axes of a grid within the device's limits (L12). With `exact` of 1 the grid has exactly `count` workgroups, x
/// as large as it can be, then y; `COMPUTE_ERROR_LIMIT` where no such grid exists. With 0 it has at least `count`, on as few axes as possible, and `*idle` (may be
/// NULL) is told how many more: the kernel must skip those whose linear number is `count` or above. A `count` of 0 gives a grid that is no work.
///
/// # Safety
/// `grid` is writable for three numbers, `idle` for one or NULL; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_spread_workgroups(
    device: compute_device,
    count: u64,
    exact: u32,
    grid: *mut u32,
    idle: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says; three numbers in a row are an array of three.
        let out = unsafe { Out::new(grid.cast::<[u32; 3]>(), "grid", [0; 3]) }?;
        // SAFETY: as our own caller says.
        unsafe { set_optional(idle, 0) };
        if exact > 1 {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`exact` is {exact}; it is 0 or 1");
        }
        let found = runtime::spread(find(device)?.device.limits(), count, exact == 1)?;
        out.set(found.grid);
        // SAFETY: as our own caller says.
        unsafe { set_optional(idle, found.idle) };
        Ok(COMPUTE_OK)
    })
}

/// A good number of invocations for the workgroups of a kernel that does one work item per invocation (L12): whole subgroups, a power of two, smaller where there are
/// few items for many units. For a kernel that takes its workgroup size as an override constant.
///
/// # Safety
/// `size` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_get_workgroup_size(
    device: compute_device,
    items: u64,
    size: *mut u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(size, "size", 0) }?;
        let opened = find(device)?;
        out.set(runtime::workgroup_size(opened.device.properties(), opened.device.limits(), items));
        Ok(COMPUTE_OK)
    })
}

/// The vector widths, in elements of `element_size` bytes, that are worth using on the device (L12): widest first, ending with 1. `*count` is told how many there
/// are; the first `capacity` of them are written to `widths`, which may be NULL with a capacity of 0. Answers `COMPUTE_INCOMPLETE` when `widths` was given and could
/// not take all.
///
/// # Safety
/// `widths` is writable for `capacity` numbers, `count` for one; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_get_vector_widths(
    device: compute_device,
    element_size: u32,
    widths: *mut u32,
    capacity: usize,
    count: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let count = unsafe { Out::new(count, "count", 0) }?;
        let all = runtime::vector_widths(find(device)?.device.properties(), element_size)?;
        count.set(all.len());
        if capacity > 0 && widths.is_null() {
            return refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`widths` is NULL with a capacity of {capacity}");
        }
        for (place, width) in all.iter().enumerate().take(capacity) {
            // SAFETY: `place` is below `capacity`.
            unsafe { widths.add(place).write_unaligned(*width) };
        }
        Ok(if capacity > 0 && capacity < all.len() { COMPUTE_INCOMPLETE } else { COMPUTE_OK })
    })
}

/// Tells whether copies from one device to another (`compute_stream_copy_between`) go straight (1), or through the host (0). The first question about two
/// devices of a driver that can do it sends some bytes to see whether they arrive, and may take some milliseconds. Where the environment variable
/// `COMPUTE_PEER_ACCESS` is `0`, copies from one card to another go through the host.
///
/// # Safety
/// `straight` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_reaches(
    from: compute_device,
    to: compute_device,
    straight: *mut u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(straight, "straight", 0) }?;
        let (from, to) = (find(from)?, find(to)?);
        out.set(runtime::reaches(&from.device, &to.device)?.into());
        Ok(COMPUTE_OK)
    })
}

/// Makes the `call`-th call of the device from now fail in the way `how` says (`COMPUTE_FAULT_...`); a `call` of 0 disarms. Only for devices opened with a
/// `compute_fault_desc`, else `COMPUTE_ERROR_UNSUPPORTED`.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_inject_fault(
    device: compute_device,
    call: u64,
    how: u32,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let opened = find(device)?;
        let how = how_of(how)?;
        faults(&opened)?.inject(call, how);
        Ok(COMPUTE_OK)
    })
}

/// How many calls of the device there have been. Only for devices opened with a `compute_fault_desc`.
///
/// # Safety
/// `calls` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_device_fault_calls(
    device: compute_device,
    calls: *mut u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(calls, "calls", 0) }?;
        out.set(faults(&*find(device)?)?.calls());
        Ok(COMPUTE_OK)
    })
}

fn faults(opened: &Opened) -> Result<&Faults, Complaint> {
    match &opened.faults {
        Some(faults) => Ok(faults),
        None => refuse!(COMPUTE_ERROR_UNSUPPORTED, "the device was not opened with a compute_fault_desc in its chain"),
    }
}
