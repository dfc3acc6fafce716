//! The queue as the runtime sees it: ids become jobs here.

use std::sync::Arc;
use std::time::Duration;

use compute_hal::{
    DeviceError, GraphId, HostRows, HostSource, HostTarget, LateFailure, Launch, Pitched, Position, Printed, Queue, QueueId,
    Region, Waited,
};

use crate::fifo::{Fifo, Fit};
use crate::graph::Replay;
use crate::launch::Prepared;
use crate::memory::Span;
use crate::work::{Fill, Move, Rows, Work};

pub(crate) struct CpuQueue {
    fifo: Arc<Fifo>,
}

impl CpuQueue {
    pub(crate) fn new(fifo: Arc<Fifo>) -> Self {
        Self { fifo }
    }

    fn span(&self, region: Region) -> Result<Span, DeviceError> {
        Span::resolve(&self.fifo.shared.memory, region)
    }

    fn enqueue(&self, at: Position, work: Work) -> Result<(), DeviceError> {
        let fit = self.fifo.fit(&work);
        self.fifo.enqueue(at, work, fit)
    }
}

impl Queue for CpuQueue {
    fn id(&self) -> QueueId {
        self.fifo.id
    }

    fn launch(&self, at: Position, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let prepared = Prepared::new(&self.fifo.shared, launch)?;
        self.enqueue(at, Work::Kernel(Arc::new(prepared)))
    }

    fn copy(&self, at: Position, from: Region, to: Region) -> Result<(), DeviceError> {
        let work = Work::Move(Move::within(self.span(from)?, self.span(to)?)?);
        self.enqueue(at, work)
    }

    fn copy_2d(&self, at: Position, copy: &Pitched) -> Result<(), DeviceError> {
        let work = Work::Rows(Rows::within(self.span(copy.from)?, self.span(copy.to)?, copy)?);
        self.enqueue(at, work)
    }

    fn fill(&self, at: Position, to: Region, pattern: &[u8]) -> Result<(), DeviceError> {
        let work = Work::Fill(Fill::new(self.span(to)?, pattern)?);
        self.enqueue(at, work)
    }

    fn write(&self, at: Position, to: Region, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.span(to)?;
        if !self.fifo.idle() {
            return self.enqueue(at, Work::Move(Move::owned(bytes, to)?));
        }
        // Nothing is ahead: the bytes go straight to their place, whatever their size, since they must be copied before this returns anyway.
        let work = Work::Move(Move::borrowed(bytes.as_ptr(), bytes.len(), to)?);
        self.fifo.enqueue(at, work, Fit::AtOnce(None))?;
        // Workers that share a large copy may still be at it, with the caller's bytes.
        self.fifo.watch.sleep(at, None);
        Ok(())
    }

    fn write_borrowed(&self, at: Position, to: Region, bytes: HostSource) -> Result<(), DeviceError> {
        let work = Work::Move(Move::borrowed(bytes.pointer(), bytes.size(), self.span(to)?)?);
        self.enqueue(at, work)
    }

    fn write_2d(&self, at: Position, rows: &HostRows, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.span(rows.region)?;
        if !self.fifo.idle() {
            return self.enqueue(at, Work::Rows(Rows::owned(bytes, to, rows)?));
        }
        // As `write`.
        self.fifo.enqueue(at, Work::Rows(Rows::borrowed(bytes.as_ptr(), bytes.len(), to, rows)?), Fit::AtOnce(None))?;
        self.fifo.watch.sleep(at, None);
        Ok(())
    }

    fn write_borrowed_2d(&self, at: Position, rows: &HostRows, bytes: HostSource) -> Result<(), DeviceError> {
        let work = Work::Rows(Rows::borrowed(bytes.pointer(), bytes.size(), self.span(rows.region)?, rows)?);
        self.enqueue(at, work)
    }

    fn read_2d(&self, at: Position, rows: &HostRows, into: HostTarget) -> Result<(), DeviceError> {
        let work = Work::Rows(Rows::read(self.span(rows.region)?, into, rows)?);
        self.enqueue(at, work)
    }

    fn read(&self, at: Position, from: Region, into: HostTarget) -> Result<(), DeviceError> {
        let work = Work::Move(Move::read(self.span(from)?, into)?);
        self.enqueue(at, work)
    }

    fn replay(&self, at: Position, graph: GraphId) -> Result<(), DeviceError> {
        let Some(graph) = self.fifo.shared.graphs.get(graph.0) else {
            return Err(DeviceError::Internal(format!("no such graph: {graph:?}")));
        };
        self.enqueue(at, Work::Graph(Arc::new(Replay::new(graph, &self.fifo, at)?)))
    }

    fn wait_for(&self, queue: QueueId, position: Position) -> Result<(), DeviceError> {
        let other = self.fifo.shared.queues.lock().get(&queue).and_then(std::sync::Weak::upgrade);
        match other {
            // Its queue is gone, and with it whatever it was to do.
            None if position == 0 || queue.0 < self.fifo.shared.queue_ids() => Ok(()),
            None => Err(DeviceError::Internal(format!("no such queue: {queue:?}"))),
            Some(other) if Arc::ptr_eq(&other, &self.fifo) => {
                if position > self.fifo.last() {
                    return Err(DeviceError::Internal("a queue that waits for its own future".into()));
                }
                Ok(())
            }
            Some(other) if other.watch.completed() >= position => Ok(()),
            Some(other) => self.fifo.enqueue(0, Work::Edge(other, position), Fit::Later),
        }
    }

    fn mark(&self, at: Position) {
        // Refused only after a fault, where every position counts as completed, or out of order, which nobody can wait for.
        let _ = self.fifo.enqueue(at, Work::Mark, Fit::AtOnce(None));
    }

    fn submit(&self) -> Result<(), DeviceError> {
        self.fifo.shared.well()
    }

    fn completed(&self) -> Position {
        self.fifo.watch.completed()
    }

    fn wait(&self, at: Position, timeout: Option<Duration>) -> Result<Waited, DeviceError> {
        self.fifo.wait(at, timeout)
    }

    fn take_late(&self) -> Vec<LateFailure> {
        self.fifo.take_late()
    }

    fn take_printed(&self) -> Vec<Printed> {
        self.fifo.take_printed()
    }

    fn notify(&self, at: Position, wake: Box<dyn FnOnce() + Send>) {
        self.fifo.notify(at, wake);
    }

    fn timestamp(&self, at: Position) -> Option<u64> {
        self.fifo.timestamp(at)
    }

    fn stamp(&self, at: Position) -> Result<(), DeviceError> {
        self.fifo.shared.well()?;
        self.fifo.stamp(at);
        Ok(())
    }
}

impl Drop for CpuQueue {
    fn drop(&mut self) {
        // Nothing can follow any more: once the work is done, whoever waits for a later position is let go.
        self.mark(Position::MAX);
    }
}
