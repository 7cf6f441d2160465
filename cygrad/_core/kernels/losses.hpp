// Loops of loss functions: negative log likelihood, squared error, binary cross entropy with logits.
//
// The elementwise losses work block by block: inputs of any strides are gathered into buffers, computed there with vectorised loops, and then stored or
// added up (in double from block to block), so that a mean needs one pass over its inputs and no Array in between.
#ifndef CYGRAD_LOSSES_HPP
#define CYGRAD_LOSSES_HPP

#include "softmax.hpp"

namespace cg {

// -------------------------------------------------------------------------------------------------------------- negative log likelihood
// input (batch, classes, inner), target (batch, inner), weight (classes) or null, all contiguous.

// The first target that is neither a class nor ignored, or -1.
inline ssize nll_bad_target(const int64_t *target, ssize count, ssize classes, int64_t ignore) {
    for (ssize i = 0; i < count; i++)
        if (target[i] != ignore && (target[i] < 0 || target[i] >= classes)) return i;
    return -1;
}

// out: a value for each target (out != null), else *total and *weights: the sums of -w x and of w
template <class T> void nll_forward(const T *input, const int64_t *target, const T *weight, ssize batch, ssize classes, ssize inner, int64_t ignore, T *out,
                                    double *total, double *weights) {
    double sum = 0, all = 0;
    for (ssize b = 0; b < batch; b++)
        for (ssize k = 0; k < inner; k++) {
            const int64_t t = target[b * inner + k];
            const T w = t == ignore ? T(0) : weight ? weight[t] : T(1);
            const T loss = t == ignore ? T(0) : -w * input[(b * classes + t) * inner + k];
            if (out) out[b * inner + k] = loss;
            sum += loss;
            all += w;
        }
    *total = sum;
    *weights = all;
}
// out is zero; grad: one for each target (each) or a single one
template <class T> void nll_backward(const T *grad, bool each, T divisor, const int64_t *target, const T *weight, ssize batch, ssize classes, ssize inner,
                                     int64_t ignore, T *out) {
    for (ssize b = 0; b < batch; b++)
        for (ssize k = 0; k < inner; k++) {
            const int64_t t = target[b * inner + k];
            if (t == ignore) continue;
            const T g = each ? grad[b * inner + k] : grad[0] / divisor;
            out[(b * classes + t) * inner + k] = -(weight ? weight[t] : T(1)) * g;
        }
}

// ------------------------------------------------------------------------------------------------------------------- elementwise losses

struct LossData {
    double total;        // of a reduced loss
    double factor;       // of a gradient: 1 / count for a mean
    int store;           // 1: write each value to the last argument, 0: add up
    Exp exp, log;
};

constexpr ssize LOSS_BLOCK = 512;

template <class T> inline const T *gather(const char *p, ssize stride, ssize n, T *buffer) {
    if (stride == sizeof(T)) return (const T *)p;
    if (stride == 0) { const T x = *(const T *)p; for (ssize i = 0; i < n; i++) buffer[i] = x; }
    else for (ssize i = 0; i < n; i++) buffer[i] = *(const T *)(p + i * stride);
    return buffer;
}
template <class T> inline void scatter(const T *from, char *p, ssize stride, ssize n) {
    if (stride == sizeof(T)) std::memcpy(p, from, n * sizeof(T));
    else for (ssize i = 0; i < n; i++) *(T *)(p + i * stride) = from[i];
}
// One loop for all: F::block(inputs, out, n, data) computes n <= LOSS_BLOCK values from contiguous inputs. args: F::inputs inputs, then out if stored.
template <class F> void loss_loop(char **args, const ssize *count, const ssize *strides, void *data) {
    using T = typename F::T;
    LossData *d = static_cast<LossData *>(data);
    T buffers[F::inputs][LOSS_BLOCK], out[LOSS_BLOCK];
    const T *in[F::inputs];
    for (ssize at = 0; at < *count; at += LOSS_BLOCK) {
        const ssize n = *count - at < LOSS_BLOCK ? *count - at : LOSS_BLOCK;
        for (int k = 0; k < F::inputs; k++) in[k] = gather<T>(args[k] + at * strides[k], strides[k], n, buffers[k]);
        F::block(in, out, n, *d);
        if (d->store) scatter<T>(out, args[F::inputs] + at * strides[F::inputs], strides[F::inputs], n);
        else d->total += double(row_sum(out, n));
    }
}

template <class E> struct SquaredError {
    using T = E;
    static constexpr int inputs = 2;                       // input, target
    static void block(const T *const *in, T *__restrict out, ssize n, LossData &) {
        const T *x = in[0], *t = in[1];
        for (ssize i = 0; i < n; i++) { const T d = x[i] - t[i]; out[i] = d * d; }
    }
};
template <class E> struct SquaredErrorBackward {
    using T = E;
    static constexpr int inputs = 3;                       // input, target, gradient
    static void block(const T *const *in, T *__restrict out, ssize n, LossData &d) {
        const T *x = in[0], *t = in[1], *g = in[2];
        const T f = T(d.factor) * 2;
        for (ssize i = 0; i < n; i++) out[i] = f * (x[i] - t[i]) * g[i];
    }
};
// exp(-|x|) into e
template <class T> inline void exp_minus_absolute(const T *x, T *e, ssize n, const LossData &d) {
    for (ssize i = 0; i < n; i++) e[i] = x[i] > 0 ? -x[i] : x[i];
    exponentials(d.exp, e, e, n);
}
// w ((1 - t) x + (1 + (p - 1) t) softplus(-x)) with softplus(-x) = log1p(exp(-|x|)) - min(x, 0).
// log1p(e) = log(u) e / (u - 1) with u = 1 + e rounded: Goldberg, "What every computer scientist should know about floating-point arithmetic", theorem 4.
template <class E> struct BinaryCrossEntropy {
    using T = E;
    static constexpr int inputs = 4;                       // input, target, weight, pos_weight
    static void block(const T *const *in, T *__restrict out, ssize n, LossData &d) {
        const T *x = in[0], *t = in[1], *w = in[2], *p = in[3];
        T e[LOSS_BLOCK], u[LOSS_BLOCK];
        exp_minus_absolute(x, e, n, d);
        for (ssize i = 0; i < n; i++) u[i] = 1 + e[i];
        char *args[2] = {(char *)u, (char *)out};
        const ssize strides[2] = {sizeof(T), sizeof(T)};
        d.log.inner(args, &n, strides, d.log.data);
        for (ssize i = 0; i < n; i++) {
            const T v = u[i] - 1, log1p = v == 0 ? e[i] : out[i] * e[i] / v, m = x[i] < 0 ? x[i] : T(0);
            out[i] = w[i] * ((1 - t[i]) * x[i] + (1 + (p[i] - 1) * t[i]) * (log1p - m));
        }
    }
};
// w g ((p t + 1 - t) sigmoid(x) - p t)
template <class E> struct BinaryCrossEntropyBackward {
    using T = E;
    static constexpr int inputs = 5;                       // input, target, weight, pos_weight, gradient
    static void block(const T *const *in, T *__restrict out, ssize n, LossData &d) {
        const T *x = in[0], *t = in[1], *w = in[2], *p = in[3], *g = in[4];
        T e[LOSS_BLOCK];
        exp_minus_absolute(x, e, n, d);
        const T f = T(d.factor);
        for (ssize i = 0; i < n; i++) {
            const T s = (x[i] > 0 ? T(1) : e[i]) / (1 + e[i]), pt = p[i] * t[i];
            out[i] = f * w[i] * g[i] * ((pt + 1 - t[i]) * s - pt);
        }
    }
};

enum Loss { L_MSE, L_MSE_BACKWARD, L_BCE, L_BCE_BACKWARD };

// nullptr: no such loop for this type
inline Inner loss_inner(int loss, int type) {
    Inner f = nullptr;
    for_real_float(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        switch (loss) {
        case L_MSE: f = loss_loop<SquaredError<T>>; break;
        case L_MSE_BACKWARD: f = loss_loop<SquaredErrorBackward<T>>; break;
        case L_BCE: f = loss_loop<BinaryCrossEntropy<T>>; break;
        case L_BCE_BACKWARD: f = loss_loop<BinaryCrossEntropyBackward<T>>; break;
        }
    });
    return f;
}

}  // namespace cg
#endif
