//! The built-in device: portable kernels on the host's own processors.
//!
//! From the outside in: [`CpuDriver`] opens a `device`, which makes queues (`queue`: ids become jobs). A queue's jobs wait in its `fifo`
//! and are run in order by one thread at a time: a worker of the `pool`, a host thread inside `wait`, or, when they are short and nothing is
//! ahead of them, the thread that enqueues. Large jobs are shared between workers (`team`).
//!
//! Locks, in the order in which they may be taken: a queue's state, the pool's state, a queue's watchers, any other. None is held while
//! a job or foreign code runs.

#[allow(dead_code)]
mod codegen;
mod device;
mod driver;
mod fifo;
mod graph;
mod kernel;
mod launch;
mod memory;
mod pool;
mod queue;
mod scratch;
mod system;
mod team;
#[cfg(test)]
mod tests;
mod watch;
mod watchdog;
mod work;

use compute_hal::table;
pub use driver::CpuDriver;
