// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_reduce(const int *in, int *sums, int *maxima)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int i = blockIdx.x * block.size() + block.thread_rank();
    int sum = cg::reduce(tile, in[i], cg::plus<int>()), highest = cg::reduce(tile, in[i], cg::greater<int>());
    if (tile.thread_rank() == 0) {
        sums[i / 32] = sum;
        maxima[i / 32] = highest;
    }
}

extern "C" __global__ void small_tiles(const int *in, int *out)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    unsigned i = block.thread_rank(), n = block.num_threads();
    out[i] = eight.shfl(in[i], 3);
    out[n + i] = eight.shfl_xor(in[i], 5);
    out[2 * n + i] = (int)eight.ballot(in[i] & 1);
    out[3 * n + i] = (int)(eight.meta_group_rank() * 100 + eight.meta_group_size() * 10 + eight.thread_rank());
    out[4 * n + i] = (int)(warp.meta_group_rank() * 10 + warp.meta_group_size());
}

// The threads that took one branch.
extern "C" __global__ void coalesced(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = -1;
    if (in[i] % 3 == 1) {
        auto group = cg::coalesced_threads();
        int first = group.shfl(in[i], 0);
        out[i] = first * 1000 + (int)(group.thread_rank() * 32 + group.size() - 1);
    }
}

extern "C" __global__ void labels(const int *in, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto same = cg::labeled_partition(warp, in[i] % 4);
    out[i] = cg::reduce(same, in[i], cg::plus<int>());
    auto half = cg::binary_partition(warp, in[i] > 50);
    out[blockDim.x * gridDim.x + i] = (int)(half.thread_rank() * 100 + half.size());
}

extern "C" __global__ void scans(const int *in, int *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = threadIdx.x, n = blockDim.x;
    out[i] = cg::inclusive_scan(tile, in[i]);
    out[n + i] = cg::exclusive_scan(tile, in[i], cg::plus<int>());
}

// A reduction over a block through shared memory.
__device__ int sum(cg::thread_group group, int *shared, int v)
{
    unsigned lane = group.thread_rank();
    for (unsigned i = group.size() / 2; i > 0; i /= 2) {
        shared[lane] = v;
        group.sync();
        if (lane < i)
            v += shared[lane + i];
        group.sync();
    }
    return v;
}

extern "C" __global__ void thread_groups(const int *in, int *out)
{
    extern __shared__ int space[];
    cg::thread_block block = cg::this_thread_block();
    int all = sum(block, space, in[threadIdx.x]);
    cg::thread_group four = cg::tiled_partition(block, 4);
    int part = sum(four, space + (threadIdx.x & ~3), in[threadIdx.x]);
    if (threadIdx.x == 0)
        out[0] = all;
    if (four.thread_rank() == 0)
        out[1 + threadIdx.x / 4] = part;
}

// All blocks wait for each other: a cooperative launch.
extern "C" __global__ void whole_grid(const int *in, int *partial, int *out)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    atomicAdd(&partial[blockIdx.x], in[i]);
    grid.sync();
    if (i == 0) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b)
            sum += partial[b];
        out[0] = sum;
        out[1] = (int)grid.size();
    }
}
