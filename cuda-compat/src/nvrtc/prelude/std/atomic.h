// cuda::atomic, cuda::atomic_ref and cuda::std::atomic.
#pragma once
#include "cuda_compat/std/type_traits.h"

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
namespace std {
enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED, memory_order_consume = __ATOMIC_CONSUME, memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE, memory_order_acq_rel = __ATOMIC_ACQ_REL, memory_order_seq_cst = __ATOMIC_SEQ_CST
};
} // namespace std
using std::memory_order;
using std::memory_order_relaxed; using std::memory_order_consume; using std::memory_order_acquire;
using std::memory_order_release; using std::memory_order_acq_rel; using std::memory_order_seq_cst;
} // namespace cuda

namespace __cuda_compat {
// The order and the scope must be constants for the compiler: each call has a branch for each order, which inlining removes.
#define CUDA_COMPAT_ORDER(scope, result, call)                                                                          \
    switch (order) {                                                                                                    \
    case __ATOMIC_RELAXED: result call(__ATOMIC_RELAXED, scope); break;                                                 \
    case __ATOMIC_RELEASE: result call(__ATOMIC_RELEASE, scope); break;                                                 \
    case __ATOMIC_ACQ_REL: result call(__ATOMIC_ACQ_REL, scope); break;                                                 \
    case __ATOMIC_SEQ_CST: result call(__ATOMIC_SEQ_CST, scope); break;                                                 \
    default: result call(__ATOMIC_ACQUIRE, scope); break;                                                               \
    }
template <class T, int scope> struct atomic_place {
    T *place;
    __device__ T load(int order) const {
        // A load releases nothing.
        switch (order) {
        case __ATOMIC_RELAXED: return __hip_atomic_load(place, __ATOMIC_RELAXED, scope);
        case __ATOMIC_SEQ_CST: return __hip_atomic_load(place, __ATOMIC_SEQ_CST, scope);
        default: return __hip_atomic_load(place, __ATOMIC_ACQUIRE, scope);
        }
    }
    __device__ void store(T value, int order) const {
        switch (order) {
        case __ATOMIC_RELAXED: __hip_atomic_store(place, value, __ATOMIC_RELAXED, scope); break;
        case __ATOMIC_SEQ_CST: __hip_atomic_store(place, value, __ATOMIC_SEQ_CST, scope); break;
        default: __hip_atomic_store(place, value, __ATOMIC_RELEASE, scope); break;
        }
    }
#define CUDA_COMPAT_FETCH(name)                                                                                         \
    __device__ T name(T value, int order) const {                                                                       \
        T old;                                                                                                          \
        CUDA_COMPAT_ORDER(scope, old = __hip_atomic_##name, CUDA_COMPAT_CALL)                                           \
        return old;                                                                                                     \
    }
#define CUDA_COMPAT_CALL(order, scope) (place, value, order, scope)
    CUDA_COMPAT_FETCH(fetch_add) CUDA_COMPAT_FETCH(fetch_and) CUDA_COMPAT_FETCH(fetch_or) CUDA_COMPAT_FETCH(fetch_xor)
    CUDA_COMPAT_FETCH(fetch_min) CUDA_COMPAT_FETCH(fetch_max) CUDA_COMPAT_FETCH(exchange)
#undef CUDA_COMPAT_FETCH
#undef CUDA_COMPAT_CALL
    __device__ bool compare(T &expected, T value, int order) const {
        if (order == __ATOMIC_RELAXED) {
            return __hip_atomic_compare_exchange_strong(place, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);
        }
        return __hip_atomic_compare_exchange_strong(place, &expected, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, scope);
    }
};
#undef CUDA_COMPAT_ORDER
template <int scope> struct atomic_scope { static constexpr int value = __HIP_MEMORY_SCOPE_SYSTEM; };
template <> struct atomic_scope<1> { static constexpr int value = __HIP_MEMORY_SCOPE_AGENT; };
template <> struct atomic_scope<2> { static constexpr int value = __HIP_MEMORY_SCOPE_WORKGROUP; };
template <> struct atomic_scope<3> { static constexpr int value = __HIP_MEMORY_SCOPE_SINGLETHREAD; };

// What cuda::atomic and cuda::atomic_ref share.
template <class T, int scope, class Self> struct atomic_operations {
    typedef T value_type;
    __device__ auto at() const { return atomic_place<T, atomic_scope<scope>::value>{static_cast<const Self *>(this)->address()}; }
    __device__ T load(int order = __ATOMIC_SEQ_CST) const { return at().load(order); }
    __device__ void store(T value, int order = __ATOMIC_SEQ_CST) const { at().store(value, order); }
    __device__ T exchange(T value, int order = __ATOMIC_SEQ_CST) const { return at().exchange(value, order); }
    __device__ T fetch_add(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_add(value, order); }
    __device__ T fetch_sub(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_add((T)-value, order); }
    __device__ T fetch_and(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_and(value, order); }
    __device__ T fetch_or(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_or(value, order); }
    __device__ T fetch_xor(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_xor(value, order); }
    __device__ T fetch_min(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_min(value, order); }
    __device__ T fetch_max(T value, int order = __ATOMIC_SEQ_CST) const { return at().fetch_max(value, order); }
    __device__ bool compare_exchange_strong(T &expected, T value, int order = __ATOMIC_SEQ_CST) const {
        return at().compare(expected, value, order);
    }
    __device__ bool compare_exchange_strong(T &expected, T value, int order, int) const { return at().compare(expected, value, order); }
    __device__ bool compare_exchange_weak(T &expected, T value, int order = __ATOMIC_SEQ_CST) const {
        return at().compare(expected, value, order);
    }
    __device__ bool compare_exchange_weak(T &expected, T value, int order, int) const { return at().compare(expected, value, order); }
    __device__ T operator++(int) const { return fetch_add(1); }
    __device__ T operator--(int) const { return fetch_sub(1); }
    __device__ T operator++() const { return fetch_add(1) + 1; }
    __device__ T operator--() const { return fetch_sub(1) - 1; }
    __device__ T operator+=(T value) const { return fetch_add(value) + value; }
    __device__ T operator-=(T value) const { return fetch_sub(value) - value; }
    __device__ T operator|=(T value) const { return fetch_or(value) | value; }
    __device__ T operator&=(T value) const { return fetch_and(value) & value; }
    __device__ operator T() const { return load(); }
};
} // namespace __cuda_compat

namespace cuda {
template <class T, thread_scope scope = thread_scope_system> struct atomic
    : __cuda_compat::atomic_operations<T, scope, atomic<T, scope>> {
    mutable T value;
    atomic() = default;
    __host__ __device__ constexpr atomic(T value) : value(value) {}
    atomic(const atomic &) = delete;
    __device__ T *address() const { return &value; }
    __device__ T operator=(T value) { this->store(value); return value; }
};
template <class T, thread_scope scope = thread_scope_system> struct atomic_ref
    : __cuda_compat::atomic_operations<T, scope, atomic_ref<T, scope>> {
    T *place;
    __host__ __device__ explicit atomic_ref(T &place) : place(&place) {}
    __device__ T *address() const { return place; }
    __device__ T operator=(T value) const { this->store(value); return value; }
};
__device__ inline void atomic_thread_fence(int, thread_scope scope = thread_scope_system) {
    if (scope == thread_scope_block) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    else if (scope == thread_scope_device) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    else if (scope == thread_scope_system) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
namespace std {
template <class T> using atomic = ::cuda::atomic<T, thread_scope_system>;
template <class T> using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
typedef atomic<int> atomic_int;
typedef atomic<unsigned> atomic_uint;
}} // namespace cuda::std
