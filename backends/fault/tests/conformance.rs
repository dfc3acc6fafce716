//! The stand-ins against the suite that every device runs: a wrapper with nothing armed must not be noticed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::sync::Arc;

use compute_cpu::CpuDriver;
use compute_fault::{Calls, FaultDriver, FaultPlan, NullDriver};
use compute_hal::conformance::{Exception, Subject, run};
use compute_hal::{Driver, OpenOptions};

fn conforms(driver: &dyn Driver, exceptions: &[Exception]) {
    let subject = Subject { driver, index: 0, options: &OpenOptions { threads: 2, ..OpenOptions::default() } };
    run(&subject, exceptions).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn a_wrapped_device_with_nothing_armed_conforms_as_the_device_inside() {
    for plan in [FaultPlan::default(), FaultPlan::never_late(Calls::ALL)] {
        let plan = Arc::new(plan);
        conforms(&FaultDriver::new(Box::new(CpuDriver), Arc::clone(&plan)), &[]);
        assert!(plan.calls() > 1000);
        assert_eq!(plan.fired(), 0);
    }
}

/// The null device keeps no bytes and runs no kernels, so whatever looks at contents must fail on it.
const NULL: &[&str] = &[
    "m7_what_was_written_is_read_back",
    "m7_a_write_has_copied_its_bytes_when_it_returns",
    "m7_a_borrowed_write_arrives",
    "m7_a_read_lands_in_staging_memory_that_is_held_until_it_is_over",
    "tx01_copies_of_odd_sizes_and_offsets_touch_nothing_else",
    "m7_fills_repeat_patterns_of_every_size",
    "m2_too_big_for_ever_is_told_from_out_of_memory",
    "l8_work_of_one_queue_runs_in_order",
    "l8_an_edge_orders_work_of_two_queues",
    "l8_an_edge_may_come_before_the_mark_that_it_waits_for",
    "s1_as_many_queues_as_are_reported_can_be_used",
    "s1_queues_used_by_many_threads_keep_apart",
    "dropping_a_queue_lets_its_work_finish",
    "a_queue_outlives_the_handle_of_its_device",
    "a_launch_computes",
    "dl02_a_grid_of_several_axes_has_every_invocation_once",
    "l4_uniform_bytes_are_given_inline_or_by_view",
    "kt11_the_length_of_an_array_is_that_of_its_view",
    "dl01_dl06_grids_of_exactly_the_limits_run_whole",
    "dl06_workgroups_of_exactly_the_limits_run",
    "dl05_dl06_as_many_bindings_as_are_reported_work",
    "dl06_as_much_workgroup_memory_as_is_reported_works",
    "dl09_dependent_launches_count_right",
    "l2_an_indirect_grid_is_read_when_its_turn_comes",
    "l5_checked_kernels_stay_in_their_views",
    "expressions_that_nobody_uses_change_nothing",
    "kernels_are_compiled_on_several_threads_at_once",
    "a_kernel_dropped_leaves_the_others_alone",
    "kt01_integer_division_has_an_answer_in_every_corner",
    "kt02_shift_counts_are_taken_modulo_the_width",
    "kt03_floats_out_of_range_clamp_to_the_closest_integer",
    "kt05_a_break_if_reads_its_variable_anew",
    "kt07_a_compare_exchange_tells_what_was_there",
    "kt10_workgroup_memory_begins_with_zeros",
    "kt12_members_have_the_places_of_the_language",
    "kt14_packing_puts_every_component_in_its_place",
    "kt21_an_index_out_of_range_reaches_nothing_else",
    "kt22_a_side_is_picked_in_every_spelling",
    "kt24_bits_at_run_time_are_those_of_constants",
    "kt01_kt02_kt03_kt22_numbers_of_64_bits_keep_the_same_rules",
    "halves_round_after_every_operation",
    "a_kernel_prints_before_its_position_completes",
    "prints_without_room_are_counted",
    "a_kernel_without_a_listener_prints_nothing",
];

#[test]
fn the_null_device_conforms_as_far_as_contents_do_not_matter() {
    let exceptions: Vec<Exception> =
        NULL.iter().map(|check| Exception { check, reason: "the null device keeps no bytes and runs no kernels" }).collect();
    conforms(&NullDriver, &exceptions);
}

#[test]
fn a_stale_or_misspelt_exception_fails_the_suite() {
    let stale = [
        Exception { check: "dl06_no_reported_limit_is_zero", reason: "none" },
        Exception { check: "no_such_check", reason: "none" },
    ];
    let subject = Subject { driver: &CpuDriver, index: 0, options: &OpenOptions { threads: 2, ..OpenOptions::default() } };
    let wrong = run(&subject, &stale).unwrap_err();
    assert_eq!(wrong.lines().count(), 2, "{wrong}");
    assert!(wrong.contains("dl06_no_reported_limit_is_zero passes") && wrong.contains("no_such_check"));
}
