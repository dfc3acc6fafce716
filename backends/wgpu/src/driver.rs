//! Finding and opening adapters, and what they say of themselves.

use std::sync::Arc;

use compute_hal::{
    Capabilities, Device, DeviceError, DeviceKind, Driver, Features, HostVulkan, Limits, OpenOptions, PciAddress, Probe,
    Properties,
};

use parking_lot::Mutex;

use crate::device::WgpuDevice;
use crate::errors::{chain, ready, survive};
use crate::gpu::Gpu;
use crate::{host, loaded, turns, vulkan};

/// The driver. It loads graphics libraries when it is asked for devices, and not before.
#[derive(Clone, Copy, Debug, Default)]
pub struct WgpuDriver;

/// The same without memory that host and device share, so that bytes pass through staging on every adapter: for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct StagingWgpuDriver;

/// What kernels and this device use where an adapter has it.
const WANTED: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_I16)
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::SHADER_INT64_ATOMIC_MIN_MAX)
    .union(wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(wgpu::Features::SHADER_FLOAT32_ATOMIC)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::SUBGROUP_BARRIER)
    .union(wgpu::Features::IMMEDIATES)
    .union(wgpu::Features::PASSTHROUGH_SHADERS);

/// What a device that was opened for timestamps needs.
const CLOCK: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// What of an adapter is used.
fn wanted(options: &OpenOptions) -> wgpu::Features {
    let clock = if options.timestamps { CLOCK } else { wgpu::Features::empty() };
    let cache = if options.artifacts { wgpu::Features::PIPELINE_CACHE } else { wgpu::Features::empty() };
    WANTED | clock | cache
}

/// The backends in the order in which they are listed.
const BACKENDS: [(wgpu::Backends, &str); 4] = [
    // Before Vulkan, which is a layer over it where there are both.
    (wgpu::Backends::METAL, "Metal"),
    (wgpu::Backends::VULKAN, "Vulkan"),
    (wgpu::Backends::DX12, "Direct3D 12"),
    (wgpu::Backends::GL, "OpenGL"),
];

impl Driver for WgpuDriver {
    fn name(&self) -> &'static str {
        "wgpu"
    }

    fn probe(&self) -> Probe {
        let _turn = turns::alone();
        let (adapters, tried) = adapters();
        Probe { devices: adapters.iter().map(|(adapter, _)| properties(adapter)).collect(), tried }
    }

    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(open_device(index, options, true)?))
    }

    fn open_if_listed(&self, index: u32, options: &OpenOptions) -> Result<Result<Arc<dyn Device>, DeviceError>, usize> {
        let opened = open_listed(index, options, true)?;
        Ok(opened.map(|device| Arc::new(device) as Arc<dyn Device>))
    }
}

impl Driver for StagingWgpuDriver {
    fn name(&self) -> &'static str {
        WgpuDriver.name()
    }

    fn probe(&self) -> Probe {
        WgpuDriver.probe()
    }

    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(open_device(index, options, false)?))
    }
}

/// `shares`: with memory that the host reaches, where there is such.
pub(crate) fn open_device(index: u32, options: &OpenOptions, shares: bool) -> Result<WgpuDevice, DeviceError> {
    if let Some(vulkan) = &options.vulkan {
        return survive(|| open_on_host(vulkan, options, shares))
            .map_err(|panic| driver_error("open", format!("wgpu panicked: {panic}")))?;
    }
    open_listed(index, options, shares)
        .unwrap_or_else(|count| Err(DeviceError::Internal(format!("wgpu device {index} of {count}"))))
}

/// Opens one of the adapters; `Err`: how many there are, which is not enough.
fn open_listed(index: u32, options: &OpenOptions, shares: bool) -> Result<Result<WgpuDevice, DeviceError>, usize> {
    // Given back when the adapters are gone: with the last one of an instance that goes, too.
    let turn = turns::alone();
    let mut adapters = adapters().0;
    if index as usize >= adapters.len() {
        return Err(adapters.len());
    }
    let (adapter, instance) = adapters.swap_remove(index as usize);
    drop(adapters);
    let panicked = |panic| driver_error("request_device", format!("wgpu panicked: {panic}"));
    let opened = survive(|| open(&adapter, instance, options)).unwrap_or_else(|panic| Err(panicked(panic)));
    let (opened, features) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    // A device that goes here, as something panics, takes its turn by itself. The adapter's instance is kept.
    drop(turn);
    Ok(survive(|| whole(&adapter, Gpu::new(opened, None), features, options, shares)).map_err(panicked))
}

pub(crate) fn driver_error(call: &'static str, message: String) -> DeviceError {
    DeviceError::Driver { call, code: 0, name: "WGPU".into(), message }
}

/// Instances of backends that a device was opened from. They are kept: a driver that is unloaded and loaded again for the next device would go down later at the end of
/// the process than what `exit` has registered.
static OPENED: Mutex<Vec<(wgpu::Backends, wgpu::Instance)>> = Mutex::new(Vec::new());

/// An adapter, and what it was found with.
type Found = (wgpu::Adapter, wgpu::Instance);

/// The adapters that kernels can run on, and what was tried. A GPU is listed once, by the first of the backends that have it.
fn adapters() -> (Vec<Found>, Vec<String>) {
    let built = wgpu::Instance::enabled_backend_features();
    let (mut found, mut tried) = (Vec::<Found>::new(), Vec::new());
    for (backend, name) in BACKENDS.iter().filter(|(backend, _)| built.contains(*backend)) {
        // OpenGL only where nothing better is: it would list the same hardware again, under names that cannot be compared.
        if *backend == wgpu::Backends::GL && !found.is_empty() {
            tried.push(format!("{name}: not looked at, as there are better ways to the devices found"));
            continue;
        }
        match survive(|| enumerate(*backend)) {
            Ok(Ok(adapters)) if adapters.is_empty() && *backend == wgpu::Backends::VULKAN => {
                tried.push(format!("{name}: {}", vulkan::why_none()));
            }
            Ok(Ok(adapters)) if adapters.is_empty() => tried.push(format!("{name}: no adapter (no loader, or no driver)")),
            Ok(Ok(adapters)) => {
                let (mut usable, others): (Vec<_>, Vec<_>) = adapters.into_iter().partition(|(adapter, _)| computes(adapter));
                let infos = |found: &[Found]| found.iter().map(|(adapter, _)| adapter.get_info()).collect::<Vec<_>>();
                let mut are_new = are_new(&infos(&found), &infos(&usable)).into_iter();
                let count = usable.len();
                usable.retain(|_| are_new.next().unwrap_or(true));
                let mut line = format!("{name}: {} found", usable.len());
                for (others, why) in [(count - usable.len(), "are listed by another way"), (others.len(), "cannot compute")] {
                    if others > 0 {
                        line.push_str(&format!(", and {others} that {why}"));
                    }
                }
                tried.push(line);
                found.extend(usable);
            }
            Ok(Err(error)) => tried.push(format!("{name}: {error}")),
            Err(panic) => tried.push(format!("{name}: wgpu panicked: {panic}")),
        }
    }
    (found, tried)
}

/// Which of the adapters of a backend are not those that others have found. Two equal cards are told apart by their number.
pub(crate) fn are_new(found: &[wgpu::AdapterInfo], adapters: &[wgpu::AdapterInfo]) -> Vec<bool> {
    let mut left: Vec<&wgpu::AdapterInfo> = found.iter().collect();
    let mut is_new = |info: &wgpu::AdapterInfo| {
        let known = left.iter().position(|known| is_same(known, info));
        known.map(|place| left.swap_remove(place)).is_none()
    };
    adapters.iter().map(&mut is_new).collect()
}

/// Whether two backends mean the same kind of card. Metal tells no numbers, but the name that MoltenVK tells, too.
fn is_same(one: &wgpu::AdapterInfo, other: &wgpu::AdapterInfo) -> bool {
    let numbers = |info: &wgpu::AdapterInfo| (info.vendor, info.device);
    if [one, other].iter().any(|info| numbers(info) == (0, 0)) {
        return one.name == other.name;
    }
    numbers(one) == numbers(other)
}

fn enumerate(backend: wgpu::Backends) -> Result<Vec<Found>, DeviceError> {
    let instance = instance(backend);
    let adapters = ready(instance.enumerate_adapters(backend))?;
    if backend == wgpu::Backends::VULKAN && !adapters.is_empty() {
        loaded::keep_storage();
    }
    Ok(adapters.into_iter().map(|adapter| (adapter, instance.clone())).collect())
}

fn instance(backend: wgpu::Backends) -> wgpu::Instance {
    if let Some((_, kept)) = OPENED.lock().iter().find(|(kept, _)| *kept == backend) {
        return kept.clone();
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backend;
    descriptor.flags = flags(backend);
    wgpu::Instance::new(descriptor)
}

/// Indirect grids are checked by a kernel of our own; names and checks of the API are for its developers. On Direct3D 12 a kernel is told the number of its workgroups by
/// wgpu, which knows that of an indirect grid only where it checks that, too, and says zeros otherwise.
pub(crate) fn flags(backend: wgpu::Backends) -> wgpu::InstanceFlags {
    if backend == wgpu::Backends::DX12 { wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL } else { wgpu::InstanceFlags::empty() }
}

/// Keeps the driver of an adapter loaded until the end of the process.
fn keep(backend: wgpu::Backends, instance: wgpu::Instance) {
    let mut opened = OPENED.lock();
    if opened.iter().all(|(kept, _)| *kept != backend) {
        opened.push((backend, instance));
    }
}

fn computes(adapter: &wgpu::Adapter) -> bool {
    let flags = adapter.get_downlevel_capabilities().flags;
    let limits = adapter.limits();
    flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS | wgpu::DownlevelFlags::INDIRECT_EXECUTION)
        && limits.max_storage_buffers_per_shader_stage >= 4
        && limits.max_compute_workgroup_size_x >= 64
}

/// What is asked of a device: all that the adapter allows, not the API's defaults.
pub(crate) fn descriptor(features: wgpu::Features, native: wgpu::Limits) -> wgpu::DeviceDescriptor<'static> {
    wgpu::DeviceDescriptor {
        label: Some("libcompute"),
        required_features: features,
        required_limits: native,
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    }
}

/// A device of an adapter, and what of that it has.
fn open(
    adapter: &wgpu::Adapter,
    instance: wgpu::Instance,
    options: &OpenOptions,
) -> Result<((wgpu::Device, wgpu::Queue), wgpu::Features), DeviceError> {
    let features = adapter.features() & wanted(options);
    let opened = ready(adapter.request_device(&descriptor(features, adapter.limits())))?;
    let opened = opened.map_err(|error| driver_error("request_device", chain(&error)))?;
    keep(adapter.get_info().backend.into(), instance);
    Ok((opened, features))
}

/// A device on the host's own.
fn open_on_host(vulkan: &HostVulkan, options: &OpenOptions, shares: bool) -> Result<WgpuDevice, DeviceError> {
    let made = host::open(vulkan, wanted(options), computes)?;
    Ok(whole(&made.adapter, Gpu::new(made.opened, Some(vulkan.host.clone())), made.features, options, shares))
}

fn whole(adapter: &wgpu::Adapter, gpu: Gpu, features: wgpu::Features, options: &OpenOptions, shares: bool) -> WgpuDevice {
    let native = adapter.limits();
    let limits = limits(&native, features, options.slice_groups > 0);
    let shared = vulkan::shared_memory(adapter).filter(|_| shares);
    let host_visible = shared.is_some();
    // A host that has the device has use for handles.
    let own_memory = shared.or_else(|| vulkan::device_memory(adapter).filter(|_| gpu.host().is_some()));
    let capabilities = Capabilities { host_visible, ..capabilities(features, options.slice_groups > 0) };
    let identity = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| identity_of_pipelines(adapter, features, options));
    let device = WgpuDevice::new(gpu, native, properties(adapter), limits, capabilities, options.slice_groups, own_memory);
    match identity {
        Some(identity) => device.keeps_pipelines(identity),
        None => device,
    }
}

/// What a pipeline depends on besides the kernel and the versions of wgpu and of this library. The driver looks at its own data once more.
fn identity_of_pipelines(adapter: &wgpu::Adapter, features: wgpu::Features, options: &OpenOptions) -> String {
    let info = adapter.get_info();
    let uniforms = adapter.limits().max_dynamic_uniform_buffers_per_pipeline_layout;
    format!(
        "{:?} {:x}:{:x} {} {} {}, {features:?}, {uniforms} dynamic, sliced: {}",
        info.backend,
        info.vendor,
        info.device,
        info.name,
        info.driver,
        info.driver_info,
        options.slice_groups > 0
    )
}

fn properties(adapter: &wgpu::Adapter) -> Properties {
    let info = adapter.get_info();
    let kind = match info.device_type {
        wgpu::DeviceType::IntegratedGpu => DeviceKind::IntegratedGpu,
        wgpu::DeviceType::DiscreteGpu => DeviceKind::DiscreteGpu,
        wgpu::DeviceType::Cpu => DeviceKind::Cpu,
        _ => DeviceKind::Other,
    };
    let backend = match info.backend {
        wgpu::Backend::Vulkan => "vulkan",
        wgpu::Backend::Metal => "metal",
        wgpu::Backend::Dx12 => "dx12",
        wgpu::Backend::Gl => "gl",
        _ => "wgpu",
    };
    let subgroups = adapter.features().contains(wgpu::Features::SUBGROUP);
    let facts = vulkan::facts(adapter);
    // Where Vulkan says nothing, and for others: the place.
    let uuid = facts.as_ref().map(|facts| facts.uuid).filter(|uuid| *uuid != [0; 16]).unwrap_or_else(|| identity(&info));
    Properties {
        vendor: vendor(info.vendor).into(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        kind,
        target: backend.into(),
        uuid,
        pci: place(&info),
        memory_size: facts.map_or(0, |facts| facts.memory),
        units: 1,
        subgroup_sizes: if subgroups { [info.subgroup_min_size, info.subgroup_max_size] } else { [1, 1] },
        load_width: 16,
        name: info.name,
    }
}

/// The place on the bus. On Direct3D 12 wgpu looks for a card with these numbers, and takes the first one, also for those beside it.
fn place(info: &wgpu::AdapterInfo) -> Option<PciAddress> {
    if info.backend == wgpu::Backend::Dx12 { None } else { PciAddress::parse(&info.device_pci_bus_id) }
}

/// From vendor, device and place on the bus; zeros where that is not known.
pub(crate) fn identity(info: &wgpu::AdapterInfo) -> [u8; 16] {
    let mut uuid = [0; 16];
    let Some(PciAddress { domain, bus, device, function }) = place(info) else { return uuid };
    let place = (domain << 16) | (u32::from(bus) << 8) | (u32::from(device & 0x1f) << 3) | u32::from(function & 7);
    let words = [info.vendor, info.device, place, 1];
    for (bytes, word) in uuid.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    uuid
}

/// The vendor whose driver needs pipelines and devices to be made in turns ([`turns`]).
pub(crate) const NVIDIA: u32 = 0x10de;

fn vendor(id: u32) -> &'static str {
    match id {
        0x1002 | 0x1022 => "AMD",
        0x106b => "Apple",
        NVIDIA => "NVIDIA",
        0x13b5 => "ARM",
        0x1414 => "Microsoft",
        0x5143 => "Qualcomm",
        0x8086 => "Intel",
        0x1_0005 => "Mesa",
        _ => "unknown",
    }
}

/// Every number here can be used in full: what is used internally is subtracted.
pub(crate) fn limits(native: &wgpu::Limits, features: wgpu::Features, sliced: bool) -> Limits {
    let axis = |size: u32| size.min(native.max_compute_invocations_per_workgroup);
    // What a kernel is told of its slice is one more uniform block.
    let slice = u32::from(sliced);
    let bindings = native
        .max_storage_buffers_per_shader_stage
        // The record of a kernel that validates or prints is one more.
        .saturating_sub(1)
        .min(native.max_uniform_buffers_per_shader_stage.saturating_sub(slice))
        .min(native.max_bindings_per_bind_group.saturating_sub(1 + slice))
        // Metal has one number for both kinds.
        .min(native.max_buffers_and_acceleration_structures_per_shader_stage.saturating_sub(1 + slice))
        .min(MOST_BINDINGS);
    let immediates = features.contains(wgpu::Features::IMMEDIATES);
    Limits {
        workgroup_size: [
            axis(native.max_compute_workgroup_size_x),
            axis(native.max_compute_workgroup_size_y),
            axis(native.max_compute_workgroup_size_z),
        ],
        workgroup_invocations: native.max_compute_invocations_per_workgroup,
        workgroup_memory: native.max_compute_workgroup_storage_size.into(),
        // wgpu has one number for all axes, and counts in 32 bits.
        grid: [native.max_compute_workgroups_per_dimension.min(MOST_GROUPS); 3],
        bindings,
        // Metal has larger ones, of which a kernel is told 32 bits of their size.
        binding_size: native.max_storage_buffer_binding_size.min(MOST_BYTES) & !3,
        uniform_size: native.max_uniform_buffer_binding_size.min(64 << 10) & !15,
        immediate_size: if immediates { native.max_immediate_size & !3 } else { 0 },
        allocation_size: native.max_buffer_size & !3,
        storage_alignment: native.min_storage_buffer_offset_alignment.clamp(4, 256),
        // Uniform views are copied.
        uniform_alignment: 4,
    }
}

/// Bytes that numbers of 32 bits tell of whole words.
pub(crate) const MOST_BYTES: u64 = u32::MAX as u64 & !3;
/// As many as any kernel needs; adapters report a million.
const MOST_BINDINGS: u32 = 64;
/// Three of them multiply to less than 2^64.
const MOST_GROUPS: u32 = 65_535;

fn capabilities(features: wgpu::Features, sliced: bool) -> Capabilities {
    let has = |feature| features.contains(feature);
    Capabilities {
        portable: true,
        indirect: true,
        native_indirect_by_host: false,
        indirect_reports: false,
        validate: true,
        time_limit: false,
        // No API below has a promise for the bits of divisions, roots and numbers that are nearly zero.
        strict: false,
        fails_late: true,
        host_visible: false,
        pitched: false,
        row_alignment: 0,
        binding_granule: 4,
        timestamps: has(CLOCK),
        // Slices go one by one, in batches of their own.
        native_graphs: !sliced,
        collectives: false,
        tracks_blocks: true,
        tensor_maps: false,
        queues: 1,
        features: Features {
            f16: has(wgpu::Features::SHADER_F16),
            f64: has(wgpu::Features::SHADER_F64),
            int64: has(wgpu::Features::SHADER_INT64),
            atomic_int64: has(wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS),
            atomic_f32: has(wgpu::Features::SHADER_FLOAT32_ATOMIC),
            subgroups: has(wgpu::Features::SUBGROUP),
        },
    }
}
