//! What a graph looks like, for people and tools: facts of its nodes, DOT, JSON.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::super::code;
use super::super::error::{Failed, Result, error, fail};
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
    pub fn dot(&self) -> Result<String> {
        let plan = &self.enter().plan;
        let mut text = Text::default();
        text.add(format_args!("digraph \"{}\" {{\n", Escaped(&self.label)))?;
        for (index, node) in plan.nodes.iter().enumerate() {
            let name = Escaped(node.work.name());
            match &node.label {
                Some(label) => text.add(format_args!("  n{index} [label=\"{name}\\n{}\"];\n", Escaped(label)))?,
                None => text.add(format_args!("  n{index} [label=\"{name}\"];\n"))?,
            }
            for before in plan.edges.after(index) {
                text.add(format_args!("  n{before} -> n{index};\n"))?;
            }
        }
        text.add(format_args!("}}\n"))?;
        Ok(text.0)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String> {
        let entered = self.enter();
        let (plan, native) = (&entered.plan, entered.native.is_some());
        let mut text = Text::default();
        let label = Escaped(&self.label);
        text.add(format_args!("{{\"label\": \"{label}\", \"bytes\": {}, \"native\": {native}, \"nodes\": [", plan.bytes))?;
        for (index, node) in plan.nodes.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (kind, name) = (node.work.kind(), Escaped(node.work.name()));
            let label = Escaped(node.label.as_deref().unwrap_or_default());
            let about = format_args!("\"kind\": \"{kind}\", \"name\": \"{name}\", \"label\": \"{label}\"");
            text.add(format_args!("{comma}\n  {{\"index\": {index}, {about}"))?;
            if let Work::Launch(launch) = &node.work {
                match launch.grid {
                    Counts::Direct([x, y, z]) => text.add(format_args!(", \"grid\": [{x}, {y}, {z}]"))?,
                    Counts::Indirect(_) => text.add(format_args!(", \"grid\": null"))?,
                }
            }
            text.add(format_args!(", \"after\": ["))?;
            for (place, before) in plan.edges.after(index).iter().enumerate() {
                let comma = if place == 0 { "" } else { ", " };
                text.add(format_args!("{comma}{before}"))?;
            }
            text.add(format_args!("]}}"))?;
        }
        text.add(format_args!("\n]}}\n"))?;
        Ok(text.0)
    }
}

/// A text that may grow to any length, and is refused where there is no memory for it.
#[derive(Default)]
struct Text(String);

impl Text {
    fn add(&mut self, piece: fmt::Arguments<'_>) -> Result<()> {
        let no_memory = |_| Failed::of(error(code::OUT_OF_MEMORY, "no host memory for the text of a graph"));
        self.write_fmt(piece).map_err(no_memory)
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.0.try_reserve(piece.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(piece);
        Ok(())
    }
}

fn kind(node: &Node) -> NodeKind {
    match node.work {
        Work::Launch(_) => NodeKind::Launch,
        Work::Copy { .. } | Work::CopyRows(_) => NodeKind::Copy,
        Work::Fill { .. } => NodeKind::Fill,
        Work::Join => NodeKind::Join,
    }
}

/// Inside double quotes, of JSON and of DOT alike.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(out, "\\{letter}")?,
                control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
                other => out.write_char(other)?,
            }
        }
        Ok(())
    }
}
