// cuda/barrier: barriers of threads. Lanes of a wave that wait stop those that have not arrived.
#pragma once
#include "cuda_compat/std/atomic.h"
#include "cuda_compat/copies.h"

namespace cuda {
namespace __cuda_compat_barrier {
struct nothing { __device__ void operator()() const {} };
}
template <thread_scope scope = thread_scope_system, class Completion = __cuda_compat_barrier::nothing> class barrier {
    unsigned expected, pending, phase;
    Completion completion;

    __device__ static unsigned load(unsigned *place, int order) { return __hip_atomic_load(place, order, __HIP_MEMORY_SCOPE_SYSTEM); }

  public:
    class arrival_token {
        friend class barrier;
        unsigned phase;
        __device__ explicit arrival_token(unsigned phase) : phase(phase) {}

      public:
        arrival_token() = default;
    };

    barrier() = default;
    __device__ barrier(long count, Completion completion = Completion())
        : expected((unsigned)count), pending((unsigned)count), phase(0), completion(completion) {}
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    friend __device__ void init(barrier *place, long count) { new ((void *)place, count) barrier(count); }
    friend __device__ void init(barrier *place, long count, Completion completion) { new ((void *)place, count) barrier(count, completion); }
    static __device__ void *operator new(__SIZE_TYPE__, void *place, long) { return place; }

    __device__ arrival_token arrive(long count = 1) {
        arrival_token token(load(&phase, __ATOMIC_RELAXED));
        if (__hip_atomic_fetch_sub(&pending, (unsigned)count, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM) == (unsigned)count) {
            completion();
            __hip_atomic_store(&pending, load(&expected, __ATOMIC_RELAXED), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
            __hip_atomic_fetch_add(&phase, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
        }
        return token;
    }
    __device__ bool try_wait(const arrival_token &token) { return load(&phase, __ATOMIC_ACQUIRE) != token.phase; }
    __device__ bool test_wait(const arrival_token &token) { return try_wait(token); }
    __device__ bool try_wait_parity(bool parity) { return (load(&phase, __ATOMIC_ACQUIRE) & 1) != (unsigned)parity; }
    __device__ void wait(arrival_token &&token) { wait(static_cast<const arrival_token &>(token)); }
    __device__ void wait(const arrival_token &token) {
        while (!try_wait(token)) __builtin_amdgcn_s_sleep(1);
    }
    __device__ void wait_parity(bool parity) {
        while (!try_wait_parity(parity)) __builtin_amdgcn_s_sleep(1);
    }
    __device__ void arrive_and_wait() { wait(arrive()); }
    __device__ void arrive_and_drop() {
        __hip_atomic_fetch_sub(&expected, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        (void)arrive();
    }
    static __device__ constexpr long max() { return 0x7fffffff; }
};
namespace std {
template <class Completion = __cuda_compat_barrier::nothing> using barrier = ::cuda::barrier<::cuda::thread_scope_system, Completion>;
}
// The copies are complete when they return, and the thread's arrival shows them to others.
template <class S, thread_scope scope, class C> __device__ inline void memcpy_async(void *to, const void *from, S size, barrier<scope, C> &) {
    ::__cuda_compat::copies::bytes(to, from, size, 0, 1);
}
template <class G, class S, thread_scope scope, class C>
__device__ inline void memcpy_async(const G &group, void *to, const void *from, S size, barrier<scope, C> &) {
    ::__cuda_compat::copies::bytes(to, from, size, group.thread_rank(), group.size());
}
} // namespace cuda
