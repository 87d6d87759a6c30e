// Half, bfloat16 and 8-bit floating-point numbers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void half_axpy(__half a, const __half2 *x, __half2 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

extern "C" __global__ void half_math(const __half *in, __half *out)
{
    int i = threadIdx.x, n = blockDim.x;
    __half a = in[i];
    out[i] = hexp(a);
    out[n + i] = hsqrt(__habs(a));
    out[2 * n + i] = a * a + __half(1.0f) - a / __half(2.0f);
    out[3 * n + i] = htanh(a);
    out[4 * n + i] = __int2half_rn(i) + __double2half(0.5);
}

// NaN: the other number, or NaN.
extern "C" __global__ void half_min_max(const __half *a, const __half *b, __half *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __hmax(a[i], b[i]);
    out[n + i] = __hmin(a[i], b[i]);
    out[2 * n + i] = __hmax_nan(a[i], b[i]);
    out[3 * n + i] = __hmin_nan(a[i], b[i]);
}

extern "C" __global__ void half_sum(const __half *in, __half *out)
{
    __half v = in[threadIdx.x];
    for (int offset = 16; offset > 0; offset >>= 1)
        v = __hadd(v, __shfl_xor_sync(0xffffffff, v, offset));
    out[threadIdx.x] = v;
}

extern "C" __global__ void bf16_round(const float *in, unsigned short *out, const double *in64, unsigned short *out64, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
        out64[i] = __bfloat16_as_ushort(__double2bfloat16(in64[i]));
    }
}

// A row for each block, summed in float.
extern "C" __global__ void bf16_gemv(const __nv_bfloat16 *matrix, const __nv_bfloat16 *x, float *y, int columns)
{
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += __bfloat162float(matrix[blockIdx.x * columns + i]) * (float)x[i];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

extern "C" __global__ void bf16_math(const __nv_bfloat162 *in, __nv_bfloat162 *out, __nv_bfloat16 *max)
{
    int i = threadIdx.x, n = blockDim.x;
    __nv_bfloat162 a = in[i];
    out[i] = __hmul2(a, a) + __float2bfloat162_rn(0.5f);
    out[n + i] = __hfma2(a, __bfloat162bfloat162(a.x), a);
    out[2 * n + i] = __nv_bfloat162(hexp(a.x), hsqrt(__habs(a.y)));
    max[i] = __hmax(a.x, a.y) > __nv_bfloat16(0.0f) ? a.x - a.y : -a.x;
}

extern "C" __global__ void fp8_values(float *e4m3, float *e5m2)
{
    int i = threadIdx.x;
    __nv_fp8_e4m3 a;
    a.__x = i;
    e4m3[i] = (float)a;
    e5m2[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(i, __NV_E5M2)));
}

extern "C" __global__ void fp8_round(const float *in, unsigned char *e4m3, unsigned char *e5m2)
{
    int i = threadIdx.x;
    e4m3[i] = __nv_fp8_e4m3(in[i]).__x;
    e5m2[i] = __nv_cvt_float_to_fp8(in[i], __NV_NOSAT, __NV_E5M2);
}
