// Arithmetic on two or four parts of a word: CUDA's SIMD intrinsics and dot products.
#pragma once

namespace __cuda_compat {
// A part of a word: its bits, signed or not.
template <int bits, bool is_signed> __device__ inline int part(unsigned word, int index) {
    int up = 32 - bits - bits * index;
    return is_signed ? (int)(word << up) >> (32 - bits) : (int)((word << up) >> (32 - bits));
}
template <int bits, bool is_signed, class F> __device__ inline unsigned each(unsigned a, unsigned b, F function) {
    const unsigned mask = (unsigned)((1ull << bits) - 1);
    unsigned result = 0;
#pragma unroll
    for (int i = 0; i < 32 / bits; ++i) {
        int value = function(part<bits, is_signed>(a, i), part<bits, is_signed>(b, i));
        result |= ((unsigned)value & mask) << (bits * i);
    }
    return result;
}
template <int bits, bool is_signed> __device__ inline int clamp(int value) {
    const int low = is_signed ? -(1 << (bits - 1)) : 0, high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    return value < low ? low : value > high ? high : value;
}
template <int bits, bool is_signed, class F> __device__ inline unsigned total(unsigned a, unsigned b, F function) {
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 32 / bits; ++i) sum += (unsigned)function(part<bits, is_signed>(a, i), part<bits, is_signed>(b, i));
    return sum;
}
} // namespace __cuda_compat

// The same for parts of 8 and of 16 bits: names end in 4 and 2.
#define CUDA_COMPAT_EACH(name, is_signed, expression)                                                                   \
    __device__ inline unsigned __cuda_compat##name##4(unsigned a, unsigned b) {                                         \
        constexpr int bits = 8;                                                                                         \
        (void)bits;                                                                                                     \
        return __cuda_compat::each<8, is_signed>(a, b, [](int x, int y) -> int { (void)y; return expression; });        \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat##name##2(unsigned a, unsigned b) {                                         \
        constexpr int bits = 16;                                                                                        \
        (void)bits;                                                                                                     \
        return __cuda_compat::each<16, is_signed>(a, b, [](int x, int y) -> int { (void)y; return expression; });       \
    }
#define CUDA_COMPAT_CLAMP(is_signed, value) (__cuda_compat::clamp<bits, is_signed>(value))
CUDA_COMPAT_EACH(__vadd, false, x + y)
CUDA_COMPAT_EACH(__vsub, false, x - y)
CUDA_COMPAT_EACH(__vaddss, true, CUDA_COMPAT_CLAMP(true, x + y))
CUDA_COMPAT_EACH(__vsubss, true, CUDA_COMPAT_CLAMP(true, x - y))
CUDA_COMPAT_EACH(__vaddus, false, CUDA_COMPAT_CLAMP(false, x + y))
CUDA_COMPAT_EACH(__vsubus, false, CUDA_COMPAT_CLAMP(false, x - y))
CUDA_COMPAT_EACH(__vmaxs, true, x > y ? x : y)
CUDA_COMPAT_EACH(__vmaxu, false, x > y ? x : y)
CUDA_COMPAT_EACH(__vmins, true, x < y ? x : y)
CUDA_COMPAT_EACH(__vminu, false, x < y ? x : y)
CUDA_COMPAT_EACH(__vavgs, true, (x + y + (x + y >= 0)) >> 1)
CUDA_COMPAT_EACH(__vavgu, false, (x + y + 1) >> 1)
CUDA_COMPAT_EACH(__vhaddu, false, (x + y) >> 1)
CUDA_COMPAT_EACH(__vabsdiffs, true, x > y ? x - y : y - x)
CUDA_COMPAT_EACH(__vabsdiffu, false, x > y ? x - y : y - x)
CUDA_COMPAT_EACH(__vcmpeq, false, x == y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpne, false, x != y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpges, true, x >= y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpgeu, false, x >= y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpgts, true, x > y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpgtu, false, x > y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmples, true, x <= y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpleu, false, x <= y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmplts, true, x < y ? -1 : 0)
CUDA_COMPAT_EACH(__vcmpltu, false, x < y ? -1 : 0)
CUDA_COMPAT_EACH(__vseteq, false, x == y)
CUDA_COMPAT_EACH(__vsetne, false, x != y)
CUDA_COMPAT_EACH(__vsetges, true, x >= y)
CUDA_COMPAT_EACH(__vsetgeu, false, x >= y)
CUDA_COMPAT_EACH(__vsetgts, true, x > y)
CUDA_COMPAT_EACH(__vsetgtu, false, x > y)
CUDA_COMPAT_EACH(__vsetles, true, x <= y)
CUDA_COMPAT_EACH(__vsetleu, false, x <= y)
CUDA_COMPAT_EACH(__vsetlts, true, x < y)
CUDA_COMPAT_EACH(__vsetltu, false, x < y)
#undef CUDA_COMPAT_EACH

#define CUDA_COMPAT_ONE(name, is_signed, expression)                                                                    \
    __device__ inline unsigned __cuda_compat##name##4(unsigned a) {                                                     \
        constexpr int bits = 8;                                                                                         \
        (void)bits;                                                                                                     \
        return __cuda_compat::each<8, is_signed>(a, a, [](int x, int) -> int { return expression; });                   \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat##name##2(unsigned a) {                                                     \
        constexpr int bits = 16;                                                                                        \
        (void)bits;                                                                                                     \
        return __cuda_compat::each<16, is_signed>(a, a, [](int x, int) -> int { return expression; });                  \
    }
CUDA_COMPAT_ONE(__vabs, true, x < 0 ? -x : x)
CUDA_COMPAT_ONE(__vabsss, true, CUDA_COMPAT_CLAMP(true, x < 0 ? -x : x))
CUDA_COMPAT_ONE(__vneg, true, -x)
CUDA_COMPAT_ONE(__vnegss, true, CUDA_COMPAT_CLAMP(true, -x))
#undef CUDA_COMPAT_ONE
#undef CUDA_COMPAT_CLAMP

#define CUDA_COMPAT_TOTAL(name, is_signed)                                                                              \
    __device__ inline unsigned __cuda_compat##name##4(unsigned a, unsigned b) {                                         \
        return __cuda_compat::total<8, is_signed>(a, b, [](int x, int y) -> int { return x > y ? x - y : y - x; });     \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat##name##2(unsigned a, unsigned b) {                                         \
        return __cuda_compat::total<16, is_signed>(a, b, [](int x, int y) -> int { return x > y ? x - y : y - x; });    \
    }
CUDA_COMPAT_TOTAL(__vsads, true)
CUDA_COMPAT_TOTAL(__vsadu, false)
#undef CUDA_COMPAT_TOTAL

// Dot products of four bytes, and of two halves with two bytes.
__device__ inline int __cuda_compat__dp4a(int a, int b, int c) {
    return c + (int)__cuda_compat::total<8, true>(a, b, [](int x, int y) -> int { return x * y; });
}
__device__ inline unsigned __cuda_compat__dp4a(unsigned a, unsigned b, unsigned c) {
    return c + __cuda_compat::total<8, false>(a, b, [](int x, int y) -> int { return x * y; });
}
__device__ inline int __cuda_compat__dp4a(char4 a, char4 b, int c) {
    return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
__device__ inline unsigned __cuda_compat__dp4a(uchar4 a, uchar4 b, unsigned c) {
    return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
#define CUDA_COMPAT_DP2A(name, first)                                                                                   \
    __device__ inline int __cuda_compat##name(int a, int b, int c) {                                                    \
        return c + __cuda_compat::part<16, true>(a, 0) * __cuda_compat::part<8, true>(b, first) +                       \
               __cuda_compat::part<16, true>(a, 1) * __cuda_compat::part<8, true>(b, first + 1);                        \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat##name(unsigned a, unsigned b, unsigned c) {                                \
        return c + (unsigned)(__cuda_compat::part<16, false>(a, 0) * __cuda_compat::part<8, false>(b, first)) +         \
               (unsigned)(__cuda_compat::part<16, false>(a, 1) * __cuda_compat::part<8, false>(b, first + 1));          \
    }
CUDA_COMPAT_DP2A(__dp2a_lo, 0)
CUDA_COMPAT_DP2A(__dp2a_hi, 2)
#undef CUDA_COMPAT_DP2A

#define __dp4a __cuda_compat__dp4a
#define __dp2a_lo __cuda_compat__dp2a_lo
#define __dp2a_hi __cuda_compat__dp2a_hi
#define __vadd4 __cuda_compat__vadd4
#define __vadd2 __cuda_compat__vadd2
#define __vsub4 __cuda_compat__vsub4
#define __vsub2 __cuda_compat__vsub2
#define __vaddss4 __cuda_compat__vaddss4
#define __vaddss2 __cuda_compat__vaddss2
#define __vsubss4 __cuda_compat__vsubss4
#define __vsubss2 __cuda_compat__vsubss2
#define __vaddus4 __cuda_compat__vaddus4
#define __vaddus2 __cuda_compat__vaddus2
#define __vsubus4 __cuda_compat__vsubus4
#define __vsubus2 __cuda_compat__vsubus2
#define __vmaxs4 __cuda_compat__vmaxs4
#define __vmaxs2 __cuda_compat__vmaxs2
#define __vmaxu4 __cuda_compat__vmaxu4
#define __vmaxu2 __cuda_compat__vmaxu2
#define __vmins4 __cuda_compat__vmins4
#define __vmins2 __cuda_compat__vmins2
#define __vminu4 __cuda_compat__vminu4
#define __vminu2 __cuda_compat__vminu2
#define __vavgs4 __cuda_compat__vavgs4
#define __vavgs2 __cuda_compat__vavgs2
#define __vavgu4 __cuda_compat__vavgu4
#define __vavgu2 __cuda_compat__vavgu2
#define __vhaddu4 __cuda_compat__vhaddu4
#define __vhaddu2 __cuda_compat__vhaddu2
#define __vabsdiffs4 __cuda_compat__vabsdiffs4
#define __vabsdiffs2 __cuda_compat__vabsdiffs2
#define __vabsdiffu4 __cuda_compat__vabsdiffu4
#define __vabsdiffu2 __cuda_compat__vabsdiffu2
#define __vcmpeq4 __cuda_compat__vcmpeq4
#define __vcmpeq2 __cuda_compat__vcmpeq2
#define __vcmpne4 __cuda_compat__vcmpne4
#define __vcmpne2 __cuda_compat__vcmpne2
#define __vcmpges4 __cuda_compat__vcmpges4
#define __vcmpges2 __cuda_compat__vcmpges2
#define __vcmpgeu4 __cuda_compat__vcmpgeu4
#define __vcmpgeu2 __cuda_compat__vcmpgeu2
#define __vcmpgts4 __cuda_compat__vcmpgts4
#define __vcmpgts2 __cuda_compat__vcmpgts2
#define __vcmpgtu4 __cuda_compat__vcmpgtu4
#define __vcmpgtu2 __cuda_compat__vcmpgtu2
#define __vcmples4 __cuda_compat__vcmples4
#define __vcmples2 __cuda_compat__vcmples2
#define __vcmpleu4 __cuda_compat__vcmpleu4
#define __vcmpleu2 __cuda_compat__vcmpleu2
#define __vcmplts4 __cuda_compat__vcmplts4
#define __vcmplts2 __cuda_compat__vcmplts2
#define __vcmpltu4 __cuda_compat__vcmpltu4
#define __vcmpltu2 __cuda_compat__vcmpltu2
#define __vseteq4 __cuda_compat__vseteq4
#define __vseteq2 __cuda_compat__vseteq2
#define __vsetne4 __cuda_compat__vsetne4
#define __vsetne2 __cuda_compat__vsetne2
#define __vsetges4 __cuda_compat__vsetges4
#define __vsetges2 __cuda_compat__vsetges2
#define __vsetgeu4 __cuda_compat__vsetgeu4
#define __vsetgeu2 __cuda_compat__vsetgeu2
#define __vsetgts4 __cuda_compat__vsetgts4
#define __vsetgts2 __cuda_compat__vsetgts2
#define __vsetgtu4 __cuda_compat__vsetgtu4
#define __vsetgtu2 __cuda_compat__vsetgtu2
#define __vsetles4 __cuda_compat__vsetles4
#define __vsetles2 __cuda_compat__vsetles2
#define __vsetleu4 __cuda_compat__vsetleu4
#define __vsetleu2 __cuda_compat__vsetleu2
#define __vsetlts4 __cuda_compat__vsetlts4
#define __vsetlts2 __cuda_compat__vsetlts2
#define __vsetltu4 __cuda_compat__vsetltu4
#define __vsetltu2 __cuda_compat__vsetltu2
#define __vabs4 __cuda_compat__vabs4
#define __vabs2 __cuda_compat__vabs2
#define __vabsss4 __cuda_compat__vabsss4
#define __vabsss2 __cuda_compat__vabsss2
#define __vneg4 __cuda_compat__vneg4
#define __vneg2 __cuda_compat__vneg2
#define __vnegss4 __cuda_compat__vnegss4
#define __vnegss2 __cuda_compat__vnegss2
#define __vsads4 __cuda_compat__vsads4
#define __vsads2 __cuda_compat__vsads2
#define __vsadu4 __cuda_compat__vsadu4
#define __vsadu2 __cuda_compat__vsadu2
