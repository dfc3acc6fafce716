//! What nodes do to bytes: which of them have to follow which, and what a graph as a whole reads and writes of what was there before it.
//!
//! Both are found as nodes are added. A node follows every earlier one that touches common bytes of which either writes (G6); a read of bytes that an earlier node wrote wholly
//! is not a read of what was there before (G5).
//!
//! The edges are bounded: a buffer remembers at most so many pieces, and a piece so many readers. Where there would be more, the node that adds one follows
//! all of them, and stands for them from then on. That orders more than has to be, never less.

use std::ops::Range;
use std::sync::Arc;

use compute_trust::{Ids, NoMemory};
use smallvec::SmallVec;

use super::super::buffer::{Buffer, View};
use super::super::place::Span;
use super::super::section::Write;
use super::ranges::Ranges;

/// Pieces of a buffer that are told apart.
const MOST_PIECES: usize = 128;
/// Readers of a piece that are remembered.
const MOST_READERS: usize = 32;

/// Where the buffers of a node's touches are known; `None`: nowhere yet.
pub(crate) type Places = SmallVec<[Option<usize>; 8]>;

/// Nodes by index.
pub(crate) type Nodes = SmallVec<[u32; 4]>;

/// What a node does to a range of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Touched<'a> {
    pub(crate) span: Span<'a>,
    pub(crate) reads: bool,
    pub(crate) write: Write,
}

/// What a graph does to a range of a buffer that was there before it.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) view: View,
    pub(crate) reads: bool,
    pub(crate) write: Write,
}

/// Who used a range last: one node that wrote it, and those that read it since.
#[derive(Clone)]
struct Piece {
    range: Range<u64>,
    writer: Option<u32>,
    readers: SmallVec<[u32; 2]>,
}

/// What is known of a buffer.
struct Of {
    buffer: Arc<Buffer>,
    /// Sorted and disjoint.
    pieces: Vec<Piece>,
    /// Read before a node wrote them wholly.
    outside: Ranges,
    /// Written wholly by a node, but for padding perhaps.
    whole: Ranges,
    /// Of that, where a node leaves padding.
    padded: Ranges,
    /// A node has read where an earlier one had left padding.
    seen: bool,
    part: Ranges,
    all: Ranges,
}

/// Follows the nodes of a graph as they are added.
#[derive(Default)]
pub(crate) struct Tracker {
    by_id: Ids<usize>,
    /// In the order of their first use.
    buffers: Vec<Of>,
}

impl Tracker {
    /// The parts of a range that were not written wholly by an earlier node.
    pub(crate) fn outside(&self, span: Span<'_>) -> impl Iterator<Item = Range<u64>> {
        let range = span.range();
        let of = self.by_id.get(&span.buffer.id).and_then(|index| self.buffers.get(*index));
        let all = of.is_none().then(|| range.clone());
        let of = of.filter(|of| !of.whole.covers(&range));
        of.into_iter().flat_map(move |of| of.whole.missing(&range)).chain(all)
    }

    /// Room for what [`Self::add`] will note of a node, as far as it grows with the graph. Without it nothing has changed.
    pub(crate) fn reserve(&mut self, touches: &[Touched<'_>]) -> Result<Places, NoMemory> {
        let (mut new, mut places) = (0, Places::new());
        places.try_reserve(touches.len()).map_err(|_| NoMemory)?;
        for touched in touches {
            let place = self.by_id.get(&touched.span.buffer.id).copied();
            match place.and_then(|index| self.buffers.get_mut(index)) {
                Some(of) => of.pieces.try_reserve((of.pieces.len() + 3).min(MOST_PIECES)).map_err(|_| NoMemory)?,
                None => new += 1,
            }
            places.push(place);
        }
        if new > 0 {
            self.by_id.try_reserve(new).map_err(|_| NoMemory)?;
            self.buffers.try_reserve(new).map_err(|_| NoMemory)?;
        }
        Ok(places)
    }

    /// Adds a node, whose touches do not conflict with each other, and gives the earlier nodes that it has to follow, rising. After an error nobody knows what
    /// it has noted, and it must not be used any more. `places` is what [`Self::reserve`] gave for it.
    pub(crate) fn add(&mut self, node: u32, touches: &[Touched<'_>], places: &Places) -> Result<Nodes, NoMemory> {
        let mut after = Nodes::new();
        let used = || touches.iter().zip(places).filter(|(touched, _)| touched.span.size > 0);
        // All reads first: what a node reads is what was there before it.
        for (touched, place) in used().filter(|(touched, _)| touched.reads) {
            let of = self.of(touched.span.buffer, *place);
            let range = touched.span.range();
            if !of.outside.covers(&range) {
                for part in of.whole.missing(&range) {
                    of.outside.add(&part);
                }
            }
            of.seen |= of.padded.overlaps(&range);
            of.use_pieces(node, &range, false, &mut after)?;
        }
        for (touched, place) in used().filter(|(touched, _)| touched.write != Write::No) {
            let of = self.of(touched.span.buffer, *place);
            let range = touched.span.range();
            match touched.write {
                Write::Whole => of.whole.add(&range),
                Write::Padded { .. } => {
                    of.whole.add(&range);
                    of.padded.add(&range);
                }
                Write::Part | Write::No => of.part.add(&range),
            }
            of.use_pieces(node, &range, true, &mut after)?;
        }
        after.retain(|other| *other != node);
        if after.len() > 1 {
            after.sort_unstable();
            after.dedup();
        }
        Ok(after)
    }

    fn of(&mut self, buffer: &Arc<Buffer>, place: Option<usize>) -> &mut Of {
        let next = self.buffers.len();
        let index = place.unwrap_or_else(|| *self.by_id.entry(buffer.id).or_insert(next));
        if index == next {
            self.buffers.push(Of::new(buffer));
        }
        &mut self.buffers[index]
    }

    /// What the graph does to what was there before: reads first, in the order in which buffers were first used, by offset.
    pub(crate) fn effects(&self) -> Result<Vec<Effect>, NoMemory> {
        let mut effects = Vec::new();
        let mut put = |(buffer, range, write): (&Arc<Buffer>, Range<u64>, Write)| {
            effects.try_reserve(1).map_err(|_| NoMemory)?;
            let view = View { buffer: Arc::clone(buffer), offset: range.start, size: range.end - range.start };
            effects.push(Effect { view, reads: write == Write::No, write });
            Ok(())
        };
        for of in &self.buffers {
            of.outside.iter().try_for_each(|range| put((&of.buffer, range, Write::No)))?;
        }
        self.writes().try_for_each(put)?;
        Ok(effects)
    }

    /// What the graph writes: what only a part of is written, perhaps, what is written but for padding, and what is written wholly. Needs no memory, as it is to be claimed.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (&Arc<Buffer>, Range<u64>, Write)> {
        self.buffers.iter().flat_map(|of| {
            let part = of.part.iter().flat_map(|range| of.whole.missing(&range));
            let part = part.map(|range| (range, Write::Part));
            // What a node reads of padding was there before the graph, so that it counts also where another node writes all.
            let padded = of.padded.iter().map(|range| (range, Write::Padded { seen: of.seen }));
            let whole = of.whole.iter().flat_map(|range| of.padded.missing(&range)).map(|range| (range, Write::Whole));
            part.chain(padded).chain(whole).map(|(range, write)| (&of.buffer, range, write))
        })
    }

    /// Every buffer, once.
    pub(crate) fn buffers(&self) -> impl ExactSizeIterator<Item = &Arc<Buffer>> {
        self.buffers.iter().map(|of| &of.buffer)
    }

    /// How many distinct bytes are used.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffers.iter().map(|of| of.all.bytes()).sum()
    }
}

impl Of {
    fn new(buffer: &Arc<Buffer>) -> Self {
        let [outside, whole, padded, part, all] = [(); 5].map(|()| Ranges::default());
        Self { buffer: Arc::clone(buffer), pieces: Vec::new(), outside, whole, padded, seen: false, part, all }
    }

    /// Has `node` read or write a range, and collects those that it follows.
    fn use_pieces(&mut self, node: u32, range: &Range<u64>, writes: bool, after: &mut Nodes) -> Result<(), NoMemory> {
        self.all.add(range);
        // What most nodes do: they use a range as it was used before, and mostly it is all of the buffer.
        if let [piece] = &mut *self.pieces
            && piece.range == *range
        {
            return piece.used_by(node, writes, after);
        }
        let first = self.pieces.partition_point(|piece| piece.range.end <= range.start);
        let behind = first + self.pieces[first..].partition_point(|piece| piece.range.start < range.end);
        if let [piece] = &mut self.pieces[first..behind]
            && piece.range == *range
        {
            return piece.used_by(node, writes, after);
        }
        if self.pieces.len() + 2 + (behind - first) > MOST_PIECES {
            return self.stand_for_all(node, after);
        }
        let (mut old, mut new) = (SmallVec::<[Piece; 4]>::new(), SmallVec::<[Piece; 8]>::new());
        old.try_reserve(behind - first).map_err(|_| NoMemory)?;
        new.try_reserve(2 * (behind - first) + 3).map_err(|_| NoMemory)?;
        old.extend(self.pieces.drain(first..behind));
        let mut at = range.start;
        for piece in old {
            let (head, mut inner, tail) = cut(piece, range);
            new.extend(head);
            if at < inner.range.start && !writes {
                new.push(Piece { range: at..inner.range.start, writer: None, readers: SmallVec::from_slice(&[node]) });
            }
            at = inner.range.end;
            inner.follow(writes, after)?;
            if !writes {
                inner.read_by(node, after)?;
                new.push(inner);
            }
            new.extend(tail);
        }
        if writes {
            let place = new.iter().position(|piece| piece.range.start >= range.end).unwrap_or(new.len());
            new.insert(place, Piece { range: range.clone(), writer: Some(node), readers: SmallVec::new() });
        } else if at < range.end {
            let place = new.iter().position(|piece| piece.range.start >= range.end).unwrap_or(new.len());
            new.insert(place, Piece { range: at..range.end, writer: None, readers: SmallVec::from_slice(&[node]) });
        }
        self.pieces.try_reserve(new.len()).map_err(|_| NoMemory)?;
        self.pieces.splice(first..first, new);
        Ok(())
    }

    /// Too many pieces: the node follows all that used the buffer, and whoever uses it later follows the node.
    fn stand_for_all(&mut self, node: u32, after: &mut Nodes) -> Result<(), NoMemory> {
        self.pieces.iter().try_for_each(|piece| piece.follow(true, after))?;
        self.pieces.clear();
        self.pieces.push(Piece { range: 0..self.buffer.size, writer: Some(node), readers: SmallVec::new() });
        Ok(())
    }
}

impl Piece {
    /// What a node that uses it follows.
    fn follow(&self, writes: bool, after: &mut Nodes) -> Result<(), NoMemory> {
        after.try_reserve(self.readers.len() + 1).map_err(|_| NoMemory)?;
        // Readers follow the writer already.
        if writes && !self.readers.is_empty() {
            after.extend_from_slice(&self.readers);
        } else if let Some(writer) = self.writer {
            after.push(writer);
        }
        Ok(())
    }

    fn used_by(&mut self, node: u32, writes: bool, after: &mut Nodes) -> Result<(), NoMemory> {
        self.follow(writes, after)?;
        if !writes {
            return self.read_by(node, after);
        }
        self.writer = Some(node);
        self.readers.clear();
        Ok(())
    }

    fn read_by(&mut self, node: u32, after: &mut Nodes) -> Result<(), NoMemory> {
        if self.readers.contains(&node) {
            return Ok(());
        }
        if self.readers.len() >= MOST_READERS {
            after.try_reserve(self.readers.len()).map_err(|_| NoMemory)?;
            after.extend_from_slice(&self.readers);
            self.readers.clear();
        }
        self.readers.try_reserve(1).map_err(|_| NoMemory)?;
        self.readers.push(node);
        Ok(())
    }
}

/// A piece that shares bytes with a range: what is before the range, in it, and behind it.
fn cut(piece: Piece, range: &Range<u64>) -> (Option<Piece>, Piece, Option<Piece>) {
    let Range { start, end } = piece.range;
    let part = |range: Range<u64>| Piece { range, ..piece.clone() };
    let head = (start < range.start).then(|| part(start..range.start));
    let tail = (end > range.end).then(|| part(range.end..end));
    let inner = part(start.max(range.start)..end.min(range.end));
    (head, inner, tail)
}
