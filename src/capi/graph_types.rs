//! The structs, constants and handle types of graphs and captures. No functions.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

#[doc(hidden)]
pub struct compute_graph_builder_s {
    _private: [u8; 0],
}
/// An explicit graph that is being made (G6).
pub type compute_graph_builder = *mut compute_graph_builder_s;

#[doc(hidden)]
pub struct compute_graph_s {
    _private: [u8; 0],
}
/// A graph that is ready to be replayed.
pub type compute_graph = *mut compute_graph_s;

/// Names a node of one builder, and of the graphs that it makes, or of one captured graph. 0 is none.
pub type compute_node = u64;

/// Each replay measures its nodes, for `compute_graph_get_times`.
pub const COMPUTE_GRAPH_FLAG_TIMED: u64 = 1 << 0;
/// Only told, in `compute_graph_info`: the device keeps the graph ready, and a replay is one piece of work for it. Where it is not set, the runtime makes a call of the
/// device for each node.
pub const COMPUTE_GRAPH_FLAG_NATIVE: u64 = 1 << 1;

/// How to make a graph.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_graph_desc {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// 0 or `COMPUTE_GRAPH_FLAG_TIMED`.
    pub flags: u64,
    /// For messages; may be NULL.
    pub label: *const c_char,
    /// Its length.
    pub label_length: usize,
    /// Zero.
    pub next: *const c_void,
}

/// Numbers of a graph.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_graph_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Nodes, joins included.
    pub node_count: u64,
    /// Edges: those that were asked for, and those between nodes that touch common bytes of which one writes.
    pub edge_count: u64,
    /// Distinct buffers that it keeps alive and in place.
    pub buffer_count: u64,
    /// Distinct bytes that it references.
    pub bytes: u64,
    /// `COMPUTE_GRAPH_FLAG_...`
    pub flags: u64,
}

/// A launch.
pub const COMPUTE_NODE_LAUNCH: u32 = 1;
/// A copy.
pub const COMPUTE_NODE_COPY: u32 = 2;
/// A fill.
pub const COMPUTE_NODE_FILL: u32 = 3;
/// Nothing: a place where paths meet.
pub const COMPUTE_NODE_JOIN: u32 = 4;

/// One node of a graph.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compute_node_info {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// `COMPUTE_NODE_...`
    pub kind: u32,
    /// Its name.
    pub node: compute_node,
    /// How many nodes it follows.
    pub after_count: u64,
    /// Entry point, or `copy`, `fill`, `join`; NUL-terminated, cut to fit.
    pub name: [c_char; 128],
    /// Its label, NUL-terminated, cut to fit.
    pub label: [c_char; 128],
}

/// As `format` of `compute_graph_export`: the language of Graphviz.
pub const COMPUTE_GRAPH_DOT: u32 = 0;
/// As `format` of `compute_graph_export`: `{"label", "bytes", "native", "nodes": [{"index", "kind", "name", "label", "grid", "after"}]}`.
/// Only launches have a grid, and it is null where it is taken from memory.
pub const COMPUTE_GRAPH_JSON: u32 = 1;
