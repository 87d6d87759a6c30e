// cuda_fp4.h and cuda_fp6.h: numbers of 4 and 6 bits, as the Open Compute Project defines them. All conversions are in software.
#pragma once
#include "cuda_compat/fp8.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned __nv_fp6x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace __cuda_compat {
// Numbers with so many bits for the exponent and the mantissa. They have neither infinity nor NaN: these become the largest number.
template <int exponents, int mantissa> struct small_float {
    static constexpr int bias = (1 << (exponents - 1)) - 1;
    static constexpr unsigned largest = (1u << (exponents + mantissa)) - 1;
    static __host__ __device__ float value(unsigned bits) {
        unsigned exponent = (bits & largest) >> mantissa, fraction = bits & ((1u << mantissa) - 1);
        if (exponent) fraction |= 1u << mantissa;
        else exponent = 1;
        float size = (float)fraction * __builtin_bit_cast(float, (unsigned)((int)exponent - bias - mantissa + 127) << 23);
        return bits >> (exponents + mantissa) & 1 ? -size : size;
    }
    static __host__ __device__ unsigned nearest(float number, cudaRoundMode mode) {
        if (number != number) return largest;
        bool negative = __builtin_signbit(number);
        float size = negative ? -number : number;
        unsigned low = 0;
        // The largest number that is not above.
        while (low < largest && value(low + 1) <= size) ++low;
        if (low < largest && value(low) < size) {
            float below = size - value(low), above = value(low + 1) - size;
            bool away = mode == cudaRoundNearest ? below > above || (below == above && (low & 1))
                : mode == cudaRoundPosInf ? !negative : mode == cudaRoundMinInf && negative;
            if (away) ++low;
        }
        return low | (negative ? largest + 1 : 0);
    }
};
typedef small_float<2, 1> e2m1;
typedef small_float<2, 3> e2m3;
typedef small_float<3, 2> e3m2;
} // namespace __cuda_compat

__host__ __device__ inline __nv_fp4_storage_t __nv_cvt_float_to_fp4(float a, __nv_fp4_interpretation_t, cudaRoundMode mode) {
    return __cuda_compat::e2m1::nearest(a, mode);
}
__host__ __device__ inline __nv_fp4_storage_t __nv_cvt_double_to_fp4(double a, __nv_fp4_interpretation_t, cudaRoundMode mode) {
    return __cuda_compat::e2m1::nearest(__cuda_compat::odd(a), mode);
}
__host__ __device__ inline __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(float2 a, __nv_fp4_interpretation_t, cudaRoundMode mode) {
    return __cuda_compat::e2m1::nearest(a.x, mode) | __cuda_compat::e2m1::nearest(a.y, mode) << 4;
}
__device__ inline __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t a, __nv_fp4_interpretation_t) {
    return (__half_raw)__float2half(__cuda_compat::e2m1::value(a & 15));
}
__host__ __device__ inline __nv_fp6_storage_t __nv_cvt_float_to_fp6(float a, __nv_fp6_interpretation_t kind, cudaRoundMode mode) {
    return kind == __NV_E2M3 ? __cuda_compat::e2m3::nearest(a, mode) : __cuda_compat::e3m2::nearest(a, mode);
}
__host__ __device__ inline __nv_fp6_storage_t __nv_cvt_double_to_fp6(double a, __nv_fp6_interpretation_t kind, cudaRoundMode mode) {
    return __nv_cvt_float_to_fp6(__cuda_compat::odd(a), kind, mode);
}
__device__ inline __half_raw __nv_cvt_fp6_to_halfraw(__nv_fp6_storage_t a, __nv_fp6_interpretation_t kind) {
    return (__half_raw)__float2half(kind == __NV_E2M3 ? __cuda_compat::e2m3::value(a) : __cuda_compat::e3m2::value(a));
}

// One number, two and four: `bits` is the distance between them.
#define CUDA_COMPAT_SMALL(one, two, four, format, bits, storage, storage2, storage4)                                    \
    struct one {                                                                                                        \
        storage __x;                                                                                                    \
        one() = default;                                                                                                \
        __host__ __device__ explicit one(float a) : __x((storage)__cuda_compat::format::nearest(a, cudaRoundNearest)) {} \
        __host__ __device__ explicit one(double a) : one(__cuda_compat::odd(a)) {}                                      \
        __host__ __device__ explicit one(int a) : one((double)a) {}                                                     \
        __host__ __device__ explicit one(unsigned a) : one((double)a) {}                                                \
        __device__ explicit one(__half a) : one(__half2float(a)) {}                                                     \
        __host__ __device__ explicit one(__nv_bfloat16 a) : one((float)a) {}                                            \
        __host__ __device__ explicit operator float() const { return __cuda_compat::format::value(__x); }               \
        __host__ __device__ explicit operator double() const { return __cuda_compat::format::value(__x); }              \
        __device__ explicit operator __half() const { return __float2half((float)*this); }                              \
        __host__ __device__ explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); }             \
        __host__ __device__ explicit operator bool() const { return (__x & __cuda_compat::format::largest) != 0; }      \
        __host__ __device__ explicit operator int() const { return (int)(float)*this; }                                 \
    };                                                                                                                  \
    struct two {                                                                                                        \
        storage2 __x;                                                                                                   \
        two() = default;                                                                                                \
        __host__ __device__ explicit two(float2 a) : __x((storage2)(one(a.x).__x | one(a.y).__x << bits)) {}            \
        __host__ __device__ explicit operator float2() const {                                                          \
            return make_float2(__cuda_compat::format::value(__x), __cuda_compat::format::value(__x >> bits));           \
        }                                                                                                               \
    };                                                                                                                  \
    struct four {                                                                                                       \
        storage4 __x;                                                                                                   \
        four() = default;                                                                                               \
        __host__ __device__ explicit four(float4 a)                                                                     \
            : __x((storage4)(one(a.x).__x | one(a.y).__x << bits | one(a.z).__x << 2 * bits | (unsigned)one(a.w).__x << 3 * bits)) {} \
        __host__ __device__ explicit operator float4() const {                                                          \
            return make_float4(__cuda_compat::format::value(__x), __cuda_compat::format::value(__x >> bits),            \
                               __cuda_compat::format::value(__x >> 2 * bits), __cuda_compat::format::value(__x >> 3 * bits)); \
        }                                                                                                               \
    };
CUDA_COMPAT_SMALL(__nv_fp4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_e2m1, e2m1, 4, __nv_fp4_storage_t, __nv_fp4x2_storage_t, __nv_fp4x4_storage_t)
CUDA_COMPAT_SMALL(__nv_fp6_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_e2m3, e2m3, 8, __nv_fp6_storage_t, __nv_fp6x2_storage_t, __nv_fp6x4_storage_t)
CUDA_COMPAT_SMALL(__nv_fp6_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_e3m2, e3m2, 8, __nv_fp6_storage_t, __nv_fp6x2_storage_t, __nv_fp6x4_storage_t)
#undef CUDA_COMPAT_SMALL
