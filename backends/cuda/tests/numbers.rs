//! The numbers and layouts that this crate states, against those that cudarc takes from NVIDIA's own headers.

use std::mem::{offset_of, size_of};

use compute_cuda::VENDOR;
use compute_cuda::nodes::{FillParameters, KernelParameters};
use compute_cuda_hip::driver::{Copy2d, Copy3d, PoolAccess, PoolProperties};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Device, CUfunction_attribute as Function, CUjit_option as Jit, CUresult as Answer,
};
use cudarc::nvrtc::sys::nvrtcResult;

#[test]
fn attributes_have_the_numbers_of_the_headers() {
    let ours = &VENDOR.attributes;
    assert_eq!(ours.workgroup_invocations, Device::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK as i32);
    let sizes = [
        Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        Device::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    ];
    assert_eq!(ours.workgroup_size, sizes.map(|one| one as i32));
    let grid = [
        Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        Device::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    ];
    assert_eq!(ours.grid, grid.map(|one| one as i32));
    assert_eq!(ours.workgroup_memory, Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK as i32);
    let most = Device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    assert_eq!(ours.workgroup_memory_most, Some(most as i32));
    assert_eq!(ours.warp_size, Device::CU_DEVICE_ATTRIBUTE_WARP_SIZE as i32);
    assert_eq!(ours.pitch, Device::CU_DEVICE_ATTRIBUTE_MAX_PITCH as i32);
    assert_eq!(ours.units, Device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as i32);
    assert_eq!(ours.integrated, Device::CU_DEVICE_ATTRIBUTE_INTEGRATED as i32);
    let capability = [Device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, Device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
    assert_eq!(ours.capability, Some(capability.map(|one| one as i32)));
    assert_eq!(ours.pools, Some(Device::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as i32));
    let bus = [
        Device::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
        Device::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
        Device::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    ];
    assert_eq!(ours.bus, bus.map(|one| one as i32));
    assert_eq!(ours.pool_keeps, sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as i32);
    assert_eq!(ours.function_invocations, Function::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as i32);
    assert_eq!(ours.function_memory, Function::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as i32);
    assert_eq!(ours.function_registers, Function::CU_FUNC_ATTRIBUTE_NUM_REGS as i32);
    assert_eq!(ours.function_memory_most, Some(Function::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as i32));
    assert_eq!(ours.pointer_context, Some(sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT as i32));
    assert_eq!(ours.pointer_device, Some(sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as i32));
    assert_eq!(ours.pointer_kind, Some(sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as i32));
    assert_eq!(ours.pointer_managed, Some(sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED as i32));
    assert_eq!(ours.pointer_pool, Some(sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE as i32));
    assert!((VENDOR.is_host)(sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32, 0));
    assert!(!(VENDOR.is_host)(sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32, 0));
}

#[test]
fn flags_have_the_numbers_of_the_headers() {
    let ours = &VENDOR.flags;
    assert_eq!(ours.stream, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32);
    assert_eq!(ours.event, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32);
    assert_eq!(ours.event_timed, sys::CUevent_flags::CU_EVENT_DEFAULT as u32);
    assert_eq!(ours.host, sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP);
    assert_eq!(ours.memory_host, sys::CUmemorytype::CU_MEMORYTYPE_HOST as i32);
    assert_eq!(ours.memory_device, sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as i32);
    let log = [Jit::CU_JIT_ERROR_LOG_BUFFER, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    assert_eq!(ours.load_log, Some(log.map(|one| one as i32)));
}

#[test]
fn errors_have_the_numbers_of_the_headers() {
    let ours = &VENDOR.errors;
    assert_eq!(ours.out_of_memory, Answer::CUDA_ERROR_OUT_OF_MEMORY as i32);
    assert_eq!(ours.no_memory_there, [Answer::CUDA_ERROR_INVALID_VALUE as i32, Answer::CUDA_ERROR_NOT_FOUND as i32]);
    assert_eq!(ours.not_ready, Answer::CUDA_ERROR_NOT_READY as i32);
    assert_eq!(ours.no_device, Answer::CUDA_ERROR_NO_DEVICE as i32);
    assert_eq!(ours.peer_enabled, Answer::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED as i32);
    assert_eq!(ours.compilation, nvrtcResult::NVRTC_ERROR_COMPILATION as i32);
    let capturing = [Answer::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Answer::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD];
    assert_eq!(ours.capturing, (capturing[0] as i32, capturing[1] as i32));
    let sticky = [
        Answer::CUDA_ERROR_ECC_UNCORRECTABLE,
        Answer::CUDA_ERROR_NVLINK_UNCORRECTABLE,
        Answer::CUDA_ERROR_ASSERT,
        Answer::CUDA_ERROR_TENSOR_MEMORY_LEAK,
        Answer::CUDA_ERROR_ILLEGAL_ADDRESS,
        Answer::CUDA_ERROR_LAUNCH_TIMEOUT,
        Answer::CUDA_ERROR_HARDWARE_STACK_ERROR,
        Answer::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        Answer::CUDA_ERROR_MISALIGNED_ADDRESS,
        Answer::CUDA_ERROR_INVALID_ADDRESS_SPACE,
        Answer::CUDA_ERROR_INVALID_PC,
        Answer::CUDA_ERROR_LAUNCH_FAILED,
        Answer::CUDA_ERROR_CONTAINED,
        Answer::CUDA_ERROR_MPS_CLIENT_TERMINATED,
        Answer::CUDA_ERROR_EXTERNAL_DEVICE,
    ];
    for code in sticky {
        assert!(ours.is_sticky(code as i32), "{code:?}");
    }
    // Of one device alone.
    let gone = Answer::CUDA_ERROR_CONTEXT_IS_DESTROYED as i32;
    assert!(ours.context_gone == gone && !ours.is_sticky(gone));
    // The last two are those beside the ones above: an MPS server that is busy, and an update of a graph.
    let passing = [
        Answer::CUDA_ERROR_OUT_OF_MEMORY,
        Answer::CUDA_ERROR_NOT_READY,
        Answer::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        Answer::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
        Answer::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    ];
    for code in passing {
        assert!(!ours.is_sticky(code as i32), "{code:?}");
    }
}

#[test]
fn structs_have_the_layout_of_the_headers() {
    type Rows = sys::CUDA_MEMCPY2D_st;
    assert_eq!(size_of::<Copy2d>(), size_of::<Rows>());
    let ours = [
        offset_of!(Copy2d, from_x),
        offset_of!(Copy2d, from_y),
        offset_of!(Copy2d, from_kind),
        offset_of!(Copy2d, from_host),
        offset_of!(Copy2d, from_device),
        offset_of!(Copy2d, from_pitch),
        offset_of!(Copy2d, to_x),
        offset_of!(Copy2d, to_y),
        offset_of!(Copy2d, to_kind),
        offset_of!(Copy2d, to_host),
        offset_of!(Copy2d, to_device),
        offset_of!(Copy2d, to_pitch),
        offset_of!(Copy2d, width),
        offset_of!(Copy2d, height),
    ];
    let theirs = [
        offset_of!(Rows, srcXInBytes),
        offset_of!(Rows, srcY),
        offset_of!(Rows, srcMemoryType),
        offset_of!(Rows, srcHost),
        offset_of!(Rows, srcDevice),
        offset_of!(Rows, srcPitch),
        offset_of!(Rows, dstXInBytes),
        offset_of!(Rows, dstY),
        offset_of!(Rows, dstMemoryType),
        offset_of!(Rows, dstHost),
        offset_of!(Rows, dstDevice),
        offset_of!(Rows, dstPitch),
        offset_of!(Rows, WidthInBytes),
        offset_of!(Rows, Height),
    ];
    assert_eq!(ours, theirs);

    type Box3 = sys::CUDA_MEMCPY3D_st;
    assert_eq!(size_of::<Copy3d>(), size_of::<Box3>());
    let ours = [
        offset_of!(Copy3d, from_kind),
        offset_of!(Copy3d, from_host),
        offset_of!(Copy3d, from_device),
        offset_of!(Copy3d, from_pitch),
        offset_of!(Copy3d, to_at),
        offset_of!(Copy3d, to_kind),
        offset_of!(Copy3d, to_host),
        offset_of!(Copy3d, to_device),
        offset_of!(Copy3d, to_pitch),
        offset_of!(Copy3d, size),
    ];
    let theirs = [
        offset_of!(Box3, srcMemoryType),
        offset_of!(Box3, srcHost),
        offset_of!(Box3, srcDevice),
        offset_of!(Box3, srcPitch),
        offset_of!(Box3, dstXInBytes),
        offset_of!(Box3, dstMemoryType),
        offset_of!(Box3, dstHost),
        offset_of!(Box3, dstDevice),
        offset_of!(Box3, dstPitch),
        offset_of!(Box3, WidthInBytes),
    ];
    assert_eq!(ours, theirs);

    type Pool = sys::CUmemPoolProps_st;
    assert_eq!(size_of::<PoolProperties>(), size_of::<Pool>());
    assert_eq!(offset_of!(PoolProperties, kind), offset_of!(Pool, allocType));
    assert_eq!(offset_of!(PoolProperties, handles), offset_of!(Pool, handleTypes));
    assert_eq!(offset_of!(PoolProperties, location), offset_of!(Pool, location));
    assert_eq!(offset_of!(PoolProperties, device), offset_of!(Pool, location) + offset_of!(sys::CUmemLocation, id));
    assert_eq!(offset_of!(PoolProperties, most), offset_of!(Pool, maxSize));

    type Access = sys::CUmemAccessDesc;
    assert_eq!(size_of::<PoolAccess>(), size_of::<Access>());
    assert_eq!(offset_of!(PoolAccess, device), offset_of!(Access, location) + offset_of!(sys::CUmemLocation, id));
    assert_eq!(offset_of!(PoolAccess, rights), offset_of!(Access, flags));
}

#[test]
fn parameters_of_nodes_have_the_layout_of_the_headers() {
    type First = sys::CUDA_KERNEL_NODE_PARAMS_st;
    type Second = sys::CUDA_KERNEL_NODE_PARAMS_v2_st;
    assert_eq!(size_of::<KernelParameters>(), size_of::<Second>());
    let ours = [
        offset_of!(KernelParameters, function),
        offset_of!(KernelParameters, grid),
        offset_of!(KernelParameters, block),
        offset_of!(KernelParameters, shared),
        offset_of!(KernelParameters, arguments),
        offset_of!(KernelParameters, extra),
    ];
    macro_rules! theirs {
        ($kind:ty) => {
            [
                offset_of!($kind, func),
                offset_of!($kind, gridDimX),
                offset_of!($kind, blockDimX),
                offset_of!($kind, sharedMemBytes),
                offset_of!($kind, kernelParams),
                offset_of!($kind, extra),
            ]
        };
    }
    // The older call reads no further than the older structure goes.
    assert_eq!((ours, ours), (theirs!(First), theirs!(Second)));
    assert_eq!(offset_of!(KernelParameters, kernel), size_of::<First>());
    let ends = [offset_of!(KernelParameters, kernel), offset_of!(KernelParameters, context)];
    assert_eq!(ends, [offset_of!(Second, kern), offset_of!(Second, ctx)]);

    type Fill = sys::CUDA_MEMSET_NODE_PARAMS_st;
    assert_eq!(size_of::<FillParameters>(), size_of::<Fill>());
    let ours = [
        offset_of!(FillParameters, to),
        offset_of!(FillParameters, pitch),
        offset_of!(FillParameters, value),
        offset_of!(FillParameters, element),
        offset_of!(FillParameters, width),
        offset_of!(FillParameters, height),
    ];
    let theirs = [
        offset_of!(Fill, dst),
        offset_of!(Fill, pitch),
        offset_of!(Fill, value),
        offset_of!(Fill, elementSize),
        offset_of!(Fill, width),
        offset_of!(Fill, height),
    ];
    assert_eq!(ours, theirs);
}

#[test]
fn calls_of_graphs_have_the_forms_of_the_headers() {
    use sys::{
        CUDA_KERNEL_NODE_PARAMS_v2 as Launch, CUDA_MEMCPY3D as Copy, CUDA_MEMSET_NODE_PARAMS as Fill, CUcontext as Context,
    };
    use sys::{CUgraph as Graph, CUgraphExec as Executable, CUgraphNode as Node};
    // Other types than these do not compile. The table has the same in the same order, with plain handles.
    let _: unsafe fn(*mut Node, Graph, *const Node, usize) -> Answer = sys::cuGraphAddEmptyNode;
    let _: unsafe fn(*mut Node, Graph, *const Node, usize, *const Launch) -> Answer = sys::cuGraphAddKernelNode_v2;
    let _: unsafe fn(*mut Node, Graph, *const Node, usize, *const Fill, Context) -> Answer = sys::cuGraphAddMemsetNode;
    let _: unsafe fn(*mut Node, Graph, *const Node, usize, *const Copy, Context) -> Answer = sys::cuGraphAddMemcpyNode;
    let _: unsafe fn(Executable, Node, *const Launch) -> Answer = sys::cuGraphExecKernelNodeSetParams_v2;
    let _: unsafe fn(Executable, Node, *const Fill, Context) -> Answer = sys::cuGraphExecMemsetNodeSetParams;
    let _: unsafe fn(Executable, Node, *const Copy, Context) -> Answer = sys::cuGraphExecMemcpyNodeSetParams;
    let _: unsafe fn(*mut Executable, Graph, u64) -> Answer = sys::cuGraphInstantiateWithFlags;
    let forms = VENDOR.names.forms();
    let count =
        |call| forms.iter().find(|(name, ..)| *name == call).map(|(_, symbols, types)| (symbols.first().copied(), types.len()));
    let expected = [
        ("graph_add_empty", "cuGraphAddEmptyNode", 4),
        ("graph_add_kernel", "cuGraphAddKernelNode_v2", 5),
        ("graph_add_fill_in", "cuGraphAddMemsetNode", 6),
        ("graph_add_copy_in", "cuGraphAddMemcpyNode", 6),
        ("graph_set_kernel", "cuGraphExecKernelNodeSetParams_v2", 3),
        ("graph_set_fill_in", "cuGraphExecMemsetNodeSetParams", 4),
        ("graph_set_copy_in", "cuGraphExecMemcpyNodeSetParams", 4),
        ("graph_instantiate", "cuGraphInstantiateWithFlags", 3),
    ];
    for (call, symbol, types) in expected {
        assert_eq!(count(call), Some((Some(symbol), types)), "{call}");
    }
}

#[test]
fn tensor_maps_have_the_numbers_and_the_form_of_the_headers() {
    use compute_cuda::tensor_map::{element, fill, interleave, promotion, swizzle};
    use compute_hal::{Interleave, L2Promotion, OutsideFill, Swizzle, TensorElement as Ours};
    use sys::CUtensorMapDataType_enum as Element;
    use sys::{CUtensorMapFloatOOBfill_enum as Fill, CUtensorMapL2promotion_enum as Promotion};
    use sys::{CUtensorMapInterleave_enum as Slices, CUtensorMapSwizzle_enum as Order};
    let elements = [
        (Ours::U8, Element::CU_TENSOR_MAP_DATA_TYPE_UINT8),
        (Ours::U16, Element::CU_TENSOR_MAP_DATA_TYPE_UINT16),
        (Ours::U32, Element::CU_TENSOR_MAP_DATA_TYPE_UINT32),
        (Ours::I32, Element::CU_TENSOR_MAP_DATA_TYPE_INT32),
        (Ours::U64, Element::CU_TENSOR_MAP_DATA_TYPE_UINT64),
        (Ours::I64, Element::CU_TENSOR_MAP_DATA_TYPE_INT64),
        (Ours::F16, Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT16),
        (Ours::F32, Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT32),
        (Ours::F64, Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT64),
        (Ours::Bf16, Element::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16),
        (Ours::F32Flushed, Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ),
        (Ours::Tf32, Element::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32),
        (Ours::Tf32Flushed, Element::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ),
    ];
    for (ours, theirs) in elements {
        assert_eq!(element(ours), theirs as u32, "{ours:?}");
    }
    let slices = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32].map(interleave);
    assert_eq!(
        slices,
        [
            Slices::CU_TENSOR_MAP_INTERLEAVE_NONE as u32,
            Slices::CU_TENSOR_MAP_INTERLEAVE_16B as u32,
            Slices::CU_TENSOR_MAP_INTERLEAVE_32B as u32,
        ]
    );
    let orders = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128].map(swizzle);
    assert_eq!(
        orders,
        [
            Order::CU_TENSOR_MAP_SWIZZLE_NONE as u32,
            Order::CU_TENSOR_MAP_SWIZZLE_32B as u32,
            Order::CU_TENSOR_MAP_SWIZZLE_64B as u32,
            Order::CU_TENSOR_MAP_SWIZZLE_128B as u32,
        ]
    );
    let pieces = [L2Promotion::None, L2Promotion::Bytes64, L2Promotion::Bytes128, L2Promotion::Bytes256].map(promotion);
    assert_eq!(
        pieces,
        [
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE as u32,
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B as u32,
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B as u32,
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B as u32,
        ]
    );
    assert_eq!(fill(OutsideFill::Zero), Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE as u32);
    assert_eq!(fill(OutsideFill::Nan), Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA as u32);
    // Other types than these do not compile.
    type Void = *mut std::ffi::c_void;
    type Encode = unsafe fn(
        *mut sys::CUtensorMap,
        Element,
        u32,
        Void,
        *const u64,
        *const u64,
        *const u32,
        *const u32,
        Slices,
        Order,
        Promotion,
        Fill,
    ) -> Answer;
    let _: Encode = sys::cuTensorMapEncodeTiled;
    assert_eq!(size_of::<sys::CUtensorMap>(), compute_hal::TENSOR_MAP_SIZE as usize);
    let forms = VENDOR.names.forms();
    let ours = forms.iter().find(|(name, ..)| *name == "tensor_map").map(|(_, symbols, types)| (*symbols, types.len()));
    assert_eq!(ours, Some((&["cuTensorMapEncodeTiled"][..], 12)));
}
