// Kernels that do something wrong. tests/dispatch.rs checks what the faults say.

#define K extern "C" __global__ void

K out_of_bounds(int *p, int n) { p[threadIdx.x + n] = threadIdx.x; }
K read_null(const int *p, int *out) { out[threadIdx.x] = p[threadIdx.x]; }
K misaligned_atomic(char *p) { atomicAdd((int *)(p + 1 + 4 * threadIdx.x), 1); }
K misaligned_load(const char *p, int *out) { out[threadIdx.x] = *(const int *)(p + 4 * threadIdx.x + 2); }
K endless(volatile int *p) { while (*p == 0) {} }
K abort_kernel(int *p) { if (threadIdx.x == 70) __builtin_trap(); p[threadIdx.x] = 1; }
K lds_out_of_bounds(int *out, int n) {
    __shared__ int shared[64];
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = shared[threadIdx.x + n];
}
K scratch_out_of_bounds(int *out, int n) {
    int mine[200];
    for (int i = 0; i < 200; i++) mine[(i * 3 + n) % 200] = i;
    out[threadIdx.x] = mine[n];
}
K wild_call(void (*f)(int)) { f(1); }
__launch_bounds__(128) K bounded(int *p) { p[threadIdx.x] = 1; }
