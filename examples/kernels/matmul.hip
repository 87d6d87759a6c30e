// C = A * B, row-major, A is m x k, B is k x n. A block of 16 x 16 threads computes a tile of C and shares the tiles
// of A and B that it needs through LDS. Ragged edges are padded with zeros.
#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    unsigned row = blockIdx.y * TILE + threadIdx.y;
    unsigned col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (unsigned t = 0; t < k; t += TILE) {
        unsigned ka = t + threadIdx.x;
        unsigned kb = t + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
        __syncthreads();
        for (unsigned i = 0; i < TILE; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
