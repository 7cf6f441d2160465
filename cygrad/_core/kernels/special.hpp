// Special functions of one real number in double precision, and their loops (special.pxd). Templates around them: loops.hpp.
//
// float32 is computed in double and rounded once: these functions cost far more than the conversion.
#pragma once
#include "loops.hpp"

namespace cygrad {

// log |gamma(x)|. The C library's plain lgamma writes a global (signgam), which threads would share.
static inline double log_gamma(double x) {
#if defined(_WIN32)
    return std::lgamma(x);
#else
    int sign;
    return ::lgamma_r(x, &sign);
#endif
}

// Inverse of erf by two steps of Halley's method, from the first terms of its Maclaurin series (|x| < 1/2) or S. Winitzki's approximation, "A handy
// approximation for the error function and its inverse" (2008). In the tail the residual is taken of erfc, so that 1 - |x| keeps its digits.
static inline double inverse_erf(double x) {
    const double pi = 3.141592653589793238463, half_sqrt_pi = 0.886226925452758013649;
    const double a = std::fabs(x);
    if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::numeric_limits<double>::quiet_NaN();
    double y;
    if (a < 0.5) {
        y = half_sqrt_pi * a * (1 + a * a * (pi / 12 + a * a * (7 * pi * pi / 480)));
    } else {
        const double c = 0.147, w = std::log((1 - a) * (1 + a)), t = 2 / (pi * c) + w / 2;
        y = std::sqrt(std::sqrt(t * t - w / c) - t);
    }
    for (int i = 0; i < 2; i++) {
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

// Hurwitz' zeta(s, q) for integer s >= 2 by the Euler-Maclaurin formula: NIST Digital Library of Mathematical Functions, 25.11.5 and 25.11.28. Negative q
// through the sum over all integers, which needs positive arguments only.
static inline double hurwitz_zeta(int s, double q) {
    // B(2k) / (2k)!
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0,
                                       -3617.0 / 10670622842880000.0, 43867.0 / 5109094217170944000.0};
    if (q != q || q == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
    if (q <= 0) {
        const double below = std::floor(q), f = q - below;
        if (f == 0) return std::numeric_limits<double>::infinity();
        const double sign = s % 2 ? -1 : 1;
        return hurwitz_zeta(s, f) + sign * (hurwitz_zeta(s, 1 - f) - hurwitz_zeta(s, 1 - q));
    }
    const double start = 12 + s / 2;
    double sum = 0;
    while (q < start) {
        const double term = std::pow(q, -s);
        sum += term;
        if (term < sum * 1e-17 && sum > 0 && s > 40) return sum;
        q += 1;
    }
    const double power = std::pow(q, -s);
    sum += q * power / (s - 1) + 0.5 * power;
    double factor = s * power / q;
    for (int k = 0; k < (int)(sizeof(bernoulli) / sizeof(*bernoulli)); k++) {
        const double term = bernoulli[k] * factor;
        sum += term;
        if (std::fabs(term) < std::fabs(sum) * 1e-17) break;
        factor *= (s + 2 * k + 1) / q * ((s + 2 * k + 2) / q);
    }
    return sum;
}

// The n-th derivative of digamma, n >= 1: (-1)**(n + 1) n! zeta(n + 1, x); Abramowitz and Stegun, 6.4.10.
static inline double polygamma(int n, double x) {
    const double sign = n % 2 ? 1 : -1, zeta = hurwitz_zeta(n + 1, x);
    if (n < 150) return sign * std::tgamma(n + 1.0) * zeta;
    return sign * std::copysign(std::exp(log_gamma(n + 1.0) + std::log(std::fabs(zeta))), zeta);
}

#define CG_SPECIAL(Name, expression)                                                                                                               \
    template <class T> struct Name : Plain {                                                                                                       \
        using Plain::Plain;                                                                                                                        \
        T operator()(T x) const { return (T)(expression); }                                                                                        \
    };
CG_SPECIAL(Erf, std::erf(x))
CG_SPECIAL(Erfc, std::erfc(x))
CG_SPECIAL(Erfinv, inverse_erf((double)x))
CG_SPECIAL(Lgamma, log_gamma((double)x))
CG_SPECIAL(Digamma, psi((double)x))
#undef CG_SPECIAL
template <class T> struct Polygamma {
    int n;
    Polygamma(const double *p) : n((int)p[0]) {}
    T operator()(T x) const { return (T)polygamma(n, (double)x); }
};

}  // namespace cygrad
