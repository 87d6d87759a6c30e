// Products of matrices with matrix instructions: D = A x B, row by row, every dimension a multiple of the tile's.
// One wave computes one tile of D; tests/matrices.rs knows what the result must be.

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef short i16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));

// The layout of a tile of 16 x 16: this lane's row of A and column of B, and which share of k it has.
#define TILE16 const int lane = threadIdx.x, at = lane % 16, share = lane / 16; \
  const int row = 16 * blockIdx.y, column = 16 * blockIdx.x

#define STORE16(d, sum) for (int r = 0; r < 4; r++) d[(row + 4 * share + r) * n + column + at] = sum[r]

extern "C" __global__ void gemm_f32(const float *a, const float *b, float *d, int n, int k) {
  const int lane = threadIdx.x, at = lane % 32, share = lane / 32;
  const int row = 32 * blockIdx.y, column = 32 * blockIdx.x;
  f32x16 sum = {0};
  for (int p = 0; p < k; p += 2)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[(row + at) * k + p + share], b[(p + share) * n + column + at], sum, 0, 0, 0);
  for (int r = 0; r < 16; r++)
    d[(row + 8 * (r / 4) + 4 * share + r % 4) * n + column + at] = sum[r];
}

// Tiles of A and B in local memory, four waves a workgroup, each 16 rows of a tile of 64 x 16.
extern "C" __global__ void gemm_f32_lds(const float *a, const float *b, float *d, int n, int k) {
  __shared__ float left[64][17], right[16][17];
  const int wave = threadIdx.x / 64, lane = threadIdx.x % 64, at = lane % 16, share = lane / 16;
  const int row = 64 * blockIdx.y, column = 16 * blockIdx.x;
  f32x4 sum = {0};
  for (int p = 0; p < k; p += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += 256) left[i / 16][i % 16] = a[(row + i / 16) * k + p + i % 16];
    right[threadIdx.x / 16][threadIdx.x % 16] = b[(p + threadIdx.x / 16) * n + column + threadIdx.x % 16];
    __syncthreads();
    for (int q = 0; q < 16; q += 4)
      sum = __builtin_amdgcn_mfma_f32_16x16x4f32(left[16 * wave + at][q + share], right[q + share][at], sum, 0, 0, 0);
    __syncthreads();
  }
  for (int r = 0; r < 4; r++) d[(row + 16 * wave + 4 * share + r) * n + column + at] = sum[r];
}

extern "C" __global__ void gemm_f64(const double *a, const double *b, double *d, int n, int k) {
  TILE16;
  f64x4 sum = {0};
  for (int p = 0; p < k; p += 4)
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[(row + at) * k + p + share], b[(p + share) * n + column + at], sum, 0, 0, 0);
  for (int r = 0; r < 4; r++) d[(row + 4 * r + share) * n + column + at] = sum[r];
}

extern "C" __global__ void gemm_f16(const _Float16 *a, const _Float16 *b, float *d, int n, int k) {
  TILE16;
  f32x4 sum = {0};
  for (int p = 4 * share; p < k; p += 16) {
    f16x4 left, right;
    for (int e = 0; e < 4; e++) {
      left[e] = a[(row + at) * k + p + e];
      right[e] = b[(p + e) * n + column + at];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
  }
  STORE16(d, sum);
}

extern "C" __global__ void gemm_bf16(const short *a, const short *b, float *d, int n, int k) {
  TILE16;
  f32x4 sum = {0};
  for (int p = 4 * share; p < k; p += 16) {
    i16x4 left, right;
    for (int e = 0; e < 4; e++) {
      left[e] = a[(row + at) * k + p + e];
      right[e] = b[(p + e) * n + column + at];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left, right, sum, 0, 0, 0);
  }
  STORE16(d, sum);
}

// E bytes a lane, in a register or two.
template <typename Word> __device__ Word bytes(const char *from, int stride) {
  Word word = 0;
  for (int e = 0; e < (int)sizeof(Word); e++) word |= (Word)(unsigned char)from[e * stride] << 8 * e;
  return word;
}

extern "C" __global__ void gemm_i8(const char *a, const char *b, int *d, int n, int k) {
  TILE16;
  i32x4 sum = {0};
#if defined(__gfx942__)
  for (int p = 8 * share; p < k; p += 32)
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(bytes<long>(a + (row + at) * k + p, 1), bytes<long>(b + p * n + column + at, n), sum, 0, 0, 0);
#else
  for (int p = 4 * share; p < k; p += 16)
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(bytes<int>(a + (row + at) * k + p, 1), bytes<int>(b + p * n + column + at, n), sum, 0, 0, 0);
#endif
  STORE16(d, sum);
}

#if defined(__gfx942__)
extern "C" __global__ void gemm_fp8_bf8(const char *a, const char *b, float *d, int n, int k) {
  TILE16;
  f32x4 sum = {0};
  for (int p = 8 * share; p < k; p += 32)
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(bytes<long>(a + (row + at) * k + p, 1), bytes<long>(b + p * n + column + at, n), sum, 0, 0, 0);
  STORE16(d, sum);
}

extern "C" __global__ void gemm_xf32(const float *a, const float *b, float *d, int n, int k) {
  TILE16;
  f32x4 sum = {0};
  for (int p = 2 * share; p < k; p += 8) {
    f32x2 left = {a[(row + at) * k + p], a[(row + at) * k + p + 1]};
    f32x2 right = {b[p * n + column + at], b[(p + 1) * n + column + at]};
    sum = __builtin_amdgcn_mfma_f32_16x16x8_xf32(left, right, sum, 0, 0, 0);
  }
  STORE16(d, sum);
}

// `a` has the two elements of every four that are not zero (k / 2 a row), `index` which they are: 2 bits each, those of 4
// elements in a byte, a byte for every 8 columns of the full matrix.
extern "C" __global__ void gemm_sparse_f16(const _Float16 *a, const _Float16 *b, float *d, int n, int k, const unsigned char *index) {
  TILE16;
  f32x4 sum = {0};
  for (int p = 8 * share; p < k; p += 32) {
    f16x4 left;
    f16x8 right;
    for (int e = 0; e < 4; e++) left[e] = a[(row + at) * (k / 2) + p / 2 + e];
    for (int e = 0; e < 8; e++) right[e] = b[(p + e) * n + column + at];
    // In the second of the four sets of indices.
    const int places = index[(row + at) * (k / 8) + p / 8] << 8;
    sum = __builtin_amdgcn_smfmac_f32_16x16x32_f16(left, right, sum, places, 0, 1);
  }
  STORE16(d, sum);
}
#endif

#if defined(__gfx942__)
#define RETURNS "sc0"
#else
#define RETURNS "glc"
#endif

// Accumulation registers as the registers of loads, stores and atomics: global, flat, buffer and local.
extern "C" __global__ void accumulation(const int *in, int *out, int *sums) {
  __shared__ int shared[512];
  const int lane = threadIdx.x;
  const int *from = in + 4 * lane;
  int *to = out + 24 * lane;
  // Inline assembly uses it behind the compiler's back, from address 0.
  *(volatile int *)&shared[lane] = 0;
  i32x4 four;
  int one, old;
  asm volatile("global_load_dwordx4 %0, %1, off\n s_waitcnt vmcnt(0)\n global_store_dwordx4 %2, %0, off" : "=&a"(four) : "v"(from), "v"(to) : "memory");
  asm volatile("flat_load_dword %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)\n flat_store_dword %2, %0" : "=&a"(one) : "v"(from), "v"(to + 4) : "memory");
  asm volatile("global_load_ushort %0, %1, off offset:2\n s_waitcnt vmcnt(0)\n global_store_byte %2, %0, off offset:1" : "=&a"(one) : "v"(from), "v"(to + 5) : "memory");
  const int local = 16 * lane;
  asm volatile("ds_write_b128 %1, %2\n s_waitcnt lgkmcnt(0)\n ds_read_b64 %0, %1 offset:8\n s_waitcnt lgkmcnt(0)\n" : "=&a"(*(long *)&four) : "v"(local), "a"(four) : "memory");
  asm volatile("global_store_dwordx2 %0, %1, off" : : "v"(to + 6), "a"(*(long *)&four) : "memory");
  asm volatile("ds_add_rtn_u32 %0, %1, %2\n s_waitcnt lgkmcnt(0)" : "=&a"(old) : "v"(local), "a"(one) : "memory");
  asm volatile("global_store_dword %0, %1, off" : : "v"(to + 8), "a"(old) : "memory");
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=&a"(old) : "v"(local) : "memory");
  asm volatile("global_store_dword %0, %1, off" : : "v"(to + 9), "a"(old) : "memory");
  asm volatile("global_atomic_add %0, %1, %2, off " RETURNS "\n s_waitcnt vmcnt(0)" : "=&a"(old) : "v"(sums + lane % 4), "a"(one) : "memory");
  asm volatile("global_store_dword %0, %1, off" : : "v"(to + 10), "a"(old) : "memory");
  // A buffer without bounds over `in`.
  typedef int i32x4s __attribute__((ext_vector_type(4)));
  const unsigned long base = (unsigned long)in;
  i32x4s resource = {(int)base, (int)(base >> 32) & 0xffff, -1, 0x00027000};
  resource[0] = __builtin_amdgcn_readfirstlane(resource[0]);
  resource[1] = __builtin_amdgcn_readfirstlane(resource[1]);
  asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen\n s_waitcnt vmcnt(0)" : "=&a"(four) : "v"(local), "s"(resource) : "memory");
  asm volatile("global_store_dwordx4 %0, %1, off" : : "v"(to + 12), "a"(four) : "memory");
}

// For the benchmark: `rounds` times 16 products on one wave.
#define RATE(name, sum_type, type, value, instruction) \
  extern "C" __global__ void rate_##name(int *out, int rounds) { \
    const int n = threadIdx.x % 5; \
    type a = value, b = value; \
    sum_type sum = {0}; \
    for (int round = 0; round < rounds; round++) { \
      _Pragma("unroll") for (int i = 0; i < 16; i++) sum = __builtin_amdgcn_mfma_##instruction(a, b, sum, 0, 0, 0); \
    } \
    out[threadIdx.x] = (int)sum[0]; \
  }

typedef int i32x16 __attribute__((ext_vector_type(16)));

RATE(f32_32, f32x16, float, (float)n, f32_32x32x2f32)
RATE(f32_16, f32x4, float, (float)n, f32_16x16x4f32)
RATE(f64_16, f64x4, double, (double)n, f64_16x16x4f64)
RATE(f16_32, f32x16, f16x4, (f16x4)(_Float16)n, f32_32x32x8f16)
RATE(f16_16, f32x4, f16x4, (f16x4)(_Float16)n, f32_16x16x16f16)
RATE(bf16_16, f32x4, i16x4, (i16x4)(short)(0x3f80 + n), f32_16x16x16bf16_1k)
#if defined(__gfx942__)
RATE(i8_32, i32x16, long, (long)n, i32_32x32x16_i8)
RATE(fp8_32, f32x16, long, 0x4048404840484048 ^ n, f32_32x32x16_fp8_fp8)
RATE(xf32_16, f32x4, f32x2, (f32x2)(float)n, f32_16x16x8_xf32)
#else
RATE(i8_32, i32x16, int, n, i32_32x32x8i8)
#endif
