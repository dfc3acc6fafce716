//! Copies from another device and waits for its queues: here the same device, opened twice.

use super::bench::{Bench, ensure, pattern, same};
use super::{Outcome, Subject};

pub(super) fn c1_a_device_that_is_opened_twice_copies_to_itself_in_order(subject: &Subject<'_>) -> Outcome {
    let (here, there) = (Bench::new(subject)?, Bench::new(subject)?);
    let (Some(near), Some(far)) = (here.device.peer(), there.device.peer()) else { return Ok(()) };
    ensure!(near != far, "two devices have one name");
    let size = 1 << 20;
    let (a, b) = (there.block(&pattern(size, 3))?, here.block(&pattern(size, 4))?);
    if !here.device.can_reach(far, Some(a.memory)) {
        return Ok(());
    }
    for round in 1..100_u64 {
        // There: a fill that the copy must see. Back: a copy that the next fill must not overtake.
        there.queue.fill(there.at(), a, &[round as u8])?;
        here.queue.wait_for_peer(far, there.queue.id(), there.last())?;
        here.queue.copy_peer(here.at(), (far, a), b)?;
        there.queue.wait_for_peer(near, here.queue.id(), here.last())?;
    }
    there.queue.fill(there.at(), a, &[0])?;
    same(&here.read(b)?, &vec![99; size as usize], "the last copy")
}

pub(super) fn c1_a_peer_may_be_waited_for_before_its_mark_and_after_its_end(subject: &Subject<'_>) -> Outcome {
    let (here, there) = (Bench::new(subject)?, Bench::new(subject)?);
    let Some(far) = there.device.peer() else { return Ok(()) };
    let (a, b) = (there.block(&[1; 64])?, here.block(&[2; 64])?);
    if !here.device.can_reach(far, None) {
        return Ok(());
    }
    there.wait()?;
    here.queue.wait_for_peer(far, there.queue.id(), there.last() + 2)?;
    here.queue.copy_peer(here.at(), (far, a), b)?;
    here.queue.submit()?;
    there.queue.fill(there.at(), a, &[3])?;
    there.queue.mark(there.at());
    same(&here.read(b)?, &[3; 64], "the copy behind the mark")?;
    there.wait()?;
    let (queue, last) = (there.queue.id(), there.last());
    drop(there);
    here.queue.wait_for_peer(far, queue, last + 1)?;
    same(&here.read(b)?, &[3; 64], "what was there")
}
