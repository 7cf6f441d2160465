# Index objects of Python as steps. Contract: index_parse.pxd.
#
# The rules are torch's: an int (or a 0-d integer tensor) selects, a slice slices, None adds a dim, Ellipsis passes over as many dims as the rest leaves,
# True and False add a dim and index it with [0] or with nothing, anything else becomes a tensor of positions or a mask.

from cygrad._warnings import warn
from cpython.bool cimport PyBool_Check
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.sequence cimport PySequence_Check
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as cnp
from cygrad._core.array cimport MAX_DIMS, array_empty, array_incref, array_decref, array_view
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.dtypes cimport ITEMSIZE, BOOL, UINT8, INT32, INT64, is_integral_code, is_float_code, dtype_object
from cygrad._core.from_data cimport array_from_data
from cygrad._core.kernels.copy cimport convert_element
from cygrad._core.tensor cimport tensor_wrap

cnp.import_array()

cdef extern from "Python.h":
    int PySlice_Unpack(object slice_, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PyLong_AsSsize_t(object number) except? -1
    int PyIndex_Check(object o)
    object PyNumber_Index(object o)

cdef enum EntryKind:
    ENTRY_INT, ENTRY_SLICE, ENTRY_NONE, ENTRY_ELLIPSIS, ENTRY_TENSOR, ENTRY_BOOL

cdef struct Entry:           # one member of the index tuple, looked at once
    int kind
    int span                 # dims of the tensor that it takes
    Py_ssize_t number        # an int's value, a bool's truth
    PyObject* tensor         # borrowed


cdef int fail_number(Tensor t, Py_ssize_t index, int dim) except -1:
    raise IndexError(f"cygrad: index {index} is out of bounds for dimension {dim} with size {t.a.shape[dim]}")


cdef int fail_too_many(Tensor t, int given) except -1:
    raise IndexError(f"cygrad: too many indices for tensor of dimension {t.a.ndim}: {given} were given")


cdef Py_ssize_t whole_number(object obj) except? -1:
    # an int or what has __index__
    try:
        return PyLong_AsSsize_t(obj if PyLong_CheckExact(obj) else PyNumber_Index(obj))
    except OverflowError:
        raise ValueError(f"cygrad: Overflow when unpacking an index: {obj} does not fit into 64 bits") from None


cdef int unpack_slice(object obj, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1:
    PySlice_Unpack(obj, start, stop, step)
    if unlikely(step[0] <= 0):
        raise ValueError(f"cygrad: slice step must be positive (step must be greater than zero), and it is {step[0]}; use .flip(dim) to turn a dimension round")
    return 0


cdef int add_step(IndexSteps* steps, int kind, int dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) except -1:
    cdef IndexStep* s
    if unlikely(steps.n == MAX_STEPS):
        raise IndexError(f"cygrad: an index of more than {MAX_STEPS} parts is not supported")
    s = &steps.v[steps.n]
    s.kind = kind
    s.dim = dim
    s.start = start
    s.stop = stop
    s.step = step
    steps.n += 1
    return 0


cdef inline int add_select(Tensor t, IndexSteps* steps, int dim, int source, Py_ssize_t index) except -1:
    # source: the dim of t that this is
    if unlikely(index < -t.a.shape[source] or index >= t.a.shape[source]):
        return fail_number(t, index, source)
    return add_step(steps, STEP_SELECT, dim, index, 0, 0)


cdef Tensor index_tensor(object obj):
    # lists, tuples, ranges and ndarrays as a tensor of positions or a mask
    cdef Array* a
    if isinstance(obj, (str, bytes)):
        raise TypeError(f"cygrad: only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(obj).__name__})")
    a = array_from_data(obj, -1)
    if a.numel == 0 and is_float_code(a.dtype) and not cnp.PyArray_Check(obj):
        array_decref(a)              # an empty list has no element that says what it is
        a = array_from_data(obj, INT64)
    return tensor_wrap(a)


cdef int check_index_dtype(Tensor x) except -1:
    cdef int code = x.a.dtype
    if likely(code == INT64 or code == BOOL or code == INT32):
        return 0
    if code == UINT8:
        warn("cygrad: indexing with dtype uint8 is deprecated; use a bool mask, or .long() for positions")
        return 0
    raise IndexError(f"cygrad: tensors used as indices must be long, int, byte or bool tensors, and this one is {dtype_object(code)}; convert it with .long()")


cdef object read_entry(object obj, Entry* e):
    # the tensor that was made for it, for the caller to keep alive; None: none was
    cdef Tensor x
    cdef object made = None
    cdef int64_t value
    cdef char number[16]
    e.span = 1
    if PyLong_CheckExact(obj):
        e.kind = ENTRY_INT
        e.number = whole_number(obj)
        return None
    if PySlice_Check(obj):
        e.kind = ENTRY_SLICE
        return None
    if obj is None:
        e.kind = ENTRY_NONE
        e.span = 0
        return None
    if obj is Ellipsis:
        e.kind = ENTRY_ELLIPSIS
        e.span = 0
        return None
    if PyBool_Check(obj):
        e.kind = ENTRY_BOOL
        e.span = 0
        e.number = obj is True
        return None
    if isinstance(obj, Tensor):
        x = <Tensor>obj
    elif cnp.PyArray_Check(obj):
        x = index_tensor(obj)
        made = x
    elif PyIndex_Check(obj):
        e.kind = ENTRY_INT
        e.number = whole_number(obj)
        return None
    elif PySequence_Check(obj):
        x = index_tensor(obj)
        made = x
    else:
        raise IndexError(f"cygrad: only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(obj).__name__})")
    if x.a.ndim == 0 and is_integral_code(x.a.dtype):
        convert_element(x.a.dtype, x.a.data, INT64, number)
        memcpy(&value, number, sizeof(value))
        e.number = value
        e.kind = ENTRY_INT
        if x.a.dtype == BOOL or x.a.dtype == UINT8:
            e.kind = ENTRY_BOOL
            e.span = 0
            e.number = value != 0
        return None
    check_index_dtype(x)
    e.kind = ENTRY_TENSOR
    e.tensor = <PyObject*>x
    if x.a.dtype == BOOL or x.a.dtype == UINT8:
        e.span = x.a.ndim
    return made


cdef Tensor bool_positions(bint truth):
    cdef Py_ssize_t n = 1 if truth else 0
    cdef Array* a = array_empty(INT64, 1, &n)
    if a != NULL and truth:
        (<int64_t*>a.data)[0] = 0
    return tensor_wrap(a)


cdef object parse_tuple(Tensor t, tuple parts, IndexSteps* steps):
    cdef Entry entries[MAX_STEPS]
    cdef list keep = None
    cdef list found = None
    cdef object made
    cdef Py_ssize_t n = len(parts), i
    cdef Py_ssize_t start, stop, step
    cdef int given = 0, dim = 0, source = 0, covered = 0
    cdef Entry* e
    if unlikely(n > MAX_STEPS):
        return fail_too_many(t, <int>n)
    for i in range(n):
        made = read_entry(parts[i], &entries[i])
        if made is not None:
            if keep is None:
                keep = []
            keep.append(made)
        given += entries[i].span
    if unlikely(given > t.a.ndim):
        return fail_too_many(t, given)
    for i in range(n):
        e = &entries[i]
        if unlikely(source + e.span > t.a.ndim):
            raise IndexError("cygrad: an index with more than one ellipsis leaves no dimension for the rest; use one")
        if e.kind == ENTRY_INT:
            add_select(t, steps, dim, source, e.number)
            source += 1
        elif e.kind == ENTRY_SLICE:
            unpack_slice(parts[i], &start, &stop, &step)
            if not (start == 0 and stop >= t.a.shape[source] and step == 1):
                add_step(steps, STEP_SLICE, dim, start, stop, step)
            dim += 1
            source += 1
        elif e.kind == ENTRY_NONE:
            add_step(steps, STEP_UNSQUEEZE, dim, 0, 0, 0)
            dim += 1
        elif e.kind == ENTRY_ELLIPSIS:
            dim += t.a.ndim - given
            source += t.a.ndim - given
            if source > t.a.ndim:
                dim -= source - t.a.ndim
                source = t.a.ndim
        else:
            if found is None:
                found = []
            while covered < dim:
                found.append(None)
                covered += 1
            if e.kind == ENTRY_BOOL:
                add_step(steps, STEP_UNSQUEEZE, dim, 0, 0, 0)
                found.append(bool_positions(e.number))
                dim += 1
                covered += 1
            else:
                found.append(<object>e.tensor)
                dim += e.span
                source += e.span
                covered += e.span
        if unlikely(dim > MAX_DIMS):
            raise IndexError(f"cygrad: the result of an index has at most {MAX_DIMS} dimensions")
    return found


cdef bint stands_for_tuple(object obj) except -1:
    # torch takes a short sequence that holds more than numbers for a tuple, as NumPy did before 1.23, and warns
    cdef object part
    if len(obj) >= 32:
        return False
    for part in obj:
        if part is None or part is Ellipsis or PySlice_Check(part) or isinstance(part, Tensor) or cnp.PyArray_Check(part) or (PySequence_Check(part) and not isinstance(part, str)):
            warn("cygrad: using a non-tuple sequence for multidimensional indexing is deprecated; write x[tuple(index)], or x[cygrad.tensor(index)] for "
                          "an index of several dimensions")
            return True
    return False


cdef object parse_index(Tensor t, object index, IndexSteps* steps):
    cdef Py_ssize_t start, stop, step
    steps.n = 0
    if PyLong_CheckExact(index):
        if unlikely(t.a.ndim == 0):
            raise IndexError("cygrad: invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
        add_select(t, steps, 0, 0, whole_number(index))
        return None
    if PyTuple_CheckExact(index):
        return parse_tuple(t, <tuple>index, steps)
    if PySlice_Check(index):
        if unlikely(t.a.ndim == 0):
            raise IndexError("cygrad: slice() cannot be applied to a 0-dim tensor.")
        unpack_slice(index, &start, &stop, &step)
        add_step(steps, STEP_SLICE, 0, start, stop, step)
        return None
    if isinstance(index, tuple):
        return parse_tuple(t, tuple(index), steps)
    if isinstance(index, Tensor) or cnp.PyArray_Check(index) or PyBool_Check(index):
        return parse_tuple(t, (index,), steps)
    if PyIndex_Check(index):
        if unlikely(t.a.ndim == 0):
            raise IndexError("cygrad: invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
        add_select(t, steps, 0, 0, whole_number(index))
        return None
    if (PyList_CheckExact(index) or (PySequence_Check(index) and not isinstance(index, (str, bytes)))) and stands_for_tuple(index):
        return parse_tuple(t, tuple(index), steps)
    return parse_tuple(t, (index,), steps)


cdef int index_arrays(list tensors, Array** into) noexcept:
    cdef int i = 0
    cdef object x
    for x in tensors:
        into[i] = NULL
        if x is not None:
            into[i] = (<Tensor>x).a
        i += 1
    return i


cdef Array* index_view(Array* a, const IndexSteps* steps) noexcept nogil:
    cdef Py_ssize_t shape[MAX_DIMS + MAX_STEPS]
    cdef Py_ssize_t strides[MAX_DIMS + MAX_STEPS]
    cdef char* data = a.data
    cdef int i, k, d, n = a.ndim
    cdef Py_ssize_t size, start, stop
    cdef const IndexStep* s
    if steps.n == 0:
        return array_incref(a)
    for i in range(n):
        shape[i] = a.shape[i]
        strides[i] = a.strides[i]
    for k in range(steps.n):
        s = &steps.v[k]
        d = s.dim
        if s.kind == STEP_SELECT:
            data += (s.start + shape[d] if s.start < 0 else s.start) * strides[d]
            n -= 1
            for i in range(d, n):
                shape[i] = shape[i + 1]
                strides[i] = strides[i + 1]
        elif s.kind == STEP_SLICE:
            size = shape[d]
            start = s.start + size if s.start < 0 else s.start
            stop = s.stop + size if s.stop < 0 else s.stop
            start = 0 if start < 0 else size if start > size else start
            stop = start if stop < start else size if stop > size else stop
            shape[d] = (stop - start - 1) // s.step + 1 if stop > start else 0
            data += start * strides[d]
            if shape[d] > 1 or s.step < (<Py_ssize_t>1 << 40):
                strides[d] *= s.step
        else:
            for i in range(n, d, -1):
                shape[i] = shape[i - 1]
                strides[i] = strides[i - 1]
            shape[d] = 1
            strides[d] = shape[d + 1] * strides[d + 1] if d < n else ITEMSIZE[a.dtype]
            n += 1
    return array_view(a, a.dtype, data, n, shape, strides)
