//! Other devices of the driver: whose memory can be reached, copies from there, and waits for their queues.
//!
//! Devices know each other by name only, as one may end at any time. What is put into a stream stays right when the other's handle ends: the runtime holds the
//! source for as long as the copy takes, by a position of the other device's queue.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use compute_hal::{DeviceError, FaultCause, LateCause, LateFailure, MemoryId, PeerId, Position, QueueId, Region};
use parking_lot::Mutex;

use crate::api::{Garbage, Home, Inside, Object};
use crate::attendant::Attendant;
use crate::device::Shared;
use crate::doubt::Doubt;
use crate::driver::{Failure, PoolAccess};
use crate::fate::Fate;
use crate::lane::{Lane, Submit};
use crate::memory::Owner;
use crate::op::{Op, Ready};
use crate::staging::Slice;

/// The devices of a driver that are open.
#[derive(Default)]
pub(crate) struct Peers(Mutex<HashMap<PeerId, Weak<Shared>>>);

impl Peers {
    pub(crate) fn add(&self, name: PeerId, device: &Arc<Shared>) {
        let mut known = self.0.lock();
        known.retain(|_, device| device.strong_count() > 0);
        known.insert(name, Arc::downgrade(device));
    }

    /// All. Whoever has them lets them go where it holds no lock.
    pub(crate) fn open(&self) -> Vec<Arc<Shared>> {
        self.0.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// As [`Self::open`], but for this one.
    pub(crate) fn others(&self, device: &Shared) -> Vec<Arc<Shared>> {
        self.open().into_iter().filter(|other| !std::ptr::eq(&raw const **other, device)).collect()
    }

    fn is_open(&self, name: PeerId) -> bool {
        self.0.lock().get(&name).is_some_and(|device| device.strong_count() > 0)
    }

    fn find(&self, name: PeerId) -> Option<Arc<Shared>> {
        self.0.lock().get(&name).and_then(Weak::upgrade)
    }
}

/// What is known of whether the memory of another device can be reached.
pub(crate) enum Reach {
    Known(bool),
    /// So many tries have failed.
    Failed(u32),
}

/// Set to 0, devices do not reach each other's memory, for machines on which what is sent this way does not always arrive (MD-01).
const PEER_ACCESS: &str = "COMPUTE_PEER_ACCESS";
/// Tries that may fail before it is given up.
const TRIES: u32 = 3;

/// A copy from another device.
pub(crate) struct Fetch {
    pub(crate) origin: Origin,
    from: u64,
    from_home: Home,
    to: u64,
    size: usize,
    /// The other is this very device of the driver's, opened once more.
    same: bool,
}

/// The device that bytes are copied from.
#[derive(Clone)]
pub(crate) struct Origin {
    fate: Arc<Fate>,
    device: Weak<Shared>,
}

impl Origin {
    fn new(device: &Arc<Shared>) -> Self {
        Self { fate: device.fate(), device: Arc::downgrade(device) }
    }

    /// As of [`Shared::find_context`]: on a copy from a context that is gone the driver crashes. The caller holds locks, and this may be the device's last user.
    fn find_context(&self, attendant: &Attendant) {
        if let Some(device) = self.device.upgrade() {
            device.find_context();
            attendant.let_go([device]);
        }
    }

    /// What a copy from there that a device could not enqueue is.
    fn fail(&self, to: &Shared, failure: Failure) -> DeviceError {
        let Some(device) = self.device.upgrade() else { return to.fail(failure) };
        let error = to.fail_between(failure, &device);
        to.attendant.let_go([device]);
        error
    }

    /// What a copy at a position has come to if the device has ended: work that was to write the bytes may never have run, and their memory may be gone.
    fn failure(&self, position: Position) -> Option<LateFailure> {
        let FaultCause { code, name, message, .. } = self.fate.cause()?;
        let message = format!("the device that bytes were to be copied from has ended: {message}");
        Some(LateFailure { position, cause: LateCause::Driver { code, name: name.to_string(), message } })
    }
}

/// What copies that are over have come to where their device has ended. What they waited for is over, too, well or not, which may be known to nobody yet: so each device is
/// asked, once for all of them. The caller holds locks, and this may be a device's last user.
pub(crate) fn lost(copies: &[(Position, Origin)], attendant: &Attendant) -> Vec<LateFailure> {
    let mut asked: Vec<&Arc<Fate>> = Vec::new();
    for (_, Origin { fate, device }) in copies {
        if asked.iter().any(|known| Arc::ptr_eq(known, fate)) {
            continue;
        }
        asked.push(fate);
        if let Some(device) = device.upgrade() {
            device.find_fault();
            attendant.let_go([device]);
        }
    }
    copies.iter().filter_map(|(position, origin)| origin.failure(*position)).collect()
}

impl Shared {
    /// Whether memory of another device can be copied from. Asks the driver for it the first time.
    pub(crate) fn can_reach(&self, name: PeerId, memory: Option<MemoryId>) -> bool {
        let Some(other) = self.api.peers.find(name).filter(|other| self.well().is_ok() && other.well().is_ok()) else {
            return false;
        };
        if self.is_twin_of(&other) {
            return true;
        }
        // Who may reach the memory of others' pools is the others' business.
        let foreign = memory.is_some_and(|memory| other.memory.get(memory).is_ok_and(|block| block.owner == Owner::Foreign));
        if foreign {
            return false;
        }
        // Under the lock, so that whoever comes meanwhile has the answer of the first. A try that failed, for want of memory say, is none; after a few it is given up.
        let mut reached = self.reached.lock();
        let failed = match reached.get(&name) {
            Some(Reach::Known(known)) => return *known,
            Some(Reach::Failed(TRIES..)) => return false,
            Some(Reach::Failed(times)) => *times,
            None => 0,
        };
        // Where another device has opened the way already, the driver says so whatever has become of the other end, whose pool is named next.
        other.find_context();
        if other.well().is_err() {
            return false;
        }
        let found = match self.reach(&other) {
            Ok(true) => self.receives(&other),
            Ok(false) => Some(false),
            Err(failure) => {
                self.fail_between(failure, &other);
                None
            }
        };
        // Those that have ended are not asked about again.
        reached.retain(|name, _| self.api.peers.is_open(*name));
        reached.insert(name, found.map_or(Reach::Failed(failed + 1), Reach::Known));
        found.unwrap_or(false)
    }

    pub(crate) fn is_twin_of(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Has the driver let this device reach memory of another; false: it cannot, or is not to.
    fn reach(&self, other: &Self) -> Result<bool, Failure> {
        if std::env::var_os(PEER_ACCESS).is_some_and(|set| set == "0") {
            return Ok(false);
        }
        let calls = self.try_enter()?;
        if calls.copy_peer_contexts.is_none() && calls.copy_peer_devices.is_none() {
            return Ok(false);
        }
        let mut can = 0;
        // SAFETY: the place is ours.
        unsafe { calls.can_access_peer(&mut can, self.number, other.number) }?;
        if can == 0 {
            return Ok(false);
        }
        let enabled = match other.home {
            // SAFETY: the other device is open, and with it its context.
            Home::Context(context) => unsafe { calls.peer_enable_context(context.0, 0) },
            // SAFETY: plain numbers.
            Home::Device(device) => unsafe { calls.peer_enable_device(device, 0) },
        };
        match enabled {
            // Somebody else in the process has.
            Err(failure) if failure.code == calls.api.vendor.errors.peer_enabled => {}
            answer => answer?,
        }
        other.memory.share(&calls, self.number)?;
        Ok(true)
    }

    /// Whether bytes of another device arrive as they were sent: there are machines whose driver says so and is wrong (MD-01). Waits for the answer. `None`: it
    /// could not be tried.
    fn receives(&self, other: &Arc<Self>) -> Option<bool> {
        let sent: Vec<u8> = (0..PATTERN).map(|n| (n as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[1]).collect();
        let (from, to) = Piece::new(other).and_then(|from| Ok((from, Piece::new(self)?))).ok()?;
        let arrived = self.pinned_now(&self.enter().ok()?, PATTERN).ok()?;
        let zeros = vec![0; PATTERN];
        let origin = Origin::new(other);
        let fetch = Fetch { origin, from: from.address, from_home: other.home, to: to.address, size: PATTERN, same: false };
        let moved = from.write(&sent).and_then(|()| to.write(&zeros)).and_then(|()| {
            let calls = self.enter()?;
            fetch.put(&calls, self.home, to.stream).map_err(|f| self.fail_between(f, other))?;
            // SAFETY: the place is ours and as long as the piece, and is given back when the stream is done.
            unsafe { calls.read_async(arrived.pointer().cast(), to.address, PATTERN, to.stream.0) }.map_err(|f| self.fail(f))?;
            to.finish(&calls)
        });
        if moved.is_err() && !(to.is_done() && from.is_done()) {
            // What was put into the streams may still come to pass, and these are what it touches. This happens a few times at most.
            std::mem::forget((from, to, arrived, sent, zeros));
            return None;
        }
        moved.ok()?;
        let arrived = Slice::of(&arrived, 0, PATTERN);
        // SAFETY: the copy is over, and the memory is given back behind this.
        Some(unsafe { arrived.bytes() } == sent)
    }

    /// A copy from a region of another device, which [`Self::can_reach`] allowed.
    pub(crate) fn fetch(&self, (name, from): (PeerId, Region), to: Region) -> Result<Ready<'static>, DeviceError> {
        let other = self.api.peers.find(name).ok_or_else(|| DeviceError::Internal("a copy from a device that is gone".into()))?;
        let (from, to) = (other.memory.span(from)?, self.memory.span(to)?);
        let size = usize::try_from(to.size).ok().filter(|_| from.size == to.size);
        let size = size.ok_or_else(|| DeviceError::Internal("a copy of unequal sizes".into()))?;
        let (origin, same) = (Origin::new(&other), self.is_twin_of(&other));
        let fetch = Fetch { origin, from: from.address, from_home: other.home, to: to.address, size, same };
        Ok(Ready { op: Op::Fetch(fetch), ready: to.ready })
    }
}

/// Bytes that are sent to try a way.
const PATTERN: usize = 64 << 10;

/// Memory of a device and a stream to try a way with.
struct Piece<'a> {
    device: &'a Shared,
    memory: MemoryId,
    address: u64,
    stream: Object,
}

impl<'a> Piece<'a> {
    fn new(device: &'a Shared) -> Result<Self, DeviceError> {
        let calls = device.enter()?;
        let memory = device.allocate(&calls, PATTERN as u64, || ())?;
        let mut made = Self { device, memory, address: 0, stream: Object(std::ptr::null_mut()) };
        made.address = device.memory.get(memory)?.address;
        // SAFETY: the place is ours.
        unsafe { calls.stream_create(&mut made.stream.0, device.api.vendor.flags.stream) }.map_err(|f| device.fail(f))?;
        device.memory.order(&calls, made.stream).map_err(|f| device.fail(f))?;
        Ok(made)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), DeviceError> {
        let calls = self.device.enter()?;
        // SAFETY: the piece is as long as the bytes, which stay until the stream is done.
        let written = unsafe { calls.write_async(self.address, bytes.as_ptr().cast(), bytes.len(), self.stream.0) };
        written.map_err(|f| self.device.fail(f))?;
        self.finish(&calls)
    }

    /// As [`Self::finish`]; false: the stream may still be at something.
    fn is_done(&self) -> bool {
        self.device.enter().is_ok_and(|calls| self.finish(&calls).is_ok())
    }

    /// Waits until the stream is done.
    fn finish(&self, calls: &Inside<'_>) -> Result<(), DeviceError> {
        let errors = &self.device.api.vendor.errors;
        let mut doubt = Doubt::default();
        loop {
            // SAFETY: the stream lives.
            match unsafe { calls.stream_query(self.stream.0) } {
                Ok(()) => return Ok(()),
                Err(failure) if failure.code == errors.not_ready => doubt.clear(),
                Err(failure) if errors.is_capturing(failure.code) && !doubt.lasts(errors.patience) => {}
                Err(failure) => return Err(self.device.fail(failure)),
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Piece<'_> {
    /// Of one whose stream, and every other that touches it, is done: its memory is given back behind no stream's work.
    fn drop(&mut self) {
        if !self.stream.0.is_null() {
            self.device.reclaim.throw(Garbage::Stream(self.stream));
        }
        self.device.free(self.memory);
    }
}

impl Fetch {
    fn put(&self, calls: &Inside<'_>, home: Home, stream: Object) -> Result<(), Failure> {
        let &Self { from, from_home, to, size, same, .. } = self;
        // SAFETY: both ends are inside their regions; the source's device lives for as long as this stream has not passed the copy.
        unsafe {
            match (home, from_home) {
                _ if same => calls.copy_async(to, from, size, stream.0),
                (Home::Context(own), Home::Context(other)) => calls.copy_peer_contexts(to, own.0, from, other.0, size, stream.0),
                (Home::Device(own), Home::Device(other)) => calls.copy_peer_devices(to, own, from, other, size, stream.0),
                // Devices of one driver have homes of one kind.
                _ => Err(Failure::absent("copy_peer")),
            }
        }
    }
}

impl Lane {
    /// Puts a copy from another device into the stream.
    pub(crate) fn put_fetch(
        &self,
        submit: &mut Submit,
        calls: &Inside<'_>,
        at: Position,
        fetch: &Fetch,
    ) -> Result<(), DeviceError> {
        if !fetch.same {
            fetch.origin.find_context(&self.shared.attendant);
        }
        if let Some(failure) = fetch.origin.failure(at) {
            submit.load.late.push(failure);
            return Ok(());
        }
        if let Err(failure) = fetch.put(calls, self.shared.home, self.stream) {
            let error = fetch.origin.fail(&self.shared, failure);
            let Some(failure) = fetch.origin.failure(at).filter(|_| self.shared.well().is_ok()) else { return Err(error) };
            // It has come to its end since it was asked.
            submit.load.late.push(failure);
            return Ok(());
        }
        submit.load.fetches.push((at, fetch.origin.clone()));
        Ok(())
    }

    /// Makes later work wait for a position of another device's queue.
    pub(crate) fn wait_for_peer(self: &Arc<Self>, name: PeerId, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        match self.shared.api.peers.find(name).map(|other| other.lane(queue)).transpose()?.flatten() {
            // It is gone, and with it whatever it was to do.
            None => Ok(()),
            Some(lane) => self.wait_for(&lane, position),
        }
    }
}

impl crate::memory::Memory {
    /// Lets another device reach what it allocates. Memory that is not of a pool needs nothing but the device's leave.
    fn share(&self, calls: &Inside<'_>, device: i32) -> Result<(), Failure> {
        let Some(pool) = self.pool() else { return Ok(()) };
        let access = PoolAccess { location: 1, device, rights: 3 };
        // SAFETY: the pool lives, the structure has the driver's layout.
        unsafe { calls.pool_access(pool.0, &access, 1) }
    }
}
