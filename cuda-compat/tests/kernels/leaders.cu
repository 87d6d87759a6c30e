// Values that one lane of a warp has, and that the others read: CUDA programs leave the variable of the others unset.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// One atomic for the active lanes, as in NVIDIA's blog.
__device__ unsigned add_for_all(unsigned *counter)
{
    unsigned mask = __activemask(), lane = threadIdx.x % 32, first;
    int leader = __ffs(mask) - 1;
    if (lane == leader)
        first = atomicAdd(counter, __popc(mask));
    first = __shfl_sync(mask, first, leader);
    return first + __popc(mask & ((1u << lane) - 1));
}

extern "C" __global__ void aggregated(unsigned *counter, unsigned *places)
{
    if (threadIdx.x % 3 == 0)
        places[threadIdx.x] = add_for_all(counter);
}

// The program's own function around a shuffle.
template <class T> __device__ __noinline__ T broadcast(T value, int lane) { return __shfl_sync(0xffffffff, value, lane); }

struct Large { unsigned first; double second[3]; };

// Lane 5 of each warp adds to the counter; then the lanes exchange what it got, plus 40.
#define LEADER(name, type, exchange)                                                                                    \
    extern "C" __global__ void name(unsigned *counter, unsigned *out)                                                   \
    {                                                                                                                   \
        auto tile = cg::tiled_partition<32>(cg::this_thread_block());                                                   \
        auto group = cg::coalesced_threads();                                                                           \
        unsigned all = 0xffffffff, lane = threadIdx.x % 32;                                                             \
        type v;                                                                                                         \
        if (lane == 5)                                                                                                  \
            v = (type)(atomicAdd(counter, 1) + 40);                                                                     \
        out[threadIdx.x] = (unsigned)(exchange);                                                                        \
    }
LEADER(indexed, unsigned, __shfl_sync(all, v, 5))
LEADER(indexed_half, unsigned short, __shfl_sync(all, v, 5))
LEADER(indexed_double, double, __shfl_sync(all, v, 5))
LEADER(old_indexed, unsigned, __shfl(v, 5))
LEADER(up, unsigned, __shfl_up_sync(all, v, (lane - 5) & 31))
LEADER(down, unsigned, __shfl_down_sync(all, v, (5 - lane) & 31))
LEADER(crossed, unsigned, __shfl_xor_sync(all, v, lane ^ 5))
LEADER(wrapped, unsigned, broadcast(v, 5))
LEADER(of_tile, unsigned, tile.shfl(v, 5))
LEADER(up_tile, unsigned, tile.shfl_up(v, (lane - 5) & 31))
LEADER(down_tile, unsigned, tile.shfl_down(v, (5 - lane) & 31))
LEADER(crossed_tile, unsigned, tile.shfl_xor(v, lane ^ 5))
LEADER(of_group, unsigned, group.shfl(v, 5 + lane / 32))
LEADER(voted, int, 40 + 0 * (__ballot_sync(all, v) + __any_sync(all, v) + __all_sync(all, v) + __uni_sync(all, v) + __ballot(v)))
LEADER(voted_tile, int, 40 + 0 * (tile.ballot(v) + tile.any(v) + tile.all(v) + group.ballot(v) + group.any(v) + group.all(v)))
LEADER(matched, int, __match_any_sync(all, v) >> lane & 1 ? 40 : 0)
LEADER(matched_all, int, (__match_all_sync(all, v, &v), 40))
LEADER(matched_tile, int, tile.match_any(v) >> lane & 1 ? 40 : 0)
LEADER(reduced, unsigned, 40 + 0 * (__reduce_add_sync(all, v) + __reduce_max_sync(all, v) + __reduce_xor_sync(all, v)))
LEADER(reduced_tile, unsigned, 40 + 0 * (cg::reduce(tile, v, cg::plus<unsigned>()) + cg::inclusive_scan(tile, v) + cg::exclusive_scan(tile, v)))

extern "C" __global__ void structs(unsigned *counter, unsigned *out)
{
    Large value;
    if (threadIdx.x % 32 == 5)
        value.first = atomicAdd(counter, 1) + 40;
    out[threadIdx.x] = __shfl_sync(0xffffffff, value, 5).first;
}
