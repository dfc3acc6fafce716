//! Graphs: nodes that were recorded once, as commands with their bind groups and uniform bytes. A replay adds these lists to the open batch, at one position, and
//! wgpu gets the same as from someone who keeps bind groups and encodes by hand.
//!
//! A graph is cut into pieces. A piece that is in a batch stays as it is: an update puts another in its place. What is different in each replay comes between
//! pieces: the record of a kernel that reports, and looks at the clock. Nothing here submits but uniform bytes of which nobody makes use.

use std::sync::{Arc, Weak};

use compute_hal::{DeviceError, GraphRequest, NodeWork, Position};
use parking_lot::Mutex;

use crate::batch::{Recorder, Report, own_id};
use crate::commands::Commands;
use crate::device::Shared;
use crate::errors::{device_error, scoped, survive};
use crate::memory::Block;
use crate::queue::Lane;
use crate::staging::Uniform;
use crate::stamps::{Look, Measured, Timing};

/// Nodes in a piece: an update copies as many.
const PIECE: usize = 64;

/// Rows of a node at most, each of which may be a dispatch with a bind group.
const MOST_ROWS: usize = 1024;

/// Some nodes that follow each other.
#[derive(Default)]
struct Piece {
    commands: Arc<Commands>,
    /// Where each node begins.
    starts: Vec<usize>,
    /// What the commands of each node use: number in the piece, and block.
    used: Vec<(usize, Arc<Block>)>,
    /// Of its last node, if that reports.
    report: Option<Report>,
}

/// A graph that is ready.
pub(crate) struct Graph {
    inner: Mutex<Inner>,
    /// `None`: its nodes are not measured.
    measured: Option<Arc<Measured>>,
}

struct Inner {
    pieces: Vec<Piece>,
    /// The index of each piece's first node.
    firsts: Vec<usize>,
    own: Own,
    /// Where grids from memory are put once they are checked.
    grid: Arc<Block>,
}

/// Buffers of a graph's own, and what bind groups that are kept know them by.
struct Own {
    shared: Weak<Shared>,
    /// Uniform bytes of nodes go here while there is room.
    uniform: Option<Uniform>,
    /// Kernels that report do it here.
    record: Option<(u64, wgpu::Buffer)>,
    ids: Vec<u64>,
}

impl Drop for Own {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut groups = shared.kept_groups.lock();
        self.ids.iter().for_each(|id| groups.forget(*id));
    }
}

impl Own {
    /// Records a node, with bind groups that are there as far as there are such: nodes of other graphs, and updates back to what was bound before, find them.
    fn record(&mut self, lane: &Lane, recorder: &mut Recorder, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        // With the lock held, so that nothing is forgotten meanwhile and then kept.
        let mut kept = lane.shared.kept_groups.lock();
        std::mem::swap(&mut recorder.groups, &mut *kept);
        let recorded = record(lane, recorder, work);
        std::mem::swap(&mut recorder.groups, &mut *kept);
        self.ids.append(&mut recorder.own);
        recorded
    }
}

fn no_memory<T>(_: T) -> DeviceError {
    DeviceError::OutOfMemory { asked: 0, free: 0 }
}

/// Records what a node does.
fn record(lane: &Lane, recorder: &mut Recorder, work: &NodeWork<'_>) -> Result<(), DeviceError> {
    let span = |region| lane.shared.memory.span(region);
    match *work {
        NodeWork::Launch(launch) => lane.launch_kernel(recorder, 0, &launch),
        NodeWork::Copy { from, to } => lane.copy_bytes(recorder, 0, span(from)?, span(to)?),
        // All of a node goes with one submission: what would be too long for that is played back by the runtime.
        NodeWork::CopyRows(copies) if copies.len() > MOST_ROWS => Err(DeviceError::Unsupported("a node with so many rows")),
        NodeWork::CopyRows(copies) => {
            copies.iter().try_for_each(|copy| lane.copy_rows(recorder, 0, [span(copy.from)?, span(copy.to)?], copy))
        }
        NodeWork::Fill { to, pattern } => lane.fill_bytes(recorder, 0, &span(to)?, pattern),
        NodeWork::Join => Ok(()),
    }
}

/// Gives the device the uniform bytes that were recorded, and keeps the chunk that has room.
fn send_uniforms(shared: &Shared, recorder: &mut Recorder) -> Result<Option<Uniform>, DeviceError> {
    let mut chunks = std::mem::take(&mut recorder.batch.uniforms);
    for chunk in &mut chunks {
        let buffer = chunk.buffer.clone();
        let Some((at, bytes)) = chunk.take_news() else { continue };
        // Before whatever is submitted next, so before all replays; nothing that is on its way uses these bytes.
        let write = || {
            let queue = shared.gpu.queue();
            queue.write_buffer(&buffer, at, bytes);
            if shared.holds_too_much_back(bytes.len() as u64) {
                #[cfg(test)]
                shared.submitted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                queue.submit(None);
            }
        };
        let sent = survive(|| scoped(write));
        let sent = sent.map_err(|panic| shared.lose("PANIC", format!("wgpu panicked in a write: {panic}")))?;
        sent.map_err(|error| device_error("write_buffer", bytes.len() as u64, &error))?;
    }
    Ok(chunks.pop())
}

impl Graph {
    pub(crate) fn new(shared: &Arc<Shared>, request: &GraphRequest<'_>) -> Result<Self, DeviceError> {
        let grid = Lane::grid(shared)?;
        let lane = Lane::apart(shared, grid.clone());
        let mut recorder = Recorder::keeping();
        let mut own = Own { shared: Arc::downgrade(shared), uniform: None, record: None, ids: Vec::new() };
        let (mut pieces, mut firsts) = (Vec::new(), Vec::new());
        let mut piece = Piece::default();
        let mut measured = request.timed.then(|| Measured { nodes: request.nodes.len(), ..Measured::default() });
        for (index, node) in request.nodes.iter().enumerate() {
            let start = recorder.batch.commands.len();
            piece.starts.try_reserve(1).map_err(no_memory)?;
            piece.starts.push(start);
            own.record(&lane, &mut recorder, &node.work)?;
            piece.keep(piece.starts.len() - 1, &mut recorder)?;
            if let Some(measured) = &mut measured
                && recorder.batch.commands.len() > start
            {
                measured.working.try_reserve(1).map_err(no_memory)?;
                measured.working.push(u32::try_from(index).map_err(no_memory)?);
            }
            let node = u32::try_from(index).map_err(no_memory)?;
            piece.report = recorder.reported.take().map(|report| report.of_node(node));
            let whole = request.timed || piece.report.is_some() || piece.starts.len() == PIECE;
            if whole || index + 1 == request.nodes.len() {
                pieces.try_reserve(1).map_err(no_memory)?;
                firsts.try_reserve(1).map_err(no_memory)?;
                piece.commands = Arc::new(std::mem::take(&mut recorder.batch.commands));
                firsts.push(index + 1 - piece.starts.len());
                pieces.push(std::mem::take(&mut piece));
            }
        }
        own.uniform = send_uniforms(shared, &mut recorder)?;
        own.record = recorder.record.take();
        let inner = Mutex::new(Inner { pieces, firsts, own, grid });
        Ok(Self { inner, measured: measured.map(Arc::new) })
    }

    /// Gives a node other work, for replays from now on.
    pub(crate) fn update(&self, shared: &Arc<Shared>, node: u32, work: &NodeWork<'_>) -> Result<(), DeviceError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let node = node as usize;
        let place = inner.firsts.partition_point(|first| *first <= node).saturating_sub(1);
        let first = inner.firsts.get(place).copied().unwrap_or_default();
        let bug = || DeviceError::Internal(format!("no node {node} in the graph"));
        let piece = inner.pieces.get_mut(place).filter(|piece| node - first < piece.starts.len()).ok_or_else(bug)?;
        let lane = Lane::apart(shared, inner.grid.clone());
        let mut recorder = Recorder::keeping();
        let before = inner.own.uniform.as_ref().map(|chunk| chunk.id);
        recorder.batch.uniforms.extend(inner.own.uniform.take());
        recorder.record = inner.own.record.take();
        let recorded = inner.own.record(&lane, &mut recorder, work);
        let sent = send_uniforms(shared, &mut recorder);
        inner.own.record = recorder.record.take();
        inner.own.uniform = sent?;
        if let Some(full) = before.filter(|id| inner.own.uniform.as_ref().is_none_or(|chunk| chunk.id != *id)) {
            // Nobody binds it anew, and groups would keep it.
            shared.kept_groups.lock().forget(own_id(full));
        }
        recorded?;
        piece.used.try_reserve(recorder.used.len()).map_err(no_memory)?;
        piece.used.retain(|(user, _)| *user != node - first);
        piece.keep(node - first, &mut recorder)?;
        piece.replace(node - first, &recorder.batch.commands);
        if let Some(report) = recorder.reported.take() {
            piece.report = Some(report.of_node(u32::try_from(node).map_err(no_memory)?));
        }
        Ok(())
    }

    /// Adds a replay to the open batch, whose lock the caller holds.
    pub(crate) fn replay(&self, lane: &Lane, recorder: &mut Recorder, at: Position) -> Result<(), DeviceError> {
        let inner = self.inner.lock();
        let timing = self.measured.as_ref().map(Timing::new).transpose()?;
        let look = |recorder: &mut Recorder| {
            let Some(timing) = &timing else { return };
            // Without memory for it there is no time to tell.
            let _ = recorder.look(&lane.shared, Look::Node(Arc::clone(timing)));
        };
        lane.touch(recorder, at);
        look(recorder);
        for piece in &inner.pieces {
            if piece.commands.len() == 0 {
                continue;
            }
            lane.submit_if_full(recorder, at)?;
            if let Some(report) = &piece.report {
                lane.room_to_read(recorder, report.bytes())?;
                lane.touch(recorder, at);
            }
            recorder.replay(&piece.commands, &piece.used);
            if let Some(report) = &piece.report {
                recorder.take_report(&lane.shared, at, report)?;
            }
            look(recorder);
        }
        Ok(())
    }

    /// Nanoseconds of each node in the last replay that is over.
    pub(crate) fn times(&self) -> Option<Vec<u64>> {
        self.measured.as_ref()?.last.lock().clone()
    }
}

impl Piece {
    /// Keeps what was recorded as used by a node.
    fn keep(&mut self, node: usize, recorder: &mut Recorder) -> Result<(), DeviceError> {
        self.used.try_reserve(recorder.used.len()).map_err(no_memory)?;
        self.used.extend(recorder.used.drain(..).map(|block| (node, block)));
        Ok(())
    }

    /// Puts other commands in the place of a node's.
    fn replace(&mut self, node: usize, new: &Commands) {
        let old = &self.commands;
        let begin = self.starts.get(node).copied().unwrap_or_default();
        let end = self.starts.get(node + 1).copied().unwrap_or(old.len());
        let mut commands = Commands::default();
        commands.append(old, 0..begin);
        commands.append(new, 0..new.len());
        commands.append(old, end..old.len());
        for start in self.starts.iter_mut().skip(node + 1) {
            *start = *start - (end - begin) + new.len();
        }
        self.commands = Arc::new(commands);
    }
}
