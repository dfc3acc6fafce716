//! Finding and opening the one cpu device, and what it says of itself.

use std::sync::Arc;

use compute_hal::{Capabilities, Device, DeviceError, DeviceKind, Driver, Features, Limits, OpenOptions, Probe, Properties};

use crate::codegen::SUBGROUP_SIZE;
use crate::device::CpuDevice;
use crate::system;

/// The built-in driver. It always finds one device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuDriver;

/// More workers than this are of no use on any machine, and an absurd option must not exhaust the system.
const MOST_WORKERS: u32 = 1024;

impl Driver for CpuDriver {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn probe(&self) -> Probe {
        Probe { devices: vec![properties(system::processors())], tried: vec!["cpu: built in".into()] }
    }

    fn open(&self, index: u32, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(open(index, options)?))
    }
}

pub(crate) fn open(index: u32, options: &OpenOptions) -> Result<CpuDevice, DeviceError> {
    if index != 0 {
        return Err(DeviceError::Internal(format!("cpu device {index} of 1")));
    }
    let workers = if options.threads == 0 { system::processors() } else { options.threads }.clamp(1, MOST_WORKERS);
    let properties = properties(workers);
    let limits = limits(properties.memory_size);
    CpuDevice::open(workers, properties, limits, capabilities(), options.artifacts)
}

fn properties(workers: u32) -> Properties {
    let name = system::processor_name();
    let vendor = ["Intel", "AMD", "ARM", "Apple"].into_iter().find(|vendor| name.contains(vendor)).unwrap_or("unknown");
    Properties {
        vendor: vendor.into(),
        driver: format!("libcompute cpu {}", env!("CARGO_PKG_VERSION")),
        kind: DeviceKind::Cpu,
        target: system::target(),
        uuid: [0; 16],
        pci: None,
        memory_size: system::memory_size(),
        units: workers,
        subgroup_sizes: [SUBGROUP_SIZE; 2],
        // A vector register of four lanes.
        load_width: 16,
        name,
    }
}

/// Every number here can be used in full.
fn limits(memory: u64) -> Limits {
    Limits {
        workgroup_size: [1024, 1024, 1024],
        workgroup_invocations: 1024,
        workgroup_memory: 64 << 10,
        // Along x, as many groups of the largest size as keep global ids within a u32. The three multiply to less than 2^64.
        grid: [(u32::MAX >> 10) + 1, 65_535, 65_535],
        bindings: 64,
        binding_size: memory,
        uniform_size: 64 << 10,
        immediate_size: 256,
        allocation_size: memory,
        storage_alignment: 4,
        uniform_alignment: 4,
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        portable: true,
        indirect: true,
        native_indirect_by_host: false,
        indirect_reports: true,
        validate: true,
        // Always: see `codegen`.
        strict: true,
        time_limit: true,
        fails_late: false,
        host_visible: true,
        pitched: true,
        // A cache line.
        row_alignment: 64,
        binding_granule: 1,
        timestamps: true,
        native_graphs: true,
        collectives: false,
        tracks_blocks: false,
        tensor_maps: false,
        queues: 4096,
        features: Features { f16: true, f64: true, int64: true, atomic_int64: true, atomic_f32: true, subgroups: true },
    }
}
