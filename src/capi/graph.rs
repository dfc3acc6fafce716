//! Graphs: made node by node, replayed, updated, shown.
//!
//! Adding and updating nodes claims nothing, whatever it answers: nothing runs yet.

use std::ffi::{c_char, c_void};
use std::ptr;

use smallvec::SmallVec;

use super::boundary::*;
use super::buffer::read_view;
use super::graph_types::*;
use super::objects::{Live, add, destroy, find, guard_call, peek, release, retain};
use super::status::*;
use super::stream::{launch_of, outcome, pattern_of, place};
use super::tensor::Read as Elements;
use super::types::*;
use crate::runtime::{self, GraphBuilder, GraphOptions, NodeId, NodeKind, Request};

/// Edges of one node that a call may name.
const MOST_EDGES: usize = 1 << 24;

/// The options of a graph, all defaults for NULL.
///
/// # Safety
/// `desc` and what it points to are valid, or it is NULL.
pub(super) unsafe fn options_of(desc: *const compute_graph_desc) -> Result<GraphOptions, Complaint> {
    // SAFETY: as our own caller says.
    let desc = unsafe { read_optional_struct(desc) }?;
    check_zero(desc.reserved.into(), "reserved")?;
    check_zero(desc.next.addr() as u64, "next")?;
    check_flags(desc.flags, COMPUTE_GRAPH_FLAG_TIMED, "graph")?;
    // SAFETY: as our own caller says.
    let label = unsafe { read_text(desc.label, desc.label_length, MOST_NAME, "label") }?.unwrap_or_default();
    Ok(GraphOptions { label: label.to_owned(), timed: desc.flags & COMPUTE_GRAPH_FLAG_TIMED != 0 })
}

/// Makes a builder for an explicit graph (G6). The caller releases it. `desc` may be NULL.
///
/// # Safety
/// `desc` and what it points to are valid, or it is NULL; `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_create(
    device: compute_device,
    desc: *const compute_graph_desc,
    out: *mut compute_graph_builder,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        // SAFETY: as our own caller says.
        let options = unsafe { options_of(desc) }?;
        out.set(add(GraphBuilder::new(&find(device)?.device, options)?)?);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a builder.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_retain(
    builder: compute_graph_builder,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || retain(builder))
}

/// Gives one reference to a builder back; with the last one its handle ends as by `compute_graph_builder_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_graph_builder_release(builder: compute_graph_builder) {
    guard_void(|| release(builder));
}

/// Ends a builder's handle at once, whatever its references. Its graphs go on.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_destroy(
    builder: compute_graph_builder,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || destroy(builder))
}

/// The nodes that a new one is to follow.
///
/// # Safety
/// `after` is readable for `count` nodes.
unsafe fn nodes_of(after: *const compute_node, count: usize) -> Result<SmallVec<[NodeId; 8]>, Complaint> {
    // SAFETY: as our own caller says.
    let given = unsafe { Strided::new(after, count, 0, MOST_EDGES, "nodes in `after`") }?;
    let mut nodes = SmallVec::new();
    nodes.try_reserve(given.len()).map_err(|_| Complaint::NoMemory)?;
    nodes.extend(given.iter().map(NodeId));
    Ok(nodes)
}

/// Adds a node and tells its name. `out_node` may be NULL.
///
/// # Safety
/// `after` is readable for `count` nodes; `out_node` is writable, or NULL.
unsafe fn add_node(
    builder: compute_graph_builder,
    request: &Request<'_>,
    after: *const compute_node,
    count: usize,
    out_node: *mut compute_node,
) -> Answer {
    // SAFETY: as our own caller says.
    let after = unsafe { nodes_of(after, count) }?;
    let node = find(builder)?.add(request, &after)?;
    // SAFETY: as our own caller says.
    unsafe { set_optional(out_node, node.0) };
    Ok(COMPUTE_OK)
}

/// Adds a launch that follows the nodes of `after`, in any order. It also follows every earlier node that touches common bytes of which either writes, so nodes that
/// are independent of each other may run at once and all others in the order in which they are added. The same is true of all nodes. Edges can lead to
/// earlier nodes only, so there are no cycles.
///
/// What is checked is what `compute_stream_launch` checks, and the kernel is compiled now. `mode` of the descriptor must be `COMPUTE_LAUNCH_EXECUTE`. What `desc` points to is
/// copied; buffers and kernel are kept. `out_node` may be NULL. `COMPUTE_ERROR_FOREIGN_HANDLE`: a node of `after` belongs to another builder or graph.
///
/// # Safety
/// `desc` and what it points to are valid; `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_add_launch(
    builder: compute_graph_builder,
    desc: *const compute_launch_desc,
    after: *const compute_node,
    after_count: usize,
    out_node: *mut compute_node,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(out_node, 0) };
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        // SAFETY: as our own caller says.
        unsafe {
            launch_of(&desc, Ok(()), |launch, wrong| {
                wrong?;
                only_execute(&desc)?;
                add_node(builder, &Request::Launch(*launch), after, after_count, out_node)
            })
        }
    })
}

fn only_execute(desc: &compute_launch_desc) -> Result<(), Complaint> {
    match desc.mode {
        COMPUTE_LAUNCH_EXECUTE => Ok(()),
        mode => refuse!(COMPUTE_ERROR_INVALID_ARGUMENT, "the mode of a node is COMPUTE_LAUNCH_EXECUTE, not {mode}"),
    }
}

/// Adds a copy between two views of equal size that do not overlap. As `compute_graph_builder_add_launch`. `label` may be NULL.
///
/// # Safety
/// `from` and `to` are readable; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_add_copy(
    builder: compute_graph_builder,
    from: *const compute_view,
    to: *const compute_view,
    label: *const c_char,
    label_length: usize,
    after: *const compute_node,
    after_count: usize,
    out_node: *mut compute_node,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(out_node, 0) };
        // SAFETY: as our own caller says.
        let (from, to) = unsafe { (read_view(from, "from")?, read_view(to, "to")?) };
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(label, label_length, MOST_NAME, "label") }?.unwrap_or_default();
        let buffers = (peek(from.buffer), peek(to.buffer));
        let request = copy_request(&from, &to, &buffers, label);
        // SAFETY: as our own caller says.
        unsafe { add_node(builder, &request, after, after_count, out_node) }
    })
}

/// Adds a copy of the elements of a tensor, as `compute_stream_copy_strided` does it: up to some hundred rows it touches the bytes of these and no others. Of more, it counts as
/// reading all of the bytes from the first row of the source to the last, and as writing a part of those of the destination. As
/// `compute_graph_builder_add_launch`. `label` may be NULL.
///
/// # Safety
/// `from`, `to` and `desc` and what it points to are readable; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and `out_error` are
/// writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_add_copy_strided(
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
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(out_node, 0) };
        // SAFETY: as our own caller says.
        let (from, to, elements) = unsafe { (read_view(from, "from")?, read_view(to, "to")?, Elements::new(desc)?) };
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(label, label_length, MOST_NAME, "label") }?.unwrap_or_default();
        let buffers = (peek(from.buffer), peek(to.buffer));
        let request = rows_request(&from, &to, &buffers, &elements, label);
        // SAFETY: as our own caller says.
        unsafe { add_node(builder, &request, after, after_count, out_node) }
    })
}

fn rows_request<'a>(
    from: &compute_view,
    to: &compute_view,
    buffers: &'a Ends,
    elements: &'a Elements,
    label: &'a str,
) -> Request<'a> {
    let from = place(buffers.0.as_ref(), from.offset, from.size);
    let to = place(buffers.1.as_ref(), to.offset, to.size);
    Request::CopyRows { from, to, tensor: elements.tensor(), label }
}

type Ends = (Option<Live<compute_buffer_s>>, Option<Live<compute_buffer_s>>);

fn copy_request<'a>(from: &compute_view, to: &compute_view, buffers: &'a Ends, label: &'a str) -> Request<'a> {
    let from = place(buffers.0.as_ref(), from.offset, from.size);
    let to = place(buffers.1.as_ref(), to.offset, to.size);
    Request::Copy { from, to, label }
}

/// Adds a fill with a pattern of 1, 2, 4, 8 or 16 bytes. As `compute_graph_builder_add_launch`. `label` may be NULL.
///
/// # Safety
/// `to` is readable; `pattern` is readable for `pattern_size` bytes; `label` is readable as its length says; `after` is readable for `after_count` nodes; `out_node` and
/// `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_add_fill(
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
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(out_node, 0) };
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(to, "to") }?;
        // SAFETY: as our own caller says.
        let pattern = unsafe { pattern_of(pattern, pattern_size) }?;
        // SAFETY: as our own caller says.
        let label = unsafe { read_text(label, label_length, MOST_NAME, "label") }?.unwrap_or_default();
        let buffer = peek(view.buffer);
        let request = Request::Fill { to: place(buffer.as_ref(), view.offset, view.size), pattern, label };
        // SAFETY: as our own caller says.
        unsafe { add_node(builder, &request, after, after_count, out_node) }
    })
}

/// Adds a join: a node that does nothing, and is over when those of `after` are.
///
/// # Safety
/// `after` is readable for `after_count` nodes; `out_node` and `out_error` are writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_add_join(
    builder: compute_graph_builder,
    after: *const compute_node,
    after_count: usize,
    out_node: *mut compute_node,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        unsafe { set_optional(out_node, 0) };
        // SAFETY: as our own caller says.
        unsafe { add_node(builder, &Request::Join, after, after_count, out_node) }
    })
}

/// Makes the nodes that a builder has so far ready to be replayed. The caller releases the graph. Deferred buffers get their memory now: a replay allocates nothing. The
/// builder may grow and be instantiated again; its nodes have the same names in all of its graphs.
///
/// # Safety
/// `out` is writable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_builder_instantiate(
    builder: compute_graph_builder,
    out: *mut compute_graph,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { Out::new(out, "out", ptr::null_mut()) }?;
        out.set(add(find(builder)?.instantiate()?)?);
        Ok(COMPUTE_OK)
    })
}

/// Counts one more reference to a graph.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_retain(graph: compute_graph, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || retain(graph))
}

/// Gives one reference to a graph back; with the last one its handle ends as by `compute_graph_destroy`. NULL is fine. Never blocks; from any thread,
/// callback, or exit handler.
#[unsafe(no_mangle)]
pub extern "C" fn compute_graph_release(graph: compute_graph) {
    guard_void(|| release(graph));
}

/// Ends a graph's handle at once, whatever its references. Replays in flight go on, and what the graph keeps goes after them (G4). Never blocks.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_destroy(graph: compute_graph, out_error: *mut compute_error) -> compute_status {
    guard(out_error, || destroy(graph))
}

/// Enqueues a graph on a stream, behind its earlier work (G5). A replay is one piece of work: it waits for the last uses of all its buffers, and it sees what was written to
/// them before.
///
/// Answers `COMPUTE_OK`; `COMPUTE_SKIPPED` when a node would read bytes that a failure claims and no earlier node writes wholly: nothing of it runs, and all that it
/// writes takes the failure (T5). Errors leave all that it writes claimed (T2). `COMPUTE_ERROR_BUSY`: the last replay failed when a part of it was submitted, and
/// that part is not over.
///
/// # Safety
/// `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_stream_replay(
    stream: compute_stream,
    graph: compute_graph,
    out_error: *mut compute_error,
) -> compute_status {
    guard_call(stream, "a replay", out_error, || {
        let (stream, graph) = (peek(stream), find(graph)?);
        Ok(outcome(runtime::replay(stream.as_deref().map(|stream| &**stream), &graph)?))
    })
}

/// Gives a launch other views, inline bytes, immediates or another grid, for replays from now on; those that are enqueued keep what they have. `desc` is complete, as for
/// a new node, but its kernel may be NULL, and has to be the node's otherwise. It costs next to nothing where the views stay the same, and what making the graph ready costs
/// where they differ: to give many nodes other views, make another graph, or keep one for each set of buffers. A failed update changes nothing. `COMPUTE_ERROR_BUSY`: another thread is inside a call with this graph right now.
///
/// # Safety
/// `desc` and what it points to are valid; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_update_launch(
    graph: compute_graph,
    node: compute_node,
    desc: *const compute_launch_desc,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let desc = unsafe { read_struct(desc) }?;
        if !desc.kernel.is_null() {
            find(desc.kernel)?;
        }
        // SAFETY: as our own caller says.
        unsafe {
            launch_of(&desc, Ok(()), |launch, wrong| {
                wrong?;
                only_execute(&desc)?;
                find(graph)?.update(NodeId(node), &Request::Launch(*launch))?;
                Ok(COMPUTE_OK)
            })
        }
    })
}

/// Gives a copy other views, as `compute_graph_update_launch`.
///
/// # Safety
/// `from` and `to` are readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_update_copy(
    graph: compute_graph,
    node: compute_node,
    from: *const compute_view,
    to: *const compute_view,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let (from, to) = unsafe { (read_view(from, "from")?, read_view(to, "to")?) };
        let buffers = (peek(from.buffer), peek(to.buffer));
        find(graph)?.update(NodeId(node), &copy_request(&from, &to, &buffers, ""))?;
        Ok(COMPUTE_OK)
    })
}

/// Gives a copy other views and another tensor, as `compute_graph_update_launch`. Copies with strides and without may take each other's place.
///
/// # Safety
/// `from`, `to` and `desc` and what it points to are readable; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_update_copy_strided(
    graph: compute_graph,
    node: compute_node,
    from: *const compute_view,
    to: *const compute_view,
    desc: *const compute_strided_desc,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let (from, to, elements) = unsafe { (read_view(from, "from")?, read_view(to, "to")?, Elements::new(desc)?) };
        let buffers = (peek(from.buffer), peek(to.buffer));
        find(graph)?.update(NodeId(node), &rows_request(&from, &to, &buffers, &elements, ""))?;
        Ok(COMPUTE_OK)
    })
}

/// Gives a fill another view or pattern, as `compute_graph_update_launch`.
///
/// # Safety
/// `to` is readable; `pattern` is readable for `pattern_size` bytes; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_update_fill(
    graph: compute_graph,
    node: compute_node,
    to: *const compute_view,
    pattern: *const c_void,
    pattern_size: u64,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let view = unsafe { read_view(to, "to") }?;
        // SAFETY: as our own caller says.
        let pattern = unsafe { pattern_of(pattern, pattern_size) }?;
        let buffer = peek(view.buffer);
        let to = place(buffer.as_ref(), view.offset, view.size);
        find(graph)?.update(NodeId(node), &Request::Fill { to, pattern, label: "" })?;
        Ok(COMPUTE_OK)
    })
}

/// Numbers of a graph.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_get_info(
    graph: compute_graph,
    info: *mut compute_graph_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let facts = find(graph)?.facts();
        out.set(&compute_graph_info {
            struct_size: size_of::<compute_graph_info>() as u32,
            reserved: 0,
            node_count: facts.nodes as u64,
            edge_count: facts.edges as u64,
            buffer_count: facts.buffers as u64,
            bytes: facts.bytes,
            flags: if facts.timed { COMPUTE_GRAPH_FLAG_TIMED } else { 0 }
                | if facts.native { COMPUTE_GRAPH_FLAG_NATIVE } else { 0 },
        });
        Ok(COMPUTE_OK)
    })
}

/// The node with an index, in the order in which they were added or recorded, from 0. `COMPUTE_ERROR_OUT_OF_RANGE`: there is none.
///
/// # Safety
/// `info` points to a struct whose `struct_size` says how large it is; `out_error` is writable, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_get_node(
    graph: compute_graph,
    index: u64,
    info: *mut compute_node_info,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let out = unsafe { OutStruct::new(info) }?;
        let facts = find(graph)?.node(index)?;
        out.set(&compute_node_info {
            struct_size: size_of::<compute_node_info>() as u32,
            kind: match facts.kind {
                NodeKind::Launch => COMPUTE_NODE_LAUNCH,
                NodeKind::Copy => COMPUTE_NODE_COPY,
                NodeKind::Fill => COMPUTE_NODE_FILL,
                NodeKind::Join => COMPUTE_NODE_JOIN,
            },
            node: facts.id.0,
            after_count: facts.after as u64,
            name: field(&facts.name),
            label: field(&facts.label),
        });
        Ok(COMPUTE_OK)
    })
}

/// Device time of each node in nanoseconds in the last replay that is over, by index; a join has 0. For graphs that were made with
/// `COMPUTE_GRAPH_FLAG_TIMED`. `*count` is told how many nodes there are; the first `capacity` times are written to `times`, which may be NULL with a capacity of 0. Answers `COMPUTE_NOT_READY`
/// when no replay is over yet (a graph in which nothing runs has its zeros at once), `COMPUTE_INCOMPLETE` when `times` was given and could not take all.
///
/// # Safety
/// The pointers are valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_get_times(
    graph: compute_graph,
    times: *mut u64,
    capacity: usize,
    count: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        // SAFETY: as our own caller says.
        let count = unsafe { Out::new(count, "count", 0) }?;
        let graph = find(graph)?;
        count.set(graph.facts().nodes);
        let Some(measured) = graph.times()? else { return Ok(COMPUTE_NOT_READY) };
        let all = measured.len();
        // SAFETY: as our own caller says.
        unsafe { write_array(measured.into_iter(), times, 0, capacity, "times") }?;
        Ok(if capacity > 0 && capacity < all { COMPUTE_INCOMPLETE } else { COMPUTE_OK })
    })
}

/// Writes a graph down for people and tools, `COMPUTE_GRAPH_DOT` or `COMPUTE_GRAPH_JSON`. `*needed` (may be NULL) is told how many bytes that takes, NUL included. The text is
/// cut, and the answer `COMPUTE_INCOMPLETE`, where `capacity` is too small; NULL and a capacity of 0 only ask.
///
/// # Safety
/// The pointers are valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compute_graph_export(
    graph: compute_graph,
    format: u32,
    text: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    out_error: *mut compute_error,
) -> compute_status {
    guard(out_error, || {
        let graph = find(graph)?;
        let made = match format {
            COMPUTE_GRAPH_DOT => graph.dot()?,
            COMPUTE_GRAPH_JSON => graph.json()?,
            format => return refuse!(COMPUTE_ERROR_INVALID_ENUM, "{format} is not a COMPUTE_GRAPH_DOT or COMPUTE_GRAPH_JSON"),
        };
        // SAFETY: as our own caller says.
        unsafe { write_text(&made, text, capacity, needed) }
    })
}
