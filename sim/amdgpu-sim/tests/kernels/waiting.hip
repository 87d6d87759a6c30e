// Kernels that wait for each other, for the host, or for time. tests/waiting.rs runs them.

#define K extern "C" __global__ void
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM)

// Rounds of "wait for my turn, pass it on": `me` of `all` players, who may be on different GPUs.
K ping_pong(unsigned *turn, unsigned me, unsigned all, unsigned rounds, unsigned *log) {
    if (threadIdx.x != 0) return;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned mine = r * all + me;
        while (LOAD(turn) != mine) {}
        log[mine] = me;
        STORE(turn, mine + 1);
    }
}

// As many barriers over the grid, without a sleep; each round every workgroup sees what all have written before.
K grid_rounds(unsigned *count, unsigned *data, unsigned rounds, unsigned *wrong) {
    unsigned groups = gridDim.x, me = blockIdx.x;
    for (unsigned r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) data[me] = r;
        __syncthreads();
        if (threadIdx.x == 0) {
            __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
            while (LOAD(count) < r * groups) {}
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < groups; i += blockDim.x)
            if (LOAD(&data[i]) < r) atomicAdd(wrong, 1);
    }
}

// Spins with a counter, as a communication library does that looks for an abort now and then.
K wait_for(unsigned *flag, unsigned value, unsigned *abort, unsigned *out) {
    unsigned spins = 0;
    while (LOAD(flag) != value) {
        if (++spins == 10000) {
            spins = 0;
            if (LOAD(abort)) { out[0] = 2; return; }
        }
    }
    out[blockIdx.x] = 1;
}

// A lock taken by compare and swap.
K locked_count(unsigned *lock, unsigned *plain, unsigned times) {
    if (threadIdx.x != 0) return;
    for (unsigned i = 0; i < times; i++) {
        while (atomicCAS(lock, 0u, 1u) != 0u) {}
        __threadfence();
        unsigned n = *(volatile unsigned *)plain;
        *(volatile unsigned *)plain = n + 1;
        __threadfence();
        __hip_atomic_store(lock, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

// One wave waits for a flag in LDS that another sets after a long computation.
K lds_flag(unsigned *out, unsigned steps) {
    __shared__ unsigned flag, value;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 64) {
        unsigned x = 1;
        for (unsigned i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
        value = x;
        __hip_atomic_store(&flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    if (threadIdx.x < 64) {
        while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
        out[threadIdx.x] = value;
    }
}

// Waits for time to pass.
K delay(unsigned long long *out, unsigned long long ticks) {
    unsigned long long start = wall_clock64(), now = start;
    while (now - start < ticks) now = wall_clock64();
    out[threadIdx.x] = now - start;
}

// Long, and no waiting: loads of changing addresses only.
K long_sum(const unsigned *in, unsigned n, unsigned rounds, unsigned *out) {
    unsigned sum = 0;
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < n; i++) sum += in[i] ^ r;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// What a runtime runs before a cooperative launch: a barrier for `less_one + 1` workgroups.
K gws_init(unsigned less_one) { __builtin_amdgcn_ds_gws_init(less_one, 0); }

// grid_rounds with the barrier that the device library's grid synchronisation uses.
K gws_rounds(unsigned *data, unsigned rounds, unsigned *wrong) {
    unsigned groups = gridDim.x, me = blockIdx.x;
    for (unsigned r = 1; r <= rounds; r++) {
        for (int twice = 0; twice < 2; twice++) {
            __syncthreads();
            if (threadIdx.x == 0) {
                if (twice == 0) STORE(&data[me], r);
                __builtin_amdgcn_ds_gws_barrier(groups - 1, 0);
            }
            __syncthreads();
            if (twice == 0)
                for (unsigned i = threadIdx.x; i < groups; i += blockDim.x)
                    if (LOAD(&data[i]) != r) atomicAdd(wrong, 1);
        }
    }
}

// The producers' workgroups (even) release what the consumers' (odd) wait for.
K gws_semaphore(unsigned *taken) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x % 2 == 1) {
        __builtin_amdgcn_ds_gws_sema_p(5);
        atomicAdd(taken, 1);
    } else {
        __builtin_amdgcn_ds_gws_sema_v(5);
    }
}

// Tells the host a number, and does not stop where a debugger would.
K tell(unsigned event, unsigned *out) {
    __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(event));
    __builtin_debugtrap();
    out[threadIdx.x] = event;
}
