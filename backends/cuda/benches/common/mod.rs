//! What the benchmarks share: the driver without us, and how times are taken.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use compute_cuda_hip::driver::{Calls, CompilerCalls, Handle, Status};
use libloading::Library;

/// The driver without us.
pub(crate) struct Raw {
    pub(crate) calls: Calls,
    compiler: CompilerCalls,
    library: Library,
    context: usize,
}

/// A function of the driver's, to be launched.
#[derive(Clone, Copy)]
pub(crate) struct Function(usize);

/// The driver's marker of a launch's arguments as one block, of its size, and the end.
const BLOCK: [usize; 2] = [1, 2];

fn find(library: &Library, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken.
    unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok().map(|address| *address)
}

impl Raw {
    pub(crate) fn open() -> Self {
        let vendor = &compute_cuda::VENDOR;
        // SAFETY: these are the vendor's libraries, and stay loaded.
        let (library, compiler) = unsafe {
            let first = |names: &[&str]| names.iter().find_map(|name| Library::new(name).ok()).unwrap();
            (first(vendor.libraries), &*Box::leak(Box::new(first(vendor.compilers))))
        };
        let mut context: Handle = std::ptr::null_mut();
        // SAFETY: the tables are those of these libraries; the places are ours.
        let (calls, compiler) = unsafe {
            let calls = Calls::load(vendor.names, &|symbol| find(&library, symbol)).unwrap();
            calls.init(0).unwrap();
            calls.primary_retain(&mut context, 0).unwrap();
            (calls, CompilerCalls::load(vendor.compiler_names, &|symbol| find(compiler, symbol)).unwrap())
        };
        let raw = Self { calls, compiler, library, context: context as usize };
        raw.enter();
        raw
    }

    /// Makes the device's context the thread's.
    pub(crate) fn enter(&self) {
        // SAFETY: the context was retained.
        unsafe { self.calls.context_push(self.context as Handle).unwrap() }
    }

    /// Undoes `enter`.
    pub(crate) fn leave(&self) {
        let mut gone: Handle = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { self.calls.context_pop(&mut gone).unwrap() }
    }

    /// A function of the driver that the table does not have.
    pub(crate) fn more<F: Copy>(&self, symbol: &str) -> F {
        // SAFETY: the caller names the type that the driver documents.
        unsafe { *self.library.get::<F>(symbol.as_bytes()).unwrap() }
    }

    /// What waits for a stream.
    pub(crate) fn synchronize(&self) -> impl Fn(usize) + Sync + use<> {
        let call: unsafe extern "C" fn(Handle) -> Status = self.more("cuStreamSynchronize");
        // SAFETY: the stream lives.
        move |stream| unsafe { assert_eq!(call(stream as Handle), 0) }
    }

    pub(crate) fn stream(&self) -> usize {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { self.calls.stream_create(&mut stream, 1).unwrap() }
        stream as usize
    }

    /// An event, with or without a time.
    pub(crate) fn event(&self, timed: bool) -> usize {
        let mut event = std::ptr::null_mut();
        // SAFETY: the place is ours.
        unsafe { self.calls.event_create(&mut event, if timed { 0 } else { 2 }).unwrap() }
        event as usize
    }

    pub(crate) fn function(&self, text: &str, name: &str, target: &str, more: &[&str]) -> Function {
        let (source, name) = (CString::new(text).unwrap(), CString::new(name).unwrap());
        let options: Vec<CString> = std::iter::once(format!("--gpu-architecture={target}"))
            .chain(more.iter().map(|option| (*option).to_owned()))
            .map(|option| CString::new(option).unwrap())
            .collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let (mut program, mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let (mut size, none) = (0, std::ptr::null());
        // SAFETY: texts end with zeros, places are ours and as long as said.
        unsafe {
            self.compiler.create(&mut program, source.as_ptr(), c"raw".as_ptr(), 0, none, none).unwrap();
            self.compiler.compile(program, options.len() as c_int, options.as_ptr()).unwrap();
            self.compiler.code_size(program, &mut size).unwrap();
            let mut code = vec![0_u8; size];
            self.compiler.code(program, code.as_mut_ptr().cast()).unwrap();
            let none = std::ptr::null_mut();
            self.calls.module_load(&mut module, code.as_ptr().cast(), 0, none, none.cast()).unwrap();
            self.calls.module_function(&mut function, module, name.as_ptr()).unwrap();
        }
        Function(function as usize)
    }

    /// Launches with arguments that lie in one block, as the function's parameters do. False: the driver refused.
    pub(crate) fn try_launch(
        &self,
        function: Function,
        (grid, block): ([u32; 3], [u32; 3]),
        stream: usize,
        bytes: &[u8],
    ) -> bool {
        let [start, size] = BLOCK.map(std::ptr::without_provenance_mut);
        let mut length = bytes.len();
        let end = std::ptr::null_mut();
        let mut extra: [*mut c_void; 5] = [start, bytes.as_ptr().cast_mut().cast(), size, (&raw mut length).cast(), end];
        let ([x, y, z], [bx, by, bz]) = (grid, block);
        let (function, stream) = (function.0 as Handle, stream as Handle);
        // SAFETY: the block is as the function's parameters are, which is the caller's business.
        unsafe { self.calls.launch(function, x, y, z, bx, by, bz, 0, stream, end.cast(), extra.as_mut_ptr()) }.is_ok()
    }

    pub(crate) fn launch(&self, function: Function, shape: ([u32; 3], [u32; 3]), stream: usize, bytes: &[u8]) {
        assert!(self.try_launch(function, shape, stream, bytes), "the driver refused a launch");
    }

    /// Launches one invocation of a function whose one parameter is such a structure, as one would who writes CUDA.
    pub(crate) fn launch_one<P: Copy>(&self, function: Function, stream: usize, mut parameter: P) {
        let mut arguments = [(&raw mut parameter).cast::<c_void>()];
        let none = std::ptr::null_mut();
        let stream = stream as Handle;
        // SAFETY: the function has one parameter of that type.
        unsafe { self.calls.launch(function.0 as Handle, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), none).unwrap() }
    }

    pub(crate) fn record(&self, event: usize, stream: usize) {
        // SAFETY: both live.
        unsafe { self.calls.event_record(event as Handle, stream as Handle).unwrap() }
    }

    pub(crate) fn milliseconds(&self, from: usize, to: usize) -> f64 {
        let mut elapsed = 0.0;
        // SAFETY: both are reached; the place is ours.
        unsafe { self.calls.event_elapsed(&mut elapsed, from as Handle, to as Handle).unwrap() }
        f64::from(elapsed)
    }
}

impl Function {
    pub(crate) fn handle(self) -> Handle {
        self.0 as Handle
    }
}

/// The median.
pub(crate) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}
