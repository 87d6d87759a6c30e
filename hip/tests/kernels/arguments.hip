// Kernels for NVIDIA's GPUs, whose compilers describe parameters in several ways; see README.md here.

struct Large { char bytes[5000]; };

// More than 4 KiB of arguments.
extern "C" __global__ void large(Large all, char at, char* out) { *out = all.bytes[at]; }

struct Pair { float a; double b; };

extern "C" __global__ void small(char a, short b, Pair pair, double* out) { *out = a + b + pair.a + pair.b; }

__device__ __noinline__ float one_of(float* x, int n) {
    volatile float copy[100];
    for (int i = 0; i < n; i++) copy[i] = x[i];
    return copy[n / 2];
}

extern "C" __global__ void uses_stack(float* x, int n) { x[0] = one_of(x, n); }
