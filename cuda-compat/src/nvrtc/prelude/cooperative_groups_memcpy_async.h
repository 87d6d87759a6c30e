// cooperative_groups/memcpy_async.h: copies that are complete when the group has waited.
#pragma once
#include "cuda_compat/cooperative_groups.h"
#include "cuda_compat/copies.h"

namespace cooperative_groups {
template <class G, class S> __device__ inline void memcpy_async(const G &group, void *to, const void *from, const S &size) {
    ::__cuda_compat::copies::bytes(to, from, size, group.thread_rank(), group.size());
}
// Numbers of elements: as many as both have.
template <class G, class T, class A, class B>
__device__ inline void memcpy_async(const G &group, T *to, const A &room, const T *from, const B &given) {
    __SIZE_TYPE__ count = (__SIZE_TYPE__)room < (__SIZE_TYPE__)given ? (__SIZE_TYPE__)room : (__SIZE_TYPE__)given;
    ::__cuda_compat::copies::bytes(to, from, count * sizeof(T), group.thread_rank(), group.size());
}
template <class G> __device__ inline void wait(const G &group) { group.sync(); }
template <unsigned stages, class G> __device__ inline void wait_prior(const G &group) { group.sync(); }
} // namespace cooperative_groups
