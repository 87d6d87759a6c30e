// Device-side features that need the runtime's help: printf and abort (calls to the host), barriers over the grid.
#include <hip/hip_cooperative_groups.h>

extern "C" __global__ void increment(int* data) {
    data[threadIdx.x]++;
}

extern "C" __global__ void say() {
    printf("thread %d of block %d: %.2f %s\n", (int)threadIdx.x, (int)blockIdx.x, 1.5 * threadIdx.x, "text");
}

extern "C" __global__ void sum_over_the_grid(int* data) {
    auto grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0) atomicAdd(data, 1);
    grid.sync();
    if (grid.thread_rank() == 0) data[1] = data[0];
}

extern "C" __global__ void fail(int value) {
    if (value == 0 && threadIdx.x == 3) {
        printf("about to fail\n");
        abort();
    }
}

extern "C" __global__ void wait_for_ever(int* data) {
    while (__hip_atomic_load(data, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
}
