//! Whether memory is what an import needs (T14), as far as the driver tells: this device's, of the context that the library works in, and as long as was asked for.

use std::ffi::{c_int, c_void};

use compute_hal::{DeviceError, ImportRefusal};

use crate::api::{Home, Inside};
use crate::device::Shared;
use crate::driver::{Failure, Handle};

/// Pieces that are mapped one behind the other, of which each has an answer of its own. So many of the smallest are 2 TiB.
const MOST_PIECES: u32 = 1 << 20;

/// The driver's answers to questions about an address.
struct Asked<'a> {
    shared: &'a Shared,
    calls: &'a Inside<'a>,
    home: Home,
    device: c_int,
}

/// What an address lies in.
struct Piece {
    /// Where that ends.
    end: u64,
    /// Another may follow that was mapped behind it: memory of allocations ends where they do.
    mapped: bool,
}

/// Checks bytes from an address on, whose end is within 64 bits.
pub(crate) fn check(
    shared: &Shared,
    calls: &Inside<'_>,
    (home, device): (Home, c_int),
    address: u64,
    size: u64,
) -> Result<(), DeviceError> {
    let asked = Asked { shared, calls, home, device };
    let (mut at, end) = (address, address.saturating_add(size));
    for _ in 0..MOST_PIECES {
        let piece = match asked.piece(at) {
            // Memory of another kind behind it is none of what was asked for.
            Err(DeviceError::NotImportable { .. }) if at > address => return Err(too_short(address, at, size)),
            other => other?,
        };
        match piece {
            Some(piece) if piece.end >= end => return Ok(()),
            Some(piece) if piece.mapped && piece.end > at => at = piece.end,
            Some(piece) => return Err(too_short(address, piece.end, size)),
            // The driver does not tell.
            None => return Ok(()),
        }
    }
    Err(ImportRefusal::NotMemory.because(format!("{size} bytes at {address:#x} are more than {MOST_PIECES} mappings")))
}

fn too_short(address: u64, end: u64, size: u64) -> DeviceError {
    let there = end.saturating_sub(address);
    ImportRefusal::OutOfRange
        .because(format!("{size} bytes at {address:#x} were named, its allocation ends {there} bytes behind that"))
}

impl Asked<'_> {
    /// What an address lies in, if that is memory of this device; `None`: the driver has no such question.
    fn piece(&self, address: u64) -> Result<Option<Piece>, DeviceError> {
        let attributes = &self.calls.api.vendor.attributes;
        let refused = |reason: ImportRefusal, what: String| Err(reason.because(format!("{address:#x} {what}")));
        let (mut context, mut found, mut kind, mut managed): (Handle, _, _, _) = (std::ptr::null_mut(), -1, 0_u32, 0);
        if self.ask(attributes.pointer_device, (&raw mut found).cast::<c_void>(), address)? && found != self.device {
            return refused(ImportRefusal::Foreign, format!("belongs to device {found}, and this one is {}", self.device));
        }
        let has_context = self.ask(attributes.pointer_context, (&raw mut context).cast(), address)?;
        // Memory of a pool, and what is mapped, belong to no context.
        if let Home::Context(own) = self.home
            && has_context
            && !context.is_null()
            && context != own.0
        {
            return refused(ImportRefusal::Foreign, "belongs to another context than the device's primary one".into());
        }
        if self.ask(attributes.pointer_kind, (&raw mut kind).cast(), address)?
            && (self.calls.api.vendor.is_host)(kind, self.version())
            && !(self.ask(attributes.pointer_managed, (&raw mut managed).cast(), address)? && managed != 0)
        {
            return refused(ImportRefusal::NotMemory, "is pinned memory of the host's, not the device's".into());
        }
        let mut pool: Handle = std::ptr::null_mut();
        let has_pool = self.ask(attributes.pointer_pool, (&raw mut pool).cast(), address)?;
        let (mut base, mut length) = (0_u64, 0_usize);
        // SAFETY: the places are ours.
        match unsafe { self.calls.address_range(&mut base, &mut length, address) } {
            Err(failure) if failure.is_absent() => Ok(None),
            Err(failure) => Err(self.failed(failure, address)),
            Ok(()) => {
                let mapped = has_context && context.is_null() && has_pool && pool.is_null();
                Ok(Some(Piece { end: base.saturating_add(length as u64), mapped }))
            }
        }
    }

    /// Asks for an attribute into a place that is large enough for it. False: there is no such question.
    fn ask(&self, attribute: Option<c_int>, into: *mut c_void, address: u64) -> Result<bool, DeviceError> {
        let Some(attribute) = attribute else { return Ok(false) };
        // SAFETY: every caller's place is as large as what the driver writes for its attribute.
        match unsafe { self.calls.pointer_attribute(into, attribute, address) } {
            Ok(()) => Ok(true),
            Err(failure) if failure.is_absent() => Ok(false),
            Err(failure) => Err(self.failed(failure, address)),
        }
    }

    fn failed(&self, failure: Failure, address: u64) -> DeviceError {
        if !self.calls.api.vendor.errors.no_memory_there.contains(&failure.code) {
            return self.shared.fail_given(failure, "the memory");
        }
        ImportRefusal::NotMemory.because(format!("the driver knows of no memory at {address:#x}"))
    }

    fn version(&self) -> c_int {
        let mut version = 0;
        // SAFETY: the place is ours.
        let _ = unsafe { self.calls.driver_version(&mut version) };
        version
    }
}
