//! Order within a queue, between queues, and over their end.

use std::collections::HashSet;
use std::sync::Arc;

use super::bench::{Bench, ensure, part, pattern, read, same, wait};
use super::{Failed, Outcome, Subject};
use crate::Queue;

pub(super) fn l8_work_of_one_queue_runs_in_order(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let size = 4 << 20;
    let (a, b) = (bench.block(&pattern(size, 1))?, bench.block(&pattern(size, 2))?);
    // Each step reads what the one before wrote; large and small ones alternate.
    for step in 0..60_u8 {
        bench.queue.fill(bench.at(), a, &[step])?;
        bench.queue.copy(bench.at(), part(a, 0, 100), part(b, u64::from(step) * 100, 100))?;
        bench.queue.copy(bench.at(), part(b, 0, 6000), part(a, 10_000, 6000))?;
    }
    let expected: Vec<u8> = (0..60).flat_map(|step| [step; 100]).collect();
    same(&bench.read(part(a, 10_000, 6000))?, &expected, "what the steps left")
}

pub(super) fn positions_complete_in_order_and_marks_among_them(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let block = bench.block(&[0; 1000])?;
    let mut seen = bench.queue.completed();
    ensure!(seen <= 1, "position {seen} completed, 1 was the last given");
    for round in 0..1000 {
        if round % 3 == 0 {
            // Numbers may be left out.
            let _ = bench.at();
            bench.queue.mark(bench.at());
        } else {
            bench.queue.fill(bench.at(), block, &[1])?;
        }
        let now = bench.queue.completed();
        ensure!(now >= seen && now <= bench.last(), "completed went from {seen} to {now}, {} was the last given", bench.last());
        seen = now;
    }
    bench.wait()?;
    ensure!(bench.queue.completed() == bench.last(), "{} completed of {}", bench.queue.completed(), bench.last());
    Ok(())
}

pub(super) fn l8_an_edge_orders_work_of_two_queues(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if bench.device.capabilities().queues < 2 {
        return Ok(());
    }
    let other = bench.device.create_queue()?;
    let size = 1 << 20;
    let (a, b) = (bench.block(&pattern(size, 3))?, bench.block(&pattern(size, 4))?);
    other.wait_for(bench.queue.id(), bench.last())?;
    for round in 1..100_u64 {
        // There: a fill that the other's copy must see. Back: a copy that the next fill must not overtake.
        bench.queue.fill(bench.at(), a, &[round as u8])?;
        other.wait_for(bench.queue.id(), bench.last())?;
        other.copy(round, a, b)?;
        bench.queue.wait_for(other.id(), round)?;
    }
    bench.queue.fill(bench.at(), a, &[0])?;
    same(&read(&*other, 100, b)?, &vec![99; size as usize], "the last copy")
}

pub(super) fn l8_an_edge_may_come_before_the_mark_that_it_waits_for(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if bench.device.capabilities().queues < 2 {
        return Ok(());
    }
    let other = bench.device.create_queue()?;
    let (block, to) = (bench.block(&[1; 64])?, bench.block(&[2; 64])?);
    bench.wait()?;
    let mark = bench.last() + 2;
    other.wait_for(bench.queue.id(), mark)?;
    other.copy(1, block, to)?;
    other.submit()?;
    bench.queue.fill(bench.at(), block, &[3])?;
    bench.queue.mark(bench.at());
    bench.queue.submit()?;
    same(&read(&*other, 2, to)?, &[3; 64], "what the other queue copied")
}

pub(super) fn s1_as_many_queues_as_are_reported_can_be_used(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let count = bench.device.capabilities().queues.min(4096);
    let block = bench.block(&vec![0; count as usize * 4])?;
    bench.wait()?;
    let mut queues = vec![Arc::clone(&bench.queue)];
    while (queues.len() as u64) < u64::from(count) {
        queues.push(bench.device.create_queue()?);
    }
    for (n, queue) in queues.iter().enumerate() {
        queue.fill(100, part(block, n as u64 * 4, 4), &(n as u32 + 1).to_le_bytes())?;
    }
    for queue in &queues {
        wait(&**queue, 100)?;
    }
    let ids: HashSet<_> = queues.iter().map(|queue| queue.id()).collect();
    ensure!(ids.len() == queues.len(), "{} ids for {} queues", ids.len(), queues.len());
    let expected: Vec<u8> = (1..=count).flat_map(u32::to_le_bytes).collect();
    same(&read(&*bench.queue, 101, block)?, &expected, "what the queues wrote")
}

pub(super) fn s1_queues_used_by_many_threads_keep_apart(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let count = u64::from(bench.device.capabilities().queues.min(8));
    let work = |n: u64, queue: &dyn Queue, first: u64| -> Outcome {
        let memory = bench.device.allocate(50_000)?;
        let block = super::bench::whole(memory, 50_000);
        for round in 0..200 {
            let at = first + round * 3;
            let bytes = pattern(50_000 - round, n * 1000 + round);
            let view = part(block, round, bytes.len() as u64);
            queue.write(at, view, &bytes)?;
            same(&read(queue, at + 1, view)?, &bytes, "a thread's own block")?;
        }
        bench.device.free(memory);
        Ok(())
    };
    let queues: Vec<Arc<dyn Queue>> = (1..count).map(|_| bench.device.create_queue()).collect::<Result<_, _>>()?;
    let outcomes = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            queues.iter().enumerate().map(|(n, queue)| scope.spawn(move || work(n as u64, &**queue, 1))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failed("a thread panicked".into()))))
            .collect::<Vec<_>>()
    });
    outcomes.into_iter().collect()
}

pub(super) fn dropping_a_queue_lets_its_work_finish(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    if bench.device.capabilities().queues < 2 {
        return Ok(());
    }
    let block = bench.block(&pattern(8 << 20, 1))?;
    bench.wait()?;
    let other = bench.device.create_queue()?;
    for step in 1..20_u8 {
        other.fill(step.into(), block, &[step])?;
    }
    bench.queue.wait_for(other.id(), 19)?;
    drop(other);
    same(&bench.read(part(block, (8 << 20) - 16, 16))?, &[19; 16], "what the dropped queue wrote")
}

pub(super) fn a_queue_outlives_the_handle_of_its_device(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let block = bench.block(&pattern(3 << 20, 1))?;
    let Bench { device, queue, .. } = bench;
    queue.fill(2, block, &[5])?;
    drop(device);
    same(&read(&*queue, 3, part(block, 0, 16))?, &[5; 16], "what the queue wrote")
}
