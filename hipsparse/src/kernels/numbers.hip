// Kernels that look at the values of sparse matrices. `found` gets the smallest row with a defect, and begins with the
// largest number.

enum Scalar { F32, F64, C32, C64 };

typedef long long wide;
typedef unsigned long long position;

struct Number {
    double re, im;
};

__device__ Number number(const void *values, wide at, int scalar)
{
    switch (scalar) {
    case F32:
        return {((const float *)values)[at], 0};
    case F64:
        return {((const double *)values)[at], 0};
    case C32:
        return {((const float *)values)[2 * at], ((const float *)values)[2 * at + 1]};
    default:
        return {((const double *)values)[2 * at], ((const double *)values)[2 * at + 1]};
    }
}

__device__ bool finite(Number a)
{
    // Infinities and NaN have all bits of the exponent.
    const position exponent = 0x7ffull << 52;
    return ((position)__double_as_longlong(a.re) & exponent) != exponent
        && ((position)__double_as_longlong(a.im) & exponent) != exponent;
}

// Finds lines whose diagonal is zero or is not stored. The entries are sorted. With `coordinates`, `first` has the row
// of each entry, else the offsets of the lines.
template <typename I>
__device__ void diagonal(const I *first, const I *second, const void *values, wide lines, wide entries, wide base,
                         int coordinates, int scalar, position *found)
{
    wide step = (wide)gridDim.x * blockDim.x;
    for (wide line = (wide)blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += step) {
        wide low = coordinates ? 0 : first[line] - base;
        wide end = coordinates ? entries : first[line + 1] - base;
        wide high = end;
        while (low < high) {
            wide middle = low + (high - low) / 2;
            wide row = coordinates ? first[middle] - base : line;
            if (row < line || (row == line && second[middle] - base < line))
                low = middle + 1;
            else
                high = middle;
        }
        bool stored = low < end && second[low] - base == line && (!coordinates || first[low] - base == line);
        Number pivot = stored ? number(values, low, scalar) : Number{0, 0};
        if (pivot.re == 0 && pivot.im == 0)
            atomicMin(found, (position)line);
    }
}

extern "C" __global__ void diagonal_32(const int *first, const int *second, const void *values, wide lines,
                                       wide entries, wide base, int coordinates, int scalar, position *found)
{
    diagonal(first, second, values, lines, entries, base, coordinates, scalar, found);
}

extern "C" __global__ void diagonal_64(const wide *first, const wide *second, const void *values, wide lines,
                                       wide entries, wide base, int coordinates, int scalar, position *found)
{
    diagonal(first, second, values, lines, entries, base, coordinates, scalar, found);
}

// The position of an element of a block: `row` of 0..size, `col` of 0..size.
__device__ wide in_block(wide block, wide size, int columns, wide row, wide col)
{
    return block * size * size + (columns ? col * size + row : row * size + col);
}

// Before a factorization: copies the real parts of the diagonal, of blocks of `size` rows, and resets `found`.
extern "C" __global__ void before(const int *offsets, const int *indices, const void *values, wide rows, wide size,
                                  int columns, wide base, int scalar, double *diagonal, position *found)
{
    wide step = (wide)gridDim.x * blockDim.x;
    wide start = (wide)blockIdx.x * blockDim.x + threadIdx.x;
    if (start == 0)
        *found = ~0ull;
    for (wide row = start; row < rows; row += step) {
        wide line = row / size, inside = row % size;
        double real = 0;
        for (wide block = offsets[line] - base; block < offsets[line + 1] - base; block++)
            if (indices[block] - base == line)
                real = number(values, in_block(block, size, columns, inside, inside), scalar).re;
        diagonal[row] = real;
    }
}

// After it: finds lines with a pivot that is zero, or with an infinity or NaN. With `cholesky`, only the lower triangle
// is looked at, and the square of a pivot, which the library computes from an absolute value, must be positive.
extern "C" __global__ void after(const int *offsets, const int *indices, const void *values, wide rows, wide size,
                                 int columns, wide base, int scalar, int cholesky, const double *diagonal,
                                 position *found)
{
    wide step = (wide)gridDim.x * blockDim.x;
    for (wide row = (wide)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += step) {
        wide line = row / size, inside = row % size;
        double square = diagonal[row];
        Number pivot = {0, 0};
        bool bad = false;
        for (wide block = offsets[line] - base; block < offsets[line + 1] - base; block++) {
            for (wide col_inside = 0; col_inside < size; col_inside++) {
                wide col = (indices[block] - base) * size + col_inside;
                if (cholesky && col > row)
                    continue;
                Number a = number(values, in_block(block, size, columns, inside, col_inside), scalar);
                bad |= !finite(a);
                if (col < row)
                    square -= a.re * a.re + a.im * a.im;
                if (col == row)
                    pivot = a;
            }
        }
        bad |= pivot.re == 0 && pivot.im == 0;
        if (bad || (cholesky && !(square > 0)))
            atomicMin(found, (position)line);
    }
}

// Writes zeros to a dense matrix of `lines` times `length` elements, with `step` elements from line to line.
extern "C" __global__ void clear(void *dense, wide lines, wide length, wide ld, int scalar)
{
    wide step = (wide)gridDim.x * blockDim.x;
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < lines * length; at += step) {
        wide place = at / length * ld + at % length;
        switch (scalar) {
        case F32:
            ((float *)dense)[place] = 0;
            break;
        case F64:
            ((double *)dense)[place] = 0;
            break;
        case C32:
            ((float *)dense)[2 * place] = ((float *)dense)[2 * place + 1] = 0;
            break;
        default:
            ((double *)dense)[2 * place] = ((double *)dense)[2 * place + 1] = 0;
        }
    }
}

template <typename T>
__device__ void add_real(void *dense, wide place, const void *values, wide at)
{
    atomicAdd((T *)dense + place, ((const T *)values)[at]);
}

// Adds the entries to a dense matrix, whose element (first, second) is at `first * first_step + second * second_step`.
// With `coordinates`, `first` has the row of each entry, else the offsets of the lines.
template <typename I>
__device__ void add(const I *first, const I *second, const void *values, wide lines, wide entries, wide base,
                    int coordinates, int scalar, void *dense, wide first_step, wide second_step)
{
    wide step = (wide)gridDim.x * blockDim.x;
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < entries; at += step) {
        wide line = 0;
        if (coordinates) {
            line = first[at] - base;
        } else {
            // The last line that starts at or before the entry.
            wide high = lines;
            while (line + 1 < high) {
                wide middle = line + (high - line) / 2;
                if (first[middle] - base <= at)
                    line = middle;
                else
                    high = middle;
            }
        }
        wide place = line * first_step + (second[at] - base) * second_step;
        switch (scalar) {
        case F32:
            add_real<float>(dense, place, values, at);
            break;
        case F64:
            add_real<double>(dense, place, values, at);
            break;
        case C32:
            add_real<float>(dense, 2 * place, values, 2 * at);
            add_real<float>(dense, 2 * place + 1, values, 2 * at + 1);
            break;
        default:
            add_real<double>(dense, 2 * place, values, 2 * at);
            add_real<double>(dense, 2 * place + 1, values, 2 * at + 1);
        }
    }
}

extern "C" __global__ void add_32(const int *first, const int *second, const void *values, wide lines, wide entries,
                                  wide base, int coordinates, int scalar, void *dense, wide first_step,
                                  wide second_step)
{
    add(first, second, values, lines, entries, base, coordinates, scalar, dense, first_step, second_step);
}

extern "C" __global__ void add_64(const wide *first, const wide *second, const void *values, wide lines, wide entries,
                                  wide base, int coordinates, int scalar, void *dense, wide first_step,
                                  wide second_step)
{
    add(first, second, values, lines, entries, base, coordinates, scalar, dense, first_step, second_step);
}
