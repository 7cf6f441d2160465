// Loops of softmax and log_softmax along one dim of contiguous memory, forward and backward.
//
// Memory is (outer, n, inner) with the dim in the middle. inner == 1: rows; else blocks of columns. The exponentials are NumPy's vectorised loop, called on
// as many elements at a time as stay in the first-level cache, so that memory is read once for the maximum and once for the rest.
// The maximum is subtracted first (no overflow), and for log_softmax before the logarithm of the sum, never the sum of both: where values are large and
// their differences small, that keeps the digits.
#ifndef CYGRAD_SOFTMAX_HPP
#define CYGRAD_SOFTMAX_HPP

#include "reduce.hpp"

namespace cg {

typedef void (*Inner)(char **, const ssize *, const ssize *, void *);
struct Exp { Inner inner; void *data; };
constexpr ssize CHUNK = 2048;

template <class T> inline void exponentials(const Exp &e, const T *from, T *to, ssize n) {
    char *args[2] = {(char *)from, (char *)to};
    const ssize strides[2] = {sizeof(T), sizeof(T)};
    e.inner(args, &n, strides, e.data);
}
inline const Plan &no_plan() {
    static const Plan plan{};
    return plan;
}
// The maximum to subtract need not look for NaNs: one in the row makes the whole result NaN without it.
template <class T> struct PlainMax : Max<T> {
    template <class X> CG_INLINE static X join(X a, X b) { return a > b ? a : b; }
};
template <class T> inline T row_max(const T *x, ssize n) { return row<PlainMax<T>>((const char *)x, n, sizeof(T), Nothing(), no_plan()); }
template <class T> inline T row_sum(const T *x, ssize n) { return row<Sum<T>>((const char *)x, n, sizeof(T), Nothing(), no_plan()); }
template <class T> inline T row_dot(const T *a, const T *b, ssize n) {
    using V = typename vector_type<T, 16>::type;
    constexpr ssize W = 16 / sizeof(T);
    V s[4] = {};
    ssize i = 0;
    for (; i + 4 * W <= n; i += 4 * W)
        for (int l = 0; l < 4; l++) {
            V x, y;
            std::memcpy(&x, a + i + l * W, 16);
            std::memcpy(&y, b + i + l * W, 16);
            s[l] += x * y;
        }
    const V v = (s[0] + s[1]) + (s[2] + s[3]);
    T total = 0;
    for (ssize l = 0; l < W; l++) total += v[l];
    for (; i < n; i++) total += a[i] * b[i];
    return total;
}

template <class T> void softmax_rows(const T *x, T *y, ssize rows, ssize n, const Exp &e, bool logarithm) {
    T buffer[CHUNK], maxima[CHUNK];
    if (n > CHUNK) {
        for (; rows > 0; rows--, x += n, y += n) {
            const T m = row_max(x, n);
            T total = 0;
            for (ssize k = 0; k < n; k += CHUNK) {
                const ssize w = n - k < CHUNK ? n - k : CHUNK;
                T *to = logarithm ? buffer : y + k;
                for (ssize j = 0; j < w; j++) to[j] = x[k + j] - m;
                exponentials(e, to, to, w);
                total += row_sum(to, w);
            }
            if (logarithm) { const T l = std::log(total); for (ssize j = 0; j < n; j++) y[j] = x[j] - m - l; }
            else for (ssize j = 0; j < n; j++) y[j] = y[j] / total;
        }
        return;
    }
    const ssize most = CHUNK / n;
    while (rows > 0) {
        const ssize now = rows < most ? rows : most;
        T *to = logarithm ? buffer : y;
        for (ssize i = 0; i < now; i++) {
            const T m = maxima[i] = row_max(x + i * n, n);
            for (ssize j = 0; j < n; j++) to[i * n + j] = x[i * n + j] - m;
        }
        exponentials(e, to, to, now * n);
        for (ssize i = 0; i < now; i++) {
            const T total = row_sum(to + i * n, n), m = maxima[i];
            if (logarithm) { const T l = std::log(total); for (ssize j = 0; j < n; j++) y[i * n + j] = x[i * n + j] - m - l; }
            else for (ssize j = 0; j < n; j++) y[i * n + j] = y[i * n + j] / total;
        }
        x += now * n;
        y += now * n;
        rows -= now;
    }
}

template <class T> void softmax_columns(const T *x, T *y, ssize outer, ssize n, ssize inner, const Exp &e, bool logarithm) {
    constexpr ssize W = 512;
    T maxima[W], totals[W], buffer[CHUNK];
    for (; outer > 0; outer--, x += n * inner, y += n * inner)
        for (ssize c = 0; c < inner; c += W) {
            const ssize w = inner - c < W ? inner - c : W;
            const ssize group = w == inner ? CHUNK / w : 1;          // rows that lie as one
            for (ssize j = 0; j < w; j++) { maxima[j] = x[c + j]; totals[j] = 0; }
            for (ssize i = 1; i < n; i++)
                for (ssize j = 0; j < w; j++) maxima[j] = PlainMax<T>::join(maxima[j], x[i * inner + c + j]);
            for (ssize i = 0; i < n; i += group) {
                const ssize now = n - i < group ? n - i : group;
                T *to = logarithm ? buffer : y + i * inner + c;
                for (ssize r = 0; r < now; r++)
                    for (ssize j = 0; j < w; j++) to[r * w + j] = x[(i + r) * inner + c + j] - maxima[j];
                exponentials(e, to, to, now * w);
                for (ssize r = 0; r < now; r++)
                    for (ssize j = 0; j < w; j++) totals[j] += to[r * w + j];
            }
            if (logarithm) for (ssize j = 0; j < w; j++) totals[j] = std::log(totals[j]);
            for (ssize i = 0; i < n; i++) {
                const T *from = x + i * inner + c;
                T *to = y + i * inner + c;
                if (logarithm) for (ssize j = 0; j < w; j++) to[j] = from[j] - maxima[j] - totals[j];
                else for (ssize j = 0; j < w; j++) to[j] = to[j] / totals[j];
            }
        }
}

// softmax: out = (g - sum(g y)) y, where out may be g; log_softmax: out = g - exp(y) sum(g), where it may not
template <class T> void softmax_backward_rows(const T *g, const T *y, T *out, ssize rows, ssize n, const Exp &e, bool logarithm) {
    if (logarithm) {
        const ssize most = n > CHUNK ? 1 : CHUNK / n;
        while (rows > 0) {
            const ssize now = rows < most ? rows : most;
            exponentials(e, y, out, now * n);
            for (ssize i = 0; i < now; i++) {
                const T total = row_sum(g + i * n, n);
                for (ssize j = 0; j < n; j++) out[i * n + j] = g[i * n + j] - out[i * n + j] * total;
            }
            g += now * n;
            y += now * n;
            out += now * n;
            rows -= now;
        }
        return;
    }
    for (; rows > 0; rows--, g += n, y += n, out += n) {
        const T total = row_dot(g, y, n);
        for (ssize j = 0; j < n; j++) out[j] = (g[j] - total) * y[j];
    }
}

template <class T> void softmax_backward_columns(const T *g, const T *y, T *out, ssize outer, ssize n, ssize inner, const Exp &e, bool logarithm) {
    constexpr ssize W = 512;
    T totals[W];
    for (; outer > 0; outer--, g += n * inner, y += n * inner, out += n * inner)
        for (ssize c = 0; c < inner; c += W) {
            const ssize w = inner - c < W ? inner - c : W;
            for (ssize j = 0; j < w; j++) totals[j] = 0;
            for (ssize i = 0; i < n; i++) {
                const T *a = g + i * inner + c, *b = y + i * inner + c;
                if (logarithm) for (ssize j = 0; j < w; j++) totals[j] += a[j];
                else for (ssize j = 0; j < w; j++) totals[j] += a[j] * b[j];
            }
            for (ssize i = 0; i < n; i++) {
                const T *a = g + i * inner + c, *b = y + i * inner + c;
                T *to = out + i * inner + c;
                if (logarithm) {
                    exponentials(e, b, to, w);
                    for (ssize j = 0; j < w; j++) to[j] = a[j] - to[j] * totals[j];
                } else for (ssize j = 0; j < w; j++) to[j] = (a[j] - totals[j]) * b[j];
            }
        }
}

// false: this type is not taken
inline bool softmax_run(int type, const char *x, char *y, ssize outer, ssize n, ssize inner, Inner exp, void *data, bool logarithm) {
    const Exp e{exp, data};
    return for_real_float(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (inner == 1) softmax_rows((const T *)x, (T *)y, outer, n, e, logarithm);
        else softmax_columns((const T *)x, (T *)y, outer, n, inner, e, logarithm);
    });
}
inline bool softmax_backward_run(int type, const char *g, const char *y, char *out, ssize outer, ssize n, ssize inner, Inner exp, void *data, bool logarithm) {
    const Exp e{exp, data};
    return for_real_float(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (inner == 1) softmax_backward_rows((const T *)g, (const T *)y, (T *)out, outer, n, e, logarithm);
        else softmax_backward_columns((const T *)g, (const T *)y, (T *)out, outer, n, inner, e, logarithm);
    });
}

}  // namespace cg
#endif
