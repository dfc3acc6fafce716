//! Graphs: work that is checked and resolved once, and replayed any number of times (G1 to G7).
//!
//! - `node`: what a node does; checked by the code that checks the same call on a stream.
//! - `effects`: which nodes have to follow which, and what a graph does to bytes that were there before it.
//! - `builder`: a list of nodes that grows. An explicit graph is one, and so is what a `window` records.
//! - `instance`: a graph that is ready, its replays and updates; `playback` makes its calls on devices that keep no graphs; `export` shows it.
//!
//! What may be read, filled or claimed is decided by a section, as for any other work; nothing here looks at a map but a window, which must not record what would be skipped.

mod builder;
mod effects;
mod export;
mod instance;
mod node;
mod playback;
mod ranges;
mod window;

pub use builder::{GraphBuilder, GraphOptions, NodeId};
pub use export::{NodeFacts, NodeKind};
pub use instance::{Graph, GraphFacts, replay};
pub use node::Request;

pub(crate) use window::{Window, named, record, watched};
