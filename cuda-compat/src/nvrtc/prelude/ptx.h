// The instructions of PTX that inline assembly has: the statements of a program become calls of these functions.
#pragma once

// Functions of a warp have masks of 32 bits.
#if CUDA_COMPAT_WARP_SIZE == 32
#define CUDA_COMPAT_PTX_WARP __device__ inline
#else
#define CUDA_COMPAT_PTX_WARP                                                                                            \
    __attribute__((unavailable("PTX has warps of 32 lanes: compile without --warp-size=native"))) __device__ inline
#endif

namespace __cuda_compat { namespace ptx {
typedef unsigned char b8, u8;
typedef unsigned short b16, u16;
typedef unsigned b32, u32;
typedef unsigned long long b64, u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef _Float16 f16;
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef float f32;
typedef double f64;
typedef bool pred;

template <class T> struct twice;
template <> struct twice<u16> { typedef u32 type; };
template <> struct twice<s16> { typedef s32 type; };
template <> struct twice<u32> { typedef u64 type; };
template <> struct twice<s32> { typedef s64 type; };
template <class T> struct unsigned_of { typedef T type; };
template <> struct unsigned_of<s16> { typedef u16 type; };
template <> struct unsigned_of<s32> { typedef u32 type; };
template <> struct unsigned_of<s64> { typedef u64 type; };

// A register as a type: its bits, or its low or extended bits if the sizes differ.
template <class T, class R, bool same = sizeof(T) == sizeof(R)> struct converted {
    static __device__ T of(R value) { return __builtin_bit_cast(T, value); }
};
template <class T, class R> struct converted<T, R, false> {
    static __device__ T of(R value) { return (T)value; }
};
template <class T, class R> __device__ inline T as(R value) { return converted<T, R>::of(value); }
template <class R, class V> __device__ inline void set(R &place, V value) { place = as<R>(value); }
// An operand of a statement: a number or a pointer.
template <class R, class V> __device__ inline R in(CUDA_COMPAT_MAYBE_UNDEF V value) { return (R)value; }

// Parts of a number, from the lowest.
template <class P, class R> __device__ inline P part(R value, int from) {
    u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(R));
    return (P)(bits >> from);
}
template <class T, class... P> __device__ inline T pack(P... parts) {
    u64 all[] = {parts...}, bits = 0;
    int from = 0;
    for (u64 one : all) {
        bits |= one << from;
        from += 8 * sizeof(T) / sizeof...(P);
    }
    T result;
    __builtin_memcpy(&result, &bits, sizeof(T));
    return result;
}

// Integers. Sums and products wrap.
#define CUDA_COMPAT_INTEGER(T)                                                                                          \
    __device__ inline T add(T a, T b) { return (T)((u64)a + (u64)b); }                                                  \
    __device__ inline T sub(T a, T b) { return (T)((u64)a - (u64)b); }                                                  \
    __device__ inline T mul(T a, T b) { return (T)((u64)a * (u64)b); }                                                  \
    __device__ inline T min(T a, T b) { return b < a ? b : a; }                                                         \
    __device__ inline T max(T a, T b) { return a < b ? b : a; }                                                         \
    __device__ inline T div(T a, T b) { return b == 0 ? (T)-1 : (T)-1 < 0 && b == (T)-1 ? (T)(0 - (u64)a) : (T)(a / b); } \
    __device__ inline T rem(T a, T b) { return b == 0 ? a : (T)-1 < 0 && b == (T)-1 ? (T)0 : (T)(a % b); }              \
    __device__ inline T mad(T a, T b, T c) { return add(mul(a, b), c); }                                                \
    __device__ inline T sad(T a, T b, T c) { return add(a < b ? sub(b, a) : sub(a, b), c); }
CUDA_COMPAT_INTEGER(u16)
CUDA_COMPAT_INTEGER(s16)
CUDA_COMPAT_INTEGER(u32)
CUDA_COMPAT_INTEGER(s32)
CUDA_COMPAT_INTEGER(u64)
CUDA_COMPAT_INTEGER(s64)
#undef CUDA_COMPAT_INTEGER
#define CUDA_COMPAT_NARROW(T)                                                                                           \
    __device__ inline twice<T>::type mul_wide(T a, T b) { return (twice<T>::type)a * b; }                               \
    __device__ inline twice<T>::type mad_wide(T a, T b, twice<T>::type c) { return add(mul_wide(a, b), c); }            \
    __device__ inline T mul_hi(T a, T b) { return (T)(mul_wide(a, b) >> (8 * sizeof(T))); }
CUDA_COMPAT_NARROW(u16)
CUDA_COMPAT_NARROW(s16)
CUDA_COMPAT_NARROW(u32)
CUDA_COMPAT_NARROW(s32)
#undef CUDA_COMPAT_NARROW
__device__ inline u64 mul_hi(u64 a, u64 b) { return ::__umul64hi(a, b); }
__device__ inline s64 mul_hi(s64 a, s64 b) { return ::__mul64hi(a, b); }
template <class T> __device__ inline T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> __device__ inline T low24(T value) { return (T)(as<T>((u32)value << 8) >> 8); }
template <class T> __device__ inline T mul24(T a, T b) { return mul(low24(a), low24(b)); }
template <class T> __device__ inline T mad24(T a, T b, T c) { return add(mul24(a, b), c); }
__device__ inline s32 limited(s64 value) { return value > 0x7fffffff ? 0x7fffffff : value < -0x80000000ll ? (s32)-0x80000000ll : (s32)value; }
__device__ inline s32 add_sat(s32 a, s32 b) { return limited((s64)a + b); }
__device__ inline s32 sub_sat(s32 a, s32 b) { return limited((s64)a - b); }
__device__ inline s16 neg(s16 a) { return sub((s16)0, a); }
__device__ inline s32 neg(s32 a) { return sub(0, a); }
__device__ inline s64 neg(s64 a) { return sub((s64)0, a); }
__device__ inline s16 abs(s16 a) { return a < 0 ? neg(a) : a; }
__device__ inline s32 abs(s32 a) { return a < 0 ? neg(a) : a; }
__device__ inline s64 abs(s64 a) { return a < 0 ? neg(a) : a; }

// Dot products of bytes, and of two halves with two bytes.
template <class A, class B, class C> __device__ inline C dot4(u32 a, u32 b, C c) {
    for (int at = 0; at < 32; at += 8) c = add(c, (C)((s32)(A)(a >> at) * (s32)(B)(b >> at)));
    return c;
}
template <class A, class B, class C> __device__ inline C dot2(u32 a, u32 b, C c) {
    for (int at = 0; at < 2; ++at) c = add(c, (C)((s32)(A)(a >> 16 * at) * (s32)(B)(b >> 8 * at)));
    return c;
}
__device__ inline u32 dp4a_uu(u32 a, u32 b, u32 c) { return dot4<u8, u8>(a, b, c); }
__device__ inline s32 dp4a_ss(u32 a, u32 b, s32 c) { return dot4<s8, s8>(a, b, c); }
__device__ inline s32 dp4a_su(u32 a, u32 b, s32 c) { return dot4<s8, u8>(a, b, c); }
__device__ inline s32 dp4a_us(u32 a, u32 b, s32 c) { return dot4<u8, s8>(a, b, c); }
__device__ inline u32 dp2a_lo_uu(u32 a, u32 b, u32 c) { return dot2<u16, u8>(a, b, c); }
__device__ inline s32 dp2a_lo_ss(u32 a, u32 b, s32 c) { return dot2<s16, s8>(a, b, c); }
__device__ inline u32 dp2a_hi_uu(u32 a, u32 b, u32 c) { return dot2<u16, u8>(a, b >> 16, c); }
__device__ inline s32 dp2a_hi_ss(u32 a, u32 b, s32 c) { return dot2<s16, s8>(a, b >> 16, c); }

// Bits.
template <class T> __device__ inline T bit_and(T a, T b) { return (T)(a & b); }
template <class T> __device__ inline T bit_or(T a, T b) { return (T)(a | b); }
template <class T> __device__ inline T bit_xor(T a, T b) { return (T)(a ^ b); }
template <class T> __device__ inline T bit_not(T a) { return (T)~a; }
__device__ inline bool bit_not(bool a) { return !a; }
template <class T> __device__ inline T cnot(T a) { return a == 0 ? 1 : 0; }
__device__ inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
    u32 result = 0;
#pragma unroll
    for (int at = 0; at < 8; ++at) {
        u32 here = (at & 4 ? a : ~a) & (at & 2 ? b : ~b) & (at & 1 ? c : ~c);
        if (table >> at & 1) result |= here;
    }
    return result;
}
// Amounts that are too large shift everything out; copies of the sign stay.
template <class T> __device__ inline T shl(T a, u32 by) { return by < 8 * sizeof(T) ? (T)(a << by) : (T)0; }
template <class T> __device__ inline T shr(T a, u32 by) { return by < 8 * sizeof(T) ? (T)(a >> by) : a < 0 ? (T)-1 : (T)0; }
__device__ inline u32 shf_l_wrap(u32 low, u32 high, u32 by) { return (u32)(((u64)high << 32 | low) << (by & 31) >> 32); }
__device__ inline u32 shf_l_clamp(u32 low, u32 high, u32 by) { return by < 32 ? shf_l_wrap(low, high, by) : low; }
__device__ inline u32 shf_r_wrap(u32 low, u32 high, u32 by) { return (u32)(((u64)high << 32 | low) >> (by & 31)); }
__device__ inline u32 shf_r_clamp(u32 low, u32 high, u32 by) { return by < 32 ? shf_r_wrap(low, high, by) : high; }
__device__ inline u32 prmt(u32 a, u32 b, u32 selectors) {
    u64 both = (u64)b << 32 | a;
    u32 result = 0;
    for (int at = 0; at < 4; ++at) {
        u32 selector = selectors >> 4 * at & 15, byte = (u32)(both >> 8 * (selector & 7)) & 255;
        // The highest bit of a selector copies the byte's sign to all of its bits.
        if (selector & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * at;
    }
    return result;
}
// Fields: the position and the length are bytes.
template <class T> __device__ inline T bfe(T a, u32 from, u32 length) {
    constexpr u32 width = 8 * sizeof(T);
    from &= 255, length &= 255;
    if (length == 0) return 0;
    typedef typename unsigned_of<T>::type U;
    u32 top = from + length - 1 < width - 1 ? from + length - 1 : width - 1;
    U sign = (T)-1 < 0 && (U)a >> top & 1 ? ~(U)0 : 0;
    U low = shr((U)a, from), mask = length < width ? shl((U)1, length) - 1 : ~(U)0;
    // Bits above the number are copies of its sign.
    U known = from < width ? shr(~(U)0, from) : 0;
    return (T)((((low & known) | (sign & ~known)) & mask) | (sign & ~mask));
}
template <class T> __device__ inline T bfi(T a, T b, u32 from, u32 length) {
    from &= 255, length &= 255;
    T ones = length < 8 * sizeof(T) ? (T)(shl((T)1, length) - 1) : ~(T)0, mask = shl(ones, from);
    return (b & ~mask) | (shl(a, from) & mask);
}
__device__ inline u32 popc(u32 a) { return __builtin_popcount(a); }
__device__ inline u32 popc(u64 a) { return __builtin_popcountll(a); }
__device__ inline u32 clz(u32 a) { return a == 0 ? 32 : __builtin_clz(a); }
__device__ inline u32 clz(u64 a) { return a == 0 ? 64 : __builtin_clzll(a); }
__device__ inline u32 brev(u32 a) { return __builtin_bitreverse32(a); }
__device__ inline u64 brev(u64 a) { return __builtin_bitreverse64(a); }
// The highest bit that differs from the sign; all bits if there is none.
template <class T> __device__ inline u32 bfind_shiftamt(T a) {
    typename unsigned_of<T>::type bits = a < 0 ? ~a : a;
    return bits == 0 ? ~0u : clz(bits);
}
template <class T> __device__ inline u32 bfind(T a) {
    u32 above = bfind_shiftamt(a);
    return above == ~0u ? ~0u : 8 * sizeof(T) - 1 - above;
}
template <class T> __device__ inline T selp(T a, T b, bool first) { return first ? a : b; }

// Floating-point numbers.
#define CUDA_COMPAT_FLOAT(T)                                                                                            \
    template <rounding::mode m> __device__ inline T add(T a, T b) { return rounding::add<m>(a, b); }                    \
    template <rounding::mode m> __device__ inline T sub(T a, T b) { return rounding::add<m>(a, -b); }                   \
    template <rounding::mode m> __device__ inline T mul(T a, T b) { return rounding::mul<m>(a, b); }                    \
    template <rounding::mode m> __device__ inline T fma(T a, T b, T c) { return rounding::fma<m>(a, b, c); }            \
    template <rounding::mode m> __device__ inline T div(T a, T b) { return rounding::div<m>(a, b); }                    \
    template <rounding::mode m> __device__ inline T rcp(T a) { return rounding::div<m>((T)1, a); }                      \
    template <rounding::mode m> __device__ inline T sqrt(T a) { return rounding::sqrt<m>(a); }                          \
    __device__ inline T rcp_approx(T a) { return 1 / a; }                                                               \
    __device__ inline T rsqrt(T a) { return ::rsqrt(a); }
CUDA_COMPAT_FLOAT(f32)
CUDA_COMPAT_FLOAT(f64)
#undef CUDA_COMPAT_FLOAT
#define CUDA_COMPAT_HALF(T)                                                                                             \
    template <rounding::mode m> __device__ inline T add(T a, T b) { return a + b; }                                     \
    template <rounding::mode m> __device__ inline T sub(T a, T b) { return a - b; }                                     \
    template <rounding::mode m> __device__ inline T mul(T a, T b) { return a * b; }                                     \
    template <rounding::mode m> __device__ inline T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }
CUDA_COMPAT_HALF(f16)
CUDA_COMPAT_HALF(f16x2)
#undef CUDA_COMPAT_HALF
#define CUDA_COMPAT_FLOAT(T)                                                                                            \
    __device__ inline T abs(T a) { return __builtin_elementwise_abs(a); }                                               \
    __device__ inline T neg(T a) { return -a; }                                                                         \
    __device__ inline T flush(T a) { return a; }
CUDA_COMPAT_FLOAT(f64)
CUDA_COMPAT_FLOAT(f16)
CUDA_COMPAT_FLOAT(f16x2)
#undef CUDA_COMPAT_FLOAT
__device__ inline f32 abs(f32 a) { return __builtin_fabsf(a); }
__device__ inline f32 neg(f32 a) { return -a; }
// .ftz: a number that is subnormal counts as a zero of its sign.
__device__ inline f32 flush(f32 a) { return __builtin_fabsf(a) < __FLT_MIN__ ? __builtin_copysignf(0.0f, a) : a; }
// .sat: between 0 and 1; NaN is 0.
template <class T> __device__ inline T saturate(T a) { return a >= (T)1 ? (T)1 : a > (T)0 ? a : (T)0; }
__device__ inline f16x2 saturate(f16x2 a) { return f16x2{saturate(a.x), saturate(a.y)}; }
// The number if the other is NaN. Of two zeros, the negative one is less.
template <class T> __device__ inline T min_of(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b < a ? b : __builtin_signbit((float)a) ? a : b; }
template <class T> __device__ inline T max_of(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b > a ? b : __builtin_signbit((float)a) ? b : a; }
template <class T> __device__ inline T min_or_nan(T a, T b) { return a != a ? a : b != b ? b : min_of(a, b); }
template <class T> __device__ inline T max_or_nan(T a, T b) { return a != a ? a : b != b ? b : max_of(a, b); }
#define CUDA_COMPAT_MINMAX(name, function)                                                                              \
    __device__ inline f32 name(f32 a, f32 b) { return function(a, b); }                                                 \
    __device__ inline f64 name(f64 a, f64 b) { return function(a, b); }                                                 \
    __device__ inline f16 name(f16 a, f16 b) { return function(a, b); }                                                 \
    __device__ inline f16x2 name(f16x2 a, f16x2 b) { return f16x2{function(a.x, b.x), function(a.y, b.y)}; }
CUDA_COMPAT_MINMAX(min, min_of)
CUDA_COMPAT_MINMAX(max, max_of)
CUDA_COMPAT_MINMAX(min_nan, min_or_nan)
CUDA_COMPAT_MINMAX(max_nan, max_or_nan)
#undef CUDA_COMPAT_MINMAX
__device__ inline f32 div_approx(f32 a, f32 b) { return a / b; }
__device__ inline f32 sqrt_approx(f32 a) { return __builtin_sqrtf(a); }
__device__ inline f32 sin(f32 a) { return ::sinf(a); }
__device__ inline f32 cos(f32 a) { return ::cosf(a); }
__device__ inline f32 lg2(f32 a) { return ::log2f(a); }
__device__ inline f32 ex2(f32 a) { return ::exp2f(a); }
__device__ inline f32 tanh(f32 a) { return ::tanhf(a); }
// PTX gives the sign of the first to the second.
__device__ inline f32 copysign(f32 sign, f32 a) { return __builtin_copysignf(a, sign); }
__device__ inline f64 copysign(f64 sign, f64 a) { return __builtin_copysign(a, sign); }

// Comparisons. Those with u hold for NaN, too.
#define CUDA_COMPAT_COMPARE(name, unordered, op)                                                                        \
    template <class T> __device__ inline bool name(T a, T b) { return a op b; }                                         \
    template <class T> __device__ inline bool unordered(T a, T b) { return a != a || b != b || a op b; }
CUDA_COMPAT_COMPARE(eq, equ, ==)
CUDA_COMPAT_COMPARE(lt, ltu, <)
CUDA_COMPAT_COMPARE(le, leu, <=)
CUDA_COMPAT_COMPARE(gt, gtu, >)
CUDA_COMPAT_COMPARE(ge, geu, >=)
#undef CUDA_COMPAT_COMPARE
template <class T> __device__ inline bool ne(T a, T b) { return a < b || a > b; }
template <class T> __device__ inline bool neu(T a, T b) { return !(a == b); }
template <class T> __device__ inline bool num(T a, T b) { return a == a && b == b; }
template <class T> __device__ inline bool nan(T a, T b) { return a != a || b != b; }
template <class T> __device__ inline bool lo(T a, T b) { return a < b; }
template <class T> __device__ inline bool ls(T a, T b) { return a <= b; }
template <class T> __device__ inline bool hi(T a, T b) { return a > b; }
template <class T> __device__ inline bool hs(T a, T b) { return a >= b; }

// Conversions.
template <class T> __device__ inline T rni(T a) { return (T)__builtin_rint((f64)a); }
template <class T> __device__ inline T rzi(T a) { return (T)__builtin_trunc((f64)a); }
template <class T> __device__ inline T rmi(T a) { return (T)__builtin_floor((f64)a); }
template <class T> __device__ inline T rpi(T a) { return (T)__builtin_ceil((f64)a); }
template <class T> struct limits {
    static constexpr bool is_signed = (T)-1 < (T)0;
    static constexpr T high = is_signed ? (T)(~(u64)0 >> (65 - 8 * sizeof(T))) : (T)-1;
    static constexpr T low = is_signed ? (T)(-high - 1) : (T)0;
};
// An integral number. Numbers out of range are the nearest limit; NaN is 0, and with 64 bits the highest bit.
template <class T> __device__ inline T to_integer(f64 a) {
    if (a != a) return sizeof(T) == 8 ? (T)0x8000000000000000ull : (T)0;
    constexpr f64 top = 2.0 * (f64)((u64)limits<T>::high / 2 + 1);
    return a >= top ? limits<T>::high : a <= (f64)limits<T>::low ? limits<T>::low : (T)a;
}
// .sat of integers.
template <class T, class F> __device__ inline T clamp(F a) {
    bool is_above = a > 0 && (u64)a > (u64)limits<T>::high, is_below = a < 0 && (s64)a < (s64)limits<T>::low;
    return is_above ? limits<T>::high : is_below ? limits<T>::low : (T)a;
}
template <class T, rounding::mode m, class F> struct to_float_of {
    static __device__ T of(F a) { return rounding::of_integer<m, T>(a); }
};
template <rounding::mode m, class F> struct to_float_of<f16, m, F> {
    static __device__ f16 of(F a) { return (f16)a; }
};
template <class T, rounding::mode m> struct to_float_of<T, m, f16> {
    static __device__ T of(f16 a) { return (T)a; }
};
template <rounding::mode m> struct to_float_of<f16, m, f16> {
    static __device__ f16 of(f16 a) { return a; }
};
template <rounding::mode m> struct to_float_of<f32, m, f32> {
    static __device__ f32 of(f32 a) { return a; }
};
template <rounding::mode m> struct to_float_of<f64, m, f64> {
    static __device__ f64 of(f64 a) { return a; }
};
template <rounding::mode m> struct to_float_of<f64, m, f32> {
    static __device__ f64 of(f32 a) { return a; }
};
template <rounding::mode m> struct to_float_of<f32, m, f64> {
    static __device__ f32 of(f64 a) { return rounding::narrow<m>(a); }
};
// A small integer is exact in 32 bits.
template <class T, rounding::mode m, class F> __device__ inline T to_float(F a) { return to_float_of<T, m, decltype(+a)>::of(a); }
template <class T, rounding::mode m> __device__ inline T to_float(f16 a) { return to_float_of<T, m, f16>::of(a); }
// The first operand is the upper half.
__device__ inline u32 two_halves(f32 high, f32 low) { return (u32)as<u16>((f16)high) << 16 | as<u16>((f16)low); }
__device__ inline u16 bf16(f32 a) {
    u32 bits = as<u32>(a);
    return a != a ? 0x7fff : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
__device__ inline u32 bf16x2(f32 high, f32 low) { return (u32)bf16(high) << 16 | bf16(low); }
// Ties are rounded away from zero.
__device__ inline u32 tf32(f32 a) { return a != a ? 0x7fffffff : (as<u32>(a) + 0x1000) & 0xffffe000; }
__device__ inline u64 policy(f32) { return 0; }

// Memory. An address in shared memory is the 32 bits of __cvta_generic_to_shared.
template <class T> __device__ inline T *global(u64 address) { return (T *)address; }
template <class T> __device__ inline T *shared(u32 address) { return (T *)(__attribute__((address_space(3))) T *)address; }
__device__ inline u64 same(u64 address) { return address; }
__device__ inline u64 to_shared(u64 address) { return (u32)(unsigned long long)(__attribute__((address_space(3))) char *)(char *)address; }
__device__ inline u64 of_shared(u64 address) { return (u64)shared<char>((u32)address); }
__device__ inline bool is_shared(u64 address) { return __isShared((const void *)address); }
__device__ inline bool is_global(u64 address) { return __isGlobal((const void *)address); }
__device__ inline bool is_local(u64 address) { return __isLocal((const void *)address); }

template <int scope> __device__ inline void fence();
template <> __device__ inline void fence<__HIP_MEMORY_SCOPE_WORKGROUP>() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
template <> __device__ inline void fence<__HIP_MEMORY_SCOPE_AGENT>() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
template <> __device__ inline void fence<__HIP_MEMORY_SCOPE_SYSTEM>() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
__device__ inline void fence_cta() { fence<__HIP_MEMORY_SCOPE_WORKGROUP>(); }
__device__ inline void fence_gpu() { fence<__HIP_MEMORY_SCOPE_AGENT>(); }
__device__ inline void fence_sys() { fence<__HIP_MEMORY_SCOPE_SYSTEM>(); }
template <int scope, class T> __device__ inline T load(const T *address) { return __hip_atomic_load(address, __ATOMIC_RELAXED, scope); }
template <int scope, class T> __device__ inline void store(T *address, T value) { __hip_atomic_store(address, value, __ATOMIC_RELAXED, scope); }

#define CUDA_COMPAT_ATOM(name)                                                                                          \
    template <int scope, class T> __device__ inline T atom_##name(T *address, T value) {                                \
        return __hip_atomic_fetch_##name(address, value, __ATOMIC_RELAXED, scope);                                      \
    }
CUDA_COMPAT_ATOM(add)
CUDA_COMPAT_ATOM(min)
CUDA_COMPAT_ATOM(max)
CUDA_COMPAT_ATOM(and)
CUDA_COMPAT_ATOM(or)
CUDA_COMPAT_ATOM(xor)
#undef CUDA_COMPAT_ATOM
template <int scope, class T> __device__ inline T atom_exch(T *address, T value) {
    return __hip_atomic_exchange(address, value, __ATOMIC_RELAXED, scope);
}
template <int scope, class T> __device__ inline T atom_cas(T *address, T expected, T value) {
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);
    return expected;
}
template <int scope, class F> __device__ inline u32 change(u32 *address, F function) {
    u32 old = load<scope>(address), assumed;
    do {
        assumed = old;
        old = atom_cas<scope>(address, assumed, function(assumed));
    } while (old != assumed);
    return old;
}
template <int scope> __device__ inline f16x2 atom_add(f16x2 *address, f16x2 value) {
    return as<f16x2>(change<scope>((u32 *)address, [=](u32 old) { return as<u32>(as<f16x2>(old) + value); }));
}
template <int scope> __device__ inline u32 atom_inc(u32 *address, u32 limit) {
    return change<scope>(address, [=](u32 old) { return old >= limit ? 0u : old + 1; });
}
template <int scope> __device__ inline u32 atom_dec(u32 *address, u32 limit) {
    return change<scope>(address, [=](u32 old) { return old == 0 || old > limit ? limit : old - 1; });
}

// cp.async: bytes beyond those given are zeros.
__device__ inline void copy(b8 *to, const b8 *from, u32 size, u32 given) {
    if (given == size) {
        for (u32 at = 0; at < size / 4; ++at) ((u32 *)to)[at] = ((const u32 *)from)[at];
    } else {
        for (u32 at = 0; at < size; ++at) to[at] = at < given ? from[at] : 0;
    }
}
__device__ inline void nothing(u32 = 0) {}
__device__ inline void sleep(u32 nanoseconds) { __nanosleep(nanoseconds); }
__device__ inline void trap() { __builtin_trap(); }
__device__ inline void brkpt() { __builtin_debugtrap(); }

// Registers. Warps are numbered in their block.
__device__ inline u32 thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ inline u32 multiprocessor() { return ::__smid(); }
// The constant clock of MI and RDNA GPUs has 100 MHz.
__device__ inline u64 nanoseconds() { return 10 * __builtin_amdgcn_s_memrealtime(); }
CUDA_COMPAT_PTX_WARP u32 lane() { return __cuda_compat::lane(); }
CUDA_COMPAT_PTX_WARP u32 warp() { return thread() / 32; }
CUDA_COMPAT_PTX_WARP u32 warps() { return (blockDim.x * blockDim.y * blockDim.z + 31) / 32; }
CUDA_COMPAT_PTX_WARP u32 lanes_eq() { return 1u << __cuda_compat::lane(); }
CUDA_COMPAT_PTX_WARP u32 lanes_lt() { return (1u << __cuda_compat::lane()) - 1; }
CUDA_COMPAT_PTX_WARP u32 lanes_le() { return (2u << __cuda_compat::lane()) - 1; }
CUDA_COMPAT_PTX_WARP u32 lanes_gt() { return ~((2u << __cuda_compat::lane()) - 1); }
CUDA_COMPAT_PTX_WARP u32 lanes_ge() { return ~((1u << __cuda_compat::lane()) - 1); }

// Warps.
CUDA_COMPAT_PTX_WARP void sync_warp(u32) { __cuda_compat::sync(); }
CUDA_COMPAT_PTX_WARP u32 active() { return (u32)__cuda_compat::active(); }
CUDA_COMPAT_PTX_WARP u32 ballot(bool value, u32 mask = ~0u) { return (u32)__cuda_compat::ballot(value) & mask; }
CUDA_COMPAT_PTX_WARP bool any(bool value, u32 mask = ~0u) { return ((u32)__cuda_compat::ballot(value) & mask) != 0; }
CUDA_COMPAT_PTX_WARP bool all(bool value, u32 mask = ~0u) { return ((u32)__cuda_compat::ballot(!value) & mask) == 0; }
CUDA_COMPAT_PTX_WARP bool uni(bool value, u32 mask = ~0u) {
    return ((u32)__cuda_compat::ballot(value) & mask) == 0 || ((u32)__cuda_compat::ballot(!value) & mask) == 0;
}
struct both {
    u32 value;
    bool predicate;
};
template <class T> CUDA_COMPAT_PTX_WARP u32 match_any(T value, u32 mask) { return (u32)__match_any_sync(mask, value); }
template <class T> CUDA_COMPAT_PTX_WARP both match_all(T value, u32 mask) {
    int predicate;
    u32 lanes = (u32)__match_all_sync(mask, value, &predicate);
    return {lanes, predicate != 0};
}
// The last operand of a shuffle has the bits that a lane keeps, and its last lane.
__device__ inline both shuffled(CUDA_COMPAT_MAYBE_UNDEF u32 value, int from, bool is_inside) {
    int lane = (int)__cuda_compat::lane();
    return {__cuda_compat::from(value, is_inside ? from : lane), is_inside};
}
__device__ inline int last_lane(u32 c) {
    u32 kept = c >> 8 & 31;
    return (int)((__cuda_compat::lane() & kept) | (c & 31 & ~kept));
}
CUDA_COMPAT_PTX_WARP both shfl_up(CUDA_COMPAT_MAYBE_UNDEF u32 value, u32 by, u32 c, u32 = ~0u) {
    int from = (int)__cuda_compat::lane() - (int)(by & 31);
    return shuffled(value, from, from >= last_lane(c));
}
CUDA_COMPAT_PTX_WARP both shfl_down(CUDA_COMPAT_MAYBE_UNDEF u32 value, u32 by, u32 c, u32 = ~0u) {
    int from = (int)__cuda_compat::lane() + (int)(by & 31);
    return shuffled(value, from, from <= last_lane(c));
}
CUDA_COMPAT_PTX_WARP both shfl_bfly(CUDA_COMPAT_MAYBE_UNDEF u32 value, u32 by, u32 c, u32 = ~0u) {
    int from = (int)(__cuda_compat::lane() ^ (by & 31));
    return shuffled(value, from, from <= last_lane(c));
}
CUDA_COMPAT_PTX_WARP both shfl_idx(CUDA_COMPAT_MAYBE_UNDEF u32 value, u32 by, u32 c, u32 = ~0u) {
    u32 kept = c >> 8 & 31;
    int from = (int)((__cuda_compat::lane() & kept) | (by & 31 & ~kept));
    return shuffled(value, from, from <= last_lane(c));
}
template <class T> CUDA_COMPAT_PTX_WARP T redux_add(T value, u32 mask) { return __reduce_add_sync(mask, value); }
template <class T> CUDA_COMPAT_PTX_WARP T redux_min(T value, u32 mask) { return __reduce_min_sync(mask, value); }
template <class T> CUDA_COMPAT_PTX_WARP T redux_max(T value, u32 mask) { return __reduce_max_sync(mask, value); }
CUDA_COMPAT_PTX_WARP u32 redux_and(u32 value, u32 mask) { return __reduce_and_sync(mask, value); }
CUDA_COMPAT_PTX_WARP u32 redux_or(u32 value, u32 mask) { return __reduce_or_sync(mask, value); }
CUDA_COMPAT_PTX_WARP u32 redux_xor(u32 value, u32 mask) { return __reduce_xor_sync(mask, value); }
}} // namespace __cuda_compat::ptx
#undef CUDA_COMPAT_PTX_WARP
