//! OpenCL (PoCL on a machine without a GPU), opened at run time: it is left out where there is none.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use libloading::Library;

use crate::{BUFFERS, LARGE, Peer};

const SOURCE: &str = "__kernel void add(__global unsigned *d) { d[get_global_id(0)] += 1; }";
const READ_WRITE: u64 = 1;
const ALL_DEVICES: u64 = 0xffff_ffff;

type Handle = *mut c_void;
type Wait<'a> = (u32, *const Handle, *mut Handle);
const NONE: Wait<'static> = (0, null(), null_mut());

pub struct OpenCl {
    library: Library,
    context: Handle,
    queue: Handle,
    kernel: Handle,
    buffers: Vec<Handle>,
    large: Handle,
    next: usize,
}

/// Calls a function of OpenCL's with the types that it has.
macro_rules! call {
    ($library:expr, $name:literal, ($($argument:expr => $kind:ty),* $(,)?) -> $result:ty) => {{
        // SAFETY: name and types are those of OpenCL's header; pointers live through the call.
        let function = unsafe { $library.get::<unsafe extern "C" fn($($kind),*) -> $result>($name) };
        let function = function.expect("a function of OpenCL");
        // SAFETY: as above.
        unsafe { function($($argument),*) }
    }};
}

fn ok(code: i32) {
    assert_eq!(code, 0, "a call of OpenCL failed");
}

impl OpenCl {
    pub fn new() -> Option<Self> {
        // SAFETY: OpenCL's loader may be loaded into any process.
        let library = unsafe { Library::new("libOpenCL.so.1") }.ok()?;
        let (mut platform, mut device) = (null_mut(), null_mut());
        let found = call!(library, b"clGetPlatformIDs", (1 => u32, &mut platform => *mut Handle, null_mut() => *mut u32) -> i32);
        if found != 0 {
            return None;
        }
        ok(call!(library, b"clGetDeviceIDs",
            (platform => Handle, ALL_DEVICES => u64, 1 => u32, &mut device => *mut Handle, null_mut() => *mut u32) -> i32));
        let mut code = 0;
        let context = call!(library, b"clCreateContext", (null() => *const isize, 1 => u32, &device => *const Handle,
            None => Option<extern "C" fn()>, null_mut() => Handle, &mut code => *mut i32) -> Handle);
        ok(code);
        let queue = call!(library, b"clCreateCommandQueue",
            (context => Handle, device => Handle, 0 => u64, &mut code => *mut i32) -> Handle);
        ok(code);
        let (text, length) = (SOURCE.as_ptr(), SOURCE.len());
        let program = call!(library, b"clCreateProgramWithSource", (context => Handle, 1 => u32, &text => *const *const u8,
            &length => *const usize, &mut code => *mut i32) -> Handle);
        ok(code);
        ok(call!(library, b"clBuildProgram", (program => Handle, 1 => u32, &device => *const Handle, null() => *const u8,
            None => Option<extern "C" fn()>, null_mut() => Handle) -> i32));
        let kernel = call!(library, b"clCreateKernel",
            (program => Handle, c"add".as_ptr() => *const std::ffi::c_char, &mut code => *mut i32) -> Handle);
        ok(code);
        let mut made = Self { library, context, queue, kernel, buffers: Vec::new(), large: null_mut(), next: 0 };
        made.buffers = (0..BUFFERS).map(|_| made.create(256)).collect();
        let zeros = [0; 256];
        made.buffers.iter().for_each(|buffer| made.write(*buffer, &zeros));
        Some(made)
    }

    fn create(&self, size: usize) -> Handle {
        let mut code = 0;
        let buffer = call!(self.library, b"clCreateBuffer", (self.context => Handle, READ_WRITE => u64, size => usize,
            null_mut() => Handle, &mut code => *mut i32) -> Handle);
        ok(code);
        buffer
    }

    fn write(&self, buffer: Handle, data: &[u8]) {
        ok(call!(self.library, b"clEnqueueWriteBuffer", (self.queue => Handle, buffer => Handle, 1 => u32, 0 => usize,
            data.len() => usize, data.as_ptr() => *const u8, NONE.0 => u32, NONE.1 => *const Handle, NONE.2 => *mut Handle) -> i32));
    }

    fn read(&self, buffer: Handle, out: &mut [u8]) {
        ok(call!(self.library, b"clEnqueueReadBuffer", (self.queue => Handle, buffer => Handle, 1 => u32, 0 => usize,
            out.len() => usize, out.as_mut_ptr() => *mut u8, NONE.0 => u32, NONE.1 => *const Handle, NONE.2 => *mut Handle) -> i32));
    }
}

impl Peer for OpenCl {
    fn name(&self) -> &'static str {
        "OpenCL"
    }

    fn launch(&mut self) {
        let buffer = self.buffers[self.next % BUFFERS];
        self.next += 1;
        ok(call!(self.library, b"clSetKernelArg", (self.kernel => Handle, 0 => u32, size_of::<Handle>() => usize,
            &buffer => *const Handle) -> i32));
        let size = 64;
        ok(call!(self.library, b"clEnqueueNDRangeKernel", (self.queue => Handle, self.kernel => Handle, 1 => u32,
            null() => *const usize, &size => *const usize, &size => *const usize, NONE.0 => u32, NONE.1 => *const Handle,
            NONE.2 => *mut Handle) -> i32));
    }

    fn flush(&mut self) {
        ok(call!(self.library, b"clFlush", (self.queue => Handle) -> i32));
    }

    fn wait(&mut self) {
        ok(call!(self.library, b"clFinish", (self.queue => Handle) -> i32));
    }

    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]) {
        let buffer = self.create(data.len());
        self.write(buffer, data);
        self.read(buffer, out);
        ok(call!(self.library, b"clReleaseMemObject", (buffer => Handle) -> i32));
    }

    fn prepare_large(&mut self, size: usize) {
        assert!(size <= LARGE);
        self.large = self.create(size);
    }

    fn upload(&mut self, data: &[u8]) {
        self.write(self.large, data);
    }

    fn readback(&mut self, out: &mut [u8]) {
        self.read(self.large, out);
    }

    fn first(&mut self, out: &mut [u8]) {
        self.read(self.buffers[0], out);
    }
}
