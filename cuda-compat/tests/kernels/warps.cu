// Shuffles, ballots, matches, reductions of a warp of 32 lanes. One element a thread; blocks of 128.
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define FULL 0xffffffff

extern "C" __global__ void shfl_broadcast(const int *x, int *y, int n) { y[I] = __shfl_sync(FULL, x[I], 5); }
extern "C" __global__ void shfl_width(const int *x, int *y, int n) { y[I] = __shfl_sync(FULL, x[I], 3, 8); }
extern "C" __global__ void shfl_up(const int *x, int *y, int n) { y[I] = __shfl_up_sync(FULL, x[I], 3); }
extern "C" __global__ void shfl_down(const int *x, int *y, int n) { y[I] = __shfl_down_sync(FULL, x[I], 7, 16); }
extern "C" __global__ void shfl_xor(const int *x, int *y, int n) { y[I] = __shfl_xor_sync(FULL, x[I], 9); }
extern "C" __global__ void shfl_double(const int *x, int *y, int n) { y[I] = int(__shfl_xor_sync(FULL, x[I] * 1.5, 16) * 2); }
struct Pair { int a; short b; };
extern "C" __global__ void shfl_struct(const int *x, int *y, int n) {
    Pair p = {x[I], short(x[I] * 2)};
    p = __shfl_down_sync(FULL, p, 1);
    y[I] = p.a + p.b;
}
extern "C" __global__ void warp_sum(const int *x, int *y, int n) {
    int v = x[I];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(FULL, v, d);
    if (threadIdx.x % 32 == 0) y[I / 32] = v;
}
extern "C" __global__ void block_sum(const int *x, int *y, int n) {
    __shared__ int parts[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize, v = x[I];
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_xor_sync(FULL, v, d);
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / warpSize ? parts[lane] : 0;
        for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(FULL, v, d);
        if (lane == 0) y[blockIdx.x] = v;
    }
}
extern "C" __global__ void warp_scan(const int *x, int *y, int n) {
    int v = x[I], lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += other;
    }
    y[I] = v;
}
extern "C" __global__ void ballot(const int *x, int *y, int n) { y[I] = int(__ballot_sync(FULL, x[I] > 0)); }
extern "C" __global__ void ballot_half(const int *x, int *y, int n) { y[I] = int(__ballot_sync(0x0000ffff, x[I] > 0)); }
extern "C" __global__ void any_all(const int *x, int *y, int n) {
    y[I] = (__any_sync(FULL, x[I] > 40) ? 1 : 0) + (__all_sync(FULL, x[I] > -50) ? 2 : 0);
}
extern "C" __global__ void active_mask(const int *x, int *y, int n) {
    if (threadIdx.x % 3 == 0) y[I] = int(__activemask());
}
extern "C" __global__ void compact(const int *x, int *y, int n) {
    unsigned keep = __ballot_sync(FULL, x[I] % 2 == 0), lane = threadIdx.x % 32;
    if (keep >> lane & 1) y[(I & ~31) + __popc(keep & ((1u << lane) - 1))] = x[I];
}
extern "C" __global__ void match_any(const int *x, int *y, int n) { y[I] = int(__match_any_sync(FULL, x[I] & 3)); }
extern "C" __global__ void match_all(const int *x, int *y, int n) {
    int all;
    unsigned mask = __match_all_sync(FULL, threadIdx.x < 32 ? 7 : x[I], &all);
    y[I] = all + 2 * (mask == FULL);
}
extern "C" __global__ void reduce_add(const int *x, int *y, int n) { y[I] = __reduce_add_sync(FULL, x[I]); }
extern "C" __global__ void reduce_max(const int *x, int *y, int n) { y[I] = __reduce_max_sync(FULL, x[I]); }
extern "C" __global__ void reduce_xor(const int *x, int *y, int n) { y[I] = int(__reduce_xor_sync(FULL, unsigned(x[I]))); }
extern "C" __global__ void sync_warp(const int *x, int *y, int n) {
    __shared__ int held[128];
    held[threadIdx.x] = x[I];
    __syncwarp();
    y[I] = held[threadIdx.x ^ 1];
}
extern "C" __global__ void old_names(const int *x, int *y, int n) { y[I] = __shfl_xor(x[I], 1) + __shfl(x[I], 0, 16); }
