// Atomic operations in all types, scopes and orders, on global and local memory. Operations whose order does not show.

template <typename T, int ORDER, int SCOPE>
__device__ void operations(T* cells, T* old, T x, unsigned lane) {
    // Cell by cell: sums, differences, bits, extremes.
    old[0] = __hip_atomic_fetch_add(&cells[0], x, ORDER, SCOPE);
    old[1] = __hip_atomic_fetch_sub(&cells[1], x, ORDER, SCOPE);
    old[2] = __hip_atomic_fetch_and(&cells[2], ~((T)1 << (lane % (sizeof(T) * 8))), ORDER, SCOPE);
    old[3] = __hip_atomic_fetch_or(&cells[3], (T)1 << (lane % (sizeof(T) * 8)), ORDER, SCOPE);
    old[4] = __hip_atomic_fetch_xor(&cells[4], x, ORDER, SCOPE);
    old[5] = __hip_atomic_fetch_min(&cells[5], x, ORDER, SCOPE);
    old[6] = __hip_atomic_fetch_max(&cells[6], x, ORDER, SCOPE);
    // Exchanges: every value goes round once.
    old[7] = __hip_atomic_exchange(&cells[7], x, ORDER, SCOPE);
    // A loop of compare and swap: x -> 3 x + 1, as many times as there are threads.
    T seen = __hip_atomic_load(&cells[8], __ATOMIC_RELAXED, SCOPE);
    while (!__hip_atomic_compare_exchange_strong(&cells[8], &seen, (T)(seen * 3 + 1), ORDER, __ATOMIC_RELAXED, SCOPE)) {}
    old[8] = seen;
}

#define INTEGERS(name, T, ORDER, SCOPE)                                                                            \
    extern "C" __global__ void name(T* cells, const T* in, T* old, unsigned n) {                                   \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                        \
        if (i < n) operations<T, ORDER, SCOPE>(cells, old + 9 * i, in[i], i);                                      \
    }                                                                                                              \
    extern "C" __global__ void name##_local(T* cells, const T* in, T* old, unsigned n) {                           \
        __shared__ T local[9];                                                                                     \
        if (threadIdx.x < 9) local[threadIdx.x] = cells[threadIdx.x];                                              \
        __syncthreads();                                                                                           \
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)                                                     \
            operations<T, ORDER, __HIP_MEMORY_SCOPE_WORKGROUP>(local, old + 9 * i, in[i], i);                      \
        __syncthreads();                                                                                           \
        if (threadIdx.x < 9) cells[threadIdx.x] = local[threadIdx.x];                                              \
    }
INTEGERS(i32, int, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
INTEGERS(u32, unsigned, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM)
INTEGERS(i64, long long, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT)
INTEGERS(u64, unsigned long long, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)

template <typename T>
__device__ void sums(T* cells, T* local, T x) {
    unsafeAtomicAdd(&cells[0], x);
    atomicAdd(&cells[1], x);
    atomicMax(&cells[2], x);
    atomicMin(&cells[3], x);
    unsafeAtomicAdd(&local[0], x);
    atomicAdd(&local[1], x);
    atomicMax(&local[2], x);
    atomicMin(&local[3], x);
}

template <typename T>
__device__ void floats(T* cells, const T* in, unsigned n) {
    __shared__ T local[4];
    if (threadIdx.x < 4) local[threadIdx.x] = 1;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums<T>(cells, local, in[i]);
    __syncthreads();
    // What each workgroup gathered.
    if (threadIdx.x < 4) cells[4 + 4 * blockIdx.x + threadIdx.x] = local[threadIdx.x];
}
extern "C" __global__ void f32(float* cells, const float* in, unsigned n) { floats<float>(cells, in, n); }
extern "C" __global__ void f64(double* cells, const double* in, unsigned n) { floats<double>(cells, in, n); }

typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef short short2v __attribute__((ext_vector_type(2)));
extern "C" __global__ void f16(half2v* cells, const half2v* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) half2v*)cells, in[i]);
#if __gfx942__
    __builtin_amdgcn_flat_atomic_fadd_v2f16(cells + 1, in[i]);
    __builtin_amdgcn_global_atomic_fadd_v2bf16((__attribute__((address_space(1))) short2v*)(cells + 2), (short2v){0x3f80, 0x4000});
#endif
}

// Counters that wrap, as atomicInc and atomicDec have them.
extern "C" __global__ void counters(unsigned* cells, unsigned* ticket, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ticket[3 * i] = atomicInc(&cells[0], 99);
    ticket[3 * i + 1] = atomicDec(&cells[1], 49);
    ticket[3 * i + 2] = atomicAdd(&cells[2], 1u);
}

// A lock that lanes take in turn.
extern "C" __global__ void lock(int* held, int* data, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    // All lanes stay in the loop: one that left it with the lock could wait for the others, and they for it.
    while (__any(!done)) {
        if (!done && atomicCAS(held, 0, 1) == 0) {
            int x = __hip_atomic_load(&data[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
            __hip_atomic_store(&data[0], x + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            data[1] = data[1] + (int)i;
            __hip_atomic_store(held, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
            done = true;
        }
    }
}

// The last workgroup to finish adds up what all wrote.
extern "C" __global__ void last_block(const int* in, int* partial, int* total, unsigned* count, unsigned n) {
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; b++) all += __hip_atomic_load(&partial[b], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        *total = all;
    }
}
