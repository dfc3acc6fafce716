//! Results, attributes and flags: those that have the same number in every version from 5.2 on. `tests/values.tsv` has each of them by version.
#![allow(non_camel_case_types, non_upper_case_globals, missing_docs, reason = "the names and what they mean are AMD's")]

use std::ffi::{c_int, c_uint, c_void};

/// What a function of the runtime answers.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct hipError_t(pub c_uint);

/// What a function of the runtime compiler answers.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct hiprtcResult(pub c_uint);

macro_rules! values {
    ($($kind:ident as $made:expr => { $($name:ident = $value:expr,)* })*) => {
        $($(pub const $name: $kind = $made($value);)*)*
        /// Every value of an enumeration here, by name.
        pub const VALUES: &[(&str, u64)] = &[$($((stringify!($name), $value as u64),)*)*];
    };
}

pub type hipDeviceAttribute_t = c_uint;
pub type hipDeviceP2PAttr = c_uint;
pub type hipFunction_attribute = c_uint;
pub type hipJitOption = c_uint;
pub type hipMemAllocationHandleType = c_uint;
pub type hipMemAllocationType = c_uint;
pub type hipMemcpyKind = c_uint;
pub type hipMemLocationType = c_uint;
pub type hipMemPoolAttr = c_uint;
pub type hipPointer_attribute = c_uint;
pub type hipStreamCaptureMode = c_uint;
pub type hipStreamCaptureStatus = c_uint;

const fn number(value: c_uint) -> c_uint {
    value
}

values! {
    hipError_t as hipError_t => {
        hipSuccess = 0,
        hipErrorInvalidValue = 1,
        hipErrorOutOfMemory = 2,
        hipErrorNotInitialized = 3,
        hipErrorDeinitialized = 4,
        hipErrorInvalidConfiguration = 9,
        hipErrorInvalidPitchValue = 12,
        hipErrorInvalidDevicePointer = 17,
        hipErrorInvalidMemcpyDirection = 21,
        hipErrorInsufficientDriver = 35,
        hipErrorPriorLaunchFailure = 53,
        hipErrorInvalidDeviceFunction = 98,
        hipErrorNoDevice = 100,
        hipErrorInvalidDevice = 101,
        hipErrorInvalidImage = 200,
        hipErrorInvalidContext = 201,
        hipErrorNoBinaryForGpu = 209,
        hipErrorECCNotCorrectable = 214,
        hipErrorUnsupportedLimit = 215,
        hipErrorPeerAccessUnsupported = 217,
        hipErrorInvalidKernelFile = 218,
        hipErrorInvalidSource = 300,
        hipErrorFileNotFound = 301,
        hipErrorSharedObjectSymbolNotFound = 302,
        hipErrorSharedObjectInitFailed = 303,
        hipErrorOperatingSystem = 304,
        hipErrorInvalidHandle = 400,
        hipErrorIllegalState = 401,
        hipErrorNotFound = 500,
        hipErrorNotReady = 600,
        hipErrorIllegalAddress = 700,
        hipErrorLaunchOutOfResources = 701,
        hipErrorLaunchTimeOut = 702,
        hipErrorPeerAccessAlreadyEnabled = 704,
        hipErrorPeerAccessNotEnabled = 705,
        hipErrorContextIsDestroyed = 709,
        hipErrorAssert = 710,
        hipErrorHostMemoryAlreadyRegistered = 712,
        hipErrorHostMemoryNotRegistered = 713,
        hipErrorLaunchFailure = 719,
        hipErrorNotSupported = 801,
        hipErrorStreamCaptureUnsupported = 900,
        hipErrorStreamCaptureImplicit = 906,
        hipErrorUnknown = 999,
        hipErrorRuntimeMemory = 1052,
        hipErrorRuntimeOther = 1053,
    }
    hiprtcResult as hiprtcResult => {
        HIPRTC_SUCCESS = 0,
        HIPRTC_ERROR_OUT_OF_MEMORY = 1,
        HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
        HIPRTC_ERROR_INVALID_INPUT = 3,
        HIPRTC_ERROR_INVALID_PROGRAM = 4,
        HIPRTC_ERROR_INVALID_OPTION = 5,
        HIPRTC_ERROR_COMPILATION = 6,
        HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
        HIPRTC_ERROR_INTERNAL_ERROR = 11,
    }
    hipDeviceAttribute_t as number => {
        hipDeviceAttributeAsyncEngineCount = 2,
        hipDeviceAttributeCanMapHostMemory = 3,
        hipDeviceAttributeCanUseHostPointerForRegisteredMem = 4,
        hipDeviceAttributeClockRate = 5,
        hipDeviceAttributeComputeMode = 6,
        hipDeviceAttributeConcurrentKernels = 8,
        hipDeviceAttributeCooperativeLaunch = 10,
        hipDeviceAttributeIntegrated = 16,
        hipDeviceAttributeKernelExecTimeout = 18,
        hipDeviceAttributeL2CacheSize = 19,
        hipDeviceAttributeComputeCapabilityMajor = 23,
        hipDeviceAttributeManagedMemory = 24,
        hipDeviceAttributeMaxBlockDimX = 26,
        hipDeviceAttributeMaxBlockDimY = 27,
        hipDeviceAttributeMaxBlockDimZ = 28,
        hipDeviceAttributeMaxGridDimX = 29,
        hipDeviceAttributeMaxGridDimY = 30,
        hipDeviceAttributeMaxGridDimZ = 31,
        hipDeviceAttributeMaxThreadsPerBlock = 56,
        hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
        hipDeviceAttributeMaxPitch = 58,
        hipDeviceAttributeComputeCapabilityMinor = 61,
        hipDeviceAttributeMultiprocessorCount = 63,
        hipDeviceAttributePageableMemoryAccess = 65,
        hipDeviceAttributePciBusId = 67,
        hipDeviceAttributePciDeviceId = 68,
        hipDeviceAttributePciDomainID = 69,
        hipDeviceAttributeMaxRegistersPerBlock = 71,
        hipDeviceAttributeReservedSharedMemPerBlock = 73,
        hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
        hipDeviceAttributeSharedMemPerBlockOptin = 75,
        hipDeviceAttributeSharedMemPerMultiprocessor = 76,
        hipDeviceAttributeTextureAlignment = 81,
        hipDeviceAttributeTotalGlobalMem = 84,
        hipDeviceAttributeUnifiedAddressing = 85,
        hipDeviceAttributeWarpSize = 87,
        hipDeviceAttributeMemoryPoolsSupported = 88,
        hipDeviceAttributeIsLargeBar = 10011,
        hipDeviceAttributeCanUseStreamWaitValue = 10013,
    }
    hipDeviceP2PAttr as number => {
        hipDevP2PAttrPerformanceRank = 0,
        hipDevP2PAttrAccessSupported = 1,
        hipDevP2PAttrNativeAtomicSupported = 2,
    }
    hipFunction_attribute as number => {
        HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
        HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
        HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
        HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
        HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
        HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
        HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    hipMemAllocationHandleType as number => { hipMemHandleTypeNone = 0, }
    hipMemAllocationType as number => { hipMemAllocationTypePinned = 1, }
    hipMemLocationType as number => { hipMemLocationTypeDevice = 1, }
    hipMemcpyKind as number => {
        hipMemcpyHostToHost = 0,
        hipMemcpyHostToDevice = 1,
        hipMemcpyDeviceToHost = 2,
        hipMemcpyDeviceToDevice = 3,
        hipMemcpyDefault = 4,
    }
    hipMemPoolAttr as number => {
        hipMemPoolReuseFollowEventDependencies = 1,
        hipMemPoolReuseAllowOpportunistic = 2,
        hipMemPoolReuseAllowInternalDependencies = 3,
        hipMemPoolAttrReleaseThreshold = 4,
        hipMemPoolAttrReservedMemCurrent = 5,
        hipMemPoolAttrUsedMemCurrent = 7,
    }
    hipPointer_attribute as number => {
        HIP_POINTER_ATTRIBUTE_CONTEXT = 1,
        HIP_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
        HIP_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
        HIP_POINTER_ATTRIBUTE_HOST_POINTER = 4,
        HIP_POINTER_ATTRIBUTE_IS_MANAGED = 8,
        HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
        HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
        HIP_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    }
    hipStreamCaptureMode as number => {
        hipStreamCaptureModeGlobal = 0,
        hipStreamCaptureModeThreadLocal = 1,
        hipStreamCaptureModeRelaxed = 2,
    }
}

macro_rules! flags {
    ($($name:ident = $value:expr,)*) => {
        $(pub const $name: c_uint = $value;)*
        /// Every flag here, by name.
        pub const FLAGS: &[(&str, u64)] = &[$((stringify!($name), $value as u64),)*];
    };
}

flags! {
    hipDeviceScheduleAuto = 0x0,
    hipDeviceScheduleSpin = 0x1,
    hipDeviceScheduleYield = 0x2,
    hipDeviceScheduleBlockingSync = 0x4,
    hipEventDefault = 0x0,
    hipEventBlockingSync = 0x1,
    hipEventDisableTiming = 0x2,
    hipEventReleaseToSystem = 0x8000_0000,
    hipHostMallocDefault = 0x0,
    hipHostMallocPortable = 0x1,
    hipHostMallocMapped = 0x2,
    hipHostMallocWriteCombined = 0x4,
    hipHostMallocCoherent = 0x4000_0000,
    hipHostMallocNonCoherent = 0x8000_0000,
    hipHostRegisterDefault = 0x0,
    hipHostRegisterPortable = 0x1,
    hipHostRegisterMapped = 0x2,
    hipStreamDefault = 0x0,
    hipStreamNonBlocking = 0x1,
}

/// The markers of the `extra` form of a launch: here the address of the parameters follows, here that of their size, here it ends.
pub const HIP_LAUNCH_PARAM_BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
/// See [`HIP_LAUNCH_PARAM_BUFFER_POINTER`].
pub const HIP_LAUNCH_PARAM_BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
/// See [`HIP_LAUNCH_PARAM_BUFFER_POINTER`].
pub const HIP_LAUNCH_PARAM_END: *mut c_void = std::ptr::without_provenance_mut(3);

/// The versions that `hipDriverGetVersion` gives are major * 10,000,000 + minor * 100,000 + patch.
pub const fn version(number: c_int) -> (c_int, c_int) {
    (number / 10_000_000, number / 100_000 % 100)
}
