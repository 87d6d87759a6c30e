// Kernels of the tests. Compiled with hiprtc of ROCm 7.2 for gfx90a, -O3; see README.md here.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void add_in_place(int* data, int value, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

// No bound check: writes one past the end when launched with one thread too many.
extern "C" __global__ void store_index(int* data) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = (int)i;
}

struct Vec3 { float x, y, z; };

extern "C" __global__ void mixed_args(float* out, int a, Vec3 v, int b, bool negate, double scale) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        double sum = (a + v.x + v.y + v.z + b) * scale;
        out[0] = (float)(negate ? -sum : sum);
        out[1] = v.x; out[2] = v.y; out[3] = v.z;
    }
}

// Parameters that C lays out at 0, 4 and 16.
extern "C" __global__ void int_float3_int(int a, Vec3 v, int b, float* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = a; out[1] = v.x; out[2] = v.y; out[3] = v.z; out[4] = b; }
}

extern "C" __global__ void __launch_bounds__(64) bounded(int* data) {
    data[threadIdx.x] = threadIdx.x;
}

// Static shared memory: 256 ints.
extern "C" __global__ void reverse_in_lds(int* data) {
    __shared__ int tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// Dynamic shared memory: blockDim.x ints.
extern "C" __global__ void reverse_in_dynamic_lds(int* data) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

// Grid and block as the kernel sees them.
extern "C" __global__ void geometry(unsigned* out) {
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        unsigned* o = out + 6 * block;
        o[0] = gridDim.x; o[1] = gridDim.y; o[2] = gridDim.z;
        o[3] = blockDim.x; o[4] = blockDim.y; o[5] = blockDim.z;
    }
}

extern "C" __global__ void empty() {}

// Keeps the device busy for `rounds` dependent steps, then stores.
extern "C" __global__ void slow_store(unsigned* out, unsigned rounds, unsigned value) {
    unsigned x = 1;
    for (unsigned i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = value + (x == 0xdeadbeef ? 1 : 0);
}
