//! Blocks of device memory.
//!
//! Memory comes from a pool in the order of a private stream, where the vendor has pools: allocating and freeing then wait for nothing. A queue that touches a
//! block for the first time waits, on the device, for what that stream had done when the block was made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::{DeviceError, MemoryId, Owned, Region, Space};
use parking_lot::Mutex;

use crate::api::{Inside, Object};
use crate::driver::{Attributes, Failure, PoolProperties};
use crate::table::{Table, Thing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The pool, in the order of the private stream.
    Pool,
    /// The driver.
    Driver,
    /// Somebody else, who vouched for it (T14).
    Foreign,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) owner: Owner,
    /// How many allocations of the private stream there were with this one; 0: it waits for none.
    ready: u64,
    /// Nobody else imports it.
    _owned: Arc<Owned>,
}

impl Thing for Block {
    fn numbers(&self) -> [u64; 3] {
        [self.address, self.size, self.ready]
    }
}

/// Bytes that somebody is about to touch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// See [`Block`].
    pub(crate) ready: u64,
}

/// A pool, and the stream in whose order it works.
pub(crate) struct Pool {
    pool: Object,
    stream: Object,
    event: Object,
}

pub(crate) struct Memory {
    /// Where its addresses mean something.
    space: Space,
    blocks: Table<Block>,
    pool: Option<Pool>,
    /// Held while the pool's stream gets work.
    order: Mutex<()>,
    allocations: AtomicU64,
}

impl Pool {
    /// Makes one that gives nothing back to the system by itself.
    pub(crate) fn new(calls: &Inside<'_>, attributes: &Attributes, device: i32) -> Result<Self, Failure> {
        let flags = &calls.api.vendor.flags;
        let properties = PoolProperties {
            kind: 1,
            handles: 0,
            location: 1,
            device,
            security: std::ptr::null_mut(),
            most: 0,
            reserved: [0; 56],
        };
        let mut made = Self { pool: NULL, stream: NULL, event: NULL };
        let mut keep = u64::MAX;
        // SAFETY: the places are ours, the structure has the driver's layout, the attribute is a u64.
        let answer = unsafe {
            calls
                .pool_create(&mut made.pool.0, &properties)
                .and_then(|()| calls.pool_set(made.pool.0, attributes.pool_keeps, (&raw mut keep).cast()))
                .and_then(|()| calls.stream_create(&mut made.stream.0, flags.stream))
                .and_then(|()| calls.event_create(&mut made.event.0, flags.event))
        };
        answer.inspect_err(|_| made.end(calls)).map(|()| made)
    }

    fn end(&self, calls: &Inside<'_>) {
        // SAFETY: what is not null was made by `new`, and nothing uses it any more.
        unsafe {
            for (object, end) in [(self.event, 0), (self.stream, 1), (self.pool, 2)] {
                let _ = match (object.0.is_null(), end) {
                    (true, _) => Ok(()),
                    (_, 0) => calls.event_destroy(object.0),
                    (_, 1) => calls.stream_destroy(object.0),
                    _ => calls.pool_destroy(object.0),
                };
            }
        }
    }

    fn allocate(&self, calls: &Inside<'_>, size: usize) -> Result<u64, Failure> {
        let mut address = 0;
        // SAFETY: the place is ours, pool and stream live.
        unsafe {
            calls.pool_allocate(&mut address, size, self.pool.0, self.stream.0)?;
            if let Err(failure) = calls.event_record(self.event.0, self.stream.0) {
                let _ = calls.pool_free(address, self.stream.0);
                return Err(failure);
            }
        }
        Ok(address)
    }

    /// Gives what is free to the system, after what was freed is really free.
    fn trim(&self, calls: &Inside<'_>) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(1);
        // SAFETY: pool and stream live.
        unsafe {
            while calls.stream_query(self.stream.0).is_err_and(|f| f.code == calls.api.vendor.errors.not_ready)
                && std::time::Instant::now() < deadline
            {
                std::thread::yield_now();
            }
            let _ = calls.pool_trim(self.pool.0, 0);
        }
    }
}

const NULL: Object = Object(std::ptr::null_mut());

impl Memory {
    pub(crate) fn new(space: Space, pool: Option<Pool>) -> Self {
        Self { space, blocks: Table::default(), pool, order: Mutex::default(), allocations: AtomicU64::new(0) }
    }

    /// The driver's pool, where there is one.
    pub(crate) fn pool(&self) -> Option<Object> {
        self.pool.as_ref().map(|pool| pool.pool)
    }

    /// Allocates; `relieve` is called once when memory is out.
    pub(crate) fn allocate(&self, calls: &Inside<'_>, size: u64, relieve: impl FnOnce()) -> Result<MemoryId, Failure> {
        let out_of_memory = calls.api.vendor.errors.out_of_memory;
        let bytes = usize::try_from(size).map_err(|_| Failure { call: "allocate", code: out_of_memory })?;
        self.blocks.reserve().map_err(|_| Failure { call: "allocate", code: out_of_memory })?;
        let block = match self.block(calls, bytes) {
            Err(failure) if failure.code == out_of_memory => {
                relieve();
                if let Some(pool) = &self.pool {
                    pool.trim(calls);
                }
                self.block(calls, bytes)
            }
            answer => answer,
        };
        Ok(MemoryId(self.blocks.insert(block?)))
    }

    fn block(&self, calls: &Inside<'_>, size: usize) -> Result<Block, Failure> {
        let block = |address, owner, ready| {
            let _owned = Arc::new(Owned::allocated(self.space, address, size as u64));
            Block { address, size: size as u64, owner, ready, _owned }
        };
        let Some(pool) = &self.pool else {
            let mut address = 0;
            // SAFETY: the place is ours.
            unsafe { calls.allocate(&mut address, size) }?;
            return Ok(block(address, Owner::Driver, 0));
        };
        let _order = self.order.lock();
        let address = pool.allocate(calls, size)?;
        Ok(block(address, Owner::Pool, self.allocations.fetch_add(1, Ordering::Relaxed) + 1))
    }

    /// Takes over somebody else's bytes, unless some of them are the library's.
    pub(crate) fn add_foreign(&self, address: u64, size: u64) -> Result<MemoryId, DeviceError> {
        let _owned = Arc::new(Owned::imported(self.space, address, size)?);
        self.blocks.reserve()?;
        Ok(MemoryId(self.blocks.insert(Block { address, size, owner: Owner::Foreign, ready: 0, _owned })))
    }

    /// Gives what is free to the system.
    pub(crate) fn trim(&self, calls: &Inside<'_>) {
        if let Some(pool) = &self.pool {
            pool.trim(calls);
        }
    }

    /// Gives a block back, or gives what the caller has to give back to the driver.
    pub(crate) fn free(&self, calls: &Inside<'_>, memory: MemoryId) -> Result<Option<u64>, Failure> {
        let Some(block) = self.blocks.remove(memory.0) else { return Ok(None) };
        match (block.owner, &self.pool) {
            (Owner::Pool, Some(pool)) => {
                let _order = self.order.lock();
                // SAFETY: the block came from this pool, and the runtime has seen every use of it complete.
                unsafe { calls.pool_free(block.address, pool.stream.0) }.map(|()| None)
            }
            (Owner::Driver, _) => Ok(Some(block.address)),
            _ => Ok(None),
        }
    }

    pub(crate) fn get(&self, memory: MemoryId) -> Result<Block, DeviceError> {
        self.blocks.get(memory.0).ok_or_else(|| DeviceError::Internal(format!("no such memory: {memory:?}")))
    }

    /// The bytes of a region.
    pub(crate) fn span(&self, region: Region) -> Result<Span, DeviceError> {
        self.find(region).ok_or_else(|| DeviceError::Internal(format!("no such bytes: {region:?}")))
    }

    /// As [`Self::span`], without an error.
    #[inline]
    pub(crate) fn find(&self, region: Region) -> Option<Span> {
        let [address, size, ready] = self.blocks.numbers(region.memory.0)?;
        let inside = region.offset.checked_add(region.size).is_some_and(|end| end <= size);
        inside.then(|| Span { address: address + region.offset, size: region.size, ready })
    }

    /// Makes a stream wait until all blocks made so far are there; gives the number of the last.
    pub(crate) fn order(&self, calls: &Inside<'_>, stream: Object) -> Result<u64, Failure> {
        let Some(pool) = &self.pool else { return Ok(0) };
        let _order = self.order.lock();
        // SAFETY: event and stream live.
        unsafe { calls.stream_wait(stream.0, pool.event.0, 0) }?;
        Ok(self.allocations.load(Ordering::Relaxed))
    }

    /// Gives everything back: the device goes.
    pub(crate) fn end(&mut self, calls: &Inside<'_>) {
        for block in self.blocks.drain() {
            let _ = match (block.owner, &self.pool) {
                // SAFETY: nothing runs on the device any more.
                (Owner::Pool, Some(pool)) => unsafe { calls.pool_free(block.address, pool.stream.0) },
                // SAFETY: as above.
                (Owner::Driver, _) => unsafe { calls.free(block.address) },
                _ => Ok(()),
            };
        }
        if let Some(pool) = self.pool.take() {
            pool.end(calls);
        }
    }
}
