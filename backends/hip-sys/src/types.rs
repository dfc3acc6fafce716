//! Handles and structures. Their layouts are those of AMD's headers, which the tests compare.
#![allow(non_camel_case_types, non_snake_case, missing_docs, reason = "the names and what they mean are AMD's")]

use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! handles {
    ($($handle:ident to $opaque:ident,)*) => {
        $(
            #[repr(C)]
            #[derive(Debug)]
            pub struct $opaque {
                _private: [u8; 0],
            }
            pub type $handle = *mut $opaque;
        )*
    };
}

handles! {
    hipCtx_t to ihipCtx_t,
    hipEvent_t to ihipEvent_t,
    hipFunction_t to ihipModuleSymbol_t,
    hipGraph_t to ihipGraph,
    hipGraphExec_t to hipGraphExec,
    hipGraphNode_t to hipGraphNode,
    hipMemPool_t to ihipMemPoolHandle_t,
    hipModule_t to ihipModule_t,
    hipStream_t to ihipStream_t,
    hiprtcProgram to _hiprtcProgram,
}

/// The number of a device.
pub type hipDevice_t = c_int;
/// Device memory is an address, and arithmetic on it works.
pub type hipDeviceptr_t = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct hipUUID {
    pub bytes: [c_char; 16],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hipKernelNodeParams {
    pub blockDim: dim3,
    pub extra: *mut *mut c_void,
    pub func: *mut c_void,
    pub gridDim: dim3,
    pub kernelParams: *mut *mut c_void,
    pub sharedMemBytes: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hipMemsetParams {
    pub dst: *mut c_void,
    pub elementSize: c_uint,
    pub height: usize,
    pub pitch: usize,
    pub value: c_uint,
    /// In elements.
    pub width: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hipPitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hipExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hipPos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hipMemcpy3DParms {
    pub srcArray: *mut c_void,
    pub srcPos: hipPos,
    pub srcPtr: hipPitchedPtr,
    pub dstArray: *mut c_void,
    pub dstPos: hipPos,
    pub dstPtr: hipPitchedPtr,
    pub extent: hipExtent,
    pub kind: crate::hipMemcpyKind,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hipMemLocation {
    pub r#type: crate::hipMemLocationType,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hipMemPoolProps {
    pub allocType: crate::hipMemAllocationType,
    pub handleTypes: crate::hipMemAllocationHandleType,
    pub location: hipMemLocation,
    pub win32SecurityAttributes: *mut c_void,
    /// The first 8 bytes are `maxSize` from HIP 6 on; 0 there means no limit.
    pub reserved: [u8; 64],
}

/// `hipDeviceProp_t` as bytes. What is wanted from it is the name of the architecture, everything else is an attribute; and where that name stands
/// depends on which of two functions has written the structure.
#[repr(C, align(8))]
#[derive(Clone)]
pub struct DeviceProperties {
    bytes: [u8; Self::SIZE],
}

impl DeviceProperties {
    /// Bytes that are kept ready, more than any known layout has.
    pub const SIZE: usize = 4096;
    /// Bytes of the layout that `hipGetDeviceProperties` writes.
    pub const FIRST_SIZE: usize = 792;
    /// Where the name of the architecture is in it.
    pub const FIRST_ARCHITECTURE: usize = 396;
    /// Bytes of the layout that `hipGetDevicePropertiesR0600` writes.
    pub const R0600_SIZE: usize = 1472;
    /// Where the name of the architecture is in it.
    pub const R0600_ARCHITECTURE: usize = 1160;
    const NAME: usize = 256;

    /// All zeros.
    pub fn new() -> Self {
        Self { bytes: [0; Self::SIZE] }
    }

    /// What to give to either function.
    pub fn pointer(&mut self) -> *mut c_void {
        self.bytes.as_mut_ptr().cast()
    }

    /// The name for people, in both layouts.
    pub fn name(&self) -> String {
        self.text(0)
    }

    /// The architecture with its features, `gfx90a:sramecc+:xnack-`, at one of the two places.
    pub fn architecture(&self, at: usize) -> String {
        self.text(at)
    }

    fn text(&self, at: usize) -> String {
        let bytes = self.bytes.get(at..).unwrap_or_default();
        let bytes = bytes.get(..Self::NAME).unwrap_or(bytes);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
    }
}

impl Default for DeviceProperties {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for DeviceProperties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceProperties").field("name", &self.name()).finish_non_exhaustive()
    }
}
