// Moves, pairs, sequences of indices, and the smaller of two.
#pragma once
#include "cuda_compat/std/type_traits.h"

namespace cuda { namespace std {
template <class T> __host__ __device__ constexpr remove_reference_t<T> &&move(T &&value) noexcept {
    return static_cast<remove_reference_t<T> &&>(value);
}
template <class T> __host__ __device__ constexpr T &&forward(remove_reference_t<T> &value) noexcept {
    return static_cast<T &&>(value);
}
template <class T> __host__ __device__ constexpr T &&forward(remove_reference_t<T> &&value) noexcept {
    return static_cast<T &&>(value);
}
template <class T> __host__ __device__ constexpr void swap(T &a, T &b) {
    T kept = static_cast<T &&>(a);
    a = static_cast<T &&>(b);
    b = static_cast<T &&>(kept);
}
template <class T, class U = T> __host__ __device__ constexpr T exchange(T &place, U &&value) {
    T old = static_cast<T &&>(place);
    place = static_cast<U &&>(value);
    return old;
}
template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T, class F> __host__ __device__ constexpr const T &min(const T &a, const T &b, F less) { return less(b, a) ? b : a; }
template <class T, class F> __host__ __device__ constexpr const T &max(const T &a, const T &b, F less) { return less(a, b) ? b : a; }
template <class T> __host__ __device__ constexpr const T &clamp(const T &value, const T &low, const T &high) {
    return value < low ? low : high < value ? high : value;
}
template <class T, class U> struct pair {
    typedef T first_type;
    typedef U second_type;
    T first;
    U second;
};
template <class T, class U> pair(T, U) -> pair<T, U>;
template <class T, class U> __host__ __device__ constexpr pair<decay_t<T>, decay_t<U>> make_pair(T &&first, U &&second) {
    return {forward<T>(first), forward<U>(second)};
}
template <class T, class U> __host__ __device__ constexpr bool operator==(const pair<T, U> &a, const pair<T, U> &b) {
    return a.first == b.first && a.second == b.second;
}
template <class T, class U> __host__ __device__ constexpr bool operator<(const pair<T, U> &a, const pair<T, U> &b) {
    return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}
template <class T, T... values> struct integer_sequence {
    typedef T value_type;
    static __host__ __device__ constexpr size_t size() { return sizeof...(values); }
};
template <size_t... values> using index_sequence = integer_sequence<size_t, values...>;
template <class T, T n> using make_integer_sequence = __make_integer_seq<integer_sequence, T, n>;
template <size_t n> using make_index_sequence = make_integer_sequence<size_t, n>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;
template <class T, size_t n> struct array {
    typedef T value_type;
    typedef T *iterator;
    typedef const T *const_iterator;
    T elements[n];
    __host__ __device__ constexpr T &operator[](size_t at) { return elements[at]; }
    __host__ __device__ constexpr const T &operator[](size_t at) const { return elements[at]; }
    __host__ __device__ constexpr T *data() { return elements; }
    __host__ __device__ constexpr const T *data() const { return elements; }
    __host__ __device__ constexpr T *begin() { return elements; }
    __host__ __device__ constexpr const T *begin() const { return elements; }
    __host__ __device__ constexpr T *end() { return elements + n; }
    __host__ __device__ constexpr const T *end() const { return elements + n; }
    __host__ __device__ constexpr T &front() { return elements[0]; }
    __host__ __device__ constexpr T &back() { return elements[n - 1]; }
    __host__ __device__ static constexpr size_t size() { return n; }
    __host__ __device__ static constexpr bool empty() { return false; }
    __host__ __device__ constexpr void fill(const T &value) { for (size_t i = 0; i < n; ++i) elements[i] = value; }
};
template <class T, class... U> array(T, U...) -> array<T, 1 + sizeof...(U)>;

template <class T = void> struct plus { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a + b; } };
template <class T = void> struct minus { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a - b; } };
template <class T = void> struct multiplies { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a * b; } };
template <class T = void> struct bit_and { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a & b; } };
template <class T = void> struct bit_or { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a | b; } };
template <class T = void> struct bit_xor { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a ^ b; } };
template <class T = void> struct less { __host__ __device__ constexpr bool operator()(const T &a, const T &b) const { return a < b; } };
template <class T = void> struct greater { __host__ __device__ constexpr bool operator()(const T &a, const T &b) const { return b < a; } };
#define CUDA_COMPAT_ANY(name, operator_)                                                                                \
    template <> struct name<void> {                                                                                     \
        template <class A, class B> __host__ __device__ constexpr auto operator()(A &&a, B &&b) const { return a operator_ b; } \
    };
CUDA_COMPAT_ANY(plus, +) CUDA_COMPAT_ANY(minus, -) CUDA_COMPAT_ANY(multiplies, *) CUDA_COMPAT_ANY(bit_and, &)
CUDA_COMPAT_ANY(bit_or, |) CUDA_COMPAT_ANY(bit_xor, ^) CUDA_COMPAT_ANY(less, <) CUDA_COMPAT_ANY(greater, >)
#undef CUDA_COMPAT_ANY

template <class To, class From> __host__ __device__ constexpr To bit_cast(const From &value) noexcept {
    static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of one size");
    return __builtin_bit_cast(To, value);
}
template <class T> __host__ __device__ constexpr int popcount(T value) noexcept { return __builtin_popcountll(make_unsigned_t<T>(value)); }
template <class T> __host__ __device__ constexpr int countr_zero(T value) noexcept {
    return value == 0 ? int(8 * sizeof(T)) : __builtin_ctzll(value);
}
template <class T> __host__ __device__ constexpr int countl_zero(T value) noexcept {
    return value == 0 ? int(8 * sizeof(T)) : __builtin_clzll(make_unsigned_t<T>(value)) - int(64 - 8 * sizeof(T));
}
template <class T> __host__ __device__ constexpr bool has_single_bit(T value) noexcept { return value != 0 && (value & (value - 1)) == 0; }
template <class T> __host__ __device__ constexpr T bit_ceil(T value) noexcept {
    T power = 1;
    while (power < value) power <<= 1;
    return power;
}
template <class T> __host__ __device__ constexpr int bit_width(T value) noexcept { return int(8 * sizeof(T)) - countl_zero(value); }
}} // namespace cuda::std
