// Arithmetic that IEEE 754 defines to the last bit, in four precisions.

template <typename T> __device__ T root(T);
template <> __device__ double root(double x) { return __builtin_sqrt(x); }
template <> __device__ float root(float x) { return __builtin_sqrtf(x); }
template <> __device__ _Float16 root(_Float16 x) { return __builtin_sqrtf16(x); }

template <typename T> __device__ T fused(T, T, T);
template <> __device__ double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
template <> __device__ float fused(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
template <> __device__ _Float16 fused(_Float16 x, _Float16 y, _Float16 z) { return __builtin_fmaf16(x, y, z); }

template <typename T>
__device__ void arithmetic(const T* a, const T* b, const T* c, T* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = a[i], y = b[i], z = c[i];
    T* o = out + 14 * i;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = x / y;
    o[4] = fused<T>(x, y, z);
    o[5] = root<T>(x);
    o[6] = __builtin_elementwise_floor(x);
    o[7] = __builtin_elementwise_ceil(x);
    o[8] = __builtin_elementwise_trunc(x);
    o[9] = __builtin_elementwise_rint(x);
    o[10] = __builtin_elementwise_abs(x);
    o[11] = __builtin_elementwise_copysign(x, y);
    o[12] = -x;
    o[13] = x * y + z;
}

template <typename T>
__device__ void compare(const T* a, const T* b, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = a[i], y = b[i];
    out[i] = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5 |
             __builtin_isunordered(x, y) << 6 | __builtin_isinf(x) << 7 | __builtin_isfinite(x) << 8 |
             __builtin_isnormal(x) << 9 | (__builtin_signbit(x) != 0) << 10 | __builtin_isnan(x) << 11 |
             __builtin_isfpclass(x, 0x90) << 12 | (!(x < y)) << 13 | (x < y && x > (T)1) << 14;
}

// The lesser and the greater, as C's fmin and fmax.
template <typename T>
__device__ void extremes(const T* a, const T* b, T* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = __builtin_elementwise_minnum(a[i], b[i]);
    out[2 * i + 1] = __builtin_elementwise_maxnum(a[i], b[i]);
}

#define PRECISION(name, T)                                                                                    \
    extern "C" __global__ void arithmetic_##name(const T* a, const T* b, const T* c, T* out, unsigned n) {   \
        arithmetic<T>(a, b, c, out, n);                                                                       \
    }                                                                                                         \
    extern "C" __global__ void compare_##name(const T* a, const T* b, unsigned* out, unsigned n) {           \
        compare<T>(a, b, out, n);                                                                             \
    }                                                                                                         \
    extern "C" __global__ void extremes_##name(const T* a, const T* b, T* out, unsigned n) {                 \
        extremes<T>(a, b, out, n);                                                                            \
    }
PRECISION(f64, double)
PRECISION(f32, float)
PRECISION(f16, _Float16)

extern "C" __global__ void arithmetic_bf16(const __bf16* a, const __bf16* b, __bf16* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __bf16 x = a[i], y = b[i];
    __bf16* o = out + 6 * i;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = x / y;
    o[4] = -x;
    o[5] = x < y ? x : y;
}

// Parts and neighbours.
extern "C" __global__ void parts_f32(const float* a, const float* b, float* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
    float* o = out + 10 * i;
    int exponent;
    o[0] = frexpf(x, &exponent);
    o[1] = (float)exponent;
    o[2] = ldexpf(x, (int)(__float_as_uint(y) % 400) - 200);
    o[3] = modff(x, &o[4]);
    o[5] = roundf(x);
    o[6] = nextafterf(x, y);
    o[7] = fdimf(x, y);
    o[8] = fmodf(x, y);
    o[9] = remainderf(x, y);
}

extern "C" __global__ void parts_f64(const double* a, const double* b, double* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i];
    double* o = out + 10 * i;
    int exponent;
    o[0] = frexp(x, &exponent);
    o[1] = exponent;
    o[2] = ldexp(x, (int)((unsigned long long)__double_as_longlong(y) % 3000) - 1500);
    o[3] = modf(x, &o[4]);
    o[5] = round(x);
    o[6] = nextafter(x, y);
    o[7] = fdim(x, y);
    o[8] = fmod(x, y);
    o[9] = remainder(x, y);
}
