// Numbers of 16 bits. Input and output are float.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define I (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void half_fma(const float *x, float *y, int n) {
    __half a = __float2half(x[I]);
    y[I] = __half2float(__hfma(a, __float2half(0.5f), __float2half_rn(2.0f)));
}
extern "C" __global__ void half2_add(const float *x, float *y, int n) {
    half2 v = __floats2half2_rn(x[I], x[I] * 2);
    v = __hadd2(v, __half2half2(__float2half(1.0f)));
    y[I] = __low2float(v) + __high2float(v);
}
extern "C" __global__ void half_operators(const float *x, float *y, int n) {
    half a = x[I], b = half(3.0f);
    half c = a * b + a;
    c += b;
    y[I] = c > b ? float(c) : -float(c);
}
extern "C" __global__ void half_shuffle(const float *x, float *y, int n) {
    y[I] = __half2float(__shfl_xor_sync(0xffffffff, __float2half(x[I]), 3));
}
extern "C" __global__ void half_atomic(const float *x, float *y, int n) {
    __shared__ __half sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = __float2half(0.0f);
    __syncthreads();
    atomicAdd(&sums[threadIdx.x & 1], __float2half(1.0f));
    __syncthreads();
    y[I] = __half2float(sums[threadIdx.x & 1]);
}
extern "C" __global__ void bf16_round(const float *x, float *y, int n) { y[I] = __bfloat162float(__float2bfloat16(x[I])); }
extern "C" __global__ void bf16_axpy(const float *x, float *y, int n) {
    __nv_bfloat16 a = __float2bfloat16(x[I]);
    a = a * __float2bfloat16(2.0f) + __nv_bfloat16(1.0f);
    y[I] = float(__hmax(a, __float2bfloat16(-4.0f)));
}
extern "C" __global__ void bf162_mul(const float *x, float *y, int n) {
    __nv_bfloat162 v = __floats2bfloat162_rn(x[I], -x[I]);
    v = __hmul2(v, v);
    y[I] = __low2float(v) - __bfloat162float(v.y);
}
extern "C" __global__ void bf16_atomic(const float *x, float *y, int n) {
    __shared__ __nv_bfloat16 sum;
    if (threadIdx.x == 0) sum = __float2bfloat16(0.0f);
    __syncthreads();
    atomicAdd(&sum, __float2bfloat16(1.0f));
    __syncthreads();
    y[I] = __bfloat162float(sum);
}
