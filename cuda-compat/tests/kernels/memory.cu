// Shared, constant and global memory, and loads with hints.
#include <cuda_runtime.h>

extern "C" __global__ void reverse(int *data)
{
    extern __shared__ int space[];
    space[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = space[blockDim.x - 1 - threadIdx.x];
}

__constant__ float coefficients[4];
__device__ unsigned long long launches;

extern "C" __global__ void polynomial(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = 0;
    for (int k = 3; k >= 0; --k)
        y = y * x + coefficients[k];
    out[i] = y;
    if (i == 0)
        ++launches;
}

extern "C" __global__ void __launch_bounds__(256, 4) transpose(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    __shared__ float tile[32][32 + 1];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

#define TILE 16
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void hinted(const float4 *in, float4 *out)
{
    int i = threadIdx.x;
    float4 v = __ldg(&in[i]);
    v.x += __ldcg(&in[i].x);
    v.y += __ldcs(&in[i]).y;
    v.z += __ldca((const float *)&in[i] + 2);
    v.w += __ldcv(&in[i].w);
    __stcg(&out[i], v);
    __threadfence();
}

extern "C" __global__ void spaces(unsigned *out)
{
    __shared__ int shared;
    int own = (int)out[0];
    int *private_ = &own;
    if (own == 12345)
        private_ = &shared;
    out[0] = __isShared(&shared) && !__isShared(out) && __isGlobal(out) && !__isGlobal(private_);
}
