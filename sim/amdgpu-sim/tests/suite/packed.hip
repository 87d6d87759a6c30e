// Two or four numbers in a register, dot products, and matrix instructions.

typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef short short2v __attribute__((ext_vector_type(2)));
typedef unsigned short ushort2v __attribute__((ext_vector_type(2)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));

template <typename To, typename From> __device__ To as(From x) { return __builtin_bit_cast(To, x); }

extern "C" __global__ void pairs(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* o = out + 16 * i;
    half2v x = as<half2v>(a[i]), y = as<half2v>(b[i]), z = as<half2v>(c[i]);
    short2v sx = as<short2v>(a[i]), sy = as<short2v>(b[i]), sz = as<short2v>(c[i]);
    ushort2v ux = as<ushort2v>(a[i]), uy = as<ushort2v>(b[i]);
    o[0] = as<unsigned>(x + y);
    o[1] = as<unsigned>(x * y);
    o[2] = as<unsigned>(__builtin_elementwise_fma(x, y, z));
    o[3] = as<unsigned>(__builtin_elementwise_fma(-x.yx, y, z.yy));
    o[4] = as<unsigned>(__builtin_elementwise_minnum(x, y));
    o[5] = as<unsigned>(__builtin_elementwise_maxnum(x, -y));
    o[6] = as<unsigned>((short2v)(sx + sy));
    o[7] = as<unsigned>((short2v)(sx * sy + sz));
    o[8] = as<unsigned>((short2v)(sx - sy.yx));
    o[9] = as<unsigned>(__builtin_elementwise_max(sx, sy));
    o[10] = as<unsigned>(__builtin_elementwise_min(ux, uy));
    o[11] = as<unsigned>((short2v)(sx >> (sy & (short)15)));
    o[12] = as<unsigned>((ushort2v)(ux >> (uy & (unsigned short)15)));
    o[13] = as<unsigned>((ushort2v)(ux << (uy & (unsigned short)15)));
    o[14] = as<unsigned>(__builtin_elementwise_add_sat(sx, sy));
    o[15] = as<unsigned>(__builtin_elementwise_sub_sat(ux, uy));
}

extern "C" __global__ void singles(const float2v* a, const float2v* b, const float2v* c, float2v* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] + b[i];
    out[4 * i + 1] = a[i] * b[i].yx;
    out[4 * i + 2] = __builtin_elementwise_fma(a[i], b[i], -c[i]);
    out[4 * i + 3] = __builtin_elementwise_fma(a[i].yy, b[i], c[i].yx);
}

extern "C" __global__ void dots(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* o = out + 9 * i;
    o[0] = __builtin_amdgcn_sdot4(a[i], b[i], c[i], false);
    o[1] = __builtin_amdgcn_udot4(a[i], b[i], c[i], false);
    o[2] = __builtin_amdgcn_sdot8(a[i], b[i], c[i], false);
    o[3] = __builtin_amdgcn_udot8(a[i], b[i], c[i], false);
    o[4] = __builtin_amdgcn_sdot2(as<short2v>(a[i]), as<short2v>(b[i]), c[i], false);
    o[5] = __builtin_amdgcn_udot2(as<ushort2v>(a[i]), as<ushort2v>(b[i]), c[i], false);
    o[6] = __builtin_amdgcn_sdot4(a[i], b[i], c[i], true);
    o[7] = __builtin_amdgcn_udot4(a[i], b[i], c[i], true);
    // Small whole numbers, whose products and sums are exact.
    half2v x = {(_Float16)(short)(a[i] & 63), (_Float16)(short)(a[i] >> 8 & 63)};
    half2v y = {(_Float16)(short)(b[i] & 63), (_Float16)(short)(b[i] >> 8 & 63)};
    o[8] = as<unsigned>(__builtin_amdgcn_fdot2(x, y, (float)(c[i] & 255), false));
}

// One wave: D = A B + C of small whole numbers, each matrix in rows, in the layouts that AMD's manuals give.
extern "C" __global__ void matrices(const float* a, const float* b, float* d, double* wide, int* whole, float* halves) {
    unsigned l = threadIdx.x;
    // 32 x 32 x 2, singles: a lane has A[l % 32][l / 32], and four rows of each eight of column l % 32 of D.
    float16v c = {0};
    for (int k = 0; k < 8; k += 2) c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[(l & 31) * 8 + k + l / 32], b[(k + l / 32) * 32 + (l & 31)], c, 0, 0, 0);
    for (int r = 0; r < 16; r++) d[(8 * (r / 4) + 4 * (l / 32) + r % 4) * 32 + (l & 31)] = c[r];
    // 16 x 16 x 4, doubles.
    double4v w = {0};
    for (int k = 0; k < 8; k += 4) w = __builtin_amdgcn_mfma_f64_16x16x4f64(a[(l & 15) * 8 + k + l / 16], b[(k + l / 16) * 32 + (l & 15)], w, 0, 0, 0);
    for (int r = 0; r < 4; r++) wide[(4 * r + l / 16) * 16 + (l & 15)] = w[r];
    // 16 x 16, halves: four or more of a row of A in a lane.
    float4v h = {0};
    half4v ha, hb;
    for (int k = 0; k < 4; k++) {
        int at = 4 * (l / 16) + k;
        ha[k] = at < 8 ? (_Float16)a[(l & 15) * 8 + at] : (_Float16)0;
        hb[k] = at < 8 ? (_Float16)b[at * 32 + (l & 15)] : (_Float16)0;
    }
    h = __builtin_amdgcn_mfma_f32_16x16x16f16(ha, hb, h, 0, 0, 0);
    for (int r = 0; r < 4; r++) halves[(4 * (l / 16) + r) * 16 + (l & 15)] = h[r];
    // 16 x 16, bytes.
    int4v s = {0};
#if __gfx942__
    unsigned long long pa = 0, pb = 0;
    for (int k = 0; k < 8; k++) if (l < 16) {
        pa |= (unsigned long long)(unsigned char)(int)a[l * 8 + k] << (8 * k);
        pb |= (unsigned long long)(unsigned char)(int)b[k * 32 + l] << (8 * k);
    }
    s = __builtin_amdgcn_mfma_i32_16x16x32_i8(pa, pb, s, 0, 0, 0);
#else
    int pa = 0, pb = 0;
    for (int k = 0; k < 4; k++) if (l < 32) {
        pa |= (unsigned)(unsigned char)(int)a[(l & 15) * 8 + 4 * (l / 16) + k] << (8 * k);
        pb |= (unsigned)(unsigned char)(int)b[(4 * (l / 16) + k) * 32 + (l & 15)] << (8 * k);
    }
    s = __builtin_amdgcn_mfma_i32_16x16x16i8(pa, pb, s, 0, 0, 0);
#endif
    for (int r = 0; r < 4; r++) whole[(4 * (l / 16) + r) * 16 + (l & 15)] = s[r];
}
