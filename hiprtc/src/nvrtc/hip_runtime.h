// HIP's names for NVRTC, as HIPRTC has them built in.
#pragma once
#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_PLATFORM_NVIDIA__ 1
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef cudaTextureObject_t hipTextureObject_t;
typedef cudaSurfaceObject_t hipSurfaceObject_t;
// The lanes that are active take part, as on AMD's GPUs. Masks have 64 bits in HIP.
static __device__ __forceinline__ unsigned __lane_id() {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
#define __ballot(test) ((unsigned long long)__ballot_sync(__activemask(), (test)))
#define __any(test) __any_sync(__activemask(), (test))
#define __all(test) __all_sync(__activemask(), (test))
template <typename T> static __device__ __forceinline__ T __shfl(T value, int lane, int width = warpSize) {
    return __shfl_sync(__activemask(), value, lane, width);
}
template <typename T> static __device__ __forceinline__ T __shfl_up(T value, unsigned lanes, int width = warpSize) {
    return __shfl_up_sync(__activemask(), value, lanes, width);
}
template <typename T> static __device__ __forceinline__ T __shfl_down(T value, unsigned lanes, int width = warpSize) {
    return __shfl_down_sync(__activemask(), value, lanes, width);
}
template <typename T> static __device__ __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize) {
    return __shfl_xor_sync(__activemask(), value, mask, width);
}
