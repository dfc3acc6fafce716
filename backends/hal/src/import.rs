//! Memory of somebody else's (T14): how it is named, why it cannot be taken over, and which addresses are the library's already.
//!
//! The last is one list for the process, as two devices of the library may reach the same bytes: two handles of one driver's device, or the cpu device and host
//! memory of another's. Nothing here touches memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::{DeviceError, NativeKind};

/// Somebody else's bytes. Whoever names them vouches that they stay there, for the device to use, until it has let go of them.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// What `handle` is.
    pub kind: NativeKind,
    /// The driver's own name of the memory, not 0.
    pub handle: u64,
    /// Where the bytes begin in it.
    pub offset: u64,
    /// Bytes, more than 0. That they end within 64 bits, of addresses too, has been checked.
    pub size: u64,
}

/// Why memory cannot be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportRefusal {
    /// Some of it is the library's, allocated or imported.
    AlreadyOwned,
    /// It is another device's, or another context's.
    Foreign,
    /// It ends before the bytes asked for do.
    OutOfRange,
    /// It is no memory that this device could use.
    NotMemory,
}

impl ImportRefusal {
    /// The answer to an import.
    pub fn because(self, message: String) -> DeviceError {
        DeviceError::NotImportable { reason: self, message }
    }
}

/// Where addresses mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// The host's memory, pinned or not.
    Host,
    /// A device of CUDA's, by its number.
    Cuda(i32),
    /// A device of HIP's, by its number.
    Hip(i32),
    /// A buffer of Vulkan's; addresses are offsets in it.
    Vulkan {
        /// `VkDevice`
        device: u64,
        /// `VkBuffer`
        buffer: u64,
    },
}

/// By where a range begins, and a number of its own: were a driver to give out what somebody vouched for, two ranges would begin at one place.
type Ranges = BTreeMap<(Space, u64, u64), u64>;

static OWNED: Mutex<Ranges> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Bytes that are the library's for as long as this lives.
#[derive(Debug)]
pub struct Owned(Space, u64, u64);

impl Owned {
    /// Bytes that a driver or the system has just given out.
    pub fn allocated(space: Space, start: u64, size: u64) -> Self {
        Self::insert(&mut OWNED.lock(), space, start, size)
    }

    /// Somebody else's bytes; an error if some of them are the library's.
    pub fn imported(space: Space, start: u64, size: u64) -> Result<Self, DeviceError> {
        let mut owned = OWNED.lock();
        let end = start.saturating_add(size);
        // Ranges are disjoint, so of those that begin before the end the last one reaches furthest.
        let last = owned.range(..(space, end, 0)).next_back().filter(|((of, ..), _)| *of == space);
        if let Some((&(_, from, _), &to)) = last.filter(|(_, to)| **to > start) {
            let (from, to) = (from.max(start), to.min(end));
            return Err(ImportRefusal::AlreadyOwned.because(format!(
                "bytes {} to {} of these {size} are the library's already: of a buffer or pool of its own, or imported and not let go of yet",
                from.saturating_sub(start),
                to.saturating_sub(start),
            )));
        }
        Ok(Self::insert(&mut owned, space, start, size))
    }

    fn insert(owned: &mut Ranges, space: Space, start: u64, size: u64) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        owned.insert((space, start, number), start.saturating_add(size));
        Self(space, start, number)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        OWNED.lock().remove(&(self.0, self.1, self.2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place that no other test has.
    const HERE: Space = Space::Vulkan { device: 1, buffer: 2 };

    fn free(start: u64, size: u64) -> bool {
        match Owned::imported(HERE, start, size) {
            Ok(_) => true,
            Err(DeviceError::NotImportable { reason: ImportRefusal::AlreadyOwned, .. }) => false,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn t14_what_shares_a_byte_with_the_library_s_is_refused_and_neighbours_are_not() {
        let own = Owned::allocated(HERE, 100, 50);
        let imported = Owned::imported(HERE, 200, 10).unwrap();
        for (start, size) in [(100, 50), (120, 1), (90, 11), (149, 2), (0, 1000), (209, 1), (150, 51), (0, u64::MAX)] {
            assert!(!free(start, size), "{start}+{size}");
        }
        for (start, size) in [(90, 10), (150, 50), (210, 5), (u64::MAX - 1, 1)] {
            assert!(free(start, size), "{start}+{size}");
        }
        assert!(Owned::imported(Space::Vulkan { device: 1, buffer: 3 }, 100, 50).is_ok());
        drop(own);
        assert!(free(100, 50) && !free(100, 101));
        drop(imported);
        assert!(free(0, u64::MAX));
    }

    #[test]
    fn t14_of_one_place_that_was_given_out_twice_each_has_its_own_end() {
        let place = Space::Vulkan { device: 1, buffer: 4 };
        let (first, second) = (Owned::allocated(place, 8, 8), Owned::allocated(place, 8, 8));
        drop(first);
        assert!(Owned::imported(place, 8, 1).is_err());
        drop(second);
        assert!(Owned::imported(place, 8, 1).is_ok());
    }
}
