//! wgpu-native through its C interface. What calls it is a small library (`native.c`) that `make bench-wgpu` builds against the C library that the PyPI package `wgpu` brings, and names
//! in `WGPU_NATIVE_PEER`; without it this peer is left out.

use std::ffi::c_void;

use libloading::Library;

use crate::{Peer, SOURCE};

pub struct Native(Library);

/// Calls a function of `native.c` with the types that it has there.
macro_rules! call {
    ($library:expr, $name:literal, $($argument:expr => $kind:ty),* $(,)?) => {{
        // SAFETY: name and types are those of `native.c`.
        let function = unsafe { $library.get::<unsafe extern "C" fn($($kind),*)>($name) };
        let function = function.expect("a function of native.c");
        // SAFETY: as above; pointers live through the call.
        unsafe { function($($argument),*) }
    }};
}

impl Native {
    pub fn new() -> Option<Self> {
        let path = std::env::var_os("WGPU_NATIVE_PEER")?;
        // SAFETY: whoever set the variable named the library that is built for it.
        let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("WGPU_NATIVE_PEER: {error}"));
        call!(library, b"peer_open", SOURCE.as_ptr() => *const u8, SOURCE.len() => usize);
        Some(Self(library))
    }
}

impl Peer for Native {
    fn name(&self) -> &'static str {
        "wgpu-native"
    }

    fn launch(&mut self) {
        call!(self.0, b"peer_launch",);
    }

    fn flush(&mut self) {
        call!(self.0, b"peer_flush",);
    }

    fn wait(&mut self) {
        call!(self.0, b"peer_wait",);
    }

    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]) {
        let out = out.as_mut_ptr().cast::<c_void>();
        call!(self.0, b"peer_small_cycle", data.as_ptr().cast() => *const c_void, out => *mut c_void, data.len() => usize);
    }

    fn prepare_large(&mut self, size: usize) {
        call!(self.0, b"peer_prepare_large", size => usize);
    }

    fn upload(&mut self, data: &[u8]) {
        call!(self.0, b"peer_upload", data.as_ptr().cast() => *const c_void, data.len() => usize);
    }

    fn readback(&mut self, out: &mut [u8]) {
        call!(self.0, b"peer_readback", out.as_mut_ptr().cast() => *mut c_void, out.len() => usize);
    }

    fn first(&mut self, out: &mut [u8]) {
        call!(self.0, b"peer_first", out.as_mut_ptr().cast() => *mut c_void, out.len() => usize);
    }
}
