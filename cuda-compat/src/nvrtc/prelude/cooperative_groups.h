// cooperative_groups.h: groups of threads. Tiles and coalesced groups are within a warp.
#pragma once

namespace __cuda_compat {
namespace groups {

__device__ inline unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline unsigned block_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

class thread_block {
public:
    static constexpr bool is_block = true;
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned thread_rank() { return block_rank(); }
    __device__ static unsigned size() { return block_size(); }
    __device__ static unsigned num_threads() { return block_size(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __device__ static dim3 dim_threads() { return group_dim(); }
};
__device__ inline thread_block this_thread_block() { return thread_block(); }

// All threads of a cooperative launch.
class grid_group {
public:
    __device__ static bool is_valid() { return __ockl_grid_is_valid() != 0; }
    __device__ static void sync() { __ockl_grid_sync(); }
    __device__ static unsigned long long block_rank() { return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    __device__ static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    __device__ static unsigned long long thread_rank() { return block_rank() * block_size() + groups::block_rank(); }
    __device__ static unsigned long long size() { return num_blocks() * block_size(); }
    __device__ static unsigned long long num_threads() { return size(); }
    __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    __device__ static dim3 dim_blocks() { return group_dim(); }
    __device__ static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
__device__ inline grid_group this_grid() { return grid_group(); }

// Some lanes of a warp, in their order. The members are those of the mask.
class coalesced_group {
protected:
    mask_t mask;
    unsigned group = 0, groups = 1;
    __device__ unsigned lane_of(unsigned rank) const {
        mask_t rest = mask;
        for (unsigned i = 0; i < rank % size(); ++i) rest &= rest - 1;
        return first(rest);
    }
public:
    __device__ explicit coalesced_group(mask_t mask) : mask(mask) {}
    __device__ coalesced_group(mask_t mask, unsigned group, unsigned groups) : mask(mask), group(group), groups(groups) {}
    __device__ void sync() const { __cuda_compat::sync(); }
    __device__ unsigned thread_rank() const { return count(mask & lower(lane())); }
    __device__ unsigned size() const { return count(mask); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned meta_group_rank() const { return group; }
    __device__ unsigned meta_group_size() const { return groups; }
    __device__ mask_t lanes() const { return mask; }
    template <class T> __device__ T shfl(CUDA_COMPAT_MAYBE_UNDEF T value, int rank) const { return from(value, lane_of(rank)); }
    template <class T> __device__ T shfl_up(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta) const {
        unsigned rank = thread_rank();
        return from(value, rank < delta ? lane() : lane_of(rank - delta));
    }
    template <class T> __device__ T shfl_down(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta) const {
        unsigned rank = thread_rank();
        return from(value, rank + delta >= size() ? lane() : lane_of(rank + delta));
    }
    // Masks of threads are by rank, not by lane.
    __device__ mask_t ranks(mask_t lanes) const {
        mask_t result = 0;
        unsigned rank = 0;
        for (mask_t rest = mask; rest; rest &= rest - 1, ++rank) {
            if (lanes >> first(rest) & 1) result |= bit(rank);
        }
        return result;
    }
    __device__ mask_t ballot(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return ranks(__cuda_compat::ballot(predicate) & mask); }
    __device__ int any(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return (__cuda_compat::ballot(predicate) & mask) != 0; }
    __device__ int all(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return (__cuda_compat::ballot(!predicate) & mask) == 0; }
    template <class T> __device__ mask_t match_any(CUDA_COMPAT_MAYBE_UNDEF T value) const { return ranks(__match_any_sync(mask, value)); }
    template <class T> __device__ mask_t match_all(CUDA_COMPAT_MAYBE_UNDEF T value, int &predicate) const { return ranks(__match_all_sync(mask, value, &predicate)); }
};
__device__ inline coalesced_group coalesced_threads() { return coalesced_group(active()); }

// As many neighbouring lanes as a power of two.
template <unsigned width, class Parent = void> class thread_block_tile {
    static_assert(width > 0 && (width & (width - 1)) == 0, "the size of a tile is a power of two");
#if CUDA_COMPAT_WARP_SIZE == 32
    static_assert(width <= 32, "tiles of several warps are not supported: use the block");
#else
    static_assert(width <= 64, "tiles of several warps are not supported: use the block");
#endif
    unsigned group, groups;
public:
    __device__ thread_block_tile(unsigned group, unsigned groups) : group(group), groups(groups) {}
    __device__ thread_block_tile() : thread_block_tile(block_rank() / width, (block_size() + width - 1) / width) {}
    // Of any parent.
    template <class Other> __device__ thread_block_tile(const thread_block_tile<width, Other> &other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}
    __device__ void sync() const { __cuda_compat::sync(); }
    __device__ unsigned thread_rank() const { return lane() & (width - 1); }
    __device__ static constexpr unsigned size() { return width; }
    __device__ static constexpr unsigned num_threads() { return width; }
    __device__ unsigned meta_group_rank() const { return group; }
    __device__ unsigned meta_group_size() const { return groups; }
    __device__ mask_t lanes() const {
        mask_t all = width == 8 * sizeof(mask_t) ? ~(mask_t)0 : (mask_t)(((unsigned long long)1 << (width & 63)) - 1);
        return all << (lane() & ~(width - 1));
    }
    template <class T> __device__ T shfl(CUDA_COMPAT_MAYBE_UNDEF T value, int rank) const { return shuffle(value, rank, width); }
    template <class T> __device__ T shfl_up(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta) const { return shuffle_up(value, delta, width); }
    template <class T> __device__ T shfl_down(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned delta) const { return shuffle_down(value, delta, width); }
    template <class T> __device__ T shfl_xor(CUDA_COMPAT_MAYBE_UNDEF T value, unsigned mask) const { return shuffle_xor(value, (int)mask, width); }
    __device__ mask_t ranks(mask_t lanes) const { return lanes >> (lane() & ~(width - 1)); }
    __device__ mask_t ballot(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return ranks(__cuda_compat::ballot(predicate) & lanes()); }
    __device__ int any(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return (__cuda_compat::ballot(predicate) & lanes()) != 0; }
    __device__ int all(CUDA_COMPAT_MAYBE_UNDEF int predicate) const { return (__cuda_compat::ballot(!predicate) & lanes()) == 0; }
    template <class T> __device__ mask_t match_any(CUDA_COMPAT_MAYBE_UNDEF T value) const { return ranks(__match_any_sync(lanes(), value)); }
    template <class T> __device__ mask_t match_all(CUDA_COMPAT_MAYBE_UNDEF T value, int &predicate) const {
        return ranks(__match_all_sync(lanes(), value, &predicate));
    }
    __device__ operator coalesced_group() const { return coalesced_group(lanes(), group, groups); }
};

// Any of the groups, with what is common. CUDA's has virtual functions; this one keeps which it is.
class thread_group {
    enum { block, lanes_ } kind;
    mask_t mask;
public:
    __device__ thread_group(const thread_block &) : kind(block), mask(0) {}
    __device__ thread_group(const coalesced_group &group) : kind(lanes_), mask(group.lanes()) {}
    template <unsigned width, class P> __device__ thread_group(const thread_block_tile<width, P> &tile) : kind(lanes_), mask(tile.lanes()) {}
    __device__ void sync() const { if (kind == block) __syncthreads(); else __cuda_compat::sync(); }
    __device__ unsigned thread_rank() const { return kind == block ? block_rank() : count(mask & lower(lane())); }
    __device__ unsigned size() const { return kind == block ? block_size() : count(mask); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ bool is_block() const { return kind == block; }
    __device__ mask_t lanes() const { return kind == block ? full() : mask; }
};

template <unsigned width> __device__ inline thread_block_tile<width, thread_block> tiled_partition(const thread_block &) {
    return thread_block_tile<width, thread_block>();
}
template <unsigned width, unsigned parent, class P>
__device__ inline thread_block_tile<width, thread_block_tile<parent, P>> tiled_partition(const thread_block_tile<parent, P> &) {
    static_assert(width <= parent, "a tile is a part of its parent");
    return thread_block_tile<width, thread_block_tile<parent, P>>((lane() & (parent - 1)) / width, parent / width);
}
// Of so many threads of the block, or of a group within a warp.
__device__ inline coalesced_group tiled_partition(const thread_group &parent, unsigned width) {
    if (parent.is_block()) {
        mask_t all = width >= 8 * sizeof(mask_t) ? ~(mask_t)0 : bit(width) - 1;
        return coalesced_group((all << (lane() & ~(width - 1))) & active(), block_rank() / width, (block_size() + width - 1) / width);
    }
    mask_t mine = 0;
    unsigned part = parent.thread_rank() / width, rank = 0;
    for (mask_t rest = parent.lanes(); rest; rest &= rest - 1, ++rank) {
        if (rank / width == part) mine |= bit(first(rest));
    }
    return coalesced_group(mine, part, (parent.size() + width - 1) / width);
}
// The members with the same value, and those with the same answer.
template <class G, class T> __device__ inline coalesced_group labeled_partition(const G &parent, CUDA_COMPAT_MAYBE_UNDEF T label) {
    return coalesced_group(__match_any_sync(parent.lanes(), label));
}
template <class G> __device__ inline coalesced_group binary_partition(const G &parent, CUDA_COMPAT_MAYBE_UNDEF bool predicate) {
    mask_t yes = __cuda_compat::ballot(predicate) & parent.lanes();
    return coalesced_group(predicate ? yes : parent.lanes() & ~yes);
}

template <class G> __device__ inline void sync(const G &group) { group.sync(); }
template <class G> __device__ inline auto thread_rank(const G &group) { return group.thread_rank(); }
template <class G> __device__ inline auto group_size(const G &group) { return group.size(); }

template <class G, class F> __device__ inline void invoke_one(const G &group, F function) {
    if (group.thread_rank() == 0) function();
}

} // namespace groups
} // namespace __cuda_compat

// HIPRTC has a namespace of this name, with less in it.
#define cooperative_groups __cuda_compat_cooperative_groups
namespace cooperative_groups {
using namespace ::__cuda_compat::groups;
using ::__cuda_compat::groups::sync;
} // namespace cooperative_groups
