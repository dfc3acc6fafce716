//! Waiting, being told, and times.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::bench::{Bench, PATIENCE, ensure};
use super::{Failed, Outcome, Subject};
use crate::Waited;

pub(super) fn err05_a_wait_for_what_is_done_is_done(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    ensure!(bench.queue.wait(0, Some(Duration::ZERO))? == Waited::Done, "a poll for position 0 timed out");
    ensure!(bench.queue.wait(0, None)? == Waited::Done, "a wait for position 0 timed out");
    bench.block(&[1; 100])?;
    bench.wait()?;
    for timeout in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
        ensure!(bench.queue.wait(bench.last(), timeout)? == Waited::Done, "a wait of {timeout:?} for what is done timed out");
    }
    Ok(())
}

pub(super) fn err05_a_wait_for_what_never_comes_times_out(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for milliseconds in [0, 1, 50] {
        let (start, timeout) = (Instant::now(), Duration::from_millis(milliseconds));
        ensure!(bench.queue.wait(1, Some(timeout))? == Waited::TimedOut, "position 1 is done before it was enqueued");
        let took = start.elapsed();
        ensure!(took >= timeout && took < timeout + PATIENCE, "a wait of {timeout:?} took {took:?}");
    }
    bench.block(&[1])?;
    bench.wait()
}

pub(super) fn err05_a_wait_ends_when_its_position_completes(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    for round in 0..200 {
        let at = bench.at();
        let queue = Arc::clone(&bench.queue);
        let waiter = std::thread::spawn(move || queue.wait(at, Some(PATIENCE)));
        if round % 2 == 0 {
            std::thread::yield_now();
        }
        bench.queue.mark(at);
        bench.queue.submit()?;
        let waited = waiter.join().map_err(|_| Failed("the waiter panicked".into()))??;
        ensure!(waited == Waited::Done, "round {round} timed out");
    }
    Ok(())
}

pub(super) fn err07_a_callback_comes_once_early_or_late(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let (tell, told) = mpsc::channel();
    for round in 0..500 {
        let (before, after) = (tell.clone(), tell.clone());
        let at = bench.at();
        bench.queue.notify(at, Box::new(move || _ = before.send(round)));
        bench.queue.mark(at);
        bench.queue.submit()?;
        bench.wait()?;
        bench.queue.notify(at, Box::new(move || _ = after.send(round)));
    }
    let mut counts = vec![0; 500];
    for _ in 0..1000 {
        let round: usize = told.recv_timeout(PATIENCE).map_err(|_| Failed("a callback did not come".into()))?;
        counts.get_mut(round).into_iter().for_each(|count| *count += 1);
    }
    ensure!(counts.iter().all(|&count| count == 2), "callbacks per round, two each: {counts:?}");
    ensure!(told.try_recv().is_err(), "a callback came twice");
    Ok(())
}

pub(super) fn err07_callbacks_come_when_their_queue_goes(subject: &Subject<'_>) -> Outcome {
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 {
        let bench = Bench::new(subject)?;
        let count = Arc::clone(&count);
        bench.queue.notify(
            bench.last() + 1000,
            Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
            }),
        );
        bench.block(&[1; 5000])?;
    }
    let start = Instant::now();
    while count.load(Ordering::SeqCst) < 20 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    ensure!(count.load(Ordering::SeqCst) == 20, "{} callbacks of 20", count.load(Ordering::SeqCst));
    Ok(())
}

pub(super) fn tm01_stamps_are_there_and_never_go_back(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let block = bench.block(&[0; 4096])?;
    if !bench.device.capabilities().timestamps {
        ensure!(bench.queue.stamp(bench.last() + 1).is_err(), "a stamp although there are none");
        return Ok(());
    }
    let mut last = 0;
    for _ in 0..100 {
        let at = bench.at();
        bench.queue.stamp(at)?;
        bench.queue.fill(at, block, &[1])?;
        bench.wait()?;
        let Some(time) = bench.queue.timestamp(at) else { return Err(Failed(format!("no stamp for {at}"))) };
        ensure!(time >= last && time > 0, "time went from {last} to {time}");
        last = time;
    }
    // A position without work, of which what came before was sent after the stamp had been asked for.
    for _ in 0..20 {
        let at = bench.at();
        bench.queue.stamp(at)?;
        bench.queue.submit()?;
        bench.queue.mark(at);
        bench.wait()?;
        let Some(time) = bench.queue.timestamp(at) else { return Err(Failed(format!("no stamp for {at}, which has no work"))) };
        ensure!(time >= last, "time went from {last} to {time}");
        last = time;
    }
    ensure!(bench.queue.timestamp(bench.last() + 1).is_none(), "a stamp for work that does not exist");
    Ok(())
}
