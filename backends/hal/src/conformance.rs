//! The conformance suite: what every device must do, one named check each.
//!
//! A device's tests call [`run`] with its driver and the list of checks that it cannot pass, each with the reason. A check on that list that
//! passes after all is an error, too: the list tells the truth or the suite fails.
//!
//! Checks use only what the interface promises, so they hold for a device in another process's hands as well: no sleeping for luck, every wait has
//! an end. Those for an optional ability look at the capabilities and pass where it is absent.

mod bench;
mod graphs;
mod kernels;
mod language;
mod late;
mod memory;
mod order;
mod peers;
mod prints;
mod properties;
mod subgroups;
mod waits;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Driver, OpenOptions};
pub use bench::Failed;

/// The answer of a check: what was expected and what came instead.
pub type Outcome = Result<(), Failed>;

/// What is checked: a device of a driver, opened afresh by each check.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The driver.
    pub driver: &'a dyn Driver,
    /// The index of the device.
    pub index: u32,
    /// How it is opened.
    pub options: &'a OpenOptions,
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// A sentence, with the rule or report that it pins where there is one.
    pub name: &'static str,
    run: fn(&Subject<'_>) -> Outcome,
}

/// A check that a device cannot pass.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The check's name.
    pub check: &'static str,
    /// Why.
    pub reason: &'static str,
}

macro_rules! table {
    ($($module:ident: $($name:ident,)*;)*) => {
        /// Every check there is, in the order in which they run.
        pub const CHECKS: &[Check] = &[$($(Check { name: stringify!($name), run: $module::$name },)*)*];
    };
}

table! {
    properties:
        f5_a_probe_lists_what_can_be_opened_and_says_what_was_tried,
        a_device_that_was_not_listed_cannot_be_opened,
        dl06_no_reported_limit_is_zero,
    ;
    memory:
        m7_what_was_written_is_read_back,
        m7_a_write_has_copied_its_bytes_when_it_returns,
        m7_a_borrowed_write_arrives,
        m7_a_read_lands_in_staging_memory_that_is_held_until_it_is_over,
        tx01_copies_of_odd_sizes_and_offsets_touch_nothing_else,
        m7_fills_repeat_patterns_of_every_size,
        m3_rows_are_copied_between_different_pitches,
        m3_rows_come_from_the_host_and_go_there_at_any_pitch,
        m2_too_big_for_ever_is_told_from_out_of_memory,
        mem07_memory_given_back_can_be_had_again,
        blocks_are_aligned,
        a_mapped_block_shows_what_the_queue_did,
        t14_memory_of_the_library_s_is_not_imported,
        t14_imported_memory_of_the_host_s_is_worked_on_in_place,
    ;
    order:
        l8_work_of_one_queue_runs_in_order,
        positions_complete_in_order_and_marks_among_them,
        l8_an_edge_orders_work_of_two_queues,
        l8_an_edge_may_come_before_the_mark_that_it_waits_for,
        s1_as_many_queues_as_are_reported_can_be_used,
        s1_queues_used_by_many_threads_keep_apart,
        dropping_a_queue_lets_its_work_finish,
        a_queue_outlives_the_handle_of_its_device,
    ;
    peers:
        c1_a_device_that_is_opened_twice_copies_to_itself_in_order,
        c1_a_peer_may_be_waited_for_before_its_mark_and_after_its_end,
    ;
    waits:
        err05_a_wait_for_what_is_done_is_done,
        err05_a_wait_for_what_never_comes_times_out,
        err05_a_wait_ends_when_its_position_completes,
        err07_a_callback_comes_once_early_or_late,
        err07_callbacks_come_when_their_queue_goes,
        tm01_stamps_are_there_and_never_go_back,
    ;
    kernels:
        a_launch_computes,
        dl02_a_grid_of_several_axes_has_every_invocation_once,
        l4_uniform_bytes_are_given_inline_or_by_view,
        kt11_the_length_of_an_array_is_that_of_its_view,
        dl01_dl06_grids_of_exactly_the_limits_run_whole,
        dl06_workgroups_of_exactly_the_limits_run,
        dl05_dl06_as_many_bindings_as_are_reported_work,
        dl06_as_much_workgroup_memory_as_is_reported_works,
        dl09_dependent_launches_count_right,
        l2_an_indirect_grid_is_read_when_its_turn_comes,
        l2_an_indirect_grid_with_a_zero_runs_nothing,
        l5_checked_kernels_stay_in_their_views,
        kernels_are_compiled_on_several_threads_at_once,
        a_kernel_dropped_leaves_the_others_alone,
    ;
    language:
        kt01_integer_division_has_an_answer_in_every_corner,
        kt02_shift_counts_are_taken_modulo_the_width,
        kt03_floats_out_of_range_clamp_to_the_closest_integer,
        kt05_a_break_if_reads_its_variable_anew,
        kt07_a_compare_exchange_tells_what_was_there,
        kt10_workgroup_memory_begins_with_zeros,
        kt12_members_have_the_places_of_the_language,
        kt14_packing_puts_every_component_in_its_place,
        kt21_an_index_out_of_range_reaches_nothing_else,
        expressions_that_nobody_uses_change_nothing,
        kt22_a_side_is_picked_in_every_spelling,
        kt24_bits_at_run_time_are_those_of_constants,
        kt01_kt02_kt03_kt22_numbers_of_64_bits_keep_the_same_rules,
        halves_round_after_every_operation,
    ;
    subgroups:
        l12_subgroup_operations_are_those_of_the_lanes_that_are_there,
        l12_what_subgroups_find_is_combined_through_workgroup_memory,
    ;
    graphs:
        g6_random_graphs_leave_what_their_nodes_leave_one_after_another,
        g6_large_nodes_of_a_graph_are_whole_before_what_follows,
        g6_an_update_is_for_replays_that_are_enqueued_after_it,
        g4_a_graph_dropped_after_its_replays_leaves_others_alone,
        g6_a_timed_graph_tells_the_time_of_its_last_replay,
        t13_a_violation_in_a_node_has_the_position_of_its_replay,
        t13_of_several_violations_in_a_replay_the_first_node_is_told,
        g6_inline_bytes_of_an_update_are_for_replays_that_are_enqueued_after_it,
        m7_fills_that_are_nodes_repeat_patterns_of_every_size,
        m3_nodes_copy_rows_and_leave_what_is_between_them,
    ;
    late:
        t13_l2_an_indirect_grid_over_the_limits_runs_nothing,
        t13_l5_a_validated_kernel_reports_its_first_violation,
        l5_every_kind_of_access_is_reported,
        l5_an_index_that_is_not_used_is_not_reported,
        t13_a_kernel_past_its_time_limit_is_stopped,
        t13_nothing_fails_late_without_a_cause,
    ;
    prints:
        a_kernel_prints_before_its_position_completes,
        prints_without_room_are_counted,
        a_kernel_prints_and_validates,
        a_kernel_without_a_listener_prints_nothing,
    ;
}

/// Runs all checks.
///
/// # Errors
/// Every check that failed and is no exception, every exception that passed or names no check: a line each.
pub fn run(subject: &Subject<'_>, exceptions: &[Exception]) -> Result<(), String> {
    run_some(subject, exceptions, &|_| true)
}

/// Runs the checks whose names `chosen` takes.
///
/// # Errors
/// As [`run`].
pub fn run_some(subject: &Subject<'_>, exceptions: &[Exception], chosen: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let mut wrong = Vec::new();
    for check in CHECKS.iter().filter(|check| chosen(check.name)) {
        let outcome =
            catch_unwind(AssertUnwindSafe(|| (check.run)(subject))).unwrap_or_else(|_| Err(Failed("it panicked".into())));
        let exception = exceptions.iter().find(|exception| exception.check == check.name);
        match (outcome, exception) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Err(Failed(what)), None) => wrong.push(format!("{}: {what}", check.name)),
            (Ok(()), Some(stale)) => wrong.push(format!("{} passes, so this is no reason: {}", check.name, stale.reason)),
        }
    }
    for exception in exceptions {
        if !CHECKS.iter().any(|check| check.name == exception.check) {
            wrong.push(format!("no check is called {}", exception.check));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
