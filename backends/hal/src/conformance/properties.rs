//! What a driver and a device say of themselves.

use super::bench::{Bench, ensure};
use super::{Outcome, Subject};

pub(super) fn f5_a_probe_lists_what_can_be_opened_and_says_what_was_tried(subject: &Subject<'_>) -> Outcome {
    let probe = subject.driver.probe();
    ensure!(!probe.tried.is_empty(), "nothing was tried");
    let listed = usize::try_from(subject.index).ok().and_then(|index| probe.devices.get(index));
    let Some(listed) = listed else {
        return Err(super::Failed(format!("device {} is not among the {} listed", subject.index, probe.devices.len())));
    };
    let bench = Bench::new(subject)?;
    let opened = bench.device.properties();
    ensure!(!opened.name.is_empty() && !opened.target.is_empty(), "a device without a name or target");
    ensure!(opened.name == listed.name && opened.target == listed.target, "opened {opened:?}, listed as {listed:?}");
    ensure!(bench.device.fault().is_none(), "a fresh device is lost");
    Ok(())
}

pub(super) fn a_device_that_was_not_listed_cannot_be_opened(subject: &Subject<'_>) -> Outcome {
    ensure!(subject.driver.open(u32::MAX, subject.options).is_err(), "device 4294967295 was opened");
    Ok(())
}

pub(super) fn dl06_no_reported_limit_is_zero(subject: &Subject<'_>) -> Outcome {
    let bench = Bench::new(subject)?;
    let limits = bench.device.limits();
    let small = [
        limits.workgroup_invocations,
        limits.bindings,
        limits.storage_alignment,
        limits.uniform_alignment,
        bench.device.capabilities().queues,
    ];
    let large = [limits.binding_size, limits.uniform_size, limits.allocation_size];
    let zero = small.contains(&0) || large.contains(&0) || limits.grid.contains(&0) || limits.workgroup_size.contains(&0);
    ensure!(!zero, "a limit of zero: {limits:?}");
    ensure!(
        limits.workgroup_size.iter().all(|&axis| axis <= limits.workgroup_invocations),
        "an axis above the whole: {limits:?}"
    );
    let alignments = [limits.storage_alignment, limits.uniform_alignment];
    ensure!(alignments.iter().all(|alignment| alignment.is_power_of_two() && *alignment <= 256), "odd alignments: {limits:?}");
    // Otherwise a grid within the limits could have more workgroups than can be counted.
    let groups = limits.grid.iter().try_fold(1_u64, |all, &axis| all.checked_mul(axis.into()));
    ensure!(groups.is_some(), "a grid of {:?} cannot be counted", limits.grid);
    Ok(())
}
