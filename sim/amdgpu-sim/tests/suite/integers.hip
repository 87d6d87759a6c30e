// Integer arithmetic, 8 to 64 bits. Every item writes the results of all operations, one after the other.

template <typename T, typename U>
__device__ void arithmetic(const T* a, const T* b, T* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned bits = sizeof(T) * 8;
    T x = a[i], y = b[i];
    U ux = (U)x, uy = (U)y;
    T* o = out + 20 * i;
    bool defined = y != 0 && !(y == (T)-1 && ux == (U)1 << (bits - 1));
    o[0] = (T)(ux + uy);
    o[1] = (T)(ux - uy);
    o[2] = (T)(U)((unsigned long long)ux * (unsigned long long)uy);
    o[3] = defined ? (T)(x / y) : (T)0;
    o[4] = defined ? (T)(x % y) : (T)0;
    o[5] = uy ? (T)(ux / uy) : (T)0;
    o[6] = uy ? (T)(ux % uy) : (T)0;
    o[7] = (T)((ux & uy) | (ux ^ (U)~uy));
    o[8] = (T)(U)(ux << (uy % bits));
    o[9] = (T)(x >> (uy % bits));
    o[10] = (T)(ux >> (uy % bits));
    o[11] = x < y ? x : y;
    o[12] = ux > uy ? (T)ux : (T)uy;
    o[13] = (T)((x < y) | (x <= y) << 1 | (ux < uy) << 2 | (ux >= uy) << 3 | (x == y) << 4 | (x != 0 && y != 0) << 5);
    o[14] = (T)(U)(ux << (uy % bits) | ux >> ((bits - uy % bits) % bits));
    o[15] = __builtin_elementwise_add_sat(x, y);
    o[16] = (T)__builtin_elementwise_sub_sat(ux, uy);
    T sum;
    o[17] = (T)(__builtin_add_overflow(x, y, &sum) | __builtin_mul_overflow(x, y, &sum) << 1 |
                __builtin_sub_overflow(ux, uy, (U*)&sum) << 2);
    o[18] = x / (T)7;
    o[19] = (T)(ux % (U)100);
}

#define ARITHMETIC(name, T, U)                                                                      \
    extern "C" __global__ void name(const T* a, const T* b, T* out, unsigned n) { arithmetic<T, U>(a, b, out, n); }
ARITHMETIC(arithmetic_i8, signed char, unsigned char)
ARITHMETIC(arithmetic_i16, short, unsigned short)
ARITHMETIC(arithmetic_i32, int, unsigned)
ARITHMETIC(arithmetic_i64, long long, unsigned long long)

typedef unsigned long long u64;

extern "C" __global__ void bits(const u64* a, const u64* b, u64* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 x = a[i], y = b[i];
    unsigned p = (unsigned)x, q = (unsigned)y;
    u64* o = out + 24 * i;
    o[0] = __popc(p) | (u64)__popcll(x) << 8;
    o[1] = __clz((int)p) | (u64)__clzll((long long)x) << 8;
    o[2] = __ffs((int)p) | (u64)__ffsll((long long)x) << 8;
    o[3] = __brev(p);
    o[4] = __brevll(x);
    o[5] = __umulhi(p, q);
    o[6] = (unsigned)__mulhi((int)p, (int)q);
    o[7] = __umul64hi(x, y);
    o[8] = (u64)__mul64hi((long long)x, (long long)y);
    o[9] = __funnelshift_l(p, q, (unsigned)(y >> 40));
    o[10] = __funnelshift_r(p, q, (unsigned)(y >> 40));
    o[11] = __builtin_amdgcn_ubfe(p, q & 31, q >> 5 & 31);
    o[12] = (unsigned)__builtin_amdgcn_sbfe((int)p, q & 31, q >> 5 & 31);
    o[13] = __byte_perm(p, q, (unsigned)(y >> 32));
    o[14] = (unsigned)__mul24((int)p, (int)q);
    o[15] = (unsigned)__umul24(p, q);
    o[16] = __usad(p, q, (unsigned)(x >> 32));
    // Halves, as the function is defined only where the difference is an int.
    o[17] = (unsigned)__sad((int)p >> 1, (int)q >> 1, (unsigned)(x >> 32));
    o[18] = (unsigned)__hadd((int)p, (int)q) | (u64)__uhadd(p, q) << 32;
    o[19] = (unsigned)__rhadd((int)p, (int)q) | (u64)__urhadd(p, q) << 32;
    o[20] = __builtin_bswap64(x);
    o[21] = __builtin_ctzll(x | 1ull << 63) | (u64)__builtin_parityll(x) << 8;
    o[22] = __builtin_amdgcn_alignbyte(p, q, (unsigned)(x >> 33));
    o[23] = __builtin_amdgcn_lerp(p, q, (unsigned)(x >> 32));
}

// 128 bits, the third operand as shift count.
extern "C" __global__ void wide(const u64* a, const u64* b, u64* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 x = (unsigned __int128)a[i] << 64 | b[i];
    unsigned __int128 y = (unsigned __int128)b[i] << 64 | a[(i + 1) % n];
    unsigned __int128 results[7] = {
        x + y,
        x - y,
        x * y,
        x << (a[i] & 127),
        x >> (a[i] & 127),
        (unsigned __int128)((__int128)x >> (b[i] & 127)),
        (__int128)x < (__int128)y ? x ^ y : x & y,
    };
    for (int k = 0; k < 7; k++) {
        out[14 * i + 2 * k] = (u64)results[k];
        out[14 * i + 2 * k + 1] = (u64)(results[k] >> 64);
    }
}
