//! The functions, as tables of pointers that are there or not.
//!
//! A function that the library lacks is a method like any other: called, it answers what its type says an absent one does. So a caller that can do without
//! asks with `has` first, and one that cannot gets an error to report.
#![allow(non_camel_case_types, non_snake_case, reason = "the names and what they mean are AMD's")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_ushort, c_void};

use libloading::Library;

use crate::types::*;
use crate::values::*;

/// What a function answers that is not there.
trait Absent {
    const ABSENT: Self;
}

impl Absent for hipError_t {
    const ABSENT: Self = hipErrorSharedObjectSymbolNotFound;
}

impl Absent for hiprtcResult {
    const ABSENT: Self = HIPRTC_ERROR_INTERNAL_ERROR;
}

impl Absent for *const c_char {
    const ABSENT: Self = std::ptr::null();
}

/// A function's type as text, in Rust, so that it can be compared with a header.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The types of the parameters.
    pub parameters: &'static [&'static str],
    /// The type of the result.
    pub result: &'static str,
}

macro_rules! table {
    ($(#[$about:meta])* $table:ident { $($name:ident($($parameter:ident: $kind:ty),*) -> $result:ty;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $table {
            $($name: Option<unsafe extern "C" fn($($kind),*) -> $result>,)*
        }

        impl $table {
            /// Every function of the table.
            pub const SIGNATURES: &[Signature] = &[$(Signature {
                name: stringify!($name),
                parameters: &[$(stringify!($kind)),*],
                result: stringify!($result),
            },)*];

            /// The functions that a library has.
            ///
            /// # Safety
            /// What the library exports under these names has AMD's signatures.
            pub(crate) unsafe fn find(library: &Library) -> Self {
                Self {
                    // SAFETY: the caller's.
                    $($name: unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }.ok().map(|symbol| *symbol),)*
                }
            }

            /// Whether the function of that name is there.
            pub fn has(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)*
                    _ => false,
                }
            }

            /// The names of those that are not there.
            pub fn absent(&self) -> Vec<&'static str> {
                Self::SIGNATURES.iter().map(|signature| signature.name).filter(|name| !self.has(name)).collect()
            }

            $(
                #[doc = concat!("`", stringify!($name), "` of HIP.")]
                ///
                /// # Safety
                /// What AMD's manual asks for.
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "AMD's")]
                pub unsafe fn $name(&self, $($parameter: $kind),*) -> $result {
                    match self.$name {
                        // SAFETY: the caller's.
                        Some(function) => unsafe { function($($parameter),*) },
                        None => <$result as Absent>::ABSENT,
                    }
                }
            )*
        }
    };
}

table! {
    /// The runtime, `libamdhip64`. Functions that are not there answer `hipErrorSharedObjectSymbolNotFound`.
    Runtime {
        hipInit(flags: c_uint) -> hipError_t;
        hipDriverGetVersion(version: *mut c_int) -> hipError_t;
        hipRuntimeGetVersion(version: *mut c_int) -> hipError_t;
        hipGetErrorName(error: hipError_t) -> *const c_char;
        hipGetErrorString(error: hipError_t) -> *const c_char;
        hipGetLastError() -> hipError_t;
        hipPeekAtLastError() -> hipError_t;

        hipGetDeviceCount(count: *mut c_int) -> hipError_t;
        hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int) -> hipError_t;
        hipDeviceGetName(name: *mut c_char, length: c_int, device: hipDevice_t) -> hipError_t;
        hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) -> hipError_t;
        hipDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) -> hipError_t;
        hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
        hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int) -> hipError_t;
        hipGetDeviceProperties(properties: *mut c_void, device: c_int) -> hipError_t;
        hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int) -> hipError_t;
        hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> hipError_t;
        hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> hipError_t;
        hipDeviceGetP2PAttribute(value: *mut c_int, attribute: hipDeviceP2PAttr, from: c_int, to: c_int) -> hipError_t;
        hipSetDevice(device: c_int) -> hipError_t;
        hipGetDevice(device: *mut c_int) -> hipError_t;
        hipDeviceSynchronize() -> hipError_t;
        hipDevicePrimaryCtxRetain(context: *mut hipCtx_t, device: hipDevice_t) -> hipError_t;
        hipDevicePrimaryCtxRelease(device: hipDevice_t) -> hipError_t;
        hipCtxGetCurrent(context: *mut hipCtx_t) -> hipError_t;
        hipCtxSetCurrent(context: hipCtx_t) -> hipError_t;
        hipCtxPushCurrent(context: hipCtx_t) -> hipError_t;
        hipCtxPopCurrent(context: *mut hipCtx_t) -> hipError_t;

        hipMalloc(address: *mut *mut c_void, size: usize) -> hipError_t;
        hipFree(address: *mut c_void) -> hipError_t;
        hipMallocAsync(address: *mut *mut c_void, size: usize, stream: hipStream_t) -> hipError_t;
        hipMallocFromPoolAsync(address: *mut *mut c_void, size: usize, pool: hipMemPool_t, stream: hipStream_t) -> hipError_t;
        hipFreeAsync(address: *mut c_void, stream: hipStream_t) -> hipError_t;
        hipMemPoolCreate(pool: *mut hipMemPool_t, properties: *const hipMemPoolProps) -> hipError_t;
        hipMemPoolDestroy(pool: hipMemPool_t) -> hipError_t;
        hipMemPoolSetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) -> hipError_t;
        hipMemPoolGetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) -> hipError_t;
        hipMemPoolTrimTo(pool: hipMemPool_t, keep: usize) -> hipError_t;
        hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, device: c_int) -> hipError_t;
        hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
        hipMemGetAddressRange(base: *mut hipDeviceptr_t, size: *mut usize, address: hipDeviceptr_t) -> hipError_t;
        hipPointerGetAttribute(value: *mut c_void, attribute: hipPointer_attribute, address: hipDeviceptr_t) -> hipError_t;
        hipHostMalloc(address: *mut *mut c_void, size: usize, flags: c_uint) -> hipError_t;
        hipHostFree(address: *mut c_void) -> hipError_t;
        hipHostRegister(address: *mut c_void, size: usize, flags: c_uint) -> hipError_t;
        hipHostUnregister(address: *mut c_void) -> hipError_t;
        hipHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: c_uint) -> hipError_t;

        hipMemcpyHtoD(to: hipDeviceptr_t, from: *const c_void, size: usize) -> hipError_t;
        hipMemcpyDtoH(to: *mut c_void, from: hipDeviceptr_t, size: usize) -> hipError_t;
        hipMemcpyHtoDAsync(to: hipDeviceptr_t, from: *const c_void, size: usize, stream: hipStream_t) -> hipError_t;
        hipMemcpyDtoHAsync(to: *mut c_void, from: hipDeviceptr_t, size: usize, stream: hipStream_t) -> hipError_t;
        hipMemcpyDtoDAsync(to: hipDeviceptr_t, from: hipDeviceptr_t, size: usize, stream: hipStream_t) -> hipError_t;
        hipMemcpyAsync(to: *mut c_void, from: *const c_void, size: usize, kind: hipMemcpyKind, stream: hipStream_t) -> hipError_t;
        hipMemcpy2DAsync(
            to: *mut c_void,
            to_pitch: usize,
            from: *const c_void,
            from_pitch: usize,
            width: usize,
            height: usize,
            kind: hipMemcpyKind,
            stream: hipStream_t
        ) -> hipError_t;
        hipMemcpyPeerAsync(
            to: *mut c_void,
            to_device: c_int,
            from: *const c_void,
            from_device: c_int,
            size: usize,
            stream: hipStream_t
        ) -> hipError_t;
        hipMemsetD8Async(to: hipDeviceptr_t, value: u8, count: usize, stream: hipStream_t) -> hipError_t;
        hipMemsetD16Async(to: hipDeviceptr_t, value: c_ushort, count: usize, stream: hipStream_t) -> hipError_t;
        hipMemsetD32Async(to: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t) -> hipError_t;
        hipMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: hipStream_t) -> hipError_t;

        hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) -> hipError_t;
        hipStreamCreateWithPriority(stream: *mut hipStream_t, flags: c_uint, priority: c_int) -> hipError_t;
        hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> hipError_t;
        hipStreamDestroy(stream: hipStream_t) -> hipError_t;
        hipStreamQuery(stream: hipStream_t) -> hipError_t;
        hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
        hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
        hipStreamWriteValue32(stream: hipStream_t, to: *mut c_void, value: u32, flags: c_uint) -> hipError_t;
        hipStreamWriteValue64(stream: hipStream_t, to: *mut c_void, value: u64, flags: c_uint) -> hipError_t;
        hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus) -> hipError_t;
        hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode) -> hipError_t;
        hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) -> hipError_t;
        hipEventDestroy(event: hipEvent_t) -> hipError_t;
        hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
        hipEventQuery(event: hipEvent_t) -> hipError_t;
        hipEventSynchronize(event: hipEvent_t) -> hipError_t;
        hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;

        hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
        hipModuleLoadDataEx(
            module: *mut hipModule_t,
            image: *const c_void,
            count: c_uint,
            options: *mut hipJitOption,
            values: *mut *mut c_void
        ) -> hipError_t;
        hipModuleUnload(module: hipModule_t) -> hipError_t;
        hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) -> hipError_t;
        hipModuleGetGlobal(address: *mut hipDeviceptr_t, size: *mut usize, module: hipModule_t, name: *const c_char) -> hipError_t;
        hipFuncGetAttribute(value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t) -> hipError_t;
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int,
            function: hipFunction_t,
            block_size: c_int,
            shared: usize
        ) -> hipError_t;
        hipModuleLaunchKernel(
            function: hipFunction_t,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            shared: c_uint,
            stream: hipStream_t,
            parameters: *mut *mut c_void,
            extra: *mut *mut c_void
        ) -> hipError_t;

        hipGraphCreate(graph: *mut hipGraph_t, flags: c_uint) -> hipError_t;
        hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
        hipGraphAddEmptyNode(
            node: *mut hipGraphNode_t,
            graph: hipGraph_t,
            after: *const hipGraphNode_t,
            count: usize
        ) -> hipError_t;
        hipGraphAddKernelNode(
            node: *mut hipGraphNode_t,
            graph: hipGraph_t,
            after: *const hipGraphNode_t,
            count: usize,
            parameters: *const hipKernelNodeParams
        ) -> hipError_t;
        hipGraphAddMemcpyNode1D(
            node: *mut hipGraphNode_t,
            graph: hipGraph_t,
            after: *const hipGraphNode_t,
            count: usize,
            to: *mut c_void,
            from: *const c_void,
            size: usize,
            kind: hipMemcpyKind
        ) -> hipError_t;
        hipGraphAddMemcpyNode(
            node: *mut hipGraphNode_t,
            graph: hipGraph_t,
            after: *const hipGraphNode_t,
            count: usize,
            parameters: *const hipMemcpy3DParms
        ) -> hipError_t;
        hipGraphAddMemsetNode(
            node: *mut hipGraphNode_t,
            graph: hipGraph_t,
            after: *const hipGraphNode_t,
            count: usize,
            parameters: *const hipMemsetParams
        ) -> hipError_t;
        hipGraphInstantiate(
            instance: *mut hipGraphExec_t,
            graph: hipGraph_t,
            error_node: *mut hipGraphNode_t,
            log: *mut c_char,
            log_size: usize
        ) -> hipError_t;
        hipGraphInstantiateWithFlags(instance: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong) -> hipError_t;
        hipGraphExecKernelNodeSetParams(
            instance: hipGraphExec_t,
            node: hipGraphNode_t,
            parameters: *const hipKernelNodeParams
        ) -> hipError_t;
        hipGraphExecMemcpyNodeSetParams1D(
            instance: hipGraphExec_t,
            node: hipGraphNode_t,
            to: *mut c_void,
            from: *const c_void,
            size: usize,
            kind: hipMemcpyKind
        ) -> hipError_t;
        hipGraphExecMemsetNodeSetParams(
            instance: hipGraphExec_t,
            node: hipGraphNode_t,
            parameters: *const hipMemsetParams
        ) -> hipError_t;
        hipGraphLaunch(instance: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
        hipGraphExecDestroy(instance: hipGraphExec_t) -> hipError_t;
    }
}

table! {
    /// The runtime compiler, `libhiprtc`, which was a part of `libamdhip64` before HIP 6. Functions that are not there answer `HIPRTC_ERROR_INTERNAL_ERROR`.
    Compiler {
        hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult;
        hiprtcGetErrorString(result: hiprtcResult) -> *const c_char;
        hiprtcCreateProgram(
            program: *mut hiprtcProgram,
            source: *const c_char,
            name: *const c_char,
            header_count: c_int,
            headers: *const *const c_char,
            header_names: *const *const c_char
        ) -> hiprtcResult;
        hiprtcCompileProgram(program: hiprtcProgram, count: c_int, options: *const *const c_char) -> hiprtcResult;
        hiprtcGetProgramLogSize(program: hiprtcProgram, size: *mut usize) -> hiprtcResult;
        hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char) -> hiprtcResult;
        hiprtcGetCodeSize(program: hiprtcProgram, size: *mut usize) -> hiprtcResult;
        hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult;
        hiprtcDestroyProgram(program: *mut hiprtcProgram) -> hiprtcResult;
    }
}
