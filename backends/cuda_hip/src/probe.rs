//! Finding a vendor's driver and its devices, without a context on any of them, and where the vendor has a way for that without starting the driver.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use compute_hal::{Capabilities, Device, DeviceError, DeviceKind, Driver, Limits, OpenOptions, PciAddress, Probe, Properties};
use libloading::Library;
use parking_lot::Mutex;

use crate::api::{Api, made_for};
use crate::compiler::{RuntimeCompiler, Wanted};
use crate::device::GpuDevice;
use crate::driver::{Calls, CompilerCalls, DeviceNumber, Failure, Find, Listing, Vendor};
use crate::{compiler, library, tensor_map};

/// Bindings of a launch: their addresses and lengths, the record's and the immediate block fit into a kernel's parameters.
const BINDINGS: u32 = 64;
const IMMEDIATES: u32 = 256;

/// A vendor's driver.
pub struct GpuDriver {
    vendor: &'static Vendor,
    /// Tried instead of the vendor's names: the driver, the runtime compiler.
    libraries: Option<[String; 2]>,
    /// The driver's library, once it is loaded.
    loaded: Loaded,
    /// The one that tells devices without the driver.
    lister: Loaded,
    api: Mutex<Option<Arc<Api>>>,
}

/// A library that stays loaded from the first time that it is found.
type Loaded = Mutex<Option<&'static Library>>;

/// What is known of a device before it is opened.
pub(crate) struct Description {
    pub(crate) number: DeviceNumber,
    pub(crate) properties: Properties,
    pub(crate) limits: Limits,
    pub(crate) capabilities: Capabilities,
    /// Bytes from row to row in a copy at most.
    pub(crate) pitch: u64,
    /// Kilohertz of the clock that kernels look at.
    pub(crate) clock: u32,
    pub(crate) pools: bool,
}

impl GpuDriver {
    /// The vendor's driver, looked for under its usual names when somebody asks.
    pub const fn new(vendor: &'static Vendor) -> Self {
        Self { vendor, libraries: None, loaded: Mutex::new(None), lister: Mutex::new(None), api: Mutex::new(None) }
    }

    /// The same in files with these names.
    pub fn with_libraries(vendor: &'static Vendor, driver: &str, compiler: &str) -> Self {
        Self { libraries: Some([driver.into(), compiler.into()]), ..Self::new(vendor) }
    }

    /// A driver whose symbols are found by `find`.
    ///
    /// # Errors
    /// What is missing.
    ///
    /// # Safety
    /// As of [`Calls::load`], for ever.
    pub unsafe fn with_symbols(vendor: &'static Vendor, find: Find<'_>) -> Result<Self, Vec<String>> {
        // SAFETY: passed on to the caller.
        let (calls, compiler) = unsafe { (Calls::load(vendor.names, find), CompilerCalls::load(vendor.compiler_names, find)) };
        let calls = calls.map_err(|missing| missing.iter().map(|symbol| (*symbol).to_owned()).collect::<Vec<_>>())?;
        start(vendor, &calls).map_err(|why| vec![why])?;
        let compiler = compiler.map(|calls| RuntimeCompiler::new(calls, "the symbols that were given"));
        let compiler = compiler.map_err(|missing| format!("no {}", missing.join(", no ")));
        let api = Api::new(vendor, calls, compiler, Vec::new());
        Ok(Self { api: Mutex::new(Some(Arc::new(api))), ..Self::new(vendor) })
    }

    fn driver(&self, tried: &mut Vec<String>) -> Option<&'static Library> {
        match &self.libraries {
            Some([driver, _]) => load(&self.loaded, &[driver], tried),
            None => load(&self.loaded, self.vendor.libraries, tried),
        }
    }

    /// The devices as they are told without the driver, until it is started: from then on it tells them.
    fn listing(&self) -> Option<Listing> {
        let (name, ask) = self.vendor.listing.filter(|_| self.libraries.is_none() && self.api.lock().is_none())?;
        // Without the driver nothing could be opened.
        self.driver(&mut Vec::new())?;
        let library = load(&self.lister, &[name], &mut Vec::new())?;
        ask(&|symbol| find(library, symbol))
    }

    /// The opened driver; what was tried is added to `tried`. Its devices come in the order in which they were told without it.
    fn api(&self, tried: &mut Vec<String>, told: Option<&Listing>) -> Option<Arc<Api>> {
        let mut slot = self.api.lock();
        if let Some(api) = &*slot {
            if api.process != std::process::id() {
                tried.push(format!(
                    "{}: the driver was started before this process was forked, and does not survive that",
                    self.vendor.name
                ));
                return None;
            }
            return Some(Arc::clone(api));
        }
        let library = self.driver(tried)?;
        // SAFETY: the library stays loaded, and its functions are the vendor's, whose forms the table has.
        let calls = match unsafe { Calls::load(self.vendor.names, &|symbol| find(library, symbol)) } {
            Ok(calls) => calls,
            Err(missing) => {
                tried.push(format!("{}: too old, it lacks {}", self.vendor.name, missing.join(", ")));
                return None;
            }
        };
        let started = start(self.vendor, &calls);
        calls.forget_failures();
        if let Err(why) = started {
            tried.push(why);
            return None;
        }
        let compiler = self.compiler(library, &calls);
        let order = told.map(|listing| listing.devices.iter().map(|device| device.uuid).collect()).unwrap_or_default();
        let api = Api::new(self.vendor, calls, compiler, order);
        if let Err(why) = &api.compiler {
            tried.push(format!("no kernels can be compiled: {why}"));
        }
        Some(Arc::clone(slot.insert(Arc::new(api))))
    }

    /// Opens a device, which has to be the one that was told under its index without the driver.
    fn open_told(&self, index: u32, told: Option<&Listing>, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        let mut tried = Vec::new();
        let none =
            |tried: &[String]| DeviceError::Internal(format!("no device {index} of {}: {}", self.vendor.name, tried.join("; ")));
        let Some(api) = self.api(&mut tried, told) else { return Err(none(&tried)) };
        let failed = |failure| made_for("the list of devices", failure, api.fail(failure));
        let (devices, failures) = list(&api).map_err(failed)?;
        let Some(description) = devices.into_iter().nth(index as usize) else {
            let failed = failures.first().map(|failure| failed(*failure));
            return Err(failed.unwrap_or_else(|| none(&["it was not listed".into()])));
        };
        let expected = told.and_then(|listing| listing.devices.get(index as usize));
        if expected.is_some_and(|expected| expected.uuid != description.properties.uuid) {
            return Err(none(&["the driver has other devices than were listed before it was started; list them again".into()]));
        }
        Ok(Arc::new(GpuDevice::open(&api, description, options.artifacts)?))
    }

    /// The runtime compiler, in a library of its own or in the driver's.
    fn compiler(&self, driver: &'static Library, calls: &Calls) -> Result<RuntimeCompiler, String> {
        let names: Vec<&str> = match &self.libraries {
            Some([_, compiler]) => vec![compiler],
            None => self.vendor.compilers.to_vec(),
        };
        let mut version = 0;
        // SAFETY: the place is ours. Without an answer no compiler fits, and the first is taken.
        let _ = unsafe { calls.driver_version(&mut version) };
        let (mut tried, mut old) = (Vec::new(), Vec::new());
        let load = |name: Option<&str>| {
            let library = match name {
                Some(name) => open_first(&[name], &mut tried)?,
                None => driver,
            };
            let file = name.unwrap_or("the driver's library");
            // SAFETY: as of the driver.
            let found = unsafe { CompilerCalls::load(self.vendor.compiler_names, &|symbol| find(library, symbol)) };
            let found = found.map_err(|missing| tried.push(format!("{file} lacks {}", missing.join(", "))));
            found.ok().map(|calls| RuntimeCompiler::new(calls, file))
        };
        let all = names.into_iter().map(Some).chain([None]).filter_map(load);
        let found = compiler::choose(all, &Wanted::new(self.vendor, version, &self.targets(calls)), &mut old);
        found.ok_or_else(|| [tried, old].concat().join("; "))
    }

    /// The targets of the devices, where compilers say which they know. One that does not answer is none.
    fn targets(&self, calls: &Calls) -> Vec<String> {
        let mut count = 0;
        // SAFETY: the place is ours.
        if self.vendor.compiler_names.architectures.is_empty() || unsafe { calls.device_count(&mut count) }.is_err() {
            return Vec::new();
        }
        let target = |index| {
            let mut device = 0;
            // SAFETY: the place is ours.
            unsafe { calls.device_get(&mut device, index) }.ok()?;
            (self.vendor.target)(calls, &self.vendor.attributes, device).ok()
        };
        (0..count).filter_map(target).collect()
    }
}

fn load(loaded: &Loaded, names: &[&str], tried: &mut Vec<String>) -> Option<&'static Library> {
    let mut loaded = loaded.lock();
    if loaded.is_none() {
        *loaded = open_first(names, tried);
    }
    *loaded
}

/// Opens the first library of these names that there is. It is never closed: drivers do not survive that.
fn open_first(names: &[&str], tried: &mut Vec<String>) -> Option<&'static Library> {
    for name in names {
        // SAFETY: these are drivers, whose start-up code may run.
        match unsafe { library::open(name) } {
            Ok(library) => return Some(Box::leak(Box::new(library))),
            Err(error) => {
                // The loader names the file itself.
                let error = error.to_string();
                tried.push(if error.starts_with(name) { error } else { format!("{name}: {error}") });
            }
        }
    }
    None
}

fn find(library: &Library, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken.
    let found = unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok()?;
    // A symbol that is there and null is none.
    Some(*found).filter(|address| !address.is_null())
}

/// Starts the driver and looks at its version.
fn start(vendor: &Vendor, calls: &Calls) -> Result<(), String> {
    let mut version = 0;
    // SAFETY: plain numbers; the place is ours.
    let answer = unsafe { calls.init(0).and_then(|()| calls.driver_version(&mut version)) };
    answer.map_err(|failure| told(vendor, calls, failure))?;
    new_enough(vendor, version)
}

fn new_enough(vendor: &Vendor, version: c_int) -> Result<(), String> {
    if version < vendor.oldest {
        let (found, needed) = ((vendor.version)(version), (vendor.version)(vendor.oldest));
        return Err(format!("{}: version {found} is too old, {needed} is needed", vendor.name));
    }
    Ok(())
}

fn told(vendor: &Vendor, calls: &Calls, failure: Failure) -> String {
    let (name, text) = (vendor.error_name(Some(calls), failure.code), vendor.error_text(calls, failure.code));
    format!("{}: {} answered {name} {text}", vendor.name, failure.call).trim_end().to_owned()
}

/// The devices that there are, and what went wrong with others. An index counts those that answer.
fn list(api: &Api) -> Result<(Vec<Description>, Vec<Failure>), Failure> {
    let listed = look(api);
    // Some of what is asked older drivers refuse (FFI-03).
    api.calls.forget_failures();
    listed
}

fn look(api: &Api) -> Result<(Vec<Description>, Vec<Failure>), Failure> {
    let mut count = 0;
    // SAFETY: the place is ours.
    match unsafe { api.calls.device_count(&mut count) } {
        Err(failure) if failure.code == api.vendor.errors.no_device => return Ok((Vec::new(), Vec::new())),
        answer => answer?,
    }
    let (mut devices, mut failures) = (Vec::new(), Vec::new());
    for index in 0..count {
        let mut device = 0;
        // SAFETY: the place is ours.
        let found = unsafe { api.calls.device_get(&mut device, index) }.and_then(|()| describe(api, device));
        match found {
            Ok(found) => devices.push(found),
            Err(failure) => failures.push(failure),
        }
    }
    let place = |uuid| api.order.iter().position(|told| *told == uuid).unwrap_or(usize::MAX);
    devices.sort_by_key(|device: &Description| place(device.properties.uuid));
    Ok((devices, failures))
}

impl Driver for GpuDriver {
    fn name(&self) -> &'static str {
        self.vendor.name
    }

    fn probe(&self) -> Probe {
        let mut probe = Probe::default();
        if let Some(listing) = self.listing() {
            match new_enough(self.vendor, listing.version) {
                Ok(()) => {
                    probe.tried.push(format!("{}: found", self.vendor.name));
                    probe.devices = listing.devices;
                }
                Err(old) => probe.tried.push(old),
            }
            return probe;
        }
        let Some(api) = self.api(&mut probe.tried, None) else { return probe };
        match list(&api) {
            Ok((devices, failures)) => {
                if devices.is_empty() && failures.is_empty() {
                    probe.tried.push(format!("{}: the driver is there, but no device", self.vendor.name));
                }
                probe.tried.extend(failures.into_iter().map(|failure| told(self.vendor, &api.calls, failure)));
                probe.devices = devices.into_iter().map(|device| device.properties).collect();
            }
            Err(failure) => probe.tried.push(told(self.vendor, &api.calls, failure)),
        }
        if probe.tried.is_empty() {
            probe.tried.push(format!("{}: found", self.vendor.name));
        }
        probe
    }

    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        self.open_told(index, self.listing().as_ref(), options)
    }

    fn open_if_listed(&self, index: u32, options: &OpenOptions) -> Result<Result<Arc<dyn Device>, DeviceError>, usize> {
        let told = self.listing();
        let count = match &told {
            Some(listing) if new_enough(self.vendor, listing.version).is_ok() => listing.devices.len(),
            Some(_) => 0,
            None => self.probe().devices.len(),
        };
        if (index as usize) < count { Ok(self.open_told(index, told.as_ref(), options)) } else { Err(count) }
    }
}

/// An attribute that is a size or a number of things.
fn number(api: &Api, attribute: c_int, device: DeviceNumber) -> Result<u32, Failure> {
    api.attribute(attribute, device).map(|value| u32::try_from(value).unwrap_or(0))
}

fn numbers(api: &Api, attributes: [c_int; 3], device: DeviceNumber) -> Result<[u32; 3], Failure> {
    let [x, y, z] = attributes;
    Ok([number(api, x, device)?, number(api, y, device)?, number(api, z, device)?])
}

fn describe(api: &Api, device: DeviceNumber) -> Result<Description, Failure> {
    let properties = properties(api, device)?;
    let attributes = &api.vendor.attributes;
    let limits = limits(api, device, properties.memory_size)?;
    let pools = attributes.pools.is_some_and(|pools| api.attribute(pools, device).is_ok_and(|there| there != 0))
        && api.calls.pool_create.is_some()
        && api.calls.pool_allocate.is_some();
    let pitch = number(api, attributes.pitch, device)?.into();
    let capabilities = capabilities(api, &properties.target);
    let asked = attributes.clock.and_then(|clock| number(api, clock, device).ok());
    let clock = asked.filter(|rate| *rate > 0).unwrap_or(api.vendor.clock);
    Ok(Description { number: device, properties, limits, capabilities, pitch, clock, pools })
}

fn properties(api: &Api, device: DeviceNumber) -> Result<Properties, Failure> {
    let Api { vendor, calls, .. } = api;
    let mut name = [0 as c_char; 256];
    let (mut memory, mut version, mut uuid) = (0_usize, 0, [0; 16]);
    // SAFETY: the places are ours and as long as said.
    unsafe {
        calls.device_name(name.as_mut_ptr(), 255, device)?;
        calls.device_memory(&mut memory, device)?;
        calls.driver_version(&mut version)?;
    }
    // SAFETY: as above.
    if unsafe { calls.device_uuid(&mut uuid, device) }.is_err() || uuid == [0; 16] {
        uuid = place(api, device)?;
    }
    // What C calls char has a sign on some machines and none on others.
    let name: Vec<u8> = name.iter().flat_map(|c| c.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    let warp = number(api, vendor.attributes.warp_size, device)?;
    let integrated = number(api, vendor.attributes.integrated, device)? != 0;
    Ok(Properties {
        name: String::from_utf8_lossy(&name).trim().to_owned(),
        vendor: vendor.company.into(),
        driver: format!("{} {}", vendor.name, (vendor.version)(version)),
        kind: if integrated { DeviceKind::IntegratedGpu } else { DeviceKind::DiscreteGpu },
        target: (vendor.target)(calls, &vendor.attributes, device)?,
        uuid,
        pci: address(api, device),
        memory_size: memory as u64,
        units: number(api, vendor.attributes.units, device)?,
        subgroup_sizes: [warp, warp],
        load_width: 16,
    })
}

/// The place on the bus; a GPU computes by its first function.
fn address(api: &Api, device: DeviceNumber) -> Option<PciAddress> {
    let [domain, bus, device] = numbers(api, api.vendor.attributes.bus, device).ok()?;
    Some(PciAddress { domain, bus: bus.try_into().ok()?, device: device.try_into().ok()?, function: 0 })
}

/// The place on the bus as an identity.
fn place(api: &Api, device: DeviceNumber) -> Result<[u8; 16], Failure> {
    let mut uuid = [0; 16];
    for (bytes, word) in uuid.chunks_exact_mut(4).zip(numbers(api, api.vendor.attributes.bus, device)?) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    if let Some(last) = uuid.last_mut() {
        // So that the first place on the first bus is not all zeros.
        *last = 1;
    }
    Ok(uuid)
}

fn limits(api: &Api, device: DeviceNumber, memory: u64) -> Result<Limits, Failure> {
    let attributes = &api.vendor.attributes;
    let invocations = number(api, attributes.workgroup_invocations, device)?.min(api.vendor.dialect.invocations);
    let [x, y, z] = numbers(api, attributes.grid, device)?;
    let declared = number(api, attributes.workgroup_memory, device)?;
    let most = match attributes.workgroup_memory_most {
        Some(most) => number(api, most, device)?.max(declared),
        None => declared,
    };
    // HIP counts a launch's invocations on an axis in 32 bits, and so do the ids of portable kernels; groups of the largest size have to fit, as there is one limit for all kernels.
    let ids = u32::MAX / invocations.max(1);
    Ok(Limits {
        workgroup_size: numbers(api, attributes.workgroup_size, device)?.map(|axis| axis.min(invocations)),
        workgroup_invocations: invocations,
        // Kernels ask for it in steps of 32 bytes.
        workgroup_memory: u64::from(most & !31),
        grid: [x.min(ids), y.min(65_535), z.min(65_535)],
        bindings: BINDINGS,
        binding_size: memory,
        uniform_size: 64 << 10,
        immediate_size: IMMEDIATES,
        allocation_size: memory,
        // What a kernel's types need is asked for beside this.
        storage_alignment: 4,
        uniform_alignment: 4,
    })
}

fn capabilities(api: &Api, target: &str) -> Capabilities {
    let portable = api.compiler.is_ok() && api.compile_options(target).is_ok();
    Capabilities {
        portable,
        indirect: true,
        // A portable kernel has a form that reads its counts itself: see docs/device-interface.md.
        native_indirect_by_host: true,
        indirect_reports: true,
        validate: true,
        time_limit: portable,
        strict: portable,
        fails_late: false,
        host_visible: false,
        pitched: true,
        row_alignment: api.vendor.row_alignment,
        binding_granule: 1,
        timestamps: true,
        native_graphs: api.vendor.has_graphs(&api.calls),
        collectives: false,
        tracks_blocks: false,
        tensor_maps: tensor_map::refusal(api, target).is_none(),
        queues: api.vendor.queues,
        features: (api.vendor.features)(target),
    }
}
