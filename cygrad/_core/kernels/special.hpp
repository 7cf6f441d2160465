// Special functions of one real number in double precision, and their loops (special.pxd). Templates around them: loops.hpp.
//
// float32 is computed in double and rounded once: these functions cost far more than the conversion.
#pragma once
#include "error_function.hpp"
#include "loops.hpp"

namespace cygrad {

// log |gamma(x)|. The C library's plain lgamma writes a global (signgam), which threads would share.
#if defined(_WIN32)
static inline double log_gamma(double x) { return std::lgamma(x); }
static inline float log_gamma(float x) { return std::lgamma(x); }
#else
static inline double log_gamma(double x) { int sign; return ::lgamma_r(x, &sign); }
static inline float log_gamma(float x) { int sign; return ::lgammaf_r(x, &sign); }
#endif

// Inverse of erf to single precision from w = -log(1 - x * x): M. Giles, "Approximating the erfinv function", GPU Computing Gems (2011), chapter 10.
static inline float approximate_erfinv(float x, float w) {
    const float u = w - 2.5f, v = std::sqrt(w) - 3.0f;
    const float central = 1.50140941f + u * (0.246640727f + u * (-0.00417768164f + u * (-0.00125372503f + u * (0.00021858087f + u * (-4.39150654e-06f +
                          u * (-3.5233877e-06f + u * (3.43273939e-07f + u * 2.81022636e-08f)))))));
    const float tail = 2.83297682f + v * (1.00167406f + v * (0.00943887047f + v * (-0.0076224613f + v * (0.00573950773f + v * (-0.00367342844f +
                       v * (0.00134934322f + v * (0.000100950558f + v * -0.000200214257f)))))));
    return x * (w < 5 ? central : tail);
}

// Inverse of erf in double precision by Halley's method: one step from the approximation above, or two from S. Winitzki's, "A handy approximation for
// the error function and its inverse" (2008), beyond its range. In the tail the residual is taken of erfc, so that 1 - |x| keeps its digits.
static inline double inverse_erf(double x) {
    const double pi = 3.141592653589793238463, half_sqrt_pi = 0.886226925452758013649, a = std::fabs(x);
    if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::numeric_limits<double>::quiet_NaN();
    const double w = std::log((1 - a) * (1 + a));
    const bool beyond = w < -13;
    double y;
    if (beyond) {
        const double c = 0.147, t = 2 / (pi * c) + w / 2;
        y = std::sqrt(std::sqrt(t * t - w / c) - t);
    } else {
        y = approximate_erfinv(1, (float)-w) * a;
    }
    for (int i = 0; i < (beyond ? 2 : 1); i++) {
        const double residual = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
        const double step = residual * half_sqrt_pi * std::exp(y * y);
        y -= step / (1 + y * step);
    }
    return std::copysign(y, x);
}

// Digamma: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.5 (recurrence), 6.3.7 (reflection), 6.3.18 (asymptotic series). On [1, 2] a
// Chebyshev fit of psi(x) / (x - x0) around its zero x0, which is held in two parts, so that the result keeps its digits near x0.
static inline double psi(double x) {
    const double infinity = std::numeric_limits<double>::infinity(), pi = 3.141592653589793238463;
    static const double fit[] = {
        0.9510558760318328,    -0.2118137106407303,     0.060135621060196744,   -0.018550615381735115,  0.005936795278305649,   -0.0019350666648590097,
        0.0006368880303257201, -0.00021074841140458636, 6.995018873950506e-05,  -2.325824239445257e-05, 7.741232223504057e-06,  -2.57809436305308e-06,
        8.589127353033379e-07, -2.86315275846934e-07,   9.542050972688906e-08,  -3.163020268955334e-08, 1.0542687624027994e-08, -3.7075072647122386e-09,
        1.2358072433984831e-09, -2.7619635330317715e-10, 9.206434499177992e-11, -8.498137230186096e-11, 2.832706668021759e-11};
    if (x == 0) return std::copysign(infinity, -x);
    if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    if (x < 0) {
        const double r = x - std::nearbyint(x);
        if (r == 0) return std::numeric_limits<double>::quiet_NaN();
        sum = -pi / std::tan(pi * r);
        x = 1 - x;
    }
    if (x >= 10) {
        const double y = 1 / (x * x);
        const double series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y * (1.0 / 12)))))));
        return sum + (std::log(x) - 0.5 / x - series);
    }
    while (x > 2) {
        x -= 1;
        sum += 1 / x;
    }
    if (x < 1) {
        sum -= 1 / x;
        x += 1;
    }
    const double u = 2 * x - 3;
    double value = 0;
    for (int i = sizeof(fit) / sizeof(*fit) - 1; i >= 0; i--) value = value * u + fit[i];
    return sum + value * ((x - 1.4616321449683622) - 9.549995429965697e-17);
}

// Hurwitz' zeta(s, q) times q**s, for integer s >= 2 and q > 0, by the Euler-Maclaurin formula: NIST Digital Library of Mathematical Functions, 25.11.5
// and 25.11.28. Scaled, since zeta itself soon leaves the range of doubles where n! zeta(n + 1, q) does not.
static inline double scaled_zeta(int s, double q) {
    // B(2k) / (2k)!
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0,
                                       -3617.0 / 10670622842880000.0, 43867.0 / 5109094217170944000.0};
    const double start = 12 + s / 2;
    double sum = 0, at = q;
    while (at < start) {
        const double term = std::pow(q / at, s);
        sum += term;
        if (s > 40 && term < sum * 1e-17) return sum;
        at += 1;
    }
    const double power = std::pow(q / at, s);
    sum += at * power / (s - 1) + 0.5 * power;
    double factor = s * power / at;
    for (int k = 0; k < (int)(sizeof(bernoulli) / sizeof(*bernoulli)); k++) {
        const double term = bernoulli[k] * factor;
        sum += term;
        if (std::fabs(term) < std::fabs(sum) * 1e-17) break;
        factor *= (s + 2 * k + 1) / at * ((s + 2 * k + 2) / at);
    }
    return sum;
}

// n! zeta(n + 1, q), q > 0
static inline double factorial_zeta(int n, double q) {
    if (std::isinf(q)) return 0;
    const double factorial = std::tgamma(n + 1.0), power = std::pow(q, -(n + 1.0)), zeta = scaled_zeta(n + 1, q);
    if (std::isinf(factorial) || power < std::numeric_limits<double>::min()) return std::exp(log_gamma(n + 1.0) - (n + 1) * std::log(q)) * zeta;
    return factorial * power * zeta;
}

// The n-th derivative of digamma, n >= 1: (-1)**(n + 1) n! zeta(n + 1, x); Abramowitz and Stegun, 6.4.10. Negative x through the sum over all integers,
// which needs zeta at positive arguments only.
static inline double polygamma(int n, double x) {
    const double sign = n % 2 ? 1 : -1;
    if (x != x || x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
    if (x > 0) return sign * factorial_zeta(n, x);
    const double f = x - std::floor(x);
    if (f == 0) return sign * std::numeric_limits<double>::infinity();
    return sign * (factorial_zeta(n, f) + sign * (factorial_zeta(n, 1 - f) - factorial_zeta(n, 1 - x)));
}

#define CG_SPECIAL(Name, expression)                                                                                                               \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T operator()(T x) const { return (T)(expression); }                                                                                        \
    };
CG_SPECIAL(Erf, std::erf(x))
CG_SPECIAL(Erfc, std::erfc(x))
CG_SPECIAL(Erfinv, inverse_erf((double)x))
CG_SPECIAL(Lgamma, log_gamma(x))
CG_SPECIAL(Digamma, psi((double)x))
#undef CG_SPECIAL
// float16 and float32; step: exp
template <class T> struct SingleErf : Plain {
    using Plain::Plain;
    T before(T x) const { const T z = erfc_argument(x); return -(z * z); }
    T after(T e, T x) const {
        const T z = erfc_argument(x), tail = 1 - e * scaled_erfc(z);
        return z < 1 ? small_erf(x) : x < 0 ? -tail : tail;
    }
};
template <class T> struct SingleErfc : Plain {
    using Plain::Plain;
    T before(T x) const { const T z = erfc_argument(x); return -(z * z); }
    T after(T e, T x) const {
        const T tail = erfc_from_exp(e, erfc_argument(x));
        return x < 0 ? 2 - tail : tail;
    }
};
// float16 and float32; step: log
template <class T> struct SingleErfinv : Plain {
    using Plain::Plain;
    T before(T x) const { return (1 - x) * (1 + x); }
    T after(T t, T x) const {
        const T infinity = std::numeric_limits<T>::infinity();
        return x == 1 ? infinity : x == -1 ? -infinity : approximate_erfinv(x, -t);
    }
};
template <class T> struct Polygamma {
    int n;
    Polygamma(const double *p) : n((int)p[0]) {}
    T operator()(T x) const { return (T)polygamma(n, (double)x); }
};

}  // namespace cygrad
