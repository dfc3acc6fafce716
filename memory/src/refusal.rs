//! Why an allocation was refused, with the numbers that explain it.

use std::fmt;

/// The state of the pool that was asked, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Which pool, in routing order.
    pub pool: usize,
    /// In pages.
    pub reserved: u64,
    /// Free in these pages.
    pub free: u64,
    /// The largest run of free bytes.
    pub largest_free: u64,
    /// Released, but still in use on another queue.
    pub pending: u64,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was asked for.
    Empty,
    /// The alignment is no power of two.
    Alignment(u64),
    /// No pool takes this size, or the driver gives no such page: it can never work. At most so many bytes.
    TooLarge(u64),
    /// The pool is at its cap of so many bytes.
    Capped(u64),
    /// No page may be added now; one of at least so many bytes would be needed.
    Frozen(u64),
    /// The host has no memory for the tables.
    NoHostMemory,
}

/// An allocation that was refused; nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Bytes asked for.
    pub asked: u64,
    /// Why.
    pub reason: Reason,
    /// What the pool had.
    pub room: Room,
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, reserved, free, largest_free, pending } = self;
        write!(f, "pool {pool} has {reserved} bytes in pages, {free} free, the largest run of them {largest_free}")?;
        match pending {
            0 => Ok(()),
            pending => write!(f, ", and {pending} released that are still in use"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, room, .. } = self;
        match self.reason {
            Reason::Empty => write!(f, "an allocation of no bytes"),
            Reason::Alignment(alignment) => write!(f, "an alignment of {alignment} bytes: alignments are powers of two"),
            Reason::TooLarge(most) => write!(f, "{asked} bytes asked for, at most {most} are possible"),
            Reason::Capped(cap) => write!(f, "{asked} bytes asked for: {room}; it is capped at {cap}"),
            Reason::Frozen(missing) => {
                write!(
                    f,
                    "{asked} bytes asked for: {room}; the pools are frozen, and a further page of {missing} bytes is missing"
                )
            }
            Reason::NoHostMemory => write!(f, "{asked} bytes asked for: no host memory for the bookkeeping"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// Whether releasing memory could let it succeed.
    pub fn is_reclaimable(&self) -> bool {
        matches!(self.reason, Reason::Capped(_) | Reason::NoHostMemory)
    }
}
