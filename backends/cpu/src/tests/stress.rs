//! Many threads, many queues, random work with edges; the contents say whether the order was kept.

use std::sync::atomic::{AtomicU64, Ordering};

use compute_hal::QueueId;
use parking_lot::Mutex;

use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const BLOCKS: usize = 6;
const SIZE: usize = 40_000;

/// A block, what it must hold when everything enqueued is done, and its last use: by an order of our own, as the runtime would.
struct Tracked {
    memory: MemoryId,
    expected: Vec<u8>,
    last: Option<(QueueId, Position)>,
}

struct Lane {
    queue: Arc<dyn Queue>,
    next: AtomicU64,
    submit: Mutex<()>,
}

struct World {
    device: CpuDevice,
    lanes: Vec<Lane>,
    blocks: Vec<Mutex<Tracked>>,
    add: KernelId,
}

impl World {
    fn new() -> Self {
        let device = open(3);
        let lanes = (0..8)
            .map(|_| Lane { queue: device.create_queue().unwrap(), next: AtomicU64::new(1), submit: Mutex::new(()) })
            .collect();
        let blocks = (0..BLOCKS)
            .map(|_| {
                let memory = device.allocate(SIZE as u64).unwrap();
                // SAFETY: nothing uses the fresh block.
                unsafe { device.map(memory).unwrap().pointer().write_bytes(0, SIZE) };
                Mutex::new(Tracked { memory, expected: vec![0; SIZE], last: None })
            })
            .collect();
        // Not atomic: two launches at once, or one that runs early, would lose counts.
        let add = kernel(&device, &Spec { scratch: 512, ..Spec::default() }, |context, group| {
            // SAFETY: every group has its own 1000 bytes of the block.
            let part = unsafe { std::slice::from_raw_parts_mut((*context.bindings).pointer.add(group[0] as usize * 1000), 1000) };
            part.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        });
        Self { device, lanes, blocks, add }
    }

    /// One random operation on one block, ordered after its last use.
    fn step(&self, random: &mut Random) {
        let lane = &self.lanes[random.below(8) as usize];
        let mut block = self.blocks[random.below(BLOCKS as u64) as usize].lock();
        let _submit = lane.submit.lock();
        let at = lane.next.fetch_add(1, Ordering::Relaxed);
        if let Some((queue, position)) = block.last.filter(|(queue, _)| *queue != lane.queue.id()) {
            lane.queue.wait_for(queue, position).unwrap();
        }
        self.work(random, &*lane.queue, at, &mut block);
        block.last = Some((lane.queue.id(), at));
    }

    fn work(&self, random: &mut Random, queue: &dyn Queue, at: Position, block: &mut Tracked) {
        let start = random.below(SIZE as u64 / 2) as usize;
        let size = 1 + random.below(SIZE as u64 / 2) as usize;
        let view = region(block.memory, start as u64, size as u64);
        let value = random.below(256) as u8;
        match random.below(6) {
            0 => {
                queue.fill(at, view, &[value]).unwrap();
                block.expected[start..start + size].fill(value);
            }
            1 => {
                queue.write(at, view, &vec![value; size]).unwrap();
                block.expected[start..start + size].fill(value);
            }
            2 => {
                let half = (SIZE / 2) as u64;
                queue.copy(at, region(block.memory, 0, half), region(block.memory, half, half)).unwrap();
                block.expected.copy_within(..SIZE / 2, SIZE / 2);
            }
            3 => queue.mark(at),
            4 => {
                let bytes = read(queue, at, view);
                assert_eq!(bytes, block.expected[start..start + size]);
            }
            _ => {
                launch(queue, at, self.add, [40, 1, 1], region(block.memory, 0, SIZE as u64)).unwrap();
                block.expected.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            }
        }
    }
}

#[test]
fn thr01_s1_eight_threads_on_eight_queues_with_edges_keep_every_byte_in_order() {
    let world = World::new();
    std::thread::scope(|scope| {
        for seed in 1..9 {
            let world = &world;
            scope.spawn(move || {
                let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
                for _ in 0..1500 {
                    world.step(&mut random);
                }
            });
        }
        // And one that does nothing but wait, with and without patience.
        scope.spawn(|| {
            let mut random = Random(77);
            for _ in 0..2000 {
                let lane = &world.lanes[random.below(8) as usize];
                let at = lane.queue.completed();
                let patience = Duration::from_micros(random.below(200));
                lane.queue.wait(at + random.below(2), Some(patience)).unwrap();
            }
        });
    });
    for block in &world.blocks {
        let block = block.lock();
        let Some((id, position)) = block.last else { continue };
        let lane = world.lanes.iter().find(|lane| lane.queue.id() == id).unwrap();
        lane.queue.wait(position, None).unwrap();
        let target = world.device.map(block.memory).unwrap();
        // SAFETY: its last use is over.
        let bytes = unsafe { std::slice::from_raw_parts(target.pointer(), target.size()) };
        assert!(bytes == block.expected, "block {:?}", block.memory);
    }
    assert!(world.device.fault().is_none());
}
