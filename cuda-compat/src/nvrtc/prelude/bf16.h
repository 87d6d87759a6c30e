// cuda_bf16.h: the upper 16 bits of a float. Arithmetic is that of float, and is rounded once, to nearest even.
#pragma once
#include "cuda_compat/fp16.h"

struct __nv_bfloat16_raw { unsigned short x; };

namespace __cuda_compat {
__host__ __device__ inline unsigned short bfloat16_of(float value) {
    unsigned bits = __builtin_bit_cast(unsigned, value);
    if (value != value) return 0x7fff;
    return (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
// The float towards zero with the last bit set if anything was lost, which makes the second rounding right.
__host__ __device__ inline float odd(double value) {
    float rounded = (float)value;
    unsigned bits = __builtin_bit_cast(unsigned, rounded);
    if (value != value || (double)rounded == value) return rounded;
    if (__builtin_fabs((double)rounded) > __builtin_fabs(value)) bits -= 1;
    return __builtin_bit_cast(float, bits | 1);
}
__host__ __device__ inline float odd(unsigned long long value) {
    // 40 bits of it and what is lost, which a double holds.
    return value >> 40 ? odd((double)(value >> 24 | ((value & 0xffffff) != 0)) * 16777216.0) : odd((double)value);
}
} // namespace __cuda_compat

struct __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(float value) : __x(__cuda_compat::bfloat16_of(value)) {}
    __host__ __device__ __nv_bfloat16(double value) : __x(__cuda_compat::bfloat16_of(__cuda_compat::odd(value))) {}
    __host__ __device__ __nv_bfloat16(int value) : __nv_bfloat16((double)value) {}
    __host__ __device__ __nv_bfloat16(unsigned value) : __nv_bfloat16((double)value) {}
    __host__ __device__ __nv_bfloat16(short value) : __nv_bfloat16((double)value) {}
    __host__ __device__ __nv_bfloat16(unsigned short value) : __nv_bfloat16((double)value) {}
    __host__ __device__ __nv_bfloat16(unsigned long long value) : __nv_bfloat16(__cuda_compat::odd(value)) {}
    __host__ __device__ __nv_bfloat16(unsigned long value) : __nv_bfloat16((unsigned long long)value) {}
    __host__ __device__ __nv_bfloat16(long long value)
        : __nv_bfloat16(value < 0 ? -__cuda_compat::odd(0 - (unsigned long long)value) : __cuda_compat::odd((unsigned long long)value)) {}
    __host__ __device__ __nv_bfloat16(long value) : __nv_bfloat16((long long)value) {}
    __device__ explicit __nv_bfloat16(__half value) : __nv_bfloat16(__half2float(value)) {}
    __host__ __device__ __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
    __host__ __device__ operator float() const { return __builtin_bit_cast(float, (unsigned)__x << 16); }
    __host__ __device__ operator __nv_bfloat16_raw() const { return {__x}; }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __host__ __device__ __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

__host__ __device__ inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16(__nv_bfloat16_raw{bits}); }
__host__ __device__ inline __nv_bfloat16 __short_as_bfloat16(short bits) { return __ushort_as_bfloat16((unsigned short)bits); }
__host__ __device__ inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
__host__ __device__ inline short __bfloat16_as_short(__nv_bfloat16 a) { return (short)a.__x; }
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fffu)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7fu)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80u)

__host__ __device__ inline float __bfloat162float(__nv_bfloat16 a) { return (float)a; }
__host__ __device__ inline __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
__host__ __device__ inline __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
__host__ __device__ inline __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
__host__ __device__ inline __nv_bfloat16 __float2bfloat16_rz(float a) {
    return a != a ? __ushort_as_bfloat16(0x7fff) : __ushort_as_bfloat16((unsigned short)(__builtin_bit_cast(unsigned, a) >> 16));
}
#define CUDA_COMPAT_FROM(name, type) __host__ __device__ inline __nv_bfloat16 name(type a) { return __nv_bfloat16(a); }
CUDA_COMPAT_FROM(__int2bfloat16_rn, int)
CUDA_COMPAT_FROM(__uint2bfloat16_rn, unsigned)
CUDA_COMPAT_FROM(__short2bfloat16_rn, short)
CUDA_COMPAT_FROM(__ushort2bfloat16_rn, unsigned short)
CUDA_COMPAT_FROM(__ll2bfloat16_rn, long long)
CUDA_COMPAT_FROM(__ull2bfloat16_rn, unsigned long long)
#undef CUDA_COMPAT_FROM
#define CUDA_COMPAT_TO(name, type, function) __device__ inline type name(__nv_bfloat16 a) { return function((float)a); }
CUDA_COMPAT_TO(__bfloat162int_rn, int, __float2int_rn)
CUDA_COMPAT_TO(__bfloat162int_rz, int, __float2int_rz)
CUDA_COMPAT_TO(__bfloat162uint_rn, unsigned, __float2uint_rn)
CUDA_COMPAT_TO(__bfloat162uint_rz, unsigned, __float2uint_rz)
CUDA_COMPAT_TO(__bfloat162ll_rn, long long, __float2ll_rn)
CUDA_COMPAT_TO(__bfloat162ll_rz, long long, __float2ll_rz)
#undef CUDA_COMPAT_TO

#define CUDA_COMPAT_OPERATOR(op)                                                                                        \
    __device__ inline __nv_bfloat16 operator op(const __nv_bfloat16 &a, const __nv_bfloat16 &b) {                       \
        return __nv_bfloat16((float)a op (float)b);                                                                     \
    }                                                                                                                   \
    __device__ inline __nv_bfloat16 &operator op##=(__nv_bfloat16 &a, const __nv_bfloat16 &b) { return a = a op b; }    \
    __device__ inline __nv_bfloat162 operator op(const __nv_bfloat162 &a, const __nv_bfloat162 &b) {                    \
        return __nv_bfloat162(a.x op b.x, a.y op b.y);                                                                  \
    }                                                                                                                   \
    __device__ inline __nv_bfloat162 &operator op##=(__nv_bfloat162 &a, const __nv_bfloat162 &b) { return a = a op b; }
CUDA_COMPAT_OPERATOR(+) CUDA_COMPAT_OPERATOR(-) CUDA_COMPAT_OPERATOR(*) CUDA_COMPAT_OPERATOR(/)
#undef CUDA_COMPAT_OPERATOR
#define CUDA_COMPAT_OPERATOR(op)                                                                                        \
    __device__ inline bool operator op(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { return (float)a op (float)b; }
CUDA_COMPAT_OPERATOR(==) CUDA_COMPAT_OPERATOR(!=) CUDA_COMPAT_OPERATOR(<) CUDA_COMPAT_OPERATOR(<=)
CUDA_COMPAT_OPERATOR(>) CUDA_COMPAT_OPERATOR(>=)
#undef CUDA_COMPAT_OPERATOR
__device__ inline __nv_bfloat16 operator-(const __nv_bfloat16 &a) { return __ushort_as_bfloat16(a.__x ^ 0x8000); }
__device__ inline __nv_bfloat16 operator+(const __nv_bfloat16 &a) { return a; }
__device__ inline __nv_bfloat16 &operator++(__nv_bfloat16 &a) { return a = a + __nv_bfloat16(1.0f); }
__device__ inline __nv_bfloat16 &operator--(__nv_bfloat16 &a) { return a = a - __nv_bfloat16(1.0f); }

// Functions of one number and of two, for one number and for pairs. Those of __half have the same names.
#define CUDA_COMPAT_ONE(name, name2, expression)                                                                        \
    __device__ inline __nv_bfloat16 name(__nv_bfloat16 a) { return __nv_bfloat16(expression); }                         \
    __device__ inline __nv_bfloat162 name2(__nv_bfloat162 a) { return __nv_bfloat162(name(a.x), name(a.y)); }
CUDA_COMPAT_ONE(hexp, h2exp, expf((float)a))
CUDA_COMPAT_ONE(hexp2, h2exp2, exp2f((float)a))
CUDA_COMPAT_ONE(hexp10, h2exp10, exp10f((float)a))
CUDA_COMPAT_ONE(hlog, h2log, logf((float)a))
CUDA_COMPAT_ONE(hlog2, h2log2, log2f((float)a))
CUDA_COMPAT_ONE(hlog10, h2log10, log10f((float)a))
CUDA_COMPAT_ONE(hsqrt, h2sqrt, sqrtf((float)a))
CUDA_COMPAT_ONE(hrsqrt, h2rsqrt, rsqrtf((float)a))
CUDA_COMPAT_ONE(hrcp, h2rcp, 1.0f / (float)a)
CUDA_COMPAT_ONE(hsin, h2sin, sinf((float)a))
CUDA_COMPAT_ONE(hcos, h2cos, cosf((float)a))
CUDA_COMPAT_ONE(htanh, h2tanh, tanhf((float)a))
CUDA_COMPAT_ONE(hceil, h2ceil, ceilf((float)a))
CUDA_COMPAT_ONE(hfloor, h2floor, floorf((float)a))
CUDA_COMPAT_ONE(hrint, h2rint, rintf((float)a))
CUDA_COMPAT_ONE(htrunc, h2trunc, truncf((float)a))
CUDA_COMPAT_ONE(__habs, __habs2, __builtin_fabsf((float)a))
CUDA_COMPAT_ONE(__hneg, __hneg2, -(float)a)
#undef CUDA_COMPAT_ONE
#define CUDA_COMPAT_TWO(name, name2, expression)                                                                        \
    __device__ inline __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16(expression); }        \
    __device__ inline __nv_bfloat162 name2(__nv_bfloat162 a, __nv_bfloat162 b) {                                        \
        return __nv_bfloat162(name(a.x, b.x), name(a.y, b.y));                                                          \
    }
CUDA_COMPAT_TWO(__hadd, __hadd2, (float)a + (float)b)
CUDA_COMPAT_TWO(__hsub, __hsub2, (float)a - (float)b)
CUDA_COMPAT_TWO(__hmul, __hmul2, (float)a * (float)b)
CUDA_COMPAT_TWO(__hdiv, __h2div, (float)a / (float)b)
CUDA_COMPAT_TWO(__hadd_rn, __hadd2_rn, (float)a + (float)b)
CUDA_COMPAT_TWO(__hsub_rn, __hsub2_rn, (float)a - (float)b)
CUDA_COMPAT_TWO(__hmul_rn, __hmul2_rn, (float)a * (float)b)
CUDA_COMPAT_TWO(__hadd_sat, __hadd2_sat, __saturatef((float)a + (float)b))
CUDA_COMPAT_TWO(__hmul_sat, __hmul2_sat, __saturatef((float)a * (float)b))
CUDA_COMPAT_TWO(__hmax, __hmax2, fmaxf((float)a, (float)b))
CUDA_COMPAT_TWO(__hmin, __hmin2, fminf((float)a, (float)b))
CUDA_COMPAT_TWO(__hmax_nan, __hmax2_nan, (float)a != (float)a || (float)b != (float)b ? __builtin_nanf("") : fmaxf((float)a, (float)b))
CUDA_COMPAT_TWO(__hmin_nan, __hmin2_nan, (float)a != (float)a || (float)b != (float)b ? __builtin_nanf("") : fminf((float)a, (float)b))
#undef CUDA_COMPAT_TWO
// The float is rounded twice where the exact sum is between two floats.
__device__ inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    return __nv_bfloat16(__builtin_fmaf((float)a, (float)b, (float)c));
}
__device__ inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return __nv_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
#define CUDA_COMPAT_IS(name, op)                                                                                        \
    __device__ inline bool name(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a op (float)b; }
CUDA_COMPAT_IS(__heq, ==) CUDA_COMPAT_IS(__hne, !=) CUDA_COMPAT_IS(__hlt, <) CUDA_COMPAT_IS(__hle, <=)
CUDA_COMPAT_IS(__hgt, >) CUDA_COMPAT_IS(__hge, >=)
#undef CUDA_COMPAT_IS
#define CUDA_COMPAT_MASK(name, compare)                                                                                 \
    __device__ inline unsigned name(__nv_bfloat162 a, __nv_bfloat162 b) {                                               \
        return (compare((float)a.x, (float)b.x) ? 0xffffu : 0) | (compare((float)a.y, (float)b.y) ? 0xffff0000u : 0);   \
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
__device__ inline bool __hisnan(__nv_bfloat16 a) { return (a.__x & 0x7fff) > 0x7f80; }
__device__ inline int __hisinf(__nv_bfloat16 a) { return (a.__x & 0x7fff) != 0x7f80 ? 0 : a.__x >> 15 ? -1 : 1; }

__host__ __device__ inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__host__ __device__ inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__host__ __device__ inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
__host__ __device__ inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return __nv_bfloat162(x, y); }
__host__ __device__ inline __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162(a, a); }
__host__ __device__ inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __nv_bfloat162(a.x, a.y); }
__host__ __device__ inline float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2((float)a.x, (float)a.y); }
__host__ __device__ inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
__host__ __device__ inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
__host__ __device__ inline float __low2float(__nv_bfloat162 a) { return (float)a.x; }
__host__ __device__ inline float __high2float(__nv_bfloat162 a) { return (float)a.y; }
__host__ __device__ inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
__host__ __device__ inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
__host__ __device__ inline __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.x); }

namespace __cuda_compat {
template <> struct atomic<__nv_bfloat162, 4> : pair<__nv_bfloat162> {};
} // namespace __cuda_compat
