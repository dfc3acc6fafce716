//! Tensor maps (L13): whether a device has them, and making one for a launch. Their limits were checked before; their numbers are the vendor's.
//!
//! A map is made anew for each launch: the driver takes 0.1 us for one (580, on the host of an H200), as it only packs bits, which is no more than finding it again by all
//! that it is made of would take.

use compute_hal::{DeviceError, TENSOR_MAP_SIZE, TensorMap};

use crate::api::{Api, Inside};
use crate::device::Shared;

/// Why a device has no tensor maps, if so.
pub(crate) fn refusal(api: &Api, target: &str) -> Option<String> {
    let vendor = api.vendor;
    let Some(maps) = &vendor.tensor_maps else {
        return Some(format!("the {} device has none, only CUDA has", vendor.name));
    };
    if (vendor.forms.generation)(target) < maps.first {
        return Some(format!("it needs sm_{} or newer; the device is {target}", maps.first));
    }
    let absent = || format!("the driver has no `cuTensorMapEncodeTiled`, which drivers have from CUDA {} on", maps.driver);
    api.calls.tensor_map.is_none().then(absent)
}

/// The map as the kernel gets it. `calls`: the device's, as the driver makes maps only where a context is current; kept for the launch's other maps.
pub(crate) fn encode<'a>(
    shared: &'a Shared,
    calls: &mut Option<Inside<'a>>,
    map: &TensorMap,
    address: u64,
) -> Result<[u8; TENSOR_MAP_SIZE as usize], DeviceError> {
    let Some(maps) = &shared.api.vendor.tensor_maps else {
        return Err(DeviceError::Internal("a tensor map that should have been refused".into()));
    };
    // The runtime knows offsets; where a block begins that was imported is the caller's choice.
    if !address.is_multiple_of(map.alignment()) {
        return Err(DeviceError::Unsupported(match map.alignment() {
            32 => "a tensor map of memory that begins at an address which is not a multiple of 32",
            _ => "a tensor map of memory that begins at an address which is not a multiple of 16",
        }));
    }
    let calls = match calls {
        Some(calls) => calls,
        None => calls.insert(shared.enter()?),
    };
    (maps.encode)(calls, map, address).map(|bytes| bytes.0).map_err(|failure| shared.fail(failure))
}
