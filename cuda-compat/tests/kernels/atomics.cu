// Atomic functions, of all types that CUDA has them for.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, unsigned n)
{
    __shared__ unsigned local[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void sums(float *f, double *d, __half *h, __nv_bfloat16 *b, __half2 *h2, unsigned long long *u)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    // Small enough for each sum to be exact.
    atomicAdd(h + i % 8, __float2half(1.0f));
    atomicAdd(b + i % 8, __float2bfloat16(1.0f));
    atomicAdd(h2, __floats2half2_rn(1.0f, 2.0f));
    atomicAdd(u, 1ull << 33);
}

// CUDA has no atomicMax for floats: programs write this.
__device__ float atomicMaxFloat(float *address, float value)
{
    int *bits = (int *)address;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

extern "C" __global__ void max_float(const float *in, float *out)
{
    atomicMaxFloat(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void wrapping(unsigned *counters)
{
    atomicInc(&counters[0], 9);
    atomicDec(&counters[1], 9);
    atomicInc_system(&counters[2], 9);
    atomicDec_block(&counters[3], 9);
}

extern "C" __global__ void scopes(const int *in, int *out)
{
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_system(&out[0], v);
    atomicMin_system(&out[1], v);
    atomicMax_block(&out[2 + blockIdx.x], v);
    atomicOr_system((unsigned *)&out[4], (unsigned)v & 0xff);
    atomicSub_system(&out[5], v);
    atomicXor_system((unsigned *)&out[6], (unsigned)v);
}

// 16 bits, as of compute capability 7.0.
extern "C" __global__ void short_cas(unsigned short *out)
{
    unsigned short *place = out + threadIdx.x % 4, old = *place, assumed;
    do {
        assumed = old;
        old = atomicCAS(place, assumed, (unsigned short)(assumed + 1));
    } while (old != assumed);
}
