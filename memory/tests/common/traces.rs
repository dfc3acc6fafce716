//! Two traces of allocations, the same on every run: steps of training a transformer, and frames of a renderer.
//!
//! Sizes are what such programs ask for, not rounded to anything.

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Allocates.
    Allocate {
        /// Number of the allocation, never used again.
        id: u32,
        /// Bytes.
        size: u64,
        /// Told to be long-lived.
        persistent: bool,
    },
    /// Releases.
    Release {
        /// Number of the allocation.
        id: u32,
    },
}

struct Trace {
    events: Vec<Event>,
    next: u32,
    state: u64,
}

impl Trace {
    fn new(seed: u64) -> Self {
        Self { events: Vec::new(), next: 0, state: seed }
    }

    fn allocate(&mut self, size: u64, persistent: bool) -> u32 {
        let id = self.next;
        self.next += 1;
        self.events.push(Event::Allocate { id, size, persistent });
        id
    }

    fn temporary(&mut self, size: u64) -> u32 {
        self.allocate(size, false)
    }

    fn release(&mut self, id: u32) {
        self.events.push(Event::Release { id });
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % limit
    }
}

/// Steps of training a transformer of 12 layers: weights and the optimizer's moments for ever, activations kept from the forward to the backward pass,
/// gradients until the optimizer has used them, scratch in between. The length of a batch changes from step to step.
pub fn training(steps: u32) -> Vec<Event> {
    steps_of(steps, 8)
}

/// [`training`] with batches of one length.
pub fn same_steps(steps: u32) -> Vec<Event> {
    steps_of(steps, 1)
}

fn steps_of(steps: u32, lengths: u64) -> Vec<Event> {
    const LAYERS: u64 = 12;
    const WIDTH: u64 = 768;
    let mut trace = Trace::new(17);
    let weights = [WIDTH * WIDTH * 3, WIDTH * WIDTH, WIDTH * WIDTH * 4, WIDTH * WIDTH * 4, WIDTH, WIDTH, WIDTH * 4];
    for elements in (0..LAYERS).flat_map(|_| weights).chain([WIDTH * 16_000]) {
        for _ in 0..3 {
            trace.allocate(elements * 4, true);
        }
    }
    for _ in 0..steps {
        let tokens = 4 * (160 + 32 * trace.below(lengths));
        step(&mut trace, tokens, LAYERS, WIDTH, &weights);
    }
    trace.events
}

fn step(trace: &mut Trace, tokens: u64, layers: u64, width: u64, weights: &[u64]) {
    let (row, scores) = (tokens * width * 4, tokens / 4 * tokens * 12 * 4);
    let mut kept = Vec::new();
    let mut stream = trace.temporary(row);
    for _ in 0..layers {
        let norm = trace.temporary(row);
        let statistics = trace.temporary(tokens * 8);
        let qkv = trace.temporary(row * 3);
        let raw = trace.temporary(scores);
        let soft = trace.temporary(scores);
        trace.release(raw);
        let mixed = trace.temporary(row);
        let wide = trace.temporary(row * 4);
        let active = trace.temporary(row * 4);
        let out = trace.temporary(row);
        kept.push([norm, statistics, qkv, soft, mixed, wide, active, stream]);
        stream = out;
    }
    let logits = trace.temporary(tokens * 16_000 * 4);
    let loss = trace.temporary(4);
    let mut gradient = trace.temporary(row);
    let logit_gradient = trace.temporary(tokens * 16_000 * 4);
    for id in [logits, loss, logit_gradient, stream] {
        trace.release(id);
    }
    let mut gradients = Vec::new();
    for layer in kept.into_iter().rev() {
        let wide = trace.temporary(row * 4);
        let scratch = trace.temporary(scores);
        let qkv = trace.temporary(row * 3);
        gradients.extend(weights.iter().map(|elements| trace.temporary(elements * 4)));
        for id in [wide, scratch, qkv, gradient].into_iter().chain(layer) {
            trace.release(id);
        }
        gradient = trace.temporary(row);
    }
    trace.release(gradient);
    for id in gradients {
        let norm = trace.temporary(1024);
        trace.release(norm);
        trace.release(id);
    }
}

/// Frames of a renderer: textures and meshes that stream in and out, render targets of a window that is resized now and then, and small blocks
/// of constants that live for three frames.
pub fn frames(count: u32) -> Vec<Event> {
    let mut trace = Trace::new(91);
    for _ in 0..200 {
        let size = 64 * 1024 + trace.below(2 << 20);
        trace.allocate(size, true);
    }
    let mut streamed: Vec<u32> = Vec::new();
    let mut flying: Vec<Vec<u32>> = Vec::new();
    let (mut wide, mut high) = (1920, 1080);
    let mut targets = Vec::new();
    for frame in 0..count {
        if frame % 97 == 0 {
            (wide, high) = (1280 + 16 * trace.below(80), 720 + 8 * trace.below(90));
            targets.drain(..).for_each(|id| trace.release(id));
            targets.extend([wide * high * 4, wide * high * 8, wide * high * 4].map(|size| trace.temporary(size)));
        }
        let mut bloom: Vec<u32> = (1..7).map(|level| trace.temporary((wide >> level) * (high >> level) * 8)).collect();
        let constants = (0..150).map(|_| 64 + 16 * trace.below(64)).collect::<Vec<_>>();
        let mut small: Vec<u32> = constants.into_iter().map(|size| trace.temporary(size)).collect();
        for _ in 0..trace.below(8) {
            let size = 4096 << trace.below(9);
            let odd = trace.below(size);
            small.push(trace.temporary(size + odd));
        }
        flying.push(small);
        if flying.len() > 3 {
            flying.remove(0).into_iter().for_each(|id| trace.release(id));
        }
        stream(&mut trace, &mut streamed);
        bloom.drain(..).for_each(|id| trace.release(id));
    }
    trace.events
}

fn stream(trace: &mut Trace, streamed: &mut Vec<u32>) {
    for _ in 0..4 {
        if streamed.len() > 300 || streamed.len() > 100 && trace.below(2) == 0 {
            let gone = trace.below(streamed.len() as u64) as usize;
            let id = streamed.swap_remove(gone);
            trace.release(id);
        } else {
            let side = 64 << trace.below(5);
            let high = side / (1 + trace.below(3));
            streamed.push(trace.temporary(side * high * 4 * 4 / 3));
        }
    }
}
