// Expressions of elementwise operations that NumPy has no ufunc for. Templates around them: loops.hpp.
#pragma once
#include "loops.hpp"

namespace cygrad {

#define CG_UNARY(Name, expression)                                                                                                                 \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T operator()(T x) const { return expression; }                                                                                             \
    };
CG_UNARY(Rsqrt, T(1) / std::sqrt(x))
CG_UNARY(Frac, x - std::trunc(x))
CG_UNARY(Cube, x *x *x)
CG_UNARY(InverseSquare, T(1) / (x * x))
CG_UNARY(Angle, x != x ? x : x < 0 ? T(3.141592653589793238463) : T(0))
#undef CG_UNARY

template <class T> struct IsPositiveInfinity : Plain {
    using Plain::Plain;
    Bool operator()(T x) const { return Bool(x == std::numeric_limits<T>::infinity()); }
};
template <class T> struct IsNegativeInfinity : Plain {
    using Plain::Plain;
    Bool operator()(T x) const { return Bool(x == -std::numeric_limits<T>::infinity()); }
};
template <template <class> class Op> static Loop to_bool1(int t) {
    switch (t) {
        case 6: return loop<Op<float>, Bool, Half>;
        case 7: return loop<Op<float>, Bool, float>;
        case 8: return loop<Op<double>, Bool, double>;
    }
    return nullptr;
}

// Rounding to 10**-decimals; parameters: decimals, 1 if negative and the power of ten. Scaling in the direction that keeps the factor an integer.
template <class T> struct RoundDecimals {
    T ten;
    bool negative;
    RoundDecimals(const double *p) : ten((T)p[1]), negative(p[0] < 0) {}
    T operator()(T x) const { return negative ? std::nearbyint(x / ten) * ten : std::nearbyint(x * ten) / ten; }
};

template <class T> struct NanToNum {        // parameters: for NaN, +infinity, -infinity
    T nan, high, low;
    NanToNum(const double *p) : nan((T)p[0]), high((T)p[1]), low((T)p[2]) {}
    T operator()(T x) const { return x != x ? nan : x == std::numeric_limits<T>::infinity() ? high : x == -std::numeric_limits<T>::infinity() ? low : x; }
};
template <class T> struct NanToNum<std::complex<T>> {
    NanToNum<T> part;
    NanToNum(const double *p) : part(p) {}
    std::complex<T> operator()(std::complex<T> x) const { return std::complex<T>(part(x.real()), part(x.imag())); }
};

// Division truncated towards zero. Integers: the divisor is never zero (checked before), and -1 must not trap on the smallest number.
template <class T> struct DivTrunc : Plain {
    using Plain::Plain;
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point<T>::value) return std::trunc(a / b);
        else if constexpr (std::is_unsigned<T>::value) return (T)(b == 0 ? 0 : a / b);
        else return b == -1 ? (T)(0 - (typename std::make_unsigned<T>::type)a) : (T)(b == 0 ? 0 : a / b);
    }
};

template <class T> struct AddAlpha {
    T alpha;
    AddAlpha(const double *p) : alpha(parameter<T>(p)) {}
    T operator()(T a, T b) const { return a + alpha * b; }
};
template <class T> struct Addcmul {
    T value;
    Addcmul(const double *p) : value(parameter<T>(p)) {}
    T operator()(T a, T b, T c) const { return a + value * b * c; }
};
template <class T> struct Addcdiv {
    T value;
    Addcdiv(const double *p) : value(parameter<T>(p)) {}
    T operator()(T a, T b, T c) const { return a + value * b / c; }
};
// From the nearer end, so that a weight of 1 gives the end exactly.
template <class T> static inline T interpolate(T a, T b, T w) {
    return std::abs(w) < (real_t<T>)0.5 ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}
template <class T> struct Lerp {
    T weight;
    Lerp(const double *p) : weight(parameter<T>(p)) {}
    T operator()(T a, T b) const { return interpolate(a, b, weight); }
};
template <class T> struct LerpTensor : Plain {
    using Plain::Plain;
    T operator()(T a, T b, T w) const { return interpolate(a, b, w); }
};
// A NaN in x or in a bound is passed on; where the bounds cross, the upper one wins.
template <class T> struct Clamp : Plain {
    using Plain::Plain;
    T operator()(T x, T low, T high) const {
        const T y = x < low || low != low ? low : x;
        return y > high || high != high ? high : y;
    }
};

template <class T> struct ClampNumbers {        // the bounds as parameters
    T low, high;
    ClampNumbers(const double *p) : low((T)p[0]), high((T)p[2]) {}
    T operator()(T x) const {
        const T y = x < low || low != low ? low : x;
        return y > high || high != high ? high : y;
    }
};

// --- Results of another dtype than the operands ---
template <class T> struct ComplexOf : Plain {
    using Plain::Plain;
    std::complex<T> operator()(T a, T b) const { return std::complex<T>(a, b); }
};
template <class T> struct Polar : Plain {
    using Plain::Plain;
    std::complex<T> operator()(T size, T angle) const { return std::complex<T>(size * std::cos(angle), size * std::sin(angle)); }
};
template <class T> struct ComplexAngle : Plain {
    using Plain::Plain;
    T operator()(std::complex<T> z) const { return std::atan2(z.imag(), z.real()); }
};
template <template <class> class Op> static Loop real_to_complex2(int t) {
    switch (t) {
        case 7: return loop<Op<float>, C64, float, float>;
        case 8: return loop<Op<double>, C128, double, double>;
    }
    return nullptr;
}
static inline Loop complex_angle_loop(int t) {
    switch (t) {
        case 9: return loop<ComplexAngle<float>, float, C64>;
        case 10: return loop<ComplexAngle<double>, double, C128>;
    }
    return nullptr;
}

// --- Selection: the bytes of one of two operands; only the size of the dtype matters ---
struct Sixteen { uint64_t a, b; };
template <class T> CG_CLONES static void select(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *) {
    const Py_ssize_t n = *count, size = sizeof(T), sc = strides[0], sa = strides[1], sb = strides[2], sr = strides[3];
    const char *c = args[0], *a = args[1], *b = args[2];
    char *r = args[3];
    if (n == 0) return;
    if (sc == 1 && sr == size && (sa == size || sa == 0) && (sb == size || sb == 0)) {
        // both operands are read whatever the condition: without a branch, which random masks would mispredict
        const T *x = (const T *)a, *y = (const T *)b, x0 = *x, y0 = *y;
        T *to = (T *)r;
        if (sa && sb) {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < n; i++) { const T u = x[i], v = y[i]; to[i] = c[i] ? u : v; }
        } else if (sa) {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < n; i++) { const T u = x[i]; to[i] = c[i] ? u : y0; }
        } else if (sb) {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < n; i++) { const T v = y[i]; to[i] = c[i] ? x0 : v; }
        } else {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < n; i++) to[i] = c[i] ? x0 : y0;
        }
        return;
    }
    for (Py_ssize_t i = 0; i < n; i++) *(T *)(r + i * sr) = c[i * sc] ? *(const T *)(a + i * sa) : *(const T *)(b + i * sb);
}
static inline Loop select_loop(int size) {
    switch (size) {
        case 1: return select<uint8_t>;
        case 2: return select<uint16_t>;
        case 4: return select<uint32_t>;
        case 8: return select<uint64_t>;
        default: return select<Sixteen>;
    }
}

// --- with a transcendental function (Note [Chains]) ---
template <class T> struct Sinc : Plain {
    using Plain::Plain;
    T before(T x) const { return T(3.141592653589793238463) * x; }
    T after(T t, T x) const { return x == T(0) ? T(1) : t / (T(3.141592653589793238463) * x); }
};
template <class T> struct Sigmoid : Plain {
    using Plain::Plain;
    T before(T x) const { return -x; }
    T after(T t, T) const { return T(1) / (T(1) + t); }
};

}  // namespace cygrad
