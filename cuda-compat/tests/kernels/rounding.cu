// Arithmetic with a rounding mode: towards zero, up and down.
#define ALL(f, add, sub, mul, fma, div, sqrt, rcp, m, mode)                                                             \
    out[(0 * 3 + mode) * n + i] = add##_##m(x, y);                                                                      \
    out[(1 * 3 + mode) * n + i] = mul##_##m(x, y);                                                                      \
    out[(2 * 3 + mode) * n + i] = fma##_##m(x, y, z);                                                                   \
    out[(3 * 3 + mode) * n + i] = div##_##m(x, y);                                                                      \
    out[(4 * 3 + mode) * n + i] = sqrt##_##m(x < 0 ? -x : x);                                                           \
    out[(5 * 3 + mode) * n + i] = sub##_##m(x, y);                                                                      \
    out[(6 * 3 + mode) * n + i] = rcp##_##m(y);

extern "C" __global__ void floats(const float *a, const float *b, const float *c, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], y = b[i], z = c[i];
    ALL(f, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, rz, 0)
    ALL(f, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, ru, 1)
    ALL(f, __fadd, __fsub, __fmul, __fmaf, __fdiv, __fsqrt, __frcp, rd, 2)
}

extern "C" __global__ void doubles(const double *a, const double *b, const double *c, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double x = a[i], y = b[i], z = c[i];
    ALL(d, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, rz, 0)
    ALL(d, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, ru, 1)
    ALL(d, __dadd, __dsub, __dmul, __fma, __ddiv, __dsqrt, __drcp, rd, 2)
}

extern "C" __global__ void conversions(const long long *in, float *narrow, float *whole, double *wide)
{
    int i = threadIdx.x, n = blockDim.x;
    long long a = in[i];
    double value = (double)a / 3.0;
    narrow[i] = __double2float_rz(value);
    narrow[n + i] = __double2float_ru(value);
    narrow[2 * n + i] = __double2float_rd(value);
    whole[i] = __ll2float_rz(a);
    whole[n + i] = __ll2float_ru(a);
    whole[2 * n + i] = __ll2float_rd(a);
    whole[3 * n + i] = __ull2float_ru((unsigned long long)a);
    whole[4 * n + i] = __int2float_rd((int)a);
    whole[5 * n + i] = __uint2float_ru((unsigned)a);
    wide[i] = __ull2double_rz((unsigned long long)a);
    wide[n + i] = __ll2double_ru(a);
    wide[2 * n + i] = __ll2double_rd(a);
}
