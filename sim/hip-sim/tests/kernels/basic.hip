// Kernels of the tests. Compiled code lies beside this file: basic.gfx90a.co, basic.gfx942.co
// (HIPRTC 7.2.4, -O3, --offload-arch as in the name), and both as one: basic.v3.hipfb (LLVM 22's clang-offload-bundler
// -type=o -bundle-align=4096 -compress).
struct Triple { float x, y, z; };

__device__ int counter[4] = {1, 2, 3, 4};

extern "C" __global__ void empty() {}

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// Arguments at 0, 4, 16, 24: C's layout.
extern "C" __global__ void arguments(int a, Triple t, int b, double *out) {
    out[0] = a;
    out[1] = t.x;
    out[2] = t.y;
    out[3] = t.z;
    out[4] = b;
}

extern "C" __global__ void geometry(unsigned *out) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    unsigned i = (z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x;
    out[i] = x | y << 8 | z << 16 | blockDim.x << 24;
}

extern "C" __global__ void add_to_all(int *data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

extern "C" __global__ void store_at(int *data, long index, int value) {
    data[index] = value;
}

extern "C" __global__ void count_up() {
    for (int i = 0; i < 4; i++) counter[i] += 10;
}

// Reverses blockDim.x ints through dynamic LDS.
extern "C" __global__ void reverse(int *data) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *data) {
    data[threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void spin(volatile int *flag) {
    while (*flag == 0) {}
}
