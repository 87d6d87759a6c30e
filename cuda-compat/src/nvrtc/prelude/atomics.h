// Atomic functions. Those of CUDA C++ that HIP lacks are of 16 bits, of vectors, and of a block or the system.
//
// They are templates under other names: a program's own atomicAdd for double, which CUDA programs have for old GPUs, is preferred.
#pragma once

namespace __cuda_compat {
// Changes 16 bits by way of the word that they are in. Returns the bits before.
template <class F> __device__ inline unsigned short change(unsigned short *address, F function) {
    unsigned long long place = (unsigned long long)address;
    unsigned *word = (unsigned *)(place & ~3ull);
    unsigned shift = (place & 2) * 8;
    unsigned old = *word, assumed;
    do {
        assumed = old;
        unsigned short now = function((unsigned short)(assumed >> shift));
        old = ::atomicCAS(word, assumed, (assumed & ~(0xffffu << shift)) | ((unsigned)now << shift));
    } while (old != assumed);
    return (unsigned short)(old >> shift);
}
template <class T> __device__ inline unsigned short bits(T value) {
    unsigned short result;
    __builtin_memcpy(&result, &value, 2);
    return result;
}
template <class T> __device__ inline T of_bits(T value, unsigned short bits) {
    __builtin_memcpy(&value, &bits, 2);
    return value;
}

template <class T, int size> struct atomic {
    static __device__ T add(T *address, T value) { return ::atomicAdd(address, value); }
    static __device__ T cas(T *address, T expected, T value) { return ::atomicCAS(address, expected, value); }
};
// __half, __nv_bfloat16 and unsigned short.
template <class T> struct atomic<T, 2> {
    static __device__ T add(T *address, T value) {
        return of_bits(value, change((unsigned short *)address, [=](unsigned short old) {
            return bits((T)(of_bits(value, old) + value));
        }));
    }
    static __device__ T cas(T *address, T expected, T value) {
        return of_bits(value, change((unsigned short *)address, [=](unsigned short old) {
            return old == bits(expected) ? bits(value) : old;
        }));
    }
};
// __half2 and __nv_bfloat162: each half is added atomically, the two are not.
template <class T> struct pair {
    static __device__ T add(T *address, T value) {
        T old = value;
        old.x = atomic<decltype(value.x), 2>::add(&address->x, value.x);
        old.y = atomic<decltype(value.y), 2>::add(&address->y, value.y);
        return old;
    }
};
// float2 and float4, likewise.
template <> struct atomic<float2, 8> {
    static __device__ float2 add(float2 *address, float2 value) {
        float *parts = (float *)address;
        float x = ::atomicAdd(parts, value.x), y = ::atomicAdd(parts + 1, value.y);
        return make_float2(x, y);
    }
};
template <> struct atomic<float4, 16> {
    static __device__ float4 add(float4 *address, float4 value) {
        float *parts = (float *)address;
        float x = ::atomicAdd(parts, value.x), y = ::atomicAdd(parts + 1, value.y);
        float z = ::atomicAdd(parts + 2, value.z), w = ::atomicAdd(parts + 3, value.w);
        return make_float4(x, y, z, w);
    }
};
template <> struct atomic<long, 8> {
    static __device__ long add(long *address, long value) {
        return (long)::atomicAdd((unsigned long long *)address, (unsigned long long)value);
    }
};
template <> struct atomic<long long, 8> {
    static __device__ long long add(long long *address, long long value) {
        return (long long)::atomicAdd((unsigned long long *)address, (unsigned long long)value);
    }
};
template <class T> struct same { typedef T type; };
} // namespace __cuda_compat

// The value is converted to the type at the address, as by CUDA's overloads.
template <class T> __device__ inline T __cuda_compat_atomicAdd(T *address, typename __cuda_compat::same<T>::type value) {
    return __cuda_compat::atomic<T, sizeof(T)>::add(address, value);
}
template <class T>
__device__ inline T __cuda_compat_atomicCAS(T *address, typename __cuda_compat::same<T>::type expected,
                                            typename __cuda_compat::same<T>::type value) {
    return __cuda_compat::atomic<T, sizeof(T)>::cas(address, expected, value);
}
#define atomicAdd __cuda_compat_atomicAdd
#define atomicCAS __cuda_compat_atomicCAS

// Of a block, and of the system.
#define CUDA_COMPAT_SCOPE(name, builtin)                                                                                \
    template <class T> __device__ inline T __cuda_compat_##name##_block(T *address, typename __cuda_compat::same<T>::type value) { \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);                                 \
    }                                                                                                                   \
    template <class T> __device__ inline T __cuda_compat_##name##_system(T *address, typename __cuda_compat::same<T>::type value) { \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);                                    \
    }
#define CUDA_COMPAT_SUB(address, value, order, scope) __hip_atomic_fetch_add(address, (T)-value, order, scope)
CUDA_COMPAT_SCOPE(atomicAdd, __hip_atomic_fetch_add)
CUDA_COMPAT_SCOPE(atomicSub, CUDA_COMPAT_SUB)
CUDA_COMPAT_SCOPE(atomicExch, __hip_atomic_exchange)
CUDA_COMPAT_SCOPE(atomicMin, __hip_atomic_fetch_min)
CUDA_COMPAT_SCOPE(atomicMax, __hip_atomic_fetch_max)
CUDA_COMPAT_SCOPE(atomicAnd, __hip_atomic_fetch_and)
CUDA_COMPAT_SCOPE(atomicOr, __hip_atomic_fetch_or)
CUDA_COMPAT_SCOPE(atomicXor, __hip_atomic_fetch_xor)
#undef CUDA_COMPAT_SUB
#undef CUDA_COMPAT_SCOPE

namespace __cuda_compat {
template <int scope, class T> __device__ inline T exchange_if(T *address, T expected, T value) {
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);
    return expected;
}
template <int scope, class F> __device__ inline unsigned count_to(unsigned *address, F next) {
    unsigned old = __hip_atomic_load(address, __ATOMIC_RELAXED, scope), assumed;
    do {
        assumed = old;
        old = exchange_if<scope>(address, assumed, next(assumed));
    } while (old != assumed);
    return old;
}
} // namespace __cuda_compat

#define CUDA_COMPAT_SCOPE(suffix, scope)                                                                                \
    template <class T>                                                                                                  \
    __device__ inline T __cuda_compat_atomicCAS##suffix(T *address, typename __cuda_compat::same<T>::type expected,     \
                                                        typename __cuda_compat::same<T>::type value) {                  \
        return __cuda_compat::exchange_if<scope, T>(address, expected, value);                                          \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat_atomicInc##suffix(unsigned *address, unsigned limit) {                     \
        return __cuda_compat::count_to<scope>(address, [=](unsigned old) { return old >= limit ? 0u : old + 1; });      \
    }                                                                                                                   \
    __device__ inline unsigned __cuda_compat_atomicDec##suffix(unsigned *address, unsigned limit) {                     \
        return __cuda_compat::count_to<scope>(address,                                                                  \
            [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });                                   \
    }
CUDA_COMPAT_SCOPE(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
CUDA_COMPAT_SCOPE(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef CUDA_COMPAT_SCOPE

#define atomicAdd_block __cuda_compat_atomicAdd_block
#define atomicAdd_system __cuda_compat_atomicAdd_system
#define atomicSub_block __cuda_compat_atomicSub_block
#define atomicSub_system __cuda_compat_atomicSub_system
#define atomicExch_block __cuda_compat_atomicExch_block
#define atomicExch_system __cuda_compat_atomicExch_system
#define atomicMin_block __cuda_compat_atomicMin_block
#define atomicMin_system __cuda_compat_atomicMin_system
#define atomicMax_block __cuda_compat_atomicMax_block
#define atomicMax_system __cuda_compat_atomicMax_system
#define atomicAnd_block __cuda_compat_atomicAnd_block
#define atomicAnd_system __cuda_compat_atomicAnd_system
#define atomicOr_block __cuda_compat_atomicOr_block
#define atomicOr_system __cuda_compat_atomicOr_system
#define atomicXor_block __cuda_compat_atomicXor_block
#define atomicXor_system __cuda_compat_atomicXor_system
#define atomicCAS_block __cuda_compat_atomicCAS_block
#define atomicCAS_system __cuda_compat_atomicCAS_system
#define atomicInc_block __cuda_compat_atomicInc_block
#define atomicInc_system __cuda_compat_atomicInc_system
#define atomicDec_block __cuda_compat_atomicDec_block
#define atomicDec_system __cuda_compat_atomicDec_system
