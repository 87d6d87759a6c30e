// Traits of types.
#pragma once
#include "cuda_compat/std/cstddef.h"

namespace cuda { namespace std {
template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    __host__ __device__ constexpr operator T() const { return v; }
    __host__ __device__ constexpr T operator()() const { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool b, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
template <class...> using void_t = void;
template <class T> struct type_identity { typedef T type; };
template <class T> using type_identity_t = typename type_identity<T>::type;

template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename remove_const<typename remove_volatile<T>::type>::type type; };
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T &> { typedef T type; };
template <class T> struct remove_reference<T &&> { typedef T type; };
template <class T> struct remove_cvref { typedef typename remove_cv<typename remove_reference<T>::type>::type type; };
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T *> { typedef T type; };
template <class T> struct remove_pointer<T *const> { typedef T type; };
template <class T> struct remove_extent { typedef T type; };
template <class T> struct remove_extent<T[]> { typedef T type; };
template <class T, size_t n> struct remove_extent<T[n]> { typedef T type; };
template <class T> struct add_const { typedef const T type; };
template <class T> struct add_volatile { typedef volatile T type; };
template <class T> struct add_cv { typedef const volatile T type; };
template <class T> struct add_pointer { typedef typename remove_reference<T>::type *type; };
template <class T, class = void> struct add_lvalue_reference { typedef T type; };
template <class T> struct add_lvalue_reference<T, void_t<T &>> { typedef T &type; };
template <class T, class = void> struct add_rvalue_reference { typedef T type; };
template <class T> struct add_rvalue_reference<T, void_t<T &&>> { typedef T &&type; };
template <class T> struct decay {
    typedef typename remove_reference<T>::type bare;
    typedef conditional_t<__is_array(bare), typename remove_extent<bare>::type *,
                          conditional_t<__is_function(bare), typename add_pointer<bare>::type, typename remove_cv<bare>::type>>
        type;
};
template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> struct make_signed;
template <class T> struct make_unsigned;
#define CUDA_COMPAT_SIGN(s, u)                                                                                          \
    template <> struct make_signed<s> { typedef s type; };                                                              \
    template <> struct make_signed<u> { typedef s type; };                                                              \
    template <> struct make_unsigned<s> { typedef u type; };                                                            \
    template <> struct make_unsigned<u> { typedef u type; };
CUDA_COMPAT_SIGN(signed char, unsigned char)
CUDA_COMPAT_SIGN(short, unsigned short)
CUDA_COMPAT_SIGN(int, unsigned)
CUDA_COMPAT_SIGN(long, unsigned long)
CUDA_COMPAT_SIGN(long long, unsigned long long)
#undef CUDA_COMPAT_SIGN
template <> struct make_signed<char> { typedef signed char type; };
template <> struct make_unsigned<char> { typedef unsigned char type; };
#define CUDA_COMPAT_T(name) template <class T> using name##_t = typename name<T>::type;
CUDA_COMPAT_T(remove_const) CUDA_COMPAT_T(remove_volatile) CUDA_COMPAT_T(remove_cv) CUDA_COMPAT_T(remove_reference)
CUDA_COMPAT_T(remove_cvref) CUDA_COMPAT_T(remove_pointer) CUDA_COMPAT_T(remove_extent) CUDA_COMPAT_T(add_const)
CUDA_COMPAT_T(add_volatile) CUDA_COMPAT_T(add_cv) CUDA_COMPAT_T(add_pointer) CUDA_COMPAT_T(add_lvalue_reference)
CUDA_COMPAT_T(add_rvalue_reference) CUDA_COMPAT_T(decay) CUDA_COMPAT_T(underlying_type) CUDA_COMPAT_T(make_signed)
CUDA_COMPAT_T(make_unsigned)
#undef CUDA_COMPAT_T

template <class T> __host__ __device__ typename add_rvalue_reference<T>::type declval() noexcept;

// The compiler has these.
#define CUDA_COMPAT_IS(name)                                                                                            \
    template <class T> struct name : bool_constant<__##name(T)> {};                                                     \
    template <class T> inline constexpr bool name##_v = __##name(T);
CUDA_COMPAT_IS(is_void) CUDA_COMPAT_IS(is_integral) CUDA_COMPAT_IS(is_floating_point) CUDA_COMPAT_IS(is_arithmetic)
CUDA_COMPAT_IS(is_signed) CUDA_COMPAT_IS(is_unsigned) CUDA_COMPAT_IS(is_pointer) CUDA_COMPAT_IS(is_array)
CUDA_COMPAT_IS(is_function) CUDA_COMPAT_IS(is_reference) CUDA_COMPAT_IS(is_lvalue_reference)
CUDA_COMPAT_IS(is_rvalue_reference) CUDA_COMPAT_IS(is_enum) CUDA_COMPAT_IS(is_class) CUDA_COMPAT_IS(is_union)
CUDA_COMPAT_IS(is_const) CUDA_COMPAT_IS(is_volatile) CUDA_COMPAT_IS(is_trivial) CUDA_COMPAT_IS(is_trivially_copyable)
CUDA_COMPAT_IS(is_standard_layout) CUDA_COMPAT_IS(is_empty) CUDA_COMPAT_IS(is_final) CUDA_COMPAT_IS(is_abstract)
CUDA_COMPAT_IS(is_fundamental) CUDA_COMPAT_IS(is_scalar) CUDA_COMPAT_IS(is_object) CUDA_COMPAT_IS(is_compound)
#undef CUDA_COMPAT_IS
#define CUDA_COMPAT_IS(name, builtin)                                                                                   \
    template <class T, class U> struct name : bool_constant<builtin(T, U)> {};                                          \
    template <class T, class U> inline constexpr bool name##_v = builtin(T, U);
CUDA_COMPAT_IS(is_same, __is_same) CUDA_COMPAT_IS(is_base_of, __is_base_of)
CUDA_COMPAT_IS(is_convertible, __is_convertible_to) CUDA_COMPAT_IS(is_assignable, __is_assignable)
#undef CUDA_COMPAT_IS
template <class T, class... A> struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A> inline constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T> struct is_null_pointer : is_same<typename remove_cv<T>::type, nullptr_t> {};
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> struct rank : integral_constant<size_t, 0> {};
template <class T> struct rank<T[]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, size_t n> struct rank<T[n]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class...> struct conjunction : true_type {};
template <class T> struct conjunction<T> : T {};
template <class T, class... R> struct conjunction<T, R...> : conditional_t<bool(T::value), conjunction<R...>, T> {};
template <class...> struct disjunction : false_type {};
template <class T> struct disjunction<T> : T {};
template <class T, class... R> struct disjunction<T, R...> : conditional_t<bool(T::value), T, disjunction<R...>> {};
template <class T> struct negation : bool_constant<!bool(T::value)> {};
template <class... T> inline constexpr bool conjunction_v = conjunction<T...>::value;
template <class... T> inline constexpr bool disjunction_v = disjunction<T...>::value;
template <class T> inline constexpr bool negation_v = !bool(T::value);
template <class... T> struct common_type;
template <class T> struct common_type<T> { typedef typename decay<T>::type type; };
template <class T, class U> struct common_type<T, U> { typedef decay_t<decltype(false ? declval<T>() : declval<U>())> type; };
template <class T, class U, class V, class... R> struct common_type<T, U, V, R...>
    : common_type<typename common_type<T, U>::type, V, R...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class F, class... A> struct invoke_result { typedef decltype(declval<F>()(declval<A>()...)) type; };
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;
}} // namespace cuda::std
