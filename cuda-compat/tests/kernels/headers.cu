// Headers of CUDA: barriers, pipelines, copies, complex numbers, tuples, and small floating-point numbers.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuComplex.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/tuple>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>

namespace cg = cooperative_groups;

// Each thread reads what its neighbour in another warp has written.
extern "C" __global__ void barriers(const int *in, int *out)
{
    // Programs reserve 8 bytes for a barrier.
    __shared__ __align__(8) unsigned char shared[8 + 128 * sizeof(int)];
    auto &barrier = reinterpret_cast<cuda::barrier<cuda::thread_scope_block> &>(shared[0]);
    int *kept = reinterpret_cast<int *>(&shared[8]);
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0)
        init(&barrier, n);
    __syncthreads();
    for (int round = 0; round < 3; ++round) {
        cuda::memcpy_async(&kept[t], &in[t], sizeof(int), barrier);
        barrier.arrive_and_wait();
        const bool later = {round}; // NVIDIA's compiler only warns of it
        out[round * n + t] = kept[n - 1 - t] + later * round;
        auto token = barrier.arrive();
        barrier.wait(static_cast<decltype(token) &&>(token));
    }
}

extern "C" __global__ void pipelines(const int *in, int *out)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int stages[2][128];
    auto block = cg::this_thread_block();
    int t = block.thread_rank(), n = block.size(), sum = 0;
    auto pipe = cuda::make_pipeline(block, &state);
    for (int stage = 0; stage < 4; ++stage) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, stages[stage % 2], in + stage * n, cuda::aligned_size_t<4>(n * sizeof(int)), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        sum = sum * 3 + stages[stage % 2][(t + 1) % n];
        pipe.consumer_release();
    }
    out[t] = sum;
    auto own = cuda::make_pipeline();
    own.producer_acquire();
    cuda::memcpy_async(&stages[0][t], in + t, sizeof(int), own);
    own.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(own);
    block.sync();
    out[n + t] = stages[0][t ^ 1];
    block.sync();
    cg::memcpy_async(block, stages[0], in, n * sizeof(int));
    cg::memcpy_async(block, stages[1], n - 5, in + n, n);
    cg::wait(block);
    out[2 * n + t] = stages[0][n - 1 - t] + (t < n - 5 ? stages[1][t] : 0);
}

extern "C" __global__ void complexes(const float *in, float *out, double *out64)
{
    int t = threadIdx.x, n = blockDim.x;
    cuFloatComplex a = make_cuFloatComplex(in[2 * t], in[2 * t + 1]), b = make_cuComplex(2, -1);
    cuFloatComplex c = cuCaddf(cuCmulf(a, b), cuConjf(cuCdivf(a, b)));
    out[t] = cuCrealf(c) + cuCabsf(a);
    out[n + t] = cuCimagf(c);
    cuda::std::complex<double> x(in[2 * t], in[2 * t + 1]), y = sqrt(x) * sqrt(x) + 2.0 * x - x / (x + 1.0);
    y += exp(log(x));
    out64[t] = y.real();
    out64[n + t] = y.imag() + norm(x) + abs(x);
}

extern "C" __global__ void tuples(int *out)
{
    cuda::std::tuple<int, float, unsigned char> all(1, 2.5f, 3);
    auto other = cuda::std::make_tuple(4, 5.0f, (unsigned char)6);
    out[0] = cuda::std::get<0>(all) + (int)(2 * cuda::std::get<1>(all)) + cuda::std::get<2>(other);
    auto [first, second, third] = other;
    out[1] = first * 100 + (int)second * 10 + third;
    int a = 1, b = 2;
    cuda::std::tie(a, b) = cuda::std::make_tuple(b, a);
    out[2] = 10 * a + b;
    out[3] = (all < other) + 2 * (all == all) + 4 * (int)cuda::std::tuple_size_v<decltype(all)>;
    out[4] = cuda::std::apply([](int x, float y, int z) { return x + (int)y + z; }, all);
    cuda::std::get<0>(all) = 9;
    out[5] = cuda::std::get<0>(all);
    out[6] = INT_LEAST16_MAX + UINT8_C(3) + (UINT64_C(1) == 1) + (INTMAX_MAX == INT64_MAX);
}

// For each number: fp4 and both kinds of fp6, with their values.
extern "C" __global__ void small(const float *in, unsigned char *bits, float *values)
{
    int t = threadIdx.x, n = blockDim.x;
    __nv_fp4_e2m1 a(in[t]);
    __nv_fp6_e2m3 b(in[t]);
    __nv_fp6_e3m2 c(in[t]);
    bits[t] = a.__x;
    bits[n + t] = b.__x;
    bits[2 * n + t] = c.__x;
    bits[3 * n + t] = __nv_cvt_float_to_fp6(in[t], __NV_E3M2, cudaRoundZero);
    values[t] = (float)a;
    values[n + t] = (float)b;
    values[2 * n + t] = (float)c;
    __nv_fp4x2_e2m1 pair(make_float2(in[t], -in[t]));
    values[3 * n + t] = ((float2)pair).x - ((float2)pair).y;
}

extern "C" __global__ void masks(const float *in, unsigned *out)
{
    int t = threadIdx.x, n = blockDim.x;
    __half2 a = __floats2half2_rn(in[2 * t], in[2 * t + 1]), zero = __float2half2_rn(0.0f);
    __nv_bfloat162 b = __floats2bfloat162_rn(in[2 * t], in[2 * t + 1]), none = __float2bfloat162_rn(0.0f);
    out[t] = __hgt2_mask(a, zero);
    out[n + t] = __hleu2_mask(a, zero);
    out[2 * n + t] = __hne2_mask(a, zero);
    out[3 * n + t] = __hge2_mask(b, none);
}
