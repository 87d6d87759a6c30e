// Scales matrices by powers of two, so that their largest number is where rocSOLVER's absolute tolerances hold. A matrix of complex numbers is one of
// real ones, `width` of them side by side. `part`: 0 is the upper triangle, 1 the lower one, 2 all.

typedef long long wide;
typedef unsigned long long bits;

__device__ bool within(wide row, wide col, int part)
{
    return part == 2 || (part == 1 ? row >= col : row <= col);
}

__device__ bits bits_of(float x)
{
    return __float_as_uint(fabsf(x));
}

__device__ bits bits_of(double x)
{
    return (bits)__double_as_longlong(fabs(x));
}

// The bits of the largest absolute value of each member, of which NaN is the largest: `found` begins with zeros.
template <typename R>
__device__ void largest(const R *a, wide ld, wide stride, int rows, int cols, int width, int part, bits *found)
{
    a += stride * blockIdx.y * width;
    wide count = (wide)rows * cols, step = (wide)gridDim.x * blockDim.x;
    bits most = 0;
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        wide row = at % rows, col = at / rows;
        if (!within(row, col, part))
            continue;
        for (int k = 0; k < width; ++k) {
            bits one = bits_of(a[(col * ld + row) * width + k]);
            most = one > most ? one : most;
        }
    }
    if (most != 0)
        atomicMax(found + blockIdx.y, most);
}

// The power of two of each member is `shifts[member]`.
template <typename R>
__device__ void scale(R *a, wide ld, wide stride, int rows, int cols, int width, int part, const int *shifts)
{
    int shift = shifts[blockIdx.y];
    if (shift == 0)
        return;
    a += stride * blockIdx.y * width;
    wide count = (wide)rows * cols, step = (wide)gridDim.x * blockDim.x;
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        wide row = at % rows, col = at / rows;
        if (!within(row, col, part))
            continue;
        for (int k = 0; k < width; ++k) {
            R *number = a + (col * ld + row) * width + k;
            *number = ldexp(*number, shift);
        }
    }
}

extern "C" __global__ void largest_32(const float *a, wide ld, wide stride, int rows, int cols, int width, int part,
                                      bits *found)
{
    largest(a, ld, stride, rows, cols, width, part, found);
}

extern "C" __global__ void largest_64(const double *a, wide ld, wide stride, int rows, int cols, int width, int part,
                                      bits *found)
{
    largest(a, ld, stride, rows, cols, width, part, found);
}

extern "C" __global__ void scale_32(float *a, wide ld, wide stride, int rows, int cols, int width, int part,
                                    const int *shifts)
{
    scale(a, ld, stride, rows, cols, width, part, shifts);
}

extern "C" __global__ void scale_64(double *a, wide ld, wide stride, int rows, int cols, int width, int part,
                                    const int *shifts)
{
    scale(a, ld, stride, rows, cols, width, part, shifts);
}
