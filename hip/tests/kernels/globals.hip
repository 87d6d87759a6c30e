// A module with variables. Compiled as kernels.hip is.

__device__ unsigned counters[64] = {1, 2, 3, 4};
__constant__ float factor = 0.5f;
__device__ unsigned char odd[7];

// Keeps the device busy for `rounds` dependent steps, then adds to each of the first blockDim.x counters.
extern "C" __global__ void slow_count(unsigned rounds, unsigned value) {
    unsigned x = 1;
    for (unsigned i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    counters[threadIdx.x] += value + (x == 0xdeadbeef ? 1 : 0);
}

extern "C" __global__ void scaled(float* out) {
    out[threadIdx.x] = counters[threadIdx.x] * factor + odd[0];
}
