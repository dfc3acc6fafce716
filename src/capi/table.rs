//! All functions in one struct, for hosts that open the library themselves and want one symbol rather than a hundred.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::ptr;

use super::boundary::{guard, refuse, set_optional};
use super::graph_types::*;
use super::library;
use super::status::*;
use super::types::*;
use functions::TABLE;

mod functions;

/// Every function of the library. Filled by `compute_get_table`; new ones are added at the end, and one that the library lacks is NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_table {
    /// Bytes that the library filled.
    pub struct_size: u32,
    /// `COMPUTE_ABI` of the library.
    pub abi: u32,
    /// `compute_version`
    pub version: extern "C" fn() -> *const c_char,
    /// `compute_check_abi`
    pub check_abi: unsafe extern "C" fn(abi: u32, out_error: *mut compute_error) -> compute_status,
    /// `compute_status_name`
    pub status_name: extern "C" fn(status: compute_status) -> *const c_char,
    /// `compute_log_set`
    pub log_set: unsafe extern "C" fn(
        callback: compute_log_callback,
        user: *mut c_void,
        level: u32,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_devices_list`
    pub devices_list: unsafe extern "C" fn(
        desc: *const compute_list_desc,
        infos: *mut compute_device_info,
        info_stride: usize,
        capacity: usize,
        count: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_drivers_report`
    pub drivers_report: unsafe extern "C" fn(
        text: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_open`
    pub device_open: unsafe extern "C" fn(
        desc: *const compute_device_desc,
        out: *mut compute_device,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_retain`
    pub device_retain: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_release`
    pub device_release: extern "C" fn(device: compute_device),
    /// `compute_device_destroy`
    pub device_destroy: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_get_info`
    pub device_get_info: unsafe extern "C" fn(
        device: compute_device,
        info: *mut compute_device_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_status`
    pub device_status: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_set_queues`
    pub device_set_queues:
        unsafe extern "C" fn(device: compute_device, count: u32, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_lock`
    pub device_lock: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_unlock`
    pub device_unlock: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_memory_usage`
    pub device_memory_usage: unsafe extern "C" fn(
        device: compute_device,
        usage: *mut compute_memory_usage,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_compile_queued`
    pub device_compile_queued: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_inject_fault`
    pub device_inject_fault:
        unsafe extern "C" fn(device: compute_device, call: u64, how: u32, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_fault_calls`
    pub device_fault_calls:
        unsafe extern "C" fn(device: compute_device, calls: *mut u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_create`
    pub stream_create: unsafe extern "C" fn(
        device: compute_device,
        desc: *const compute_stream_desc,
        out: *mut compute_stream,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_retain`
    pub stream_retain: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_release`
    pub stream_release: extern "C" fn(stream: compute_stream),
    /// `compute_stream_destroy`
    pub stream_destroy: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_launch`
    pub stream_launch: unsafe extern "C" fn(
        stream: compute_stream,
        desc: *const compute_launch_desc,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_write`
    pub stream_write: unsafe extern "C" fn(
        stream: compute_stream,
        to: *const compute_view,
        bytes: *const c_void,
        size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_write_borrowed`
    pub stream_write_borrowed: unsafe extern "C" fn(
        stream: compute_stream,
        to: *const compute_view,
        bytes: *const c_void,
        size: u64,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_read`
    pub stream_read: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        bytes: *mut c_void,
        size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_read_async`
    pub stream_read_async: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        bytes: *mut c_void,
        size: u64,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_copy`
    pub stream_copy: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        to: *const compute_view,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_fill`
    pub stream_fill: unsafe extern "C" fn(
        stream: compute_stream,
        to: *const compute_view,
        pattern: *const c_void,
        pattern_size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_record`
    pub stream_record: unsafe extern "C" fn(
        stream: compute_stream,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_wait_event`
    pub stream_wait_event:
        unsafe extern "C" fn(stream: compute_stream, event: compute_event, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_flush`
    pub stream_flush: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_sync`
    pub stream_sync: unsafe extern "C" fn(
        stream: compute_stream,
        views: *const compute_view,
        view_count: usize,
        view_stride: usize,
        timeout_ns: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_buffer_create`
    pub buffer_create: unsafe extern "C" fn(
        device: compute_device,
        desc: *const compute_buffer_desc,
        out: *mut compute_buffer,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_buffer_retain`
    pub buffer_retain: unsafe extern "C" fn(buffer: compute_buffer, out_error: *mut compute_error) -> compute_status,
    /// `compute_buffer_release`
    pub buffer_release: extern "C" fn(buffer: compute_buffer),
    /// `compute_buffer_destroy`
    pub buffer_destroy: unsafe extern "C" fn(buffer: compute_buffer, out_error: *mut compute_error) -> compute_status,
    /// `compute_buffer_get_size`
    pub buffer_get_size:
        unsafe extern "C" fn(buffer: compute_buffer, size: *mut u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_buffer_get_id`
    pub buffer_get_id:
        unsafe extern "C" fn(buffer: compute_buffer, id: *mut u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_check`
    pub check: unsafe extern "C" fn(
        views: *const compute_view,
        view_count: usize,
        view_stride: usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_reinstate`
    pub reinstate: unsafe extern "C" fn(
        view: *const compute_view,
        failure: u64,
        lifted_bytes: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_create`
    pub kernel_create: unsafe extern "C" fn(
        device: compute_device,
        desc: *const compute_kernel_desc,
        out: *mut compute_kernel,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_retain`
    pub kernel_retain: unsafe extern "C" fn(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status,
    /// `compute_kernel_release`
    pub kernel_release: extern "C" fn(kernel: compute_kernel),
    /// `compute_kernel_destroy`
    pub kernel_destroy: unsafe extern "C" fn(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status,
    /// `compute_kernel_get_info`
    pub kernel_get_info: unsafe extern "C" fn(
        kernel: compute_kernel,
        info: *mut compute_kernel_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_get_binding`
    pub kernel_get_binding: unsafe extern "C" fn(
        kernel: compute_kernel,
        index: u32,
        info: *mut compute_binding_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_get_override`
    pub kernel_get_override: unsafe extern "C" fn(
        kernel: compute_kernel,
        index: u32,
        info: *mut compute_override_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_find_binding`
    pub kernel_find_binding: unsafe extern "C" fn(
        kernel: compute_kernel,
        name: *const c_char,
        length: usize,
        index: *mut u32,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_event_retain`
    pub event_retain: unsafe extern "C" fn(event: compute_event, out_error: *mut compute_error) -> compute_status,
    /// `compute_event_release`
    pub event_release: extern "C" fn(event: compute_event),
    /// `compute_event_destroy`
    pub event_destroy: unsafe extern "C" fn(event: compute_event, out_error: *mut compute_error) -> compute_status,
    /// `compute_event_poll`
    pub event_poll: unsafe extern "C" fn(event: compute_event, out_error: *mut compute_error) -> compute_status,
    /// `compute_event_wait`
    pub event_wait: unsafe extern "C" fn(event: compute_event, timeout_ns: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_events_wait_any`
    pub events_wait_any: unsafe extern "C" fn(
        events: *const compute_event,
        count: usize,
        timeout_ns: u64,
        index: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_events_wait_all`
    pub events_wait_all: unsafe extern "C" fn(
        events: *const compute_event,
        count: usize,
        timeout_ns: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_event_on_complete`
    pub event_on_complete: unsafe extern "C" fn(
        event: compute_event,
        callback: compute_event_callback,
        user: *mut c_void,
        thread: u32,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_event_get_fd`
    pub event_get_fd: unsafe extern "C" fn(event: compute_event, fd: *mut i32, out_error: *mut compute_error) -> compute_status,
    /// `compute_event_get_time`
    pub event_get_time:
        unsafe extern "C" fn(event: compute_event, device_ns: *mut u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_error_retain`
    pub error_retain: extern "C" fn(error: compute_error) -> compute_status,
    /// `compute_error_release`
    pub error_release: extern "C" fn(error: compute_error),
    /// `compute_error_get_info`
    pub error_get_info: unsafe extern "C" fn(error: compute_error, info: *mut compute_error_info) -> compute_status,
    /// `compute_error_message`
    pub error_message:
        unsafe extern "C" fn(error: compute_error, text: *mut c_char, capacity: usize, needed: *mut usize) -> compute_status,
    /// `compute_error_label`
    pub error_label:
        unsafe extern "C" fn(error: compute_error, text: *mut c_char, capacity: usize, needed: *mut usize) -> compute_status,
    /// `compute_error_kernel`
    pub error_kernel:
        unsafe extern "C" fn(error: compute_error, text: *mut c_char, capacity: usize, needed: *mut usize) -> compute_status,
    /// `compute_error_driver_name`
    pub error_driver_name:
        unsafe extern "C" fn(error: compute_error, text: *mut c_char, capacity: usize, needed: *mut usize) -> compute_status,
    /// `compute_error_format`
    pub error_format: unsafe extern "C" fn(
        error: compute_error,
        form: u32,
        text: *mut c_char,
        capacity: usize,
        needed: *mut usize,
    ) -> compute_status,
    /// `compute_error_root`
    pub error_root: unsafe extern "C" fn(error: compute_error, out: *mut compute_error) -> compute_status,
    /// `compute_error_chain`
    pub error_chain: unsafe extern "C" fn(error: compute_error, index: u32, entry: *mut compute_chain_entry) -> compute_status,
    /// `compute_error_member`
    pub error_member: unsafe extern "C" fn(error: compute_error, index: u32, out: *mut compute_error) -> compute_status,
    /// `compute_list_desc_init`
    pub list_desc_init: unsafe extern "C" fn(desc: *mut compute_list_desc),
    /// `compute_device_desc_init`
    pub device_desc_init: unsafe extern "C" fn(desc: *mut compute_device_desc),
    /// `compute_fault_desc_init`
    pub fault_desc_init: unsafe extern "C" fn(desc: *mut compute_fault_desc),
    /// `compute_stream_desc_init`
    pub stream_desc_init: unsafe extern "C" fn(desc: *mut compute_stream_desc),
    /// `compute_buffer_desc_init`
    pub buffer_desc_init: unsafe extern "C" fn(desc: *mut compute_buffer_desc),
    /// `compute_kernel_desc_init`
    pub kernel_desc_init: unsafe extern "C" fn(desc: *mut compute_kernel_desc),
    /// `compute_launch_desc_init`
    pub launch_desc_init: unsafe extern "C" fn(desc: *mut compute_launch_desc),
    /// `compute_device_spread_workgroups`
    pub device_spread_workgroups: unsafe extern "C" fn(
        device: compute_device,
        count: u64,
        exact: u32,
        grid: *mut u32,
        idle: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_get_workgroup_size`
    pub device_get_workgroup_size:
        unsafe extern "C" fn(device: compute_device, items: u64, size: *mut u32, out_error: *mut compute_error) -> compute_status,
    /// `compute_device_get_vector_widths`
    pub device_get_vector_widths: unsafe extern "C" fn(
        device: compute_device,
        element_size: u32,
        widths: *mut u32,
        capacity: usize,
        count: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_kernel_poll`
    pub kernel_poll: unsafe extern "C" fn(kernel: compute_kernel, out_error: *mut compute_error) -> compute_status,
    /// `compute_kernel_wait`
    pub kernel_wait:
        unsafe extern "C" fn(kernel: compute_kernel, timeout_ns: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_include_desc_init`
    pub include_desc_init: unsafe extern "C" fn(desc: *mut compute_include_desc),
    /// `compute_error_diagnostic`
    pub error_diagnostic: unsafe extern "C" fn(
        error: compute_error,
        index: u32,
        line: *mut u32,
        column: *mut u32,
        text: *mut c_char,
        capacity: usize,
        needed: *mut usize,
    ) -> compute_status,
    /// `compute_device_cleanup`
    pub device_cleanup: unsafe extern "C" fn(device: compute_device, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_cleanup`
    pub stream_cleanup: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_memory_report`
    pub stream_memory_report: unsafe extern "C" fn(
        stream: compute_stream,
        reports: *mut compute_pool_report,
        report_stride: usize,
        capacity: usize,
        count: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_set_pools`
    pub stream_set_pools: unsafe extern "C" fn(
        stream: compute_stream,
        pools: *const compute_pool_desc,
        pool_count: usize,
        pool_stride: usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_budget_create`
    pub budget_create:
        unsafe extern "C" fn(limit: u64, out: *mut compute_budget, out_error: *mut compute_error) -> compute_status,
    /// `compute_budget_retain`
    pub budget_retain: unsafe extern "C" fn(budget: compute_budget, out_error: *mut compute_error) -> compute_status,
    /// `compute_budget_release`
    pub budget_release: extern "C" fn(budget: compute_budget),
    /// `compute_budget_destroy`
    pub budget_destroy: unsafe extern "C" fn(budget: compute_budget, out_error: *mut compute_error) -> compute_status,
    /// `compute_budget_get_info`
    pub budget_get_info: unsafe extern "C" fn(
        budget: compute_budget,
        info: *mut compute_budget_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_set_budget`
    pub stream_set_budget:
        unsafe extern "C" fn(stream: compute_stream, budget: compute_budget, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_begin_dry_run`
    pub stream_begin_dry_run: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_end_dry_run`
    pub stream_end_dry_run: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_get_plan`
    pub stream_get_plan: unsafe extern "C" fn(
        stream: compute_stream,
        pools: *mut compute_pool_desc,
        pool_stride: usize,
        capacity: usize,
        count: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_freeze_pools`
    pub stream_freeze_pools:
        unsafe extern "C" fn(stream: compute_stream, frozen: u32, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_compact`
    pub stream_compact: unsafe extern "C" fn(
        stream: compute_stream,
        info: *mut compute_compaction_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_layout_tensors`
    pub device_layout_tensors: unsafe extern "C" fn(
        device: compute_device,
        tensors: *const compute_tensor_desc,
        tensor_count: usize,
        tensor_stride: usize,
        alignment: u64,
        places: *mut compute_tensor_place,
        place_stride: usize,
        size: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_write_strided`
    pub stream_write_strided: unsafe extern "C" fn(
        stream: compute_stream,
        to: *const compute_view,
        desc: *const compute_strided_desc,
        bytes: *const c_void,
        size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_read_strided`
    pub stream_read_strided: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        desc: *const compute_strided_desc,
        bytes: *mut c_void,
        size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_read_strided_async`
    pub stream_read_strided_async: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        desc: *const compute_strided_desc,
        bytes: *mut c_void,
        size: u64,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_copy_strided`
    pub stream_copy_strided: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        to: *const compute_view,
        desc: *const compute_strided_desc,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_tensor_desc_init`
    pub tensor_desc_init: unsafe extern "C" fn(desc: *mut compute_tensor_desc),
    /// `compute_strided_desc_init`
    pub strided_desc_init: unsafe extern "C" fn(desc: *mut compute_strided_desc),
    /// `compute_stream_read_lazy`
    pub stream_read_lazy: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        out: *mut compute_readback,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_readback_retain`
    pub readback_retain: unsafe extern "C" fn(readback: compute_readback, out_error: *mut compute_error) -> compute_status,
    /// `compute_readback_release`
    pub readback_release: extern "C" fn(readback: compute_readback),
    /// `compute_readback_destroy`
    pub readback_destroy: unsafe extern "C" fn(readback: compute_readback, out_error: *mut compute_error) -> compute_status,
    /// `compute_readback_start`
    pub readback_start: unsafe extern "C" fn(
        readback: compute_readback,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_readback_get`
    pub readback_get: unsafe extern "C" fn(
        readback: compute_readback,
        bytes: *mut *const c_void,
        size: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_buffer_map`
    pub buffer_map: unsafe extern "C" fn(
        view: *const compute_view,
        out: *mut compute_mapping,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_mapping_retain`
    pub mapping_retain: unsafe extern "C" fn(mapping: compute_mapping, out_error: *mut compute_error) -> compute_status,
    /// `compute_mapping_release`
    pub mapping_release: extern "C" fn(mapping: compute_mapping),
    /// `compute_mapping_destroy`
    pub mapping_destroy: unsafe extern "C" fn(mapping: compute_mapping, out_error: *mut compute_error) -> compute_status,
    /// `compute_mapping_get_pointer`
    pub mapping_get_pointer: unsafe extern "C" fn(
        mapping: compute_mapping,
        pointer: *mut *mut c_void,
        size: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_mapping_acquire`
    pub mapping_acquire: unsafe extern "C" fn(
        mapping: compute_mapping,
        offset: u64,
        size: u64,
        access: u32,
        timeout_ns: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_mapping_flush`
    pub mapping_flush:
        unsafe extern "C" fn(mapping: compute_mapping, offset: u64, size: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_set_scratch_limit`
    pub stream_set_scratch_limit:
        unsafe extern "C" fn(stream: compute_stream, bytes: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_prepare_capture`
    pub stream_prepare_capture: unsafe extern "C" fn(stream: compute_stream, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_begin_capture`
    pub stream_begin_capture: unsafe extern "C" fn(
        stream: compute_stream,
        desc: *const compute_graph_desc,
        out_capture: *mut u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_end_capture`
    pub stream_end_capture: unsafe extern "C" fn(
        stream: compute_stream,
        capture: u64,
        out: *mut compute_graph,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_create`
    pub graph_builder_create: unsafe extern "C" fn(
        device: compute_device,
        desc: *const compute_graph_desc,
        out: *mut compute_graph_builder,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_retain`
    pub graph_builder_retain:
        unsafe extern "C" fn(builder: compute_graph_builder, out_error: *mut compute_error) -> compute_status,
    /// `compute_graph_builder_release`
    pub graph_builder_release: extern "C" fn(builder: compute_graph_builder),
    /// `compute_graph_builder_destroy`
    pub graph_builder_destroy:
        unsafe extern "C" fn(builder: compute_graph_builder, out_error: *mut compute_error) -> compute_status,
    /// `compute_graph_builder_add_launch`
    pub graph_builder_add_launch: unsafe extern "C" fn(
        builder: compute_graph_builder,
        desc: *const compute_launch_desc,
        after: *const compute_node,
        after_count: usize,
        out_node: *mut compute_node,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_add_copy`
    pub graph_builder_add_copy: unsafe extern "C" fn(
        builder: compute_graph_builder,
        from: *const compute_view,
        to: *const compute_view,
        label: *const c_char,
        label_length: usize,
        after: *const compute_node,
        after_count: usize,
        out_node: *mut compute_node,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_add_fill`
    pub graph_builder_add_fill: unsafe extern "C" fn(
        builder: compute_graph_builder,
        to: *const compute_view,
        pattern: *const c_void,
        pattern_size: u64,
        label: *const c_char,
        label_length: usize,
        after: *const compute_node,
        after_count: usize,
        out_node: *mut compute_node,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_add_join`
    pub graph_builder_add_join: unsafe extern "C" fn(
        builder: compute_graph_builder,
        after: *const compute_node,
        after_count: usize,
        out_node: *mut compute_node,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_instantiate`
    pub graph_builder_instantiate: unsafe extern "C" fn(
        builder: compute_graph_builder,
        out: *mut compute_graph,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_retain`
    pub graph_retain: unsafe extern "C" fn(graph: compute_graph, out_error: *mut compute_error) -> compute_status,
    /// `compute_graph_release`
    pub graph_release: extern "C" fn(graph: compute_graph),
    /// `compute_graph_destroy`
    pub graph_destroy: unsafe extern "C" fn(graph: compute_graph, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_replay`
    pub stream_replay:
        unsafe extern "C" fn(stream: compute_stream, graph: compute_graph, out_error: *mut compute_error) -> compute_status,
    /// `compute_graph_update_launch`
    pub graph_update_launch: unsafe extern "C" fn(
        graph: compute_graph,
        node: compute_node,
        desc: *const compute_launch_desc,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_update_copy`
    pub graph_update_copy: unsafe extern "C" fn(
        graph: compute_graph,
        node: compute_node,
        from: *const compute_view,
        to: *const compute_view,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_update_fill`
    pub graph_update_fill: unsafe extern "C" fn(
        graph: compute_graph,
        node: compute_node,
        to: *const compute_view,
        pattern: *const c_void,
        pattern_size: u64,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_get_info`
    pub graph_get_info: unsafe extern "C" fn(
        graph: compute_graph,
        info: *mut compute_graph_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_get_node`
    pub graph_get_node: unsafe extern "C" fn(
        graph: compute_graph,
        index: u64,
        info: *mut compute_node_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_get_times`
    pub graph_get_times: unsafe extern "C" fn(
        graph: compute_graph,
        times: *mut u64,
        capacity: usize,
        count: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_export`
    pub graph_export: unsafe extern "C" fn(
        graph: compute_graph,
        format: u32,
        text: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_desc_init`
    pub graph_desc_init: unsafe extern "C" fn(desc: *mut compute_graph_desc),
    /// `compute_vulkan_desc_init`
    pub vulkan_desc_init: unsafe extern "C" fn(desc: *mut compute_vulkan_desc),
    /// `compute_stream_export`
    pub stream_export: unsafe extern "C" fn(
        stream: compute_stream,
        view: *const compute_view,
        access: u32,
        info: *mut compute_native_info,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_written`
    pub written: unsafe extern "C" fn(view: *const compute_view, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_write_strided_borrowed`
    pub stream_write_strided_borrowed: unsafe extern "C" fn(
        stream: compute_stream,
        to: *const compute_view,
        desc: *const compute_strided_desc,
        bytes: *const c_void,
        size: u64,
        out_event: *mut compute_event,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_read_strided_lazy`
    pub stream_read_strided_lazy: unsafe extern "C" fn(
        stream: compute_stream,
        from: *const compute_view,
        desc: *const compute_strided_desc,
        out: *mut compute_readback,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_native_desc_init`
    pub native_desc_init: unsafe extern "C" fn(desc: *mut compute_native_desc),
    /// `compute_tensor_map_desc_init`
    pub tensor_map_desc_init: unsafe extern "C" fn(desc: *mut compute_tensor_map_desc),
    /// `compute_stream_wait_native`
    pub stream_wait_native:
        unsafe extern "C" fn(stream: compute_stream, kind: u32, event: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_stream_record_native`
    pub stream_record_native:
        unsafe extern "C" fn(stream: compute_stream, kind: u32, event: u64, out_error: *mut compute_error) -> compute_status,
    /// `compute_import_desc_init`
    pub import_desc_init: unsafe extern "C" fn(desc: *mut compute_import_desc),
    /// `compute_buffer_import`
    pub buffer_import: unsafe extern "C" fn(
        device: compute_device,
        desc: *const compute_import_desc,
        out: *mut compute_buffer,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_stream_copy_between`
    pub stream_copy_between: unsafe extern "C" fn(
        from_stream: compute_stream,
        from: *const compute_view,
        to_stream: compute_stream,
        to: *const compute_view,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_device_reaches`
    pub device_reaches: unsafe extern "C" fn(
        from: compute_device,
        to: compute_device,
        straight: *mut u32,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_builder_add_copy_strided`
    pub graph_builder_add_copy_strided: unsafe extern "C" fn(
        builder: compute_graph_builder,
        from: *const compute_view,
        to: *const compute_view,
        desc: *const compute_strided_desc,
        label: *const c_char,
        label_length: usize,
        after: *const compute_node,
        after_count: usize,
        out_node: *mut compute_node,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_graph_update_copy_strided`
    pub graph_update_copy_strided: unsafe extern "C" fn(
        graph: compute_graph,
        node: compute_node,
        from: *const compute_view,
        to: *const compute_view,
        desc: *const compute_strided_desc,
        out_error: *mut compute_error,
    ) -> compute_status,
    /// `compute_cache_desc_init`
    pub cache_desc_init: unsafe extern "C" fn(desc: *mut compute_cache_desc),
    /// `compute_device_cache_info`
    pub device_cache_info: unsafe extern "C" fn(
        device: compute_device,
        info: *mut compute_cache_info,
        out_error: *mut compute_error,
    ) -> compute_status,
}

/// Gives the functions of the library: fills a `compute_table` of `table_size` bytes as far as both sides know it, and what only the caller
/// knows with zeros. `*needed` (may be NULL) is told the size that the library has. `abi` is the header's `COMPUTE_ABI`.
///
/// # Safety
/// `table` is writable for `table_size` bytes; `needed` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_get_table(
    abi: u32,
    table: *mut c_void,
    table_size: usize,
    needed: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(needed, size_of::<compute_table>()) };
        library::check_abi(abi)?;
        if table.is_null() {
            return match table_size {
                0 => Ok(COMPUTE_OK),
                _ => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "`table` is NULL, but its size is {table_size}"),
            };
        }
        let least = offset_of!(compute_table, version);
        let most = size_of::<compute_table>() * 16;
        if !(least..=most).contains(&table_size) {
            return refuse!(
                COMPUTE_ERROR_INVALID_STRUCT,
                "{table_size} is no size of a compute_table; this library's has {}",
                size_of::<compute_table>()
            );
        }
        // Half a pointer is no pointer.
        let filled = table_size.min(size_of::<compute_table>()) / size_of::<usize>() * size_of::<usize>();
        let known = compute_table { struct_size: filled as u32, ..TABLE };
        // SAFETY: `filled` is no more than either side has; what is ours is elsewhere than what is the caller's.
        unsafe {
            let to = table.cast::<u8>();
            ptr::copy_nonoverlapping((&raw const known).cast::<u8>(), to, filled);
            ptr::write_bytes(to.add(filled), 0, table_size - filled);
        }
        Ok(COMPUTE_OK)
    })
}
