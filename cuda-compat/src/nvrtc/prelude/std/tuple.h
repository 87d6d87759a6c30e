// Tuples.
#pragma once
#include "cuda_compat/std/utility.h"

namespace cuda { namespace std {
template <class... T> struct tuple {};
template <class T, class... R> struct tuple<T, R...> {
    T first;
    tuple<R...> rest;
    constexpr tuple() = default;
    __host__ __device__ constexpr tuple(const T &first, const R &...rest) : first(first), rest(rest...) {}
    template <class U, class... V, class = enable_if_t<sizeof...(V) == sizeof...(R) && is_constructible_v<T, U &&>>>
    __host__ __device__ constexpr tuple(U &&first, V &&...rest)
        : first(static_cast<U &&>(first)), rest(static_cast<V &&>(rest)...) {}
    template <class U, class... V> __host__ __device__ constexpr tuple(const tuple<U, V...> &other) : first(other.first), rest(other.rest) {}
    // For ties, too.
    template <class U, class... V> __host__ __device__ constexpr tuple &operator=(const tuple<U, V...> &other) {
        first = other.first;
        rest = other.rest;
        return *this;
    }
    template <class U, class V> __host__ __device__ constexpr tuple &operator=(const pair<U, V> &other) {
        first = other.first;
        rest.first = other.second;
        return *this;
    }
};
template <class T> struct tuple_size;
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class T, class U> struct tuple_size<pair<T, U>> : integral_constant<size_t, 2> {};
template <class T, size_t n> struct tuple_size<array<T, n>> : integral_constant<size_t, n> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t at, class T> struct tuple_element;
template <size_t at, class T, class... R> struct tuple_element<at, tuple<T, R...>> : tuple_element<at - 1, tuple<R...>> {};
template <class T, class... R> struct tuple_element<0, tuple<T, R...>> { typedef T type; };
template <class T, class U> struct tuple_element<0, pair<T, U>> { typedef T type; };
template <class T, class U> struct tuple_element<1, pair<T, U>> { typedef U type; };
template <size_t at, class T, size_t n> struct tuple_element<at, array<T, n>> { typedef T type; };
template <size_t at, class T> using tuple_element_t = typename tuple_element<at, T>::type;
template <size_t at, class... T> __host__ __device__ constexpr tuple_element_t<at, tuple<T...>> &get(tuple<T...> &all) {
    if constexpr (at == 0) return all.first;
    else return get<at - 1>(all.rest);
}
template <size_t at, class... T> __host__ __device__ constexpr const tuple_element_t<at, tuple<T...>> &get(const tuple<T...> &all) {
    if constexpr (at == 0) return all.first;
    else return get<at - 1>(all.rest);
}
template <size_t at, class... T> __host__ __device__ constexpr tuple_element_t<at, tuple<T...>> &&get(tuple<T...> &&all) {
    return static_cast<tuple_element_t<at, tuple<T...>> &&>(get<at>(all));
}
template <size_t at, class T, class U> __host__ __device__ constexpr auto &get(pair<T, U> &both) {
    if constexpr (at == 0) return both.first;
    else return both.second;
}
template <size_t at, class T, class U> __host__ __device__ constexpr const auto &get(const pair<T, U> &both) {
    if constexpr (at == 0) return both.first;
    else return both.second;
}
template <size_t at, class T, size_t n> __host__ __device__ constexpr T &get(array<T, n> &all) { return all[at]; }
template <size_t at, class T, size_t n> __host__ __device__ constexpr const T &get(const array<T, n> &all) { return all[at]; }
template <class... T> __host__ __device__ constexpr tuple<decay_t<T>...> make_tuple(T &&...values) {
    return tuple<decay_t<T>...>(static_cast<T &&>(values)...);
}
template <class... T> __host__ __device__ constexpr tuple<T &...> tie(T &...places) { return tuple<T &...>(places...); }
template <class... T> tuple(T...) -> tuple<T...>;
__host__ __device__ constexpr bool operator==(const tuple<> &, const tuple<> &) { return true; }
__host__ __device__ constexpr bool operator<(const tuple<> &, const tuple<> &) { return false; }
template <class T, class... R> __host__ __device__ constexpr bool operator==(const tuple<T, R...> &a, const tuple<T, R...> &b) {
    return a.first == b.first && a.rest == b.rest;
}
template <class... T> __host__ __device__ constexpr bool operator!=(const tuple<T...> &a, const tuple<T...> &b) { return !(a == b); }
template <class T, class... R> __host__ __device__ constexpr bool operator<(const tuple<T, R...> &a, const tuple<T, R...> &b) {
    return a.first < b.first || (!(b.first < a.first) && a.rest < b.rest);
}
template <class F, class T, size_t... at> __host__ __device__ constexpr decltype(auto) __cuda_compat_apply(F &&function, T &all, index_sequence<at...>) {
    return function(get<at>(all)...);
}
template <class F, class T> __host__ __device__ constexpr decltype(auto) apply(F &&function, T &&all) {
    return __cuda_compat_apply(function, all, make_index_sequence<tuple_size_v<decay_t<T>>>());
}
}} // namespace cuda::std
// Structured bindings search here.
namespace std {
using ::cuda::std::tuple_element;
using ::cuda::std::tuple_size;
} // namespace std
