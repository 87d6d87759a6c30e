// Sum of n floats: shuffles within a wave, LDS between the waves of a block, one atomic a block.
extern "C" __global__ void reduce_sum(const float *x, float *sum, unsigned n)
{
    __shared__ float partial[32]; // one slot a wave: 1024 threads are 16 waves of 64 or 32 of 32
    float v = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down(v, offset);
    unsigned wave = threadIdx.x / warpSize;
    unsigned lane = threadIdx.x % warpSize;
    if (lane == 0)
        partial[wave] = v;
    __syncthreads();
    if (wave == 0) {
        unsigned waves = (blockDim.x + warpSize - 1) / warpSize;
        v = lane < waves ? partial[lane] : 0.0f;
        for (int offset = warpSize / 2; offset > 0; offset /= 2)
            v += __shfl_down(v, offset);
        if (lane == 0)
            atomicAdd(sum, v);
    }
}
