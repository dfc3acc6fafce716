//! The library, through its C ABI.

use std::ffi::c_void;
use std::ptr::null_mut;

use compute::capi::buffer::{compute_buffer_create, compute_buffer_release};
use compute::capi::descriptors::{
    compute_buffer_desc_init, compute_device_desc_init, compute_kernel_desc_init, compute_launch_desc_init,
};
use compute::capi::device::compute_device_open;
use compute::capi::kernel::compute_kernel_create;
use compute::capi::status::compute_status;
use compute::capi::stream::{
    compute_stream_create, compute_stream_fill, compute_stream_flush, compute_stream_launch, compute_stream_read,
    compute_stream_sync, compute_stream_write,
};
use compute::capi::types::*;

use crate::{BUFFERS, Peer, SOURCE};

const WHOLE: u64 = u64::MAX;

pub struct Ours {
    device: compute_device,
    stream: compute_stream,
    kernel: compute_kernel,
    buffers: Vec<compute_buffer>,
    large: compute_buffer,
    next: usize,
}

fn ok(status: compute_status) {
    assert_eq!(status, 0, "a call of the library failed");
}

fn describe<T>(init: unsafe extern "C" fn(*mut T)) -> T {
    // SAFETY: a descriptor is plain numbers and pointers, and zero in all of them is valid; the call fills it in.
    unsafe {
        let mut desc = std::mem::zeroed();
        init(&mut desc);
        desc
    }
}

impl Ours {
    pub fn new() -> Self {
        // SAFETY: every pointer is to something that lives through its call.
        unsafe {
            let mut desc = describe(compute_device_desc_init);
            desc.backend = c"wgpu".as_ptr();
            desc.backend_length = 4;
            let (mut device, mut stream, mut kernel) = std::mem::zeroed();
            ok(compute_device_open(&desc, &mut device, null_mut()));
            ok(compute_stream_create(device, std::ptr::null(), &mut stream, null_mut()));
            let mut desc = describe(compute_kernel_desc_init);
            desc.language = COMPUTE_LANGUAGE_WGSL;
            desc.source = SOURCE.as_ptr().cast();
            desc.source_length = SOURCE.len();
            ok(compute_kernel_create(device, &desc, &mut kernel, null_mut()));
            let buffers = (0..BUFFERS).map(|_| create(device, std::mem::zeroed(), 256)).collect();
            let mut made = Self { device, stream, kernel, buffers, large: std::mem::zeroed(), next: 0 };
            let zero = 0u32;
            for index in 0..BUFFERS {
                let view = made.view(made.buffers[index]);
                ok(compute_stream_fill(stream, &view, (&raw const zero).cast(), 4, null_mut()));
            }
            made.wait();
            made
        }
    }

    fn view(&self, buffer: compute_buffer) -> compute_view {
        compute_view { buffer, offset: 0, size: WHOLE }
    }
}

unsafe fn create(device: compute_device, stream: compute_stream, size: u64) -> compute_buffer {
    // SAFETY: as in `new`.
    unsafe {
        let mut desc = describe(compute_buffer_desc_init);
        desc.size = size;
        desc.stream = stream;
        let mut buffer = std::mem::zeroed();
        ok(compute_buffer_create(device, &desc, &mut buffer, null_mut()));
        buffer
    }
}

impl Peer for Ours {
    fn name(&self) -> &'static str {
        "libcompute"
    }

    fn launch(&mut self) {
        // SAFETY: as in `new`.
        unsafe {
            let mut binding: compute_binding = std::mem::zeroed();
            binding.buffer = self.buffers[self.next % BUFFERS];
            binding.size = WHOLE;
            self.next += 1;
            let mut desc = describe(compute_launch_desc_init);
            desc.kernel = self.kernel;
            desc.grid = [1; 3];
            desc.bindings = &binding;
            desc.binding_count = 1;
            ok(compute_stream_launch(self.stream, &desc, null_mut()));
        }
    }

    fn flush(&mut self) {
        // SAFETY: as in `new`.
        ok(unsafe { compute_stream_flush(self.stream, null_mut()) });
    }

    fn wait(&mut self) {
        // SAFETY: as in `new`.
        ok(unsafe { compute_stream_sync(self.stream, std::ptr::null(), 0, 0, u64::MAX, null_mut()) });
    }

    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]) {
        // SAFETY: as in `new`.
        unsafe {
            let buffer = create(self.device, self.stream, data.len() as u64);
            let view = self.view(buffer);
            ok(compute_stream_write(self.stream, &view, data.as_ptr().cast(), data.len() as u64, null_mut()));
            ok(compute_stream_read(self.stream, &view, out.as_mut_ptr().cast::<c_void>(), out.len() as u64, null_mut()));
            compute_buffer_release(buffer);
        }
    }

    fn prepare_large(&mut self, size: usize) {
        // SAFETY: as in `new`.
        self.large = unsafe { create(self.device, self.stream, size as u64) };
    }

    fn upload(&mut self, data: &[u8]) {
        let view = self.view(self.large);
        // SAFETY: as in `new`.
        ok(unsafe { compute_stream_write(self.stream, &view, data.as_ptr().cast(), data.len() as u64, null_mut()) });
        self.wait();
    }

    fn readback(&mut self, out: &mut [u8]) {
        let view = self.view(self.large);
        // SAFETY: as in `new`.
        ok(unsafe { compute_stream_read(self.stream, &view, out.as_mut_ptr().cast(), out.len() as u64, null_mut()) });
    }

    fn first(&mut self, out: &mut [u8]) {
        let view = self.view(self.buffers[0]);
        // SAFETY: as in `new`.
        ok(unsafe { compute_stream_read(self.stream, &view, out.as_mut_ptr().cast(), out.len() as u64, null_mut()) });
    }
}
