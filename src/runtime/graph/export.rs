//! What a graph looks like, for people and tools: facts of its nodes, DOT, JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use super::super::code;
use super::super::error::{Result, fail};
use super::builder::NodeId;
use super::instance::Graph;
use super::node::{Counts, Node, Work};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A launch.
    Launch,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A join.
    Join,
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// Its kind.
    pub kind: NodeKind,
    /// What it is called by.
    pub id: NodeId,
    /// How many nodes it follows.
    pub after: usize,
    /// Entry point or operation.
    pub name: Arc<str>,
    /// The caller's label, or empty.
    pub label: Arc<str>,
}

impl Graph {
    /// The node with an index, in the order in which they were added.
    pub fn node(&self, index: u64) -> Result<NodeFacts> {
        let plan = &self.enter().plan;
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(node) = plan.nodes.get(place) else {
            let count = plan.nodes.len();
            return fail(code::OUT_OF_RANGE, format!("node {index} of graph `{}`, which has {count}", self.label));
        };
        Ok(NodeFacts {
            kind: kind(node),
            // There are fewer nodes than that.
            id: NodeId::new(self.number, index as u32),
            after: plan.edges.after(place).len(),
            name: node.work.name().into(),
            label: node.label.clone().unwrap_or_else(|| "".into()),
        })
    }

    /// As a text in the language of Graphviz.
    pub fn dot(&self) -> String {
        let plan = &self.enter().plan;
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "digraph \"{}\" {{", escaped(&self.label));
        for (index, node) in plan.nodes.iter().enumerate() {
            let mut name = escaped(node.work.name());
            if let Some(label) = &node.label {
                let _ = write!(name, "\\n{}", escaped(label));
            }
            let _ = writeln!(text, "  n{index} [label=\"{name}\"];");
            for before in plan.edges.after(index) {
                let _ = writeln!(text, "  n{before} -> n{index};");
            }
        }
        text.push_str("}\n");
        text
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let plan = &self.enter().plan;
        let mut text = String::new();
        let _ = write!(text, "{{\"label\": \"{}\", \"bytes\": {}, \"nodes\": [", escaped(&self.label), plan.bytes);
        for (index, node) in plan.nodes.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (kind, name) = (node.work.kind(), escaped(node.work.name()));
            let label = escaped(node.label.as_deref().unwrap_or_default());
            let _ = write!(
                text,
                "{comma}\n  {{\"index\": {index}, \"kind\": \"{kind}\", \"name\": \"{name}\", \"label\": \"{label}\""
            );
            if let Work::Launch(launch) = &node.work
                && let Counts::Direct([x, y, z]) = launch.grid
            {
                let _ = write!(text, ", \"grid\": [{x}, {y}, {z}]");
            }
            let _ = write!(text, ", \"after\": {:?}}}", plan.edges.after(index));
        }
        text.push_str("\n]}\n");
        text
    }
}

fn kind(node: &Node) -> NodeKind {
    match node.work {
        Work::Launch(_) => NodeKind::Launch,
        Work::Copy { .. } => NodeKind::Copy,
        Work::Fill { .. } => NodeKind::Fill,
        Work::Join => NodeKind::Join,
    }
}

/// Inside double quotes, of JSON and of DOT alike.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out
}
