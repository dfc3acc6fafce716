//! The driver interface: the calls that CUDA and HIP share, as a table of C functions, and the data in which the two differ.
//!
//! HIP was made after CUDA, call by call: under other names the functions take the same arguments in the same order. So a vendor is *data*: for each call the
//! symbols that it may have ([`Names`]), numbers of attributes and flags, error codes, and a few functions for what has no common form ([`Vendor`]). Everything
//! that decides is in this crate.
//!
//! A call that a library does not have is an answer ([`Failure::absent`]), never a panic. No device is known here, and nothing is kept.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::time::Duration;

use compute_hal::{NativeKind, TENSOR_MAP_SIZE, TensorMap};
use compute_kernel::cxx::Dialect;

pub use crate::forms::{Forms, Places};
pub use crate::nodes::{Copy3d, FillNode, KernelNode, NodeParameters};

/// What every call answers; 0: well. Any number may come, also ones that this version has never heard of, so it is no enumeration.
pub type Status = c_int;

/// A driver's own pointer (context, stream, event, module, function, pool, graph).
pub type Handle = *mut c_void;

/// The number of a device as the driver counts.
pub type DeviceNumber = c_int;

/// A call that did not answer 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The symbol that was called.
    pub call: &'static str,
    /// What it answered; [`Failure::ABSENT`] when the library has no such symbol.
    pub code: Status,
}

impl Failure {
    /// No driver's number: the call is not there.
    pub const ABSENT: Status = Status::MIN;

    /// The library does not have this call.
    pub const fn absent(call: &'static str) -> Self {
        Self { call, code: Self::ABSENT }
    }

    /// Whether the library does not have this call.
    pub const fn is_absent(&self) -> bool {
        self.code == Self::ABSENT
    }
}

/// Devices that were found without starting the driver, which would not survive a fork (F6).
pub struct Listing {
    /// As `driver_version` tells it.
    pub version: c_int,
    /// Those that the driver would show to this process.
    pub devices: Vec<compute_hal::Properties>,
}

/// Asks a library, whose symbols it finds, for devices. `None`: it cannot tell for certain.
pub type Ask = fn(Find<'_>) -> Option<Listing>;

/// Finds the address of a symbol.
pub type Find<'a> = &'a dyn Fn(&CStr) -> Option<*mut c_void>;

/// One entry of a table: its address and the symbol that it was found under.
#[derive(Clone, Copy)]
pub struct Entry<F> {
    function: F,
    symbol: &'static str,
}

/// Declares a table of calls: `must name(parameters)` for those that every library has to have, `may` for the others.
macro_rules! table {
    ($calls:ident, $names:ident: $($(#[doc = $doc:literal])* $need:ident $name:ident($($parameter:ident: $ty:ty),*);)*) => {
        /// For each call the symbols that it may be found under, the best first. None: the vendor has no such call.
        #[derive(Clone, Copy, Debug)]
        pub struct $names {
            $($(#[doc = $doc])* pub $name: &'static [&'static str],)*
        }

        impl $names {
            /// No call has a symbol.
            pub const NONE: Self = Self { $($name: &[],)* };

            /// Each call with its symbols and the types of its parameters as text, to be compared with a vendor's headers.
            pub fn forms(&self) -> Vec<(&'static str, &'static [&'static str], &'static [&'static str])> {
                vec![$((stringify!($name), self.$name, &[$(stringify!($ty)),*]),)*]
            }
            /// Every call has its own name for a symbol: for stand-ins of a driver.
            pub const OWN: Self = Self { $($name: &[stringify!($name)],)* };
        }

        /// The calls of an opened library. A field is `None` where the library does not have the call. CUDA's header says `__stdcall` on Windows, which is C's convention on
        /// 64-bit systems.
        #[derive(Clone)]
        pub struct $calls {
            $($(#[doc = $doc])* pub $name: Option<Entry<unsafe extern "C" fn($($ty),*) -> Status>>,)*
        }

        impl $calls {
            /// Looks every symbol up.
            ///
            /// # Errors
            /// The symbols of calls that must be there and are not.
            ///
            /// # Safety
            /// What `find` gives for a symbol is a function with the arguments that are declared here for its call, and stays callable for as long as the table lives.
            pub unsafe fn load(names: &$names, find: Find<'_>) -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                let calls = Self {
                    $($name: {
                        let found = first(names.$name, find).map(|(address, symbol)| Entry {
                            // SAFETY: the caller vouches for the symbol's type; the address is not null.
                            function: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> Status>(address) },
                            symbol,
                        });
                        if found.is_none() && needed!($need) {
                            missing.push(names.$name.first().copied().unwrap_or(stringify!($name)));
                        }
                        found
                    },)*
                };
                if missing.is_empty() { Ok(calls) } else { Err(missing) }
            }

            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// What the driver answers, or that the call is not there.
                ///
                /// # Safety
                /// As the driver's documentation says of the call: handles are alive, pointers valid for what is read or written there.
                #[allow(clippy::too_many_arguments, reason = "the driver's own")]
                pub unsafe fn $name(&self, $($parameter: $ty),*) -> Result<(), Failure> {
                    match &self.$name {
                        // SAFETY: passed on to the caller.
                        Some(entry) => match unsafe { (entry.function)($($parameter),*) } {
                            0 => Ok(()),
                            code => {
                                FAILED.set(true);
                                Err(Failure { call: entry.symbol, code })
                            }
                        },
                        None => Err(Failure::absent(stringify!($name))),
                    }
                }
            )*
        }
    };
}

macro_rules! needed {
    (must) => {
        true
    };
    (may) => {
        false
    };
}

fn first(symbols: &[&'static str], find: Find<'_>) -> Option<(*mut c_void, &'static str)> {
    symbols.iter().find_map(|symbol| {
        let address = find(&CString::new(*symbol).ok()?)?;
        (!address.is_null()).then_some((address, *symbol))
    })
}

table! { Calls, Names:
    /// Starts the driver. Flags: 0.
    must init(flags: u32);
    /// The driver's version, as the vendor counts.
    must driver_version(version: *mut c_int);
    /// The name of a code, as text that lives for ever.
    may error_name(code: Status, name: *mut *const c_char);
    /// What a code means, likewise.
    may error_text(code: Status, text: *mut *const c_char);
    /// What the thread's last call that failed answered, if the driver keeps that, which it then forgets.
    may last_error();

    /// How many devices there are.
    must device_count(count: *mut c_int);
    /// The device with that index.
    must device_get(device: *mut DeviceNumber, index: c_int);
    /// Its name, cut to `length` bytes with a zero at the end.
    must device_name(name: *mut c_char, length: c_int, device: DeviceNumber);
    /// Its identity, 16 bytes.
    may device_uuid(uuid: *mut [u8; 16], device: DeviceNumber);
    /// Its memory in bytes.
    must device_memory(size: *mut usize, device: DeviceNumber);
    /// An attribute, by the vendor's number.
    must device_attribute(value: *mut c_int, attribute: c_int, device: DeviceNumber);
    /// The vendor's structure of properties, for [`Vendor::target`] alone.
    may device_properties(properties: *mut c_void, device: DeviceNumber);
    /// Whether `device` can reach memory of `peer`.
    may can_access_peer(can: *mut c_int, device: DeviceNumber, peer: DeviceNumber);

    /// Retains the context that a device has for the whole process. With `context_*`: the vendor has a stack of contexts on each thread.
    may primary_retain(context: *mut Handle, device: DeviceNumber);
    /// Gives it back.
    may primary_release(device: DeviceNumber);
    /// The thread's context, or null.
    may context_current(context: *mut Handle);
    /// Puts a context on the thread's stack.
    may context_push(context: Handle);
    /// Takes it off again.
    may context_pop(context: *mut Handle);
    /// The thread's device. Where there are no contexts.
    may current_device(device: *mut DeviceNumber);
    /// Sets the thread's device. Where there are no contexts.
    may set_device(device: DeviceNumber);
    /// Sets how the thread's calls and captures of graphs by other threads get along, and gives what was set before.
    may capture_mode(mode: *mut c_int);
    /// Lets the current context reach memory of another. Flags: 0.
    may peer_enable_context(peer: Handle, flags: u32);
    /// Lets the current device reach memory of another. Flags: 0.
    may peer_enable_device(peer: DeviceNumber, flags: u32);

    /// Free and total bytes of memory.
    must memory_info(free: *mut usize, total: *mut usize);
    /// Allocates.
    must allocate(address: *mut u64, size: usize);
    /// Gives back what `allocate` gave; may wait for the device.
    must free(address: u64);
    /// Makes a pool of memory.
    may pool_create(pool: *mut Handle, properties: *const PoolProperties);
    /// Ends it.
    may pool_destroy(pool: Handle);
    /// Sets an attribute of it.
    may pool_set(pool: Handle, attribute: c_int, value: *mut c_void);
    /// Gives all but so many of its free bytes to the system.
    may pool_trim(pool: Handle, keep: usize);
    /// Lets devices reach a pool's memory.
    may pool_access(pool: Handle, access: *const PoolAccess, count: usize);
    /// Allocates from a pool in the order of a stream.
    may pool_allocate(address: *mut u64, size: usize, pool: Handle, stream: Handle);
    /// Gives it back in the order of a stream.
    may pool_free(address: u64, stream: Handle);
    /// Allocates pinned host memory.
    must host_allocate(pointer: *mut *mut c_void, size: usize, flags: u32);
    /// Gives it back; may wait for the device.
    must host_free(pointer: *mut c_void);
    /// The device's address of pinned memory. Flags: 0.
    must host_address(address: *mut u64, pointer: *mut c_void, flags: u32);
    /// An attribute of an address.
    may pointer_attribute(value: *mut c_void, attribute: c_int, address: u64);
    /// The allocation that an address lies in.
    may address_range(base: *mut u64, size: *mut usize, address: u64);

    /// Host to device.
    must write_async(to: u64, from: *const c_void, size: usize, stream: Handle);
    /// Device to host.
    must read_async(to: *mut c_void, from: u64, size: usize, stream: Handle);
    /// Within the device.
    must copy_async(to: u64, from: u64, size: usize, stream: Handle);
    /// Rows, as a structure says. A vendor has this or `copy_rows_async`.
    may copy_2d_async(copy: *const Copy2d, stream: Handle);
    /// Rows between addresses of either kind; `way` is one of [`Flags::ways`].
    may copy_rows_async(to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, rows: usize, way: c_int, stream: Handle);
    /// Between contexts.
    may copy_peer_contexts(to: u64, to_context: Handle, from: u64, from_context: Handle, size: usize, stream: Handle);
    /// Between devices.
    may copy_peer_devices(to: u64, to_device: DeviceNumber, from: u64, from_device: DeviceNumber, size: usize, stream: Handle);
    /// Fills with bytes.
    must fill_8_async(to: u64, value: u8, count: usize, stream: Handle);
    /// Fills with pairs of bytes; the address is a multiple of 2.
    must fill_16_async(to: u64, value: u16, count: usize, stream: Handle);
    /// Fills with words; the address is a multiple of 4.
    must fill_32_async(to: u64, value: u32, count: usize, stream: Handle);
    /// Makes a stream.
    must stream_create(stream: *mut Handle, flags: u32);
    /// Ends it once its work is done.
    must stream_destroy(stream: Handle);
    /// Whether all its work is done.
    must stream_query(stream: Handle);
    /// Whether a stream is a part of a graph that is being captured: 0 is no.
    may stream_capturing(stream: Handle, status: *mut c_int);
    /// Makes later work of a stream wait for what the event's last record covers. Flags: 0.
    must stream_wait(stream: Handle, event: Handle, flags: u32);
    /// Makes an event.
    must event_create(event: *mut Handle, flags: u32);
    /// Ends it.
    must event_destroy(event: Handle);
    /// Records it in a stream.
    must event_record(event: Handle, stream: Handle);
    /// Whether its last record is reached.
    must event_query(event: Handle);
    /// Milliseconds between two records.
    must event_elapsed(milliseconds: *mut f32, from: Handle, to: Handle);

    /// Loads code.
    must module_load(module: *mut Handle, image: *const c_void, options: u32, option: *mut c_int, values: *mut *mut c_void);
    /// Ends it; may wait.
    must module_unload(module: Handle);
    /// A kernel of it by name.
    must module_function(function: *mut Handle, module: Handle, name: *const c_char);
    /// An attribute of a kernel.
    must function_attribute(value: *mut c_int, attribute: c_int, function: Handle);
    /// Sets one.
    may function_set(function: Handle, attribute: c_int, value: c_int);
    /// Offset and size of a kernel's parameter in the block of its arguments.
    may function_parameter(function: Handle, index: usize, offset: *mut usize, size: *mut usize);
    /// How many workgroups of so many invocations, whose launch asks for so many bytes of workgroup memory, a unit has of a kernel at once.
    may resident(count: *mut c_int, function: Handle, invocations: c_int, shared: usize);
    /// Makes a tensor map of a view at an address: element, dimensions, their sizes, strides of all but the first in bytes, a box, of how many elements in it one is
    /// taken, interleave, swizzle, cache, fill. A context has to be current.
    may tensor_map(map: *mut c_void, element: u32, rank: u32, address: *mut c_void, shape: *const u64, strides: *const u64, box_shape: *const u32, steps: *const u32, interleave: u32, swizzle: u32, promotion: u32, fill: u32);
    /// Launches. `arguments` has the address of each, and `extra` is null; or `arguments` is null, and `extra` points at markers and the block of arguments.
    must launch(function: Handle, x: u32, y: u32, z: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: Handle, arguments: *mut *mut c_void, extra: *mut *mut c_void);

    /// Makes a graph. Flags: 0.
    may graph_create(graph: *mut Handle, flags: u32);
    /// Ends it.
    may graph_destroy(graph: Handle);
    /// Makes it ready to run. Flags: 0.
    may graph_instantiate(executable: *mut Handle, graph: Handle, flags: u64);
    /// Runs it.
    may graph_launch(executable: Handle, stream: Handle);
    /// Ends what was made ready.
    may graph_executable_destroy(executable: Handle);
    /// Adds a node that does nothing. `after`: the nodes of the graph that it follows.
    may graph_add_empty(node: *mut Handle, graph: Handle, after: *const Handle, count: usize);
    /// Adds a launch, in the form of [`Vendor::kernel_node`]. The driver copies the arguments.
    may graph_add_kernel(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, launch: *const c_void);
    /// Adds a fill, in the form of [`Vendor::fill_node`]. A vendor has this or `graph_add_fill`.
    may graph_add_fill_in(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const c_void, context: Handle);
    /// The same without a context.
    may graph_add_fill(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, fill: *const c_void);
    /// Adds a copy, as a structure says. A vendor has this or `graph_add_copy`.
    may graph_add_copy_in(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Copy3d, context: Handle);
    /// Adds a copy; `way` is one of [`Flags::ways`].
    may graph_add_copy(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: u64, from: u64, size: usize, way: c_int);
    /// Gives a launch of what was made ready other parameters, for the next time that it runs. `node` is one of the graph's.
    may graph_set_kernel(executable: Handle, node: Handle, launch: *const c_void);
    /// The same of a fill.
    may graph_set_fill_in(executable: Handle, node: Handle, fill: *const c_void, context: Handle);
    /// The same without a context.
    may graph_set_fill(executable: Handle, node: Handle, fill: *const c_void);
    /// The same of a copy.
    may graph_set_copy_in(executable: Handle, node: Handle, copy: *const Copy3d, context: Handle);
    /// The same where there are no contexts.
    may graph_set_copy(executable: Handle, node: Handle, to: u64, from: u64, size: usize, way: c_int);
}

thread_local! {
    /// A call has failed on this thread, which the driver may keep for whoever asks for the last error.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

impl Calls {
    /// Has the driver forget what failed on this thread: the host, whose thread it may be, is to find no errors of ours there.
    #[inline]
    pub(crate) fn forget_failures(&self) {
        if FAILED.get() {
            self.forget();
        }
    }

    #[cold]
    fn forget(&self) {
        // SAFETY: it takes nothing.
        let _ = unsafe { self.last_error() };
        FAILED.set(false);
    }
}

table! { CompilerCalls, CompilerNames:
    /// Major and minor version.
    must version(major: *mut c_int, minor: *mut c_int);
    /// Takes a source.
    must create(program: *mut Handle, source: *const c_char, name: *const c_char, headers: c_int, header: *const *const c_char, names: *const *const c_char);
    /// Compiles it.
    must compile(program: Handle, count: c_int, options: *const *const c_char);
    /// Bytes of the compiler's words, with a zero at the end.
    must log_size(program: Handle, size: *mut usize);
    /// The compiler's words.
    must log(program: Handle, log: *mut c_char);
    /// Bytes of machine code.
    must code_size(program: Handle, size: *mut usize);
    /// Machine code.
    must code(program: Handle, code: *mut c_char);
    /// Ends a program.
    must destroy(program: *mut Handle);
    /// How many architectures it makes code for.
    may architecture_count(count: *mut c_int);
    /// Which, as numbers.
    may architectures(all: *mut c_int);
}

/// The calls whose symbols differ by the vendor's prefix alone, in HIP's spelling. CUDA's later versions of some have others.
#[macro_export]
macro_rules! shared_names {
    ($prefix:literal) => {
        $crate::driver::Names {
            init: &[concat!($prefix, "Init")],
            driver_version: &[concat!($prefix, "DriverGetVersion")],
            device_get: &[concat!($prefix, "DeviceGet")],
            device_name: &[concat!($prefix, "DeviceGetName")],
            device_uuid: &[concat!($prefix, "DeviceGetUuid")],
            device_memory: &[concat!($prefix, "DeviceTotalMem")],
            device_attribute: &[concat!($prefix, "DeviceGetAttribute")],
            can_access_peer: &[concat!($prefix, "DeviceCanAccessPeer")],
            capture_mode: &[concat!($prefix, "ThreadExchangeStreamCaptureMode")],
            memory_info: &[concat!($prefix, "MemGetInfo")],
            pointer_attribute: &[concat!($prefix, "PointerGetAttribute")],
            address_range: &[concat!($prefix, "MemGetAddressRange")],
            write_async: &[concat!($prefix, "MemcpyHtoDAsync")],
            read_async: &[concat!($prefix, "MemcpyDtoHAsync")],
            copy_async: &[concat!($prefix, "MemcpyDtoDAsync")],
            fill_8_async: &[concat!($prefix, "MemsetD8Async")],
            fill_16_async: &[concat!($prefix, "MemsetD16Async")],
            fill_32_async: &[concat!($prefix, "MemsetD32Async")],
            stream_destroy: &[concat!($prefix, "StreamDestroy")],
            stream_query: &[concat!($prefix, "StreamQuery")],
            stream_capturing: &[concat!($prefix, "StreamIsCapturing")],
            stream_wait: &[concat!($prefix, "StreamWaitEvent")],
            event_destroy: &[concat!($prefix, "EventDestroy")],
            event_record: &[concat!($prefix, "EventRecord")],
            event_query: &[concat!($prefix, "EventQuery")],
            event_elapsed: &[concat!($prefix, "EventElapsedTime")],
            module_load: &[concat!($prefix, "ModuleLoadDataEx")],
            module_unload: &[concat!($prefix, "ModuleUnload")],
            module_function: &[concat!($prefix, "ModuleGetFunction")],
            function_attribute: &[concat!($prefix, "FuncGetAttribute")],
            graph_create: &[concat!($prefix, "GraphCreate")],
            graph_destroy: &[concat!($prefix, "GraphDestroy")],
            graph_instantiate: &[concat!($prefix, "GraphInstantiateWithFlags")],
            graph_launch: &[concat!($prefix, "GraphLaunch")],
            graph_executable_destroy: &[concat!($prefix, "GraphExecDestroy")],
            graph_add_empty: &[concat!($prefix, "GraphAddEmptyNode")],
            graph_add_kernel: &[concat!($prefix, "GraphAddKernelNode")],
            graph_set_kernel: &[concat!($prefix, "GraphExecKernelNodeSetParams")],
            ..$crate::driver::Names::NONE
        }
    };
}

/// The same of the runtime compiler.
#[macro_export]
macro_rules! shared_compiler_names {
    ($prefix:literal) => {
        $crate::driver::CompilerNames {
            version: &[concat!($prefix, "Version")],
            create: &[concat!($prefix, "CreateProgram")],
            compile: &[concat!($prefix, "CompileProgram")],
            log_size: &[concat!($prefix, "GetProgramLogSize")],
            log: &[concat!($prefix, "GetProgramLog")],
            code_size: &[concat!($prefix, "GetCodeSize")],
            code: &[concat!($prefix, "GetCode")],
            destroy: &[concat!($prefix, "DestroyProgram")],
            ..$crate::driver::CompilerNames::NONE
        }
    };
}

/// What a pool is made of. The layout is the driver's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolProperties {
    /// 1: pinned device memory.
    pub kind: c_int,
    /// 0: not to be shared with other processes.
    pub handles: c_int,
    /// 1: a device.
    pub location: c_int,
    /// Which.
    pub device: c_int,
    /// Windows only.
    pub security: *mut c_void,
    /// 0: no limit.
    pub most: usize,
    /// For later versions.
    pub reserved: [u8; 56],
}

/// Who may reach a pool's memory. The layout is the driver's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolAccess {
    /// 1: a device.
    pub location: c_int,
    /// Which.
    pub device: c_int,
    /// 3: to read and to write.
    pub rights: c_int,
}

/// A copy of rows. The layout is the driver's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy2d {
    /// Where it begins, in bytes.
    pub from_x: usize,
    /// In rows.
    pub from_y: usize,
    /// [`Flags::memory_host`] or [`Flags::memory_device`].
    pub from_kind: c_int,
    /// When it is host memory.
    pub from_host: *const c_void,
    /// When it is device memory.
    pub from_device: u64,
    /// Not used.
    pub from_array: Handle,
    /// Bytes from row to row.
    pub from_pitch: usize,
    /// As of the source.
    pub to_x: usize,
    /// As of the source.
    pub to_y: usize,
    /// As of the source.
    pub to_kind: c_int,
    /// As of the source.
    pub to_host: *mut c_void,
    /// As of the source.
    pub to_device: u64,
    /// As of the source.
    pub to_array: Handle,
    /// As of the source.
    pub to_pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Numbers of attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// Of a device: invocations per workgroup, then on each axis.
    pub workgroup_invocations: c_int,
    /// See there.
    pub workgroup_size: [c_int; 3],
    /// Workgroups per launch on each axis.
    pub grid: [c_int; 3],
    /// Bytes of workgroup memory that a kernel may have without asking.
    pub workgroup_memory: c_int,
    /// Bytes of it that a kernel may ask for; `None`: no more than that.
    pub workgroup_memory_most: Option<c_int>,
    /// Kilohertz of the clock that kernels look at; `None`: it has one rate, [`Vendor::clock`].
    pub clock: Option<c_int>,
    /// Invocations of a subgroup.
    pub warp_size: c_int,
    /// Bytes from row to row in a copy at most.
    pub pitch: c_int,
    /// Compute units.
    pub units: c_int,
    /// Whether it shares the host's memory.
    pub integrated: c_int,
    /// Major and minor number of what it can compute; `None`: [`Vendor::target`] finds out otherwise.
    pub capability: Option<[c_int; 2]>,
    /// Whether it has pools of memory; `None`: no version has them that could be relied on.
    pub pools: Option<c_int>,
    /// Place on the bus: domain, bus, device.
    pub bus: [c_int; 3],
    /// Of a pool: bytes that it keeps for itself, a u64.
    pub pool_keeps: c_int,
    /// Of a kernel: largest workgroup.
    pub function_invocations: c_int,
    /// Of a kernel: bytes of workgroup memory that its code declares.
    pub function_memory: c_int,
    /// Of a kernel: registers.
    pub function_registers: c_int,
    /// Of a kernel, to be set: bytes of workgroup memory that launches may ask for; `None`: they just ask.
    pub function_memory_most: Option<c_int>,
    /// Of an address: its context.
    pub pointer_context: Option<c_int>,
    /// Of an address: the number of its device.
    pub pointer_device: Option<c_int>,
    /// Of an address: the kind of its memory, for [`Vendor::is_host`].
    pub pointer_kind: Option<c_int>,
    /// Of an address: whether its memory is managed, and so the device's and the host's, wherever it is.
    pub pointer_managed: Option<c_int>,
    /// Of an address: the pool that it was allocated from, or null.
    pub pointer_pool: Option<c_int>,
}

/// Flags and other numbers of the calls.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// A stream that the default stream does not wait for.
    pub stream: u32,
    /// An event without time.
    pub event: u32,
    /// An event with time.
    pub event_timed: u32,
    /// Host memory that is pinned for all contexts and has a device address.
    pub host: u32,
    /// Kinds of memory in [`Copy2d`].
    pub memory_host: c_int,
    /// See there.
    pub memory_device: c_int,
    /// Of `copy_rows_async`: host to device, device to host, within the device.
    pub ways: [c_int; 3],
    /// Markers of a launch's `extra`: the block of arguments, its size, the end.
    pub launch_markers: [usize; 3],
    /// What the place of a block of arguments is a multiple of, as far as is known. Kernels with parameters of a greater alignment get them one by one: they lie elsewhere
    /// in the block that their code sees.
    pub block_alignment: u32,
    /// Options of `module_load`: a buffer for errors and its size in bytes; `None`: no such options.
    pub load_log: Option<[c_int; 2]>,
}

/// What error codes mean.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// Memory is out.
    pub out_of_memory: Status,
    /// Not yet; no error.
    pub not_ready: Status,
    /// No device.
    pub no_device: Status,
    /// A peer was enabled before; no error.
    pub peer_enabled: Status,
    /// First and last of the codes that say that somebody captures a graph: nothing about the work that was asked for.
    pub capturing: (Status, Status),
    /// How long nothing but such answers may come to questions about work of the library's own, which nobody captures.
    pub patience: Duration,
    /// First and last of ranges of codes after which nothing works any more.
    pub sticky: &'static [(Status, Status)],
    /// Whether one that is sticky on a device says so of every device of the process, so that none can be opened any more. Else it is the end of that device alone, and `open` finds
    /// out what still works.
    pub end_all: bool,
    /// The context is gone, and all of it: somebody else has destroyed or reset it. Says nothing about other devices.
    pub context_gone: Status,
    /// The same, but only where a call that makes a device or context the thread's answers them.
    pub sticky_at_home: &'static [Status],
    /// Code and name, for libraries that do not tell.
    pub names: &'static [(Status, &'static str)],
    /// Of `module_load` and `module_function`: the code is none for this device, or has no such kernel.
    pub image: &'static [Status],
    /// Of `pointer_attribute` and `address_range`: the driver has no memory at that address.
    pub no_memory_there: &'static [Status],
    /// Of the runtime compiler: the source is wrong.
    pub compilation: Status,
}

impl Errors {
    /// Whether a question has to be asked again.
    pub fn is_not_yet(&self, code: Status) -> bool {
        code == self.not_ready || self.is_capturing(code)
    }

    /// Whether somebody who captures a graph is in the way.
    pub fn is_capturing(&self, code: Status) -> bool {
        (self.capturing.0..=self.capturing.1).contains(&code)
    }

    /// Whether code was refused for what it is.
    pub fn is_image(&self, code: i64) -> bool {
        self.image.iter().any(|known| i64::from(*known) == code)
    }

    /// Whether nothing works any more after this code.
    pub fn is_sticky(&self, code: Status) -> bool {
        self.sticky.iter().any(|(first, last)| (*first..=*last).contains(&code))
    }
}

/// How a vendor makes tensor maps (L13).
#[derive(Clone, Copy, Debug)]
pub struct TensorMaps {
    /// Of [`Forms::generation`], the first whose devices have them.
    pub first: u32,
    /// The oldest driver that makes them, for people.
    pub driver: &'static str,
    /// Makes one, of a map that was checked and an address on the device.
    pub encode: fn(&Calls, &TensorMap, address: u64) -> Result<TensorMapBytes, Failure>,
}

/// A tensor map as a kernel gets it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMapBytes(pub [u8; TENSOR_MAP_SIZE as usize]);

/// Whether a driver takes what a compiler makes, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompilerFit {
    /// It may not.
    No,
    /// The compiler does not tell what it is.
    Unknown,
    /// It does.
    Yes,
}

/// One vendor: all in which the two differ.
pub struct Vendor {
    /// `cuda` or `hip`.
    pub name: &'static str,
    /// For people.
    pub company: &'static str,
    /// File names of the driver's library; the first that opens is taken.
    pub libraries: &'static [&'static str],
    /// Of the runtime compiler's; its symbols may also be in the driver's.
    pub compilers: &'static [&'static str],
    /// What compilers open by themselves, some at their first use, by what its file names begin with; beside the compiler.
    pub compiler_parts: &'static [&'static str],
    /// Variables of the environment that say to the runtime compiler what it does besides its options.
    pub environment: &'static [&'static str],
    /// The first of them, major and minor, that takes what kernels are written in.
    pub oldest_compiler: [c_int; 2],
    /// Whether a driver of a version, as `driver_version` tells it, takes what a compiler of a major version makes.
    pub compiler_fits: fn(major: c_int, driver: c_int) -> CompilerFit,
    /// Symbols.
    pub names: &'static Names,
    /// Symbols of the runtime compiler.
    pub compiler_names: &'static CompilerNames,
    /// Where devices are told without the driver: a library's file, and what asks it. Without: only the started driver tells them.
    pub listing: Option<(&'static str, Ask)>,
    /// The oldest version that works, as `driver_version` tells it.
    pub oldest: c_int,
    /// A version as people write it.
    pub version: fn(c_int) -> String,
    /// Numbers.
    pub attributes: Attributes,
    /// Numbers.
    pub flags: Flags,
    /// Numbers.
    pub errors: Errors,
    /// The language that portable kernels are translated to.
    pub dialect: &'static Dialect,
    /// The native sources that are taken.
    pub forms: Forms,
    /// How tensor maps are made; `None`: the vendor has none.
    pub tensor_maps: Option<TensorMaps>,
    /// Streams that exist at once.
    pub queues: u32,
    /// Kilohertz of the clock that kernels look at, where no attribute tells.
    pub clock: u32,
    /// What an exported address is for the vendor's own programs.
    pub native: NativeKind,
    /// Whether a kind of memory is the host's, by the version that `driver_version` tells.
    pub is_host: fn(kind: u32, version: c_int) -> bool,
    /// Multiple of bytes that rows begin at.
    pub row_alignment: u32,
    /// The exact target that code is made for (`sm_90`, `gfx942:sramecc+:xnack-`).
    pub target: fn(&Calls, &Attributes, DeviceNumber) -> Result<String, Failure>,
    /// What the runtime compiler is told to make code for that target; an error says why there is none.
    pub compile_options: fn(target: &str) -> Result<Vec<String>, String>,
    /// What kernels may use on that target.
    pub features: fn(target: &str) -> compute_hal::Features,
    /// The oldest version whose graphs are used, as `driver_version` tells it.
    pub graphs: c_int,
    /// A launch in the vendor's form.
    pub kernel_node: fn(&KernelNode) -> NodeParameters,
    /// A fill in the vendor's form.
    pub fill_node: fn(&FillNode) -> NodeParameters,
}

impl Vendor {
    /// Whether nothing works any more after a failure.
    pub(crate) fn is_end(&self, failure: Failure) -> bool {
        let Names { current_device, set_device, context_current, context_push, .. } = self.names;
        let at_home =
            || [current_device, set_device, context_current, context_push].iter().any(|call| call.contains(&failure.call));
        let Errors { context_gone, sticky_at_home, .. } = &self.errors;
        let ends = self.errors.is_sticky(failure.code) || failure.code == *context_gone;
        ends || sticky_at_home.contains(&failure.code) && at_home()
    }

    /// Whether a library has all calls that graphs take.
    pub(crate) fn has_graphs(&self, calls: &Calls) -> bool {
        let mut version = 0;
        // SAFETY: the place is ours.
        let new_enough = unsafe { calls.driver_version(&mut version) }.is_ok() && version >= self.graphs;
        let kept = calls.graph_create.is_some() && calls.graph_destroy.is_some() && calls.graph_instantiate.is_some();
        let run = calls.graph_launch.is_some() && calls.graph_executable_destroy.is_some();
        let fills = calls.graph_add_fill_in.is_some() || calls.graph_add_fill.is_some();
        let copies = calls.graph_add_copy_in.is_some() || calls.graph_add_copy.is_some();
        // Without the calls that change nodes a graph is made anew.
        new_enough && kept && run && calls.graph_add_empty.is_some() && calls.graph_add_kernel.is_some() && fills && copies
    }

    /// The name of a code.
    pub fn error_name(&self, calls: Option<&Calls>, code: Status) -> String {
        if code == Failure::ABSENT {
            return "NOT_THERE".into();
        }
        let listed = || self.errors.names.iter().find(|(known, _)| *known == code).map(|(_, name)| (*name).to_owned());
        told(code, |code, text| match calls {
            // SAFETY: the place for the pointer is ours.
            Some(calls) => unsafe { calls.error_name(code, text) },
            None => Err(Failure::absent("error_name")),
        })
        .or_else(listed)
        .unwrap_or_else(|| format!("{}_ERROR_{code}", self.name.to_uppercase()))
    }

    /// What a code means, in the driver's words, or nothing.
    pub fn error_text(&self, calls: &Calls, code: Status) -> String {
        // SAFETY: the place for the pointer is ours.
        told(code, |code, text| unsafe { calls.error_text(code, text) }).unwrap_or_default()
    }
}

fn told(code: Status, ask: impl Fn(Status, *mut *const c_char) -> Result<(), Failure>) -> Option<String> {
    let mut text = std::ptr::null();
    ask(code, &mut text).ok()?;
    if text.is_null() {
        return None;
    }
    // SAFETY: a driver's text ends with a zero and lives for ever.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

impl fmt::Debug for CompilerCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompilerCalls")
    }
}
