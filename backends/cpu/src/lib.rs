//! The built-in device: portable kernels on the host's own processors.

#[allow(dead_code)]
mod codegen;
