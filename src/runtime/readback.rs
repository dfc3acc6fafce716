//! Lazy readback (M8): bytes that are copied to the host only when somebody asks for them.
//!
//! It keeps its source alive, and gives what is there at the first access that succeeds.

use std::sync::Arc;

use compute_hal::HostTarget;
use compute_memory::MOST_DIMENSIONS;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::buffer::View;
use super::error::{Failed, Result};
use super::event::Event;
use super::place::Place;
use super::stream::{Stream, Wait};
use super::strided::{Tensor, check_read, read_strided};
use super::transfer::{read_async, usable};
use super::{code, error};

/// A promise of bytes.
pub struct Readback {
    stream: Arc<Stream>,
    view: View,
    elements: Option<Elements>,
    size: u64,
    copy: Mutex<Option<Enqueued>>,
}

/// What of the view is read, and how it lies in the host's memory.
struct Elements {
    shape: SmallVec<[u64; MOST_DIMENSIONS]>,
    element_size: u64,
    strides: [Option<SmallVec<[i64; MOST_DIMENSIONS]>>; 2],
    /// There are bytes between them in the host's memory.
    gaps: bool,
}

impl Elements {
    fn new(tensor: &Tensor<'_>, gaps: bool) -> Self {
        let strides = [tensor.from, tensor.to].map(|strides| strides.map(SmallVec::from_slice));
        Self { shape: SmallVec::from_slice(tensor.shape), element_size: tensor.element_size, strides, gaps }
    }

    fn tensor(&self) -> Tensor<'_> {
        let [from, to] = &self.strides;
        Tensor { shape: &self.shape, element_size: self.element_size, from: from.as_deref(), to: to.as_deref() }
    }
}

/// A copy that was asked for.
#[derive(Clone)]
struct Enqueued {
    event: Arc<Event>,
    bytes: HostTarget,
    /// Somebody has the bytes: they stay, whatever becomes of the device.
    given: bool,
}

impl Readback {
    /// Of a view, or of the elements of a tensor in it, by reads on `stream`. Copies nothing yet.
    pub fn new(stream: Option<&Arc<Stream>>, from: Place<'_>, tensor: Option<&Tensor<'_>>) -> Result<Arc<Self>> {
        let checked = (|| {
            usable(stream.map(|stream| &**stream))?;
            let Some(stream) = stream else { return super::error::refusal(code::INVALID_HANDLE, || "no stream".into()) };
            let view = from.check(&stream.device, || "source".into())?.view();
            let elements = match tensor {
                Some(tensor) => Some((tensor, check_read(stream, &from, tensor)?)),
                None => None,
            };
            Ok((stream, view, elements))
        })();
        let (stream, view, elements) = checked.map_err(|made| Failed::of(*made))?;
        let size = elements.map_or(view.size, |(_, (size, _))| size);
        let elements = elements.map(|(tensor, (_, gaps))| Elements::new(tensor, gaps));
        Ok(Arc::new(Self { stream: Arc::clone(stream), view, elements, size, copy: Mutex::new(None) }))
    }

    /// Bytes that it gives.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Enqueues the copy, unless that was done. Gives the event that tells how it ends.
    pub fn start(&self) -> Result<Arc<Event>> {
        self.copy().map(|copy| copy.event)
    }

    fn copy(&self) -> Result<Enqueued> {
        {
            let mut kept = self.copy.lock();
            // One that has failed before it gave any bytes is made anew.
            kept.take_if(|copy| !copy.given && copy.event.failed().is_some());
            if let Some(copy) = &*kept {
                return Ok(copy.clone());
            }
        }
        // With no lock held, as it may call back. Of two threads that come here at once, one enqueues a copy too many.
        // What lies between elements that are apart is nobody's, and shown as zeros (F1).
        let gaps = self.elements.as_ref().is_some_and(|elements| elements.gaps);
        let bytes = if gaps { self.stream.stage_zeros(self.size)? } else { self.stream.stage(self.size)? };
        let from = Place::View { buffer: &self.view.buffer, offset: self.view.offset, size: self.view.size };
        let event = match &self.elements {
            None => read_async(Some(&self.stream), from, bytes.clone())?,
            Some(elements) => read_strided(Some(&self.stream), from, &elements.tensor(), bytes.clone())?,
        };
        Ok(self.copy.lock().get_or_insert(Enqueued { event, bytes, given: false }).clone())
    }

    /// The bytes, which live as long as this does; waits for the copy. One that failed before it gave any is forgotten, so that the next access tries anew.
    pub fn get(&self) -> Result<HostTarget> {
        loop {
            let copy = self.copy()?;
            let waited = copy.event.wait(None);
            let mut kept = self.copy.lock();
            let same = kept.as_mut().filter(|other| Arc::ptr_eq(&other.event, &copy.event));
            match (waited, same) {
                (Ok(Wait::Done), Some(same)) => {
                    same.given = true;
                    return Ok(copy.bytes);
                }
                // Another thread has forgotten it meanwhile.
                (Ok(Wait::Done), None) => {}
                (Ok(Wait::TimedOut), _) => {
                    return error::fail(code::INTERNAL, "a wait without a time limit ended before its time");
                }
                (Err(failed), same) => {
                    // What has not ended may be asked again.
                    if same.is_some_and(|same| !same.given && same.event.failed().is_some()) {
                        *kept = None;
                    }
                    return Err(failed);
                }
            }
        }
    }
}
