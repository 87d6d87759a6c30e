// Shuffles as CUDA programs write them: warps of 32 lanes, masks of 32 bits.
#define FULL 0xffffffff

extern "C" __global__ void warp_sum(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(FULL, v, offset);
    out[i] = v;
}

// The reduction of nearly every CUDA program: warps, then the first warp over their results.
extern "C" __global__ void block_sum(const float *in, float *out, unsigned n)
{
    __shared__ float partial[32];
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL, v, offset);
    if (lane == 0)
        partial[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? partial[lane] : 0.0f;
    if (warp == 0) {
        for (int offset = 16; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffff, v, offset);
        if (lane == 0)
            out[blockIdx.x] = v;
    }
}

extern "C" __global__ void warp_scan(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, v = in[i];
    for (int offset = 1; offset < 32; offset *= 2) {
        int before = __shfl_up_sync(FULL, v, offset);
        if (lane >= offset)
            v += before;
    }
    out[i] = v;
}

extern "C" __global__ void broadcast(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_sync(FULL, in[i], 5);
}

extern "C" __global__ void rotate(const long long *in, long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    out[i] = __shfl_sync(FULL, in[i], (lane + 1) % 32);
}

// Widths below 32, and lanes beyond the segment: they keep their own value.
extern "C" __global__ void segments(const int *in, int *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __shfl_down_sync(FULL, in[i], 3, 8);
    out[n + i] = __shfl_up_sync(FULL, in[i], 2, 16);
    out[2 * n + i] = __shfl_sync(FULL, in[i], 9, 4);
    out[3 * n + i] = __shfl_xor_sync(FULL, in[i], 12, 8);
    out[4 * n + i] = __shfl_xor_sync(FULL, in[i], 32);
}

extern "C" __global__ void arg_max(const float *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, best = threadIdx.x & 31;
    float v = in[i];
    for (int offset = 16; offset > 0; offset >>= 1) {
        float other = __shfl_down_sync(FULL, v, offset);
        unsigned whose = __shfl_down_sync(FULL, best, offset);
        if (other > v) {
            v = other;
            best = whose;
        }
    }
    if ((threadIdx.x & 31) == 0)
        out[i / 32] = best;
}

// Of before CUDA 9: no masks.
extern "C" __global__ void old_sum(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down(v, offset);
    out[i] = __shfl(v, 0);
}

// Twenty lanes alone.
extern "C" __global__ void twenty(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    if (lane < 20)
        out[i] = __shfl_sync(0x000fffff, in[i], 19 - lane);
}

struct Particle { float x, y, z; short id; };

extern "C" __global__ void structs(const Particle *in, Particle *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Particle p = in[i];
    out[i] = __shfl_xor_sync(FULL, p, 1);
}
