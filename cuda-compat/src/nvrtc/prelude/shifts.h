// Shifts whose amount is the number of bits or more: everything is shifted out, as by NVIDIA's GPUs. C++ leaves the result undefined, and
// AMD's GPUs use the low bits of the amount.
//
// A macro is behind each operator of a program: `a << b + c` is `a << CUDA_COMPAT_AMOUNT b + c`.
#pragma once

#ifndef CUDA_COMPAT_SATURATING_SHIFTS
#define CUDA_COMPAT_SATURATING_SHIFTS 1
#endif

#if CUDA_COMPAT_SATURATING_SHIFTS
#define CUDA_COMPAT_AMOUNT ::__cuda_compat::by{} *
#define CUDA_COMPAT_ASSIGNED_AMOUNT ::__cuda_compat::by{} =

#define CUDA_COMPAT_SHIFT __host__ __device__ __attribute__((always_inline)) constexpr
namespace __cuda_compat {
// An amount. It converts back for operators that are a program's own.
template <class R> struct amount {
    R value;
    CUDA_COMPAT_SHIFT operator R() const { return value; }
};
// It takes the first operand of the amount: the product binds tighter than all operators that an amount can have.
struct by {
    template <class R> CUDA_COMPAT_SHIFT auto operator*(R value) const -> amount<decltype(+value)> { return {+value}; }
    template <class R> CUDA_COMPAT_SHIFT auto operator=(R value) const -> amount<decltype(+value)> { return {+value}; }
};
#define CUDA_COMPAT_ARITHMETIC(op)                                                                                      \
    template <class R, class T>                                                                                         \
    CUDA_COMPAT_SHIFT auto operator op(amount<R> left, T right) -> amount<decltype(left.value op right)> {              \
        return {left.value op right};                                                                                   \
    }
CUDA_COMPAT_ARITHMETIC(+)
CUDA_COMPAT_ARITHMETIC(-)
CUDA_COMPAT_ARITHMETIC(*)
CUDA_COMPAT_ARITHMETIC(/)
CUDA_COMPAT_ARITHMETIC(%)
#undef CUDA_COMPAT_ARITHMETIC

template <class L, class R> CUDA_COMPAT_SHIFT auto operator<<(L value, amount<R> by) -> decltype(+value << by.value) {
    return (unsigned long long)by.value < 8 * sizeof(+value) ? +value << by.value : 0;
}
// Copies of the sign stay.
template <class L, class R> CUDA_COMPAT_SHIFT auto operator>>(L value, amount<R> by) -> decltype(+value >> by.value) {
    return (unsigned long long)by.value < 8 * sizeof(+value) ? +value >> by.value : +value < 0 ? -1 : 0;
}
template <class L, class R> CUDA_COMPAT_SHIFT auto operator<<=(L &value, amount<R> by) -> decltype((void)+value, value <<= by.value) {
    return value = value << by;
}
template <class L, class R> CUDA_COMPAT_SHIFT auto operator>>=(L &value, amount<R> by) -> decltype((void)+value, value >>= by.value) {
    return value = value >> by;
}
} // namespace __cuda_compat
#undef CUDA_COMPAT_SHIFT
#else
#define CUDA_COMPAT_AMOUNT
#define CUDA_COMPAT_ASSIGNED_AMOUNT
#endif
