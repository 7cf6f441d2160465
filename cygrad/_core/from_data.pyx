# Numbers and nested sequences to Arrays. Contract: from_data.pxd.
#
# Two walks, as the dtype must be known before memory is taken: infer_code visits every element, then fill_level stores them. Both have loops over
# plain lists and tuples of exact floats and ints, which is what programs pass. Between the walks, and while elements of odd types are converted, user
# code may run: the second walk checks every length again and never trusts the first.

cimport numpy as cnp
from cpython.bool cimport PyBool_Check
from cpython.object cimport PyObject, PyObject_IsTrue
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble
from cpython.sequence cimport PySequence_Check
from libc.math cimport fabs, isnan, trunc
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from cygrad._core.array cimport (
    Array, MAX_DIMS, array_decref, array_empty, array_from_storage, array_incref, array_view, same_shape)
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ITEMSIZE, UINT8, complex_of, default_dtype, dtype_object,
    is_complex_code, is_integral_code, promote)
from cygrad._core.errors cimport raise_pending
from cygrad._core.kernels.copy cimport cast, clone, copy_into
from cygrad._core.kernels.half cimport float_to_half
from cygrad._core.ndarray cimport array_from_ndarray, array_from_numpy_scalar, code_of_descr
from cygrad._core.tensor cimport Tensor

cnp.import_array()

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef double LIMITS[6]                      # largest magnitude of the integer dtypes, by code
LIMITS[:] = [1.0, 255.0, 127.0, 32767.0, 2147483647.0, 9223372036854775807.0]


cdef int number_code(object x) except -2:
    cdef object kind = type(x)
    if kind is float:
        return default_dtype()
    if kind is int:
        return INT64
    if kind is bool:
        return BOOL
    if cnp.PyArray_CheckScalar(x):
        return code_of_descr(cnp.PyArray_DescrFromScalar(x), "tensor")
    if isinstance(x, float):
        return default_dtype()
    if isinstance(x, int):
        return INT64
    if isinstance(x, complex):
        return complex_of(default_dtype())
    return -1


cdef int refuse_range(int code) except -1:
    raise RuntimeError(f"cygrad: value cannot be converted to type {dtype_object(code).name} without overflow; use a wider dtype")


cdef int64_t integer_value(object x, int code) except? -1:
    cdef int overflow = 0
    cdef long long v
    cdef double d
    if isinstance(x, float):
        d = trunc(PyFloat_AS_DOUBLE(x))
        # 2**63 itself rounds to the same double as the largest int64
        if isnan(d) or fabs(d) > LIMITS[code] + (0 if code == UINT8 else 1) or d == LIMITS[<int>INT64]:
            refuse_range(code)
        v = <long long>d
    else:
        v = PyLong_AsLongLongAndOverflow(x, &overflow)
        if overflow:
            raise ValueError("cygrad: Overflow when unpacking long long: an int lies outside of the range of int64; name a floating-point dtype to keep it roughly")
    return v


cdef int store_number(char* at, int code, object x) except -1:
    cdef double d = 0, im = 0
    cdef int64_t v
    cdef object value
    if cnp.PyArray_CheckScalar(x):
        x = x.item()
    if code == BOOL:
        (<uint8_t*>at)[0] = PyObject_IsTrue(x)
        return 0
    if is_complex_code(code):
        value = complex(x)
        d = value.real
        im = value.imag
        if code == COMPLEX64:
            (<float*>at)[0] = <float>d
            (<float*>at)[1] = <float>im
        else:
            (<double*>at)[0] = d
            (<double*>at)[1] = im
        return 0
    if isinstance(x, complex):
        if is_integral_code(code):
            raise TypeError(f"'complex' object cannot be interpreted as an integer: cygrad cannot store it as {dtype_object(code)}")
        raise TypeError(f"must be real number, not complex: cygrad cannot store it as {dtype_object(code)}; take .real, or name a complex dtype")
    if is_integral_code(code):
        v = integer_value(x, code)
        # as torch, uint8 takes -255 ... 255, the negative ones modulo 256
        if code == INT64:
            (<int64_t*>at)[0] = v
        elif code == INT32:
            if v != <int32_t>v:
                refuse_range(code)
            (<int32_t*>at)[0] = <int32_t>v
        elif code == INT16:
            if v != <int16_t>v:
                refuse_range(code)
            (<int16_t*>at)[0] = <int16_t>v
        elif code == INT8:
            if v != <int8_t>v:
                refuse_range(code)
            (<int8_t*>at)[0] = <int8_t>v
        else:
            if v < -255 or v > 255:
                refuse_range(code)
            (<uint8_t*>at)[0] = <uint8_t>(v & 255)
        return 0
    d = PyFloat_AsDouble(x)
    if d == -1.0 and isinstance(x, int):
        d = float(x)                        # raises the OverflowError of a huge int
    if code == FLOAT64:
        (<double*>at)[0] = d
    elif code == FLOAT32:
        (<float*>at)[0] = <float>d
    else:
        (<uint16_t*>at)[0] = float_to_half(<float>d)
    return 0


cdef object scalar_of(object x, const char* operation, const char* argument):
    cdef object kind = type(x)
    if kind is float or kind is int:
        return x
    if isinstance(x, (int, float, complex)):
        return x.item() if cnp.PyArray_CheckScalar(x) else x
    if cnp.PyArray_CheckScalar(x):
        value = x.item()
        if isinstance(value, (int, float, complex)):
            return value
    elif isinstance(x, Tensor) and (<Tensor>x).a.ndim == 0 and not (<Tensor>x).requires_grad_:
        return x.item()
    raise TypeError(f"cygrad.{operation.decode()}(): argument '{argument.decode()}' must be Number, not {kind.__name__}")


cdef bint is_sequence(object x):
    return isinstance(x, (list, tuple)) or (PySequence_Check(x) and not isinstance(x, (str, bytes, Tensor)))


cdef object as_list(object x):
    return x if isinstance(x, (list, tuple)) else list(x)


cdef int measure(object data, Py_ssize_t* sizes) except -1:
    # torch's rule: the first elements say how many dimensions there are, and how long each is. Returns the number of dimensions.
    cdef int ndim = 0, i
    cdef Py_ssize_t n
    cdef Array* a
    while True:
        if cnp.PyArray_Check(data):
            for i in range(cnp.PyArray_NDIM(<cnp.ndarray>data)):
                if ndim >= MAX_DIMS:
                    raise ValueError(f"cygrad.tensor: too many dimensions 'ndarray': at most {MAX_DIMS}")
                sizes[ndim] = cnp.PyArray_DIM(<cnp.ndarray>data, i)
                ndim += 1
            return ndim
        if not is_sequence(data):
            return ndim
        if ndim >= MAX_DIMS:
            raise ValueError(f"cygrad.tensor: too many dimensions '{type(data).__name__}': at most {MAX_DIMS}")
        n = len(data)
        sizes[ndim] = n
        ndim += 1
        if n == 0:
            return ndim
        data = data[0]


cdef int infer_code(object data, int code, int depth) except -2:
    # The dtype that holds `code` (-1: nothing yet) and everything in data.
    cdef int found
    cdef object x, kind
    if is_sequence(data) and not cnp.PyArray_Check(data):
        if depth >= MAX_DIMS:
            raise ValueError(f"cygrad.tensor: too many dimensions '{type(data).__name__}': at most {MAX_DIMS}")
        data = as_list(data)
        found = default_dtype()
        if not data:
            return found if code < 0 else promote(code, found)
        for x in data:
            kind = type(x)
            if kind is float:
                code = found if code < 0 or code <= FLOAT16 else promote(code, found)
            elif kind is int:
                code = INT64 if code < INT64 else code
            else:
                code = infer_code(x, code, depth + 1)
        return code
    if isinstance(data, Tensor):
        found = (<Tensor>data).a.dtype
    elif cnp.PyArray_Check(data):
        found = code_of_descr((<cnp.ndarray>data).descr, "tensor")
    else:
        found = number_code(data)
    if found < 0:
        if isinstance(data, (str, bytes)):
            if depth == 0:
                raise TypeError(f"new(): invalid data type '{type(data).__name__}': cygrad.tensor takes numbers and nested sequences of numbers")
            raise ValueError(f"too many dimensions '{type(data).__name__}': cygrad.tensor takes numbers and nested sequences of numbers")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}: cygrad.tensor takes numbers, tensors, ndarrays and nested sequences of them")
    return found if code < 0 else promote(code, found)


cdef int store_leaf(char* at, int code, object x) except -1:
    cdef Array* a
    cdef Array* target
    if isinstance(x, Tensor) or cnp.PyArray_Check(x):
        a = array_incref((<Tensor>x).a) if isinstance(x, Tensor) else array_from_ndarray(x, "tensor")
        if a.numel != 1:
            array_decref(a)
            raise ValueError("cygrad.tensor: only one element tensors can be converted to Python scalars; join tensors with cygrad.stack")
        try:
            x = x.item()
        finally:
            array_decref(a)
    elif is_sequence(x):
        if is_integral_code(code):
            raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as an integer: cygrad.tensor found a sequence beside numbers")
        raise TypeError(f"must be real number, not {type(x).__name__}: cygrad.tensor found a sequence beside numbers")
    elif not isinstance(x, (int, float, complex)) and not cnp.PyArray_CheckScalar(x):
        raise TypeError(f"cygrad.tensor: must be a number, not {type(x).__name__}")
    return store_number(at, code, x)


cdef int fill_level(Array* whole, char* at, int dim, object data) except -1:
    cdef Py_ssize_t n = whole.shape[dim], stride = whole.strides[dim], i
    cdef int code = whole.dtype
    cdef bint last = dim == whole.ndim - 1
    cdef Array* part
    cdef Array* into
    cdef object x
    if cnp.PyArray_Check(data) or isinstance(data, Tensor):
        part = array_incref((<Tensor>data).a) if isinstance(data, Tensor) else array_from_ndarray(data, "tensor")
        into = array_view(whole, code, at, whole.ndim - dim, whole.shape + dim, whole.strides + dim)
        try:
            if into == NULL:
                raise_pending()
            if not same_shape(into, part):
                raise ValueError(f"expected sequence of length {n} at dim {dim} (got {part.shape[0] if part.ndim else 'a number'}): cygrad.tensor needs rows of equal shape")
            if copy_into(into, part) != 0:
                raise_pending()
        finally:
            array_decref(part)
            array_decref(into)
        return 0
    if not is_sequence(data):
        raise TypeError(f"not a sequence: cygrad.tensor found '{type(data).__name__}' at dim {dim} beside sequences")
    data = as_list(data)
    if len(data) != n:
        raise ValueError(f"expected sequence of length {n} at dim {dim} (got {len(data)}): cygrad.tensor needs rows of equal length")
    for i in range(n):
        if i >= len(data):
            raise ValueError("cygrad.tensor: a list became shorter while it was read")
        x = data[i]
        if not last:
            fill_level(whole, at, dim + 1, x)
        elif type(x) is float and code == FLOAT32:
            (<float*>at)[0] = <float>PyFloat_AS_DOUBLE(x)
        elif type(x) is float and code == FLOAT64:
            (<double*>at)[0] = PyFloat_AS_DOUBLE(x)
        else:
            store_leaf(at, code, x)
        at += stride
    return 0


cdef Array* array_from_data(object data, int code) except NULL:
    cdef Py_ssize_t sizes[64]
    cdef int ndim, inferred
    cdef Array* a
    cdef Array* shared = NULL
    if isinstance(data, Tensor):
        shared = array_incref((<Tensor>data).a)
    elif cnp.PyArray_Check(data):
        if not cnp.PyArray_ISALIGNED(<cnp.ndarray>data):
            data = data.copy()
        shared = array_from_ndarray(data, "tensor")
    elif cnp.PyArray_CheckScalar(data):
        shared = array_from_numpy_scalar(data, "tensor")
    if shared != NULL:
        a = clone(shared) if code < 0 or code == shared.dtype else cast(shared, code)
        array_decref(shared)
        if a == NULL:
            raise_pending()
        return a
    ndim = measure(data, sizes)
    # Also with a dtype given: this walk is what refuses strings, sets and other objects.
    inferred = infer_code(data, -1, 0)
    a = array_empty(inferred if code < 0 else code, ndim, sizes)
    if a == NULL:
        raise_pending()
    try:
        if ndim == 0:
            store_leaf(a.data, a.dtype, data)
        elif a.numel:
            fill_level(a, a.data, 0, data)
    except:
        array_decref(a)
        raise
    return a
