// Functions of the host in files that ROCm's clang compiles: HIP's under CUDA's names. names.h has those that are the same.
#pragma once

#include "cuda_compat/names.h"

// The compute capability and the size of warps are those that cuda-compat reports. A member `warpSize` has the name that lanes.h gives it.
#undef cudaDeviceProp
struct cudaDeviceProp : hipDeviceProp_t {
#if CUDA_COMPAT_WARP_SIZE
    int warpSize;
#endif
};
static inline hipError_t __cuda_compat_properties(cudaDeviceProp *properties, int device) {
    hipError_t status = hipGetDeviceProperties(properties, device);
    if (status != hipSuccess) return status;
    properties->major = CUDA_COMPAT_CAPABILITY / 10;
    properties->minor = CUDA_COMPAT_CAPABILITY % 10;
#if CUDA_COMPAT_WARP_SIZE
    properties->warpSize = CUDA_COMPAT_WARP_SIZE;
#endif
    return status;
}
static inline hipError_t __cuda_compat_attribute(int *value, hipDeviceAttribute_t attribute, int device) {
    hipError_t status = hipDeviceGetAttribute(value, attribute, device);
    if (status != hipSuccess) return status;
    if (attribute == hipDeviceAttributeComputeCapabilityMajor) *value = CUDA_COMPAT_CAPABILITY / 10;
    if (attribute == hipDeviceAttributeComputeCapabilityMinor) *value = CUDA_COMPAT_CAPABILITY % 10;
    if (attribute == hipDeviceAttributeWarpSize && CUDA_COMPAT_WARP_SIZE) *value = CUDA_COMPAT_WARP_SIZE;
    return status;
}
#define cudaGetDeviceProperties __cuda_compat_properties
#define cudaGetDeviceProperties_v2 __cuda_compat_properties
#define cudaDeviceGetAttribute __cuda_compat_attribute
#define cuDeviceGetAttribute __cuda_compat_attribute
#define cudaGetErrorName hipGetErrorName
#define cudaGetErrorString hipGetErrorString
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel
#define cudaLaunchCooperativeKernelMultiDevice hipLaunchCooperativeKernelMultiDevice
