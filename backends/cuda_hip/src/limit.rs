//! Time limits: what a launch is told about its own, and the word of a queue in which launches note when they began.
//!
//! A kernel that can be stopped looks at the device's clock in its loops (`library/limit.h` of the kernel texts has the other half). So nothing of the host has to
//! be in time, and the time that counts is the launch's own: what was ahead of it on the queue is not in it.

use compute_hal::kernel::cxx::TIME_LIMIT_SIZE;
use compute_hal::{DeviceError, MemoryId, Region};

use crate::api::Inside;
use crate::lane::{Lane, Submit};
use crate::reclaim::MOMENT;
use crate::staging::Slice;

/// Bytes of the word that a launch sets when it is stopped.
pub(crate) const STOPPED: usize = 4;
/// Bytes of a queue's word.
const WORD: u64 = 8;
/// Ticks that are counted as one.
const TICKS: u128 = 256;

/// A queue's word, on the device.
pub(crate) struct Began {
    pub(crate) memory: MemoryId,
    address: u64,
    /// The number of the last launch that was told of it. The next one has another, so it sees that the time in the word is not its own.
    number: u16,
}

/// A limit as kernels count it; `rate`: kilohertz of the device's clock. Not below the limit, so that nothing is stopped before its time.
fn ticks(nanoseconds: u64, rate: u32) -> u64 {
    if nanoseconds == 0 {
        return u64::MAX;
    }
    let all = u128::from(nanoseconds) * u128::from(rate) / 1_000_000 / TICKS + 1;
    u64::try_from(all).unwrap_or(u64::MAX)
}

impl Lane {
    /// The argument of a launch that is stopped after so many nanoseconds (0: never) and then sets `stopped`.
    pub(crate) fn time_limit(
        &self,
        submit: &mut Submit,
        stopped: Slice,
        nanoseconds: u64,
    ) -> Result<[u8; TIME_LIMIT_SIZE as usize], DeviceError> {
        let Some(began) = &mut submit.began else { return Err(DeviceError::Internal("a queue without its word".into())) };
        began.number = began.number.wrapping_add(1);
        let mut argument = [0; TIME_LIMIT_SIZE as usize];
        let words = [began.address, stopped.address, ticks(nanoseconds, self.shared.clock), began.number.into()];
        for (bytes, word) in argument.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Ok(argument)
    }

    /// For the first launch of the queue that may be stopped.
    pub(crate) fn make_word(&self, submit: &mut Submit) -> Result<(), DeviceError> {
        let calls = self.shared.enter()?;
        submit.began = Some(self.new_word(submit, &calls)?);
        Ok(())
    }

    fn new_word(&self, submit: &mut Submit, calls: &Inside<'_>) -> Result<Began, DeviceError> {
        let memory = self.shared.allocate(calls, WORD, || self.shared.relieve(MOMENT))?;
        let clear = |submit: &mut Submit| {
            let span = self.shared.memory.span(Region { memory, offset: 0, size: WORD })?;
            self.follow(submit, calls, span.ready)?;
            crate::moves::fill(calls, self.stream, span.address, WORD, &[0]).map_err(|f| self.shared.fail(f))?;
            Ok(span.address)
        };
        match clear(submit) {
            Ok(address) => Ok(Began { memory, address, number: 0 }),
            Err(error) => {
                self.shared.free(memory);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn t13_a_limit_in_ticks_is_never_shorter_than_it_was_asked_for() {
        // A clock of nanoseconds, and one of 100 MHz.
        assert_eq!((ticks(1, 1_000_000), ticks(256, 1_000_000), ticks(50_000_000, 1_000_000)), (1, 2, 195_313));
        assert_eq!((ticks(2559, 100_000), ticks(2560, 100_000)), (1, 2));
        assert_eq!((ticks(0, 100_000), ticks(u64::MAX, 1_000_000)), (u64::MAX, (1 << 56)));
        assert_eq!(ticks(u64::MAX, u32::MAX), u64::MAX);
    }
}
