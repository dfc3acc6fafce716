//! Lazy readback (M8): bytes that are copied to the host only when somebody asks for them.
//!
//! It keeps its source alive, and gives what is there at the first access that succeeds.

use std::sync::Arc;

use compute_hal::HostTarget;
use parking_lot::Mutex;

use super::buffer::View;
use super::error::{Failed, Result};
use super::event::Event;
use super::place::Place;
use super::stream::{Stream, Wait};
use super::transfer::{read_async, usable};
use super::{code, error};

/// A promise of bytes.
pub struct Readback {
    stream: Arc<Stream>,
    view: View,
    copy: Mutex<Option<Enqueued>>,
}

/// A copy that was asked for.
#[derive(Clone)]
struct Enqueued {
    event: Arc<Event>,
    bytes: HostTarget,
}

impl Readback {
    /// Of a view, by reads on `stream`. Copies nothing yet.
    pub fn new(stream: Option<&Arc<Stream>>, from: Place<'_>) -> Result<Arc<Self>> {
        let checked = (|| {
            usable(stream.map(|stream| &**stream))?;
            let Some(stream) = stream else { return super::error::refusal(code::INVALID_HANDLE, || "no stream".into()) };
            Ok((stream, from.check(&stream.device, || "source".into())?.view()))
        })();
        let (stream, view) = checked.map_err(|made| Failed::of(*made))?;
        Ok(Arc::new(Self { stream: Arc::clone(stream), view, copy: Mutex::new(None) }))
    }

    /// Bytes that it gives.
    pub fn size(&self) -> u64 {
        self.view.size
    }

    /// Enqueues the copy, unless that was done. Gives the event that tells how it ends.
    pub fn start(&self) -> Result<Arc<Event>> {
        self.copy().map(|copy| copy.event)
    }

    fn copy(&self) -> Result<Enqueued> {
        if let Some(copy) = &*self.copy.lock() {
            return Ok(copy.clone());
        }
        // With no lock held, as it may call back. Of two threads that come here at once, one enqueues a copy too many.
        let bytes = self.stream.stage(self.view.size)?;
        let from = Place::View { buffer: &self.view.buffer, offset: self.view.offset, size: self.view.size };
        let event = read_async(Some(&self.stream), from, bytes.clone())?;
        Ok(self.copy.lock().get_or_insert(Enqueued { event, bytes }).clone())
    }

    /// The bytes, which live as long as this does; waits for the copy. One that failed is forgotten, so that the next access tries anew.
    pub fn get(&self) -> Result<HostTarget> {
        let copy = self.copy()?;
        match copy.event.wait(None) {
            Ok(Wait::Done) => Ok(copy.bytes),
            Ok(Wait::TimedOut) => error::fail(code::INTERNAL, "a wait without a time limit ended before its time"),
            Err(failed) => {
                self.copy.lock().take_if(|other| Arc::ptr_eq(&other.event, &copy.event));
                Err(failed)
            }
        }
    }
}
