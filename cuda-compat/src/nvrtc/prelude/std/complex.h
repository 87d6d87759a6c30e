// Complex numbers.
#pragma once
#include "cuda_compat/std/cmath.h"
#include "cuda_compat/std/type_traits.h"

namespace cuda { namespace std {
template <class T> struct complex {
    typedef T value_type;
    __host__ __device__ constexpr complex(T re = T(), T im = T()) : re(re), im(im) {}
    template <class U> __host__ __device__ constexpr complex(const complex<U> &other) : re((T)other.real()), im((T)other.imag()) {}
    __host__ __device__ constexpr T real() const { return re; }
    __host__ __device__ constexpr T imag() const { return im; }
    __host__ __device__ constexpr void real(T value) { re = value; }
    __host__ __device__ constexpr void imag(T value) { im = value; }
    __host__ __device__ constexpr complex &operator+=(const complex &b) { return re += b.re, im += b.im, *this; }
    __host__ __device__ constexpr complex &operator-=(const complex &b) { return re -= b.re, im -= b.im, *this; }
    __host__ __device__ constexpr complex &operator*=(const complex &b) { return *this = complex(re * b.re - im * b.im, re * b.im + im * b.re); }
    // Scaled, so that the divisor's square does not overflow.
    __host__ __device__ constexpr complex &operator/=(const complex &b) {
        T scale = 1 / ((b.re < 0 ? -b.re : b.re) + (b.im < 0 ? -b.im : b.im));
        T ax = re * scale, ay = im * scale, bx = b.re * scale, by = b.im * scale, divisor = bx * bx + by * by;
        return *this = complex((ax * bx + ay * by) / divisor, (ay * bx - ax * by) / divisor);
    }
    __host__ __device__ constexpr complex &operator*=(T b) { return re *= b, im *= b, *this; }
    __host__ __device__ constexpr complex &operator/=(T b) { return re /= b, im /= b, *this; }
    __host__ __device__ constexpr complex operator-() const { return complex(-re, -im); }
    // Friends, so that numbers convert to complex ones.
#define CUDA_COMPAT_OPERATOR(op)                                                                                        \
    friend __host__ __device__ constexpr complex operator op(complex a, const complex &b) { return a op##= b; }
    CUDA_COMPAT_OPERATOR(+) CUDA_COMPAT_OPERATOR(-) CUDA_COMPAT_OPERATOR(*) CUDA_COMPAT_OPERATOR(/)
#undef CUDA_COMPAT_OPERATOR
    friend __host__ __device__ constexpr bool operator==(const complex &a, const complex &b) { return a.re == b.re && a.im == b.im; }
    friend __host__ __device__ constexpr bool operator!=(const complex &a, const complex &b) { return !(a == b); }

  private:
    T re, im;
};
template <class T> __host__ __device__ constexpr T real(const complex<T> &a) { return a.real(); }
template <class T> __host__ __device__ constexpr T imag(const complex<T> &a) { return a.imag(); }
template <class T> __host__ __device__ constexpr T norm(const complex<T> &a) { return a.real() * a.real() + a.imag() * a.imag(); }
template <class T> __host__ __device__ constexpr complex<T> conj(const complex<T> &a) { return complex<T>(a.real(), -a.imag()); }
template <class T> __device__ inline T abs(const complex<T> &a) { return ::hypot(a.real(), a.imag()); }
template <class T> __device__ inline T arg(const complex<T> &a) { return ::atan2(a.imag(), a.real()); }
template <class T> __device__ inline complex<T> polar(T length, T angle = T()) { return complex<T>(length * ::cos(angle), length * ::sin(angle)); }
template <class T> __device__ inline complex<T> exp(const complex<T> &a) { return polar((T)::exp(a.real()), a.imag()); }
template <class T> __device__ inline complex<T> log(const complex<T> &a) { return complex<T>(::log(abs(a)), arg(a)); }
template <class T> __device__ inline complex<T> sqrt(const complex<T> &a) {
    // The larger part first, so that the other loses no bits.
    T length = abs(a), part = ::sqrt((length + ::fabs(a.real())) / 2);
    if (part == 0) return complex<T>(T(), a.imag());
    T other = a.imag() / (2 * part);
    return a.real() >= 0 ? complex<T>(part, other) : complex<T>(::fabs(other), ::copysign(part, a.imag()));
}
template <class T> __device__ inline complex<T> pow(const complex<T> &a, const complex<T> &b) {
    return a == complex<T>() ? complex<T>() : exp(b * log(a));
}
template <class T> __device__ inline complex<T> pow(const complex<T> &a, T b) { return pow(a, complex<T>(b)); }
}} // namespace cuda::std
