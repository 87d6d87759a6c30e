// Headers of C++ and of cuda::std.
#include <algorithm>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <math_constants.h>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/limits>
#include <cuda/std/utility>

extern "C" __global__ void limits(double *out)
{
    out[0] = std::numeric_limits<float>::max();
    out[1] = cuda::std::numeric_limits<int32_t>::min();
    out[2] = (double)std::numeric_limits<uint64_t>::max();
    out[3] = -std::numeric_limits<double>::infinity();
    out[4] = std::numeric_limits<float>::epsilon();
    out[5] = (double)INT64_MIN;
    out[6] = CHAR_BIT + sizeof(uintptr_t);
    out[7] = CUDART_PI;
    out[8] = std::numeric_limits<signed char>::lowest();
    out[9] = INFINITY;
}

extern "C" __global__ void functions(const float *in, float *out)
{
    int i = threadIdx.x;
    float x = in[i];
    assert(x == x);
    out[i] = std::max(std::sqrt(std::abs(x)), 0.5f) + cuda::std::min(std::exp(x), 10.0f) + std::pow(std::fabs(x), 1.5f);
}

extern "C" __global__ void references(unsigned *counter, int *highest)
{
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(*counter);
    count.fetch_add(2, cuda::std::memory_order_relaxed);
    ++count;
    cuda::atomic_ref<int> top(*highest);
    top.fetch_max((int)(blockIdx.x * 1000 + threadIdx.x));
    __shared__ cuda::std::atomic<int> block;
    if (threadIdx.x == 0)
        block.store(0);
    __syncthreads();
    block += 1;
    __syncthreads();
    if (threadIdx.x == 0 && block.load() != (int)blockDim.x)
        *highest = -1;
}

// A lock: one lane at a time.
extern "C" __global__ void locked(int *lock, int *count)
{
    for (int lane = 0; lane < 32; ++lane) {
        if ((threadIdx.x & 31) == lane) {
            cuda::atomic_ref<int, cuda::thread_scope_device> holder(*lock);
            bool done = false;
            while (!done) {
                int free = 0;
                if (holder.compare_exchange_strong(free, 1)) {
                    *(volatile int *)count = *(volatile int *)count + 1;
                    __threadfence();
                    holder.store(0, cuda::std::memory_order_release);
                    done = true;
                }
            }
        }
    }
}

extern "C" __global__ void parts(const int *in, int *out)
{
    cuda::std::array<int, 4> values{in[0], in[1], in[2], in[3]};
    cuda::std::swap(values[0], values[3]);
    auto ends = cuda::std::make_pair(values[0], values[3]);
    out[0] = ends.first * 10 + ends.second;
    out[1] = cuda::std::popcount(255u) + cuda::std::countl_zero(1u);
    out[2] = cuda::std::bit_cast<int>(1.0f);
    int copy[4];
    memcpy(copy, in, sizeof(copy));
    memmove(copy + 1, copy, 3 * sizeof(int));
    out[3] = copy[3] * 10 + (memcmp(in, copy, 4) == 0);
    out[4] = std::clamp(in[2], 0, 2);
}
