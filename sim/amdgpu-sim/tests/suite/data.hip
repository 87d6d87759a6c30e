// Where data lies: registers, scratch, constant and global variables, structures by value, vectors.

struct Small { char a; short b; int c; double d; };
struct Large { int head; float values[40]; struct { unsigned char x, y, z; } bytes[5]; long long tail; };
union Mixed { float f[4]; unsigned u[4]; double d[2]; };

extern "C" __global__ void by_value(Small s, Large l, Mixed m, float4 v, double* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double* o = out + 6 * i;
    o[0] = s.a + s.b + s.c + s.d;
    o[1] = l.values[i % 40];
    o[2] = l.head + l.bytes[i % 5].x + l.bytes[i % 5].y * 1000 + l.bytes[i % 5].z * 1000000.0;
    o[3] = (double)l.tail;
    o[4] = m.u[i & 3];
    o[5] = (&v.x)[i & 3];
}

// An array that only scratch memory can hold: a permutation is built, followed, and written back.
extern "C" __global__ void scratch(const int* in, int* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a[61];
    unsigned char bytes[37];
    short shorts[13];
    for (int k = 0; k < 61; k++) a[k] = in[(i + k) % n] + k;
    for (int k = 0; k < 37; k++) bytes[k] = (unsigned char)(a[k] * 7);
    for (int k = 0; k < 13; k++) shorts[k] = (short)(a[k] - 50);
    int at = in[i] % 61, sum = 0;
    for (int k = 0; k < 100; k++) {
        int old = a[at];
        a[at] = k;
        sum += old * (k + 1) + bytes[old % 37] - shorts[(old & 255) % 13];
        bytes[k % 37] = (unsigned char)sum;
        shorts[at % 13] = (short)old;
        at = (at * 5 + (old & 255) + 1) % 61;
    }
    out[i] = sum;
}

__constant__ float table[64] = {1, 2, 4, 8, 16, 32, 64, 128, 0.5f, 0.25f};
__constant__ int filled_by_the_host[16];
__device__ int counter = 7;
__device__ unsigned matrix[4][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}, {16, 17, 18, 19, 20}};
__device__ const char text[] = "constant text";
__device__ const char* const words[] = {"zero", "one", "two", "three"};

extern "C" __global__ void variables(float* f, int* out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    f[t] = table[t & 63];
    out[4 * t] = filled_by_the_host[t & 15];
    out[4 * t + 1] = matrix[t & 3][t % 5];
    out[4 * t + 2] = text[t % 13];
    const char* w = words[t & 3];
    int hash = 0;
    while (*w) hash = hash * 31 + *w++;
    out[4 * t + 3] = hash;
    atomicAdd(&counter, 1);
    if (t < 20) atomicAdd(&matrix[t / 5][t % 5], 100u);
}

typedef float float8 __attribute__((ext_vector_type(8)));
typedef unsigned char uchar4v __attribute__((ext_vector_type(4)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef int int3v __attribute__((ext_vector_type(3)));
typedef long long long2v __attribute__((ext_vector_type(2)));

extern "C" __global__ void vectors(const float8* a, const uchar4v* b, const short4v* c, const int* d, const long2v* e,
                                   float8* fa, uchar4v* fb, short4v* fc, int* fd, long2v* fe, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fa[i] = a[i].s76543210 * 2.0f + a[n - 1 - i];
    fb[i] = b[i] + b[i].wzyx * (uchar4v)3;
    short4v s = c[i];
    fc[i] = s < (short4v)0 ? -s : s >> (short4v){1, 2, 3, 4};
    int3v v = {d[3 * i], d[3 * i + 1], d[3 * i + 2]};
    v = v.zxy + v * v.yyx;
    fd[3 * i] = v.x, fd[3 * i + 1] = v.y, fd[3 * i + 2] = v.z;
    long2v l = e[i];
    l[i & 1] ^= l[1 - (i & 1)] << 3;
    fe[i] = l;
}

// Three dimensions: every item writes its coordinates where they belong.
extern "C" __global__ void geometry(unsigned* out, unsigned nx, unsigned ny, unsigned nz) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    unsigned* o = out + 4 * ((z * ny + y) * nx + x);
    o[0] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
    o[1] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
    o[2] = blockDim.x | blockDim.y << 8 | blockDim.z << 16;
    o[3] = gridDim.x | gridDim.y << 8 | gridDim.z << 16;
}

// Structures of arrays to arrays of structures and back, at odd addresses.
struct __attribute__((packed)) Odd { unsigned char tag; int value; short rest; };
extern "C" __global__ void packed(const Odd* in, Odd* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Odd o = in[i];
    o.value = o.value * 3 + o.tag;
    o.rest = (short)(o.rest - o.value);
    o.tag ^= 0x5a;
    out[n - 1 - i] = o;
}
