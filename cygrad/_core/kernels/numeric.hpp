// Element types and dispatch for the C++ loops of the kernels: complex numbers, NaN tests and "call this template for that dtype".
//
// Why C++ templates beside Cython: a reduction is one loop for a dozen operations and nine element types, which fused types cannot say.
// Why a complex type of our own: std::complex multiplies through a library call that repairs infinities, which torch does not do either.
// Dtypes arrive here as NumPy's public type numbers (NUMPY_TYPE[code] of dtypes.pxd). float16 never does: kernels compute it in float32.
#ifndef CYGRAD_NUMERIC_HPP
#define CYGRAD_NUMERIC_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <Python.h>
#include <numpy/ndarraytypes.h>

namespace cg {

using ssize = Py_ssize_t;

template <class T> struct cx {
    T re, im;
    cx() = default;
    constexpr cx(T r, T i = 0) : re(r), im(i) {}
    cx &operator+=(cx o) { re += o.re; im += o.im; return *this; }
};
template <class T> inline cx<T> operator+(cx<T> a, cx<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> inline cx<T> operator-(cx<T> a, cx<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> inline cx<T> operator*(cx<T> a, cx<T> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
template <class T> inline bool operator==(cx<T> a, cx<T> b) { return a.re == b.re && a.im == b.im; }
template <class T> inline bool operator!=(cx<T> a, cx<T> b) { return !(a == b); }

template <class T> struct real_type { using type = T; static constexpr bool is_complex = false; };
template <class T> struct real_type<cx<T>> { using type = T; static constexpr bool is_complex = true; };
template <class T> using real_t = typename real_type<T>::type;
template <class T> constexpr bool is_complex_v = real_type<T>::is_complex;
template <class T> constexpr bool is_float_v = std::is_floating_point_v<real_t<T>>;

// The type sums and running products are kept in: torch's, which widens integers to int64.
template <class T> using sum_t = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
// The same with double for single precision, where one value is carried along a whole row.
template <class T> struct wide_type { using type = std::conditional_t<std::is_integral_v<T>, int64_t, double>; };
template <class T> struct wide_type<cx<T>> { using type = cx<double>; };
template <class T> using wide_t = typename wide_type<T>::type;

template <class To, class From> inline To convert(From x) {
    if constexpr (is_complex_v<To>) {
        if constexpr (is_complex_v<From>) return To(real_t<To>(x.re), real_t<To>(x.im));
        else return To(real_t<To>(x));
    } else return To(x);
}
template <class T> inline T conj(T x) { return x; }
template <class T> inline cx<T> conj(cx<T> x) { return {x.re, -x.im}; }
template <class T> inline T scale(T x, real_t<T> s) {
    if constexpr (is_complex_v<T>) return {x.re * s, x.im * s};
    else return x * s;
}
template <class T> inline bool is_nan(T x) {
    if constexpr (is_complex_v<T>) return (x.re != x.re) | (x.im != x.im);
    else if constexpr (std::is_floating_point_v<T>) return x != x;
    else return false;
}
template <class T> inline bool nonzero(T x) {
    if constexpr (is_complex_v<T>) return (x.re != 0) | (x.im != 0);
    else return x != 0;
}
template <class T> inline real_t<T> magnitude(T x) {
    if constexpr (is_complex_v<T>) return std::hypot(x.re, x.im);
    else if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    else return x < 0 ? -x : x;
}
template <class T> [[gnu::always_inline]] inline auto square_magnitude(T x) {
    if constexpr (is_complex_v<T>) return x.re * x.re + x.im * x.im;
    else return x * x;
}
// x / |x|, 0 at 0 (and, as in torch, at a real NaN)
template <class T> inline T sign_of(T x) {
    if constexpr (is_complex_v<T>) {
        real_t<T> m = magnitude(x);
        return m == 0 ? T(0) : T(x.re / m, x.im / m);
    } else return T((x > 0) - (x < 0));
}

template <class T> inline T load(const char *p) { T v; std::memcpy(&v, p, sizeof(T)); return v; }
template <class T> inline void store(char *p, T v) { std::memcpy(p, &v, sizeof(T)); }

template <class T> struct type_tag { using type = T; };

// Calls f(type_tag<T>()) for the element type of a NumPy type number; false: not one of the group.
template <class F> inline bool for_real_float(int type, F f) {
    switch (type) {
    case NPY_FLOAT: f(type_tag<float>()); return true;
    case NPY_DOUBLE: f(type_tag<double>()); return true;
    default: return false;
    }
}
template <class F> inline bool for_float(int type, F f) {
    switch (type) {
    case NPY_CFLOAT: f(type_tag<cx<float>>()); return true;
    case NPY_CDOUBLE: f(type_tag<cx<double>>()); return true;
    default: return for_real_float(type, f);
    }
}
template <class F> inline bool for_integer(int type, F f) {
    switch (type) {
    case NPY_BOOL: case NPY_UINT8: f(type_tag<uint8_t>()); return true;
    case NPY_INT8: f(type_tag<int8_t>()); return true;
    case NPY_INT16: f(type_tag<int16_t>()); return true;
    case NPY_INT32: f(type_tag<int32_t>()); return true;
    case NPY_INT64: f(type_tag<int64_t>()); return true;
    default: return false;
    }
}
template <class F> inline bool for_real(int type, F f) { return for_integer(type, f) || for_real_float(type, f); }
template <class F> inline bool for_any(int type, F f) { return for_integer(type, f) || for_float(type, f); }

}  // namespace cg
#endif
