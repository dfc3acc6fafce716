//! All functions in one struct, for hosts that open the library themselves and want one symbol rather than a hundred.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::ptr;

use super::boundary::{guard, refuse, set_optional};
use super::graph_types::*;
use super::status::*;
use super::types::*;
use super::{
    budget, buffer, cache, capture, descriptors, device, error, event, graph, import, kernel, library, memory, native, plan,
    shared, stream, tensor,
};

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

static TABLE: compute_table = compute_table {
    struct_size: size_of::<compute_table>() as u32,
    abi: COMPUTE_ABI,
    version: library::compute_version,
    check_abi: library::compute_check_abi,
    status_name: library::compute_status_name,
    log_set: library::compute_log_set,
    devices_list: device::compute_devices_list,
    drivers_report: device::compute_drivers_report,
    device_open: device::compute_device_open,
    device_retain: device::compute_device_retain,
    device_release: device::compute_device_release,
    device_destroy: device::compute_device_destroy,
    device_get_info: device::compute_device_get_info,
    device_status: device::compute_device_status,
    device_set_queues: device::compute_device_set_queues,
    device_lock: device::compute_device_lock,
    device_unlock: device::compute_device_unlock,
    device_memory_usage: memory::compute_device_memory_usage,
    device_compile_queued: device::compute_device_compile_queued,
    device_inject_fault: device::compute_device_inject_fault,
    device_fault_calls: device::compute_device_fault_calls,
    stream_create: stream::compute_stream_create,
    stream_retain: stream::compute_stream_retain,
    stream_release: stream::compute_stream_release,
    stream_destroy: stream::compute_stream_destroy,
    stream_launch: stream::compute_stream_launch,
    stream_write: stream::compute_stream_write,
    stream_write_borrowed: stream::compute_stream_write_borrowed,
    stream_read: stream::compute_stream_read,
    stream_read_async: stream::compute_stream_read_async,
    stream_copy: stream::compute_stream_copy,
    stream_fill: stream::compute_stream_fill,
    stream_record: stream::compute_stream_record,
    stream_wait_event: stream::compute_stream_wait_event,
    stream_flush: stream::compute_stream_flush,
    stream_sync: stream::compute_stream_sync,
    buffer_create: buffer::compute_buffer_create,
    buffer_retain: buffer::compute_buffer_retain,
    buffer_release: buffer::compute_buffer_release,
    buffer_destroy: buffer::compute_buffer_destroy,
    buffer_get_size: buffer::compute_buffer_get_size,
    buffer_get_id: buffer::compute_buffer_get_id,
    check: buffer::compute_check,
    reinstate: buffer::compute_reinstate,
    kernel_create: kernel::compute_kernel_create,
    kernel_retain: kernel::compute_kernel_retain,
    kernel_release: kernel::compute_kernel_release,
    kernel_destroy: kernel::compute_kernel_destroy,
    kernel_get_info: kernel::compute_kernel_get_info,
    kernel_get_binding: kernel::compute_kernel_get_binding,
    kernel_get_override: kernel::compute_kernel_get_override,
    kernel_find_binding: kernel::compute_kernel_find_binding,
    event_retain: event::compute_event_retain,
    event_release: event::compute_event_release,
    event_destroy: event::compute_event_destroy,
    event_poll: event::compute_event_poll,
    event_wait: event::compute_event_wait,
    events_wait_any: event::compute_events_wait_any,
    events_wait_all: event::compute_events_wait_all,
    event_on_complete: event::compute_event_on_complete,
    event_get_fd: event::compute_event_get_fd,
    event_get_time: event::compute_event_get_time,
    error_retain: error::compute_error_retain,
    error_release: error::compute_error_release,
    error_get_info: error::compute_error_get_info,
    error_message: error::compute_error_message,
    error_label: error::compute_error_label,
    error_kernel: error::compute_error_kernel,
    error_driver_name: error::compute_error_driver_name,
    error_format: error::compute_error_format,
    error_root: error::compute_error_root,
    error_chain: error::compute_error_chain,
    error_member: error::compute_error_member,
    list_desc_init: descriptors::compute_list_desc_init,
    device_desc_init: descriptors::compute_device_desc_init,
    fault_desc_init: descriptors::compute_fault_desc_init,
    stream_desc_init: descriptors::compute_stream_desc_init,
    buffer_desc_init: descriptors::compute_buffer_desc_init,
    kernel_desc_init: descriptors::compute_kernel_desc_init,
    launch_desc_init: descriptors::compute_launch_desc_init,
    device_spread_workgroups: device::compute_device_spread_workgroups,
    device_get_workgroup_size: device::compute_device_get_workgroup_size,
    device_get_vector_widths: device::compute_device_get_vector_widths,
    kernel_poll: kernel::compute_kernel_poll,
    kernel_wait: kernel::compute_kernel_wait,
    include_desc_init: descriptors::compute_include_desc_init,
    error_diagnostic: error::compute_error_diagnostic,
    device_cleanup: memory::compute_device_cleanup,
    stream_cleanup: memory::compute_stream_cleanup,
    stream_memory_report: memory::compute_stream_memory_report,
    stream_set_pools: memory::compute_stream_set_pools,
    budget_create: budget::compute_budget_create,
    budget_retain: budget::compute_budget_retain,
    budget_release: budget::compute_budget_release,
    budget_destroy: budget::compute_budget_destroy,
    budget_get_info: budget::compute_budget_get_info,
    stream_set_budget: budget::compute_stream_set_budget,
    stream_begin_dry_run: plan::compute_stream_begin_dry_run,
    stream_end_dry_run: plan::compute_stream_end_dry_run,
    stream_get_plan: plan::compute_stream_get_plan,
    stream_freeze_pools: plan::compute_stream_freeze_pools,
    stream_compact: memory::compute_stream_compact,
    device_layout_tensors: tensor::compute_device_layout_tensors,
    stream_write_strided: tensor::compute_stream_write_strided,
    stream_read_strided: tensor::compute_stream_read_strided,
    stream_read_strided_async: tensor::compute_stream_read_strided_async,
    stream_copy_strided: tensor::compute_stream_copy_strided,
    stream_write_strided_borrowed: tensor::compute_stream_write_strided_borrowed,
    stream_read_strided_lazy: tensor::compute_stream_read_strided_lazy,
    tensor_desc_init: descriptors::compute_tensor_desc_init,
    strided_desc_init: descriptors::compute_strided_desc_init,
    stream_read_lazy: shared::compute_stream_read_lazy,
    readback_retain: shared::compute_readback_retain,
    readback_release: shared::compute_readback_release,
    readback_destroy: shared::compute_readback_destroy,
    readback_start: shared::compute_readback_start,
    readback_get: shared::compute_readback_get,
    buffer_map: shared::compute_buffer_map,
    mapping_retain: shared::compute_mapping_retain,
    mapping_release: shared::compute_mapping_release,
    mapping_destroy: shared::compute_mapping_destroy,
    mapping_get_pointer: shared::compute_mapping_get_pointer,
    mapping_acquire: shared::compute_mapping_acquire,
    mapping_flush: shared::compute_mapping_flush,
    stream_set_scratch_limit: memory::compute_stream_set_scratch_limit,
    stream_prepare_capture: capture::compute_stream_prepare_capture,
    stream_begin_capture: capture::compute_stream_begin_capture,
    stream_end_capture: capture::compute_stream_end_capture,
    graph_builder_create: graph::compute_graph_builder_create,
    graph_builder_retain: graph::compute_graph_builder_retain,
    graph_builder_release: graph::compute_graph_builder_release,
    graph_builder_destroy: graph::compute_graph_builder_destroy,
    graph_builder_add_launch: graph::compute_graph_builder_add_launch,
    graph_builder_add_copy: graph::compute_graph_builder_add_copy,
    graph_builder_add_fill: graph::compute_graph_builder_add_fill,
    graph_builder_add_join: graph::compute_graph_builder_add_join,
    graph_builder_instantiate: graph::compute_graph_builder_instantiate,
    graph_retain: graph::compute_graph_retain,
    graph_release: graph::compute_graph_release,
    graph_destroy: graph::compute_graph_destroy,
    stream_replay: graph::compute_stream_replay,
    graph_update_launch: graph::compute_graph_update_launch,
    graph_update_copy: graph::compute_graph_update_copy,
    graph_update_fill: graph::compute_graph_update_fill,
    graph_get_info: graph::compute_graph_get_info,
    graph_get_node: graph::compute_graph_get_node,
    graph_get_times: graph::compute_graph_get_times,
    graph_export: graph::compute_graph_export,
    graph_desc_init: descriptors::compute_graph_desc_init,
    vulkan_desc_init: descriptors::compute_vulkan_desc_init,
    stream_export: native::compute_stream_export,
    written: native::compute_written,
    native_desc_init: descriptors::compute_native_desc_init,
    tensor_map_desc_init: descriptors::compute_tensor_map_desc_init,
    stream_wait_native: native::compute_stream_wait_native,
    stream_record_native: native::compute_stream_record_native,
    import_desc_init: descriptors::compute_import_desc_init,
    buffer_import: import::compute_buffer_import,
    stream_copy_between: stream::compute_stream_copy_between,
    device_reaches: device::compute_device_reaches,
    graph_builder_add_copy_strided: graph::compute_graph_builder_add_copy_strided,
    graph_update_copy_strided: graph::compute_graph_update_copy_strided,
    cache_desc_init: descriptors::compute_cache_desc_init,
    device_cache_info: cache::compute_device_cache_info,
};

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
