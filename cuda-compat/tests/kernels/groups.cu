// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define I (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void tile_reduce(const int *x, int *y, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    y[I] = cg::reduce(tile, x[I], cg::plus<int>());
}
extern "C" __global__ void small_tile(const int *x, int *y, int n) {
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    y[I] = cg::reduce(tile, x[I], cg::greater<int>()) * 100 + int(tile.thread_rank()) * 10 + int(tile.meta_group_rank() % 10);
}
extern "C" __global__ void tile_votes(const int *x, int *y, int n) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    y[I] = int(tile.ballot(x[I] > 0)) + 256 * tile.any(x[I] > 90) + 512 * tile.all(x[I] > -90);
}
extern "C" __global__ void tile_shuffles(const int *x, int *y, int n) {
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
    y[I] = tile.shfl(x[I], 2) + tile.shfl_up(x[I], 1) + tile.shfl_down(x[I], 1) + tile.shfl_xor(x[I], 8);
}
extern "C" __global__ void tile_scan(const int *x, int *y, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    y[I] = cg::inclusive_scan(tile, x[I]) * 2 - cg::exclusive_scan(tile, x[I]);
}
extern "C" __global__ void coalesced(const int *x, int *y, int n) {
    if (x[I] % 3 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        y[I] = cg::reduce(group, x[I], cg::plus<int>()) + int(group.size()) * 1000 + int(group.thread_rank()) * 100000;
    }
}
// One addition a warp for its active threads.
extern "C" __global__ void aggregated(const int *x, int *y, int n) {
    if (x[I] > 0) {
        auto group = cg::coalesced_threads();
        int base = 0;
        if (group.thread_rank() == 0) base = atomicAdd(&y[0], int(group.size()));
        base = group.shfl(base, 0) + group.thread_rank();
        atomicAdd(&y[1], base); // 0 + 1 + ... of all places
    }
}
extern "C" __global__ void block_group(const int *x, int *y, int n) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ int held[128];
    held[block.thread_rank()] = x[I];
    block.sync();
    y[I] = held[block.size() - 1 - block.thread_rank()] + int(block.group_index().x);
}
