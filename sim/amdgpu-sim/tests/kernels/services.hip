// What kernels ask the runtime on the host for: tests/dispatch.rs checks what the faults say.
#define K extern "C" __global__ void

K prints(int *out) {
    out[threadIdx.x] = 1;
    printf("thread %u\n", threadIdx.x);
}
K allocates(int **out) { out[threadIdx.x] = (int *)malloc(4); }
K asks_nothing(int *out) { out[threadIdx.x] = 2; }
