// What the bench `lanes` runs: one kernel that memory dominates, one that f32 arithmetic and LDS dominate, one of integers.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float s, const float* x, float* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = s * x[i] + y[i];
}

// n is a multiple of 16; a workgroup is 16 x 16.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned n) {
    __shared__ float x[16][16];
    __shared__ float y[16][16];
    unsigned row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (unsigned t = 0; t < n; t += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (unsigned k = 0; k < 16; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// The hash of `rounds` steps of xorshift32 from a start of its own.
extern "C" __global__ void xorshift(unsigned* out, unsigned rounds, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = i * 2654435761u + 1, h = 0;
    for (unsigned r = 0; r < rounds; r++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        h = h * 31 + (x & 0xffff);
    }
    out[i] = h;
}

extern "C" __global__ void empty() {}
