//! A driver made of host memory, to be failed at will. Streams are lists of work that is done as late as can be: a little each time somebody asks for an event, from
//! whichever stream the dice say. So bytes that are reused too early, orders that nobody ensured and objects that are left over show.
//!
//! What a real driver would leave undefined ends the test here: memory touched outside an allocation, before it is there or after it is gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a stand-in for tests")]
#![allow(dead_code, reason = "each of the tests uses a part of it")]

mod faults;
mod memory;
pub(crate) mod scene;
mod vendor;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};

use compute_cuda_hip::GpuDriver;
use compute_cuda_hip::driver::{Copy2d, Copy3d, FillNode, Handle, PoolProperties, Status, Vendor};
#[allow(unused_imports, reason = "each of the tests uses a part of it")]
pub(crate) use faults::fail_next;
use faults::{HOOK, call};
use memory::{Block, MEMORY};
use parking_lot::{Mutex, MutexGuard};
use vendor::{AMD, CHOOSY, LAUNCHING};
#[allow(unused_imports, reason = "as above")]
pub(crate) use vendor::{POOLS, VENDOR};

pub(crate) const OUT_OF_MEMORY: Status = 2;
pub(crate) const REFUSED: Status = 1;
/// What the runtime compiler says of each text.
const LOG: &[u8] = b"a warning\0";
pub(crate) const STICKY: Status = 700;
pub(crate) const GONE: Status = 709;
pub(crate) const PEER_ENABLED: Status = 704;
pub(crate) const CAPTURING: Status = 901;
pub(crate) const CAPTURED: Status = 907;
const NOT_READY: Status = 600;
const NOT_FOUND: Status = 500;

enum Work {
    /// Rows: to, from, width, rows, pitches.
    Copy(u64, u64, usize, usize, usize, usize),
    Fill(u64, Vec<u8>, usize),
    Record(usize, u64),
    Wait(usize, u64),
    Ready(u64),
    Free(u64),
    /// The one kernel: from the two first addresses of its arguments 16 bytes each to the third.
    Launch([u64; 3]),
    /// Nodes of a graph that have not run.
    Graph(Vec<Node>),
    /// To bytes that a copy between devices has brought.
    Damage(u64, usize, Damage),
}

/// What becomes of bytes between devices, on a machine whose driver says that they arrive (MD-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// One bit of the last byte is another.
    Bit,
    /// None comes.
    Nothing,
    /// Two pages change places.
    Pages,
}

/// What a node of a graph does; it follows others.
#[derive(Clone)]
struct Node {
    id: usize,
    after: Vec<usize>,
    work: NodeWork,
}

#[derive(Clone)]
enum NodeWork {
    Nothing,
    /// Rows: to, from, width, rows, pitches.
    Copy(u64, u64, usize, usize, [usize; 2]),
    Fill(FillNode),
}

#[derive(Default)]
struct Event {
    /// The context that it was made in; 0: none that the library knows.
    context: usize,
    /// Records that were made and reached.
    made: u64,
    reached: u64,
    time: u64,
}

/// What the driver holds.
#[derive(Default)]
pub(crate) struct State {
    blocks: BTreeMap<u64, Block>,
    streams: HashMap<usize, VecDeque<Work>>,
    events: HashMap<usize, Event>,
    graphs: HashMap<usize, Vec<Node>>,
    executables: HashMap<usize, Vec<Node>>,
    pools: usize,
    retained: usize,
    current: HashMap<std::thread::ThreadId, Vec<usize>>,
    /// Contexts that were reset and that nobody has retained since.
    gone: HashSet<usize>,
    next: usize,
    dice: u64,
    clock: u64,
    calls: u64,
    fail_named: Option<(&'static str, Status)>,
    /// Workgroups of the last launch on the first axis.
    grid: u32,
    /// Its arguments.
    arguments: Vec<u8>,
    /// The head of the last code that was loaded.
    image: Vec<u8>,
    /// Somebody captures a graph, and nobody has spoiled it.
    capture: bool,
    /// Streams that have become a part of it, and events that were last recorded in one.
    captured_streams: HashSet<usize>,
    captured_events: HashSet<usize>,
    /// See [`Mock::spoil_next_record`]; the events that it came to, with the number of the record.
    spoil_next: bool,
    spoiled: HashMap<usize, u64>,
    /// Pinned memory: where it is and its bytes, and how many there may be.
    pinned: HashMap<u64, usize>,
    pinned_most: Option<usize>,
    /// The context that copies between devices come from damaged.
    damage: Option<(usize, Damage)>,
    /// Streams do nothing.
    stalled: bool,
    modes: HashMap<std::thread::ThreadId, c_int>,
    devices: c_int,
    /// Those that answer nothing.
    broken: Vec<c_int>,
    /// What the runtime compiler makes code for, if it tells.
    generations: Vec<c_int>,
    /// The program of the runtime compiler's that there is.
    program: bool,
    /// The beginning of names, how many more calls with such names there are until one fails, and what that answers.
    fail: Option<(&'static str, u64, Status)>,
    /// Whether the failure has come.
    pub(crate) failed: Option<&'static str>,
    dead: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// One test at a time has the driver.
static USER: Mutex<()> = Mutex::new(());

/// The driver, from when a test takes it until it lets go.
pub(crate) struct Mock {
    pub(crate) driver: GpuDriver,
    _user: MutexGuard<'static, ()>,
}

impl Mock {
    pub(crate) fn new() -> Self {
        Self::of(&VENDOR)
    }

    /// One that takes any kernel, and whose launches do what [`Work::Launch`] says.
    pub(crate) fn launching() -> Self {
        Self::of(&LAUNCHING)
    }

    /// One whose devices take code objects for gfx90a, and bundles of them.
    pub(crate) fn amd() -> Self {
        Self::of(&AMD)
    }

    /// One of an sm_120, whose runtime compiler makes code for these.
    pub(crate) fn compiling_for(generations: &[c_int]) -> Self {
        Self::with(&CHOOSY, generations)
    }

    fn of(vendor: &'static Vendor) -> Self {
        Self::with(vendor, &[])
    }

    fn with(vendor: &'static Vendor, generations: &[c_int]) -> Self {
        let user = USER.lock();
        *STATE.lock() = Some(State { dice: 1, devices: 1, generations: generations.to_vec(), ..State::default() });
        // SAFETY: the symbols are functions of this file, with the table's arguments.
        let driver = unsafe { GpuDriver::with_symbols(vendor, &find) }.unwrap();
        Self { driver, _user: user }
    }

    /// Streams do nothing, or go on.
    pub(crate) fn stall(&self, stalled: bool) {
        stall(stalled);
    }

    /// Begins the capture of a graph that is none of the device's business.
    pub(crate) fn capture(&self) {
        with(|state| state.capture = true);
    }

    /// An event of somebody else's, recorded in the capture, or never.
    pub(crate) fn event(&self, captured: bool) -> u64 {
        with(|state| {
            let id = state.id();
            state.events.insert(id, Event::default());
            if captured {
                state.captured_events.insert(id);
            }
            id as u64
        })
    }

    /// An event of somebody else's in a context of a device's, which has been reset since.
    pub(crate) fn event_gone(&self, device: c_int) -> u64 {
        let id = self.event(false);
        with(|state| state.events.get_mut(&(id as usize)).expect("it was just made").context = context(device));
        reset(device);
        id
    }

    /// Whether a stream has become a part of the capture.
    pub(crate) fn has_captured_streams(&self) -> bool {
        with(|state| !state.captured_streams.is_empty())
    }

    /// Whether the capture is still good, and the mode of this thread.
    pub(crate) fn captured(&self) -> (bool, c_int) {
        with(|state| (state.capture, state.modes.get(&std::thread::current().id()).copied().unwrap_or(0)))
    }

    /// Workgroups of the last launch on the first axis.
    pub(crate) fn grid(&self) -> u32 {
        with(|state| state.grid)
    }

    /// Has the last launch record a violation, at the first of its kernel's sites: the one of its arguments that is pinned memory is its record.
    pub(crate) fn record_violation(&self, index: u32, length: u32) {
        with(|state| {
            let words = state.arguments.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            let is_pinned = |word: u64| state.pinned.iter().any(|(start, size)| (*start..*start + *size as u64).contains(&word));
            let record = words.rev().find(|word| is_pinned(*word)).expect("a launch that reports");
            for (word, value) in [1, 1, index, 0, length].into_iter().enumerate() {
                // SAFETY: it has that many words and more.
                unsafe { (record as *mut u32).add(word).write(value) }
            }
        });
    }

    /// The head of the last code that was loaded.
    pub(crate) fn image(&self) -> Vec<u8> {
        with(|state| state.image.clone())
    }

    /// Has so many devices, of which some answer nothing.
    pub(crate) fn set_devices(&self, count: c_int, broken: &[c_int]) {
        with(|state| (state.devices, state.broken) = (count, broken.to_vec()));
    }

    pub(crate) fn calls(&self) -> u64 {
        with(|state| state.calls)
    }

    /// What has not been given back: blocks, streams, events, pools, contexts, graphs of both kinds.
    pub(crate) fn left(&self) -> [usize; 6] {
        with(|state| {
            let graphs = state.graphs.len() + state.executables.len();
            [state.blocks.len(), state.streams.len(), state.events.len(), state.pools, state.retained, graphs]
        })
    }

    /// Has copies from that device to others arrive like that.
    pub(crate) fn damage_copies_from(&self, device: c_int, damage: Damage) {
        with(|state| state.damage = Some((context(device), damage)));
    }

    /// The context that this thread has.
    pub(crate) fn current(&self) -> usize {
        with(|state| state.current.get(&std::thread::current().id()).and_then(|stack| stack.last().copied()).unwrap_or(0))
    }

    /// Gives this thread a context of somebody else's.
    pub(crate) fn set_current(&self, context: usize) {
        with(|state| state.current.insert(std::thread::current().id(), vec![context]));
    }
}

impl Drop for Mock {
    /// The next test starts when the last device's threads have ended: its context is the last thing that a device gives back.
    fn drop(&mut self) {
        *HOOK.lock() = None;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.left()[4] > 0 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Records an event in the capture, from a hook.
pub(crate) fn capture_event(event: u64) {
    with(|state| _ = state.captured_events.insert(event as usize));
}

/// As [`Mock::stall`], from a hook.
pub(crate) fn stall(stalled: bool) {
    with(|state| state.stalled = stalled);
}

/// What the name of a pool is behind that of its context.
const POOL: usize = 0x1000;

/// The primary context of a device.
fn context(device: c_int) -> usize {
    0x1000 + device as usize
}

/// Resets a device's primary context, as anybody in the process may. Also from a hook.
pub(crate) fn reset(device: c_int) {
    with(|state| _ = state.gone.insert(context(device)));
}

/// Blocks of memory that there are, from a hook.
pub(crate) fn blocks() -> usize {
    with(|state| state.blocks.len())
}

/// Does all that streams can do now; from then on they do nothing, as of [`Mock::stall`]. Also from a hook.
pub(crate) fn finish_and_stall() {
    finish();
    stall(true);
}

/// Does all that streams can do now.
pub(crate) fn finish() {
    with(|state| {
        let streams: Vec<usize> = state.streams.keys().copied().collect();
        while streams.iter().any(|stream| state.step(*stream)) {}
    });
}

fn with<R>(use_it: impl FnOnce(&mut State) -> R) -> R {
    use_it(STATE.lock().as_mut().expect("the driver is there"))
}

impl State {
    fn id(&mut self) -> usize {
        self.next += 0x10;
        0x7000 + self.next
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice % sides.max(1) as u64) as usize
    }

    /// Does the next piece of work of a stream, if it can.
    fn step(&mut self, stream: usize) -> bool {
        let Some(work) = self.streams.get_mut(&stream).and_then(VecDeque::pop_front) else { return false };
        match work {
            Work::Wait(event, record) if self.events.get(&event).is_some_and(|event| event.reached < record) => {
                self.streams.get_mut(&stream).unwrap().push_front(work);
                return false;
            }
            Work::Wait(..) => {}
            Work::Copy(to, from, width, rows, to_pitch, from_pitch) => {
                for row in 0..rows {
                    let (to, from) = (to + (row * to_pitch) as u64, from + (row * from_pitch) as u64);
                    let (to, from) = (self.place(to, width, false), self.place(from, width, false));
                    // SAFETY: both were looked up, or are the caller's.
                    unsafe { std::ptr::copy(from, to, width) }
                }
            }
            Work::Fill(to, pattern, count) => {
                let place = self.place(to, pattern.len() * count, true);
                let bytes = pattern.repeat(count);
                // SAFETY: the place has room for all.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) }
            }
            Work::Record(event, record) => {
                self.clock += 1_000;
                let time = self.clock;
                if let Some(event) = self.events.get_mut(&event) {
                    event.reached = event.reached.max(record);
                    event.time = time;
                }
            }
            Work::Launch([first, second, to]) => {
                let to = self.place(to, 32, true);
                for (n, from) in [first, second].into_iter().enumerate() {
                    let from = self.place(from, 16, true);
                    // SAFETY: both were looked up.
                    unsafe { std::ptr::copy(from, to.add(16 * n), 16) }
                }
            }
            Work::Graph(mut nodes) => {
                // One that nothing which is left has to come before, whichever the dice say.
                let begun = |node: &Node| !node.after.iter().any(|before| nodes.iter().any(|other| other.id == *before));
                let free: Vec<usize> = (0..nodes.len()).filter(|index| begun(&nodes[*index])).collect();
                if let Some(index) = free.get(self.roll(free.len())) {
                    self.run_node(&nodes.remove(*index).work);
                }
                if !nodes.is_empty() {
                    self.streams.get_mut(&stream).unwrap().push_front(Work::Graph(nodes));
                }
            }
            Work::Damage(to, size, damage) => {
                let place = self.place(to, size, true);
                // SAFETY: it was looked up.
                let bytes = unsafe { std::slice::from_raw_parts_mut(place, size) };
                match damage {
                    Damage::Bit => bytes.last_mut().into_iter().for_each(|byte| *byte ^= 1),
                    Damage::Nothing => {}
                    Damage::Pages => {
                        let (first, second) = bytes.split_at_mut(size / 2);
                        first.iter_mut().zip(second).take(4096).for_each(|(one, other)| std::mem::swap(one, other));
                    }
                }
            }
            Work::Ready(address) => self.blocks.get_mut(&address).unwrap().ready = true,
            Work::Free(address) => {
                let mut gone = self.blocks.remove(&address).expect("freed twice");
                gone.bytes.iter_mut().take(1 << 20).for_each(|byte| *byte = 0xDD);
            }
        }
        true
    }

    fn run_node(&mut self, work: &NodeWork) {
        match *work {
            NodeWork::Nothing => {}
            NodeWork::Copy(to, from, width, rows, [to_pitch, from_pitch]) => {
                for row in 0..rows {
                    let (to, from) = (to + (row * to_pitch) as u64, from + (row * from_pitch) as u64);
                    let (to, from) = (self.place(to, width, false), self.place(from, width, false));
                    // SAFETY: both were looked up.
                    unsafe { std::ptr::copy(from, to, width) }
                }
            }
            NodeWork::Fill(FillNode { to, value, element, count }) => {
                assert!(matches!(element, 1 | 2 | 4) && to.is_multiple_of(element.into()), "a fill of {element} at {to:#x}");
                let bytes = value.to_le_bytes()[..element as usize].repeat(count);
                let place = self.place(to, bytes.len(), true);
                // SAFETY: the place has room for all.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) }
            }
        }
    }

    fn add_node(&mut self, node: *mut Handle, graph: Handle, after: *const Handle, count: usize, work: NodeWork) -> Status {
        let id = self.id();
        assert_eq!(after.is_null(), count == 0);
        // SAFETY: as many as the caller says.
        let after = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(after, count) } };
        let after: Vec<usize> = after.iter().map(|before| *before as usize).collect();
        let nodes = self.graphs.get_mut(&(graph as usize)).expect("a graph that lives");
        assert!(after.iter().all(|before| nodes.iter().any(|other| other.id == *before)), "an edge from another graph's node");
        nodes.push(Node { id, after, work });
        give(node, id as Handle)
    }

    fn set_node(&mut self, executable: Handle, node: Handle, work: NodeWork) -> Status {
        let id = node as usize;
        assert!(self.graphs.values().flatten().any(|known| known.id == id), "a node whose graph is gone");
        let nodes = self.executables.get_mut(&(executable as usize)).expect("what was made ready");
        nodes.iter_mut().find(|known| known.id == id).expect("a node of it").work = work;
        0
    }

    /// Some work of some streams.
    fn progress(&mut self) {
        if self.stalled {
            return;
        }
        let mut streams: Vec<usize> = self.streams.keys().copied().collect();
        streams.sort_unstable();
        for _ in 0..self.roll(7) {
            let at = self.roll(streams.len());
            if let Some(stream) = streams.get(at) {
                self.step(*stream);
            }
        }
    }

    fn push(&mut self, stream: Handle, work: Work) -> Status {
        // A node of the graph, which nobody runs.
        if self.captured_streams.contains(&(stream as usize)) {
            return 0;
        }
        match self.streams.get_mut(&(stream as usize)) {
            Some(list) => list.push_back(work),
            None => panic!("no such stream"),
        }
        0
    }
}

macro_rules! mock {
    ($($name:ident($state:ident $(, $parameter:ident: $ty:ty)*) $body:block)*) => {
        $(unsafe extern "C" fn $name($($parameter: $ty),*) -> Status {
            call(stringify!($name), |$state| $body)
        })*

        fn find(symbol: &CStr) -> Option<*mut c_void> {
            match symbol.to_str().ok()? {
                $(stringify!($name) => Some($name as *mut c_void),)*
                _ => None,
            }
        }
    };
}

/// Stores an answer.
fn give<T>(place: *mut T, value: T) -> Status {
    // SAFETY: the caller's place for an answer.
    unsafe { place.write(value) }
    0
}

mock! {
    init(_state, _flags: u32) { 0 }
    last_error(_state) { 0 }
    driver_version(_state, version: *mut c_int) { give(version, 12_000) }
    capture_mode(state, mode: *mut c_int) {
        let kept = state.modes.entry(std::thread::current().id()).or_insert(0);
        // SAFETY: the caller's place.
        let asked = unsafe { *mode };
        give(mode, std::mem::replace(kept, asked))
    }
    device_count(state, count: *mut c_int) { give(count, state.devices) }
    device_get(_state, device: *mut c_int, index: c_int) { give(device, index) }
    device_name(_state, name: *mut c_char, _length: c_int, _device: c_int) {
        // SAFETY: there are at least five bytes.
        unsafe { std::ptr::copy_nonoverlapping(c"mock".as_ptr(), name, 5) }
        0
    }
    device_memory(state, size: *mut usize, device: c_int) {
        if state.broken.contains(&device) { REFUSED } else { give(size, MEMORY) }
    }
    device_attribute(_state, value: *mut c_int, attribute: c_int, device: c_int) {
        give(value, match attribute {
            1..=4 => 1024,
            5 => c_int::MAX,
            6 | 7 => 65_535,
            8 => 48 << 10,
            10 => 32,
            11 => 100_000,
            16 => 10 + device,
            115 => c_int::from(POOLS.load(std::sync::atomic::Ordering::Relaxed)),
            _ => 1,
        })
    }
    primary_retain(state, place: *mut Handle, device: c_int) {
        state.retained += 1;
        state.gone.remove(&context(device));
        give(place, context(device) as Handle)
    }
    primary_release(state, _device: c_int) { state.retained -= 1; 0 }
    context_current(state, context: *mut Handle) {
        let stack = state.current.entry(std::thread::current().id()).or_default();
        give(context, stack.last().copied().unwrap_or(0) as Handle)
    }
    context_push(state, context: Handle) {
        state.current.entry(std::thread::current().id()).or_default().push(context as usize);
        0
    }
    context_pop(state, context: *mut Handle) {
        let top = state.current.entry(std::thread::current().id()).or_default().pop();
        give(context, top.unwrap_or(0) as Handle)
    }
    memory_info(_state, free: *mut usize, total: *mut usize) { give(total, MEMORY); give(free, 1) }
    allocate(state, address: *mut u64, size: usize) {
        state.add_block(size, true).map_or(OUT_OF_MEMORY, |found| give(address, found))
    }
    free(state, address: u64) { state.blocks.remove(&address).expect("freed twice"); 0 }
    pool_create(state, pool: *mut Handle, _properties: *const PoolProperties) {
        state.pools += 1;
        let context = state.current.get(&std::thread::current().id()).and_then(|stack| stack.last().copied()).unwrap_or(0);
        give(pool, (POOL + context) as Handle)
    }
    pool_destroy(state, _pool: Handle) { state.pools -= 1; 0 }
    pool_set(_state, _pool: Handle, _attribute: c_int, _value: *mut c_void) { 0 }
    pool_trim(_state, _pool: Handle, _keep: usize) { 0 }
    pool_allocate(state, address: *mut u64, size: usize, _pool: Handle, stream: Handle) {
        let Some(found) = state.add_block(size, false) else { return OUT_OF_MEMORY };
        state.push(stream, Work::Ready(found));
        give(address, found)
    }
    pool_free(state, address: u64, stream: Handle) { state.push(stream, Work::Free(address)) }
    host_allocate(state, pointer: *mut *mut c_void, size: usize, _flags: u32) {
        state.add_pinned(size).map_or(OUT_OF_MEMORY, |found| give(pointer, found as *mut c_void))
    }
    host_free(state, pointer: *mut c_void) {
        state.pinned.remove(&(pointer as u64));
        state.blocks.remove(&(pointer as u64)).expect("freed twice");
        0
    }
    pointer_attribute(state, value: *mut c_void, attribute: c_int, address: u64) {
        assert_eq!(attribute, 9);
        match state.block_at(address) {
            Some(_) => give(value.cast::<c_int>(), 0),
            None => NOT_FOUND,
        }
    }
    address_range(state, base: *mut u64, size: *mut usize, address: u64) {
        let Some((start, length)) = state.block_at(address) else { return NOT_FOUND };
        give(base, start);
        give(size, length)
    }
    host_address(_state, address: *mut u64, pointer: *mut c_void, _flags: u32) { give(address, pointer as u64) }
    write_async(state, to: u64, from: *const c_void, size: usize, stream: Handle) {
        state.push(stream, Work::Copy(to, from as u64, size, 1, 0, 0))
    }
    read_async(state, to: *mut c_void, from: u64, size: usize, stream: Handle) {
        state.push(stream, Work::Copy(to as u64, from, size, 1, 0, 0))
    }
    copy_async(state, to: u64, from: u64, size: usize, stream: Handle) {
        state.push(stream, Work::Copy(to, from, size, 1, 0, 0))
    }
    can_access_peer(_state, can: *mut c_int, _device: c_int, _peer: c_int) { give(can, 1) }
    peer_enable_context(state, peer: Handle, _flags: u32) { if state.gone.contains(&(peer as usize)) { GONE } else { 0 } }
    pool_access(state, pool: Handle, _access: *const c_void, _count: usize) {
        assert!(!state.gone.contains(&(pool as usize - POOL)), "the pool of a context that is gone");
        0
    }
    copy_peer_contexts(state, to: u64, _to_context: Handle, from: u64, from_context: Handle, size: usize, stream: Handle) {
        assert!(!state.gone.contains(&(from_context as usize)), "the driver crashes on a copy from a context that is gone");
        let damage = state.damage.filter(|(context, _)| *context == from_context as usize).map(|(_, damage)| damage);
        if damage != Some(Damage::Nothing) {
            state.push(stream, Work::Copy(to, from, size, 1, 0, 0));
        }
        damage.map_or(0, |damage| state.push(stream, Work::Damage(to, size, damage)))
    }
    copy_2d_async(state, copy: *const Copy2d, stream: Handle) {
        // SAFETY: the caller's structure.
        let copy = unsafe { *copy };
        let to = if copy.to_kind == 1 { copy.to_host as u64 } else { copy.to_device };
        let from = if copy.from_kind == 1 { copy.from_host as u64 } else { copy.from_device };
        if copy.to_pitch < copy.width || copy.from_pitch < copy.width || copy.to_pitch.max(copy.from_pitch) > 100_000 {
            return REFUSED;
        }
        state.push(stream, Work::Copy(to, from, copy.width, copy.height, copy.to_pitch, copy.from_pitch))
    }
    fill_8_async(state, to: u64, value: u8, count: usize, stream: Handle) { state.push(stream, Work::Fill(to, vec![value], count)) }
    fill_16_async(state, to: u64, value: u16, count: usize, stream: Handle) {
        assert_eq!(to % 2, 0);
        state.push(stream, Work::Fill(to, value.to_le_bytes().to_vec(), count))
    }
    fill_32_async(state, to: u64, value: u32, count: usize, stream: Handle) {
        assert_eq!(to % 4, 0);
        state.push(stream, Work::Fill(to, value.to_le_bytes().to_vec(), count))
    }
    stream_create(state, stream: *mut Handle, _flags: u32) {
        let id = state.id();
        state.streams.insert(id, VecDeque::new());
        give(stream, id as Handle)
    }
    stream_destroy(state, stream: Handle) {
        // What it waits for in other streams goes on meanwhile.
        for _ in 0..100_000 {
            if state.streams.get(&(stream as usize)).expect("destroyed twice").is_empty() {
                break;
            }
            state.progress();
        }
        assert!(state.streams.remove(&(stream as usize)).expect("destroyed twice").is_empty(), "a stream goes with work that waits");
        0
    }
    stream_query(state, stream: Handle) {
        state.progress();
        if state.streams.get(&(stream as usize)).unwrap().is_empty() { 0 } else { NOT_READY }
    }
    stream_capturing(state, stream: Handle, status: *mut c_int) {
        give(status, c_int::from(state.captured_streams.contains(&(stream as usize))))
    }
    stream_wait(state, stream: Handle, event: Handle, _flags: u32) {
        let Event { made, context, .. } = *state.events.get(&(event as usize)).expect("an event that lives");
        if state.gone.contains(&context) {
            return GONE;
        }
        if state.captured_events.contains(&(event as usize)) {
            state.captured_streams.insert(stream as usize);
        }
        state.push(stream, Work::Wait(event as usize, made))
    }
    event_create(state, event: *mut Handle, _flags: u32) {
        let id = state.id();
        let stack = state.current.get(&std::thread::current().id());
        let context = stack.and_then(|stack| stack.last().copied()).unwrap_or(0);
        state.events.insert(id, Event { context, ..Event::default() });
        give(event, id as Handle)
    }
    event_destroy(state, event: Handle) { state.events.remove(&(event as usize)).expect("destroyed twice"); 0 }
    event_record(state, event: Handle, stream: Handle) {
        let entry = state.events.get_mut(&(event as usize)).expect("an event that lives");
        if state.gone.contains(&entry.context) {
            return GONE;
        }
        if state.captured_streams.contains(&(stream as usize)) {
            state.captured_events.insert(event as usize);
            return 0;
        }
        state.captured_events.remove(&(event as usize));
        entry.made += 1;
        let made = entry.made;
        if std::mem::take(&mut state.spoil_next) {
            state.spoiled.insert(event as usize, made);
        }
        state.push(stream, Work::Record(event as usize, made))
    }
    event_query(state, event: Handle) {
        if state.captured_events.contains(&(event as usize)) {
            state.capture = false;
            return CAPTURED;
        }
        if state.events.get(&(event as usize)).is_some_and(|event| state.gone.contains(&event.context)) {
            return GONE;
        }
        state.progress();
        let spoiled = state.spoiled.get(&(event as usize)).copied();
        let event = state.events.get(&(event as usize)).expect("an event that lives");
        if spoiled.is_some_and(|record| event.reached >= record && event.made == record) {
            return REFUSED;
        }
        if event.reached >= event.made { 0 } else { NOT_READY }
    }
    event_elapsed(state, milliseconds: *mut f32, from: Handle, to: Handle) {
        let time = |event: Handle| state.events.get(&(event as usize)).unwrap().time as f32 / 1e6;
        give(milliseconds, time(to) - time(from))
    }
    module_load(state, module: *mut Handle, image: *const c_void, _options: u32, _option: *mut c_int, _values: *mut *mut c_void) {
        // SAFETY: an image of any kind has a byte, and an ELF file a head.
        state.image = unsafe {
            let is_file = image.cast::<u8>().read() == 0x7f;
            std::slice::from_raw_parts(image.cast::<u8>(), if is_file { 64 } else { 1 }).to_vec()
        };
        give(module, 0x3000 as Handle)
    }
    module_unload(_state, _module: Handle) { 0 }
    module_function(_state, function: *mut Handle, _module: Handle, _name: *const c_char) { give(function, 0x3100 as Handle) }
    function_attribute(_state, _value: *mut c_int, _attribute: c_int, _function: Handle) { REFUSED }
    resident(_state, count: *mut c_int, _function: Handle, _invocations: c_int, _shared: usize) { give(count, 3) }
    launch(state, _f: Handle, x: u32, _y: u32, _z: u32, _bx: u32, _by: u32, _bz: u32, _shared: u32, stream: Handle, _a: *mut *mut c_void, extra: *mut *mut c_void) {
        state.grid = x;
        // SAFETY: the block of arguments is the second of `extra` and begins with three addresses.
        let arguments = unsafe {
            let (block, size) = ((*extra.add(1)).cast::<u8>(), (*extra.add(3)).cast::<usize>().read());
            state.arguments = std::slice::from_raw_parts(block, size).to_vec();
            block.cast::<[u64; 3]>().read_unaligned()
        };
        state.push(stream, Work::Launch(arguments))
    }
    version(_state, major: *mut c_int, minor: *mut c_int) { give(major, 12); give(minor, 0) }
    create(state, program: *mut Handle, _source: *const c_char, _name: *const c_char, _headers: c_int, _header: *const *const c_char, _names: *const *const c_char) {
        state.program = true;
        give(program, 0x4000 as Handle)
    }
    compile(_state, _program: Handle, _count: c_int, _options: *const *const c_char) { 0 }
    log_size(_state, _program: Handle, size: *mut usize) { give(size, LOG.len()) }
    log(_state, _program: Handle, log: *mut c_char) {
        // SAFETY: there is room for as many bytes as were told.
        unsafe { std::ptr::copy_nonoverlapping(LOG.as_ptr().cast(), log, LOG.len()) }
        0
    }
    code_size(_state, _program: Handle, size: *mut usize) { give(size, 1) }
    code(_state, _program: Handle, code: *mut c_char) { give(code, 1) }
    destroy(state, _program: *mut Handle) { state.program = false; 0 }
    architecture_count(state, count: *mut c_int) {
        if state.generations.is_empty() { REFUSED } else { give(count, state.generations.len() as c_int) }
    }
    architectures(state, all: *mut c_int) {
        // SAFETY: there is room for as many as were told.
        unsafe { std::ptr::copy_nonoverlapping(state.generations.as_ptr(), all, state.generations.len()) }
        0
    }
    graph_create(state, graph: *mut Handle, _flags: u32) {
        let id = state.id();
        state.graphs.insert(id, Vec::new());
        give(graph, id as Handle)
    }
    graph_destroy(state, graph: Handle) { state.graphs.remove(&(graph as usize)).expect("destroyed twice"); 0 }
    graph_instantiate(state, executable: *mut Handle, graph: Handle, _flags: u64) {
        let (id, nodes) = (state.id(), state.graphs.get(&(graph as usize)).expect("a graph that lives").clone());
        state.executables.insert(id, nodes);
        give(executable, id as Handle)
    }
    graph_launch(state, executable: Handle, stream: Handle) {
        let nodes = state.executables.get(&(executable as usize)).expect("what was made ready").clone();
        state.push(stream, Work::Graph(nodes))
    }
    graph_executable_destroy(state, executable: Handle) {
        state.executables.remove(&(executable as usize)).expect("destroyed twice");
        0
    }
    graph_add_empty(state, node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        state.add_node(node, graph, after, count, NodeWork::Nothing)
    }
    graph_add_kernel(_state, _node: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _launch: *const c_void) {
        REFUSED
    }
    graph_add_fill_in(state, node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const c_void, context: Handle) {
        assert_eq!(context as usize, 0x1000);
        state.add_node(node, graph, after, count, filled(fill))
    }
    graph_add_copy_in(state, node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Copy3d, context: Handle) {
        assert_eq!(context as usize, 0x1000);
        state.add_node(node, graph, after, count, copied(copy))
    }
    graph_set_fill_in(state, executable: Handle, node: Handle, fill: *const c_void, _context: Handle) {
        state.set_node(executable, node, filled(fill))
    }
    graph_set_copy_in(state, executable: Handle, node: Handle, copy: *const Copy3d, _context: Handle) {
        state.set_node(executable, node, copied(copy))
    }
}

fn copied(copy: *const Copy3d) -> NodeWork {
    // SAFETY: the caller's structure.
    let copy = unsafe { *copy };
    let [width, rows, layers] = copy.size;
    assert_eq!((layers, copy.to_kind), (1, 2));
    assert!(rows == 1 || copy.to_pitch[0].min(copy.from_pitch[0]) >= width, "rows that reach into each other");
    let from = if copy.from_kind == 1 { copy.from_host as u64 } else { copy.from_device };
    NodeWork::Copy(copy.to_device, from, width, rows, [copy.to_pitch[0], copy.from_pitch[0]])
}

fn filled(fill: *const c_void) -> NodeWork {
    // SAFETY: what the vendor's `fill_node` below makes.
    NodeWork::Fill(unsafe { *fill.cast::<FillNode>() })
}
