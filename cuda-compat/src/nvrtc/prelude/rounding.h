// Arithmetic with a rounding mode: __fadd_rz, __fmul_ru, __ddiv_rd and others.
//
// Each result is first rounded to the nearest. The sign of the exact error says whether it is moved to its neighbour. A float's error is
// computed in double, a double's by sums and products in two parts.
#pragma once

namespace __cuda_compat { namespace rounding {
enum mode { rn, rz, ru, rd };

// The fast mathematics of a program's options would remove the errors.
#define CUDA_COMPAT_EXACT _Pragma("clang fp reassociate(off) contract(off)")

// Returns the next number: above for a positive direction.
__device__ inline float next(float value, int direction) {
    if (value == 0) return __builtin_copysignf(__FLT_DENORM_MIN__, (float)direction);
    unsigned bits = __builtin_bit_cast(unsigned, value);
    return __builtin_bit_cast(float, (value > 0) == (direction > 0) ? bits + 1 : bits - 1);
}
__device__ inline double next(double value, int direction) {
    if (value == 0) return __builtin_copysign(__DBL_DENORM_MIN__, (double)direction);
    unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
    return __builtin_bit_cast(double, (value > 0) == (direction > 0) ? bits + 1 : bits - 1);
}
__device__ inline int sign(double value) { return (value > 0) - (value < 0); }
__device__ inline int sign(double high, double low) { return high != 0 ? sign(high) : sign(low); }

// Returns the result for a neighbour of the exact value, and the sign of the exact value minus it.
template <mode m, class T> __device__ inline T directed(T near, int error) {
    bool negative = near < 0 || (near == 0 && error < 0);
    if ((m == ru && error > 0) || (m == rd && error < 0) || (m == rz && (negative ? error > 0 : error < 0))) return next(near, error);
    return near;
}

// A sum in two parts.
struct two {
    double high, low;
};
__device__ inline two sum(double a, double b) {
    CUDA_COMPAT_EXACT
    double high = a + b, part = high - a;
    double first = a - (high - part), second = b - part;
    return {high, first + second};
}

// Returns a sum of two parts as float.
template <mode m> __device__ inline float narrow(double high, double low = 0) {
    CUDA_COMPAT_EXACT
    float near = (float)high;
    return directed<m>(near, sign(high - (double)near, low));
}
// An exact zero is negative when rounding down, unless both addends are positive zeros.
template <mode m, class T> __device__ inline T zero(T result, double a, double b) {
    bool minus = m == rd && result == 0 && (__builtin_signbit(a) || __builtin_signbit(b));
    return minus ? -__builtin_fabs(result) : result;
}

template <mode m> __device__ inline float add(float a, float b) {
    CUDA_COMPAT_EXACT
    if (m == rn) return a + b;
    two exact = sum(a, b);
    return zero<m>(narrow<m>(exact.high, exact.low), a, b);
}
template <mode m> __device__ inline float mul(float a, float b) {
    CUDA_COMPAT_EXACT
    return m == rn ? a * b : narrow<m>((double)a * (double)b);
}
template <mode m> __device__ inline float fma(float a, float b, float c) {
    CUDA_COMPAT_EXACT
    if (m == rn) return __builtin_fmaf(a, b, c);
    double product = (double)a * (double)b;
    two exact = sum(product, c);
    return zero<m>(narrow<m>(exact.high, exact.low), product, c);
}
template <mode m> __device__ inline float div(float a, float b) {
    CUDA_COMPAT_EXACT
    float near = (float)((double)a / (double)b);
    if (m == rn) return near;
    int rest = sign(__builtin_fma(-(double)near, (double)b, (double)a));
    return directed<m>(near, __builtin_signbit(b) ? -rest : rest);
}
template <mode m> __device__ inline float sqrt(float a) {
    CUDA_COMPAT_EXACT
    float near = (float)__builtin_sqrt((double)a);
    return m == rn ? near : directed<m>(near, sign(__builtin_fma(-(double)near, (double)near, (double)a)));
}

// Returns the sign of the error of an overflow; 0 if the infinity is exact.
__device__ inline int overflow(double result, bool is_finite) { return is_finite ? -sign(result) : 0; }
// Below this, the error of a product may be too small for a double.
constexpr double tiny = 0x1p-900;

template <mode m> __device__ inline double add(double a, double b) {
    CUDA_COMPAT_EXACT
    if (m == rn) return a + b;
    two exact = sum(a, b);
    bool is_infinite = __builtin_isinf(exact.high);
    int error = is_infinite ? overflow(exact.high, __builtin_isfinite(a) && __builtin_isfinite(b)) : sign(exact.low);
    return zero<m>(directed<m>(exact.high, error), a, b);
}
// Returns the error of a product, times 2^1200 if the product is tiny.
__device__ inline double product_error(double a, double b, double product) {
    CUDA_COMPAT_EXACT
    if (__builtin_fabs(product) >= tiny || a == 0 || b == 0) return __builtin_fma(a, b, -product);
    return __builtin_fma(a * 0x1p600, b * 0x1p600, -(product * 0x1p600 * 0x1p600));
}
template <mode m> __device__ inline double mul(double a, double b) {
    CUDA_COMPAT_EXACT
    double near = a * b;
    if (m == rn) return near;
    if (__builtin_isinf(near)) return directed<m>(near, overflow(near, __builtin_isfinite(a) && __builtin_isfinite(b)));
    // A product of small numbers has its operands' sign, which the error decides where it is zero.
    return directed<m>(near, sign(product_error(a, b, near)));
}
template <mode m> __device__ inline double fma(double a, double b, double c) {
    CUDA_COMPAT_EXACT
    double near = __builtin_fma(a, b, c);
    if (m == rn) return near;
    if (!__builtin_isfinite(near)) {
        bool is_finite = __builtin_isfinite(a) && __builtin_isfinite(b) && __builtin_isfinite(c);
        return directed<m>(near, overflow(near, is_finite));
    }
    // Large operands are halved so that the product is finite: the result is, so c nearly cancels it.
    double by = __builtin_isinf(a * b) ? 0.25 : 1;
    double product = a * by * b, error = product_error(a * by, b, product), rest = 0;
    if (__builtin_fabs(product) < tiny && error != 0) {
        double scaled = error;
        error = scaled * 0x1p-600 * 0x1p-600;
        if (__builtin_fabs(error * 0x1p600 * 0x1p600) > __builtin_fabs(scaled)) error = next(error, -sign(error));
        rest = scaled - error * 0x1p600 * 0x1p600;
    }
    two first = sum(product, c * by), second = sum(first.low, error), all = sum(first.high - near * by, second.high);
    return zero<m>(directed<m>(near, sign(all.high + (all.low + second.low), rest)), product, c);
}
template <mode m> __device__ inline double div(double a, double b) {
    CUDA_COMPAT_EXACT
    double near = a / b;
    if (m == rn) return near;
    if (__builtin_isinf(near)) return directed<m>(near, overflow(near, __builtin_isfinite(a) && b != 0));
    if (__builtin_isinf(b)) return near;
    double up = __builtin_fabs(a) < tiny ? 0x1p600 : 1, large = __builtin_fabs(b);
    // The factor goes to the smaller one of the divisor and the quotient, which are then not too large.
    double quotient = large < 1 ? near : near * up, divisor = large < 1 ? b * up : b;
    int rest = sign(__builtin_fma(-quotient, divisor, a * up));
    return directed<m>(near, __builtin_signbit(b) ? -rest : rest);
}
template <mode m> __device__ inline double sqrt(double a) {
    CUDA_COMPAT_EXACT
    double near = __builtin_sqrt(a);
    if (m == rn || __builtin_isinf(near)) return near;
    double up = a < tiny ? 0x1p300 : 1, root = near * up;
    return directed<m>(near, sign(__builtin_fma(-root, root, a * up * up)));
}

// Integers of 64 bits, which a double may not hold.
template <mode m, class T, class I> __device__ inline T of_integer(I value) {
    T near = (T)value;
    constexpr T top = sizeof(I) == 4 ? (T)0x1p32 : (T)0x1p64;
    // The nearest of the largest integers may be too large for an integer.
    bool is_above = (I)-1 > (I)0 ? near >= top : near >= top / 2;
    I back = is_above ? value : (I)near;
    return directed<m>(near, is_above ? -1 : (value > back) - (value < back));
}
#undef CUDA_COMPAT_EXACT
}} // namespace __cuda_compat::rounding

#define CUDA_COMPAT_ROUNDED(m)                                                                                          \
    __device__ inline float __cuda_compat__fadd_##m(float a, float b) { return __cuda_compat::rounding::add<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline float __cuda_compat__fsub_##m(float a, float b) { return __cuda_compat::rounding::add<__cuda_compat::rounding::m>(a, -b); } \
    __device__ inline float __cuda_compat__fmul_##m(float a, float b) { return __cuda_compat::rounding::mul<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline float __cuda_compat__fdiv_##m(float a, float b) { return __cuda_compat::rounding::div<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline float __cuda_compat__frcp_##m(float a) { return __cuda_compat::rounding::div<__cuda_compat::rounding::m>(1.0f, a); } \
    __device__ inline float __cuda_compat__fsqrt_##m(float a) { return __cuda_compat::rounding::sqrt<__cuda_compat::rounding::m>(a); } \
    __device__ inline float __cuda_compat__fmaf_##m(float a, float b, float c) {                                        \
        return __cuda_compat::rounding::fma<__cuda_compat::rounding::m>(a, b, c);                                       \
    }                                                                                                                   \
    __device__ inline double __cuda_compat__dadd_##m(double a, double b) { return __cuda_compat::rounding::add<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline double __cuda_compat__dsub_##m(double a, double b) { return __cuda_compat::rounding::add<__cuda_compat::rounding::m>(a, -b); } \
    __device__ inline double __cuda_compat__dmul_##m(double a, double b) { return __cuda_compat::rounding::mul<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline double __cuda_compat__ddiv_##m(double a, double b) { return __cuda_compat::rounding::div<__cuda_compat::rounding::m>(a, b); } \
    __device__ inline double __cuda_compat__drcp_##m(double a) { return __cuda_compat::rounding::div<__cuda_compat::rounding::m>(1.0, a); } \
    __device__ inline double __cuda_compat__dsqrt_##m(double a) { return __cuda_compat::rounding::sqrt<__cuda_compat::rounding::m>(a); } \
    __device__ inline double __cuda_compat__fma_##m(double a, double b, double c) {                                     \
        return __cuda_compat::rounding::fma<__cuda_compat::rounding::m>(a, b, c);                                       \
    }                                                                                                                   \
    __device__ inline float __cuda_compat__double2float_##m(double a) { return __cuda_compat::rounding::narrow<__cuda_compat::rounding::m>(a); } \
    __device__ inline float __cuda_compat__int2float_##m(int a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, float>(a); } \
    __device__ inline float __cuda_compat__uint2float_##m(unsigned a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, float>(a); } \
    __device__ inline float __cuda_compat__ll2float_##m(long long a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, float>(a); } \
    __device__ inline float __cuda_compat__ull2float_##m(unsigned long long a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, float>(a); } \
    __device__ inline double __cuda_compat__ll2double_##m(long long a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, double>(a); } \
    __device__ inline double __cuda_compat__ull2double_##m(unsigned long long a) { return __cuda_compat::rounding::of_integer<__cuda_compat::rounding::m, double>(a); }
CUDA_COMPAT_ROUNDED(rn)
CUDA_COMPAT_ROUNDED(rz)
CUDA_COMPAT_ROUNDED(ru)
CUDA_COMPAT_ROUNDED(rd)
#undef CUDA_COMPAT_ROUNDED
#define __fadd_rn __cuda_compat__fadd_rn
#define __fadd_rz __cuda_compat__fadd_rz
#define __fadd_ru __cuda_compat__fadd_ru
#define __fadd_rd __cuda_compat__fadd_rd
#define __fsub_rn __cuda_compat__fsub_rn
#define __fsub_rz __cuda_compat__fsub_rz
#define __fsub_ru __cuda_compat__fsub_ru
#define __fsub_rd __cuda_compat__fsub_rd
#define __fmul_rn __cuda_compat__fmul_rn
#define __fmul_rz __cuda_compat__fmul_rz
#define __fmul_ru __cuda_compat__fmul_ru
#define __fmul_rd __cuda_compat__fmul_rd
#define __fdiv_rn __cuda_compat__fdiv_rn
#define __fdiv_rz __cuda_compat__fdiv_rz
#define __fdiv_ru __cuda_compat__fdiv_ru
#define __fdiv_rd __cuda_compat__fdiv_rd
#define __frcp_rn __cuda_compat__frcp_rn
#define __frcp_rz __cuda_compat__frcp_rz
#define __frcp_ru __cuda_compat__frcp_ru
#define __frcp_rd __cuda_compat__frcp_rd
#define __fsqrt_rn __cuda_compat__fsqrt_rn
#define __fsqrt_rz __cuda_compat__fsqrt_rz
#define __fsqrt_ru __cuda_compat__fsqrt_ru
#define __fsqrt_rd __cuda_compat__fsqrt_rd
#define __fmaf_rn __cuda_compat__fmaf_rn
#define __fmaf_rz __cuda_compat__fmaf_rz
#define __fmaf_ru __cuda_compat__fmaf_ru
#define __fmaf_rd __cuda_compat__fmaf_rd
#define __dadd_rn __cuda_compat__dadd_rn
#define __dadd_rz __cuda_compat__dadd_rz
#define __dadd_ru __cuda_compat__dadd_ru
#define __dadd_rd __cuda_compat__dadd_rd
#define __dsub_rn __cuda_compat__dsub_rn
#define __dsub_rz __cuda_compat__dsub_rz
#define __dsub_ru __cuda_compat__dsub_ru
#define __dsub_rd __cuda_compat__dsub_rd
#define __dmul_rn __cuda_compat__dmul_rn
#define __dmul_rz __cuda_compat__dmul_rz
#define __dmul_ru __cuda_compat__dmul_ru
#define __dmul_rd __cuda_compat__dmul_rd
#define __ddiv_rn __cuda_compat__ddiv_rn
#define __ddiv_rz __cuda_compat__ddiv_rz
#define __ddiv_ru __cuda_compat__ddiv_ru
#define __ddiv_rd __cuda_compat__ddiv_rd
#define __drcp_rn __cuda_compat__drcp_rn
#define __drcp_rz __cuda_compat__drcp_rz
#define __drcp_ru __cuda_compat__drcp_ru
#define __drcp_rd __cuda_compat__drcp_rd
#define __dsqrt_rn __cuda_compat__dsqrt_rn
#define __dsqrt_rz __cuda_compat__dsqrt_rz
#define __dsqrt_ru __cuda_compat__dsqrt_ru
#define __dsqrt_rd __cuda_compat__dsqrt_rd
#define __fma_rn __cuda_compat__fma_rn
#define __fma_rz __cuda_compat__fma_rz
#define __fma_ru __cuda_compat__fma_ru
#define __fma_rd __cuda_compat__fma_rd
#define __double2float_rn __cuda_compat__double2float_rn
#define __double2float_rz __cuda_compat__double2float_rz
#define __double2float_ru __cuda_compat__double2float_ru
#define __double2float_rd __cuda_compat__double2float_rd
#define __int2float_rn __cuda_compat__int2float_rn
#define __int2float_rz __cuda_compat__int2float_rz
#define __int2float_ru __cuda_compat__int2float_ru
#define __int2float_rd __cuda_compat__int2float_rd
#define __uint2float_rn __cuda_compat__uint2float_rn
#define __uint2float_rz __cuda_compat__uint2float_rz
#define __uint2float_ru __cuda_compat__uint2float_ru
#define __uint2float_rd __cuda_compat__uint2float_rd
#define __ll2float_rn __cuda_compat__ll2float_rn
#define __ll2float_rz __cuda_compat__ll2float_rz
#define __ll2float_ru __cuda_compat__ll2float_ru
#define __ll2float_rd __cuda_compat__ll2float_rd
#define __ull2float_rn __cuda_compat__ull2float_rn
#define __ull2float_rz __cuda_compat__ull2float_rz
#define __ull2float_ru __cuda_compat__ull2float_ru
#define __ull2float_rd __cuda_compat__ull2float_rd
#define __ll2double_rn __cuda_compat__ll2double_rn
#define __ll2double_rz __cuda_compat__ll2double_rz
#define __ll2double_ru __cuda_compat__ll2double_ru
#define __ll2double_rd __cuda_compat__ll2double_rd
#define __ull2double_rn __cuda_compat__ull2double_rn
#define __ull2double_rz __cuda_compat__ull2double_rz
#define __ull2double_ru __cuda_compat__ull2double_ru
#define __ull2double_rd __cuda_compat__ull2double_rd
