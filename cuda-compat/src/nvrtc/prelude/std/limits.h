// Limits of numbers, as a template.
#pragma once
#include "cuda_compat/std/type_traits.h"

namespace cuda { namespace std {
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
#define CUDA_COMPAT_INTEGER(type, unsigned_type)                                                                        \
    template <> struct numeric_limits<type> {                                                                           \
        static constexpr bool is_specialized = true, is_integer = true, is_exact = true, is_signed = (type)-1 < (type)0; \
        static constexpr bool has_infinity = false, has_quiet_NaN = false, is_bounded = true, is_modulo = !is_signed;   \
        static constexpr int radix = 2, digits = int(8 * sizeof(type)) - is_signed, digits10 = digits * 3 / 10;         \
        static __host__ __device__ constexpr type max() noexcept {                                                      \
            return (type)((unsigned_type)~(unsigned_type)0 >> is_signed);                                               \
        }                                                                                                               \
        static __host__ __device__ constexpr type min() noexcept { return is_signed ? (type)(-max() - 1) : (type)0; }   \
        static __host__ __device__ constexpr type lowest() noexcept { return min(); }                                   \
        static __host__ __device__ constexpr type epsilon() noexcept { return 0; }                                      \
        static __host__ __device__ constexpr type infinity() noexcept { return 0; }                                     \
        static __host__ __device__ constexpr type quiet_NaN() noexcept { return 0; }                                    \
    };
CUDA_COMPAT_INTEGER(char, unsigned char)
CUDA_COMPAT_INTEGER(signed char, unsigned char)
CUDA_COMPAT_INTEGER(unsigned char, unsigned char)
CUDA_COMPAT_INTEGER(short, unsigned short)
CUDA_COMPAT_INTEGER(unsigned short, unsigned short)
CUDA_COMPAT_INTEGER(int, unsigned)
CUDA_COMPAT_INTEGER(unsigned, unsigned)
CUDA_COMPAT_INTEGER(long, unsigned long)
CUDA_COMPAT_INTEGER(unsigned long, unsigned long)
CUDA_COMPAT_INTEGER(long long, unsigned long long)
CUDA_COMPAT_INTEGER(unsigned long long, unsigned long long)
#undef CUDA_COMPAT_INTEGER
template <> struct numeric_limits<bool> {
    static constexpr bool is_specialized = true, is_integer = true, is_exact = true, is_signed = false;
    static constexpr bool has_infinity = false, has_quiet_NaN = false;
    static constexpr int radix = 2, digits = 1, digits10 = 0;
    static __host__ __device__ constexpr bool min() noexcept { return false; }
    static __host__ __device__ constexpr bool max() noexcept { return true; }
    static __host__ __device__ constexpr bool lowest() noexcept { return false; }
};
#define CUDA_COMPAT_FLOAT(type, name, suffix)                                                                           \
    template <> struct numeric_limits<type> {                                                                           \
        static constexpr bool is_specialized = true, is_integer = false, is_exact = false, is_signed = true;            \
        static constexpr bool has_infinity = true, has_quiet_NaN = true, is_bounded = true, is_iec559 = true;           \
        static constexpr int radix = 2, digits = __##name##_MANT_DIG__, digits10 = __##name##_DIG__;                    \
        static constexpr int max_exponent = __##name##_MAX_EXP__, min_exponent = __##name##_MIN_EXP__;                  \
        static __host__ __device__ constexpr type max() noexcept { return __##name##_MAX__; }                           \
        static __host__ __device__ constexpr type min() noexcept { return __##name##_MIN__; }                           \
        static __host__ __device__ constexpr type lowest() noexcept { return -__##name##_MAX__; }                       \
        static __host__ __device__ constexpr type epsilon() noexcept { return __##name##_EPSILON__; }                   \
        static __host__ __device__ constexpr type denorm_min() noexcept { return __##name##_DENORM_MIN__; }             \
        static __host__ __device__ constexpr type infinity() noexcept { return __builtin_huge_val##suffix(); }          \
        static __host__ __device__ constexpr type quiet_NaN() noexcept { return __builtin_nan##suffix(""); }            \
    };
CUDA_COMPAT_FLOAT(float, FLT, f)
CUDA_COMPAT_FLOAT(double, DBL, )
#undef CUDA_COMPAT_FLOAT
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
template <class T> struct numeric_limits<volatile T> : numeric_limits<T> {};
}} // namespace cuda::std
