// Loops along one dim that carry a value or a position: running sums and products, positions of extrema, and their backward loops.
//
// Memory is contiguous, (outer, n, inner) with the dim in the middle; columns are taken in blocks, so that memory is read in order whatever the dim.
// Running values are kept in double for single precision, as torch does: an error would be carried to the end of the row.
#ifndef CYGRAD_SCAN_HPP
#define CYGRAD_SCAN_HPP

#include "reduce.hpp"

namespace cg {

constexpr ssize SCAN_COLUMNS = 256;

template <class T, bool product> void scan(const T *x, sum_t<T> *out, ssize outer, ssize n, ssize inner, bool reversed) {
    using W = wide_t<T>;
    const ssize first = reversed ? n - 1 : 0, step = reversed ? -inner : inner;
    auto next = [](W a, W b) { if constexpr (product) return a * b; else return a + b; };
    for (ssize o = 0; o < outer; o++, x += n * inner, out += n * inner) {
        if (inner == 1) {
            W carried = W(product ? 1 : 0);
            for (ssize i = 0, at = first; i < n; i++, at += step) {
                carried = next(carried, convert<W>(x[at]));
                out[at] = convert<sum_t<T>>(carried);
            }
            continue;
        }
        for (ssize c = 0; c < inner; c += SCAN_COLUMNS) {
            const ssize w = inner - c < SCAN_COLUMNS ? inner - c : SCAN_COLUMNS;
            W carried[SCAN_COLUMNS];
            for (ssize j = 0; j < w; j++) carried[j] = W(product ? 1 : 0);
            for (ssize i = 0, at = first * inner + c; i < n; i++, at += step)
                for (ssize j = 0; j < w; j++) {
                    carried[j] = next(carried[j], convert<W>(x[at + j]));
                    out[at + j] = convert<sum_t<T>>(carried[j]);
                }
        }
    }
}
inline bool scan_run(bool product, int type, const char *x, char *out, ssize outer, ssize n, ssize inner, bool reversed) {
    return for_any(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (product) scan<T, true>((const T *)x, (sum_t<T> *)out, outer, n, inner, reversed);
        else scan<T, false>((const T *)x, (sum_t<T> *)out, outer, n, inner, reversed);
    });
}

// Gradient of a running product y_j = x_0 ... x_j: conj(x_0 ... x_{i-1}) S_i with S_i = g_i + conj(x_{i+1}) S_{i+1}. No division, so zeros are no special case.
template <class T> void running_product_backward(const T *g, const T *x, T *out, ssize outer, ssize n, ssize inner) {
    using W = wide_t<T>;
    for (ssize o = 0; o < outer; o++)
        for (ssize c = 0; c < inner; c++) {
            const ssize base = o * n * inner + c;
            W carried = W(0);
            for (ssize i = n - 1; i >= 0; i--) {
                const ssize at = base + i * inner;
                carried = convert<W>(g[at]) + (i + 1 < n ? conj(convert<W>(x[at + inner])) * carried : W(0));
                out[at] = convert<T>(carried);
            }
            carried = W(1);
            for (ssize i = 0; i < n; i++) {
                const ssize at = base + i * inner;
                out[at] = convert<T>(convert<W>(out[at]) * conj(carried));
                carried = carried * convert<W>(x[at]);
            }
        }
}
// Gradient of the product of each row: g times the conjugate of the product of all other elements, from products of those before and those after.
template <class T> void product_backward(const T *g, const T *x, T *out, ssize rows, ssize n) {
    using W = wide_t<T>;
    for (ssize r = 0; r < rows; r++, x += n, out += n) {
        W carried = convert<W>(g[r]);
        for (ssize i = 0; i < n; i++) {
            out[i] = convert<T>(carried);
            carried = carried * conj(convert<W>(x[i]));
        }
        carried = W(1);
        for (ssize i = n - 1; i >= 0; i--) {
            out[i] = convert<T>(convert<W>(out[i]) * carried);
            carried = carried * conj(convert<W>(x[i]));
        }
    }
}
inline bool product_backward_run(bool running, int type, const char *g, const char *x, char *out, ssize outer, ssize n, ssize inner) {
    return for_float(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (running) running_product_backward((const T *)g, (const T *)x, (T *)out, outer, n, inner);
        else product_backward((const T *)g, (const T *)x, (T *)out, outer, n);
    });
}

// --------------------------------------------------------------------------------------------------------------- positions of extrema

// The first position of the extremum along the reduced dim, a NaN before all else; values may be null. Strides as in a Plan with one reduced dim, where kout
// belongs to the indices; values lie in the same order. A row's extremum is found by the vectorised reduction, its position by a second look at the row.
template <class T, template <class> class O> void arg_extremum(const Plan &pl, const char *in, T *values, int64_t *indices) {
    const int outer = pl.nk ? pl.nk - 1 : 0;
    const ssize m = pl.nk ? pl.kshape[outer] : 1, step = pl.nk ? pl.kin[outer] : 0, ostep = pl.nk ? pl.kout[outer] / ssize(sizeof(int64_t)) : 0;
    const ssize n = pl.rshape[0], stride = pl.rin[0];
    const bool columns = m > 1 && n > 1 && (step < 0 ? -step : step) < (stride < 0 ? -stride : stride);
    char *at = reinterpret_cast<char *>(indices);
    Odometer kept(outer);
    do {
        int64_t *index = reinterpret_cast<int64_t *>(at);
        T *value = values ? values + (index - indices) : nullptr;
        if (!columns) {
            for (ssize i = 0; i < m; i++) {
                const char *p = in + i * step;
                const T best = row<O<T>>(p, n, stride, Nothing(), pl);
                ssize k = 0;
                if (is_nan(best)) while (!is_nan(*reinterpret_cast<const T *>(p + k * stride))) k++;
                else while (*reinterpret_cast<const T *>(p + k * stride) != best) k++;
                index[i * ostep] = k;
                if (value) value[i * ostep] = best;
            }
            continue;
        }
        for (ssize c = 0; c < m; c += SCAN_COLUMNS) {
            const ssize w = m - c < SCAN_COLUMNS ? m - c : SCAN_COLUMNS;
            T best[SCAN_COLUMNS];
            int64_t where[SCAN_COLUMNS];
            const char *p = in + c * step;
            for (ssize j = 0; j < w; j++) { best[j] = *reinterpret_cast<const T *>(p + j * step); where[j] = 0; }
            for (ssize k = 1; k < n; k++) {
                p += stride;
                for (ssize j = 0; j < w; j++) {
                    const T x = *reinterpret_cast<const T *>(p + j * step), b = best[j];
                    const bool better = O<T>::better(x, b) | (is_nan(x) & !is_nan(b));
                    best[j] = better ? x : b;
                    where[j] = better ? k : where[j];
                }
            }
            for (ssize j = 0; j < w; j++) {
                index[(c + j) * ostep] = where[j];
                if (value) value[(c + j) * ostep] = best[j];
            }
        }
    } while (kept.next(pl.kshape, &in, pl.kin, &at, pl.kout));
}
template <class T> struct ArgMax : Max<T> { static bool better(T x, T b) { return x > b; } };
template <class T> struct ArgMin : Min<T> { static bool better(T x, T b) { return x < b; } };

inline bool arg_extremum_run(bool largest, int type, const Plan *pl, const char *in, char *values, char *indices) {
    return for_real(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (largest) arg_extremum<T, ArgMax>(*pl, in, (T *)values, (int64_t *)indices);
        else arg_extremum<T, ArgMin>(*pl, in, (T *)values, (int64_t *)indices);
    });
}

}  // namespace cg
#endif
