//! Graphs of a device that keeps them: edges, order, replays in flight, updates, what nodes have to tell.

use compute_kernel::reflection::Bounds;

use super::bench::{Bench, compile, ensure, part};
use super::{Failed, Outcome, Subject};
use crate::{Binding, GraphId, GraphRequest, Grid, KernelId, LateCause, Launch, Node, NodeWork, Pitched, Region};

/// Words of each slot that the nodes below work on.
const WORDS: u64 = 64;

/// A node that is independent of what it borrows.
#[derive(Clone)]
enum Step {
    /// Every word of a slot becomes that of another, plus one.
    Add {
        from: usize,
        to: usize,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Fill {
        to: usize,
        word: u32,
    },
    Join,
}

impl Step {
    fn uses(&self) -> (Option<usize>, Option<usize>) {
        match *self {
            Self::Add { from, to } | Self::Copy { from, to } => (Some(from), Some(to)),
            Self::Fill { to, .. } => (None, Some(to)),
            Self::Join => (None, None),
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        let ((read, write), (other_read, other_write)) = (self.uses(), other.uses());
        let meets = |one: Option<usize>, two: Option<usize>| one.is_some() && one == two;
        meets(write, other_write) || meets(write, other_read) || meets(read, other_write)
    }

    fn run(&self, slots: &mut [u32]) {
        match *self {
            Self::Add { from, to } => slots[to] = slots[from].wrapping_add(1),
            Self::Copy { from, to } => slots[to] = slots[from],
            Self::Fill { to, word } => slots[to] = word,
            Self::Join => {}
        }
    }
}

/// Numbers that are the same on every machine.
struct Random(u32);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }

    fn step(&mut self, slots: usize) -> Step {
        let (from, to) = (self.below(slots), self.below(slots - 1));
        let to = if to >= from { to + 1 } else { to };
        match self.below(8) {
            0 => Step::Fill { to, word: self.below(1000) as u32 },
            1 | 2 => Step::Copy { from, to },
            3 => Step::Join,
            _ => Step::Add { from, to },
        }
    }
}

/// A device with a block of slots and the kernel of [`Step::Add`].
struct World {
    bench: Bench,
    kernel: KernelId,
    all: Region,
}

impl World {
    /// `None`: the device keeps no graphs, or takes no portable kernels.
    fn new(subject: &Subject<'_>, slots: usize) -> Result<Option<Self>, Failed> {
        let bench = Bench::new(subject)?;
        if !bench.device.capabilities().native_graphs || !bench.device.capabilities().portable {
            return Ok(None);
        }
        let kernel = bench.compile(
            "@group(0) @binding(0) var<storage, read> old: array<u32>;
            @group(0) @binding(1) var<storage, read_write> sum: array<u32>;
            @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&sum) { sum[id.x] = old[id.x] + 1u; }
            }",
        )?;
        let all = bench.words(&vec![0; slots * WORDS as usize])?;
        Ok(Some(Self { bench, kernel, all }))
    }

    fn slot(&self, index: usize) -> Region {
        part(self.all, index as u64 * 4 * WORDS, 4 * WORDS)
    }

    /// Has the device make a graph with an edge for every conflict.
    fn instantiate(&self, steps: &[Step], timed: bool) -> Result<GraphId, Failed> {
        let after: Vec<Vec<u32>> = (0..steps.len())
            .map(|index| {
                let earlier = steps[..index].iter().enumerate();
                earlier.filter(|(_, step)| step.conflicts(&steps[index])).map(|(other, _)| other as u32).collect()
            })
            .collect();
        let words: Vec<[u8; 4]> =
            steps.iter().map(|step| if let Step::Fill { word, .. } = step { word.to_le_bytes() } else { [0; 4] }).collect();
        let bindings: Vec<[Binding<'_>; 2]> = steps
            .iter()
            .map(|step| {
                let (from, to) = step.uses();
                [self.slot(from.unwrap_or_default()), self.slot(to.unwrap_or_default())].map(Binding::Buffer)
            })
            .collect();
        let (kernel, grid) = (self.kernel, Grid::Direct([1, 1, 1]));
        let work = |index: usize| match steps[index] {
            Step::Add { .. } => {
                NodeWork::Launch(Launch { kernel, grid, bindings: &bindings[index], immediates: &[], time_limit: 0 })
            }
            Step::Copy { from, to } => NodeWork::Copy { from: self.slot(from), to: self.slot(to) },
            Step::Fill { to, .. } => NodeWork::Fill { to: self.slot(to), pattern: &words[index] },
            Step::Join => NodeWork::Join,
        };
        let nodes: Vec<Node<'_>> = (0..steps.len()).map(|index| Node { work: work(index), after: &after[index] }).collect();
        Ok(self.bench.device.instantiate(&GraphRequest { nodes: &nodes, timed, label: "conformance" })?)
    }

    fn replay(&self, graph: GraphId) -> Outcome {
        Ok(self.bench.queue.replay(self.bench.at(), graph)?)
    }

    fn expect(&self, slots: &[u32]) -> Outcome {
        let expected: Vec<u32> = slots.iter().flat_map(|word| [*word; WORDS as usize]).collect();
        let found = self.bench.read_words(self.all)?;
        let place = found.iter().zip(&expected).position(|(one, two)| one != two);
        ensure!(place.is_none(), "word {place:?} is wrong: {:?} for {:?}", place.map(|n| found[n]), place.map(|n| expected[n]));
        Ok(())
    }
}

pub(super) fn g6_random_graphs_leave_what_their_nodes_leave_one_after_another(subject: &Subject<'_>) -> Outcome {
    for (seed, count, slots) in [(1, 30, 4), (2, 200, 16), (3, 500, 64), (4, 300, 200), (5, 1, 2)] {
        let Some(world) = World::new(subject, slots)? else { return Ok(()) };
        let mut random = Random(seed);
        let steps: Vec<Step> = (0..count).map(|_| random.step(slots)).collect();
        let graph = world.instantiate(&steps, false)?;
        let mut model = vec![0_u32; slots];
        for _ in 0..20 {
            world.replay(graph)?;
            steps.iter().for_each(|step| step.run(&mut model));
        }
        world.expect(&model)?;
        world.bench.device.drop_graph(graph);
    }
    Ok(())
}

pub(super) fn g6_an_update_is_for_replays_that_are_enqueued_after_it(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 8)? else { return Ok(()) };
    let mut steps: Vec<Step> = vec![Step::Fill { to: 0, word: 5 }];
    steps.extend((0..7).map(|n| Step::Add { from: n, to: n + 1 }));
    let graph = world.instantiate(&steps, false)?;
    let sum = world.bench.words(&[0; 64])?;
    for round in 0..50_u32 {
        let word = (100 * round).to_le_bytes();
        match world.bench.device.update_graph(graph, 0, &NodeWork::Fill { to: world.slot(0), pattern: &word }) {
            Err(crate::DeviceError::Unsupported(_)) => return Ok(()),
            other => other?,
        }
        world.replay(graph)?;
        // What this replay left, before the next one.
        world.bench.queue.copy(world.bench.at(), part(world.slot(7), 0, 4), part(sum, u64::from(round) * 4, 4))?;
    }
    let found = world.bench.read_words(sum)?;
    let expected: Vec<u32> = (0..50).map(|round| 100 * round + 7).collect();
    ensure!(found.get(..50) == Some(&expected[..]), "the replays left {found:?}");
    world.bench.device.drop_graph(graph);
    Ok(())
}

pub(super) fn g4_a_graph_dropped_after_its_replays_leaves_others_alone(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let keep = world.instantiate(&[Step::Add { from: 0, to: 1 }, Step::Copy { from: 1, to: 0 }], false)?;
    for round in 1..=50 {
        let graph = world.instantiate(&[Step::Add { from: 0, to: 1 }, Step::Copy { from: 1, to: 0 }], false)?;
        world.replay(graph)?;
        world.replay(keep)?;
        world.expect(&[2 * round; 2])?;
        world.bench.device.drop_graph(graph);
    }
    Ok(())
}

pub(super) fn g6_large_nodes_of_a_graph_are_whole_before_what_follows(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    let size: u64 = 8 << 20;
    let zeros = vec![0; size as usize];
    let (a, b, c) = (bench.block(&zeros)?, bench.block(&zeros)?, bench.block(&zeros)?);
    let bindings = [b, c].map(Binding::Buffer);
    let grid = Grid::Direct([(size / 4 / 64) as u32, 1, 1]);
    let launch = Launch { kernel: world.kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 };
    let node = |work, after| Node { work, after };
    let seven = 7_u32.to_le_bytes();
    let nodes = [
        node(NodeWork::Fill { to: a, pattern: &seven }, &[][..]),
        node(NodeWork::Copy { from: a, to: b }, &[0]),
        node(NodeWork::Launch(launch), &[1]),
        node(NodeWork::Copy { from: c, to: a }, &[0, 1, 2]),
    ];
    let graph = bench.device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "" })?;
    for _ in 0..3 {
        world.replay(graph)?;
    }
    let found = bench.read_words(a)?;
    ensure!(found.iter().all(|word| *word == 8), "the last of them left {:?}", found.iter().find(|word| **word != 8));
    bench.device.drop_graph(graph);
    Ok(())
}

pub(super) fn g6_a_timed_graph_tells_the_time_of_its_last_replay(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 3)? else { return Ok(()) };
    if !world.bench.device.capabilities().timestamps {
        return Ok(());
    }
    let steps = [Step::Fill { to: 0, word: 5 }, Step::Add { from: 0, to: 1 }, Step::Join];
    let graph = world.instantiate(&steps, true)?;
    ensure!(world.bench.device.graph_times(graph).is_none(), "times before a replay");
    world.replay(graph)?;
    world.bench.wait()?;
    let times = world.bench.device.graph_times(graph).unwrap_or_default();
    ensure!(times.len() == 3 && times[1] > 0, "the times are {times:?}");
    Ok(())
}

/// Whether it is told of this node that this index was out of bounds.
fn is_violation(cause: &LateCause, node: u32, index: i64) -> bool {
    let LateCause::Node { node: told, cause } = cause else { return false };
    *told == node && matches!(**cause, LateCause::OutOfBounds { index: found, .. } if found == index)
}

pub(super) fn t13_a_violation_in_a_node_has_the_position_of_its_replay(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    if !bench.device.capabilities().validate {
        return Ok(());
    }
    let source = "@group(0) @binding(0) var<storage, read> i: array<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn stray() { o[i[0]] = 1u; }";
    let kernel = compile(&*bench.device, source, Bounds::Validate, false)?;
    let bindings = [world.slot(0), world.slot(1)].map(Binding::Buffer);
    let launch = Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings: &bindings, immediates: &[], time_limit: 0 };
    let node = Node { work: NodeWork::Launch(launch), after: &[] };
    let graph = bench.device.instantiate(&GraphRequest { nodes: &[node], timed: false, label: "" })?;
    // Right, wrong, right again: each replay has a record of its own.
    let mut wrong = 0;
    for index in [3_u32, 1000, 4] {
        bench.queue.fill(bench.at(), world.slot(0), &index.to_le_bytes())?;
        let at = bench.at();
        bench.queue.replay(at, graph)?;
        if index == 1000 {
            wrong = at;
        }
    }
    bench.wait()?;
    let late = bench.queue.take_late();
    let right = late.len() == 1 && late[0].position == wrong && is_violation(&late[0].cause, 0, 1000);
    ensure!(right, "told: {late:?}, the violation was at {wrong}");
    bench.device.drop_graph(graph);
    Ok(())
}

pub(super) fn g6_inline_bytes_of_an_update_are_for_replays_that_are_enqueued_after_it(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    let kernel = bench.compile(
        "@group(0) @binding(0) var<uniform> word: vec4<u32>;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(64) fn put(@builtin(global_invocation_id) id: vec3<u32>) { o[id.x] = word.y + id.x; }",
    )?;
    let sum = bench.words(&[0; 64])?;
    let bytes = |round: u32| [round, 1000 * round, 0, 0].map(u32::to_le_bytes).concat();
    let grid = Grid::Direct([1, 1, 1]);
    let at_first = bytes(7);
    let bindings = [Binding::Inline(&at_first), Binding::Buffer(world.slot(0))];
    let launch = Launch { kernel, grid, bindings: &bindings, immediates: &[], time_limit: 0 };
    let nodes = [
        Node { work: NodeWork::Launch(launch), after: &[] },
        Node { work: NodeWork::Copy { from: world.slot(0), to: world.slot(1) }, after: &[0] },
    ];
    let graph = bench.device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "inline" })?;
    for round in 0..60_u32 {
        // The first replays have what the graph was made with.
        if round >= 3 {
            let now = bytes(round);
            let bindings = [Binding::Inline(&now), Binding::Buffer(world.slot(0))];
            match bench.device.update_graph(graph, 0, &NodeWork::Launch(Launch { bindings: &bindings, ..launch })) {
                Err(crate::DeviceError::Unsupported(_)) => return Ok(()),
                other => other?,
            }
        }
        world.replay(graph)?;
        bench.queue.copy(bench.at(), part(world.slot(1), 8, 4), part(sum, u64::from(round) * 4, 4))?;
    }
    let found = bench.read_words(sum)?;
    let expected: Vec<u32> = (0..60).map(|round| 1000 * if round < 3 { 7 } else { round } + 2).collect();
    ensure!(found.get(..60) == Some(&expected[..]), "the replays left {found:?}");
    bench.device.drop_graph(graph);
    Ok(())
}

pub(super) fn m7_fills_that_are_nodes_repeat_patterns_of_every_size(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    let whole: Vec<u8> = (1..=16).collect();
    for size in [1, 2, 4, 8, 16] {
        let pattern = &whole[..size];
        for (offset, count) in [(0, 64), (16, 50_003), (4, 4097), (3, 1), (5, 9_999)] {
            let mut expected = vec![0xEE_u8; 60_000];
            let block = bench.block(&expected)?;
            let node = Node { work: NodeWork::Fill { to: part(block, offset, count), pattern }, after: &[] };
            let graph = bench.device.instantiate(&GraphRequest { nodes: &[node], timed: false, label: "fill" })?;
            world.replay(graph)?;
            let place = expected.iter_mut().skip(offset as usize).take(count as usize);
            place.zip(pattern.iter().cycle()).for_each(|(byte, new)| *byte = *new);
            super::bench::same(&bench.read(block)?, &expected, &format!("{count} bytes from {offset} on, {size} of them new"))?;
            bench.device.drop_graph(graph);
            bench.device.free(block.memory);
        }
    }
    Ok(())
}

/// Rows of a width, a pitch apart at both ends, as calls that a device takes.
fn rows_of(pitched: bool, [from, to]: [Region; 2], rows: u64, width: u64, pitches: [u64; 2]) -> Vec<Pitched> {
    let [from_pitch, to_pitch] = pitches;
    let piece = |first: u64, rows: u64| {
        let region = |of, pitch| part(of, first * pitch, (rows - 1) * pitch + width);
        Pitched { from: region(from, from_pitch), to: region(to, to_pitch), width, rows, from_pitch, to_pitch }
    };
    if pitched { vec![piece(0, rows)] } else { (0..rows).map(|row| piece(row, 1)).collect() }
}

pub(super) fn m3_nodes_copy_rows_and_leave_what_is_between_them(subject: &Subject<'_>) -> Outcome {
    const SIZE: u64 = 70_000;
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    let source: Vec<u8> = (0..SIZE).map(|n| (n % 251) as u8).collect();
    for (rows, width, pitches) in [(1, 7, [7, 7]), (5, 3, [8, 5]), (40, 4, [16, 12]), (200, 9, [11, 9]), (3, 8000, [8001, 8000])]
    {
        let mut expected = vec![0xEE_u8; SIZE as usize];
        let (from, to) = (bench.block(&source)?, bench.block(&expected)?);
        let mut copies = Vec::new();
        // The second begins elsewhere in a word.
        for (from_at, to_at) in [(4, 8), (3001, 40_003)] {
            let ends = [part(from, from_at, SIZE - from_at), part(to, to_at, SIZE - to_at)];
            copies.extend(rows_of(bench.device.capabilities().pitched, ends, rows, width, pitches));
            for row in 0..rows {
                let [from, to] =
                    [from_at + row * pitches[0], to_at + row * pitches[1]].map(|at| at as usize..(at + width) as usize);
                expected[to].copy_from_slice(&source[from]);
            }
        }
        let node = Node { work: NodeWork::CopyRows(&copies), after: &[] };
        let graph = bench.device.instantiate(&GraphRequest { nodes: &[node], timed: false, label: "rows" })?;
        world.replay(graph)?;
        super::bench::same(&bench.read(to)?, &expected, &format!("{rows} rows of {width} bytes, {pitches:?} apart"))?;
        bench.device.drop_graph(graph);
        [from, to].iter().for_each(|block| bench.device.free(block.memory));
    }
    Ok(())
}

pub(super) fn t13_of_several_violations_in_a_replay_the_first_node_is_told(subject: &Subject<'_>) -> Outcome {
    let Some(world) = World::new(subject, 2)? else { return Ok(()) };
    let bench = &world.bench;
    if !bench.device.capabilities().validate {
        return Ok(());
    }
    let source = "@group(0) @binding(0) var<uniform> i: u32;
        @group(0) @binding(1) var<storage, read_write> o: array<u32>;
        @compute @workgroup_size(1) fn stray() { o[i] = 1u; }";
    let kernel = compile(&*bench.device, source, Bounds::Validate, false)?;
    let indices = [3_u32, 2000, 1000, 5].map(u32::to_le_bytes);
    let bindings: Vec<[Binding<'_>; 2]> =
        indices.iter().map(|index| [Binding::Inline(index), Binding::Buffer(world.slot(1))]).collect();
    let after = [vec![], vec![0], vec![1], vec![2]];
    let nodes: Vec<Node<'_>> = bindings
        .iter()
        .zip(&after)
        .map(|(bindings, after)| {
            let launch = Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings, immediates: &[], time_limit: 0 };
            Node { work: NodeWork::Launch(launch), after }
        })
        .collect();
    let graph = bench.device.instantiate(&GraphRequest { nodes: &nodes, timed: false, label: "" })?;
    let positions = [bench.at(), bench.at()];
    for at in positions {
        bench.queue.replay(at, graph)?;
    }
    bench.wait()?;
    let late = bench.queue.take_late();
    let first = |failure: &crate::LateFailure| is_violation(&failure.cause, 1, 2000);
    let right = late.iter().map(|failure| failure.position).eq(positions) && late.iter().all(first);
    ensure!(right, "told: {late:?}, the violations were at {positions:?}");
    bench.device.drop_graph(graph);
    Ok(())
}
