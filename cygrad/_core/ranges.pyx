# arange, linspace, logspace: values by formula, computed in double precision and rounded once.

from cygrad._warnings import warn

from libc.math cimport ceil, isfinite, pow as cpow, trunc
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from cygrad._core.array cimport Array, array_decref, array_empty
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX64, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ITEMSIZE, UINT8, complex_of, default_dtype, dtype_cname, dtype_object, is_complex_code,
    is_integral_code)
from cygrad._core.errors cimport raise_pending
from cygrad._core.from_data cimport scalar_of
from cygrad._core.kernels.half cimport float_to_half
from cygrad._core.sizes cimport check_place, check_requires_grad, dtype_or, finish_out
from cygrad._core.tensor cimport Tensor

__all__ = ["arange", "linspace", "logspace", "range_"]


cdef inline void put(char* at, int code, double v) noexcept nogil:
    # A real value, truncated towards zero for integers.
    if code == FLOAT32:
        (<float*>at)[0] = <float>v
    elif code == FLOAT64:
        (<double*>at)[0] = v
    elif code == INT64:
        (<int64_t*>at)[0] = <int64_t>v
    elif code == INT32:
        (<int32_t*>at)[0] = <int32_t><int64_t>v
    elif code == INT16:
        (<int16_t*>at)[0] = <int16_t><int64_t>v
    elif code == INT8:
        (<int8_t*>at)[0] = <int8_t><int64_t>v
    elif code == UINT8:
        (<uint8_t*>at)[0] = <uint8_t><int64_t>v
    else:
        (<uint16_t*>at)[0] = float_to_half(<float>v)


cdef void ramp(Array* a, double from_, double by, Py_ssize_t origin, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    # Elements start ... stop - 1 become from_ + by * (i - origin).
    cdef int code = a.dtype
    cdef float* single = <float*>a.data
    cdef double* precise = <double*>a.data
    cdef Py_ssize_t i
    if code == FLOAT32:
        for i in range(start, stop):
            single[i] = <float>(from_ + by * <double>(i - origin))
    elif code == FLOAT64:
        for i in range(start, stop):
            precise[i] = from_ + by * <double>(i - origin)
    else:
        for i in range(start, stop):
            put(a.data + i * ITEMSIZE[code], code, from_ + by * <double>(i - origin))


cdef Array* vector(int code, Py_ssize_t n) except NULL:
    cdef Array* a = array_empty(code, 1, &n)
    if a == NULL:
        raise_pending()
    return a


cdef int refuse_dtype(int code, const char* operation) except -1:
    raise NotImplementedError(f"cygrad.{operation.decode()}: \"{operation.decode()}_cpu\" not implemented for '{dtype_cname(code).decode()}'; name another dtype")


def arange(*args: object, start: object = None, end: object = None, step: object = None, out: Tensor | None = None, dtype: object = None,
           layout: object = None, device: object = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The 1-d tensor of ``start + i * step`` for i = 0, 1, ... below ``end``: ``arange(end)``, ``arange(start, end)``, ``arange(start, end, step)``.

    int64 if all of them are integers, else the default dtype. Raises RuntimeError if step is zero or leads away from end, or a bound is not finite.
    """
    cdef list given = list(args)
    cdef int code
    cdef Py_ssize_t n, i
    cdef double first, last, by, count
    cdef int64_t whole_first, whole_by
    cdef Array* a
    if len(given) > 3:
        raise TypeError(f"cygrad.arange() takes 1 to 3 positional arguments but {len(given)} were given")
    if len(given) == 1 and end is None and start is None:
        if step is not None:
            raise TypeError("cygrad.arange(): step needs both start and end")
        end = given[0]
    else:
        for name in ("start", "end", "step")[:len(given)]:
            if (start if name == "start" else end if name == "end" else step) is not None:
                raise TypeError(f"cygrad.arange(): argument '{name}' was given twice")
        if given:
            start = given[0]
        if len(given) > 1:
            end = given[1]
        if len(given) > 2:
            step = given[2]
    if end is None or (step is not None and start is None):
        raise TypeError("cygrad.arange() received an invalid combination of arguments: give end, or start and end, or start, end and step")
    start = scalar_of(0 if start is None else start, "arange", "start")
    end = scalar_of(end, "arange", "end")
    step = scalar_of(1 if step is None else step, "arange", "step")
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("cygrad.arange: value cannot be converted to type double without overflow: bounds and step must be real")
    code = INT64 if isinstance(start, int) and isinstance(end, int) and isinstance(step, int) else default_dtype()
    code = dtype_or(dtype, code if out is None else out.a.dtype, "arange")
    check_place(layout, device, pin_memory, "arange")
    check_requires_grad(code, requires_grad, "arange")
    if code == BOOL or is_complex_code(code):
        refuse_dtype(code, "arange")
    if not (step > 0 or step < 0):
        raise RuntimeError("cygrad.arange: step must be nonzero")
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"cygrad.arange: unsupported range: {start} -> {end}; both bounds must be finite")
    if code == INT64 and not (isinstance(step, float) and not isfinite(step)):
        start = int(start)
        end = int(end)
        step = int(step)
        if step == 0:
            raise ValueError("cygrad.arange: step must be nonzero: as int64 it is 0")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError(f"cygrad.arange: upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")
    if code == INT64 and isinstance(step, int):
        steps = -((start - end) // step)
        if steps > 0x7fffffffffffffff:
            raise RuntimeError("cygrad.arange: invalid size, possible overflow?")
        if not (-0x8000000000000000 <= start <= 0x7fffffffffffffff and -0x8000000000000000 <= step <= 0x7fffffffffffffff and end <= 0x8000000000000000):
            raise ValueError("cygrad.arange: Overflow when unpacking long long: bounds and step must lie within int64")
        n = steps
        whole_first = start
        whole_by = step
        a = vector(code, n)
        for i in range(n):
            (<int64_t*>a.data)[i] = whole_first + i * whole_by
        return finish_out(a, requires_grad, out, "arange")
    first = start
    last = end
    by = step
    count = ceil((last - first) / by)
    if not (0 <= count < 9.2e18):
        raise RuntimeError(f"cygrad.arange: invalid size, possible overflow? {start} -> {end} by {step}")
    n = <Py_ssize_t>count
    if is_integral_code(code):
        first = trunc(first)
        by = trunc(by)
        if by == 0:
            raise ValueError(f"cygrad.arange: step must be nonzero: as {dtype_object(code)} it is 0")
    a = vector(code, n)
    ramp(a, first, by, 0, 0, n)
    return finish_out(a, requires_grad, out, "arange")


def range_(start: object = 0, end: object = None, step: object = 1, *, out: Tensor | None = None, dtype: object = None, layout: object = None,
           device: object = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The 1-d tensor of ``start + i * step`` up to and including ``end``. Deprecated, as in torch: use ``arange``."""
    cdef double first, by, count
    cdef Py_ssize_t n
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "range")
    cdef Array* a
    if end is None:
        start, end = 0, start
    warn("cygrad.range is deprecated, as its counterpart in torch is: it includes end, unlike Python's range. Use cygrad.arange.", UserWarning)
    first = scalar_of(start, "range", "start")
    by = scalar_of(step, "range", "step")
    count = scalar_of(end, "range", "end")
    check_place(layout, device, pin_memory, "range")
    check_requires_grad(code, requires_grad, "range")
    if code == BOOL or is_complex_code(code):
        refuse_dtype(code, "range")
    if by == 0:
        raise RuntimeError("cygrad.range: step must be nonzero")
    if not (isfinite(first) and isfinite(count) and isfinite(by)):
        raise RuntimeError(f"cygrad.range: unsupported range: {start} -> {end}")
    if (count - first) * by < 0:
        raise RuntimeError("cygrad.range: upper bound and lower bound inconsistent with step sign")
    count = (count - first) / by + 1
    if count > 9.2e18:
        raise RuntimeError("cygrad.range: invalid size, possible overflow?")
    n = <Py_ssize_t>count
    a = vector(code, n)
    ramp(a, first, by, 0, 0, n)
    return finish_out(a, requires_grad, out, "range")


cdef object bound_of(object x, const char* operation, const char* argument):
    if isinstance(x, Tensor) and (<Tensor>x).a.ndim > 0:
        raise RuntimeError(f"cygrad.{operation.decode()} only supports 0-dimensional start and end tensors, but got {argument.decode()} with {(<Tensor>x).a.ndim} dimension(s).")
    return x.item() if isinstance(x, Tensor) else scalar_of(x, operation, argument)


cdef int spaced_code(object start, object end, object steps, object dtype, object requires_grad, const char* operation) except -1:
    cdef bint complex_bounds = isinstance(start, complex) or isinstance(end, complex)
    cdef int inferred = complex_of(default_dtype()) if complex_bounds else default_dtype()
    cdef int code = dtype_or(dtype, inferred, operation)
    if isinstance(steps, (bool, float)) or not hasattr(type(steps), "__index__"):
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"cygrad.{operation.decode()}: number of steps must be non-negative, got {steps}")
    if complex_bounds and not is_complex_code(code):
        raise RuntimeError(f"cygrad.{operation.decode()}(): inferred dtype {dtype_object(inferred)} can't be safely cast to passed dtype {dtype_object(code)}")
    if code == BOOL:
        refuse_dtype(code, operation)
    check_requires_grad(code, requires_grad, operation)
    return code


cdef inline double spaced(double first, double last, double by, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    # From both ends to the middle, so that both ends are exact.
    return first + by * i if i < n // 2 else last - by * (n - 1 - i)


def linspace(start: object, end: object, steps: object, *, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
             pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, with equal differences (complex bounds: along the line between them).

    Raises RuntimeError for negative ``steps`` and for complex bounds with a real dtype.
    """
    cdef object low = bound_of(start, "linspace", "start"), high = bound_of(end, "linspace", "end")
    cdef int code = spaced_code(low, high, steps, dtype if out is None or dtype is not None else out.dtype, requires_grad, "linspace")
    cdef Py_ssize_t n = steps, i
    cdef double first, last, by, first_im = 0, last_im = 0, by_im
    cdef int half = FLOAT32 if code == COMPLEX64 else FLOAT64
    cdef Array* a
    check_place(layout, device, pin_memory, "linspace")
    first = low.real
    last = high.real
    if is_complex_code(code):
        first_im = low.imag
        last_im = high.imag
    elif is_integral_code(code):
        first = trunc(first)
        last = trunc(last)
    a = vector(code, n)
    by = (last - first) / (n - 1) if n > 1 else 0
    by_im = (last_im - first_im) / (n - 1) if n > 1 else 0
    if n == 1:
        last = first
        last_im = first_im
    if is_complex_code(code):
        for i in range(n):
            put(a.data + i * ITEMSIZE[code], half, spaced(first, last, by, i, n))
            put(a.data + i * ITEMSIZE[code] + ITEMSIZE[half], half, spaced(first_im, last_im, by_im, i, n))
    else:
        # from both ends to the middle, as spaced() says
        ramp(a, first, by, 0, 0, n // 2)
        ramp(a, last, by, n - 1, n // 2, n)
    return finish_out(a, requires_grad, out, "linspace")


def logspace(start: object, end: object, steps: object, base: object = 10.0, *, out: Tensor | None = None, dtype: object = None, layout: object = None,
             device: object = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """``base`` to the power of each number of ``linspace(start, end, steps)``.

    Raises RuntimeError for negative ``steps`` and for complex bounds with a real dtype.
    """
    cdef object low = bound_of(start, "logspace", "start"), high = bound_of(end, "logspace", "end")
    cdef int code = spaced_code(low, high, steps, dtype if out is None or dtype is not None else out.dtype, requires_grad, "logspace")
    cdef Py_ssize_t n = steps, i
    cdef double first, last, by, first_im = 0, last_im = 0, by_im, foundation = scalar_of(base, "logspace", "base")
    cdef int half = FLOAT32 if code == COMPLEX64 else FLOAT64
    cdef Array* a
    check_place(layout, device, pin_memory, "logspace")
    first = low.real
    last = high.real
    if is_complex_code(code):
        first_im = low.imag
        last_im = high.imag
    a = vector(code, n)
    by = (last - first) / (n - 1) if n > 1 else 0
    by_im = (last_im - first_im) / (n - 1) if n > 1 else 0
    if n == 1:
        last = first
        last_im = first_im
    for i in range(n):
        if is_complex_code(code):
            try:
                value = complex(foundation) ** complex(spaced(first, last, by, i, n), spaced(first_im, last_im, by_im, i, n))
            except:
                array_decref(a)
                raise
            put(a.data + i * ITEMSIZE[code], half, value.real)
            put(a.data + i * ITEMSIZE[code] + ITEMSIZE[half], half, value.imag)
        else:
            put(a.data + i * ITEMSIZE[code], code, cpow(foundation, spaced(first, last, by, i, n)))
    return finish_out(a, requires_grad, out, "logspace")
