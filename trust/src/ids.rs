//! Tables by numbers of the library's own.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// By the numbers of buffers or queues, which nobody outside chooses.
pub type Ids<V> = HashMap<u64, V, BuildHasherDefault<Numbers>>;

/// Hashes numbers that are ours and count up, so that nobody can bring about collisions.
#[derive(Debug, Default)]
pub struct Numbers(u64);

impl Hasher for Numbers {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The golden ratio, turned so that tables which look at either end find bits that differ.
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}
