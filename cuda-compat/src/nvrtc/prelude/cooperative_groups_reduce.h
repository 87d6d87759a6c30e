// cooperative_groups/reduce.h and scan.h: over groups within a warp.
#pragma once
#include "cuda_compat/cooperative_groups.h"

namespace __cuda_compat {
namespace groups {
template <class T = void> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T = void> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <class T = void> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <class T = void> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <> struct plus<void> { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

// Every member returns the result.
template <unsigned width, class P, class T, class F>
__device__ inline T reduce(const thread_block_tile<width, P> &tile, CUDA_COMPAT_MAYBE_UNDEF T value, F combine) {
#pragma unroll
    for (unsigned offset = width / 2; offset > 0; offset /= 2) value = combine(value, tile.shfl_xor(value, offset));
    return value;
}
template <class T, class F> __device__ inline T reduce(const coalesced_group &group, CUDA_COMPAT_MAYBE_UNDEF T value, F combine) {
    return __cuda_compat::reduce(group.lanes(), value, combine);
}

// Of this member and those before it, and of those before it alone.
template <class G, class T, class F> __device__ inline T inclusive_scan(const G &group, CUDA_COMPAT_MAYBE_UNDEF T value, F combine) {
    for (unsigned offset = 1; offset < group.size(); offset *= 2) {
        T before = group.shfl_up(value, offset);
        if (group.thread_rank() >= offset) value = combine(before, value);
    }
    return value;
}
template <class G, class T> __device__ inline T inclusive_scan(const G &group, CUDA_COMPAT_MAYBE_UNDEF T value) { return inclusive_scan(group, value, plus<T>()); }
template <class G, class T, class F> __device__ inline T exclusive_scan(const G &group, CUDA_COMPAT_MAYBE_UNDEF T value, F combine) {
    T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class G, class T> __device__ inline T exclusive_scan(const G &group, CUDA_COMPAT_MAYBE_UNDEF T value) { return exclusive_scan(group, value, plus<T>()); }
} // namespace groups
} // namespace __cuda_compat
