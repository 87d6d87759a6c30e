// Looks for defects of index arrays: `found` gets the smallest position of each kind, and begins with the largest numbers.
//   0: the line whose offset decreases   1: out of range in `first`   2: out of range in `second`   3: unsorted   4: duplicate
// Indices are compared with the base taken off, in 64 bits: what overflows is out of range.

enum Kind { COMPRESSED, COORDINATES, ELL, VECTOR };

typedef long long wide;
typedef unsigned long long position;

// Whether an entry begins a line: whether its position is an offset. Offsets that decrease are a defect of their own.
template <typename I>
__device__ bool begins(const I *offsets, wide lines, wide at, wide base)
{
    wide low = 0, high = lines;
    while (low < high) {
        wide middle = low + (high - low) / 2;
        if ((wide)((position)offsets[middle] - (position)base) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return (wide)((position)offsets[low] - (position)base) == at;
}

template <typename I>
__device__ bool outside(I index, wide base, wide size)
{
    wide from_zero = (wide)((position)(wide)index - (position)base);
    return from_zero < 0 || from_zero >= size;
}

// `lines` has one offset more than lines; of ELL, it is the distance of two blocks of a row.
template <typename I>
__device__ void look(const I *first, const I *second, wide lines, wide entries, wide first_size, wide second_size,
                     wide base, int kind, position *found)
{
    wide count = kind == COMPRESSED && lines > entries ? lines : entries;
    wide step = (wide)gridDim.x * blockDim.x;
    for (wide at = (wide)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        if (kind == COMPRESSED && at < lines
            && (wide)((position)first[at + 1] - (position)base) < (wide)((position)first[at] - (position)base))
            atomicMin(found, (position)at);
        if (at >= entries)
            continue;
        I index = second[at];
        bool padding = kind == ELL && (wide)index == -1;
        if (kind == COORDINATES && outside(first[at], base, first_size))
            atomicMin(found + 1, (position)at);
        if (!padding && outside(index, base, second_size))
            atomicMin(found + 2, (position)at);
        wide before = kind == ELL ? at - lines : at - 1;
        if (before < 0 || padding)
            continue;
        I last = second[before];
        bool less = index < last, same = index == last;
        if (kind == COORDINATES) {
            I row = first[at], last_row = first[before];
            less = row < last_row || (row == last_row && less);
            same = row == last_row && same;
        }
        if (kind == ELL && (wide)last == -1) {
            less = true;
            same = false;
        }
        if (!less && !same)
            continue;
        if (kind == COMPRESSED && begins(first, lines, at, base))
            continue;
        atomicMin(found + (less ? 3 : 4), (position)at);
    }
}

extern "C" __global__ void structure_32(const int *first, const int *second, wide lines, wide entries, wide first_size,
                                        wide second_size, wide base, int kind, position *found)
{
    look(first, second, lines, entries, first_size, second_size, base, kind, found);
}

extern "C" __global__ void structure_64(const wide *first, const wide *second, wide lines, wide entries,
                                        wide first_size, wide second_size, wide base, int kind, position *found)
{
    look(first, second, lines, entries, first_size, second_size, base, kind, found);
}
