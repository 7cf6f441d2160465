// Templates that turn an expression on one element into an inner loop with the signature of NumPy's (iterate.pxd, InnerLoop).
//
// Why: the elementwise kernels differ in the expression alone. An expression is a struct, made from an array of parameters, whose operator() takes one
// element of each operand:
//     template <class T> struct TanhBackward { TanhBackward(const double *) {}  T operator()(T grad, T result) const { ... } };
// real2<TanhBackward>(dtype) and its like give the loop for a dtype, or nullptr where the operation has none.
// float16 is widened to float for the expression and rounded once. Include after half.pxd (cygrad::Half, cygrad::Bool).
//
// Note [Chains]
// An expression with a transcendental function runs as a chain: before() of every element of a block into a buffer, NumPy's vectorised loops of exp,
// tanh, ... over that buffer, then after() of the buffer and the operands. The block stays in the first-level cache.
#pragma once
#ifndef CYGRAD_HALF
#error "loops.hpp: cimport cygrad._core.kernels.half before the header that includes this one"
#endif
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

// The iterations are independent, even where the output is the memory of an input.
#if defined(__clang__)
#define CG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CG_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CG_INDEPENDENT
#endif

// Compiled twice, for processors with and without AVX2; the dynamic linker picks (glibc on x86 has what that needs).
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CG_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CG_CLONES
#endif
#define CG_INLINE static inline __attribute__((always_inline))

namespace cygrad {

typedef void (*Loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
typedef std::complex<float> C64;
typedef std::complex<double> C128;

template <class T> struct WideOf { typedef T type; };
template <> struct WideOf<Half> { typedef float type; };
template <class T> struct RealOf { typedef T type; };
template <class T> struct RealOf<std::complex<T>> { typedef T type; };
template <class T> struct IsComplex : std::false_type {};
template <class T> struct IsComplex<std::complex<T>> : std::true_type {};
template <class T> using real_t = typename RealOf<T>::type;

// Reading and writing an element. By reference to the member: a loop that copies the structs does not vectorise.
template <class T> static inline T widen(const T &x) { return x; }
static inline float widen(const Half &x) { return cg_half_to_float(x.bits); }
static inline bool widen(const Bool &x) { return x.byte != 0; }
template <class T, class V> static inline void store(T &to, V x) { to = (T)x; }
static inline void store(Half &to, float x) { to.bits = cg_float_to_half(x); }
static inline void store(Bool &to, Bool x) { to.byte = x.byte; }

// Conjugate and real part that leave real numbers as they are (std::conj would make them complex).
template <class T> static inline T cj(T x) { return x; }
template <class T> static inline std::complex<T> cj(std::complex<T> x) { return std::conj(x); }
template <class T> static inline T re(T x) { return x; }
template <class T> static inline T re(std::complex<T> x) { return x.real(); }
template <class T> static inline T im(T) { return T(0); }
template <class T> static inline T im(std::complex<T> x) { return x.imag(); }

// A parameter (two doubles: real and imaginary part) as a number of type T.
template <class T> static inline T parameter(const double *p) {
    if constexpr (IsComplex<T>::value) return T((real_t<T>)p[0], (real_t<T>)p[1]);
    else return (T)p[0];
}

// An expression without parameters.
struct Plain {
    Plain(const double *) {}
};

template <class Op, class R, class... A> CG_INLINE void flat_body(Py_ssize_t n, const Op op, R *r, const A *...a) {
    CG_INDEPENDENT
    for (Py_ssize_t i = 0; i < n; i++) store(r[i], op(widen(a[i])...));
}

template <class Op, class R, class... A, size_t... k>
CG_INLINE void loop_body(char **args, Py_ssize_t n, const Py_ssize_t *strides, const Op op, std::index_sequence<k...>) {
    const size_t out = sizeof...(A);
    if (((strides[k] == (Py_ssize_t)sizeof(A)) && ...) && strides[out] == (Py_ssize_t)sizeof(R)) {
        flat_body<Op, R, A...>(n, op, (R *)args[out], (const A *)args[k]...);
        return;
    }
    char *r = args[out];
    const char *const a[] = {args[k]...};
    for (Py_ssize_t i = 0; i < n; i++) store(*(R *)(r + i * strides[out]), op(widen(*(const A *)(a[k] + i * strides[k]))...));
}

// The loop that reads operands of types A... and writes type R.
template <class Op, class R, class... A> CG_CLONES static void loop(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *data) {
    loop_body<Op, R, A...>(args, *count, strides, Op((const double *)data), std::index_sequence_for<A...>());
}

// --- By dtype (the codes of dtypes.pxd) ---
#define CG_INTEGER_CASES(X) X(1, uint8_t) X(2, int8_t) X(3, int16_t) X(4, int32_t) X(5, int64_t)
#define CG_REAL_CASES(X) X(6, Half) X(7, float) X(8, double)
#define CG_COMPLEX_CASES(X) X(9, C64) X(10, C128)
#define CG_CASE1(code, T) case code: return loop<Op<typename WideOf<T>::type>, T, T>;
#define CG_CASE2(code, T) case code: return loop<Op<typename WideOf<T>::type>, T, T, T>;
#define CG_CASE3(code, T) case code: return loop<Op<typename WideOf<T>::type>, T, T, T, T>;
#define CG_CASE4(code, T) case code: return loop<Op<typename WideOf<T>::type>, T, T, T, T, T>;
#define CG_CASE5(code, T) case code: return loop<Op<typename WideOf<T>::type>, T, T, T, T, T, T>;

#define CG_TABLES(count, CASE)                                                                                                                     \
    template <template <class> class Op> static Loop real##count(int t) {                                                                          \
        switch (t) { CG_REAL_CASES(CASE) }                                                                                                         \
        return nullptr;                                                                                                                            \
    }                                                                                                                                              \
    template <template <class> class Op> static Loop floats##count(int t) {                                                                        \
        switch (t) { CG_REAL_CASES(CASE) CG_COMPLEX_CASES(CASE) }                                                                                  \
        return nullptr;                                                                                                                            \
    }                                                                                                                                              \
    template <template <class> class Op> static Loop ordered##count(int t) {                                                                       \
        switch (t) { CG_INTEGER_CASES(CASE) CG_REAL_CASES(CASE) }                                                                                  \
        return nullptr;                                                                                                                            \
    }                                                                                                                                              \
    template <template <class> class Op> static Loop complex##count(int t) {                                                                       \
        switch (t) { CG_COMPLEX_CASES(CASE) }                                                                                                      \
        return nullptr;                                                                                                                            \
    }
CG_TABLES(1, CG_CASE1)
CG_TABLES(2, CG_CASE2)
CG_TABLES(3, CG_CASE3)
CG_TABLES(4, CG_CASE4)
CG_TABLES(5, CG_CASE5)

// --- Note [Chains] ---
struct Chain {
    Loop step[2];
    void *step_data[2];
    int steps;
    double p[4];
};

template <class Op, class T, class... A, size_t... k>
CG_INLINE void chain_body(char **args, Py_ssize_t n, const Py_ssize_t *strides, const Chain *chain, std::index_sequence<k...>) {
    typedef typename WideOf<T>::type W;
    enum { block = 4096 / sizeof(W), last = sizeof...(A) - 1, out = sizeof...(A) };
    alignas(64) W buffer[block];
    const Op op(chain->p);
    const Py_ssize_t steps[2] = {sizeof(W), sizeof(W)};
    const bool flat = ((strides[k] == (Py_ssize_t)sizeof(T)) && ...) && strides[out] == (Py_ssize_t)sizeof(T);
    for (Py_ssize_t at = 0; at < n; at += block) {
        const Py_ssize_t m = n - at < (Py_ssize_t)block ? n - at : (Py_ssize_t)block;
        const char *const a[] = {args[k] + at * strides[k]...};
        char *r = args[out] + at * strides[out];
        const Py_ssize_t step = strides[last];
        if (flat) {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < m; i++) buffer[i] = op.before(widen(((const T *)a[last])[i]));
        } else {
            for (Py_ssize_t i = 0; i < m; i++) buffer[i] = op.before(widen(*(const T *)(a[last] + i * step)));
        }
        for (int s = 0; s < chain->steps; s++) {
            char *pointers[2] = {(char *)buffer, (char *)buffer};
            const Py_ssize_t passed = m;        // m itself has no address: else the loops below could not know that it stays
            chain->step[s](pointers, &passed, steps, chain->step_data[s]);
        }
        if (flat) {
            CG_INDEPENDENT
            for (Py_ssize_t i = 0; i < m; i++) store(((T *)r)[i], op.after(buffer[i], widen(((const A *)a[k])[i])...));
        } else {
            for (Py_ssize_t i = 0; i < m; i++) store(*(T *)(r + i * strides[out]), op.after(buffer[i], widen(*(const A *)(a[k] + i * strides[k]))...));
        }
    }
}

template <class Op, class T, class... A> CG_CLONES static void chain(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *data) {
    chain_body<Op, T, A...>(args, *count, strides, (const Chain *)data, std::index_sequence_for<A...>());
}

#define CG_CHAIN1(code, T) case code: return chain<Op<typename WideOf<T>::type>, T, T>;
#define CG_CHAIN2(code, T) case code: return chain<Op<typename WideOf<T>::type>, T, T, T>;
#define CG_CHAINS(count, CASE)                                                                                                                     \
    template <template <class> class Op> static Loop real_chain##count(int t) {                                                                    \
        switch (t) { CG_REAL_CASES(CASE) }                                                                                                         \
        return nullptr;                                                                                                                            \
    }                                                                                                                                              \
    template <template <class> class Op> static Loop floats_chain##count(int t) {                                                                  \
        switch (t) { CG_REAL_CASES(CASE) CG_COMPLEX_CASES(CASE) }                                                                                  \
        return nullptr;                                                                                                                            \
    }                                                                                                                                              \
    template <template <class> class Op> static Loop single_chain##count(int t) {                                                                  \
        switch (t) { CASE(6, Half) CASE(7, float) }                                                                                                \
        return nullptr;                                                                                                                            \
    }
CG_CHAINS(1, CG_CHAIN1)
CG_CHAINS(2, CG_CHAIN2)

}  // namespace cygrad
