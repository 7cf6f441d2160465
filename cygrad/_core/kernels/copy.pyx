# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# Copies and casts between all dtypes, as strided loops. Contract: copy.pxd.
#
# Why not NumPy's casts: they are reached through Python objects and need the GIL. Conversions follow torch: complex to real keeps the real part,
# everything but zero is True, floats become integers by truncation. Where C++ leaves a conversion undefined (NaN, out of range) the result is that
# of the x86 instruction, on every machine.

from libc.stdint cimport int64_t, INT64_MIN
from libc.string cimport memcpy, memmove, memset
from cygrad._core.array cimport Array, array_empty, array_empty_like, array_incref, array_decref, array_view, same_shape, CONTIGUOUS
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, UINT8, INT64, FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, is_complex_code, is_integral_code
from cygrad._core.errors cimport fail_i, fail_s, ERR_RUNTIME
from cygrad._core.kernels.iterate cimport Loop, InnerLoop, loop_init, loop_add, loop_ready, loop_run
from cygrad._core.kernels.parallel cimport inner_run, loop_run_split
from cygrad._core.kernels cimport half      # its C++ types, for the templates

cdef extern from * nogil:
    """
    #include <complex>
    #include <limits>
    #include <type_traits>
    /* For processors with and without AVX2, as in loops.hpp. */
    #if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    #define CG_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define CG_CLONES
    #endif
    namespace cygrad_copy {
    using cygrad::Half;
    using cygrad::Bool;
    typedef std::complex<float> C64;
    typedef std::complex<double> C128;

    template <class T> struct is_complex : std::false_type {};
    template <class T> struct is_complex<std::complex<T>> : std::true_type {};

    /* Truncation of a float: through int32 for the narrow integers (as the hardware does), the smallest integer where that has no value. */
    template <class T, class F> static inline T truncate(F x) {
        typedef typename std::conditional<sizeof(T) < 4 && !std::is_same<T, uint8_t>::value, int32_t,
                                          typename std::conditional<std::is_same<T, int32_t>::value, int32_t, int64_t>::type>::type Wide;
        const F top = (F)std::numeric_limits<Wide>::max(), bottom = (F)std::numeric_limits<Wide>::min();
        const bool fits = sizeof(Wide) == 4 && sizeof(F) == 8 ? (x > bottom - 1 && x < top + 1) : (x >= bottom && x < -bottom);
        return (T)(fits ? (Wide)x : std::numeric_limits<Wide>::min());
    }

    template <class S, class T> static inline T convert(S s) {
        if constexpr (std::is_same<S, T>::value) return s;
        else if constexpr (is_complex<S>::value) {
            if constexpr (is_complex<T>::value) return T((typename T::value_type)s.real(), (typename T::value_type)s.imag());
            else if constexpr (std::is_same<T, Bool>::value) return Bool(s.real() != 0 || s.imag() != 0);
            else return convert<typename S::value_type, T>(s.real());
        }
        else if constexpr (is_complex<T>::value) return T(convert<S, typename T::value_type>(s), 0);
        else if constexpr (std::is_same<S, Half>::value) return convert<float, T>((float)s);
        else if constexpr (std::is_same<S, Bool>::value) {
            if constexpr (std::is_same<T, Half>::value) return Half((float)(bool)s);
            else return (T)(bool)s;
        }
        else if constexpr (std::is_same<S, bool>::value) return convert<Bool, T>(Bool(s));
        else if constexpr (std::is_same<T, Half>::value) return Half((float)s);
        else if constexpr (std::is_same<T, Bool>::value) return Bool(s != 0);
        else if constexpr (std::is_floating_point<S>::value && std::is_integral<T>::value) return truncate<T, S>(s);
        else return (T)s;
    }

    /* By the member: a loop that copies the structs of half.pxd does not vectorise. */
    template <class T> static inline void store(T &to, T x) { to = x; }
    static inline void store(Half &to, Half x) { to.bits = x.bits; }
    static inline void store(Bool &to, Bool x) { to.byte = x.byte; }
    template <class S> static inline S load(const S &x) { return x; }
    static inline float load(const Half &x) { return cg_half_to_float(x.bits); }
    static inline bool load(const Bool &x) { return x.byte != 0; }

    template <class S, class T> CG_CLONES static void cast(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *) {
        const Py_ssize_t n = *count, ss = strides[0], ts = strides[1];
        char *__restrict from = args[0], *__restrict to = args[1];
        if (ss == (Py_ssize_t)sizeof(S) && ts == (Py_ssize_t)sizeof(T)) {
            const S *__restrict s = (const S *)from;
            T *__restrict t = (T *)to;
            for (Py_ssize_t i = 0; i < n; i++) store(t[i], convert<decltype(load(s[i])), T>(load(s[i])));
        } else {
            for (Py_ssize_t i = 0; i < n; i++) *(T *)(to + i * ts) = convert<S, T>(*(const S *)(from + i * ss));
        }
    }

    /* The same dtype: only the size matters. */
    struct Pair { uint64_t a, b; };
    template <class T> static void copy(char **args, const Py_ssize_t *count, const Py_ssize_t *strides, void *) {
        const Py_ssize_t n = *count, ss = strides[0], ts = strides[1];
        const char *from = args[0];
        char *to = args[1];
        if (ts == (Py_ssize_t)sizeof(T) && ss == (Py_ssize_t)sizeof(T)) memcpy(to, from, n * sizeof(T));
        else if (ts == (Py_ssize_t)sizeof(T) && ss == 0) {
            const T v = *(const T *)from;
            for (Py_ssize_t i = 0; i < n; i++) ((T *)to)[i] = v;
        } else if (ts == (Py_ssize_t)sizeof(T)) {
            for (Py_ssize_t i = 0; i < n; i++) ((T *)to)[i] = *(const T *)(from + i * ss);
        } else {
            for (Py_ssize_t i = 0; i < n; i++) *(T *)(to + i * ts) = *(const T *)(from + i * ss);
        }
    }

    /* A transposing copy of `rows` lines of the target: in tiles, so that the lines of cache read for one row serve the next ones too. */
    template <class T> static void transpose(const char *from, Py_ssize_t from_row, Py_ssize_t from_column, char *to, Py_ssize_t to_row, Py_ssize_t rows, Py_ssize_t columns) {
        const Py_ssize_t tile = 16;
        for (Py_ssize_t r0 = 0; r0 < rows; r0 += tile) {
            const Py_ssize_t r1 = r0 + tile < rows ? r0 + tile : rows;
            for (Py_ssize_t c0 = 0; c0 < columns; c0 += tile) {
                const Py_ssize_t c1 = c0 + tile < columns ? c0 + tile : columns;
                for (Py_ssize_t r = r0; r < r1; r++) {
                    const char *s = from + r * from_row;
                    T *t = (T *)(to + r * to_row);
                    for (Py_ssize_t c = c0; c < c1; c++) t[c] = *(const T *)(s + c * from_column);
                }
            }
        }
    }
    static inline void transpose_sized(int size, const char *from, Py_ssize_t fr, Py_ssize_t fc, char *to, Py_ssize_t tr, Py_ssize_t rows, Py_ssize_t columns) {
        switch (size) {
            case 1: transpose<uint8_t>(from, fr, fc, to, tr, rows, columns); break;
            case 2: transpose<uint16_t>(from, fr, fc, to, tr, rows, columns); break;
            case 4: transpose<uint32_t>(from, fr, fc, to, tr, rows, columns); break;
            case 8: transpose<uint64_t>(from, fr, fc, to, tr, rows, columns); break;
            default: transpose<Pair>(from, fr, fc, to, tr, rows, columns); break;
        }
    }

    typedef void (*Loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
    #define CG_TARGETS(S) {cast<S, Bool>, cast<S, uint8_t>, cast<S, int8_t>, cast<S, int16_t>, cast<S, int32_t>, cast<S, int64_t>, \\
                           cast<S, Half>, cast<S, float>, cast<S, double>, cast<S, C64>, cast<S, C128>}
    static const Loop casts[11][11] = {CG_TARGETS(Bool), CG_TARGETS(uint8_t), CG_TARGETS(int8_t), CG_TARGETS(int16_t), CG_TARGETS(int32_t), CG_TARGETS(int64_t),
                                       CG_TARGETS(Half), CG_TARGETS(float), CG_TARGETS(double), CG_TARGETS(C64), CG_TARGETS(C128)};
    #undef CG_TARGETS
    static inline Loop copy_of_size(int size) {
        switch (size) {
            case 1: return copy<uint8_t>;
            case 2: return copy<uint16_t>;
            case 4: return copy<uint32_t>;
            case 8: return copy<uint64_t>;
            default: return copy<Pair>;
        }
    }
    }
    #define cg_cast_table(s, t) (cygrad_copy::casts[s][t])
    """
    InnerLoop cast_table "cg_cast_table"(int source, int target) noexcept
    InnerLoop copy_of_size "cygrad_copy::copy_of_size"(int size) noexcept
    void transpose_sized "cygrad_copy::transpose_sized"(int size, const char* source, Py_ssize_t source_row, Py_ssize_t source_column,
                                                        char* target, Py_ssize_t target_row, Py_ssize_t rows, Py_ssize_t columns) noexcept

cdef const char* VALUE_NAMES[11]
VALUE_NAMES[:] = ["bool", "uint8_t", "int8_t", "int16_t", "int", "int64_t", "Half", "float", "double", "complex<float>", "complex<double>"]

# The range of values that fit each dtype: integers as int64 bounds, floats as doubles.
cdef int64_t[6] LOWEST
cdef int64_t[6] HIGHEST
LOWEST[:] = [0, 0, -128, -32768, -2147483648, INT64_MIN]
HIGHEST[:] = [1, 255, 127, 32767, 2147483647, 9223372036854775807]
cdef double[3] HIGHEST_FLOAT
HIGHEST_FLOAT[:] = [65504.0, 3.4028234663852886e38, 1.7976931348623157e308]


cdef InnerLoop cast_loop(int source, int target) noexcept nogil:
    if source == target:
        return copy_of_size(ITEMSIZE[source])
    return cast_table(source, target)


cdef void convert_element(int source, char* from_, int target, char* to) noexcept nogil:
    cdef char* args[2]
    cdef Py_ssize_t strides[2]
    cdef Py_ssize_t one = 1
    # the pairs of nearly every number in a program
    if source == FLOAT64 and target == FLOAT32:
        (<float*>to)[0] = <float>(<double*>from_)[0]
    elif source == target:
        memcpy(to, from_, ITEMSIZE[source])
    elif source == INT64 and target == FLOAT32:
        (<float*>to)[0] = <float>(<int64_t*>from_)[0]
    elif source == INT64 and target == FLOAT64:
        (<double*>to)[0] = <double>(<int64_t*>from_)[0]
    else:
        args[0] = from_
        args[1] = to
        strides[0] = strides[1] = 0
        cast_table(source, target)(args, &one, strides, NULL)


cdef inline void span(Array* a, char** low, char** high) noexcept nogil:
    cdef int i
    low[0] = a.data
    high[0] = a.data + ITEMSIZE[a.dtype]
    for i in range(a.ndim):
        if a.strides[i] > 0:
            high[0] += (a.shape[i] - 1) * a.strides[i]
        else:
            low[0] += (a.shape[i] - 1) * a.strides[i]


cdef bint memory_overlaps(Array* a, Array* b) noexcept nogil:
    cdef char* low_a
    cdef char* high_a
    cdef char* low_b
    cdef char* high_b
    if a.numel == 0 or b.numel == 0:
        return False
    span(a, &low_a, &high_a)
    span(b, &low_b, &high_b)
    return low_a < high_b and low_b < high_a


cdef void copy_loop(Array* target, Array* source) noexcept nogil:
    # source broadcasts to target, no overlap
    cdef Loop it
    cdef int d, inner, size
    cdef Py_ssize_t index
    cdef char* from_
    cdef char* to
    loop_init(&it, target.ndim, target.shape)
    loop_add(&it, target)          # first: the order of the loop is the target's
    loop_add(&it, source)
    loop_ready(&it)
    if source.dtype == target.dtype and 2 <= it.ndim <= 3 and it.shape[it.ndim - 1] >= 8:
        size = ITEMSIZE[source.dtype]
        inner = it.ndim - 1
        d = inner - 1
        if it.strides[0][inner] == size and it.strides[1][inner] != size and it.strides[1][inner] != 0 and it.strides[1][d] == size:
            for index in range(it.shape[0] if it.ndim == 3 else 1):
                to = it.data[0] + (index * it.strides[0][0] if it.ndim == 3 else 0)
                from_ = it.data[1] + (index * it.strides[1][0] if it.ndim == 3 else 0)
                transpose_sized(size, from_, it.strides[1][d], it.strides[1][inner], to, it.strides[0][d], it.shape[d], it.shape[inner])
            return
    # the loops of casts read args[0] and write args[1]
    it.data[0], it.data[1] = it.data[1], it.data[0]
    for d in range(it.ndim):
        it.strides[0][d], it.strides[1][d] = it.strides[1][d], it.strides[0][d]
    if target.flags & CONTIGUOUS:
        loop_run_split(&it, cast_loop(source.dtype, target.dtype), NULL)
    else:
        loop_run(&it, cast_loop(source.dtype, target.dtype), NULL)


cdef int copy_into(Array* target, Array* source) noexcept nogil:
    cdef char* args[2]
    cdef Py_ssize_t strides[2]
    cdef Array* apart
    cdef int i, lead
    cdef bint fits
    if target == NULL or source == NULL:
        return -1
    if target.flags & source.flags & CONTIGUOUS and same_shape(target, source):
        if target.dtype == source.dtype:
            memmove(target.data, source.data, target.numel * ITEMSIZE[target.dtype])
            return 0
        if not memory_overlaps(target, source):
            args[0] = source.data
            args[1] = target.data
            strides[0] = ITEMSIZE[source.dtype]
            strides[1] = ITEMSIZE[target.dtype]
            inner_run(cast_table(source.dtype, target.dtype), 2, args, &target.numel, strides, NULL)
            return 0
    lead = target.ndim - source.ndim
    fits = True
    for i in range(source.ndim):
        if lead + i < 0:
            fits = fits and source.shape[i] == 1
        elif source.shape[i] != 1 and source.shape[i] != target.shape[lead + i]:
            fits = False
    if not fits:
        return fail_broadcast(target, source)
    if lead < 0:                    # leading dims of 1 that the target lacks
        apart = array_without_lead(source, -lead)
        if apart == NULL:
            return -1
        i = copy_into(target, apart)
        array_decref(apart)
        return i
    if memory_overlaps(target, source):
        apart = clone(source)
        if apart == NULL:
            return -1
        copy_loop(target, apart)
        array_decref(apart)
        return 0
    copy_loop(target, source)
    return 0


cdef Array* array_without_lead(Array* a, int lead) noexcept nogil:
    return array_view(a, a.dtype, a.data, a.ndim - lead, a.shape + lead, a.strides + lead)


cdef int fail_broadcast(Array* target, Array* source) noexcept nogil:
    cdef int i, lead = target.ndim - source.ndim
    if lead < 0:
        return fail_i(ERR_RUNTIME, "copy: a tensor of %ld dimensions cannot be written into one of %ld dimensions (output with fewer dimensions "
                      "doesn't match the broadcast shape); squeeze or index it first", source.ndim, target.ndim, 0)
    for i in range(source.ndim):
        if source.shape[i] != 1 and source.shape[i] != target.shape[lead + i]:
            return fail_i(ERR_RUNTIME, "copy: The size of the target (%ld) must match the size of the source (%ld) at non-singleton dimension %ld; "
                          "the source must broadcast to the target's shape", target.shape[lead + i], source.shape[i], lead + i)
    return -1


cdef int check_value(Array* value, int dtype) noexcept nogil:
    cdef double[2] z
    cdef int64_t v
    cdef bint fits = True
    if dtype == BOOL:
        return 0
    if is_integral_code(value.dtype):
        convert_element(value.dtype, value.data, INT64, <char*>&v)
        if is_integral_code(dtype):
            # a negative number may stand for its two's complement in an unsigned dtype
            fits = v <= HIGHEST[dtype] and (v >= LOWEST[dtype] or (dtype == UINT8 and v >= -255))
        elif dtype == FLOAT16:
            fits = -65504 <= v <= 65504
    else:
        convert_element(value.dtype, value.data, COMPLEX128, <char*>z)
        if not is_complex_code(dtype) and z[1] != 0:
            fits = False
        elif is_integral_code(dtype):
            if dtype == INT64:
                fits = -9223372036854775808.0 <= z[0] < 9223372036854775808.0
            else:
                fits = LOWEST[dtype] <= z[0] <= HIGHEST[dtype]
        else:
            fits = fits_float(z[0], dtype) and fits_float(z[1], dtype)
    if not fits:
        return fail_s(ERR_RUNTIME, "value cannot be converted to type %s without overflow: the number is out of the range of the tensor's dtype; "
                      "convert the tensor to a wider dtype first", VALUE_NAMES[dtype], "", "")
    return 0


cdef inline bint fits_float(double x, int dtype) noexcept nogil:
    cdef double top
    if x - x != 0:                  # infinities and NaN have their counterparts
        return True
    top = HIGHEST_FLOAT[dtype - COMPLEX64 + 1 if dtype >= COMPLEX64 else dtype - FLOAT16]
    return -top <= x <= top


cdef int fill(Array* target, Array* value) noexcept nogil:
    cdef double[2] element
    cdef char* args[2]
    cdef Py_ssize_t strides[2]
    cdef Loop it
    if target == NULL or value == NULL:
        return -1
    if target.dtype != FLOAT16 and check_value(value, target.dtype) < 0:       # float16 takes infinity, as in torch
        return -1
    convert_element(value.dtype, value.data, target.dtype, <char*>element)
    args[0] = <char*>element
    strides[0] = 0
    if target.flags & CONTIGUOUS:
        args[1] = target.data
        strides[1] = ITEMSIZE[target.dtype]
        copy_of_size(ITEMSIZE[target.dtype])(args, &target.numel, strides, NULL)
        return 0
    loop_init(&it, target.ndim, target.shape)
    it.data[0] = args[0]
    memset(it.strides[0], 0, target.ndim * sizeof(Py_ssize_t))
    it.nops = 1
    loop_add(&it, target)
    loop_ready(&it)
    loop_run(&it, copy_of_size(ITEMSIZE[target.dtype]), NULL)
    return 0


cdef Array* cast(Array* a, int dtype) noexcept nogil:
    cdef Array* result
    if a == NULL:
        return NULL
    if a.dtype == dtype:
        return array_incref(a)
    result = array_empty_like(a, dtype)
    if result != NULL and copy_into(result, a) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* contiguous(Array* a) noexcept nogil:
    cdef Array* result
    if a == NULL:
        return NULL
    if a.flags & CONTIGUOUS:
        return array_incref(a)
    result = array_empty(a.dtype, a.ndim, a.shape)
    if result != NULL:
        copy_loop(result, a)
    return result


cdef Array* clone(Array* a) noexcept nogil:
    cdef Array* result = array_empty_like(a, a.dtype) if a != NULL else NULL
    if result != NULL:
        if a.flags & result.flags & CONTIGUOUS:
            memcpy(result.data, a.data, a.numel * ITEMSIZE[a.dtype])
        else:
            copy_loop(result, a)
    return result
