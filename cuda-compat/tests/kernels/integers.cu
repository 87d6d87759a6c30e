// Integer intrinsics: bytes, bits and dot products.

extern "C" __global__ void dots(const int *a, const int *b, int *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __dp4a(a[i], b[i], 100);
    out[n + i] = (int)__dp4a((unsigned)a[i], (unsigned)b[i], 100u);
    out[2 * n + i] = __dp2a_lo(a[i], b[i], 7);
    out[3 * n + i] = __dp2a_hi(a[i], b[i], 7);
}

extern "C" __global__ void bytes(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __vadd4(a[i], b[i]);
    out[n + i] = __vsubss4(a[i], b[i]);
    out[2 * n + i] = __vcmpgtu4(a[i], b[i]);
    out[3 * n + i] = __vmaxs2(a[i], b[i]);
    out[4 * n + i] = __vsadu4(a[i], b[i]);
    out[5 * n + i] = __vavgu4(a[i], b[i]);
    out[6 * n + i] = __vabs4(a[i]);
    out[7 * n + i] = __vaddus2(a[i], b[i]);
}

extern "C" __global__ void bits(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __byte_perm(a[i], b[i], 0x2507);
    out[n + i] = __funnelshift_l(a[i], b[i], b[i]);
    out[2 * n + i] = __funnelshift_rc(a[i], b[i], b[i] & 63);
    out[3 * n + i] = __brev(a[i]) ^ (unsigned)__clz(b[i]) ^ (unsigned)__ffs(a[i]);
    out[4 * n + i] = __umulhi(a[i], b[i]) + umin(a[i], b[i]) - umax(a[i], 17u);
    out[5 * n + i] = (unsigned)__mulhi((int)a[i], (int)b[i]) + __popcll(((unsigned long long)a[i] << 32) | b[i]);
}

extern "C" __global__ void clocks(long long *out)
{
    long long start = clock64();
    __nanosleep(2000);
    out[0] = clock64() - start;
    out[1] = (long long)clock();
    if (out[0] < 0)
        __trap();
}

extern "C" __global__ void rounding(const float *a, const float *b, float *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __fadd_rz(a[i], b[i]);
    out[n + i] = __fmul_rz(a[i], b[i]);
}
