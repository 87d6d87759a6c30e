// Copies by the threads of a group.
#pragma once

namespace __cuda_compat { namespace copies {
// Words, if the addresses and the size allow it.
__device__ inline void bytes(void *to, const void *from, __SIZE_TYPE__ size, unsigned rank, unsigned threads) {
    if ((((__SIZE_TYPE__)to | (__SIZE_TYPE__)from | size) & 3) == 0) {
        for (__SIZE_TYPE__ i = rank; i < size / 4; i += threads) ((unsigned *)to)[i] = ((const unsigned *)from)[i];
    } else {
        for (__SIZE_TYPE__ i = rank; i < size; i += threads) ((char *)to)[i] = ((const char *)from)[i];
    }
}
}} // namespace __cuda_compat::copies

namespace cuda {
// A size, with the alignment of the memory in its type.
template <__SIZE_TYPE__ alignment> struct aligned_size_t {
    static constexpr __SIZE_TYPE__ align = alignment;
    __SIZE_TYPE__ value;
    __host__ __device__ explicit constexpr aligned_size_t(__SIZE_TYPE__ size) : value(size) {}
    __host__ __device__ constexpr operator __SIZE_TYPE__() const { return value; }
};
} // namespace cuda
