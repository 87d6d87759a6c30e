// Ballots, masks of lanes, matches and reductions.

extern "C" __global__ void ballot_words(const int *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned word = __ballot_sync(0xffffffff, in[i] > 0);
    if (i % 32 == 0)
        out[i / 32] = word;
}

// The positive numbers, in their order, of each warp.
extern "C" __global__ void compact(const int *in, int *out, int *counts)
{
    unsigned i = threadIdx.x, lane = i & 31, warp = i / 32;
    bool keep = in[i] > 0;
    unsigned kept = __ballot_sync(0xffffffffu, keep);
    if (keep)
        out[warp * 32 + __popc(kept & ((1u << lane) - 1))] = in[i];
    if (lane == 0)
        counts[warp] = __popc(kept);
}

extern "C" __global__ void any_all(const int *in, int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int any = __any_sync(0xffffffff, in[i] == 7), all = __all_sync(0xffffffff, in[i] < 100);
    // A lane that calls it must be in its mask.
    int some = 0;
    if ((i & 31) < 16)
        some = __all_sync(0x0000ffff, i < 1000);
    out[i] = any + 2 * all + 4 * some;
}

// One atomic for the lanes that are here, as CUDA's guide has it.
extern "C" __global__ void aggregated(const int *in, int *counter, int *places)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    if (in[i] % 3 == 0) {
        unsigned mask = __activemask();
        int leader = __ffs(mask) - 1, base = 0;
        if (lane == leader)
            base = atomicAdd(counter, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        places[i] = base + __popc(mask & ((1u << lane) - 1));
    } else {
        places[i] = -1;
    }
}

// A histogram with one atomic for each value in a warp.
extern "C" __global__ void matched(const int *in, int *bins, unsigned *masks)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned peers = __match_any_sync(0xffffffff, in[i]);
    masks[i] = peers;
    if ((threadIdx.x & 31) == __ffs(peers) - 1)
        atomicAdd(&bins[in[i]], __popc(peers));
}

extern "C" __global__ void all_match(const int *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int same;
    unsigned mask = __match_all_sync(0xffffffff, in[i], &same);
    out[i] = same ? mask : 1;
}

extern "C" __global__ void reductions(const int *in, int *out)
{
    unsigned i = threadIdx.x, n = blockDim.x;
    out[i] = __reduce_add_sync(0xffffffff, in[i]);
    out[n + i] = __reduce_min_sync(0xffffffff, in[i]);
    out[2 * n + i] = (int)__reduce_max_sync(0xffffffff, (unsigned)in[i]);
    out[3 * n + i] = (int)__reduce_xor_sync(0xffffffff, (unsigned)in[i]);
    out[4 * n + i] = -1;
    if (i & 1)
        out[4 * n + i] = __reduce_add_sync(0xaaaaaaaa, in[i]);
}

// What one lane writes the others of its warp see.
extern "C" __global__ void through_shared(const int *in, int *out)
{
    __shared__ int place[1024];
    unsigned i = threadIdx.x;
    place[i] = in[i];
    __syncwarp();
    out[i] = place[i ^ 31];
    __syncwarp(0xffffffff);
}
