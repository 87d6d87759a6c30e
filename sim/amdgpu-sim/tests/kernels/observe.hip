// Kernels for the checks and the profile: right ones, and wrong ones whose mistakes are known.
#define K extern "C" __global__ void

// A tree over 256 values, with a barrier before every step...
K reduce(const int *in, int *out) {
    __shared__ int s[256];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    for (unsigned step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (t < step) s[t] += s[t + step];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// ... and without any.
K reduce_racy(const int *in, int *out) {
    __shared__ volatile int s[256];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    for (unsigned step = 128; step > 0; step /= 2)
        if (t < step) s[t] += s[t + step];
    if (t == 0) out[blockIdx.x] = s[0];
}

K copy(const int *in, int *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

K copy_strided(const int *in, int *out, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride];
}

// Reads what its neighbour in LDS should have written.
K lds_unwritten(int *out) {
    __shared__ volatile int s[128];
    s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 64];
}

K scratch_unwritten(int *out, unsigned write, unsigned read) {
    volatile int a[64];
    a[(write + threadIdx.x) % 64] = 1;
    out[threadIdx.x] = a[(read + threadIdx.x) % 64];
}

K add_to(int *sum) { atomicAdd(sum, 1); }

// LDS: a write along rows, a read along columns, 64 lanes.
K columns(int *out) {
    __shared__ volatile int s[64 * 64];
    for (unsigned i = 0; i < 64; i++) s[i * 64 + threadIdx.x] = (int)i;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 64 + 7];
}

K padded_columns(int *out) {
    __shared__ volatile int s[64 * 65];
    for (unsigned i = 0; i < 64; i++) s[i * 65 + threadIdx.x] = (int)i;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 65 + 7];
}

// 16 lanes of each wave go round the loop, a hundred times.
K divergent(float *out) {
    float x = (float)threadIdx.x;
    if (threadIdx.x % 64 < 16)
        for (int i = 0; i < 100; i++) asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(x));
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// The last workgroup adds up what the others have left, which a fence makes visible...
__device__ void last_block(const int *in, int *part, unsigned *count, int *out, bool fence) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        if (fence) __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
        if (fence) __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += part[i];
        *out = sum;
    }
}
K fenced(const int *in, int *part, unsigned *count, int *out) { last_block(in, part, count, out, true); }
// ... or does not.
K unfenced(const int *in, int *part, unsigned *count, int *out) { last_block(in, part, count, out, false); }

// All workgroups write the same place: different values, or one.
K all_write(unsigned *out) { *out = blockIdx.x * 100 + threadIdx.x / 64; }
K all_set(unsigned *flag) { if (threadIdx.x < 1000) *flag = 1; }

K histogram(const unsigned *in, unsigned *bins) {
    __shared__ unsigned local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&local[in[blockIdx.x * blockDim.x + threadIdx.x] % 64], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// Workgroup n waits for the flag of workgroup n - 1, then adds to what that one has left.
K chain(int *flags, int *values) {
    if (threadIdx.x != 0) return;
    int value = 0;
    if (blockIdx.x > 0) {
        while (__hip_atomic_load(&flags[blockIdx.x - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0)
            __builtin_amdgcn_s_sleep(1);
        value = values[blockIdx.x - 1];
    }
    values[blockIdx.x] = value + 1;
    __hip_atomic_store(&flags[blockIdx.x], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// A wave waits for a flag in LDS that another sets; the waves' order is the arguments'.
#define LOCAL_FLAG(NAME, BEFORE, AFTER) \
    K NAME(unsigned first, unsigned *out) { \
        __shared__ unsigned flag, value; \
        if (threadIdx.x == 0) flag = value = 0; \
        __syncthreads(); \
        if ((threadIdx.x & 64) == first) { \
            if (threadIdx.x % 64 == 0) { \
                BEFORE; \
                __hip_atomic_store(&flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP); \
                AFTER; \
            } \
        } else { \
            while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {} \
            out[threadIdx.x % 64] = value; \
        } \
    }
LOCAL_FLAG(local_flag, value = 42, )
LOCAL_FLAG(local_flag_late, , value = 42)

// One wave sums in a loop what the other stores.
K local_sum(unsigned first, unsigned *out) {
    __shared__ unsigned values[64];
    if (threadIdx.x < 64) values[threadIdx.x] = 0;
    __syncthreads();
    if ((threadIdx.x & 64) == first) {
        values[threadIdx.x % 64] = threadIdx.x;
    } else {
        unsigned sum = 0;
#pragma nounroll
        for (unsigned i = 0; i < 64; i++) sum += values[i];
        out[threadIdx.x % 64] = sum;
    }
}

K locked(int *lock, int *sum) {
    if (threadIdx.x % 64 != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

// A plain load and a loop of compare-and-swaps, on gfx90a; and by hand, in LDS.
K add_float(float *sum) { atomicAdd(sum, 1.0f); }
K add_double(double *sum) { atomicAdd(sum, 1.0); }
__device__ void swap_in(unsigned *product) {
    unsigned old = *product, seen;
    do {
        seen = old;
        old = atomicCAS(product, seen, seen * 3);
    } while (old != seen);
}
K triple(unsigned *product) { swap_in(product); }
K triple_local(unsigned *out) {
    __shared__ unsigned product;
    if (threadIdx.x == 0) product = 1;
    __syncthreads();
    swap_in(&product);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = product;
}

// Waves that read a sum while others add to it; half of them compare and swap, but elsewhere.
K peek(int *sum, int *out, int *elsewhere) {
    unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / 64;
    if (threadIdx.x % 64 == 0) {
        out[wave] = *sum;
        if (wave % 2) atomicCAS(elsewhere, 0, 1);
        atomicAdd(sum, 1);
    }
}

K different_barriers(int *out) {
    if (threadIdx.x < 64) {
        out[threadIdx.x] = 1;
        __builtin_amdgcn_s_barrier();
        out[threadIdx.x] += 2;
    } else {
        __builtin_amdgcn_s_barrier();
        out[threadIdx.x] = 3;
    }
}

K early_end(int *out, unsigned n) {
    if (threadIdx.x >= n) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

// Who comes when: a ticket for each wave.
K tickets(unsigned *next, unsigned *out) {
    if (threadIdx.x % 64 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 64] = atomicAdd(next, 1u);
}

// Waves that look at each other's work without waiting: the result is the order.
K lookers(int *place, int *out) {
    volatile int *p = place;
    int seen = 0;
    for (int i = 0; i < 20; i++) {
        int old = *p;
        seen = seen * 31 + old;
        *p = old + 1;
    }
    if (threadIdx.x % 64 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 64] = seen;
}

// What a runtime runs before a cooperative launch.
K gws_init(unsigned less_one) { __builtin_amdgcn_ds_gws_init(less_one, 0); }

// Every workgroup leaves a value for the next one, and all meet in between: by global wave sync, or (racy) not at all.
K gws_share(int *data, int *out, unsigned sync) {
    if (threadIdx.x == 0) data[blockIdx.x] = (int)blockIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && sync) __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

// Groups of `share` lanes store to one place each, one of `values` values: in LDS, in global memory, and bytes there.
K lanes_local(unsigned *out, unsigned share, unsigned values) {
    __shared__ unsigned s[64];
    s[threadIdx.x / share] = threadIdx.x % values;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x / share];
}
K lanes_global(unsigned *out, unsigned share, unsigned values) { out[threadIdx.x / share] = threadIdx.x % values; }
K lanes_bytes(unsigned char *out, unsigned share, unsigned values) {
    out[threadIdx.x / share] = (unsigned char)(threadIdx.x % values);
}
// Each lane stores its number and the next one's in 16 bits each, `apart` bytes behind the lane before.
struct __attribute__((packed)) Unaligned { unsigned value; };
K lanes_overlap(unsigned char *out, unsigned apart) {
    ((Unaligned *)(out + threadIdx.x * apart))->value = threadIdx.x | (threadIdx.x + 1) << 16;
}
// One lane after the other stores to one place, in turns of a loop.
K lanes_in_turns(unsigned *out, unsigned turns) {
#pragma nounroll
    for (unsigned turn = 0; turn < turns; turn++)
        if (threadIdx.x == turn) *(volatile unsigned *)out = turn;
}

// Loads or stores in LDS `by` places further than each lane's own, of 64.
K beyond_local(unsigned *out, unsigned store, unsigned by) {
    __shared__ unsigned s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (store) s[threadIdx.x + by] = 1;
    __syncthreads();
    out[threadIdx.x] = store ? s[threadIdx.x] : s[threadIdx.x + by];
}
// Lanes from `last` on store where nothing is, all to one place.
K aside_local(unsigned *out, unsigned last) {
    __shared__ unsigned s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s[threadIdx.x < last ? threadIdx.x : 4096] = threadIdx.x + 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
