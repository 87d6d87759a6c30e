// Warps: shuffles, votes and masks.
//
// CUDA_COMPAT_WARP_SIZE is 32 by default. A wave of 64 lanes is then two warps of CUDA: each function works on the half that its lane is in,
// and masks have 32 bits. As the index of a thread in its block decides its lane, threadIdx.x & 31 and threadIdx.x / 32 are right. If it is 0,
// a warp is a wave, and masks have 64 bits.
#pragma once

// Marks a parameter that lanes may leave without a value: the usual `if (lane == leader) r = …; r = __shfl_sync(mask, r, leader);`. Without
// the mark, the compiler concludes that every lane has one, and so that the condition holds in each.
#if __has_attribute(maybe_undef)
#define CUDA_COMPAT_MAYBE_UNDEF __attribute__((maybe_undef))
#else
#define CUDA_COMPAT_MAYBE_UNDEF
#endif

namespace __cuda_compat {
#if CUDA_COMPAT_WARP_SIZE == 32
typedef unsigned int mask_t;
__device__ inline unsigned warp_size() { return 32; }
#else
typedef unsigned long long mask_t;
__device__ inline unsigned warp_size() { return __builtin_amdgcn_wavefrontsize(); }
#endif

// The lane in the wave.
__device__ inline unsigned wave_lane() {
    unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0);
    return __builtin_amdgcn_wavefrontsize() == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
}
// The lane in the warp, and the warp's first lane in the wave.
__device__ inline unsigned lane() { return wave_lane() & (warp_size() - 1); }
__device__ inline unsigned base() { return wave_lane() & ~(warp_size() - 1); }

// The bits of all lanes of a warp.
__device__ inline mask_t full() { return warp_size() == 32 ? (mask_t)0xffffffffu : ~(mask_t)0; }
__device__ inline mask_t ballot(CUDA_COMPAT_MAYBE_UNDEF int predicate) {
    // A wave of 32 has nothing above.
    return (mask_t)((unsigned long long)::__ballot(predicate) >> base());
}
__device__ inline mask_t active() { return ballot(1); }
__device__ inline int count(mask_t mask) { return __builtin_popcountll(mask); }
// The first lane of a mask, which must have one.
__device__ inline int first(mask_t mask) { return __builtin_ctzll(mask); }
__device__ inline mask_t bit(unsigned lane) { return (mask_t)1 << lane; }
__device__ inline mask_t lower(unsigned lane) { return bit(lane) - 1; }

// A value of up to some bytes as words of 32 bits, and back.
template <class T> struct words {
    static constexpr int count = (sizeof(T) + 3) / 4;
    int word[count];
    __device__ explicit words(const T &value) : word{} { __builtin_memcpy(word, &value, sizeof(T)); }
    __device__ T value(CUDA_COMPAT_MAYBE_UNDEF T result) const {
        __builtin_memcpy(&result, word, sizeof(T));
        return result;
    }
    __device__ bool operator==(const words &other) const {
        bool same = true;
        for (int i = 0; i < count; ++i) same = same && word[i] == other.word[i];
        return same;
    }
};

// The value of a lane of the warp.
template <class T> __device__ inline T from(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned lane) {
    words<T> parts(value);
    int address = (int)((base() + lane) << 2);
#pragma unroll
    for (int i = 0; i < words<T>::count; ++i) parts.word[i] = __builtin_amdgcn_ds_bpermute(address, parts.word[i]);
    return parts.value(value);
}

template <class T> __device__ inline T shuffle(CUDA_COMPAT_MAYBE_UNDEF T value, int source, int width) {
    unsigned segment = lane() & ~(width - 1);
    return from(value, segment | (source & (width - 1)));
}
template <class T> __device__ inline T shuffle_up(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta, int width) {
    int self = lane(), source = self - (int)delta;
    return from(value, source < (self & ~(width - 1)) ? self : source);
}
template <class T> __device__ inline T shuffle_down(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta, int width) {
    int self = lane();
    return from(value, (self & (width - 1)) + (int)delta >= width ? self : self + (int)delta);
}
template <class T> __device__ inline T shuffle_xor(CUDA_COMPAT_MAYBE_UNDEF T value, int mask, int width) {
    int self = lane(), source = self ^ mask;
    return from(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}

// A reduction over the lanes of a mask.
template <class T, class F> __device__ inline T reduce(mask_t mask, CUDA_COMPAT_MAYBE_UNDEF T value, F combine) {
    if (mask == full() && active() == full()) {
        for (int offset = warp_size() / 2; offset > 0; offset /= 2) value = combine(value, from(value, lane() ^ offset));
        return value;
    }
    mask_t rest = mask & active();
    T result = from(value, first(rest));
    for (rest &= rest - 1; rest; rest &= rest - 1) result = combine(result, from(value, first(rest)));
    return result;
}

__device__ inline void sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

struct add { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct low { template <class T> __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
struct high { template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
struct both { template <class T> __device__ T operator()(T a, T b) const { return a & b; } };
struct either { template <class T> __device__ T operator()(T a, T b) const { return a | b; } };
struct one { template <class T> __device__ T operator()(T a, T b) const { return a ^ b; } };
} // namespace __cuda_compat

#if CUDA_COMPAT_WARP_SIZE == 32
static __device__ constexpr int __cuda_compat_warpSize = 32;
#define warpSize __cuda_compat_warpSize
#endif

// Masks are taken with 64 bits, so that -1 and HIP's masks are all lanes.
#define CUDA_COMPAT_SHUFFLE(name, function, type)                                                                       \
    template <class T>                                                                                                  \
    __device__ inline T __cuda_compat##name##_sync(unsigned long long, CUDA_COMPAT_MAYBE_UNDEF T value, type by, int width = warpSize) { \
        return __cuda_compat::function(value, by, width);                                                               \
    }                                                                                                                   \
    template <class T> __device__ inline T __cuda_compat##name(CUDA_COMPAT_MAYBE_UNDEF T value, type by, int width = warpSize) { \
        return __cuda_compat::function(value, by, width);                                                               \
    }
CUDA_COMPAT_SHUFFLE(__shfl, shuffle, int)
CUDA_COMPAT_SHUFFLE(__shfl_up, shuffle_up, unsigned)
CUDA_COMPAT_SHUFFLE(__shfl_down, shuffle_down, unsigned)
CUDA_COMPAT_SHUFFLE(__shfl_xor, shuffle_xor, int)
#undef CUDA_COMPAT_SHUFFLE

__device__ inline __cuda_compat::mask_t __cuda_compat__ballot_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF int predicate) {
    return __cuda_compat::ballot(predicate) & (__cuda_compat::mask_t)mask;
}
__device__ inline int __cuda_compat__any_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF int predicate) {
    return __cuda_compat__ballot_sync(mask, predicate) != 0;
}
__device__ inline int __cuda_compat__all_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF int predicate) {
    return __cuda_compat__ballot_sync(mask, !predicate) == 0;
}
__device__ inline int __cuda_compat__uni_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF int predicate) {
    return __cuda_compat__all_sync(mask, predicate) || __cuda_compat__all_sync(mask, !predicate);
}
__device__ inline __cuda_compat::mask_t __cuda_compat__ballot(CUDA_COMPAT_MAYBE_UNDEF int predicate) { return __cuda_compat::ballot(predicate); }
__device__ inline int __cuda_compat__any(CUDA_COMPAT_MAYBE_UNDEF int predicate) { return __cuda_compat::ballot(predicate) != 0; }
__device__ inline int __cuda_compat__all(CUDA_COMPAT_MAYBE_UNDEF int predicate) { return __cuda_compat::ballot(!predicate) == 0; }
__device__ inline __cuda_compat::mask_t __cuda_compat__activemask() { return __cuda_compat::active(); }
__device__ inline void __cuda_compat__syncwarp(unsigned long long = ~0ull) { __cuda_compat::sync(); }

template <class T>
__device__ inline __cuda_compat::mask_t __cuda_compat__match_any_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF T value) {
    const __cuda_compat::words<T> own(value);
    __cuda_compat::mask_t same = 0;
    for (__cuda_compat::mask_t rest = mask & __cuda_compat::active(); rest; rest &= rest - 1) {
        int lane = __cuda_compat::first(rest);
        if (own == __cuda_compat::words<T>(__cuda_compat::from(value, lane))) same |= __cuda_compat::bit(lane);
    }
    return same;
}
template <class T>
__device__ inline __cuda_compat::mask_t __cuda_compat__match_all_sync(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF T value, int *predicate) {
    __cuda_compat::mask_t lanes = mask & __cuda_compat::active();
    __cuda_compat::words<T> first(__cuda_compat::from(value, __cuda_compat::first(lanes)));
    *predicate = (__cuda_compat::ballot(!(first == __cuda_compat::words<T>(value))) & lanes) == 0;
    return *predicate ? (__cuda_compat::mask_t)mask : 0;
}

#define CUDA_COMPAT_REDUCE(name, type, operation)                                                                       \
    __device__ inline type __cuda_compat##name(unsigned long long mask, CUDA_COMPAT_MAYBE_UNDEF type value) { \
        return __cuda_compat::reduce((__cuda_compat::mask_t)mask, value, __cuda_compat::operation());                   \
    }
CUDA_COMPAT_REDUCE(__reduce_add_sync, unsigned, add)
CUDA_COMPAT_REDUCE(__reduce_add_sync, int, add)
CUDA_COMPAT_REDUCE(__reduce_min_sync, unsigned, low)
CUDA_COMPAT_REDUCE(__reduce_min_sync, int, low)
CUDA_COMPAT_REDUCE(__reduce_max_sync, unsigned, high)
CUDA_COMPAT_REDUCE(__reduce_max_sync, int, high)
CUDA_COMPAT_REDUCE(__reduce_and_sync, unsigned, both)
CUDA_COMPAT_REDUCE(__reduce_or_sync, unsigned, either)
CUDA_COMPAT_REDUCE(__reduce_xor_sync, unsigned, one)
#undef CUDA_COMPAT_REDUCE

#define __shfl_sync __cuda_compat__shfl_sync
#define __shfl_up_sync __cuda_compat__shfl_up_sync
#define __shfl_down_sync __cuda_compat__shfl_down_sync
#define __shfl_xor_sync __cuda_compat__shfl_xor_sync
#define __ballot_sync __cuda_compat__ballot_sync
#define __any_sync __cuda_compat__any_sync
#define __all_sync __cuda_compat__all_sync
#define __uni_sync __cuda_compat__uni_sync
#define __activemask __cuda_compat__activemask
#define __syncwarp __cuda_compat__syncwarp
#define __match_any_sync __cuda_compat__match_any_sync
#define __match_all_sync __cuda_compat__match_all_sync
#define __reduce_add_sync __cuda_compat__reduce_add_sync
#define __reduce_min_sync __cuda_compat__reduce_min_sync
#define __reduce_max_sync __cuda_compat__reduce_max_sync
#define __reduce_and_sync __cuda_compat__reduce_and_sync
#define __reduce_or_sync __cuda_compat__reduce_or_sync
#define __reduce_xor_sync __cuda_compat__reduce_xor_sync
#if CUDA_COMPAT_WARP_SIZE == 32
// CUDA's functions without masks, of before 9.0. As HIP's they work on the wave.
#define __shfl __cuda_compat__shfl
#define __shfl_up __cuda_compat__shfl_up
#define __shfl_down __cuda_compat__shfl_down
#define __shfl_xor __cuda_compat__shfl_xor
#define __ballot __cuda_compat__ballot
#define __any __cuda_compat__any
#define __all __cuda_compat__all
#endif
