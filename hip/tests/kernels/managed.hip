// A module with managed variables. Compiled as kernels.hip is. HIPRTC knows the attribute, but not its name.

#ifndef __HIP_PLATFORM_NVIDIA__
#define __managed__ __attribute__((managed))
#endif

__managed__ unsigned shared_counters[64] = {1, 2, 3, 4};
__managed__ float scale = 0.25f;
__device__ unsigned plain[4] = {9, 8, 7, 6};

// Adds to each of the first blockDim.x shared counters.
extern "C" __global__ void count_shared(unsigned value) {
    shared_counters[threadIdx.x] += value;
}

extern "C" __global__ void scale_shared(float* out) {
    out[threadIdx.x] = shared_counters[threadIdx.x] * scale + plain[threadIdx.x % 4];
}
