//! Structures against the layouts that a C compiler gives those in the headers of CUDA 13.0, on 64-bit Linux.

use std::mem::{align_of, offset_of, size_of};

use hip_sys::rocm_7_2::*;

use crate::structures::{AllocationProperties, Copy2D, Copy3D, KernelNode, MemsetNode};

#[test]
fn structures_of_this_crate_have_the_drivers_layout() {
    assert_eq!(size_of::<Copy2D>(), 128, "CUDA_MEMCPY2D");
    let of = [
        offset_of!(Copy2D, src_array),
        offset_of!(Copy2D, dst_type),
        offset_of!(Copy2D, dst_device),
        offset_of!(Copy2D, height),
    ];
    assert_eq!(of, [40, 72, 88, 120], "CUDA_MEMCPY2D");

    assert_eq!(size_of::<Copy3D>(), 200, "CUDA_MEMCPY3D");
    let of = [
        offset_of!(Copy3D, src_type),
        offset_of!(Copy3D, src_array),
        offset_of!(Copy3D, src_pitch),
        offset_of!(Copy3D, dst_x),
        offset_of!(Copy3D, dst_type),
        offset_of!(Copy3D, dst_array),
        offset_of!(Copy3D, dst_pitch),
        offset_of!(Copy3D, depth),
    ];
    assert_eq!(of, [32, 56, 72, 88, 120, 144, 160, 192], "CUDA_MEMCPY3D");

    assert_eq!(size_of::<KernelNode>(), 56, "CUDA_KERNEL_NODE_PARAMS_v1");
    let of = [
        offset_of!(KernelNode, block),
        offset_of!(KernelNode, shared),
        offset_of!(KernelNode, parameters),
        offset_of!(KernelNode, extra),
    ];
    assert_eq!(of, [20, 32, 40, 48], "CUDA_KERNEL_NODE_PARAMS_v1");

    assert_eq!(size_of::<MemsetNode>(), 40, "CUDA_MEMSET_NODE_PARAMS_v1");
    let of = [
        offset_of!(MemsetNode, pitch),
        offset_of!(MemsetNode, value),
        offset_of!(MemsetNode, element),
        offset_of!(MemsetNode, width),
        offset_of!(MemsetNode, height),
    ];
    assert_eq!(of, [8, 16, 20, 24, 32], "CUDA_MEMSET_NODE_PARAMS_v1");

    assert_eq!(size_of::<AllocationProperties>(), 32, "CUmemAllocationProp");
    let of = [
        offset_of!(AllocationProperties, handles),
        offset_of!(AllocationProperties, location),
        offset_of!(AllocationProperties, metadata),
        offset_of!(AllocationProperties, is_for_rdma),
        offset_of!(AllocationProperties, usage),
        offset_of!(AllocationProperties, reserved),
    ];
    assert_eq!(of, [4, 8, 16, 25, 26, 28], "CUmemAllocationProp");
}

#[test]
fn structures_of_hip_that_are_passed_on_have_the_drivers_layout() {
    macro_rules! sizes {
        ($($hip:ty = $cuda:literal: $size:literal, $align:literal;)*) => {
            $(assert_eq!((size_of::<$hip>(), align_of::<$hip>()), ($size, $align), $cuda);)*
        };
    }
    sizes! {
        HIP_ARRAY3D_DESCRIPTOR = "CUDA_ARRAY3D_DESCRIPTOR": 40, 8;
        HIP_RESOURCE_DESC = "CUDA_RESOURCE_DESC": 144, 8;
        HIP_TEXTURE_DESC = "CUDA_TEXTURE_DESC": 104, 4;
        HIP_RESOURCE_VIEW_DESC = "CUDA_RESOURCE_VIEW_DESC": 112, 8;
        hipMemPoolProps = "CUmemPoolProps": 88, 8;
        hipMemAllocNodeParams = "CUDA_MEM_ALLOC_NODE_PARAMS": 120, 8;
        hipMemAccessDesc = "CUmemAccessDesc": 12, 4;
        hipMemLocation = "CUmemLocation": 8, 4;
        hipMemPoolPtrExportData = "CUmemPoolPtrExportData": 64, 1;
        hipIpcMemHandle_t = "CUipcMemHandle": 64, 1;
        hipIpcEventHandle_t = "CUipcEventHandle": 64, 1;
        hipStreamBatchMemOpParams = "CUstreamBatchMemOpParams": 48, 8;
        hipBatchMemOpNodeParams = "CUDA_BATCH_MEM_OP_NODE_PARAMS": 32, 8;
        hipHostNodeParams = "CUDA_HOST_NODE_PARAMS": 16, 8;
        hipExternalMemoryHandleDesc = "CUDA_EXTERNAL_MEMORY_HANDLE_DESC": 104, 8;
        hipExternalMemoryBufferDesc = "CUDA_EXTERNAL_MEMORY_BUFFER_DESC": 88, 8;
        hipExternalSemaphoreHandleDesc = "CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC": 96, 8;
        hipExternalSemaphoreSignalParams = "CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS": 144, 8;
        hipExternalSemaphoreWaitParams = "CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS": 144, 8;
        hipExternalSemaphoreSignalNodeParams = "CUDA_EXT_SEM_SIGNAL_NODE_PARAMS": 24, 8;
        hipExternalSemaphoreWaitNodeParams = "CUDA_EXT_SEM_WAIT_NODE_PARAMS": 24, 8;
        HIP_LAUNCH_CONFIG = "CUlaunchConfig": 56, 8;
        hipLaunchAttributeValue = "CUlaunchAttributeValue": 64, 8;
        hipFunctionLaunchParams = "CUDA_LAUNCH_PARAMS": 56, 8;
        hipMemcpyAttributes = "CUmemcpyAttributes": 24, 4;
        hipMemcpy3DBatchOp = "CUDA_MEMCPY3D_BATCH_OP": 112, 8;
        hipUUID = "CUuuid": 16, 1;
    }
    let of = [
        offset_of!(HIP_RESOURCE_DESC, res),
        offset_of!(HIP_RESOURCE_DESC, flags),
        offset_of!(HIP_TEXTURE_DESC, borderColor),
        offset_of!(HIP_RESOURCE_VIEW_DESC, lastLayer),
        offset_of!(hipMemPoolProps, location),
        offset_of!(hipMemPoolProps, maxSize),
        offset_of!(hipMemAllocNodeParams, bytesize),
        offset_of!(hipMemAllocNodeParams, dptr),
        offset_of!(HIP_LAUNCH_CONFIG, attrs),
    ];
    assert_eq!(of, [8, 136, 40, 44, 8, 24, 104, 112, 40]);
}
