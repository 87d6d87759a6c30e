// Functions for one thread that CUDA C++ has without a header, and HIPRTC lacks.
#pragma once

#define __trap() __builtin_trap()
#define __brkpt() __builtin_debugtrap()
#define __prof_trigger(n) ((void)(n))

// Waits for about as many nanoseconds, up to a millisecond: the shader's clock is near 2 GHz, and s_sleep counts 64 of it.
__device__ inline void __cuda_compat__nanosleep(unsigned nanoseconds) {
    unsigned long long start = __builtin_readcyclecounter();
    unsigned long long clocks = 2ull * (nanoseconds < 1000000 ? nanoseconds : 1000000);
    do __builtin_amdgcn_s_sleep(1);
    while (__builtin_readcyclecounter() - start < clocks);
}
#define __nanosleep __cuda_compat__nanosleep

// Loads and stores with hints for the cache, which have no effect on a result.
#define CUDA_COMPAT_LOAD(name)                                                                                          \
    template <class T> __device__ inline T __cuda_compat##name(const T *address) { return *address; }
CUDA_COMPAT_LOAD(__ldg)
CUDA_COMPAT_LOAD(__ldca)
CUDA_COMPAT_LOAD(__ldcg)
CUDA_COMPAT_LOAD(__ldcs)
CUDA_COMPAT_LOAD(__ldlu)
#undef CUDA_COMPAT_LOAD
// The same, from memory that others write.
template <class T> __device__ inline T __cuda_compat__ldcv(const T *address) {
    T value = *address;
    if constexpr (sizeof(T) % 4 == 0) {
        for (unsigned i = 0; i < sizeof(T) / 4; ++i) ((int *)&value)[i] = ((const volatile int *)address)[i];
    } else if constexpr (sizeof(T) == 2) {
        *(short *)&value = *(const volatile short *)address;
    } else {
        for (unsigned i = 0; i < sizeof(T); ++i) ((char *)&value)[i] = ((const volatile char *)address)[i];
    }
    return value;
}
#define CUDA_COMPAT_STORE(name)                                                                                         \
    template <class T, class U> __device__ inline void __cuda_compat##name(T *address, U value) { *address = value; }
CUDA_COMPAT_STORE(__stwb)
CUDA_COMPAT_STORE(__stcg)
CUDA_COMPAT_STORE(__stcs)
CUDA_COMPAT_STORE(__stwt)
#undef CUDA_COMPAT_STORE
#define __ldg __cuda_compat__ldg
#define __ldca __cuda_compat__ldca
#define __ldcg __cuda_compat__ldcg
#define __ldcs __cuda_compat__ldcs
#define __ldlu __cuda_compat__ldlu
#define __ldcv __cuda_compat__ldcv
#define __stwb __cuda_compat__stwb
#define __stcg __cuda_compat__stcg
#define __stcs __cuda_compat__stcs
#define __stwt __cuda_compat__stwt

__device__ inline float __cuda_compat__fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define __fmaf_ieee_rn __cuda_compat__fmaf_ieee_rn
__device__ inline float __cuda_compat__tanhf(float x) { return tanhf(x); }
#define __tanhf __cuda_compat__tanhf

__device__ inline unsigned __cuda_compat_umin(unsigned a, unsigned b) { return a < b ? a : b; }
__device__ inline unsigned __cuda_compat_umax(unsigned a, unsigned b) { return a < b ? b : a; }
__device__ inline long long __cuda_compat_llmin(long long a, long long b) { return a < b ? a : b; }
__device__ inline long long __cuda_compat_llmax(long long a, long long b) { return a < b ? b : a; }
__device__ inline unsigned long long __cuda_compat_ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
__device__ inline unsigned long long __cuda_compat_ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
#define umin __cuda_compat_umin
#define umax __cuda_compat_umax
#define llmin __cuda_compat_llmin
#define llmax __cuda_compat_llmax
#define ullmin __cuda_compat_ullmin
#define ullmax __cuda_compat_ullmax

// Which memory an address is in.
__device__ inline unsigned __cuda_compat__isShared(const void *address) {
    return __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)address);
}
__device__ inline unsigned __cuda_compat__isLocal(const void *address) {
    return __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)address);
}
__device__ inline unsigned __cuda_compat__isGlobal(const void *address) {
    return !__cuda_compat__isShared(address) && !__cuda_compat__isLocal(address);
}
// Addresses in shared memory have 32 bits; those in global memory are generic ones.
__device__ inline __SIZE_TYPE__ __cuda_compat__cvta_generic_to_shared(const void *pointer) {
    return (unsigned)(__SIZE_TYPE__)(__attribute__((address_space(3))) void *)(void *)pointer;
}
__device__ inline void *__cuda_compat__cvta_shared_to_generic(__SIZE_TYPE__ address) {
    return (void *)(__attribute__((address_space(3))) void *)(unsigned)address;
}
__device__ inline __SIZE_TYPE__ __cuda_compat_address(const void *pointer) { return (__SIZE_TYPE__)pointer; }
__device__ inline void *__cuda_compat_pointer(__SIZE_TYPE__ address) { return (void *)address; }
#define __cvta_generic_to_shared __cuda_compat__cvta_generic_to_shared
#define __cvta_shared_to_generic __cuda_compat__cvta_shared_to_generic
#define __cvta_generic_to_global __cuda_compat_address
#define __cvta_generic_to_constant __cuda_compat_address
#define __cvta_generic_to_local __cuda_compat_address
#define __cvta_generic_to_grid_constant __cuda_compat_address
#define __cvta_global_to_generic __cuda_compat_pointer
#define __cvta_constant_to_generic __cuda_compat_pointer
#define __cvta_local_to_generic __cuda_compat_pointer
#define __cvta_grid_constant_to_generic __cuda_compat_pointer
#define __isShared __cuda_compat__isShared
#define __isLocal __cuda_compat__isLocal
#define __isGlobal __cuda_compat__isGlobal

// new and delete, from the heap of malloc. They are inline, so that a program without them has no heap.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
#ifndef CUDA_COMPAT_HOST // clang has them
__device__ inline void *operator new(__SIZE_TYPE__ size) { return malloc(size); }
__device__ inline void *operator new[](__SIZE_TYPE__ size) { return malloc(size); }
__device__ inline void operator delete(void *pointer) noexcept { free(pointer); }
__device__ inline void operator delete[](void *pointer) noexcept { free(pointer); }
__device__ inline void operator delete(void *pointer, __SIZE_TYPE__) noexcept { free(pointer); }
__device__ inline void operator delete[](void *pointer, __SIZE_TYPE__) noexcept { free(pointer); }
#endif
#pragma clang diagnostic pop
