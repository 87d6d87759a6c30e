// The algorithms of kernels/algorithms.rs in HIP C++, statement by statement.

#define BLOCK 256
#define TILE 16
#define BINS 256

typedef unsigned long long size;

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, size n) {
    size i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, size n) {
    size step = gridDim.x * blockDim.x;
    for (size i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] = fmaf(a, x[i], y[i]);
}

__device__ float wave_sum(float x) {
    for (int mask = warpSize / 2; mask > 0; mask /= 2) x += __shfl_xor(x, mask);
    return x;
}

extern "C" __global__ void reduce(const float *x, size n, float *total) {
    __shared__ float sums[16];
    size step = gridDim.x * blockDim.x;
    float sum = 0;
    for (size i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) sum += x[i];
    sum = wave_sum(sum);
    unsigned lane = __lane_id(), number = threadIdx.x / warpSize;
    if (lane == 0) sums[number] = sum;
    __syncthreads();
    if (number == 0) {
        float part = lane < blockDim.x / warpSize ? sums[lane] : 0;
        part = wave_sum(part);
        if (lane == 0) atomicAdd(total, part);
    }
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, unsigned n) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned column = blockIdx.x * blockDim.x + x, row = blockIdx.y * blockDim.y + y;
    float sum = 0;
    for (unsigned tile = 0; tile < n; tile += TILE) {
        ta[y][x] = a[row * n + tile + x];
        tb[y][x] = b[(tile + y) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < TILE; k++) sum = fmaf(ta[y][k], tb[k][x], sum);
        __syncthreads();
    }
    if (column < n && row < n) c[row * n + column] = sum;
}

extern "C" __global__ void histogram(const unsigned char *x, size n, unsigned *counts) {
    __shared__ unsigned local[BINS];
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) local[bin] = 0;
    __syncthreads();
    size step = gridDim.x * blockDim.x;
    for (size i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&local[x[i]], 1);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&counts[bin], local[bin]);
}

extern "C" __global__ void scan(const unsigned *x, unsigned *y, size n, unsigned *sums) {
    __shared__ unsigned tile[BLOCK];
    unsigned t = threadIdx.x;
    size i = blockIdx.x * blockDim.x + t;
    unsigned value = i < n ? x[i] : 0;
    tile[t] = value;
    __syncthreads();
    for (unsigned by = 1; by < BLOCK; by *= 2) {
        unsigned before = t >= by ? tile[t - by] : 0;
        __syncthreads();
        value += before;
        tile[t] = value;
        __syncthreads();
    }
    if (i < n) y[i] = value;
    if (t == BLOCK - 1) sums[blockIdx.x] = value;
}

extern "C" __global__ void nbody(const float4 *bodies, float4 *out, size n, float softening) {
    __shared__ float4 tile[BLOCK];
    size i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (size start = 0; start < n; start += BLOCK) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
            float inverse = __frsqrt_rn(r2);
            float s = other.w * inverse * inverse * inverse;
            ax = fmaf(dx, s, ax);
            ay = fmaf(dy, s, ay);
            az = fmaf(dz, s, az);
        }
        __syncthreads();
    }
    out[i] = make_float4(ax, ay, az, 0);
}
