//! Staging memory: host memory in which bytes wait on their way from a device (M7), pinned where the device has such. Kept for the next one when its work is
//! over, up to a bound; charged to the budget of the stream that it was taken for, until then (M6).
//!
//! Bytes on their way to a device wait in memory of the device's own queue; here they are only charged. Locks: leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{DeviceError, HostTarget};
use parking_lot::Mutex;

use super::super::device::Device;
use super::super::error::{Failed, Result, from_device};
use super::super::stream::Stream;
use super::budget::over_budget;
use super::{Budget, Charge};

/// Pieces are multiples of it, and powers of two up to [`MOST_DOUBLED`].
const LEAST: u64 = 4096;
/// Bytes of the largest piece that may have half as much again to spare.
const MOST_DOUBLED: u64 = 16 << 20;
/// Bytes that are kept for later: one piece of a large read beside those of many small ones. To touch memory anew for each read costs more than to copy it.
const MOST_KEPT: u64 = (64 << 20) + MOST_DOUBLED;
/// Pieces that are kept for later.
const MOST_PIECES: usize = 64;

/// The staging memory of a device.
pub(crate) struct Staging {
    kept: Mutex<Kept>,
    /// Bytes in use and kept.
    bytes: AtomicU64,
}

struct Kept {
    /// Has room for [`MOST_PIECES`] from the beginning and for good, so that giving back needs no memory (F2).
    pieces: Vec<HostTarget>,
    bytes: u64,
}

/// A piece in use. Given back when the last clone of what it was lent as is dropped: the device has one until its work is over.
struct Lease {
    staging: Arc<Staging>,
    piece: Option<HostTarget>,
    /// Whether the next one may have it.
    keeps: bool,
    _charge: Option<Charge>,
}

/// The size of the piece that serves `size` bytes.
fn rounded(size: u64) -> Option<u64> {
    if size <= MOST_DOUBLED { Some(size.max(LEAST).next_power_of_two()) } else { size.checked_next_multiple_of(LEAST) }
}

impl Staging {
    pub(super) fn new() -> Arc<Self> {
        let pieces = Vec::with_capacity(MOST_PIECES);
        Arc::new(Self { kept: Mutex::new(Kept { pieces, bytes: 0 }), bytes: AtomicU64::new(0) })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn find(&self, size: usize) -> Option<HostTarget> {
        let mut kept = self.kept.lock();
        let index = kept.pieces.iter().position(|piece| piece.size() == size)?;
        kept.bytes -= size as u64;
        Some(kept.pieces.swap_remove(index))
    }

    /// Keeps a piece, or says that there is enough already.
    fn keep(&self, piece: HostTarget) -> std::result::Result<(), HostTarget> {
        let mut kept = self.kept.lock();
        let bytes = kept.bytes + piece.size() as u64;
        if bytes > MOST_KEPT || kept.pieces.len() >= MOST_PIECES {
            return Err(piece);
        }
        kept.bytes = bytes;
        kept.pieces.push(piece);
        Ok(())
    }

    /// Lets go of what is kept. False: nothing was. Needs no memory: it is called when there is none.
    pub(super) fn clean(&self) -> bool {
        let mut any = false;
        while let Some(piece) = self.take() {
            any = true;
            // The driver is called with no lock of this held.
            drop(piece);
        }
        any
    }

    fn take(&self) -> Option<HostTarget> {
        let mut kept = self.kept.lock();
        let piece = kept.pieces.pop()?;
        let size = piece.size() as u64;
        kept.bytes -= size;
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        Some(piece)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(piece) = self.piece.take() else { return };
        let let_go = if self.keeps { self.staging.keep(piece).err() } else { Some(piece) };
        if let Some(piece) = let_go {
            self.staging.bytes.fetch_sub(piece.size() as u64, Ordering::Relaxed);
        }
    }
}

impl Device {
    fn lend(&self, size: usize, piece: u64, charge: Option<Charge>) -> std::result::Result<HostTarget, DeviceError> {
        let none = DeviceError::OutOfMemory { asked: piece, free: 0 };
        let staging = &self.memory.staging;
        let whole = usize::try_from(piece).map_err(|_| none.clone())?;
        let found = match staging.find(whole) {
            Some(found) => found,
            None => {
                let made = match self.native.allocate_staging(whole) {
                    // Pieces of other sizes that are kept may be in its way (M2).
                    Err(DeviceError::OutOfMemory { .. }) if staging.clean() => self.native.allocate_staging(whole)?,
                    other => other?,
                };
                staging.bytes.fetch_add(piece, Ordering::Relaxed);
                made
            }
        };
        let lent = found.clone();
        let lease = Lease { staging: Arc::clone(staging), piece: Some(found), keeps: true, _charge: charge };
        lent.lend(size, Arc::new(lease)).ok_or(none)
    }

    /// As [`Self::lend`], of memory that nobody has had before: zeros, of which the system has none until they are touched. A driver's (pinned) would be had at once, all of it.
    fn lend_zeros(&self, size: usize, piece: u64, charge: Option<Charge>) -> std::result::Result<HostTarget, DeviceError> {
        let none = DeviceError::OutOfMemory { asked: piece, free: 0 };
        let staging = &self.memory.staging;
        let made = HostTarget::staging(size).ok_or_else(|| none.clone())?;
        staging.bytes.fetch_add(made.size() as u64, Ordering::Relaxed);
        let lent = made.clone();
        let lease = Lease { staging: Arc::clone(staging), piece: Some(made), keeps: false, _charge: charge };
        lent.lend(size, Arc::new(lease)).ok_or(none)
    }
}

impl Stream {
    /// Host memory for `size` bytes from the device, which is the stream's until every clone of it is gone. Does not wait: may be called with locks held.
    pub(crate) fn stage(&self, size: u64) -> Result<HostTarget> {
        self.stage_by(size, Device::lend)
    }

    /// As [`Self::stage`], of zeros: for bytes between which there are gaps, of any size, that nobody writes.
    pub(crate) fn stage_zeros(&self, size: u64) -> Result<HostTarget> {
        self.stage_by(size, Device::lend_zeros)
    }

    fn stage_by(
        &self,
        size: u64,
        lend: impl FnOnce(&Device, usize, u64, Option<Charge>) -> std::result::Result<HostTarget, DeviceError>,
    ) -> Result<HostTarget> {
        let none = || Failed::of(from_device(DeviceError::OutOfMemory { asked: size, free: 0 }));
        let (bytes, piece) = usize::try_from(size).ok().zip(rounded(size)).ok_or_else(none)?;
        let budget = self.budget.lock().clone();
        let charge = |budget: Arc<Budget>| {
            Charge::new(Arc::clone(&budget), piece).or_else(|_| {
                // What was released is charged until somebody sees that its uses are over.
                self.device.look_at_releases();
                Charge::new(budget, piece)
            })
        };
        let charge = budget.map(charge).transpose().map_err(|over| over_budget(&over))?;
        lend(&self.device, bytes, piece, charge).map_err(|failed| self.device.broken(failed))
    }

    /// Charges bytes that the device has to keep until their turn comes. Where the budget has no room for them, waits for all that is ahead: then they go
    /// straight to their place. The caller holds no lock.
    pub(crate) fn charge_upload(&self, size: u64) -> Option<Charge> {
        let budget = self.budget.lock().clone()?;
        let last = self.queue.last();
        if self.queue.native.completed() >= last {
            return None;
        }
        match Charge::new(budget, size) {
            Ok(charge) => Some(charge),
            Err(_) => {
                // A device that fails meanwhile is found by the write that follows.
                let _ = self.queue.native.wait(last, None);
                None
            }
        }
    }

    /// Gives a charge back when a position is over.
    pub(crate) fn charge_until(&self, position: u64, charge: Charge) {
        self.queue.native.notify(position, Box::new(move || drop(charge)));
    }
}
