// Names of HIP for the host that the headers of hipCUB mention. Kernels cannot call these functions.
#pragma once

enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorMemoryAllocation = 2,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidHandle = 400,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801,
    hipErrorUnknown = 999
};
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum hipSharedMemConfig { hipSharedMemBankSizeDefault, hipSharedMemBankSizeFourByte, hipSharedMemBankSizeEightByte };
enum hipDeviceAttribute_t {
    hipDeviceAttributeWarpSize,
    hipDeviceAttributeMultiprocessorCount,
    hipDeviceAttributeCooperativeLaunch,
    hipDeviceAttributeMaxThreadsPerBlock,
    hipDeviceAttributeMaxThreadsPerMultiProcessor
};
struct hipDeviceProp_t {
    int multiProcessorCount, warpSize, maxThreadsPerBlock, minor, major, maxThreadsPerMultiProcessor, asicRevision;
    char gcnArchName[256];
};
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef int hipDevice_t;
#define hipStreamDefault 0
#define hipStreamLegacy ((hipStream_t)1)
#define hipStreamPerThread ((hipStream_t)2)

#define CUDA_COMPAT_HOST(name) template <class... T> hipError_t name(T...);
CUDA_COMPAT_HOST(hipStreamGetDevice) CUDA_COMPAT_HOST(hipSetDevice) CUDA_COMPAT_HOST(hipGetDevice) 
CUDA_COMPAT_HOST(hipGetDeviceCount) CUDA_COMPAT_HOST(hipGetDeviceProperties) CUDA_COMPAT_HOST(hipDeviceGetAttribute) 
CUDA_COMPAT_HOST(hipGetLastError) CUDA_COMPAT_HOST(hipPeekAtLastError) CUDA_COMPAT_HOST(hipMalloc) 
CUDA_COMPAT_HOST(hipFree) CUDA_COMPAT_HOST(hipMemcpy) CUDA_COMPAT_HOST(hipMemcpyAsync) 
CUDA_COMPAT_HOST(hipMemcpyWithStream) CUDA_COMPAT_HOST(hipMemset) CUDA_COMPAT_HOST(hipMemsetAsync) 
CUDA_COMPAT_HOST(hipStreamSynchronize) CUDA_COMPAT_HOST(hipDeviceSynchronize) CUDA_COMPAT_HOST(hipEventCreate) 
CUDA_COMPAT_HOST(hipEventCreateWithFlags) CUDA_COMPAT_HOST(hipEventRecord) CUDA_COMPAT_HOST(hipEventQuery) 
CUDA_COMPAT_HOST(hipEventDestroy) CUDA_COMPAT_HOST(hipOccupancyMaxActiveBlocksPerMultiprocessor)

#undef CUDA_COMPAT_HOST
int hipGetStreamDeviceId(hipStream_t);
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z

// The machine's header has these for the host alone.
__device__ inline void *operator new(__SIZE_TYPE__, void *place) noexcept { return place; }
__device__ inline void operator delete(void *, void *) noexcept {}
