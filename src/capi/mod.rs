//! The C boundary: every export, every pointer that comes from C, and nothing that decides anything about a device.
//!
//! One file per noun. `boundary` has what every export goes through, `handle` the tables behind the handles, `objects` what is in them.

mod boundary;
pub mod budget;
pub mod buffer;
pub mod cache;
pub mod capture;
pub mod descriptors;
pub mod device;
pub mod error;
pub mod event;
pub mod graph;
pub mod graph_types;
mod handle;
pub mod import;
mod includes;
pub mod kernel;
pub mod library;
pub mod memory;
pub mod native;
mod objects;
pub mod plan;
pub mod shared;
mod sources;
pub mod status;
pub mod stream;
mod system;
pub mod table;
pub mod tensor;
mod tensor_map;
pub mod types;
