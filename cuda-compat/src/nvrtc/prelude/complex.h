// cuComplex.h: complex numbers of C.
#pragma once

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define CUDA_COMPAT_COMPLEX(type, T, f, make, hypotenuse)                                                               \
    __host__ __device__ inline type make(T x, T y) {                                                                    \
        type result;                                                                                                    \
        result.x = x, result.y = y;                                                                                     \
        return result;                                                                                                  \
    }                                                                                                                   \
    __host__ __device__ inline T cuCreal##f(type a) { return a.x; }                                                     \
    __host__ __device__ inline T cuCimag##f(type a) { return a.y; }                                                     \
    __host__ __device__ inline type cuConj##f(type a) { return make(a.x, -a.y); }                                       \
    __host__ __device__ inline type cuCadd##f(type a, type b) { return make(a.x + b.x, a.y + b.y); }                    \
    __host__ __device__ inline type cuCsub##f(type a, type b) { return make(a.x - b.x, a.y - b.y); }                    \
    __host__ __device__ inline type cuCmul##f(type a, type b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
    /* Scaled, so that the divisor's square does not overflow. */                                                       \
    __host__ __device__ inline type cuCdiv##f(type a, type b) {                                                         \
        T scale = 1 / ((b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y));                                                \
        T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale, divisor = 1 / (bx * bx + by * by);    \
        return make((ax * bx + ay * by) * divisor, (ay * bx - ax * by) * divisor);                                      \
    }                                                                                                                   \
    __device__ inline T cuCabs##f(type a) { return hypotenuse(a.x, a.y); }                                              \
    __host__ __device__ inline type cuCfma##f(type a, type b, type c) { return cuCadd##f(cuCmul##f(a, b), c); }
CUDA_COMPAT_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, hypotf)
CUDA_COMPAT_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, hypot)
#undef CUDA_COMPAT_COMPLEX
__host__ __device__ inline cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
__host__ __device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return make_cuDoubleComplex(a.x, a.y); }
__host__ __device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return make_cuFloatComplex((float)a.x, (float)a.y); }
