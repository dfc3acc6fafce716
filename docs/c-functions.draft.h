/* compute.h: functions (structs and constants: src/capi/types.rs, status.rs). E = compute_error *out_error, last, nullable. S = compute_status. */
/* library */
const char *compute_version(void);                       /* "0.1.0" */
S compute_check_abi(uint32_t abi, E);                     /* header passes COMPUTE_ABI; else ERROR_ABI */
S compute_get_table(uint32_t abi, void *table, size_t table_size, size_t *needed, E);  /* size-negotiated table of all function pointers (compute_table struct, fields named like the functions without prefix), for dlopen hosts */
const char *compute_status_name(compute_status);          /* "COMPUTE_OK", unknown -> class name e.g. "COMPUTE_ERROR_UNKNOWN_DEVICE"; never NULL */
S compute_log_set(compute_log_callback, void *user, uint32_t level, E);
/* devices */
S compute_devices_list(const compute_list_desc *nullable, compute_device_info *infos, size_t info_stride, size_t capacity, size_t *count, E);  /* two-call; INCOMPLETE; each infos[i].struct_size set by caller (first one used for all) */
S compute_drivers_report(char *text, size_t capacity, size_t *needed, E);        /* what was tried, per driver, JSON */
S compute_device_open(const compute_device_desc *, compute_device *out, E);
S compute_device_retain(compute_device, E); void compute_device_release(compute_device); S compute_device_destroy(compute_device, E);   /* same trio for stream, buffer, kernel, event, error (error: no destroy, no E) */
S compute_device_get_info(compute_device, compute_device_info *, E);
S compute_device_status(compute_device, E);                /* OK or DEVICE_POISONED with cause; cheap (LOST-02) */
S compute_device_set_queues(compute_device, uint32_t count, E);   /* S1 */
S compute_device_lock(compute_device, E); S compute_device_unlock(compute_device, E);  /* S1 exclusive section: other threads' calls that enqueue wait; recursive for the holder; unlock by a non-holder BUSY */
S compute_device_memory_usage(compute_device, compute_memory_usage *, E);
S compute_device_compile_queued(compute_device, E);        /* L6 */
S compute_device_inject_fault(compute_device, uint64_t call /*n-th from now, 0 disarm*/, uint32_t how, E);   /* only if opened with compute_fault_desc, else UNSUPPORTED */
S compute_device_fault_calls(compute_device, uint64_t *calls, E);
/* streams */
S compute_stream_create(compute_device, const compute_stream_desc *nullable, compute_stream *out, E);  + retain/release/destroy
S compute_stream_launch(compute_stream, const compute_launch_desc *, E);
S compute_stream_write(compute_stream, const compute_view *to, const void *bytes, uint64_t size, E);            /* copied before return; size must equal view size (view.size may be WHOLE => to the end must equal size) */
S compute_stream_write_borrowed(compute_stream, const compute_view *to, const void *bytes, uint64_t size, compute_event *out_event, E);
S compute_stream_read(compute_stream, const compute_view *from, void *bytes, uint64_t size, E);                 /* blocking */
S compute_stream_read_async(compute_stream, const compute_view *from, void *bytes, uint64_t size, compute_event *out_event, E);  /* memory borrowed until the event is done */
S compute_stream_copy(compute_stream, const compute_view *from, const compute_view *to, E);
S compute_stream_fill(compute_stream, const compute_view *to, const void *pattern, uint64_t pattern_size /*1,2,4,8,16*/, E);
S compute_stream_record(compute_stream, compute_event *out_event, E);
S compute_stream_wait_event(compute_stream, compute_event, E);          /* same device, else FOREIGN_HANDLE */
S compute_stream_flush(compute_stream, E);
S compute_stream_sync(compute_stream, const compute_view *views, size_t view_count, size_t view_stride, uint64_t timeout_ns, E);   /* drains this stream then T8 over the views; TIMEOUT */
/* buffers */
S compute_buffer_create(compute_device, const compute_buffer_desc *, compute_buffer *out, E); + retain/release/destroy
S compute_buffer_get_size(compute_buffer, uint64_t *size, E);  S compute_buffer_get_id(compute_buffer, uint64_t *id, E);
S compute_check(const compute_view *views, size_t view_count, size_t view_stride, E);       /* T8 check: instant */
S compute_reinstate(const compute_view *view, uint64_t failure, uint64_t *lifted_bytes, E);   /* T2 */
/* kernels */
S compute_kernel_create(compute_device, const compute_kernel_desc *, compute_kernel *out, E); + retain/release/destroy
S compute_kernel_get_info(compute_kernel, compute_kernel_info *, E);
S compute_kernel_get_binding(compute_kernel, uint32_t index, compute_binding_info *, E);
S compute_kernel_get_override(compute_kernel, uint32_t index, compute_override_info *, E);
S compute_kernel_find_binding(compute_kernel, const char *name, size_t length, uint32_t *index, E);
/* events */
retain/release/destroy
S compute_event_poll(compute_event, E);                   /* OK / NOT_READY / error (for async reads the T8 error) */
S compute_event_wait(compute_event, uint64_t timeout_ns, E);
S compute_events_wait_any(const compute_event *, size_t count, uint64_t timeout_ns, size_t *index, E);
S compute_events_wait_all(const compute_event *, size_t count, uint64_t timeout_ns, E);
S compute_event_on_complete(compute_event, compute_event_callback, void *user, uint32_t where /*COMPUTE_CALLBACK_*/, E);
S compute_event_get_fd(compute_event, int32_t *fd, E);       /* eventfd, caller closes; Linux; becomes readable when complete */
S compute_event_get_time(compute_event, uint64_t *device_ns, E);   /* NOT_READY / UNSUPPORTED */
/* errors: all null-safe; bad handle gives INVALID_HANDLE / empty */
S compute_error_get_info(compute_error, compute_error_info *);
S compute_error_message(compute_error, char *text, size_t capacity, size_t *needed);      /* two-call, NUL-terminated */
S compute_error_label(compute_error, char*, size_t, size_t*); S compute_error_driver_name(...); S compute_error_kernel(...)
S compute_error_root(compute_error, compute_error *out);    /* new reference */
S compute_error_chain(compute_error, uint32_t index, compute_chain_entry *);
S compute_error_member(compute_error, uint32_t index, compute_error *out);
S compute_error_format(compute_error, uint32_t form /*0 text 1 JSON: COMPUTE_FORMAT_TEXT/JSON*/, char *, size_t, size_t *needed);
void compute_error_release(compute_error); S compute_error_retain(compute_error);
/* descriptor initialisers: void compute_<x>_desc_init(compute_<x>_desc *) for each input struct, and a COMPUTE_<X>_DESC_INIT macro each (cbindgen `after_includes`/trailer) */
