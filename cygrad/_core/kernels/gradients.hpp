// Expressions of the fused backward helpers (gradients.pxd says what each computes). Templates around them: loops.hpp.
#pragma once
#include "loops.hpp"

namespace cygrad {

constexpr double LN2 = 0.693147180559945309417, LN10 = 2.302585092994045684018, PI = 3.141592653589793238463;
constexpr double SQRT_PI = 1.772453850905516027298;

#define CG_UNARY_BACKWARD(Name, x, expression)                                                                                                     \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T operator()(T g, T x) const { return expression; }                                                                                        \
    };
// from the result r
CG_UNARY_BACKWARD(TanhBackward, r, g *cj(T(1) - r * r))
CG_UNARY_BACKWARD(SigmoidBackward, r, g *cj((T(1) - r) * r))
CG_UNARY_BACKWARD(SqrtBackward, r, g / (T(2) * cj(r)))
CG_UNARY_BACKWARD(RsqrtBackward, r, T(-0.5) * g * cj(r * r * r))
CG_UNARY_BACKWARD(ReciprocalBackward, r, -g *cj(r *r))
CG_UNARY_BACKWARD(Exp2Backward, r, g *cj(r) * T(LN2))
CG_UNARY_BACKWARD(Expm1Backward, r, g *cj(r + T(1)))
CG_UNARY_BACKWARD(TanBackward, r, g *cj(T(1) + r * r))
// from the input x
CG_UNARY_BACKWARD(Log1pBackward, x, g / cj(x + T(1)))
CG_UNARY_BACKWARD(Log2Backward, x, g / (cj(x) * T(LN2)))
CG_UNARY_BACKWARD(Log10Backward, x, g / (cj(x) * T(LN10)))
CG_UNARY_BACKWARD(AsinBackward, x, g *cj(T(1) / std::sqrt(T(1) - x * x)))
CG_UNARY_BACKWARD(AcosBackward, x, -g *cj(T(1) / std::sqrt(T(1) - x * x)))
CG_UNARY_BACKWARD(AtanBackward, x, g / cj(x * x + T(1)))
CG_UNARY_BACKWARD(AsinhBackward, x, g *cj(T(1) / std::sqrt(x * x + T(1))))
CG_UNARY_BACKWARD(AcoshBackward, x, g *cj(T(1) / std::sqrt(x * x - T(1))))
CG_UNARY_BACKWARD(AtanhBackward, x, g / (T(1) - cj(x * x)))
CG_UNARY_BACKWARD(SignTimes, x, g *T((x > 0) - (x < 0)))
#undef CG_UNARY_BACKWARD

// Complex z / |z|, 0 at 0.
template <class T> static inline std::complex<T> direction(std::complex<T> z) {
    const T size = std::hypot(z.real(), z.imag());
    return size == 0 ? std::complex<T>(0, 0) : std::complex<T>(z.real() / size, z.imag() / size);
}
template <class C> struct ComplexAbsBackward : Plain {      // g real
    using Plain::Plain;
    C operator()(real_t<C> g, C z) const { return g * direction(z); }
};
template <class C> struct ComplexAngleBackward : Plain {    // g real
    using Plain::Plain;
    C operator()(real_t<C> g, C z) const {
        const real_t<C> square = z.real() * z.real() + z.imag() * z.imag();
        return square == 0 ? C(0, 0) : C(-z.imag() / square * g, z.real() / square * g);
    }
};
template <class C> struct ComplexSgnBackward : Plain {
    using Plain::Plain;
    C operator()(C g, C z) const {
        const real_t<C> size = std::hypot(z.real(), z.imag());
        if (size == 0) return C(0, 0);
        return g / size - (g / z).real() * direction(z);
    }
};
template <class C> struct PolarAbsBackward : Plain {        // result real
    using Plain::Plain;
    real_t<C> operator()(C g, C r) const { const C d = direction(r); return g.real() * d.real() + g.imag() * d.imag(); }
};
template <class C> struct PolarAngleBackward : Plain {      // result real
    using Plain::Plain;
    real_t<C> operator()(C g, C r) const { return g.imag() * r.real() - g.real() * r.imag(); }
};
static inline Loop abs_backward_loop(int t) {
    switch (t) {
        case 9: return loop<ComplexAbsBackward<C64>, C64, float, C64>;
        case 10: return loop<ComplexAbsBackward<C128>, C128, double, C128>;
    }
    return nullptr;
}
static inline Loop angle_backward_loop(int t) {
    switch (t) {
        case 9: return loop<ComplexAngleBackward<C64>, C64, float, C64>;
        case 10: return loop<ComplexAngleBackward<C128>, C128, double, C128>;
    }
    return nullptr;
}
static inline Loop polar_abs_backward_loop(int t) {
    switch (t) {
        case 9: return loop<PolarAbsBackward<C64>, float, C64, C64>;
        case 10: return loop<PolarAbsBackward<C128>, double, C128, C128>;
    }
    return nullptr;
}
static inline Loop polar_angle_backward_loop(int t) {
    switch (t) {
        case 9: return loop<PolarAngleBackward<C64>, float, C64, C64>;
        case 10: return loop<PolarAngleBackward<C128>, double, C128, C128>;
    }
    return nullptr;
}

#define CG_BINARY_BACKWARD(Name, x, y, expression)                                                                                                 \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T operator()(T g, T x, T y) const { return expression; }                                                                                   \
    };
CG_BINARY_BACKWARD(DivOtherBackward, x, y, -g *cj((x / y) / y))
CG_BINARY_BACKWARD(MaximumBackward, x, y, x == y ? g * T(0.5) : x < y ? T(0) : g)
CG_BINARY_BACKWARD(MinimumBackward, x, y, x == y ? g * T(0.5) : x > y ? T(0) : g)
CG_BINARY_BACKWARD(FmaxSelfBackward, x, y, x >= y || y != y ? g : T(0))
CG_BINARY_BACKWARD(FmaxOtherBackward, x, y, x >= y || y != y ? T(0) : g)
CG_BINARY_BACKWARD(FminSelfBackward, x, y, x <= y || y != y ? g : T(0))
CG_BINARY_BACKWARD(FminOtherBackward, x, y, x <= y || y != y ? T(0) : g)
CG_BINARY_BACKWARD(Atan2SelfBackward, x, y, x == 0 && y == 0 ? T(0) : g * (y / (x * x + y * y)))
CG_BINARY_BACKWARD(Atan2OtherBackward, x, y, x == 0 && y == 0 ? T(0) : g * (-x / (x * x + y * y)))
CG_BINARY_BACKWARD(HypotBackward, x, r, g *(x / r))
CG_BINARY_BACKWARD(CopysignBackward, x, r, x == 0 ? T(0) : g * (r / x))
CG_BINARY_BACKWARD(LogaddexpBackward, x, y, g / cj(T(1) + std::exp(y - x)))
// one bound: the gradient passes where x was not clamped; NaN passes nothing
CG_BINARY_BACKWARD(ClampMinBackward, x, low, x >= low ? g : T(0))
CG_BINARY_BACKWARD(ClampMaxBackward, x, high, x <= high ? g : T(0))
CG_BINARY_BACKWARD(LessPasses, x, low, x < low ? g : T(0))
CG_BINARY_BACKWARD(GreaterPasses, x, high, x > high ? g : T(0))
// d(x**e)/dx from p = x**(e - 1)
CG_BINARY_BACKWARD(PowBaseBackward, e, p, e == T(0) ? T(0) : g * cj(e * p))
#undef CG_BINARY_BACKWARD

// d(x**e)/de from r = x**e; 0 at x = 0 where re(e) >= 0, as in torch
template <class T> struct PowExponentBackward : Plain {
    using Plain::Plain;
    T operator()(T g, T x, T e, T r) const {
        if (x == T(0) && re(e) >= 0) return T(0);
        return g * cj(r * std::log(x));
    }
};
template <class T> struct ClampBackward : Plain {
    using Plain::Plain;
    T operator()(T g, T x, T low, T high) const { return x >= low && x <= high ? g : T(0); }
};
template <class T> struct ClampNumbersBackward {        // the bounds as parameters
    T low, high;
    ClampNumbersBackward(const double *p) : low((T)p[0]), high((T)p[2]) {}
    T operator()(T g, T x) const { return x >= low && x <= high ? g : T(0); }
};
template <class T> struct ClampLowBackward : Plain {
    using Plain::Plain;
    T operator()(T g, T x, T low, T high) const { return x < low && low < high ? g : T(0); }
};
template <class T> struct ClampHighBackward : Plain {
    using Plain::Plain;
    T operator()(T g, T x, T low, T high) const { return x > high || high < low ? g : T(0); }
};
// grad * conj(parameter * x)
template <class T> struct ScaledBackward {
    T s;
    ScaledBackward(const double *p) : s(parameter<T>(p)) {}
    T operator()(T g, T x) const { return g * cj(s * x); }
};

// d sinc(x)/dx = (cos(pi x) - sinc(x)) / x. Near 0 the difference cancels: its Taylor series there.
template <class T> struct SincBackward : Plain {
    using Plain::Plain;
    T operator()(T g, T x) const {
        const T y = T(PI) * x, y2 = y * y;
        if (std::abs(y) < (real_t<T>)0.5) {
            const T series = T(-1.0 / 3) + y2 * (T(1.0 / 30) + y2 * (T(-1.0 / 840) + y2 * (T(1.0 / 45360) + y2 * (T(-1.0 / 3991680) + y2 * T(1.0 / 518918400)))));
            return g * cj(T(PI) * y * series);
        }
        return g * cj((std::cos(y) - std::sin(y) / y) / x);
    }
};

// --- with a transcendental function t of the input (Note [Chains]) ---
#define CG_CHAIN_BACKWARD(Name, prepared, expression)                                                                                              \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T before(T x) const { return prepared; }                                                                                                   \
        T after(T t, T g, T x) const { (void)x; return expression; }                                                                               \
    };
CG_CHAIN_BACKWARD(ChainTimes, x, g *cj(t))
CG_CHAIN_BACKWARD(ChainMinus, x, -g *cj(t))
CG_CHAIN_BACKWARD(ErfBackward, -x * x, g *(T(2 / SQRT_PI) * t))
CG_CHAIN_BACKWARD(ErfcBackward, -x * x, g *(T(-2 / SQRT_PI) * t))
CG_CHAIN_BACKWARD(ErfinvBackward, x *x, g *(T(0.5 * SQRT_PI) * t))
#undef CG_CHAIN_BACKWARD

}  // namespace cygrad
