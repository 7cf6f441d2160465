// Reductions over strided memory: a plan of the geometry, and two loops (along rows, across columns) for every operation.
//
// Note [Reduction loops]
// - The plan keeps the dims that stay ("kept") and those that go ("reduced") apart, each sorted by stride and coalesced.
// - Rows: the reduced dim is the innermost one in memory. A row is summed in LANES independent lanes (so the compiler vectorises without changing
//   the order of float additions on its own), blocks of BLOCK elements are joined pairwise: the error grows with log n (Higham, "The accuracy of
//   floating point summation", SIAM J. Sci. Comput. 14, 1993).
// - Columns: a kept dim is the innermost one. Whole rows are added into a buffer of at most COLUMNS elements that stays in cache; every `span` rows
//   the buffer is added to a second one, so that the error grows with the square root of the number of rows, and memory is read once, in order.
// - A narrow matrix (few kept columns, many adjacent rows) is read as a wider one with fewer rows, whose columns are folded at the end.
#ifndef CYGRAD_REDUCE_HPP
#define CYGRAD_REDUCE_HPP

#include "numeric.hpp"

namespace cg {

// The two innermost loops exist twice, compiled for the baseline and for AVX2; which one runs is decided when the module is loaded. What they call with
// vectors must be inlined into them at every level of optimisation: the two pass vectors of 32 bytes in different registers.
#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define CG_HAS_AVX2 1
#define CG_INLINE [[gnu::always_inline]] inline
#define CG_INLINED __attribute__((always_inline))
#define CG_AVX2 [[gnu::target("avx2"), gnu::noinline]]
static const bool avx2 = __builtin_cpu_supports("avx2");
#else
#define CG_HAS_AVX2 0
#define CG_INLINE inline
#define CG_INLINED
#define CG_AVX2
static const bool avx2 = false;
#endif

struct Plan {
    int nk, nr;                         // kept and reduced dims
    ssize kshape[64], kin[64], kout[64];   // strides in bytes
    ssize rshape[64], rin[64];
    ssize repeat;                       // a sum counts every element this often (reduced dims of stride 0)
    ssize divide;                       // a sum is divided by this, unless 0
    double p;                           // the order of a norm
};

enum ZeroStride { ZS_KEEP = 0, ZS_SKIP = 1, ZS_COUNT = 2 };   // reduced dims of stride 0: an ordinary dim; no effect on the result; counted in repeat

// `reduced` has a bit for each dim; `out` holds ndim strides of the result (those of reduced dims are not read).
inline void plan_make(Plan *pl, int ndim, const ssize *shape, const ssize *in, const ssize *out, uint64_t reduced, int zero_stride) {
    pl->nk = pl->nr = 0;
    pl->repeat = 1;
    pl->divide = 0;
    for (int d = 0; d < ndim; d++) {
        ssize n = shape[d], si = in[d], m = si < 0 ? -si : si;
        if (n == 1) continue;
        if (reduced >> d & 1) {
            if (n == 0) { pl->nr = 1; pl->rshape[0] = 0; pl->rin[0] = 0; zero_stride = -1; continue; }
            if (zero_stride == -1) continue;
            if (si == 0 && zero_stride == ZS_SKIP) continue;
            if (si == 0 && zero_stride == ZS_COUNT) { pl->repeat *= n; continue; }
            int i = pl->nr++;
            for (; i > 0 && (pl->rin[i - 1] < 0 ? -pl->rin[i - 1] : pl->rin[i - 1]) < m; i--) { pl->rshape[i] = pl->rshape[i - 1]; pl->rin[i] = pl->rin[i - 1]; }
            pl->rshape[i] = n; pl->rin[i] = si;
        } else {
            int i = pl->nk++;
            for (; i > 0 && (pl->kin[i - 1] < 0 ? -pl->kin[i - 1] : pl->kin[i - 1]) < m; i--) {
                pl->kshape[i] = pl->kshape[i - 1]; pl->kin[i] = pl->kin[i - 1]; pl->kout[i] = pl->kout[i - 1];
            }
            pl->kshape[i] = n; pl->kin[i] = si; pl->kout[i] = out[d];
        }
    }
    int j = 0;
    for (int i = 1; i < pl->nk; i++) {
        if (pl->kin[j] == pl->kshape[i] * pl->kin[i] && pl->kout[j] == pl->kshape[i] * pl->kout[i]) { pl->kshape[j] *= pl->kshape[i]; pl->kin[j] = pl->kin[i]; pl->kout[j] = pl->kout[i]; }
        else { j++; pl->kshape[j] = pl->kshape[i]; pl->kin[j] = pl->kin[i]; pl->kout[j] = pl->kout[i]; }
    }
    if (pl->nk) pl->nk = j + 1;
    j = 0;
    for (int i = 1; i < pl->nr; i++) {
        if (pl->rin[j] == pl->rshape[i] * pl->rin[i]) { pl->rshape[j] *= pl->rshape[i]; pl->rin[j] = pl->rin[i]; }
        else { j++; pl->rshape[j] = pl->rshape[i]; pl->rin[j] = pl->rin[i]; }
    }
    if (pl->nr) pl->nr = j + 1;
    else { pl->nr = 1; pl->rshape[0] = 1; pl->rin[0] = 0; }
}

// Steps through dims [0, n) of a shape in row order, moving up to two pointers.
struct Odometer {
    ssize index[64];
    int n;
    explicit Odometer(int dims) : n(dims) { for (int i = 0; i < n; i++) index[i] = 0; }
    bool next(const ssize *shape, const char **a, const ssize *sa, char **b = nullptr, const ssize *sb = nullptr) {
        for (int d = n - 1; d >= 0; d--) {
            *a += sa[d];
            if (b) *b += sb[d];
            if (++index[d] < shape[d]) return true;
            index[d] = 0;
            *a -= sa[d] * shape[d];
            if (b) *b -= sb[d] * shape[d];
        }
        return false;
    }
};

// ---------------------------------------------------------------------------------------------------------------------------- operations
// in: element read; acc: running value; out: element written. map(x, c): c is the center of the output (var), or nothing. join is associative up to
// rounding. Where `simd` holds, map and join are also called with vectors of elements (in and acc are one type then).

struct Nothing {};

template <class T, class A, class O = A> struct Op {
    using in = T; using acc = A; using out = O; using center = Nothing;
    static constexpr bool simd = std::is_same_v<T, A> && std::is_arithmetic_v<T>;
    static O finish(A a, const Plan &) { return O(a); }
};
// |x| for numbers and vectors of numbers (-0 gives 0, NaN stays)
template <class X> CG_INLINE X absolute(X x) { return x > 0 ? x : 0 - x; }
// A NaN wins. Two selections rather than one: the first is a single instruction, the second is nearly never taken.
template <class X> CG_INLINE X larger(X a, X b) { const X m = a > b ? a : b; return a != a ? a : m; }
template <class X> CG_INLINE X smaller(X a, X b) { const X m = a < b ? a : b; return a != a ? a : m; }

template <class T> struct Sum : Op<T, sum_t<T>> {
    using A = sum_t<T>;
    static A zero() { return A(0); }
    template <class X> CG_INLINE static auto map(X x, Nothing, const Plan &) { if constexpr (std::is_same_v<X, T>) return convert<A>(x); else return x; }
    template <class X> CG_INLINE static X join(X a, X b) { return a + b; }
    static A finish(A a, const Plan &pl) {
        if constexpr (is_float_v<A>) {
            if (pl.repeat != 1) a = convert<A>(scale(convert<wide_t<A>>(a), double(pl.repeat)));
            if (pl.divide) { if constexpr (is_complex_v<A>) a = A(a.re / real_t<A>(pl.divide), a.im / real_t<A>(pl.divide)); else a = a / A(pl.divide); }
        } else a *= pl.repeat;
        return a;
    }
};
template <class T> struct NanSum : Sum<T> {
    using A = sum_t<T>;
    template <class X> CG_INLINE static X map(X x, Nothing, const Plan &) {
        if constexpr (is_complex_v<X>) return is_nan(x) ? X(0) : x;
        else return x == x ? x : X{};
    }
};
template <class T> struct Prod : Op<T, sum_t<T>> {
    using A = sum_t<T>;
    static A zero() { return A(1); }
    template <class X> CG_INLINE static auto map(X x, Nothing, const Plan &) { if constexpr (std::is_same_v<X, T>) return convert<A>(x); else return x; }
    template <class X> CG_INLINE static X join(X a, X b) { return a * b; }
};
template <class T> struct Max : Op<T, T> {
    static T zero() { return std::numeric_limits<T>::has_infinity ? T(-std::numeric_limits<T>::infinity()) : std::numeric_limits<T>::lowest(); }
    template <class X> CG_INLINE static X map(X x, Nothing, const Plan &) { return x; }
    template <class X> CG_INLINE static X join(X a, X b) { return larger(a, b); }
};
template <class T> struct Min : Max<T> {
    static T zero() { return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max(); }
    template <class X> CG_INLINE static X join(X a, X b) { return smaller(a, b); }
};
template <class T> struct All : Op<T, uint8_t> {
    static constexpr bool simd = false;
    static uint8_t zero() { return 1; }
    static uint8_t map(T x, Nothing, const Plan &) { return nonzero(x); }
    static uint8_t join(uint8_t a, uint8_t b) { return a & b; }
};
template <class T> struct Any : All<T> {
    static uint8_t zero() { return 0; }
    static uint8_t join(uint8_t a, uint8_t b) { return a | b; }
};
template <class T> struct CountNonzero : Op<T, int64_t> {
    static constexpr bool simd = false;
    static int64_t zero() { return 0; }
    static int64_t map(T x, Nothing, const Plan &) { return nonzero(x); }
    static int64_t join(int64_t a, int64_t b) { return a + b; }
};
template <class T> struct Norm0 : Op<T, int64_t, real_t<T>> {
    static int64_t zero() { return 0; }
    static int64_t map(T x, Nothing, const Plan &) { return nonzero(x); }
    static int64_t join(int64_t a, int64_t b) { return a + b; }
    static real_t<T> finish(int64_t a, const Plan &) { return real_t<T>(a); }
};
template <class T> struct Norm1 : Op<T, real_t<T>> {
    using A = real_t<T>;
    static A zero() { return 0; }
    template <class X> CG_INLINE static auto map(X x, Nothing, const Plan &) { if constexpr (is_complex_v<X>) return magnitude(x); else return absolute(x); }
    template <class X> CG_INLINE static X join(X a, X b) { return a + b; }
};
template <class T> struct Norm2 : Norm1<T> {
    using A = real_t<T>;
    template <class X> CG_INLINE static auto map(X x, Nothing, const Plan &) { return square_magnitude(x); }
    static A finish(A a, const Plan &) { return std::sqrt(a); }
};
template <class T> struct NormP : Norm1<T> {
    using A = real_t<T>;
    static constexpr bool simd = false;
    static A map(T x, Nothing, const Plan &pl) { return std::pow(magnitude(x), A(pl.p)); }
    static A finish(A a, const Plan &pl) { return std::pow(a, A(1) / A(pl.p)); }
};
template <class T> struct NormMax : Norm1<T> {
    template <class X> CG_INLINE static X join(X a, X b) { return larger(a, b); }
};
template <class T> struct NormMin : Norm1<T> {
    using A = real_t<T>;
    static A zero() { return std::numeric_limits<A>::infinity(); }
    template <class X> CG_INLINE static X join(X a, X b) { return smaller(a, b); }
};
// Sum of squared distances from the mean of each output, divided by plan.p (may be 0: the result is inf or nan): the second pass of a variance.
template <class T> struct Deviation : Norm1<T> {
    using A = real_t<T>; using center = T;
    template <class X> CG_INLINE static auto map(X x, X c, const Plan &) { return square_magnitude(x - c); }
    static A finish(A a, const Plan &pl) { return a / A(pl.p); }
};

// ---------------------------------------------------------------------------------------------------------------------------------- loops

template <class T, int bytes> struct vector_type { typedef T type __attribute__((vector_size(bytes))); };

template <class O, int bytes> CG_INLINE typename O::acc contiguous(const typename O::in *q, ssize n, typename O::center c, const Plan &pl) {
    using A = typename O::acc;
    if constexpr (O::simd) {
        using V = typename vector_type<A, bytes>::type;
        constexpr ssize W = bytes / sizeof(A);
        auto at = [&](ssize k) CG_INLINED -> V {
            V x;
            std::memcpy(&x, q + k, bytes);
            if constexpr (std::is_same_v<typename O::center, Nothing>) return O::map(x, Nothing(), pl);
            else return O::map(x, c - V{}, pl);
        };
        V v0 = at(0), v1 = at(W), v2 = at(2 * W), v3 = at(3 * W);
        ssize i = 4 * W;
        for (; i + 4 * W <= n; i += 4 * W) {
            v0 = O::join(v0, at(i));
            v1 = O::join(v1, at(i + W));
            v2 = O::join(v2, at(i + 2 * W));
            v3 = O::join(v3, at(i + 3 * W));
        }
        v0 = O::join(O::join(v0, v1), O::join(v2, v3));
        for (; i + W <= n; i += W) v0 = O::join(v0, at(i));
        A lane[W];
        std::memcpy(lane, &v0, bytes);
        for (ssize w = W / 2; w > 0; w /= 2)
            for (ssize l = 0; l < w; l++) lane[l] = O::join(lane[l], lane[l + w]);
        A total = lane[0];
        for (; i < n; i++) total = O::join(total, O::map(q[i], c, pl));
        return total;
    } else {
        constexpr ssize W = bytes * 4 / sizeof(A);
        A lane[W];
        ssize i = W;
        for (ssize l = 0; l < W; l++) lane[l] = O::map(q[l], c, pl);
        for (; i + W <= n; i += W)
            for (ssize l = 0; l < W; l++) lane[l] = O::join(lane[l], O::map(q[i + l], c, pl));
        for (ssize w = W / 2; w > 0; w /= 2)
            for (ssize l = 0; l < w; l++) lane[l] = O::join(lane[l], lane[l + w]);
        A total = lane[0];
        for (; i < n; i++) total = O::join(total, O::map(q[i], c, pl));
        return total;
    }
}
template <class O> CG_AVX2 typename O::acc contiguous_avx2(const typename O::in *q, ssize n, typename O::center c, const Plan &pl) { return contiguous<O, 32>(q, n, c, pl); }
template <class O> [[gnu::noinline]] typename O::acc contiguous_base(const typename O::in *q, ssize n, typename O::center c, const Plan &pl) { return contiguous<O, 16>(q, n, c, pl); }

template <class O> inline typename O::acc row_block(const char *p, ssize n, ssize stride, typename O::center c, const Plan &pl) {
    using T = typename O::in; using A = typename O::acc;
    ssize i = 0;
    A total = O::zero();
    if (stride == sizeof(T)) {
        const T *q = reinterpret_cast<const T *>(p);
        if (n >= ssize(128 / sizeof(A))) return avx2 ? contiguous_avx2<O>(q, n, c, pl) : contiguous_base<O>(q, n, c, pl);
        for (; i < n; i++) total = O::join(total, O::map(q[i], c, pl));
        return total;
    }
    if (n >= 8) {
        A lane[4];
        for (int l = 0; l < 4; l++) lane[l] = O::map(*reinterpret_cast<const T *>(p + l * stride), c, pl);
        for (i = 4; i + 4 <= n; i += 4)
            for (int l = 0; l < 4; l++) lane[l] = O::join(lane[l], O::map(*reinterpret_cast<const T *>(p + (i + l) * stride), c, pl));
        total = O::join(O::join(lane[0], lane[1]), O::join(lane[2], lane[3]));
    }
    for (; i < n; i++) total = O::join(total, O::map(*reinterpret_cast<const T *>(p + i * stride), c, pl));
    return total;
}

constexpr ssize BLOCK = 1024;

template <class O> typename O::acc row(const char *p, ssize n, ssize stride, typename O::center c, const Plan &pl) {
    if (n <= BLOCK) return row_block<O>(p, n, stride, c, pl);
    ssize half = (n / 2 + BLOCK - 1) / BLOCK * BLOCK;
    typename O::acc first = row<O>(p, half, stride, c, pl);
    return O::join(first, row<O>(p + half * stride, n - half, stride, c, pl));
}

// Outputs and their centers are contiguous Arrays of one shape: the center of the output that lies `offset` bytes from the first.
template <class O> inline typename O::center center_of(const char *centers, ssize offset) {
    using C = typename O::center;
    if constexpr (std::is_same_v<C, Nothing>) return Nothing();
    else return *reinterpret_cast<const C *>(centers + offset / ssize(sizeof(typename O::out)) * ssize(sizeof(C)));
}

template <class O> void reduce_rows(const Plan &pl, const char *in, char *out, const char *center) {
    using R = typename O::out;
    const int outer = pl.nk ? pl.nk - 1 : 0, last = pl.nr - 1;
    const ssize count = pl.nk ? pl.kshape[outer] : 1, step = pl.nk ? pl.kin[outer] : 0, ostep = pl.nk ? pl.kout[outer] : 0;
    const ssize n = pl.rshape[last], stride = pl.rin[last];
    const char *const first = out;
    Odometer kept(outer);
    do {
        for (ssize i = 0; i < count; i++) {
            const char *p = in + i * step;
            typename O::center c = center_of<O>(center, out + i * ostep - first);
            typename O::acc total = row<O>(p, n, stride, c, pl);
            if (last) {
                Odometer reduced(last);
                while (reduced.next(pl.rshape, &p, pl.rin)) total = O::join(total, row<O>(p, n, stride, c, pl));
            }
            *reinterpret_cast<R *>(out + i * ostep) = O::finish(total, pl);
        }
    } while (kept.next(pl.kshape, &in, pl.kin, &out, pl.kout));
}

// Adds `rows` rows of n elements to `to`, four at a time.
template <class O, bool contiguous, int bytes> CG_INLINE void columns(typename O::acc *__restrict to, const char *p, ssize rows, ssize row_stride, ssize n,
                                                                      ssize stride, const typename O::center *centers, const Plan &pl) {
    using T = typename O::in; using A = typename O::acc;
    auto at = [&](const char *row, ssize j) -> A {
        const T x = contiguous ? reinterpret_cast<const T *>(row)[j] : *reinterpret_cast<const T *>(row + j * stride);
        if constexpr (std::is_same_v<typename O::center, Nothing>) return O::map(x, Nothing(), pl);
        else return O::map(x, centers[j], pl);
    };
    for (ssize i = 0; i < rows; i += 4) {
        const char *a = p + i * row_stride, *b = a + row_stride, *c = b + row_stride, *d = c + row_stride;
        const bool four = i + 4 <= rows;
        ssize j = 0;
        if constexpr (O::simd && contiguous) {
            using V = typename vector_type<A, bytes>::type;
            constexpr ssize W = bytes / sizeof(A);
            auto vat = [&](const char *row, ssize k) CG_INLINED -> V {
                V x;
                std::memcpy(&x, row + k * sizeof(A), bytes);
                if constexpr (std::is_same_v<typename O::center, Nothing>) return O::map(x, Nothing(), pl);
                else { V m; std::memcpy(&m, centers + k, bytes); return O::map(x, m, pl); }
            };
            for (; j + W <= n && four; j += W) {
                V t;
                std::memcpy(&t, to + j, bytes);
                t = O::join(t, O::join(O::join(vat(a, j), vat(b, j)), O::join(vat(c, j), vat(d, j))));
                std::memcpy(to + j, &t, bytes);
            }
        }
        if (four) for (; j < n; j++) to[j] = O::join(to[j], O::join(O::join(at(a, j), at(b, j)), O::join(at(c, j), at(d, j))));
        else for (ssize k = i; k < rows; k++) for (ssize l = 0; l < n; l++) to[l] = O::join(to[l], at(p + k * row_stride, l));
    }
}
#define CG_COLUMNS(NAME, ATTRIBUTE, BYTES) \
    template <class O> ATTRIBUTE void NAME(typename O::acc *__restrict to, const char *p, ssize rows, ssize row_stride, ssize n, ssize stride, \
                                           const typename O::center *centers, const Plan &pl) { \
        if (stride == sizeof(typename O::in)) columns<O, true, BYTES>(to, p, rows, row_stride, n, stride, centers, pl); \
        else columns<O, false, BYTES>(to, p, rows, row_stride, n, stride, centers, pl); \
    }
CG_COLUMNS(columns_avx2, CG_AVX2, 32)
CG_COLUMNS(columns_base, [[gnu::noinline]], 16)
#undef CG_COLUMNS

template <class O> void reduce_columns(const Plan &pl, const char *in, char *out, const char *center) {
    using A = typename O::acc; using T = typename O::in; using R = typename O::out;
    constexpr bool centered = !std::is_same_v<typename O::center, Nothing>;
    constexpr ssize COLUMNS = 4096 / sizeof(A);
    const auto add_rows = avx2 ? columns_avx2<O> : columns_base<O>;
    const int outer = pl.nk - 1, last = pl.nr - 1;
    const ssize m = pl.kshape[outer], step = pl.kin[outer], ostep = pl.kout[outer];
    const ssize n = pl.rshape[last], stride = pl.rin[last];
    ssize rows = 1;
    for (int d = 0; d < pl.nr; d++) rows *= pl.rshape[d];
    ssize fold = 1;                                        // rows read as one wider row
    if (!centered && step == sizeof(T) && stride == m * step && m * 2 <= 64) { fold = 64 / m; if (n < 4 * fold) fold = 1; }
    ssize span = 16;
    while (span * span < rows) span *= 2;
    const char *const first = out;
    alignas(64) A near[COLUMNS];
    A far[COLUMNS];
    [[maybe_unused]] typename O::center centers[centered ? COLUMNS : 1];
    Odometer kept(outer);
    do {
        for (ssize j0 = 0; j0 < m; j0 += COLUMNS) {
            const ssize w = m - j0 < COLUMNS ? m - j0 : COLUMNS, wide = w * fold, whole = n / fold;
            const char *p = in + j0 * step;
            if constexpr (centered) for (ssize j = 0; j < w; j++) centers[j] = center_of<O>(center, out + (j0 + j) * ostep - first);
            for (ssize j = 0; j < wide; j++) near[j] = O::zero();
            Odometer reduced(last);
            ssize waiting = 0;
            bool flushed = false;
            do {
                for (ssize i = 0; i < whole;) {
                    const ssize now = whole - i < span - waiting ? whole - i : span - waiting;
                    add_rows(near, p + i * fold * stride, now, fold * stride, wide, step, centers, pl);
                    i += now;
                    waiting += now;
                    if (waiting == span) {
                        if (flushed) for (ssize j = 0; j < wide; j++) far[j] = O::join(far[j], near[j]);
                        else for (ssize j = 0; j < wide; j++) far[j] = near[j];
                        for (ssize j = 0; j < wide; j++) near[j] = O::zero();
                        waiting = 0;
                        flushed = true;
                    }
                }
                if (fold > 1) add_rows(near, p + whole * fold * stride, n - whole * fold, stride, w, step, centers, pl);
            } while (last && reduced.next(pl.rshape, &p, pl.rin));
            if (flushed) for (ssize j = 0; j < wide; j++) near[j] = O::join(far[j], near[j]);
            for (ssize f = 1; f < fold; f++) for (ssize j = 0; j < w; j++) near[j] = O::join(near[j], near[f * w + j]);
            for (ssize j = 0; j < w; j++) *reinterpret_cast<R *>(out + (j0 + j) * ostep) = O::finish(near[j], pl);
        }
    } while (kept.next(pl.kshape, &in, pl.kin, &out, pl.kout));
}

template <class O> void reduce(const Plan &pl, const char *in, char *out, const char *center) {
    const ssize r = pl.rin[pl.nr - 1], k = pl.nk ? pl.kin[pl.nk - 1] : 0;
    const bool rows = pl.nk == 0 || pl.rshape[pl.nr - 1] < 2 || (k < 0 ? -k : k) > (r < 0 ? -r : r) || pl.kshape[pl.nk - 1] < 2;
    if (rows) reduce_rows<O>(pl, in, out, center);
    else reduce_columns<O>(pl, in, out, center);
}

enum Reduction { R_SUM, R_NANSUM, R_PROD, R_MAX, R_MIN, R_ALL, R_ANY, R_COUNT, R_NORM0, R_NORM1, R_NORM2, R_NORMP, R_NORM_MAX, R_NORM_MIN, R_DEVIATION };

template <template <class> class O> inline auto run(const Plan *pl, const char *in, char *out, const char *center) {
    return [=](auto tag) { reduce<O<typename decltype(tag)::type>>(*pl, in, out, center); };
}

// false: this operation does not take elements of this type. Sums and products write int64 for every integer type.
inline bool reduce_dispatch(int op, int type, const Plan *pl, const char *in, char *out, const char *center) {
    switch (op) {
    case R_SUM: return for_any(type, run<Sum>(pl, in, out, center));
    case R_NANSUM: return for_float(type, run<NanSum>(pl, in, out, center));
    case R_PROD: return for_any(type, run<Prod>(pl, in, out, center));
    case R_MAX: return for_real(type, run<Max>(pl, in, out, center));
    case R_MIN: return for_real(type, run<Min>(pl, in, out, center));
    case R_ALL: return for_any(type, run<All>(pl, in, out, center));
    case R_ANY: return for_any(type, run<Any>(pl, in, out, center));
    case R_COUNT: return for_any(type, run<CountNonzero>(pl, in, out, center));
    case R_NORM0: return for_float(type, run<Norm0>(pl, in, out, center));
    case R_NORM1: return for_float(type, run<Norm1>(pl, in, out, center));
    case R_NORM2: return for_float(type, run<Norm2>(pl, in, out, center));
    case R_NORMP: return for_float(type, run<NormP>(pl, in, out, center));
    case R_NORM_MAX: return for_float(type, run<NormMax>(pl, in, out, center));
    case R_NORM_MIN: return for_float(type, run<NormMin>(pl, in, out, center));
    case R_DEVIATION: return for_float(type, run<Deviation>(pl, in, out, center));
    default: return false;
    }
}

}  // namespace cg
#endif
