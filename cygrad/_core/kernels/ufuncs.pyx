# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# Elementwise operations through the inner loops of NumPy's ufuncs, with torch's promotion, broadcasting and refusals. Contract: ufuncs.pxd.
#
# Why: NumPy's loops are vectorised for every processor it supports and need no GIL; a call costs some 15 ns. They are read from the ufunc objects
# (functions, data, types of PyUFuncObject in NumPy's public header) once, when this module is imported. Where torch's results differ from NumPy's,
# or NumPy has no loop, a loop of our own takes the place in the table.
#
# Note [Ways through an operation]
# 1. Same dtype and shape, both contiguous: allocate, one call of the inner loop.
# 2. One operand is 0-d, the other contiguous and of the result's dtype: the number is converted once and gets a stride of 0.
# 3. All else: a Call (apply.pxd).

import numpy

from cpython.object cimport PyObject
from libc.string cimport memset
from cygrad._core.array cimport Array, array_empty, array_incref, array_decref, same_shape, result_dtype, CONTIGUOUS, WRAPPED
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.dtypes cimport (
    ITEMSIZE, NUMPY_TYPE, N_DTYPES, BOOL, UINT8, INT64, FLOAT16, FLOAT32, is_complex_code,
    float_for)
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport Call, call_run, fail_dtype
from cygrad._core.kernels.copy cimport cast, convert_element
from cygrad._core.kernels.parallel cimport inner_run

cdef extern from "numpy/arrayobject.h":
    pass

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin
        int nout
        InnerLoop* functions
        void** data
        int ntypes
        const char* types

cdef extern from * nogil:
    """
    #include <cmath>
    #include <complex>
    #include <limits>
    #include <type_traits>
    namespace cygrad_ufuncs {
    using cygrad::Half;
    using cygrad::Bool;
    /* What a float16 is computed in. */
    template <class T> struct Wide { typedef T type; };
    template <> struct Wide<Half> { typedef float type; };

    template <class T, class R, R (*f)(T)> static void unary(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *) {
        const Py_ssize_t n = *count, sa = strides[0], sr = strides[1];
        const char *a = args[0];
        char *r = args[1];
        if (sa == (Py_ssize_t)sizeof(T) && sr == (Py_ssize_t)sizeof(R)) {
            for (Py_ssize_t i = 0; i < n; i++) ((R *)r)[i] = f(((const T *)a)[i]);
        } else {
            for (Py_ssize_t i = 0; i < n; i++) *(R *)(r + i * sr) = f(*(const T *)(a + i * sa));
        }
    }
    template <class T, T (*f)(T, T)> static void binary(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *) {
        const Py_ssize_t n = *count, sa = strides[0], sb = strides[1], sr = strides[2];
        const char *a = args[0], *b = args[1];
        char *r = args[2];
        for (Py_ssize_t i = 0; i < n; i++) *(T *)(r + i * sr) = f(*(const T *)(a + i * sa), *(const T *)(b + i * sb));
    }

    template <class T> static T identity(T a) { return a; }
    /* NaN has sign 0, as in torch. */
    template <class T> static T sign(T x) {
        const typename Wide<T>::type a = x;
        return (T)(typename Wide<T>::type)((a > 0) - (a < 0));
    }
    template <class T> static std::complex<T> sgn(std::complex<T> z) {
        const T size = std::hypot(z.real(), z.imag());
        if (size == 0) return std::complex<T>(0, 0);
        return std::complex<T>(z.real() / size, z.imag() / size);
    }
    template <class T> static Bool signbit(T a) { return Bool(a < 0); }
    /* NumPy's loops of these four write wrong bools where the output is strided (seen in 2.4, float32 and float64, 17 elements and more). */
    template <class T> static Bool is_nan(T x) { return Bool(x != x); }
    template <class T> static Bool is_inf(T x) { return Bool(std::fabs(x) == std::numeric_limits<T>::infinity()); }
    template <class T> static Bool is_finite(T x) { return Bool(std::fabs(x) <= std::numeric_limits<T>::max()); }
    template <class T> static Bool sign_bit(T x) { return Bool(std::signbit(x)); }

    /* Python's %: the result has the divisor's sign; a zero keeps the sign of the dividend. */
    template <class T> static T remainder(T x, T y) {
        typedef typename Wide<T>::type W;
        const W a = x, b = y;
        W r = std::fmod(a, b);
        if (r != 0 && (b < 0) != (r < 0)) r += b;
        return (T)r;
    }
    /* Floor of the quotient, from the exact remainder: floor(a / b) would be wrong by one where a / b rounds up to an integer. */
    template <class T> static T floor_divide(T x, T y) {
        typedef typename Wide<T>::type W;
        const W a = x, b = y;
        if (b == 0) return (T)(W)(a / b);
        const W r = std::fmod(a, b);
        W q = (a - r) / b;
        if (r != 0 && (b < 0) != (r < 0)) q -= 1;
        if (q == 0) return (T)std::copysign((W)0, (W)(a / b));
        W whole = std::floor(q);
        if (q - whole > (W)0.5) whole += 1;
        return (T)whole;
    }
    /* Integer powers wrap around; a negative exponent leaves the integers but for the bases 1 and -1. */
    template <class T> static T power(T base, T exponent) {
        typedef typename std::make_unsigned<T>::type U;
        if (exponent < 0) return base == 1 ? (T)1 : base == (T)-1 ? (exponent & 1 ? (T)-1 : (T)1) : (T)0;
        unsigned long long result = 1, square = (unsigned long long)(U)base, e = (unsigned long long)exponent;
        for (; e; e >>= 1) {
            if (e & 1) result *= square;
            square *= square;
        }
        return (T)(U)result;
    }
    /* log(exp(a) + exp(b)) of complex numbers, shifted by the one with the larger real part; equal infinities stay what they are. */
    template <class T> static std::complex<T> logaddexp(std::complex<T> a, std::complex<T> b) {
        typedef std::complex<T> C;
        if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag())) return C(NAN, NAN);
        const C low = a.real() >= b.real() ? b : a, high = a.real() >= b.real() ? a : b;
        if (std::isinf(low.real()) && low.real() == high.real()) {
            if (low.real() < 0) return low;
            return std::log(std::exp(low) + std::exp(high));
        }
        const C e = std::exp(low - high), sum = C(1) + e;
        /* log1p(e): log(1 + x) where e is not small, corrected for the rounding of 1 + e where it is */
        const T tail = std::norm(e) < (T)0.25 ? (T)0.5 * std::log1p(e.real() * (2 + e.real()) + e.imag() * e.imag()) : std::log(std::abs(sum));
        return high + C(tail, std::arg(sum));
    }

    typedef void (*Loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
    #define CG_INTEGERS(f) f(Bool, 0) f(uint8_t, 1) f(int8_t, 2) f(int16_t, 3) f(int32_t, 4) f(int64_t, 5)
    #define CG_FLOATS(f) f(Half, 6) f(float, 7) f(double, 8)
    static inline Loop own_sign(int t) {
        switch (t) {
            #define CG_CASE(T, code) case code: return unary<T, T, sign<T>>;
            CG_FLOATS(CG_CASE)
            #undef CG_CASE
            case 0: return unary<Bool, Bool, identity<Bool>>;
            case 9: return unary<std::complex<float>, std::complex<float>, sgn<float>>;
            case 10: return unary<std::complex<double>, std::complex<double>, sgn<double>>;
        }
        return 0;
    }
    static inline Loop own_signbit(int t) {
        switch (t) {
            #define CG_CASE(T, code) case code: return unary<T, Bool, signbit<T>>;
            CG_INTEGERS(CG_CASE)
            #undef CG_CASE
        }
        return 0;
    }
    #define CG_FLOAT_TEST(name, f)                                              \\
        static inline Loop name(int t) {                                        \\
            return t == 7 ? unary<float, Bool, f<float>> : t == 8 ? unary<double, Bool, f<double>> : nullptr; \\
        }
    CG_FLOAT_TEST(own_isnan, is_nan)
    CG_FLOAT_TEST(own_isinf, is_inf)
    CG_FLOAT_TEST(own_isfinite, is_finite)
    CG_FLOAT_TEST(own_float_signbit, sign_bit)
    static inline Loop own_remainder(int t) {
        switch (t) {
            #define CG_CASE(T, code) case code: return binary<T, remainder<T>>;
            CG_FLOATS(CG_CASE)
            #undef CG_CASE
        }
        return 0;
    }
    static inline Loop own_floor_divide(int t) {
        switch (t) {
            #define CG_CASE(T, code) case code: return binary<T, floor_divide<T>>;
            CG_FLOATS(CG_CASE)
            #undef CG_CASE
        }
        return 0;
    }
    static inline Loop own_power(int t) {
        switch (t) {
            case 1: return binary<uint8_t, power<uint8_t>>;
            case 2: return binary<int8_t, power<int8_t>>;
            case 3: return binary<int16_t, power<int16_t>>;
            case 4: return binary<int32_t, power<int32_t>>;
            case 5: return binary<int64_t, power<int64_t>>;
        }
        return 0;
    }
    static inline Loop own_logaddexp(int t) {
        switch (t) {
            case 9: return binary<std::complex<float>, logaddexp<float>>;
            case 10: return binary<std::complex<double>, logaddexp<double>>;
        }
        return 0;
    }
    }
    """
    InnerLoop own_sign "cygrad_ufuncs::own_sign"(int t) noexcept
    InnerLoop own_signbit "cygrad_ufuncs::own_signbit"(int t) noexcept
    InnerLoop own_isnan "cygrad_ufuncs::own_isnan"(int t) noexcept
    InnerLoop own_isinf "cygrad_ufuncs::own_isinf"(int t) noexcept
    InnerLoop own_isfinite "cygrad_ufuncs::own_isfinite"(int t) noexcept
    InnerLoop own_float_signbit "cygrad_ufuncs::own_float_signbit"(int t) noexcept
    InnerLoop own_remainder "cygrad_ufuncs::own_remainder"(int t) noexcept
    InnerLoop own_floor_divide "cygrad_ufuncs::own_floor_divide"(int t) noexcept
    InnerLoop own_power "cygrad_ufuncs::own_power"(int t) noexcept
    InnerLoop own_logaddexp "cygrad_ufuncs::own_logaddexp"(int t) noexcept

cdef LoopEntry table[N_UFUNCS][11]

# In the order of the enum UFunc: torch's name (for messages), NumPy's name.
cdef list UFUNCS = [
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "true_divide"), ("floor_divide", "floor_divide"), ("remainder", "remainder"),
    ("fmod", "fmod"), ("pow", "power"), ("maximum", "maximum"), ("minimum", "minimum"), ("fmax", "fmax"), ("fmin", "fmin"), ("hypot", "hypot"),
    ("copysign", "copysign"), ("atan2", "arctan2"), ("logaddexp", "logaddexp"), ("eq", "equal"), ("ne", "not_equal"), ("lt", "less"),
    ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("logical_and", "logical_and"), ("logical_or", "logical_or"),
    ("logical_xor", "logical_xor"), ("bitwise_and", "bitwise_and"), ("bitwise_or", "bitwise_or"), ("bitwise_xor", "bitwise_xor"),
    ("lshift", "left_shift"), ("rshift", "right_shift"), ("neg", "negative"), ("abs", "absolute"), ("sign", "sign"), ("reciprocal", "reciprocal"),
    ("square", "square"), ("sqrt", "sqrt"), ("floor", "floor"), ("ceil", "ceil"), ("round", "rint"), ("trunc", "trunc"), ("exp", "exp"),
    ("exp2", "exp2"), ("expm1", "expm1"), ("log", "log"), ("log2", "log2"), ("log10", "log10"), ("log1p", "log1p"), ("sin", "sin"), ("cos", "cos"),
    ("tan", "tan"), ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"),
    ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"), ("conj", "conjugate"), ("isnan", "isnan"), ("isinf", "isinf"),
    ("isfinite", "isfinite"), ("logical_not", "logical_not"), ("bitwise_not", "invert"), ("signbit", "signbit"),
    ("gcd", "gcd"), ("lcm", "lcm")]
cdef const char* NAMES[N_UFUNCS]
cdef list _names_bytes = [name.encode() for name, _ in UFUNCS]     # keeps the memory of NAMES alive


cdef int set_own(int uf, int dtype, InnerLoop inner, int out) except -1:
    if inner != NULL:
        table[uf][dtype].inner = inner
        table[uf][dtype].data = NULL
        table[uf][dtype].out = out
    return 0


cdef int read_loops() except -1:
    cdef PyUFuncObject* u
    cdef int uf, k, t, i, nargs
    cdef int[128] dtype_of
    cdef bint same
    assert len(UFUNCS) == N_UFUNCS
    for i in range(128):
        dtype_of[i] = -1
    for t in range(N_DTYPES):
        dtype_of[NUMPY_TYPE[t]] = t
    memset(table, 0, sizeof(table))
    for uf in range(N_UFUNCS):
        NAMES[uf] = _names_bytes[uf]
        function = getattr(numpy, UFUNCS[uf][1])
        u = <PyUFuncObject*><PyObject*>function
        nargs = u.nin + u.nout
        for k in range(u.ntypes):
            t = dtype_of[<int>u.types[k * nargs]]
            same = t >= 0
            for i in range(1, u.nin):
                same = same and u.types[k * nargs + i] == u.types[k * nargs]
            # NumPy itself takes the first of several loops of one signature
            if not same or table[uf][t].inner != NULL or dtype_of[<int>u.types[k * nargs + u.nin]] < 0:
                continue
            table[uf][t].inner = u.functions[k]
            table[uf][t].data = u.data[k] if u.data != NULL else NULL
            table[uf][t].out = dtype_of[<int>u.types[k * nargs + u.nin]]
    for t in range(N_DTYPES):
        set_own(UF_SIGN, t, own_sign(t), t)
        set_own(UF_SIGNBIT, t, own_signbit(t), BOOL)
        set_own(UF_SIGNBIT, t, own_float_signbit(t), BOOL)
        set_own(UF_ISNAN, t, own_isnan(t), BOOL)
        set_own(UF_ISINF, t, own_isinf(t), BOOL)
        set_own(UF_ISFINITE, t, own_isfinite(t), BOOL)
        set_own(UF_REMAINDER, t, own_remainder(t), t)
        set_own(UF_FLOOR_DIVIDE, t, own_floor_divide(t), t)
        set_own(UF_POW, t, own_power(t), t)
        set_own(UF_LOGADDEXP, t, own_logaddexp(t), t)
        if UINT8 <= t <= INT64:
            table[<int>UF_RINT][t] = table[<int>UF_TRUNC][t]
            table[<int>UF_FLOOR_DIVIDE][t].check = CHECK_DIVISOR
            table[<int>UF_REMAINDER][t].check = CHECK_DIVISOR
            table[<int>UF_FMOD][t].check = CHECK_DIVISOR
        if is_complex_code(t):
            for uf in [UF_MAXIMUM, UF_MINIMUM, UF_FMAX, UF_FMIN, UF_LT, UF_LE, UF_GT, UF_GE, UF_RINT]:
                table[uf][t].inner = NULL
    for uf in [UF_ABS, UF_FLOOR, UF_CEIL, UF_TRUNC]:     # torch refuses bool here
        table[uf][<int>BOOL].inner = NULL
    return 0

read_loops()


cdef LoopEntry* ufunc_loop(int uf, int dtype) noexcept nogil:
    return &table[uf][dtype]


cdef const char* ufunc_name(int uf) noexcept nogil:
    return NAMES[uf]


cdef Array* refuse_dtype(int uf, int dtype) noexcept nogil:
    if uf == UF_NEG and dtype == BOOL:
        fail(ERR_RUNTIME, "neg: Negation, the `-` operator, on a bool tensor is not supported; to invert a mask, use the `~` operator or logical_not()")
        return NULL
    if UF_MAXIMUM <= uf <= UF_FMIN:
        fail_s(ERR_RUNTIME, "%s: not implemented for complex tensors, which have no order; compare their abs() or real parts", NAMES[uf], "", "")
        return NULL
    return fail_dtype(NAMES[uf], dtype)


# --- The four ways in ---------------------------------------------------------------------------------------------------------------------------

cdef inline bint flat_out(Array* out, Array* a, int dtype) noexcept nogil:
    return out.dtype == dtype and out.flags & CONTIGUOUS and same_shape(out, a)


cdef inline bint clear_of(Array* out, Array* a) noexcept nogil:
    return out == a or (out.storage != a.storage and out.storage.owner == NULL)   # foreign storages may share memory


cdef Array* through_call(int uf, LoopEntry* entry, int compute, int dtype, Array* a, Array* b, Array* out) noexcept nogil:
    # Way 3
    cdef Call c
    c.name = NAMES[uf]
    c.inner = entry.inner
    c.data = entry.data
    c.n = 1 if b == NULL else 2
    c.dtypes[0] = c.dtypes[1] = compute
    c.dtypes[c.n] = entry.out
    c.result = dtype
    c.operands[0] = a
    c.operands[1] = b
    return call_run(&c, out)


cdef Array* unary(int uf, Array* a, Array* out) noexcept nogil:
    cdef LoopEntry* entry
    cdef Array* result
    cdef char* args[2]
    cdef Py_ssize_t strides[2]
    if unlikely(a == NULL):
        return NULL
    entry = &table[uf][a.dtype]
    if unlikely(entry.inner == NULL):
        return refuse_dtype(uf, a.dtype)
    if likely(a.flags & CONTIGUOUS and (out == NULL or (flat_out(out, a, entry.out) and clear_of(out, a)))):
        result = array_empty(entry.out, a.ndim, a.shape) if out == NULL else array_incref(out)
        if likely(result != NULL):
            args[0] = a.data
            args[1] = result.data
            strides[0] = ITEMSIZE[a.dtype]
            strides[1] = ITEMSIZE[entry.out]
            inner_run(entry.inner, 2, args, &a.numel, strides, entry.data)
        return result
    return through_call(uf, entry, a.dtype, entry.out, a, NULL, out)


cdef Array* unary_float(int uf, Array* a, Array* out) noexcept nogil:
    cdef LoopEntry* entry
    cdef int t
    if unlikely(a == NULL):
        return NULL
    if likely(a.dtype >= FLOAT16 and not (a.flags & WRAPPED)):
        return unary(uf, a, out)
    t = float_for(result_dtype(a, NULL))
    entry = &table[uf][t]
    if unlikely(entry.inner == NULL):
        return refuse_dtype(uf, t)
    return through_call(uf, entry, t, entry.out, a, NULL, out)


cdef Array* binary(int uf, Array* a, Array* b, Array* out) noexcept nogil:
    cdef LoopEntry* entry
    cdef Array* result
    cdef char* args[3]
    cdef Py_ssize_t strides[3]
    if unlikely(a == NULL or b == NULL):
        return NULL
    if likely(a.dtype == b.dtype and a.flags & b.flags & CONTIGUOUS and not ((a.flags | b.flags) & WRAPPED) and same_shape(a, b)):
        entry = &table[uf][a.dtype]
        if likely(entry.inner != NULL and entry.check == CHECK_NOTHING
                  and (out == NULL or (flat_out(out, a, entry.out) and clear_of(out, a) and clear_of(out, b)))):
            result = array_empty(entry.out, a.ndim, a.shape) if out == NULL else array_incref(out)
            if likely(result != NULL):
                args[0] = a.data
                args[1] = b.data
                args[2] = result.data
                strides[0] = strides[1] = ITEMSIZE[a.dtype]
                strides[2] = ITEMSIZE[entry.out]
                inner_run(entry.inner, 3, args, &a.numel, strides, entry.data)
            return result
    return binary_general(uf, a, b, out, False)


cdef Array* binary_float(int uf, Array* a, Array* b, Array* out) noexcept nogil:
    if unlikely(a == NULL or b == NULL):
        return NULL
    if likely(a.dtype >= FLOAT16 and a.dtype == b.dtype):
        return binary(uf, a, b, out)
    return binary_general(uf, a, b, out, True)


cdef Array* with_number(LoopEntry* entry, Array* a, Array* number, int number_at) noexcept nogil:
    # Way 2: `a` is contiguous and of the loop's dtype; the number is operand number_at.
    cdef double[2] element
    cdef char* args[3]
    cdef Py_ssize_t strides[3]
    cdef Array* result = array_empty(entry.out, a.ndim, a.shape)
    if likely(result != NULL):
        convert_element(number.dtype, number.data, a.dtype, <char*>element)
        args[1 - number_at] = a.data
        args[number_at] = <char*>element
        args[2] = result.data
        strides[1 - number_at] = ITEMSIZE[a.dtype]
        strides[number_at] = 0
        strides[2] = ITEMSIZE[entry.out]
        inner_run(entry.inner, 3, args, &a.numel, strides, entry.data)
    return result


cdef Array* binary_general(int uf, Array* a, Array* b, Array* out, bint as_float) noexcept nogil:
    cdef LoopEntry* entry
    cdef int compute, dtype
    cdef int t = result_dtype(a, b)
    if as_float:
        t = float_for(t)
    if unlikely(uf == UF_SUB and (a.dtype == BOOL or b.dtype == BOOL)):
        fail(ERR_RUNTIME, "sub: Subtraction, the `-` operator, with a bool tensor is not supported; for masks, use the `^` or `~` operators, "
             "logical_xor() or logical_not()")
        return NULL
    entry = &table[uf][t]
    if unlikely(entry.inner == NULL):
        return refuse_dtype(uf, t)
    if entry.check == CHECK_DIVISOR and a.numel != 0 and check_divisor(NAMES[uf], b, t) < 0:
        return NULL
    compute = t
    dtype = entry.out
    if t == FLOAT16 and b.ndim == 0 and (uf == UF_MUL or uf == UF_TRUE_DIVIDE):
        compute = FLOAT32           # a factor or divisor is not rounded to float16 before it is used, as in torch
        entry = &table[uf][<int>FLOAT32]
    elif out == NULL:
        if b.ndim == 0 and a.dtype == t and a.flags & CONTIGUOUS:
            return with_number(entry, a, b, 1)
        if a.ndim == 0 and b.dtype == t and b.flags & CONTIGUOUS:
            return with_number(entry, b, a, 0)
    return through_call(uf, entry, compute, dtype, a, b, out)


cdef int check_divisor(const char* name, Array* b, int dtype) noexcept nogil:
    # torch raises where NumPy answers 0 with a warning
    cdef Array* divisor = cast(b, dtype)
    cdef Array* zeros
    cdef Py_ssize_t i
    cdef bint found = False
    cdef int result = 0
    zeros = unary(UF_LOGICAL_NOT, divisor, NULL)
    if zeros == NULL:
        result = -1
    else:
        for i in range(zeros.numel):        # fresh memory: dense, in whatever order
            found = found or zeros.data[i] != 0
        if found:
            result = fail_s(ERR_RUNTIME, "%s: ZeroDivisionError: an integer is divided by zero; convert to a floating-point dtype for infinities, "
                            "or mask the zeros", name, "", "")
    array_decref(zeros)
    array_decref(divisor)
    return result


# --- By name --------------------------------------------------------------------------------------------------------------------------------------

cdef int kept(Array* result) noexcept nogil:
    array_decref(result)
    return 0 if result != NULL else -1


cdef int add_(Array* target, Array* other) noexcept nogil:
    return kept(binary(UF_ADD, target, other, target))


cdef int sub_(Array* target, Array* other) noexcept nogil:
    return kept(binary(UF_SUB, target, other, target))


cdef int mul_(Array* target, Array* other) noexcept nogil:
    return kept(binary(UF_MUL, target, other, target))


cdef int div_(Array* target, Array* other) noexcept nogil:
    return kept(binary_float(UF_TRUE_DIVIDE, target, other, target))


cdef Array* add(Array* a, Array* b) noexcept nogil:
    return binary(UF_ADD, a, b, NULL)


cdef Array* sub(Array* a, Array* b) noexcept nogil:
    return binary(UF_SUB, a, b, NULL)


cdef Array* mul(Array* a, Array* b) noexcept nogil:
    return binary(UF_MUL, a, b, NULL)


cdef Array* gcd(Array* a, Array* b) noexcept nogil:
    return binary(UF_GCD, a, b, NULL)


cdef Array* lcm(Array* a, Array* b) noexcept nogil:
    return binary(UF_LCM, a, b, NULL)


cdef Array* div(Array* a, Array* b) noexcept nogil:
    return binary_float(UF_TRUE_DIVIDE, a, b, NULL)


cdef Array* neg(Array* a) noexcept nogil:
    return unary(UF_NEG, a, NULL)
