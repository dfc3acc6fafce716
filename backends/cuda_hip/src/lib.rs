//! Devices of NVIDIA and AMD, written once. `backends/cuda` and `backends/hip` are data for this crate: see [`driver`].

pub mod driver;
