// Expressions of the activation functions of neural networks and of their backward helpers (activations.pxd). Templates around them: loops.hpp.
#pragma once
#include "error_function.hpp"
#include "loops.hpp"

namespace cygrad {

constexpr double SQRT_HALF = 0.707106781186547524401, INV_SQRT_2PI = 0.398942280401432677940;
constexpr double GELU_SCALE = 0.797884560802865355880, GELU_CUBIC = 0.044715;      // sqrt(2 / pi); Hendrycks and Gimpel, arXiv:1606.08415

template <class T> struct Relu : Plain {
    using Plain::Plain;
    T operator()(T x) const { return x <= 0 ? T(0) : x; }       // NaN stays
};
template <class T> struct ThresholdBackward {
    T threshold;
    ThresholdBackward(const double *p) : threshold((T)p[0]) {}
    T operator()(T g, T x) const { return x <= threshold ? T(0) : g; }
};
template <class T> struct LeakyRelu {
    T slope;
    LeakyRelu(const double *p) : slope((T)p[0]) {}
    T operator()(T x) const { return x > 0 ? x : x * slope; }
};
template <class T> struct LeakyReluBackward {
    T slope;
    LeakyReluBackward(const double *p) : slope((T)p[0]) {}
    T operator()(T g, T x) const { return x > 0 ? g : g * slope; }
};
template <class T> struct Hardtanh {
    T low, high;
    Hardtanh(const double *p) : low((T)p[0]), high((T)p[1]) {}
    T operator()(T x) const { return x < low ? low : x > high ? high : x; }
};
template <class T> struct HardtanhBackward {
    T low, high;
    HardtanhBackward(const double *p) : low((T)p[0]), high((T)p[1]) {}
    T operator()(T g, T x) const { return x <= low || x >= high ? T(0) : g; }
};

// parameters of elu: alpha * scale, scale, input_scale
template <class T> struct Elu {
    T negative, positive, input;
    Elu(const double *p) : negative((T)p[0]), positive((T)p[1]), input((T)p[2]) {}
    T before(T x) const { return x > 0 ? T(0) : x * input; }
    T after(T t, T x) const { return x > 0 ? x * positive : t * negative; }
};
template <class T> struct EluBackward {
    T negative, positive, input;
    EluBackward(const double *p) : negative((T)p[0]), positive((T)p[1]), input((T)p[2]) {}
    T before(T x) const { return x <= 0 ? x * input : T(0); }
    T after(T t, T g, T x) const { return x <= 0 ? g * input * negative * t : g * positive; }
};
template <class T> struct EluResultBackward {
    T negative, positive, input;
    EluResultBackward(const double *p) : negative((T)p[0]), positive((T)p[1]), input((T)p[2]) {}
    T operator()(T g, T r) const { return r <= 0 ? g * input * (r + negative) : g * positive; }
};

template <class T> struct Gelu : Plain {
    using Plain::Plain;
    T operator()(T x) const { return x * T(0.5) * std::erfc(x * T(-SQRT_HALF)); }
};
template <class T> struct GeluBackward : Plain {
    using Plain::Plain;
    T before(T x) const { return x * x * T(-0.5); }
    T after(T t, T g, T x) const { return g * (T(0.5) * std::erfc(x * T(-SQRT_HALF)) + x * t * T(INV_SQRT_2PI)); }
};
// float16 and float32; step: exp
template <class T> struct SingleGelu : Plain {
    using Plain::Plain;
    T before(T x) const { const T z = erfc_argument(x * T(SQRT_HALF)); return -(z * z); }
    T after(T e, T x) const {
        const T tail = T(0.5) * e * scaled_erfc(erfc_argument(x * T(SQRT_HALF)));
        return x * (x < 0 ? tail : 1 - tail);
    }
};
template <class T> struct SingleGeluBackward : Plain {
    using Plain::Plain;
    T before(T x) const { const T z = erfc_argument(x * T(SQRT_HALF)); return -(z * z); }
    T after(T e, T g, T x) const {
        const T tail = T(0.5) * e * scaled_erfc(erfc_argument(x * T(SQRT_HALF)));
        return g * ((x < 0 ? tail : 1 - tail) + x * e * T(INV_SQRT_2PI));
    }
};
template <class T> struct GeluTanh : Plain {
    using Plain::Plain;
    T before(T x) const { return T(GELU_SCALE) * (x + T(GELU_CUBIC) * x * x * x); }
    T after(T t, T x) const { return T(0.5) * x * (T(1) + t); }
};
template <class T> struct GeluTanhBackward : Plain {
    using Plain::Plain;
    T before(T x) const { return T(GELU_SCALE) * (x + T(GELU_CUBIC) * x * x * x); }
    T after(T t, T g, T x) const {
        return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * T(GELU_SCALE) * (T(1) + T(3 * GELU_CUBIC) * x * x));
    }
};
template <class T> struct Silu : Plain {
    using Plain::Plain;
    T before(T x) const { return -x; }
    T after(T t, T x) const { return x / (T(1) + t); }
};
template <class T> struct SiluBackward : Plain {
    using Plain::Plain;
    T before(T x) const { return -x; }
    T after(T t, T g, T x) const {
        const T s = T(1) / (T(1) + t);
        return g * cj(s * (T(1) + x * (T(1) - s)));
    }
};
template <class T> struct Softplus {        // parameters: beta, threshold; steps: exp, log1p
    T beta, threshold;
    Softplus(const double *p) : beta((T)p[0]), threshold((T)p[1]) {}
    T before(T x) const { return x * beta > threshold ? T(0) : x * beta; }
    T after(T t, T x) const { return x * beta > threshold ? x : t / beta; }
};
template <class T> struct SoftplusBackward {
    T beta, threshold;
    SoftplusBackward(const double *p) : beta((T)p[0]), threshold((T)p[1]) {}
    T before(T x) const { return x * beta > threshold ? T(0) : x * beta; }
    T after(T t, T g, T x) const { return x * beta > threshold ? g : g * t / (t + T(1)); }
};
template <class T> struct LogSigmoid : Plain {        // steps: exp, log1p
    using Plain::Plain;
    T before(T x) const { return -std::fabs(x); }
    T after(T t, T x) const { return (x < 0 ? x : x != x ? x : T(0)) - t; }
};
template <class T> struct LogSigmoidBackward : Plain {
    using Plain::Plain;
    T before(T x) const { return -std::fabs(x); }
    T after(T t, T g, T x) const { return x < 0 ? g * (T(1) / (T(1) + t)) : g * (t / (T(1) + t)); }
};

}  // namespace cygrad
