// Whole algorithms.

// A bitonic sort of a power of two of keys, one step a launch.
extern "C" __global__ void bitonic(unsigned* keys, unsigned size, unsigned step) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ step;
    if (other <= i) return;
    unsigned a = keys[i], b = keys[other];
    if ((a > b) == ((i & size) == 0)) keys[i] = b, keys[other] = a;
}

// A radix sort of one workgroup, four bits a round, stable.
extern "C" __global__ void radix(unsigned* keys, unsigned* other, unsigned n) {
    __shared__ unsigned counts[16][64];
    unsigned t = threadIdx.x, per = (n + 63) / 64, from = t * per, to = min(from + per, n);
    for (int shift = 0; shift < 32; shift += 4) {
        for (int d = 0; d < 16; d++) counts[d][t] = 0;
        for (unsigned i = from; i < to; i++) counts[keys[i] >> shift & 15][t]++;
        __syncthreads();
        if (t == 0) {
            unsigned sum = 0;
            for (int d = 0; d < 16; d++) for (int k = 0; k < 64; k++) { unsigned c = counts[d][k]; counts[d][k] = sum; sum += c; }
        }
        __syncthreads();
        for (unsigned i = from; i < to; i++) other[counts[keys[i] >> shift & 15][t]++] = keys[i];
        __syncthreads();
        unsigned* swap = keys; keys = other; other = swap;
    }
}

// Prefix sums in one pass: a workgroup waits for the sum of the one before ("decoupled look-back"). Tickets order them.
extern "C" __global__ void look_back(const int* in, int* out, unsigned long long* state, unsigned* ticket, unsigned n) {
    __shared__ int part[128];
    __shared__ unsigned tile;
    __shared__ int before;
    unsigned t = threadIdx.x;
    if (t == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned i = tile * 128 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < 128; d <<= 1) {
        int x = t >= d ? part[t - d] : 0;
        __syncthreads();
        part[t] += x;
        __syncthreads();
    }
    if (t == 0) {
        // The upper word: 1 for the tile's own sum, 2 for the sum of all up to it.
        unsigned sum = (unsigned)part[127];
        if (tile) __hip_atomic_store(&state[tile], 1ull << 32 | sum, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        unsigned all = 0;
        for (int b = (int)tile - 1; b >= 0; b--) {
            unsigned long long s;
            do s = __hip_atomic_load(&state[b], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); while (s >> 32 == 0);
            all += (unsigned)s;
            if (s >> 32 == 2) break;
        }
        __hip_atomic_store(&state[tile], 2ull << 32 | (unsigned)(all + sum), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        before = (int)all;
    }
    __syncthreads();
    if (i < n) out[i] = part[t] + before;
}

// C = A B by tiles of 16, sides of any size.
template <typename T>
__device__ void product(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ T ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    T sum = 0;
    for (int p = 0; p < k; p += 16) {
        ta[y][x] = row < m && p + x < k ? a[row * k + p + x] : (T)0;
        tb[y][x] = p + y < k && column < n ? b[(p + y) * n + column] : (T)0;
        __syncthreads();
        for (int q = 0; q < 16; q++) sum += ta[y][q] * tb[q][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
extern "C" __global__ void product_f32(const float* a, const float* b, float* c, int m, int n, int k) { product<float>(a, b, c, m, n, k); }
extern "C" __global__ void product_f64(const double* a, const double* b, double* c, int m, int n, int k) { product<double>(a, b, c, m, n, k); }
extern "C" __global__ void product_i32(const int* a, const int* b, int* c, int m, int n, int k) { product<int>(a, b, c, m, n, k); }

// Seven points in space.
extern "C" __global__ void stencil(const double* in, double* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int i = (z * ny + y) * nx + x;
    bool edge = x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
    out[i] = edge ? in[i]
                  : in[i] * 0.5 + ((in[i - 1] + in[i + 1]) + (in[i - nx] + in[i + nx]) + (in[i - nx * ny] + in[i + nx * ny])) * 0.125;
}

// A Fourier transform of 256 points in local memory, radix 2.
extern "C" __global__ void fft(const float2* in, float2* out) {
    __shared__ float2 data[256];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < 256; i += 128) data[__brev(i) >> 24] = in[blockIdx.x * 256 + i];
    __syncthreads();
    for (unsigned half = 1; half < 256; half <<= 1) {
        unsigned k = t & (half - 1), i = (t - k) * 2 + k;
        float s, c;
        sincosf(-3.14159265358979f * k / half, &s, &c);
        float2 a = data[i], b = data[i + half];
        float2 w = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        data[i] = make_float2(a.x + w.x, a.y + w.y);
        data[i + half] = make_float2(a.x - w.x, a.y - w.y);
        __syncthreads();
    }
    for (unsigned i = t; i < 256; i += 128) out[blockIdx.x * 256 + i] = data[i];
}

// Small dense systems, one an item: LU with row exchanges, then both triangles; and Cholesky's factor.
extern "C" __global__ void solve(const double* matrices, const double* right, double* solution, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double a[6][6], b[6];
    for (int r = 0; r < 6; r++) {
        b[r] = right[6 * i + r];
        for (int c = 0; c < 6; c++) a[r][c] = matrices[36 * i + 6 * r + c];
    }
    for (int k = 0; k < 6; k++) {
        int pivot = k;
        for (int r = k + 1; r < 6; r++) if (fabs(a[r][k]) > fabs(a[pivot][k])) pivot = r;
        if (pivot != k) {
            for (int c = 0; c < 6; c++) { double x = a[k][c]; a[k][c] = a[pivot][c]; a[pivot][c] = x; }
            double x = b[k]; b[k] = b[pivot]; b[pivot] = x;
        }
        for (int r = k + 1; r < 6; r++) {
            double f = a[r][k] / a[k][k];
            for (int c = k; c < 6; c++) a[r][c] -= f * a[k][c];
            b[r] -= f * b[k];
        }
    }
    for (int r = 5; r >= 0; r--) {
        for (int c = r + 1; c < 6; c++) b[r] -= a[r][c] * b[c];
        b[r] /= a[r][r];
        solution[6 * i + r] = b[r];
    }
}

extern "C" __global__ void cholesky(float* matrix, int n) {
    for (int k = 0; k < n; k++) {
        if (threadIdx.x == 0) matrix[k * n + k] = sqrtf(matrix[k * n + k]);
        __syncthreads();
        for (int r = k + 1 + threadIdx.x; r < n; r += blockDim.x) matrix[r * n + k] /= matrix[k * n + k];
        __syncthreads();
        for (int r = k + 1 + threadIdx.x; r < n; r += blockDim.x)
            for (int c = k + 1; c <= r; c++) matrix[r * n + c] -= matrix[r * n + k] * matrix[c * n + k];
        __syncthreads();
    }
}

// A sparse matrix by rows, a wave a row.
extern "C" __global__ void spmv(const int* starts, const int* columns, const double* values, const double* x, double* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 64;
    if (row >= rows) return;
    double sum = 0;
    for (int k = starts[row] + __lane_id(); k < starts[row + 1]; k += 64) sum += values[k] * x[columns[k]];
    for (int m = 32; m; m >>= 1) sum += __shfl_xor(sum, m);
    if (__lane_id() == 0) y[row] = sum;
}

extern "C" __global__ void bodies(const float4* in, float4* force, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = i < n ? in[i] : make_float4(0, 0, 0, 0);
    float x = 0, y = 0, z = 0;
    for (int from = 0; from < n; from += 64) {
        if (from + threadIdx.x < n) tile[threadIdx.x] = in[from + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 64 && from + k < n; k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = tile[k].w * r * r * r;
            x += dx * f, y += dy * f, z += dz * f;
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(x, y, z, 0);
}

extern "C" __global__ void mandelbrot(int* out, int width, int height) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    double cx = -2.0 + 3.0 * px / width, cy = -1.0 + 2.0 * py / height, x = 0, y = 0;
    int k = 0;
    while (k < 200 && x * x + y * y < 4.0) {
        double t = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = t;
        k++;
    }
    out[py * width + px] = k;
}
