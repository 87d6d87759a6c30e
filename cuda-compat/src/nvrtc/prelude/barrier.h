// cuda/barrier: barriers of threads. Lanes of a wave that wait stop those that have not arrived.
#pragma once
#include "cuda_compat/std/atomic.h"
#include "cuda_compat/copies.h"

namespace cuda {
namespace __cuda_compat_barrier {
struct nothing { __device__ void operator()() const {} };
// A word: the arrivals that the phase still expects, those that each phase expects, and the number of the phase.
constexpr unsigned bits = 21;
constexpr unsigned long long mask = (1ull << bits) - 1, next = 1ull << 2 * bits;
}
// 8 bytes without a completion, as in CUDA: programs reserve that much shared memory for it.
template <thread_scope scope = thread_scope_system, class Completion = __cuda_compat_barrier::nothing> class barrier {
    unsigned long long word;
    [[no_unique_address]] Completion completion;

    __device__ unsigned long long load(int order) { return __hip_atomic_load(&word, order, __HIP_MEMORY_SCOPE_SYSTEM); }
    __device__ unsigned phase(int order) { return (unsigned)(load(order) >> 2 * __cuda_compat_barrier::bits); }

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
        : word((unsigned long long)count << __cuda_compat_barrier::bits | (unsigned long long)count), completion(completion) {}
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    friend __device__ void init(barrier *place, long count) { new ((void *)place, count) barrier(count); }
    friend __device__ void init(barrier *place, long count, Completion completion) { new ((void *)place, count) barrier(count, completion); }
    static __device__ void *operator new(__SIZE_TYPE__, void *place, long) { return place; }

  private:
    // Subtracts arrivals from the word. The last one of the phase begins the next phase.
    __device__ arrival_token subtract(unsigned long long by) {
        using namespace __cuda_compat_barrier;
        auto old = __hip_atomic_fetch_sub(&word, by, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
        arrival_token token((unsigned)(old >> 2 * bits));
        auto now = old - by;
        if ((now & mask) == 0) {
            completion();
            __hip_atomic_fetch_add(&word, next | (now >> bits & mask), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
        }
        return token;
    }

  public:
    __device__ arrival_token arrive(long count = 1) { return subtract((unsigned long long)count); }
    __device__ bool try_wait(const arrival_token &token) { return phase(__ATOMIC_ACQUIRE) != token.phase; }
    __device__ bool test_wait(const arrival_token &token) { return try_wait(token); }
    __device__ bool try_wait_parity(bool parity) { return (phase(__ATOMIC_ACQUIRE) & 1) != (unsigned)parity; }
    __device__ void wait(arrival_token &&token) { wait(static_cast<const arrival_token &>(token)); }
    __device__ void wait(const arrival_token &token) {
        while (!try_wait(token)) __builtin_amdgcn_s_sleep(1);
    }
    __device__ void wait_parity(bool parity) {
        while (!try_wait_parity(parity)) __builtin_amdgcn_s_sleep(1);
    }
    __device__ void arrive_and_wait() { wait(arrive()); }
    __device__ void arrive_and_drop() { (void)subtract(1ull << __cuda_compat_barrier::bits | 1); }
    static __device__ constexpr long max() { return (1 << 20) - 1; }
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
