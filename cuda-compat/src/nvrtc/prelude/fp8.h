// cuda_fp8.h: numbers of 8 bits, as the Open Compute Project defines them. All conversions are in software.
#pragma once
#include "cuda_compat/fp16.h"
#include "cuda_compat/bf16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace __cuda_compat {
// To nearest even. What is too large becomes the largest number, or infinity (NaN, where there is none).
__host__ __device__ inline __nv_fp8_storage_t fp8_of(float value, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    const int mantissa = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    const unsigned largest = kind == __NV_E4M3 ? 0x7e : 0x7b, beyond = kind == __NV_E4M3 ? 0x7f : 0x7c;
    unsigned bits = __builtin_bit_cast(unsigned, value), sign = bits >> 31 << 7;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return 0x7f;
    if (bits == 0x7f800000) return sign | (saturation == __NV_SATFINITE ? largest : beyond);
    int exponent = (int)(bits >> 23) - 127 + bias;
    unsigned full = (bits & 0x7fffff) | (bits >> 23 ? 0x800000 : 0);
    // A subnormal number has fewer bits.
    int drop = 23 - mantissa + (exponent < 1 ? 1 - exponent : 0);
    unsigned kept = 0;
    if (drop < 32) {
        kept = full >> drop;
        unsigned lost = full & ((1u << drop) - 1), half = 1u << (drop - 1);
        kept += lost > half || (lost == half && (kept & 1));
    }
    // The leading one of a normal number counts as one in the exponent.
    unsigned result = exponent < 1 ? kept : ((unsigned)(exponent - 1) << mantissa) + kept;
    if (result > largest) result = saturation == __NV_SATFINITE ? largest : beyond;
    return sign | result;
}
__host__ __device__ inline float fp8_to(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t kind) {
    const int mantissa = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    unsigned magnitude = bits & 0x7f;
    float sign = bits >> 7 ? -1.0f : 1.0f;
    if (kind == __NV_E4M3 ? magnitude == 0x7f : magnitude > 0x7c) return __builtin_nanf("");
    if (kind == __NV_E5M2 && magnitude == 0x7c) return sign * __builtin_inff();
    int exponent = (int)(magnitude >> mantissa);
    unsigned fraction = magnitude & ((1u << mantissa) - 1);
    if (exponent) fraction |= 1u << mantissa;
    else exponent = 1;
    // 2 to the power of what is left, as bits of a float.
    return sign * (float)fraction * __builtin_bit_cast(float, (unsigned)(exponent - bias - mantissa + 127) << 23);
}
} // namespace __cuda_compat

__host__ __device__ inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float a, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
    return __cuda_compat::fp8_of(a, s, k);
}
__host__ __device__ inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double a, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
    return __cuda_compat::fp8_of(__cuda_compat::odd(a), s, k);
}
__device__ inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw a, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
    return __cuda_compat::fp8_of(__half2float(__half(a)), s, k);
}
__host__ __device__ inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw a, __nv_saturation_t s,
                                                                          __nv_fp8_interpretation_t k) {
    return __cuda_compat::fp8_of((float)__nv_bfloat16(a), s, k);
}
__host__ __device__ inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 a, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
    return (__nv_fp8x2_storage_t)(__cuda_compat::fp8_of(a.x, s, k) | __cuda_compat::fp8_of(a.y, s, k) << 8);
}
__device__ inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t a, __nv_fp8_interpretation_t k) {
    return (__half_raw)__float2half(__cuda_compat::fp8_to(a, k));
}

#define CUDA_COMPAT_FP8(name, kind)                                                                                     \
    struct name {                                                                                                       \
        __nv_fp8_storage_t __x;                                                                                         \
        name() = default;                                                                                               \
        __host__ __device__ explicit name(float a) : __x(__cuda_compat::fp8_of(a, __NV_SATFINITE, kind)) {}             \
        __host__ __device__ explicit name(double a)                                                                     \
            : __x(__cuda_compat::fp8_of(__cuda_compat::odd(a), __NV_SATFINITE, kind)) {}                                \
        __host__ __device__ explicit name(int a) : name((double)a) {}                                                   \
        __host__ __device__ explicit name(unsigned a) : name((double)a) {}                                              \
        __host__ __device__ explicit name(short a) : name((double)a) {}                                                 \
        __host__ __device__ explicit name(unsigned short a) : name((double)a) {}                                        \
        __host__ __device__ explicit name(long long a) : name((double)a) {}                                             \
        __host__ __device__ explicit name(unsigned long long a) : name((double)a) {}                                    \
        __host__ __device__ explicit name(long a) : name((double)a) {}                                                  \
        __host__ __device__ explicit name(unsigned long a) : name((double)a) {}                                         \
        __device__ explicit name(__half a) : name(__half2float(a)) {}                                                   \
        __host__ __device__ explicit name(__nv_bfloat16 a) : name((float)a) {}                                          \
        __host__ __device__ explicit operator float() const { return __cuda_compat::fp8_to(__x, kind); }                \
        __host__ __device__ explicit operator double() const { return __cuda_compat::fp8_to(__x, kind); }               \
        __device__ explicit operator __half() const { return __float2half((float)*this); }                              \
        __host__ __device__ explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); }             \
        __host__ __device__ explicit operator bool() const { return (__x & 0x7f) != 0; }                                \
        __host__ __device__ explicit operator signed char() const { return (signed char)(float)*this; }                 \
        __host__ __device__ explicit operator unsigned char() const { return (unsigned char)(float)*this; }             \
        __host__ __device__ explicit operator short() const { return (short)(float)*this; }                             \
        __host__ __device__ explicit operator unsigned short() const { return (unsigned short)(float)*this; }           \
        __host__ __device__ explicit operator int() const { return (int)(float)*this; }                                 \
        __host__ __device__ explicit operator unsigned() const { return (unsigned)(float)*this; }                       \
        __host__ __device__ explicit operator long() const { return (long)(float)*this; }                               \
        __host__ __device__ explicit operator unsigned long() const { return (unsigned long)(float)*this; }             \
        __host__ __device__ explicit operator long long() const { return (long long)(float)*this; }                     \
        __host__ __device__ explicit operator unsigned long long() const { return (unsigned long long)(float)*this; }   \
    };
CUDA_COMPAT_FP8(__nv_fp8_e4m3, __NV_E4M3)
CUDA_COMPAT_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef CUDA_COMPAT_FP8

#define CUDA_COMPAT_FP8(pair, four, one)                                                                                      \
    struct pair {                                                                                                   \
        __nv_fp8x2_storage_t __x;                                                                                       \
        pair() = default;                                                                                           \
        __host__ __device__ explicit pair(float2 a)                                                                 \
            : __x((__nv_fp8x2_storage_t)(one(a.x).__x | one(a.y).__x << 8)) {}                                          \
        __host__ __device__ explicit operator float2() const {                                                          \
            one low, high;                                                                                              \
            low.__x = __x & 0xff, high.__x = __x >> 8;                                                                  \
            return make_float2((float)low, (float)high);                                                                \
        }                                                                                                               \
    };                                                                                                                  \
    struct four {                                                                                                   \
        __nv_fp8x4_storage_t __x;                                                                                       \
        four() = default;                                                                                           \
        __host__ __device__ explicit four(float4 a)                                                                 \
            : __x(one(a.x).__x | one(a.y).__x << 8 | one(a.z).__x << 16 | (unsigned)one(a.w).__x << 24) {}              \
        __host__ __device__ explicit operator float4() const {                                                          \
            one a, b, c, d;                                                                                             \
            a.__x = __x & 0xff, b.__x = __x >> 8 & 0xff, c.__x = __x >> 16 & 0xff, d.__x = __x >> 24;                   \
            return make_float4((float)a, (float)b, (float)c, (float)d);                                                 \
        }                                                                                                               \
    };
CUDA_COMPAT_FP8(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __nv_fp8_e4m3)
CUDA_COMPAT_FP8(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __nv_fp8_e5m2)
#undef CUDA_COMPAT_FP8
