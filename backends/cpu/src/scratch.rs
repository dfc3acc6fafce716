//! The memory that running code works in: one block per thread that may run a kernel, made when the kernel is compiled, so that
//! no launch can run out of memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use compute_hal::DeviceError;
use parking_lot::Mutex;

use crate::memory::Block;

/// Host threads that may run kernels of one size class at once, beside the workers. More of them leave their work to the workers.
const GUESTS: usize = 4;

/// Who runs something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// A worker of the pool, by index.
    Worker(usize),
    /// A host thread inside `wait`.
    Waiter,
    /// A host thread inside a call that enqueues: it must come back soon, and holds locks of the runtime.
    Caller,
}

/// Scratch of one size for everybody.
pub(crate) struct Class {
    workers: Box<[Mutex<Option<Block>>]>,
    guests: Mutex<Vec<Block>>,
}

/// Scratch in use by one thread; goes back when dropped.
pub(crate) struct Lease {
    class: Arc<Class>,
    seat: Seat,
    block: Option<Block>,
}

/// All classes, made on first need and kept: there are at most as many as powers of two.
pub(crate) struct Scratches {
    workers: usize,
    classes: Mutex<BTreeMap<usize, Arc<Class>>>,
}

impl Scratches {
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers, classes: Mutex::new(BTreeMap::new()) }
    }

    /// The class for kernels that need `size` bytes; none when they need nothing.
    pub(crate) fn class(&self, size: usize) -> Result<Option<Arc<Class>>, DeviceError> {
        if size == 0 {
            return Ok(None);
        }
        let too_large = || DeviceError::TooLarge { asked: size as u64, limit: 1 << 40 };
        let rounded = size.max(256).checked_next_power_of_two().filter(|&size| size <= 1 << 40).ok_or_else(too_large)?;
        let mut classes = self.classes.lock();
        if let Some(class) = classes.get(&rounded) {
            return Ok(Some(Arc::clone(class)));
        }
        let block = || Block::allocate(rounded as u64, u64::MAX);
        let workers = (0..self.workers).map(|_| Ok(Mutex::new(Some(block()?)))).collect::<Result<_, DeviceError>>()?;
        let guests = (0..GUESTS).map(|_| block()).collect::<Result<_, DeviceError>>()?;
        let class = Arc::new(Class { workers, guests: Mutex::new(guests) });
        classes.insert(rounded, Arc::clone(&class));
        Ok(Some(class))
    }
}

impl Class {
    /// Scratch for `seat`. A worker always gets its own; a guest gets one while some are left.
    pub(crate) fn lease(self: &Arc<Self>, seat: Seat) -> Option<Lease> {
        let block = match seat {
            Seat::Worker(index) => self.workers.get(index)?.lock().take(),
            Seat::Waiter | Seat::Caller => self.guests.lock().pop(),
        };
        block.map(|block| Lease { class: Arc::clone(self), seat, block: Some(block) })
    }
}

impl Lease {
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.block.as_ref().map_or(std::ptr::null_mut(), Block::pointer)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match self.seat {
            Seat::Worker(index) => {
                if let Some(slot) = self.class.workers.get(index) {
                    *slot.lock() = self.block.take();
                }
            }
            // The list has had this many before: pushing does not allocate.
            Seat::Waiter | Seat::Caller => self.class.guests.lock().extend(self.block.take()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_its_own_scratch_and_guests_share_a_few() {
        let scratches = Scratches::new(3);
        let class = scratches.class(1000).unwrap().unwrap();
        let leases: Vec<Lease> = (0..3).map(|n| class.lease(Seat::Worker(n)).unwrap()).collect();
        let guests: Vec<Lease> = std::iter::from_fn(|| class.lease(Seat::Waiter)).collect();
        assert_eq!(guests.len(), GUESTS);
        let mut addresses: Vec<usize> = leases.iter().chain(&guests).map(|lease| lease.pointer() as usize).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 3 + GUESTS);
        drop((leases, guests));
        assert!(class.lease(Seat::Caller).is_some());
        assert!(class.lease(Seat::Worker(2)).is_some());
    }

    #[test]
    fn kernels_without_scratch_and_of_absurd_scratch_are_answered() {
        let scratches = Scratches::new(1);
        assert!(scratches.class(0).unwrap().is_none());
        assert!(scratches.class(usize::MAX).is_err());
    }
}
