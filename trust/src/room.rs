//! The one place where bookkeeping asks for memory that it can do without, so that tests can refuse it.

use smallvec::{Array, SmallVec};
use std::fmt;

/// Memory for bookkeeping could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no host memory for the bookkeeping of trust; release memory and try again")
    }
}

impl std::error::Error for NoMemory {}

/// Makes room for `more` further elements, or tells that there is none.
pub(crate) fn room<A: Array>(vec: &mut SmallVec<A>, more: usize) -> Result<(), NoMemory> {
    if vec.capacity() - vec.len() >= more {
        return Ok(());
    }
    granted()?;
    vec.try_reserve(more).map_err(|_| NoMemory)
}

/// An empty vector with room for `len` elements.
pub(crate) fn scratch<T>(len: usize) -> Result<Vec<T>, NoMemory> {
    granted()?;
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| NoMemory)?;
    Ok(vec)
}

/// Asks the test at hand whether the next request may be served; outside tests it always may.
pub(crate) fn granted() -> Result<(), NoMemory> {
    #[cfg(test)]
    return denial::ask();
    #[cfg(not(test))]
    Ok(())
}

#[cfg(test)]
pub(crate) mod denial {
    //! Refuses memory to the code under test, on the calling thread only.

    use super::NoMemory;
    use std::cell::Cell;

    thread_local! {
        static SERVED: Cell<Option<u32>> = const { Cell::new(None) };
    }

    pub(super) fn ask() -> Result<(), NoMemory> {
        SERVED.with(|left| match left.get() {
            None => Ok(()),
            Some(0) => Err(NoMemory),
            Some(n) => {
                left.set(Some(n - 1));
                Ok(())
            }
        })
    }

    /// Runs `body` with only the first `served` requests granted.
    pub(crate) fn after<R>(served: u32, body: impl FnOnce() -> R) -> R {
        SERVED.with(|left| left.set(Some(served)));
        let result = body();
        SERVED.with(|left| left.set(None));
        result
    }
}
