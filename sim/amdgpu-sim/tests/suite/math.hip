// Functions of the device library; `which` chooses one.

extern "C" __global__ void functions_f32(const float* a, const float* b, float* out, unsigned which, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i], r = 0;
    switch (which) {
    case 0: r = sinf(x); break;
    case 1: r = cosf(x); break;
    case 2: r = tanf(x); break;
    case 3: r = asinf(x); break;
    case 4: r = acosf(x); break;
    case 5: r = atanf(x); break;
    case 6: r = sinhf(x); break;
    case 7: r = coshf(x); break;
    case 8: r = tanhf(x); break;
    case 9: r = asinhf(x); break;
    case 10: r = acoshf(x); break;
    case 11: r = atanhf(x); break;
    case 12: r = expf(x); break;
    case 13: r = exp2f(x); break;
    case 14: r = exp10f(x); break;
    case 15: r = expm1f(x); break;
    case 16: r = logf(x); break;
    case 17: r = log2f(x); break;
    case 18: r = log10f(x); break;
    case 19: r = log1pf(x); break;
    case 20: r = cbrtf(x); break;
    case 21: r = rsqrtf(x); break;
    case 22: r = rcbrtf(x); break;
    case 23: r = erff(x); break;
    case 24: r = erfcf(x); break;
    case 25: r = tgammaf(x); break;
    case 26: r = lgammaf(x); break;
    case 27: r = j0f(x); break;
    case 28: r = erff(erfinvf(x)); break;
    case 29: r = sinpif(x); break;
    case 30: r = cospif(x); break;
    case 31: r = logbf(x); break;
    case 32: r = powf(x, y); break;
    case 33: r = powf(x, rintf(y)); break;
    case 34: r = powif(x, (int)y); break;
    case 35: r = atan2f(x, y); break;
    case 36: r = hypotf(x, y); break;
    case 37: r = fmaxf(x, y) + fminf(x, y); break;
    }
    out[i] = r;
}

extern "C" __global__ void functions_f64(const double* a, const double* b, double* out, unsigned which, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i], r = 0;
    switch (which) {
    case 0: r = sin(x); break;
    case 1: r = cos(x); break;
    case 2: r = tan(x); break;
    case 3: r = asin(x); break;
    case 4: r = acos(x); break;
    case 5: r = atan(x); break;
    case 6: r = sinh(x); break;
    case 7: r = cosh(x); break;
    case 8: r = tanh(x); break;
    case 9: r = asinh(x); break;
    case 10: r = acosh(x); break;
    case 11: r = atanh(x); break;
    case 12: r = exp(x); break;
    case 13: r = exp2(x); break;
    case 14: r = exp10(x); break;
    case 15: r = expm1(x); break;
    case 16: r = log(x); break;
    case 17: r = log2(x); break;
    case 18: r = log10(x); break;
    case 19: r = log1p(x); break;
    case 20: r = cbrt(x); break;
    case 21: r = rsqrt(x); break;
    case 22: r = rcbrt(x); break;
    case 23: r = erf(x); break;
    case 24: r = erfc(x); break;
    case 25: r = tgamma(x); break;
    case 26: r = lgamma(x); break;
    case 27: r = j0(x); break;
    case 28: r = erf(erfinv(x)); break;
    case 29: r = sinpi(x); break;
    case 30: r = cospi(x); break;
    case 31: r = logb(x); break;
    case 32: r = pow(x, y); break;
    case 33: r = pow(x, rint(y)); break;
    case 34: r = powi(x, (int)y); break;
    case 35: r = atan2(x, y); break;
    case 36: r = hypot(x, y); break;
    case 37: r = fmax(x, y) + fmin(x, y); break;
    }
    out[i] = r;
}

// The instructions behind the fast functions, and functions of halves.
extern "C" __global__ void functions_f16(const _Float16* a, const _Float16* b, _Float16* out, unsigned which, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    _Float16 x = a[i], r = 0;
    switch (which) {
    case 0: r = __builtin_elementwise_sin(x); break;
    case 1: r = __builtin_elementwise_cos(x); break;
    case 2: r = __builtin_elementwise_exp(x); break;
    case 3: r = __builtin_elementwise_exp2(x); break;
    case 4: r = __builtin_elementwise_log(x); break;
    case 5: r = __builtin_elementwise_log2(x); break;
    case 6: r = __builtin_elementwise_log10(x); break;
    case 7: r = __builtin_amdgcn_rcph(x); break;
    case 8: r = __builtin_amdgcn_rsqh(x); break;
    }
    out[i] = r;
}

extern "C" __global__ void fast_f32(const float* a, const float* b, float* out, unsigned which, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], r = 0;
    switch (which) {
    case 0: r = __builtin_amdgcn_rcpf(x); break;
    case 1: r = __builtin_amdgcn_rsqf(x); break;
    case 2: r = __builtin_amdgcn_sqrtf(x); break;
    case 3: r = __builtin_amdgcn_exp2f(x); break;
    case 4: r = __builtin_amdgcn_logf(x); break;
    case 5: r = __builtin_amdgcn_sinf(x); break;
    case 6: r = __builtin_amdgcn_cosf(x); break;
    case 7: r = __builtin_amdgcn_fractf(x); break;
    case 8: r = __fdividef(x, 3.0f); break;
    }
    out[i] = r;
}
