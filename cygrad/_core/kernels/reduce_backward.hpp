// Backward loops of reductions: for each element its gradient from the element, and from gradient and result of its row, in one pass.
//
// An operation splits into prepare(g, r, c, p), which needs only what all elements of a row share, and apply(a, k), so that the usual case (a row of
// contiguous elements, one gradient) computes the shared part once and leaves a loop that vectorises.
#ifndef CYGRAD_REDUCE_BACKWARD_HPP
#define CYGRAD_REDUCE_BACKWARD_HPP

#include "numeric.hpp"

namespace cg {

// Whether an element attains the extremum r of its row; a NaN extremum is attained by NaNs only where `nan` says so.
template <class T> inline bool attains(T a, T r, bool nan) { return (a == r) | (nan & is_nan(a) & is_nan(r)); }

// amax, amin (p = 0), max and min over everything (p = 1: NaNs share too); c: how many elements attain r
template <class T> struct ExtremumBackward {
    using A = T; using G = T; using R = T;
    struct K { T value, r; bool nan; };
    static K prepare(G g, R r, R c, double p) { return {g / c, r, p != 0}; }
    static T apply(T a, const K &k) { return attains(a, k.r, k.nan) ? k.value : k.nan ? T(0) : T(0) * k.value; }
};
// p: 2 / (count - correction); r: the mean. p = -inf says that no degree of freedom is left: torch's gradient is then infinite, nan at the mean.
template <class T> struct VarianceBackward {
    using A = T; using G = real_t<T>; using R = T;
    struct K { G g; T mean; bool free; };
    static K prepare(G g, R r, R, double p) { return {std::isinf(p) ? std::numeric_limits<G>::infinity() * g : G(p) * g, r, !(p < 0 && std::isinf(p))}; }
    static T apply(T a, const K &k) {
        if (k.free) return scale(a - k.mean, k.g);
        return convert<T>(a == k.mean ? std::numeric_limits<G>::quiet_NaN() : k.g);
    }
};
template <class T> struct NormBackward {
    using A = T; using G = real_t<T>; using R = real_t<T>;
    struct K { G g; G p; };
};
template <class T> struct Norm1Backward : NormBackward<T> {
    using G = real_t<T>; using K = typename NormBackward<T>::K;
    static K prepare(G g, G, G, double p) { return {g, G(p)}; }
    static T apply(T a, const K &k) { return scale(sign_of(a), k.g); }
};
template <class T> struct Norm2Backward : NormBackward<T> {
    using G = real_t<T>; using K = typename NormBackward<T>::K;
    static K prepare(G g, G r, G, double p) { return {r == 0 ? G(0) : g / r, G(p)}; }
    static T apply(T a, const K &k) { return scale(a, k.g); }
};
template <class T> struct NormInfBackward : NormBackward<T> {
    using G = real_t<T>;
    struct K { G g, r; };
    static K prepare(G g, G r, G c, double) { return {g / c, r}; }
    static T apply(T a, const K &k) { return attains(magnitude(a), k.r, true) ? scale(sign_of(a), k.g) : T(0); }
};
template <class T> struct NormPBackward : NormBackward<T> {
    using G = real_t<T>; using K = typename NormBackward<T>::K;
    static K prepare(G g, G r, G, double p) { return {r == 0 && p >= 1 ? G(0) : g * std::pow(r, G(1 - p)), G(p)}; }
    static T apply(T a, const K &k) {
        if (k.p < 1 && !nonzero(a)) return scale(T(0), k.g);
        return k.p < 2 ? scale(sign_of(a), std::pow(magnitude(a), k.p - 1) * k.g) : scale(a, std::pow(magnitude(a), k.p - 2) * k.g);
    }
};

// args: a, gradient, result, count, out
template <class O> void reduce_backward_loop(char **args, const ssize *count, const ssize *strides, void *data) {
    using A = typename O::A; using G = typename O::G; using R = typename O::R;
    const double p = *static_cast<const double *>(data);
    const ssize n = *count, sa = strides[0], sg = strides[1], sr = strides[2], sc = strides[3], so = strides[4];
    const char *a = args[0], *g = args[1], *r = args[2], *c = args[3];
    char *o = args[4];
    if (sg == 0 && sr == 0 && sc == 0) {
        const typename O::K k = O::prepare(*(const G *)g, *(const R *)r, *(const R *)c, p);
        if (sa == sizeof(A) && so == sizeof(A)) {
            const A *x = (const A *)a;
            A *y = (A *)o;
            for (ssize i = 0; i < n; i++) y[i] = O::apply(x[i], k);
        } else for (ssize i = 0; i < n; i++) *(A *)(o + i * so) = O::apply(*(const A *)(a + i * sa), k);
        return;
    }
    for (ssize i = 0; i < n; i++)
        *(A *)(o + i * so) = O::apply(*(const A *)(a + i * sa), O::prepare(*(const G *)(g + i * sg), *(const R *)(r + i * sr), *(const R *)(c + i * sc), p));
}

// args: a, result, count (stride 0 where reduced): counts the elements that attain the extremum. `absolute` compares magnitudes.
template <class T, bool absolute> void attain_count_loop(char **args, const ssize *count, const ssize *strides, void *data) {
    using R = real_t<T>;
    const bool nan = *static_cast<const double *>(data) != 0;
    const ssize n = *count, sa = strides[0], sr = strides[1], sc = strides[2];
    const char *a = args[0], *r = args[1];
    char *c = args[2];
    auto hit = [&](ssize i) {
        const T x = *(const T *)(a + i * sa);
        const R m = *(const R *)(r + i * sr);
        if constexpr (absolute) return attains(magnitude(x), m, nan);
        else return attains(x, m, nan);
    };
    if (sc == 0) {
        ssize total = 0;
        for (ssize i = 0; i < n; i++) total += hit(i);
        *(R *)c += R(total);
    } else for (ssize i = 0; i < n; i++) *(R *)(c + i * sc) += R(hit(i));
}

typedef void (*Inner)(char **, const ssize *, const ssize *, void *);
enum ReductionBackward { RB_EXTREMUM, RB_VARIANCE, RB_NORM1, RB_NORM2, RB_NORM_INF, RB_NORMP };

// nullptr: no such loop for this type
inline Inner reduce_backward_inner(int op, int type) {
    Inner f = nullptr;
    switch (op) {
    case RB_EXTREMUM: for_real_float(type, [&](auto t) { f = reduce_backward_loop<ExtremumBackward<typename decltype(t)::type>>; }); break;
    case RB_VARIANCE: for_float(type, [&](auto t) { f = reduce_backward_loop<VarianceBackward<typename decltype(t)::type>>; }); break;
    case RB_NORM1: for_float(type, [&](auto t) { f = reduce_backward_loop<Norm1Backward<typename decltype(t)::type>>; }); break;
    case RB_NORM2: for_float(type, [&](auto t) { f = reduce_backward_loop<Norm2Backward<typename decltype(t)::type>>; }); break;
    case RB_NORM_INF: for_float(type, [&](auto t) { f = reduce_backward_loop<NormInfBackward<typename decltype(t)::type>>; }); break;
    case RB_NORMP: for_float(type, [&](auto t) { f = reduce_backward_loop<NormPBackward<typename decltype(t)::type>>; }); break;
    }
    return f;
}
inline Inner attain_count_inner(bool absolute, int type) {
    Inner f = nullptr;
    if (absolute) for_float(type, [&](auto t) { f = attain_count_loop<typename decltype(t)::type, true>; });
    else for_real_float(type, [&](auto t) { f = attain_count_loop<typename decltype(t)::type, false>; });
    return f;
}

}  // namespace cg
#endif
