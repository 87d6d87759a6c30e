// Atomics, shared and constant memory, vector types.
#include <cstdint>
#define I (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void histogram(const int *x, int *y, int n) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd_block(&bins[x[I] & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], int(bins[threadIdx.x]));
}
extern "C" __global__ void atomic_extremes(const int *x, int *y, int n) { atomicMin(&y[0], x[I]); atomicMax(&y[1], x[I]); }
extern "C" __global__ void atomic_bits(const int *x, int *y, int n) { atomicOr(&y[0], x[I]); atomicXor(&y[1], x[I]); atomicAnd(&y[2], x[I]); }
extern "C" __global__ void atomic_inc(const int *x, int *y, int n) { atomicInc(reinterpret_cast<unsigned *>(y), 99); atomicDec(reinterpret_cast<unsigned *>(y + 1), 9); }
extern "C" __global__ void atomic_cas(const int *x, int *y, int n) {
    int old = y[0], seen;
    do { seen = old; old = atomicCAS(&y[0], seen, seen + x[I]); } while (old != seen);
}
extern "C" __global__ void atomic_cas_16(const int *x, int *y, int n) {
    unsigned short *half = reinterpret_cast<unsigned short *>(y) + 1, old = *half, seen;
    do { seen = old; old = atomicCAS(half, seen, static_cast<unsigned short>(seen + 1)); } while (old != seen);
}
extern "C" __global__ void atomic_wide(const int *x, int *y, int n) {
    atomicAdd(reinterpret_cast<unsigned long long *>(y), static_cast<unsigned long long>(static_cast<int64_t>(x[I])));
    atomicAdd(reinterpret_cast<double *>(y + 2), 0.5);
}
extern "C" __global__ void dynamic_shared(const int *x, int *y, int n) {
    extern __shared__ int held[];
    held[threadIdx.x] = x[I];
    __syncthreads();
    y[I] = held[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void transpose(const int *x, int *y, int n) {
    __shared__ int tile[16][17];
    int c = threadIdx.x % 16, r = threadIdx.x / 16;
    for (int i = r; i < 16; i += blockDim.x / 16) tile[i][c] = __ldg(&x[i * 16 + c]);
    __syncthreads();
    for (int i = r; i < 16; i += blockDim.x / 16) y[i * 16 + c] = tile[c][i];
}
__constant__ int weights[4] = {1, -2, 3, 10};
extern "C" __global__ void constant(const int *x, int *y, int n) { y[I] = weights[threadIdx.x & 3] * x[I]; }
extern "C" __global__ void vectors(const int *x, int *y, int n) {
    if (I < n / 4) {
        int4 v = reinterpret_cast<const int4 *>(x)[I];
        reinterpret_cast<int4 *>(y)[I] = make_int4(v.w, v.z, v.y, v.x);
    }
}
extern "C" __global__ void __launch_bounds__(128, 4) bits(const int *x, int *y, int n) {
    unsigned v = unsigned(x[I]);
    y[I] = __popc(v) + 100 * __clz(int(v | 1)) + 10000 * __ffs(int(v | 256)) + int(__brev(v) & 1) * 1000000;
}
extern "C" __global__ void grid_stride(const int *x, int *y, int n) {
    for (int i = I; i < n; i += blockDim.x * gridDim.x / 2) if (I < blockDim.x * gridDim.x / 2) y[i] = x[i] + __ldcs(&x[n - 1 - i]);
}
