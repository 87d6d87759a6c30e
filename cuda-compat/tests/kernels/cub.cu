// CUB's collectives of blocks and warps.
#include <cub/cub.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void sums(const unsigned *in, unsigned *out)
{
    typedef cub::BlockScan<unsigned, 128> Scan;
    typedef cub::BlockReduce<unsigned, 128> Reduce;
    typedef cub::WarpReduce<unsigned> Warp;
    typedef cub::BlockRadixSort<unsigned, 128, 1> Sort;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
        typename Warp::TempStorage warps[4];
        typename Sort::TempStorage sort;
    } kept;
    int t = threadIdx.x, n = blockDim.x;
    unsigned value = in[t], before, keys[1] = {value};
    Scan(kept.scan).ExclusiveSum(value, before);
    out[t] = before;
    __syncthreads();
    unsigned highest = Reduce(kept.reduce).Reduce(value, cub::Max());
    if (t == 0)
        out[4 * n] = highest;
    __syncthreads();
    unsigned sum = Warp(kept.warps[t / 32]).Sum(value);
    out[n + t] = t % 32 == 0 ? sum : 0;
    __syncthreads();
    Sort(kept.sort).Sort(keys);
    out[2 * n + t] = keys[0];
    // The program's own functions are those of warps of 32 lanes.
    out[3 * n + t] = __shfl_xor_sync(0xffffffff, value, 31) + warpSize;
}
