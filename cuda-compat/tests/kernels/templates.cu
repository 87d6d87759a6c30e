// Templates, cuda::std, functors, softmax and norms as models have them. Input and output are float.
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <math_constants.h>
#define I (blockIdx.x * blockDim.x + threadIdx.x)

template <typename T> __device__ T warp_max(T v) {
    for (int d = 16; d > 0; d >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, d));
    return v;
}
template <typename T> __device__ T warp_sum(T v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}
// A row of 32 numbers a warp.
template <typename T> __global__ void softmax(const T *x, T *y, int n) {
    T v = x[I], e = exp(v - warp_max(v));
    y[I] = e / warp_sum(e);
}
template <typename T, int N> __global__ void rms_norm(const T *__restrict__ x, T *__restrict__ y, int n) {
    T v = x[I];
    y[I] = v * rsqrt(warp_sum(v * v) / N + T(1e-5));
}
struct Gelu { __device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); } };
struct Square { __device__ float operator()(float x) const { return x * x; } };
template <typename F> __global__ void apply(const float *x, float *y, int n) {
    if (I < n) y[I] = F()(x[I]);
}
template <typename T> __global__ void generic(const T *x, T *y, int n) {
    cuda::std::array<T, 4> held = {};
    for (int i = 0; i < 4; i++) held[i] = x[(I + i) % n];
    cuda::std::swap(held[0], held[3]);
    T sum = 0, low = cuda::std::numeric_limits<T>::max();
    for (T v : held) { sum += v; low = v < low ? v : low; }
    static_assert(cuda::std::is_same_v<cuda::std::remove_const_t<const T>, T>, "");
    if constexpr (cuda::std::is_floating_point_v<T>) y[I] = sum + held[0] * T(0.25) - low;
    else y[I] = sum;
}
extern "C" __global__ void infinities(const float *x, float *y, int n) {
    float v = threadIdx.x % 2 ? CUDART_INF_F : x[I];
    y[I] = cuda::std::isinf(v) ? -1.0f : cuda::std::abs(v);
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#error "there is no compute capability"
#endif
