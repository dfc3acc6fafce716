//! The proof that a batch has run to its end, for drivers that do not tell: Metal calls a batch that it has aborted over like any other, and Direct3D 12 all of them once the
//! device was removed (wgpu passes on that they are over, and no more). There each batch ends with a word that the device copies to where the host looks; bytes of a batch
//! without it are nobody's. On Direct3D 12 a device that was removed copies nothing more. On Metal less is known: wgpu may make several command
//! buffers of a batch, and Metal goes on with the next one where one has failed, so that only a failure of the last one, which has the word, is seen. That costs a copy of four bytes and a buffer to be mapped for each batch, and Vulkan, whose waits answer an error, does without.

use std::sync::OnceLock;

use compute_hal::DeviceError;
use parking_lot::Mutex;

use crate::memory::{WORD, create};

/// What words say: nothing that is in memory by accident. A place holds the one, and is given the other next.
const WORDS: [u32; 2] = [0x9e37_79b9, 0x7f4a_7c15];

/// A place for a word, in the hands of a batch.
pub(crate) struct Proof {
    words: wgpu::Buffer,
    pub(crate) place: wgpu::Buffer,
    /// Which of the words it will hold.
    next: usize,
}

#[derive(Default)]
pub(crate) struct Proofs {
    /// There is no memory for any.
    #[cfg(test)]
    pub(crate) lacks: std::sync::atomic::AtomicBool,
    words: OnceLock<wgpu::Buffer>,
    kept: Mutex<Vec<Proof>>,
}

impl Proofs {
    pub(crate) fn take(&self, device: &wgpu::Device) -> Result<Proof, DeviceError> {
        #[cfg(test)]
        if self.lacks.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(DeviceError::OutOfMemory { asked: WORD, free: 0 });
        }
        if let Some(kept) = self.kept.lock().pop() {
            return Ok(Proof { next: 1 - kept.next, ..kept });
        }
        let words = match self.words.get() {
            Some(words) => words.clone(),
            None => {
                let made = words(device)?;
                self.words.get_or_init(|| made).clone()
            }
        };
        let place = create(device, "proof", WORD, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST, false)?;
        Ok(Proof { words, place, next: 0 })
    }

    /// Lets go of places that nothing uses.
    pub(crate) fn trim(&self) {
        drop(std::mem::take(&mut *self.kept.lock()));
    }

    /// Whether the batch that had this has run to its end. `mapped`: the host can look.
    pub(crate) fn holds(&self, proof: Proof, mapped: bool) -> bool {
        let expected = WORDS.get(proof.next).map(|word| word.to_le_bytes());
        let found = mapped.then(|| proof.place.get_mapped_range(..).ok()).flatten();
        let holds = found.is_some_and(|found| expected.is_some_and(|expected| found[..] == expected));
        if holds {
            proof.place.unmap();
            self.kept.lock().push(proof);
        }
        // Else it may hold the word that it would be given next.
        holds
    }
}

fn words(device: &wgpu::Device) -> Result<wgpu::Buffer, DeviceError> {
    let words = create(device, "proofs", 2 * WORD, wgpu::BufferUsages::COPY_SRC, true)?;
    let gone = |error| DeviceError::Internal(format!("memory for proofs cannot be written: {error}"));
    let bytes: Vec<u8> = WORDS.iter().flat_map(|word| word.to_le_bytes()).collect();
    words.get_mapped_range_mut(..).map_err(gone)?.copy_from_slice(&bytes);
    words.unmap();
    Ok(words)
}

impl Proof {
    /// To be called with all of the batch in front.
    pub(crate) fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.copy_buffer_to_buffer(&self.words, self.next as u64 * WORD, &self.place, 0, WORD);
    }
}
