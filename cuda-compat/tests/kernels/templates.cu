// Templates: the kernels are chosen by name expressions.
#include <cuda_fp16.h>
#include <cuda/std/type_traits>
#include <type_traits>

template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

struct Sum { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
struct Max { template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };

namespace reductions {
template <typename T, typename F, int THREADS> __global__ void block_reduce(const T *in, T *out)
{
    static_assert(THREADS % 32 == 0, "whole warps");
    __shared__ T partial[THREADS / 32];
    F combine;
    T v = in[blockIdx.x * THREADS + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
        v = combine(v, __shfl_xor_sync(0xffffffff, v, offset));
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < THREADS / 32; ++warp)
            v = combine(v, partial[warp]);
        out[blockIdx.x] = v;
    }
}
}

template <typename T> __global__ void kinds(int *out)
{
    out[0] = std::is_integral<T>::value;
    out[1] = cuda::std::is_floating_point_v<T>;
    if constexpr (std::is_same_v<T, unsigned char>)
        out[2] = 1;
    else
        out[2] = sizeof(typename std::conditional<std::is_signed<T>::value, long long, char>::type);
}
