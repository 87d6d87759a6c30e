// Conversions between all number formats.

template <typename From, typename To>
__device__ void convert(const From* in, To* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (To)in[i];
}

#define CONVERT(from, From, to, To) \
    extern "C" __global__ void from##_to_##to(const From* in, To* out, unsigned n) { convert<From, To>(in, out, n); }
CONVERT(f16, _Float16, i8, signed char)
CONVERT(i8, signed char, f16, _Float16)
CONVERT(f16, _Float16, u8, unsigned char)
CONVERT(u8, unsigned char, f16, _Float16)
CONVERT(f16, _Float16, i16, short)
CONVERT(i16, short, f16, _Float16)
CONVERT(f16, _Float16, u16, unsigned short)
CONVERT(u16, unsigned short, f16, _Float16)
CONVERT(f16, _Float16, i32, int)
CONVERT(i32, int, f16, _Float16)
CONVERT(f16, _Float16, u32, unsigned)
CONVERT(u32, unsigned, f16, _Float16)
CONVERT(f16, _Float16, i64, long long)
CONVERT(i64, long long, f16, _Float16)
CONVERT(f16, _Float16, u64, unsigned long long)
CONVERT(u64, unsigned long long, f16, _Float16)
CONVERT(f32, float, i8, signed char)
CONVERT(i8, signed char, f32, float)
CONVERT(f32, float, u8, unsigned char)
CONVERT(u8, unsigned char, f32, float)
CONVERT(f32, float, i16, short)
CONVERT(i16, short, f32, float)
CONVERT(f32, float, u16, unsigned short)
CONVERT(u16, unsigned short, f32, float)
CONVERT(f32, float, i32, int)
CONVERT(i32, int, f32, float)
CONVERT(f32, float, u32, unsigned)
CONVERT(u32, unsigned, f32, float)
CONVERT(f32, float, i64, long long)
CONVERT(i64, long long, f32, float)
CONVERT(f32, float, u64, unsigned long long)
CONVERT(u64, unsigned long long, f32, float)
CONVERT(f64, double, i8, signed char)
CONVERT(i8, signed char, f64, double)
CONVERT(f64, double, u8, unsigned char)
CONVERT(u8, unsigned char, f64, double)
CONVERT(f64, double, i16, short)
CONVERT(i16, short, f64, double)
CONVERT(f64, double, u16, unsigned short)
CONVERT(u16, unsigned short, f64, double)
CONVERT(f64, double, i32, int)
CONVERT(i32, int, f64, double)
CONVERT(f64, double, u32, unsigned)
CONVERT(u32, unsigned, f64, double)
CONVERT(f64, double, i64, long long)
CONVERT(i64, long long, f64, double)
CONVERT(f64, double, u64, unsigned long long)
CONVERT(u64, unsigned long long, f64, double)
CONVERT(f16, _Float16, f32, float)
CONVERT(f16, _Float16, f64, double)
CONVERT(f32, float, f16, _Float16)
CONVERT(f32, float, f64, double)
CONVERT(f64, double, f16, _Float16)
CONVERT(f64, double, f32, float)
CONVERT(bf16, __bf16, f32, float)
CONVERT(f32, float, bf16, __bf16)
CONVERT(f64, double, bf16, __bf16)

// Conversions that saturate: AMD's instructions take what does not fit to the nearest that does, and no number to zero.
extern "C" __global__ void saturate(const float* in, const double* wide, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    double w = wide[i];
    unsigned* o = out + 12 * i;
    int k;
    unsigned u;
    asm volatile("v_cvt_i32_f32 %0, %1" : "=v"(k) : "v"(x));
    o[0] = k;
    asm volatile("v_cvt_u32_f32 %0, %1" : "=v"(u) : "v"(x));
    o[1] = u;
    asm volatile("v_cvt_i32_f64 %0, %1" : "=v"(k) : "v"(w));
    o[2] = k;
    asm volatile("v_cvt_u32_f64 %0, %1" : "=v"(u) : "v"(w));
    o[3] = u;
    asm volatile("v_cvt_rpi_i32_f32 %0, %1" : "=v"(k) : "v"(x));
    o[4] = k;
    asm volatile("v_cvt_flr_i32_f32 %0, %1" : "=v"(k) : "v"(x));
    o[5] = k;
    o[6] = __float2int_rn(fminf(fmaxf(x, -2e9f), 2e9f));
    o[7] = __float2int_rd(fminf(fmaxf(x, -2e9f), 2e9f));
    o[8] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pk_i16((int)fminf(fmaxf(x, -2e9f), 2e9f), 70000));
    o[9] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pk_u16((unsigned)fminf(fmaxf(x, 0.0f), 4e9f), 70000));
    o[10] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pknorm_i16(x, -x));
    o[11] = __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pknorm_u16(x, -x));
}

extern "C" __global__ void bytes_of_floats(const float* in, float* out, unsigned* packed, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned bits = __float_as_uint(in[i]);
    for (int k = 0; k < 4; k++) out[4 * i + k] = (float)(bits >> (8 * k) & 255);
    packed[i] = __builtin_amdgcn_cvt_pk_u8_f32(in[i], i & 3, bits);
}

#if __gfx942__
extern "C" __global__ void eights(const float* a, const float* b, unsigned* out, float* back, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int fp8 = __builtin_amdgcn_cvt_pk_fp8_f32(a[i], b[i], 0x11111111, false);
    fp8 = __builtin_amdgcn_cvt_pk_fp8_f32(b[i], a[i], fp8, true);
    int bf8 = __builtin_amdgcn_cvt_pk_bf8_f32(a[i], b[i], 0x22222222, true);
    out[2 * i] = fp8;
    out[2 * i + 1] = bf8;
    unsigned bits = __float_as_uint(a[i]);
    back[4 * i] = __builtin_amdgcn_cvt_f32_fp8(bits, 0);
    back[4 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(bits, 3);
    back[4 * i + 2] = __builtin_amdgcn_cvt_f32_bf8(bits, 1);
    back[4 * i + 3] = __builtin_amdgcn_cvt_pk_f32_bf8(bits, true)[1];
}
#endif
