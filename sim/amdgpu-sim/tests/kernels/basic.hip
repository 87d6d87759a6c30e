// Kernels that tests/kernels.rs checks against references on the CPU.
// Compiled for gfx90a at -O0, -O1, -O2 and -O3; see README.md.

#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define K extern "C" __global__ void

K vector_add(const float *a, const float *b, float *c, unsigned n) {
    unsigned i = ID;
    if (i < n) c[i] = a[i] + b[i];
}

K saxpy_f64(double a, const double *x, double *y, int n) {
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

K half_ops(const _Float16 *a, const _Float16 *b, _Float16 *sum, _Float16 *product, float *wide, int n) {
    int i = ID;
    if (i >= n) return;
    sum[i] = a[i] + b[i];
    product[i] = a[i] * b[i];
    wide[i] = (float)a[i] - (float)b[i];
}

K integers(const int *a, const int *b, int *out, int n) {
    int i = ID;
    if (i >= n) return;
    int x = a[i], y = b[i];
    unsigned ux = x, uy = y;
    int *o = out + 16 * i;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = y ? x / (y == -1 ? 1 : y) : 0;
    o[4] = y ? x % (y == -1 ? 1 : y) : 0;
    o[5] = uy ? ux / uy : 0;
    o[6] = uy ? ux % uy : 0;
    o[7] = x << (y & 31);
    o[8] = x >> (y & 31);
    o[9] = ux >> (uy & 31);
    o[10] = (x & y) | (x ^ ~y);
    o[11] = __popc(x) + __clz(x) * 64 + __ffs(x) * 4096;
    o[12] = x < y ? x : y;
    o[13] = ux > uy ? ux : uy;
    o[14] = __mulhi(x, y);
    o[15] = (ux << 7) | (ux >> 25);
}

K longs(const long long *a, const long long *b, long long *out, int n) {
    int i = ID;
    if (i >= n) return;
    long long x = a[i], y = b[i];
    unsigned long long ux = x, uy = y;
    long long *o = out + 12 * i;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = y ? x / (y == -1 ? 1 : y) : 0;
    o[4] = y ? x % (y == -1 ? 1 : y) : 0;
    o[5] = uy ? ux / uy : 0;
    o[6] = uy ? ux % uy : 0;
    o[7] = x << (y & 63);
    o[8] = x >> (y & 63);
    o[9] = ux >> (uy & 63);
    o[10] = x < y ? x : y;
    o[11] = __popcll(x) + __clzll(x) * 128;
}

K collatz(const unsigned *start, unsigned *steps, int n) {
    int i = ID;
    if (i >= n) return;
    unsigned x = start[i], count = 0;
    while (x > 1 && count < 1000) {
        switch (x % 4) {
            case 0: x /= 4; count += 2; break;
            case 2: x /= 2; count += 1; break;
            default:
                if (x > 0x50000000u) { count = 5000; x = 1; break; }
                x = 3 * x + 1;
                count += 1;
        }
    }
    steps[i] = count;
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
typedef int (*Function)(int);
__device__ Function functions[2] = {twice, square};

K calls(int *out, int n) {
    int i = ID;
    if (i < n) out[i] = functions[i & 1](i) + fibonacci(i % 9);
}

K shuffles(const int *in, int *out, unsigned long long *ballots) {
    int lane = threadIdx.x & 63, x = in[threadIdx.x];
    int *o = out + threadIdx.x * 6;
    o[0] = __shfl_xor(x, 5);
    o[1] = __shfl_down(x, 3);
    o[2] = __shfl_up(x, 7);
    o[3] = __shfl(x, (lane * 5) & 63);
    o[4] = __shfl_xor(x, 1, 8);
    int sum = x;
    for (int d = 32; d > 0; d /= 2) sum += __shfl_xor(sum, d);
    o[5] = sum;
    unsigned long long b = __ballot(x & 1);
    if (lane == 0) ballots[threadIdx.x / 64] = b;
    if (__any(x == 1000) && __all(x > -1000)) o[0] = -1;
}

K reduce_lds(const float *in, float *out, int n) {
    __shared__ float part[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

K reverse_dynamic(const double *in, double *out) {
    extern __shared__ double shared[];
    shared[threadIdx.x] = in[ID];
    __syncthreads();
    out[ID] = shared[blockDim.x - 1 - threadIdx.x];
}

K bytes_lds(const unsigned char *in, unsigned char *out, short *wide) {
    __shared__ unsigned char bytes[256];
    __shared__ short shorts[256];
    bytes[threadIdx.x] = in[threadIdx.x];
    shorts[threadIdx.x] = (signed char)in[threadIdx.x];
    __syncthreads();
    int other = (threadIdx.x * 7 + 3) & 255;
    out[threadIdx.x] = bytes[other];
    wide[threadIdx.x] = shorts[other] * 3;
}

K histogram(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

struct Cells {
    int add, min, max;
    unsigned orr, andd, xorr, inc, dec;
    float real;
    int cas;
    double wide;
    unsigned long long big;
    long long least;
};

K atomics(Cells *c, int *claimed, int n) {
    int i = ID;
    if (i >= n) return;
    atomicAdd(&c->add, i);
    atomicMin(&c->min, -i);
    atomicMax(&c->max, i);
    atomicOr(&c->orr, 1u << (i & 31));
    atomicAnd(&c->andd, ~(1u << (i % 7)));
    atomicXor(&c->xorr, (unsigned)i);
    atomicInc(&c->inc, 99u);
    atomicDec(&c->dec, 99u);
    atomicAdd(&c->real, 1.0f);
    atomicAdd(&c->wide, 0.5);
    atomicAdd(&c->big, 1ull << 33);
    atomicMin(&c->least, -5000000000ll * i);
    int old = c->cas, seen;
    do {
        seen = old;
        old = atomicCAS(&c->cas, seen, seen + 3);
    } while (old != seen);
    claimed[atomicExch(&claimed[n], i) & 0] = 0;
    __threadfence();
}

K grid_3d(int *out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) {
        int where = (z * ny + y) * nx + x;
        out[where] += x + 100 * y + 10000 * z + 1000000 * (int)(gridDim.x * gridDim.y * gridDim.z);
    }
}

K private_array(const int *in, int *out, int n) {
    int stack[32];
    int i = ID;
    if (i >= n) return;
    for (int k = 0; k < 32; k++) stack[k] = in[i] * k + i;
    for (int k = 0; k < 32; k++) stack[(k * 7 + in[i]) & 31] ^= stack[k] >> 1;
    int sum = 0;
    for (int k = 0; k < 32; k++) sum = sum * 31 + stack[k];
    char bytes[13];
    for (int k = 0; k < 13; k++) bytes[(k * 5 + i) % 13] = (char)(sum >> k);
    for (int k = 0; k < 13; k++) sum += bytes[k] << k;
    out[i] = sum;
}

__device__ __noinline__ void fill(int *p, int n, int v) {
    for (int k = 0; k < n; k++) p[k] = v + k;
}

K generic_pointers(int *out) {
    __shared__ int shared[64];
    int mine[4];
    fill(mine, 4, threadIdx.x);
    if (threadIdx.x == 0) fill(shared, 64, 1000);
    __syncthreads();
    int *p = threadIdx.x & 1 ? &shared[threadIdx.x] : mine;
    if ((threadIdx.x & 3) == 2) p = out + 64 + threadIdx.x;
    out[threadIdx.x] = *p;
}

__constant__ float table[8] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
__device__ int counter = 7;
__device__ int zeroed[1000];

K globals(float *out) {
    out[ID] = table[threadIdx.x & 7] + zeroed[threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&counter, 1);
    zeroed[999 - threadIdx.x] = threadIdx.x;
}

struct Vec { float x, y, z; };
struct Mixed { char c; double d; short s; Vec v; };

K by_value(char a, Vec v, int b, Mixed m, double *out) {
    out[0] = a;
    out[1] = v.x + v.y * 10 + v.z * 100;
    out[2] = b;
    out[3] = m.c + m.d + m.s;
    out[4] = m.v.x + m.v.y * 10 + m.v.z * 100;
}

K math_f32(const float *in, float *out, int n) {
    int i = ID;
    if (i >= n) return;
    float x = in[i];
    float *o = out + 12 * i;
    o[0] = sinf(x);
    o[1] = cosf(x);
    o[2] = expf(x);
    o[3] = logf(fabsf(x));
    o[4] = sqrtf(fabsf(x));
    o[5] = powf(fabsf(x), 1.7f);
    o[6] = erff(x);
    o[7] = 1.0f / x;
    o[8] = tanhf(x);
    o[9] = floorf(x) + 0.25f;
    o[10] = fmaf(x, 1.1f, -0.3f);
    o[11] = atan2f(x, 0.7f);
}

K math_f64(const double *in, double *out, int n) {
    int i = ID;
    if (i >= n) return;
    double x = in[i];
    double *o = out + 10 * i;
    o[0] = sin(x);
    o[1] = cos(x);
    o[2] = exp(x);
    o[3] = log(fabs(x));
    o[4] = sqrt(fabs(x));
    o[5] = pow(fabs(x), 1.7);
    o[6] = erf(x);
    o[7] = 1.0 / x;
    o[8] = trunc(x) + 0.25;
    o[9] = fma(x, 1.1, -0.3);
}

K conversions(const float *in, int *out, int n) {
    int i = ID;
    if (i >= n) return;
    float x = in[i];
    int *o = out + 6 * i;
    o[0] = (int)x;
    o[1] = (int)(unsigned)fabsf(x);
    o[2] = (int)(long long)(x * 1000.0f);
    o[3] = (int)(float)(int)x;
    o[4] = (int)((double)x * 3.0);
    o[5] = (int)(signed char)(int)x + (int)(unsigned short)(int)x;
}

K matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[16][16], tb[16][17];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[y][x] = a[row * n + t + x];
        tb[y][x] = b[(t + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// Each workgroup waits for the one before it: only works if workgroups start in order.
K chain(int *flags, int *out) {
    if (threadIdx.x == 0) {
        int value = 1;
        if (blockIdx.x > 0) {
            while ((value = __hip_atomic_load(&flags[blockIdx.x - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) == 0) {}
        }
        out[blockIdx.x] = value;
        __hip_atomic_store(&flags[blockIdx.x], value + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

// All workgroups wait for each other: only works if all are resident.
K grid_barrier(int *count, int *out) {
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < (int)gridDim.x) __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
    out[ID] = *count;
}

K empty() {}

// How many work-items each workgroup has; grids of at most 4 x 4 x 4 workgroups.
K count_items(int *out) { atomicAdd(&out[(blockIdx.z * 4 + blockIdx.y) * 4 + blockIdx.x], 1); }
