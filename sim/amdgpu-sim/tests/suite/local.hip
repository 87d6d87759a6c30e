// Local memory: reductions, scans, transposes, patterns of banks, static and dynamic.

template <typename T>
__device__ void reduce(const T* in, T* out, unsigned n) {
    __shared__ T part[256];
    T sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned s = 128; s; s >>= 1) {
        if (threadIdx.x < s && threadIdx.x + s < blockDim.x) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void reduce_i32(const int* in, int* out, unsigned n) { reduce<int>(in, out, n); }
extern "C" __global__ void reduce_f64(const double* in, double* out, unsigned n) { reduce<double>(in, out, n); }
extern "C" __global__ void reduce_i16(const short* in, short* out, unsigned n) { reduce<short>(in, out, n); }
extern "C" __global__ void reduce_u8(const unsigned char* in, unsigned char* out, unsigned n) { reduce<unsigned char>(in, out, n); }

// An inclusive scan a workgroup (Hillis and Steele, two buffers).
extern "C" __global__ void scan(const int* in, int* out, unsigned n) {
    __shared__ int buffer[2][192];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int from = 0;
    buffer[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d <<= 1) {
        buffer[1 - from][t] = buffer[from][t] + (t >= d ? buffer[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = buffer[from][t];
}

// A transpose through tiles with a padded row, sides that are no multiple of the tile.
extern "C" __global__ void transpose(const float* in, float* out, unsigned width, unsigned height) {
    __shared__ float tile[16][17];
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

// Every width of access, at every stride, with static and dynamic memory side by side.
struct Wide { float4 a; int3 b; };
extern "C" __global__ void patterns(const unsigned* in, unsigned* out, unsigned stride) {
    __shared__ unsigned words[128];
    __shared__ unsigned char bytes[133];
    __shared__ Wide wide[128];
    extern __shared__ unsigned long long dynamic[];
    unsigned t = threadIdx.x, n = blockDim.x;
    unsigned x = in[t], at = t * stride % n;
    words[at] = x;
    bytes[at + 3] = (unsigned char)x;
    wide[at].a = make_float4(x & 255, x >> 8 & 255, x >> 16 & 255, x >> 24);
    wide[at].b = make_int3(x, x + 1, x + 2);
    dynamic[at] = (unsigned long long)x * x;
    __syncthreads();
    unsigned other = (t * 5 + 1) % n;
    Wide w = wide[other];
    unsigned* o = out + 8 * t;
    o[0] = words[other];
    o[1] = bytes[other + 3];
    o[2] = (unsigned)(w.a.x + w.a.y + w.a.z + w.a.w);
    o[3] = w.b.x ^ w.b.y ^ w.b.z;
    o[4] = (unsigned)dynamic[other];
    o[5] = (unsigned)(dynamic[other] >> 32);
    // A pointer that may be to either memory.
    const unsigned* either = t % 3 ? &words[other] : &in[other];
    o[6] = *either;
    o[7] = (unsigned)(__builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void*)either));
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, unsigned n) {
    __shared__ unsigned local[256];
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) if (local[b]) atomicAdd(&bins[b], local[b]);
}
