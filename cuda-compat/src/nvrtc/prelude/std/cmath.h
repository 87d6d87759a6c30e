// Mathematical functions: HIPRTC has them, for float and for double.
#pragma once

#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef NAN
#define NAN __builtin_nanf("")
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

namespace cuda { namespace std {
__device__ inline int abs(int value) { return value < 0 ? -value : value; }
__device__ inline long abs(long value) { return value < 0 ? -value : value; }
__device__ inline long long abs(long long value) { return value < 0 ? -value : value; }
__device__ inline float abs(float value) { return __builtin_fabsf(value); }
__device__ inline double abs(double value) { return __builtin_fabs(value); }
using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan; using ::atan2; using ::atanh; using ::cbrt;
using ::ceil; using ::copysign; using ::cos; using ::cosh; using ::erf; using ::erfc; using ::exp; using ::exp2;
using ::expm1; using ::fabs; using ::fdim; using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod;
using ::frexp; using ::hypot; using ::ilogb; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::lgamma;
using ::log; using ::log10; using ::log1p; using ::log2; using ::logb; using ::lrint; using ::lround; using ::modf;
using ::nearbyint; using ::nextafter; using ::pow; using ::remainder; using ::rint; using ::round; using ::signbit;
using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh; using ::tgamma; using ::trunc;
using ::sqrtf; using ::expf; using ::logf; using ::powf; using ::fabsf; using ::fmaxf; using ::fminf; using ::sinf; using ::cosf;
using ::tanhf; using ::floorf; using ::ceilf; using ::roundf; using ::fmodf;
}} // namespace cuda::std
// HIPRTC has overloads of its own types in std, which hide what a directive brings in.
namespace std {
using ::cuda::std::isinf;
using ::cuda::std::isnan;
} // namespace std
