//! What the same work costs through the library's wgpu device, through wgpu itself, wgpu-native, cubecl and OpenCL, in one run and in turns. A peer that is not there is left out, and said to be.
//!
//!     wgpu-peers [ROUNDS [ROW [PEER...]]]    (default: 9 rounds of every row; of the rows only those whose name contains ROW, of the peers only these)
//!
//! Each line: what was measured, then for each peer the median of wall clock, the best round, and the processor time of all threads.
//! The ratio is to wgpu in the same round; the median of these is given. Run it once as it is and once under `taskset -c 0`.

#[cfg(feature = "cubecl")]
mod cube;
mod native;
mod opencl;
mod ours;
mod raw;

use std::time::Instant;

/// A storage buffer at (0, 0), one workgroup of 64.
const SOURCE: &str = "@group(0) @binding(0) var<storage, read_write> d: array<u32>;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) { d[id.x] = d[id.x] + 1u; }";
/// Buffers that launches go through, so that the arguments change each time.
const BUFFERS: usize = 16;
const LAUNCHES: usize = 1000;
const SMALL: usize = 4096;
const LARGE: usize = 64 << 20;

trait Peer {
    fn name(&self) -> &'static str;
    /// One workgroup on the next buffer.
    fn launch(&mut self);
    /// Sends what was launched.
    fn flush(&mut self);
    /// Waits for all of it.
    fn wait(&mut self);
    /// A buffer made, written, read and given back.
    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]);
    /// A buffer for the next two.
    fn prepare_large(&mut self, size: usize);
    fn upload(&mut self, data: &[u8]);
    fn readback(&mut self, out: &mut [u8]);
    /// Reads what the first launch left.
    fn first(&mut self, out: &mut [u8]);
}

/// Seconds of wall clock, and of all threads' processor time.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    processor: f64,
}

fn processor() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn timed(work: impl FnOnce()) -> Time {
    let (before, start) = (processor(), Instant::now());
    work();
    Time { wall: start.elapsed().as_secs_f64(), processor: processor() - before }
}

/// Something to measure: its name, how many times it is done in one round, and one round of it. What it returns is divided by the number of times.
struct Row {
    name: &'static str,
    times: usize,
    run: fn(&mut dyn Peer, &mut Bytes) -> Time,
}

struct Bytes {
    data: Vec<u8>,
    out: Vec<u8>,
}

const ROWS: [Row; 8] = [
    Row {
        name: "launch, other arguments each time, until all are over",
        times: LAUNCHES,
        run: |peer, _| {
            timed(|| {
                (0..LAUNCHES).for_each(|_| peer.launch());
                peer.wait();
            })
        },
    },
    Row {
        name: "the same, until the last call returns",
        times: LAUNCHES,
        run: |peer, _| {
            let time = timed(|| {
                (0..LAUNCHES).for_each(|_| peer.launch());
                peer.flush();
            });
            peer.wait();
            time
        },
    },
    Row {
        name: "launch and flush, until the last call returns",
        times: LAUNCHES,
        run: |peer, _| {
            let time = timed(|| each(LAUNCHES, || [peer.launch(), peer.flush()]));
            peer.wait();
            time
        },
    },
    Row {
        name: "launch and flush, until all are over",
        times: LAUNCHES,
        run: |peer, _| {
            timed(|| {
                each(LAUNCHES, || [peer.launch(), peer.flush()]);
                peer.wait();
            })
        },
    },
    Row { name: "launch and wait", times: 300, run: |peer, _| timed(|| each(300, || [peer.launch(), peer.wait()])) },
    Row {
        name: "create, write, read 4 KiB",
        times: 300,
        run: |peer, bytes| {
            let time = timed(|| each(300, || peer.small_cycle(&bytes.data[..SMALL], &mut bytes.out[..SMALL])));
            assert_eq!(bytes.data[..SMALL], bytes.out[..SMALL]);
            time
        },
    },
    Row { name: "upload 64 MiB", times: 1, run: |peer, bytes| timed(|| peer.upload(&bytes.data)) },
    Row {
        name: "readback 64 MiB",
        times: 1,
        run: |peer, bytes| {
            let time = timed(|| peer.readback(&mut bytes.out));
            assert_eq!(bytes.out[LARGE - 1], bytes.data[LARGE - 1]);
            time
        },
    },
];

fn each<T>(times: usize, mut work: impl FnMut() -> T) {
    for _ in 0..times {
        work();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn best(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn measure(row: &Row, peers: &mut [Box<dyn Peer>], bytes: &mut Bytes, rounds: usize) {
    let mut times: Vec<Vec<Time>> = vec![Vec::new(); peers.len()];
    for round in 0..=rounds {
        for (peer, times) in peers.iter_mut().zip(&mut times) {
            let time = (row.run)(peer.as_mut(), bytes);
            // The first round warms up.
            if round > 0 {
                times.push(time);
            }
        }
    }
    println!("{}", row.name);
    let of = |times: &[Time], which: fn(&Time) -> f64| times.iter().map(which).collect::<Vec<_>>();
    for (peer, mine) in peers.iter().zip(&times) {
        let ratio = |which: fn(&Time) -> f64| median(mine.iter().zip(&times[0]).map(|(a, b)| which(a) / which(b)).collect());
        let wall = of(mine, |time| time.wall);
        let micro = |seconds: f64| seconds * 1e6 / row.times as f64;
        println!(
            "    {:22}{:12.2} us (best {:10.2}, x{:.2} of wgpu){:12.2} us of processor time (x{:.2})",
            peer.name(),
            micro(median(wall.clone())),
            micro(best(&wall)),
            ratio(|time| time.wall),
            micro(median(of(mine, |time| time.processor))),
            ratio(|time| time.processor),
        );
    }
}

/// One launch and its result, in a process of its own.
fn start(name: &str) {
    let mut out = vec![0; 256];
    let Some(mut peer) = make(name) else { std::process::exit(1) };
    peer.launch();
    peer.first(&mut out);
    assert_eq!(out[0], 1);
}

fn make(name: &str) -> Option<Box<dyn Peer>> {
    match name {
        "wgpu" => Some(Box::new(raw::Raw::new(false))),
        "cached" => Some(Box::new(raw::Raw::new(true))),
        "libcompute" => Some(Box::new(ours::Ours::new())),
        "native" => native::Native::new().map(|peer| Box::new(peer) as Box<dyn Peer>),
        #[cfg(feature = "cubecl")]
        "cubecl" => Some(Box::new(cube::Cube::new())),
        "opencl" => opencl::OpenCl::new().map(|peer| Box::new(peer) as Box<dyn Peer>),
        _ => None,
    }
}

const NAMES: [&str; 6] = ["wgpu", "cached", "libcompute", "native", "cubecl", "opencl"];

fn measure_starts(rounds: usize) {
    let program = std::env::current_exe().expect("this program");
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); NAMES.len()];
    for round in 0..=rounds {
        for (name, times) in NAMES.iter().zip(&mut times) {
            let start = Instant::now();
            let done = std::process::Command::new(&program).args(["start", name]).status().expect("a process");
            if round > 0 && done.success() {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("start of the process to first result");
    for (name, mine) in NAMES.iter().zip(&times).filter(|(_, mine)| !mine.is_empty()) {
        let ratio = median(mine.iter().zip(&times[0]).map(|(a, b)| a / b).collect());
        println!("    {name:22}{:12.2} ms (best {:6.2}, x{ratio:.2} of wgpu)", median(mine.clone()) * 1e3, best(mine) * 1e3);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == "start") {
        return start(&arguments[2]);
    }
    let rounds = arguments.get(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(9);
    let (mut peers, mut missing) = (Vec::new(), Vec::new());
    let chosen = arguments.get(3..).unwrap_or_default();
    for name in NAMES.iter().filter(|name| chosen.is_empty() || chosen.iter().any(|one| one == *name)) {
        match make(name) {
            Some(peer) => peers.push(peer),
            None => missing.push(*name),
        }
    }
    println!("{rounds} rounds; not here: {missing:?}");
    let mut bytes = Bytes { data: (0..LARGE).map(|at| (at * 7) as u8).collect(), out: vec![1; LARGE] };
    peers.iter_mut().for_each(|peer| peer.prepare_large(LARGE));
    let only = arguments.get(2).cloned().unwrap_or_default();
    for row in ROWS.iter().filter(|row| row.name.contains(&only)) {
        let rounds = if row.times == 1 { rounds.min(9) } else { rounds };
        measure(row, &mut peers, &mut bytes, rounds);
    }
    drop(peers);
    if "start".contains(&only) && chosen.is_empty() {
        measure_starts(rounds);
    }
}
