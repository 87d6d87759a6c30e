// cuda_fp16.h: HIPRTC has __half and __half2. This adds what it lacks.
#pragma once

#ifdef CUDA_COMPAT_HOST
#include <hip/hip_fp16.h>
#endif

typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00u)

__device__ inline __half __cuda_compat__double2half(double value) { return (__half)(_Float16)value; }
__device__ inline __half __cuda_compat__hfma_relu(__half a, __half b, __half c) {
    __half sum = __hfma(a, b, c);
    return sum > __half(0.0f) || __hisnan(sum) ? sum : __half(0.0f);
}
__device__ inline __half __cuda_compat_htanh(__half a) { return __float2half(tanhf(__half2float(a))); }
__device__ inline __half2 __cuda_compat_h2tanh(__half2 a) {
    return __halves2half2(__cuda_compat_htanh(__low2half(a)), __cuda_compat_htanh(__high2half(a)));
}
// CUDA's maximum and minimum of two numbers where one is NaN are the other; with _nan they are NaN.
__device__ inline __half __cuda_compat__hmax(__half a, __half b) {
    return __hisnan(a) ? b : __hisnan(b) ? a : __float2half(fmaxf(__half2float(a), __half2float(b)));
}
__device__ inline __half __cuda_compat__hmin(__half a, __half b) {
    return __hisnan(a) ? b : __hisnan(b) ? a : __float2half(fminf(__half2float(a), __half2float(b)));
}
__device__ inline __half __cuda_compat__hmax_nan(__half a, __half b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __cuda_compat__hmax(a, b);
}
__device__ inline __half __cuda_compat__hmin_nan(__half a, __half b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __cuda_compat__hmin(a, b);
}
#define CUDA_COMPAT_EACH(name, function)                                                                                \
    __device__ inline __half2 __cuda_compat##name(__half2 a, __half2 b) {                                               \
        return __halves2half2(function(__low2half(a), __low2half(b)), function(__high2half(a), __high2half(b)));        \
    }
CUDA_COMPAT_EACH(__hmax2, __cuda_compat__hmax)
CUDA_COMPAT_EACH(__hmin2, __cuda_compat__hmin)
CUDA_COMPAT_EACH(__hmax2_nan, __cuda_compat__hmax_nan)
CUDA_COMPAT_EACH(__hmin2_nan, __cuda_compat__hmin_nan)
#undef CUDA_COMPAT_EACH
// To integers, towards zero, with the nearest integer for what is out of range.
#define CUDA_COMPAT_TO(name, type, low, high)                                                                           \
    __device__ inline type __cuda_compat##name(__half a) {                                                              \
        float value = __half2float(a);                                                                                  \
        return value != value ? (type)0 : value <= low ? (type)low : value >= high ? (type)high : (type)value;          \
    }
CUDA_COMPAT_TO(__half2char_rz, signed char, -128.0f, 127.0f)
CUDA_COMPAT_TO(__half2uchar_rz, unsigned char, 0.0f, 255.0f)
#undef CUDA_COMPAT_TO

// Comparisons of two halves, each with all bits of its half. Those with u hold for NaN, too.
#define CUDA_COMPAT_MASK(name, less)                                                                                    \
    __device__ inline unsigned __cuda_compat##name(__half2 a, __half2 b) {                                              \
        float x = __low2float(a), y = __low2float(b), z = __high2float(a), w = __high2float(b);                         \
        return (less(x, y) ? 0xffffu : 0) | (less(z, w) ? 0xffff0000u : 0);                                             \
    }
CUDA_COMPAT_MASK(__heq2_mask, __cuda_compat::ptx::eq)
CUDA_COMPAT_MASK(__hne2_mask, __cuda_compat::ptx::ne)
CUDA_COMPAT_MASK(__hlt2_mask, __cuda_compat::ptx::lt)
CUDA_COMPAT_MASK(__hle2_mask, __cuda_compat::ptx::le)
CUDA_COMPAT_MASK(__hgt2_mask, __cuda_compat::ptx::gt)
CUDA_COMPAT_MASK(__hge2_mask, __cuda_compat::ptx::ge)
CUDA_COMPAT_MASK(__hequ2_mask, __cuda_compat::ptx::equ)
CUDA_COMPAT_MASK(__hneu2_mask, __cuda_compat::ptx::neu)
CUDA_COMPAT_MASK(__hltu2_mask, __cuda_compat::ptx::ltu)
CUDA_COMPAT_MASK(__hleu2_mask, __cuda_compat::ptx::leu)
CUDA_COMPAT_MASK(__hgtu2_mask, __cuda_compat::ptx::gtu)
CUDA_COMPAT_MASK(__hgeu2_mask, __cuda_compat::ptx::geu)
#undef CUDA_COMPAT_MASK

#define __double2half __cuda_compat__double2half
#define __hfma_relu __cuda_compat__hfma_relu
#define htanh __cuda_compat_htanh
#define h2tanh __cuda_compat_h2tanh
#define __hmax __cuda_compat__hmax
#define __hmin __cuda_compat__hmin
#define __hmax_nan __cuda_compat__hmax_nan
#define __hmin_nan __cuda_compat__hmin_nan
#define __hmax2 __cuda_compat__hmax2
#define __hmin2 __cuda_compat__hmin2
#define __hmax2_nan __cuda_compat__hmax2_nan
#define __hmin2_nan __cuda_compat__hmin2_nan
#define __half2char_rz __cuda_compat__half2char_rz
#define __half2uchar_rz __cuda_compat__half2uchar_rz
#define __heq2_mask __cuda_compat__heq2_mask
#define __hne2_mask __cuda_compat__hne2_mask
#define __hlt2_mask __cuda_compat__hlt2_mask
#define __hle2_mask __cuda_compat__hle2_mask
#define __hgt2_mask __cuda_compat__hgt2_mask
#define __hge2_mask __cuda_compat__hge2_mask
#define __hequ2_mask __cuda_compat__hequ2_mask
#define __hneu2_mask __cuda_compat__hneu2_mask
#define __hltu2_mask __cuda_compat__hltu2_mask
#define __hleu2_mask __cuda_compat__hleu2_mask
#define __hgtu2_mask __cuda_compat__hgtu2_mask
#define __hgeu2_mask __cuda_compat__hgeu2_mask

namespace __cuda_compat {
// Each half is added atomically; the two are not.
template <> struct atomic<__half2, 4> {
    static __device__ __half2 add(__half2 *address, __half2 value) {
        __half *halves = (__half *)address;
        __half x = atomic<__half, 2>::add(halves, __low2half(value)), y = atomic<__half, 2>::add(halves + 1, __high2half(value));
        return __halves2half2(x, y);
    }
};
} // namespace __cuda_compat
